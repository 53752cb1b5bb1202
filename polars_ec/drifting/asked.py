"""What a drift is asked, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polars_ec.reporting.models import Model
from polars_ec.reporting.tables import Layout


@dataclass(frozen=True)
class Drift:
    """What is asked, checked: `by` and `mix` name columns of groups and of strata, `period` the column of periods."""

    by: tuple[str, ...]
    period: str
    mix: tuple[str, ...]
    factors: tuple[str, ...]
    model: Model
    metrics: tuple[str, ...]
    reference: Any
    layout: Layout
    level: float
    buckets: int | None
    min_rows: int | None

    @property
    def keys(self) -> list[str]:
        """Of a period of a group."""
        return [*self.by, self.period]
