"""Numbers that Ferrer and Ramos print in "Evaluating posterior probabilities: decision theory, proper scoring rules, and calibration"."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.cases import mostly_slow
from tests.support.doors import evaluate
from tests.support.gaussians import gaussian_classes, log_likelihoods, log_softmax, vectors
from tests.support.papers import counted, exactly, printed


@pytest.mark.parametrize(
    ("prior", "cross_entropy", "brier"), [(0.4, 0.6730116670092565, 0.24), (0.2, 0.5004024235381879, 0.16)]
)
def test_naive_posteriors(metric, prior, cross_entropy, brier):
    """Who always answers the prior has the entropy of the priors as CE and sum P (1 - P) / K as Brier score."""
    frame = pl.DataFrame({"score": [prior] * 10, "label": [1] * round(10 * prior) + [0] * round(10 - 10 * prior)})
    assert metric("cross_entropy", frame) == exactly(cross_entropy)
    assert metric("brier", frame) == exactly(brier)
    assert metric("nce", frame) == exactly(1.0)
    assert metric("nbs", frame) == exactly(1.0)


def test_accuracy_identity(metric):
    """With priors (0.8, 0.2), accuracy = 1 - 0.2 times the normalised risk of 0-1 costs."""
    frame = counted([[70, 10], [5, 15]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("accuracy", frame, **options) == exactly(0.85)
    assert 1 - 0.2 * metric("nec", frame, **options) == exactly(0.85)


FIGURE_1 = {  # variance, what the log posteriors are multiplied with, NCE, NBS, Bayes risk at 1/2 (read off the code)
    "cal": (0.15, 1.0, 0.34, 0.29, 0.18806),
    "mcs-u": (0.15, 0.48, 0.42, 0.34, 0.18806),
    "mcs-o": (0.15, 2.0, 0.42, 0.31, 0.18806),
    "cal-h": (0.19, 1.0, 0.42, 0.36, 0.24124),
}


@cache
def figure_1_system(system: str) -> pl.DataFrame:
    variance, scale, *_ = FIGURE_1[system]
    counts, means = (60_000, 40_000), ((math.sqrt(0.5), 0.0), (0.0, math.sqrt(0.5)))
    joint = log_likelihoods(gaussian_classes(counts, means, variance), means, variance) + np.log([0.6, 0.4])
    frame = vectors(counts, log_softmax(scale * joint))
    first, second = (pl.col("score").arr.get(i) for i in range(2))
    return frame.with_columns(log_odds=second - first, posterior=second.exp())


@pytest.mark.parametrize("system", FIGURE_1)
def test_figure_1(metric, system):
    _, _, nce, nbs, risk_at_half = FIGURE_1[system]
    frame = figure_1_system(system)
    assert metric("nce", frame, score_type="log_posteriors") == printed(nce, 2)
    assert metric("nbs", frame, score_type="log_posteriors") == printed(nbs, 2)
    # The figure's costs [[0, 1/(1-a)], [1/a, 0]], at a = 1/2: twice the error rate.
    costs = {"costs": [[0.0, 2.0], [2.0, 0.0]], "score_type": "log_odds"}
    assert metric("bayes_risk", frame, "log_odds", **costs) == exactly(risk_at_half)
    assert metric("error_rate", frame, "log_odds", score_type="log_odds") == exactly(risk_at_half / 2)
    frame = frame.gather_every(20)
    for score in ("log_odds", "posterior"):
        options = {"score_type": score}
        cross_entropy, brier = (metric(name, frame, score, **options) for name in ("cross_entropy", "brier"))
        assert metric("epsr", frame, score, a=1.0, b=1.0, **options) == pytest.approx(cross_entropy, rel=1e-10)
        assert metric("epsr", frame, score, a=2.0, b=2.0, **options) == pytest.approx(3 * brier, rel=1e-10)


# Percentages that the empirical cross-entropy is above the semi-empirical one, both over that of their naive systems: only
# so do the numbers of "true" come out, for the mean of the true posteriors is not the share of the classes.
TABLE_1 = {  # what the log posteriors are multiplied with, the priors that they are made with, N: (histogram, true)
    "cal": (1.0, (0.8, 0.2), {200: (-6, -3), 2000: (-8, -5), 20000: (-9, -2)}),
    "mcs": (5.0, (0.8, 0.2), {200: (-153, -7), 2000: (-143, -10), 20000: (-132, -5)}),
    "mcp": (1.0, (0.1, 0.9), {200: (-19, 4), 2000: (-21, -2), 20000: (-17, 0)}),
    "mcps": (5.0, (0.1, 0.9), {200: (-62, 4), 2000: (-84, -2), 20000: (-82, 0)}),
}


def affine_fit(log_odds: np.ndarray, label: np.ndarray) -> np.ndarray:
    """Log-odds alpha x + beta of least mean log loss, by Newton's method."""
    x = np.stack([log_odds / log_odds.std(), np.ones(len(log_odds))], axis=1)
    parameters = np.zeros(2)
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ parameters))
        parameters -= np.linalg.solve(x.T @ (x * (p * (1 - p))[:, None]), x.T @ (p - label))
    return x @ parameters


@pytest.mark.parametrize("system", TABLE_1)
@pytest.mark.parametrize("n", mostly_slow([200, 2000, 20000], [200, 2000]))
def test_table_1_semi_empirical_cross_entropy(metric, system, n):
    scale, priors, printed_values = TABLE_1[system]
    counts, means = (int(0.8 * n), int((1 - 0.8) * n)), ((math.sqrt(0.5), 0.0), (0.0, math.sqrt(0.5)))
    likelihoods = log_likelihoods(gaussian_classes(counts, means, 0.15), means, 0.15)
    frame = vectors(counts, log_softmax(scale * log_softmax(likelihoods + np.log(priors))))
    label = frame["label"].to_numpy()
    log_odds = frame["score"].to_numpy() @ [-1.0, 1.0]
    fitted = affine_fit(log_odds, label)
    bins = np.clip(np.ceil(15 * np.exp(frame["score"].to_numpy()[:, 1])), 1, 15)
    share = np.array([label[bins == b].mean() for b in bins])
    with np.errstate(divide="ignore"):
        references = {
            "affine": log_softmax(np.stack([np.zeros(len(fitted)), fitted], axis=1)),
            "histogram": np.log(np.stack([1 - share, share], axis=1)),
            "true": log_softmax(likelihoods + np.log([0.8, 0.2])),
        }
    frame = frame.with_columns(pl.Series(k, v, dtype=pl.Array(pl.Float64, 2)) for k, v in references.items())
    empirical = metric("nce", frame, score_type="log_posteriors")

    def above(reference: str) -> float:
        value = metric("semi_empirical_epsr", frame, label=reference, normalized=True, score_type="log_posteriors")
        return 100 * (empirical - value) / empirical

    histogram, true = printed_values[n]
    # Trained on the very data by cross-entropy, the affine transform leaves its gradient at 0.
    assert above("affine") == pytest.approx(0, abs=1e-6)
    assert above("histogram") == printed(histogram, 0)
    assert above("true") == printed(true, 0)


def test_figure_1_scoring_rule_is_the_integral_of_bayes_risks():
    """The left plot's area is the cross-entropy: sum the Bayes risks over operating points a and compare.

    One door is enough: that the doors agree on risks and on epsr is tested above.
    """
    frame = figure_1_system("cal").gather_every(40)
    nodes, weights = np.polynomial.legendre.leggauss(60)
    s, ds = (nodes + 1) / 2, weights / 2
    # The risk is steep near 0 and 1, where this substitution puts more points.
    points, widths = s**2 * (3 - 2 * s), 6 * s * (1 - s) * ds
    risks = frame.select(
        ec.bayes_risk("log_odds", "label", cost_fp=1 / (1 - a), cost_fn=1 / a, score_type="log_odds").alias(str(i))
        for i, a in enumerate(points.tolist())
    ).row(0)
    # The risk of 2,500 rows has as many steps: about three digits can be had.
    expected = evaluate("function", "epsr", frame, "log_odds", score_type="log_odds")
    assert np.dot(risks, widths) == pytest.approx(expected, rel=2e-3)
