"""A log that is larger than the heap of Spark: `python -m tests.support.spark_heap FOLDER` writes it, sketches it, and prints what it saw as JSON.

A process of its own, for the heap of a Java machine is set when that starts.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import polars_ec as ec
from tests.support.spark import start

ROWS = 26_000_000
HEAP = "512m"
# Every column is read.
ARGUMENTS: dict[str, Any] = {"score": ["p", "q"], "label": "late", "by": "segment", "weight": "u", "cost_fn": 5}


def records_read(session: Any) -> int:
    """Rows that all stages until now have read from files."""
    store = session.sparkContext._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, session.sparkContext._gateway.new_array(session._jvm.double, 0), None)
    return sum(stages.apply(i).inputRecords() for i in range(stages.size()))


def main(folder: Path) -> dict[str, Any]:
    """Write the log, sketch it, keep the sketch, and say how long it took."""
    session = start("local[2]", folder, spark__driver__memory=HEAP)
    logs = str(folder / "log")
    began = time.monotonic()
    rows = session.range(ROWS).selectExpr("id % 20 AS segment", "rand(1) AS p", "rand(2) AS u", "rand(3) AS v")
    made = rows.selectExpr("segment", "p", "p * v + (1 - v) * u AS q", "u", "u < p AS late")
    made.write.option("parquet.block.size", 16 * 2**20).parquet(logs)
    written = time.monotonic()
    before = records_read(session)
    sketch = ec.spark.sketch(session.read.parquet(logs), **ARGUMENTS)
    sketched = time.monotonic()
    after = records_read(session)
    sketch.write_parquet(folder / "sketch.parquet")
    return {
        "heap": session._jvm.Runtime.getRuntime().maxMemory(),
        "bytes": sum(file.stat().st_size for file in Path(logs).glob("*.parquet")),
        "seconds_to_write": round(written - began, 1),
        "seconds_to_sketch": round(sketched - written, 1),
        "records_read": after - before,
        "cells": sketch.frame.height,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
