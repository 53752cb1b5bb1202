"""Calibration loss from sketches, against plain NumPy group by group, and values of other implementations."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.calibration_logs import simulated, small_logs
from tests.support.calibration_oracle import (
    RULES,
    logit,
    logit_of,
    losses,
    mean_at,
    middles,
    plain_cllr,
    plain_gaussian,
    plain_newton,
    plain_pav,
    steps_at,
)
from tests.support.cases import mostly_slow
from tests.support.profile import EXAMPLES, PROFILE
from tests.support.reference import BINARY, expected_of, log_of

COST_FP = 0.25


@pytest.mark.quick("bayes_risk-w-*")
@pytest.mark.parametrize("training", mostly_slow(["cv", "test", "held out"], ["cv"]))
@pytest.mark.parametrize(
    ("rule", "weight", "prior"),
    mostly_slow(
        [(rule, *of) for rule in RULES for of in ((None, None), ("w", 0.2))],
        [(next(iter(RULES)), None, None), *((rule, "w", 0.2) for rule in [*RULES][1:])],
    ),
)
def test_loss_is_that_of_rows_with_plain_calibrators(rule, training, weight, prior) -> None:
    log, other = simulated(), simulated(seed=1)
    costs = {"cost_fp": COST_FP} if rule == "bayes_risk" else {}
    by = ["g", "fold"]
    kinds = {True: ("p", "posterior", COST_FP / (1 + COST_FP)), False: ("x", "log_odds", math.log(COST_FP))}
    found = {}
    for exact, (score, score_type, threshold) in kinds.items():
        options = {"weight": weight, "score_type": score_type}
        held_out = other.ec.sketch(score, "y", by="g", exact=True, **options).calibrate(prior=prior)
        sketch = log.ec.sketch(score, "y", by=by, exact=exact, thresholds=[threshold], **options)
        stated = held_out if training == "held out" else training
        found[exact] = sketch.calibration_loss(rule, training=stated, prior=prior, **costs).to_dicts()
        assert [row["g"] for row in found[exact]] == [0, 1, 2, 3]

    def weights(rows):
        return np.ones(rows.height) if weight is None else rows["w"].to_numpy()

    def fit(rows, exact):
        y, w = rows["y"].to_numpy().astype(float), weights(rows)
        if prior is not None:
            w = w * np.where(y == 1, prior / (w @ y), (1 - prior) / (w @ (1 - y)))
        return plain_newton(rows["x"].to_numpy() if exact else middles(rows["x"].to_numpy()), y, w)

    for exact, row in ((kind, row) for kind in found for row in found[kind]):
        rows = log.filter(pl.col("g") == row["g"])
        of_rows, y, w = rows["x"].to_numpy(), rows["y"].to_numpy().astype(float), weights(rows)
        x = of_rows if exact else middles(of_rows)
        if training == "cv":
            z = np.empty(len(x))
            for fold in range(5):
                own = (rows["fold"] == fold).to_numpy()
                alpha, beta = fit(rows.filter(~own), exact)
                z[own] = alpha * x[own] + beta
        else:
            alpha, beta = (
                fit(rows, exact) if training == "test" else fit(other.filter(pl.col("g") == row["g"]), exact=True)
            )
            z = alpha * x + beta
        raw, calibrated = (mean_at(prior, losses(rule, v, y, math.log(COST_FP)), y, w) for v in (of_rows, z))
        assert row["raw"] == pytest.approx(raw, rel=1e-9)
        assert row["calibrated"] == pytest.approx(calibrated, rel=1e-8)
        assert row["cal_loss"] == pytest.approx(raw - calibrated, rel=1e-6)
        assert row["rcl"] == pytest.approx(100 * (raw - calibrated) / raw, rel=1e-6)
        assert (row["n"], row["reason"]) == (rows.height, None)


@pytest.mark.quick("affine-*-pneumoniamnist_resnet50", "temperature-*-sst2_gpt2")
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("calibrator", "block"), [("affine", "DP_train_on_test"), ("temperature", "temperature_train_on_test")]
)
def test_golden_loss_after_training_on_test(name: str, calibrator: str, block: str) -> None:
    golden, log = expected_of(name)["calibration"][block], log_of(name)
    # A row's loss moves by what half a bin moves its calibrated log-odds at most, the Brier score twice that.
    for exact, tolerance in ((True, 1e-9), (False, golden["alpha"] / 128)):
        sketch = log.ec.sketch("log_odds", "label", score_type="log_odds", exact=exact)
        found = sketch.calibration_loss(calibrator=calibrator, training="test").to_dicts()[0]
        assert found["calibrated"] == pytest.approx(golden["CE"], rel=tolerance)
        assert found["rcl"] == pytest.approx(golden["RCL"], abs=100 * tolerance)
        brier = sketch.calibration_loss("brier", calibrator=calibrator, training="test").to_dicts()[0]
        prior = found["class_prior"]
        assert brier["calibrated"] / (prior * (1 - prior)) == pytest.approx(golden["NBS"], rel=2 * tolerance)


@settings(PROFILE, max_examples=int(EXAMPLES or 4))
@given(small_logs(), st.sampled_from(RULES), st.sampled_from(["cv", "test"]))
def test_losses_of_few_rows_are_defined(log, rule, training) -> None:
    sketch = log.ec.sketch("p", "y", by=["g", "fold"], weight="w", exact=True)
    found = sketch.calibration_loss(rule, training=training)
    fits = {(g, f): row for *_, g, f, row in ((r["g"], r["fold"], r) for r in sketch.calibrate().frame.to_dicts())}
    assert found["g"].to_list() == sorted(log["g"].unique(), key=lambda g: (g is not None, g))
    for row in found.to_dicts():
        rows = log.filter(pl.col("g").eq_missing(row["g"]), pl.col("w") > 0)
        if rows.height == 0:
            assert (row["calibrated"], row["reason"]) == (None, "no rows")
            continue
        used = [fits[row["g"], fold if training == "cv" else None] for fold in rows["fold"]]
        lost = [fit["reason"] for fit in used if fit["alpha"] is None]
        if lost:
            assert row["calibrated"] is None
            assert row["reason"] in lost
            continue
        x, y, w = logit_of(rows["p"]), rows["y"].to_numpy().astype(float), rows["w"].to_numpy()
        alpha, beta = (np.array([fit[name] for fit in used]) for name in ("alpha", "beta"))
        z = np.where(alpha == 0, 0, alpha * np.where(alpha == 0, 0, x)) + beta
        with np.errstate(invalid="ignore"):
            expected = mean_at(None, losses(rule, z, y), y, w)
        assert row["calibrated"] == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert row["reason"] == (None if all(fit["reason"] is None for fit in used) else "reversed")
        if math.isfinite(row["raw"]):
            assert row["cal_loss"] == row["raw"] - row["calibrated"]
        else:
            assert row["rcl"] is None


@settings(PROFILE, max_examples=int(EXAMPLES or 4))
@given(
    st.lists(st.tuples(st.floats(-60, 60), st.booleans(), st.sampled_from([1.0, 0.25, 7.0])), min_size=2, max_size=30),
    st.sampled_from([1, 8, 64]),
    st.sampled_from(["cross_entropy", "brier", "cllr"]),
    st.tuples(st.floats(0, 3), st.floats(-5, 5)),
)
def test_losses_of_bins_are_as_near_as_is_said(rows, resolution, rule, line) -> None:
    """The loss of a row moves by a factor of exp(what its log-odds move by) at most, the Brier score by its square."""
    log = pl.DataFrame(rows, schema={"x": pl.Float64, "y": pl.Boolean, "w": pl.Float64}, orient="row")
    score_type = "llr" if rule == "cllr" else "log_odds"
    line_of = pl.DataFrame({"fold": [None], "alpha": line[:1], "beta": line[1:], "n": [1], "reason": [None]})
    stated = ec.Calibration(line_of.cast({"reason": pl.String}), "affine", score_type, prior=0.5)
    exact, binned = (
        log.ec.sketch("x", "y", score_type=score_type, weight="w", resolution=resolution, exact=exact)
        for exact in (True, False)
    )
    power = 2 if rule == "brier" else 1
    for training in (stated, "test"):
        of_rows, of_bins = (
            sketch.calibration_loss(rule, training=training).to_dicts()[0] for sketch in (exact, binned)
        )
        assert (of_rows["raw"] is None) == (of_bins["raw"] is None)
        if of_rows["calibrated"] is None or of_bins["calibrated"] is None:
            continue
        slopes = [line[0]]
        if training == "test":
            prior = {"prior": 0.5} if rule == "cllr" else {}
            slopes = [sketch.calibrate(**prior).frame["alpha"].item() for sketch in (exact, binned)]
        if training == "test" and rule == "brier":
            # What makes the cross-entropy least need not make this least: there is no bound but for the same calibrator.
            continue
        most = math.exp(power * max(slopes) / (2 * resolution)) * (1 + 1e-9)
        assert of_bins["calibrated"] <= of_rows["calibrated"] * most + 1e-12
        assert of_rows["calibrated"] <= of_bins["calibrated"] * most + 1e-12


def test_a_calibration_of_fewer_groups() -> None:
    log = simulated()
    sketch = log.ec.sketch("p", "y", by="g", exact=True)
    overall = sketch.group_by().calibrate()
    everywhere = sketch.calibration_loss(training=overall)
    alpha, beta = overall.frame.select("alpha", "beta").row(0)
    expected = log.group_by("g").agg(
        ec.cross_entropy(alpha * (pl.col("p").log() - (-pl.col("p")).log1p()) + beta, "y", score_type="log_odds").alias(
            "e"
        )
    )
    assert everywhere["calibrated"].to_list() == pytest.approx(expected.sort("g")["e"].to_list())
    some = sketch.filter(pl.col("g") < 2).calibrate()
    found = sketch.calibration_loss(training=some)
    assert found["reason"].to_list() == [None, None, "not calibrated", "not calibrated"]
    assert found["calibrated"].null_count() == 2


def test_actual_minus_minimum_cost_of_llrs() -> None:
    log = simulated()
    prior = 0.3
    sketch = log.ec.sketch("x", "y", score_type="llr", prior=prior, exact=True)
    found = sketch.calibration_loss("bayes_risk", training="test", prior=prior).to_dicts()[0]
    assert found["raw"] == pytest.approx(prior * sketch.evaluate("dcf", prior=prior)["dcf"].item())
    assert found["calibrated"] <= found["raw"]


PLAIN_LLRS = {"affine": plain_newton, "temperature": plain_newton, "gaussian": plain_gaussian}


def plain_llrs(calibrator: str, training: pl.DataFrame, weight: str | None, x: np.ndarray) -> np.ndarray:
    """Calibrated log-odds of x, of a calibrator fitted with classes of the same weight."""
    of_rows, y = training["x"].to_numpy(), training["y"].to_numpy().astype(float)
    w = np.ones(len(y)) if weight is None else training[weight].to_numpy()
    w = w * np.where(y == 1, 1 / (w @ y), 1 / (w @ (1 - y)))
    if calibrator == "pav":
        used = w > 0
        return steps_at(plain_pav(of_rows[used], y[used], w[used]), x)
    shift = {} if calibrator == "gaussian" else {"with_shift": calibrator == "affine"}
    alpha, beta = PLAIN_LLRS[calibrator](of_rows, y, w, **shift)
    return alpha * x + beta


@pytest.mark.quick("pav-w")
@pytest.mark.parametrize(
    ("calibrator", "weight"),
    mostly_slow(
        product(["affine", "temperature", "gaussian", "pav"], [None, "w"]),
        [("affine", "w"), ("temperature", None), ("gaussian", "w"), ("pav", None), ("pav", "w")],
    ),
)
def test_cllr_before_and_after_calibration(calibrator, weight) -> None:
    log, other = simulated(1200), simulated(1500, seed=1)
    options = {"score_type": "llr", "weight": weight}
    sketch = log.ec.sketch("x", "y", by=["g", "fold"], exact=True, **options)
    made = other.ec.sketch("x", "y", by="g", exact=True, **options)
    # Whatever prior a calibration was made at is taken off; what is fitted to even classes is not what is fitted to others.
    held_out = {0.5: made.calibrate(calibrator, prior="uniform")}
    if calibrator == "pav":
        held_out[0.02] = made.calibrate(calibrator, prior=0.02)
    found = {t: sketch.calibration_loss("cllr", calibrator=calibrator, training=t) for t in ("cv", "test")}
    found |= {prior: sketch.calibration_loss("cllr", training=c) for prior, c in held_out.items()}
    for training, losses_of_groups in found.items():
        for row in losses_of_groups.to_dicts():
            rows = log.filter(pl.col("g") == row["g"])
            if weight:
                rows = rows.filter(pl.col("w") > 0)
            x, y = rows["x"].to_numpy(), rows["y"].to_numpy().astype(float)
            w = np.ones(len(x)) if weight is None else rows["w"].to_numpy()
            if training == "cv":
                z = np.empty(len(x))
                for fold in range(5):
                    own = (rows["fold"] == fold).to_numpy()
                    z[own] = plain_llrs(calibrator, rows.filter(~own), weight, x[own])
            else:
                from_rows = rows if training == "test" else other.filter(pl.col("g") == row["g"])
                z = plain_llrs(calibrator, from_rows, weight, x)
            assert row["raw"] == pytest.approx(plain_cllr(x, y, w), rel=1e-9)
            assert row["calibrated"] == pytest.approx(plain_cllr(z, y, w), rel=1e-9)


@pytest.mark.parametrize("name", BINARY)
def test_golden_cllr(name: str) -> None:
    golden, log = expected_of(name)["binary"], log_of(name)
    share = log["label"].mean()
    llr = pl.col("log_odds") - math.log(share / (1 - share))
    sketch = log.ec.sketch(llr, "label", score_type="llr", exact=True)
    found = sketch.calibration_loss("cllr", calibrator="pav", training="test").to_dicts()[0]
    assert (found["raw"], found["calibrated"]) == pytest.approx((golden["Cllr"], golden["minCllr"]), rel=1e-9)
    rows = log.ec.calibration_loss(llr, "label", "cllr", calibrator="pav", training="test", score_type="llr")
    assert rows["raw"].item() == pytest.approx(golden["Cllr"], rel=1e-9)
    assert rows["calibrated"].item() == pytest.approx(golden["minCllr"], rel=2e-2)


def test_what_has_no_cllr(tmp_path) -> None:
    log = simulated(200)
    for score, score_type in (("p", "posterior"), ("x", "log_odds"), ("x", "raw")):
        message = f"rule='cllr' needs log-likelihood ratios, but score_type='{score_type}'"
        message = (
            r"raw scores: make posteriors with calibrate\(score_type='raw'\), then" if score_type == "raw" else message
        )
        with pytest.raises(ValueError, match=message):
            log.ec.sketch(score, "y", score_type=score_type).calibration_loss("cllr", training="test")
        with pytest.raises(ValueError, match=message):
            log.lazy().ec.calibration_loss("no such column", "y", "cllr", training="test", score_type=score_type)
    sketch = log.ec.sketch("x", "y", score_type="llr")
    with pytest.raises(ValueError, match=r"prior=0\.2: rule='cllr' always uses even priors"):
        sketch.calibration_loss("cllr", training="test", prior=0.2)
    with pytest.raises(ValueError, match=r"prior=0\.2: rule='cllr' always uses even priors"):
        log.ec.calibration_loss("x", "y", "cllr", training="test", score_type="llr", prior=0.2)
    with pytest.raises(SketchError, match="is a calibration without a stated prior"):
        sketch.calibration_loss("cllr", training=sketch.calibrate())
    sketch.calibrate(prior=0.3).write_parquet(tmp_path / "c.parquet")
    read = ec.Calibration.read_parquet(tmp_path / "c.parquet")
    in_bins = sketch.calibration_loss("cllr", training=read)["calibrated"].item()
    alpha, beta = read.frame.select("alpha", "beta").row(0)
    z = alpha * log["x"].to_numpy() + beta - logit(0.3)
    of_rows = plain_cllr(z, log["y"].to_numpy().astype(float), np.ones(200))
    assert abs(math.log(in_bins / of_rows)) < alpha / 128


def test_loss_of_a_group_with_wrong_rows_is_null() -> None:
    log = simulated(200).with_columns(p=pl.when(pl.col("g") == 1).then(7.0).otherwise("p"))
    found = log.ec.sketch("p", "y", by="g").calibration_loss(training="test")
    assert found.filter(pl.col("g") == 1).select("raw", "calibrated", "rcl", "reason").row(0) == (
        None,
        None,
        None,
        "wrong rows",
    )
    assert found["calibrated"].null_count() == 1


def test_what_has_no_calibration_loss() -> None:
    log = simulated(100)
    sketch = log.ec.sketch("p", "y", by="g")
    with pytest.raises(ValueError, match="rule='nce' is none of"):
        sketch.calibration_loss("nce")
    with pytest.raises(SketchError, match="needs a sketch with folds"):
        sketch.calibration_loss()
    with pytest.raises(ValueError, match="training='train' is not"):
        sketch.calibration_loss(training="train")
    with pytest.raises(SketchError, match="declare it"):
        sketch.calibration_loss("bayes_risk", training="test", cost_fn=3)
    with pytest.raises(SketchError, match="by 'g', which is not a group column"):
        sketch.group_by().calibration_loss(training=sketch.calibrate())
    with pytest.raises(SketchError, match="is for log_odds, but the sketch has posterior"):
        sketch.calibration_loss(training=log.ec.sketch("x", "y", score_type="log_odds").calibrate())
    for score_type in ("raw", "llr"):
        with pytest.raises(
            SketchError, match=f"rule=.cross_entropy. needs posteriors, and these are {score_type} scores"
        ):
            log.ec.sketch("x", "y", score_type=score_type).calibration_loss(training="test")
