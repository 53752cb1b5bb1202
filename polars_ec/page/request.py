"""What a page asks of a model: its arguments, and the tables that rows or a sketch answer with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import polars as pl

from polars_ec.arguments.classes import Prior, parse_prior
from polars_ec.comparisons.validation import PREVIOUS, check_comparable, check_reference
from polars_ec.formulas.ranking import ORDER_METRICS
from polars_ec.numerics import Floats
from polars_ec.page.contents import judged_column
from polars_ec.reports.models import named_metrics
from polars_ec.scores.folds import BUCKETS
from polars_ec.sketches.operating_points import DecidingCells
from polars_ec.typing import IntoExpr
from polars_ec.version import __version__

TwoTables: TypeAlias = tuple[pl.DataFrame | None, pl.DataFrame | None]
"""A table by group and another one of all groups together, or neither."""

_FEWEST_PERIODS = 3


@dataclass(frozen=True, kw_only=True)
class PageArguments:
    """The arguments of `report_page` beside its path, log, score and label."""

    model: IntoExpr | None = None
    item: IntoExpr | Sequence[IntoExpr] | None = None
    by: IntoExpr | Sequence[IntoExpr] = ()
    period: IntoExpr | None = None
    reference: Any = None
    metrics: Sequence[str] | None = None
    prior: Prior = "overall"
    cluster: IntoExpr | None = None
    buckets: int = BUCKETS
    interval: float = 0.95
    min_rows: int | None = None
    margin: float | None = None
    title: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class PageRequest:
    """The arguments of a page beside its log; `options` are shown at its foot, before those that the source adds."""

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
            raise ValueError(f"reference={PREVIOUS!r}: a page shows changes since one period: pass its value")
        if self.reference is not None and self.period is None:
            raise ValueError(
                f"reference={self.reference!r} is a period, and the page has none: pass period= too, or leave reference= out"
            )
        if isinstance(self.prior, pl.Expr):
            raise TypeError(
                f'prior={self.prior} is an expression, and a page has one prior for all groups: pass a base rate, "uniform" or "overall"'
            )
        if self.prior is not None:
            parse_prior(self.prior)
        names = named_metrics(self.metrics) or ()
        # Groups are compared by the first; the others may be any that are one number.
        check_comparable([*names[:1], *(name for name in names[1:] if name != "ece")])


@dataclass(frozen=True)
class PageSource(ABC):
    """The tables of one model, as a page asks for them."""

    request: PageRequest

    @property
    @abstractmethod
    def metrics(self) -> Sequence[str]:
        """The metrics of the page, the main one first: those named, or the usual ones."""

    @property
    @abstractmethod
    def prior(self) -> float | None:
        """The reference prior, if it is one number."""

    @property
    @abstractmethod
    def group_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The metrics of the groups, the largest first, and those of all groups together."""

    @abstractmethod
    def period_table(self, keys: Sequence[str], period: str) -> pl.DataFrame:
        """The metrics by keys and period, without rows that have no period."""

    @property
    @abstractmethod
    def rest(self) -> pl.DataFrame | None:
        """The comparison of each group with all others, by the judged metric; None for one group."""

    @abstractmethod
    def drift(self, period: str, *, mix: bool) -> pl.DataFrame:
        """The changes of the main metric of all groups together, with groups as strata if `mix`."""

    @abstractmethod
    def compared_periods(self, periods: pl.Series) -> pl.DataFrame:
        """The comparison of each of these periods with all others, by the judged metric."""

    @abstractmethod
    def last_changes(self, period: str) -> pl.DataFrame:
        """The change of the judged metric for each group, from the reference to its last period."""

    @abstractmethod
    def lower_bounds(self, groups: pl.DataFrame, level: float) -> Floats:
        """The lower bounds of the NEC that groups are judged by, at any level."""

    @abstractmethod
    def notes(self) -> Iterator[str]:
        """Say what is left out or approximate."""

    @property
    @abstractmethod
    def options(self) -> dict[str, str]:
        """The scores, the costs, the decisions and the reference prior, in words."""

    @property
    @abstractmethod
    def clusters(self) -> tuple[str | None, int | None]:
        """The name of the cluster column, and the number of buckets."""

    @property
    def calibrated_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The tables of groups with the calibration loss, where it is known."""
        return self.group_tables

    @property
    def curves(self) -> DecidingCells | None:
        """A sketch by group, if there are curves."""
        return None

    @cached_property
    def trends(self) -> TwoTables:
        """The metrics by group and period, and by period."""
        period = self.request.period
        if period is None:
            return None, None
        total = self.period_table([], period)
        return self.period_table(self.request.keys, period) if self.request.keys else total, total

    @cached_property
    def reference(self) -> Any:
        """The period that changes are told from: the one that is named, or the first that has rows."""
        total, period = self.trends[1], self.request.period
        if self.request.reference is not None or total is None or period is None:
            return self.request.reference
        return total.filter(pl.col("n") + pl.col("n_invalid") > 0)[period].min()

    @property
    def is_of_sums(self) -> bool:
        """Whether the main metric is a function of sums, so that its changes can be decomposed."""
        return self.metrics[0] not in ORDER_METRICS

    @property
    def has_changes(self) -> bool:
        """Whether changes can be told."""
        return self.is_of_sums and self.reference is not None

    @cached_property
    def drifts(self) -> TwoTables:
        """The last period of each group against the reference, and each period of all groups together."""
        period = self.request.period
        if period is None or not self.has_changes:
            return None, None
        # The mix of one group cannot change.
        history = self.drift(period, mix=self.group_tables[0].height > 1)
        return (None, None) if history.is_empty() else (self.last_changes(period), history)

    @property
    def judged_metric(self) -> str:
        """The main metric, at the reference prior if it depends on it."""
        return judged_column(self.group_tables[0], self.metrics[0])

    @property
    def periods_compared(self) -> pl.DataFrame | None:
        """Each period against all others, for three or more; of two periods the change says it."""
        period, total = self.request.period, self.trends[1]
        if period is None or total is None or not self.has_changes:
            return None
        valid = total.filter(pl.col("n") > 0, n_invalid=0)[period]
        return None if len(valid) < _FEWEST_PERIODS else self.compared_periods(valid)

    def period_notes(self) -> tuple[list[str], list[str]]:
        """Say how many rows have no period, and that changes are not told."""
        period, tables = self.request.period, (self.group_tables[1], self.trends[1])
        counts = ["n", "n_missing", "n_invalid"]
        total, in_periods = (0 if table is None else sum(table.select(counts).sum().row(0)) for table in tables)
        lost = 0 if period is None else total - in_periods
        effect = "They count for their group and for the whole log, but for no period."
        without = f"{lost:,} rows have no {period}. {effect}"
        ranks = f"Changes are not shown, because {self.metrics[0]} depends on the order of all scores."
        return [without] * (lost > 0), [ranks] * (period is not None and not self.is_of_sums)

    @property
    def all_options(self) -> dict[str, str]:
        """The foot of the page: how it was made, and by which version."""
        request, (cluster, buckets) = self.request, self.clusters
        return {
            **request.options,
            **self.options,
            "Confidence level": f"{100 * request.level:.4g}%",
            "Clusters": "none" if cluster is None else f"{cluster}, in {buckets} buckets",
            **({} if request.min_rows is None else {"Small": f"fewer than {request.min_rows} rows"}),
            "polars_ec": __version__,
        }


def largest_first(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The groups by their rows; those that have as many by their keys."""
    return table.sort("n", *keys, descending=[True, *[False] * len(keys)], nulls_last=False)
