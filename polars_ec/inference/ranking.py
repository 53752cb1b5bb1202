"""Confidence intervals of ranking metrics: for AUCs in small samples, and for metrics near their best value in few rows."""

from __future__ import annotations

from polars_ec.formulas.decisions import Scale, interval_scale
from polars_ec.inference import confidence
from polars_ec.numerics import Bools, Floats, np

OPTIMISTIC = ("average_precision", "ks", "min_expected_cost", "min_dcf", "eer", "min_cllr")
"""Metrics that are too good in few rows, as the best over all thresholds or of a fitted curve; an EER on the curve itself is not."""

# Beside shares: what no classifier does worse than at its best.
_AT_MOST_1 = ("auprg", "min_dcf", "min_cllr")
# For metrics at one point of a curve, or on a fitted one: with fewer rows of a class their intervals are too narrow.
_AT_ONE_POINT = ("eer", "ks", "min_cllr")
_FEW_ROWS, _FEW_ERRORS = 30, 5
_HALVINGS = 60
# The level of the interval from which a variance is derived.
_LEVEL = 0.95


def auc_limits(auc: Floats, variance: confidence.Variance, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """On the logit scale; in small samples of effective `rows`, or near 0 and 1, so wide that they hold Newcombe's; at 0 and 1 those alone."""
    fewest, least = rows.min(axis=-1), np.minimum(auc, 1 - auc)
    alone = (least <= 0) | (fewest <= 1)
    few = alone | are_few(fewest, least)
    # Equal scores say nothing of what other rows would.
    variance = variance.only(~(alone | confidence.is_degenerate(variance.variance, least)))
    low, high = confidence.limits(auc, variance, "logit", level)
    small_low, small_high = newcombe(auc, rows, level)
    low, high = np.where(few, np.fmin(low, small_low), low), np.where(few, np.fmax(high, small_high), high)
    # One row in a class has no variance, but an interval.
    known = np.isfinite(fewest)
    return confidence.extended(np.where(known, low, np.nan), np.where(known, high, np.nan), auc)


def more_with_few(auc: Floats, components: confidence.VarianceComponents, rows: Floats) -> Floats:
    """Additional variance of an AUC from few rows, or near 0 or 1, so that an interval is as wide as Newcombe's; `rows` as for `auc_limits`."""
    few = are_few(rows.min(axis=-1), np.minimum(auc, 1 - auc))
    low, high = newcombe(auc, rows, _LEVEL)
    at_least = (np.fmax(high - auc, auc - low) / confidence.normal_quantile(0.5 + _LEVEL / 2)) ** 2
    more = np.where(few, np.fmax(at_least - np.nan_to_num(components.variance), 0), 0.0)
    return np.where(np.isfinite(auc) & ~np.isnan(components.df), more, np.nan)


def are_few(rows: Floats, least: Floats) -> Bools:
    """Whether an AUC this far from 0 or 1 needs Newcombe's interval, with this many rows in the smaller class."""
    return np.asarray((rows < _FEW_ROWS) | (rows * least < _FEW_ERRORS))


def ranking_limits_of(
    metric: str, value: Floats, variance: confidence.Variance, rows: Floats, bias: Floats | None, level: float
) -> tuple[Floats, Floats]:
    """On the scale of the metric, of effective `rows` by class; with the `bias` that the jackknife finds, so that they hold those about the value without it, too."""
    # Rows that make no difference say nothing of what other rows would.
    enough = (rows.min(axis=-1) >= _FEW_ROWS) | (metric not in _AT_ONE_POINT)
    size = 1 - value if metric == "auprg" else value
    variance = variance.only(~confidence.is_degenerate(variance.variance, size) & enough)
    if metric == "auprg":
        # It has no lower end, and what it falls short of 1 is never below 0.
        low, high = confidence.limits(size, variance, "log", level)
        return 1 - high, 1 - low
    scale = interval_scale(metric)
    low, high = confidence.limits(value, variance, scale, level)
    if bias is None:
        return low, high
    if metric == "min_cllr":
        # Its bias falls with the number of rows to the power 2/3, so the jackknife sees two thirds of it; it is as large as the standard error.
        low, high = (_moved(scale, end, value, 1.5 * bias) for end in (low, high))
        return confidence.extended(low, high, value)
    return np.minimum(low, _moved(scale, low, value, bias)), np.maximum(high, _moved(scale, high, value, bias))


def _moved(scale: Scale, limit: Floats, value: Floats, bias: Floats) -> Floats:
    """The bound around the bias-corrected value; the bias on the scale is that at the value."""
    with np.errstate(all="ignore"):
        return confidence.inverse(scale, confidence.forward(scale, limit) - bias * confidence.slope(scale, value))


def widened(metric: str, low: Floats, high: Floats, error: Floats) -> tuple[Floats, Floats]:
    """Widen the interval by the error of the value, within the range of the metric; NaN if a bound is unknown."""
    scale = interval_scale(metric)
    low = low - error if scale == "identity" else np.maximum(low - error, 0)
    high = np.minimum(high + error, 1) if scale == "logit" or metric in _AT_MOST_1 else high + error
    known = np.isfinite(low + high)
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def newcombe(auc: Floats, rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Limits of an AUC from itself and the numbers of rows of both classes, (groups, classes).

    The AUCs whose own standard error, that of Hanley and McNeil for exponential scores with either class as large as their mean, holds
    the one observed. Newcombe, "Confidence intervals for an effect size measure based on the Mann-Whitney statistic. Part 2", method 5.
    """
    z = confidence.t_quantile(0.5 + level / 2, np.array(np.inf))
    pairs, others = rows.prod(axis=-1), rows.mean(axis=-1) - 1

    def is_beyond(x: Floats) -> Bools:
        variance = x * (1 - x) * (1 + others * ((1 - x) / (2 - x) + x / (1 + x))) / pairs
        return np.asarray((auc - x) ** 2 > z**2 * variance, dtype=np.bool_)

    ends = []
    for end in (0.0, 1.0):
        outer, inner = np.full(auc.shape, end), np.array(auc, dtype=np.float64)
        for _ in range(_HALVINGS):
            middle = (outer + inner) / 2
            beyond = is_beyond(middle)
            outer, inner = np.where(beyond, middle, outer), np.where(beyond, inner, middle)
        ends.append(np.where(np.isfinite(pairs) & np.isfinite(auc), (outer + inner) / 2, np.nan))
    return ends[0], ends[1]
