"""Numbers and times as people read them, in tables, cards and sentences, with the same decimals everywhere, so that they can be compared."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polars as pl

NONE = "–"
MIDNIGHT = " 00:00:00"
"""What ends the text of a time that begins a day."""
_LEAST = 0.0005
# From here on a float has not all digits.
_WIDE = 1e15


def count(number: int, one: str, many: str | None = None) -> str:
    """Count something: "1 row", "1,200 rows"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def number_in_table(value: float | None) -> str:
    """Three decimals, or three digits where these say too little: 0.573, 0.0123, 12.3, 12,345, 1.23e+15."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= _WIDE:
        shown = f"{value:.2e}"
    elif size >= 1000:
        shown = f"{value:,.0f}"
    elif size >= 10:
        shown = f"{value:.1f}"
    elif size >= 0.01 or size == 0:
        shown = f"{value:.3f}"
    else:
        shown = f"{value:.2g}"
    return without_minus_zero(shown)


def without_minus_zero(shown: str) -> str:
    """With the sign that mathematics has, and none before a zero."""
    return shown.lstrip("-") if not shown.strip("-0.") else shown.replace("-", "−")


def signed(value: float | None) -> str:
    """A difference: three decimals, or two digits of a very small one."""
    if value is not None and _LEAST <= abs(value) < 10:
        return f"{value:+.3f}".replace("-", "−")
    shown = number_in_table(value)
    return f"+{shown}" if value is not None and value > 0 else shown


def percent_in_table(share: float | None) -> str:
    """A share in percent: 20.1%, 0.12%."""
    if share is None or math.isnan(share):
        return NONE
    return f"{100 * share:.1f}%" if share >= 0.0095 or share == 0 else f"{100 * share:.2g}%"


def tenths(value: float | None) -> str:
    """One decimal."""
    return NONE if value is None or math.isnan(value) else without_minus_zero(f"{value:.1f}")


def p_value(value: float | None) -> str:
    """A p-value; very small ones are only said to be so."""
    if value is None:
        return NONE
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def with_interval(value: Any, low: Any, high: Any, show: Callable[[Any], str]) -> str:
    """A value, and its bounds where they are known: "0.832 [0.826, 0.838]"."""
    return show(value) if low is None or high is None else f"{show(value)} [{show(low)}, {show(high)}]"


def days_as_dates(column: pl.Series) -> pl.Series:
    """Times that all begin a day, as dates; any other column as it is."""
    begin_days = isinstance(column.dtype, pl.Datetime) and (column == column.dt.truncate("1d")).all()
    return column.dt.date() if begin_days else column


def interval_in_table(low: float | None, high: float | None, show: Callable[[float | None], str]) -> str:
    """The bounds of a confidence interval, or nothing where they are not known."""
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"
