"""Systems whose metrics are known: scores of two classes that are normal on the scale of log-odds; and logs of them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl
from scipy.special import expit, ndtr, ndtri, xlogy

Floats = np.ndarray
COST_FN = 5.0
"""That of a miss, times that of a false alarm: decisions are positive above log-odds of -ln 5."""


@dataclass(frozen=True)
class System:
    """Log-odds are shift + scale (logit of the prior + the ratio d e +- d^2 / 2), e standard normal, `ratio` times as wide for positives."""

    prior: float = 0.2
    separation: float = 2.0
    ratio: float = 1.0
    scale: float = 1.0
    shift: float = 0.0

    def log_odds(self, positive: Floats, noise: Floats) -> Floats:
        """The log-odds of rows with this noise."""
        d = self.separation
        ratio = np.where(positive, d * d / 2 + d * self.ratio * noise, d * noise - d * d / 2)
        return self.scale * (ratio + np.log(self.prior / (1 - self.prior))) + self.shift


@dataclass(frozen=True)
class Sample:
    """How rows are drawn: how many in a group, in how many clusters, whether the classes have fixed numbers, and weights."""

    groups: int
    rows: int
    clusters: int | None = None
    alike: float = 0.5
    """The share of a row's noise that is its cluster's."""
    positives: int | None = None
    weighted: bool = False
    fewest: int = 0
    """Groups with fewer rows of a class are left out."""
    systems: tuple[System, ...] = field(default=(System(),))
    """One is the column `p`; the second, `q`, scores the same rows."""
    in_common: float = 0.8
    """The correlation of their noise."""


def draw(sample: Sample, seed: int) -> pl.DataFrame:
    """Rows of the groups: `group`, `y`, `p`, and `q`, `user`, `w` where the sample has them."""
    rng = np.random.default_rng(seed)
    shape = (sample.groups, sample.rows)
    n_clusters = sample.clusters or sample.rows
    # Clusters of about the same size, and rows that come in no order.
    user = rng.permuted(np.broadcast_to(np.arange(sample.rows) % n_clusters, shape), axis=1)
    prior = sample.systems[0].prior

    def noise() -> Floats:
        own = rng.standard_normal(shape)
        if sample.clusters is None:
            return own
        shared = np.take_along_axis(rng.standard_normal((sample.groups, n_clusters)), user, axis=1)
        return np.sqrt(sample.alike) * shared + np.sqrt(1 - sample.alike) * own

    if sample.positives is None:
        y = noise() < ndtri(prior)
    else:
        y = np.broadcast_to(np.arange(sample.rows) < sample.positives, shape)
    first = noise()
    columns = {
        "group": np.broadcast_to(np.arange(sample.groups)[:, None], shape),
        "y": y,
        "p": expit(sample.systems[0].log_odds(y, first)),
    }
    for system in sample.systems[1:]:
        second = sample.in_common * first + np.sqrt(1 - sample.in_common**2) * noise()
        columns["q"] = expit(system.log_odds(y, second))
    if sample.clusters is not None:
        columns["user"] = user + n_clusters * columns["group"]
    if sample.weighted:
        columns["w"] = rng.exponential(size=shape) + 0.5
    n_positive = y.sum(axis=1)
    kept = np.minimum(n_positive, sample.rows - n_positive) >= sample.fewest
    return pl.DataFrame({name: values[kept].ravel() for name, values in columns.items()})


def truths(system: System, stated: float | None = None) -> dict[str, float]:
    """Every metric at costs of COST_FN and 1, at the system's prior or at this one, by sums over a fine grid of the noise."""
    grid = np.linspace(-12, 12, 200_001)
    mass = np.exp(-grid * grid / 2)
    mass /= mass.sum()
    of_1, of_0 = (system.log_odds(np.array(positive), grid) for positive in (True, False))
    p1 = system.prior if stated is None else stated
    p0 = 1 - p1
    thresholds = np.linspace(min(of_0[0], of_1[0]), max(of_0[-1], of_1[-1]), 200_001)
    tpr, fpr = _above(system, thresholds)
    ((hit,), (alarm,)) = _above(system, np.array([-np.log(COST_FN)]))
    miss, decided = 1 - hit, p1 * hit + p0 * alarm
    naive = min(COST_FN * p1, p0)
    costs = COST_FN * p1 * (1 - tpr) + p0 * fpr
    entropy = -(xlogy(p1, p1) + xlogy(p0, p0))
    cross_entropy = p1 * _mean(mass, np.logaddexp(0, -of_1)) + p0 * _mean(mass, np.logaddexp(0, of_0))
    brier = p1 * _mean(mass, expit(-of_1) ** 2) + p0 * _mean(mass, expit(of_0) ** 2)
    equal = np.argmin(np.abs(1 - tpr - fpr))
    # What the score says as a likelihood ratio, where it says all there is: both classes as wide.
    ratios = [system.separation * grid + sign * system.separation**2 / 2 for sign in (1, -1)]
    cllr = (_mean(mass, np.logaddexp(0, -ratios[0])) + _mean(mass, np.logaddexp(0, ratios[1]))) / 2 / np.log(2)
    return {
        "recall": hit,
        "specificity": 1 - alarm,
        "precision": p1 * hit / decided,
        "f1": 2 * p1 * hit / (decided + p1),
        "error_rate": p1 * miss + p0 * alarm,
        "balanced_error_rate": (miss + alarm) / 2,
        "expected_cost": COST_FN * p1 * miss + p0 * alarm,
        "nec": (COST_FN * p1 * miss + p0 * alarm) / naive,
        "informedness": hit - alarm,
        "lr_minus": miss / (1 - alarm),
        "mcc": np.sqrt(p0 * p1) * (hit - alarm) / np.sqrt(decided * (1 - decided)),
        "cross_entropy": cross_entropy,
        "nce": cross_entropy / entropy,
        "brier": brier,
        "nbs": brier / (p0 * p1),
        "auc_roc": float(np.trapezoid(tpr[::-1], fpr[::-1])),
        "average_precision": _average_precision(tpr, fpr, p1),
        "auprg": _auprg(tpr, fpr, p1),
        "eer": (1 - tpr[equal] + fpr[equal]) / 2,
        "ks": np.max(tpr - fpr),
        "min_dcf": costs.min() / naive,
        "min_cllr": cllr,
    }


def _above(system: System, thresholds: Floats) -> tuple[Floats, Floats]:
    """The shares of positives and of negatives whose log-odds are above."""
    d = system.separation
    ratio = (thresholds - system.shift) / system.scale - np.log(system.prior / (1 - system.prior))
    return ndtr((d * d / 2 - ratio) / (d * system.ratio)), ndtr((-d * d / 2 - ratio) / d)


def _mean(mass: Floats, values: Floats) -> float:
    return float(mass @ values)


def _average_precision(tpr: Floats, fpr: Floats, p1: float) -> float:
    decided = p1 * tpr + (1 - p1) * fpr
    precision = np.where(decided > 0, p1 * tpr / np.where(decided > 0, decided, 1), 1.0)
    return float(np.trapezoid(precision[::-1], tpr[::-1]))


def _auprg(tpr: Floats, fpr: Floats, p1: float) -> float:
    """From a recall gain of 0, where TPR is the prior."""
    there = tpr >= p1
    recall_gain = 1 - p1 / (1 - p1) * (1 - tpr[there]) / tpr[there]
    return float(np.trapezoid((1 - fpr[there] / tpr[there])[::-1], recall_gain[::-1]))
