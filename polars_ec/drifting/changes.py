"""The changes of metrics of one family between periods, with their parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.cells import JointCells, Shape
from polars_ec.comparing.choice import Reference
from polars_ec.comparing.differences import Differences
from polars_ec.comparing.groups import Grouped, compare_groups
from polars_ec.comparing.sizes import Sizes
from polars_ec.comparing.tidy import Piece, tidy
from polars_ec.comparing.values import Metrics
from polars_ec.drifting.choice import columns_of, columns_of_part
from polars_ec.drifting.parts import Part, Strata, parts_of
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.estimates import Clusters
from polars_ec.intervals.spread import Moments
from polars_ec.rows.read import join_groups

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STRATUM = "__ec_stratum"
"""The number of a stratum in its group."""


@dataclass(frozen=True)
class Changes:
    """One metric of each period: how it differs from its reference, and the parts of that by their columns."""

    differences: Differences
    parts: Mapping[str, Floats]

    def piece(self, model: str | None, column: str, sizes: Sizes, against: Integers) -> Piece:
        """What the result has of it; `against` says which period each is compared with."""
        return Piece(model, column, self.differences, sizes, {**self.parts, "n_reference": sizes.n_of(against)})

    def moved(self, start: int) -> Changes:
        """The same where the first of the periods has this number."""
        of = self.differences.reference
        assert of is not None
        return replace(self, differences=replace(self.differences, reference=np.where(of >= 0, of + start, -1)))


def tidied(
    pieces: Iterable[Piece], groups: pl.DataFrame, keys: Sequence[str], factors: Sequence[str], min_rows: int | None
) -> pl.DataFrame:
    """The result; the last of the `keys` is the period, by which references are called."""
    period = keys[-1]
    # Of any value: which period is the reference of each the pieces say themselves.
    reference = Reference(key={period: None})
    return tidy(pieces, groups, keys, reference, min_rows, columns_of(factors), [period])


def joined(some: Sequence[Mapping[str, Changes]]) -> Mapping[str, Changes]:
    """The changes of periods that follow each other, by the columns of metrics."""
    if len(some) == 1:
        return some[0]
    return {
        column: Changes(
            _joined_differences([changes[column].differences for changes in some]),
            {name: np.concatenate([changes[column].parts[name] for changes in some]) for name in some[0][column].parts},
        )
        for column in some[0]
    }


def _joined_differences(some: Sequence[Differences]) -> Differences:
    """P-values are adjusted for all of them later."""
    value, reference, low, high, p = (
        np.concatenate([getattr(of, name) for of in some]) for name in ("value", "value_reference", "low", "high", "p")
    )
    against = np.concatenate([of.reference for of in some if of.reference is not None])
    return Differences(value, reference, low, high, p, against)


def changes_of(
    of: Grouped, strata: Strata, against: Integers, factors: Sequence[str], level: float
) -> dict[str, Changes]:
    """Those of each metric, by its column; `against` says which period each is compared with, -1 for none."""
    found = compare_groups(of, against, level)
    has_both = against >= 0
    pairs = np.flatnonzero(has_both), against[has_both]
    side, values = of.side, of.own(of.moments.linear[None])[0]
    at_the_end = np.stack([side.at_the_end(c, values[:, c]) for c in range(len(of.columns))], axis=-1)
    known = np.stack([np.isfinite(of_column.low) for of_column in found.values()], axis=-1)
    parts = parts_of(strata, pairs, factors, level, (at_the_end[pairs[0]], at_the_end[pairs[1]]), known[pairs[0]])
    return {
        column: Changes(of_column, _columns(parts[column], pairs[0], of_column.difference))
        for column, of_column in found.items()
    }


def _columns(parts: Mapping[str, Part], places: Integers, difference: Floats) -> dict[str, Floats]:
    """Null where there is no difference: rows of the reference may be wrong, or it has no prior."""
    columns = {}
    for factor, part in parts.items():
        numbers = (part.value, part.low, part.high, part.least, part.most)
        for name, values in zip(columns_of_part(factor), numbers, strict=True):
            columns[name] = np.full(len(difference), np.nan)
            columns[name][places] = np.where(np.isnan(difference[places]), np.nan, values)
    return columns


def one_stratum(of: Grouped, metrics: Metrics, groups: pl.DataFrame) -> Strata:
    """Periods that are not taken apart."""
    return _strata(of, metrics, groups, of.moments, of.clusters, 1)


def numbered_strata(cells: pl.DataFrame, by: Sequence[str], mix: Sequence[str]) -> pl.DataFrame:
    """The strata of each group, numbered from 0 on in each: a group may have its own, such as the cities of a country."""
    strata = cells.select(*by, *mix).unique()
    return strata.with_columns((pl.int_range(pl.len()).over(by) if by else pl.int_range(pl.len())).alias(STRATUM))


def most_strata(strata: pl.DataFrame) -> int:
    """Of any group."""
    return int(strata.select(pl.col(STRATUM).max().fill_null(-1)).item()) + 1


@dataclass(frozen=True)
class StrataCells:
    """The cells of a log by group, period and stratum."""

    cells: JointCells
    number: int

    @classmethod
    def of(cls, cells: pl.DataFrame, by: Sequence[str], mix: Sequence[str], shape: Shape) -> StrataCells:
        """`cells` have the number of their period."""
        strata = numbered_strata(cells, by, mix)
        numbered, number = join_groups(cells, strata, [*by, *mix]), most_strata(strata)
        both = pl.col(GROUP).cast(pl.Int64) * number + pl.col(STRATUM)
        by_stratum = Shape(shape.groups * number, shape.classes, shape.decisions, shape.buckets)
        return cls(JointCells(numbered.with_columns(both.alias(GROUP)), by_stratum), number)

    def of_metrics(self, metrics: Metrics, groups: pl.DataFrame, periods: Grouped) -> Strata:
        """The sums of a family; `periods` are those of the periods."""
        cells, model, family = self.cells, metrics.model, metrics.family
        moments = cells.moments(model, family, np.ones(len(cells.weight), dtype=bool))
        clusters = None if cells.shape.buckets is None else cells.clusters(model, family)
        return _strata(periods, metrics, groups, moments, clusters, self.number)


def _strata(
    periods: Grouped, metrics: Metrics, groups: pl.DataFrame, moments: Moments, clusters: Clusters | None, number: int
) -> Strata:
    """Of sums by period and stratum, of which there are so many in each period."""
    return Strata(
        periods.columns,
        _moments(moments, number),
        None if clusters is None else _in_strata(clusters, number),
        periods.enlarged,
        lambda sums, units: metrics.of(sums, groups[units]),
        periods.side,
    )


def _moments(moments: Moments, number: int) -> Moments:
    """Of strata that follow each other."""
    return Moments(_split(moments.linear, number), _split(moments.square, number), moments.unit)


def _in_strata(clusters: Clusters, number: int) -> Clusters:
    """(units x strata, buckets, ...) as (units, buckets, strata, ...)."""
    linear = np.moveaxis(_split(clusters.linear, number), 1, 2)
    weight = _split(clusters.weight, number).sum(axis=1)
    single = None if clusters.single is None else _moments(clusters.single, number)
    return Clusters(linear, weight, clusters.unit, single)


def _split(values: Floats, number: int) -> Floats:
    return values.reshape(len(values) // number, number, *values.shape[1:])
