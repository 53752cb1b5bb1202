"""The simulated classes of the papers: Gaussians, their log-likelihoods and log posteriors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl


@cache
def gaussian_classes(counts: tuple[int, ...], means: tuple[tuple[float, ...], ...], variance: float) -> np.ndarray:
    """Features of the papers' simulated tables, class by class.

    The tables come from NumPy's legacy generator with seed 0, whose stream is frozen: the same draw gives the printed
    digits, and no tolerance for sampling noise is needed. What the papers call a standard deviation is a variance.
    """
    generator = np.random.RandomState(0)
    spread = math.sqrt(variance)
    return np.concatenate(
        [
            np.array(mean) + spread * generator.standard_normal((count, len(mean)))
            for count, mean in zip(counts, means, strict=True)
        ]
    )


def log_likelihoods(features: np.ndarray, means: Sequence[Sequence[float]], variance: float) -> np.ndarray:
    dimensions = features.shape[1]
    distances = np.stack([((features - np.array(mean)) ** 2).sum(axis=1) for mean in means], axis=1)
    return -distances / (2 * variance) - dimensions / 2 * math.log(2 * math.pi * variance)


def log_softmax(joint: np.ndarray) -> np.ndarray:
    return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def vectors(counts: Sequence[int], log_posteriors: np.ndarray) -> pl.DataFrame:
    label = pl.Series(np.repeat(np.arange(len(counts)), counts), dtype=pl.Int16)
    scores = pl.Series(log_posteriors, dtype=pl.Array(pl.Float64, log_posteriors.shape[1]))
    return pl.DataFrame({"label": label, "score": scores})
