"""Cells in the order of their scores: every operating point that they have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_ec.cells.arguments import EvaluationArguments, parse_formula_arguments
from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import EXACT, Grid
from polars_ec.cells.sums import GroupSums, number_groups, prior_columns, tabulate
from polars_ec.formulas.decisions import decision_value
from polars_ec.formulas.ranking import prepare
from polars_ec.formulas.sums import GROUP


def ordered_cells(numbered: pl.DataFrame, grid: Grid, weighted: bool) -> pl.DataFrame:
    """Cells of both classes side by side, from the highest score down, as `prepare` takes them.

    `w1`, `w0` are the classes' weights, `v1`, `v0` their squares, where `numbered` has `weight2`.
    """
    label = pl.col("class")
    cell = grid.cell_columns
    # Sums of squared weights only where there are any.
    sums = {"w": "weight", **({"v": "weight2"} if "weight2" in numbered.columns else {})}
    of_classes = {f"{x}{i}": pl.when(label == i).then(name).sum() for x, name in sums.items() for i in (1, 0)}
    cells = (
        numbered.filter(label >= 0)
        .group_by(GROUP, *cell)
        .agg(**of_classes)
        .sort(GROUP, *cell, descending=[False] + [True] * len(cell))
    )
    if grid.resolution is None:
        threshold = pl.col(EXACT).shift(-1).over(GROUP).fill_null(-math.inf)
    else:
        threshold = grid.lower_edge()
    return cells.with_columns(point=grid.is_point(), threshold=threshold, whole=pl.lit(value=not weighted))


def prepared_cells(cells: Cells) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cells as the ranking formulas take them, of groups without wrong rows; and the keys of their groups."""
    numbered, groups = number_groups(cells, cells.keys)
    invalid = numbered.filter(pl.col("class") == -1).select(GROUP).unique()
    numbered = numbered.join(invalid, on=GROUP, how="anti", maintain_order="left")
    return prepare(ordered_cells(numbered, cells.grid, cells.weighted), None), groups


def edge_columns(i: int, *, squared: bool = False) -> tuple[str, str]:
    """The columns of the rows of class i that are decided negative, and positive, or of the squares of their weights."""
    return f"__ec_negative{2 * squared}_{i}", f"__ec_positive{2 * squared}_{i}"


def at_every_edge(
    cells: Cells, metrics: Sequence[str], keywords: Mapping[str, Any]
) -> tuple[pl.DataFrame, dict[str, pl.Expr]]:
    """Every operating point of every group, as sums, with the formulas of the metrics over them."""
    formula, prior = parse_formula_arguments(metrics, keywords)
    arguments = EvaluationArguments(prior, formula)
    numbered, table = tabulate(cells, cells.keys, arguments)
    table = table.filter(pl.col("n_invalid") == 0)
    steps = ordered_cells(numbered, cells.grid, cells.weighted)
    amounts = [name for name in ("w0", "w1", "v0", "v1") if name in steps.columns]
    top = table.select(GROUP, threshold=pl.lit(math.inf), **dict.fromkeys(amounts, pl.lit(0.0)))
    points = pl.concat([top, steps.select(top.columns)])
    points = points.sort(GROUP, "threshold", descending=[False, True], maintain_order=True)
    running: dict[str, pl.Expr] = {}
    for name in amounts:
        amount, (negative, positive) = pl.col(name), edge_columns(int(name[1]), squared=name[0] == "v")
        running[positive] = amount.cum_sum().over(GROUP)
        # From the bottom up, and not by a difference, which of sums of weights may be below 0.
        running[negative] = amount.cum_sum(reverse=True).shift(-1, fill_value=0.0).over(GROUP)
    points = points.with_columns(**running)
    sums = GroupSums(prior_columns(arguments), *([pl.col(edge_columns(i)[side]) for i in range(2)] for side in (1, 0)))
    formulas_of = {name: decision_value(name, sums, formula) for name in metrics}
    return table.join(points, on=GROUP, maintain_order="left_right"), formulas_of
