"""The file of macros: dist/ec.duckdb, which each DuckDB opens, also where another one has written it."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import polars_ec as ec
from sql.generate.database import write

LOG = "(VALUES (0.9, true), (0.4, true), (0.7, false), (0.2, false), (0.1, false)) AS log(p, y)"
ROOT = Path(__file__).parents[2]
MADE, BUNDLE = ROOT / "dist" / "ec.duckdb", ROOT / "sql" / "polars_ec_duckdb_1.sql"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The file that DuckDB 1.4 writes in `make test-duckdb`; if there is none, a file that this version writes in its own format."""
    newer = MADE.exists() and MADE.stat().st_mtime >= BUNDLE.stat().st_mtime
    if not newer:
        write(tmp_path / "ec.duckdb", BUNDLE.read_text("utf-8"), storage_version="latest")
    return MADE if newer else tmp_path / "ec.duckdb"


def test_the_macros_of_an_attached_file(file: Path) -> None:
    """A missed positive of two costs 5, one of three negatives 1: their mean over five rows; all positive would cost 3."""
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{file}' AS ec (READ_ONLY)")
    connection.execute(f"CREATE TABLE log AS FROM {LOG}")
    nec = f"SELECT ec.nec(p, y, cost_fn := 5, threshold := 0.5), ec.version() FROM {LOG}"
    assert connection.execute(nec).fetchall() == [(pytest.approx((5 + 1) / 3), ec.__version__)]
    report = "FROM ec.report('log', p, y, metrics := ['nec'], cost_fn := 5, threshold := 0.5, \"interval\" := 0.95)"
    (row,) = connection.sql(f"SELECT n, nec, nec_ci_low < nec AND nec < nec_ci_high FROM ({report})").fetchall()
    assert row == (5, pytest.approx(2), True)
    assert connection.execute("SELECT sum(n), count(*) FROM ec.sketch('log', p, y)").fetchall() == [(5, 5)]
    # The macros are there, so nothing is written to the file, which is read-only.
    ec.register(connection)
