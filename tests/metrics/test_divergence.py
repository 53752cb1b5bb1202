"""Divergence from reference posteriors: every door against sums written here, and the decomposition that it is part of."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

import polars_ec as ec
from tests.support.doors import DOORS, QUICK_DOORS, evaluate
from tests.support.plans import assert_streams
from tests.support.profile import EXAMPLES, PROFILE

NAMES = ("expected_score_divergence", "semi_empirical_epsr")
RULES = ("cross_entropy", "brier")
POSTERIORS = st.one_of(st.sampled_from([0.0, 1.0, 0.5, 1e-300, 1e-10, 1 - 1e-16]), st.floats(0, 1))


def loss(rule: str, q: np.ndarray, h: int) -> float:
    if rule == "brier":
        return float(((q - np.eye(len(q))[h]) ** 2).mean())
    return -math.log(q[h]) if q[h] > 0 else math.inf


def expected(rule: str, q: np.ndarray, s: np.ndarray) -> float:
    return math.fsum(p * loss(rule, q, h) for h, p in enumerate(s) if p > 0)


def naive(rule: str, rows: list[tuple[np.ndarray, np.ndarray, float]]) -> float:
    """What the mean reference has, were classes drawn by it; in exact sums, for entropy near certainty is all rounding."""
    total = math.fsum(w for *_, w in rows)
    mean = [mp.fsum(mp.mpf(float(s[h])) * w for _, s, w in rows) / total for h in range(len(rows[0][1]))]
    mean = [m / mp.fsum(mean) for m in mean]
    if rule == "brier":
        return float(mp.fsum(m * (1 - m) for m in mean) / len(mean))
    return float(mp.fsum(-m * mp.log(m) for m in mean if m > 0))


def of_rows(name: str, rule: str, rows: list[tuple[np.ndarray, np.ndarray, float]]) -> float | None:
    total = math.fsum(w for _, _, w in rows)
    if total == 0:
        return None
    values = [
        expected(rule, q, s) - (expected(rule, s, s) if name == "expected_score_divergence" else 0.0)
        for q, s, w in rows
        if w > 0
    ]
    return math.fsum(w * x for x, w in zip(values, [w for *_, w in rows if w > 0], strict=True)) / total


def rows_weigh(rows: list[tuple[np.ndarray, np.ndarray, float]]) -> bool:
    return any(w > 0 for *_, w in rows)


def check(frame: pl.DataFrame, rows: list[tuple[np.ndarray, np.ndarray, float]], **options: Any) -> None:
    for name in NAMES:
        for rule in RULES:
            wanted = of_rows(name, rule, rows)
            for door in DOORS:
                value = evaluate(door, name, frame, "q", "s", rule=rule, engine="streaming", **options)
                close = None if wanted is None else pytest.approx(wanted, rel=1e-9, abs=1e-14)
                assert value == close, (name, rule, door)
    for rule, door in product(RULES, DOORS):
        wanted, of_naive = of_rows("semi_empirical_epsr", rule, rows), naive(rule, rows) if rows_weigh(rows) else 0.0
        value = evaluate(door, "semi_empirical_epsr", frame, "q", "s", rule=rule, normalized=True, **options)
        if of_naive == 0:
            assert value is None
        elif of_naive > 1e-12:
            assert value == pytest.approx(wanted / of_naive, rel=1e-9), (rule, door)


@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(st.lists(st.tuples(POSTERIORS, POSTERIORS, st.sampled_from([1.0, 0.0, 2.5])), max_size=10), st.booleans())
@pytest.mark.slow
def test_binary(rows, weighted: bool) -> None:
    frame = pl.DataFrame(rows, schema={"q": pl.Float64, "s": pl.Float64, "w": pl.Float64}, orient="row")
    pairs = [(np.array([1 - q, q]), np.array([1 - s, s]), w if weighted else 1.0) for q, s, w in rows]
    weight = "w" if weighted else None
    check(frame, pairs, weight=weight)
    vectors = frame.with_columns(pl.concat_arr(1 - pl.col(name), name).alias(name) for name in ("q", "s"))
    check(vectors, pairs, weight=weight)


@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(
    st.integers(2, 12), st.integers(0, 8), st.integers(0, 2**32 - 1), st.sampled_from(["posteriors", "log_posteriors"])
)
def test_vectors(k: int, n: int, seed: int, score_type: str) -> None:
    rng = np.random.default_rng(seed)
    q, s = (
        rng.integers(0 if score_type == "posteriors" else 1, 3, (n, k)) + np.eye(k)[rng.integers(0, k, n)]
        for _ in range(2)
    )
    q, s = q / q.sum(axis=1, keepdims=True), s / s.sum(axis=1, keepdims=True)
    given_as = np.log if score_type == "log_posteriors" else np.array
    columns = {"q": given_as(q).tolist(), "s": given_as(s).tolist()}
    frame = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Array(pl.Float64, k)))
    check(frame, [(a, b, 1.0) for a, b in zip(q, s, strict=True)], score_type=score_type)


@pytest.mark.parametrize("rule", RULES)
def test_groups_of_many_classes(rule: str) -> None:
    rng = np.random.default_rng(11)
    n, k = 200, 6
    q, s, w, g = (
        rng.dirichlet(np.ones(k), n),
        rng.dirichlet(np.ones(k), n),
        rng.choice([0.0, 1.0, 2.5], n),
        np.arange(n) % 7,
    )
    q[g == 1, 0] += 0.5
    q[0], w[0] = np.eye(k)[0], 0.0  # an infinite loss of a row of weight 0
    w[g == 2] = 0.0
    missing = (g == 3) | (rng.random(n) < 0.1) & (np.arange(n) > 0)
    vectors = {"q": q.tolist(), "s": [None if no else row for no, row in zip(missing, s.tolist(), strict=True)]}
    frame = pl.DataFrame({**vectors, "w": w, "g": g}, schema_overrides=dict.fromkeys("qs", pl.Array(pl.Float64, k)))
    for name, normalized in [(name, {}) for name in NAMES] + [("semi_empirical_epsr", {"normalized": True})]:
        values = evaluate("function", name, frame, "q", "s", rule=rule, by="g", weight="w", **normalized)
        for group in range(7):
            rows = [(q[i], s[i], w[i]) for i in range(n) if g[i] == group and not missing[i]]
            wanted = None if group in (1, 2, 3) else of_rows(name, rule, rows)
            wanted = wanted / naive(rule, rows) if normalized and wanted is not None else wanted
            assert values[group] == (None if wanted is None else pytest.approx(wanted, rel=1e-12)), (name, group)


@pytest.mark.quick("*function*")
@pytest.mark.parametrize("door", QUICK_DOORS)
@pytest.mark.parametrize("rule", RULES)
def test_log_odds(door: str, rule: str) -> None:
    frame = pl.DataFrame({"q": [2.0, -1.0, 700.0, math.inf], "s": [1.0, -1.5, 699.0, math.inf]})
    posteriors = frame.select(ec.posterior(pl.all(), score_type="log_odds").name.keep())
    for name in NAMES:
        value = evaluate(door, name, frame, "q", "s", rule=rule, score_type="log_odds")
        assert value == pytest.approx(evaluate(door, name, posteriors, "q", "s", rule=rule), rel=1e-9)


@pytest.mark.quick("*function*")
@pytest.mark.parametrize("door", QUICK_DOORS)
@pytest.mark.parametrize("rule", RULES)
def test_divergence_and_entropy_make_the_whole(door: str, rule: str) -> None:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"q": rng.random(100), "s": rng.random(100)})
    whole = evaluate(door, "semi_empirical_epsr", frame, "q", "s", rule=rule)
    parts = evaluate(door, "expected_score_divergence", frame, "q", "s", rule=rule)
    entropy = evaluate(door, "semi_empirical_epsr", frame, "s", "s", rule=rule)
    assert whole == pytest.approx(parts + entropy, rel=1e-12)
    assert evaluate(door, "expected_score_divergence", frame, "s", "s", rule=rule) == 0


@pytest.mark.quick("*function*")
@pytest.mark.parametrize("door", QUICK_DOORS)
@pytest.mark.parametrize("rule", RULES)
def test_labels_as_the_reference_give_the_scoring_rule(door: str, rule: str) -> None:
    rng = np.random.default_rng(6)
    frame = pl.DataFrame({"q": rng.random(50), "y": rng.integers(0, 2, 50)}).with_columns(
        s=pl.col("y").cast(pl.Float64)
    )
    empirical = evaluate(door, rule, frame, "q", "y")
    for name in NAMES:
        assert evaluate(door, name, frame, "q", "s", rule=rule) == pytest.approx(empirical, rel=1e-12)


@pytest.mark.parametrize("door", QUICK_DOORS)
@pytest.mark.parametrize("name", NAMES)
def test_missing_and_wrong_rows(door: str, name: str) -> None:
    rows = [("right", 0.2, 0.3, 1.0), ("late", 0.2, 0.3, 2.0), ("late", None, 0.3, 1.0), ("late", 0.2, None, 1.0)]
    rows += [
        ("late", 0.2, 0.4, None),
        ("score", 1.5, 0.3, 1.0),
        ("score", 0.2, 0.3, 1.0),
        ("reference", 0.2, math.nan, 1.0),
    ]
    rows += [("weight", 0.2, 0.3, -1.0), ("none", None, None, None)]
    schema = {"g": pl.String, "q": pl.Float64, "s": pl.Float64, "w": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    values = evaluate(door, name, frame, "q", "s", by="g", weight="w")
    assert values["right"] == pytest.approx(values["late"])
    assert [g for g, value in values.items() if value is None] == ["none", "reference", "score", "weight"]
    pairs = frame.with_columns(pl.concat_arr(1 - pl.col(column), column).alias(column) for column in ("q", "s"))
    assert evaluate(door, name, pairs, "q", "s", by="g", weight="w") == pytest.approx(values)


def test_errors(connection) -> None:
    with pytest.raises(ValueError, match="rule='spherical' is none of cross_entropy, brier"):
        ec.semi_empirical_epsr("q", "s", rule="spherical")
    for score_type in ("llr", "log_likelihoods", "decision"):
        with pytest.raises(ValueError, match="has no posteriors"):
            ec.expected_score_divergence("q", "s", score_type=score_type)
    log = pl.LazyFrame({"q": [0.5], "v": [[0.2, 0.3, 0.5]]}, schema_overrides={"v": pl.Array(pl.Float64, 3)})
    with pytest.raises(ValueError, match="'q' has 2 classes, but the reference 'v' has 3"):
        log.select(ec.expected_score_divergence("q", "v")).collect_schema()
    calls = ", ".join(
        f"ec.semi_empirical_epsr({[1 / 40] * 40}, {[1 / 40] * 40}{more})" for more in ("", ", normalized := true")
    )
    assert connection.execute(f"SELECT {calls}").fetchall() == [(pytest.approx(math.log(40)), pytest.approx(1.0))]
    for call, message in (
        ("ec.semi_empirical_epsr(0.3, 0.4, rule := 'spherical')", "rule must be"),
        ("ec.expected_score_divergence(0.3, 0.4, score_type := 'llr')", "has no posteriors|needs prior"),
    ):
        with pytest.raises(duckdb.Error, match=message):
            connection.execute(f"SELECT {call}")


def test_they_stream(tmp_path) -> None:
    path = tmp_path / "log.parquet"
    frame = pl.DataFrame({"g": [1, 2], "q": [0.1, 0.4], "s": [0.2, 0.3], "w": [1.0, 2.0]})
    frame.with_columns(v=pl.concat_arr(1 - pl.col("q"), "q")).write_parquet(path)
    log = pl.scan_parquet(path).group_by("g")
    for name in NAMES:
        function = getattr(ec, name)
        metrics = [function("q", "s", rule=rule, weight="w").alias(rule) for rule in RULES]
        assert_streams(
            log.agg(*metrics, *(function("v", "v", rule=rule).alias(f"{rule} of vectors") for rule in RULES))
        )
