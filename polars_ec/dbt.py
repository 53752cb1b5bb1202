"""A plugin of dbt-duckdb that provides the macros to models and tests: `plugins: [{module: polars_ec.dbt}]` in the profile."""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    from dbt.adapters.duckdb.plugins import BasePlugin
except ModuleNotFoundError as error:
    raise ImportError("the plugin needs dbt with its DuckDB adapter: pip install 'polars_ec[dbt]'") from error

from polars_ec.sql.macros import register

if TYPE_CHECKING:
    import duckdb


class Plugin(BasePlugin):
    """Registers the macros of polars_ec on the connection of dbt, which is copied for all threads.

    They are in the schema `ec` of the database of the profile, which keeps them. If that is read-only, they are in a temporary database.
    """

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        """Register the macros, before dbt attaches other databases."""
        register(conn)
