"""Ranking metrics of a report, from cells of equal log-odds as in a sketch, for logs of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.keywords import Request
from polars_ec.arguments.scales import ScoreScale
from polars_ec.formulas.ranking import RankingArguments, evaluate_all, prepare
from polars_ec.formulas.sums import GROUP
from polars_ec.reports.intervals import HIGH, LOW
from polars_ec.reports.models import BUCKET, TOTAL, Model, Pass, bucket_columns, with_total
from polars_ec.scores.read import Rows, class_index
from polars_ec.scores.scores import BinaryScores
from polars_ec.sketches.arguments import bayes_threshold
from polars_ec.sketches.counting import STAND_IN, CellCodes
from polars_ec.sketches.grid import Grid, sorted_thresholds
from polars_ec.sketches.sums import ordered_cells

_RESOLUTION = 64
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


@dataclass(frozen=True)
class GroupedLog:
    """A log, the keys of its groups, whether all of them together are one more, and what reads it."""

    frame: pl.LazyFrame
    keys: Sequence[pl.Expr]
    total: bool
    execute: Pass

    @property
    def names(self) -> list[str]:
        """The columns that identify groups."""
        return [*([TOTAL] if self.total else []), *(key.meta.output_name() for key in self.keys)]


def with_ranks(
    sums: pl.LazyFrame,
    log: GroupedLog,
    model: Model,
    ranks: Sequence[Rank],
    prior: list[pl.Expr] | None,
    stated_prior: Prior,
    interval: Request | None,
) -> pl.LazyFrame:
    """Add the metrics of this model, with their errors and bounds, to the sums; column names start as the model's do.

    `prior` is that of each row of the sums, None for the groups' own; `stated_prior` is as the caller passed it, for the decisions of LLRs.
    The streaming engine counts the cells, and only these are in memory. For clusters, intervals use coarser cells of each bucket.
    """
    buckets = bucket_columns(interval)
    ranked = _Ranked(model, grid_of(model.rows, stated_prior), ranks, interval, bool(buckets), prior is not None)
    priors = {} if prior is None else {"__ec_p0": prior[0], "__ec_p1": prior[1]}
    joined = sums.with_columns(pl.lit(0).alias(_ONE), **priors)
    listed = [_listed(log, model.rows, ranked.grid, {}, _CELL, interval)]
    if buckets:
        listed.append(_listed(log, model.rows, ranked.grid.coarse, buckets, _OF_BUCKETS, interval))
    for of_cells in listed:
        joined = joined.join(of_cells, on=[_ONE, *log.names], how="left", nulls_equal=True, maintain_order="left")
    schema = {**sums.collect_schema(), **dict.fromkeys(ranked.columns, pl.Float64())}
    return joined.map_batches(lambda table: ranked.of(table).select(*schema), schema=schema)


def _listed(
    log: GroupedLog, rows: Rows, grid: Grid, beside: Mapping[str, pl.Expr], name: str, interval: Request | None
) -> pl.LazyFrame:
    """The cells of each group, as a list: rows or their weight, and for intervals its squares, by cell, as one number, and `beside` it."""
    assert isinstance(rows.scores, BinaryScores)
    index = rows.class_or_invalid(class_index(rows.labels))
    columns = {_SCORE: pl.when(rows.usable).then(rows.scores.score).otherwise(STAND_IN), _INDEX: index, **beside}
    amounts = {_AMOUNT: pl.len().cast(pl.Int64)}
    if rows.weight is not None:
        columns[_WEIGHT] = pl.when(rows.usable).then(rows.weight)
        amounts[_AMOUNT] = pl.col(_WEIGHT).sum()
        if interval is not None:
            amounts[_SQUARES] = (pl.col(_WEIGHT) ** 2).sum()
    positions = log.frame.select(*log.keys, **columns)
    positions = positions.with_columns(grid.scale.position(pl.col(_SCORE)).alias(_POSITION))
    names = [key.meta.output_name() for key in log.keys]
    bin_ = grid.bin(pl.col(_SCORE), pl.col(_POSITION))
    cell = CellCodes(grid).encoded(pl.col(_INDEX), pl.col(_SCORE), bin_).alias(_CELL)
    kept = [*beside, *([_WEIGHT] if rows.weight is not None else [])]
    placed = positions.select(*names, pl.lit(0).alias(_ONE), cell, *kept)
    cells = log.execute(placed.group_by(*names, _ONE, *beside, _CELL).agg(**amounts))
    whole = with_total(cells, log.names) if log.total else cells
    return whole.group_by(_ONE, *log.names).agg(pl.struct(_CELL, *beside, *amounts).alias(name))


@dataclass(frozen=True)
class _Ranked:
    """Computes the ranking metrics of a model from a table with its cells in lists."""

    model: Model
    grid: Grid
    ranks: Sequence[Rank]
    interval: Request | None
    in_buckets: bool
    has_prior: bool

    @property
    def columns(self) -> list[str]:
        """Columns that are added to the table."""
        return [self._column(rank, suffix) for rank in self.ranks for suffix in self._suffixes]

    @property
    def _suffixes(self) -> tuple[str, ...]:
        return ("", "_error", *((LOW, HIGH) if self.interval is not None else ()))

    def _column(self, rank: Rank, suffix: str) -> str:
        return f"{self.model.prefix}{rank.column}{suffix}"

    def of(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with the metrics, their errors and their bounds."""
        table, arguments = table.with_row_index(GROUP), RankingArguments(self.model.rows.costs)
        weighted, fine = self.model.rows.weight is not None, _numbered(table, _CELL, self.grid)
        cells = ordered_cells(fine.drop("weight2", strict=False), self.grid, weighted)
        for at_prior in (False, True):
            ranks = [rank for rank in self.ranks if rank.at_prior == at_prior]
            if not ranks:
                continue
            stated = table.select(GROUP, p0="__ec_p0", p1="__ec_p1") if at_prior and self.has_prior else None
            metrics, values = [rank.metric for rank in ranks], table.select(GROUP)
            for name, found in evaluate_all(prepare(cells, stated), metrics, arguments).items():
                of_metric = found.select(GROUP, pl.col("value").alias(name), pl.col("error").alias(f"{name}_error"))
                values = values.join(of_metric, on=GROUP, how="left", maintain_order="left")
            if self.interval is not None:
                # Imported here, because they need NumPy.
                from polars_ec.sketches.moments import UsableCells, usable_rows
                from polars_ec.sketches.ranking import Ranking, limits_of_ranks

                usable = UsableCells(usable_rows(fine, weighted), self.grid, table.height)
                if self.in_buckets:
                    by_bucket = usable_rows(_numbered(table, _OF_BUCKETS, self.grid.coarse), weighted)
                    usable = UsableCells(by_bucket, self.grid.coarse, table.height, self.interval.buckets)
                limits = limits_of_ranks(Ranking(usable, weighted, metrics, arguments, stated), values, self.interval)
                values = values.join(limits, on=GROUP, how="left", maintain_order="left")
            table = table.hstack(
                values.select(
                    pl.col(f"{rank.metric}{suffix}").alias(self._column(rank, suffix))
                    for rank in ranks
                    for suffix in self._suffixes
                )
            )
        return table


def _numbered(table: pl.DataFrame, listed: str, grid: Grid) -> pl.DataFrame:
    """The cells in the lists of a table, with the number of their group."""
    cells = table.select(GROUP, listed).drop_nulls().explode(listed).unnest(listed)
    columns = {
        "n": pl.col(_AMOUNT),
        "weight": pl.col(_AMOUNT).cast(pl.Float64),
        **CellCodes(grid).decoded(pl.col(_CELL)),
    }
    columns |= {name: pl.col(of) for name, of in (("weight2", _SQUARES), ("bucket", BUCKET)) if of in cells.columns}
    return cells.select(GROUP, **columns)


def grid_of(rows: Rows, prior: Prior) -> Grid:
    """Grid of a sketch with the same keywords, so that both give the same numbers; its coarse grid is for variances."""
    assert isinstance(rows.scores, BinaryScores)
    scale = rows.scores.scale
    return Grid(scale.name, _RESOLUTION, sorted_thresholds(_declared(rows, scale, prior)), rows.labels.names)


def _declared(rows: Rows, scale: ScoreScale, prior: Prior) -> list[float]:
    threshold = rows.options.threshold
    if isinstance(threshold, pl.Expr) or rows.options.costs_by_row:
        return []
    if threshold is not None:
        return [threshold]
    try:
        return [] if 0 in rows.costs.margins() else [bayes_threshold(rows.costs, scale, prior, rows.labels.names)]
    except ValueError:
        # Such costs or such a prior have no one threshold, and the order of the rows is known without.
        return []
