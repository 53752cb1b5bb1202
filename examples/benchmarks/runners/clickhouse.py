"""ClickHouse in this process (chDB), with SQL written by hand."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from examples.benchmarks.runners.by_hand import Dialect
from examples.benchmarks.task import Columns, Log, Query

TITLE = "ClickHouse, SQL by hand"
PACKAGE = "chdb"
INSTALL = ("chdb",)
TWO_CLASSES = MANY_CLASSES = ("metrics", "auc", "intervals")
IN_MEMORY = ()

DIALECT = Dialect(
    decision="indexOf(posteriors, arrayMax(posteriors)) - 1",
    true_posterior="posteriors[label + 1]",
    squares="arraySum(p -> p * p, posteriors)",
    one_against_rest="SELECT segment, label, position - 1 AS class, score FROM log"
    " ARRAY JOIN posteriors AS score, arrayEnumerate(posteriors) AS position",
)


def _run(log: Log, task: str) -> Query:
    import chdb.session

    session = chdb.session.Session()
    # With their types, because columns of Parquet could be null otherwise.
    types = f"segment String, label Int16, {log.score} {'Float64' if log.n_classes == 2 else 'Array(Float64)'}"
    files = f"file('{Path(log.files[0]).resolve().parent}/*.parquet', 'Parquet', '{types}')"
    session.query(f"CREATE VIEW log AS SELECT * FROM {files}")
    sql = DIALECT.sql(task, log.n_classes)

    def query() -> Columns:
        return json.loads(str(session.query(sql, "JSONColumns")))

    return query


metrics, auc, intervals = (partial(_run, task=task) for task in TWO_CLASSES)
