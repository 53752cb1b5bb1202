"""The report query runs in three engines as Polars makes the report, and parses in the dialects of the others."""

from __future__ import annotations

import inspect
import math
import sys
from pathlib import Path
from typing import Any, get_args

import duckdb
import polars as pl
import pytest
import sqlglot
from sqlglot import exp

import polars_ec as ec
from polars_ec.output.dialects import WarehouseDialect
from polars_ec.sql.macro_formulas import MacroFormulas
from polars_ec.sql.report_query import report_query
from tests.support.cases import mostly_slow
from tests.support.report_queries import (
    ALL,
    CASES,
    COSTS_OF_ROWS,
    LOSSES,
    OF_DECISIONS,
    ReportCase,
    check,
    make_log,
    write_log,
)

PARSED = [dialect for dialect in get_args(WarehouseDialect) if dialect != "datafusion"]
SPARK_CAST = exp.TryCast  # what sqlglot makes of Spark's CAST
FUNCTIONS = {
    *(exp.Abs, exp.And, exp.Case, exp.Cast, exp.Coalesce, exp.Count, exp.Exp, exp.If, exp.Least, exp.Ln, exp.Nullif, exp.Or),
    *(exp.Sqrt, exp.Sum, SPARK_CAST),
    *(exp.Max, exp.Pow, exp.Tanh),  # of limits
}  # fmt: skip
EVERY = [*CASES, *COSTS_OF_ROWS]
QUICK = [case for case in EVERY if case.name in ("weighted_usual", "llr", "no_rows")]


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return write_log(tmp_path_factory.mktemp("warehouse") / "log.parquet")


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return make_log()


@pytest.mark.quick("usual", "all", "weighted", "month", "no_rows", "llr", "llr_certain", "log_odds", "decision")
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_duckdb(case: ReportCase, path: Path, log: pl.DataFrame) -> None:
    check(case, log, duckdb.sql(case.query("duckdb", f"read_parquet('{path}')")).pl())


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly_slow(EVERY, QUICK), ids=lambda case: case.name)
def test_datafusion(case: ReportCase, path: Path, log: pl.DataFrame) -> None:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_parquet("log", str(path))
    check(case, log, pl.from_arrow(context.sql(case.query("datafusion")).to_arrow_table()))


@pytest.mark.slow
@pytest.mark.parametrize("case", mostly_slow(EVERY, QUICK[:2]), ids=lambda case: case.name)
def test_clickhouse(case: ReportCase, path: Path, log: pl.DataFrame) -> None:
    chdb = pytest.importorskip("chdb")
    check(case, log, pl.from_arrow(chdb.query(case.query("clickhouse", f"file('{path}', Parquet)"), "ArrowTable")))


def test_the_log_has_all_kinds_of_values(log: pl.DataFrame) -> None:
    """Each metric has values, and is null; those that may be infinite are."""
    usual, of_all, weighted = (
        next(c for c in CASES if c.name == name).wanted(log) for name in ("usual", "all", "weighted")
    )
    assert usual["n_missing"].n_unique() > 3
    assert usual["n_invalid"].sum() > 3
    for name in ALL:
        values = of_all[name].drop_nulls()
        assert 0 < len(values) < len(of_all)
        assert values.n_unique() > 3
    infinite = [
        name for name in ALL if name in weighted.columns and weighted[name].cast(pl.Float64).is_infinite().any()
    ]
    assert infinite == ["lr_plus", "lr_minus", "precision_gain", "recall_gain", "cross_entropy", "nce"]


@pytest.mark.quick("weighted_usual-spark", "month-trino", "usual-snowflake", "llr_impossible-postgres")
@pytest.mark.parametrize(
    ("case", "dialect"),
    mostly_slow(
        [(case, dialect) for case in EVERY for dialect in PARSED],
        [(CASES[i], dialect) for i, dialect in zip((0, 3, 4, 11, 15, 0, 3, 4), PARSED, strict=True)],
    ),
    ids=lambda value: getattr(value, "name", value),
)
def test_every_dialect_parses_and_has_no_other_functions(case: ReportCase, dialect: str) -> None:
    query = sqlglot.parse_one(text := case.query(dialect), dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    assert isinstance(query, exp.Select)
    own = {exp.IsInf, exp.Anonymous} if dialect == "duckdb" else set()
    months = query.find_all(exp.TimestampTrunc, exp.DateTrunc) if "month" in case.keys else []
    callers = {node for month in months for node in month.walk()}
    assert {type(function) for function in query.find_all(exp.Func) if function not in callers} <= FUNCTIONS | own
    assert {node.name.upper() for node in query.find_all(exp.Anonymous)} <= {"ISFINITE"}
    assert query.named_selects == case.wanted(make_log().clear()).columns
    assert all(select.args["alias"].args["quoted"] for select in query.selects)
    assert sqlglot.transpile(text, read=dialect, write=dialect)


@pytest.mark.parametrize("name", ["ec_n", "ec_key_0", "ec_text_0", "ec_means", "EC_p1", "ec1_r11"])
def test_names_that_the_query_uses_itself(name: str) -> None:
    columns = (
        f"""(VALUES ('a', 0.9, true), ('a', 0.6, false), ('b', 0.2, false)) AS "{name}"("{name}", ec_used, ec_tp)"""
    )
    query = report_query(columns, "ec_used", "ec_tp", by={name: f'"{name}"'}, metrics=["accuracy", "precision"])
    assert duckdb.sql(query).pl().sort(name).select(name, "accuracy", "precision").rows() == [
        ("a", 0.5, 0.5),
        ("b", 1, None),
    ]


def test_plain_sums_over_the_log_which_is_read_once() -> None:
    text = report_query("log", "p", "y", by="g", metrics=ALL, prior=0.1, weight="w")
    assert "ec." not in text
    assert text.count("FROM log") == text.count("GROUP BY") == 1
    assert text.startswith("WITH ")


def test_comments_behind_names() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE log AS FROM (VALUES ('a', 0.9, true, 1), ('a', 0.6, false, 3)) AS t(g, p, y, w)")
    names = {"score": "p -- of late", "label": "y -- late", "weight": "w -- days", "by": {"g": "g -- carrier"}}
    query = report_query("log -- all of it", metrics=["accuracy"], **names)
    assert connection.sql(query).pl().select("g", "accuracy").rows() == [("a", 0.25)]
    sketch = ec.sketch_query("log -- all of it", **names)
    assert connection.sql(sketch).pl()["n"].sum() == 2


def test_a_view_a_join_and_a_condition() -> None:
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE log AS FROM (VALUES ('a', 0.9, true), ('a', 0.6, false), ('b', 0.2, false)) AS t(g, p, y)"
    )
    connection.execute(f"CREATE VIEW report AS {report_query('log', 'p', 'y', by='g', metrics=['accuracy'])}")
    assert connection.sql("SELECT g, accuracy FROM report WHERE accuracy < 0.9").fetchall() == [("a", 0.5)]
    names = "(VALUES ('a', 'Anton'), ('b', 'Berta')) AS names(g, name)"
    found = connection.sql(f"SELECT name, n FROM report JOIN {names} USING (g) ORDER BY name").fetchall()
    assert found == [("Anton", 2), ("Berta", 1)]


@pytest.mark.quick("values0")
@pytest.mark.parametrize("values", [[math.nan, 0.5, 0.2, 0.9], [-math.nan, 1.0, 1.0, 2.0]])
def test_nan_that_statistics_of_a_parquet_file_pass_over(values: list[float], tmp_path: Path) -> None:
    """DuckDB takes for granted what holds of the least and the largest number."""
    rows = pl.DataFrame({"x": values, "half": [0.5] * 4, "y": [True, False, True, False]})
    rows.write_parquet(tmp_path / "log.parquet")
    table = f"read_parquet('{tmp_path / 'log.parquet'}')"
    wrong = 2 if max(values[1:]) > 1 else 1
    calls: list[tuple[dict[str, Any], int]] = [
        ({"score": "x"}, wrong),
        ({"score": "x", "score_type": "log_odds"}, 1),
        ({"score": "x", "score_type": "llr", "prior": 1}, 1),
        ({"score": "half", "weight": "x"}, 1),
    ]
    for arguments, n in calls:
        assert duckdb.sql(report_query(table, label="y", **arguments)).pl()["n_invalid"].item() == n
        if "prior" not in arguments:
            sketch = duckdb.sql(ec.sketch_query(table, label="y", **arguments)).pl()
            assert sketch.filter(pl.col("class") == -1)["n"].sum() == n


def test_formulas_are_those_of_the_macros() -> None:
    formulas = MacroFormulas({"_binary_cells": {"p1": "p1", "p0": "p0"}, "_r11": "hits", "_r01": "alarms"})
    of_one = "CASE WHEN {0} = 0 THEN 0e0 ELSE {0} * {1} END"
    hits, alarms = of_one.format("p1", "hits"), of_one.format("p0", "alarms")
    assert formulas.of("precision", {}) == f"{hits} / NULLIF({hits} + {alarms}, 0)"
    assert MacroFormulas({}).of("_ratio", {"x": "a + b", "y": "c"}) == "(a + b) / NULLIF(c, 0)"
    assert MacroFormulas({}).of("_minus_log1m", {"q": "a - b"}).startswith("((a - b) - (1 - (1 - (a - b)))) - LN(")


def test_numbers_as_snowflake_has_them() -> None:
    text = report_query("log", "p", "y", metrics=["f1", "lr_plus"], cost_fn=0.5, dialect="snowflake")
    assert "CAST('inf' AS DOUBLE)" in text
    literals = sqlglot.parse_one(text, dialect="snowflake").find_all(exp.Literal)
    assert [x.name for x in literals if not x.is_string and not x.name.isdigit()] == []


BAD_CALLS = [
    ({"dialect": "mysql"}, "dialect='mysql' is none of bigquery"),
    ({"score_type": "raw"}, "score_type='raw' is for ranking metrics"),
    (
        {"score_type": "posteriors"},
        r"score_type='posteriors' is for vectors, but report_query\(\) takes one score per row: pass the posterior of one",
    ),
    ({"score_type": "llr"}, "score_type='llr' needs prior="),
    ({"score_type": "llr", "threshold": 0.5}, "score_type='llr' needs prior="),
    ({"score_type": "llr", "metrics": ["recall"]}, "score_type='llr' needs prior="),
    ({"score_type": "decision", "threshold": 0.5}, "decisions already"),
    ({"score_type": "decision", "metrics": ["nce"]}, "'nce', which needs posteriors"),
    ({"metrics": ["bayes_risk"], "threshold": 0.5}, "'bayes_risk', which uses Bayes decisions"),
    ({"metrics": ["auc_roc"]}, r"sketch_query\(\)"),
    ({"metrics": ["ece"]}, r"sketch_query\(\)"),
    ({"metrics": ["macro_f1"]}, r"report\(\) on the log"),
    ({"metrics": ["confusion"]}, r"report_query\(\): pass tn, fp, fn, tp"),
    ({"metrics": ["fbeta"]}, "needs beta="),
    ({"metrics": ["precison"]}, "did you mean precision?"),
    ({"metrics": []}, "is empty"),
    ({"metrics": ["nec", "nec"]}, "'nec' twice"),
    ({"metrics": ["n"]}, "which every report has"),
    ({"prior": "overall"}, "count the overall prior"),
    ({"prior": pl.col("prior")}, r"takes numbers only"),
    ({"prior": 1.5}, "prior=1.5"),
    ({"prior": [0.2, 0.3, 0.5]}, r"has 3 shares, but there are 2 classes"),
    ({"prior": {"no": 0.2, "yes": 0.8}}, "prior= names the classes"),
    ({"cost_fn": -1}, "cost"),
    ({"cost_fn": pl.col("cost")}, "cost_fn=col.*cost.* is a column"),
    ({"cost_fn": "cost; DROP"}, "cost_fn='cost; DROP' cannot be part of a query"),
    ({"threshold": "limit"}, "threshold='limit' is a column"),
    ({"threshold": math.nan}, "threshold=nan is not a number"),
    ({"table": "log WHERE p > 0"}, "put a query into parentheses"),
    ({"score": "p, q"}, "score='p, q' is not one"),
    ({"label": "CASE WHEN"}, "is not valid SQL for duckdb"),
    ({"weight": "1 +"}, r"weight='1 \+' is not valid SQL"),
    ({"by": ["NEC"]}, "'NEC', which is also a column of the report"),
    ({"by": ["nec_at_prior"], "prior": 0.5}, "'nec_at_prior', which is also a column of the report"),
    ({"by": ["a", "A"]}, "'A' twice"),
    ({"classes": (0, 1, 2)}, "one score per row is for two"),
    ({"pos_label": 1, "classes": (0, 1)}, "not both"),
    ({"dialect": "postgres", "prior": 1e-60}, "prior=1e-60: products with it"),
    ({"dialect": "postgres", "cost_fp": 1e60}, r"cost_fp=1e\+60: products with it"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD_CALLS)
def test_bad_calls_are_errors(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        report_query(**{"table": "log", "score": "p", "label": "y", **wrong})


def test_calls_that_are_near_bad_ones() -> None:
    assert '"nec_at_prior"' in report_query("log", "p", "y", by="nec_at_prior")
    assert "cross_entropy" not in report_query("log", "x", "y", score_type="llr", threshold=0, metrics=["recall"])
    assert report_query("log", "p", "y", dialect="postgres", prior=0, cost_fn=0)


def test_every_metric_of_the_list_is_there() -> None:
    assert [*OF_DECISIONS, *LOSSES] == ALL
    columns = sqlglot.parse_one(report_query("log", "p", "y", metrics=ALL)).named_selects
    assert columns == ["n", *ALL, "class_prior", "n_missing", "n_invalid"]


def test_without_sqlglot(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ImportError, match=r"polars_ec\[warehouse\]"):
        report_query("log", "p", "y")


def test_the_docstring_is_complete() -> None:
    text = inspect.getdoc(report_query) or ""
    parts = ("Parameters", "Returns", "Raises", "References", "Examples", *inspect.signature(report_query).parameters)
    for part in parts:
        assert f"\n{part}\n" in text
