"""Ranking metrics of a report: from cells of equal log-odds, as a sketch has them, so that a log of any size gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from polars_ec.cells.arguments import bayes_threshold
from polars_ec.cells.codes import STAND_IN, CellCodes
from polars_ec.cells.grid import Grid, SketchScoreType, checked_score_type, sorted_thresholds
from polars_ec.cells.ordered import ordered_cells
from polars_ec.formulas.ranking import RankingArguments, evaluate, prepare
from polars_ec.formulas.sums import GROUP
from polars_ec.priors import Prior
from polars_ec.reporting.models import Model, Pass
from polars_ec.reporting.sums import TOTAL, twice
from polars_ec.rows.labels import class_index
from polars_ec.rows.read import Rows
from polars_ec.rows.scores import BinaryScores

_RESOLUTION = 64
# Joined by one sorted key Polars does not find NaN, so there is always another one.
_ONE = "__ec_one"
_SCORE, _INDEX, _WEIGHT, _POSITION = "__ec_score", "__ec_index", "__ec_row_weight", "__ec_position"
_CELL, _AMOUNT = "__ec_cell", "__ec_amount"


@dataclass(frozen=True)
class Rank:
    """A column of a ranking metric: at the reference prior, or at the group's own."""

    column: str
    metric: str
    at_prior: bool


def with_ranks(
    sums: pl.LazyFrame,
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    model: Model,
    asked: Sequence[Rank],
    prior: list[pl.Expr] | None,
    stated_prior: Prior,
    total: bool,
    one_pass: Pass,
) -> pl.LazyFrame:
    """The sums with the metrics of this model, each with its error, in columns that begin as the model's do.

    `prior` is that of each row of the sums, None for the groups' own; `stated_prior` is as the caller has it, for where LLRs
    decide. The cells are made by the streaming engine: no more than they are in memory.
    """
    rows = model.rows
    assert isinstance(rows.scores, BinaryScores)
    grid = grid_of(rows, stated_prior)
    key_names = [key.meta.output_name() for key in keys]
    cells = one_pass(_cells(frame, keys, rows, rows.scores, grid))
    if total:
        key_names = [TOTAL, *key_names]
        cells = twice(cells, key_names)
    listed = cells.group_by(_ONE, *key_names).agg(_CELL, _AMOUNT)
    priors = {} if prior is None else {"__ec_p0": prior[0], "__ec_p1": prior[1]}
    joined = sums.with_columns(pl.lit(0).alias(_ONE), **priors).join(
        listed, on=[_ONE, *key_names], how="left", nulls_equal=True, maintain_order="left"
    )
    arguments = RankingArguments(rows.costs)
    weighted = rows.weight is not None

    def ranked(table: pl.DataFrame) -> pl.DataFrame:
        table = table.with_row_index(GROUP)
        of_groups = table.select(GROUP, _CELL, _AMOUNT).drop_nulls().explode(_CELL, _AMOUNT)
        weight = pl.col(_AMOUNT).cast(pl.Float64)
        cells = ordered_cells(
            of_groups.select(GROUP, weight=weight, **CellCodes(grid).decoded(pl.col(_CELL))), grid, weighted
        )
        prepared = {False: prepare(cells, None)}
        if priors:
            prepared[True] = prepare(cells, table.select(GROUP, p0="__ec_p0", p1="__ec_p1"))
        for rank in asked:
            values = evaluate(prepared[rank.at_prior], rank.metric, arguments)
            column = f"{model.prefix}{rank.column}"
            named = values.select(GROUP, pl.col("value").alias(column), pl.col("error").alias(f"{column}_error"))
            table = table.join(named, on=GROUP, how="left", maintain_order="left")
        return table.select(*schema)

    made = [f"{model.prefix}{rank.column}{suffix}" for rank in asked for suffix in ("", "_error")]
    schema = {**sums.collect_schema(), **dict.fromkeys(made, pl.Float64())}
    return joined.map_batches(ranked, schema=schema)


def _cells(frame: pl.LazyFrame, keys: Sequence[pl.Expr], rows: Rows, scores: BinaryScores, grid: Grid) -> pl.LazyFrame:
    """Rows or their weight, by group and cell, the cell in one number."""
    index = rows.class_or_invalid(class_index(rows.labels))
    columns = {_SCORE: pl.when(rows.usable).then(scores.score).otherwise(STAND_IN), _INDEX: index}
    amount = pl.len().cast(pl.Int64)
    if rows.weight is not None:
        columns[_WEIGHT] = pl.when(rows.usable).then(rows.weight)
        amount = pl.col(_WEIGHT).sum()
    made = frame.select(*keys, **columns).with_columns(grid.position(pl.col(_SCORE)).alias(_POSITION))
    names = [key.meta.output_name() for key in keys]
    codes = CellCodes(grid)
    cell = codes.of_unusable(
        codes.encoded(pl.col(_INDEX), pl.col(_SCORE), grid.bin(pl.col(_SCORE), pl.col(_POSITION)))
    ).alias(_CELL)
    kept = [_WEIGHT] if rows.weight is not None else []
    one = pl.lit(0).alias(_ONE)
    return made.select(*names, one, cell, *kept).group_by(*names, _ONE, _CELL).agg(amount.alias(_AMOUNT))


def grid_of(rows: Rows, prior: Prior) -> Grid:
    """That of a sketch with the same keywords, so that both give the same numbers."""
    assert isinstance(rows.scores, BinaryScores)
    kind = checked_score_type(rows.scores.score_type)
    return Grid(kind, _RESOLUTION, sorted_thresholds(_declared(rows, kind, prior)), rows.labels.names)


def _declared(rows: Rows, kind: SketchScoreType, prior: Prior) -> list[float]:
    threshold = rows.options.threshold
    if isinstance(threshold, pl.Expr) or rows.options.costs_by_row:
        return []
    if threshold is not None:
        return [threshold]
    try:
        return [] if 0 in rows.costs.margins() else [bayes_threshold(rows.costs, kind, prior, rows.labels.names)]
    except ValueError:
        # Such costs or such a prior have no one threshold, and the order of the rows is known without.
        return []
