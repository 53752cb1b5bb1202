"""`ec.spark.sketch` is `ec.sketch` of the rows: in one process, on a cluster of two workers and by Spark Connect. Run by `make test-spark`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.spark import CLUSTER, CONNECT, assert_same, start
from tests.support.warehouse_cases import CASES, CLUSTERS, MONTH, Case, make_log

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    """The hostile log, and columns whose names are hostile too."""
    made = make_log().with_columns(pl.col("ts").cast(pl.Datetime("us")))
    rows = pl.int_range(made.height)
    return made.with_columns(
        pl.col("ts").dt.replace_time_zone("UTC").alias("at `UTC`"),
        pl.col("p").alias("P(late|x) {0}"),
        pl.col("segment").alias("user.Segment"),
        (1 - pl.col("p")).cast(pl.Float32).alias("ec_q ümlaut"),
        pl.when(rows % 7 > 0).then(rows % 3 * Decimal("0.25")).cast(pl.Decimal(8, 2)).alias("price"),
        pl.col("ts").dt.date().alias("day"),
        pl.col("late").cast(pl.Int8).alias("is"),
    )


@pytest.fixture(scope="module", params=["local[2]", CLUSTER, CONNECT])
def frame(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, log: pl.DataFrame) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("spark")
    session = start(request.param, folder)
    log.write_parquet(folder / "log.parquet")
    yield session.read.parquet(str(folder / "log.parquet")).repartition(5)
    session.stop()


@pytest.mark.parametrize("case", [*CASES, *CLUSTERS], ids=lambda case: case.name)
def test_the_hostile_log(case: Case, frame: Any, log: pl.DataFrame) -> None:
    functions = pytest.importorskip("pyspark.sql.functions")
    arguments = dict(case.arguments)
    by = by_spark = arguments.pop("by", ())
    if isinstance(by, dict):
        by = [pl.col("ts").dt.date().dt.truncate("1mo").alias("month"), "segment"]
        by_spark = [functions.expr(MONTH).alias("month"), "segment"]
    found = ec.spark.sketch(frame, case.score, case.label, by=by_spark, **arguments)
    assert_same(found, ec.sketch(log, case.score, case.label, by=by, **arguments))


CALLS: dict[str, dict[str, Any]] = {
    "names": {"score": "P(late|x) {0}", "by": ["user.Segment", "at `UTC`"]},
    "types of keys": {"by": ["price", "day", "at `UTC`", "ts", "code", "is", "number"]},
    "one column twice": {"score": "p", "weight": "p", "by": ["day", "p"], "cluster": "day"},
    "models": {"score": ["ec_q ümlaut", "P(late|x) {0}", "x"], "by": ["user.Segment"], "weight": "w"},
    "models in clusters": {"score": ["p", "ec_q ümlaut"], "cluster": "account", "cost_fn": 3},
    "one model in a list": {"score": ["p"]},
    "labels of numbers": {"label": "is"},
    "labels of other numbers": {"label": "code"},
    "dates as labels": {"label": "day", "classes": [date(2026, 2, 1), date(2026, 1, 31)]},
    "costs": {"costs": [[0, 1], [4, 0.5]], "thresholds": [ec.CostMatrix.binary(9, 1), 0.2]},
    "costs by name": {
        "label": "outcome",
        "classes": ["on\\time", "it's late"],
        "costs": ec.CostMatrix(
            [[0, 3], [1, 0]], classes=["it's late", "on\\time"], decisions=["it's late", "on\\time"]
        ),
    },
    "a threshold": {"threshold": 0.3, "by": "user.Segment"},
    "llr at a prior": {"score": "x", "score_type": "llr", "prior": 0.2, "cost_fn": 5},
    "resolution": {"resolution": 3, "by": "segment", "weight": "is"},
}


@pytest.mark.parametrize("call", CALLS)
def test_names_types_and_models(call: str, frame: Any, log: pl.DataFrame) -> None:
    arguments = {"score": "p", "label": "late", **CALLS[call]}
    assert_same(ec.spark.sketch(frame, **arguments), ec.sketch(log, **arguments))


def test_values(frame: Any, log: pl.DataFrame) -> None:
    """At the operating point that was declared, and at any other, by rows that are right and by a group that has wrong ones."""
    right = "p BETWEEN 0 AND 1 AND NOT isnan(p)"
    rows = log.filter(pl.col("p").is_between(0, 1))
    sketch = ec.spark.sketch(frame.where(right), "p", "late", by="segment", cost_fn=5)
    metrics = ["nec", "f1", "cross_entropy", "brier"]
    wanted = ec.sketch(rows, "p", "late", by="segment", cost_fn=5)
    for options in ({"cost_fn": 5}, {}, {"cost_fn": 5, "prior": 0.2}):
        found = sketch.evaluate(*metrics, **options)
        assert_frame_equal(found, wanted.evaluate(*metrics, **options), rel_tol=1e-11)
    report = ec.report(rows, "p", "late", by="segment", cost_fn=5, metrics=["nec", "brier"])
    assert_frame_equal(
        sketch.evaluate("nec", "brier").select("segment", "nec", "brier"),
        report.select("segment", "nec", "brier"),
        rel_tol=1e-11,
        check_row_order=False,
    )
    ranks = sketch.evaluate("auc_roc").join(wanted.evaluate("auc_roc"), on="segment", nulls_equal=True)
    assert ((ranks["auc_roc"] - ranks["auc_roc_right"]).abs() <= ranks["auc_roc_error"] + 1e-12).all()
    whole = ec.spark.sketch(frame, "p", "late", cost_fn=5)
    assert whole.evaluate("nec")["nec"].to_list() == [None]
    assert whole.evaluate("nec")["n_invalid"].to_list() == ec.sketch(log, "p", "late").evaluate()["n_invalid"].to_list()


def test_expressions(frame: Any, log: pl.DataFrame) -> None:
    functions = pytest.importorskip("pyspark.sql.functions")
    found = ec.spark.sketch(
        frame,
        functions.col("p") / 2,
        functions.col("outcome") == "it's late",
        by=functions.col("day").alias("Tag {x}"),
        weight=functions.col("w") * 2,
    )
    wanted = ec.sketch(
        log,
        pl.col("p") / 2,
        pl.col("outcome") == "it's late",
        by=pl.col("day").alias("Tag {x}"),
        weight=pl.col("w") * 2,
    )
    assert_same(found, wanted)


def test_nothing_is_left_behind(frame: Any) -> None:
    session = frame.sparkSession
    before = [table.name for table in session.catalog.listTables()]
    ec.spark.sketch(frame, "p", "late")
    assert [table.name for table in session.catalog.listTables()] == before


@pytest.mark.parametrize(
    "setting",
    [
        "spark.sql.parser.escapedStringLiterals=true",
        "spark.sql.ansi.enabled=false",
        "spark.sql.ansi.doubleQuotedIdentifiers=true",
        "spark.sql.caseSensitive=true",
        "spark.sql.session.timeZone=Pacific/Auckland",
    ],
)
def test_settings_of_the_session_change_nothing(setting: str, frame: Any, log: pl.DataFrame) -> None:
    arguments: dict[str, Any] = {"by": ["at `UTC`", "price"], "classes": ["on\\time", "it's late"], "cluster": "day"}
    conf, (name, value) = frame.sparkSession.conf, setting.split("=")
    before = conf.get(name)
    conf.set(name, value)
    try:
        found = ec.spark.sketch(frame, "p", "outcome", **arguments)
    finally:
        conf.set(name, before)
    assert_same(found, ec.sketch(log, "p", "outcome", **arguments))


def test_it_adds_up(frame: Any, log: pl.DataFrame) -> None:
    """With what Polars made of other rows; with clusters with what Spark made."""
    by = ["price", "at `UTC`", "is"]
    first, last = log.head(3000), log.tail(log.height - 3000)
    rows = frame.sparkSession.createDataFrame(first.select("p", "late", "account", *by).to_arrow())
    merged = ec.merge([ec.spark.sketch(rows, "p", "late", by=by), ec.sketch(last, "p", "late", by=by)])
    assert_same(merged, ec.sketch(log, "p", "late", by=by))
    of_spark = ec.spark.sketch(rows, "p", "late", cluster="account")
    twice = ec.merge([of_spark, of_spark])
    assert twice.hash == "md5 by spark"
    assert twice.coarse is not None
    assert of_spark.coarse is not None
    assert twice.coarse["n"].sum() == 2 * of_spark.coarse["n"].sum()
    with pytest.raises(ec.SketchError, match="md5 by spark and murmur3"):
        ec.merge([of_spark, ec.sketch(last, "p", "late", cluster="account")])


def test_a_log_without_rows(frame: Any, log: pl.DataFrame) -> None:
    arguments: dict[str, Any] = {"by": ["price", "at `UTC`"], "weight": "w", "cluster": "account"}
    found = ec.spark.sketch(frame.where("false"), ["p", "x"], "late", **arguments)
    assert_same(found, ec.sketch(log.clear(), ["p", "x"], "late", **arguments))


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no column": ({"score": "q"}, ValueError, "score='q' is not a column of the frame"),
    "nearly a column": ({"by": "segmet"}, ValueError, "did you mean segment"),
    "text as score": ({"score": "segment"}, TypeError, "scores must be numbers, and 'segment' is string"),
    "vectors": ({"score": "v"}, TypeError, "pass the element of the positive class, such as F.col"),
    "text as weight": ({"weight": "segment"}, TypeError, "weights must be numbers, and 'segment' is string"),
    "text as label": ({"label": "segment"}, TypeError, "label 'segment' is string, neither Boolean .* pass pos_label="),
    "swapped": ({"score": "is", "label": "p"}, TypeError, "are score and label swapped"),
    "another type of class": ({"pos_label": 1}, TypeError, "pos_label holds 1 .int., and label 'late' is boolean"),
    "three classes": ({"label": "code", "classes": [0, 1, 2]}, ValueError, "lists 3 classes"),
    "beyond 64 bits": ({"label": "code", "pos_label": 2**63}, ValueError, "beyond the integers of 64 bits"),
    "a time as cluster": ({"cluster": "at `UTC`"}, TypeError, "cluster='at `UTC`' is timestamp, whose text"),
    "a float as cluster": ({"cluster": "w"}, TypeError, "cluster='w' is double, whose text"),
    "taken name": ({"by": "n"}, ValueError, "by= has a column 'n', which a sketch has too"),
    "twice": ({"by": ["segment", "segment"]}, ValueError, "by= has the name 'segment' twice"),
    "models twice": ({"score": ["p", "p"]}, ValueError, "score= has the name 'p' twice"),
    "no model": ({"score": []}, ValueError, "score= names no column"),
    "Polars": ({"by": pl.col("segment")}, TypeError, "neither a column's name nor a Column of PySpark"),
    "prior": ({"prior": 0.2}, ValueError, "pass prior= to evaluate"),
    "buckets": ({"cluster": "account", "buckets": 3}, ValueError, "buckets=3"),
    "kind": ({"score_type": "posteriors"}, ValueError, "score_type='posteriors' cannot be sketched"),
}


@pytest.mark.parametrize("call", WRONG)
def test_what_is_refused(call: str, frame: Any) -> None:
    functions = pytest.importorskip("pyspark.sql.functions")
    arguments, error, message = WRONG[call]
    more = frame.withColumn("n", functions.lit(1)).withColumn("v", functions.array("p", "p"))
    with pytest.raises(error, match=message):
        ec.spark.sketch(more, **{"score": "p", "label": "late", **arguments})


def test_a_stream_is_refused(frame: Any) -> None:
    stream = frame.sparkSession.readStream.format("rate").load()
    with pytest.raises(ValueError, match="frame= is a stream, which has no end"):
        ec.spark.sketch(stream, "value", "value")


def test_vectors_of_spark_ml(frame: Any) -> None:
    linalg, ml = pytest.importorskip("pyspark.ml.linalg"), pytest.importorskip("pyspark.ml.functions")
    rows = [(linalg.Vectors.dense([0.2, 0.8]), True), (linalg.Vectors.dense([0.7, 0.3]), False)]
    made = frame.sparkSession.createDataFrame(rows, ["probability", "late"])
    with pytest.raises(TypeError, match="vector_to_array"):
        ec.spark.sketch(made, "probability", "late")
    found = ec.spark.sketch(made, ml.vector_to_array("probability")[1], "late")
    assert_same(found, ec.sketch(pl.DataFrame({"p": [0.8, 0.3], "late": [True, False]}), "p", "late"))


def test_the_example(frame: Any, log: pl.DataFrame, tmp_path: Path) -> None:
    """That of the docstring."""
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"p": rng.random(500), "late": rng.random(500) < 0.3, "month": rng.integers(1, 4, 500)})
    rows.write_parquet(tmp_path / "log.parquet")
    found = ec.spark.sketch(frame.sparkSession.read.parquet(str(tmp_path)), "p", "late", by="month", cost_fn=5)
    wanted = ec.sketch(rows, "p", "late", by="month", cost_fn=5)
    names = ("nec", "nec_ci_low", "nec_ci_high")
    assert_frame_equal(*(x.evaluate("nec", interval=0.95).select(names) for x in (found, wanted)), rel_tol=1e-9)
