"""Intervals of what is computed from cells: values come from the fine ones, and variances but where rows are in clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import polars as pl

from polars_ec.cells.arguments import EvaluationArguments
from polars_ec.cells.cells import Cells
from polars_ec.cells.formula_columns import (
    ENDS,
    LOSS_OF,
    SHIFT,
    End,
    decision_column,
    decision_columns,
    loss_column,
    loss_columns,
)
from polars_ec.cells.moments import Floats, Integers, UsableCells, cells_by_bucket, usable_cells
from polars_ec.cells.sums import is_exact, prior_columns
from polars_ec.intervals.arguments import FEW_OF_A_CLASS, Request
from polars_ec.intervals.bootstrap import Sums, Units
from polars_ec.intervals.drawn import drawn_of_decisions, drawn_of_values, limits_of_draws
from polars_ec.intervals.estimates import (
    Clusters,
    Formula,
    is_beside_kink,
    limits_of_clusters,
    limits_of_rows,
    one_hot,
    slopes_of,
    with_one_row,
)
from polars_ec.intervals.limits import Limits, limits
from polars_ec.intervals.scales import Scale, scale_of
from polars_ec.intervals.spread import Moments, effective_rows, has_rows

_ALL = slice(None)


@dataclass(frozen=True)
class Intervals:
    """What intervals of the metrics of cells are made of: `numbered` and `table` are what `tabulate` makes of these."""

    cells: Cells
    keys: list[str]
    numbered: pl.DataFrame
    table: pl.DataFrame
    arguments: EvaluationArguments
    request: Request

    @cached_property
    def fine(self) -> UsableCells:
        """The cells that values are computed from."""
        return usable_cells(self.cells, self.numbered, self.table.height)

    @cached_property
    def by_bucket(self) -> UsableCells | None:
        """The cells of clusters, if rows are in clusters."""
        return cells_by_bucket(self.cells, self.table, self.keys)

    def small(self) -> pl.Series:
        """Whether a class has so few rows, of equal weight that say as much, that limits mean little."""
        return pl.Series("small", ~(self._rows.min(axis=-1) >= FEW_OF_A_CLASS))

    def of_decisions(self, names: Sequence[str], threshold: float) -> dict[str, Limits]:
        """The limits of metrics at a threshold; if it may cut cells, they hold those of whatever the counts may be."""
        exact = is_exact(self.cells.grid, threshold)
        corners = [(ENDS[0], ENDS[0])] if exact else [(of_1, of_0) for of_1 in ENDS for of_0 in ENDS]
        found = [self._at(names, threshold, *corner) for corner in corners]
        low, high = np.fmin.reduce([low for low, _ in found]), np.fmax.reduce([high for _, high in found])
        return {name: (low[:, m], high[:, m]) for m, name in enumerate(names)}

    def _at(self, names: Sequence[str], threshold: float, of_1: End, of_0: End) -> Limits:
        prior, arguments = prior_columns(self.arguments), self.arguments.formula
        of_groups = partial(
            self.formula,
            decision_columns(threshold, of_1, of_0),
            [decision_column(name, prior, arguments, threshold, of_1, of_0) for name in names],
        )
        formula = of_groups(_ALL)
        moments = self._decided(threshold, of_1, of_0)
        clusters = self._clusters(threshold, moments)
        estimates, scales = formula(moments.linear[None])[0], [scale_of(name, arguments.costs) for name in names]
        if self.request.is_drawn:
            return limits_of_draws(of_groups, *drawn_of_decisions(moments, clusters), estimates, self.request)
        if clusters is None:
            return limits_of_rows(formula, moments, estimates, scales, self.request.level, with_one_row)
        return limits_of_clusters(formula, moments, clusters, estimates, scales, self.request.level, with_one_row)

    def _decided(self, threshold: float, of_1: End, of_0: End) -> Moments:
        decided = self.sums(decision_columns(threshold, of_1, of_0))
        if not self.cells.weighted:
            return one_hot(decided, decided)
        return one_hot(decided, self.fine.decided(threshold, of_1, of_0, self.fine.weight2))

    def _clusters(self, threshold: float, moments: Moments) -> Clusters | None:
        return None if self.by_bucket is None else self.by_bucket.decided_clusters(threshold, moments.linear)

    def beside_kink(self, threshold: float) -> pl.Series:
        """Whether NEC at the group's own shares is beside the kink of what normalises it."""
        moments = self._decided(threshold, ENDS[0], ENDS[0])
        source = self._clusters(threshold, moments) or moments
        costs = np.array(self.arguments.formula.costs.values)

        def constant(decided: Floats) -> Floats:
            of_class = decided.sum(axis=-1)
            with np.errstate(all="ignore"):
                return np.asarray(of_class @ costs / of_class.sum(axis=-1, keepdims=True))

        return pl.Series(is_beside_kink(constant, moments.linear, source.spread_of))

    def of_loss(self, name: str, bounds: Limits) -> Limits:
        """The limits of a metric that is a mean loss, and known to lie between these bounds."""
        loss = LOSS_OF[name]
        shift = self.table[SHIFT].to_numpy() if name != "cllr" and SHIFT in self.table.columns else None
        columns = [loss_columns(loss, end) for end in (("",) if shift is None else ("_low", "_high"))]
        value = loss_column(name, prior_columns(self.arguments), "" if shift is None else "_low")
        return self.of_mean_loss(value, columns, lambda cells: cells.losses(loss, shift), bounds, scale_of(name))

    # Infinite losses have no limits.
    @np.errstate(all="ignore")
    def of_mean_loss(
        self,
        value: pl.Expr,
        columns: Sequence[list[list[str]]],
        losses: Callable[[UsableCells], Floats],
        bounds: Limits,
        scale: Scale,
    ) -> Limits:
        """The same of an expression on the first of these columns: of the sums of a loss, or of the bounds of them.

        Each row of a cell has about as much of it as `losses` say.
        """
        totals = (self.sums(columns[0]) + self.sums(columns[-1])) / 2
        of_groups = partial(self.formula, columns[0], [value])
        formula = of_groups(_ALL)
        cells = self.fine if self.by_bucket is None else self.by_bucket
        loss = cells.with_sums(losses(cells), totals[..., 1])
        features, unit = (np.ones_like(loss), loss), np.array([1.0, 0.0])
        source = cells.moments(features, unit) if self.by_bucket is None else cells.clusters(features, unit)
        spread = source.spread_of(slopes_of(formula, totals)[..., 0])
        known = has_rows(self._rows, several=True) & np.isfinite(cells.total(cells.weight * loss)).all(axis=-1)
        if self.request.is_drawn:
            estimates = np.where(known[:, None], formula(totals[None])[0], np.nan)
            ends = limits_of_draws(of_groups, *_drawn(cells, loss), estimates, self.request)
            low, high = ((end + bound[:, None] - estimates)[:, 0] for end, bound in zip(ends, bounds, strict=True))
            return low, high
        low, high = (limits(bound, spread, scale, self.request.level)[end] for end, bound in enumerate(bounds))
        return np.where(known, low, np.nan), np.where(known, high, np.nan)

    @cached_property
    def amounts(self) -> tuple[Floats, Floats]:
        """Sums over the rows of w and of w^2, (groups, classes)."""
        return self.fine.total(self.fine.weight), self.fine.total(self.fine.weight2)

    @cached_property
    def _rows(self) -> Floats:
        """(groups, classes): how many rows of equal weight say as much."""
        return effective_rows(*self.amounts)

    def sums(self, columns: list[list[str]]) -> Floats:
        """(groups, classes, features): columns of the table."""
        flat = [pl.col(name).cast(pl.Float64) for of_class in columns for name in of_class]
        return self.table.select(flat).to_numpy().reshape(-1, 2, 2).astype(np.float64)

    def formula(
        self, columns: list[list[str]], expressions: Sequence[pl.Expr], groups: slice | Integers = _ALL
    ) -> Formula:
        """The expressions as functions of these columns of the table, of some groups; what else they read of it stays."""
        priors = prior_columns(self.arguments)
        return formula_of(self.table.select(priors)[groups] if priors else pl.DataFrame(), columns, expressions)


def _drawn(cells: UsableCells, loss: Floats) -> tuple[Units, Sums]:
    bucket = np.where(cells.bucket < cells.buckets, cells.bucket, -1) if cells.buckets else None
    squares = [(cells.weight2 * loss, cells.weight2 * loss**2)]
    return drawn_of_values(
        *(cells.group, cells.label, [loss], cells.weight, squares, cells.weight2), (cells.n_groups, 2), bucket
    )


def formula_of(others: pl.DataFrame, columns: Sequence[Sequence[str]], expressions: Sequence[pl.Expr]) -> Formula:
    """Expressions as functions of the sums of each class, which are these columns; `others` are the columns that stay."""
    flat = [name for of_class in columns for name in of_class]

    def values(sums: Floats) -> Floats:
        n_variants, n_groups = sums.shape[:2]
        moved = pl.DataFrame(sums.reshape(n_variants * n_groups, len(flat)), schema=flat, orient="row")
        if others.width:
            moved = moved.hstack(pl.concat([others] * n_variants))
        found = moved.select(e.cast(pl.Float64).alias(f"{i}") for i, e in enumerate(expressions))
        return found.to_numpy().reshape(n_variants, n_groups, len(expressions)).astype(np.float64)

    return values
