"""What a row adds to the sums that a metric is made of, for its influence: the decision, a loss, or costs of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_ec.costs import CostMatrix
from polars_ec.reporting.models import Model
from polars_ec.reporting.squares import ONCE, TWICE
from polars_ec.reporting.sums import is_collected, summed_decisions
from polars_ec.rows.kernel import CELL, WEIGHT

if TYPE_CHECKING:
    import numpy as np

    from polars_ec.intervals.estimates import Clusters
    from polars_ec.intervals.spread import Moments

    Numbers: TypeAlias = np.ndarray[Any, np.dtype[Any]]
    Read: TypeAlias = Callable[[str], Numbers]
    """The sums of this name, (..., classes); of `DECISIONS` (..., classes, decisions)."""

DECISIONS, AGAINST = "decisions", "against"
"""Of many classes the sums of all decisions at once; and, before its number, those of a class against the rest, (..., 2, 2)."""


@dataclass(frozen=True, eq=False)
class Features(ABC):
    """Of the rows of a model, for metrics that are made of the same sums."""

    model: Model

    @property
    def weighted(self) -> bool:
        return self.model.rows.weight is not None

    @abstractmethod
    def linear(self, read: Read) -> Numbers:
        """Sums of w x, (..., classes, features)."""

    @abstractmethod
    def moments(self, read: Read) -> Moments:
        """The same, and sums of w^2 x x'."""

    def weight(self, linear: Numbers) -> Numbers:
        """Sums of w, of sums of w x."""
        return linear[..., 0]

    @abstractmethod
    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        """The columns of the table of sums, from sums of w x."""

    @property
    @abstractmethod
    def n_features(self) -> int:
        """How many features a row has."""

    @property
    def n_sums(self) -> int:
        """How many sums of w x a group has."""
        return self.model.rows.costs.n_classes * self.n_features

    def enlarged(self, moments: Moments) -> Moments:
        """With a row more in each class; losses are left as they are."""
        return moments

    @property
    def enlarging(self) -> Callable[[Moments], Moments] | None:
        """The same as a function; None for losses."""
        return self.enlarged if self.has_decisions else None

    def constant_costs(self, linear: Numbers) -> Numbers:
        """What each constant decision costs at the group's own prior, (..., constant decisions)."""
        raise NotImplementedError

    def undecided(self, moments: Moments, clusters: Clusters | None) -> tuple[Moments, Clusters | None]:
        """What constant decisions are made of: whatever rows are decided."""
        return moments, clusters

    @property
    def values(self) -> Sequence[str] | None:
        """The sums of what rows have beside being there; None for decisions, of which each has one."""
        return None

    @property
    def has_decisions(self) -> bool:
        """Whether a rate of 0 or 1 may be seen, which the limits do not believe in."""
        return True

    def listed(self, sums: Mapping[str, Numbers]) -> dict[str, pl.Series]:
        """The column of the cells of a group of many classes, from sums of each class, (groups, ...)."""
        arrays = [
            pl.Series(name, values.ravel()).reshape((len(values), values[0].size)) for name, values in sums.items()
        ]
        return {f"{self.model.prefix}cells": pl.DataFrame(arrays).to_struct()}

    def named(self, name: str, values: Numbers) -> dict[str, Numbers | pl.Series]:
        """The columns of a sum, (..., classes)."""
        return {f"{self.model.prefix}{name}_{i}": values[..., i] for i in range(values.shape[-1])}


class Counted(Features):
    """That there is a row."""

    @property
    def n_features(self) -> int:
        return 1

    def linear(self, read: Read) -> Numbers:
        return read("count")[..., None]

    def moments(self, read: Read) -> Moments:
        return _moments(self.linear(read), [], read, self.weighted)

    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        if is_collected(self.model):
            return self.listed({WEIGHT: linear[..., 0]})
        return self.named("count", linear[..., 0])


@dataclass(frozen=True, eq=False)
class Decided(Features):
    """Which decision a row has, for metrics of all classes together, or of one class each."""

    of_one_class: bool = False

    @property
    def n_features(self) -> int:
        return self.model.rows.costs.n_decisions

    def linear(self, read: Read) -> Numbers:
        return self._of_decisions(read, "")

    def moments(self, read: Read) -> Moments:
        from polars_ec.intervals.estimates import one_hot

        linear = self.linear(read)
        return one_hot(linear, self._of_decisions(read, TWICE) if self.weighted else linear)

    def _of_decisions(self, read: Read, suffix: str) -> Numbers:
        import numpy as np

        if is_collected(self.model):
            return read(f"{DECISIONS}{suffix}")
        summed = [read(f"decided_{j}{suffix}") for j in summed_decisions(self.model.rows)]
        if not self.weighted:
            summed.insert(0, read("count") - sum(summed))
        return np.stack(summed, axis=-1)

    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        if is_collected(self.model):
            return self.listed({CELL: linear})
        columns = self.named("count", linear.sum(axis=-1))
        for j in summed_decisions(self.model.rows):
            columns |= self.named(f"decided_{j}", linear[..., j])
        return columns

    def weight(self, linear: Numbers) -> Numbers:
        total: Numbers = linear.sum(axis=-1)
        return total

    def enlarged(self, moments: Moments) -> Moments:
        from polars_ec.intervals.estimates import with_half_an_error, with_one_row

        return with_half_an_error(moments) if self.of_one_class else with_one_row(moments)

    def constant_costs(self, linear: Numbers) -> Numbers:
        return _constant_costs(linear, self.model.rows.costs.values)

    def undecided(self, moments: Moments, clusters: Clusters | None) -> tuple[Moments, Clusters | None]:
        from polars_ec.intervals.estimates import Clusters, of_classes

        if clusters is not None:
            single = None if clusters.single is None else of_classes(clusters.single)
            weight = clusters.linear.sum(axis=-1, keepdims=True)
            clusters = Clusters(weight, clusters.weight, of_classes(moments).unit, single)
        return of_classes(moments), clusters


@dataclass(frozen=True, eq=False)
class AgainstRest(Decided):
    """Whether a row is of the rest or of a class, and decided for the rest or for the class."""

    k: int = field(kw_only=True)
    prefix: str = field(kw_only=True)
    """Of the columns of sums of this class."""

    @property
    def n_sums(self) -> int:
        return 4

    def _of_decisions(self, read: Read, suffix: str) -> Numbers:
        import numpy as np

        if is_collected(self.model):
            return read(f"{AGAINST}{self.k}{suffix}")
        cells = super()._of_decisions(read, suffix)
        is_k = [np.arange(n) == self.k for n in cells.shape[-2:]]
        sides = [np.stack([~mask, mask]).astype(float) for mask in is_k]
        return np.asarray(np.einsum("...ij,ai,bj->...ab", cells, *sides))

    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        columns: dict[str, Numbers | pl.Series]
        columns = {f"{self.prefix}count_{i}": linear[..., i, :].sum(axis=-1) for i in range(2)}
        return columns | {f"{self.prefix}{i}{j}": linear[..., i, j] for i in range(2) for j in range(2)}

    def constant_costs(self, linear: Numbers) -> Numbers:
        return _constant_costs(linear, CostMatrix.zero_one(2).values)


@dataclass(frozen=True, eq=False)
class Lost(Features):
    """The loss of a row, of this name."""

    loss: str

    @property
    def n_features(self) -> int:
        return 2

    @property
    def values(self) -> Sequence[str]:
        return [self.loss]

    @property
    def has_decisions(self) -> bool:
        return False

    def linear(self, read: Read) -> Numbers:
        import numpy as np

        return np.stack([read("count"), read(self.loss)], axis=-1)

    def moments(self, read: Read) -> Moments:
        return _moments(self.linear(read), [self.loss], read, self.weighted)

    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        if is_collected(self.model):
            return self.listed({WEIGHT: linear[..., 0], self.loss: linear[..., 1]})
        return self.named("count", linear[..., 0]) | self.named(self.loss, linear[..., 1])


class Costing(Features):
    """What an error would cost the row, and what it does."""

    @property
    def n_features(self) -> int:
        return 3

    @property
    def values(self) -> Sequence[str]:
        return ["class_cost", "error_cost"]

    def linear(self, read: Read) -> Numbers:
        import numpy as np

        return np.stack([read("count"), read("class_cost"), read("error_cost")], axis=-1)

    def moments(self, read: Read) -> Moments:
        return _moments(self.linear(read), ["class_cost", "error_cost"], read, self.weighted)

    def columns(self, linear: Numbers) -> Mapping[str, Numbers | pl.Series]:
        names = ("count", "class_cost", "error_cost")
        return {
            column: values
            for f, name in enumerate(names)
            for column, values in self.named(name, linear[..., f]).items()
        }

    def enlarged(self, moments: Moments) -> Moments:
        from polars_ec.intervals.estimates import with_one_cost

        return with_one_cost(moments)

    def constant_costs(self, linear: Numbers) -> Numbers:
        import numpy as np

        with np.errstate(all="ignore"):
            return np.asarray(linear[..., 1] / linear[..., 0].sum(axis=-1, keepdims=True))


def _constant_costs(cells: Numbers, costs: Sequence[Sequence[float]]) -> Numbers:
    import numpy as np

    with np.errstate(all="ignore"):
        shares = cells.sum(axis=-1) / cells.sum(axis=(-2, -1))[..., None]
    return np.asarray(shares @ np.asarray(costs))


def _moments(linear: Numbers, values: list[str], read: Read, weighted: bool) -> Moments:
    """Of the features 1 and these values of a row: of two of them the second is 0, or the first."""
    import numpy as np

    from polars_ec.intervals.spread import Moments

    n = len(values) + 1
    square = np.empty((*linear.shape, n))
    square[..., 0, 0] = read(f"count{TWICE}") if weighted else linear[..., 0]
    for f, name in enumerate(values, start=1):
        square[..., 0, f] = square[..., f, 0] = read(f"{name}{ONCE}") if weighted else linear[..., f]
        square[..., f, f] = read(f"{name}{TWICE}")
    for f in range(2, n):
        square[..., 1, f] = square[..., f, 1] = square[..., f, f]
    return Moments(linear, square, np.eye(n)[0])
