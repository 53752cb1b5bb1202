"""Scores and their curves: error rates over the threshold, costs over the prior."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.lecture.scores import PRIOR_LOG_ODDS, evaluated, sketch, wrong_rates
from polars_ec.papers.numbers import Number, Table, between, by_equation
from polars_ec.papers.simulated import Floats
from polars_ec.papers.small import column, value
from polars_ec.papers.written_out import area_under_roc, equal_error_rate, operating_points


def scores() -> Table:
    """LLRs from densities, and log odds from these and the priors."""
    log = evaluated()
    x = log["x"].to_numpy()
    densities = np.exp(-((x[:, None] - np.array([0.0, 2.0])) ** 2) / 2) / math.sqrt(2 * math.pi)
    joint = densities * np.array([2 / 3, 1 / 3])
    posterior = joint[:, 1] / joint.sum(axis=1)
    rows = pl.DataFrame({"posterior": posterior})
    apart = {}
    for name, score, expected in (
        ("log-likelihood ratio", ec.llr("posterior", 1 / 3), np.log(densities[:, 1] / densities[:, 0])),
        ("posterior log-likelihood ratio", ec.log_odds("posterior"), np.log(joint[:, 1] / joint[:, 0])),
    ):
        found = rows.select(score).to_series().to_numpy()
        apart[f"{name}, mean"] = by_equation(float(found.mean()), float(expected.mean()))
        apart[f"{name}, largest difference"] = by_equation(float(np.abs(found - expected).max()), 0.0)
    numbers = {"area under ROC of scores without scale": _area("margin"), "area under ROC of their LLRs": _area("llr")}
    return column(apart | numbers)


def error_rates_by_threshold() -> Table:
    """FPR and FNR at several thresholds, and the rate at which they are equal."""
    log, rows = evaluated(), []
    for t in (-3.0, -1.0, 0.0, 1.0, 3.0):
        options: Any = {"threshold": t, "score_type": "llr"}
        p_fn, p_fp = wrong_rates("llr", t)
        fpr, fnr = (value(log, rate("llr", "label", **options)) for rate in (ec.fpr, ec.fnr))
        rows.append((f"threshold {t:g}", [by_equation(fpr, p_fp), by_equation(fnr, p_fn)]))
    eer = value(log, ec.eer("llr", "label", method="linear", score_type="llr"))
    expected = equal_error_rate(*_points("llr"))
    rows.append(("equal error rate", [by_equation(eer, expected), by_equation(eer, expected)]))
    return Table(["FPR", "FNR"], rows, ["Scores are simulated: the lecture's are not at hand."])


def roc() -> Table:
    """The area under the curve, and that of the classes' densities."""
    area = _area("llr")
    # Of normal classes of variance 1 whose means are 2 apart.
    expected = NormalDist().cdf(2 / math.sqrt(2))
    return column(
        {
            "area under ROC": area,
            "beside that of the densities": between(
                area.computed, expected - 0.015, expected + 0.015, f"{expected:.3f} +- 0.015"
            ),
        },
        "Scores are simulated: the lecture's are not at hand. Allowed are three standard deviations over 200 draws.",
    )


def det() -> Table:
    """On the scales of the normal distribution normal scores of one variance make a line of slope -1."""
    curve = sketch("llr").det().filter(pl.col("fpr").is_between(0.01, 0.9) & pl.col("fnr").is_between(0.01, 0.9))
    x, y = curve["fpr_probit"].to_numpy(), curve["fnr_probit"].to_numpy()
    slope, at_zero = np.polyfit(x, y, 1)
    normal = NormalDist()
    middle = curve.row(len(x) // 2, named=True)
    return column(
        {
            "normal deviate of a false positive rate": by_equation(middle["fpr_probit"], normal.inv_cdf(middle["fpr"])),
            "normal deviate of a false negative rate": by_equation(middle["fnr_probit"], normal.inv_cdf(middle["fnr"])),
            "slope": between(slope, -1.16, -0.84, "-1 +- 0.16"),
            "where FPR is 1/2": between(at_zero, -2.24, -1.76, "-2 +- 0.24"),
        },
        "Scores are simulated: the lecture's are not at hand. Classes are normal with means 2 apart; allowed are three standard deviations over 200 draws.",
    )


def minimum_cost() -> Table:
    """DCF at the best threshold for these rows, and at that of the effective prior."""
    return _minimum_and_actual("margin")


def mis_calibration() -> Table:
    """What the theoretical threshold costs more than the best one, on average over the priors of the plot."""
    rows: list[tuple[str, list[Number | None]]] = []
    for score, name, said in (
        ("margin", "non calibrated scores", (0.1, math.inf, "well above 0")),
        ("calibrated", "calibrated scores", (0.0, 0.05, "about 0")),
    ):
        found = sketch(score).bayes_error(PRIOR_LOG_ODDS)
        lost = float(found.select(pl.col("dcf") - pl.col("min_dcf")).mean().item())
        expected = float(np.mean([_actual(score, x) - _least(score, x) for x in PRIOR_LOG_ODDS]))
        rows.append((name, [by_equation(lost, expected), between(lost, *said)]))
    return Table(
        ["mean difference", "the same"],
        rows,
        [
            "Mean difference of the actual and the minimum DCF over prior log odds from -4 to 4, of simulated scores: beside that of both in NumPy, "
            "and beside what the lecture says."
        ],
    )


def bayes_error_plot() -> Table:
    """Both costs, of scores before and after calibration."""
    return _minimum_and_actual("margin", "calibrated")


def tippett() -> Table:
    """Shares of each class with LLRs above a few values."""
    rows = []
    for score in ("margin", "calibrated"):
        curve = sketch(score).tippett().sort("threshold")
        log = evaluated()
        numbers: list[Number | None] = []
        for t in (-2.0, 0.0, 2.0):
            # Shares change at scores only: those above t are those above the largest score that is not.
            row = curve.filter(pl.col("threshold") <= t).tail(1).row(0, named=True)
            for name, label in (("positives_above", 1), ("negatives_above", 0)):
                s = log.filter(pl.col("label") == label)[score].to_numpy()
                numbers.append(by_equation(row[name], float(np.mean(s > t))))
        rows.append((score, numbers))
    columns = [f"{name} above {t}" for t in (-2, 0, 2) for name in ("H_T", "H_F")]
    return Table(columns, rows, ["Of the lecture's score sets; a Tippett plot is on none of its slides."])


def _minimum_and_actual(*scores: str) -> Table:
    """DCF at the threshold of the prior, and at the best threshold, for several priors."""
    rows = []
    for x in (-3.0, -1.0, 0.0, 1.0, 3.0):
        numbers: list[Number | None] = []
        for score in scores:
            found = sketch(score).bayes_error([x]).row(0, named=True)
            actual, least = _actual(score, x), _least(score, x)
            numbers += [by_equation(found["dcf"], actual), by_equation(found["min_dcf"], least)]
        rows.append((f"prior log odds {x:g}", numbers))
    columns = [f"{what}, {score}" for score in scores for what in ("actual", "minimum")]
    return Table(
        columns,
        rows,
        ["Scores are simulated: the lecture's are not at hand. Each is held against its definition in NumPy."],
    )


def _area(score: str) -> Number:
    """Under the ROC curve of the scores, beside that of the trapezoids."""
    computed = value(evaluated(), ec.auc_roc(score, "label", score_type="raw"))
    return by_equation(computed, area_under_roc(*_points(score)))


def _points(score: str) -> tuple[Floats, Floats]:
    """FPR and TPR for thresholds from the highest score down."""
    return operating_points(evaluated()[score].to_numpy(), evaluated()["label"].to_numpy())


def _actual(score: str, log_odds: float) -> float:
    prior = 1 / (1 + math.exp(-log_odds))
    p_fn, p_fp = wrong_rates(score, -log_odds)
    return (prior * p_fn + (1 - prior) * p_fp) / min(prior, 1 - prior)


def _least(score: str, log_odds: float) -> float:
    prior = 1 / (1 + math.exp(-log_odds))
    fpr, tpr = _points(score)
    return float((prior * (1 - tpr) + (1 - prior) * fpr).min() / min(prior, 1 - prior))
