"""Limits of metrics of decisions, from how many rows of each class have each decision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.gradient import gradient
from polars_ec.intervals.limits import extended, limits
from polars_ec.intervals.scales import Scale, forward
from polars_ec.intervals.spread import FEWEST_CLUSTERS, Alone, Moments, Spread, effective_clusters, spread_of_clusters

Floats: TypeAlias = NDArray[np.float64]
Formulas: TypeAlias = Callable[[Floats], Floats]
"""Metrics as functions of sums: (variants, groups, sums) to (variants, groups, metrics)."""


@dataclass(frozen=True)
class Clusters:
    """Sums of the features of rows by bucket, (groups, buckets, classes, features), with the weight of each, (groups, buckets).

    `single` are the rows that are clusters of their own, and in no bucket.
    """

    linear: Floats
    buckets: Floats
    single: Moments | None = None

    def spread_of(self, slopes: Floats) -> Spread:
        """Of a metric with this gradient, (groups, classes, features)."""
        return spread_of_clusters(slopes, self.buckets, self.linear, self.single)

    @property
    def known(self) -> NDArray[np.bool_]:
        """(groups,): whether there are enough of them."""
        number = (self.buckets > 0).sum(axis=-1).astype(np.float64)
        if self._alone is not None:
            with np.errstate(all="ignore"):
                number += np.where(self._alone.weight > 0, self._alone.weight**2 / self._alone.weight2, 0.0)
        return np.asarray(number >= FEWEST_CLUSTERS)

    @property
    def effective(self) -> Floats:
        """(groups,): how many of equal weight say as much."""
        return effective_clusters(self.buckets, self._alone)

    @property
    def _alone(self) -> Alone | None:
        if self.single is None:
            return None
        return Alone(self.single.weight.sum(axis=-1), self.single.weight2.sum(axis=-1), np.zeros(len(self.buckets)))


def decision_limits(
    formulas: Formulas,
    decided: Floats,
    decided2: Floats,
    scales: Sequence[Scale],
    level: float,
    clusters: Clusters | None = None,
) -> tuple[Floats, Floats]:
    """The limits of each metric, (groups, metrics); NaN where there are none.

    `decided` are sums of w, (groups, classes, decisions), and `decided2` of w^2.
    """
    n_groups, n_classes, n_decisions = decided.shape
    values = formulas(decided.reshape(1, n_groups, -1))[0]
    with np.errstate(all="ignore"):
        known = np.isfinite(values) & (decided.sum(axis=-1) > 0).all(axis=-1)[:, None]
    if clusters is None:
        low, high = _of_independent_rows(formulas, decided, decided2, scales, level)
        return _within(low, high, values, known)
    slopes = gradient(formulas, decided.reshape(n_groups, -1))
    low, high = np.full_like(values, np.nan), np.full_like(values, np.nan)
    at_end = np.zeros(values.shape, dtype=bool)
    for m, scale in enumerate(scales):
        spread = clusters.spread_of(slopes[:, :, m].reshape(decided.shape))
        low[:, m], high[:, m] = limits(values[:, m], spread, scale, level)
        at_end[:, m] = ~np.isfinite(forward(scale, values[:, m])) | (spread.variance == 0)
    known = known & clusters.known[:, None]
    if (at_end & known).any():
        # As many rows as clusters say as much as, for these see no spread at all.
        with np.errstate(all="ignore"):
            whole = decided.sum(axis=(1, 2))
            rows = np.fmin(clusters.effective, whole**2 / decided2.sum(axis=(1, 2)))
            few = decided * (rows / whole)[:, None, None]
        few_low, few_high = _of_independent_rows(formulas, few, few, scales, level)
        few_low, few_high = _within(few_low, few_high, values, known)
        low, high = np.where(at_end, few_low, low), np.where(at_end, few_high, high)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _of_independent_rows(
    formulas: Formulas, decided: Floats, decided2: Floats, scales: Sequence[Scale], level: float
) -> tuple[Floats, Floats]:
    """One row of each class more, dealt out evenly to the decisions: so no rate is 0 or 1."""
    n_groups, _, n_decisions = decided.shape
    with np.errstate(all="ignore"):
        of_class = decided.sum(axis=-1, keepdims=True)
        weight = decided2.sum(axis=-1, keepdims=True) / of_class
        more, more2 = decided + weight / n_decisions, decided2 + weight**2 / n_decisions
    values = formulas(more.reshape(1, n_groups, -1))[0]
    slopes = gradient(formulas, more.reshape(n_groups, -1))
    moments = Moments(more, more2[..., None] * np.eye(n_decisions), np.ones(n_decisions))
    both = [
        limits(values[:, m], moments.spread_of(slopes[:, :, m].reshape(decided.shape)), scale, level)
        for m, scale in enumerate(scales)
    ]
    return np.stack([low for low, _ in both], axis=-1), np.stack([high for _, high in both], axis=-1)


def _within(low: Floats, high: Floats, values: Floats, known: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    low, high = extended(low, high, values)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def is_beside_kink(costs: Floats, decided: Floats, spread_of: Callable[[Floats], Spread]) -> NDArray[np.bool_]:
    """(groups,): whether the two cheapest constant decisions differ by less than two standard errors of that difference.

    `costs` are of classes and decisions; `spread_of` is that of a metric with a gradient of the shape of `decided`.
    """
    with np.errstate(all="ignore"):
        of_class = decided.sum(axis=-1)
        whole = of_class.sum(axis=-1, keepdims=True)
        constant = of_class @ costs / whole
        order = np.argsort(constant, axis=-1, kind="stable")[:, :2]
        of_each = np.take_along_axis(constant, order, axis=-1)
        difference = of_each[:, 1] - of_each[:, 0]
        by_class = costs[:, order[:, 1]].T - costs[:, order[:, 0]].T
        slopes = (by_class - difference[:, None]) / whole
        spread = spread_of(np.broadcast_to(slopes[:, :, None], decided.shape))
        return np.asarray(difference < 2 * spread.standard_error)
