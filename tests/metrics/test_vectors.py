"""Vectors of three or four classes, which are read by expressions: Lists as Arrays, and the decision of a row not over and over."""

from __future__ import annotations

from collections.abc import Sequence
from time import process_time

import numpy as np
import polars as pl
import pytest

import polars_ec as ec

CLASSES = [0, 1, 2]
ABSTAIN = ec.CostMatrix.zero_one(3, abstain=0.2)


def log_of(n: int) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    posteriors = pl.Series(rng.dirichlet(np.ones(3), n), dtype=pl.Array(pl.Float64, 3))
    return pl.DataFrame({"array": posteriors, "list": posteriors.arr.to_list(), "y": rng.integers(0, 3, n)})


def seconds(log: pl.DataFrame, metrics: Sequence[pl.Expr]) -> float:
    """Processor time, the least of three runs."""
    times = []
    for _ in range(3):
        start = process_time()
        log.select(metrics)
        times.append(process_time() - start)
    return min(times)


@pytest.mark.parametrize("metric", [ec.nbs, ec.nce], ids=["nbs", "nce"])
def test_lists_take_as_long_as_arrays(metric):
    log = log_of(50_000)
    array, lists = (seconds(log, [metric(column, "y", classes=CLASSES)]) for column in ("array", "list"))
    assert lists < 1.5 * array


def test_metrics_do_not_decide_each_row_many_times():
    log = log_of(50_000).with_columns(d=ec.bayes_decision("array", costs=ABSTAIN))
    options = {"costs": ABSTAIN, "score_type": "decision"}
    metrics = (ec.nec, ec.expected_cost, ec.error_rate)
    decided = seconds(log, [metric("d", "y", **options).alias(metric.__name__) for metric in metrics])
    read = seconds(log, [metric("array", "y", costs=ABSTAIN).alias(metric.__name__) for metric in metrics])
    assert read < 8 * decided


@pytest.mark.parametrize("column", ["array", "list"])
@pytest.mark.parametrize(("n_classes", "n_decisions"), [(3, 3), (3, 4), (4, 2), (4, 4)])
def test_ties_go_to_the_lowest_decision(column, n_classes, n_decisions):
    rng = np.random.default_rng(n_classes + n_decisions)
    n = 2000
    # Quarters and whole costs have exact sums, and many ties.
    posteriors = rng.multinomial(4, np.ones(n_classes) / n_classes, n) / 4
    costs = rng.integers(0, 3, (n_classes, n_decisions))
    costs[:, -1] = costs[:, 0]
    label, decision = rng.integers(0, n_classes, n), (posteriors @ costs).argmin(axis=1)
    expected = np.zeros((n_classes, n_decisions), dtype=int)
    np.add.at(expected, (label, decision), 1)
    array = pl.Series(posteriors, dtype=pl.Array(pl.Float64, n_classes))
    log = pl.DataFrame({"array": array, "list": array.arr.to_list(), "y": label})
    matrix = ec.CostMatrix(costs.tolist())
    assert log.select(ec.confusion(column, "y", costs=matrix)).to_series().to_list() == [expected.tolist()]
    assert log.select(ec.error_rate(column, "y", costs=matrix)).item() == pytest.approx((label != decision).mean())
    assert log.select(ec.bayes_decision(column, costs=matrix)).to_series().to_list() == decision.tolist()


def test_a_longer_list_with_a_null_behind_the_classes_is_a_missing_row():
    rows = [[0.2, 0.3, 0.5], [0.2, 0.3, 0.5, None], [0.2, None], None, [None, 0.5, 0.5], [0.8, 0.1, 0.1]]
    log = pl.DataFrame({"list": pl.Series(rows, dtype=pl.List(pl.Float64)), "y": [2, 0, 0, 0, 0, 1]})
    assert log.select(ec.error_rate("list", "y", classes=CLASSES)).item() == 0.5
