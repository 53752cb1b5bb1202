"""What the tests of papers share: printed numbers, and logs of decisions from tables of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from examples.papers import numbers as papers


def printed(value: float, digits: int) -> Any:
    """What rounds to `value`; half a unit more for the halves that papers round either way."""
    return pytest.approx(value, rel=0, abs=0.5 * 10**-digits + 1e-9)


def exactly(value: Any) -> Any:
    return pytest.approx(value, rel=1e-12, abs=1e-12)


def counted(table: Sequence[Sequence[float]]) -> pl.DataFrame:
    """A log of decisions whose counts are this table (rows true classes), one weighted row per cell."""
    return papers.counted(table).rename({"decision": "score"})


def repeated(table: Sequence[Sequence[int]]) -> pl.DataFrame:
    """The same log with one row per decision."""
    cells = counted(table)
    return cells.select(pl.exclude("n").repeat_by(pl.col("n").cast(pl.Int64)).explode(empty_as_null=False))
