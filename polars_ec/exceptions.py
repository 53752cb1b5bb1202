"""Errors of polars_ec that are not plain ValueError or TypeError."""

from __future__ import annotations


class InvalidDataError(ValueError):
    """Rows of a prediction log break the data rules; the message counts each kind and shows the first of them."""
