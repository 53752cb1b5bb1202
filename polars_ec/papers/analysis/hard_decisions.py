"""Sections 2.1 to 2.3: expected cost, its normalised form, error rates and net benefit, from counts."""

from __future__ import annotations

from typing import Any

import numpy as np

import polars_ec as ec
from polars_ec.papers.analysis.small_logs import (
    COST_MATRIX,
    COSTS,
    COUNTS,
    DECIDED,
    LABELS,
    POSTERIORS,
    PRIORS,
    RATES,
    SCORED,
    SHARES,
)
from polars_ec.papers.numbers import Table
from polars_ec.papers.simulated import Floats
from polars_ec.papers.small import OF_COUNTED, Pairs, side_by_side, value, whole

_STATED = np.array([0.5, 0.3, 0.2])
"""Priors that are not those of the samples."""
_DECISIONS = (POSTERIORS @ COSTS).argmin(axis=1)
_OF_DECISIONS: dict[str, Any] = {"score": "decision", "label": "label", "score_type": "decision", "costs": COST_MATRIX}
_SAMPLES = SCORED.with_columns(decision=_DECISIONS)


def _counts() -> Floats:
    """Equation 1, of three classes and four decisions."""
    of_class = np.arange(3)[:, None, None] == LABELS
    decided = np.arange(4)[None, :, None] == _DECISIONS
    counts: Floats = (of_class & decided).sum(axis=2).astype(float)
    return counts


def equation_1() -> Table:
    """The counts of classes and decisions."""
    found = _SAMPLES.select(ec.confusion(**_OF_DECISIONS)).item()
    rows = zip(np.array(found.to_list()), _counts(), strict=True)
    return Table(
        ["D1", "D2", "D3", "abstain"],
        [
            (f"H{i}", [whole(*pair) for pair in zip(ours, theirs, strict=True)])
            for i, (ours, theirs) in enumerate(rows, start=1)
        ],
    )


def equation_2() -> Table:
    """The mean cost of the samples."""
    expected = float(COSTS[LABELS, _DECISIONS].mean())
    return side_by_side({"EC": (value(_SAMPLES, ec.expected_cost(**_OF_DECISIONS)), expected)})


def equation_3() -> Table:
    """By counts."""
    expected = (COSTS * _counts()).sum() / len(LABELS)
    return side_by_side(
        {"EC": (value(_SAMPLES, ec.expected_cost(**_OF_DECISIONS)), expected)},
        "Decisions are counted up to D in Equations 3 and 4, and up to M elsewhere: it is the same number, which may differ from K.",
    )


def equation_4() -> Table:
    """By rates, at the priors of the data and at stated ones."""
    rates = _counts() / _counts().sum(axis=1, keepdims=True)
    stated = value(_SAMPLES, ec.expected_cost(**_OF_DECISIONS, prior=_STATED.tolist()))
    return side_by_side(
        {
            "EC, priors of the data": (
                value(_SAMPLES, ec.expected_cost(**_OF_DECISIONS)),
                (SHARES @ (COSTS * rates)).sum(),
            ),
            "EC, priors 0.5, 0.3, 0.2": (stated, (_STATED @ (COSTS * rates)).sum()),
        }
    )


def equation_5() -> Table:
    """The best naive system."""
    return side_by_side(
        {
            "EC, priors of the data": (COST_MATRIX.naive(SHARES.tolist())[0], (SHARES @ COSTS).min()),
            "EC, priors 0.5, 0.3, 0.2": (COST_MATRIX.naive(_STATED.tolist())[0], (_STATED @ COSTS).min()),
        }
    )


def equation_6() -> Table:
    """Normalised by the best naive system."""
    rates = _counts() / _counts().sum(axis=1, keepdims=True)
    stated = value(_SAMPLES, ec.nec(**_OF_DECISIONS, prior=_STATED.tolist()))
    return side_by_side(
        {
            "NEC, priors of the data": (
                value(_SAMPLES, ec.nec(**_OF_DECISIONS)),
                (SHARES @ (COSTS * rates)).sum() / (SHARES @ COSTS).min(),
            ),
            "NEC, priors 0.5, 0.3, 0.2": (stated, (_STATED @ (COSTS * rates)).sum() / (_STATED @ COSTS).min()),
        }
    )


_OPERATING_POINTS = ((1.0, 1.0, 0.36), (10.0, 1.0, 0.36), (1.0, 4.0, 0.1), (2.0, 1.0, 0.5))
"""c21, c12, P2: alpha is on either side of 1."""


def _nec(c21: float, c12: float, p2: float) -> float:
    return value(DECIDED, ec.nec(**OF_COUNTED, cost_fn=c21, cost_fp=c12, prior=p2))


def equation_7() -> Table:
    """Two classes, no cost of right decisions."""
    (_, r12), (r21, _) = RATES.tolist()
    return side_by_side(
        {
            f"c21 {c21:g}, c12 {c12:g}, P2 {p2:g}": (
                _nec(c21, c12, p2),
                (c12 * (1 - p2) * r12 + c21 * p2 * r21) / min(c12 * (1 - p2), c21 * p2),
            )
            for c21, c12, p2 in _OPERATING_POINTS
        }
    )


def equation_8() -> Table:
    """By the one parameter that there is."""
    (_, r12), (r21, _) = RATES.tolist()
    pairs: Pairs = {}
    for c21, c12, p2 in _OPERATING_POINTS:
        alpha = c12 * (1 - p2) / (c21 * p2)
        expected = alpha * r12 + r21 if alpha >= 1 else r12 + r21 / alpha
        pairs[f"alpha {alpha:.4g}"] = (_nec(c21, c12, p2), expected)
    return side_by_side(pairs)


def equation_9() -> Table:
    """Costs and priors of one alpha are one metric; with costs of 1 it is that of the prior 1 / (1 + alpha)."""
    (_, r12), (r21, _) = RATES.tolist()
    pairs: Pairs = {}
    for c21, c12, p2 in _OPERATING_POINTS:
        alpha = c12 * (1 - p2) / (c21 * p2)
        expected = (alpha * r12 + r21) / min(alpha, 1)
        same = 1 / ec.effective_prior(p2, cost_fn=c21, cost_fp=c12) - 1
        pairs[f"alpha of c21 {c21:g}, c12 {c12:g}, P2 {p2:g}"] = (same, alpha)
        pairs[f"NEC at costs of 1 and P2 = 1 / (1 + {alpha:g})"] = (_nec(1, 1, 1 / (1 + alpha)), expected)
    return side_by_side(pairs)


def equation_10() -> Table:
    """The error rate, and that it is an EC."""
    expected = (COUNTS.sum() - COUNTS.trace()) / COUNTS.sum()
    return side_by_side(
        {
            "error rate": (value(DECIDED, ec.error_rate(**OF_COUNTED)), expected),
            "EC at 0-1 costs": (value(DECIDED, ec.expected_cost(**OF_COUNTED)), expected),
            "1 - accuracy": (1 - value(DECIDED, ec.accuracy(**OF_COUNTED)), expected),
        },
        "The text has c_ij = 1 for i != 1 and 0 for i = 1: it must be i != j and i = j.",
    )


def equation_11() -> Table:
    """The balanced error rate, and that it is an EC with costs 1 / (K P_i)."""
    expected = (1 - RATES.diagonal()).mean()
    balanced = ec.CostMatrix.balanced(PRIORS.tolist())
    return side_by_side(
        {
            "balanced error rate": (value(DECIDED, ec.balanced_error_rate(**OF_COUNTED)), expected),
            "EC at costs 1 / (K P_i)": (value(DECIDED, ec.expected_cost(**OF_COUNTED, costs=balanced)), expected),
            "1 - balanced accuracy": (1 - value(DECIDED, ec.balanced_accuracy(**OF_COUNTED)), expected),
        }
    )


_THRESHOLDS = (0.1, 0.2, 0.5)


def _net_benefit(p: float) -> float:
    return value(DECIDED, ec.net_benefit(**OF_COUNTED, p_t=p))


def equation_12() -> Table:
    """Net benefit by counts."""
    (_, n12), (_, n22) = COUNTS.tolist()
    n = COUNTS.sum()
    return side_by_side({f"p {p}": (_net_benefit(p), n22 / n - p / (1 - p) * n12 / n) for p in _THRESHOLDS})


def equation_13() -> Table:
    """By rates."""
    (_, r12), (_, r22) = RATES.tolist()
    p1, p2 = PRIORS.tolist()
    return side_by_side({f"p {p}": (_net_benefit(p), p2 * r22 - p / (1 - p) * p1 * r12) for p in _THRESHOLDS})


def equation_14() -> Table:
    """By error rates."""
    (_, r12), (r21, _) = RATES.tolist()
    p1, p2 = PRIORS.tolist()
    return side_by_side({f"p {p}": (_net_benefit(p), p2 - (p2 * r21 + p / (1 - p) * p1 * r12)) for p in _THRESHOLDS})


def equation_15() -> Table:
    """By a normalised expected cost, here that of the package."""
    p1, p2 = PRIORS.tolist()
    pairs: Pairs = {}
    for p in _THRESHOLDS:
        nec = value(DECIDED, ec.nec(**OF_COUNTED, cost_fn=1, cost_fp=p / (1 - p)))
        pairs[f"p {p}"] = (_net_benefit(p), p2 - min(p2, p / (1 - p) * p1) * nec)
    return side_by_side(pairs)
