"""The macros give what the Polars functions give where values end: costs, priors, posteriors, thresholds and edges of bins."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import mpmath
import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.cases import CASES, OF_EACH_FAMILY, Case, mostly_slow
from tests.support.database import database
from tests.support.doors import evaluate, sql_literal
from tests.support.macro_calls import EIGHTHS

BOTH = ("function", "sql")
LEAST = 5e-324
INF, NAN = math.inf, math.nan


def near(x: float, n: int = 3) -> list[float]:
    """The float and its neighbours, those that are posteriors."""
    found = [x]
    up = down = x
    for _ in range(n):
        up, down = math.nextafter(up, INF), math.nextafter(down, -INF)
        found += [up, down]
    return [value for value in found if 0 <= value <= 1]


def scales(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The posteriors `p` in every form, as the column `s`, by score type."""
    p, rest = pl.col("p"), (-pl.col("p")).log1p()
    return {
        "posterior": frame.with_columns(s=p),
        "log_odds": frame.with_columns(s=p.log() - rest),
        "posteriors": frame.with_columns(s=pl.concat_arr(1 - p, p)),
        "log_posteriors": frame.with_columns(s=pl.concat_arr(rest, p.log())),
    }


def same(left: Any, right: Any) -> bool:
    """Equal but for rounding; a null is equal to a null alone."""
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(same, left, right))
    if left is None or right is None:
        return left is right
    return bool(left == pytest.approx(right, rel=1e-12, abs=1e-15, nan_ok=True))


# Costs ---------------------------------------------------------------------------------------------------------------

DECIDED = {
    "usual": [(1, 0.875), (1, 0.25), (0, 0.75), (0, 0.5), (1, 0.5)],
    "nearly certain": [(1, 1 - 2**-53), (1, 0.0), (0, 0.0), (0, 1 - 2**-53), (0, LEAST), (0, 0.125)],
    "ties": [(1, 0.5), (0, 0.5), (0, 0.5)],
}
COSTS = [
    (0, 0),
    (0, 1),
    (1, 0),
    (1e308, 1),
    (1, 1e308),
    (1e308, 1e-308),
    (1e-308, 1e-308),
    (8e307, 1e308),
    (LEAST, LEAST),
    (0, LEAST),
]


def exact_cost(rows: list[tuple[int, float]], cost_fn: float, cost_fp: float) -> tuple[Fraction, Fraction | None]:
    """Expected cost at a prior of 1/2 for the exact Bayes decisions, and as a share of the best constant decision's."""
    fn, fp, half = Fraction(cost_fn), Fraction(cost_fp), Fraction(1, 2)
    shares = {y: half / sum(label == y for label, _ in rows) for y in (0, 1)}
    cost = Fraction(0)
    for y, p in rows:
        positive = fp * (1 - Fraction(p)) < fn * Fraction(p)
        cost += shares[y] * (fn if y and not positive else fp if positive and not y else 0)
    naive = half * min(fn, fp)
    return cost, cost / naive if naive else None


@pytest.mark.quick("*-function", "0-1-sql", "1e+308-1e-308-sql", "5e-324-5e-324-sql")
@pytest.mark.parametrize("door", BOTH)
@pytest.mark.parametrize(("cost_fn", "cost_fp"), COSTS)
def test_costs_of_nothing_and_of_any_size(door: str, cost_fn: float, cost_fp: float) -> None:
    rows = [(group, y, p) for group, of_group in DECIDED.items() for y, p in of_group]
    log = pl.DataFrame(rows, schema={"g": pl.String, "y": pl.Int64, "p": pl.Float64}, orient="row")
    options: dict[str, Any] = {"cost_fn": cost_fn, "cost_fp": cost_fp, "prior": 0.5, "by": "g"}
    forms = scales(log)
    for score_type in ("posterior", "log_odds", "posteriors"):
        found = {
            name: evaluate(door, name, forms[score_type], "s", "y", score_type=score_type, **options)
            for name in ("expected_cost", "nec")
        }
        for group, of_group in DECIDED.items():
            cost, share = exact_cost(of_group, cost_fn, cost_fp)
            assert found["expected_cost"][group] == pytest.approx(float(cost), rel=1e-12, abs=LEAST)
            if share is None:
                assert found["nec"][group] is None
            elif max(cost_fn, cost_fp) > LEAST:  # half of the least cost there is is nothing
                infinite = share > Fraction(1e308)
                assert found["nec"][group] == pytest.approx(INF if infinite else float(share), rel=1e-12)


@pytest.mark.parametrize("door", BOTH)
def test_decisions_of_metrics_under_costs_of_any_size(door: str) -> None:
    """Certainty is decided positive whatever a false alarm costs, and 3/4 where both errors cost the least that there is."""
    certain = pl.DataFrame({"s": [INF, 0.0], "y": [1, 1]})
    for fn, fp in [(1e-308, 1e308), (LEAST, 1.0), (LEAST, 1e308)]:
        found = evaluate(door, "recall", certain, "s", "y", score_type="log_odds", cost_fn=fn, cost_fp=fp)
        assert found == 0.5, (fn, fp)
    log = pl.DataFrame({"s": [0.75, 0.25], "y": [1, 1]})
    assert evaluate(door, "recall", log, "s", "y", cost_fn=LEAST, cost_fp=LEAST) == 0.5


@pytest.mark.slow
def test_min_dcf_of_costs_of_nothing_is_null(connection) -> None:
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE few AS FROM (VALUES (0.25e0, 1), (0.75e0, 0), (0.5e0, 1)) AS t(p, y)"
    )
    few = pl.DataFrame({"p": [0.25, 0.75, 0.5], "y": [1, 0, 1]})
    for fn, fp in [(0, 0), (0, 1), (1, 0)]:
        costs = f"prior := 0.5, cost_fn := {fn}, cost_fp := {fp}"
        values = connection.execute(
            f"SELECT ec.min_dcf(p, y, {costs}), ec.approx_min_dcf(p, y, {costs}), ec.approx_min_dcf_error(p, y, {costs}) FROM few"
        ).fetchall()[0]
        sorted_ = connection.execute(f"SELECT min_dcf FROM ec.ranking_exact('few', p, y, {costs})").fetchall()[0]
        assert (*values, *sorted_) == (None, None, None, None)
        assert few.select(ec.min_dcf("p", "y", prior=0.5, cost_fn=fn, cost_fp=fp)).item() is None


# Thresholds ----------------------------------------------------------------------------------------------------------

MATRICES = [
    [[0, 1], [2, 0]],
    [[0, 0.3], [0.1, 0]],
    [[0, 0], [1, 0]],
    [[0, 1], [0, 0]],
    [[1, 4], [9, 2]],
    [[0, 1, 0.05], [0.001, 0, 0.05]],
    [[1, 0], [0, 2]],
    [[0.3, 0], [0, 0.1]],
    [[1, 0], [0, 1e12]],
    [[1, 0], [0, 0]],
    [[0, 1e308], [1e-308, 0]],
    [[0, 1e-308], [1e308, 0]],
    [[0, LEAST], [LEAST, 0]],
]


@pytest.mark.slow
@pytest.mark.parametrize("costs", MATRICES, ids=str)
def test_decisions_next_to_a_threshold(costs: list[list[float]]) -> None:
    fp, fn = abs(costs[0][1] - costs[0][0]), abs(costs[1][0] - costs[1][1])
    threshold = fp / (fp + fn)
    log_odds = math.log(fp / fn) if fn and 0 < fp / fn < INF else 0.0
    forms = scales(pl.DataFrame({"p": [*near(threshold), *near(1 - threshold), 0.0, LEAST, 1.0]}))
    found = [(score_type, frame, {}) for score_type, frame in forms.items()]
    around = [log_odds, math.nextafter(log_odds, INF), math.nextafter(log_odds, -INF), INF, -INF, LEAST, -LEAST]
    found += [("log_odds", pl.DataFrame({"s": around}), {})]
    found += [("llr", pl.DataFrame({"s": around}), {"prior": 0.5}), ("llr", forms["log_odds"], {"prior": 0.3})]
    found += [("log_likelihoods", forms["log_posteriors"], {"prior": [0.4, 0.6]})]
    for score_type, frame, prior in found:
        options: dict[str, Any] = {"costs": costs, "score_type": score_type, **prior}
        function, sql = (evaluate(door, "bayes_decision", frame, "s", **options) for door in BOTH)
        assert function == sql, (score_type, frame["s"].to_list())


@pytest.mark.parametrize("door", BOTH)
def test_decisions_that_are_equal_but_for_rounding(door: str) -> None:
    """Costs are summed over the classes in order, in doubles: then rounding is alike, and so are the decisions."""
    rng = np.random.default_rng(0)
    costs = rng.integers(0, 50, (5, 24)) / 10
    costs = np.concatenate([costs, costs[::-1]], axis=1)  # each column twice: the sums are equal but for rounding
    posteriors = [[0.2] * 5, *(p / p.sum() for p in rng.integers(1, 4, (40, 5)) / 10)]
    rows = [[float(x) for x in p] for p in posteriors]
    rows += [[x, *p[1:4], x] for p in rows for x in [(p[0] + p[4]) / 2]]
    reduced = costs - costs.max(axis=1, keepdims=True)
    wanted = []
    for row in rows:
        expected = np.zeros(costs.shape[1])
        for q, of_class in zip(row, reduced, strict=True):
            expected = expected + q * of_class
        wanted.append(int(np.argmin(expected)))
    log = pl.DataFrame({"s": rows}, schema={"s": pl.Array(pl.Float64, 5)})
    assert evaluate(door, "bayes_decision", log, "s", costs=costs.tolist()) == wanted


@pytest.mark.quick("function")
@pytest.mark.parametrize("door", BOTH)
def test_decisions_where_being_right_is_dearer(door: str) -> None:
    """Decision 1 where it costs less than decision 0, strictly."""
    log = pl.DataFrame({"s": [-INF, -1.0, 0.0, 1.0, INF]})
    wanted = {
        "[[1, 0], [1, 0]]": [1, 1, 1, 1, 1],
        "[[0, 1], [0, 1]]": [0, 0, 0, 0, 0],
        "[[1, 0], [0, 1]]": [1, 1, 0, 0, 0],
        "[[0, 0], [0, 1]]": [0, 0, 0, 0, 0],
        "[[1, 0], [0, 0]]": [1, 1, 1, 1, 0],
        "[[1, 1], [1, 1]]": [0, 0, 0, 0, 0],
    }
    for costs, decisions in wanted.items():
        options: dict[str, Any] = {"costs": pl.Series([costs]).str.json_decode(pl.List(pl.List(pl.Int64)))[0].to_list()}
        assert evaluate(door, "bayes_decision", log, "s", score_type="log_odds", **options) == decisions, costs
        # A prior of 1 makes all posteriors 1, and one of 0 none; an LLR that it contradicts has none.
        for prior, ruled_out in ((1.0, 0), (0.0, 4)):
            certain = [decisions[4 if prior else 0]] * 5
            certain[ruled_out] = None
            found = evaluate(door, "bayes_decision", log, "s", score_type="llr", prior=prior, **options)
            assert found == certain, (costs, prior)


@pytest.mark.slow
@pytest.mark.parametrize("bins", [3, 10])
@pytest.mark.parametrize("name", ["ece", "ece_mc"])
def test_posteriors_next_to_the_edge_of_a_bin(name: str, bins: int) -> None:
    """One row next to an edge in each group, and one in each of the bins at either side."""
    edges = [(k, p) for k in range(bins + 1) for p in near(k / bins)]
    rows = [
        (f"{p!r} {y}", label, q)
        for k, p in edges
        for y in (0, 1)
        for label, q in [(y, p), (1, min(1.0, (k + 0.5) / bins)), (0, max(0.0, (k - 0.3) / bins))]
    ]
    forms = scales(pl.DataFrame(rows, schema=["g", "y", "p"], orient="row"))
    calls: list[tuple[str, str, dict[str, Any]]] = [(score_type, score_type, {}) for score_type in forms]
    calls += [("log_odds", "llr", {"prior": 0.3}), ("log_posteriors", "log_likelihoods", {"prior": 0.3})]
    for form, score_type, prior in calls:
        options: dict[str, Any] = {"bins": bins, "score_type": score_type, "by": "g", **prior}
        function, sql = (evaluate(door, name, forms[form], "s", "y", **options) for door in BOTH)
        assert function == pytest.approx(sql, rel=1e-9, abs=1e-15), score_type


# Priors and certainty ------------------------------------------------------------------------------------------------

# Score, from or prior, to; then the posterior at `to`, and the LLR.
SHIFTS = [
    (1.0, 0.5, 0.0, None, INF),
    (0.0, 0.5, 1.0, None, -INF),
    (1.0, 0.5, 1.0, 1.0, INF),
    (0.5, 0.5, 1e-12, 1e-12, 0.0),
    (0.25, 0.25, 0.75, 0.75, 0.0),
    (0.5, 0.0, 0.5, None, INF),
    (0.0, 0.0, 0.5, None, None),
    (1.0, 1.0, 0.5, None, None),
    (0.5, NAN, 0.5, None, None),
    (0.5, -0.1, 0.5, None, None),
    (0.5, 1.5, 0.5, None, None),
    (0.5, None, 0.5, None, None),
    (NAN, 0.5, 0.5, None, None),
    (1.5, 0.5, 0.5, None, None),
    (None, 0.5, 0.5, None, None),
]


@pytest.mark.parametrize("door", BOTH)
def test_priors_of_rows_that_are_bad_or_contradicted(door: str) -> None:
    log = pl.DataFrame([row[:3] for row in SHIFTS], schema=dict.fromkeys(("s", "from", "to"), pl.Float64), orient="row")
    moved, llrs = [row[3] for row in SHIFTS], [row[4] for row in SHIFTS]
    assert all(map(same, evaluate(door, "shift_prior", log, "s", from_="from", to="to"), moved))
    assert all(map(same, evaluate(door, "llr", log, "s", prior="from"), llrs))
    certain = pl.DataFrame({"s": [INF, -INF, INF, -INF, 0.0], "prior": [0.0, 1.0, 1.0, 0.0, 0.0]})
    for name, values in {"posterior": [None, None, 1.0, 0.0, 0.0], "log_odds": [None, None, INF, -INF, -INF]}.items():
        assert evaluate(door, name, certain, "s", score_type="llr", prior="prior") == values
    assert evaluate(door, "shift_prior", certain, "s", score_type="log_odds", from_=0.5, to="prior") == [
        None, None, INF, -INF, -INF,
    ]  # fmt: skip
    # ln(0.5/0.5) less ln(5e-324/1), which is not a quotient that a float can say
    tiny = pl.DataFrame({"s": [0.0], "from": [LEAST], "to": [0.5]})
    found = evaluate(door, "shift_prior", tiny, "s", score_type="log_odds", from_="from", to="to")
    assert found == pytest.approx([-math.log(LEAST)], rel=1e-15)


VECTORS: list[tuple[list[float | None], list[float | None], list[float], list[float] | None]] = [
    ([0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.5, 0.25, 0.25], [0.5, 0.25, 0.25]),
    ([1.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.0, 0.5, 0.5], None),
    ([1.0, 0.0, 0.0], [0.25, 0.25, 0.5], [0.5, 0.5, 0.0], [1.0, 0.0, 0.0]),
    ([0.25, 0.25, 0.5], [0.0, 0.5, 0.5], [0.5, 0.25, 0.25], None),
    ([0.25, 0.25, 0.5], [NAN, 0.5, 0.5], [0.5, 0.25, 0.25], None),
    ([0.25, 0.25, 0.5], [-0.5, 1.0, 0.5], [0.5, 0.25, 0.25], None),
    ([0.25, 0.25, 0.5], [0.5, 0.5, 0.5], [0.5, 0.25, 0.25], None),
    ([0.25, 0.25, 0.5], [None, 0.5, 0.5], [0.5, 0.25, 0.25], None),
]


@pytest.mark.parametrize("door", BOTH)
@pytest.mark.parametrize("dtype", [pl.Array(pl.Float64, 3), pl.List(pl.Float64)], ids=["array", "list"])
def test_lists_of_priors_that_are_bad_or_contradicted(door: str, dtype: pl.DataType) -> None:
    schema = {"s": pl.Array(pl.Float64, 3), "from": dtype, "to": dtype}
    log = pl.DataFrame([row[:3] for row in VECTORS], schema=schema, orient="row")
    wanted = [row[3] for row in VECTORS]
    assert all(map(same, evaluate(door, "shift_prior", log, "s", from_="from", to="to"), wanted))
    logs = log.with_columns(s=pl.col("s").arr.eval(pl.element().log()))
    in_logs = [None if row is None else [math.log(x) if x else -INF for x in row] for row in wanted]
    found = evaluate(door, "shift_prior", logs, "s", score_type="log_posteriors", from_="from", to="to")
    assert all(map(same, found, in_logs))
    # As likelihoods: those of the second row are 0 wherever the prior is not.
    found = evaluate(door, "posterior", logs, "s", score_type="log_likelihoods", prior="to")
    assert found[1] is None
    assert same(found[2], [1.0, 0.0, 0.0])


OF_POSTERIORS = [case for case in CASES if "prior" in case.options and case.name not in ("confusion", "dcf")]


def sql_of(case: Case, score: str, keywords: dict[str, Any]) -> str:
    arguments = [f"{key} := {sql_literal(key, value)}" for key, value in {**case.arguments, **keywords}.items()]
    return f"ec.{case.name}({', '.join([score, 'y', *arguments])})"


@pytest.mark.slow
@pytest.mark.parametrize("cases", ["some", "all"])
@pytest.mark.parametrize(
    ("score_type", "prior"),
    mostly_slow([("llr", 0.0), ("llr", 1.0), ("log_likelihoods", 0.0), ("log_likelihoods", 1.0)], [("llr", 0.0)]),
)
def test_metrics_of_a_score_that_its_prior_contradicts(score_type: str, prior: float, cases: str, connection) -> None:
    """Certainty of the class that the prior rules out: the row is wrong, and its group has no value; at any other prior it has."""
    log = pl.DataFrame({"y": [0, 1, 1, 0], "p": [0.25, 0.5, 0.75, 1.0 - prior]})
    forms = scales(log)
    frame = forms["log_odds" if score_type == "llr" else "log_posteriors"]
    of_score = [case for case in OF_POSTERIORS if score_type in case.score_types]
    chosen = of_score if cases == "all" else [case for case in of_score if case.name in OF_EACH_FAMILY]
    assert len(chosen) >= 4
    connection.register("contradicted", frame.to_arrow())
    for stated in (prior, 0.5):
        options: dict[str, Any] = {"score_type": score_type, "prior": stated}
        query = f"SELECT {', '.join(sql_of(case, 's', options) for case in chosen)} FROM contradicted"
        sql = connection.execute(query).fetchall()[0]
        function = frame.select(
            getattr(ec, case.name)("s", "y", **case.arguments, **options).alias(case.name) for case in chosen
        ).row(0)
        for case, left, right in zip(chosen, function, sql, strict=True):
            assert same(left, right), (case.name, left, right)
            assert (left is None) == (stated == prior), case.name


# Groups --------------------------------------------------------------------------------------------------------------

GROUPS: dict[str, list[tuple[int | None, float | None, float]]] = {
    "rare 1": [(y, p, w * (1e-12 if y else 1)) for y, p, w in EIGHTHS],
    "rare 0": [(y, p, w * (1e12 if y else 1)) for y, p, w in EIGHTHS],
    "edges": [(1, 1.0, 1), (1, 1e-300, 1), (0, 0.0, 1), (0, 1e-300, 1), (0, 1 - 2**-53, 1), (1, LEAST, 1)],
    "perfect": [(1, 1.0, 1), (1, 0.875, 1), (0, 0.125, 1), (0, 0.0, 1)],
    "reversed": [(1, 0.0, 1), (1, 0.125, 1), (0, 0.875, 1), (0, 1.0, 1)],
    "only 1": [(1, 0.25, 1), (1, 0.75, 1)],
    "only 0": [(0, 0.25, 1), (0, 0.75, 1)],
    "ties": [(1, 0.5, 1), (0, 0.5, 1), (0, 0.5, 2)],
    "no label": [(None, 0.5, 1)],
    "no score": [(1, None, 1), (0, None, 1)],
    "no weight": [(1, 0.25, 0), (0, 0.75, 0)],
    "wrong": [(1, 0.5, 1), (0, NAN, 1)],
}


@pytest.mark.slow
@pytest.mark.parametrize("prior", [None, 1e-12, 1 - 1e-12, 0.0])
@pytest.mark.parametrize("form", mostly_slow(["posterior", "log_odds", "llr", "posteriors"], ["llr", "posteriors"]))
def test_every_metric_of_every_group(form: str, prior: float | None, connection) -> None:
    if form == "llr" and prior is None:
        prior = 0.5
    rows = [(group, *row) for group, of_group in GROUPS.items() for row in of_group]
    log = pl.DataFrame(rows, schema={"g": pl.String, "y": pl.Int64, "p": pl.Float64, "w": pl.Float64}, orient="row")
    frame = scales(log)["log_odds" if form == "llr" else form]
    cases = [case for case in OF_POSTERIORS if form in case.score_types]
    options: dict[str, Any] = {"score_type": form, "weight": "w"} | ({} if prior is None else {"prior": prior})
    connection.register("groups", frame.to_arrow())
    calls = ", ".join(sql_of(case, "s", options) for case in cases)
    sql = connection.execute(f"SELECT {calls} FROM groups GROUP BY g ORDER BY g").fetchall()
    function = (
        frame.group_by("g")
        .agg(
            getattr(ec, case.name)("s", "y", **case.arguments, **options | {"weight": pl.col("w")}).alias(case.name)
            for case in cases
        )
        .sort("g")
    )
    for (group, *left), right in zip(function.rows(), sql, strict=True):
        for case, x, y in zip(cases, left, right, strict=True):
            assert same(x, y), (group, case.name, x, y)


# Single metrics ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("door", BOTH)
def test_f_of_any_beta(door: str) -> None:
    """Near 0 precision, far from it recall; without hits 0 for any, as misses and false alarms have some weight for any."""
    log = pl.DataFrame(
        {"g": [0, 0, 0, 0, 1, 2, 2, 3, 3], "y": [1, 1, 1, 0, 1, 0, 1, 0, 1], "p": [0.75, 0.75, 0, 1, 0, 1, 0, 0, 1]}
    )
    for beta, of_group_0 in [
        (1e-200, 2 / 3),
        (1e-160, 2 / 3),
        (1.0, 2 / 3),
        (1e160, 2 / 3),
        (1e200, 2 / 3),
        (1e308, 2 / 3),
    ]:
        found = evaluate(door, "fbeta", log, "p", "y", by="g", beta=beta)
        assert found == {0: pytest.approx(of_group_0, rel=1e-15), 1: 0.0 if beta else None, 2: 0.0, 3: 1.0}, beta


@pytest.mark.parametrize("door", BOTH)
@pytest.mark.parametrize("prior", [1e-12, 0.5, 1 - 1e-12])
def test_mcc_of_rates_near_1(door: str, prior: float) -> None:
    """Nearly all is decided positive: R11 - R01 has no digits left, R00 - R10 has."""
    misses, right = 1e-12, 3e-12
    log = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.25, 0.75, 0.25, 0.75], "w": [misses, 1.0, right, 1.0]})
    with mpmath.workdps(60):
        p1, r10, r00 = mpmath.mpf(prior), *(mpmath.mpf(w) / (mpmath.mpf(w) + 1) for w in (misses, right))
        p0 = 1 - p1
        left = p1 * r10 + p0 * r00
        wanted = float(mpmath.sqrt(p1 * p0) * (r00 - r10) / mpmath.sqrt(left * (1 - left)))
    assert evaluate(door, "mcc", log, "p", "y", prior=prior, weight="w") == pytest.approx(wanted, rel=1e-14, abs=0)


@pytest.mark.parametrize("prior", mostly_slow([1e-12, 2.0**-60, 1e-300], [1e-12]))
def test_auprg_of_one_score_is_0(prior: float, connection) -> None:
    """The precision gain of all rows at once is 0, and so it is all the way to them."""
    log = pl.DataFrame({"p": [1.0] * 5, "y": [1, 0, 1, 0, 0]})  # the one bin that holds one posterior
    connection.register("ties", log.to_arrow())
    found = connection.execute(
        "SELECT "
        + ", ".join(f"ec.{name}(p, y, prior := {prior!r})" for name in ("auprg", "approx_auprg", "approx_auprg_error"))
        + " FROM ties"
    )
    assert found.fetchall()[0] == (pytest.approx(0, abs=1e-15),) * 3
    sorted_ = connection.execute(f"SELECT auprg FROM ec.ranking_exact('ties', p, y, prior := {prior!r})")
    assert sorted_.fetchall()[0][0] == pytest.approx(0, abs=1e-15)
    assert log.select(ec.auprg("p", "y", prior=prior)).item() == pytest.approx(0, abs=1e-15)


@pytest.mark.quick("function")
@pytest.mark.parametrize("door", BOTH)
def test_parameters_of_epsr_are_from_a_thousandth_to_20(door: str) -> None:
    log = pl.DataFrame({"p": [0.25, 0.5], "y": [1, 0]})
    for a, b in [(0.000999, 1), (1, 0.000999), (20.001, 1), (1, 20.001), (0, 1), (-1, 1), (INF, 1)]:
        with pytest.raises((ValueError, duckdb.Error), match=r"0\.001 to 20"):
            evaluate(door, "epsr", log, "p", "y", a=a, b=b)
    for a, b in [(0.001, 0.001), (20.0, 20.0), (0.001, 20.0)]:
        assert 0 < evaluate(door, "epsr", log, "p", "y", a=a, b=b) < INF


@pytest.mark.quick("function")
@pytest.mark.parametrize("door", BOTH)
def test_epsr_of_posteriors_at_the_ends(door: str) -> None:
    """Integral of t^(a-2) (1-t)^(b-1) / B(a, b) from q to 1; at b = 1 it is a (q^(a-1) - 1)/(1 - a), by hand."""
    posteriors = [LEAST, 1e-300, 1e-16, 1.0]
    log = pl.DataFrame({"g": range(len(posteriors)), "p": posteriors, "y": [1] * len(posteriors)})
    for a in (0.95, 1 + 1e-9, 1.05, 1.5, 2.5):
        found = evaluate(door, "epsr", log, "p", "y", by="g", a=a, b=1.0)
        with mpmath.workdps(40):
            exact = mpmath.mpf(a)
            wanted = [float(exact * (mpmath.mpf(q) ** (exact - 1) - 1) / (1 - exact)) for q in posteriors]
        assert [found[g] for g in range(len(posteriors))] == pytest.approx(wanted, rel=1e-9, abs=1e-12), a
    wrong = pl.DataFrame({"p": [0.0], "y": [1]})
    assert evaluate(door, "epsr", wrong, "p", "y", a=0.95, b=3.0) == INF
    assert evaluate(door, "epsr", wrong, "p", "y", a=1.5, b=3.0) == pytest.approx(7, rel=1e-10)  # (a + b - 1)/(a - 1)


NAN_IN_A_FILE = [
    ("n_invalid(x, y)", 10),
    ("n_invalid(x, y, score_type := 'log_odds')", 10),
    ("n_invalid(x, y, score_type := 'decision')", 10),
    ("n_invalid(half, y, weight := x)", 10),
    ("accuracy(x, y)", None),
    ("nce(x, y)", None),
    ("auc_roc(x, y, score_type := 'raw')", None),
    ("nec(half, y, threshold := x)", None),
    ("nec(half, y, cost_fn := x)", None),
    ("nec(half, y, cost_fp := x)", None),
    ("accuracy(half, y, prior := x)", None),
]


@pytest.mark.quick("0.0")
@pytest.mark.parametrize("number", [0.0, 1.0])
def test_nan_that_statistics_of_a_parquet_file_pass_over(number: float, tmp_path: Path) -> None:
    """DuckDB takes for granted what holds of the least and the largest number, so that comparisons and isnan() miss it."""
    rows = pl.DataFrame(
        {"x": [NAN, number, number, number] * 10, "half": [0.5] * 40, "y": [True, False, False, True] * 10}
    )
    rows.write_parquet(tmp_path / "log.parquet")
    calls = ", ".join(f"ec.{call}" for call, _ in NAN_IN_A_FILE)
    connection = database().cursor()
    (found,) = connection.sql(f"SELECT {calls} FROM '{tmp_path / 'log.parquet'}'").fetchall()
    assert dict(zip([call for call, _ in NAN_IN_A_FILE], found, strict=True)) == dict(NAN_IN_A_FILE)
    wrong = "SELECT sum(n) FROM ec.sketch('log', x, y) WHERE class = -1"
    assert connection.sql(f"WITH log AS (FROM '{tmp_path / 'log.parquet'}') {wrong}").fetchall() == [(10,)]
