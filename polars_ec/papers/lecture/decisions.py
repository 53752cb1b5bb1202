"""Accuracy and error rates, and Bayes decisions."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.lecture.scores import Application, application, evaluated, wrong_rates
from polars_ec.papers.numbers import Table, by_equation, printed
from polars_ec.papers.simulated import Floats
from polars_ec.papers.small import column, counted, value, whole

COUNTED: Any = {"score_type": "decision", "weight": "n"}

TN, FN, FP, TP = 300, 20, 30, 15
"""Days: rain is the class H_T."""

STEPS = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
"""The costs of the lecture's three classes."""

POSTERIORS = [0.40, 0.25, 0.35]

APPLICATIONS = (Application(0.1, 1, 9), Application(0.5, 1, 1), Application(0.01, 10, 1))
"""A rare class, equal odds, and a class that is rare but dear to miss."""


def rain() -> pl.DataFrame:
    """The year's forecasts: rows are what came, columns what was said."""
    return counted([[TN, FP], [FN, TP]])


def always_clear() -> pl.DataFrame:
    """The same year without any forecast of rain."""
    return counted([[TN + FP, 0], [FN + TP, 0]])


def accuracy() -> Table:
    """Shares of right and of wrong decisions."""
    n = TN + FN + FP + TP
    return column(
        {
            "accuracy": by_equation(value(rain(), ec.accuracy("decision", "label", **COUNTED)), (TN + TP) / n),
            "error rate": by_equation(value(rain(), ec.error_rate("decision", "label", **COUNTED)), (FN + FP) / n),
        }
    )


def rain_accuracy() -> Table:
    """In percent; and what they cost beside the better of two constant forecasts."""
    rows = []
    for name, log, text, errors in (
        ("forecast", rain(), "86", FN + FP),
        ("always clear", always_clear(), "90", FN + TP),
    ):
        of_log = value(log, ec.accuracy("decision", "label", **COUNTED))
        nec = value(log, ec.nec("decision", "label", **COUNTED))
        rows.append((name, [printed(100 * of_log, text), by_equation(nec, errors / (FN + TP))]))
    return Table(
        ["accuracy, percent", "NEC"],
        rows,
        [
            "Accuracies are printed as about 86 % and about 90 %. NEC says at once that the forecast is worse than none: it is above 1."
        ],
    )


def confusion_matrix() -> Table:
    """Counts by true class and decision."""
    found = rain().select(ec.confusion("decision", "label", **COUNTED)).item()
    expected = {"true negatives": ("tn", TN), "false negatives": ("fn", FN)}
    expected |= {"false positives": ("fp", FP), "true positives": ("tp", TP)}
    return column(
        {name: whole(found[field], count, "print") for name, (field, count) in expected.items()},
        "The lecture's tables have decisions as rows and classes as columns; here rows are classes.",
    )


def error_rates() -> Table:
    """Shares of a class that are decided wrongly, and rightly."""
    rates = {
        "false negative rate": (ec.fnr, FN / (FN + TP)),
        "false positive rate": (ec.fpr, FP / (FP + TN)),
        "true positive rate": (ec.recall, TP / (FN + TP)),
        "true negative rate": (ec.specificity, TN / (FP + TN)),
    }
    return column(
        {
            name: by_equation(value(rain(), rate("decision", "label", **COUNTED)), expected)
            for name, (rate, expected) in rates.items()
        }
    )


def weighted_accuracy() -> Table:
    """A mean of the two error rates with a weight for either: EC at a stated prior."""
    fpr, fnr = FP / (FP + TN), FN / (FN + TP)
    return column(
        {
            f"alpha {alpha:g}": by_equation(
                value(rain(), ec.expected_cost("decision", "label", prior=1 - alpha, **COUNTED)),
                alpha * fpr + (1 - alpha) * fnr,
            )
            for alpha in (0.2, 0.5, 0.9)
        },
        "The lecture calls alpha FPR + (1 - alpha) FNR a weighted accuracy: it is a weighted error rate, and the lower the better.",
    )


def score_threshold() -> Table:
    """The class H_T where the score is at the threshold or above it."""
    log = evaluated()
    s = log["llr"].to_numpy()
    # A score, so that it matters whether the threshold itself belongs to H_T.
    t = float(np.sort(s)[len(s) // 2])
    above = value(log, ec.bayes_decision("llr", threshold=t, score_type="llr").sum())
    just_below = float(np.nextafter(t, -np.inf))
    from_t = value(log, ec.bayes_decision("llr", threshold=just_below, score_type="llr").sum())
    return column(
        {
            "rows with s > t, polars_ec's rule": whole(above, int((s > t).sum())),
            "rows with s >= t, by the next lower threshold": whole(from_t, int((s >= t).sum())),
        },
        "They differ by the rows whose score is t itself: here one.",
    )


def expected_costs() -> Table:
    """Costs of another matrix than its transpose, weighed by the posteriors: their product with the column of posteriors."""
    costs = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 1.0, 0.0]])
    # In the lecture's layout actions are rows.
    expected = costs.T @ np.array(POSTERIORS)
    return column(
        {
            f"action {action + 1}": by_equation(_expected_cost(action, costs.tolist()), expected[action])
            for action in range(3)
        }
    )


def bayes_decision() -> Table:
    """What each action is expected to cost, and the action of least cost, which is for the unlikeliest class."""
    row = pl.DataFrame({"q": [POSTERIORS]}, schema={"q": pl.Array(pl.Float64, 3)})
    texts = ("0.95", "0.75", "1.05")
    return column(
        {
            **{
                f"expected cost of action {action + 1}": printed(_expected_cost(action, STEPS), text)
                for action, text in enumerate(texts)
            },
            "Bayes decision": whole(1 + value(row, ec.bayes_decision("q", costs=STEPS)), 2, "print"),
            "likeliest class": whole(1 + value(row, ec.bayes_decision("q")), 1, "print"),
        },
        "Classes count from 1 as in the lecture, and from 0 in polars_ec.",
    )


def binary_costs() -> Table:
    """Costs of right decisions, taken off: the same threshold, and a cost that is less by a constant."""
    costs = np.array([[0.5, 3.0], [7.0, 1.0]])
    normalised = ec.CostMatrix(costs).normalized()
    found = np.array(normalised.values)
    log = rain()
    options: Any = COUNTED
    raw, taken_off = (
        value(log, ec.expected_cost("decision", "label", costs=c, **options)) for c in (costs.tolist(), normalised)
    )
    of_class = np.array([TN + FP, FN + TP]) / (TN + FN + FP + TP)
    return column(
        {
            "false positive": by_equation(found[0, 1], 2.5),
            "false negative": by_equation(found[1, 0], 6.0),
            "right decisions": by_equation(float(found[0, 0] + found[1, 1]), 0.0),
            "Bayes threshold": by_equation(ec.CostMatrix(costs).bayes_threshold(), 2.5 / (2.5 + 6.0)),
            "what costs change by": by_equation(raw - taken_off, float(of_class @ costs.diagonal())),
        }
    )


def binary_decision() -> Table:
    """H_T where C_fp P(H_F|x) < C_fn P(H_T|x), which is where r(x) > 0; with equal costs any action, and here H_F."""
    rows = pl.DataFrame({"posterior": (np.arange(20) + 0.5) / 20})
    p, numbers = rows["posterior"].to_numpy(), {}
    for cost_fn, cost_fp in ((1.0, 1.0), (1.0, 4.0), (2.5, 1.0)):
        decided = _decided(rows, ec.bayes_decision("posterior", cost_fn=cost_fn, cost_fp=cost_fp))
        less = cost_fp * (1 - p) < cost_fn * p
        with_ratio = np.log(cost_fn * p) > np.log(cost_fp * (1 - p))
        numbers[f"rows decided as by cost, {cost_fn:g} and {cost_fp:g}"] = whole(int((decided == less).sum()), len(p))
        numbers[f"rows decided as by r(x), {cost_fn:g} and {cost_fp:g}"] = whole(
            int((decided == with_ratio).sum()), len(p)
        )
    tie = pl.DataFrame({"posterior": [0.5]})
    numbers["decision at equal costs"] = whole(value(tie, ec.bayes_decision("posterior")), 0)
    return column(numbers, "Rows are posteriors from 0.025 to 0.975; costs are those of a miss and of a false alarm.")


def llr_decision() -> Table:
    """A threshold on the LLR, from the prior and the costs."""
    log = evaluated()
    llr, numbers = log["llr"].to_numpy(), {}
    for point in APPLICATIONS:
        decided = _decided(log, ec.bayes_decision("llr", **application(point)))
        numbers[f"rows decided as by the threshold, {point}"] = whole(
            int((decided == (llr > point.threshold)).sum()), len(llr)
        )
    return column(numbers, "Applications are (prior of H_T, cost of a miss, cost of a false alarm).")


def effective_prior() -> Table:
    """One prior with costs of 1 that makes the same decisions, and costs with a prior of 1/2 that do so too."""
    log, rows = evaluated(), []
    for point in APPLICATIONS:
        odds = point.prior * point.cost_fn / ((1 - point.prior) * point.cost_fp)
        found = ec.effective_prior(point.prior, cost_fn=point.cost_fn, cost_fp=point.cost_fp)
        same = _decided(log, ec.bayes_decision("llr", **application(point)))
        of_prior = _decided(log, ec.bayes_decision("llr", **application(Application(found, 1, 1))))
        absorbed = Application(0.5, point.prior * point.cost_fn, (1 - point.prior) * point.cost_fp)
        of_costs = _decided(log, ec.bayes_decision("llr", **application(absorbed)))
        rows.append(
            (
                str(point),
                [
                    by_equation(
                        found,
                        point.prior * point.cost_fn / (point.prior * point.cost_fn + (1 - point.prior) * point.cost_fp),
                    ),
                    by_equation(found / (1 - found), odds),
                    whole(int((of_prior == same).sum()), log.height),
                    whole(int((of_costs == same).sum()), log.height),
                ],
            )
        )
    return Table(["effective prior", "its odds", "same decisions", "same with prior 1/2"], rows)


def bayes_cost() -> Table:
    """What the Bayes decision of a row costs, given its class: the mean for each class."""
    log, point = evaluated(), APPLICATIONS[0]
    p_fn, p_fp = wrong_rates("llr", point.threshold)
    cost = ec.row_cost("llr", "label", **application(point))
    return column(
        {
            "mean cost in H_F": by_equation(value(log.filter(pl.col("label") == 0), cost.mean()), point.cost_fp * p_fp),
            "mean cost in H_T": by_equation(value(log.filter(pl.col("label") == 1), cost.mean()), point.cost_fn * p_fn),
        }
    )


def _expected_cost(action: int, costs: list[list[float]]) -> float:
    """Of rows whose class shares are the posteriors, a constant action costs what it is expected to cost."""
    constant = pl.DataFrame({"label": [0, 1, 2], "n": POSTERIORS}).with_columns(decision=pl.lit(action))
    return value(constant, ec.expected_cost("decision", "label", costs=costs, **COUNTED))


def _decided(log: pl.DataFrame, decision: pl.Expr) -> Floats:
    return np.asarray(log.select(decision).to_series().to_numpy())
