"""What holds of the macros for any log: constant factors, missing arguments, HAVING, digits of rare classes."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import duckdb
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.support.profile import EXAMPLES, PROFILE

METRICS = ("nec", "net_benefit", "nce", "nbs", "ece")
POSTERIORS = st.one_of(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))
ROWS = st.tuples(POSTERIORS, st.sampled_from([True, True, False, None]), st.floats(0.01, 100), st.sampled_from("ab"))


def use(connection: duckdb.DuckDBPyConnection, rows: list[tuple[Any, ...]], **columns: list[Any]) -> None:
    names = {"p": pl.Float64, "y": pl.Boolean, "w": pl.Float64, "g": pl.String}
    frame = pl.DataFrame(rows, schema=names, orient="row").with_columns(
        pl.Series(name, values, dtype=pl.Float64) for name, values in columns.items()
    )
    connection.register("log", frame.to_arrow())


def call(name: str, arguments: str) -> str:
    own = {"net_benefit": "0.3, ", "ece": "norm := 2, "}.get(name, "")
    return f"ec.{name}(p, y, {own}{arguments})"


@pytest.mark.slow
@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(
    st.lists(ROWS, min_size=1, max_size=12), st.one_of(st.sampled_from([-830, -540, 515, 830]), st.integers(-830, 830))
)
def test_a_constant_factor_of_the_weights(connection, rows, power) -> None:
    use(connection, rows)
    factor = f"CAST('{2.0**power!r}' AS DOUBLE)"
    calls = [call(name, f"weight := w{by}") for name in METRICS for by in ("", f" * {factor}")]
    for values in connection.execute(f"SELECT {', '.join(calls)} FROM log GROUP BY g").fetchall():
        for value, scaled in zip(values[::2], values[1::2], strict=True):
            assert scaled == (None if value is None else pytest.approx(value, rel=1e-13, abs=1e-300))


@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(
    st.lists(st.tuples(ROWS, st.sampled_from([0.5, 0.5, 0.5, None])), min_size=1, max_size=12),
    st.sampled_from(["threshold", "prior"]),
)
@pytest.mark.slow
def test_a_null_in_any_row_of_a_group(connection, rows, argument) -> None:
    use(connection, [row for row, _ in rows], given=[value for _, value in rows])
    names = METRICS[:2] if argument == "threshold" else METRICS
    calls = [call(name, f"{argument} := {value}") for name in names for value in ("given", "0.5")]
    found = connection.execute(f"SELECT count(*) = count(given), {', '.join(calls)} FROM log GROUP BY g").fetchall()
    for whole, *values in found:
        for value, constant in zip(values[::2], values[1::2], strict=True):
            assert value == (constant if whole else None)


@PROFILE
@given(st.lists(ROWS, min_size=1, max_size=12), st.sampled_from(METRICS), st.floats(-1, 2))
def test_having_is_where_of_a_subquery(connection, rows, name, bound) -> None:
    use(connection, rows)
    metric = call(name, "weight := w")
    having = f"SELECT g FROM log GROUP BY g HAVING {metric} > ? ORDER BY g"
    where = f"SELECT g FROM (SELECT g, {metric} AS value FROM log GROUP BY g) WHERE value > ? ORDER BY g"
    assert connection.execute(having, [bound]).fetchall() == connection.execute(where, [bound]).fetchall()


@PROFILE
@given(st.lists(ROWS, min_size=2, max_size=12), st.integers(-60, 60))
def test_digits_of_a_rare_class(connection, rows, power) -> None:
    """Rational metrics in exact arithmetic; positives weigh 2^power as much."""
    rows = [(round(p * 1024) / 1024, y, w * (2.0**power if y else 1), "a") for p, y, w, _ in rows if y is not None]
    assume({y for _, y, _, _ in rows} == {True, False})
    use(connection, rows)
    exact = [(Fraction(p), y, Fraction(w)) for p, y, w, _ in rows]
    n = {i: sum(w for _, y, w in exact if y == i) for i in (False, True)}
    p1, p0 = n[True] / sum(n.values()), n[False] / sum(n.values())
    fn = p1 * sum(w for p, y, w in exact if y and p <= Fraction(1, 2)) / n[True]
    fp = p0 * sum(w for p, y, w in exact if not y and p > Fraction(1, 2)) / n[False]
    brier = (
        p1 * sum(w * (1 - p) ** 2 for p, y, w in exact if y) / n[True]
        + p0 * sum(w * p**2 for p, y, w in exact if not y) / n[False]
    )
    wanted = {
        "nec": (fn + fp) / min(p1, p0),
        "expected_cost": fn + fp,
        "precision": (p1 - fn) / (p1 - fn + fp) if p1 - fn + fp else None,
        "recall_gain": 1 - fn / p0 / (1 - fn / p1) if fn != p1 else -math.inf,
        "brier": brier,
        "nbs": brier / (p0 * p1),
    }
    calls = [call(name, "weight := w") for name in wanted] + ["ec.nbs([1 - p, p], y, weight := w)"]
    wanted["nbs of lists"] = wanted["nbs"]
    found = connection.execute(f"SELECT {', '.join(calls)} FROM log").fetchall()[0]
    for name, value in zip(wanted, found, strict=True):
        expected = wanted[name]
        if name == "recall_gain":  # 1 less something: as many digits as the larger of the two has
            assert value == expected or abs(value - expected) <= 1e-14 * (1 + abs(1 - expected))
        else:
            assert value == (None if expected is None else pytest.approx(float(expected), rel=1e-13, abs=0)), name
