"""Binned calibration errors of posteriors, from rows and from the cells of a sketch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import polars as pl

from polars_ec.formulas.sums import GROUP
from polars_ec.typing import EceNorm

Placement = tuple[pl.Expr, pl.Expr]
"""Whether all scores of a cell are above an edge; whether, if not, some may be."""

# The largest distance from an edge that rounding can cause in a sum of shares.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class EceBins:
    """The binning of rows, and the averaging of the gaps of bins."""

    number: int
    norm: EceNorm
    equal_mass: bool

    @classmethod
    def of(cls, bins: int, norm: int, equal_mass: bool = False) -> EceBins:
        """Checked; errors name the value."""
        if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
            raise ValueError(f"bins={bins!r} is not a number of bins: pass a whole number above 0")
        if isinstance(norm, bool) or norm not in (1, 2):
            raise ValueError(f"norm={norm!r} is not 1 (absolute) or 2 (root mean square)")
        return cls(bins, 2 if norm == 2 else 1, equal_mass)


ECE_BINS = EceBins(15, 1, equal_mass=False)
"""The defaults of reports and sketches."""


def in_bin(posterior: pl.Expr, lower: int, n_bins: int) -> pl.Expr:
    """Whether lower/n_bins < posterior <= (lower + 1)/n_bins; the outer bins take what rounding puts beyond 0 and 1."""
    above, below = posterior > lower / n_bins, posterior <= (lower + 1) / n_bins
    if n_bins == 1:
        return posterior.is_not_null()
    return below if lower == 0 else above if lower == n_bins - 1 else above & below


def calibration_term(gap: pl.Expr, share: pl.Expr, norm: int) -> pl.Expr:
    """What a bin adds to the calibration error, which for norm 2 is the root of the sum.

    `share` w is that of the rows, `gap` is w times (mean posterior less share of what it is the posterior of): |gap|, or
    gap^2 / w. Either is a mean over the rows, of |gap| / w or its square.
    """
    # A bin without rows has gap 0; a null says that there is no mean at all.
    return gap.abs() if norm == 1 else pl.when(share > 0).then(gap * gap / share).otherwise(gap)


def calibration_error(total: pl.Expr, norm: int) -> pl.Expr:
    """From the sum of the bins' terms."""
    return total if norm == 1 else total.sqrt()


def of_equal_width(rows: pl.DataFrame, weights: pl.DataFrame, bins: EceBins) -> pl.DataFrame:
    """GROUP and `value`, of rows as for `of_equal_mass` that are `weighed` by the weight of that number; null where one is null."""
    holds, mass = pl.col("holds").cast(pl.Float64), pl.col("mass")
    edges = pl.Series([k / bins.number for k in range(1, bins.number)], dtype=pl.Float64)
    # The bins are closed on the right.
    number = pl.lit(edges).search_sorted(pl.col("posterior"), side="left")
    of_cells = (
        rows.filter(mass > 0)
        .group_by(GROUP, "weighed", bin=number)
        .agg(mass.sum(), gap=(mass * pl.col("posterior")).sum() - (mass * holds).sum())
        .join(weights, on=[GROUP, "weighed"])
    )
    weight = pl.col("weight")
    of_bins = of_cells.group_by(GROUP, "bin").agg(share=(mass * weight).sum(), gap=(pl.col("gap") * weight).sum())
    term = calibration_term(pl.col("gap"), pl.col("share"), bins.norm)
    error = of_bins.group_by(GROUP).agg(error=calibration_error(term.sum(), bins.norm))
    known = weights.group_by(GROUP).agg(known=pl.col("weight").is_not_null().all()).filter("known")
    return known.join(error, on=GROUP).select(GROUP, value="error")


def of_equal_mass(rows: pl.DataFrame, bins: EceBins) -> pl.DataFrame:
    """GROUP and `value`, of rows with GROUP, `posterior`, `holds` and `mass`, null where they do not count."""
    mass = pl.col("mass")
    blocks = (
        rows.filter(mass > 0)
        .group_by(GROUP, "posterior")
        .agg(mass.sum(), gap=(mass * (pl.col("posterior") - pl.col("holds").cast(pl.Float64))).sum())
        .sort(GROUP, "posterior")
        .with_columns(total=mass.sum().over(GROUP))
    )
    # A share that is an edge but for rounding is that edge: weights of 0.1 are summed to no more than about 0.3.
    reached = mass.cum_sum().over(GROUP) / pl.col("total") - _ROUNDING
    number = (reached * bins.number).ceil().clip(1, bins.number)
    of_bins = blocks.group_by(GROUP, "total", number.alias("bin")).agg(mass.sum(), pl.col("gap").sum())
    total = pl.col("total")
    term = calibration_term(pl.col("gap") / total, mass / total, bins.norm)
    return of_bins.group_by(GROUP).agg(value=calibration_error(term.sum(), bins.norm))


def of_cells(cells: pl.DataFrame, weights: pl.DataFrame, edges: Sequence[Placement], bins: EceBins) -> pl.DataFrame:
    """GROUP, `ece` and `ece_error`, one row per group: |ece - exact| <= ece_error for norm 1.

    `cells` has GROUP, `class`, the `weight` of its rows and the sum of weight times `posterior`, which may be `off` by so much,
    as each posterior is between `least` and `most`; `weights` has GROUP and what rows of either class weigh, `r0` and `r1`.
    A cell that an edge may cut is placed whole, by its mean posterior. Each row of it adds |q - y| r to the gap of a bin,
    and is in one other bin at worst: two gaps change by as much.
    """
    label, mass, gap = pl.col("class"), pl.col("weight"), pl.col("posterior") - pl.col("weight") * pl.col("class")
    weight = pl.when(label == 1).then("r1").otherwise("r0")
    largest = mass * pl.when(label == 1).then(1 - pl.col("least")).otherwise("most")
    mean = pl.col("posterior") / mass
    below = [
        certain | (possible & (mean > number / bins.number))
        for number, (certain, possible) in enumerate(edges, start=1)
    ]
    cut = reduce(lambda x, y: x | y, [possible for _, possible in edges], pl.lit(value=False))
    placed = cells.filter(label >= 0, mass > 0).join(weights, on=GROUP, maintain_order="left")
    of_bins = (
        placed.with_columns(
            bin=reduce(add, [x.cast(pl.Int32) for x in below], pl.lit(0, dtype=pl.Int32)),
            gap=gap * weight,
            share=mass * weight,
            loose=(pl.col("off") + pl.when(cut).then(2 * largest).otherwise(0.0)) * weight,
        )
        .group_by(GROUP, "bin")
        .agg(pl.col("gap", "share", "loose").sum())
    )
    term = calibration_term(pl.col("gap"), pl.col("share"), bins.norm)
    error = of_bins.group_by(GROUP).agg(ece=calibration_error(term.sum(), bins.norm), ece_error=pl.col("loose").sum())
    defined = pl.col("r0").is_not_null() & pl.col("r1").is_not_null()
    joined = weights.join(error, on=GROUP, how="left", maintain_order="left")
    return joined.select(GROUP, *(pl.when(defined).then(name).alias(name) for name in ("ece", "ece_error")))
