"""Null bounds where a class, all of whose rows have one decision, is in one cluster: by every door."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.database import database

METRICS = ["expected_cost", "nec", "error_rate", "mcc", "precision", "recall", "specificity", "balanced_error_rate"]
AT_PRIOR = {f"{name}_at_prior" for name in METRICS[:5]}
FIXED = AT_PRIOR | {"recall", "balanced_error_rate"}
"""Metrics to which the only cluster of the positives contributes the same, however many rows it has."""
OPTIONS: dict[str, Any] = {"metrics": METRICS, "cluster": "user", "interval": 0.95}
COSTS: dict[str, Any] = {"prior": 0.3, "cost_fn": 5}


def make_log(positives: int, share: float = 0.0) -> pl.DataFrame:
    """Positives of one user, all decided negative, and negatives of 60 users."""
    rng = np.random.default_rng(1)
    y = np.arange(300) < positives
    user = np.where(y, 99, rng.integers(0, 60, 300))
    p, q = (np.where(y, 0.1, rng.beta(1, 6, 300)) for _ in range(2))
    if share:
        y = rng.random(300) < share
    return pl.DataFrame({"y": y, "p": p, "q": q, "user": user, "amount": rng.lognormal(0, 1, 300)})


@pytest.fixture(params=[1, 12], ids=["one positive", "one user"])
def log(request: pytest.FixtureRequest) -> pl.DataFrame:
    return make_log(request.param)


def without_bounds(table: pl.DataFrame) -> set[str]:
    (row,) = table.rows(named=True)
    return {name.removesuffix("_ci_low") for name, bound in row.items() if name.endswith("_ci_low") and bound is None}


def by_macro(log: pl.DataFrame, costs: str) -> pl.DataFrame:
    connection = database()
    connection.register("log", log.to_arrow())
    call = f"FROM ec.report('log', p, y, cluster := user, metrics := {METRICS}, \"interval\" := 0.95, prior := 0.3, {costs})"
    return connection.sql(call).pl()


def by_query(log: pl.DataFrame, **options: Any) -> pl.DataFrame:
    connection = duckdb.connect()
    connection.register("log", log.to_arrow())
    return connection.sql(ec.report_query("log", "p", "y", **options)).pl()


REPORTS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "report": lambda log: log.ec.report("p", "y", **OPTIONS, **COSTS),
    "bootstrap": lambda log: log.ec.report("p", "y", **OPTIONS, **COSTS, method="bootstrap", replicates=200),
    "costs of rows": lambda log: log.ec.report("p", "y", **OPTIONS, prior=0.3, cost_fn="amount", cost_fp=0.5),
    "macro": lambda log: by_macro(log, "cost_fn := 5"),
    "macro, costs of rows": lambda log: by_macro(log, "cost_fn := amount, cost_fp := 0.5"),
    "query": lambda log: by_query(log, **OPTIONS, **COSTS),
    "query, costs of rows": lambda log: by_query(log, **OPTIONS, prior=0.3, cost_fn="amount", cost_fp=0.5),
}


@pytest.mark.quick("one positive-report", "one positive-macro", "one user-query")
@pytest.mark.parametrize("door", REPORTS)
def test_a_report(log: pl.DataFrame, door: str) -> None:
    report = REPORTS[door](log)
    assert set(METRICS) | AT_PRIOR <= set(report.columns)
    found = without_bounds(report)
    # Precision and MCC at the log's own prior rest on rows that replicates lack.
    assert found - {"precision", "mcc", "nec"} == FIXED if door == "bootstrap" else found == FIXED


@pytest.mark.quick("one positive")
def test_a_class_that_does_not_matter(log: pl.DataFrame) -> None:
    """Two users have the positives, or the metric is of the negatives."""
    two = pl.concat([log, log.filter("y").with_columns(user=98)], how="vertical_relaxed")
    for door in ("report", "macro", "query"):
        assert without_bounds(REPORTS[door](two)) == set(), door


@pytest.mark.slow
def test_equal_rates_of_classes_are_no_stated_prior() -> None:
    """Without errors in as many rows of either class, one more row of a class would not change the error rate."""
    y = np.arange(40) < 20
    log = pl.DataFrame({"y": y, "p": np.where(y, 0.9, 0.1), "user": np.where(y, 99, np.arange(40))})
    metrics = ["error_rate", "mcc", "recall", "specificity"]
    options: dict[str, Any] = {"metrics": metrics, "cluster": "user", "interval": 0.95}
    assert without_bounds(log.ec.report("p", "y", **options)) == {"recall"}
    assert without_bounds(by_query(log, **options)) == {"recall"}
    own = {"error_rate", "mcc", "nec", "expected_cost", "precision", "specificity"}
    assert without_bounds(by_macro(log, "cost_fn := 1")) & own == set()


def test_a_sketch(log: pl.DataFrame) -> None:
    sketch = log.ec.sketch("p", "y", cluster="user", thresholds=[1 / 6])
    assert without_bounds(sketch.evaluate(*METRICS, interval=0.95, **COSTS)) == set(METRICS) - {"specificity"}
    own = sketch.evaluate(*METRICS, interval=0.95, cost_fn=5)
    assert without_bounds(own) == {"recall", "balanced_error_rate"}


def unknown(table: pl.DataFrame, bound: str = "difference_ci_low") -> set[str]:
    return set(table.filter(pl.col(bound).is_null())["metric"])


def two_groups(log: pl.DataFrame) -> pl.DataFrame:
    others = make_log(12, share=0.3).with_columns(g=1, user=pl.col("user") + 50)
    return pl.concat([log.with_columns(g=0), others], how="vertical_relaxed")


@pytest.mark.quick("one positive")
def test_models(log: pl.DataFrame) -> None:
    options = {"metrics": METRICS, "cluster": "user", **COSTS}
    # Neither model finds a positive, so that some metrics are equal.
    equal = {"recall", "precision", "precision_at_prior"}
    assert unknown(log.ec.compare(["p", "q"], "y", **options)) == FIXED | equal
    some_without_key = log.with_columns(user=pl.when(pl.col("y") | (pl.int_range(300) % 7 > 0)).then("user"))
    assert unknown(some_without_key.ec.compare(["p", "q"], "y", **options)) == FIXED | equal
    sketch = log.ec.sketch(["p", "q"], "y", cluster="user", thresholds=[1 / 6])
    assert unknown(sketch.compare(*METRICS, reference="p", **COSTS)) == set(METRICS) - {"specificity"}


@pytest.mark.parametrize("reference", ["rest", "total", 1])
def test_groups(log: pl.DataFrame, reference: Any) -> None:
    both = two_groups(log)
    compared = both.ec.compare("p", "y", by="g", reference=reference, metrics=METRICS, cluster="user", **COSTS)
    assert unknown(compared.filter(g=0)) == FIXED
    sketch = both.ec.sketch("p", "y", by="g", cluster="user", thresholds=[1 / 6])
    compared = sketch.compare(*METRICS, reference=reference, **COSTS)
    assert unknown(compared.filter(g=0)) == set(METRICS) - {"specificity"}


def test_the_best_group_is_one_with_a_variance(log: pl.DataFrame) -> None:
    compared = two_groups(log).ec.compare("p", "y", by="g", reference="best", metrics=METRICS, cluster="user", **COSTS)
    assert unknown(compared.filter(g=0)) == FIXED


@pytest.mark.quick("one positive")
def test_drift(log: pl.DataFrame) -> None:
    """Components are of the rows of one class at a time, so that they have no bounds at the log's own prior either."""
    month = pl.when(pl.col("g") == 0).then(date(2026, 2, 1)).otherwise(date(2026, 1, 1))
    periods = two_groups(log).with_columns(month=month)
    options = {"period": "month", "reference": date(2026, 1, 1), "metrics": METRICS, "cluster": "user"}
    change = periods.ec.drift("p", "y", **options, **COSTS)
    assert unknown(change) == FIXED
    for component in ("prior", "likelihood"):
        assert unknown(change, f"{component}_ci_low") == (set(METRICS) | AT_PRIOR) - {"specificity"}


def test_many_classes() -> None:
    """All 16 are decided right, and the last is in one cluster; more sums than have slopes."""
    y = np.arange(3200) % 16
    rates = np.where(np.arange(16) == y[:, None], 0.7, 0.02)
    user = np.where(y == 15, 99, np.arange(3200) // 16 % 60)
    log = pl.DataFrame({"y": y, "user": user}).with_columns(p=pl.Series(rates, dtype=pl.Array(pl.Float64, 16)))
    report = log.ec.report(
        "p", "y", metrics=["error_rate", "macro_recall"], cluster="user", interval=0.95, prior="uniform"
    )
    assert without_bounds(report) == {"error_rate_at_prior", "macro_recall"}
