"""Comparisons: differences between models or groups, with intervals and p-values, in one pass over the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial, reduce
from operator import or_
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.inputs import as_lazy, is_read_once, lazy_if_lazy
from polars_ec.arguments.keywords import BY_ROW, Options, parse_min_rows, parse_options
from polars_ec.arguments.options import DecisionOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.comparisons import validation
from polars_ec.comparisons.class_areas import area_rows
from polars_ec.comparisons.comparison import compared
from polars_ec.comparisons.items import by_item
from polars_ec.comparisons.joint_pass import Comparison, sum_jointly
from polars_ec.comparisons.ranking import rank_cells
from polars_ec.comparisons.result import with_verdicts
from polars_ec.formulas.ranking import CLASS_AREAS, ORDER_METRICS, RANKING_METRICS
from polars_ec.reports.models import Model, Pass, needed, pass_over, read_models
from polars_ec.reports.ranking import grid_of
from polars_ec.reports.result import ReportLayout
from polars_ec.scores.read import check_names, expand, warn_of_nulls
from polars_ec.typing import FrameLike, IntoExpr

_LABEL = "__ec_label"


@with_options(DecisionOptions)
@lazy_if_lazy
def compare(
    frame: FrameLike,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr | Sequence[IntoExpr],
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    model: IntoExpr | None = None,
    item: IntoExpr | Sequence[IntoExpr] | None = None,
    metrics: Sequence[str] | None = None,
    reference: Any = None,
    interval: float = 0.95,
    cluster: IntoExpr | Sequence[IntoExpr] | None = None,
    buckets: int = 100,
    min_rows: int | None = None,
    margin: float | None = None,
    **options: Unpack[DecisionOptions],
) -> pl.LazyFrame | pl.DataFrame:
    """Compare models on the same rows, or groups, with an interval and a p-value for each difference, in one pass over the log.

    Parameters
    ----------
    frame
        The log: a data frame of Polars or of another library. A LazyFrame gives a LazyFrame; all others give a DataFrame. A frame of another
        library is read once per model if models are not compared with each other. A reader that can be read only once is then an error.
    score
        Column name or expression, or several (models).
    label
        Column name or expression. If each model came with its own label column, pass a list with one per model. Labels that differ in any row
        are an error, because the models were then not scored on the same rows.
    model, item
        For a log with a row per model and item: the column of models, and the column, or columns, that identify an item. Models are then
        compared on the items that both have; `n_missing` counts the others. Label, weight and group columns must be those of the item. If
        items have several rows per model, add a column: `item=["id", "epoch"], cluster="id"`. The log is read twice.
    metrics
        As for `report`: decision metrics, scoring rules and ranking metrics, without counts, `ece` and per-class metrics. Default: the
        default metrics of `report`.
    reference
        What to compare with. For models: the name of one of them, default the first. Each other model is compared with it row by row. For
        groups, within each model: "rest" (all other groups together), "total" (all groups), "best" (the group with the best value), "highest"
        or "lowest" (the group with that value), or one group. Name a group by its value in the `by` column, or by a mapping from column to
        value. With two `by` columns, `{"month": may}` compares each group with the same group in May.
    cluster
        The cluster column, which groups correlated rows, such as the user or the day. A list with one per model is accepted if all are equal.
        A row with a null there is its own cluster, and a cluster may have rows in several groups. Default None: independent rows.
    min_rows
        Mark groups with fewer rows as `small` too. No group is dropped.
    margin
        The largest difference that does not matter, in units of the metric, such as 0.02: adds the columns `not_worse` and `equivalent`. Name
        the metric, because all metrics have the same margin.
    prior
        The reference prior, as for `report`. Metrics that depend on it get a second row, `NAME_at_prior`.

    Returns
    -------
    One row per group, model and metric, in this order; without the reference itself, except with "best", "highest" and "lowest". The columns:

    - The columns of `by`, `model`, `reference` and `metric`.
    - `value`, `value_reference` and `difference` (value - reference), with the bounds `difference_ci_low` and `difference_ci_high`.
    - For groups `ratio` (value / reference), with the bounds `ratio_ci_low` and `ratio_ci_high`. They are null unless the reference is above 0
      and the value at least 0.
    - `p_value`, for the hypothesis of no difference, and `p_adjusted`, adjusted over the groups of a metric and model (Benjamini and
      Hochberg). Among the differences with `p_adjusted` below 0.05, at most 5 % are expected to be false discoveries.
    - With `margin`, `not_worse`, true if the value is significantly not worse than the reference by the margin or more: one bound of the
      interval is within it (non-inferiority). `equivalent`, true if both are (two one-sided tests). Each test has the level (1 - interval) / 2:
      for tests at 5 % pass interval=0.9. False is no proof of a difference. `not_worse` is null if neither direction of the metric is better,
      and both are null without bounds.
    - `small`, true if the group or its reference has fewer than 10 rows in a class, or the group has fewer than `min_rows`. Intervals are
      then unreliable.
    - `n`, the rows used, and `n_missing`.

    Each model is compared with the reference on the rows that have both scores, whatever a third model lacks; `n` counts these rows. Values
    are those of `report` on these rows.

    Bounds and p-values are null if a class has no rows (for losses and the AUC of K classes, one row), or if there are fewer than five clusters. They are also null if
    all losses of a compared group are equal, or if all rows agree on the difference between two models. Models with equal scores in the whole
    log get bounds of 0.

    The variance of ranking metrics is computed from bins of an eighth of a nat. It is overestimated for two models that differ by less than a
    bin. Metrics at the best threshold or on the hull, such as `eer`, `ks` and `min_dcf`, treat the threshold or the hull as fixed. The AUC of K classes, such as `macro_auc_roc`, is computed from the
    rows in memory; with reference="rest" this takes time in proportion to groups times rows.

    With reference="best", "highest" or "lowest" the bounds and `p_adjusted` hold for all pairs of groups simultaneously (Bonferroni). Groups
    whose bounds are null have no difference, and others are not compared with them. The interval is for the distance to the group that is
    truly the best, which need not be the group with the best value. It ends at 0; a group whose interval contains 0 may be the best. `p_adjusted` is below 0.05 exactly where the 95 % interval excludes 0. `p_value` is for the
    group in `reference` alone, which may be a small one. With "highest" the minima of `difference`, `difference_ci_low` and `difference_ci_high` over
    the groups are the gap between the lowest and the highest group and its bounds. With "lowest" take the maxima. The columns of the ratio
    are used in the same way. Its bounds are null in all groups if one has a value below 0, or one of 0 that is no rate or cost.

    The bounds of a ratio are those of the difference of the logarithms, by the delta method. A rate of 0 has a ratio of 0 with a bound above,
    from half a pseudo-row in each class and decision.

    Raises
    ------
    ValueError
        `model` without `item`, or `item` without `model`; an item with two rows of a model, or with two labels; one value of `model`. One
        model without a `reference`, or an unknown one; "best" for `decision_share`; fewer than two groups; fewer than 100 buckets; a `min_rows` that is not a whole
        number from 0; a `margin` that is not a positive number. While the log is read: labels or cluster columns that differ between models; an unknown group.

    References
    ----------
    Benjamini and Hochberg, "Controlling the false discovery rate", 1995; Hsu, "Multiple comparisons", 1996, chapter 4, for comparisons with
    the best; Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", 1987, for equivalence; Katz et al.,
    "Obtaining confidence intervals for the risk ratio in cohort studies", 1978, for the ratio.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame(
    ...     {"a": [0.9, 0.8, 0.7, 0.2, 0.1, 0.3], "b": [0.9, 0.2, 0.4, 0.2, 0.1, 0.8], "y": [1, 1, 1, 0, 0, 0]}
    ... )
    >>> compared = log.ec.compare(["a", "b"], "y", metrics=["nec", "recall"])
    >>> compared.select("model", "reference", "metric", "difference", pl.col("p_value").round(3)).rows()
    [('b', 'a', 'nec', 1.0, 0.101), ('b', 'a', 'recall', -0.6666666666666667, 0.184)]
    """
    execute, limit = pass_over(frame), validation.parse_margin(margin)
    intervals = {"interval": interval, "cluster": cluster, "buckets": buckets}
    least, log = parse_min_rows(min_rows), as_lazy(frame)
    if model is not None or item is not None:
        clusters = cluster if isinstance(cluster, list | tuple) else [cluster]
        by = expand(log, by, "by")
        if not isinstance(reference, str | Mapping | tuple | None) and not by:
            reference = pl.select(pl.lit(reference).cast(pl.String)).item()
        log, score, label = by_item(log, score, label, model, item, [*by, *clusters], options, reference)
    lazy = with_verdicts(_compare(log, score, label, by, metrics, reference, intervals, options, execute, least), limit)
    if isinstance(frame, pl.LazyFrame):
        return lazy
    table = lazy.collect(engine="streaming")
    number = table.filter(pl.any_horizontal(pl.col("value", "value_reference").is_null())).height
    nulls = f"values are null in {number} of {table.height} rows of the comparison"
    if number and is_read_once(frame):
        warn_of_nulls(nulls, frame, {})
    elif number:
        scores = expand(log, score, "score")
        one = validation.one_or_each(label, "label", scores)[0]
        log, models = read_models(log, scores, one, options, parse_options(options, BY_ROW), None, execute)
        of_models = {model.name: model.rows for model in models}
        warn_of_nulls(nulls, log, of_models, only_of_invalid=number < table.height)
    return table


def _compare(
    frame: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr | Sequence[IntoExpr],
    by: IntoExpr | Sequence[IntoExpr],
    metrics: Sequence[str] | None,
    reference: Any,
    intervals: Mapping[str, Any],
    keywords: Mapping[str, Any],
    execute: Pass,
    min_rows: int | None,
) -> pl.LazyFrame:
    options = parse_options(keywords, BY_ROW)
    scores, keys = expand(frame, score, "score"), expand(frame, by, "by")
    names, key_names = ([column.meta.output_name() for column in columns] for columns in (scores, keys))
    named = validation.comparable(metrics)
    against = validation.parse_reference(reference, names, key_names)
    validation.check_direction(named or (), against)
    labels = validation.one_or_each(label, "label", names)
    level, clusters = validation.level_and_clusters(intervals, names)
    validation.check_prior(options.prior, against)
    ordered = any(name in ORDER_METRICS for name in named or ())
    # Sums of all models together know which rows each pair has; cells of scores, and a prior that is counted first, do not.
    counted_first = ordered or (options.prior.overall and options.scale.needs_prior)
    apart: list[list[int]] = []
    if against.model is None and len(scores) > 1:
        apart = [[m] for m in range(len(scores))]
    elif len(scores) > 2 and counted_first:
        other = names.index(against.model or "")
        apart = [sorted([m, other]) for m in range(len(scores)) if m != other]
    tables = []
    for some in apart:
        clustered = {**intervals, "cluster": None if clusters is None else _of_models(clusters.keys, some)}
        pair = [scores[m] for m in some], _of_models(labels, some)
        tables.append(_compare(frame, *pair, by, metrics, reference, clustered, keywords, execute, min_rows))
    if tables:
        return validation.of_each_model(tables, key_names)
    frame, models = _models(frame, scores, labels[0], keywords, options, against, ordered, execute)
    metric_names = validation.metrics_of_all(named, models)
    layout = ReportLayout(options, usual=False, min_rows=None, row_parts=(), total=False)
    requirements = needed(metric_names, ())
    if requirements.decisions:
        validation.check_number(models[0].rows.costs)
    check_names(keys, against.columns, "the comparison")
    ranks, areas = ([name for name in metric_names if name in of] for of in (RANKING_METRICS, CLASS_AREAS))
    grids = tuple(grid_of(model.rows, keywords.get("prior")) for model in models) if ranks else ()
    n_buckets = None if clusters is None else clusters.buckets
    comparison = Comparison(
        tuple(key_names), tuple(models), metric_names, against, layout, level, n_buckets, min_rows, grids
    )
    pairs = comparison.pairs
    cells = execute(sum_jointly(frame, keys, pairs, models, requirements, clusters, labels))
    tables = rank_cells(frame, keys, pairs, models, grids, clusters) if ranks else []
    tables += [area_rows(frame, keys, models, areas, clusters)] if areas else []
    if tables:
        cells = pl.concat([cells, *(execute(table) for table in tables)], how="diagonal")
    schema = cells.collect_schema()
    columns = {**{name: schema[name] for name in key_names}, **against.columns}
    return cells.map_batches(partial(compared, comparison=comparison), schema=columns)


def _of_models(columns: Sequence[pl.Expr], models: Sequence[int]) -> pl.Expr | list[pl.Expr]:
    """The column of all models, or that of each of these."""
    return columns[0] if len(columns) == 1 else [columns[m] for m in models]


def _models(
    frame: pl.LazyFrame,
    scores: Sequence[pl.Expr],
    label: pl.Expr,
    keywords: Mapping[str, Any],
    options: Options,
    against: validation.Reference,
    ordered: bool,
    execute: Pass,
) -> tuple[pl.LazyFrame, list[Model]]:
    """The frame and the models; where two are compared that are counted first, a row that one of them lacks is one that both lack."""
    with_priors, models = read_models(frame, scores, label, keywords, options, None, execute)
    validation.check_kinds(models)
    counts_prior = any(model.counts_prior for model in models)
    if against.model is None or not (ordered or counts_prior):
        return with_priors, models
    missing = reduce(or_, [model.rows.scores.missing for model in models])
    # Without the columns of priors, which are recomputed.
    kept = pl.when(~missing).then(label).alias(_LABEL)
    known = with_priors.with_columns(kept).select(*frame.collect_schema(), _LABEL)
    return read_models(known, scores, pl.col(_LABEL), keywords, options, None, execute)
