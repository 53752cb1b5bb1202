"""The simulated classes of the papers: Gaussians, their log-likelihoods and log posteriors.

The papers' tables come from NumPy's legacy generator with seed 0, whose stream is frozen: the same draw gives the printed digits. What
the papers call a standard deviation is a variance, and class counts are cut off, not rounded: (1 - 0.9) * 100000 rows are 9,999.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@cache
def gaussian_classes(counts: tuple[int, ...], means: tuple[tuple[float, ...], ...], variance: float) -> Floats:
    """Features, class by class."""
    generator = np.random.RandomState(0)
    spread = math.sqrt(variance)
    return np.concatenate(
        [
            np.array(mean) + spread * generator.standard_normal((count, len(mean)))
            for count, mean in zip(counts, means, strict=True)
        ]
    )


def log_likelihoods(features: Floats, means: Sequence[Sequence[float]], variance: float) -> Floats:
    """Of every class, in columns."""
    distances = np.stack([((features - np.array(mean)) ** 2).sum(axis=1) for mean in means], axis=1)
    of_classes: Floats = -distances / (2 * variance) - features.shape[1] / 2 * math.log(2 * math.pi * variance)
    return of_classes


def log_softmax(joint: Floats) -> Floats:
    """Logarithms of posteriors, from logarithms that are off by a constant in each row."""
    normalised: Floats = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    return normalised


def labels(counts: Sequence[int]) -> pl.Series:
    """The class of each row, in the order of `gaussian_classes`."""
    return pl.Series("label", np.repeat(np.arange(len(counts)), counts), dtype=pl.Int16)


def vectors(values: Floats) -> pl.Series:
    """Rows of an array as a column."""
    return pl.Series(values, dtype=pl.Array(pl.Float64, values.shape[1]))
