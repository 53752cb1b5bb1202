"""Section 2: expected cost, net benefit, F-beta, Matthews' correlation and LR+ of decisions, and what these prefer at the same cost."""

import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.analysis import PAPER
from examples.papers.analysis.logs import (
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
from examples.papers.expected_cost import PAPER as EXPECTED_COST
from examples.papers.numbers import OF_COUNTED, Number, Rows, alone, between, counted, decided, lines, printed, whole
from examples.papers.simulated import Floats

# Three classes and four decisions: Equations 1 to 6.

_STATED = np.array([0.5, 0.3, 0.2])
"""Priors that are not those of the samples."""
_DECISIONS = (POSTERIORS @ COSTS).argmin(axis=1)
_SAMPLES = SCORED.with_columns(decision=_DECISIONS)
_BOTH_PRIORS = {"EC, priors of the data": (SHARES, None), "EC, priors 0.5, 0.3, 0.2": (_STATED, _STATED.tolist())}


def _counts() -> Floats:
    return np.array([[((i == LABELS) & (j == _DECISIONS)).sum() for j in range(4)] for i in range(3)], dtype=float)


def _cost_by_rates(priors: Floats) -> float:
    return (priors @ (COSTS * _counts() / _counts().sum(axis=1, keepdims=True))).sum()


def _of_samples(metric: Any, **options: Any) -> float:
    return decided(_SAMPLES, metric, costs=COST_MATRIX, **options)


@PAPER("equation-1", columns=["D1", "D2", "D3", "abstain"])
def counts() -> Rows:
    found = _SAMPLES.select(ec.confusion("decision", "label", score_type="decision", costs=COST_MATRIX)).item()
    return {f"H{i + 1}": [whole(*pair) for pair in zip(found[i], _counts()[i], strict=True)] for i in range(3)}


PAPER("equation-2")(lambda: {"EC": (_of_samples(ec.expected_cost), COSTS[LABELS, _DECISIONS].mean())})
PAPER("equation-3")(lambda: {"EC": (_of_samples(ec.expected_cost), (COSTS * _counts()).sum() / len(LABELS))})  # fmt: skip
PAPER("equation-4")(
    lambda: {
        name: (_of_samples(ec.expected_cost, prior=prior), _cost_by_rates(shares))
        for name, (shares, prior) in _BOTH_PRIORS.items()
    }
)
PAPER("equation-5")(
    lambda: {
        name: (COST_MATRIX.naive(shares.tolist())[0], (shares @ COSTS).min())
        for name, (shares, _) in _BOTH_PRIORS.items()
    }
)
PAPER("equation-6")(
    lambda: {
        f"N{name}": (_of_samples(ec.nec, prior=prior), _cost_by_rates(shares) / (shares @ COSTS).min())
        for name, (shares, prior) in _BOTH_PRIORS.items()
    }
)

# Two classes and two decisions: Equations 7 to 35, in the notation of the paper.

(_N11, _N12), (_N21, _N22) = COUNTS.tolist()
_N1, _N2 = COUNTS.sum(axis=1).tolist()
_N = COUNTS.sum()
_D1, _D2 = COUNTS.sum(axis=0).tolist()
"""N_*1 and N_*2, how often each decision is taken."""
_P1, _P2 = PRIORS.tolist()
(_, _R12), (_R21, _R22) = RATES.tolist()
_DECIDED_2 = _D2 / _N
"""R_*2."""
_OPERATING_POINTS = ((1.0, 1.0, 0.36), (10.0, 1.0, 0.36), (1.0, 4.0, 0.1), (2.0, 1.0, 0.5))
"""c21, c12, P2: alpha is on either side of 1."""


def _of(metric: Any, **options: Any) -> float:
    return decided(DECIDED, metric, **options)


def _nec(c21: float, c12: float, p2: float) -> float:
    return _of(ec.nec, cost_fn=c21, cost_fp=c12, prior=p2)


def _nec_b() -> float:
    return _of(ec.nec, prior="uniform")


@PAPER("equation-7")
def nec_of_two_classes() -> Rows:
    for c21, c12, p2 in _OPERATING_POINTS:
        expected = (c12 * (1 - p2) * _R12 + c21 * p2 * _R21) / min(c12 * (1 - p2), c21 * p2)
        yield f"c21 {c21:g}, c12 {c12:g}, P2 {p2:g}", (_nec(c21, c12, p2), expected)


@PAPER("equation-8")
def nec_by_alpha() -> Rows:
    for c21, c12, p2 in _OPERATING_POINTS:
        alpha = c12 * (1 - p2) / (c21 * p2)
        yield f"alpha {alpha:.4g}", (_nec(c21, c12, p2), alpha * _R12 + _R21 if alpha >= 1 else _R12 + _R21 / alpha)


@PAPER("equation-9")
def one_parameter() -> Rows:
    for c21, c12, p2 in _OPERATING_POINTS:
        alpha = c12 * (1 - p2) / (c21 * p2)
        of_prior = (_nec(1, 1, 1 / (1 + alpha)), (alpha * _R12 + _R21) / min(alpha, 1))
        same = 1 / ec.effective_prior(p2, cost_fn=c21, cost_fp=c12) - 1
        yield f"alpha of c21 {c21:g}, c12 {c12:g}, P2 {p2:g}", (same, alpha)
        yield f"NEC at costs of 1 and P2 = 1 / (1 + {alpha:g})", of_prior


@PAPER("equation-10")
def error_rate() -> Rows:
    yield "error rate", (_of(ec.error_rate), (_N12 + _N21) / _N)
    yield "EC at 0-1 costs", (_of(ec.expected_cost), (_N12 + _N21) / _N)
    yield "1 - accuracy", (1 - _of(ec.accuracy), (_N12 + _N21) / _N)


@PAPER("equation-11")
def balanced_error_rate() -> Rows:
    yield "balanced error rate", (_of(ec.balanced_error_rate), (_R12 + _R21) / 2)
    yield (
        "EC at costs 1 / (K P_i)",
        (_of(ec.expected_cost, costs=ec.CostMatrix.balanced([_P1, _P2])), (_R12 + _R21) / 2),
    )
    yield "1 - balanced accuracy", (1 - _of(ec.balanced_accuracy), (_R12 + _R21) / 2)


def _by_p(expected: Any) -> Any:
    return lambda: {f"p {p}": (_of(ec.net_benefit, p_t=p), expected(p / (1 - p))) for p in (0.1, 0.2, 0.5)}


PAPER("equation-12")(_by_p(lambda odds: _N22 / _N - odds * _N12 / _N))
PAPER("equation-13")(_by_p(lambda odds: _P2 * _R22 - odds * _P1 * _R12))
PAPER("equation-14")(_by_p(lambda odds: _P2 - (_P2 * _R21 + odds * _P1 * _R12)))
PAPER("equation-15")(_by_p(lambda odds: _P2 - min(_P2, odds * _P1) * _of(ec.nec, cost_fn=1, cost_fp=odds)))

_BETAS = (0.5, 1.0, 2.0)


def _f(beta: float) -> float:
    return _of(ec.fbeta, beta=beta)


def _expected_cost(beta: float) -> float:
    return _of(ec.expected_cost, cost_fn=beta**2)


def _by_beta(computed: Any, expected: Any) -> Any:
    return lambda: {f"beta {b:g}": (computed(b), expected(b)) for b in _BETAS}


def _lacks(beta: float) -> float:
    return 1 - _f(beta)


PAPER("equation-16")(
    _by_beta(_f, lambda b: (1 + b**2) * (_N22 / _D2) * (_N22 / _N2) / (b**2 * _N22 / _D2 + _N22 / _N2))
)
PAPER("equation-17")(lambda: {"precision": (_of(ec.precision), _N22 / _D2), "recall": (_of(ec.recall), _N22 / _N2)})
PAPER("equation-18")(_by_beta(_f, lambda b: (1 + b**2) * _N22 / ((1 + b**2) * _N22 + b**2 * _N21 + _N12)))
PAPER("equation-19")(_by_beta(_lacks, lambda b: (b**2 * _N21 + _N12) / ((1 + b**2) * _N22 + b**2 * _N21 + _N12)))
PAPER("equation-20")(_by_beta(_lacks, lambda b: (b**2 * _N21 + _N12) / (b**2 * _N2 + _D2)))
PAPER("equation-21")(_by_beta(_lacks, lambda b: (b**2 * _R21 * _P2 + _R12 * _P1) / (b**2 * _P2 + _DECIDED_2)))
PAPER("equation-22")(_by_beta(_expected_cost, lambda b: b**2 * _R21 * _P2 + _R12 * _P1))
PAPER("equation-23")(_by_beta(_lacks, lambda b: _expected_cost(b) / (b**2 * _P2 + _of(ec.decision_share, decision=1))))
PAPER("equation-24")(
    _by_beta(
        _lacks,
        lambda b: min(b**2 * _P2, _P1) * _of(ec.nec, cost_fn=b**2) / (b**2 * _P2 + _of(ec.decision_share, decision=1)),
    )
)


@PAPER("section-2.4")
def naive_f_score() -> Rows:
    for p2 in (0.1, 0.36, 0.5):
        always_1, always_2 = counted([[1 - p2, 0], [p2, 0]]), counted([[0, 1 - p2], [0, p2]])
        yield f"always H1, P2 {p2:g}", (decided(always_1, ec.fbeta), 0.0)
        for b in _BETAS:
            best = (1 + b**2) * p2 / (b**2 * p2 + 1)
            yield f"always H2, P2 {p2:g}, beta {b:g}", (decided(always_2, ec.fbeta, beta=b), best)


def _mcc(expected: Any) -> Any:
    return lambda: {"MCC": (_of(ec.mcc), expected())}


_FACTOR = math.sqrt(_N1 * _N2 / (_D1 * _D2))
"""Taken out of MCC by Equation 27."""

PAPER("equation-25")(
    _mcc(lambda: (_N11 * _N22 - _N12 * _N21) / math.sqrt((_N11 + _N21) * (_N11 + _N12) * (_N22 + _N12) * (_N22 + _N21)))
)
PAPER("equation-26")(_mcc(lambda: ((_N1 - _N12) * (_N2 - _N21) - _N12 * _N21) / math.sqrt(_N1 * _N2 * _D1 * _D2)))
PAPER("equation-27")(_mcc(lambda: _FACTOR * (_N1 * _N2 - _N2 * _N12 - _N1 * _N21) / (_N1 * _N2)))
PAPER("equation-28")(_mcc(lambda: _FACTOR * (1 - _N12 / _N1 - _N21 / _N2)))
PAPER("equation-29")(_mcc(lambda: _FACTOR * (1 - (_R12 + _R21))))
PAPER("equation-30")(_mcc(lambda: _FACTOR * (1 - _nec_b())))


@PAPER("equation-31")
def factor_of_mcc() -> Rows:
    computed = _of(ec.mcc) / (1 - _nec_b())
    yield "MCC / (1 - NEC), by counts", (computed, _FACTOR)
    yield "by the total", (computed, math.sqrt(_N1 * (_N - _N1) / (_D1 * (_N - _D1))))
    yield "by shares", (computed, math.sqrt(_P1 * (1 - _P1) / (_D1 / _N * (1 - _D1 / _N))))


def _lr_plus(expected: Any) -> Any:
    return lambda: {"LR+": (_of(ec.lr_plus), expected())}


PAPER("equation-32")(_lr_plus(lambda: _of(ec.recall) / (1 - _of(ec.specificity))))
PAPER("equation-33")(_lr_plus(lambda: (1 - _R21) / _R12))
PAPER("equation-34")(_lr_plus(lambda: (1 - _R21 - _R12) / _R12 + 1))
PAPER("equation-35")(_lr_plus(lambda: (1 - _nec_b()) / _R12 + 1))

# What the metrics prefer among systems of the same cost: Sections 2.4 to 2.6.

_H1, _H2 = 900, 100
_COST = 20
"""N12 + beta^2 N21 of all systems that F-beta is asked about."""


def _system(n1: int, n2: int, n21: float, n12: float) -> pl.DataFrame:
    return counted([[n1 - n12, n12], [n21, n2 - n21]])


@PAPER("footnote-2", columns=["F1", "EC", "EC at P2 0.1"])
def f_score_at_other_priors() -> Rows:
    r21, r12, stated = 0.2, 0.1, 0.1
    for n1, n2 in ((900, 100), (500, 500)):
        log, p2 = _system(n1, n2, r21 * n2, r12 * n1), n2 / (n1 + n2)
        yield (
            f"P2 {p2:g}",
            (decided(log, ec.f1), 2 * p2 * (1 - r21) / (2 * p2 * (1 - r21) + p2 * r21 + (1 - p2) * r12)),
            (decided(log, ec.expected_cost), p2 * r21 + (1 - p2) * r12),
            (decided(log, ec.expected_cost, prior=stated), stated * r21 + (1 - stated) * r12),
        )


def _more(found: float, before: float, high: float = 1) -> Number | None:
    return None if math.isnan(before) else between(found - before, 1e-9, high, "above 0")


@PAPER("f-beta-at-the-same-cost", columns=["EC", "R*2", "F-beta", "more than the system before"])
def f_score_at_the_same_cost() -> Rows:
    cost = _COST / (_H1 + _H2)
    for beta in _BETAS:
        before = math.nan
        for of_false_alarms in (0.0, 0.5, 1.0):
            n12, n21 = of_false_alarms * _COST, (1 - of_false_alarms) * _COST / beta**2
            log, share = _system(_H1, _H2, n21, n12), (_H2 - n21 + n12) / (_H1 + _H2)
            f = decided(log, ec.fbeta, beta=beta)
            yield (
                f"beta {beta:g}, N21 {n21:g}, N12 {n12:g}",
                (decided(log, ec.expected_cost, cost_fn=beta**2), cost),
                alone(share),
                (f, 1 - cost / (beta**2 * _H2 / (_H1 + _H2) + share)),
                _more(f, before),
            )
            before = f


@PAPER("section-2.5", columns=["NEC_b", "R*2", "MCC", "its sign", "farther from 0 than the system before"])
def mcc_at_the_same_cost() -> Rows:
    for nec in (0.6, 1.2):
        before = math.nan
        for r12 in (nec / 2, nec / 3, nec / 6):
            r21 = nec - r12
            log = _system(500, 500, 500 * r21, 500 * r12)
            share, mcc = (1 - r21 + r12) / 2, decided(log, ec.mcc)
            yield (
                f"NEC_b {nec:g}, R12 {r12:g}",
                (decided(log, ec.nec, prior="uniform"), nec),
                alone(share),
                (mcc, math.sqrt(0.25 / (share * (1 - share))) * (1 - nec)),
                between(mcc, 0, 1, "above 0") if nec < 1 else between(mcc, -1, 0, "below 0"),
                _more(abs(mcc), abs(before)),
            )
            before = mcc


_LR_PLUS = ["NEC_b", "LR+", "which side of 1", "more than the system before"]


@EXPECTED_COST("appendix-c.2", columns=_LR_PLUS)
@PAPER("section-2.6", columns=_LR_PLUS)
def lr_plus_at_the_same_cost() -> Rows:
    before = math.nan
    for nec, r12 in ((0.5, 0.4), (0.5, 0.25), (0.5, 0.1), (0.5, 0.0), (1.2, 0.6), (1.2, 0.3)):
        log = _system(_H1, _H2, _H2 * (nec - r12), _H1 * r12)
        found = decided(log, ec.lr_plus)
        yield (
            f"NEC_b {nec:g}, R12 {r12:g}",
            (decided(log, ec.nec, prior="uniform"), nec),
            (found, (1 - nec) / r12 + 1) if r12 else between(found, math.inf, math.inf, "infinite"),
            between(found, 1, math.inf, "above 1") if nec < 1 else between(found, 0, 1, "below 1"),
            _more(found, before, math.inf) if nec < 1 else None,
        )
        before = found


# Systems of the same error rates or costs, by their counts: Section 2.7, Tables 1 and 2, Figure 2.

COLUMNS = ("NEC_b", "NEC b²=1", "NEC b²=2", "F1", "MCC", "R21", "R12", "R*2", "R*1")
TABLE_1 = """
  0  50 0.10 0.10 0.10 0.95 0.90 0.00 0.10 0.55 0.45
 25  25 0.10 0.10 0.15 0.95 0.90 0.05 0.05 0.50 0.50
 50   0 0.10 0.10 0.20 0.95 0.90 0.10 0.00 0.45 0.55
  0 250 0.50 0.50 0.50 0.80 0.58 0.00 0.50 0.75 0.25
125 125 0.50 0.50 0.75 0.75 0.50 0.25 0.25 0.50 0.50
250   0 0.50 0.50 1.00 0.67 0.58 0.50 0.00 0.25 0.75
  0 450 0.90 0.90 0.90 0.69 0.23 0.00 0.90 0.95 0.05
225 225 0.90 0.90 1.35 0.55 0.10 0.45 0.45 0.50 0.50
450   0 0.90 0.90 1.80 0.18 0.23 0.90 0.00 0.05 0.95
"""
"""N21, N12 and the printed columns; 500 samples of each class."""
TABLE_2 = """
  0  90 0.10 0.90 0.45 0.69 0.69 0.00 0.10 0.19 0.81
  5  45 0.10 0.50 0.28 0.79 0.78 0.05 0.05 0.14 0.86
 10   0 0.10 0.10 0.10 0.95 0.94 0.10 0.00 0.09 0.91
  0 450 0.50 4.50 2.25 0.31 0.30 0.00 0.50 0.55 0.45
 25 225 0.50 2.50 1.38 0.38 0.33 0.25 0.25 0.30 0.70
 50   0 0.50 0.50 0.50 0.67 0.69 0.50 0.00 0.05 0.95
  0 810 0.90 8.10 4.05 0.20 0.10 0.00 0.90 0.91 0.09
 40 450 0.90 4.90 2.65 0.20 0.06 0.40 0.50 0.51 0.49
 90   0 0.90 0.90 0.90 0.18 0.30 0.90 0.00 0.01 0.99
  0  90 0.10 0.90 0.45 0.69 0.69 0.00 0.10 0.19 0.81
 45  45 0.50 0.90 0.68 0.55 0.50 0.45 0.05 0.10 0.90
 90   0 0.90 0.90 0.90 0.18 0.30 0.90 0.00 0.01 0.99
"""
"""The same columns of 900 samples of H1 and 100 of H2."""
BALANCED, IMBALANCED = (500, 500), (900, 100)


def measured(totals: tuple[int, int], errors: list[tuple[int, int]]) -> pl.DataFrame:
    """The columns of both tables, a row for each system, which is a pair N21, N12."""
    logs = [_system(*totals, *pair).with_columns(system=pl.lit(i)) for i, pair in enumerate(errors)]
    metrics = [
        ec.nec(**OF_COUNTED, prior="uniform"),
        ec.nec(**OF_COUNTED),
        ec.nec(**OF_COUNTED, cost_fn=2),
        *(metric(**OF_COUNTED) for metric in (ec.f1, ec.mcc, ec.fnr, ec.fpr)),
        *(ec.decision_share(**OF_COUNTED, decision=decision) for decision in (1, 0)),
    ]
    named = [metric.alias(name) for name, metric in zip(COLUMNS, metrics, strict=True)]
    return pl.concat(logs).group_by("system").agg(named).sort("system").drop("system")


def _beside(totals: tuple[int, int], text: str) -> Rows:
    found = measured(totals, [(int(n21), int(n12)) for n21, n12, *_ in lines(text)])
    return [
        (f"N21 {n21}, N12 {n12}", [printed(*pair) for pair in zip(row, numbers, strict=True)])
        for (n21, n12, *numbers), row in zip(lines(text), found.rows(), strict=True)
    ]


PAPER("table-1", columns=COLUMNS)(lambda: _beside(BALANCED, TABLE_1))
PAPER("table-2", columns=COLUMNS)(lambda: _beside(IMBALANCED, TABLE_2))


@PAPER(
    "section-2.7.1",
    columns=[f"{metric}, {which}" for metric in ("NEC_b", "MCC") for which in ("most H2", "balanced", "most H1")],
)
def blocks_of_the_tables() -> Rows:
    for name, totals, errors in (
        ("Table 1, last block", BALANCED, [(0, 450), (225, 225), (450, 0)]),
        ("Table 2, third block", IMBALANCED, [(0, 810), (40, 450), (90, 0)]),
    ):
        found = measured(totals, errors)
        first, balanced, last = found["MCC"]
        above = [between(mcc, balanced, 1.0, f"above {balanced:.4f}") for mcc in (first, last)]
        yield name, *((x, 0.9) for x in found["NEC_b"]), above[0], alone(balanced), above[1]


@PAPER("section-2.7.2", columns=["NEC b²=1", "NEC b²=2", "F1", "MCC", "R*2"])
def as_costly_as_naive() -> Rows:
    first, always_2, always_1 = measured(IMBALANCED, [(10, 90), (0, 900), (100, 0)]).rows(named=True)
    texts = {"NEC b²=1": "1", "NEC b²=2": "0.55", "F1": None, "MCC": "0.62", "R*2": "0.18"}
    yield "N21 10, N12 90", [printed(first[k], text) if text else (first[k], 180 / 280) for k, text in texts.items()]
    yield "always H1", printed(always_1["NEC b²=1"], "1"), None, (always_1["F1"], 0.0), None, None
    yield "always H2", (always_2["NEC b²=1"], 9.0), None, printed(always_2["F1"], "0.18"), None, None


@cache
def grid(totals: tuple[int, int]) -> pl.DataFrame:
    """The systems of Figure 2: either error from none to all of its class, in 20 steps."""
    n1, n2 = totals
    return measured(totals, [(n21, n12) for n21 in range(0, n2 + 1, n2 // 20) for n12 in range(0, n1 + 1, n1 // 20)])


PAIRS = (("NEC_b", "MCC"), ("NEC b²=1", "F1"), ("NEC b²=2", "F1"))
"""What the columns of Figure 2 compare."""
_SLACK = 1e-9
"""NEC that are a bound itself are off by their last bits."""
_SETS = {"balanced": BALANCED, "imbalanced": IMBALANCED}
_BOUNDS = {"all 441": np.inf, "NEC up to 1": 1.0, "NEC up to 0.5": 0.5}


def _correlation(systems: pl.DataFrame, pair: tuple[str, str]) -> float:
    # MCC is not defined of the two systems that always decide the same.
    known = systems.select(pair).drop_nulls()
    return float(np.corrcoef(known[pair[0]], known[pair[1]])[0, 1])


def _correlation_by_hand(totals: tuple[int, int], pair: tuple[str, str], up_to: float) -> float:
    n1, n2 = totals
    n21, n12 = (x.ravel() for x in np.meshgrid(np.linspace(0, n2, 21), np.linspace(0, n1, 21)))
    n11, n22 = n1 - n12, n2 - n21
    with np.errstate(invalid="ignore"):
        metrics = {
            "NEC_b": n12 / n1 + n21 / n2,
            "NEC b²=1": (n12 + n21) / min(n1, n2),
            "NEC b²=2": (n12 + 2 * n21) / min(n1, 2 * n2),
            "F1": 2 * n22 / (2 * n22 + n21 + n12),
            "MCC": (n11 * n22 - n12 * n21) / np.sqrt((n11 + n21) * n1 * (n22 + n12) * n2),
        }
    nec, other = metrics[pair[0]], metrics[pair[1]]
    kept = (nec <= up_to + _SLACK) & np.isfinite(other)
    x, y = nec[kept] - nec[kept].mean(), other[kept] - other[kept].mean()
    return float((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()))


def _correlations(totals: tuple[int, int], up_to: float) -> list[float]:
    """The correlation of each pair, over the systems whose NEC is up to a bound."""
    return [_correlation(grid(totals).filter(pl.col(pair[0]) <= up_to + _SLACK), pair) for pair in PAIRS]


PAPER("figure-2", columns=[f"{x}, {y}" for x, y in PAIRS])(
    lambda: {
        f"{name}, {bound}": [
            (computed, _correlation_by_hand(totals, pair, up_to))
            for computed, pair in zip(_correlations(totals, up_to), PAIRS, strict=True)
        ]
        for name, totals in _SETS.items()
        for bound, up_to in _BOUNDS.items()
    }
)


@PAPER("section-2.7", columns=["correlation"])
def what_figure_2_shows() -> Rows:
    of = {(name, bound): _correlations(_SETS[name], _BOUNDS[bound]) for name in _SETS for bound in _BOUNDS}
    everywhere, good, very_good = _BOUNDS
    best = grid(BALANCED).filter(pl.max_horizontal("NEC b²=1", "NEC b²=2") <= 0.5 + _SLACK)
    once, twice = (_correlation(best, pair) for pair in PAIRS[1:])

    def stronger(computed: float, other: float) -> Number:
        return between(computed, -1.0, other, f"below {other:.4f}")

    yield (
        "NEC_b with MCC: balanced, beside imbalanced",
        stronger(of["balanced", everywhere][0], of["imbalanced", everywhere][0]),
    )
    yield (
        "NEC b²=1 with F1: imbalanced, NEC up to 0.5, beside all",
        stronger(of["imbalanced", very_good][1], of["imbalanced", everywhere][1]),
    )
    for name in _SETS:
        for bound in (good, very_good):
            _, with_1, with_2 = of[name, bound]
            yield f"F1: with NEC b²=2, beside b²=1: {name}, {bound}", stronger(with_2, with_1)
    yield "the same: balanced, both NEC up to 0.5", between(twice, once, 1.0, f"not below {once:.4f}")
