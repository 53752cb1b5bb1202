"""Variances of metrics, with their degrees of freedom, from the influence of each class's sums on them.

A metric is a smooth function of sums over rows. The gradient times a row's features is the row's influence, psi; psi sums to 0 over the rows
of a group, and the variance is the sum of w^2 psi^2 over independent rows, or of (sum of w psi)^2 over clusters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_ONE_ROW = 1 + 1e-9
# Sums of squares of weights beyond have lost digits.
_LEAST_SQUARE, _MOST_SQUARE = 1e-280, 1e300
# What rounding makes of a 0.
_NOTHING = 1e-7

FEWEST_CLUSTERS = 5
"""With fewer clusters than this there is no variance to speak of."""


@dataclass(frozen=True)
class Spread:
    """Variances and their degrees of freedom, of so many groups; NaN where there is none."""

    variance: Floats
    df: Floats

    @property
    def standard_error(self) -> Floats:
        """The root of the variance."""
        return np.asarray(np.sqrt(self.variance), dtype=np.float64)

    def only(self, known: NDArray[np.bool_]) -> Spread:
        """NaN where it is not known."""
        return Spread(np.where(known, self.variance, np.nan), np.where(known, self.df, np.nan))


def effective_rows(weight: Floats, weight2: Floats) -> Floats:
    """How many rows of equal weight say as much as those with these sums of w and of w^2 (Kish); NaN where squares lose their digits."""
    with np.errstate(all="ignore"):
        rows = np.where((weight2 > _LEAST_SQUARE) & (weight2 < _MOST_SQUARE), weight**2 / weight2, np.nan)
    return np.asarray(np.where(weight > 0, rows, 0.0), dtype=np.float64)


def has_rows(rows: Floats, *, several: bool) -> NDArray[np.bool_]:
    """(groups,): whether every class has a row, or, as the spread of a loss takes, several; of numbers of rows, (groups, classes)."""
    return np.asarray((rows > (_ONE_ROW if several else 0)).all(axis=-1))


@dataclass(frozen=True)
class Moments:
    """Sums over the rows of each class: of w x, (groups, classes, features), and of w^2 x x', (groups, classes, features, features).

    x are the features of a row: which decision it has, or 1 and its loss. `unit` times x is 1, whatever the row.
    """

    linear: Floats
    square: Floats
    unit: Floats

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
        """(groups, classes): how many rows of equal weight say as much."""
        return effective_rows(self.weight, self.weight2)

    def spread_of(self, gradient: Floats) -> Spread:
        """Of independent rows; `gradient` has the shape of `linear`. A class without rows takes no part."""
        return Single.of(self, gradient).spread


def stratified(weight: Floats, weight2: Floats, influence: Floats, squared: Floats, mixed: Floats) -> Spread:
    """From sums over the rows of each class, (groups, classes): w, w^2, w psi, w^2 psi^2 and w^2 psi.

    Within a class by n / (n - 1), n being as many rows of equal weight as say as much (Kish); between the classes, what the number of rows
    of each adds; degrees of freedom by Satterthwaite.
    """
    with np.errstate(all="ignore"):
        rows = weight**2 / weight2
        mean = influence / weight
        within = squared - 2 * mean * mixed + mean**2 * weight2
        # What rounding leaves of rows that are all alike.
        within = np.where(within <= 1e-13 * squared, 0.0, within) * rows / (rows - 1)
        between = mean**2 * weight2
        used = weight > 0
        within, between = np.where(used, within, 0.0), np.where(used, between, 0.0)
        variance = (within + between).sum(axis=-1)
        total = np.where(used, rows, 0.0).sum(axis=-1)
        # One row tells nothing of the spread within its class.
        of_all = variance[..., None]
        terms = np.where(used & (within != 0), (within / of_all) ** 2 / (rows - 1), 0.0).sum(axis=-1)
        df = 1 / (terms + (between.sum(axis=-1) / variance) ** 2 / (total - 1))
    return Spread(variance, np.where(variance == 0, total - 1, df))


def spread_of_clusters(
    gradient: Floats, buckets: Floats, linear: Floats, unit: Floats, single: Moments | None = None
) -> Spread:
    """That of rows in clusters, summed per bucket.

    `linear`: (groups, buckets, classes, features), zeros where a bucket is empty; `buckets`: (groups, buckets), the weight of each; `unit`
    times the features is 1. `single` are rows that are clusters of their own, which are in no bucket. NaN where a class that
    has a share of its own in the metric, as at a stated prior, is in one bucket alone.
    """
    with np.errstate(all="ignore"):
        influence = np.einsum("gkf,gbkf->gbk", gradient, linear)
    alone = None if single is None else Single.of(single, gradient)
    spread = of_clusters(linear @ unit, influence, buckets, alone).spread
    return spread.only(~rests_on_one_cluster(gradient, linear, unit, alone))


def rests_on_one_cluster(
    gradient: Floats, linear: Floats, unit: Floats, single: Single | None = None
) -> NDArray[np.bool_]:
    """Whether a class that has a share of its own in the metric is in one bucket alone, (groups,); arguments as for `spread_of_clusters`."""
    with np.errstate(all="ignore"):
        added = gradient * linear.sum(axis=1)
        moved = np.abs(added).sum(axis=-1)
    # Of a class that counts as much whatever number of rows it has, influences add up to 0, and so do those of its only cluster.
    is_fixed = (np.abs(added.sum(axis=-1)) < _NOTHING * moved) & (moved > _NOTHING * moved.max(axis=-1, keepdims=True))
    return np.asarray((in_one_cluster(linear @ unit, single) & is_fixed).any(axis=-1))


def in_one_cluster(weight: Floats, single: Single | None = None) -> NDArray[np.bool_]:
    """Whether all rows of a class are in one bucket, (groups, classes): what rows of others would be like, nobody knows.

    `weight` is (groups, buckets, classes).
    """
    with np.errstate(all="ignore"):
        total, weight2 = weight.sum(axis=1), (weight**2).sum(axis=1)
        if single is not None:
            total, weight2 = total + single.weight, weight2 + single.weight2
        return np.asarray(total**2 / weight2 < 1 + _NOTHING, dtype=np.bool_)


@dataclass(frozen=True)
class Single:
    """Of rows that are clusters of their own, sums over each class, (groups, classes): of w, w^2, w psi, w^2 psi^2 and w^2 psi."""

    weight: Floats
    weight2: Floats
    influence: Floats
    squared: Floats
    mixed: Floats

    @classmethod
    def of(cls, moments: Moments, gradient: Floats) -> Single:
        """Those of rows with these moments."""
        with np.errstate(all="ignore"):
            influence = (gradient * moments.linear).sum(axis=-1)
            squared = np.einsum("gkf,gkfh,gkh->gk", gradient, moments.square, gradient)
            mixed = (gradient * (moments.square @ moments.unit)).sum(axis=-1)
        return cls(moments.weight, moments.weight2, influence, squared, mixed)

    @property
    def spread(self) -> Spread:
        """If these are all rows, which are independent then."""
        return stratified(self.weight, self.weight2, self.influence, self.squared, self.mixed)


@dataclass(frozen=True)
class OfClusters:
    """What the value is without each bucket, less what it is: (groups, buckets); and of single rows the squares of that, (groups,).

    `number` says how many clusters there are. NaN where there are too few.
    """

    influence: Floats
    squares: Floats
    number: Floats
    df: Floats

    @property
    def scaled(self) -> tuple[Floats, Floats]:
        """Influences whose squares add up to a variance, (groups, buckets), and what single rows add to it, (groups,)."""
        with np.errstate(all="ignore"):
            times = np.where(self.number >= FEWEST_CLUSTERS, (self.number - 1) / self.number, np.nan)
        return self.influence * np.sqrt(times)[:, None], self.squares * times

    @property
    def spread(self) -> Spread:
        """Of the value."""
        influence, squares = self.scaled
        spread = Spread((influence**2).sum(axis=-1) + squares, self.df)
        return spread.only(self.number >= FEWEST_CLUSTERS)


def of_clusters(weight: Floats, influence: Floats, buckets: Floats, single: Single | None = None) -> OfClusters:
    """What clusters add, as the jackknife would have it that leaves out one bucket after the other.

    `weight` and `influence`: sums of w and of w psi, (groups, buckets, classes), zeros where a bucket is empty; `buckets`: (groups, buckets),
    the weight of each.

    What a bucket adds is that of its rows within their class, and that of how many rows of each class it has. Without the bucket the class is
    1 - n_b / n as large, so that the former counts 1 / (1 - n_b / n) times, and the latter by the weight of all classes. A class has as
    many degrees of freedom as it has clusters of equal weight, less one; those of the sum are the harmonic mean by what each adds.
    """
    with np.errstate(all="ignore"):
        total, weight2, sums = weight.sum(axis=1), (weight**2).sum(axis=1), influence.sum(axis=1)
        whole, whole2 = buckets.sum(axis=-1), (buckets**2).sum(axis=-1)
        number = (buckets > 0).sum(axis=-1).astype(np.float64)
        if single is not None:
            total, weight2, sums = total + single.weight, weight2 + single.weight2, sums + single.influence
            whole, whole2 = whole + single.weight.sum(axis=-1), whole2 + single.weight2.sum(axis=-1)
            number = number + effective_rows(single.weight.sum(axis=-1), single.weight2.sum(axis=-1))
        mean = np.where(total > 0, sums / total, 0.0)
        between = np.einsum("gbk,gk->gb", weight, mean)
        # All of a class in one cluster is its mean: rounding is no spread.
        is_one = total**2 / weight2 < 1 + _NOTHING
        within = np.where(is_one[:, None], 0.0, influence - weight * mean[:, None])
        left = np.where(weight < total[:, None], within / (1 - weight / total[:, None]), 0.0)
        without = left.sum(axis=-1) + np.where(buckets > 0, between / (1 - buckets / whole[:, None]), 0.0)
        of_classes, of_all = (within**2).sum(axis=1), (between**2).sum(axis=-1)
        squares = np.zeros(len(whole))
        if single is not None:
            own, both, other = _parts(single, mean)
            own, both = np.where(is_one, 0.0, own), np.where(is_one, 0.0, both)
            of_class = np.where(is_one, 1.0, 1 / (1 - np.nan_to_num(single.weight2 / single.weight) / total))
            of_number = 1 / (1 - single.weight2.sum(axis=-1) / single.weight.sum(axis=-1) / whole)[:, None]
            added = own * of_class**2 + 2 * both * of_class * of_number + other * of_number**2
            squares = np.where(single.weight > 0, added, 0.0).sum(axis=-1)
            of_classes, of_all = of_classes + own, of_all + other.sum(axis=-1)
        lost = np.where(of_classes > 0, of_classes / (total**2 / weight2 - 1), 0.0).sum(axis=-1)
        lost = lost + np.where(of_all > 0, of_all / (whole**2 / whole2 - 1), 0.0)
        parts = of_classes.sum(axis=-1) + of_all
        df = np.where(parts > 0, parts / lost, whole**2 / whole2 - 1)
    return OfClusters(without, squares, number, df)


def _parts(single: Single, mean: Floats) -> tuple[Floats, Floats, Floats]:
    """Of each class the sums of w^2 times (psi - mean)^2, (psi - mean) mean, and mean^2."""
    mixed, other = mean * single.mixed, mean**2 * single.weight2
    return np.maximum(single.squared - 2 * mixed + other, 0.0), mixed - other, other


def effective_clusters(buckets: Floats, weight: Floats | float = 0.0, weight2: Floats | float = 0.0) -> Floats:
    """(sum n_b)^2 / sum n_b^2: how many clusters of equal weight say as much.

    `weight` and `weight2` are the sums of w and w^2 of rows that are clusters of their own, (groups,).
    """
    with np.errstate(all="ignore"):
        return np.asarray(
            (buckets.sum(axis=-1) + weight) ** 2 / ((buckets**2).sum(axis=-1) + weight2), dtype=np.float64
        )


def jackknife(replicates: Floats) -> Spread:
    """From the values without one bucket each, (groups, buckets); NaN where a bucket is empty."""
    with np.errstate(all="ignore"):
        number = np.isfinite(replicates).sum(axis=-1).astype(np.float64)
        mean = np.nansum(replicates, axis=-1) / number
        squares = np.nansum((replicates - mean[..., None]) ** 2, axis=-1)
        spread = Spread(squares * (number - 1) / number, number - 1)
    return spread.only(number >= FEWEST_CLUSTERS)
