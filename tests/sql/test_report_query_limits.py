"""The limits that a report query makes are those of Polars' report, in three engines; and the queries are short, and parse in all dialects."""

from __future__ import annotations

import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import duckdb
import polars as pl
import pytest
import sqlglot
from sqlglot import exp

import polars_ec as ec
from polars_ec.inference.confidence import t_quantile
from polars_ec.output.dialects import WarehouseDialect, Writer
from polars_ec.sql.log_rows import with_levels
from polars_ec.sql.report_limits import t_levels
from polars_ec.sql.report_query import report_query
from tests.support.cases import mostly_slow
from tests.support.report_queries import (
    COSTS_OF_ROWS_WITH_LIMITS,
    OF_CLUSTERS,
    WITH_LIMITS,
    ReportCase,
    check,
    make_log,
    write_log,
)

DIALECTS = get_args(WarehouseDialect)
READ_AS = {"datafusion": "duckdb"}
EVERY = [*WITH_LIMITS, *COSTS_OF_ROWS_WITH_LIMITS, *OF_CLUSTERS]
QUICK = [
    case
    for case in EVERY
    if case.name in ("weighted_usual_limits", "costs_of_rows_threshold_limits", "clusters_codes_limits")
]
ROWS = "(VALUES (0.9, true), (0.6, false), (0.2, false), (0.3, true), (0.7, true), (0.1, false)) AS t(p, y)"


MANY_SCALES = replace(
    WITH_LIMITS[0],
    name="many_scales",
    arguments={**WITH_LIMITS[0].arguments, "metrics": ["recall_gain", "error_rate", "informedness", "nec", "lr_plus"]},
)
"""Bounds on five scales: a CASE on a CASE, and so on."""

EQUAL = pl.concat(
    pl.DataFrame({"g": g, "y": [True] * 60 + [False] * 60, "p": [high] * 60 + [low] * 59 + [last], "id": range(120)})
    for g, high, low, last in (
        ("apart", 0.9, 0.05, 0.05),
        ("equal", 0.95, 0.05, 0.05),
        ("one differs", 0.9, 0.1, 0.1001),
    )
)
"""Groups of losses that are equal within the classes, in one of them between the classes too; and that differ in one row."""


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return write_log(tmp_path_factory.mktemp("warehouse") / "log.parquet")


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return make_log()


@pytest.mark.parametrize("case", mostly_slow(EVERY, QUICK), ids=lambda case: case.name)
def test_duckdb(case: ReportCase, path: Path, log: pl.DataFrame) -> None:
    check(case, log, duckdb.sql(case.query("duckdb", f"read_parquet('{path}')")).pl())


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_datafusion(case: ReportCase, path: Path, log: pl.DataFrame) -> None:
    datafusion = pytest.importorskip("datafusion")
    context = datafusion.SessionContext()
    context.register_parquet("log", str(path))
    check(case, log, pl.from_arrow(context.sql(case.query("datafusion")).to_arrow_table()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        WITH_LIMITS[0],
        WITH_LIMITS[3],
        WITH_LIMITS[8],
        WITH_LIMITS[12],
        MANY_SCALES,
        COSTS_OF_ROWS_WITH_LIMITS[-2],
        *OF_CLUSTERS,
    ],
    ids=lambda case: case.name,
)
def test_clickhouse(case: ReportCase, path: Path, log: pl.DataFrame) -> None:
    chdb = pytest.importorskip("chdb")
    check(case, log, pl.from_arrow(chdb.query(case.query("clickhouse", f"file('{path}', Parquet)"), "ArrowTable")))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["nec", "nce"])
def test_the_macro_and_the_query_give_the_same(metric: str, log: pl.DataFrame) -> None:
    connection = duckdb.connect()
    ec.register(connection)
    connection.register(
        "log", log.filter(pl.col("segment").is_in(["plain", "rare", "right", "all wrong", "positive", "light"]))
    )
    made = connection.sql(
        report_query("log", "p", "late", by="segment", metrics=[metric], prior=0.2, weight="w", interval=0.9)
    ).pl()
    wanted = connection.sql(
        f"FROM ec.report('log', p, late, groups := ['segment'], metrics := ['{metric}'], prior := 0.2, weight := w, \"interval\" := 0.9)"
    ).pl()
    assert _largest(made, wanted) < 1e-9


@pytest.mark.slow
def test_losses_that_are_all_equal_have_no_limits() -> None:
    """Within the classes; of the report macro, its clusters, and the query. No Brier score is above 1, and no bound infinite."""
    names = ["cross_entropy", "nce", "brier", "nbs", "recall"]
    wanted = ec.report(EQUAL, "p", "y", by="g", metrics=names, prior=0.3, interval=0.95).sort("g")
    connection = duckdb.connect()
    ec.register(connection)
    connection.register("equal", EQUAL)
    made = [connection.sql(report_query("equal", "p", "y", by="g", metrics=names, prior=0.3, interval=0.95)).pl()]
    for cluster in ("", ", cluster := id"):
        macro = f"ec.report('equal', p, y, groups := ['g'], metrics := {names}, prior := 0.3, \"interval\" := 0.95{cluster})"
        made.append(connection.sql(f"FROM {macro}").pl())
    wild = EQUAL.filter(g="apart").head(62).with_columns(p=pl.Series([0.001, 0.9999] * 30 + [0.01, 0.02]))
    connection.register("wild", wild.filter(pl.col("id").is_in([0, 1, 60, 61])))
    for level, brier in ((0.999, 1.0), (1 - 1e-9, None)):
        query = report_query("wild", "p", "y", metrics=["brier"], interval=level)
        macro = f"FROM ec.report('wild', p, y, metrics := ['brier'], \"interval\" := {level})"
        assert [connection.sql(sql).pl()["brier_ci_high"].item() for sql in (query, macro)] == [brier] * 2
    missed = pl.DataFrame({"p": [0.01] * 8 + [0.9], "y": [1] * 8 + [0], "id": range(9)})
    connection.register("missed", missed)
    query = report_query("missed", "p", "y", metrics=["expected_cost"], cost_fn=5, interval=0.999)
    macro = "FROM ec.report('missed', p, y, metrics := ['expected_cost'], cost_fn := 5, \"interval\" := 0.999{})"
    for sql in (query, macro.format(""), macro.format(", cluster := id")):
        assert connection.sql(sql).pl()["expected_cost_ci_high"].item() == 5
    for table in (wanted, *made):
        shown = table.sort("g").select(pl.col("^(cross_entropy|nce|brier|nbs).*_ci_.*$").is_not_null())
        assert shown.select(known=pl.all_horizontal(pl.all()), none=~pl.any_horizontal(pl.all())).rows() == [
            (False, True),
            (False, True),
            (True, False),
        ]
        assert table["recall_ci_low"].null_count() == 0


@pytest.mark.slow
def test_shares_next_to_1() -> None:
    """Half a row is what precision lacks of 1, and its slopes are of what it lacks: lower limits by mpmath, from written-out derivatives."""
    low = {1.0: 0.988147037089924, 1e2: 0.999880062977916, 1e4: 0.999998800487352, 1e6: 0.999999988004859}
    rows = [row for w in low for row in [(w, 0.9, True, w)] * 1000 + [(w, 0.1, False, 1.0)] * 12]
    log = pl.DataFrame(rows, schema=["key", "p", "y", "w"], orient="row")
    arguments: dict[str, Any] = {"by": "key", "metrics": ["precision"], "weight": "w", "interval": 0.95}
    of_query = duckdb.sql(report_query("log", "p", "y", **arguments)).pl().sort("key")
    for made in (ec.report(log, "p", "y", **arguments), of_query):
        assert made["precision_ci_low"].to_list() == pytest.approx([*low.values()], rel=0, abs=3e-10)
        assert made["precision_ci_high"].to_list() == [1.0] * len(low)


def _largest(made: pl.DataFrame, wanted: pl.DataFrame) -> float:
    names = [name for name in wanted.columns if wanted.schema[name] == pl.Float64]
    made = made.sort("segment")
    assert made.select(pl.col(names).is_null()).equals(wanted.select(pl.col(names).is_null()))
    sizes = (wanted[name].abs().clip(1) for name in names)
    differences = ((made[name] - wanted[name]).abs() / size for name, size in zip(names, sizes, strict=True))
    return max(float(x.max() or 0) for x in differences)  # type: ignore[arg-type]


@pytest.mark.quick("0.95")
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999999])
def test_quantiles_of_t(level: float) -> None:
    """The levels of the query are the quantile of t, which has tests of its own."""
    degrees = [1.0, 1.5, 3.0, 28.25, 1e4, 1e12, 1e30]
    rows = ", ".join(f"({n!r}::DOUBLE)" for n in degrees)
    levels, source = {}, f"(VALUES {rows}) AS t(ec_nu)"
    for name, columns in t_levels(level, Writer("duckdb")).items():
        levels[name] = f"SELECT *, {', '.join(f'{sql} AS {column}' for column, sql in columns.items())} FROM {source}"
        source = name
    found = duckdb.sql(with_levels(levels, f"SELECT ec_nu, ec_t FROM {source} ORDER BY ec_nu")).fetchall()
    assert [t for _, t in found] == pytest.approx(t_quantile(0.5 + level / 2, degrees), rel=1e-11)


@pytest.mark.quick("postgres")
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_usual_query_is_short(dialect: WarehouseDialect) -> None:
    """And is parsed at the recursion limit that Python has by default: a parser calls itself for each parenthesis."""
    query = report_query("log", "p", "late", by="segment", prior=0.2, interval=0.95, dialect=dialect)
    assert len(query) <= 30_000
    assert isinstance(sqlglot.parse_one(query, dialect=READ_AS.get(dialect, dialect)), exp.Select)


@pytest.mark.slow
def test_clickhouse_needs_a_second(path: Path) -> None:
    """And less than 3 on a busy machine: of processor time, to plan the query and to run it on some thousand rows."""
    chdb = pytest.importorskip("chdb")
    table = f"file('{path}', Parquet)"
    query = report_query(table, "p", "late", by="segment", prior=0.2, interval=0.95, dialect="clickhouse")
    chdb.query("SELECT 1")
    start = time.process_time()
    chdb.query(query, "Null")
    assert time.process_time() - start < 3


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect not in READ_AS])
@pytest.mark.parametrize("case", EVERY, ids=lambda case: case.name)
def test_every_dialect_parses_and_has_no_other_functions(case: ReportCase, dialect: str) -> None:
    query = sqlglot.parse_one(text := case.query(dialect), dialect=dialect, error_level=sqlglot.ErrorLevel.RAISE)
    assert isinstance(query, exp.Select)
    assert query.named_selects == case.wanted(make_log().clear()).columns
    functions = {type(function).__name__ for function in query.find_all(exp.Func)}
    assert not functions & {"Atanh", "Pi", "Array", "Lambda", "Struct"}
    assert sqlglot.transpile(text, read=dialect, write=dialect)


def test_small_alone() -> None:
    made = duckdb.sql(report_query(ROWS, "p", "y", metrics=["recall"], min_rows=7)).pl()
    assert made.columns == ["n", "recall", "class_prior", "small", "n_missing", "n_invalid"]
    assert made["small"].to_list() == [True]
    assert duckdb.sql(report_query(ROWS, "p", "y", min_rows=6)).pl()["small"].to_list() == [False]


def test_counts_have_no_limits() -> None:
    made = duckdb.sql(report_query(ROWS, "p", "y", metrics=["tn"], interval=0.95)).pl()
    assert made.columns == ["n", "tn", "class_prior", "small", "n_missing", "n_invalid"]
    assert made.row(0) == (6, 2, 0.5, True, 0, 0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"interval": 95}, "interval=95 is not a level between 0 and 1: pass 0.95"),
        ({"interval": True}, "interval=True"),
        ({"min_rows": -1}, "min_rows=-1"),
        ({"interval": 0.95, "by": ["nec_ci_low"]}, "'nec_ci_low', which is also a column of the report"),
        ({"min_rows": 3, "by": ["small"]}, "'small', which is also a column of the report"),
        ({"cluster": "user"}, "cluster='user' is an option of intervals: pass interval=0.95 too, or leave it out"),
        ({"cluster": "user, day", "interval": 0.95}, "cluster='user, day' is not one expression"),
        ({"cluster": "", "interval": 0.95}, "cluster='' is not a name or an expression in SQL"),
    ],
)
def test_bad_calls_are_errors(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        report_query(**{"table": "log", "score": "p", "label": "y", **wrong})


@pytest.mark.slow
def test_names_of_columns_of_reports_without_limits_are_free() -> None:
    assert '"nec_ci_low"' in report_query("log", "p", "y", by=["nec_ci_low"])
    assert report_query("log", "p", "y", metrics=["nbs"], interval=0.95).count("FROM log") == 1


@pytest.mark.parametrize("weight", [1e155, 1e200, 1e300])
def test_a_weight_whose_square_overflows_has_a_value_without_bounds(weight: float) -> None:
    rows = {"p": [0.9, 0.2, 0.6, 0.4] * 30, "y": [True, False, False, True] * 30, "w": [weight] + [1.0] * 119}
    log = pl.DataFrame(rows)
    options = {"metrics": ["nec", "recall", "nbs"], "weight": "w", "interval": 0.95}
    connection = duckdb.connect()
    connection.register("log", log.to_arrow())
    (found,) = connection.sql(report_query("log", "p", "y", **options)).pl().to_dicts()
    with warnings.catch_warnings(action="ignore"):
        (expected,) = log.ec.report("p", "y", **options).to_dicts()
    for name in ("nec", "nec_ci_low", "recall", "recall_ci_high", "nbs", "nbs_ci_low"):
        assert found[name] == (expected[name] and pytest.approx(expected[name], rel=1e-12)), name


@pytest.mark.parametrize("invalid", ["score", "weight"])
def test_small_counts_the_valid_rows_of_a_class(invalid: str) -> None:
    """Ten rows of a class of which one is invalid are nine, and a class of fifty is not small for an invalid row."""
    column = "p" if invalid == "score" else "w"
    at = pl.int_range(pl.len())
    groups = [
        pl.select(g=pl.lit(g), y=pl.int_range(n) < of_class) for g, n, of_class in (("a", 120, 10), ("b", 200, 50))
    ]
    log = pl.concat(groups).with_columns(p=(at % 100) / 100, w=2.0)
    log = log.with_columns(pl.when(at.over("g") != 3).then(column).otherwise(float("nan")).alias(column))
    arguments: Any = {"by": "g", "weight": "w", "metrics": ["nec"], "interval": 0.95}
    report = log.lazy().ec.report("p", "y", **arguments).collect()
    with duckdb.connect() as connection:
        connection.register("log", log)
        query = connection.sql(ec.report_query("log", "p", "y", dialect="duckdb", **arguments)).pl().sort("g")
    for table in (report, query):
        assert table.select("g", "n", "n_invalid", "small").rows() == [("a", 119, 1, True), ("b", 199, 1, False)]
