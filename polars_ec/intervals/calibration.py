"""The calibration error of posteriors that are calibrated: what chance alone makes of the same ones."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

_DRAWS = 10_000
# Numbers that are drawn at a time.
_BLOCK = 2**22


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
