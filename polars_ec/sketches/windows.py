"""Rolling windows: the cells of each period added to those of the periods before it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from polars_ec.arguments.keywords import parse_whole
from polars_ec.exceptions import SketchError
from polars_ec.inference.confidence import FEWEST_CLUSTERS
from polars_ec.numerics import Bools, Integers, Numbers, np
from polars_ec.scores.read import join_groups
from polars_ec.sketches.cells import MOST_OF_BLOCK, C, Cells, in_blocks, of_each_model
from polars_ec.sketches.grid import AMOUNTS, BUCKET
from polars_ec.sketches.sums import is_overall, prior_of_rows, runs_of

_CODE, _PLACE = "__ec_code", "__ec_place"

# Numbers of a table of periods and cells that are added up at a time.
_TOGETHER = 2**20


@dataclass(frozen=True)
class Rolling:
    """Windows of this many consecutive `periods`, named by the last one, that lie within the first and the last period of the sketch."""

    column: str
    number: int
    periods: pl.Series

    @classmethod
    def over(cls, cells: Cells, column: str, number: Any, every: str) -> Rolling:
        """Windows over the periods in this group column; errors name the obstacle."""
        number = parse_whole(number, "periods", 2)
        if column not in cells.keys:
            raise SketchError(f"rolling(): period={column!r} is not a group column of the sketch. It has {cells.keys}")
        present = cells.frame[column].unique().sort()
        dtype = present.dtype
        if dtype != pl.Date and not isinstance(dtype, pl.Datetime):
            raise SketchError(
                f"rolling(): the group column {column!r} is {dtype}, but windows need dates or datetimes: sketch with "
                'by=pl.col("ts").dt.truncate("1d")'
            )
        if present.null_count():
            raise SketchError(
                f"rolling(): some rows have no {column!r}: remove them with sketch.filter(pl.col({column!r}).is_not_null())"
            )
        periods = _all_periods(present, every).cast(dtype)
        wrong = present.filter(~present.is_in(periods.implode()))
        if len(wrong):
            raise SketchError(
                f"rolling(): {column!r} has {wrong[0]}, which is not a whole number of steps of every={every!r} after "
                f"the first, {present[0]}: sketch by the {column} truncated to {every!r}, or pass the right every="
            )
        if len(periods) < number:
            span = f", from {present[0]} to {present[-1]}" if len(present) else ""
            raise SketchError(
                f"rolling(): the sketch has {len(periods)} period{'s' * (len(periods) != 1)} of {every!r}{span}, fewer "
                f"than the {number} of a window: pass a smaller periods="
            )
        rolling = cls(column, number, periods)
        steps = np.diff(rolling.places(present))
        if len(steps) > 1 and steps.min() >= number:
            raise SketchError(
                f"rolling(): no window of {number} steps of every={every!r} holds two of the {len(present)} values of {column!r}, such as "
                f"{present[0]} and {present[1]}: pass the step from one to the next as every="
            )
        return rolling

    def places(self, values: pl.Series) -> Integers:
        """The number of each period, from the first one on."""
        # A search takes times as they are, whatever their zone.
        return self.periods.to_physical().search_sorted(values.to_physical()).to_numpy().astype(np.int64)

    def windows(self, cells: Cells) -> pl.Series:
        """The windows that hold rows of some group."""
        rows = np.zeros(len(self.periods), dtype=np.int64)
        rows[self.places(cells.frame[self.column].unique())] = 1
        return self.periods.gather(np.flatnonzero(_windows(rows, self.number)) + self.number - 1)

    def in_blocks(self, cells: C, prior: Any) -> Iterator[tuple[C, Any]]:
        """The cells of the windows, of some groups after the others, each with its prior: "overall" is that of the rows, each once."""
        # Its shares are those of each model for itself.
        for _, part in of_each_model(cells) if is_overall(prior) else [({}, cells)]:
            stated = prior_of_rows(prior, part)
            for block in in_blocks(part, [key for key in part.keys if key != self.column], self.number):
                for some in self._in_runs(block):
                    yield some, stated

    def _in_runs(self, cells: C) -> Iterator[C]:
        """The cells of the windows, of some after the others, where those of all would be many."""
        rows = cells.frame.height + (0 if cells.coarse is None else cells.coarse.height)
        # The cells of a window are at most those of its periods, each of which is in this many windows.
        runs = min(-(-rows * self.number // MOST_OF_BLOCK), len(self.periods) - self.number + 1)
        for run in np.array_split(np.arange(self.number - 1, len(self.periods)), max(runs, 1)):
            periods = self.periods[int(run[0]) - self.number + 1 : int(run[-1]) + 1]
            within = cells.filter(pl.col(self.column).is_in(periods.implode()))
            yield replace(self, periods=periods).rolled(within)

    def rolled(self, cells: C) -> C:
        """The cells of the windows, for each group that has rows in one of their periods."""
        return cells.on_tables(self._table)

    def _table(self, table: pl.DataFrame) -> pl.DataFrame:
        amounts = [name for name in AMOUNTS if name in table.columns]
        cell = [name for name in table.columns if name not in (*amounts, self.column)]
        cells = table.select(cell).unique().sort(cell, nulls_last=True).with_row_index(_CODE)
        code = join_groups(table.select(cell), cells, cell)[_CODE].to_numpy().astype(np.int64)
        order = np.argsort(code, kind="stable")
        code, place = code[order], self.places(table[self.column])[order]
        values = {name: table[name].to_numpy()[order] for name in amounts}
        n_periods, together = len(self.periods), max(_TOGETHER // len(self.periods), 1)
        blocks = []
        for first in range(0, max(cells.height, 1), together):
            some = slice(*np.searchsorted(code, [first, first + together]))
            shape = (n_periods, min(together, cells.height - first))
            at = place[some], code[some] - first
            held = np.nonzero(_windows(_dense(shape, at, np.ones(len(at[0]), dtype=np.int32)), self.number))
            blocks.append(
                {
                    _PLACE: held[0] + self.number - 1,
                    _CODE: held[1] + first,
                    **{name: _windows(_dense(shape, at, of[some]), self.number)[held] for name, of in values.items()},
                }
            )
        total = pl.DataFrame({name: np.concatenate([part[name] for part in blocks]) for name in blocks[0]})
        # Cells of a group stand side by side, as in any sketch.
        keys = [name for name in cell[: cell.index("class")] if name != BUCKET]
        of_group = runs_of(cells, keys)[1].gather(total[_CODE]).cast(pl.Int64) if keys else 0
        total = total[((of_group * n_periods + total[_PLACE]) * cells.height + total[_CODE]).arg_sort()]
        columns = {
            **{column.name: column for column in cells.drop(_CODE)[total[_CODE]].get_columns()},
            self.column: self.periods.gather(total[_PLACE]).alias(self.column),
            **{name: total[name].cast(table.schema[name]) for name in amounts},
        }
        return pl.DataFrame([columns[name] for name in table.columns])


def _all_periods(present: pl.Series, every: str) -> pl.Series:
    if not len(present):
        return present
    try:
        if present.dtype == pl.Date:
            return pl.date_range(present[0], present[-1], every, eager=True)
        zone = present.dtype.time_zone if isinstance(present.dtype, pl.Datetime) else None
        # Days and months are those of the clock on the wall, hours those that pass.
        by_clock = zone is not None and re.search(r"[dwqy]|mo", every) is not None
        there = present if zone is None else present.dt.convert_time_zone("UTC") if not by_clock else present
        local = there.dt.replace_time_zone(None)
        periods = pl.datetime_range(pl.lit(local[0], local.dtype), pl.lit(local[-1], local.dtype), every, eager=True)
        if zone is None:
            return periods
        if not by_clock:
            return periods.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        # A day that begins without its first hour begins with the second one.
        later = periods.dt.offset_by("1h").dt.replace_time_zone(zone, non_existent="null", ambiguous="earliest")
        begin = periods.dt.replace_time_zone(zone, non_existent="null", ambiguous="earliest")
        return begin.fill_null(later)
    except (pl.exceptions.PolarsError, TypeError) as error:
        raise SketchError(
            f"rolling(): every={every!r} is not a step between values of {present.dtype}: pass '1d', '7d', '1mo' or the like ({error})"
        ) from None


def _dense(shape: tuple[int, int], at: tuple[Integers, Integers], values: Numbers) -> Numbers:
    table = np.zeros(shape, dtype=values.dtype)
    np.add.at(table, at, values)
    return table


def _windows(values: Numbers, number: int) -> Numbers:
    """Sums of this many consecutive rows, from sums of 1, 2, 4 and so on: differences of running sums would lose digits."""
    total, covered, size = None, 0, 1
    while True:
        if number & size:
            total = values if total is None else _with_earlier(total, values, covered)
            covered += size
        if covered == number:
            return np.asarray(total)[number - 1 :]
        values, size = _with_earlier(values, values, size), 2 * size


def _with_earlier(values: Numbers, others: Numbers, by: int) -> Numbers:
    both = values.copy()
    with np.errstate(over="ignore"):
        both[by:] += others[:-by]
    return both


# Windows that share periods: which of their differences have intervals.

_BY = "__ec_by"

# Numbers of pairs and buckets that are made at a time.
_PAIRS_AT_ONCE = 2**22


@dataclass(frozen=True)
class Overlaps:
    """The cells of the periods of windows, by groups that have these columns besides the period."""

    rolling: Rolling
    cells: Cells
    by: Sequence[str]

    def known(self, windows: pl.DataFrame, against: Integers) -> Bools:
        """Whether the difference of each window from the window with this number, -1 for none, has an interval despite shared rows.

        If rows are in clusters, each bucket contains the contribution of shared rows to both windows. The difference depends on periods in
        only one of them, and so on the clusters with rows there. If these are too few, the variance is unknown.
        """
        place = self.rolling.places(windows[self.rolling.column])
        ends = np.stack([place, place[np.maximum(against, 0)]])
        known = np.asarray(np.abs(ends[0] - ends[1]) >= self.rolling.number)
        shared = np.flatnonzero((against >= 0) & ~known & (ends[0] != ends[1]))
        if self.cells.coarse is None or self.cells.buckets is None or not len(shared):
            return known
        group, held = self._held(windows, self.cells.coarse, self.cells.buckets)
        earlier, later = ends.min(axis=0) + 1, ends.max(axis=0) + 1
        at_once = max(_PAIRS_AT_ONCE // held.shape[-1], 1)
        for first in range(0, len(shared), at_once):
            some = shared[first : first + at_once]
            of, end, last = group[some], earlier[some], later[some]
            begin, start = end - self.rolling.number, last - self.rolling.number
            in_both = held[of, end, -1] - held[of, start, -1]
            in_one = (held[of, start] - held[of, begin]) + (held[of, last] - held[of, end])
            known[some] = (in_both == 0) & ((in_one > 0).sum(axis=-1) >= FEWEST_CLUSTERS)
        return known

    def _held(self, windows: pl.DataFrame, coarse: pl.DataFrame, buckets: int) -> tuple[Integers, Numbers]:
        """The number of the group of each window; and of each group in how many periods before each one a bucket (last: none) had rows."""
        groups = windows.select(self.by).unique().with_row_index(_BY) if self.by else pl.DataFrame({_BY: [0]})
        column = self.rolling.column
        occurring = coarse.select(*self.by, column, BUCKET).unique()
        of_windows, of_occurring = (
            join_groups(table, groups, self.by)[_BY].to_numpy().astype(np.int64)
            if self.by
            else np.zeros(table.height, dtype=np.int64)
            for table in (windows, occurring)
        )
        held = np.zeros((groups.height, len(self.rolling.periods) + 1, buckets + 1), dtype=np.int32)
        in_bucket = occurring[BUCKET].fill_null(buckets).to_numpy()
        held[of_occurring, self.rolling.places(occurring[column]) + 1, in_bucket] = 1
        return of_windows, np.cumsum(held, axis=1, dtype=np.int32)
