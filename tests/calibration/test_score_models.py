"""Calibrators of any real score: prior-weighted logistic regression and the Gaussian score model, against plain NumPy."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.calibration_logs import simulated, small_logs
from tests.support.calibration_oracle import (
    logit,
    logit_of,
    middles,
    plain_gaussian,
    plain_newton,
    plain_pav,
    sigmoid,
    steps_at,
)
from tests.support.cases import mostly_slow
from tests.support.profile import PROFILE

# Far from 0 and from 1, as margins and distances are.
MARGIN = 30 * pl.col("x") - 400


def at_prior(y, w, prior):
    return w if prior is None else w * np.where(y == 1, prior / (w @ y), (1 - prior) / (w @ (1 - y)))


@pytest.mark.parametrize(
    ("calibrator", "weight", "prior", "score_type"),
    mostly_slow(
        [
            (c, *of, kind)
            for c in ("affine", "gaussian")
            for of in ((None, None), ("w", 0.1))
            for kind in ("raw", "posterior")
        ],
        [
            ("affine", None, None, "raw"),
            ("affine", "w", 0.1, "posterior"),
            ("gaussian", "w", 0.1, "raw"),
            ("gaussian", None, None, "posterior"),
        ],
    ),
)
def test_every_group_and_fold_is_the_fit_of_its_own_rows(calibrator, weight, prior, score_type) -> None:
    log = simulated(1500).with_columns(MARGIN.alias("margin"))
    score = "margin" if score_type == "raw" else "p"
    options = {"weight": weight, "score_type": score_type}
    found = log.ec.sketch(score, "y", by=["g", "fold"], exact=True, **options).calibrate(calibrator, prior=prior)
    assert (found.score_type, found.prior) == (score_type, prior)
    assert found.frame["reason"].null_count() == found.frame.height == 24
    for row in found.frame.to_dicts():
        rows = log.filter(pl.col("g") == row["g"], pl.col("fold").ne_missing(row["fold"]))
        x = rows["margin"].to_numpy() if score_type == "raw" else logit(rows["p"].to_numpy())
        y, w = rows["y"].to_numpy().astype(float), np.ones(rows.height) if weight is None else rows["w"].to_numpy()
        fit = plain_newton if calibrator == "affine" else plain_gaussian
        # The textbook's Newton wants scores near 0.
        alpha, beta = (
            fit(x / 30 + 10, y, at_prior(y, w, prior)) if score_type == "raw" else fit(x, y, at_prior(y, w, prior))
        )
        if score_type == "raw":
            alpha, beta = alpha / 30, beta + 10 * alpha
        assert row["n"] == rows.height
        assert (row["alpha"], row["beta"]) == (pytest.approx(alpha, rel=1e-8), pytest.approx(beta, rel=1e-8))


@pytest.mark.parametrize("prior", [None, 0.02])
def test_scikit_learn_fits_the_same(prior) -> None:
    log = simulated().with_columns(MARGIN.alias("margin"))
    x, y = log["margin"].to_numpy()[:, None], log["y"].to_numpy().astype(int)
    shares = [1 - y.mean(), y.mean()] if prior is None else [1 - prior, prior]
    gaussian = LinearDiscriminantAnalysis(solver="lsqr", priors=shares).fit(x, y)
    logistic = LogisticRegression(C=math.inf, tol=1e-12, max_iter=1000)
    standard = (x + 400) / 60
    logistic.fit(standard, y, sample_weight=np.where(y == 1, shares[1] / y.mean(), shares[0] / (1 - y.mean())))
    slope, shift = logistic.coef_.item(), logistic.intercept_.item()
    expected = {
        "gaussian": (gaussian.coef_.item(), gaussian.intercept_.item()),
        "affine": (slope / 60, shift + slope * 400 / 60),
    }
    for calibrator, parameters in expected.items():
        found = log.ec.calibrate("margin", "y", calibrator, score_type="raw", prior=prior).frame
        assert found.select("alpha", "beta").row(0) == pytest.approx(parameters, rel=1e-5)


def test_prior_weighted_logistic_regression_of_two_scores_is_their_llr() -> None:
    """Two scores leave no residue: each gets ln(share of positives at it / share of negatives at it) + ln(P / (1 - P))."""
    counts = {(-7.0, 0): 30, (-7.0, 1): 5, (50.0, 0): 10, (50.0, 1): 95}
    log = pl.DataFrame([(*key, n) for key, n in counts.items()], schema=["s", "y", "n"], orient="row")
    llr_low, llr_high = math.log(5 / 100) - math.log(30 / 40), math.log(95 / 100) - math.log(10 / 40)
    for prior in (0.5, 0.01):
        calibration = log.ec.calibrate("s", "y", score_type="raw", weight="n", prior=prior)
        alpha = (llr_high - llr_low) / 57
        beta = llr_low + 7 * alpha + math.log(prior / (1 - prior))
        assert calibration.frame.select("alpha", "beta").row(0) == pytest.approx((alpha, beta), rel=1e-9)
        found = log.select(calibration.apply("s")).to_series()[0]
        assert found == pytest.approx(float(sigmoid(llr_low + math.log(prior / (1 - prior)))), rel=1e-9)


def test_gaussian_of_bins_is_of_their_middles() -> None:
    """Means and the standard deviation are off by half a bin at most."""
    log = simulated()
    for resolution in (1, 8, 64):
        sketch = log.ec.sketch("x", "y", by="g", score_type="llr", resolution=resolution)
        for g, alpha, beta in sketch.calibrate("gaussian", prior=0.3).frame.select("g", "alpha", "beta").rows():
            rows = log.filter(pl.col("g") == g)
            y = rows["y"].to_numpy().astype(float)
            of_rows, of_bins = (
                (x[y == 0].mean(), x[y == 1].mean(), math.sqrt(0.3 * x[y == 1].var() + 0.7 * x[y == 0].var()))
                for x in (rows["x"].to_numpy(), middles(rows["x"].to_numpy(), resolution))
            )
            assert of_bins == pytest.approx(of_rows, abs=1 / (2 * resolution))
            mean_0, mean_1, deviation = of_bins
            assert alpha == pytest.approx((mean_1 - mean_0) / deviation**2, rel=1e-9)
            assert beta == pytest.approx(logit(0.3) - alpha * (mean_0 + mean_1) / 2, rel=1e-9)


# Powers of 2: no digit of a score is lost.
@pytest.mark.parametrize("size", [2.0**-990, 1.0, 2.0**990])
@pytest.mark.parametrize("exponent", [0, 30])
def test_gaussian_of_scores_of_any_size(size, exponent) -> None:
    x, y = np.array([1.0, 3.0, -0.5, 2.0, -1.0, 0.5]) + 2**exponent, np.array([1, 1, 1, 0, 0, 0])
    fitted = pl.DataFrame({"x": x * size, "y": y}).ec.calibrate("x", "y", "gaussian", score_type="raw").frame
    alpha, beta = plain_gaussian(x - 2.0**exponent, y, np.ones(6))
    found = fitted.select("alpha", "beta", "reason").row(0)
    assert found[0] * size == pytest.approx(alpha, rel=1e-12)
    assert found[1] == pytest.approx(beta - alpha * 2**exponent, rel=1e-12)


INF = math.inf
REASONS = {
    "infinite log-odds": ([INF, 2.0, 1.0, 0.0], [1, 1, 0, 0]),
    "infinite log-odds, on the class's side": ([3.0, 2.0, 1.0, -INF], [1, 1, 0, 0]),
    "one score": ([0.1] * 6, [1, 1, 1, 0, 0, 0]),
    "separable": ([0.3] * 3 + [0.1] * 3, [1, 1, 1, 0, 0, 0]),
    "reversed": ([0.1, 0.2, 0.15, 0.3], [1, 1, 0, 0]),
    "reversed, of one score each": ([0.1] * 3 + [0.3] * 3, [1, 1, 1, 0, 0, 0]),
    "not converged": ([1e16, 1e16 + 2, 1e16 + 4, 1e16 + 2, 1e16], [1, 1, 1, 0, 0]),
    "one class": ([0.1, 0.2], [1, 1]),
    "wrong rows": ([0.1, math.nan, 0.2, 0.4], [1, 0, 0, 1]),
}


@pytest.mark.parametrize("case", REASONS)
@pytest.mark.parametrize("score_type", ["raw", "log_odds"])
def test_why_there_is_no_gaussian_model(case, score_type) -> None:
    scores, labels = REASONS[case]
    log = pl.DataFrame({"s": scores, "y": labels})
    row = (
        log.ec.sketch("s", "y", score_type=score_type, exact=True).calibrate("gaussian", prior=0.2).frame.to_dicts()[0]
    )
    assert row["reason"] == case.split(",")[0]
    if row["reason"] == "reversed":
        assert (row["alpha"], row["beta"]) == (0, pytest.approx(logit(0.2)))
    else:
        assert (row["alpha"], row["beta"]) == (None, None)
    assert (row["n_iterations"], row["gradient_norm"]) == (None, None)


def test_gaussian_has_parameters_where_a_threshold_parts_the_classes() -> None:
    log = pl.DataFrame({"s": [1.0, 3.0, -1.0, -3.0], "y": [1, 1, 0, 0]})
    sketch = log.ec.sketch("s", "y", score_type="raw", exact=True)
    assert sketch.calibrate().frame["reason"].to_list() == ["separable"]
    # Means 2 and -2, variance 1.
    assert sketch.calibrate("gaussian").frame.select("alpha", "beta").row(0) == pytest.approx((4, 0), abs=1e-12)
    # One class has one score, and half the variance is left.
    one = log.with_columns(s=pl.when(pl.col("y") == 1).then(2.0).otherwise("s"))
    found = one.ec.calibrate("s", "y", "gaussian", score_type="raw").frame
    assert found.select("alpha", "beta").row(0) == pytest.approx((8, 0), abs=1e-12)


@settings(PROFILE)
@given(small_logs(), st.sampled_from([None, 0.2]))
def test_gaussian_fits_of_few_rows_are_defined(log, prior) -> None:
    found = log.ec.sketch("p", "y", by=["g", "fold"], weight="w", exact=True).calibrate("gaussian", prior=prior).frame
    for fitted in found.to_dicts():
        rows = log.filter(
            pl.col("fold").ne_missing(fitted["fold"]), pl.col("g").eq_missing(fitted["g"]), pl.col("w") > 0
        )
        x, y, w = logit_of(rows["p"]), rows["y"].to_numpy().astype(float), rows["w"].to_numpy()
        reason = fitted["reason"]
        assert (fitted["alpha"] is None) == (fitted["beta"] is None) == (reason not in (None, "reversed"))
        if len(x) == 0:
            assert reason == "no rows"
        elif len(set(y)) == 1:
            assert reason == "one class"
        elif np.isinf(x).any():
            assert reason == "infinite log-odds"
        elif len(set(x)) == 1:
            assert reason == "one score"
        else:
            mean_0, mean_1 = (np.average(x[y == i], weights=w[y == i]) for i in (0, 1))
            # Where the means are the same rounding decides.
            if abs(mean_1 - mean_0) < 1e-12:
                assert reason in (None, "reversed", "separable")
            elif mean_1 < mean_0:
                assert reason == "reversed"
            elif len(set(x[y == 1])) == len(set(x[y == 0])) == 1:
                assert reason == "separable"
            else:
                assert reason is None
                alpha, beta = plain_gaussian(x, y, at_prior(y, w, prior))
                assert (fitted["alpha"], fitted["beta"]) == (
                    pytest.approx(alpha, rel=1e-9),
                    pytest.approx(beta, rel=1e-9),
                )


@pytest.mark.parametrize("calibrator", ["affine", "gaussian", "pav"])
def test_raw_scores_become_posteriors(calibrator, tmp_path) -> None:
    """Straight from rows, through a file: posteriors of new rows, also of infinite, missing and wrong scores."""
    log = simulated(800).with_columns(MARGIN.alias("margin")).with_row_index("id")
    calibration = log.ec.calibrate(
        "margin", "y", calibrator, score_type="raw", prior=0.25, resolution=512, folds=3, fold_by="id"
    )
    calibration.write_parquet(tmp_path / "c.parquet")
    read = ec.Calibration.read_parquet(tmp_path / "c.parquet")
    assert (read.score_type, read.calibrator, read.prior) == ("raw", calibrator, 0.25)
    assert_frame_equal(read.frame, calibration.frame)
    rows = log.with_columns(ec.fold("id", 3).alias("fold"))
    for fold in (None, 0):
        training = rows.filter(pl.col("fold").ne_missing(fold))
        x, y = training["margin"].to_numpy(), training["y"].to_numpy().astype(float)
        w = at_prior(y, np.ones(len(y)), 0.25)
        new = pl.DataFrame({"margin": [-1e6, -500.0, -400.5, -313.0, INF, -INF, None, math.nan]})
        new = new.with_columns(fold=pl.lit(fold, dtype=pl.Int16))
        found = new.select(read.apply("margin", out_of_fold=fold is not None)).to_series().to_list()
        assert found[-2:] == [None, None]
        s = new["margin"].to_numpy()[:-2]
        if calibrator == "pav":
            finite = s[np.isfinite(s)]
            expected = sigmoid(steps_at(plain_pav(x, y, w), finite))
            # In bins of ln|score|.
            assert found[: len(finite)] == pytest.approx(expected, abs=0.1)
            continue
        alpha, beta = (plain_newton if calibrator == "affine" else plain_gaussian)(x / 30 + 10, y, w)
        assert found[:-2] == pytest.approx(sigmoid(alpha * (s / 30 + 10) + beta), rel=1e-6)


def test_which_calibrators_raw_scores_have() -> None:
    log = simulated(50).with_columns(q=pl.concat_arr("p", 1 - pl.col("p")))
    binned = log.ec.sketch("x", "y", score_type="raw")
    for calibrator in ("affine", "gaussian"):
        with pytest.raises(SketchError, match=f"calibrator='{calibrator}' needs the sums of scores"):
            binned.calibrate(calibrator)
    for calibrate in (
        log.ec.sketch("x", "y", score_type="raw", exact=True).calibrate,
        lambda calibrator: log.ec.calibrate("x", "y", calibrator, score_type="raw"),
    ):
        with pytest.raises(SketchError, match="their 0 has no meaning: use 'affine'"):
            calibrate("temperature")
        with pytest.raises(
            SketchError, match="calibrator='histogram' needs posteriors for bins of equal width, and these are raw"
        ):
            calibrate("histogram")
    with pytest.raises(SketchError, match=r"raw scores: make posteriors with calibrate"):
        binned.calibration_loss(training="test")
    with pytest.raises(SketchError, match=r"raw scores: make posteriors with calibrate"):
        binned.calibration_loss("cllr", training="test")
    with pytest.raises(SketchError, match=r"raw scores: make posteriors with calibrate\(score_type='raw'\)"):
        log.ec.calibration_loss("x", "y", "brier", training="test", score_type="raw")
    with pytest.raises(ValueError, match="calibrator='gaussian' is for one score per row"):
        log.ec.calibrate("q", "y", "gaussian")
    with pytest.raises(ValueError, match="'q' is Array"):
        log.ec.calibrate("q", "y", score_type="raw")


def test_priors_that_a_calibration_knows() -> None:
    log = simulated(400)
    sketch = log.ec.sketch("x", "y", score_type="llr")
    stated = [(0.2, 0.2), ([0.8, 0.2], 0.2), ({True: 0.2, False: 0.8}, 0.2), ("uniform", 0.5), (pl.lit(0.2), None)]
    for prior, expected in [*stated, (None, None)]:
        assert sketch.calibrate(prior=prior).prior == expected
        assert log.ec.calibrate("x", "y", score_type="llr", prior=prior).prior == expected


def test_raw_scores_of_vectors_are_refused_by_their_own_name() -> None:
    log = pl.DataFrame({"v": [[0.2, 0.8]], "y": [1]}, schema_overrides={"v": pl.Array(pl.Float64, 2)})
    with pytest.raises(ValueError, match=r"^score_type='raw' is for one number per row, but 'v' is Array\(Float64"):
        log.ec.calibrate("v", "y", score_type="raw")


@pytest.mark.parametrize("weight", [None, "w"])
def test_the_overall_prior_is_counted_in_the_log(weight: str | None) -> None:
    random = np.random.default_rng(3)
    n = 300
    y, w, c = random.random(n) < 0.3, random.random(n), random.integers(0, 3, n)
    x = random.normal(2 * y - 1, 1.5)
    log = pl.DataFrame(
        {"g": random.integers(0, 2, n), "x": x, "p": 1 / (1 + np.exp(-x)), "y": y, "w": w, "c": c}
    ).with_columns(v=pl.Series(random.dirichlet([1, 1, 1], n), dtype=pl.Array(pl.Float64, 3)))
    amount = np.ones(n) if weight is None else w
    share = float(amount[y].sum() / amount.sum())
    shares = [float(amount[c == k].sum() / amount.sum()) for k in range(3)]
    for score, label, score_type, stated in (
        ("p", "y", "posterior", share),
        ("x", "y", "raw", share),
        ("x", "y", "llr", share),
        ("v", "c", "posteriors", shares),
    ):
        options = {"by": "g", "score_type": score_type, "weight": weight}
        overall = log.ec.calibrate(score, label, prior="overall", **options)
        assert_frame_equal(overall.frame, log.ec.calibrate(score, label, prior=stated, **options).frame, rel_tol=1e-9)
        if score_type.startswith("posterior"):
            lost = [
                log.ec.calibration_loss(score, label, training="test", prior=p, **options) for p in ("overall", stated)
            ]
            assert_frame_equal(*lost, rel_tol=1e-9)
    with pytest.raises(ValueError, match=r'prior="overall" cannot be counted: the log has invalid or no usable rows\.'):
        log.with_columns(p=2 * pl.col("p")).ec.calibrate("p", "y", prior="overall")
