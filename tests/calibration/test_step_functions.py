"""PAV and histogram calibrators from sketches, against plain NumPy group by group."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.isotonic import IsotonicRegression

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.calibration_logs import simulated, small_logs
from tests.support.calibration_oracle import RULES, logit, losses, mean_at, plain_steps, steps_at, steps_of
from tests.support.profile import EXAMPLES, PROFILE
from tests.support.reference import BINARY, expected_of, log_of


@pytest.mark.quick("w-histogram")
@pytest.mark.parametrize("calibrator", ["pav", "histogram"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_steps_of_every_group_and_fold_are_those_of_its_own_rows(calibrator, weight) -> None:
    log = simulated() if weight else simulated().with_columns(w=pl.lit(1.0))
    sketch = log.ec.sketch("p", "y", by=["g", "fold"], weight=weight, exact=True)
    found = sketch.calibrate(calibrator).frame
    assert found.columns == ["g", "fold", "above", "log_odds", "n", "reason"]
    for g, fold in found.select("g", "fold").unique().rows():
        rows = log.filter(pl.col("g") == g, pl.col("fold").ne_missing(fold))
        own = found.filter(pl.col("g") == g, pl.col("fold").eq_missing(fold))
        assert own["n"].unique().to_list() == [rows.height]
        expected = plain_steps(calibrator, rows)
        assert [above for above, _ in steps_of(own)] == [above for above, _ in expected]
        assert own["log_odds"].to_list() == pytest.approx([z for _, z in expected], rel=1e-9, abs=1e-12)
        assert own["log_odds"].is_sorted() or calibrator == "histogram"
    for rule in RULES:
        loss = sketch.calibration_loss(rule, calibrator=calibrator)
        for row in loss.to_dicts():
            z, parts = [], []
            for fold in range(5):
                training = log.filter(pl.col("g") == row["g"], pl.col("fold") != fold)
                held_out = log.filter(pl.col("g") == row["g"], pl.col("fold") == fold, pl.col("w") > 0)
                z.append(steps_at(plain_steps(calibrator, training), held_out["p"].to_numpy()))
                parts.append(held_out)
            rows = pl.concat(parts)
            y, w = rows["y"].to_numpy().astype(float), rows["w"].to_numpy()
            expected = mean_at(None, losses(rule, np.concatenate(z), y), y, w)
            assert row["calibrated"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.quick("0.3-w", "None-None")
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("prior", [None, 0.3])
def test_a_score_is_miscalibration_minus_discrimination_plus_uncertainty(prior, weight) -> None:
    """As of scikit-learn's isotonic regression: Dimitriadis, Gneiting and Jordan 2021."""
    scores = {"brier": lambda q, y: (q - y) ** 2, "cross_entropy": lambda q, y: -np.log(np.where(y == 1, q, 1 - q))}
    log = simulated().with_columns(pl.col("p").round(2).clip(0.01, 0.99), w=pl.col("w") if weight else pl.lit(1.0))
    sketch = log.ec.sketch("p", "y", by="g", weight=weight, exact=True)
    for rule, score in scores.items():
        found = sketch.calibration_loss(rule, calibrator="pav", training="test", prior=prior)
        options = {"by": "g", "weight": weight, "prior": prior, "calibrator": "pav", "training": "test"}
        assert_frame_equal(log.ec.calibration_loss("p", "y", rule, **options), found)
        for row in found.to_dicts():
            rows = log.filter(pl.col("g") == row["g"], pl.col("w") > 0)
            p, y = rows["p"].to_numpy(), rows["y"].to_numpy().astype(float)
            w = rows["w"].to_numpy()
            if prior is not None:
                w = w * np.where(y == 1, prior / (w @ y), (1 - prior) / (w @ (1 - y)))
            recalibrated = IsotonicRegression(y_min=0, y_max=1).fit(p, y, sample_weight=w).predict(p)
            with np.errstate(divide="ignore"):
                raw, calibrated, naive = (
                    np.average(score(q, y), weights=w) for q in (p, recalibrated, np.average(y, weights=w))
                )
            parts = [row[name] for name in ("cal_loss", "discrimination", "uncertainty")]
            assert parts == pytest.approx([raw - calibrated, naive - calibrated, naive], rel=1e-9)
            assert parts[0] - parts[1] + parts[2] == pytest.approx(row["raw"], rel=1e-12)


@pytest.mark.parametrize("calibrator", ["pav", "histogram"])
@pytest.mark.parametrize("score_type", ["posterior", "log_odds"])
def test_steps_of_bins_are_those_of_their_lower_edges(calibrator, score_type) -> None:
    log = simulated()
    score = "p" if score_type == "posterior" else "x"
    edges = np.arange(1, 15) / 15
    edges = edges if score_type == "posterior" else logit(edges)
    options = {"score_type": score_type, "thresholds": edges.tolist()}
    exact = log.ec.sketch(score, "y", exact=True, **options).calibration_loss(calibrator=calibrator, training="test")
    binned_sketch = log.ec.sketch(score, "y", resolution=512, **options)
    binned = binned_sketch.calibration_loss(calibrator=calibrator, training="test")
    if calibrator == "histogram":
        assert_frame_equal(binned, exact, rel_tol=1e-9)
        found = binned_sketch.calibrate("histogram").frame["above"].to_numpy()
        assert np.isin(found[1:], edges).all()
    assert binned["calibrated"].item() == pytest.approx(exact["calibrated"].item(), rel=5e-3)


def test_bins_of_equal_mass() -> None:
    random = np.random.default_rng(0)
    log = pl.DataFrame({"m": random.normal(size=1000), "fold": np.arange(1000) % 2})
    log = log.with_columns(y=pl.Series(random.random(1000)) < 1 / (1 + (-2 * pl.col("m")).exp()))
    sketch = log.ec.sketch("m", "y", by="fold", score_type="raw", exact=True)
    frame = sketch.calibrate("histogram", bins=4, equal_mass=True).frame.filter(pl.col("fold").is_null())
    ordered = log.sort("m")
    assert frame["above"].to_list() == [-math.inf, *(ordered["m"][i - 1] for i in (250, 500, 750))]
    shares = [ordered["y"][i : i + 250].mean() for i in (0, 250, 500, 750)]
    assert frame["log_odds"].to_list() == pytest.approx([logit(share) for share in shares])
    tied = pl.DataFrame({"p": [0.1] * 9 + [0.9], "y": [1, 0] * 5}).ec.sketch("p", "y", exact=True)
    assert tied.calibrate("histogram", bins=5, equal_mass=True).frame.height == 2
    with pytest.raises(ValueError, match="bins=0"):
        tied.calibrate("histogram", bins=0)
    with pytest.raises(SketchError, match="equal_mass=True"):
        sketch.calibrate("histogram")


@settings(PROFILE, max_examples=int(EXAMPLES or 4))
@given(small_logs(), st.sampled_from(["pav", "histogram"]), st.booleans())
def test_steps_of_few_rows_are_defined(log, calibrator, exact) -> None:
    sketch = log.ec.sketch(
        "p", "y", by=["g", "fold"], weight="w", exact=exact, thresholds=(np.arange(1, 15) / 15).tolist()
    )
    frame = sketch.calibrate(calibrator).frame
    for g, fold, reason in frame.select("g", "fold", "reason").unique().rows():
        rows = log.filter(pl.col("g").eq_missing(g), pl.col("fold").ne_missing(fold), pl.col("w") > 0)
        own = frame.filter(pl.col("g").eq_missing(g), pl.col("fold").eq_missing(fold))
        if reason is not None:
            assert (rows.height == 0) if reason == "no rows" else (rows["y"].n_unique() == 1)
            assert own.select("above", "log_odds").rows() == [(None, None)]
            continue
        expected = plain_steps(calibrator, rows)
        assert own["log_odds"].to_list() == pytest.approx([z for _, z in expected], rel=1e-9, abs=1e-12)
        if exact or calibrator == "histogram":
            assert [above for above, _ in steps_of(own)] == [above for above, _ in expected]
    for training in ("cv", "test"):
        loss = sketch.calibration_loss("brier", calibrator=calibrator, training=training)
        assert loss.filter(pl.col("reason").is_null())["calibrated"].is_between(0, 1).all()
        assert loss.filter(pl.col("reason").is_not_null())["calibrated"].null_count() == loss["reason"].count()
        if training == "test" and calibrator == "pav":
            assert (loss["cal_loss"].drop_nulls() >= -1e-12).all()


@pytest.mark.quick("pneumoniamnist_resnet50", "sst2_gpt2_4shot")
@pytest.mark.parametrize("name", BINARY)
def test_golden_pav(name: str) -> None:
    golden, log = expected_of(name)["binary"]["PAV"], log_of(name)
    sketch = log.ec.sketch("log_odds", "label", score_type="log_odds", exact=True, thresholds=[math.log(1 / 10)])
    assert sketch.calibrate("pav").frame.height == golden["pav_blocks"]
    found = sketch.calibration_loss(calibrator="pav", training="test").to_dicts()[0]
    assert (found["calibrated"], found["rcl"]) == (pytest.approx(golden["CE"]), pytest.approx(golden["RCL"]))
    prior = found["class_prior"]
    brier = sketch.calibration_loss("brier", calibrator="pav", training="test")["calibrated"].item()
    assert brier / (prior * (1 - prior)) == pytest.approx(golden["NBS"])
    for costs, nec in ((ec.CostMatrix.binary(), "C01"), (ec.CostMatrix.binary(cost_fn=10), "Cimb")):
        risk = sketch.calibration_loss("bayes_risk", calibrator="pav", training="test", costs=costs)[
            "calibrated"
        ].item()
        assert risk / costs.naive(prior)[0] == pytest.approx(golden["NEC"][nec])


@pytest.mark.parametrize("exact", [True, False])
def test_infinite_scores_have_steps_of_their_own(exact) -> None:
    scores = [-math.inf, -math.inf, -800.0, -800.0, 1.0, 1.0, math.inf, math.inf, math.inf]
    log = pl.DataFrame({"x": scores, "y": [0, 0, 1, 0, 1, 0, 1, 1, 0], "fold": [0, 1] * 4 + [0]})
    for score_type in ("log_odds", "raw"):
        sketch = log.ec.sketch("x", "y", score_type=score_type, exact=exact)
        frame = sketch.calibrate("pav").frame
        assert frame["log_odds"].to_list() == pytest.approx([-math.inf, 0.0, math.log(2)])
        assert frame["above"][0] == -math.inf
        assert frame["above"][1] < -800
        assert 1 <= frame["above"].to_list()[2] < math.inf
    sketch = log.ec.sketch("x", "y", score_type="log_odds", exact=exact)
    found = sketch.calibration_loss("brier", calibrator="pav", training="test")
    assert found["calibrated"].item() == pytest.approx((4 * 0.25 + 2 * (1 / 9) + 4 / 9) / 9)


def test_steps_on_one_line_are_one_step_whatever_rounding_does(tmp_path) -> None:
    """All rows but the lowest make one step of 0.6 positives among 2.1, in parts whose shares rounding tells apart."""
    score = [0.5, -0.4, 0.2, -1.7, 0.1, -0.4, 1.2, -1.9, -1.1, 2.3, 0.7]
    label = [1, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0]
    weight = [0.1, 0.2, 0.1, 0.1, 0.1, 0.7, 0.2, 0.1, 0.3, 0.2, 0.1]
    log = pl.DataFrame({"x": score, "y": label, "w": weight})
    calibration = log.ec.sketch("x", "y", score_type="log_odds", exact=True, weight="w").calibrate("pav")
    calibration.write_parquet(tmp_path / "pav.parquet")
    assert_frame_equal(ec.Calibration.read_parquet(tmp_path / "pav.parquet").frame, calibration.frame)
    assert calibration.frame["above"].to_list() == [-math.inf, -1.9]
    assert calibration.frame["log_odds"].to_list() == pytest.approx([-math.inf, math.log(0.6 / 1.5)])
