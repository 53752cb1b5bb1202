"""Thresholds learned in one period and judged in another, against a search over all thresholds in plain NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_ec as ec
from tests.support.ranking_oracle import best_threshold

RNG = np.random.default_rng(8)
N = 900
LOG = pl.DataFrame(
    {
        "month": RNG.integers(1, 4, N),
        "g": RNG.choice(["a", "b"], N),
        "y": RNG.random(N) < 0.35,
        "w": RNG.choice([0.0, 0.5, 1.0, 2.0], N),
        "user": RNG.integers(0, 60, N),
        "noise": RNG.normal(size=N),
    }
).with_columns(x=(2 * (2 * pl.col("y").cast(pl.Float64) - 1 + pl.col("noise"))).round(1) - 1)
LOG = LOG.with_columns(p=1 / (1 + (-pl.col("x")).exp()))
COSTS = [[0.5, 2.0], [5.0, 1.0]]
SCORES = {
    "posterior": (pl.col("p"), lambda p: p),
    "percent": (100 * pl.col("p"), lambda p: 100 * p),
    "log_odds": (pl.col("x"), lambda p: math.log(p / (1 - p))),
    "llr": (pl.col("x"), lambda p: math.log(p / (1 - p)) - math.log(0.2 / 0.8)),
}


def costs_of(y: np.ndarray, decided: np.ndarray) -> np.ndarray:
    return np.array(COSTS)[y.astype(int), decided.astype(int)]


def mean_cost(y: np.ndarray, cost: np.ndarray, w: np.ndarray, prior: float | None) -> float:
    if prior is None:
        return float(np.average(cost, weights=w))
    return sum(p * np.average(cost[y == c], weights=w[y == c]) for c, p in ((1, prior), (0, 1 - prior)))


def nec(y: np.ndarray, decided: np.ndarray, w: np.ndarray, prior: float | None) -> float:
    naive = min(mean_cost(y, costs_of(y, np.full(len(y), d)), w, prior) for d in (0, 1))
    return mean_cost(y, costs_of(y, decided), w, prior) / naive


@pytest.mark.parametrize("reference", [None, 2, "previous"])
@pytest.mark.parametrize(
    ("score_type", "prior", "weight"),
    [
        ("posterior", None, None),
        ("posterior", 0.2, "w"),
        ("percent", None, "w"),
        ("log_odds", 0.2, None),
        ("llr", 0.2, None),
    ],
)
def test_a_search_over_all_thresholds(score_type: str, prior: float | None, weight: str | None, reference: Any) -> None:
    column, at = SCORES[score_type]
    log = LOG.with_columns(s=column)
    call: dict[str, Any] = {"period": "month", "by": "g", "reference": reference, "costs": COSTS}
    call |= {"prior": prior, "score_type": score_type, "weight": weight}
    found = log.ec.best_threshold("s", "y", **call)
    for other in (
        ec.best_thresholds(log.lazy(), "s", "y", **call).collect(engine="streaming"),
        log.lazy().ec.best_threshold("s", "y", **call).collect(engine="in-memory"),
    ):
        assert_frame_equal(found, other, rel_tol=1e-12, abs_tol=1e-14)
    rows = {(g, m): rows for (g, m), rows in log.group_by("g", "month")}
    learned = {1: [2, 3], 2: [1, 3]}.get(reference or 1, [2, 3])
    assert found.select("g", "month").rows() == [(g, m) for g in "ab" for m in learned]
    for row in found.to_dicts():
        from_month = row["month"] - 1 if reference == "previous" else reference or 1
        assert row["reference"] == str(from_month)
        trained, judged = rows[row["g"], from_month], rows[row["g"], row["month"]]
        (s, y, w), (s2, y2, w2) = (
            [
                of.with_columns(w=pl.lit(1.0) if weight is None else "w").filter(pl.col("w") > 0)[c].to_numpy()
                for c in ("s", "y", "w")
            ]
            for of in (trained, judged)
        )
        p1 = np.average(y, weights=w) if prior is None else prior
        threshold = best_threshold(s.tolist(), y.tolist(), w.tolist(), p1, 4.0, 1.5)
        assert row["threshold"] == threshold
        assert row["nec"] == pytest.approx(nec(y2, s2 > threshold, w2, prior), rel=1e-12)
        assert row["nec_bayes"] == pytest.approx(nec(y2, s2 > at(1.5 / 5.5), w2, prior), rel=1e-12)
        assert row["regret"] == pytest.approx(row["nec"] - row["nec_bayes"], abs=1e-14)
        assert (row["n"], row["n_reference"]) == (judged.height, trained.height)
        assert (row["model"], row["small"], row["n_missing"]) == ("s", False, 0)


def test_the_interval_is_that_of_a_paired_difference_by_class() -> None:
    """At a stated prior the regret is a sum of two means over independent rows."""
    log = LOG.filter(pl.col("month") < 3)
    row = log.ec.best_threshold("p", "y", period="month", cost_fn=4, prior=0.2, interval=0.9).row(0, named=True)
    later = log.filter(month=2)
    p, y = later["p"].to_numpy(), later["y"].to_numpy()
    difference = np.where(y, 4.0, 1.0) * (((p > row["threshold"]) != y) * 1.0 - ((p > 0.2) != y)) / (0.2 * 4)
    of_class = [(share, difference[y == c]) for c, share in ((True, 0.2), (False, 0.8))]
    assert row["regret"] == pytest.approx(sum(share * x.mean() for share, x in of_class), abs=1e-12)
    variances = [share**2 * x.var(ddof=1) / len(x) for share, x in of_class]
    df = sum(variances) ** 2 / sum(v**2 / (len(x) - 1) for v, (_, x) in zip(variances, of_class, strict=True))
    half = stats.t.ppf(0.95, df) * math.sqrt(sum(variances))
    assert row["regret_ci_high"] - row["regret"] == pytest.approx(half, rel=1e-2)
    assert row["regret"] - row["regret_ci_low"] == pytest.approx(half, rel=1e-2)


@pytest.mark.parametrize("cluster", [None, "user"])
def test_intervals_are_those_of_compare_on_the_decisions(cluster: str | None) -> None:
    found = LOG.ec.best_threshold("p", "y", period="month", by="g", cost_fn=3, cluster=cluster)
    learned = LOG.join(found.select("g", "month", "threshold"), on=["g", "month"]).with_columns(
        bayes=pl.col("p") > 0.25, learned=pl.col("p") > pl.col("threshold")
    )
    options: dict[str, Any] = {"score_type": "decision", "cost_fn": 3, "metrics": ["nec"], "cluster": cluster}
    expected = learned.ec.compare(["bayes", "learned"], "y", by=["g", "month"], **options)
    names = {"value": "nec", "value_reference": "nec_bayes", "difference": "regret"}
    names |= {f"difference_ci_{end}": f"regret_ci_{end}" for end in ("low", "high")}
    shared = ["g", "month", *names.values(), "p_value", "p_adjusted", "small", "n", "n_missing"]
    assert_frame_equal(found.select(shared), expected.rename(names).select(shared), rel_tol=1e-12, abs_tol=1e-14)
    assert found["regret_ci_low"].null_count() == 0


@pytest.mark.slow
def test_priors_and_models() -> None:
    call: dict[str, Any] = {"period": "month", "cost_fn": 4}
    overall = LOG["y"].mean()
    by_number = LOG.ec.best_threshold("p", "y", prior=overall, **call)
    for prior in ("overall", pl.lit(overall), pl.col("y").mean()):
        assert_frame_equal(LOG.ec.best_threshold("p", "y", prior=prior, **call), by_number, rel_tol=1e-9)
    llr = {"score_type": "llr", "prior": "overall"}
    assert LOG.ec.best_threshold("x", "y", **call, **llr)["threshold"].null_count() == 0
    # Evaluated on the whole log, not in each period.
    of_log = (pl.col("p") * (pl.col("month").max() - pl.col("month").mean()) / 2).alias("s")
    ready = LOG.with_columns(of_log).ec.best_threshold("s", "y", **call)
    assert_frame_equal(LOG.ec.best_threshold(of_log, "y", **call), ready)
    several = LOG.ec.best_threshold(["p", pl.col("p").pow(2).alias("q")], "y", **call)
    assert several["model"].to_list() == ["p", "q"] * 2
    assert_frame_equal(several.filter(model="p"), LOG.ec.best_threshold("p", "y", **call))


def test_rows_that_say_nothing() -> None:
    """Null where no threshold can be learned, or a row is invalid; late labels and scores count as missing."""
    rows = [
        (g, 1, p, y) for g in ("right", "absent", "wrong", "late") for p, y in ((0.9, 1), (0.6, 0), (0.7, 1), (0.1, 0))
    ]
    rows += [(g, 2, p, y) for g, _, p, y in rows] + [("absent", 2, 0.5, 1), ("new", 2, 0.5, 1), ("new", 2, 0.1, 0)]
    rows += [("wrong", 2, math.nan, 1), ("late", 2, None, 1), ("late", 2, 0.3, None)]
    log = pl.DataFrame(rows, schema=["g", "t", "p", "y"], orient="row").filter(
        (pl.col("g") != "absent") | (pl.col("t") == 2) | (pl.col("y") == 1)
    )
    found = {row.pop("g"): row for row in log.ec.best_threshold("p", "y", period="t", by="g", cost_fn=3).to_dicts()}
    shown = ("reference", "threshold", "nec", "nec_bayes", "regret", "n", "n_reference", "n_missing")
    assert {g: tuple(row[name] for name in shown) for g, row in found.items()} == {
        "right": ("1", 0.6, 0.0, 0.5, -0.5, 4, 4, 0),
        "late": ("1", 0.6, 0.0, 0.5, -0.5, 4, 4, 2),
        "absent": ("1", None, None, None, None, 5, 2, 0),
        "new": (None, None, None, None, None, 2, 0, 0),
        "wrong": ("1", 0.6, None, None, None, 4, 4, 0),
    }


def test_decisions_that_are_alike() -> None:
    """In the whole log they are so by right, in one period perhaps by chance."""
    month = pl.DataFrame({"p": [0.9, 0.8, 0.4, 0.3] * 5, "y": [1, 1, 0, 0] * 5})
    log = pl.concat(month.with_columns(t=pl.lit(t)) for t in (1, 2, 3))
    bounds = pl.col("regret", "regret_ci_low", "regret_ci_high")
    alike = log.ec.best_threshold("p", "y", period="t").select(bounds)
    assert alike.rows() == [(0, 0, 0)] * 2
    differs = log.with_columns(p=pl.when(pl.col("t") == 3).then(pl.col("p").replace({0.8: 0.45})).otherwise("p"))
    second, third = differs.ec.best_threshold("p", "y", period="t").select(bounds).rows()
    assert second == (0, None, None)
    assert third[0] == -0.5
    assert third[1] < -0.5 < third[2]


def test_periods_and_groups_of_any_value() -> None:
    expected = LOG.ec.best_threshold("p", "y", period="month").drop("month", "reference")
    nan = LOG.with_columns(p_=pl.when(pl.col("month") == 3).then(math.nan).otherwise("month"))
    assert_frame_equal(nan.ec.best_threshold("p", "y", period="p_").drop("p_", "reference"), expected)
    # A group column may have the name of the score or the label.
    named = LOG.ec.best_threshold("p", "y", period=pl.col("month").alias("y"), by=pl.lit("all").alias("p"))
    assert_frame_equal(named.drop("p", "y", "reference"), expected)
    gaps = LOG.with_columns(month=pl.when(pl.col("month") > 1).then("month"))
    assert gaps.ec.best_threshold("p", "y", period="month").select("month", "reference").rows() == [
        (None, "2"),
        (3, "2"),
    ]
    empty = LOG.head(0).lazy().ec.best_threshold("p", "y", period="month", by="g")
    assert empty.collect_schema() == LOG.ec.best_threshold("p", "y", period="month", by="g").schema
    assert empty.collect().height == 0


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"period": ["month", "g"]}, ValueError, r"period= names \['month', 'g'\], but it takes one column"),
        ({"by": "month"}, ValueError, "period='month' is also a column in by="),
        ({"by": pl.col("g").alias("regret")}, ValueError, r"by= has a column 'regret'.*\.alias\(\)"),
        ({"reference": 7}, ValueError, r"reference=7 is not a group of month\. There are 1; 2; 3"),
        ({"reference": pl.lit(1)}, TypeError, "is an expression: pass the value of a period"),
        ({"interval": None}, ValueError, "interval=None"),
        ({"cluster": "user", "buckets": 20}, ValueError, "buckets=20 is too few"),
        ({"costs": [[1, 0], [1, 0]]}, ValueError, "an error must not cost less"),
        ({"costs": [[0, 1, 0.5], [1, 0, 0.5]]}, ValueError, "a threshold needs 2 x 2 costs"),
        ({"score_type": "raw"}, ValueError, "raw scores have just an order"),
        ({"score_type": "llr"}, ValueError, "needs prior="),
        ({"score_type": "decision", "score": "y"}, TypeError, "best_threshold is for one number per row"),
        ({"score": []}, ValueError, "score= names no column"),
        ({"label": "g"}, TypeError, "label 'g' is String"),
        ({"threshold": 0.5}, TypeError, r"no keyword threshold=.*"),
    ],
)
def test_misuse_says_what_to_do(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    call: dict[str, Any] = {"score": "p", "label": "y", "period": "month"} | options
    with pytest.raises(kind, match=message):
        LOG.lazy().ec.best_threshold(**call).collect()
