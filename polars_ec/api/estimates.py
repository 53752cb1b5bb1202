"""Estimates: what the metrics of a period will be when its labels come, from its scores and the labels of an earlier period."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal, Unpack

import polars as pl

from polars_ec.arguments.classes import parse_prior
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import as_expr, parse_level, parse_number, parse_options, parse_whole
from polars_ec.arguments.options import EstimateOptions, SketchOptions
from polars_ec.arguments.scales import scale_of
from polars_ec.arguments.signatures import with_options
from polars_ec.calibration.calibration import CALIBRATORS
from polars_ec.calibration.class_curves import CLASS_CALIBRATORS
from polars_ec.comparisons.sketched import exact_arguments
from polars_ec.comparisons.unlabelled import CellQuestion, LabelEstimator
from polars_ec.comparisons.unlabelled_classes import BUCKET, ODDS, OF_ROWS, ClassEstimator, row_cells
from polars_ec.comparisons.unlabelled_units import RESULT, EstimateCalibrator, EstimateQuestion, estimated
from polars_ec.comparisons.validation import check_names_of_periods, check_period, check_reference
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import BATTERY_OF_CLASSES, CELLS, OF_CLASSES
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.reports.models import FORMULAS, METRICS, is_binary, metrics_of, named_metrics
from polars_ec.scores.folds import BUCKETS
from polars_ec.scores.read import Rows, check_names, expand, resolve_columns
from polars_ec.sketches.cells import LABELLED, SCORE, TARGET, Cells, check_keys, joined_by_label
from polars_ec.sketches.log_pass import ClusterKey, FoldKey, make_cells
from polars_ec.typing import FrameLike, IntoExpr

_USUAL = ("expected_cost", "nec", "nce", "nbs", "precision", "recall", "f1", "auc_roc")
# Counts, the risk of decisions at another threshold, and values per class.
_OTHERS = (*CELLS, "bayes_risk", *(name for name in OF_CLASSES if name.startswith("class_")))
_OF_CLASSES = [name for name in METRICS if name in (*FORMULAS, *SCORING_RULES) and name not in _OTHERS]
_METRICS = [*(name for name in _OF_CLASSES if name not in OF_CLASSES), "auc_roc"]


@with_options(EstimateOptions)
def estimate(
    frame: FrameLike,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    *,
    period: IntoExpr,
    by: IntoExpr | Sequence[IntoExpr] = (),
    metrics: Sequence[str] | None = None,
    reference: Any = None,
    labelled: float = 0.9,
    calibrator: EstimateCalibrator | None = "spline",
    shift_prior: float | Literal["em"] | None = None,
    label_probability: IntoExpr | None = None,
    interval: float | None = 0.95,
    cluster: IntoExpr | None = None,
    buckets: int = BUCKETS,
    replicates: int = 200,
    seed: int = 0,
    **options: Unpack[EstimateOptions],
) -> pl.DataFrame:
    """Estimate metrics before labels come: P(class | score) is assumed unchanged; this cannot be seen without labels.

    A row without a label counts as a positive with its calibrated posterior q as weight, and as a negative with weight 1 - q. With K classes it
    counts as every class, with that posterior as weight. The calibrator is fitted to the last labelled period before. Labels that have come
    correct the estimate. A period that has its labels is estimated as if it had none, and the observed value is beside it, so that you can
    see how good past estimates were.

    Parameters
    ----------
    frame
        The log: a data frame of Polars or of another library. Rows without a label have null there.
    score
        Column name or expression, or several (models): one number per row, posteriors or log-odds. Or posteriors of K classes, or their
        logarithms, in an Array, List or Struct.
    label
        Column name or expression. `pos_label` or `classes` assigns the values to the classes. With `calibrator=None` it may be null in all
        rows, as `pl.lit(None, pl.Boolean)` is.
    metrics
        Names of metrics of decisions with two classes, of scoring rules, or "auc_roc". Default: expected_cost, nec, nce, nbs, precision, recall,
        f1 and auc_roc. For posteriors of K classes: metrics of decisions for any number of classes, such as macro_f1, without class_*, and
        scoring rules. Default: expected_cost, nec, nce, nbs, accuracy, macro_recall and macro_f1. For one class pass its posterior and a label
        that is true for it: decisions are then those for this class against the rest.
    reference
        The period whose labels the calibrator is fitted to. Default: for each period the last labelled one before it.
    labelled
        The share of rows with labels, above 0 and at most 1, from which a period counts as labelled. Over all groups. Rows without a label
        are those with null in `label`.
    calibrator
        The calibrator of the reference period. "spline": calibrated log-odds are piecewise linear in the log-odds of the score and never fall.
        It stays near a line unless labels contradict one. Others are "affine", "temperature", "gaussian", "pav" and "histogram", as for
        `Sketch.calibrate`: compare them if past intervals miss too often. None: the posteriors are calibrated, and are used as they are. For
        posteriors of K classes: "spline" (a softmax of such a function of the log posterior for each class), "affine", "temperature" or None.
    shift_prior
        Pass "em" if the scores of each class keep their distribution and only the prior of the period changes (prior shift). The prior is
        then estimated from the scores. Or pass the prior, if you know it: that of the positive class, or one per class. Posteriors move by the
        ratio of priors. Default None: the posterior at a score stays, and the distribution of scores may change (covariate shift).
    label_probability
        Column name or expression of the probability that the label of a row was to come, above 0 and at most 1, if labels are selected, such
        as by the score. Default: the labels of a group and period are taken as a random sample of its rows.
    interval
        The level of the intervals, between 0 and 1, or None for no intervals.
    cluster
        The cluster column, which groups correlated rows, such as the user or the day. Default None: independent rows.
    buckets
        The number of hash buckets for the clusters, from 5 to 1000.
    replicates, seed
        The number of bootstrap replicates and the seed of their random numbers.
    prior
        The reference prior of the metrics, a number for the positive class, or one per class: each metric has the value at that prior. It does
        not move the posteriors. Default None: the (estimated) prior of the period.

    Returns
    -------
    One row per group, period, model and metric, sorted in this order, also for a LazyFrame. The columns:

    - The columns of `by` and of the period, `model`, `reference` (the period of the calibrator, as text) and `metric`.
    - `value`: the estimate. It is null if a calibrator has no labelled period before, the fit has no solution, or the group and period have
      invalid rows, which a warning counts. With "em" it is also null if the scores say nothing about the prior, for example if all are equal.
    - `value_ci_low`, `value_ci_high`: the interval for the value that the labels of these rows will show, not for that of a population. So it
      has the noise of the labels, the fit and the estimated prior, but no noise of the scores, which are known. It is null with fewer than
      five clusters in the period or its reference, and if the replicates do not differ.
    - `observed`: the value that the labels show, in groups without invalid rows where at least the share `labelled` has them. `covered`:
      whether the interval contains it.
    - `class_prior`: the estimated base rate, of K classes an Array. `shift_p_value`: with "em", two classes and without clusters, the p-value of a chi-squared test
      whether the scores are a mixture of those of both classes in the reference. If it is small, not only the prior changed.
    - `calibrated_on`: "group", or "all groups" if the group has fewer than 50 rows of a class in the reference, or no fit.
    - `n`, `n_labelled`, `n_missing`, `n_invalid`: rows used, those with a label, rows without a score or weight, and invalid rows.

    Labels that have come correct the estimate if there are at least ten of each class: then the sums of all rows are those expected plus N / n
    times the labelled rows' (observed - expected) sums. Otherwise they count as observed, and all other rows as expected.

    AUC, and what is expected of rows without labels, come from bins of log-odds, 64 per nat. Posteriors of K classes are held in memory, without bins.

    Raises
    ------
    ValueError
        LLRs, log-likelihoods or raw scores; costs by row; an unknown metric or calibrator; an unknown reference, or one without labels; a `labelled` or
        `shift_prior` out of range; reserved column names.

    Notes
    -----
    Intervals are quantiles of replicates. In each the rows (or clusters) of the reference are resampled and the calibrator is refitted, the
    prior is estimated from resampled scores, and labels are drawn from the posteriors. With clusters, the residuals of clusters of the
    reference are resampled in place of independent labels.

    The spline has knots at the quintiles of the reference. It maximises the log-likelihood, less half the sum of the squared changes of slope for
    log-odds in standard units: a normal prior with mean 0 and variance 1.

    With K classes, knots are quintiles of all log posteriors, each with weight q (1 - q), and slopes of a class also have a normal prior around the mean
    slopes of all classes, with variance 0.1. In a replicate of the reference the calibrator takes one Newton step from the fit. Such splines have
    6 K parameters: with 100 classes or more pass "affine".

    References
    ----------
    Saerens, Latinne and Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities", 2002, for "em"; Angelopoulos et
    al., "Prediction-powered inference", 2023, for the correction by labels; NannyML's confidence-based performance estimation (CBPE);
    Lucena, "Spline-based probability calibration", 2018; Ferrer, "Analysis and comparison of classification metrics", for the Bayes risk.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame(
    ...     {
    ...         "month": [4] * 200 + [5] * 200,
    ...         "p": [0.8, 0.2, 0.6, 0.1] * 50 + [0.8, 0.2, 0.2, 0.1] * 50,
    ...         "y": [1, 0, 1, 0, 1, 1, 0, 0] * 25 + [None] * 200,
    ...     }
    ... )
    >>> estimates = log.ec.estimate("p", "y", period="month", metrics=["precision", "recall"])
    >>> estimates.filter(month=5).select("reference", "metric", pl.col("value", "class_prior").round(3)).rows()
    [('4', 'precision', 0.937, 0.429), ('4', 'recall', 0.546, 0.429)]
    """
    log = as_lazy(frame)
    scores, keys = expand(log, score, "score"), expand(log, by, "by")
    of_period = check_period(log, expand(log, period, "period"))
    key_names, period_name = [key.meta.output_name() for key in keys], of_period.meta.output_name()
    check_names_of_periods(key_names, period_name, {*RESULT, SCORE, LABELLED})
    # The sums of an estimate do not keep costs by row.
    for name, cost in options.items():
        if name in ("cost_fn", "cost_fp") and isinstance(cost, str | pl.Expr):
            shown = repr(cost) if isinstance(cost, str) else str(cost)
            raise ValueError(
                f"{name}={shown} is a column, but an estimate has one cost for all rows: pass a number, such as the mean cost"
            )
    common = _common(calibrator, shift_prior, reference, labelled, interval, replicates, seed)
    clusters = ClusterKey(cluster, buckets)
    odds = None
    if label_probability is not None:
        odds = 1 / as_expr(label_probability, "label_probability").fill_null(float("nan")) - 1
    if _are_vectors(log, scores, options):
        layout = {"by": key_names, "period": period_name, **common}
        row = [*keys, of_period, *([] if odds is None else [odds.alias(ODDS)])]
        row += [] if (bucket := clusters.bucket(log)) is None else [bucket.alias(BUCKET)]
        check_names([*keys, of_period], OF_ROWS, "an estimate")
        models = [_estimate_classes(log, row, score, label, metrics, options, layout) for score in scores]
        if len({model.schema["class_prior"] for model in models}) > 1:
            raise ValueError("score= holds models with different numbers of classes: estimate them separately")
        return pl.concat(models).sort(*key_names, period_name, "model", maintain_order=True)
    column, is_labelled = _stand_ins(log, label, options)
    prior, read = options.get("prior"), {name: value for name, value in options.items() if name != "prior"}
    checked, weight = _checked(common, prior, metrics), options.get("weight")
    units = [*keys, of_period, is_labelled]
    counted = partial(make_cells, score=score, label=column, by=units, folds=FoldKey(), clusters=clusters)
    cells, point = counted(log, options=read)
    exponent = 0 if weight is None else math.frexp(cells.frame.select(pl.max("weight")).item() or 0.0)[1]
    if weight is not None and abs(exponent) > 300:
        # The squares of such weights may have lost their digits.
        weight = as_expr(weight, "weight") / 2.0 ** max(-1000, min(exponent, 1000))
        cells, point = counted(log, options=read | {"weight": weight})
    corrections: Cells | None = None
    if odds is not None:
        weight = odds if weight is None else odds * as_expr(weight, "weight")
        corrections, _ = counted(log.filter(as_expr(label, "label").is_not_null()), options=read | {"weight": weight})
    checked |= {"by": [name for name in cells.keys if name not in (period_name, LABELLED)], "period": period_name}
    at = point.stands_in({"prior": prior}, cells.grid.classes)
    return _of_cells(cells, at, scores[0].meta.output_name(), corrections=corrections, **checked)


def _of_cells(
    cells: Cells, point: tuple[Mapping[str, Any], float | None], model: str | None, **checked: Any
) -> pl.DataFrame:
    """The result for cells of two classes, at the operating point of some keywords."""
    keywords, threshold = point
    stated = {name: keywords[name] for name in ("costs", "cost_fn", "cost_fp") if name in keywords}
    costs = parse_options(stated).costs(2)
    question = CellQuestion(cells=cells, keywords=keywords, costs=costs, own_threshold=threshold, **checked)
    return estimated(LabelEstimator.of(question), model)


def _estimate_classes(
    log: pl.LazyFrame,
    units: Sequence[pl.Expr],
    score: pl.Expr,
    label: IntoExpr,
    metrics: Any,
    options: EstimateOptions,
    layout: Mapping[str, Any],
) -> pl.DataFrame:
    """The result for posteriors of K classes; `units` are the group columns, the period and what rows have beside."""
    column, is_labelled = _stand_ins(log, label, options)
    shift_prior, calibrator = layout["shift_prior"], layout["calibrator"]
    for name, prior, word in (("prior", options.get("prior"), "uniform"), ("shift_prior", shift_prior, "em")):
        if isinstance(prior, pl.Expr) or (isinstance(prior, str) and prior != word):
            raise ValueError(f"{name}={prior!r} is not a prior for all groups: pass a share per class")
    # The kernel reads vectors of any number of classes.
    rows = resolve_columns(log, score, column, parse_options(options), 1)
    if calibrator not in (None, *CLASS_CALIBRATORS):
        raise ValueError(
            f"calibrator={calibrator!r} is for one number per row, and {score.meta.output_name()!r} holds "
            f"posteriors of K classes: pass {', '.join(CLASS_CALIBRATORS)} or None"
        )
    numbers = f"{rows.costs.n_classes} classes and {rows.costs.n_decisions} decisions"
    fault = f"cannot be estimated for {numbers} (for one class pass its posterior and a label that is true for it)"
    names = named_metrics(metrics, [name for name in _OF_CLASSES if _is_defined(name, rows)], fault)
    if shift_prior is not None and not isinstance(shift_prior, str):
        try:
            shift_prior = parse_prior(shift_prior).vector(rows.class_names, None)
        except ValueError as error:
            # It is called a prior there.
            raise ValueError(f"shift_{error}") from None
    # Vectors take no threshold: with one their decisions raise.
    _ = rows.decisions
    usual = _USUAL[:-1] if is_binary(rows) else ("expected_cost", *BATTERY_OF_CLASSES)
    named = {"metrics": metrics_of(names, rows) if names else usual, "costs": rows.costs, "shift_prior": shift_prior}
    question = EstimateQuestion(**{**layout, **named})
    estimator = ClassEstimator.of(question, log.select(*units, is_labelled, row_cells(rows)), rows)
    return estimated(estimator, score.meta.output_name())


def _is_defined(name: str, rows: Rows) -> bool:
    """Whether there is the metric for so many classes and decisions."""
    formula, n_decisions = FORMULAS.get(name), rows.costs.n_decisions
    needed = rows.costs.n_classes if formula and formula.square else 2 if name == "decision_share" else n_decisions
    return is_binary(rows) or (n_decisions == needed and not (formula and formula.binary))


def estimate_cells(
    cells: Cells, metrics: Sequence[str], period: str, point: tuple[Mapping[str, Any], float | None], *stated: Any
) -> pl.DataFrame:
    """The result of `Sketch.estimate`, at the operating point of some keywords; `stated` are the other ones, in the order of `_common`."""
    checked = _checked(_common(*stated), point[0].get("prior"), metrics or None)
    cells.grid.check_posteriors("estimate")
    if cells.unlabelled is None:
        remedy = "make it, and each that is merged with it, with unlabelled=True"
        remedy = "for posteriors of K classes, estimate from the log" if TARGET in cells.keys else remedy
        raise SketchError(f"the sketch keeps no rows without a label: {remedy}")
    whole = cells.group_by(*cells.keys_beside_fold)
    by = [key for key in whole.keys if key != period]
    if period not in whole.keys or period == SCORE:
        raise SketchError(f"period={period!r} is not a group column of the sketch. It has {by}")
    check_keys([*(key for key in by if key != SCORE), period], RESULT)
    check_period(whole.frame.lazy(), [pl.col(period)])
    exact_arguments(checked["metrics"], whole.grid, *point)
    assert whole.unlabelled is not None
    joined = joined_by_label(whole, whole.unlabelled)
    return _of_cells(joined, point, None, corrections=None, by=by, period=period, **checked)


def _are_vectors(log: pl.LazyFrame, scores: Sequence[pl.Expr], options: EstimateOptions | SketchOptions) -> bool:
    """Whether the scores are posteriors of K classes; ValueError for scores that are no posteriors, or of both kinds."""
    scale = scale_of(options)
    if scale is not None and not scale.has_posteriors:
        raise ValueError(
            f"score_type={scale.name!r} gives no posteriors: pass ec.posterior(score, prior=...) for LLRs, or "
            "calibrate(...).apply(score) for raw scores"
        )
    dtypes = log.select(scores).collect_schema()
    nested = [name for name, dtype in dtypes.items() if dtype.is_nested()]
    if nested and len(nested) < len(dtypes):
        raise ValueError(
            f"score= holds {nested[0]!r}, with K scores per row, beside one number per row: estimate them separately"
        )
    return bool(nested) or (scale is not None and scale.is_vector)


def labels_to_come(
    log: pl.LazyFrame, scores: Sequence[pl.Expr], label: IntoExpr, options: EstimateOptions | SketchOptions
) -> tuple[pl.Expr, pl.Expr]:
    """The labels with the value of some class in place of null, so that cells count all rows, and the column `LABELLED`.

    ValueError unless each score is a posterior or log-odds of the positive class.
    """
    if _are_vectors(log, scores, options):
        raise ValueError(
            f"{scores[0].meta.output_name()!r} holds K scores per row, and unlabelled=True is for one: pass the posterior of one class "
            "against the rest, or leave it out and estimate from the log"
        )
    return _stand_ins(log, label, options)


def _stand_ins(log: pl.LazyFrame, label: IntoExpr, options: EstimateOptions | SketchOptions) -> tuple[pl.Expr, pl.Expr]:
    """The labels with the value of some class in place of null, and the column `LABELLED`."""
    column = as_expr(label, "label")
    is_labelled = column.is_not_null().alias(LABELLED)
    dtype = log.select(column).collect_schema().dtypes()[0]
    value: Any = False if dtype == pl.Boolean else 0
    if options.get("pos_label") is not None:
        value = options["pos_label"]
    elif options.get("classes") is not None:
        value = next(iter(options["classes"] or ()))
    elif isinstance(dtype, pl.Enum):
        value = next(iter(dtype.categories), None)
    elif not (dtype == pl.Boolean or dtype.is_integer() or dtype == pl.Null):
        # The pass over the log says what is wrong.
        return column, is_labelled
    return column.fill_null(pl.lit(value, dtype if isinstance(dtype, pl.Enum) else None)), is_labelled


def _checked(common: Mapping[str, Any], prior: Any, metrics: Any) -> dict[str, Any]:
    """What a `CellQuestion` has beside the cells and the operating point."""
    shift_prior = common["shift_prior"]
    if prior is not None:
        parse_number(prior, "prior")
    names = named_metrics(metrics, _METRICS, "cannot be estimated") or _USUAL
    if shift_prior is not None and not (isinstance(shift_prior, str) and shift_prior == "em"):
        is_number = hasattr(shift_prior, "__float__") and not isinstance(shift_prior, bool)
        if not is_number or not 0 < float(shift_prior) < 1:
            raise ValueError(f"shift_prior={shift_prior!r} is not 'em', nor a prior of the positive class in (0, 1)")
        shift_prior = float(shift_prior)
    return {**common, "metrics": names, "shift_prior": shift_prior}


def _common(
    calibrator: Any, shift_prior: Any, reference: Any, labelled: Any, interval: Any, replicates: Any, seed: Any
) -> dict[str, Any]:
    """The arguments that mean the same for any number of classes."""
    check_reference(reference)
    if calibrator not in (None, "spline", *CALIBRATORS):
        raise ValueError(f"calibrator={calibrator!r} is none of spline, {', '.join(CALIBRATORS)}, None")
    if isinstance(labelled, str | pl.Expr) or not 0 < parse_number(labelled, "labelled") <= 1:
        raise ValueError(
            f"labelled={labelled!r} is not a share of rows above 0 and at most 1. Rows without a label have null in label="
        )
    return {
        "calibrator": calibrator,
        "shift_prior": shift_prior,
        "reference": reference,
        "labelled": float(labelled),
        "level": None if interval is None else parse_level(interval),
        "replicates": parse_whole(replicates, "replicates", 2),
        "seed": parse_whole(seed, "seed", 0),
    }
