"""Every metric's formula, once, on sums per group: class counts, cells of the confusion matrix, summed losses.

R_ij = N_ij / N_i is the share of class i decided j, P_i the class prior. With a stated prior the same formulas give the
value at that prior: precision at a stated prior is calibrated precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from polars_ec.costs import CostMatrix


# Below the one, numbers are taken times the other before they divide: what overflows by it has an infinite quotient anyway.
_SMALL, _ENLARGED = 1e-300, 2.0**60


class Sums(ABC):
    """Counts per class and decision of one group, and the class priors that weigh them."""

    def __init__(self, n_decisions: int, stated_prior: list[pl.Expr] | None, n_classes: int) -> None:
        self.n_decisions = n_decisions
        self.n_classes = n_classes
        self._stated_prior = stated_prior

    @abstractmethod
    def count(self, i: int) -> pl.Expr:
        """N_i: rows, or weight, of class i."""

    @property
    @abstractmethod
    def size(self) -> pl.Expr:
        """N: rows, or weight, of all classes."""

    @abstractmethod
    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        """Rows, or weight, of class i with a decision in `decided`."""

    @property
    def empirical_prior(self) -> list[pl.Expr]:
        """N_i / N, null in a group without usable rows."""
        return [ratio(self.count(i), self.size) for i in range(self.n_classes)]

    @property
    def prior(self) -> list[pl.Expr]:
        """P_i: as stated, or empirical."""
        return self.empirical_prior if self._stated_prior is None else self._stated_prior

    def rate(self, i: int, decided: Collection[int]) -> pl.Expr:
        """Share of class i with a decision in `decided`; null where the class has no rows."""
        return ratio(self.cell(i, decided), self.count(i))

    def joint(self, i: int, decided: Collection[int]) -> pl.Expr:
        """P_i R_ij: probability of class i and a decision in `decided`."""
        return term(self.prior[i], self.rate(i, decided))


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Numerator / denominator, null where the denominator is 0."""
    return pl.when(denominator != 0).then(numerator / denominator)


def _signed_ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Numerator / denominator; infinite for x/0, null for 0/0."""
    return pl.when((numerator != 0) | (denominator != 0)).then(numerator / denominator)


def term(prior: pl.Expr, mean: pl.Expr) -> pl.Expr:
    """P_i x_i, where a class of prior 0 adds 0 whatever x_i is."""
    return pl.when(prior == 0).then(0.0).otherwise(prior * mean)


def expected_cost(sums: Sums, costs: CostMatrix) -> pl.Expr:
    return reduce(add, [term(p, _mean_cost(sums, i, costs)) for i, p in enumerate(sums.prior)])


def _mean_cost(sums: Sums, i: int, costs: CostMatrix) -> pl.Expr:
    # One sum for each different cost of the row: 0-1 costs need one per class, not one per cell.
    row = costs.values[i]
    values = sorted(set(row) - {0.0})
    decided = {value: [j for j, cost in enumerate(row) if cost == value] for value in values}
    # Rates before costs: a count times a cost may be more than a float holds.
    rates = [sums.cell(i, decided[value]) / sums.count(i) * value for value in values]
    return pl.when(sums.count(i) != 0).then(reduce(add, rates, pl.lit(0.0)))


def naive_cost(sums: Sums, costs: CostMatrix) -> pl.Expr:
    """Cost of the cheapest constant decision at the priors in use."""
    columns = [
        reduce(add, [p * row[j] for p, row in zip(sums.prior, costs.values, strict=True)])
        for j in range(costs.n_decisions)
    ]
    return pl.min_horizontal(columns)


def nec(sums: Sums, costs: CostMatrix) -> pl.Expr:
    expected, naive = expected_cost(sums, costs), naive_cost(sums, costs)
    # A column over one number is taken times its reciprocal, which is infinite for the smallest ones.
    small = pl.when(naive < _SMALL).then(ratio(expected * _ENLARGED, naive * _ENLARGED))
    return small.otherwise(ratio(expected, naive))


def error_rate(sums: Sums) -> pl.Expr:
    return reduce(add, [term(p, _class_error(sums, i)) for i, p in enumerate(sums.prior)])


def accuracy(sums: Sums) -> pl.Expr:
    return reduce(add, [term(p, sums.rate(i, [i])) for i, p in enumerate(sums.prior)])


def balanced_error_rate(sums: Sums) -> pl.Expr:
    return reduce(add, [_class_error(sums, i) for i in range(sums.n_classes)]) / sums.n_classes


def balanced_accuracy(sums: Sums) -> pl.Expr:
    return reduce(add, [sums.rate(i, [i]) for i in range(sums.n_classes)]) / sums.n_classes


def _class_error(sums: Sums, i: int) -> pl.Expr:
    return sums.rate(i, [j for j in range(sums.n_decisions) if j != i])


def precision(sums: Sums) -> pl.Expr:
    hits = sums.joint(1, [1])
    return ratio(hits, hits + sums.joint(0, [1]))


def fbeta(sums: Sums, beta: float) -> pl.Expr:
    # Misses weigh beta^2 to 1; as shares, for the square of a large beta is infinite.
    smaller = min(beta, 1 / beta) ** 2
    shares = smaller / (1 + smaller), 1 / (1 + smaller)
    of_misses, of_alarms = shares if beta < 1 else shares[::-1]
    hits, misses, alarms = sums.joint(1, [1]), sums.joint(1, [0]), sums.joint(0, [1])
    # Without hits it is 0, also where the share of the only errors is too small for a float.
    value = pl.when(hits == 0).then(0.0).otherwise(hits / (hits + misses * of_misses + alarms * of_alarms))
    return pl.when(hits + misses + alarms != 0).then(value)


def mcc(sums: Sums) -> pl.Expr:
    p0, p1 = sums.prior
    positive = sums.joint(1, [1]) + sums.joint(0, [1])
    negative = sums.joint(1, [0]) + sums.joint(0, [0])
    # The smaller ones of the rates have the digits of the difference.
    decided = sums.rate(1, [1]) - sums.rate(0, [1])
    left = sums.rate(0, [0]) - sums.rate(1, [0])
    covariance = (p0 * p1).sqrt() * pl.when(sums.rate(1, [1]) > 0.5).then(left).otherwise(decided)
    return pl.when((p0 != 0) & (p1 != 0)).then(ratio(covariance, (positive * negative).sqrt()))


def likelihood_ratio(sums: Sums, decision: int) -> pl.Expr:
    """How much more often the positive class is decided `decision` than the negative one."""
    return _signed_ratio(sums.rate(1, [decision]), sums.rate(0, [decision]))


def net_benefit(sums: Sums, p_t: float) -> pl.Expr:
    return sums.joint(1, [1]) - sums.joint(0, [1]) * (p_t / (1 - p_t))


def precision_gain(sums: Sums) -> pl.Expr:
    p0, p1 = sums.prior
    return pl.when((p0 != 0) & (p1 != 0)).then(1 - _signed_ratio(sums.rate(0, [1]), sums.rate(1, [1])))


def recall_gain(sums: Sums) -> pl.Expr:
    p0, p1 = sums.prior
    missed = _signed_ratio(sums.rate(1, [0]), sums.rate(1, [1]))
    # At a stated P_1 of 0 it is 1 whatever the rows are, but not where there are none.
    return pl.when((p0 != 0) & (sums.size != 0)).then(1 - term(p1 / p0, missed))


def expected_loss(sums: Sums, totals: Sequence[pl.Expr]) -> pl.Expr:
    """Expectation of a proper scoring rule at the priors in use, from its sum over each class."""
    means = [ratio(total, sums.count(i)) for i, total in enumerate(totals)]
    return reduce(add, [term(p, mean) for p, mean in zip(sums.prior, means, strict=True)])


def entropy(sums: Sums) -> pl.Expr:
    """-sum_i P_i ln P_i: the cross-entropy of always answering the prior."""
    return _of_priors(sums, lambda p: -p * p.log(), lambda largest, others: -largest * (-others).log1p())


def prior_brier(sums: Sums) -> pl.Expr:
    """sum_i P_i (1 - P_i) / K: the Brier score of always answering the prior."""
    total = _of_priors(sums, lambda p: p * (1 - p), lambda largest, others: largest * others)
    return total / sums.n_classes


def _of_priors(
    sums: Sums, term_of: Callable[[pl.Expr], pl.Expr], of_largest: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.Expr:
    """Sum over the priors of a function that vanishes at 0 and 1.

    A prior of more than a half is one minus the others: rounding hides how far it is from 1, so the others say it.
    """
    p = pl.element().sort(descending=True)
    largest, others = p.first(), p.slice(1)
    of_others = pl.when(others > 0).then(term_of(others)).otherwise(0.0).sum()
    return pl.concat_arr(sums.prior).arr.agg(
        of_others + pl.when(largest > 0.5).then(of_largest(largest, others.sum())).otherwise(term_of(largest))
    )


def row_weight(sums: Sums, i: int) -> pl.Expr:
    """P_i / N_i: what a row of class i weighs in an expectation at the priors in use."""
    return term(sums.prior[i], ratio(pl.lit(1.0), sums.count(i)))


def calibration_term(gap: pl.Expr, share: pl.Expr, norm: int) -> pl.Expr:
    """What a bin adds to the calibration error, which for norm 2 is the root of the sum.

    `share` w is that of the rows, `gap` is w times (mean posterior less share of what it is the posterior of): |gap|, or
    gap^2 / w. Either is a mean over the rows, of |gap| / w or its square.
    """
    # A bin without rows has gap 0; a null says that there is no mean at all.
    return gap.abs() if norm == 1 else pl.when(share > 0).then(gap * gap / share).otherwise(gap)


def calibration_error(total: pl.Expr, norm: int) -> pl.Expr:
    """From the sum of the bins' terms."""
    return total if norm == 1 else total.sqrt()
