"""The table of groups: a row per group, a column per question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from markupsafe import Markup

from polars_ec.formulas.directions import lower_is_better
from polars_ec.page.contents import Contents
from polars_ec.page.sparklines import sparkline
from polars_ec.page.text import NONE, limits_in_table, number_in_table, p_value, percent_in_table, signed, tenths
from polars_ec.page.told_changes import parts_of, that_changed, that_differ
from polars_ec.page.trends import Trend, Trends, any_known
from polars_ec.page.wording import period_texts
from polars_ec.words import ALL_GROUPS, in_words, short

Row = Mapping[str, Any]

# Of these the unit is percent.
_SHOWN: Mapping[str, Callable[[float | None], str]] = {"class_prior": percent_in_table, "rcl": tenths}

TREND = "trend"


@dataclass(frozen=True)
class Column:
    """What it is of, its heading, and that in full. Paper has no room for more."""

    name: str
    title: str
    about: str
    more: bool = False


@dataclass(frozen=True)
class Cell:
    """A number as text with its limits; what it is sorted by; why there is none; what is said of it in a word; or a picture."""

    text: str
    raw: float | None = None
    limits: str = ""
    why: str = ""
    word: str = ""
    bad: bool = False
    picture: Markup | None = None


@dataclass(frozen=True)
class GroupRow:
    """What the table shows of a group. If there is a trend, or facts that are known beside, it opens and shows these."""

    row: int
    name: str
    cells: list[tuple[Column, Cell]]
    small: bool
    costly: bool
    facts: list[list[str]]
    opens: bool = False


def columns(contents: Contents) -> list[Column]:
    """The columns of the table between the name of the group and its sparkline."""
    found = [Column("n", "Rows", "rows with a score and a label")]
    if contents.has_positives:
        found.append(Column("class_prior", "Positives", in_words("class_prior")))
    main, *others = contents.metrics
    found.append(Column(main, short(main), in_words(main)))
    if f"{main}_at_prior" in contents.groups.columns:
        prior = "the reference prior" if contents.prior is None else f"prior {percent_in_table(contents.prior)}"
        found.append(Column(f"{main}_at_prior", f"{short(main)} at {prior}", in_words(f"{main}_at_prior")))
    if contents.trend is not None:
        found.append(Column(TREND, f"{short(main)} by period", "dashed: the naive system"))
    if contents.rest is not None:
        found.append(Column("rest", "Against the others", f"{short(main)} minus that of all other groups together"))
    if contents.changes is not None:
        found.append(Column("change", "Change", f"{short(main)} of the last period minus that of the reference period"))
    if "rcl" in contents.groups.columns and "rcl" not in contents.metrics:
        found.append(Column("rcl", "RCL, %", in_words("rcl")))
    found += [Column(metric, short(metric), in_words(metric), more=True) for metric in others]
    return found


def group_rows(contents: Contents, kept: Sequence[int], names: Sequence[str], trends: Trends | None) -> list[GroupRow]:
    """The rows of the groups that are shown."""
    rest, changes = _by_row(contents, contents.rest), _by_row(contents, contents.changes)
    # Those that the verdict names, and no others.
    differ = {} if contents.rest is None else _by_row(contents, that_differ(contents, contents.rest)[0])
    changed = {} if contents.changes is None else _by_row(contents, that_changed(contents, contents.changes)[0])
    groups, shown = contents.groups.rows(named=True), columns(contents)
    found = []
    for row in kept:
        group, against, change, costly = groups[row], rest.get(row), changes.get(row), row in contents.costly
        differences = {
            "rest": _difference(against, contents, is_real=row in differ),
            "change": _difference(change, contents, is_real=row in changed),
        }
        picture = None if trends is None else _trend(trends.of_group.get(row), trends)
        cells = _cells(shown, group, {**differences, TREND: picture}, costly=costly)
        facts = _facts(contents, group, against, change)
        trend = None if trends is None else trends.of_group.get(row)
        opens = bool(facts) or (trend is not None and any_known(trend.value))
        found.append(GroupRow(row, names[row], cells, bool(group.get("small")), costly, facts, opens))
    return found


def total_row(contents: Contents, trends: Trends | None) -> GroupRow:
    """All groups together, which nothing is compared with."""
    picture = None if trends is None else _trend(trends.whole, trends)
    known = {"rest": Cell(""), "change": Cell(""), TREND: picture}
    cells = _cells(columns(contents), contents.total.row(0, named=True), known, costly=False)
    return GroupRow(-1, ALL_GROUPS, cells, small=False, costly=False, facts=[])


def _cells(
    shown: Sequence[Column], group: Row, known: Mapping[str, Cell | None], *, costly: bool
) -> list[tuple[Column, Cell]]:
    """A cell for each column: those that are known, and values."""
    return [
        (column, known.get(column.name) or _value(group, column.name, bad=costly and column.name == "nec"))
        for column in shown
    ]


def _trend(trend: Trend | None, trends: Trends) -> Cell:
    if trend is None:
        return Cell(NONE, None, why="left out: trends are of the largest and the worst groups")
    known = [value for value in trend.value if value is not None]
    ends = f"from {number_in_table(known[0])} to {number_in_table(known[-1])}" if known else "no value"
    return Cell(ends, picture=sparkline(trend.value, trends.scale, trends.naive))


def _value(group: Row, name: str, *, bad: bool = False) -> Cell:
    value = group.get(name)
    show = _SHOWN.get(name, number_in_table)
    if name == "n":
        return Cell(f"{value:,}", value)
    if value is None:
        return Cell(NONE, None, why=_why(group))
    between = limits_in_table(group.get(f"{name}_ci_low"), group.get(f"{name}_ci_high"), show)
    unknown = "no limits: too few rows or clusters" if f"{name}_ci_low" in group and not between else ""
    return Cell(show(value), value, between, why=unknown, word="above 1" if bad else "", bad=bad)


def _why(group: Row) -> str:
    """Why a metric of a group is null."""
    if group.get("n_invalid"):
        return f"not known: {group['n_invalid']:,} rows are invalid"
    if not group.get("n"):
        return "not known: no row has a score and a label"
    if group.get("class_prior") in (0, 1):
        return "not known: all rows are of one class"
    return "not known: undefined for these rows"


def _difference(found: Row | None, contents: Contents, *, is_real: bool) -> Cell:
    """A difference; said to be for the worse or the better where it is beyond noise among all groups."""
    if found is None or found["difference"] is None:
        return Cell(NONE, None, why="not known: too few rows to compare, or none to compare them with")
    value = found["difference"]
    between = limits_in_table(found["difference_ci_low"], found["difference_ci_high"], signed)
    if not is_real:
        return Cell(signed(value), value, between)
    worse = (value > 0) == lower_is_better(contents.metrics[0])
    return Cell(signed(value), value, between, word="worse" if worse else "better", bad=worse)


def _by_row(contents: Contents, table: pl.DataFrame | None) -> dict[int, Row]:
    """The rows of a comparison of the main metric, by the row of the group that they are of."""
    return {} if table is None else dict(zip(contents.rows_of(table), table.rows(named=True), strict=True))


def _facts(contents: Contents, group: Row, against: Row | None, change: Row | None) -> list[list[str]]:
    """What is shown with the trend of a group: pairs of what and how much."""
    main = short(contents.metrics[0])
    found = []
    if against is not None and against["difference"] is not None:
        found.append([f"{main} of all other groups", number_in_table(against["value_reference"])])
        found.append(["Difference from them", _told(against, "difference")])
    if change is not None and change["difference"] is not None and contents.period is not None:
        assert contents.trend_total is not None
        ends = [contents.reference, change[contents.period]]
        first, last = period_texts(ends, contents.trend_total[contents.period])
        found.append([f"Change from {first} to {last}", _told(change, "difference")])
        found += [
            [f"by {words}", _told(change, part)]
            for part, words in parts_of(contents).items()
            if change.get(part) is not None
        ]
    if group.get("n_missing") or group.get("n_invalid"):
        found.append(["Rows missing, invalid", f"{group.get('n_missing') or 0:,}, {group.get('n_invalid') or 0:,}"])
    return found


def _told(found: Row, name: str) -> str:
    between = limits_in_table(found.get(f"{name}_ci_low"), found.get(f"{name}_ci_high"), signed)
    adjusted = f"; adjusted p {p_value(found['p_adjusted'])}" if name == "difference" else ""
    return signed(found[name]) + f" [{between}]" * bool(between) + adjusted
