"""How many rows the groups of a comparison have, and what they are compared with: where these are few, limits mean little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.choice import Reference
from polars_ec.comparing.sides import exclusive
from polars_ec.intervals.arguments import FEW_OF_A_CLASS
from polars_ec.intervals.spread import effective_rows
from polars_ec.reporting.models import Model

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True)
class Sizes:
    """Of the groups of a model: the rows that are used, those that lack something, and the sums of w and of w^2, (groups, classes)."""

    n: pl.Series
    n_missing: pl.Series
    weight: Floats
    weight2: Floats

    @classmethod
    def of(cls, model: Model, groups: pl.DataFrame, weight: Floats, weight2: Floats) -> Sizes:
        """Those of a model, of which `groups` have the numbers of rows."""
        rows, present, invalid = (groups[f"{model.prefix}{name}"] for name in ("rows", "present", "invalid"))
        return cls(present - invalid, rows - present, weight, weight2)

    @classmethod
    def joined(cls, some: Sequence[Sizes]) -> Sizes:
        """Those of groups that follow each other."""
        return cls(
            pl.concat([of.n for of in some]),
            pl.concat([of.n_missing for of in some]),
            np.concatenate([of.weight for of in some]),
            np.concatenate([of.weight2 for of in some]),
        )

    def n_of(self, groups: Integers) -> pl.Series:
        """The rows of the groups of these numbers; null for -1."""
        number = pl.Series(groups)
        return self.n.gather(number.clip(0)).zip_with(number >= 0, pl.Series([None], dtype=self.n.dtype))

    def small(self, reference: Reference, groups: Integers | None, min_rows: int | None) -> Bools:
        """Groups of fewer rows than `min_rows`; and those that have few of a class, or whose reference has.

        `groups` are the numbers of the groups that are compared with, where it is with one; -1 for none.
        """
        few = _few(self.weight, self.weight2)
        small = few | (self.n.to_numpy() < (min_rows or 0))
        if reference.others == "rest":
            small |= _few(exclusive(self.weight), exclusive(self.weight2))
        elif reference.others == "total":
            small |= _few(*(of.sum(axis=0, keepdims=True) for of in (self.weight, self.weight2)))
        elif groups is not None:
            small |= np.where(groups >= 0, few[np.maximum(groups, 0)], False)
        return small


def _few(weight: Floats, weight2: Floats) -> Bools:
    """Whether a class has few rows of equal weight that say as much."""
    return ~np.asarray(effective_rows(weight, weight2).min(axis=-1) >= FEW_OF_A_CLASS)
