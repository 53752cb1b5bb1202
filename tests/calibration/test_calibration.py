"""Calibrators and calibration loss from sketches, against plain NumPy group by group, and values of other implementations."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.metrics.test_golden import BINARY, expected_of, log_of
from tests.metrics.test_properties import PROFILE


def logit(p):
    return np.log(p) - np.log1p(-p)


def sigmoid(z):
    return np.exp(-np.logaddexp(0, -z))


def plain_newton(x, y, w, with_shift=True) -> tuple[float, float]:
    """Logistic regression by the textbook, for one group."""
    design = np.column_stack([x, np.ones_like(x)]) if with_shift else x[:, None]
    theta = np.zeros(design.shape[1])

    def loss(theta):
        z = design @ theta
        return np.sum(w * (np.logaddexp(0, z) - y * z))

    for _ in range(100):
        q = sigmoid(design @ theta)
        gradient = design.T @ (w * (q - y))
        step = np.linalg.solve((design * (w * q * (1 - q))[:, None]).T @ design, gradient)
        length = 1.0
        while loss(theta - length * step) > loss(theta) + 1e-12 and length > 1e-6:
            length /= 2
        theta = theta - length * step
    return float(theta[0]), float(theta[1]) if with_shift else 0.0


def simulated(n: int = 4000, seed: int = 0) -> pl.DataFrame:
    """Log-odds that are miscalibrated in another way in each group, with weights and folds."""
    random = np.random.default_rng(seed)
    group = random.integers(0, 4, n)
    x = np.round(random.normal(size=n) * 2 + group - 1, 2)
    y = random.random(n) < sigmoid((0.4 + 0.3 * group) * x - 0.5)
    return pl.DataFrame(
        {
            "g": group,
            "x": x,
            "p": sigmoid(x),
            "y": y,
            "w": random.choice([0.0, 0.5, 1.0, 3.0], n),
            "fold": pl.Series(random.integers(0, 5, n), dtype=pl.Int8),
        }
    )


@pytest.mark.parametrize("calibrator", ["affine", "temperature"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("prior", [None, 0.1])
def test_every_group_and_fold_is_the_fit_of_its_own_rows(calibrator, weight, prior) -> None:
    log = simulated()
    exact = log.ec.sketch("p", "y", by=["g", "fold"], exact=True, weight=weight).calibrate(calibrator, prior=prior)
    binned = log.ec.sketch("p", "y", by=["g", "fold"], weight=weight).calibrate(calibrator, prior=prior)
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
        alpha, beta = plain_newton(x, y, w, calibrator == "affine")
        assert (row["alpha"], row["beta"]) == (pytest.approx(alpha, rel=1e-8), pytest.approx(beta, rel=1e-8))
        assert (near["alpha"], near["beta"]) == (pytest.approx(alpha, rel=1e-3), pytest.approx(beta, abs=1e-3))


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


KEYS = st.sampled_from(["a", "b", None])
SCORES = st.sampled_from([0.0, 1.0, 0.5, 0.2, 0.4, 0.7, 0.9, 1e-300, 1 - 2**-53])
POINTS = st.tuples(KEYS, SCORES, st.booleans(), st.sampled_from([1.0, 2.0, 0.25, 0.0]), st.integers(0, 2))
WRONG = st.tuples(KEYS, st.sampled_from([math.nan, None, 2.0]), st.booleans(), st.just(1.0), st.integers(0, 2))


def small_logs(row=POINTS) -> st.SearchStrategy[pl.DataFrame]:
    schema = {"g": pl.String, "p": pl.Float64, "y": pl.Boolean, "w": pl.Float64, "fold": pl.Int8}
    return st.lists(row, max_size=20).map(lambda rows: pl.DataFrame(rows, schema=schema, orient="row"))


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


def logit_of(p: pl.Series) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return logit(p.to_numpy())


@settings(PROFILE, max_examples=150)
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


def test_extreme_scores_make_no_warnings() -> None:
    random = np.random.default_rng(0)
    scores = np.array([-1e308, -1e300, -800.0, -64.1, -1.0, 0.0, 1e-300, 1.0, 64.0, 1e15, 1e308, math.inf])
    log = pl.DataFrame(
        {
            "g": np.repeat(np.arange(300), 6),
            "x": random.choice(scores, 1800),
            "y": random.random(1800) < 0.5,
            "w": random.choice([1.0, 1e-12, 1e12], 1800),
            "fold": pl.Series(random.integers(0, 2, 1800), dtype=pl.Int8),
        }
    )
    for exact in (True, False):
        sketch = log.ec.sketch("x", "y", score_type="log_odds", by=["g", "fold"], weight="w", exact=exact)
        for calibrator in ("affine", "temperature", "pav", "histogram"):
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
    with pytest.raises(ValueError, match="calibrator='platt' is none of affine, temperature, pav, histogram"):
        log.ec.sketch("p", "y").calibrate("platt")
    with pytest.raises(SketchError, match="raw scores are no log-odds"):
        log.ec.sketch("x", "y", score_type="raw").calibrate()
    with pytest.raises(SketchError, match="'fold' holds null"):
        log.ec.sketch("p", "y", by=pl.lit(None).alias("fold")).calibrate()
    with pytest.raises(SketchError, match="group column 'alpha'"):
        log.ec.sketch("p", "y", by=pl.col("g").alias("alpha")).calibrate()
    with pytest.raises(ValueError, match="prior"):
        log.ec.sketch("p", "y").calibrate(prior=1.5)


# Calibration loss ----------------------------------------------------------------------------------------------------


def losses(rule: str, z: np.ndarray, y: np.ndarray, threshold: float = 0.0) -> np.ndarray:
    """Loss of each row with log-odds z; Bayes risk: a false alarm costs exp(threshold), and a miss 1."""
    with np.errstate(over="ignore", invalid="ignore"):
        if rule == "cross_entropy":
            return np.where(y == 1, np.logaddexp(0, -z), np.logaddexp(0, z))
        if rule == "brier":
            return (sigmoid(z) - y) ** 2
        return np.where(y == 1, z <= threshold, (z > threshold) * math.exp(threshold))


def mean_at(prior: float | None, loss: np.ndarray, y: np.ndarray, w: np.ndarray) -> float:
    if prior is None:
        return float(w @ loss / w.sum())
    return float(sum(p * np.average(loss[y == i], weights=w[y == i]) for i, p in ((1, prior), (0, 1 - prior))))


COST_FP = 0.25
RULES = ["cross_entropy", "brier", "bayes_risk"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("training", ["cv", "test", "held out"])
@pytest.mark.parametrize(("weight", "prior"), [(None, None), ("w", 0.2)])
def test_loss_is_that_of_rows_with_plain_calibrators(rule, training, weight, prior) -> None:
    log, other = simulated(), simulated(seed=1)
    costs = {"cost_fp": COST_FP} if rule == "bayes_risk" else {}
    by = ["g", "fold"]
    sketches = {
        exact: log.ec.sketch("p", "y", by=by, weight=weight, exact=exact, thresholds=[COST_FP / (1 + COST_FP)])
        for exact in (True, False)
    }
    held_out = other.ec.sketch("p", "y", by="g", weight=weight, exact=True).calibrate(prior=prior)
    stated = held_out if training == "held out" else training
    exact, binned = (
        sketches[exact].calibration_loss(rule, training=stated, prior=prior, **costs).to_dicts()
        for exact in (True, False)
    )
    assert [row["g"] for row in exact] == [0, 1, 2, 3]

    def weights(rows):
        return np.ones(rows.height) if weight is None else rows["w"].to_numpy()

    def fit(rows):
        y, w = rows["y"].to_numpy().astype(float), weights(rows)
        if prior is not None:
            w = w * np.where(y == 1, prior / (w @ y), (1 - prior) / (w @ (1 - y)))
        return plain_newton(logit(rows["p"].to_numpy()), y, w)

    for row, near in zip(exact, binned, strict=True):
        rows = log.filter(pl.col("g") == row["g"])
        x, y, w = logit(rows["p"].to_numpy()), rows["y"].to_numpy().astype(float), weights(rows)
        if training == "cv":
            z = np.empty(len(x))
            for fold in range(5):
                own = (rows["fold"] == fold).to_numpy()
                alpha, beta = fit(rows.filter(~own))
                z[own] = alpha * x[own] + beta
        else:
            alpha, beta = fit(rows if training == "test" else other.filter(pl.col("g") == row["g"]))
            z = alpha * x + beta
        raw, calibrated = (mean_at(prior, losses(rule, v, y, math.log(COST_FP)), y, w) for v in (x, z))
        assert (row["raw"], near["raw"]) == (pytest.approx(raw, rel=1e-9),) * 2
        assert row["calibrated"] == pytest.approx(calibrated, rel=1e-8)
        assert row["cal_loss"] == pytest.approx(raw - calibrated, rel=1e-6)
        assert row["rcl"] == pytest.approx(100 * (raw - calibrated) / raw, rel=1e-6)
        assert (row["n"], row["reason"]) == (rows.height, None)
        assert near["calibrated"] == pytest.approx(calibrated, rel=2e-2 if rule == "bayes_risk" else 1e-4)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    ("calibrator", "block"), [("affine", "DP_train_on_test"), ("temperature", "temperature_train_on_test")]
)
def test_golden_loss_after_training_on_test(name: str, calibrator: str, block: str) -> None:
    golden, log = expected_of(name)["calibration"][block], log_of(name)
    for exact, tolerance in ((True, 1e-9), (False, 2e-4)):
        sketch = log.ec.sketch("log_odds", "label", score_type="log_odds", exact=exact)
        found = sketch.calibration_loss(calibrator=calibrator, training="test").to_dicts()[0]
        assert found["calibrated"] == pytest.approx(golden["CE"], rel=tolerance)
        assert found["rcl"] == pytest.approx(golden["RCL"], rel=tolerance)
        brier = sketch.calibration_loss("brier", calibrator=calibrator, training="test").to_dicts()[0]
        prior = found["class_prior"]
        assert brier["calibrated"] / (prior * (1 - prior)) == pytest.approx(golden["NBS"], rel=tolerance)


@settings(PROFILE, max_examples=100)
@given(small_logs(), st.sampled_from(RULES), st.sampled_from(["cv", "test"]))
def test_losses_of_few_rows_are_defined(log, rule, training) -> None:
    sketch = log.ec.sketch("p", "y", by=["g", "fold"], weight="w", exact=True)
    found = sketch.calibration_loss(rule, training=training)
    fits = {(g, f): row for *_, g, f, row in ((r["g"], r["fold"], r) for r in sketch.calibrate().frame.to_dicts())}
    assert found["g"].to_list() == sorted(log["g"].unique(), key=lambda g: (g is None, g))
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
    with pytest.raises(ValueError, match="training='train' is neither"):
        sketch.calibration_loss(training="train")
    with pytest.raises(SketchError, match="declare it"):
        sketch.calibration_loss("bayes_risk", training="test", cost_fn=3)
    with pytest.raises(SketchError, match="by 'g', which is no group column"):
        sketch.group_by().calibration_loss(training=sketch.calibrate())
    with pytest.raises(SketchError, match="is of log_odds, and the sketch is of posterior"):
        sketch.calibration_loss(training=log.ec.sketch("x", "y", score_type="log_odds").calibrate())
    for score_type in ("raw", "llr"):
        with pytest.raises(SketchError, match=f"{score_type} scores have no cross_entropy"):
            log.ec.sketch("x", "y", score_type=score_type).calibration_loss(training="test")


# Folds ---------------------------------------------------------------------------------------------------------------


def test_folds_are_of_equal_size_and_tell_nothing_of_the_key() -> None:
    n = 200_000
    fold = pl.select(ec.fold(pl.int_range(n)).alias("fold"))["fold"]
    assert fold.dtype == pl.Int8
    expected = n / 5
    assert all(abs(count - expected) < 5 * math.sqrt(expected) for count in fold.value_counts()["count"])
    for period in (2, 3, 5, 7, 16, 1000):
        share = (fold.gather_every(period) == 0).mean()
        assert abs(share - 0.2) < 5 * math.sqrt(0.16 * period / n)
    after = pl.DataFrame({"a": fold[:-1], "b": fold[1:]}).group_by("a", "b").len()["len"]
    assert after.len() == 25
    assert all(abs(count - n / 25) < 5 * math.sqrt(n / 25) for count in after)


def test_folds_of_a_sketch() -> None:
    log = simulated().drop("fold").with_row_index("id").with_columns(user=pl.format("u{}", pl.col("id") % 50))
    by_user = log.ec.sketch("p", "y", by="g", folds=3, fold_by="user")
    assert by_user.keys == ["g", "fold"]
    assert by_user.frame.schema["fold"] == pl.Int8
    expected = log.group_by("g", ec.fold("user", 3)).agg(n=pl.len().cast(pl.Int64))
    found = by_user.evaluate("accuracy").select("g", "fold", "n")
    assert_frame_equal(found, expected, check_row_order=False)
    assert_frame_equal(by_user.group_by("g").frame, log.ec.sketch("p", "y", by="g").frame, abs_tol=1e-9)
    sizes = log.ec.sketch("p", "y", by="g", folds=5, fold_by="id", stratified=True).frame
    counts = (
        sizes.group_by("g", "class", "fold")
        .agg(pl.col("n").sum())
        .group_by("g", "class")
        .agg(spread=pl.col("n").max() - pl.col("n").min(), folds=pl.len())
    )
    assert counts["spread"].max() <= 1
    assert counts["folds"].unique().to_list() == [5]


@pytest.mark.parametrize("name", BINARY)
def test_golden_loss_by_cross_validation(name: str) -> None:
    golden = expected_of(name)["calibration"]["DP_5fold_cv"]["converged"]
    log = log_of(name).with_row_index("id")
    for stratified, exact in ((False, True), (True, True), (True, False)):
        sketch = log.ec.sketch(
            "log_odds", "label", score_type="log_odds", exact=exact, folds=5, fold_by="id", stratified=stratified
        )
        rcl = sketch.calibration_loss()["rcl"].item()
        assert abs(rcl - golden["RCL_mean"]) < 4 * golden["RCL_std"]


def test_a_prior_that_is_an_expression_is_of_the_whole_log() -> None:
    """As in the report: within a group it would be the group's own."""
    log = pl.DataFrame(
        {
            "g": ["a", "b"] * 6,
            "p": [0.9, 0.8, 0.3, 0.6, 0.7, 0.2, 0.4, 0.35, 0.2, 0.1, 0.5, 0.45],
            "y": [1] * 4 + [0] * 8,
        }
    ).with_columns(y=pl.when(pl.col("g") == "a").then("y").otherwise(1 - pl.col("y")))
    share = log["y"].mean()
    for prior in (pl.col("y").mean(), pl.col("y").cast(pl.Float64).sum() / pl.len()):
        expected = log.ec.calibration_loss("p", "y", by="g", training="test", prior=share)
        assert log.ec.calibration_loss("p", "y", by="g", training="test", prior=prior).equals(expected)
        fitted = log.ec.calibrate("p", "y", by="g", prior=prior).frame
        assert_frame_equal(fitted, log.ec.calibrate("p", "y", by="g", prior=share).frame)


def test_folds_that_cannot_be() -> None:
    log = simulated(50)
    for folds in (1, 128, 2.5, True, None):
        with pytest.raises(ValueError, match="folds="):
            log.ec.sketch("p", "y", folds=folds, fold_by="x")
    with pytest.raises(ValueError, match="go together"):
        log.ec.sketch("p", "y", folds=5)
    with pytest.raises(ValueError, match="has a column 'fold'"):
        log.ec.sketch("p", "y", by="fold", folds=5, fold_by="g")
    with pytest.raises(TypeError, match="key 'x' is Float64"):
        log.ec.sketch("p", "y", folds=5, fold_by="x")


# Steps ---------------------------------------------------------------------------------------------------------------


def plain_pav(score, y, w) -> list[tuple[float, float]]:
    """Pool adjacent violators: highest score below each step (its threshold), and log-odds, lowest step first."""
    blocks: list[list[float]] = []
    below = -math.inf
    for s in np.unique(score):
        blocks.append([below, w[(score == s) & (y == 1)].sum(), w[(score == s) & (y == 0)].sum()])
        below = s
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][2] >= blocks[-1][1] * blocks[-2][2]:
            _, positives, negatives = blocks.pop()
            blocks[-1][1] += positives
            blocks[-1][2] += negatives
    with np.errstate(divide="ignore"):
        return [(above, float(np.log(np.divide(positives, negatives)))) for above, positives, negatives in blocks]


def plain_histogram(score, y, w, edges) -> list[tuple[float, float]]:
    """Steps of the bins (edge, next edge] that have rows, the first of them from -inf."""
    bins = np.searchsorted(edges, score, side="left")
    steps = []
    for k in np.unique(bins):
        of_bin = bins == k
        with np.errstate(divide="ignore"):
            odds = np.divide(w[of_bin & (y == 1)].sum(), w[of_bin & (y == 0)].sum())
            steps.append((edges[k - 1] if steps else -math.inf, float(np.log(odds))))
    return steps


def steps_at(steps: list[tuple[float, float]], score) -> np.ndarray:
    above = np.array([threshold for threshold, _ in steps])
    return np.array([z for _, z in steps])[np.searchsorted(above, score, side="left") - 1]


def plain_steps(calibrator: str, rows: pl.DataFrame, bins: int = 15) -> list[tuple[float, float]]:
    rows = rows.filter(pl.col("w") > 0)
    score, y, w = rows["p"].to_numpy(), rows["y"].to_numpy().astype(float), rows["w"].to_numpy()
    if calibrator == "pav":
        return plain_pav(score, y, w)
    return plain_histogram(score, y, w, np.arange(1, bins) / bins)


def steps_of(frame: pl.DataFrame) -> list[tuple[float, float]]:
    return frame.select("above", "log_odds").rows()


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


@settings(PROFILE, max_examples=100)
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


# Applied to rows -----------------------------------------------------------------------------------------------------


def rows_to_calibrate() -> pl.DataFrame:
    """Groups that are calibrated and one that is not, with every kind of score."""
    scores = [0.0, 1e-300, 0.1, 0.5, 0.9, 1 - 2**-53, 1.0, None, math.nan, 1.5]
    log_odds = [-math.inf, -800.0, -2.0, 0.0, 2.0, 800.0, math.inf, None, math.nan, 3.0]
    groups = pl.DataFrame({"g": [0, 1, 2, 3, 4, None]}, schema={"g": pl.Int64})
    return groups.join(pl.DataFrame({"p": scores, "x": log_odds}), how="cross", maintain_order="left_right")


@pytest.mark.parametrize("calibrator", ["affine", "temperature", "pav", "histogram"])
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
        elif calibrator in ("affine", "temperature"):
            with np.errstate(divide="ignore"):
                x = logit(np.float64(s)) if score == "p" else s
            assert value == pytest.approx(float(sigmoid(own["alpha"][0] * x + own["beta"][0])), rel=1e-12)
        else:
            z = own["log_odds"][0] if s == -math.inf else steps_at(steps_of(own), s)
            assert value == pytest.approx(float(sigmoid(z)), rel=1e-12)


@pytest.mark.parametrize("calibrator", ["affine", "temperature", "pav", "histogram"])
@pytest.mark.parametrize("weight", [None, "w"])
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
