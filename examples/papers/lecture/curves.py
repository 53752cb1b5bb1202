"""Scores of the lecture: their curves over thresholds and priors, and the ways to calibrate them."""

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.lecture import PAPER
from examples.papers.lecture.decisions import PRIOR_LOG_ODDS, evaluated, sketch, training, wrong_rates
from examples.papers.numbers import Rows, Table, between, by_equation, near, value, values
from examples.papers.simulated import Floats
from examples.papers.written_out import (
    area_under_roc,
    equal_error_rate,
    least_cross_entropy,
    operating_points,
    pooled,
    posterior,
)


def _points(score: str) -> tuple[Floats, Floats]:
    return operating_points(evaluated()[score].to_numpy(), evaluated()["label"].to_numpy())


def _area(score: str) -> tuple[float, float]:
    return value(evaluated(), ec.auc_roc(score, "label", score_type="raw")), area_under_roc(*_points(score))


def _actual_and_least(score: str, log_odds: float) -> tuple[float, float]:
    prior = posterior(log_odds)
    p_fn, p_fp = wrong_rates(score, -log_odds)
    fpr, tpr = _points(score)
    costs = prior * p_fn + (1 - prior) * p_fp, (prior * (1 - tpr) + (1 - prior) * fpr).min()
    return tuple(float(cost / min(prior, 1 - prior)) for cost in costs)


@PAPER("scores")
def scores() -> Rows:
    x = evaluated()["x"].to_numpy()
    densities = np.exp(-((x[:, None] - np.array([0.0, 2.0])) ** 2) / 2) / math.sqrt(2 * math.pi)
    joint = densities * np.array([2 / 3, 1 / 3])
    rows = pl.DataFrame({"posterior": joint[:, 1] / joint.sum(axis=1)})
    for name, score, expected in (
        ("log-likelihood ratio", ec.llr("posterior", 1 / 3), np.log(densities[:, 1] / densities[:, 0])),
        ("posterior log-likelihood ratio", ec.log_odds("posterior"), np.log(joint[:, 1] / joint[:, 0])),
    ):
        found = values(rows, score)
        yield f"{name}, mean", (found.mean(), expected.mean())
        yield f"{name}, largest difference", (np.abs(found - expected).max(), 0.0)
    areas = {"area under ROC of scores without scale": _area("margin"), "area under ROC of their LLRs": _area("llr")}
    yield from areas.items()


@PAPER("error-rates-by-threshold", columns=["FPR", "FNR"])
def error_rates_by_threshold() -> Rows:
    for t in (-3.0, -1.0, 0.0, 1.0, 3.0):
        rates = (value(evaluated(), rate("llr", "label", threshold=t, score_type="llr")) for rate in (ec.fpr, ec.fnr))
        yield f"threshold {t:g}", *zip(rates, reversed(wrong_rates("llr", t)), strict=True)
    eer = value(evaluated(), ec.eer("llr", "label", method="linear", score_type="llr"))
    yield "equal error rate", [(eer, equal_error_rate(*_points("llr")))] * 2


@PAPER("roc")
def roc() -> Rows:
    # Normal classes of variance 1 whose means are 2 apart.
    expected = NormalDist().cdf(2 / math.sqrt(2))
    of_densities = near(_area("llr")[0], expected, 0.015, f"{expected:.3f} +- 0.015")
    yield "area under ROC", _area("llr")
    yield "beside that of the densities", of_densities


@PAPER("det")
def det() -> Rows:
    curve = sketch("llr").det().filter(pl.col("fpr").is_between(0.01, 0.9) & pl.col("fnr").is_between(0.01, 0.9))
    slope, at_zero = np.polyfit(curve["fpr_probit"].to_numpy(), curve["fnr_probit"].to_numpy(), 1)
    normal, middle = NormalDist(), curve.row(curve.height // 2, named=True)
    yield "normal deviate of a false positive rate", (middle["fpr_probit"], normal.inv_cdf(middle["fpr"]))
    yield "normal deviate of a false negative rate", (middle["fnr_probit"], normal.inv_cdf(middle["fnr"]))
    yield "slope", between(slope, -1.16, -0.84, "-1 +- 0.16")
    yield "where FPR is 1/2", between(at_zero, -2.24, -1.76, "-2 +- 0.24")


def _minimum_and_actual(*scores: str) -> Table:
    """DCF at the threshold of the prior, and at the best threshold, for several priors."""
    rows = {}
    for x in (-3.0, -1.0, 0.0, 1.0, 3.0):
        cells = rows[f"prior log odds {x:g}"] = []
        for score in scores:
            found = sketch(score).bayes_error([x]).select("dcf", "min_dcf").row(0)
            cells += zip(found, _actual_and_least(score, x), strict=True)
    return Table([f"{what}, {score}" for score in scores for what in ("actual", "minimum")], rows)


PAPER("minimum-and-actual-dcf")(lambda: _minimum_and_actual("margin"))
PAPER("bayes-error-plot")(lambda: _minimum_and_actual("margin", "calibrated"))


@PAPER("mis-calibration", columns=["mean difference", "the same"])
def mis_calibration() -> Rows:
    for score, name, *text in (
        ("margin", "non calibrated scores", 0.1, math.inf, "well above 0"),
        ("calibrated", "calibrated scores", 0.0, 0.05, "about 0"),
    ):
        found = sketch(score).bayes_error(PRIOR_LOG_ODDS)
        lost = value(found, (pl.col("dcf") - pl.col("min_dcf")).mean())
        pairs = [_actual_and_least(score, x) for x in PRIOR_LOG_ODDS]
        yield name, (lost, np.mean([actual - least for actual, least in pairs])), between(lost, *text)


@PAPER("tippett", columns=[f"{name} above {t}" for t in (-2, 0, 2) for name in ("H_T", "H_F")])
def tippett() -> Rows:
    for score in ("margin", "calibrated"):
        curve, cells = sketch(score).tippett().sort("threshold"), []
        for t in (-2.0, 0.0, 2.0):
            # Shares change at scores only: those above t are those above the largest score that is not.
            row = curve.filter(pl.col("threshold") <= t).tail(1).row(0, named=True)
            for name, label in (("positives_above", 1), ("negatives_above", 0)):
                s = evaluated().filter(pl.col("label") == label)[score].to_numpy()
                cells.append((row[name], np.mean(s > t)))
        yield score, cells


_RAW: Any = {"score_type": "raw", "prior": 0.5}
_LLR: Any = {"score_type": "llr", "prior": 0.5}


def _trained() -> tuple[Floats, Any]:
    return training()["margin"].to_numpy(), training()["label"].to_numpy() == 1


def _equal_weights(is_t: Any) -> Floats:
    return np.where(is_t, 0.5 / is_t.sum(), 0.5 / (~is_t).sum())


@PAPER("validation-threshold")
def validation_threshold() -> Rows:
    found = ec.sketch(training(), "margin", "label", score_type="raw", exact=True).best_threshold("dcf", prior=0.5)
    computed, threshold = found.select("dcf", "threshold").row(0)
    log = training().sort("margin", descending=True)
    s, of_t = log["margin"].to_numpy(), log["label"].to_numpy() == 1
    dcf = np.cumsum(~of_t) / (~of_t).sum() + 1 - np.cumsum(of_t) / of_t.sum()
    best = int(dcf.argmin())
    # The lecture decides for H_T from its threshold on, and polars_ec above its own, which is the next lower score.
    elsewhere = value(evaluated(), ec.dcf("margin", "label", threshold=threshold, **_LLR))
    theoretical = value(evaluated(), ec.dcf("margin", "label", **_LLR))
    yield "best DCF in the validation set", (computed, dcf[best])
    yield "its threshold", (threshold, s[best + 1])
    yield "DCF there in the other rows", (elsewhere, sum(wrong_rates("margin", float(s[best]))))
    yield "DCF of the theoretical threshold", between(theoretical, elsewhere, 2, f"above {elsewhere:.4f}")


@PAPER("isotonic-regression")
def isotonic_regression() -> Rows:
    log = training().sort("margin")
    is_t = log["label"].to_numpy() == 1
    expected = pooled(is_t.astype(float), _equal_weights(is_t))
    found = values(log, ec.calibrate(training(), "margin", "label", "pav", **_RAW).apply("margin"))
    yield "largest difference of a posterior", (np.abs(found - expected).max(), 0.0)
    yield "mean posterior of H_T", (found[is_t].mean(), expected[is_t].mean())


def _fitted(calibrator: Any) -> tuple[float, float]:
    return ec.calibrate(training(), "margin", "label", calibrator, **_RAW).frame.select("alpha", "beta").row(0)


@PAPER("logistic-regression")
def logistic_regression() -> Rows:
    (alpha, beta), (s, is_t) = _fitted("affine"), _trained()
    expected = least_cross_entropy(s, is_t, _equal_weights(is_t))
    yield "alpha", by_equation(alpha, expected[0], relative=1e-7)
    yield "beta", by_equation(beta, expected[1], relative=1e-7)
    yield "alpha beside that of the densities", between(alpha, 0.445, 0.555, "0.5 +- 0.055")
    yield "beta beside that of the densities", between(beta, -1.18, -0.82, "-1 +- 0.18")


@PAPER("gaussian-score-model")
def gaussian_model() -> Rows:
    (alpha, beta), (s, is_t) = _fitted("gaussian"), _trained()
    m0, m1 = s[~is_t].mean(), s[is_t].mean()
    variance = (s[~is_t].var() + s[is_t].var()) / 2
    yield "alpha", (alpha, (m1 - m0) / variance)
    yield "beta", (beta, -(m1 - m0) * (m1 + m0) / (2 * variance))


@PAPER("score-calibration", columns=["actual DCF"])
def score_calibration() -> Rows:
    raw = value(evaluated(), ec.dcf("margin", "label", **_LLR))
    least = value(evaluated(), ec.min_dcf("margin", "label", **_RAW))
    for name, calibrator in (
        ("isotonic regression", "pav"),
        ("prior-weighted logistic regression", "affine"),
        ("Gaussian score model", "gaussian"),
    ):
        fitted = ec.calibrate(training(), "margin", "label", calibrator, **_RAW)
        actual = value(evaluated(), ec.nec(fitted.apply("margin"), "label", prior=0.5))
        yield name, between(actual, least, raw, f"{least:.4f} to {raw:.4f}")
