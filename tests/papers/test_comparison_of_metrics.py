"""Numbers that Ferrer prints in "Analysis and comparison of classification metrics"."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.gaussians import gaussian_classes, log_likelihoods, log_softmax, vectors
from tests.support.papers import counted, exactly, printed

EVEN = {"cost_fn": 1, "cost_fp": 1}
MISS_TWICE = {"cost_fn": 2, "cost_fp": 1}


# N21, N12; NEC with uniform priors, NEC with c21 = 1, NEC with c21 = 2, F1, MCC, R21, R12, R*2, R*1.
TABLE_1 = [  # N1 = N2 = 500
    (0, 50, 0.10, 0.10, 0.10, 0.95, 0.90, 0.00, 0.10, 0.55, 0.45),
    (25, 25, 0.10, 0.10, 0.15, 0.95, 0.90, 0.05, 0.05, 0.50, 0.50),
    (50, 0, 0.10, 0.10, 0.20, 0.95, 0.90, 0.10, 0.00, 0.45, 0.55),
    (0, 250, 0.50, 0.50, 0.50, 0.80, 0.58, 0.00, 0.50, 0.75, 0.25),
    (125, 125, 0.50, 0.50, 0.75, 0.75, 0.50, 0.25, 0.25, 0.50, 0.50),
    (250, 0, 0.50, 0.50, 1.00, 0.67, 0.58, 0.50, 0.00, 0.25, 0.75),
    (0, 450, 0.90, 0.90, 0.90, 0.69, 0.23, 0.00, 0.90, 0.95, 0.05),
    (225, 225, 0.90, 0.90, 1.35, 0.55, 0.10, 0.45, 0.45, 0.50, 0.50),
    (450, 0, 0.90, 0.90, 1.80, 0.18, 0.23, 0.90, 0.00, 0.05, 0.95),
]
TABLE_2 = [  # N1 = 900, N2 = 100
    (0, 90, 0.10, 0.90, 0.45, 0.69, 0.69, 0.00, 0.10, 0.19, 0.81),
    (5, 45, 0.10, 0.50, 0.28, 0.79, 0.78, 0.05, 0.05, 0.14, 0.86),
    (10, 0, 0.10, 0.10, 0.10, 0.95, 0.94, 0.10, 0.00, 0.09, 0.91),
    (0, 450, 0.50, 4.50, 2.25, 0.31, 0.30, 0.00, 0.50, 0.55, 0.45),
    (25, 225, 0.50, 2.50, 1.38, 0.38, 0.33, 0.25, 0.25, 0.30, 0.70),
    (50, 0, 0.50, 0.50, 0.50, 0.67, 0.69, 0.50, 0.00, 0.05, 0.95),
    (0, 810, 0.90, 8.10, 4.05, 0.20, 0.10, 0.00, 0.90, 0.91, 0.09),
    (40, 450, 0.90, 4.90, 2.65, 0.20, 0.06, 0.40, 0.50, 0.51, 0.49),
    (90, 0, 0.90, 0.90, 0.90, 0.18, 0.30, 0.90, 0.00, 0.01, 0.99),
    (45, 45, 0.50, 0.90, 0.68, 0.55, 0.50, 0.45, 0.05, 0.10, 0.90),
]


@pytest.mark.parametrize(
    ("n1", "n2", "row"), [(500, 500, row) for row in TABLE_1] + [(900, 100, row) for row in TABLE_2]
)
def test_tables_1_and_2(metric, n1, n2, row):
    n21, n12, nec_uniform, nec_1, nec_2, f1, mcc, r21, r12, decided_2, decided_1 = row
    frame = counted([[n1 - n12, n12], [n21, n2 - n21]])
    options = {"score_type": "decision", "weight": "n"}
    tp = n2 - n21

    assert metric("fnr", frame, **options) == exactly(n21 / n2) == printed(r21, 2)
    assert metric("fpr", frame, **options) == exactly(n12 / n1) == printed(r12, 2)
    (tn, fp), (fn, tp_found) = metric("confusion", frame, **options)
    assert ((fp + tp_found) / (n1 + n2), (tn + fn) / (n1 + n2)) == (printed(decided_2, 2), printed(decided_1, 2))

    value = metric("nec", frame, prior="uniform", **options)
    assert value == exactly(n12 / n1 + n21 / n2)
    assert value == printed(nec_uniform, 2)
    value = metric("nec", frame, **EVEN, **options)
    assert value == exactly((n12 + n21) / min(n1, n2))
    assert value == printed(nec_1, 2)
    value = metric("nec", frame, **MISS_TWICE, **options)
    assert value == exactly((n12 + 2 * n21) / min(n1, 2 * n2))
    assert value == printed(nec_2, 2)
    value = metric("f1", frame, **options)
    assert value == exactly(2 * tp / (2 * tp + n21 + n12))
    assert value == printed(f1, 2)
    value = metric("mcc", frame, **options)
    determinant = tp * (n1 - n12) - n12 * n21
    assert value == exactly(determinant / math.sqrt(n1 * n2 * (tp + n12) * (n1 - n12 + n21)))
    assert value == printed(mcc, 2)


def test_text_after_table_2(metric):
    """The F1 of 0.62 printed there is the MCC of that system; its F1 is 0.643."""
    frame = counted([[810, 90], [10, 90]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("nec", frame, prior="uniform", **options) == exactly(0.2)
    assert metric("nec", frame, **EVEN, **options) == exactly(1.0)
    assert metric("nec", frame, **MISS_TWICE, **options) == exactly(0.55)
    assert metric("f1", frame, **options) == pytest.approx(0.642857142857, abs=1e-12)
    assert metric("mcc", frame, **options) == pytest.approx(0.624695047554, abs=1e-12)
    assert metric("mcc", frame, **options) == printed(0.62, 2)
    (_, fp), (_, tp) = metric("confusion", frame, **options)
    assert (fp + tp) / 1000 == exactly(0.18)
    always_2 = counted([[0, 900], [0, 100]])
    assert metric("f1", always_2, **options) == exactly(2 / 11)
    assert metric("f1", always_2, **options) == printed(0.18, 2)
    # Always-H2 is the best naive system where a miss costs 10 times a false alarm, and not where they cost the same.
    assert metric("nec", always_2, cost_fn=10, cost_fp=1, **options) == exactly(1.0)
    assert metric("nec", always_2, **EVEN, **options) == exactly(9.0)


@cache
def two_gaussians(system: str) -> pl.DataFrame:
    """Systems "cal" and "mc1" of Table 3: log posteriors at the priors (0.9, 0.1), and the LLR.

    9,999 rows of H2 and not 10,000: the paper's code truncates (1 - 0.9) * 100000.
    """
    counts, means = (90_000, 9_999), ((0.0,), (1.0,))
    likelihoods = log_likelihoods(gaussian_classes(counts, means, 0.15), means, 0.15)
    if system == "mc1":
        likelihoods = 0.5 * likelihoods + np.array([0.5, 0.0])
    frame = vectors(counts, log_softmax(likelihoods + np.log([0.9, 0.1])))
    return frame.with_columns(llr=pl.Series(likelihoods[:, 1] - likelihoods[:, 0]))


# Cost of abstaining; EC, NEC and percentage of abstentions.
TABLE_3 = {
    "mc1": [
        (0.01, 0.006, 0.638, 61.5),
        (0.1, 0.030, 0.299, 12.3),
        (0.2, 0.052, 0.521, 6.7),
        (0.4, 0.076, 0.756, 2.0),
        (0.6, 0.079, 0.786, 0.0),
        (1.0, 0.079, 0.786, 0.0),
    ],
    "cal": [
        (0.01, 0.005, 0.534, 41.1),
        (0.1, 0.025, 0.249, 14.1),
        (0.2, 0.035, 0.355, 8.2),
        (0.4, 0.046, 0.456, 2.3),
        (0.6, 0.047, 0.467, 0.0),
        (1.0, 0.047, 0.467, 0.0),
    ],
}


@pytest.mark.parametrize("system", ["mc1", "cal"])
def test_table_3_abstaining(metric, system):
    frame = two_gaussians(system)
    for alpha, cost, normalised, abstained in TABLE_3[system]:
        costs = ec.CostMatrix.zero_one(2, abstain=alpha)
        decisions = metric("bayes_decision", frame, costs=costs, score_type="log_posteriors")
        decided = frame.select("label", score=pl.Series(decisions))
        options = {"costs": costs, "score_type": "decision"}
        table = np.array(metric("confusion", decided, **options))
        assert metric("expected_cost", frame, costs=costs, score_type="log_posteriors") == printed(cost, 3)
        assert metric("nec", decided, **options) == printed(normalised, 3)
        assert 100 * table[:, 2].sum() / table.sum() == printed(abstained, 1)
        # Abstaining never costs less than the surer class where it costs more than one half.
        assert table[:, 2].any() == (alpha < 0.5)


def test_section_4_8_1_decisions_for_unequal_costs(metric):
    """NEC with c21 = 2: by the Bayes threshold 0.605, by the best threshold 0.366.

    The paper reads the first off at the nearest point of a grid of step 0.01, and prints 0.604: a unit of its last digit
    is allowed. The second is the least over a grid of thresholds here too.
    """
    frame = two_gaussians("mc1")
    prior = frame["label"].mean()
    options = {"score_type": "llr", **MISS_TWICE}
    assert metric("nec", frame, "llr", prior=prior, **options) == pytest.approx(0.604, abs=0.001)
    assert metric("nec", frame, "llr", prior=prior, **options) == pytest.approx(0.6049604960496049, rel=1e-9)
    at_threshold = {
        threshold: metric("nec", frame, "llr", threshold=threshold, **options)
        for threshold in np.arange(0.0, 1.2, 0.1).round(1).tolist()
    }
    best = min(at_threshold, key=at_threshold.get)
    assert at_threshold[best] == pytest.approx(0.366, abs=0.001)
    # The shift of the miscalibrated scores is what the Bayes threshold does not know of.
    assert best < 0.5 < math.log(0.9 / 0.1 / 2)
