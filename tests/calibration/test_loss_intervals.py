"""Intervals of losses before and after calibration: against calibrators that are fitted anew, on the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import special, stats

import polars_ec as ec
from polars_ec.exceptions import SketchError

RANDOM = np.random.default_rng(5)
NAMES = ("raw", "calibrated", "cal_loss", "rcl", "discrimination", "uncertainty")
PARTS = 20


def made(n: int, groups: int = 2) -> pl.DataFrame:
    """Scores in the middle of coarse bins, so that these hide nothing."""
    log_odds = np.floor(RANDOM.normal(size=n) * 2 * 8) / 8 + 1 / 16
    return pl.DataFrame(
        {
            "g": np.arange(n) % groups,
            "p": special.expit(log_odds),
            "y": RANDOM.random(n) < special.expit(0.6 * log_odds - 0.5),
            "user": RANDOM.integers(0, 90, n),
            "key": np.arange(n),
            "w": RANDOM.choice([1.0, 3.0], n),
        }
    )


LOG = made(1600)
WAYS: dict[str, dict[str, Any]] = {
    "cv": {"folds": 5, "fold_by": "key"},
    "test": {"training": "test"},
    "brier": {"training": "test", "rule": "brier", "prior": 0.3},
    "risk": {"folds": 3, "fold_by": "user", "rule": "bayes_risk", "cost_fn": 3.0, "calibrator": "temperature"},
    "weights": {"folds": 5, "fold_by": "user", "weight": "w", "calibrator": "pav", "rule": "brier"},
}


def without_each_part(log: pl.DataFrame, score: str, **options: Any) -> pl.DataFrame:
    """The losses of the rows outside each part of the users, fitted as if there were no others."""
    part = ec.bucket("user", 100) % PARTS
    rest = pl.concat(log.filter(part != b).with_columns(part=pl.lit(b)) for b in range(PARTS))
    return rest.ec.calibration_loss(score, "y", by=["g", "part"], **options).sort("g", "part")


def limits_of(values: np.ndarray, value: float, scale: str, level: float = 0.95) -> tuple[float, float]:
    """The jackknife on a scale, from the values without each part."""
    number = len(values)
    variance = (number - 1) / number * ((values - values.mean()) ** 2).sum()
    half = stats.t.ppf(0.5 + level / 2, number - 1) * np.sqrt(variance)
    if scale == "log":
        return value * np.exp(-half / value), value * np.exp(half / value)
    return value - half, value + half


@pytest.mark.quick("weights")
@pytest.mark.parametrize("way", WAYS)
def test_they_are_the_jackknife_over_buckets_with_calibrators_fitted_anew(way: str) -> None:
    found = LOG.ec.calibration_loss("p", "y", by="g", **WAYS[way], interval=0.95, cluster="user")
    replicates = without_each_part(LOG, "p", **WAYS[way])
    without = LOG.ec.calibration_loss("p", "y", by="g", **WAYS[way])
    assert_frame_equal(found.select(pl.exclude("^.*_ci_.*$")), without)
    for group, row in enumerate(found.to_dicts()):
        for name in NAMES:
            values = replicates.filter(g=group)[name].to_numpy()
            expected = limits_of(
                values, row[name], "log" if name in ("raw", "calibrated", "uncertainty") else "identity"
            )
            assert (row[f"{name}_ci_low"], row[f"{name}_ci_high"]) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.slow
def test_of_a_sketch_they_are_the_same() -> None:
    options: dict[str, Any] = {"folds": 5, "fold_by": "key", "by": "g", "cluster": "user"}
    expected = LOG.ec.calibration_loss("p", "y", **options, interval=0.9)
    sketch = LOG.ec.sketch("p", "y", **options)
    found = sketch.calibration_loss(interval=0.9)
    assert found.columns == expected.columns
    assert_frame_equal(found, expected, rel_tol=1e-2)
    halves = [half.ec.sketch("p", "y", **options) for half in (LOG[::2], LOG[1::2].reverse())]
    assert_frame_equal(ec.merge(halves).calibration_loss(interval=0.9), found, rel_tol=1e-6)
    alone = sketch.filter(pl.col("g") == 1).calibration_loss(interval=0.9)
    assert_frame_equal(alone, found.filter(g=1), rel_tol=1e-6)
    exact = LOG.ec.sketch("p", "y", **options, exact=True).calibration_loss(interval=0.9)
    assert_frame_equal(exact, expected, rel_tol=1e-6)


@pytest.mark.slow
def test_independent_rows_against_a_bootstrap_with_calibrators_fitted_anew() -> None:
    log = made(500, groups=1)
    options: dict[str, Any] = {"folds": 5, "fold_by": "key"}
    rows = RANDOM.integers(0, log.height, (200, log.height))
    drawn = log[rows.ravel()].with_columns(draw=pl.Series(np.repeat(np.arange(200), log.height)))
    replicates = drawn.ec.calibration_loss("p", "y", by="draw", **options)
    widths = {name: [] for name in NAMES}
    for seed in range(8):
        found = log.ec.calibration_loss("p", "y", **options, interval=0.95, seed=seed).row(0, named=True)
        for name in NAMES:
            widths[name].append(found[f"{name}_ci_high"] - found[f"{name}_ci_low"])
    for name in NAMES:
        error = np.mean(widths[name]) / 2 / stats.t.ppf(0.975, PARTS - 1)
        # The bootstrap's own error is a twentieth, that of eight splits as much.
        assert error == pytest.approx(replicates[name].std(), rel=0.15), name
        assert len(set(widths[name])) == 8


@pytest.mark.slow
def test_how_often_they_hold_what_a_log_without_end_would_give() -> None:
    groups, n = 300, 400
    log = made(groups * n, groups=groups)
    found = log.ec.calibration_loss("p", "y", by="g", training="test", interval=0.95, prior=None)
    whole = made(400_000, groups=1).ec.calibration_loss("p", "y", training="test").row(0, named=True)
    for name in NAMES:
        inside = (found[f"{name}_ci_low"] <= whole[name]) & (whole[name] <= found[f"{name}_ci_high"])
        assert 0.915 <= inside.mean() <= 0.985, name


@pytest.mark.slow
def test_the_split_of_independent_rows_hangs_on_the_cells_alone() -> None:
    options: dict[str, Any] = {"training": "test", "by": "g"}
    found = LOG.ec.calibration_loss("p", "y", **options, interval=0.9)
    assert_frame_equal(LOG.reverse().ec.calibration_loss("p", "y", **options, interval=0.9), found, rel_tol=1e-6)
    one = LOG.filter(g=1).ec.calibration_loss("p", "y", **options, interval=0.9)
    assert_frame_equal(one, found.filter(g=1), rel_tol=1e-6)
    # As many rows of equal weight.
    heavy = LOG.ec.calibration_loss("p", "y", **options, interval=0.9, weight=pl.lit(7.0))
    assert_frame_equal(heavy, found, rel_tol=1e-6)
    without_users = LOG.with_columns(user=pl.lit(None, dtype=pl.Int64))
    assert_frame_equal(
        without_users.ec.calibration_loss("p", "y", **options, interval=0.9, cluster="user"), found, rel_tol=1e-6
    )


def test_a_calibration_of_another_log_stays_as_it_is() -> None:
    calibration = made(3000).ec.calibrate("p", "y")
    found = LOG.ec.calibration_loss("p", "y", by="g", training=calibration, interval=0.95, cluster="user")
    replicates = without_each_part(LOG, "p", training=calibration).filter(g=0)["rcl"].to_numpy()
    expected = limits_of(replicates, found["rcl"][0], "identity")
    assert found.select("rcl_ci_low", "rcl_ci_high").row(0) == pytest.approx(expected, rel=1e-6)


def test_cllr_of_llrs() -> None:
    log = LOG.with_columns(llr=pl.col("p").log() - (1 - pl.col("p")).log())
    options: dict[str, Any] = {"training": "test", "score_type": "llr", "rule": "cllr"}
    found = log.ec.calibration_loss("llr", "y", by="g", **options, interval=0.95, cluster="user")
    replicates = without_each_part(log, "llr", **options).filter(g=1)["cal_loss"].to_numpy()
    expected = limits_of(replicates, found["cal_loss"][1], "identity")
    assert found.select("cal_loss_ci_low", "cal_loss_ci_high").row(1) == pytest.approx(expected, rel=1e-6)


def test_where_there_are_none() -> None:
    log = pl.concat(
        [
            LOG[:300].with_columns(g=pl.lit("few clusters"), user=pl.col("user") % 4),
            LOG[:300].with_columns(g=pl.lit("wrong"), p=pl.Series([2.0] + [0.5] * 299)),
            LOG[:40].with_columns(g=pl.lit("one class"), y=pl.lit(value=True)),
            LOG[:300].with_columns(g=pl.lit("positives of one user"), user=pl.when("y").then(1).otherwise("user")),
            LOG[:300].with_columns(g=pl.lit("usual")),
        ]
    )
    found = log.ec.calibration_loss("p", "y", by="g", training="test", interval=0.95, cluster="user")
    rows = {row["g"]: row for row in found.to_dicts()}
    for group, row in rows.items():
        for name in ("calibrated", "cal_loss", "rcl"):
            assert (row[f"{name}_ci_low"] is not None) == (group == "usual"), (group, name)
    empty = log.clear().ec.calibration_loss("p", "y", by="g", training="test", interval=0.95)
    assert empty.height == 0
    assert empty.columns == found.columns


@pytest.mark.quick("kind1")
@pytest.mark.parametrize("kind", [{}, {"cluster": "user"}, {"exact": True}])
def test_groups_with_losses_beyond_the_last_bin_have_no_limits(kind: dict[str, Any]) -> None:
    far = pl.when((pl.col("g") == 1) & (pl.col("key") < 9) & pl.col("y")).then(1e-200).otherwise("p")
    sketch = LOG.with_columns(p=far).ec.sketch("p", "y", by="g", **kind)
    for method in ({}, {"method": "bootstrap", "replicates": 5}):
        for rule, known in (("cross_entropy", [True, False]), ("brier", [True, True])):
            found = sketch.calibration_loss(rule, training="test", interval=0.95, **method)
            for name in NAMES:
                assert found.sort("g")[f"{name}_ci_low"].is_not_null().to_list() == known, (name, rule, method)
    assert sketch.group_by().calibration_loss(training="test", interval=0.95)["raw_ci_low"].item() is None


def test_calls_that_are_wrong() -> None:
    for keywords, message in (
        ({"interval": 1.0}, "pass 0.95"),
        ({"cluster": "user"}, "interval=0.95"),
        ({"interval": 0.9, "method": "jackknife"}, "influence"),
    ):
        with pytest.raises(ValueError, match=message):
            LOG.ec.calibration_loss("p", "y", training="test", **keywords)
    vectors = LOG.with_columns(q=pl.concat_arr(1 - pl.col("p"), "p"))
    with pytest.raises(ValueError, match="one score per row"):
        vectors.ec.calibration_loss("q", "y", training="test", interval=0.9)
    sketch = LOG.ec.sketch("p", "y", weight="w")
    old = ec.Sketch(sketch.frame.drop("weight2"), sketch.grid, True, sketch.sums)
    with pytest.raises(SketchError, match="sketch does not have: sketch the log again"):
        old.calibration_loss(training="test", interval=0.9)
    named = LOG.ec.sketch("p", "y", by=pl.col("g").alias("rcl_ci_low"))
    with pytest.raises(SketchError, match="'rcl_ci_low', as the result has"):
        named.calibration_loss(training="test", interval=0.9)
