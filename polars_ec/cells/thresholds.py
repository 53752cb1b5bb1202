"""Thresholds that a log chooses: the best one of a metric, and the costs that somebody has chosen with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from polars_ec.cells.cells import Cells, check_keys
from polars_ec.cells.curves import cost_curve
from polars_ec.cells.grid import Grid
from polars_ec.cells.ordered import prepared_cells
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import DECISIONS
from polars_ec.formulas.ranking import checked_share, enough, hulls
from polars_ec.formulas.sums import GROUP


def best_threshold(cells: Cells, metric: str, keywords: Mapping[str, Any]) -> pl.DataFrame:
    """What `Sketch.best_threshold` gives."""
    curve = cost_curve(cells, [metric], keywords)
    value = pl.col(metric)
    best = value.arg_min() if DECISIONS[metric].better == "lower" else value.arg_max()
    columns = {"threshold": pl.col("threshold").get(best), metric: value.get(best)}
    if not cells.keys:
        return curve.select(**columns)
    return curve.group_by(cells.keys, maintain_order=True).agg(**columns)


def cost_of_sensitivity(cells: Cells, sensitivity: float) -> pl.DataFrame:
    """The costs for which the best threshold attains this sensitivity."""
    target = checked_share(sensitivity, "sensitivity")
    check_keys(cells.keys, ["threshold", "cost_fn", "alpha", "sensitivity", "tpr", "fpr"])
    prepared, groups = prepared_cells(cells)
    tpr, fpr = pl.col("tpr"), pl.col("fpr")
    hull = hulls(prepared, outer=False).with_columns(alpha=(tpr.diff() / fpr.diff()).over(GROUP))
    # The slope that leads to the first corner of at least this sensitivity: for a smaller alpha that corner is the best.
    corner = hull.filter(tpr >= enough(target, pl.lit(not cells.weighted))).group_by(GROUP, maintain_order=True).first()
    at = prepared.select(
        GROUP,
        "threshold",
        tpr=pl.col("tp") / pl.col("n1"),
        fpr=pl.col("fp") / pl.col("n0"),
        odds=pl.col("p0") / pl.col("p1"),
    )
    found = (
        corner.join(at, on=[GROUP, "tpr", "fpr"], how="left", maintain_order="left")
        .group_by(GROUP, maintain_order=True)
        .first()
    )
    columns = found.select(
        GROUP, "threshold", cost_fn=pl.col("odds") / pl.col("alpha"), alpha="alpha", sensitivity="tpr"
    )
    return groups.join(columns, on=GROUP, how="left", maintain_order="left").drop(GROUP)


def cost_of_threshold(grid: Grid) -> pl.Expr:
    """The cost of a miss, that of a false alarm being 1, whose Bayes threshold is the column `threshold`."""
    t = pl.col("threshold")
    if grid.score_type == "posterior":
        t = t.clip(0, 1)  # a threshold below all posteriors is that of a miss that costs infinitely more
        return (1 - t) / t
    if grid.score_type == "log_odds":
        return (-t).exp()
    raise SketchError(
        f"a threshold on {grid.score_type} scores is the Bayes threshold of no costs: sketch posteriors or log-odds"
    )
