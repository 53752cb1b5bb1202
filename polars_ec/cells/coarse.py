"""A place in an array for each coarse cell of each bucket of each group: rows counted by the cluster they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_ec.cells.codes import COARSE, GROUP
from polars_ec.cells.grid import BUCKET

if TYPE_CHECKING:
    from polars_ec.cells.groups import Numbers

# Most bytes of the array; how many more places than rows it may have; and how many are looked at together.
_LARGEST = 2**29
_LARGEST_OF_FEW_ROWS, _PER_ROW = 2**24, 128
_TOGETHER = 2**22
_FEW_CELLS = 64


class CoarseTable:
    """Rows counted, and their weights summed, by group, bucket and coarse cell; only cells that occur have places, for they are few."""

    def __init__(self, n_cells: int, buckets: int, weights: Sequence[str]) -> None:
        # The last bucket is that of rows without a cluster.
        self._no_bucket = buckets
        self._number: Numbers = np.full(n_cells, -1, dtype=np.int64)
        self._cells: Numbers = np.zeros(0, dtype=np.int64)
        self._rows = self._groups = 0
        self._totals: dict[str, np.ndarray[Any, Any]] = {
            name: np.zeros((0, buckets + 1, _FEW_CELLS), dtype=np.uint32 if name == "n" else np.float64)
            for name in ("n", *weights)
        }

    def add(self, group: Numbers, groups: int, rows: pl.DataFrame) -> bool:
        """Count rows of these groups, of which there are so many so far; False, and nothing, if there is no room for them."""
        number = self._numbers(rows[COARSE].to_numpy())
        if not self._make_places(groups, rows.height):
            return False
        self._groups = groups
        self._rows += rows.height
        if self._rows > np.iinfo(self._totals["n"].dtype).max:
            self._totals["n"] = self._totals["n"].astype(np.int64)
        _, of_group, of_bucket = self._totals["n"].shape
        place = group * of_group
        place += rows[BUCKET].fill_null(self._no_bucket).to_numpy()
        place *= of_bucket
        place += number
        # Weights may add up to more than a float holds.
        with np.errstate(over="ignore"):
            for name, total in self._totals.items():
                np.add.at(total.reshape(-1), place, total.dtype.type(1) if name == "n" else rows[name].to_numpy())
        return True

    def table(self, groups: Numbers | None = None) -> pl.DataFrame:
        """The cells that hold rows by the place of their group among these, by default all, by bucket and cell, in this order."""
        groups = np.arange(self._groups) if groups is None else groups
        # The first and the last cell are of rows that are not usable.
        found = self._cells[: self._totals["n"].shape[2]]
        cells = np.argsort(found)
        cells = cells[(found[cells] > 0) & (found[cells] < len(self._number) - 1)]
        number = found[cells].astype(np.int32)
        together = max(_TOGETHER // self._totals["n"][:1].size, 1) if self._groups else 1
        starts = range(0, max(len(groups), 1), together)
        return pl.concat(self._part(groups[start : start + together], cells, number, start) for start in starts)

    def _part(self, groups: Numbers, cells: Numbers, number: np.ndarray[Any, Any], start: int) -> pl.DataFrame:
        totals = {name: total[groups][:, :, cells] for name, total in self._totals.items()}
        held = np.nonzero(totals["n"])
        group, bucket, cell = held
        columns = {
            GROUP: (group + start).astype(np.uint32),
            BUCKET: bucket.astype(np.int16),
            COARSE: number[cell],
            **{name: total[held] for name, total in totals.items()},
        }
        known = pl.when(pl.col(BUCKET) < self._no_bucket).then(BUCKET)
        return pl.DataFrame(columns).with_columns(known, pl.col("n").cast(pl.Int64))

    def _numbers(self, cell: np.ndarray[Any, Any]) -> Numbers:
        """The numbers of coarse cells, in the order in which they come."""
        number = self._number.take(cell)
        if number.min(initial=0) < 0:
            new = np.unique(cell[number < 0])
            self._number[new] = np.arange(len(self._cells), len(self._cells) + len(new))
            self._cells = np.concatenate([self._cells, new])
            number = self._number.take(cell)
        return number

    def _make_places(self, groups: int, rows: int) -> bool:
        """Make room for so many groups and for the cells there are; False if that would be too much."""
        of_groups, of_buckets, of_cells = self._totals["n"].shape
        least = max(groups, of_groups), max(len(self._cells), of_cells)
        if least == (of_groups, of_cells):
            return True
        twice = tuple(max(x, 2 * y) if x > y else x for x, y in zip(least, (of_groups, of_cells), strict=True))
        per_place = 4 + 8 * (len(self._totals) - 1)
        for n_groups, n_cells in (twice, least):
            places = n_groups * of_buckets * n_cells
            few = max(_LARGEST_OF_FEW_ROWS, _PER_ROW * (self._rows + rows))
            if places <= few and places * per_place <= _LARGEST:
                for name, total in self._totals.items():
                    larger = np.zeros((n_groups, of_buckets, n_cells), dtype=total.dtype)
                    larger[:of_groups, :, :of_cells] = total
                    self._totals[name] = larger
                return True
        return False
