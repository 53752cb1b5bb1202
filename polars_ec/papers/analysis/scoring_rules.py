"""Section 4.1: expected values of proper scoring rules: Bayes EC, cross-entropy and Brier score."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.analysis.small_logs import (
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
    values,
)
from polars_ec.papers.numbers import Number, Table, between, by_equation
from polars_ec.papers.simulated import Floats, vectors
from polars_ec.papers.small import Pairs, column, side_by_side, value

_STATED: Floats = np.array([0.5, 0.3, 0.2])
_ONE_HOT: Floats = np.eye(3)[LABELS]
_OF_TRUE_CLASS: Floats = POSTERIORS[np.arange(len(LABELS)), LABELS]
_SQUARES: Floats = ((POSTERIORS - _ONE_HOT) ** 2).mean(axis=1)
_OF_SUMS = 1e-8
"""How near sums over 20,000 operating points are to the integrals."""
_BAYES_COSTS: Floats = COSTS[LABELS, (POSTERIORS @ COSTS).argmin(axis=1)]


def _weights(priors: Floats) -> Floats:
    """P_h / N_h of each sample."""
    weights: Floats = (priors / np.bincount(LABELS))[LABELS]
    return weights


def equation_49() -> Table:
    """The cost of each sample, by the Bayes decision for its posteriors."""
    return by_sample(values(SCORED, ec.row_cost("s", "label", costs=COST_MATRIX)), _BAYES_COSTS, "C*")


def equation_50() -> Table:
    """Its mean, with the cost function of a cost matrix, of the logarithmic loss, and of Equation 55."""
    return side_by_side(
        {
            "Bayes EC": (value(SCORED, ec.bayes_risk("s", "label", costs=COST_MATRIX)), float(_BAYES_COSTS.mean())),
            "cross-entropy": (value(SCORED, ec.cross_entropy("s", "label")), float(-np.log(_OF_TRUE_CLASS).mean())),
            "Brier score": (value(SCORED, ec.brier("s", "label")), float(_SQUARES.mean())),
        }
    )


def equation_51() -> Table:
    """Where, of a grid over the simplex, the expected value by a distribution q is the least."""
    steps = 20
    grid = np.array([(i, j, steps - i - j) for i in range(1, steps) for j in range(1, steps - i)]) / steps
    q = np.array([0.5, 0.3, 0.2])
    log = pl.DataFrame({"s": vectors(grid), "q": vectors(np.tile(q, (len(grid), 1)))}).with_row_index("point")
    # Each point of the grid is a group of one row, whose classes are as frequent as q says.
    each = log.with_columns(label=pl.lit([0, 1, 2]), weight=pl.col("q").arr.to_list())
    risk = (
        each.explode("label", "weight", empty_as_null=False)
        .group_by("point")
        .agg(bayes=ec.bayes_risk("s", "label", costs=COST_MATRIX, weight="weight"))
    )
    rules = log.group_by("point").agg(
        cross_entropy=ec.semi_empirical_epsr("s", "q"),
        brier=ec.semi_empirical_epsr("s", "q", rule="brier"),
    )
    table = log.join(risk, on="point").join(rules, on="point")
    at_q = table.filter((pl.col("s").arr.to_list().list.eval((pl.element() - pl.Series(q)).abs()).list.max()) < 1e-9)
    rows: list[tuple[str, list[Number | None]]] = []
    for name, title in (("bayes", "Bayes EC"), ("cross_entropy", "cross-entropy"), ("brier", "Brier score")):
        least = float(table.select(pl.col(name).min()).item())
        number = by_equation(float(at_q[name].item()), least)
        rows.append((title, [number, _how_many(table, name, least)]))
    return Table(
        ["at s = q, beside the least of the grid", "points with the least"],
        rows,
        ["Only strict rules are the least at q alone."],
    )


def _how_many(table: pl.DataFrame, name: str, least: float) -> Number:
    found = table.filter(pl.col(name) < least + 1e-9).height
    return between(found, 2, 200, "several", decimals=0) if name == "bayes" else between(found, 1, 1, "1", decimals=0)


def bayes_ec() -> Table:
    """Section 4.1.1: argmax decisions at 0-1 costs make it what accuracy lacks to 1."""
    expected = float((POSTERIORS.argmax(axis=1) != LABELS).mean())
    return side_by_side(
        {
            "Bayes EC at 0-1 costs": (value(SCORED, ec.bayes_risk("s", "label")), expected),
            "1 - accuracy": (1 - value(SCORED, ec.accuracy("s", "label")), expected),
        }
    )


def equation_52() -> Table:
    """Cross-entropy, and the loss of each sample."""
    computed = values(SCORED, ec.row_log_loss("s", "label"))
    losses = -np.log(_OF_TRUE_CLASS)
    of_samples = {f"sample {t}": pair for t, pair in enumerate(zip(computed, losses, strict=True), start=1)}
    return side_by_side({"cross-entropy": (value(SCORED, ec.cross_entropy("s", "label")), losses.mean()), **of_samples})


def equation_53() -> Table:
    """By priors, sample by sample."""
    return side_by_side(
        {
            f"priors {np.round(priors, 2).tolist()}": (
                value(SCORED, ec.cross_entropy("s", "label", prior=priors.tolist())),
                float(-(_weights(priors) * np.log(_OF_TRUE_CLASS)).sum()),
            )
            for priors in (SHARES, _STATED)
        }
    )


def equation_54() -> Table:
    """By priors, class by class."""
    of_classes = np.array([-np.log(_OF_TRUE_CLASS[i == LABELS]).mean() for i in range(3)])
    return side_by_side(
        {
            f"priors {np.round(priors, 2).tolist()}": (
                value(SCORED, ec.cross_entropy("s", "label", prior=priors.tolist())),
                float(priors @ of_classes),
            )
            for priors in (SHARES, _STATED)
        }
    )


def naive_cross_entropy() -> Table:
    """Section 4.1.2: the naive system answers the priors, and its cross-entropy is their entropy."""
    naive = pl.DataFrame({"label": LABELS, "s": vectors(np.tile(SHARES, (len(LABELS), 1)))})
    entropy = float(-(SHARES * np.log(SHARES)).sum())
    raw = value(SCORED, ec.cross_entropy("s", "label"))
    return side_by_side(
        {
            "cross-entropy of the naive system": (value(naive, ec.cross_entropy("s", "label")), entropy),
            "normalised": (value(naive, ec.nce("s", "label")), 1.0),
            "normalised cross-entropy of the samples": (value(SCORED, ec.nce("s", "label")), raw / entropy),
        }
    )


def integrals_over_costs() -> Table:
    """Sections 4.1.2 and 4.1.3: both strict rules as integrals of Bayes EC over all operating points, for two classes."""
    t = (np.arange(20_000) + 0.5) / 20_000
    decided = BINARY_POSTERIORS[:, None] > t
    # A miss costs 1 / t and a false alarm 1 / (1 - t), for which t is the Bayes threshold.
    costs = np.where(BINARY_LABELS[:, None] == 1, ~decided / t, decided / (1 - t)).mean(axis=0)
    weights = 6 * t * (1 - t)
    squares = (BINARY_POSTERIORS - BINARY_LABELS) ** 2
    logs = np.log(np.where(BINARY_LABELS == 1, BINARY_POSTERIORS, 1 - BINARY_POSTERIORS))
    uniform, weighted = value(BINARY, ec.epsr("s2", "label")), value(BINARY, ec.epsr("s2", "label", a=2, b=2)) / 3
    return column(
        {
            "cross-entropy": by_equation(uniform, float(costs.mean()), within=_OF_SUMS),
            "cross-entropy, itself": by_equation(uniform, float(-logs.mean())),
            "Brier score": by_equation(weighted, float((weights * costs).mean()) / 3, within=_OF_SUMS),
            "Brier score, itself": by_equation(weighted, float(squares.mean())),
        },
        "ec.epsr with the weights Beta(1, 1) and Beta(2, 2) over operating points, the latter a third; beside a sum over 20,000 operating "
        "points, which is good to 1e-8, and beside the scores themselves.",
    )


def equation_55() -> Table:
    """The cost of each sample."""
    return by_sample(values(SCORED, ec.row_brier("s", "label")), _SQUARES, "C")


def equation_56() -> Table:
    """Brier score."""
    return side_by_side({"Brier score": (value(SCORED, ec.brier("s", "label")), float(_SQUARES.mean()))})


def equation_57() -> Table:
    """By priors."""
    return side_by_side(
        {
            f"priors {np.round(priors, 2).tolist()}": (
                value(SCORED, ec.brier("s", "label", prior=priors.tolist())),
                float((_weights(priors) * _SQUARES).sum()),
            )
            for priors in (SHARES, _STATED)
        }
    )


def equation_58() -> Table:
    """Two classes: by the posterior of H2 alone."""
    squares = (BINARY_POSTERIORS - BINARY_LABELS) ** 2
    pairs: Pairs = {}
    for p2 in (float(BINARY_SHARES[1]), 0.2):
        weights = (np.array([1 - p2, p2]) / np.bincount(BINARY_LABELS))[BINARY_LABELS]
        pairs[f"P2 {p2:g}"] = (value(BINARY, ec.brier("s2", "label", prior=p2)), float((weights * squares).sum()))
    return side_by_side(pairs)


def naive_brier_score() -> Table:
    """Section 4.1.3: the naive system, and how much the worst posterior costs."""
    naive = pl.DataFrame({"label": LABELS, "s": vectors(np.tile(SHARES, (len(LABELS), 1)))})
    expected = float((SHARES * (1 - SHARES)).mean())
    raw = value(SCORED, ec.brier("s", "label"))
    wrong = pl.DataFrame({"label": [1], "s2": [0.0]})
    dearest = value(wrong, ec.row_log_loss("s2", "label"))
    of_three = [
        pl.DataFrame({"label": [0], "s": vectors(np.array([posteriors]))}).select(ec.row_brier("s", "label")).item()
        for posteriors in ((0.0, 1.0, 0.0), (0.0, 0.5, 0.5))
    ]
    return column(
        {
            "Brier score of the naive system": by_equation(value(naive, ec.brier("s", "label")), expected),
            "normalised": by_equation(value(naive, ec.nbs("s", "label")), 1.0),
            "normalised Brier score of the samples": by_equation(value(SCORED, ec.nbs("s", "label")), raw / expected),
            "most that Brier score charges, two classes": by_equation(value(wrong, ec.row_brier("s2", "label")), 1.0),
            "most that Brier score charges, three classes": by_equation(of_three[0], 2 / 3),
            "no posterior for the true class, the others alike": by_equation(of_three[1], 1.5 / 3),
            "most that cross-entropy charges": between(dearest, math.inf, math.inf, "infinite"),
        },
        "The text has 1 as the most that Brier score charges, for a posterior of 0 of the true class. So it is of two classes; of K it is 2 / K, and "
        "that where another class has all of the posterior.",
    )
