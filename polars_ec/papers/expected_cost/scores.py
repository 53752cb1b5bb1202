"""Appendices C.3 and D: curves of scores, and the simulated data."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.expected_cost.small_logs import two_classes
from polars_ec.papers.expected_cost.ten_classes import ten_classes
from polars_ec.papers.expected_cost.two_thresholds import COUNTS, PRIORS, VARIANCE, two_gaussians
from polars_ec.papers.numbers import Table, between, by_equation, printed
from polars_ec.papers.simulated import Floats, vectors
from polars_ec.papers.small import column, value, whole

LOG_ODDS: Any = {"score_type": "log_odds"}


def appendix_c_3() -> Table:
    """Areas under the ROC and the PR curve, and the equal error rate."""
    log = two_classes()
    thresholds = np.append(np.inf, np.sort(log["log_odds"].to_numpy())[::-1])
    r12, r22 = (_shares_from(log, label, thresholds) for label in (0, 1))
    found = r12 * 60 + r22 * 30
    precision = np.divide(r22 * 30, found, out=np.ones_like(found), where=found > 0)
    # Where the line from one point of the ROC curve to the next has R12 = R21.
    before = int(np.argmax(r12 >= 1 - r22)) - 1
    (x0, x1), (y0, y1) = (curve[before : before + 2] for curve in (r12, 1 - r22))
    eer = x0 + (y0 - x0) / ((y0 - x0) - (y1 - x1)) * (x1 - x0)
    scores: dict[str, str | pl.Expr] = {
        "of log odds": "log_odds",
        "of their cube, as raw scores": pl.col("log_odds") ** 3,
    }
    numbers = {}
    for name, score in scores.items():
        area = (np.diff(r12) * (r22[1:] + r22[:-1]) / 2).sum()
        kind: Any = {"score_type": "raw"}
        numbers[f"area under ROC {name}"] = by_equation(value(log, ec.auc_roc(score, "label", **kind)), area)
        steps = (np.diff(r22) * precision[1:]).sum()
        numbers[f"area under PR {name}"] = by_equation(value(log, ec.average_precision(score, "label", **kind)), steps)
        found_eer = value(log, ec.eer(score, "label", method="linear", **kind))
        numbers[f"equal error rate {name}"] = by_equation(found_eer, eer)
    return column(numbers)


def eer_bound() -> Table:
    """The error rate of Bayes decisions from calibrated posteriors is below EER and both priors; from others it may be above."""
    log = two_gaussians(VARIANCE)
    p2 = COUNTS[1] / sum(COUNTS)
    eer = value(log, ec.eer("log_odds", "label", **LOG_ODDS))
    shifted = pl.col("log_odds") + 3
    of_shifted = value(log, ec.error_rate(shifted, "label", **LOG_ODDS))
    bound = min(eer, p2, 1 - p2)
    return column(
        {
            "error rate": between(
                value(log, ec.error_rate("log_odds", "label", **LOG_ODDS)), 0, bound, f"at most {bound:.4f}"
            ),
            "error rate where 3 is added to the log odds": between(of_shifted, bound, 1, f"above {bound:.4f}"),
            "what EER changes by": by_equation(value(log, ec.eer(shifted, "label", **LOG_ODDS)) - eer, 0.0),
        },
        "The text says that without calibration EC can grow without bound: at costs of 0 and 1 it is up to 1.",
    )


def _shares_from(log: pl.DataFrame, label: int, thresholds: Floats) -> Floats:
    """The share of a class with scores from each threshold on."""
    x = log.filter(pl.col("label") == label)["log_odds"].to_numpy()
    return np.array([np.mean(x >= t) for t in thresholds])


def appendix_d() -> Table:
    """How many rows, and what the widths of the classes are."""
    two, ten = two_gaussians(VARIANCE), ten_classes()
    spread = float(np.sqrt(VARIANCE))
    # Log odds are a straight line in the feature, which so can be had back from them.
    feature = VARIANCE * (two["log_odds"] - np.log(PRIORS[1] / PRIORS[0])) + 0.5
    of_class = [feature.filter(two["label"] == label) for label in (0, 1)]
    return column(
        {
            "rows of the first of two classes": whole(int((two["label"] == 0).sum()), 80_000),
            "rows of the second": whole(int((two["label"] == 1).sum()), 19_999),
            "rows of the first of ten classes": whole(int((ten["label"] == 0).sum()), 8_000),
            "mean of class 1": printed(float(np.mean(of_class[0].to_numpy())), "0.0"),
            "mean of class 2": printed(float(np.mean(of_class[1].to_numpy())), "1.0"),
            "variance of class 1": printed(float(np.var(of_class[0].to_numpy())), "0.20"),
        },
        f"What is called the standard deviation, 0.20, is the variance: the printed numbers come out with a deviation of {spread:.3f}.",
        "Counts are cut off, not rounded: of 100,000 rows that are asked for 99,999 are made, and of 10,000 in ten classes 9,998.",
    )


def equation_30() -> Table:
    """Posteriors from likelihoods and priors."""
    log = two_classes()
    variance = 0.5
    x = log["log_odds"].to_numpy() * variance + 0.5 + variance * np.log(2)
    likelihoods = np.exp(-((x[:, None] - np.array([0.0, 1.0])) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    joint = likelihoods * np.array([2 / 3, 1 / 3])
    expected = joint / joint.sum(axis=1, keepdims=True)
    rows = pl.DataFrame({"log_likelihoods": vectors(np.log(likelihoods))})
    computed = rows.select(
        ec.posterior("log_likelihoods", prior=[2 / 3, 1 / 3], score_type="log_likelihoods")
    ).to_series()
    apart = np.abs(np.asarray(computed.to_numpy()) - expected)
    return column(
        {
            "posterior of class 2, mean": by_equation(
                float(np.asarray(computed.to_numpy())[:, 1].mean()), expected[:, 1].mean()
            ),
            "largest difference of a posterior": by_equation(apart.max(), 0.0),
        }
    )
