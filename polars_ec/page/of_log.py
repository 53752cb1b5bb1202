"""From the arguments of a page to its contents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from polars_ec.arguments import as_expr, parse_min_rows
from polars_ec.cells.arguments import OperatingPoint
from polars_ec.cells.cells import SCORE, TARGET
from polars_ec.comparing.choice import FEWEST_BUCKETS
from polars_ec.drifting.choice import check_period
from polars_ec.exceptions import SketchError
from polars_ec.inputs import as_lazy
from polars_ec.intervals.arguments import parse_interval, parse_level
from polars_ec.page.asked import Asked
from polars_ec.page.contents import Contents
from polars_ec.page.of_rows import Log, contents_of_log
from polars_ec.page.of_sketch import contents_of_sketch
from polars_ec.priors import Prior
from polars_ec.rows.folds import BUCKETS, FOLD
from polars_ec.rows.read import expand
from polars_ec.sketches import Sketch, sketch_of
from polars_ec.typing import FrameLike, IntoExpr

_OF_POINT = ("costs", "cost_fn", "cost_fp", "threshold")


def contents_of(
    log: FrameLike | Sketch,
    score: IntoExpr | Sequence[IntoExpr] | None,
    label: IntoExpr | None,
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    period: IntoExpr | None = None,
    reference: Any = None,
    metrics: Sequence[str] | None = None,
    prior: Prior = "overall",
    cluster: IntoExpr | None = None,
    buckets: int = BUCKETS,
    interval: float = 0.95,
    min_rows: int | None = None,
    title: str | None = None,
    options: Mapping[str, Any],
) -> Contents:
    """What the page is made of; the arguments are those of `report_page`."""
    if isinstance(log, Sketch):
        of_rows = {
            "score": score,
            "label": label,
            "cluster": cluster,
            "buckets": None if buckets == BUCKETS else buckets,
        }
        of_rows |= {name: value for name, value in options.items() if name not in _OF_POINT}
        for name, value in of_rows.items():
            if value is not None:
                raise TypeError(
                    f"{name}={value!r} is of rows, and the log is a sketch, which has been made of them: leave it out"
                )
        sketch, keys = _rolled_up(log, by, period)
        point = _point(sketch, options)
        sketch = sketch_of(sketch, point)
        of_period = None if period is None else as_expr(period, "period").meta.output_name()
        own_title = Asked.title
    else:
        frame = as_lazy(log)
        rows = _rows(frame, score, label, by, period, cluster, buckets, options)
        keys = [key.meta.output_name() for key in rows.keys]
        of_period = None if rows.period is None else rows.period.meta.output_name()
        if of_period in keys:
            raise ValueError(f"by= has a column {of_period!r}, which is the period: leave it out there")
        own_title = f"{rows.score.meta.output_name()} against {rows.label.meta.output_name()}"
    asked = Asked(
        keys=keys,
        period=of_period,
        reference=reference,
        metrics=metrics,
        prior=prior,
        level=parse_level(interval),
        min_rows=parse_min_rows(min_rows),
        title=title or own_title,
    )
    made = contents_of_sketch(sketch, asked) if isinstance(log, Sketch) else contents_of_log(rows, asked)
    if made.trend_total is not None and made.trend_total.is_empty():
        # No row has a period: then there are none to show.
        return replace(made, period=None, trend=None, trend_total=None)
    return made


def _rolled_up(sketch: Sketch, by: IntoExpr | Sequence[IntoExpr], period: IntoExpr | None) -> tuple[Sketch, list[str]]:
    """The sketch by the keys of the page, its period, and what it has beside these of models and folds; and the names of the keys."""
    own = (SCORE, TARGET, FOLD)
    columns = sketch.frame.select(key for key in sketch.keys if key not in own).lazy()
    there = columns.collect_schema().names()

    def of_keys(what: str, given: IntoExpr | Sequence[IntoExpr]) -> list[pl.Expr]:
        made = expand(columns, given, what)
        for name in [name for key in made for name in key.meta.root_names()]:
            if name not in there:
                raise SketchError(
                    f"{what}= names {name!r}, which is not a group column of the sketch, which has {there}"
                )
        return made

    periods = [] if period is None else [check_period(columns, of_keys("period", period))]
    of_period = {name for key in periods for name in (key.meta.output_name(), *key.meta.root_names())}
    stated = isinstance(by, pl.Expr | str) or len(by) > 0
    keys = of_keys("by", by) if stated else [pl.col(name) for name in there if name not in of_period]
    names = [key.meta.output_name() for key in keys]
    for key in periods:
        if key.meta.output_name() in names:
            raise SketchError(f"by= has a column {key.meta.output_name()!r}, which is the period: leave it out there")
    return sketch.group_by(*keys, *periods, *(name for name in own if name in sketch.keys)), names


def _point(sketch: Sketch, options: Mapping[str, Any]) -> OperatingPoint:
    """Where the page decides: where the sketch does, but for what is stated."""
    stated = {name: value for name, value in options.items() if value is not None}
    keywords, threshold = sketch.operating_point.stands_in(stated, sketch.grid.classes)
    point = OperatingPoint.of(keywords, sketch.grid.classes)
    return point if threshold is None or "threshold" in stated else OperatingPoint(point.costs, threshold)


def _rows(
    frame: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr] | None,
    label: IntoExpr | None,
    by: IntoExpr | Sequence[IntoExpr],
    period: IntoExpr | None,
    cluster: IntoExpr | None,
    buckets: int,
    options: Mapping[str, Any],
) -> Log:
    """The rows of a frame, as far as it shows which these are without being read."""
    if score is None or label is None:
        name = "score" if score is None else "label"
        raise TypeError(f"{name}= is left out, and the log is a frame: name its column")
    models = expand(frame, score, "score")
    if len(models) != 1:
        names = [model.meta.output_name() for model in models]
        raise ValueError(f"score= names {names}, and a page is of one model: make one of each")
    if cluster is None and buckets != BUCKETS:
        raise ValueError(
            f"buckets={buckets} is how many parts clusters are dealt out to: pass cluster=, or leave it out"
        )
    parse_interval({"interval": 0.95, "cluster": cluster, "buckets": buckets})
    if buckets < FEWEST_BUCKETS:
        raise ValueError(
            f"buckets={buckets} are too few for p-values, which need {FEWEST_BUCKETS} or more: leave it out"
        )
    return Log(
        frame,
        models[0],
        as_expr(label, "label"),
        expand(frame, by, "by"),
        None if period is None else check_period(frame, expand(frame, period, "period")),
        None if cluster is None else as_expr(cluster, "cluster"),
        buckets,
        {name: value for name, value in options.items() if value is not None},
    )
