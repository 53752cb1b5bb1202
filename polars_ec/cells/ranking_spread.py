"""Spread and limits of ranking metrics, from cells: influence of each cell where a metric is smooth, else the jackknife."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_ec.cells.grid import Grid
from polars_ec.formulas.ranking import RankingArguments


def ranking_limits(
    values: pl.DataFrame,
    cells: pl.DataFrame,
    grid: Grid,
    metrics: Sequence[str],
    arguments: RankingArguments,
    prior: pl.DataFrame | None,
    level: float,
    seed: int = 0,
) -> pl.DataFrame:
    """GROUP and, of each metric, `NAME_ci_low` and `NAME_ci_high`; groups without limits are null, or are left out.

    `values` has GROUP, `NAME` and `NAME_error` of each metric; `cells`, `grid`, `arguments` and `prior` are as for `ranking_spread`.
    """
    raise NotImplementedError


def ranking_spread(
    cells: pl.DataFrame,
    grid: Grid,
    metrics: Sequence[str],
    arguments: RankingArguments,
    prior: pl.DataFrame | None,
    seed: int = 0,
) -> dict[str, pl.DataFrame]:
    """Of each metric GROUP, `variance` and `df`; NaN, or no row, where there is none.

    `cells` has GROUP, `class`, the grid's cell columns, `weight` and, where rows have weights, `weight2`, the sum of their squares. With
    a column `bucket`, null for rows without a key, rows are in clusters; without it they are independent. `prior` is as `prepare` takes
    it. The result of a group is the same whatever other groups there are, and whatever the order of the cells.
    """
    raise NotImplementedError


def ranking_influence(cells: pl.DataFrame, grid: Grid, metric: str, prior: pl.DataFrame | None) -> pl.DataFrame:
    """The influence of a row of weight 1 in each cell on "auc_roc" or "average_precision": GROUP, `class`, the cell, `influence`.

    The sum of weight times influence over a group is 0. `cells` are as for `ranking_spread`; buckets are taken together.
    """
    raise NotImplementedError


def ranking_replicates(
    cells: pl.DataFrame,
    grid: Grid,
    metrics: Sequence[str],
    arguments: RankingArguments,
    prior: pl.DataFrame | None,
    seed: int = 0,
) -> pl.DataFrame:
    """GROUP, `part` from 0 to 19, `weight` of what is in that part, and each metric without it; null where it is not defined.

    The parts are those of `bucket` mod 20, and of independent rows, or rows without a key, a random split that follows from the cells.
    """
    raise NotImplementedError
