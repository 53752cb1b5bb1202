"""What charts of tidy tables have in common: which columns they are of, what rows are called, and which groups are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from polars_ec.formulas.directions import lower_is_better
from polars_ec.formulas.moved_by_prior import AT_PRIOR
from polars_ec.plotting.theme import DASHES, REST

MOST_ROWS = 5000
"""Altair refuses more in a chart."""

MUTED = 0.35
# An axis goes so many times as far beyond values as their limits usually do, or once more as far as values are apart.
_ROOM = 3


def columns_before(table: object, marker: str, made_by: str) -> list[str]:
    """The columns before one that every table of its kind has: those that name its rows."""
    if not isinstance(table, pl.DataFrame):
        way_out = ": collect() it first" if isinstance(table, pl.LazyFrame) else ""
        raise TypeError(
            f"a chart is of the DataFrame that {made_by} makes, and this is a {type(table).__name__}{way_out}"
        )
    if marker not in table.columns:
        raise ValueError(
            f"the table has no column {marker!r}: pass what {made_by} made, with its columns in their order"
        )
    return table.columns[: table.columns.index(marker)]


def check_metric(report: pl.DataFrame, metric: str) -> None:
    """ValueError for what is no column of numbers of a report."""
    after = report.columns[report.columns.index("n") :]
    if metric not in after:
        bounds = f": it has its bounds, {metric}_low and {metric}_high" if f"{metric}_low" in after else ""
        raise ValueError(f"metric={metric!r} is no metric of the report{bounds or f': it has {_metrics_in(report)}'}")
    dtype = report.schema[metric]
    if not dtype.is_numeric():
        each = ": report(per_class=True) has a row for each class" if dtype.is_nested() else ""
        raise ValueError(f"metric={metric!r} is {dtype}, and a chart is of numbers{each}")


def _metrics_in(report: pl.DataFrame) -> str:
    after = report.columns[report.columns.index("n") :]
    beside = ("_ci_low", "_ci_high", "_error")
    return ", ".join(name for name in after if report.schema[name].is_numeric() and not name.endswith(beside))


def is_lower_better(column: str) -> bool:
    """Which way a metric, or the same at the reference prior, is better."""
    return lower_is_better(column.removesuffix(AT_PRIOR))


def numbers(report: pl.DataFrame, column: str, name: str) -> pl.Series:
    """A column as floats, NaN as null, or nulls where the report has none such."""
    if column not in report.columns:
        return pl.Series(name, [None] * report.height, dtype=pl.Float64)
    return report[column].cast(pl.Float64).fill_nan(None).alias(name)


def of_all_groups(report: pl.DataFrame) -> pl.Series:
    """Which rows are those over all groups."""
    marked = report.schema.get("total") == pl.Boolean
    return report["total"].fill_null(value=False) if marked else pl.repeat(False, report.height, eager=True)


def of_few_rows(report: pl.DataFrame) -> pl.Series:
    """Which rows are marked as small, where that was asked for."""
    marked = "small" in report.columns
    return report["small"].fill_null(value=False) if marked else pl.repeat(False, report.height, eager=True)


def order_of(periods: pl.Series) -> pl.Series:
    """Which one each is, from the earliest on; a null is before all others."""
    own = periods.alias("own").to_frame()
    numbered = own.unique().sort("own").with_row_index("order")
    joined = own.join(numbered, on="own", how="left", nulls_equal=True, maintain_order="left")
    return joined["order"].cast(pl.Int64)


def against(references: pl.Series) -> str | None:
    """What all rows are compared with, if it is the same."""
    several = references.unique()
    return f"Against {several[0].removesuffix(' 00:00:00')}" if len(several) == 1 else None


def heading(title: str, said: Sequence[str], table: pl.DataFrame) -> alt.Title:
    """The title, and below it what one must know to read the chart."""
    return alt.Title(title, subtitle=[*said] if table.height else ["No rows"], anchor="start")


@dataclass(frozen=True)
class Cut:
    """A table of the groups that are shown, their names in order, and how many others there are."""

    table: pl.DataFrame
    names: list[str]
    others: int

    def said(self, which: str) -> list[str]:
        """How many more groups there are, and in words which these are."""
        shown = len(self.names)
        return [f"{shown} of {shown + self.others} groups: the largest, and {which}"] if self.others else []


def cut(table: pl.DataFrame, column: str, largest: int, worst: int, badness: pl.Expr) -> Cut:
    """The largest groups of a column of names, and of the others those with the most of something, as an aggregate.

    Up to so many groups are all shown, in the order of the table. Where the badness is null a group is none of the worst.
    """
    groups = table.group_by(column, maintain_order=True).agg(pl.col("n").sum(), badness.alias("bad"))
    if groups.height <= largest + worst:
        return Cut(table, groups[column].to_list(), 0)
    by_size = groups.sort("n", descending=True, maintain_order=True)
    others = by_size[largest:].drop_nulls("bad").sort("bad", descending=True, maintain_order=True)
    kept = [*by_size[column][:largest], *others[column][:worst]]
    return Cut(table.filter(pl.col(column).is_in(kept)), kept, groups.height - len(kept))


def reference_line(channel: str, value: float) -> alt.Chart:
    """A dashed line at a value of a layered chart, which has it in each of its facets."""
    # Once for the rows of a chart, and not once for each of them. A layer with rows of its own would keep facets from being made.
    mark: alt.Chart = alt.Chart().mark_rule(strokeDash=DASHES, color=REST)
    datum = {"x": alt.XDatum(value)} if channel == "x" else {"y": alt.YDatum(value)}
    return mark.transform_aggregate(rows="count()").encode(**datum)


@dataclass(frozen=True)
class Reach:
    """How far an axis of values goes where limits, or values of few rows, are so far off that all others would look alike."""

    low: float | None
    high: float | None

    @property
    def scale(self) -> dict[str, Any]:
        """The ends that are stated; the others are found by what is drawn."""
        ends = {"domainMin": self.low, "domainMax": self.high}
        return {name: end for name, end in ends.items() if end is not None}

    @property
    def said(self) -> list[str]:
        """What is cut off, in words."""
        ends = [f"{end:.3g}" for end in (self.low, self.high) if end is not None]
        return [f"Cut off at {' and '.join(ends)}: limits, and values of few rows, beyond"] if ends else []


def reach(table: pl.DataFrame, value: str, also: Sequence[float] = ()) -> Reach:
    """The axis of a column of values with `low`, `high` and `small`; values of many rows, and `also`, are always within."""
    of_many = table.filter(~pl.col("small"))
    sure = of_many if of_many[value].count() else table
    below, above = sure.select(
        (pl.col(value) - pl.col("low")).median().alias("below"),
        (pl.col("high") - pl.col(value)).median().alias("above"),
    ).row(0)
    values = pl.concat([sure[value].drop_nulls(), pl.Series(also, dtype=pl.Float64)])
    least, most = values.min(), values.max()
    if not isinstance(least, float) or not isinstance(most, float):
        return Reach(None, None)
    room = max(most - least, _ROOM * (below or 0.0), _ROOM * (above or 0.0))
    drawn = table.select(
        low=pl.min_horizontal(pl.col(value, "low").min()), high=pl.max_horizontal(pl.col(value, "high").max())
    ).row(0)
    low, high = least - room, most + room
    return Reach(
        low if room and drawn[0] is not None and drawn[0] < low else None,
        high if room and drawn[1] is not None and drawn[1] > high else None,
    )


def faint_if_small(others: float = 1) -> Any:
    """What is of few rows is there, and faint; `others` is how opaque the rest is."""
    return alt.condition(alt.datum.small, alt.value(MUTED * others), alt.value(others))


def tooltips(words: Mapping[str, str], numbers: Mapping[str, str], *, sign: str = "") -> list[alt.Tooltip]:
    """Columns of texts and of numbers by titles of our own, and last how many rows there are."""
    return [
        *(alt.Tooltip(f"{name}:N", title=title) for title, name in words.items()),
        *(alt.Tooltip(f"{name}:Q", title=title, format=f"{sign}.4~g") for title, name in numbers.items()),
        alt.Tooltip("n:Q", title="Rows", format=","),
    ]
