"""Intervals from what a metric is without one part of the rows after the other: where gradients of so many sums would take too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.estimates import Formula, Limits
from polars_ec.intervals.limits import extended, limits
from polars_ec.intervals.random_parts import dealt_out
from polars_ec.intervals.scales import Scale, is_at_end
from polars_ec.intervals.spread import Moments, jackknife

Floats: TypeAlias = NDArray[np.float64]


def split_at_random(moments: Moments, n_parts: int, seed: int) -> Floats:
    """Independent rows of one-hot features, dealt out to so many parts: (groups, parts, classes, decisions).

    A cell of weighted rows has as many of equal weight as say as much. Each group has the draws that it would have alone.
    """
    weight2 = np.einsum("gkff->gkf", moments.square)
    parts = dealt_out(moments.linear, weight2, np.arange(len(weight2)), seed, n_parts)
    return np.moveaxis(parts, 0, 1)


def merged(parts: Floats, n_parts: int) -> Floats:
    """Fewer parts: each of some of them, by number modulo as many as there are to be."""
    number = np.arange(parts.shape[1]) % n_parts
    return np.stack([parts[:, number == part].sum(axis=1) for part in range(n_parts)], axis=1)


def limits_of_parts(
    formula: Formula, parts: Floats, estimates: Floats, scales: Sequence[Scale], level: float
) -> Limits:
    """The limits of metrics, (groups, metrics), from sums of w x in parts, (groups, parts, classes, features).

    NaN where a metric has no value without a part, and at an end of its scale, where parts differ by nothing that other rows would.
    """
    whole = parts.sum(axis=1)
    lows, highs = np.full_like(estimates, np.nan), np.full_like(estimates, np.nan)
    without = formula(np.moveaxis(whole[:, None] - parts, 1, 0))
    has_rows = parts.sum(axis=(2, 3)) > 0
    every_class = (whole.sum(axis=2) > 0).all(axis=1)
    for m, scale in enumerate(scales):
        value = estimates[:, m]
        replicates = np.where(has_rows, without[..., m].T, np.nan)
        spread = jackknife(replicates)
        shown = every_class & np.isfinite(value) & ~is_at_end(scale, value) & (spread.variance > 0)
        shown &= (np.isfinite(replicates) == has_rows).all(axis=1)
        low, high = extended(*limits(value, spread, scale, level), value)
        lows[:, m], highs[:, m] = np.where(shown, low, np.nan), np.where(shown, high, np.nan)
    return lows, highs
