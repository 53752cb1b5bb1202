"""A class against the rest: two by two sums of the decisions made between more."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import reduce
from operator import add

import polars as pl

from polars_ec.formulas.sums import Sums

AGAINST_REST = ("count_0", "count_1", "00", "01", "10", "11")
"""The sums of a class against the rest: of the rest and of the class, and of each what is decided for the rest and for the class."""


def one_class_columns(sums: Sums, prefix: str, *, weighed: bool) -> dict[str, pl.Expr]:
    """The sums that `OneVsRest` is made of, for every class, as columns: formulas that repeated them would not end.

    `weighed`: as masses at the priors in use, for they also say how the other classes mix in the rest; else as counts.
    """
    count = sums.prior.__getitem__ if weighed else sums.count
    amount = sums.joint if weighed else sums.cell
    columns = {}
    for k in range(sums.n_classes):
        classes = [[i for i in range(sums.n_classes) if i != k], [k]]
        decisions = [[j for j in range(sums.n_decisions) if j != k], [k]]
        for i in range(2):
            columns[f"{prefix}{k}_count_{i}"] = reduce(add, [count(c) for c in classes[i]])
            for j in range(2):
                columns[f"{prefix}{k}_{i}{j}"] = reduce(add, [amount(c, decisions[j]) for c in classes[i]])
    return columns


class OneVsRest(Sums):
    """Sums of two classes, the rest and class k of K: decision k is for the class, every other one for the rest."""

    def __init__(self, prefix: str, n_classes: int) -> None:
        super().__init__(2, None, 2)
        self.prefix = prefix
        self._mixes = n_classes > 2
        self._asked = False

    def count(self, i: int) -> pl.Expr:
        self._asked |= i == 0 and self._mixes
        return pl.col(f"{self.prefix}count_{i}")

    @property
    def size(self) -> pl.Expr:
        return self.count(0) + self.count(1)

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        self._asked |= i == 0 and self._mixes
        return reduce(add, [pl.col(f"{self.prefix}{i}{j}") for j in sorted(decided)])

    @property
    def prior(self) -> list[pl.Expr]:
        self._asked = True
        return self.empirical_prior

    def is_moved(self, formula: Callable[[Sums], pl.Expr]) -> bool:
        """Whether the priors of the classes move what the formula gives: it asks for them, or for the rest, which they mix."""
        self._asked = False
        formula(self)
        return self._asked
