"""Intervals of what sketches evaluate: against those of the rows, and against formulas written here."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import special, stats

import polars_ec as ec
from polars_ec.exceptions import SketchError

RANDOM = np.random.default_rng(11)
N = 1800
DECISIONS = (
    *(
        "nec",
        "expected_cost",
        "error_rate",
        "balanced_error_rate",
        "precision",
        "recall",
        "specificity",
        "decision_share",
    ),
    *("f1", "mcc"),
)
LOSSES = ("cross_entropy", "nce", "brier", "nbs")
FEW = ("nec", "f1", "mcc", "nce", "brier")


def made(n: int = N, groups: str = "abc") -> pl.DataFrame:
    """Rows of users whose log-odds are shifted alike; some have no user, a few no label."""
    user = RANDOM.integers(0, 150, n)
    shift = RANDOM.normal(size=150)[user]
    log_odds = 1.5 * RANDOM.normal(size=n) - 1
    return pl.DataFrame(
        {
            "g": RANDOM.choice(list(groups), n),
            "p": special.expit(log_odds),
            "y": RANDOM.random(n) < special.expit(0.8 * log_odds + shift),
            "w": RANDOM.choice([0.5, 1.0, 2.5], n),
            "user": user,
        }
    ).with_columns(
        user=pl.when(pl.Series(RANDOM.random(n)) < 0.9).then("user"),
        y=pl.when(pl.Series(RANDOM.random(n)) < 0.99).then("y"),
    )


LOG = made()
# In the middle of the bins of the coarse cells: nothing is lost of their losses.
CENTRES = LOG.with_columns(
    p=1 / (1 + (-((pl.col("p").log() - (1 - pl.col("p")).log()) * 8).floor() / 8 - 1 / 16).exp())
)
WAYS: dict[str, dict[str, Any]] = {
    "rows": {},
    "clusters": {"cluster": "user"},
    "weights": {"weight": "w"},
    "weighted clusters": {"weight": "w", "cluster": "user", "buckets": 40},
}


def limits(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(pl.selectors.contains("_ci_"))


def assert_limits(found: pl.DataFrame, expected: pl.DataFrame, share: float) -> None:
    """The same columns; off by no more than a share of the width."""
    assert found.columns == expected.columns
    for low in [name for name in found.columns if name.endswith("_ci_low")]:
        high = f"{low.removesuffix('low')}high"
        width = (expected[high] - expected[low]).to_numpy()
        for name in (low, high):
            np.testing.assert_array_equal(found[name].is_null(), expected[name].is_null(), name)
            assert np.nanmax(np.abs((found[name] - expected[name]).to_numpy().astype(float)) / width) <= share, name


def share_of(way: str) -> float:
    """What bins hide of the variance of losses: bins of a sketch, or coarse ones."""
    return 5e-3 if "clusters" in way else 5e-4


def slow(value: object) -> Any:
    """A parameter that is tried with the slow tests."""
    return pytest.param(value, marks=pytest.mark.slow)


ONE_WAY = [*map(slow, ("rows", "clusters", "weights")), "weighted clusters"]
FEW_WAYS = ["rows", slow("clusters"), slow("weights"), "weighted clusters"]


@pytest.mark.quick("*4.0}-weighted clusters")
@pytest.mark.parametrize("way", FEW_WAYS)
@pytest.mark.parametrize("options", [{"cost_fn": 4.0}, {"threshold": 0.3}], ids=str)
def test_they_are_those_of_the_report(way: str, options: dict[str, Any]) -> None:
    sketch = LOG.ec.sketch("p", "y", by="g", **WAYS[way], **options)
    for names, share in ((DECISIONS, 1e-9), (LOSSES, share_of(way))):
        report = LOG.ec.report("p", "y", by="g", metrics=names, interval=0.9, **WAYS[way], **options)
        found = sketch.evaluate(*names, interval=0.9)
        assert_limits(limits(found), limits(report), share)
        assert found["small"].to_list() == report["small"].to_list()
    assert (
        sketch.evaluate("nec", interval=0.9)["nec_kinked"].to_list()
        == LOG.ec.report("p", "y", by="g", metrics=["nec"], interval=0.9, **WAYS[way], **options)[
            "nec_kinked"
        ].to_list()
    )


@pytest.mark.quick("False-weighted clusters")
@pytest.mark.parametrize("way", FEW_WAYS)
@pytest.mark.parametrize("exact", [slow(True), False])
def test_at_a_stated_prior_too(way: str, exact: bool) -> None:
    sketch = LOG.ec.sketch("p", "y", by="g", exact=exact, **WAYS[way])
    for prior in (0.1, "overall"):
        names = ["nec", "precision", "nce", "nbs"]
        found = limits(sketch.evaluate(*names, interval=0.95, prior=prior))
        report = LOG.ec.report("p", "y", by="g", metrics=names, interval=0.95, prior=prior, **WAYS[way])
        expected = report.select(pl.selectors.contains("_at_prior_ci_"))
        assert_limits(found, expected.rename(lambda name: name.replace("_at_prior", "")), share_of(way))


def of_clusters(psi: np.ndarray, strata: np.ndarray, log: pl.DataFrame, buckets: int) -> tuple[float, float]:
    """Variance and degrees of freedom, row by row: one bucket of rows after the other; rows without a user by themselves.

    A bucket counts as the jackknife has it, which leaves it out of its class, and of all rows.
    """
    bucket = log.select(ec.bucket("user", buckets)).to_series().fill_null(-1).to_numpy()
    weight, alone = log["w"].to_numpy(), bucket == -1
    present = np.unique(bucket[~alone])
    of_bucket, of_row = np.zeros(len(present)), np.zeros(len(log))
    parts, lost = 0.0, 0.0

    def sums(values: np.ndarray) -> np.ndarray:
        return np.array([values[bucket == b].sum() for b in present])

    def left_out(values: np.ndarray, of: np.ndarray) -> None:
        """One part of the influence of rows, of those whose weight is not 0."""
        nonlocal of_bucket, of_row, parts, lost
        n, sizes = of.sum(), sums(of)
        single = of[alone]
        of_bucket += sums(values) / (1 - sizes / n)
        size = (single**2).sum() / single.sum() if single.any() else 0.0
        of_row += np.where(alone, values, 0.0) / (1 - size / n)
        part = (sums(values) ** 2).sum() + (values[alone] ** 2).sum()
        parts += part
        lost += part / (n**2 / ((sizes**2).sum() + (single**2).sum()) - 1)

    of_number = np.zeros(len(log))
    for stratum in np.unique(strata):
        of = weight * (strata == stratum)
        mean = psi[strata == stratum].sum() / of.sum()
        of_number += mean * of
        left_out(psi * (strata == stratum) - mean * of, of)
    if np.abs(of_number).max() > 1e-12 * np.abs(psi).max():
        left_out(of_number, weight)
    number = len(present) + (weight[alone].sum() ** 2 / (weight[alone] ** 2).sum() if alone.any() else 0)
    squares = (of_bucket**2).sum() + (of_row**2).sum()
    return squares * (number - 1) / number, parts / lost


def test_influence_by_hand() -> None:
    log = CENTRES.filter(g="a").drop_nulls("y")
    w, y, p = (log[name].to_numpy().astype(float) for name in ("w", "y", "p"))
    found = log.ec.sketch("p", "y", weight="w", cluster="user").evaluate(
        "cross_entropy", "recall", "precision", interval=0.95
    )
    total, d = w.sum(), p > 0.5
    loss = -np.log(np.where(y == 1, p, 1 - p))
    ce = (w * loss).sum() / total
    recall, precision = (w * y * d).sum() / (w * y).sum(), (w * y * d).sum() / (w * d).sum()
    expected = {
        "cross_entropy": (ce, w * (loss - ce) / total, "log"),
        "recall": (recall, w * y * (d - recall) / (w * y).sum(), "logit"),
        "precision": (precision, w * d * (y - precision) / (w * d).sum(), "logit"),
    }
    for name, (value, psi, scale) in expected.items():
        variance, df = of_clusters(psi, y, log, 100)
        half = stats.t.ppf(0.975, df) * np.sqrt(variance)
        if scale == "log":
            ends = value * np.exp(np.array([-half, half]) / value)
        else:
            ends = special.expit(special.logit(value) + np.array([-half, half]) / (value * (1 - value)))
        assert found[name].item() == pytest.approx(value, rel=1e-9)
        assert found.select(f"{name}_ci_low", f"{name}_ci_high").row(0) == pytest.approx(tuple(ends), rel=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("way", ONE_WAY)
def test_of_a_threshold_that_cuts_cells_they_hold_those_of_whatever_may_be(way: str) -> None:
    binned, exact = (LOG.ec.sketch("p", "y", by="g", exact=exact, **WAYS[way]) for exact in (False, True))
    found, known = (sketch.evaluate(*DECISIONS, threshold=0.37, interval=0.95) for sketch in (binned, exact))
    for name in DECISIONS:
        low, high, ci_low, ci_high = (found[f"{name}_{end}"] for end in ("low", "high", "ci_low", "ci_high"))
        assert (ci_low < low).all()
        assert (high < ci_high).all()
        # Degrees of freedom and variances move a little with the counts.
        width = known[f"{name}_ci_high"] - known[f"{name}_ci_low"]
        assert (ci_low <= known[f"{name}_ci_low"] + 1e-3 * width).all()
        assert (known[f"{name}_ci_high"] <= ci_high + 1e-3 * width).all()
        assert ((ci_high - ci_low) - (high - low) < 1.05 * width).all()


@pytest.mark.slow
@pytest.mark.parametrize("way", [slow("rows"), "weighted clusters"])
def test_merged_rolled_up_or_in_another_order_they_are_those_of_the_whole(way: str) -> None:
    names = (*FEW, "auc_roc", "eer", "ece")

    def evaluated(sketch: ec.Sketch) -> pl.DataFrame:
        return sketch.evaluate(*names, interval=0.95)

    whole = evaluated(LOG.ec.sketch("p", "y", by="g", **WAYS[way]))
    parts = [LOG[:700], LOG[700:]]
    merged = evaluated(ec.merge([part.ec.sketch("p", "y", by="g", **WAYS[way]) for part in parts]))
    assert_frame_equal(whole, merged, rel_tol=1e-9)
    shuffled = LOG.sample(fraction=1, shuffle=True, seed=1).ec.sketch("p", "y", by="g", **WAYS[way])
    assert_frame_equal(whole, evaluated(shuffled), rel_tol=1e-9)
    assert_frame_equal(whole[:1], evaluated(shuffled.filter(pl.col("g") == "a")), rel_tol=1e-9)
    rolled_up = evaluated(shuffled.group_by())
    assert_frame_equal(rolled_up, evaluated(LOG.ec.sketch("p", "y", **WAYS[way])), rel_tol=1e-9)


@pytest.mark.quick("weighted clusters")
@pytest.mark.parametrize("way", ["rows", "weighted clusters"])
def test_as_many_groups_as_sums_have_each_those_of_its_own_rows(way: str) -> None:
    log = made(300, "abcd")
    sketch = log.ec.sketch("p", "y", by="g", **WAYS[way])
    together = sketch.evaluate("recall", "nec", "nce", "auc_roc", interval=0.95)
    for group in "abcd":
        alone = sketch.filter(pl.col("g") == group).evaluate("recall", "nec", "nce", "auc_roc", interval=0.95)
        assert_frame_equal(together.filter(pl.col("g") == group), alone)


def test_rows_twice_in_a_cluster_say_no_more() -> None:
    once = LOG.drop_nulls("user").ec.sketch("p", "y", by="g", cluster="user").evaluate(*FEW, interval=0.95)
    twice = pl.concat([LOG, LOG]).drop_nulls("user").ec.sketch("p", "y", by="g", cluster="user")
    assert_frame_equal(limits(once), limits(twice.evaluate(*FEW, interval=0.95)), rel_tol=1e-9)


@pytest.mark.parametrize("way", ["rows", slow("clusters")])
def test_losses_of_llrs_at_a_prior(way: str) -> None:
    shift = np.log(0.2 / 0.8)
    log = LOG.with_columns(llr=pl.col("p").log() - (1 - pl.col("p")).log() - shift)
    llrs = log.ec.sketch("llr", "y", by="g", score_type="llr", **WAYS[way])
    posteriors = log.ec.sketch("p", "y", by="g", **WAYS[way])
    names = ("cross_entropy", "nbs")
    found, expected = (sketch.evaluate(*names, prior=0.2, interval=0.95) for sketch in (llrs, posteriors))
    assert_limits(limits(found), limits(expected), 0.02)
    for name in names:
        assert (found[f"{name}_ci_low"] <= found[name] - found[f"{name}_error"]).all()
    even = log.select(pl.all(), q=1 / (1 + (-pl.col("llr")).exp())).ec.sketch("q", "y", by="g", **WAYS[way])
    of_even = even.evaluate("cross_entropy", prior=0.5, interval=0.95)
    cllr = limits(llrs.evaluate("cllr", interval=0.95)) * np.log(2)
    np.testing.assert_allclose(cllr, limits(of_even), rtol=1e-3)


def test_a_risk_of_a_weight_is_a_mean_loss() -> None:
    for way in (WAYS["weights"], WAYS["weighted clusters"]):
        sketch = LOG.ec.sketch("p", "y", by="g", **way)
        expected = sketch.evaluate("cross_entropy", "brier", interval=0.9, prior=0.3)
        for weight, name, times in ((1, "cross_entropy", 1), (lambda t: 6 * t * (1 - t), "brier", 3)):
            found = sketch.epsr(weight, prior=0.3, interval=0.9)
            assert found.columns[-4:] == ["epsr", "epsr_error", "epsr_ci_low", "epsr_ci_high"]
            of_name = expected.select(f"{name}_ci_low", f"{name}_ci_high")
            np.testing.assert_allclose(limits(found), times * of_name.to_numpy(), rtol=2e-4)
        points = {"t": [0.3, 0.6], "weight": [1.0, 2.0]}
        exact = LOG.ec.sketch("p", "y", by="g", exact=True, thresholds=[0.3, 0.6], **way).epsr(points, interval=0.9)
        found = LOG.ec.sketch("p", "y", by="g", thresholds=[0.3, 0.6], **way).epsr(points, interval=0.9)
        assert found["epsr_error"].max() == 0
        assert_limits(limits(found), limits(exact), 1e-9)


HARD = pl.concat(
    pl.DataFrame({"p": p, "y": y}, schema_overrides={"y": pl.Boolean}).with_columns(g=pl.lit(group))
    for group, p, y in (
        ("one class", [0.2, 0.3, 0.6, 0.7], [False] * 4),
        ("one row", [0.8, *([0.2, 0.3, 0.4] * 3), 0.1, 0.1], [True, *([False] * 11)]),
        ("wrong", [2.0, *([0.3] * 11)], [True, False] * 6),
        ("infinite", [0.0, *([0.3] * 11)], [True, False] * 6),
        ("perfect", [0.1, 0.2, 0.9, 0.8] * 10, [False, False, True, True] * 10),
    )
).with_row_index("user")


@pytest.mark.parametrize("cluster", [None, "user"])
def test_where_there_are_none(cluster: str | None) -> None:
    way = {} if cluster is None else {"cluster": cluster}
    found = HARD.ec.sketch("p", "y", by="g", **way).evaluate("nec", "recall", "nce", interval=0.95)
    rows = {row["g"]: row for row in found.to_dicts()}
    for group, shown in (("one class", set()), ("wrong", set()), ("infinite", {"nec", "recall"})):
        for name in ("nec", "recall", "nce"):
            assert (rows[group][f"{name}_ci_low"] is not None) == (name in shown), (group, name)
    assert rows["one row"]["nce_ci_low"] is None
    if cluster is None:
        assert rows["one row"]["recall_ci_low"] < 1 == rows["one row"]["recall_ci_high"]
    else:
        # All positives are in one cluster.
        assert rows["one row"]["recall_ci_low"] is None
    assert 0.5 < rows["perfect"]["recall_ci_low"] < 0.99
    assert rows["perfect"]["nec_ci_low"] == 0 < rows["perfect"]["nec_ci_high"] < 0.5
    assert [rows[g]["small"] for g in ("one class", "one row", "perfect")] == [True, True, False]
    few = HARD.with_columns(user=pl.col("user") % 4).ec.sketch("p", "y", by="g", cluster="user")
    assert limits(few.evaluate("recall", "nce", interval=0.95)).null_count().sum_horizontal().item() == 20


def test_a_rate_of_1_in_clusters_has_the_limits_of_as_many_rows_as_clusters() -> None:
    log = pl.DataFrame(
        {"user": np.repeat(np.arange(8), 50), "p": [0.9] * 200 + [0.1] * 200, "y": [1] * 200 + [0] * 200}
    )
    found = log.ec.sketch("p", "y", cluster="user").evaluate("recall", interval=0.95)
    # Four clusters of each class, and half a row with either decision.
    share, of_recall = 4.5 / 5, 5
    variance = share * (1 - share) / (of_recall - 1)
    low = special.expit(
        special.logit(share) - stats.t.ppf(0.975, of_recall - 1) * np.sqrt(variance) / (share * (1 - share))
    )
    assert found["recall_ci_low"].item() == pytest.approx(low, rel=1e-6)
    assert found["recall_ci_high"].item() == 1


def test_an_empty_log_has_the_columns() -> None:
    sketch = LOG.clear().ec.sketch("p", "y", by="g", cluster="user")
    found = sketch.evaluate("nec", "nce", "ece", interval=0.95)
    assert found.height == 0
    assert found.columns == LOG.ec.sketch("p", "y", by="g").evaluate("nec", "nce", "ece", interval=0.95).columns
    assert sketch.roc(interval=0.95).height == sketch.reliability(interval=0.95).height == 0


def test_nec_beside_its_kink_says_so() -> None:
    y = pl.int_range(N, eager=True) % 2 == 0
    sketches = [LOG.with_columns(y=y).ec.sketch("p", "y", cost_fn=cost) for cost in (1.0, 1.05, 2.0)]
    found = [sketch.evaluate("nec", interval=0.95).row(0, named=True) for sketch in sketches]
    assert [row["nec_kinked"] for row in found] == [True, True, False]
    assert "nec_kinked" not in sketches[0].evaluate("nec", interval=0.95, prior=0.5).columns


def test_costs_below_0_make_costs_of_any_sign() -> None:
    costs = [[-1, 1], [1, -1]]
    found = LOG.ec.sketch("p", "y", costs=costs).evaluate("expected_cost", "error_rate", interval=0.95)
    report = LOG.ec.report("p", "y", costs=costs, metrics=["expected_cost", "error_rate"], interval=0.95)
    assert_limits(limits(found), limits(report), 1e-9)
    assert found["expected_cost_ci_high"].item() < 0


@pytest.mark.parametrize("way", ["rows", slow("weights")])
def test_the_calibration_error_that_chance_alone_makes(way: str) -> None:
    log = LOG.filter(pl.col("y").is_not_null(), g="a")
    found = log.ec.sketch("p", "y", **WAYS[way]).evaluate("ece", interval=0.95)
    weight = WAYS[way].get("weight")
    draws = pl.concat(
        log.with_columns(y=pl.Series(RANDOM.random(log.height)) < pl.col("p"), draw=pl.lit(i)) for i in range(400)
    )
    drawn = draws.group_by("draw").agg(ec.ece("p", "y", weight=weight).alias("ece"))["ece"]
    assert found["ece_if_calibrated"].item() == pytest.approx(drawn.mean(), rel=0.05)
    assert found["ece_if_calibrated_high"].item() == pytest.approx(drawn.quantile(0.95), rel=0.07)
    exact = log.ec.sketch("p", "y", exact=True)
    for keywords in ({"norm": 2}, {"prior": 0.3}):
        assert "ece_if_calibrated" not in exact.evaluate("ece", interval=0.95, **keywords).columns


def test_each_target_has_those_of_its_own_rows() -> None:
    scores = RANDOM.dirichlet([1, 1, 1], 300)
    log = pl.DataFrame({"q": scores, "y": RANDOM.integers(0, 3, 300), "user": RANDOM.integers(0, 40, 300)})
    sketch = log.with_columns(pl.col("q").cast(pl.Array(pl.Float64, 3))).ec.sketch("q", "y", cluster="user")
    found = sketch.evaluate("recall", "nce", interval=0.95)
    for k in range(3):
        one = log.with_columns(p=pl.Series(scores[:, k]), y=pl.col("y") == k).ec.sketch("p", "y", cluster="user")
        assert_limits(limits(found.filter(target=k)), limits(one.evaluate("recall", "nce", interval=0.95)), 1e-6)
    with pytest.raises(SketchError, match="no intervals"):
        sketch.mean_over_targets("recall", interval=0.95)  # type: ignore[call-arg]


def test_limits_of_ranks_stand_after_the_error() -> None:
    sketch = LOG.ec.sketch("p", "y", by="g", cluster="user")
    found = sketch.evaluate("auc_roc", "ks", interval=0.95)
    names = [f"ks{end}" for end in ("", "_error", "_ci_low", "_ci_high", "_threshold")]
    assert found.columns[-9:] == ["auc_roc", "auc_roc_error", "auc_roc_ci_low", "auc_roc_ci_high", *names]
    for name in ("auc_roc", "ks"):
        assert (found[f"{name}_ci_low"] < found[name] - found[f"{name}_error"]).all()
        assert (found[name] + found[f"{name}_error"] < found[f"{name}_ci_high"]).all()


@pytest.mark.parametrize("way", ONE_WAY)
def test_each_point_of_a_band_has_the_limits_of_its_threshold(way: str) -> None:
    log, thresholds = LOG.filter(g="a"), [0.2, 0.5, 0.8]
    sketch = log.ec.sketch("p", "y", thresholds=thresholds, **WAYS[way])
    curves = {
        "roc": sketch.roc(interval=0.9).rename(lambda name: name.replace("tpr", "recall")),
        "det": sketch.det(interval=0.9),
        "pr": sketch.pr(prior=0.3, interval=0.9),
        "costs": sketch.cost_curve("nec", "expected_cost", "tp", cost_fn=3, interval=0.9),
    }
    assert curves["costs"].columns[-4:] == ["expected_cost", "expected_cost_ci_low", "expected_cost_ci_high", "tp"]
    for t in thresholds:
        asked = {
            "roc": sketch.evaluate("fpr", "recall", threshold=t, interval=0.9),
            "det": sketch.evaluate("fpr", "fnr", threshold=t, interval=0.9),
            "pr": sketch.evaluate("recall", "precision", threshold=t, prior=0.3, interval=0.9),
            "costs": sketch.evaluate("nec", "expected_cost", costs=[[0, 1], [3, 0]], threshold=t, interval=0.9),
        }
        for name, curve in curves.items():
            # Its cells lie above the threshold or below it.
            point = curve.filter(pl.col("threshold") >= t)[-1:]
            of_rates = limits(point).select(pl.exclude("^.*_probit_.*$"))
            assert_frame_equal(of_rates, limits(asked[name]), rel_tol=1e-9)
    deviates = curves["det"].filter(pl.col("fpr").is_between(0.01, 0.99), pl.col("fnr").is_between(0.01, 0.99))
    for rate in ("fpr", "fpr_ci_low", "fpr_ci_high", "fnr", "fnr_ci_low", "fnr_ci_high"):
        deviate = deviates[f"{rate[:3]}_probit{rate[3:]}"].to_list()
        assert [math.erfc(-x / math.sqrt(2)) / 2 for x in deviate] == pytest.approx(deviates[rate].to_list())
    for name, curve in curves.items():
        # Where everything is decided alike too.
        rates = curve.filter(pl.col("recall") > 0) if "recall" in curve.columns else curve
        assert limits(rates).null_count().sum_horizontal().item() == 0, name


@pytest.mark.parametrize("exact", [slow(True), False])
def test_a_point_between_declared_thresholds_has_nearly_those_of_the_rows(exact: bool) -> None:
    log = LOG.filter(g="b")
    for way, share in (("rows", 1e-9), ("clusters", 0.05)):
        sketch = log.ec.sketch("p", "y", exact=exact, **WAYS[way])
        for row in sketch.roc(interval=0.95).filter(pl.col("fpr").is_between(0.1, 0.9))[::40].to_dicts():
            report = log.ec.report(
                "p", "y", metrics=["recall"], threshold=row["threshold"], interval=0.95, **WAYS[way]
            ).row(0, named=True)
            width = report["recall_ci_high"] - report["recall_ci_low"]
            for end in ("low", "high"):
                assert row[f"tpr_ci_{end}"] == pytest.approx(report[f"recall_ci_{end}"], abs=share * width)


@pytest.mark.parametrize("way", FEW_WAYS)
def test_limits_of_a_share_of_positives(way: str) -> None:
    sketch = LOG.ec.sketch("p", "y", by="g", **WAYS[way])
    found = sketch.reliability(resolution=1, interval=0.95)
    assert_frame_equal(found.select(pl.exclude("^positive_share_ci_.*$")), sketch.reliability(resolution=1))
    used = LOG.drop_nulls("y").with_columns(
        bin=(pl.col("p").log() - (1 - pl.col("p")).log()).floor().cast(pl.Int32),
        w="w" if "weight" in WAYS[way] else pl.lit(1.0),
    )
    for (group, bin_), rows in used.group_by("g", "bin"):
        row = found.row(by_predicate=(pl.col("g") == group) & (pl.col("bin") == bin_), named=True)
        ends = row["positive_share_ci_low"], row["positive_share_ci_high"]
        w, y = rows["w"].to_numpy(), rows["y"].to_numpy().astype(float)
        if "cluster" in WAYS[way]:
            share = (w * y).sum() / w.sum()
            if rows["user"].null_count() + rows["user"].n_unique() < 30 or not 0 < share < 1:
                continue
            variance, df = of_clusters(w * (y - share) / w.sum(), 0 * y, rows, WAYS[way].get("buckets", 100))
        else:
            # A row of the mean weight more, half of either class.
            mean = (w**2).sum() / w.sum()
            whole = w.sum() + mean
            share = ((w * y).sum() + mean / 2) / whole
            squares = (w**2 * (y - share) ** 2).sum() + mean**2 / 2 * ((1 - share) ** 2 + share**2)
            rows_of_equal_weight = whole**2 / ((w**2).sum() + mean**2)
            df = rows_of_equal_weight - 1
            variance = squares / whole**2 * rows_of_equal_weight / df
        half = stats.t.ppf(0.975, df) * np.sqrt(variance) / (share * (1 - share))
        expected = special.expit(special.logit(share) + np.array([-half, half]))
        value = (w * y).sum() / w.sum()
        assert ends == pytest.approx((min(expected[0], value), max(expected[1], value)), rel=1e-6)


@pytest.mark.quick("clusters")
@pytest.mark.parametrize("way", ["rows", "clusters"])
def test_losses_beyond_the_last_bin_are_counted_or_the_limits_are_null(way: str) -> None:
    far = LOG.with_columns(x=(pl.col("p") / (1 - pl.col("p"))).log())
    miss = pl.int_range(pl.len()) == pl.col("y").not_().arg_max()
    for times, known in ((500.0, True), (None, False)):
        of_one = pl.when(miss).then(times).otherwise("x")
        log = far.with_columns(x=of_one if known else 100 * pl.col("x"))
        sketch = log.ec.sketch("x", "y", score_type="log_odds", **WAYS[way])
        found = sketch.evaluate("cross_entropy", "brier", interval=0.95)
        rows = log.ec.report(
            "x", "y", score_type="log_odds", metrics=["cross_entropy", "brier"], interval=0.95, **WAYS[way]
        )
        drawn = sketch.evaluate("cross_entropy", interval=0.95, method="bootstrap", replicates=20)
        for name in ("cross_entropy_ci_low", "cross_entropy_ci_high"):
            assert (drawn[name].item() is not None) == known
            if known:
                assert found[name].item() == pytest.approx(rows[name].item(), rel=5e-3)
            else:
                assert found[name].item() is None
        assert found["brier_ci_low"].item() == pytest.approx(rows["brier_ci_low"].item(), rel=5e-3)
    by_group = log.ec.sketch("x", "y", by="g", score_type="log_odds", **WAYS[way])
    against = by_group.compare("cross_entropy", "recall", reference="rest").sort("metric", "g")
    assert against["difference_ci_low"].is_null().to_list() == [True] * 3 + [False] * 3


def test_clusters_have_no_finer_bins_than_theirs() -> None:
    sketch = LOG.ec.sketch("p", "y", cluster="user")
    assert sketch.reliability(resolution=16).height > 30
    with pytest.raises(
        SketchError,
        match="resolution=16 with interval= must divide the resolution of the clusters' cells, 8 bins per nat",
    ):
        sketch.reliability(resolution=16, interval=0.95)


def test_calls_that_are_wrong() -> None:
    sketch = LOG.ec.sketch("p", "y", weight="w")
    for keywords, message in (
        ({"interval": 95}, "pass 0.95"),
        ({"seed": 3}, "interval=0.95"),
        ({"method": "influence", "replicates": 5, "interval": 0.9}, "replicates=5"),
        ({"method": "jackknife"}, "hull, linear, influence"),
    ):
        with pytest.raises(ValueError, match=message):
            sketch.evaluate("nec", **keywords)
    for name in ("small", "nec_ci_low", "nec_kinked"):
        with pytest.raises(SketchError, match=f"'{name}'.*rename it"):
            LOG.ec.sketch("p", "y", by=pl.col("g").alias(name)).evaluate("nec", interval=0.9)
    old = ec.Sketch(sketch.frame.drop("weight2"), sketch.grid, True, sketch.sums)
    for asked in (lambda: old.evaluate("nec", interval=0.9), lambda: old.roc(interval=0.9)):
        with pytest.raises(SketchError, match="sketch does not have: sketch the log again"):
            asked()
    eers = [sketch.evaluate("eer", method=way, interval=0.9)["eer"].item() for way in ("hull", "influence", "linear")]
    assert eers[0] == eers[1] != eers[2]
