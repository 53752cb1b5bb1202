"""Section 3 and appendix C: metrics of binary decisions, each as a function of an expected cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.expected_cost.costs import likeliest_counts
from polars_ec.papers.expected_cost.small_logs import three_classes, two_classes, two_counts
from polars_ec.papers.numbers import Table, between, by_equation
from polars_ec.papers.small import OF_COUNTED, column, counted, value

DECIDED: Any = {"score_type": "decision"}
BETAS = (0.5, 1.0, 2.0)
P_T = (0.1, 0.4)


def equation_8() -> Table:
    """From precision and recall."""
    log, n = two_classes(), two_counts().n
    precision, recall = n[1, 1] / n[:, 1].sum(), n[1, 1] / n[1].sum()
    numbers = {
        "precision": by_equation(value(log, ec.precision("decision", "label", **DECIDED)), precision),
        "recall": by_equation(value(log, ec.recall("decision", "label", **DECIDED)), recall),
    }
    for beta in BETAS:
        expected = (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
        numbers[f"F, beta {beta:g}"] = by_equation(_f(beta), expected)
    return column(numbers)


def equation_9() -> Table:
    """From counts."""
    n = two_counts().n
    return column(
        {
            f"F, beta {beta:g}": by_equation(
                _f(beta), (1 + beta**2) * n[1, 1] / ((1 + beta**2) * n[1, 1] + beta**2 * n[1, 0] + n[0, 1])
            )
            for beta in BETAS
        }
    )


def equation_10() -> Table:
    """One minus F, from counts, and from rates and priors."""
    counts = two_counts()
    n, numbers = counts.n, {}
    for beta in BETAS:
        errors = beta**2 * n[1, 0] + n[0, 1]
        from_counts = errors / ((1 + beta**2) * n[1, 1] + errors)
        numbers[f"from counts, beta {beta:g}"] = by_equation(1 - _f(beta), from_counts)
        numbers[f"from rates, beta {beta:g}"] = by_equation(1 - _f(beta), _cost(beta) / _decided(beta))
    return column(numbers)


def equation_11() -> Table:
    """EC where a miss costs beta squared."""
    return column({f"EC, c21 {beta**2:g}": by_equation(_ec(beta), _cost(beta)) for beta in BETAS})


def equation_12() -> Table:
    """One minus F as EC, and as NEC, each times a factor that goes with how many rows are decided to be of class 2."""
    log, counts = two_classes(), two_counts()
    p, share = counts.p, counts.of_decision[1] / counts.total
    computed = value(log, ec.decision_share("decision", "label", 1, **DECIDED))
    numbers = {"share of rows decided as class 2": by_equation(computed, share)}
    for beta in BETAS:
        least = min(beta**2 * p[1], p[0])
        nec = _cost(beta) / least
        numbers[f"NEC, c21 {beta**2:g}"] = by_equation(
            value(log, ec.nec("decision", "label", cost_fn=beta**2, **DECIDED)), nec
        )
        numbers[f"1 - F, beta {beta:g}, by EC"] = by_equation(1 - _f(beta), _cost(beta) / (beta**2 * p[1] + share))
        numbers[f"1 - F, beta {beta:g}, by NEC"] = by_equation(1 - _f(beta), least * nec / (beta**2 * p[1] + share))
    return column(numbers)


def section_3_1() -> Table:
    """F of constant decisions."""
    p2 = two_counts().p[1]
    numbers = {}
    for beta in BETAS:
        always = [
            value(
                two_classes().select("label", decision=pl.lit(d)), ec.fbeta("decision", "label", beta=beta, **DECIDED)
            )
            for d in (0, 1)
        ]
        numbers[f"always class 1, beta {beta:g}"] = by_equation(always[0], 0.0)
        numbers[f"always class 2, beta {beta:g}"] = by_equation(always[1], (1 + beta**2) * p2 / (beta**2 * p2 + 1))
    return column(numbers)


def footnote_8() -> Table:
    """Other priors, the same rates: F and MCC move, and so they do by the prior that is stated."""
    r = two_counts().r
    numbers = {}
    for p2 in (0.05, 0.5):
        n = r * np.array([[1 - p2], [p2]])
        log = two_classes()
        f1 = 2 * n[1, 1] / (2 * n[1, 1] + n[1, 0] + n[0, 1])
        numbers[f"F1 at P2 = {p2:g}"] = by_equation(value(log, ec.f1("decision", "label", prior=p2, **DECIDED)), f1)
        numbers[f"MCC at P2 = {p2:g}"] = by_equation(
            value(log, ec.mcc("decision", "label", prior=p2, **DECIDED)), _mcc(n)
        )
        numbers[f"EC at P2 = {p2:g}"] = by_equation(
            value(log, ec.expected_cost("decision", "label", prior=p2, **DECIDED)), n[0, 1] + n[1, 0]
        )
    return column(numbers)


def equation_13() -> Table:
    """From counts."""
    return column({"MCC": by_equation(_mcc_of_log(), _mcc(two_counts().n))})


def equation_14() -> Table:
    """One minus a NEC, that of equal priors, times a factor that goes with how many rows are decided to be of class 2."""
    log, counts = two_classes(), two_counts()
    r, p2 = counts.r, counts.p[1]
    nec = value(log, ec.nec("decision", "label", prior="uniform", **DECIDED))
    share = counts.of_decision[1] / counts.total
    factor = np.sqrt(p2 * (1 - p2) / (share * (1 - share)))
    reversed_ = counted(counts.n[:, ::-1].tolist())
    return column(
        {
            "NEC at equal priors": by_equation(nec, r[0, 1] + r[1, 0]),
            "balanced error rate over the naive 0.5": by_equation(
                value(log, ec.balanced_error_rate("decision", "label", **DECIDED)) / 0.5, nec
            ),
            "MCC": by_equation(_mcc_of_log(), factor * (1 - (r[0, 1] + r[1, 0]))),
            "MCC where NEC is above 1": between(value(reversed_, ec.mcc(**OF_COUNTED)), -1, 0, "below 0"),
            "NEC there": between(value(reversed_, ec.nec(**OF_COUNTED, prior="uniform")), 1, 2, "above 1"),
        }
    )


def section_3_3() -> Table:
    """F of the means of the classes' precision and recall."""
    n = likeliest_counts().n
    precision = (np.diag(n) / n.sum(axis=0)).mean()
    recall = (np.diag(n) / n.sum(axis=1)).mean()
    computed = value(three_classes(), ec.f1_of_averages("posteriors", "label"))
    return column({"macro F score": by_equation(computed, 2 * precision * recall / (precision + recall))})


def equation_25() -> Table:
    """From counts."""
    counts = two_counts()
    n, total = counts.n, counts.total
    return column(
        {
            f"net benefit, p_t {p_t:g}": by_equation(
                _net_benefit(p_t), n[1, 1] / total - p_t / (1 - p_t) * n[0, 1] / total
            )
            for p_t in P_T
        }
    )


def equation_26() -> Table:
    """From rates and priors: the prior of class 2 less EC with c12 = p_t / (1 - p_t)."""
    counts = two_counts()
    r, p, numbers = counts.r, counts.p, {}
    for p_t in P_T:
        odds = p_t / (1 - p_t)
        of_rates = p[1] * r[1, 1] - odds * p[0] * r[0, 1]
        cost = value(two_classes(), ec.expected_cost("decision", "label", cost_fp=odds, **DECIDED))
        numbers[f"from rates, p_t {p_t:g}"] = by_equation(_net_benefit(p_t), of_rates)
        numbers[f"P2 - EC, p_t {p_t:g}"] = by_equation(p[1] - cost, of_rates)
    return column(numbers)


def equation_27() -> Table:
    """From NEC; and the threshold that is best for it is p_t."""
    counts, numbers = two_counts(), {}
    r, p = counts.r, counts.p
    for p_t in P_T:
        odds = p_t / (1 - p_t)
        least = min(p[1], odds * p[0])
        nec = (p[1] * r[1, 0] + odds * p[0] * r[0, 1]) / least
        numbers[f"NEC, c12 {odds:.3f}"] = by_equation(
            value(two_classes(), ec.nec("decision", "label", cost_fp=odds, **DECIDED)), nec
        )
        numbers[f"net benefit, p_t {p_t:g}"] = by_equation(_net_benefit(p_t), p[1] - least * nec)
        threshold = ec.CostMatrix.binary(cost_fn=1, cost_fp=odds).bayes_threshold()
        numbers[f"Bayes threshold, p_t {p_t:g}"] = by_equation(threshold, p_t)
    return column(numbers)


def equation_28() -> Table:
    """From sensitivity and specificity."""
    log, r = two_classes(), two_counts().r
    return column(
        {
            "sensitivity": by_equation(value(log, ec.recall("decision", "label", **DECIDED)), r[1, 1]),
            "specificity": by_equation(value(log, ec.specificity("decision", "label", **DECIDED)), r[0, 0]),
            "LR+": by_equation(_lr_plus(), r[1, 1] / (1 - r[0, 0])),
        }
    )


def equation_29() -> Table:
    """From NEC at equal priors."""
    r = two_counts().r
    nec = r[0, 1] + r[1, 0]
    return column(
        {
            "NEC at equal priors": by_equation(
                value(two_classes(), ec.nec("decision", "label", prior="uniform", **DECIDED)), nec
            ),
            "from rates": by_equation(_lr_plus(), (1 - r[1, 0]) / r[0, 1]),
            "from NEC": by_equation(_lr_plus(), (1 - nec) / r[0, 1] + 1),
        }
    )


def _f(beta: float) -> float:
    return value(two_classes(), ec.fbeta("decision", "label", beta=beta, **DECIDED))


def _ec(beta: float) -> float:
    return value(two_classes(), ec.expected_cost("decision", "label", cost_fn=beta**2, **DECIDED))


def _cost(beta: float) -> float:
    """EC with c21 = beta squared, in the paper's notation."""
    counts = two_counts()
    return float(beta**2 * counts.r[1, 0] * counts.p[1] + counts.r[0, 1] * counts.p[0])


def _decided(beta: float) -> float:
    """What divides it to be one minus F."""
    counts = two_counts()
    return float(beta**2 * counts.p[1] + counts.of_decision[1] / counts.total)


def _mcc(n: Any) -> float:
    of_class, of_decision = n.sum(axis=1), n.sum(axis=0)
    return float((n[0, 0] * n[1, 1] - n[0, 1] * n[1, 0]) / np.sqrt(of_class.prod() * of_decision.prod()))


def _mcc_of_log() -> float:
    return value(two_classes(), ec.mcc("decision", "label", **DECIDED))


def _net_benefit(p_t: float) -> float:
    return value(two_classes(), ec.net_benefit("decision", "label", p_t=p_t, **DECIDED))


def _lr_plus() -> float:
    return value(two_classes(), ec.lr_plus("decision", "label", **DECIDED))
