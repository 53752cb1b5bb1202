"""Sections 2.4 to 2.6: what F-beta, MCC and LR+ prefer among systems of the same cost."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Number, Table, alone, between, by_equation
from polars_ec.papers.small import OF_COUNTED, counted, value

_N1, _N2 = 900, 100
_COST = 20
"""N12 + beta^2 N21 of all systems that F-beta is asked about."""


def _system(n1: int, n2: int, n21: float, n12: float) -> pl.DataFrame:
    """A log with these errors."""
    return counted(np.array([[n1 - n12, n12], [n21, n2 - n21]]))


def f_score_at_other_priors() -> Table:
    """Footnote 2: the same error rates in two sets of data: F1 differs, and EC does not where its priors are stated."""
    r21, r12, stated = 0.2, 0.1, 0.1
    rows = []
    for n1, n2 in ((900, 100), (500, 500)):
        log, p2 = _system(n1, n2, r21 * n2, r12 * n1), n2 / (n1 + n2)
        expected = 2 * p2 * (1 - r21) / (2 * p2 * (1 - r21) + p2 * r21 + (1 - p2) * r12)
        numbers = [
            by_equation(value(log, ec.f1(**OF_COUNTED)), expected),
            by_equation(value(log, ec.expected_cost(**OF_COUNTED)), p2 * r21 + (1 - p2) * r12),
            by_equation(value(log, ec.expected_cost(**OF_COUNTED, prior=stated)), stated * r21 + (1 - stated) * r12),
        ]
        rows.append((f"P2 {p2:g}", numbers))
    return Table(["F1", "EC", f"EC at P2 {stated:g}"], rows, [f"R21 is {r21:g} and R12 {r12:g} in both."])


def f_score_at_the_same_cost() -> Table:
    """Systems of the same EC: F-beta is the higher, the more is decided as H2."""
    rows: list[tuple[str, list[Number | None]]] = []
    for beta in (0.5, 1.0, 2.0):
        before = math.nan
        for of_false_alarms in (0.0, 0.5, 1.0):
            n12, n21 = of_false_alarms * _COST, (1 - of_false_alarms) * _COST / beta**2
            log, share = _system(_N1, _N2, n21, n12), (_N2 - n21 + n12) / (_N1 + _N2)
            cost, f = _COST / (_N1 + _N2), value(log, ec.fbeta(**OF_COUNTED, beta=beta))
            numbers: list[Number | None] = [
                by_equation(value(log, ec.expected_cost(**OF_COUNTED, cost_fn=beta**2)), cost),
                alone(share),
                by_equation(f, 1 - cost / (beta**2 * _N2 / (_N1 + _N2) + share)),
                between(f - before, 1e-9, 1, "above 0") if of_false_alarms else None,
            ]
            rows.append((f"beta {beta:g}, N21 {n21:g}, N12 {n12:g}", numbers))
            before = f
    return Table(
        ["EC", "R*2", "F-beta", "more than the system before"],
        rows,
        [f"{_N1} samples of H1 and {_N2} of H2. F-beta is held against Equation 23."],
    )


def mcc_at_the_same_cost() -> Table:
    """Systems of the same NEC_b: MCC is the larger in absolute value, the less balanced decisions are, and has the sign of 1 - NEC_b."""
    rows: list[tuple[str, list[Number | None]]] = []
    for nec in (0.6, 1.2):
        before = math.nan
        for r12 in (nec / 2, nec / 3, nec / 6):
            r21 = nec - r12
            log = _system(500, 500, 500 * r21, 500 * r12)
            share, mcc = (1 - r21 + r12) / 2, value(log, ec.mcc(**OF_COUNTED))
            low, high, sign = (0.0, 1.0, "above 0") if nec < 1 else (-1.0, 0.0, "below 0")
            numbers: list[Number | None] = [
                by_equation(value(log, ec.nec(**OF_COUNTED, prior="uniform")), nec),
                alone(share),
                by_equation(mcc, math.sqrt(0.25 / (share * (1 - share))) * (1 - nec)),
                between(mcc, low, high, sign),
                None if math.isnan(before) else between(abs(mcc) - abs(before), 1e-9, 1, "above 0"),
            ]
            rows.append((f"NEC_b {nec:g}, R12 {r12:g}", numbers))
            before = mcc
    return Table(
        ["NEC_b", "R*2", "MCC", "its sign", "farther from 0 than the system before"],
        rows,
        ["500 samples of each class. MCC is held against Equations 30 and 31."],
    )


def lr_plus_at_the_same_cost() -> Table:
    """Systems of the same NEC_b below 1: LR+ is the higher, the lower R12 is, without a bound; it is below 1 where NEC_b is above."""
    rows: list[tuple[str, list[Number | None]]] = []
    before = math.nan
    for nec, r12 in ((0.5, 0.4), (0.5, 0.25), (0.5, 0.1), (0.5, 0.0), (1.2, 0.6), (1.2, 0.3)):
        log = _system(_N1, _N2, _N2 * (nec - r12), _N1 * r12)
        found = value(log, ec.lr_plus(**OF_COUNTED))
        better = nec < 1
        numbers: list[Number | None] = [
            by_equation(value(log, ec.nec(**OF_COUNTED, prior="uniform")), nec),
            by_equation(found, (1 - nec) / r12 + 1) if r12 else between(found, math.inf, math.inf, "infinite"),
            between(found, 1, math.inf, "above 1") if better else between(found, 0, 1, "below 1"),
            between(found - before, 1e-9, math.inf, "above 0") if better and not math.isnan(before) else None,
        ]
        rows.append((f"NEC_b {nec:g}, R12 {r12:g}", numbers))
        before = found
    return Table(
        ["NEC_b", "LR+", "which side of 1", "more than the system before"],
        rows,
        ["LR+ is held against (1 - NEC_b) / R12 + 1."],
    )
