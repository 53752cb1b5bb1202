"""The namespaces `ec` on expressions and frames, whose methods take their documentation from the functions.

Polars adds namespaces at run time, so type checkers and editors do not know them; the functions are the typed API. `help` shows both.
Completion in a notebook works on a named expression or frame: `score.ec.<TAB>`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, getmembers, isfunction, signature
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl

from polars_ec.api import capacities, comparisons, drifts, estimates, reports, sketches, thresholds
from polars_ec.api.validation import validate
from polars_ec.arguments.signatures import without_parameter
from polars_ec.calibration import rows as calibration
from polars_ec.metrics.families import FAMILIES
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


for _family in FAMILIES:
    for _name, _function in getmembers(_family, isfunction):
        # A family also has what it imports, its helpers, and functions of other arguments.
        is_metric = _function.__module__ == _family.__name__ and not _name.startswith("_")
        if is_metric and next(iter(signature(_function).parameters)) == "score":
            setattr(ExpressionNamespace, _name, _expression_method(_function))


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
