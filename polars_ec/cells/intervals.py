"""Intervals of what is computed from cells: values come from the fine ones, and so do variances but where rows are in clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from polars_ec.cells.arguments import EvaluationArguments
from polars_ec.cells.cells import Cells
from polars_ec.cells.formula_columns import ENDS, LOSS_OF, End, decision_column, decision_columns, loss_column, loss_columns
from polars_ec.cells.grid import BUCKET
from polars_ec.cells.moments import Floats, UsableCells
from polars_ec.cells.sums import is_exact, prior_columns
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.decisions import Clusters, Formulas, decision_limits, is_beside_kink
from polars_ec.intervals.gradient import gradient
from polars_ec.intervals.limits import extended, limits
from polars_ec.intervals.scales import Scale, scale_of
from polars_ec.intervals.spread import Moments, Spread
from polars_ec.rows.read import join_groups

_FEWEST_OF_A_CLASS = 10
_ONE_AND_LOSS = np.array([1.0, 0.0])

Limits = tuple[Floats, Floats]


@dataclass(frozen=True)
class Intervals:
    """What intervals of the metrics of cells are made of: `numbered` and `table` are what `tabulate` makes of these."""

    cells: Cells
    keys: list[str]
    numbered: pl.DataFrame
    table: pl.DataFrame
    arguments: EvaluationArguments
    level: float

    def __post_init__(self) -> None:
        if self.cells.weighted and "weight2" not in self.cells.frame.columns:
            raise SketchError(
                "interval= needs the sums of squared weights, which this sketch does not have: sketch its log again"
            )

    @cached_property
    def fine(self) -> UsableCells:
        """The cells that values are computed from."""
        return UsableCells(_usable(self.numbered, self.cells.weighted), self.cells.grid, self.table.height)

    @cached_property
    def spread_cells(self) -> UsableCells:
        """The cells that variances are computed from: those by bucket, if rows are in clusters."""
        coarse, buckets = self.cells.coarse, self.cells.buckets
        if coarse is None or buckets is None:
            return self.fine
        zero = pl.lit(0, dtype=pl.get_index_type()).alias(GROUP)
        groups = self.table.select(GROUP, *self.keys)
        numbered = join_groups(coarse, groups, self.keys) if self.keys else coarse.with_columns(zero)
        if not self.cells.weighted:
            numbered = numbered.with_columns(weight=pl.col("n").cast(pl.Float64))
        return UsableCells(_usable(numbered, self.cells.weighted), self.cells.grid.coarse, self.table.height, buckets)

    def small(self) -> pl.Series:
        """Whether a class has so few rows that the limits mean little."""
        rows = self.fine.total(self.fine.frame["n"].to_numpy().astype(np.float64))
        return pl.Series("small", rows.min(axis=1) < _FEWEST_OF_A_CLASS)

    def of_decisions(self, names: Sequence[str], threshold: float) -> dict[str, Limits]:
        """The limits of metrics at a threshold; if it may cut cells, those that hold the limits at either end of what may be."""
        exact = is_exact(self.cells.grid, threshold)
        corners = [(ENDS[0], ENDS[0])] if exact else [(of_1, of_0) for of_1 in ENDS for of_0 in ENDS]
        found = [self._at(names, threshold, *corner) for corner in corners]
        low, high = np.fmin.reduce([low for low, _ in found]), np.fmax.reduce([high for _, high in found])
        return {name: (low[:, m], high[:, m]) for m, name in enumerate(names)}

    def _at(self, names: Sequence[str], threshold: float, of_1: End, of_0: End) -> Limits:
        prior, formula = prior_columns(self.arguments), self.arguments.formula
        formulas = self.formulas(
            decision_columns(threshold, of_1, of_0),
            [decision_column(name, prior, formula, threshold, of_1, of_0) for name in names],
        )
        decided, decided2 = self._decided(threshold, of_1, of_0)
        scales = [scale_of(name) for name in names]
        return decision_limits(formulas, decided, decided2, scales, self.level, self._clusters(threshold, decided))

    def _decided(self, threshold: float, of_1: End, of_0: End) -> tuple[Floats, Floats]:
        decided = self.sums(decision_columns(threshold, of_1, of_0))
        if not self.cells.weighted:
            return decided, decided
        return decided, self.fine.decided(threshold, of_1, of_0, self.fine.weight2)

    def _clusters(self, threshold: float, decided: Floats) -> Clusters | None:
        return self.spread_cells.decided_clusters(threshold, decided) if self.spread_cells.buckets else None

    def beside_kink(self, threshold: float) -> pl.Series:
        """Whether NEC at the group's own shares is beside the kink of what normalises it."""
        decided, decided2 = self._decided(threshold, *[ENDS[0]] * 2)
        source = self._clusters(threshold, decided) or Moments(decided, decided2[..., None] * np.eye(2), np.ones(2))
        costs = np.array(self.arguments.formula.costs.values)
        return pl.Series(is_beside_kink(costs, decided, source.spread_of))

    def of_loss(self, name: str, low: Floats, high: Floats) -> Limits:
        """The limits of a metric that is a mean loss, and lies between these bounds."""
        prior = prior_columns(self.arguments)
        end = "_low" if low is not high and f"__ec_{LOSS_OF[name]}_low_0" in self.table.columns else ""
        return low, high

    def sums(self, columns: list[list[str]]) -> Floats:
        """(groups, classes, features): columns of the table."""
        flat = [name for of_class in columns for name in of_class]
        return self.table.select(pl.col(flat).cast(pl.Float64)).to_numpy().reshape(-1, 2, 2)

    def formulas(self, columns: list[list[str]], expressions: Sequence[pl.Expr]) -> Formulas:
        """The formulas as functions of these columns of the table; what else they read of it stays."""
        flat = [name for of_class in columns for name in of_class]
        others = self.table.select(prior_columns(self.arguments) or [])

        def values(sums: Floats) -> Floats:
            n_variants, n_groups, n_sums = sums.shape
            moved = pl.DataFrame(sums.reshape(-1, n_sums), schema=flat)
            if others.width:
                moved = moved.hstack(pl.concat([others] * n_variants))
            found = moved.select(e.cast(pl.Float64).alias(f"{i}") for i, e in enumerate(expressions))
            return found.to_numpy().reshape(n_variants, n_groups, -1).astype(np.float64)

        return values
