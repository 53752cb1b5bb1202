"""Lists of more classes than anyone would write out, against NumPy."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.support.cases import mostly_slow

ROWS = {33: 400, 100: 400, 1000: 1100}
TOLERANCE = 1e-11


class Log:
    def __init__(self, k: int) -> None:
        random = np.random.default_rng(k)
        n = ROWS[k]
        self.k, self.rows = k, np.arange(n)
        self.q = random.dirichlet(np.full(k, 0.5), n)
        self.y = np.concatenate([np.arange(k), random.integers(0, k, n - k)])
        self.w = random.integers(0, 4, n) / 2
        self.w[:k] = 1
        self.prior = random.dirichlet(np.ones(k))
        self.costs = random.integers(0, 9, (k, k + 1)).astype(float)
        self.costs[np.arange(k), np.arange(k)] = 0

    def expected(self, loss: np.ndarray, prior: np.ndarray | None, weight: np.ndarray) -> tuple[float, np.ndarray]:
        n = np.bincount(self.y, weight, self.k)
        p = n / n.sum() if prior is None else prior
        return float((p * np.bincount(self.y, weight * loss, self.k) / n).sum()), p

    def values(self, prior: np.ndarray | None, weight: np.ndarray) -> dict[str, float]:
        ce, p = self.expected(-np.log(self.q[self.rows, self.y]), prior, weight)
        bs, _ = self.expected(((self.q - np.eye(self.k)[self.y]) ** 2).mean(1), prior, weight)
        errors, _ = self.expected((self.q.argmax(1) != self.y).astype(float), prior, weight)
        cost, _ = self.expected(self.costs[self.y, (self.q @ self.costs).argmin(1)], prior, weight)
        return {
            "cross_entropy": ce,
            "nce": ce / -(p * np.log(p)).sum(),
            "nbs": bs / ((p * (1 - p)).sum() / self.k),
            "error_rate": errors,
            "nec": cost / (p @ self.costs).min(),
        }


@pytest.fixture(scope="module", params=[33, 100, pytest.param(1000, marks=pytest.mark.slow)])
def log(request, connection) -> Log:
    log = Log(request.param)
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE many AS SELECT unnest(?::DOUBLE[][]) AS v, unnest(?::INTEGER[]) AS y, unnest(?::DOUBLE[]) AS w",
        [log.q.tolist(), log.y.tolist(), log.w.tolist()],
    ).fetchall()
    connection.execute("SET VARIABLE many_costs = ?::DOUBLE[][]", [log.costs.tolist()]).fetchall()
    return log


@pytest.mark.quick("33-*")
@pytest.mark.parametrize(("stated", "weighted"), mostly_slow(product([False, True], repeat=2), [(True, True)]))
def test_as_numpy(log: Log, stated: bool, weighted: bool, connection) -> None:
    prior = log.prior if stated else None
    expected = log.values(prior, log.w if weighted else np.ones(len(log.rows)))
    options = ", prior := ?::DOUBLE[]" * stated + ", weight := w" * weighted
    for name, value in expected.items():
        costs = ", costs := getvariable('many_costs')" * (name == "nec")
        query = f"SELECT ec.{name}(v, y{costs}{options}) FROM many"
        ((found,),) = connection.execute(query, [prior.tolist()] if stated else None).fetchall()
        assert found == pytest.approx(value, rel=TOLERANCE), name


def test_counts(log: Log, connection) -> None:
    expected = np.zeros((log.k, log.k), int)
    np.add.at(expected, (log.y, log.q.argmax(1)), 1)
    query = "SELECT ec.confusion(v, y), ec.class_prior(v, y), ec.class_prior(v, y, weight := w) FROM many"
    ((counts, prior, weighted),) = connection.execute(query).fetchall()
    assert counts == expected.tolist()
    assert prior == pytest.approx(np.bincount(log.y) / len(log.y), rel=TOLERANCE)
    assert weighted == pytest.approx(np.bincount(log.y, log.w) / log.w.sum(), rel=TOLERANCE)


def test_references(log: Log, connection) -> None:
    reference = np.roll(log.q, 1, axis=0)
    p = reference.mean(0)
    expected = ((log.q - reference) ** 2 + reference * (1 - reference)).mean(1).mean() / ((p * (1 - p)).mean())
    query = (
        "SELECT ec.semi_empirical_epsr(v, r, rule := 'brier', normalized := true) "
        "FROM (SELECT unnest(?::DOUBLE[][]) AS v, unnest(?::DOUBLE[][]) AS r)"
    )
    ((found,),) = connection.execute(query, [log.q.tolist(), reference.tolist()]).fetchall()
    assert found == pytest.approx(expected, rel=TOLERANCE)


def test_ties_and_close_calls_fall_as_sums_in_order(connection) -> None:
    """Costs and posteriors whose sums are equal, or differ by rounding alone: the decision is that of sums in the order of the classes."""
    random = np.random.default_rng(3)
    k = 6
    costs = random.permuted(np.tile([0.1, 0.2, 0.3, 0.3, 0.1, 0.7], (4, 1)), axis=1).T
    costs = np.concatenate([costs, costs], axis=1)
    q = random.integers(1, 3, (500, k)).astype(float)
    q /= q.sum(1, keepdims=True)
    below = costs - costs.max(1, keepdims=True)
    sums = np.zeros((len(q), 8))
    for i in range(k):
        sums += below[i] * q[:, i : i + 1]
    smallest = np.sort(sums, 1)
    assert (smallest[:, 0] == smallest[:, 1]).all()
    assert ((smallest[:, 2] - smallest[:, 0] < 1e-15) & (smallest[:, 2] > smallest[:, 0])).any()
    query = "SELECT ec.bayes_decision(v, costs := ?::DOUBLE[][]) FROM (SELECT unnest(?::DOUBLE[][]) AS v)"
    found = [d for (d,) in connection.execute(query, [costs.tolist(), q.tolist()]).fetchall()]
    assert found == sums.argmin(1).tolist()


def test_groups_without_a_row_that_counts_have_no_value(connection) -> None:
    """And they leave the others theirs: at a threshold of 1/6 all are positive, the best constant decision at a prior of 0.3."""
    log = (
        "(VALUES ('a', 0, [0.7, 0.3]), ('a', 0, [0.1, 0.9]), ('a', 1, [0.2, 0.8]), ('b', NULL, [0.5, 0.5]), ('c', 1, NULL), "
        "('d', 0, [NULL, 0.5]), ('e', 0, [0.5, 0.5]), ('f', 0, [0.5, 0.6]), ('g', NULL, [0.2, 0.3, 0.5])) AS log(g, y, v)"
    )
    for options in ("prior := 0.3", "prior := [0.7, 0.3]", "prior := 0.3, weight := CASE WHEN g <> 'd' THEN 1 END"):
        query = f"SELECT g, ec.nec(v, y, costs := [[0, 1], [5, 0]], {options}) FROM {log} GROUP BY g"
        found = dict(connection.execute(query).fetchall())
        assert found.pop("a") == pytest.approx(1, rel=TOLERANCE), options
        assert found == dict.fromkeys("bcdefg"), options
