"""Cumani's lecture "Bayes decisions and model evaluation": what `examples/papers` shows by functions, through the doors."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.lecture.decisions import FN, FP, POSTERIORS, PREDICTIONS_AS_ROWS, PRIORS, STEPS, TN, TP
from tests.support.papers import counted, exactly, printed, repeated


def test_rain(metric):
    """The lecture's table has predictions as rows; here rows are what came. Rain is the positive class."""
    frame = counted([[TN, FP], [FN, TP]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("confusion", frame, **options) == [[300, 30], [20, 15]]
    assert metric("accuracy", frame, **options) == exactly(315 / 365) == printed(0.86, 2)
    assert metric("error_rate", frame, **options) == exactly(0.136986301369863)
    assert metric("nec", frame, **options) == exactly(1.4285714285714286)
    assert metric("fnr", frame, **options) == exactly(0.5714285714285714)
    assert metric("fpr", frame, **options) == exactly(0.09090909090909091)
    assert metric("recall", frame, **options) == exactly(0.42857142857142855)
    assert metric("specificity", frame, **options) == exactly(0.9090909090909091)
    assert metric("balanced_accuracy", frame, **options) == exactly(0.6688311688311688)
    assert metric("n_rows", repeated([[300, 30], [20, 15]]), score_type="decision") == 365
    always_clear = counted([[TN + FP, 0], [FN + TP, 0]])
    assert metric("accuracy", always_clear, **options) == exactly(0.9041095890410958) == printed(0.90, 2)
    assert metric("nec", always_clear, **options) == exactly(1.0)


def test_bayes_decision_of_three_classes(metric):
    """The cheapest decision is the class with the lowest posterior, because it lies between the other two."""
    frame = pl.DataFrame({"score": pl.Series([POSTERIORS], dtype=pl.Array(pl.Float64, 3))})
    options = {"score_type": "posteriors"}
    assert metric("bayes_decision", frame, costs=STEPS, **options) == [1]
    assert metric("bayes_decision", frame, **options) == [0]
    # The expected costs of the three actions, as those of constant decisions where the posteriors are the priors.
    for action, cost in enumerate([0.95, 0.75, 1.05]):
        constant = pl.DataFrame({"label": [0, 1, 2], "score": [action] * 3})
        value = metric("expected_cost", constant, costs=STEPS, prior=POSTERIORS, score_type="decision")
        assert value == exactly(cost)
    assert ec.CostMatrix(STEPS).naive(POSTERIORS) == (exactly(0.75), 1)


def test_bayes_decision_does_not_transpose_costs(metric):
    """The lecture's costs are symmetric; these are not, and their transpose decides 0."""
    frame = pl.DataFrame({"score": pl.Series([[0.4, 0.25, 0.35]], dtype=pl.Array(pl.Float64, 3))})
    costs = np.array([[0, 1, 2], [4, 0, 1], [9, 1, 0]])
    assert (np.array([0.4, 0.25, 0.35]) @ costs).argmin() == 1
    assert (costs @ np.array([0.4, 0.25, 0.35])).argmin() == 0
    assert metric("bayes_decision", frame, costs=costs.tolist(), score_type="posteriors") == [1]
    assert metric("bayes_decision", frame, costs=costs.T.tolist(), score_type="posteriors") == [0]


def test_empirical_bayes_risk(metric):
    table = np.array(PREDICTIONS_AS_ROWS).T.tolist()
    frame = counted(table)
    options = {"score_type": "decision", "weight": "n", "costs": STEPS}
    assert metric("confusion", frame, **options) == table
    assert [sum(row) for row in table] == [400, 402, 402]
    # Each class's term of the sum: costs of that class alone.
    terms = []
    for i in range(3):
        alone = [row if k == i else [0, 0, 0] for k, row in enumerate(STEPS)]
        terms.append(metric("expected_cost", frame, prior=PRIORS, **{**options, "costs": alone}))
    assert terms == exactly([0.18375, 0.20199004975124382, 0.17388059701492536])
    assert terms == [printed(term, 5) for term in (0.18375, 0.20199, 0.17388)]
    assert metric("expected_cost", frame, prior=PRIORS, **options) == exactly(0.5596206467661692)
    assert metric("expected_cost", frame, prior=PRIORS, **options) == printed(0.55962, 5)
    assert metric("nec", frame, prior=PRIORS, **options) == exactly(0.9327010779436153)
    assert metric("expected_cost", frame, **options) == exactly(0.5656146179401993)
    for action, cost in enumerate([1.0, 0.6, 1.0]):
        constant = pl.DataFrame({"label": [0, 1, 2], "score": [action] * 3})
        value = metric("expected_cost", constant, costs=STEPS, prior=PRIORS, score_type="decision")
        assert value == exactly(cost)


def test_empirical_bayes_risk_of_asymmetric_costs(metric):
    """The same table at costs whose transpose gives another risk."""
    table = np.array([[205, 145, 50], [111, 199, 92], [56, 121, 225]])
    costs = np.array([[0, 1, 2], [4, 0, 1], [9, 1, 0]])
    risk = ((table * costs).sum(axis=1) / table.sum(axis=1) * [0.3, 0.4, 0.3]).sum()
    options = {"score_type": "decision", "weight": "n", "prior": [0.3, 0.4, 0.3]}
    assert metric("expected_cost", counted(table.tolist()), costs=costs.tolist(), **options) == exactly(risk)
    assert metric("expected_cost", counted(table.tolist()), costs=costs.T.tolist(), **options) != exactly(risk)


def test_detection_cost(metric):
    """The effective prior pi C_fn / (pi C_fn + (1 - pi) C_fp) says it all: 0.1 with costs 1 and 9 is 0.0122 with even costs."""
    effective = 0.012195121951219514
    assert exactly(effective) == 0.1 * 1 / (0.1 * 1 + 0.9 * 9)
    threshold = -math.log(effective / (1 - effective))
    generator = np.random.default_rng(3)
    label = np.repeat([0, 1], [600, 200])
    llr = generator.normal(np.where(label == 1, 4.0, -4.0), 3.0)
    frame = pl.DataFrame({"score": llr, "label": label})
    miss, false_alarm = (llr[label == 1] <= threshold).mean(), (llr[label == 0] > threshold).mean()
    assert miss > 0
    assert false_alarm > 0
    expected = (0.1 * 1 * miss + 0.9 * 9 * false_alarm) / min(0.1 * 1, 0.9 * 9)
    options = {"score_type": "llr"}
    assert metric("dcf", frame, prior=0.1, cost_fn=1, cost_fp=9, **options) == exactly(expected)
    assert metric("dcf", frame, prior=effective, **options) == exactly(expected)
    decisions = metric("bayes_decision", frame, prior=0.1, cost_fn=1, cost_fp=9, **options)
    assert decisions == (llr > threshold).astype(int).tolist()
    # Costs the other way round are another problem.
    assert metric("dcf", frame, prior=0.1, cost_fn=9, cost_fp=1, **options) != exactly(expected)


def test_both_logs_of_a_table(metric):
    """An asymmetric table: transposed, it has other counts, rates and costs."""
    table = [[50, 20, 30], [5, 40, 5]]
    costs = [[0, 1, 0.5], [7, 0, 2]]
    options = {"costs": costs, "score_type": "decision"}
    cost = (20 * 1 + 30 * 0.5 + 5 * 7 + 5 * 2) / 150
    naive = min(50 * 7, 100 * 1, 100 * 0.5 + 50 * 2) / 150
    for frame, weight in ((counted(table), {"weight": "n"}), (repeated(table), {})):
        assert metric("confusion", frame, **options, **weight) == table
        assert metric("expected_cost", frame, **options, **weight) == exactly(cost)
        assert metric("nec", frame, **options, **weight) == exactly(cost / naive)
