"""The table of groups: a row per group, a column per question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from markupsafe import Markup

from polars_ec.formulas.directions import lower_is_better
from polars_ec.page.contents import Contents
from polars_ec.page.sparklines import sparkline
from polars_ec.page.text import NONE, limits, number, p_value, percent, short, signed, tenths
from polars_ec.page.trends import Trends, period_labels
from polars_ec.words import in_words

Row = Mapping[str, Any]

# Of these the unit is percent.
_SHOWN: Mapping[str, Callable[[float | None], str]] = {"class_prior": percent, "rcl": tenths}

_PARTS = {"prior": "by class shares", "likelihood": "by the scores", "mix": "by the mix"}


@dataclass(frozen=True)
class Column:
    """A heading, and what it is in full; the name, for the one that the rows are sorted by."""

    name: str
    title: str
    about: str


@dataclass(frozen=True)
class Cell:
    """A number as text with its limits; what it is sorted by; why there is none; what is said of it in a word."""

    text: str
    raw: float | None = None
    limits: str = ""
    why: str = ""
    word: str = ""
    bad: bool = False


@dataclass(frozen=True)
class GroupRow:
    """What the table shows of a group. Facts are what else is known, shown with its trend."""

    row: int
    name: str
    cells: list[Cell]
    small: bool
    costly: bool
    spark: Markup = field(default_factory=Markup)
    ends: str = ""
    facts: list[list[str]] = field(default_factory=list)


def columns(contents: Contents) -> list[Column]:
    """The columns of the table between the name of the group and its sparkline."""
    found = [Column("n", "Rows", "rows with a score and a label")]
    if "class_prior" in contents.groups.columns:
        found.append(Column("class_prior", "Positives", in_words("class_prior")))
    for metric in contents.metrics:
        found.append(Column(metric, short(metric), in_words(metric)))
        if metric == contents.metrics[0] and f"{metric}_at_prior" in contents.groups.columns:
            prior = "the reference prior" if contents.prior is None else f"prior {percent(contents.prior)}"
            found.append(Column(f"{metric}_at_prior", f"{short(metric)} at {prior}", in_words(f"{metric}_at_prior")))
    if "rcl" in contents.groups.columns and "rcl" not in contents.metrics:
        found.append(Column("rcl", "RCL, %", in_words("rcl")))
    main = short(contents.metrics[0])
    if contents.rest is not None:
        found.append(Column("rest", "Against the others", f"{main} minus that of all other groups together"))
    if contents.changes is not None:
        found.append(Column("change", "Change", f"{main} of the last period minus that of the reference period"))
    return found


def group_rows(contents: Contents, kept: Sequence[int], names: Sequence[str], trends: Trends | None) -> list[GroupRow]:
    """The rows of the groups that are shown."""
    rest, changes = _by_row(contents, contents.rest), _by_row(contents, contents.changes)
    shown = columns(contents)
    main = contents.metrics[0]
    alpha = 1 - contents.interval
    whole = contents.groups.rows(named=True)
    found = []
    for row in kept:
        group = whole[row]
        against, change = rest.get(row), changes.get(row)
        costly = row in contents.costly
        cells = [
            _difference(against, main, alpha, contents.interval)
            if column.name == "rest"
            else _difference(change, main, alpha, contents.interval)
            if column.name == "change"
            else _value(group, column.name, bad=costly and column.name == "nec")
            for column in shown
        ]
        line = GroupRow(row, names[row], cells, bool(group.get("small")), costly)
        if trends is not None:
            values = trends.of_group[row].value
            known = [value for value in values if value is not None]
            ends = f"{number(known[0])} to {number(known[-1])}" if known else "no value"
            spark = sparkline(values, trends.scale, trends.naive)
            line = GroupRow(**{**vars(line), "spark": spark, "ends": ends})
        found.append(GroupRow(**{**vars(line), "facts": _facts(contents, group, against, change)}))
    return found


def total_row(contents: Contents, trends: Trends | None) -> GroupRow:
    """All groups together."""
    group = contents.total.row(0, named=True)
    cells = [
        Cell("") if column.name in ("rest", "change") else _value(group, column.name) for column in columns(contents)
    ]
    spark = Markup() if trends is None else sparkline(trends.whole.value, trends.scale, trends.naive)
    return GroupRow(-1, "all groups", cells, small=False, costly=False, spark=spark)


def _value(group: Row, name: str, *, bad: bool = False) -> Cell:
    value = group.get(name)
    show = _SHOWN.get(name, number)
    if name == "n":
        return Cell(f"{value:,}", value)
    if value is None:
        return Cell(NONE, None, why=_why(group))
    between = limits(group.get(f"{name}_ci_low"), group.get(f"{name}_ci_high"), show)
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


def _difference(found: Row | None, main: str, alpha: float, level: float) -> Cell:
    """A difference; said to be for the worse or the better where it is beyond noise among all groups."""
    if found is None or found["difference"] is None:
        return Cell(NONE, None, why="not known: too few rows to compare, or none in one of the two")
    value, adjusted = found["difference"], found["p_adjusted"]
    between = limits(found["difference_ci_low"], found["difference_ci_high"], signed)
    if adjusted is None or adjusted >= alpha or not value:
        return Cell(signed(value), value, between)
    worse = (value > 0) == lower_is_better(main)
    return Cell(signed(value), value, between, word="worse" if worse else "better", bad=worse)


def _by_row(contents: Contents, table: pl.DataFrame | None) -> dict[int, Row]:
    """The rows of a comparison of the main metric, by the row of the group that they are of."""
    if table is None:
        return {}
    of_main = table.filter(pl.col("metric") == contents.metrics[0]) if "metric" in table.columns else table
    if not contents.keys:
        return dict(enumerate(of_main.head(1).rows(named=True)))
    numbered = contents.groups.select(contents.keys).with_row_index("row_of_group")
    joined = of_main.join(numbered, on=contents.keys, nulls_equal=True)
    return {row["row_of_group"]: row for row in joined.iter_rows(named=True)}


def _facts(contents: Contents, group: Row, against: Row | None, change: Row | None) -> list[list[str]]:
    """What is shown with the trend of a group: pairs of what and how much."""
    main = short(contents.metrics[0])
    found = []
    if against is not None and against["difference"] is not None:
        found.append([f"{main} of all other groups", number(against["value_reference"])])
        found.append(["Difference from them", _told(against, "difference")])
    if change is not None and change["difference"] is not None and contents.period is not None:
        (last,) = period_labels(pl.Series([change[contents.period]]))
        found.append([f"Change from {change['reference']} to {last}", _told(change, "difference")])
        found += [[words, _told(change, part)] for part, words in _PARTS.items() if change.get(part) is not None]
    if group.get("n_missing") or group.get("n_invalid"):
        found.append(["Rows missing, invalid", f"{group.get('n_missing') or 0:,}, {group.get('n_invalid') or 0:,}"])
    return found


def _told(found: Row, name: str) -> str:
    between = limits(found.get(f"{name}_ci_low"), found.get(f"{name}_ci_high"), signed)
    adjusted = f"; p adjusted for all groups {p_value(found['p_adjusted'])}" if name == "difference" else ""
    return signed(found[name]) + f" [{between}]" * bool(between) + adjusted
