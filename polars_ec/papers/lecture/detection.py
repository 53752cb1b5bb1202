"""The empirical Bayes risk, detection costs."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.lecture.decisions import APPLICATIONS, COUNTED, FN, FP, STEPS, TN, TP, rain
from polars_ec.papers.lecture.scores import (
    Application,
    application,
    evaluated,
    wrong_rates,
)
from polars_ec.papers.numbers import Number, Table, between, by_equation, printed
from polars_ec.papers.small import column, counted, value

PREDICTIONS_AS_ROWS = [[205, 111, 56], [145, 199, 121], [50, 92, 225]]
PRIORS = [0.3, 0.4, 0.3]


def bayes_risk() -> Table:
    """The integral over the classes' densities, which are known of simulated scores, and the mean over 3,000 rows."""
    numbers: dict[str, Number] = {}
    normal = NormalDist()
    for point in APPLICATIONS:
        # LLRs 2 x - 2 of normal features with means 0 and 2: normal with means -2 and 2, and variance 4.
        p_fn, p_fp = normal.cdf((point.threshold - 2) / 2), 1 - normal.cdf((point.threshold + 2) / 2)
        risk = point.cost(p_fn, p_fp)
        variance = (point.prior * point.cost_fn) ** 2 * p_fn * (1 - p_fn) / 1_000
        variance += ((1 - point.prior) * point.cost_fp) ** 2 * p_fp * (1 - p_fp) / 2_000
        margin = 3 * math.sqrt(variance)
        computed = value(evaluated(), ec.expected_cost("llr", "label", **application(point)))
        numbers[str(point)] = between(computed, risk - margin, risk + margin, f"{risk:.4f} +- {margin:.4f}")
    return column(numbers, "Allowed are three standard errors of a mean over 1,000 and 2,000 rows.")


def empirical_bayes_risk() -> Table:
    """Three classes, from the table of counts."""
    log = counted(np.array(PREDICTIONS_AS_ROWS).T.tolist())
    decided: Any = {"prior": PRIORS, **COUNTED}
    numbers = {}
    for i, text in enumerate(("0.18375", "0.20199", "0.17388")):
        # The costs of one class alone make its term of the sum.
        alone_ = [row if k == i else [0.0] * 3 for k, row in enumerate(STEPS)]
        numbers[f"term of class {i + 1}"] = printed(
            value(log, ec.expected_cost("decision", "label", costs=alone_, **decided)), text
        )
    risk = value(log, ec.expected_cost("decision", "label", costs=STEPS, **decided))
    return column({**numbers, "empirical Bayes risk": printed(risk, "0.55962")})


def multiclass_cost() -> Table:
    """The risk divided by that of the best of K systems, each of which decides for one class."""
    log = counted(np.array(PREDICTIONS_AS_ROWS).T.tolist())
    n = np.array(PREDICTIONS_AS_ROWS).T
    costs, numbers = np.array(STEPS), {}
    dummies = np.array(PRIORS) @ costs
    for k in range(3):
        constant = log.with_columns(decision=pl.lit(k))
        computed = value(constant, ec.expected_cost("decision", "label", costs=STEPS, prior=PRIORS, **COUNTED))
        numbers[f"always class {k + 1}"] = by_equation(computed, dummies[k])
    risk = (np.array(PRIORS) * (n * costs).sum(axis=1) / n.sum(axis=1)).sum()
    nec = value(log, ec.nec("decision", "label", costs=STEPS, prior=PRIORS, **COUNTED))
    numbers["normalised"] = by_equation(nec, risk / dummies.min())
    return column(numbers)


def detection_cost() -> Table:
    """Two classes: a sum of the two error rates, each times its cost and prior."""
    log, numbers = evaluated(), {}
    for point in APPLICATIONS:
        computed = value(log, ec.expected_cost("llr", "label", **application(point)))
        numbers[str(point)] = by_equation(computed, _of_rows(point))
    return column(
        numbers,
        "The slides have the arguments of the cost in three orders, (C_fn, C_fp, pi_T), (pi_T, C_fn, C_fp) and (pi_T, C_fp, C_fn), and decisions as h* "
        "and as c*: here it is (prior of H_T, cost of a miss, cost of a false alarm).",
    )


def dummy_systems() -> Table:
    """Accept all, reject all."""
    log, rows = evaluated(), []
    for point in APPLICATIONS:
        costs: Any = {**application(point), "score_type": "decision"}
        accept, reject = (
            value(log.select("label", decision=pl.lit(d)), ec.expected_cost("decision", "label", **costs))
            for d in (1, 0)
        )
        rows.append(
            (
                str(point),
                [
                    by_equation(accept, (1 - point.prior) * point.cost_fp),
                    by_equation(reject, point.prior * point.cost_fn),
                ],
            )
        )
    return Table(["always H_T", "always H_F"], rows)


def normalised_detection_cost() -> Table:
    """Divided by the cost of the better dummy system; the same at the effective prior with costs of 1."""
    log, rows = evaluated(), []
    for point in APPLICATIONS:
        expected = _of_rows(point) / min(point.prior * point.cost_fn, (1 - point.prior) * point.cost_fp)
        prior = ec.effective_prior(point.prior, cost_fn=point.cost_fn, cost_fp=point.cost_fp)
        computed = value(log, ec.dcf("llr", "label", **application(point)))
        at_prior = value(log, ec.dcf("llr", "label", **application(Application(prior, 1, 1))))
        rows.append((str(point), [by_equation(computed, expected), by_equation(at_prior, expected)]))
    return Table(["DCF", "at the effective prior"], rows)


def scaled_detection_cost() -> Table:
    """Divided by the sum of both costs times priors: the un-normalised cost at the effective prior."""
    log, numbers = evaluated(), {}
    for point in APPLICATIONS:
        scale = point.prior * point.cost_fn + (1 - point.prior) * point.cost_fp
        prior = ec.effective_prior(point.prior, cost_fn=point.cost_fn, cost_fp=point.cost_fp)
        computed = value(log, ec.expected_cost("llr", "label", **application(Application(prior, 1, 1))))
        numbers[str(point)] = by_equation(computed, _of_rows(point) / scale)
    return column(numbers)


def error_rates_as_costs() -> Table:
    """The error rate is the cost at the priors of the data; that at equal priors is the weighted one."""
    p_fn, p_fp, share = FN / (FN + TP), FP / (FP + TN), (FN + TP) / (FN + TP + FP + TN)
    log = rain()
    half = value(log, ec.expected_cost("decision", "label", prior=0.5, **COUNTED))
    stated = value(log, ec.expected_cost("decision", "label", prior=share, **COUNTED))
    return column(
        {
            "error rate": by_equation(
                value(log, ec.error_rate("decision", "label", **COUNTED)), share * p_fn + (1 - share) * p_fp
            ),
            "cost at the prior of the data": by_equation(stated, (FN + FP) / (FN + TP + FP + TN)),
            "weighted error rate": by_equation(
                value(log, ec.balanced_error_rate("decision", "label", **COUNTED)), (p_fn + p_fp) / 2
            ),
            "cost at the prior 1/2": by_equation(half, (p_fn + p_fp) / 2),
        },
        "The lecture has the error rate as a cost up to a scale: the cost before it is normalised is the error rate itself.",
    )


def llr_threshold() -> Table:
    """Minus the log odds of the effective prior; log odds are LLRs plus these."""
    log, numbers = evaluated(), {}
    for point in APPLICATIONS:
        prior = ec.effective_prior(point.prior, cost_fn=point.cost_fn, cost_fp=point.cost_fp)
        threshold = math.log((1 - prior) / prior)
        posterior = ec.posterior("llr", prior=prior, score_type="llr")
        sums = log.select(posterior=posterior, llr="llr").select(ec.log_odds("posterior") - pl.col("llr"))
        of_costs = ec.CostMatrix.binary(cost_fn=point.cost_fn, cost_fp=point.cost_fp).bayes_log_odds()
        found = of_costs - math.log(point.prior / (1 - point.prior))
        numbers[f"threshold, {point}"] = by_equation(found, threshold)
        numbers[f"log odds less LLR, {point}"] = by_equation(float(sums.mean().item()), -threshold)
        p_fn, p_fp = wrong_rates("llr", threshold)
        at_threshold = (prior * p_fn + (1 - prior) * p_fp) / min(prior, 1 - prior)
        by_default = value(log, ec.dcf("llr", "label", prior=prior, score_type="llr"))
        numbers[f"DCF at this threshold, {point}"] = by_equation(by_default, at_threshold)
    return column(numbers)


def _of_rows(point: Application) -> float:
    """The un-normalised cost at the threshold of the application."""
    return point.cost(*wrong_rates("llr", point.threshold))
