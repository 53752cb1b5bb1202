"""The bootstrap of sums, held against draws of rows one by one and against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from polars_ec.arguments.keywords import Request
from polars_ec.inference.bootstrap import DenseSums, Units, bca_limits, bootstrap, percentile_limits


def request_of(method: str, replicates: int, seed: int = 0) -> Request:
    """95 % intervals of independent rows."""
    return Request(level=0.95, cluster=None, buckets=100, method=method, replicates=replicates, seed=seed)


def units_of(*numbers: list[float]) -> Units:
    """A group for each list."""
    return Units(np.cumsum([0, *map(len, numbers)]), np.array([number for of_group in numbers for number in of_group]))


def ratio(sums: np.ndarray, _: slice) -> np.ndarray:
    """The second sum over the first."""
    with np.errstate(all="ignore"):
        return np.where(sums[..., :1] != 0, sums[..., 1:2] / sums[..., :1], np.nan)


def limits(units: Units, sums: np.ndarray, *, corrected: bool = False, replicates: int = 2000, seed: int = 0):
    made = DenseSums.of(units, sums)
    return bootstrap(ratio, units, made, request_of("bca" if corrected else "bootstrap", replicates, seed))


def replicates_of(units: Units, sums: np.ndarray, replicates: int) -> np.ndarray:
    return np.concatenate([factors @ sums for factors in units.factors(0, replicates, seed=5, size=1000)])


@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_a_mean_has_the_limits_of_scipy(method):
    x = np.random.default_rng(3).exponential(size=40) ** 2
    sums = np.stack([np.ones(40), x], axis=1)
    found = limits(units_of([1.0] * 40), sums, corrected=method == "BCa", replicates=20_000)
    expected = stats.bootstrap((x,), np.mean, method=method, n_resamples=20_000, rng=np.random.default_rng(1))
    interval, width = expected.confidence_interval, 4 * expected.standard_error
    # Quantiles of 20,000 draws are off by about a fiftieth of a standard error; bias and acceleration move them by far more.
    assert [limit[0, 0] for limit in found] == pytest.approx([*interval], abs=0.02 * width)
    assert abs(found[1][0, 0] - x.mean()) > 1.2 * abs(found[0][0, 0] - x.mean())


def test_bca_has_scipys_bias_and_acceleration_to_the_digit():
    """Given the same replicates, the very limits: those of cells of rows that are alike are those of the rows."""
    rng = np.random.default_rng(8)
    x = rng.integers(0, 4, 60).astype(float) ** 3
    values, rows = np.unique(x, return_counts=True)
    drawn = np.array([rng.choice(x, 60).mean() for _ in range(999)])
    expected = stats.bootstrap((x,), np.mean, method="BCa", n_resamples=0, bootstrap_result=_result(drawn))
    units, sums = units_of(rows.tolist()), np.stack([rows, rows * values], axis=1).astype(float)

    def value(tables: np.ndarray, groups: slice) -> np.ndarray:
        return drawn.reshape(-1, 1, 1) if len(tables) == 999 else ratio(tables, groups)

    low, high = bootstrap(value, units, DenseSums.of(units, sums), request_of("bca", 999))
    assert (low[0, 0], high[0, 0]) == pytest.approx(tuple(expected.confidence_interval), rel=1e-9)


def _result(drawn: np.ndarray):
    """What SciPy takes as replicates that are at hand."""

    class Result:
        bootstrap_distribution = drawn

    return Result()


@pytest.mark.quick("decided1")
@pytest.mark.parametrize("decided", [(180, 20, 12, 38), (900, 60, 15, 25)])
def test_cells_of_decisions_vary_as_rows_do(decided):
    """Recall, precision and the share of class 1 over 20,000 logs of as many rows drawn one by one."""
    cells = np.repeat(np.arange(4), decided)
    rng = np.random.default_rng(2)
    rows = np.stack([np.bincount(rng.choice(cells, len(cells)), minlength=4) for _ in range(20_000)]).astype(float)
    found = replicates_of(units_of([*map(float, decided)]), np.diag(decided).astype(float), 20_000)
    for metric in (lambda s: s[:, 3] / (s[:, 2] + s[:, 3]), lambda s: s[:, 3] / (s[:, 1] + s[:, 3])):
        assert metric(found).std() == pytest.approx(metric(rows).std(), rel=0.03)
        assert np.quantile(metric(found), [0.025, 0.975]) == pytest.approx(
            np.quantile(metric(rows), [0.025, 0.975]), abs=0.1 * metric(rows).std()
        )
    assert found.sum(axis=1) == pytest.approx(len(cells))


def test_weighted_cells_vary_as_their_rows_do():
    """A cell of weights w counts as (sum w)^2 / sum w^2 rows of equal weight."""
    rng = np.random.default_rng(4)
    cell, weight = rng.integers(0, 3, 400), rng.exponential(size=400) ** 1.5
    sums = np.stack([np.bincount(cell, weight), np.bincount(cell, weight * (cell == 1))], axis=1)
    number = np.bincount(cell, weight) ** 2 / np.bincount(cell, weight**2)
    found = replicates_of(units_of(number.tolist()), sums, 20_000)
    drawn = rng.integers(0, 400, (20_000, 400))
    rows = (weight * (cell == 1))[drawn].sum(axis=1) / weight[drawn].sum(axis=1)
    assert (found[:, 1] / found[:, 0]).std() == pytest.approx(rows.std(), rel=0.03)
    alike = np.random.default_rng(4).binomial(400, 1 / 3, 20_000) / 400
    # Were every weight a row of its own, the spread would be well below.
    assert rows.std() > 1.2 * alike.std()


def test_a_group_has_the_same_limits_alone_and_among_others():
    numbers, sums = [40.0, 9.0, 1.0], np.array([[40.0, 3.0], [9.0, 8.0], [1.0, 0.0]])
    others, of_others = [5.0, 60.0], np.array([[5.0, 1.0], [60.0, 20.0]])
    for corrected in (False, True):
        alone = limits(units_of(numbers), sums, corrected=corrected)
        between = units_of(others, numbers, others)
        among = limits(between, np.concatenate([of_others, sums, of_others]), corrected=corrected)
        assert [limit[0] for limit in alone] == [limit[1] for limit in among]
        assert np.isfinite(alone).all()


def test_blocks_of_groups_and_of_draws_change_nothing(monkeypatch):
    numbers = [[3.0, 50.0, 8.0]] * 7
    sums = np.tile([[3.0, 1.0], [50.0, 20.0], [8.0, 8.0]], (7, 1))
    for corrected in (False, True):
        whole = limits(units_of(*numbers), sums, corrected=corrected)
        with monkeypatch.context() as patch:
            patch.setattr("polars_ec.inference.bootstrap._DRAWN", 100)
            patch.setattr("polars_ec.inference.bootstrap._EVALUATED", 2 * 2 * 2000)
            assert np.array_equal(limits(units_of(*numbers), sums, corrected=corrected), whole)


def test_the_seed_says_what_is_drawn():
    units, sums = units_of([30.0, 12.0]), np.array([[30.0, 0.0], [12.0, 12.0]])
    first, again, other = (limits(units, sums, replicates=200, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rows_that_are_there_twice_in_their_cluster_leave_the_limits_as_they_are():
    rng = np.random.default_rng(0)
    sums = np.stack([rng.integers(5, 50, 30), rng.integers(1, 5, 30)], axis=1).astype(float)
    for corrected in (False, True):
        once, twice = (limits(units_of([1.0] * 30), times * sums, corrected=corrected) for times in (1, 2))
        assert np.allclose(once, twice, rtol=1e-12)
    # As rows of their own they would say twice as much.
    rows = limits(units_of((2 * sums[:, 0]).tolist()), 2 * sums)
    assert rows[1] - rows[0] < 0.8 * (once[1] - once[0])


def test_rows_without_a_cluster_are_clusters_of_their_own():
    """A cell of 60 rows in no cluster, beside 20 clusters: as if each of the 60 were a cluster of one row."""
    rng = np.random.default_rng(1)
    of_clusters = np.stack([rng.integers(1, 9, 20), rng.integers(0, 2, 20)], axis=1).astype(float)
    cells = np.array([[45.0, 0.0], [15.0, 15.0]])
    together = replicates_of(units_of([1.0] * 20 + [45.0, 15.0]), np.concatenate([of_clusters, cells]), 20_000)
    one_by_one = np.concatenate([of_clusters, np.repeat(cells / [[45.0], [15.0]], [45, 15], axis=0)])
    apart = replicates_of(units_of([1.0] * 80), one_by_one, 20_000)
    assert (together[:, 1] / together[:, 0]).std() == pytest.approx((apart[:, 1] / apart[:, 0]).std(), rel=0.03)


@pytest.mark.parametrize("corrected", [False, True])
def test_no_limits_where_nothing_varies_or_too_little_is_known(corrected):
    certain, few, none = [20.0], [4.0], []
    sums = np.array([[20.0, 20.0], [4.0, 1.0]])
    low, high = limits(units_of(certain, few, none), sums, corrected=corrected)
    assert np.isnan(low).all()
    assert np.isnan(high).all()
    low, high = limits(units_of(), np.zeros((0, 2)), corrected=corrected)
    assert low.shape == high.shape == (0, 1)


def test_no_limits_where_they_would_hang_on_replicates_without_a_value():
    replicates = np.arange(1000.0)
    for share, known in ((0.02, True), (0.03, False)):
        some = replicates.copy()
        some[: int(1000 * share)] = np.nan
        low, high = percentile_limits(some[:, None], 0.95)
        assert np.isfinite([low, high]).all() == known
    # Of one that is infinite, now and then, the upper limit is.
    replicates[900:] = np.inf
    low, high = percentile_limits(replicates[:, None], 0.95)
    assert (low[0], high[0]) == (pytest.approx(24.975), np.inf)


def test_one_row_in_a_class_has_no_acceleration():
    """Without that row there is no recall."""

    def recall(sums: np.ndarray, _: slice) -> np.ndarray:
        with np.errstate(all="ignore"):
            return (sums[..., 1:] / sums[..., :1]) + 0 * sums[..., :1]

    sums = np.array([[0.3, 0.1], [0.0, 0.0]])
    units = units_of([1.0, 40.0])
    low, high = bootstrap(recall, units, DenseSums.of(units, sums), request_of("bca", 500))
    assert np.isnan([low, high]).all()


def test_bca_of_a_symmetric_metric_is_the_percentiles():
    replicates = np.sort(np.random.default_rng(0).normal(size=999))[:, None]
    replicates = np.concatenate([replicates, -replicates, [[0.0]]])
    found = bca_limits(replicates, np.zeros(1), np.zeros(1), 0.9)
    assert np.allclose(found, percentile_limits(replicates, 0.9), atol=1e-9)
