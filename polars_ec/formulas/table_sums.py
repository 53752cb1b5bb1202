"""Sums for many classes, as elements of one Array per group.

The size of a formula then does not depend on the number of classes. `Sums` repeats a formula for every class; here it occurs once and works
on all classes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.formulas.sums import OfClass, Others, PerClass, Priors, Sums, Totals, ratio


@dataclass(frozen=True)
class Part:
    """Values of a group that formulas use: one, or one per class, or one per bin; `joint` are probabilities in place of amounts.

    `loss` is the column of the rows that is summed or ranked.
    """

    name: str
    costs: CostMatrix | None = field(default=None, compare=False)
    decision: int | None = None
    loss: str | None = None
    build: Callable[[Priors], pl.Expr] | None = None
    one: bool = False
    joint: bool = False
    bins: int | None = None

    def width(self, n_classes: int) -> int:
        """The number of values."""
        return 1 if self.one else self.bins or n_classes


class TableSums(Sums):
    """Sums that are registered when used, element by element, and computed all at once by `one` or `of_each`."""

    def __init__(self, n_decisions: int, n_classes: int) -> None:
        super().__init__(n_decisions, None, n_classes)
        self.parts: list[tuple[Part, int]] = []
        self._size = 0

    @abstractmethod
    def table(self) -> pl.Expr:
        """The Array of the registered sums, in order."""

    def part(self, part: Part) -> pl.Expr:
        """The values of a registered sum, as elements of the Array."""
        # Matrices are compared by identity: to compare them would cost more than to sum twice.
        known = [at for other, at in self.parts if other == part and other.costs is part.costs]
        at = known[0] if known else self._size
        if not known:
            self.parts.append((part, at))
            self._size += part.width(self.n_classes)
        return pl.element().get(at) if part.one else pl.element().slice(at, part.width(self.n_classes))

    def aggregated(self, value: pl.Expr) -> pl.Expr:
        """The value of a group, from an expression on the sums."""
        return self.table().arr.agg(value)

    def count(self, i: int) -> pl.Expr:
        return self.part(Part("count")).get(i)

    @property
    def size(self) -> pl.Expr:
        return self.part(Part("size", one=True))

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        return reduce(add, [self.part(Part("decided", decision=j)).get(i) for j in sorted(decided)])

    @property
    def prior(self) -> list[pl.Expr]:
        return [self.part(Part("prior")).get(i) for i in range(self.n_classes)]

    def over_classes(self, of_class: Callable[[OfClass], pl.Expr]) -> pl.Expr:
        return self.added(of_class(_AllClasses(self)))

    def added(self, values: pl.Expr) -> pl.Expr:
        """The sum of the values; null where one is."""
        return pl.when(values.null_count() == 0).then(values.sum())

    def each(self, of_class: Callable[[OfClass], pl.Expr]) -> pl.Expr:
        return self.packed(of_class(_AllClasses(self)))

    def of_priors(self, build: Callable[[Priors], pl.Expr]) -> pl.Expr:
        return self.part(Part("of_priors", build=build, one=True))

    def constant_cost(self, costs: CostMatrix) -> pl.Expr:
        return self.part(Part("constant_cost", costs=costs, one=True))

    def bound(self, values: Sequence[pl.Expr], build: Callable[..., pl.Expr]) -> pl.Expr:
        return build(*values)

    def per_class(self) -> PerClass:
        return _TablePerClass(self)

    @property
    def knows_prior(self) -> pl.Expr:
        return self.part(Part("prior")).null_count() == 0

    def packed(self, values: pl.Expr) -> pl.Expr:
        return values.implode().cast(pl.Array(pl.Float64, self.n_classes))


@dataclass(frozen=True)
class _AllClasses:
    sums: TableSums

    @property
    def prior(self) -> pl.Expr:
        return self.sums.part(Part("prior"))

    @property
    def _count(self) -> pl.Expr:
        return self.sums.part(Part("count"))

    def rate(self, *, right: bool) -> pl.Expr:
        return ratio(self.sums.part(Part("hits" if right else "misses")), self._count)

    def share(self, decision: int) -> pl.Expr:
        return ratio(self.sums.part(Part("decided", decision=decision)), self._count)

    def mean(self, totals: Totals) -> pl.Expr:
        assert isinstance(totals, pl.Expr)
        return ratio(totals, self._count)

    def mean_cost(self, costs: CostMatrix) -> pl.Expr:
        return self.sums.part(Part("mean_cost", costs=costs))


class _TablePerClass(PerClass):
    def __init__(self, sums: TableSums) -> None:
        self._sums = sums
        self.prior = [sums.part(Part("prior"))]
        self.hits, self.misses = ([sums.part(Part(name, joint=True))] for name in ("hits", "misses"))

    def of_others(self, others: Others) -> Sequence[pl.Expr]:
        return [self._sums.part(Part(others))]

    def one(self, value: pl.Expr) -> pl.Expr:
        return value

    def each(self, values: Sequence[pl.Expr]) -> pl.Expr:
        return self._sums.packed(values[0])
