"""EPSRs of any weight: against integrals of each row's loss, and the scoring rules that they are."""

from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.integrate import quad
from scipy.stats import beta as beta_distribution

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests.support.cases import mostly_slow

RANDOM = np.random.default_rng(12)
N = 300
LOG_ODDS = RANDOM.normal(size=N) * 3
LOG = pl.DataFrame(
    {
        "g": RANDOM.choice(["a", "b"], N),
        "s": LOG_ODDS,
        "y": RANDOM.random(N) < 1 / (1 + np.exp(-LOG_ODDS)),
        "w": RANDOM.integers(0, 3, N).astype(float),
    }
).with_columns(p=1 / (1 + (-pl.col("s")).exp()))
SCALES = [("p", "posterior"), ("s", "log_odds")]


def density(a: float, b: float):
    """The density of Beta(a, b)."""
    scale = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b))
    return lambda t: scale * t ** (a - 1) * (1 - t) ** (b - 1)


# Weights, where they are not smooth, and the losses of a positive and of a negative with posterior q where they are known.
JUMP = (
    lambda t: np.where(t > 0.3, 1.0, 0.0),
    [0.3],
    lambda q: -math.log(max(q, 0.3)),
    lambda q: max(math.log(0.7) - math.log1p(-q), 0.0),
)
TENT = (lambda t: np.maximum(0.0, 0.2 - np.abs(t - 0.6)), [0.4, 0.6, 0.8], None, None)
PEAK = (lambda t: np.exp(-(((t - 0.5) / 0.001) ** 2)), [0.49, 0.5, 0.51], None, None)
LOW_END = (lambda t: t**0.25, [], lambda q: 4 * (1 - q**0.25), None)
WAVES = (lambda t: 1 + np.sin(40 * t), [], None, None)
WEIGHTS = {"jump": JUMP, "tent": TENT, "peak": PEAK, "low end": LOW_END, "waves": WAVES}


def plain(weight, kinks, of_positive, of_negative, log: pl.DataFrame) -> float:
    """The mean over the rows of their integrals, one by one."""

    def integral(f, low: float, high: float) -> float:
        inside = [k for k in kinks if low < k < high]
        ends = [low, *inside, high]
        return sum(quad(f, a, b, epsabs=1e-13, epsrel=1e-13, limit=500)[0] for a, b in pairwise(ends))

    total = 0.0
    for q, y in log.select("p", "y").rows():
        if y:
            total += of_positive(q) if of_positive else integral(lambda t: float(weight(t)) / t, q, 1.0)
        else:
            total += of_negative(q) if of_negative else integral(lambda t: float(weight(t)) / (1 - t), 0.0, q)
    return total / log.height


@pytest.mark.parametrize(("score", "score_type"), SCALES)
@pytest.mark.parametrize("prior", [None, 0.2])
def test_constants_and_parabolas_are_cross_entropy_and_brier(score: str, score_type: str, prior: float | None) -> None:
    sketch = LOG.ec.sketch(score, "y", by="g", weight="w", score_type=score_type, exact=True)
    expected = sketch.evaluate("cross_entropy", "brier", prior=prior)
    for weight, value in (
        (1, pl.col("cross_entropy")),
        (lambda _: 1.0, pl.col("cross_entropy")),
        (lambda t: 6 * t * (1 - t), 3 * pl.col("brier")),
    ):
        found = sketch.epsr(weight, prior=prior)
        assert found["epsr_error"].to_list() == [0, 0]
        columns = ["g", "n", "n_missing", "n_invalid", "class_prior"]
        assert_frame_equal(found.drop("epsr_error"), expected.select(*columns, epsr=value), rel_tol=1e-12)


@pytest.mark.quick("1-3", "2.5-1.5")
@pytest.mark.parametrize(("a", "b"), [(1, 3), (2.5, 1.5), (1.01, 4), (8, 2), (20, 20)])
def test_beta_densities_are_the_expression(a: float, b: float) -> None:
    ends = pl.DataFrame({"p": [0.0, 1.0, 1e-300, 1e-12, 1 - 1e-12], "y": [False, True, True, True, False]})
    log = pl.concat([LOG.select("p", "y"), ends])
    expected = log.select(ec.epsr("p", "y", a=a, b=b)).item()
    for weight in (density(a, b), beta_distribution(a, b).pdf):
        assert log.ec.sketch("p", "y", exact=True).epsr(weight)["epsr"].item() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", WEIGHTS)
def test_any_weight_is_the_integral_of_each_row(name: str) -> None:
    log = LOG[:40]
    expected = plain(*WEIGHTS[name], log)
    for score, score_type in SCALES:
        sketch = log.ec.sketch(score, "y", score_type=score_type, exact=True)
        assert sketch.epsr(WEIGHTS[name][0])["epsr"].item() == pytest.approx(expected, rel=1e-9)


def test_it_is_the_integral_of_the_curve() -> None:
    """Between two scores the Bayes risk is one constant over t and one over 1 - t."""
    sketch = LOG.ec.sketch("p", "y", exact=True)
    ends = np.concatenate([[1.0], LOG["p"].unique().sort(descending=True), [0.0]])
    p, y = LOG["p"].to_numpy(), LOG["y"].to_numpy()
    total = 0.0
    for above, below in pairwise(ends):
        # w(t) = t: the integrals of 1 and of t / (1 - t).
        middle = (above + below) / 2
        missed, alarmed = (y & (p <= middle)).mean(), (~y & (p > middle)).mean()
        total += missed * (above - below)
        if alarmed:
            total += alarmed * (math.log1p(-below) - math.log1p(-above) - (above - below))
    assert sketch.epsr(lambda t: t)["epsr"].item() == pytest.approx(total, rel=1e-10)


@pytest.mark.slow
def test_jumps_next_to_the_ends_of_a_panel_are_found() -> None:
    sketch = pl.DataFrame({"p": [0.0, 1.0], "y": [True, False]}).ec.sketch("p", "y", exact=True)
    for a in np.linspace(0.1, 0.8, 29):
        b = a + 0.07
        expected = (math.log(b / a) + math.log((1 - a) / (1 - b))) / 2
        found = sketch.epsr(lambda t, a=a, b=b: np.where((t > a) & (t < b), 1.0, 0.0))["epsr"].item()
        assert found == pytest.approx(expected, abs=1e-10)


@pytest.mark.quick("1-parabola", "4-jump", "64-waves")
@pytest.mark.parametrize(
    ("resolution", "name"),
    mostly_slow(
        product([1, 4, 64], ["one", "parabola", *WEIGHTS]),
        [*((64, name) for name in ("one", "parabola", *WEIGHTS)), (1, "parabola"), (4, next(iter(WEIGHTS)))],
    ),
)
def test_bins_have_bounds(resolution: int, name: str) -> None:
    weight = {"one": 1, "parabola": density(2, 2)}.get(name) or WEIGHTS[name][0]
    for score, score_type in SCALES:
        options = {"by": "g", "weight": "w", "score_type": score_type}
        exact = LOG.ec.sketch(score, "y", exact=True, **options).epsr(weight)
        found = LOG.ec.sketch(score, "y", resolution=resolution, **options).epsr(weight)
        if name not in ("tent", "peak", "waves") or resolution == 64:  # else it is not monotone in a bin
            assert ((found["epsr"] - exact["epsr"]).abs() <= found["epsr_error"] + 1e-12).all()
        largest = {"one": 1e-12, "parabola": 1 / 16 / resolution**2}.get(name, 0.4 / resolution)
        assert found["epsr_error"].max() <= largest


@pytest.mark.quick("*-0.5")
@pytest.mark.parametrize("at", [0.0, 0.5, 0.999])
@pytest.mark.parametrize("weight", [density(2, 2), density(1, 6), density(3, 1), JUMP[0]])
def test_bounds_hold_wherever_in_a_bin_the_scores_are(at: float, weight) -> None:
    bins = RANDOM.integers(-6, 6, 200)
    s = np.where(np.arange(200) % 4 > 0, bins + at, bins + 0.5)
    log = pl.DataFrame({"s": s, "y": RANDOM.random(200) < 0.5})
    exact, binned = (
        log.ec.sketch("s", "y", score_type="log_odds", **how) for how in ({"exact": True}, {"resolution": 1})
    )
    found, expected = binned.epsr(weight), exact.epsr(weight)["epsr"].item()
    assert 0 < abs(found["epsr"].item() - expected) <= found["epsr_error"].item() < 0.5


@pytest.mark.quick("True")
@pytest.mark.parametrize("exact", [True, False])
def test_poles(exact: bool) -> None:
    zero = pl.DataFrame({"p": [0.0, 0.6, 0.2], "y": [True, True, False]})
    one = pl.DataFrame({"p": [1.0, 0.6, 0.2], "y": [False, True, False]})
    for log, falls, stays in ((zero, density(2, 1), density(1, 2)), (one, density(1, 2), density(2, 1))):
        sketch = log.ec.sketch("p", "y", exact=exact)
        for weight in (1, stays):
            assert sketch.epsr(weight).select("epsr", "epsr_error").row(0) == (math.inf, 0)
        a, b = (2, 1) if log is zero else (1, 2)
        found = sketch.epsr(falls)
        expected = log.select(ec.epsr("p", "y", a=a, b=b)).item()
        assert abs(found["epsr"].item() - expected) <= found["epsr_error"].item() + 1e-10
    right = pl.DataFrame({"p": [1.0, 0.0], "y": [True, False]}).ec.sketch("p", "y", exact=exact)
    assert right.epsr(1).select("epsr", "epsr_error").row(0) == (0, 0)


@pytest.mark.parametrize("exact", [True, False])
def test_log_odds_beyond_what_posteriors_hold(exact: bool) -> None:
    log = pl.DataFrame({"s": [800.0, -900.0, 40.0, -700.0, 1e5, 0.01], "y": [False, True, False, True, True, False]})
    sketch = log.ec.sketch("s", "y", score_type="log_odds", exact=exact)
    expected = sketch.evaluate("cross_entropy")["cross_entropy"].item()
    assert sketch.epsr(1)["epsr"].item() == pytest.approx(expected, rel=1e-12)
    # Of w = 1 - t the loss of a negative is q, that of a positive -ln q - (1 - q).
    found = sketch.epsr(lambda t: 1 - t)
    expected = (1 + 899 + 1 + 699 + 0 + 1 / (1 + math.exp(-0.01))) / 6
    assert abs(found["epsr"].item() - expected) <= found["epsr_error"].item() + 1e-9 * expected
    assert (found["epsr_error"].item() == 0) == exact


POINTS = pl.DataFrame({"t": [0.1, 0.25, 0.5, 0.9], "weight": [1.0, 2.0, 0.0, 0.5]})


@pytest.mark.parametrize("prior", [None, 0.3])
def test_points_are_a_sum_of_bayes_risks(prior: float | None) -> None:
    risks = [
        w * ec.bayes_risk("p", "y", weight="w", prior=prior, costs=[[0, 1 / (1 - t)], [1 / t, 0]]).alias(str(t))
        for t, w in POINTS.rows()
    ]
    expected = (
        LOG.group_by("g", maintain_order=True).agg(pl.sum_horizontal(risks).alias("epsr")).sort("g")["epsr"].to_list()
    )
    for score, score_type in SCALES:
        thresholds = [t if score == "p" else math.log(t / (1 - t)) for t in POINTS["t"]]
        options = {"by": "g", "weight": "w", "score_type": score_type}
        for how in ({"exact": True}, {"thresholds": thresholds, "resolution": 1}):
            found = LOG.ec.sketch(score, "y", **options, **how).epsr(POINTS, prior=prior)
            assert found["epsr"].to_list() == pytest.approx(expected, rel=1e-12)
            assert found["epsr_error"].to_list() == [0, 0]
        found = LOG.ec.sketch(score, "y", resolution=1, **options).epsr(POINTS.to_dict(), prior=prior)
        assert ((found["epsr"] - pl.Series(expected)).abs() <= found["epsr_error"]).all()
        assert found["epsr_error"].min() > 0


def test_groups_that_have_none() -> None:
    log = pl.DataFrame(
        {
            "g": ["no rows", "one class", "wrong", "wrong", "right", "right"],
            "p": [None, 0.5, 2, 0.5, 0.5, 0.5],
            "y": [1, 1, 0, 1, 0, 1],
        }
    )
    sketch = log.ec.sketch("p", "y", by="g")
    for weight in (1, POINTS):
        at_prior = dict(sketch.epsr(weight, prior=0.5).select("g", "epsr").rows())
        assert {g for g, value in at_prior.items() if value is not None} == {"right"}
    own = dict(sketch.epsr(1).select("g", "epsr").rows())
    assert own == {
        "no rows": None,
        "one class": pytest.approx(math.log(2)),
        "right": pytest.approx(math.log(2)),
        "wrong": None,
    }


@pytest.mark.parametrize(
    ("weight", "error"),
    [
        (-1, r"weight= is -1.0 at t=0.0"),
        (lambda t: t - 0.5, r"weight= is -0.5 at t=0.0"),
        (lambda t: 1 / t, r"weight= is inf at t=0.0.*epsr\(a=, b=\)"),
        (lambda t: np.where(t == 0.5, np.nan, 1.0), r"weight= is nan at t=0.5"),
        (lambda t: t[:3], r"weight= returned \(3,\) values for"),
        (lambda t: RANDOM.random(t.shape), "varies too fast"),
        ("uniform", "weight= is a str: pass a number, a function of t, or a table"),
        ([1, 2], "weight= is a list"),
        ({"t": [0.5]}, r"weight= is a table with the columns \['t'\]: pass the columns"),
        ({"t": [0.0], "weight": [1.0]}, "has a point t=0.0"),
        ({"t": [0.5], "weight": [-1.0]}, r"has the weight -1.0 at t=0.5"),
        ({"t": [0.5], "weight": [None]}, "weight=None is not a number"),
    ],
)
def test_what_is_not_a_weight(weight, error: str) -> None:
    with pytest.raises((ValueError, TypeError), match=error):
        LOG.ec.sketch("p", "y", exact=True).epsr(weight)


def test_points_may_be_in_a_table_of_another_library() -> None:
    sketch = LOG.ec.sketch("p", "y", exact=True)
    table = {"t": [0.2, 0.5], "weight": [1.0, 2.0]}
    for frame in (pd.DataFrame(table), pl.LazyFrame(table)):
        assert sketch.epsr(frame)["epsr"].item() == sketch.epsr(table)["epsr"].item()


def test_what_has_no_epsr() -> None:
    for score_type in ("llr", "raw"):
        with pytest.raises(SketchError, match=f"epsr needs posteriors, but the sketch has {score_type} scores"):
            LOG.ec.sketch("s", "y", score_type=score_type).epsr(1)
    with pytest.raises(SketchError, match=r"epsr needs a weight: call sketch\.epsr\(weight\)"):
        LOG.ec.sketch("p", "y").evaluate("epsr")
    with pytest.raises(SketchError, match="a group column 'epsr_error'"):
        LOG.ec.sketch("p", "y", by=pl.col("g").alias("epsr_error")).epsr(1)
