"""The influence of the rows of each cell on ranking metrics that are smooth: what their variance is made of."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from polars_ec.formulas import ranking
from polars_ec.formulas.sums import GROUP

OPERATING_POINTS = ("specificity_at_sensitivity", "sensitivity_at_specificity")
"""Those that are read off where a class has a share above the threshold that is asked for."""
SMOOTH_METRICS = ("auc_roc", "average_precision", *OPERATING_POINTS)
"""The ranking metrics that have it."""

SHARE_VARIANCE = "share_variance"
_SLOPE = pl.col("__ec_slope")
_N1, _N0 = pl.col("n1"), pl.col("n0")
_W1, _W0 = pl.col("w1"), pl.col("w0")
# The slope of the curve at a point is taken between so many standard errors on either side, as Woodruff has limits of a quantile.
_ERRORS_AROUND = 2
# With fewer rows of a class than this beyond a point, nobody knows how the curve runs there.
_FEWEST_BEYOND = 5


def influence(cells: pl.DataFrame, metric: str, arguments: ranking.RankingArguments, *, stated: bool) -> pl.DataFrame:
    """The result of `prepare` with `influence1` and `influence0`: of a positive and of a negative of weight 1 in the cell.

    `stated`: the prior is a stated one, which rows do not move. For OPERATING_POINTS `cells` has SHARE_VARIANCE, too: of the share above
    the threshold, whose influence is that of `influence_on_share`.
    """
    if metric == "auc_roc":
        return _of_classes(cells, ranking.NEGATIVES_BELOW / _N0 / _N1, ranking.POSITIVES_ABOVE / _N1 / _N0)
    if metric == "average_precision":
        return _of_average_precision(cells, stated=stated)
    above = _above(metric, arguments)
    if metric == "specificity_at_sensitivity":
        slope = _slope(cells, ranking.specificity_at, arguments.sensitivity, 1)
        return _of_classes(cells.join(slope, on=GROUP, how="left"), above * _SLOPE / _N1, -above / _N0)
    slope = _slope(cells, ranking.sensitivity_at, arguments.specificity, 0)
    return _of_classes(cells.join(slope, on=GROUP, how="left"), above / _N1, -above * _SLOPE / _N0)


def influence_on_share(cells: pl.DataFrame, metric: str, arguments: ranking.RankingArguments) -> pl.DataFrame:
    """What `influence` gives, on the share of the one class above the threshold at which the other one's is read off."""
    above, nothing = _above(metric, arguments), pl.lit(0.0)
    if metric == "specificity_at_sensitivity":
        return _of_classes(cells, above / _N1, nothing)
    return _of_classes(cells, nothing, above / _N0)


def _above(metric: str, arguments: ranking.RankingArguments) -> pl.Expr:
    """1 in cells above the threshold, else 0; cells of unknown order are on the side where most of their rows are."""
    if metric == "specificity_at_sensitivity":
        share, before, after = arguments.sensitivity, pl.col("tp_before") / _N1, pl.col("tp") / _N1
        tied, middle = before < ranking.enough(share, pl.col("whole")), (before + after) / 2 < share
    else:
        share, before, after = arguments.specificity, pl.col("tn_before") / _N0, pl.col("tn") / _N0
        tied, middle = after >= ranking.enough(share, pl.col("whole")), (before + after) / 2 > share
    return pl.when("point").then(tied).otherwise(middle).cast(pl.Float64)


def _slope(cells: pl.DataFrame, value_at: Callable[..., ranking.Bounded], share: float, label: int) -> pl.DataFrame:
    """How fast the metric falls, per group, as the share rises at which it is read off; null where few rows tell."""
    variance = pl.col(SHARE_VARIANCE).first()
    around = _ERRORS_AROUND * variance.sqrt()
    low, high = pl.max_horizontal(share - around, 0.0), pl.min_horizontal(share + around, 1.0)
    fall = value_at(low, evenly=True).value - value_at(high, evenly=True).value
    # As many as the variance says, and no more than there are of equal weight (Kish).
    there = pl.col(f"weight{label}").first() ** 2 / pl.col(f"v{label}").sum()
    rows = pl.min_horizontal(share * (1 - share) / variance, there)
    known = (variance > 0) & (rows * min(share, 1 - share) >= _FEWEST_BEYOND)
    return cells.group_by(GROUP, maintain_order=True).agg(pl.when(known).then(fall / (high - low)).alias("__ec_slope"))


def _of_average_precision(cells: pl.DataFrame, *, stated: bool) -> pl.DataFrame:
    r = ranking.NEGATIVES_COUNT
    # Rows that are not tied have on average one half of those of their cell above them.
    tied, half = pl.col("point"), pl.lit(0.5)
    tp = pl.when(tied).then("tp").otherwise(pl.col("tp_before") + half * _W1)
    fp = r * pl.when(tied).then("fp").otherwise(pl.col("fp_before") + half * _W0)
    precision = pl.when(tp > 0).then(tp / (tp + fp)).otherwise(0.0)
    # A row moves the precision at its own score, and at all positives below; in its own cell, at those that it is above or ties with.
    share = pl.when(tied).then(1.0).otherwise(half)
    moved = cells.with_columns(
        __ec_own=precision,
        __ec_1=pl.when(_W1 > 0).then(_W1 * precision * (1 - precision) / tp).otherwise(0.0),
        __ec_0=pl.when(_W1 > 0).then(-_W1 * precision * precision / tp * r).otherwise(0.0),
    ).with_columns(
        pl.col(name).cum_sum(reverse=True).over(GROUP) - (1 - share) * pl.col(name) for name in ("__ec_1", "__ec_0")
    )
    of_1, of_0 = (pl.col("__ec_own") + pl.col("__ec_1")) / _N1, pl.col("__ec_0") / _N1
    if stated:
        return _of_classes(moved, of_1, of_0)
    # At the group's own prior the number of positives is what the sum is divided by, and r stays 1.
    whole = ((_W1 * of_1 + _W0 * of_0).sum() / _N1.first()).over(GROUP)
    return _in_units(moved, of_1 - whole, of_0)


def _of_classes(cells: pl.DataFrame, of_1: pl.Expr, of_0: pl.Expr) -> pl.DataFrame:
    """Influence on a metric of the distributions of two classes, each a mean of its own."""
    mean_1, mean_0 = (((w * of).sum() / n.first()).over(GROUP) for w, of, n in ((_W1, of_1, _N1), (_W0, of_0, _N0)))
    return _in_units(cells, of_1 - mean_1, of_0 - mean_0)


def _in_units(cells: pl.DataFrame, of_1: pl.Expr, of_0: pl.Expr) -> pl.DataFrame:
    """Per weight as the rows have it, and not as `prepare` has made it."""
    return cells.with_columns(influence1=of_1 * (_N1 / pl.col("weight1")), influence0=of_0 * (_N0 / pl.col("weight0")))
