"""The cells of a joint pass as arrays: sums of groups, and of buckets, for each model alone and for two of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.joint_pass import (
    BUCKET,
    JOINT,
    ROWS,
    UNLIKE,
    WEIGHT,
    WEIGHT2,
    Pair,
    numbers_of,
    of_gap,
    product,
    with_weight,
)
from polars_ec.comparing.values import Family
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.estimates import Clusters, one_hot
from polars_ec.intervals.spread import Moments, effective_rows, has_rows
from polars_ec.reporting.models import Model
from polars_ec.rows.kernel import DECISION

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Shape:
    """How many groups, classes and decisions there are; and buckets, if rows are in clusters."""

    groups: int
    classes: int
    decisions: int
    buckets: int | None


class JointCells:
    """Cells, with the number of their group, of rows that lack nothing."""

    def __init__(self, cells: pl.DataFrame, shape: Shape) -> None:
        self._table = cells.filter(pl.col(JOINT) >= 0)
        self.shape = shape

    def column(self, name: str) -> Floats:
        """A sum of each cell."""
        return self._table[name].cast(pl.Float64).fill_null(0.0).to_numpy()

    def _number(self, name: str) -> Floats:
        both = of_gap(name)
        return self.column(name) if both is None else self.column(both[0]) - self.column(both[1])

    @cached_property
    def group(self) -> Integers:
        """The number of each cell's group."""
        return self._codes(GROUP)

    @cached_property
    def bucket(self) -> Integers:
        """The bucket of each cell; -1 for rows without a key."""
        return self._table[BUCKET].cast(pl.Int64).fill_null(-1).to_numpy()

    @cached_property
    def weight(self) -> Floats:
        """Rows, or their weight."""
        return self.column(WEIGHT if WEIGHT in self._table.columns else ROWS)

    @cached_property
    def weight2(self) -> Floats:
        """Rows, or the squares of their weights."""
        return self.column(WEIGHT2 if WEIGHT in self._table.columns else ROWS)

    @cached_property
    def without_key(self) -> Bools | None:
        """Cells whose rows are clusters of their own: those without a key, or all where there are no clusters. None for none."""
        if self.shape.buckets is None:
            return np.ones(len(self.weight), dtype=bool)
        alone = self.bucket < 0
        return alone if alone.any() else None

    @cached_property
    def weight_by_bucket(self) -> Floats:
        """(groups, buckets, classes)."""
        return self._by_bucket(self.weight, (self._class,), (self.shape.classes,))

    @cached_property
    def counts(self) -> Floats:
        """Rows, or their weight, (groups, classes)."""
        return self._by_class(self.weight, (), (), np.ones(len(self.weight), dtype=bool))

    @cached_property
    def counts2(self) -> Floats:
        """The same of rows, or the squares of their weights."""
        return self._by_class(self.weight2, (), (), np.ones(len(self.weight), dtype=bool))

    def known(self, family: Family) -> Bools:
        """Groups that have rows of every class; of losses, more than one."""
        return has_rows(effective_rows(self.counts, self.counts2), several=not family.decides)

    def is_reference(self, model: Model) -> bool:
        """Whether a model has the scores of its reference in all rows: those of a group may be the same by chance."""
        return not self.column(f"{model.prefix}{UNLIKE}").any()

    def decisions_of(self, model: Model) -> Integers:
        """The decision of each cell; any for rows that have none, which make values null."""
        return np.clip(self._codes(f"{model.prefix}{DECISION}"), 0, self.shape.decisions - 1)

    def linear(self, model: Model, family: Family) -> Floats:
        """Sums of w x of a model's rows, (groups, classes, features)."""
        return self._linear(model, family, by_bucket=False)

    def linear_by_bucket(self, model: Model, family: Family) -> Floats:
        """The same of each bucket, (groups, buckets, classes, features)."""
        return self._linear(model, family, by_bucket=True)

    def moments(self, model: Model, family: Family, alone: Bools) -> Moments:
        """Those of one model's rows in these cells."""
        if family.decides:
            decided, number = self.decisions_of(model), self.shape.decisions
            return one_hot(*(self._by_class(w, (decided,), (number,), alone) for w in (self.weight, self.weight2)))
        return self.moments_of_numbers(numbers_of((model, None), family.numbers), alone)

    def moments_of_numbers(self, names: Sequence[str], alone: Bools) -> Moments:
        """Those of 1 and numbers of a row, (groups, classes, features)."""
        weighted = WEIGHT in self._table.columns
        shape = (self.shape.groups, self.shape.classes, len(names) + 1)
        linear, square = np.empty(shape), np.empty((*shape, shape[-1]))
        linear[..., 0], square[..., 0, 0] = (self._by_class(w, (), (), alone) for w in (self.weight, self.weight2))
        for i, x in enumerate(names):
            linear[..., i + 1] = self._by_class(self._number(x), (), (), alone)
            with_one = self.column(with_weight(x)) if weighted else self._number(x)
            square[..., 0, i + 1] = square[..., i + 1, 0] = self._by_class(with_one, (), (), alone)
            for j, y in enumerate(names[i:], start=i):
                both = self._by_class(self.column(product(x, y)), (), (), alone)
                square[..., i + 1, j + 1] = square[..., j + 1, i + 1] = both
        return Moments(linear, square, np.eye(shape[-1])[0])

    def joint_decisions(self, pair: Pair, alone: Bools) -> tuple[Floats, Floats]:
        """Sums of w and of w^2 by class and both decisions, (groups, classes, M x M): the model's times M plus the reference's."""
        model, reference = pair
        assert reference is not None
        number = self.shape.decisions
        both = self.decisions_of(model) * number + self.decisions_of(reference)
        w, w2 = (self._by_class(weight, (both,), (number**2,), alone) for weight in (self.weight, self.weight2))
        return w, w2

    def clusters(self, model: Model, family: Family) -> Clusters:
        """The buckets of one model, and its rows without a key."""
        single = None if self.without_key is None else self.moments(model, family, self.without_key)
        unit = np.ones(self.shape.decisions) if family.decides else np.eye(len(family.numbers) + 1)[0]
        return Clusters(self.linear_by_bucket(model, family), self.weight_by_bucket.sum(axis=-1), unit, single)

    def _linear(self, model: Model, family: Family, *, by_bucket: bool) -> Floats:
        summed = self._by_bucket if by_bucket else self._by_class_of_all
        if family.decides:
            number = self.shape.decisions
            return summed(self.weight, (self._class, self.decisions_of(model)), (self.shape.classes, number))
        columns = [self.weight, *(self.column(f"{model.prefix}{name}") for name in family.numbers)]
        return np.stack([summed(c, (self._class,), (self.shape.classes,)) for c in columns], axis=-1)

    @cached_property
    def _class(self) -> Integers:
        return self._codes(JOINT)

    def _codes(self, name: str) -> Integers:
        return self._table[name].cast(pl.Int64).fill_null(0).to_numpy()

    def _by_class(self, values: Floats, codes: Sequence[Integers], sizes: Sequence[int], cells: Bools) -> Floats:
        summed = [self.group, self._class, *codes]
        shape = (self.shape.groups, self.shape.classes, *sizes)
        return _summed(values[cells], [code[cells] for code in summed], shape)

    def _by_class_of_all(self, values: Floats, codes: Sequence[Integers], sizes: Sequence[int]) -> Floats:
        return _summed(values, [self.group, *codes], (self.shape.groups, *sizes))

    def _by_bucket(self, values: Floats, codes: Sequence[Integers], sizes: Sequence[int]) -> Floats:
        assert self.shape.buckets is not None
        keyed = self.bucket >= 0
        summed = [code[keyed] for code in (self.group, self.bucket, *codes)]
        return _summed(values[keyed], summed, (self.shape.groups, self.shape.buckets, *sizes))


def _summed(values: Floats, codes: Sequence[Integers], shape: tuple[int, ...]) -> Floats:
    flat = np.ravel_multi_index(tuple(codes), shape) if len(values) else np.empty(0, dtype=np.int64)
    summed = np.bincount(flat, values, minlength=int(np.prod(shape)))
    return np.asarray(summed, dtype=np.float64).reshape(shape)
