"""Estimates of metrics of K classes before labels come, against plain NumPy formulas."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import optimize

import polars_ec as ec
from polars_ec.api import estimates
from polars_ec.comparisons.unlabelled_units import estimated, likeliest_priors
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.reports.models import FORMULAS
from tests.support.estimates import check_clusters

RNG = np.random.default_rng(11)
N, K = 900, 3
COSTS = [[0.0, 1.0, 2.0, 0.4], [3.0, 0.0, 1.0, 0.4], [1.0, 4.0, 0.0, 0.4]]
METRICS = ["expected_cost", "nec", "error_rate", "accuracy", "balanced_accuracy", "macro_precision", "macro_f1"]
METRICS += ["weighted_f1", "micro_f1", "f1_of_averages", "cross_entropy", "nce", "brier", "nbs"]


def softmax(z: np.ndarray) -> np.ndarray:
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def drawn(q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return np.asarray((q.cumsum(axis=1) < rng.random(len(q))[:, None]).sum(axis=1))


Q = softmax(RNG.normal([0.6, 0.0, -0.4], 1.5, (N, K)))
Y = drawn(softmax(0.6 * np.log(Q) + [-0.3, 0.5, 0.0]), RNG)
W = RNG.choice([0.0, 0.5, 1.0, 3.0], N)
LOG = pl.DataFrame(
    {
        "month": np.repeat([1, 2], N // 2),
        "g": np.tile(["a", "b", "b"], N // 3),
        "q": pl.Series(Q, dtype=pl.Array(pl.Float64, K)),
        "y": Y,
        "w": W,
        "user": RNG.integers(0, 60, N),
    }
)
WITHOUT = LOG.with_columns(y=pl.when(pl.col("month") < 2).then("y"))
FIRST, LATER = np.arange(N) < N // 2, np.arange(N) >= N // 2


def metrics_of(q: np.ndarray, amounts: np.ndarray, costs: Any = None) -> dict[str, float]:
    """The metrics of rows with scores q that count as each class with these amounts, (rows, classes), by their definitions."""
    n_classes = q.shape[1]
    c = 1 - np.eye(n_classes) if costs is None else np.asarray(costs)
    decided = (q @ c).argmin(axis=1)
    confusion = np.stack([amounts[decided == j].sum(axis=0) for j in range(c.shape[1])], axis=1)
    n, prior = confusion.sum(), confusion.sum(axis=1) / confusion.sum()
    hits, by_decision = np.diag(confusion[:, :n_classes]), confusion.sum(axis=0)[:n_classes]
    cost, recall, precision = (c * confusion).sum() / n, hits / confusion.sum(axis=1), hits / by_decision
    f1 = 2 * hits / (by_decision + confusion.sum(axis=1))
    ce = -(amounts * np.log(q)).sum() / n
    squares = ((q[:, None] - np.eye(n_classes)) ** 2).mean(axis=2)
    brier = (amounts * squares).sum() / n
    return {
        "expected_cost": cost,
        "nec": cost / (prior @ c).min(),
        "error_rate": 1 - hits.sum() / n,
        "accuracy": hits.sum() / n,
        "balanced_accuracy": recall.mean(),
        "macro_precision": precision.mean(),
        "macro_f1": f1.mean(),
        "weighted_f1": (prior * f1).sum(),
        "micro_f1": 2 * hits.sum() / (n + by_decision.sum()),
        "f1_of_averages": 2 * precision.mean() * recall.mean() / (precision.mean() + recall.mean()),
        "cross_entropy": ce,
        "nce": ce / -(prior * np.log(prior)).sum(),
        "brier": brier,
        "nbs": brier / (prior * (1 - prior)).mean(),
    }


def estimate(log: pl.DataFrame, **options: Any) -> pl.DataFrame:
    """The estimates of month 2, without a calibrator and intervals unless others are asked for."""
    call = {"score": "q", "label": "y", "period": "month", "interval": None, "metrics": METRICS, "calibrator": None}
    return ec.estimate(log, **call | options).filter(month=2)


def values(table: pl.DataFrame, column: str = "value") -> dict[str, float]:
    return dict(table.select("metric", column).rows())


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("costs", [None, COSTS])
def test_a_row_counts_as_every_class_with_its_posterior(weight: str | None, costs: Any) -> None:
    w = np.ones(N // 2) if weight is None else W[LATER]
    found = estimate(WITHOUT, weight=weight, costs=costs)
    expected = metrics_of(Q[LATER], w[:, None] * Q[LATER], costs)
    assert values(found) == pytest.approx(expected, rel=1e-9)
    assert found["class_prior"][0].to_list() == pytest.approx((w @ Q[LATER]) / w.sum())
    assert found["calibrated_on"].null_count() == found.height
    assert found["n"].to_list() == [N // 2] * len(METRICS)


@pytest.mark.quick("array", "struct")
@pytest.mark.parametrize("kind", ["array", "list", "struct", "logs"])
def test_scores_may_have_any_type_of_vectors(kind: str) -> None:
    names, options = ["a", "b", "c"], {"classes": ["a", "b", "c"]}
    log = WITHOUT.with_columns(y=pl.col("y").replace_strict({0: "a", 1: "b", 2: "c"}, return_dtype=pl.String))
    q = pl.col("q")
    shapes = {
        "array": q,
        "list": q.arr.to_list(),
        "struct": pl.struct(q.arr.get(k).alias(names[k]) for k in (2, 0, 1)),
        "logs": q.arr.eval(pl.element().log()),
    }
    read: Any = {**options, "score_type": "log_posteriors"} if kind == "logs" else options
    found = estimate(log.with_columns(q=shapes[kind]), calibrator="affine", **read)
    expected = estimate(WITHOUT, calibrator="affine")
    assert_frame_equal(found, expected, rel_tol=1e-9)
    # Categories are classes.
    in_categories = log.with_columns(pl.col("y").cast(pl.Enum(names)), q=shapes[kind])
    enum = estimate(in_categories, calibrator="affine", **({"score_type": "log_posteriors"} if kind == "logs" else {}))
    assert_frame_equal(enum, expected, rel_tol=1e-9)


@pytest.mark.quick("em-user")
@pytest.mark.parametrize("cluster", [None, "user"])
@pytest.mark.parametrize("shift_prior", [None, "em", 0.2])
def test_two_classes_as_a_matrix(shift_prior: Any, cluster: str | None) -> None:
    """Vectors of two classes have the estimates of one number per row; those of losses are from bins there."""
    p = Q[:, 1] / (Q[:, 0] + Q[:, 1])
    # In the middle of bins, where all rows of a cell have one score.
    p = 1 / (1 + np.exp(-(np.round(np.log(p / (1 - p)) * 64) + 0.5) / 64))
    log = WITHOUT.with_columns(p=p, y=pl.col("y") > 0, v=pl.concat_arr(1 - pl.lit(p), pl.lit(p)))
    names = ["expected_cost", "nec", "precision", "recall", "fpr", "f1", "mcc", "nce", "nbs"]
    call: dict[str, Any] = {"metrics": names, "cost_fn": 3, "shift_prior": shift_prior, "cluster": cluster}
    found, expected = (estimate(log, score=score, **call) for score in ("v", "p"))
    assert values(found) == pytest.approx(values(expected), rel=1e-8)
    assert found["class_prior"].to_list() == pytest.approx(expected["class_prior"].to_list(), rel=1e-8)
    call |= {"interval": 0.9, "replicates": 1000, "metrics": ["nec", "recall"]}
    found, expected = (estimate(log, score=score, **call) for score in ("v", "p"))
    for end in ("value_ci_low", "value_ci_high"):
        # Two bootstraps with different random numbers.
        width = (expected["value_ci_high"] - expected["value_ci_low"]).to_numpy()
        assert np.abs(found[end].to_numpy() - expected[end].to_numpy()) == pytest.approx(0 * width, abs=max(width) / 6)


# Calibrators.


def lines(logs: np.ndarray, y: np.ndarray, w: np.ndarray, with_shift: bool) -> np.ndarray:
    """Multinomial logistic regression with one slope, by another optimiser: the slope and the shifts."""

    def loss(theta: np.ndarray) -> float:
        q = softmax(theta[0] * logs + theta[1:] * with_shift)
        return float(-(w * np.log(q[np.arange(len(y)), y])).sum())

    return np.asarray(optimize.minimize(loss, [1.0, *[0.0] * logs.shape[1]], method="BFGS", options={"gtol": 1e-9}).x)


def curves(logs: np.ndarray, y: np.ndarray, w: np.ndarray, at: np.ndarray) -> np.ndarray:
    """Posteriors by the piecewise linear curves that are documented, by another optimiser."""
    q = np.exp(logs)
    spread, x = (w[:, None] * q * (1 - q)).T.ravel(), logs.T.ravel()
    order = np.argsort(x)
    below = np.cumsum(spread[order]) / spread.sum()
    knots = [x[order][np.flatnonzero(below >= share - 1e-9)[0]] for share in (0.2, 0.4, 0.6, 0.8)]
    mean = np.average(x, weights=spread)
    scale = np.sqrt(np.average((x - mean) ** 2, weights=spread))
    w = w * w.sum() / (w**2).sum() if len(np.unique(w)) == 1 else w
    k, (n, n_classes) = len(knots) + 1, logs.shape

    def line(at: np.ndarray, intercepts: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        z = intercepts + slopes[:, 0] * np.minimum(at - knots[0], 0) / scale
        for b, (low, high) in enumerate(zip(knots, [*knots[1:], np.inf], strict=True), start=1):
            z = z + slopes[:, b] * (np.clip(at, low, high) - low) / scale
        return np.asarray(z)

    def split(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return theta[:n_classes], theta[n_classes:].reshape(n_classes, k)

    def loss(theta: np.ndarray) -> float:
        intercepts, slopes = split(theta)
        z = line(logs, intercepts, slopes)
        top = z.max(axis=1)
        loglik = z[np.arange(n), y] - top - np.log(np.exp(z - top[:, None]).sum(axis=1))
        changes, off = np.diff(slopes, axis=1), slopes - slopes.mean(axis=0)
        return float(-(w * loglik).sum() + (changes**2).sum() / 2 + 10 * (off**2).sum() / 2 + intercepts.sum() ** 2)

    start = np.concatenate([np.zeros(n_classes), np.full(n_classes * k, scale)])
    bounds = [(None, None)] * n_classes + [(0, None)] * (n_classes * k)
    options = {"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-14, "gtol": 1e-8}
    found = optimize.minimize(loss, start, method="L-BFGS-B", bounds=bounds, options=options)
    return softmax(line(at, *split(found.x)))


@pytest.mark.parametrize("calibrator", ["affine", "temperature", "spline"])
def test_posteriors_are_calibrated_on_the_reference(calibrator: Any) -> None:
    logs, ones = np.log(Q), np.ones(N // 2)
    if calibrator == "spline":
        q = curves(logs[FIRST], Y[FIRST], ones, logs[LATER])
    else:
        slope, *shifts = lines(logs[FIRST], Y[FIRST], ones, calibrator == "affine")
        q = softmax(slope * logs[LATER] + np.array(shifts) * (calibrator == "affine"))
    found = estimate(WITHOUT, calibrator=calibrator)
    assert values(found) == pytest.approx(metrics_of(Q[LATER], q), rel=1e-3 if calibrator == "spline" else 1e-5)
    assert found["reference"].unique().to_list() == ["1"]
    assert found["calibrated_on"].unique().to_list() == ["group"]


# Prior shift.


def em(q: np.ndarray, prior: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The prior by the iterations of Saerens et al."""
    new = prior
    for _ in range(8000):
        moved = q * (new / prior)
        moved /= moved.sum(axis=1, keepdims=True)
        new = (w @ moved) / w.sum()
    return np.asarray(new)


@pytest.mark.parametrize("shift", ["em", [0.2, 0.5, 0.3], {0: 0.2, 1: 0.5, 2: 0.3}])
def test_posteriors_move_to_the_prior_of_the_period(shift: Any) -> None:
    before = np.bincount(Y[FIRST], W[FIRST]) / W[FIRST].sum()
    prior = em(Q[LATER], before, W[LATER]) if shift == "em" else np.array([0.2, 0.5, 0.3])
    moved = Q[LATER] * (prior / before)
    moved /= moved.sum(axis=1, keepdims=True)
    found = estimate(WITHOUT, shift_prior=shift, weight="w")
    assert values(found) == pytest.approx(metrics_of(Q[LATER], W[LATER][:, None] * moved), rel=1e-6)


@pytest.mark.quick("2")
@pytest.mark.parametrize("seed", range(6))
def test_likeliest_priors_are_those_of_em(seed: int) -> None:
    """Also where a prior goes to 0."""
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(2, 9))
    q = softmax(rng.normal(0, 2, (300, n_classes)) - 3 * (np.arange(n_classes) < seed % 3))
    w = rng.exponential(size=300)
    prior = rng.dirichlet(np.ones(n_classes) * 5)
    (found,) = likeliest_priors((q / prior)[None], w[None])
    expected = em(q, prior, w)
    # EM comes to 0 slowly.
    assert found == pytest.approx(expected, abs=1e-4)
    likelihood = [(w * np.log((q / prior) @ p)).sum() for p in (found, expected)]
    assert likelihood[0] >= likelihood[1] - 1e-9


def test_a_prior_of_which_scores_say_nothing_is_unknown() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.exponential(size=(2, 300))
    alike = [np.ones((300, 3)), np.stack([a, b, b], axis=1), np.stack([a, b, (a + b) / 2], axis=1)]
    # No scores, though all are equal, and one class that is nowhere likeliest: their likelihood has one maximum.
    told = [np.tile([0.2, 0.3, 0.5], (300, 1)), np.stack([np.full(300, 1.0), np.full(300, 2.0), a / 9], axis=1)]
    found = likeliest_priors(np.stack([*alike, *told, np.full((300, 3), np.nan)]), np.ones((6, 300)))
    assert np.isnan(found[[0, 1, 2, 5]]).all()
    assert found[3] == pytest.approx([0, 0, 1], abs=1e-4)
    assert found[4].sum() == pytest.approx(1)


def test_equal_scores_have_no_estimates_at_the_prior_of_a_period() -> None:
    """Scores that equal the base rates of the reference: posteriors over priors are 1 for every class."""
    log = pl.DataFrame({"month": [1] * 100 + [2] * 100, "y": [0, 0, 0, 1, 1, 1, 2, 2, 2, 2] * 10 + [None] * 100})
    log = log.with_columns(q=pl.lit([0.3, 0.3, 0.4], pl.Array(pl.Float64, 3)))
    found = estimate(log, shift_prior="em", metrics=["accuracy"])
    assert found.select("value", "class_prior").row(0) == (None, None)
    assert estimate(log, metrics=["accuracy"])["value"].item() == pytest.approx(0.4)


# Labels that have come.


def test_few_labels_count_as_observed() -> None:
    known = FIRST | (np.arange(N) % 50 == 0)
    found = estimate(LOG.with_columns(y=pl.when(pl.lit(known)).then("y")))
    amounts = np.where(known[LATER][:, None], np.eye(K)[Y[LATER]], Q[LATER])
    assert values(found) == pytest.approx(metrics_of(Q[LATER], amounts), rel=1e-9)


@pytest.mark.parametrize("probability", [None, "q_label"])
def test_labels_correct_expectations(probability: str | None) -> None:
    rng = np.random.default_rng(2)
    chance = np.where(Q[:, 0] > 0.4, 0.6, 0.3)
    known = FIRST | (rng.random(N) < chance)
    # Rows without a label need none.
    log = LOG.with_columns(pl.when(pl.lit(known)).then("y"), q_label=pl.when(pl.lit(known)).then(pl.lit(chance)))
    found = estimate(log, label_probability=probability)
    own, rest = known[LATER], ~known[LATER]
    odds = np.ones(own.sum()) if probability is None else 1 / chance[LATER][own] - 1
    amounts = np.where(own[:, None], np.eye(K)[Y[LATER]], Q[LATER])
    amounts[own] += (np.eye(K)[Y[LATER][own]] - Q[LATER][own]) * (rest.sum() * odds / odds.sum())[:, None]
    assert values(found) == pytest.approx(metrics_of(Q[LATER], amounts), rel=1e-9)


def test_past_periods_show_how_good_estimates_were() -> None:
    found = estimate(LOG, interval=0.95, calibrator="affine")
    expected = metrics_of(Q[LATER], np.eye(K)[Y[LATER]])
    assert values(found, "observed") == pytest.approx(expected, rel=1e-9)
    assert values(found) == pytest.approx(values(estimate(WITHOUT, calibrator="affine")), rel=1e-9)
    is_inside = pl.col("observed").is_between("value_ci_low", "value_ci_high")
    assert found["covered"].to_list() == found.select(is_inside).to_series().to_list()


# Intervals.


@pytest.mark.slow
@pytest.mark.parametrize("calibrator", ["affine", "spline"])
def test_intervals_have_the_fit_and_the_labels(calibrator: Any) -> None:
    """Their width is that over whole refits, with labels that are drawn."""
    names, logs = ["nec", "macro_f1", "nce"], np.log(Q)
    found = estimate(WITHOUT, calibrator=calibrator, interval=0.95, replicates=2000, metrics=names)
    rng, refitted = np.random.default_rng(3), []
    for _ in range(60 if calibrator == "spline" else 150):
        rows = rng.integers(0, N // 2, N // 2)
        if calibrator == "spline":
            q = curves(logs[FIRST][rows], Y[FIRST][rows], np.ones(N // 2), logs[LATER])
        else:
            slope, *shifts = lines(logs[FIRST][rows], Y[FIRST][rows], np.ones(N // 2), with_shift=True)
            q = softmax(slope * logs[LATER] + np.array(shifts))
        for _ in range(8):
            of_draw = metrics_of(Q[LATER], np.eye(K)[drawn(q, rng)])
            refitted.append([of_draw[name] for name in names])
    width = (found["value_ci_high"] - found["value_ci_low"]).to_numpy()
    assert width == pytest.approx(2 * 1.96 * np.std(refitted, axis=0), rel=0.2)


def test_clusters() -> None:
    check_clusters(estimate, WITHOUT, interval=0.95, replicates=400, metrics=["nec", "nce"], calibrator="affine")


@pytest.mark.parametrize("score", ["q", "p"])
def test_a_replicate_without_a_fit_changes_no_other(score: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even how far the labels of clusters vary."""
    estimators: list[Any] = []

    def kept(estimator: Any, model: str | None) -> pl.DataFrame:
        estimators.append(estimator)
        return estimated(estimator, model)

    monkeypatch.setattr(estimates, "estimated", kept)
    log = WITHOUT.with_columns(p=pl.col("q").arr.get(1), y=pl.col("y") > 0) if score == "p" else WITHOUT
    estimate(log, score=score, interval=0.9, replicates=5, metrics=["error_rate", "brier"], cluster="user")
    (estimator,) = estimators
    with np.errstate(all="ignore"):
        first, fit = estimator.fits()
    if score == "p":
        lacking = replace(fit, coarse=fit.coarse.copy())
        lacking.coarse[1] = np.nan
    else:
        lacking = replace(fit, curves=replace(fit.curves, place=fit.curves.place.copy()))
        lacking.curves.place[1] = np.nan
    with np.errstate(all="ignore"):
        whole, some = ([*estimator.replicated_metrics([first, of])][1] for of in (fit, lacking))
    assert_frame_equal(some[2:], whole[2:])
    assert some[1].fill_nan(None).null_count().select("error_rate", "brier").row(0) == (1, 1)


def test_random_numbers_are_those_of_the_seed_and_the_rows() -> None:
    call: dict[str, Any] = {"interval": 0.9, "replicates": 20, "metrics": ["nec"], "calibrator": "affine"}
    ends = [estimate(WITHOUT, seed=seed, **call).select("value_ci_low", "value_ci_high").row(0) for seed in (0, 0, 1)]
    assert ends[0] == ends[1] != ends[2]
    assert_frame_equal(estimate(WITHOUT.sample(fraction=1, shuffle=True, seed=1), **call), estimate(WITHOUT, **call))
    alone = estimate(WITHOUT.filter(g="b"), by="g", **call)
    assert_frame_equal(estimate(WITHOUT, by="g", **call).filter(g="b"), alone, rel_tol=1e-9)


@pytest.mark.parametrize("shift_prior", [None, "em"])
def test_intervals_hold_the_estimate(shift_prior: Any) -> None:
    """Also of twelve classes, for which the noise of their priors makes their entropy less."""
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(12), 1000)
    log = pl.DataFrame({"month": np.repeat([1, 2], 500), "q": pl.Series(q, dtype=pl.Array(pl.Float64, 12))})
    log = log.with_columns(y=pl.when(pl.col("month") < 2).then(pl.Series(drawn(q, rng))))
    call: dict[str, Any] = {"calibrator": "affine", "shift_prior": shift_prior, "interval": 0.9}
    found = estimate(log, metrics=["nec", "nce", "macro_f1"], costs=rng.random((12, 5)), **call)
    assert found.select(pl.col("value").is_between("value_ci_low", "value_ci_high").all()).item()


# Missing and invalid rows, classes without rows, misuse.


def vector(*q: float | None) -> pl.Expr:
    return pl.lit(pl.Series([[*q]], dtype=pl.Array(pl.Float64, K))).first()


FOUR = pl.concat_arr(*(pl.col("q").arr.get(k) for k in range(K)), pl.lit(0.0, pl.Float64))
AT = pl.int_range(pl.len())


@pytest.mark.parametrize("at", [N - 1, 0])
@pytest.mark.parametrize(
    "change",
    [
        {"q": vector(np.nan, 0.5, 0.5)},
        {"q": vector(0.5, 0.5, 0.5)},
        {"w": pl.lit(-1.0)},
        {"y": pl.lit(3)},
        {"chance": pl.lit(2.0), "y": pl.lit(1)},
        {"chance": pl.lit(None), "y": pl.lit(1)},
    ],
)
def test_invalid_rows_make_estimates_null(change: dict[str, pl.Expr], at: int) -> None:
    log = WITHOUT.with_columns(chance=pl.lit(0.5))
    log = log.with_columns(pl.when(at == AT).then(value).otherwise(name).alias(name) for name, value in change.items())
    with pytest.warns(UserWarning, match="1 rows have an invalid score, label, weight or label probability"):
        found = estimate(log, weight="w", label_probability="chance", calibrator="affine")
    assert found["value"].null_count() == found["class_prior"].null_count() == len(METRICS)
    assert found["n_invalid"].unique().to_list() == [int(at > 0)]


@pytest.mark.filterwarnings("ignore:1 rows have an invalid")
@pytest.mark.parametrize("score", ["q", "p"])
def test_invalid_rows_make_observed_values_null(score: str) -> None:
    log = LOG.with_columns(p=pl.col("q").arr.get(1), y=pl.col("y") if score == "q" else pl.col("y") % 2)
    names = ["expected_cost", "nce"]
    assert estimate(log, score=score, metrics=names)["observed"].null_count() == 0
    invalid = log.with_columns(y=pl.when(N - 1 == AT).then(3).otherwise("y"))
    assert estimate(invalid, score=score, metrics=names)["observed"].to_list() == [None, None]


def test_rows_with_missing_values_are_left_out() -> None:
    missing = pl.when(AT.is_in([3, N - 1])).then(vector(None, 0.5, 0.5)).when(AT == 4).then(None)
    found = estimate(WITHOUT.with_columns(q=missing.otherwise("q")), calibrator="affine")
    without = estimate(WITHOUT.filter(~AT.is_in([3, 4, N - 1])), calibrator="affine")
    assert_frame_equal(found.drop("n_missing"), without.drop("n_missing"), rel_tol=1e-9)
    assert found["n_missing"].unique().to_list() == [1]


def test_a_class_without_rows_in_the_reference() -> None:
    log = WITHOUT.with_columns(y=pl.when(pl.col("y") == 2).then(1).otherwise("y"))
    for options in ({"calibrator": "spline"}, {"calibrator": "affine"}, {"shift_prior": "em"}):
        assert estimate(log, **options)["value"].null_count() == len(METRICS)
    # In one group it takes the calibrator of all.
    lacking = (pl.col("g") == "a") & (pl.col("y") == 2)
    found = estimate(WITHOUT.with_columns(y=pl.when(lacking).then(1).otherwise("y")), by="g", calibrator="affine")
    assert found["value"].null_count() == 0
    assert found.group_by("g").agg(pl.col("calibrated_on").unique().first()).sort("g")["calibrated_on"].to_list() == [
        "all groups",
        "group",
    ]


@pytest.mark.parametrize("score", ["q", "p"])
def test_a_prior_is_not_moved_from_0(score: str) -> None:
    """Neither from that of the reference, nor from those of replicates, of which every seventh lacks a class with two rows."""
    log = WITHOUT.with_columns(p=pl.col("q").arr.get(2) / 50, y=pl.when(pl.col("y") == 2).then(1).otherwise("y"))
    options: dict[str, Any] = {"score": score, "shift_prior": "em", "interval": 0.9, "metrics": ["error_rate", "brier"]}
    if score == "p":
        log, options["pos_label"] = log.with_columns(y=pl.col("y").clip(0, 0)), 2
    assert estimate(log, **options)["value"].null_count() == 2
    with_class = log.with_columns(y=pl.when(AT < 2).then(2).otherwise("y"))
    ends = estimate(with_class, **options).select("value", "value_ci_low", "value_ci_high")
    assert ends.null_count().row(0) == (0, 2, 2)


def test_posteriors_of_0() -> None:
    """One of a class that the row is not of stays 0, and one of its own class leaves no fit."""
    third = WITHOUT["y"].fill_null(0) != 2
    some = pl.Series(np.arange(N) % 5 == 0) & third
    log = WITHOUT.with_columns(q=pl.when(some).then(vector(0.5, 0.5, 0.0)).otherwise("q"))
    for calibrator in ("affine", "spline"):
        found = estimate(log, calibrator=calibrator, interval=0.9, replicates=20)
        assert found.select(pl.col("value", "value_ci_low", "value_ci_high").is_finite().all()).row(0) == (True,) * 3
    own = pl.when(pl.Series(Y == 1) & (AT < 9)).then(vector(1.0, 0.0, 0.0))
    assert estimate(WITHOUT.with_columns(q=own.otherwise("q")), calibrator="affine")["value"].null_count() > 0


def test_degenerate_logs() -> None:
    empty = ec.estimate(WITHOUT.head(0), "q", "y", period="month", reference=1)
    assert empty.schema == ec.estimate(WITHOUT, "q", "y", period="month", interval=None).schema
    assert empty.height == 0
    one = estimate(WITHOUT.tail(1), interval=0.9)
    assert values(one)["accuracy"] == pytest.approx(Q[-1].max())
    assert estimate(WITHOUT.with_columns(w=0.0), weight="w")["value"].null_count() == len(METRICS)
    assert estimate(WITHOUT.with_columns(q=vector(0.2, 0.3, 0.5)), calibrator="spline")["value"].null_count() > 0
    nothing = WITHOUT.with_columns(y=pl.lit(None))
    assert values(estimate(nothing)) == pytest.approx(values(estimate(WITHOUT)), rel=1e-12)


def test_several_models() -> None:
    log = WITHOUT.with_columns(r=pl.col("q").arr.eval(pl.element().pow(2) / pl.element().pow(2).sum()))
    found = estimate(log, score=["r", "q"], by="g", calibrator="affine")
    assert found["model"].unique(maintain_order=True).to_list() == ["q", "r"]
    for name in ("q", "r"):
        alone = estimate(log, score=name, by="g", calibrator="affine")
        assert_frame_equal(found.filter(model=name), alone, rel_tol=1e-9)


def test_metrics_at_a_prior() -> None:
    prior = np.array([0.2, 0.3, 0.5])
    amounts = Q[LATER] * (prior / Q[LATER].sum(axis=0))
    found = estimate(WITHOUT, prior=prior.tolist())
    assert values(found) == pytest.approx(metrics_of(Q[LATER], amounts), rel=1e-9)


TWO_CLASSES = {
    "score": pl.concat_arr(1 - pl.col("q").arr.get(1), pl.col("q").arr.get(1)),
    "label": (pl.col("y") == 1).cast(pl.Int8),
}


@pytest.mark.parametrize("options", [{}, {"costs": COSTS}, {"costs": [[0, 1], [1, 0], [1, 0.5]]}, TWO_CLASSES])
def test_an_error_lists_the_metrics_that_there_are(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="'bogus', which cannot be estimated for") as error:
        estimate(WITHOUT, **options, metrics=["bogus"])
    listed = str(error.value).split("The metrics are ")[1].split(", ")
    assert estimate(WITHOUT, **options, metrics=listed)["metric"].to_list() == listed
    for name in {*FORMULAS, *SCORING_RULES} - {*listed}:
        with pytest.raises(ValueError, match=f"metrics= holds '{name}', which "):
            estimate(WITHOUT, **options, metrics=[name])


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        (
            {"calibrator": "pav"},
            ValueError,
            "calibrator='pav' is for one number per row, and 'q' holds posteriors of K",
        ),
        ({"metrics": ["auc_roc"]}, ValueError, "holds 'auc_roc', which cannot be estimated for 3 classes and 3 dec"),
        ({"metrics": ["class_f1"]}, ValueError, "holds 'class_f1', which cannot be estimated for 3 classes"),
        ({"metrics": ["precision"]}, ValueError, r"for one class pass its posterior .*did you mean macro_precision\?"),
        ({"metrics": ["mcc"], "costs": COSTS}, ValueError, "'mcc', which cannot be estimated for 3 classes and 4 dec"),
        ({"prior": "overall"}, ValueError, "prior='overall' is not a prior for all groups"),
        ({"prior": 0.3}, ValueError, "prior=.* has 2 shares, but there are 3"),
        ({"shift_prior": "bbse"}, ValueError, "shift_prior='bbse' is not a prior for all groups"),
        ({"shift_prior": 0.3}, ValueError, "shift_prior=.* has 2 shares, but there are 3"),
        ({"shift_prior": [0.2, 0.2, 0.2]}, ValueError, "shift_prior=.* sums to 0.6"),
        ({"threshold": 0.5}, ValueError, "threshold= is for one score per row"),
        ({"cost_fn": 3}, ValueError, "cost_fn and cost_fp are for two classes"),
        ({"costs": [[0, 1], [1, 0]]}, ValueError, "costs= has 2 rows, but 'q' has 3 classes"),
        ({"score": pl.col("q").arr.to_list()}, TypeError, "does not say how many classes there are"),
        ({"score": ["q", FOUR.alias("v")]}, ValueError, "different numbers of classes"),
        ({"score_type": "log_likelihoods"}, ValueError, "score_type='log_likelihoods' gives no posteriors"),
        ({"by": pl.col("g").alias("class")}, ValueError, "by= has a column 'class'"),
    ],
)
def test_misuse_says_what_to_do(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        ec.estimate(**{"frame": LOG.lazy(), "score": "q", "label": "y", "period": "month", "interval": None, **options})


def test_a_sketch_of_one_class_each_says_what_to_do() -> None:
    sketch = LOG.ec.sketch("q", "y", by="month")
    with pytest.raises(ec.SketchError, match="for posteriors of K classes, estimate from the log"):
        sketch.estimate("nec", period="month")
