"""Sums over the cells of usable rows, of first and second order: what the spread of a metric is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.grid import Grid
from polars_ec.cells.sums import placed
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.decisions import Clusters
from polars_ec.intervals.spread import Moments

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class UsableCells:
    """Cells of usable rows of so many groups, with GROUP, `class`, `weight`, `weight2` and, where rows come in clusters, `bucket`.

    `buckets` is then how many there are; 0 for independent rows.
    """

    frame: pl.DataFrame
    grid: Grid
    n_groups: int
    buckets: int = 0

    @cached_property
    def group(self) -> Integers:
        """The number of the group of each cell."""
        return self.frame[GROUP].to_numpy().astype(np.int64)

    @cached_property
    def label(self) -> Integers:
        """The class of each cell."""
        return self.frame["class"].to_numpy().astype(np.int64)

    @cached_property
    def weight(self) -> Floats:
        """Sum of w of each cell."""
        return self.frame["weight"].to_numpy().astype(np.float64)

    @cached_property
    def weight2(self) -> Floats:
        """Sum of w^2 of each cell."""
        return self.frame["weight2"].to_numpy().astype(np.float64)

    @cached_property
    def bucket(self) -> Integers:
        """The bucket of each cell; that after the last one for rows that are clusters of their own."""
        return self.frame["bucket"].fill_null(self.buckets).to_numpy().astype(np.int64)

    def values(self, *columns: pl.Expr) -> list[Floats]:
        """Values of each cell; NaN for null."""
        found = self.frame.select(column.cast(pl.Float64).alias(str(i)) for i, column in enumerate(columns))
        return [found[name].to_numpy().astype(np.float64) for name in found.columns]

    def total(self, values: Floats) -> Floats:
        """(groups, classes): sums over the cells of each class."""
        of = 2 * self.group + self.label
        return np.bincount(of, values, 2 * self.n_groups).astype(np.float64).reshape(-1, 2)

    def moments(self, features: list[Floats], unit: Floats) -> Moments:
        """Of rows that have these features, each constant in a cell; those in no bucket, if there are buckets."""
        cells = self if not self.buckets else self._only(self.bucket == self.buckets)
        kept = features if not self.buckets else [x[self.bucket == self.buckets] for x in features]
        with np.errstate(all="ignore"):
            linear = np.stack([cells.total(cells.weight * x) for x in kept], axis=-1)
            square = np.stack([np.stack([cells.total(cells.weight2 * x * y) for y in kept], -1) for x in kept], -1)
        return Moments(linear, square, unit)

    def clusters(self, features: list[Floats], unit: Floats) -> Clusters:
        """The sums of the features of the rows of each bucket, and those of rows that are clusters of their own."""
        n, size = self.buckets + 1, self.n_groups * (self.buckets + 1) * 2
        of = (self.group * n + self.bucket) * 2 + self.label
        with np.errstate(all="ignore"):
            sums = [np.bincount(of, self.weight * x, size).reshape(-1, n, 2)[:, :-1] for x in features]
        linear = np.stack(sums, axis=-1)
        alone = bool((self.bucket == self.buckets).any())
        return Clusters(linear, self._of_buckets, self.moments(features, unit) if alone else None)

    def decided(self, threshold: float, of_1: str, of_0: str, amount: Floats) -> tuple[Floats, Floats]:
        """Sums of an amount of each cell by class and decision, (groups, classes, decisions), and of what the threshold may cut.

        "least" or "most" of the rows of either class, of those that it may cut, are positive.
        """
        positive, possible = self._placed(threshold, of_1, of_0)
        sums = [self.total(amount * ~positive), self.total(amount * positive)]
        return np.stack(sums, axis=-1), self.total(amount * possible)

    def decided_clusters(self, threshold: float, decided: Floats) -> Clusters:
        """Those of decisions of which the sums are known: so many of the rows of each class that a threshold may cut are positive."""
        positive, possible = self._placed(threshold, "least", "least")
        with np.errstate(all="ignore"):
            share = (decided[:, :, 1] - self.total(self.weight * positive)) / self.total(self.weight * possible)
        share = np.clip(np.nan_to_num(share), 0.0, 1.0)
        above = np.where(possible, share[self.group, self.label], positive.astype(np.float64))
        return self.clusters([1 - above, above], np.ones(2))

    @cached_property
    def _of_buckets(self) -> Floats:
        n = self.buckets + 1
        of = self.group * n + self.bucket
        return np.bincount(of, self.weight, self.n_groups * n).astype(np.float64).reshape(-1, n)[:, :-1]

    def _placed(self, threshold: float, of_1: str, of_0: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        certain, possible = placed(self.grid, threshold)
        found = self.frame.select(certain=certain, possible=possible & ~certain)
        sure = np.broadcast_to(found["certain"].to_numpy(), len(self.group))
        maybe = np.broadcast_to(found["possible"].to_numpy(), len(self.group))
        most = np.where(self.label == 1, of_1 == "most", of_0 == "most")
        return sure | (maybe & most), maybe

    def _only(self, chosen: NDArray[Any]) -> UsableCells:
        return replace(self, frame=self.frame.filter(pl.Series(chosen)), buckets=0)
