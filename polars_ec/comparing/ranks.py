"""Ranking metrics of a comparison: from tables of cells to the differences of each model and metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.codes import CellCodes
from polars_ec.cells.grid import Grid
from polars_ec.comparing.comparison import Comparison
from polars_ec.comparing.differences import Differences
from polars_ec.comparing.groups import Against
from polars_ec.comparing.joint_pass import BUCKET, Pair
from polars_ec.comparing.rank_differences import Ranked, compare_ranked_groups, compare_ranked_models
from polars_ec.comparing.rank_pass import AMOUNT, BUCKETS, CODE, KIND, MODEL, OTHER_CODE, SINGLE, SQUARES, VALUES
from polars_ec.comparing.rank_tables import CellTable, Counts
from polars_ec.formulas.ranking import RANKING_METRICS, RankingArguments
from polars_ec.formulas.sums import GROUP
from polars_ec.reporting.models import Model
from polars_ec.reporting.sums import stated_prior
from polars_ec.reporting.tables import is_moved

Integers: TypeAlias = NDArray[np.int64]


def ranking_differences(
    cells: pl.DataFrame,
    tables: Mapping[str, pl.DataFrame],
    comparison: Comparison,
    against: Against | None,
    same: Mapping[str, bool],
) -> dict[tuple[str, str], Differences]:
    """By model and column; `tables` are those of the groups, with the stated prior of each; `same`: whether a model is its reference."""
    made: dict[tuple[str, str], Differences] = {}
    asked = [name for name in comparison.names if name in RANKING_METRICS]
    for model, other in comparison.pairs:
        for suffix in ("", *(["_at_prior"] if comparison.layout.options.prior.stated else [])):
            names = [name for name in asked if not suffix or is_moved(name, model)]
            both = _ranked(cells, (model, other), tables, comparison, at_prior=bool(suffix))
            for name in names:
                if against is not None:
                    found = compare_ranked_groups(both[0], name, against, comparison.level)
                else:
                    found = compare_ranked_models(both[0], both[1], name, comparison.level, same[model.name])
                made[model.name, f"{name}{suffix}"] = found
    return made


def _ranked(
    cells: pl.DataFrame, pair: Pair, tables: Mapping[str, pl.DataFrame], comparison: Comparison, *, at_prior: bool
) -> list[Ranked]:
    """The model, and its reference if it has one."""
    numbers = [comparison.models.index(model) for model in pair if model is not None]
    coarse = [comparison.grids[m].coarse for m in numbers]
    single = _counts(_of(cells, SINGLE, numbers[0]), *coarse)
    made = []
    for model, m, alone in zip(pair, numbers, (single, single.turned), strict=False):
        assert model is not None
        table, weighted = tables[model.name], model.rows.weight is not None
        grids = comparison.grids[m]
        values, keyed = (
            _counts(_of(cells, kind, m), grid) for kind, grid in ((VALUES, grids.fine), (BUCKETS, grids.coarse))
        )
        fine, (values,) = _placed(grids.fine, [values], weighted)
        coarse_table, (keyed, alone) = _placed(grids.coarse, [keyed, alone], weighted)
        made.append(
            Ranked(
                table.height,
                comparison.buckets,
                fine,
                coarse_table,
                values,
                keyed,
                alone,
                _prior(model, table, comparison) if at_prior else None,
                RankingArguments(model.rows.costs),
                table[f"{model.prefix}invalid"].cast(pl.Float64).to_numpy(),
            )
        )
    return made


def _placed(grid: Grid, counts: list[Counts], weighted: bool) -> tuple[CellTable, list[Counts]]:
    """The table of the cells that occur, and these with the numbers of their cells in place of codes."""
    codes = np.unique(np.concatenate([of.code for of in counts]))
    decoded = CellCodes(grid).decoded(pl.col("code"))
    cells = pl.DataFrame({"code": pl.Series(codes, dtype=pl.Int32)}).select(**decoded)
    return CellTable(grid, cells, weighted), [replace(of, code=np.searchsorted(codes, of.code)) for of in counts]


def _of(cells: pl.DataFrame, kind: int, number: int) -> pl.DataFrame:
    return cells.filter(pl.col(KIND) == kind, pl.col(MODEL) == number)


def _counts(cells: pl.DataFrame, grid: Grid, other: Grid | None = None) -> Counts:
    """The cells, but for rows that are not usable."""
    codes = [(CODE, grid), *([(OTHER_CODE, other)] if other is not None else [])]
    usable = [pl.col(name).is_between(1, CellCodes(of_code).number - 2) for name, of_code in codes]
    used = cells.filter(pl.col(AMOUNT) > 0, *usable)

    def whole(name: str) -> Integers:
        if name not in used.columns:
            return np.zeros(used.height, dtype=np.int64)
        return used[name].cast(pl.Int64).fill_null(0).to_numpy()

    group, code, of_other = whole(GROUP), whole(CODE), whole(OTHER_CODE)
    amount, squares = (used[name].to_numpy() for name in (AMOUNT, SQUARES))
    return Counts(group, code, amount, squares, whole(BUCKET), of_other, np.lexsort((of_other, code, group)))


def _prior(model: Model, table: pl.DataFrame, comparison: Comparison) -> pl.DataFrame:
    """The stated prior of each group, as ranking metrics take it."""
    shares = stated_prior(model, comparison.layout.options)
    assert shares is not None
    return table.select(GROUP, p0=shares[0], p1=shares[1])
