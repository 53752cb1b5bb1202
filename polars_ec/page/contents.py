"""What a page of a report is made of: tables that any reader of it could make, and how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from polars_ec.cells.deciding import DecidingCells
from polars_ec.page.wording import names_of
from polars_ec.rows.read import join_groups
from polars_ec.words import unique

# No key is called so.
ROW = "__ec_row"


@dataclass(frozen=True)
class Contents:
    """The tables of a page, about one model.

    Attributes
    ----------
    title, keys, period
        What the page is called; the group columns, of which there may be none; the column of periods, if there is one.
    metrics, prior, interval
        The metrics, the main one first; the reference prior of the columns that end in `_at_prior`, where it is one number; the level of all
        limits.
    groups, total
        A row per group, the largest first, and the row of all groups together, without the keys: `n`, each metric with `NAME_ci_low` and
        `NAME_ci_high`, and at the reference prior where that moves it; `class_prior`, `rcl` with limits where it is known, `small`,
        `n_missing`, `n_invalid`.
    trend, trend_total
        The same without `rcl` by group and period, sorted, and by period. None without periods.
    rest
        `compare` of each group with all others, for the main metric. None for one group.
    costly
        The rows of `groups` whose NEC is above 1 beyond noise, among as many groups as there are.
    changes
        `drift` of the main metric of each group: of its last period against the reference; `p_adjusted` is of these.
    history
        `drift` of the main metric of all groups together: each period against the reference, with groups as strata.
    reference
        The period that changes are told from.
    curves
        A sketch by group, without periods; None where scores are vectors or costs are by row.
    notes, options
        What was left out or is approximate; and how all was made, in words.
    """

    title: str
    keys: list[str]
    period: str | None
    metrics: list[str]
    prior: float | None
    interval: float
    groups: pl.DataFrame
    total: pl.DataFrame
    trend: pl.DataFrame | None = None
    trend_total: pl.DataFrame | None = None
    rest: pl.DataFrame | None = None
    costly: list[int] = field(default_factory=list)
    changes: pl.DataFrame | None = None
    history: pl.DataFrame | None = None
    reference: object = None
    curves: DecidingCells | None = None
    notes: list[str] = field(default_factory=list)
    options: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def has_positives(self) -> bool:
        """Whether there are two classes: of more each has a share."""
        return self.total.schema.get("class_prior") == pl.Float64

    @cached_property
    def labels(self) -> list[str]:
        """What the groups are called, each different from the others."""
        return unique(names_of(self.groups, self.keys)) if self.keys else ["all"] * self.groups.height

    def labels_of(self, table: pl.DataFrame) -> list[str]:
        """The same of the groups that the rows of another table are of."""
        return [self.labels[row] for row in self.rows_of(table)]

    def rows_of(self, table: pl.DataFrame) -> list[int]:
        """The rows in `groups` of the groups that the rows of another table are of."""
        if not self.keys:
            return [0] * table.height
        rows: list[int] = join_groups(table.select(self.keys), self.numbered(), self.keys)[ROW].to_list()
        return rows

    def numbered(self) -> pl.DataFrame:
        """The keys of the groups and, as `ROW`, their rows in `groups`."""
        return self.groups.select(self.keys).with_row_index(ROW)


def largest_first(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The groups by their rows; those that have as many by their keys."""
    return table.sort("n", *keys, descending=[True, *[False] * len(keys)], nulls_last=False)


def with_min_rows(table: pl.DataFrame, min_rows: int | None) -> pl.DataFrame:
    """The table, in which groups of fewer rows than this are small, too."""
    return table if min_rows is None else table.with_columns(small=pl.col("small") | (pl.col("n") < min_rows))
