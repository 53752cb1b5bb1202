"""What several entries define, written out in NumPy as the papers do: what the package's numbers are held against."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from examples.papers.simulated import Floats

Integers = NDArray[np.int64]
BINS = 15


def posterior(log_odds: Floats) -> Floats:
    """Of the second of two classes."""
    return 1 / (1 + np.exp(-log_odds))


def normalised_risk(log_posteriors: Floats, label: Integers, costs: Sequence[Sequence[float]]) -> float:
    """The mean cost of Bayes decisions, over that of the cheapest constant decision."""
    matrix = np.array(costs)
    decided = (np.exp(log_posteriors) @ matrix).argmin(axis=1)
    priors = np.bincount(label) / len(label)
    return float(matrix[label, decided].mean() / (priors @ matrix).min())


def normalised_cross_entropy(log_posteriors: Floats, label: Integers) -> float:
    """The mean log loss, over the entropy of the priors."""
    priors = np.bincount(label) / len(label)
    return float(log_posteriors[np.arange(len(label)), label].mean() / (priors @ np.log(priors)))


def normalised_brier_score(log_posteriors: Floats, label: Integers) -> float:
    """The mean squared distance, over sum P (1 - P): the factor 1 / K falls out."""
    priors = np.bincount(label) / len(label)
    errors = (np.exp(log_posteriors) - np.eye(len(priors))[label]) ** 2
    return float(errors.sum(axis=1).mean() / (priors @ (1 - priors)))


def bins_of(q: Floats) -> Integers:
    """The bin of each posterior, from 0, of bins that are closed on the right."""
    return np.clip(np.ceil(BINS * q), 1, BINS).astype(np.int64) - 1


def mean_of_bin(q: Floats) -> Floats:
    """Of each posterior the mean of its bin."""
    bins = bins_of(q)
    return (np.bincount(bins, q) / np.maximum(np.bincount(bins), 1))[bins]


def calibration_error(q: Floats, happened: NDArray[Any], bins: Integers | None = None) -> float:
    """ECE, a share: how far the mean posterior of each bin is from how often it happened, weighed by the bin's rows."""
    of_rows = bins_of(q) if bins is None else bins
    return float(np.abs(np.bincount(of_rows, q - happened)).sum() / len(q))


def top_label_error(posteriors: Floats, label: Integers) -> float:
    """The same of the largest posterior, and whether its class is the right one."""
    return calibration_error(posteriors.max(axis=1), posteriors.argmax(axis=1) == label)


def least_cross_entropy(
    log_odds: Floats, label: NDArray[Any], weights: Floats | None = None, *, with_shift: bool = True
) -> tuple[float, float]:
    """Scale and shift of log odds of least mean log loss, by Newton's method."""
    spread = log_odds.std()
    x = np.stack([log_odds / spread, np.ones(len(log_odds))], axis=1)[:, : 1 + with_shift]
    each = np.ones(len(x)) if weights is None else weights
    parameters = np.zeros(x.shape[1])
    for _ in range(50):
        p = posterior(x @ parameters)
        parameters -= np.linalg.solve(x.T @ (x * (each * p * (1 - p))[:, None]), x.T @ (each * (p - label)))
    return float(parameters[0] / spread), float(parameters[1]) if with_shift else 0.0


def affine_of(log_odds: Floats, label: Integers, at: Floats) -> Floats:
    """Posteriors of alpha x + beta of least mean log loss."""
    alpha, beta = least_cross_entropy(log_odds, label)
    return posterior(alpha * at + beta)


def histogram_of(log_odds: Floats, label: Integers, at: Floats) -> Floats:
    """The share of the second class in each bin; 0 in one without rows."""
    bins, bins_at = (bins_of(posterior(x)) for x in (log_odds, at))
    rows = np.bincount(bins, minlength=BINS)
    shares = np.bincount(bins, label, minlength=BINS) / np.maximum(rows, 1)
    return shares[bins_at]


def pooled(values: Floats, weights: Floats) -> Floats:
    """Isotonic regression of values in order: the means of blocks, of which adjacent violators are merged."""
    blocks: list[tuple[float, float, int]] = []
    for mean, weight in zip(values.tolist(), weights.tolist(), strict=True):
        block = (mean, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            before = blocks.pop()
            total = before[1] + block[1]
            block = ((before[0] * before[1] + block[0] * block[1]) / total, total, before[2] + block[2])
        blocks.append(block)
    return np.repeat([mean for mean, _, _ in blocks], [rows for _, _, rows in blocks])


Calibrator = Callable[[Floats, Integers, Floats], Floats]


def by_other_folds(calibrator: Calibrator, log_odds: Floats, label: Integers, folds: Integers) -> Floats:
    """Posteriors of each row, by the fit to the rows of the other folds."""
    calibrated = np.empty(len(label))
    for fold in np.unique(folds):
        held = folds == fold
        calibrated[held] = calibrator(log_odds[~held], label[~held], log_odds[held])
    return calibrated


def relative_calibration_loss(
    calibrator: Calibrator, log_odds: Floats, label: Integers, folds: Integers | None
) -> float:
    """The part of the Brier score that calibration takes away, in percent: trained on the rows of the other folds, or on the very rows."""
    if folds is None:
        calibrated = calibrator(log_odds, label, log_odds)
    else:
        calibrated = by_other_folds(calibrator, log_odds, label, folds)
    raw, left = (float(np.mean((p - label) ** 2)) for p in (posterior(log_odds), calibrated))
    return 100 * (raw - left) / raw


def operating_points(score: Floats, label: NDArray[Any]) -> tuple[Floats, Floats]:
    """FPR and TPR from the highest threshold down, at first of none; equal scores pass it together."""
    of_class = label.astype(np.bool_)
    cuts = np.append(np.inf, np.unique(score)[::-1])
    # How many of a class have a score from each cut on.
    above = [len(s) - np.searchsorted(np.sort(s), cuts, side="left") for s in (score[~of_class], score[of_class])]
    fpr, tpr = (counts / counts[-1] for counts in above)
    return fpr, tpr


def area_under_roc(fpr: Floats, tpr: Floats) -> float:
    """Its trapezoids."""
    return float((np.diff(fpr) * (tpr[1:] + tpr[:-1]) / 2).sum())


def area_under_pr(fpr: Floats, tpr: Floats, prior: float) -> float:
    """Its steps, each as high as the precision at its end."""
    precision = prior * tpr[1:] / (prior * tpr[1:] + (1 - prior) * fpr[1:])
    return float((np.diff(tpr) * precision).sum())


def equal_error_rate(fpr: Floats, tpr: Floats) -> float:
    """Where a line from one operating point to the next has FPR = FNR."""
    gap = fpr - (1 - tpr)
    after = int(np.argmax(gap >= 0))
    before = after - 1
    return float(fpr[before] - gap[before] * (fpr[after] - fpr[before]) / (gap[after] - gap[before]))
