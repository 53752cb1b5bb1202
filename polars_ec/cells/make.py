"""The pass over the log that makes a sketch: from rows to cells, by the streaming engine.

It is a select to a step, because the engine computes a step's columns once, and what expressions repeat as often as they do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import polars as pl

from polars_ec.arguments import Options, parse_options
from polars_ec.cells.arguments import OperatingPoint, bayes_threshold
from polars_ec.cells.cells import SCORE, TARGET, Cells
from polars_ec.cells.grid import EXACT, LOSSES, Grid, checked_resolution, checked_score_type, sorted_thresholds
from polars_ec.class_names import UNKNOWN
from polars_ec.costs import CostMatrix
from polars_ec.priors import EMPIRICAL
from polars_ec.rows.batches import batches
from polars_ec.rows.decisions import decide
from polars_ec.rows.folds import FOLD, fold_of
from polars_ec.rows.labels import class_index
from polars_ec.rows.many import ManyScores
from polars_ec.rows.read import Rows, check_names, expand, resolve_columns
from polars_ec.rows.scores import VECTOR_TYPES, BinaryScores, VectorScores
from polars_ec.typing import IntoExpr, Reduction

_BATCH = 1_000_000
# Names while rows are read: no group column may be called so.
_NAMES = _SCORE, _INDEX, _WEIGHT, _POSITION, _CELL = "__score", "__class", "__weight", "__position", "__cell"


@dataclass(frozen=True)
class Split:
    """How the rows of a log are dealt out to folds, for cross-validation."""

    folds: int | None = None
    fold_by: IntoExpr | None = None
    stratified: bool = False

    def fold(self, rows: Rows, keys: list[pl.Expr]) -> pl.Expr | None:
        """The column `fold`, if there are folds."""
        if self.folds is None and self.fold_by is None:
            return None
        return fold_of(self.folds, self.fold_by, [*keys, class_index(rows.labels)] if self.stratified else [])


def make_cells(
    lazy: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    options: Mapping[str, Any],
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    resolution: int = 64,
    thresholds: Sequence[float | CostMatrix] = (),
    exact: bool = False,
    reduction: Reduction = "one_vs_rest",
    split: Split,
) -> tuple[Cells, OperatingPoint]:
    """The cells of a log, and the operating point that the keywords describe: what `sketch` makes."""
    if reduction not in get_args(Reduction):
        raise ValueError(f"reduction={reduction!r} is none of {', '.join(get_args(Reduction))}")
    score_type: Any = options.get("score_type", "posterior")
    kind = "posterior" if score_type in VECTOR_TYPES else checked_score_type(score_type)
    if options.get("prior") is not None and score_type not in ("llr", "log_likelihoods"):
        raise ValueError(
            f"prior={options['prior']!r} says where LLRs and log-likelihoods decide, and score_type={score_type!r} needs none: "
            "pass prior= to evaluate()"
        )
    stated_resolution = checked_resolution(resolution)
    models = _models(lazy, score, label, _reading(options, score_type))
    rows = next(iter(models.values()))
    keys = expand(lazy, by, "by")
    if isinstance(thresholds, str | CostMatrix) or not hasattr(thresholds, "__iter__"):
        raise TypeError(f"thresholds={thresholds!r} is not a sequence: pass a list")
    # What a vector becomes has other classes than the log, which have no names.
    names = rows.labels.names if isinstance(rows.scores, BinaryScores) and reduction != "top_label" else UNKNOWN
    point = OperatingPoint.of(options, names)
    declared = [
        t.for_classes(names) if isinstance(t, CostMatrix) else t for t in [*point.declared(kind, options), *thresholds]
    ]
    numbers = [
        bayes_threshold(t, kind, options.get("prior"), names) if isinstance(t, CostMatrix) else t for t in declared
    ]
    grid = Grid(kind, None if exact else stated_resolution, sorted_thresholds(numbers), names)
    own = {*_NAMES, *(f"{name}_{m}" for name in _NAMES for m in range(len(models)))}
    check_names(keys, {*grid.columns, *own, SCORE, TARGET}, "a sketch")
    fold = split.fold(rows, keys)
    if fold is not None and any(key.meta.output_name() == FOLD for key in keys):
        raise ValueError("by= has a column 'fold', which folds= adds: rename it with .alias()")
    return Cells(_pass(lazy, keys, fold, models, grid, reduction), grid, rows.weight is not None), point


def _models(
    lazy: pl.LazyFrame, score: IntoExpr | Sequence[IntoExpr], label: IntoExpr, reading: Options
) -> dict[str, Rows]:
    """The rows as each model scores them, by its name; TypeError if their scores cannot be of one sketch."""
    scores = expand(lazy, score, "score")
    if not scores:
        raise ValueError("score= names no column")
    models = {model.meta.output_name(): resolve_columns(lazy, model, label, reading) for model in scores}
    (first, one), *others = models.items()
    for name, other in others:
        of_as_many = len(one.labels.in_class) == len(other.labels.in_class)
        same = of_as_many and one.class_names.goes_with(other.class_names)
        if not same or type(one.scores) is not type(other.scores):
            raise TypeError(
                f"score= holds {first!r} and {name!r}, which are not both one number a row, nor vectors of the same classes: "
                "sketch them one by one"
            )
    return models


def _reading(options: Mapping[str, Any], score_type: Any) -> Options:
    """How rows are read: no decision is taken, and no prior turns LLRs and raw scores into anything."""
    reading = score_type if score_type == "posterior" or score_type in VECTOR_TYPES else "log_odds"
    checked = parse_options({**options, "score_type": reading})
    prior = checked.prior if score_type == "log_likelihoods" else EMPIRICAL
    return replace(checked, prior=prior, stated_costs=None, cost_fn=1.0, cost_fp=1.0, threshold=None)


def _is_one_vs_rest(rows: Rows, reduction: Reduction) -> bool:
    """Whether a row becomes one row for each class."""
    return reduction == "one_vs_rest" and isinstance(rows.scores, VectorScores | ManyScores)


def _pass(
    frame: pl.LazyFrame,
    keys: list[pl.Expr],
    fold: pl.Expr | None,
    models: Mapping[str, Rows],
    grid: Grid,
    reduction: Reduction,
) -> pl.DataFrame:
    """The frame of a sketch: group columns and the grid's, sorted."""
    several, (rows, *_) = len(models) > 1, models.values()
    by, folds = [key.meta.output_name() for key in keys], [] if fold is None else [FOLD]
    targets = [TARGET] if _is_one_vs_rest(rows, reduction) else []
    names = [*by, *([SCORE] if several else []), *folds, *targets]
    cell = ["class", EXACT] if grid.resolution is None else [_CELL]
    # The columns of all models are read side by side, and cut apart in each batch: the log is read once.
    read = [_one_score(model, reduction, m) for m, model in enumerate(models.values())]
    log = frame.select(*keys, *([] if fold is None else [fold]), *(column for columns in read for column in columns))

    def of_models(batch: pl.LazyFrame) -> list[pl.LazyFrame]:
        return [_cells_of_rows(batch, m, model, names, grid) for m, model in enumerate(models.values())]

    summed = _in_batches(log, of_models, [*names, *cell], _BATCH // (len(rows.labels.in_class) if targets else 1))
    summed = summed.sort(*names, *cell, nulls_last=True)
    if grid.resolution is not None:
        summed = summed.with_columns(**grid.unpacked(pl.col(_CELL)))
    if rows.weight is None:
        amount = pl.when(pl.col("class") >= 0).then(pl.col("n")).otherwise(0).cast(pl.Float64)
        summed = summed.with_columns(weight=amount, weight2=amount)
    if targets:
        known = rows.labels.names
        # "not 1" and 1 have no type in common but text.
        classes = pl.Series([str(value) for value in known.values] if known.rest else known.values, strict=False)
        summed = summed.with_columns(pl.col(TARGET).replace_strict(range(len(classes)), classes))
    if several:
        summed = summed.with_columns(pl.col(SCORE).replace_strict(range(len(models)), pl.Series([*models])))
    return summed.select(*names, *grid.columns)


def _cells_of_rows(log: pl.LazyFrame, m: int, model: Rows, names: list[str], grid: Grid) -> pl.LazyFrame:
    """The rows of a model, the m-th: their groups, their cell, and the values that are summed."""
    score, index, weight = pl.col(_SCORE), pl.col(_INDEX), None if model.weight is None else pl.col(_WEIGHT)
    own = [_SCORE, _INDEX, *([] if weight is None else [_WEIGHT])]
    of_row = [pl.lit(m, dtype=pl.Int16).alias(SCORE) if name == SCORE else name for name in names if name != TARGET]
    made = log.select(*of_row, **{name: pl.col(f"{name}_{m}") for name in own})
    if TARGET in names:
        made = _one_row_per_class(made, len(model.labels.in_class))
    cell = {"class": index, EXACT: score}
    if grid.resolution is not None:
        made = made.with_columns(grid.position(score).alias(_POSITION))
        cell = {_CELL: grid.packed(index, score, pl.col(_POSITION))}
    binary = replace(
        model,
        scores=BinaryScores(score, "posterior" if grid.score_type == "posterior" else "log_odds", None),
        labels=replace(model.labels, in_class=[index == 0, index == 1]),
        weight=weight,
    )
    values = {} if grid.score_type == "raw" else _losses(binary)
    if weight is not None:
        values |= {"weight": weight, "weight2": weight * weight}
    return made.select(*names, **cell, **values)


def _in_batches(
    log: pl.LazyFrame, of_models: Callable[[pl.LazyFrame], list[pl.LazyFrame]], by: list[str], size: int
) -> pl.DataFrame:
    """Rows counted and values summed by cell, with memory for the cells and a batch of rows.

    One group-by of all rows would keep what it could not yet add up until the end: memory that grows with the rows.
    """

    def add_up(parts: pl.LazyFrame, count: pl.Expr) -> pl.DataFrame:
        return parts.group_by(by).agg(count, pl.exclude(*by, "n").sum()).collect(engine="streaming")

    counts = pl.len().cast(pl.Int64).alias("n")
    parts = [add_up(rows, counts) for rows in of_models(log.clear())[:1]]
    for batch in batches(log, max(size, 1)):
        parts += [add_up(rows, counts) for rows in of_models(batch.lazy())]
        # Rarely enough that it costs little, often enough that what waits is not much more than what is there.
        if sum(part.height for part in parts[1:]) > max(_BATCH // 2, parts[0].height):
            parts = [add_up(pl.concat(parts).lazy(), pl.col("n").sum())]
    return add_up(pl.concat(parts).lazy(), pl.col("n").sum())


def _one_score(rows: Rows, reduction: Reduction, m: int) -> list[pl.Expr]:
    """Score, class and weight of a row, for the m-th model: null where it is not usable, but for a wrong row's class, which is -1.

    One against the rest: the score is a list, of one for each class, and the class the one of K.
    """
    scores, index = rows.scores, class_index(rows.labels)
    if reduction == "top_label":
        if isinstance(scores, BinaryScores) and scores.score_type != "posterior":
            raise ValueError("reduction='top_label' is of posteriors: sketch ec.posterior(score)")
        score = scores.top_posterior.clip(upper_bound=1)
        top = decide(scores, CostMatrix.zero_one(len(rows.labels.in_class)), None).index
        index = (top == index).cast(pl.Int16)
    elif isinstance(scores, BinaryScores):
        score = scores.score
    else:
        score = scores.of_posteriors(lambda posteriors: pl.concat_list(q.clip(upper_bound=1) for q in posteriors))
    read = {
        _SCORE: pl.when(rows.usable).then(score),
        _INDEX: rows.class_or_invalid(index),
    }
    if rows.weight is not None:
        read[_WEIGHT] = pl.when(rows.usable).then(rows.weight)
    return [column.alias(f"{name}_{m}") for name, column in read.items()]


def _one_row_per_class(rows: pl.LazyFrame, n_classes: int) -> pl.LazyFrame:
    index = pl.col(_INDEX)
    scores = pl.col(_SCORE).fill_null(pl.lit([None] * n_classes, dtype=pl.List(pl.Float64)))
    targets = pl.concat_list(pl.lit(k, dtype=pl.Int16) for k in range(n_classes))
    tall = rows.with_columns(scores, targets.alias(TARGET)).explode(_SCORE, TARGET)
    in_target = pl.when(index >= 0).then((index == pl.col(TARGET)).cast(pl.Int16)).otherwise(index)
    return tall.with_columns(in_target.alias(_INDEX))


def _losses(rows: Rows) -> dict[str, pl.Expr]:
    assert isinstance(rows.scores, BinaryScores)
    values = [rows.scores.log_odds, rows.scores.posteriors[1], rows.loss("log_loss"), rows.loss("brier")]
    return {name: rows.weighted(value) for name, value in zip(LOSSES, values, strict=True)}
