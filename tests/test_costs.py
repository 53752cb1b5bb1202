"""The cost matrix: a frozen value, rows = true class."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_ec as ec
from polars_ec import CostMatrix
from tests.support.doors import QUICK_DOORS, evaluate

MATRICES = st.integers(2, 6).flatmap(
    lambda k: st.integers(1, 6).flatmap(
        lambda m: st.lists(st.lists(st.floats(-50, 50), min_size=m, max_size=m), min_size=k, max_size=k)
    )
)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0, 1]], "at least 2"),
        ([], "at least 2"),
        ([[0, 1], [1]], "row 1 has 1"),
        ([[], []], "at least 1"),
        ([[0, float("nan")], [1, 0]], "class 0, decision 1 is nan"),
        ([[0.0, float("nan")], [1.0, 0.0]], "class 0, decision 1 is nan"),
        ([[1e308, 1e308, float("nan")], [0.0, 1.0, 1.0]], "class 0, decision 2 is nan"),
        ([[0, 1], [float("inf"), 0]], "class 1, decision 0 is inf"),
        ([[0, "1"], [1, 0]], "class 0, decision 1 is '1'"),
        ([[0, None], [1, 0]], "class 0, decision 1 is None"),
        ("01", "nested sequence"),
        (3.0, "nested sequence"),
        ([1, 2], "row 0 of costs"),
    ],
)
def test_bad_matrices_are_refused(values, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CostMatrix(values)


def test_names_must_fit() -> None:
    named = CostMatrix([[0, 1, 0.1], [1, 0, 0.1]], classes=["no", "yes"], decisions=["no", "yes", "wait"])
    assert (named.classes, named.decisions) == (("no", "yes"), ("no", "yes", "wait"))
    with pytest.raises(ValueError, match="3 different names"):
        CostMatrix([[0, 1, 0.1], [1, 0, 0.1]], decisions=["no", "yes"])
    with pytest.raises(ValueError, match="2 different names"):
        CostMatrix([[0, 1], [1, 0]], classes=["no", "no"])


def test_it_is_a_frozen_copy() -> None:
    given_values = np.array([[0.0, 1.0], [5.0, 0.0]])
    costs = CostMatrix(given_values)
    given_values[0, 0] = 9
    assert costs.values == ((0.0, 1.0), (5.0, 0.0))
    with pytest.raises(dataclasses.FrozenInstanceError):
        costs.values = ()
    array = np.asarray(costs)
    array[0, 0] = 9
    assert costs.values[0][0] == 0
    assert costs == CostMatrix([[0, 1], [5, 0]])
    assert hash(costs) == hash(CostMatrix([[0, 1], [5, 0]]))


@given(MATRICES)
def test_normalized_and_utilities(values: list[list[float]]) -> None:
    costs, matrix = CostMatrix(values), np.array(values)
    np.testing.assert_array_equal(np.asarray(costs.normalized()), matrix - matrix.min(axis=1, keepdims=True))
    best = matrix.max(axis=1, keepdims=True)
    np.testing.assert_allclose(np.asarray(CostMatrix.from_utilities(values)), best - matrix, atol=1e-12)
    assert costs.values == tuple(map(tuple, values))


@given(MATRICES, st.randoms(use_true_random=False))
def test_naive(values: list[list[float]], random) -> None:
    shares = np.array([random.random() + 1e-3 for _ in values])
    shares /= shares.sum()
    cost, decision = CostMatrix(values).naive(list(shares))
    expected = shares @ np.array(values)
    np.testing.assert_allclose(cost, expected.min(), atol=1e-12)
    np.testing.assert_allclose(expected[decision], expected.min(), atol=1e-12)


def test_naive_takes_the_lowest_index_on_ties() -> None:
    assert CostMatrix.zero_one(3).naive([0.25, 0.375, 0.375]) == (0.625, 1)


def test_balanced_costs_give_the_balanced_error_rate() -> None:
    import polars as pl

    log = pl.DataFrame({"d": [0, 0, 1, 1, 2, 0], "y": [0, 0, 0, 1, 2, 2]})
    prior = [3 / 6, 1 / 6, 2 / 6]
    cost = log.select(
        ec.expected_cost("d", "y", costs=CostMatrix.balanced(prior), score_type="decision"),
        rate=ec.balanced_error_rate("d", "y", costs=CostMatrix.zero_one(3), score_type="decision"),
    ).row(0)
    np.testing.assert_allclose(cost, np.mean([1 / 3, 0, 1 / 2]))
    with pytest.raises(ValueError, match="above 0 for every class"):
        CostMatrix.balanced([1.0, 0.0])


def test_bayes_threshold() -> None:
    assert CostMatrix.binary(cost_fn=4, cost_fp=1).bayes_threshold() == 0.2
    assert CostMatrix([[1, 3], [9, 3]]).bayes_threshold() == 2 / 8
    with pytest.raises(ValueError, match="2 x 2 costs, and these are 3 x 3"):
        CostMatrix.zero_one(3).bayes_threshold()
    with pytest.raises(ValueError, match=r"an error must not cost less"):
        CostMatrix([[1, 0], [1, 0]]).bayes_threshold()


@pytest.mark.parametrize("value", [-1, float("nan"), float("inf"), "x", None])
def test_binary_costs_are_checked(value) -> None:
    with pytest.raises(ValueError, match="cost_fn"):
        CostMatrix.binary(cost_fn=value)


def test_abstain() -> None:
    costs = CostMatrix.zero_one(3, abstain=0.25)
    assert costs.values[1] == (1.0, 0.0, 1.0, 0.25)
    assert costs.decisions == (0, 1, 2, "abstain")


@pytest.mark.parametrize("posteriors", [[0.3, 0.7], [0.2, 0.3, 0.5], [0.1, 0.2, 0.3, 0.4]])
def test_operating_point_is_equation_11(posteriors: list[float]) -> None:
    n = len(posteriors)
    costs = np.asarray(CostMatrix.operating_point(posteriors))
    np.testing.assert_allclose(costs, (1 - np.eye(n)) / ((n - 1) * np.array(posteriors))[:, None], rtol=1e-15)
    # At the operating point itself all decisions cost the same.
    np.testing.assert_allclose(posteriors @ costs, np.ones(n), rtol=1e-12)


def test_operating_point_of_two_classes_is_the_bayes_threshold() -> None:
    costs = CostMatrix.operating_point(0.2)
    assert costs == CostMatrix.operating_point([0.8, 0.2])
    assert costs.bayes_threshold() == pytest.approx(0.2, rel=1e-15)
    with pytest.raises(ValueError, match=r"above 0 for every class: got \[0.5, 0.5, 0.0\]"):
        CostMatrix.operating_point([0.5, 0.5, 0])


def test_mean_bayes_cost_over_all_operating_points_is_the_log_loss() -> None:
    """Eq. 10 with a weight that is even over the simplex, for three classes: an integral over a triangle."""
    q, h = np.array([0.6, 0.3, 0.1]), 1
    nodes, weights = np.polynomial.legendre.leggauss(60)
    x, w = (nodes + 1) / 2, weights / 2
    total = 0.0
    for first, width in zip(x, w, strict=True):
        for second, height in zip(x, w, strict=True):
            a = np.array([first, (1 - first) * second, (1 - first) * (1 - second)])
            costs = np.asarray(CostMatrix.operating_point(list(a / a.sum())))
            total += 2 * (1 - first) * width * height * costs[h, np.argmin(q @ costs)]
    # The cost jumps where the decision does: a few digits can be had.
    assert total == pytest.approx(-np.log(q[h]), rel=0.02)


@pytest.mark.quick("function")
@pytest.mark.parametrize("door", QUICK_DOORS)
def test_costs_of_right_decisions_count_in_the_nec(door: str) -> None:
    log = pl.DataFrame({"score": [0.9, 0.4, 0.7, 0.1, 0.2], "label": [1, 1, 0, 0, 0]})
    costs = CostMatrix([[1, 4], [2, 1.5]])
    # One of two positives is missed: (3 x 1 + 2 + 1.5) / 5 a row, and always deciding 0 costs (3 x 1 + 2 x 2) / 5.
    assert evaluate(door, "nec", log, costs=costs) == pytest.approx(6.5 / 7, rel=1e-12)
    # Beyond the best decision of each class a miss costs 0.5, and always deciding 0 costs 2 x 0.5 / 5.
    assert evaluate(door, "nec", log, costs=costs.normalized()) == pytest.approx(0.5, rel=1e-12)
    assert evaluate(door, "confusion", log, costs=costs) == evaluate(door, "confusion", log, costs=costs.normalized())
