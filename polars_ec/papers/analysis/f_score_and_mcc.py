"""Sections 2.4 to 2.6: the F-beta score, Matthews' correlation and LR+, and what they have to do with expected cost."""

from __future__ import annotations

import math

import numpy as np

import polars_ec as ec
from polars_ec.papers.analysis.small_logs import COUNTS, DECIDED, PRIORS, RATES
from polars_ec.papers.numbers import Table
from polars_ec.papers.small import OF_COUNTED, Pairs, counted, side_by_side, value

_BETAS = (0.5, 1.0, 2.0)
(_N11, _N12), (_N21, _N22) = COUNTS.tolist()
_N1, _N2 = COUNTS.sum(axis=1).tolist()
_D1, _D2 = COUNTS.sum(axis=0).tolist()
"""N_*1 and N_*2, how often each decision is taken."""
_P1, _P2 = PRIORS.tolist()
(_, _R12), (_R21, _) = RATES.tolist()
_DECIDED_2 = _D2 / COUNTS.sum()
"""R_*2."""
_NAIVE_PRIORS = (0.1, 0.36, 0.5)


def _f(beta: float) -> float:
    return value(DECIDED, ec.fbeta(**OF_COUNTED, beta=beta))


def _expected_cost(beta: float) -> float:
    """EC with c21 = beta^2 and c12 = 1."""
    return value(DECIDED, ec.expected_cost(**OF_COUNTED, cost_fn=beta**2))


def equation_16() -> Table:
    """F-beta from precision and recall."""
    precision, recall = _N22 / _D2, _N22 / _N2
    return side_by_side(
        {f"beta {b:g}": (_f(b), (1 + b**2) * precision * recall / (b**2 * precision + recall)) for b in _BETAS}
    )


def equation_17() -> Table:
    """Precision and recall."""
    return side_by_side(
        {
            "precision": (value(DECIDED, ec.precision(**OF_COUNTED)), _N22 / _D2),
            "recall": (value(DECIDED, ec.recall(**OF_COUNTED)), _N22 / _N2),
        }
    )


def equation_18() -> Table:
    """F-beta from counts."""
    return side_by_side(
        {f"beta {b:g}": (_f(b), (1 + b**2) * _N22 / ((1 + b**2) * _N22 + b**2 * _N21 + _N12)) for b in _BETAS}
    )


def equation_19() -> Table:
    """What F-beta lacks to 1, from counts."""
    return side_by_side(
        {f"beta {b:g}": (1 - _f(b), (b**2 * _N21 + _N12) / ((1 + b**2) * _N22 + b**2 * _N21 + _N12)) for b in _BETAS}
    )


def equation_20() -> Table:
    """The same, from counts of classes and of decisions."""
    return side_by_side({f"beta {b:g}": (1 - _f(b), (b**2 * _N21 + _N12) / (b**2 * _N2 + _D2)) for b in _BETAS})


def equation_21() -> Table:
    """The same, from rates and priors."""
    return side_by_side(
        {f"beta {b:g}": (1 - _f(b), (b**2 * _R21 * _P2 + _R12 * _P1) / (b**2 * _P2 + _DECIDED_2)) for b in _BETAS}
    )


def equation_22() -> Table:
    """The expected cost in its numerator."""
    return side_by_side({f"beta {b:g}": (_expected_cost(b), b**2 * _R21 * _P2 + _R12 * _P1) for b in _BETAS})


def equation_23() -> Table:
    """What F-beta lacks to 1, by the package's expected cost and share of decisions."""
    share = value(DECIDED, ec.decision_share(**OF_COUNTED, decision=1))
    return side_by_side({f"beta {b:g}": (1 - _f(b), _expected_cost(b) / (b**2 * _P2 + share)) for b in _BETAS})


def equation_24() -> Table:
    """The same, by the normalised expected cost."""
    share = value(DECIDED, ec.decision_share(**OF_COUNTED, decision=1))
    pairs: Pairs = {}
    for b in _BETAS:
        nec = value(DECIDED, ec.nec(**OF_COUNTED, cost_fn=b**2))
        pairs[f"beta {b:g}"] = (1 - _f(b), min(b**2 * _P2, _P1) * nec / (b**2 * _P2 + share))
    return side_by_side(pairs)


def naive_f_score() -> Table:
    """Section 2.4: whoever always answers H1 has none, whoever always answers H2 the best of the naive ones."""
    pairs: Pairs = {}
    for p2 in _NAIVE_PRIORS:
        always_1 = counted(np.array([[1 - p2, 0], [p2, 0]]))
        always_2 = counted(np.array([[0, 1 - p2], [0, p2]]))
        pairs[f"always H1, P2 {p2:g}"] = (value(always_1, ec.fbeta(**OF_COUNTED)), 0.0)
        for b in _BETAS:
            expected = (1 + b**2) * p2 / (b**2 * p2 + 1)
            pairs[f"always H2, P2 {p2:g}, beta {b:g}"] = (value(always_2, ec.fbeta(**OF_COUNTED, beta=b)), expected)
    return side_by_side(pairs)


def _mcc_beside(expected: float) -> Table:
    return side_by_side({"MCC": (value(DECIDED, ec.mcc(**OF_COUNTED)), expected)})


def equation_25() -> Table:
    """MCC from counts."""
    return _mcc_beside(
        (_N11 * _N22 - _N12 * _N21) / math.sqrt((_N11 + _N21) * (_N11 + _N12) * (_N22 + _N12) * (_N22 + _N21))
    )


def equation_26() -> Table:
    """From errors and totals."""
    return _mcc_beside(((_N1 - _N12) * (_N2 - _N21) - _N12 * _N21) / math.sqrt(_N1 * _N2 * _D1 * _D2))


def equation_27() -> Table:
    """With a factor of the decisions taken out."""
    return _mcc_beside(math.sqrt(_N1 * _N2 / (_D1 * _D2)) * (_N1 * _N2 - _N2 * _N12 - _N1 * _N21) / (_N1 * _N2))


def equation_28() -> Table:
    """By rates."""
    return _mcc_beside(math.sqrt(_N1 * _N2 / (_D1 * _D2)) * (1 - _N12 / _N1 - _N21 / _N2))


def equation_29() -> Table:
    """By the sum of both error rates."""
    return _mcc_beside(math.sqrt(_N1 * _N2 / (_D1 * _D2)) * (1 - (_R12 + _R21)))


def equation_30() -> Table:
    """By the package's NEC at uniform priors."""
    nec = value(DECIDED, ec.nec(**OF_COUNTED, prior="uniform"))
    return _mcc_beside(math.sqrt(_N1 * _N2 / (_D1 * _D2)) * (1 - nec))


def equation_31() -> Table:
    """The factor in three forms."""
    n = COUNTS.sum()
    computed = value(DECIDED, ec.mcc(**OF_COUNTED)) / (1 - value(DECIDED, ec.nec(**OF_COUNTED, prior="uniform")))
    decided_1 = _D1 / n
    return side_by_side(
        {
            "MCC / (1 - NEC), by counts": (computed, math.sqrt(_N1 * _N2 / (_D1 * _D2))),
            "by the total": (computed, math.sqrt(_N1 * (n - _N1) / (_D1 * (n - _D1)))),
            "by shares": (computed, math.sqrt(_P1 * (1 - _P1) / (decided_1 * (1 - decided_1)))),
        }
    )


def _lr_plus_beside(expected: float) -> Table:
    return side_by_side({"LR+": (value(DECIDED, ec.lr_plus(**OF_COUNTED)), expected)})


def equation_32() -> Table:
    """LR+ by sensitivity and specificity, which are those of the package."""
    sensitivity, specificity = value(DECIDED, ec.recall(**OF_COUNTED)), value(DECIDED, ec.specificity(**OF_COUNTED))
    return _lr_plus_beside(sensitivity / (1 - specificity))


def equation_33() -> Table:
    """By error rates."""
    return _lr_plus_beside((1 - _R21) / _R12)


def equation_34() -> Table:
    """By what their sum lacks to 1."""
    return _lr_plus_beside((1 - _R21 - _R12) / _R12 + 1)


def equation_35() -> Table:
    """By the package's NEC at uniform priors."""
    nec = value(DECIDED, ec.nec(**OF_COUNTED, prior="uniform"))
    return _lr_plus_beside((1 - nec) / _R12 + 1)
