"""FROM ec.report in DuckDB: the numbers of `lf.ec.report`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from tests.support.report_macro import METRICS, OF_DECISIONS, Column, assert_equal, both, hostile_log

if TYPE_CHECKING:
    import duckdb

CASES: dict[str, tuple[list[str], dict[str, Any]]] = {
    "as it comes": ([], {}),
    "groups": (["g"], {"cost_fn": 5, "prior": 0.1, "total": True}),
    "every metric": (["g"], {"cost_fn": 5, "prior": 0.1, "metrics": METRICS, "min_rows": 60}),
    "weights": (
        ["g", "h"],
        {"cost_fn": 5, "weight": Column("w"), "metrics": METRICS, "prior": "uniform", "total": True},
    ),
    "a threshold": (["h"], {"threshold": 0.4, "metrics": OF_DECISIONS}),
    "thresholds of rows": (["g"], {"threshold": Column("t"), "total": True, "prior": [0.8, 0.2]}),
}


@pytest.mark.parametrize("limits", [{}, {"interval": 0.9}], ids=["values", "limits"])
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 15))])
def test_posteriors(connection: duckdb.DuckDBPyConnection, seed: int, case: str, limits: dict[str, Any]) -> None:
    by, options = CASES[case]
    assert_equal(*both(connection, hostile_log(seed + 2, 300), by, **options, **limits))


CLUSTERS = {"keys": {}, "five buckets": {"buckets": 5}, "weights": {"buckets": 20, "weight": Column("w")}}


@pytest.mark.parametrize("case", CLUSTERS)
@pytest.mark.parametrize("seed", [4, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(15))])
def test_clusters(connection: duckdb.DuckDBPyConnection, seed: int, case: str) -> None:
    """Keys of which some are null, and few of them; groups without errors at a threshold; a class in one cluster."""
    asked = {"prior": 0.1, "metrics": METRICS, "total": True, "interval": 0.95, "cluster": Column("k")}
    assert_equal(*both(connection, hostile_log(seed, 300), ["g"], **asked, **CLUSTERS[case]))


@pytest.mark.parametrize("limits", [{}, {"interval": 0.95}], ids=["values", "limits"])
@pytest.mark.parametrize("score_type", ["log_odds", "llr", "decision"])
def test_other_scores(connection: duckdb.DuckDBPyConnection, score_type: str, limits: dict[str, Any]) -> None:
    log = hostile_log(1, 300)
    p = pl.col("p")
    score = p > 0.4 if score_type == "decision" else (p / (1 - p)).log()
    asked = {"cost_fn": 5, "prior": 0.2, "score_type": score_type, "total": True}
    assert_equal(*both(connection, log.with_columns(p=score), ["g"], **asked, **limits))


def test_numbers_by_hand(connection: duckdb.DuckDBPyConnection) -> None:
    """NEC of one group, and limits of a rate: half a row more of each decision, on the scale of log-odds."""
    rng = np.random.default_rng(0)
    label = rng.random(500) < 0.3
    score = 0.1 * label + 0.9 * rng.random(500)
    connection.register("of_one", pl.DataFrame({"p": score, "y": label}).to_arrow())
    made = connection.sql("FROM ec.report('of_one', p, y, cost_fn := 5, interval := 0.95)").pl().row(0, named=True)
    decided = score > 1 / 6
    fn, fp = int((label & ~decided).sum()), int((~label & decided).sum())
    n1, n0 = int(label.sum()), int((~label).sum())
    assert made["nec"] == pytest.approx((5 * fn + fp) / min(5 * n1, n0), rel=1e-12)
    hits, misses = n1 - fn + 0.5, fn + 0.5
    rate, rows = hits / (hits + misses), hits + misses
    variance = rate * (1 - rate) / (rows - 1)
    # With one class's spread alone Satterthwaite's degrees of freedom are that class's.
    (t,) = connection.execute("SELECT ec.t_quantile(0.975, ?)", [rows - 1]).fetchone() or (None,)
    at, half = np.log(hits / misses), t * variance**0.5 / (rate * (1 - rate))
    want = [1 / (1 + np.exp(-(at - half))), 1 / (1 + np.exp(-(at + half)))]
    assert [made["recall_ci_low"], made["recall_ci_high"]] == pytest.approx(want, rel=1e-9)
