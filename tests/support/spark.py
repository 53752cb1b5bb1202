"""Sessions of Spark on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

CLUSTER = "local-cluster[2,1,1024]"
CONNECT = "connect"


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
