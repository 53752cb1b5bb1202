"""The plugin of dbt-duckdb, on the databases that a profile may name. Run by `make test-dbt`."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import duckdb
import pytest

pytestmark = pytest.mark.dbt

LOG = "(FROM (VALUES (0.9, true), (0.6, false), (0.1, false)) AS t(p, y))"
CALL = f"WITH log AS {LOG} SELECT accuracy FROM ec.report('log', p, y, metrics := ['accuracy'])"


def connected(path: Path | str, **profile: Any) -> Any:
    """What dbt opens for a profile."""
    from dbt.adapters.duckdb.credentials import DuckDBCredentials
    from dbt.adapters.duckdb.environments import create

    schema = {"database": Path(path).stem if path != ":memory:" else "memory", "schema": "main"}
    plugins = [{"module": "polars_ec.dbt"}]
    credentials = DuckDBCredentials.from_dict({"path": str(path), "plugins": plugins, **schema, **profile})
    return create(credentials)


def answer(cursor: Any) -> Any:
    return cursor.execute(CALL).fetchall()[0][0]


@pytest.mark.parametrize("name", [":memory:", "log.duckdb", "ec.duckdb"])
def test_databases(name: str, tmp_path: Path) -> None:
    path = name if name == ":memory:" else tmp_path / name
    for _ in range(2):
        environment = connected(path)
        assert answer(environment.handle().cursor()) == pytest.approx(2 / 3)
        environment.close()


def test_threads(tmp_path: Path) -> None:
    environment = connected(tmp_path / "log.duckdb")
    answers: list[Any] = []
    threads = [threading.Thread(target=lambda: answers.append(answer(environment.handle().cursor()))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == pytest.approx([2 / 3] * 8)
    environment.close()


def test_a_database_that_is_read_only(tmp_path: Path) -> None:
    duckdb.connect(tmp_path / "log.duckdb").close()
    environment = connected(tmp_path / "log.duckdb", config_options={"access_mode": "READ_ONLY"})
    assert answer(environment.handle().cursor()) == pytest.approx(2 / 3)
    environment.close()


def test_attached_databases(tmp_path: Path) -> None:
    duckdb.connect(tmp_path / "lake.duckdb").execute(
        "CREATE TABLE log AS FROM (VALUES (0.9, true), (0.6, false)) AS t(p, y)"
    ).close()
    attach = [{"path": str(tmp_path / "lake.duckdb"), "alias": "lake", "read_only": True}]
    environment = connected(tmp_path / "log.duckdb", attach=attach)
    cursor = environment.handle().cursor()
    report = """SELECT accuracy FROM ec.report('"lake"."main"."log"', p, y, metrics := ['accuracy'])"""
    assert cursor.execute(report).fetchall() == [(0.5,)]
    environment.close()
