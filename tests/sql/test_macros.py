"""The macros install wherever DuckDB lets them, and refuse what they cannot read."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import duckdb
import pytest

import polars_ec as ec
from polars_ec.sql import macros as sql
from tests.support.cases import mostly_slow
from tests.support.database import database

LOG = "(VALUES (0.9, true), (0.4, true), (0.7, false), (0.1, false), (0.2, false)) AS log(p, y)"
QUERY = f"SELECT ec.nec(p, y, cost_fn := 4) FROM {LOG}"
VALUE = 1 / 3


@cache
def whole() -> str:
    """The bundle for this version of DuckDB."""
    return sql.text(duckdb.__version__)


@cache
def few() -> str:
    """The bundle without what the query does not need: a quarter of the macros, which are written the sooner."""
    begin, schema, created = whole().partition(sql.CREATE_SCHEMA)
    statements = duckdb.extract_statements(created)
    named = [
        re.search(r"^(?:CREATE OR REPLACE|COMMENT ON) MACRO (?:TABLE )?ec\.(\w+)", s.query, re.M) for s in statements
    ]
    texts: dict[str, str] = {}
    for statement, name in zip(statements, named, strict=True):
        if name is not None:
            texts[name[1]] = texts.get(name[1], "") + re.sub(r"^--.*", "", statement.query, flags=re.M)
    kept, wanted = set(), {"nec", "version"}
    while wanted:
        kept |= wanted
        wanted = {name for of in wanted for name in re.findall(r"\bec\.(\w+)", texts[of])} & texts.keys() - kept
    chosen = [
        s.query.strip("; \n") for s, name in zip(statements, named, strict=True) if name is None or name[1] in kept
    ]
    return begin + schema + "".join(f"{statement};\n" for statement in chosen)


@pytest.fixture(autouse=True)
def _few_macros(monkeypatch) -> None:
    """How macros are written does not depend on how many there are."""
    provide(monkeypatch, few())


def provide(monkeypatch, text: str) -> None:
    """Give `ec.register` this bundle."""
    monkeypatch.setattr(sql, "text", lambda version: text)


def nec(connection: duckdb.DuckDBPyConnection) -> float:
    return connection.execute(QUERY).fetchone()[0]


def test_in_memory_and_twice(monkeypatch) -> None:
    provide(monkeypatch, whole())
    connection = database()  # in memory, and registered once
    assert not written(connection)
    assert nec(connection) == pytest.approx(VALUE)
    assert nec(connection.cursor()) == pytest.approx(VALUE)


def created(file: Path) -> Path:
    """A database file in a format that has macros with typed parameters; DuckDB 1 makes older ones."""
    with duckdb.connect() as connection:
        connection.execute(
            f"ATTACH '{file}' AS created (STORAGE_VERSION 'latest'); CREATE TABLE created.any (i INTEGER)"
        )
    return file


def written(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether registering writes anything, seen by the macros' internal numbers, which are new whenever they are created."""

    def numbers() -> list[tuple[object, ...]]:
        return connection.execute(
            "SELECT function_oid FROM duckdb_functions() WHERE 'ec' IN (schema_name, database_name) ORDER BY ALL"
        ).fetchall()

    before = numbers()
    ec.register(connection)
    return numbers() != before


@pytest.mark.slow
@pytest.mark.parametrize("name", [":memory:", "log.duckdb", "ec.duckdb"])
def test_nothing_is_written_where_all_are_there(tmp_path: Path, name: str) -> None:
    database = name if name == ":memory:" else created(tmp_path / name)
    with duckdb.connect(database) as connection:
        assert written(connection)
        assert not written(connection)
        assert not written(connection.cursor())
    if name != ":memory:":
        with duckdb.connect(database) as connection:
            assert not written(connection)


@pytest.mark.quick("DROP*")
@pytest.mark.parametrize(
    "change",
    mostly_slow(
        [
            "CREATE OR REPLACE MACRO ec.nec(score, label, cost_fn := 1) AS 7",
            "CREATE OR REPLACE MACRO ec._ratio(x, y) AS x",
            "DROP MACRO ec._ratio",
            "CREATE MACRO ec.of_another_version(x) AS x",
            "CREATE OR REPLACE TYPE ec._stamp AS ENUM ('of another bundle')",
            "DROP TYPE ec._stamp",
            "COMMENT ON MACRO ec.nec IS 'another'",
            "DROP SCHEMA ec CASCADE",
        ],
        ["DROP MACRO ec._ratio", "COMMENT ON MACRO ec.nec IS 'another'"],
    ),
)
def test_registering_again_mends_what_was_changed(change: str) -> None:
    connection = duckdb.connect()
    ec.register(connection)
    connection.execute(change)
    assert written(connection)
    assert nec(connection) == pytest.approx(VALUE)
    assert not written(connection)


@pytest.mark.quick("log*")
@pytest.mark.parametrize("name", ["log.duckdb", "ec.duckdb", ":memory:"])
def test_nothing_is_written_after_the_bundle(tmp_path: Path, name: str) -> None:
    database = name if name == ":memory:" else created(tmp_path / name)
    text = few().replace(sql.CREATE_SCHEMA, "") if name == "ec.duckdb" else few()
    with duckdb.connect(database) as connection:
        connection.execute(text)
        assert not written(connection)
    with duckdb.connect(database) as connection:
        assert written(connection) is (name == ":memory:")
        connection.execute("CREATE OR REPLACE MACRO ec._ratio(x, y) AS x")
        assert written(connection)
        assert nec(connection) == pytest.approx(VALUE)


def test_a_file_keeps_them(tmp_path: Path) -> None:
    path = created(tmp_path / "log.duckdb")
    with duckdb.connect(path) as connection:
        ec.register(connection)
        with duckdb.connect(path) as second:
            assert nec(second) == pytest.approx(VALUE)
    with duckdb.connect(path, read_only=True) as connection:
        assert nec(connection) == pytest.approx(VALUE)
        ec.register(connection)
        assert nec(connection) == pytest.approx(VALUE)


def test_read_only_without_macros(tmp_path: Path) -> None:
    path = created(tmp_path / "log.duckdb")
    with duckdb.connect(path, read_only=True) as connection:
        ec.register(connection)
        assert nec(connection) == pytest.approx(VALUE)
        ec.register(connection)
        assert nec(connection.cursor()) == pytest.approx(VALUE)


def test_read_only_attached_and_in_use(tmp_path: Path) -> None:
    path = created(tmp_path / "log.duckdb")
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{path}' AS log (READ_ONLY); USE log")
    ec.register(connection)
    assert nec(connection) == pytest.approx(VALUE)


def test_a_file_in_the_format_of_an_earlier_duckdb(tmp_path: Path) -> None:
    """It cannot hold the macros, which go into a database of their own."""
    path = tmp_path / "log.duckdb"
    duckdb.connect().execute(
        f"ATTACH '{path}' AS log (STORAGE_VERSION 'v1.0.0'); CREATE TABLE log.any (i INTEGER)"
    ).close()
    for _ in range(2):
        with duckdb.connect(path) as connection:
            ec.register(connection)
            assert nec(connection) == pytest.approx(VALUE)


def test_file_attached_under_another_name(tmp_path: Path) -> None:
    path = created(tmp_path / "log.duckdb")
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
    path = created(tmp_path / "ec.duckdb")
    with duckdb.connect(path) as connection:
        ec.register(connection)
        assert nec(connection) == pytest.approx(VALUE)
        assert not written(connection)
    with duckdb.connect(path, read_only=True) as connection:
        assert nec(connection) == pytest.approx(VALUE)
        ec.register(connection)


def test_what_cannot_work_says_so(tmp_path: Path) -> None:
    path = created(tmp_path / "ec.duckdb")
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
    text = whole()
    assert text in [file.read_text("utf-8") for file in (Path(__file__).parents[2] / "sql").glob("polars_ec*.sql")]
    connection = duckdb.connect()
    for statement in duckdb.extract_statements(text) * 2:
        connection.execute(statement)
    assert nec(connection) == pytest.approx(VALUE)
    assert connection.execute("SELECT ec.version()").fetchone() == (ec.__version__,)


@pytest.mark.parametrize("kind", mostly_slow(["read-only", "itself", "renamed"], ["read-only"]))
def test_databases_without_python(tmp_path: Path, kind: str) -> None:
    """The last column of README's table, with the file read as a client reads it, twice."""
    created(tmp_path / "log.duckdb")
    connection = duckdb.connect(created(tmp_path / "ec.duckdb") if kind == "itself" else ":memory:")
    if kind == "read-only":
        connection.execute(f"ATTACH '{tmp_path}/log.duckdb' AS log (READ_ONLY); USE log; ATTACH ':memory:' AS ec")
    if kind == "renamed":
        connection.execute(f"ATTACH '{tmp_path}/log.duckdb' AS other; USE other")
    text = few() if kind == "renamed" else few().replace(sql.CREATE_SCHEMA, "")
    for _ in range(2):
        assert go_on_after_errors(connection, text) == []
    assert nec(connection) == pytest.approx(VALUE)


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
    (
        "ec.nec(p, CASE WHEN y THEN 'late' ELSE 'ok' END)",
        "not VARCHAR: write label = 'late', for example, or for K classes list_position",
    ),
    ("ec.llr(p, 0.5, score_type := 'llr')", "llr"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS)
def test_bad_calls_are_errors(connection, call: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(f"SELECT {call} FROM {LOG}").fetchall()


# An argument whose type is not known when the macro is expanded must not pass for one that was left out.
HARD_TO_TYPE = [
    ("SELECT 0.3 AS t, ec.nec(p, y, threshold := t) FROM log", "NULL|not found"),
    ("SELECT 0.3 AS t, ec.nec(p, y, threshold := t, score_type := 'log_odds') FROM log", "NULL|not found"),
    ("SELECT 0.3 AS t, ec.confusion([1 - p, p], y, threshold := t) FROM log", "NULL|not found"),
    ("SELECT ec.nec(p, y, threshold := max(p)) FROM log", "NULL|nested|not found"),
    ("SELECT 'uniform' AS q, ec.nce(p, y, prior := q) FROM log", "uniform"),
    ("SELECT 0.3 AS q, ec.nec(p, y, prior := q, score_type := 'llr') FROM log", "needs prior"),
    ("SELECT 0.3 AS q, ec.ece(p, y, prior := q) FROM log", "not an aggregate"),
    ("SELECT 2 AS w, ec.nbs(p, y, weight := w) FROM log", "NULL|not found"),
    ("SELECT 2 AS w, ec.confusion(p, y, weight := w) FROM log", "NULL|not found"),
    ("SELECT 2 AS w, ec.nec([1 - p, p], y, weight := w) FROM log", "NULL|not found"),
    ("SELECT 2 AS w, ec.n_rows(p, y, weight := w) FROM log", "NULL|not found"),
    ("SELECT 2 AS w, ec.n_missing(p, y, weight := w) FROM log", "NULL|not found"),
    ("SELECT [[0, 1], [3, 0]] AS c, ec.nec(p, y, costs := c) FROM log", "NULL|not found"),
    ("SELECT [[0, 1], [3, 0]] AS c, ec.precision(p, y, costs := c) FROM log", "NULL|not found"),
    ("SELECT [[0, 1], [3, 0]] AS c, ec.confusion(p, y, costs := c) FROM log", "NULL|not found"),
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


# All or nothing --------------------------------------------------------------------------------------------------------


def macros(connection: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    return connection.execute(
        "SELECT function_name, macro_definition FROM duckdb_functions() WHERE 'ec' IN (schema_name, database_name) ORDER BY ALL"
    ).fetchall()


def go_on_after_errors(connection: duckdb.DuckDBPyConnection, text: str) -> list[str]:
    """As a client does that reads a file: one statement after the other, whatever happens. The errors."""
    errors = []
    for statement in duckdb.extract_statements(text):
        try:
            connection.execute(statement)
        except duckdb.Error as error:
            errors.append(str(error))
    return errors


def on_version(version: str) -> str:
    """The bundle as it would run on this DuckDB."""
    return few().replace("FROM pragma_version();", f"FROM (SELECT '{version}' AS library_version);")


def test_the_guard_comes_first() -> None:
    begin, guard, *_, commit = duckdb.extract_statements(whole())
    assert begin.type == commit.type == duckdb.StatementType.TRANSACTION
    assert guard.type == duckdb.StatementType.SELECT
    assert "pragma_version()" in guard.query
    assert whole().count("pragma_version()") == 1


@pytest.mark.quick("None")
@pytest.mark.parametrize("before", [None, "0.0.9"])
def test_an_older_duckdb_is_left_as_it_was(before: str | None) -> None:
    for run in (go_on_after_errors, lambda connection, text: connection.execute(text)):
        connection = duckdb.connect()
        if before is not None:
            connection.execute(
                f"CREATE SCHEMA ec; CREATE MACRO ec.version() AS '{before}'; CREATE MACRO ec.nec(x) AS x"
            )
        left = macros(connection)
        try:
            errors = run(connection, on_version("v1.4.1"))
            assert len(errors) > 100
            first = errors[0]
        except duckdb.Error as error:
            first = str(error)
            connection.rollback()
        assert "needs DuckDB" in first
        assert "1.4.2" in first
        assert ", but this is v1.4.1: nothing was installed" in first
        assert "\n" not in first
        assert macros(connection) == left


@pytest.mark.parametrize("version", ["v2.0.0", "v2.1.3", "v10.0.0", "v2.2.0-dev123"])
def test_the_guard_lets_later_versions_pass(version: str) -> None:
    # What comes before the macros, which take long to parse.
    _, guard, *_ = duckdb.extract_statements(on_version(version).partition("CREATE SCHEMA")[0])
    assert duckdb.execute(guard).fetchall() == [(version,)]


def test_python_says_the_version_too(monkeypatch) -> None:
    connection, older = duckdb.connect(), on_version("v1.4.1")
    provide(monkeypatch, older)
    connection.begin()
    connection.execute("CREATE TABLE mine (i INTEGER)")
    with pytest.raises(duckdb.Error, match=r"needs DuckDB .*, but this is v1\.4\.1"):
        ec.register(connection)
    connection.commit()
    assert connection.execute("FROM mine").fetchall() == []
    assert macros(connection) == []


def test_a_failure_midway_leaves_the_old_macros(monkeypatch) -> None:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA ec; CREATE MACRO ec.version() AS '0.0.9'; CREATE MACRO ec.nec(x) AS x")
    old = macros(connection)
    broken = few().replace(
        "CREATE OR REPLACE MACRO ec.nec(", "SELECT nothing FROM nowhere;\nCREATE OR REPLACE MACRO ec.nec("
    )
    provide(monkeypatch, broken)
    with pytest.raises(duckdb.CatalogException, match="nowhere"):
        ec.register(connection)
    assert macros(connection) == macros(connection.cursor()) == old
    provide(monkeypatch, few())
    ec.register(connection)
    assert nec(connection) == pytest.approx(VALUE)


def test_within_a_transaction_of_the_caller() -> None:
    connection = duckdb.connect()
    for end, kept in (("ROLLBACK", 0), ("COMMIT", 1)):
        connection.begin()
        connection.execute("CREATE TABLE mine (i INTEGER)")
        ec.register(connection)
        assert nec(connection) == pytest.approx(VALUE)
        assert macros(connection.cursor()) == []
        connection.execute(end)
        assert connection.execute("SELECT table_name FROM duckdb_tables()").fetchall() == [("mine",)] * kept
        assert bool(macros(connection.cursor())) == kept


def test_many_register_at_once() -> None:
    connection = duckdb.connect()
    with ThreadPoolExecutor(6) as pool:
        cursors = [connection.cursor() for _ in range(6)]
        assert list(pool.map(ec.register, cursors)) == [None] * 6
    assert [nec(cursor) for cursor in cursors] == pytest.approx([VALUE] * 6)


@pytest.mark.slow
def test_another_transaction_is_waited_for() -> None:
    connection, other = duckdb.connect(), None
    other = connection.cursor()
    other.execute(few().replace("COMMIT;", ""))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ec.register, connection)
        with pytest.raises(TimeoutError):
            waiting.result(timeout=0.5)
        other.commit()
        waiting.result(timeout=20)
    assert nec(connection) == pytest.approx(VALUE)


def test_it_is_not_waited_for_ever(monkeypatch) -> None:
    connection = duckdb.connect()
    connection.cursor().execute(few().replace("COMMIT;", ""))
    other = connection.cursor()
    other.execute(few().replace("COMMIT;", ""))
    monkeypatch.setattr(sql, "_PATIENCE", 0)
    with pytest.raises(duckdb.TransactionException, match="conflict"):
        ec.register(connection)
    other.rollback()
    assert macros(connection) == []
