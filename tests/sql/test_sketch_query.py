"""The sketch query runs in three engines as NumPy says, and parses in the dialects of the others."""

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

from polars_ec.output.dialects import WarehouseDialect
from polars_ec.sql.sketch_query import sketch_query
from tests.support.cases import mostly_slow
from tests.support.database import database
from tests.support.warehouse_cases import CASES, CLUSTERS, Case, check, write_log

FUNCTIONS = (exp.Abs, exp.And, exp.Case, exp.Cast, exp.Coalesce, exp.Count, exp.Exp, exp.Floor, exp.If, exp.Ln, exp.Or)
SPARK_CAST = exp.TryCast  # what sqlglot makes of Spark's CAST
PARSED = [dialect for dialect in get_args(WarehouseDialect) if dialect != "datafusion"]


def in_dialects(cases: list[Case]) -> list[Any]:
    """Every case in every dialect; `make test` has a third of them, with every case and every dialect."""
    every = [(i + k, case, dialect) for i, case in enumerate(cases) for k, dialect in enumerate(PARSED)]
    quick = [(case, dialect) for i, case, dialect in every if i % 3 == 0]
    return mostly_slow([(case, dialect) for _, case, dialect in every], quick)


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return write_log(tmp_path_factory.mktemp("warehouse") / "log.parquet")


@pytest.fixture(scope="module")
def log(path: Path) -> pl.DataFrame:
    return pl.read_parquet(path)


@pytest.mark.quick("posterior", "clusters_log_odds")
@pytest.mark.parametrize(
    "case", mostly_slow([*CASES, *CLUSTERS], [*CASES[::2], *CLUSTERS[::2]]), ids=lambda case: case.name
)
def test_duckdb(case: Case, path: Path, log: pl.DataFrame) -> None:
    with database().cursor() as connection:
        check(case, log, connection.sql(case.query("duckdb", f"read_parquet('{path}')")).pl())


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", mostly_slow([*CASES, *CLUSTERS], [*CASES[::3], *CLUSTERS[:1]]), ids=lambda case: case.name
)
def test_datafusion(case: Case, path: Path, log: pl.DataFrame) -> None:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_parquet("log", str(path))
    check(case, log, pl.from_arrow(context.sql(case.query("datafusion")).to_arrow_table()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", mostly_slow([*CASES, *CLUSTERS], [*CASES[::3], *CLUSTERS[:1]]), ids=lambda case: case.name
)
def test_clickhouse(case: Case, path: Path, log: pl.DataFrame) -> None:
    chdb = pytest.importorskip("chdb")
    check(case, log, pl.from_arrow(chdb.query(case.query("clickhouse", f"file('{path}', Parquet)"), "ArrowTable")))


@pytest.mark.parametrize(("case", "dialect"), in_dialects(CASES), ids=lambda value: getattr(value, "name", value))
def test_every_dialect_parses_and_has_no_other_functions(case: Case, dialect: str) -> None:
    own = {"by": {"Month": "ts", "The segment": "segment"}} if "by" in case.arguments else {}
    text = Case(case.name, case.score, {**case.arguments, **own}, case.label).query(dialect)
    query = sqlglot.parse_one(text, dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    assert isinstance(query, exp.Select)
    own_tests = {exp.IsInf, exp.Anonymous} if dialect == "duckdb" else set()
    assert {type(function) for function in query.find_all(exp.Func)} <= {*FUNCTIONS, exp.Sum, SPARK_CAST, *own_tests}
    own_names = ["Month", "The segment"] if own else []
    assert query.named_selects[: len(own_names) + 4] == [*own_names, "class", "bin", "above", "n"]
    assert all(select.args["alias"].args["quoted"] for select in query.selects)
    assert sqlglot.transpile(text, read=dialect, write=dialect)


@pytest.mark.slow
@pytest.mark.parametrize(("case", "dialect"), in_dialects(CLUSTERS), ids=lambda value: getattr(value, "name", value))
def test_every_dialect_parses_clusters(case: Case, dialect: str) -> None:
    text = case.query(dialect)
    query = sqlglot.parse_one(text, dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    columns = ["table", "bucket", "class", "bin", "above", "n", "weight", "weight2"]
    own = [name for name in query.named_selects if name not in ("segment", "log_loss", "brier", "posterior")]
    assert own == [*columns, "hash"]
    named = "murmur3" if dialect == "duckdb" else f"md5 by {dialect}"
    assert f"'{named}'" in text
    assert ("ec.bucket(" in text) == (dialect == "duckdb")
    # The log is read once.
    assert text.count("FROM log") == 1
    assert sqlglot.transpile(text, read=dialect, write=dialect)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cluster": "account", "buckets": 4}, "buckets=4 is not a whole number from 5 to 1000"),
        ({"cluster": "account", "buckets": 1001}, "buckets=1001"),
        ({"buckets": 20}, "buckets=20 is the number of hash buckets of clusters: pass cluster="),
        ({"cluster": ""}, "cluster=''"),
        ({"cluster": "a, b"}, "is not one expression"),
        ({"cluster": "a", "by": {"bucket": "b"}}, "'bucket', which is also a column of the sketch"),
        ({"by": {"Table": "b"}}, "'Table', which is also a column of the sketch"),
        # Their sums would stand in the place of the groups.
        ({"by": ["brier"]}, "'brier', which is also a column of the sketch"),
        ({"by": {"Log_Loss": "b"}, "score_type": "raw"}, "'Log_Loss', which is also a column of the sketch"),
    ],
)
def test_clusters_that_are_none(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        sketch_query("log", "p", "y", **arguments)
    if "bucket" in arguments.get("by", ()):
        assert '"bucket"' in sketch_query("log", "p", "y", by=arguments["by"])


@pytest.mark.slow
def test_databricks_reads_what_spark_reads() -> None:
    assert all(case.query("databricks") == case.query("spark") for case in CASES)


def run(source: str = "log", score: str = "p", label: str = "y", **arguments: Any) -> list[tuple[Any, ...]]:
    """Keys, class, bin, above and n in DuckDB, in order."""
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE log AS FROM (VALUES (0.9, true, 1, 'a', 'nan'::DOUBLE), (0.2, false, 0, 'a', 0.5), "
        "(0.6, NULL, NULL, 'b', 'nan'::DOUBLE), (1.5, true, 2, 'b', NULL)) AS t(p, y, code, \"Group by\", g)"
    )
    frame = connection.sql(f"FROM ({sketch_query(source, score, label, resolution=1, **arguments)})").pl()
    end = frame.columns.index("n")
    return frame.select(frame.columns[: end + 1]).sort(pl.all()).rows()


PLAIN = [(None, None, None, 1), (-1, None, None, 1), (0, -2, 0, 1), (1, 2, 0, 1)]


@pytest.mark.parametrize(
    ("source", "score", "label"),
    [
        ("log", "p", "y"),
        ("main.log AS t", "t.p", '"y"'),
        ("(SELECT * FROM log WHERE p > 0) -- all", "p + 0 -- nothing", "NOT NOT y"),
        ("log LEFT JOIN (SELECT 1 AS one) ON one = code AND false", "CAST(p AS FLOAT)", "y /* why */"),
        ("log", "(SELECT p)", "code = 1 AND y"),
        ("log", "p", "CASE WHEN y IS NOT NULL THEN y END"),
    ],
)
def test_the_callers_sql(source: str, score: str, label: str) -> None:
    assert run(source, score, label) == PLAIN


def test_keys() -> None:
    assert run(by='"Group by"') == run(by={"any": '"Group by"'})
    names = duckdb.sql(sketch_query("(SELECT 1 AS a, 2 AS p, true AS y) AS t", "p", "y", by=["t.a"])).columns
    assert names[:2] == ["a", "class"]
    assert [row[0] for row in run(by={'a "b"': "code % 2"})] == [None, 0, 0, 1]
    keys = [row[0] for row in run(by=["g"])]
    assert sum(key is None for key in keys) == 1
    assert sum(key is not None and math.isnan(key) for key in keys) == 2
    assert run("(SELECT * FROM log WHERE false)") == []


def test_labels_of_other_types() -> None:
    assert run(label="code", classes=(0, 1)) == PLAIN
    assert run(label="code", classes=[0.0, 1.0]) == PLAIN
    assert run(label="code", pos_label=1) == PLAIN
    assert run(label="CASE WHEN y THEN 'it''s' ELSE 'ec_text_0' END", classes=("ec_text_0", "it's")) != PLAIN
    assert run(label="CASE WHEN y THEN 'it''s' WHEN NOT y THEN 'no' END", pos_label="it's") == PLAIN


OWN_NAMES = ["ec_text_0", "ec_text_1", "ec_key_0", "ec_score", "ec_class", "ec_rows", "EC_TEXT_0", "ec1_text_0"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", mostly_slow(["duckdb", "datafusion", "clickhouse"], ["duckdb", "datafusion"]))
def test_names_that_the_query_uses_itself(engine: str, tmp_path: Path) -> None:
    """As names of groups and their values, of the log's columns and of the log."""
    frame = pl.DataFrame({"g": ["ec_text_0", "b", "b"], "p": [0.9, 0.4, 0.2], "y": [1, 0, 1]})

    def rows(score: str, label: str, group: str, name: str) -> list[tuple[Any, ...]]:
        path = tmp_path / "log.parquet"
        frame.rename({"p": score, "y": label, "g": group}).write_parquet(path)
        tables = {"duckdb": f"(FROM read_parquet('{path}')) AS ec_rows", "datafusion": "ec_rows"}
        table = tables.get(engine, f"file('{path}', Parquet) AS ec_rows")
        text = sketch_query(table, score, label, by={name: f'"{group}"'}, classes=(0, 1), resolution=1, dialect=engine)
        if engine == "duckdb":
            found = duckdb.sql(text).pl()
        elif engine == "datafusion":
            context = pytest.importorskip("datafusion").SessionContext()
            context.register_parquet("ec_rows", str(path))
            found = pl.from_arrow(context.sql(text).to_arrow_table())
        else:
            found = pl.from_arrow(pytest.importorskip("chdb").query(text, "ArrowTable"))
        assert found.columns[0] == name
        return found.sort(pl.all()).rows()

    plain = rows("p", "y", "g", "g")
    assert len(plain) == 3
    for name in OWN_NAMES:
        assert rows("p", "y", "g", name) == plain
        assert rows("p", "y", name, name) == plain
    assert rows("ec_score", "ec_label", "ec_key_0", "ec_key_0") == plain
    assert rows("ec_class", "ec_score", "ec_text_0", "Ec_Text_1") == plain


def test_score_and_label_swapped() -> None:
    assert all(row[0] in (None, -1) for row in run(score="y", label="p"))


BAD_CALLS = [
    ({"dialect": "mysql"}, "dialect='mysql' is none of bigquery"),
    ({"score_type": "decision"}, "score_type='decision' cannot be sketched"),
    ({"resolution": 0}, "resolution=0 is not valid: pass a whole number"),
    ({"resolution": True}, "resolution=True"),
    ({"resolution": 1.5}, "resolution=1.5"),
    ({"resolution": 2_000_000}, "nat, 1 to 4096"),
    ({"thresholds": [0.5, math.nan]}, "thresholds=nan"),
    ({"thresholds": 0.5}, r"pass \[0.5\]"),
    ({"thresholds": ["half"]}, "thresholds='half'"),
    ({"table": " "}, "table=' '"),
    ({"table": "log WHERE p > 0"}, "put a query into parentheses"),
    ({"table": "log; DROP TABLE log"}, "DROP TABLE"),
    ({"score": ""}, "score=''"),
    ({"score": None}, "score=None"),
    ({"score": "p, q"}, "score='p, q' is not one"),
    ({"score": "p AS score"}, "not one expression"),
    ({"score": "*"}, "not one expression"),
    ({"score": "p FROM log"}, "not one expression"),
    ({"score": "p) FROM log --"}, "is not valid SQL for duckdb"),
    ({"label": "CASE WHEN"}, "is not valid SQL for duckdb"),
    ({"weight": "1 +"}, r"weight='1 \+' is not valid SQL"),
    ({"by": [""]}, "by=''"),
    ({"by": [3]}, "by=3"),
    ({"by": ["a + 1"]}, "pass {name: 'a [+] 1'}"),
    ({"by": {3: "a"}}, "by= has 3"),
    ({"by": {" ": "a"}}, "by= has ' '"),
    ({"by": {"month": ""}}, r"by\['month'\]=''"),
    ({"by": ["Class"]}, "by={'Class_': 'Class'}"),
    ({"by": ["a", "A"]}, "'A' twice"),
    ({"classes": (0, 1, 2)}, "one score per row is for two"),
    ({"classes": (0, None)}, "classes holds None"),
    ({"pos_label": math.nan}, "pos_label holds nan"),
    ({"pos_label": 1, "classes": (0, 1)}, "not both"),
]


@pytest.mark.parametrize(("wrong", "message"), BAD_CALLS)
def test_bad_calls_are_errors(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        sketch_query(**{"table": "log", "score": "p", "label": "y", **wrong})


def test_without_sqlglot(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlglot", None)
    with pytest.raises(ImportError, match=r"polars_ec\[warehouse\]"):
        sketch_query("log", "p", "y")


def test_the_docstring_is_complete() -> None:
    text = inspect.getdoc(sketch_query) or ""
    for part in (
        "Parameters",
        "Returns",
        "Raises",
        "References",
        "Examples",
        *inspect.signature(sketch_query).parameters,
    ):
        assert f"\n{part}\n" in text
