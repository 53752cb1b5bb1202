"""The macro polars_ec.sketch writes what ec.sketch_query writes, in nine dialects; and what it refuses."""

from __future__ import annotations

import math
import re
from typing import Any, get_args

import polars as pl
import pytest
import sqlglot
from sqlglot import exp

import polars_ec as ec
from polars_ec.output.dialects import WarehouseDialect
from sql.generate import dbt_sketch_parts
from tests.support.cases import mostly_slow
from tests.support.database import database
from tests.support.dbt_text import CompileError, package
from tests.support.warehouse_cases import CASES, CLUSTERS, MONTH, MONTH_IN, Case, check, make_log

DIALECTS = get_args(WarehouseDialect)


def macro_call(case: Case, dialect: str, table: str = "log", *, macros: bool = False) -> str:
    """The text of the macro for a call of sketch_query."""
    arguments = dict(case.arguments)
    if "month" in arguments.get("by", ()):
        arguments["by"] = {**arguments["by"], "month": MONTH_IN.get(dialect, MONTH)}
    macros_of = package(dialect, True) if macros else package(dialect)
    return macros_of.sketch(table, case.score, case.label, **arguments)


def shape(query: str, dialect: str) -> str:
    """What a query says, without casts to a float of what is divided by one."""
    tree = sqlglot.parse_one(query, dialect="duckdb" if dialect == "datafusion" else dialect)
    for cast in [division.this for division in tree.find_all(exp.Div) if isinstance(division.this, exp.Cast)]:
        cast.replace(cast.this)
    # There are three ways to say this.
    return re.sub(r"NOT (\w+) IS NULL|NOT \((\w+) IS NULL\)", r"\1\2 IS NOT NULL", tree.sql())


def in_dialects(cases: list[Case], dialects: list[str]) -> list[Any]:
    every = [(i + k, case, dialect) for i, case in enumerate(cases) for k, dialect in enumerate(dialects)]
    return mostly_slow([(c, d) for _, c, d in every], [(c, d) for i, c, d in every if i % 10 == 0])


@pytest.mark.quick(
    "posterior-bigquery",
    "posterior_month-trino",
    "log_odds_weighted-databricks",
    "llr-clickhouse",
    "posterior_codes-postgres",
    "clusters-bigquery",
)
@pytest.mark.parametrize(
    ("case", "dialect"),
    [
        *in_dialects(CASES, [*DIALECTS]),
        *in_dialects(CLUSTERS, [dialect for dialect in DIALECTS if dialect not in ("duckdb", "datafusion")]),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_the_text_is_that_of_the_sketch_query(case: Case, dialect: str) -> None:
    assert shape(macro_call(case, dialect), dialect) == shape(case.query(dialect), dialect)


@pytest.mark.parametrize("case", CLUSTERS, ids=lambda case: case.name)
def test_clusters_in_duckdb_without_macros_are_dealt_out_as_in_datafusion(case: Case) -> None:
    text = re.sub(r" AND \(ISFINITE\(\w+\) OR ISINF\(\w+\)\)", "", macro_call(case, "duckdb"))
    wanted = case.query("datafusion").replace("md5 by datafusion", "md5 by duckdb")
    assert shape(text, "duckdb") == shape(wanted, "duckdb")


@pytest.mark.parametrize("dialect", mostly_slow(DIALECTS, ["clickhouse", "spark"]))
def test_names_and_labels_that_need_quotes(dialect: str) -> None:
    quoted = package(dialect).sql_name("my col")
    arguments: dict[str, Any] = {"by": {'a"b` c': quoted, "ec_bin": "x -- y"}, "pos_label": "it's\\ late"}
    text = package(dialect).sketch("log", quoted, "ec_text_0", **arguments)
    wanted = ec.sketch_query("log", quoted, "ec_text_0", dialect=dialect, **arguments)
    assert shape(text, dialect) == shape(wanted, dialect)


def test_adapters_that_take_after_another() -> None:
    for case in [*CASES[:1], *CLUSTERS[:1]]:
        for adapter, parent in (("redshift", "postgres"), ("databricks", "spark")):
            assert macro_call(case, adapter) == macro_call(case, parent).replace(
                f"md5 by {parent}", f"md5 by {adapter}"
            )


@pytest.mark.parametrize(
    ("case", "macros"),
    mostly_slow(
        [(case, macros) for case in [*CASES, *CLUSTERS] for macros in (True, False)],
        [(CASES[3], False), (CLUSTERS[0], False)],
    ),
    ids=lambda value: getattr(value, "name", str(value)),
)
def test_duckdb(case: Case, macros: bool) -> None:
    log = make_log()
    cursor = database().cursor()
    cursor.register("log", log)
    found = cursor.sql(macro_call(case, "duckdb", macros=macros)).pl()
    # Sketch.from_arrow reads either.
    found = found.with_columns(pl.col("^log_loss$").replace(math.inf, 0.0)) if macros else found
    check(case, log, found)


def test_group_columns_by_the_macros() -> None:
    """Names with quotes, of the macro's parameters, and of columns of the log."""
    cursor = database().cursor()
    cursor.execute(
        "CREATE TEMP TABLE groups AS FROM (VALUES (0.9, true, 'a'), (0.9, true, 'A'), (0.2, false, 'b')) AS t(score, label, log)"
    )
    by = {"score": "upper(log)", 'a "b"': "log", "ec_key_0": "1", "groups": "label"}
    found = cursor.sql(f"SELECT * FROM ({package('duckdb', True).sketch('groups', 'score', 'label', by=by)}) AS t").pl()
    assert found.columns == [*by, "class", "bin", "above", "n", "weight", "weight2", "log_loss", "brier", "posterior"]
    assert found.select([*by, "n"]).sort(by="log" if "log" in found else 'a "b"').rows() == [
        ("A", "A", 1, True, 1), ("A", "a", 1, True, 1), ("B", "b", 1, False, 1)
    ]  # fmt: skip


BAD_CALLS: list[tuple[dict[str, Any], str]] = [
    ({"score_type": "decision"}, "score_type='decision' cannot be sketched"),
    ({"score_type": None}, "score_type=None"),
    ({"resolution": 0}, "resolution=0 is not a whole number from 1 to 4096"),
    ({"resolution": True}, "resolution=True"),
    ({"resolution": 1.5}, "resolution=1.5"),
    ({"resolution": "64"}, "resolution='64'"),
    ({"resolution": None}, "resolution is none"),
    ({"resolution": 4097}, "resolution=4097"),
    ({"thresholds": [0.5, math.nan]}, "thresholds=nan"),
    ({"thresholds": 0.5}, r"pass \[0.5\]"),
    ({"thresholds": ["0.5"]}, "thresholds='0.5' is not a number"),
    ({"thresholds": None}, "thresholds=None"),
    ({"relation": " "}, "relation=' ' is not a table"),
    ({"relation": None}, "relation=None is not a table"),
    ({"score": ""}, "score=''"),
    ({"score": None}, "score=None"),
    ({"label": 1}, "label=1"),
    ({"weight": 1}, "weight=1"),
    ({"cluster": ""}, "cluster=''"),
    ({"cluster": "a", "buckets": 4}, "buckets=4 is not a whole number from 5 to 1000"),
    ({"buckets": 20}, "there is no cluster="),
    ({"by": [""]}, "by has ''"),
    ({"by": [3]}, "by has 3"),
    ({"by": ["a + 1"]}, r"pass \{'name': 'a \+ 1'\}"),
    ({"by": {3: "a"}}, "by has 3 for a name"),
    ({"by": ["Class"]}, "'Class', which is also a column of the sketch"),
    ({"by": ["t.brier"]}, "'brier', which is also a column of the sketch"),
    ({"by": {"table": "a"}}, "'table', which is also a column of the sketch"),
    ({"by": {"Bucket": "b"}, "cluster": "a"}, "'Bucket', which is also a column of the sketch"),
    ({"by": ["a", "A"]}, "'A' twice"),
    ({"classes": [0, 1, 2]}, "two labels"),
    ({"classes": [0, None]}, "classes holds None"),
    ({"pos_label": math.nan}, "pos_label holds nan"),
    ({"pos_label": 1, "classes": [0, 1]}, "not both"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD_CALLS)
@pytest.mark.parametrize("macros", [True, False])
def test_bad_calls_are_errors(wrong: dict[str, Any], message: str, macros: bool) -> None:
    with pytest.raises(CompileError, match=message):
        (package("duckdb", True) if macros else package("duckdb")).sketch(
            **{"relation": "log", "score": "p", "label": "y", **wrong}
        )


def test_a_bucket_is_a_group_column_where_there_are_no_clusters() -> None:
    assert '"bucket"' in package("postgres").sketch("log", "p", "y", by=["bucket"])


def test_what_is_generated_is_current() -> None:
    assert dbt_sketch_parts.FILE.read_text("utf-8") == dbt_sketch_parts.macros()
