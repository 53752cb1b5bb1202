"""Sample sizes: the number of rows for an interval of a given width, estimated from a pilot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, overload

import polars as pl

from polars_ec.arguments.keywords import did_you_mean
from polars_ec.arguments.signatures import checked_keywords
from polars_ec.formulas.decisions import AT_PRIOR, DECISIONS, OF_CLASSES, Scale, interval_scale
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import ORDER_METRICS
from polars_ec.inference.confidence import forward, inverse
from polars_ec.numerics import Floats, np

_METRICS = (*DECISIONS, *OF_CLASSES, *SCORING_RULES, *ORDER_METRICS, "rcl", "cal_loss")
# A width that no interval on an exponential scale reaches, and enough bisections for all digits.
_WIDEST, _HALVINGS = 800.0, 100
_MOST_OF_SIZES = 2.0**62
# The range of metrics that are bounded on both sides.
_WHOLE: Mapping[Scale, float] = {"logit": 1.0, "atanh": 2.0}


@overload
def rows_needed(pilot: pl.LazyFrame, metric: str, *, width: float) -> pl.LazyFrame: ...
@overload
def rows_needed(pilot: pl.DataFrame, metric: str, *, width: float) -> pl.DataFrame: ...
@checked_keywords
def rows_needed(pilot: pl.LazyFrame | pl.DataFrame, metric: str, *, width: float) -> pl.LazyFrame | pl.DataFrame:
    """Estimate how many rows each group needs for an interval of this width (upper minus lower bound).

    The pilot's bounds are 2 h apart on the scale of the metric: ln for costs and losses, logit for rates and areas, atanh for correlations,
    else the metric itself. h is proportional to 1 / sqrt(n). Find s such that f^-1(f(value) + s h) - f^-1(f(value) - s h) equals the width;
    then n / s^2 rows are needed, rounded up.

    The new rows must resemble the pilot: the same base rate, the same weights and, with `cluster=`, clusters of the same size, so that more
    rows mean more clusters. The estimate is rough if the pilot has fewer than 30 rows in a class, fewer than 30 clusters, or bounds that were
    widened to include the value.

    Parameters
    ----------
    pilot
        The result of `report(..., interval=0.95)` or `Sketch.evaluate(..., interval=0.95)`, at the level that you want.
    metric
        The column of the metric: "nec", "recall", "nec_at_prior".
    width
        The largest distance between the bounds, in units of the metric: 0.1 is about plus or minus 0.05.

    Returns
    -------
    A frame as lazy as the pilot, with one row for each of its rows. It has the columns before `n` (group, model), `total` if there is one,
    `n`, the metric, `width` (the current distance between its bounds) and `rows_needed`, Int64. The last is null if the pilot has no interval
    or one of width 0, or if the value or a bound is at an end of the scale, such as a recall of 1. It is also null if the bounds on the
    binning error alone are further apart than the width.

    Raises
    ------
    ValueError
        A width that is not above 0, or as large as the metric's whole range; an unknown metric, or one without an interval in the pilot.
    TypeError
        A pilot that is not a Polars frame.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pilot = pl.DataFrame(
    ...     {"month": [1, 2], "n": [400, 90], "nec": [0.5, 0.8], "nec_ci_low": [0.4, 0.5], "nec_ci_high": [0.625, 1.28]}
    ... )
    >>> ec.rows_needed(pilot, "nec", width=0.1)["rows_needed"].to_list()
    [1999, 5097]
    """
    if not isinstance(pilot, pl.LazyFrame | pl.DataFrame):
        raise TypeError(f"pilot= is {type(pilot).__name__}: pass the result of report(..., interval=0.95)")
    schema = pilot.collect_schema()
    _check_metric(metric, schema.names())
    scale = interval_scale(metric.removesuffix(AT_PRIOR))
    goal = _checked_width(width, metric, scale)
    read = pilot.lazy().select(
        *schema.names()[: schema.names().index("n")],
        *(["total"] if "total" in schema else []),
        "n",
        **{name: column.cast(pl.Float64) for name, column in _columns(metric, schema.names()).items()},
    )
    read_schema = read.collect_schema()
    shown = {name: read_schema[name] for name in read_schema.names() if not name.startswith("__ec_")}
    table = read.map_batches(
        partial(_with_rows, metric=metric, scale=scale, goal=goal),
        schema=pl.Schema({**shown, "rows_needed": pl.Int64()}),
    )
    return table if isinstance(pilot, pl.LazyFrame) else table.collect()


def _columns(metric: str, names: Sequence[str]) -> dict[str, pl.Expr]:
    """The metric, the width of its interval, its bounds without the binning error, and the size of that error."""
    low, high = pl.col(f"{metric}_ci_low"), pl.col(f"{metric}_ci_high")
    ends = [f"{metric}_{end}" for end in ("low", "high")]
    value = pl.col(metric) if metric in names else pl.mean_horizontal(ends)
    below = above = pl.lit(0.0)
    if f"{metric}_error" in names:
        below = above = pl.col(f"{metric}_error")
    elif set(ends) <= set(names):
        below, above = value - pl.col(ends[0]), pl.col(ends[1]) - value
    return {
        metric: value,
        "width": high - low,
        "__ec_low": low + below,
        "__ec_high": high - above,
        "__ec_bins": below + above,
    }


def _with_rows(table: pl.DataFrame, *, metric: str, scale: Scale, goal: float) -> pl.DataFrame:
    # A null is NaN here.
    arrays = [table[name].cast(pl.Float64).to_numpy() for name in ("n", metric, "__ec_low", "__ec_high", "__ec_bins")]
    needed = _rows_for_width(*arrays, scale=scale, width=goal)
    rows = pl.Series("rows_needed", needed, nan_to_null=True).cast(pl.Int64)
    return table.select(pl.exclude("^__ec_.*$"), rows)


def _check_metric(metric: Any, names: Sequence[str]) -> None:
    """ValueError for a name that is no metric's, and for one without an interval in the pilot."""
    ends = ("_ci_low", "_ci_high")
    if not isinstance(metric, str) or metric.removesuffix(AT_PRIOR) not in _METRICS:
        hint = did_you_mean(str(metric), _METRICS)
        raise ValueError(f"metric={metric!r} is not a metric with intervals: {hint}Pass a name such as 'nec'")
    if "n" in names and all(f"{metric}{end}" in names for end in ends):
        return
    there = [name.removesuffix(ends[0]) for name in names if name.endswith(ends[0])]
    if "n" in names and there:
        raise ValueError(f"metric={metric!r} has no interval in the pilot, which has those of {', '.join(there)}")
    lacking = next(name for name in ("n", f"{metric}{ends[0]}", f"{metric}{ends[1]}") if name not in names)
    raise ValueError(f"pilot= has no column {lacking!r}: make it by report(..., interval=0.95)")


def _checked_width(width: Any, metric: str, scale: Scale) -> float:
    if isinstance(width, bool | str) or not hasattr(width, "__float__") or not 0 < float(width) < math.inf:
        raise ValueError(f"width={width!r} is not a number above 0: pass the upper bound minus the lower bound")
    whole = _WHOLE.get(scale)
    if whole is not None and width >= whole:
        raise ValueError(
            f"width={width!r} covers the whole range of {metric}, {whole:g}: pass a smaller width, such as 0.05"
        )
    return float(width)


def _rows_for_width(
    n: Floats, value: Floats, low: Floats, high: Floats, bins: Floats, *, scale: Scale, width: float
) -> Floats:
    """Number of rows at which the interval has the width, rounded up; NaN if it cannot be computed.

    `low` and `high` are the bounds at `n` rows without the binning error, which is `bins` at any number of rows.
    """
    at, half = forward(scale, value), (forward(scale, high) - forward(scale, low)) / 2
    with np.errstate(all="ignore"):
        known = np.isfinite(at) & np.isfinite(half) & (half > 0) & (width > bins)
        wanted = _half_of(width - bins, np.where(known, at, 0.0), scale)
        rows = np.ceil(n * (half / wanted) ** 2)
    return np.where(known & (rows < _MOST_OF_SIZES), np.maximum(rows, 1), np.nan)


def _half_of(widths: Floats, at: Floats, scale: Scale) -> Floats:
    """Find by bisection the half-width on the transformed scale for a width on the scale of the metric."""
    least, most = np.zeros_like(at), np.maximum(widths, _WIDEST)
    for _ in range(_HALVINGS):
        middle = (least + most) / 2
        narrow = inverse(scale, at + middle) - inverse(scale, at - middle) < widths
        least, most = np.where(narrow, middle, least), np.where(narrow, most, middle)
    return most
