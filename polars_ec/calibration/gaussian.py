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
    x, fit, positive, everywhere = training.log_odds, training.fit, training.positive, np.ones(len(training.fit), bool)
    lowest, highest = training.lowest(x, everywhere), -training.lowest(-x, everywhere)
    half_range = highest / 2 - lowest / 2
    # On a scale from 0 to 1 no square is too large, and none is small because the scores lie far from 0.
    unit = (x / 2 - lowest[fit] / 2) / half_range[fit]
    mean_0, mean_1 = (_mean(training, unit, of_class) for of_class in (~positive, positive))
    deviation = unit - np.where(positive, mean_1[fit], mean_0[fit])
    slope = (mean_1 - mean_0) / _mean(training, deviation**2, everywhere)
    alpha = slope / half_range / 2
    beta = training.prior_log_odds - slope * (mean_0 + mean_1) / 2 - alpha * lowest
    lost = np.spacing(np.maximum(np.abs(alpha * lowest), np.abs(alpha * highest))) > _DIGITS_LOST * slope
    reason = first_reason(
        [
            *training.why_untrained(),
            (training.total(np.isinf(x)) > 0, "infinite log-odds"),
            (_in_one_cell(training, everywhere), "one score"),
            (mean_1 <= mean_0, REVERSED),
            (_in_one_cell(training, positive) & _in_one_cell(training, ~positive), "separable"),
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


def _mean(training: Training, values: Floats, chosen: Booleans) -> Floats:
    weight = training.weight * chosen
    return training.total(weight * values) / training.total(weight)


def _in_one_cell(training: Training, chosen: Booleans) -> Booleans:
    cell = training.cell
    together: Booleans = training.lowest(cell, chosen) == -training.lowest(-cell, chosen)
    return together
