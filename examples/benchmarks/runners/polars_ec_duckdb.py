"""DuckDB with the macros of polars_ec."""

from __future__ import annotations

from examples.benchmarks.task import COST_FN, LEVEL, Columns, Log, Query

TITLE = "polars_ec, DuckDB macros"
PACKAGE = "polars_ec"
INSTALL = (".",)
TWO_CLASSES = ("metrics", "auc", "intervals")
MANY_CLASSES = ("metrics", "auc")
IN_MEMORY = ("auc",)

BINARY = f"""
SELECT segment, unnest(ec.confusion(score, label, cost_fn := {COST_FN})),
    ec.expected_cost(score, label, cost_fn := {COST_FN}) AS expected_cost, ec.f1(score, label, cost_fn := {COST_FN}) AS f1,
    ec.cross_entropy(score, label) AS log_loss, ec.brier(score, label) AS brier
FROM log GROUP BY segment
"""
MANY = """
SELECT segment, ec.expected_cost(posteriors, label) AS expected_cost, ec.macro_f1(posteriors, label) AS f1,
    ec.cross_entropy(posteriors, label) AS log_loss, ec.brier(posteriors, label) AS brier
FROM log GROUP BY segment
"""
REPORT = f"""
SELECT segment, f1_ci_low AS f1_low, f1_ci_high AS f1_high
FROM ec.report('log', score, label, groups := ['segment'], cost_fn := {COST_FN}, "interval" := {LEVEL})
"""


def metrics(log: Log) -> Query:
    return _select(log, BINARY if log.n_classes == 2 else MANY)


def auc(log: Log) -> Query:
    area = f"ec.{'auc_roc' if log.n_classes == 2 else 'macro_auc_roc'}({log.score}, label)"
    return _select(log, f"SELECT segment, {area} AS auc FROM log GROUP BY segment")


def intervals(log: Log) -> Query:
    return _select(log, REPORT)


def _select(log: Log, sql: str) -> Query:
    import duckdb

    import polars_ec as ec

    connection = duckdb.connect()
    ec.register(connection)
    connection.execute(f"CREATE VIEW log AS FROM read_parquet({log.files})")

    def query() -> Columns:
        answer = connection.execute(sql)
        names = [column[0] for column in answer.description]
        return dict(zip(names, map(list, zip(*answer.fetchall(), strict=True)), strict=True))

    return query
