"""Rolling windows: in place of the cells of each period those of this one and the periods before it, added up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.arguments import parse_whole
from polars_ec.cells.blocks import in_blocks
from polars_ec.cells.cells import C, Cells, of_each_model
from polars_ec.cells.grid import AMOUNTS, BUCKET
from polars_ec.cells.sums import is_overall, prior_of_rows, runs_of
from polars_ec.exceptions import SketchError
from polars_ec.rows.read import join_groups

Integers = NDArray[np.int64]

_CODE, _PLACE = "__ec_code", "__ec_place"

# Numbers of a table of periods and cells that are added up at a time.
_TOGETHER = 2**20


@dataclass(frozen=True)
class Rolling:
    """Windows of so many periods; `periods` are all that there are from the first one of a sketch to its last one, in their order.

    A window goes by its last period. There are those alone that lie whole between the first period and the last one.
    """

    column: str
    number: int
    periods: pl.Series

    @classmethod
    def over(cls, cells: Cells, column: str, number: Any, every: str) -> Rolling:
        """Windows over the periods in this group column; errors say what is in the way."""
        number = parse_whole(number, "periods", 2)
        if column not in cells.keys:
            raise SketchError(
                f"rolling(): period={column!r} is not a group column of the sketch, which has {cells.keys}"
            )
        found = cells.frame[column].unique().sort()
        dtype = found.dtype
        if dtype != pl.Date and not isinstance(dtype, pl.Datetime):
            raise SketchError(
                f"rolling(): the group column {column!r} is {dtype}, and windows are of dates or datetimes, whose order and gaps are "
                'known: sketch by=pl.col("ts").dt.truncate("1d")'
            )
        if found.null_count():
            raise SketchError(
                f"rolling(): some rows have no {column!r}: leave them out, sketch.filter(pl.col({column!r}).is_not_null())"
            )
        periods = _all_periods(found, every).cast(dtype)
        wrong = found.filter(~found.is_in(periods.implode()))
        if len(wrong):
            raise SketchError(
                f"rolling(): {column!r} has {wrong[0]}, which is not a whole number of times every={every!r} after {found[0]}, the first "
                f"one: sketch by the {column} truncated to {every!r}, or pass the every= that it has"
            )
        if len(periods) < number:
            span = f", from {found[0]} to {found[-1]}" if len(found) else ""
            raise SketchError(
                f"rolling(): the sketch has {len(periods)} period{'s' * (len(periods) != 1)} of {every!r}{span}, fewer than the "
                f"{number} of a window: pass a smaller periods="
            )
        return cls(column, number, periods)

    def places(self, values: pl.Series) -> Integers:
        """The number of each period, from the first one on."""
        # A search takes times as they are, whatever their zone.
        return self.periods.to_physical().search_sorted(values.to_physical()).to_numpy().astype(np.int64)

    def windows(self, cells: Cells) -> pl.Series:
        """Those that hold rows of some group."""
        rows = np.zeros(len(self.periods), dtype=np.int64)
        rows[self.places(cells.frame[self.column].unique())] = 1
        return self.periods.gather(np.flatnonzero(_windows(rows, self.number)) + self.number - 1)

    def in_blocks(self, cells: C, prior: Any) -> Iterator[tuple[C, Any]]:
        """The cells of the windows, of some groups after the others, each with its prior: "overall" is that of the rows, each once."""
        # Its shares are those of each model for itself.
        for _, part in of_each_model(cells) if is_overall(prior) else [({}, cells)]:
            stated = prior_of_rows(prior, part)
            for block in in_blocks(part, [key for key in part.keys if key != self.column], self.number):
                yield self.rolled(block), stated

    def rolled(self, cells: C) -> C:
        """The cells of the windows, for each group that has rows in one of their periods."""
        return cells.on_tables(self._table)

    def _table(self, table: pl.DataFrame) -> pl.DataFrame:
        """The windows of a table of cells, or of sums."""
        amounts = [name for name in AMOUNTS if name in table.columns]
        cell = [name for name in table.columns if name not in (*amounts, self.column)]
        cells = table.select(cell).unique().sort(cell, nulls_last=True).with_row_index(_CODE)
        code = join_groups(table.select(cell), cells, cell)[_CODE].to_numpy().astype(np.int64)
        order = np.argsort(code, kind="stable")
        code, place = code[order], self.places(table[self.column])[order]
        values = {name: table[name].to_numpy()[order] for name in amounts}
        n_periods, together = len(self.periods), max(_TOGETHER // len(self.periods), 1)
        made = []
        for first in range(0, max(cells.height, 1), together):
            some = slice(*np.searchsorted(code, [first, first + together]))
            shape = (n_periods, min(together, cells.height - first))
            at = place[some], code[some] - first
            held = np.nonzero(_windows(_dense(shape, at, np.ones(len(at[0]), dtype=np.int32)), self.number))
            made.append(
                {
                    _PLACE: held[0] + self.number - 1,
                    _CODE: held[1] + first,
                    **{name: _windows(_dense(shape, at, of[some]), self.number)[held] for name, of in values.items()},
                }
            )
        found = pl.DataFrame({name: np.concatenate([part[name] for part in made]) for name in made[0]})
        # Cells of a group stand side by side, as in any sketch.
        keys = [name for name in cell[: cell.index("class")] if name != BUCKET]
        of_group = runs_of(cells, keys)[1].gather(found[_CODE]).cast(pl.Int64) if keys else 0
        found = found[((of_group * n_periods + found[_PLACE]) * cells.height + found[_CODE]).arg_sort()]
        columns = {
            **{column.name: column for column in cells.drop(_CODE)[found[_CODE]].get_columns()},
            self.column: self.periods.gather(found[_PLACE]).alias(self.column),
            **{name: found[name].cast(table.schema[name]) for name in amounts},
        }
        return pl.DataFrame([columns[name] for name in table.columns])


def _all_periods(found: pl.Series, every: str) -> pl.Series:
    """From the first period to the last one."""
    if not len(found):
        return found
    try:
        if found.dtype == pl.Date:
            return pl.date_range(found[0], found[-1], every, eager=True)
        zone = found.dtype.time_zone if isinstance(found.dtype, pl.Datetime) else None
        # Days and months are those of the clock on the wall, hours those that pass.
        by_clock = zone is not None and re.search(r"[dwqy]|mo", every) is not None
        there = found if zone is None else found.dt.convert_time_zone("UTC") if not by_clock else found
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
            f"rolling(): every={every!r} is not a step from one {found.dtype} to the next: pass '1d', '7d', '1mo' or the like ({error})"
        ) from None


def _dense(shape: tuple[int, int], at: tuple[Integers, Integers], values: NDArray[Any]) -> NDArray[Any]:
    """Of each period and cell."""
    table = np.zeros(shape, dtype=values.dtype)
    np.add.at(table, at, values)
    return table


def _windows(values: NDArray[Any], number: int) -> NDArray[Any]:
    """Sums of so many rows that follow each other: of 1, 2, 4 and so on, of which each window takes some.

    No difference of sums, which would lose digits, and an infinite value with all that comes after it.
    """
    total, covered, size = None, 0, 1
    while True:
        if number & size:
            total = values if total is None else _with_earlier(total, values, covered)
            covered += size
        if covered == number:
            return np.asarray(total)[number - 1 :]
        values, size = _with_earlier(values, values, size), 2 * size


def _with_earlier(values: NDArray[Any], others: NDArray[Any], by: int) -> NDArray[Any]:
    """Plus what others have so many rows before."""
    both = values.copy()
    with np.errstate(over="ignore"):
        both[by:] += others[:-by]
    return both
