"""Parameters of affine and temperature calibrators from sketches, against plain NumPy group by group."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.optimize import minimize_scalar

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.calibration_logs import POINTS, WRONG, simulated, small_logs
from tests.support.calibration_oracle import RULES, logit, logit_of, middles, plain_newton, sigmoid
from tests.support.cases import mostly_slow
from tests.support.profile import EXAMPLES, PROFILE
from tests.support.reference import BINARY, expected_of, log_of


@pytest.mark.quick("affine-*")
@pytest.mark.parametrize("weight", mostly_slow([None, "w"], ["w"]))
@pytest.mark.parametrize(
    ("calibrator", "prior"),
    mostly_slow(product(["affine", "temperature"], [None, 0.1]), [("affine", 0.1), ("temperature", None)]),
)
def test_every_group_and_fold_is_the_fit_of_its_own_rows(calibrator, weight, prior) -> None:
    log = simulated()
    exact = log.ec.sketch("p", "y", by=["g", "fold"], exact=True, weight=weight).calibrate(calibrator, prior=prior)
    of_log_odds = log.ec.sketch("x", "y", by=["g", "fold"], score_type="log_odds", weight=weight)
    binned = of_log_odds.calibrate(calibrator, prior=prior)
    assert exact.frame.columns == ["g", "fold", "alpha", "beta", "n", "n_iterations", "gradient_norm", "reason"]
    assert exact.frame["fold"].dtype == pl.Int8
    assert exact.frame.select("g", "fold").rows() == [(g, f) for g in range(4) for f in (0, 1, 2, 3, 4, None)]
    assert exact.frame["reason"].null_count() == exact.frame.height
    assert exact.frame["gradient_norm"].max() < 1e-8
    for row, near in zip(exact.frame.to_dicts(), binned.frame.to_dicts(), strict=True):
        rows = log.filter(pl.col("g") == row["g"], pl.col("fold").ne_missing(row["fold"]))
        x, y = logit(rows["p"].to_numpy()), rows["y"].to_numpy().astype(float)
        w = np.ones(len(x)) if weight is None else rows["w"].to_numpy()
        if prior is not None:
            w = w * np.where(y == 1, prior / (w @ y), (1 - prior) / (w @ (1 - y)))
        for found, scores in ((row, x), (near, middles(rows["x"].to_numpy()))):
            expected = plain_newton(scores, y, w, calibrator == "affine")
            assert (found["alpha"], found["beta"]) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("name", BINARY)
def test_golden_parameters(name: str) -> None:
    golden = expected_of(name)["calibration"]
    sketch = log_of(name).ec.sketch("log_odds", "label", score_type="log_odds", exact=True)
    affine, temperature = sketch.calibrate().frame.to_dicts()[0], sketch.calibrate("temperature").frame.to_dicts()[0]
    beta_0, beta_1 = golden["DP_train_on_test"]["beta_mean_zero"]
    assert affine["alpha"] == pytest.approx(golden["DP_train_on_test"]["alpha"], rel=1e-8)
    assert affine["beta"] == pytest.approx(beta_1 - beta_0, rel=1e-8)
    assert temperature["alpha"] == pytest.approx(golden["temperature_train_on_test"]["alpha"], rel=1e-8)
    assert temperature["beta"] == 0
    assert max(affine["gradient_norm"], temperature["gradient_norm"]) < 1e-9


def check_parameters(rows: pl.DataFrame, fitted: dict, with_shift: bool) -> None:
    """That a fit of these rows, which are valid, is what its reason says, by definition."""
    rows = rows.filter(pl.col("w") > 0)
    x, y, w = logit_of(rows["p"]), rows["y"].to_numpy().astype(float), rows["w"].to_numpy()
    reason, alpha, beta = fitted["reason"], fitted["alpha"], fitted["beta"]
    assert (alpha is None) == (beta is None) == (reason not in (None, "reversed"))
    if reason == "no rows":
        assert len(x) == 0
        return
    if reason == "one class":
        assert len(set(y)) == 1
        return
    assert len(set(y)) == 2
    infinite = np.isinf(x)
    against = infinite & ((x > 0) != (y == 1))
    finite_x, finite_y, finite_w = x[~infinite], y[~infinite], w[~infinite]
    centre = np.average(finite_x, weights=finite_w) if with_shift and len(finite_x) else 0.0
    covariance = np.sum(finite_w * (finite_x - centre) * (finite_y - (0 if with_shift else 0.5)))
    if reason == "infinite log-odds":
        assert against.any() or (infinite.any() and covariance <= 1e-9)
        return
    assert not against.any()
    if reason == "separable":
        if with_shift:
            assert x[y == 0].max() <= x[y == 1].min()
        else:
            assert x[y == 0].max() <= 0 <= x[y == 1].min()
    elif reason == "one score":
        assert len(set(finite_x)) == 1
    elif reason == "reversed":
        assert (alpha, covariance) == (0, pytest.approx(min(covariance, 0), abs=1e-9))
        assert beta == (pytest.approx(logit(np.average(y, weights=w)), abs=1e-12) if with_shift else 0)
    else:
        assert reason is None
        assert alpha > 0
        error = finite_w * (sigmoid(alpha * finite_x + beta) - finite_y) / finite_w.sum()
        assert fitted["gradient_norm"] < 1e-8
        assert abs(error @ finite_x) < 1e-8 * (1 + abs(finite_x).max())
        assert not with_shift or abs(error.sum()) < 1e-8


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("bits", [24, 30, 34, 37, 40, 44])
def test_scores_that_overlap_within_a_sliver_have_the_least_loss_or_none(bits: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    y = np.arange(12) % 2
    # In slivers: whole numbers, so that scores are exact. Rows far on the side of their class lose nothing at the least loss.
    slivers = np.round(8 * (generator.normal(size=12) + 2 * y - 1))
    slivers[:2] = 3, -2
    x = np.r_[slivers * 2.0**-bits, generator.uniform(-1, -0.1, 20), generator.uniform(0.1, 1, 20)]
    labels = np.r_[y, np.repeat([0, 1], 20)]
    alpha, beta = plain_newton(slivers, y, np.ones(12))
    least = np.logaddexp(0, (1 - 2 * y) * (alpha * slivers + beta)).sum()
    fitted = pl.DataFrame({"x": x, "y": labels}).ec.sketch("x", "y", score_type="log_odds", exact=True).calibrate()
    alpha, beta, reason = fitted.frame.select("alpha", "beta", "reason").row(0)
    assert reason in ((None,) if bits <= 34 else (None, "not converged"))
    if reason is None:
        loss = np.logaddexp(0, (1 - 2 * labels) * (alpha * x + beta)).sum()
        assert loss == pytest.approx(least, rel=1e-8)


@pytest.mark.parametrize("prior", [None, 0.01])
def test_temperature_of_llrs_keeps_the_prior(prior: float | None) -> None:
    """Beta is the log-odds of the prior of each fit, and alpha makes the cross-entropy least: by golden section."""
    generator = np.random.default_rng(3)
    y = generator.random(2000) < 0.05
    # Exact LLRs of normal scores, made twice as sure.
    x = 2 * (1.5 * generator.normal(1.5 * (y - 0.5), 1.0))
    log = pl.DataFrame({"x": x, "y": y, "fold": np.arange(2000) % 2})
    sketch = log.ec.sketch("x", "y", by="fold", score_type="llr", exact=True)
    calibration = sketch.calibrate("temperature", prior=prior)
    for fold, alpha, beta, reason in calibration.frame.select("fold", "alpha", "beta", "reason").rows():
        kept = np.ones(2000, dtype=bool) if fold is None else log["fold"].to_numpy() != fold
        share = y[kept].mean() if prior is None else prior
        weight = np.where(y[kept], share / y[kept].mean(), (1 - share) / (1 - y[kept].mean()))

        def loss(slope: float, kept=kept, weight=weight, share=share) -> float:
            z = slope * x[kept] + logit(share)
            return np.average(np.logaddexp(0, np.where(y[kept], -z, z)), weights=weight)

        best = minimize_scalar(loss, bracket=(0.1, 1.0), tol=1e-9).x
        assert (alpha, beta, reason) == (pytest.approx(best, rel=1e-6), pytest.approx(logit(share), rel=1e-12), None)
    # An LLR of 0 leaves the prior as it is.
    share = y.mean() if prior is None else prior
    calibrated = pl.DataFrame({"x": [0.0]}).select(calibration.apply("x")).item()
    assert calibrated == pytest.approx(share, rel=1e-9)
    # Scores that point the wrong way: the limit at alpha = 0 is the prior.
    wrong = log.with_columns(-pl.col("x")).ec.sketch("x", "y", score_type="llr", exact=True)
    fitted = wrong.calibrate("temperature", prior=prior).frame.select("alpha", "beta", "reason").row(0)
    assert fitted == (0, pytest.approx(logit(share), rel=1e-12), "reversed")


@settings(PROFILE, max_examples=int(EXAMPLES or 10))
@given(small_logs(), st.sampled_from(["affine", "temperature"]), st.booleans())
def test_fits_of_few_rows_are_defined(log, calibrator, by_group) -> None:
    keys = ["g"] if by_group else []
    found = log.ec.sketch("p", "y", by=[*keys, "fold"], weight="w", exact=True).calibrate(calibrator).frame
    folds = [*sorted(log["fold"].unique()), None]
    groups = sorted(log["g"].unique(), key=lambda g: (g is None, g)) if by_group else [None]
    assert found.select(*keys, "fold").rows() == [
        (g, f) if by_group else (f,) for g in (groups if log.height or not by_group else []) for f in folds
    ]
    for fitted in found.to_dicts():
        rows = log.filter(pl.col("fold").ne_missing(fitted["fold"]))
        rows = rows.filter(pl.col("g").eq_missing(fitted["g"])) if by_group else rows
        check_parameters(rows, fitted, calibrator == "affine")


@settings(PROFILE)
@given(small_logs(st.one_of(POINTS, WRONG)), st.booleans(), st.sampled_from([None, 0.2, "uniform", pl.lit(1.5), 0.0]))
def test_binned_fits_are_null_or_numbers(log, weighted, prior) -> None:
    sketch = log.ec.sketch("p", "y", by=["g", "fold"], weight="w" if weighted else None)
    for calibrator in ("affine", "temperature"):
        found = sketch.calibrate(calibrator, prior=prior).frame
        undefined = found.filter(~pl.col("reason").is_null() & (pl.col("reason") != "reversed"))
        assert (
            undefined.select("alpha", "beta", "n_iterations", "gradient_norm").null_count().row(0)
            == (undefined.height,) * 4
        )
        defined = found.filter(pl.col("reason").is_null() | (pl.col("reason") == "reversed"))
        assert defined.select(pl.col("alpha", "beta", "gradient_norm").is_finite().all()).row(0) == (True,) * 3
        wrong = log.filter(pl.col("p").is_nan() | (pl.col("p") > 1))["g"].unique()
        assert set(found.filter(pl.col("g").is_in(wrong, nulls_equal=True))["reason"]) <= {"wrong rows"}


def test_weights_of_any_size_are_summed_without_loss() -> None:
    """The other folds' sums are not a difference, which would leave nothing of the small weights."""
    log = simulated(500).with_columns(w=pl.when(pl.col("fold") == 0).then(1e18).otherwise(pl.col("w")))
    sketch = log.ec.sketch("p", "y", by="fold", weight="w")
    without = log.filter(pl.col("fold") != 0).ec.sketch("p", "y", weight="w")
    columns = ["alpha", "beta", "n"]
    found = sketch.calibrate().frame.filter(pl.col("fold") == 0).select(columns)
    assert_frame_equal(found, without.calibrate().frame.select(columns), rel_tol=1e-9)


@pytest.mark.parametrize("gap", [1e-13, 1e-3, 1.0, 1e6])
def test_converged_means_flat_at_the_parameters_returned(gap) -> None:
    """Scores that hardly differ leave alpha x + beta too few digits."""
    x = np.array([2.0, 2.0 + gap] * 6)
    y = np.array([0, 1] * 4 + [1, 0] * 2)
    fitted = pl.DataFrame({"x": x, "y": y}).ec.sketch("x", "y", score_type="log_odds", exact=True).calibrate().frame
    row = fitted.to_dicts()[0]
    if gap < 1e-6:
        assert (row["alpha"], row["reason"]) == (None, "not converged")
    else:
        error = sigmoid(row["alpha"] * x + row["beta"]) - y
        assert row["gradient_norm"] == pytest.approx(max(abs(error.mean()), abs((error * x).mean())), abs=1e-12 * gap)
        assert row["gradient_norm"] < 1e-9 * (1 + gap)


@pytest.mark.slow
def test_extreme_scores_make_no_warnings() -> None:
    random = np.random.default_rng(0)
    scores = np.array([-1e308, -1e300, -800.0, -64.1, -1.0, 0.0, 1e-300, 1.0, 64.0, 1e15, 1e308, math.inf])
    log = pl.DataFrame(
        {
            "g": np.repeat(np.arange(150), 6),
            "x": random.choice(scores, 900),
            "y": random.random(900) < 0.5,
            "w": random.choice([1.0, 1e-12, 1e12], 900),
            "fold": pl.Series(random.integers(0, 2, 900), dtype=pl.Int8),
        }
    )
    for exact in (True, False):
        sketch = log.ec.sketch("x", "y", score_type="log_odds", by=["g", "fold"], weight="w", exact=exact)
        for calibrator in ("affine", "temperature", "gaussian", "pav", "histogram"):
            frame = sketch.calibrate(calibrator).frame
            assert not frame.select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)
            for rule in RULES:
                loss = sketch.calibration_loss(rule, calibrator=calibrator)
                assert not loss.select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)


def test_llrs_are_calibrated_at_the_prior() -> None:
    log = simulated()
    sketch = log.ec.sketch("x", "y", score_type="llr", exact=True)
    fitted = sketch.calibrate(prior=0.5).frame.to_dicts()[0]
    y = log["y"].to_numpy().astype(float)
    alpha, beta = plain_newton(log["x"].to_numpy(), y, np.where(y == 1, 0.5 / y.mean(), 0.5 / (1 - y.mean())))
    assert (fitted["alpha"], fitted["beta"]) == (pytest.approx(alpha), pytest.approx(beta))


def test_priors_of_groups() -> None:
    sketch = simulated().ec.sketch("p", "y", by="g")
    shares = sketch.evaluate("accuracy").select("g", "class_prior")
    own = sketch.calibrate(prior=pl.col("class_prior"))
    assert_frame_equal(own.frame, sketch.calibrate().frame, rel_tol=1e-9, abs_tol=1e-9)
    first = sketch.calibrate(prior=pl.col("class_prior").first()).frame
    third = sketch.filter(pl.col("g") == 3).calibrate(prior=shares["class_prior"][0]).frame
    assert_frame_equal(first.filter(pl.col("g") == 3), third)


def test_a_calibration_is_a_file(tmp_path: Path) -> None:
    path = tmp_path / "calibration[1].parquet"
    calibration = simulated().ec.sketch("p", "y", by=["g", "fold"]).calibrate("temperature")
    calibration.write_parquet(path, metadata={"made": "today"})
    read = ec.Calibration.read_parquet(path)
    assert (read.calibrator, read.score_type, read.keys) == ("temperature", "posterior", ["g"])
    assert_frame_equal(read.frame, calibration.frame)
    assert pl.read_parquet_metadata(path)["made"] == "today"
    with pytest.raises(SketchError, match="is Parquet, but no sketch"):
        ec.Sketch.read_parquet(path)
    metadata = pl.read_parquet_metadata(path)
    calibration.frame.drop("n").write_parquet(path, metadata={k: v for k, v in metadata.items() if "polars_ec" in k})
    with pytest.raises(SketchError, match="damaged calibration"):
        ec.Calibration.read_parquet(path)
    with pytest.raises(FileNotFoundError):
        ec.Calibration.read_parquet(tmp_path / "absent.parquet")


def test_what_cannot_be_calibrated() -> None:
    log = simulated(50)
    with pytest.raises(ValueError, match="calibrator='platt' is none of affine, temperature, gaussian, pav, histogram"):
        log.ec.sketch("p", "y").calibrate("platt")
    with pytest.raises(SketchError, match="'fold' holds null"):
        log.ec.sketch("p", "y", by=pl.lit(None).alias("fold")).calibrate()
    with pytest.raises(SketchError, match="group column 'alpha'"):
        log.ec.sketch("p", "y", by=pl.col("g").alias("alpha")).calibrate()
    with pytest.raises(ValueError, match="prior"):
        log.ec.sketch("p", "y").calibrate(prior=1.5)
