"""What a chart is of: a few groups, by names of our own, and numbers that JSON can hold.

Names of columns are syntax to Vega-Lite (dots, brackets, colons), so those of users become values and titles only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_ec.cells.cells import SCORE, TARGET
from polars_ec.cells.deciding import DecidingCells
from polars_ec.cells.sums import number_groups, with_group
from polars_ec.formulas.directions import lower_is_better, worst_first
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.arguments import FEW_OF_A_CLASS
from polars_ec.plotting.names import names, plain
from polars_ec.words import in_words, short, unlike

LARGEST, WORST = 4, 2
_MOST_NAMED = 60
_NAME = "__ec_name"


@dataclass(frozen=True)
class Shown:
    """The cells of the groups of a chart: `group` is their key, a name; `rest` the name of all others together.

    `title` says what the groups are, `notes` how many rows there are and which groups are shown.
    """

    cells: DecidingCells
    names: list[str]
    rest: str | None
    title: str
    notes: list[str]

    @property
    def all_names(self) -> list[str]:
        """Of the groups, and of the rest if there is one."""
        return self.names if self.rest is None else [*self.names, self.rest]

    def only(self, curve: pl.DataFrame) -> pl.DataFrame:
        """A curve of the cells, of what is shown, in the order of the legend."""
        place = pl.col("group").replace_strict(self.all_names, range(len(self.all_names)), return_dtype=pl.Int32)
        shown = curve.filter(pl.col("group").is_in(self.all_names)).drop(SCORE, TARGET, strict=False)
        return shown.sort(place, maintain_order=True)

    def without(self, curve: pl.DataFrame) -> list[str]:
        """What to say of those that are in the legend, and have no point in the curve as it is drawn."""
        drawn = set(curve["group"])
        missing = [name for name in self.all_names if name not in drawn]
        called = ", ".join(missing)
        # A title is never cut, and makes the drawing as wide as it is.
        said = called if len(called) <= _MOST_NAMED else f"{len(missing)} of {len(self.all_names)}"
        return [f"No line: {said}"] if missing and len(self.all_names) > 1 else []


def check_sketch(cells: object) -> None:
    """TypeError for a log or a table, with the way out."""
    if not isinstance(cells, DecidingCells):
        raise TypeError(
            f"a curve is of a sketch, and this is a {type(cells).__name__}: make one by ec.sketch(log, score, label, by=...)"
        )


def chosen(cells: DecidingCells, metric: str, keywords: Mapping[str, Any] | None = None) -> Shown:
    """The largest groups, the worst of the others by a metric, and the rest added up; without those that have wrong rows.

    Models and targets are no parts of one whole: of many of them the rest is left out.
    """
    check_sketch(cells)
    keys = cells.keys_beside_fold
    apart = [key for key in (SCORE, TARGET) if key in keys]
    whole = cells.group_by(*keys)
    numbered, numbers = number_groups(whole, keys)
    groups = _sizes(numbered, numbers, keys)
    named = _renamed(whole, keys, numbers, groups, apart)
    right = groups.filter(~pl.col("invalid"))
    names, notes = right["group"].to_list(), [_rows(groups.join(numbers.select(GROUP, *apart), on=GROUP), apart)]
    what, left_out = "curves" if apart else "groups", 0
    if len(names) > LARGEST + WORST:
        others = right[LARGEST:].filter(~pl.col("small"))["group"].to_list()
        worst = _worst(named, others, metric, keywords or {})
        left_out = len(names) - LARGEST - len(worst)
        notes.append(f"{len(names):,} {what}: {_which(len(worst), metric, left_out, together=not apart)}")
        names = [*names[:LARGEST], *worst]
    if right.height < groups.height:
        notes.append(
            f"Left out, for they have wrong rows: {groups.height - right.height:,} of {groups.height:,} {what}"
        )
    title = plain(", ".join(keys))
    if not left_out:
        return Shown(named, names, None, title, notes)
    rest = unlike(f"other {left_out:,}", groups["group"].to_list())
    own = pl.col("group").is_in(names) | pl.col("invalid")
    pooled = groups.with_columns(group=pl.when(own).then("group").otherwise(pl.lit(rest)))
    return Shown(_renamed(whole, keys, numbers, pooled, apart), names, None if apart else rest, title, notes)


def finite(table: pl.DataFrame) -> pl.DataFrame:
    """Infinities and NaN as nulls: no JSON parser takes them."""
    numbers = pl.selectors.float()
    return table.with_columns(pl.when(numbers.is_finite()).then(numbers))


def _sizes(numbered: pl.DataFrame, numbers: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """A row per group that has cells, largest first: its number, a name that no other has, `n`, `small` and `invalid`."""
    label, n = pl.col("class"), pl.col("n")
    of_class = [n.filter(label == i).sum() for i in range(2)]
    counted = numbered.group_by(GROUP).agg(
        n=of_class[0] + of_class[1],
        small=pl.min_horizontal(of_class) < FEW_OF_A_CLASS,
        invalid=n.filter(label == -1).sum() > 0,
    )
    sized = numbers.select(GROUP, group=names(numbers, keys)).join(counted, on=GROUP, maintain_order="left")
    return sized.sort("n", descending=True, maintain_order=True)


def _renamed(
    cells: DecidingCells, keys: list[str], numbers: pl.DataFrame, names: pl.DataFrame, apart: list[str]
) -> DecidingCells:
    """The cells with the names of their groups for keys, added up where these are the same."""
    name_of = names.select(GROUP, pl.col("group").alias(_NAME))

    def change(table: pl.DataFrame) -> pl.DataFrame:
        named = with_group(table, numbers, keys).join(name_of, on=GROUP, how="left", maintain_order="left")
        left = (key for key in keys if key not in apart)
        return named.select(pl.col(_NAME).alias("group"), pl.exclude(GROUP, _NAME, *left))

    return cells.on_tables(change).group_by("group", *apart)


def _worst(cells: DecidingCells, names: list[str], metric: str, keywords: Mapping[str, Any]) -> list[str]:
    """The worst groups of these by a metric; of one that is known within bounds by its worse one."""
    if not names:
        return []
    down = lower_is_better(metric)
    table = cells.filter(pl.col("group").is_in(names)).evaluate(metric, **keywords)
    column = metric if metric in table.columns else f"{metric}_{'high' if down else 'low'}"
    # Infinite is the worst of all, though no mark can show it.
    return worst_first(table, column, lower=down)["group"].head(WORST).to_list()


def _rows(groups: pl.DataFrame, apart: list[str]) -> str:
    """How many rows the log has: models and targets are of the same ones."""
    of_each = groups.group_by(apart).agg(pl.col("n").sum())["n"].sort().to_list() if apart else [groups["n"].sum()]
    least, most = (of_each[0], of_each[-1]) if of_each else (0, 0)
    return f"{most:,} rows" if least == most else f"{least:,} to {most:,} rows"


def _which(n_worst: int, metric: str, left_out: int, *, together: bool) -> str:
    by = short(metric)
    by = by if by != in_words(metric) else by[0].lower() + by[1:]
    worst = f", worst {n_worst} by {by}" if n_worst else ""
    rest = f", other {left_out:,} together" if together else ""
    return f"largest {LARGEST}{worst}{rest}"
