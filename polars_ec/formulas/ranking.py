"""Formulas of ranking metrics, on cells of scores sorted in descending order, per group.

A cell adds w1 positives and w0 negatives to those above it. If all its scores are equal, it is one step of the ROC curve. Otherwise the order
of its rows is unknown, and the curve is any path through the box from (fp - w0, tp - w1) to (fp, tp). So every metric has a bound: |returned
- exact| <= error, apart from rounding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import polars as pl

from polars_ec.arguments.classes import constant
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import parse_number
from polars_ec.formulas.hull import upper_hull
from polars_ec.formulas.sums import GROUP, MOST_WEIGHT
from polars_ec.numerics import Floats, np, quiet
from polars_ec.typing import EerMethod

_N1, _N0 = pl.col("n1"), pl.col("n0")
_tpr, _fpr = pl.col("tp") / _N1, pl.col("fp") / _N0
_fnr, _tnr = pl.col("fn") / _N1, pl.col("tn") / _N0
_tpr_before, _fpr_before = pl.col("tp_before") / _N1, pl.col("fp_before") / _N0
_fnr_before, _tnr_before = pl.col("fn_before") / _N1, pl.col("tn_before") / _N0
_LOOSE = ~pl.col("point")
_INNER = "__ec_inner"
_ONE = pl.col("n1").first()

ROUNDING = 1e-12
"""Values whose ratio differs from 1 by no more are equal, apart from rounding."""


@dataclass(frozen=True)
class Bounded:
    """Aggregates over the cells of a group: a value, how far off it may be, and the threshold that attains it."""

    value: pl.Expr
    error: pl.Expr
    threshold: pl.Expr | None = None


@dataclass(frozen=True)
class RankingArguments:
    """Arguments of ranking metrics besides the cells."""

    costs: CostMatrix
    sensitivity: float = 0.95
    specificity: float = 0.95
    method: str = "hull"


def prepare(cells: pl.DataFrame, prior: pl.DataFrame | None, columns: Collection[str] | None = None) -> pl.DataFrame:
    """Prepare cells for the formulas: running sums from the top, totals of the groups, and priors `p1`, `p0`.

    `cells` is sorted and has GROUP, `w1`, `w0` (rows, or their weight), `whole` (whether these are row counts), `point` and `threshold`.
    `prior` has GROUP, `p1` and `p0`, null if the stated prior is invalid; None for the groups' own. Groups that lack a class, or whose
    weights sum to `MOST_WEIGHT` or more, are left out because metrics are undefined there. With `columns`, others may be missing.
    """

    def used(*names: str) -> bool:
        return columns is None or not set(names).isdisjoint(columns)

    assert cells[GROUP].is_sorted()
    # Half of the time: over a key that is known to be sorted the engine needs no hashes.
    in_order = cells.with_columns(pl.col(GROUP).set_sorted())
    counted = in_order.filter((pl.col("w1") > 0) | (pl.col("w0") > 0)).with_columns(
        pl.col(name).sum().over(GROUP).alias(f"weight{name[1]}") for name in ("w1", "w0")
    )
    weight1, weight0 = pl.col("weight1"), pl.col("weight0")
    weight = weight1 + weight0
    two_class = counted.filter(weight1 > 0, weight0 > 0, weight < MOST_WEIGHT).with_columns(
        own1=weight1 / weight, own0=weight0 / weight, w1=_near_1("w1"), w0=_near_1("w0")
    )
    # Sum from both ends, because sums of weights are rounded and their difference may be below 0.
    down = {name: pl.col(w).cum_sum().over(GROUP) for name, w in (("tp", "w1"), ("fp", "w0"))}
    from_below = [(name, w) for name, w in (("fn", "w1"), ("tn", "w0")) if used(name, f"{name}_before")]
    up = {f"{name}_before": pl.col(w).cum_sum(reverse=True).over(GROUP) for name, w in from_below}
    sums = two_class.with_columns(**down, **up)
    before = [(name, f"{name}_before") for name in down]
    moved = {to: pl.col(name).shift(1, fill_value=0.0).over(GROUP) for name, to in before if used(to)}
    moved |= {name: pl.col(f"{name}_before").shift(-1, fill_value=0.0).over(GROUP) for name, _ in from_below}
    totals = {"n1": pl.col("tp").last().over(GROUP), "n0": pl.col("fp").last().over(GROUP)}
    summed = sums.with_columns(**moved, **totals)
    if prior is None:
        return summed.rename({"own1": "p1", "own0": "p0"})
    return summed.drop("own1", "own0").join(prior, on=GROUP, how="left", maintain_order="left")


def _near_1(name: str) -> pl.Expr:
    """The weights in such a unit that their sum is near 1, so that no product of two is lost; counts of rows as they are.

    The unit is a power of two, so that no digit changes.
    """
    power = pl.col(f"weight{name[1]}").log(2).floor().clip(-1000, 1000)
    return pl.when("whole").then(pl.col(name)).otherwise(pl.col(name) * pl.lit(2.0).pow(-power))


def reached_first(reached: pl.Expr) -> pl.Expr:
    """The first row of a group that has reached something, which those below it have too; the last where rounding hides it.

    A count, because which of several maxima arg_max finds depends on the engine.
    """
    return pl.min_horizontal((~reached).sum(), pl.len() - 1)


POSITIVES_ABOVE = pl.col("tp_before") + pl.col("w1") / 2
"""The number of positives above a negative of the cell, with half of those in its cell."""
NEGATIVES_BELOW = pl.col("tn") + pl.col("w0") / 2
"""The number of negatives below a positive of the cell, with half of those in its cell."""


def _auc_roc(_: RankingArguments) -> Bounded:
    pairs = pl.col("w0") * pl.col("w1")
    right = POSITIVES_ABOVE * pl.col("w0")
    all_pairs = (_N1 * _N0).first()
    return Bounded(right.sum() / all_pairs, pl.when(_LOOSE).then(pairs).sum() / 2 / all_pairs)


@quiet
def areas(weight: Floats) -> Floats:
    """The area of each of many tables of cells, (..., cells, classes), from the highest down; NaN where the area is undefined."""
    n0, n1 = (weight[..., label].sum(axis=-1) for label in range(2))
    # As in `_near_1`: areas of row counts stay exact, so that equal areas are equal.
    unit = np.exp2(np.clip(np.floor(np.log2(n1)), -1000, 1000))
    positive = weight[..., 1] / unit[..., None]
    pairs = np.einsum("...c,...c->...", positive.cumsum(axis=-1) - positive / 2, weight[..., 0])
    return np.where((n0 > 0) & (n1 > 0) & (n0 + n1 < MOST_WEIGHT), pairs / (n0 * (n1 / unit)), np.nan)


NEGATIVES_COUNT = (pl.col("p0") / _N0) / (pl.col("p1") / _N1)
"""The weight r of a false positive at the prior: P0 f / (P1 t) = r FP / TP."""


def _average_precision(_: RankingArguments) -> Bounded:
    r = NEGATIVES_COUNT
    tp, w1 = pl.col("tp"), pl.col("w1")
    fp, fp_before = pl.col("fp") * r, pl.col("fp_before") * r
    tied = w1 * tp / (tp + fp)
    high = w1 * tp / (tp + fp_before)
    # One positive after the other, below all negatives of the cell: the sum of a concave function over whole rows is at
    # least its integral from 1/2 to n + 1/2.
    start = pl.col("tp_before") + pl.when("whole").then(0.5).otherwise(0.0) + fp
    low = pl.min_horizontal(w1 - fp * (w1 / start).log1p(), high)
    middle, half = (low + high) / 2, (high - low) / 2
    defined = pl.col("p1").first() > 0
    counted = w1 > 0
    value = pl.when(counted).then(pl.when(_LOOSE).then(middle).otherwise(tied)).sum() / _ONE
    error = pl.when(counted & _LOOSE).then(half).sum() / _ONE
    return Bounded(pl.when(defined).then(value), pl.when(defined).then(error))


def auprg(_: RankingArguments | None = None) -> Bounded:
    """The area from a recall gain of 0 on, a sum of trapezoids."""
    p1, p0 = pl.col("p1"), pl.col("p0")
    # Recall gain is 0 where recall is the prior; the point there is found linearly. Recall is above the prior where misses are
    # below its complement: the smaller one of the two says so with more digits.
    rare = p1 <= 0.5
    before = pl.when(rare).then(_tpr_before < p1).otherwise(_fnr_before > p0)
    start, missed = pl.when(before).then(p1).otherwise(_tpr_before), pl.when(before).then(p0).otherwise(_fnr_before)
    to_start = pl.when(rare).then(p1 - _tpr_before).otherwise(_fnr_before - p0)
    share = pl.when(before).then(to_start / (pl.col("w1") / _N1)).otherwise(0.0)
    fpr_start = _fpr_before + share * (pl.col("w0") / _N0)
    width = p1 / p0 * (missed / start - _fnr / _tpr)
    counted = pl.when(rare).then(_tpr > p1).otherwise(_fnr < p0) & (pl.col("w1") > 0)
    trapezoid = 1 - (fpr_start / start + _fpr / _tpr) / 2
    low, high = 1 - _fpr / start, 1 - _fpr_before / _tpr
    area = pl.when(counted).then(width * pl.when(_LOOSE).then((low + high) / 2).otherwise(trapezoid)).sum()
    error = pl.when(counted & _LOOSE).then(width * (high - low) / 2).sum()
    # A prior below 1e-308 has too few digits to divide by.
    defined = (p1.first() > 0) & (p0.first() > 0) & area.is_finite() & error.is_finite()
    return Bounded(pl.when(defined).then(area), pl.when(defined).then(error))


def _eer_linear(_: RankingArguments) -> Bounded:
    crossing = reached_first(_fpr >= _fnr)
    share = (_fnr_before - _fpr_before) / (pl.col("w1") / _N1 + pl.col("w0") / _N0)
    line = _fpr_before + share * (pl.col("w0") / _N0)
    low = pl.max_horizontal(_fpr_before, _fnr)
    high = pl.min_horizontal(_fpr, _fnr_before)
    value = pl.when(_LOOSE).then((low + high) / 2).otherwise(line)
    error = pl.when(_LOOSE).then((high - low) / 2).otherwise(0.0)
    return Bounded(value.get(crossing), error.get(crossing))


def enough(share: float | pl.Expr, whole: pl.Expr) -> pl.Expr:
    """The least recall, or specificity, that counts as this share of a class; `whole`: weights are 1.

    Sums of weights are rounded: what they make of the very share may come out below it.
    """
    return pl.when(whole).then(share).otherwise(share * (1 - ROUNDING))


def specificity_at(sensitivity: float | pl.Expr, *, evenly: bool = False) -> Bounded:
    """Specificity at the highest threshold with this sensitivity; `evenly`: as if rows lay evenly in a cell, so that nothing jumps with it."""
    attained = reached_first(_tpr >= enough(sensitivity, pl.col("whole")))
    left = (_tpr - sensitivity) / (pl.col("w1") / _N1) if evenly else None
    return _bounded_at(attained, _tnr, pl.col("w0") / _N0, left, pl.col("threshold"))


def sensitivity_at(specificity: float | pl.Expr, *, evenly: bool = False) -> Bounded:
    """Sensitivity at the lowest threshold with this specificity; `evenly` as for `specificity_at`."""
    lost = reached_first(_tnr < enough(specificity, pl.col("whole")))
    passed = (_tnr_before - specificity) / (pl.col("w0") / _N0) if evenly else None
    return _bounded_at(lost, _tpr_before, pl.col("w1") / _N1, passed, pl.col("threshold").shift(1, fill_value=math.inf))


def _bounded_at(at: pl.Expr, value: pl.Expr, run: pl.Expr, part: pl.Expr | None, threshold: pl.Expr) -> Bounded:
    """The value in this cell, which may be larger by a `run` if the cell is loose; with a `part` it is, by this part of it."""
    error = pl.when(_LOOSE).then(run).otherwise(0.0)
    if part is not None:
        value = pl.when(_LOOSE).then(value + part.clip(0, 1) * run).otherwise(value)
    return Bounded(value.get(at), error.get(at), threshold.get(at))


def _ks(_: RankingArguments) -> Bounded:
    distance = (_tpr - _fpr).abs()
    corners = pl.max_horizontal((_tpr - _fpr_before).abs(), (_tpr_before - _fpr).abs())
    largest = distance.max()
    reach = pl.max_horizontal(largest, pl.when(_LOOSE).then(corners).max())
    return Bounded(largest, reach - largest, pl.col("threshold").get(distance.arg_max()))


def _min_expected_cost(arguments: RankingArguments) -> Bounded:
    cost = threshold_cost(arguments.costs, _tpr, _fnr, _fpr, _tnr)
    zero, one = pl.lit(0.0), pl.lit(1.0)
    nothing = threshold_cost(arguments.costs, zero, one, zero, one).first()
    best_corner = threshold_cost(arguments.costs, _tpr, _fnr, _fpr_before, _tnr_before)
    lowest = cost.min()
    below = pl.min_horizontal(lowest, nothing, pl.when(_LOOSE).then(best_corner).min())
    attained = pl.min_horizontal(lowest, nothing)
    threshold = pl.when(nothing <= lowest).then(math.inf).otherwise(pl.col("threshold").get(cost.arg_min()))
    return Bounded(attained, attained - below, threshold)


def _best_threshold(arguments: RankingArguments) -> Bounded:
    """The highest threshold at which the cost is the least, apart from rounding; of cells of one score each."""
    zero, one, score = pl.lit(0.0), pl.lit(1.0), pl.col("threshold")
    # No threshold is below a score of -inf.
    cost = pl.when(score > -math.inf).then(threshold_cost(arguments.costs, _tpr, _fnr, _fpr, _tnr))
    nothing = threshold_cost(arguments.costs, zero, one, zero, one).first()
    least = pl.min_horizontal(cost.min(), nothing)
    almost = least + least.abs() * ROUNDING
    threshold = pl.when(cost <= almost).then(score.shift(-1, fill_value=-math.inf)).max()
    return Bounded(pl.when(nothing <= almost).then(math.inf).otherwise(threshold), pl.lit(0.0))


def _min_dcf(arguments: RankingArguments) -> Bounded:
    bounded = _min_expected_cost(arguments)
    naive = pl.min_horizontal(cost.first() for cost in constant_costs(arguments.costs))
    defined = pl.when(naive > 0)
    return Bounded(
        defined.then(bounded.value / naive), defined.then(bounded.error / naive), defined.then(bounded.threshold)
    )


def constant_costs(costs: CostMatrix) -> list[pl.Expr]:
    """Costs of deciding all rows negative, and positive."""
    return [pl.col("p1") * costs.values[1][j] + pl.col("p0") * costs.values[0][j] for j in range(2)]


def threshold_cost(costs: CostMatrix, tpr: pl.Expr, fnr: pl.Expr, fpr: pl.Expr, tnr: pl.Expr) -> pl.Expr:
    (c00, c01), (c10, c11) = costs.values
    return pl.col("p1") * (c11 * tpr + c10 * fnr) + pl.col("p0") * (c01 * fpr + c00 * tnr)


def _eer_of_hull() -> pl.Expr:
    """The intersection of the hull with the line FPR = FNR, from the corners in `hulls`."""
    fpr, tpr = pl.col("fpr"), pl.col("tpr")
    fpr_before, tpr_before = fpr.shift(1), tpr.shift(1)
    crossing = reached_first(fpr + tpr >= 1)
    share = (1 - fpr_before - tpr_before) / (fpr + tpr - fpr_before - tpr_before)
    return (fpr_before + share * (fpr - fpr_before)).get(crossing)


def _min_cllr_of_hull() -> pl.Expr:
    """Cllr in bits of the log-likelihood ratios that the slopes of the hull are."""
    rise, run = pl.col("tpr").diff(), pl.col("fpr").diff()

    def bits(size: pl.Expr, other: pl.Expr) -> pl.Expr:
        return pl.when(size > 0).then(size * (other / size).log1p()).sum()

    return (bits(rise, run) + bits(run, rise)) / (2 * math.log(2))


def roc_points(cells: pl.DataFrame, outer: bool) -> pl.DataFrame:
    """Points `fpr`, `tpr` of each group's ROC curve, from the origin on; `outer`: of the highest curve that the cells allow."""
    # The points are written in order, which spares a sort: each group has its origin, and each cell its corner, if it is loose, and its end.
    is_first, loose = pl.col(GROUP) != pl.col(GROUP).shift(), _LOOSE if outer else pl.lit(value=False)
    columns = {"first": is_first.fill_null(value=True), "loose": loose, "fpr": _fpr, "tpr": _tpr, "before": _fpr_before}
    steps = cells.select(**{name: column for name, column in columns.items() if outer or name != "before"})
    first, corner, fpr, tpr = (steps[name].to_numpy() for name in ("first", "loose", "fpr", "tpr"))
    number = 1 + first.astype(np.int64) + corner
    end = np.cumsum(number) - 1
    points = np.zeros((2, int(number.sum())))
    points[:, end] = fpr, tpr
    if outer:
        points[:, end[corner] - 1] = steps["before"].to_numpy()[corner], tpr[corner]
    return pl.DataFrame(
        {GROUP: cells[GROUP].gather(np.repeat(np.arange(len(end)), number)), "fpr": points[0], "tpr": points[1]}
    )


def hulls(cells: pl.DataFrame, outer: bool) -> pl.DataFrame:
    """Corners of the hull of these points."""
    points = roc_points(cells, outer)
    kept = upper_hull(points[GROUP].to_numpy(), points["fpr"].to_numpy(), points["tpr"].to_numpy())
    return points[kept]


def _of_hulls(cells: pl.DataFrame, names: Collection[str]) -> dict[str, pl.DataFrame]:
    """`value` and `error` per group of metrics that fall as the hull grows."""

    def of_hull(outer: bool) -> pl.DataFrame:
        formulas = {name: _OF_HULL[name]() for name in names}
        return hulls(cells, outer).group_by(GROUP, maintain_order=True).agg(**formulas)

    inner = of_hull(outer=False)
    # Without cells of unknown order there is but one hull.
    outer = inner if cells["point"].all() else of_hull(outer=True)
    bounds = outer.join(inner, on=GROUP, suffix=_INNER)
    values = {}
    for name in names:
        low, high = pl.col(name), pl.col(f"{name}{_INNER}")
        values[name] = bounds.select(GROUP, value=(low + high) / 2, error=((high - low) / 2).clip(0))
    return values


_PLAIN: dict[str, Callable[[RankingArguments], Bounded]] = {
    "auc_roc": _auc_roc,
    "average_precision": _average_precision,
    "auprg": auprg,
    "specificity_at_sensitivity": lambda arguments: specificity_at(arguments.sensitivity),
    "sensitivity_at_specificity": lambda arguments: sensitivity_at(arguments.specificity),
    "ks": _ks,
    "min_expected_cost": _min_expected_cost,
    "min_dcf": _min_dcf,
}
_OF_ROWS = {"best_threshold": _best_threshold}
_OF_HULL = {"eer": _eer_of_hull, "min_cllr": _min_cllr_of_hull}
RANKING_METRICS = (*_PLAIN, *_OF_HULL)

CLASS_AREAS = ("macro_auc_roc", "weighted_auc_roc", "pairwise_auc_roc")
"""Means over classes of areas under ROC curves, which take one score per class."""
ORDER_METRICS = (*RANKING_METRICS, *CLASS_AREAS)
"""Metrics of the order of scores, which are no functions of sums over rows."""


def columns_for(names: Collection[str], arguments: RankingArguments) -> set[str]:
    """The columns of prepared cells that these metrics are computed from."""
    used = {GROUP}
    for name in names:
        of = _bounded(name, arguments)
        hull = (_tpr, _fpr, _tpr_before, _fpr_before, _LOOSE)
        expressions = hull if of is None else (of.value, of.error, of.threshold)
        used |= {column for each in expressions if each is not None for column in each.meta.root_names()}
    return used


def _bounded(name: str, arguments: RankingArguments) -> Bounded | None:
    """The aggregates of a metric; None if it is one of the hull."""
    if name == "eer" and arguments.method == "linear":
        return _eer_linear(arguments)
    return None if name in _OF_HULL else (_PLAIN | _OF_ROWS)[name](arguments)


def evaluate(cells: pl.DataFrame, name: str, arguments: RankingArguments) -> pl.DataFrame:
    """GROUP, `value`, `error` and, where one attains it, `threshold`: one row per group that has both classes."""
    return evaluate_all(cells, [name], arguments)[name]


def evaluate_all(cells: pl.DataFrame, names: Sequence[str], arguments: RankingArguments) -> dict[str, pl.DataFrame]:
    """The results of `evaluate` for several metrics, which share the hull."""
    found = {name: _bounded(name, arguments) for name in names}
    of_hull = [name for name, bounded in found.items() if bounded is None]
    values = _of_hulls(cells, of_hull) if of_hull else {}
    for name, bounded in found.items():
        if bounded is None:
            continue
        columns = {"value": bounded.value, "error": bounded.error}
        if bounded.threshold is not None:
            columns["threshold"] = bounded.threshold
        values[name] = cells.group_by(GROUP, maintain_order=True).agg(**columns)
    return values


def exact_values(rows: pl.DataFrame, name: str, arguments: RankingArguments) -> pl.DataFrame:
    """GROUP and `value`, exact, for the groups in which it is defined.

    `rows` has GROUP, ascending, `usable`, `invalid`, `score`, `positive`, and where they are stated `weight`, and `p0` and `p1`.
    """
    weighted = "weight" in rows.columns
    right = rows.filter((~pl.col("invalid").any()).over(GROUP)) if rows["invalid"].any() else rows
    score, group = pl.col("score"), pl.col(GROUP).set_sorted()
    used = right.filter("usable").select(group, "score", "positive", *(["weight"] if weighted else []))
    # Sorted group by group, and added up where neighbours are ties: a third of the time of grouping and sorting by both.
    ordered = used.select(pl.all().sort_by(score, descending=True).over(GROUP, mapping_strategy="explode"))
    is_tie = (score == score.shift()) & (pl.col(GROUP) == pl.col(GROUP).shift())
    starts = ordered.select((~is_tie).fill_null(value=True)).to_series().arg_true().to_numpy()
    amount = ordered["weight"].to_numpy() if weighted else np.ones(ordered.height)
    positive = ordered["positive"].to_numpy()
    sums = {f"w{i}": np.add.reduceat(np.where(positive == i, amount, 0.0), starts) for i in range(2)}
    constants = {"point": pl.lit(value=True), "whole": pl.lit(value=not weighted)}
    cells = ordered[starts].select(GROUP, threshold=score, **constants, **sums)
    prior = right.group_by(GROUP).agg(constant(pl.col("p0")), constant(pl.col("p1"))) if "p0" in rows.columns else None
    prepared = prepare(cells, prior, columns_for([name], arguments))
    return evaluate(prepared, name, arguments).select(GROUP, "value")


def checked_share(share: float, name: str) -> float:
    """A sensitivity, or specificity, that some threshold can have."""
    if not 0 < parse_number(share, name) <= 1:
        raise ValueError(f"{name}={share!r} is not above 0 and at most 1")
    return float(share)


def checked_method(method: str) -> EerMethod:
    """Check the method for the EER."""
    if method not in ("hull", "linear"):
        raise ValueError(f"method={method!r} is not 'hull' or 'linear'")
    return "hull" if method == "hull" else "linear"
