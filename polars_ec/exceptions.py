"""Errors of polars_ec that are not plain ValueError or TypeError."""

from __future__ import annotations


class InvalidDataError(ValueError):
    """Rows of a prediction log break the data rules; the message counts each kind and shows the first of them."""


class SketchError(ValueError):
    """A sketch that cannot be read, added to another, or asked for what it does not hold; the message says why."""
