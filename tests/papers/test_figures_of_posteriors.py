"""The figures of Ferrer and Ramos, "Evaluating posterior probabilities": Figure 1 through each door, and what notes say of other folds and draws."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from examples.papers.posteriors import figures
from examples.papers.posteriors.synthetic import log_odds, synthetic
from tests.support.papers import exactly, printed


@pytest.mark.slow
@pytest.mark.parametrize("system", figures.RISK_SYSTEMS)
def test_figure_1(metric, system):
    frame = figures.risk_log(system).with_columns(posterior=ec.posterior("x", score_type="log_odds"))
    nce, nbs = map(float, figures.RISK_PRINTED[system])
    assert metric("nce", frame, "x", score_type="log_odds") == printed(nce, 2)
    assert metric("nbs", frame, "x", score_type="log_odds") == printed(nbs, 2)
    # The figure's costs [[0, 1/(1-a)], [1/a, 0]], at a = 1/2: twice the error rate.
    errors = frame.select(((pl.col("x") > 0) != (pl.col("label") == 1)).mean()).item()
    assert metric("bayes_risk", frame, "x", costs=[[0.0, 2.0], [2.0, 0.0]], score_type="log_odds") == exactly(
        2 * errors
    )
    assert metric("error_rate", frame, "x", score_type="log_odds") == exactly(errors)
    frame = frame.gather_every(20)
    for score, kind in (("x", "log_odds"), ("posterior", "posterior")):
        options = {"score_type": kind}
        cross_entropy, brier = (metric(name, frame, score, **options) for name in ("cross_entropy", "brier"))
        assert metric("epsr", frame, score, a=1.0, b=1.0, **options) == pytest.approx(cross_entropy, rel=1e-10)
        assert metric("epsr", frame, score, a=2.0, b=2.0, **options) == pytest.approx(3 * brier, rel=1e-10)


def other_folds(rows, score, rule, calibrator, **options) -> list[float]:
    """RCL by 20 other foldings of a figure's rows."""
    frame, found = synthetic(*rows), []
    for seed in range(20):
        log = frame.with_columns(key=pl.format("{}-{}", pl.lit(seed), "row"))
        options |= {"calibrator": calibrator, "folds": 5, "fold_by": "key", "stratified": True}
        found.append(ec.calibration_loss(log, score, "label", rule, **options)["rcl"].item())
    return found


@pytest.mark.slow
def test_other_folds_move_figures_2_and_3_as_they_say():
    found = other_folds(
        (figures.TWO_COUNTS, figures.TWO_VARIANCE), log_odds("cal"), "brier", "histogram", score_type="log_odds"
    )
    assert [round(min(found), 1), round(max(found), 1)] == [-28.7, -12.7]
    assert [round(np.mean(found), 1), round(np.std(found, ddof=1), 1)] == [-21.4, 5.0]
    found = other_folds(
        (figures.TEN_COUNTS, figures.TEN_VARIANCE), "mcp", "cross_entropy", "affine", score_type="log_posteriors"
    )
    assert [round(min(found), 1), round(max(found), 1)] == [77.9, 78.2]


@pytest.mark.slow
def test_other_draws_move_figure_5_as_it_says():
    for system, expected in {"cal": [0.012, 0.014], "mcp": [0.026, 0.051]}.items():
        rows = figures.bootstrap_sketch(system).group_by()
        limits = [
            rows.evaluate("nbs", interval=0.95, method="bootstrap", replicates=100, seed=seed)
            .select("nbs_ci_low", "nbs_ci_high")
            .row(0)
            for seed in range(20)
        ]
        assert np.std(limits, axis=0).round(3).tolist() == expected
