"""`ec.sketch` with clusters in DuckDB: the cells are those without, and the coarse cells those of Polars."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.cases import mostly_slow

R = np.random.default_rng(5)
N = 700
POSTERIORS = [0.0, 5e-324, 1e-30, 0.1, 0.25, 0.5, 0.75, 1 - 2**-53, 1.0, *R.random(50)]
OTHERS = [-np.inf, -800.0, -64.0, -1.0, -1 / 3, 0.0, 1 / 8, 2.0, 64.0, np.inf, *R.normal(0, 4, 50)]
LOG = pl.DataFrame(
    {
        "g": [f"g{i}" if i else None for i in R.integers(0, 3, N)],
        "p": [
            None if i == 0 else float("nan") if i == 1 else x
            for i, x in zip(R.integers(0, 50, N), R.choice(POSTERIORS, N), strict=True)
        ],
        "x": R.choice(OTHERS, N),
        "y": [None if i == 0 else i == 1 for i in R.integers(0, 5, N)],
        "w": R.choice([0.0, 0.5, 2.0, -1.0], N, p=[0.1, 0.4, 0.49, 0.01]),
        "id": [i or None for i in R.integers(0, 40, N)],
        "user": [f"ü{i}" if i else None for i in R.integers(0, 40, N)],
    }
).with_columns(day=pl.date(2026, 1, 1) + pl.duration(days=pl.col("id")))
CELLS = ["class", "bin", "above", "n", "weight", "weight2"]
SUMS = ["log_loss", "brier", "posterior"]


CASES = [
    ("posterior", 64, "id", None),
    ("posterior", 12, "user", "w"),
    ("log_odds", 24, "day", None),
    ("raw", 20, "id", "w"),
    ("posterior", 24, "day", None),
    ("posterior", 5, "id", "w"),
    ("log_odds", 64, "user", "w"),
    ("llr", 7, "id", None),
    ("log_odds", 100, "id", None),
    ("raw", 64, "user", None),
    ("raw", 3, "day", "w"),
]


@pytest.fixture
def log(connection):
    connection.register("log", LOG.to_arrow())
    return connection


@pytest.mark.quick("posterior-12-user-w")
@pytest.mark.parametrize(("score_type", "resolution", "cluster", "weight"), mostly_slow(CASES, CASES[:4]))
def test_it_is_the_sketch_of_polars(log, score_type: str, resolution: int, cluster: str, weight: str | None) -> None:
    score, thresholds = "p" if score_type == "posterior" else "x", [0.25, 0.5]
    stated = {"score_type": score_type, "resolution": resolution, "thresholds": thresholds}
    expected = LOG.ec.sketch(score, "y", by="g", cluster=cluster, buckets=30, weight=weight, threshold=0.5, **stated)
    arguments = f"groups := ['g'], score_type := '{score_type}', resolution := {resolution}, thresholds := {thresholds}"
    arguments += "" if weight is None else f", weight := {weight}"
    table = log.sql(f"FROM ec.sketch('log', {score}, y, cluster := {cluster}, buckets := 30, {arguments})").pl()
    assert set(table.columns) == {"table", "g", *CELLS, *([] if score_type == "raw" else SUMS), "bucket", "hash"}
    assert table["hash"].unique().to_list() == ["murmur3"]
    found = ec.Sketch.from_arrow(table, weighted=weight is not None, cluster=cluster, buckets=30, **stated)
    for name in ("frame", "coarse"):
        assert_frame_equal(getattr(found, name), getattr(expected, name))
    without = log.sql(f"FROM ec.sketch('log', {score}, y, {arguments})").pl()
    assert_frame_equal(
        table.filter(pl.col("table") == "cells").select(without.columns),
        without,
        check_row_order=False,
        check_exact=False,
    )
    assert table.filter(pl.col("table") == "cells")["bucket"].null_count() == without.height


@pytest.mark.slow
def test_clusters_of_any_name(log) -> None:
    """A column may be called as an argument is, or as a column of the result."""
    wanted = log.sql("FROM ec.sketch('log', x, y, score_type := 'raw', cluster := id) ORDER BY ALL").fetchall()
    for name in ("cluster", "buckets", "bucket", "table", "hash", "class", "score", "log", "the user", "_ec"):
        column = f'"{name}"'
        log.execute(f"CREATE OR REPLACE TEMP TABLE named AS SELECT * RENAME (id AS {column}) FROM log")
        found = log.sql(
            f"FROM ec.sketch('named', x, y, score_type := 'raw', cluster := {column}) ORDER BY ALL"
        ).fetchall()
        assert found == wanted, name
    halves = "SELECT id // 2 AS half, * FROM log"
    of_expression = log.sql(
        "FROM ec.sketch('log', x, y, score_type := 'raw', cluster := id // 2) ORDER BY ALL"
    ).fetchall()
    assert (
        log.sql(
            f"WITH named AS ({halves}) FROM ec.sketch('named', x, y, score_type := 'raw', cluster := half) ORDER BY ALL"
        ).fetchall()
        == of_expression
    )


@pytest.mark.slow
def test_no_rows_and_no_keys(log) -> None:
    log.execute("CREATE OR REPLACE TEMP TABLE nothing AS FROM log LIMIT 0")
    assert log.sql("FROM ec.sketch('nothing', p, y, cluster := id)").fetchall() == []
    coarse = log.sql(
        "FROM ec.sketch('log', x, y, score_type := 'raw', cluster := NULL) WHERE \"table\" = 'coarse'"
    ).pl()
    assert coarse["bucket"].null_count() == coarse.height > 0
    assert coarse["n"].sum() == LOG.filter(pl.col("y").is_not_null()).height


@pytest.mark.quick(
    "cluster := x*",
    "cluster := nobody*",
    "buckets*",
    "id-*",
    "cluster := id, buckets := 4*",
    "cluster := id, groups := ?'bucket'*",
)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("cluster := id, buckets := 4", "buckets must be a whole number in 5..1000, not 4"),
        ("cluster := id, buckets := 2000", "buckets must be a whole number in 5..1000, not 2000"),
        ("cluster := id, buckets := 7.5", "buckets must be a whole number in 5..1000, not 7.5"),
        ("cluster := x", "a bucket key must be an integer, string, date or time, not DOUBLE"),
        ("cluster := nobody", '"nobody" not found'),
        ("buckets := 20", "does not support the supplied arguments"),
        ("id", "supply all arguments by name"),
        ("cluster := id, groups := ['bucket']", "is also a column of the result: rename it"),
        ("cluster := id, groups := ['Hash']", "is also a column of the result: rename it"),
    ],
)
def test_bad_calls_are_errors(log, arguments: str, message: str) -> None:
    log.execute("CREATE OR REPLACE TEMP TABLE named AS SELECT *, 1 AS bucket, 2 AS hash FROM log")
    with pytest.raises(duckdb.Error, match=message):
        log.execute(f"FROM ec.sketch('named', p, y, {arguments})").fetchall()


def test_a_group_called_bucket_is_only_in_the_way_of_clusters(log) -> None:
    log.execute("CREATE OR REPLACE TEMP TABLE named AS SELECT *, ec.bucket(id, 10) AS bucket FROM log")
    found: Any = log.sql("SELECT DISTINCT bucket FROM ec.sketch('named', p, y, groups := ['bucket'])").fetchall()
    assert len(found) == 11


def test_a_text_is_no_cluster_column(log) -> None:
    """One cluster of all rows has NULL bounds, which would say nothing of the quotes."""
    message = "cluster := 'user' is text, not a column: leave out the quotes"
    for query in (
        "ec.sketch('log', p, y, cluster := 'user')",
        "ec.report('log', p, y, \"interval\" := 0.95, cluster := 'user')",
        "ec.sketch('log', [1 - p, p], 0, classes := 2, reduction := 'decisions', cluster := 'user')",
        "ec.sketch('log', [1 - p, p], 0, classes := 2, reduction := 'top_label', cluster := 'user')",
    ):
        with pytest.raises(duckdb.Error, match=message):
            log.execute(f"FROM {query}").fetchall()
    # Columns of text, under any name, and what is computed from them, are columns.
    log.execute('CREATE OR REPLACE TEMP TABLE named AS SELECT *, CAST(id AS VARCHAR) AS "it\'s" FROM log')
    for column in ('"it\'s"', "'a' || \"it's\"", 'upper("it\'s")'):
        assert log.execute(f"FROM ec.sketch('named', p, y, cluster := {column})").fetchall()
