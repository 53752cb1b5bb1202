"""A place in an array for each cell of each group: where these are few enough, nothing counts faster."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from polars_ec.cells.codes import CELL, GROUP, SLOT

if TYPE_CHECKING:
    from polars_ec.cells.groups import Numbers

    Floats = np.ndarray[Any, np.dtype[np.float64]]

# Most bytes of the array, of which a sketch touches a part; and how many more places than rows it may have.
_LARGEST = 2**29
_LARGEST_OF_FEW_ROWS, _PER_ROW = 2**24, 64
# A sum of n numbers one after the other is off by up to n units in the last place: so many are taken together.
_BLOCK = 2**14
_RECENT = 2**20


class Table:
    """Rows counted, and their weights summed, by group and cell; losses by group and slot, of which a cell has one."""

    def __init__(self, slots: pl.Series, weights: Sequence[str], sums: Sequence[str]) -> None:
        self._slots: Numbers = slots.to_numpy().astype(np.int64)
        # Rows that are not usable, as those of the first cell, have the last slot.
        self._n_slots = int(self._slots[0]) + 1
        self._names = sums
        self._rows = self._groups = self._capacity = self._since = 0
        self._counts: np.ndarray[Any, Any] = np.zeros(0, dtype=np.uint32)
        self._weights = {name: np.zeros(0) for name in weights}
        self._recent = {name: np.zeros(0) for name in weights}
        self._sums = [np.zeros(0) for _ in sums]
        self._places: Numbers = np.zeros(0, dtype=np.int64)

    def has_room_for(self, groups: int, rows: int) -> bool:
        """Whether so many groups are to have places, with these rows beside those that are counted."""
        places = groups * len(self._slots)
        per_place = 4 + 16 * len(self._weights)
        return places * per_place <= _LARGEST and places <= max(_LARGEST_OF_FEW_ROWS, _PER_ROW * (self._rows + rows))

    def add(self, group: Numbers, groups: int, rows: pl.DataFrame) -> None:
        """Count rows of these groups; `groups` is how many there are so far."""
        self._make_places(groups)
        self._rows += rows.height
        if self._rows > np.iinfo(self._counts.dtype).max:
            self._counts = self._counts.astype(np.int64)
        cell = rows[CELL].to_numpy().astype(np.int64)
        place = np.multiply(group, len(self._slots), out=self._buffer(rows.height))
        place += cell
        np.add.at(self._counts, place, self._counts.dtype.type(1))
        with np.errstate(over="ignore"):
            for name, recent in self._recent.items():
                np.add.at(recent, place, rows[name].to_numpy())
        self._since += rows.height
        if self._since > max(_RECENT, 4 * len(self._counts)):
            self._settle()
        if self._names:
            slot = np.multiply(group, self._n_slots, out=place)
            slot += self._slots.take(cell)
            for name, total in zip(self._names, self._sums, strict=True):
                _add_at(total, slot, rows[name].to_numpy())

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Cells that hold rows, by group and cell; sums of slots that do, by group and slot."""
        self._settle()
        place = np.flatnonzero(self._counts)
        group, cell = np.divmod(place, len(self._slots))
        counts = {
            GROUP: group.astype(np.uint32),
            CELL: cell.astype(np.int32),
            "n": self._counts[place].astype(np.int64),
        }
        cells = pl.DataFrame(counts | {name: total[place] for name, total in self._weights.items()})
        if not self._names:
            return cells, None
        held = np.zeros((self._groups, self._n_slots), dtype=bool)
        held[group, self._slots[cell]] = True
        held[:, -1] = False
        group, slot = np.nonzero(held)
        place = group * self._n_slots + slot
        slots = {GROUP: group.astype(np.uint32), SLOT: slot.astype(np.int32)}
        sums = {name: total[place] for name, total in zip(self._names, self._sums, strict=True)}
        return cells, pl.DataFrame(slots | sums)

    def _buffer(self, rows: int) -> Numbers:
        """The same memory for each batch: new memory takes longer to get than to fill."""
        if len(self._places) < rows:
            self._places = np.empty(rows, dtype=np.int64)
        return self._places[:rows]

    def _make_places(self, groups: int) -> None:
        self._groups = groups
        if groups <= self._capacity:
            return
        twice = 2 * self._capacity
        self._capacity = twice if twice > groups and self.has_room_for(twice, 0) else groups
        n = self._capacity * len(self._slots)
        self._counts = _longer(self._counts, n)
        for totals in (self._weights, self._recent):
            totals |= {name: _longer(total, n) for name, total in totals.items()}
        self._sums = [_longer(total, self._capacity * self._n_slots) for total in self._sums]

    def _settle(self) -> None:
        for name, recent in self._recent.items():
            with np.errstate(over="ignore"):
                self._weights[name] += recent
            recent[:] = 0
        self._since = 0


def _longer(array: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """With more places; those that nobody has touched take no memory, so only what is held is copied."""
    longer = np.zeros(size, dtype=array.dtype)
    held = np.flatnonzero(array)
    longer[held] = array[held]
    return longer


# Weights may add up to more than a float holds, which is infinite.
@np.errstate(over="ignore")
def _add_at(total: Floats, place: Numbers, values: Floats) -> None:
    """Add the values at their places: some together, for precision; where there are many places as they come."""
    size = max(_BLOCK, 4 * len(total))
    if size > len(place):
        np.add.at(total, place, values)
        return
    parts = np.zeros((-(-len(place) // size), len(total)))
    for i, part in enumerate(parts):
        these = slice(i * size, (i + 1) * size)
        np.add.at(part, place[these], values[these])
    total += parts.sum(axis=0)
