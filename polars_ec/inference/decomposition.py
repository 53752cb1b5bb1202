"""Components of a change: the contribution of each factor of a group's sums, averaged over the orders in which the factors change.

The sums of a class are N sum_m W_m pi_mi mu_mi over the strata m. W_m is the share of a stratum, pi_mi that of class i in it, and mu_mi the
mean over the rows of this class and stratum, of their decisions or losses. Taking some factors from one period and the rest from the other
gives mixed values of the metric. The contribution of a factor is a difference of two such values, and depends on the factors changed before
it. The mean over all orders is its Shapley value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb

from polars_ec.inference.confidence import (
    Clusters,
    Estimate,
    Formula,
    Moments,
    Singletons,
    Variance,
    VarianceComponents,
    cluster_influence,
    limits,
    rescaled_to,
    slopes_of,
)
from polars_ec.numerics import Bools, Floats, Integers, np

MIX, PRIOR, LIKELIHOOD = "mix", "prior", "likelihood"
FACTORS = (MIX, PRIOR, LIKELIHOOD)
"""The shares of the strata; of the classes in each; and what rows of a class in a stratum are like."""


@dataclass(frozen=True)
class _Factors:
    """Sums of one period as factors: (pairs,), (pairs, strata), (pairs, strata, classes), and these with features; 0 where there are no rows."""

    size: Floats
    of_stratum: Floats
    of_class: Floats
    share: Floats
    prior: Floats
    mean: Floats

    @classmethod
    def of(cls, linear: Floats, unit: Floats) -> _Factors:
        of_class = np.asarray(linear @ unit, dtype=np.float64)
        of_stratum = of_class.sum(axis=-1)
        size = of_stratum.sum(axis=-1)
        return cls(
            size,
            of_stratum,
            of_class,
            ratio(of_stratum, size[:, None]),
            ratio(of_class, of_stratum[..., None]),
            ratio(linear, of_class[..., None]),
        )


@dataclass(frozen=True)
class Attribution:
    """Components by factor, (pairs, metrics), their extremes over all orders, and their derivatives by period and reference.

    `slopes`, (pairs, strata, classes, features, metrics), are derivatives by the sums of each stratum and class: times a row's features, its
    influence.
    """

    part: dict[str, Floats]
    least: dict[str, Floats]
    most: dict[str, Floats]
    slopes: dict[str, tuple[Floats, Floats]]


class FactoredChange:
    """Sums of a period and of its reference, (pairs, strata, classes, features); what a stratum or class lacks in one is taken as in the other."""

    def __init__(self, period: Floats, reference: Floats, unit: Floats, factors: Sequence[str]) -> None:
        self._unit, self._factors = unit, tuple(factors)
        self._periods = (_Factors.of(reference, unit), _Factors.of(period, unit))

    def attributed(
        self, formula: Formula, *, with_slopes: bool = True, of_ends: tuple[Floats, Floats] | None = None
    ) -> Attribution:
        """Components of the change of metrics; `of_ends` are the known derivatives at the sums of the period and of the reference."""
        # The factors that may be the period's while the others are the reference's.
        sizes = range(len(self._factors) + 1)
        subsets = [frozenset(some) for size in sizes for some in combinations(self._factors, size)]
        sums = np.stack([self._sums(some) for some in subsets])
        values = dict(zip(subsets, formula(sums), strict=True))
        added = {
            factor: [(len(some), values[some | {factor}] - values[some]) for some in subsets if factor not in some]
            for factor in self._factors
        }
        with np.errstate(all="ignore"):
            part = {
                factor: sum((self._share(before) * more for before, more in of), np.float64(0))
                for factor, of in added.items()
            }
        least = {factor: np.min([more for _, more in of], axis=0) for factor, of in added.items()}
        most = {factor: np.max([more for _, more in of], axis=0) for factor, of in added.items()}
        slopes = self._slopes(self._slopes_of_sums(formula, subsets, sums, of_ends)) if with_slopes else {}
        return Attribution(part, least, most, slopes)  # type: ignore[arg-type]

    def _share(self, before: int) -> float:
        """Share of the orders in which this set of factors changes before a given one."""
        number = len(self._factors)
        return 1 / (number * comb(number - 1, before))

    def _sums(self, some: Collection[str]) -> Floats:
        """The sums where these factors are the period's: (pairs, classes, features)."""
        share, prior, mean = self._mixed(some)
        of_class = share[..., None] * prior
        with np.errstate(all="ignore"):
            sums = np.where(of_class[..., None] == 0, 0.0, of_class[..., None] * mean).sum(axis=1)
        return np.asarray(sums * self._periods[1].size[:, None, None])

    def _mixed(self, some: Collection[str]) -> tuple[Floats, Floats, Floats]:
        reference, period = self._periods
        share = (period if MIX in some else reference).share
        of_prior, of_mean = self._is_of_period(some)
        prior = np.where(of_prior[..., None], period.prior, reference.prior)
        return share, prior, np.where(of_mean[..., None], period.mean, reference.mean)

    def _is_of_period(self, some: Collection[str]) -> tuple[Bools, Bools]:
        """Whether the prior of each stratum, and what rows of each class in it are like, are the period's."""
        reference, period = self._periods
        of_prior = period.of_stratum > 0 if PRIOR in some else reference.of_stratum <= 0
        of_mean = period.of_class > 0 if LIKELIHOOD in some else reference.of_class <= 0
        return of_prior, of_mean

    def _slopes_of_sums(
        self, formula: Formula, subsets: Sequence[frozenset[str]], sums: Floats, of_ends: tuple[Floats, Floats] | None
    ) -> dict[frozenset[str], Floats]:
        """The derivatives at the sums of each subset."""
        if of_ends is None:
            return dict(zip(subsets, _slopes_of_each(formula, sums), strict=True))
        reference, period = self._periods
        mixed = dict(zip(subsets[1:-1], _slopes_of_each(formula, sums[1:-1]), strict=True))
        # None or all of the factors are the period's. Metrics do not depend on the number of rows, which is that of the period.
        of_reference = of_ends[1] * ratio(reference.size, period.size)[:, None, None, None]
        return {subsets[0]: of_reference, **mixed, subsets[-1]: of_ends[0]}

    def _slopes(self, of_sums: Mapping[frozenset[str], Floats]) -> dict[str, tuple[Floats, Floats]]:
        totals: dict[str, tuple[Floats, Floats]] = {}
        for some, slopes in of_sums.items():
            moved = self._slopes_of_periods(slopes, some)
            for factor in self._factors:
                times = self._share(len(some - {factor})) * (1 if factor in some else -1)
                if factor not in totals:
                    totals[factor] = (times * moved[0], times * moved[1])
                    continue
                for total, of_period in zip(totals[factor], moved, strict=True):
                    total += times * of_period
        return totals

    def _slopes_of_periods(self, of_sums: Floats, some: Collection[str]) -> tuple[Floats, Floats]:
        """Derivatives of the value with these factors of the period, by the rows of the period and of the reference."""
        share, prior, mean = self._mixed(some)
        with np.errstate(all="ignore"):
            # Influence of a row as one of its class, of its stratum, and of all rows, at these factors.
            mean = np.where((share[..., None] * prior)[..., None] == 0, 0.0, mean)
            of_class = np.einsum("pkfc,pmkf->pmkc", of_sums, mean)
            of_stratum = np.einsum("pmkc,pmk->pmc", of_class, prior)
            of_all = np.einsum("pmc,pm->pc", of_stratum, share)
        of_prior, of_mean = self._is_of_period(some)
        size = self._periods[1].size
        slopes = []
        for number in (1, 0):
            of = self._periods[number]
            times_stratum = np.where(of_prior == number, ratio(size[:, None] * share, of.of_stratum), 0.0)
            in_class = ratio(size[:, None, None] * share[..., None] * prior, of.of_class)
            times_class = np.where(of_mean == number, in_class, 0.0)
            level = times_stratum[..., None, None] * (of_class - of_stratum[:, :, None, :])
            if (MIX in some) == number:
                times = ratio(size, of.size)[:, None, None, None]
                level = level + times * (of_stratum - of_all[:, None, :])[:, :, None, :]
            level = level - times_class[..., None] * of_class
            slopes.append(times_class[..., None, None] * of_sums[:, None] + level[..., None, :] * self._unit[:, None])
        return slopes[0], slopes[1]


def _slopes_of_each(formula: Formula, sums: Floats) -> Floats:
    """The derivatives at several tables of sums, (tables, pairs, classes, features), in one call: one more axis, of metrics, at the end."""
    tables = sums.shape[:2]

    def of_all(moved: Floats) -> Floats:
        values = formula(moved.reshape(len(moved) * tables[0], *sums.shape[1:]))
        return values.reshape(len(moved), tables[0] * tables[1], values.shape[-1])

    slopes = slopes_of(of_all, sums.reshape(tables[0] * tables[1], *sums.shape[2:]))
    return slopes.reshape(*sums.shape, slopes.shape[-1])


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """0 where the denominator is."""
    with np.errstate(all="ignore"):
        return np.asarray(np.where(denominator > 0, numerator / denominator, 0.0), dtype=np.float64)


# The variance of a component, from rows or clusters within a class of a stratum, from classes, and from strata.

# With fewer effective rows of a class than this, a stratum does not determine their variance.
_SEVERAL = 1.5

# A stratum with fewer of a class may lack it in the other period by sampling noise alone.
_FEW = 5

# A stratum with fewer of a class does not determine its values at a share this many times as large.
_SOME, _MANY_TIMES = 15, 6

# The rounding error of equal rows.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class _Levels:
    """Mean influence of a row, (pairs, strata, classes), by level: class within stratum, stratum, and all."""

    of_class: Floats
    of_stratum: Floats

    @classmethod
    def of(cls, weight: Floats, influence: Floats) -> _Levels:
        """From sums of w and of w psi, (pairs, strata, classes); the latter perhaps of several metrics, one after the other."""
        of_class = ratio(influence, weight)
        of_stratum = ratio(influence.sum(axis=-1), weight.sum(axis=-1))[..., None]
        return cls(of_class - of_stratum, np.broadcast_to(of_stratum, influence.shape))

    @property
    def mean_influence(self) -> Floats:
        """The mean of what rows of a class in a stratum add."""
        return self.of_class + self.of_stratum


def _hidden(moments: Sequence[Moments], clusters: Sequence[_StratifiedClusters | None]) -> Bools:
    """Whether too many rows of a class are in strata that do not determine a variance, (pairs,).

    Such a stratum has a few rows or clusters of the class in one period and none in the other, so that its change counts as zero. Or it has
    some in one period that represent a much larger share in the other, or all in one cluster. Of n rows or clusters, sqrt(n) may be there by
    sampling noise. If no stratum has the class in both periods, the change is undetermined.
    """
    counts = [_StratumCounts.of(*of) for of in zip(moments, clusters, strict=True)]
    is_hidden = np.zeros(len(counts[0].weight), dtype=bool)
    for count, other in zip(counts, counts[::-1], strict=True):
        untold = (count.number < _FEW) & (other.weight <= 0)
        if clusters[0] is not None:
            untold = untold | (count.number < _SEVERAL)
        untold = untold | ((other.informative < _SOME) & (count.share > _MANY_TIMES * other.share))
        untold_weight = np.where(untold, count.weight, 0.0).sum(axis=1)
        is_hidden |= ((count.weight > 0) & (other.weight > 0)).sum(axis=1).min(axis=-1) == 0
        is_hidden |= (untold_weight > ratio(count.weight.sum(axis=1), np.sqrt(count.number_of_class))).any(axis=-1)
    return is_hidden


@dataclass(frozen=True)
class _StratumCounts:
    """Sums of w, (pairs, strata, classes), and effective numbers of rows or clusters, the latter also for whole classes."""

    weight: Floats
    number: Floats
    number_of_class: Floats
    informative: Floats
    """Effective rows of a class in a stratum, or, if none, of all classes; infinite without rows."""

    @property
    def share(self) -> Floats:
        """Share of the rows of the class, so that more rows of it in all strata are none."""
        return ratio(self.weight, self.weight.sum(axis=1, keepdims=True))

    @classmethod
    def of(cls, moments: Moments, clusters: _StratifiedClusters | None) -> _StratumCounts:
        """Counts of the rows of one period."""
        weight, squares = moments.weight, moments.weight2
        squares_of_class = squares.sum(axis=1)
        if clusters is not None:
            squares, squares_of_class = (clusters.weight**2).sum(axis=1), (clusters.of_classes**2).sum(axis=1)
            if clusters.clusters.singletons is not None:
                alone = clusters.clusters.singletons.weight2
                squares, squares_of_class = squares + alone, squares_of_class + alone.sum(axis=1)
        number = ratio(weight**2, squares)
        in_stratum = number.sum(axis=-1, keepdims=True)
        informative = np.where(weight > 0, number, np.where(in_stratum > 0, in_stratum, np.inf))
        return cls(weight, number, ratio(weight.sum(axis=1) ** 2, squares_of_class), informative)


def _variance_of_rows(moments: Moments, slopes: Floats, by_stratum: bool) -> Variance:
    """Variance for independent rows, each level times n / (n - 1): for a class in its stratum or, if not `by_stratum`, in all together.

    A component of class priors depends on squared differences of means, which are overestimated with few rows, so it is wide enough.
    """
    singletons = moments.singletons(slopes)
    with np.errstate(all="ignore"):
        rows = ratio(singletons.weight**2, singletons.weight2)
        of_stratum = ratio(singletons.weight.sum(axis=-1) ** 2, singletons.weight2.sum(axis=-1))
        of_class = ratio(singletons.weight.sum(axis=1) ** 2, singletons.weight2.sum(axis=1))[:, None]
        at = _Levels.of(singletons.weight, singletons.influence)
        within = singletons.squares_around(at.mean_influence)
        within = np.where(within <= _ROUNDING * singletons.squared, 0.0, within)
        among = rows if by_stratum else np.broadcast_to(of_class, rows.shape)
        within = within * ratio(among, among - 1)
        df = among - 1
        alone = (rows > 0) & (rows < _SEVERAL) & (rows >= _SEVERAL).any(axis=1, keepdims=True)
        if by_stratum and alone.any():
            # One row of a class in a stratum varies as in those with several.
            as_in_others = np.einsum("pmkf,pkfh,pmkh->pmk", slopes, _pooled(moments, rows), slopes)
            within = np.where(alone, singletons.weight2 * as_in_others, within)
            df = np.where(alone, np.where(rows >= _SEVERAL, df, 0.0).sum(axis=1, keepdims=True), df)
        classes = (at.of_class**2 * singletons.weight2).sum(axis=-1)
        if rows.shape[1] > 1:
            classes = classes * np.where(of_stratum > 1, ratio(of_stratum, of_stratum - 1), 1.0)
        strata = (at.of_stratum**2 * singletons.weight2).sum(axis=(-1, -2))
        variance = within.sum(axis=(-1, -2)) + classes.sum(axis=-1) + strata
        total = rows.sum(axis=(-1, -2))
        if by_stratum:
            terms = np.where(within != 0, within**2 / df, 0.0).sum(axis=(-1, -2))
        else:
            in_class = within.sum(axis=1)
            terms = np.where(in_class != 0, in_class**2 / df[:, 0], 0.0).sum(axis=-1)
        terms = terms + ratio(classes**2, of_stratum - 1).sum(axis=-1) + strata**2 / (total - 1)
        df = np.where(variance == 0, total - 1, variance**2 / terms)
    return Variance(variance, df)


def _pooled(moments: Moments, rows: Floats) -> Floats:
    """The covariance of the features of a row of each class, (pairs, classes, features, features), by strata with several rows of it."""
    mean = ratio(moments.linear, moments.weight[..., None])
    with_unit = moments.square @ moments.unit
    crossed = with_unit[..., :, None] * mean[..., None, :]
    weight2 = moments.weight2
    around = moments.square - crossed - np.swapaxes(crossed, -1, -2)
    around = around + weight2[..., None, None] * mean[..., :, None] * mean[..., None, :]
    used = np.where(rows >= _SEVERAL, ratio(rows, rows - 1), 0.0)
    of_used = np.where(used > 0, weight2, 0.0).sum(axis=1)
    return ratio((around * used[..., None, None]).sum(axis=1), of_used[..., None, None])


class _StratifiedClusters:
    """Influence of each bucket, as in the jackknife; `clusters.linear` is (pairs, buckets, strata, classes, features).

    Leaving it out shrinks its class by one factor, and the class within the stratum by another. The rest is scaled by their geometric mean.
    """

    def __init__(self, clusters: Clusters) -> None:
        self.clusters = clusters
        # Over short axes einsum is several times as fast as sum and matmul.
        self.weight = np.einsum("...f,f->...", clusters.linear, clusters.unit)
        self.of_classes: Floats = np.einsum("pbmk->pbk", self.weight)
        """Sums of w of all strata, (pairs, buckets, classes)."""
        self._sums, self._total = clusters.linear.sum(axis=1), self.weight.sum(axis=1)
        self._whole = clusters.weight.sum(axis=-1)
        if clusters.singletons is not None:
            self._total = self._total + clusters.singletons.weight
            self._whole = self._whole + clusters.singletons.weight.sum(axis=(-1, -2))

    @cached_property
    def _of_class(self) -> Floats:
        """Factor by which the rest of a class is scaled, (pairs, buckets, classes)."""
        return _left_out(self.of_classes, self._total.sum(axis=1)[:, None])

    @cached_property
    def _of_all(self) -> Floats:
        return _left_out(self.clusters.weight, self._whole[:, None])

    @cached_property
    def _scaled(self) -> Floats:
        """Sums of w x, scaled as those of a class in its stratum."""
        times = np.sqrt(self._of_class[:, :, None] * _left_out(self.weight, self._total[:, None]))
        return np.asarray(self.clusters.linear * times[..., None], dtype=np.float64)

    @cached_property
    def _of_shares(self) -> Floats:
        """Sums of w, scaled as those of classes in a stratum."""
        in_stratum = _left_out(np.einsum("pbmk->pbm", self.weight), self._total.sum(axis=-1)[:, None])
        return np.asarray(self.weight * np.sqrt(self._of_all[..., None] * in_stratum)[..., None], dtype=np.float64)

    def _by_class(self, slopes: Floats) -> Floats:
        """Influence of each bucket by metric and class, (pairs, buckets, metrics, classes)."""
        n_metrics, n_classes = len(slopes), slopes.shape[3]
        # A column for each class, so that this is a product of matrices.
        of_class = slopes[..., None] * np.eye(n_classes)[:, None]
        rows = _in_rows(self.clusters.linear)
        columns = np.moveaxis(of_class, 0, -2).reshape(len(rows), rows.shape[2], n_metrics * n_classes)
        influence: Floats = rows @ columns
        return influence.reshape(*influence.shape[:2], n_metrics, n_classes)

    def components(self, slopes: Floats, by_stratum: bool) -> list[VarianceComponents]:
        """Components of the variance of one component of each metric's change; slopes have one more axis, of metrics, at the end."""
        clusters = self.clusters
        slopes = np.moveaxis(slopes, -1, 0)
        with np.errstate(all="ignore"):
            sums = (slopes * self._sums).sum(axis=-1)
            singletons = None if clusters.singletons is None else [clusters.singletons.singletons(of) for of in slopes]
            if singletons is not None:
                sums = sums + np.stack([of.influence for of in singletons])
            at = _Levels.of(self._total, sums)
            around = slopes - at.mean_influence[..., None] * clusters.unit
            if by_stratum:
                without = _times(self._scaled, around)
            else:
                without = np.einsum("pbck,pbk->pbc", self._by_class(around), self._of_class)
            without = without + _times(self._of_shares, at.of_class)
            without = without + self._of_all[..., None] * _times(self.weight, at.of_stratum)
            influence = self._by_class(slopes)
            components = []
            for m in range(len(slopes)):
                one_by_one = None if singletons is None else singletons[m]
                whole = None if one_by_one is None else one_by_one.over_strata
                of = cluster_influence(self.of_classes, influence[:, :, m], clusters.weight, whole)
                squares = of.squares
                if one_by_one is not None:
                    of_metric = _Levels(at.of_class[m], at.of_stratum[m])
                    squares = _squares(one_by_one, of_metric, self._total, self._whole, by_stratum)
                times = (of.number - 1) / of.number
                components.append(VarianceComponents(without[..., m] * np.sqrt(times)[:, None], squares * times, of.df))
        return components


def _in_rows(values: Floats) -> Floats:
    """A row of numbers for each bucket."""
    return values.reshape(*values.shape[:2], int(np.prod(values.shape[2:])))


def _times(values: Floats, of: Floats) -> Floats:
    """Their products, summed over each row, (pairs, buckets, metrics)."""
    rows = _in_rows(values)
    return np.asarray(rows @ np.moveaxis(of.reshape(len(of), len(rows), rows.shape[2]), 0, -1), dtype=np.float64)


def _squares(singletons: Singletons, at: _Levels, total: Floats, whole: Floats, by_stratum: bool) -> Floats:
    """Squares of rows that are clusters of their own."""
    row = ratio(singletons.weight2, singletons.weight)
    of_class = ratio(singletons.weight2.sum(axis=1), singletons.weight.sum(axis=1))
    of_stratum = ratio(singletons.weight2.sum(axis=-1), singletons.weight.sum(axis=-1))
    of_all = ratio(singletons.weight2.sum(axis=(-1, -2)), singletons.weight.sum(axis=(-1, -2)))
    within = _left_out(of_class, total.sum(axis=1))[:, None]
    within = np.sqrt(within * _left_out(row, total)) if by_stratum else within
    strata = _left_out(of_all, whole)[:, None, None]
    classes = np.sqrt(strata * _left_out(of_stratum, total.sum(axis=-1))[..., None])
    between = at.of_class * classes + at.of_stratum * strata
    around = np.maximum(singletons.squares_around(at.mean_influence), 0.0)
    crossed = singletons.mixed - at.mean_influence * singletons.weight2
    added = around * within**2 + 2 * crossed * within * between + singletons.weight2 * between**2
    return np.asarray(added.sum(axis=(-1, -2)))


def _left_out(weight: Floats, total: Floats) -> Floats:
    """Factor by which the rest is scaled without it; 0 if nothing remains."""
    with np.errstate(all="ignore"):
        return np.asarray(np.where(weight < total * (1 - _ROUNDING), 1 / (1 - weight / total), 0.0), dtype=np.float64)


# The components of the change of each metric between two periods, with their intervals.

# Relative to the value, the rounding errors of a zero component, of its slopes, and of the standard error of equal rows.
_ZERO, _NO_SLOPE, _DEGENERATE = 1e-12, 1e-8, 1e-8

# Numbers of the arrays of pairs that are made at a time.
_BLOCK = 2**24


@dataclass(frozen=True)
class StratifiedEstimate:
    """Sums of units, which are periods of groups: moments (units, strata, classes, ...), and clusters (units, buckets, strata, classes, features)."""

    moments: Moments
    clusters: Clusters | None

    @classmethod
    def split(cls, moments: Moments, clusters: Clusters | None, number: int) -> StratifiedEstimate:
        """Split sums of consecutive strata, this many in each unit."""

        def split(values: Floats) -> Floats:
            return values.reshape(len(values) // number, number, *values.shape[1:])

        if clusters is None:
            return cls(moments.mapped(split), None)
        singletons = None if clusters.singletons is None else clusters.singletons.mapped(split)
        linear, weight = np.moveaxis(split(clusters.linear), 1, 2), split(clusters.weight).sum(axis=1)
        return cls(moments.mapped(split), Clusters(linear, weight, clusters.unit, singletons))

    @property
    def units(self) -> tuple[Moments, Clusters | None]:
        """Sums of the units without strata."""

        def whole(values: Floats) -> Floats:
            return np.asarray(values.sum(axis=1), dtype=np.float64)

        of = self.clusters
        if of is None:
            return self.moments.mapped(whole), None
        singletons = None if of.singletons is None else of.singletons.mapped(whole)
        linear = np.einsum("ubmkf->ubkf", of.linear)
        return self.moments.mapped(whole), Clusters(linear, of.weight, of.unit, singletons)


@dataclass(frozen=True)
class ChangePart:
    """Contribution of a factor to a change, (pairs,): the component, its bounds, and its extremes over all orders."""

    value: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats

    @classmethod
    def joined(cls, some: Sequence[ChangePart]) -> ChangePart:
        """Join pairs that follow each other."""
        names = ("value", "low", "high", "least", "most")
        return cls(*(np.concatenate([getattr(part, name) for part in some]) for name in names))


def decompose(
    estimator: Estimate,
    strata: StratifiedEstimate,
    pairs: tuple[Integers, Integers],
    factors: Sequence[str],
    level: float,
    degenerate: tuple[Bools, Bools],
    known: Bools,
) -> dict[str, dict[str, ChangePart]]:
    """Decompose changes between units, by metric and factor; the estimate has the units without strata, `pairs` their numbers.

    `degenerate` says for both units whether all decisions in the clusters are equal, (pairs, metrics), and `known` whether a change has an
    interval.
    """
    blocks: list[dict[tuple[str, str], ChangePart]] = []
    for at in _slices(estimator, strata, len(pairs[0]), factors):
        block = _Block(estimator, strata, (pairs[0][at], pairs[1][at]), factors)
        shown = known[at] & ~block.hidden[:, None]
        blocks.append(
            {
                (name, factor): block.part(factor, m, level, [of[at][:, m] for of in degenerate], shown[:, m])
                for m, name in enumerate(estimator.metrics)
                for factor in factors
            }
        )
    return {
        name: {factor: ChangePart.joined([block[name, factor] for block in blocks]) for factor in factors}
        for name in estimator.metrics
    }


def _slices(estimator: Estimate, strata: StratifiedEstimate, n_pairs: int, factors: Sequence[str]) -> Iterator[slice]:
    n_strata, n_classes, n_features = strata.moments.linear.shape[1:]
    buckets = 0 if strata.clusters is None else strata.clusters.weight.shape[1]
    of_strata = n_strata * n_classes * n_features * (6 * buckets + 2 * len(factors) * (len(estimator.metrics) + 1))
    # Sums that are changed one by one, of each set of factors.
    of_slopes = (n_classes * n_features) ** 2 * 4 * 2 ** len(factors)
    size = max(_BLOCK // (of_strata + of_slopes), 1)
    for start in range(0, max(n_pairs, 1), size):
        yield slice(start, start + size)


class _Block:
    """Some pairs of periods."""

    def __init__(
        self, estimator: Estimate, strata: StratifiedEstimate, units: tuple[Integers, Integers], factors: Sequence[str]
    ) -> None:
        self._of, self._units, self._factors = estimator, units, factors
        self._formula, self._unit = estimator.formula_of(units[0]), strata.moments.unit
        self._moments = [strata.moments.taken(chosen) for chosen in units]
        self._clusters = None
        if strata.clusters is not None:
            self._clusters = [_StratifiedClusters(strata.clusters.taken(chosen)) for chosen in units]
        with_slopes = self._clusters is not None or estimator.with_pseudocounts is None
        of_ends = self._of_units(estimator.slopes) if with_slopes else None
        self._attribution = self._attributed(self._moments, with_slopes=with_slopes, of_ends=of_ends)
        sums = [moments.linear.sum(axis=1) for moments in self._moments]
        self._ends = np.stack([self._formula(of_period[None])[0] for of_period in sums])

    @property
    def hidden(self) -> Bools:
        """Pairs whose strata do not determine the variance of the components."""
        return _hidden(self._moments, self._clusters or [None, None])

    def _of_units(self, slopes: Floats) -> tuple[Floats, Floats]:
        return slopes[self._units[0]], slopes[self._units[1]]

    def _attributed(
        self, moments: Sequence[Moments], *, with_slopes: bool = True, of_ends: tuple[Floats, Floats] | None
    ) -> Attribution:
        period, reference = moments
        change = FactoredChange(period.linear, reference.linear, self._unit, self._factors)
        return change.attributed(self._formula, with_slopes=with_slopes, of_ends=of_ends)

    def part(self, factor: str, metric: int, level: float, degenerate: Sequence[Bools], known: Bools) -> ChangePart:
        """A component of a metric's change with its bounds, which are 0 if the metric does not depend on the factor."""
        value, size = self._attribution.part[factor][:, metric], np.abs(self._ends[..., metric]).max(axis=0)
        variance, moves = self._variance(factor, metric, degenerate)
        with np.errstate(all="ignore"):
            # A factor that the metric does not depend on contributes nothing.
            nothing = ~moves & (np.abs(value) <= _ZERO * size)
            shown = known & ~nothing & (variance.variance > (_DEGENERATE * size) ** 2)
        ends = limits(value, variance.only(shown), "identity", level)
        low, high = (np.where(nothing & known, 0.0, end) for end in ends)
        extremes = (of[factor][:, metric] for of in (self._attribution.least, self._attribution.most))
        value, least, most = (np.where(nothing, 0.0, of) for of in (value, *extremes))
        return ChangePart(value, low, high, least, most)

    def _variance(self, factor: str, metric: int, degenerate: Sequence[Bools]) -> tuple[Variance, Bools]:
        """Variance of a component, and whether the metric depends on the factor at all."""
        if self._clusters is None:
            (period, other), moves = self._components_of_rows(factor, metric)
            return period.minus(other), moves
        slopes = [of_period[..., metric] for of_period in self._attribution.slopes[factor]]
        components = [of_period[metric] for of_period in self._of_buckets[factor]]
        assert components[1].shared is not None
        # The slopes of the reference are those of the difference, so that its influences are added, and not taken off.
        components[1] = replace(components[1], shared=-components[1].shared)
        moves = self._moves(self._moments, slopes, metric)
        if self._of.with_pseudocounts is None:
            return components[0].minus(components[1]), moves
        # A component may be constant although the metric is not: all rows of a class may have the same decision.
        may_move = moves | self._lacks_decision
        no_width = (_ZERO * np.abs(self._ends[..., metric]).max(axis=0)) ** 2
        with np.errstate(all="ignore"):
            by_rows = [
                at_end | (may_move & (of_period.variance <= no_width))
                for at_end, of_period in zip(degenerate, components, strict=True)
            ]
        if any(chosen.any() for chosen in by_rows):
            # Rates of 0 or 1 get the variance of as many independent rows as there are clusters.
            rows, rows_move = self._components_of_rows(factor, metric)
            components = [_either(*of) for of in zip(by_rows, rows, components, strict=True)]
            moves = np.where(by_rows[0] | by_rows[1], rows_move, moves)
        return components[0].minus(components[1]), moves

    @cached_property
    def _of_buckets(self) -> dict[str, list[list[VarianceComponents]]]:
        """Components of the variance by factor, period, reference or not, and metric."""
        return {
            factor: [
                of_period.components(slopes, factor != PRIOR)
                for of_period, slopes in zip(self._clusters or [], self._attribution.slopes[factor], strict=True)
            ]
            for factor in self._factors
        }

    @cached_property
    def _lacks_decision(self) -> Bools:
        """Whether a class lacks one of the decisions in either period, (pairs,): sums of 0 have no finite differences."""
        lacks = np.zeros(len(self._units[0]), dtype=bool)
        for moments in self._moments:
            sums = moments.linear.sum(axis=1)
            lacks |= ((sums == 0) & ((sums @ moments.unit) > 0)[..., None]).any(axis=(-1, -2))
        return lacks

    @cached_property
    def _smoothed(self) -> tuple[Sequence[Moments], Attribution]:
        """Add pseudo-counts for decisions; for clusters, to as many rows as there are clusters."""
        if self._of.with_pseudocounts is None:
            return self._moments, self._attribution
        smoothed = []
        for p, moments in enumerate(self._moments):
            if self._clusters is not None:
                moments = _rescaled_strata(self._clusters[p].clusters.number, moments)
            smoothed.append(self._with_pseudocounts(moments))
        of_ends = self._of_units(self._of.smoothed[1]) if self._clusters is None else None
        return smoothed, self._attributed(smoothed, of_ends=of_ends)

    def _with_pseudocounts(self, moments: Moments) -> Moments:
        """Pseudo-counts of each class, spread over its strata by how much they have of it."""
        assert self._of.with_pseudocounts is not None
        whole = Moments(moments.linear.sum(axis=1), moments.square.sum(axis=1), moments.unit)
        more = self._of.with_pseudocounts(whole)
        with np.errstate(all="ignore"):
            share = np.nan_to_num(moments.weight / whole.weight[:, None])
        linear = moments.linear + share[..., None] * (more.linear - whole.linear)[:, None]
        square = moments.square + share[..., None, None] * (more.square - whole.square)[:, None]
        return Moments(linear, square, moments.unit)

    def _components_of_rows(self, factor: str, metric: int) -> tuple[list[VarianceComponents], Bools]:
        moments, attribution = self._smoothed
        slopes = [of_period[..., metric] for of_period in attribution.slopes[factor]]
        variances = [_variance_of_rows(of, slope, factor != PRIOR) for of, slope in zip(moments, slopes, strict=True)]
        return [VarianceComponents.of_variance(of) for of in variances], self._moves(moments, slopes, metric)

    def _moves(self, moments: Sequence[Moments], slopes: Sequence[Floats], metric: int) -> Bools:
        """Whether slopes are more than what rounding leaves."""
        with np.errstate(all="ignore"):
            of_each = (slope * of.linear for slope, of in zip(slopes, moments, strict=True))
            moved = sum(np.abs(of).sum(axis=(1, 2, 3)) for of in of_each)
            return np.asarray(~(moved <= _NO_SLOPE * np.abs(self._ends[..., metric]).max(axis=0)))


def _either(chosen: Bools, rows: VarianceComponents, clusters: VarianceComponents) -> VarianceComponents:
    """Components as for rows where that is chosen."""
    assert clusters.shared is not None
    independent = np.where(chosen, rows.independent, clusters.independent)
    df = np.where(chosen, rows.df, clusters.df)
    return VarianceComponents(np.where(chosen[:, None], 0.0, clusters.shared), independent, df)


def _rescaled_strata(number: Floats, moments: Moments) -> Moments:
    """Moments of at most this many rows, with each class of each stratum as a class."""
    n, m, k, f = moments.linear.shape
    flat = Moments(moments.linear.reshape(n, m * k, f), moments.square.reshape(n, m * k, f, f), moments.unit)
    fewer = rescaled_to(number, flat)
    return Moments(fewer.linear.reshape(moments.linear.shape), fewer.square.reshape(moments.square.shape), moments.unit)
