"""Group columns and cells as whole numbers, and back: rows are counted by numbers, not by texts or by several columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Self

import polars as pl

from polars_ec.cells.grid import Grid

CELL, COARSE, SLOT, GROUP = "__cell", "__coarse", "__slot", "__group"
"""Columns of the number of a row's cell, of its coarse cell, of the slot of its losses, and of its group."""

STAND_IN = 0.6
"""The score of rows that are not usable while they are counted: numbers without nulls are quicker, and any inside of a bin will do."""

_COUNTED = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
_WHOLE = (*_COUNTED, pl.Boolean, pl.Date, pl.Datetime, pl.Duration, pl.Time)
# Rounding may put a score into the bin beside its own, so that scores below and above a threshold can be two bins out of order.
_GAP = 3
_MISSING = 2


@dataclass(frozen=True)
class KeyCode:
    """A group column and how its values are written as whole numbers; columns without such numbers stay as they are."""

    name: str
    dtype: pl.DataType
    categories: pl.Series | None
    """None of the values, but what the engine knows them by: it forgets categories that nothing uses any more."""

    @classmethod
    def of(cls, name: str, dtype: pl.DataType) -> Self:
        """How a column of this name and dtype is written."""
        if dtype == pl.String:
            # Of its own, for categories live as long as anything uses them, and small numbers are cheap to count by.
            return cls(name, dtype, pl.Series(dtype=pl.Categorical(pl.Categories.random())))
        if isinstance(dtype, pl.Categorical | pl.Enum):
            return cls(name, dtype, pl.Series(dtype=dtype))
        return cls(name, dtype, None)

    @property
    def is_whole(self) -> bool:
        """Whether the values are written as whole numbers of at most 64 bits."""
        return self.categories is not None or self.dtype in _WHOLE

    def encoded(self, key: pl.Expr) -> pl.Expr:
        """The column as numbers."""
        if self.categories is not None:
            return key.cast(self.categories.dtype).to_physical()
        if self.dtype == pl.Boolean:
            return key.cast(pl.UInt8)
        return key.to_physical() if self.is_whole else key

    def decoded(self) -> pl.Expr:
        """The column of a table with its numbers, as it was."""
        codes = pl.col(self.name)
        if self.categories is not None:
            return codes.cast(self.categories.to_physical().dtype).cat.to(self.categories.dtype).cast(self.dtype)
        return codes.cast(self.dtype) if self.is_whole else codes


@dataclass(frozen=True)
class CellCodes:
    """The class, bin and `above` of a row as one number, which ascends as they do: 0 for a wrong row, the last for a missing one.

    `above` follows from the bin, but in bins that a threshold cuts. So it takes no factor: a row goes `_GAP` places further for
    each threshold that it is above.
    """

    grid: Grid

    @property
    def _lowest(self) -> int:
        return self.grid.infinite_bins[0]

    @property
    def _of_class(self) -> int:
        """How many numbers a class has."""
        lowest, highest = self.grid.infinite_bins
        return highest - lowest + 1 + _GAP * len(self.grid.thresholds)

    @property
    def number(self) -> int:
        """How many there are."""
        return 2 * self._of_class + 2

    @property
    def n_slots(self) -> int:
        """How many classes and counts of thresholds there are, together; `slots` has one more, for rows that are not usable."""
        return 2 * (len(self.grid.thresholds) + 1)

    def encoded(self, index: pl.Expr, score: pl.Expr, bin_: pl.Expr) -> pl.Expr:
        """Int32 number of a usable row, by its class, its score and the bin of that; for others see `of_unusable`."""
        of_class = index.cast(pl.Int32).fill_null(_MISSING) * self._of_class + (1 - self._lowest)
        above = [(score > threshold).cast(pl.Int32) * _GAP for threshold in self.grid.thresholds]
        return reduce(add, above, of_class + bin_)

    def has_unusable(self, cell: pl.Expr) -> pl.Expr:
        """Whether there are rows that are not usable among those for which `encoded` made the numbers."""
        return (cell.min() < 1) | (cell.max() > self.number - 2)

    def of_unusable(self, cell: pl.Expr) -> pl.Expr:
        """What `encoded` made, right also for rows that are wrong, of class -1, or miss a part, of class null.

        Whatever score stands in for theirs: with class -1 the number is 0 at most, and with null as if it were 2 the last or beyond.
        """
        return cell.clip(0, self.number - 1)

    def decoded(self, cell: pl.Expr) -> dict[str, pl.Expr]:
        """The columns `class`, `bin` and `above`."""
        usable = pl.when((cell > 0) & (cell < self.number - 1))
        index, place = (cell - 1) // self._of_class, (cell - 1) % self._of_class
        above = reduce(add, [(place >= start).cast(pl.Int32) for start in self._starts()], pl.lit(0, dtype=pl.Int32))
        wrong = pl.when(cell == 0).then(pl.lit(-1))
        return {
            "class": usable.then(index).otherwise(wrong).cast(pl.Int8),
            "bin": usable.then(place - above * _GAP + self._lowest).cast(pl.Int32),
            "above": usable.then(above).cast(pl.Int16),
        }

    def coarsened(self, coarse: CellCodes) -> pl.Series:
        """Of each number that of the same rows on the coarse grid, whose resolution must divide this one."""
        label, bin_, above = pl.col("class"), pl.col("bin"), pl.col("above")
        place = self.grid.coarse_bin(bin_) - coarse._lowest + _GAP * above
        number = label.cast(pl.Int32) * coarse._of_class + 1 + place
        unusable = pl.when(label.is_null()).then(coarse.number - 1).otherwise(0)
        found = pl.when(label >= 0).then(number).otherwise(unusable).cast(pl.Int32)
        return self.all_decoded().select(found.alias(COARSE)).to_series()

    def all_decoded(self) -> pl.DataFrame:
        """The columns `class`, `bin` and `above` of all numbers."""
        columns = self.decoded(pl.int_range(self.number, dtype=pl.Int32))
        return pl.select(column.alias(name) for name, column in columns.items())

    def slots(self) -> pl.Series:
        """Of each number the slot of its losses, by class and `above`; the last for rows that are not usable."""
        slot = pl.col("class").cast(pl.Int32) * (len(self.grid.thresholds) + 1) + pl.col("above")
        return self.all_decoded().select(pl.when(pl.col("class") >= 0).then(slot).fill_null(self.n_slots)).to_series()

    def of_slot(self, slot: pl.Expr) -> dict[str, pl.Expr]:
        """The columns `class` and `above` of a slot."""
        n_above = len(self.grid.thresholds) + 1
        return {"class": (slot // n_above).cast(pl.Int8), "above": (slot % n_above).cast(pl.Int16)}

    def _starts(self) -> Sequence[int]:
        """The first place of a score above each of the thresholds: that of the bin before the one of the threshold."""
        thresholds = pl.Series(self.grid.thresholds, dtype=pl.Float64)
        if self.grid.score_type == "posterior":
            thresholds = thresholds.clip(0, 1)  # those beyond cut nothing
        bins = pl.select(self.grid.bin(pl.lit(thresholds), self.grid.position(pl.lit(thresholds)))).to_series()
        return [bin_ - 1 - self._lowest + _GAP * (i + 1) for i, bin_ in enumerate(bins)]
