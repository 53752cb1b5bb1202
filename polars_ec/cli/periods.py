"""Periods of a log: on which calendar a timestamp is, and where its day, week, month, quarter or year begins."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass

import polars as pl
from polars.exceptions import PolarsError

from polars_ec.cli.errors import UsageError

# An instant is the same whatever zone or offset a file writes it with, so one zone serves for all formats.
DEFAULT_ZONE = "UTC"
# What the usual periods are called.
PERIOD_NAMES = {"1h": "hour", "1d": "day", "1w": "week", "1mo": "month", "1q": "quarter", "1y": "year"}

# With a time zone or without, with seconds or without: ISO 8601 as logs hold it.
_TIME_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M%#z", "%Y-%m-%dT%H:%M", "%Y-%m-%d")
_DURATION = re.compile(r"([1-9]\d*(ns|us|ms|s|m|h|d|w|mo|q|y))+")
_CALENDAR = re.compile(r"(\d+(d|w|mo|q|y))+")
_PLACED = "__placed"
# Clocks that are put forward at midnight lack the first minutes of that day: by so much it has happened since 1990.
_GAPS = ("0m", "30m", "1h", "2h", "3h", "7h", "1d")


def checked_zone(zone: str | None) -> str | None:
    """The zone, None where it is the default; UsageError for what is not a zone."""
    if zone is None or zone.upper() == DEFAULT_ZONE:
        return None
    try:
        known = zone[:1].isalpha()
        pl.Series([0], dtype=pl.Datetime("us", "UTC")).dt.convert_time_zone(zone)
    except PolarsError:
        known = False
    if not known:
        from zoneinfo import available_timezones  # which few commands need

        by_lower = {name.lower(): name for name in sorted(available_timezones())}
        near = [by_lower[match] for match in difflib.get_close_matches(zone.lower(), by_lower, cutoff=0.7)]
        hint = f"did you mean {' or '.join(near)}?" if near else "pass a name such as Europe/Berlin"
        raise UsageError(f"--time-zone {zone}: not a time zone: {hint}")
    return zone


def check_zone_of_periods(zone: str | None, every: str | None) -> None:
    """Refuse a time zone where there are no periods for it."""
    if zone is not None and every is None:
        raise UsageError(f"--time-zone {zone} is of periods: say which with --every")


def check_period(time: str | None, every: str | None, zone: str | None) -> str | None:
    """Refuse a time without a period, a period without a time, and what is not a period or zone; the zone if not the default."""
    if (time is None) != (every is None):
        raise UsageError("--time and --every go together: --time says which column, --every the period")
    check_duration(every)
    check_zone_of_periods(zone, every)
    return checked_zone(zone)


def check_duration(every: str | None) -> None:
    """Refuse what is not a period."""
    if every is not None and not _DURATION.fullmatch(every):
        raise UsageError(f"--every {every}: not a period such as 1h, 1d, 1w, 1mo, 1q or 1y")


def with_time(frame: pl.LazyFrame, time: str, collect: Callable[[pl.LazyFrame], pl.DataFrame]) -> pl.LazyFrame:
    """The frame with `time` as dates or timestamps: NDJSON and CSV have no type for them. `collect` reads one of its rows."""
    dtype = frame.collect_schema()[time]
    if dtype != pl.String:
        check_time(time, dtype)
        return frame
    text = pl.col(time).str.replace(" ", "T", literal=True)
    sample = collect(frame.select(pl.col(time).drop_nulls().first())).item()
    if sample is None:
        return frame.with_columns(pl.col(time).cast(pl.Datetime))
    for form in _TIME_FORMATS:
        if pl.Series([sample.replace(" ", "T", 1)]).str.to_datetime(form, strict=False).null_count() == 0:
            return frame.with_columns(text.str.to_datetime(form, time_unit="us"))
    raise UsageError(
        f"--time {time} holds text such as {sample!r}, which is not an ISO date or timestamp: convert it first"
    )


def check_time(time: str, dtype: pl.DataType) -> None:
    """Refuse a column that holds neither dates nor timestamps."""
    if dtype != pl.Date and not isinstance(dtype, pl.Datetime):
        raise UsageError(f"--time {time} is {dtype}, neither dates nor timestamps: convert it first")


def is_zoned(time: str, dtype: pl.DataType, zone: str | None) -> bool:
    """Whether the column holds instants, which have a date in a time zone only; UsageError for a zone without them."""
    zoned = isinstance(dtype, pl.Datetime) and dtype.time_zone is not None
    if zone is not None and not zoned:
        raise UsageError(
            f"--time-zone {zone}: {time} is {dtype}, without a time zone, and its periods are those of its own clock: leave "
            "the option out, or give the timestamps a zone"
        )
    return zoned


@dataclass(frozen=True)
class Periods:
    """The periods of a column: `start` is for the pass over the rows, and `placed` completes the table that came of it."""

    time: str
    dtype: pl.DataType
    every: str
    zone: str | None

    @property
    def start(self) -> pl.Expr:
        """Where the period of each row begins, on the zone's calendar or on the column's own, under the column's name."""
        column = pl.col(self.time)
        if not self.is_zoned:
            return column.dt.truncate(self.every)
        local = column.dt.convert_time_zone(self.zone or DEFAULT_ZONE)
        return (local.dt.replace_time_zone(None) if self.is_local else local).dt.truncate(self.every)

    def placed(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table with instants in its column of periods: few, so that it may take some time."""
        if not self.is_local:
            return table
        assert self.zone is not None
        starts = table.select(pl.col(self.time).unique())
        placed = starts.with_columns(first_instant(pl.col(self.time), self.zone).alias(_PLACED))
        together = table.join(placed, on=self.time, how="left", nulls_equal=True, maintain_order="left")
        return together.with_columns(pl.col(_PLACED).alias(self.time)).drop(_PLACED)

    @property
    def is_zoned(self) -> bool:
        """Whether the column holds instants."""
        return is_zoned(self.time, self.dtype, self.zone)

    @property
    def is_local(self) -> bool:
        """Whether rows are grouped by what the clock shows: a day is one, whether it begins at one midnight or at two."""
        return self.is_zoned and self.zone is not None and is_calendar(self.every)


def is_calendar(every: str) -> bool:
    """Whether a period is of days or longer, which the calendar measures and not the clock."""
    return _CALENDAR.fullmatch(every) is not None


def first_instant(local: pl.Expr, zone: str) -> pl.Expr:
    """The first instant of a day, given by the clock's midnight there: which may come twice that day, or not at all."""
    placed = [
        local.dt.offset_by(gap).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null") for gap in _GAPS
    ]
    return pl.coalesce(placed)
