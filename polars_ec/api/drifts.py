"""Drift: the causes of a metric's change between two periods, with intervals, in one pass over the log."""

from __future__ import annotations

from collections.abc import Sequence
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
from polars_ec.reports.models import metrics_of, needed, pass_over, read_models
from polars_ec.reports.result import ReportLayout
from polars_ec.scores.read import expand
from polars_ec.sketches.counting import KeyCode
from polars_ec.typing import FrameLike, IntoExpr


@with_options(DecisionOptions)
@lazy_if_lazy
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
    """Decompose the change of each metric between two periods, with intervals, in one pass over the log.

    The components are the class priors (`prior`), the behaviour within each class (`likelihood`: the decisions and losses of its rows), and
    with `mix` the shares of strata such as countries (`mix`). The components add up to the change. They account for it exactly, but they do
    not prove causes.

    Parameters
    ----------
    frame
        The log: a data frame of Polars or of another library. A LazyFrame gives a LazyFrame; all others give a DataFrame. A frame of another
        library is read once per model. A reader that can be read only once is then an error.
    score
        Column name or expression, or several (models). For a log with a row per model and item, pass the column of models in `by`.
    reference
        The period to compare with: its value, or "previous" for the preceding period of the group. Default: the earliest period of the log.
    mix
        Names or expressions of the strata within a group whose shares may change. Default: none, and no component `mix`.
    metrics
        As for `compare`, without ranking metrics, which are not functions of sums. Default: the default metrics of `report`.
    min_rows
        Mark periods of a group with fewer rows as `small` too.
    prior
        The reference prior, as for `report`. Metrics that depend on it get a second row, `NAME_at_prior`. There the class priors contribute
        only through the mix.

    Returns
    -------
    One row per group, period, model and metric, sorted in this order, without the rows of the reference itself. The columns:

    - The columns of `by` and of the period, `model`, `reference` and `metric`.
    - `value`, `value_reference`, `difference` with its bounds, `p_value` and `p_adjusted`, as in `compare`.
    - For each component its value and bounds, such as `prior`, `prior_ci_low` and `prior_ci_high`, and the range over all orders of the
      components, `prior_least` to `prior_most`.
    - `small`, as in `compare`; `n` and `n_reference`, the rows used; `n_missing`.

    The table is empty if there is only one period. Rows with a null period form their own period.

    If a stratum, or a class within it, exists in only one of the two periods, its values are assumed equal in the other. Components are null
    if the value is null, and their bounds if those of the difference are. Components are also null if the strata do not support them; use
    fewer and larger strata then. This happens if no stratum has the class in both periods, or if sparse strata hold more than the square root
    of the number of rows (or clusters) of a class. A stratum is sparse for a class in one of these cases:

    - It has fewer than five rows or clusters of the class in one period and none in the other.
    - It has fewer than 15 in one period, and a share of the class there of less than a sixth of that in the other.
    - All its rows of the class are in one cluster.

    Bounds of components are null too if all rows of a class that the metric depends on are in one cluster.

    If a metric hardly depends on a component, the bounds of that component are wider than necessary, because it is a product of two small
    numbers.

    Raises
    ------
    ValueError
        Several columns in `period`; a column of `mix` that is also in `by` or the period; reserved column names; ranking metrics, counts,
        `ece` and per-class metrics; interval=None; fewer than 100 buckets. While the log is read: an unknown reference period; "previous" if
        a period has that name; a `prior` expression that differs between a period and its reference.
    TypeError
        Periods whose values have no order; a list for `label` or `cluster`.

    Notes
    -----
    Each component is a Shapley value: the change of the metric when one factor moves from the reference to the period, averaged over all
    orders of the factors. With two factors this is Kitagawa's decomposition; one fixed order gives that of Oaxaca and Blinder.

    Intervals use sums of squared influences of rows, or of buckets of clusters, which may have rows in both periods. Influences within a
    class of a stratum are scaled by n / (n - 1).

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
    execute, log = pass_over(frame), as_lazy(frame)
    intervals = {"interval": interval, "cluster": cluster, "buckets": buckets}
    checked = parse_options(options, BY_ROW)
    scores, keys, strata = expand(log, score, "score"), expand(log, by, "by"), expand(log, mix, "mix")
    of_period = validation.check_period(log, expand(log, period, "period"))
    names, key_names, mix_names = ([e.meta.output_name() for e in of] for of in (scores, keys, strata))
    period_name = of_period.meta.output_name()
    taken = validation.drift_columns(validation.factors_of(strata))
    validation.check_names_of_periods(key_names, period_name, taken, mix_names)
    validation.check_reference(reference)
    named, least = validation.comparable(metrics), parse_min_rows(min_rows)
    validation.check_movable(named or ())
    if cluster is not None:
        as_expr(cluster, "cluster")
    level, clusters = validation.level_and_clusters(intervals, names)
    if len(scores) > 1:
        shared: Any = {"period": period, "reference": reference, "by": by, "mix": mix, "metrics": metrics}
        shared |= {**intervals, "min_rows": min_rows, **options}
        each = [drift(frame, model, label, **shared).lazy() for model in scores]
        return validation.of_each_model(each, [*key_names, period_name])
    log, (model,) = read_models(log, scores, label, options, checked, None, execute)
    metric_names = metrics_of(named, model.rows)
    requirements = needed(metric_names, ())
    if requirements.decisions:
        validation.check_number(model.rows.costs)
    units = [*keys, of_period, *strata]
    schema = log.select(units).collect_schema()
    # As whole numbers, of which the engine holds many more in memory than texts.
    codes = [KeyCode.of(name, dtype) for name, dtype in schema.items()]
    encoded = [code.encoded(key) for code, key in zip(codes, units, strict=True)]
    what = CheckedDrift(
        codes=codes,
        by=tuple(key_names),
        period=period_name,
        mix=tuple(mix_names),
        factors=validation.factors_of(strata),
        model=model,
        metrics=metric_names,
        reference=reference,
        layout=ReportLayout(checked, usual=False, min_rows=None, row_parts=(), total=False),
        level=level,
        buckets=None if clusters is None else clusters.buckets,
        min_rows=least,
    )
    labels = [as_expr(label, "label")]
    cells = execute(sum_jointly(log, encoded, [(model, None)], [model], requirements, clusters, labels))
    columns = {**{name: schema[name] for name in what.keys}, **validation.drift_columns(what.factors)}
    return cells.map_batches(partial(drifted, drift=what), schema=columns)
