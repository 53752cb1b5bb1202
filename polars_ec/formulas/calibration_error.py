"""The calibration error of the cells of a sketch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import polars as pl

from polars_ec.formulas import decisions as formulas
from polars_ec.formulas.ranking import GROUP

if TYPE_CHECKING:
    from polars_ec.metrics.calibration_error import EceBins

Placement = tuple[pl.Expr, pl.Expr]
"""Whether all scores of a cell are above an edge; whether, if not, some may be."""


def of_cells(cells: pl.DataFrame, weights: pl.DataFrame, edges: Sequence[Placement], bins: EceBins) -> pl.DataFrame:
    """GROUP, `ece` and `ece_error`, one row per group: |ece - exact| <= ece_error for norm 1.

    `cells` has GROUP and the columns of a sketch, `weights` GROUP and what rows of either class weigh, `r0` and `r1`. A
    cell that an edge may cut is placed whole, by its mean posterior. Each row of it adds |q - y| r to the gap of a bin, and
    is in one other bin at worst: two gaps change by as much.
    """
    label, mass, gap = pl.col("class"), pl.col("weight"), pl.col("posterior") - pl.col("weight") * pl.col("class")
    weight = pl.when(label == 1).then("r1").otherwise("r0")
    mean = pl.col("posterior") / mass
    below = [
        surely | (perhaps & (mean > number / bins.number)) for number, (surely, perhaps) in enumerate(edges, start=1)
    ]
    cut = reduce(lambda x, y: x | y, [perhaps for _, perhaps in edges], pl.lit(value=False))
    placed = cells.filter(label >= 0, mass > 0).join(weights, on=GROUP, maintain_order="left")
    of_bins = (
        placed.with_columns(
            bin=reduce(add, [x.cast(pl.Int32) for x in below], pl.lit(0, dtype=pl.Int32)),
            gap=gap * weight,
            share=mass * weight,
            loose=pl.when(cut).then(2 * gap.abs() * weight).otherwise(0.0),
        )
        .group_by(GROUP, "bin")
        .agg(pl.col("gap", "share", "loose").sum())
    )
    term = formulas.calibration_term(pl.col("gap"), pl.col("share"), bins.norm)
    error = of_bins.group_by(GROUP).agg(
        ece=formulas.calibration_error(term.sum(), bins.norm), ece_error=pl.col("loose").sum()
    )
    defined = pl.col("r0").is_not_null() & pl.col("r1").is_not_null()
    joined = weights.join(error, on=GROUP, how="left", maintain_order="left")
    return joined.select(GROUP, *(pl.when(defined).then(name).alias(name) for name in ("ece", "ece_error")))
