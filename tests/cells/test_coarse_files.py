"""Coarse cells in files and in tables of warehouses: what was written comes back, and nothing else passes for it."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.cases import mostly_slow
from tests.support.database import database
from tests.support.sketch_files import LOG, described, made, restated, same, written

KINDS = ("clustered", "clustered and weighted", "clustered and exact")
FIRST, N = pl.int_range(pl.len()) == 0, pl.col("n")
MADE_WITH = {"cluster": "u", "buckets": 7, "thresholds": [0.2, 0.5]}
COMPLETE = LOG.filter(pl.col("y").is_not_null())


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_has_them_as_its_last_table(tmp_path, kind):
    sketch, path = made(kind), tmp_path / "sketch.parquet"
    same(ec.Sketch.read_parquet(written(sketch, path)), sketch)
    about, stored = described(path), pl.read_parquet(path)
    number = 7 if kind == "clustered" else 100
    assert {name: about[name] for name in ("cluster", "buckets", "hash", "hash_version")} == {
        "cluster": "u",
        "buckets": number,
        "hash": "murmur3",
        "hash_version": 2,
    }
    assert [*about["tables"]][-1] == "coarse"
    coarse = stored.filter(pl.col("table") == "coarse").select(about["tables"]["coarse"])
    assert_frame_equal(coarse, sketch.coarse)
    without = written(made("binned"), path)
    assert not {"cluster", "buckets", "hash", "hash_version"} & {*described(without)}


@pytest.mark.parametrize("kind", mostly_slow(KINDS, KINDS[1:2]))
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"n": N + FIRST}, "do not add up to its cells"),
        ({"n": -N}, "a number of rows that is null or negative"),
        (
            {"bucket": pl.when(FIRST).then(-1).otherwise("bucket").cast(pl.Int16)},
            "a bucket that none of its clusters is in",
        ),
        ({"bucket": pl.when(FIRST).then(100).otherwise("bucket").cast(pl.Int16)}, "a bucket that none of its clusters"),
        ({"bucket": pl.col("bucket").cast(pl.Int32)}, "'bucket' is Int32, not Int16"),
        ({"class": pl.when(FIRST).then(None).otherwise("class").cast(pl.Int8)}, "rows that are not usable"),
        ({"class": pl.when(FIRST).then(-1).otherwise("class").cast(pl.Int8)}, "rows that are not usable"),
        ({"class": 1 - pl.col("class")}, "do not add up to its cells"),
        ({"bin": pl.lit(None, dtype=pl.Int32)}, "a value of 'bin' that is not on the grid"),
        ({"bin": pl.lit(514, dtype=pl.Int32)}, "a value of 'bin' that is not on the grid"),
        ({"above": pl.col("above") + 1}, "a value of 'above'|another side of the thresholds"),
        ({"g": pl.lit("a")}, "a duplicate coarse cell|do not add up"),
    ],
)
def test_coarse_cells_that_no_log_leads_to(tmp_path, kind, changes, words):
    sketch = made(kind)
    wrong = replace(sketch, coarse=sketch.coarse.with_columns(**changes))
    with pytest.raises(SketchError, match=f"is a damaged sketch: it has .*({words})|is a damaged sketch: ({words})"):
        ec.Sketch.read_parquet(written(wrong, tmp_path / "sketch.parquet"))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda table: table.slice(1), "do not add up to its cells"),
        (lambda table: table.vstack(table.tail(1)), "a duplicate coarse cell"),
        (
            lambda table: table.with_columns(weight=pl.col("weight") * (1 + 1e-6)),
            "'weight2' that is impossible|do not add up",
        ),
        (lambda table: table.with_columns(weight2=pl.col("weight2") * (1 + 1e-6)), "'weight2' that is impossible"),
        (lambda table: table.with_columns(weight2=pl.lit(math.nan)), "'weight2' that is impossible"),
        (lambda table: table.drop("weight2"), "its columns are"),
        (lambda table: table.with_columns(more=1), "its columns are"),
    ],
)
def test_coarse_tables_that_are_not_the_cells_once_more(tmp_path, change, words):
    sketch = made("clustered and weighted")
    wrong = replace(sketch, coarse=change(sketch.coarse))
    with pytest.raises(SketchError, match=f"is a damaged sketch: .*({words})"):
        ec.Sketch.read_parquet(written(wrong, tmp_path / "sketch.parquet"))


@pytest.mark.parametrize(
    "about",
    [
        {"cluster": ...},
        {"cluster": None},
        {"cluster": ["u"]},
        {"buckets": ...},
        {"buckets": 4},
        {"buckets": "100"},
        {"buckets": None},
        {"hash": ...},
        {"hash": 3},
        {"hash_version": ...},
    ],
    ids=str,
)
def test_descriptions_that_are_garbled(tmp_path, about):
    path = restated(written(made("clustered"), tmp_path / "sketch.parquet"), **about)
    with pytest.raises(SketchError, match="damaged sketch, with invalid metadata"):
        ec.Sketch.read_parquet(path)


def test_buckets_of_another_hash(tmp_path):
    sketch, path = made("clustered"), tmp_path / "sketch.parquet"
    with pytest.raises(SketchError, match="has folds or buckets by version 99 of the hash"):
        ec.Sketch.read_parquet(restated(written(sketch, path), hash_version=99))
    other = ec.Sketch.read_parquet(restated(written(sketch, path), hash="md5 by spark", hash_version=...))
    assert other.hash == "md5 by spark"
    with pytest.raises(SketchError, match="different hash of the clusters cannot be added: murmur3 and md5 by spark"):
        sketch + other
    assert (other + other).hash == "md5 by spark"
    # The numbers of no buckets are those of any.
    assert (sketch + replace(other, coarse=other.coarse.clear(), frame=other.frame.clear())).hash == "murmur3"
    assert (replace(other, coarse=other.coarse.clear(), frame=other.frame.clear()) + sketch).hash == "murmur3"


def test_sketches_without_clusters_are_as_they_were(tmp_path):
    """A file of schema version 3 is read, and where it has weights it has no squares of them, nor has what it is added to."""
    for kind in ("binned", "exact", "raw"):
        sketch, path = made(kind), tmp_path / "sketch.parquet"
        same(ec.Sketch.read_parquet(restated(written(sketch, path), schema_version=3)), sketch)
    new = made("weighted")
    former = new.on_tables(lambda table: table.drop("weight2", strict=False))
    old = ec.Sketch.read_parquet(restated(written(former, path), schema_version=3))
    same(old, former)
    assert old.weighted
    values = ("nec", "cross_entropy", "auc_roc", "ece")
    assert_frame_equal(old.evaluate(*values), new.evaluate(*values))
    unweighted = LOG.ec.sketch("p", "y", by="g", thresholds=[0.1, math.inf])
    for parts in ([old, new], [new, old], [unweighted, old, new]):
        added = ec.merge(parts)
        assert added.frame.columns == old.frame.columns
        same(ec.Sketch.read_parquet(written(added, path)), added)
    both = new + unweighted
    assert both.frame.columns == new.frame.columns
    counts = unweighted.frame.filter(pl.col("class") >= 0)["n"].sum()
    for name in ("weight", "weight2"):
        assert both.frame[name].sum() == pytest.approx(new.frame[name].sum() + counts)


# Tables of warehouses ----------------------------------------------------------------------------------------------------


def table_of(**arguments: str) -> pl.DataFrame:
    """What DuckDB makes of the log."""
    connection = database().cursor()
    connection.register("clustered_log", LOG.to_arrow())
    stated = "".join(f", {name} := {value}" for name, value in arguments.items())
    return connection.sql(
        f"FROM ec.sketch('clustered_log', p, y, groups := ['g'], thresholds := [0.2, 0.5]{stated})"
    ).pl()


TABLE = table_of(cluster="u", buckets="7")
COARSE = pl.col("table") == "coarse"


def test_a_table_is_the_sketch_of_its_log():
    expected = LOG.ec.sketch("p", "y", by="g", **MADE_WITH)
    for table in (
        TABLE,
        TABLE.to_arrow(),
        TABLE.sample(fraction=1, shuffle=True, seed=1),
        TABLE.with_columns(pl.col("table").cast(pl.Categorical)),
    ):
        found = ec.Sketch.from_arrow(table, **MADE_WITH)
        for name in ("frame", "sums", "coarse"):
            assert_frame_equal(getattr(found, name), getattr(expected, name))
        assert (found.cluster, found.buckets, found.hash) == ("u", 7, "murmur3")
    added = ec.Sketch.from_arrow(pl.concat([TABLE, TABLE]), **MADE_WITH)
    assert_frame_equal(added.coarse, (expected + expected).coarse)
    assert_frame_equal((expected + found).coarse, added.coarse)
    empty = ec.Sketch.from_arrow(TABLE.clear(), **MADE_WITH)
    assert_frame_equal((empty + expected).coarse, expected.coarse)


@pytest.mark.parametrize(
    ("table", "made_with", "words"),
    [
        (TABLE, {"thresholds": [0.2, 0.5]}, "pass cluster= and buckets= as the query was made with them"),
        (TABLE, {**MADE_WITH, "buckets": 6}, "a bucket that none of its clusters is in"),
        (TABLE, {**MADE_WITH, "resolution": 8}, "wrong side of the thresholds"),
        (TABLE.drop("hash"), MADE_WITH, "the table lacks hash: write the query with cluster="),
        (TABLE.filter(~COARSE), MADE_WITH, "do not add up to its cells"),
        (TABLE.filter(~COARSE).drop("table", "bucket", "hash"), MADE_WITH, "the table lacks table, bucket, hash"),
        (TABLE.with_columns(table=pl.lit("fine")), MADE_WITH, "it has rows of"),
        (TABLE.with_columns(hash=pl.when(COARSE).then(pl.lit("md5")).otherwise("hash")), MADE_WITH, "it has rows of"),
        (TABLE.with_columns(hash=None), MADE_WITH, "it has rows of"),
        (
            TABLE.with_columns(pl.when(COARSE).then(N + 1).otherwise("n")),
            MADE_WITH,
            "without weights it is the number of rows",
        ),
        (TABLE.with_columns(pl.when(COARSE).then(pl.col("weight2") + 1).otherwise("weight2")), MADE_WITH, "'weight2'"),
        (TABLE.with_columns(pl.col("bucket") + 0.5), MADE_WITH, "'bucket' that are not whole numbers"),
        (TABLE.with_columns(bucket=pl.lit("first")), MADE_WITH, "values that are not numbers"),
    ],
)
def test_tables_that_no_log_leads_to(table, made_with, words):
    with pytest.raises(SketchError, match=words):
        ec.Sketch.from_arrow(table, **made_with)


def test_clusters_that_are_no_name():
    with pytest.raises(TypeError, match="is not the name of a key"):
        ec.Sketch.from_arrow(TABLE, **{**MADE_WITH, "cluster": pl.col("u")})
    with pytest.raises(TypeError, match="buckets=7 is the number of hash buckets of clusters: pass cluster="):
        ec.Sketch.from_arrow(TABLE, thresholds=[0.2, 0.5], buckets=7)
