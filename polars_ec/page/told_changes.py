"""What a verdict says of groups that differ and of what changed, where it is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_ec.cells.moments import Floats, floats
from polars_ec.formulas.directions import lower_is_better
from polars_ec.page.contents import Contents
from polars_ec.page.costly import Lows, Mask, above, kinked, lows_around
from polars_ec.page.sentence import KINK, NEC, Kind, Sentence, groups_in, those_judged
from polars_ec.page.wording import MOST, cut, isolated, listed, number_in_sentence, period_text, text, with_limits
from polars_ec.rows.read import join_groups
from polars_ec.words import short

_PARTS = {
    "prior": ("another share of positives", "other shares of the classes"),
    "likelihood": (
        "other scores or decisions of positives and negatives",
        "other scores or decisions within the classes",
    ),
    "mix": ("another mix of groups", "another mix of groups"),
}


def parts_of(contents: Contents) -> dict[str, str]:
    """What a change is made of, in words, for two classes or for more."""
    return {name: of_two if contents.has_positives else of_more for name, (of_two, of_more) in _PARTS.items()}


def that_differ(contents: Contents, rest: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows of groups that differ from all others together beyond noise, and of how many groups these are."""
    return _real(contents, rest, _marked(rest, contents.groups, contents.keys))


def that_changed(contents: Contents, changes: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows of groups that have changed beyond noise, and of how many groups these are."""
    return _real(contents, changes, kinked(changes))


def that_are_named(contents: Contents) -> list[int]:
    """The rows of the groups that the verdict names because they differ or have changed."""
    tables = []
    if contents.rest is not None:
        tables.append(that_differ(contents, contents.rest)[0])
    if contents.changes is not None:
        tables.append(that_changed(contents, contents.changes)[0])
    sides = [
        table.filter(side).head(MOST)
        for table in tables
        for side in (pl.col("difference") > 0, pl.col("difference") <= 0)
    ]
    return [row for side in sides for row in contents.rows_of(side)]


def of_rest(contents: Contents) -> Iterator[Sentence]:
    """Which groups differ from all others together."""
    main = contents.metrics[0]
    if contents.rest is None:
        return
    real, looked_at = that_differ(contents, contents.rest)
    if not looked_at:
        return
    of_all = f"of {those_judged(looked_at, contents.groups.height, 'group')}"
    if not real.height:
        yield Sentence("neutral", f"None {of_all} differs from all others together beyond noise ({short(main)}).")
        return
    worse, better = _sides(real, main, groups_in(contents, real))
    verb = "differs" if real.height == 1 else "differ"
    yield Sentence(
        "bad" if worse else "good",
        f"{real.height:,} {of_all} {verb} from all others together beyond noise, by {short(main)}{_worse_and_better(worse, better)}.",
    )


def of_changes(contents: Contents) -> Iterator[Sentence]:
    """Which groups have changed since the reference."""
    changes, main, total = contents.changes, contents.metrics[0], contents.trend_total
    if changes is None or total is None or contents.period is None or contents.groups.height < 2:
        return
    real, looked_at = that_changed(contents, changes)
    if not looked_at:
        return
    since = _when(contents, contents.reference)
    of_all = f"of {those_judged(looked_at, contents.groups.height, 'group')}"
    if not real.height:
        yield Sentence("neutral", f"None {of_all} has changed beyond noise since {since} ({short(main)}).")
        return
    end = changes[contents.period].max()
    names = [
        name if last == end else f"{name} (last in {_when(contents, last)})"
        for name, last in zip(groups_in(contents, real), real[contents.period].to_list(), strict=True)
    ]
    worse, better = _sides(real, main, names)
    verb = "has" if real.height == 1 else "have"
    yield Sentence(
        "bad" if worse else "good",
        f"{real.height:,} {of_all} {verb} changed beyond noise since {since}, by {short(main)}{_worse_and_better(worse, better)}.",
    )


def of_history(contents: Contents) -> Iterator[Sentence]:
    """How all rows together have changed, and what that is made of."""
    history, total, main = contents.history, contents.trend_total, contents.metrics[0]
    if history is None or total is None or contents.period is None or not history.height:
        return
    row = history.sort(contents.period).row(-1, named=True)
    is_after = pl.col(contents.period) > pl.lit(contents.reference).cast(history.schema[contents.period])
    if history.filter(is_after).is_empty():
        since = _when(contents, contents.reference)
        yield Sentence("neutral", f"Nothing comes after {since}, since which changes would be told.")
        return
    if row["difference"] is None:
        return
    begin, end = (_when(contents, at) for at in (contents.reference, row[contents.period]))
    low, high = row["difference_ci_low"], row["difference_ci_high"]
    is_real = low is not None and (low > 0 or high < 0)
    kink = ""
    if main == NEC and "nec_kinked" in total.columns:
        ends = total.filter(pl.col(contents.period).is_in([contents.reference, row[contents.period]]))
        kink = KINK if ends["nec_kinked"].any() else ""
    is_worse = (row["difference"] > 0) == lower_is_better(main)
    kind: Kind = "neutral" if not is_real or kink else "bad" if is_worse else "good"
    surely = (
        "which is more than noise"
        if is_real
        else "which may be noise"
        if low is not None
        else "and nobody knows how sure that is"
    )
    yield Sentence(
        kind,
        f"From {begin} to {end} {short(main)} of all rows together went from {number_in_sentence(row['value_reference'])} to "
        f"{number_in_sentence(row['value'])}, by {with_limits(row, 'difference', 0.0, sign=True)}, {surely}.{kink}",
    )
    words = parts_of(contents)
    parts = [name for name in words if row.get(name) is not None and row[f"{name}_ci_low"] is not None]
    if not parts:
        yield Sentence(
            "neutral",
            f"What changed {short(main)} from {begin} to {end} these rows do not tell: groups are too small, or in one of the two alone.",
        )
        return
    shown = "; ".join(f"{with_limits(row, name, 0.0, sign=True)} by {words[name]}" for name in parts)
    real = [parts[i] for i in _real_parts(row, parts, contents.interval)]
    surely = f"more than noise: {', '.join(words[name] for name in real)}" if real else "each may be noise"
    yield Sentence("neutral", f"The change of {short(main)} from {begin} to {end} is made up of {shown}; {surely}.")


def _real_parts(row: dict[str, Any], parts: Sequence[str], level: float) -> list[int]:
    """Which parts of a change are no chance, however many there are; their limits are about as far to either side."""
    value, low, high = (np.array([row[f"{name}{end}"] for name in parts]) for end in ("", "_ci_low", "_ci_high"))
    every = np.ones(len(parts), dtype=bool)
    return above(0.0, _lows_of_size(value, low, high, level), every, ~every, level)


def _lows_of_size(value: Floats, low: Floats, high: Floats, level: float) -> Lows:
    """How far from 0 differences are at least."""
    size = np.abs(value)
    return lows_around(size, size - np.where(value > 0, value - low, high - value), level)


def _marked(rows: pl.DataFrame, groups: pl.DataFrame, keys: Sequence[str]) -> Mask:
    """Which rows are of a group that is beside the kink of NEC."""
    if "nec_kinked" not in groups.columns or not rows.height or not groups.height:
        return np.zeros(rows.height, dtype=bool)
    if not keys:
        return np.full(rows.height, bool(groups["nec_kinked"].any()))
    return kinked(join_groups(rows.select(keys), groups.select(*keys, "nec_kinked"), keys))


def _real(contents: Contents, table: pl.DataFrame, near_kink: Mask) -> tuple[pl.DataFrame, int]:
    """The rows that are no chance, the largest difference first, and of how many these are. By the kink only half may be wrong.

    Of many groups the one that is furthest off has few errors by chance, and then too small a standard error: p-values that small are not
    to be trusted, so its limits of the level that it takes must leave out 0 too, as for groups above 1.
    """
    level = contents.interval
    # Other metrics have no kink where that of NEC is.
    near_kink = near_kink & (contents.metrics[0] == NEC)
    p = floats(table["p_adjusted"]) * np.where(near_kink, 2.0, 1.0)
    looked_at = ~np.isnan(p) & ~table["small"].fill_null(value=True).to_numpy()
    value, low, high = (floats(table[f"difference{end}"]) for end in ("", "_ci_low", "_ci_high"))
    is_far = np.zeros(table.height, dtype=bool)
    is_far[above(0.0, _lows_of_size(value, low, high, level), looked_at, near_kink, level)] = True
    real = table.filter(pl.Series(looked_at & is_far & (p < 1 - level)))
    return real.sort(pl.col("difference").abs(), descending=True), int(looked_at.sum())


def _sides(real: pl.DataFrame, metric: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is worse, and what is better, each with its difference."""
    worse, better = list[str](), list[str]()
    for name, row in zip(names, real.to_dicts(), strict=True):
        is_worse = (row["difference"] > 0) == lower_is_better(metric)
        (worse if is_worse else better).append(f"{name} ({with_limits(row, 'difference', 0.0, sign=True)})")
    return worse, better


def _worse_and_better(worse: Sequence[str], better: Sequence[str]) -> str:
    said = [f"{what}: {listed(of)}" for what, of in (("worse", worse), ("better", better)) if of]
    return "; " + "; ".join(said) if said else ""


def _when(contents: Contents, value: object) -> str:
    """A period in a sentence: a number says of what it is, "month 4"."""
    assert contents.period is not None
    assert contents.trend_total is not None
    told = period_text(value, contents.trend_total[contents.period])
    return f"{isolated(cut(text(contents.period)))} {told}" if isinstance(value, int | float) else told
