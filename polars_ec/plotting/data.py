"""What a chart is of: a few groups, by names of our own, at as many points as can be seen.

Names of columns are syntax to Vega-Lite (dots, brackets, colons), so those of users become values and titles only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from polars_ec.cells.deciding import DecidingCells
from polars_ec.formulas.directions import lower_is_better

LARGEST, WORST = 4, 2
_PIXELS = 400
_MISSING = "(missing)"


@dataclass(frozen=True)
class Shown:
    """The cells of the groups of a chart: `group` is their one key, a name; `rest` the name of all others together."""

    cells: DecidingCells
    names: list[str]
    rest: str | None
    title: str


def name_of_group(keys: Sequence[str]) -> pl.Expr:
    """The keys as one text: "AA, EWR"; without keys "all"."""
    parts = [pl.col(key).cast(pl.String).fill_null(_MISSING) for key in keys]
    return (pl.concat_str(parts, separator=", ") if parts else pl.lit("all")).alias("group")


def chosen(cells: DecidingCells, metric: str) -> Shown:
    """The largest groups, the worst of the others by a metric, and the rest added up."""
    keys = cells.keys_beside_fold
    title = ", ".join(keys)
    if not keys:
        named = cells.on_tables(lambda table: table.select(pl.lit("all").alias("group"), pl.all()))
        return Shown(named.group_by("group"), ["all"], None, title)
    groups = cells.group_by(*keys)
    table = groups.evaluate(metric, interval=0.95).with_columns(name_of_group(keys))
    names = [*dict.fromkeys(table.sort("n", descending=True)["group"])]
    if len(names) > LARGEST + WORST:
        others = table.filter(~pl.col("group").is_in(names[:LARGEST]) & ~pl.col("small"))
        worst = others.drop_nulls(metric).sort(metric, descending=lower_is_better(metric))["group"]
        names = [*names[:LARGEST], *worst[:WORST]]
    left_out = table.height - len(names)
    rest = f"other {left_out}" if left_out else None
    by_name = pl.when(name_of_group(keys).is_in(names)).then(name_of_group(keys)).otherwise(pl.lit(rest))
    return Shown(groups.group_by(by_name.alias("group")), names, rest, title)


def finite(table: pl.DataFrame) -> pl.DataFrame:
    """Infinities and NaN as nulls: no JSON parser takes them."""
    numbers = pl.selectors.float()
    return table.with_columns(pl.when(numbers.is_finite()).then(numbers))


def thin(curve: pl.DataFrame, x: str, y: str, *, widths: tuple[float, float] = (1.0, 1.0)) -> pl.DataFrame:
    """The points of each group's curve that lie on other pixels than the point before, and its last one.

    `widths` are the lengths of the axes.
    """
    pixel = [(pl.col(name) / width * _PIXELS).round() for name, width in zip((x, y), widths, strict=True)]
    moved = pl.any_horizontal((at != at.shift()).fill_null(value=True) for at in pixel)
    last = pl.int_range(pl.len()) == pl.len() - 1
    return curve.filter((moved | last).over("group"))
