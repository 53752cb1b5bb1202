"""A log that is larger than the heap of Spark's driver, which is all the memory that Spark has here. Run by `make test-spark`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import polars_ec as ec
from tests.support.spark import assert_same
from tests.support.spark_heap import ARGUMENTS, ROWS

pytestmark = pytest.mark.spark


def test_a_log_larger_than_the_heap(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark")
    command = [sys.executable, "-m", "tests.support.spark_heap", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    with capsys.disabled():
        print(f"\n{ROWS:,} rows: {seen}")
    assert seen["heap"] <= 512 * 2**20
    assert seen["bytes"] > 1.1 * seen["heap"]
    assert seen["records_read"] == ROWS
    log = pl.scan_parquet(tmp_path / "log" / "*.parquet")
    wanted = ec.sketch(log, **ARGUMENTS)
    found = ec.Sketch.read_parquet(tmp_path / "sketch.parquet")
    assert_same(found, wanted)
    nec = [sketch.group_by("score").evaluate("nec", cost_fn=5)["nec"].to_list() for sketch in (found, wanted)]
    assert nec[0] == pytest.approx(nec[1], rel=1e-11)
