"""Intervals of single estimates: metrics of groups, each a formula of sums over the rows of each class."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.gradient import gradient
from polars_ec.intervals.limits import Limits, limits_of_each
from polars_ec.intervals.scales import Scale, is_at_end
from polars_ec.intervals.spread import Moments, Spread, effective_clusters, has_rows, spread_of_clusters

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Formula: TypeAlias = Callable[[Floats], Floats]
"""From sums of w x, (variants, groups, classes, features), to metrics, (variants, groups, metrics); NaN for null."""

# Of the value: what a variance of 0 is, but for rounding.
_NO_WIDTH = 1e-9


@dataclass(frozen=True)
class Clusters:
    """Sums of w x per bucket, (groups, buckets, classes, features), 0 where it is empty; `single` are rows that are clusters of their own."""

    linear: Floats
    weight: Floats
    """(groups, buckets)"""
    unit: Floats
    """It times the features of a row is 1."""
    single: Moments | None = None

    def spread_of(self, gradient: Floats) -> Spread:
        """Of the metric with this gradient."""
        return spread_of_clusters(gradient, self.weight, self.linear, self.unit, self.single)

    @property
    def number(self) -> Floats:
        """Of each class, of all strata if there are any, how many clusters of equal weight say as much as those with rows of it."""
        of_class = np.moveaxis(_of_all_strata(self.linear @ self.unit, 2), 1, -1)
        if self.single is None:
            return effective_clusters(of_class)
        weight, weight2 = (_of_all_strata(of, 1) for of in (self.single.weight, self.single.weight2))
        return effective_clusters(of_class, weight, weight2)


def _of_all_strata(sums: Floats, n_before: int) -> Floats:
    """Added up over what stands between so many axes and the classes."""
    return np.asarray(sums.sum(axis=tuple(range(n_before, sums.ndim - 1))))


def one_hot(linear: Floats, weight2: Floats) -> Moments:
    """Of the sums of w and of w^2 of each class and decision, (groups, classes, decisions)."""
    n_decisions = linear.shape[-1]
    return Moments(linear, weight2[..., None] * np.eye(n_decisions), np.ones(n_decisions))


def of_classes(moments: Moments) -> Moments:
    """Of one-hot features those of the class alone."""
    linear, square = moments.linear.sum(axis=-1), moments.square.sum(axis=(-2, -1))
    return Moments(linear[..., None], square[..., None, None], np.ones(1))


def with_one_row(moments: Moments) -> Moments:
    """With rows in each class, of its mean weight, spread evenly over the decisions: one-hot features.

    In all classes together they make as many errors as one row in each of two classes does, which is one: more would move what many
    classes make together by more than its standard error.
    """
    return _with_rows(moments, moments.linear.shape[-2])


def with_half_an_error(moments: Moments) -> Moments:
    """The same for metrics of one class each: half an error in each class, as one row in each of two classes makes."""
    return _with_rows(moments, 2)


def _with_rows(moments: Moments, n_classes: int) -> Moments:
    """With as much of each decision as makes one error in so many classes; of two decisions no more than half a row."""
    n_decisions = moments.linear.shape[-1]
    of_each = 1 / (max(n_classes, 2) * max(n_decisions - 1, 1))
    weight = _mean_weight(moments)[..., None]
    square = (weight**2)[..., None] * np.eye(n_decisions) * of_each
    return Moments(moments.linear + weight * of_each, moments.square + square, moments.unit)


def with_one_cost(moments: Moments) -> Moments:
    """The same of features 1, the cost of an error, and the cost if it is one: a row of mean cost, half of it an error."""
    with np.errstate(all="ignore"):
        cost = np.where(moments.weight > 0, moments.linear[..., 1] / moments.weight, 0.0)
    weight = _mean_weight(moments)
    right = np.stack([np.ones_like(cost), cost, np.zeros_like(cost)], axis=-1)
    wrong = np.stack([np.ones_like(cost), cost, cost], axis=-1)
    linear, square = moments.linear, moments.square
    for x in (right, wrong):
        linear = linear + x * weight[..., None] / 2
        square = square + x[..., :, None] * x[..., None, :] * (weight**2)[..., None, None] / 2
    return Moments(linear, square, moments.unit)


def _mean_weight(moments: Moments) -> Floats:
    # That of as many rows of equal weight as say as much: a row of weight 0 counts as no row.
    with np.errstate(all="ignore"):
        return np.asarray(np.where(moments.weight > 0, moments.weight2 / moments.weight, 0.0), dtype=np.float64)


def limits_of_rows(
    formula: Formula,
    moments: Moments,
    estimates: Floats,
    scales: Sequence[Scale],
    level: float,
    enlarged: Callable[[Moments], Moments] | None = None,
) -> Limits:
    """The limits of metrics of independent rows, (groups, metrics); NaN where there are none.

    `estimates` are their values, (groups, metrics), NaN for null. Metrics of decisions are `enlarged` by a row in each class.
    """
    at = moments if enlarged is None else enlarged(moments)
    slopes = slopes_of(formula, at.linear)
    moved = estimates if enlarged is None else formula(at.linear[None])[0]
    known = has_rows(moments.rows, several=enlarged is None)
    n_classes = moments.linear.shape[1]
    found = (
        (_centre_of(estimates[:, m], moved[:, m], scale, n_classes), at.spread_of(slopes[..., m]), known)
        for m, scale in enumerate(scales)
    )
    return limits_of_each(estimates, scales, level, found)


def has_no_width(variance: Floats, value: Floats) -> Bools:
    """Whether all rows, or clusters, are alike, but for rounding."""
    return np.asarray(variance <= (_NO_WIDTH * value) ** 2)


def _centre_of(value: Floats, moved: Floats, scale: Scale, n_classes: int) -> Floats:
    """Where the interval of a metric of decisions is centred: at what the rows that are added make of it.

    With a row in each of many classes that would be farther off than its noise: then at the value, unless this is at an end of its scale.
    """
    return moved if n_classes <= 2 else np.where(is_at_end(scale, value), moved, value)


def limits_of_clusters(
    formula: Formula,
    moments: Moments,
    clusters: Clusters,
    estimates: Floats,
    scales: Sequence[Scale],
    level: float,
    enlarged: Callable[[Moments], Moments] | None = None,
) -> Limits:
    """The same of rows in clusters. A rate of 0 or 1 has the limits of as many independent rows of each class as there are clusters of it."""
    slopes = slopes_of(formula, moments.linear)
    known = has_rows(moments.rows, several=enlarged is None)
    spreads = [clusters.spread_of(slopes[..., m]) for m in range(len(scales))]
    found = ((value, spread, known) for value, spread in zip(estimates.T, spreads, strict=True))
    lows, highs = limits_of_each(estimates, scales, level, found)
    at_the_end = np.zeros(estimates.shape, dtype=bool)
    for m, (value, spread, scale) in enumerate(zip(estimates.T, spreads, scales, strict=True)):
        with np.errstate(all="ignore"):
            no_width = has_no_width(spread.variance, value)
        shown = known & np.isfinite(value)
        at_the_end[:, m] = shown & np.isfinite(spread.df) & (no_width | is_at_end(scale, value))
    groups = np.asarray(at_the_end.any(axis=-1))
    if enlarged is None or not groups.any():
        return lows, highs
    fewer = of_so_many_rows(moments, clusters.number)
    chosen = Moments(fewer.linear[groups], fewer.square[groups], fewer.unit)
    of_rows = limits_of_rows(_of_groups(formula, groups), chosen, estimates[groups], scales, level, enlarged)
    for ends, instead in zip((lows, highs), of_rows, strict=True):
        ends[groups] = np.where(at_the_end[groups], instead, ends[groups])
    return lows, highs


def slopes_of(formula: Formula, linear: Floats) -> Floats:
    """The derivatives of the metrics, (groups, classes, features, metrics)."""
    n_groups, *shape = linear.shape
    flat = linear.reshape(n_groups, int(np.prod(shape)))
    slopes = gradient(lambda sums: formula(sums.reshape(len(sums), n_groups, *shape)), flat)
    return slopes.reshape(n_groups, *shape, slopes.shape[-1])


def of_so_many_rows(moments: Moments, number: Floats) -> Moments:
    """The same sums of fewer rows, so many of each class, (groups, classes), that are like these on average; of no more than there are."""
    with np.errstate(all="ignore"):
        rows = np.minimum(number, moments.rows)
        heavier = np.where(moments.weight > 0, moments.weight**2 / rows / moments.weight2, 0.0)
    return Moments(moments.linear, moments.square * heavier[..., None, None], moments.unit)


def _of_groups(formula: Formula, groups: Bools) -> Formula:
    """The formula where only some of the groups have sums: it needs all of them, for each has its own prior."""

    def of_some(sums: Floats) -> Floats:
        every = np.ones((len(sums), len(groups), *sums.shape[2:]))
        every[:, groups] = sums
        return formula(every)[:, groups]

    return of_some


def is_beside_kink(constant_costs: Formula, linear: Floats, spread_of: Callable[[Floats], Spread]) -> Bools:
    """Of each group whether the cheapest constant decision and the next differ by less than two standard errors of that difference.

    There NEC has a kink, and an interval of a smooth metric fails. `constant_costs` are those of each constant decision.
    """
    costs = constant_costs(linear[None])[0]
    if costs.shape[-1] == 1:
        return np.zeros(len(costs), dtype=bool)
    first, second = np.argsort(costs, axis=-1, kind="stable")[:, :2].T
    groups = np.arange(len(costs))
    slopes = slopes_of(constant_costs, linear)
    spread = spread_of(slopes[groups, ..., second] - slopes[groups, ..., first])
    with np.errstate(all="ignore"):
        return np.asarray(costs[groups, second] - costs[groups, first] < 2 * spread.standard_error)
