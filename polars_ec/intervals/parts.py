"""Intervals from what a metric is without one part of the rows after the other: where gradients of so many sums would take too long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.estimates import Formula, Limits, centre_of
from polars_ec.intervals.limits import extended, limits
from polars_ec.intervals.scales import Scale, forward
from polars_ec.intervals.spread import Moments, Spread, jackknife

Floats: TypeAlias = NDArray[np.float64]


def split_at_random(moments: Moments, n_parts: int, seed: int) -> Floats:
    """Independent rows of one-hot features, dealt out to so many parts: (groups, parts, classes, decisions).

    A cell of weighted rows has as many of equal weight as say as much. Each group has the draws that it would have alone.
    """
    with np.errstate(all="ignore"):
        weight2 = np.einsum("gkff->gkf", moments.square)
        number = np.where(moments.linear > 0, np.rint(moments.linear**2 / weight2), 0.0)
        number = np.where((number == 0) & (moments.linear > 0), 1.0, number)
        of_each = np.where(number > 0, moments.linear / number, 0.0)
    even = np.full(n_parts, 1 / n_parts)
    drawn = [np.random.default_rng(seed).multinomial(cells, even) for cells in number.astype(np.int64)]
    return np.asarray(np.moveaxis(np.stack(drawn), -1, 1) * of_each[:, None], dtype=np.float64)


def merged(parts: Floats, n_parts: int) -> Floats:
    """Fewer parts: each of some of them, by number modulo as many as there are to be."""
    number = np.arange(parts.shape[1]) % n_parts
    return np.stack([parts[:, number == part].sum(axis=1) for part in range(n_parts)], axis=1)


def limits_of_parts(
    formula: Formula,
    parts: Floats,
    more: Floats | None,
    estimates: Floats,
    scales: Sequence[Scale],
    level: float,
    number: Floats | None = None,
) -> Limits:
    """The limits of metrics, (groups, metrics), from sums of w x in parts, (groups, parts, classes, features).

    `more` are sums that are in no part: rows that are added where rates may be 0 or 1. `number` says how many parts of equal weight say as
    much, (groups,), if not as many as there are. NaN where a metric has no value without a part.
    """
    whole = parts.sum(axis=1) if more is None else parts.sum(axis=1) + more
    lows, highs = np.full_like(estimates, np.nan), np.full_like(estimates, np.nan)
    moved = estimates if more is None else formula(whole[None])[0]
    without = formula(np.moveaxis(whole[:, None] - parts, 1, 0))
    has_rows = parts.sum(axis=(2, 3)) > 0
    every_class = (whole.sum(axis=2) > 0).all(axis=1)
    for m, scale in enumerate(scales):
        replicates = np.where(has_rows, without[..., m].T, np.nan)
        spread = jackknife(replicates)
        spread = spread if number is None else Spread(spread.variance, np.minimum(spread.df, number - 1))
        shown = every_class & np.isfinite(estimates[:, m]) & (spread.variance > 0)
        shown &= (np.isfinite(replicates) == has_rows).all(axis=1)
        centre = centre_of(estimates[:, m], moved[:, m], scale, parts.shape[2])
        low, high = extended(*limits(centre, spread, scale, level), estimates[:, m])
        lows[:, m], highs[:, m] = np.where(shown, low, np.nan), np.where(shown, high, np.nan)
    return lows, highs


def limits_at_ends(
    formula: Formula, moments: Moments, enlarged: Moments, estimates: Floats, scales: Sequence[Scale], level: float
) -> Limits:
    """The limits of metrics at an end of their scale, as rates of 0 and 1 are; NaN for all others. One-hot features.

    No part of the rows tells what others would be like there. What the rows do that are added to each class, by a share in each decision,
    stands for it: the errors among those of one class after the other are left out, and among those of one decision.
    """
    n_classes, n_decisions = moments.linear.shape[1:]
    more = enlarged.linear - moments.linear
    wrong = np.where(np.eye(n_classes, n_decisions, dtype=bool), 0.0, more)
    of_class = wrong[:, None] * np.eye(n_classes)[:, :, None]
    of_decision = wrong[:, None] * np.eye(n_decisions)[:, None]
    left = np.concatenate([of_class, of_decision], axis=1)
    values = formula(np.concatenate([enlarged.linear[None], enlarged.linear - np.moveaxis(left, 1, 0)]))
    rows = np.concatenate([enlarged.rows, _rows_decided(enlarged)], axis=1)
    lows, highs = np.full_like(estimates, np.nan), np.full_like(estimates, np.nan)
    for m, scale in enumerate(scales):
        with np.errstate(all="ignore"):
            terms = (values[1:, :, m] - values[0, :, m]).T ** 2
            variance = terms.sum(axis=1)
            df = variance**2 / (terms**2 / np.fmax(rows - 1, 1)).sum(axis=1)
        low, high = extended(*limits(values[0, :, m], Spread(variance, df), scale, level), estimates[:, m])
        shown = np.isfinite(estimates[:, m]) & ~np.isfinite(forward(scale, estimates[:, m])) & (variance > 0)
        shown &= (moments.rows > 0).all(axis=-1)
        lows[:, m], highs[:, m] = np.where(shown, low, np.nan), np.where(shown, high, np.nan)
    return lows, highs


def _rows_decided(moments: Moments) -> Floats:
    """Of each decision how many rows of equal weight say as much."""
    weight2 = np.einsum("gkff->gf", moments.square)
    with np.errstate(all="ignore"):
        return np.asarray(np.where(weight2 > 0, moments.linear.sum(axis=1) ** 2 / weight2, 0.0), dtype=np.float64)
