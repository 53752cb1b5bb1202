"""Families of metrics, and the function of each metric name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
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
    """Return the function that documents a metric, or None for an unknown name."""
    return next((vars(family)[name] for family in FAMILIES if inspect.isfunction(vars(family).get(name))), None)
