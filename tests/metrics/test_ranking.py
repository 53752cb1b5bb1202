"""Ranking metrics: exact for rows and exact sketches, within their bound from bins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polars_ec as ec
from polars_ec.formulas.hull import upper_hull
from tests.support import ranking_oracle as oracle
from tests.support.profile import EXAMPLES, PROFILE

COST_FN = 3.0

Oracle = Callable[[list[float], list[bool], list[float], float], float]
ORACLES: dict[str, Oracle] = {
    "auc_roc": lambda s, y, w, _: oracle.auc_roc(s, y, w),
    "average_precision": lambda s, y, w, p: oracle.average_precision(oracle.roc_points(s, y, w), p),
    "auprg": lambda s, y, w, p: oracle.auprg(oracle.roc_points(s, y, w), p),
    "eer": lambda s, y, w, _: oracle.eer(oracle.roc_points(s, y, w)),
    "min_expected_cost": lambda s, y, w, p: oracle.min_expected_cost(oracle.roc_points(s, y, w), p, COST_FN, 1.0),
    "min_dcf": lambda s, y, w, p: (
        oracle.min_expected_cost(oracle.roc_points(s, y, w), p, COST_FN, 1.0) / min(COST_FN * p, 1 - p)
    ),
    "specificity_at_sensitivity": lambda s, y, w, _: oracle.specificity_at_sensitivity(oracle.roc_points(s, y, w), 0.8),
    "sensitivity_at_specificity": lambda s, y, w, _: oracle.sensitivity_at_specificity(oracle.roc_points(s, y, w), 0.7),
    "ks": lambda s, y, w, _: oracle.ks(oracle.roc_points(s, y, w)),
    "min_cllr": lambda s, y, w, _: oracle.min_cllr(oracle.roc_points(s, y, w)),
}
WITH_PRIOR = {"average_precision", "auprg", "min_expected_cost", "min_dcf"}

# Bin edges, ties and the ends of the scale are drawn often.
POSTERIORS = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 1e-300, 1 - 2**-53, 1 / (1 + math.e), 1 / (1 + math.exp(-0.25)), 0.3, 0.3000001]),
    st.floats(0, 1),
)
RAW = st.one_of(st.sampled_from([0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.e]), st.floats(-1e6, 1e6))


def rows_of(scores: st.SearchStrategy[float]) -> st.SearchStrategy[list[tuple[float, bool, float]]]:
    row = st.tuples(scores, st.booleans(), st.sampled_from([1.0, 0.5, 2.25, 1e-3]))
    return st.lists(row, min_size=2, max_size=25).filter(lambda rows: len({y for _, y, _ in rows}) == 2)


def keywords_of(name: str, prior: float | None) -> dict[str, Any]:
    keywords: dict[str, Any] = {}
    if name in WITH_PRIOR:
        keywords["prior"] = prior
    if name in ("min_expected_cost", "min_dcf"):
        keywords["cost_fn"] = COST_FN
    if name == "specificity_at_sensitivity":
        keywords["sensitivity"] = 0.8
    if name == "sensitivity_at_specificity":
        keywords["specificity"] = 0.7
    return keywords


def check_all(rows, prior, weighted, score_type, resolution) -> None:
    scores, labels, weights = (list(column) for column in zip(*rows, strict=True))
    used = weights if weighted else [1.0] * len(rows)
    log = pl.DataFrame({"s": scores, "y": labels, "w": weights})
    weight = "w" if weighted else None
    own = math.fsum(w for y, w in zip(labels, used, strict=True) if y) / math.fsum(used)
    exact = log.ec.sketch("s", "y", score_type=score_type, exact=True, weight=weight)
    binned = log.ec.sketch("s", "y", score_type=score_type, resolution=resolution, weight=weight)
    for name, compute in ORACLES.items():
        keywords = keywords_of(name, prior)
        expected = compute(scores, labels, used, own if keywords.get("prior") is None else keywords["prior"])
        function = getattr(ec, name)("s", "y", score_type=score_type, weight=weight, **keywords)
        assert log.select(function).item() == pytest.approx(expected, rel=1e-9, abs=1e-9), name
        of_cells = exact.evaluate(name, **keywords)
        assert of_cells[name].item() == pytest.approx(expected, rel=1e-9, abs=1e-9), name
        assert of_cells[f"{name}_error"].item() == pytest.approx(0, abs=1e-12), name
        bounded = binned.evaluate(name, **keywords)
        assert abs(bounded[name].item() - expected) <= bounded[f"{name}_error"].item() + 1e-9, name
    costs = {"cost_fn": COST_FN, "prior": prior}
    threshold = oracle.best_threshold(scores, labels, used, own if prior is None else prior, COST_FN, 1.0)
    best = ec.best_threshold("s", "y", score_type=score_type, weight=weight, **costs)
    assert log.select(best).item() == threshold
    assert log.lazy().select(best).collect(engine="streaming").item() == threshold
    assert exact.best_threshold("expected_cost", **costs)["threshold"].item() == threshold
    linear = oracle.eer_linear(oracle.roc_points(scores, labels, used))
    assert log.select(ec.eer("s", "y", method="linear", score_type=score_type, weight=weight)).item() == pytest.approx(
        linear, abs=1e-9
    )
    bounded = binned.evaluate("eer", method="linear")
    assert abs(bounded["eer"].item() - linear) <= bounded["eer_error"].item() + 1e-9


@settings(PROFILE)
@given(rows_of(POSTERIORS), st.sampled_from([None, 0.1, 0.7]), st.booleans(), st.sampled_from([1, 3, 64]))
def test_posteriors(rows, prior, weighted, resolution) -> None:
    check_all(rows, prior, weighted, "posterior", resolution)


@settings(PROFILE)
@given(rows_of(RAW), st.sampled_from([None, 0.3]), st.booleans(), st.sampled_from([1, 64]))
def test_raw_scores(rows, prior, weighted, resolution) -> None:
    check_all(rows, prior, weighted, "raw", resolution)


@pytest.mark.quick("True")
@pytest.mark.parametrize("best", [True, False])
def test_bounds_hold_for_the_best_and_the_worst_order_within_cells(best: bool) -> None:
    """Where a bound of auc_roc is attained, so that no tighter one would be right."""
    log_odds = [(bin_ + (0.8 if label == best else 0.2), label) for bin_ in (-1, 0, 1) for label in (False, True)]
    rows = [(1 / (1 + math.exp(-x)), label, weight) for x, label in log_odds for weight in (1.0, 2.25)]
    for weighted in (False, True):
        check_all(rows, 0.3, weighted, "posterior", resolution=1)
    log = pl.DataFrame({"s": [s for s, *_ in rows], "y": [y for _, y, _ in rows]})
    found = log.ec.sketch("s", "y", resolution=1).evaluate("auc_roc").row(0, named=True)
    exact = log.select(ec.auc_roc("s", "y")).item()
    assert exact == pytest.approx(found["auc_roc"] + found["auc_roc_error"] * (1 if best else -1), rel=1e-12)


@pytest.mark.parametrize("name", ORACLES)
def test_undefined_is_null(name: str) -> None:
    log = pl.DataFrame(
        {
            "g": ["one class", "one class", "wrong", "wrong", "wrong", "late", "late", "late", "right", "right"],
            "s": [0.1, 0.9, 0.2, 0.8, math.nan, 0.2, 0.8, 0.5, 0.2, 0.8],
            "y": [True, True, False, True, True, False, True, None, False, True],
        }
    )
    keywords = keywords_of(name, None)
    by_rows = dict(log.group_by("g").agg(getattr(ec, name)("s", "y", **keywords)).rows())
    by_cells = dict(log.ec.sketch("s", "y", by="g").evaluate(name, **keywords).select("g", name).rows())
    for values in (by_rows, by_cells):
        assert values["one class"] is None
        assert values["wrong"] is None
        assert values["late"] == values["right"] is not None
    assert log.head(0).select(getattr(ec, name)("s", "y", **keywords)).item() is None


def test_prior_that_is_not_one_number_in_the_group() -> None:
    log = pl.DataFrame({"s": [0.1, 0.9], "y": [False, True], "p": [0.1, 0.2]})
    assert log.select(ec.average_precision("s", "y", prior=pl.col("p"))).item() is None
    assert log.select(ec.average_precision("s", "y", prior=pl.col("p").min())).item() == 1


def test_best_threshold_of_groups() -> None:
    """It is undefined as the least cost is; ties that rounding hides are ties; rows of weight 0 and scores of -inf are no cut."""
    rows = [("one class", 0.1, True, 1.0), ("wrong", math.nan, True, 1.0), ("wrong", 0.2, False, 1.0)]
    rows += [("late", 0.2, False, 1.0), ("late", 0.8, True, 1.0), ("late", 0.5, None, 1.0)]
    rows += [("tied", s / 13, y in (6, 7, 8, 9, 10, 12), 1.0) for s, y in enumerate(range(13))]
    rows += [("light", 0.2, False, 1.0), ("light", 0.5, False, 0.0), ("light", 0.8, True, 1.0)]
    rows += [("low", -math.inf, True, 9.0), ("low", 1.0, False, 1.0)]
    log = pl.DataFrame(rows, schema=["g", "s", "y", "w"], orient="row")
    found = log.group_by("g").agg(t=ec.best_threshold("s", "y", score_type="log_odds", weight="w"))
    assert dict(found.rows()) == {
        "one class": None,
        "wrong": None,
        "late": 0.2,
        "tied": 5 / 13,
        "light": 0.2,
        "low": math.inf,
    }
    tie = pl.DataFrame({"s": [0.9, 0.8, 0.7, 0.6], "y": [True, False, True, False]})
    assert tie.select(ec.best_threshold("s", "y", prior=0.5)).item() == 0.8
    assert tie.select(ec.best_threshold("s", "y", costs=[[0, 0], [0, 0]])).item() == math.inf
    assert tie.select(ec.best_threshold("s", "y", prior=pl.lit(None, dtype=pl.Float64))).item() is None


def test_errors() -> None:
    log = pl.DataFrame({"s": [0.1, 0.9], "y": [False, True]})
    with pytest.raises(ValueError, match="method='diagonal'"):
        ec.eer("s", "y", method="diagonal")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="sensitivity=0"):
        ec.specificity_at_sensitivity("s", "y", sensitivity=0)
    with pytest.raises(ValueError, match="specificity=95"):
        ec.sensitivity_at_specificity("s", "y", specificity=95)
    with pytest.raises(ValueError, match=r"raw scores have just an order\. Make posteriors with ec\.calibrate\."):
        ec.nec("s", "y", score_type="raw")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one number per row"):
        log.select(ec.auc_roc(pl.concat_arr("s", "s"), "y", score_type="raw"))
    with pytest.raises(ValueError, match=r"an error must not cost less"):
        ec.min_expected_cost("s", "y", costs=[[1, 0], [1, 0]])
    with pytest.raises(ValueError, match=r"an error must not cost less"):
        ec.best_threshold("s", "y", costs=[[1, 0], [1, 0]])
    with pytest.raises(TypeError, match="best_threshold is for one number per row"):
        log.select(ec.best_threshold(pl.concat_arr("s", "s"), "y"))
    with pytest.raises(TypeError, match="one number per row"):
        log.select(ec.auc_roc("s", "y", score_type="decision"))


def test_sensitivity_at_specificity_at_the_ends() -> None:
    """Where the highest score is a negative's no threshold above the data keeps all of them, and none is found."""
    log = pl.DataFrame({"s": [9.0, 5.0, 4.0, 1.0], "y": [False, True, True, False]})
    at = {
        share: log.select(ec.sensitivity_at_specificity("s", "y", specificity=share, score_type="raw")).item()
        for share in (1, 0.5)
    }
    assert at == {1: 0, 0.5: 1}
    found = log.ec.sketch("s", "y", score_type="raw", exact=True).evaluate("sensitivity_at_specificity", specificity=1)
    assert found.select("sensitivity_at_specificity", "sensitivity_at_specificity_threshold").row(0) == (0, math.inf)
    found = log.ec.sketch("s", "y", score_type="raw", exact=True).evaluate(
        "sensitivity_at_specificity", specificity=0.5
    )
    threshold = found["sensitivity_at_specificity_threshold"].item()
    assert log.filter(pl.col("s") > threshold)["s"].to_list() == [9, 5, 4]


@settings(PROFILE, max_examples=int(EXAMPLES or 30))
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=60))
def test_hull_is_the_smallest_concave_curve(steps) -> None:
    """Every point is on or below the hull, every corner is a point, and slopes fall."""
    points: list[tuple[int, float, float]] = []
    for group in range(3):
        x = y = 0.0
        points.append((group, x, y))
        for g, dx, dy in steps:
            if g == group:
                x, y = x + dx, y + dy
                points.append((group, x, y))
    table = pl.DataFrame(points, schema=["g", "x", "y"], orient="row")
    kept = upper_hull(table["g"].to_numpy(), table["x"].to_numpy(), table["y"].to_numpy())
    for group in range(3):
        corners = [points[i][1:] for i in kept if points[i][0] == group]
        members = [p[1:] for p in points if p[0] == group]
        assert corners[0] == members[0]
        assert corners[-1] == members[-1]
        edges = list(itertools.pairwise(corners))
        for (a, b), (_, c) in itertools.pairwise(edges):
            assert (b[1] - a[1]) * (c[0] - b[0]) > (c[1] - b[1]) * (b[0] - a[0])
        for x, y in members:
            assert all((b[1] - a[1]) * (x - a[0]) >= (y - a[1]) * (b[0] - a[0]) for a, b in edges if b != a)


def test_hull_of_an_arc_with_a_last_tall_step() -> None:
    """A pass drops only the last point of the arc, so the chain has to finish the work."""
    n = 3000
    arc = [(i / n, math.sqrt(i / n)) for i in range(n + 1)]
    points = [*arc, (1 + 1e-6, 400.0)]
    table = pl.DataFrame(points, schema=["x", "y"], orient="row")
    kept = upper_hull(
        pl.zeros(len(points), dtype=pl.Int64, eager=True).to_numpy(), table["x"].to_numpy(), table["y"].to_numpy()
    )
    assert kept.tolist() == [0, n + 1]


def test_hulls_of_many_groups_are_those_of_each_alone() -> None:
    """With many groups the chains of all are made at once."""
    random = np.random.default_rng(3)
    sizes = random.integers(1, 12, 500)
    group = np.repeat(np.arange(500, dtype=np.uint32), sizes)
    x, y = (np.concatenate([np.cumsum(random.integers(0, 4, size)) for size in sizes]).astype(float) for _ in range(2))
    # Arcs whose last point is tall, from which one pass drops one point alone.
    tall = np.cumsum(sizes)[sizes > 8] - 1
    y[tall] += 1000
    kept = upper_hull(group, x, y)
    starts = np.cumsum(sizes) - sizes
    alone = [upper_hull(group[s : s + n], x[s : s + n], y[s : s + n]) + s for s, n in zip(starts, sizes, strict=True)]
    assert kept.tolist() == np.concatenate(alone).tolist()


def test_many_groups_and_metrics_in_one_agg() -> None:
    """All groups are worked out in one call, group by group as if there were no others; also with what leaves no value."""
    random = np.random.default_rng(7)
    rows = [
        (g, round(random.random(), 1), bool(random.random() < 0.4), 1.0 + g % 3) for g in range(40) for _ in range(9)
    ]
    rows += [
        (40, 0.3, True, 1.0),
        (41, 1.5, True, 1.0),
        (41, 0.2, False, 1.0),
        (41, 0.4, True, 1.0),
        (42, None, True, 1.0),
    ]
    log = pl.DataFrame(rows, schema=["g", "p", "y", "w"], orient="row").sample(fraction=1, shuffle=True, seed=3)
    metrics = {
        name: getattr(ec, name)("p", "y", weight="w").alias(name) for name in ("auc_roc", "ks", "eer", "min_cllr")
    }
    found = log.group_by("g").agg(**metrics).sort("g")
    for group, *values in found.rows():
        scores, labels, weights = (list(x) for x in zip(*(row[1:] for row in rows if row[0] == group), strict=True))
        if group >= 40 or len(set(labels)) == 1:
            assert values == [None] * len(metrics)
            continue
        expected = [ORACLES[name](scores, labels, weights, 0.5) for name in metrics]
        assert values == pytest.approx(expected, abs=1e-9), group
    assert found.height == 43
