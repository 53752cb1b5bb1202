"""What a chart of curves draws: a sketch, or the rows of a log, or values, of which it makes the sketch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import polars as pl

from polars_ec.arguments.arrays import frame_of_values, holds_values
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.options import CurveOptions
from polars_ec.scores.folds import BUCKETS
from polars_ec.scores.read import expand
from polars_ec.sketches.cells import SCORE
from polars_ec.sketches.log_pass import ClusterKey, FoldKey, make_cells
from polars_ec.sketches.operating_points import DecidingCells, with_point
from polars_ec.typing import FrameLike, IntoExpr, Values

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)

_COLUMNS = {"score": "IntoExpr | Sequence[IntoExpr] | Values | None", "label": "IntoExpr | Values | None"}
_POSITIONAL = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL)
_COSTS = ("costs", "cost_fn", "cost_fp")
_OF_ROWS = ("by", "weight", "cluster")
_GROUP = "group"


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
    declared = signature(function)
    first, *others = declared.parameters.values()
    rows = [first.replace(annotation="Sketch | FrameLike | Values")] + [
        Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=kind)
        for name, kind in _COLUMNS.items()
    ]
    name, positional = function.__name__, [p.kind for p in others if p.kind in _POSITIONAL]

    @wraps(function)
    def chart(sketch: Any, *args: Any, **keywords: Any) -> Any:
        options = {option: keywords.pop(option) for option in CurveOptions.__annotations__ if option in keywords}
        columns = {option: keywords.pop(option) for option in _COLUMNS if option in keywords}
        arguments = iter(args)
        if isinstance(sketch, DecidingCells):
            named = args[:1] if Parameter.VAR_POSITIONAL not in positional else ()
            stated = [repr(value) for value in named if isinstance(value, str | pl.Expr)]
            row_options = {**columns, **options}
            stated += [f"{option}={value!r}" for option, value in row_options.items() if value is not None]
            for argument in stated:
                raise TypeError(
                    f"{name}(): {argument} describes rows, and the first argument is a sketch, which was made from them: leave it out"
                )
            cells = sketch
        else:
            options |= {option: keywords[option] for option in _COSTS if keywords.get(option) is not None}
            make, names = (_of_values, ["label"]) if _holds_scores(sketch) else (_of_log, [*_COLUMNS])
            read = [columns.pop(option) if option in columns else next(arguments, None) for option in names]
            for option in columns:
                raise TypeError(
                    f"{name}(): the first argument holds scores: leave {option}= out, {name}(scores, labels)"
                )
            cells = make(name, sketch, *read, options=options)
        rest = [*arguments]
        if rest and not positional:
            raise TypeError(
                f"{name}() takes no further argument by position ({type(rest[0]).__name__}): pass options by name"
            )
        return function(cells, *rest, **keywords)

    chart.__signature__ = declared.replace(parameters=[*rows, *others])  # type: ignore[attr-defined]
    return cast("CurveChart[P, R_co]", chart)


def _holds_scores(rows: object) -> bool:
    """Whether these are scores, one per row, rather than a table."""
    kind = type(rows)
    is_table = hasattr(kind, "columns") or hasattr(kind, "schema")
    return isinstance(rows, list | tuple) or (hasattr(rows, "__array__") and not is_table)


def _of_values(name: str, scores: Any, labels: Any, *, options: Mapping[str, Any]) -> DecidingCells:
    if labels is None:
        raise TypeError(
            f"{name}(): the first argument holds scores, and labels are missing: pass {name}(scores, labels)"
        )
    values = {"label": labels, **{option: options[option] for option in _OF_ROWS if options.get(option) is not None}}
    for option, value in values.items():
        if not holds_values(value):
            raise TypeError(
                f"{name}(): the first argument holds scores ({type(scores).__name__}), but {option}={value!r} holds no values: pass values "
                f"for both, or a log and the names of its columns, {name}(log, 'score', 'label')"
            )
    frame = frame_of_values({"score": scores, **values})
    columns = {**{option: option for option in values}, "by": [pl.col("by").alias(_GROUP)] if "by" in values else []}
    return _sketch(frame.lazy(), "score", {**options, **columns})


def _of_log(name: str, log: Any, score: Any, label: Any, *, options: Mapping[str, Any]) -> DecidingCells:
    if isinstance(log, str | pl.Expr):
        raise TypeError(
            f"{name}(): the first argument is {str(log)!r}, and the rows come first: pass {name}(log, 'score', 'label'), "
            f"{name}(scores, labels) or a sketch"
        )
    lazy = as_lazy(log)
    columns = {"score": score, "label": label}
    for option, value in {**columns, **{option: options.get(option) for option in _OF_ROWS}}.items():
        if not isinstance(value, list | tuple) and holds_values(value):
            raise TypeError(
                f"{name}(): the first argument is a log ({type(log).__name__}), but {option}= holds values ({type(value).__name__}): pass "
                f"the name of its column, or {name}(scores, labels) and all else as values"
            )
    for option, value in columns.items():
        if value is None:
            raise TypeError(
                f"{name}(): the first argument is a log ({type(log).__name__}), and {option}= is missing: pass "
                f"{name}(log, 'score', 'label'), or a sketch"
            )
    cells = _sketch(lazy, score, {**options, "label": label})
    if SCORE in cells.keys:
        return cells
    # The name of the model, for the title.
    (model,) = expand(lazy, score, "score")
    named = pl.lit(model.meta.output_name()).alias(SCORE)
    return cells.on_tables(lambda table: table.select(named, pl.all()))


def _sketch(log: pl.LazyFrame, score: IntoExpr | Sequence[IntoExpr], options: Mapping[str, Any]) -> DecidingCells:
    reading = {
        option: value for option, value in options.items() if option not in ("by", "label", "cluster", "buckets")
    }
    clusters = ClusterKey(options.get("cluster"), options.get("buckets", BUCKETS))
    cells, point = make_cells(
        log, score, options["label"], reading, by=options.get("by", ()), folds=FoldKey(), clusters=clusters
    )
    return with_point(DecidingCells, cells, point)
