"""Ranking metrics of a report: from cells of equal log-odds, as a sketch has them, so that a log of any size gives them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from polars_ec.cells.arguments import bayes_threshold
from polars_ec.cells.codes import STAND_IN, CellCodes
from polars_ec.cells.grid import Grid, SketchScoreType, checked_score_type, sorted_thresholds
from polars_ec.cells.ordered import ordered_cells
from polars_ec.formulas.ranking import RankingArguments, evaluate_all, prepare
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.arguments import Request
from polars_ec.priors import Prior
from polars_ec.reporting.intervals import HIGH, LOW
from polars_ec.reporting.models import Model, Pass
from polars_ec.reporting.squares import BUCKET, bucket_columns
from polars_ec.reporting.sums import TOTAL, twice
from polars_ec.rows.labels import class_index
from polars_ec.rows.read import Rows
from polars_ec.rows.scores import BinaryScores

_RESOLUTION, _COARSE = 64, 8
# Joined by one sorted key Polars does not find NaN, so there is always another one.
_ONE = "__ec_one"
_SCORE, _INDEX, _WEIGHT, _POSITION = "__ec_score", "__ec_index", "__ec_row_weight", "__ec_position"
_CELL, _AMOUNT, _SQUARES = "__ec_cell", "__ec_amount", "__ec_squares"
_OF_BUCKETS = "__ec_of_buckets"


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
    interval: Request | None,
    one_pass: Pass,
) -> pl.LazyFrame:
    """The sums with the metrics of this model, each with its error and its limits, in columns that begin as the model's do.

    `prior` is that of each row of the sums, None for the groups' own; `stated_prior` is as the caller has it, for where LLRs
    decide. The cells are made by the streaming engine: no more than they are in memory. Where rows come in clusters, limits are
    made of coarser cells of each bucket.
    """
    rows = model.rows
    assert isinstance(rows.scores, BinaryScores)
    grid = grid_of(rows, stated_prior)
    coarse = replace(grid, resolution=_COARSE)
    buckets = bucket_columns(interval)
    squared = interval is not None and rows.weight is not None
    key_names = [key.meta.output_name() for key in keys]
    key_names = [TOTAL, *key_names] if total else key_names

    def listed(of: Grid, beside: Mapping[str, pl.Expr], name: str) -> pl.LazyFrame:
        """The cells of each group, as a list."""
        cells = one_pass(_cells(frame, keys, rows, of, beside, squared=squared))
        amounts = (_CELL, *beside, _AMOUNT, *([_SQUARES] if squared else []))
        whole = twice(cells, key_names) if total else cells
        return whole.group_by(_ONE, *key_names).agg(pl.struct(amounts).alias(name))

    priors = {} if prior is None else {"__ec_p0": prior[0], "__ec_p1": prior[1]}
    joined = sums.with_columns(pl.lit(0).alias(_ONE), **priors)
    for of_cells in [listed(grid, {}, _CELL), *([listed(coarse, buckets, _OF_BUCKETS)] if buckets else [])]:
        joined = joined.join(of_cells, on=[_ONE, *key_names], how="left", nulls_equal=True, maintain_order="left")
    arguments = RankingArguments(rows.costs)
    weighted = rows.weight is not None

    def ranked(table: pl.DataFrame) -> pl.DataFrame:
        table = table.with_row_index(GROUP)
        fine = _numbered(table, _CELL, grid)
        by_bucket, grid_of_limits = (_numbered(table, _OF_BUCKETS, coarse), coarse) if buckets else (fine, grid)
        cells = ordered_cells(fine.drop("weight2", strict=False), grid, weighted)
        for at_prior in (False, True):
            ranks = [rank for rank in asked if rank.at_prior == at_prior]
            if not ranks:
                continue
            stated = table.select(GROUP, p0="__ec_p0", p1="__ec_p1") if at_prior and priors else None
            prepared, values = prepare(cells, stated), table.select(GROUP)
            names = [rank.metric for rank in ranks]
            for name, found in evaluate_all(prepared, names, arguments).items():
                of_metric = found.select(GROUP, pl.col("value").alias(name), pl.col("error").alias(f"{name}_error"))
                values = values.join(of_metric, on=GROUP, how="left", maintain_order="left")
            if interval is not None:
                # Imported here, for it needs numpy.
                from polars_ec.cells.ranking_draws import limits_of_ranks
                from polars_ec.cells.ranking_parts import Ranking

                ranking = Ranking(by_bucket, grid_of_limits, names, arguments, stated)
                limits = limits_of_ranks(ranking, values, interval)
                values = values.join(limits, on=GROUP, how="left", maintain_order="left")
            table = table.hstack(
                values.select(
                    pl.col(f"{rank.metric}{suffix}").alias(f"{model.prefix}{rank.column}{suffix}")
                    for rank in ranks
                    for suffix in suffixes
                )
            )
        return table.select(*schema)

    suffixes = ("", "_error", *((LOW, HIGH) if interval is not None else ()))
    made = [f"{model.prefix}{rank.column}{suffix}" for rank in asked for suffix in suffixes]
    schema = {**sums.collect_schema(), **dict.fromkeys(made, pl.Float64())}
    return joined.map_batches(ranked, schema=schema)


def _numbered(table: pl.DataFrame, listed: str, grid: Grid) -> pl.DataFrame:
    """The cells in the lists of a table, with the number of their group."""
    cells = table.select(GROUP, listed).drop_nulls().explode(listed).unnest(listed)
    columns = {"weight": pl.col(_AMOUNT).cast(pl.Float64), **CellCodes(grid).decoded(pl.col(_CELL))}
    columns |= {name: pl.col(of) for name, of in (("weight2", _SQUARES), ("bucket", BUCKET)) if of in cells.columns}
    return cells.select(GROUP, **columns)


def _cells(
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    rows: Rows,
    grid: Grid,
    beside: Mapping[str, pl.Expr],
    *,
    squared: bool,
) -> pl.LazyFrame:
    """Rows or their weight, and with `squared` its squares, by group and cell, the cell in one number, and by what is `beside` it."""
    assert isinstance(rows.scores, BinaryScores)
    index = rows.class_or_invalid(class_index(rows.labels))
    columns = {_SCORE: pl.when(rows.usable).then(rows.scores.score).otherwise(STAND_IN), _INDEX: index, **beside}
    amounts = {_AMOUNT: pl.len().cast(pl.Int64)}
    if rows.weight is not None:
        columns[_WEIGHT] = pl.when(rows.usable).then(rows.weight)
        amounts[_AMOUNT] = pl.col(_WEIGHT).sum()
    if squared:
        amounts[_SQUARES] = (pl.col(_WEIGHT) ** 2).sum()
    made = frame.select(*keys, **columns).with_columns(grid.position(pl.col(_SCORE)).alias(_POSITION))
    names = [key.meta.output_name() for key in keys]
    codes = CellCodes(grid)
    cell = codes.of_unusable(
        codes.encoded(pl.col(_INDEX), pl.col(_SCORE), grid.bin(pl.col(_SCORE), pl.col(_POSITION)))
    ).alias(_CELL)
    kept = [*beside, *([_WEIGHT] if rows.weight is not None else [])]
    one = pl.lit(0).alias(_ONE)
    return made.select(*names, one, cell, *kept).group_by(*names, _ONE, *beside, _CELL).agg(**amounts)


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
