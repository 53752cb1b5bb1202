"""Cases in DuckDB: the SQL of `queries`, macros and the library's own doors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.benchmarks import interval_cases, queries
from tests.benchmarks.case import THRESHOLD, Query, Values

if TYPE_CHECKING:
    import duckdb
    import polars as pl


def select(paths: list[str], sql: str, macros: bool = False) -> Query:
    connection = _connect(paths, macros)
    query = sql.format(threshold=THRESHOLD)
    return lambda: _frame(connection.execute(query))


def report(paths: list[str], cluster: str | None = None, interval: bool = True) -> Query:
    """The report with intervals, or without; limits under names that say what they are of."""
    connection = _connect(paths, macros=True)
    asked = queries.REPORT_WITH_LIMITS if interval else queries.REPORT
    query = asked if cluster is None else asked.replace(")", f', cluster := "{cluster}")')

    def run() -> Values:
        made = _frame(connection.execute(query))
        return lambda: interval_cases.comparable(made, "segment", cluster)

    return run


def table(paths: list[str], sql: str, macros: bool = False, cells: str = "true") -> Query:
    """A query of many rows, which stay in DuckDB; its values are how many and the sums of `n` by segment, of those that are `cells`."""
    connection = _connect(paths, macros)
    query = sql.format(threshold=THRESHOLD)

    def run() -> Values:
        connection.execute(f"CREATE TEMP TABLE made AS {query}")
        rolled = (
            f"SELECT segment, count(*) AS cells, sum(n) AS n FROM made WHERE {cells} GROUP BY segment ORDER BY segment"
        )
        return lambda: _frame(connection.execute(rolled))

    return run


def bucket(paths: list[str], key: str) -> Query:
    """The bucket of a key column, of rows in memory."""
    connection = _connect(paths, macros=True)
    connection.execute("CREATE TEMP TABLE keys AS FROM log")
    # All of them add up: no row can be left out.
    query = f"SELECT sum(ec.bucket({key}, 100)) AS of_{key} FROM keys"
    return lambda: _frame(connection.execute(query))


def register(paths: list[str], again: bool = False) -> Query:
    """The macros, on a connection in memory; or once more on one that has them."""
    import duckdb
    import polars as pl

    import polars_ec as ec

    connection = duckdb.connect()
    if again:
        ec.register(connection)

    def query() -> Values:
        ec.register(connection)
        return pl.DataFrame

    return query


def plan(paths: list[str], query: str = queries.NEC_OF_TEN) -> Query:
    """A query of ten rows: what one of nested macros takes to plan."""
    connection = _connect(paths, macros=True)
    connection.execute("CREATE TEMP TABLE ten AS SELECT score, label, segment FROM log LIMIT 10")

    return lambda: _frame(connection.execute(query))


def _connect(paths: list[str], macros: bool) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect()
    if macros:
        import polars_ec as ec

        ec.register(connection)
    connection.execute(f"CREATE VIEW log AS FROM read_parquet({paths})")
    return connection


def _frame(answer: duckdb.DuckDBPyConnection) -> pl.DataFrame:
    # Not of a relation, which would plan the query twice: first for the columns' types.
    import polars as pl

    return pl.DataFrame(answer.fetchall(), schema=[column[0] for column in answer.description], orient="row")
