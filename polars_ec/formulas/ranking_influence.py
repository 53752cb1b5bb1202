"""The influence of the rows of each cell on ranking metrics, for their variance.

Metrics at the best threshold or hull treat these as fixed, because the metric is flat at the optimum.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.formulas import ranking
from polars_ec.formulas.sums import GROUP

OPERATING_POINTS = ("specificity_at_sensitivity", "sensitivity_at_specificity")
"""Metrics evaluated where a class has a requested share above the threshold."""
SMOOTH_METRICS = ("auc_roc", "average_precision", *OPERATING_POINTS)
"""Metrics that are as smooth as a mean in few rows, so that logit intervals are valid."""

SHARE_VARIANCE = "share_variance"
_SLOPE = pl.col("__ec_slope")
_N1, _N0 = pl.col("n1"), pl.col("n0")
_W1, _W0 = pl.col("w1"), pl.col("w0")
_P1, _P0 = pl.col("p1"), pl.col("p0")
_TPR, _FPR = pl.col("tp") / _N1, pl.col("fp") / _N0
_ABOVE = pl.col("__ec_above")
_STEPS = ("fpr", "tpr")
# The slope of the curve at a point is computed over this many standard errors on either side, as in Woodruff's intervals for quantiles.
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
    if metric in ("average_precision", "auprg"):
        of_area = _of_average_precision if metric == "average_precision" else _of_gain
        return of_area(cells, stated=stated)
    if metric in ("min_expected_cost", "min_dcf"):
        return _of_least_cost(cells, arguments.costs, stated=stated, normalized=metric == "min_dcf")
    if metric in ("ks", "min_cllr"):
        return _of_largest_gap(cells) if metric == "ks" else _of_hull_slopes(cells)
    if metric == "eer":
        return _of_equal_error(cells, linear=arguments.method == "linear")
    above = _above(metric, arguments)
    if metric == "specificity_at_sensitivity":
        slope = _slope(cells, ranking.specificity_at, arguments.sensitivity, 1)
        return _of_classes(cells.join(slope, on=GROUP, how="left"), above * _SLOPE / _N1, -above / _N0)
    slope = _slope(cells, ranking.sensitivity_at, arguments.specificity, 0)
    return _of_classes(cells.join(slope, on=GROUP, how="left"), above / _N1, -above * _SLOPE / _N0)


def influence_on_share(cells: pl.DataFrame, metric: str, arguments: ranking.RankingArguments) -> pl.DataFrame:
    """The `influence` on the share of one class above the threshold at which that of the other class is given."""
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
    """Derivative of the metric with respect to the share at which it is evaluated, per group; null if there are few rows."""
    variance = pl.col(SHARE_VARIANCE).first()
    around = _ERRORS_AROUND * variance.sqrt()
    low, high = pl.max_horizontal(share - around, 0.0), pl.min_horizontal(share + around, 1.0)
    fall = value_at(low, evenly=True).value - value_at(high, evenly=True).value
    # The number implied by the variance, at most the effective sample size (Kish).
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


def _of_gain(cells: pl.DataFrame, *, stated: bool) -> pl.DataFrame:
    """The influence on AUPRG: p1 / p0 times the integral of (1 - FPR / TPR) / TPR^2 by TPR, from p1 on."""
    before = pl.max_horizontal(pl.col("tp_before") / _N1, _P1)
    rise, run = _TPR - before, _W0 / _N0 * pl.when(_W1 > 0).then((_TPR - before) / (_W1 / _N1)).otherwise(1.0)
    mean = pl.when(rise > 0).then((before**-2 - _TPR**-2) / 2 / rise).otherwise(_TPR**-3)
    inside = pl.when(_TPR > _P1)
    of_steps = {"__ec_1": inside.then(run * mean).otherwise(0.0), "__ec_0": inside.then(rise * mean).otherwise(0.0)}
    # The rows below, and half of the row's own cell.
    below = [(pl.col(name).cum_sum(reverse=True) - pl.col(name) / 2).over(GROUP) for name in of_steps]
    start, area = (_FPR - run).filter(_TPR > _P1).first().over(GROUP), ranking.auprg().value.over(GROUP)
    moved = cells.with_columns(**of_steps, __ec_start=start, __ec_area=area).with_columns(below)
    by_prior = pl.lit(0.0) if stated else pl.col("__ec_area") - 1 + pl.col("__ec_start") / _P1
    of_1, of_0 = (_P1 / _P0 * pl.col(name) for name in of_steps)
    mean_1, mean_0 = ((w * of).sum().over(GROUP) / n for w, of, n in ((_W1, of_1, _N1), (_W0, of_0, _N0)))
    return _in_units(moved, (of_1 - mean_1 + by_prior) / _N1, (mean_0 - of_0 - by_prior) / _N0)


def _of_largest_gap(cells: pl.DataFrame) -> pl.DataFrame:
    gap = _TPR - _FPR
    sign = pl.when(gap.max() >= -gap.min()).then(1.0).otherwise(-1.0)
    at_best = cells.with_columns(__ec_above=_up_to_best(gap.abs(), gap.abs().max()) * sign.over(GROUP))
    return _of_classes(at_best, _ABOVE / _N1, -_ABOVE / _N0)


def _up_to_best(values: pl.Expr, best: pl.Expr) -> pl.Expr:
    """1 in the cells above the threshold of the first best value, else 0."""
    return ((values == best).cum_sum().shift(1, fill_value=0) == 0).over(GROUP).cast(pl.Float64)


def _of_least_cost(cells: pl.DataFrame, matrix: CostMatrix, *, stated: bool, normalized: bool) -> pl.DataFrame:
    (c00, c01), (c10, c11) = costs = matrix.values
    cost = ranking.threshold_cost(matrix, _TPR, pl.col("fn") / _N1, _FPR, pl.col("tn") / _N0)
    nothing = ranking.threshold_cost(matrix, *map(pl.lit, (0.0, 1.0, 0.0, 1.0)))
    at_best = cells.with_columns(
        __ec_above=pl.when(nothing <= cost.min().over(GROUP)).then(0.0).otherwise(_up_to_best(cost, cost.min())),
        __ec_least=pl.min_horizontal(nothing, cost.min().over(GROUP)),
    )
    of_1, of_0 = c10 + (c11 - c10) * _ABOVE, c00 + (c01 - c00) * _ABOVE
    less_1 = less_0 = pl.col("__ec_least")
    if normalized:
        never, always = ranking.constant_costs(matrix)
        naive = pl.min_horizontal(never, always)
        ratio, chosen = pl.col("__ec_least") / naive, pl.when(never <= always)
        less_1, less_0 = (ratio * chosen.then(costs[i][0]).otherwise(costs[i][1]) / naive for i in (1, 0))
        of_1, of_0 = of_1 / naive, of_0 / naive
    if stated:
        return _of_classes(at_best, _P1 * of_1 / _N1, _P0 * of_0 / _N0)
    return _in_units(at_best, _P1 * (of_1 - less_1) / _N1, _P0 * (of_0 - less_0) / _N0)


def _of_equal_error(cells: pl.DataFrame, *, linear: bool) -> pl.DataFrame:
    corners = ranking.roc_points(cells, outer=False) if linear else ranking.hulls(cells, outer=False)
    crossing = ranking.reached_first(pl.col("fpr") + pl.col("tpr") >= 1)
    ends = {f"__ec_{x}{back}": pl.col(x).shift(back).get(crossing) for x in ("fpr", "tpr") for back in range(2)}
    moved = cells.join(corners.group_by(GROUP, maintain_order=True).agg(**ends), on=GROUP, how="left")
    (fpr, fpr_before), (tpr, tpr_before) = ([pl.col(f"__ec_{x}{back}") for back in range(2)] for x in ("fpr", "tpr"))
    rise, run = tpr - tpr_before, fpr - fpr_before
    share = (1 - fpr_before - tpr_before) / (rise + run)
    above = share * ((fpr >= _FPR) & (tpr >= _TPR)) + (1 - share) * ((fpr_before >= _FPR) & (tpr_before >= _TPR))
    return _of_classes(moved, -run / (rise + run) * above / _N1, rise / (rise + run) * above / _N0)


def _of_hull_slopes(cells: pl.DataFrame) -> pl.DataFrame:
    """The influence on min Cllr: each row has the loss of the log-likelihood ratio that the slope of the hull is at its score."""
    steps = (pl.col(x).diff().over(GROUP).alias(f"__ec_{x}") for x in _STEPS)
    corners = ranking.hulls(cells, outer=False).with_columns(steps)
    moved = cells.with_columns(fpr=_FPR, tpr=_TPR)
    moved = moved.join(corners, on=[GROUP, *_STEPS], how="left", maintain_order="left")
    moved = moved.with_columns(pl.col("^__ec_(fpr|tpr)$").backward_fill().over(GROUP))
    (step_0, step_1), losses = (pl.col(f"__ec_{x}") for x in _STEPS), []
    for i, step, other in ((1, step_1, step_0), (0, step_0, step_1)):
        # Without a row the slope is another: between both is that without half of it, of effective rows.
        row = (pl.col(f"v{i}").sum() / pl.col(f"weight{i}") ** 2).over(GROUP)
        left = pl.max_horizontal(step - row / 2, step / 2)
        loss = pl.when(pl.col(f"w{i}") > 0).then((other / left).log1p() / (2 * math.log(2))).otherwise(0.0)
        losses.append(loss / pl.col(f"n{i}"))
    return _of_classes(moved, *losses)


def _of_classes(cells: pl.DataFrame, of_1: pl.Expr, of_0: pl.Expr) -> pl.DataFrame:
    """Influence on a metric of the distributions of two classes, each a mean of its own."""
    mean_1, mean_0 = (((w * of).sum() / n.first()).over(GROUP) for w, of, n in ((_W1, of_1, _N1), (_W0, of_0, _N0)))
    return _in_units(cells, of_1 - mean_1, of_0 - mean_0)


def _in_units(cells: pl.DataFrame, of_1: pl.Expr, of_0: pl.Expr) -> pl.DataFrame:
    """Per weight as the rows have it, and not as `prepare` has made it."""
    return cells.with_columns(influence1=of_1 * (_N1 / pl.col("weight1")), influence0=of_0 * (_N0 / pl.col("weight0")))
