"""Section 3 and appendix C: metrics of binary decisions, each as a function of an expected cost."""

from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.expected_cost import PAPER
from examples.papers.expected_cost.decisions import likeliest_counts, three_classes, two_classes, two_counts
from examples.papers.numbers import Rows, between, counted, decided, value

BETAS = (0.5, 1.0, 2.0)
P_T = (0.1, 0.4)
_COUNTS = two_counts()
_N, _R, _P, _TOTAL = _COUNTS.n, _COUNTS.r, _COUNTS.p, _COUNTS.total
_SHARE = _COUNTS.of_decision[1] / _TOTAL
"""How many rows are decided as class 2."""


def _of(metric: Any, **options: Any) -> float:
    return decided(two_classes(), metric, **options)


def _f(beta: float) -> float:
    return _of(ec.fbeta, beta=beta)


def _cost(beta: float) -> float:
    return float(beta**2 * _R[1, 0] * _P[1] + _R[0, 1] * _P[0])


def _mcc(n: Any) -> float:
    return float((n[0, 0] * n[1, 1] - n[0, 1] * n[1, 0]) / np.sqrt(n.sum(axis=1).prod() * n.sum(axis=0).prod()))


@PAPER("equation-8")
def f_by_precision_and_recall() -> Rows:
    precision, recall = _N[1, 1] / _N[:, 1].sum(), _R[1, 1]
    yield "precision", (_of(ec.precision), precision)
    yield "recall", (_of(ec.recall), recall)
    for beta in BETAS:
        yield f"F, beta {beta:g}", (_f(beta), (1 + beta**2) * precision * recall / (beta**2 * precision + recall))


@PAPER("equation-9")
def f_by_counts() -> Rows:
    for beta in BETAS:
        hits = (1 + beta**2) * _N[1, 1]
        yield f"F, beta {beta:g}", (_f(beta), hits / (hits + beta**2 * _N[1, 0] + _N[0, 1]))


@PAPER("equation-10")
def lack_of_f() -> Rows:
    for beta in BETAS:
        errors = beta**2 * _N[1, 0] + _N[0, 1]
        yield f"from counts, beta {beta:g}", (1 - _f(beta), errors / ((1 + beta**2) * _N[1, 1] + errors))
        yield f"from rates, beta {beta:g}", (1 - _f(beta), _cost(beta) / (beta**2 * _P[1] + _SHARE))


PAPER("equation-11")(lambda: {f"EC, c21 {b**2:g}": (_of(ec.expected_cost, cost_fn=b**2), _cost(b)) for b in BETAS})


@PAPER("equation-12")
def lack_of_f_by_cost() -> Rows:
    yield "share of rows decided as class 2", (_of(ec.decision_share, decision=1), _SHARE)
    for beta in BETAS:
        least = min(beta**2 * _P[1], _P[0])
        nec = _cost(beta) / least
        yield f"NEC, c21 {beta**2:g}", (_of(ec.nec, cost_fn=beta**2), nec)
        yield f"1 - F, beta {beta:g}, by EC", (1 - _f(beta), _cost(beta) / (beta**2 * _P[1] + _SHARE))
        yield f"1 - F, beta {beta:g}, by NEC", (1 - _f(beta), least * nec / (beta**2 * _P[1] + _SHARE))


@PAPER("section-3.1")
def f_of_constant_decisions() -> Rows:
    first, second = (two_classes().select("label", decision=pl.lit(d)) for d in (0, 1))
    for beta in BETAS:
        best = (1 + beta**2) * _P[1] / (beta**2 * _P[1] + 1)
        yield f"always class 1, beta {beta:g}", (decided(first, ec.fbeta, beta=beta), 0.0)
        yield f"always class 2, beta {beta:g}", (decided(second, ec.fbeta, beta=beta), best)


@PAPER("footnote-8")
def metrics_at_other_priors() -> Rows:
    for p2 in (0.05, 0.5):
        n = _R * np.array([[1 - p2], [p2]])
        f1 = 2 * n[1, 1] / (2 * n[1, 1] + n[1, 0] + n[0, 1])
        yield f"F1 at P2 = {p2:g}", (_of(ec.f1, prior=p2), f1)
        yield f"MCC at P2 = {p2:g}", (_of(ec.mcc, prior=p2), _mcc(n))
        yield f"EC at P2 = {p2:g}", (_of(ec.expected_cost, prior=p2), n[0, 1] + n[1, 0])


PAPER("equation-13")(lambda: {"MCC": (_of(ec.mcc), _mcc(_N))})


@PAPER("equation-14")
def mcc_by_nec() -> Rows:
    nec, errors = _of(ec.nec, prior="uniform"), _R[0, 1] + _R[1, 0]
    mirrored = counted(_N[:, ::-1].tolist())
    yield "NEC at equal priors", (nec, errors)
    yield "balanced error rate over the naive 0.5", (_of(ec.balanced_error_rate) / 0.5, nec)
    yield "MCC", (_of(ec.mcc), np.sqrt(_P[1] * (1 - _P[1]) / (_SHARE * (1 - _SHARE))) * (1 - errors))
    yield "MCC where NEC is above 1", between(decided(mirrored, ec.mcc), -1, 0, "below 0")
    yield "NEC there", between(decided(mirrored, ec.nec, prior="uniform"), 1, 2, "above 1")


@PAPER("section-3.3")
def macro_f_score() -> Rows:
    n = likeliest_counts().n
    precision, recall = (np.diag(n) / n.sum(axis=0)).mean(), (np.diag(n) / n.sum(axis=1)).mean()
    computed = value(three_classes(), ec.f1_of_averages("posteriors", "label"))
    yield "macro F score", (computed, 2 * precision * recall / (precision + recall))


@PAPER("equation-25")
def net_benefit() -> Rows:
    for p in P_T:
        expected = _N[1, 1] / _TOTAL - p / (1 - p) * _N[0, 1] / _TOTAL
        yield f"net benefit, p_t {p:g}", (_of(ec.net_benefit, p_t=p), expected)


@PAPER("equation-26")
def net_benefit_by_cost() -> Rows:
    for p_t in P_T:
        odds = p_t / (1 - p_t)
        of_rates = _P[1] * _R[1, 1] - odds * _P[0] * _R[0, 1]
        yield f"from rates, p_t {p_t:g}", (_of(ec.net_benefit, p_t=p_t), of_rates)
        yield f"P2 - EC, p_t {p_t:g}", (_P[1] - _of(ec.expected_cost, cost_fp=odds), of_rates)


@PAPER("equation-27")
def net_benefit_by_nec() -> Rows:
    for p_t in P_T:
        odds = p_t / (1 - p_t)
        least = min(_P[1], odds * _P[0])
        nec = (_P[1] * _R[1, 0] + odds * _P[0] * _R[0, 1]) / least
        threshold = ec.CostMatrix.binary(cost_fn=1, cost_fp=odds).bayes_threshold()
        yield f"NEC, c12 {odds:.3f}", (_of(ec.nec, cost_fp=odds), nec)
        yield f"net benefit, p_t {p_t:g}", (_of(ec.net_benefit, p_t=p_t), _P[1] - least * nec)
        yield f"Bayes threshold, p_t {p_t:g}", (threshold, p_t)


@PAPER("equation-28")
def likelihood_ratio() -> Rows:
    yield "sensitivity", (_of(ec.recall), _R[1, 1])
    yield "specificity", (_of(ec.specificity), _R[0, 0])
    yield "LR+", (_of(ec.lr_plus), _R[1, 1] / (1 - _R[0, 0]))


@PAPER("equation-29")
def likelihood_ratio_by_nec() -> Rows:
    yield "NEC at equal priors", (_of(ec.nec, prior="uniform"), _R[0, 1] + _R[1, 0])
    yield "from rates", (_of(ec.lr_plus), (1 - _R[1, 0]) / _R[0, 1])
    yield "from NEC", (_of(ec.lr_plus), (1 - (_R[0, 1] + _R[1, 0])) / _R[0, 1] + 1)
