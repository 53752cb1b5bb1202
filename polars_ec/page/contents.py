"""The contents of a page: its tables, what is significant in them, and its verdict in plain sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias
from unicodedata import bidirectional

import polars as pl

from polars_ec.formulas.decisions import lower_is_better
from polars_ec.inference.confidence import t_quantile
from polars_ec.numerics import Bools, Floats, floats, np
from polars_ec.output.words import MISSING, in_words, naive_value, short, unique
from polars_ec.scores.read import join_groups
from polars_ec.sketches.operating_points import DecidingCells

# No key is called so.
ROW = "__ec_row"


@dataclass(frozen=True)
class Contents:
    """The tables of a page, about one model.

    Attributes
    ----------
    title, keys, period
        What the page is called; the group columns, of which there may be none; the column of periods, if there is one.
    metrics, prior, interval
        The metrics, the main one first; the reference prior of the columns that end in `_at_prior`, where it is one number; the level of all
        limits.
    groups, total
        A row per group, the largest first, and the row of all groups together, without the keys: `n`, each metric with `NAME_ci_low` and
        `NAME_ci_high`, and at the reference prior where that moves it; `class_prior`, `rcl` with limits where it is known, `small`,
        `n_missing`, `n_invalid`.
    trend, trend_total
        The same without `rcl` by group and period, sorted, and by period. None without periods.
    rest
        `compare` of each group with all others, for the main metric, of groups without invalid rows. None for one group.
    costly
        The rows of `groups` whose NEC is above 1 beyond noise, among as many groups as there are.
    changes
        `drift` of the main metric of each group: of its last period against the reference; `p_adjusted` is of these.
    history
        `drift` of the main metric of all groups together: each period against the reference, with groups as strata.
    reference
        The period that changes are told from.
    curves
        A sketch by group, without periods; None where scores are vectors or costs are by row.
    notes, options
        What was left out or is approximate; and how all was made, in words.
    """

    title: str
    keys: list[str]
    period: str | None
    metrics: list[str]
    prior: float | None
    interval: float
    groups: pl.DataFrame
    total: pl.DataFrame
    trend: pl.DataFrame | None = None
    trend_total: pl.DataFrame | None = None
    rest: pl.DataFrame | None = None
    costly: list[int] = field(default_factory=list)
    changes: pl.DataFrame | None = None
    history: pl.DataFrame | None = None
    reference: object = None
    curves: DecidingCells | None = None
    notes: list[str] = field(default_factory=list)
    options: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def has_positives(self) -> bool:
        """Whether there are two classes: of more each has a share."""
        return self.total.schema.get("class_prior") == pl.Float64

    @cached_property
    def labels(self) -> list[str]:
        """The names of the groups, each different from the others."""
        return unique(group_names(self.groups, self.keys)) if self.keys else ["all"] * self.groups.height

    def rows_of(self, table: pl.DataFrame) -> list[int]:
        """The rows in `groups` of the groups in the rows of another table."""
        if not self.keys:
            return [0] * table.height
        rows: list[int] = join_groups(table.select(self.keys), self.numbered(), self.keys)[ROW].to_list()
        return rows

    def numbered(self) -> pl.DataFrame:
        """The keys of the groups and, as `ROW`, their rows in `groups`."""
        return self.groups.select(self.keys).with_row_index(ROW)


MOST, _LONGEST = 5, 60


def number_in_sentence(value: float, apart_from: float | None = None, *, sign: bool = False) -> str:
    """Three digits, and as many more as it takes not to look like the number that it is apart from."""
    before = 1 if value == 0 else math.floor(math.log10(abs(value))) + 1
    return _shown([value], 3 - before, apart_from, sign=sign)[0]


def with_limits(row: Mapping[str, Any], name: str, apart_from: float | None = None, *, sign: bool = False) -> str:
    """A value and, where they are known, its limits, to two digits of how far these are apart: "0.47 [0.45, 0.49]"."""
    value, low, high = (row.get(f"{name}{end}") for end in ("", "_ci_low", "_ci_high"))
    if value is None:
        return "not known"
    if low is None or high is None:
        return number_in_sentence(value, apart_from, sign=sign)
    places = 2 if high <= low else 1 - math.floor(math.log10(high - low))
    shown = _shown([value, low, high], places, apart_from, sign=sign)
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def percent_with_limits(row: Mapping[str, Any], name: str) -> str:
    """A value in percent with its limits: "3.9% [3.6%, 4.3%]"."""
    first, *limits = with_limits(row, name, 0.0).split(" ")
    return " ".join([f"{first}%", *(part.replace(",", "%,").replace("]", "%]") for part in limits)])


def share(part: int, of: int) -> str:
    """A share of a number of rows, in percent."""
    value = 100 * part / of
    return "less than 0.1%" if value < 0.1 else f"{value:.1f}%"


def _shown(values: Sequence[float], places: int, apart_from: float | None, *, sign: bool) -> list[str]:
    """With as many places after the point, or more where one would look like the number that it is apart from."""
    texts = list[str]()
    for more in range(7):
        texts = [f"{value:{'+' if sign else ''},.{max(places + more, 0)}f}" for value in values]
        numbers = zip(values, texts, strict=True)
        if not any(value != apart_from and float(text.replace(",", "")) == apart_from for value, text in numbers):
            break
    return texts


def listed(texts: Sequence[str], most: int = MOST) -> str:
    """The first ones, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f", and {more} more" if more > 0 else "")


def group_names(table: pl.DataFrame, keys: Sequence[str]) -> list[str]:
    """Name each group by its keys: "AA, EWR"."""
    columns = [[text(value) or "(empty)" for value in table[key].to_list()] for key in keys]
    return [cut(", ".join(parts)) for parts in zip(*columns, strict=True)]


def isolated(name: str) -> str:
    """A name as a sentence has it: one that is written from right to left does not turn the numbers beside it round."""
    return f"\u2068{name}\u2069" if any(bidirectional(c) in ("R", "AL", "AN") for c in name) else name


def text(value: Any) -> str:
    """A value of a key as one writes it, with nothing in it that moves a terminal."""
    if value is None:
        return MISSING
    if isinstance(value, datetime) and value.time() == datetime.min.time():
        value = value.date()
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(str(value).split()))


def period_text(value: Any, periods: pl.Series) -> str:
    """A period as one writes it: the month, or the year, where all periods begin with one."""
    return period_texts([value], periods)[0]


def period_texts(values: Sequence[Any], periods: pl.Series) -> list[str]:
    """Some of the periods as one writes them."""
    begins = [at for at in periods.to_list() if isinstance(at, date)]
    pattern = ""
    if len(begins) > 1 and all(at.day == 1 and text(at) == str(at)[:10] for at in begins):
        pattern = "%Y" if all(at.month == 1 for at in begins) else "%Y-%m"
    return [
        cut(text(value)) if not isinstance(value, date) else value.strftime(pattern) if pattern else text(value)
        for value in values
    ]


def cut(name: str, longest: int = _LONGEST) -> str:
    """A name, as much of it as there is room for."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def count(number: int, one: str, many: str | None = None) -> str:
    """Count something: "1 row", "1,200 rows"."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


# Numbers as a table shows them: as many places in all rows, so that they can be compared.

NONE = "–"
_LEAST = 0.0005


def number_in_table(value: float | None) -> str:
    """Three decimals, or three digits where these say too little: 0.573, 0.0123, 12.3, 12,345."""
    if value is None or math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    size = abs(value)
    if size >= 1000:
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
    """A difference: three decimals, so that it can be compared with its limits; two digits of one that is smaller."""
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


def limits_in_table(
    low: float | None, high: float | None, show: Callable[[float | None], str] = number_in_table
) -> str:
    """Confidence limits, or nothing where they are not known."""
    return "" if low is None or high is None else f"{show(low)} to {show(high)}"


LowerBounds: TypeAlias = Callable[[float], Floats]
"""The lower bound of each group at any level."""

# A group with ten rows of a class has so many; one with more is found a little less often than its rows would tell.
_FEWEST_DEGREES = 9.0


def significantly_above(
    value: float, lower_bounds: LowerBounds, eligible: Bools, kinked: Bools, level: float
) -> list[int]:
    """The rows of groups that are significantly above a value, with a false discovery rate of at most 1 - level.

    Of m groups those are named that are above it by bounds of the level 1 - (1 - level) k / m, for the largest k for which there are k.
    Beside the kink of NEC the cheaper of two constant decisions is chosen by the same rows: each of them has half of what may be wrong.

    References
    ----------
    Benjamini and Hochberg, "Controlling the false discovery rate", 1995.
    """
    number = n_groups = int(eligible.sum())
    while number:
        wrong = (1 - level) * number / n_groups
        low = lower_bounds(1 - wrong)
        if (eligible & kinked).any():
            low = np.where(kinked, lower_bounds(1 - wrong / 2), low)
        rows = np.flatnonzero(eligible & (low > value))
        if len(rows) >= number:
            return [int(row) for row in rows]
        number = len(rows)
    return []


def costly_groups(groups: pl.DataFrame, lower_bounds: LowerBounds, level: float, metric: str = "nec") -> list[int]:
    """The rows of groups whose NEC, or other metric, is significantly above 1; small groups are not looked at."""
    if f"{metric}_ci_low" not in groups.columns:
        return []
    return significantly_above(1.0, lower_bounds, eligible(groups, metric), kinked(groups, metric), level)


def eligible(table: pl.DataFrame, metric: str) -> Bools:
    """The rows that are not small and have confidence intervals."""
    small = table["small"].fill_null(value=True) if "small" in table.columns else pl.Series([False] * table.height)
    return (table[f"{metric}_ci_low"].is_not_null() & ~small).to_numpy()


def kinked(table: pl.DataFrame, metric: str = "nec") -> Bools:
    """The rows whose interval for NEC may be too narrow; no other metric has such rows."""
    if metric != "nec" or "nec_kinked" not in table.columns:
        return np.zeros(table.height, dtype=bool)
    return table["nec_kinked"].fill_null(value=False).to_numpy()


def with_kinks(changes: pl.DataFrame, ends: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Changes of groups, with whether one of the two periods of each is beside the kink of NEC; `ends` has a row for either."""
    if not keys:
        return changes.with_columns(nec_kinked=pl.lit(bool(ends["nec_kinked"].any())))
    of_groups = ends.group_by(keys).agg(pl.col("nec_kinked").any())
    return changes.with_columns(join_groups(changes.select(keys), of_groups, keys)["nec_kinked"])


def lower_bounds_of_loss(table: pl.DataFrame, metric: str, level: float) -> LowerBounds:
    """The bounds that follow from those of a table, which are of t around the logarithm, with the fewest degrees of freedom.

    So intervals of a higher level are wider than those that the rows would tell.
    """
    value, low = floats(table[metric]), floats(table[f"{metric}_ci_low"])

    def lower_bounds(other: float) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(value * (low / value) ** _wider(level, other))

    return lower_bounds


def lower_bounds_around(value: Floats, low: Floats, level: float) -> LowerBounds:
    """The bounds that follow from those of intervals which are of t around the value itself."""
    return lambda other: np.asarray(value - (value - low) * _wider(level, other))


def _wider(level: float, other: float) -> float:
    # The small tail, which has the digits.
    ends = t_quantile(np.array([(1 - other) / 2, (1 - level) / 2]), _FEWEST_DEGREES)
    return float(ends[0] / ends[1])


Kind: TypeAlias = Literal["bad", "good", "neutral"]
NEC = "nec"
KINK = " Two constant decisions cost about the same here, so that these limits may be too close."


@dataclass(frozen=True)
class Sentence:
    """A finding, as plain text; whether it is bad or good news, or none."""

    text: str
    kind: Kind = "neutral"


def names_in(table: pl.DataFrame, keys: Sequence[str], period: str | None) -> list[str]:
    """Name the rows of a table: groups, periods, or groups in periods."""
    if period is None:
        return _isolated(group_names(table, keys)) if keys else ["all"] * table.height
    periods = period_texts(table[period].to_list(), table[period])
    if not keys:
        return periods
    return [f"{name}, {at}" for name, at in zip(_isolated(group_names(table, keys)), periods, strict=True)]


def shown_names(contents: Contents, table: pl.DataFrame | None = None) -> list[str]:
    """The names of the groups of a page, or of those in some rows, as its table has them."""
    return _isolated(contents.labels if table is None else [contents.labels[row] for row in contents.rows_of(table)])


def _isolated(names: Sequence[str]) -> list[str]:
    return [isolated(name) for name in names]


def judged(number: int, of: int, what: str) -> str:
    """Count the groups with confidence intervals: "200 groups", or "68 groups that can be judged" where there are more."""
    return counted(number, what) + " that can be judged" * (number < of)


def counted(number: int, what: str) -> str:
    """Count groups or periods: "200 groups"."""
    return count(number, what, "groups and periods" if what == "group and period" else None)


# What a verdict says of groups that differ and of what changed, where it is more than chance.

_COMPONENTS = {
    "prior": ("another share of positives", "other shares of the classes"),
    "likelihood": (
        "other scores or decisions of positives and negatives",
        "other scores or decisions within the classes",
    ),
    "mix": ("another mix of groups", "another mix of groups"),
}


def component_words(contents: Contents) -> dict[str, str]:
    """The components of a change, in words, for two classes or for more."""
    return {name: of_two if contents.has_positives else of_more for name, (of_two, of_more) in _COMPONENTS.items()}


def differing_groups(contents: Contents, rest: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows of groups that differ from all others together beyond noise, and of how many groups these are."""
    return _significant(contents, rest, _beside_kink(rest, contents.groups, contents.keys))


def changed_groups(contents: Contents, changes: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows of groups that have changed beyond noise, and of how many groups these are."""
    return _significant(contents, changes, kinked(changes))


def named_groups(contents: Contents) -> list[int]:
    """The rows of the groups that the verdict names because they differ or have changed."""
    tables = []
    if contents.rest is not None:
        tables.append(differing_groups(contents, contents.rest)[0])
    if contents.changes is not None:
        tables.append(changed_groups(contents, contents.changes)[0])
    tops = [
        table.filter(direction).head(MOST)
        for table in tables
        for direction in (pl.col("difference") > 0, pl.col("difference") <= 0)
    ]
    return [row for top in tops for row in contents.rows_of(top)]


def rest_sentences(contents: Contents) -> Iterator[Sentence]:
    """Say which groups differ from all others together."""
    if contents.rest is None:
        return
    real, n_judged = differing_groups(contents, contents.rest)
    names = shown_names(contents, real)
    verbs = ("differs", "differ")
    yield from _difference_sentences(contents, real, names, n_judged, verbs, "from all others together beyond noise")


def change_sentences(contents: Contents) -> Iterator[Sentence]:
    """Say which groups have changed since the reference."""
    changes = contents.changes
    if changes is None or contents.trend_total is None or contents.period is None or contents.groups.height < 2:
        return
    real, n_judged = changed_groups(contents, changes)
    end = changes[contents.period].max()
    names = [
        name if last == end else f"{name} (last in {_period_in_sentence(contents, last)})"
        for name, last in zip(shown_names(contents, real), real[contents.period].to_list(), strict=True)
    ]
    predicate = f"changed beyond noise since {_period_in_sentence(contents, contents.reference)}"
    yield from _difference_sentences(contents, real, names, n_judged, ("has", "have"), predicate)


def _difference_sentences(
    contents: Contents, real: pl.DataFrame, names: Sequence[str], n_judged: int, verbs: tuple[str, str], predicate: str
) -> Iterator[Sentence]:
    """Say which of the groups that can be judged differ significantly, the worse and the better ones; `real` are their rows."""
    main = contents.metrics[0]
    of_all = f"of {judged(n_judged, contents.groups.height, 'group')}"
    if n_judged and not real.height:
        yield Sentence(f"None {of_all} {verbs[0]} {predicate} ({short(main)}).")
    elif n_judged:
        worse, better = list[str](), list[str]()
        for name, row in zip(names, real.to_dicts(), strict=True):
            is_worse = (row["difference"] > 0) == lower_is_better(main)
            (worse if is_worse else better).append(f"{name} ({with_limits(row, 'difference', 0.0, sign=True)})")
        groups = "".join(f"; {side}: {listed(some)}" for side, some in (("worse", worse), ("better", better)) if some)
        sentence = f"{real.height:,} {of_all} {verbs[real.height > 1]} {predicate}, by {short(main)}{groups}."
        yield Sentence(sentence, "bad" if worse else "good")


def history_sentences(contents: Contents) -> Iterator[Sentence]:
    """Say how all rows together have changed, and which components the change has."""
    history, total, main = contents.history, contents.trend_total, contents.metrics[0]
    if history is None or total is None or contents.period is None or not history.height:
        return
    row = history.sort(contents.period).row(-1, named=True)
    is_after = pl.col(contents.period) > pl.lit(contents.reference).cast(history.schema[contents.period])
    if history.filter(is_after).is_empty():
        since = _period_in_sentence(contents, contents.reference)
        yield Sentence(f"Nothing comes after {since}, since which changes would be told.")
        return
    if row["difference"] is None:
        return
    begin, end = (_period_in_sentence(contents, at) for at in (contents.reference, row[contents.period]))
    low, high = row["difference_ci_low"], row["difference_ci_high"]
    is_real = low is not None and (low > 0 or high < 0)
    ends = total.filter(pl.col(contents.period).is_in([contents.reference, row[contents.period]]))
    kink = KINK if kinked(ends, main).any() else ""
    is_worse = (row["difference"] > 0) == lower_is_better(main)
    kind: Kind = "neutral" if not is_real or kink else "bad" if is_worse else "good"
    unsure = "which may be noise" if low is not None else "and nobody knows how sure that is"
    surely = "which is more than noise" if is_real else unsure
    yield Sentence(
        f"From {begin} to {end} {short(main)} of all rows together went from {number_in_sentence(row['value_reference'])} to "
        f"{number_in_sentence(row['value'])}, by {with_limits(row, 'difference', 0.0, sign=True)}, {surely}.{kink}",
        kind,
    )
    words = component_words(contents)
    components = [name for name in words if row.get(name) is not None and row[f"{name}_ci_low"] is not None]
    if not components:
        yield Sentence(
            f"What changed {short(main)} from {begin} to {end} these rows do not tell: groups are too small, or in one of the two alone."
        )
        return
    shown = "; ".join(f"{with_limits(row, name, 0.0, sign=True)} by {words[name]}" for name in components)
    real = [components[i] for i in _significant_components(row, components, contents.interval)]
    surely = f"more than noise: {', '.join(words[name] for name in real)}" if real else "each may be noise"
    yield Sentence(f"The change of {short(main)} from {begin} to {end} is made up of {shown}; {surely}.")


def _significant_components(row: dict[str, Any], components: Sequence[str], level: float) -> list[int]:
    """The components of a change that are significant, however many there are; their limits are about as far to either side."""
    value, low, high = (np.array([row[f"{name}{end}"] for name in components]) for end in ("", "_ci_low", "_ci_high"))
    every = np.ones(len(components), dtype=bool)
    return significantly_above(0.0, _lower_bounds_of_size(value, low, high, level), every, ~every, level)


def _lower_bounds_of_size(value: Floats, low: Floats, high: Floats, level: float) -> LowerBounds:
    size = np.abs(value)
    return lower_bounds_around(size, size - np.where(value > 0, value - low, high - value), level)


def _beside_kink(rows: pl.DataFrame, groups: pl.DataFrame, keys: Sequence[str]) -> Bools:
    if "nec_kinked" not in groups.columns or not rows.height or not groups.height:
        return np.zeros(rows.height, dtype=bool)
    return kinked(join_groups(rows.select(keys), groups.select(*keys, "nec_kinked"), keys))


def _significant(contents: Contents, table: pl.DataFrame, near_kink: Bools) -> tuple[pl.DataFrame, int]:
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
    is_far[significantly_above(0.0, _lower_bounds_of_size(value, low, high, level), looked_at, near_kink, level)] = True
    real = table.filter(pl.Series(looked_at & is_far & (p < 1 - level)))
    return real.sort(pl.col("difference").abs(), descending=True), int(looked_at.sum())


def _period_in_sentence(contents: Contents, value: object) -> str:
    """A period in a sentence: a number says of what it is, "month 4"."""
    assert contents.period is not None
    assert contents.trend_total is not None
    period = period_text(value, contents.trend_total[contents.period])
    return f"{isolated(cut(text(contents.period)))} {period}" if isinstance(value, int | float) else period


# What a verdict says of the scores and rows that it is made of: calibration, and what is missing or wrong.

MOST_TO_CALIBRATE = 3


def groups_to_calibrate(contents: Contents) -> list[int]:
    """The rows of the groups in which calibration by itself would gain more than noise, those first in which it would most."""
    groups = contents.groups
    if groups.height < 2 or "rcl_ci_low" not in groups.columns:
        return []
    value, low = floats(groups["rcl"]), floats(groups["rcl_ci_low"])
    bounds = lower_bounds_around(value, low, contents.interval)
    gaining = significantly_above(0.0, bounds, eligible(groups, "rcl"), kinked(groups, "rcl"), contents.interval)
    return sorted(gaining, key=lambda i: -value[i])


def calibration_sentences(contents: Contents) -> Iterator[Sentence]:
    """Say what calibration would gain, in the whole log and in groups."""
    row = contents.total.row(0, named=True) if contents.total.height else {}
    gain, low = percent_with_limits(row, "rcl"), row.get("rcl_ci_low")
    if low is not None and low > 0:
        yield Sentence(f"Calibration would take {gain} off the loss of the scores in the whole log (RCL).")
    elif low is not None:
        yield Sentence(
            f"Nothing says that calibration would make the scores of the whole log better: it would take {gain} off their loss (RCL).",
            "good",
        )
    elif row.get("rcl") is not None:
        yield Sentence(
            f"Calibration would take {gain} off the loss of the scores (RCL), of which nobody knows how sure it is."
        )
    groups = contents.groups
    most = groups_to_calibrate(contents)
    if most:
        rows, names = groups.to_dicts(), shown_names(contents)
        candidates = eligible(groups, "rcl")
        shown = listed([f"{names[i]} ({percent_with_limits(rows[i], 'rcl')})" for i in most], MOST_TO_CALIBRATE)
        yield Sentence(
            f"In {len(most):,} of {judged(int(candidates.sum()), groups.height, 'group')} a calibration of their own would gain more than noise; most in {shown}."
        )


def data_quality(
    groups: pl.DataFrame, total: pl.DataFrame, names: Sequence[str], what: str = "group"
) -> Iterator[Sentence]:
    """Missing and wrong rows, and small groups, which have these names; `what` they are."""
    row = total.row(0, named=True) if total.height else {"n": 0, "n_missing": 0, "n_invalid": 0}
    n, missing, invalid = (int(row[name] or 0) for name in ("n", "n_missing", "n_invalid"))
    every = n + missing + invalid
    if not every:
        return
    several = groups.height > 1
    if missing:
        counts = groups["n_missing"].to_list() if several else []
        most = max(range(len(counts)), key=lambda i: counts[i], default=None)
        where = "" if most is None else f"; most are in {names[most]} ({counts[most]:,})"
        lack, out = ("lacks", "is") if missing == 1 else ("lack", "are")
        yield Sentence(
            f"{missing:,} of {count(every, 'row')} ({share(missing, every)}) {lack} a score or a label and {out} left out{where}."
        )
    if invalid:
        places = [i for i, wrong in enumerate(groups["n_invalid"].to_list()) if wrong] if several else []
        where = f": {listed([names[i] for i in places])}" if places else ""
        wrong = "is" if invalid == 1 else "are"
        yield Sentence(
            f"{invalid:,} of {count(every, 'row')} {wrong} wrong, such as a posterior above 1, and what holds one has no values{where}.",
            "bad",
        )
    if not missing and not invalid:
        yield Sentence(
            f"All {count(every, 'row')} have a score and a label, and none is wrong."
            if every > 1
            else "The one row is right.",
            "good",
        )
    small = int(groups["small"].sum()) if several and "small" in groups.columns else 0
    if small:
        said, about = ("its limits mean", "it") if small == 1 else ("their limits mean", "them")
        yield Sentence(
            f"{small:,} of {counted(groups.height, what)} {'is' if small == 1 else 'are'} small: {said} little, and nothing is said about {about}."
        )


# What a page, or a report, says in plain sentences: what is more than noise, and that the rest may be noise.


def sentences(contents: Contents) -> list[Sentence]:
    """The verdict of a page: each sentence can be understood alone, and none calls noise a finding."""
    groups, names = contents.groups, shown_names(contents)
    total = contents.total.row(0, named=True) if contents.total.height else {}
    has_costs = NEC in contents.metrics and groups.height > 1
    return [
        *overall_sentences(total, contents.metrics, contents.interval),
        *(_sentence_above_one(groups, names, NEC, contents.costly, "group") if has_costs else ()),
        *rest_sentences(contents),
        *change_sentences(contents),
        *history_sentences(contents),
        *calibration_sentences(contents),
        *data_quality(groups, contents.total, names),
        *_sentences_of_invalid_groups(groups),
    ]


def _sentences_of_invalid_groups(groups: pl.DataFrame) -> Iterator[Sentence]:
    """Say what the page lacks because groups have invalid rows; what it has is of the other groups."""
    n = groups.filter(pl.col("n_invalid") > 0).height
    if 0 < n < groups.height:
        have, them = ("has", "it") if n == 1 else ("have", "them")
        yield Sentence(
            f"{n:,} of {count(groups.height, 'group')} {have} invalid rows: the comparisons with all others, the curves and the prior of "
            f"the whole log leave {them} out, and values of all rows together are not known."
        )


def report_sentences(
    table: pl.DataFrame, keys: Sequence[str], period: str | None, metric: str = NEC, interval: float | None = None
) -> list[Sentence]:
    """The verdict of a table that `report` gave: which groups, or groups and periods, cost more than treating all cases alike.

    `interval` is the level of its limits. Without them nobody can say which is more than noise, and the verdict says how to ask. Of
    metrics but those that are 1 where all cases are treated alike there is no verdict.
    """
    if naive_value(metric) != 1 or not lower_is_better(metric) or metric not in table.columns:
        return []
    by = [*keys, *([] if period is None else [period])]
    is_total = pl.col("total") if "total" in table.columns else pl.lit(value=not by)
    rows, total = table.filter(~is_total), table.filter(is_total)
    has_limits = interval is not None and f"{metric}_ci_low" in table.columns
    verdict = [
        s
        for row in total.head(1).to_dicts()
        for s in overall_sentences(row, [metric], interval if has_limits else None)
    ]
    names = names_in(rows, keys, period)
    what = "group" if period is None else "group and period" if keys else "period"
    if rows.height:
        level = interval if has_limits else None
        verdict += _sentences_above_one(rows, names, metric, level, what)
    if {"n_missing", "n_invalid"} <= {*table.columns}:
        whole = total if total.height else rows.select(pl.col("n", "n_missing", "n_invalid").sum())
        verdict += data_quality(rows, whole, names, what)
    return verdict


def overall_sentences(row: dict[str, Any], metrics: Sequence[str], level: float | None) -> Iterator[Sentence]:
    """Whether all decisions together are worth their while, and the main metric if that is another one."""
    if not row.get("n") and not row.get("n_invalid"):
        missing = row.get("n_missing") or 0
        yield Sentence(f"There is nothing to judge: {count(missing, 'row')}, none with a score and a label.", "bad")
        return
    if NEC in metrics:
        yield _cost_sentence(row, level)
    main = metrics[0]
    if main != NEC and row.get(main) is not None:
        naive = naive_value(main)
        beside = "" if naive is None else f"; a system that treats all cases alike has {number_in_sentence(naive)}"
        yield Sentence(f"{in_words(main)} of all rows together is {with_limits(row, main, naive)}{beside}.")


def _cost_sentence(row: dict[str, Any], level: float | None) -> Sentence:
    value, low, high = (row.get(f"nec{end}") for end in ("", "_ci_low", "_ci_high"))
    if value is None:
        why = (
            f"{count(row['n_invalid'], 'row')} of the log {'is' if row['n_invalid'] == 1 else 'are'} wrong"
            if row.get("n_invalid")
            else "all rows are of one class, the cost or the threshold of a row is missing, or treating all cases alike costs nothing"
        )
        return Sentence(f"Whether the decisions cost less than treating all cases alike is not known: {why}.")
    in_brackets = "" if level is None or low is None else f"; in brackets {100 * level:g}% limits"
    value_and_limits, name = with_limits(row, "nec", 1.0), f"(NEC{in_brackets})"
    measure = f"{value_and_limits} times as much {name}"
    kink = KINK if row.get("nec_kinked") else ""
    if low is None or high is None:
        return Sentence(
            f"In the whole log the decisions cost {value_and_limits} times what treating all cases alike would {name}; how sure that is, "
            "is not known."
        )
    if low > 1 or high < 1:
        more = "more" if low > 1 else "less"
        sentence = f"In the whole log the decisions cost {more} than treating all cases alike: {measure}.{kink}"
        return Sentence(sentence, "bad" if low > 1 else "good")
    return Sentence(
        f"These rows do not tell whether the decisions cost less than treating all cases alike: {measure}.{kink}"
    )


def _sentences_above_one(
    table: pl.DataFrame, names: Sequence[str], metric: str, level: float | None, what: str
) -> Iterator[Sentence]:
    """Say which rows of a report are above 1: by their limits, or as far as can be said without."""
    if level is not None:
        lows = lower_bounds_of_loss(table, metric, level)
        yield from _sentence_above_one(table, names, metric, costly_groups(table, lows, level, metric), what)
        return
    value = floats(table[metric])
    known, over = ~np.isnan(value), [int(i) for i in np.flatnonzero(value > 1)]
    of_all = f"of {counted(int(known.sum()), what)}"
    if not over:
        yield Sentence(
            f"None {of_all} {_COSTS_MORE[metric == NEC][0]} ({short(metric)} at most 1); how sure that is, --interval 0.95 tells."
        )
        return
    worst = sorted(over, key=lambda i: -value[i])
    shown = listed([f"{names[i]} ({number_in_sentence(value[i], 1.0)})" for i in worst])
    verb = _COSTS_MORE[metric == NEC][0 if len(over) == 1 else 1]
    yield Sentence(
        f"{len(over):,} {of_all} {verb} ({short(metric)} above 1): {shown}. Which of them by more than noise, --interval 0.95 tells."
    )


_COSTS_MORE = {
    True: ("costs more than treating all cases alike", "cost more than treating all cases alike"),
    False: ("is above 1", "are above 1"),
}


def _sentence_above_one(
    table: pl.DataFrame, names: Sequence[str], metric: str, above_one: Sequence[int], what: str
) -> Iterator[Sentence]:
    looked_at = int(eligible(table, metric).sum())
    singular, plural = _COSTS_MORE[metric == NEC]
    if not looked_at:
        yield Sentence(f"Of no {what} can be said whether it {singular}: they are small, or have no limits.")
        return
    of_all = f"of {judged(looked_at, table.height, what)}"
    if above_one:
        rows = table.select(f"^{metric}(_ci_low|_ci_high)?$").to_dicts()
        worst = sorted(above_one, key=lambda i: -rows[i][metric])
        shown = listed([f"{names[i]} ({short(metric)} {with_limits(rows[i], metric, 1.0)})" for i in worst])
        yield Sentence(
            f"{len(above_one):,} {of_all} {singular if len(above_one) == 1 else plural}, beyond noise: {shown}.", "bad"
        )
        return
    over = int(((floats(table[metric]) > 1) & eligible(table, metric)).sum())
    chance = f"; {over:,} {'has' if over == 1 else 'have'} {short(metric)} above 1, which may be chance" if over else ""
    yield Sentence(f"None {of_all} {singular} beyond noise{chance}.", "good")
