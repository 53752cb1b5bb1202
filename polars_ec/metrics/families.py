"""Families of metrics, and the function of each metric name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl

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

METRICS: Mapping[str, Callable[..., pl.Expr]] = {
    name: function
    for family in FAMILIES
    for name, function in vars(family).items()
    if inspect.isfunction(function)
    and function.__module__ == family.__name__
    and next(iter(inspect.signature(function).parameters)) == "score"
}
"""The metrics of scores, of groups and of rows, by name."""


def function_of(name: str) -> Callable[..., Any] | None:
    """Return the function that documents a metric, or None for an unknown name."""
    return next((vars(family)[name] for family in FAMILIES if inspect.isfunction(vars(family).get(name))), None)
