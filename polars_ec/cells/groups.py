"""The groups of a log, numbered in the order in which they come."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import numpy as np
import polars as pl

if TYPE_CHECKING:
    Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]

# Places of combinations of keys that are looked up in an array; beyond, by a join.
_LARGEST_ARRAY = 2**22
_LARGEST_NUMBER = 2**62


@dataclass(frozen=True)
class Layout:
    """Ranges of the keys, each a whole number, and so one number for all keys of a row: place 0 of a key is that of null."""

    lows: tuple[int, ...]
    highs: tuple[int, ...]

    @classmethod
    def of(cls, keys: pl.DataFrame) -> Self:
        """The ranges of these keys; one of nothing but nulls is empty, and so below its own low end."""
        ranges = [(column.min(), column.max()) for column in keys.get_columns()]
        known: list[Any] = [(0, -1) if low is None else (low, high) for low, high in ranges]
        return cls(tuple(low for low, _ in known), tuple(high for _, high in known))

    @property
    def sizes(self) -> list[int]:
        """How many places each key has."""
        return [high - low + 2 for low, high in zip(self.lows, self.highs, strict=True)]

    @property
    def size(self) -> int:
        """How many combinations there are."""
        return math.prod(self.sizes)

    def covering(self, other: Layout) -> Layout:
        """Ranges that hold those of both."""
        both = [
            (a, b) if c > d else (c, d) if a > b else (min(a, c), max(b, d))
            for a, b, c, d in zip(self.lows, self.highs, other.lows, other.highs, strict=True)
        ]
        return Layout(tuple(low for low, _ in both), tuple(high for _, high in both))

    def packed(self, keys: pl.DataFrame, rows: int) -> Numbers:
        """The number of each of so many rows."""
        total = np.zeros(rows, dtype=np.int64)
        for column, low, size in zip(keys.get_columns(), self.lows, self.sizes, strict=True):
            has_nulls = column.null_count() > 0
            place = (column.fill_null(low) if has_nulls else column).to_numpy().astype(np.int64)
            place -= low
            place += 1
            if has_nulls:
                place[column.is_null().to_numpy()] = 0
            total *= size
            total += place
        return total

    def unpacked(self, numbers: Numbers, names: list[str]) -> pl.DataFrame:
        """The keys of rows with these numbers."""
        columns: dict[str, pl.Series] = {}
        for name, low, size in reversed([*zip(names, self.lows, self.sizes, strict=True)]):
            place = numbers % size
            columns[name] = pl.Series(place - 1 + low, dtype=pl.Int64).set(pl.Series(place == 0), None)
            numbers = numbers // size
        return pl.DataFrame({name: columns[name] for name in names}, schema=dict.fromkeys(names, pl.Int64))


class Groups:
    """The number of the group of each row, by keys that are whole numbers."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._layout = Layout((0,) * len(names), (-1,) * len(names))
        self._known: Numbers = np.zeros(0, dtype=np.int64)
        self._places: Numbers | None = None

    def __len__(self) -> int:
        return len(self._known)

    def keys(self) -> pl.DataFrame:
        """The keys of the groups, Int64, in the order of their numbers."""
        return self._layout.unpacked(self._known, self._names)

    def numbers(self, rows: pl.DataFrame) -> Numbers | None:
        """The group of each row; None if the keys have more combinations than numbers have bits for."""
        keys = rows.select(self._names)
        if not self._take_in(keys):
            return None
        packed = self._layout.packed(keys, rows.height)
        if self._places is None:
            return self._joined(packed)
        found = self._places.take(packed)
        if found.min(initial=0) < 0:
            self._add(np.unique(packed[found < 0]))
            found = self._places.take(packed)
        return found

    def _take_in(self, keys: pl.DataFrame) -> bool:
        layout = self._layout.covering(Layout.of(keys))
        if layout == self._layout and self._places is not None:
            return True
        if layout.size > _LARGEST_NUMBER:
            return False
        if layout != self._layout:
            self._known, self._layout = layout.packed(self.keys(), len(self)), layout
        self._places = None
        if layout.size <= _LARGEST_ARRAY:
            self._places = np.full(layout.size, -1, dtype=np.int64)
            self._places[self._known] = np.arange(len(self))
        return True

    def _add(self, packed: Numbers) -> None:
        if self._places is not None:
            self._places[packed] = np.arange(len(self), len(self) + len(packed))
        self._known = np.concatenate([self._known, packed])

    def _joined(self, packed: Numbers) -> Numbers:
        rows = pl.DataFrame({"packed": packed})
        while True:
            known = pl.DataFrame({"packed": self._known}).with_row_index("number")
            found = rows.join(known, on="packed", how="left", maintain_order="left")["number"]
            if not found.null_count():
                return found.to_numpy().astype(np.int64)
            self._add(rows.filter(found.is_null())["packed"].unique().to_numpy())
