"""Curves over the thresholds of a sketch, as tidy tables: a row per group and operating point, highest threshold first.

Operating points are the edges of cells, where the counts are exact: every point is a point of the exact curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import polars as pl

from polars_ec.arguments import did_you_mean, parse_number
from polars_ec.cells.arguments import parse_formula_arguments
from polars_ec.cells.cells import Cells, check_keys
from polars_ec.cells.evaluate import evaluate
from polars_ec.cells.ordered import at_every_edge, prepared_cells
from polars_ec.cells.sums import is_exact
from polars_ec.costs import CostMatrix
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import CELLS, DECISIONS
from polars_ec.formulas.ranking import hulls
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.arguments import parse_interval
from polars_ec.priors import Prior

# Beyond it the normalised cost of any miss, or of any false alarm, is infinite.
_LARGEST_HALF_LOG_ODDS = 700.0
_ENDS = ("low", "high")
_DEFAULTS: Mapping[str, Any] = MappingProxyType({})


def cost_curve(
    cells: Cells, metrics: Sequence[str], keywords: Mapping[str, Any] = _DEFAULTS, interval: float | None = None
) -> pl.DataFrame:
    """Metrics of decisions at every operating point: what `Sketch.cost_curve` gives."""
    request = parse_interval({"interval": interval})
    for name in metrics:
        if not isinstance(name, str) or name not in DECISIONS:
            hint = did_you_mean(str(name), DECISIONS)
            raise SketchError(f"{name!r} is not a metric of decisions: {hint}They are {', '.join(DECISIONS)}")
    table, formulas = at_every_edge(cells, metrics, keywords)
    limited = [name for name in formulas if name not in CELLS] if request is not None else []
    check_keys(cells.keys, ["threshold", *formulas, *(f"{name}_ci_{end}" for name in limited for end in _ENDS)])
    shown = table.select(*cells.keys, "threshold", **formulas)
    if request is None or not limited:
        return shown
    # Imported here, for it needs numpy.
    from polars_ec.cells.bands import with_bands

    costs = parse_formula_arguments(metrics, keywords)[0].costs
    bands = with_bands(table, {name: formulas[name] for name in limited}, cells, costs, request)
    order = [x for name in formulas for x in (name, *(f"{name}_ci_{end}" for end in _ENDS if name in limited))]
    return shown.with_columns(**bands).select(*cells.keys, "threshold", *order)


def roc(cells: Cells, *, interval: float | None = None) -> pl.DataFrame:
    """The ROC curve: `threshold`, `fpr`, `tpr`, from (0, 0) to (1, 1).

    With `interval`, such as 0.95, each has limits, as `evaluate` has them at a declared threshold: `fpr_ci_low`, `fpr_ci_high`,
    `tpr_ci_low`, `tpr_ci_high`. They are of each point for itself: that a band holds the whole curve is less likely.

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
    """Corners of the convex hull of the ROC curve: `fpr`, `tpr`, from (0, 0) to (1, 1); what the best calibration attains.

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
    """The DET curve: `threshold`, `fpr`, `fnr`, and both on the scale of the normal distribution, `fpr_probit`, `fnr_probit`.

    With `interval`, such as 0.95, each has limits, `NAME_ci_low` and `NAME_ci_high`, of each point for itself, as `roc` has them.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.det().row(2)
    (0.4, 0.5, 0.5, 0.0, 0.0)
    """
    check_keys(
        cells.keys, ["fpr_probit", "fnr_probit", *(f"{x}_probit_ci_{end}" for x in ("fpr", "fnr") for end in _ENDS)]
    )
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
    """The precision-recall curve: `threshold`, `recall`, `precision`; with `prior`, calibrated.

    Precision is null where nothing is decided positive. With `interval`, such as 0.95, each has limits, `NAME_ci_low` and
    `NAME_ci_high`, of each point for itself.

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


def prg(cells: Cells, *, prior: Prior = None) -> pl.DataFrame:
    """The precision-recall-gain curve: `threshold`, `recall_gain`, `precision_gain`; with `prior`, calibrated.

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
    """Tippett curves: the share of each class above each threshold; `threshold`, `positives_above`, `negatives_above`.

    `threshold` is an LLR in a sketch of LLRs, else log-odds, which are LLRs plus the log-odds of the prior that the posteriors
    were made with. Shares are of scores strictly above it; those of positives are the recall, those of negatives the
    false-positive rate. At 0 the curves of LLRs show which share of each class the LLRs speak against.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -1.0, 1.5, -2.0], "y": [1, 1, 0, 0]})
    >>> log.ec.sketch("llr", "y", score_type="llr", exact=True).tippett().rows()[1:4]
    [(1.5, 0.5, 0.0), (-1.0, 0.5, 0.5), (-2.0, 1.0, 0.5)]
    """
    if cells.grid.score_type == "raw":
        raise SketchError("Tippett curves are of LLRs or log-odds, and the sketch is of raw scores: roc() takes them")
    check_keys(cells.keys, ["positives_above", "negatives_above"])
    above = {"recall": "positives_above", "fpr": "negatives_above"}
    curve = cost_curve(cells, [*above]).rename(above)
    if cells.grid.score_type != "posterior":
        return curve
    t = pl.col("threshold").clip(0, 1)
    return curve.with_columns(threshold=t.log() - (-t).log1p())


def bayes_error(cells: Cells, prior_log_odds: Sequence[float]) -> pl.DataFrame:
    """The Bayes error plot of LLRs: actual and minimum DCF at each prior, normalised by the naive system.

    Parameters
    ----------
    cells
        Of LLRs.
    prior_log_odds
        Log-odds of the effective priors, finite. Thresholds -x for these x, declared when sketching, make the actual DCF exact.

    Returns
    -------
    The group columns, `prior_log_odds`, `dcf` (or `dcf_low` and `dcf_high`, where a threshold was not declared), `min_dcf`
    and `min_dcf_error`.

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
        raise ValueError(f"prior_log_odds={list(prior_log_odds)}: at an infinite one there is one class only")
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
        actual = ["dcf"] if exact else ["dcf_low", "dcf_high"]
        tables.append(
            at.select(*cells.keys, pl.lit(float(x)).alias("prior_log_odds"), *actual, "min_dcf", "min_dcf_error")
        )
    return pl.concat(tables).sort(*cells.keys, "prior_log_odds", nulls_last=True)


def bayes_risk(cells: Cells) -> pl.DataFrame:
    """Risk of posteriors at every operating point t, under costs [[0, 1/(1-t)], [1/t, 0]]: `t`, `bayes_risk`.

    Its integral over t is the cross-entropy; weighted by the density Beta(2, 2) it is 3 times the Brier score.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> curve = sketch.bayes_risk()
    >>> curve.select(pl.all().round(3)).rows()[1:4]
    [(0.7, 0.357), (0.4, 1.042), (0.1, 0.278)]
    """
    return joint_errors(cells).select(*cells.keys, "t", bayes_risk=risk_at("t"))


def risk_at(t: str) -> pl.Expr:
    """The risk at t, of `missed` positives and false alarms, `alarmed`, as shares of all rows."""
    parts = (("missed", pl.col(t)), ("alarmed", 1 - pl.col(t)))
    missed, alarmed = (pl.when(pl.col(x) > 0).then(pl.col(x) / cost).otherwise(0.0) for x, cost in parts)
    return missed + alarmed


def joint_errors(cells: Cells) -> pl.DataFrame:
    """What `bayes_risk` is made of: `t`, and the shares of all rows that are `missed` positives and false alarms, `alarmed`."""
    if cells.grid.score_type not in ("posterior", "log_odds"):
        raise SketchError(f"bayes_risk is of posteriors, and the sketch is of {cells.grid.score_type} scores")
    check_keys(cells.keys, ["t", "bayes_risk", "missed", "alarmed"])
    missed = cost_curve(cells, ["expected_cost"], {"costs": [[0, 0], [1, 0]]})
    alarmed = cost_curve(cells, ["expected_cost"], {"costs": [[0, 1], [0, 0]]})
    both = missed.rename({"expected_cost": "missed"}).with_columns(alarmed=alarmed["expected_cost"])
    # Below the lowest score all is positive, down to t = 0.
    last = both.group_by(cells.keys, maintain_order=True).last() if cells.keys else both.tail(1)
    ends = last.select(both.columns).with_columns(threshold=pl.lit(-math.inf))
    points = pl.concat([both, ends]).sort(
        *cells.keys, "threshold", descending=[*[False] * len(cells.keys), True], nulls_last=True
    )
    t = pl.col("threshold")
    if cells.grid.score_type == "log_odds":
        t = 1 / (1 + (-t).exp())
    return points.select(*cells.keys, t.clip(0, 1).alias("t"), "missed", "alarmed")
