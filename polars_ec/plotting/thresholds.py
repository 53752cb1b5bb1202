"""Charts of the curves of a sketch that are costs and errors over thresholds or priors, and of its calibration."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from polars_ec.arguments import parse_options
from polars_ec.calibration.parameters import Calibrator
from polars_ec.calibration.reliability import reliability as reliability_table
from polars_ec.cells import curves
from polars_ec.cells.arguments import bayes_threshold, two_by_two
from polars_ec.cells.deciding import DecidingCells
from polars_ec.costs import CostMatrix
from polars_ec.display import costs_in_words
from polars_ec.formulas.decisions import CELLS, DECISIONS
from polars_ec.plotting.data import Shown, check_sketch, chosen, finite
from polars_ec.plotting.layers import Axis, band_note, curve_layers, limits_as_band, mark_at, titled, tooltip
from polars_ec.plotting.lines import MOST_POINTS, thin
from polars_ec.plotting.steps import log_odds_axis, over_thresholds, risk_over_t, threshold_axis
from polars_ec.plotting.theme import BAND, OTHER, SIZE, colour, line_through, rule_at
from polars_ec.rows.scores import sigmoid
from polars_ec.words import in_words, naive_value

# A normalised cost above it is bad in any case, and one of 99 would hide all others.
_MOST_NORMALISED = 2.0
_HISTOGRAM = 80
_FEW_TICKS = {"format": "~s", "tickCount": 3}


def tippett(cells: DecidingCells) -> alt.LayerChart:
    """That of `polars_ec.plot.tippett`."""
    shown = chosen(cells, _loss_of(cells))
    llr = cells.grid.score_type == "llr"
    curve = shown.only(curves.tippett(shown.cells))
    x = log_odds_axis(shown.cells, curve, "LLR" if llr else "Log-odds")
    y = Axis("Share of scores above")
    steps = over_thresholds(shown.cells, curve, x, log_odds=True)
    layers: list[alt.Chart] = []
    for column, dashed in (("positives_above", False), ("negatives_above", True)):
        one = thin(steps.select("group", "threshold", "x", y=column), (x.width, y.width), most=MOST_POINTS // 2)
        numbers = {x.title: "x", in_words("recall" if not dashed else "fpr"): "y"}
        layers += curve_layers(shown, one, x, y, numbers, dashed=dashed)
    zero = mark_at(0.0, "", x) if llr else []
    return titled([*zero, *layers], "Tippett plot", [*shown.notes, "Solid: positives; dashed: negatives"])


def bayes_error(cells: DecidingCells, prior_log_odds: Sequence[float]) -> alt.LayerChart:
    """That of `polars_ec.plot.bayes_error`."""
    shown = chosen(cells, _loss_of(cells))
    points = shown.only(curves.bayes_error(shown.cells, prior_log_odds)).rename({"prior_log_odds": "x"})
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
    note = "Solid: actual" + ", at most; band: what bins leave open" * bounded
    notes = [*shown.notes, note, "Dashed: minimum, of the best threshold; at 1: naive"]
    return titled(layers, "Bayes error plot", notes + _cut(points[top], y))


def cost_curve(
    cells: DecidingCells, metrics: Sequence[str], keywords: Mapping[str, Any], interval: float | None
) -> alt.LayerChart | alt.HConcatChart:
    """That of `polars_ec.plot.cost_curve`."""
    check_sketch(cells)
    stated, own = cells.operating_point.stands_in(keywords, cells.grid.classes)
    names = [*dict.fromkeys(metrics)] or ["nec"]
    charts = [_over_thresholds(cells, name, stated, own, interval, MOST_POINTS // len(names)) for name in names]
    return charts[0] if len(charts) == 1 else alt.HConcatChart(hconcat=charts)


def _over_thresholds(
    cells: DecidingCells,
    metric: str,
    keywords: Mapping[str, Any],
    own: float | None,
    interval: float | None,
    most: int,
) -> alt.LayerChart:
    known = {name: value for name, value in keywords.items() if value is not None}
    decides = cells.grid.score_type in ("posterior", "log_odds") and metric in DECISIONS and metric not in CELLS
    at_own = known if own is None else {**known, "threshold": own}
    shown = chosen(cells, metric, at_own) if decides else chosen(cells, "auc_roc")
    curve = shown.only(limits_as_band(curves.cost_curve(shown.cells, [metric], keywords, interval), metric))
    costs = two_by_two(parse_options({k: v for k, v in known.items() if k in ("costs", "cost_fn", "cost_fp")}))
    marked = _marked(cells, metric, keywords, costs, own)
    x = threshold_axis(shown.cells, curve, [*marked.values()])
    steps = over_thresholds(shown.cells, curve, x)
    title, naive = in_words(metric), naive_value(metric)
    y = _axis_of(title, curve, normalised=DECISIONS[metric].by_naive_cost)
    numbers = {"Threshold": "x", title: "y", **({"From": "low", "To": "high"} if "low" in steps.columns else {})}
    layers = curve_layers(shown, thin(steps.drop("threshold"), (x.width, y.width), most=most), x, y, numbers)
    rules = [] if naive is None or not y.low <= naive <= y.high else [rule_at(naive)]
    marks = [mark_at(place, f"{text} {place:.4g}", x, line=i) for i, (text, place) in enumerate(marked.items())]
    of_costs = (
        [f"Costs: {costs_in_words(costs.values)}"] if metric in ("nec", "expected_cost", "dcf", "bayes_risk") else []
    )
    notes = [*shown.notes, *of_costs, *(band_note(interval) if "low" in steps.columns else []), *_cut(curve["y"], y)]
    return titled([*rules, *layers, *itertools.chain(*marks)], f"{title} over thresholds", notes)


def _marked(
    cells: DecidingCells, metric: str, keywords: Mapping[str, Any], costs: CostMatrix, own: float | None
) -> dict[str, float]:
    """The Bayes threshold of the costs, and the one that the sketch was made for."""
    if metric == "net_benefit":
        p_t = float(keywords["p_t"])
        costs, own = CostMatrix.binary(1 - p_t, p_t), None
    marked = {} if own is None else {"declared": own}
    # Raw scores have none, and that of LLRs moves with the prior, and costs may make none.
    with contextlib.suppress(ValueError):
        marked["Bayes"] = bayes_threshold(costs, cells.grid.score_type, keywords.get("prior"), cells.grid.classes)
    return {text: place for text, place in marked.items() if math.isfinite(place)}


def bayes_risk(cells: DecidingCells) -> alt.LayerChart:
    """That of `polars_ec.plot.bayes_risk`."""
    shown = chosen(cells, _loss_of(cells))
    curve = risk_over_t(shown.cells, shown.only(curves.joint_errors(shown.cells)))
    x = Axis("t: a miss costs 1 / t, a false alarm 1 / (1 - t)")
    y = _axis_of(in_words("bayes_risk"), curve, normalised=True)
    layers = curve_layers(shown, thin(curve, (1.0, y.width)), x, y, {"t": "x", y.title: "y"})
    notes = [*shown.notes, "The area below is the cross-entropy, in nats", *_cut(curve["y"], y)]
    return titled(layers, "Bayes risk over thresholds", notes)


def reliability(
    cells: DecidingCells, resolution: int, calibrator: Calibrator | None, interval: float | None
) -> alt.VConcatChart:
    """That of `polars_ec.plot.reliability`."""
    shown = chosen(cells, _loss_of(cells))
    table = shown.only(reliability_table(shown.cells, resolution=resolution, calibrator=calibrator, interval=interval))
    bins = limits_as_band(table, "positive_share").rename({"posterior": "x"})
    base = alt.Chart(finite(bins.drop_nulls(["x", "y"]).drop("bin", "weight")))
    paint, several = colour(shown.names, shown.rest, shown.title), len(shown.all_names) > 1
    # The histogram below has the labels of both.
    x, y = Axis("", ticks={"labels": False, "ticks": False}), Axis("Share of positives")
    layers: list[alt.Chart] = [line_through([(0, 0), (1, 1)])]
    if interval is not None:
        low, high = y.y("low:Q"), alt.Y2("high:Q")
        # Bands of several groups would hide each other.
        layers += [] if several else [base.mark_area(opacity=BAND).encode(x.x(), low, high, color=paint)]
        layers.append(base.mark_rule(opacity=0.6).encode(x.x(), low, high, color=paint))
    if calibrator is not None:
        line = base.mark_line(strokeWidth=1.5)
        layers.append(line.encode(x.x(), y.y("calibrated:Q"), color=paint if several else alt.value(OTHER)))
    numbers = {"Rows": "n", "Mean posterior": "x", y.title: "y"}
    numbers |= {} if interval is None else {"From": "low", "To": "high"}
    numbers |= {} if calibrator is None else {"Calibrated": "calibrated"}
    points = base.mark_point(filled=True, size=30, opacity=1)
    layers.append(points.encode(x.x(), y.y(), color=paint, tooltip=tooltip(shown, numbers)))
    notes = [
        *shown.notes,
        *([] if interval is None else [f"Upright lines: {100 * interval:.4g}% limits of each share"]),
    ]
    notes += [] if calibrator is None else [f"Line: calibrated on these very rows ({calibrator})"]
    diagram = titled(layers, "Reliability diagram", notes)
    histogram = _rows_of_bins(shown, table, resolution)
    both: alt.VConcatChart = alt.VConcatChart(vconcat=[diagram, histogram], spacing=8).resolve_scale(x="shared")
    return both


def _rows_of_bins(shown: Shown, table: pl.DataFrame, resolution: int) -> alt.LayerChart:
    """Bars from edge to edge of the bins, those of the groups one upon the other."""
    end = pl.col("n").cum_sum().over("bin")
    left, right = (sigmoid((pl.col("bin") + i) / resolution) for i in (0, 1))
    base = alt.Chart(table.select("group", "n", low=end - pl.col("n"), high=end, x=left, right=right))
    most = table.group_by("bin").agg(pl.col("n").sum())["n"].max()
    x, y = Axis("Posterior"), Axis("Rows", 0, most if isinstance(most, int) and most else 1, _FEW_TICKS)
    up = {"y": y.y("low:Q"), "y2": alt.Y2("high:Q"), "color": colour(shown.names, shown.rest, shown.title)}
    numbers = {"Rows": "n", "Posterior from": "x", "to": "right"}
    bars = base.mark_bar(binSpacing=0).encode(x.x(), x2=alt.X2("right:Q"), tooltip=tooltip(shown, numbers), **up)
    # Bins near 0 and 1 are narrower than a pixel.
    lines = base.mark_rule(strokeWidth=1).encode(x.x(), **up)
    return alt.LayerChart(layer=[bars, lines]).properties(width=SIZE, height=_HISTOGRAM)


def _loss_of(cells: DecidingCells) -> str:
    """The metric by which the scores themselves are judged, of their kind: by it the worst groups are found."""
    check_sketch(cells)
    return {"llr": "cllr", "raw": "auc_roc"}.get(cells.grid.score_type, "nce")


def _axis_of(title: str, curve: pl.DataFrame, *, normalised: bool) -> Axis:
    """From 0, or the least value if that is below it, to the largest one, with most of the band; of normalised costs at most to 2."""
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


def _cut(values: pl.Series, y: Axis) -> list[str]:
    highest = values.filter(values.is_finite()).max()
    return [f"Cut off at {y.high:.4g}"] if isinstance(highest, float) and highest > y.high else []
