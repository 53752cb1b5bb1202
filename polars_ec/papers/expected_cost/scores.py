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
from polars_ec.papers.simulated import log_likelihoods, vectors
from polars_ec.papers.small import column, value, whole
from polars_ec.papers.written_out import area_under_pr, area_under_roc, equal_error_rate, operating_points

LOG_ODDS: Any = {"score_type": "log_odds"}


def appendix_c_3() -> Table:
    """Areas under the ROC and the PR curve, and the equal error rate."""
    log = two_classes()
    fpr, tpr = operating_points(log["log_odds"].to_numpy(), log["label"].to_numpy())
    scores: dict[str, str | pl.Expr] = {
        "of log odds": "log_odds",
        "of their cube, as raw scores": pl.col("log_odds") ** 3,
    }
    numbers = {}
    for name, score in scores.items():
        kind: Any = {"score_type": "raw"}
        of_roc, of_pr = (value(log, metric(score, "label", **kind)) for metric in (ec.auc_roc, ec.average_precision))
        eer = value(log, ec.eer(score, "label", method="linear", **kind))
        numbers[f"area under ROC {name}"] = by_equation(of_roc, area_under_roc(fpr, tpr))
        numbers[f"area under PR {name}"] = by_equation(of_pr, area_under_pr(fpr, tpr, log["label"].to_numpy().mean()))
        numbers[f"equal error rate {name}"] = by_equation(eer, equal_error_rate(fpr, tpr))
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
    likelihoods = np.exp(log_likelihoods(x[:, None], ((0.0,), (1.0,)), variance))
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
