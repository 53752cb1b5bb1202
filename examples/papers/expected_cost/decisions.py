"""Section 2, appendices A and B: the expected cost, its normalised form, error rates, and Bayes decisions, on two small logs."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.expected_cost import PAPER
from examples.papers.numbers import Number, Rows, between, decided, equal_rows, printed, value, values, whole
from examples.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors

COSTS = np.array([[0.0, 2.0, 5.0, 1.0], [4.0, 0.0, 3.0, 1.5], [9.0, 2.0, 0.0, 2.5]])
"""c_ij of three classes and four decisions, the last of which is for no class: another matrix than its transpose."""
COST_MATRIX = ec.CostMatrix(COSTS)


@dataclass(frozen=True)
class Counts:
    """N_ij, rows true classes and columns decisions, and the N_i*, N_*j, N, R_ij and P_i of the paper."""

    n: Floats

    @classmethod
    def of(cls, log: pl.DataFrame, decisions: int) -> "Counts":
        """Count the columns `label` and `decision`."""
        n = np.zeros((log["label"].n_unique(), decisions))
        np.add.at(n, (log["label"].to_numpy(), log["decision"].to_numpy()), 1)
        return cls(n)

    @property
    def of_class(self) -> Floats:
        return self.n.sum(axis=1)

    @property
    def of_decision(self) -> Floats:
        return self.n.sum(axis=0)

    @property
    def total(self) -> float:
        return float(self.n.sum())

    @property
    def r(self) -> Floats:
        return self.n / self.of_class[:, None]

    @property
    def p(self) -> Floats:
        return self.of_class / self.total


@cache
def three_classes() -> pl.DataFrame:
    """84 rows: `posteriors` and the Bayes decision for `COSTS` as `decision`."""
    counts, means, variance = (42, 28, 14), ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), 0.4
    joint = log_likelihoods(gaussian_classes(counts, means, variance), means, variance) + np.log([0.5, 1 / 3, 1 / 6])
    log = pl.DataFrame({"label": labels(counts), "posteriors": vectors(np.exp(log_softmax(joint)))})
    return log.with_columns(decision=ec.bayes_decision("posteriors", costs=COSTS.tolist()))


@cache
def two_classes() -> pl.DataFrame:
    """90 rows: the `posterior` of class 2, its `log_odds`, and the decision for the likelier class."""
    counts, means, variance = (60, 30), ((0.0,), (1.0,)), 0.5
    joint = log_likelihoods(gaussian_classes(counts, means, variance), means, variance) + np.log([2 / 3, 1 / 3])
    log = pl.DataFrame({"label": labels(counts), "log_odds": joint[:, 1] - joint[:, 0]})
    log = log.with_columns(posterior=ec.posterior("log_odds", score_type="log_odds"))
    return log.with_columns(decision=ec.bayes_decision("posterior"))


@cache
def two_counts() -> Counts:
    """N_ij of `two_classes`."""
    return Counts.of(two_classes(), 2)


_LABEL = three_classes()["label"].to_numpy().astype(np.int64)
_DECISION = three_classes()["decision"].to_numpy().astype(np.int64)
_Q = three_classes()["posteriors"].to_numpy()
"""P(H_i|x), rows by classes."""
_COUNTS = Counts.of(three_classes(), 4)
_NAIVE = _COUNTS.p @ COSTS
"""EC of constant decisions."""


def likeliest_counts() -> Counts:
    """N_ij of decisions for the likeliest of three classes."""
    return Counts.of(three_classes().select("label", decision=pl.Series(_Q.argmax(axis=1))), 3)


def _of(metric: Any, **options: Any) -> float:
    return decided(three_classes(), metric, **({"costs": COST_MATRIX} | options))


def _cost_by_rates(priors: Any) -> float:
    return (COSTS * np.array(priors)[:, None] * _COUNTS.r).sum()


@PAPER("section-2")
def utilities() -> Rows:
    stated = COSTS - np.array([[3.0], [0.5], [-1.0]])
    of_normalised = _of(ec.expected_cost, costs=ec.CostMatrix(stated).normalized())
    of_utilities = ec.CostMatrix.from_utilities((-stated).tolist())
    change = _of(ec.expected_cost, costs=stated) - of_normalised
    yield "EC of the costs with each row's least taken off", (of_normalised, _cost_by_rates(_COUNTS.p))
    yield "what EC changes by", (change, _COUNTS.p @ stated.min(axis=1))
    yield "largest change of a cost, by way of utilities", (np.abs(np.array(of_utilities.values) - COSTS).max(), 0.0)


@PAPER("equation-1")
def expected_cost() -> Rows:
    yield "EC", (_of(ec.expected_cost), COSTS[_LABEL, _DECISION].mean())
    yield (
        "mean of the rows' costs",
        (_of(lambda *log, **options: ec.row_cost(*log, **options).mean()), COSTS[_LABEL, _DECISION].mean()),
    )


@PAPER("equation-2")
def expected_cost_by_counts() -> Rows:
    yield "from counts", (_of(ec.expected_cost), (COSTS * _COUNTS.n).sum() / _COUNTS.total)
    yield "from rates and priors", (_of(ec.expected_cost), _cost_by_rates(_COUNTS.p))
    # Priors of another population than that of the log.
    yield "at the priors 0.2, 0.3, 0.5", (_of(ec.expected_cost, prior=[0.2, 0.3, 0.5]), _cost_by_rates([0.2, 0.3, 0.5]))


@PAPER("equation-3")
def normalised() -> Rows:
    found, decision = COST_MATRIX.naive(_COUNTS.p.tolist())
    yield "EC of the best naive system", (found, _NAIVE.min())
    yield "its decision", whole(decision, int(_NAIVE.argmin()))
    yield "NEC", (_of(ec.nec), (COSTS * _COUNTS.n).sum() / _COUNTS.total / _NAIVE.min())


@PAPER("equation-4")
def one_parameter() -> Rows:
    counts = two_counts()
    r12, r21 = counts.r[0, 1], counts.r[1, 0]
    for c12, c21, p2 in ((1.0, 1.0, None), (1.0, 5.0, None), (3.0, 1.0, 0.1)):
        p = counts.p if p2 is None else np.array([1 - p2, p2])
        alpha = c12 * p[0] / (c21 * p[1])
        expected = alpha * r12 + r21 if alpha >= 1 else r12 + r21 / alpha
        computed = decided(two_classes(), ec.nec, cost_fn=c21, cost_fp=c12, prior=p2)
        # The same alpha of a cost alone, at equal priors.
        same = decided(two_classes(), ec.nec, cost_fn=1, cost_fp=alpha, prior=0.5)
        yield f"c12 {c12:g}, c21 {c21:g}, alpha {alpha:.3g}", (computed, expected)
        yield f"c12 {alpha:.3g}, c21 1, equal priors", (same, expected)


@PAPER("section-2.1")
def constant_decisions() -> Rows:
    for decision in range(4):
        log = three_classes().select("label", decision=pl.lit(decision))
        nec = decided(log, ec.nec, costs=COST_MATRIX)
        best = decision == _NAIVE.argmin()
        yield f"always decision {decision + 1}", ((nec, 1.0) if best else between(nec, 1.0, np.inf, "above 1"))


def _of_posteriors(metric: Any, **options: Any) -> float:
    return value(three_classes(), metric("posteriors", "label", **options))


@PAPER("equation-5")
def error_rate() -> Rows:
    expected = (_Q.argmax(axis=1) != _LABEL).mean()
    yield "error rate", (_of_posteriors(ec.error_rate), expected)
    yield "EC for costs of 0 and 1", (_of_posteriors(ec.expected_cost, costs=ec.CostMatrix.zero_one(3)), expected)
    yield "1 - accuracy", (1 - _of_posteriors(ec.accuracy), expected)


@PAPER("equation-6")
def balanced_error_rate() -> Rows:
    counts = likeliest_counts()
    expected = (1 - np.diag(counts.r)).mean()
    # The decisions are those for the likeliest class, whatever the costs say that they cost.
    log = three_classes().select("label", decision=ec.bayes_decision("posteriors"))
    balanced = ec.CostMatrix.balanced(counts.p.tolist())
    yield "balanced error rate", (_of_posteriors(ec.balanced_error_rate), expected)
    yield "EC for costs 1/(K P_i)", (decided(log, ec.expected_cost, costs=balanced), expected)
    yield "1 - unweighted average recall", (1 - _of_posteriors(ec.macro_recall), expected)


def _bayes(**options: Any) -> Any:
    return values(three_classes(), ec.bayes_decision("posteriors", **options))


@PAPER("equation-7")
def bayes_decisions() -> Rows:
    best = (_Q @ COSTS).argmin(axis=1)
    risk = _of_posteriors(ec.expected_cost, costs=COSTS.tolist())
    of_classes = COSTS[:, :3]
    yield "rows decided as by the equation", equal_rows(_DECISION, best)
    yield (
        "the same, for one of the classes",
        equal_rows(_bayes(costs=of_classes.tolist()), (_Q @ of_classes).argmin(axis=1)),
    )
    yield "EC of these decisions", (risk, COSTS[_LABEL, best].mean())


COSTS_OF_TWO = ((1.0, 1.0), (1.0, 4.0), (2.5, 1.0))
"""c12, of a false alarm, and c21, of a miss."""
ALPHAS = (0.05, 0.3, 0.5)
"""What it costs to abstain."""
SHARES = [0.8, *[0.2 / 9] * 9]
"""Priors of the ten classes."""


def _likeliest(best: Any) -> Number:
    return equal_rows(_bayes(costs=ec.CostMatrix.zero_one(3)), best)


PAPER("equation-15")(lambda: {"least sum": _likeliest((_Q @ (1 - np.eye(3))).argmin(axis=1))})
PAPER("equation-16")(lambda: {"least complement": _likeliest((1 - _Q).argmin(axis=1))})
PAPER("equation-17")(lambda: {"largest posterior": _likeliest(_Q.argmax(axis=1))})


def _of_two(c12: float, c21: float, expected: Any) -> Number:
    return equal_rows(values(two_classes(), ec.bayes_decision("posterior", cost_fn=c21, cost_fp=c12)), expected)


@PAPER("equation-18")
def lower_cost() -> Rows:
    p = two_classes()["posterior"].to_numpy()
    return {f"c12 {c12:g}, c21 {c21:g}": _of_two(c12, c21, c12 * (1 - p) < c21 * p) for c12, c21 in COSTS_OF_TWO}


def _by_threshold(score: str, found: Any, expected: Any) -> Rows:
    numbers = {}
    for c12, c21 in COSTS_OF_TWO:
        costs, threshold = ec.CostMatrix.binary(cost_fn=c21, cost_fp=c12), expected(c12, c21)
        above = two_classes()[score].to_numpy() > threshold
        numbers[f"threshold, c12 {c12:g}, c21 {c21:g}"] = (found(costs), threshold)
        numbers[f"decisions, c12 {c12:g}, c21 {c21:g}"] = _of_two(c12, c21, above)
    return numbers


PAPER("equation-19")(
    lambda: _by_threshold("posterior", ec.CostMatrix.bayes_threshold, lambda c12, c21: c12 / (c12 + c21))
)
PAPER("equation-20")(
    lambda: _by_threshold("log_odds", ec.CostMatrix.bayes_log_odds, lambda c12, c21: np.log(c12 / c21))
)


@PAPER("equation-21")
def costs_with_abstaining() -> Rows:
    found = {alpha: np.array(ec.CostMatrix.zero_one(3, abstain=alpha).values) for alpha in ALPHAS}
    expected = {alpha: np.hstack([1 - np.eye(3), np.full((3, 1), alpha)]) for alpha in ALPHAS}
    return {
        f"equal costs of 12, alpha {alpha:g}": whole((found[alpha] == expected[alpha]).sum(), 12) for alpha in ALPHAS
    }


def _abstaining(alpha: float) -> Any:
    return _bayes(costs=ec.CostMatrix.zero_one(3, abstain=alpha))


def _with(column: float) -> Floats:
    return np.full((len(_Q), 1), column)


@PAPER("equation-22")
def cost_of_abstaining() -> Rows:
    for alpha in ALPHAS:
        best = np.hstack([1 - _Q, _with(alpha)]).argmin(axis=1)
        yield f"rows decided as by the equation, alpha {alpha:g}", equal_rows(_abstaining(alpha), best)


@PAPER("equation-23")
def rule_to_abstain() -> Rows:
    for alpha in ALPHAS:
        found, rejected = _abstaining(alpha), _Q.max(axis=1) < 1 - alpha
        best = np.hstack([_Q, _with(1 - alpha)]).argmax(axis=1)
        yield f"rows decided as by the equation, alpha {alpha:g}", equal_rows(found, best)
        yield f"rows that abstain, alpha {alpha:g}", whole((found == 3).sum(), int(rejected.sum()))


@PAPER("equation-24")
def naive_decision() -> Rows:
    for alpha in (0.05, 0.3):
        costs = ec.CostMatrix.zero_one(10, abstain=alpha)
        expected = int(np.append(SHARES, 1 - alpha).argmax())
        of_priors = value(pl.DataFrame({"q": vectors(np.array([SHARES]))}), ec.bayes_decision("q", costs=costs))
        yield f"naive decision, alpha {alpha:g}", whole(costs.naive(SHARES)[1], expected)
        yield f"Bayes decision at the priors, alpha {alpha:g}", whole(of_priors, expected)


def _least_sure(alpha: float) -> float:
    """The least posterior of one of ten classes, in steps of 0.001, that is decided for."""
    shares = np.arange(200, 1000) / 1000
    q = np.hstack([shares[:, None], np.repeat((1 - shares[:, None]) / 9, 9, axis=1)])
    costs = ec.CostMatrix.zero_one(10, abstain=alpha)
    return float(shares[values(pl.DataFrame({"q": vectors(q)}), ec.bayes_decision("q", costs=costs)) != 10].min())


@PAPER("appendix-b")
def thresholds_to_abstain() -> Rows:
    yield "prior of the classes but the first", printed(SHARES[1], "0.022")
    yield "posterior below which to abstain, Cabs1", printed(_least_sure(0.05), "0.95")
    yield "posterior below which to abstain, Cabs2", printed(_least_sure(0.3), "0.7")
