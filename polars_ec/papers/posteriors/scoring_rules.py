"""Bayes decisions and proper scoring rules: Equations 1 to 12 and 34, and the text around them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from polars_ec.papers.numbers import Table
from polars_ec.papers.posteriors.small_log import COSTS, C, three_classes, two_classes
from polars_ec.papers.simulated import Floats
from polars_ec.papers.small import Pairs, side_by_side


def _decisions(q: Floats) -> NDArray[np.int64]:
    """Equation 1."""
    decisions: NDArray[np.int64] = np.argmin(q @ C, axis=1)
    return decisions


def bayes_decisions() -> Table:
    """Equation 1."""
    log = three_classes()
    here = log.frame.select(ec.bayes_decision("q", costs=COSTS, score_type="posteriors")).to_series().to_numpy()
    there = _decisions(log.q)
    pairs: Pairs = {f"rows decided D{j + 1}": (np.sum(here == j), np.sum(there == j)) for j in range(C.shape[1])}
    pairs["rows decided otherwise"] = (np.sum(here != there), 0)
    return side_by_side(
        pairs, "Three classes, four decisions. On a tie the lowest decision is taken; the paper takes any."
    )


def cost_of_bayes_decisions() -> Table:
    """Equation 2."""
    log = three_classes()
    here = log.frame.select(ec.row_cost("q", "label", costs=COSTS, score_type="posteriors")).to_series()
    there = C[log.h, _decisions(log.q)]
    return side_by_side(
        {
            "sum of C*(h, q)": (here.sum(), there.sum()),
            "largest difference of a row": (np.abs(here.to_numpy() - there).max(), 0),
        }
    )


def least_at_the_reference() -> Table:
    """Equation 3: of all posteriors on a grid, the one that is expected to cost least is that of the reference."""
    p = (0.5, 0.3, 0.2)
    steps = range(1, 19)
    grid = [(i / 20, j / 20, (20 - i - j) / 20) for i, j in itertools.product(steps, steps) if i + j < 20]
    rows = [(q, k, weight) for q in grid for k, weight in enumerate(p)]
    columns = [("q", pl.Array(pl.Float64, 3)), ("label", pl.Int8()), ("weight", pl.Float64())]
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    risks = frame.group_by("q", maintain_order=True).agg(
        ec.cross_entropy("q", "label", weight="weight", score_type="posteriors").alias("cross-entropy"),
        ec.brier("q", "label", weight="weight", score_type="posteriors").alias("Brier score"),
        ec.bayes_risk("q", "label", weight="weight", costs=COSTS, score_type="posteriors").alias("Bayes risk"),
    )
    pairs: Pairs = {}
    for rule in ("cross-entropy", "Brier score"):
        best = risks.sort(rule)["q"][0]
        pairs |= {f"{rule}: q{i + 1}": (best[i], p[i]) for i in range(3)}
    least = float(np.min(np.array(p) @ C))
    pairs["Bayes risk: least of the grid"] = (risks["Bayes risk"].min(), least)
    at_p = risks.filter(pl.col("q").arr.to_list() == list(p))["Bayes risk"]
    pairs["Bayes risk: of q = p"] = (at_p.item(), least)
    return side_by_side(
        pairs, f"p = {p}; {len(grid)} posteriors q. The Bayes risk is not strict: other q have the same."
    )


def averages_over_rows() -> Table:
    """Equation 6."""
    log = three_classes()
    here = log.frame.select(
        ec.bayes_risk("q", "label", costs=COSTS, score_type="posteriors").alias("risk"),
        ec.cross_entropy("q", "label", score_type="posteriors").alias("cross-entropy"),
        ec.brier("q", "label", score_type="posteriors").alias("brier"),
    ).row(0)
    there = (C[log.h, _decisions(log.q)].mean(), log.log_losses.mean(), log.brier_losses.mean())
    names = ("C* of costs c_ij", "C* = -log q_h", "C* = Brier loss")
    return side_by_side(dict(zip(names, zip(here, there, strict=True), strict=True)))


def expected_cost() -> Table:
    """Equation 7, the cost over that of the least costly decision, and the error rate."""
    log = three_classes()
    n_ij = np.array([[np.sum((log.h == i) & (_decisions(log.q) == j)) for j in range(4)] for i in range(3)])
    priors, rates = n_ij.sum(axis=1) / n_ij.sum(), n_ij / n_ij.sum(axis=1, keepdims=True)
    decided = log.frame.with_columns(d=ec.bayes_decision("q", costs=COSTS, score_type="posteriors"))
    ec_here, nec_here, errors = decided.select(
        ec.expected_cost("d", "label", costs=COSTS, score_type="decision").alias("EC"),
        ec.nec("d", "label", costs=COSTS, score_type="decision").alias("NEC"),
        ec.error_rate("q", "label", score_type="posteriors").alias("error rate"),
    ).row(0)
    cost = float(np.sum(C * priors[:, None] * rates))
    return side_by_side(
        {
            "EC by counts": (ec_here, float(np.sum(C * n_ij / n_ij.sum()))),
            "EC by priors and rates": (ec_here, cost),
            "EC over that of the best naive system": (nec_here, cost / np.min(priors @ C)),
            "EC of 0-1 costs: error rate": (errors, np.mean(log.q.argmax(axis=1) != log.h)),
        }
    )


def cross_entropy() -> Table:
    """Equation 8, and the cross-entropy over that of the best naive system."""
    log = three_classes()
    ce, nce = log.frame.select(
        ec.cross_entropy("q", "label", score_type="posteriors").alias("CE"),
        ec.nce("q", "label", score_type="posteriors").alias("NCE"),
    ).row(0)
    there = log.log_losses.mean()
    return side_by_side({"CE": (ce, there), "NCE": (nce, there / -np.sum(log.priors * np.log(log.priors)))})


def brier_score() -> Table:
    """Equation 9, and the Brier score over that of the best naive system."""
    log = three_classes()
    bs, nbs = log.frame.select(
        ec.brier("q", "label", score_type="posteriors").alias("BS"),
        ec.nbs("q", "label", score_type="posteriors").alias("NBS"),
    ).row(0)
    there = log.brier_losses.mean()
    return side_by_side({"BS": (bs, there), "NBS": (nbs, there / (np.sum(log.priors * (1 - log.priors)) / 3))})


def naive_systems() -> Table:
    """Sections 2.3.2 and 2.3.3: who always answers the class shares."""
    pairs: Pairs = {}
    for priors in ((0.6, 0.4), (0.8, 0.2)):
        frame = pl.DataFrame(
            {"q": [priors[1]] * 10, "label": [0] * round(10 * priors[0]) + [1] * round(10 * priors[1])}
        )
        ce, bs, nce, nbs = frame.select(
            ec.cross_entropy("q", "label").alias("CE"),
            ec.brier("q", "label").alias("BS"),
            ec.nce("q", "label").alias("NCE"),
            ec.nbs("q", "label").alias("NBS"),
        ).row(0)
        pairs |= {
            f"CE, priors {priors}": (ce, -sum(p * math.log(p) for p in priors)),
            f"BS, priors {priors}": (bs, sum(p * (1 - p) for p in priors) / 2),
            f"NCE, priors {priors}": (nce, 1),
            f"NBS, priors {priors}": (nbs, 1),
        }
    return side_by_side(pairs)


_OPERATING_POINTS = (0.1, 0.3, 0.5, 0.9)


def costs_of_an_operating_point() -> Table:
    """Equation 11: for two classes the Bayes decision is class 2 where its posterior is above a_2."""
    pairs: Pairs = {}
    for a2 in _OPERATING_POINTS:
        a = (1 - a2, a2)
        costs = ec.CostMatrix([[(i != j) / a[i] for j in range(2)] for i in range(2)])
        pairs[f"threshold of q2 for a2 = {a2}"] = (costs.bayes_threshold(), a2)
    return side_by_side(pairs, "The N in the equation is the number of classes.")


def costs_of_the_figure() -> Table:
    """Equation 34: class 1 is decided where its posterior is above a_1."""
    pairs: Pairs = {}
    for a1 in _OPERATING_POINTS:
        costs = ec.CostMatrix([[0, 1 / a1], [1 / (1 - a1), 0]])
        pairs[f"threshold of q1 for a1 = {a1}"] = (1 - costs.bayes_threshold(), a1)
    return side_by_side(
        pairs,
        "The code that drew Figure 1 has 1 / (1 - a1) and 1 / a1 the other way round, so that its a1 is the threshold of class 2.",
    )


_WEIGHTS: dict[str, tuple[float, Callable[[Floats], Floats]]] = {
    "W uniform": (1.0, np.ones_like),
    "W = Beta(2, 2)": (2.0, lambda a: 6 * a * (1 - a)),
}


def _integral_of_risks(frame: pl.DataFrame, weight: Callable[[Floats], Floats]) -> float:
    """Of W(a) times the Bayes risk, piece by piece between the posteriors, where the risk jumps."""
    nodes, widths = np.polynomial.legendre.leggauss(12)
    edges = np.array([0.0, *frame["q"].unique().sort(), 1.0])
    half = np.diff(edges)[:, None] / 2
    a2 = (edges[:-1, None] + half + half * nodes).ravel()
    points = pl.DataFrame({"a2": a2, "cost_fn": 1 / a2, "cost_fp": 1 / (1 - a2)})
    risks = (
        frame.join(points, how="cross")
        .group_by("a2")
        .agg(ec.bayes_risk("q", "label", cost_fn="cost_fn", cost_fp="cost_fp").alias("risk"))
        .sort("a2")["risk"]
        .to_numpy()
    )
    return float(np.sum(weight(a2) * risks * (half * widths).ravel()))


def rule_as_an_integral() -> Table:
    """Equation 10, for one row of each class."""
    pairs: Pairs = {}
    for label, q2 in ((1, 0.3), (0, 0.3), (1, 0.8)):
        row = pl.DataFrame({"q": [q2], "label": [label]})
        for name, (ab, weight) in _WEIGHTS.items():
            # The integral is per class: its prior is 1.
            value = row.select(ec.epsr("q", "label", a=ab, b=ab)).item()
            pairs[f"{name}: h = H{label + 1}, q2 = {q2}"] = (value, _integral_of_risks(row, weight))
    return side_by_side(pairs)


def expected_rules_as_integrals() -> Table:
    """Equation 12: the cross-entropy, and 3 times the Brier score, as areas under weighted Bayes risks."""
    frame = two_classes().frame.gather_every(5)
    uniform, beta = (_integral_of_risks(frame, weight) for _, weight in _WEIGHTS.values())
    ce, bs, epsr_1, epsr_2 = frame.select(
        ec.cross_entropy("q", "label").alias("CE"),
        ec.brier("q", "label").alias("BS"),
        ec.epsr("q", "label").alias("1"),
        ec.epsr("q", "label", a=2, b=2).alias("2"),
    ).row(0)
    return side_by_side(
        {
            "W uniform: cross-entropy": (ce, uniform),
            "W uniform: ec.epsr": (epsr_1, uniform),
            "W = Beta(2, 2): 3 times the Brier score": (3 * bs, beta),
            "W = Beta(2, 2): ec.epsr": (epsr_2, beta),
        },
        "By the weight Beta(2, 2) of the text one has 3 times the Brier score of Equation 9; normalised, they are the same.",
    )
