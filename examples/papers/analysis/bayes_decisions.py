"""Sections 3 and 4.1: Bayes decisions, posteriors and priors, and expected values of proper scoring rules."""

import math
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.analysis import PAPER
from examples.papers.analysis.logs import (
    BINARY,
    BINARY_LABELS,
    BINARY_POSTERIORS,
    BINARY_SHARES,
    COST_MATRIX,
    COSTS,
    LABELS,
    POSTERIORS,
    SCORED,
    SHARES,
    by_sample,
    decisions,
    values,
)
from examples.papers.analysis.simulated_systems import SYSTEMS, two_class_log
from examples.papers.numbers import Rows, Table, alone, between, by_equation, near_share, value
from examples.papers.simulated import Floats, log_likelihoods, vectors

_C12, _C21 = 1.0, 3.0
_PRIOR = 0.2
"""P(H2), stated."""


@PAPER("equation-36")
def equation_36() -> Rows:
    each = SCORED.with_row_index("t").with_columns(label=pl.lit([0, 1, 2]), weight=pl.col("s").arr.to_list())
    log = each.explode("label", "weight", empty_as_null=False)
    computed = value(log, ec.expected_cost("s", "label", costs=COST_MATRIX, weight="weight"))
    yield "EC of Bayes decisions", (computed, (POSTERIORS @ COSTS).min(axis=1).mean())


@PAPER("equation-37")
def equation_37() -> Rows:
    computed = values(SCORED, ec.bayes_decision("s", costs=COST_MATRIX))
    return decisions(computed, (POSTERIORS @ COSTS).argmin(axis=1))


@PAPER("equation-38", columns=["EC", "EC, calibrated", "gain in percent"])
def equation_38() -> Rows:
    log = two_class_log()
    for system in SYSTEMS:
        for calibrator in ("affine", "pav"):
            options: dict[str, Any] = {"calibrator": calibrator, "folds": 5, "fold_by": "id", "cost_fn": 2}
            found = ec.calibration_loss(log, f"{system}_posterior", "label", "bayes_risk", **options)
            raw, calibrated, percent = found.select("raw", "calibrated", "rcl").row(0)
            range_of = (-1.0, 1.0, "about 0") if system == "cal" else (20.0, 100.0, "well above 0")
            yield f"{system}, {calibrator}", alone(raw), alone(calibrated), between(percent, *range_of, decimals=2)


@PAPER("equation-39")
def equation_39() -> Rows:
    log = two_class_log()
    bins = ec.sketch(log, "cal_posterior", "label").reliability(resolution=1).select("n", "posterior", "positive_share")
    for n, posterior, share in bins.iter_rows():
        # Of fewer than ten expected samples of H2, or of H1, the share is not normal.
        if n * min(posterior, 1 - posterior) >= 10:
            yield f"posteriors of about {posterior:.3g}: {n:,} samples", near_share(share, posterior, n)


def _argmax_beside(expected: Floats) -> Table:
    return decisions(values(SCORED, ec.bayes_decision("s", costs=ec.CostMatrix.zero_one(3))), expected)


@PAPER("equation-40")
def equation_40() -> Rows:
    others = np.stack([np.delete(POSTERIORS, i, axis=1).sum(axis=1) for i in range(3)], axis=1)
    return _argmax_beside(others.argmin(axis=1))


PAPER("equation-41")(lambda: _argmax_beside((1 - POSTERIORS).argmin(axis=1)))
PAPER("equation-42")(lambda: _argmax_beside(POSTERIORS.argmax(axis=1)))


def _binary_decisions() -> list[float]:
    return values(BINARY, ec.bayes_decision("s2", cost_fn=_C21, cost_fp=_C12))


PAPER("equation-43")(lambda: decisions(_binary_decisions(), _C12 * (1 - BINARY_POSTERIORS) < _C21 * BINARY_POSTERIORS))
PAPER("equation-44")(lambda: decisions(_binary_decisions(), BINARY_POSTERIORS > _C12 / (_C12 + _C21)))


@PAPER("equation-45")
def equation_45() -> Rows:
    likelihoods = np.array([[0.7, 0.1, 0.02], [0.3, 0.3, 0.3], [1e-4, 0.02, 0.5]])
    priors = np.array([0.5, 0.3, 0.2])
    joint = likelihoods * priors
    log = pl.DataFrame({"l": vectors(np.log(likelihoods))})
    computed = log.select(q=ec.posterior("l", prior=priors.tolist(), score_type="log_likelihoods"))["q"].to_numpy()
    expected = joint / joint.sum(axis=1, keepdims=True)
    return {
        f"sample {t + 1}, P(H{i + 1}|x)": (float(computed[t, i]), float(expected[t, i]))
        for t in range(3)
        for i in range(3)
    }


def _likelihood_ratios() -> Floats:
    x = np.array([[-1.0], [0.0], [0.25], [0.5], [1.0]])
    of_classes = log_likelihoods(x, ((0.0,), (1.0,)), 0.15)
    return np.exp(of_classes[:, 1] - of_classes[:, 0])


@PAPER("equation-46")
def equation_46() -> Rows:
    ratios = _likelihood_ratios()
    log = pl.DataFrame({"llr": np.log(ratios)})
    computed = values(log, ec.posterior("llr", prior=_PRIOR, score_type="llr"))
    return by_sample(computed, 1 / (1 + (1 - _PRIOR) / _PRIOR / ratios), "P(H2|x)")


@PAPER("equation-47")
def equation_47() -> Rows:
    ratios = _likelihood_ratios()
    joint = ratios * _PRIOR / (ratios * _PRIOR + 1 - _PRIOR)
    llrs = values(pl.DataFrame({"s2": joint}), ec.llr("s2", prior=_PRIOR))
    return by_sample([math.exp(x) for x in llrs], ratios, "LR(x)")


@PAPER("equation-48")
def equation_48() -> Rows:
    ratios = _likelihood_ratios()
    log = pl.DataFrame({"llr": np.log(ratios)})
    options: dict[str, Any] = {"cost_fn": _C21, "cost_fp": _C12, "prior": _PRIOR, "score_type": "llr"}
    expected = ratios > _C12 * (1 - _PRIOR) / (_C21 * _PRIOR)
    return decisions(values(log, ec.bayes_decision("llr", **options)), expected)


_STATED: Floats = np.array([0.5, 0.3, 0.2])
_OF_TRUE_CLASS: Floats = POSTERIORS[np.arange(len(LABELS)), LABELS]
_LOG_LOSSES = -np.log(_OF_TRUE_CLASS)
_SQUARES: Floats = ((POSTERIORS - np.eye(3)[LABELS]) ** 2).mean(axis=1)
_BINARY_SQUARES = (BINARY_POSTERIORS - BINARY_LABELS) ** 2
_OF_SUMS = 1e-8
"""How near sums over 20,000 operating points are to the integrals."""
_BAYES_COSTS: Floats = COSTS[LABELS, (POSTERIORS @ COSTS).argmin(axis=1)]
_NAIVE = pl.DataFrame({"label": LABELS, "s": vectors(np.tile(SHARES, (len(LABELS), 1)))})
"""The posteriors of the naive system are the priors."""


def _of(metric: Any, **options: Any) -> float:
    return value(SCORED, metric("s", "label", **options))


def _by_priors(metric: Any, losses: Floats) -> Any:
    """A metric at two priors, beside the losses of its samples, of which each weighs P_h / N_h."""
    return lambda: {
        f"priors {np.round(priors, 2).tolist()}": (
            _of(metric, prior=priors.tolist()),
            ((priors / np.bincount(LABELS))[LABELS] * losses).sum(),
        )
        for priors in (SHARES, _STATED)
    }


PAPER("equation-49")(
    lambda: by_sample(values(SCORED, ec.row_cost("s", "label", costs=COST_MATRIX)), _BAYES_COSTS, "C*")
)
PAPER("equation-50")(
    lambda: {
        "Bayes EC": (_of(ec.bayes_risk, costs=COST_MATRIX), _BAYES_COSTS.mean()),
        "cross-entropy": (_of(ec.cross_entropy), _LOG_LOSSES.mean()),
        "Brier score": (_of(ec.brier), _SQUARES.mean()),
    }
)


@PAPER("equation-51", columns=["at s = q, beside the least of the grid", "points with the least"])
def proper() -> Rows:
    steps, q = 20, np.array([0.5, 0.3, 0.2])
    grid = np.array([(i, j, steps - i - j) for i in range(1, steps) for j in range(1, steps - i)]) / steps
    log = pl.DataFrame({"s": vectors(grid), "q": vectors(np.tile(q, (len(grid), 1)))}).with_row_index("point")
    # Each point of the grid is a group of one row, whose classes are as frequent as q says.
    each = log.with_columns(label=pl.lit([0, 1, 2]), weight=pl.col("q").arr.to_list())
    each = each.explode("label", "weight", empty_as_null=False).group_by("point", maintain_order=True)
    of_points = log.group_by("point", maintain_order=True)
    rules = {
        "Bayes EC": each.agg(ec.bayes_risk("s", "label", costs=COST_MATRIX, weight="weight").alias("rule")),
        "cross-entropy": of_points.agg(ec.semi_empirical_epsr("s", "q").alias("rule")),
        "Brier score": of_points.agg(ec.semi_empirical_epsr("s", "q", rule="brier").alias("rule")),
    }
    at_q = int(np.abs(grid - q).max(axis=1).argmin())
    for name, table in rules.items():
        found = table["rule"].to_numpy()
        points = int((found < found.min() + 1e-9).sum())
        several = between(points, 2, 200, "several", decimals=0)
        yield (
            name,
            (found[at_q], found.min()),
            several if name == "Bayes EC" else between(points, 1, 1, "1", decimals=0),
        )


@PAPER("section-4.1.1")
def bayes_risk_at_zero_one_costs() -> Rows:
    yield "Bayes EC at 0-1 costs", (_of(ec.bayes_risk), (POSTERIORS.argmax(axis=1) != LABELS).mean())
    yield "1 - accuracy", (1 - _of(ec.accuracy), (POSTERIORS.argmax(axis=1) != LABELS).mean())


@PAPER("equation-52")
def cross_entropy() -> Rows:
    pairs = zip(values(SCORED, ec.row_log_loss("s", "label")), _LOG_LOSSES, strict=True)
    of_samples = {f"sample {t}": pair for t, pair in enumerate(pairs, start=1)}
    yield "cross-entropy", (_of(ec.cross_entropy), _LOG_LOSSES.mean())
    yield from of_samples.items()


PAPER("equation-53")(_by_priors(ec.cross_entropy, _LOG_LOSSES))


@PAPER("equation-54")
def cross_entropy_by_class() -> Rows:
    of_classes = np.array([_LOG_LOSSES[i == LABELS].mean() for i in range(3)])
    return {
        f"priors {np.round(priors, 2).tolist()}": (_of(ec.cross_entropy, prior=priors.tolist()), priors @ of_classes)
        for priors in (SHARES, _STATED)
    }


@PAPER("section-4.1.2")
def naive_cross_entropy() -> Rows:
    entropy = -(SHARES * np.log(SHARES)).sum()
    yield "cross-entropy of the naive system", (value(_NAIVE, ec.cross_entropy("s", "label")), entropy)
    yield "normalised", (value(_NAIVE, ec.nce("s", "label")), 1.0)
    yield "normalised cross-entropy of the samples", (_of(ec.nce), _of(ec.cross_entropy) / entropy)


@PAPER("integrals")
def integrals_over_costs() -> Rows:
    t = (np.arange(20_000) + 0.5) / 20_000
    decided = BINARY_POSTERIORS[:, None] > t
    # A miss costs 1 / t and a false alarm 1 / (1 - t), for which t is the Bayes threshold.
    costs = np.where(BINARY_LABELS[:, None] == 1, ~decided / t, decided / (1 - t)).mean(axis=0)
    losses = -np.log(np.where(BINARY_LABELS == 1, BINARY_POSTERIORS, 1 - BINARY_POSTERIORS))
    uniform, weighted = value(BINARY, ec.epsr("s2", "label")), value(BINARY, ec.epsr("s2", "label", a=2, b=2)) / 3
    yield "cross-entropy", by_equation(uniform, costs.mean(), within=_OF_SUMS)
    yield "cross-entropy, itself", (uniform, losses.mean())
    yield "Brier score", by_equation(weighted, (6 * t * (1 - t) * costs).mean() / 3, within=_OF_SUMS)
    yield "Brier score, itself", (weighted, _BINARY_SQUARES.mean())


PAPER("equation-55")(lambda: by_sample(values(SCORED, ec.row_brier("s", "label")), _SQUARES, "C"))
PAPER("equation-56")(lambda: {"Brier score": (_of(ec.brier), _SQUARES.mean())})
PAPER("equation-57")(_by_priors(ec.brier, _SQUARES))


@PAPER("equation-58")
def brier_score_of_two_classes() -> Rows:
    for p2 in (float(BINARY_SHARES[1]), 0.2):
        weights = (np.array([1 - p2, p2]) / np.bincount(BINARY_LABELS))[BINARY_LABELS]
        yield f"P2 {p2:g}", (value(BINARY, ec.brier("s2", "label", prior=p2)), (weights * _BINARY_SQUARES).sum())


@PAPER("section-4.1.3")
def naive_brier_score() -> Rows:
    expected = (SHARES * (1 - SHARES)).mean()
    wrong = pl.DataFrame({"label": [1], "s2": [0.0]})
    of_three = pl.DataFrame({"label": [0, 0], "s": vectors(np.array([(0.0, 1.0, 0.0), (0.0, 0.5, 0.5)]))})
    one, two = values(of_three, ec.row_brier("s", "label"))
    dearest = value(wrong, ec.row_log_loss("s2", "label"))
    yield "Brier score of the naive system", (value(_NAIVE, ec.brier("s", "label")), expected)
    yield "normalised", (value(_NAIVE, ec.nbs("s", "label")), 1.0)
    yield "normalised Brier score of the samples", (_of(ec.nbs), _of(ec.brier) / expected)
    yield "most that Brier score charges, two classes", (value(wrong, ec.row_brier("s2", "label")), 1.0)
    yield "most that Brier score charges, three classes", (one, 2 / 3)
    yield "no posterior for the true class, the others alike", (two, 1.5 / 3)
    yield "most that cross-entropy charges", between(dearest, math.inf, math.inf, "infinite")
