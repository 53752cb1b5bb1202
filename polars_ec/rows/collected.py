"""Sums of a group of many classes: the rows' classes, decisions and losses collected, and counted by NumPy.

A mask for each class and decision would be a plan without end. What is collected is narrow, a few numbers a row, and streams;
from there all groups are summed together, class by class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_ec.formulas.table_sums import Part, TableSums
from polars_ec.rows.counted import Counted, CountedBefore
from polars_ec.rows.groups import in_order
from polars_ec.rows.kernel import CLASS, DECISION, TOP, shares_of

if TYPE_CHECKING:
    import numpy as np

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]

_CELLS, _PRIOR, _KNOWN = "cells", "prior", "known"

# How many numbers say how a class does against the rest.
_AGAINST_REST = 6

# Numbers of a table that are made at a time.
_BLOCK = 2**22


@dataclass(frozen=True)
class GroupPrior:
    """The prior of a group that a column states: one vector; and whether all rows have it."""

    vector: pl.Expr
    known: pl.Expr

    @classmethod
    def of_rows(cls, prior: pl.Expr) -> GroupPrior:
        """That of the rows of a group."""
        return cls(prior.first(), (prior.n_unique() == 1) & (prior.null_count() == 0))


def collect(cells: pl.Expr) -> pl.Expr:
    """The rows of a group, as a list."""
    # The order does not matter to a sum, and only without it the engine streams.
    return cells.implode(maintain_order=False)


class CollectedSums(TableSums):
    """Sums over the lists that `cells` gives of a group, of what is asked for, as `Counted` reads them: rows of the log, or counts of them."""

    def __init__(
        self,
        n_classes: int,
        n_decisions: int,
        cells: Callable[[Sequence[str]], pl.Expr],
        prior: tuple[float, ...] | GroupPrior | None,
    ) -> None:
        super().__init__(n_decisions, n_classes)
        self._cells, self._of_group = cells, prior

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
        return self.made(pl.when(self.part(Part("right", one=True)) == 1).then(value))

    def table(self) -> pl.Expr:
        parts = tuple(part for part, _ in self.parts)
        kernel = _Parts(parts, self.n_classes, self.n_decisions, self._literal)
        return self._summed(kernel, parts, pl.Array(pl.Float64, kernel.width))

    def collected(self, asked: Sequence[str], kernel: Callable[[pl.Series], pl.Series], dtype: pl.DataType) -> pl.Expr:
        """What `kernel` makes of the groups: of a struct of `cells`, and, where a column states them, priors."""
        columns: dict[str, pl.Expr] = {_CELLS: self._cells(asked)}
        if isinstance(self._of_group, GroupPrior):
            columns |= {_PRIOR: self._of_group.vector, _KNOWN: self._of_group.known}
        packed = pl.struct([column.alias(name) for name, column in columns.items()])
        return packed.map_batches(kernel, return_dtype=dtype, is_elementwise=True)

    def guarded_by_group(self, values: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.Expr:
        """GROUP and `value` of the rows of all groups: GROUP, `posterior`, whether it `holds`, and `mass`; null where it cannot be had."""
        parts = _Parts((), self.n_classes, self.n_decisions, self._literal)

        def made(groups: pl.Series) -> pl.Series:
            return in_order(values(parts.sums(groups).rows()), len(groups))

        return self.collected([CLASS, DECISION, TOP], made, pl.Float64())

    def confusion(self, dtype: type[pl.DataType]) -> pl.Expr:
        """N_ij as a two-dimensional Array; null where it cannot be had of the group."""
        parts = (Part("right", one=True), Part("cells"))
        kernel = _Confusion(parts, self.n_classes, self.n_decisions, self._literal, dtype)
        return self._summed(kernel, parts, pl.Array(pl.Array(dtype, self.n_decisions), self.n_classes))

    def against_rest(self) -> pl.Expr:
        """Of each class against the rest the six numbers of `Counted.against_rest`, as a two-dimensional Array."""
        parts = (Part("cells"),)
        kernel = _AgainstRest(parts, self.n_classes, self.n_decisions, self._literal)
        return self._summed(kernel, parts, pl.Array(pl.Array(pl.Float64, _AGAINST_REST), self.n_classes))

    @property
    def _literal(self) -> tuple[float, ...] | None:
        return None if isinstance(self._of_group, GroupPrior) else self._of_group

    def _summed(self, kernel: _Parts, parts: Sequence[Part], dtype: pl.DataType) -> pl.Expr:
        decided = any(part.name in _OF_DECISIONS for part in parts)
        more = [part.loss for part in parts if part.loss is not None]
        more += [TOP] if any(part.bins for part in parts) else []
        return self.collected([CLASS, *([DECISION] if decided else []), *more], kernel, dtype)


_OF_DECISIONS = ("hits", "misses", "decided", "mean_cost", "alarms", "rejections", "cells", "gap")


@dataclass(frozen=True, eq=False)
class _Parts:
    """The Arrays of parts of some groups."""

    parts: tuple[Part, ...]
    n_classes: int
    n_decisions: int
    prior: tuple[float, ...] | None

    @property
    def width(self) -> int:
        """How many numbers the Array of a group has."""
        return sum(part.width(self.n_classes) for part in self.parts)

    def __call__(self, groups: pl.Series) -> pl.Series:
        size = max(_BLOCK // self._largest, 1)
        made = [self.of_groups(groups.slice(at, size)) for at in range(0, max(len(groups), 1), size)]
        return pl.concat(made)

    @property
    def _largest(self) -> int:
        return max(self.width, self.n_classes)

    def of_groups(self, groups: pl.Series) -> pl.Series:
        import numpy as np

        if not len(groups):
            return pl.Series([], dtype=pl.Array(pl.Float64, self.width))
        with np.errstate(all="ignore"):
            sums = self.sums(groups)
            table = np.hstack([sums.of(part) for part in self.parts])
        return pl.Series(table.ravel(), nan_to_null=True).reshape((len(groups), self.width))

    def sums(self, groups: pl.Series) -> Counted:
        """Those of the groups."""
        columns = {column.name: column for column in groups.struct.unnest()}
        prior = None
        if _PRIOR in columns:
            prior = shares_of(columns[_PRIOR], self.n_classes)
            prior = _with_nan(prior, ~columns[_KNOWN].fill_null(False).to_numpy())
        cells = columns[_CELLS]
        kind = CountedBefore if isinstance(cells.dtype, pl.Struct) else Counted
        return kind(cells, self.n_classes, self.n_decisions, self.prior, prior)


def _with_nan(values: Numbers, rows: Numbers) -> Numbers:
    import numpy as np

    return np.where(rows[:, None], np.nan, values)


@dataclass(frozen=True, eq=False)
class _Confusion(_Parts):
    """Confusion matrices of some groups."""

    dtype: type[pl.DataType]

    @property
    def _largest(self) -> int:
        return self.n_classes * self.n_decisions

    def of_groups(self, groups: pl.Series) -> pl.Series:
        import numpy as np

        shape = (len(groups), self.n_classes, self.n_decisions)
        matrix = pl.Array(pl.Array(self.dtype, self.n_decisions), self.n_classes)
        if not len(groups):
            return pl.Series([], dtype=matrix)
        sums = self.sums(groups)
        table = np.zeros(shape)
        table[sums.group, sums.index, sums.decision] = sums.amount
        right = pl.Series(sums.of(Part("right", one=True))[:, 0] == 1)
        return pl.select(pl.when(right).then(pl.Series(table.ravel()).cast(self.dtype).reshape(shape))).to_series()


@dataclass(frozen=True, eq=False)
class _AgainstRest(_Parts):
    """What the classes of some groups have against the rest."""

    @property
    def _largest(self) -> int:
        return self.n_classes * _AGAINST_REST

    def of_groups(self, groups: pl.Series) -> pl.Series:
        import numpy as np

        shape = (len(groups), self.n_classes, _AGAINST_REST)
        if not len(groups):
            return pl.Series([], dtype=pl.Array(pl.Array(pl.Float64, _AGAINST_REST), self.n_classes))
        with np.errstate(all="ignore"):
            table = self.sums(groups).against_rest()
        return pl.Series(table.ravel(), nan_to_null=True).reshape(shape)
