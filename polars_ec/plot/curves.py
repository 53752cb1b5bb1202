"""Charts of a sketch: ROC and similar curves, costs and errors over thresholds or priors, and calibration."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce, wraps
from inspect import signature
from statistics import NormalDist
from typing import Any, Concatenate, TypeVar, Unpack

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.costs import CostMatrix, Costs
from polars_ec.arguments.keywords import parse_interval, parse_options
from polars_ec.arguments.options import CurveOptions
from polars_ec.arguments.signatures import without_parameter
from polars_ec.calibration.calibration import Calibrator
from polars_ec.calibration.reliability import reliability as reliability_table
from polars_ec.exceptions import SketchError
from polars_ec.formulas import decisions
from polars_ec.formulas.sums import GROUP
from polars_ec.output.words import costs_in_words, in_words, naive_value
from polars_ec.plot.layers import (
    BAND,
    LARGEST,
    MOST_POINTS,
    OTHER,
    SIZE,
    Axis,
    Shown,
    alt,
    at_prior,
    at_same_t,
    band_note,
    colour,
    curve_layers,
    finite,
    limits_as_band,
    line_through,
    log_odds_axis,
    mark_at,
    of_model,
    over_thresholds,
    plain,
    rule_at,
    shown_groups,
    sums_over_t,
    thin,
    threshold_axis,
    titled,
    tooltip,
    with_corners,
)
from polars_ec.plot.sources import ROW_OPTIONS, CurveChart, P, of_any_source
from polars_ec.scores.scores import sigmoid
from polars_ec.sketches import operating_points
from polars_ec.sketches.arguments import bayes_threshold, two_by_two
from polars_ec.sketches.cells import SCORE, TARGET
from polars_ec.sketches.evaluation import paired_limits
from polars_ec.sketches.operating_points import DecidingCells
from polars_ec.sketches.sums import T

_HALF = (0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
_RATES = (*_HALF, 0.5, *(1 - rate for rate in reversed(_HALF)))
"""The rates that a probit axis has ticks at."""
_LEAST_WINDOW = 0.4
_BELOW_EQUAL = 50
_OF_COSTS = ("nec", "expected_cost", "dcf", "bayes_risk")
# The others are best where all cases are decided alike.
_OF_BOTH_CLASSES = (
    *("accuracy", "error_rate", "balanced_accuracy", "balanced_error_rate"),
    *("f1", "fbeta", "mcc", "informedness", "net_benefit"),
)


@of_any_source
def roc(sketch: DecidingCells, *, interval: float | None = 0.95, **_rows: Unpack[CurveOptions]) -> alt.LayerChart:
    """Plot the ROC curve: the true-positive rate over the false-positive rate, for every threshold. Higher is better.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores, or a log or scores to make it from. Among many groups, the worst are those with the lowest AUC.
    interval
        The level of the band, which shows the confidence interval of each point alone; None: no band.

    Returns
    -------
    alt.LayerChart of `sketch.roc(interval=)`, with the AUC of each group and its confidence interval. The dashed diagonal is for
    uninformative scores. Groups that lack a class have no line.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> chart = ec.plot.roc(log.ec.sketch("p", "y"))
    >>> chart.title.text, chart.title.subtitle
    ('ROC curve', ['4 rows', 'AUC 0.750 [0.0009, 1.000]', 'Band: 95% confidence interval of each point'])
    """
    shown = shown_groups(sketch, "auc_roc").with_values("auc_roc", interval)
    curve = shown.only(limits_as_band(operating_points.roc(shown.cells, interval=interval), "tpr")).rename({"fpr": "x"})
    if interval is not None:
        curve = _rising(curve)
    x, y = Axis(in_words("fpr")), Axis("True-positive rate (recall)")
    numbers = {"Threshold": "threshold", x.title: "x", y.title: "y"}
    kept = thin(_plain(curve))
    notes = [*shown.notes, *band_note(interval, kept), *shown.without(kept)]
    layers = [line_through([(0, 0), (1, 1)]), *curve_layers(shown, kept, x, y, numbers)]
    return titled(layers, shown, "ROC curve", notes)


@of_any_source
def det(sketch: DecidingCells, *, interval: float | None = 0.95, **_rows: Unpack[CurveOptions]) -> alt.LayerChart:
    """Plot the DET curve: the false-negative over the false-positive rate, on probit axes. Lower is better.

    Scores that are normal in both classes give straight lines. Axes start at the informative part of the curves, at a fiftieth of the equal
    error rate or more.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores, or a log or scores to make it from. Among many groups, the worst are those with the highest equal error rate.
    interval
        The level of the band, which shows the confidence interval of each point alone; None: no band.

    Returns
    -------
    alt.LayerChart of `sketch.det(interval=)`, with rates in percent. The equal error rate is on the dashed diagonal. Rates of 0 and 1 are not
    on these axes and are left out, so perfect scores have no line.

    References
    ----------
    Martin et al., "The DET curve in assessment of detection task performance", 1997.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.det(log.ec.sketch("p", "y")).title.text
    'Detection error trade-off (DET)'
    """
    shown = shown_groups(sketch, "eer")
    curve = shown.only(limits_as_band(operating_points.det(shown.cells, interval=interval), "fnr_probit"))
    curve = curve.rename({"fpr_probit": "x"}).filter(pl.all_horizontal(pl.col("x", "y").is_finite()))
    low, high = _window(curve)
    x, y = (_probit_axis(f"{in_words(name)}, % (probit)", low, high) for name in ("fpr", "fnr"))
    if interval is not None:
        # A bound of 0 or 1 is at infinity; draw it at the end of the axis.
        curve = curve.with_columns(y.within("low"), y.within("high"))
    kept = thin(_plain(curve, "fpr", "fnr"), (x.width, y.width))
    numbers = {"Threshold": "threshold", in_words("fpr"): "fpr", in_words("fnr"): "fnr"}
    equal = line_through([(x.low, x.low), (x.high, x.high)])
    notes = [*shown.notes, *band_note(interval, kept), *shown.without(kept)]
    return titled([equal, *curve_layers(shown, kept, x, y, numbers)], shown, "Detection error trade-off (DET)", notes)


@of_any_source
def pr(
    sketch: DecidingCells, *, prior: Prior = None, interval: float | None = 0.95, **_rows: Unpack[CurveOptions]
) -> alt.LayerChart:
    """Plot the precision-recall curve as the steps that average precision adds up. Higher is better.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores, or a log or scores to make it from. Among many groups, the worst are those with the lowest average precision.
    prior
        The prior for calibrated precision, as for `evaluate`; an expression is evaluated on the groups of the chart. Default: the group's
        own. Groups with different base rates then have different precisions at equal rates.
    interval
        The level of the band, which shows the confidence interval of each point alone; None: no band.

    Returns
    -------
    alt.LayerChart of `sketch.pr(prior=, interval=)`. If all lines have the same prior, a dashed line shows it: the precision of deciding
    every case positive.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.pr(log.ec.sketch("p", "y"), prior=0.2).title.text
    'Precision-recall curve'
    """
    shown = shown_groups(sketch, "average_precision", {"prior": prior})
    points = shown.only(operating_points.pr(shown.cells, prior=prior, interval=interval))
    curve = limits_as_band(points, "precision").rename({"recall": "x"})
    # Precision falls from one point to the next by steps, as average precision adds it up.
    steps = with_corners(_plain(curve))
    x, y = Axis(in_words("recall")), Axis(in_words("precision") + at_prior(prior))
    kept = thin(steps)
    layers = curve_layers(shown, kept, x, y, {"Threshold": "threshold", x.title: "x", y.title: "y"})
    shares = curve.filter(pl.col("threshold") == pl.col("threshold").min().over("group"))["y"].unique()
    naive = [rule_at(shares[0])] if len(shares) == 1 and shares[0] is not None else []
    note = ["Dashed: precision if every case is decided positive"] if naive else []
    notes = [*shown.notes, *note, *band_note(interval, kept), *shown.without(kept)]
    return titled([*naive, *layers], shown, "Precision-recall curve", notes)


@of_any_source
def gains(
    sketch: DecidingCells, *, prior: Prior = None, interval: float | None = 0.95, **_rows: Unpack[CurveOptions]
) -> alt.LayerChart:
    """Plot the gains curve (cumulative accuracy profile): the recall over the share of the highest scores. Higher is better.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores, or a log or scores to make it from. Among many groups, the worst are those with the lowest AUC.
    prior
        As for `pr`: the class priors of the share. With a common prior, groups with different base rates are comparable.
    interval
        The level of the band, which shows the confidence interval of the recall at each threshold alone; None: no band.

    Returns
    -------
    alt.LayerChart of `sketch.gains(prior=, interval=)`, with the lift in the tooltips. The dashed diagonal is for a random choice. Unlike
    `cost_curve`, this chart does not depend on costs.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.gains(log.ec.sketch("p", "y")).title.text
    'Gains curve'
    """
    shown = shown_groups(sketch, "auc_roc")
    curve = shown.only(limits_as_band(operating_points.gains(shown.cells, prior=prior, interval=interval), "recall"))
    if interval is not None:
        curve = _rising(curve)
    x, y = Axis(f"Share of the highest scores{at_prior(prior)}"), Axis("Share of the positives (recall)")
    numbers = {"Threshold": "threshold", x.title: "x", y.title: "y", "Lift": "lift"}
    kept = thin(_plain(curve.rename({"share": "x"}), "lift"))
    notes = [*shown.notes, "Dashed: a random choice", *band_note(interval, kept), *shown.without(kept)]
    layers = [line_through([(0, 0), (1, 1)]), *curve_layers(shown, kept, x, y, numbers)]
    return titled(layers, shown, "Gains curve", notes)


@of_any_source
def prg(sketch: DecidingCells, *, prior: Prior = None, **_rows: Unpack[CurveOptions]) -> alt.LayerChart:
    """Plot the precision-recall-gain curve, from a recall gain of 0. Higher is better.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores, or a log or scores to make it from. Among many groups, the worst are those with the smallest area under it.
    prior
        As for `pr`.

    Returns
    -------
    alt.LayerChart of `sketch.prg(prior=)`. Gains below 0 are cut off: such decisions are worse than deciding every case positive.

    References
    ----------
    Flach and Kull, "Precision-recall-gain curves", 2015.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.prg(log.ec.sketch("p", "y")).title.text
    'Precision-recall-gain curve'
    """
    shown = shown_groups(sketch, "auprg", {"prior": prior})
    gains_of = {"recall_gain": "x", "precision_gain": "y"}
    curve = shown.only(operating_points.prg(shown.cells, prior=prior)).rename(gains_of)
    # The line into the square begins at the last point before it.
    begins = pl.col("x").is_finite() & (pl.col("x").shift(-1).over("group") >= 0)
    inside = _plain(curve).filter((pl.col("x") >= 0) | begins)
    x, y = Axis(in_words("recall_gain") + at_prior(prior)), Axis(in_words("precision_gain") + at_prior(prior))
    numbers = {"Threshold": "threshold", x.title: "x", y.title: "y"}
    kept = thin(inside)
    # If all gains are below 0, only the last point is visible, in the corner: deciding every case positive.
    seen = kept.filter((pl.col("x") >= 0) & (pl.col("y") > 0))
    notes = [*shown.notes, *shown.without(seen)]
    return titled(curve_layers(shown, kept, x, y, numbers), shown, "Precision-recall-gain curve", notes)


def _rising(curve: pl.DataFrame) -> pl.DataFrame:
    """Make the bounds monotone along the curve: bounds at one threshold also hold at each lower, or higher, one.

    With clusters, rates of 0 and 1 have much wider intervals than their neighbours, because the correlation of their rows is unknown.
    """
    low, high = pl.col("low").cum_max(), pl.col("high").cum_min(reverse=True)
    return curve.with_columns(low.over("group"), high.over("group"))


def _plain(curve: pl.DataFrame, *others: str) -> pl.DataFrame:
    names = ["group", "threshold", *others, "x", "y", "low", "high"]
    return curve.select(name for name in names if name in curve.columns)


def _window(curve: pl.DataFrame) -> tuple[float, float]:
    """Lowest and highest rate of both axes, for the informative part of the curves.

    For good systems this is near rates of 0, for others near their equal error rate.
    """
    rates = curve.select(least=pl.min_horizontal("fpr", "fnr"), most=pl.max_horizontal("fpr", "fnr"))
    ends = rates.select(equal=pl.col("most").min(), first=pl.col("least").min(), last=pl.col("least").max()).row(0)
    if None in ends:
        return _RATES[1], _LEAST_WINDOW
    equal, first, last = ends
    least = min(max(first, equal / _BELOW_EQUAL), last)
    low = max((rate for rate in _RATES if rate <= min(least, 0.1)), default=_RATES[0])
    highest = rates.filter(pl.col("least") >= low)["most"].max()
    assert isinstance(highest, float)
    return low, min((rate for rate in _RATES if rate >= max(highest, _LEAST_WINDOW)), default=_RATES[-1])


def _probit_axis(title: str, low: float, high: float) -> Axis:
    probit = NormalDist().inv_cdf
    ticks = {rate: probit(rate) for rate in _RATES if low <= rate <= high}
    # Numbers are looked up as whole ones: the sign of a formatted one is not the hyphen of these keys.
    labels = ",".join(f"'{round(1e6 * place)}':'{100 * rate:.4g}'" for rate, place in ticks.items())
    written: Mapping[str, Any] = {
        "values": [*ticks.values()],
        # Vega takes this for the most that it may keep.
        "tickCount": len(ticks),
        "labelExpr": f"{{{labels}}}[round(1e6*datum.value)]",
        "labelOverlap": "greedy",
    }
    return Axis(title, probit(low), probit(high), written)


_PRIOR_LOG_ODDS = tuple(x / 4 for x in range(-28, 29))
# Priors of groups whose lines are one.
_SAME = 1e-9
# A normalised cost above it is bad in any case, and one of 99 would hide all others.
_MOST_NORMALISED = 2.0


@of_any_source
def tippett(sketch: DecidingCells, **_rows: Unpack[CurveOptions]) -> alt.LayerChart:
    """Plot Tippett curves: the shares of positives (solid) and of negatives (dashed) above each LLR. A larger gap is better.

    Parameters
    ----------
    sketch
        A `Sketch` of LLRs, or of posteriors or log-odds, which are shown as log-odds, or a log or scores to make it from. Among many groups, the worst are those with the highest
        Cllr, or normalised cross-entropy.

    Returns
    -------
    alt.LayerChart of `sketch.tippett()`, from -15 to 15 at most, linear within a bin, with a mark at an LLR of 0.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -1.0, 1.5, -2.0], "y": [1, 1, 0, 0]})
    >>> ec.plot.tippett(log.ec.sketch("llr", "y", score_type="llr")).title.text
    'Tippett plot'
    """
    shown = shown_groups(sketch, _loss_of(sketch))
    llr = sketch.grid.scale.needs_prior
    curve = shown.only(operating_points.tippett(shown.cells))
    x = log_odds_axis(shown.cells, curve, "LLR" if llr else "Log-odds")
    y = Axis("Share of scores above")
    steps = over_thresholds(shown.cells, curve, x, log_odds=True)
    layers: list[alt.Chart] = []
    for column, dashed in (("positives_above", False), ("negatives_above", True)):
        one = thin(steps.select("group", "threshold", "x", y=column), (x.width, y.width), most=MOST_POINTS // 2)
        numbers = {x.title: "x", in_words("recall" if not dashed else "fpr"): "y"}
        layers += curve_layers(shown, one, x, y, numbers, dashed=dashed)
    zero = mark_at(0.0, "", x) if llr else []
    return titled([*zero, *layers], shown, "Tippett plot", [*shown.notes, "Solid: positives; dashed: negatives"])


@of_any_source
def bayes_error(
    sketch: DecidingCells, prior_log_odds: Sequence[float] = _PRIOR_LOG_ODDS, **_rows: Unpack[CurveOptions]
) -> alt.LayerChart:
    """Plot Bayes errors: actual (solid) and minimum (dashed) normalised detection cost over priors. Lower is better.

    Parameters
    ----------
    sketch
        A `Sketch` of LLRs, or a log or scores to make it from. Among many groups, the worst are those with the highest Cllr.
    prior_log_odds
        Log-odds of the effective priors; default: from -7 to 7 by 0.25. For exact actual costs, make the sketch with `thresholds=` of -x for
        all these x. Otherwise a band shows the bounds on the binning error, with the line at its upper end.

    Returns
    -------
    alt.LayerChart of `sketch.bayes_error(prior_log_odds)`; the naive system costs 1 everywhere.

    References
    ----------
    Brümmer and de Villiers, "The BOSARIS toolkit", 2013.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -1.0, 1.5, -2.0], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("llr", "y", score_type="llr", thresholds=[-1, 0, 1])
    >>> ec.plot.bayes_error(sketch, [-1, 0, 1]).title.subtitle
    ['4 rows', 'Solid: actual', 'Dashed: minimum cost, at the best threshold. Value 1: the naive system']
    """
    shown = shown_groups(sketch, _loss_of(sketch))
    points = shown.only(operating_points.bayes_error(shown.cells, prior_log_odds)).rename({"prior_log_odds": "x"})
    bounded = "dcf_low" in points.columns
    top = "dcf_high" if bounded else "dcf"
    x = Axis("Log-odds of the prior", float(min(prior_log_odds)), float(max(prior_log_odds)))
    if x.width == 0:
        x = Axis(x.title, x.low - 1, x.high + 1)
    y = _axis_of(in_words("dcf"), points.select(y=top), normalised=True)
    layers: list[alt.Chart] = [rule_at(1.0)]
    actual = points.select("group", "x", y=top, **({"low": "dcf_low", "high": "dcf_high"} if bounded else {}))
    widths = (x.width, y.width)
    numbers = {x.title: "x", "Actual DCF" + ", at most" * bounded: "y"}
    if bounded:
        numbers["At least"] = "low"
    layers += curve_layers(shown, thin(actual, widths, most=MOST_POINTS // 2), x, y, numbers)
    least = thin(points.select("group", "x", y="min_dcf"), widths, most=MOST_POINTS // 2)
    layers += curve_layers(shown, least, x, y, {x.title: "x", in_words("min_dcf"): "y"}, dashed=True)
    note = "Solid: actual" + ", at most. Band: uncertainty from binning" * bounded
    notes = [*shown.notes, note, "Dashed: minimum cost, at the best threshold. Value 1: the naive system"]
    return titled(layers, shown, "Bayes error plot", notes + _cut_off(points[top], y))


@of_any_source
def cost_curve(
    sketch: DecidingCells,
    *metrics: str,
    costs: Costs | None = None,
    cost_fn: float | None = None,
    cost_fp: float | None = None,
    prior: Prior = None,
    beta: float = 1.0,
    p_t: float | None = None,
    interval: float | None = 0.95,
    **_rows: Unpack[CurveOptions],
) -> alt.LayerChart | alt.HConcatChart:
    """Plot decision metrics over the threshold: where deciding is cheapest, and the cost of other thresholds.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores, or a log or scores to make it from. Among many groups, the worst are those with the worst value at the operating point of the sketch; for LLRs
        and raw scores those with the lowest AUC.
    *metrics
        Names of decision metrics, as for `evaluate`; default: nec.
    costs, cost_fn, cost_fp, prior, beta, p_t
        As for `evaluate`; the default costs are those of the sketch.
    interval
        The level of the band, which shows the confidence interval of each point alone; None: no band. Counts have none.

    Returns
    -------
    alt.LayerChart of `sketch.cost_curve(...)`, or for several metrics an alt.HConcatChart of them. Marks show the Bayes threshold of the
    costs, the threshold of the sketch and, for one group, the best threshold of its rows. A line is flat between scores, and linear within
    a bin, whose scores have unknown positions. If the metric has a naive value, a dashed line shows it. Normalised costs above 2 are cut
    off; so are log-odds and LLRs beyond -15 and 15.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.cost_curve(log.ec.sketch("p", "y"), cost_fn=4).title.subtitle
    ['4 rows', 'Costs: a miss 4, a false alarm 1', 'Band: 95% confidence interval of each point', 'Cut off at 2']
    """
    keywords = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "prior": prior, "beta": beta, "p_t": p_t}
    stated, declared = sketch.operating_point.stands_in(keywords, sketch.grid.classes)
    names = [*dict.fromkeys(metrics)] or ["nec"]
    charts = [_over_thresholds(sketch, name, stated, declared, interval, MOST_POINTS // len(names)) for name in names]
    return charts[0] if len(charts) == 1 else alt.HConcatChart(hconcat=charts)


def _over_thresholds(
    cells: DecidingCells,
    metric: str,
    keywords: Mapping[str, Any],
    declared: float | None,
    interval: float | None,
    most: int,
) -> alt.LayerChart:
    known = {name: value for name, value in keywords.items() if value is not None}
    decides = cells.grid.scale.has_posteriors and metric in decisions.DECISIONS and metric not in decisions.CELLS
    at_declared = known if declared is None else {**known, "threshold": declared}
    shown = shown_groups(cells, metric, at_declared) if decides else shown_groups(cells, "auc_roc")
    curve = shown.only(limits_as_band(operating_points.cost_curve(shown.cells, [metric], keywords, interval), metric))
    costs = two_by_two(parse_options({k: v for k, v in known.items() if k in ("costs", "cost_fn", "cost_fp")}))
    marked = _marked(cells, metric, keywords, costs, declared) | _best(shown, curve, metric)
    x = threshold_axis(shown.cells, curve, [*marked.values()])
    steps = over_thresholds(shown.cells, curve, x)
    title, naive = in_words(metric), naive_value(metric)
    y = _axis_of(title, curve, normalised=decisions.DECISIONS[metric].by_naive_cost)
    numbers = {"Threshold": "x", title: "y", **({"From": "low", "To": "high"} if "low" in steps.columns else {})}
    kept = thin(steps.drop("threshold"), (x.width, y.width), most=most)
    layers = curve_layers(shown, kept, x, y, numbers)
    rules = [] if naive is None or not y.low <= naive <= y.high else [rule_at(naive)]
    marks = [mark_at(place, f"{text} {place:.4g}", x, line=i) for i, (text, place) in enumerate(marked.items())]
    of_costs = [f"Costs: {costs_in_words(costs.values)}"] if metric in _OF_COSTS else []
    band = band_note(interval, kept) if "low" in steps.columns else []
    notes = [*shown.notes, *of_costs, *band, *_cut_off(curve["y"], y), *shown.without(kept)]
    return titled([*rules, *layers, *itertools.chain(*marks)], shown, f"{title} over thresholds", notes)


def _marked(
    cells: DecidingCells, metric: str, keywords: Mapping[str, Any], costs: CostMatrix, declared: float | None
) -> dict[str, float]:
    if metric == "net_benefit":
        p_t = float(keywords["p_t"])
        costs, declared = CostMatrix.binary(1 - p_t, p_t), None
    marked = {} if declared is None else {"declared": declared}
    # Raw scores have none, and that of LLRs moves with the prior, and costs may make none.
    with contextlib.suppress(ValueError):
        marked["Bayes"] = bayes_threshold(costs, cells.grid.scale, keywords.get("prior"), cells.grid.classes)
    return {text: place for text, place in marked.items() if math.isfinite(place)}


def _best(shown: Shown, curve: pl.DataFrame, metric: str) -> dict[str, float]:
    """The best threshold of these rows; of several groups each has its own."""
    if len(shown.all_names) > 1 or metric not in (*_OF_COSTS, *_OF_BOTH_CLASSES):
        return {}
    best = curve.select(pl.col("threshold").get(operating_points.place_of_best(metric, pl.col("y")))).item()
    # Of one decision for all cases there is no mark.
    known = best is not None and math.isfinite(best)
    return {"cheapest" if metric in _OF_COSTS else "best": best} if known else {}


@of_any_source
def bayes_risk(sketch: DecidingCells, **_rows: Unpack[CurveOptions]) -> alt.LayerChart:
    """Plot the risk of Bayes decisions over t, at costs of 1 / t for a miss and 1 / (1 - t) for a false alarm. Lower is better.

    Parameters
    ----------
    sketch
        A `Sketch` of posteriors or log-odds, or a log or scores to make it from. Among many groups, the worst are those with the highest normalised cross-entropy.

    Returns
    -------
    alt.LayerChart of `sketch.bayes_risk()`, and of the risk between its points. The area below is the cross-entropy. Risks above 2 are cut
    off.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Figure 1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.bayes_risk(log.ec.sketch("p", "y")).title.subtitle
    ['4 rows', 'The area below is the cross-entropy, in nats']
    """
    shown = shown_groups(sketch, _loss_of(sketch))
    curve = _over_t(shown, {"bayes_risk": decisions.risk_over_t})
    x = Axis("t: a miss costs 1 / t, a false alarm 1 / (1 - t)")
    y = _axis_of(in_words("bayes_risk"), curve, normalised=True)
    layers = curve_layers(shown, thin(curve, (1.0, y.width)), x, y, {"t": "x", y.title: "y"})
    notes = [*shown.notes, "The area below is the cross-entropy, in nats", *_cut_off(curve["y"], y)]
    return titled(layers, shown, "Bayes risk over thresholds", notes)


@of_any_source
def murphy(
    sketch: DecidingCells,
    *,
    reference: str | None = None,
    prior: Prior = None,
    interval: float | None = 0.95,
    **_rows: Unpack[CurveOptions],
) -> alt.LayerChart:
    """Plot the Murphy diagram: the mean elementary score over the threshold t, at costs of 1 - t for a miss and t for a false alarm. Lower is better.

    A model whose curve is nowhere above that of another is at least as good by every proper scoring rule.

    Parameters
    ----------
    sketch
        A `Sketch` of posteriors or log-odds, or a log or scores to make it from. Among many groups, the worst are those with the highest normalised cross-entropy.
    reference
        The name of a model, a value of the group column `score`. The chart then shows the difference of each other model from it, over all
        groups together. The band requires a sketch with clusters, and all models must have the same rows.
    prior
        The prior, as for `evaluate`; an expression is evaluated on the groups of the chart. Default: the group's own.
    interval
        The level of the band, which shows the confidence interval of each point alone; None: no band.

    Returns
    -------
    alt.LayerChart of `sketch.murphy(prior=, interval=)`, and of the score between its points. Twice the area below is the Brier score.

    References
    ----------
    Ehm, Gneiting, Jordan and Krüger, "Of quantiles and expectiles", 2016.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.murphy(log.ec.sketch("p", "y"), interval=None).title.subtitle
    ['4 rows', 'Twice the area below is the Brier score']
    """
    title, formulas = "Murphy diagram", {"elementary_score": decisions.elementary_score}
    x = Axis("Threshold t: a miss costs 1 - t, a false alarm t")
    if reference is not None:
        return _difference(sketch, reference, formulas, prior, interval, title, x)
    shown = shown_groups(sketch, _loss_of(sketch), {"prior": prior})
    curve = _over_t(shown, formulas, prior, interval)
    y = _axis_of(in_words("elementary_score"), curve, normalised=False)
    kept = thin(curve, (1.0, y.width))
    layers = curve_layers(shown, kept, x, y, {"t": "x", y.title: "y"})
    notes = ["Twice the area below is the Brier score", *band_note(interval, kept), *shown.without(kept)]
    return titled(layers, shown, title, [*shown.notes, *notes])


@of_any_source
def decision_curve(
    sketch: DecidingCells,
    *,
    reference: str | None = None,
    prior: Prior = None,
    normalized: bool = False,
    interval: float | None = 0.95,
    **_rows: Unpack[CurveOptions],
) -> alt.LayerChart:
    """Plot decision curves: the net benefit over the threshold probability, with those of treating all cases and none. Higher is better.

    Parameters
    ----------
    sketch, reference, prior, interval
        As for `murphy`.
    normalized
        Divide by the prior of the positive class, so that perfect scores have 1: standardised net benefit. Not with `reference`.

    Returns
    -------
    alt.LayerChart of `sketch.decision_curve(...)`, and of the net benefit between its points. Dashed lines are for treating all cases; the one
    at 0 is for treating none. A net benefit far below 0 is cut off. There is no band where no row is treated.

    References
    ----------
    Vickers and Elkin, "Decision curve analysis", 2006.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.plot.decision_curve(log.ec.sketch("p", "y"), interval=None).title.subtitle
    ['4 rows', 'Dashed: every case is treated, or at 0 none', 'Cut off at -0.125']
    """
    title, formulas, x = "Decision curve", decisions.NET_BENEFITS[normalized], Axis("Threshold probability")
    if reference is not None:
        if normalized:
            raise ValueError(
                "normalized=True is for the curves, not for their differences: leave out normalized= or reference="
            )
        return _difference(sketch, reference, formulas, prior, interval, title, x)
    shown = shown_groups(sketch, _loss_of(sketch), {"prior": prior})
    curve = _over_t(shown, formulas, prior, interval).filter(pl.col("x") < 1)
    highest = curve.select(pl.max_horizontal(pl.col("y", "treat_all").max())).item() or 1.0
    y = Axis("Standardised net benefit" if normalized else in_words("net_benefit"), -highest / 4, 1.02 * highest)
    heights = [name for name in ("y", "low", "high") if name in curve.columns]
    # Where no row is treated, only pseudo-counts determine a band.
    known = [pl.when(pl.col("y") != 0).then(name).alias(name) for name in heights[1:]]
    within, widths, most = [y.within(name) for name in heights], (1.0, y.width), MOST_POINTS // 2
    kept = thin(curve.with_columns(known).with_columns(within).drop("treat_all"), widths, most=most)
    of_all = curve.filter(pl.col("treat_all") >= y.low).select("group", "x", y="treat_all")
    dashed = thin(of_all, widths, most=most)
    is_one = of_all.group_by("x").agg(pl.col("y").max() - pl.col("y").min() < _SAME * highest)["y"].all()
    numbers = {x.title: "x", "Net benefit if every case is treated": "y"}
    one = dashed.filter(pl.col("group") == pl.col("group").first()).select("x", "y").rows() if is_one else []
    of_all_layers = [line_through(one)] if one else curve_layers(shown, dashed, x, y, numbers, dashed=True)
    layers = [rule_at(0.0), *of_all_layers]
    layers += curve_layers(shown, kept, x, y, {x.title: "x", y.title: "y"})
    cut_off = _cut_off(pl.concat([curve["y"], curve["treat_all"]]), y)
    notes = ["Dashed: every case is treated, or at 0 none", *band_note(interval, kept), *cut_off, *shown.without(kept)]
    return titled(layers, shown, title, [*shown.notes, *notes])


def _over_t(
    shown: Shown, formulas: decisions.FormulasOverT, prior: Prior = None, interval: float | None = None
) -> pl.DataFrame:
    """The first of the formulas at every t, `x`, with its band; and the others."""
    along = partial(sums_over_t, shown.cells)
    curve = operating_points.values_over_t(shown.cells, formulas, prior, interval, along)
    return shown.only(limits_as_band(curve, next(iter(formulas)))).rename({"t": "x"})


def _difference(
    sketch: DecidingCells,
    reference: str,
    formulas: decisions.FormulasOverT,
    prior: Prior,
    interval: float | None,
    title: str,
    x: Axis,
) -> alt.LayerChart:
    """The difference of each other model from a reference model, at every t."""
    request = parse_interval({"interval": interval})
    models = sketch.frame[SCORE].unique(maintain_order=True).to_list() if SCORE in sketch.keys else []
    if reference not in models:
        known = f"the models are {models}" if models else "the sketch has one model: sketch several columns of scores"
        raise SketchError(f"reference={reference!r} is not a model of the sketch: {known}")
    if TARGET in sketch.keys and sketch.frame[TARGET].n_unique() > 1:
        raise SketchError("reference= compares models for one target: filter(pl.col('target') == ...) the sketch first")
    metric, whole = next(iter(formulas)), sketch.group_by(SCORE)
    others, of_reference = (
        shown_groups(whole.filter(chosen), _loss_of(sketch))
        for chosen in (pl.col(SCORE) != reference, pl.col(SCORE) == reference)
    )
    points, value = [], pl.lit(0.0)
    for cells in (others.cells, of_reference.cells):
        edges, sums = operating_points.points_over_t(cells, metric, prior)
        value = formulas[metric](sums, pl.col(T))
        points.append(at_same_t(sums_over_t(cells, edges)))
    if any(of_model.is_empty() for of_model in points):
        raise SketchError(f"reference={reference!r}: it, or every other model, has invalid rows or none")
    points[1] = pl.concat([points[1]] * points[0][GROUP].n_unique())
    values = [of_model.select(y=value)["y"] for of_model in points]
    curve = points[0].select("group", x=T).with_columns(values[0] - values[1])
    if request is not None:
        cells_of = (others.cells, of_reference.cells)
        ends = paired_limits(value, points, cells_of, ("the others", reference), request.level)
        curve = curve.with_columns(pl.Series(name, end) for name, end in zip(("low", "high"), ends, strict=True))
    axis = _axis_of(f"Difference of {in_words(metric).lower()}", curve, normalised=False)
    # Near 1 a net benefit may be any number below 0, and then so are differences.
    most = max(finite(pl.concat(values).to_frame()).max().item() or 0.0, 0.0) or axis.width
    axis = replace(axis, low=max(axis.low, -most), high=min(axis.high, most))
    kept = thin(others.only(curve), (1.0, axis.width))
    layers = curve_layers(others, kept, x, axis, {x.title: "x", axis.title: "y"})
    better = "Below" if decisions.lower_is_better(metric) else "Above"
    notes = [f"{better} 0: better than {plain(reference)}", *band_note(interval, kept), *_cut_off(curve["y"], axis)]
    heading = f"{of_model(title, others.model)}: difference from {plain(reference)}"
    return titled([rule_at(0.0), *layers], replace(others, model=None), heading, [*others.notes, *notes])


@of_any_source
def reliability(
    sketch: DecidingCells,
    *,
    resolution: int = 2,
    calibrator: Calibrator | None = "pav",
    interval: float | None = 0.95,
    **_rows: Unpack[CurveOptions],
) -> alt.VConcatChart | alt.ConcatChart:
    """Plot the reliability diagram: the base rate over the mean posterior of each bin. Calibrated scores lie on the diagonal.

    Parameters
    ----------
    sketch
        A `Sketch` of posteriors or log-odds, or a log or scores to make it from. Among many groups, the worst are those with the highest normalised cross-entropy.
    resolution
        Bins per nat of log-odds; it must divide the resolution of the sketch.
    calibrator
        The line shows the posteriors after this calibrator, fitted to the same rows; None: no line.
    interval
        The level of the confidence interval of each base rate alone, shown as vertical lines with a band; None: none.

    Returns
    -------
    alt.VConcatChart of `sketch.reliability(...)` over the histogram of rows by bin, stacked by group. More than four groups have a
    diagram each, in an alt.ConcatChart.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> type(ec.plot.reliability(log.ec.sketch("p", "y"))).__name__
    'VConcatChart'
    """
    shown = shown_groups(sketch, _loss_of(sketch))
    table = shown.only(reliability_table(shown.cells, resolution=resolution, calibrator=calibrator, interval=interval))
    line = [] if calibrator is None else [f"Line: calibration fitted to the same rows ({calibrator})"]
    bins = limits_as_band(table, "positive_share").rename({"posterior": "x"})
    notes = [*shown.notes, *band_note(interval, bins, "Vertical lines", "share"), *line]
    if len(shown.all_names) <= LARGEST:
        return _diagram(shown, bins, resolution, "Reliability diagram", notes, SIZE)
    alone = replace(shown, rest=None, model=None)
    charts = [
        _diagram(replace(alone, names=[name]), bins.filter(group=name), resolution, name, [], SIZE // 2)
        for name in shown.all_names
    ]
    title = alt.Title(of_model("Reliability diagrams", shown.model), subtitle=notes, anchor="start")
    return alt.ConcatChart(concat=charts, columns=3, title=title)


def _diagram(
    shown: Shown, bins: pl.DataFrame, resolution: int, title: str, notes: Sequence[str], size: int
) -> alt.VConcatChart:
    """The diagram of some groups over the histogram of their rows."""
    base = alt.Chart(finite(bins.drop_nulls(["x", "y"]).drop("bin", "weight")))
    paint, several = colour(shown.names, shown.rest, shown.title), len(shown.all_names) > 1
    # The histogram below has the labels of both.
    x, y = Axis("", ticks={"labels": False, "ticks": False}), Axis("Observed base rate")
    layers: list[alt.Chart] = [line_through([(0, 0), (1, 1)])]
    numbers = {"Rows": "n", "Mean posterior": "x", y.title: "y"}
    if "low" in bins.columns:
        low, high = y.y("low:Q"), alt.Y2("high:Q")
        # Bands of several groups would hide each other.
        layers += [] if several else [base.mark_area(opacity=BAND).encode(x.x(), low, high, color=paint)]
        layers.append(base.mark_rule(opacity=0.6).encode(x.x(), low, high, color=paint))
        numbers |= {"From": "low", "To": "high"}
    if "calibrated" in bins.columns:
        line = base.mark_line(strokeWidth=1.5)
        layers.append(line.encode(x.x(), y.y("calibrated:Q"), color=paint if several else alt.value(OTHER)))
        numbers |= {"Calibrated": "calibrated"}
    points = base.mark_point(filled=True, size=30, opacity=1)
    layers.append(points.encode(x.x(), y.y(), color=paint, tooltip=tooltip(shown, numbers)))
    diagrams = [titled(layers, shown, title, notes, size), _rows_of_bins(shown, bins, resolution, size)]
    return alt.VConcatChart(vconcat=diagrams, spacing=8, resolve=alt.Resolve(scale=alt.ScaleResolveMap(x="shared")))


def _rows_of_bins(shown: Shown, table: pl.DataFrame, resolution: int, size: int) -> alt.LayerChart:
    """Bars from edge to edge of the bins, those of the groups one upon the other."""
    end = pl.col("n").cum_sum().over("bin")
    left, right = (sigmoid((pl.col("bin") + i) / resolution) for i in (0, 1))
    base = alt.Chart(table.select("group", "n", low=end - pl.col("n"), high=end, x=left, right=right))
    most = table.group_by("bin").agg(pl.col("n").sum())["n"].max()
    x = Axis("Posterior")
    y = Axis("Rows", 0, most if isinstance(most, int) and most else 1, {"format": "~s", "tickCount": 3})
    up = {"y": y.y("low:Q"), "y2": alt.Y2("high:Q"), "color": colour(shown.names, shown.rest, shown.title)}
    numbers = {"Rows": "n", "Posterior from": "x", "to": "right"}
    bars = base.mark_bar(binSpacing=0).encode(x.x(), x2=alt.X2("right:Q"), tooltip=tooltip(shown, numbers), **up)
    # Bins near 0 and 1 are narrower than a pixel.
    lines = base.mark_rule(strokeWidth=1).encode(x.x(), **up)
    return alt.LayerChart(layer=[bars, lines], width=size, height=size // 4)


def _loss_of(cells: DecidingCells) -> str:
    """The metric by which the scores themselves are judged, of their kind: by it the worst groups are found."""
    scale = cells.grid.scale
    return "cllr" if scale.needs_prior else "auc_roc" if scale.has_order_only else "nce"


def _axis_of(title: str, curve: pl.DataFrame, *, normalised: bool) -> Axis:
    """The axis from 0, or the least value if that is below it, to the largest one, with most of the band; for normalised costs at most to 2."""
    known = finite(curve.select(name for name in ("y", "low", "high") if name in curve.columns))
    ends = known.select(low=pl.col("y").min().fill_null(0.0), high=pl.col("y").max().fill_null(0.0)).row(0)
    low, high = min(ends[0], 0.0), ends[1]
    if normalised:
        return Axis(title, 0.0, min(max(1.05 * high, 1.1), _MOST_NORMALISED))
    length = high - low
    if "low" in known.columns:
        band = known.select(low=pl.col("low").min().fill_null(low), high=pl.col("high").max().fill_null(high)).row(0)
        low = min(low, max(band[0], low - length / 2))
        high = max(high, min(band[1], high + length / 2))
    return Axis(title, low, high + 0.02 * length if length else low + 1)


def _cut_off(values: pl.Series, y: Axis) -> list[str]:
    known = values.filter(values.is_finite())
    ends = [end for end, is_beyond in ((y.low, known < y.low), (y.high, known > y.high)) if is_beyond.any()]
    return [f"Cut off at {' and '.join(f'{end:.4g}' for end in ends)}"] if ends else []


R = TypeVar("R")


def _as_method(chart: CurveChart[P, R]) -> Callable[Concatenate[SketchPlots, P], R]:
    @wraps(chart)
    def method(plots: SketchPlots, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return chart(plots._sketch, *args, **kwargs)

    declared = signature(chart)
    kept = [parameter for name, parameter in declared.parameters.items() if name not in ROW_OPTIONS]
    method.__signature__ = declared.replace(parameters=kept)  # type: ignore[attr-defined]
    method.__doc__ = reduce(without_parameter, ROW_OPTIONS, method.__doc__ or "")
    return method


class SketchPlots:
    """Charts of one sketch: `sketch.plot.roc()` is `ec.plot.roc(sketch)`."""

    def __init__(self, sketch: DecidingCells) -> None:
        self._sketch = sketch

    roc = _as_method(roc)
    det = _as_method(det)
    pr = _as_method(pr)
    prg = _as_method(prg)
    gains = _as_method(gains)
    tippett = _as_method(tippett)
    bayes_error = _as_method(bayes_error)
    cost_curve = _as_method(cost_curve)
    bayes_risk = _as_method(bayes_risk)
    murphy = _as_method(murphy)
    decision_curve = _as_method(decision_curve)
    reliability = _as_method(reliability)
