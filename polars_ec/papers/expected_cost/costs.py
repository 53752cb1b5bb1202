"""Section 2: the expected cost, its normalised form, error rates, and the decisions that are best for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.expected_cost.small_logs import (
    COSTS,
    Counts,
    integers,
    posteriors_of,
    three_classes,
    three_counts,
    two_classes,
    two_counts,
)
from polars_ec.papers.numbers import Table, between, by_equation
from polars_ec.papers.small import column, value, whole

DECIDED: Any = {"costs": COSTS.tolist(), "score_type": "decision"}
"""Decisions of three classes, and what they cost."""

DEPLOYED = [0.2, 0.3, 0.5]
"""Priors of another population than that of the log."""


def section_2() -> Table:
    """Costs of which some are below 0 (utilities) cost the same but for a constant, once each class's least is 0."""
    log, counts = three_classes(), three_counts()
    stated = COSTS - np.array([[3.0], [0.5], [-1.0]])
    raw = value(log, ec.expected_cost("decision", "label", costs=stated, score_type="decision"))
    normalised = ec.CostMatrix(stated).normalized()
    of_normalised = value(log, ec.expected_cost("decision", "label", costs=normalised, score_type="decision"))
    of_utilities = ec.CostMatrix.from_utilities((-stated).tolist())
    return column(
        {
            "EC of the costs with each row's least taken off": by_equation(
                of_normalised, (COSTS * counts.p[:, None] * counts.r).sum()
            ),
            "what EC changes by": by_equation(raw - of_normalised, float(counts.p @ stated.min(axis=1))),
            "largest change of a cost, by way of utilities": by_equation(
                np.abs(np.array(of_utilities.values) - COSTS).max(), 0.0
            ),
        }
    )


def equation_1() -> Table:
    """A mean over rows."""
    log = three_classes()
    expected = COSTS[integers(log["label"]), integers(log["decision"])].mean()
    return column(
        {
            "EC": by_equation(value(log, ec.expected_cost("decision", "label", **DECIDED)), expected),
            "mean of the rows' costs": by_equation(
                value(log, ec.row_cost("decision", "label", **DECIDED).mean()), expected
            ),
        }
    )


def equation_2() -> Table:
    """From counts, and from rates and priors, which may be others than those of the log."""
    log, counts = three_classes(), three_counts()
    computed = value(log, ec.expected_cost("decision", "label", **DECIDED))
    elsewhere = ec.expected_cost("decision", "label", prior=DEPLOYED, **DECIDED)
    return column(
        {
            "from counts": by_equation(computed, (COSTS * counts.n).sum() / counts.total),
            "from rates and priors": by_equation(computed, (COSTS * counts.p[:, None] * counts.r).sum()),
            "at the priors 0.2, 0.3, 0.5": by_equation(
                value(log, elsewhere), (COSTS * np.array(DEPLOYED)[:, None] * counts.r).sum()
            ),
        },
        "The text has P_i = N_i* / N_i: priors are N_i* / N.",
    )


def equation_3() -> Table:
    """Divided by the least cost of a constant decision."""
    log, counts = three_classes(), three_counts()
    naive = (COSTS * counts.p[:, None]).sum(axis=0)
    cost = (COSTS * counts.n).sum() / counts.total
    found, decision = ec.CostMatrix(COSTS).naive(counts.p.tolist())
    return column(
        {
            "EC of the best naive system": by_equation(found, naive.min()),
            "its decision": whole(decision, int(naive.argmin())),
            "NEC": by_equation(value(log, ec.nec("decision", "label", **DECIDED)), cost / naive.min()),
        }
    )


def equation_4() -> Table:
    """One number says it all: the ratio alpha of the two costs, each times its prior."""
    log, counts = two_classes(), two_counts()
    r12, r21 = counts.r[0, 1], counts.r[1, 0]
    numbers = {}
    for c12, c21, p2 in ((1.0, 1.0, None), (1.0, 5.0, None), (3.0, 1.0, 0.1)):
        p = counts.p if p2 is None else np.array([1 - p2, p2])
        alpha = c12 * p[0] / (c21 * p[1])
        computed = value(log, ec.nec("decision", "label", cost_fn=c21, cost_fp=c12, prior=p2, score_type="decision"))
        expected = alpha * r12 + r21 if alpha >= 1 else r12 + r21 / alpha
        numbers[f"c12 {c12:g}, c21 {c21:g}, alpha {alpha:.3g}"] = by_equation(computed, expected)
        # The same alpha of a cost alone, at equal priors.
        same = value(log, ec.nec("decision", "label", cost_fn=1, cost_fp=alpha, prior=0.5, score_type="decision"))
        numbers[f"c12 {alpha:.3g}, c21 1, equal priors"] = by_equation(same, expected)
    return column(numbers)


def section_2_1() -> Table:
    """Constant decisions: the best costs 1, the others more."""
    counts, numbers = three_counts(), {}
    naive = (COSTS * counts.p[:, None]).sum(axis=0)
    for decision in range(4):
        log = three_classes().select("label", decision=pl.lit(decision))
        computed = value(log, ec.nec("decision", "label", **DECIDED))
        of_best = decision == naive.argmin()
        numbers[f"always decision {decision + 1}"] = (
            by_equation(computed, 1.0) if of_best else between(computed, 1.0, np.inf, "above 1")
        )
    return column(numbers)


def equation_5() -> Table:
    """The share of errors is EC for costs of 0 and 1."""
    log, counts = three_classes(), likeliest_counts()
    expected = (counts.total - np.trace(counts.n)) / counts.total
    zero_one = ec.CostMatrix.zero_one(3)
    return column(
        {
            "error rate": by_equation(value(log, ec.error_rate("posteriors", "label")), expected),
            "EC for costs of 0 and 1": by_equation(
                value(log, ec.expected_cost("posteriors", "label", costs=zero_one)), expected
            ),
            "1 - accuracy": by_equation(1 - value(log, ec.accuracy("posteriors", "label")), expected),
        },
        "The text has c_ij = 1 for i != 1 and 0 for i = 1: it must be i != j and i = j.",
    )


def equation_6() -> Table:
    """The mean of the classes' error rates is EC for costs that are the inverse of the priors."""
    log, counts = three_classes(), likeliest_counts()
    errors = counts.n - np.diag(np.diag(counts.n))
    expected = (errors.sum(axis=1) / counts.of_class).mean()
    # The decisions are those for the likeliest class, whatever the costs say that they cost.
    decided = log.select("label", decision=ec.bayes_decision("posteriors"))
    balanced = ec.CostMatrix.balanced(counts.p.tolist())
    of_costs = ec.expected_cost("decision", "label", costs=balanced, score_type="decision")
    return column(
        {
            "balanced error rate": by_equation(value(log, ec.balanced_error_rate("posteriors", "label")), expected),
            "EC for costs 1/(K P_i)": by_equation(value(decided, of_costs), expected),
            "1 - unweighted average recall": by_equation(
                1 - value(log, ec.macro_recall("posteriors", "label")), expected
            ),
        }
    )


def equation_7() -> Table:
    """The decision of least expected cost, row by row."""
    log = three_classes()
    best = (posteriors_of(log) @ COSTS).argmin(axis=1)
    decided = integers(log["decision"])
    of_classes = COSTS[:, :3]
    best_class = (posteriors_of(log) @ of_classes).argmin(axis=1)
    decided_class = integers(log.select(ec.bayes_decision("posteriors", costs=of_classes.tolist())).to_series())
    return column(
        {
            "rows decided as by the equation": whole(int((decided == best).sum()), len(best)),
            "the same, for one of the classes": whole(int((decided_class == best_class).sum()), len(best)),
            "EC of these decisions": by_equation(
                value(log, ec.expected_cost("posteriors", "label", costs=COSTS.tolist())),
                COSTS[integers(log["label"]), best].mean(),
            ),
        }
    )


def likeliest_counts() -> Counts:
    """N_ij of decisions for the likeliest of three classes."""
    log = three_classes()
    likeliest = posteriors_of(log).argmax(axis=1)
    return Counts.of(log.select("label", decision=pl.Series(likeliest)), 3)
