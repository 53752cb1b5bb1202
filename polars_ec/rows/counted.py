"""Rows of some groups that were collected, counted by NumPy: what formulas of many classes ask for, groups x classes."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_ec.formulas.sums import GROUP
from polars_ec.formulas.table_sums import Part
from polars_ec.rows.kernel import CELL, CELL_BITS, CLASS, DECISION, TOP, WEIGHT

if TYPE_CHECKING:
    import numpy as np

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_DENSE = 2**22
"""Cells that are counted in a table of all of them, also where few are found."""


class Counted:
    """Groups x classes of each part; NaN for null."""

    def __init__(
        self,
        cells: pl.Series,
        n_classes: int,
        n_decisions: int,
        literal: tuple[float, ...] | None,
        of_groups: Numbers | None,
    ) -> None:
        import numpy as np

        self.n_groups, self.n_classes, self.n_decisions = len(cells), n_classes, n_decisions
        lengths = cells.list.len().fill_null(0).to_numpy()
        # By default a list without rows gives a row of null, or, where the engine collected it, none.
        rows = _unpacked(cells.explode(empty_as_null=False, keep_nulls=False))
        group = np.repeat(np.arange(self.n_groups), lengths)
        index = rows[CLASS].fill_null(-2).to_numpy()
        self.wrong = np.zeros(self.n_groups, dtype=bool)
        self.wrong[group[index == -1]] = True
        used = index >= 0
        if not used.all():
            rows, group, index = rows.filter(pl.Series(used)), group[used], index[used]
        self._rows, self._group, self._index = rows, group, index.astype(np.int64)
        self._weight = rows[WEIGHT].to_numpy() if WEIGHT in rows.columns else None
        self._weigh(self._by_class(group, self._index, self._weight), literal, of_groups)

    def _weigh(self, count: Numbers, literal: tuple[float, ...] | None, of_groups: Numbers | None) -> None:
        import numpy as np

        self.count = count
        self.size: Numbers = count.sum(axis=1)
        self.is_stated = literal is not None or of_groups is not None
        self._stated = of_groups if literal is None else np.array(literal)[None, :]
        self.known = np.ones(self.n_groups, dtype=bool)
        if of_groups is not None:
            # Counts of a group without rows are 0, and so they are without a prior.
            self.known = ~np.isnan(of_groups).any(axis=1) | (self.size == 0)

    def of(self, part: Part) -> Numbers:
        """Groups x classes, or x 1."""
        made: Numbers = getattr(self, f"_{part.name}")(part)
        return made.reshape(self.n_groups, part.width(self.n_classes))

    def _by_class(self, group: Numbers, index: Numbers, amount: Numbers | None) -> Numbers:
        import numpy as np

        code = group * self.n_classes + index
        counted = np.bincount(code, amount, minlength=self.n_groups * self.n_classes)
        return np.asarray(counted.reshape(self.n_groups, self.n_classes), dtype=float)

    # The cells of the confusion matrices that have rows.

    @cached_property
    def _sparse(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        import numpy as np

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
        return *np.divmod(of_class, self.n_classes), of_decision, amounts.astype(float)

    @property
    def group(self) -> Numbers:
        return self._sparse[0]

    @property
    def index(self) -> Numbers:
        return self._sparse[1]

    @property
    def decision(self) -> Numbers:
        return self._sparse[2]

    @property
    def amount(self) -> Numbers:
        return self._sparse[3]

    # The parts.

    def _right(self, _: Part) -> Numbers:
        import numpy as np

        return np.asarray(~self.wrong & np.isfinite(self.size) & self.known, dtype=float)

    def _size(self, _: Part) -> Numbers:
        return self.size

    def _count(self, _: Part) -> Numbers:
        return self.count

    @cached_property
    def _own_prior(self) -> Numbers:
        shares: Numbers = self.count / self.size[:, None]
        return shares

    def _share(self, _: Part) -> Numbers:
        return self._own_prior

    @cached_property
    def prior(self) -> Numbers:
        import numpy as np

        if self._stated is None:
            return self._own_prior
        return np.broadcast_to(self._stated, (self.n_groups, self.n_classes))

    def _prior(self, _: Part) -> Numbers:
        return self.prior

    def _total(self, part: Part) -> Numbers:
        assert part.loss is not None
        return self._by_class(self._group, self._index, self._rows[part.loss].to_numpy())

    def _hits(self, _: Part) -> Numbers:
        return self._of_cells(self.decision == self.index)

    def _misses(self, _: Part) -> Numbers:
        return self._of_cells(self.decision != self.index)

    def _decided(self, part: Part) -> Numbers:
        return self._of_cells(self.decision == part.decision)

    def _of_cells(self, mask: Numbers) -> Numbers:
        return self._by_class(self.group[mask], self.index[mask], self.amount[mask])

    def _mean_cost(self, part: Part) -> Numbers:
        import numpy as np

        # Rates before costs: a count times a cost may be more than a float holds.
        rate = self.amount / self.count[self.group, self.index]
        cost = self._by_class(self.group, self.index, rate * np.asarray(part.costs)[self.index, self.decision])
        return np.where(self.count == 0, np.nan, cost)

    def _constant_cost(self, part: Part) -> Numbers:
        import numpy as np

        cheapest: Numbers = (self.prior @ np.asarray(part.costs)).min(axis=1)
        return cheapest

    @cached_property
    def _cell_weight(self) -> Numbers:
        """What a row of each cell weighs: P_i / N_i, and 1 where every row weighs the same."""
        import numpy as np

        if not self.is_stated:
            return np.ones_like(self.amount)
        prior = self.prior[self.group, self.index]
        return np.where(prior == 0, 0.0, prior / self.count[self.group, self.index])

    # Bins of the posterior of the decision.

    def _row_weight(self) -> Numbers:
        """What a row weighs in an expectation at the priors in use; NaN where there is no such expectation."""
        import numpy as np

        weight = np.ones(len(self._index)) if self._weight is None else self._weight
        if not self.is_stated:
            return np.asarray(weight / self.size[self._group])
        prior = self.prior[self._group, self._index]
        lacking = ((self.prior != 0) & (self.count == 0) | np.isnan(self.prior)).any(axis=1)[self._group]
        per_row = np.where(prior == 0, 0.0, prior / self.count[self._group, self._index])
        return np.asarray(np.where(lacking, np.nan, weight * per_row))

    def rows(self) -> pl.DataFrame:
        """GROUP, `posterior`, whether it `holds`, and `mass`, of the rows of groups that have a value."""
        import numpy as np

        right = self._right(Part("right")) == 1
        # The weights by class matter only where classes are weighed anew: without, whole numbers stay whole.
        mass = self._row_weight()
        right[self._group[np.isnan(mass)]] = False
        if not self.is_stated:
            mass = np.ones(len(self._index)) if self._weight is None else self._weight
        columns = {GROUP: pl.Series(self._group, dtype=pl.get_index_type()), "posterior": self._rows[TOP]}
        holds = self._rows[DECISION].to_numpy() == self._index
        return pl.DataFrame({**columns, "holds": holds, "mass": mass}).filter(pl.Series(right[self._group]))

    def _in_bins(self, part: Part, values: Numbers) -> Numbers:
        import numpy as np

        assert part.bins is not None
        edges = np.arange(1, part.bins) / part.bins
        # The bins are closed on the right.
        of_row = np.searchsorted(edges, self._rows[TOP].to_numpy(), side="left")
        table = np.bincount(self._group * part.bins + of_row, values, minlength=self.n_groups * part.bins)
        empty = (self.size == 0)[:, None]
        return np.asarray(np.where(empty, np.nan, table.reshape(self.n_groups, part.bins)))

    def _bin_share(self, part: Part) -> Numbers:
        return self._in_bins(part, self._row_weight())

    def _gap(self, part: Part) -> Numbers:
        holds = self._rows[DECISION].to_numpy() == self._index
        return self._in_bins(part, self._row_weight() * (self._rows[TOP].to_numpy() - holds))

    def _of_others(self, sums: Numbers) -> Numbers:
        """Probabilities of other classes; null where another class with prior above 0 has no rows."""
        import numpy as np

        if not self.is_stated:
            return np.asarray(sums / self.size[:, None])
        lacking = (self.prior != 0) & (self.count == 0)
        others = lacking.sum(axis=1, keepdims=True) - lacking
        return np.where((others > 0) | np.isnan(self.prior).any(axis=1, keepdims=True), np.nan, sums)

    def _alarms(self, _: Part) -> Numbers:
        return self._of_others(self._sum_alarms())

    def _sum_alarms(self) -> Numbers:
        mask = (self.decision != self.index) & (self.decision < self.n_classes)
        amount = self.amount * self._cell_weight
        return self._by_class(self.group[mask], self.decision[mask], amount[mask])

    def _rejections(self, _: Part) -> Numbers:
        return self._of_others(self._sum_rejections())

    def _sum_rejections(self) -> Numbers:
        import numpy as np

        if self._weight is None and not self.is_stated:
            # Of whole numbers what is left of all is exact.
            of_class = self._of_cells(self.decision == self.index) - self.count
            return np.asarray(self.size[:, None] + of_class - self._decided_for())
        amount = self.amount * self._cell_weight
        sums = np.zeros((self.n_groups, self.n_classes))
        for k in range(self.n_classes):
            # Not what is left of a whole, for a difference of floats would lose digits.
            mask = (self.index != k) & (self.decision != k)
            sums[:, k] = np.bincount(self.group[mask], amount[mask], minlength=self.n_groups)
        return sums

    def _decided_for(self) -> Numbers:
        mask = self.decision < self.n_classes
        return self._by_class(self.group[mask], self.decision[mask], self.amount[mask])

    def against_rest(self) -> Numbers:
        """Groups x classes x 6: the amount of the rest and of the class, and of each what is decided for the rest and for the class.

        Masses at the prior that is stated, else counts.
        """
        import numpy as np

        hits, misses = (self._of_cells(mask) for mask in (self.decision == self.index, self.decision != self.index))
        alarms, rejections, of_class = self._sum_alarms(), self._sum_rejections(), self.count
        if self.is_stated:
            of_class = self.prior
            hits, misses = (np.where(of_class == 0, 0.0, of_class * (cell / self.count)) for cell in (hits, misses))
            alarms, rejections = self._of_others(alarms), self._of_others(rejections)
        return np.stack([_of_rest(of_class), of_class, rejections, alarms, misses, hits], axis=2)

    def _rest(self, _: Part) -> Numbers:
        import numpy as np

        mass = np.where(self.count == 0, 0.0, self.prior) if self.is_stated else self.count
        return self._of_others(_of_rest(mass))


class CountedBefore(Counted):
    """The same of a struct of Arrays that hold sums already: of each class and decision, or of each class and its losses."""

    def __init__(
        self,
        sums: pl.Series,
        n_classes: int,
        n_decisions: int,
        literal: tuple[float, ...] | None,
        of_groups: Numbers | None,
    ) -> None:
        import numpy as np

        self.n_groups, self.n_classes, self.n_decisions = len(sums), n_classes, n_decisions
        self._sums = {
            column.name: column.reshape((-1,)).to_numpy().reshape(len(sums), n_classes, -1)
            for column in sums.struct.unnest()
        }
        self._weight = None
        self.wrong = np.zeros(self.n_groups, dtype=bool)
        first = next(iter(self._sums.values()))
        self._weigh(first.sum(axis=2), literal, of_groups)

    @cached_property
    def _sparse(self) -> tuple[Numbers, Numbers, Numbers, Numbers]:
        import numpy as np

        amounts = self._sums[CELL]
        return *(place.ravel() for place in np.indices(amounts.shape)), amounts.ravel()

    def _total(self, part: Part) -> Numbers:
        assert part.loss is not None
        return self._sums[part.loss]


def _unpacked(cells: pl.Series) -> pl.DataFrame:
    """The columns of structs, of classes, or of classes and decisions in one integer."""
    if isinstance(cells.dtype, pl.Struct):
        return cells.struct.unnest()
    if cells.dtype != pl.Int64:
        return cells.alias(CLASS).to_frame()
    numbers = cells.fill_null(-2 << CELL_BITS).to_numpy()
    return pl.DataFrame({CLASS: numbers >> CELL_BITS, DECISION: numbers & (1 << CELL_BITS) - 1})


def _of_rest(mass: Numbers) -> Numbers:
    """The sum over the other classes, without a difference of floats."""
    import numpy as np

    none = np.zeros((len(mass), 1))
    before = np.cumsum(np.hstack([none, mass[:, :-1]]), axis=1)
    after = np.cumsum(np.hstack([none, mass[:, :0:-1]]), axis=1)[:, ::-1]
    return np.asarray(before + after)
