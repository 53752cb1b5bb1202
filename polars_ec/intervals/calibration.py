"""The calibration error of posteriors that are calibrated: what chance alone makes of the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.spread import FEWEST_CLUSTERS

Floats: TypeAlias = NDArray[np.float64]

_DRAWS = 10_000
# Numbers that are drawn at a time.
_BLOCK = 2**22


@dataclass(frozen=True)
class BinnedClusters:
    """Of each bucket and bin the rows, by weight, and the gap, (groups, buckets, bins).

    `single`: of rows that are clusters of their own the noise in each bin; and the weight of them all, (groups,).
    """

    rows: Floats
    gaps: Floats
    single: Floats
    single_weight: Floats


def variance_of_gaps(size: Floats, noise: Floats, clusters: BinnedClusters | None = None) -> Floats:
    """Of the gap of each bin, as a share of the `size` of all rows, (groups,), if the posteriors are calibrated.

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
        squares = (left**2).sum(axis=1) * (number / (number - 1))[:, None] + clusters.single
        variance = squares / size[:, None] ** 2
    few = has_rows.sum(axis=1) < FEWEST_CLUSTERS
    variance = np.where(few, np.maximum(variance, independent), variance)
    known = (number >= FEWEST_CLUSTERS) | (clusters.single_weight > 0)
    return np.where(known[:, None], variance, np.nan)


def if_calibrated(variance: Floats, level: float, seed: int) -> tuple[Floats, Floats]:
    """The mean of the calibration error, and what it is below at this level, (groups,).

    The gap of each bin, a share of all rows, is normal around 0 with this variance, (groups, bins). All groups have the same draws, so
    that none hangs on the others.
    """
    spread = np.sqrt(variance)
    mean = spread.sum(axis=1) * np.sqrt(2 / np.pi)
    drawn = np.abs(np.random.default_rng(seed).standard_normal((_DRAWS, variance.shape[1])))
    high = np.empty(len(spread))
    for start in range(0, len(spread), _BLOCK // _DRAWS):
        rows = slice(start, start + _BLOCK // _DRAWS)
        high[rows] = np.quantile(drawn @ spread[rows].T, level, axis=0)
    return mean, high
