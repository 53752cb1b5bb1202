"""The second table of a sketch with clusters: rows by bucket, in coarse cells, counted by whichever way has room."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from polars_ec.sketches import counting, log_pass
from polars_ec.sketches import counting as coarse
from tests.support.buckets import plain_bucket
from tests.support.cases import mostly_slow

N = 1500
R = np.random.default_rng(11)
SCORES = [0.0, 1.0, 0.5, 1 / 11, 1e-300, 1 - 2**-53, 5e-324, *R.random(40)]
LOG = pl.DataFrame(
    {
        "g": [f"g{i}" if i else None for i in R.integers(0, 4, N)],
        "h": R.integers(-3, 3, N),
        "p": R.choice(SCORES, N),
        "x": R.choice([-math.inf, math.inf, 0.0, 70.0, -70.0, 1e300, *R.normal(0, 3, 60)], N),
        "y": [None if i == 0 else i == 1 for i in R.integers(0, 4, N)],
        "w": R.choice([0.0, 0.5, 3.0, 1e-3], N),
        "user": [f"u{i}" if i else None for i in R.integers(0, 60, N)],
        "id": [i or None for i in R.integers(0, 60, N)],
    }
)
KINDS = {
    "binned": {"thresholds": [0.2, 1 / 11]},
    "weighted": {"weight": "w", "resolution": 16},
    "as coarse": {"resolution": 8},
    "coarser": {"resolution": 3, "weight": "w"},
    "cut": {"resolution": 12, "thresholds": [0.3], "weight": "w"},
    "cut log-odds": {"score_type": "log_odds", "resolution": 12},
    "log-odds": {"score_type": "log_odds", "thresholds": [-1.0, 2.0]},
    "raw": {"score_type": "raw", "resolution": 24},
    "exact": {"exact": True, "weight": "w", "thresholds": [0.2]},
    "exact raw": {"exact": True, "score_type": "raw"},
}


@pytest.fixture(params=["array", "engine", "first one, then the other"])
def way(request, monkeypatch) -> Iterator[None]:
    """Each way in which rows are counted, in batches of few rows; it is checked that rows went that way."""
    ways: set[str] = set()
    add, add_grouped = coarse.CoarseTable.add, counting.GroupBy.add
    rooms = iter([True, True, True])

    def noted(self, group, groups, rows):
        room = request.param == "array" or (request.param != "engine" and next(rooms, False))
        if room and rows.height:
            ways.add("array")
        return room and add(self, group, groups, rows)

    def noted_group(self, rows):
        if rows.height and "bucket" in self.by:
            ways.add("engine")
        add_grouped(self, rows)

    monkeypatch.setattr(coarse.CoarseTable, "add", noted)
    monkeypatch.setattr(counting.GroupBy, "add", noted_group)
    monkeypatch.setattr(log_pass, "_BATCH", 200)
    yield
    assert ways == {"array": {"array"}, "engine": {"engine"}}.get(request.param, {"array", "engine"})


def sketched(kind: str, log: pl.DataFrame = LOG, **more) -> ec.Sketch:
    keywords = {"cluster": "user", "buckets": 7, **KINDS[kind], **more}
    return log.ec.sketch("x" if keywords.get("score_type") else "p", "y", **keywords)


def expected(sketch: ec.Sketch, by: list[str], key: str, log: pl.DataFrame = LOG) -> pl.DataFrame:
    """The coarse cells by definition, row by row in NumPy."""
    kind, r = sketch.grid.score_type, min(8, sketch.grid.resolution or 8)
    score = log["p" if kind == "posterior" else "x"].to_numpy()
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        x = np.log(score) - np.log(1 - score) if kind == "posterior" else score
        bins = np.select(
            [x == -np.inf, x == np.inf], [-64 * r - 2, 64 * r + 1], np.clip(np.floor(x * r), -64 * r - 1, 64 * r)
        )
        if kind == "raw":
            size = np.sign(x) * (np.floor(np.log(np.abs(x)) * r) + 746 * r + 1)
            bins = np.select([x == 0, np.isinf(x)], [0, np.sign(x) * (1492 * r + 2)], size)
    weights = {"weight": pl.col("w"), "weight2": pl.col("w") ** 2} if sketch.weighted else {}
    rows = log.select(
        *by,
        pl.Series("bucket", [plain_bucket(value, sketch.buckets or 0) for value in log[key]], dtype=pl.Int16),
        pl.col("y").cast(pl.Int8).alias("class"),
        pl.Series("bin", bins).cast(pl.Int32),
        pl.Series("above", np.sum([score > t for t in sketch.grid.thresholds], axis=0) + np.zeros(len(score))).cast(
            pl.Int16
        ),
        n=pl.lit(1, dtype=pl.Int64),
        **weights,
    ).filter(pl.col("class").is_not_null())
    cell = [*by, "bucket", "class", "bin", "above"]
    return rows.group_by(cell).agg(pl.all().sum()).sort(cell, nulls_last=True)


@pytest.mark.quick("engine-*", "array-cut*")
@pytest.mark.parametrize("kind", mostly_slow(KINDS, ["binned", "coarser", "cut", "cut log-odds", "raw", "exact"]))
def test_coarse_cells_are_the_rows_by_bucket(way: None, kind: str) -> None:
    sketch = sketched(kind, by=["g", "h"])
    assert_frame_equal(sketch.coarse, expected(sketch, ["g", "h"], "user"), rel_tol=1e-12)
    assert (sketch.buckets, sketch.cluster, sketch.hash) == (7, "user", "murmur3")
    assert "clusters: user in 7 buckets" in repr(sketch)


def test_keys_of_clusters_and_no_groups(way: None) -> None:
    for cluster in ("id", pl.col("id") * 10**12, pl.col("id") * pl.duration(hours=1) + datetime(2020, 1, 1)):
        sketch = sketched("binned", cluster=cluster, buckets=100)
        made = LOG.select(cluster).to_series()
        assert_frame_equal(sketch.coarse, expected(sketch, [], made.name, LOG.with_columns(made)))
        assert sketch.cluster == "id"


@pytest.mark.parametrize("kind", mostly_slow(KINDS, ["weighted", "exact"]))
def test_the_rest_is_as_without_clusters(kind: str) -> None:
    keywords = {"by": "g", **KINDS[kind]}
    sketch = sketched(kind, by="g")
    without = LOG.ec.sketch("x" if keywords.get("score_type") else "p", "y", **keywords)
    assert_frame_equal(sketch.frame, without.frame)
    assert (sketch.sums is None) == (without.sums is None)
    if without.sums is not None:
        assert_frame_equal(sketch.sums, without.sums)
    assert [without.coarse, without.buckets, without.cluster, without.hash] == [None] * 4
    assert "clusters" not in repr(without)


@pytest.mark.quick("cut")
@pytest.mark.parametrize("kind", mostly_slow(KINDS, ["binned", "cut", "exact"]))
def test_parts_add_up_to_the_whole_in_any_order(kind: str) -> None:
    whole = sketched(kind, by=["g", "h"])
    parts = [
        sketched(kind, LOG.sample(fraction=1, shuffle=True, seed=3)[start::3], by=["g", "h"]) for start in range(3)
    ]
    for added in (ec.merge(parts), parts[2] + parts[0] + parts[1]):
        assert_frame_equal(added.coarse, whole.coarse, rel_tol=1e-12)
        assert (added.buckets, added.cluster, added.hash) == (7, "user", "murmur3")
    rolled = whole.group_by("h")
    assert_frame_equal(rolled.coarse, sketched(kind, by="h").coarse, rel_tol=1e-12)
    assert_frame_equal(
        whole.filter(pl.col("h") > 0).group_by().coarse, sketched(kind, LOG.filter(pl.col("h") > 0)).coarse
    )
    assert sketched(kind, LOG.clear(), by="h").coarse.schema == rolled.coarse.schema


def test_several_models_classes_and_folds() -> None:
    log = LOG.with_columns(
        q=1 - pl.col("p"), k=pl.col("h") % 3, v=pl.concat_arr(pl.col("w", "p") / 4, 1 - pl.sum_horizontal("w", "p") / 4)
    )
    both = log.ec.sketch(["p", "q"], "y", by="h", cluster="user", folds=3, fold_by="user")
    assert both.coarse.columns == ["h", "score", "fold", "bucket", "class", "bin", "above", "n"]
    for name in ("p", "q"):
        one = log.ec.sketch(name, "y", by="h", cluster="user", folds=3, fold_by="user")
        assert_frame_equal(both.filter(pl.col("score") == name).coarse.drop("score"), one.coarse)
    # A cluster is in one fold: its bucket says which only where their number is a multiple.
    of_fold = log.ec.sketch("p", "y", cluster="user", buckets=30, folds=3, fold_by="user").coarse
    known = of_fold.filter(pl.col("bucket").is_not_null())
    assert (known["bucket"] % 3 == known["fold"]).all()
    assert of_fold.filter(pl.col("bucket").is_null())["fold"].unique().to_list() == [3]
    tall = log.ec.sketch("v", "k", cluster="user")
    assert tall.coarse.columns[:3] == ["target", "bucket", "class"]
    counted = tall.coarse.group_by("bucket", "target").agg(pl.col("n").sum()).sort("bucket", "target", nulls_last=True)
    rows = log.select(bucket=ec.bucket("user"), target=pl.lit([0, 1, 2])).explode("target")
    assert counted.rows() == rows.group_by("bucket", "target").len().sort("bucket", "target", nulls_last=True).rows()
    positive = tall.filter(pl.col("target") == 2).coarse.filter(pl.col("class") == 1)["n"].sum()
    assert positive == log.filter(pl.col("k") == 2).height
    top = log.ec.sketch("v", "k", cluster="user", reduction="top_label")
    assert top.coarse["n"].sum() == log.height


def test_many_groups_of_few_rows() -> None:
    n = 4000
    log = pl.DataFrame({"g": np.arange(n) % 1300, "p": R.random(n), "y": R.random(n) < 0.5, "u": np.arange(n)})
    sketch = log.ec.sketch("p", "y", by="g", cluster="u", buckets=1000)
    assert sketch.coarse["n"].sum() == n
    rows = log.select("g", ec.bucket("u", 1000)).group_by("g", "bucket").len("n").sort("g", "bucket")
    counted = sketch.coarse.group_by("g", "bucket").agg(pl.col("n").sum()).sort("g", "bucket")
    assert counted.rows() == rows.rows()


def test_places_grow_with_groups_and_cells_and_are_read_in_parts(monkeypatch) -> None:
    monkeypatch.setattr(coarse, "_FEW_CELLS", 1)
    monkeypatch.setattr(coarse, "_TOGETHER", 1)
    monkeypatch.setattr(log_pass, "_BATCH", 50)
    log = LOG.sort("h", "p")
    sketch = sketched("weighted", log, by=["g", "h"])
    assert_frame_equal(sketch.coarse, expected(sketch, ["g", "h"], "user", log), rel_tol=1e-12)


def test_a_table_without_room_counts_nothing(monkeypatch) -> None:
    table = coarse.CoarseTable(10, 5, ["weight"])
    rows = pl.DataFrame(
        {"__coarse": [3, 9, 0], "bucket": [None, 4, 2], "weight": [1.0, 2.0, 4.0]},
        schema_overrides={"__coarse": pl.Int32, "bucket": pl.Int16},
    )
    monkeypatch.setattr(coarse, "_LARGEST", 0)
    assert not table.add(np.array([0, 1, 1]), 2, rows)
    assert table.table().height == 0
    monkeypatch.setattr(coarse, "_LARGEST", 2**20)
    assert table.add(np.array([0, 1, 1]), 2, rows)
    # The first and the last cell are of rows that are not usable.
    assert table.table().rows() == [(0, None, 3, 1, 1.0)]
    table._totals["n"][0, 5, 1] = 2**32 - 1  # as if so many had come
    table._rows = 2**32 - 2
    assert table.add(np.array([0, 1, 1]), 2, rows)
    assert table.table()["n"].to_list() == [2**32]


def test_weights_that_a_float_does_not_hold() -> None:
    log = pl.DataFrame({"p": [0.3, 0.3], "y": [True, True], "w": [1e308, 1e308], "u": [1, 1]})
    sketch = log.ec.sketch("p", "y", weight="w", cluster="u")
    assert sketch.coarse.select("n", "weight", "weight2").rows() == [(2, math.inf, math.inf)]


def test_sketches_of_other_clusters_do_not_add_up() -> None:
    one = sketched("binned")
    for other, words in (
        (sketched("binned", buckets=8), "different buckets cannot be added: 7 and 8"),
        (sketched("binned", cluster="id"), "different cluster cannot be added: user and id"),
        (LOG.ec.sketch("p", "y", **KINDS["binned"]), "make both with cluster=, or both without"),
    ):
        for pair in ([one, other], [other, one]):
            with pytest.raises(SketchError, match=words.replace("7 and 8", "[78] and [78]").replace("user and id", "")):
                ec.merge(pair)


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"cluster": "user", "buckets": 4}, "buckets=4 is not a whole number from 5 to 1000"),
        ({"cluster": "user", "buckets": 2.5}, "buckets=2.5 is not a whole number"),
        ({"buckets": 20}, "buckets=20 is the number of hash buckets of clusters: pass cluster=, or leave it out"),
        ({"cluster": "p"}, "key 'p' is Float64"),
        ({"cluster": ["user", "id"]}, r"has several columns"),
        ({"cluster": "user", "by": pl.col("h").alias("bucket")}, "has a column 'bucket'"),
        ({"cluster": "user", "by": pl.col("h").alias("bin"), "exact": True}, "has a column 'bin'"),
    ],
)
def test_clusters_that_are_none(keywords, words) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        LOG.lazy().ec.sketch("p", "y", **keywords)


def test_a_group_column_bucket_is_only_in_the_way_of_clusters() -> None:
    log = LOG.with_columns(ec.bucket("user"))
    assert log.ec.sketch("p", "y", by="bucket").group_by("bucket").keys == ["bucket"]
    with pytest.raises(SketchError, match="group column 'bucket'"):
        sketched("binned", by="h").group_by(pl.col("h").alias("bucket"))
