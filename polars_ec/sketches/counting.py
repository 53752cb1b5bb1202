"""Count the rows of a log by group and cell, and sum their losses, by several threads."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce
from operator import add
from threading import Lock
from typing import Any, Self

import polars as pl

from polars_ec.numerics import Floats, Integers, np
from polars_ec.scores.scores import log_loss_of_posterior
from polars_ec.sketches.grid import BUCKET, EXACT, SUMS, WEIGHTS, Grid, posterior_logs

# Places of combinations of keys that are looked up in an array; beyond, by a join.
_LARGEST_ARRAY = 2**22
_LARGEST_NUMBER = 2**62


@dataclass(frozen=True)
class Layout:
    """Ranges of the keys, each a whole number, and so one number for all keys of a row: place 0 of a key is that of null."""

    ranges: tuple[tuple[int, int, int], ...]
    """Low and high end, and step: keys of 64 bits differ by multiples of it, such as a day for months in microseconds; 0 for one key."""

    @property
    def sizes(self) -> list[int]:
        return [(high - low) // max(step, 1) + 2 for low, high, step in self.ranges]

    @property
    def size(self) -> int:
        return math.prod(self.sizes)

    def covering(self, keys: pl.DataFrame) -> Layout:
        """Ranges that hold these keys as well."""
        return Layout(tuple(map(_covering, self.ranges, map(_range, keys.get_columns()))))

    def packed(self, keys: pl.DataFrame, rows: int) -> Integers:
        """The numbers of this many rows."""
        total = np.zeros(rows, dtype=np.int64)
        columns = zip(keys.get_columns(), self.ranges, self.sizes, strict=True)
        for i, (column, (low, _, step), size) in enumerate(columns):
            has_nulls = column.null_count() > 0
            place = (column.fill_null(low) if has_nulls else column).to_numpy().astype(np.int64)
            place -= low
            if step > 1:
                place //= step
            place += 1
            if has_nulls:
                place[column.is_null().to_numpy()] = 0
            if i:
                total *= size
                place += total
            total = place
        return total

    def unpacked(self, numbers: Integers, names: list[str]) -> pl.DataFrame:
        """The keys of rows with these numbers."""
        columns: dict[str, pl.Series] = {}
        for name, (low, _, step), size in reversed([*zip(names, self.ranges, self.sizes, strict=True)]):
            place = numbers % size
            columns[name] = pl.Series((place - 1) * max(step, 1) + low, dtype=pl.Int64).set(pl.Series(place == 0), None)
            numbers = numbers // size
        return pl.DataFrame({name: columns[name] for name in names}, schema=dict.fromkeys(names, pl.Int64))


def _range(keys: pl.Series) -> tuple[int, int, int]:
    """The range of these keys; one of nothing but nulls is empty, and so below its own low end."""
    low: Any = keys.min()
    high: Any = keys.max()
    if low is None:
        return 0, -1, 0
    if keys.dtype != pl.Int64 or high - low > _LARGEST_NUMBER:
        return low, high, 1
    gcd: np.ufunc = np.gcd
    return low, high, int(gcd.reduce((keys - low).drop_nulls().to_numpy()))


def _covering(one: tuple[int, int, int], other: tuple[int, int, int]) -> tuple[int, int, int]:
    (a, b, step), (c, d, other_step) = one, other
    if a > b or c > d:
        return other if a > b else one
    low, high = min(a, c), max(b, d)
    return low, high, math.gcd(step, other_step, a - c) if high - low <= _LARGEST_NUMBER else 1


class Groups:
    """The number of the group of each row, by keys that are whole numbers; several threads may ask."""

    def __init__(self, names: list[str]) -> None:
        self._names = names
        self._layout = Layout(((0, -1, 0),) * len(names))
        self._known: Integers = np.zeros(0, dtype=np.int64)
        self._places: Integers | None = None
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._known)

    def keys(self) -> pl.DataFrame:
        """The keys of the groups, Int64, in the order of their numbers."""
        return self._layout.unpacked(self._known, self._names)

    def numbers(self, rows: pl.DataFrame) -> Integers | None:
        """The group of each row; None if the keys have more combinations than numbers have bits for."""
        keys = rows.select(self._names)
        with self._lock:
            if not self._take_in(keys):
                return None
            layout, places = self._layout, self._places
        if places is not None:
            found = places.take(layout.packed(keys, rows.height))
            if np.min(found, initial=0) == 0:
                return found
        with self._lock:
            # Another thread may have widened the ranges since.
            packed = self._layout.packed(keys, rows.height)
            if self._places is None:
                return self._joined(packed)
            self._add(np.unique(packed[self._places.take(packed) < 0]))
            return self._places.take(packed)

    def _take_in(self, keys: pl.DataFrame) -> bool:
        layout = self._layout.covering(keys)
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

    def _add(self, packed: Integers) -> None:
        if self._places is not None:
            self._places[packed] = np.arange(len(self), len(self) + len(packed))
        self._known = np.concatenate([self._known, packed])

    def _joined(self, packed: Integers) -> Integers:
        rows = pl.DataFrame({"packed": packed})
        while True:
            known = pl.DataFrame({"packed": self._known}).with_row_index("number")
            found = rows.join(known, on="packed", how="left", maintain_order="left")["number"]
            if not found.null_count():
                return found.to_numpy().astype(np.int64)
            self._add(rows.filter(found.is_null())["packed"].unique().to_numpy())


# Group columns and cells as whole numbers, and back: rows are counted by numbers, not by texts or by several columns.

CELL, COARSE, SLOT, GROUP = "__cell", "__coarse", "__slot", "__group"
"""Columns of the number of a row's cell, of its coarse cell, of the slot of its losses, and of its group."""

ROW_SCORE, ROW_CLASS = "__score", "__class"
"""Columns of the score of a row, and of its class (-1: invalid, 2: missing), which the cells of posteriors are made of."""

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
            # A separate category set, because categories live as long as anything uses them, and small numbers are cheap keys.
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
    """The class, bin and `above` of a row as one ascending number: 0 for an invalid row, the last for a missing one.

    `above` follows from the bin, except in bins that contain a threshold. So it needs no factor: each threshold below the score moves the row
    `_GAP` places up.
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
        """Int32 number of a row by its class (-1 for an invalid row, null for a missing one), its score and the bin of that."""
        of_class = index.cast(pl.Int32).fill_null(2) * self._of_class + (1 - self._lowest)
        above = [(score > threshold).cast(pl.Int32) * _GAP for threshold in self.grid.thresholds]
        return reduce(add, above, of_class + bin_).clip(0, self.number - 1)

    def with_cells(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of posteriors with their number and losses, by NumPy, in half of the time of the engine."""
        scores, index = rows[ROW_SCORE], rows[ROW_CLASS].to_numpy()
        score, q = scores.to_numpy(), self.grid.scale.share(scores).to_numpy()
        log_0, log_1, bins = posterior_logs(q, self.grid)
        cell = bins.astype(np.int32)
        cell += index * np.int32(self._of_class) + np.int32(1 - self._lowest)
        for threshold in self.grid.thresholds:
            cell += (score > threshold) * np.int32(_GAP)
        positive = index == 1
        other = np.abs(q - positive)
        losses = np.where(positive, -log_1, log_loss_of_posterior(1 - q, q, log_0)), other * other, q
        values = dict(zip(SUMS, losses, strict=True))
        if WEIGHTS[0] in rows.columns:
            weight = rows[WEIGHTS[0]].to_numpy()
            with np.errstate(invalid="ignore", over="ignore"):
                values = {name: value * weight for name, value in values.items()}
            # A row of weight 0 counts as no row, also when its loss is infinite, which alone can be.
            values[SUMS[0]][weight == 0] = 0
        values = {CELL: cell.clip(0, self.number - 1), **values}
        return rows.hstack([pl.Series(name, value) for name, value in values.items()])

    def is_usable(self, cell: pl.Expr) -> pl.Expr:
        """Whether a number is that of a usable row."""
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

    def coarsened(self, coarse: CellCodes) -> pl.Series:
        """The code of each code on the coarse grid, whose resolution must divide this one."""
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
        """The slot of the losses of each code, by class and `above`; the last for rows that are not usable."""
        n_above = len(self.grid.thresholds) + 1
        slot = pl.col("class").cast(pl.Int32) * n_above + pl.col("above")
        return self.all_decoded().select(pl.when(pl.col("class") >= 0).then(slot).fill_null(2 * n_above)).to_series()

    def of_slot(self, slot: pl.Expr) -> dict[str, pl.Expr]:
        """The columns `class` and `above` of a slot."""
        n_above = len(self.grid.thresholds) + 1
        return {"class": (slot // n_above).cast(pl.Int8), "above": (slot % n_above).cast(pl.Int16)}

    def _starts(self) -> Sequence[int]:
        """The first place of a score above each of the thresholds: that of the bin before the one of the threshold."""
        scale = self.grid.scale
        # Thresholds beyond all scores cut nothing.
        thresholds = pl.Series(self.grid.thresholds, dtype=pl.Float64).clip(*scale.bounds)
        bins = pl.select(self.grid.bin(pl.lit(thresholds), scale.position(pl.lit(thresholds)))).to_series()
        return [bin_ - 1 - self._lowest + _GAP * (i + 1) for i, bin_ in enumerate(bins)]


# A place in an array for each cell of each group: where these are few enough, nothing counts faster.

# The largest array in bytes, of which a sketch uses a part, and the largest ratio of places to rows.
_LARGEST = 2**29
_LARGEST_OF_FEW_ROWS, _PER_ROW = 2**24, 64
# A sequential sum of n numbers is off by up to n units in the last place, so blocks of this size are summed.
_BLOCK = 2**14
_RECENT = 2**20


class Table:
    """Rows counted, and their weights summed, by group and cell; losses by group and slot, of which a cell has one.

    Several threads may add rows.
    """

    def __init__(self, slots: pl.Series, weights: Sequence[str], sums: Sequence[str]) -> None:
        self._slots: Integers = slots.to_numpy().astype(np.int64)
        # Rows that are not usable, as those of the first cell, have the last slot.
        self._n_slots = int(self._slots[0]) + 1
        self._names = sums
        self._rows = self._groups = self._capacity = self._since = 0
        self._counts: np.ndarray[Any, Any] = np.zeros(0, dtype=np.uint32)
        self._weights = {name: np.zeros(0) for name in weights}
        self._recent = {name: np.zeros(0) for name in weights}
        self._sums = [np.zeros(0) for _ in sums]
        self._lock = Lock()

    def add(self, group: Integers, groups: int, rows: pl.DataFrame) -> bool:
        """Count rows of these groups, the number of which so far is passed; return False, without counting, if there is no room."""
        with self._lock:
            if not self.has_room_for(groups, rows.height):
                return False
            self._make_places(max(groups, self._groups))
            self._rows += rows.height
            if self._rows > np.iinfo(self._counts.dtype).max:
                self._counts = self._counts.astype(np.int64)
        place, slot = group * len(self._slots), group * self._n_slots
        cell, losses = rows[CELL].to_numpy(), [rows[name].to_numpy() for name in self._names]
        place += cell
        slot += self._slots.take(cell)
        # Weights may add up to more than a float holds, which is infinite.
        with np.errstate(over="ignore"):
            sums = _summed(slot, losses, groups * self._n_slots)
            with self._lock:
                np.add.at(self._counts, place, self._counts.dtype.type(1))
                for name, recent in self._recent.items():
                    np.add.at(recent, place, rows[name].to_numpy())
                for total, values, of_slots in zip(self._sums, losses, sums or losses, strict=True):
                    if sums is None:
                        np.add.at(total, slot, values)
                    else:
                        total[: len(of_slots)] += of_slots
                self._since += rows.height
                if self._since > max(_RECENT, 4 * len(self._counts)):
                    self._settle()
        return True

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame | None]:
        """Cells that hold rows, by group and cell; sums of slots that do, by group and slot."""
        self._settle()
        place = np.flatnonzero(self._counts[: self._groups * len(self._slots)])
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

    def has_room_for(self, groups: int, rows: int) -> bool:
        """Whether this many groups get places, with these rows besides those counted."""
        places = groups * len(self._slots)
        return _are_few(places, 4 + 16 * len(self._weights), _PER_ROW * (self._rows + rows))

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


def _are_few(places: int, per_place: int, most: int) -> bool:
    """Whether so many places of so many bytes fit in memory, and are at most as many as these rows, or few ones, may have."""
    return places * per_place <= _LARGEST and places <= max(_LARGEST_OF_FEW_ROWS, most)


def _longer(array: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    """Lengthen an array; untouched places take no memory, so only the used ones are copied."""
    longer = np.zeros(size, dtype=array.dtype)
    held = np.flatnonzero(array)
    longer[held] = array[held]
    return longer


def _summed(slot: Integers, losses: list[Floats], n: int) -> list[Floats] | None:
    """Sum losses by slot: some rows together, for precision; None where there are many slots."""
    size = max(_BLOCK, 4 * n)
    if len(slot) < size:
        return None
    blocks = [slice(start, start + size) for start in range(0, len(slot), size)]
    return [np.sum([np.bincount(slot[at], values[at], minlength=n) for at in blocks], axis=0) for values in losses]


# A place in an array for each coarse cell of each bucket of each group: rows counted by the cluster they belong to.

# How many more places than rows the array may have; and how many are looked at together.
_PER_ROW_OF_COARSE = 128
_TOGETHER = 2**22
_FEW_CELLS = 64


class CoarseTable:
    """Rows counted, and their weights summed, by group, bucket and coarse cell; only cells that occur have places, because they are few.

    Several threads may add rows.
    """

    def __init__(self, n_cells: int, buckets: int, weights: Sequence[str]) -> None:
        # The last bucket is that of rows without a cluster.
        self._no_bucket = buckets
        self._number: Integers = np.full(n_cells, -1, dtype=np.int64)
        self._cells: Integers = np.zeros(0, dtype=np.int64)
        self._rows = self._groups = 0
        self._lock = Lock()
        self._totals: dict[str, np.ndarray[Any, Any]] = {
            name: np.zeros((0, buckets + 1, _FEW_CELLS), dtype=np.uint32 if name == "n" else np.float64)
            for name in ("n", *weights)
        }

    def add(self, group: Integers, groups: int, rows: pl.DataFrame) -> bool:
        """Count rows of these groups, the number of which so far is passed; return False, without counting, if there is no room."""
        cell, bucket = rows[COARSE].to_numpy(), rows[BUCKET].fill_null(self._no_bucket).to_numpy()
        with self._lock:
            number = self._numbers(cell)
            if not self._make_places(groups, rows.height):
                return False
            self._groups = max(groups, self._groups)
            self._rows += rows.height
            if self._rows > np.iinfo(self._totals["n"].dtype).max:
                self._totals["n"] = self._totals["n"].astype(np.int64)
            _, of_group, of_bucket = self._totals["n"].shape
            place = group * of_group
            place += bucket
            place *= of_bucket
            place += number
            # Weights may add up to more than a float holds.
            with np.errstate(over="ignore"):
                for name, total in self._totals.items():
                    np.add.at(total.reshape(-1), place, total.dtype.type(1) if name == "n" else rows[name].to_numpy())
        return True

    def table(self, groups: Integers | None = None) -> pl.DataFrame:
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

    def _part(self, groups: Integers, cells: Integers, number: np.ndarray[Any, Any], start: int) -> pl.DataFrame:
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

    def _numbers(self, cell: np.ndarray[Any, Any]) -> Integers:
        number = self._number.take(cell)
        if np.min(number, initial=0) < 0:
            new = np.unique(cell[number < 0])
            self._number[new] = np.arange(len(self._cells), len(self._cells) + len(new))
            self._cells = np.concatenate([self._cells, new])
            number = self._number.take(cell)
        return number

    def _make_places(self, groups: int, rows: int) -> bool:
        """Make room for this many groups and the existing cells; False if that would be too much."""
        of_groups, of_buckets, of_cells = self._totals["n"].shape
        least = max(groups, of_groups), max(len(self._cells), of_cells)
        if least == (of_groups, of_cells):
            return True
        twice = tuple(max(x, 2 * y) if x > y else x for x, y in zip(least, (of_groups, of_cells), strict=True))
        per_place = 4 + 8 * (len(self._totals) - 1)
        for n_groups, n_cells in (twice, least):
            places = n_groups * of_buckets * n_cells
            if _are_few(places, per_place, _PER_ROW_OF_COARSE * (self._rows + rows)):
                for name, total in self._totals.items():
                    larger = np.zeros((n_groups, of_buckets, n_cells), dtype=total.dtype)
                    larger[:of_groups, :, :of_cells] = total
                    self._totals[name] = larger
                return True
        return False


# Rows counted by group and cell, and their losses summed by group, class and side of the thresholds, some rows at a time.

_WAITING = 500_000
# With more of them, the one that adds up would be the slowest.
_MOST_THREADS = 4
_KEPT = 2**24
_ONE = pl.lit(1, dtype=pl.Int64).alias("n")


class GroupBy:
    """Rows grouped by the engine and their values summed, with memory for what comes of it and some rows; several threads may add rows."""

    def __init__(self, by: list[str], values: list[str]) -> None:
        self.by, self._values = by, values
        self._parts: list[pl.DataFrame] = []
        self._lock = Lock()

    def add(self, rows: pl.DataFrame) -> None:
        part = self._summed(rows)
        with self._lock:
            self._parts.append(part)
            # Rarely enough to cost little, often enough that pending rows stay few relative to the cells.
            if sum(part.height for part in self._parts[1:]) > max(_WAITING, self._parts[0].height):
                self._parts = [self.total()]

    @property
    def is_used(self) -> bool:
        return bool(self._parts)

    def total(self) -> pl.DataFrame:
        return self._parts[0] if len(self._parts) == 1 else self._summed(pl.concat(self._parts))

    def _summed(self, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.lazy().group_by(self.by).agg(pl.col(self._values).sum()).collect(engine="streaming")


class Counting:
    """The cells of rows, their sums and coarse cells; rows have coded keys, `CELL` (or class and score), values, `BUCKET` and `COARSE`."""

    def __init__(
        self, keys: list[KeyCode], grid: Grid, weights: Sequence[str], sums: Sequence[str], buckets: int | None = None
    ) -> None:
        self._keys, self._names = keys, [key.name for key in keys]
        cell = ["class", EXACT] if grid.resolution is None else [CELL]
        self._slots = None if grid.resolution is None else CellCodes(grid).slots()
        self._codes_of_shares = CellCodes(grid) if grid.has_share_bins else None
        self._by_cell = GroupBy([*self._names, *cell], ["n", *weights])
        self._by_slot = GroupBy([*self._names, SLOT], [*sums]) if sums else None
        coarse = CellCodes(grid.coarse)
        self._usable = coarse.is_usable(pl.col(COARSE))
        self._coarse_of_cell = None if buckets is None or grid.is_cut_by_coarse else CellCodes(grid).coarsened(coarse)
        self._by_coarse = None if buckets is None else GroupBy([*self._names, BUCKET, COARSE], ["n", *weights])
        self._groups = Groups(self._names)
        self._codes = pl.Schema()
        # The engine has as many of its own.
        self._threads = min(pl.thread_pool_size(), _MOST_THREADS)
        self._pool = ThreadPoolExecutor(self._threads)
        # Once an array of this size was released, glibc reuses the memory of smaller ones instead of returning it to the system.
        np.empty(_KEPT, dtype=np.uint8)
        self._waiting: deque[Future[None]] = deque()
        self._table = self._coarse = None
        if all(key.is_whole for key in keys):
            self._table = None if self._slots is None else Table(self._slots, weights, sums)
            self._coarse = None if buckets is None else CoarseTable(coarse.number, buckets, weights)

    def add(self, rows: pl.DataFrame) -> None:
        """Count more rows: in an array while it has room, and all that come after by the engine, which is added in the end.

        Several threads do so, because the functions of NumPy that they call let go of the interpreter's lock.
        """
        self._codes = rows.select(self._names).schema
        self._waiting.append(self._pool.submit(self._count, rows))
        if len(self._waiting) > self._threads:
            self._waiting.popleft().result()

    def _count(self, rows: pl.DataFrame) -> None:
        # Chunk by chunk, because NumPy copies columns of several chunks.
        start = 0
        for length in rows[:, 0].chunk_lengths():
            self._count_part(rows.slice(start, length))
            start += length

    def _count_part(self, rows: pl.DataFrame) -> None:
        table = None if self._by_cell.is_used else self._table
        coarse = None if self._by_coarse is None or self._by_coarse.is_used else self._coarse
        if self._codes_of_shares is not None:
            rows = self._codes_of_shares.with_cells(rows)
        group = None if table is None and coarse is None else self._groups.numbers(rows)
        n_groups = len(self._groups)
        if group is None or table is None or not table.add(group, n_groups, rows):
            self._by_cell.add(rows.with_columns(_ONE))
            if self._by_slot is not None and self._slots is not None:
                slot = pl.lit(self._slots).gather(pl.col(CELL)).alias(SLOT)
                self._by_slot.add(rows.with_columns(slot).filter(pl.col(SLOT) < self._slots[0]))
        if self._by_coarse is None:
            return
        if self._coarse_of_cell is not None:
            rows = rows.with_columns(self._coarse_of_cell.gather(rows[CELL]).alias(COARSE))
        if group is None or coarse is None or not coarse.add(group, n_groups, rows):
            self._by_coarse.add(rows.filter(self._usable).with_columns(_ONE))

    def tables(self) -> tuple[pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None]:
        """The cells, the sums and the coarse cells, by the values of the group columns, sorted."""
        with self._pool:
            while self._waiting:
                self._waiting.popleft().result()
        cells, sums = (None, None) if self._table is None else self._table.tables()
        coarse = None if self._by_coarse is None else self._coarse_cells(self._by_coarse)
        if not self._by_cell.is_used:
            assert cells is not None
            return self._of_groups(cells), None if sums is None else self._of_groups(sums), coarse
        return (
            self._grouped(self._by_cell, cells),
            None if self._by_slot is None else self._grouped(self._by_slot, sums),
            coarse,
        )

    def _coarse_cells(self, grouped: GroupBy) -> pl.DataFrame:
        if grouped.is_used or self._coarse is None:
            return self._grouped(grouped, None if self._coarse is None else self._coarse.table())
        if not self._names:
            return self._coarse.table().drop(GROUP)
        keys, rank = self._ranked(self._groups.keys())
        cells = self._coarse.table(np.argsort(rank))
        return keys[cells[GROUP]].hstack(cells.drop(GROUP))

    def _of_groups(self, table: pl.DataFrame) -> pl.DataFrame:
        if not self._names:
            return table.drop(GROUP)
        keys, rank = self._ranked(self._groups.keys())
        ranks = rank[table[GROUP].to_numpy()]
        order = np.argsort(ranks, kind="stable")
        of_rows: pl.DataFrame = keys[ranks[order]]
        return of_rows.hstack(table.drop(GROUP)[order])

    def _grouped(self, grouped: GroupBy, of_table: pl.DataFrame | None) -> pl.DataFrame:
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
        return keys[total[GROUP]].hstack(total.drop(GROUP))

    def _ranked(self, codes: pl.DataFrame) -> tuple[pl.DataFrame, np.ndarray[Any, np.dtype[np.int32]]]:
        """The keys of groups in order, and the place of each group in it: sorting them is cheap, as they are fewer than the rows."""
        keys = codes.with_columns(key.decoded() for key in self._keys)
        keys = _sorted(keys.with_row_index(GROUP), self._names)
        rank = np.empty(keys.height, dtype=np.int32)
        rank[keys[GROUP].to_numpy()] = np.arange(keys.height, dtype=np.int32)
        return keys.drop(GROUP), rank


def _sorted(table: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    # By the streaming engine, which takes a quarter of the time by several columns.
    return table.lazy().sort(by, nulls_last=True).collect(engine="streaming")
