"""Digits: what rounding must not take away, against exact fractions and long floats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath
import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from polars_ec.formulas.decisions import DECISIONS, is_moved_by_prior
from tests.support.cases import CASES, RANKING, mostly_slow
from tests.support.doors import evaluate

# Two positives and two negatives, none alike, and whether their order is right.
P = [0.9, 0.4, 0.7, 0.2]
Y = [1, 1, 0, 0]
HEAVY = [1e8, 1e12, 1e15]


def exact(share_of_negatives: Fraction) -> dict[str, Any]:
    """Exact values for the log above, with all weight but `share_of_negatives` on the positives, and equal weights within each class."""
    p0 = share_of_negatives
    p1 = 1 - p0
    q = [Fraction(x) for x in P]
    brier = p1 * ((1 - q[0]) ** 2 + (1 - q[1]) ** 2) / 2 + p0 * (q[2] ** 2 + q[3] ** 2) / 2
    loss = [-mpmath.log(mpmath.mpf(x) if y else 1 - mpmath.mpf(x)) for x, y in zip(P, Y, strict=True)]
    with mpmath.workdps(50):
        long0, long1 = (mpmath.mpf(p.numerator) / p.denominator for p in (p0, p1))
        entropy = -(long0 * mpmath.log(long0) + long1 * mpmath.log(long1))
        nce = (long1 * (loss[0] + loss[1]) / 2 + long0 * (loss[2] + loss[3]) / 2) / entropy
    # Operating points from the top: (TPR, FPR) = (0, 0), (1/2, 0), (1/2, 1/2), (1, 1/2), (1, 1).
    points = [(Fraction(0), Fraction(0)), (Fraction(1, 2), Fraction(0)), (Fraction(1, 2), Fraction(1, 2))]
    points += [(Fraction(1), Fraction(1, 2)), (Fraction(1), Fraction(1))]
    # With all priors so near 1, recall gain 0 is on the last step but one, at FPR (1/2) (no width of negatives there).
    costs = [p1 * (1 - t) + p0 * f for t, f in points]
    start_fpr = Fraction(1, 2)
    gain = (1 - start_fpr / p1 + 1 - Fraction(1, 2)) / 2
    return {
        "brier": float(brier),
        "nbs": float(brier / (p0 * p1)),
        "nce": float(nce),
        "nec": float((p1 / 2 + p0 / 2) / min(p0, p1)),
        "min_dcf": float(min(costs) / min(p0, p1)),
        "auprg": float(gain),
        "recall_gain": float(1 - (p1 / p0) * 1),
        "mcc": 0.0,
    }


NAMES_OF_HEAVY = ["brier", "nbs", "nce", "nec", "min_dcf", "auprg", "recall_gain"]
SHARES = [1e-8, 1e-12, 2.0**-50]


@pytest.mark.parametrize(
    ("name", "heavy"),
    mostly_slow(
        product(NAMES_OF_HEAVY, HEAVY),
        [*((name, HEAVY[-1]) for name in NAMES_OF_HEAVY), *(("nec", heavy) for heavy in HEAVY)],
    ),
)
def test_positives_that_outweigh_negatives(heavy: float, name: str) -> None:
    log = pl.DataFrame({"s": P, "y": Y, "w": [heavy, heavy, 1.0, 1.0]})
    wanted = exact(Fraction(1, int(heavy) + 1))[name]
    for value in of_python(log, name, {"weight": "w"}):
        assert value == pytest.approx(wanted, rel=1e-13)


@pytest.mark.parametrize(
    ("name", "share"),
    mostly_slow(
        product(["nbs", "nce", "nec", "min_dcf", "auprg"], SHARES),
        [
            *((name, SHARES[-1]) for name in ("nbs", "nce", "nec", "min_dcf", "auprg")),
            *(("nec", share) for share in SHARES),
        ],
    ),
)
def test_stated_priors_near_1(share: float, name: str) -> None:
    log = pl.DataFrame({"s": P, "y": Y, "p1": 1 - share})
    wanted = exact(Fraction(share) if share == 2.0**-50 else 1 - Fraction(1 - share))[name]
    for prior in (1 - share, [1 - (1 - share), 1 - share], pl.col("p1").first()):
        assert log.select(getattr(ec, name)("s", "y", prior=prior)).item() == pytest.approx(wanted, rel=1e-13)
    for made_exact in (True, False):
        sketch = log.ec.sketch("s", "y", exact=made_exact)
        assert sketch.evaluate(name, prior=1 - share)[name].item() == pytest.approx(wanted, rel=1e-13)
    # A class that is nearly all there is: the other's share has digits that 1 - P has not.
    tiny = [1e-30, 1.0]
    value = log.select(ec.nbs("s", "y", prior=tiny)).item()
    assert value == pytest.approx(float(exact(Fraction(1e-30))["nbs"]), rel=1e-13)


def of_python(log: pl.DataFrame, name: str, options: dict[str, Any]) -> Iterator[float]:
    """The function, and the sketch of either kind."""
    yield log.select(getattr(ec, name)("s", "y", **options)).item()
    for made_exact in (True, False):
        yield log.ec.sketch("s", "y", exact=made_exact, **options).evaluate(name)[name].item()


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize("heavy", HEAVY)
def test_one_class_that_outweighs_the_others(k: int, heavy: float) -> None:
    """NCE and NBS of K classes, of which the first is nearly all."""
    random = np.random.default_rng(k)
    q, y = random.dirichlet(np.ones(k), 2 * k), np.tile(np.arange(k), 2)
    w = np.where(y == 0, heavy, 1.0)
    log = pl.DataFrame({"q": q, "y": y, "w": w}, schema_overrides={"q": pl.Array(pl.Float64, k)})
    shares = [Fraction(heavy if i == 0 else 1) / (Fraction(heavy) + k - 1) for i in range(k)]
    spread = sum(p * (1 - p) for p in shares) / k
    briers = [Fraction(0)] * k
    losses = [mpmath.mpf(0)] * k
    for row, i in zip(q.tolist(), y.tolist(), strict=True):
        briers[i] += sum((Fraction(x) - (j == i)) ** 2 for j, x in enumerate(row)) / k / 2
        losses[i] -= mpmath.log(row[i]) / 2
    with mpmath.workdps(50):
        long = [mpmath.mpf(p.numerator) / p.denominator for p in shares]
        entropy = -sum(p * mpmath.log(p) for p in long)
        nce = sum(p * loss for p, loss in zip(long, losses, strict=True)) / entropy
    nbs = sum(p * b for p, b in zip(shares, briers, strict=True)) / spread
    assert log.select(ec.nbs("q", "y", weight="w")).item() == pytest.approx(float(nbs), rel=1e-12)
    assert log.select(ec.nce("q", "y", weight="w")).item() == pytest.approx(float(nce), rel=1e-12)


# What the weights are counted in changes no metric ---------------------------------------------------------------------

FACTORS = [1e-290, 1e-200, 1e-162, 1e155, 1e200, 1e299]
WEIGHED = [case for case in CASES if "weight" in case.options and "posterior" in case.score_types]
WEIGHED = [case for case in WEIGHED if case.name not in ("confusion", "n_rows", "n_missing", "n_invalid")]
OWN = {case.name: case.arguments for case in WEIGHED}
LOG = pl.DataFrame(
    {"s": [0.9, 0.4, 0.7, 0.1, 0.4, 0.55], "y": [1, 1, 0, 0, 0, 1], "w": [1.0, 2.0, 0.5, 3.0, 1.0, 0.25]}
)


@pytest.mark.quick("0.2")
@pytest.mark.parametrize("prior", [None, 0.2])
def test_a_factor_in_all_weights_changes_no_metric(prior: float | None) -> None:
    log = pl.concat(LOG.with_columns(pl.col("w") * factor, factor=factor) for factor in (1.0, *FACTORS))
    taken = {case.name: case.options for case in WEIGHED} | RANKING
    options = {name: {"prior": prior} if "prior" in taken[name] else {} for name in [*OWN, *RANKING]}
    metrics = [
        getattr(ec, name)("s", "y", weight="w", **given, **OWN.get(name, {})).alias(name)
        for name, given in options.items()
    ]
    tables = [log.group_by("factor").agg(metrics)]
    own = [case.arguments for case in WEIGHED if case.sketched]
    arguments = {key: value for given in own for key, value in given.items() if key not in ("a", "b", "decision")}
    arguments |= {"prior": prior, "norm": 1}
    unknown = {case.name for case in WEIGHED if not case.sketched} | {"class_prior", "epsr", "ece_mc"}
    names = [name for name in options if name not in unknown]
    for made_exact in (True, False):
        sketch = log.ec.sketch("s", "y", by="factor", weight="w", exact=made_exact)
        # Only the sketch's own errors of ece are as large as its sums are.
        tables.append(sketch.evaluate(*names, **arguments).select(pl.exclude("n", "n_missing", "n_invalid")))
    for table in tables:
        first, *others = table.sort(pl.col("factor") != 1).to_dicts()
        assert len(others) == len(FACTORS)
        for found in others:
            for name, value in found.items():
                if name != "factor" and not (name.startswith("ece") and "ece_error" in found and found["factor"] > 1):
                    assert value == pytest.approx(first[name], rel=1e-12), (name, found["factor"])


def test_the_worked_example_of_a_tiny_weight() -> None:
    log = pl.DataFrame({"s": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0], "w": [1e-162] * 4})
    assert log.select(ec.average_precision("s", "y", weight="w")).item() == pytest.approx(5 / 6)
    for weight in (1e-200, 1e155):
        value = log.with_columns(w=pl.lit(weight)).select(ec.auc_roc("s", "y", weight="w")).item()
        assert value == pytest.approx(0.75)


@pytest.mark.filterwarnings("ignore:.* null")
@pytest.mark.quick("2e+299")
@pytest.mark.parametrize("weight", [2e299, 1e307, 1.7e308])
def test_weights_that_sum_to_1e300_have_no_metric_in_any_door(weight: float) -> None:
    """A loss of 690 times a weight of 1e306 is infinite, though the mean loss is not."""
    log = LOG.with_columns(w=pl.lit(weight), g=pl.lit(1)).with_columns(v=pl.concat_list(1 - pl.col("s"), "s"))
    for case in WEIGHED:
        assert evaluate("function", case.name, log, "s", "y", weight="w", **case.arguments) is None, case.name
    for name in RANKING:
        assert evaluate("function", name, log, "s", "y", weight="w") is None, name
    for name in ("class_prior", "nec", "nce", "auc_roc"):
        assert evaluate("sql", name, log, "s", "y", weight="w") is None, name
    sketch = log.ec.sketch("s", "y", weight="w")
    counts = {"n", "n_missing", "n_invalid"}
    tables = [
        sketch.evaluate("nec", "nce", "auc_roc", "f1", "mcc"),
        sketch.epsr(1.0),
        sketch.calibration_loss(training="test").drop("reason"),
        log.ec.report("s", "y", weight="w"),
        log.ec.report(pl.col("v").list.to_array(2), "y", score_type="posteriors", weight="w").select(pl.exclude("g")),
        log.ec.report("s", "y", by="g", weight="w", prior="overall").select(pl.exclude("g")),
    ]
    for table in tables:
        assert {name for name, value in table.row(0, named=True).items() if value is not None} <= counts, table


# Costs -----------------------------------------------------------------------------------------------------------------


@pytest.mark.quick("1e-300", "1e+308")
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e160, 1e308])
def test_a_factor_in_all_costs_changes_no_decision(factor: float) -> None:
    for costs in ({"cost_fn": 1.0, "cost_fp": 1.0}, {"cost_fn": 0.5, "cost_fp": 1.5}):
        scaled = {name: cost * factor for name, cost in costs.items()}
        for name in ("nec", "min_dcf"):
            wanted = LOG.select(getattr(ec, name)("s", "y", **costs)).item()
            assert LOG.select(getattr(ec, name)("s", "y", **scaled)).item() == pytest.approx(wanted, rel=1e-12)
            sketch = LOG.ec.sketch("s", "y", exact=True)
            assert sketch.evaluate(name, **scaled)[name].item() == pytest.approx(wanted, rel=1e-12)
        wanted = LOG.select(ec.expected_cost("s", "y", **costs)).item() * factor
        assert LOG.select(ec.expected_cost("s", "y", **scaled)).item() == pytest.approx(wanted, rel=1e-12)
        assert LOG.ec.report("s", "y", **scaled)["nec"].item() == pytest.approx(
            LOG.ec.report("s", "y", **costs)["nec"].item()
        )


def test_costs_that_a_threshold_must_not_overflow() -> None:
    assert ec.CostMatrix.binary(1e308, 1e308).bayes_threshold() == 0.5
    assert ec.CostMatrix.binary(1.5e308, 0.5e308).bayes_threshold() == 0.25
    assert ec.CostMatrix.binary(1e308, 1e-300).bayes_log_odds() == pytest.approx(-608 * math.log(10), rel=1e-12)
    with pytest.raises(ValueError, match="by more than a float can hold"):
        ec.CostMatrix([[-1e308, 1e308], [1, 0]])


@pytest.mark.parametrize(("cost_fn", "cost_fp", "threshold"), [(0, 1, 1.0), (1, 0, 0.0), (0, 0, 1.0)])
def test_errors_that_cost_nothing(cost_fn: float, cost_fp: float, threshold: float) -> None:
    log = pl.DataFrame({"s": [0.0, 0.3, 1.0, 0.6], "y": [1, 0, 1, 0]})
    costs = ec.CostMatrix.binary(cost_fn, cost_fp)
    assert costs.bayes_threshold() == threshold
    # By the definition: argmin of q1 cost_fn (decide 0) and q0 cost_fp (decide 1), 0 on ties.
    decided = [int((1 - q) * cost_fp < q * cost_fn) for q in log["s"]]
    assert log.select(ec.bayes_decision("s", costs=costs)).to_series().to_list() == decided
    odds = log.select(s=(pl.col("s") / (1 - pl.col("s"))).log())
    assert odds.select(ec.bayes_decision("s", costs=costs, score_type="log_odds")).to_series().to_list() == decided
    assert log.select(ec.nec("s", "y", costs=costs)).item() is None
    assert log.select(ec.min_dcf("s", "y", cost_fn=cost_fn, cost_fp=cost_fp)).item() is None
    assert log.select(ec.min_expected_cost("s", "y", costs=costs)).item() == 0
    for made_exact in (True, False):
        sketch = log.ec.sketch("s", "y", costs=costs, exact=made_exact)
        found = sketch.evaluate("nec", "expected_cost", "min_dcf", "tp", "fp").row(0, named=True)
        paid = [
            cost_fn if y and not d else cost_fp if d and not y else 0 for d, y in zip(decided, log["y"], strict=True)
        ]
        assert (found["nec"], found["min_dcf"], found["expected_cost"]) == (None, None, sum(paid) / 4)
        assert found["tp"] == sum(d for d, y in zip(decided, log["y"], strict=True) if y)
        assert found["fp"] == sum(d for d, y in zip(decided, log["y"], strict=True) if not y)


# A prior that is not a number ------------------------------------------------------------------------------------------

OF_PRIOR = [case for case in CASES if "prior" in case.options and "posterior" in case.score_types]


@pytest.mark.quick("streaming")
@pytest.mark.parametrize("engine", ["streaming", "in-memory"])
def test_a_prior_that_is_none_anywhere_in_the_group(engine: str) -> None:
    good = [0.3] * 4
    of_groups = {"good": good}
    for bad in (math.nan, None, 1.5, -0.1, math.inf):
        of_groups |= {f"{bad} in one row": [0.3, bad, 0.3, 0.3], f"{bad} everywhere": [bad] * 4}
    rows = [(g, *row) for g, priors in of_groups.items() for row in zip(P, Y, priors, strict=True)]
    frame = pl.LazyFrame(
        rows, schema={"g": pl.String, "s": pl.Float64, "y": pl.Int64, "prior": pl.Float64}, orient="row"
    )
    metrics = [
        getattr(ec, case.name)("s", "y", prior=pl.col("prior"), **case.arguments).alias(case.name) for case in OF_PRIOR
    ]
    ranking = [
        getattr(ec, name)("s", "y", prior=pl.col("prior")).alias(name) for name in RANKING if "prior" in RANKING[name]
    ]
    table = {row["g"]: row for row in frame.group_by("g").agg([*metrics, *ranking]).collect(engine=engine).to_dicts()}
    some = table.pop("good")
    assert None not in some.values()
    report = frame.ec.report("s", "y", by="g", prior=pl.col("prior")).collect(engine=engine)
    of_prior = {row["g"]: row for row in report.to_dicts()}
    assert of_prior["good"]["nec_at_prior"] == pytest.approx(some["nec"])
    assert len(table) == 10
    for group, none in table.items():
        # Also what the prior does not move: whoever states one is to hear that it is none.
        assert {name for name, value in none.items() if value is not None} == {"g"}, group
        for name in ("nec", "nce", "nbs", "precision", "f1"):
            assert of_prior[group][f"{name}_at_prior"] is None, group


def test_what_a_prior_moves() -> None:
    log = pl.DataFrame({"s": [0.9, 0.6, 0.2, 0.15, 0.7, 0.1, 0.4, 0.3], "y": [1, 1, 1, 0, 0, 0, 0, 0]})
    for case in OF_PRIOR:
        metric = getattr(ec, case.name)
        own = log.select(metric("s", "y", **case.arguments)).item()
        stated = log.select(metric("s", "y", prior=0.3, **case.arguments)).item()
        assert (not np.array_equal(stated, own)) == case.moved_by_prior, case.name
        assert case.name not in DECISIONS or is_moved_by_prior(case.name) == case.moved_by_prior, case.name


def test_a_prior_of_lists_that_is_none() -> None:
    log = pl.DataFrame(
        {"q": [[0.7, 0.3]] * 2, "y": [0, 1], "prior": [[0.4, math.nan]] * 2},
        schema_overrides={"q": pl.Array(pl.Float64, 2)},
    )
    assert log.select(ec.nce("q", "y", prior=pl.col("prior"))).item() is None


# One row's prior -------------------------------------------------------------------------------------------------------

BAD_PRIORS = [math.nan, None, 2.0, -0.5]


@pytest.mark.parametrize("bad", BAD_PRIORS)
def test_a_row_whose_prior_is_none_has_no_value(bad: float | None) -> None:
    log = pl.DataFrame({"p": [0.3, 0.3], "x": [1.0, 1.0], "y": [1, 1], "f": [bad, 0.5]})
    prior = pl.col("f")
    found = log.select(
        ec.shift_prior("p", prior, 0.1).alias("from"),
        ec.shift_prior("p", 0.1, prior).alias("to"),
        ec.shift_prior("x", prior, 0.1, score_type="log_odds").alias("of log-odds"),
        ec.llr("p", prior).alias("llr"),
        ec.posterior("x", score_type="llr", prior=prior).alias("posterior"),
        ec.log_odds("x", score_type="llr", prior=prior).alias("log_odds"),
        ec.bayes_decision("x", score_type="llr", prior=prior).alias("decision"),
        ec.row_cost("x", "y", score_type="llr", prior=prior).alias("cost"),
        ec.row_log_loss("x", "y", score_type="llr", prior=prior).alias("log_loss"),
        ec.row_brier("x", "y", score_type="llr", prior=prior).alias("brier"),
    ).to_dicts()
    assert set(found[0].values()) == {None}
    assert None not in found[1].values()
    # 0.3 at even priors: odds 3/7, times (0.1/0.9) / 1.
    assert found[1]["from"] == pytest.approx((3 / 7 / 9) / (1 + 3 / 7 / 9))


@pytest.mark.parametrize("bad", [[math.nan, 0.5], None, [0.7, 0.7], [0.5, None]])
def test_a_row_whose_priors_are_none_has_no_value(bad: list[float | None] | None) -> None:
    kind = pl.Array(pl.Float64, 2)
    log = pl.DataFrame({"q": [[0.3, 0.7]] * 2, "f": [bad, [0.5, 0.5]]}, schema_overrides={"q": kind, "f": kind})
    found = log.select(
        ec.shift_prior("q", pl.col("f"), [0.1, 0.9]).alias("from"),
        ec.shift_prior("q", [0.1, 0.9], pl.col("f")).alias("to"),
        ec.posterior("q", score_type="log_likelihoods", prior=pl.col("f")).alias("posterior"),
    ).to_dicts()
    assert set(found[0].values()) == {None}
    assert None not in found[1].values()


def test_no_posterior_comes_from_a_prior_of_0() -> None:
    log = pl.DataFrame({"p": [0.3, 0.3, 0.3], "f": [0.0, 1.0, 0.5]})
    assert log.select(ec.shift_prior("p", pl.col("f"), 0.5)).to_series().to_list() == [None, None, 0.3]


def test_steps_of_small_weights_keep_their_digits() -> None:
    """PAV after a weight of 1e12: the share of positives of what comes later is not the difference of large sums."""
    log = pl.DataFrame({"p": [0.9, 0.8, 0.3, 0.2, 0.1], "y": [1, 1, 1, 0, 0], "w": [1e12, 1.0, 0.001, 0.003, 1.0]})
    log = log.with_columns(p=pl.Series([0.9, 0.8, 0.3, 0.3, 0.1]))
    steps = log.ec.sketch("p", "y", weight="w", exact=True).calibrate("pav").frame
    assert steps["log_odds"].to_list() == pytest.approx([-math.inf, math.log(1 / 3), math.inf], rel=1e-12)


@pytest.mark.parametrize("prior", [1e-12, 1e-100, 1e-300])
def test_auprg_at_tiny_priors(prior: float) -> None:
    """By hand: precision gain is 1 - FPR / TPR, recall gain 1 - odds (1 - TPR) / TPR, straight lines between points."""
    odds = prior / (1 - prior)
    best_first = pl.DataFrame({"p": P, "y": Y})
    # From (0, 1) to (1 - odds, 1), down to (1 - odds, 0), up to (1, 1/2).
    worst_first = pl.DataFrame({"p": [0.7, 0.4, 0.9, 0.2], "y": Y})
    # From (0, 1 - 1 / (2 prior)) to (1 - odds, 0), up to (1, 1/2).
    for log, value in (
        (best_first, 1 - 3 * odds / 4),
        (worst_first, (1 - odds) * (1 - 1 / (2 * prior)) / 2 + odds / 4),
    ):
        assert log.select(ec.auprg("p", "y", prior=prior)).item() == pytest.approx(value, rel=1e-12)
        sketch = log.ec.sketch("p", "y", exact=True).evaluate("auprg", prior=prior)
        assert sketch["auprg"].item() == pytest.approx(value, rel=1e-12)


def test_auprg_at_a_prior_that_is_too_small_to_divide_by() -> None:
    log = pl.DataFrame({"p": P, "y": Y})
    assert log.select(ec.auprg("p", "y", prior=5e-324)).item() is None


@pytest.mark.parametrize("weight", [0.1, 0.3, 1 / 49, 1e-3])
def test_a_sensitivity_is_reached_where_the_rows_reach_it(weight: float) -> None:
    """Sums of such weights over their total come out beside k / n, and one row more has another specificity."""
    n = 10
    log = pl.DataFrame({"p": [(i + 0.5) / (2 * n) for i in range(2 * n)], "y": [0, 1] * n, "w": [weight] * 2 * n})
    for k in range(1, n + 1):
        # The k-th positive from the top has k - 1 negatives above it.
        value = log.select(ec.specificity_at_sensitivity("p", "y", sensitivity=k / n, weight="w")).item()
        assert value == pytest.approx((n - k + 1) / n, rel=1e-12)


def test_the_cost_of_a_sensitivity_is_at_the_threshold_that_reaches_it() -> None:
    """The weights of the positives above 0.3 are 2.6 of 2.8, which their sums come out below."""
    scores = [0.6, 0.3, 0.2, 0.7, 0, 0.5, 0.1, 0.4]
    weights = [0.7, 0.5, 0.7, 0.3, 0.2, 0.8, 0.3, 0.8]
    log = pl.DataFrame({"p": scores, "y": [1, 0, 0, 1, 1, 1, 0, 1], "w": weights})
    sketch = log.ec.sketch("p", "y", weight="w", exact=True)
    assert ec.equivalent_cost(sketch, "sensitivity", sensitivity=2.6 / 2.8)["threshold"].item() == 0.3


def test_a_shifted_vector_is_no_number_anywhere_or_nowhere() -> None:
    log = pl.DataFrame({"q": [[0.2, 0.3, 0.5]]}, schema={"q": pl.Array(pl.Float64, 3)})
    assert log.select(ec.shift_prior("q", [0.5, 0.5, 1e-310], [0.3, 0.3, 0.4])).item() is None


@pytest.mark.parametrize("beta", [1e-200, 1e-8, 0.5, 3.0, 1e8, 1e200])
def test_any_beta(beta: float) -> None:
    log = pl.DataFrame({"p": [0.9, 0.8, 0.1, 0.7], "y": [1, 1, 1, 0], "w": [2.0, 1.0, 1.0, 4.0]})
    square = Fraction(beta) ** 2
    tp, fn, fp = 3, 1, 4
    expected = float((1 + square) * tp / ((1 + square) * tp + square * fn + fp))
    assert log.select(ec.fbeta("p", "y", beta=beta, weight="w")).item() == pytest.approx(expected, rel=1e-14)
    sketch = log.ec.sketch("p", "y", weight="w").evaluate("fbeta", beta=beta)
    assert sketch["fbeta"].item() == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("cells", [(1e12, 1, 3, 1), (2, 1, 1, 1e12), (1e12, 1e-3, 1, 1), (1e-12, 1, 1e-12, 1e12)])
def test_mcc_of_cells_of_any_size(cells: tuple[float, ...]) -> None:
    log = pl.DataFrame({"p": [0.9, 0.9, 0.1, 0.1], "y": [1, 0, 1, 0], "w": [float(x) for x in cells]})
    with mpmath.workdps(60):
        tp, fp, fn, tn = map(mpmath.mpf, cells)
        root = mpmath.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        expected = float((tp * tn - fp * fn) / root)
    assert log.select(ec.mcc("p", "y", weight="w")).item() == pytest.approx(expected, rel=1e-12)
    sketch = log.ec.sketch("p", "y", weight="w").evaluate("mcc")
    assert sketch["mcc"].item() == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("rare", [2.0**-30, 2.0**-40, 2.0**-52])
@pytest.mark.parametrize("calibrator", ["affine", "temperature"])
def test_calibration_near_a_prior_of_1_is_the_mirror_of_one_near_0(calibrator: str, rare: float) -> None:
    """With the classes swapped and the sign of the scores turned, the same loss is made least."""
    log = pl.DataFrame({"s": [-2.0, 1.0, 0.5, 3.0, -0.5, 0.2, 2.0, -1.0], "y": [0, 1, 0, 1, 1, 0, 1, 0]})
    mirrored = log.select(s=-pl.col("s"), y=1 - pl.col("y"))
    fits = [
        each.ec.calibrate("s", "y", calibrator, score_type="log_odds", prior=prior).frame
        for each, prior in ((log, 1 - rare), (mirrored, rare))
    ]
    (one, other) = (fit.select("alpha", "beta", "reason").row(0) for fit in fits)
    assert one[2] is None
    assert one[0] == pytest.approx(other[0], rel=1e-9)
    assert one[1] == pytest.approx(-other[1], rel=1e-9)


@pytest.mark.parametrize("prior", [0.5, 0.3, 1e-300, 1 - 2**-53])
@pytest.mark.parametrize("made_exact", [True, False])
def test_losses_of_llrs_that_are_infinite_or_nearly(prior: float, made_exact: bool) -> None:
    scores, labels = [800.0, -800.0, math.inf, -math.inf, 0.0], [1, 0, 1, 0, 1]
    log = pl.DataFrame({"s": scores, "y": labels})
    found = log.ec.sketch("s", "y", score_type="llr", exact=made_exact).evaluate("cross_entropy", prior=prior)
    # Only the last row has a loss that a float can tell from 0: -log(prior), in a class of three.
    right = -prior * math.log(prior) / 3
    error = 0.0 if made_exact else found["cross_entropy_error"].item()
    assert found["cross_entropy"].item() == pytest.approx(right, rel=1e-9, abs=error * (1 + 1e-9))
    assert error <= max(right, 1e-290) / 64
    wrong = log.with_columns(y=1 - pl.col("y"))
    found = wrong.ec.sketch("s", "y", score_type="llr", exact=made_exact).evaluate("cross_entropy", prior=prior)
    assert found.select("cross_entropy", "cross_entropy_error").row(0) == (math.inf, 0.0)
