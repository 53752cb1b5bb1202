"""Sketches of lists of K posteriors in DuckDB, against those of Polars."""

from __future__ import annotations

import duckdb
import numpy as np
import polars as pl
import pytest
from sklearn.metrics import accuracy_score, log_loss

import polars_ec as ec
from tests.support.sketch_jobs import same

K, N = 3, 300
RANDOM = np.random.default_rng(4)
POSTERIORS = RANDOM.dirichlet([0.6] * K, N)
LABELS = np.array([RANDOM.choice(K, p=row) for row in POSTERIORS])
CLEAN = pl.DataFrame(
    {
        "g": np.where(np.arange(N) % 3 == 0, "a", "b"),
        "v": POSTERIORS.tolist(),
        "y": LABELS,
        "w": RANDOM.integers(0, 4, N) / 2,
        "user": np.arange(N) % 40,
    }
)
ODD = pl.DataFrame(
    [
        ("a", None, 0, 1.0, 1),
        ("a", [0.5, None, 0.5], 1, 1.0, 1),
        ("a", [0.2, 0.3, 0.5], None, 1.0, None),
        ("a", [0.2, 0.3, 0.5], 1, None, 2),
        ("a", [2.0, -1.0, 0.0], None, 1.0, 2),
        ("a", [1.0, 0.0, 0.0], 0, 1.0, None),
        ("a", [0.4, 0.4, 0.2], 1, 1.0, 3),
        ("c", [0.4, 0.4, 0.4], 1, 1.0, 3),
        ("c", [2.0, -1.0, 0.0], 0, 1.0, 3),
        ("c", [float("nan"), 0.5, 0.5], 0, 1.0, 3),
        ("c", [0.2, 0.3, 0.5], K, 1.0, 3),
        ("c", [0.2, 0.3, 0.5], -1, 1.0, 3),
        ("c", [0.2, 0.3, 0.5], 2**40, 1.0, 3),
        ("d", [0.0, 0.5, 0.5], 0, 0.0, 4),
    ],
    schema=CLEAN.schema,
    orient="row",
)
LOG = pl.concat([CLEAN, ODD])
AXES = ("g", "target", "bucket", "class", "bin", "above")


@pytest.fixture(scope="module")
def log():
    with duckdb.connect() as connection:
        ec.register(connection)
        connection.register("clean", CLEAN)
        connection.register("log", LOG)
        yield connection


def in_order(table: pl.DataFrame) -> pl.DataFrame:
    return table.sort([name for name in AXES if name in table.columns], nulls_last=True)


@pytest.mark.quick("one_vs_rest-*user-w", "top_label-*None-None")
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("cluster", [None, "user"])
@pytest.mark.parametrize("by", [[], ["g"]], ids=["all", "by"])
@pytest.mark.parametrize("reduction", ["one_vs_rest", "top_label"])
def test_the_sketch_is_that_of_polars(log, reduction, by, cluster, weight):
    more = "" if cluster is None else ", cluster := user, buckets := 20"
    arguments = f"groups := {by}, thresholds := [0.5], weight := {weight or 'NULL'}{more}"
    table = log.sql(f"FROM ec.sketch('log', v, y, classes := 3, reduction := '{reduction}', {arguments})").pl()
    clusters = {} if cluster is None else {"cluster": cluster, "buckets": 20}
    ours = ec.Sketch.from_arrow(table, thresholds=[0.5], weighted=weight is not None, **clusters)
    vectors = LOG.with_columns(pl.col("v").list.to_array(K))
    theirs = ec.sketch(vectors, "v", "y", by=by, weight=weight, reduction=reduction, **clusters)
    assert ours.keys == theirs.keys
    for one, other in ((ours.frame, theirs.frame), (ours.sums, theirs.sums), (ours.coarse, theirs.coarse)):
        assert (one is None) == (other is None)
        if other is not None:
            same(in_order(one.select(other.columns).cast(other.schema)), in_order(other))


@pytest.mark.slow
def test_losses_are_those_of_scikit_learn(log):
    table = log.sql("FROM ec.sketch('clean', v, y, classes := 3, reduction := 'one_vs_rest')")
    found = ec.Sketch.from_arrow(table.pl()).evaluate("cross_entropy").sort("target")["cross_entropy"].to_list()
    assert found == pytest.approx([log_loss(k == LABELS, POSTERIORS[:, k]) for k in range(K)], rel=1e-12)
    top = log.sql("FROM ec.sketch('clean', list_transform(v, lambda x: ln(x)), y, classes := 3, reduction := 'top_label', score_type := 'log_posteriors')")  # fmt: skip
    share = ec.Sketch.from_arrow(top.pl()).evaluate()["class_prior"].item()
    assert share == pytest.approx(accuracy_score(LABELS, POSTERIORS.argmax(axis=1)), rel=1e-12)


def test_lists_of_another_length_are_wrong(log):
    table = log.sql("FROM ec.sketch('clean', v, y, classes := 4, reduction := 'one_vs_rest')").pl()
    assert table.select("class", "n").unique().rows() == [(-1, N)]
    assert table["target"].sort().to_list() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("v, y", "the scores are lists, so pass the number of classes and a reduction too"),
        ("v, y, cluster := user", "the scores are lists, so pass the number of classes and a reduction too"),
        ("v, y, classes := 3, reduction := 'rest'", "reduction 'rest' is not one of one_vs_rest, top_label, decisions"),
        ("v, y, classes := 3, reduction := NULL", "reduction 'NULL' is not one of one_vs_rest, top_label, decisions"),
        ("v, y, classes := 1, reduction := 'top_label'", "a whole number from 2, not 1"),
        ("v, y, classes := 2.5, reduction := 'top_label'", "a whole number from 2, not 2.5"),
        ("v, y, classes := NULL, reduction := 'one_vs_rest'", "a whole number from 2, not NULL"),
        ("v, g, classes := 3, reduction := 'one_vs_rest'", "label must be BOOLEAN or an integer 0..K-1, not VARCHAR"),
        ("v, y, classes := 3, reduction := 'one_vs_rest', score_type := 'llr'", "is not one of posteriors, log_posteriors"),
        ("v, y, classes := 3, reduction := 'one_vs_rest', groups := ['target']", "is also a column of the result"),
        ("w, y, classes := 3, reduction := 'one_vs_rest'", "DOUBLE -> DOUBLE[]"),
    ],
)  # fmt: skip
def test_what_is_refused(log, arguments, words):
    with pytest.raises(duckdb.Error) as error:
        log.sql(f"FROM ec.sketch('clean', {arguments})").fetchall()
    assert words in str(error.value)
