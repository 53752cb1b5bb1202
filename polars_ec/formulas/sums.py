"""What metrics are made of: sums per group over classes and decisions, and the class priors that weigh them.

R_ij = N_ij / N_i is the share of class i decided j, P_i the class prior. With a stated prior the same formulas give the
value at that prior: precision at a stated prior is calibrated precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from operator import add

import polars as pl

GROUP = "__ec_group"
"""The number of a group, in tables on the way to a metric."""


class Sums(ABC):
    """Counts per class and decision of one group, and the class priors that weigh them."""

    costs_by_row = False
    """Whether rows have costs of their own: then `class_cost` and `error_cost` say what errors cost."""

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

    def class_cost(self, i: int) -> pl.Expr:
        """What it would cost to decide all of class i wrongly, where rows have costs of their own."""
        raise NotImplementedError

    def error_cost(self, i: int) -> pl.Expr:
        """What the errors in class i cost, where rows have costs of their own."""
        raise NotImplementedError

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

    def of_others(self, decided: Sequence[Collection[int]]) -> pl.Expr:
        """For each class k the probability of any other class and a decision in `decided[k]`: an Array.

        Of elements of an Array, for so each sum over rows is in the plan once.
        """
        n, classes = self.n_classes, range(self.n_classes)
        rows = [[self.cell(i, decided[k]) if k != i else pl.lit(0.0) for k in classes] for i in classes]
        sums = [*(cell for row in rows for cell in row), *map(self.count, classes), *self.prior]
        of_class = [pl.element().slice(i * n, n) for i in classes]
        count, prior = ([pl.element().get(n * n + at + i) for i in classes] for at in (0, n))
        joint = [term(prior[i], ratio(of_class[i], count[i])) for i in classes]
        return array(sums).arr.agg(reduce(add, joint).implode()).cast(pl.Array(pl.Float64, n))


def sum_where(mask: pl.Expr, values: pl.Expr) -> pl.Expr:
    """Sum of the values where the mask holds: of zeros elsewhere, because the engine takes much longer to add up nulls."""
    return pl.when(mask).then(values).otherwise(0.0).sum()


def ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Numerator / denominator, null where the denominator is 0."""
    return pl.when(denominator != 0).then(numerator / denominator)


def signed_ratio(numerator: pl.Expr, denominator: pl.Expr) -> pl.Expr:
    """Numerator / denominator; infinite for x/0, null for 0/0."""
    return pl.when((numerator != 0) | (denominator != 0)).then(numerator / denominator)


def array(values: Iterable[pl.Expr]) -> pl.Expr:
    """An Array of Float64."""
    return pl.concat_arr([value.cast(pl.Float64) for value in values])


def term(prior: pl.Expr, mean: pl.Expr) -> pl.Expr:
    """P_i x_i, where a class of prior 0 adds 0 whatever x_i is."""
    return pl.when(prior == 0).then(0.0).otherwise(prior * mean)


def row_weight(sums: Sums, i: int) -> pl.Expr:
    """P_i / N_i: what a row of class i weighs in an expectation at the priors in use."""
    return term(sums.prior[i], ratio(pl.lit(1.0), sums.count(i)))
