"""Calibration of K classes, fitted by passes over the log."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from scipy.optimize import minimize

import polars_ec as ec
from polars_ec.calibration import multiclass as _class_fits
from polars_ec.exceptions import SketchError
from tests.support.cases import mostly_slow
from tests.support.profile import EXAMPLES, PROFILE
from tests.support.reference import BINARY, MULTICLASS, expected_of, scores_of

FILES = (*BINARY, *MULTICLASS)


def reference_log(name: str) -> tuple[pl.DataFrame, dict]:
    log = pl.read_parquet(scores_of(name))
    columns = sorted((c for c in log.columns if c.startswith("lp")), key=lambda c: int(c[2:]))
    return log.select(q=pl.concat_arr(columns), y="label").with_row_index("id"), expected_of(name)["calibration"]


@pytest.mark.quick("affine-DP-pneumoniamnist_resnet50", "affine-DP-agnews_gpt2", "temperature-temperature-agnews_gpt2")
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(("calibrator", "block"), [("affine", "DP"), ("temperature", "temperature")])
def test_golden_on_test(name: str, calibrator: str, block: str) -> None:
    log, golden = reference_log(name)
    expected = golden[f"{block}_train_on_test"]
    (fit,) = log.lazy().ec.calibrate("q", "y", calibrator, score_type="log_posteriors").frame.to_dicts()
    assert fit["alpha"] == pytest.approx(expected["alpha"], abs=1e-7)
    beta = expected.get("beta_mean_zero", [0.0] * len(fit["beta"]))
    assert fit["beta"] == pytest.approx(beta, abs=1e-7)
    assert fit["gradient_norm"] < 1e-9
    assert fit["n"] == log.height
    (loss,) = log.ec.calibration_loss(
        "q", "y", calibrator=calibrator, training="test", score_type="log_posteriors"
    ).to_dicts()
    assert loss["calibrated"] == pytest.approx(expected["CE"], abs=1e-9)
    assert loss["rcl"] == pytest.approx(expected["RCL"], abs=1e-7)


@pytest.mark.quick("pneumoniamnist_resnet50", "agnews_gpt2")
@pytest.mark.parametrize("name", FILES)
def test_golden_by_cross_validation(name: str) -> None:
    log, golden = reference_log(name)
    expected = golden["DP_5fold_cv"]["converged"]
    (found,) = log.ec.calibration_loss(
        "q", "y", folds=5, fold_by="id", stratified=True, score_type="log_posteriors"
    ).to_dicts()
    assert abs(found["rcl"] - expected["RCL_mean"]) <= 4 * expected["RCL_std"]


def log_softmax(z: np.ndarray) -> np.ndarray:
    return z - np.logaddexp.reduce(z, axis=1, keepdims=True)


def objective(log: pl.DataFrame, alpha: float, beta: np.ndarray, prior: list[float] | None) -> float:
    """Mean log loss, class by class, at the prior; plain NumPy."""
    losses = -log_softmax(alpha * np.log(log["q"].to_numpy()) + beta)
    y, w = log["y"].to_numpy(), log["w"].to_numpy()
    counts = np.bincount(y, w, len(beta))
    shares = counts / counts.sum() if prior is None else prior
    return math.fsum(
        shares[k] * (w[y == k] * losses[y == k, k]).sum() / counts[k] for k in range(len(beta)) if counts[k]
    )


def simulated(n: int, n_classes: int, seed: int) -> pl.DataFrame:
    """Posteriors that are too sure, of groups a, b and null."""
    generator = np.random.default_rng(seed)
    y = generator.integers(0, n_classes, n)
    logits = generator.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[y]
    return pl.DataFrame(
        {
            "g": generator.choice(["a", "b", ""], n),
            "q": np.exp(log_softmax(2 * logits + generator.normal(size=n_classes))),
            "y": y,
            "w": generator.integers(1, 4, n) / 2,
            "id": np.arange(n),
        },
        schema_overrides={"q": pl.Array(pl.Float64, n_classes)},
    ).with_columns(g=pl.col("g").replace({"": None}))


@settings(PROFILE)
@given(st.integers(2, 6), st.integers(0, 2**32), st.booleans(), st.booleans())
@pytest.mark.slow
def test_no_parameters_are_better(n_classes: int, seed: int, with_prior: bool, with_shift: bool) -> None:
    log = simulated(60 * n_classes, n_classes, seed)
    generator = np.random.default_rng(seed)
    prior = generator.dirichlet(np.full(n_classes, 5.0)).tolist() if with_prior else None
    calibrator = "affine" if with_shift else "temperature"
    made = log.ec.calibrate(
        "q", "y", calibrator, by="g", folds=3, fold_by="id", weight="w", prior=prior, score_type="posteriors"
    )
    folds = log.select(ec.fold("id", 3))["fold"]
    fitted = made.frame.filter(pl.col("reason").is_null())
    assert fitted.height > 0
    for fit in fitted.to_dicts():
        rows = log.filter(pl.col("g").eq_missing(fit["g"]), folds.ne_missing(fit["fold"]))
        assert fit["n"] == rows.height
        best = objective(rows, fit["alpha"], np.array(fit["beta"]), prior)
        for size in (1e-3, 1e-1):
            alpha = fit["alpha"] + size * generator.normal()
            beta = np.array(fit["beta"]) + (size * generator.normal(size=n_classes) if with_shift else 0)
            assert objective(rows, alpha, beta, prior) >= best - 1e-13


@pytest.mark.quick("34-3")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("bits", [18, 28, 30, 34, 44])
def test_classes_that_overlap_within_a_sliver_have_the_least_loss_or_none(bits: int, n_classes: int) -> None:
    known = []
    for seed in (0, 1, 4, 5):
        generator = np.random.default_rng(seed)
        y = np.arange(12) % 2
        slivers = np.round(8 * (generator.normal(size=12) + 2 * y - 1))
        slivers[:2] = 3, -2
        x = np.r_[slivers * 2.0**-bits, generator.uniform(-1, -0.1, 20), generator.uniform(0.1, 1, 20)]
        labels = np.r_[y, np.repeat([0, 1], 20), np.full(20 * (n_classes - 2), 2)]
        logs = np.full((len(labels), n_classes), -40.0)
        logs[: len(x), 0], logs[: len(x), 1] = -x / 2, x / 2
        logs[len(x) :, 2:] = 0
        logs = log_softmax(logs)
        # All other rows lose nothing at the least loss.
        at = (logs[:12, 1] - logs[:12, 0]) * 2.0**bits
        least = minimize(
            lambda p, at=at, y=y: np.logaddexp(0, (1 - 2 * y) * (p[0] * at + p[1])).sum(), [0, 0], tol=1e-12
        ).fun
        q = pl.Series(logs, dtype=pl.Array(pl.Float64, n_classes))
        fitted = pl.DataFrame({"q": q, "y": labels}).ec.calibrate("q", "y", score_type="log_posteriors").frame
        fit = fitted.row(0, named=True)
        assert fit["reason"] in (None, "not converged")
        known.append(fit["reason"] is None)
        if fit["reason"] is None:
            found = -log_softmax(fit["alpha"] * logs + np.array(fit["beta"]))[np.arange(len(labels)), labels].sum()
            assert found == pytest.approx(least, rel=1e-6)
    assert sum(known) >= (3 if bits <= 30 else 0)


@pytest.mark.slow
@settings(PROFILE, max_examples=int(EXAMPLES or 3))
@given(st.integers(0, 2**32), st.sampled_from([None, 0.3]))
def test_two_classes_are_fitted_as_from_their_sketch(seed: int, prior: float | None) -> None:
    log = simulated(200, 2, seed)
    score = pl.col("q").arr.get(1)
    exact = log.ec.sketch(score, "y", by="g", weight="w", exact=True, folds=3, fold_by="id")
    options = {"by": "g", "weight": "w", "folds": 3, "fold_by": "id", "prior": prior}
    for calibrator in ("affine", "temperature"):
        expected = exact.calibrate(calibrator, prior=prior).frame
        found = log.ec.calibrate("q", "y", calibrator, **options).frame.with_columns(
            beta=pl.col("beta").arr.get(1) - pl.col("beta").arr.get(0)
        )
        columns = ["g", "fold", "alpha", "beta", "n", "reason"]
        assert_frame_equal(found.select(columns), expected.select(columns), check_row_order=False, rel_tol=1e-7)
    found = log.ec.calibration_loss("q", "y", **options).drop("class_prior")
    expected = exact.calibration_loss(prior=prior).drop("class_prior")
    assert_frame_equal(found, expected, check_row_order=False, rel_tol=1e-7, abs_tol=1e-9)


@pytest.mark.parametrize("few", [True, False])
def test_one_score_a_row_is_calibrated_from_its_sketch(few: bool, monkeypatch) -> None:
    """Few rows are calibrated from an exact sketch."""
    log = simulated(300, 2, 1).with_columns(p=pl.col("q").arr.get(1))
    monkeypatch.setattr("polars_ec.calibration.rows._FEW_ROWS", log.height if few else log.height - 1)
    sketch = log.ec.sketch("p", "y", by="g", exact=few)
    assert_frame_equal(log.lazy().ec.calibrate("p", "y", "pav", by="g").frame, sketch.calibrate("pav").frame)
    found = log.ec.calibration_loss("p", "y", "brier", by="g", training="test")
    assert_frame_equal(found, sketch.calibration_loss("brier", training="test"))


@pytest.mark.parametrize("rule", ["cross_entropy", "brier", "bayes_risk"])
def test_held_out(rule: str) -> None:
    log, other = simulated(500, 3, 2), simulated(500, 3, 3).filter(pl.col("g") == "a")
    calibration = other.ec.calibrate("q", "y", by="g")
    options = {"costs": [[0, 1, 2], [3, 0, 1], [1, 5, 0]]} if rule == "bayes_risk" else {}
    found = log.ec.calibration_loss("q", "y", rule, by="g", training=calibration, **options)
    assert found["reason"].to_list() == ["not calibrated", None, "not calibrated"]
    assert found["calibrated"].null_count() == 2
    fit = calibration.frame.row(0, named=True)
    rows = log.filter(pl.col("g") == "a")
    moved = np.exp(log_softmax(fit["alpha"] * np.log(rows["q"].to_numpy()) + np.array(fit["beta"])))
    calibrated = rows.with_columns(q=pl.Series(moved, dtype=pl.Array(pl.Float64, 3)))
    metric = getattr(ec, rule)
    before, after = (
        rows.select(metric("q", "y", **options)).item(),
        calibrated.select(metric("q", "y", **options)).item(),
    )
    row = found.row(1, named=True)
    assert row["raw"] == pytest.approx(before, rel=1e-12)
    assert row["calibrated"] == pytest.approx(after, rel=1e-12)
    assert row["rcl"] == pytest.approx(100 * (before - after) / before, rel=1e-9)
    shares = np.bincount(rows["y"], minlength=3) / rows.height
    naive = {
        "cross_entropy": -(shares * np.log(shares)).sum(),
        "brier": (shares * (1 - shares)).sum() / 3,
        "bayes_risk": (shares @ np.array(options.get("costs", np.eye(3)))).min(),
    }[rule]
    assert row["uncertainty"] == pytest.approx(naive, rel=1e-12)
    assert row["discrimination"] == pytest.approx(naive - after, rel=1e-9)
    assert row["n"] == rows.height


def test_apply() -> None:
    log = simulated(600, 3, 8)
    made = log.ec.calibrate("q", "y", by="g", folds=4, fold_by="id")
    with_folds = log.with_columns(ec.fold("id", 4))
    whole = log.select("g", "q", "y", made.apply("q"), listed=made.apply(pl.col("q").cast(pl.List(pl.Float64))))
    assert_frame_equal(whole.select("q_calibrated"), whole.select(q_calibrated="listed"))
    out_of_fold = with_folds.lazy().with_columns(made.apply("q", out_of_fold=True)).collect(engine="streaming")
    for fold, rows in ((None, whole), *((k, out_of_fold.filter(fold=k)) for k in range(4))):
        for fit in made.frame.filter(pl.col("fold").eq_missing(fold)).to_dicts():
            part = rows.filter(pl.col("g").eq_missing(fit["g"]))
            expected = np.exp(log_softmax(fit["alpha"] * np.log(part["q"].to_numpy()) + np.array(fit["beta"])))
            np.testing.assert_allclose(part["q_calibrated"].to_numpy(), expected, rtol=1e-12)
    losses = log.ec.calibration_loss("q", "y", by="g", folds=4, fold_by="id")
    pooled = out_of_fold.group_by("g").agg(ec.cross_entropy("q_calibrated", "y").alias("calibrated"))
    assert_frame_equal(losses.select("g", "calibrated"), pooled, check_row_order=False, rel_tol=1e-12)
    strange = pl.DataFrame(
        {"g": ["z", "a"], "q": [[0.2, 0.3, 0.5], None]}, schema_overrides={"q": pl.Array(pl.Float64, 3)}
    )
    assert strange.select(made.apply("q"))["q_calibrated"].to_list() == [None, None]


def test_apply_refuses_other_scores() -> None:
    made = simulated(300, 3, 9).ec.calibrate("q", "y")
    for log, message in (
        (simulated(9, 4, 1), "for 3 classes, but 'q' has 4"),
        (pl.DataFrame({"q": [0.5]}), "is for one vector per row, but 'q' is Float64"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            log.select(made.apply("q"))
    with pytest.raises(SketchError, match="has no folds"):
        made.apply("q", out_of_fold=True)
    with pytest.raises(SketchError, match=r"to_sql\(\) is for one score per row"):
        made.to_sql("q")
    with pytest.raises(ValueError, match=r"pass ec.posterior\(score, prior"):
        simulated(30, 3, 1).ec.calibrate("q", "y", score_type="log_likelihoods", prior="uniform")


def of(posteriors: list[list[float] | None], labels: list[int | None]) -> pl.DataFrame:
    return pl.DataFrame({"q": posteriors, "y": labels}, schema={"q": pl.Array(pl.Float64, 3), "y": pl.Int64})


SURE, UNSURE = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], [[0.3, 0.4, 0.3], [0.3, 0.3, 0.4], [0.4, 0.3, 0.3]]


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (of(SURE + UNSURE, [0, 1, 2, 0, 1, 2]), None),
        (of([*SURE, *UNSURE, None], [0, 1, 2, 0, 1, 2, 0]), None),
        (of(SURE, [0, 1, 2]), "separable"),
        (of(SURE + UNSURE, [0, 1, 1, 0, 1, 0]), "a class without rows"),
        (of(SURE + UNSURE, [1, 2, 0, 1, 2, 0]), "reversed"),
        (of([*SURE, *UNSURE, [0.0, 0.5, 0.5]], [0, 1, 2, 0, 1, 2, 0]), "infinite log-odds"),
        (of([*SURE, [0.9, 0.9, 0.9]], [0, 1, 2, 0]), "wrong rows"),
        (of(SURE, [0, 1, 7]), "wrong rows"),
        (of([None], [0]), "no rows"),
    ],
)
def test_reasons(log: pl.DataFrame, reason: str | None) -> None:
    (fit,) = log.ec.calibrate("q", "y", classes=[0, 1, 2]).frame.to_dicts()
    assert fit["reason"] == reason
    assert (fit["alpha"] is None) == (fit["beta"] is None) == (reason not in (None, "reversed"))
    (loss,) = log.ec.calibration_loss("q", "y", training="test", classes=[0, 1, 2]).to_dicts()
    assert loss["reason"] == reason
    assert (loss["cal_loss"] is None) == (reason not in (None, "reversed"))
    if reason == "reversed":
        shares = np.bincount(log["y"]) / log.height
        assert fit["alpha"] == 0
        assert loss["calibrated"] == pytest.approx(-(shares * np.log(shares)).sum())


def test_another_class_of_posterior_0_is_no_obstacle() -> None:
    log = of([*SURE, *UNSURE, [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]], [0, 1, 2, 0, 1, 2, 0, 1])
    (fit,) = log.ec.calibrate("q", "y").frame.to_dicts()
    assert fit["reason"] is None
    (loss,) = log.ec.calibration_loss("q", "y", training="test").to_dicts()
    assert math.isfinite(loss["calibrated"])
    assert loss["calibrated"] <= loss["raw"]


def test_priors_that_are_columns_hold_for_their_group() -> None:
    log = simulated(400, 3, 4).with_columns(
        pi=pl.when(pl.col("g") == "a").then(pl.lit([0.2, 0.3, 0.5])).cast(pl.Array(pl.Float64, 3))
    )
    found = log.ec.calibrate("q", "y", by="g", prior=pl.col("pi")).frame
    assert found["reason"].to_list() == [None, "no prior", "no prior"]
    stated = log.filter(pl.col("g") == "a").ec.calibrate("q", "y", prior=[0.2, 0.3, 0.5]).frame
    assert found["alpha"][0] == pytest.approx(stated["alpha"][0], rel=1e-9)


def test_batches_and_memory_do_not_matter(monkeypatch) -> None:
    log = simulated(1000, 4, 5)
    whole = log.ec.calibrate("q", "y", by="g").frame
    monkeypatch.setattr(_class_fits, "_BATCH", 37)
    monkeypatch.setattr(_class_fits, "_KEPT", 0)
    assert_frame_equal(log.lazy().ec.calibrate("q", "y", by="g").frame, whole, rel_tol=1e-9, abs_tol=1e-12)


def test_saved_and_read(tmp_path) -> None:
    made = simulated(300, 3, 6).ec.calibrate("q", "y", by="g")
    made.write_parquet(tmp_path / "calibration.parquet")
    read = ec.Calibration.read_parquet(tmp_path / "calibration.parquet")
    assert_frame_equal(read.frame, made.frame)
    assert (read.calibrator, read.score_type, read.keys) == ("affine", "posteriors", ["g"])


def test_errors() -> None:
    log = simulated(30, 3, 7)
    with pytest.raises(ValueError, match="calibrator='pav' is for one score per row"):
        log.ec.calibrate("q", "y", "pav")
    with pytest.raises(ValueError, match="training='cv' needs folds="):
        log.ec.calibration_loss("q", "y")
    with pytest.raises(ValueError, match="training='train' is not"):
        log.ec.calibration_loss("q", "y", training="train")
    with pytest.raises(ValueError, match="rule='accuracy' is none of"):
        log.ec.calibration_loss("q", "y", "accuracy", training="test")
    with pytest.raises(SketchError, match="groups by 'g', which is not a column in by="):
        log.ec.calibration_loss("q", "y", training=log.ec.calibrate("q", "y", by="g"))
    with pytest.raises(ValueError, match="pass both folds=5 and fold_by="):
        log.ec.calibrate("q", "y", folds=3)


@pytest.mark.parametrize("name", ["alpha", "beta", "above", "log_odds", "n", "n_iterations", "reason", "fold"])
def test_group_columns_with_names_of_parameters(name: str) -> None:
    log = simulated(90, 3, 12).with_columns(p=pl.col("q").arr.get(1), b=pl.col("y") == 1)
    by = {"by": pl.col("g").alias(name)}
    with pytest.raises(ValueError, match=f"column '{name}'.* rename it"):
        log.ec.calibrate("q", "y", **by)
    held_out = log.ec.calibrate("q", "y")
    for training in ("test", held_out):
        with pytest.raises(ValueError, match=f"column '{name}'.* rename it"):
            log.ec.calibration_loss("q", "y", training=training, **by)
    if name not in ("n_iterations", "fold"):
        with pytest.raises(ValueError, match=f"column '{name}'.* rename it"):
            log.ec.calibrate("p", "b", "pav", **by)


@pytest.mark.parametrize(
    "name",
    [
        "raw",
        "calibrated",
        "cal_loss",
        "rcl",
        "discrimination",
        "uncertainty",
        "class_prior",
        "n_invalid",
        "lost",
        "score_value",
    ],
)
def test_group_columns_with_names_of_losses(name: str) -> None:
    log = simulated(90, 3, 12).with_columns(p=pl.col("q").arr.get(1), b=pl.col("y") == 1)
    by = {"by": pl.col("g").alias(name)}
    for score, label in (("q", "y"), ("p", "b")):
        with pytest.raises(ValueError, match=f"column '{name}'.* rename it"):
            log.ec.calibration_loss(score, label, training="test", **by)
    assert log.ec.calibrate("q", "y", **by).frame[name].to_list() == ["a", "b", None]


@pytest.mark.quick("weight", "y")
@pytest.mark.parametrize(
    "name",
    mostly_slow(
        ["weight", "impossible", "share", "literal", "class", "q", "y", "id"], ["weight", "impossible", "literal", "y"]
    ),
)
def test_other_names_of_group_columns_are_free(name: str) -> None:
    log = simulated(200, 3, 12)
    options = {"folds": 2, "fold_by": "id"}
    expected = log.ec.calibrate("q", "y", by="g", **options).frame.rename({"g": name})
    assert_frame_equal(log.ec.calibrate("q", "y", by=pl.col("g").alias(name), **options).frame, expected)
    losses = log.ec.calibration_loss("q", "y", by="g", **options).rename({"g": name})
    assert_frame_equal(log.ec.calibration_loss("q", "y", by=pl.col("g").alias(name), **options), losses)


@pytest.mark.quick("clear")
@pytest.mark.parametrize("make", [pl.DataFrame.clear, lambda log: log.with_columns(w=0.0)])
def test_without_rows(make) -> None:
    log = make(simulated(60, 3, 13).with_columns(p=pl.col("q").arr.get(1), b=pl.col("y") == 1))
    for frame in (log, log.lazy()):
        for score, label in (("q", "y"), ("p", "b")):
            for options in ({}, {"folds": 3, "fold_by": "id"}):
                made = frame.ec.calibrate(score, label, weight="w", **options)
                assert made.frame["reason"].unique().to_list() == ["no rows"]
                by = frame.ec.calibrate(score, label, by="g", weight="w", **options)
                assert by.frame.height == log["g"].n_unique() * (1 + options.get("folds", 0) * (log.height > 0 or 0))
                assert frame.select(by.apply(score)).lazy().collect().to_series().null_count() == log.height
                options = {**options, "training": "cv" if options else "test", "weight": "w"}
                losses = frame.ec.calibration_loss(score, label, **options)
                assert losses.select("n", "raw", "cal_loss", "reason").rows() == [(log.height, None, None, "no rows")]
                assert frame.ec.calibration_loss(score, label, by="g", **options).height == log["g"].n_unique()


PRIORS = {0.3: pl.col("g").is_nan(), 0.6: pl.col("g") == 2.0}


@pytest.mark.quick("log_odds")
@pytest.mark.parametrize("score_type", ["posterior", "log_odds", "llr"])
def test_priors_of_one_score_a_row_are_of_its_log(score_type: str) -> None:
    p = pl.col("q").arr.get(1)
    log = simulated(400, 2, 14).with_columns(
        s=p if score_type == "posterior" else p.log() - (1 - p).log(),
        label=pl.col("y").replace_strict([0, 1], ["no", "yes"]),
        g=pl.when(pl.col("g") == "a").then(math.nan).when(pl.col("g") == "b").then(2.0),
        pi=pl.when(pl.col("g") == "a").then(0.3).when(pl.col("g") == "b").then(0.6).otherwise(pl.col("y") / 2),
    )
    read = {"score_type": score_type, "folds": 2, "fold_by": "id", "classes": ["no", "yes"]}
    expected = {
        prior: log.ec.calibrate("s", "label", by="g", prior=prior, **read).frame.filter(g)
        for prior, g in PRIORS.items()
    }
    for by in ("g", pl.col("g").alias("h"), ["g", ec.fold("id", 2)]):
        more = {k: v for k, v in read.items() if not (isinstance(by, list) and k in ("folds", "fold_by"))}
        found = (
            log.lazy()
            .ec.calibrate("s", "label", by=by, prior=pl.col("pi"), **more)
            .frame.rename({"h": "g"}, strict=False)
        )
        for prior, group in PRIORS.items():
            assert_frame_equal(found.filter(group), expected[prior])
        # It is not constant in the last group.
        assert found.filter(pl.col("g").is_null())["reason"].unique().to_list() == ["no prior"]
    by_name = log.ec.calibrate("s", "label", by="g", prior={"yes": 0.3, "no": 0.7}, **read).frame
    assert_frame_equal(by_name.filter(PRIORS[0.3]), expected[0.3])
    assert log.ec.calibrate("s", "label", prior=pl.col("pi"), **read).frame["reason"][0] == "no prior"
    if score_type != "llr":
        losses = log.ec.calibration_loss("s", "label", by="g", prior=pl.col("pi"), **read)
        for prior, group in PRIORS.items():
            stated = log.ec.calibration_loss("s", "label", by="g", prior=prior, **read)
            assert_frame_equal(losses.filter(group), stated.filter(group))


def test_held_out_calibrations_of_other_scores() -> None:
    log = simulated(200, 3, 15).with_columns(p=pl.col("q").arr.get(1), b=pl.col("y") == 1)
    four = simulated(200, 4, 15).ec.calibrate("q", "y")
    with pytest.raises(SketchError, match="for vectors of 4, but the scores are vectors of 3"):
        log.ec.calibration_loss("q", "y", training=four)
    for calibrator in ("affine", "pav"):
        one = log.ec.calibrate("p", "b", calibrator)
        with pytest.raises(SketchError, match="for one score per row, but the scores are vectors of 3"):
            log.ec.calibration_loss("q", "y", training=one)
    with pytest.raises(SketchError, match="training= is for posteriors, but the sketch has posterior"):
        log.ec.calibration_loss("p", "b", training=four)


@pytest.mark.quick("wrong0", "wrong3")
@pytest.mark.parametrize("wrong", [[0.5, 0.5], [], [0.9, 0.9, 0.9], [math.nan, 0.5, 0.5], [0.0, 0.0, 0.0]])
def test_losses_of_wrong_rows_are_null(wrong: list[float]) -> None:
    log = simulated(200, 3, 16).with_columns(q=pl.col("q").cast(pl.List(pl.Float64)))
    read = {"classes": [0, 1, 2]}
    held_out = log.ec.calibrate("q", "y", **read)
    spoilt = log.with_columns(q=pl.when(pl.col("id") == 5).then(wrong).otherwise("q"))
    for training in ("test", held_out):
        found = spoilt.ec.calibration_loss("q", "y", training=training, **read)
        assert found.rows() == [(199, *[None] * 7, "wrong rows")]
        of_missing = spoilt.with_columns(q=pl.when(pl.col("id") != 5).then("q"))
        found = of_missing.ec.calibration_loss("q", "y", training=training, **read)
        assert found["n"].item() == 199
        assert found["raw"].item() == pytest.approx(
            log.filter(pl.col("id") != 5).select(ec.cross_entropy("q", "y", **read)).item()
        )
