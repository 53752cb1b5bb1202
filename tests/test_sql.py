"""The macros install wherever DuckDB lets them, and refuse what they cannot read."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import polars_ec as ec
from polars_ec import sql

LOG = "(VALUES (0.9, true), (0.4, true), (0.7, false), (0.1, false), (0.2, false)) AS log(p, y)"
QUERY = f"SELECT ec.nec(p, y, cost_fn := 4) FROM {LOG}"
VALUE = 1 / 3


def nec(connection: duckdb.DuckDBPyConnection) -> float:
    return connection.execute(QUERY).fetchone()[0]


def test_in_memory_and_twice() -> None:
    connection = duckdb.connect()
    ec.register(connection)
    ec.register(connection)
    assert nec(connection) == pytest.approx(VALUE)
    assert nec(connection.cursor()) == pytest.approx(VALUE)


def test_a_file_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "log.duckdb"
    with duckdb.connect(path) as connection:
        ec.register(connection)
        with duckdb.connect(path) as second:
            assert nec(second) == pytest.approx(VALUE)
    with duckdb.connect(path, read_only=True) as connection:
        assert nec(connection) == pytest.approx(VALUE)
        ec.register(connection)
        assert nec(connection) == pytest.approx(VALUE)


def test_read_only_without_macros(tmp_path: Path) -> None:
    path = tmp_path / "log.duckdb"
    duckdb.connect(path).close()
    with duckdb.connect(path, read_only=True) as connection:
        ec.register(connection)
        assert nec(connection) == pytest.approx(VALUE)
        ec.register(connection)
        assert nec(connection.cursor()) == pytest.approx(VALUE)


def test_read_only_attached_and_in_use(tmp_path: Path) -> None:
    path = tmp_path / "log.duckdb"
    duckdb.connect(path).close()
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{path}' AS log (READ_ONLY); USE log")
    ec.register(connection)
    assert nec(connection) == pytest.approx(VALUE)


def test_file_attached_under_another_name(tmp_path: Path) -> None:
    path = tmp_path / "log.duckdb"
    with duckdb.connect(path) as connection:
        ec.register(connection)
    other = duckdb.connect()
    other.execute(f"ATTACH '{path}' AS library (READ_ONLY)")
    with pytest.raises(duckdb.CatalogException, match="does not exist"):
        other.execute(QUERY.replace("ec.nec", "library.ec.nec"))
    ec.register(other)
    assert nec(other) == pytest.approx(VALUE)
    other.execute("USE library")
    assert nec(other) == pytest.approx(VALUE)


def test_a_database_called_ec(tmp_path: Path) -> None:
    path = tmp_path / "ec.duckdb"
    with duckdb.connect(path) as connection:
        ec.register(connection)
        assert nec(connection) == pytest.approx(VALUE)
        ec.register(connection)
    with duckdb.connect(path, read_only=True) as connection:
        assert nec(connection) == pytest.approx(VALUE)
        ec.register(connection)


def test_what_cannot_work_says_so(tmp_path: Path) -> None:
    path = tmp_path / "ec.duckdb"
    duckdb.connect(path).close()
    with (
        duckdb.connect(path, read_only=True) as connection,
        pytest.raises(ValueError, match="attach it under another name"),
    ):
        ec.register(connection)
    with duckdb.connect(path) as connection:
        connection.execute('CREATE SCHEMA "ec"."ec"')
        with pytest.raises(ValueError, match="both a database and a schema"):
            ec.register(connection)


def test_the_file_loads_without_python(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "sql" / "polars_ec.sql").read_text("utf-8")
    assert sql.text() == text
    connection = duckdb.connect()
    for statement in duckdb.extract_statements(text) * 2:
        connection.execute(statement)
    assert nec(connection) == pytest.approx(VALUE)
    assert connection.execute("SELECT ec.version()").fetchone() == (ec.__version__,)


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    ec.register(connection)
    return connection


@pytest.mark.parametrize("label", ["y", "CAST(y AS INTEGER)", "CAST(y AS UTINYINT)", "CAST(y AS HUGEINT)"])
@pytest.mark.parametrize("score", ["p", "CAST(p AS FLOAT)", "CAST(p AS DECIMAL(5, 2))"])
def test_types_of_label_and_score(connection, label: str, score: str) -> None:
    value = connection.execute(f"SELECT ec.nec({score}, {label}, cost_fn := 5) FROM {LOG}").fetchone()[0]
    assert value == pytest.approx(1 / 3 * 2 / 3 * 3 / 2 * 2)


@pytest.mark.parametrize("name", ["nec", "precision", "nce", "confusion", "n_invalid", "row_log_loss"])
@pytest.mark.parametrize("label", ["y", "CAST(y AS INTEGER)"])
def test_score_and_label_swapped(connection, name: str, label: str) -> None:
    try:
        value = connection.execute(f"SELECT ec.{name}({label}, p) FROM {LOG}").fetchone()[0]
    except duckdb.Error:
        return
    assert value is None or (name == "n_invalid" and value == 5)


BAD_CALLS = [
    ("ec.nec(p, y, score_type := 'probability')", "probability"),
    ("ec.nec(p, y, score_type := 'llr')", "needs prior"),
    ("ec.nec(p, y, prior := 1.5)", "1.5"),
    ("ec.nec(p, y, prior := 2)", "not 2"),
    ("ec.nec(p, y, prior := 'pi')", "pi"),
    ("ec.nec(p, y, costs := [[0, 1], [1]])", "row"),
    ("ec.nec(p, y, costs := [[0, -1], [1, 0]])", "-1"),
    ("ec.expected_cost(p, y, cost_fn := -1)", "'cost_fn': -1, 'cost_fp': 1"),
    ("ec.precision(p, y, cost_fp := -2)", "'cost_fn': 1, 'cost_fp': -2"),
    ("ec.nec(p, y, cost_fn := NULL)", "'cost_fn': NULL, 'cost_fp': 1"),
    ("ec.nec(p, y, costs := [[0, 1], [4, 0]], cost_fn := 4)", "not both"),
    ("ec.nec([1 - p, p], y, costs := [[0, 1], [4, 0]], cost_fp := 4)", "not both"),
    ("ec.nec([1 - p, p], y, costs := [[0, 1], [NULL, 0]])", "finite numbers, not .*NULL"),
    ("ec.row_cost(p, y, cost_fn := -1)", "'cost_fn': -1"),
    ("ec.nec(p, y, cost_fn := CAST('nan' AS DOUBLE))", "nan"),
    ("ec.nec(p, y, score_type := NULL)", "unknown score_type 'NULL'"),
    ("ec.brier(p, y, score_type := NULL, weight := 1)", "unknown score_type 'NULL'"),
    ("ec.posterior(p, score_type := NULL)", "unknown score_type 'NULL'"),
    ("ec.nec(p, y, score_type := CASE WHEN y THEN 'posterior' ELSE 'log_odds' END)", "constant"),
    ("ec.nec(p, y, cost_fm := 3)", "does not support the supplied arguments"),
    ("ec.nec([1 - p, p], y, threshold := 0.5)", "threshold"),
    ("ec.net_benefit(p, y, 1.0)", "p_t"),
    ("ec.fbeta(p, y, beta := 0)", "beta"),
    ("ec.epsr(p, y, a := 0)", "a"),
    ("ec.cllr(p, y)", "llr"),
    ("ec.dcf(p, y, prior := 0.1)", "llr"),
    ("ec.dcf(p, y, score_type := 'llr')", "prior"),
    ("ec.nce(CAST(y AS INTEGER), y, score_type := 'decision')", "decision"),
    ("ec.nec(p, CASE WHEN y THEN 'late' ELSE 'ok' END)", "label"),
    ("ec.llr(p, 0.5, score_type := 'llr')", "llr"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_bad_calls_are_errors(connection, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(f"SELECT {call} FROM {LOG}").fetchall()


# An argument whose type is not known when the macro is expanded must not pass for one that was left out.
HARD_TO_TYPE = [
    ("SELECT 0.3 AS t, ec.nec(p, y, threshold := t) FROM log", "NULL"),
    ("SELECT 0.3 AS t, ec.nec(p, y, threshold := t, score_type := 'log_odds') FROM log", "NULL"),
    ("SELECT 0.3 AS t, ec.confusion([1 - p, p], y, threshold := t) FROM log", "NULL"),
    ("SELECT ec.nec(p, y, threshold := max(p)) FROM log", "NULL|nested"),
    ("SELECT 'uniform' AS q, ec.nce(p, y, prior := q) FROM log", "uniform"),
    ("SELECT 0.3 AS q, ec.nec(p, y, prior := q, score_type := 'llr') FROM log", "needs prior"),
    ("SELECT 0.3 AS q, ec.ece(p, y, prior := q) FROM log", "not an aggregate"),
    ("SELECT 2 AS w, ec.nbs(p, y, weight := w) FROM log", "NULL"),
    ("SELECT 2 AS w, ec.confusion(p, y, weight := w) FROM log", "NULL"),
    ("SELECT 2 AS w, ec.nec([1 - p, p], y, weight := w) FROM log", "NULL"),
    ("SELECT 2 AS w, ec.n_rows(p, y, weight := w) FROM log", "NULL"),
    ("SELECT 2 AS w, ec.n_missing(p, y, weight := w) FROM log", "NULL"),
    ("SELECT [[0, 1], [3, 0]] AS c, ec.nec(p, y, costs := c) FROM log", "NULL"),
    ("SELECT [[0, 1], [3, 0]] AS c, ec.precision(p, y, costs := c) FROM log", "NULL"),
    ("SELECT [[0, 1], [3, 0]] AS c, ec.confusion(p, y, costs := c) FROM log", "NULL"),
    ("SELECT ec.nec(p, y, weight := max(p)) FROM log", "nested"),
    ("SELECT ec.nec(p, y, costs := max([[0, p], [1, 0]])) FROM log", "nested"),
]


@pytest.mark.parametrize(("query", "message"), HARD_TO_TYPE)
def test_arguments_hard_to_type_are_errors(connection, query: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(query.replace("FROM log", f"FROM {LOG}")).fetchall()


def test_an_alias_or_an_aggregate_is_a_prior(connection) -> None:
    """2/3 of the negatives and 1/2 of the positives are decided rightly."""
    query = f"SELECT 0.3 AS q, [0.7, 0.3] AS l, ec.accuracy(p, y, prior := q), ec.accuracy(p, y, prior := l) FROM {LOG}"
    assert connection.execute(query).fetchone()[2:] == pytest.approx((0.7 * 2 / 3 + 0.3 / 2,) * 2, rel=1e-12)
    query = f"SELECT ec.accuracy(p, y, prior := max(p)), ec.accuracy(p, y, prior := max(p) + 1) FROM {LOG}"
    assert connection.execute(query).fetchone() == (pytest.approx(0.1 * 2 / 3 + 0.9 / 2, rel=1e-12), None)


def test_window_functions_are_arguments_of_row_functions(connection) -> None:
    query = f"SELECT ec.posterior(p, prior := avg(CAST(y AS INTEGER)) OVER (), score_type := 'llr') FROM {LOG}"
    given = f"SELECT ec.posterior(p, prior := 0.4, score_type := 'llr') FROM {LOG}"
    assert connection.execute(query).fetchall() == connection.execute(given).fetchall()
