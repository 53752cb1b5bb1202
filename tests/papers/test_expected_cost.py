"""Numbers that Ferrer prints in "No need for ad-hoc substitutes: the expected cost is a principled all-purpose classification metric"."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.gaussians import gaussian_classes, log_likelihoods, log_softmax, vectors
from tests.support.papers import counted, exactly, printed

TEN_PRIORS = (0.8, *[0.2 / 9] * 9)
# Columns in the order EC, NEC, percentage of abstentions.
EXPECTED_COST_TABLE_1 = {
    "naive": {
        "01": (0.20, 1.00, 0),
        "inverse prior": (0.90, 1.00, 0),
        "important class": (0.98, 1.00, 0),
        "abstain 0.05": (0.05, 1.00, 100),
        "abstain 0.30": (0.20, 1.00, 0),
    },
    "argmax": {
        "01": (0.06, 0.32, 0),
        "inverse prior": (0.28, 0.31, 0),
        "important class": (0.36, 0.37, 0),
        "abstain 0.05": (0.06, 1.29, 0),
        "abstain 0.30": (0.06, 0.32, 0),
    },
    "Bayes": {
        "01": (0.06, 0.32, 0),
        "inverse prior": (0.23, 0.26, 0),
        "important class": (0.08, 0.08, 0),
        "abstain 0.05": (0.02, 0.35, 25),
        "abstain 0.30": (0.06, 0.28, 7),
    },
}


def ten_class_costs(name: str) -> ec.CostMatrix:
    if name == "inverse prior":
        return ec.CostMatrix.balanced(TEN_PRIORS)
    if name.startswith("abstain"):
        return ec.CostMatrix.zero_one(10, abstain=float(name.split()[1]))
    costs = 1 - np.eye(10)
    if name == "important class":
        costs[9] *= 100
    return ec.CostMatrix(costs)


@cache
def ten_gaussians() -> pl.DataFrame:
    """10,000 rows, of which truncation leaves 8,000 of H1 and 222 of each other class (the appendix says 100,000)."""
    counts, means = (8_000, *[222] * 9), tuple((float(i),) for i in range(10))
    joint = log_likelihoods(gaussian_classes(counts, means, 0.2), means, 0.2) + np.log(TEN_PRIORS)
    # Posteriors below what a float can hold are 0 here, and sum to 1 all the same.
    frame = vectors(counts, np.exp(log_softmax(joint)))
    return frame.with_columns(argmax=pl.Series(joint.argmax(axis=1)))


@pytest.mark.parametrize("costs_name", EXPECTED_COST_TABLE_1["Bayes"])
def test_expected_cost_table_1(metric, costs_name):
    frame, costs = ten_gaussians(), ten_class_costs(costs_name)
    naive_cost, naive_decision = costs.naive(TEN_PRIORS)
    bayes = metric("bayes_decision", frame, costs=costs, score_type="posteriors")
    frame = frame.with_columns(naive=pl.lit(naive_decision), Bayes=pl.Series(bayes))
    assert metric("expected_cost", frame, costs=costs, score_type="posteriors") == printed(
        EXPECTED_COST_TABLE_1["Bayes"][costs_name][0], 2
    )
    for system, of_costs in EXPECTED_COST_TABLE_1.items():
        cost, normalised, abstained = of_costs[costs_name]
        options = {"score": system, "score_type": "decision", "costs": costs}
        # The papers' truncated class counts are not in the ratio of the priors: the two agree to the digits printed.
        assert metric("expected_cost", frame, **options) == printed(cost, 2), system
        assert metric("nec", frame, **options) == printed(normalised, 2), system
        table = np.array(metric("confusion", frame, **options))
        share = 100 * table[:, 10:].sum() / table.sum()
        assert share == printed(abstained, 0), system
    assert naive_cost == printed(EXPECTED_COST_TABLE_1["naive"][costs_name][0], 2)


@pytest.mark.parametrize(
    ("costs_name", "cost", "decisions"),
    [
        ("01", 0.2, [0]),
        ("inverse prior", 0.9, range(10)),
        ("important class", 0.8 + 8 * 0.2 / 9, [9]),
        ("abstain 0.05", 0.05, [10]),
        ("abstain 0.30", 0.2, [0]),
    ],
)
def test_expected_cost_table_1_naive_decisions(metric, costs_name, cost, decisions):
    """Constant systems at the nominal priors: which are the best, and what they cost."""
    costs = ten_class_costs(costs_name)
    assert costs.naive(TEN_PRIORS)[0] == exactly(cost)
    assert costs.naive(TEN_PRIORS)[1] in decisions
    systems = [(label, decision) for decision in range(costs.n_decisions) for label in range(10)]
    frame = pl.DataFrame(systems, schema=["label", "score"], orient="row").with_columns(system="score")
    options = {"costs": costs, "prior": list(TEN_PRIORS), "score_type": "decision", "by": "system"}
    normalised, expected = metric("nec", frame, **options), metric("expected_cost", frame, **options)
    for decision in range(costs.n_decisions):
        assert (normalised[decision] == exactly(1.0)) == (decision in decisions)
        assert expected[decision] == exactly(normalised[decision] * cost)


def test_thresholds_for_costs(metric):
    """Class 2 where its posterior is above c12 / (c12 + c21), or the log-odds above ln(c12 / c21); printed: -0.6 for 1.8."""
    assert ec.CostMatrix.binary(cost_fn=1.8).bayes_threshold() == exactly(1 / 2.8)
    assert math.exp(0.6) == printed(1.8, 1)
    frame = pl.DataFrame({"score": [-0.6 - 1e-9, -0.6 + 1e-9]})
    options = {"cost_fn": 1.8221188003905089, "score_type": "log_odds"}
    assert metric("bayes_decision", frame, **options) == [0, 1]
    posterior = 1 / (1 + 1.8221188003905089)
    frame = pl.DataFrame({"score": [posterior - 1e-9, posterior + 1e-9]})
    assert metric("bayes_decision", frame, cost_fn=1.8221188003905089) == [0, 1]


def test_abstain_rule(metric):
    """With 0-1 costs and an abstain decision of cost alpha: abstain where every posterior is below 1 - alpha."""
    alpha = 0.3
    scores = [[0.72, 0.18, 0.1], [0.69, 0.21, 0.1], [0.2, 0.05, 0.75], [0.4, 0.3, 0.3], [0.15, 0.701, 0.149]]
    frame = pl.DataFrame({"score": pl.Series(scores, dtype=pl.Array(pl.Float64, 3))})
    costs = ec.CostMatrix.zero_one(3, abstain=alpha)
    expected = [int(np.argmax(q)) if max(q) > 1 - alpha else 3 for q in scores]
    assert metric("bayes_decision", frame, score_type="posteriors", costs=costs) == expected == [0, 3, 2, 3, 1]


def test_net_benefit_and_likelihood_ratio(metric):
    """N22/N - p_t/(1 - p_t) N12/N = P2 - EC with c21 = 1, c12 = p_t/(1 - p_t); LR+ = (1 - NEC)/R12 + 1, uniform priors."""
    frame = counted([[810, 90], [10, 90]])
    options = {"score_type": "decision", "weight": "n"}
    assert metric("net_benefit", frame, p_t=0.2, **options) == exactly(0.0675)
    cost = metric("expected_cost", frame, cost_fn=1, cost_fp=0.25, **options)
    assert metric("class_prior", frame, **options) - cost == exactly(0.0675)
    assert metric("lr_plus", frame, **options) == exactly(9.0)
    uniform = metric("nec", frame, prior="uniform", **options)
    assert (1 - uniform) / metric("fpr", frame, **options) + 1 == exactly(9.0)
