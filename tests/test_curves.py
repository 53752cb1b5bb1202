"""Curves: every operating point of small logs, counted one by one."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from sklearn.isotonic import IsotonicRegression

import polars_ec as ec
from polars_ec.exceptions import SketchError
from tests import ranking_oracle as oracle
from tests.test_calibration import plain_newton
from tests.test_papers import gaussian_classes, log_likelihoods

RANDOM = np.random.default_rng(3)
N = 400
LOG_ODDS = np.round(RANDOM.normal(size=N) * 2, 2)
LABELS = RANDOM.random(N) < 1 / (1 + np.exp(-LOG_ODDS))
LOG = pl.DataFrame({"g": RANDOM.choice(["a", "b"], N), "s": LOG_ODDS, "y": LABELS}).with_columns(
    p=1 / (1 + (-pl.col("s")).exp())
)


def parts():
    for (group,), log in LOG.partition_by("g", as_dict=True).items():
        yield group, log, oracle.roc_points(log["s"].to_list(), log["y"].to_list(), [1.0] * log.height)


@pytest.mark.parametrize("exact", [True, False])
def test_every_point_is_a_point_of_the_exact_curve(exact: bool) -> None:
    sketch = LOG.ec.sketch("s", "y", by="g", score_type="log_odds", exact=exact)
    for group, log, points in parts():
        found = sketch.roc().filter(g=group)
        assert found["fpr"].is_sorted()
        listed = found.select("fpr", "tpr").rows()
        exact_points = {(round(f, 12), round(t, 12)) for f, t in points}
        assert {(round(f, 12), round(t, 12)) for f, t in listed} <= exact_points
        if exact:
            np.testing.assert_allclose(listed, points, rtol=1e-12)
        assert listed[0] == (0, 0)
        assert listed[-1] == (1, 1)
        for row in found.to_dicts():
            decided = log["s"] > row["threshold"]
            assert row["tpr"] == pytest.approx(log.filter("y").select((pl.col("s") > row["threshold"]).mean()).item())
            assert decided.sum() == pytest.approx(row["tpr"] * log["y"].sum() + row["fpr"] * (~log["y"]).sum())


def test_hull_is_above_the_curve() -> None:
    sketch = LOG.ec.sketch("s", "y", by="g", score_type="log_odds", exact=True)
    for group, _, points in parts():
        corners = sketch.roc_hull().filter(g=group).select("fpr", "tpr").rows()
        fprs, tprs = zip(*corners, strict=True)
        on_hull = np.interp([f for f, _ in points], fprs, tprs)
        assert (on_hull >= np.array([t for _, t in points]) - 1e-12).all()
        assert {(round(f, 12), round(t, 12)) for f, t in corners} <= {(round(f, 12), round(t, 12)) for f, t in points}


def test_precision_recall_and_det() -> None:
    sketch = LOG.ec.sketch("p", "y", by="g", exact=True)
    for group, log, points in parts():
        for prior in (None, 0.1):
            p1 = log["y"].mean() if prior is None else prior
            found = sketch.pr(prior=prior).filter(g=group)
            expected = [None if t + f == 0 else p1 * t / (p1 * t + (1 - p1) * f) for f, t in points]
            assert found["precision"].to_list() == pytest.approx(expected)
            gains = sketch.prg(prior=prior).filter(g=group)
            later = [(f, t) for f, t in points if t > 0]
            assert gains["precision_gain"].to_list()[-len(later) :] == pytest.approx([1 - f / t for f, t in later])
            assert gains["recall_gain"].to_list()[-len(later) :] == pytest.approx(
                [1 - p1 / (1 - p1) * (1 - t) / t for _, t in later]
            )
        probits = sketch.det().filter(g=group)
        middle = probits.filter(pl.col("fpr").is_between(0.01, 0.99))
        assert [math.erf(x / math.sqrt(2)) / 2 + 0.5 for x in middle["fpr_probit"]] == pytest.approx(
            middle["fpr"].to_list()
        )
        assert probits["fpr_probit"][0] == -math.inf


def test_bayes_risk_integrates_to_the_scoring_rules() -> None:
    sketch = LOG.ec.sketch("p", "y", resolution=1024)
    curve = sketch.bayes_risk().sort("t", maintain_order=True)
    t, risk = curve["t"].to_numpy(), curve["bayes_risk"].to_numpy()
    assert np.trapezoid(risk, t) == pytest.approx(sketch.evaluate("cross_entropy")["cross_entropy"].item(), rel=0.02)
    weighted = np.trapezoid(risk * 6 * t * (1 - t), t)
    assert weighted == pytest.approx(3 * sketch.evaluate("brier")["brier"].item(), rel=0.02)


def test_bayes_error() -> None:
    points = [-1.5, 0.0, 2.0]
    for keywords in ({"exact": True}, {"thresholds": [-x for x in points]}):
        found = LOG.ec.sketch("s", "y", by="g", score_type="llr", **keywords).bayes_error(points)
        for group, log, roc in parts():
            for x, row in zip(points, found.filter(g=group).to_dicts(), strict=True):
                prior = 1 / (1 + math.exp(-x))
                actual = log.select(ec.dcf("s", "y", score_type="llr", prior=prior)).item()
                assert row["dcf"] == pytest.approx(actual)
                best = oracle.min_expected_cost(roc, prior, 1, 1) / min(prior, 1 - prior)
                assert row["min_dcf"] - row["min_dcf_error"] - 1e-12 <= best <= row["min_dcf"] + 1e-12
    bounded = LOG.ec.sketch("s", "y", score_type="llr").bayes_error([0.3])
    actual = LOG.select(ec.dcf("s", "y", score_type="llr", prior=1 / (1 + math.exp(-0.3)))).item()
    assert bounded["dcf_low"].item() <= actual <= bounded["dcf_high"].item()


def test_reliability() -> None:
    found = LOG.ec.sketch("p", "y").reliability(resolution=1)
    for row in found.to_dicts():
        inside = LOG.filter((pl.col("p") / (1 - pl.col("p"))).log().floor() == row["bin"])
        # Scores on an edge of a bin may be a rounding away from it.
        if inside.height == row["n"]:
            assert row["posterior"] == pytest.approx(inside["p"].mean())
            assert row["positive_share"] == pytest.approx(inside["y"].mean())
    assert found["n"].sum() == N
    for exact in (True, False):
        ends = pl.DataFrame({"p": [0.0, 1e-100, 0.5, 1.0], "y": [False, False, True, True]})
        sketch = ends.ec.sketch("p", "y", exact=exact)
        assert sketch.reliability(resolution=1)["bin"].to_list() == [-66, -65, 0, 65]
        assert sketch.reliability(resolution=1)["bin"].dtype == pl.Int32


def pooled_adjacent_violators(x, y, w) -> np.ndarray:
    """The posterior of each row: blocks of equal scores, joined while the one before is not lower."""
    blocks: list[list[float]] = []
    for score in np.unique(x):
        blocks.append([w[x == score] @ y[x == score], w[x == score].sum(), 1])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] >= blocks[-1][0] * blocks[-2][1]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    levels = np.repeat([positive / total for positive, total, _ in blocks], [int(size) for *_, size in blocks])
    return levels[np.searchsorted(np.unique(x), x)]


def calibrated(x, y, w, calibrator: str) -> np.ndarray:
    """The calibrated posterior of each row, fitted to these rows, in plain NumPy."""
    if calibrator == "pav":
        levels = pooled_adjacent_violators(x, y, w)
        np.testing.assert_allclose(IsotonicRegression().fit(x, y, sample_weight=w).predict(x), levels, atol=1e-12)
        return levels
    if calibrator == "histogram":
        bins = np.searchsorted(np.arange(1, 15) / 15, 1 / (1 + np.exp(-x)))
        return (np.bincount(bins, w * y, 15) / np.maximum(np.bincount(bins, w, 15), 1e-300))[bins]
    alpha, beta = plain_newton(x, y, w, calibrator == "affine")
    return 1 / (1 + np.exp(-alpha * x - beta))


def middling(n: int, seed: int) -> pl.DataFrame:
    """Scores in the middle of a cell each, so that bins tell no less than the scores."""
    random = np.random.default_rng(seed)
    x = (np.floor(random.normal(size=n) * 128) + 0.5) / 64
    return pl.DataFrame(
        {
            "g": random.choice(["a", "b", ""], n),
            "s": x,
            "p": 1 / (1 + np.exp(-x)),
            "y": random.random(n) < 1 / (1 + np.exp(-0.5 * x - 0.4)),
            "w": random.choice([0.0, 0.5, 3.0], n),
            "id": np.arange(n),
        }
    ).with_columns(g=pl.col("g").replace({"": None}))


@pytest.mark.parametrize("calibrator", ["affine", "temperature", "pav", "histogram"])
@pytest.mark.parametrize(("score", "score_type"), [("p", "posterior"), ("s", "log_odds")])
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("weight", [None, "w"])
def test_calibration_curve(calibrator: str, score: str, score_type: str, exact: bool, weight: str | None) -> None:
    log = middling(600, 5)
    edges = np.arange(1, 15) / 15
    sketch = log.ec.sketch(
        score,
        "y",
        by="g",
        weight=weight,
        score_type=score_type,
        exact=exact,
        thresholds=edges if score == "p" else np.log(edges / (1 - edges)),
        folds=3,
        fold_by="id",
    )
    found = sketch.reliability(resolution=4, calibrator=calibrator)
    columns = ["g", "bin", "n", "weight", "posterior", "positive_share", "calibrated"]
    assert found.columns == columns
    assert found.equals(found.sort("g", "bin", nulls_last=True))
    assert_frame_equal(sketch.reliability(resolution=4), found.drop("calibrated"))
    expected = []
    for group in ("a", "b", None):
        rows = log.filter(pl.col("g").eq_missing(pl.lit(group)))
        x, y = rows["s"].to_numpy(), rows["y"].to_numpy().astype(float)
        w = np.ones(len(x)) if weight is None else rows["w"].to_numpy()
        moved = np.full(len(x), np.nan)
        moved[w > 0] = calibrated(x[w > 0], y[w > 0], w[w > 0], calibrator)
        for number in np.unique(np.floor(4 * x)):
            inside = np.floor(4 * x) == number
            total, used = w[inside].sum(), inside & (w > 0)
            means = [(w @ (values * inside)) / total if total else None for values in (1 / (1 + np.exp(-x)), y)]
            after = w[used] @ moved[used] / total if total else None
            expected.append((group, int(number), int(inside.sum()), total, *means, after))
    oracle_of = pl.DataFrame(expected, schema=dict(zip(columns, found.dtypes, strict=True)), orient="row")
    assert_frame_equal(found, oracle_of, rel_tol=1e-9, abs_tol=1e-9)


@pytest.mark.parametrize("calibrator", ["affine", "pav"])
def test_calibration_curve_is_near_for_scores_anywhere_in_a_cell(calibrator: str) -> None:
    exact, binned = (LOG.ec.sketch("p", "y", by="g", exact=e).reliability(calibrator=calibrator) for e in (True, False))
    assert_frame_equal(exact.drop("calibrated"), binned.drop("calibrated"))
    gap = (exact["calibrated"] - binned["calibrated"]).abs().max()
    assert gap <= {"affine": 1e-4, "pav": 0.05}[calibrator]


def test_calibration_curve_of_classes() -> None:
    random = np.random.default_rng(11)
    y = random.integers(0, 3, 300)
    q = random.dirichlet(np.ones(3), 300) + 0.3 * np.eye(3)[y]
    q /= q.sum(axis=1, keepdims=True)
    log = pl.DataFrame({"q": q, "y": np.array(["x", "y", "z"])[y]}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    classes = ["x", "y", "z"]
    of_each = log.ec.sketch("q", "y", classes=classes, exact=True).reliability(resolution=1, calibrator="pav")
    assert of_each["target"].unique(maintain_order=True).to_list() == classes
    top = log.ec.sketch("q", "y", classes=classes, exact=True, reduction="top_label")
    found = [*(of_each.filter(target=c) for c in classes), top.reliability(resolution=1, calibrator="pav")]
    binary = [*((q[:, k], y == k) for k in range(3)), (q.max(axis=1), q.argmax(axis=1) == y)]
    for curve, (p, positive) in zip(found, binary, strict=True):
        moved = calibrated(p, positive.astype(float), np.ones(300), "pav")
        bins = np.floor(np.log(p / (1 - p)))
        assert curve["bin"].to_list() == np.unique(bins).tolist()
        for row in curve.to_dicts():
            inside = bins == row["bin"]
            assert row["n"] == inside.sum()
            assert row["positive_share"] == pytest.approx(positive[inside].mean())
            assert row["posterior"] == pytest.approx(p[inside].mean())
            assert row["calibrated"] == pytest.approx(moved[inside].mean())


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("calibrator", ["affine", "temperature", "pav", "histogram"])
def test_calibration_curve_where_there_is_none(exact: bool, calibrator: str) -> None:
    log = pl.DataFrame(
        {
            "g": ["one class"] * 2 + ["wrong rows"] * 3 + ["no weight"] * 2 + ["missing"] + ["fine"] * 4,
            "p": [0.2, 0.7, 0.2, 0.7, 1.5, 0.2, 0.7, None, 0.9, 0.1, 0.7, 0.4],
            "y": [1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 0, 1],
            "w": [1.0] * 5 + [0.0] * 2 + [1.0] * 5,
        }
    )
    sketch = log.ec.sketch("p", "y", by="g", weight="w", exact=exact)
    found = sketch.reliability(calibrator=calibrator)
    means = ["posterior", "positive_share", "calibrated"]
    nulls = {group: rows.select(means).null_count().row(0) for (group,), rows in found.group_by("g")}
    assert nulls == {"one class": (0, 0, 2), "wrong rows": (2, 2, 2), "no weight": (2, 2, 2), "fine": (0, 0, 0)}
    assert found.filter(g="wrong rows")["n"].to_list() == [1, 1]
    nothing = sketch.filter(pl.lit(value=False)).reliability(calibrator=calibrator)
    assert nothing.schema == found.schema
    assert nothing.height == 0
    empty = log.clear().ec.sketch("p", "y", exact=exact).reliability(calibrator=calibrator)
    assert empty.height == 0


def test_reliability_refuses() -> None:
    sketch = LOG.ec.sketch("p", "y")
    for resolution in (7, 0, 1.5, True):
        with pytest.raises(ValueError, match=f"resolution={resolution}"):
            sketch.reliability(resolution=resolution)
    with pytest.raises(ValueError, match="calibrator='platt' is none of"):
        sketch.reliability(calibrator="platt")
    for score_type in ("llr", "raw"):
        with pytest.raises(SketchError, match=f"the sketch is of {score_type} scores"):
            LOG.ec.sketch("s", "y", score_type=score_type).reliability()
    for name in ("bin", "calibrated", "positive_share"):
        with pytest.raises(SketchError, match=f"group column '{name}'"):
            LOG.ec.sketch("p", "y", by=pl.col("g").alias(name), exact=True).reliability()
    assert 0 < sketch.reliability(resolution=64).height <= N


@pytest.mark.parametrize("metric", ["f1", "nec", "mcc", "net_benefit"])
def test_best_threshold(metric: str) -> None:
    keywords = {"p_t": 0.3} if metric == "net_benefit" else {}
    found = LOG.ec.sketch("p", "y", by="g", exact=True).best_threshold(metric, **keywords)
    for group, log, _ in parts():
        row = found.filter(g=group).to_dicts()[0]
        thresholds = [-1.0, *log["p"].unique()]
        values = [log.select(getattr(ec, metric)("p", "y", threshold=t, **keywords)).item() for t in thresholds]
        best = (min if metric == "nec" else max)(value for value in values if value is not None)
        assert row[metric] == pytest.approx(best)
        assert log.select(
            getattr(ec, metric)("p", "y", threshold=row["threshold"], **keywords)
        ).item() == pytest.approx(best)


def test_equivalent_cost_of_f1_is_that_of_its_threshold() -> None:
    for score, score_type in (("p", "posterior"), ("s", "log_odds")):
        found = ec.equivalent_cost(LOG.ec.sketch(score, "y", score_type=score_type), "f1").to_dicts()[0]
        costs = ec.CostMatrix.binary(found["cost_fn"])
        odds = math.log(1 / found["cost_fn"])
        assert (costs.bayes_threshold() if score == "p" else odds) == pytest.approx(found["threshold"])
    with pytest.raises(SketchError, match="Bayes threshold of no costs"):
        ec.equivalent_cost(LOG.ec.sketch("s", "y", score_type="raw"), "f1")


def test_equivalent_cost_of_a_sensitivity() -> None:
    """Swept over alpha as in the paper: the largest one whose best threshold attains the target."""
    sketch = LOG.ec.sketch("s", "y", by="g", score_type="log_odds", exact=True)
    found = ec.equivalent_cost(sketch, "sensitivity", sensitivity=0.9)
    for group, log, points in parts():
        row = found.filter(g=group).to_dicts()[0]
        for factor, attained in ((1 - 1e-9, True), (1 + 1e-9, False)):
            alpha = row["alpha"] * factor
            _, tpr = min(points, key=lambda point: (alpha * point[0] + 1 - point[1], point[0]))
            assert (tpr >= 0.9) == attained
        p1 = log["y"].mean()
        # alpha = c_fp P_0 / (c_fn P_1)
        assert row["cost_fn"] == pytest.approx((1 - p1) / (row["alpha"] * p1))
        assert log.filter("y").select((pl.col("s") > row["threshold"]).mean()).item() == pytest.approx(
            row["sensitivity"]
        )


def test_groups_with_wrong_rows_have_no_curve() -> None:
    log = pl.DataFrame(
        {"g": ["a", "a", "b", "b", "b"], "p": [0.1, 0.9, 0.1, 0.9, 2.0], "y": [False, True, False, True, True]}
    )
    sketch = log.ec.sketch("p", "y", by="g")
    assert sketch.roc()["g"].unique().to_list() == ["a"]
    assert sketch.roc_hull()["g"].unique().to_list() == ["a"]
    with pytest.raises(SketchError, match="no metric of decisions"):
        sketch.cost_curve("brier")


@pytest.mark.parametrize(
    ("variance", "threshold", "cost_fn", "f1"), [(0.20, -0.6, 1.8, 0.761), (0.06, 0.0, 1.0, 0.961)]
)
def test_costs_of_the_best_f1_of_the_paper(variance: float, threshold: float, cost_fn: float, f1: float) -> None:
    """Ferrer, "The expected cost", section 4: what optimising F1 says about costs, on thresholds 0.1 apart."""
    counts, means = (80_000, 19_999), ((0.0,), (1.0,))
    likelihoods = log_likelihoods(gaussian_classes(counts, means, variance), means, variance)
    log_odds = likelihoods[:, 1] - likelihoods[:, 0] + math.log(0.2 / 0.8)
    # A score is above the same of these thresholds as its next one is.
    log = pl.DataFrame({"s": np.ceil(log_odds * 10) / 10, "y": np.repeat([False, True], counts)})
    sketch = log.ec.sketch("s", "y", score_type="log_odds", exact=True)
    found = ec.equivalent_cost(sketch, "f1").row(0, named=True)
    assert found["threshold"] == pytest.approx(threshold, abs=1e-9)
    assert found["cost_fn"] == pytest.approx(cost_fn, abs=0.05)
    assert found["f1"] == pytest.approx(f1, abs=5e-4)
