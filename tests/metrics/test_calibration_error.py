"""Calibration errors: every door against a loop over bins, written here."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polars_ec as ec
from tests.support.cases import mostly_slow
from tests.support.doors import QUICK_DOORS, evaluate
from tests.support.profile import EXAMPLES, PROFILE

BINS = st.sampled_from([1, 2, 3, 4, 5, 10, 15, 32])
# Edges of bins, and the numbers next to them, are drawn often.
EDGES = [k / n for n in (2, 3, 5, 10, 15) for k in range(n + 1)]
POSTERIORS = st.one_of(
    st.sampled_from(EDGES),
    st.sampled_from([math.nextafter(edge, 2) for edge in EDGES if edge < 1]),
    st.sampled_from([math.nextafter(edge, -1) for edge in EDGES if edge > 0]),
    st.floats(0, 1),
)


def calibration_error(
    posterior: np.ndarray, holds: np.ndarray, mass: np.ndarray, number: np.ndarray, norm: int
) -> float | None:
    """From rows that are in bins `number`; None without any."""
    if mass.sum() == 0:
        return None
    total = 0.0
    for b in np.unique(number[mass > 0]):
        inside = number == b
        share = mass[inside].sum() / mass.sum()
        gap = np.average(posterior[inside], weights=mass[inside]) - np.average(holds[inside], weights=mass[inside])
        total += share * abs(gap) ** norm
    return total ** (1 / norm)


def equal_width(posterior: np.ndarray, bins: int) -> np.ndarray:
    return np.array([next(b for b in range(1, bins + 1) if b == bins or q <= b / bins) for q in posterior])


def equal_mass(posterior: np.ndarray, mass: np.ndarray, bins: int) -> np.ndarray:
    reached = np.array([mass[posterior <= q].sum() for q in posterior])
    return np.array([next(b for b in range(1, bins + 1) if b == bins or r * bins <= b * mass.sum()) for r in reached])


def reweighted(label: np.ndarray, weight: np.ndarray, prior: list[float] | None) -> np.ndarray | None:
    """Weights of the rows at a stated prior; None if a class that counts has no rows."""
    if prior is None:
        return weight
    sizes = [weight[label == i].sum() for i in range(len(prior))]
    if any(p > 0 and n == 0 for p, n in zip(prior, sizes, strict=True)):
        return None
    factors = np.array([p / n if p > 0 else 0.0 for p, n in zip(prior, sizes, strict=True)])
    return weight * factors[label]


def check(name: str, frame: pl.DataFrame, wanted: float | None, **options: Any) -> None:
    # That the namespace is the function shows in the tests below.
    for door in ("function",) if options.get("equal_mass") else ("function", "sql"):
        value = evaluate(door, name, frame, "q", "y", engine="streaming", **options)
        if wanted is None:
            assert value is None, door
        else:
            assert value == pytest.approx(wanted, rel=1e-9, abs=1e-12), door


@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(
    st.lists(st.tuples(POSTERIORS, st.booleans(), st.sampled_from([1.0, 0.0, 0.25, 3.0])), max_size=20),
    BINS,
    st.sampled_from([1, 2]),
    st.sampled_from([None, 0.2, 1.0]),
    st.booleans(),
)
def test_binary(rows, bins: int, norm: int, prior: float | None, weighted: bool) -> None:
    frame = pl.DataFrame(rows, schema={"q": pl.Float64, "y": pl.Boolean, "w": pl.Float64}, orient="row")
    q, y, w = frame["q"].to_numpy(), frame["y"].to_numpy().astype(int), frame["w"].to_numpy()
    mass = reweighted(y, w if weighted else np.ones(len(q)), None if prior is None else [1 - prior, prior])
    options = {"bins": bins, "norm": norm, "prior": prior, "weight": "w" if weighted else None}
    wanted = None if mass is None else calibration_error(q, y, mass, equal_width(q, bins), norm)
    check("ece", frame, wanted, **options)
    top = np.maximum(q, 1 - q)
    wanted = None if mass is None else calibration_error(top, (q > 0.5) == y, mass, equal_width(top, bins), norm)
    check("ece_mc", frame, wanted, **options)


@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(
    st.lists(st.tuples(POSTERIORS, st.booleans(), st.sampled_from([1.0, 0.0, 0.25, 3.0])), max_size=20),
    BINS,
    st.sampled_from([1, 2]),
    st.booleans(),
)
def test_equal_mass(rows, bins: int, norm: int, weighted: bool) -> None:
    frame = pl.DataFrame(rows, schema={"q": pl.Float64, "y": pl.Boolean, "w": pl.Float64}, orient="row")
    q, y, w = frame["q"].to_numpy(), frame["y"].to_numpy().astype(int), frame["w"].to_numpy()
    mass = w if weighted else np.ones(len(q))
    options = {"bins": bins, "norm": norm, "weight": "w" if weighted else None, "equal_mass": True}
    check("ece", frame, calibration_error(q, y, mass, equal_mass(q, mass, bins), norm), **options)
    top = np.maximum(q, 1 - q)
    wanted = calibration_error(top, (q > 0.5) == y, mass, equal_mass(top, mass, bins), norm)
    check("ece_mc", frame, wanted, **options)


def test_equal_mass_at_a_stated_prior() -> None:
    # Positives weigh 3/4 and negatives 1/4 in all, as rows of weight 3 and 1 of the same number do.
    frame = pl.DataFrame({"g": [0] * 6 + [1], "q": [0.1, 0.4, 0.6, 0.3, 0.7, 0.9, 0.5], "y": [0, 0, 0, 1, 1, 1, 1]})
    frame = frame.with_columns(w=pl.col("y") * 2 + 1)
    stated = frame.group_by("g").agg(ec.ece("q", "y", bins=4, prior=0.75, equal_mass=True)).sort("g")
    weighed = frame.group_by("g").agg(ec.ece("q", "y", bins=4, weight="w", equal_mass=True)).sort("g")
    assert stated.item(0, 1) == pytest.approx(weighed.item(0, 1))
    assert stated.item(1, 1) is None


def test_equal_mass_keeps_equal_posteriors_together() -> None:
    frame = pl.DataFrame({"q": [0.1, 0.1, 0.1, 0.9], "y": [1, 0, 0, 1]})
    # 0.1 reaches three quarters of the rows: bin 2 of 2 holds all.
    assert frame.select(ec.ece("q", "y", bins=2, equal_mass=True)).item() == pytest.approx(abs(1.2 - 2) / 4)
    wrong = pl.DataFrame({"q": [0.1, 2.0, None], "y": [1, 0, 0]})
    assert wrong.select(ec.ece("q", "y", equal_mass=True)).item() is None
    assert wrong.filter(pl.col("q").is_null()).select(ec.ece("q", "y", equal_mass=True)).item() is None


@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(
    st.integers(2, 12),
    st.integers(0, 30),
    st.integers(0, 2**32 - 1),
    BINS,
    st.sampled_from([1, 2]),
    st.sampled_from([None, "uniform"]),
    st.booleans(),
)
def test_top_class_of_vectors(k: int, n: int, seed: int, bins: int, norm: int, prior, weighted: bool) -> None:
    rng = np.random.default_rng(seed)
    # Small counts tie, and 1/k is an edge of many bins.
    q = rng.integers(0, 3, (n, k)) + np.eye(k, dtype=int)[rng.integers(0, k, n)]
    q = q / q.sum(axis=1, keepdims=True)
    y, w = rng.integers(0, k, n), rng.choice([0.0, 0.5, 2.0], n)
    schema = {"q": pl.Array(pl.Float64, k), "y": pl.Int64, "w": pl.Float64}
    frame = pl.DataFrame({"q": q.tolist(), "y": y, "w": w}, schema=schema)
    mass = reweighted(y, w if weighted else np.ones(n), None if prior is None else [1 / k] * k)
    top = q.max(axis=1) if n else np.zeros(0)
    hit = q.argmax(axis=1) == y if n else np.zeros(0)
    wanted = None if mass is None else calibration_error(top, hit, mass, equal_width(top, bins), norm)
    check("ece_mc", frame, wanted, bins=bins, norm=norm, prior=prior, weight="w" if weighted else None)


@pytest.mark.quick("*-function", "ece-*-sql")
@pytest.mark.parametrize("door", QUICK_DOORS)
@pytest.mark.parametrize(
    ("name", "prior", "norm"),
    mostly_slow(
        [("ece", None, 1), ("ece", 0.3, 2), ("ece_mc", None, 1), ("ece_mc", 0.3, 2)],
        [("ece", 0.3, 2), ("ece_mc", None, 1)],
    ),
)
def test_missing_and_wrong_rows(door: str, name: str, prior, norm: int) -> None:
    rows = [("right", 0.2, 0), ("right", 0.8, 1), ("late", 0.2, 0), ("late", 0.8, 1), ("late", 0.9, None)]
    rows += [("late", None, 0), ("nan", 0.2, 0), ("nan", 0.8, 1), ("nan", math.nan, 1)]
    rows += [("class", 0.2, 0), ("class", 0.8, 1), ("class", 0.8, 2), ("none", None, 1)]
    frame = pl.DataFrame(rows, schema={"g": pl.String, "q": pl.Float64, "y": pl.Int64}, orient="row")
    values = evaluate(door, name, frame, "q", "y", by="g", prior=prior, norm=norm)
    assert values["right"] == values["late"] == pytest.approx(0.2)
    assert values["nan"] is values["class"] is values["none"] is None
    pairs = frame.with_columns(q=pl.concat_arr(1 - pl.col("q"), "q"))
    assert evaluate(door, name, pairs, "q", "y", by="g", prior=prior, norm=norm) == pytest.approx(values)


@pytest.mark.quick("function")
@pytest.mark.parametrize("door", QUICK_DOORS)
def test_zero_and_one_are_in_the_outer_bins(door: str) -> None:
    frame = pl.DataFrame({"q": [0.0, 0.1, 1.0, 0.9], "y": [1, 0, 0, 1]})
    assert evaluate(door, "ece", frame, "q", "y", bins=5) == pytest.approx(0.5 * 0.45 + 0.5 * 0.45)


@pytest.mark.quick("function")
@pytest.mark.parametrize("door", QUICK_DOORS)
def test_groups_of_one_class(door: str) -> None:
    frame = pl.DataFrame({"q": [0.2, 0.6], "y": [True, True]})
    assert evaluate(door, "ece", frame, "q", "y") == pytest.approx(0.6)
    assert evaluate(door, "ece", frame, "q", "y", prior=1.0) == pytest.approx(0.6)
    assert evaluate(door, "ece", frame, "q", "y", prior=0.5) is None


def test_always_answering_the_prior_has_no_error() -> None:
    frame = pl.DataFrame({"q": [0.25] * 4, "y": [1, 0, 0, 0]})
    assert frame.select(ec.ece("q", "y")).item() == 0
    assert frame.select(ec.nce("q", "y")).item() == pytest.approx(1)


LOG = "(VALUES (0.3e0, 1), (0.4, 0)) AS log(q, y)"


def test_any_number_of_bins(connection) -> None:
    rng = np.random.default_rng(1)
    q, y = rng.random(500), rng.integers(0, 2, 500)
    frame = pl.DataFrame({"q": q, "y": y})
    wanted = calibration_error(q, y, np.ones(500), equal_width(q, 100), 1)
    assert frame.select(ec.ece("q", "y", bins=100)).item() == pytest.approx(wanted)
    for statement in ("ec.ece(q, y, bins := 100)", "ec.ece_mc([1 - q, q], y, bins := 0)", "ec.ece(q, y, bins := 1.5)"):
        with pytest.raises(duckdb.Error, match=r"bins must be a whole number in 1\.\.32"):
            connection.execute(f"SELECT {statement} FROM {LOG}").fetchone()


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("prior", [0.3, pl.col("pi")], ids=["number", "column"])
def test_many_bins_of_scores_whose_posteriors_are_computed(prior, norm: int) -> None:
    rng = np.random.default_rng(2)
    llr, y, w, g = rng.normal(size=400), rng.integers(0, 2, 400), rng.choice([0.0, 1.0, 2.5], 400), np.arange(400) % 3
    y[g == 2] = 1
    frame = pl.DataFrame({"g": g, "x": llr, "y": y, "w": w, "pi": np.full(400, 0.3)})
    value = ec.ece("x", "y", score_type="llr", prior=prior, bins=100, norm=norm, weight="w")
    # A plan of one node for each bin was one of millions of characters.
    assert len(str(frame.lazy().select(value).explain())) < 10_000
    q = 1 / (1 + np.exp(-llr) * 7 / 3)
    found = dict(frame.group_by("g").agg(value).iter_rows())
    for group in (0, 1):
        rows = g == group
        mass = reweighted(y[rows], w[rows], [0.7, 0.3])
        wanted = calibration_error(q[rows], y[rows], mass, equal_width(q[rows], 100), norm)
        assert found[group] == pytest.approx(wanted, rel=1e-9)
    assert found[2] is None
    assert frame.clear().select(value).item() is None
    windows = frame.select("g", v=value.over("g")).unique()
    assert dict(windows.iter_rows()) == pytest.approx(found)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("ec.ece(q, y, norm := 3)", "norm must be 1 or 2, not 3"),
        ("ec.ece(q, y, score_type := 'decision')", "has no posteriors"),
        ("ec.ece_mc(q, y, score_type := 'llr')", "'llr' needs prior"),
        ("ec.ece(y, q)", "swapped"),
        ("ec.ece_mc(q, y, score_type := 'posteriors')", "needs a list"),
        ("ec.ece_mc([1 - q, q], y, score_type := 'log_odds')", r"one number per row\. For a list"),
    ],
)
def test_errors_in_sql(statement: str, message: str, connection) -> None:
    with pytest.raises(duckdb.Error, match=message):
        connection.execute(f"SELECT {statement} FROM {LOG}").fetchone()


def test_errors() -> None:
    for bins in (0, -1, 2.5, True, "10"):
        with pytest.raises(ValueError, match="bins="):
            ec.ece("q", "y", bins=bins)
    for norm in (0, 3, "max", True):
        with pytest.raises(ValueError, match="norm="):
            ec.ece_mc("q", "y", norm=norm)
    three = pl.LazyFrame({"q": [[0.2, 0.3, 0.5]], "y": [1]}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    with pytest.raises(ValueError, match="ece is for two classes, but there are 3: use ece_mc"):
        three.select(ec.ece("q", "y")).collect_schema()
    with pytest.raises(ValueError, match="has no posteriors"):
        three.select(ec.ece_mc("y", "y", score_type="decision")).collect_schema()


# From a sketch ---------------------------------------------------------------------------------------------------------


def expression(frame: pl.DataFrame, **options: Any) -> dict[str, float | None]:
    return dict(frame.group_by("g").agg(ec.ece("q", "y", **options)).iter_rows())


ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), POSTERIORS, st.booleans(), st.sampled_from([1.0, 0.0, 0.25, 3.0])),
    min_size=1,
    max_size=20,
)


@settings(PROFILE, max_examples=int(EXAMPLES or 2))
@given(
    ROWS,
    BINS,
    st.sampled_from([1, 2]),
    st.sampled_from([None, 0.2, 1.0]),
    st.booleans(),
    st.sampled_from([1, 7, 64]),
    st.sampled_from(["posterior", "log_odds"]),
)
def test_from_a_sketch(rows, bins: int, norm: int, prior, weighted: bool, resolution: int, score_type: str) -> None:
    schema = {"g": pl.String, "q": pl.Float64, "y": pl.Boolean, "w": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    edges = [k / bins for k in range(1, bins)]
    if score_type == "log_odds":
        # At an edge itself the two scales may round to different sides.
        near = [(pl.col("q") - edge).abs() > 1e-9 for edge in edges]
        frame = frame.filter(pl.lit(value=True), *near).with_columns(q=pl.col("q").log() - (-pl.col("q")).log1p())
        edges = [math.log(k / (bins - k)) for k in range(1, bins)]
    weight = "w" if weighted else None
    wanted = expression(frame, bins=bins, norm=norm, prior=prior, weight=weight, score_type=score_type)
    read = {"by": "g", "weight": weight, "score_type": score_type}
    options = {"bins": bins, "norm": norm, "prior": prior}
    exact = [
        frame.ec.sketch("q", "y", resolution=resolution, thresholds=edges, **read),
        frame.ec.sketch("q", "y", exact=True, **read),
    ]
    for sketch in exact:
        for g, value, error in sketch.evaluate("ece", **options).select("g", "ece", "ece_error").iter_rows():
            assert value == (None if wanted[g] is None else pytest.approx(wanted[g], rel=1e-9, abs=1e-12))
            assert error == (None if wanted[g] is None else 0)
    if norm == 1:
        binned = frame.ec.sketch("q", "y", resolution=resolution, **read).evaluate("ece", **options)
        for g, value, error in binned.select("g", "ece", "ece_error").iter_rows():
            assert (value is None) == (wanted[g] is None)
            assert value is None or abs(value - wanted[g]) <= error + 1e-12


def test_the_bound_is_small() -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=20000)
    log = pl.DataFrame({"q": 1 / (1 + np.exp(-2 * x)), "y": rng.random(20000) < 1 / (1 + np.exp(-x))})
    row = log.ec.sketch("q", "y").evaluate("ece").row(0, named=True)
    assert abs(row["ece"] - log.select(ec.ece("q", "y")).item()) <= row["ece_error"] < 0.04
    finer = log.ec.sketch("q", "y", resolution=1024).evaluate("ece").row(0, named=True)
    assert finer["ece_error"] < 0.003


def test_what_a_sketch_cannot_say() -> None:
    log = pl.DataFrame({"q": [0.2, 0.7], "y": [0, 1]})
    with pytest.raises(ec.SketchError, match=r"thresholds=\[k / 15 for k in range\(1, 15\)\]"):
        log.ec.sketch("q", "y").evaluate("ece", norm=2)
    with pytest.raises(ec.SketchError, match="ece needs posteriors"):
        log.ec.sketch("q", "y", score_type="llr").evaluate("ece")
    with pytest.raises(ValueError, match="bins=0"):
        log.ec.sketch("q", "y").evaluate("ece", bins=0)
    assert log.ec.sketch("q", "y").evaluate("ece", bins=1)["ece_error"].item() == 0


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.7])
def test_bins_of_equal_mass_are_those_of_equal_weights_whatever_these_are(weight: float) -> None:
    posteriors = np.arange(1, 51) / 51
    log = pl.DataFrame({"p": posteriors, "y": np.arange(50) % 3 == 0, "w": [weight] * 50})
    gaps = (posteriors - (np.arange(50) % 3 == 0)).reshape(10, 5)
    found = log.select(ec.ece("p", "y", bins=10, equal_mass=True, weight="w")).item()
    assert found == pytest.approx(np.abs(gaps.sum(axis=1)).sum() / 50, rel=1e-12)
