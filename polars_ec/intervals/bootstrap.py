"""The bootstrap: how a metric varies over logs of as many rows, or clusters, drawn with replacement from those at hand.

Rows that are alike are drawn together: how often a cell of them comes up is multinomial, which is exact. A replicate weighs each cell
accordingly, and needs no row. What rows of a cell differ by is drawn as the normal variable that it nearly is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.quantiles import normal_quantile, two_sided_p
from polars_ec.intervals.spread import FEWEST_CLUSTERS

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

Value: TypeAlias = Callable[[Floats, slice], Floats]
"""Metrics, (variants, groups, metrics), of tables of sums, (variants, groups, ..), of the groups of a slice; NaN where there are none."""

# How many numbers are drawn, and how many sums are evaluated, at a time.
_DRAWN, _EVALUATED = 2**20, 2**21
# Numbers this near to each other are equal: what is left is rounding.
_EQUAL = 1e-10


@dataclass(frozen=True)
class Units:
    """What is drawn: cells of rows that are alike, or clusters; those of a group side by side, and in the order of their keys.

    `number` is how many a unit stands for: 1 if it is a cluster; the rows of a cell, or as many rows of equal weight as say as much (Kish).
    `starts` has where the units of each group begin, and the end of the last.
    """

    starts: Integers
    number: Floats

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.starts) - 1

    def of(self, group: int) -> slice:
        """The units of a group."""
        return slice(int(self.starts[group]), int(self.starts[group + 1]))

    def known(self) -> NDArray[np.bool_]:
        """Of each group, whether it has enough of them."""
        numbers = (self.number[self.of(group)].sum() for group in range(self.n_groups))
        return np.array([FEWEST_CLUSTERS <= number < math.inf for number in numbers], dtype=bool)

    def factors(self, group: int, replicates: int, seed: int, size: int) -> Iterator[Floats]:
        """What the sums of each unit of a group are multiplied with, (replicates, units), so many replicates at a time.

        Every group has draws of its own, which hang on the seed and its own units alone.
        """
        number = self.number[self.of(group)]
        generator = np.random.default_rng(seed)
        for start in range(0, replicates, size):
            n_draws = min(size, replicates - start)
            # Squares of weights may be more or less than a float holds: nobody knows of how many rows they are.
            if len(number) == 0 or not np.isfinite(number.sum()):
                yield np.zeros((n_draws, len(number)))
                continue
            share = number / number.sum()
            rows = max(1, round(float(number.sum())))
            yield generator.multinomial(rows, share, size=n_draws) / (rows * share)


class Sums(Protocol):
    """The sums of the units of groups, of some shape."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the sums of a group."""

    def weighed(self, group: int, factors: Floats, generator: np.random.Generator | None = None) -> Floats:
        """The sums of a group, (variants, sums), where each unit counts so many times, (variants, units).

        With a generator also what the rows of a unit differ by is drawn.
        """


@dataclass(frozen=True)
class DenseSums:
    """The sums of each unit of a group, (units, *shape).

    `within`, of the same shape, is how far the sums of a unit are off if its rows are drawn, of sums that are 0 or more: rows of a unit are
    alike, but where all rows nearly are so, or units are wide, what they differ by is what matters.
    """

    of_group: Callable[[int], Floats]
    shape: tuple[int, ...]
    within: Callable[[int], Floats] | None = None

    @classmethod
    def of(cls, units: Units, sums: Floats, within: Floats | None = None) -> DenseSums:
        """From those of all units, (units, *shape)."""
        off = None if within is None else lambda group: within[units.of(group)]
        return cls(lambda group: sums[units.of(group)], sums.shape[1:], off)

    def weighed(self, group: int, factors: Floats, generator: np.random.Generator | None = None) -> Floats:
        """The sums of a group, (variants, sums), where each unit counts so many times, (variants, units)."""
        found = self.of_group(group)
        sums = np.asarray(factors @ found.reshape(len(found), math.prod(self.shape)), dtype=np.float64)
        if generator is None or self.within is None:
            return sums
        # A sum of rows that are drawn is nearly normal, and its variance grows with their number.
        off = np.sqrt(factors) * generator.standard_normal(factors.shape)
        return np.asarray(np.maximum(sums + off @ self.within(group).reshape(len(found), -1), 0), dtype=np.float64)


@dataclass(frozen=True)
class OneSumEach:
    """Each unit adds to one sum alone: `place` is its number, and `amount` what it adds."""

    units: Units
    place: Integers
    amount: Floats
    shape: tuple[int, ...]

    def weighed(self, group: int, factors: Floats, generator: np.random.Generator | None = None) -> Floats:  # noqa: ARG002
        """The sums of a group, (variants, sums), where each unit counts so many times, (variants, units)."""
        chosen = self.units.of(group)
        found = np.zeros((len(factors), math.prod(self.shape)))
        found[:, self.place[chosen]] = factors * self.amount[chosen]
        return found


# Infinite losses make what has no limits.
@np.errstate(all="ignore")
def bootstrap(
    value: Value, units: Units, sums: Sums, *, level: float, corrected: bool, replicates: int, seed: int
) -> tuple[Floats, Floats]:
    """The lower and the upper limit of each metric, (groups, metrics).

    `corrected`: bias-corrected and accelerated (BCa), else percentiles. NaN where there are none.
    """
    corrected = corrected and units.n_groups > 0
    per_block = max(1, _EVALUATED // (replicates * max(math.prod(sums.shape), 1)))
    limits = []
    for start in range(0, max(units.n_groups, 1), per_block):
        block = slice(start, min(start + per_block, units.n_groups))
        size = _tables_at_a_time(units, sums, block)
        draws = [
            _drawn(sums, group, units.factors(group, replicates, seed, size), seed)
            for group in range(block.start, block.stop)
        ]
        of_replicates = _values(value, sums.shape, block, draws, replicates, size)
        if corrected:
            limits.append(bca_limits(of_replicates, *_at_hand(value, units, sums, block), level))
        else:
            limits.append(percentile_limits(of_replicates, level))
    low, high = (np.concatenate([pair[end] for pair in limits]) for end in range(2))
    known = units.known()[:, None]
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _tables_at_a_time(units: Units, sums: Sums, block: slice) -> int:
    n_groups = max(block.stop - block.start, 1)
    most = max((units.of(group).stop - units.of(group).start for group in range(block.start, block.stop)), default=0)
    n_sums: int = n_groups * max(math.prod(sums.shape), 1)
    return max(1, min(_DRAWN // max(most, 1), _EVALUATED // n_sums))


def _drawn(sums: Sums, group: int, factors: Iterator[Floats], seed: int) -> Iterator[Floats]:
    """The sums of a group by these factors, and by what rows of a unit differ by, which has draws of its own."""
    generator = np.random.default_rng([seed, 1])
    return (sums.weighed(group, of_units, generator) for of_units in factors)


def _values(
    value: Value, shape: tuple[int, ...], block: slice, sums: list[Iterator[Floats]], number: int, size: int
) -> Floats:
    """(variants, groups, metrics), of the sums of each group, which come in blocks of this size."""
    found = []
    for start in range(0, number, size):
        tables = np.zeros((min(size, number - start), len(sums), math.prod(shape)))
        for at, of_group in enumerate(sums):
            tables[:, at] = next(of_group)
        found.append(value(tables.reshape(*tables.shape[:2], *shape), block))
    return np.concatenate(found)


def _at_hand(value: Value, units: Units, sums: Sums, block: slice) -> tuple[Floats, Floats]:
    """The metrics of the log at hand, and their acceleration, (groups, metrics)."""
    groups = range(block.start, block.stop)
    most = max(units.of(group).stop - units.of(group).start for group in groups)
    number = np.zeros((most, len(groups)))
    for at, group in enumerate(groups):
        n = units.number[units.of(group)]
        number[: len(n), at] = n
    size = _tables_at_a_time(units, sums, block)
    without = [_left(sums, group, _without_each(units.number[units.of(group)], most + 1, size)) for group in groups]

    def of_rest(tables: Floats, groups: slice) -> Floats:
        # What rounding leaves of a sum that one unit has made is nothing.
        return value(np.where(np.abs(tables) < _EQUAL * np.abs(tables).max(axis=0), 0.0, tables), groups)

    values = _values(of_rest, sums.shape, block, without, most + 1, size)
    return values[-1], acceleration(values[:-1], number)


def _left(sums: Sums, group: int, factors: Iterator[Floats]) -> Iterator[Floats]:
    return (sums.weighed(group, of_units) for of_units in factors)


def _without_each(number: Floats, variants: int, size: int) -> Iterator[Floats]:
    """Factors without one row, or cluster, of each unit in turn, and then with all."""
    for start in range(0, variants, size):
        factors = np.ones((min(size, variants - start), len(number)))
        unit = np.arange(start, min(start + size, len(number)))
        factors[unit - start, unit] -= 1 / number[unit]
        yield factors


def acceleration(without: Floats, number: Floats) -> Floats:
    """How fast the standard error changes with the value, (groups, metrics).

    `without` are the values without one row, or cluster, of each unit, (units, groups, metrics); `number` is how many it stands for.
    """
    weight = number[..., None]
    used = np.where(weight > 0, without, 0.0)
    with np.errstate(all="ignore"):
        mean = (weight * used).sum(axis=0) / weight.sum(axis=0)
        influence = mean - used
        # What rounding leaves of a metric that no row moves.
        influence = np.where(np.abs(influence) > 1e-14 * np.abs(mean), influence, 0.0)
        squares = (weight * influence**2).sum(axis=0)
        found = (weight * influence**3).sum(axis=0) / (6 * squares**1.5)
    return np.asarray(np.where(squares == 0, 0.0, found), dtype=np.float64)


def percentile_limits(replicates: Floats, level: float) -> tuple[Floats, Floats]:
    """The quantiles of the replicates, (replicates, ...), that leave the same share out at either end."""
    tail = np.full(replicates.shape[1:], (1 - level) / 2)
    return _quantiles(replicates, tail, 1 - tail, (1 - level) / 2)


def bca_limits(replicates: Floats, value: Floats, acceleration: Floats, level: float) -> tuple[Floats, Floats]:
    """The quantiles that stand for the same tails once bias and acceleration are accounted for."""
    with np.errstate(all="ignore"):
        equal = np.abs(replicates - value) <= _EQUAL * np.abs(value)
        below = (replicates < value) & ~equal
        defined = ~np.isnan(replicates)
        share = (below.sum(axis=0) + equal.sum(axis=0) / 2) / defined.sum(axis=0)
        bias = normal_quantile(share)
        z_low, z_high = (bias + normal_quantile(np.array((1 + side * level) / 2)) for side in (-1, 1))
        of_low, of_high = (_normal_cdf(bias + z / (1 - acceleration * z)) for z in (z_low, z_high))
    known = np.isfinite(bias) & np.isfinite(acceleration) & np.isfinite(value)
    low, high = _quantiles(replicates, of_low, of_high, (1 - level) / 2)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _quantiles(replicates: Floats, of_low: Floats, of_high: Floats, tail: float) -> tuple[Floats, Floats]:
    """Two quantiles of those replicates that have a value.

    NaN where so many have none that the limits would hang on them, and where all are alike: they tell of no width.
    """
    ordered = np.sort(replicates, axis=0)
    defined = (~np.isnan(ordered)).sum(axis=0)
    known = (len(ordered) - defined <= tail * len(ordered)) & (defined > 0)
    last = np.maximum(defined - 1, 0)
    ends = []
    for share in (of_low, of_high):
        with np.errstate(all="ignore"):
            place = np.where(known & ~np.isnan(share), share * last, 0.0)
        below = np.floor(place).astype(np.int64)
        above = np.minimum(below + 1, last)
        first, second = (np.take_along_axis(ordered, at[None], axis=0)[0] for at in (below, above))
        with np.errstate(all="ignore"):
            # Of infinite ones no share can be taken.
            between = np.where((first == second) | (place == below), first, first + (place - below) * (second - first))
        ends.append(np.where(known & ~np.isnan(share), between, np.nan))
    low, high = ends
    spread = np.take_along_axis(ordered, last[None], axis=0)[0] - ordered[0]
    with np.errstate(all="ignore"):
        alike = ~(spread > _EQUAL * np.abs(ordered[0]))
    return np.where(alike, np.nan, low), np.where(alike, np.nan, high)


def _normal_cdf(z: Floats) -> Floats:
    tail = two_sided_p(z, np.inf) / 2
    return np.where(z > 0, 1 - tail, tail)
