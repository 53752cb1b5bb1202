"""The families of metrics, and the function of a metric by its name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from polars_ec.metrics import (
    averages,
    binary,
    calibration_error,
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

FAMILIES = (
    averages,
    binary,
    calibration_error,
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


def function_of(name: str) -> Callable[..., Any] | None:
    """The function that has the documentation of a metric; None for what is no metric."""
    return next((vars(family)[name] for family in FAMILIES if inspect.isfunction(vars(family).get(name))), None)


def functions_of_scores() -> Iterator[Callable[..., Any]]:
    """The public functions whose first argument is a score: those that show a signature, as `with_options` makes them."""
    for family in FAMILIES:
        for function in vars(family).values():
            shown = getattr(function, "__signature__", None)
            if shown is not None and next(iter(shown.parameters)) == "score":
                yield function
