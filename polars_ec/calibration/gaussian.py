"""The Gaussian score model: normal scores with a mean for each class and one variance, so that their LLR is affine."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_ec.calibration.affine_functions import affine_table
from polars_ec.calibration.arrays import Booleans, Floats
from polars_ec.calibration.parameters import REVERSED
from polars_ec.calibration.training_set import Training, first_reason

# The share of alpha times the range of the scores that rounding may take from alpha x + beta.
_DIGITS_LOST = 1e-6


@np.errstate(all="ignore")
def fit_gaussian(training: Training) -> pl.DataFrame:
    """A row per `fit`, as `fit_affine` gives it; no iterations are needed."""
    x, seen = training.table.log_odds, training.seen
    lowest, highest = training.range(x, seen)
    half_range = highest / 2 - lowest / 2
    fit, cell = training.points(np.ones(training.n_fits, dtype=bool))
    negative, positive = training.weights(fit, cell)
    # On a scale from 0 to 1 no square is too large, and none is small because the scores lie far from 0.
    unit = (x[cell] / 2 - lowest[fit] / 2) / half_range[fit]

    def mean(values: Floats, weight: Floats) -> Floats:
        means: Floats = np.bincount(fit, values, training.n_fits) / np.bincount(fit, weight, training.n_fits)
        return means

    mean_0, mean_1 = mean(negative * unit, negative), mean(positive * unit, positive)
    squares = negative * (unit - mean_0[fit]) ** 2 + positive * (unit - mean_1[fit]) ** 2
    slope = (mean_1 - mean_0) / mean(squares, negative + positive)
    alpha = slope / half_range / 2
    beta = training.prior_log_odds - slope * (mean_0 + mean_1) / 2 - alpha * lowest
    lost = np.spacing(np.maximum(np.abs(alpha * lowest), np.abs(alpha * highest))) > _DIGITS_LOST * slope
    one_cell_0, one_cell_1, one_cell = (
        _in_one_cell(training, chosen) for chosen in (training.weight[:, 0] > 0, training.weight[:, 1] > 0, seen)
    )
    reason = first_reason(
        [
            *training.why_untrained(),
            (training.any(seen & np.isinf(x)), "infinite log-odds"),
            (one_cell, "one score"),
            (mean_1 <= mean_0, REVERSED),
            (one_cell_0 & one_cell_1, "separable"),
            (~np.isfinite(alpha) | ~np.isfinite(beta) | lost, "not converged"),
        ]
    )
    solved, at_zero = reason == "", reason == REVERSED
    columns = {
        "alpha": np.where(solved, alpha, np.where(at_zero, 0.0, np.nan)),
        "beta": np.where(solved, beta, np.where(at_zero, training.prior_log_odds, np.nan)),
        "gradient_norm": np.full(training.n_fits, np.nan),
    }
    return affine_table(training, reason, columns, np.full(training.n_fits, -1))


def _in_one_cell(training: Training, chosen: Booleans) -> Booleans:
    lowest, highest = training.range(np.arange(chosen.shape[1], dtype=np.float64), chosen)
    together: Booleans = lowest == highest
    return together
