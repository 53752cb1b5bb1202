"""Sums over the cells of usable rows, of first and second order: what the spread of a metric is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.cells import Cells
from polars_ec.cells.formula_columns import End
from polars_ec.cells.grid import Grid
from polars_ec.cells.sums import placed, with_group
from polars_ec.cells.values import log_odds, losses
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.estimates import Clusters
from polars_ec.intervals.spread import Moments
from polars_ec.rows.scores import BinaryScores

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]

# Of a variance, what bins without an end may hide.
_HIDDEN = 0.05


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

    def total(self, values: Floats) -> Floats:
        """(groups, classes): sums over the cells of each class."""
        of = 2 * self.group + self.label
        return np.bincount(of, values, 2 * self.n_groups).astype(np.float64).reshape(-1, 2)

    def moments(self, features: Sequence[Floats], unit: Floats) -> Moments:
        """Of rows that have these features, all rows of a cell the same."""
        with np.errstate(all="ignore"):
            linear = np.stack([self.total(self.weight * x) for x in features], axis=-1)
            square = np.stack(
                [np.stack([self.total(self.weight2 * x * y) for y in features], -1) for x in features], -1
            )
        return Moments(linear, square, unit)

    def clusters(self, features: Sequence[Floats], unit: Floats) -> Clusters:
        """The sums of the features of the rows of each bucket, and those of rows that are clusters of their own."""
        n, size = self.buckets + 1, self.n_groups * (self.buckets + 1) * 2
        of = (self.group * n + self.bucket) * 2 + self.label
        with np.errstate(all="ignore"):
            sums = [np.bincount(of, self.weight * x, size).reshape(-1, n, 2)[:, :-1] for x in features]
        linear = np.stack(sums, axis=-1).astype(np.float64)
        alone = self.bucket == self.buckets
        if not alone.any():
            return Clusters(linear, self._of_buckets, unit)
        single = replace(self, frame=self.frame.filter(pl.Series(alone)), buckets=0)
        return Clusters(linear, self._of_buckets, unit, single.moments([x[alone] for x in features], unit))

    def decided(self, threshold: float, of_1: End, of_0: End, amount: Floats) -> Floats:
        """Sums of an amount of each cell by class and decision, (groups, classes, decisions).

        "least" or "most" of the rows of either class, of those that the threshold may cut, are positive.
        """
        certain, possible = self.placed(threshold)
        most = np.where(self.label == 1, of_1 == "most", of_0 == "most")
        positive = certain | (possible & most)
        return np.stack([self.total(np.where(side, amount, 0.0)) for side in (~positive, positive)], axis=-1)

    def decided_clusters(self, threshold: float, decided: Floats) -> Clusters:
        """Those of decisions of which the sums are known: so many of the rows of each class that the threshold may cut are positive."""
        certain, possible = self.placed(threshold)
        with np.errstate(all="ignore"):
            share = (decided[:, :, 1] - self.total(self.weight * certain)) / self.total(self.weight * possible)
        share = np.clip(np.nan_to_num(share), 0.0, 1.0)
        above = np.where(possible, share[self.group, self.label], certain.astype(np.float64))
        return self.clusters([1 - above, above], np.ones(2))

    def losses(self, loss: str, shift: Floats | None = None) -> Floats:
        """The loss of a row in the middle of each cell; of LLRs with a shift of each group, as posteriors that these make of them."""
        if shift is None:
            found: Floats = self.of_each(lambda cells: cells.select(losses(self.grid)[loss].alias(loss))[loss])
            return found
        x = self.of_each(lambda cells: cells.select(x=log_odds(self.grid))["x"])
        in_class = [pl.col("class") == 0, pl.col("class") == 1]
        scores = BinaryScores(pl.col("x"), "log_odds", None)
        value = scores.log_loss(in_class) if loss == "log_loss" else scores.brier(in_class)
        return (
            pl.select(pl.Series("class", self.label), x=x + shift[self.group])
            .select(value.alias(loss))[loss]
            .to_numpy()
        )

    @cached_property
    def far(self) -> Booleans:
        """Whether each cell is the last one on the wrong side of its class, which has no end: its losses may be of any size."""
        if self.grid.resolution is None:
            return np.zeros(len(self.label), dtype=bool)
        lowest, highest = self.grid.infinite_bins
        return np.asarray(self.frame["bin"].to_numpy() == np.where(self.label == 1, lowest + 1, highest - 1))

    def with_sums(self, loss: Floats, totals: Floats) -> Floats:
        """The loss of a row of each cell, so that the sums are these, (groups, classes); NaN in groups in which nobody knows.

        Bins know about how much it is in each of them, and the sums how much in all. What is more than the bins say is the far cells'; if
        one row of several could be all of it, and that would change the variance, nobody knows.
        """
        far = self.far & (self.weight > 0)
        with np.errstate(all="ignore"):
            if far.any():
                weight, weight2 = self.total(self.weight * far), self.total(self.weight2 * far)
                more = np.where(weight > 0, np.fmax(totals - self.total(self.weight * loss), 0.0), 0.0)
                each = np.where(weight > 0, more / weight, 0.0)[self.group, self.label]
                loss = np.where(far, loss + each, loss)
                mean = (self.total(self.weight * loss) / self.total(self.weight))[self.group, self.label]
                squares = self.total(self.weight2 * (loss - mean) ** 2)
                # Of rows that are alike the squares are this share of what they are of one row.
                hidden = np.where(weight > 0, more**2 * (1 - weight2 / weight**2), 0.0)
                known = np.asarray((hidden <= _HIDDEN * squares).all(axis=-1))
                loss = np.where(known[self.group], loss, np.nan)
            times = totals / self.total(self.weight * loss)
        return np.asarray(loss * np.where(np.isfinite(times), times, 1.0)[self.group, self.label])

    def of_each(self, function: Callable[[pl.DataFrame], pl.Series]) -> Any:
        """A function of the class and the place of each cell, found once for those that are in several groups or buckets."""
        distinct, place = self._distinct
        values = function(distinct).to_numpy()
        return values if place is None else values[place]

    @cached_property
    def _distinct(self) -> tuple[pl.DataFrame, Integers | None]:
        """The cells that there may be, and which of them each cell is; None: they are the cells themselves."""
        columns = ["class", *self.grid.cell_columns]
        if self.grid.resolution is None or self.frame.is_empty():
            return self.frame.select(columns), None
        bins, above = (self.frame[name].to_numpy().astype(np.int64) for name in ("bin", "above"))
        lowest, n_above = int(bins.min()), len(self.grid.thresholds) + 1
        number = ((bins - lowest) * n_above + above) * 2 + self.label
        bin_, rest = np.divmod(np.arange(int(number.max()) + 1), 2 * n_above)
        cells = {"class": rest % 2, "bin": bin_ + lowest, "above": rest // 2}
        return pl.DataFrame(cells).select(pl.col(name).cast(self.frame.schema[name]) for name in columns), number

    @cached_property
    def _of_buckets(self) -> Floats:
        n = self.buckets + 1
        of = self.group * n + self.bucket
        return np.bincount(of, self.weight, self.n_groups * n).astype(np.float64).reshape(-1, n)[:, :-1]

    def placed(self, threshold: float) -> tuple[Booleans, Booleans]:
        """Whether all rows of each cell are above the threshold; whether, if not, some may be."""
        certain, possible = placed(self.grid, threshold)
        above = self.of_each(lambda cells: cells.with_columns(certain=certain)["certain"])
        cut = self.of_each(lambda cells: cells.with_columns(cut=possible & ~certain)["cut"])
        return above, cut


def usable_cells(cells: Cells, numbered: pl.DataFrame, n_groups: int) -> UsableCells:
    """Those of the cells of so many groups; `numbered` are they with the number of their group."""
    return UsableCells(usable_rows(numbered, cells.weighted), cells.grid, n_groups)


def cells_by_bucket(cells: Cells, groups: pl.DataFrame, keys: list[str]) -> UsableCells | None:
    """Those of the cells of clusters, where rows are in clusters; `groups` has the keys and the number of each group."""
    if cells.coarse is None or cells.buckets is None:
        return None
    numbered = with_group(cells.coarse, groups, keys)
    return UsableCells(usable_rows(numbered, cells.weighted), cells.grid.coarse, groups.height, cells.buckets)


def usable_rows(frame: pl.DataFrame, weighted: bool) -> pl.DataFrame:
    """Cells with a sum of weights and that of their squares, which are both of the rows where these have no weights."""
    check_squares(frame, weighted)
    if weighted:
        return frame.filter(pl.col("class") >= 0, pl.col("weight") > 0)
    rows = pl.col("n").cast(pl.Float64)
    return frame.filter(pl.col("class") >= 0).with_columns(weight=rows, weight2=rows)


def floats(column: pl.Series) -> Floats:
    """Its numbers, NaN for null."""
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def check_squares(frame: pl.DataFrame, weighted: bool) -> None:
    """SketchError for cells of a file of an earlier version, whose rows have weights."""
    if weighted and "weight2" not in frame.columns:
        raise SketchError(
            "interval= needs the sums of squared weights, which this sketch does not have: sketch its log again"
        )
