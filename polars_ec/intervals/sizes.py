"""How many rows make an interval as narrow as one wants."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.scales import Scale, forward, inverse

Floats: TypeAlias = NDArray[np.float64]

# No limits are so far apart on a scale of exponentials; and halvings that leave no digit open.
_WIDEST, _HALVINGS = 800.0, 100
_MOST = 2.0**62


def rows_for_width(
    n: Floats, value: Floats, low: Floats, high: Floats, bins: Floats, *, scale: Scale, width: float
) -> Floats:
    """The whole numbers of rows at which limits are so far apart; NaN where that is not known.

    `low` and `high` are the limits at `n` rows, without what bins hide, which is `bins` at any number of rows.
    """
    at, half = forward(scale, value), (forward(scale, high) - forward(scale, low)) / 2
    with np.errstate(all="ignore"):
        known = np.isfinite(at) & np.isfinite(half) & (half > 0) & (width > bins)
        wanted = _half_of(width - bins, np.where(known, at, 0.0), scale)
        rows = np.ceil(n * (half / wanted) ** 2)
    return np.where(known & (rows < _MOST), np.maximum(rows, 1), np.nan)


def _half_of(widths: Floats, at: Floats, scale: Scale) -> Floats:
    """How far from here, on the scale, limits are that are so far apart on that of the metric: by halving."""
    least, most = np.zeros_like(at), np.maximum(widths, _WIDEST)
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        narrow = inverse(scale, at + middle) - inverse(scale, at - middle) < widths
        least, most = np.where(narrow, middle, least), np.where(narrow, most, middle)
    return most
