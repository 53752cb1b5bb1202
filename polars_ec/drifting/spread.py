"""How much a part of a change varies: what rows, or clusters, add to it within a class of a stratum, by classes, and by strata.

Strata may have few rows of a class. What these add is taken off the mean of so few, so that each class of each stratum is scaled by its
own number of rows, and so are the shares of the classes in a stratum.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.comparing.sides import Parts
from polars_ec.drifting.attribution import ratio
from polars_ec.intervals.estimates import Clusters
from polars_ec.intervals.spread import Moments, Single, Spread, of_clusters

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]

# With fewer rows of a class than this, as many as of equal weight say as much, a stratum does not tell how much they vary.
_SEVERAL = 1.5

# A stratum with fewer of a class may lack it in the other period by chance alone.
_FEW = 5

# A stratum with fewer of a class does not tell what it would be like if its share grew so many times.
_SOME, _MANY_TIMES = 15, 6

# What rounding leaves of rows that are all alike.
_ROUNDING = 1e-13


@dataclass(frozen=True)
class _Levels:
    """What a row adds at least, (pairs, strata, classes): as one of its class in its stratum, of its stratum, and of all."""

    weight: Floats
    of_class: Floats
    of_stratum: Floats

    @classmethod
    def of(cls, weight: Floats, influence: Floats) -> _Levels:
        """From sums of w and of w psi, (pairs, strata, classes)."""
        of_class = ratio(influence, weight)
        of_stratum = ratio(influence.sum(axis=-1), weight.sum(axis=-1))[..., None]
        return cls(weight, of_class - of_stratum, np.broadcast_to(of_stratum, weight.shape))

    @property
    def both(self) -> Floats:
        """The mean of what rows of a class in a stratum add."""
        return self.of_class + self.of_stratum


def hidden(sides: tuple[Moments, Moments], clusters: tuple[Clusters, Clusters] | None) -> Bools:
    """Whether too many rows of a class are in strata that do not tell what other rows of it would be like, (pairs,).

    Such a stratum has a few rows of the class in one period, or clusters, and none in the other, so that a change of it is taken for none;
    or some in one, and a share that is many times as large in the other, for which these few stand; or all in one cluster. Of n rows, or
    clusters, as many as chance makes of them may be there, which is the square root of n. And if no stratum has the class in both periods,
    nothing tells of a change at all.
    """
    counts = [_Counts.of(side, of) for side, of in zip(sides, clusters or (None, None), strict=True)]
    found = np.zeros(len(counts[0].weight), dtype=bool)
    for count, other in zip(counts, counts[::-1], strict=True):
        untold = (count.number < _FEW) & (other.weight <= 0)
        if clusters is not None:
            untold = untold | (count.number < _SEVERAL)
        untold = untold | ((other.told < _SOME) & (count.share > _MANY_TIMES * other.share))
        untold_weight = np.where(untold, count.weight, 0.0).sum(axis=1)
        found |= ((count.weight > 0) & (other.weight > 0)).sum(axis=1).min(axis=-1) == 0
        found |= (untold_weight > ratio(count.weight.sum(axis=1), np.sqrt(count.number_of_class))).any(axis=-1)
    return found


@dataclass(frozen=True)
class _Counts:
    """Sums of w, (pairs, strata, classes), and how many rows, or clusters, of equal weight say as much; the latter of classes too."""

    weight: Floats
    number: Floats
    number_of_class: Floats
    told: Floats
    """How many a stratum has of a class, or, if none, of all: infinite where it has no rows."""

    @property
    def share(self) -> Floats:
        """Of the rows of the class, so that more rows of it in all strata are none."""
        return ratio(self.weight, self.weight.sum(axis=1, keepdims=True))

    @classmethod
    def of(cls, moments: Moments, clusters: Clusters | None) -> _Counts:
        """Of the rows of one period."""
        weight, squares = moments.weight, moments.weight2
        squares_of_class = squares.sum(axis=1)
        if clusters is not None:
            in_buckets = clusters.linear @ clusters.unit
            squares, squares_of_class = (in_buckets**2).sum(axis=1), (in_buckets.sum(axis=2) ** 2).sum(axis=1)
            if clusters.single is not None:
                alone = clusters.single.weight2
                squares, squares_of_class = squares + alone, squares_of_class + alone.sum(axis=1)
        number = ratio(weight**2, squares)
        in_stratum = number.sum(axis=-1, keepdims=True)
        told = np.where(weight > 0, number, np.where(in_stratum > 0, in_stratum, np.inf))
        return cls(weight, number, ratio(weight.sum(axis=1) ** 2, squares_of_class), told)


def spread_of_rows(moments: Moments, slopes: Floats, by_stratum: bool) -> Spread:
    """Of independent rows, each level scaled by n / (n - 1): of a class in its stratum, or, if not `by_stratum`, in all together.

    A part that is made of shares of classes hangs on the means by how much these differ, whose square is the larger the fewer rows there are:
    it is wide enough without.
    """
    single = _single(moments, slopes)
    with np.errstate(all="ignore"):
        rows = ratio(single.weight**2, single.weight2)
        of_stratum = ratio(single.weight.sum(axis=-1) ** 2, single.weight2.sum(axis=-1))
        of_class = ratio(single.weight.sum(axis=1) ** 2, single.weight2.sum(axis=1))[:, None]
        at = _Levels.of(single.weight, single.influence)
        within = single.squared - 2 * at.both * single.mixed + at.both**2 * single.weight2
        within = np.where(within <= _ROUNDING * single.squared, 0.0, within)
        among = rows if by_stratum else np.broadcast_to(of_class, rows.shape)
        within = within * ratio(among, among - 1)
        df = among - 1
        alone = (rows > 0) & (rows < _SEVERAL) & (rows >= _SEVERAL).any(axis=1, keepdims=True)
        if by_stratum and alone.any():
            # One row of a class in a stratum varies as in those with several.
            as_in_others = np.einsum("pmkf,pkfh,pmkh->pmk", slopes, _pooled(moments, rows), slopes)
            within = np.where(alone, single.weight2 * as_in_others, within)
            df = np.where(alone, np.where(rows >= _SEVERAL, df, 0.0).sum(axis=1, keepdims=True), df)
        classes = (at.of_class**2 * single.weight2).sum(axis=-1)
        if rows.shape[1] > 1:
            classes = classes * np.where(of_stratum > 1, ratio(of_stratum, of_stratum - 1), 1.0)
        strata = (at.of_stratum**2 * single.weight2).sum(axis=(-1, -2))
        variance = within.sum(axis=(-1, -2)) + classes.sum(axis=-1) + strata
        total = rows.sum(axis=(-1, -2))
        if by_stratum:
            terms = np.where(within != 0, within**2 / df, 0.0).sum(axis=(-1, -2))
        else:
            in_class = within.sum(axis=1)
            terms = np.where(in_class != 0, in_class**2 / df[:, 0], 0.0).sum(axis=-1)
        terms = terms + ratio(classes**2, of_stratum - 1).sum(axis=-1) + strata**2 / (total - 1)
        df = np.where(variance == 0, total - 1, variance**2 / terms)
    return Spread(variance, df)


def _pooled(moments: Moments, rows: Floats) -> Floats:
    """The covariance of the features of a row of each class, (pairs, classes, features, features), by strata with several rows of it."""
    mean = ratio(moments.linear, moments.weight[..., None])
    with_unit = moments.square @ moments.unit
    crossed = with_unit[..., :, None] * mean[..., None, :]
    weight2 = moments.weight2
    around = moments.square - crossed - np.swapaxes(crossed, -1, -2)
    around = around + weight2[..., None, None] * mean[..., :, None] * mean[..., None, :]
    used = np.where(rows >= _SEVERAL, ratio(rows, rows - 1), 0.0)
    return ratio(
        (around * used[..., None, None]).sum(axis=1), np.where(used > 0, weight2, 0.0).sum(axis=1)[..., None, None]
    )


class InClusters:
    """What each bucket adds, as the jackknife would have it that leaves it out: the fewer others there are, the more.

    `clusters.linear` is (pairs, buckets, strata, classes, features). Without a bucket its class is smaller by one factor and, by strata,
    that in the stratum by another: what is left counts as their geometric mean says.
    """

    def __init__(self, clusters: Clusters) -> None:
        self.clusters = clusters
        self._weight = clusters.linear @ clusters.unit
        self._sums, self._total = clusters.linear.sum(axis=1), self._weight.sum(axis=1)
        self._whole = clusters.weight.sum(axis=-1)
        if clusters.single is not None:
            self._total = self._total + clusters.single.weight
            self._whole = self._whole + clusters.single.weight.sum(axis=(-1, -2))

    @cached_property
    def _of_class(self) -> Floats:
        """How many times what is left of a class counts, (pairs, buckets, 1, classes)."""
        return _left_out(self._weight.sum(axis=2), self._total.sum(axis=1)[:, None])[:, :, None]

    @cached_property
    def _of_all(self) -> Floats:
        return _left_out(self.clusters.weight, self._whole[:, None])

    @cached_property
    def _by_stratum(self) -> tuple[Floats, Floats]:
        times = np.sqrt(self._of_class * _left_out(self._weight, self._total[:, None]))
        return self._scaled(np.asarray(times, dtype=np.float64))

    @cached_property
    def _by_class(self) -> tuple[Floats, Floats]:
        return self._scaled(self._of_class)

    def _scaled(self, times: Floats) -> tuple[Floats, Floats]:
        """Sums of w x and of w, each bucket's so many times."""
        return _in_rows(self.clusters.linear * times[..., None]), _in_rows(self._weight * times)

    @cached_property
    def _of_shares(self) -> tuple[Floats, Floats]:
        """Sums of w as those of classes in a stratum, and of strata in all, count."""
        in_stratum = _left_out(self._weight.sum(axis=-1), self._total.sum(axis=-1)[:, None])
        of_classes = np.sqrt(self._of_all[..., None] * in_stratum)[..., None]
        return _in_rows(self._weight * of_classes), _in_rows(self._weight * self._of_all[..., None, None])

    @cached_property
    def _of_classes(self) -> Floats:
        return np.asarray(self._weight.sum(axis=2), dtype=np.float64)

    def parts(self, slopes: Floats, by_stratum: bool) -> Parts:
        """Those of a part of a metric."""
        clusters = self.clusters
        with np.errstate(all="ignore"):
            sums = (slopes * self._sums).sum(axis=-1)
            single = None if clusters.single is None else _single(clusters.single, slopes)
            if single is not None:
                sums = sums + single.influence
            at = _Levels.of(self._total, sums)
            linear, weight = self._by_stratum if by_stratum else self._by_class
            classes, strata = self._of_shares
            without: Floats = _times(linear, slopes) - _times(weight, at.both)
            without = without + _times(classes, at.of_class) + _times(strata, at.of_stratum)
            # A column for each class, so that this is a product of matrices.
            of_class = slopes[..., None] * np.eye(slopes.shape[2])[:, None]
            influence = _in_rows(clusters.linear) @ of_class.reshape(
                len(slopes), int(np.prod(slopes.shape[1:])), slopes.shape[2]
            )
            of = of_clusters(self._of_classes, influence, clusters.weight, _of_strata(single))
            squares = of.squares if single is None else _squares(single, at, self._total, self._whole, by_stratum)
            times = (of.number - 1) / of.number
        return Parts(without * np.sqrt(times)[:, None], squares * times, of.df)


def _in_rows(values: Floats) -> Floats:
    """Of each bucket, a row of numbers."""
    return values.reshape(*values.shape[:2], int(np.prod(values.shape[2:])))


def _times(values: Floats, of: Floats) -> Floats:
    """Their products, summed over each row."""
    return np.asarray((values @ of.reshape(len(of), values.shape[2], 1))[..., 0], dtype=np.float64)


def _squares(single: Single, at: _Levels, total: Floats, whole: Floats, by_stratum: bool) -> Floats:
    """The same of rows that are clusters of their own."""
    row = ratio(single.weight2, single.weight)
    of_class = ratio(single.weight2.sum(axis=1), single.weight.sum(axis=1))
    of_stratum = ratio(single.weight2.sum(axis=-1), single.weight.sum(axis=-1))
    of_all = ratio(single.weight2.sum(axis=(-1, -2)), single.weight.sum(axis=(-1, -2)))
    within = _left_out(of_class, total.sum(axis=1))[:, None]
    within = np.sqrt(within * _left_out(row, total)) if by_stratum else within
    strata = _left_out(of_all, whole)[:, None, None]
    classes = np.sqrt(strata * _left_out(of_stratum, total.sum(axis=-1))[..., None])
    between = at.of_class * classes + at.of_stratum * strata
    around = np.maximum(single.squared - 2 * at.both * single.mixed + at.both**2 * single.weight2, 0.0)
    crossed = single.mixed - at.both * single.weight2
    added = around * within**2 + 2 * crossed * within * between + single.weight2 * between**2
    return np.asarray(added.sum(axis=(-1, -2)))


def _left_out(weight: Floats, total: Floats) -> Floats:
    """How many times what is left counts without it; 0 where nothing is left."""
    with np.errstate(all="ignore"):
        return np.asarray(np.where(weight < total * (1 - _ROUNDING), 1 / (1 - weight / total), 0.0), dtype=np.float64)


def _single(moments: Moments, slopes: Floats) -> Single:
    """Sums of the influences of rows of each class in each stratum."""
    with np.errstate(all="ignore"):
        return Single(
            moments.weight,
            moments.weight2,
            (slopes * moments.linear).sum(axis=-1),
            np.einsum("pmkf,pmkfh,pmkh->pmk", slopes, moments.square, slopes),
            (slopes * (moments.square @ moments.unit)).sum(axis=-1),
        )


def _of_strata(single: Single | None) -> Single | None:
    if single is None:
        return None
    return Single(
        *(of.sum(axis=1) for of in (single.weight, single.weight2, single.influence, single.squared, single.mixed))
    )
