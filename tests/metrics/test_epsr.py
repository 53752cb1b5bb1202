"""The Beta-weighted EPSR: its series against mpmath, and its definition as an integral of Bayes risks."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.oracle import beta_loss_of

PARAMETERS = [0.001, 0.05, 0.3, 0.9, 1.0, 1.0 + 1e-9, 1.5, 1.99, 2.0, 7.3, 20.0]
POSTERIORS = [1e-10, 0.01, 0.2, 0.4, 0.49999, 0.5, 0.51, 0.8, 0.99, 1 - 1e-10]


@pytest.mark.slow
@pytest.mark.parametrize("b", [0.001, 0.05, 0.7, 1.0, 2.7, 20.0])
def test_series_against_mpmath(b: float) -> None:
    points = [(p, label) for label in (0, 1) for p in POSTERIORS]
    log = pl.DataFrame(points, schema=["p", "y"], orient="row").with_row_index("i")
    found = log.group_by("i").agg(ec.epsr("p", "y", a=a, b=b).alias(str(a)) for a in PARAMETERS).sort("i")
    for a in PARAMETERS:
        wanted = [beta_loss_of(p, label, a, b) for p, label in points]
        # At most 1e-10 off, where the loss is large relative to it.
        np.testing.assert_allclose(found[str(a)], wanted, rtol=1e-10, atol=1e-10, err_msg=str(a))


@pytest.mark.slow
def test_macro_is_the_expression(connection) -> None:
    parameters = [(0.5, 2.0), (0.3, 0.7), (0.05, 0.05), (1.0, 1.0), (2.0, 2.0), (3.5, 1.2), (20.0, 0.9)]
    calls = ", ".join(f"ec.epsr(p, y, a := {a}, b := {b})" for a, b in parameters)
    log = pl.DataFrame([(p, label) for label in (0, 1) for p in POSTERIORS], schema=["p", "y"], orient="row")
    connection.register("log", log.to_arrow())
    values = connection.execute(f"SELECT y, {calls} FROM log GROUP BY y ORDER BY y").fetchall()
    expressions = [ec.epsr("p", "y", a=a, b=b).alias(f"{a}, {b}") for a, b in parameters]
    wanted = log.group_by("y").agg(expressions).sort("y").rows()
    np.testing.assert_allclose(values, wanted, rtol=1e-11, err_msg=str(parameters))


@pytest.mark.parametrize(("a", "b", "factor"), [(1, 1, None), (2, 2, 3.0)])
def test_named_cases(a: float, b: float, factor: float | None) -> None:
    rng = np.random.default_rng(0)
    log = pl.DataFrame({"p": rng.random(100), "y": rng.integers(0, 2, 100)})
    named = ec.cross_entropy("p", "y", prior=0.3) if factor is None else ec.brier("p", "y", prior=0.3) * factor
    value, wanted = log.select(ec.epsr("p", "y", a=a, b=b, prior=0.3), named.alias("named")).row(0)
    np.testing.assert_allclose(value, wanted, rtol=1e-12)


def test_it_is_the_integral_of_bayes_risks() -> None:
    rng = np.random.default_rng(1)
    log = pl.DataFrame({"p": rng.uniform(0.05, 0.95, 40), "y": rng.integers(0, 2, 40)})
    a, b = 2.0, 3.0
    t = (np.arange(200) + 0.5) / 200
    weight = 12 * t * (1 - t) ** 2  # the Beta(2, 3) density
    risks = log.select(
        ec.bayes_risk("p", "y", cost_fn=1 / s, cost_fp=1 / (1 - s)).alias(str(i)) for i, s in enumerate(t)
    ).row(0)
    np.testing.assert_allclose(
        log.select(ec.epsr("p", "y", a=a, b=b)).item(), np.mean(weight * np.array(risks)), rtol=3e-3
    )


def test_posteriors_of_0_and_1() -> None:
    log = pl.DataFrame({"p": [0.0, 1.0], "y": [0, 1]})
    assert log.select(ec.epsr("p", "y", a=1.5, b=0.5)).item() == 0
    wrong = pl.DataFrame({"p": [0.0], "y": [1]})
    assert wrong.select(ec.epsr("p", "y", a=1.0, b=3.0)).item() == np.inf
    assert wrong.select(ec.epsr("p", "y", a=0.95, b=3.0)).item() == np.inf
    # int_0^1 t^(a-2) (1-t)^(b-1) dt / B(a, b) = (a+b-1)/(a-1), finite above 1
    for a in (1.05, 1.5, 2.0, 4.0):
        np.testing.assert_allclose(wrong.select(ec.epsr("p", "y", a=a, b=3.0)).item(), (a + 2) / (a - 1), rtol=1e-10)
