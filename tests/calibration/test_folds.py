"""Folds of a key, sketches with folds, and what cross-validation makes of them."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.calibration_logs import simulated
from tests.support.reference import BINARY, expected_of, log_of


def test_folds_are_of_equal_size_and_tell_nothing_of_the_key() -> None:
    n = 200_000
    fold = pl.select(ec.fold(pl.int_range(n)).alias("fold"))["fold"]
    assert fold.dtype == pl.Int16
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
    assert by_user.frame.schema["fold"] == pl.Int16
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


def test_rows_without_a_fold_do_not_count_or_are_an_error() -> None:
    log = simulated().with_columns(fold=pl.when(pl.col("fold") > 0).then("fold"))
    missing = log.with_columns(y=pl.when(pl.col("fold").is_not_null()).then("y"))
    found = missing.ec.sketch("p", "y", by=["g", "fold"]).calibration_loss()
    assert_frame_equal(
        found, log.filter(pl.col("fold").is_not_null()).ec.sketch("p", "y", by=["g", "fold"]).calibration_loss()
    )
    with pytest.raises(SketchError, match="'fold' holds null"):
        log.ec.sketch("p", "y", by=["g", "fold"]).calibration_loss()
    # Where folds are added up, none is needed.
    assert log.ec.sketch("p", "y", by=["g", "fold"]).calibration_loss(training="test")["reason"].null_count() == 4


@pytest.mark.quick("True-log_odds", "False-raw")
@pytest.mark.parametrize("score_type", ["log_odds", "llr", "raw"])
@pytest.mark.parametrize("exact", [True, False])
def test_cells_may_stand_in_any_order(score_type, exact) -> None:
    sketch = simulated(600).ec.sketch("x", "y", by=["g", "fold"], score_type=score_type, exact=exact)
    shuffled = replace(sketch, frame=sketch.frame.sample(fraction=1, shuffle=True, seed=1))
    for calibrator in ("affine", "gaussian", "pav"):
        if score_type != "raw" or exact or calibrator == "pav":
            found, expected = (made.calibrate(calibrator, prior=0.3).frame for made in (shuffled, sketch))
            assert_frame_equal(found, expected, rel_tol=1e-9)
    if score_type == "log_odds":
        assert_frame_equal(shuffled.calibration_loss(), sketch.calibration_loss(), rel_tol=1e-9)


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
        found = log.ec.calibration_loss("p", "y", by="g", training="test", prior=prior)
        assert_frame_equal(found, expected, rel_tol=1e-12)
        fitted = log.ec.calibrate("p", "y", by="g", prior=prior).frame
        assert_frame_equal(fitted, log.ec.calibrate("p", "y", by="g", prior=share).frame)


def test_folds_that_cannot_be() -> None:
    log = simulated(50)
    for folds in (1, 1001, 2.5, True, None):
        with pytest.raises(ValueError, match="folds="):
            log.ec.sketch("p", "y", folds=folds, fold_by="x")
    with pytest.raises(ValueError, match="pass both folds=5"):
        log.ec.sketch("p", "y", folds=5)
    with pytest.raises(ValueError, match="has a column 'fold'"):
        log.ec.sketch("p", "y", by="fold", folds=5, fold_by="g")
    with pytest.raises(TypeError, match="key 'x' is Float64"):
        log.ec.sketch("p", "y", folds=5, fold_by="x")


def test_rows_without_a_key_are_held_out_together() -> None:
    """They are one fold more, of one score a row as of K classes: the other folds are fitted with them, and they without them."""
    log = simulated(600).drop("fold").with_row_index("id")
    log = log.with_columns(key=pl.when(pl.col("id") % 7 > 0).then("id"), q=pl.concat_arr(1 - pl.col("p"), "p"))
    folds = log.select(ec.fold("key", 3))["fold"]
    assert folds.unique().sort().to_list() == [0, 1, 2, 3]
    fitted = {fold: log.filter(folds != fold) if fold is not None else log for fold in (None, 0, 1, 2, 3)}
    assert fitted[3]["key"].null_count() == 0 < fitted[0]["key"].null_count()
    for score, reading in (("p", "posterior"), ("q", "posteriors")):
        options = {"score_type": reading, "folds": 3, "fold_by": "key"}
        made = log.ec.calibrate(score, "y", **options)
        assert sorted(made.frame["fold"].to_list(), key=str) == [0, 1, 2, 3, None]
        for fit in made.frame.to_dicts():
            alone = fitted[fit["fold"]].ec.calibrate(score, "y", score_type=reading).frame
            assert fit["n"] == fitted[fit["fold"]].height
            assert abs(fit["alpha"] - alone["alpha"].item()) < 1e-6
        rows = log.with_columns(folds)
        out = rows.with_columns(made.apply(score, out_of_fold=True).alias("calibrated"))
        assert out["calibrated"].null_count() == 0
        found = log.ec.calibration_loss(score, "y", **options)["calibrated"].item()
        pooled = out.select(ec.cross_entropy("calibrated", "y", score_type=reading)).item()
        assert abs(found - pooled) < 1e-3


def test_folds_of_another_hash_are_refused(tmp_path, monkeypatch) -> None:
    """Rows would find the calibrator of a fold that they are not in."""
    log = simulated(200).drop("fold").with_row_index("id")
    log.ec.calibrate("p", "y").write_parquet(tmp_path / "whole.parquet")
    log.ec.calibrate("p", "y", folds=2, fold_by="id").write_parquet(tmp_path / "folds.parquet")
    assert ec.Calibration.read_parquet(tmp_path / "folds.parquet").frame["fold"].n_unique() == 3
    monkeypatch.setattr("polars_ec.calibration.calibration.HASH_VERSION", 3)
    with pytest.raises(
        ec.SketchError, match=r"folds.parquet has folds by version 2 of the hash, but this version of polars_ec uses 3"
    ):
        ec.Calibration.read_parquet(tmp_path / "folds.parquet")
    assert ec.Calibration.read_parquet(tmp_path / "whole.parquet").frame["fold"].to_list() == [None]
