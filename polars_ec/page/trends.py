"""Trends of a page: the main metric by group and period, and the small pictures of trends and intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import polars as pl
from markupsafe import Markup

from polars_ec.output.words import naive_value
from polars_ec.page.contents import ROW, Contents, period_texts
from polars_ec.plot.layers import plain

Values = Sequence[float | None]

_ROBUST = 0.02
_ROOM = 0.06


@dataclass(frozen=True)
class Scale:
    """The values at the lowest and the highest place of a chart; values beyond are drawn at the edge."""

    low: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float | None], naive: float | None) -> Scale:
        """One for all charts of a kind: it holds the naive value, and all but a few of the values."""
        found = sorted(value for value in values if value is not None and math.isfinite(value))
        cut = int(_ROBUST * len(found))
        ends = [*found[cut : len(found) - cut], *([] if naive is None else [naive])] or [0.0, 1.0]
        room = (max(ends) - min(ends) or 1.0) * _ROOM
        # What is never negative has no place below 0.
        low = min(ends) - room
        return cls(max(low, 0.0) if min(ends) >= 0 else low, max(ends) + room)


def sparkline(values: Values, scale: Scale, naive: float | None) -> Markup:
    """A line the size of a word, with gaps where nothing is known, and the level of the naive system."""

    def y(value: float) -> float:
        return 2 + 18 * (1 - min(max((value - scale.low) / (scale.high - scale.low), 0.0), 1.0))

    steps, pen, width = list[str](), "M", 92 / max(len(values) - 1, 1)
    for at, value in enumerate(values):
        if value is None or math.isnan(value):
            pen = "M"
            continue
        # A point of no length, for one that has no neighbours.
        steps.append(f"{pen}{2 + (46 if len(values) == 1 else at * width):.4g} {y(value):.3g}{'h0' * (pen == 'M')}")
        pen = "L"
    level = "" if naive is None else f'<path class="naive" d="M2 {y(naive):.1f}h92"/>'
    return Markup(
        f'<svg class="spark" width="96" height="22" viewBox="0 0 96 22" aria-hidden="true">{level}'
        f'<path class="line" d="{"".join(steps)}"/></svg>'
    )


def interval_bar(value: float, low: float, high: float, naive: float | None) -> Markup:
    """A bar from the lower to the upper bound, with a dot at the value and a dashed line at the naive system."""
    scale = Scale.of([value, low, high], naive)

    def x(number: float) -> float:
        return 4 + 212 * (number - scale.low) / (scale.high - scale.low)

    level = "" if naive is None else f'<path class="naive" d="M{x(naive):.1f} 1v18"/>'
    bar = f'<path class="bar" d="M{x(low):.1f} 10H{x(high):.1f}"/><circle cx="{x(value):.1f}" cy="10" r="4.5"/>'
    return Markup(f'<svg class="interval" viewBox="0 0 220 20" aria-hidden="true">{level}{bar}</svg>')


# The main metric by group and period, as a page needs it: aligned to one list of periods.

MOST_PERIODS = 400
_AT = "__ec_at"


@dataclass(frozen=True)
class Trend:
    """One group's values, an entry for each period of the page."""

    value: Values
    low: Values
    high: Values
    at_prior: Values
    at_prior_low: Values
    at_prior_high: Values

    def packed(self) -> list[list[float | None]]:
        """For the script of the page, in the order of the fields: 4 digits are more than can be seen."""
        return [
            [None if v is None else four_digits(v) for v in values] if any_known(values) else []
            for values in vars(self).values()
        ]


@dataclass(frozen=True)
class Trends:
    """The trends of the groups that are shown, by their rows in the table of groups."""

    periods: list[str]
    by_group: dict[int, Trend]
    whole: Trend
    naive: float | None
    n_left_out: int

    @cached_property
    def scale(self) -> Scale:
        """One for all small charts, with room for the limits of all groups together."""
        values = (trend.value for trend in self.by_group.values())
        return Scale.of(chain(self.whole.low, self.whole.high, *values), self.naive)


def four_digits(value: float) -> float | None:
    """A number as JSON has it: units are never rounded, and what is not finite is null."""
    if value in (float("inf"), float("-inf")) or value != value:
        return None
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def any_known(values: Values) -> bool:
    """Whether there is anything to be shown."""
    return any(value is not None for value in values)


def group_trends(contents: Contents, kept: Sequence[int]) -> Trends | None:
    """The trends of those of some groups that have one, over the latest periods; None without periods."""
    if contents.trend is None or contents.trend_total is None or contents.period is None:
        return None
    every = contents.trend_total[contents.period].unique().sort()
    periods = every.tail(MOST_PERIODS)
    places = pl.DataFrame({contents.period: periods}).with_row_index(_AT)
    rows = contents.numbered().filter(pl.col(ROW).is_in(kept))
    rows_in_places = contents.trend.join(places, on=contents.period, nulls_equal=True)
    rows_in_places = (
        rows_in_places.join(rows, on=contents.keys, nulls_equal=True)
        if contents.keys
        else rows_in_places.with_columns(pl.lit(0).alias(ROW))
    )
    whole = contents.trend_total.join(places, on=contents.period, nulls_equal=True)
    main = contents.metrics[0]
    entries_of: dict[int, dict[int, Mapping[str, Any]]] = {row: {} for row in kept}
    for entry in rows_in_places.iter_rows(named=True):
        entries_of[entry[ROW]][entry[_AT]] = entry

    def trend(entries: Mapping[int, Mapping[str, Any]]) -> Trend:
        names = [f"{name}{end}" for name in (main, f"{main}_at_prior") for end in ("", "_ci_low", "_ci_high")]
        return Trend(*([entries.get(at, {}).get(name) for at in range(len(periods))] for name in names))

    return Trends(
        periods=[plain(text) for text in period_texts(periods.to_list(), every)],
        by_group={row: trend(entries) for row, entries in entries_of.items() if entries},
        whole=trend({entry[_AT]: entry for entry in whole.iter_rows(named=True)}),
        naive=naive_value(main),
        n_left_out=len(every) - len(periods),
    )
