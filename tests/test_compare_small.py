"""Which groups of a comparison are small: against counts made here."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec  # noqa: F401  (registers the namespace)
from tests.support.cases import mostly_slow

# Rows, and positives among them: many; few positives; few of both; few rows; none of a class; again many.
SIZES = {"a": (300, 90), "b": (200, 9), "c": (12, 6), "d": (60, 30), "e": (40, 0), "f": (120, 11), "g": (300, 80)}


def made_log() -> pl.DataFrame:
    rng = np.random.default_rng(8)
    parts = []
    for group, (n, positives) in SIZES.items():
        y = np.arange(n) < positives
        z = np.where(y, 0.8, -0.8) + rng.standard_normal(n)
        parts.append(
            pl.DataFrame({"group": [group] * n, "y": y, "p": 1 / (1 + np.exp(-z)), "q": 1 / (1 + np.exp(-z / 2))})
        )
    log = pl.concat(parts)
    # Weights that make of 11 positives fewer than 10, and of some rows none that is used.
    w = np.where(rng.random(log.height) < 0.5, 3.0, 0.5)
    user = rng.integers(0, 300, log.height)
    missing = pl.int_range(pl.len()) % 29 == 0
    return log.with_columns(w=w, user=user, p=pl.when(~missing).then("p"))


LOG = made_log()


def plain(reference: Any, min_rows: int, weight: str | None, best: dict[str, str]) -> dict[str, bool]:
    """Whether each group is small, from its rows one by one."""
    used = LOG.filter(pl.col("p").is_not_null())

    def rows_of_a_class(groups: set[str]) -> float:
        rows = [row for row in used.rows(named=True) if row["group"] in groups]
        counts = []
        for label in (True, False):
            w = np.array([1.0 if weight is None else row[weight] for row in rows if row["y"] is label])
            counts.append(w.sum() ** 2 / (w**2).sum() if len(w) else 0.0)
        return min(counts)

    small = {}
    for group in SIZES:
        others = {
            "rest": set(SIZES) - {group},
            "total": set(SIZES),
            "best": {best[group]} if group in best else {group},
            "q": {group},
        }.get(reference, {reference})
        few = min(rows_of_a_class({group}), rows_of_a_class(others)) < 10
        small[group] = few or used.filter(group=group).height < min_rows
    return small


@pytest.mark.quick("q-*", "rest-w-*", "best-w-*")
@pytest.mark.parametrize(
    ("weight", "min_rows"), mostly_slow(product([None, "w"], [None, 130]), [(None, None), ("w", 130)])
)
@pytest.mark.parametrize("reference", ["q", "rest", "total", "best", "a", "c"])
def test_small_groups_have_few_rows_or_few_of_a_class_or_are_compared_with_such(
    reference: str, min_rows: int | None, weight: str | None
) -> None:
    of_models = reference == "q"
    scores: Any = ["p", "q"] if of_models else "p"
    found = LOG.ec.compare(
        scores, "y", by="group", metrics=["recall", "auc_roc"], reference=reference, min_rows=min_rows, weight=weight
    )
    assert found.columns[-3:] == ["small", "n", "n_missing"]
    for metric in ("recall", "auc_roc"):
        rows = found.filter(metric=metric)
        best = dict(rows.select("group", "reference").drop_nulls().rows())
        expected = plain(reference, min_rows or 0, weight, best)
        if not of_models:
            expected.pop(reference, None)
        assert dict(rows.select("group", "small").rows()) == expected
        # All are, where the group that they are compared with is.
        assert set(expected.values()) == ({True} if reference == "c" else {True, False}) or reference == "best"
    both = LOG.filter(pl.col("p").is_not_null()) if of_models else LOG
    sketch = both.ec.sketch(scores, "y", by="group", weight=weight, cluster="user" if of_models else None)
    sketched = sketch.compare("recall", "auc_roc", reference=reference, min_rows=min_rows)
    shared = ["group", "reference", "metric", "small", "n"]
    assert sketched.select(shared).rows() == found.select(shared).rows()


@pytest.mark.parametrize("min_rows", [-1, 1.5, True])
def test_numbers_of_rows_are_whole(min_rows: Any) -> None:
    for call in (LOG.ec.compare, lambda *_, **how: LOG.ec.sketch("p", "y", by="group").compare(**how)):
        with pytest.raises(ValueError, match=f"min_rows={min_rows} is not a number of rows: pass a whole number"):
            call("p", "y", reference="rest", min_rows=min_rows)


@pytest.mark.parametrize("cost_fn", ["cost", 5.0])
@pytest.mark.parametrize("other", ["p", "q"], ids=["equal", "different"])
def test_one_row_of_a_class_in_rows_and_sketches(other: str, cost_fn: Any) -> None:
    """Costs by row are losses, and one of them does not say how they vary; of decisions the classes need a row each."""
    rng, rows = np.random.default_rng(3), 300
    scores = {"p": rng.random(rows), "q": rng.random(rows)}
    log = pl.DataFrame(
        {**scores, "y": np.arange(rows) == 5, "cost": rng.integers(1, 9, rows) * 1.0, "row": np.arange(rows)}
    )
    models = log.select("y", "cost", "row", a="p", b=other)
    names, keywords = ["expected_cost", "nec"], {"cost_fn": cost_fn, "cluster": pl.col("row") % 100}
    of_rows = models.ec.compare(["a", "b"], "y", metrics=names, **keywords)
    of_sketch = models.ec.sketch(["a", "b"], "y", reduction="decisions", **keywords).compare(*names)
    bounds = pl.col("metric", "difference_ci_low", "difference_ci_high", "p_value")
    assert_frame_equal(of_sketch.select(bounds), of_rows.select(bounds))
    assert (of_rows["p_value"].null_count() == 2) == (cost_fn == "cost")


@pytest.mark.parametrize("cluster", [None, "user"])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("seed", range(3))
def test_losses_that_are_all_equal_have_no_bounds(seed: int, weight: str | None, cluster: str | None) -> None:
    """Losses are -ln 0.8 and 0.04 in every row of a group; those of another model are larger by the same amount in each."""
    rng = np.random.default_rng(seed)
    y, group = rng.random(200) < 0.4, rng.integers(0, 2, 200)
    equal = {
        "p": np.where(y, 0.8, 0.2),
        "q": np.where(y, 0.7, 0.3),
        "r": np.where(group == 0, np.where(y, 0.8, 0.2), rng.random(200)),
    }
    log = pl.DataFrame(
        {**equal, "y": y, "group": group, "w": rng.choice([0.5, 1.0, 2.5], 200), "user": rng.integers(0, 30, 200)}
    )
    call: dict[str, Any] = {"metrics": ["cross_entropy", "brier"], "weight": weight, "cluster": cluster, "prior": 0.2}
    models = log.ec.compare(["p", "q"], "y", **call)
    assert models["difference"].to_numpy() == pytest.approx([np.log(8 / 7)] * 2 + [0.05] * 2)
    groups = log.ec.compare("r", "y", by="group", reference=1, **call)
    assert groups["value"].to_numpy() == pytest.approx([-np.log(0.8)] * 2 + [0.04] * 2)
    for table in (models, groups):
        assert table.select("difference_ci_low", "difference_ci_high", "p_value").null_count().row(0) == (4, 4, 4)


@pytest.mark.parametrize("reference", ["best", "highest", "lowest"])
def test_one_group_with_bounds_is_compared_with_none(reference: str) -> None:
    # Group e has no positives, so that its false-positive rate has no bounds. A lazy log gives no warning.
    log = LOG.filter(pl.col("group").is_in(["a", "e"])).lazy()
    compared = log.ec.compare("p", "y", by="group", reference=reference, metrics=["fpr"], margin=10).collect()
    assert compared["value"].null_count() == 0
    assert compared.select("reference", "difference", "p_value", "equivalent").null_count().row(0) == (2, 2, 2, 2)


def test_a_large_group_without_errors_has_bounds() -> None:
    """A rate of 1 has the variance of pseudo-counts, which is no rounding error however many rows there are."""
    rng, n, few = np.random.default_rng(3), 2_000_000, 5_000
    y, right = rng.random(n + few) < 0.5, np.append(np.ones(n, bool), rng.random(few) < 0.6)
    log = pl.DataFrame({"y": y, "p": np.where(y == right, 0.9, 0.1), "group": ["a"] * n + ["b"] * few})
    compared = log.ec.compare("p", "y", by="group", reference="b", metrics=["accuracy"])
    rate = right[n:].mean()
    half = 1.96 * np.sqrt(rate * (1 - rate) / few)
    bounds = compared.filter(group="a").select("difference_ci_low", "difference_ci_high").row(0)
    assert bounds == pytest.approx((1 - rate - half, 1 - rate + half), abs=1e-4)
