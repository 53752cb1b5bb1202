"""What the pass of a report is to make."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from polars_ec.intervals.arguments import Request
from polars_ec.rows.read import Rows


@dataclass(frozen=True)
class Needs:
    """What the metrics of a report are made of."""

    decisions: bool
    losses: tuple[str, ...] = ()
    ece: bool = False
    parts: tuple[str, ...] = ()
    interval: Request | None = None

    @property
    def drawn(self) -> bool:
        """Whether rows, or clusters, are drawn anew."""
        return self.interval is not None and self.interval.is_drawn

    @property
    def clustered(self) -> bool:
        """Whether the rows of a group are summed bucket by bucket."""
        return self.interval is not None and self.interval.cluster is not None


def missing_parts(rows: Rows, needs: Needs) -> dict[str, pl.Expr]:
    """Of the parts of a row that may be missing, whether they are."""
    missing = {
        "label": rows.labels.label.is_null(),
        "score": rows.scores.missing,
        "weight": pl.lit(value=False) if rows.weight is None else rows.weight.is_null(),
    }
    return {part: missing[part] for part in needs.parts}
