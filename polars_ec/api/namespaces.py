"""The namespace `ec` on expressions and frames: a method for each function, which is where the documentation is.

Polars adds namespaces at run time, so that type checkers and editors do not know them: the functions are the typed API. `help`
and the completion of a notebook see both, the latter of an expression or frame that has a name: `score.ec.<TAB>`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, TypeVar

import polars as pl

from polars_ec.api import comparisons, drifts, reports, sketches
from polars_ec.api.validation import validate
from polars_ec.arguments.signatures import without_parameter
from polars_ec.calibration import rows as calibration
from polars_ec.metrics.families import functions_of_scores
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
    """Metrics of the expression as score: `pl.col("score").ec.nec("label")` is `polars_ec.nec("score", "label")`."""

    def __init__(self, score: pl.Expr) -> None:
        self._score = score


for _function in functions_of_scores():
    setattr(ExpressionNamespace, _function.__name__, _expression_method(_function))


class _FrameNamespace:
    """What is asked of a whole log: `lf.ec.report("score", "label", by="segment")`."""

    def __init__(self, frame: pl.LazyFrame | pl.DataFrame) -> None:
        self._frame = frame

    report = _frame_method(reports.report)
    compare = _frame_method(comparisons.compare)
    drift = _frame_method(drifts.drift)
    validate = _frame_method(validate)
    sketch = _frame_method(sketches.sketch)
    calibrate = _frame_method(calibration.calibrate)
    calibration_loss = _frame_method(calibration.calibration_loss)


@pl.api.register_lazyframe_namespace("ec")
class LazyFrameNamespace(_FrameNamespace):
    """`lf.ec`: lazy in, lazy out."""


@pl.api.register_dataframe_namespace("ec")
class DataFrameNamespace(_FrameNamespace):
    """`df.ec`: a DataFrame in, a DataFrame out."""
