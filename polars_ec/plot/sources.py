"""What a chart of curves draws: a sketch, or the rows of a log, or values, of which it makes the sketch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import polars as pl

from polars_ec.arguments.arrays import frame_of_values, holds_values
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.options import CurveOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.scores.folds import BUCKETS
from polars_ec.scores.read import expand
from polars_ec.sketches.cells import SCORE
from polars_ec.sketches.log_pass import ClusterKey, FoldKey, make_cells
from polars_ec.sketches.operating_points import DecidingCells, with_point
from polars_ec.typing import FrameLike, IntoExpr, Values

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

_COLUMNS = {"score": "IntoExpr | Sequence[IntoExpr] | Values | None", "label": "IntoExpr | Values | None"}
ROW_OPTIONS = (*_COLUMNS, *CurveOptions.__annotations__)
"""The arguments that say how rows are read."""

_POSITIONAL = {Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL}
_SCORE = (
    "For a log: the score column, a name or expression, or several (models). For scores: the labels, as in\n"
    "`roc(scores, labels)`. For a sketch: leave it out, and also `label` and the options from `by` on."
)


class CurveChart(Protocol[P, R_co]):
    """A chart of curves: what type checkers see of it."""

    @overload
    def __call__(self, sketch: DecidingCells, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    @overload
    def __call__(
        self,
        sketch: FrameLike,
        score: IntoExpr | Sequence[IntoExpr],
        label: IntoExpr,
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> R_co: ...
    @overload
    def __call__(self, sketch: Values, score: Values, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def of_any_source(function: Callable[Concatenate[DecidingCells, P], R_co]) -> CurveChart[P, R_co]:
    """Let a chart of a sketch also take a log and its columns of scores and labels, or scores and labels as values.

    The other positional arguments of the chart follow these. Its costs are also those of the sketch, so that their threshold is exact.
    """
    declared, name = signature(function), function.__name__
    first, *others = declared.parameters.values()
    columns = [
        Parameter(option, Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=kind)
        for option, kind in _COLUMNS.items()
    ]
    kinds = {parameter.kind for parameter in others}

    @wraps(function)
    def chart(sketch: Any, *args: Any, **keywords: Any) -> Any:
        stated = {option: keywords.pop(option) for option in ROW_OPTIONS if option in keywords}
        options = {option: value for option, value in stated.items() if value is not None}
        if isinstance(sketch, DecidingCells):
            named = () if Parameter.VAR_POSITIONAL in kinds else args[:1]
            by_name = [repr(value) for value in named if isinstance(value, str | pl.Expr)]
            for argument in [*by_name, *(f"{option}={value!r}" for option, value in options.items())]:
                raise TypeError(
                    f"{name}(): {argument} describes rows, and the first argument is a sketch, which was made from them: leave it out"
                )
            cells = sketch
        else:
            kind = type(sketch)
            is_table = hasattr(kind, "columns") or hasattr(kind, "schema")
            holds_scores = isinstance(sketch, list | tuple) or (hasattr(sketch, "__array__") and not is_table)
            by_position = [option for option in [*_COLUMNS][holds_scores:] if option not in options]
            options |= dict(zip(by_position, args, strict=False))
            args = args[len(by_position) :]
            costs = {option: keywords.get(option) for option in ("costs", "cost_fn", "cost_fp")}
            options |= {option: value for option, value in costs.items() if value is not None}
            cells = _sketch(name, sketch, options, holds_scores)
        if args and not kinds & _POSITIONAL:
            raise TypeError(
                f"{name}() takes no further argument by position ({type(args[0]).__name__}): pass options by name"
            )
        return function(cells, *args, **keywords)

    shown = [first.replace(annotation="Sketch | FrameLike | Values"), *columns, *others]
    chart.__signature__ = declared.replace(parameters=shown)  # type: ignore[attr-defined]
    return cast("CurveChart[P, R_co]", with_options(CurveOptions, score=_SCORE)(chart))


def _sketch(name: str, rows: Any, options: dict[str, Any], holds_scores: bool) -> DecidingCells:
    first, log_call = f"{name}(): the first argument", f"{name}(log, 'score', 'label')"
    if isinstance(rows, str | pl.Expr):
        raise TypeError(
            f"{first} is {str(rows)!r}, and the rows come first: pass {log_call}, {name}(scores, labels) or a sketch"
        )
    log = None if holds_scores else as_lazy(rows)
    columns = {option: options.pop(option, None) for option in (*_COLUMNS, "by", "weight", "cluster")}
    columns = {option: value for option, value in columns.items() if value is not None}
    for option, value in columns.items():
        if log is None and option == "score":
            raise TypeError(f"{first} holds scores: leave score= out, {name}(scores, labels)")
        if log is None and not holds_values(value):
            raise TypeError(
                f"{first} holds scores ({type(rows).__name__}), but {option}={value!r} holds no values: pass values "
                f"for both, or a log and the names of its columns, {log_call}"
            )
        if log is not None and not isinstance(value, list | tuple) and holds_values(value):
            raise TypeError(
                f"{first} is a log ({type(rows).__name__}), but {option}= holds values ({type(value).__name__}): pass "
                f"the name of its column, or {name}(scores, labels) and all else as values"
            )
    if log is None:
        if "label" not in columns:
            raise TypeError(f"{first} holds scores, and labels are missing: pass {name}(scores, labels)")
        log = frame_of_values({"score": rows, **columns}).lazy()
        named = ("score", *columns)
        columns = {option: pl.col(option).alias("group" if option == "by" else option) for option in named}
    for option in _COLUMNS:
        if option not in columns:
            raise TypeError(
                f"{first} is a log ({type(rows).__name__}), and {option}= is missing: pass {log_call}, or a sketch"
            )
    score, label, by = columns.pop("score"), columns.pop("label"), columns.pop("by", ())
    clusters = ClusterKey(columns.pop("cluster", None), options.pop("buckets", BUCKETS))
    cells, point = make_cells(log, score, label, options | columns, by=by, folds=FoldKey(), clusters=clusters)
    sketch = with_point(DecidingCells, cells, point)
    if holds_scores or SCORE in sketch.keys:
        return sketch
    # The name of the model, for the title.
    (model,) = expand(log, score, "score")
    return sketch.on_tables(lambda table: table.select(pl.lit(model.meta.output_name()).alias(SCORE), pl.all()))
