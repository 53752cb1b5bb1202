"""Quantiles of the normal distribution and of t: one algorithm, the same in both engines."""

from __future__ import annotations

from statistics import NormalDist
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]


def t_quantile(p: Floats | float, df: Floats) -> Floats:
    """The quantile of t with so many degrees of freedom, real ones, from 1 on."""
    z = np.vectorize(NormalDist().inv_cdf, otypes=[float])(p)
    n = np.asarray(df, dtype=np.float64)
    terms = (z**3 + z) / 4 / n + (5 * z**5 + 16 * z**3 + 3 * z) / 96 / n**2
    return np.asarray(z + terms, dtype=np.float64)
