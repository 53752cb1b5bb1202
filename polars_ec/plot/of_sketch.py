"""The charts of a sketch as its methods."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from polars_ec.cells.deciding import DecidingCells
from polars_ec.plot import curves

P = ParamSpec("P")
R = TypeVar("R")


def _of_sketch(
    function: Callable[Concatenate[DecidingCells, P], R],
) -> Callable[Concatenate[SketchPlots, P], R]:
    """The function as a method, with its documentation."""

    @wraps(function)
    def method(plots: SketchPlots, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return function(plots._sketch, *args, **kwargs)

    return method


class SketchPlots:
    """The charts of one sketch: `sketch.plot.roc()` is `ec.plot.roc(sketch)`."""

    def __init__(self, sketch: DecidingCells) -> None:
        self._sketch = sketch

    roc = _of_sketch(curves.roc)
    det = _of_sketch(curves.det)
    pr = _of_sketch(curves.pr)
    prg = _of_sketch(curves.prg)
    tippett = _of_sketch(curves.tippett)
    bayes_error = _of_sketch(curves.bayes_error)
    cost_curve = _of_sketch(curves.cost_curve)
    bayes_risk = _of_sketch(curves.bayes_risk)
    reliability = _of_sketch(curves.reliability)
