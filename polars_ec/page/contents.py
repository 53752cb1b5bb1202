"""The contents of a page: its tables, what is significant in them, and its findings in plain sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import cached_property
from typing import Any, Literal, TypeAlias
from unicodedata import bidirectional

import polars as pl

from polars_ec.formulas.decisions import AT_PRIOR, direction, lower_is_better, verdict
from polars_ec.inference.confidence import t_quantile
from polars_ec.numerics import Bools, Floats, floats, np
from polars_ec.output.numbers import count, number_in_table, signed, tenths
from polars_ec.output.words import MISSING, in_words, naive_value, number, short, unique
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
        The title; the names of the group columns, if any; the name of the period column, if there is one.
    metrics, prior, interval
        The metrics, the main one first; the reference prior of the columns that end in `_at_prior`, where it is one number; the level of the
        confidence intervals.
    groups, total
        A row per group, the largest first, and the row of all groups together, without the keys: `n`, each metric with `NAME_ci_low` and
        `NAME_ci_high`, and at the reference prior if the metric depends on it; `class_prior`, `rcl` with its interval where it is known,
        `small`, `n_missing`, `n_invalid`.
    trend, trend_total
        The same without `rcl` by group and period, sorted, and by period. None without periods.
    rest, periods
        `compare` of each group, and of each of three or more periods, with all others, by the judged metric. Groups and periods with invalid
        rows are left out. None for one group, and for fewer periods.
    costly
        The rows of `groups` whose NEC is significantly above 1, adjusted for the number of groups.
    changes
        `drift` of the judged metric for each group, from the reference to its last period; `p_adjusted` is for these.
    history
        `drift` of the main metric for all groups together: each period against the reference, with groups as strata.
    reference
        The period that changes are compared with.
    curves
        A sketch by group, without periods; None for vectors of scores and for costs per row.
    notes, options
        What was left out or approximated; and how the page was made, in words.
    model, versus, versus_by_group
        On a page with several models, the name of this one; and `compare` of it with the first by the judged metric, on the same rows, in the
        whole log and by group, with the verdicts of `margin` if there is one. On a page with the classes of one model, each against the rest, the name of the class.
    noun
        What `model` names.
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
    periods: pl.DataFrame | None = None
    costly: list[int] = field(default_factory=list)
    changes: pl.DataFrame | None = None
    history: pl.DataFrame | None = None
    reference: object = None
    curves: DecidingCells | None = None
    notes: list[str] = field(default_factory=list)
    options: Mapping[str, str] = field(default_factory=dict)
    model: str = ""
    versus: pl.DataFrame | None = None
    versus_by_group: pl.DataFrame | None = None
    margin: float | None = None
    noun: Literal["Model", "Class"] = "Model"

    @property
    def judged_metric(self) -> str:
        """The column that groups and periods are judged by: the main metric at the reference prior, if it depends on it."""
        return judged_column(self.groups, self.metrics[0])

    @property
    def cost_metric(self) -> str:
        """The column that says which groups cost more than the naive system."""
        return judged_column(self.groups, NEC)

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


MOST, _LONGEST = 3, 60


def judged_column(table: pl.DataFrame, metric: str) -> str:
    """The column of a metric at the reference prior, or at the group's own prior if there is no such column."""
    return metric + AT_PRIOR * (metric + AT_PRIOR in table.columns)


def share(part: int, of: int) -> str:
    """A share of a number of rows, in percent."""
    value = 100 * part / of
    return "less than 0.1%" if value < 0.1 else f"{value:.1f}%"


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
    """A value of a key as text, without control characters."""
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


def costly_groups(groups: pl.DataFrame, lower_bounds: LowerBounds, level: float, metric: str) -> list[int]:
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
NAIVE = "making the same decision for every case"
KINK = " Two constant decisions cost about the same here, so the interval may be too narrow."


@dataclass(frozen=True)
class Sentence:
    """A finding in plain text; whether it is good or bad news; the section of the page and the rows of groups that it is about."""

    text: str
    kind: Kind = "neutral"
    section: str = "groups"
    rows: Sequence[int] = ()


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
    """Count the groups with confidence intervals: "200 groups", or "68 groups with enough rows" where there are more."""
    return counted(number, what) + " with enough rows" * (number < of)


def counted(number: int, what: str) -> str:
    """Count groups or periods: "200 groups"."""
    return count(number, what, "groups and periods" if what == "group and period" else None)


# Sentences about groups and periods that differ, and about what changed.

_COMPONENTS = {
    "prior": ("the base rate", "the mix of classes"),
    "likelihood": ("the model", "the model"),
    "mix": ("the mix of groups", "the mix of groups"),
}


def component_words(contents: Contents) -> dict[str, str]:
    """The components of a change, in words, for two classes or for more."""
    return {name: of_two if contents.has_positives else of_more for name, (of_two, of_more) in _COMPONENTS.items()}


def differing_groups(contents: Contents, rest: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows of groups that differ significantly from all others, and the number of groups with enough rows."""
    return _significant(contents, rest, _beside_kink(rest, contents.groups, contents.keys))


def changed_groups(contents: Contents, changes: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows of groups that changed significantly, and the number of groups with enough rows."""
    return _significant(contents, changes, kinked(changes))


def differing_periods(contents: Contents, periods: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """The rows of periods that differ significantly from all others, and the number of periods with enough rows."""
    assert contents.trend_total is not None
    assert contents.period is not None
    return _significant(contents, periods, _beside_kink(periods, contents.trend_total, [contents.period]))


def named_groups(contents: Contents) -> list[int]:
    """The rows of the groups that the findings name because they differ or have changed."""
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
    """Say which groups differ from all others."""
    if contents.rest is not None:
        real, n_judged = differing_groups(contents, contents.rest)
        predicates = ("differs significantly from all others", "differ significantly from all others")
        names = shown_names(contents, real)
        yield from _difference_sentences(contents, real, names, n_judged, predicates)


def model_sentences(contents: Contents, first: str) -> Iterator[Sentence]:
    """Say whether another model than the first is within the margin, and in which groups it would differ."""
    yield from _margin_sentence(contents, first)
    table = contents.versus_by_group
    if table is not None and table.height:
        real, n_judged = differing_groups(contents, table)
        change = f"significantly if {isolated(text(contents.model))} replaces {isolated(text(first))}"
        names = shown_names(contents, real)
        yield from _difference_sentences(contents, real, names, n_judged, (f"differs {change}", f"differ {change}"))


def _margin_sentence(contents: Contents, first: str) -> Iterator[Sentence]:
    """Say whether a model is equivalent to the first, or at least not worse by the margin."""
    if contents.margin is None or contents.versus is None or not contents.versus.height:
        return
    row, measure, margin = contents.versus.row(0, named=True), short(contents.judged_metric), number(contents.margin)
    model, other = (isolated(text(name)) for name in (contents.model, first))
    low, high = (row[f"difference_ci_{end}"] for end in ("low", "high"))
    is_beyond = low is not None and (low > contents.margin or high < -contents.margin)
    if row["equivalent"]:
        alike = f"{model} is equivalent to {other}: {measure} differs by less than {margin} (significant)."
        yield Sentence(alike, "good")
    elif row["not_worse"]:
        yield Sentence(f"{model} is not worse than {other} by {margin} or more ({measure}, significant).", "good")
    elif is_beyond and direction(contents.metrics[0]) is None:
        yield Sentence(f"{model} differs from {other} by more than {margin} ({measure}, significant).")
    elif is_beyond:
        yield Sentence(f"{model} is worse than {other} by more than {margin} ({measure}, significant).", "bad")
    else:
        yield Sentence(f"It is not known whether {model} differs from {other} by less than {margin} ({measure}).")


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
    since = f"changed significantly since {_period_in_sentence(contents, contents.reference)}"
    yield from _difference_sentences(contents, real, names, n_judged, (f"has {since}", f"have {since}"))


def period_sentences(contents: Contents) -> Iterator[Sentence]:
    """Say which periods are worse than all others. One that is much worse makes the others look better, so these are not named.

    If neither direction of the metric is better, say which periods differ.
    """
    periods = contents.periods
    if periods is None or contents.period is None:
        return
    real, n_judged = differing_periods(contents, periods)
    main = contents.metrics[0]
    judges, worse = direction(main) is not None, real
    if judges:
        worse = real.filter(pl.Series([verdict(main, by) == "worse" for by in real["difference"]], dtype=pl.Boolean))
    unlike = "significantly worse than" if judges else "significantly different from"
    of, measure = judged(n_judged, periods.height, "period"), short(contents.judged_metric)
    if worse.height:
        names = [_period_in_sentence(contents, value) for value in worse[contents.period].to_list()]
        differences = zip(names, worse["difference"].to_list(), strict=True)
        shown = listed([f"{name} ({signed(by)})" for name, by in differences])
        verb = "is" if worse.height == 1 else "are"
        said = f"{worse.height:,} of {of} {verb} {unlike} all others ({measure}): {shown}."
        yield Sentence(said, "bad" if judges else "neutral", "periods")
    elif n_judged:
        yield Sentence(f"None of {of} is {unlike} all others ({measure}).", "good" if judges else "neutral", "periods")


def _difference_sentences(
    contents: Contents, real: pl.DataFrame, names: Sequence[str], n_judged: int, predicates: tuple[str, str]
) -> Iterator[Sentence]:
    """Say which of the groups with enough rows differ significantly, and in which direction; `real` are their rows."""
    main, measure = contents.metrics[0], short(contents.judged_metric)
    if not n_judged:
        return
    of = judged(n_judged, contents.groups.height, "group")
    kind: Kind = "neutral" if direction(main) is None else "good"
    if not real.height:
        yield Sentence(f"None of {of} {predicates[0]} ({measure}).", kind)
        return
    sides = {"worse": list[str](), "better": list[str](), "higher": list[str](), "lower": list[str]()}
    for name, difference in zip(names, real["difference"].to_list(), strict=True):
        sides[verdict(main, difference)].append(f"{name} ({signed(difference)})")
    groups = "".join(f" {side.capitalize()}: {listed(some)}." for side, some in sides.items() if some)
    sentence = f"{real.height:,} of {of} {predicates[real.height > 1]} ({measure}).{groups}"
    yield Sentence(sentence, "bad" if sides["worse"] else kind, rows=contents.rows_of(real))


def history_sentences(contents: Contents) -> Iterator[Sentence]:
    """Say how all rows together have changed, and which components of the change are significant."""
    history, total, main = contents.history, contents.trend_total, contents.metrics[0]
    if history is None or total is None or contents.period is None or not history.height:
        return
    row = history.sort(contents.period).row(-1, named=True)
    is_after = pl.col(contents.period) > pl.lit(contents.reference).cast(history.schema[contents.period])
    if history.filter(is_after).is_empty():
        yield _no_period_after(contents)
        return
    ends = total.filter(pl.col(contents.period).is_in([contents.reference, row[contents.period]]))
    yield from _change_sentence(contents, row, KINK if kinked(ends, main).any() else "")


def _no_period_after(contents: Contents) -> Sentence:
    since = _period_in_sentence(contents, contents.reference)
    return Sentence(f"There is no period after {since}, so there is no change to judge.", section="periods")


def _change_sentence(contents: Contents, row: dict[str, Any], kink: str = "") -> Iterator[Sentence]:
    if row["difference"] is None:
        return
    assert contents.period is not None
    main = contents.metrics[0]
    begin, end = (_period_in_sentence(contents, at) for at in (contents.reference, row[contents.period]))
    low, high = row["difference_ci_low"], row["difference_ci_high"]
    is_real = low is not None and (low > 0 or high < 0)
    kinds: dict[str, Kind] = {"worse": "bad", "better": "good"}
    kind = "neutral" if not is_real or kink else kinds.get(verdict(main, row["difference"]), "neutral")
    significance = "significant" if is_real else "its uncertainty is not known" if low is None else "not significant"
    verb = "rose" if row["difference"] > 0 else "fell"
    values = f"from {number_in_table(row['value_reference'])} to {number_in_table(row['value'])}"
    change = f"From {begin} to {end} {short(main)} {verb} {values} ({significance})."
    yield Sentence(f"{change} {_components_in_words(contents, row)}{kink}", kind, "periods")


def _components_in_words(contents: Contents, row: dict[str, Any]) -> str:
    words = component_words(contents)
    components = [name for name in words if row.get(name) is not None and row[f"{name}_ci_low"] is not None]
    if not components:
        why = "groups are too small, or have rows in only one of the two periods."
        return f"What explains the change is not known: {why}"
    real = _significant_components(row, components, contents.interval)
    if not real:
        return "No single part of the change is significant."
    said = " and ".join(f"{words[name]} explains {signed(row[name])}" for name in real)
    others = " and ".join(words[name] for name in components if name not in real)
    parts = "the parts of {} are" if " and " in others else "the part of {} is"
    also = f"; {parts.format(others)} not significant" if others else ""
    return f"{said[0].upper()}{said[1:]} of the change (significant){also}."


def _significant_components(row: dict[str, Any], components: Sequence[str], level: float) -> list[str]:
    """The components of a change that are significant, however many there are; their bounds are about as far to either side."""
    value, low, high = (np.array([row[f"{name}{end}"] for name in components]) for end in ("", "_ci_low", "_ci_high"))
    every = np.ones(len(components), dtype=bool)
    rows = significantly_above(0.0, _lower_bounds_of_size(value, low, high, level), every, ~every, level)
    return [components[row] for row in rows]


def _lower_bounds_of_size(value: Floats, low: Floats, high: Floats, level: float) -> LowerBounds:
    size = np.abs(value)
    return lower_bounds_around(size, size - np.where(value > 0, value - low, high - value), level)


def _beside_kink(rows: pl.DataFrame, groups: pl.DataFrame, keys: Sequence[str]) -> Bools:
    if "nec_kinked" not in groups.columns or not rows.height or not groups.height:
        return np.zeros(rows.height, dtype=bool)
    return kinked(join_groups(rows.select(keys), groups.select(*keys, "nec_kinked"), keys))


def _significant(contents: Contents, table: pl.DataFrame, near_kink: Bools) -> tuple[pl.DataFrame, int]:
    """The significant rows, the largest difference first, and the number of rows with enough data. Beside the kink only half may be wrong.

    The most extreme of many groups often has few errors because of sampling noise, and then its standard error is too small. Such small
    p-values cannot be trusted, so its t interval at the adjusted level must exclude 0 as well, as for groups above 1.
    """
    level = contents.interval
    # Only NEC at its own prior has a kink: at a reference prior the naive system is fixed.
    near_kink = near_kink & (contents.judged_metric == NEC)
    p = floats(table["p_adjusted"]) * np.where(near_kink, 2.0, 1.0)
    looked_at = ~np.isnan(p) & ~table["small"].fill_null(value=True).to_numpy()
    value, low, high = (floats(table[f"difference{end}"]) for end in ("", "_ci_low", "_ci_high"))
    is_far = np.zeros(table.height, dtype=bool)
    is_far[significantly_above(0.0, _lower_bounds_of_size(value, low, high, level), looked_at, near_kink, level)] = True
    real = table.filter(pl.Series(looked_at & is_far & (p < 1 - level)))
    return real.sort(pl.col("difference").abs(), descending=True), int(looked_at.sum())


def _period_in_sentence(contents: Contents, value: object) -> str:
    """A period in a sentence; a number comes with the name of its column, "month 4"."""
    assert contents.period is not None
    assert contents.trend_total is not None
    period = period_text(value, contents.trend_total[contents.period])
    return f"{isolated(cut(text(contents.period)))} {period}" if isinstance(value, int | float) else period


# Sentences about calibration and the quality of the data.

MOST_TO_CALIBRATE = 3


def groups_to_calibrate(contents: Contents) -> list[int]:
    """The rows of the groups in which recalibration would reduce the loss significantly, the largest gain first."""
    groups = contents.groups
    if groups.height < 2 or "rcl_ci_low" not in groups.columns:
        return []
    value, low = floats(groups["rcl"]), floats(groups["rcl_ci_low"])
    bounds = lower_bounds_around(value, low, contents.interval)
    gaining = significantly_above(0.0, bounds, eligible(groups, "rcl"), kinked(groups, "rcl"), contents.interval)
    return sorted(gaining, key=lambda i: -value[i])


def calibration_sentences(contents: Contents) -> Iterator[Sentence]:
    """Say what recalibration would gain, in the whole log and in groups."""
    row = contents.total.row(0, named=True) if contents.total.height else {}
    gain, low = f"{tenths(row.get('rcl'))}%", row.get("rcl_ci_low")
    if low is not None and low > 0:
        yield Sentence(f"Recalibration would reduce the loss of the scores by {gain} (significant).")
    elif low is not None:
        yield Sentence(f"Recalibration would not reduce the loss of the scores significantly ({gain}).", "good")
    elif row.get("rcl") is not None:
        yield Sentence(f"Recalibration would reduce the loss of the scores by {gain}; its uncertainty is not known.")
    most = groups_to_calibrate(contents)
    if most:
        gains, names = contents.groups["rcl"], shown_names(contents)
        known = int(eligible(contents.groups, "rcl").sum())
        candidates = count(known, "group") + " with a known gain" * (known < contents.groups.height)
        shown = listed([f"{names[i]} ({tenths(gains[i])}%)" for i in most], MOST_TO_CALIBRATE)
        yield Sentence(
            f"Recalibrating each group would reduce the loss significantly in {len(most):,} of {candidates}: {shown}.",
            rows=most,
        )


def data_quality(
    groups: pl.DataFrame, total: pl.DataFrame, names: Sequence[str], what: str = "group"
) -> Iterator[Sentence]:
    """Say how many rows are missing or invalid, and how many groups are small; the groups have these names and are `what`."""
    row = total.row(0, named=True) if total.height else {"n": 0, "n_missing": 0, "n_invalid": 0}
    n, missing, invalid = (int(row[name] or 0) for name in ("n", "n_missing", "n_invalid"))
    every = n + missing + invalid
    if not every:
        return
    several = groups.height > 1
    if missing:
        counts = groups["n_missing"].to_list() if several else []
        most = max(range(len(counts)), key=lambda i: counts[i], default=None)
        where = "" if most is None else f", most of them in {names[most]} ({counts[most]:,})"
        have = "has no score or no label and is" if missing == 1 else "have no score or no label and are"
        rows = f"{missing:,} of {count(every, 'row')} ({share(missing, every)})"
        yield Sentence(f"{rows} {have} left out{where}.", section="quality")
    if invalid:
        places = [i for i, wrong in enumerate(groups["n_invalid"].to_list()) if wrong] if several else []
        where = f": {listed([names[i] for i in places])}" if places else ""
        rows = f"{invalid:,} of {count(every, 'row')} {'is' if invalid == 1 else 'are'} invalid"
        owner = f"{what}s" if what != "group and period" else "groups and periods"
        without = f"{owner.capitalize()} with invalid rows have no values{where}"
        yield Sentence(f"{rows}, for example a posterior above 1. {without}.", "bad", "quality")
    if not missing and not invalid:
        yield Sentence(
            f"All {count(every, 'row')} have a valid score and label." if every > 1 else "The one row is valid.",
            "good",
            "quality",
        )
    small = int(groups["small"].sum()) if several and "small" in groups.columns else 0
    if small:
        it = (
            "is small: its interval is unreliable, so it is"
            if small == 1
            else "are small: their intervals are unreliable, so they are"
        )
        yield Sentence(f"{small:,} of {counted(groups.height, what)} {it} not judged.", section="quality")


# The findings of a page or a report: what is significant, and that the rest may be sampling noise.


def sentences(contents: Contents) -> list[Sentence]:
    """The findings of a page: each sentence can be read alone, and none calls sampling noise a finding."""
    groups, names = contents.groups, shown_names(contents)
    total = contents.total.row(0, named=True) if contents.total.height else {}
    has_costs = NEC in contents.metrics and groups.height > 1
    return [
        *overall_sentences(total, contents.metrics, contents.interval),
        *history_sentences(contents),
        *period_sentences(contents),
        *(_sentence_above_one(groups, names, contents.cost_metric, contents.costly, "group") if has_costs else ()),
        *rest_sentences(contents),
        *change_sentences(contents),
        *calibration_sentences(contents),
        *data_quality(groups, contents.total, names),
        *_sentences_of_invalid_groups(groups),
    ]


def _sentences_of_invalid_groups(groups: pl.DataFrame) -> Iterator[Sentence]:
    """Say what the page leaves out because groups have invalid rows."""
    n = groups.filter(pl.col("n_invalid") > 0).height
    if 0 < n < groups.height:
        have, them = ("has", "it") if n == 1 else ("have", "them")
        yield Sentence(
            f"{n:,} of {count(groups.height, 'group')} {have} invalid rows. Comparisons, curves and the prior of the whole log leave {them} "
            "out, and there are no values for all rows together.",
            section="quality",
        )


def report_sentences(
    table: pl.DataFrame, keys: Sequence[str], period: str | None, metric: str = NEC, interval: float | None = None
) -> list[Sentence]:
    """The findings of a table that `report` gave: which groups, or groups and periods, cost more than the naive system.

    `interval` is the level of its confidence intervals. Without them nobody can say which groups differ significantly, and the sentence
    says how to ask. Metrics that are not 1 for the naive system have no findings.
    """
    if naive_value(metric) != 1 or not lower_is_better(metric) or metric not in table.columns:
        return []
    by = [*keys, *([] if period is None else [period])]
    is_total = pl.col("total") if "total" in table.columns else pl.lit(value=not by)
    rows, total = table.filter(~is_total), table.filter(is_total)
    level = interval if interval is not None and f"{metric}_ci_low" in table.columns else None
    verdict = [s for row in total.head(1).to_dicts() for s in overall_sentences(row, [metric], level)]
    names = names_in(rows, keys, period)
    what = "group" if period is None else "group and period" if keys else "period"
    if rows.height:
        verdict += _sentences_above_one(rows, names, metric, level, what)
    if {"n_missing", "n_invalid"} <= {*table.columns}:
        whole = total if total.height else rows.select(pl.col("n", "n_missing", "n_invalid").sum())
        verdict += data_quality(rows, whole, names, what)
    return verdict


def drift_sentences(
    table: pl.DataFrame, keys: Sequence[str], period: str, metric: str, interval: float
) -> list[Sentence]:
    """The findings of a table that `drift` gave, about its last period: how all rows changed and why, or which groups changed.

    `table` has the rows of one model and metric, `interval` is the level of its confidence intervals.
    """
    table = table.filter(pl.col("reference").is_not_null())
    if not table.height:
        return []
    last = table.sort(period).group_by(keys, maintain_order=True).last() if keys else table.sort(period).tail(1)
    if last["reference"].n_unique() > 1:
        # Each group is compared with the period before its last one: those that have the last of all are compared with the same.
        last = last.filter(pl.col(period) == last[period].max(), reference=last.sort(period)["reference"][-1])
    reference = _period_of_text(last["reference"][-1], table.schema[period])
    last = last.filter(pl.col(period) > pl.lit(reference).cast(table.schema[period]))
    periods = pl.DataFrame({period: [reference, *table[period].unique()]})
    total = pl.DataFrame(schema={"class_prior": pl.Float64})
    contents = Contents(
        "", [*keys], period, [metric], None, interval, last, total, trend_total=periods, reference=reference
    )
    if not last.height:
        return [_no_period_after(contents)]
    if last.height > 1:
        return [*change_sentences(replace(contents, changes=last))]
    (row,) = last.rows(named=True)
    return [*_change_sentence(contents, row)]


def _period_of_text(written: str, dtype: pl.DataType) -> Any:
    """The reference period of a drift, which its table has as a text."""
    if not dtype.is_temporal():
        return pl.Series([written]).cast(dtype)[0]
    begin = datetime.fromisoformat(written)
    return begin.date() if dtype == pl.Date else begin


def overall_sentences(row: dict[str, Any], metrics: Sequence[str], level: float | None) -> Iterator[Sentence]:
    """Say whether the decisions cost less than the naive system, and give the main metric if that is another one."""
    if not row.get("n") and not row.get("n_invalid"):
        missing = row.get("n_missing") or 0
        yield Sentence(f"There is nothing to judge: {count(missing, 'row')}, none with a score and a label.", "bad")
        return
    if NEC in metrics:
        yield _cost_sentence(row, level)
    main = metrics[0]
    if main != NEC and row.get(main) is not None:
        naive = naive_value(main)
        beside = "" if naive is None else f"; {NAIVE} has {number_in_table(naive)}"
        yield Sentence(f"{in_words(main)} of all rows is {number_in_table(row[main])}{beside}.")


def _cost_sentence(row: dict[str, Any], level: float | None) -> Sentence:
    value, low, high = (row.get(f"nec{end}") for end in ("", "_ci_low", "_ci_high"))
    if value is None:
        why = (
            f"{count(row['n_invalid'], 'row')} of the log {'is' if row['n_invalid'] == 1 else 'are'} invalid"
            if row.get("n_invalid")
            else "all rows are of one class, a cost or threshold is missing, or the naive system costs nothing"
        )
        return Sentence(f"Whether the decisions cost less than {NAIVE} is not known: {why}.")
    more = "more" if value > 1 else "less"
    cost = f"cost {_percent(abs(1 - value))} {more} than {NAIVE}" if value != 1 else f"cost as much as {NAIVE}"
    if level is None or low is None or high is None:
        return Sentence(f"The decisions {cost} (NEC {number_in_table(value)}). Its uncertainty is not known.")
    kink = KINK if row.get("nec_kinked") else ""
    if low > 1 or high < 1:
        return Sentence(f"The decisions {cost} (NEC {number_in_table(value)}).{kink}", "bad" if low > 1 else "good")
    return Sentence(
        f"These rows do not show whether the decisions cost less than {NAIVE}: NEC {number_in_table(value)} is not significantly "
        f"different from 1.{kink}"
    )


def _percent(value: float) -> str:
    return f"{100 * value:.0f}%" if value >= 0.095 else f"{100 * value:.2g}%"


def _sentences_above_one(
    table: pl.DataFrame, names: Sequence[str], metric: str, level: float | None, what: str
) -> Iterator[Sentence]:
    """Say which rows of a report are above 1: by their intervals, or as far as can be said without."""
    if level is not None:
        lows = lower_bounds_of_loss(table, metric, level)
        yield from _sentence_above_one(table, names, metric, costly_groups(table, lows, level, metric), what)
        return
    value = floats(table[metric])
    known, over = ~np.isnan(value), [int(i) for i in np.flatnonzero(value > 1)]
    of_all = f"of {counted(int(known.sum()), what)}"
    verbs = _COSTS_MORE[metric.removesuffix(AT_PRIOR) == NEC]
    singular, plural = (verb.replace(" significantly", "") for verb in verbs)
    if not over:
        yield Sentence(f"None {of_all} {singular} ({short(metric)} at most 1). --interval 0.95 adds the uncertainty.")
        return
    worst = sorted(over, key=lambda i: -value[i])
    shown = listed([f"{names[i]} ({number_in_table(value[i])})" for i in worst])
    verb = singular if len(over) == 1 else plural
    yield Sentence(
        f"{len(over):,} {of_all} {verb} ({short(metric)} above 1): {shown}. --interval 0.95 shows which are significant."
    )


_COSTS_MORE = {
    True: ("costs significantly more than the naive system", "cost significantly more than the naive system"),
    False: ("is significantly above 1", "are significantly above 1"),
}


def _sentence_above_one(
    table: pl.DataFrame, names: Sequence[str], metric: str, above_one: Sequence[int], what: str
) -> Iterator[Sentence]:
    looked_at = int(eligible(table, metric).sum())
    singular, plural = _COSTS_MORE[metric.removesuffix(AT_PRIOR) == NEC]
    if not looked_at:
        yield Sentence(f"Whether any {what} {singular} is not known: all are small or have no interval.")
        return
    of_all = f"of {judged(looked_at, table.height, what)}"
    measure, values = short(metric), floats(table[metric])
    if above_one:
        worst = sorted(above_one, key=lambda i: -values[i])
        shown = listed([f"{names[i]} ({number_in_table(values[i])})" for i in worst])
        verb = singular if len(above_one) == 1 else plural
        yield Sentence(f"{len(above_one):,} {of_all} {verb} ({measure}): {shown}.", "bad", rows=worst)
        return
    over = int(((values > 1) & eligible(table, metric)).sum())
    noise = f"; {over:,} {'is' if over == 1 else 'are'} above 1, which may be sampling noise" if over else ""
    yield Sentence(f"None {of_all} {singular} ({measure}){noise}.", "good")
