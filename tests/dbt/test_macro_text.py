"""Where DuckDB has the macros, the report of dbt is a call of ec.report, with the columns and numbers of Polars."""

from __future__ import annotations

from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from tests.support.database import database
from tests.support.dbt_calls import macro_call
from tests.support.dbt_text import package
from tests.support.report_queries import (
    ALL,
    CASES,
    COSTS_OF_ROWS,
    COSTS_OF_ROWS_WITH_LIMITS,
    ReportCase,
    check,
    make_log,
)
from tests.support.slow import mostly_slow

EVERY = [*CASES, *COSTS_OF_ROWS, *COSTS_OF_ROWS_WITH_LIMITS]
QUICK = [case for case in EVERY if case.name in ("costs_of_rows", "month", "classes", "llr", "decision")]
SCORES = [
    "score",
    "log",
    "label",
    "groups",
    "prior",
    "threshold",
    "weight",
    "metrics",
    "n",
    "nec",
    "cluster",
    "buckets",
    "values_",
    "ends",
]


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return make_log()


@pytest.fixture(scope="module")
def connection(log: pl.DataFrame) -> duckdb.DuckDBPyConnection:
    connection = database().cursor()
    rows = log.to_arrow()
    connection.register("rows_of_log", rows)
    connection.execute("CREATE TEMP TABLE log AS FROM rows_of_log")
    return connection


def text(table: str, score: str, label: str, **arguments: Any) -> str:
    return package("duckdb", macros_of_duckdb=True).report(table, score, label, **arguments)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.quick("classes", "llr")
@pytest.mark.parametrize("case", mostly_slow(EVERY, QUICK), ids=lambda case: case.name)
def test_reports(case: ReportCase, log: pl.DataFrame, connection: duckdb.DuckDBPyConnection) -> None:
    query = macro_call(case, "duckdb", macros_of_duckdb=True)
    check(case, log, connection.sql(f"SELECT * FROM ({query}) AS report").pl())


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.quick("metrics1")
@pytest.mark.parametrize("metrics", [None, ALL])
def test_columns_of_every_option_in_the_order_of_polars(
    metrics: list[str] | None, log: pl.DataFrame, connection: duckdb.DuckDBPyConnection
) -> None:
    options: dict[str, Any] = {"by": ["segment"], "prior": 0.3, "interval": 0.9, "min_rows": 20, "total": True}
    wanted = log.ec.report("p", "late", metrics=metrics, **options)
    found = connection.sql(text("log", "p", "late", metrics=metrics, **options)).pl()
    # An interval of no width is of squares that cancel: 1.5e-8 apart.
    assert_frame_equal(found, wanted, rel_tol=1e-7, abs_tol=1e-7, check_row_order=False)


@pytest.mark.quick("nec")
@pytest.mark.parametrize("name", mostly_slow(SCORES, ["label", "nec"]))
def test_columns_that_are_called_as_arguments_of_the_macro(name: str, connection: duckdb.DuckDBPyConnection) -> None:
    rows = "(VALUES ('a', 0.9, true, 1.0), ('a', 0.6, false, 3.0), ('b', 0.2, false, 1.0))"
    for place in range(4):
        names = ["g", "p", "y", "w"]
        names[place] = name
        connection.execute(f"CREATE OR REPLACE TEMP TABLE named AS FROM {rows} AS named({', '.join(names)})")
        by = {"key": names[0]} if names[0] in ("n", "nec") else [names[0]]
        query = text("named", names[1], names[2], by=by, metrics=["accuracy"], weight=names[3])
        assert connection.sql(query).pl().sort(pl.first())["accuracy"].to_list() == [0.25, 1.0], name


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.parametrize("options", [{"classes": ["no", "yes"]}, {"pos_label": "yes"}])
def test_labels_that_are_no_class(options: dict[str, Any], connection: duckdb.DuckDBPyConnection) -> None:
    rows = pl.DataFrame(
        {"g": ["a", "a", "b", "b", "c"], "p": [0.9, 0.2, 0.3, 0.3, 0.3], "y": ["yes", "no", "maybe", "no", None]}
    )
    connection.execute("CREATE OR REPLACE TEMP TABLE named AS FROM (VALUES ('a', 0.9, 'yes'), ('a', 0.2, 'no'), "
                       "('b', 0.3, 'maybe'), ('b', 0.3, 'no'), ('c', 0.3, NULL)) AS named(g, p, y)")  # fmt: skip
    wanted = rows.ec.report("p", "y", by="g", metrics=["accuracy"], **options)
    for macros_of_duckdb in (False, True):
        macros = package("duckdb", macros_of_duckdb=macros_of_duckdb)
        query = macros.report("named", "p", "y", by=["g"], metrics=["accuracy"], **options)
        assert connection.sql(query).pl().sort("g").rows() == wanted.rows()


@pytest.mark.slow
def test_reports_of_reports_and_qualified_names(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE named AS FROM (VALUES ('a', 0.9, true, 2), ('a', 0.2, false, 1), ('b', 0.3, true, 1))"
        " AS named(g, p, y, w)"
    )
    report = text("(SELECT * FROM named) AS t", 't."p"', "t.y", by=["t.g"], weight="t.w", cluster="t.g", interval=0.9)
    wanted = text("named", "p", "y", by=["g"], weight="w", cluster="g", interval=0.9)
    assert connection.sql(report).order("g").fetchall() == connection.sql(wanted).order("g").fetchall()
    # DuckDB expands no macro within itself; a view has its text, and the log of the next report is in a WITH clause.
    macros = package("duckdb", macros_of_duckdb=True)
    connection.execute(f"CREATE OR REPLACE TEMP VIEW report_1 AS {text('named', 'p', 'y', by=['g'])}")
    connection.execute(f"CREATE OR REPLACE TEMP VIEW sketch_1 AS {macros.sketch('named', 'p', 'y', by=['g'])}")
    for source, score in (("report_1", "recall"), ("sketch_1", "0.6")):
        connection.execute(f"CREATE OR REPLACE TEMP TABLE kept AS FROM {source}")
        for calls in (macros.report, macros.sketch):
            found, wanted = (
                sorted(connection.sql(calls(table, score, "n > 1", by={"key": "n"})).fetchall(), key=repr)
                for table in (source, "kept")
            )
            assert found == wanted
            assert found
