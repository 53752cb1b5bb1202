"""Sketches of a small log, written to files, and files that say something else of them."""

from __future__ import annotations

import json
import math
from functools import cache

import polars as pl
from polars.testing import assert_frame_equal

import polars_ec  # noqa: F401  (registers the namespace)
from polars_ec.sketches.cells import OF_CLUSTERS
from polars_ec.sketches.files import checksum

LOG = pl.DataFrame(
    {
        "g": ["a", "b", None, "ü"] * 25,
        "p": [(i * 37 % 101) / 101 for i in range(100)],
        "y": [None if i % 17 == 0 else i * 29 % 7 < 3 for i in range(100)],
        "w": [i % 5 / 2 for i in range(100)],
        "u": [None if i % 11 == 0 else i * 31 % 23 for i in range(100)],
    }
)
KINDS = {
    "binned": {"cost_fn": 5, "resolution": 8},
    "exact": {"exact": True},
    "weighted": {"weight": "w", "thresholds": [0.1, math.inf]},
    "raw": {"score_type": "raw", "threshold": 0.3},
    "clustered": {"cluster": "u", "buckets": 7, "resolution": 16, "thresholds": [0.2]},
    "clustered and weighted": {"cluster": "u", "weight": "w", "resolution": 12},
    "clustered and exact": {"cluster": "u", "exact": True},
}


@cache
def made(kind="binned", by="g"):
    return LOG.ec.sketch("p", "y", by=by, **KINDS[kind])


def written(sketch, path):
    """A file that says of itself that it is what was written: only its tables can tell that they are wrong."""
    sketch.write_parquet(path)
    return path


def restated(path, **changes):
    """The file with something else said about it, and the checksum that goes with it; `...` leaves a thing out."""
    stored, about = pl.read_parquet(path), described(path)
    tables = [stored.filter(pl.col("table").cast(pl.String) == n).select(c) for n, c in about["tables"].items()]
    about = {name: value for name, value in {**about, **changes}.items() if value is not ... and name != "sha256"}
    about["sha256"] = checksum(tables, about, {})
    stored.write_parquet(path, metadata={"polars_ec.sketch": json.dumps(about)})
    return path


def same(one, other):
    assert (one.grid, one.weighted) == (other.grid, other.weighted)
    assert_frame_equal(one.frame, other.frame, check_exact=True)
    assert [getattr(one, name) for name in OF_CLUSTERS] == [getattr(other, name) for name in OF_CLUSTERS]
    for table, its in ((one.sums, other.sums), (one.coarse, other.coarse)):
        assert (table is None) == (its is None)
        if table is not None:
            assert_frame_equal(table, its, check_exact=True)


def described(path):
    return json.loads(pl.read_parquet_metadata(path)["polars_ec.sketch"])
