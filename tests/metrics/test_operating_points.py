"""The effective prior, and the mean of detection costs at several operating points."""

from __future__ import annotations

import math
from fractions import Fraction

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import polars_ec as ec
from tests.support.papers import exactly
from tests.support.plans import assert_streams

POINTS = [(0.5, 1.0, 1.0), (0.01, 1.0, 1.0), (0.1, 10.0, 1.0), (0.3, 1.0, 4.0)]


def test_effective_prior_of_the_lecture(connection) -> None:
    assert ec.effective_prior(0.1, 1, 9) == exactly(0.1 / 8.2)
    assert ec.effective_prior(0.1, 1, 9) == pytest.approx(0.012195, abs=5e-7)
    assert connection.execute("SELECT ec.effective_prior(0.1, 1, 9)").fetchall() == [(exactly(0.1 / 8.2),)]
    assert ec.effective_prior(0.3) == 0.3


@given(st.floats(0, 1), st.floats(0, 1e308), st.floats(0, 1e308))
def test_effective_prior_is_that_of_exact_fractions(prior: float, cost_fn: float, cost_fp: float) -> None:
    misses, alarms = Fraction(prior) * Fraction(cost_fn), Fraction(1 - prior) * Fraction(cost_fp)
    if max(cost_fn, cost_fp) == 0 or misses + alarms < max(Fraction(cost_fn), Fraction(cost_fp)) / 10**300:
        return
    assert ec.effective_prior(prior, cost_fn, cost_fp) == pytest.approx(float(misses / (misses + alarms)), rel=1e-12)


def test_effective_prior_of_columns_and_of_nothing(connection) -> None:
    rows = connection.execute(
        "SELECT ec.effective_prior(p, cost_fn := a, cost_fp := b) FROM (VALUES (0.2e0, 4, 1), (1e0, 0, 1), (NULL, 1, 1), "
        "(0.5, 0, 0)) AS t(p, a, b)"
    ).fetchall()
    assert rows == [(exactly(0.5),), (None,), (None,), (None,)]
    for arguments in ((1.0, 0.0, 1.0), (0.0, 1.0, 0.0), (0.5, 0.0, 0.0)):
        with pytest.raises(ValueError, match="no error costs anything"):
            ec.effective_prior(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((1.5, 1, 1), "prior.*1.5"), ((0.5, -1, 1), "cost_fn.*-1"), ((0.5, 1, math.inf), "cost_fp.*inf")],
)
def test_effective_prior_refuses(connection, arguments, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ec.effective_prior(*arguments)
    with pytest.raises(duckdb.Error, match=message):
        connection.execute("SELECT ec.effective_prior($1::DOUBLE, $2::DOUBLE, $3::DOUBLE)", arguments)


def mean_cost(llr: np.ndarray, label: np.ndarray, weight: np.ndarray) -> float:
    """The lecture's formula at each point, with its threshold on the LLR."""
    costs = []
    for prior, cost_fn, cost_fp in POINTS:
        threshold = -math.log(prior * cost_fn / ((1 - prior) * cost_fp))
        decided = llr > threshold
        miss = weight[(label == 1) & ~decided].sum() / weight[label == 1].sum()
        alarm = weight[(label == 0) & decided].sum() / weight[label == 0].sum()
        of_misses, of_alarms = prior * cost_fn, (1 - prior) * cost_fp
        costs.append((of_misses * miss + of_alarms * alarm) / min(of_misses, of_alarms))
    return sum(costs) / len(costs)


@pytest.mark.parametrize("weighted", [False, True])
def test_c_primary(connection, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    label = rng.integers(0, 2, 500)
    llr, weight = rng.normal(2.0 * label - 1, 2), rng.random(500) if weighted else np.ones(500)
    log = pl.DataFrame({"llr": llr, "y": label, "w": weight})
    options = {"score_type": "llr", "weight": "w"}
    expected = exactly(mean_cost(llr, label, weight))
    assert log.select(ec.c_primary("llr", "y", POINTS, **options)).item() == expected
    assert log.select(pl.col("llr").ec.c_primary("y", POINTS, **options)).to_dict(as_series=False) == {
        "llr_c_primary": [expected]
    }
    # In SQL it is written out.
    calls = [
        f"ec.dcf(llr, y, prior := {p}, cost_fn := {a}, cost_fp := {b}, score_type := 'llr', weight := w)"
        for p, a, b in POINTS
    ]
    connection.register("log_of_llrs", log.to_arrow())
    mean = connection.execute(f"SELECT ({' + '.join(calls)}) / {len(POINTS)} FROM log_of_llrs").fetchall()
    assert mean == [(expected,)]


def test_c_primary_of_groups_and_of_several_models() -> None:
    log = pl.DataFrame({"g": [1, 1, 2, 2], "a": [1.0, -1.0, 2.0, 1.0], "b": [-1.0, 1.0, 2.0, 1.0], "y": [1, 0, 1, 1]})
    both = pl.col("a", "b").ec.c_primary("y", [(0.5, 1, 1), (0.6, 1, 1)], score_type="llr")
    rows = log.group_by("g").agg(both).sort("g").rows()
    assert rows == [(1, 0.0, exactly((2 + (0.6 + 0.4) / 0.4) / 2)), (2, None, None)]


def test_c_primary_streams(tmp_path) -> None:
    pl.DataFrame({"g": [1, 2], "llr": [0.1, 0.4], "y": [0, 1]}).write_parquet(tmp_path / "log.parquet")
    scan = pl.scan_parquet(tmp_path / "log.parquet")
    assert_streams(scan.group_by("g").agg(ec.c_primary("llr", "y", POINTS, score_type="llr")))


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([], r"operating_points=\[\] must list"),
        (0.01, "operating_points=0.01 must list"),
        ("0.01", "operating_points='0.01' must list"),
        ([0.01], r"0.01 is not \(prior, cost_fn, cost_fp\)"),
        ([(0.01, 1)], r"\(0.01, 1\) is not"),
        ([(None, 1, 1)], r"\(None, 1, 1\) is not"),
        ([(pl.col("prior"), 1, 1)], "is not"),
        ([(1.5, 1, 1)], "prior=1.5"),
        ([(0.5, -1, 1)], "cost_fn=-1"),
    ],
)
def test_c_primary_refuses_other_points(points, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ec.c_primary("llr", "y", points, score_type="llr")


@pytest.mark.parametrize("score_type", ["posterior", "decision"])
def test_c_primary_is_of_llrs(score_type) -> None:
    with pytest.raises(ValueError, match="c_primary needs log-likelihood ratios"):
        ec.c_primary("p", "y", POINTS, score_type=score_type)
