"""Drift: misuse is an error that says what to do, and what kinds of periods, labels, priors and logs there may be."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec

RNG = np.random.default_rng(0)
N = 300
LOG = pl.DataFrame(
    {
        "t": RNG.integers(1, 4, N),
        "g": RNG.choice(["a", "b"], N),
        "c": RNG.choice(["x", "y"], N),
        "y": (RNG.random(N) < 0.4).astype(int),
        "y3": RNG.integers(0, 3, N),
        "p": RNG.random(N),
        "user": RNG.integers(0, 50, N),
        "v": pl.Series(RNG.dirichlet(np.ones(3), N), dtype=pl.Array(pl.Float64, 3)),
    }
)
CALL: dict[str, Any] = {"period": "t", "metrics": ["nce", "recall"]}

MISUSE = [
    ({"period": ["t", "g"]}, ValueError, r"period= names \['t', 'g'\], but it takes one column"),
    ({"period": []}, ValueError, r"period= names \[\]"),
    ({"period": pl.concat_list("t")}, TypeError, r"period='t' is List\(Int64\), whose values have no order"),
    ({"period": "t", "by": "t"}, ValueError, "period='t' is also a column in by=: leave"),
    (
        {"by": "g", "mix": "g"},
        ValueError,
        "mix= has 'g', which is also a column of by=, so its shares never change within a group: leave it out of one",
    ),
    ({"mix": "t"}, ValueError, "mix= has 't', which is also the column of period="),
    ({"by": pl.col("g").alias("likelihood")}, ValueError, r"by= has a column 'likelihood'.*\.alias\(\)"),
    ({"period": pl.col("t").alias("mix_ci_low"), "mix": "c"}, ValueError, "period= has a column 'mix_ci_low'"),
    ({"mix": pl.col("c").alias("__ec_w")}, ValueError, "mix= has a column '__ec_w'"),
    (
        {"metrics": ["auc_roc"]},
        ValueError,
        r"'auc_roc', a ranking metric, whose change cannot be explained: compare\(reference=\.\.\.\)",
    ),
    ({"metrics": ["ece"]}, ValueError, "'ece', which has no confidence interval"),
    ({"metrics": ["tp"]}, ValueError, "'tp', which is a count"),
    (
        {"metrics": ["class_recall"]},
        ValueError,
        "'class_recall', which has one value per class: compare their mean, macro_recall",
    ),
    ({"interval": None}, ValueError, "interval=None: a difference always has an"),
    ({"interval": 95}, ValueError, "interval=95.*pass 0.95"),
    ({"cluster": "user", "buckets": 20}, ValueError, "buckets=20 is too few for p-values, which need 100"),
    ({"buckets": 200}, ValueError, "buckets=200.*pass cluster="),
    ({"cluster": ["user", "user"]}, TypeError, r"cluster=\['user', 'user'\] is neither a column's name"),
    ({"min_rows": -1}, ValueError, "min_rows=-1 is not a number of rows: pass a whole number"),
    ({"reference": pl.lit(1)}, TypeError, "is an expression: pass the value of a period, or 'previous'"),
    ({"reference": 7}, ValueError, r"reference=7 is not a group of t\. There are 1; 2; 3"),
    (
        {"prior": 0.1 * pl.col("t")},
        ValueError,
        "prior= differs between 2 and 1, and a change is explained at one prior",
    ),
]


def test_a_period_of_dates_is_no_text() -> None:
    dated = LOG.with_columns(day=pl.date(2024, "t", 1))
    message = r"There are 2024-01-01; 2024-02-01; 2024-03-01\. Text is not a time: pass its value, such as datetime\.date\(2024, 3, 1\)"
    with pytest.raises(ValueError, match=message):
        dated.ec.drift("p", "y", period="day", metrics=["recall"], reference="2024-01-01")


@pytest.mark.parametrize(("options", "kind", "message"), MISUSE)
def test_misuse_says_what_to_do(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        LOG.ec.drift("p", "y", **CALL | options)


def test_misuse_of_scores_and_labels() -> None:
    with pytest.raises(TypeError, match=r"label=\['y', 'y'\] is neither a column's name"):
        LOG.ec.drift("p", ["y", "y"], **CALL)
    with pytest.raises(ValueError, match="score= names no column"):
        LOG.ec.drift([], "y", **CALL)
    many = LOG.with_columns(v=pl.Series(RNG.dirichlet(np.ones(15), N), dtype=pl.Array(pl.Float64, 15)))
    with pytest.raises(ValueError, match="15 classes and 15 decisions exceed 200 cells"):
        many.ec.drift("v", "y3", period="t", metrics=["nec"])
    assert many.ec.drift("v", "y3", period="t", metrics=["brier"]).height == 2


def test_a_period_that_is_called_previous_is_not_taken_for_the_word() -> None:
    log = LOG.with_columns(t=pl.when(pl.col("t") == 1).then(pl.lit("previous")).otherwise(pl.lit("now")))
    with pytest.raises(
        ValueError, match="reference='previous' is ambiguous, because t has a period of this name: rename that period"
    ):
        log.ec.drift("p", "y", reference="previous", **CALL)
    assert log.ec.drift("p", "y", reference="now", **CALL)["t"].unique().to_list() == ["previous"]


@pytest.mark.parametrize(
    ("period", "reference", "shown"),
    [
        (pl.date(2013, "t", 1), date(2013, 2, 1), "2013-02-01"),
        (pl.datetime(2013, "t", 1), date(2013, 2, 1), "2013-02-01 00:00:00"),
        (
            pl.datetime(2013, "t", 1, time_zone="Europe/Zurich").dt.cast_time_unit("ns"),
            None,
            "2013-01-01 00:00:00+01:00",
        ),
        (pl.format("2013-0{}", "t"), "2013-02", "2013-02"),
        (pl.format("2013-0{}", "t").cast(pl.Categorical), None, "2013-01"),
        (pl.col("t").replace_strict({1: "b", 2: "a", 3: "c"}, return_dtype=pl.Enum(["b", "a", "c"])), None, "b"),
        (pl.col("t") == 2, True, "true"),
        (pl.col("t") / 2, 0.5, "0.5"),
        (pl.duration(days="t"), None, "P1D"),
    ],
)
def test_periods_of_every_type(period: pl.Expr, reference: Any, shown: str) -> None:
    found = LOG.ec.drift("p", "y", period=period.alias("when"), reference=reference, metrics=["nce"])
    expected = LOG.ec.drift("p", "y", period="t", reference=1 if reference in (None, 0.5) else 2, metrics=["nce"])
    assert found["reference"].unique().to_list() == [shown]
    if shown != "true":
        assert_frame_equal(
            found.drop("when", "reference"), expected.drop("t", "reference"), rel_tol=1e-9, abs_tol=1e-10
        )


def test_empty_logs_single_periods_and_rows_without_one() -> None:
    whole = LOG.ec.drift("p", "y", mix="c", **CALL)
    for log in (LOG.head(0), LOG.filter(t=1), LOG.with_columns(t=pl.lit(None, dtype=pl.Int64))):
        found = log.lazy().ec.drift("p", "y", mix="c", **CALL)
        assert found.collect_schema() == whole.schema
        assert found.collect().height == 0
    gaps = LOG.with_columns(t=pl.when(pl.col("t") > 1).then("t"))
    # Rows without a period are a period of their own, before none and after none.
    assert gaps.ec.drift("p", "y", **CALL).select("t", "reference").unique(maintain_order=True).rows() == [
        (None, "2"),
        (3, "2"),
    ]
    previous = gaps.ec.drift("p", "y", reference="previous", **CALL)
    assert previous.select("t", "reference").unique().rows() == [(3, "2")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "options"),
    [
        (pl.col("p") > 0.5, {"score_type": "decision", "metrics": ["nec", "recall"]}),
        (4 * pl.col("p") - 2, {"score_type": "llr", "prior": 0.3}),
        (4 * pl.col("p") - 2, {"score_type": "llr", "prior": "overall"}),
        ("p", {"prior": "overall"}),
        ("p", {"by": "g", "prior": pl.when(pl.col("g") == "a").then(0.1).otherwise(0.2)}),
        ("v", {"label": "y3", "metrics": ["nec", "nce"], "prior": [0.2, 0.3, 0.5]}),
        ("v", {"label": "y3", "metrics": ["nce"], "weight": "w"}),
        (["p", "q"], {}),
    ],
)
def test_every_kind_of_score_has_the_differences_of_compare_and_parts_that_add_up(
    score: Any, options: dict[str, Any]
) -> None:
    log = LOG.with_columns(w=pl.col("user") / 10, q=pl.when(pl.col("user") > 3).then(pl.col("p") ** 2))
    options = {"label": "y", "metrics": ["nec", "nce", "recall"], **options}
    found = ec.drift(log, score, period="t", mix="c", cluster="user", **options)
    compared = ec.compare(
        log, score, reference={"t": 1}, cluster="user", **{**options, "by": [*options.get("by", ()), "t"]}
    )
    same = [name for name in compared.columns if not name.startswith(("reference", "p_adjusted", "ratio"))]
    assert_frame_equal(found.select(same), compared.select(same), rel_tol=1e-9, abs_tol=1e-10)
    parts = found["mix"] + found["prior"] + found["likelihood"]
    assert parts.to_list() == pytest.approx(found["difference"].to_list(), abs=1e-12)
    assert found["likelihood_ci_low"].null_count() == 0


def test_a_wrong_row_makes_its_period_null() -> None:
    log = LOG.with_columns(p=pl.when(pl.int_range(N) == LOG["t"].to_list().index(2)).then(2.0).otherwise("p"))
    found = log.ec.drift("p", "y", **CALL)
    assert found.filter(t=2).select("value", "prior", "likelihood", "likelihood_ci_low").unique().rows() == [
        (None,) * 4
    ]
    assert found.filter(t=3)["likelihood_ci_low"].null_count() == 0


def test_a_table_of_duckdb() -> None:
    with duckdb.connect() as connection:
        connection.register("log", LOG.select("t", "c", "y", "p").to_arrow())
        found = ec.drift(connection.sql("FROM log"), "p", "y", mix="c", **CALL)
    assert_frame_equal(found, LOG.ec.drift("p", "y", mix="c", **CALL), rel_tol=1e-9, abs_tol=1e-10)


def test_strata_may_be_null_and_of_several_columns() -> None:
    gaps = LOG.with_columns(c=pl.when(pl.col("c") == "x").then("c"), d=pl.when(pl.col("g") == "a").then(float("nan")))
    both = gaps.ec.drift("p", "y", mix=["c", "d"], **CALL)
    one = LOG.ec.drift("p", "y", mix=pl.concat_str("c", "g").alias("stratum"), **CALL)
    assert_frame_equal(both, one, rel_tol=1e-9, abs_tol=1e-10)


def test_the_name_of_a_stratum_is_free() -> None:
    assert_frame_equal(
        LOG.ec.drift("p", "y", mix=pl.col("c").alias("metric"), **CALL), LOG.ec.drift("p", "y", mix="c", **CALL)
    )


def test_datetimes_by_month() -> None:
    log = LOG.with_columns(ts=pl.datetime(2013, "t", pl.col("user") % 28 + 1))
    found = log.ec.drift("p", "y", period=pl.col("ts").dt.truncate("1mo"), metrics=["nce"])
    assert found["ts"].to_list() == [datetime(2013, 2, 1), datetime(2013, 3, 1)]
