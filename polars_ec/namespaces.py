"""The namespace `ec` on expressions and frames: one line per function, which is where the documentation is.

Polars adds namespaces at run time, so that type checkers and editors do not know them: the functions are the typed API. `help`
and the completion of a notebook see both, the latter of an expression or frame that has a name: `score.ec.<TAB>`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl

from polars_ec import comparisons, drifts, reports, sketching
from polars_ec.calibration import rows as calibration
from polars_ec.docstrings import without_parameter
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
from polars_ec.validation import validate

P = ParamSpec("P")
T = TypeVar("T")


def _of_expression(
    function: Callable[Concatenate[IntoExpr, P], pl.Expr],
) -> Callable[Concatenate[ExpressionNamespace, P], pl.Expr]:
    @wraps(function)
    def method(self: ExpressionNamespace, /, *args: P.args, **kwargs: P.kwargs) -> pl.Expr:
        return function(self._score, *args, **kwargs)

    return method


def _of_frame(function: Callable[..., T]) -> Callable[..., T]:
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
    """Metrics of the expression as score: `pl.col("score").ec.nec("label")` is `polars_ec.nec("score", "label")`."""

    def __init__(self, score: pl.Expr) -> None:
        self._score = score

    confusion = _of_expression(counts.confusion)
    n_rows = _of_expression(counts.n_rows)
    n_missing = _of_expression(counts.n_missing)
    n_invalid = _of_expression(counts.n_invalid)
    class_prior = _of_expression(counts.class_prior)

    expected_cost = _of_expression(decisions.expected_cost)
    nec = _of_expression(decisions.nec)
    error_rate = _of_expression(decisions.error_rate)
    accuracy = _of_expression(decisions.accuracy)
    balanced_error_rate = _of_expression(decisions.balanced_error_rate)
    balanced_accuracy = _of_expression(decisions.balanced_accuracy)
    dcf = _of_expression(decisions.dcf)
    c_primary = _of_expression(operating_points.c_primary)

    precision = _of_expression(binary.precision)
    recall = _of_expression(rates.recall)
    specificity = _of_expression(rates.specificity)
    fpr = _of_expression(rates.fpr)
    fnr = _of_expression(rates.fnr)
    fbeta = _of_expression(binary.fbeta)
    f1 = _of_expression(binary.f1)
    informedness = _of_expression(rates.informedness)
    mcc = _of_expression(binary.mcc)
    lr_plus = _of_expression(rates.lr_plus)
    lr_minus = _of_expression(rates.lr_minus)
    net_benefit = _of_expression(binary.net_benefit)
    precision_gain = _of_expression(binary.precision_gain)
    recall_gain = _of_expression(binary.recall_gain)

    class_precision = _of_expression(classes.class_precision)
    class_recall = _of_expression(classes.class_recall)
    class_f1 = _of_expression(classes.class_f1)
    class_nec = _of_expression(classes.class_nec)
    decision_share = _of_expression(classes.decision_share)

    macro_precision = _of_expression(averages.macro_precision)
    macro_recall = _of_expression(averages.macro_recall)
    macro_f1 = _of_expression(averages.macro_f1)
    f1_of_averages = _of_expression(averages.f1_of_averages)
    micro_precision = _of_expression(averages.micro_precision)
    micro_recall = _of_expression(averages.micro_recall)
    micro_f1 = _of_expression(averages.micro_f1)
    weighted_precision = _of_expression(averages.weighted_precision)
    weighted_recall = _of_expression(averages.weighted_recall)
    weighted_f1 = _of_expression(averages.weighted_f1)

    cross_entropy = _of_expression(scoring_rules.cross_entropy)
    nce = _of_expression(scoring_rules.nce)
    brier = _of_expression(scoring_rules.brier)
    nbs = _of_expression(scoring_rules.nbs)
    bayes_risk = _of_expression(scoring_rules.bayes_risk)
    cllr = _of_expression(scoring_rules.cllr)
    epsr = _of_expression(scoring_rules.epsr)

    ece = _of_expression(calibration_errors.ece)
    ece_mc = _of_expression(calibration_errors.ece_mc)
    expected_score_divergence = _of_expression(divergence.expected_score_divergence)
    semi_empirical_epsr = _of_expression(divergence.semi_empirical_epsr)

    auc_roc = _of_expression(ranking.auc_roc)
    average_precision = _of_expression(ranking.average_precision)
    auprg = _of_expression(ranking.auprg)
    eer = _of_expression(ranking.eer)
    min_expected_cost = _of_expression(ranking.min_expected_cost)
    min_dcf = _of_expression(ranking.min_dcf)
    specificity_at_sensitivity = _of_expression(ranking.specificity_at_sensitivity)
    sensitivity_at_specificity = _of_expression(ranking.sensitivity_at_specificity)
    ks = _of_expression(ranking.ks)
    min_cllr = _of_expression(ranking.min_cllr)

    bayes_decision = _of_expression(rows.bayes_decision)
    row_cost = _of_expression(rows.row_cost)
    row_log_loss = _of_expression(rows.row_log_loss)
    row_brier = _of_expression(rows.row_brier)
    posterior = _of_expression(rows.posterior)
    log_odds = _of_expression(rows.log_odds)
    llr = _of_expression(rows.llr)
    shift_prior = _of_expression(rows.shift_prior)
    affine = _of_expression(rows.affine)


class _FrameNamespace:
    """What is asked of a whole log: `lf.ec.report("score", "label", by="segment")`."""

    def __init__(self, frame: pl.LazyFrame | pl.DataFrame) -> None:
        self._frame = frame

    report = _of_frame(reports.report)
    compare = _of_frame(comparisons.compare)
    drift = _of_frame(drifts.drift)
    validate = _of_frame(validate)
    sketch = _of_frame(sketching.sketch)
    calibrate = _of_frame(calibration.calibrate)
    calibration_loss = _of_frame(calibration.calibration_loss)


@pl.api.register_lazyframe_namespace("ec")
class LazyFrameNamespace(_FrameNamespace):
    """`lf.ec`: lazy in, lazy out."""


@pl.api.register_dataframe_namespace("ec")
class DataFrameNamespace(_FrameNamespace):
    """`df.ec`: a DataFrame in, a DataFrame out."""
