"""The metrics of a report as functions of arrays of sums: its formulas, on as many tables of sums as one likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.joint_pass import COSTS
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.moved_by_prior import AT_PRIOR
from polars_ec.intervals.estimates import slopes_of
from polars_ec.intervals.spread import Moments
from polars_ec.priors import EMPIRICAL
from polars_ec.reporting.estimated import BY_COST
from polars_ec.reporting.features import Costing, Counted, Decided, Features, Lost
from polars_ec.reporting.models import Model
from polars_ec.reporting.sums import is_collected, with_priors
from polars_ec.reporting.tables import Layout, group_columns

Floats: TypeAlias = NDArray[np.float64]

# Tables of sums that are evaluated at a time, in numbers.
_BLOCK = 2**22


@dataclass(frozen=True)
class Family:
    """Metrics that are made of the same numbers of a row: which decision it has; or 1 and others, such as its loss."""

    names: tuple[str, ...]
    numbers: tuple[str, ...]

    @property
    def decides(self) -> bool:
        """Whether it is the decisions."""
        return not self.numbers


def families(names: Sequence[str], costs_by_row: bool) -> list[Family]:
    """The metrics, by what they are made of."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        numbers: tuple[str, ...] = COSTS if costs_by_row and name in BY_COST else ()
        numbers = (SCORING_RULES[name].loss,) if name in SCORING_RULES else numbers
        found.setdefault(numbers, []).append(name)
    return [Family(tuple(of_family), numbers) for numbers, of_family in found.items()]


def with_references(model: Model, layout: Layout, counts: Floats, groups: pl.DataFrame) -> pl.DataFrame:
    """The table of groups with the stated prior of each, where it follows from all groups: from the classes' counts, (groups, classes)."""
    if not layout.options.prior.overall or model.rows.row_prior is not None:
        return groups
    table = _with_sums(groups, Counted(model), counts[..., None]).lazy()
    prefixed = f"^{model.prefix}reference.*$"
    return groups.hstack(with_priors(table, [model], layout.options, total=False).select(pl.col(prefixed)).collect())


def _with_sums(groups: pl.DataFrame, features: Features, sums: Floats) -> pl.DataFrame:
    """The table of groups, and of each the sums as the report has them."""
    columns = {name: pl.Series(values) for name, values in features.columns(sums).items()}
    if is_collected(features.model):
        columns[f"{features.model.prefix}size"] = pl.Series(features.weight(sums).sum(axis=-1))
    return groups.with_columns(**columns)


@dataclass(frozen=True)
class Metrics:
    """The metrics of a family, of one model: each at the group's own prior and, where one is stated that moves it, at that."""

    model: Model
    family: Family
    layout: Layout

    @cached_property
    def columns(self) -> dict[str, str]:
        """The columns that the metrics become, and the metric of each."""
        return {column: column.removesuffix(AT_PRIOR) for column in self._values}

    @property
    def enlarged(self) -> Callable[[Moments], Moments] | None:
        """Sums with a little more of each decision in each class; None for losses."""
        return self._features.enlarging

    @cached_property
    def _values(self) -> dict[str, pl.Expr]:
        """Of the columns of a report those that the metrics become, on its table of sums."""
        made = group_columns(self.model, self.family.names, self.layout)
        return {column: value for column, value in made.items() if column.removesuffix(AT_PRIOR) in self.family.names}

    @cached_property
    def _features(self) -> Features:
        if self.family.decides:
            return Decided(self.model)
        return Costing(self.model) if self.family.numbers == COSTS else Lost(self.model, *self.family.numbers)

    def of(self, sums: Floats, groups: pl.DataFrame) -> Floats:
        """(variants, groups, columns), NaN for null, of sums of w x, (variants, groups, classes, features).

        `groups` says of each group how many rows are wrong, and its stated prior.
        """
        n_variants, n_groups = sums.shape[:2]
        if not n_groups:
            return np.empty((n_variants, 0, len(self.columns)))
        flat = sums.reshape(n_variants * n_groups, *sums.shape[2:])
        at_once = max(_BLOCK // flat[0].size // n_groups, 1) * n_groups
        pieces = [self._evaluated(flat[at : at + at_once], groups) for at in range(0, len(flat), at_once)]
        return np.concatenate(pieces).reshape(n_variants, n_groups, -1)

    def at(self, sums: Floats, groups: pl.DataFrame) -> tuple[Floats, Floats]:
        """The values, (groups, columns), and their derivatives, (groups, classes, features, columns)."""
        return self.of(sums[None], groups)[0], slopes_of(lambda moved: self.of(moved, groups), sums)

    def _evaluated(self, sums: Floats, groups: pl.DataFrame) -> Floats:
        repeated = groups if len(sums) == groups.height else pl.concat([groups] * (len(sums) // groups.height))
        # A stated prior is known, so that only the groups' own are made of the sums.
        own = replace(self.layout.options, prior=EMPIRICAL)
        table = with_priors(_with_sums(repeated, self._features, sums).lazy(), [self.model], own, total=False)
        values = table.select(**self._values).collect()
        return values.select(pl.all().cast(pl.Float64).fill_null(np.nan)).to_numpy()
