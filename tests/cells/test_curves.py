"""Curves: every operating point of small logs, counted one by one."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from sklearn.isotonic import IsotonicRegression

import polars_ec as ec
from examples.papers.simulated import gaussian_classes, log_likelihoods
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import CELLS, DECISIONS, direction
from tests.support import ranking_oracle as oracle
from tests.support.calibration_oracle import plain_gaussian, plain_newton
from tests.support.cases import mostly_slow
from tests.support.profile import EXAMPLES, PROFILE

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


@pytest.mark.parametrize(("score", "score_type"), [("p", "posterior"), ("s", "log_odds"), ("s", "llr")])
@pytest.mark.parametrize("exact", [True, False])
def test_tippett_curves_are_shares_above(score: str, score_type: str, exact: bool) -> None:
    curve = LOG.ec.sketch(score, "y", by="g", score_type=score_type, exact=exact).tippett()
    assert curve.columns == ["g", "threshold", "positives_above", "negatives_above"]
    for group, log, _ in parts():
        s, y = log["s"].to_numpy(), log["y"].to_numpy()
        of_group = curve.filter(g=group).drop("g")
        assert of_group.row(0) == (math.inf, 0, 0)
        assert of_group.row(-1)[1:] == (1, 1)
        for threshold, positives, negatives in of_group.rows():
            # Rounding of posteriors: a score that is a threshold is not above it; one on the lower edge of a bin is.
            slack = 1e-9 if exact or threshold == 0 else -1e-9
            above = s > threshold + (slack if score == "p" else 0)
            assert positives == pytest.approx(above[y].mean(), abs=1e-12)
            assert negatives == pytest.approx(above[~y].mean(), abs=1e-12)
    with pytest.raises(SketchError, match="the sketch has raw scores: use roc"):
        LOG.ec.sketch("s", "y", score_type="raw").tippett()


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
            # A posterior moves by a quarter of what its log-odds do at most, and these by half a bin.
            assert row["posterior"] == pytest.approx(inside["p"].mean(), abs=1 / (4 * 2 * 64))
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
    alpha, beta = plain_gaussian(x, y, w) if calibrator == "gaussian" else plain_newton(x, y, w, calibrator == "affine")
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


CALIBRATORS = ("affine", "temperature", "gaussian", "pav", "histogram")
KINDS_OF_CURVES = [*product(CALIBRATORS, [("p", "posterior"), ("s", "log_odds")], [True, False], [None, "w"])]


@pytest.mark.quick("affine-p-*", "temperature-s-*", "gaussian-p-*", "pav-s-*", "histogram-p-*")
@pytest.mark.parametrize(
    ("calibrator", "score", "score_type", "exact", "weight"),
    # Every calibrator of both kinds of cells and both kinds of scores, with and without weights.
    mostly_slow(
        [(calibrator, *score, exact, weight) for calibrator, score, exact, weight in KINDS_OF_CURVES],
        [(calibrator, "p", "posterior", True, "w") for calibrator in CALIBRATORS]
        + [(calibrator, "s", "log_odds", False, None) for calibrator in CALIBRATORS],
    ),
)
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
@pytest.mark.parametrize("resolution", [2, 8, 64])
def test_calibration_curve_is_near_for_scores_anywhere_in_a_cell(calibrator: str, resolution: int) -> None:
    exact, binned = (
        LOG.ec.sketch("p", "y", by="g", exact=e, resolution=resolution).reliability(calibrator=calibrator)
        for e in (True, False)
    )
    bounded = ("posterior", "calibrated")
    assert_frame_equal(exact.drop(bounded), binned.drop(bounded))
    gaps = {name: (exact[name] - binned[name]).abs().max() for name in bounded}
    assert gaps["posterior"] <= 1 / (8 * resolution)
    assert gaps["calibrated"] <= {"affine": 1 / (8 * resolution), "pav": 0.05 * max(1, 16 / resolution)}[calibrator]


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


@pytest.mark.quick("affine-*", "pav-*")
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("calibrator", ["affine", "temperature", "gaussian", "pav", "histogram"])
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
        with pytest.raises(SketchError, match=f"the sketch has {score_type} scores"):
            LOG.ec.sketch("s", "y", score_type=score_type).reliability()
    for name in ("bin", "calibrated", "positive_share"):
        with pytest.raises(SketchError, match=f"group column '{name}'"):
            LOG.ec.sketch("p", "y", by=pl.col("g").alias(name), exact=True).reliability()
    assert 0 < sketch.reliability(resolution=64).height <= N


def at_thresholds(log: pl.DataFrame, thresholds: list[float], metrics: list[pl.Expr]) -> pl.DataFrame:
    """A row for each threshold: metrics of the decisions `d` to which it leads."""
    at = pl.DataFrame({"at": thresholds}, schema={"at": pl.Float64}).with_row_index("number")
    decided = at.join(log, how="cross").with_columns(d=pl.col("p") > pl.col("at"))
    return decided.group_by("number", "at").agg(metrics).sort("number")


@pytest.mark.parametrize("metric", ["f1", "nec", "mcc", "net_benefit"])
def test_best_threshold(metric: str) -> None:
    keywords = {"p_t": 0.3} if metric == "net_benefit" else {}
    found = LOG.ec.sketch("p", "y", by="g", exact=True).best_threshold(metric, **keywords)
    for group, log, _ in parts():
        row = found.filter(g=group).to_dicts()[0]
        thresholds = [-1.0, *log["p"].unique()]
        values = at_thresholds(log, thresholds, [getattr(ec, metric)("d", "y", score_type="decision", **keywords)])
        values = values[f"d_{metric}"]
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
    with pytest.raises(SketchError, match="a threshold on raw scores does not correspond to costs"):
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
    with pytest.raises(SketchError, match="not a metric of decisions"):
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


# Edges of bins, computed in several ways ---------------------------------------------------------------------------------

WAYS = {
    "as the package": lambda k, bins: math.log(k / (bins - k)),
    "two logarithms": lambda k, bins: np.log(k / bins) - np.log1p(-k / bins),
    "of the odds": lambda k, bins: np.log((k / bins) / (1 - k / bins)),
    "of a quotient": lambda k, bins: -math.log(bins / k - 1),
    "some units lower": lambda k, bins: moved_by_units(math.log(k / (bins - k)), -3),
    "some units higher": lambda k, bins: moved_by_units(math.log(k / (bins - k)), 3),
}


def moved_by_units(x: float, units: int) -> float:
    """By so many units in the last place of the larger of x and 1: as rounding moves a difference of logarithms."""
    return x + units * math.ulp(max(abs(x), 1.0))


@pytest.mark.quick("as the package-10", "of a quotient-15", "some units*")
@pytest.mark.parametrize(
    ("way", "bins"),
    mostly_slow(
        product(WAYS, [2, 10, 15, 40]),
        [*((way, 15) for way in WAYS), *(("as the package", bins) for bins in (2, 10, 40))],
    ),
)
def test_an_edge_is_an_edge_however_it_is_computed(way: str, bins: int) -> None:
    """Whatever CPU computed the last digits of the declared thresholds."""
    thresholds = [float(WAYS[way](k, bins)) for k in range(1, bins)]
    log = LOG.filter(pl.col("s") != 0)  # on the very edge the way decides
    sketch = log.ec.sketch("s", "y", score_type="log_odds", thresholds=thresholds)
    found = sketch.evaluate("ece", bins=bins).row(0, named=True)
    wanted = log.select(ec.ece("p", "y", bins=bins)).item()
    assert found["ece_error"] == 0
    assert found["ece"] == pytest.approx(wanted, rel=1e-12)
    assert sketch.evaluate("ece", bins=bins, norm=2)["ece"].item() == pytest.approx(
        log.select(ec.ece("p", "y", bins=bins, norm=2)).item(), rel=1e-12
    )
    steps = sketch.calibrate("histogram", bins=bins).frame
    inside = np.searchsorted(np.arange(1, bins) / bins, log["p"].to_numpy(), side="left")
    used = np.unique(inside)
    shares = [log["y"].to_numpy()[inside == b].mean() for b in used]
    edges = [-math.inf, *(math.log(b / (bins - b)) for b in used[1:])]
    assert steps["above"].to_list() == pytest.approx(edges, abs=1e-14)
    assert (1 / (1 + np.exp(-steps["log_odds"].to_numpy()))).tolist() == pytest.approx(shares)


@pytest.mark.quick("as the package", "some units*")
@pytest.mark.parametrize("way", WAYS)
def test_a_bayes_threshold_is_one_however_it_is_computed(way: str) -> None:
    for k, bins in ((1, 5), (7, 15), (2, 3)):
        threshold = float(WAYS[way](k, bins))
        sketch = LOG.ec.sketch("s", "y", score_type="log_odds", threshold=threshold)
        found = sketch.evaluate("nec", cost_fn=bins - k, cost_fp=k)
        assert found["nec"].item() == pytest.approx(
            LOG.select(ec.nec("p", "y", threshold=k / bins, cost_fn=bins - k, cost_fp=k)).item()
        )
    # A threshold that is stated is taken by its word.
    sketch = LOG.ec.sketch("s", "y", score_type="log_odds", threshold=0.25)
    assert "nec" in sketch.evaluate("nec", threshold=0.25).columns
    assert "nec_low" in sketch.evaluate("nec", threshold=0.25 + 2**-50).columns


def test_sketches_of_thresholds_that_differ_in_a_bit_are_not_added_up() -> None:
    """A score between the two is on one side in one sketch and on the other side in the other."""
    one, other = (LOG.ec.sketch("s", "y", score_type="log_odds", thresholds=[t]) for t in (0.3, moved_by_units(0.3, 2)))
    with pytest.raises(SketchError, match="sketches with different thresholds"):
        one + other


# The best threshold ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [name for name in DECISIONS if direction(name) is not None])
def test_the_best_threshold_of_every_metric_is_the_better_one(metric: str) -> None:
    """Where a threshold makes no error, no metric is better anywhere, and many are worse."""
    log = pl.DataFrame({"p": [0.9, 0.8, 0.7, 0.3, 0.2, 0.1], "y": [1, 1, 1, 0, 0, 0]})
    keywords = {"p_t": 0.5} if metric == "net_benefit" else {"prior": 0.5} if metric == "dcf" else {}
    score, score_type = ("s", "llr") if metric == "dcf" else ("p", "posterior")
    log = log.with_columns(s=(pl.col("p") / (1 - pl.col("p"))).log())
    sketch = log.ec.sketch(score, "y", score_type=score_type, exact=True)
    perfect = sketch.evaluate(metric, threshold=0.0 if metric == "dcf" else 0.5, **keywords)[metric].item()
    curve = sketch.cost_curve(metric, **keywords)[metric].drop_nulls()
    assert curve.n_unique() > 1
    assert sketch.best_threshold(metric, **keywords)[metric].item() == pytest.approx(perfect)


def test_curves_take_no_threshold() -> None:
    sketch = LOG.ec.sketch("p", "y")
    for ask in (sketch.cost_curve, sketch.best_threshold):
        with pytest.raises(TypeError, match=r"has no keyword threshold="):
            ask("nec", threshold=0.3)


WEIGHTED_LOGS = st.lists(
    st.tuples(st.integers(0, 12), st.booleans(), st.sampled_from([0.1, 0.2, 0.3, 0.7, 1.1, 1e-3])),
    min_size=2,
    max_size=14,
).filter(lambda rows: 0 < sum(y for _, y, _ in rows) < len(rows))


@pytest.mark.slow
@settings(PROFILE, max_examples=int(EXAMPLES or 4))
@given(WEIGHTED_LOGS, st.booleans())
def test_no_weight_is_below_0(rows: list[tuple[int, bool, float]], made_exact: bool) -> None:
    """What is left of sums of weights is a sum too: against the expressions, which sum anew at every threshold."""
    log = pl.DataFrame(rows, schema=["k", "y", "w"], orient="row").with_columns(p=(pl.col("k") * 2 + 1) / 26)
    sketch = log.ec.sketch("p", "y", weight="w", exact=made_exact)
    metrics = [name for name in DECISIONS if name not in ("dcf", "net_benefit", "bayes_risk", *CELLS)]
    curve = sketch.cost_curve(*metrics, *CELLS)
    assert curve.select(pl.min_horizontal(pl.col(CELLS).min())).item() >= 0
    of_decisions = [getattr(ec, name)("d", "y", weight="w", score_type="decision").alias(name) for name in metrics]
    expected = at_thresholds(log, curve["threshold"].to_list(), of_decisions)
    for row, anew in zip(curve.to_dicts(), expected.to_dicts(), strict=True):
        at = row["threshold"]
        for name in metrics:
            wanted = anew[name]
            assert (row[name] is None) == (wanted is None), (name, at)
            assert wanted is None or row[name] == pytest.approx(wanted, rel=1e-9, abs=1e-12), (name, at)
        if not made_exact:
            continue
        evaluated = sketch.evaluate(*metrics, *CELLS, threshold=at).row(0, named=True)
        assert min(evaluated[name] for name in CELLS) >= 0
        assert_frame_equal(
            pl.DataFrame([evaluated])[metrics], pl.DataFrame([row])[metrics], abs_tol=1e-12, rel_tol=1e-9
        )


def test_the_worked_example_of_weights() -> None:
    log = pl.DataFrame({"s": [0.05, 0.35, 0.65, 0.95], "y": [1, 0, 1, 1], "w": [0.2, 0.1, 0.3, 0.1]})
    sketch = log.ec.sketch("s", "y", weight="w", exact=True)
    # At -inf nothing is decided negative; below 0.35 the miss has company.
    assert sketch.best_threshold("lr_minus").row(0) == pytest.approx((0.35, (0.2 / 0.6) / (0.1 / 0.1)))
    assert all(-1 <= x <= 1 for x in sketch.cost_curve("mcc")["mcc"].drop_nulls())


# Costs that somebody has chosen ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("score_type", ["posterior", "log_odds"])
@pytest.mark.parametrize("made_exact", [True, False])
@pytest.mark.parametrize(
    ("p", "y", "metric", "cost_fn"),
    [
        # All decided positive is best: misses cost infinitely more. Nothing is: they cost nothing.
        ([0.0, 0.6, 0.4, 0.8], [1, 1, 0, 1], "f1", math.inf),
        ([1.0, 0.4, 0.7, 0.2], [0, 0, 0, 1], "accuracy", 0.0),
    ],
)
def test_equivalent_costs_at_the_ends(p, y, metric: str, cost_fn: float, made_exact: bool, score_type: str) -> None:
    log = pl.DataFrame({"p": p, "y": y}).with_columns(s=(pl.col("p") / (1 - pl.col("p"))).log())
    score = "p" if score_type == "posterior" else "s"
    found = ec.equivalent_cost(log.ec.sketch(score, "y", exact=made_exact, score_type=score_type), metric)
    assert found["cost_fn"].item() == cost_fn


@pytest.mark.quick("True-*")
@pytest.mark.parametrize("x", [-745.0, -300.0, -37.0, -30.0, -25.0, 0.0, 25.0, 30.0, 37.0, 300.0, 709.0, 745.0, 1400.0])
@pytest.mark.parametrize("made_exact", [True, False])
def test_bayes_error_far_from_even_priors(x: float, made_exact: bool) -> None:
    """DCF = (P1 FNR + P0 FPR) / min(P1, P0) with long floats, at thresholds where FNR or FPR is 0 and where neither is."""
    rows = {
        "llr": [-800.0, -400.0, -27.0, -3.0, 0.5, 4.0, 26.0, 28.0, 350.0, 800.0],
        "y": [0, 0, 0, 1, 0, 1, 0, 1, 1, 1],
    }
    log = pl.DataFrame(rows)
    found = (
        log.ec.sketch("llr", "y", score_type="llr", exact=made_exact, thresholds=[-x])
        .bayes_error([x])
        .row(0, named=True)
    )
    with mpmath.workdps(1000):
        p1 = 1 / (1 + mpmath.exp(-mpmath.mpf(x)))
        p0 = 1 / (1 + mpmath.exp(mpmath.mpf(x)))

        def dcf(threshold: float) -> mpmath.mpf:
            decided = [s > threshold for s in rows["llr"]]
            fnr = mpmath.mpf(sum(y and not d for d, y in zip(decided, rows["y"], strict=True))) / 5
            fpr = mpmath.mpf(sum(d and not y for d, y in zip(decided, rows["y"], strict=True))) / 5
            return (p1 * fnr + p0 * fpr) / min(p0, p1)

        actual, least = float(dcf(-x)), float(min(dcf(t) for t in [-math.inf, *rows["llr"]]))
    assert found["dcf"] == pytest.approx(actual, rel=1e-12)
    assert found["min_dcf"] - found["min_dcf_error"] <= least * (1 + 1e-12)
    assert found["min_dcf"] >= least * (1 - 1e-12)
    assert not made_exact or found["min_dcf"] == pytest.approx(least, rel=1e-12)


def test_bayes_error_refuses() -> None:
    sketch = LOG.ec.sketch("s", "y", score_type="llr")
    with pytest.raises(ValueError, match="leaves only one class"):
        sketch.bayes_error([0.0, math.inf])
    with pytest.raises(ValueError, match="prior_log_odds=nan"):
        sketch.bayes_error([math.nan])
