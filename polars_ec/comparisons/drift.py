"""Drift: changes of metrics between periods and their components, from the cells of the joint pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import polars as pl
from polars import selectors as cs

from polars_ec.comparisons.joint_pass import JointCells, Metrics, Shape, estimator_of, families, with_references
from polars_ec.comparisons.result import ResultRow, Sizes, in_order, of_numbers, result_table, with_numbers, with_sums
from polars_ec.comparisons.validation import Reference, drift_columns, part_columns, references
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.decomposition import ChangePart, StratifiedEstimate
from polars_ec.inference.estimator import Differences, MetricChange
from polars_ec.numerics import Floats, Integers, np
from polars_ec.reports.models import Model
from polars_ec.reports.result import ReportLayout
from polars_ec.scores.read import join_groups
from polars_ec.sketches.counting import KeyCode

STRATUM = "__ec_stratum"
"""The number of a stratum in its group."""

# Numbers of the sums of periods that are made at a time.
_MOST_AT_ONCE = 2**26


@dataclass(frozen=True)
class CheckedDrift:
    """A drift whose arguments are checked: `by` and `mix` name columns of groups and of strata, `period` the column of periods.

    `codes` are those of these columns in the cells.
    """

    codes: Sequence[KeyCode]
    by: tuple[str, ...]
    period: str
    mix: tuple[str, ...]
    factors: tuple[str, ...]
    model: Model
    metrics: tuple[str, ...]
    reference: Any
    layout: ReportLayout
    level: float
    buckets: int | None
    min_rows: int | None

    @property
    def keys(self) -> list[str]:
        """Columns that name a period of a group."""
        return [*self.by, self.period]


@dataclass(frozen=True)
class PeriodChanges:
    """Changes of metrics between periods of some groups; `groups` has their keys and numbers, `against` those of their references, -1 for none."""

    groups: pl.DataFrame
    sizes: Sizes
    against: Integers
    changes: Mapping[str, MetricChange]

    @classmethod
    def joined(cls, some: Sequence[PeriodChanges]) -> PeriodChanges:
        """Join the changes of groups that follow each other."""
        starts = [int(start) for start in np.cumsum([0, *(of.groups.height for of in some[:-1])])]
        pairs = [*zip(some, starts, strict=True)]
        against = np.concatenate([np.where(of.against >= 0, of.against + start, -1) for of, start in pairs])
        return cls(
            pl.concat([of.groups.with_columns(pl.col(GROUP) + start) for of, start in pairs]),
            Sizes.joined([of.sizes for of in some]),
            against,
            {name: _joined([of.changes[name] for of in some], against) for name in some[0].changes},
        )

    def table(
        self,
        model: str | None,
        metrics: Sequence[str],
        keys: Sequence[str],
        factors: Sequence[str],
        min_rows: int | None,
    ) -> pl.DataFrame:
        """The result; the last of the `keys` is the period, by which references are called."""
        n_reference = of_numbers(self.sizes.n, self.against)
        rows = (
            ResultRow(
                model,
                column,
                self.changes[column].differences,
                self.sizes,
                {**self._part_columns(self.changes[column]), "n_reference": n_reference},
            )
            for column in in_order(self.changes, metrics)
        )
        # The metric is arbitrary: the rows themselves determine each period's reference.
        reference = Reference(key={keys[-1]: None})
        return result_table(rows, self.groups, keys, reference, min_rows, drift_columns(factors), keys[-1:])

    def _part_columns(self, change: MetricChange) -> dict[str, Floats]:
        """Columns of the components, null without a difference: the reference may have invalid rows or no prior."""
        columns, places, difference = {}, self.against >= 0, change.differences.difference
        for factor, part in change.by_factor.items():
            numbers = (part.value, part.low, part.high, part.least, part.most)
            for name, values in zip(part_columns(factor), numbers, strict=True):
                columns[name] = np.full(len(difference), np.nan)
                columns[name][places] = np.where(np.isnan(difference[places]), np.nan, values)
        return columns


def _joined(some: Sequence[MetricChange], against: Integers) -> MetricChange:
    """P-values are adjusted for all of them later."""
    names = ("value", "value_reference", "low", "high", "p")
    arrays = (np.concatenate([getattr(of.differences, name) for of in some]) for name in names)
    parts = {factor: ChangePart.joined([of.by_factor[factor] for of in some]) for factor in some[0].by_factor}
    value, value_reference, low, high, p = arrays
    return MetricChange(Differences(value, value_reference, low, high, p, against), parts)


def numbered_strata(cells: pl.DataFrame, by: Sequence[str], mix: Sequence[str]) -> pl.DataFrame:
    """The strata of each group, numbered from 0 on in each: a group may have its own, such as the cities of a country."""
    strata = cells.select(*by, *mix).unique()
    return strata.with_columns((pl.int_range(pl.len()).over(by) if by else pl.int_range(pl.len())).alias(STRATUM))


def most_strata(strata: pl.DataFrame) -> int:
    """Return the largest number of strata of any group."""
    return int(strata.select(pl.col(STRATUM).max().fill_null(-1)).item()) + 1


def drifted(cells: pl.DataFrame, drift: CheckedDrift) -> pl.DataFrame:
    """The result: a row for each group, period, model and metric, from the cells of the joint pass."""
    keys, model = drift.keys, drift.model
    # The strata of periods, of which there are far fewer than cells.
    names = [code.name for code in drift.codes]
    codes = cells.lazy().select(names).unique().collect(engine="streaming")
    groups, units = with_numbers(codes.with_columns(code.decoded() for code in drift.codes), keys)
    if not groups.height:
        return pl.DataFrame(schema={**groups.select(keys).schema, **drift_columns(drift.factors)})
    if drift.mix:
        strata = numbered_strata(units, drift.by, drift.mix)
        units = join_groups(units, strata, [*drift.by, *drift.mix])
    else:
        units = units.with_columns(pl.lit(0).alias(STRATUM))
    numbers = join_groups(cells.select(names), codes.hstack(units.select(GROUP, STRATUM)), names)
    cells = cells.drop(names).hstack(numbers.select(GROUP, STRATUM))
    groups = with_sums(groups, cells, [model])
    against = references(drift.reference, groups, drift.by, drift.period)
    with np.errstate(all="ignore"):
        costs = model.rows.costs
        shape = Shape(groups.height, costs.n_classes, costs.n_decisions, drift.buckets)
        groups = with_references(model, drift.layout, JointCells(cells, shape), groups)
        _check_priors(model, groups, against, keys)
        changes = PeriodChanges.joined(list(_blocks(cells, most_strata(units), groups, against, shape, drift)))
        return changes.table(model.name, drift.metrics, keys, drift.factors, drift.min_rows)


def _blocks(
    cells: pl.DataFrame, n_strata: int, groups: pl.DataFrame, against: Integers, shape: Shape, drift: CheckedDrift
) -> Iterator[PeriodChanges]:
    """All changes, in blocks of periods that limit the memory for sums of strata and buckets."""
    features = max(shape.decisions, 3)
    of_period = n_strata * shape.classes * features * ((shape.buckets or 0) + features)
    for start, end in pairwise(_bounds(against, max(_MOST_AT_ONCE // of_period, 1))):
        group, at = pl.col(GROUP), slice(start, end)
        unit = ((group.cast(pl.Int64) - start) * n_strata + pl.col(STRATUM)).alias(GROUP)
        some = cells.filter(group >= start, group < end).with_columns(unit)
        strata = JointCells(some, replace(shape, groups=(end - start) * n_strata))
        table, compared = groups[at], np.where(against[at] >= 0, against[at] - start, -1)
        counts, counts2 = (of.reshape(end - start, n_strata, -1).sum(axis=1) for of in (strata.counts, strata.counts2))
        yield PeriodChanges(
            table.with_columns(group - start),
            Sizes.of(drift.model, table, counts, counts2),
            compared,
            _changes(strata, n_strata, table, compared, drift),
        )


def _changes(
    cells: JointCells, n_strata: int, groups: pl.DataFrame, against: Integers, drift: CheckedDrift
) -> dict[str, MetricChange]:
    changes: dict[str, MetricChange] = {}
    for family in families(drift.metrics, drift.model.rows.row_costs is not None):
        strata = StratifiedEstimate.split(*cells.sums(drift.model, family), n_strata)
        periods = estimator_of(strata.units, groups, Metrics(drift.model, family, drift.layout))
        changes |= periods.decompose(strata, against, drift.factors, drift.level)
    return changes


def _bounds(against: Integers, at_once: int) -> list[int]:
    """Bounds of runs of about this many periods, each with its references."""
    number = len(against)
    places = np.arange(number)
    known = np.where(against >= 0, against, places)
    before = np.maximum.accumulate(np.concatenate([[-1], np.maximum(known, places)]))[:number]
    after = np.minimum.accumulate(known[::-1])[::-1]
    starts = np.flatnonzero((before < places) & (after >= places))
    bounds = [0]
    while number - bounds[-1] > at_once:
        later = starts[starts > bounds[-1]]
        if not len(later):
            break
        within = later[later <= bounds[-1] + at_once]
        bounds.append(int(within[-1] if len(within) else later[0]))
    return [*bounds, number]


def _check_priors(model: Model, groups: pl.DataFrame, against: Integers, keys: Sequence[str]) -> None:
    """ValueError where a prior that rows state is not that of the reference: a change at two priors is not one of the rows."""
    if model.rows.options.prior.expression is None:
        return
    pairs = groups.with_row_index("__ec_place").filter(pl.Series(against) >= 0)
    others = groups[against[against >= 0]]
    for name in groups.select(cs.starts_with(f"{model.prefix}reference")).columns:
        differ = (pairs[name] != others[name]).fill_null(False)
        if differ.any():
            at = differ.arg_max()
            assert at is not None
            period, reference = (", ".join(str(value) for value in of.select(keys).row(at)) for of in (pairs, others))
            raise ValueError(
                f"prior= differs between {period} and {reference}, and a change is explained at one prior: pass one "
                "prior, or one for each group in by="
            )
