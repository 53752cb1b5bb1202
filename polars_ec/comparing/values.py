"""The metrics of a report as functions of arrays of sums: its formulas, on as many tables of sums as one likes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.comparing.joint_pass import COSTS
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.intervals.estimates import slopes_of, with_one_cost, with_one_row
from polars_ec.intervals.spread import Moments
from polars_ec.priors import EMPIRICAL
from polars_ec.reporting.estimated import BY_COST
from polars_ec.reporting.models import Model
from polars_ec.reporting.sums import is_collected, with_priors
from polars_ec.reporting.tables import Layout, group_columns
from polars_ec.rows.kernel import CLASS, DECISION, WEIGHT

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

    @property
    def enlarged(self) -> Callable[[Moments], Moments] | None:
        """Sums with a little more of each decision in each class; None for losses."""
        if self.decides:
            return with_one_row
        return with_one_cost if self.numbers == COSTS else None


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
    table = Metrics(model, Family((), ()), layout).with_sums(groups, counts[:, :, None]).lazy()
    prefixed = f"^{model.prefix}reference.*$"
    return groups.hstack(with_priors(table, [model], layout.options, total=False).select(pl.col(prefixed)).collect())


@dataclass(frozen=True)
class Metrics:
    """The metrics of a family, of one model: each at the group's own prior and, where one is stated that moves it, at that."""

    model: Model
    family: Family
    layout: Layout

    @cached_property
    def columns(self) -> dict[str, str]:
        """The columns that the metrics become, and the metric of each."""
        of_column = {name: name for name in self.family.names}
        if self.layout.options.prior.stated:
            of_column |= {f"{name}_at_prior": name for name in self.family.names}
        made = group_columns(self.model, self.family.names, self.layout)
        return {column: of_column[column] for column in made if column in of_column}

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
        table = with_priors(self.with_sums(repeated, sums).lazy(), [self.model], own, total=False)
        made = group_columns(self.model, self.family.names, self.layout)
        values = table.select(**{name: made[name] for name in self.columns}).collect()
        return values.select(pl.all().cast(pl.Float64).fill_null(np.nan)).to_numpy()

    def with_sums(self, groups: pl.DataFrame, sums: Floats) -> pl.DataFrame:
        """The table of groups, and of each the sums as the report has them."""
        return groups.with_columns(**(self._lists(sums) if is_collected(self.model) else self._columns(sums)))

    def _columns(self, sums: Floats) -> dict[str, pl.Series]:
        """A column for each sum of each class, as the report has them."""
        prefix, columns = self.model.prefix, {}
        for i in range(sums.shape[1]):
            of_class = sums[:, i]
            if self.family.decides:
                columns[f"count_{i}"] = of_class.sum(axis=1)
                columns |= {f"decided_{j}_{i}": of_class[:, j] for j in range(of_class.shape[1])}
            else:
                columns[f"count_{i}"] = of_class[:, 0]
                columns |= {f"{name}_{i}": of_class[:, n + 1] for n, name in enumerate(self.family.numbers)}
        return {f"{prefix}{name}": pl.Series(np.ascontiguousarray(column)) for name, column in columns.items()}

    def _lists(self, sums: Floats) -> dict[str, pl.Series]:
        """The cells of each group as a list, as the report has them of many classes."""
        n_rows, n_classes, n_features = sums.shape
        n_cells = n_features if self.family.decides else 1
        shape = (n_rows, n_classes, n_cells)
        amount = sums[:, :, :n_cells]
        columns: dict[str, NDArray[Any]] = {
            CLASS: np.broadcast_to(np.arange(n_classes, dtype=np.int16)[:, None], shape),
            WEIGHT: amount,
        }
        if self.family.decides:
            columns[DECISION] = np.broadcast_to(np.arange(n_cells, dtype=np.int32), shape)
        columns |= {name: sums[:, :, n + 1 : n + 2] for n, name in enumerate(self.family.numbers)}
        flat = pl.DataFrame({name: np.ascontiguousarray(column).reshape(-1) for name, column in columns.items()})
        lists = pl.col("cells").reshape((n_rows, n_classes * n_cells)).arr.to_list()
        prefix = self.model.prefix
        return {
            f"{prefix}cells": flat.to_struct("cells").to_frame().select(lists).to_series(),
            f"{prefix}size": pl.Series(amount.sum(axis=(1, 2))),
        }
