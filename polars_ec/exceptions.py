"""Exceptions of polars_ec beyond ValueError and TypeError, and its warnings."""

from __future__ import annotations

import sys
import warnings


class InvalidDataError(ValueError):
    """Invalid rows in a prediction log; the message counts each kind and shows the first of them."""


class SketchError(ValueError):
    """A sketch that cannot be read, merged, or evaluated as requested; the message says why."""


def warn(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the line that called the package, however many internal calls lie between."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "polars_ec":
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)
