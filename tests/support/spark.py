"""Sessions of Spark on this machine, and what its sketches are to be."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec

CLUSTER = "local-cluster[2,1,1024]"
CONNECT = "connect"
EXACT = {"rel_tol": 1e-11, "abs_tol": 0, "check_exact": False}
# The share of rows in the next bin: those of the hostile log are on edges of bins, by design, and Spark's logarithm is another one.
MOST_MOVED = 0.01


def start(master: str, folder: Path, **more: Any) -> Any:
    """A session of this master, or of a Spark Connect server in this machine; `more` has dots written as `__`."""
    sql = pytest.importorskip("pyspark.sql")
    # Workers run this Python.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder
    if master == CONNECT:
        pytest.importorskip("grpc", reason="Spark Connect needs pyspark[connect]")
        # A port that is free, for the server and the client.
        os.environ["SPARK_TESTING"] = "1"
        builder = builder.remote("local[2]")
    else:
        builder = builder.master(master)
    options = {
        "spark.driver.host": "localhost",
        "spark.driver.bindAddress": "localhost",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 4,
        "spark.sql.session.timeZone": "UTC",
        "spark.executor.memory": "512m",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        **{name.replace("__", "."): value for name, value in more.items()},
    }
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    if master != CONNECT:
        assert session.sparkContext.master == master
        session.sparkContext.setLogLevel("ERROR")
    return session


def assert_same(found: ec.Sketch, wanted: ec.Sketch) -> None:
    """One sketch and the same, but for rows on the edge of a bin, which may be in the next one."""
    for name in ("grid", "weighted", "keys", "costs", "threshold", "cluster", "buckets"):
        assert getattr(found, name) == getattr(wanted, name)
    assert found.grid.classes == wanted.grid.classes
    assert found.frame.schema == wanted.frame.schema
    cell = [name for name in found.frame.columns if name not in ("bin", "n", "weight", "weight2")]
    assert_frame_equal(*(_added(sketch.frame, cell) for sketch in (found, wanted)), **EXACT)
    bins = [
        sketch.frame.sort(*cell, "bin", nulls_last=True).select(pl.col("bin").repeat_by("n").explode()).to_series()
        for sketch in (found, wanted)
    ]
    apart = (bins[0] - bins[1]).abs()
    assert bins[0].is_null().equals(bins[1].is_null())
    assert apart.max() in (0, 1, None)
    assert apart.sum() <= MOST_MOVED * len(apart)
    assert (found.sums is None) == (wanted.sums is None)
    if found.sums is not None and wanted.sums is not None:
        assert found.sums.schema == wanted.sums.schema
        assert_frame_equal(*(_added(sketch.sums, cell) for sketch in (found, wanted)), **EXACT)
    assert (found.coarse is None) == (wanted.coarse is None)
    if found.coarse is not None and wanted.coarse is not None:
        assert found.coarse.schema == wanted.coarse.schema
        assert_frame_equal(*(_added(sketch.coarse, cell) for sketch in (found, wanted)), **EXACT)


def _added(table: Any, cell: list[str]) -> pl.DataFrame:
    amounts = [name for name in table.columns if name not in (*cell, "bin", "bucket")]
    return table.group_by(cell).agg(pl.col(amounts).sum()).sort(cell, nulls_last=True)
