"""Expected proper scoring rules, and those of the naive system that always returns the class prior."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add
from types import MappingProxyType

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.formulas.sums import Priors, Sums, Totals, ratio, term
from polars_ec.records import dataclass
from polars_ec.typing import Rule


def expected_loss(sums: Sums, totals: Totals) -> pl.Expr:
    """Expectation of a proper scoring rule at the priors in use, from its sum over each class."""
    return sums.over_classes(lambda of: term(of.prior, of.mean(totals)))


def entropy(priors: Priors) -> pl.Expr:
    """-sum_i P_i ln P_i: the cross-entropy of always answering the prior."""
    return _of_priors(priors, lambda p: -p * p.log(), lambda largest, others: -largest * (-others).log1p())


def prior_brier(priors: Priors) -> pl.Expr:
    """sum_i P_i (1 - P_i) / K: the Brier score of always answering the prior."""
    number = priors.len() if isinstance(priors, pl.Expr) else len(priors)
    return _of_priors(priors, lambda p: p * (1 - p), lambda largest, others: largest * others) / number


def prior_loss(rule: Rule, sums: Sums, costs: CostMatrix) -> pl.Expr:
    """The loss of always answering the prior, which is the uncertainty of the classes."""
    if rule == "bayes_risk":
        return sums.constant_cost(costs)
    if rule == "brier":
        return sums.of_priors(prior_brier)
    # Cllr is in bits, and its prior is 0.5.
    return pl.lit(1.0) if rule == "cllr" else sums.of_priors(entropy)


def _of_priors(
    priors: Priors, term_of: Callable[[pl.Expr], pl.Expr], of_largest: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.Expr:
    """Sum over the priors of a function that vanishes at 0 and 1.

    A prior of more than a half is one minus the others: rounding hides how far it is from 1, so the others say it.
    """

    def added(of: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
        return of(priors).sum() if isinstance(priors, pl.Expr) else reduce(add, map(of, priors))

    largest = priors.max() if isinstance(priors, pl.Expr) else pl.max_horizontal(priors)
    # A second prior above a half, possible only by rounding; otherwise 0 or less.
    second = added(lambda p: pl.when(p > 0.5).then(p).otherwise(0.0)) - largest
    others = added(lambda p: pl.when(p <= 0.5).then(p).otherwise(0.0)) + second
    of_others = added(lambda p: pl.when((p > 0) & (p <= 0.5)).then(term_of(p)).otherwise(0.0))
    of_others = pl.when(second > 0).then(of_others + term_of(second)).otherwise(of_others)
    # Null where the priors are.
    return of_others + pl.when(largest > 0.5).then(of_largest(largest, others)).otherwise(largest * 0.0)


@dataclass(frozen=True)
class ScoringFormula:
    """A mean loss of the rows: the name of the loss, and what its expectation is divided by."""

    loss: str
    normaliser: Callable[[Priors], pl.Expr] | None = None

    def value(self, sums: Sums, totals: Totals) -> pl.Expr:
        """The metric, from the sum of the loss over each class."""
        return self.normalised(sums, expected_loss(sums, totals))

    def normalised(self, sums: Sums, expected: pl.Expr) -> pl.Expr:
        """The metric, from the expected loss."""
        return expected if self.normaliser is None else ratio(expected, sums.of_priors(self.normaliser))


SCORING_RULES: Mapping[str, ScoringFormula] = MappingProxyType(
    {
        "cross_entropy": ScoringFormula("log_loss"),
        "nce": ScoringFormula("log_loss", entropy),
        "brier": ScoringFormula("brier"),
        "nbs": ScoringFormula("brier", prior_brier),
    }
)
