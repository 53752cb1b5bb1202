"""DuckDB, with SQL written by hand."""

from __future__ import annotations

from functools import partial

from examples.benchmarks.runners.by_hand import Dialect, columns
from examples.benchmarks.task import Columns, Log, Query

TITLE = "DuckDB, SQL by hand"
PACKAGE = "duckdb"
INSTALL = ("duckdb",)
TWO_CLASSES = MANY_CLASSES = ("metrics", "auc", "intervals")
IN_MEMORY = ()

DIALECT = Dialect(
    decision="list_position(posteriors, list_max(posteriors)) - 1",
    true_posterior="posteriors[label + 1]",
    squares="list_inner_product(posteriors, posteriors)",
    one_against_rest="SELECT segment, label, unnest(range(len(posteriors))) AS class, unnest(posteriors) AS score FROM log",
)


def _run(log: Log, task: str) -> Query:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"CREATE VIEW log AS FROM read_parquet({log.files})")

    def query() -> Columns:
        answer = connection.execute(DIALECT.sql(task, log.n_classes))
        return columns([column[0] for column in answer.description], answer.fetchall())

    return query


metrics, auc, intervals = (partial(_run, task=task) for task in TWO_CLASSES)
