"""Estimates of metrics before labels come, against the formulas on the expected rows, written out in plain NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.exceptions import PerformanceWarning
from polars.testing import assert_frame_equal
from scipy import optimize, stats

import polars_ec as ec
from polars_ec.comparisons import unlabelled_units
from polars_ec.comparisons.unlabelled import _chi_squared_tail
from tests.support.estimates import by_sketches, check_clusters

RNG = np.random.default_rng(7)
N = 800
# In the middle of bins, where all rows of a cell have one score.
LOG_ODDS = (np.clip(np.round(RNG.normal(-1, 1.5, N) * 64), -250, 250) + 0.5) / 64
LOG = pl.DataFrame(
    {
        "month": np.repeat([1, 2], N // 2),
        "g": np.tile(["a", "b"], N // 2),
        "p": 1 / (1 + np.exp(-LOG_ODDS)),
        "z": LOG_ODDS,
        "y": RNG.random(N) < 1 / (1 + np.exp(-(0.7 * LOG_ODDS - 0.4))),
        "w": RNG.choice([0.0, 0.5, 1.0, 3.0], N),
        "user": RNG.integers(0, 50, N),
    }
)
LATER = LOG.filter(month=2)
WITHOUT = LOG.with_columns(y=pl.when(pl.col("month") < 2).then("y"))
METRICS = ["expected_cost", "nec", "error_rate", "precision", "recall", "fpr", "f1", "mcc"]
METRICS += ["cross_entropy", "nce", "brier", "nbs", "auc_roc"]


def metrics_of(
    p: np.ndarray, positive: np.ndarray, negative: np.ndarray, t: float, fn: float, fp: float
) -> dict[str, float]:
    """The metrics of rows that count as positive and as negative with these weights, by their definitions."""
    tp, fn_, fp_, tn = positive[p > t].sum(), positive[p <= t].sum(), negative[p > t].sum(), negative[p <= t].sum()
    n1, n0 = tp + fn_, fp_ + tn
    n, p1 = n1 + n0, n1 / (n1 + n0)
    cost = (fn * fn_ + fp * fp_) / n
    ce = -(positive * np.log(p) + negative * np.log1p(-p)).sum() / n
    brier = (positive * (1 - p) ** 2 + negative * p**2).sum() / n
    above = (p[:, None] > p) + (p[:, None] == p) / 2
    return {
        "expected_cost": cost,
        "nec": cost / min(fn * p1, fp * (1 - p1)),
        "error_rate": (fn_ + fp_) / n,
        "precision": tp / (tp + fp_),
        "recall": tp / n1,
        "fpr": fp_ / n0,
        "f1": 2 * tp / (2 * tp + fp_ + fn_),
        "mcc": (tp * tn - fp_ * fn_) / math.sqrt((tp + fp_) * (fn_ + tn) * n1 * n0),
        "cross_entropy": ce,
        "nce": ce / -(p1 * math.log(p1) + (1 - p1) * math.log(1 - p1)),
        "brier": brier,
        "nbs": brier / (p1 * (1 - p1)),
        "auc_roc": positive @ above @ negative / (n1 * n0),
    }


def estimate(log: pl.DataFrame, by_call: Any = ec.estimate, **options: Any) -> pl.DataFrame:
    """The estimates of month 2, by an affine calibrator and without intervals unless others are asked for."""
    call = {"score": "p", "label": "y", "period": "month", "interval": None, "metrics": METRICS, "calibrator": "affine"}
    return by_call(log, **call | options).filter(pl.col("month") == 2)  # type: ignore[no-any-return]


from_rows_and_sketches = pytest.mark.parametrize("by_call", [ec.estimate, by_sketches])


def values(table: pl.DataFrame, column: str = "value") -> dict[str, float]:
    return dict(table.select("metric", column).rows())


def logistic(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> tuple[float, float]:
    """Weighted logistic regression by another optimiser."""

    def loss(ab: np.ndarray) -> float:
        z = ab[0] * x + ab[1]
        return float((w * np.logaddexp(0, np.where(y, -z, z))).sum())

    alpha, beta = optimize.minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-8}).x
    return alpha, beta


def calibrated(weight: str | None = None) -> np.ndarray:
    """The posteriors of month 2 by the logistic regression of month 1."""
    first = LOG.filter(month=1)
    w = np.ones(first.height) if weight is None else first[weight].to_numpy()
    alpha, beta = logistic(first["z"].to_numpy(), first["y"].to_numpy(), w)
    return 1 / (1 + np.exp(-(alpha * LATER["z"].to_numpy() + beta)))


@from_rows_and_sketches
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(("score", "score_type"), [("p", "posterior"), ("z", "log_odds")])
def test_a_row_counts_as_both_classes_with_its_posterior(
    by_call: Any, weight: str | None, score: str, score_type: Any
) -> None:
    p = LATER["p"].to_numpy()
    w = np.ones(len(p)) if weight is None else LATER[weight].to_numpy()
    expected = metrics_of(p, w * p, w * (1 - p), 1 / 6, 5, 1)
    found = estimate(WITHOUT, by_call, score=score, score_type=score_type, calibrator=None, cost_fn=5, weight=weight)
    assert values(found) == pytest.approx(expected, rel=1e-9)
    assert found["class_prior"].to_list() == pytest.approx([(w * p).sum() / w.sum()] * len(METRICS))
    assert found["calibrated_on"].null_count() == found.height


@from_rows_and_sketches
@pytest.mark.parametrize("weight", [None, "w"])
def test_posteriors_are_calibrated_on_the_reference(by_call: Any, weight: str | None) -> None:
    p, q = LATER["p"].to_numpy(), calibrated(weight)
    w = np.ones(len(p)) if weight is None else LATER[weight].to_numpy()
    found = estimate(WITHOUT, by_call, cost_fn=5, weight=weight)
    assert values(found) == pytest.approx(metrics_of(p, w * q, w * (1 - q), 1 / 6, 5, 1), rel=1e-5)
    assert found["reference"].unique().to_list() == ["1"]


def spline(x: np.ndarray, y: np.ndarray, w: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Log-odds by the piecewise linear logistic regression that is documented, by another optimiser."""
    order, mean = np.argsort(x), np.average(x, weights=w)
    below = np.cumsum(w[order]) / w.sum()
    knots = [x[order][np.flatnonzero(below >= share - 1e-9)[0]] for share in (0.2, 0.4, 0.6, 0.8)]
    scale = math.sqrt(np.average((x - mean) ** 2, weights=w))
    rows = sum(w[y == label].sum() ** 2 / (w[y == label] ** 2).sum() for label in (False, True))

    def line(at: np.ndarray, parameters: np.ndarray) -> np.ndarray:
        intercept, *slopes = parameters
        value = intercept + slopes[0] * np.minimum(at - knots[0], 0) / scale
        for slope, low, high in zip(slopes[1:], knots, [*knots[1:], math.inf], strict=True):
            value = value + slope * (np.clip(at, low, high) - low) / scale
        return np.asarray(value)

    def loss(parameters: np.ndarray) -> float:
        losses = (w * np.logaddexp(0, np.where(y, -1, 1) * line(x, parameters))).sum()
        return float(losses * rows / w.sum() + (np.diff(parameters[1:]) ** 2).sum() / 2)

    bounds = [(None, None), *[(0, None)] * 5]
    options = {"ftol": 1e-15, "gtol": 1e-9, "maxiter": 10_000, "maxfun": 100_000}
    return line(at, optimize.minimize(loss, [0.0, *[1.0] * 5], bounds=bounds, options=options).x)


@pytest.mark.parametrize("calibrator", ["temperature", "gaussian", "pav", "histogram"])
def test_other_calibrators_are_those_of_sketches(calibrator: Any) -> None:
    calibration = LOG.filter(month=1).ec.sketch("p", "y").calibrate(calibrator)
    q = LATER.select(calibration.apply("p")).to_series().to_numpy()
    expected = metrics_of(LATER["p"].to_numpy(), q, 1 - q, 0.5, 1, 1)
    # An edge of the histogram lies within a cell, whose rows are all below it.
    off = 0.02 if calibrator == "histogram" else 1e-6
    assert values(estimate(WITHOUT, calibrator=calibrator)) == pytest.approx(expected, rel=off)


@pytest.mark.parametrize("bent", [0.0, 0.25, -0.25])
def test_the_spline_is_a_penalised_regression_that_never_falls(bent: float) -> None:
    rng, x = np.random.default_rng(3), LOG["z"].to_numpy()
    y = rng.random(N) < 1 / (1 + np.exp(-(0.5 * x - bent * (x + 1) ** 2)))
    log = LOG.with_columns(y=pl.Series(y), w=pl.Series(rng.choice([0.5, 1.0], N)))
    first, later = log.filter(month=1), log.filter(month=2)
    log = log.with_columns(y=pl.when(pl.col("month") < 2).then("y"))
    for weight, size in (("w", 1.0), ("w", 4.0), (None, 1.0)):
        w = np.ones(N // 2) if weight is None else first["w"].to_numpy()
        z = spline(first["z"].to_numpy(), first["y"].to_numpy(), w, later["z"].to_numpy())
        q, w = 1 / (1 + np.exp(-z)), np.ones(N // 2) if weight is None else later["w"].to_numpy()
        expected = metrics_of(later["p"].to_numpy(), w * q, w * (1 - q), 1 / 6, 5, 1)
        options = {"cost_fn": 5, "weight": None if weight is None else pl.col(weight) * size}
        assert values(estimate(log, calibrator="spline", **options)) == pytest.approx(expected, rel=1e-5), size
        if bent:
            order = later["z"].arg_sort()
            assert (np.diff(z[order]) >= 0).all()


def test_a_spline_of_scores_whose_order_says_nothing_is_the_base_rate() -> None:
    falling = LOG.with_columns(y=pl.when(pl.col("month") < 2).then(pl.col("z") < -1))
    found = estimate(falling, calibrator="spline", metrics=["precision", "recall"])
    base = falling.filter(month=1)["y"].mean()
    decided = (LATER["p"] > 0.5).mean()
    assert found["value"].to_list() == pytest.approx([base, decided], rel=1e-6)


@pytest.mark.parametrize("seed", [9, 39])
def test_a_spline_of_weights_of_many_magnitudes_has_a_value(seed: int) -> None:
    rng, later = np.random.default_rng(seed), np.array([0.2, 0.4, 0.6, 0.8])
    p, y, w = np.round(rng.uniform(0.05, 0.95, 24), 2), np.arange(24) % 2, 10 ** rng.uniform(-12, 12, 24)
    months = {"month": [1] * 24 + [2] * 4, "p": [*p, *later], "y": [*y, *[None] * 4], "w": [*w, *[1.0] * 4]}
    found = ec.estimate(pl.DataFrame(months), "p", "y", period="month", metrics=["recall"], weight="w", replicates=50)
    first, second = (np.log(of / (1 - of)) for of in (p, later))
    q = 1 / (1 + np.exp(-spline(first, y, w, second)))
    # Scores count as those of their bins.
    assert found["value"][1] == pytest.approx(q[2:].sum() / q.sum(), rel=5e-3)


def em(q: np.ndarray, prior: float, w: np.ndarray) -> float:
    """The iterations of Saerens, Latinne and Decaestecker, Eq. 2.9."""
    new = prior
    for _ in range(20_000):
        positive, negative = q * new / prior, (1 - q) * (1 - new) / (1 - prior)
        new = float((w * positive / (positive + negative)).sum() / w.sum())
    return new


@pytest.mark.parametrize("shift", ["em", 0.2])
def test_posteriors_move_to_another_prior(shift: Any) -> None:
    p, q, prior = LATER["p"].to_numpy(), calibrated(), LOG.filter(month=1)["y"].mean()
    assert isinstance(prior, float)
    new = em(q, prior, np.ones(len(q))) if shift == "em" else shift
    positive, negative = q * new / prior, (1 - q) * (1 - new) / (1 - prior)
    moved = positive / (positive + negative)
    found = estimate(WITHOUT, shift_prior=shift)
    assert values(found) == pytest.approx(metrics_of(p, moved, 1 - moved, 0.5, 1, 1), rel=1e-5)
    assert found["class_prior"][0] == pytest.approx(new if shift == "em" else moved.mean(), rel=1e-5)
    assert (found["shift_p_value"].null_count() == 0) == (shift == "em")


@pytest.mark.parametrize("n_free", [1, 2, 3, 8])
def test_the_tail_of_chi_squared(n_free: int) -> None:
    for x in (0.0, 0.3, 5.0, 40.0):
        assert _chi_squared_tail(x, n_free) == pytest.approx(stats.chi2.sf(x, n_free), rel=1e-9)


@pytest.mark.slow
def test_the_p_value_is_small_where_not_only_the_prior_changed() -> None:
    rng, p_values = np.random.default_rng(2), []
    for spread in [1.0] * 8 + [2.0] * 4:
        y = rng.random(4000) < np.repeat([0.4, 0.2], 2000)
        z = np.where(y, 1.0, -1.0) + rng.normal(size=4000) * np.repeat([1.0, spread], 2000)
        log = pl.DataFrame({"month": np.repeat([1, 2], 2000), "p": 1 / (1 + np.exp(-z)), "y": y})
        p_values.append(estimate(log, shift_prior="em", metrics=["nec"])["shift_p_value"].item())
    assert min(p_values[:8]) > 0.01
    assert max(p_values[:8]) > 0.5
    assert max(p_values[8:]) < 1e-6


# Labels that have come.

SOME = LOG.with_columns(y=pl.when((pl.col("month") < 2) | (pl.int_range(pl.len()) % 3 == 0)).then("y"))


def corrected(log: pl.DataFrame, odds: np.ndarray | None = None) -> dict[str, float]:
    """Expected rows plus N / n times what the labelled ones differ by, as prediction-powered inference has it."""
    rows = log.filter(month=2).with_columns(y=LATER["y"], known=pl.col("y").is_not_null())
    p, y, known, q = rows["p"].to_numpy(), rows["y"].to_numpy(), rows["known"].to_numpy(), calibrated()
    weight = np.ones(known.sum()) if odds is None else odds[known]
    extra = np.zeros(len(p))
    extra[known] = (~known).sum() * weight / weight.sum()
    difference = (y - q) * extra
    return metrics_of(p, np.where(known, y, q) + difference, np.where(known, 1.0 - y, 1 - q) - difference, 1 / 6, 5, 1)


@from_rows_and_sketches
def test_labels_that_have_come_correct_the_estimate(by_call: Any) -> None:
    found = estimate(SOME, by_call, cost_fn=5)
    assert values(found) == pytest.approx(corrected(SOME), rel=1e-5)
    assert found["n_labelled"].unique().to_list() == [LATER.height // 3]
    assert found["observed"].null_count() == found.height


@pytest.mark.slow
def test_selected_labels_are_weighted_by_their_probability() -> None:
    probability = pl.when(pl.col("z") > -1).then(0.8).otherwise(0.25)
    some = SOME.with_columns(c=probability)
    odds = 1 / some.filter(month=2)["c"].to_numpy() - 1
    found = estimate(some, cost_fn=5, label_probability="c")
    assert values(found) == pytest.approx(corrected(SOME, odds), rel=1e-5)
    assert_frame_equal(
        estimate(some, cost_fn=5, label_probability=pl.lit(0.5)), estimate(SOME, cost_fn=5), rel_tol=1e-9
    )
    for wrong in (1.5, 0.0, -1.0, None):
        bad = some.with_columns(
            c=pl.when((pl.col("month") == 2) & (pl.int_range(pl.len()) == N - 2)).then(wrong).otherwise("c")
        )
        with pytest.warns(UserWarning, match="1 rows have an invalid score, label, weight or label probability"):
            assert estimate(bad, label_probability="c")["value"].null_count() == len(METRICS), wrong


def test_few_labels_count_as_observed_and_correct_nothing() -> None:
    few = LOG.with_columns(y=pl.when((pl.col("month") < 2) | (pl.int_range(pl.len()) >= N - 20)).then("y"))
    q = calibrated()
    q[-20:] = LATER["y"].to_numpy()[-20:]
    assert values(estimate(few)) == pytest.approx(metrics_of(LATER["p"].to_numpy(), q, 1 - q, 0.5, 1, 1), rel=1e-5)


def test_with_all_its_labels_a_group_has_the_observed_value() -> None:
    half = LOG.with_columns(y=pl.when((pl.col("month") < 2) | (pl.col("g") == "a")).then("y"))
    found = estimate(half, by="g", interval=0.95, replicates=20).filter(g="a")
    assert found["value"].to_list() == pytest.approx(found["observed"].to_list(), rel=1e-12)
    observed = LOG.filter(month=2, g="a").ec.sketch("p", "y").evaluate(*METRICS)
    assert found["observed"].to_list() == pytest.approx(list(observed.select(METRICS).row(0)), rel=1e-12)


def test_a_labelled_period_is_estimated_as_if_it_had_no_label() -> None:
    call: dict[str, Any] = {"by": "g", "cost_fn": 3, "interval": 0.9, "replicates": 30}
    found, blind = estimate(LOG, **call), estimate(WITHOUT, **call)
    hidden = ["observed", "covered", "n_labelled"]
    assert_frame_equal(found.drop(hidden), blind.drop(hidden), rel_tol=1e-9)
    assert blind["observed"].null_count() == blind.height
    covered = found["observed"].is_between(found["value_ci_low"], found["value_ci_high"])
    assert found["covered"].to_list() == covered.to_list()
    assert found["covered"].mean() > 0.5  # type: ignore[operator]


# References, groups, and rows that are not used.


def test_the_reference_is_the_last_labelled_period_before() -> None:
    months = pl.concat([LOG.with_columns(month=pl.lit(m)) for m in (1, 2, 3, 4)])
    months = months.with_columns(y=pl.when(pl.col("month") != 3).then("y"))
    call: dict[str, Any] = {"period": "month", "metrics": ["nec"], "interval": None}
    found = months.ec.estimate("p", "y", **call)
    assert found["reference"].to_list() == [None, "1", "2", "2"]
    assert found["value"].is_null().to_list() == [True, False, False, False]
    assert found["observed"].is_null().to_list() == [False, False, True, False]
    fixed = months.ec.estimate("p", "y", reference=4, **call)
    assert fixed["reference"].to_list() == ["4", "4", "4", None]
    with pytest.raises(ValueError, match="reference=3 has no labels"):
        months.ec.estimate("p", "y", reference=3, **call)
    with pytest.raises(ValueError, match="reference=9 is not a group of month"):
        months.ec.estimate("p", "y", reference=9, **call)
    no_time = months.with_columns(month=pl.when(pl.col("month") < 4).then("month"))
    assert no_time.ec.estimate("p", "y", **call)["reference"].to_list() == [None, None, "1", "2"]


@pytest.mark.quick("*-estimate")
@from_rows_and_sketches
@pytest.mark.parametrize("name", ["cell", "bucket", "plane", "row", "members"])
def test_group_columns_and_periods_may_have_any_name(by_call: Any, name: str) -> None:
    log = WITHOUT.with_columns(h=(pl.col("g") == "b").cast(pl.Int64))
    call: dict[str, Any] = {"interval": 0.9, "replicates": 20, "metrics": ["nec", "auc_roc"]}
    expected = estimate(log, by_call, by="h", **call)
    assert_frame_equal(estimate(log.rename({"h": name}), by_call, by=name, **call).rename({name: "h"}), expected)
    periods = {"score": "p", "label": "y", "by": "h", "calibrator": "affine", **call}
    found = by_call(log.rename({"month": name}), period=name, **periods).rename({name: "month"})
    assert_frame_equal(found.filter(month=2), expected)


def test_a_null_group_comes_first_as_in_a_report() -> None:
    log = LOG.with_columns(g=pl.when(pl.col("g") != "a").then("g"))
    assert estimate(log, by="g", metrics=["nec"])["g"].to_list() == [None, "b"]
    folds: dict[str, Any] = {"by": "g", "folds": 2, "fold_by": "user"}
    tables = [log.ec.calibration_loss("p", "y", **folds), log.ec.sketch("p", "y", **folds).calibration_loss()]
    tables += [log.ec.sketch("p", "y", by="g", reduction=of).evaluate("nec") for of in ("one_vs_rest", "decisions")]
    assert [table["g"].to_list() for table in tables] == [log.ec.report("p", "y", by="g")["g"].to_list()] * 4


def test_a_small_group_takes_the_calibrator_of_all() -> None:
    small = pl.concat([WITHOUT.filter(g="a"), WITHOUT.filter(g="b").gather_every(5)])
    found = estimate(small, by="g", metrics=["nec", "auc_roc"])
    assert found["calibrated_on"].to_list() == ["group", "group", "all groups", "all groups"]
    calibration = small.filter(month=1).ec.sketch("p", "y").calibrate()
    q = small.filter(month=2, g="b").select("p", q=calibration.apply("p"))
    expected = metrics_of(q["p"].to_numpy(), q["q"].to_numpy(), 1 - q["q"].to_numpy(), 0.5, 1, 1)
    assert found.filter(g="b")["value"].to_list() == pytest.approx([expected["nec"], expected["auc_roc"]], rel=1e-6)


def test_a_group_that_the_reference_lacks_is_calibrated_on_all_groups_even_if_there_is_one() -> None:
    log = pl.concat([WITHOUT.filter(g="a"), WITHOUT.filter(month=2, g="b")])
    for name in ("b", "0"):
        named = log.with_columns(pl.col("g").replace("b", name))
        found = named.ec.estimate("p", "y", period="month", by="g", metrics=["recall"], interval=None).filter(month=2)
        assert dict(found.select("g", "calibrated_on").rows()) == {"a": "group", name: "all groups"}


@pytest.mark.quick("estimate")
@from_rows_and_sketches
def test_missing_and_invalid_rows(by_call: Any) -> None:
    at = pl.int_range(pl.len())
    missing = WITHOUT.with_columns(p=pl.when(at < N - 5).then("p"))
    found = estimate(missing, by_call)
    assert found.select("n", "n_missing", "n_invalid").row(0) == (N // 2 - 5, 5, 0)
    assert values(found) == pytest.approx(values(estimate(WITHOUT.head(N - 5))), rel=1e-12)
    for place, wrong in ((N - 1, math.nan), (N - 1, 1.5), (0, math.nan)):
        bad = WITHOUT.with_columns(p=pl.when(at == place).then(wrong).otherwise("p"))
        with pytest.warns(
            UserWarning, match="^1 rows have an invalid score, label, weight or label probability, so the estimates"
        ):
            found = estimate(bad, by_call, interval=0.9, replicates=5)
        assert found["value"].null_count() == len(METRICS)
        assert found["n_invalid"].to_list() == [int(place > 0)] * len(METRICS)
    one_class = WITHOUT.with_columns(y=pl.when(pl.col("month") < 2).then(pl.lit(value=True)))
    assert estimate(one_class, by_call, interval=0.9, replicates=5)["value"].null_count() == len(METRICS)
    empty = by_call(LOG.head(0), "p", "y", period="month", by="g")
    assert empty.height == 0
    assert empty.schema == LOG.ec.estimate("p", "y", period="month", by="g", interval=None).schema


def test_infinite_log_odds_are_certain() -> None:
    sure = WITHOUT.with_columns(p=pl.when(pl.int_range(pl.len()) % 40 == 0).then(pl.col("p").round()).otherwise("p"))
    sure = sure.with_columns(y=pl.when(pl.col("p").is_in([0.0, 1.0])).then(pl.col("p") == 1).otherwise("y"))
    found = values(estimate(sure, calibrator=None))
    assert all(math.isfinite(value) for value in found.values())


def test_scores_without_any_labels_need_no_reference_if_they_are_calibrated() -> None:
    none = LOG.with_columns(y=pl.lit(None, dtype=pl.Boolean))
    found = estimate(none, calibrator=None, interval=0.95, replicates=50, metrics=["recall"])
    p = LATER["p"].to_numpy()
    assert found["value"].item() == pytest.approx(p[p > 0.5].sum() / p.sum())
    assert found["value_ci_low"].item() < found["value"].item() < found["value_ci_high"].item()
    assert estimate(none)["value"].null_count() == len(METRICS)
    assert estimate(none, calibrator=None, shift_prior="em")["value"].null_count() == len(METRICS)


# The call.


@pytest.mark.quick("<lambda>0", "<lambda>3")
@pytest.mark.parametrize(
    "change",
    [
        lambda log: {"frame": log.lazy()},
        lambda log: {"frame": log.sample(fraction=1, shuffle=True, seed=1)},
        lambda log: {"frame": log.with_columns(y=pl.col("y").cast(pl.Int8))},
        lambda log: {
            "frame": log.with_columns(y=pl.when("y").then(pl.lit("yes")).when(~pl.col("y")).then(pl.lit("no"))),
            "pos_label": "yes",
        },
        lambda log: {
            "frame": log.with_columns(y=pl.when("y").then(pl.lit("1")).when(~pl.col("y")).then(pl.lit("0"))),
            "classes": ["0", "1"],
        },
        lambda log: {"frame": log, "threshold": 0.25},
        lambda log: {"frame": log, "by": pl.lit("x").alias("g")},
        lambda log: {"frame": log.to_arrow()},
    ],
)
def test_the_same_estimates_by_every_call(change: Callable[[pl.DataFrame], dict[str, Any]]) -> None:
    call: dict[str, Any] = {"period": "month", "cost_fn": 3, "replicates": 10, "metrics": ["nec", "nce", "auc_roc"]}
    expected = SOME.ec.estimate("p", "y", **call)
    found = ec.estimate(**{"score": "p", "label": "y", **call, **change(SOME)})
    assert_frame_equal(found.drop("g", strict=False), expected, rel_tol=1e-9)


@pytest.mark.slow
def test_several_models_are_those_one_by_one() -> None:
    log = SOME.with_columns(q=pl.col("p") ** 2)
    call: dict[str, Any] = {"period": "month", "by": "g", "replicates": 10, "metrics": ["nec", "f1"]}
    found = log.ec.estimate(["p", "q"], "y", **call)
    each = [log.ec.estimate(model, "y", **call) for model in ("p", "q")]
    expected = pl.concat(each).sort("g", "month", "model", maintain_order=True)
    assert_frame_equal(found, expected, rel_tol=1e-9)


def test_at_a_reference_prior() -> None:
    q = calibrated()
    p = LATER["p"].to_numpy()
    w1, w0 = 0.3 * q / q.sum(), 0.7 * (1 - q) / (1 - q).sum()
    found = estimate(WITHOUT, prior=0.3, metrics=["nec", "precision", "nce"])
    expected = metrics_of(p, w1, w0, 0.5, 1, 1)
    assert values(found) == pytest.approx({name: expected[name] for name in ("nec", "precision", "nce")}, rel=1e-5)


@pytest.mark.slow
def test_random_numbers_are_those_of_the_seed() -> None:
    call: dict[str, Any] = {"interval": 0.9, "replicates": 20, "metrics": ["nec"]}
    ends = [estimate(SOME, seed=seed, **call).select("value_ci_low", "value_ci_high").row(0) for seed in (0, 0, 1)]
    assert ends[0] == ends[1] != ends[2]
    # Other groups do not change those of a group.
    alone = estimate(SOME.filter(g="a"), by="g", **call)
    assert_frame_equal(estimate(SOME, by="g", **call).filter(g="a"), alone, rel_tol=1e-9)


def test_clusters() -> None:
    check_clusters(estimate, WITHOUT, interval=0.95, replicates=200, metrics=["nec", "recall"])


def test_long_work_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlabelled_units, "_LONG", 0.0)
    with pytest.warns(
        PerformanceWarning,
        match=r"2 groups and .* with 5 replicates take about 0 s. Pass fewer replicates or interval=None",
    ):
        estimate(WITHOUT, interval=0.9, replicates=5, metrics=["nec"])


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"score": ["p", pl.concat_arr("p", 1 - pl.col("p")).alias("v")]},
            ValueError,
            "'v', with K scores per row, beside one number per row: estimate them separately",
        ),
        ({"score_type": "posteriors"}, ValueError, "is for one vector per row"),
        ({"score_type": "llr"}, ValueError, "score_type='llr' gives no posteriors: pass ec.posterior"),
        ({"score_type": "raw"}, ValueError, "score_type='raw' gives no posteriors"),
        ({"label": "g"}, TypeError, "label 'g' is String"),
        ({"metrics": ["eer"]}, ValueError, "metrics= holds 'eer', which cannot be estimated"),
        ({"metrics": ["tp"]}, ValueError, "metrics= holds 'tp'"),
        ({"metrics": "nec"}, TypeError, r"pass \['nec'\]"),
        ({"calibrator": "platt"}, ValueError, "calibrator='platt' is none of spline, affine"),
        ({"shift_prior": "bbse"}, ValueError, "shift_prior='bbse' is not 'em', nor a prior"),
        ({"shift_prior": 1.0}, ValueError, r"shift_prior=1\.0 is not"),
        ({"labelled": 0}, ValueError, "labelled=0 is not a share"),
        ({"labelled": 90}, ValueError, "labelled=90 is not a share"),
        ({"labelled": "y"}, ValueError, "labelled='y' is not a share .* Rows without a label have null in label="),
        ({"cost_fp": pl.col("w")}, ValueError, r'cost_fp=col\("w"\) is a column'),
        ({"interval": 95}, ValueError, r"interval=95 .*pass 0\.95"),
        ({"prior": pl.col("w")}, ValueError, "prior="),
        ({"prior": "overall"}, ValueError, "prior='overall'"),
        ({"replicates": 1}, ValueError, "replicates=1 is not a whole number from 2"),
        ({"period": ["month", "g"]}, ValueError, "it takes one column"),
        ({"by": "month"}, ValueError, "is also a column in by="),
        ({"by": pl.col("g").alias("value")}, ValueError, "by= has a column 'value', as the result has"),
        ({"cost_fn": "w"}, ValueError, "cost_fn='w' is a column, but an estimate has one cost for all rows"),
        ({"costs": [[0, 1, 0.5], [1, 0, 0.5]]}, ValueError, "two decisions"),
        ({"threshhold": 0.5}, TypeError, "threshold"),
    ],
)
def test_misuse_says_what_to_do(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ec.estimate(**{"frame": LOG.lazy(), "score": "p", "label": "y", "period": "month", "interval": None, **options})
