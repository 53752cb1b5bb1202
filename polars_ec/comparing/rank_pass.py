"""The passes over the log for ranking metrics: cells of equal log-odds, which have the values; and coarse ones, which have their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from polars_ec.cells.codes import STAND_IN, CellCodes
from polars_ec.cells.grid import Grid
from polars_ec.comparing.joint_pass import BUCKET, Clusters, Pair
from polars_ec.priors import Prior
from polars_ec.reporting.models import Model
from polars_ec.reporting.ranks import grid_of
from polars_ec.rows.folds import bucket
from polars_ec.rows.labels import class_index
from polars_ec.rows.scores import BinaryScores

KIND, MODEL, CODE, OTHER_CODE = "__ec_kind", "__ec_model", "__ec_code", "__ec_other_code"
"""Which table a cell is of; the number of its model; its cell, and, of two models, that of the reference."""

AMOUNT, SQUARES = "__ec_amount", "__ec_squares"
"""Rows, or their weight; and the squares of their weights."""

VALUES, BUCKETS, SINGLE = 0, 1, 2
"""Cells of all rows; those of rows in clusters, by bucket; those of rows that are clusters of their own."""


@dataclass(frozen=True)
class Grids:
    """Of a model the grid of its values, and the one of their spread."""

    fine: Grid
    coarse: Grid

    @classmethod
    def of(cls, model: Model, prior: Prior) -> Grids:
        """That of a sketch with the same keywords, and a coarser one."""
        fine = grid_of(model.rows, prior)
        return cls(fine, fine.coarse)


def rank_cells(
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    pairs: Sequence[Pair],
    models: Sequence[Model],
    grids: Sequence[Grids],
    clusters: Clusters | None,
) -> list[pl.LazyFrame]:
    """The tables of cells, which have the same columns."""
    number = {model.name: m for m, model in enumerate(models)}
    keyless = pl.lit(value=True) if clusters is None else clusters.keys[0].is_null()
    in_bucket = [] if clusters is None else [bucket(clusters.keys[0], clusters.buckets).alias(BUCKET)]
    tables = []
    for m, (model, of_model) in enumerate(zip(models, grids, strict=True)):
        tables.append(_counted(frame, keys, VALUES, m, model, of_model.fine))
        if clusters is not None:
            keyed = frame.filter(~keyless)
            tables.append(_counted(keyed, [*keys, *in_bucket], BUCKETS, m, model, of_model.coarse))
    for model, reference in pairs:
        m, alone = number[model.name], frame if clusters is None else frame.filter(keyless)
        other = None if reference is None else (reference, grids[number[reference.name]].coarse)
        tables.append(_counted(alone, keys, SINGLE, m, model, grids[m].coarse, other))
    return tables


def _counted(
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    kind: int,
    number: int,
    model: Model,
    grid: Grid,
    other: tuple[Model, Grid] | None = None,
) -> pl.LazyFrame:
    """Rows or their weight, by group and cell."""
    rows = model.rows
    weight = pl.lit(1.0) if rows.weight is None else pl.when(rows.usable).then(rows.weight)
    columns = {CODE: _cell(model, grid), AMOUNT: weight}
    if other is not None:
        columns[OTHER_CODE] = _cell(*other)
    codes = [CODE, *([OTHER_CODE] if other is not None else [])]
    names = [key.meta.output_name() for key in keys]
    made = frame.select(*keys, **columns).group_by(*names, *codes)
    amount = pl.col(AMOUNT)
    counted = made.agg(amount.sum(), (amount * amount).sum().alias(SQUARES))
    return counted.with_columns(pl.lit(kind, dtype=pl.Int8).alias(KIND), pl.lit(number, dtype=pl.Int16).alias(MODEL))


def _cell(model: Model, grid: Grid) -> pl.Expr:
    rows, codes = model.rows, CellCodes(grid)
    assert isinstance(rows.scores, BinaryScores)
    score = pl.when(rows.usable).then(rows.scores.score).otherwise(STAND_IN)
    index = rows.class_or_invalid(class_index(rows.labels))
    return codes.of_unusable(codes.encoded(index, score, grid.bin(score, grid.position(score))))
