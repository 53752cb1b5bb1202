"""The namespace `ec` on expressions and frames: one line per function, which is where the documentation is.

Polars adds namespaces at run time, so that type checkers and editors do not know them: the functions are the typed API. `help`
and the completion of a notebook see both, the latter of an expression or frame that has a name: `score.ec.<TAB>`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Generic, Literal, ParamSpec, TypeVar

import polars as pl

from polars_ec import reports, sketching
from polars_ec.calibration import rows as calibration
from polars_ec.costs import CostMatrix
from polars_ec.metrics import binary, counts, decisions, divergence, ranking, rows, scoring_rules
from polars_ec.metrics import calibration_error as calibration_errors
from polars_ec.options import DecisionOptions, PriorOptions, RiskOptions
from polars_ec.signatures import with_options
from polars_ec.sketches import Sketch
from polars_ec.typing import IntoExpr, Reduction, Rule
from polars_ec.validation import validate

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from polars_ec.calibration.calibration import Calibration
    from polars_ec.calibration.parameters import Calibrator

P = ParamSpec("P")
T = TypeVar("T")
FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)


def _of_expression(
    function: Callable[Concatenate[IntoExpr, P], pl.Expr],
) -> Callable[Concatenate[ExpressionNamespace, P], pl.Expr]:
    @wraps(function)
    def method(self: ExpressionNamespace, /, *args: P.args, **kwargs: P.kwargs) -> pl.Expr:
        return function(self._score, *args, **kwargs)

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

    precision = _of_expression(binary.precision)
    recall = _of_expression(binary.recall)
    specificity = _of_expression(binary.specificity)
    fpr = _of_expression(binary.fpr)
    fnr = _of_expression(binary.fnr)
    fbeta = _of_expression(binary.fbeta)
    f1 = _of_expression(binary.f1)
    mcc = _of_expression(binary.mcc)
    lr_plus = _of_expression(binary.lr_plus)
    lr_minus = _of_expression(binary.lr_minus)
    net_benefit = _of_expression(binary.net_benefit)
    precision_gain = _of_expression(binary.precision_gain)
    recall_gain = _of_expression(binary.recall_gain)

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


class _FrameNamespace(Generic[FrameT]):
    """What is asked of a whole log: `lf.ec.report("score", "label", by="segment")`."""

    def __init__(self, frame: FrameT) -> None:
        self._frame: FrameT = frame

    @with_options(DecisionOptions, like=reports.report)
    def report(
        self,
        score: IntoExpr | Sequence[IntoExpr],
        label: IntoExpr,
        *,
        by: IntoExpr | Sequence[IntoExpr] = (),
        min_rows: int | None = None,
        **options: Unpack[DecisionOptions],
    ) -> FrameT:
        """The usual battery of metrics, one row per group: see `polars_ec.report`."""
        return reports.report(self._frame, score, label, by=by, min_rows=min_rows, **options)

    @with_options(DecisionOptions, like=validate)
    def validate(
        self, score: IntoExpr | Sequence[IntoExpr], label: IntoExpr, **options: Unpack[DecisionOptions]
    ) -> FrameT:
        """The frame itself, if no row of it is wrong: see `polars_ec.validate`."""
        return validate(self._frame, score, label, **options)

    @with_options(DecisionOptions, like=sketching.sketch)
    def sketch(
        self,
        score: IntoExpr,
        label: IntoExpr,
        *,
        by: IntoExpr | Sequence[IntoExpr] = (),
        resolution: int = 64,
        thresholds: Sequence[float | CostMatrix] = (),
        exact: bool = False,
        reduction: Reduction = "one_vs_rest",
        folds: int | None = None,
        fold_by: IntoExpr | None = None,
        stratified: bool = False,
        **options: Unpack[DecisionOptions],
    ) -> Sketch:
        """The log reduced to cells of equal log-odds, by one pass: see `polars_ec.sketch`."""
        return sketching.sketch(
            self._frame,
            score,
            label,
            by=by,
            resolution=resolution,
            thresholds=thresholds,
            exact=exact,
            reduction=reduction,
            folds=folds,
            fold_by=fold_by,
            stratified=stratified,
            **options,
        )

    @with_options(PriorOptions, like=calibration.calibrate)
    def calibrate(
        self,
        score: IntoExpr,
        label: IntoExpr,
        calibrator: Calibrator = "affine",
        *,
        by: IntoExpr | Sequence[IntoExpr] = (),
        folds: int | None = None,
        fold_by: IntoExpr | None = None,
        stratified: bool = False,
        resolution: int = 64,
        **options: Unpack[PriorOptions],
    ) -> Calibration:
        """The transform of scores into calibrated posteriors, fitted for every group: see `polars_ec.calibrate`."""
        return calibration.calibrate(
            self._frame,
            score,
            label,
            calibrator,
            by=by,
            folds=folds,
            fold_by=fold_by,
            stratified=stratified,
            resolution=resolution,
            **options,
        )

    @with_options(RiskOptions, like=calibration.calibration_loss)
    def calibration_loss(
        self,
        score: IntoExpr,
        label: IntoExpr,
        rule: Rule = "cross_entropy",
        *,
        calibrator: Calibrator = "affine",
        training: Literal["cv", "test"] | Calibration = "cv",
        by: IntoExpr | Sequence[IntoExpr] = (),
        folds: int | None = None,
        fold_by: IntoExpr | None = None,
        stratified: bool = False,
        resolution: int = 64,
        **options: Unpack[RiskOptions],
    ) -> pl.DataFrame:
        """What calibration would take off a loss, per group: see `polars_ec.calibration_loss`."""
        return calibration.calibration_loss(
            self._frame,
            score,
            label,
            rule,
            calibrator=calibrator,
            training=training,
            by=by,
            folds=folds,
            fold_by=fold_by,
            stratified=stratified,
            resolution=resolution,
            **options,
        )


@pl.api.register_lazyframe_namespace("ec")
class LazyFrameNamespace(_FrameNamespace[pl.LazyFrame]):
    """`lf.ec`: lazy in, lazy out."""


@pl.api.register_dataframe_namespace("ec")
class DataFrameNamespace(_FrameNamespace[pl.DataFrame]):
    """`df.ec`: a DataFrame in, a DataFrame out."""
