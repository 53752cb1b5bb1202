"""The bars of Figures 2 and 3 as the paper's equations have them, in NumPy: what the package's numbers are held against."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from polars_ec.papers.simulated import Floats

Labels = NDArray[np.int64]

BINS = 15


def posterior(log_odds: Floats) -> Floats:
    """Of the second of two classes."""
    q: Floats = 1 / (1 + np.exp(-log_odds))
    return q


def normalised_risk(log_posteriors: Floats, label: Labels, costs: Sequence[Sequence[float]]) -> float:
    """Equations 1 and 7: the mean cost of Bayes decisions, over that of the cheapest constant decision."""
    matrix = np.array(costs)
    decided = (np.exp(log_posteriors) @ matrix).argmin(axis=1)
    priors = np.bincount(label) / len(label)
    return float(matrix[label, decided].mean() / (priors @ matrix).min())


def normalised_cross_entropy(log_posteriors: Floats, label: Labels) -> float:
    """Equation 8, over the entropy of the priors."""
    priors = np.bincount(label) / len(label)
    return float(log_posteriors[np.arange(len(label)), label].mean() / (priors @ np.log(priors)))


def normalised_brier_score(log_posteriors: Floats, label: Labels) -> float:
    """Equation 9, over sum P (1 - P) / K: the factor 1 / K falls out."""
    priors = np.bincount(label) / len(label)
    errors = (np.exp(log_posteriors) - np.eye(len(priors))[label]) ** 2
    return float(errors.sum(axis=1).mean() / (priors @ (1 - priors)))


def calibration_error(q: Floats, happened: Labels) -> float:
    """Equation 27, in percent: bins that are closed on the right."""
    bins = np.ceil(BINS * q).astype(int) - 1
    gaps = np.bincount(bins, q - happened)
    return float(100 * np.abs(gaps).sum() / len(q))


def top_label_error(log_posteriors: Floats, label: Labels) -> float:
    """The same of the largest posterior, and whether its class is the right one."""
    right = (log_posteriors.argmax(axis=1) == label).astype(np.int64)
    return calibration_error(np.exp(log_posteriors.max(axis=1)), right)


def affine_of(log_odds: Floats, label: Labels, at: Floats) -> Floats:
    """Posteriors of alpha x + beta of least mean log loss (Equation 23, two classes), by Newton's method."""
    spread = log_odds.std()
    x, parameters = np.stack([log_odds / spread, np.ones(len(log_odds))], axis=1), np.zeros(2)
    for _ in range(50):
        p = posterior(x @ parameters)
        parameters -= np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]), x.T @ (p - label))
    return posterior(at / spread * parameters[0] + parameters[1])


def histogram_of(log_odds: Floats, label: Labels, at: Floats) -> Floats:
    """The share of the second class in each bin; 0 in one without rows."""
    bins, bins_at = (np.ceil(BINS * posterior(x)).astype(int) - 1 for x in (log_odds, at))
    rows = np.bincount(bins, minlength=BINS)
    shares = np.bincount(bins, label, minlength=BINS) / np.maximum(rows, 1)
    calibrated: Floats = shares[bins_at]
    return calibrated


Calibrator = Callable[[Floats, Labels, Floats], Floats]


def relative_calibration_loss(
    calibrator: Calibrator, log_odds: Floats, label: Labels, folds: NDArray[np.int64] | None
) -> float:
    """Equations 30 to 33 of the Brier score: trained on the rows of the other folds, or on the very rows."""
    if folds is None:
        calibrated = calibrator(log_odds, label, log_odds)
    else:
        calibrated = np.empty(len(label))
        for fold in np.unique(folds):
            held = folds == fold
            calibrated[held] = calibrator(log_odds[~held], label[~held], log_odds[held])
    raw, left = (float(np.mean((p - label) ** 2)) for p in (posterior(log_odds), calibrated))
    return 100 * (raw - left) / raw
