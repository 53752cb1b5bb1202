"""Group columns and cells as whole numbers, and back: rows are counted by numbers, not by texts or by several columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Self

import polars as pl

from polars_ec.sketches.grid import Grid

CELL, COARSE, GROUP, NUMBER = "__cell", "__coarse", "__group", "__number"
"""Columns of the number of a row's cell, of its coarse cell, of its group, and of all of it together."""

STAND_IN = 0.6
"""The score of rows that are not usable while they are counted: numbers without nulls are quicker, and any inside of a bin will do."""

_COUNTED = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
_WHOLE = (*_COUNTED, pl.Boolean, pl.Date, pl.Datetime, pl.Duration, pl.Time)
# Rounding may put a score into the bin beside its own, so that scores below and above a threshold can be two bins out of order.
_GAP = 3


@dataclass(frozen=True)
class KeyCode:
    """A group column and how its values are written as whole numbers; columns without such numbers stay as they are."""

    name: str
    dtype: pl.DataType
    categories: pl.Series | None
    """None of the values, but what the engine knows them by: it forgets categories that nothing uses any more."""

    @classmethod
    def of(cls, name: str, dtype: pl.DataType) -> Self:
        if dtype == pl.String:
            # Of its own, for categories live as long as anything uses them, and small numbers are cheap to count by.
            return cls(name, dtype, pl.Series(dtype=pl.Categorical(pl.Categories.random())))
        if isinstance(dtype, pl.Categorical | pl.Enum):
            return cls(name, dtype, pl.Series(dtype=dtype))
        return cls(name, dtype, None)

    @property
    def is_whole(self) -> bool:
        """True if the values are written as whole numbers of at most 64 bits."""
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
        lowest, highest = self.grid.infinite_bins
        return highest - lowest + 1 + _GAP * len(self.grid.thresholds)

    @property
    def number(self) -> int:
        """The number of codes."""
        return 2 * self._of_class + 2

    def encoded(self, index: pl.Expr, score: pl.Expr, bin_: pl.Expr) -> pl.Expr:
        """Int32 number of a row by its class (-1 for a wrong row, null for a missing one), its score and the bin of that."""
        of_class = index.cast(pl.Int32).fill_null(2) * self._of_class + (1 - self._lowest)
        above = [(score > threshold).cast(pl.Int32) * _GAP for threshold in self.grid.thresholds]
        return reduce(add, above, of_class + bin_).clip(0, self.number - 1)

    def is_usable(self, cell: pl.Expr) -> pl.Expr:
        """Whether a number is of a row that is neither wrong nor missing."""
        return cell.is_between(1, self.number - 2)

    def decoded(self, cell: pl.Expr) -> dict[str, pl.Expr]:
        """The columns `class`, `bin` and `above`."""
        usable = pl.when(self.is_usable(cell))
        index, place = (cell - 1) // self._of_class, (cell - 1) % self._of_class
        above = reduce(add, [(place >= start).cast(pl.Int32) for start in self._starts()], pl.lit(0, dtype=pl.Int32))
        wrong = pl.when(cell == 0).then(pl.lit(-1))
        return {
            "class": usable.then(index).otherwise(wrong).cast(pl.Int8),
            "bin": usable.then(place - above * _GAP + self._lowest).cast(pl.Int32),
            "above": usable.then(above).cast(pl.Int16),
        }

    def _starts(self) -> Sequence[int]:
        """The first place of a score above each of the thresholds: that of the bin before the one of the threshold."""
        scale = self.grid.scale
        # Thresholds beyond all scores cut nothing.
        thresholds = pl.Series(self.grid.thresholds, dtype=pl.Float64).clip(*scale.bounds)
        bins = pl.select(self.grid.bin(pl.lit(thresholds), scale.position(pl.lit(thresholds)))).to_series()
        return [bin_ - 1 - self._lowest + _GAP * (i + 1) for i, bin_ in enumerate(bins)]


@dataclass(frozen=True)
class _Digit:
    """A column of whole numbers as a digit of a larger number; 0 is null."""

    name: str
    dtype: pl.DataType
    lowest: int
    places: int


_BITS: dict[Any, int] = {pl.Int8: 8, pl.Int16: 16, pl.Int32: 32, pl.UInt8: 8, pl.UInt16: 16, pl.UInt32: 32}
_LARGEST = 2**63 - 1


def added_up(
    rows: pl.LazyFrame, by: Sequence[str], sizes: Mapping[str, int], amounts: Sequence[pl.Expr]
) -> pl.LazyFrame:
    """Amounts of the rows grouped by these columns; some hold numbers from 0 that are below a size.

    Columns of few bits are one number together, for by one key the engine groups faster than by several.
    """
    schema = rows.select(by).collect_schema()
    digits: list[_Digit] = []
    for name in sorted(by, key=lambda name: name not in sizes):
        dtype = schema[name]
        if name in sizes:
            digit = _Digit(name, dtype, 0, sizes[name] + 1)
        elif dtype in _BITS:
            size = 2 ** _BITS[dtype]
            digit = _Digit(name, dtype, -size // 2 if dtype.is_signed_integer() else 0, size + 1)
        else:
            continue
        if math.prod(other.places for other in [*digits, digit]) <= _LARGEST:
            digits.append(digit)
    number = pl.lit(0, dtype=pl.Int64)
    for digit in digits:
        place = (pl.col(digit.name).cast(pl.Int64) - (digit.lowest - 1)).fill_null(0)
        number = number * digit.places + place
    others = [name for name in by if name not in {digit.name for digit in digits}]
    counted = rows.group_by(number.alias(NUMBER), *others).agg(*amounts)
    columns, number = {}, pl.col(NUMBER)
    for digit in reversed(digits):
        place, number = number % digit.places, number // digit.places
        columns[digit.name] = pl.when(place > 0).then(place + (digit.lowest - 1)).cast(digit.dtype)
    return counted.with_columns(**columns).select(*by, pl.exclude(*by, NUMBER))


def in_order(cells: pl.DataFrame, keys: Sequence[KeyCode], by: pl.Expr | Sequence[str]) -> pl.DataFrame:
    """Cells with the group columns as they were, sorted by them and by some columns, or by whole numbers from 0 that are below 2^31.

    Groups are sorted apart, for they are fewer, and cells by one number where there is one, which is several times faster.
    """
    names, by_columns = [key.name for key in keys], [by] if isinstance(by, pl.Expr) else [*map(pl.col, by)]
    if not all(key.is_whole for key in keys):
        return _sorted(cells.with_columns(key.decoded() for key in keys), [*map(pl.col, names), *by_columns])
    if not keys:
        return _sorted(cells, by_columns)
    groups = cells.select(names).unique().with_row_index(GROUP)
    ordered = groups.with_columns(key.decoded() for key in keys).sort(names, nulls_last=True)
    rank = ordered[GROUP].arg_sort()
    ranked = cells.join(groups.with_columns(rank), on=names, nulls_equal=True).drop(names)
    if isinstance(by, pl.Expr):
        ranked = ranked[ranked.select((pl.col(GROUP).cast(pl.Int64) * 2**31 + by).arg_sort()).to_series()]
    else:
        ranked = _sorted(ranked, [pl.col(GROUP), *by_columns])
    return ordered.drop(GROUP)[ranked[GROUP]].hstack(ranked.drop(GROUP))


def _sorted(table: pl.DataFrame, by: list[pl.Expr]) -> pl.DataFrame:
    # By the streaming engine, which takes a quarter of the time by several columns.
    return table.lazy().sort(by, nulls_last=True).collect(engine="streaming")
