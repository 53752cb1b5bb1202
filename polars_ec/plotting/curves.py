"""Charts of the curves of a sketch that are rate against rate."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import altair as alt
import polars as pl

from polars_ec.cells import curves
from polars_ec.cells.deciding import DecidingCells
from polars_ec.plotting.data import chosen
from polars_ec.plotting.layers import Axis, band_note, curve_layers, limits_as_band, titled
from polars_ec.plotting.lines import thin, with_corners
from polars_ec.plotting.theme import line_through, rule_at
from polars_ec.priors import Prior
from polars_ec.words import in_words

_HALF = (0.0001, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4)
_RATES = (*_HALF, 0.5, *(1 - rate for rate in reversed(_HALF)))
"""The rates that a probit axis has ticks at."""
_LEAST_WINDOW = 0.4
_BELOW_EQUAL = 50


def roc(cells: DecidingCells, interval: float | None) -> alt.LayerChart:
    """That of `polars_ec.plot.roc`."""
    shown = chosen(cells, "auc_roc")
    curve = shown.only(limits_as_band(curves.roc(shown.cells, interval=interval), "tpr")).rename({"fpr": "x"})
    if interval is not None:
        curve = _rising(curve)
    x, y = Axis(in_words("fpr")), Axis("True-positive rate (recall)")
    numbers = {"Threshold": "threshold", x.title: "x", y.title: "y"}
    kept = thin(_plain(curve))
    notes = [*shown.notes, *band_note(interval, kept), *shown.without(kept)]
    return titled([line_through([(0, 0), (1, 1)]), *curve_layers(shown, kept, x, y, numbers)], "ROC curve", notes)


def det(cells: DecidingCells, interval: float | None) -> alt.LayerChart:
    """That of `polars_ec.plot.det`."""
    shown = chosen(cells, "eer")
    curve = shown.only(limits_as_band(curves.det(shown.cells, interval=interval), "fnr_probit"))
    curve = curve.rename({"fpr_probit": "x"}).filter(pl.all_horizontal(pl.col("x", "y").is_finite()))
    low, high = _window(curve)
    x, y = (_probit_axis(f"{in_words(name)}, % (probit)", low, high) for name in ("fpr", "fnr"))
    if interval is not None:
        # A limit of 0 or 1 is infinitely far off: as far as the axis goes is far enough.
        curve = curve.with_columns(y.within("low"), y.within("high"))
    kept = thin(_plain(curve, "fpr", "fnr"), (x.width, y.width))
    numbers = {"Threshold": "threshold", in_words("fpr"): "fpr", in_words("fnr"): "fnr"}
    equal = line_through([(x.low, x.low), (x.high, x.high)])
    notes = [*shown.notes, *band_note(interval, kept), *shown.without(kept)]
    return titled([equal, *curve_layers(shown, kept, x, y, numbers)], "Detection error trade-off (DET)", notes)


def pr(cells: DecidingCells, prior: Prior, interval: float | None) -> alt.LayerChart:
    """That of `polars_ec.plot.pr`."""
    shown = chosen(cells, "average_precision", {"prior": prior})
    points = shown.only(curves.pr(shown.cells, prior=prior, interval=interval))
    curve = limits_as_band(points, "precision").rename({"recall": "x"})
    # Precision falls from one point to the next by steps, as average precision adds it up.
    steps = with_corners(_plain(curve))
    x, y = Axis(in_words("recall")), Axis(in_words("precision") + _at(prior))
    kept = thin(steps)
    layers = curve_layers(shown, kept, x, y, {"Threshold": "threshold", x.title: "x", y.title: "y"})
    shares = curve.filter(pl.col("threshold") == pl.col("threshold").min().over("group"))["y"].unique()
    naive = [rule_at(shares[0])] if len(shares) == 1 and shares[0] is not None else []
    note = ["Dashed: precision of deciding all positive"] if naive else []
    notes = [*shown.notes, *note, *band_note(interval, kept), *shown.without(kept)]
    return titled([*naive, *layers], "Precision-recall curve", notes)


def prg(cells: DecidingCells, prior: Prior) -> alt.LayerChart:
    """That of `polars_ec.plot.prg`."""
    shown = chosen(cells, "auprg", {"prior": prior})
    curve = shown.only(curves.prg(shown.cells, prior=prior)).rename({"recall_gain": "x", "precision_gain": "y"})
    # The line into the square begins at the last point before it.
    begins = pl.col("x").is_finite() & (pl.col("x").shift(-1).over("group") >= 0)
    inside = _plain(curve).filter((pl.col("x") >= 0) | begins)
    x, y = Axis(in_words("recall_gain") + _at(prior)), Axis(in_words("precision_gain") + _at(prior))
    numbers = {"Threshold": "threshold", x.title: "x", y.title: "y"}
    kept = thin(inside)
    # Of gains that are all below 0 no point is seen but the last one, of deciding all positive, in the corner.
    seen = kept.filter((pl.col("x") >= 0) & (pl.col("y") > 0))
    notes = [*shown.notes, *shown.without(seen)]
    return titled(curve_layers(shown, kept, x, y, numbers), "Precision-recall-gain curve", notes)


def _rising(curve: pl.DataFrame) -> pl.DataFrame:
    """With limits that rise as the rate does: what holds it at one threshold holds it at each lower, or higher, one.

    In clusters a rate of 0 or 1 has limits far wider than those beside it, for nothing is known of how alike its rows are.
    """
    low, high = pl.col("low").cum_max(), pl.col("high").cum_min(reverse=True)
    return curve.with_columns(low.over("group"), high.over("group"))


def _plain(curve: pl.DataFrame, *others: str) -> pl.DataFrame:
    names = ["group", "threshold", *others, "x", "y", "low", "high"]
    return curve.select(name for name in names if name in curve.columns)


def _at(prior: Prior) -> str:
    """The prior in words, after the name of a metric."""
    if prior is None:
        return ""
    if isinstance(prior, str):
        return {"uniform": " at prior 0.5", "overall": " at the prior of the whole log"}[prior]
    return f" at prior {prior:.4g}" if isinstance(prior, float | int) else " at the stated prior"


def _window(curve: pl.DataFrame) -> tuple[float, float]:
    """The least and the largest rate of both axes: as low as curves tell something, and as high as they are where both rates are.

    Of good systems the rates near 0 matter, of others those near their equal error rate.
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
