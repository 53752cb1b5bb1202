"""`duckdb:`: files of DuckDB, and other databases that it attaches. Those that need an extension are in tests/lakes."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli.databases import Database
from polars_ec.cli.terminal import DataError, UsageError, redacted, report_error
from tests.support.cli import READ, fails, typed_report

LOG = pl.DataFrame({"p": [0.9, 0.2, 0.6, 0.4, 0.7, 0.1], "y": [1, 0, 0, 1, 1, 0], "g": ["a", "b"] * 3})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the command is called; it has no extension of DuckDB."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(file, schema="main"):
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        connection.register("rows", LOG.to_arrow())
        connection.execute(f"CREATE TABLE {schema}.log AS FROM rows")
    return file


def expected(**options):
    return ec.report(LOG, "p", "y", by="g", **options)


def nec(path):
    return typed_report(path, *READ, "--by", "g", "--metrics", "nec")


@pytest.mark.parametrize(
    ("path", "database"),
    [
        ("log.duckdb::log", Database("log.duckdb", "log")),
        ("a.duckdb::s::t", Database("a.duckdb", "s::t")),
        (r"C:\logs\log.duckdb::log", Database(r"C:\logs\log.duckdb", "log")),
        ("ducklake::log", Database("ducklake", "log")),
        (":memory:::log", Database(":memory", ":log")),
        ("./old:log.duckdb::log", Database("./old:log.duckdb", "log")),
        ("ducklake:meta.ducklake::s.log", Database("ducklake:meta.ducklake", "s.log", "ducklake")),
        ("ducklake:postgres:dbname=x::log", Database("ducklake:postgres:dbname=x", "log", "ducklake")),
        ("postgres:host=::1 dbname=x::log", Database("postgres:host=::1 dbname=x", "log", "postgres")),
        ("SQLite:C:\\x.db::log", Database("SQLite:C:\\x.db", "log", "sqlite")),
        ("md:flights::log", Database("md:flights", "log", "md")),
        ("s3://bucket/log.duckdb::log", Database("s3://bucket/log.duckdb", "log", "s3")),
    ],
)
def test_what_is_a_file_and_what_has_a_type(folder, path, database):
    assert Database.of(f"duckdb:{path}") == database


@pytest.mark.quick("sqlite*", "a b*")
@pytest.mark.parametrize("name", ["sqlite:log.duckdb", "ducklake:x", "ducklake", "a b:c'd.duckdb"])
def test_a_file_with_such_a_name_is_a_file(folder, name):
    write(folder / name)
    assert_frame_equal(nec(f"duckdb:{name}::log"), expected(metrics=["nec"]))


@pytest.mark.parametrize("path", ["log.duckdb", "::log", "log.duckdb::", "postgres:dbname=x", "ducklake:x.ducklake"])
def test_what_names_no_table(path):
    with pytest.raises(UsageError, match=r"duckdb:FILE\.duckdb::TABLE"):
        Database.of(f"duckdb:{path}")


def test_a_database_with_its_type(folder):
    """The one type that DuckDB has without an extension."""
    write(folder / "log.duckdb")
    assert_frame_equal(typed_report("duckdb:duckdb:log.duckdb::log", *READ, "--by", "g"), expected())


def test_schemas_of_a_database_with_its_type(folder):
    file = write(folder / "log.duckdb", "old")
    for table in ("old.log", '"old"."log"'):
        assert_frame_equal(nec(f"duckdb:duckdb:{file}::{table}"), expected(metrics=["nec"]))
    fails(2, "report", f"duckdb:duckdb:{file}::log", *READ, words=["has no table 'log'. The tables are old.log"])


def test_files_outside_a_database_with_its_type(folder):
    with duckdb.connect(str(write(folder / "log.duckdb"))) as connection:
        connection.execute(f"CREATE VIEW spy AS SELECT *, (SELECT size FROM read_text('{__file__}')) AS s FROM log")
    line = fails(1, "report", "duckdb:duckdb:log.duckdb::spy", *READ)
    assert "reads files outside its database" in line


def test_all_passes_are_of_one_state(folder):
    with duckdb.connect() as connection:
        Database.of(f"duckdb:duckdb:{write(folder / 'log.duckdb')}::log").attach(connection)
        first, second = (connection.execute("SELECT txid_current()").fetchall() for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("path", "extension"),
    [
        ("ducklake:meta.ducklake", "ducklake"),
        ("postgres:dbname=x", "postgres_scanner"),
        ("md:flights", "motherduck"),
        ("s3://bucket/log.duckdb", "httpfs"),
    ],
)
def test_an_extension_that_is_not_installed(folder, path, extension):
    """It is named, and not looked for in the network."""
    line = fails(2, "report", f"duckdb:{path}::log", *READ)
    assert f"polars-ec: {path}: DuckDB needs its extension {extension}, which is not installed" in line
    assert f"python -c \"import duckdb; duckdb.sql('INSTALL {extension}')\"" in line
    assert not (folder / "home").exists() or not any((folder / "home").rglob("*.duckdb_extension"))


def test_a_type_that_is_none(folder):
    words = ["lug:log.duckdb: there is no such DuckDB file", "nor a DuckDB extension 'lug'"]
    fails(2, "report", "duckdb:lug:log.duckdb::log", *READ, words=words)


def test_files_that_are_not_there(folder):
    fails(2, "report", "duckdb:sqlite:log.db::log", *READ, words=["log.db: no such SQLite file"])
    fails(1, "report", "duckdb:duckdb:log.duckdb::log", *READ, words=["duckdb:log.duckdb cannot be attached"])
    assert not (folder / "log.db").exists()


SECRETS = [
    "postgres:host=h password=hunter2 dbname=x",
    "postgres:host=h password = 'hunter2 \\' hunter2' dbname=x",
    "postgres:password='hunter2",
    '{"host": "h", "password": "hunter2 hunter2", "port": 5}',
    "{'aws_secret_access_key': 'hunter2'}",
    "{password: 'hunter2'}",
    '{"s3.secret-access-key":"hunter2',
    "CREATE SECRET (TYPE s3, SECRET 'hunter2', TOKEN 'hunter2''hunter2')",
    "postgres:postgresql://me:hunter2@h:5432/x",
    "postgres:postgresql://me:hunter2@hunter2@h/x?sslpassword=hunter2",
    "azure:DefaultEndpointsProtocol=https;AccountName=me;AccountKey=hunter2+/hunter2==;EndpointSuffix=h",
    "secret_of(password => 'hunter2', api_key := 'hunter2')",
    "mysql:host=h passwd=hunter2",
    "md:flights?motherduck_token=hunter2",
    "https://h/x.duckdb?sv=2024&sig=hunter2",
    "https://h/x.duckdb?X-Amz-Date=1&X-Amz-Signature=hunter2",
]


@pytest.mark.parametrize("text", SECRETS)
def test_passwords_are_not_in_messages(folder, text):
    assert "hunter2" not in redacted(text)
    for args in ([f"duckdb:{text}::log"], [f"duckdb:{text}"], [f"duckdb:{text}::log", "log.csv"]):
        assert "hunter2" not in fails(2, "report", *args, *READ)


@pytest.mark.parametrize("text", SECRETS)
def test_passwords_are_in_no_traceback_and_no_unexpected_error(text, capsys):
    """Errors that DuckDB's were made of are in tracebacks as DuckDB has them."""
    message = f"cannot open {text}"
    refused = DataError("DuckDB: refused")
    refused.__cause__ = duckdb.IOException(message)
    for error in (refused, RuntimeError(message)):
        assert report_error(error, debug=True) == 1
    shown = capsys.readouterr().err
    assert "cannot open" in shown
    assert "hunter2" not in shown


def test_the_rest_of_a_message_stays():
    text = "host=h user=me dbname=x"
    assert redacted(f"postgres:{text} password=hunter2 port=5") == f"postgres:{text} password=*** port=5"
    assert redacted("postgresql://me:hunter2@h:5432/x") == "postgresql://me:***@h:5432/x"
    assert redacted('{"password": "hunter2", "port": 5}') == '{"password": ***, "port": 5}'
    for text in (
        'syntax error near "token"; x',
        "token: unexpected end",
        "AccountName=me;EndpointSuffix=h",
        "monkey='a'",
        'password authentication failed for user "me"',
    ):
        assert redacted(text) == text


class StandIn:
    """A connection that notes what it is asked, for databases that only an extension reads."""

    def __init__(self, **answers):
        self.asked, self.answers, self.last = [], answers, ""

    def execute(self, statement, *_):
        self.asked.append(statement)
        self.last = statement
        return self

    def fetchall(self):
        return next((rows for words, rows in self.answers.items() if words in self.last), [])


CLOSED = ["SET enable_external_access = false; SET lock_configuration = true", "BEGIN TRANSACTION"]


def attached(path, **answers):
    connection = StandIn(**answers)
    Database.of(f"duckdb:{path}::log").attach(connection)
    assert connection.asked[0] == "SET autoinstall_known_extensions = false"
    assert connection.asked[-2:] == CLOSED
    return connection.asked[1:-2]


def test_statements_for_ducklake(folder):
    """The folder of its data, and nothing else, is open."""
    assert attached("ducklake:it's.ducklake", ducklake_settings=[("/lake/it's/",)]) == [
        "ATTACH 'ducklake:it''s.ducklake' AS log (READ_ONLY)",
        "SELECT data_path FROM ducklake_settings('log')",
        "SET allowed_directories = ['/lake/it''s/']",
    ]


@pytest.mark.parametrize(
    ("folder", "extension"),
    [("s3://lake/", "httpfs"), ("gs://lake/", "httpfs"), ("az://lake/", "azure"), ("abfss://lake/", "azure")],
)
def test_statements_for_ducklake_in_an_object_store(folder, extension):
    """What reads it is loaded before the door is shut."""
    statements = attached("ducklake:postgres:dbname=x", ducklake_settings=[(folder,)])
    assert statements[2:] == [
        f"LOAD {extension}",
        "SELECT count(*) FROM duckdb_secrets()",
        f"SET allowed_directories = ['{folder}']",
    ]


@pytest.mark.parametrize("path", ["md:flights?saas_mode=true", "motherduck:flights"])
def test_statements_for_motherduck(path):
    """A database of one's own takes no other name."""
    assert attached(path) == [f"ATTACH '{path}'"]
    connection = StandIn(current_schema=[("main",)], information_schema=[("main", "log"), ("s", "log")])
    assert Database.of(f"duckdb:{path}::log").relation(connection) == '"flights"."main"."log"'
    assert Database.of(f"duckdb:{path}::s.log").relation(connection) == '"flights"."s"."log"'


def test_the_schema_that_names_are_in_by_themselves():
    connection = StandIn(current_schema=[("public",)], information_schema=[("public", "log"), ("main", "old")])
    assert Database.of("duckdb:postgres:dbname=x::log").relation(connection) == '"log"."public"."log"'
    with pytest.raises(UsageError, match=r"has no table 'old'\. The tables are log, main\.old"):
        Database.of("duckdb:postgres:dbname=x::old").relation(connection)
