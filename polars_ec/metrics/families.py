"""Families of metrics, and the function of each metric name."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from polars_ec import metrics

FAMILIES = [import_module(f".{m.name}", __package__) for m in iter_modules(metrics.__path__) if m.name != "families"]


def function_of(name: str) -> Callable[..., Any] | None:
    """Return the function that documents a metric, or None for an unknown name."""
    return next((vars(family)[name] for family in FAMILIES if inspect.isfunction(vars(family).get(name))), None)
