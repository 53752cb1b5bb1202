"""The ways to calibrate scores: by a threshold of a validation set, and by functions that make LLRs of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from polars_ec.papers.lecture.scores import evaluated, training, wrong_rates
from polars_ec.papers.numbers import Table, between, by_equation
from polars_ec.papers.simulated import Floats
from polars_ec.papers.small import column, value
from polars_ec.papers.written_out import least_cross_entropy, pooled

RAW: Any = {"score_type": "raw", "prior": 0.5}


def validation_threshold() -> Table:
    """The best threshold of one half of the rows, and what it costs in the other."""
    options: Any = {"score_type": "raw", "exact": True}
    scores = ec.sketch(training(), "margin", "label", **options)
    found = scores.best_threshold("dcf", prior=0.5).row(0, named=True)
    log = training().sort("margin", descending=True)
    s, of_t = log["margin"].to_numpy(), log["label"].to_numpy() == 1
    dcf = np.cumsum(~of_t) / (~of_t).sum() + 1 - np.cumsum(of_t) / of_t.sum()
    best = int(dcf.argmin())
    p_fn, p_fp = wrong_rates("margin", float(s[best]))
    # The lecture decides for H_T from its threshold on, and polars_ec above its own, which is the next lower score.
    elsewhere = value(evaluated(), ec.dcf("margin", "label", threshold=found["threshold"], prior=0.5, score_type="llr"))
    theoretical = value(evaluated(), ec.dcf("margin", "label", prior=0.5, score_type="llr"))
    return column(
        {
            "best DCF in the validation set": by_equation(found["dcf"], float(dcf[best])),
            "its threshold": by_equation(found["threshold"], float(s[best + 1])),
            "DCF there in the other rows": by_equation(elsewhere, p_fn + p_fp),
            "DCF of the theoretical threshold": between(theoretical, elsewhere, 2, f"above {elsewhere:.4f}"),
        },
        "Thresholds are of prior 1/2 and costs of 1.",
    )


def isotonic_regression() -> Table:
    """Steps that never fall, by pooling adjacent violators; both classes weigh the same."""
    calibration = ec.calibrate(training(), "margin", "label", "pav", **RAW)
    log = training().sort("margin")
    is_t = log["label"].to_numpy() == 1
    expected = pooled(is_t.astype(float), _equal_weights(is_t))
    found = np.asarray(log.select(calibration.apply("margin")).to_series().to_numpy())
    return column(
        {
            "largest difference of a posterior": by_equation(float(np.abs(found - expected).max()), 0.0),
            "mean posterior of H_T": by_equation(float(found[is_t].mean()), float(expected[is_t].mean())),
        }
    )


def logistic_regression() -> Table:
    """Log odds alpha s + beta of least cross-entropy, where both classes weigh the same, by Newton's method."""
    fitted = ec.calibrate(training(), "margin", "label", "affine", **RAW).frame.row(0, named=True)
    s, is_t = training()["margin"].to_numpy(), training()["label"].to_numpy() == 1
    alpha, beta = least_cross_entropy(s, is_t, _equal_weights(is_t))
    return column(
        {
            "alpha": by_equation(fitted["alpha"], alpha, relative=1e-7),
            "beta": by_equation(fitted["beta"], beta, relative=1e-7),
            "alpha beside that of the densities": between(fitted["alpha"], 0.445, 0.555, "0.5 +- 0.055"),
            "beta beside that of the densities": between(fitted["beta"], -1.18, -0.82, "-1 +- 0.18"),
        },
        "Margins are 2 LLR + 2, so that LLRs are 0.5 margin - 1. Allowed are three standard deviations over 200 draws; beside Newton's method in "
        "NumPy 1e-7, for both end a little before the minimum.",
    )


def gaussian_model() -> Table:
    """A normal density for each class, with one variance."""
    fitted = ec.calibrate(training(), "margin", "label", "gaussian", **RAW).frame.row(0, named=True)
    of_class = [training().filter(pl.col("label") == label)["margin"].to_numpy() for label in (0, 1)]
    m0, m1 = (float(s.mean()) for s in of_class)
    variance = float(np.mean([s.var() for s in of_class]))
    return column(
        {
            "alpha": by_equation(fitted["alpha"], (m1 - m0) / variance),
            "beta": by_equation(fitted["beta"], -(m1 - m0) * (m1 + m0) / (2 * variance)),
        }
    )


def score_calibration() -> Table:
    """What each way leaves of the cost of mis-calibration in rows that it has not seen."""
    rows = []
    raw = value(evaluated(), ec.dcf("margin", "label", prior=0.5, score_type="llr"))
    least = value(evaluated(), ec.min_dcf("margin", "label", prior=0.5, score_type="raw"))
    ways: Any = (
        ("isotonic regression", "pav"),
        ("prior-weighted logistic regression", "affine"),
        ("Gaussian score model", "gaussian"),
    )
    for name, calibrator in ways:
        calibration = ec.calibrate(training(), "margin", "label", calibrator, **RAW)
        log = evaluated().with_columns(posterior=calibration.apply("margin"))
        actual = value(log, ec.nec("posterior", "label", prior=0.5))
        rows.append((name, [between(actual, least, raw, f"{least:.4f} to {raw:.4f}")]))
    return Table(
        ["actual DCF"],
        rows,
        ["At prior 1/2 and costs of 1: between the minimum DCF and the actual one of the margins as they are."],
    )


def _equal_weights(is_t: NDArray[np.bool_]) -> Floats:
    """Of rows, so that both classes weigh a half."""
    weights: Floats = np.where(is_t, 0.5 / is_t.sum(), 0.5 / (~is_t).sum())
    return weights
