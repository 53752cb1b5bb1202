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
        """(groups, classes): how many rows of equal weight say as much (Kish)."""
        with np.errstate(all="ignore"):
            return np.asarray(np.where(self.weight > 0, self.weight**2 / self.weight2, 0.0), dtype=np.float64)

    def spread_of(self, gradient: Floats) -> Spread:
        """Of independent rows; `gradient` has the shape of `linear`. A class without rows takes no part."""
        with np.errstate(all="ignore"):
            influence = (gradient * self.linear).sum(axis=-1)
            squared = np.einsum("gkf,gkfh,gkh->gk", gradient, self.square, gradient)
            mixed = (gradient * (self.square @ self.unit)).sum(axis=-1)
        return stratified(self.weight, self.weight2, influence, squared, mixed)

    def squared(self, gradient: Floats) -> Floats:
        """(groups,): sum of w^2 psi^2."""
        return np.asarray(np.einsum("gkf,gkfh,gkh->g", gradient, self.square, gradient), dtype=np.float64)


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
        within = np.where(within > 1e-13 * squared, within, 0.0) * rows / (rows - 1)
        between = mean**2 * weight2
        used = weight > 0
        within, between = np.where(used, within, 0.0), np.where(used, between, 0.0)
        variance = (within + between).sum(axis=-1)
        total = np.where(used, rows, 0.0).sum(axis=-1)
        # One row tells nothing of the spread within its class.
        terms = np.where(used & (within != 0), within**2 / (rows - 1), 0.0).sum(axis=-1)
        df = variance**2 / (terms + between.sum(axis=-1) ** 2 / (total - 1))
    return Spread(variance, np.where(variance == 0, total - 1, df))


def spread_of_clusters(gradient: Floats, buckets: Floats, linear: Floats, single: Moments | None = None) -> Spread:
    """That of rows in clusters, summed per bucket.

    `linear`: (groups, buckets, classes, features), zeros where a bucket is empty; `buckets`: (groups, buckets), the weight of each. `single`
    are rows that are clusters of their own, which are in no bucket.
    """
    influence = np.einsum("gkf,gbkf->gb", gradient, linear)
    if single is None:
        return of_influence(influence, buckets)
    alone = Alone(single.weight.sum(axis=-1), single.weight2.sum(axis=-1), single.squared(gradient))
    return of_influence(influence, buckets, alone)


@dataclass(frozen=True)
class Alone:
    """Of rows that are clusters of their own the sums of w, w^2 and w^2 psi^2, (groups,)."""

    weight: Floats
    weight2: Floats
    squared: Floats


def of_influence(influence: Floats, buckets: Floats, alone: Alone | None = None) -> Spread:
    """From the influence of each bucket, (groups, buckets), which is 0 where it is empty."""
    with np.errstate(all="ignore"):
        number = (buckets > 0).sum(axis=-1).astype(np.float64)
        squares = (influence**2).sum(axis=-1)
        clusters = effective_clusters(buckets, alone)
        if alone is not None:
            number = number + np.where(alone.weight > 0, alone.weight**2 / alone.weight2, 0.0)
            squares = squares + alone.squared
        spread = Spread(squares * number / (number - 1), clusters - 1)
    return spread.only(number >= FEWEST_CLUSTERS)


def effective_clusters(buckets: Floats, alone: Alone | None = None) -> Floats:
    """(sum n_b)^2 / sum n_b^2: how many clusters of equal weight say as much."""
    with np.errstate(all="ignore"):
        whole, whole2 = buckets.sum(axis=-1), (buckets**2).sum(axis=-1)
        if alone is not None:
            whole, whole2 = whole + alone.weight, whole2 + alone.weight2
        return np.asarray(whole**2 / whole2, dtype=np.float64)


def jackknife(replicates: Floats) -> Spread:
    """From the values without one bucket each, (groups, buckets); NaN where a bucket is empty."""
    with np.errstate(all="ignore"):
        number = np.isfinite(replicates).sum(axis=-1).astype(np.float64)
        mean = np.nansum(replicates, axis=-1) / number
        squares = np.nansum((replicates - mean[..., None]) ** 2, axis=-1)
        spread = Spread(squares * (number - 1) / number, number - 1)
    return spread.only(number >= FEWEST_CLUSTERS)


def added(*spreads: Spread) -> Spread:
    """That of a sum, or a difference, of independent parts."""
    with np.errstate(all="ignore"):
        variance = np.add.reduce([spread.variance for spread in spreads])
        terms = np.add.reduce([np.where(s.variance == 0, 0.0, s.variance**2 / s.df) for s in spreads])
        df = np.where(terms > 0, variance**2 / terms, np.inf)
    return Spread(variance, np.where(np.isnan(variance), np.nan, df))
