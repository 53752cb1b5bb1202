"""Spark on this machine, with SQL written by hand. It needs Java 17."""

from __future__ import annotations

import os
from functools import partial

from examples.benchmarks.runners.by_hand import Dialect, columns
from examples.benchmarks.task import Columns, Log, Query

TITLE = "Spark, SQL by hand"
PACKAGE = "pyspark"
INSTALL = ("pyspark",)
TWO_CLASSES = MANY_CLASSES = ("metrics", "auc", "intervals")
IN_MEMORY = ()

DIALECT = Dialect(
    decision="array_position(posteriors, array_max(posteriors)) - 1",
    true_posterior="posteriors[label]",
    squares="aggregate(posteriors, 0e0, (sum, p) -> sum + p * p)",
    one_against_rest="SELECT segment, label, class, score FROM log LATERAL VIEW posexplode(posteriors) AS class, score",
)


def _run(log: Log, task: str) -> Query:
    from pyspark.sql import SparkSession

    options = {"spark.ui.enabled": False, "spark.driver.memory": "8g", "spark.sql.shuffle.partitions": os.cpu_count()}
    session = SparkSession.builder.master("local[*]").config(map=options).getOrCreate()
    session.read.parquet(*log.files).createOrReplaceTempView("log")

    def query() -> Columns:
        answer = session.sql(DIALECT.sql(task, log.n_classes))
        return columns(answer.columns, answer.collect())

    return query


metrics, auc, intervals = (partial(_run, task=task) for task in TWO_CLASSES)
