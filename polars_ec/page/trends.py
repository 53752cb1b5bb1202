"""The main metric by group and period, as a page needs it: aligned to one list of periods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from polars_ec.page.contents import ROW, Contents
from polars_ec.page.sparklines import Scale, Values
from polars_ec.page.wording import period_texts
from polars_ec.plotting.names import legible
from polars_ec.words import naive_value

MOST_PERIODS = 400
_TENTH, _NINE_TENTHS = 0.1, 0.9
_AT = "__ec_at"
_EMPTY: Mapping[str, Any] = {}


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
        series = (self.value, self.low, self.high, self.at_prior, self.at_prior_low, self.at_prior_high)
        return [
            [None if v is None else four_digits(v) for v in values] if any_known(values) else [] for values in series
        ]


@dataclass(frozen=True)
class Trends:
    """Those of the groups that are shown, by their rows in the table of groups."""

    periods: list[str]
    of_group: dict[int, Trend]
    whole: Trend
    naive: float | None
    n_left_out: int

    @cached_property
    def scale(self) -> Scale:
        """One for all small charts."""
        return Scale.of((value for trend in self.of_group.values() for value in trend.value), self.naive)

    def others(self, shown: Sequence[int]) -> tuple[Trend, int] | None:
        """The median of the groups that are not shown, between their 10th and 90th percentile; and how many they are."""
        rest = [trend for row, trend in self.of_group.items() if row not in shown]
        if len(rest) < 2:
            return None
        none = [None] * len(self.periods)
        columns = [pl.Series([trend.value[at] for trend in rest], dtype=pl.Float64) for at in range(len(self.periods))]
        median, low, high = ([column.quantile(q, "linear") for column in columns] for q in (0.5, _TENTH, _NINE_TENTHS))
        return Trend(median, low, high, none, none, none), len(rest)


def four_digits(value: float) -> float | None:
    """A number as JSON has it: units are never rounded, and what is not finite is null."""
    if value in (float("inf"), float("-inf")) or value != value:
        return None
    return round(value) if abs(value) >= 1000 else float(f"{value:.4g}")


def any_known(values: Values) -> bool:
    """Whether there is anything to be shown."""
    return any(value is not None for value in values)


def trends_of(contents: Contents, kept: Sequence[int]) -> Trends | None:
    """The trends of those of some groups that have one, over the latest periods; None without periods."""
    if contents.trend is None or contents.trend_total is None or contents.period is None:
        return None
    every = contents.trend_total[contents.period].unique().sort()
    periods = every.tail(MOST_PERIODS)
    places = pl.DataFrame({contents.period: periods}).with_row_index(_AT)
    rows = contents.numbered().filter(pl.col(ROW).is_in(kept))
    own = contents.trend.join(places, on=contents.period, nulls_equal=True)
    own = (
        own.join(rows, on=contents.keys, nulls_equal=True) if contents.keys else own.with_columns(pl.lit(0).alias(ROW))
    )
    whole = contents.trend_total.join(places, on=contents.period, nulls_equal=True)
    main = contents.metrics[0]
    found: dict[int, dict[int, Mapping[str, Any]]] = {row: {} for row in kept}
    for entry in own.iter_rows(named=True):
        found[entry[ROW]][entry[_AT]] = entry

    def trend(entries: Mapping[int, Mapping[str, Any]]) -> Trend:
        names = [f"{name}{end}" for name in (main, f"{main}_at_prior") for end in ("", "_ci_low", "_ci_high")]
        return Trend(*([entries.get(at, _EMPTY).get(name) for at in range(len(periods))] for name in names))

    return Trends(
        periods=pl.Series(period_texts(periods.to_list(), every), dtype=pl.String)
        .to_frame()
        .select(legible(pl.first()))
        .to_series()
        .to_list(),
        of_group={row: trend(entries) for row, entries in found.items() if entries},
        whole=trend({entry[_AT]: entry for entry in whole.iter_rows(named=True)}),
        naive=naive_value(main),
        n_left_out=len(every) - len(periods),
    )
