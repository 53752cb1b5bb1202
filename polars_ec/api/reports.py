"""Reports: the default or selected metrics per group, in one pass over the log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Unpack, get_args

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.inputs import as_lazy, is_read_once, lazy_if_lazy
from polars_ec.arguments.keywords import BY_ROW, Options, parse_interval, parse_min_rows, parse_options
from polars_ec.arguments.options import ReportOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.formulas.ranking import CLASS_AREAS, ORDER_METRICS
from polars_ec.reports import result
from polars_ec.reports.class_areas import with_class_areas
from polars_ec.reports.intervals import with_intervals
from polars_ec.reports.models import (
    METRICS,
    TOTAL,
    Model,
    is_multiclass,
    metrics_of,
    metrics_of_one_class,
    named_metrics,
    needed,
    pass_over,
    read_models,
    stated_prior,
    stated_vector,
    sum_per_class,
    sum_per_group,
    with_priors,
)
from polars_ec.reports.ranking import GroupedLog, Rank, with_ranks
from polars_ec.scores.read import check_names, expand, warn_of_nulls
from polars_ec.typing import FrameLike, IntoExpr, Missing

_PARTS = ("label", "score", "weight")


@with_options(ReportOptions)
@lazy_if_lazy
def report(
    frame: FrameLike,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    metrics: Sequence[str] | None = None,
    min_rows: int | None = None,
    total: bool = False,
    per_class: bool = False,
    missing: Missing = "together",
    score_prior: Prior = None,
    **options: Unpack[ReportOptions],
) -> pl.LazyFrame | pl.DataFrame:
    """Compute the default or selected metrics of each group, one row per group, in one pass over the log.

    Parameters
    ----------
    frame
        The log: a data frame of Polars or of another library. A LazyFrame gives a LazyFrame whose plan streams; all others give a DataFrame.
    score
        Column name or expression. Several (models) add a column `score` with their names.
    by
        Names or expressions of the group columns: `["carrier", pl.col("ts").dt.truncate("1mo")]`. Default: one group.
    metrics
        Names, which become the columns in this order: decision metrics, "confusion", scoring rules, "ece" and ranking metrics. Ranking
        metrics are computed from 64 bins per nat of log-odds, as in `sketch`, by a separate group-by. Each has a column `NAME_error` with
        |returned - exact| <= error. For more than two classes they are `macro_auc_roc`, `weighted_auc_roc` and `pairwise_auc_roc`. These are
        exact and hold the K scores of all rows in memory. Default: see below.
    min_rows
        Add a Boolean column `small`, true if fewer rows than this were used. No group is dropped. With `interval` the column is always there,
        and also true if a class has fewer than 10 rows.
    total
        Add a last row over all groups, from the same sums, and a Boolean column `total` that is true there. The columns of `by` are null in
        this row, as they may be in a group. An empty log gets no total.
    per_class
        One row per group and class, for the decisions for this class against all others; a column `class` names the class. Metrics are then
        those for two classes and two decisions with 0-1 costs; default `nec`, `precision`, `recall`, `f1`. Further decisions, such as to
        abstain, count as decisions for another class.
    missing
        "together"; or "by_part", which adds `n_missing_label`, `n_missing_score` and, with `weight`, `n_missing_weight`. These count the rows
        with a null there. A row with several nulls counts in each.
    score_prior
        The prior of the posteriors, for example that of the training data, in the same forms as `prior`. Values at the reference prior then
        use `shift_prior(score, score_prior, prior)` and its decisions. Default None: posteriors and decisions stay as they are.
    prior
        The reference prior: that of the positive class, one per class (a sequence in class order, or a mapping from class), "uniform",
        "overall", or an expression over the whole log. "overall" is the prior of all rows that the model's metrics use. LLRs and
        log-likelihoods, whose decisions depend on it, and `score_prior` take a second pass for "overall". None: no reference prior.

    Returns
    -------
    One row per group, sorted by group. The columns are those of `by`; `score` if there are several; `n` (rows used); the metrics;
    `class_prior`; `small`; `total`; `n_missing`, `n_invalid`. Metrics are computed at the group's own prior. With `prior`, those that depend
    on it get a second column at the reference prior: `nec`, `nec_at_prior`.

    The default metrics are `nec` and, if scores hold posteriors, `nce` and `nbs`. For two classes and decisions `precision`, `f1` and
    `recall` follow, else `accuracy`, `macro_recall` and `macro_f1`. The confusion counts `tn`, `fp`, `fn`, `tp` (or `confusion`, K x M) stand
    after `class_prior`. Each value is null if the metric of that name is.

    With `interval` each metric except the confusion counts has its lower and upper bound, `NAME_ci_low` and `NAME_ci_high`, after it; for
    array metrics these are Arrays. The interval always contains the value.

    `nec_kinked` is true if the two cheapest constant decisions differ by less than two standard errors. The interval of `nec` is unreliable
    near this kink.

    `ece` has no bounds, as binned errors do not allow them near calibration. Instead, `ece_if_calibrated` is its mean if the posteriors are
    calibrated, and `ece_if_calibrated_high` the value below which it then stays at this level.

    Bounds are null if a class has no rows (for losses and the AUC of K classes, one row), a row is invalid, or the value is null or infinite. With `cluster` they are
    also null if fewer than 5 buckets have rows. The same holds if one bucket has all rows of a class whose share is fixed, as in recall or at
    a stated prior. They are null with more than 200 classes, or, for losses of rows without a cluster, more than 100.

    Raises
    ------
    ValueError, TypeError
        A `min_rows` that is not a whole number from 0; a metric that reports do not offer, or not for these scores; `total` without `by`;
        `score_prior` without `prior`; an invalid level; `cluster` or `method` without `interval`; a bootstrap of the AUC of K classes. All are raised at the call, before the log
        is read.

    Notes
    -----
    Intervals are t intervals on the scale of the logarithm for costs and losses, log-odds for rates, and atanh for MCC and informedness. With
    more than two classes they are on the scale of the value.

    For independent rows the variance sums the squared influences psi of the rows, centred by class and scaled by n_i / (n_i - 1). The
    variance of the class counts is added, with Satterthwaite's degrees of freedom. For clusters it is (K - 1) / K sum_b psi_b^2 over K
    buckets. Here psi_b is the joint influence of a bucket's rows on the estimate from the other buckets.

    Decision metrics of independent rows get half a pseudo-row in each class and decision, so that rates of 0 and 1 have intervals with a
    width. With K classes and M decisions each gets 1 / (K (M - 1)) of a row, or 1 / (2 (M - 1)) for metrics of a single class. With clusters
    such rates are as uncertain as if each cluster were one row.

    For the AUC of K classes psi is the sum of a row's influences on the K areas, each times the weight of its class.

    With weights the variance uses the sum of w^2 psi^2. If classes times decisions exceed 200, a jackknife over subsets of the rows is used.

    References
    ----------
    Ferrer, "The expected cost", Eqs. 2 and 3; Siblini et al., "Master your metrics with calibration", section 3. Intervals: Satterthwaite
    1946; Agresti and Coull 1998; Cameron and Miller 2015, "A practitioner's guide to cluster-robust inference", section VI.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame(
    ...     {"s": ["a", "a", "b", "b"], "p": [0.9, 0.2, 0.6, 0.3], "y": [True, False, False, True]}
    ... )
    >>> log.ec.report("p", "y", by="s").select("s", "n", "nec", "tp", "fp")
    shape: (2, 5)
    ┌─────┬─────┬─────┬─────┬─────┐
    │ s   ┆ n   ┆ nec ┆ tp  ┆ fp  │
    │ --- ┆ --- ┆ --- ┆ --- ┆ --- │
    │ str ┆ i64 ┆ f64 ┆ i64 ┆ i64 │
    ╞═════╪═════╪═════╪═════╪═════╡
    │ a   ┆ 2   ┆ 0.0 ┆ 1   ┆ 0   │
    │ b   ┆ 2   ┆ 2.0 ┆ 0   ┆ 1   │
    └─────┴─────┴─────┴─────┴─────┘
    >>> log.ec.report("p", "y", by="s", metrics=["auc_roc"], total=True).select("s", "total", "auc_roc").rows()
    [('a', False, 1.0), ('b', False, 0.0), (None, True, 0.75)]
    >>> many = pl.concat([log] * 20)
    >>> many.ec.report("p", "y", metrics=["recall"], interval=0.95).select(pl.col("^recall.*$").round(3)).rows()
    [(0.5, 0.345, 0.655)]
    """
    execute, log = pass_over(frame), as_lazy(frame)
    checked, interval = parse_options(options, BY_ROW), parse_interval(options)
    scores = expand(log, score, "score")
    keys = expand(log, by, "by")
    min_rows = parse_min_rows(min_rows)
    if missing not in get_args(Missing):
        raise ValueError(f"missing={missing!r} is none of {', '.join(get_args(Missing))}")
    if total and not keys:
        raise ValueError(
            "total=True adds a row over all groups, but without by= there is only one group: leave total= out or pass by="
        )
    named = named_metrics(metrics)
    log, models = read_models(log, scores, label, options, checked, score_prior, execute)
    _check_alike(models)
    names_of = metrics_of_one_class if per_class else metrics_of
    names = {model.name: names_of(named, model.rows) for model in models}
    resampled = [name for name in named or () if name in CLASS_AREAS]
    if resampled and interval is not None and interval.is_resampled:
        raise ValueError(f"method={interval.method!r} is not available for {resampled[0]!r}: leave method= out")
    row_parts = () if missing == "together" else _PARTS if checked.weight is not None else _PARTS[:2]
    layout = result.ReportLayout(checked, named is None, min_rows, row_parts, total, interval)

    layers = _all_layers(models, names, layout, per_class)
    check_names(keys, {*layers[0][0], *layers[0][1]}, "the report")
    all_models = [*models, *(model.moved for model in models if model.moved is not None)]
    asked = {name for of_model in names.values() for name in of_model}
    needs = replace(needed([*asked, *(["confusion"] if named is None else [])], row_parts), interval=interval)
    key_names = [key.meta.output_name() for key in keys]
    cells = execute(sum_per_class(log, keys, all_models, needs))
    sums = with_priors(sum_per_group(cells, key_names, all_models, needs, total), all_models, checked, total)
    for model, ranks in _ranks_of(models, names, checked):
        grouped = GroupedLog(log, keys, total, execute)
        if is_multiclass(model):
            sums = with_class_areas(sums, grouped, model, ranks, stated_vector(model, checked), interval)
        else:
            sums = with_ranks(sums, grouped, model, ranks, stated_prior(model, checked), options.get("prior"), interval)
    if per_class:
        sums = result.with_class_sums(sums, models, checked)
    if interval is not None:
        families_of = result.families_of_classes if per_class else result.families_of
        families = [family for model in models for family in families_of(model, names[model.name], layout)]
        calibrated = [model for model in models if "ece" in names[model.name]]
        sums = with_intervals(sums, families, calibrated, interval)
    order = [*([TOTAL] if total else []), *key_names]
    if per_class and is_multiclass(models[0]):
        sums = result.multiclass_rows(sums, order, models, names[models[0].name], layout)
    lazy = _stacked(sums, order, key_names, layers)
    if isinstance(frame, pl.LazyFrame):
        return lazy
    table = lazy.collect(engine="streaming")
    values = [column for column in table.iter_columns() if column.name.removesuffix("_at_prior") in METRICS]
    invalid, undefined = (table["n_invalid"] > 0).sum(), all(column.null_count() == len(column) for column in values)
    if invalid or (undefined and values and table.height):
        nulls = f"metrics are null in {invalid or table.height} of {table.height} rows of the report"
        warn_of_nulls(nulls, frame if is_read_once(frame) else log, {model.name: model.rows for model in models})
    return table


def _check_alike(models: Sequence[Model]) -> None:
    if len({is_multiclass(model) for model in models}) > 1:
        sizes = ", ".join(f"{model.name!r} of {model.rows.costs.n_classes}" for model in models)
        raise ValueError(
            f"score= has models with different numbers of classes, {sizes}: make one report for each number of classes"
        )


def _ranks_of(
    models: Sequence[Model], names: Mapping[str, Sequence[str]], options: Options
) -> Iterator[tuple[Model, list[Rank]]]:
    """The models whose cells give ranking metrics, and these: a model's own, and those at the reference prior."""
    for model in models:
        at_group = [Rank(name, name, at_prior=False) for name in names[model.name] if name in ORDER_METRICS]
        at_reference = [
            Rank(f"{rank.metric}_at_prior", rank.metric, at_prior=True)
            for rank in at_group
            if result.is_moved(rank.metric, model)
        ]
        at_reference = at_reference if options.prior.stated else []
        if model.at_prior is model:
            at_group, at_reference = at_group + at_reference, []
        yield from ((of, ranks) for of, ranks in ((model, at_group), (model.at_prior, at_reference)) if ranks)


def _all_layers(
    models: Sequence[Model], names: Mapping[str, Sequence[str]], layout: result.ReportLayout, per_class: bool
) -> list[tuple[result.Columns, result.Columns]]:
    if per_class and is_multiclass(models[0]):
        return [({}, result.multiclass_columns(models, names[models[0].name], layout))]
    return [
        ({**({"score": pl.lit(model.name)} if len(models) > 1 else {}), **of_class}, columns)
        for model in models
        for of_class, columns in _layers(model, names[model.name], layout, per_class)
    ]


def _layers(
    model: Model, names: Sequence[str], layout: result.ReportLayout, per_class: bool
) -> Iterator[tuple[result.Columns, result.Columns]]:
    """What a group's rows of a model begin with, and their columns: one row, or one for each class."""
    if not per_class:
        yield {}, result.group_columns(model, names, layout)
        return
    values = model.rows.labels.classes
    alike = len({type(value) for value in values}) == 1
    for k, value in enumerate(values):
        shown = pl.lit(value if alike else str(value)).alias("class")
        yield {"class": shown}, result.class_columns(model, k, names, layout)


def _stacked(
    sums: pl.LazyFrame,
    order: Sequence[str],
    keys: Sequence[str],
    layers: Sequence[tuple[result.Columns, result.Columns]],
) -> pl.LazyFrame:
    """The pieces of each row of the sums, one below the other."""
    if len(layers) == 1 and not layers[0][0]:
        return sums.select(*keys, **layers[0][1])
    names = [f"__ec_{m}" for m in range(len(layers))]
    packed = [
        pl.struct([column.alias(name) for name, column in {**first, **columns}.items()]).alias(piece)
        for piece, (first, columns) in zip(names, layers, strict=True)
    ]
    index = list(dict.fromkeys([*order, *keys]))
    tall = sums.select(*index, *packed).unpivot(on=names, index=index or None, value_name="__ec")
    sorted_ = tall.sort(order, maintain_order=True) if order else tall
    return sorted_.select(*keys, "__ec").unnest("__ec")
