"""Quantiles of t and of the normal distribution against SciPy, closed forms and mpmath, in both engines."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import polars as pl
import pytest
from scipy import stats

from polars_ec.inference.confidence import normal_quantile, t_quantile, two_sided_p

TAILS = 10.0 ** -np.arange(2, 13)
SHARES = np.concatenate(
    [TAILS, np.linspace(0.02, 0.48, 24), [0.0299999, 0.03, 0.499], np.linspace(0.52, 0.98, 24), 1 - TAILS]
)
DEGREES = np.array([1, 1.01, 1.3, 1.9, 2, 2.2, 3, 4.5, 6, 8, 12, 20, 30, 77.7, 100, 500, 1e4, 1e6, 1e9, np.inf])
GRID = np.broadcast_arrays(SHARES[:, None], DEGREES)


def exact_tails(t: float, df: float) -> mpmath.mpf:
    """The probability of a t at least as far from 0, by the incomplete beta function to 40 digits."""
    with mpmath.workdps(40):
        n = mpmath.mpf(df)
        return mpmath.betainc(n / 2, 0.5, 0, n / (n + mpmath.mpf(t) ** 2), regularized=True)


def test_quantiles_are_those_of_scipy() -> None:
    np.testing.assert_allclose(t_quantile(*GRID), stats.t.ppf(*GRID), rtol=1e-8)
    np.testing.assert_allclose(normal_quantile(SHARES), stats.norm.ppf(SHARES), rtol=1e-14)
    far = 10.0 ** -np.arange(1, 300)
    np.testing.assert_allclose(normal_quantile(far), stats.norm.ppf(far), rtol=1e-14)


@pytest.mark.parametrize("df", [1, 2])
def test_quantiles_are_the_closed_forms(df: int) -> None:
    """Where the middle is as well, near which other programs lose digits."""
    middle = 0.5 + np.array([1e-15, 1e-12, 1e-9, 1e-5, -1e-11, -1e-3]).round(15)
    shares = np.concatenate([SHARES, middle, [1e-100, 1e-300]])
    if df == 1:
        expected = np.where(np.abs(shares - 0.5) < 0.25, np.tan(np.pi * (shares - 0.5)), np.sign(shares - 0.5))
        beyond = np.minimum(shares, 1 - shares)
        expected = np.where(np.abs(shares - 0.5) < 0.25, expected, expected / np.tan(np.pi * beyond))
    else:
        expected = (2 * shares - 1) / np.sqrt(2 * shares * (1 - shares))
    np.testing.assert_allclose(t_quantile(shares, df), expected, rtol=1e-12)


def test_quantiles_at_the_ends() -> None:
    assert t_quantile([0, 0.5, 1], 3).tolist() == [-math.inf, 0, math.inf]
    assert normal_quantile([0, 0.5, 1]).tolist() == [-math.inf, 0, math.inf]
    assert np.isnan(t_quantile([0.9, 0.9, 0.9, 0, math.nan, -0.1, 1.1], [0, -1, math.nan, math.nan, 3, 3, 3])).all()
    assert np.isnan(normal_quantile([math.nan, -0.1, 1.1])).all()
    assert t_quantile(0.975, 0.3) == t_quantile(0.975, 1)
    assert t_quantile(0.975, math.inf) == pytest.approx(1.959963984540054, rel=1e-14)
    assert t_quantile(SHARES[:, None], DEGREES).shape == (len(SHARES), len(DEGREES))


@pytest.mark.parametrize("df", [1, 1.7, 3, 12, 250.5])
def test_tails_keep_their_digits(df: float) -> None:
    at = [0.0, 1e-6, 0.4, 1.5, 2.1, 2.2, 3, 10, 1e3, 1e10, 1e30]
    expected = [float(exact_tails(t, df)) for t in at]
    seen = np.array(expected) > 1e-300
    np.testing.assert_allclose(two_sided_p(at, df)[seen], np.array(expected)[seen], rtol=1e-11)
    assert (two_sided_p(at, df)[~seen] < 1e-299).all()
    np.testing.assert_array_equal(two_sided_p(-np.array(at), df), two_sided_p(at, df))


def test_tails_of_the_normal_distribution() -> None:
    at = np.array([0.1, 2, 11.5, 30])
    np.testing.assert_allclose(two_sided_p(at, math.inf), [math.erfc(t / math.sqrt(2)) for t in at], rtol=1e-11)
    assert two_sided_p(11.5, math.inf) == pytest.approx(1.3191542892e-30, rel=1e-9)


def test_tails_at_the_ends() -> None:
    assert two_sided_p([0, math.inf, -math.inf], 4).tolist() == [1, 0, 0]
    assert two_sided_p(1e200, 1) == pytest.approx(2 / (math.pi * 1e200), rel=1e-9)
    assert np.isnan(two_sided_p([math.nan, 1, 1, math.inf], [3, 0, math.nan, math.nan])).all()


def test_tails_are_what_quantiles_are_of() -> None:
    """Down to where a share is told from 1: the other way round through both rules."""
    shares = np.repeat(np.concatenate([TAILS, [0.0299, 0.0301, 0.2, 0.45]]), len(DEGREES))
    df = np.tile(DEGREES, len(shares) // len(DEGREES))
    np.testing.assert_allclose(two_sided_p(t_quantile(shares, df), df), 2 * shares, rtol=1e-11)


def test_the_macros_are_the_functions(connection) -> None:
    odd = [
        (0.0, 3.0),
        (1.0, 3.0),
        (0.9, math.nan),
        (math.nan, 3.0),
        (0.9, 0.0),
        (0.9, -1.0),
        (1.5, 3.0),
        (0.9, 0.4),
        (0.5, 2.0),
    ]
    p, df = (np.concatenate([g.ravel(), o]) for g, o in zip(GRID, zip(*odd, strict=True), strict=True))
    grid = pl.DataFrame({"p": p, "df": df})
    connection.register("grid", grid.to_arrow())
    found = connection.sql("SELECT ec.t_quantile(p, df) AS t, ec.normal_quantile(p) AS z FROM grid").pl()
    np.testing.assert_allclose(found["t"].to_numpy(), t_quantile(p, df), rtol=1e-12)
    np.testing.assert_allclose(found["z"].to_numpy(), normal_quantile(p), rtol=1e-12)
    np.testing.assert_allclose(found["t"].to_numpy()[: GRID[0].size], stats.t.ppf(*GRID).ravel(), rtol=1e-8)


def test_the_macros_take_constants_columns_and_nulls(connection) -> None:
    query = """SELECT ec.t_quantile(0.975, count(*) - 1), ec.t_quantile(0.975, sum(i)), ec.t_quantile(NULL, 3), ec.t_quantile(0.9, NULL),
                      ec.normal_quantile(NULL), ec.normal_quantile(0.975) FROM range(5) AS r(i)"""
    (four, ten, *nulls, z) = connection.execute(query).fetchone()
    assert (four, ten, z) == pytest.approx((2.7764451051977987, 2.228138851986274, 1.959963984540054), rel=1e-12)
    assert nulls == [None] * 3
