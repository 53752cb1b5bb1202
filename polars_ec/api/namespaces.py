"""The namespaces `ec` on expressions and frames, whose methods take their documentation from the functions.

Polars adds namespaces at run time, so type checkers and editors do not know them; the functions are the typed API. `help` shows both.
Completion in a notebook works on a named expression or frame: `score.ec.<TAB>`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl

from polars_ec.api import capacities, comparisons, drifts, estimates, reports, sketches, thresholds
from polars_ec.api.validation import validate
from polars_ec.arguments.signatures import without_parameter
from polars_ec.calibration import rows as calibration
from polars_ec.metrics import (
    averages,
    binary,
    classes,
    counts,
    decisions,
    divergence,
    operating_points,
    ranking,
    rates,
    rows,
    scoring_rules,
)
from polars_ec.metrics import calibration_error as calibration_errors
from polars_ec.typing import IntoExpr

P = ParamSpec("P")
T = TypeVar("T")


def _expression_method(
    function: Callable[Concatenate[IntoExpr, P], pl.Expr],
) -> Callable[Concatenate[ExpressionNamespace, P], pl.Expr]:
    @wraps(function)
    def method(self: ExpressionNamespace, /, *args: P.args, **kwargs: P.kwargs) -> pl.Expr:
        return function(self._score, *args, **kwargs)

    return method


def _frame_method(function: Callable[..., T]) -> Callable[..., T]:
    @wraps(function)
    def method(self: _FrameNamespace, /, *args: Any, **kwargs: Any) -> T:
        return function(self._frame, *args, **kwargs)

    frame, *others = signature(function).parameters.values()
    parameters = [frame.replace(name="self", annotation=Parameter.empty), *others]
    method.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    if function.__doc__:
        method.__doc__ = without_parameter(function.__doc__, "frame")
    return method


@pl.api.register_expr_namespace("ec")
class ExpressionNamespace:
    """Metrics with the expression as score: `pl.col("score").ec.nec("label")` equals `polars_ec.nec("score", "label")`."""

    def __init__(self, score: pl.Expr) -> None:
        self._score = score

    confusion = _expression_method(counts.confusion)
    n_rows = _expression_method(counts.n_rows)
    n_missing = _expression_method(counts.n_missing)
    n_invalid = _expression_method(counts.n_invalid)
    class_prior = _expression_method(counts.class_prior)

    expected_cost = _expression_method(decisions.expected_cost)
    nec = _expression_method(decisions.nec)
    error_rate = _expression_method(decisions.error_rate)
    accuracy = _expression_method(decisions.accuracy)
    balanced_error_rate = _expression_method(decisions.balanced_error_rate)
    balanced_accuracy = _expression_method(decisions.balanced_accuracy)
    dcf = _expression_method(decisions.dcf)
    c_primary = _expression_method(operating_points.c_primary)

    precision = _expression_method(binary.precision)
    recall = _expression_method(rates.recall)
    specificity = _expression_method(rates.specificity)
    fpr = _expression_method(rates.fpr)
    fnr = _expression_method(rates.fnr)
    fbeta = _expression_method(binary.fbeta)
    f1 = _expression_method(binary.f1)
    informedness = _expression_method(rates.informedness)
    mcc = _expression_method(binary.mcc)
    lr_plus = _expression_method(rates.lr_plus)
    lr_minus = _expression_method(rates.lr_minus)
    net_benefit = _expression_method(binary.net_benefit)
    precision_gain = _expression_method(binary.precision_gain)
    recall_gain = _expression_method(binary.recall_gain)

    class_precision = _expression_method(classes.class_precision)
    class_recall = _expression_method(classes.class_recall)
    class_f1 = _expression_method(classes.class_f1)
    class_nec = _expression_method(classes.class_nec)
    decision_share = _expression_method(classes.decision_share)

    macro_precision = _expression_method(averages.macro_precision)
    macro_recall = _expression_method(averages.macro_recall)
    macro_f1 = _expression_method(averages.macro_f1)
    f1_of_averages = _expression_method(averages.f1_of_averages)
    micro_precision = _expression_method(averages.micro_precision)
    micro_recall = _expression_method(averages.micro_recall)
    micro_f1 = _expression_method(averages.micro_f1)
    weighted_precision = _expression_method(averages.weighted_precision)
    weighted_recall = _expression_method(averages.weighted_recall)
    weighted_f1 = _expression_method(averages.weighted_f1)

    cross_entropy = _expression_method(scoring_rules.cross_entropy)
    nce = _expression_method(scoring_rules.nce)
    brier = _expression_method(scoring_rules.brier)
    nbs = _expression_method(scoring_rules.nbs)
    bayes_risk = _expression_method(scoring_rules.bayes_risk)
    cllr = _expression_method(scoring_rules.cllr)
    epsr = _expression_method(scoring_rules.epsr)

    ece = _expression_method(calibration_errors.ece)
    ece_mc = _expression_method(calibration_errors.ece_mc)
    expected_score_divergence = _expression_method(divergence.expected_score_divergence)
    semi_empirical_epsr = _expression_method(divergence.semi_empirical_epsr)

    auc_roc = _expression_method(ranking.auc_roc)
    average_precision = _expression_method(ranking.average_precision)
    auprg = _expression_method(ranking.auprg)
    eer = _expression_method(ranking.eer)
    min_expected_cost = _expression_method(ranking.min_expected_cost)
    best_threshold = _expression_method(ranking.best_threshold)
    min_dcf = _expression_method(ranking.min_dcf)
    specificity_at_sensitivity = _expression_method(ranking.specificity_at_sensitivity)
    sensitivity_at_specificity = _expression_method(ranking.sensitivity_at_specificity)
    ks = _expression_method(ranking.ks)
    min_cllr = _expression_method(ranking.min_cllr)
    macro_auc_roc = _expression_method(ranking.macro_auc_roc)
    weighted_auc_roc = _expression_method(ranking.weighted_auc_roc)
    pairwise_auc_roc = _expression_method(ranking.pairwise_auc_roc)

    bayes_decision = _expression_method(rows.bayes_decision)
    row_cost = _expression_method(rows.row_cost)
    row_log_loss = _expression_method(rows.row_log_loss)
    row_brier = _expression_method(rows.row_brier)
    posterior = _expression_method(rows.posterior)
    log_odds = _expression_method(rows.log_odds)
    llr = _expression_method(rows.llr)
    shift_prior = _expression_method(rows.shift_prior)
    affine = _expression_method(rows.affine)


class _FrameNamespace:
    """Methods on a whole log: `lf.ec.report("score", "label", by="segment")`."""

    def __init__(self, frame: pl.LazyFrame | pl.DataFrame) -> None:
        self._frame = frame

    report = _frame_method(reports.report)
    compare = _frame_method(comparisons.compare)
    drift = _frame_method(drifts.drift)
    estimate = _frame_method(estimates.estimate)
    # `ec.best_threshold` is the expression.
    best_threshold = _frame_method(thresholds.best_thresholds)
    capacity = _frame_method(capacities.capacity)
    validate = _frame_method(validate)
    sketch = _frame_method(sketches.sketch)
    calibrate = _frame_method(calibration.calibrate)
    calibration_loss = _frame_method(calibration.calibration_loss)


@pl.api.register_lazyframe_namespace("ec")
class LazyFrameNamespace(_FrameNamespace):
    """Methods of LazyFrames, `lf.ec`, which return LazyFrames."""


@pl.api.register_dataframe_namespace("ec")
class DataFrameNamespace(_FrameNamespace):
    """Methods of DataFrames, `df.ec`, which return DataFrames."""
