"""A log of flights in files, and the folder of its sketches."""

from __future__ import annotations

import datetime as dt
import json

import numpy as np
import polars as pl
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli.request import RowRequest
from polars_ec.cli.sketch_folder import SketchFolder, total
from polars_ec.cli.sketch_job import SketchRequest
from polars_ec.sketches.files import description
from tests.support import cli

MADE_WITH = (*cli.READ, "--by", "carrier", "--time", "ts", "--every", "1d", "--cost-fn", "5")


def make_log(n=1200, seed=7):
    rng = np.random.default_rng(seed)
    late = rng.random(n) < 0.3
    log_odds = rng.normal(size=n) + 1.2 * late - 1
    return pl.DataFrame(
        {
            "ts": [dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(h)) for h in rng.integers(0, 24 * 35, n)],
            "carrier": [None if c == "-" else str(c) for c in rng.choice(["AA", "B6", "-"], n)],
            "p": 1 / (1 + np.exp(-log_odds)),
            "log_odds": log_odds,
            "y": [None if missing else bool(y) for y, missing in zip(late, rng.random(n) < 0.05, strict=True)],
            "w": rng.integers(0, 5, n) / 2,
        }
    )


LOG = make_log()


def write_files(folder, log=LOG, *, files):
    folder.mkdir(exist_ok=True)
    for i in range(files):
        log.gather_every(files, i).write_parquet(folder / f"part-{i:02}.parquet")
    return folder


def sketch(*paths, out, args=MADE_WITH, code=0):
    return cli.sketch(*paths, out=out, args=args, code=code)


def options(by=("carrier",), every="1d", grid=None, **more):
    """What `MADE_WITH` says, as the job takes it."""
    request = RowRequest(["p"], "y", list(by), "ts", every, {"cost_fn": 5.0, **more})
    return SketchRequest(request, grid or {})


def whole(log=LOG):
    """The sketch of all rows at once."""
    keys = ["carrier", pl.col("ts").dt.truncate("1d")]
    return log.ec.sketch("p", "y", by=keys, cost_fn=5)


def same(ours, theirs):
    assert_frame_equal(ours, theirs, check_exact=False, rel_tol=1e-12, abs_tol=1e-12)


def loaded(out):
    """The sum of the sketches in a folder."""
    folder = SketchFolder(out)
    made = total(folder.manifest(), folder.read, lambda sketch: sketch)
    return made.frame


def stamps(out):
    return {file.name: file.stat().st_mtime_ns for file in out.glob("*.sketch.parquet")}


def sketch_of(out, logs, i=1):
    return out / SketchFolder.name_for(str(logs / f"part-{i:02}.parquet"))


def report_fails(out, *words):
    """The line that a report of the folder ends in, after any that say that it is not up to date."""
    result = cli.invoke("report", out)
    assert result.exit_code == 1, result.output
    *before, line = result.stderr.splitlines()
    assert all("is incomplete" in other for other in before)
    for word in words:
        assert word in line
    return line


def rewritten(file, change):
    """The sketch with another entry of the manifest, as a program that knows the checksum writes it."""
    found = ec.Sketch.read_parquet(file)
    entry = pl.read_parquet_metadata(file)["polars_ec.input"]
    text = change(json.loads(entry))
    text = text if isinstance(text, str) else json.dumps(text)
    found.write_parquet(file, metadata={"polars_ec.input": text})


def of_before(file):
    """The sketch as schema version 2 had it: without its sums, and one table."""
    found = ec.Sketch.read_parquet(file)
    entry = pl.read_parquet_metadata(file)["polars_ec.input"]
    about = {**description(found, found.operating_point), "schema_version": 2}
    found.frame.write_parquet(file, metadata={"polars_ec.sketch": json.dumps(about), "polars_ec.input": entry})


def without(name):
    return lambda entry: {key: value for key, value in entry.items() if key != name}
