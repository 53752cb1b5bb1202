"""The bootstrap: the distribution of a metric over resampled logs of as many rows or clusters.

Equal rows are resampled together: the count of each cell is multinomial, which is exact. A replicate reweights each cell and needs no rows.
Differences between the rows of a cell are drawn from a normal approximation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeAlias

import polars as pl
from polars.exceptions import PerformanceWarning

from polars_ec.arguments.keywords import Request
from polars_ec.exceptions import warn
from polars_ec.inference import confidence
from polars_ec.numerics import Bools, Floats, Integers, np, quiet
from polars_ec.records import dataclass

Value: TypeAlias = Callable[[Floats, slice], Floats]
"""Metrics, (variants, groups, metrics), of tables of sums, (variants, groups, ..), of the groups of a slice; NaN where there are none."""

# Block sizes for random numbers and for evaluated sums; and the seconds that are worth a warning.
_DRAWN, _EVALUATED, _LONG = 2**20, 2**21, 20
# Numbers this close are equal up to rounding.
_EQUAL = 1e-10


@dataclass(frozen=True)
class Units:
    """What is resampled: cells of equal rows, or clusters; those of a group side by side, in the order of their keys, from `starts` on.

    `number` is 1 for a cluster, and the effective sample size of a cell.
    """

    starts: Integers
    number: Floats

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.starts) - 1

    def of(self, group: int) -> slice:
        """The units of a group."""
        return slice(int(self.starts[group]), int(self.starts[group + 1]))

    def known(self) -> Bools:
        """Whether each group has enough clusters."""
        numbers = (self.number[self.of(group)].sum() for group in range(self.n_groups))
        return np.array([confidence.FEWEST_CLUSTERS <= number < math.inf for number in numbers], dtype=bool)

    def factors(self, group: int, replicates: int, seed: int, size: int) -> Iterator[Floats]:
        """Times that each unit of a group counts, (replicates, units), in blocks of replicates; random numbers are of the seed and its units alone."""
        number = _rounded(self.number[self.of(group)])
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


def _rounded(x: Floats) -> Floats:
    """To 30 bits, because sums of weights differ in the last bits from run to run, and one bit may give other random numbers."""
    mantissa, exponent = np.frexp(x)
    rounded: Floats = np.ldexp(np.round(np.ldexp(mantissa, 30)), exponent - 30)
    return rounded


@dataclass(frozen=True)
class DenseSums:
    """Sums of each unit of a group, (units, *shape); `within` is by how much they vary if the rows of a unit, which are nearly equal, are resampled."""

    of_group: Callable[[int], Floats]
    shape: tuple[int, ...]
    within: Callable[[int], Floats] | None = None

    @classmethod
    def of(cls, units: Units, sums: Floats, within: Floats | None = None) -> DenseSums:
        """From those of all units, (units, *shape)."""
        off = None if within is None else lambda group: within[units.of(group)]
        return cls(lambda group: sums[units.of(group)], sums.shape[1:], off)

    def weighed(self, group: int, factors: Floats, generator: np.random.Generator | None = None) -> Floats:
        """Sums of a group, (variants, sums), where units count so many times, (variants, units); a generator also varies the rows of a unit."""
        unit_sums = self.of_group(group)
        sums = np.asarray(factors @ unit_sums.reshape(len(unit_sums), math.prod(self.shape)), dtype=np.float64)
        if generator is None or self.within is None:
            return sums
        # A sum of resampled rows is nearly normal, with a variance proportional to their number.
        off = np.sqrt(factors) * generator.standard_normal(factors.shape)
        return np.asarray(np.maximum(sums + off @ self.within(group).reshape(len(unit_sums), -1), 0), dtype=np.float64)


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


UnitSums: TypeAlias = DenseSums | OneSumEach
"""Sums of the units of groups, in either shape."""


# Infinite losses have no interval.
@quiet
def bootstrap(
    value: Value, units: Units, sums: UnitSums, request: Request, seconds: float = 0.007
) -> confidence.Limits:
    """Bounds of each metric, (groups, metrics): percentiles or BCa, by the request; NaN where there are none. `seconds` as in `warn_of_time`."""
    warn_of_time(units.n_groups, request, seconds)
    replicates, seed = request.replicates, request.seed
    per_block = max(1, _EVALUATED // (replicates * max(math.prod(sums.shape), 1)))
    limits = []
    for start in range(0, max(units.n_groups, 1), per_block):
        block = slice(start, min(start + per_block, units.n_groups))
        groups = range(block.start, block.stop)
        size = _block_size(units, sums, block)
        resampled = [_resampled(sums, group, units.factors(group, replicates, seed, size), seed) for group in groups]
        values = _evaluated(value, sums.shape, block, resampled, replicates, size)
        if request.method == "bca" and units.n_groups:
            limits.append(bca_limits(values, *_of_log(value, units, sums, block), request.level))
        else:
            limits.append(percentile_limits(values, request.level))
    low, high = (np.concatenate(ends) for ends in zip(*limits, strict=True))
    known = units.known()[:, None]
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def warn_of_time(n_groups: int, request: Request, seconds: float) -> None:
    """Warn, before the work, that it takes long, if a group takes so many seconds with 1,000 replicates."""
    expected = seconds * n_groups * request.replicates / 1000
    if expected > _LONG:
        number = f"{n_groups:,} groups with {request.replicates:,} replicates take about {expected:,.0f} s"
        warn(f"method={request.method!r}: {number}. Leave out method=, or use fewer groups", PerformanceWarning)


def _block_size(units: Units, sums: UnitSums, block: slice) -> int:
    """The number of replicates that are computed at a time for a block of groups."""
    n_groups = max(block.stop - block.start, 1)
    most = np.diff(units.starts)[block].max(initial=0)
    n_sums: int = n_groups * max(math.prod(sums.shape), 1)
    return max(1, min(_DRAWN // max(int(most), 1), _EVALUATED // n_sums))


def _resampled(sums: UnitSums, group: int, factors: Iterator[Floats], seed: int) -> Iterator[Floats]:
    """The sums of a group by these factors, and by what rows of a unit differ by, which has random numbers of its own."""
    generator = np.random.default_rng([seed, 1])
    return (sums.weighed(group, of_units, generator) for of_units in factors)


def _evaluated(
    value: Value, shape: tuple[int, ...], block: slice, sums: list[Iterator[Floats]], number: int, size: int
) -> Floats:
    """(variants, groups, metrics), of the sums of each group, which come in blocks of this size."""
    values = []
    # Random numbers are drawn without the interpreter's lock.
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        for start in range(0, number, size):
            tables = np.zeros((min(size, number - start), len(sums), math.prod(shape)))
            for at, of_group in enumerate(pool.map(quiet(next), sums)):
                tables[:, at] = of_group
            values.append(value(tables.reshape(*tables.shape[:2], *shape), block))
    return np.concatenate(values)


def _of_log(value: Value, units: Units, sums: UnitSums, block: slice) -> tuple[Floats, Floats]:
    """Metrics of the log itself, and their acceleration, (groups, metrics)."""
    numbers = [units.number[units.of(group)] for group in range(block.start, block.stop)]
    most, size = max(map(len, numbers)), _block_size(units, sums, block)

    def without_each(group: int, number: Floats) -> Iterator[Floats]:
        """Sums without one row, or cluster, of each unit in turn, and then with all."""
        for start in range(0, most + 1, size):
            factors = np.ones((min(size, most + 1 - start), len(number)))
            unit = np.arange(start, min(start + size, len(number)))
            factors[unit - start, unit] -= 1 / number[unit]
            yield sums.weighed(group, factors)

    def of_rest(tables: Floats, groups: slice) -> Floats:
        # The rounding error of a sum after its only unit is subtracted.
        return value(np.where(np.abs(tables) < _EQUAL * np.abs(tables).max(axis=0), 0.0, tables), groups)

    without = [without_each(block.start + at, number) for at, number in enumerate(numbers)]
    values = _evaluated(of_rest, sums.shape, block, without, most + 1, size)
    padded = np.stack([np.pad(number, (0, most - len(number))) for number in numbers], axis=1)
    return values[-1], acceleration(values[:-1], padded)


def acceleration(without: Floats, number: Floats) -> Floats:
    """The acceleration of BCa intervals, from values without one row or cluster of each unit, (units, groups, metrics)."""
    weight = number[..., None]
    used = np.where(weight > 0, without, 0.0)
    with np.errstate(all="ignore"):
        mean = (weight * used).sum(axis=0) / weight.sum(axis=0)
        influence = mean - used
        # The rounding error of a metric that does not depend on any row.
        influence = np.where(np.abs(influence) > 1e-14 * np.abs(mean), influence, 0.0)
        squares = (weight * influence**2).sum(axis=0)
        found = (weight * influence**3).sum(axis=0) / (6 * squares**1.5)
    return np.asarray(np.where(squares == 0, 0.0, found), dtype=np.float64)


def percentile_limits(replicates: Floats, level: float) -> confidence.Limits:
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
        bias = confidence.normal_quantile(share)
        z_low, z_high = (bias + confidence.normal_quantile(np.array((1 + side * level) / 2)) for side in (-1, 1))
        of_low, of_high = (_normal_cdf(bias + z / (1 - acceleration * z)) for z in (z_low, z_high))
    known = np.isfinite(bias) & np.isfinite(acceleration) & np.isfinite(value)
    low, high = _quantiles(replicates, of_low, of_high, (1 - level) / 2)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _quantiles(replicates: Floats, of_low: Floats, of_high: Floats, tail: float) -> tuple[Floats, Floats]:
    """Two quantiles of the defined replicates; NaN if too many are undefined, or if all are equal and determine no width."""
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
            # Infinite values have no shares.
            between = np.where((first == second) | (place == below), first, first + (place - below) * (second - first))
        ends.append(np.where(known & ~np.isnan(share), between, np.nan))
    low, high = ends
    spread = np.take_along_axis(ordered, last[None], axis=0)[0] - ordered[0]
    with np.errstate(all="ignore"):
        alike = ~(spread > _EQUAL * np.abs(ordered[0]))
    return np.where(alike, np.nan, low), np.where(alike, np.nan, high)


def _normal_cdf(z: Floats) -> Floats:
    tail = confidence.two_sided_p(z, np.inf) / 2
    return np.where(z > 0, 1 - tail, tail)


# The resampled units, from the sums that other intervals use too.

Resampled: TypeAlias = "tuple[Units, UnitSums]"

# Bins of a loss per nat: within one, losses are nearly equal. The first and the last.
_BINS = 8
_RANGE = (-64 * _BINS, 8 * _BINS)
# The smallest ones, that have this share of the sum of squares, are one bin.
_SMALL = 1e-3


def bootstrap_limits(
    formula_of: Callable[[slice], confidence.Formula], units: Units, sums: UnitSums, values: Floats, request: Request
) -> confidence.Limits:
    """Limits of metrics, (groups, metrics); NaN where there are none. `values` are theirs, NaN for null."""
    low, high = bootstrap(lambda resampled, groups: formula_of(groups)(resampled), units, sums, request)
    known = np.isfinite(values)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def resampled_decisions(moments: confidence.Moments, clusters: confidence.Clusters | None) -> Resampled:
    """Units of one-hot features: the rows of a class and a decision, which are equal; or clusters."""
    n_groups, *shape = moments.linear.shape
    if clusters is None:
        number, amount = _cells(moments)
        used = number > 0
        units = _units(used, number)
        return units, OneSumEach(units, np.nonzero(used)[1], amount[used], tuple(shape))
    number, sums = (clusters.weight > 0).astype(np.float64), clusters.linear
    if clusters.singletons is not None:
        rows, amount = _cells(clusters.singletons)
        singletons = (amount[..., None] * np.eye(amount.shape[1])).reshape(n_groups, amount.shape[1], *shape)
        number, sums = np.concatenate([number, rows], axis=1), np.concatenate([sums, singletons], axis=1)
    units = _units(number > 0, number)
    return units, DenseSums.of(units, sums[number > 0])


def _cells(moments: confidence.Moments) -> tuple[Floats, Floats]:
    """Effective sample size and weight of each class and decision, (groups, cells)."""
    n_groups, *shape = moments.linear.shape
    weight = moments.linear.reshape(n_groups, math.prod(shape))
    weight2 = np.diagonal(moments.square, axis1=-2, axis2=-1).reshape(weight.shape)
    with np.errstate(all="ignore"):
        return np.where(weight > 0, weight**2 / weight2, 0.0), weight


def _units(used: Bools, number: Floats) -> Units:
    return Units(np.cumsum([0, *used.sum(axis=1)]), number[used])


def resampled_values(
    group: Integers,
    label: Integers,
    values: Sequence[Floats],
    weight: Floats,
    squares: Sequence[tuple[Floats, Floats]],
    weight2: Floats,
    shape: tuple[int, int],
    bucket: Integers | None = None,
) -> Resampled:
    """Units of features 1 and some that are 0 or more: rows of a class that have about the same, or clusters (-1: in none).

    Entries are rows of a group and a class with these means of `values`; `squares` are the sums of w^2 x and of w^2 x^2.
    """
    n_groups, n_classes = shape
    group_and_bin = label
    for value in values:
        bins = np.where(_is_small(value, weight, group * n_classes + label), 0, _bins(value))
        group_and_bin = group_and_bin * (_RANGE[1] - _RANGE[0] + 1) + bins
    alone = np.ones(len(label), dtype=bool) if bucket is None else bucket < 0
    # Buckets come first, then rows.
    kind = np.where(alone, group_and_bin, 0 if bucket is None else bucket)
    used = weight > 0
    keys = np.stack([group, alone, kind], axis=1)[used]
    distinct, unit = np.unique(keys, axis=0, return_inverse=True)
    # NumPy 2.0.0 has an axis more.
    place, size = unit.reshape(-1) * n_classes + label[used], len(distinct) * n_classes
    with np.errstate(all="ignore"):

        def summed(of: Floats) -> Floats:
            return np.asarray(np.bincount(place, of[used], size).reshape(-1, n_classes), dtype=np.float64)

        sums = np.stack([summed(of) for of in (weight, *(weight * value for value in values))], axis=-1)
        of_weight = summed(weight2)
        rows = sums[..., 0].sum(axis=1) ** 2 / of_weight.sum(axis=1)
        is_row = distinct[:, 1] == 1
        off = np.zeros_like(sums)
        for f, (once, twice) in enumerate(squares, start=1):
            mean, whole = sums[..., f] / sums[..., 0], summed(twice)
            left = whole - 2 * mean * summed(once) + mean**2 * of_weight
            # The rounding error of equal rows; clusters are resampled as they are.
            off[..., f] = np.sqrt(np.where(is_row[:, None] & (left > 1e-12 * whole), left, 0.0))
    units = Units(np.searchsorted(distinct[:, 0], np.arange(n_groups + 1)), np.where(is_row, rows, 1.0))
    return units, DenseSums.of(units, sums, off if off.any() else None)


def _bins(value: Floats) -> Integers:
    place = np.full(len(value), -np.inf)
    np.log(value, where=value > 0, out=place)
    bins = np.clip(np.floor(place * _BINS), *_RANGE) - _RANGE[0]
    return np.asarray(bins, dtype=np.int64)


def _is_small(value: Floats, weight: Floats, of: Integers) -> Bools:
    """Whether the squares of values up to this one are a small share of those of all with this number."""
    order = np.lexsort((value, of))
    with np.errstate(all="ignore"):
        squares = np.cumsum((weight * value**2)[order])
        starts = np.flatnonzero(np.diff(of[order], prepend=-1))
        length = np.diff(starts, append=len(of))
        before, after = np.append(0.0, squares)[starts], np.append(0.0, squares)[starts + length]
        small = squares - np.repeat(before, length) < _SMALL * np.repeat(after - before, length)
    found = np.zeros(len(of), dtype=bool)
    found[order] = small
    return found


# The calibration error of posteriors that are calibrated: what sampling noise alone makes of the same ones.

_DRAWS = 10_000
_DRAWN_AT_ONCE = 2**22


@dataclass(frozen=True)
class BinnedClusters:
    """Weight of the rows and gap by bucket and bin, (groups, buckets, bins); for singletons the noise by bin, and their weight, (groups,)."""

    rows: Floats
    gaps: Floats
    singletons: Floats
    singletons_weight: Floats


def variance_of_gaps(size: Floats, noise: Floats, clusters: BinnedClusters | None = None) -> Floats:
    """Variance of the gap of each bin, as a share of the `size` of all rows, (groups,), if the posteriors are calibrated.

    `noise` is the sum of w^2 p (1 - p) of each bin, (groups, bins): the variance of independent rows. Of rows in clusters it is that of the
    buckets around what the rows of the bin have on average; where fewer than five have rows in the bin, at least that of independent rows.
    """
    with np.errstate(all="ignore"):
        independent = noise / size[:, None] ** 2
        if clusters is None:
            return np.asarray(independent, dtype=np.float64)
        has_rows = clusters.rows > 0
        number = has_rows.any(axis=2).sum(axis=1)
        mean = clusters.gaps.sum(axis=1) / clusters.rows.sum(axis=1)
        left = np.where(has_rows, clusters.gaps - clusters.rows * mean[:, None], 0.0)
        squares = (left**2).sum(axis=1) * (number / (number - 1))[:, None] + clusters.singletons
        variance = squares / size[:, None] ** 2
    few = has_rows.sum(axis=1) < confidence.FEWEST_CLUSTERS
    variance = np.where(few, np.maximum(variance, independent), variance)
    known = (number >= confidence.FEWEST_CLUSTERS) | (clusters.singletons_weight > 0)
    return np.where(known[:, None], variance, np.nan)


def if_calibrated(variance: Floats, level: float, seed: int) -> tuple[Floats, Floats]:
    """Mean and upper quantile of the calibration error, (groups,), if the gap of each bin is normal around 0 with this variance.

    All groups use the same random numbers, so that no group depends on the others.
    """
    error = np.sqrt(variance)
    mean = error.sum(axis=1) * np.sqrt(2 / np.pi)
    drawn = np.abs(np.random.default_rng(seed).standard_normal((_DRAWS, variance.shape[1])))
    high = np.empty(len(error))
    for start in range(0, len(error), _DRAWN_AT_ONCE // _DRAWS):
        rows = slice(start, start + _DRAWN_AT_ONCE // _DRAWS)
        high[rows] = np.quantile(drawn @ error[rows].T, level, axis=0)
    return mean, high
