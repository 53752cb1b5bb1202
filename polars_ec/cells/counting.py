"""Rows counted by group and cell, and their losses summed by group, class and side of the thresholds, some rows at a time.

Where groups and cells are few enough there is a place for each of them in an array; else the engine groups the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_ec.cells.codes import CELL, GROUP, SLOT, CellCodes, KeyCode
from polars_ec.cells.grid import EXACT, Grid
from polars_ec.cells.groups import Groups
from polars_ec.cells.table import Table

_WAITING = 500_000


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

    def total(self) -> pl.DataFrame:
        """The sums of all rows."""
        return self._parts[0] if len(self._parts) == 1 else self._summed(pl.concat(self._parts))

    def _summed(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.lazy().group_by(self.by).agg(pl.col(self._values).sum()).collect(engine="streaming")


class Counting:
    """The cells of a log, and its sums, as the rows come in.

    Rows have the group columns as their codes, then `CELL` (in an exact sketch class and score), and the values to sum.
    """

    def __init__(self, keys: list[KeyCode], grid: Grid, weights: Sequence[str], sums: Sequence[str]) -> None:
        self._keys, self._names = keys, [key.name for key in keys]
        cell = ["class", EXACT] if grid.resolution is None else [CELL]
        self._slots = None if grid.resolution is None else CellCodes(grid).slots()
        self._by_cell = GroupBy([*self._names, *cell], ["n", *weights])
        self._by_slot = GroupBy([*self._names, SLOT], [*sums]) if sums else None
        self._groups = Groups(self._names)
        self._table = None
        if self._slots is not None and all(key.is_whole for key in keys):
            self._table = Table(self._slots, weights, sums)
        self._has_room = self._table is not None
        self._codes: pl.Schema | None = None

    def add(self, rows: pl.DataFrame) -> None:
        """Count more rows."""
        if self._has_room and self._table is not None:
            group = self._groups.numbers(rows)
            if group is not None and self._table.has_room_for(len(self._groups), rows.height):
                self._table.add(group, len(self._groups), rows)
                return
        # What has its place in the array keeps it, and is added in the end.
        self._has_room = False
        self._codes = rows.select(self._names).schema
        self._by_cell.add(rows.with_columns(n=pl.lit(1, dtype=pl.Int64)))
        if self._by_slot is not None and self._slots is not None:
            slot = pl.lit(self._slots).gather(pl.col(CELL)).alias(SLOT)
            self._by_slot.add(rows.with_columns(slot).filter(pl.col(SLOT) < self._slots[0]))

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """The cells and the sums by the values of the group columns, sorted."""
        cells, sums = (None, None) if self._table is None else self._table.tables()
        if self._codes is None:
            assert cells is not None
            return self._of_groups(cells), None if sums is None else self._of_groups(sums)
        return self._grouped(self._by_cell, cells), None if self._by_slot is None else self._grouped(
            self._by_slot, sums
        )

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
        if of_table is not None and of_table.height and self._codes is not None:
            codes = self._groups.keys().cast(self._codes)
            grouped.add(codes[of_table[GROUP]].hstack(of_table.drop(GROUP)))
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
