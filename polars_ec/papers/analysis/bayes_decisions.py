"""Section 3: Bayes decisions, calibration as the paper defines it, and what posteriors have to do with priors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.analysis.small_logs import (
    BINARY,
    BINARY_POSTERIORS,
    COST_MATRIX,
    COSTS,
    POSTERIORS,
    SCORED,
    by_sample,
    decisions,
    values,
)
from polars_ec.papers.analysis.two_classes import SYSTEMS, two_class_log
from polars_ec.papers.numbers import Number, Table, alone, between, near_share
from polars_ec.papers.simulated import Floats, log_likelihoods, vectors
from polars_ec.papers.small import column, side_by_side, value

_C12, _C21 = 1.0, 3.0
_PRIOR = 0.2
"""P(H2), stated."""


def equation_36() -> Table:
    """The expectation by the posteriors themselves: each sample is of each class, as often as its posterior says."""
    each = SCORED.with_row_index("t").with_columns(label=pl.lit([0, 1, 2]), weight=pl.col("s").arr.to_list())
    log = each.explode("label", "weight", empty_as_null=False)
    computed = value(log, ec.expected_cost("s", "label", costs=COST_MATRIX, weight="weight"))
    return side_by_side({"EC of Bayes decisions": (computed, (POSTERIORS @ COSTS).min(axis=1).mean())})


def equation_37() -> Table:
    """The decision that costs least by the posteriors."""
    computed = values(SCORED, ec.bayes_decision("s", costs=COST_MATRIX))
    return decisions(computed, (POSTERIORS @ COSTS).argmin(axis=1))


def equation_38() -> Table:
    """Whether a transformation, fitted to other samples, makes better Bayes decisions."""
    log = two_class_log()
    rows: list[tuple[str, list[Number | None]]] = []
    for system in SYSTEMS:
        for calibrator in ("affine", "pav"):
            options: dict[str, Any] = {"calibrator": calibrator, "folds": 5, "fold_by": "id", "cost_fn": 2}
            found = ec.calibration_loss(log, f"{system}_posterior", "label", "bayes_risk", **options)
            raw, calibrated, percent = found.select("raw", "calibrated", "rcl").row(0)
            range_of = (-1.0, 1.0, "about 0") if system == "cal" else (20.0, 100.0, "well above 0")
            rows.append(
                (
                    f"{system}, {calibrator}",
                    [alone(raw), alone(calibrated), between(percent, *range_of, decimals=2)],
                )
            )
    return Table(
        ["EC", "EC, calibrated", "gain in percent"],
        rows,
        [
            "Simulated scores of Section 4.8.1, c21 = 2: cal are right by construction, mc1 are not. No number is printed."
        ],
    )


def equation_39() -> Table:
    """Among samples of posterior s, the share of H2 is s."""
    log = two_class_log()
    bins = ec.sketch(log, "cal_posterior", "label").reliability(resolution=1).select("n", "posterior", "positive_share")
    numbers = {}
    for n, posterior, share in bins.iter_rows():
        # Of fewer than ten expected samples of H2, or of H1, the share is not normal.
        if n * min(posterior, 1 - posterior) >= 10:
            numbers[f"posteriors of about {posterior:.3g}: {n:,} samples"] = near_share(share, posterior, n)
    return column(
        numbers,
        "Share of H2 among samples in bins of the log-odds of Datap-cal, two classes, beside their mean posterior; allowed are three "
        "standard errors of the share.",
    )


def _argmax_beside(expected: Floats) -> Table:
    return decisions(values(SCORED, ec.bayes_decision("s", costs=ec.CostMatrix.zero_one(3))), expected)


def equation_40() -> Table:
    """At 0-1 costs: the least sum of the posteriors of the others."""
    others = np.stack([np.delete(POSTERIORS, i, axis=1).sum(axis=1) for i in range(3)], axis=1)
    return _argmax_beside(others.argmin(axis=1))


def equation_41() -> Table:
    """The least that the posterior lacks to 1."""
    return _argmax_beside((1 - POSTERIORS).argmin(axis=1))


def equation_42() -> Table:
    """The largest posterior."""
    return _argmax_beside(POSTERIORS.argmax(axis=1))


def _binary_decisions() -> list[float]:
    return values(BINARY, ec.bayes_decision("s2", cost_fn=_C21, cost_fp=_C12))


def equation_43() -> Table:
    """Two classes: H2 where it is the cheaper one."""
    return decisions(_binary_decisions(), _C12 * (1 - BINARY_POSTERIORS) < _C21 * BINARY_POSTERIORS)


def equation_44() -> Table:
    """Two classes: a threshold on the posterior."""
    return decisions(_binary_decisions(), BINARY_POSTERIORS > _C12 / (_C12 + _C21))


def equation_45() -> Table:
    """Posteriors from likelihoods, at stated priors."""
    likelihoods = np.array([[0.7, 0.1, 0.02], [0.3, 0.3, 0.3], [1e-4, 0.02, 0.5]])
    priors = np.array([0.5, 0.3, 0.2])
    joint = likelihoods * priors
    log = pl.DataFrame({"l": vectors(np.log(likelihoods))})
    computed = log.select(q=ec.posterior("l", prior=priors.tolist(), score_type="log_likelihoods"))["q"].to_numpy()
    expected = joint / joint.sum(axis=1, keepdims=True)
    return side_by_side(
        {
            f"sample {t + 1}, P(H{i + 1}|x)": (float(computed[t, i]), float(expected[t, i]))
            for t in range(3)
            for i in range(3)
        }
    )


def _likelihood_ratios() -> Floats:
    """p(x|H2) / p(x|H1) of two Gaussians."""
    x = np.array([[-1.0], [0.0], [0.25], [0.5], [1.0]])
    of_classes = log_likelihoods(x, ((0.0,), (1.0,)), 0.15)
    ratios: Floats = np.exp(of_classes[:, 1] - of_classes[:, 0])
    return ratios


def equation_46() -> Table:
    """Posteriors from likelihood ratios."""
    ratios = _likelihood_ratios()
    log = pl.DataFrame({"llr": np.log(ratios)})
    computed = values(log, ec.posterior("llr", prior=_PRIOR, score_type="llr"))
    return by_sample(computed, 1 / (1 + (1 - _PRIOR) / _PRIOR / ratios), "P(H2|x)")


def equation_47() -> Table:
    """Likelihood ratios, by taking the prior off the posteriors."""
    ratios = _likelihood_ratios()
    joint = ratios * _PRIOR / (ratios * _PRIOR + 1 - _PRIOR)
    llrs = values(pl.DataFrame({"s2": joint}), ec.llr("s2", prior=_PRIOR))
    return by_sample([math.exp(x) for x in llrs], ratios, "LR(x)")


def equation_48() -> Table:
    """A threshold on the likelihood ratio."""
    ratios = _likelihood_ratios()
    log = pl.DataFrame({"llr": np.log(ratios)})
    options: dict[str, Any] = {"cost_fn": _C21, "cost_fp": _C12, "prior": _PRIOR, "score_type": "llr"}
    expected = ratios > _C12 * (1 - _PRIOR) / (_C21 * _PRIOR)
    return decisions(values(log, ec.bayes_decision("llr", **options)), expected)
