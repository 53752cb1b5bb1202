"""Intervals for clusters by a query for warehouses: against plain NumPy, and beside the report and the macro."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_ec as ec
from tests.support.database import database
from tests.support.influence import Rows, limits_of_clusters

METRICS = ["nec", "expected_cost", "cross_entropy", "nce", "brier", "nbs", "precision", "f1", "recall", "lr_plus"]
CLUSTERS = 400
"""More than the buckets of a report."""


def make_log(n: int = 1500) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    y, user = rng.random(n) < 0.3, rng.integers(0, CLUSTERS, n)
    odds = 3 * y - 2 + rng.normal(size=CLUSTERS)[user] + rng.normal(size=n)
    log = {"y": y, "p": 1 / (1 + np.exp(-odds)), "w": rng.gamma(2, 1, n), "amount": rng.lognormal(1, 1, n)}
    return pl.DataFrame(log | {"user": user, "g": rng.choice(["a", "b"], n)})


LOG = make_log()


def by_query(log: pl.DataFrame, *, metrics: list[str] = METRICS, **options: Any) -> pl.DataFrame:
    connection = duckdb.connect()
    connection.register("log", log.to_arrow())
    return connection.sql(ec.report_query("log", "p", "y", metrics=metrics, interval=0.9, **options)).pl()


def rows_of(log: pl.DataFrame, threshold: np.ndarray, **options: Any) -> Rows:
    y, p, w = (log[name].to_numpy() for name in ("y", "p", "w"))
    loss, ones = -np.log(np.where(y, p, 1 - p)), np.ones(len(y))
    return Rows(y.astype(int), (p > threshold).astype(int), w, loss, (p - y) ** 2, ones, **options)


@pytest.mark.quick("None-constant")
@pytest.mark.parametrize("of_costs", ["constant", "by_row"])
@pytest.mark.parametrize("prior", [None, 0.2])
def test_bounds_are_those_of_numpy(of_costs: str, prior: float | None) -> None:
    """The sandwich of users themselves, not of buckets that several share."""
    cost_fn = "amount" if of_costs == "by_row" else 4
    table = by_query(LOG, by="g", cost_fn=cost_fn, cost_fp=2, weight="w", prior=prior, cluster="user").sort("g")
    assert table["g"].to_list() == ["a", "b"]
    for row in table.rows(named=True):
        log = LOG.filter(g=row["g"])
        cost = log["amount"].to_numpy() if of_costs == "by_row" else np.full(log.height, 4.0)
        rows = rows_of(log, 2 / (2 + cost), cost_fn=cost, cost_fp=2.0, prior=prior)
        for name in METRICS:
            shown = f"{name}_at_prior" if f"{name}_at_prior" in row and prior is not None else name
            bounds = [row[f"{shown}_ci_{end}"] for end in ("low", "high")]
            wanted = limits_of_clusters(name, rows, log["user"].to_numpy(), 0.9)
            assert bounds == pytest.approx(wanted, rel=1e-7), shown


@pytest.mark.slow
def test_a_row_without_a_cluster_is_one() -> None:
    own = pl.int_range(pl.len()) % 3 == 0
    log = LOG.with_columns(
        user=pl.when(~own).then("user"), named=pl.when(own).then(-1 - pl.int_range(pl.len())).otherwise("user")
    )
    options: dict[str, Any] = {"by": "g", "cost_fn": "amount", "prior": 0.2}
    without, named = (by_query(log, cluster=name, **options).sort("g") for name in ("user", "named"))
    assert_frame_equal(without, named, check_exact=False, rel_tol=1e-10)


@pytest.mark.slow
def test_the_hash_of_the_report_gives_its_bounds() -> None:
    """And those of the macro."""
    options: dict[str, Any] = {
        "by": "g",
        "metrics": METRICS,
        "cost_fn": "amount",
        "weight": "w",
        "prior": 0.2,
        "interval": 0.9,
    }
    report = LOG.ec.report("p", "y", cluster="user", **options).sort("g")
    connection = database().cursor()
    connection.register("log", LOG.to_arrow())
    query = ec.report_query("log", "p", "y", cluster="ec.bucket(user, 100)", **options)
    macro = (
        f"FROM ec.report('log', p, y, groups := ['g'], metrics := {METRICS}, cost_fn := amount, weight := w, prior := 0.2, "
        '"interval" := 0.9, cluster := user)'
    )
    for sql in (query, macro):
        assert_frame_equal(
            connection.sql(sql).pl().sort("g"), report, check_column_order=False, check_exact=False, rel_tol=1e-9
        )


@pytest.mark.slow
def test_rates_of_0_and_1_and_too_few_clusters() -> None:
    """A rate without errors has the bounds of as many rows as there are clusters; below five clusters there are none."""
    log = pl.DataFrame({"y": [True, False] * 60, "p": [0.9, 0.1] * 60, "user": [i // 10 for i in range(120)]})
    row = by_query(log, metrics=["recall", "brier"], cluster="user").row(0, named=True)
    # 12 clusters of rows, 6 of them positive, and half a row more of each decision.
    six_rows = pl.DataFrame({"y": [True, False] * 6, "p": [0.9, 0.1] * 6})
    of_rows = by_query(six_rows, metrics=["recall"]).row(0, named=True)
    assert (row["recall"], row["recall_ci_high"]) == (1, 1)
    assert row["recall_ci_low"] == pytest.approx(of_rows["recall_ci_low"], rel=1e-9)
    # All losses are equal.
    assert (row["brier_ci_low"], row["brier_ci_high"]) == (None, None)
    few = by_query(log.with_columns(user=pl.col("user") % 4), metrics=["recall", "nec"], cluster="user")
    assert few.select("^.*_ci_.*$", "nec_kinked").null_count().row(0) == (1,) * 5


@pytest.mark.parametrize("cluster", ["user", "nobody"])
@pytest.mark.slow
def test_a_class_with_one_row_has_no_bounds_at_a_stated_prior(cluster: str) -> None:
    """Whether this row has a cluster or not: of the query, the macro and the report."""
    log = pl.DataFrame({"p": [0.3, 0.8, 0.6] + [0.2] * 47, "y": [True] + [False] * 49, "user": range(50)})
    log = log.with_columns(nobody=pl.lit(None, pl.Int64), amount=2.0 + pl.col("user") % 3)
    options: dict[str, Any] = {"metrics": ["expected_cost", "nec"], "cost_fn": "amount", "prior": 0.2}
    connection = database().cursor()
    connection.register("log", log.to_arrow())
    macro = f"FROM ec.report('log', p, y, metrics := {options['metrics']}, cost_fn := amount, prior := 0.2, \"interval\" := 0.9, cluster := {cluster})"
    tables = [
        by_query(log, cluster=cluster, **options),
        connection.sql(macro).pl(),
        log.ec.report("p", "y", interval=0.9, cluster=cluster, **options),
    ]
    for table in tables:
        assert table.select("^.*at_prior_ci_.*$").row(0) == (None,) * 4
        assert table["expected_cost_ci_low"].item() is not None, table.to_dicts()
