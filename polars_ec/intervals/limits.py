"""From a value and its spread to the limits of an interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.quantiles import t_quantile
from polars_ec.intervals.scales import Scale, forward, inverse, slope
from polars_ec.intervals.spread import Spread

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Limits: TypeAlias = tuple[Floats, Floats]

# The squares of smaller numbers, and of larger ones, lose digits, and then nothing is left of a variance.
_LEAST, _MOST = 1e-140, 1e140


def limits(value: Floats, spread: Spread, scale: Scale, level: float) -> Limits:
    """The lower and the upper limit; NaN where there is no variance, where the value is at an end of its scale, and where its square is no number."""
    with np.errstate(all="ignore"):
        at = forward(scale, value)
        # Fewer degrees of freedom than one would make limits without meaning.
        half = t_quantile(0.5 + level / 2, np.fmax(spread.df, 1)) * spread.standard_error
        half = half * np.abs(slope(scale, value))
        low, high = inverse(scale, at - half), inverse(scale, at + half)
    size = np.abs(value)
    known = np.isfinite(at) & np.isfinite(half) & ((size == 0) | (size > _LEAST) & (size < _MOST))
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def extended(low: Floats, high: Floats, value: Floats) -> Limits:
    """The limits, so far apart that they hold the value."""
    return np.where(np.isnan(low), np.nan, np.minimum(low, value)), np.where(
        np.isnan(high), np.nan, np.maximum(high, value)
    )


def limits_of_each(
    estimates: Floats, scales: Sequence[Scale], level: float, found: Iterable[tuple[Floats, Spread, Bools]]
) -> Limits:
    """The limits of metrics, (groups, metrics), so far apart that they hold the estimates; NaN where there are none.

    `found` has of each metric where its interval is centred, its spread, and in which groups it is known.
    """
    lows, highs = np.full_like(estimates, np.nan), np.full_like(estimates, np.nan)
    for m, (scale, (centre, spread, known)) in enumerate(zip(scales, found, strict=True)):
        value = estimates[:, m]
        low, high = extended(*limits(centre, spread, scale, level), value)
        shown = known & np.isfinite(value)
        lows[:, m], highs[:, m] = np.where(shown, low, np.nan), np.where(shown, high, np.nan)
    return lows, highs
