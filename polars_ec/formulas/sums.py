"""The sums per group over classes and decisions, and the class priors, of which metrics are functions.

R_ij = N_ij / N_i is the share of class i with decision j, P_i the class prior. With a stated prior the same formulas give the value at that
prior: precision at a stated prior is calibrated precision.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Literal, Protocol, TypeAlias

import polars as pl

from polars_ec.arguments.costs import CostMatrix

GROUP = "__ec_group"
"""The number of a group, in tables on the way to a metric."""

MOST_WEIGHT = 1e300
"""A group whose weights sum to this or more has no metrics, because functions of the sums would overflow."""

Totals: TypeAlias = "Sequence[pl.Expr] | pl.Expr"
"""The sum of a loss over each class: one by one, or as values of one expression."""

Priors: TypeAlias = "Sequence[pl.Expr] | pl.Expr"
"""The priors: one by one, or as values of one expression."""


class OfClass(Protocol):
    """The sums of a group for one class, or for all classes as elements of one expression."""

    @property
    def prior(self) -> pl.Expr:
        """P_i."""

    def rate(self, *, right: bool) -> pl.Expr:
        """R_ii, or 1 - R_ii; null where the class has no rows."""

    def share(self, decision: int) -> pl.Expr:
        """R_ij of the decision j; null where the class has no rows."""

    def mean(self, totals: Totals) -> pl.Expr:
        """Mean of a loss over the class; null where it has no rows."""

    def mean_cost(self, costs: CostMatrix) -> pl.Expr:
        """sum_j c_ij R_ij; null where the class has no rows."""


Others: TypeAlias = Literal["alarms", "rejections", "rest"]
"""Rows of other classes: those decided for the class, those decided otherwise, or all of them."""


class PerClass(ABC):
    """What formulas on all classes are made of: one expression on columns of one value per class, or an expression for each class.

    These are priors, and probabilities of the class decided for it, or otherwise. `one` makes a value of the group of those of `total`.
    """

    prior: Sequence[pl.Expr]
    hits: Sequence[pl.Expr]
    misses: Sequence[pl.Expr]

    @abstractmethod
    def of_others(self, others: Others) -> Sequence[pl.Expr]:
        """For each class the probability of any other class and such a decision."""

    def total(self, values: Iterable[pl.Expr]) -> pl.Expr:
        """The sum over the classes; null where a class has no value, over which Polars would pass."""
        (column,) = values
        return pl.when(column.null_count() == 0).then(column.sum())

    @abstractmethod
    def one(self, value: pl.Expr) -> pl.Expr:
        """One value, of sums over the classes."""

    @abstractmethod
    def each(self, values: Sequence[pl.Expr]) -> pl.Expr:
        """The values of all classes, as an Array."""


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
    def size(self) -> pl.Expr:
        """N: rows, or weight, of all classes."""
        return reduce(add, [self.count(i) for i in range(self.n_classes)])

    @abstractmethod
    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        """Rows, or weight, of class i with a decision in `decided`."""

    def over_classes(self, of_class: Callable[[OfClass], pl.Expr]) -> pl.Expr:
        """The sum over the classes; null where a class has no value."""
        return reduce(add, [of_class(_OneClass(self, i)) for i in range(self.n_classes)])

    def each(self, of_class: Callable[[OfClass], pl.Expr]) -> pl.Expr:
        """The values of all classes, as an Array."""
        return pl.concat_arr([of_class(_OneClass(self, i)) for i in range(self.n_classes)])

    def per_class(self) -> PerClass:
        """Columns of one value per class."""
        return _Columns(self)

    def bound(self, values: Sequence[pl.Expr], build: Callable[..., pl.Expr]) -> pl.Expr:
        """Apply `build` to values of the group, each of which is computed once."""
        return array(values).arr.agg(build(*(pl.element().get(i) for i in range(len(values)))))

    @property
    def knows_prior(self) -> pl.Expr:
        """Whether there are priors."""
        return self.prior[0].is_not_null()

    def of_priors(self, build: Callable[[Priors], pl.Expr]) -> pl.Expr:
        """Apply `build` to the priors."""
        return pl.concat_arr(self.prior).arr.agg(build(pl.element()))

    def constant_cost(self, costs: CostMatrix) -> pl.Expr:
        """min_j sum_i P_i c_ij: what the cheapest constant decision costs."""
        if self.costs_by_row:
            means = [_finite_mean(self, i, self.class_cost(i)) for i in range(len(self.prior))]
            return pl.min_horizontal(map(term, self.prior, means))
        columns = [
            reduce(add, [p * row[j] for p, row in zip(self.prior, costs.values, strict=True)])
            for j in range(costs.n_decisions)
        ]
        return pl.min_horizontal(columns)

    def class_cost(self, i: int) -> pl.Expr:
        """The cost of deciding all of class i wrongly, with costs per row."""
        raise NotImplementedError

    def error_cost(self, i: int) -> pl.Expr:
        """The cost of the errors in class i, with costs per row."""
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


@dataclass(frozen=True)
class _OneClass:
    sums: Sums
    i: int

    @property
    def prior(self) -> pl.Expr:
        return self.sums.prior[self.i]

    def rate(self, *, right: bool) -> pl.Expr:
        decided = [self.i] if right else [j for j in range(self.sums.n_decisions) if j != self.i]
        return self.sums.rate(self.i, decided)

    def share(self, decision: int) -> pl.Expr:
        return self.sums.rate(self.i, [decision])

    def mean(self, totals: Totals) -> pl.Expr:
        assert not isinstance(totals, pl.Expr)
        return ratio(totals[self.i], self.sums.count(self.i))

    def mean_cost(self, costs: CostMatrix) -> pl.Expr:
        sums, i = self.sums, self.i
        if sums.costs_by_row:
            return _finite_mean(sums, i, sums.error_cost(i))
        # One sum for each different cost of the row: 0-1 costs need one per class, not one per cell.
        row = costs.values[i]
        values = sorted(set(row) - {0.0})
        decided = {value: [j for j, cost in enumerate(row) if cost == value] for value in values}
        # Rates before costs: a count times a cost may be more than a float holds.
        rates = [sums.cell(i, decided[value]) / sums.count(i) * value for value in values]
        return pl.when(sums.count(i) != 0).then(reduce(add, rates, pl.lit(0.0)))


class _Columns(PerClass):
    """Sums as elements of one Array, because Polars copies an expression at each use, and the decision of a row is a long one."""

    def __init__(self, sums: Sums) -> None:
        self._sums, self._parts = sums, list[pl.Expr]()
        classes = range(sums.n_classes)
        prior, count = self._part(array(sums.prior)), self._part(array(sums.count(k) for k in classes))
        hits = self._part(array(sums.cell(k, [k]) for k in classes))
        misses = self._part(array(sums.cell(k, _without(k, sums.n_decisions)) for k in classes))
        self.prior, self.hits, self.misses = [prior], *([term(prior, ratio(cell, count))] for cell in (hits, misses))

    def of_others(self, others: Others) -> Sequence[pl.Expr]:
        return [self._part(self._sums.of_others(_decided_of(others, self._sums)))]

    def one(self, value: pl.Expr) -> pl.Expr:
        return pl.concat_arr(self._parts).arr.agg(value)

    def each(self, values: Sequence[pl.Expr]) -> pl.Expr:
        return self.one(values[0].implode()).cast(pl.Array(pl.Float64, self._sums.n_classes))

    def _part(self, values: pl.Expr) -> pl.Expr:
        self._parts.append(values)
        n = self._sums.n_classes
        return pl.element().slice((len(self._parts) - 1) * n, n)


class SeparateClasses(PerClass):
    """An expression for each class, for sums that are columns: arithmetic of columns is faster than that of elements."""

    def __init__(self, sums: Sums, *, of_group: bool) -> None:
        self._sums, self._is_of_group, classes = sums, of_group, range(sums.n_classes)
        self.prior = sums.prior
        self.hits = [sums.joint(k, [k]) for k in classes]
        self.misses = [sums.joint(k, _without(k, sums.n_decisions)) for k in classes]

    def of_others(self, others: Others) -> Sequence[pl.Expr]:
        sums, decided = self._sums, enumerate(_decided_of(others, self._sums))
        amount = sums.cell if self._is_of_group else sums.joint
        of_rest = [reduce(add, [amount(i, such) for i in _without(k, sums.n_classes)]) for k, such in decided]
        # At the group's own prior every row weighs the same.
        return [ratio(number, sums.size) for number in of_rest] if self._is_of_group else of_rest

    def total(self, values: Iterable[pl.Expr]) -> pl.Expr:
        return reduce(add, values)

    def one(self, value: pl.Expr) -> pl.Expr:
        return value

    def each(self, values: Sequence[pl.Expr]) -> pl.Expr:
        return array(values)


def _decided_of(others: Others, sums: Sums) -> list[Sequence[int]]:
    """The decisions of rows of other classes, for each class."""
    n, classes = sums.n_decisions, range(sums.n_classes)
    if others == "alarms":
        return [[k] for k in classes]
    return [_without(k, n) if others == "rejections" else range(n) for k in classes]


def _without(k: int, number: int) -> list[int]:
    return [i for i in range(number) if i != k]


def _finite_mean(sums: Sums, i: int, cost: pl.Expr) -> pl.Expr:
    """Mean cost of class i; null where the costs of its rows add up to more than a float holds."""
    mean = ratio(cost, sums.count(i))
    return pl.when(mean.is_finite()).then(mean)


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


@dataclass(frozen=True)
class Detector:
    """Probabilities that a row is of the class and decided so, of it and not decided so, and decided so without being of it."""

    hits: pl.Expr
    misses: pl.Expr
    alarms: pl.Expr

    @classmethod
    def of_positive(cls, sums: Sums) -> Detector:
        """The detector of class 1 of two."""
        return cls(sums.joint(1, [1]), sums.joint(1, [0]), sums.joint(0, [1]))

    def precision(self) -> pl.Expr:
        return ratio(self.hits, self.hits + self.alarms)

    def f1(self) -> pl.Expr:
        return self.fbeta(1.0)

    def fbeta(self, beta: float) -> pl.Expr:
        # Misses weigh beta^2 to 1; as shares, for the square of a large beta is infinite.
        smaller = min(beta, 1 / beta) ** 2
        shares = smaller / (1 + smaller), 1 / (1 + smaller)
        of_misses, of_alarms = shares if beta < 1 else shares[::-1]
        hits, misses, alarms = self.hits, self.misses, self.alarms
        # Without hits it is 0, also where the share of the only errors is too small for a float.
        value = pl.when(hits == 0).then(0.0).otherwise(hits / (hits + misses * of_misses + alarms * of_alarms))
        return pl.when(hits + misses + alarms != 0).then(value)


def pack_confusion(cells: list[list[pl.Expr]], dtype: type[pl.DataType]) -> pl.Expr:
    """K x M cells as one value: a struct for 2 x 2, else a two-dimensional Array."""
    n_classes, n_decisions = len(cells), len(cells[0])
    if (n_classes, n_decisions) == (2, 2):
        (tn, fp), (fn, tp) = cells
        return pl.struct(tn=tn, fp=fp, fn=fn, tp=tp)
    matrix = pl.concat_list([pl.concat_arr([cell.cast(dtype) for cell in row]) for row in cells])
    return matrix.cast(pl.Array(pl.Array(dtype, n_decisions), n_classes))


def pack_prior(shares: list[pl.Expr]) -> pl.Expr:
    """The positive class's share, or all shares where there are more than two; null where they are."""
    return shares[1] if len(shares) == 2 else pl.when(shares[0].is_not_null()).then(pl.concat_arr(shares))
