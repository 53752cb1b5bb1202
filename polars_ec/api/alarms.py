"""Alarms: a sequential test over the periods of a report with few false alarms, and bounds for the mean of all periods so far."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from polars_ec.arguments.keywords import did_you_mean, parse_level, parse_number
from polars_ec.arguments.signatures import checked_keywords
from polars_ec.comparisons.result import with_numbers
from polars_ec.formulas.decisions import AT_PRIOR, Scale, interval_scale
from polars_ec.formulas.sums import GROUP
from polars_ec.inference import sequential
from polars_ec.numerics import Floats, floats, np
from polars_ec.typing import AlarmTest

COUNTED = {
    **dict.fromkeys(("error_rate", "accuracy", "decision_share"), pl.col("n")),
    **dict.fromkeys(("recall", "fnr"), pl.col("n") * pl.col("class_prior")),
    **dict.fromkeys(("specificity", "fpr"), pl.col("n") * (1 - pl.col("class_prior"))),
    "precision": pl.col("tp") + pl.col("fp"),
}
"""Rates of rows, by the number of rows that they are a share of."""

_PERIOD, _MEAN = "__ec_period", ("mean", "mean_ci_low", "mean_ci_high")
_ADDED = ("evidence", "alarm_at", "alarm", "since", "judged", *_MEAN)
_WHOLE = 1e-6


@checked_keywords
def alarms(
    report: pl.DataFrame,
    metric: str,
    *,
    period: str,
    looks: float,
    above: float | None = None,
    below: float | None = None,
    by: str | Sequence[str] = (),
    interval: float = 0.95,
    test: AlarmTest = "interval",
) -> pl.DataFrame:
    """Test after every period whether a metric has crossed a bound, with at most one false alarm in so many looks on average.

    A 95 % interval that is checked every day lies above the true value about once in 40 days. These alarms collect the evidence of all
    periods instead, so that you can look after each one. They depend on nothing but the report: computed again, or with late labels, they
    are those of the new report.

    Read `alarm` to learn that the metric has crossed the bound, and since when. Read `mean` and its bounds, a confidence sequence, to learn how
    high the metric has been on average over all periods so far: they hold however often you look.

    Parameters
    ----------
    report
        The result of `report(..., interval=)` by period, and perhaps by group; of `Sketch.evaluate`; or of `compare`, filtered to one metric,
        if models are compared. Periods must have different rows: rolling windows overlap, and changes from one reference period share its
        sampling noise.
    metric
        The column: "nec_at_prior"; "difference" for `compare`.
    period
        The column of periods, which are taken in its order. Each one is a look, if it has a value.
    looks
        The smallest mean number of looks between false alarms, more than 1: 365 for one false alarm a year of daily looks. It is that of all
        groups together.
    above, below
        The bound: evidence is collected that the metric is above it, or that it is below.
    by
        The other group columns, such as the segment or the model.
    interval
        The level of the intervals in the report, and of the bounds of the mean.
    test
        "interval": from the value and its interval, for every metric with one and for clusters. It is right for enough rows per period; `small`
        periods and those with `nec_kinked` are left out. "counts": exactly, from the numbers of rows, for `error_rate`, `accuracy`,
        `decision_share`, `recall`, `fnr`, `specificity`, `fpr` and `precision` (with the columns `tp` and `fp`) of independent rows without
        weights. It needs no interval.

    Returns
    -------
    One row per row of the report, sorted by group and period. The columns:

    - Those of `by`, the period and the metric.
    - `evidence`: a sum of likelihood ratios for a change since any of the periods; `alarm_at`: the evidence that raises the alarm, `looks`
      times the number of groups.
    - `alarm`: whether the evidence has reached it. The alarm goes on until later periods outweigh the evidence.
    - `since`: during an alarm, the period since which the change is most likely.
    - `judged`: whether the value and its interval can be used. If not, evidence and mean stay as they were. If few can, take longer periods.
    - `mean`, `mean_ci_low`, `mean_ci_high`: the mean of the periods judged so far, and its bounds. In 95 % of all logs the true mean is between
      them after every period, also if the metric changes. With "counts" it is the rate of all rows so far. Each group has bounds of its own.

    Raises
    ------
    TypeError
        The report is no DataFrame of Polars.
    ValueError
        A result of `estimate`, whose periods share the labels of their reference; neither or both of `above` and `below`; columns that are not in
        the report; a metric with a value per class; two rows of one group and period; a null period; `looks` of 1 or less. With "counts": another metric, a bound outside 0 to 1, counts that are not whole numbers, as with weights.

    Notes
    -----
    The evidence is the mean, over d = 1/4, 1/2, 1 and 2, of the sums M_t = (M_(t-1) + 1) e_t of Shiryaev and Roberts. For intervals
    e_t = exp(d z_t - d^2 / 2), where z_t is the distance of the value from the bound in standard errors, the smaller one of those on
    the scale of the metric and on the metric itself. For counts e_t is the product of 1 + l (x - bound) over rows x, 0 or 1, with the l of a rate whose log-odds are d
    standard errors higher. While the metric is on the right side, the mean of e_t is at most 1 whatever came before, so that the
    mean of M_t is at most the number of looks.

    The bounds of the mean of t periods are a normal mixture: mean -+ sqrt((V + v) ln((V / v + 1) / a^2)) / t. V is the sum of the variances so far, v
    the first one divided by 0.3, and a = 0.05. They are right for many periods. The rate of n rows with h hits is at least
    (exp((b h - ln(32 / a)) / n) - 1) / (exp(b) - 1), for each bet b = 4, 2, 1, ..., 2^-13. This is exact, also if the rate changes.

    The noise of different periods must be independent. Clusters within a period, such as sessions, are right. If the same users return in
    each period, the alarms and the mean are about the metric of these users. Values that are biased in small samples, such as a ratio of few rows, are biased in
    every period: set the bound a little further away, or take longer periods. The mean is then biased as well.

    References
    ----------
    Shin, Ramdas and Rinaldo, "E-detectors: a nonparametric framework for sequential change detection", 2023; Shiryaev 1963; Roberts 1966.
    Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit theory", 2024, for estimates and their mean; Waudby-Smith and Ramdas,
    "Estimating means of bounded random variables by betting", 2024, for counts.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> report = pl.DataFrame({"day": [1, 2, 3, 4], "n": [100] * 4, "error_rate": [0.09, 0.11, 0.21, 0.22]})
    >>> alarms = ec.alarms(report, "error_rate", above=0.1, period="day", looks=365, test="counts")
    >>> alarms.select("day", pl.col("evidence").round(1), "alarm_at", "alarm", "since").rows()
    [(1, 0.5, 365.0, False, None), (2, 1.3, 365.0, False, None), (3, 59.5, 365.0, False, None), (4, 11905.1, 365.0, True, 3)]
    >>> alarms.select("day", pl.col("mean", "mean_ci_low", "mean_ci_high").round(3)).row(3)
    (4, 0.158, 0.1, 0.23)
    """
    if isinstance(report, pl.LazyFrame):
        raise TypeError("the report is a LazyFrame, and alarms take its periods in order: pass report.collect()")
    if not isinstance(report, pl.DataFrame):
        library = type(report).__module__.partition(".")[0]
        raise TypeError(
            f"the report is a {library}.{type(report).__name__}, not a data frame of Polars: pass the result of report()"
        )
    if {"observed", "covered"} <= {*report.columns}:
        raise ValueError(
            "estimates of several periods share the labels of their reference: pass the result of report()"
        )
    keys = [by] if isinstance(by, str) else [*by]
    bound, sign = (above, 1) if above is not None else (below, -1)
    if bound is None or (above is not None and below is not None):
        raise ValueError("pass either above= or below=, the bound that the metric should not cross")
    if not math.isfinite(parse_number(bound, "above" if sign > 0 else "below")):
        raise ValueError(f"{'above' if sign > 0 else 'below'}={bound!r} is not a finite number")
    if not 1 < parse_number(looks, "looks") < math.inf:
        raise ValueError(f"looks={looks!r}: pass more than 1 look between false alarms, such as looks=365")
    if f"{metric}_low" in report.columns:
        raise ValueError(
            f"{metric} has the bounds {metric}_low and {metric}_high, because the sketch is not exact at this threshold: "
            "sketch the log with this threshold"
        )
    if metric.endswith(("_ci_low", "_ci_high")):
        name = metric.removesuffix("_ci_low").removesuffix("_ci_high")
        raise ValueError(f"metric={metric!r} is a bound of an interval: pass {name!r}, whose interval is used")
    _check_columns(report, [*keys, period, metric])
    if report.schema[metric].is_nested():
        raise ValueError(
            f"{metric} has several values per row: pass a metric with one, such as f1 of report(..., per_class=True) for each class"
        )
    groups, numbered = with_numbers(report, keys)
    place = pl.col(period).rank("dense").cast(pl.Int64) - 1
    numbered = numbered.with_columns(place.alias(_PERIOD)).sort(*keys, period)
    if numbered[period].null_count():
        raise ValueError(f"period={period!r}: some rows of the report have no period: filter them out")
    twice = numbered.filter(pl.struct(GROUP, _PERIOD).is_duplicated())
    if twice.height:
        such_as = ", such as by='score' for models" if "score" in twice.columns else ""
        raise ValueError(
            f"period={period!r}: the report has several rows for {twice[period][0]} and one group: name all group "
            f"columns in by={such_as}, and filter a comparison to one metric"
        )
    starts, level = numbered[period].unique().sort(), parse_level(interval)
    at = numbered[_PERIOD].to_numpy(), numbered[GROUP].to_numpy()

    def by_period(values: Floats) -> Floats:
        laid_out = np.full((len(starts), groups.height, *values.shape[1:]), np.nan)
        laid_out[at] = values
        return laid_out

    if test == "counts":
        hits, rows = _hits_and_rows(numbered, metric, bound, sign)
        of_side = (hits, rows, bound) if sign > 0 else (rows - hits, rows, 1 - bound)
        added = sequential.log_evidence_of_counts(*of_side)
        sequence = sequential.rate_sequence(by_period(hits), by_period(rows), level)
    elif test == "interval":
        scale: Scale = "identity" if metric == "difference" else interval_scale(metric.removesuffix(AT_PRIOR))
        value, low, high, hidden = _estimates(numbered, metric)
        error = sequential.standard_errors(value, low, high, scale, level)
        at_worst = value - sign * hidden
        added = sequential.log_evidence_of_estimates(at_worst, low, high, bound, sign, scale, level)
        sequence = sequential.mean_sequence(by_period(value), by_period(error), by_period(hidden), scale, level)
    else:
        raise ValueError(f"test={test!r} is neither 'interval' nor 'counts'")
    evidence, since = (values[at] for values in sequential.detect(by_period(added)))
    alarm_at = float(looks * groups.height)
    alarm = evidence >= alarm_at
    return numbered.select(*keys, period, metric).with_columns(
        evidence=pl.Series(evidence),
        alarm_at=pl.lit(alarm_at),
        alarm=pl.Series(alarm),
        since=starts.gather(since).zip_with(pl.Series(alarm), pl.Series([None], dtype=starts.dtype)),
        judged=pl.Series(~np.isnan(added[:, 0])),
        **{name: pl.Series(of[at], nan_to_null=True) for name, of in zip(_MEAN, sequence, strict=True)},
    )


def _check_columns(report: pl.DataFrame, names: Sequence[str]) -> None:
    lacks = next((name for name in names if name not in report.columns), None)
    if lacks is not None:
        there = [name for name in report.columns if name not in (GROUP, _PERIOD)]
        hint = "pass interval=0.95 to the report. " if lacks.endswith("_ci_low") else did_you_mean(lacks, there)
        raise ValueError(f"the report has no column {lacks!r}: {hint}It has {', '.join(there)}")
    clash = next((name for name in names if name in _ADDED), None)
    if clash is not None:
        raise ValueError(f"the report has a column {clash!r}, which alarms() adds: rename it")


def _estimates(report: pl.DataFrame, metric: str) -> tuple[Floats, Floats, Floats, Floats]:
    """The value of each row, NaN where its interval cannot be used, the bounds and the error of bins."""
    _check_columns(report, [f"{metric}_ci_low", f"{metric}_ci_high"])
    value, low, high = (floats(report[f"{metric}{end}"]) for end in ("", "_ci_low", "_ci_high"))
    hidden = floats(report[f"{metric}_error"]) if f"{metric}_error" in report.columns else np.zeros_like(value)
    excuses = [name for name in ("small", *(["nec_kinked"] if metric == "nec" else [])) if name in report.columns]
    excused = report.select(pl.any_horizontal(pl.lit(value=False), *excuses).fill_null(value=False)).to_series()
    return np.where(excused.to_numpy() | np.isnan(hidden), np.nan, value), low, high, hidden


def _hits_and_rows(report: pl.DataFrame, metric: str, bound: float, sign: int) -> tuple[Floats, Floats]:
    """The numbers of rows that a rate is the share of, and of which; NaN for none."""
    if metric not in COUNTED:
        raise ValueError(f"{metric} is not a share of rows: pass test='interval'. Counts decide {', '.join(COUNTED)}")
    if not 0 < bound < 1:
        raise ValueError(
            f"{'above' if sign > 0 else 'below'}={bound!r}: {metric} is a share, so pass a bound between 0 and 1"
        )
    _check_columns(report, COUNTED[metric].meta.root_names())
    rows = floats(report.select(COUNTED[metric]).to_series())
    hits = floats(report[metric]) * rows
    for counts in (rows, hits):
        if (np.abs(counts - np.round(counts)) > _WHOLE * np.fmax(rows, 1)).any():
            raise ValueError(
                f"test='counts': {metric} is not a share of whole rows, as with weights: pass test='interval'"
            )
    return np.round(hits), np.round(rows)
