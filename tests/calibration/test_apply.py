"""Calibrations applied to rows."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.calibration_logs import rows_to_calibrate, simulated
from tests.support.calibration_oracle import logit, sigmoid, steps_at, steps_of
from tests.support.cases import mostly_slow


@pytest.mark.quick("posterior-*", "llr-affine")
@pytest.mark.parametrize("calibrator", ["affine", "temperature", "gaussian", "pav", "histogram"])
@pytest.mark.parametrize("score_type", ["posterior", "log_odds", "llr"])
def test_applied_to_rows_of_groups(calibrator, score_type) -> None:
    log = simulated().with_columns(y=pl.when(pl.col("g") == 2).then(pl.lit(value=True)).otherwise("y"))
    score = "p" if score_type == "posterior" else "x"
    sketch = log.ec.sketch(score, "y", by=["g", "fold"], score_type=score_type, exact=True)
    calibration = sketch.calibrate(calibrator)
    new = rows_to_calibrate()
    found = new.lazy().select("g", score, calibration.apply(score)).collect(engine="streaming")
    assert found.columns[-1] == f"{score}_calibrated"
    fits = calibration.frame.filter(pl.col("fold").is_null())
    for g, s, value in found.rows():
        own = fits.filter(pl.col("g").eq_missing(g))
        valid = s is not None and not math.isnan(s) and (score != "p" or s <= 1)
        if not valid or own.height == 0 or own["reason"][0] == "one class":
            assert value is None
        elif calibrator in ("affine", "temperature", "gaussian"):
            with np.errstate(divide="ignore"):
                x = logit(np.float64(s)) if score == "p" else s
            assert value == pytest.approx(float(sigmoid(own["alpha"][0] * x + own["beta"][0])), rel=1e-12)
        else:
            z = own["log_odds"][0] if s == -math.inf else steps_at(steps_of(own), s)
            assert value == pytest.approx(float(sigmoid(z)), rel=1e-12)


@pytest.mark.parametrize(
    ("calibrator", "weight"),
    mostly_slow(
        product(["affine", "temperature", "gaussian", "pav", "histogram"], [None, "w"]),
        [("affine", "w"), ("temperature", None), ("gaussian", "w"), ("pav", None), ("pav", "w"), ("histogram", "w")],
    ),
)
def test_the_loss_of_calibrated_rows_is_the_calibrated_loss(calibrator, weight) -> None:
    log = simulated()
    sketch = log.ec.sketch("p", "y", by="g", exact=True, weight=weight)
    calibration = simulated(seed=1).ec.sketch("p", "y", by="g", exact=True, weight=weight).calibrate(calibrator)
    rows = log.with_columns(calibration.apply("p"))
    for rule in ("cross_entropy", "brier"):
        expected = rows.group_by("g").agg(e=getattr(ec, rule)("p_calibrated", "y", weight=weight)).sort("g")
        found = sketch.calibration_loss(rule, training=calibration)
        assert found["calibrated"].to_list() == pytest.approx(expected["e"].to_list(), rel=1e-9)


def test_applied_without_groups_and_to_other_scores() -> None:
    log = simulated()
    calibration = log.ec.sketch("p", "y").calibrate("pav")
    found = log.select(calibration.apply(pl.col("p") * 1).alias("q"), "p").sort("p")
    assert found["q"].is_sorted()
    assert found["q"].null_count() == 0
    assert log.head(0).select(calibration.apply("p")).height == 0
    with pytest.raises(TypeError, match="is a vector"):
        log.select(calibration.apply(pl.concat_arr("p", "p").alias("v")))
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        log.drop("g").select(log.ec.sketch("p", "y", by="g").calibrate().apply("p"))


def test_vectors_of_many_classes_are_calibrated_by_a_plan_that_does_not_grow_with_them() -> None:
    sizes = []
    for n_classes in (9, 40):
        rng = np.random.default_rng(n_classes)
        q = rng.dirichlet(np.ones(n_classes), 400)
        # A posterior of 0 that is not of the row's class.
        q[0, 1], y, g = 0.0, np.arange(400) % n_classes, np.arange(400) % 2
        q[0] /= q[0].sum()
        log = pl.DataFrame({"g": g, "q": pl.Series(q, dtype=pl.Array(pl.Float64, n_classes)), "y": y})
        calibration = log.ec.calibrate("q", "y", "affine" if n_classes == 9 else "temperature", by="g")
        applied = log.lazy().select(calibration.apply("q"))
        fits = calibration.frame.sort("g")
        powers = q ** fits["alpha"].to_numpy()[g, None] * np.exp(fits["beta"].to_numpy()[g])
        expected = powers / powers.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(applied.collect(engine="streaming").to_series().to_numpy(), expected, rtol=1e-12)
        unknown = log.with_columns(g=pl.lit(9))
        assert unknown.select(calibration.apply("q")).to_series().null_count() == 400
        sizes.append(len(applied.explain()))
    assert sizes[1] < 1.1 * sizes[0]
