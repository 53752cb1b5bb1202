"""The very folds of the papers' cross-validation: stratified, and drawn from NumPy's legacy generator.

The papers shuffle, class by class, the fold numbers of its rows. Folds of score sets are drawn with seed 0; those of the simulated classes by
the generator that has drawn the classes, calibrator after calibrator.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec

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
