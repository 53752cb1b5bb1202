"""Rows counted by group and cell, and their losses summed by group, class and side of the thresholds, some rows at a time.

Where groups and cells are few enough there is a place for each of them in an array; else the engine groups the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_ec.cells.coarse import CoarseTable
from polars_ec.cells.codes import CELL, COARSE, GROUP, SLOT, CellCodes, KeyCode
from polars_ec.cells.grid import BUCKET, EXACT, Grid
from polars_ec.cells.groups import Groups
from polars_ec.cells.table import Table

if TYPE_CHECKING:
    from polars_ec.cells.groups import Numbers

_WAITING = 500_000
_ONE = pl.lit(1, dtype=pl.Int64).alias("n")


class GroupBy:
    """Rows grouped by the engine and their values summed, with memory for what comes of it and some rows."""

    def __init__(self, by: list[str], values: list[str]) -> None:
        self.by, self._values = by, values
        self._parts: list[pl.DataFrame] = []

    def add(self, rows: pl.DataFrame) -> None:
        """More rows, or sums of rows."""
        self._parts.append(self._summed(rows))
        # Rarely enough that it costs little, often enough that what waits is not much more than what is there.
        if sum(part.height for part in self._parts[1:]) > max(_WAITING, self._parts[0].height):
            self._parts = [self.total()]

    @property
    def is_used(self) -> bool:
        """Whether it was given anything, be it no rows."""
        return bool(self._parts)

    def total(self) -> pl.DataFrame:
        """The sums of all rows."""
        return self._parts[0] if len(self._parts) == 1 else self._summed(pl.concat(self._parts))

    def _summed(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.lazy().group_by(self.by).agg(pl.col(self._values).sum()).collect(engine="streaming")


@dataclass(frozen=True)
class Counted:
    """The tables that rows were counted in, by the values of the group columns, sorted."""

    cells: pl.DataFrame
    sums: pl.DataFrame | None
    coarse: pl.DataFrame | None


class Counting:
    """The cells of a log, its sums, and if there are buckets its coarse cells, as the rows come in.

    Rows have the group columns as their codes, then `CELL` (in an exact sketch class and score), and the values to sum; for coarse
    cells `BUCKET`, and `COARSE` where that does not follow from the cell.
    """

    def __init__(
        self, keys: list[KeyCode], grid: Grid, weights: Sequence[str], sums: Sequence[str], buckets: int | None = None
    ) -> None:
        self._keys, self._names = keys, [key.name for key in keys]
        cell = ["class", EXACT] if grid.resolution is None else [CELL]
        self._slots = None if grid.resolution is None else CellCodes(grid).slots()
        self._by_cell = GroupBy([*self._names, *cell], ["n", *weights])
        self._by_slot = GroupBy([*self._names, SLOT], [*sums]) if sums else None
        coarse = CellCodes(grid.coarse)
        self._usable = pl.col(COARSE).is_between(1, coarse.number - 2)
        self._coarse_of_cell = None if buckets is None or grid.is_cut_by_coarse else CellCodes(grid).coarsened(coarse)
        self._by_coarse = None if buckets is None else GroupBy([*self._names, BUCKET, COARSE], ["n", *weights])
        self._groups = Groups(self._names)
        self._codes = pl.Schema()
        self._table = self._coarse = None
        if all(key.is_whole for key in keys):
            self._table = None if self._slots is None else Table(self._slots, weights, sums)
            self._coarse = None if buckets is None else CoarseTable(coarse.number, buckets, weights)

    def add(self, rows: pl.DataFrame) -> None:
        """Count more rows: in an array while it has room, and all that come after by the engine, which is added in the end."""
        self._codes = rows.select(self._names).schema
        of_table = self._table is not None and not self._by_cell.is_used
        of_coarse = self._coarse is not None and self._by_coarse is not None and not self._by_coarse.is_used
        group = self._groups.numbers(rows) if of_table or of_coarse else None
        if group is None or not of_table or not self._add_to_table(group, rows):
            self._by_cell.add(rows.with_columns(_ONE))
            if self._by_slot is not None and self._slots is not None:
                slot = pl.lit(self._slots).gather(pl.col(CELL)).alias(SLOT)
                self._by_slot.add(rows.with_columns(slot).filter(pl.col(SLOT) < self._slots[0]))
        if self._by_coarse is None:
            return
        if self._coarse_of_cell is not None:
            rows = rows.with_columns(self._coarse_of_cell.gather(rows[CELL]).alias(COARSE))
        if group is None or not of_coarse or not self._add_to_coarse(group, rows):
            self._by_coarse.add(rows.filter(self._usable).with_columns(_ONE))

    def _add_to_table(self, group: Numbers, rows: pl.DataFrame) -> bool:
        if self._table is None or not self._table.has_room_for(len(self._groups), rows.height):
            return False
        self._table.add(group, len(self._groups), rows)
        return True

    def _add_to_coarse(self, group: Numbers, rows: pl.DataFrame) -> bool:
        return self._coarse is not None and self._coarse.add(group, len(self._groups), rows)

    def tables(self) -> Counted:
        """What has been counted."""
        cells, sums = (None, None) if self._table is None else self._table.tables()
        coarse = None if self._by_coarse is None else self._coarse_cells(self._by_coarse)
        if not self._by_cell.is_used:
            assert cells is not None
            return Counted(self._of_groups(cells), None if sums is None else self._of_groups(sums), coarse)
        of_slots = None if self._by_slot is None else self._grouped(self._by_slot, sums)
        return Counted(self._grouped(self._by_cell, cells), of_slots, coarse)

    def _coarse_cells(self, grouped: GroupBy) -> pl.DataFrame:
        if grouped.is_used or self._coarse is None:
            return self._grouped(grouped, None if self._coarse is None else self._coarse.table())
        if not self._names:
            return self._coarse.table().drop(GROUP)
        keys, rank = self._ranked(self._groups.keys())
        cells = self._coarse.table(np.argsort(rank))
        of_rows: pl.DataFrame = keys[cells[GROUP]]
        return of_rows.hstack(cells.drop(GROUP))

    def _of_groups(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table by numbers of groups and in their order, by the values of their keys."""
        if not self._names:
            return table.drop(GROUP)
        keys, rank = self._ranked(self._groups.keys())
        ranks = rank[table[GROUP].to_numpy()]
        order = np.argsort(ranks, kind="stable")
        of_rows: pl.DataFrame = keys[ranks[order]]
        return of_rows.hstack(table.drop(GROUP)[order])

    def _grouped(self, grouped: GroupBy, of_table: pl.DataFrame | None) -> pl.DataFrame:
        """What the engine has grouped, and what has a place in the array beside."""
        if of_table is not None and of_table.height:
            codes = self._groups.keys().cast(self._codes)
            rows = of_table.drop(GROUP)
            grouped.add(codes[of_table[GROUP]].hstack(rows) if self._names else rows)
        total = grouped.total()
        cell = grouped.by[len(self._names) :]
        if not self._names or not all(key.is_whole for key in self._keys):
            return _sorted(total.with_columns(key.decoded() for key in self._keys), grouped.by)
        codes = total.select(self._names).unique()
        keys, rank = self._ranked(codes)
        numbered = codes.with_columns(pl.Series(GROUP, rank))
        total = total.join(numbered, on=self._names, nulls_equal=True).drop(self._names)
        total = _sorted(total, [GROUP, *cell])
        of_rows: pl.DataFrame = keys[total[GROUP]]
        return of_rows.hstack(total.drop(GROUP))

    def _ranked(self, codes: pl.DataFrame) -> tuple[pl.DataFrame, np.ndarray[Any, np.dtype[np.int32]]]:
        """The keys of groups in order, and the place of each group in it: they are sorted, for they are fewer than the rows."""
        keys = codes.with_columns(key.decoded() for key in self._keys)
        keys = _sorted(keys.with_row_index(GROUP), self._names)
        rank = np.empty(keys.height, dtype=np.int32)
        rank[keys[GROUP].to_numpy()] = np.arange(keys.height, dtype=np.int32)
        return keys.drop(GROUP), rank


def _sorted(table: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    # By the streaming engine, which takes a quarter of the time by several columns.
    return table.lazy().sort(by, nulls_last=True).collect(engine="streaming")
