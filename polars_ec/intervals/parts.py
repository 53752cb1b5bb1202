"""Intervals from what a metric is without one part of the rows after the other: where gradients of so many sums would take too long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.estimates import Formula
from polars_ec.intervals.limits import Limits, limits_of_each
from polars_ec.intervals.random_parts import dealt_out
from polars_ec.intervals.scales import Scale, is_at_end
from polars_ec.intervals.spread import Moments, Spread, effective_rows, jackknife

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


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
    formula: Formula,
    parts: Floats,
    estimates: Floats,
    scales: Sequence[Scale],
    level: float,
    number: Floats | None = None,
) -> Limits:
    """The limits of metrics, (groups, metrics), from sums of w x in parts, (groups, parts, classes, features).

    `number` says how many parts of equal weight say as much, (groups,), if not as many as there are. NaN where a metric has no value
    without a part, and at an end of its scale, where what parts differ by is not what other rows would.
    """
    whole = parts.sum(axis=1)
    without = formula(np.moveaxis(whole[:, None] - parts, 1, 0))
    has_rows = parts.sum(axis=(2, 3)) > 0
    every_class = (whole.sum(axis=2) > 0).all(axis=1)

    def found() -> Iterator[tuple[Floats, Spread, Bools]]:
        for m, (value, scale) in enumerate(zip(estimates.T, scales, strict=True)):
            replicates = np.where(has_rows, without[..., m].T, np.nan)
            spread = jackknife(replicates)
            spread = spread if number is None else Spread(spread.variance, np.minimum(spread.df, number - 1))
            known = every_class & ~is_at_end(scale, value) & (spread.variance > 0)
            yield value, spread, known & (np.isfinite(replicates) == has_rows).all(axis=1)

    return limits_of_each(estimates, scales, level, found())


def limits_at_ends(
    formula: Formula, moments: Moments, enlarged: Moments, estimates: Floats, scales: Sequence[Scale], level: float
) -> Limits:
    """The limits of metrics at an end of their scale, as rates of 0 and 1 are; NaN for all others. One-hot features.

    No part of the rows tells what others would be like there. What the rows do that are added to each class, by a share in each decision,
    stands for it: the errors among those of one class after the other are left out, and among those of one decision. So much of a row
    as is left out varies as that much of the square of what a whole one would do.
    """
    n_classes, n_decisions = moments.linear.shape[1:]
    more = enlarged.linear - moments.linear
    wrong = np.where(np.eye(n_classes, n_decisions, dtype=bool), 0.0, more)
    of_class = wrong[:, None] * np.eye(n_classes)[:, :, None]
    of_decision = wrong[:, None] * np.eye(n_decisions)[:, None]
    left = np.concatenate([of_class, of_decision], axis=1)
    errors = np.concatenate([_errors(moments, enlarged, wrong, axis) for axis in (-1, -2)], axis=1)
    values = formula(np.concatenate([enlarged.linear[None], enlarged.linear - np.moveaxis(left, 1, 0)]))
    rows = np.concatenate([enlarged.rows, _rows_decided(enlarged)], axis=1)
    every_class = (moments.rows > 0).all(axis=-1)

    def found() -> Iterator[tuple[Floats, Spread, Bools]]:
        for m, (value, scale) in enumerate(zip(estimates.T, scales, strict=True)):
            with np.errstate(all="ignore"):
                terms = (values[1:, :, m] - values[0, :, m]).T ** 2 / errors
                variance = terms.sum(axis=1)
                df = variance**2 / (terms**2 / np.fmax(rows - 1, 1)).sum(axis=1)
            yield values[0, :, m], Spread(variance, df), every_class & is_at_end(scale, value) & (variance > 0)

    return limits_of_each(estimates, scales, level, found())


def _errors(moments: Moments, enlarged: Moments, wrong: Floats, axis: int) -> Floats:
    """How many rows are wrong among those that are added, by class or by decision."""
    squares = np.einsum("gkff->gkf", enlarged.square - moments.square)
    return np.asarray(effective_rows(wrong, squares).sum(axis=axis), dtype=np.float64)


def _rows_decided(moments: Moments) -> Floats:
    """Of each decision how many rows of equal weight say as much."""
    return effective_rows(moments.linear.sum(axis=1), np.einsum("gkff->gf", moments.square))
