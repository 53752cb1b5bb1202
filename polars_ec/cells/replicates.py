"""Cells drawn with replacement: sketches of as many rows, or clusters, as there are, each a group of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import BUCKET, SUMS, Grid
from polars_ec.cells.sums import number_groups, number_sums, with_group
from polars_ec.cells.values import losses
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.bootstrap import Units

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

NUMBER, REPLICATE, PRIOR = "__number", "__replicate", "__prior"
"""Group columns of the replicates' cells: the number of the group, that of the replicate, and the stated share of class 1."""

# So many cells of replicates are in memory at a time.
_MOST = 2**19
_AT_A_TIME = 100


@dataclass(frozen=True)
class Drawable:
    """Cells of usable rows, sorted by group and unit, with what is drawn; `unit` is the number of a cell's unit within its group.

    `frame` has the columns of cells, `NUMBER` for the keys of groups, and `SUMS` of the rows of each cell where the grid has them.
    The cells of each group begin at `starts`; `groups` has their keys.
    """

    frame: pl.DataFrame
    groups: pl.DataFrame
    grid: Grid
    weighted: bool
    units: Units
    unit: Integers
    starts: Integers

    def at_prior(self, shares: pl.Series) -> Drawable:
        """With this share of class 1, of each group, as the group column `PRIOR`."""
        of_cells = shares.gather(self.frame[NUMBER]).alias(PRIOR)
        return replace(self, frame=self.frame.with_columns(of_cells))

    def replicates(self, replicates: int, seed: int) -> Iterator[Cells]:
        """The cells of all replicates, block by block, with the group columns `NUMBER` and `REPLICATE`."""
        held: list[tuple[Integers, Integers, Floats]] = []
        size = 0
        for group in range(self.units.n_groups):
            first = 0
            rows = slice(int(self.starts[group]), int(self.starts[group + 1]))
            for factors in self.units.factors(group, replicates, seed, _AT_A_TIME):
                of_cells = factors[:, self.unit[rows]]
                drawn, cell = np.nonzero(of_cells)
                held.append((drawn + first, cell + rows.start, of_cells[drawn, cell]))
                first += len(factors)
                size += len(drawn)
                if size > _MOST:
                    yield self._cells(held)
                    held, size = [], 0
        if held:
            yield self._cells(held)

    def _cells(self, held: list[tuple[Integers, Integers, Floats]]) -> Cells:
        replicate, cell, factor = (np.concatenate(parts) for parts in zip(*held, strict=True))
        amounts = ["n", *(["weight", "weight2"] if self.weighted else [])]
        times = pl.Series(factor)
        drawn = self.frame[cell].with_columns(
            pl.Series(REPLICATE, replicate, dtype=pl.Int32),
            *((pl.col(name) * times).alias(name) for name in (*amounts, *(SUMS if self.grid.has_sums else ()))),
        )
        drawn = drawn.with_columns(pl.col("n").round().cast(pl.Int64))
        keys = [name for name in self.frame.columns if name not in (*self.grid.columns, *SUMS)]
        columns = [*keys, REPLICATE, "class", *self.grid.cell_columns, *amounts]
        summed = None
        if self.grid.has_sums:
            by = [*keys, REPLICATE, "class", "above"]
            summed = drawn.group_by(by, maintain_order=True).agg(pl.col(SUMS).sum())
        return Cells(drawn.select(columns), self.grid, self.weighted, summed)


def drawable(cells: Cells, keys: list[str]) -> Drawable:
    """What replicates are drawn from, by groups of these keys: clusters where the cells know them, else rows.

    Other group columns, such as the fold, stay with the rows.
    """
    numbered, groups = number_groups(cells, keys)
    sums = number_sums(cells, numbered, groups, keys) if cells.grid.score_type != "raw" else None
    grid = cells.grid
    if cells.coarse is not None:
        grid = grid.coarse
        numbered = with_group(cells.coarse, groups, keys)
    others = [name for name in cells.keys if name not in keys]
    frame = numbered.filter(pl.col("class") >= 0, pl.col("n") > 0)
    if cells.weighted:
        frame = frame.filter(pl.col("weight") > 0)
    by_bucket = [BUCKET] if cells.coarse is not None else []
    weights = ["weight", "weight2"] if cells.weighted else []
    cell = [*by_bucket, *others, "class", *grid.cell_columns]
    frame = frame.select(GROUP, *keys, *cell, "n", *weights).sort(GROUP, *cell, nulls_last=True)
    if grid.has_sums:
        assert sums is not None
        frame = _with_losses(frame, sums, grid, cells.weighted)
    group = frame[GROUP].to_numpy().astype(np.int64)
    starts = np.searchsorted(group, np.arange(groups.height + 1))
    unit, units = _units_of(frame, group, groups.height, cells.weighted)
    frame = frame.drop(by_bucket).rename({GROUP: NUMBER})
    return Drawable(frame, groups, grid, cells.weighted, units, unit, starts)


def _units_of(frame: pl.DataFrame, group: Integers, n_groups: int, weighted: bool) -> tuple[Integers, Units]:
    """The unit of each cell, numbered within its group; and the units."""
    rows = frame["n"].to_numpy().astype(np.float64)
    if weighted:
        rows = frame["weight"].to_numpy() ** 2 / frame["weight2"].to_numpy()
    new = np.ones(len(group), dtype=bool)
    if BUCKET in frame.columns:
        # Cells of one bucket stand side by side; those of rows in none are drawn one by one.
        bucket = frame[BUCKET].fill_null(-1).to_numpy()
        new[1:] = (group[1:] != group[:-1]) | (bucket[1:] != bucket[:-1]) | (bucket[1:] < 0)
        rows = np.where(bucket < 0, rows, 1.0)
    number = np.cumsum(new) - 1
    starts = np.searchsorted(group[new], np.arange(n_groups + 1))
    return number - starts[group], Units(starts, rows[new])


def _with_losses(frame: pl.DataFrame, sums: pl.DataFrame, grid: Grid, weighted: bool) -> pl.DataFrame:
    """The cells with `SUMS` of their rows: those of the middle of the bin, times what makes them add up to the exact ones."""
    amount = pl.col("weight" if weighted else "n").cast(pl.Float64)
    of_cells = frame.with_columns((value * amount).alias(name) for name, value in losses(grid).items())
    exact = sums.group_by(GROUP, "class").agg(pl.col(name).sum().alias(f"exact_{name}") for name in SUMS)
    whole = of_cells.group_by(GROUP, "class").agg(pl.col(name).sum().alias(f"whole_{name}") for name in SUMS)
    joined = of_cells.join(
        exact.join(whole, on=[GROUP, "class"]), on=[GROUP, "class"], how="left", maintain_order="left"
    )
    return joined.with_columns(
        (
            pl.col(name)
            * pl.when(pl.col(f"whole_{name}") > 0)
            .then(pl.col(f"exact_{name}") / pl.col(f"whole_{name}"))
            .otherwise(1.0)
        ).alias(name)
        for name in SUMS
    ).select(*frame.columns, *SUMS)
