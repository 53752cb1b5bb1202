"""Variances of metrics from the influence of each class's sums, and the resulting confidence intervals.

A metric is a smooth function of sums over rows. The gradient times a row's features is the row's influence, psi. Over the rows of a group,
psi sums to 0. The variance is the sum of w^2 psi^2 over independent rows, or of (sum of w psi)^2 over clusters. An interval uses t quantiles
on the scale on which the metric is nearest to normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from polars_ec.formulas.decisions import Scale
from polars_ec.numerics import Bools, Floats, Integers, np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Formula: TypeAlias = Callable[[Floats], Floats]
"""From sums of w x, (variants, groups, classes, features), to metrics, (variants, groups, metrics); NaN for null."""

FormulaOf: TypeAlias = "Callable[[slice | Integers], Formula]"
"""The formula for some groups."""

_ONE_ROW = 1 + 1e-9
# Sums of squares of weights beyond have lost digits.
_LEAST_SQUARE, _MOST_SQUARE = 1e-280, 1e300
# Rounding errors of a 0, and of a zero variance relative to the mean square: sums of many equal numbers lose digits.
_ZERO, _ALIKE = 1e-7, 1e-11

FEWEST_CLUSTERS = 5
"""With fewer clusters than this there is no variance to speak of."""


@dataclass(frozen=True)
class Variance:
    """Variances and their degrees of freedom, (groups,); NaN if undefined."""

    variance: Floats
    df: Floats

    @property
    def standard_error(self) -> Floats:
        """The root of the variance."""
        return np.asarray(np.sqrt(self.variance), dtype=np.float64)

    def only(self, known: Bools) -> Variance:
        """NaN where it is not known."""
        return Variance(np.where(known, self.variance, np.nan), np.where(known, self.df, np.nan))


def effective_rows(weight: Floats, weight2: Floats) -> Floats:
    """Effective sample size of rows with these sums of w and of w^2 (Kish); NaN where squares lose their digits."""
    with np.errstate(all="ignore"):
        rows = np.where((weight2 > _LEAST_SQUARE) & (weight2 < _MOST_SQUARE), weight**2 / weight2, np.nan)
    return np.asarray(np.where(weight > 0, rows, 0.0), dtype=np.float64)


def has_rows(rows: Floats, *, several: bool) -> Bools:
    """(groups,): whether every class has a row, or, as the variance of a loss takes, several; from rows, (groups, classes)."""
    return np.asarray((rows > (_ONE_ROW if several else 0)).all(axis=-1))


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of each class: of w x, (groups, classes, features), and of w^2 x x', with features once more; perhaps by strata.

    x are the features of a row: which decision it has, or 1 and its loss. `unit` times x is 1, whatever the row.
    """

    linear: Floats
    square: Floats
    unit: Floats

    @classmethod
    def one_hot(cls, linear: Floats, weight2: Floats) -> Moments:
        """From the sums of w and of w^2 of each class and decision, (groups, classes, decisions)."""
        n_decisions = linear.shape[-1]
        return cls(linear, weight2[..., None] * np.eye(n_decisions), np.ones(n_decisions))

    @property
    def of_classes(self) -> Moments:
        """Only that a row is there, of one-hot features."""
        linear, square = self.linear.sum(axis=-1), self.square.sum(axis=(-2, -1))
        return Moments(linear[..., None], square[..., None, None], np.ones(1))

    @property
    def weight(self) -> Floats:
        """(groups, classes): sum of w."""
        return np.asarray(self.linear @ self.unit, dtype=np.float64)

    @property
    def weight2(self) -> Floats:
        """(groups, classes): sum of w^2."""
        return np.asarray((self.square @ self.unit) @ self.unit, dtype=np.float64)

    @property
    def rows(self) -> Floats:
        """(groups, classes): effective sample size."""
        return effective_rows(self.weight, self.weight2)

    @property
    def rows_of_decisions(self) -> Floats:
        """(groups, decisions): effective sample size of one-hot features."""
        return effective_rows(self.linear.sum(axis=1), np.einsum("gkff->gf", self.square))

    @property
    def varies(self) -> Bools:
        """(groups,): whether the rows of some class differ in a feature, by more than rounding."""
        of_each = np.einsum("...ff->...f", self.square)
        with np.errstate(all="ignore"):
            mixed = self.square @ self.unit
            differ = of_each - mixed * (mixed / self.weight2[..., None]) > _ALIKE * of_each
        return np.asarray(differ.any(axis=(-2, -1)))

    @property
    def exclusive(self) -> Moments:
        """Sums of all other groups, for each group."""
        return self.mapped(exclusive)

    def mapped(self, change: Callable[[Floats], Floats]) -> Moments:
        """With both sums changed alike."""
        return Moments(change(self.linear), change(self.square), self.unit)

    def taken(self, groups: Integers | Bools) -> Moments:
        """Select some groups."""
        return self.mapped(lambda sums: sums[groups])

    def singletons(self, gradient: Floats) -> Singletons:
        """Sums of the influences of these rows; `gradient` has the shape of `linear`."""
        with np.errstate(all="ignore"):
            influence = (gradient * self.linear).sum(axis=-1)
            squared = np.einsum("...f,...fh,...h->...", gradient, self.square, gradient)
            mixed = (gradient * (self.square @ self.unit)).sum(axis=-1)
        return Singletons(self.weight, self.weight2, influence, squared, mixed)

    def variance(self, gradient: Floats) -> Variance:
        """Delta-method variance for independent rows; classes without rows are ignored."""
        return self.singletons(gradient).variance


@dataclass(frozen=True)
class Singletons:
    """Sums over independent rows, which are clusters of their own, (groups, classes): of w, w^2, w psi, w^2 psi^2 and w^2 psi."""

    weight: Floats
    weight2: Floats
    influence: Floats
    squared: Floats
    mixed: Floats

    @classmethod
    def of(cls, total: Callable[[Floats], Floats], weight: Floats, weight2: Floats, psi: Floats) -> Singletons:
        """Sum up the rows, or the cells that have such sums, with `total`."""
        return cls(*map(total, (weight, weight2, weight * psi, weight2 * psi**2, weight2 * psi)))

    @property
    def over_strata(self) -> Singletons:
        """Summed over the second axis."""
        sums = (self.weight, self.weight2, self.influence, self.squared, self.mixed)
        return Singletons(*(of.sum(axis=1) for of in sums))

    @property
    def variance(self) -> Variance:
        """Variance if these are all rows.

        Within a class by n / (n - 1), n being the effective sample size; between the classes, what the number of rows of each adds;
        degrees of freedom by Satterthwaite.
        """
        with np.errstate(all="ignore"):
            rows = self.weight**2 / self.weight2
            mean = self.influence / self.weight
            within = self.squares_around(mean)
            # The rounding error of equal rows.
            within = np.where(within <= 1e-13 * self.squared, 0.0, within) * rows / (rows - 1)
            between = mean**2 * self.weight2
            used = self.weight > 0
            within, between = np.where(used, within, 0.0), np.where(used, between, 0.0)
            variance = (within + between).sum(axis=-1)
            total = np.where(used, rows, 0.0).sum(axis=-1)
            # One row does not determine the variance within its class.
            of_all = variance[..., None]
            terms = np.where(used & (within != 0), (within / of_all) ** 2 / (rows - 1), 0.0).sum(axis=-1)
            df = 1 / (terms + (between.sum(axis=-1) / variance) ** 2 / (total - 1))
        return Variance(variance, np.where(variance == 0, total - 1, df))

    def squares_around(self, mean: Floats) -> Floats:
        """Sums over each class of w^2 (psi - mean)^2, which rounding may take below 0."""
        return self.squared - 2 * mean * self.mixed + mean**2 * self.weight2


# Rows in clusters, which are summed by the hash bucket of their cluster.


@dataclass(frozen=True)
class Clusters:
    """Sums of w x per bucket, (groups, buckets, classes, features), 0 where it is empty, and of singletons; perhaps by strata before classes.

    `weight`, (groups, buckets), is that of each bucket; `unit` times the features of a row is 1.
    """

    linear: Floats
    weight: Floats
    unit: Floats
    singletons: Moments | None = None

    @property
    def of_classes(self) -> Clusters:
        """Only that a row is there, of one-hot features."""
        singletons = None if self.singletons is None else self.singletons.of_classes
        return Clusters(self.linear.sum(axis=-1, keepdims=True), self.weight, np.ones(1), singletons)

    @property
    def exclusive(self) -> Clusters:
        """Sums of all other groups, for each group."""
        singletons = None if self.singletons is None else self.singletons.exclusive
        return Clusters(exclusive(self.linear), exclusive(self.weight), self.unit, singletons)

    def taken(self, groups: Integers) -> Clusters:
        """Select some groups."""
        singletons = None if self.singletons is None else self.singletons.taken(groups)
        return Clusters(np.ascontiguousarray(self.linear[groups]), self.weight[groups], self.unit, singletons)

    @cached_property
    def number(self) -> Floats:
        """Effective number of clusters, (groups,)."""
        if self.singletons is None:
            return effective_clusters(self.weight)
        # For all classes, and strata if there are any.
        rows = tuple(range(1, self.singletons.weight.ndim))
        amounts = (of.sum(axis=rows) for of in (self.singletons.weight, self.singletons.weight2))
        return effective_clusters(self.weight, *amounts)

    def influence(self, gradient: Floats) -> ClusterInfluence:
        """The influence of each cluster on the metric with this gradient."""
        with np.errstate(all="ignore"):
            influence = np.einsum("gkf,gbkf->gbk", gradient, self.linear)
        singletons = None if self.singletons is None else self.singletons.singletons(gradient)
        return cluster_influence(np.einsum("gbkf,f->gbk", self.linear, self.unit), influence, self.weight, singletons)

    def variance(self, gradient: Floats) -> Variance:
        """Delta-method variance, to which a class in one bucket adds nothing: see `rests_on_one_cluster`."""
        return self.influence(gradient).variance

    def rests_on_one(self, formula: Formula, linear: Floats, *, at_any_prior: bool = False) -> Bools:
        """Whether metrics rest on a class in one bucket, (groups, metrics); `linear` are the sums of all rows."""
        in_one = in_one_cluster(self.linear @ self.unit, self.singletons)
        return rests_on_one_cluster(formula, linear, self.unit, in_one, at_any_prior=at_any_prior)


def rests_on_one_cluster(
    formula: Formula, linear: Floats, unit: Floats, in_one: Bools, *, at_any_prior: bool = False
) -> Bools:
    """Whether metrics depend on the rows of a class in one cluster, but not on their number, as at a stated prior, (groups, metrics).

    `at_any_prior`, their number may matter too. Both are tried on sums that are not 0, as that of a decision that no row has is. They differ by
    class, because the number of rows of a class whose rate is that of all classes seems not to matter.
    """
    if not in_one.any():
        return np.zeros(formula(linear[None])[0].shape, dtype=bool)
    n_classes, shape = linear.shape[1], linear[0].shape
    twice = np.ones((2, n_classes, 1, *shape))
    for k in range(n_classes):
        # All sums of a class, and its first one.
        twice[0, k, :, k] = twice[1, k, :, k, 0] = 2.0
    filling = linear @ unit if unit.all() else linear[..., 1]
    tried = np.where(linear == 0, filling[..., None], linear) * np.linspace(1, 2, linear[0].size).reshape(shape)
    value = formula(tried[None])
    with np.errstate(all="ignore"):
        by_number, by_rows = (np.abs(formula(tried * times) - value) for times in twice)
        is_used = by_rows > _ZERO * by_rows.max(axis=0)
        is_used &= at_any_prior | (by_number < _ZERO * by_rows)
    return np.asarray((np.moveaxis(is_used, 0, 1) & in_one[..., None]).any(axis=1))


def in_one_cluster(weight: Floats, singletons: Singletons | Moments | None = None) -> Bools:
    """Whether one bucket has all rows of a class, without a variance then, (groups, classes), from weights (groups, buckets, classes)."""
    with np.errstate(all="ignore"):
        total, weight2 = weight.sum(axis=1), (weight**2).sum(axis=1)
        if singletons is not None:
            total, weight2 = total + singletons.weight, weight2 + singletons.weight2
        return np.asarray(total**2 / weight2 < 1 + _ZERO, dtype=np.bool_)


@dataclass(frozen=True)
class ClusterInfluence:
    """Change of the value without each of `number` buckets, (groups, buckets), and the squares of those of singletons; NaN for too few clusters."""

    influence: Floats
    squares: Floats
    number: Floats
    df: Floats

    @property
    def components(self) -> VarianceComponents:
        """Influences whose squares add up to a variance, and what singletons add to it."""
        with np.errstate(all="ignore"):
            times = np.where(self.number >= FEWEST_CLUSTERS, (self.number - 1) / self.number, np.nan)
        return VarianceComponents(self.influence * np.sqrt(times)[:, None], self.squares * times, self.df)

    @property
    def variance(self) -> Variance:
        """Variance of the value."""
        return Variance(self.components.variance, self.df).only(self.number >= FEWEST_CLUSTERS)


def cluster_influence(
    weight: Floats, influence: Floats, buckets: Floats, singletons: Singletons | None = None
) -> ClusterInfluence:
    """What clusters add, as in the jackknife that leaves out one bucket after the other.

    `weight` and `influence`: sums of w and of w psi, (groups, buckets, classes), zeros where a bucket is empty; `buckets`: (groups, buckets),
    the weight of each.

    What a bucket adds is that of its rows within their class, and that of how many rows of each class it has. Without the bucket the class is
    1 - n_b / n as large, so that the former counts 1 / (1 - n_b / n) times, and the latter by the weight of all classes. A class has as
    many degrees of freedom as its effective number of clusters, less one; those of the sum are the harmonic mean by what each adds.
    """
    with np.errstate(all="ignore"):
        total, weight2, sums = weight.sum(axis=1), (weight**2).sum(axis=1), influence.sum(axis=1)
        whole, whole2 = buckets.sum(axis=-1), (buckets**2).sum(axis=-1)
        number = (buckets > 0).sum(axis=-1).astype(np.float64)
        if singletons is not None:
            one, one2 = singletons.weight.sum(axis=-1), singletons.weight2.sum(axis=-1)
            total, weight2 = total + singletons.weight, weight2 + singletons.weight2
            sums = sums + singletons.influence
            whole, whole2 = whole + one, whole2 + one2
            number = number + effective_rows(one, one2)
        mean = np.where(total > 0, sums / total, 0.0)
        between = np.einsum("gbk,gk->gb", weight, mean)
        # All of a class in one cluster is its mean: rounding is no variance.
        is_one = total**2 / weight2 < 1 + _ZERO
        within = np.where(is_one[:, None], 0.0, influence - weight * mean[:, None])
        left = np.where(weight < total[:, None], within / (1 - weight / total[:, None]), 0.0)
        without = np.einsum("gbk->gb", left) + np.where(buckets > 0, between / (1 - buckets / whole[:, None]), 0.0)
        of_classes, of_all = (within**2).sum(axis=1), (between**2).sum(axis=-1)
        squares = np.zeros(len(whole))
        if singletons is not None:
            other = mean**2 * singletons.weight2
            around, crossed = np.maximum(singletons.squares_around(mean), 0.0), mean * singletons.mixed - other
            around, crossed = np.where(is_one, 0.0, around), np.where(is_one, 0.0, crossed)
            of_class = np.where(is_one, 1.0, 1 / (1 - np.nan_to_num(singletons.weight2 / singletons.weight) / total))
            of_number = 1 / (1 - one2 / one / whole)[:, None]
            added = around * of_class**2 + 2 * crossed * of_class * of_number + other * of_number**2
            squares = np.where(singletons.weight > 0, added, 0.0).sum(axis=-1)
            of_classes, of_all = of_classes + around, of_all + other.sum(axis=-1)
        lost = np.where(of_classes > 0, of_classes / (total**2 / weight2 - 1), 0.0).sum(axis=-1)
        lost = lost + np.where(of_all > 0, of_all / (whole**2 / whole2 - 1), 0.0)
        added_up = of_classes.sum(axis=-1) + of_all
        df = np.where(added_up > 0, added_up / lost, whole**2 / whole2 - 1)
    return ClusterInfluence(without, squares, number, df)


def effective_clusters(buckets: Floats, weight: Floats | float = 0.0, weight2: Floats | float = 0.0) -> Floats:
    """Effective number of clusters, (sum n_b)^2 / sum n_b^2; `weight` and `weight2` are the sums of w and w^2 of singletons."""
    total, squares = buckets.sum(axis=-1) + weight, (buckets**2).sum(axis=-1) + weight2
    with np.errstate(all="ignore"):
        return np.asarray(total**2 / squares, dtype=np.float64)


# Differences of two estimates that may share clusters.


@dataclass(frozen=True)
class VarianceComponents:
    """Variance of independent rows, `own`, (groups,), and influences of buckets, `shared`, (groups, buckets), which another estimate may have too."""

    shared: Floats | None
    independent: Floats
    df: Floats

    @classmethod
    def of_variance(cls, variance: Variance) -> VarianceComponents:
        """Components for independent rows."""
        return cls(None, variance.variance, variance.df)

    @cached_property
    def variance(self) -> Floats:
        """Variance of the estimate alone."""
        return self.independent if self.shared is None else (self.shared**2).sum(axis=-1) + self.independent

    def over(self, value: Floats) -> VarianceComponents:
        """Components of the estimates divided by these numbers; divided by themselves, these are the components of their logarithms."""
        shared = None if self.shared is None else self.shared / value[:, None]
        return VarianceComponents(shared, self.independent / value**2, self.df)

    def plus(self, more: Floats) -> VarianceComponents:
        """Add a variance of the rows themselves."""
        return replace(self, independent=np.where(self.variance > 0, self.independent, 0.0) + more)

    def taken(self, groups: Integers) -> VarianceComponents:
        """Select some groups."""
        shared = None if self.shared is None else self.shared[groups]
        return VarianceComponents(shared, self.independent[groups], self.df[groups])

    def minus(self, other: VarianceComponents) -> Variance:
        """Variance of the difference; degrees of freedom by Satterthwaite, as if the estimates were independent."""
        variances = self.variance, other.variance
        variance = self.independent + other.independent
        if self.shared is not None and other.shared is not None:
            variance = variance + ((self.shared - other.shared) ** 2).sum(axis=-1)
        terms = sum(np.where(v == 0, 0.0, v**2 / of.df) for v, of in zip(variances, (self, other), strict=True))
        df = np.where(terms > 0, (variances[0] + variances[1]) ** 2 / terms, np.inf)
        return Variance(variance, np.where(np.isnan(variance), np.nan, df))


def summed(place: Integers, values: Floats, *shape: int) -> Floats:
    """Sum the values at each place of an array of this shape, whose places are numbered row by row."""
    return np.asarray(np.bincount(place, values, math.prod(shape)), dtype=np.float64).reshape(shape)


def exclusive(sums: Floats) -> Floats:
    """Sum over all other groups, for each group, added from both ends because subtraction from the total would lose digits."""
    before, after = np.zeros_like(sums), np.zeros_like(sums)
    before[1:] = np.cumsum(sums[:-1], axis=0)
    after[:-1] = np.cumsum(sums[:0:-1], axis=0)[::-1]
    return np.asarray(before + after)


# The jackknife, with rows assigned to its parts at random.

PARTS = 20
"""Parts of the rows that the jackknife of ranking metrics leaves out in turn."""


def jackknife(replicates: Floats) -> Variance:
    """Variance from the values without one bucket each, (groups, buckets); NaN where a bucket is empty."""
    with np.errstate(all="ignore"):
        number = np.isfinite(replicates).sum(axis=-1).astype(np.float64)
        mean = np.nansum(replicates, axis=-1) / number
        squares = np.nansum((replicates - mean[..., None]) ** 2, axis=-1)
        variance = Variance(squares * (number - 1) / number, number - 1)
    return variance.only(number >= FEWEST_CLUSTERS)


def random_parts(weight: Floats, weight2: Floats, starts: Integers, seed: int, n_parts: int = PARTS) -> Floats:
    """The weight of each cell in each part, (parts, *cells), from sums of w and of w^2.

    A cell has as many rows as its effective sample size, at least one, and each is assigned to any part with equal probability. `starts` are
    the first cells of the groups. Random numbers restart in each group, so that groups are independent of each other.
    """
    rows = np.rint(effective_rows(weight, weight2))
    rows = np.where(np.isfinite(rows), np.fmax(rows, weight > 0), 0.0)
    assigned = np.empty((*rows.shape, n_parts), dtype=np.int64)
    for first, last in pairwise(np.append(starts, len(rows))):
        cells = rows[first:last].astype(np.int64)
        assigned[first:last] = np.random.default_rng(seed).multinomial(cells, [1 / n_parts] * n_parts)
    with np.errstate(all="ignore"):
        of_each = np.where(rows > 0, weight / rows, 0.0)
    return np.asarray(np.moveaxis(assigned, -1, 0) * of_each, dtype=np.float64)


# Derivatives of a metric by its sums: finite differences of its formula.

# Of a sum, at either side once and twice: what the stencil leaves out is of the order of its fourth power. So small that it does not
# step over the kink of NEC if a hundred million rows show that it is near.
_STEP = 1e-4
STENCIL = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))


def gradient(value: Callable[[Floats], Floats], sums: Floats) -> Floats:
    """Derivatives of metrics with respect to each sum, (groups, sums, metrics), of sums (groups, sums); 0 for a sum of 0, which no row has made."""
    n_groups, n_sums = sums.shape
    steps = sums * _STEP
    moved = np.broadcast_to(sums, (n_sums, len(STENCIL), n_groups, n_sums)).copy()
    for s in range(n_sums):
        for v, (times, _) in enumerate(STENCIL):
            moved[s, v, :, s] += times * steps[:, s]
    values = value(moved.reshape(n_sums * len(STENCIL), n_groups, n_sums))
    values = values.reshape(n_sums, len(STENCIL), n_groups, values.shape[-1])
    weights = np.array([weight for _, weight in STENCIL])
    with np.errstate(all="ignore"):
        slopes = np.einsum("svgm,v->gsm", values, weights) / steps[:, :, None]
    return np.where(steps[:, :, None] == 0, 0.0, slopes)


def slopes_of(formula: Formula, linear: Floats) -> Floats:
    """Derivatives of the metrics, (groups, classes, features, metrics)."""
    n_groups, *shape = linear.shape
    flat = linear.reshape(n_groups, int(np.prod(shape)))
    slopes = gradient(lambda sums: formula(sums.reshape(len(sums), n_groups, *shape)), flat)
    return slopes.reshape(n_groups, *shape, slopes.shape[-1])


# Pseudo-counts for metrics of decisions: a rate of 0 or 1 is no less uncertain than its neighbours.

PseudoCounts: TypeAlias = Callable[[Moments], Moments]


def with_pseudocounts(moments: Moments, n_classes: int | None = None) -> Moments:
    """Add rows of mean weight to each class, spread evenly over the decisions: one-hot features.

    In all classes together they make as many errors as one row in each of two classes does, which is one: more would move what many
    classes make together by more than its standard error. With `n_classes=2`, for metrics of one class each, each class has half an error.
    Of two decisions it is no more than half a row each.
    """
    n_decisions = moments.linear.shape[-1]
    of_each = 1 / (max(n_classes or moments.linear.shape[-2], 2) * max(n_decisions - 1, 1))
    weight = _mean_weight(moments)[..., None]
    square = (weight**2)[..., None] * np.eye(n_decisions) * of_each
    return Moments(moments.linear + weight * of_each, moments.square + square, moments.unit)


def with_cost_pseudocounts(moments: Moments) -> Moments:
    """Add a row of mean cost, half of it an error, to features 1, the cost of an error, and the cost if it is one."""
    with np.errstate(all="ignore"):
        cost = np.where(moments.weight > 0, moments.linear[..., 1] / moments.weight, 0.0)
    weight = _mean_weight(moments)
    right = np.stack([np.ones_like(cost), cost, np.zeros_like(cost)], axis=-1)
    wrong = np.stack([np.ones_like(cost), cost, cost], axis=-1)
    linear, square = moments.linear, moments.square
    with np.errstate(all="ignore"):
        for x in (right, wrong):
            linear = linear + x * weight[..., None] / 2
            square = square + x[..., :, None] * x[..., None, :] * (weight**2)[..., None, None] / 2
    return Moments(linear, square, moments.unit)


def _mean_weight(moments: Moments) -> Floats:
    # By effective rows: a row of weight 0 counts as no row.
    with np.errstate(all="ignore"):
        return np.asarray(np.where(moments.weight > 0, moments.weight2 / moments.weight, 0.0), dtype=np.float64)


def rescaled_to(number: Floats, moments: Moments) -> Moments:
    """Moments of at most this many rows of weight 1 with the same means."""
    weight, rows = moments.weight.sum(axis=-1), moments.rows.sum(axis=-1)
    with np.errstate(all="ignore"):
        times = np.minimum(number, rows) / weight
        # The weight of a row of each class in the mean of squares.
        equal = np.where(moments.weight > 0, moments.weight / moments.weight2, 0.0)
    linear, square = moments.linear * times[:, None, None], moments.square * (equal * times[:, None])[..., None, None]
    return Moments(linear, square, moments.unit)


# Estimates of metrics from the same sums.

# Relative standard errors up to these are rounding: of rows that vary, and of rows that do not, whose sums of squares cancel to half of the digits.
_DEGENERATE, _DEGENERATE_CLASSES = 1e-9, 1e-6


@dataclass(frozen=True, eq=False)
class Estimate:
    """Metrics of groups that are formulas of the same class sums, with the inputs of their variances.

    `with_pseudocounts` is None for losses; `metrics` say whether lower is better; `derivative` provides slopes instead of the formula's.
    """

    formula_of: FormulaOf
    moments: Moments
    clusters: Clusters | None = None
    with_pseudocounts: PseudoCounts | None = None
    metrics: Mapping[str, bool] = field(default_factory=dict)
    derivative: Callable[[Floats], Floats] | None = None

    @cached_property
    def formula(self) -> Formula:
        """The formula for all groups."""
        return self.formula_of(slice(None))

    @cached_property
    def values(self) -> Floats:
        """(groups, metrics)."""
        values: Floats = self.formula(self.moments.linear[None])[0]
        return values

    @cached_property
    def slopes(self) -> Floats:
        """Derivatives of the metrics, (groups, classes, features, metrics)."""
        return self.slopes_at(self.moments.linear)

    def slopes_at(self, linear: Floats) -> Floats:
        """Derivatives of the metrics at these sums."""
        return slopes_of(self.formula, linear) if self.derivative is None else self.derivative(linear)

    @cached_property
    def smoothed(self) -> tuple[Moments, Floats]:
        """The sums with pseudo-counts, and the derivatives there."""
        if self.with_pseudocounts is None:
            return self.moments, self.slopes
        moments = self.with_pseudocounts(self.moments)
        return moments, self.slopes_at(moments.linear)

    @cached_property
    def _rescaled(self) -> tuple[Moments, Floats]:
        """The sums of as many independent rows as there are clusters, with pseudo-counts."""
        assert self.clusters is not None
        assert self.with_pseudocounts is not None
        moments = self.with_pseudocounts(rescaled_to(self.clusters.number, self.moments))
        return moments, self.slopes_at(moments.linear)

    @cached_property
    def known(self) -> Bools:
        """Groups with a row of every class, or, for losses, several."""
        return has_rows(self.moments.rows, several=self.with_pseudocounts is None)

    def components(self, metric: int) -> VarianceComponents:
        """Components of a metric's variance; NaN where a class has no rows, or, for losses, one, or all rows or clusters are equal."""
        components = self.components_of(metric, self.is_degenerate(metric))
        # Losses that are all equal say nothing of what other rows would lose.
        varies = self.with_pseudocounts is not None or self.moments.varies  # that of pseudo-counts is small, but not 0
        degenerate = is_degenerate(components.variance, self.values[:, metric], varies)
        return replace(components, independent=np.where(degenerate, np.nan, components.independent))

    def is_degenerate(self, metric: int) -> Bools:
        """Groups in whose clusters all decisions are equal: a rate of 0 or 1."""
        value = self.values[:, metric]
        if self.clusters is None or self.with_pseudocounts is None:
            return np.zeros(len(value), dtype=bool)
        return is_degenerate(self._of_clusters(self.clusters, metric).variance, value)

    def components_of(self, metric: int, degenerate: Bools) -> VarianceComponents:
        """Components of the variance, where decisions are equal in all clusters of some groups."""
        if self.clusters is None:
            components = _components_of_rows(*self.smoothed, metric)
        else:
            components = self._of_clusters(self.clusters, metric)
            if degenerate.any():
                # A rate of 0 or 1 gets the variance of as many independent rows as there are clusters.
                independent_rows = _components_of_rows(*self._rescaled, metric)
                independent = np.where(degenerate, independent_rows.independent, components.independent)
                df = np.where(degenerate, independent_rows.df, components.df)
                components = replace(components, independent=independent, df=df)
        return replace(components, independent=np.where(self.known, components.independent, np.nan))

    @cached_property
    def rests_on_one(self) -> Bools:
        """Whether metrics rest on a class in one cluster, (groups, metrics)."""
        if self.clusters is None or self.derivative is not None:
            # Other slopes are those of a difference from all groups, which may have the class in more clusters.
            return np.zeros(self.values.shape, dtype=bool)
        return self.clusters.rests_on_one(self.formula, self.moments.linear)

    def _of_clusters(self, clusters: Clusters, metric: int) -> VarianceComponents:
        components = clusters.influence(self.slopes[..., metric]).components
        independent = np.where(self.rests_on_one[:, metric], np.nan, components.independent)
        return replace(components, independent=independent)


def is_degenerate(variance: Floats, value: Floats, varies: Bools | bool = True) -> Bools:
    """Whether all rows, or clusters, are equal, but for rounding, which leaves more where the rows of no class vary."""
    with np.errstate(all="ignore"):
        return np.asarray(variance <= (np.where(varies, _DEGENERATE, _DEGENERATE_CLASSES) * value) ** 2)


def _components_of_rows(moments: Moments, slopes: Floats, metric: int) -> VarianceComponents:
    return VarianceComponents.of_variance(moments.variance(slopes[..., metric]))


FEW_OF_A_CLASS = 10
"""A group with fewer rows of a class than this is small: its intervals are unreliable."""


# The scale of a metric.


@dataclass(frozen=True)
class _Functions:
    forward: Callable[[Any], Any]
    inverse: Callable[[Any], Any]
    slope: Callable[[Any], Any]
    lean: Callable[[Any], Any]
    """From 1 at the lower end, or both of a ratio, to -1 at the upper end, if a binomial share is skewed there."""


_LOG = _Functions(lambda x: np.log(x), lambda x: np.exp(x), lambda x: 1 / x, lambda x: np.ones_like(x))
_FUNCTIONS: Mapping[Scale, _Functions] = MappingProxyType(
    {
        "identity": _Functions(lambda x: x, lambda z: z, lambda x: np.ones_like(x), lambda x: np.zeros_like(x)),
        "log": _LOG,
        "ratio": _LOG,
        "logit": _Functions(
            lambda x: np.log(x) - np.log1p(-x),
            lambda z: 1 / (1 + np.exp(-z)),
            lambda x: 1 / (x * (1 - x)),
            lambda x: 1 - 2 * x,
        ),
        "atanh": _Functions(lambda x: np.arctanh(x), lambda z: np.tanh(z), lambda x: 1 / (1 - x * x), lambda x: -x),
    }
)

# For shares that are summed over classes.
_ROUNDING = 1e-12


def at_boundary(scale: Scale, values: Floats) -> Bools:
    """Whether a value is at the boundary of its scale, but for rounding; costs may be of any size, and are at theirs at 0 alone."""
    if scale in ("logit", "atanh"):
        lower = -1.0 if scale == "atanh" else 0.0
        return np.asarray(np.minimum(values - lower, 1 - values) <= _ROUNDING)
    return ~np.isfinite(forward(scale, values))


def forward(scale: Scale, values: Floats) -> Floats:
    """From the metric to its scale; infinite or NaN at and beyond its ends."""
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[scale].forward(values), dtype=np.float64)


def inverse(scale: Scale, values: Floats) -> Floats:
    """From the scale to the metric."""
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[scale].inverse(values), dtype=np.float64)


def slope(scale: Scale, values: Floats) -> Floats:
    """The derivative of the scale at these values of the metric."""
    with np.errstate(all="ignore"):
        return np.asarray(_FUNCTIONS[scale].slope(values), dtype=np.float64)


# The bounds of an interval from a value and its variance.

Limits: TypeAlias = tuple[Floats, Floats]

# The squares of smaller or larger numbers underflow or overflow, and variances with them.
_LEAST, _MOST = 1e-140, 1e140
# Limits further apart on their scale are at its ends.
_MOST_HALF = 100


def limits(value: Floats, variance: Variance, scale: Scale, level: float, *, skewed: bool = False) -> Limits:
    """Lower and upper bound; NaN without a variance, without an upper end, at an end of the scale, and if the square overflows.

    With `skewed`, for pseudo-counts, they are further from the value towards the end of the scale from which few rows keep it.
    """
    with np.errstate(all="ignore"):
        at = forward(scale, value)
        # Fewer degrees of freedom than one would give meaningless bounds.
        t = t_quantile(0.5 + level / 2, np.fmax(variance.df, 1))
        half = t * variance.standard_error * np.abs(slope(scale, value))
        lean = _FUNCTIONS[scale].lean(value) * skewed
        below, above = (_further(x, half, t, scale) for x in (lean, lean if scale == "ratio" else -lean))
        low, high = inverse(scale, at - half - below), inverse(scale, at + half + above)
    size = np.abs(value)
    known = np.isfinite(at) & np.isfinite(half) & np.isfinite(high) & ((size == 0) | (size > _LEAST) & (size < _MOST))
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _further(lean: Floats, half: Floats, t: Floats, scale: Scale) -> Floats:
    """Extra distance of the bound beyond `half`, if fewer than 20 errors determine the value, at the end of the scale where `lean` is 1.

    Shares of few errors are skewed, and the half pseudo-error for rates of 0 and 1 moves their bounds too far from the end.
    """
    times = 2 if scale == "atanh" else 1
    skew = np.where(half < _MOST_HALF, lean * (times * half) ** 2, 0.0)
    return np.where(20 * skew > t * t, (skew / 4 + skew**2 / 8) / times, 0.0)


def extended(low: Floats, high: Floats, value: Floats) -> Limits:
    """Extend the bounds so that they contain the value."""
    return np.minimum(low, value), np.maximum(high, value)


# Quantiles of the normal distribution and of t, and tails of t.
#
# One algorithm for quantiles, the same in both engines: z = sqrt(df ln(1 + t^2 / df)) makes a nearly normal variable of t (Wallace 1959): its
# density is k phi(z) h(z^2 / df), where h(x) = sqrt(x / (1 - e^-x)) is smooth and k is a ratio of gamma functions. So the mass between 0 and z
# is a sum of few terms by Gauss and Legendre, the mass beyond z one by Gauss and Laguerre, which keeps its digits however far out, and Halley's
# steps in z invert them.

_ROOT = math.sqrt(2 * math.pi)
# Below this mass beyond it, and above this z, the tail is summed; both rules have 12 digits around there.
_TAIL, _FAR = 0.03, 2.1
_STEPS = 3
# With this many degrees of freedom, t equals the normal distribution to the last digit.
_MOST_DEGREES = 1e30

# Wichura 1988, algorithm AS 241 (PPND16): numerators and denominators, highest power first, around the middle, beyond, and far out.
# fmt: off
_MIDDLE = (
    (2509.0809287301226727, 33430.575583588128105, 67265.770927008700853, 45921.953931549871457,
     13731.693765509461125, 1971.5909503065514427, 133.14166789178437745, 3.387132872796366608),
    (5226.495278852545925, 28729.085735721942674, 39307.89580009271061, 21213.794301586595867,
     5394.1960214247511077, 687.1870074920579083, 42.313330701600911252, 1.0),
)
_BEYOND = (
    (7.7454501427834140764e-4, 0.0227238449892691845833, 0.24178072517745061177, 1.27045825245236838258,
     3.64784832476320460504, 5.7694972214606914055, 4.6303378461565452959, 1.42343711074968357734),
    (1.05075007164441684324e-9, 5.475938084995344946e-4, 0.0151986665636164571966, 0.14810397642748007459,
     0.68976733498510000455, 1.6763848301838038494, 2.05319162663775882187, 1.0),
)
_FAR_OUT = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 0.0012426609473880784386, 0.026532189526576123093,
     0.29656057182850489123, 1.7848265399172913358, 5.4637849111641143699, 6.6579046435011037772),
    (2.04426310338993978564e-15, 1.4215117583164458887e-7, 1.8463183175100546818e-5, 7.868691311456132591e-4,
     0.0148753612908506148525, 0.13692988092273580531, 0.59983220655588793769, 1.0),
)
# fmt: on
WICHURA = {"middle": _MIDDLE, "beyond": _BEYOND, "far_out": _FAR_OUT}
"""The numerators and denominators by how far out they are for."""


def normal_quantile(p: ArrayLike) -> Floats:
    """The quantile of the normal distribution; infinite at 0 and 1, NaN beyond."""
    share = np.asarray(p, dtype=np.float64)
    with np.errstate(all="ignore"):
        q = share - 0.5
        middle = q * _rational(_MIDDLE, 0.180625 - q * q)
        r = np.sqrt(-np.log(np.minimum(share, 1 - share)))
        outer = np.sign(q) * np.where(r <= 5, _rational(_BEYOND, r - 1.6), _rational(_FAR_OUT, r - 5))
    found = np.where(np.abs(q) <= 0.425, middle, outer)
    return np.where((share == 0) | (share == 1), np.copysign(np.inf, q), found)


def t_quantile(p: ArrayLike, df: ArrayLike) -> Floats:
    """The quantile of t with real degrees of freedom, from 1 to infinity; fewer count as 1, and NaN or none give NaN."""
    normal = normal_quantile(p)
    share, normal, n = np.broadcast_arrays(np.asarray(p, dtype=np.float64), normal, _degrees(df))
    beyond = np.minimum(share, 1 - share)
    with np.errstate(all="ignore"):
        z = np.array(np.abs(normal) * (8 * n + 3) / (8 * n + 1))
        tail = beyond < _TAIL
        z[tail] = _from_tail(z[tail], beyond[tail], n[tail])
        z[~tail] = _from_middle(z[~tail], np.abs(share[~tail] - 0.5), n[~tail])
        t = np.copysign(np.exp(z * z / n / 2) * np.sqrt(-n * np.expm1(-z * z / n)), normal)
    return np.where(np.isinf(normal) & ~np.isnan(n), normal, t)


def two_sided_p(t: ArrayLike, df: ArrayLike) -> Floats:
    """The probability of a t that is at least as far from 0; NaN for NaN, or without degrees of freedom."""
    at, n = np.broadcast_arrays(np.abs(np.asarray(t, dtype=np.float64)), _degrees(df))
    with np.errstate(all="ignore"):
        times = at / np.sqrt(n)
        z = np.sqrt(n * np.where(times > 1e8, 2 * np.log(times), np.log1p(times * times)))
        p = np.array(z)
        tail = z > _FAR
        p[tail] = 2 * np.exp(_log_tail(z[tail], n[tail]))
        p[~tail] = 1 - 2 * _middle(z[~tail], n[~tail])
    return np.where(np.isinf(at) & ~np.isnan(n), 0.0, p)


def _degrees(df: ArrayLike) -> Floats:
    n = np.asarray(df, dtype=np.float64)
    return np.where(n > 0, np.clip(n, 1, _MOST_DEGREES), np.nan)


def _rational(coefficients: tuple[Sequence[float], Sequence[float]], x: Floats) -> Floats:
    above, below = coefficients
    return np.asarray(np.polyval(above, x) / np.polyval(below, x), dtype=np.float64)


def _from_tail(z: Floats, beyond: Floats, n: Floats) -> Floats:
    """The z beyond which there is this mass, from one nearby: its logarithm is nearly a parabola."""
    log_beyond, log_constant = np.log(beyond), np.log(_constant(n))
    for _ in range(_STEPS):
        log_tail = _log_tail(z, n)
        hazard = np.exp(log_constant - z * z / 2 - log_tail) / _ROOT * _h(z * z / n)
        step = (log_tail - log_beyond) / hazard
        z = z + step / (1 + step * (_log_slope(z, n) + hazard) / 2)
    return z


def _from_middle(z: Floats, mass: Floats, n: Floats) -> Floats:
    """The z up to which there is this mass from 0 on, from one nearby."""
    constant = _constant(n)
    for _ in range(_STEPS):
        density = constant * np.exp(-z * z / 2) / _ROOT * _h(z * z / n)
        step = (mass - _middle(z, n)) / density
        z = np.where(mass == 0, 0.0, z + step / (1 + step * _log_slope(z, n) / 2))
    return z


def _middle(z: Floats, n: Floats) -> Floats:
    """The mass between 0 and z."""
    total = np.zeros_like(z)
    for node, weight in _legendre():
        square = (z * node) ** 2
        total += weight * np.exp(-square / 2) * _h(square / n)
    return np.asarray(_constant(n) * z * total / _ROOT, dtype=np.float64)


def _log_tail(z: Floats, n: Floats) -> Floats:
    """The logarithm of the mass beyond z."""
    total = np.zeros_like(z)
    for node, weight in _laguerre():
        total += weight / np.sqrt(-n * np.expm1(-(z * z + 2 * node) / n))
    return np.asarray(np.log(_constant(n) * total / _ROOT) - z * z / 2, dtype=np.float64)


def _h(x: Floats) -> Floats:
    return np.where(x == 0, 1.0, np.sqrt(x / -np.expm1(-x)))


def _log_slope(z: Floats, n: Floats) -> Floats:
    """The derivative of the logarithm of the density."""
    x = z * z / n
    return np.where(x == 0, -z, z / n * (1 / x - 1 / np.expm1(x)) - z)


def _constant(n: Floats) -> Floats:
    """Gamma((n + 1) / 2) / Gamma(n / 2) sqrt(2 / n): by the series of its logarithm, at an argument that is larger by 10."""
    x = n / 2 + 10
    terms = (-1 / 8, 1 / 192, -1 / 640, 17 / 14336, -31 / 18432)
    ratio = np.sqrt(x * 2 / n) * np.exp(sum(c / x ** (2 * k + 1) for k, c in enumerate(terms)))
    for k in range(10):
        ratio = ratio * ((n + 2 * k) / (n + 2 * k + 1))
    return np.asarray(ratio, dtype=np.float64)


@cache
def _legendre() -> list[tuple[float, float]]:
    """Nodes in (0, 1) and weights of 24: the density is even."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    return [(float(x), float(w)) for x, w in zip(nodes, weights, strict=True) if x > 0]


@cache
def _laguerre() -> list[tuple[float, float]]:
    """Nodes and weights of 32, without those that weigh nothing."""
    nodes, weights = np.polynomial.laguerre.laggauss(32)
    return [(float(x), float(w)) for x, w in zip(nodes, weights, strict=True) if w > 1e-15]
