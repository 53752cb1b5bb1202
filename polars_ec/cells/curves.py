"""Curves over the thresholds of a sketch, as tidy tables: a row per group and operating point, highest threshold first.

Operating points are the edges of cells, where the counts are exact: every point is a point of the exact curve.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.cells import evaluate as _evaluate
from polars_ec.cells.grid import Grid, checked_resolution
from polars_ec.costs import CostMatrix
from polars_ec.exceptions import SketchError
from polars_ec.formulas import ranking as _ranking
from polars_ec.formulas.decisions import ratio
from polars_ec.formulas.ranking import GROUP
from polars_ec.options import check_keywords, did_you_mean, parse_number
from polars_ec.rows.folds import FOLD

if TYPE_CHECKING:
    from polars_ec.calibration.fit import Calibrator
    from polars_ec.sketches import Sketch

# Names while cells are read: no group column is called so.
_WRONG, _CALIBRATED = "__wrong", "__calibrated"

# The better value of these is the smaller one.
_LOWER_IS_BETTER = frozenset(
    {
        "expected_cost",
        "bayes_risk",
        "nec",
        "dcf",
        "error_rate",
        "balanced_error_rate",
        "fpr",
        "fnr",
        "lr_minus",
        "fp",
        "fn",
    }
)
# Beyond it the normalised cost of any miss, or of any false alarm, is infinite.
_LARGEST_HALF_LOG_ODDS = 700.0


def cost_curve(sketch: Sketch, *metrics: str, **keywords: Any) -> pl.DataFrame:
    """Metrics of decisions at every operating point: the group columns, `threshold`, and a column for each.

    Parameters
    ----------
    sketch
        The log.
    *metrics
        Names, as for `Sketch.evaluate`, of metrics that are functions of a confusion matrix.
    **keywords
        As for `Sketch.evaluate`, without `threshold`.

    Raises
    ------
    ValueError
        Another metric; a threshold.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.cost_curve("nec", cost_fn=2).rows()
    [(inf, 2.0), (0.7, 1.0), (0.4, 1.5), (0.1, 0.5), (-inf, 1.0)]
    """
    return _curve("cost_curve", sketch, metrics, keywords)


def _curve(function: str, sketch: Sketch, metrics: Sequence[str], keywords: Mapping[str, Any]) -> pl.DataFrame:
    """What the public function of this name tabulates."""
    check_keywords(function, keywords, _evaluate.KEYWORDS)
    for name in metrics:
        if name not in _evaluate.DECISION_METRICS:
            hint = did_you_mean(str(name), _evaluate.DECISION_METRICS)
            raise SketchError(
                f"{name!r} is no metric of decisions: {hint}They are {', '.join(_evaluate.DECISION_METRICS)}"
            )
    if keywords.get("threshold") is not None:
        raise ValueError(f"threshold={keywords['threshold']!r}: a curve goes over all thresholds; evaluate() takes one")
    stated, _ = sketch.at_own_costs(keywords)
    table, formulas = _evaluate.at_every_edge(sketch.frame, sketch.keys, sketch.grid, sketch.weighted, metrics, stated)
    _evaluate.check_keys(sketch.keys, ["threshold", *formulas])
    return table.select(*sketch.keys, "threshold", **formulas)


def roc(sketch: Sketch) -> pl.DataFrame:
    """The ROC curve: `threshold`, `fpr`, `tpr`, from (0, 0) to (1, 1).

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.roc().rows()
    [(inf, 0.0, 0.0), (0.7, 0.0, 0.5), (0.4, 0.5, 0.5), (0.1, 0.5, 1.0), (-inf, 1.0, 1.0)]
    """
    _evaluate.check_keys(sketch.keys, ["tpr"])
    return cost_curve(sketch, "fpr", "recall").rename({"recall": "tpr"})


def roc_hull(sketch: Sketch) -> pl.DataFrame:
    """Corners of the convex hull of the ROC curve: `fpr`, `tpr`, from (0, 0) to (1, 1); what the best calibration attains.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.roc_hull().rows()
    [(0.0, 0.0), (0.0, 0.5), (0.5, 1.0), (1.0, 1.0)]
    """
    cells, groups = _evaluate.prepared_cells(sketch.frame, sketch.keys, sketch.grid, sketch.weighted)
    corners = _ranking.hulls(cells, outer=False)
    _evaluate.check_keys(sketch.keys, corners.columns)
    return groups.join(corners, on=GROUP, maintain_order="left_right").drop(GROUP)


def det(sketch: Sketch) -> pl.DataFrame:
    """The DET curve: `threshold`, `fpr`, `fnr`, and both on the scale of the normal distribution, `fpr_probit`, `fnr_probit`.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.det().row(2)
    (0.4, 0.5, 0.5, 0.0, 0.0)
    """
    _evaluate.check_keys(sketch.keys, ["fpr_probit", "fnr_probit"])
    points = cost_curve(sketch, "fpr", "fnr")
    return points.with_columns(_probit(points[name]).alias(f"{name}_probit") for name in ("fpr", "fnr"))


def _probit(rates: pl.Series) -> pl.Series:
    inverse = NormalDist().inv_cdf
    values = [
        None if rate is None else inverse(rate) if 0 < rate < 1 else math.copysign(math.inf, rate - 0.5)
        for rate in rates
    ]
    return pl.Series(values, dtype=pl.Float64)


def pr(sketch: Sketch, *, prior: Any = None) -> pl.DataFrame:
    """The precision-recall curve: `threshold`, `recall`, `precision`; with `prior`, calibrated.

    Precision is null where nothing is decided positive.

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
    return cost_curve(sketch, "recall", "precision", prior=prior)


def prg(sketch: Sketch, *, prior: Any = None) -> pl.DataFrame:
    """The precision-recall-gain curve: `threshold`, `recall_gain`, `precision_gain`; with `prior`, calibrated.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.prg().rows()[1:4]
    [(0.7, 0.0, 1.0), (0.4, 0.0, 0.0), (0.1, 1.0, 0.5)]
    """
    return cost_curve(sketch, "recall_gain", "precision_gain", prior=prior)


def bayes_error(sketch: Sketch, prior_log_odds: Sequence[float]) -> pl.DataFrame:
    """The Bayes error plot of LLRs: actual and minimum DCF at each prior, normalised by the naive system.

    Parameters
    ----------
    sketch
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
    _evaluate.check_keys(sketch.keys, ["prior_log_odds", "dcf", "dcf_low", "dcf_high"])
    thresholds = [sketch.grid.declared(-x) for x in points]
    exact = all(_evaluate.is_exact(sketch.grid, threshold) for threshold in thresholds)
    tables = []
    for x, threshold in zip(points, thresholds, strict=True):
        # Costs at even priors, which make the same cost as these priors at even costs: no share is rounded to 0 or 1.
        half = min(max(x / 2, -_LARGEST_HALF_LOG_ODDS), _LARGEST_HALF_LOG_ODDS)
        costs = CostMatrix.binary(cost_fn=math.exp(half), cost_fp=math.exp(-half))
        at = sketch.evaluate("dcf", "min_dcf", prior=0.5, costs=costs, threshold=threshold)
        if not exact and "dcf" in at.columns:
            at = at.with_columns(dcf_low="dcf", dcf_high="dcf")
        actual = ["dcf"] if exact else ["dcf_low", "dcf_high"]
        tables.append(
            at.select(*sketch.keys, pl.lit(float(x)).alias("prior_log_odds"), *actual, "min_dcf", "min_dcf_error")
        )
    return pl.concat(tables).sort(*sketch.keys, "prior_log_odds", nulls_last=True)


def bayes_risk(sketch: Sketch) -> pl.DataFrame:
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
    if sketch.grid.score_type not in ("posterior", "log_odds"):
        raise SketchError(f"bayes_risk is of posteriors, and the sketch is of {sketch.grid.score_type} scores")
    _evaluate.check_keys(sketch.keys, ["t", "bayes_risk", "missed", "alarmed"])
    points = _joint_errors(sketch)
    t = pl.col("threshold")
    if sketch.grid.score_type == "log_odds":
        t = 1 / (1 + (-t).exp())
    t = t.clip(0, 1).alias("t")
    missed, alarmed = pl.col("missed"), pl.col("alarmed")
    risk = pl.when(missed > 0).then(missed / t).otherwise(0.0) + pl.when(alarmed > 0).then(alarmed / (1 - t)).otherwise(
        0.0
    )
    return points.select(*sketch.keys, t, bayes_risk=risk)


def _joint_errors(sketch: Sketch) -> pl.DataFrame:
    """Shares of all rows that are missed positives, and false alarms."""
    missed = cost_curve(sketch, "expected_cost", costs=[[0, 0], [1, 0]])
    alarmed = cost_curve(sketch, "expected_cost", costs=[[0, 1], [0, 0]])
    both = missed.rename({"expected_cost": "missed"}).with_columns(alarmed=alarmed["expected_cost"])
    # Below the lowest score all is positive, down to t = 0.
    last = both.group_by(sketch.keys, maintain_order=True).last() if sketch.keys else both.tail(1)
    ends = last.select(both.columns).with_columns(threshold=pl.lit(-math.inf))
    return pl.concat([both, ends]).sort(
        *sketch.keys, "threshold", descending=[*[False] * len(sketch.keys), True], nulls_last=True
    )


def reliability(sketch: Sketch, *, resolution: int = 2, calibrator: Calibrator | None = None) -> pl.DataFrame:
    """The reliability diagram: what was foretold and what came, per bin of log-odds, and the curve that would set it right.

    Calibrated scores have `posterior` = `positive_share` in every bin, up to chance; the curve shows what a calibrator would
    make of them.

    Parameters
    ----------
    sketch
        Of posteriors or log-odds. Of K classes it has a curve for each `target`, or one of the top label.
    resolution
        Bins to the nat; a divisor of the sketch's own, unless that is exact.
    calibrator
        One of those of `polars_ec.calibration.fit.calibrate`, fitted to these very rows of the group: it has seen the labels.

    Returns
    -------
    The group columns without `fold`, whose folds are taken together; `bin`, `n`, `weight`, `posterior` (mean) and
    `positive_share`; with a calibrator `calibrated`, the mean calibrated posterior, of cells as in
    `Sketch.calibration_loss`. Means are null where a bin has no weight or its group has wrong rows; `calibrated` also where
    the calibrator has no parameters.

    Raises
    ------
    ValueError
        LLRs and raw scores; another resolution or calibrator; a group column with the name of another column of the result or
        of a parameter.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.4.2, for the calibrators.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y")
    >>> sketch.reliability(resolution=1, calibrator="pav").drop("n", "weight").rows()
    [(-3, 0.1, 0.0, 0.0), (-1, 0.4, 1.0, 0.5), (0, 0.7, 0.0, 0.5), (2, 0.9, 1.0, 1.0)]
    """
    if sketch.grid.score_type not in ("posterior", "log_odds"):
        raise SketchError(f"reliability is of posteriors, and the sketch is of {sketch.grid.score_type} scores")
    bins = _coarse_bins(sketch.grid, checked_resolution(resolution)).alias("bin")
    keys = [name for name in sketch.keys if name != FOLD]
    clash = sorted(set(keys) & {"bin", "positive_share", "calibrated"})
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, which its reliability has too: rename it")
    whole = sketch.group_by(*keys)
    weight, wrong = pl.col("weight"), (pl.col("class") == -1).any()
    cells = whole.frame.with_columns((wrong.over(keys) if keys else wrong).alias(_WRONG))
    totals = {
        "posterior": pl.col("posterior").sum(),
        "positive_share": pl.when(pl.col("class") == 1).then(weight).sum(),
    }
    if calibrator is not None:
        # Imported here, for it needs numpy.
        from polars_ec.calibration.loss import calibrated_cells

        calibrated = calibrated_cells(whole, whole.calibrate(calibrator), out_of_fold=False)["posterior"]
        cells = cells.with_columns(calibrated.alias(_CALIBRATED))
        known = pl.col(_CALIBRATED).is_not_null().all()
        totals["calibrated"] = pl.when(known).then(pl.col(_CALIBRATED).sum())
    means = {name: pl.when(~pl.col(_WRONG).any()).then(ratio(total, weight.sum())) for name, total in totals.items()}
    return (
        cells.filter(pl.col("class") >= 0)
        .group_by(*keys, bins)
        .agg(pl.col("n").sum(), weight.sum(), **means)
        .sort(*keys, "bin", nulls_last=True)
    )


def _coarse_bins(grid: Grid, resolution: int) -> pl.Expr:
    """The bin that a cell is in where there are fewer bins to the nat."""
    coarse = Grid(grid.score_type, resolution)
    if grid.resolution is None:
        return coarse.bin(pl.col("score"), coarse.position(pl.col("score")))
    if grid.resolution % resolution:
        raise SketchError(f"resolution={resolution} does not divide the sketch's own, {grid.resolution}")
    (lowest, highest), (below, above) = grid.infinite_bins, coarse.infinite_bins
    ends = {lowest: below, lowest + 1: below + 1, highest - 1: above - 1, highest: above}
    inner = pl.when(pl.col("bin").is_between(lowest + 2, highest - 2))
    return inner.then(pl.col("bin").floordiv(grid.resolution // resolution)).otherwise(pl.col("bin").replace(ends))


def best_threshold(sketch: Sketch, metric: str, **keywords: Any) -> pl.DataFrame:
    """The threshold of the best value of a metric, per group; apply it to another log, for this one has seen the labels.

    Parameters
    ----------
    sketch
        The log on which to choose.
    metric
        A metric of decisions.
    **keywords
        As for `Sketch.evaluate`, without `threshold`.

    Returns
    -------
    The group columns, `threshold` (decide positive above it; the highest on ties) and the metric there, null where it is
    not defined anywhere.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.best_threshold("f1").rows()
    [(0.1, 0.8)]
    """
    curve = _curve("best_threshold", sketch, [metric], keywords)
    value = pl.col(metric)
    best = value.arg_min() if metric in _LOWER_IS_BETTER else value.arg_max()
    columns = {"threshold": pl.col("threshold").get(best), metric: value.get(best)}
    if not sketch.keys:
        return curve.select(**columns)
    return curve.group_by(sketch.keys, maintain_order=True).agg(**columns)


def equivalent_cost(sketch: Sketch, metric: str = "f1", **keywords: Any) -> pl.DataFrame:
    """The costs that somebody who optimises another metric has in fact chosen, per group.

    Parameters
    ----------
    sketch
        The log of a baseline.
    metric
        A metric of decisions, whose best threshold is the Bayes threshold of the costs; or "sensitivity", with
        `sensitivity=` a target: then the costs are those for which the best threshold attains it.
    **keywords
        As for `Sketch.evaluate`.

    Returns
    -------
    The group columns, `threshold`, `cost_fn` (with cost_fp = 1), and for a sensitivity `alpha`, the weight of false alarms
    in NEC = alpha FPR + FNR, and the `sensitivity` attained.

    Raises
    ------
    SketchError
        A metric that is none of decisions; scores whose thresholds are not Bayes thresholds of any costs.
    ValueError
        A sensitivity outside (0, 1].

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.6 and Eq. 8; "The expected cost", section 4 and
    Eq. 20.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.equivalent_cost(log.ec.sketch("p", "y"), "sensitivity", sensitivity=0.6).select("alpha", "cost_fn").rows()
    [(1.0, 1.0)]
    """
    if metric == "sensitivity":
        check_keywords("equivalent_cost", keywords, ["sensitivity"])
        return _cost_of_sensitivity(sketch, **keywords)
    check_keywords("equivalent_cost", keywords, _evaluate.KEYWORDS)
    _evaluate.check_keys(sketch.keys, ["cost_fn"])
    best = best_threshold(sketch, metric, **keywords)
    return best.with_columns(cost_fn=_cost_fn(sketch.grid))


def _cost_fn(grid: Grid) -> pl.Expr:
    t = pl.col("threshold")
    if grid.score_type == "posterior":
        t = t.clip(0, 1)  # a threshold below all posteriors is that of a miss that costs infinitely more
        return (1 - t) / t
    if grid.score_type == "log_odds":
        return (-t).exp()
    raise SketchError(
        f"a threshold on {grid.score_type} scores is the Bayes threshold of no costs: sketch posteriors or log-odds"
    )


def _cost_of_sensitivity(sketch: Sketch, sensitivity: float = 0.95) -> pl.DataFrame:
    from polars_ec.metrics.ranking import checked_sensitivity

    target = checked_sensitivity(sensitivity)
    _evaluate.check_keys(sketch.keys, ["threshold", "cost_fn", "alpha", "sensitivity", "tpr", "fpr"])
    cells, groups = _evaluate.prepared_cells(sketch.frame, sketch.keys, sketch.grid, sketch.weighted)
    tpr, fpr = pl.col("tpr"), pl.col("fpr")
    hull = _ranking.hulls(cells, outer=False).with_columns(alpha=(tpr.diff() / fpr.diff()).over(GROUP))
    # The slope that leads to the first corner of at least this sensitivity: for a smaller alpha that corner is the best.
    corner = (
        hull.filter(tpr >= _ranking.enough(target, pl.lit(not sketch.weighted)))
        .group_by(GROUP, maintain_order=True)
        .first()
    )
    at = cells.select(
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
