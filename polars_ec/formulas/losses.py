"""Expected proper scoring rules, and what the best naive system has: the answer that is always the class prior."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import polars as pl

from polars_ec.formulas.sums import Priors, Sums, Totals, ratio, term


def expected_loss(sums: Sums, totals: Totals) -> pl.Expr:
    """Expectation of a proper scoring rule at the priors in use, from its sum over each class."""
    return sums.over_classes(lambda of: term(of.prior, of.mean(totals)))


def entropy(priors: Priors) -> pl.Expr:
    """-sum_i P_i ln P_i: the cross-entropy of always answering the prior."""
    return _of_priors(priors, lambda p: -p * p.log(), lambda largest, others: -largest * (-others).log1p())


def prior_brier(priors: Priors) -> pl.Expr:
    """sum_i P_i (1 - P_i) / K: the Brier score of always answering the prior."""
    total = _of_priors(priors, lambda p: p * (1 - p), lambda largest, others: largest * others)
    return total / (priors.len() if isinstance(priors, pl.Expr) else 2)


def _of_priors(
    priors: Priors, term_of: Callable[[pl.Expr], pl.Expr], of_largest: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.Expr:
    """Sum over the priors of a function that vanishes at 0 and 1.

    A prior of more than a half is one minus the others: rounding hides how far it is from 1, so the others say it.
    """
    if isinstance(priors, pl.Expr):
        p = priors.sort(descending=True)
        largest, others = p.first(), p.slice(1)
    else:
        largest, others = (pl.when(priors[1] > priors[0]).then(priors[i]).otherwise(priors[1 - i]) for i in (1, 0))
    of_others = pl.when(others > 0).then(term_of(others)).otherwise(0.0)
    if isinstance(priors, pl.Expr):
        of_others, others = of_others.sum(), others.sum()
    return of_others + pl.when(largest > 0.5).then(of_largest(largest, others)).otherwise(term_of(largest))


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
