"""The highest scores of each period in SQL: `FROM ec.capacity` gives what `lf.ec.capacity` does, ties, costs by row and intervals included."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.support.database import database
from tests.support.report_macro import hostile_log

# As in Python; in SQL `"interval"` has quotes.
CALLS: list[dict[str, Any]] = [
    {"k": 3, "by": ["g", "h"]},
    {"share": 0.25, "period": "k", "by": ["g"], "cost_fn": "a", "interval": 0.9},
    {"k": 2, "period": "k", "by": ["g"], "weight": "w", "cost_fn": 4, "cost_fp": 1.5, "prior": 0.2, "interval": 0.9},
    {"k": 1, "period": "k", "weight": "w", "cost_fp": "a", "prior": "t"},
    {"share": 1, "by": ["h"], "period": "k", "cost_fn": 4, "prior": 0.2, "interval": 0.95},
]


def in_sql(connection: duckdb.DuckDBPyConnection, call: dict[str, Any]) -> pl.DataFrame:
    names = {"by": "groups", "interval": '"interval"'}
    options = ", ".join(f"{names.get(name, name)} := {value}" for name, value in call.items())
    return connection.sql(f"FROM ec.capacity('log', p, y, {options})").pl()


@pytest.mark.quick("3-1")
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("call", CALLS, ids=range(len(CALLS)))
def test_the_numbers_of_python(call: dict[str, Any], seed: int) -> None:
    """With nulls, ties, invalid rows and costs, groups of one class, and keys that are null."""
    connection, log = database().cursor(), hostile_log(seed, 300)
    connection.register("log", log.to_arrow())
    by_row = {"prior": pl.col("t")} if call.get("prior") == "t" else {}
    expected = log.lazy().ec.capacity("p", "y", **call | by_row).collect()
    found = in_sql(connection, call)
    assert found.columns == expected.columns
    assert_frame_equal(found, expected, rel_tol=1e-7, abs_tol=1e-9)


def test_ties_and_a_log_without_rows() -> None:
    connection = database().cursor()
    connection.register("log", pl.DataFrame({"p": [0.9, 0.7, 0.7, 0.7, 0.1], "y": [1, 1, 0, 0, 1]}).to_arrow())
    shown = in_sql(connection, {"k": 2}).select("selected", "tied", "threshold", "precision", "recall", "lift")
    assert shown.row(0) == (2, 3, 0.7, pytest.approx(2 / 3), pytest.approx(4 / 9), pytest.approx(10 / 9))
    connection.register("log", pl.DataFrame(schema={"p": pl.Float64, "y": pl.Boolean}).to_arrow())
    assert in_sql(connection, {"k": 2}).row(0) == (*(0,) * 3, None, 0, 0, *(None,) * 6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("p, y", "pass either k := 50, the number of rows per period, or share"),
        ("p, y, k := 3, share := 0.1", "pass either k := 50"),
        ("p, y, k := 2.5", "k := 2.5 is not a whole number from 1"),
        ("p, y, share := 5", "share must be above 0 and at most 1, not 5"),
        ('p, y, k := 3, "interval" := 0.9', '"interval" needs period'),
        pytest.param(
            'p, y, k := 3, period := k, "interval" := 95', "is not a level between 0 and 1", marks=pytest.mark.slow
        ),
        ("p, y, 3", "must be named"),
        ("p, y, k := 3, prior := NULL", "prior := NULL is not a prior"),
        ("p, y, k := 3, cost_fn := -1", "costs must be finite numbers that are not negative"),
        ("p, y, k := 3, groups := ['q']", "name a column that the log does not have"),
        ("q, y, k := 3", 'column "q" not found'),
        ("'p', y, k := 3", "the score is text"),
        ("[p, p], y, k := 3", "takes one score per row"),
        ("y, p, k := 3", "a BOOLEAN score is a decision"),
    ],
)
def test_misuse_says_what_to_do(arguments: str, message: str) -> None:
    connection = database().cursor()
    connection.register("log", hostile_log(0, 20).to_arrow())
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(f"FROM ec.capacity('log', {arguments})")
