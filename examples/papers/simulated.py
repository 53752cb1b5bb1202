"""The simulated classes of the papers: Gaussians, their log-likelihoods and log posteriors.

The papers' tables come from NumPy's legacy generator with seed 0, whose stream is frozen: the same draw gives the printed digits. What
the papers call a standard deviation is a variance, and class counts are cut off, not rounded: (1 - 0.9) * 100000 rows are 9,999.
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec

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
    return -distances / (2 * variance) - features.shape[1] / 2 * math.log(2 * math.pi * variance)


def log_softmax(joint: Floats) -> Floats:
    """Logarithms of posteriors, from logarithms that are off by a constant in each row."""
    return joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)


def labels(counts: Sequence[int]) -> pl.Series:
    """The class of each row, in the order of `gaussian_classes`."""
    return pl.Series("label", np.repeat(np.arange(len(counts)), counts), dtype=pl.Int16)


def vectors(values: Floats) -> pl.Series:
    """Rows of an array as a column."""
    return pl.Series(values, dtype=pl.Array(pl.Float64, values.shape[1]))


FOLDS = 5
FOLD_KEY = "fold_key"
"""The column of the key whose `ec.fold` is the fold that was drawn."""


def stratified_folds(label: pl.Series, generator: np.random.RandomState) -> NDArray[np.int64]:
    """The fold of each row: every class shared out evenly, in random order; the class of the first row is drawn first."""
    met = label.unique(maintain_order=True)
    number = label.replace_strict(met, range(len(met)), return_dtype=pl.Int64).to_numpy()
    in_order = np.sort(number)
    shares = [np.bincount(in_order[fold::FOLDS], minlength=len(met)) for fold in range(FOLDS)]
    folds = np.empty(len(number), dtype=np.int64)
    for k in range(len(met)):
        of_class = np.repeat(np.arange(FOLDS), [share[k] for share in shares])
        generator.shuffle(of_class)
        folds[number == k] = of_class
    return folds


def with_folds(frame: pl.DataFrame, folds: NDArray[np.int64]) -> pl.DataFrame:
    """The rows with their fold, and with a key for `fold_by` that leads there."""
    return frame.with_columns(pl.Series(FOLD_KEY, _keys()[folds])).with_columns(ec.fold(FOLD_KEY, FOLDS))


@cache
def _keys() -> NDArray[np.int64]:
    """Of each fold the first whole number that is in it."""
    numbers = pl.DataFrame({"number": range(1000)}, schema={"number": pl.Int64})
    found: NDArray[np.int64] = (
        numbers.group_by(ec.fold("number", FOLDS)).agg(pl.col("number").min()).sort("fold")["number"].to_numpy()
    )
    return found
