"""The macros keep their digits where one class is rare, and their values where weights or costs are extreme."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import mpmath
import pytest

from tests.support.cases import OF_EACH_FAMILY, mostly_slow, one_of_each_family
from tests.support.macro_calls import AGGREGATES, EIGHTHS, LOG, with_argument


@pytest.fixture(scope="module", autouse=True)
def log_in_sql(connection) -> None:
    connection.execute(LOG)


def source(of_positives: float, of_negatives: float) -> str:
    values = ", ".join(f"({y}, {p!r}e0, {w * (of_positives if y else of_negatives)!r})" for y, p, w in EIGHTHS)
    return f"(SELECT y, p, [1 - p, p] AS v, CAST(w AS DOUBLE) AS w FROM (VALUES {values}) AS t(y, p, w)) AS log"


class Exact:
    """Metrics of the rows in exact arithmetic, by their definitions; costs are 2 and 1 where there are any."""

    def __init__(self, of_positives: float, of_negatives: float, prior: list[Any] | None = None) -> None:
        rows = [(y, Fraction(p), Fraction(w * (of_positives if y else of_negatives))) for y, p, w in EIGHTHS]
        self.rows = rows
        self.n = [sum(w for y, _, w in rows if y == i) for i in (0, 1)]
        self.p = [n / sum(self.n) for n in self.n] if prior is None else [Fraction(p) for p in prior]

    def mean(self, i: int, value: Any) -> Any:
        return sum(w * value(p) for y, p, w in self.rows if y == i) / self.n[i]

    def rate(self, i: int, j: int, threshold: Fraction) -> Fraction:
        return self.mean(i, lambda p: int((p > threshold) == j))

    def values(self) -> dict[str, Any]:
        half, third = Fraction(1, 2), Fraction(1, 3)
        p0, p1 = self.p
        r = {(i, j): self.rate(i, j, half) for i in (0, 1) for j in (0, 1)}
        miss, alarm = p1 * self.rate(1, 0, third), p0 * self.rate(0, 1, third)
        brier = p1 * self.mean(1, lambda q: (1 - q) ** 2) + p0 * self.mean(0, lambda q: q**2)
        with mpmath.workdps(200):
            entropy = -sum(_mp(p) * mpmath.log(_mp(p)) for p in self.p)
            cross_entropy = _mp(p1) * self.mean(1, lambda q: -mpmath.log(_mp(q))) + _mp(p0) * self.mean(
                0, lambda q: -mpmath.log(_mp(1 - q))
            )
            product = (p1 * r[1, 1] + p0 * r[0, 1]) * (p1 * r[1, 0] + p0 * r[0, 0])
            mcc = mpmath.sqrt(_mp(p0 * p1 / product)) * _mp(r[1, 1] - r[0, 1])
            log_values = {"nce": cross_entropy / entropy, "cross_entropy": cross_entropy, "mcc": mcc}
        return {
            "expected_cost": 2 * miss + alarm,
            "nec": (2 * miss + alarm) / min(2 * p1, p0),
            "error_rate": miss + alarm,
            "accuracy": p1 * self.rate(1, 1, third) + p0 * self.rate(0, 0, third),
            "precision": p1 * r[1, 1] / (p1 * r[1, 1] + p0 * r[0, 1]),
            "f1": 2 * p1 * r[1, 1] / (2 * p1 * r[1, 1] + p1 * r[1, 0] + p0 * r[0, 1]),
            "fbeta": 5 * p1 * r[1, 1] / (5 * p1 * r[1, 1] + 4 * p1 * r[1, 0] + p0 * r[0, 1]),
            "net_benefit": p1 * self.rate(1, 1, Fraction(1, 4)) - p0 * self.rate(0, 1, Fraction(1, 4)) / 3,
            "recall_gain": 1 - p1 / p0 * r[1, 0] / r[1, 1],
            "precision_gain": 1 - r[0, 1] / r[1, 1],
            "brier": brier,
            "nbs": brier / (p0 * p1),
            **log_values,
        }


def _mp(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


ARGUMENTS = {
    **{name: ["cost_fn := 2"] for name in ("expected_cost", "nec", "error_rate", "accuracy")},
    "fbeta": ["beta := 2"],
    "net_benefit": ["0.25"],
}
# Shares of the last ones add up to one less 2^-53.
FACTORS = [(1.0, 1.0), (1e8, 1.0), (1e12, 1.0), (1.0, 1e12), (1e40, 1e-40), (1e7, 1e-3)]


def assert_exact(calls: list[str], exact: dict[tuple[float, float], dict[str, Any]], connection: Any) -> None:
    """Rows with each pair of factors are a group of their own."""
    groups = " UNION ALL ".join(f"SELECT {g} AS g, * FROM {source(*factors)}" for g, factors in enumerate(exact))
    found = connection.execute(f"SELECT {', '.join(calls)} FROM ({groups}) GROUP BY g ORDER BY g").fetchall()
    for (factors, wanted), values in zip(exact.items(), found, strict=True):
        for call, value in zip(calls, values, strict=True):
            assert value == pytest.approx(float(wanted[call[3 : call.index("(")]]), rel=1e-14, abs=0), (call, factors)


@pytest.mark.slow
@pytest.mark.parametrize("score", ["p", "v"])
def test_a_rare_class(score: str, connection) -> None:
    """P0 is N0/N and not 1 - P1, and no share is one less another one."""
    exact = {factors: Exact(*factors).values() for factors in FACTORS}
    names = [name for name in exact[FACTORS[0]] if not (score == "v" and name in ("fbeta", "precision_gain", "brier"))]
    calls = [f"ec.{name}({', '.join([score, 'y', *ARGUMENTS.get(name, []), 'weight := w'])})" for name in names]
    costs = "costs := [[0, 1], [2, 0]]"
    wide = "costs := [[0, 1, 3], [2, 0, 3]]"
    calls += [
        f"ec.{name}({score}, y, {given}, weight := w)" for name in ("expected_cost", "nec") for given in (costs, wide)
    ]
    calls = calls if score == "p" else [call for call in calls if "3]" not in call]
    assert_exact(calls, exact, connection)


@pytest.mark.quick("1e-12")
@pytest.mark.parametrize("prior", [1e-12, 2.0**-60])
def test_a_rare_prior(prior: float, connection) -> None:
    exact = {factors: Exact(*factors, [1 - Fraction(prior), Fraction(prior)]).values() for factors in FACTORS[:3]}
    stated = [f"prior := {prior!r}", "weight := w"]
    calls = [f"ec.{name}({', '.join(['p', 'y', *ARGUMENTS.get(name, []), *stated])})" for name in exact[FACTORS[0]]]
    calls += [f"ec.{name}({', '.join(['v', 'y', *stated])})" for name in ("nbs", "nce", "precision")]
    assert_exact(calls, exact, connection)


@pytest.mark.quick("prior0")
@pytest.mark.parametrize("prior", [(1e-12, 1 - 1e-12), (2.0**-60, 1.0), (1.0, 2.0**-60)])
def test_a_list_of_a_rare_prior(prior: tuple[float, float], connection) -> None:
    """Neither of two stated priors is derived from the other. (The entropy of priors that do not sum to 1 is not one number.)"""
    exact = Exact(1e8, 1.0, [*prior]).values()
    stated = f"prior := [{prior[0]!r}e0, {prior[1]!r}e0]".replace("e-12e0", "e-12").replace("e-19e0", "e-19")
    names = [name for name in exact if name != "nce"]
    calls = [f"ec.{name}({', '.join(['p', 'y', *ARGUMENTS.get(name, []), stated, 'weight := w'])})" for name in names]
    calls += [f"ec.{name}(v, y, {stated}, weight := w)" for name in ("nbs", "precision")]
    assert_exact(calls, {(1e8, 1.0): exact}, connection)
    with mpmath.workdps(40):
        log_odds = float(mpmath.log(mpmath.mpf(prior[1]) / mpmath.mpf(prior[0])))
    rows = connection.execute(
        f"SELECT ec.log_odds(0, score_type := 'llr', {stated}), ec.llr(0, score_type := 'log_odds', {stated}), "
        f"ec.shift_prior(0, [0.5, 0.5], {stated[9:]}, score_type := 'log_odds')"
    ).fetchone()
    assert rows == pytest.approx((log_odds, -log_odds, log_odds), rel=1e-14, abs=0)


def test_spread_of_many_classes(connection) -> None:
    """sum P_i (1 - P_i) of one frequent and two rare classes."""
    n = [Fraction(1e15), Fraction(1.0), Fraction(3.0)]
    rows = "(VALUES (0, [0.5, 0.25, 0.25], 1e15), (1, [0.25, 0.5, 0.25], 1e0), (2, [0.5, 0.25, 0.25], 3e0)) AS log(y, v, w)"
    p = [x / sum(n) for x in n]
    squares = [
        [(q - (i == k)) ** 2 for k, q in enumerate(v)]
        for i, v in enumerate(([0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.5, 0.25, 0.25]))
    ]
    brier = sum(share * Fraction(sum(terms)) for share, terms in zip(p, squares, strict=True))
    spread = sum(a * (sum(p) - a) for a in p)
    value = connection.execute(f"SELECT ec.nbs(v, y, weight := w) FROM {rows}").fetchone()[0]
    assert value == pytest.approx(float(brier / spread), rel=1e-14, abs=0)


# Rows of a table of 40,001, two of them of the other class.
MANY = """(SELECT y, CAST(p AS DOUBLE) AS p, [1 - p, p] AS v FROM (
    SELECT {y} AS y, CASE WHEN i % 4 = 0 THEN 0.25 ELSE 0.75 END AS p FROM range(40000) AS r(i)
    UNION ALL SELECT 1 - {y}, 0.5 UNION ALL SELECT 1 - {y}, 0.125)) AS log"""


@pytest.mark.quick("0-None")
@pytest.mark.parametrize(
    ("frequent", "prior"), mostly_slow([(0, None), (0, 2.0**-40), (1, None), (1, 2.0**-40)], [(0, None), (1, 2.0**-40)])
)
def test_rankings_of_a_rare_class(frequent: int, prior: float | None, connection) -> None:
    """By hand from the highest score down: a row of class 1 adds to t, one of class 0 to f. No bin holds two scores."""
    groups = [(30000, frequent), (1, 1 - frequent), (10000, frequent), (1, 1 - frequent)]
    points = [(Fraction(0), Fraction(0))]
    for n, y in groups:
        points.append((points[-1][0] + n * y, points[-1][1] + n * (1 - y)))
    n1, n0 = points[-1]
    p1 = n1 / (n1 + n0) if prior is None else Fraction(prior)
    p0, odds = 1 - p1, p1 / (1 - p1)
    recall_gain = [(1 - odds * (n1 - t) / t, 1 - (f / n0) / (t / n1)) if t else None for t, f in points]
    start = next(i for i, (t, _) in enumerate(points) if t > p1 * n1)
    (t1, f1), (t2, f2) = points[start - 1], points[start]
    at_start = f1 + (f2 - f1) * (p1 * n1 - t1) / (t2 - t1)
    line = [(Fraction(0), 1 - at_start / n0 / p1), *recall_gain[start:]]
    exact = {
        "auc_roc": sum((f2 - f1) * (t1 + t2) / 2 for (t1, f1), (t2, f2) in pairwise(points)) / (n1 * n0),
        "average_precision": sum(
            (t2 - t1) / n1 * p1 * t2 / n1 / (p1 * t2 / n1 + p0 * f2 / n0)
            for (t1, _), (t2, f2) in pairwise(points)
            if t2 > t1
        ),
        "auprg": sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in pairwise(line)),
        "min_dcf": min(p1 * (1 - t / n1) + p0 * f / n0 for t, f in points) / min(p1, p0),
    }
    wanted = pytest.approx([float(value) for value in exact.values()], rel=1e-14, abs=0)
    stated = "" if prior is None else f", prior := {prior!r}"
    connection.execute(f"CREATE OR REPLACE TEMP TABLE many AS FROM {MANY.format(y=frequent)}")
    query = f"SELECT {', '.join(exact)} FROM ec.ranking_exact('many', p, y{stated})"
    assert list(connection.execute(query).fetchone()) == wanted
    arguments = {name: f"(p, y{'' if name == 'auc_roc' else stated})" for name in exact}
    calls = [f"ec.{name}{given}" for name, given in arguments.items()]
    assert list(connection.execute(f"SELECT {', '.join(calls)} FROM many").fetchone()) == wanted
    calls = [f"ec.approx_{name}{given}" for name, given in arguments.items()]
    calls.append(calls[1].replace("precision(", "precision_error("))
    auc, precision, *others, error = connection.execute(f"SELECT {', '.join(calls)} FROM many").fetchone()
    assert [auc, float(exact["average_precision"]), *others] == wanted
    assert abs(precision - exact["average_precision"]) <= error + 1e-15


# Extreme weights and costs ---------------------------------------------------------------------------------------------

# Lists are slow to plan: of those that share their sums one metric.
OF_LISTS = ("confusion", "class_prior", "nec", "balanced_accuracy", "precision", "nce", "ece")
WEIGHTED = {
    name: [call for call in calls if "weight := w" in call and ("(v, " not in call or name in OF_LISTS)]
    for name, calls in AGGREGATES.items()
}
WEIGHTED = {
    name: calls for name, calls in WEIGHTED.items() if calls and name not in ("n_rows", "n_missing", "n_invalid")
}


def flat(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return flat(list(value.values()))
    return [x for part in value for x in flat(part)] if isinstance(value, list) else [value]


@pytest.mark.quick("cross_entropy", "fbeta")
@pytest.mark.parametrize("name", mostly_slow(sorted(WEIGHTED), OF_EACH_FAMILY - {"ece"}))
def test_a_constant_factor_of_the_weights_changes_nothing(name: str, connection) -> None:
    """Powers of 2 from 1e-250 to 1e250; where sums come near the largest number the value is NULL, but no other one."""
    for call in WEIGHTED[name]:
        factors = [1.0, *(2.0**k for k in (-830, -540, 515, 830, 1020))]
        scaled = [with_argument(call, "weight", f"w * CAST('{factor!r}' AS DOUBLE)") for factor in factors]
        first, *others = connection.execute(f"SELECT {', '.join(scaled)} FROM log").fetchone()
        for value, factor in zip(others, factors[1:], strict=True):
            wanted = [x * (factor if name == "confusion" else 1) for x in flat(first)]
            assert (value is None and factor == 2.0**1020) or flat(value) == pytest.approx(wanted, rel=1e-14, abs=0), (
                call
            )


UNITS = [1.7e308, 1e-300]
MATRICES = [[[0, 1], [1, 0]], [[0, 1], [0.5, 0.3]], [[-1, 1], [1, -1]], [[0, 1, 0.25], [1, 0, 0.25]]]


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("matrix", mostly_slow(MATRICES, MATRICES[2:]))
@pytest.mark.parametrize("name", one_of_each_family(["expected_cost", "nec", "error_rate", "balanced_accuracy"]))
def test_a_constant_factor_of_a_cost_matrix(name: str, matrix: list[list[float]], unit: float, connection) -> None:
    """Decisions and NEC stay, expected costs have it."""
    if name == "nec" and matrix[0][0] < 0:
        return
    rows = [", ".join(f"CAST('{unit * c!r}' AS DOUBLE)" for c in row) for row in matrix]
    large = f"[[{'], ['.join(rows)}]]"
    arguments = [
        "p, y, costs := {}",
        "p, y, costs := {}, weight := 1e150 * w",
        "p, y, costs := {}, weight := 1e-150 * w",
    ]
    arguments += ["v, y, costs := {}"] if len(matrix[0]) == 2 else []
    calls = [f"ec.{name}({given.format(costs)})" for given in arguments for costs in (matrix, large)]
    found = connection.execute(f"SELECT {', '.join(calls)} FROM log").fetchone()
    for wanted, value in zip(found[::2], found[1::2], strict=True):
        assert value == pytest.approx(wanted * (unit if name == "expected_cost" else 1), rel=1e-14, abs=0)


@pytest.mark.quick("p-1.7e+308", "v-1e-300")
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("score", ["p", "v"])
def test_a_constant_factor_of_both_costs(score: str, unit: float, connection) -> None:
    given = f"cost_fn := CAST('{unit!r}' AS DOUBLE), cost_fp := CAST('{unit!r}' AS DOUBLE) / 2"
    for name in ("nec", "expected_cost", "f1"):
        calls = [f"ec.{name}({score}, y, {costs})" for costs in (given, "cost_fn := 1, cost_fp := 0.5")]
        value, wanted = connection.execute(f"SELECT {', '.join(calls)} FROM log").fetchone()
        assert value == pytest.approx(wanted * (unit if name == "expected_cost" else 1), rel=1e-14, abs=0)
    query = f"SELECT ec.bayes_decision({score}, {given}), ec.bayes_decision({score}, cost_fn := 2) FROM log"
    assert all(a == b for a, b in connection.execute(query).fetchall())
