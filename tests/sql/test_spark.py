"""The queries of a sketch and of a report on Spark, in one process and on a cluster of two workers. Run by `make test-spark`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from tests.support import report_queries
from tests.support.spark import CLUSTER, start
from tests.support.warehouse_cases import CASES, CLUSTERS, Case, check, make_log, write_log

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def log() -> pl.DataFrame:
    return make_log()


@pytest.fixture(scope="module", params=["local[2]", CLUSTER])
def spark(request, tmp_path_factory, log) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("spark")
    session = start(request.param, folder)
    path = write_log(folder / "log.parquet")
    session.read.parquet(str(path)).repartition(5).createOrReplaceTempView("log")
    path = report_queries.write_log(folder / "report_log.parquet")
    session.read.parquet(str(path)).repartition(5).createOrReplaceTempView("report_log")
    yield session
    session.stop()


@pytest.mark.parametrize("case", [*CASES, *CLUSTERS], ids=lambda case: case.name)
def test_spark(case: Case, spark: Any, log: pl.DataFrame) -> None:
    check(case, log, pl.from_arrow(spark.sql(case.query("spark")).toArrow()))


@pytest.mark.parametrize("case", report_queries.EVERY, ids=lambda case: case.name)
def test_report(case: report_queries.ReportCase, spark: Any) -> None:
    found = pl.from_arrow(spark.sql(case.query("spark", "report_log")).toArrow())
    report_queries.check(case, report_queries.make_log(), found)
