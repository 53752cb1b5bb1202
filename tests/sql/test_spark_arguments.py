"""What `ec.spark.sketch` refuses where there is no Spark."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

import polars_ec as ec

LOG = pl.DataFrame({"p": [0.9, 0.2], "y": [True, False]})


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (LOG, r"DataFrame, which is not a PySpark DataFrame: pass spark.table.* use ec.sketch"),
        ("log.parquet", r"str, which is not a PySpark DataFrame"),
        (SimpleNamespace(to_spark=None), "pass frame.to_spark"),
    ],
)
def test_other_frames(frame: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ec.spark.sketch(frame, "p", "y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exact": True}, "has no keyword exact="),
        ({"costs_fn": 5}, "did you mean cost_fn"),
        ({"by": None}, "by=None names no groups"),
    ],
)
def test_keywords(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ec.spark.sketch(LOG, "p", "y", **options)


def test_names() -> None:
    assert dir(ec.spark) == ["sketch"]


@pytest.mark.slow
def test_spark_is_not_imported() -> None:
    code = "import sys, polars_ec as ec; ec.spark.sketch; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
