"""The macros in a database file: dist/ec.duckdb, which DuckDB 1.4.2 and later open (`make sql`).

DuckDB 1.4 writes it. Later versions lose the word MATERIALIZED in the format of 1.4, without which a report with intervals is planned
for a minute.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from polars_ec.sql.macros import CREATE_SCHEMA, text


def write(file: Path, bundle: str, *, storage_version: str = "v1.4.0") -> None:
    """Create the file, to be attached as the database `ec`, anew."""
    file.parent.mkdir(exist_ok=True)
    file.unlink(missing_ok=True)
    with duckdb.connect() as connection:
        path = str(file).replace("'", "''")
        connection.execute(f"ATTACH '{path}' AS ec (STORAGE_VERSION '{storage_version}'); USE ec")
        connection.execute(bundle.replace(CREATE_SCHEMA, ""))


if __name__ == "__main__":
    write(Path("dist") / "ec.duckdb", text("1.4.2"))
