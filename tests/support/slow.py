"""Which parameters of a test are for `make test-all` alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def mostly_slow(values: Iterable[Any], quick: Iterable[Any]) -> list[Any]:
    """Parameters of which `make test` takes the quick ones, and `make test-all` all."""
    quick = list(quick)
    return [
        value
        if value in quick
        else pytest.param(*(value if isinstance(value, tuple) else [value]), marks=pytest.mark.slow)
        for value in values
    ]
