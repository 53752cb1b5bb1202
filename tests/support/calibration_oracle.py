"""Calibrators and losses in plain NumPy, for one group of rows."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

RULES = ["cross_entropy", "brier", "bayes_risk"]


def logit(p):
    return np.log(p) - np.log1p(-p)


def middles(x, resolution=64):
    """What bins make of log-odds: the middle of their bin."""
    return (np.floor(x * resolution) + 0.5) / resolution


def sigmoid(z):
    return np.exp(-np.logaddexp(0, -z))


def logit_of(p: pl.Series) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return logit(p.to_numpy())


def plain_newton(x, y, w, with_shift=True) -> tuple[float, float]:
    """Logistic regression by the textbook, for one group."""
    design = np.column_stack([x, np.ones_like(x)]) if with_shift else x[:, None]
    theta = np.zeros(design.shape[1])

    def loss(theta):
        z = design @ theta
        return np.sum(w * (np.logaddexp(0, z) - y * z))

    for _ in range(100):
        q = sigmoid(design @ theta)
        gradient = design.T @ (w * (q - y))
        step = np.linalg.solve((design * (w * q * (1 - q))[:, None]).T @ design, gradient)
        length = 1.0
        while loss(theta - length * step) > loss(theta) + 1e-12 and length > 1e-6:
            length /= 2
        theta = theta - length * step
    return float(theta[0]), float(theta[1]) if with_shift else 0.0


def losses(rule: str, z: np.ndarray, y: np.ndarray, threshold: float = 0.0) -> np.ndarray:
    """Loss of each row with log-odds z; Bayes risk: a false alarm costs exp(threshold), and a miss 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        if rule == "cross_entropy":
            return np.where(y == 1, np.logaddexp(0, -z), np.logaddexp(0, z))
        if rule == "brier":
            return (sigmoid(z) - y) ** 2
        return np.where(y == 1, z <= threshold, (z > threshold) * math.exp(threshold))


def mean_at(prior: float | None, loss: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    if prior is None:
        return float(w @ loss / w.sum())
    return float(sum(p * np.average(loss[y == i], weights=w[y == i]) for i, p in ((1, prior), (0, 1 - prior))))


def plain_pav(score, y, w) -> list[tuple[float, float]]:
    """Pool adjacent violators: highest score below each step (its threshold), and log-odds, lowest step first."""
    blocks: list[list[float]] = []
    below = -math.inf
    for s in np.unique(score):
        blocks.append([below, w[(score == s) & (y == 1)].sum(), w[(score == s) & (y == 0)].sum()])
        below = s
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            _, positives, negatives = blocks.pop()
            blocks[-1][1] += positives
            blocks[-1][2] += negatives
    with np.errstate(divide="ignore"):
        return [(above, float(np.log(np.divide(positives, negatives)))) for above, positives, negatives in blocks]


def plain_histogram(score, y, w, edges) -> list[tuple[float, float]]:
    """Steps of the bins (edge, next edge] that have rows, the first of them from -inf."""
    bins = np.searchsorted(edges, score, side="left")
    steps = []
    for k in np.unique(bins):
        of_bin = bins == k
        with np.errstate(divide="ignore"):
            odds = np.divide(w[of_bin & (y == 1)].sum(), w[of_bin & (y == 0)].sum())
            steps.append((edges[k - 1] if steps else -math.inf, float(np.log(odds))))
    return steps


def steps_at(steps: list[tuple[float, float]], score) -> np.ndarray:
    above = np.array([threshold for threshold, _ in steps])
    return np.array([z for _, z in steps])[np.searchsorted(above, score, side="left") - 1]


def plain_steps(calibrator: str, rows: pl.DataFrame, bins: int = 15) -> list[tuple[float, float]]:
    rows = rows.filter(pl.col("w") > 0)
    score, y, w = rows["p"].to_numpy(), rows["y"].to_numpy().astype(float), rows["w"].to_numpy()
    if calibrator == "pav":
        return plain_pav(score, y, w)
    return plain_histogram(score, y, w, np.arange(1, bins) / bins)


def steps_of(frame: pl.DataFrame) -> list[tuple[float, float]]:
    return frame.select("above", "log_odds").rows()


def plain_gaussian(x, y, w) -> tuple[float, float]:
    """The LLR of two normal densities of one variance, plus the log odds of the classes, for one group."""
    share = w[y == 1].sum() / w.sum()
    means = [np.average(x[y == i], weights=w[y == i]) for i in (0, 1)]
    variances = [np.average((x[y == i] - means[i]) ** 2, weights=w[y == i]) for i in (0, 1)]
    variance = (1 - share) * variances[0] + share * variances[1]
    # ln N(s; m1, v) - ln N(s; m0, v) = ((s - m0)^2 - (s - m1)^2) / (2 v)
    beta = (means[0] ** 2 - means[1] ** 2) / (2 * variance) + math.log(share / (1 - share))
    return float((means[1] - means[0]) / variance), float(beta)


def plain_cllr(z, y, w) -> float:
    """Mean over the classes of the log-loss of LLRs, in bits."""
    cost = np.where(y == 1, np.logaddexp(0, -z), np.logaddexp(0, z)) / math.log(2)
    return float(sum(np.average(cost[y == i], weights=w[y == i]) for i in (0, 1)) / 2)
