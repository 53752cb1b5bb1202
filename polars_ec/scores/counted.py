"""NumPy counts of collected rows by group and class, for formulas of many classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from itertools import pairwise

import polars as pl

from polars_ec.formulas.class_areas import Ranks, area, area_of_ranks
from polars_ec.formulas.sums import GROUP, MOST_WEIGHT, array
from polars_ec.formulas.table_sums import Part, TableSums
from polars_ec.numerics import Numbers, np
from polars_ec.scores.scores import CELL, CLASS, DECISION, TOP, WEIGHT, matrix_of, shares_of

_DENSE = 2**22
"""Cells that are counted in a table of all of them, also where few are found."""


@dataclass(frozen=True)
class ConfusionCells:
    """The cells of the confusion matrices that have rows, of all groups one after the other."""

    group: Numbers
    index: Numbers
    decision: Numbers
    amount: Numbers


class ClassCounts:
    """Counts as arrays (groups x classes); NaN for null."""

    def __init__(
        self,
        cells: pl.Series,
        n_classes: int,
        n_decisions: int,
        literal: tuple[float, ...] | None,
        of_groups: Numbers | None,
    ) -> None:
        self.n_groups, self.n_classes, self.n_decisions = len(cells), n_classes, n_decisions
        self.wrong = np.zeros(self.n_groups, dtype=bool)
        self._weight: Numbers | None = None
        self.count = self._read(cells)
        self.size: Numbers = self.count.sum(axis=1)
        self.is_stated = literal is not None or of_groups is not None
        self._stated = of_groups if literal is None else np.array(literal)[None, :]
        self.known = np.ones(self.n_groups, dtype=bool)
        if of_groups is not None:
            # Counts of a group without rows are 0, and so they are without a prior.
            self.known = ~np.isnan(of_groups).any(axis=1) | (self.size == 0)

    def _read(self, cells: pl.Series) -> Numbers:
        """Keep the rows of classes, and count them by class."""
        lengths = cells.list.len().fill_null(0).to_numpy()
        # By default a list without rows gives a row of null, or, where the engine collected it, none.
        rows = _unpacked(cells.explode(empty_as_null=False, keep_nulls=False), self.n_decisions)
        group = np.repeat(np.arange(self.n_groups), lengths)
        index = rows[CLASS].fill_null(-2).to_numpy()
        self.wrong[group[index == -1]] = True
        self.used = index >= 0
        if not self.used.all():
            rows, group, index = rows.filter(pl.Series(self.used)), group[self.used], index[self.used]
        self._rows, self._group, self._index = rows, group, index.astype(np.int64)
        if WEIGHT in rows.columns:
            self._weight = rows[WEIGHT].to_numpy()
        return self._by_class(group, self._index, self._weight)

    def of(self, part: Part) -> Numbers:
        """Groups x classes, or x 1: an attribute or a method by name."""
        value = getattr(self, part.name)
        array: Numbers = value(part) if callable(value) else self._mass(value) if part.joint else value
        return array.reshape(self.n_groups, part.width(self.n_classes))

    def _by_class(self, group: Numbers, index: Numbers, amount: Numbers | None) -> Numbers:
        code = group * self.n_classes + index
        counted = np.bincount(code, amount, minlength=self.n_groups * self.n_classes)
        return np.asarray(counted.reshape(self.n_groups, self.n_classes), dtype=float)

    @cached_property
    def cells(self) -> ConfusionCells:
        decision = self._rows[DECISION].to_numpy().astype(np.int64)
        code = (self._group * self.n_classes + self._index) * self.n_decisions + decision
        n_cells = self.n_groups * self.n_classes * self.n_decisions
        if n_cells <= max(4 * len(code), _DENSE):
            amounts, numbers = np.bincount(code, self._weight, minlength=n_cells), np.bincount(code, minlength=n_cells)
            found = np.flatnonzero(numbers)
            amounts = amounts[found]
        else:
            found, at = np.unique(code, return_inverse=True)
            amounts = np.bincount(at, self._weight, minlength=len(found))
        of_class, of_decision = np.divmod(found, self.n_decisions)
        return ConfusionCells(*np.divmod(of_class, self.n_classes), of_decision, amounts.astype(float))

    # The available sums.

    @property
    def right(self) -> Numbers:
        return np.asarray(~self.wrong & (self.size < MOST_WEIGHT) & self.known, dtype=float)

    @cached_property
    def share(self) -> Numbers:
        shares: Numbers = self.count / self.size[:, None]
        return shares

    @cached_property
    def prior(self) -> Numbers:
        if self._stated is None:
            return self.share
        return np.broadcast_to(self._stated, (self.n_groups, self.n_classes))

    def of_priors(self, part: Part) -> Numbers:
        """Evaluate the formula of a sum on the priors, as columns if there are few, which takes a tenth of the time of an Array."""
        assert part.build is not None
        priors = pl.DataFrame(self.prior, orient="row", nan_to_null=True)
        columns, is_few = [pl.col(name) for name in priors.columns], self.n_classes <= 20
        value = part.build(columns) if is_few else pl.concat_arr(columns).arr.agg(part.build(pl.element()))
        return np.asarray(priors.select(value).to_series().to_numpy())

    def total(self, part: Part) -> Numbers:
        assert part.loss is not None
        return self._by_class(self._group, self._index, self._rows[part.loss].to_numpy())

    @property
    def hits(self) -> Numbers:
        return self._of_cells(self.cells.decision == self.cells.index)

    @property
    def misses(self) -> Numbers:
        return self._of_cells(self.cells.decision != self.cells.index)

    def _mass(self, cells: Numbers) -> Numbers:
        """Probabilities of each class and such a decision, from the amounts; a class of prior 0 has 0."""
        return np.where(self.prior == 0, 0.0, self.prior * (cells / self.count))

    def decided(self, part: Part) -> Numbers:
        return self._of_cells(self.cells.decision == part.decision)

    def _of_cells(self, mask: Numbers, values: Numbers | None = None, by: str = "index") -> Numbers:
        """Sums over the cells of a mask, of each class, or `by` the class that is decided for; of amounts if no `values` are stated."""
        values = self.cells.amount if values is None else values
        return self._by_class(self.cells.group[mask], getattr(self.cells, by)[mask], values[mask])

    def mean_cost(self, part: Part) -> Numbers:
        # Rates before costs: a count times a cost may be more than a float holds.
        rate = self.cells.amount / self.count[self.cells.group, self.cells.index]
        cost = rate * np.asarray(part.costs)[self.cells.index, self.cells.decision]
        return np.where(self.count == 0, np.nan, self._of_cells(self.cells.decision >= 0, cost))

    def constant_cost(self, part: Part) -> Numbers:
        cheapest: Numbers = (self.prior @ np.asarray(part.costs)).min(axis=1)
        return cheapest

    @cached_property
    def _cell_weight(self) -> Numbers:
        """The weight of a row in each cell: P_i / N_i, or 1 if all weights are equal."""
        if not self.is_stated:
            return np.ones_like(self.cells.amount)
        prior = self.prior[self.cells.group, self.cells.index]
        return np.where(prior == 0, 0.0, prior / self.count[self.cells.group, self.cells.index])

    # Areas under ROC curves.

    def _areas(self, part: Part) -> Numbers:
        """The area of each class against the rest, by the class's own score; the priors in use weigh the classes of the rest."""
        assert part.loss is not None
        if self._weight is not None or self.is_stated:
            return self.areas_of(self.ranks_by(part.loss))[0]
        rows = pl.DataFrame(matrix_of(self._rows[part.loss], self.n_classes)[0])
        by_class = [area_of_ranks(pl.col(x), pl.col(CLASS) == k).alias(x) for k, x in enumerate(rows.columns)]
        rows = rows.with_columns(pl.Series(GROUP, self._group), pl.Series(CLASS, self._index))
        found = rows.group_by(GROUP).agg(by_class)
        areas = np.full((self.n_groups, self.n_classes), np.nan)
        areas[found[GROUP].to_numpy()] = found.drop(GROUP).to_numpy()
        return areas

    def ranks_by(self, scores: str, *, together: bool = False) -> list[Ranks]:
        """The order of the rows by the score of each class, within groups, or all rows `together`."""
        values = matrix_of(self._rows[scores], self.n_classes)[0]
        group = np.zeros_like(self._group) if together else self._group
        return [Ranks.of(group, values[:, k]) for k in range(self.n_classes)]

    def areas_of(self, ranks: Sequence[Ranks]) -> tuple[Numbers, Numbers]:
        """The area of each class, (groups, classes); and the influence of each row on it, (rows, classes)."""
        amount = np.ones(len(self._index)) if self._weight is None else self._weight
        mass = self._row_weight() if self.is_stated else amount
        found = []
        for k, of_class in enumerate(ranks):
            own = self._index == k
            positive, rest = np.where(own, amount, 0.0), np.where(own, 0.0, mass)
            found.append(area(of_class, self._group, self.n_groups, positive, rest))
        areas, influence = (np.stack(of, axis=1) for of in zip(*found, strict=True))
        return areas, influence

    def macro_area(self, part: Part) -> Numbers:
        return np.asarray(self._areas(part).mean(axis=1))

    def weighted_area(self, part: Part) -> Numbers:
        return np.asarray(np.where(self.prior == 0, 0.0, self.prior * self._areas(part)).sum(axis=1))

    # Bins of the posterior of the decision.

    def _row_weight(self) -> Numbers:
        """The weight of a row in an expectation at the priors in use; NaN if that is undefined."""
        weight = np.ones(len(self._index)) if self._weight is None else self._weight
        if not self.is_stated:
            return np.asarray(weight / self.size[self._group])
        prior = self.prior[self._group, self._index]
        lacking = ((self.prior != 0) & (self.count == 0) | np.isnan(self.prior)).any(axis=1)[self._group]
        per_row = np.where(prior == 0, 0.0, prior / self.count[self._group, self._index])
        return np.asarray(np.where(lacking, np.nan, weight * per_row))

    def rows(self) -> pl.DataFrame:
        """GROUP, `posterior`, whether it `holds`, and `mass`, of the rows of groups that have a value."""
        right = self.right == 1
        # Class weights matter only at another prior. Without them whole numbers stay whole.
        mass = self._row_weight()
        right[self._group[np.isnan(mass)]] = False
        if not self.is_stated:
            mass = np.ones(len(self._index)) if self._weight is None else self._weight
        columns = {GROUP: pl.Series(self._group, dtype=pl.get_index_type()), "posterior": self._rows[TOP]}
        holds = self._rows[DECISION].to_numpy() == self._index
        return pl.DataFrame({**columns, "holds": holds, "mass": mass}).filter(pl.Series(right[self._group]))

    def _in_bins(self, part: Part, values: Numbers) -> Numbers:
        assert part.bins is not None
        edges = np.arange(1, part.bins) / part.bins
        # The bins are closed on the right.
        of_row = np.searchsorted(edges, self._rows[TOP].to_numpy(), side="left")
        table = np.bincount(self._group * part.bins + of_row, values, minlength=self.n_groups * part.bins)
        empty = (self.size == 0)[:, None]
        return np.asarray(np.where(empty, np.nan, table.reshape(self.n_groups, part.bins)))

    def bin_share(self, part: Part) -> Numbers:
        return self._in_bins(part, self._row_weight())

    def gap(self, part: Part) -> Numbers:
        holds = self._rows[DECISION].to_numpy() == self._index
        return self._in_bins(part, self._row_weight() * (self._rows[TOP].to_numpy() - holds))

    def _of_others(self, sums: Numbers) -> Numbers:
        """Probabilities of other classes; null where another class with prior above 0 has no rows."""
        if not self.is_stated:
            return np.asarray(sums / self.size[:, None])
        lacking = (self.prior != 0) & (self.count == 0)
        others = lacking.sum(axis=1, keepdims=True) - lacking
        return np.where((others > 0) | np.isnan(self.prior).any(axis=1, keepdims=True), np.nan, sums)

    @property
    def alarms(self) -> Numbers:
        return self._of_others(self._sum_alarms())

    def _sum_alarms(self) -> Numbers:
        mask = (self.cells.decision != self.cells.index) & (self.cells.decision < self.n_classes)
        return self._of_cells(mask, self.cells.amount * self._cell_weight, "decision")

    @property
    def rejections(self) -> Numbers:
        return self._of_others(self._sum_rejections())

    def _sum_rejections(self) -> Numbers:
        if self._weight is None and not self.is_stated:
            # Differences of whole numbers are exact.
            decided = self._of_cells(self.cells.decision < self.n_classes, by="decision")
            return np.asarray(self.size[:, None] + self.hits - self.count - decided)
        amount = self.cells.amount * self._cell_weight
        sums = np.zeros((self.n_groups, self.n_classes))
        for k in range(self.n_classes):
            # Not the total minus the rest, because a difference of floats would lose digits.
            others = (self.cells.index != k) & (self.cells.decision != k)
            mask, group = np.broadcast_arrays(others, self.cells.group)
            sums[:, k] = np.bincount(group[mask], amount[mask], minlength=self.n_groups)
        return sums

    def against_rest(self) -> Numbers:
        """Groups x classes x 6: the amount of the rest and of the class, and for each the decisions for the rest and for the class.

        Masses at the stated prior, otherwise counts.
        """
        hits, misses, of_class = self.hits, self.misses, self.count
        alarms, rejections = self._sum_alarms(), self._sum_rejections()
        if self.is_stated:
            of_class, hits, misses = self.prior, self._mass(hits), self._mass(misses)
            alarms, rejections = self._of_others(alarms), self._of_others(rejections)
        return np.stack([_of_rest(of_class), of_class, rejections, alarms, misses, hits], axis=2)

    @property
    def rest(self) -> Numbers:
        mass = np.where(self.count == 0, 0.0, self.prior) if self.is_stated else self.count
        return self._of_others(_of_rest(mass))


class SummedClassCounts(ClassCounts):
    """Class counts of a struct of Arrays that hold sums already: of each class and decision, or of each class and its losses."""

    def _read(self, cells: pl.Series) -> Numbers:
        self._sums = {
            column.name: column.reshape((-1,)).to_numpy().reshape(len(cells), self.n_classes, -1)
            for column in cells.struct.unnest()
        }
        first = next(iter(self._sums.values()))
        return np.asarray(first.sum(axis=2))

    @cached_property
    def cells(self) -> ConfusionCells:
        group, index, decision = np.indices(self._sums[CELL].shape, sparse=True)
        return ConfusionCells(group, index, decision, self._sums[CELL])

    def _of_cells(self, mask: Numbers, values: Numbers | None = None, by: str = "index") -> Numbers:
        # One after the other, as cells in lists are added up: the same sums to the last digit.
        kept = np.where(mask, self.cells.amount if values is None else values, 0.0)
        sums = reduce(np.add, np.moveaxis(kept, 2 if by == "index" else 1, 0))
        return np.pad(sums, ((0, 0), (0, max(self.n_classes - sums.shape[1], 0))))[:, : self.n_classes]

    def total(self, part: Part) -> Numbers:
        assert part.loss is not None
        return self._sums[part.loss]


def _unpacked(cells: pl.Series, n_decisions: int) -> pl.DataFrame:
    """The columns of structs, or of classes and decisions in one integer."""
    if isinstance(cells.dtype, pl.Struct):
        return cells.struct.unnest()
    # Negative: invalid rows, and here also missing ones.
    index, decision = np.divmod(cells.fill_null(-2 * n_decisions).to_numpy(), n_decisions)
    return pl.DataFrame({CLASS: index, DECISION: decision})


def _of_rest(mass: Numbers) -> Numbers:
    """The sum over the other classes, without a difference of floats."""
    none = np.zeros((len(mass), 1))
    before = np.cumsum(np.hstack([none, mass[:, :-1]]), axis=1)
    after = np.cumsum(np.hstack([none, mass[:, :0:-1]]), axis=1)[:, ::-1]
    return np.asarray(before + after)


# Sums of a group of many classes: the rows' classes, decisions and losses collected, and counted by NumPy.

_CELLS, _PRIOR, _KNOWN = "cells", "prior", "known"

# The number of one-vs-rest counts of a class.
_AGAINST_REST = 6

# Numbers of a table, and rows of groups, that are worked on at a time.
_BLOCK, _ROWS_AT_ONCE = 2**22, 2**18


@dataclass(frozen=True)
class GroupPrior:
    """The prior of a group that a column states: one vector; and whether all rows have it."""

    vector: pl.Expr
    known: pl.Expr

    @classmethod
    def from_rows(cls, prior: pl.Expr) -> GroupPrior:
        """Take the prior of the rows of a group."""
        return cls(prior.first(), (prior.n_unique() == 1) & (prior.null_count() == 0))


def packed_groups(cells: pl.Expr, prior: tuple[float, ...] | GroupPrior | None) -> pl.Expr:
    """The cells of groups with their priors, if these are columns, for kernels."""
    columns = {_CELLS: cells}
    if isinstance(prior, GroupPrior):
        columns |= {_PRIOR: prior.vector, _KNOWN: prior.known}
    return pl.struct([column.alias(name) for name, column in columns.items()])


def unpacked_groups(groups: pl.Series, n_classes: int) -> tuple[pl.Series, Numbers | None]:
    """The cells of `packed_groups`, and the priors (groups x classes) if there are any, NaN where they are unknown."""
    columns = {column.name: column for column in groups.struct.unnest()}
    if _PRIOR not in columns:
        return columns[_CELLS], None
    known = columns[_KNOWN].fill_null(False).to_numpy()
    return columns[_CELLS], np.where(known[:, None], shares_of(columns[_PRIOR], n_classes), np.nan)


def collect(cells: pl.Expr) -> pl.Expr:
    """The rows of a group, as a list."""
    # The order does not matter to a sum, and only without it the engine streams.
    return cells.implode(maintain_order=False)


class CollectedSums(TableSums):
    """Requested sums over the lists of `cells` per group, for `ClassCounts`: rows of the log, or counts of them."""

    def __init__(
        self,
        n_classes: int,
        n_decisions: int,
        cells: Callable[[Sequence[str]], pl.Expr],
        prior: tuple[float, ...] | GroupPrior | None,
    ) -> None:
        super().__init__(n_decisions, n_classes)
        self._cells, self._of_group = cells, prior
        self._literal = None if isinstance(prior, GroupPrior) else prior

    def totals(self, loss: str) -> pl.Expr:
        """The sum of a row loss, times weight, over each class."""
        return self.part(Part("total", loss=loss))

    @property
    def counts(self) -> pl.Expr:
        """N_i of each class, as an Array."""
        return self.packed(self.part(Part("count")))

    @property
    def shares(self) -> pl.Expr:
        """N_i / N of each class, as an Array; null in a group without usable rows."""
        return pl.when(self.size != 0).then(self.packed(self.part(Part("share"))))

    def guarded(self, value: pl.Expr) -> pl.Expr:
        """`value`, null where it cannot be had of the group."""
        return self.aggregated(pl.when(self.part(Part("right", one=True)) == 1).then(value))

    def table(self) -> pl.Expr:
        parts = tuple(part for part, _ in self.parts)
        kernel = _SumsKernel(parts, self.n_classes, self.n_decisions, self._literal)
        decided = any(part.name in _OF_DECISIONS for part in parts)
        more = [part.loss for part in parts if part.loss is not None]
        more += [TOP] if any(part.bins for part in parts) else []
        asked = [CLASS, *([DECISION] if decided else []), *more]
        return self.collected(asked, kernel, pl.Array(pl.Float64, kernel.width))

    def collected(self, asked: Sequence[str], kernel: Callable[[pl.Series], pl.Series], dtype: pl.DataType) -> pl.Expr:
        """Apply `kernel` to the groups, as a struct of `cells` and, if they are columns, priors."""
        packed = packed_groups(self._cells(asked), self._of_group)
        return packed.map_batches(kernel, return_dtype=dtype, is_elementwise=True)

    def guarded_by_group(self, values: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.Expr:
        """GROUP and `value` of the rows of all groups: GROUP, `posterior`, whether it `holds`, and `mass`; null where it cannot be had."""
        parts = _SumsKernel((), self.n_classes, self.n_decisions, self._literal)

        def ordered_values(groups: pl.Series) -> pl.Series:
            return in_order(values(parts.sums(groups).rows()), len(groups))

        return self.collected([CLASS, DECISION, TOP], ordered_values, pl.Float64())

    def confusion(self, dtype: type[pl.DataType]) -> pl.Expr:
        """N_ij as a two-dimensional Array; null where it cannot be had of the group."""
        kernel = _ConfusionKernel((), self.n_classes, self.n_decisions, self._literal, dtype)
        return self.collected([CLASS, DECISION], kernel, pl.Array(pl.Array(dtype, self.n_decisions), self.n_classes))

    def against_rest(self) -> pl.Expr:
        """The six numbers of `ClassCounts.against_rest` for each class, as a two-dimensional Array."""
        kernel = _AgainstRestKernel((), self.n_classes, self.n_decisions, self._literal)
        return self.collected([CLASS, DECISION], kernel, pl.Array(pl.Array(pl.Float64, _AGAINST_REST), self.n_classes))


_OF_DECISIONS = ("hits", "misses", "decided", "mean_cost", "alarms", "rejections", "gap")


@dataclass(frozen=True, eq=False)
class _SumsKernel:
    segments: tuple[Part, ...]
    n_classes: int
    n_decisions: int
    prior: tuple[float, ...] | None

    @property
    def width(self) -> int:
        """The length of the Array of a group."""
        return sum(part.width(self.n_classes) for part in self.segments)

    def __call__(self, groups: pl.Series) -> pl.Series:
        return in_blocks(self.of_groups, groups, self._largest)

    @property
    def _largest(self) -> int:
        return max(self.width, self.n_classes)

    def of_groups(self, groups: pl.Series) -> pl.Series:
        with np.errstate(all="ignore"):
            sums = self.sums(groups)
            table = np.hstack([sums.of(part) for part in self.segments])
        return pl.Series(table.ravel(), nan_to_null=True).reshape((len(groups), self.width))

    def sums(self, groups: pl.Series) -> ClassCounts:
        """Count the rows of the groups."""
        cells, prior = unpacked_groups(groups, self.n_classes)
        kind = SummedClassCounts if isinstance(cells.dtype, pl.Struct) else ClassCounts
        return kind(cells, self.n_classes, self.n_decisions, self.prior, prior)


@dataclass(frozen=True, eq=False)
class _ConfusionKernel(_SumsKernel):
    dtype: type[pl.DataType]

    @property
    def _largest(self) -> int:
        return self.n_classes * self.n_decisions

    def of_groups(self, groups: pl.Series) -> pl.Series:
        shape = (len(groups), self.n_classes, self.n_decisions)
        sums = self.sums(groups)
        table = np.zeros(shape)
        table[sums.cells.group, sums.cells.index, sums.cells.decision] = sums.cells.amount
        right = pl.Series(sums.of(Part("right", one=True))[:, 0] == 1)
        return pl.select(pl.when(right).then(pl.Series(table.ravel()).cast(self.dtype).reshape(shape))).to_series()


@dataclass(frozen=True, eq=False)
class _AgainstRestKernel(_SumsKernel):
    @property
    def _largest(self) -> int:
        return self.n_classes * _AGAINST_REST

    def of_groups(self, groups: pl.Series) -> pl.Series:
        shape = (len(groups), self.n_classes, _AGAINST_REST)
        with np.errstate(all="ignore"):
            table = self.sums(groups).against_rest()
        return pl.Series(table.ravel(), nan_to_null=True).reshape(shape)


# Values of groups that take all rows of a group at once: worked out for all groups in one call, which does not stream.

_ROWS, _WEIGHTS = "__ec_rows", "__ec_weights"


def of_all_groups(
    columns: Mapping[str, pl.Expr], values: Callable[..., pl.DataFrame], weights: Sequence[pl.Expr] | None = None
) -> pl.Expr:
    """A number per group; null where `values` has none.

    `values` takes the rows, with these columns and GROUP, and gives GROUP and `value`. Were it called group by group, the engine
    would begin one call within another, as deep as there are groups and metrics. With `weights` of the group it takes them as well,
    by GROUP and the number `weighed`, and the rows come in any order: then the engine streams.
    """
    rows = pl.struct([column.alias(name) for name, column in columns.items()])
    of_group = [rows.implode()] if weights is None else [collect(rows), array(weights).alias(_WEIGHTS)]

    def of_lists(packed: pl.Series) -> pl.Series:
        groups = packed.struct.unnest().with_row_index(GROUP)
        lists = groups.select(GROUP, _ROWS).filter(pl.col(_ROWS).list.len() > 0).explode(_ROWS).unnest(_ROWS)
        if weights is None:
            return in_order(values(lists), len(groups))
        of_groups = groups.select(GROUP, weight=_WEIGHTS, weighed=pl.lit([*range(len(weights))], pl.List(pl.Int8)))
        of_groups = of_groups.with_columns(pl.col("weight").arr.to_list()).explode("weight", "weighed")
        return in_order(values(lists, of_groups), len(groups))

    packed = pl.struct(of_group[0].alias(_ROWS), *of_group[1:])
    of_blocks = partial(in_blocks, of_lists, rows=_ROWS)
    return packed.map_batches(of_blocks, return_dtype=pl.Float64, is_elementwise=True)


def in_blocks(
    kernel: Callable[[pl.Series], pl.Series], groups: pl.Series, width: int = 1, rows: str = _CELLS
) -> pl.Series:
    """Apply `kernel` to blocks of groups, with few enough rows, and groups times `width` numbers, for small arrays."""
    column, size = groups.struct.field(rows), max(_BLOCK // width, 1)
    n_rows = np.cumsum(column.list.len().fill_null(0).to_numpy()) if column.dtype == pl.List else 0
    starts = np.flatnonzero(np.diff(np.arange(len(groups)) // size + n_rows // _ROWS_AT_ONCE, prepend=-1))
    blocks = pairwise([*starts.tolist(), len(groups)] if len(groups) else [0, 0])
    return pl.concat([kernel(groups.slice(start, stop - start)) for start, stop in blocks])


def in_order(values: pl.DataFrame, n_groups: int) -> pl.Series:
    """The `value` of each GROUP from 0 on; null for one that is not among the values."""
    groups = pl.int_range(n_groups, dtype=pl.get_index_type(), eager=True).alias(GROUP).to_frame()
    return groups.join(values, on=GROUP, how="left", maintain_order="left")["value"]
