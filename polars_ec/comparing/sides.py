"""The two sides of a difference of groups: what of their variance they share, because clusters are on both, and what is each one's own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.estimates import Clusters, has_no_width, of_so_many_rows
from polars_ec.intervals.spread import Moments, Single, Spread, has_rows, of_clusters, rests_on_one_cluster

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]
Slopes: TypeAlias = Callable[[Floats], Floats]
"""Derivatives of metrics, (groups, classes, features, metrics), at sums, (groups, classes, features)."""


@dataclass(frozen=True)
class Parts:
    """Of a metric of one side: what its variance is made of, (groups,).

    `shared` are influences of buckets, (groups, buckets), whose squares sum to a variance; clusters may be on both sides. `own` is
    the variance of rows that are clusters of their own.
    """

    shared: Floats | None
    own: Floats
    df: Floats

    @property
    def variance(self) -> Floats:
        """Of the side alone."""
        return self.own if self.shared is None else (self.shared**2).sum(axis=-1) + self.own

    def taken(self, groups: Integers) -> Parts:
        """Those of these groups."""
        return Parts(None if self.shared is None else self.shared[groups], self.own[groups], self.df[groups])


def between(side: Parts, other: Parts) -> Spread:
    """Of the difference; degrees of freedom as if the sides were independent (Satterthwaite): those of the larger variance count most."""
    variances = side.variance, other.variance
    variance = side.own + other.own
    if side.shared is not None and other.shared is not None:
        variance = variance + ((side.shared - other.shared) ** 2).sum(axis=-1)
    terms = sum(np.where(v == 0, 0.0, v**2 / of.df) for v, of in zip(variances, (side, other), strict=True))
    df = np.where(terms > 0, (variances[0] + variances[1]) ** 2 / terms, np.inf)
    return Spread(variance, np.where(np.isnan(variance), np.nan, df))


@dataclass(frozen=True)
class Side:
    """Sums of groups, or of several groups together, and how metrics move with them."""

    moments: Moments
    clusters: Clusters | None
    slopes_at: Slopes
    enlarged: Callable[[Moments], Moments] | None
    """Adds half a row to each cell of decisions: a rate of 0 or 1 is no less uncertain than its neighbours. None for losses."""

    @cached_property
    def slopes(self) -> Floats:
        """Derivatives of the metrics, (groups, classes, features, metrics)."""
        return self.slopes_at(self.moments.linear)

    @cached_property
    def with_more_rows(self) -> tuple[Moments, Floats]:
        """The sums that independent rows vary by, to which rows are added if that is asked for, and the derivatives there."""
        if self.enlarged is None:
            return self.moments, self.slopes
        moments = self.enlarged(self.moments)
        return moments, self.slopes_at(moments.linear)

    @cached_property
    def _with_fewer_rows(self) -> tuple[Moments, Floats]:
        """The same of as many independent rows of each class as there are clusters of it."""
        assert self.clusters is not None
        assert self.enlarged is not None
        moments = self.enlarged(of_so_many_rows(self.moments, self.clusters.number))
        return moments, self.slopes_at(moments.linear)

    def parts(self, column: int, value: Floats) -> Parts:
        """Those of a metric; NaN where a class has no rows, or, for losses, one, or all rows or clusters are alike."""
        parts = self.parts_of_difference(column, self.at_the_end(column, value))
        # Losses that are all alike say nothing of what other rows would lose.
        alike = has_no_width(parts.variance, value)
        return Parts(parts.shared, np.where(alike, np.nan, parts.own), parts.df)

    def at_the_end(self, column: int, value: Floats) -> Bools:
        """Groups in whose clusters all decisions are alike: a rate of 0 or 1."""
        if self.clusters is None or self.enlarged is None:
            return np.zeros(len(value), dtype=bool)
        return has_no_width(self._of_clusters(self.clusters, column).variance, value)

    def parts_of_difference(self, column: int, at_the_end: Bools) -> Parts:
        """The same where the slopes are those of a difference from all, of which the rows of the group are some."""
        known = has_rows(self.moments.rows, several=self.enlarged is None)
        if self.clusters is None:
            parts = _of_rows(*self.with_more_rows, column)
        else:
            parts = self._of_clusters(self.clusters, column)
            if at_the_end.any():
                # A rate of 0 or 1 varies as that of as many independent rows of each class as there are clusters of it.
                of_rows = _of_rows(*self._with_fewer_rows, column)
                own, df = (np.where(at_the_end, *of) for of in ((of_rows.own, parts.own), (of_rows.df, parts.df)))
                parts = Parts(parts.shared, own, df)
        return Parts(parts.shared, np.where(known, parts.own, np.nan), parts.df)

    def _of_clusters(self, clusters: Clusters, column: int) -> Parts:
        slopes = self.slopes[..., column]
        single = None if clusters.single is None else Single.of(clusters.single, slopes)
        influence = np.einsum("gkf,gbkf->gbk", slopes, clusters.linear)
        of = of_clusters(clusters.linear @ clusters.unit, influence, clusters.weight, single)
        shared, own = of.scaled
        on_one = rests_on_one_cluster(slopes, clusters.linear, clusters.unit, single)
        return Parts(shared, np.where(on_one, np.nan, own), of.df)


def _of_rows(moments: Moments, slopes: Floats, column: int) -> Parts:
    spread = moments.spread_of(slopes[..., column])
    return Parts(None, spread.variance, spread.df)


def exclusive(sums: Floats) -> Floats:
    """Of each group the sum of all others: added up from both ends, for what is left of a whole would lose digits."""
    before, after = np.zeros_like(sums), np.zeros_like(sums)
    before[1:] = np.cumsum(sums[:-1], axis=0)
    after[:-1] = np.cumsum(sums[:0:-1], axis=0)[::-1]
    return np.asarray(before + after)
