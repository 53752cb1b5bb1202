"""Ferrer, "No need for ad-hoc substitutes: the expected cost ...": what `examples/papers` shows by functions, through the doors."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from examples.papers.expected_cost import thresholds
from examples.papers.expected_cost.decisions import SHARES
from examples.papers.expected_cost.thresholds import PRINTED, costs_of_ten, ten_classes
from tests.support.papers import counted, exactly, printed


@pytest.mark.slow
@pytest.mark.parametrize("name", PRINTED["Bayes"])
def test_table_1(metric, name):
    frame, costs = ten_classes().rename({"posteriors": "score"}), costs_of_ten()[name]
    bayes = metric("bayes_decision", frame, costs=costs, score_type="posteriors")
    argmax = frame["score"].to_numpy().argmax(axis=1)
    naive = pl.lit(costs.naive(SHARES)[1])
    frame = frame.with_columns(Naive=naive, Argmax=pl.Series(argmax), Bayes=pl.Series(bayes))
    direct = metric("expected_cost", frame, costs=costs, score_type="posteriors")
    for system, of_costs in PRINTED.items():
        cost, normalised, *abstained = map(float, of_costs[name])
        options = {"score": system, "score_type": "decision", "costs": costs}
        # The papers' truncated class counts are not in the ratio of the priors: the two agree to the digits printed.
        value = metric("expected_cost", frame, **options)
        assert value == printed(cost, 2), system
        assert metric("nec", frame, **options) == printed(normalised, 2), system
        table = np.array(metric("confusion", frame, **options))
        share = 100 * table[:, 10:].sum() / table.sum()
        assert share == printed(abstained[0] if abstained else 0, 0), system
    assert direct == exactly(value)


@pytest.mark.parametrize(
    ("name", "cost", "decisions"),
    [
        ("C01", 0.2, [0]),
        ("CinvP", 0.9, range(10)),
        ("Cimb", 0.8 + 8 * 0.2 / 9, [9]),
        ("Cabs1", 0.05, [10]),
        ("Cabs2", 0.2, [0]),
    ],
)
def test_naive_decisions_of_table_1(metric, name, cost, decisions):
    """Constant systems at the nominal priors: which are the best, and what they cost."""
    costs = costs_of_ten()[name]
    assert costs.naive(SHARES)[0] == exactly(cost)
    assert costs.naive(SHARES)[1] in decisions
    systems = [(label, decision) for decision in range(costs.n_decisions) for label in range(10)]
    frame = pl.DataFrame(systems, schema=["label", "score"], orient="row").with_columns(system="score")
    options = {"costs": costs, "prior": SHARES, "score_type": "decision", "by": "system"}
    normalised, expected = metric("nec", frame, **options), metric("expected_cost", frame, **options)
    for decision in range(costs.n_decisions):
        assert (normalised[decision] == exactly(1.0)) == (decision in decisions)
        assert expected[decision] == exactly(normalised[decision] * cost)


def test_thresholds_for_costs(metric):
    """Class 2 where its posterior is above c12 / (c12 + c21), or the log-odds above ln(c12 / c21)."""
    cost = math.exp(0.6)
    for threshold, options in ((-0.6, {"score_type": "log_odds"}), (1 / (1 + cost), {})):
        frame = pl.DataFrame({"score": [threshold - 1e-9, threshold + 1e-9]})
        assert metric("bayes_decision", frame, cost_fn=cost, **options) == [0, 1]


def test_abstain_rule(metric):
    """With 0-1 costs and an abstain decision of cost alpha: abstain where every posterior is below 1 - alpha."""
    scores = [[0.72, 0.18, 0.1], [0.69, 0.21, 0.1], [0.2, 0.05, 0.75], [0.4, 0.3, 0.3], [0.15, 0.701, 0.149]]
    frame = pl.DataFrame({"score": pl.Series(scores, dtype=pl.Array(pl.Float64, 3))})
    costs = ec.CostMatrix.zero_one(3, abstain=0.3)
    assert metric("bayes_decision", frame, score_type="posteriors", costs=costs) == [0, 3, 2, 3, 1]


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


@pytest.mark.slow
def test_the_coarse_sketch_of_figure_1_has_the_rows_metrics():
    """The figure's table is read off a sketch of one bin a nat: at its thresholds that is no approximation."""
    curve = thresholds.over_thresholds(thresholds.VARIANCE)
    log, options = thresholds.two_gaussians(thresholds.VARIANCE), {"score_type": "log_odds"}
    for threshold in (-2.4, -0.6, 0.3):
        row = curve.filter(pl.col("threshold") == threshold).row(0, named=True)
        found = log.select(
            not_f1=1 - ec.f1("log_odds", "label", threshold=threshold, **options),
            not_mcc=1 - ec.mcc("log_odds", "label", threshold=threshold, **options),
            nec_16=ec.nec("log_odds", "label", threshold=threshold, cost_fn=16, **options),
            share=ec.decision_share("log_odds", "label", 1, threshold=threshold, **options),
        ).row(0, named=True)
        assert {name: row[name] for name in found} == exactly(found)
