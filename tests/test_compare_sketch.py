"""Comparisons of a sketch against those of the rows that it was made from."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.cases import mostly_slow

METRICS = ["nec", "nce", "f1", "auc_roc", "eer"]


def made_log() -> pl.DataFrame:
    rng = np.random.default_rng(21)
    n, users = 1500, 200
    user = rng.integers(0, users, n)
    y = rng.random(n) < 0.3
    z = np.where(y, 1.0, -1.0) + rng.standard_normal(n) + 0.7 * rng.standard_normal(users)[user]
    columns = {name: 1 / (1 + np.exp(-z - 0.5 * rng.standard_normal(n))) for name in "ab"}
    group = rng.choice(["x", "y", "z"], n)
    return pl.DataFrame({"group": group, "user": user, "y": y, **columns, "w": rng.exponential(1, n)})


LOG = made_log()


def same(found: pl.DataFrame, rows: pl.DataFrame, tolerance: float) -> None:
    """Values to the last digits, limits as near as bins tell."""
    exact = ["group", "model", "reference", "metric", "value", "value_reference", "n", "n_missing"]
    assert_frame_equal(found.select(exact), rows.select(exact), rel_tol=1e-9)
    limits = ["difference_ci_low", "difference_ci_high"]
    of_width = (rows["difference_ci_high"] - rows["difference_ci_low"]).to_numpy()
    for name in limits:
        assert np.abs(found[name].to_numpy() - rows[name].to_numpy()).max() < tolerance * of_width.max()


@pytest.mark.quick("rest-user")
@pytest.mark.parametrize(
    ("reference", "cluster"),
    mostly_slow(product(["rest", "total", "best", "y"], [None, "user"]), [("rest", "user"), ("best", None)]),
)
def test_groups_of_a_sketch_differ_as_those_of_the_rows(reference: str, cluster: str | None) -> None:
    sketch = LOG.ec.sketch("a", "y", by="group", cluster=cluster)
    rows = LOG.ec.compare("a", "y", by="group", metrics=METRICS, reference=reference, cluster=cluster)
    found = sketch.compare(*METRICS, reference=reference)
    same(found.with_columns(model=pl.lit("a")), rows, 0.01)


@pytest.mark.parametrize("number", [2, 4])
def test_as_many_groups_as_there_are_sums_are_no_other_groups(number: int) -> None:
    """A square of numbers does not say which way its rows run."""
    log = LOG.with_columns(group=pl.when(pl.col("user") % number > 0).then(pl.col("user") % number))
    rows = log.ec.compare("a", "y", by="group", metrics=["nec", "nce"], reference="rest")
    same(
        log.ec.sketch("a", "y", by="group").compare("nec", "nce", reference="rest").with_columns(model=pl.lit("a")),
        rows,
        0.01,
    )


@pytest.mark.quick("options0")
@pytest.mark.parametrize("options", [{}, {"weight": "w"}])
def test_models_of_a_sketch_differ_as_those_of_the_rows(options: dict[str, Any]) -> None:
    sketch = LOG.ec.sketch(["a", "b"], "y", by="group", cluster="user", **options)
    rows = LOG.ec.compare(["a", "b"], "y", by="group", metrics=METRICS, cluster="user", **options)
    same(sketch.compare(*METRICS), rows, 0.05)
    turned = sketch.compare("nec", reference="b")
    assert turned["difference"].to_list() == pytest.approx((-rows.filter(metric="nec")["difference"]).to_list())


def test_merged_and_rolled_up_sketches_compare_as_the_whole() -> None:
    whole = LOG.ec.sketch("a", "y", by="group", cluster="user")
    halves = [part.ec.sketch("a", "y", by="group", cluster="user") for part in (LOG.head(700), LOG.tail(-700))]
    assert_frame_equal(
        ec.merge(halves).compare(*METRICS, reference="rest"),
        whole.compare(*METRICS, reference="rest"),
        rel_tol=1e-9,
        abs_tol=1e-12,
    )
    by_user = LOG.with_columns(part=pl.col("user") % 2).ec.sketch("a", "y", by=["part", "group"], cluster="user")
    assert_frame_equal(
        by_user.group_by("group").compare("nec", reference="best"), whole.compare("nec", reference="best"), rel_tol=1e-9
    )


@pytest.mark.slow
def test_groups_of_each_model_are_compared_among_themselves() -> None:
    both = LOG.ec.sketch(["a", "b"], "y", by="group").compare("nec", reference="rest")
    for model in ("a", "b"):
        alone = LOG.ec.sketch(model, "y", by="group").compare("nec", reference="rest")
        assert_frame_equal(both.filter(model=model), alone.with_columns(model=pl.lit(model)), rel_tol=1e-12)


def test_the_same_scores_differ_by_nothing_in_a_sketch_as_well() -> None:
    found = LOG.with_columns(c="a").ec.sketch(["a", "c"], "y", by="group", cluster="user").compare(*METRICS)
    assert found.select("difference", "difference_ci_low", "difference_ci_high").unique().rows() == [(0.0, 0.0, 0.0)]


@pytest.mark.parametrize(
    ("sketched", "call", "message"),
    [
        ({}, {}, "sketch the log with cluster="),
        ({"cluster": "user", "buckets": 50}, {}, "50 buckets, too few for p-values"),
        ({"cluster": "few"}, {}, "rows have no cluster key"),
        ({"cluster": "user"}, {"reference": "c"}, r"reference='c' is not a group of group\."),
        ({"cluster": "user"}, {"threshold": 0.3}, "exact in this sketch: declare it"),
        ({"cluster": "user"}, {"metrics": ["ece"]}, "no confidence interval near perfect calibration"),
    ],
)
def test_what_a_sketch_cannot_compare(sketched: dict[str, Any], call: dict[str, Any], message: str) -> None:
    log = LOG.with_columns(few=pl.when(pl.col("user") > 5).then("user"))
    sketch = log.ec.sketch(["a", "b"], "y", by="group", **sketched)
    with pytest.raises((SketchError, ValueError), match=message):
        sketch.compare(*call.get("metrics", ["nec"]), **{k: v for k, v in call.items() if k != "metrics"})


def test_models_of_other_rows_are_no_pair() -> None:
    log = LOG.with_columns(b=pl.when(pl.int_range(pl.len()) > 3).then("b"))
    with pytest.raises(SketchError, match="'b' does not have the same rows as 'a'"):
        log.ec.sketch(["a", "b"], "y", cluster="user").compare("nec")
