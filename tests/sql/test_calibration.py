"""Cross-validation and calibrated posteriors in DuckDB against Polars."""

from __future__ import annotations

import math
from itertools import product

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.calibration_logs import rows_to_calibrate, simulated
from tests.support.cases import mostly_slow


def test_cross_validation_of_a_sketch_made_in_sql(connection) -> None:
    log = simulated().drop("fold").with_row_index("id")
    connection.register("log", log)
    connection.execute("CREATE OR REPLACE TEMP VIEW folded AS SELECT *, ec.fold(id) AS fold FROM log")
    made = connection.sql("FROM ec.sketch('folded', p, y, groups := ['g', 'fold'], thresholds := [0.5])")
    in_sql = ec.Sketch.from_arrow(made.to_arrow_table(), thresholds=[0.5]).calibration_loss()
    in_polars = log.ec.sketch("p", "y", by="g", folds=5, fold_by="id").calibration_loss()
    assert_frame_equal(in_sql, in_polars, rel_tol=1e-9)


CALIBRATORS = ("affine", "temperature", "gaussian", "pav", "histogram")
OF_RAW_SCORES = [("raw", True, calibrator) for calibrator in ("affine", "gaussian", "pav")]


@pytest.mark.quick("posterior-True-[gph]*", "log_odds-False-[at]*", "raw-True-pav")
@pytest.mark.parametrize(
    ("score_type", "exact", "calibrator"),
    mostly_slow(
        [*product(("posterior", "log_odds"), (True, False), CALIBRATORS), *OF_RAW_SCORES],
        [*product(["posterior"], [True], CALIBRATORS), *product(["log_odds"], [False], CALIBRATORS), OF_RAW_SCORES[2]],
    ),
)
def test_sql_text_is_apply(score_type, exact, calibrator, connection) -> None:
    log = simulated().with_columns(y=pl.when(pl.col("g") == 2).then(pl.lit(value=True)).otherwise("y"))
    # A score that points the wrong way, in one group.
    log = log.with_columns(y=pl.when(pl.col("g") == 3).then(~pl.col("y")).otherwise("y"))
    score = "p" if score_type == "posterior" else "x"
    key = pl.col("g").replace_strict({0: "it's", 1: None, 2: 'a "b"', 3: "ü"}, return_dtype=pl.String).alias("g")
    day = pl.date(2026, 1, 1) + pl.duration(days=pl.col("id") % 2)
    log = log.with_row_index("id").with_columns(key, day.alias("the day"), (pl.col("id") % 3 == 0).alias("flag"))
    keys = ["g", "the day", "flag"]
    calibration = log.ec.sketch(score, "y", by=keys, score_type=score_type, exact=exact).calibrate(calibrator)
    groups = log.select(keys).unique().with_columns(pl.col("g").fill_null("new").alias("g"))
    new = pl.concat([log.select(keys).unique(), groups]).join(
        rows_to_calibrate().select("p", "x").head(10), how="cross"
    )
    expected = new.select(calibration.apply(score)).to_series()
    connection.register("new", new.to_arrow())
    query = f"SELECT {calibration.to_sql(score)} FROM new"
    found = [value for (value,) in connection.execute(query).fetchall()]
    assert [value is None for value in found] == expected.is_null().to_list()
    assert expected.null_count() < new.height * 3 / 4
    for value, want in zip(found, expected, strict=True):
        assert value == (None if want is None else pytest.approx(want, rel=1e-12, abs=2e-304))


def test_sql_text_without_groups(connection) -> None:
    log = simulated()
    affine = log.ec.sketch("x", "y", score_type="llr").calibrate(prior=0.2)
    alpha, beta = affine.frame.select("alpha", "beta").row(0)
    connection.register("log", log.to_arrow())
    text = affine.to_sql("x + 1")
    query = f"SELECT max(abs({text} - ec.affine(x + 1, {alpha!r}, {beta!r}, score_type := 'llr'))) FROM log"
    assert connection.execute(query).fetchall()[0][0] < 1e-15
    nothing = log.filter(pl.col("y")).ec.sketch("x", "y", score_type="log_odds").calibrate()
    assert connection.execute(f"SELECT {nothing.to_sql('x')}, x FROM log LIMIT 1").fetchall()[0][0] is None


def test_sql_text_of_a_group_called_like_a_placeholder(connection) -> None:
    log = simulated().with_columns(pl.col("g").replace_strict({2: "ec_text_0"}, default="b").alias("ec_text_0"))
    calibration = log.ec.sketch("p", "y", by="ec_text_0").calibrate()
    connection.register("named", log.to_arrow())
    found = connection.execute(f"SELECT {calibration.to_sql('p')} FROM named").fetchall()
    expected = log.select(calibration.apply("p")).to_series().to_list()
    assert [value for (value,) in found] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("score_type", ["posterior", "log_odds"])
def test_sql_text_on_nan_that_statistics_of_a_parquet_file_pass_over(score_type: str, connection, tmp_path) -> None:
    score = "p" if score_type == "posterior" else "x"
    calibration = simulated().ec.sketch(score, "y", score_type=score_type).calibrate()
    pl.DataFrame({score: [math.nan, 0.5, 0.5]}).write_parquet(tmp_path / "new.parquet")
    found = connection.execute(f"SELECT {calibration.to_sql(score)} FROM '{tmp_path / 'new.parquet'}'").fetchall()
    assert [value is None for (value,) in found] == [True, False, False]


def test_sql_text_of_other_dialects() -> None:
    calibration = simulated().ec.sketch("p", "y", by="g").calibrate()
    assert '"g" = 0' in calibration.to_sql("p", dialect="postgres")
    assert "`g` = 0" in calibration.to_sql("p", dialect="bigquery")
    with pytest.raises(ValueError, match="dialect='oracle' is none of"):
        calibration.to_sql("p", dialect="oracle")
    with pytest.raises(ValueError, match="is not one expression"):
        calibration.to_sql("p, q")
    by_list = simulated().ec.sketch("p", "y", by=pl.concat_list("g").alias("l")).calibrate()
    with pytest.raises(ValueError, match="the group column 'l' holds"):
        by_list.to_sql("p")
