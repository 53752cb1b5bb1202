"""Cells of both classes in order, with their rows in clusters or dealt out at random: what the spread of ranking metrics is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.grid import Grid
from polars_ec.cells.ordered import ordered_cells
from polars_ec.formulas.ranking import RankingArguments, evaluate_all, prepare
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.random_parts import PARTS, dealt_out
from polars_ec.intervals.ranks import summed
from polars_ec.intervals.spread import Spread, effective_clusters, jackknife

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

CELL = "__ec_ordered"
"""The number of a cell among all, group by group, from the highest down."""

# Cells to a nat of the log-odds of the share of either class that is above.
_RESOLUTION = 8
# Cells whose parts are left out at a time.
_BLOCK = 2**15


@dataclass(frozen=True)
class Clustered:
    """Cells of the rows of each bucket: number of the cell, class, bucket (-1: no key), sum of w and of w^2."""

    cell: Integers
    label: Integers
    bucket: Integers
    weight: Floats
    weight2: Floats

    def only(self, which: NDArray[np.bool_] | Integers | slice) -> Clustered:
        """Those of the mask, or at these places."""
        return Clustered(
            self.cell[which], self.label[which], self.bucket[which], self.weight[which], self.weight2[which]
        )

    def moved(self, first: int) -> Clustered:
        """Of cells that are numbered from this one on."""
        return replace(self, cell=self.cell - first)


@dataclass(frozen=True)
class RankedCells:
    """`frame`: as `prepare` takes it, with CELL and the sums of squares `v1`, `v0`; `clustered`: None of independent rows."""

    frame: pl.DataFrame
    group_ids: pl.Series
    group: Integers
    clustered: Clustered | None

    @classmethod
    def of(cls, cells: pl.DataFrame, grid: Grid) -> RankedCells:
        """Of cells with GROUP, `class`, the grid's columns, `weight`, and where there are weights `weight2`; `bucket` with clusters."""
        weighted = "weight2" in cells.columns
        used = cells.filter(pl.col("class") >= 0, pl.col("weight") > 0)
        if not weighted:
            used = used.with_columns(weight2=pl.col("weight"))
        frame = ordered_cells(used, grid, weighted).with_row_index(CELL)
        clustered = None
        if "bucket" in cells.columns:
            keys = [GROUP, *grid.cell_columns]
            placed = used.join(frame.select(*keys, CELL), on=keys, how="left", nulls_equal=True)
            clustered = Clustered(
                placed[CELL].to_numpy().astype(np.int64),
                placed["class"].to_numpy().astype(np.int64),
                placed["bucket"].fill_null(-1).to_numpy().astype(np.int64),
                placed["weight"].to_numpy(),
                placed["weight2"].to_numpy(),
            )
        return cls(frame, *_groups(frame), clustered)

    @property
    def size(self) -> int:
        """How many groups."""
        return len(self.group_ids)

    def blocks(self) -> Iterator[RankedCells]:
        """Some groups after the others, so that what is made of their cells stays small."""
        starts = np.append(np.searchsorted(self.group, np.arange(self.size)), len(self.group))
        order = None if self.clustered is None else np.argsort(self.clustered.cell, kind="stable")
        clustered = None if self.clustered is None or order is None else self.clustered.only(order)
        first = 0
        while first < self.size:
            last = max(int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1, first + 1)
            cells = slice(int(starts[first]), int(starts[last]))
            inside = None
            if clustered is not None:
                ends = np.searchsorted(clustered.cell, [cells.start, cells.stop])
                inside = clustered.only(slice(*ends)).moved(cells.start)
            yield RankedCells(self.frame[cells], self.group_ids[first:last], self.group[cells] - first, inside)
            first = last

    def coarser(self) -> RankedCells:
        """Of neighbours together: 8 to a nat of the log-odds of either class's share above them, so that only order counts."""
        starts = [pl.col(GROUP) != pl.col(GROUP).shift()]
        for w in ("w1", "w0"):
            weight = pl.col(w)
            share = ((weight.cum_sum() - weight / 2) / weight.sum()).over(GROUP)
            place = ((share.log() - (-share).log1p()) * _RESOLUTION).floor()
            starts.append(place != place.shift())
        run = pl.any_horizontal(starts).fill_null(value=True).cum_sum().alias(CELL)
        weights = ("w1", "w0", "v1", "v0")
        frame = (
            self.frame.drop(CELL)
            .group_by(run, maintain_order=True)
            .agg(
                pl.col(GROUP).first(),
                pl.col(weights).sum(),
                pl.col("point").all() & (pl.len() == 1),
                pl.col("whole").first(),
            )
            .with_columns(threshold=pl.lit(None, dtype=pl.Float64))
        )
        return RankedCells(frame, *_groups(frame), None)

    def rows(self) -> Floats:
        """(groups, classes): how many rows of equal weight say as much (Kish)."""
        sums = {name: summed(self.group, self.frame[name].to_numpy(), self.size) for name in ("w0", "w1", "v0", "v1")}
        return np.stack([sums[f"w{i}"] ** 2 / sums[f"v{i}"] for i in range(2)], axis=-1)

    def parts(self, seed: int) -> Floats:
        """(parts, cells, classes): the weight in each part: of buckets, and of independent rows at random."""
        shape = (PARTS, self.frame.height, 2)
        if self.clustered is None:
            weight, weight2 = (self.frame.select(f"{x}0", f"{x}1").to_numpy() for x in "wv")
            return dealt_out(weight, weight2, self._starts, seed)
        with_key = self.clustered.only(self.clustered.bucket >= 0)
        index = ((with_key.bucket % PARTS) * shape[1] + with_key.cell) * 2 + with_key.label
        parts = summed(index, with_key.weight, int(np.prod(shape))).reshape(shape)
        alone = self.clustered.only(self.clustered.bucket < 0)
        if len(alone.cell):
            place = alone.cell * 2 + alone.label
            sums = [summed(place, of, shape[1] * 2).reshape(shape[1:]) for of in (alone.weight, alone.weight2)]
            parts = parts + dealt_out(sums[0], sums[1], self._starts, seed)
        return parts

    @property
    def _starts(self) -> Integers:
        """The first cells of the groups."""
        return np.searchsorted(self.group, np.arange(self.size))


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranking metrics of cells.

    `cells` has GROUP, `class`, the grid's cell columns, `weight` and, where rows have weights, `weight2`, the sum of their squares. With
    a column `bucket`, null for rows without a key, rows are in clusters; without it they are independent. `prior` is as `prepare` takes
    it. What comes of a group is the same whatever other groups there are, and whatever the order of the cells.
    """

    cells: pl.DataFrame
    grid: Grid
    metrics: Sequence[str]
    arguments: RankingArguments
    prior: pl.DataFrame | None

    @cached_property
    def ranked(self) -> RankedCells:
        """The cells in order."""
        return RankedCells.of(self.cells, self.grid)

    @cached_property
    def coarse(self) -> RankedCells:
        """As few of them as order needs; those of clusters are few as they come."""
        return self.ranked.coarser() if self.ranked.clustered is None else self.ranked


@dataclass(frozen=True)
class Replicates:
    """Of each group and part the weight that is in it, and each metric without it: (groups, parts), NaN where it is not defined.

    `whole` has the metrics of all rows from the same cells: (groups,).
    """

    weight: Floats
    values: dict[str, Floats]
    whole: dict[str, Floats]

    def spread(self, name: str) -> Spread:
        """That of the metric; NaN where it is not defined without some part. Parts of unequal weight say as much as fewer equal ones."""
        spread = jackknife(self._of_parts(name))
        df = np.minimum(spread.df, effective_clusters(self.weight) - 1)
        return Spread(spread.variance, df).only(self._known(name))

    def bias(self, name: str) -> Floats:
        """How far the metric is off what more rows would give."""
        number = (self.weight > 0).sum(axis=-1)
        mean = np.nansum(self._of_parts(name), axis=-1) / number
        bias = (number - 1) * (mean - self.whole[name])
        return np.where(self._known(name), bias, np.nan)

    def _of_parts(self, name: str) -> Floats:
        return np.where(self.weight > 0, self.values[name], np.nan)

    def _known(self, name: str) -> NDArray[np.bool_]:
        return np.asarray((np.isfinite(self.values[name]) | (self.weight <= 0)).all(axis=-1))


def replicates_of(ranking: Ranking, metrics: Sequence[str], seed: int) -> Replicates:
    """These of the metrics, of all but one part, for each of the parts."""
    weights = [np.empty((0, PARTS))]
    values = {name: [np.empty((0, PARTS))] for name in metrics}
    whole = {name: [np.empty(0)] for name in metrics}
    for block in ranking.coarse.blocks() if metrics else ():
        of_block = _of_block(block, metrics, ranking.arguments, ranking.prior, seed)
        weights.append(of_block.weight)
        for name in metrics:
            values[name].append(of_block.values[name])
            whole[name].append(of_block.whole[name])
    joined = [{name: np.concatenate(parts) for name, parts in found.items()} for found in (values, whole)]
    return Replicates(np.concatenate(weights), *joined)


def _of_block(
    ranked: RankedCells,
    metrics: Sequence[str],
    arguments: RankingArguments,
    prior: pl.DataFrame | None,
    seed: int,
) -> Replicates:
    """Each group without each of the parts is a group of its own; after these the groups themselves."""
    parts = ranked.parts(seed)
    total = parts.sum(axis=0)
    rest = np.concatenate([np.clip(total - parts, 0, None), total[None]])
    number = (np.arange(PARTS + 1)[:, None] * ranked.size + ranked.group).ravel()
    # Where rows of a cell lie is no matter of the variance.
    tiled = pl.DataFrame({GROUP: number, "w1": rest[:, :, 1].ravel(), "w0": rest[:, :, 0].ravel()}).with_columns(
        point=pl.lit(value=True),
        whole=pl.lit(ranked.frame["whole"].all()),
        threshold=pl.lit(None, dtype=pl.Float64),
    )
    if prior is not None:
        of_groups = pl.DataFrame({GROUP: ranked.group_ids}).join(prior, on=GROUP, how="left", maintain_order="left")
        prior = pl.concat([of_groups] * (PARTS + 1)).with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(GROUP))
    prepared = prepare(tiled, prior)
    values, whole = {}, {}
    for name, of in evaluate_all(prepared, metrics, arguments).items():
        found = np.full((PARTS + 1) * ranked.size, np.nan)
        found[of[GROUP].to_numpy()] = of["value"].fill_null(np.nan).to_numpy()
        of_parts = found.reshape(PARTS + 1, ranked.size)
        values[name], whole[name] = of_parts[:-1].T, of_parts[-1]
    weight = np.stack([summed(ranked.group, part.sum(axis=-1), ranked.size) for part in parts], axis=-1)
    return Replicates(weight, values, whole)


def _groups(frame: pl.DataFrame) -> tuple[pl.Series, Integers]:
    """The groups, which ascend, and the place of each cell's among them."""
    ids, place = np.unique(frame[GROUP].to_numpy(), return_inverse=True)
    return pl.Series(GROUP, ids, dtype=frame.schema[GROUP]), place.astype(np.int64)
