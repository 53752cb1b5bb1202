"""The DuckDB macros: their text, and their registration on a connection."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import duckdb

_CREATE_SCHEMA = "CREATE SCHEMA IF NOT EXISTS ec;"


def text() -> str:
    """The SQL that creates every macro in schema `ec`."""
    installed = files("polars_ec").joinpath("polars_ec.sql")
    if installed.is_file():
        return installed.read_text("utf-8")
    return (Path(__file__).parent.parent / "sql" / "polars_ec.sql").read_text("utf-8")


def register(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the macros."""
    connection.execute(text())
