"""Percents are posteriors times 100: every door gives the numbers of the posteriors, and takes thresholds in percent."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.arguments.scales import PERCENT
from tests.support.cli import invoke

PERCENTS = [100.0, 50.0, 29.0, 7.0, 20.0, 64.0, 0.1, 99.9, 35.0, 57.0, 14.0, 3.0]
LOG = pl.DataFrame({"percent": PERCENTS, "y": [1, 1, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0], "g": ["a", "b"] * 6}).with_columns(
    posterior=pl.col("percent") / 100
)
INVALID = pl.DataFrame({"percent": [50.0, 100.5, -0.1, math.nan, math.inf, None, 100.0, 0.0], "y": [1, 0] * 4})
SAME = {"check_exact": False, "rel_tol": 1e-12, "abs_tol": 1e-15}
POINTS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({}, {}),
    ({"threshold": 20}, {"threshold": 0.2}),
    ({"cost_fn": 71, "cost_fp": 29}, {"cost_fn": 71, "cost_fp": 29}),
]


@pytest.mark.parametrize("numerator", range(101))
def test_bayes_decisions_are_those_of_posteriors(numerator: int) -> None:
    threshold = PERCENT.threshold_at(numerator / 100)
    assert [score > threshold for score in range(101)] == [score / 100 > numerator / 100 for score in range(101)]


@pytest.mark.quick("percent0-*", "percent2-*")
@pytest.mark.parametrize(("percent", "posterior"), POINTS)
def test_reports_and_sketches(percent: dict[str, Any], posterior: dict[str, Any]) -> None:
    found = ec.report(LOG, "percent", "y", by="g", score_type="percent", **percent)
    assert_frame_equal(found, ec.report(LOG, "posterior", "y", by="g", **posterior), **SAME)
    for keywords in ({}, {"exact": True}):
        sketch = LOG.ec.sketch("percent", "y", score_type="percent", **percent, **keywords)
        wanted = LOG.ec.sketch("posterior", "y", **posterior, **keywords)
        assert_frame_equal(sketch.evaluate(), wanted.evaluate(), **SAME)
        assert_frame_equal(sketch.evaluate("recall", threshold=29), wanted.evaluate("recall", threshold=0.29), **SAME)
        thresholds = sketch.roc()["threshold"] / 100
        assert thresholds.to_list() == pytest.approx(wanted.roc()["threshold"].to_list(), rel=1e-12)


def test_calibration_is_that_of_posteriors() -> None:
    for calibrator in ("affine", "pav"):
        found = ec.calibrate(LOG, "percent", "y", calibrator, score_type="percent")
        wanted = ec.calibrate(LOG, "posterior", "y", calibrator)
        calibrated = LOG.select(found=found.apply("percent"), wanted=wanted.apply("posterior"))
        assert calibrated["found"].to_list() == pytest.approx(calibrated["wanted"].to_list(), rel=1e-12)
        in_sql = duckdb.sql(f"SELECT {found.to_sql('percent', dialect='duckdb')} FROM LOG").fetchall()
        assert [q for (q,) in in_sql] == pytest.approx(calibrated["wanted"].to_list(), rel=1e-12)


def test_a_moved_prior_is_a_percent() -> None:
    moved = LOG.select(
        found=ec.shift_prior("percent", 0.5, 0.1, score_type="percent"),
        wanted=100 * ec.shift_prior("posterior", 0.5, 0.1),
    )
    assert moved["found"].to_list() == pytest.approx(moved["wanted"].to_list(), rel=1e-14)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* null")
def test_what_is_no_percent_is_invalid() -> None:
    found = ec.report(INVALID, "percent", "y", score_type="percent", metrics=["recall", "nce"])
    assert found.select("n", "n_missing", "n_invalid", "recall", "nce").row(0) == (3, 1, 4, None, None)
    sketched = INVALID.ec.sketch("percent", "y", score_type="percent").evaluate("recall")
    assert sketched.select("n", "n_missing", "n_invalid", "recall").row(0) == (3, 1, 4, None)
    connection = duckdb.connect()
    connection.execute(Path("sql/polars_ec.sql").read_text("utf-8"))
    connection.register("log", INVALID.to_arrow())
    counts = "ec.n_invalid(percent, y, score_type := 'percent'), ec.recall(percent, y, score_type := 'percent')"
    assert connection.sql(f"SELECT {counts} FROM log").fetchall()[0] == (4, None)
    query = ec.report_query("log", "percent", "y = 1", score_type="percent", metrics=["recall"])
    assert connection.sql(f"SELECT n_missing, n_invalid, recall FROM ({query})").fetchall()[0] == (1, 4, None)


@pytest.mark.slow
def test_queries_take_thresholds_in_percent() -> None:
    connection = duckdb.connect()
    connection.register("log", LOG.to_arrow())
    for percent, posterior in POINTS:
        found, wanted = (
            connection.sql(ec.report_query("log", column, "y = 1", by="g", score_type=column, **given)).pl().sort("g")
            for column, given in (("percent", percent), ("posterior", posterior))
        )
        assert_frame_equal(found, wanted, **SAME)
    keys = ["class", "bin", "above"]
    cells, wanted = (
        connection.sql(ec.sketch_query("log", column, "y = 1", score_type=column, thresholds=thresholds))
        .pl()
        .sort(keys)
        for column, thresholds in (("percent", [20, 29]), ("posterior", [0.2, 0.29]))
    )
    assert_frame_equal(cells, wanted, **SAME)
    sketch = ec.Sketch.from_arrow(cells, score_type="percent", thresholds=[20, 29])
    assert sketch.evaluate("recall", threshold=20).select("recall", "n").rows() == [(0.8, 12)]


def test_the_command_line_takes_percents(tmp_path: Path) -> None:
    LOG.write_csv(tmp_path / "log.csv")
    arguments = [
        "report",
        str(tmp_path / "log.csv"),
        "--label",
        "y",
        "--by",
        "g",
        "--format",
        "csv",
        "--pos-label",
        "1",
    ]
    found = invoke(*arguments, "--score", "percent", "--score-type", "percent", "--threshold", "20")
    wanted = invoke(*arguments, "--score", "posterior", "--threshold", "0.2")
    assert found.stdout == wanted.stdout
