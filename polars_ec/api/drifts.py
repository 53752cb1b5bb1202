"""Drift: where the change of a metric from one period to another comes from, with intervals, in one pass over the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.inputs import as_lazy, lazy_if_lazy
from polars_ec.arguments.keywords import BY_ROW, as_expr, parse_min_rows, parse_options
from polars_ec.arguments.options import DecisionOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.comparisons import validation
from polars_ec.comparisons.drift import CheckedDrift, drifted
from polars_ec.comparisons.joint_pass import sum_jointly
from polars_ec.reports.models import Pass, metrics_of, needed, pass_over, read_models
from polars_ec.reports.result import ReportLayout
from polars_ec.scores.read import expand
from polars_ec.typing import FrameLike, IntoExpr


@lazy_if_lazy
@with_options(DecisionOptions)
def drift(
    frame: FrameLike,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    *,
    period: IntoExpr,
    reference: Any = None,
    by: IntoExpr | Sequence[IntoExpr] = (),
    mix: IntoExpr | Sequence[IntoExpr] = (),
    metrics: Sequence[str] | None = None,
    interval: float = 0.95,
    cluster: IntoExpr | None = None,
    buckets: int = 100,
    min_rows: int | None = None,
    **options: Unpack[DecisionOptions],
) -> pl.LazyFrame | pl.DataFrame:
    """Where the change of each metric between two periods comes from, with intervals, from one pass over the log.

    The change is taken apart into what the class shares add (`prior`), what rows of a class are like (`likelihood`: how they are decided
    and what they lose), and, with `mix`, the shares of strata such as countries (`mix`). The parts add up to it: it is an account of the
    change, as exact as its sums, and not a proof of causes.

    Parameters
    ----------
    frame
        The log, a frame of Polars or of another library. A LazyFrame gives a LazyFrame; all others give a DataFrame.
        Several models are a pass each where it is not of Polars, and so of a reader that can be read once an error.
    score
        Column name or expression; or several of them (models).
    period
        Column name or expression of the period of a row, such as `pl.col("ts").dt.truncate("1mo")`.
    reference
        What each period is compared with: one of them, by its value, or "previous", the one before it in its group. Default: the
        earliest period of the log.
    mix
        Names and expressions of the strata within a group whose shares may move. Default: none, and no part `mix`.
    metrics
        As for `compare`, without ranking metrics, which are not made of sums. Default: the usual battery.
    interval
        The level of the intervals, between 0 and 1.
    cluster
        The key that correlated rows share, such as the user or the day; a row without one is a cluster of its own. Clusters may be in
        several groups and periods. Default None: independent rows.
    buckets
        How many parts clusters are dealt out to, from 100 to 1000.
    min_rows
        Periods of a group with fewer rows than this are `small`, too.
    prior
        The reference prior, as for `report`: metrics that it moves have one more row, `NAME_at_prior`, of which class shares are
        no part but through the mix.

    Returns
    -------
    One row per group, period, model and metric, in this order, without those of the reference itself: the columns of `by` and of the
    period; `model`, `reference`, `metric`; `value`, `value_reference`, `difference` with its limits, `p_value` and `p_adjusted`, all as
    `compare` has them against this reference; then of each part its value, such as `prior`, `prior_ci_low` and `prior_ci_high`, and
    `prior_least` and `prior_most`, the range over the orders in which the parts may be taken; `small`, as for `compare`; `n` and
    `n_reference`, the rows used, and `n_missing`. No rows where there is one period alone. Rows without a period are a period of their
    own.

    What a stratum, or a class in it, has in one of the two periods alone is taken to be the same in the other. Parts are null where a
    value is, and their limits where those of the difference are; and where strata do not tell: more rows of a class than the square
    root of how many there are, or clusters, are in strata with fewer than five of them in one period and none in the other, with fewer
    than 15 in the other and less than a sixth of the share of the class there, or in one cluster alone; or no stratum has the class in
    both. Then take fewer and larger strata. Where a metric hardly hangs on a factor, limits of its part are wider than they need be, for
    the part is a product of two small numbers.

    Raises
    ------
    ValueError
        Several columns in `period`; a column of `mix` that is one of `by` or the period; names that the result has; ranking metrics,
        counts, `ece` and metrics of each class; interval=None; fewer than 100 buckets. What only the rows tell: a
        reference that is no period; "previous" where a period is called so; and a `prior` of the rows that differs between a period and
        its reference.
    TypeError
        Periods whose values have no order; a list for `label` or `cluster`.

    Notes
    -----
    With the share of stratum m W_m, that of class i in it pi_mi, and the mean of what its rows have mu_mi, the value of a period is
    g(sum_m W_m pi_mi mu_mi). A part is the mean over all orders of what the value moves by when this factor is taken from the period, and
    no longer from the reference: the Shapley value. Of two factors that is what Kitagawa has; one order alone is Oaxaca and Blinder.
    Limits are those of the sums of squared influences of rows, or of buckets of clusters, which may be in both periods; those within a class
    of a stratum count n / (n - 1) times.

    References
    ----------
    Kitagawa, "Components of a difference between two rates", 1955; Oaxaca 1973; Blinder 1973; Shorrocks, "Decomposition procedures for
    distributional analysis", 1999 and 2013.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame(
    ...     {
    ...         "month": [4] * 40 + [9] * 40,
    ...         "p": [0.8, 0.2, 0.6, 0.1] * 10 + [0.9, 0.3, 0.2, 0.1] * 10,
    ...         "y": [1, 0, 0, 0] * 10 + [1, 0, 0, 1] * 10,
    ...     }
    ... )
    >>> parts = log.ec.drift("p", "y", period="month", metrics=["error_rate"])
    >>> parts.select("month", "reference", pl.col("difference", "prior", "likelihood").round(4)).rows()
    [(9, '4', 0.0, 0.0208, -0.0208)]
    """
    execute = pass_over(frame)
    intervals = {"interval": interval, "cluster": cluster, "buckets": buckets}
    lazy = _drift(
        as_lazy(frame), score, label, period, reference, by, mix, metrics, intervals, min_rows, options, execute
    )
    return lazy if isinstance(frame, pl.LazyFrame) else lazy.collect(engine="streaming")


def _drift(
    frame: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    period: IntoExpr,
    reference: Any,
    by: IntoExpr | Sequence[IntoExpr],
    mix: IntoExpr | Sequence[IntoExpr],
    metrics: Sequence[str] | None,
    intervals: Mapping[str, Any],
    min_rows: int | None,
    keywords: Mapping[str, Any],
    execute: Pass,
) -> pl.LazyFrame:
    options = parse_options(keywords, BY_ROW)
    scores, keys, strata = expand(frame, score, "score"), expand(frame, by, "by"), expand(frame, mix, "mix")
    if not scores:
        raise ValueError("score= names no column: pass at least one")
    of_period = validation.check_period(frame, expand(frame, period, "period"))
    names, key_names, mix_names = ([e.meta.output_name() for e in of] for of in (scores, keys, strata))
    period_name = of_period.meta.output_name()
    validation.check_names_of_drift(key_names, period_name, mix_names)
    validation.check_reference(reference)
    named, least = validation.movable(metrics), parse_min_rows(min_rows)
    if intervals["cluster"] is not None:
        as_expr(intervals["cluster"], "cluster")
    level, clusters = validation.level_and_clusters(intervals, names)
    if len(scores) > 1:
        each = [
            _drift(frame, [model], label, period, reference, by, mix, metrics, intervals, min_rows, keywords, execute)
            for model in scores
        ]
        return validation.of_each_model(each, [*key_names, period_name])
    frame, (model,) = read_models(frame, scores, label, keywords, options, None, execute)
    metric_names = metrics_of(named, model.rows)
    requirements = needed(metric_names, ())
    if requirements.decisions:
        validation.check_number(model.rows.costs)
    what = CheckedDrift(
        by=tuple(key_names),
        period=period_name,
        mix=tuple(mix_names),
        factors=validation.factors_of(strata),
        model=model,
        metrics=metric_names,
        reference=reference,
        layout=ReportLayout(options, usual=False, min_rows=None, row_parts=(), total=False),
        level=level,
        buckets=None if clusters is None else clusters.buckets,
        min_rows=least,
    )
    groups, pairs = [*keys, of_period, *strata], [(model, None)]
    cells = execute(sum_jointly(frame, groups, pairs, [model], requirements, clusters, [as_expr(label, "label")]))
    schema = cells.collect_schema()
    columns = {**{name: schema[name] for name in what.keys}, **validation.drift_columns(what.factors)}
    return cells.map_batches(partial(drifted, drift=what), schema=columns)
