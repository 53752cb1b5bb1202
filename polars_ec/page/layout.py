"""From contents to what the template takes: all that is shown, in words and numbers that are ready to be printed."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from polars_ec.formulas.directions import lower_is_better
from polars_ec.metrics.families import function_of
from polars_ec.page import table
from polars_ec.page.charts import Figure
from polars_ec.page.contents import ROW, Contents
from polars_ec.page.sparklines import panel
from polars_ec.page.text import number_in_table, percent_in_table
from polars_ec.page.told_changes import that_are_named
from polars_ec.page.told_rows import MOST_THAT_GAIN, that_gain
from polars_ec.page.trends import Trend, Trends, any_known, trends_of
from polars_ec.page.verdict import sentences
from polars_ec.page.wording import count, cut, isolated, text
from polars_ec.plotting.theme import MAIN, OTHER, REST
from polars_ec.words import ALL_GROUPS, in_words, short

_PANELS_LARGEST, _PANELS_WORST = 8, 4
_LISTED = 30
_WIDE = 14
_LONGEST_TEXT = 300
_RCL = "How much of a loss calibration would take off: raw minus calibrated, in percent of raw."


@dataclass(frozen=True)
class Panel:
    """A small chart, whose it is, what it says in words, and whether its scale holds all of it."""

    name: str
    svg: Markup
    words: str
    whole: bool


@dataclass(frozen=True)
class Quality:
    """Rows that a group has, and those that it could not use."""

    name: str
    n: str
    missing: str
    invalid: str
    small: bool


@dataclass(frozen=True)
class Page:
    """What the template takes."""

    title: str
    lead: str
    verdict: list[tuple[str, str]]
    main: str
    keys: str
    columns: list[table.Column]
    total: table.GroupRow | None
    rows: list[table.GroupRow]
    n_groups: int
    wide: bool
    has_nec: bool
    marks: list[str]
    panels: list[Panel]
    beyond: bool
    figures: list[Figure]
    quality: list[Quality]
    n_more: int
    definitions: list[tuple[str, str]]
    options: list[tuple[str, str]]
    notes: list[str]
    data: Mapping[str, Any]


def page_of(contents: Contents, figures: Sequence[Figure], most_groups: int, *, left_out: int = 0) -> Page:
    """The page of at most so many groups, the largest and the worst, and without so many charts."""
    labels = contents.labels
    kept = _kept(contents, most_groups)
    trends = trends_of(contents, kept)
    rows = table.group_rows(contents, kept, labels, trends)
    alone = contents.groups.height == 1
    quality, n_more = _quality(contents, labels)
    panels = [] if trends is None else _panels(contents, labels, kept, trends)
    return Page(
        title=cut(text(contents.title), _LONGEST_TEXT),
        lead=_lead(contents, trends),
        verdict=[(sentence.kind, sentence.text) for sentence in sentences(contents)],
        main=short(contents.metrics[0]),
        keys=cut(text(", ".join(contents.keys))) or "Group",
        columns=table.columns(contents),
        total=None if alone else table.total_row(contents, trends),
        rows=rows,
        n_groups=contents.groups.height,
        has_nec="nec" in contents.metrics,
        wide=any(len(row.name) > _WIDE for row in rows),
        marks=_marks(contents),
        panels=panels,
        beyond=not all(panel.whole for panel in panels),
        figures=list(figures),
        quality=quality,
        n_more=n_more,
        definitions=_definitions(contents),
        options=[(text(name), cut(text(value), _LONGEST_TEXT)) for name, value in contents.options.items()],
        notes=[*map(text, contents.notes), *_cuts(contents, kept, trends, left_out)],
        data=_data(contents, figures, rows, trends),
    )


def _kept(contents: Contents, most: int) -> list[int]:
    """Rows of the table of groups: all, or of too many the largest half, those that the verdict names, and the worst of the others, in their order."""
    n_groups = contents.groups.height
    if n_groups <= most:
        return list(range(n_groups))
    largest = list(range((most + 1) // 2))
    named = {*that_are_named(contents), *that_gain(contents)[:MOST_THAT_GAIN]} - {*largest}
    others = [row for row in range(len(largest), n_groups) if row not in named]
    return sorted([*largest, *named, *_worst(contents, others, max(most - len(largest) - len(named), 0))])


def _worst(contents: Contents, among: Sequence[int], most: int) -> list[int]:
    """Those above 1 beyond noise first, then those that are not small."""
    main = contents.metrics[0]
    order = [
        ~pl.col(ROW).is_in(contents.costly),
        ~pl.col(ROW).is_in(_with_trend(contents)),
        pl.col("small").fill_null(value=True) if "small" in contents.groups.columns else pl.lit(value=False),
        (-pl.col(main) if lower_is_better(main) else pl.col(main)).fill_nan(None),
        pl.col(ROW),
    ]
    numbered = contents.groups.with_row_index(ROW).filter(pl.col(ROW).is_in(list(among)))
    return numbered.sort(order, nulls_last=True)[ROW].head(most).to_list()


def _with_trend(contents: Contents) -> list[int]:
    """The rows of the groups that have a trend."""
    if contents.trend is None or not contents.keys:
        return []
    return contents.numbered().join(contents.trend, on=contents.keys, nulls_equal=True, how="semi")[ROW].to_list()


def _lead(contents: Contents, trends: Trends | None) -> str:
    total = contents.total.row(0, named=True)
    said = [count(total["n"], "row")]
    if contents.keys:
        said.append(f"{count(contents.groups.height, 'group')} by {isolated(text(', '.join(contents.keys)))}")
    if trends is not None:
        n = len(trends.periods) + trends.n_left_out
        first, last = trends.periods[0], trends.periods[-1]
        span = f"to {last}" if trends.n_left_out else f"from {first} to {last}"
        said.append(f"{n:,} periods {span}" if n > 1 else f"1 period, {last}")
    if contents.has_positives and total["class_prior"] is not None:
        said.append(f"{percent_in_table(total['class_prior'])} positives")
    return " · ".join(said)


def _marks(contents: Contents) -> list[str]:
    """What the words and colours of the table mean."""
    level = f"{100 * contents.interval:.4g}%"
    found = [
        f"Small type: {level} limits. –: not known, point at it to see why. Grey: small groups, in which limits mean little."
    ]
    if contents.costly:
        found.append(
            "“above 1”: NEC is above 1 beyond noise, with all groups in mind: decisions that cost more than treating all cases alike."
        )
    if contents.rest is not None or contents.changes is not None:
        found.append("“worse”, “better”: a difference beyond noise, with all groups in mind.")
    return found


def _panels(contents: Contents, labels: Sequence[str], kept: Sequence[int], trends: Trends) -> list[Panel]:
    drawn = [row for row in kept if row in trends.of_group and any_known(trends.of_group[row].value)]
    largest = drawn[:_PANELS_LARGEST]
    worst = _worst(contents, drawn[_PANELS_LARGEST:], _PANELS_WORST)
    shown = [(labels[row], trends.of_group[row]) for row in (*largest, *worst)]
    if contents.groups.height > 1 and any_known(trends.whole.value):
        shown.insert(0, (ALL_GROUPS, trends.whole))
    others = trends.others([*largest, *worst])
    if others is not None:
        shown.append((f"other {others[1]}: median, and from the 10th to the 90th percentile", others[0]))
    ends = (trends.periods[0], trends.periods[-1]) if len(trends.periods) > 1 else ("", trends.periods[0])
    return [
        Panel(
            name,
            panel(trend.value, trend.low, trend.high, trends.scale, trends.naive, ends),
            _in_words(contents, name, trend, trends),
            trends.scale.holds([*trend.value, *trend.low, *trend.high]),
        )
        for name, trend in shown
    ]


def _in_words(contents: Contents, name: str, trend: Trend, trends: Trends) -> str:
    known = [(period, value) for period, value in zip(trends.periods, trend.value, strict=True) if value is not None]
    if not known:
        return f"{short(contents.metrics[0])} of {name}: no value"
    first, last = known[0], known[-1]
    return f"{short(contents.metrics[0])} of {name}: {number_in_table(first[1])} in {first[0]}, {number_in_table(last[1])} in {last[0]}"


def _quality(contents: Contents, labels: Sequence[str]) -> tuple[list[Quality], int]:
    """All rows, then the groups of which rows are missing or invalid, or too few: those with most of them first."""
    counts_of = ("n", "n_missing", "n_invalid")

    def line(name: str, row: Mapping[str, Any]) -> Quality:
        n, missing, invalid = (f"{row.get(column) or 0:,}" for column in counts_of)
        return Quality(name, n, missing, invalid, bool(row.get("small")))

    troubled = [
        (row, labels[at])
        for at, row in enumerate(contents.groups.iter_rows(named=True))
        if row.get("n_missing") or row.get("n_invalid") or row.get("small")
    ]
    troubled.sort(key=lambda pair: -((pair[0].get("n_invalid") or 0) + (pair[0].get("n_missing") or 0)))
    if contents.groups.height == 1:
        troubled = []
    listed = [line(name, row) for row, name in troubled[:_LISTED]]
    return [line("all rows", contents.total.row(0, named=True)), *listed], len(troubled) - len(listed)


def _definitions(contents: Contents) -> list[tuple[str, str]]:
    """Each metric of the page with the first sentence of its documentation."""
    found = []
    for metric in [*contents.metrics, *(["rcl"] if "rcl" in contents.groups.columns else [])]:
        function = function_of(metric)
        said = "" if function is None else (inspect.getdoc(function) or "").split("\n\n")[0]
        told = _RCL if metric == "rcl" else said.replace("\n", " ").replace("`", "")
        direction = "Lower is better." if lower_is_better(metric) else "Higher is better."
        found.append((in_words(metric), f"{told} {direction}".strip()))
    return found


def _cuts(contents: Contents, kept: Sequence[int], trends: Trends | None, n_charts: int) -> list[str]:
    """What the page leaves out to stay small."""
    found = []
    if len(kept) < contents.groups.height:
        found.append(
            f"This page shows {len(kept):,} of {contents.groups.height:,} groups: the largest, those that the verdict names, and the worst of the others."
        )
    if trends is not None and trends.n_left_out:
        found.append(
            f"Trends are of the last {len(trends.periods):,} periods; {trends.n_left_out:,} earlier ones are left out."
        )
    if n_charts:
        found.append(f"{count(n_charts, 'chart')} left out, for the page would be too large with them.")
    return found


def _data(
    contents: Contents, figures: Sequence[Figure], rows: Sequence[table.GroupRow], trends: Trends | None
) -> dict[str, Any]:
    """What the script of the page works with."""
    names_of_facts = list(dict.fromkeys(name for row in rows for name, _ in row.facts))
    places = {name: at for at, name in enumerate(names_of_facts)}
    return {
        "charts": {figure.id: figure.spec for figure in figures},
        "periods": [] if trends is None else trends.periods,
        "trends": {} if trends is None else {row: trend.packed() for row, trend in trends.of_group.items()},
        "facts": {row.row: [[places[name], told] for name, told in row.facts] for row in rows if row.facts},
        "names": names_of_facts,
        "metric": in_words(contents.metrics[0]),
        "naive": None if trends is None else trends.naive,
        "prior": "at the reference prior" if contents.prior is None else f"at prior {percent_in_table(contents.prior)}",
        "limits": f"{100 * contents.interval:.4g}% limits",
        "colours": [MAIN, OTHER, REST],
    }
