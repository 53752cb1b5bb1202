"""Curves over the thresholds of a sketch, and thresholds and costs derived from them.

A curve is a tidy table with one row per group and operating point, highest threshold first. Operating points are the edges of cells, where
the counts are exact. So every point lies on the exact curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.costs import CostMatrix, Costs
from polars_ec.arguments.keywords import Request, did_you_mean, parse_interval, parse_number
from polars_ec.arguments.signatures import checked_keywords
from polars_ec.exceptions import SketchError, warn
from polars_ec.formulas import decisions
from polars_ec.formulas.ranking import ROUNDING, checked_share, enough, hulls
from polars_ec.formulas.sums import GROUP
from polars_ec.scores.scores import sigmoid
from polars_ec.sketches.arguments import OperatingPoint, parse_formula_arguments, parse_method
from polars_ec.sketches.cells import TARGET, Cells, check_keys, in_order
from polars_ec.sketches.evaluation import evaluate, with_bands
from polars_ec.sketches.grid import Grid
from polars_ec.sketches.sums import LOWEST, GroupSums, T, at_every_edge, is_exact, prepared_cells
from polars_ec.typing import EceNorm, EerMethod, IntervalMethod

# Beyond it the normalised cost of any miss, or of any false alarm, is infinite.
_LARGEST_HALF_LOG_ODDS = 700.0
_ENDS = ("low", "high")

D = TypeVar("D", bound="DecidingCells")


def place_of_best(metric: str, value: pl.Expr) -> pl.Expr:
    """The place of the best value of a decision metric, the first of several, apart from rounding; null if none is known."""
    best = value.min() if decisions.lower_is_better(metric) else value.max()
    is_best = (value == best) | ((value - best).abs() <= best.abs() * ROUNDING)
    return pl.when(is_best).then(pl.int_range(pl.len())).min()


def evaluated_in_order(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The rows of an evaluation by their groups; a warning says why if no group has values."""
    if (table["n_invalid"] > 0).any() and table.filter(n_invalid=0).filter(pl.col("n") > 0).is_empty():
        warn("metrics are null in all groups: each has invalid rows, or no rows (see n, n_missing and n_invalid)")
    return in_order(table, keys)


def cost_curve(
    cells: Cells,
    metrics: Sequence[str],
    keywords: Mapping[str, Any] = MappingProxyType({}),
    interval: float | None = None,
) -> pl.DataFrame:
    """Compute decision metrics at every operating point, for `Sketch.cost_curve`."""
    for name in metrics:
        if not isinstance(name, str) or name not in decisions.DECISIONS:
            hint = did_you_mean(str(name), decisions.DECISIONS)
            raise SketchError(f"{name!r} is not a metric of decisions: {hint}They are {', '.join(decisions.DECISIONS)}")
    arguments = parse_formula_arguments(metrics, keywords)
    points, sums = at_every_edge(cells, arguments)
    formulas = {name: decisions.decision_value(name, sums, arguments.formula) for name in metrics}
    return with_values(cells, points, {"threshold": pl.col("threshold")}, formulas, arguments.formula.costs, interval)


def with_values(
    cells: Cells,
    points: pl.DataFrame,
    place: Mapping[str, pl.Expr],
    formulas: Mapping[str, pl.Expr],
    costs: CostMatrix,
    interval: float | None,
) -> pl.DataFrame:
    """The keys and the place of operating points, and formulas on their sums, with bounds for each point alone."""
    request = parse_interval({"interval": interval})
    limited = [name for name in formulas if name not in decisions.CELLS] if request is not None else []
    check_keys(cells.keys, [*place, *formulas, *(f"{name}_ci_{end}" for name in limited for end in _ENDS)])
    shown = points.select(*cells.keys, **place, **formulas)
    if request is None or not limited:
        return shown
    bands = with_bands(points, {name: formulas[name] for name in limited}, cells, costs, request)
    order = [x for name in formulas for x in (name, *(f"{name}_ci_{end}" for end in _ENDS if name in limited))]
    return shown.with_columns(**bands).select(*cells.keys, *place, *order)


def roc(cells: Cells, *, interval: float | None = None) -> pl.DataFrame:
    """Compute the ROC curve from (0, 0) to (1, 1), with the columns `threshold`, `fpr` and `tpr`.

    With `interval`, such as 0.95, both rates have bounds, as in `evaluate` at a declared threshold: `fpr_ci_low`, `fpr_ci_high`,
    `tpr_ci_low`, `tpr_ci_high`. They hold for each point alone; a band of them covers the whole curve less often.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.roc().rows()
    [(inf, 0.0, 0.0), (0.7, 0.0, 0.5), (0.4, 0.5, 0.5), (0.1, 0.5, 1.0), (-inf, 1.0, 1.0)]
    """
    check_keys(cells.keys, ["tpr"])
    curve = cost_curve(cells, ["fpr", "recall"], interval=interval)
    return curve.rename({name: name.replace("recall", "tpr") for name in curve.columns[len(cells.keys) :]})


def roc_hull(cells: Cells) -> pl.DataFrame:
    """Compute the corners of the ROC curve's convex hull, which the best calibration attains: `fpr`, `tpr`, from (0, 0) to (1, 1).

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.roc_hull().rows()
    [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]
    """
    prepared, groups = prepared_cells(cells)
    corners = hulls(prepared, outer=False)
    check_keys(cells.keys, corners.columns)
    return groups.join(corners, on=GROUP, maintain_order="left_right").drop(GROUP)


def det(cells: Cells, *, interval: float | None = None) -> pl.DataFrame:
    """Compute the DET curve, with the columns `threshold`, `fpr` and `fnr`, and both rates as probits, `fpr_probit` and `fnr_probit`.

    With `interval`, such as 0.95, each has bounds, `NAME_ci_low` and `NAME_ci_high`, for each point alone, as in `roc`.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.det().row(2)
    (0.4, 0.5, 0.5, 0.0, 0.0)
    """
    bounds = [f"{rate}_probit_ci_{end}" for rate in ("fpr", "fnr") for end in _ENDS]
    check_keys(cells.keys, ["fpr_probit", "fnr_probit", *bounds])
    points = cost_curve(cells, ["fpr", "fnr"], interval=interval)
    rates = [name for name in points.columns[len(cells.keys) :] if name != "threshold"]
    return points.with_columns(_probit(points[name]).alias(f"{name[:3]}_probit{name[3:]}") for name in rates)


def _probit(rates: pl.Series) -> pl.Series:
    # Imported here, for nothing else needs it.
    from statistics import NormalDist

    inverse = NormalDist().inv_cdf
    values = [
        None if rate is None else inverse(rate) if 0 < rate < 1 else math.copysign(math.inf, rate - 0.5)
        for rate in rates
    ]
    return pl.Series(values, dtype=pl.Float64)


def pr(cells: Cells, *, prior: Prior = None, interval: float | None = None) -> pl.DataFrame:
    """Compute the precision-recall curve, with the columns `threshold`, `recall` and `precision`; with `prior`, calibrated precision.

    Precision is null if no row is decided positive. With `interval`, such as 0.95, both have bounds, `NAME_ci_low` and `NAME_ci_high`, for
    each point alone.

    References
    ----------
    Siblini et al., "Master your metrics with calibration", Eq. 5, for calibrated precision.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.pr(prior=0.2).select(pl.all().round(3)).rows()
    [(inf, 0.0, None), (0.7, 0.5, 1.0), (0.4, 0.5, 0.2), (0.1, 1.0, 0.333), (-inf, 1.0, 0.2)]
    """
    return cost_curve(cells, ["recall", "precision"], {"prior": prior}, interval)


def gains(cells: Cells, *, prior: Prior = None, interval: float | None = None) -> pl.DataFrame:
    """Compute the gains curve, or cumulative accuracy profile: `threshold`, `share` of the rows above it, `recall`, and `lift`.

    Lift is recall / share: 1 for a random choice, at most 1 / P_1, and null if no row is above the threshold. With `prior`, the share is that
    at these class priors. With `interval`, such as 0.95, `share` and `recall` have bounds, `NAME_ci_low` and `NAME_ci_high`, for each
    threshold alone. Unlike those of `cost_curve`, these columns do not depend on costs.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.ec.sketch("p", "y", exact=True).gains().select("threshold", "share", "recall", pl.col("lift").round(2)).rows()
    [(inf, 0.0, 0.0, None), (0.7, 0.25, 0.5, 2.0), (0.4, 0.5, 0.5, 1.0), (0.1, 0.75, 1.0, 1.33), (-inf, 1.0, 1.0, 1.0)]
    """
    check_keys(cells.keys, ["share", "lift"])
    curve = cost_curve(cells, ["decision_share", "recall"], {"prior": prior}, interval)
    share = {f"decision_share{end}": f"share{end}" for end in ("", *(f"_ci_{end}" for end in _ENDS))}
    curve = curve.rename({name: to for name, to in share.items() if name in curve.columns})
    bounds = [f"{name}_ci_{end}" for name in ("share", "recall") for end in _ENDS if interval is not None]
    lift = pl.when(pl.col("share") > 0).then(pl.col("recall") / pl.col("share"))
    return curve.with_columns(lift=lift).select(*cells.keys, "threshold", "share", "recall", "lift", *bounds)


def prg(cells: Cells, *, prior: Prior = None) -> pl.DataFrame:
    """Compute the precision-recall-gain curve: `threshold`, `recall_gain`, `precision_gain`; with `prior`, calibrated.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.prg().rows()[1:4]
    [(0.7, 0.0, 1.0), (0.4, 0.0, 0.0), (0.1, 1.0, 0.5)]
    """
    return cost_curve(cells, ["recall_gain", "precision_gain"], {"prior": prior})


def tippett(cells: Cells) -> pl.DataFrame:
    """Compute Tippett curves, the share of each class above each threshold: `threshold`, `positives_above`, `negatives_above`.

    `threshold` is an LLR in a sketch of LLRs. Otherwise it is the log-odds: the LLR plus the log-odds of the posteriors' own prior. Shares
    count scores strictly above the threshold: for positives the recall, for negatives the false-positive rate. At 0 the curves for LLRs show
    which share of each class has misleading evidence.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -1.0, 1.5, -2.0], "y": [1, 1, 0, 0]})
    >>> log.ec.sketch("llr", "y", score_type="llr", exact=True).tippett().rows()[1:4]
    [(1.5, 0.5, 0.0), (-1.0, 0.5, 0.5), (-2.0, 1.0, 0.5)]
    """
    if cells.grid.scale.has_order_only:
        raise SketchError("Tippett curves need LLRs or log-odds, but the sketch has raw scores: use roc()")
    check_keys(cells.keys, ["positives_above", "negatives_above"])
    above = {"recall": "positives_above", "fpr": "negatives_above"}
    curve = cost_curve(cells, [*above]).rename(above)
    scale = cells.grid.scale
    return curve.with_columns(threshold=scale.log_odds(pl.col("threshold").clip(*scale.bounds)))


def bayes_error(cells: Cells, prior_log_odds: Sequence[float]) -> pl.DataFrame:
    """Compute the Bayes error plot of LLRs: actual and minimum DCF at each prior, normalised by the naive system.

    Parameters
    ----------
    cells
        Cells of LLRs.
    prior_log_odds
        Log-odds of the effective priors, finite. To make the actual DCF exact, declare the thresholds -x for these x in the sketch.

    Returns
    -------
    The group columns, `prior_log_odds`, `dcf` (or `dcf_low` and `dcf_high` if the threshold was not declared), `min_dcf` and `min_dcf_error`.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -1.0, 1.5, -2.0], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("llr", "y", score_type="llr", thresholds=[0.0])
    >>> sketch.bayes_error([0.0]).select("prior_log_odds", "dcf", "min_dcf").rows()
    [(0.0, 1.0, 0.5)]
    """
    if not hasattr(prior_log_odds, "__iter__") or not len(prior_log_odds):
        raise ValueError(f"prior_log_odds={prior_log_odds!r} is not a sequence of numbers: pass [0.0], for example")
    points = [parse_number(x, "prior_log_odds") for x in prior_log_odds]
    if any(math.isinf(x) for x in points):
        raise ValueError(f"prior_log_odds={list(prior_log_odds)} is not finite, which leaves only one class")
    check_keys(cells.keys, ["prior_log_odds", "dcf", "dcf_low", "dcf_high"])
    thresholds = [cells.grid.declared(-x) for x in points]
    exact = all(is_exact(cells.grid, threshold) for threshold in thresholds)
    tables = []
    for x, threshold in zip(points, thresholds, strict=True):
        # Costs at even priors, which make the same cost as these priors at even costs: no share is rounded to 0 or 1.
        half = min(max(x / 2, -_LARGEST_HALF_LOG_ODDS), _LARGEST_HALF_LOG_ODDS)
        costs = CostMatrix.binary(cost_fn=math.exp(half), cost_fp=math.exp(-half))
        at = evaluate(cells, ["dcf", "min_dcf"], {"prior": 0.5, "costs": costs, "threshold": threshold})
        if not exact and "dcf" in at.columns:
            at = at.with_columns(dcf_low="dcf", dcf_high="dcf")
        actual, place = ["dcf"] if exact else ["dcf_low", "dcf_high"], pl.lit(float(x)).alias("prior_log_odds")
        tables.append(at.select(*cells.keys, place, *actual, "min_dcf", "min_dcf_error"))
    return pl.concat(tables).sort(*cells.keys, "prior_log_odds", nulls_last=True)


def bayes_risk(cells: Cells) -> pl.DataFrame:
    """Compute the Bayes risk of posteriors at every operating point t, at the costs [[0, 1/(1-t)], [1/t, 0]]: `t`, `bayes_risk`.

    Its integral over t is the cross-entropy. Weighted by the density Beta(2, 2), it is 3 times the Brier score.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> curve = sketch.bayes_risk()
    >>> curve.select(pl.all().round(3)).rows()[1:4]
    [(0.7, 0.357), (0.4, 1.042), (0.1, 0.278)]
    """
    return values_over_t(cells, {"bayes_risk": decisions.risk_over_t})


def murphy(cells: Cells, *, prior: Prior = None, interval: float | None = None) -> pl.DataFrame:
    """Compute the Murphy diagram of posteriors, their mean elementary score at every threshold t: `t`, `elementary_score`.

    Lower is better; in [0, 1]. Deciding positive above t, a miss costs 1 - t and a false alarm t. Twice the integral over t is the Brier
    score, and weighted by 1 / (t (1 - t)) it is the cross-entropy. A model whose curve is nowhere above that of another is at least as good
    by every proper scoring rule.

    Parameters
    ----------
    cells
        Cells of posteriors or log-odds.
    prior, interval
        As for `evaluate`; the bounds are for each point alone.

    References
    ----------
    Ehm, Gneiting, Jordan and Krüger, "Of quantiles and expectiles: consistent scoring functions, Choquet representations and forecast
    rankings", 2016.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.murphy().select(pl.all().round(3)).rows()[1:4]
    [(0.7, 0.075), (0.4, 0.25), (0.1, 0.025)]
    """
    return values_over_t(cells, {"elementary_score": decisions.elementary_score}, prior, interval)


def decision_curve(
    cells: Cells, *, prior: Prior = None, normalized: bool = False, interval: float | None = None
) -> pl.DataFrame:
    """Compute the decision curve of posteriors, their net benefit at every threshold probability: `p_t`, `net_benefit`, `treat_all`.

    Higher is better; at most the prior of the positive class. `treat_all` is the net benefit of deciding every case positive; that of
    deciding none positive is 0. The function `net_benefit` documents both.

    Parameters
    ----------
    cells
        Cells of posteriors or log-odds.
    prior, interval
        As for `evaluate`; the bounds are for each point alone, and `treat_all` has none.
    normalized
        Divide by the prior of the positive class, so that perfect scores have 1: standardised net benefit.

    References
    ----------
    Vickers and Elkin, "Decision curve analysis: a novel method for evaluating prediction models", 2006; Kerr et al., "Assessing the clinical
    impact of risk prediction models with decision curves", 2016 (standardised net benefit).

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.decision_curve().select(pl.all().round(3)).rows()[:3]
    [(0.7, 0.25, -0.667), (0.4, 0.083, 0.167), (0.1, 0.472, 0.444)]
    """
    check_keys(cells.keys, ["p_t"])
    curve = values_over_t(cells, decisions.NET_BENEFITS[normalized], prior, interval)
    # At 1 a false alarm is infinitely bad.
    return curve.filter(pl.col("t") < 1).select(pl.exclude("treat_all"), "treat_all").rename({"t": "p_t"})


def _at_each_t(points: pl.DataFrame) -> pl.DataFrame:
    return points.filter(~pl.col(LOWEST)).unique([GROUP, T], keep="first", maintain_order=True)


def values_over_t(
    cells: Cells,
    formulas: decisions.FormulasOverT,
    prior: Prior = None,
    interval: float | None = None,
    along: Callable[[pl.DataFrame], pl.DataFrame] = _at_each_t,
) -> pl.DataFrame:
    """The first of the formulas with bounds, and the others, at every `t`, or `along` further points that are made of these."""
    metric, *others = formulas
    points, sums = points_over_t(cells, metric, prior)
    of = {name: value(sums, pl.col(T)) for name, value in formulas.items()}
    place = {"t": pl.col(T), **{name: of[name] for name in others}}
    return with_values(cells, along(points), place, {metric: of[metric]}, CostMatrix.binary(), interval)


def points_over_t(cells: Cells, name: str, prior: Prior = None) -> tuple[pl.DataFrame, GroupSums]:
    """Every operating point, by the posterior t above which it decides positive, from 1 down to 0; and its sums as formulas take them."""
    cells.grid.check_posteriors(name)
    check_keys(cells.keys, ["threshold"])
    points, sums = at_every_edge(cells, parse_formula_arguments((), {"prior": prior}))
    # Below the lowest score all is positive, down to t = 0, but for posteriors of 0.
    ends = points.filter(~pl.col(LOWEST)).group_by(GROUP, maintain_order=True).last().select(points.columns)
    whole = pl.concat([points, ends.with_columns(threshold=pl.lit(-math.inf))])
    t, scale = pl.col("threshold"), cells.grid.scale
    t = scale.share(t) if scale.is_share else sigmoid(t)
    whole = whole.sort(GROUP, "threshold", descending=[False, True], maintain_order=True)
    return whole.with_columns(t.clip(0, 1).alias(T)), sums


# Costs that follow from a sensitivity or a threshold that somebody has chosen.


def cost_of_sensitivity(cells: Cells, sensitivity: float) -> pl.DataFrame:
    """The costs for which the best threshold attains this sensitivity."""
    target = checked_share(sensitivity, "sensitivity")
    check_keys(cells.keys, ["threshold", "cost_fn", "alpha", "sensitivity", "tpr", "fpr"])
    prepared, groups = prepared_cells(cells)
    tpr, fpr = pl.col("tpr"), pl.col("fpr")
    hull = hulls(prepared, outer=False).with_columns(alpha=(tpr.diff() / fpr.diff()).over(GROUP))
    # The slope that leads to the first corner of at least this sensitivity: for a smaller alpha that corner is the best.
    corner = hull.filter(tpr >= enough(target, pl.lit(not cells.weighted))).group_by(GROUP, maintain_order=True).first()
    rates = {"tpr": pl.col("tp") / pl.col("n1"), "fpr": pl.col("fp") / pl.col("n0")}
    at = prepared.select(GROUP, "threshold", **rates, odds=pl.col("p0") / pl.col("p1"))
    placed = corner.join(at, on=[GROUP, *rates], how="left", maintain_order="left")
    columns = (
        placed.group_by(GROUP, maintain_order=True)
        .first()
        .select(GROUP, "threshold", cost_fn=pl.col("odds") / pl.col("alpha"), alpha="alpha", sensitivity="tpr")
    )
    return groups.join(columns, on=GROUP, how="left", maintain_order="left").drop(GROUP)


def cost_of_threshold(grid: Grid) -> pl.Expr:
    """The cost of a miss, that of a false alarm being 1, whose Bayes threshold is the column `threshold`."""
    t, scale = pl.col("threshold"), grid.scale
    if scale.is_share:
        # A threshold below all posteriors is that of a miss that costs infinitely more.
        t = scale.share(t.clip(*scale.bounds))
        return (1 - t) / t
    if scale.has_posteriors:
        return (-t).exp()
    raise SketchError(
        f"a threshold on {grid.score_type} scores does not correspond to costs: sketch posteriors or log-odds"
    )


# Means over the targets of a sketch: of each class against the rest.

_ROWS = ("n", "n_missing", "n_invalid")


def _mean_of_targets(value: pl.Expr, average: str) -> pl.Expr:
    """The mean; null where a target has no value, but one that weighs nothing needs none."""
    share = pl.col("class_prior")
    term = value if average == "macro" else pl.when(share == 0).then(0.0).otherwise(share * value)
    return pl.when(term.null_count() == 0).then(term.mean() if average == "macro" else term.sum())


def _check_targets(cells: Cells, metrics: Sequence[str], average: str, keywords: Mapping[str, Any]) -> None:
    """SketchError for a sketch that is not of one class against the rest, and for what has no mean."""
    if average not in ("macro", "weighted"):
        raise ValueError(f"average={average!r} is not 'macro' or 'weighted'")
    if TARGET not in cells.keys:
        raise SketchError(
            f"mean_over_targets() needs a sketch of each class against the rest, with a group column {TARGET!r}: "
            "sketch vectors of K scores. For this sketch use evaluate()"
        )
    if not metrics:
        raise SketchError("mean_over_targets() needs the name of at least one metric, such as 'f1' or 'auc_roc'")
    if "interval" in keywords:
        raise SketchError(
            "mean_over_targets() has no intervals, because the targets share their rows: use evaluate(interval=) for "
            "the interval of each target"
        )
    if average == "weighted" and keywords.get("prior") is not None:
        raise SketchError("average='weighted' uses the shares of the classes in the log: leave prior= out")
    for name in metrics:
        if name in (*decisions.CELLS, "confusion"):
            raise SketchError(f"{name} is a count, which has no mean over targets: evaluate() has the count of each")


# Cells that know where they decide: metrics at one operating point, and at all of them.


class EvaluationKeywords(TypedDict, total=False):
    """Keywords of `evaluate`."""

    costs: Costs | None
    cost_fn: float | None
    cost_fp: float | None
    threshold: float | None
    prior: Prior
    beta: float
    p_t: float | None
    sensitivity: float
    specificity: float
    method: EerMethod
    bins: int
    norm: EceNorm


def with_point(kind: type[D], cells: Cells, point: OperatingPoint) -> D:
    """Cells with their default operating point."""
    attributes = {attribute.name: getattr(cells, attribute.name) for attribute in fields(Cells)}
    return kind(**attributes, costs=point.costs, threshold=point.threshold)


@dataclass(frozen=True, repr=False)
class DecidingCells(Cells):
    """Cells with their default operating point; the attributes are those of a `Sketch`."""

    costs: CostMatrix = field(default_factory=CostMatrix.binary)
    threshold: float | None = None

    @property
    def operating_point(self) -> OperatingPoint:
        """The default operating point."""
        return OperatingPoint(self.costs, self.threshold)

    def _at_own_point(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        return self.operating_point.stands_in(keywords, self.grid.classes)[0]

    def _facts(self) -> dict[str, str]:
        return {**super()._facts(), "decisions": self.operating_point.words(self.grid.row_costs)}

    @checked_keywords
    def evaluate(
        self,
        *metrics: str,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
        sensitivity: float = 0.95,
        specificity: float = 0.95,
        method: EerMethod | IntervalMethod = "hull",
        bins: int = 15,
        norm: EceNorm = 1,
        interval: float | None = None,
        replicates: int = 1000,
        seed: int = 0,
    ) -> pl.DataFrame:
        """Compute metrics of every group, one row per group, sorted. The function with the metric's name documents it.

        Sums are exact. A decision metric is exact at a declared threshold; at any other it has two columns, `NAME_low` and `NAME_high`, which
        bound it. A ranking metric comes with `NAME_error`: |returned - exact| <= error, apart from rounding. If a threshold attains it,
        `NAME_threshold` is there too.

        `ece` also has an error. It is 0 in an exact sketch, and if the edges k / bins of its bins are declared thresholds (on the scale of
        the score). With norm=2, `ece` is null otherwise. Scoring rules for LLRs require `prior`, which turns them into posteriors. They have
        `NAME_error` too, because a cell has only the bin of its LLRs.

        Parameters
        ----------
        *metrics
            Names. Default: the default metrics of `report`, and `auc_roc`.
        costs, cost_fn, cost_fp, threshold
            The operating point. Default: that of the sketch.
        prior
            Class priors: a number, a sequence, "uniform", "overall", or an expression over a table with one row per group and the columns
            `n`, `class_prior` and the keys. "overall" is the prior of all groups together, for each `score` and `target`; it is null if any
            of their rows is invalid. Default: the group's own.
        beta
            For fbeta: a miss weighs beta^2 times a false alarm.
        p_t
            For net_benefit: act if the posterior is above it; from 0 to below 1.
        sensitivity
            For specificity_at_sensitivity: the required sensitivity, above 0 and at most 1.
        specificity
            For sensitivity_at_specificity: the required specificity, above 0 and at most 1.
        method
            For eer: "hull" or "linear". For intervals: "influence", from the influence of each row or cluster on the value; "bootstrap" or
            "bca", from resampled rows or clusters (eer is then on the hull). Resampling covers too rarely in small groups: with 5 positives,
            nominal 95 % intervals cover 74 % (recall) or 72 % (AUC). Default: "hull" and "influence".
        bins, norm
            For ece: the number of bins; 1 for the mean absolute gap, 2 for the root mean square.
        interval
            The level of the confidence intervals, such as 0.95. They are for clusters if the sketch was made with `cluster=`, else for
            independent rows. Default None: no intervals.
        replicates
            For "bootstrap" and "bca": the number of resamples.
        seed
            The random seed: the same cells and seed give the same bounds.

        Returns
        -------
        The group columns, `n`, `n_missing`, `n_invalid`, `class_prior`, then the metrics. Each is null if the expression of its name is.

        With `interval` also `small`, true if a class has fewer than 10 rows, which makes intervals unreliable. Each metric except counts and
        `ece` has `NAME_ci_low` and `NAME_ci_high`, which include the bounds on the binning error. They are null if a class is absent, a row
        is invalid or the value is infinite. For mean losses they are also null if a class has one row, and for clusters if fewer than 5
        buckets have rows. With resampling they are null if all resamples agree, as at rates of 0 and 1, or if more resamples lack a class
        than lie beyond a bound.

        At the groups' own priors, `nec_kinked` marks groups in which two constant decisions are about equally cheap: the interval of `nec`
        may then cover too rarely. `ece` has two columns instead: `ece_if_calibrated`, its mean for calibrated posteriors, which is due to
        sampling noise alone, and `ece_if_calibrated_high`, the value below which it then stays at this level.

        Raises
        ------
        ValueError
            An unknown metric or keyword; a metric that the sketch cannot provide, with what to do instead.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
        >>> log.ec.sketch("p", "y", cost_fn=4).evaluate("nec", "auc_roc", cost_fn=4).select("nec", "auc_roc")
        shape: (1, 2)
        ┌─────┬─────────┐
        │ nec ┆ auc_roc │
        │ --- ┆ ---     │
        │ f64 ┆ f64     │
        ╞═════╪═════════╡
        │ 0.5 ┆ 0.75    │
        └─────┴─────────┘
        """
        eer, way = parse_method(method)
        request = parse_interval({"interval": interval, "method": way, "replicates": replicates, "seed": seed})
        point = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "threshold": threshold, "prior": prior}
        others = {"beta": beta, "p_t": p_t, "sensitivity": sensitivity, "specificity": specificity}
        table = self._evaluated(metrics, {**point, **others, "method": eer, "bins": bins, "norm": norm}, request)
        return evaluated_in_order(table, self.keys)

    def _evaluated(self, metrics: Sequence[str], stated: Mapping[str, Any], request: Request | None) -> pl.DataFrame:
        keywords, own_threshold = self.operating_point.stands_in(stated, self.grid.classes)
        return evaluate(self, metrics, keywords, own_threshold=own_threshold, request=request)

    def mean_over_targets(
        self, *metrics: str, average: Literal["macro", "weighted"] = "macro", **keywords: Unpack[EvaluationKeywords]
    ) -> pl.DataFrame:
        """Average metrics over the targets of a one-vs-rest sketch: one row per group.

        This averages K detectors, each of which decides whether a row belongs to its class, at its own threshold. A row may be assigned to
        several classes or to none. So the mean is not the cost of one system that decides for one of K classes, and may rank such systems
        differently. Use `nec` of the vectors with K x K costs for that cost.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`; counts have no mean.
        average
            "macro": every target weighs the same. "weighted": a target weighs as much as its class has rows. The mean of "auc_roc" is then
            that of `macro_auc_roc` or of `weighted_auc_roc`.
        **keywords
            As for `evaluate`, the same for every target.

        Returns
        -------
        The group columns without `target`, `n`, `n_missing`, `n_invalid`, and the mean of each column that `evaluate` returns for the
        metrics. The means of `NAME_low`, `NAME_high` and `NAME_error` bound the mean; thresholds are left out. A mean is null if the value of
        any target is, apart from classes without rows if weighted.

        Raises
        ------
        SketchError
            A sketch without targets; counts, or no metric; `interval`, because every row counts in each target, so that the targets'
            intervals do not determine that of the mean; `prior` with "weighted", because it would give every class the same share.
        ValueError
            An unknown `average`.

        References
        ----------
        Ferrer, "Analysis and comparison of classification metrics", section 4.7.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame(
        ...     {"p": [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], "y": [0, 1, 2, 1]},
        ...     schema_overrides={"p": pl.Array(pl.Float64, 3)},
        ... )
        >>> sketch = log.ec.sketch("p", "y", exact=True)
        >>> sketch.evaluate("recall", "auc_roc").select("target", "recall", "auc_roc").rows()
        [(0, 1.0, 1.0), (1, 0.0, 1.0), (2, 1.0, 1.0)]
        >>> sketch.mean_over_targets("recall", "auc_roc").select("recall", "auc_roc").rows()
        [(0.6666666666666666, 1.0)]
        """
        _check_targets(self, metrics, average, keywords)
        table = self.evaluate(*metrics, **keywords)
        skipped = (*self.keys, *_ROWS, "class_prior")
        columns = [name for name in table.columns if name not in skipped and not name.endswith("_threshold")]
        means = [_mean_of_targets(pl.col(name), average).alias(name) for name in columns]
        # Every row of the log is one of each target.
        averages = [*(pl.col(name).first() for name in _ROWS), *means]
        by = [name for name in self.keys if name != TARGET]
        return table.group_by(by, maintain_order=True).agg(averages) if by else table.select(averages)

    @checked_keywords
    def cost_curve(
        self,
        *metrics: str,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
        interval: float | None = None,
    ) -> pl.DataFrame:
        """Compute decision metrics at every operating point: the group columns, `threshold`, and one column per metric.

        With `interval` each metric except counts has `NAME_ci_low` and `NAME_ci_high`, for each point alone, as in `evaluate` at a declared
        threshold. They are not valid for the best of many points.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`, of metrics that are functions of a confusion matrix.
        costs, cost_fn, cost_fp, prior, beta, p_t, interval
            As for `evaluate`.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
        >>> sketch = log.ec.sketch("p", "y", exact=True)
        >>> sketch.cost_curve("nec", cost_fn=2).rows()
        [(inf, 2.0), (0.7, 1.0), (0.4, 1.5), (0.1, 0.5), (-inf, 1.0)]
        """
        keywords = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "prior": prior, "beta": beta, "p_t": p_t}
        return cost_curve(self, metrics, self._at_own_point(keywords), interval)

    @checked_keywords
    def best_threshold(
        self,
        metric: str,
        *,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
    ) -> pl.DataFrame:
        """Find the threshold with the best value of a metric, per group. Apply it to another log, because this log has determined it.

        The value is optimistic and has no interval: the best of many values is better than the same threshold gives on other data. Evaluate
        the threshold there.

        Parameters
        ----------
        metric
            A decision metric for which lower or higher is better.
        costs, cost_fn, cost_fp, prior, beta, p_t
            As for `evaluate`.

        Returns
        -------
        The group columns, `threshold` (decide positive above it; the highest on ties) and the metric there. Both are null if the metric is
        undefined at every threshold.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
        >>> sketch = log.ec.sketch("p", "y", exact=True)
        >>> sketch.best_threshold("f1").rows()
        [(0.1, 0.8)]
        """
        keywords = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "prior": prior, "beta": beta, "p_t": p_t}
        curve = cost_curve(self, [metric], self._at_own_point(keywords))
        if decisions.direction(metric) is None:
            raise SketchError(f"no threshold is best for {metric}, which is neither better nor worse: see cost_curve()")
        value = pl.col(metric)
        best = place_of_best(metric, value)
        columns = {"threshold": pl.col("threshold").get(best), metric: value.get(best)}
        return curve.group_by(self.keys, maintain_order=True).agg(**columns) if self.keys else curve.select(**columns)
