"""`polars-ec sketch --cluster`: the coarse cells of a folder are those of the whole log."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.cli import sketch_folder as sketch_sum
from polars_ec.cli.sketch_folder import SketchFolder, total
from tests.support import cli
from tests.support.sketch_jobs import LOG, sketch, stamps, write_files

RANDOM = np.random.default_rng(4)
FLIGHTS = LOG.with_columns(
    tail=pl.Series([f"N{i}" if i else None for i in RANDOM.integers(0, 90, LOG.height)]),
    number=pl.Series(RANDOM.integers(0, 90, LOG.height)),
)
READ = ("--score", "p", "--label", "y", "--by", "carrier")
MADE_WITH = (*READ, "--cluster", "tail", "--buckets", "20")
FILES = 3


@pytest.fixture
def flights(tmp_path):
    return write_files(tmp_path / "logs", FLIGHTS, files=FILES)


def added(out, roll_up=lambda made: made):
    folder = SketchFolder(out)
    return total(folder.manifest(), folder.read, roll_up)


def is_whole(made, **keywords):
    expected = FLIGHTS.ec.sketch("p", "y", **keywords)
    assert_frame_equal(made.coarse, expected.coarse, rel_tol=1e-12)
    assert_frame_equal(made.frame, expected.frame, rel_tol=1e-12)
    assert (made.buckets, made.cluster, made.hash) == (expected.buckets, expected.cluster, "murmur3")


@pytest.mark.slow
@pytest.mark.parametrize("batch", [0, 500_000])
def test_the_sum_of_a_folder_is_the_whole(flights, tmp_path, monkeypatch, batch):
    monkeypatch.setattr(sketch_sum, "_BATCH", batch)
    out = tmp_path / "out"
    sketch(flights, out=out, args=(*MADE_WITH, "--weight", "w"))
    keywords = {"weight": "w", "cluster": "tail", "buckets": 20}
    is_whole(added(out), by="carrier", **keywords)
    is_whole(added(out, lambda made: made.group_by()), **keywords)
    table = cli.report(out, "--by", "carrier")
    assert table["n"].sum() == LOG.drop_nulls("y").height


@pytest.mark.slow
def test_a_folder_is_of_one_cluster_and_number_of_buckets(flights, tmp_path):
    out = tmp_path / "out"
    sketch(flights, out=out, args=MADE_WITH)
    before = stamps(out)
    for args, words in (
        ((*READ, "--cluster", "tail"), "--buckets 20 and 100"),
        ((*READ, "--cluster", "number", "--buckets", "20"), '--cluster "tail" and "number"'),
        (READ, '--cluster "tail" and none'),
    ):
        result = sketch(flights, out=out, args=args, code=2)
        assert f"was made with other options: {words}" in result.stderr
    assert stamps(out) == before
    plain = tmp_path / "plain"
    sketch(flights, out=plain, args=READ)
    result = sketch(flights, out=plain, args=MADE_WITH, code=2)
    assert '--cluster none and "tail"' in result.stderr


@pytest.mark.slow
def test_a_job_goes_on_where_it_was(flights, tmp_path):
    out, held_back = tmp_path / "out", tmp_path / "held back.parquet"
    last = sorted(flights.iterdir())[-1]
    last.rename(held_back)
    sketch(flights, out=out, args=MADE_WITH)
    held_back.rename(last)
    result = sketch(flights, out=out, args=MADE_WITH)
    assert f"1 sketched, {FILES - 1} unchanged" in result.stdout
    is_whole(added(out), by="carrier", cluster="tail", buckets=20)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*READ, "--buckets", "20"), "--buckets 20 is the number of hash buckets of clusters: pass --cluster"),
        ((*READ, "--cluster", "tail", "--buckets", "4"), "--buckets 4 is not a whole number from 5 to 1000"),
        ((*READ, "--cluster", "tale"), "has no column 'tale' (--cluster): did you mean 'tail'?"),
        ((*READ, "--cluster", "w"), "key 'w' is Float64"),
    ],
)
def test_clusters_that_are_none(flights, tmp_path, args, words):
    result = cli.invoke("sketch", flights, "--out", tmp_path / "out", *args)
    assert result.exit_code in (1, 2)
    assert words in result.stderr


@pytest.mark.slow
def test_keys_of_two_types_have_two_buckets(tmp_path):
    """7 and "7" are one aircraft to whoever wrote the log, and two keys to the hash."""
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    keyed = FLIGHTS.with_columns(key="number")
    keyed.head(500).write_parquet(logs / "a.parquet")
    keyed.tail(500).with_columns(pl.col("key").cast(pl.Int16)).write_parquet(logs / "b.parquet")
    keyed.head(10).with_columns(key=pl.lit(None, dtype=pl.String)).write_parquet(logs / "c.parquet")
    args = (*READ, "--cluster", "key")
    sketch(logs, out=out, args=args)
    assert (
        added(out).coarse["n"].sum()
        == keyed.head(500).vstack(keyed.tail(500)).vstack(keyed.head(10)).drop_nulls("y").height
    )
    keyed.head(20).with_columns(pl.col("key").cast(pl.String)).write_parquet(logs / "d.parquet")
    result = sketch(logs, out=out, args=args, code=1)
    assert (
        "the cluster key 'key' is text, but a whole number in the other inputs, so a key would get two buckets"
        in result.stderr
    )
    assert len(stamps(out)) == 3
    # Categories are texts.
    other = tmp_path / "other"
    for i, dtype in enumerate((pl.String, pl.Categorical)):
        keyed.slice(i * 50, 50).with_columns(pl.col("tail").cast(dtype)).write_parquet(logs / f"{'abcd'[i]}.parquet")
    (logs / "c.parquet").unlink()
    (logs / "d.parquet").unlink()
    sketch(logs, out=other, args=MADE_WITH)
    expected = keyed.head(100).ec.sketch("p", "y", by="carrier", cluster="tail", buckets=20)
    assert_frame_equal(added(other).coarse, expected.coarse)


@pytest.mark.slow
def test_keys_of_csv(tmp_path):
    logs, out = tmp_path / "logs", tmp_path / "out"
    logs.mkdir()
    for i in range(2):
        FLIGHTS.gather_every(2, i).write_csv(logs / f"{i}.csv")
    sketch(logs, out=out, args=MADE_WITH)
    is_whole(added(out), by="carrier", cluster="tail", buckets=20)
    # A column that is a group column too is read as it is written.
    by_tail = tmp_path / "by tail"
    sketch(logs, out=by_tail, args=("--score", "p", "--label", "y", "--by", "tail", "--cluster", "tail"))
    is_whole(added(by_tail), by="tail", cluster="tail")


@pytest.mark.slow
def test_a_folder_with_files_of_before(flights, tmp_path):
    """Files of schema version 3 with weights had no squares, so the sum has none either."""
    out = tmp_path / "out"
    sketch(flights, out=out, args=(*READ, "--weight", "w"))
    expected = added(out)
    for i, file in enumerate(sorted(out.glob("*.sketch.parquet"))):
        if i == 1:
            found = ec.Sketch.read_parquet(file)
            metadata = {"polars_ec.input": pl.read_parquet_metadata(file)["polars_ec.input"]}
            found.on_tables(lambda table: table.drop("weight2", strict=False)).write_parquet(file, metadata=metadata)
    result = sketch(flights, out=out, args=(*READ, "--weight", "w"))
    assert f"0 sketched, {FILES} unchanged" in result.stdout
    assert_frame_equal(added(out).frame, expected.frame.drop("weight2"), rel_tol=1e-12)
