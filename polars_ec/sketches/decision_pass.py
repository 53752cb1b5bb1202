"""Count a log by class and decision in one streaming pass, with sums of losses and of costs that differ by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

import polars as pl

from polars_ec.arguments.keywords import Options
from polars_ec.output.words import number
from polars_ec.scores.folds import MURMUR3
from polars_ec.scores.read import Rows, check_names
from polars_ec.scores.scores import BRIER, CLASS, DECISION, LOG_LOSS, WEIGHT, DecidedScores
from polars_ec.sketches.arguments import OperatingPoint
from polars_ec.sketches.cells import SCORE, TARGET, Cells, add_up
from polars_ec.sketches.grid import BUCKET, ERROR_COST, RESERVED, SQUARE, TIMES_WEIGHT, UNDECIDED, WEIGHTS, DecisionGrid

_ROW, _CELLS, _IS_UNDECIDED = "__ec_row", "__ec_cells", "__ec_undecided"


def decision_cells(
    log: pl.LazyFrame, models: Mapping[str, Rows], keys: Sequence[pl.Expr], bucket: pl.Expr | None, buckets: int
) -> tuple[Cells, OperatingPoint]:
    """Reduce a log to cells of its decisions; and the costs and the threshold that they were made with."""
    first = next(iter(models.values()))
    grid, weighted = _grid(first), first.weight is not None
    check_names(keys, {*grid.columns, BUCKET, SCORE, TARGET, *RESERVED, _ROW, _CELLS, _IS_UNDECIDED}, "a sketch")
    rows = [_row(model, grid).alias(_ROW) for model in models.values()]
    buckets_of_rows = [] if bucket is None else [bucket.alias(BUCKET)]
    by = [key.meta.output_name() for key in keys]
    if len(models) > 1:
        of_models = pl.concat_list(rows).alias(_ROW), pl.lit(pl.Series([[*models]])).first().alias(SCORE)
        log = log.select(*keys, *buckets_of_rows, *of_models).explode(_ROW, SCORE)
        by.append(SCORE)
    else:
        log = log.select(*keys, *buckets_of_rows, *rows)
    units = [*by, *(column.meta.output_name() for column in buckets_of_rows), CLASS, DECISION]
    # Each step is a select of its own, because the engine repeats what expressions share.
    log = log.unnest(_ROW).unnest(_CELLS).with_columns(**_only_usable(grid, weighted))
    counted = log.group_by(units).agg(**_sums(grid, weighted)).collect(engine="streaming")
    cells = [CLASS, DECISION, *grid.amounts(weighted=weighted)]
    frame, point = add_up(counted.select(*by, *cells)), OperatingPoint(first.costs, first.options.constant_threshold)
    if bucket is None:
        return Cells(frame, grid, weighted), point
    coarse = add_up(counted.filter(pl.col(CLASS) >= 0).select(*by, BUCKET, *cells))
    return Cells(frame, grid, weighted, None, coarse, buckets, bucket.meta.output_name(), MURMUR3), point


def _grid(rows: Rows) -> DecisionGrid:
    options, values = rows.options, () if isinstance(rows.scores, DecidedScores) else (LOG_LOSS, BRIER)
    costs = row_costs_in_words(options)
    values = values if costs is None else (*values, ERROR_COST)
    # Vectors are posteriors where nothing else is stated.
    scale = getattr(rows.scores, "scale", options.scale)
    return DecisionGrid(scale.name, None, (), rows.class_names, values, rows.costs.n_decisions, costs)


def row_costs_in_words(options: Options) -> tuple[str, str] | None:
    """What `cost_fn` and `cost_fp` are where one of them is a column: its name or expression, or a number."""

    def in_words(cost: float | pl.Expr) -> str:
        if isinstance(cost, pl.Expr):
            return cost.meta.output_name() if cost.meta.is_column() else str(cost)
        return number(cost)

    return (in_words(options.cost_fn), in_words(options.cost_fp)) if options.costs_by_row else None


def _row(rows: Rows, grid: DecisionGrid) -> pl.Expr:
    """The class, decision, weight and losses of a row, and its costs."""
    losses = [name for name in grid.values if name != ERROR_COST]
    columns = {_CELLS: rows.cells([CLASS, DECISION, *losses])}
    if rows.row_costs is not None:
        columns[ERROR_COST] = rows.weighted(rows.error_cost())
        columns[_IS_UNDECIDED] = reduce(or_, rows.decision_faults.values())
    return pl.struct([column.alias(name) for name, column in columns.items()])


def _only_usable(grid: DecisionGrid, weighted: bool) -> dict[str, pl.Expr]:
    """The columns of rows, of which unusable ones add nothing to a sum."""
    usable = pl.when(pl.col(CLASS) >= 0)
    columns = {CLASS: pl.col(CLASS).cast(pl.Int32), DECISION: usable.then(DECISION).cast(pl.Int32)}
    columns |= {name: usable.then(name).otherwise(0.0) for name in (*grid.values, *([WEIGHT] if weighted else []))}
    if grid.row_costs is not None:
        undecided = pl.col(_IS_UNDECIDED)
        columns[DECISION] = pl.when(undecided).then(pl.lit(UNDECIDED)).otherwise(columns[DECISION])
        columns[ERROR_COST] = pl.when(undecided).then(0.0).otherwise(columns[ERROR_COST])
    return columns


def _sums(grid: DecisionGrid, weighted: bool) -> dict[str, pl.Expr]:
    weight, values = pl.col(WEIGHT), {x: pl.col(x) for x in grid.values}
    sums: dict[str, Any] = {"n": pl.len().cast(pl.Int64)}
    sums |= {f"{x}{end}": of.sum() for x, value in values.items() for end, of in (("", value), (SQUARE, value * value))}
    if weighted:
        sums |= {WEIGHTS[0]: weight.sum(), WEIGHTS[1]: (weight * weight).sum()}
        sums |= {f"{x}{TIMES_WEIGHT}": (value * weight).sum() for x, value in values.items()}
    return sums
