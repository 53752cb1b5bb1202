"""Curves: every operating point of small logs, counted one by one."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests import ranking_oracle as oracle
from tests.test_papers import gaussian_classes, log_likelihoods

RANDOM = np.random.default_rng(3)
N = 400
LOG_ODDS = np.round(RANDOM.normal(size=N) * 2, 2)
LABELS = RANDOM.random(N) < 1 / (1 + np.exp(-LOG_ODDS))
LOG = pl.DataFrame({"g": RANDOM.choice(["a", "b"], N), "s": LOG_ODDS, "y": LABELS}).with_columns(
    p=1 / (1 + (-pl.col("s")).exp())
)


def parts():
    for (group,), log in LOG.partition_by("g", as_dict=True).items():
        yield group, log, oracle.roc_points(log["s"].to_list(), log["y"].to_list(), [1.0] * log.height)


@pytest.mark.parametrize("exact", [True, False])
def test_every_point_is_a_point_of_the_exact_curve(exact: bool) -> None:
    sketch = LOG.ec.sketch("s", "y", by="g", score_type="log_odds", exact=exact)
    for group, log, points in parts():
        found = sketch.roc().filter(g=group)
        assert found["fpr"].is_sorted()
        listed = found.select("fpr", "tpr").rows()
        exact_points = {(round(f, 12), round(t, 12)) for f, t in points}
        assert {(round(f, 12), round(t, 12)) for f, t in listed} <= exact_points
        if exact:
            np.testing.assert_allclose(listed, points, rtol=1e-12)
        assert listed[0] == (0, 0)
        assert listed[-1] == (1, 1)
        for row in found.to_dicts():
            decided = log["s"] > row["threshold"]
            assert row["tpr"] == pytest.approx(log.filter("y").select((pl.col("s") > row["threshold"]).mean()).item())
            assert decided.sum() == pytest.approx(row["tpr"] * log["y"].sum() + row["fpr"] * (~log["y"]).sum())


def test_hull_is_above_the_curve() -> None:
    sketch = LOG.ec.sketch("s", "y", by="g", score_type="log_odds", exact=True)
    for group, _, points in parts():
        corners = sketch.roc_hull().filter(g=group).select("fpr", "tpr").rows()
        fprs, tprs = zip(*corners, strict=True)
        on_hull = np.interp([f for f, _ in points], fprs, tprs)
        assert (on_hull >= np.array([t for _, t in points]) - 1e-12).all()
        assert {(round(f, 12), round(t, 12)) for f, t in corners} <= {(round(f, 12), round(t, 12)) for f, t in points}


def test_precision_recall_and_det() -> None:
    sketch = LOG.ec.sketch("p", "y", by="g", exact=True)
    for group, log, points in parts():
        for prior in (None, 0.1):
            p1 = log["y"].mean() if prior is None else prior
            found = sketch.pr(prior=prior).filter(g=group)
            expected = [None if t + f == 0 else p1 * t / (p1 * t + (1 - p1) * f) for f, t in points]
            assert found["precision"].to_list() == pytest.approx(expected)
            gains = sketch.prg(prior=prior).filter(g=group)
            later = [(f, t) for f, t in points if t > 0]
            assert gains["precision_gain"].to_list()[-len(later) :] == pytest.approx([1 - f / t for f, t in later])
            assert gains["recall_gain"].to_list()[-len(later) :] == pytest.approx(
                [1 - p1 / (1 - p1) * (1 - t) / t for _, t in later]
            )
        probits = sketch.det().filter(g=group)
        middle = probits.filter(pl.col("fpr").is_between(0.01, 0.99))
        assert [math.erf(x / math.sqrt(2)) / 2 + 0.5 for x in middle["fpr_probit"]] == pytest.approx(
            middle["fpr"].to_list()
        )
        assert probits["fpr_probit"][0] == -math.inf


def test_bayes_risk_integrates_to_the_scoring_rules() -> None:
    sketch = LOG.ec.sketch("p", "y", resolution=1024)
    curve = sketch.bayes_risk().sort("t", maintain_order=True)
    t, risk = curve["t"].to_numpy(), curve["bayes_risk"].to_numpy()
    assert np.trapezoid(risk, t) == pytest.approx(sketch.evaluate("cross_entropy")["cross_entropy"].item(), rel=0.02)
    weighted = np.trapezoid(risk * 6 * t * (1 - t), t)
    assert weighted == pytest.approx(3 * sketch.evaluate("brier")["brier"].item(), rel=0.02)


def test_bayes_error() -> None:
    points = [-1.5, 0.0, 2.0]
    for keywords in ({"exact": True}, {"thresholds": [-x for x in points]}):
        found = LOG.ec.sketch("s", "y", by="g", score_type="llr", **keywords).bayes_error(points)
        for group, log, roc in parts():
            for x, row in zip(points, found.filter(g=group).to_dicts(), strict=True):
                prior = 1 / (1 + math.exp(-x))
                actual = log.select(ec.dcf("s", "y", score_type="llr", prior=prior)).item()
                assert row["dcf"] == pytest.approx(actual)
                best = oracle.min_expected_cost(roc, prior, 1, 1) / min(prior, 1 - prior)
                assert row["min_dcf"] - row["min_dcf_error"] - 1e-12 <= best <= row["min_dcf"] + 1e-12
    bounded = LOG.ec.sketch("s", "y", score_type="llr").bayes_error([0.3])
    actual = LOG.select(ec.dcf("s", "y", score_type="llr", prior=1 / (1 + math.exp(-0.3)))).item()
    assert bounded["dcf_low"].item() <= actual <= bounded["dcf_high"].item()


def test_reliability() -> None:
    found = LOG.ec.sketch("p", "y").reliability(resolution=1)
    for row in found.to_dicts():
        inside = LOG.filter((pl.col("p") / (1 - pl.col("p"))).log().floor() == row["bin"])
        # Scores on an edge of a bin may be a rounding away from it.
        if inside.height == row["n"]:
            assert row["posterior"] == pytest.approx(inside["p"].mean())
            assert row["positive_share"] == pytest.approx(inside["y"].mean())
    assert found["n"].sum() == N
    ends = pl.DataFrame({"p": [0.0, 1e-100, 0.5, 1.0], "y": [False, False, True, True]}).ec.sketch("p", "y")
    assert ends.reliability(resolution=1)["bin"].to_list() == [-66, -65, 0, 65]
    with pytest.raises(SketchError, match="resolution=7"):
        ends.reliability(resolution=7)


@pytest.mark.parametrize("metric", ["f1", "nec", "mcc", "net_benefit"])
def test_best_threshold(metric: str) -> None:
    keywords = {"p_t": 0.3} if metric == "net_benefit" else {}
    found = LOG.ec.sketch("p", "y", by="g", exact=True).best_threshold(metric, **keywords)
    for group, log, _ in parts():
        row = found.filter(g=group).to_dicts()[0]
        thresholds = [-1.0, *log["p"].unique()]
        values = [log.select(getattr(ec, metric)("p", "y", threshold=t, **keywords)).item() for t in thresholds]
        best = (min if metric == "nec" else max)(value for value in values if value is not None)
        assert row[metric] == pytest.approx(best)
        assert log.select(
            getattr(ec, metric)("p", "y", threshold=row["threshold"], **keywords)
        ).item() == pytest.approx(best)


def test_equivalent_cost_of_f1_is_that_of_its_threshold() -> None:
    for score, score_type in (("p", "posterior"), ("s", "log_odds")):
        found = ec.equivalent_cost(LOG.ec.sketch(score, "y", score_type=score_type), "f1").to_dicts()[0]
        costs = ec.CostMatrix.binary(found["cost_fn"])
        odds = math.log(1 / found["cost_fn"])
        assert (costs.bayes_threshold() if score == "p" else odds) == pytest.approx(found["threshold"])
    with pytest.raises(SketchError, match="Bayes threshold of no costs"):
        ec.equivalent_cost(LOG.ec.sketch("s", "y", score_type="raw"), "f1")


def test_equivalent_cost_of_a_sensitivity() -> None:
    """Swept over alpha as in the paper: the largest one whose best threshold attains the target."""
    sketch = LOG.ec.sketch("s", "y", by="g", score_type="log_odds", exact=True)
    found = ec.equivalent_cost(sketch, "sensitivity", sensitivity=0.9)
    for group, log, points in parts():
        row = found.filter(g=group).to_dicts()[0]
        for factor, attained in ((1 - 1e-9, True), (1 + 1e-9, False)):
            alpha = row["alpha"] * factor
            _, tpr = min(points, key=lambda point: (alpha * point[0] + 1 - point[1], point[0]))
            assert (tpr >= 0.9) == attained
        p1 = log["y"].mean()
        # alpha = c_fp P_0 / (c_fn P_1)
        assert row["cost_fn"] == pytest.approx((1 - p1) / (row["alpha"] * p1))
        assert log.filter("y").select((pl.col("s") > row["threshold"]).mean()).item() == pytest.approx(
            row["sensitivity"]
        )


def test_groups_with_wrong_rows_have_no_curve() -> None:
    log = pl.DataFrame(
        {"g": ["a", "a", "b", "b", "b"], "p": [0.1, 0.9, 0.1, 0.9, 2.0], "y": [False, True, False, True, True]}
    )
    sketch = log.ec.sketch("p", "y", by="g")
    assert sketch.roc()["g"].unique().to_list() == ["a"]
    assert sketch.roc_hull()["g"].unique().to_list() == ["a"]
    with pytest.raises(SketchError, match="no metric of decisions"):
        sketch.cost_curve("brier")


@pytest.mark.parametrize(
    ("variance", "threshold", "cost_fn", "f1"), [(0.20, -0.6, 1.8, 0.761), (0.06, 0.0, 1.0, 0.961)]
)
def test_costs_of_the_best_f1_of_the_paper(variance: float, threshold: float, cost_fn: float, f1: float) -> None:
    """Ferrer, "The expected cost", section 4: what optimising F1 says about costs, on thresholds 0.1 apart."""
    counts, means = (80_000, 19_999), ((0.0,), (1.0,))
    likelihoods = log_likelihoods(gaussian_classes(counts, means, variance), means, variance)
    log_odds = likelihoods[:, 1] - likelihoods[:, 0] + math.log(0.2 / 0.8)
    # A score is above the same of these thresholds as its next one is.
    log = pl.DataFrame({"s": np.ceil(log_odds * 10) / 10, "y": np.repeat([False, True], counts)})
    sketch = log.ec.sketch("s", "y", score_type="log_odds", exact=True)
    found = ec.equivalent_cost(sketch, "f1").row(0, named=True)
    assert found["threshold"] == pytest.approx(threshold, abs=1e-9)
    assert found["cost_fn"] == pytest.approx(cost_fn, abs=0.05)
    assert found["f1"] == pytest.approx(f1, abs=5e-4)
