"""What a page is asked for beside its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_ec.comparing.choice import check_comparable
from polars_ec.drifting.choice import PREVIOUS, check_reference
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.priors import parse_prior
from polars_ec.reporting.choice import named_metrics
from polars_ec.version import __version__


@dataclass(frozen=True)
class Asked:
    """What a page is asked for beside its log; `options` are said at its foot, beside what the log tells."""

    keys: Sequence[str] = ()
    period: str | None = None
    reference: Any = None
    metrics: Sequence[str] | None = None
    prior: Any = "overall"
    level: float = 0.95
    min_rows: int | None = None
    title: str = "Report"
    options: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_reference(self.reference)
        if isinstance(self.reference, str) and self.reference == PREVIOUS:
            raise ValueError(
                f"reference={PREVIOUS!r}: a page tells changes since one period, so pass this, by its value"
            )
        if self.reference is not None and self.period is None:
            raise ValueError(
                f"reference={self.reference!r} is a period, and the page has none: pass period=, or leave it out"
            )
        if isinstance(self.prior, pl.Expr):
            raise TypeError(
                f'prior={self.prior} is an expression, and a page has one prior for all groups: pass a share, "uniform" or "overall"'
            )
        if self.prior is not None:
            parse_prior(self.prior)
        names = named_metrics(self.metrics) or ()
        # Groups are compared by the first; of the others any that is one number will do.
        check_comparable([*names[:1], *(name for name in names[1:] if name != "ece")])

    def limits_in_words(self, cluster: str | None, buckets: int | None) -> dict[str, str]:
        """How limits were made, and by which version: the last lines of the foot."""
        return {
            "Limits": f"{100 * self.level:.4g}%",
            "Clusters": "none" if cluster is None else f"{cluster}, in {buckets} buckets",
            **({} if self.min_rows is None else {"Small": f"fewer than {self.min_rows} rows"}),
            "polars_ec": __version__,
        }


def is_made_of_sums(metric: str) -> bool:
    """Whether the metric is made of sums, so that its changes have parts."""
    return metric not in RANKING_METRICS
