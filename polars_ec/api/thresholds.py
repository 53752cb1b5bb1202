"""Thresholds learned in one period and judged in others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.inputs import as_lazy, lazy_if_lazy
from polars_ec.arguments.keywords import as_expr, parse_options
from polars_ec.arguments.options import CountOptions, RiskOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.comparisons import validation
from polars_ec.comparisons.comparison import compared
from polars_ec.comparisons.joint_pass import Comparison, sum_jointly
from polars_ec.formulas.decisions import AT_PRIOR
from polars_ec.formulas.sums import GROUP
from polars_ec.metrics.counts import n_rows
from polars_ec.metrics.ranking import best_threshold
from polars_ec.reports.models import Pass, needed, pass_over, read_models, with_overall_prior
from polars_ec.reports.result import ReportLayout
from polars_ec.scores.read import expand, join_groups
from polars_ec.typing import FrameLike, IntoExpr

_THRESHOLD, _PRIOR, _BAYES = "__ec_threshold", "__ec_stated", "__ec_bayes"
_READ, _FROM, _LEARNED = "__ec_read_", "__ec_from", "__ec_learned"

_RENAMED = {
    "value": "nec",
    "value_reference": "nec_bayes",
    **{f"difference{end}": f"regret{end}" for end in ("", "_ci_low", "_ci_high")},
}
_COLUMNS = (
    *("model", "reference", "threshold", *_RENAMED.values(), "p_value", "p_adjusted", "small"),
    *("n", "n_reference", "n_missing"),
)


@with_options(RiskOptions)
@lazy_if_lazy
def best_thresholds(
    frame: FrameLike,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    *,
    period: IntoExpr,
    reference: Any = None,
    by: IntoExpr | Sequence[IntoExpr] = (),
    interval: float = 0.95,
    cluster: IntoExpr | None = None,
    buckets: int = 100,
    **options: Unpack[RiskOptions],
) -> pl.LazyFrame | pl.DataFrame:
    """Learn the best threshold of each group in one period, and judge it in the others against the Bayes threshold.

    The regret is the NEC at the learned threshold minus the NEC of the Bayes decisions, on the same rows of a later period. Below 0 the
    learned threshold costs less, so the posteriors are miscalibrated there. Above 0, leave `threshold=` out.

    Parameters
    ----------
    frame
        The log: a data frame of Polars or of another library. A LazyFrame gives a LazyFrame; all others give a DataFrame. The log is read
        three times, and the rows of the reference are sorted in memory. If they do not fit, use `Sketch.best_threshold`.
    score
        Column name or expression, or several (models); one number per row.
    reference
        The period to learn in: its value, or "previous" for the preceding period of the group. Default: the earliest period of the log.
    prior
        The reference prior, as for `report`, at which thresholds are learned and judged. Default None: that of each group and period.

    Returns
    -------
    One row per group, period and model, sorted in this order, without the rows of the reference itself. The columns:

    - The columns of `by` and of the period, `model`, and `reference`, the period in which the threshold was learned.
    - `threshold`, as in `ec.best_threshold`; null if that is, or if the group has no rows in the reference.
    - `nec` at this threshold, `nec_bayes` of the Bayes decisions, and `regret`, their difference with its bounds. The threshold counts as
      given: the bounds are for the rows of the period alone. They cover too rarely if the thresholds differ in few rows.
    - `p_value` and `p_adjusted`, for the hypothesis that both cost the same, as in `compare`.
    - `small`, true if a class has fewer than 10 rows in the period; `n` and `n_reference`, the rows used; `n_missing`.

    All three values are null without a threshold. Bounds are null if both thresholds give every row the same decision, unless they do so in the
    whole log, which gives bounds of 0. They are also null if a class has no rows, or if there are fewer than five clusters.

    Raises
    ------
    ValueError
        Several columns in `period`; reserved column names; costs that are not 2 x 2, or in which an error costs less than a right decision;
        raw scores, which have no Bayes threshold; fewer than 100 buckets. While the log is read: an unknown reference period; "previous" if
        a period has that name.
    TypeError
        Scores that are not one number per row; periods whose values have no order.

    References
    ----------
    Ferrer, "The expected cost", section 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> month = {"p": [0.9, 0.6, 0.3, 0.2, 0.1] * 20, "y": [1, 1, 1, 0, 0] * 20}
    >>> log = pl.concat([pl.DataFrame({"month": [m] * 100, **month}) for m in (1, 2)])
    >>> judged = log.ec.best_threshold("p", "y", period="month")
    >>> judged.select("month", "reference", pl.col("threshold", "nec", "nec_bayes", "regret").round(2)).rows()
    [(2, '1', 0.2, 0.0, 0.5, -0.5)]
    """
    execute, log = pass_over(frame), as_lazy(frame)
    intervals = {"interval": interval, "cluster": cluster, "buckets": buckets}
    checked = parse_options(options)
    scores, groups = expand(log, score, "score"), expand(log, by, "by")
    of_period = validation.check_period(log, expand(log, period, "period"))
    names = [key.meta.output_name() for key in (*groups, of_period)]
    validation.check_names_of_periods(names[:-1], names[-1], {*_COLUMNS, *validation.COLUMNS})
    validation.check_reference(reference)
    if cluster is not None:
        as_expr(cluster, "cluster")
    level, clusters = validation.level_and_clusters(intervals, [model.meta.output_name() for model in scores])
    if len(scores) > 1:
        shared: Any = {"period": period, "reference": reference, "by": by, **intervals, **options}
        each = [best_thresholds(frame, model, label, **shared).lazy() for model in scores]
        return validation.of_each_model(each, names)
    keywords: dict[str, Any] = {**options}
    if checked.prior.overall:
        log, overall = with_overall_prior(log, scores[0], label, keywords, _PRIOR, execute)
        checked, keywords["prior"] = replace(checked, prior=overall), overall.expression
    # Evaluated on the whole log, as in a report. A group column may have the name of another column.
    read = {"score": scores[0], "label": as_expr(label, "label"), **checked.columns}
    keys = {f"{_READ}key_{i}": key for i, key in enumerate([*groups, of_period])}
    log = log.with_columns(**{f"{_READ}{name}": column for name, column in read.items()}, **keys)
    call: Any = {name: pl.col(f"{_READ}{name}").alias(column.meta.output_name()) for name, column in read.items()}
    call = {**keywords, **call}
    log, learned = _with_thresholds(log, list(keys), names, reference, call, execute)
    model, labels = call.pop("score"), call.pop("label")
    log, (bayes,) = read_models(log, [model], labels, call, parse_options(call), None, execute)
    at_threshold = replace(bayes, prefix="__ec_1_", rows=replace(bayes.rows, threshold=pl.col(_THRESHOLD)))
    comparison = Comparison(
        keys=tuple(names),
        models=(at_threshold, replace(bayes, name=_BAYES)),
        names=("nec",),
        reference=validation.Reference(model=_BAYES),
        layout=ReportLayout(checked, usual=False, min_rows=None, row_parts=(), total=False),
        level=level,
        buckets=None if clusters is None else clusters.buckets,
    )
    requirements, by_name = needed(comparison.names, ()), _named(keys, names)
    cells = execute(sum_jointly(log, by_name, comparison.pairs, comparison.models, requirements, clusters, [labels]))
    dtypes = learned.select(names).collect_schema()
    judged = cells.map_batches(partial(compared, comparison=comparison), schema={**dtypes, **validation.COLUMNS})
    at = f"nec{AT_PRIOR}" if checked.prior.stated else "nec"
    judged = judged.filter(pl.col("metric") == at).drop("reference").rename(_RENAMED)
    return join_groups(judged, learned, names).filter(pl.col("n_reference").is_not_null()).select(*names, *_COLUMNS)


def _named(columns: Iterable[str], names: Sequence[str]) -> list[pl.Expr]:
    return [pl.col(column).alias(name) for column, name in zip(columns, names, strict=True)]


def _with_thresholds(
    frame: pl.LazyFrame, keys: Sequence[str], names: Sequence[str], reference: Any, call: Any, execute: Pass
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """The log with the threshold of each row, and the groups with their references and thresholds."""
    counted = {name: value for name, value in call.items() if name in {"score", "label", *CountOptions.__annotations__}}
    groups = frame.group_by(_named(keys, names)).agg(n_reference=n_rows(**counted))
    dtypes, *by = groups.collect_schema(), *names[:-1], _FROM
    groups = execute(
        groups.map_batches(
            partial(_with_references, reference=reference, names=names),
            schema={**dtypes, "reference": pl.String(), _FROM: dtypes[names[-1]]},
        )
    ).cache()
    sources = groups.filter(pl.col(_FROM).is_not_null()).select(_named(by, keys)).unique()
    # Only these rows are sorted.
    rows = join_groups(frame, sources.with_columns(pl.lit(value=True).alias(_LEARNED)), keys).filter(_LEARNED)
    learned = rows.group_by(_named(keys, by)).agg(threshold=best_threshold(**call))
    learned.collect_schema()
    learned = execute(join_groups(groups, learned, by)).cache()
    thresholds = learned.select(*_named(names, keys), pl.col("threshold").alias(_THRESHOLD))
    return join_groups(frame, thresholds, keys), learned


def _with_references(groups: pl.DataFrame, reference: Any, names: Sequence[str]) -> pl.DataFrame:
    """The groups with the name, the period and the number of rows of their references, without the references themselves."""
    groups = groups.sort(names).with_row_index(GROUP)
    against = pl.Series(validation.references(reference, groups, names[:-1], names[-1]))
    reference_names = validation.shown(groups[names[-1]]).alias("reference")
    columns = groups.select("n_reference", reference_names, pl.col(names[-1]).alias(_FROM))
    taken = columns[against.clip(0)].select(pl.when(against >= 0).then(pl.all())) if groups.height else columns
    found = groups.select(names).hstack(taken.with_columns(pl.col("n_reference").fill_null(0)))
    return found.filter(against != groups[GROUP].cast(pl.Int64))
