"""First and second moments of cells of usable rows, for variances, and resamples of the cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from polars_ec.arguments.scales import LOG_ODDS
from polars_ec.exceptions import SketchError
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.bootstrap import Units
from polars_ec.inference.confidence import Clusters, Moments, summed
from polars_ec.numerics import Bools, Floats, Integers, Numbers, np
from polars_ec.scores.scores import BinaryScores
from polars_ec.sketches.cells import Cells
from polars_ec.sketches.grid import BUCKET, SUMS, Grid
from polars_ec.sketches.sums import End, log_odds, losses, number_groups, number_sums, placed, with_group

# The share of a variance that open-ended bins may hide.
_HIDDEN = 0.05
# Numbers of cells are counted one by one while there are at most so many times as many as cells.
_SPARSE = 16


@dataclass(frozen=True)
class UsableCells:
    """Cells of usable rows with GROUP, `class`, `weight`, `weight2` and, for rows in clusters, one of so many `buckets` as `bucket`."""

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
        return summed(2 * self.group + self.label, values, self.n_groups, 2)

    def moments(self, features: Sequence[Floats], unit: Floats) -> Moments:
        """Moments of features that are equal for all rows of a cell."""
        with np.errstate(all="ignore"):
            linear = np.stack([self.total(self.weight * x) for x in features], axis=-1)
            square = np.empty((*linear.shape, len(features)))
            for i, x in enumerate(features):
                for j, y in enumerate(features[: i + 1]):
                    square[..., i, j] = square[..., j, i] = self.total(self.weight2 * x * y)
        return Moments(linear, square, unit)

    def clusters(self, features: Sequence[Floats], unit: Floats) -> Clusters:
        """The sums of the features of the rows of each bucket, and those of rows that are clusters of their own; features as for `merged`."""
        place = self.merged[1]
        n = self.buckets + 1
        of = (self.group * n + self.bucket) * 2 + self.label
        with np.errstate(all="ignore"):
            sums = [summed(of, self.weight * x[place], self.n_groups, n, 2) for x in features]
        linear = np.stack(sums, axis=-1)[:, :-1]
        alone = self.bucket == self.buckets
        if not alone.any():
            return Clusters(linear, self._of_buckets, unit)
        singletons = replace(self, frame=self.frame.filter(pl.Series(alone)), buckets=0)
        return Clusters(linear, self._of_buckets, unit, singletons.moments([x[place[alone]] for x in features], unit))

    @cached_property
    def merged(self) -> tuple[UsableCells, Integers]:
        """The cells of all buckets together, and which of them each cell is a part of."""
        distinct, number = self._distinct
        number = self.group * distinct.height + (np.arange(len(self.group)) if number is None else number)
        size = int(np.max(number, initial=-1)) + 1
        if size < _SPARSE * len(number):
            occurs = np.bincount(number, minlength=size) > 0
            place = (np.cumsum(occurs) - 1)[number]
        else:
            place = np.unique(number, return_inverse=True)[1]
        one_of = np.zeros(int(np.max(place, initial=-1)) + 1, dtype=np.int64)
        one_of[place] = np.arange(len(place))
        sums = {
            name: np.bincount(place, of, len(one_of))
            for name, of in (("weight", self.weight), ("weight2", self.weight2))
        }
        frame = self.frame.select(GROUP, "class", *self.grid.cell_columns)[one_of].with_columns(**sums)
        return replace(self, frame=frame, buckets=0), place

    def decided(self, threshold: float, of_1: End, of_0: End, amount: Floats) -> Floats:
        """(groups, classes, decisions): sums of an amount; of rows that the threshold may cut, the "least" or the "most" are positive."""
        certain, possible = self.placed(threshold)
        most = np.where(self.label == 1, of_1 == "most", of_0 == "most")
        positive = certain | (possible & most)
        return np.stack([self.total(np.where(side, amount, 0.0)) for side in (~positive, positive)], axis=-1)

    def decided_clusters(self, threshold: float, decided: Floats) -> Clusters:
        """Clusters of decisions with known sums, in which each cell that the threshold may cut has the same share of positive decisions."""
        cells = self.merged[0]
        certain, possible = cells.placed(threshold)
        with np.errstate(all="ignore"):
            share = (decided[:, :, 1] - cells.total(cells.weight * certain)) / cells.total(cells.weight * possible)
        share = np.clip(np.nan_to_num(share), 0.0, 1.0)
        above = np.where(possible, share[cells.group, cells.label], certain.astype(np.float64))
        return self.clusters([1 - above, above], np.ones(2))

    def losses(self, loss: str, shift: Floats | None = None) -> Floats:
        """The loss of a row in the middle of each cell; of LLRs with a shift of each group, as posteriors that these make of them."""
        if shift is None:
            return self.of_each(lambda cells: cells.select(losses(self.grid)[loss].alias(loss))[loss])
        x = self.of_each(lambda cells: cells.select(x=log_odds(self.grid))["x"])
        in_class = [pl.col("class") == 0, pl.col("class") == 1]
        scores = BinaryScores(pl.col("x"), LOG_ODDS)
        value = scores.log_loss(in_class) if loss == "log_loss" else scores.brier(in_class)
        shifted = pl.DataFrame({"class": self.label, "x": x + shift[self.group]})
        return shifted.select(value.alias(loss))[loss].to_numpy()

    @cached_property
    def far(self) -> Bools:
        """Whether a cell is the last one on the wrong side of its class, which is open-ended, with unbounded losses."""
        if self.grid.resolution is None:
            return np.zeros(len(self.label), dtype=bool)
        lowest, highest = self.grid.infinite_bins
        return np.asarray(self.frame["bin"].to_numpy() == np.where(self.label == 1, lowest + 1, highest - 1))

    def with_sums(self, loss: Floats, totals: Floats) -> Floats:
        """The loss of a row of each cell, scaled to these sums, (groups, classes); NaN in groups in which the far cells leave the variance open."""
        # What is more than the bins say is the far cells'; if one row of several could be all of it, and that would change the variance, nobody
        # knows.
        far = self.far & (self.weight > 0)
        with np.errstate(all="ignore"):
            if far.any():
                weight, weight2 = self.total(self.weight * far), self.total(self.weight2 * far)
                more = np.where(weight > 0, np.fmax(totals - self.total(self.weight * loss), 0.0), 0.0)
                each = np.where(weight > 0, more / weight, 0.0)[self.group, self.label]
                loss = np.where(far, loss + each, loss)
                mean = (self.total(self.weight * loss) / self.total(self.weight))[self.group, self.label]
                squares = self.total(self.weight2 * (loss - mean) ** 2)
                # How far the sum of squares of equal rows is below that of a single row with their whole loss.
                hidden = np.where(weight > 0, more**2 * (1 - weight2 / weight**2), 0.0)
                known = np.asarray((hidden <= _HIDDEN * squares).all(axis=-1))
                loss = np.where(known[self.group], loss, np.nan)
            times = totals / self.total(self.weight * loss)
        return np.asarray(loss * np.where(np.isfinite(times), times, 1.0)[self.group, self.label])

    def of_each(self, function: Callable[[pl.DataFrame], pl.Series]) -> Numbers:
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
        lowest, n_above = int(np.min(bins)), len(self.grid.thresholds) + 1
        number = ((bins - lowest) * n_above + above) * 2 + self.label
        bin_, rest = np.divmod(np.arange(int(np.max(number)) + 1), 2 * n_above)
        cells = {"class": rest % 2, "bin": bin_ + lowest, "above": rest // 2}
        return pl.DataFrame(cells).select(pl.col(name).cast(self.frame.schema[name]) for name in columns), number

    @cached_property
    def _of_buckets(self) -> Floats:
        n = self.buckets + 1
        return summed(self.group * n + self.bucket, self.weight, self.n_groups, n)[:, :-1]

    def placed(self, threshold: float) -> tuple[Bools, Bools]:
        """Masks of the cells above the threshold, and of those that it may cut."""
        certain, possible = placed(self.grid, threshold)
        above = self.of_each(lambda cells: cells.with_columns(certain=certain)["certain"])
        cut = self.of_each(lambda cells: cells.with_columns(cut=possible & ~certain)["cut"])
        return above, cut


def cells_by_bucket(cells: Cells, groups: pl.DataFrame, keys: list[str]) -> UsableCells | None:
    """The usable coarse cells, if rows are in clusters; `groups` has the keys and the number of each group."""
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


def check_squares(frame: pl.DataFrame, weighted: bool) -> None:
    """SketchError for cells of a file of an earlier version, whose rows have weights."""
    if weighted and "weight2" not in frame.columns:
        raise SketchError(
            "interval= needs the sums of squared weights, which this sketch does not have: sketch the log again"
        )


# Cells resampled with replacement: sketches with the same number of rows or clusters, each as its own group.

NUMBER, REPLICATE, PRIOR = "__number", "__replicate", "__prior"
"""Group columns of the replicates' cells: the number of the group, that of the replicate, and the stated share of class 1."""

# The number of cells of replicates in memory at a time.
_MOST = 2**19
_AT_A_TIME = 100


@dataclass(frozen=True)
class Resampling:
    """Cells of usable rows, sorted by group (from `starts` on) and by `unit` within the group, with `SUMS` of each cell where the grid has them."""

    frame: pl.DataFrame
    groups: pl.DataFrame
    grid: Grid
    weighted: bool
    units: Units
    unit: Integers
    starts: Integers

    def at_prior(self, shares: pl.Series) -> Resampling:
        """Add this share of class 1, of each group, as the group column `PRIOR`."""
        of_cells = shares.gather(self.frame[NUMBER]).alias(PRIOR)
        return replace(self, frame=self.frame.with_columns(of_cells))

    def replicates(self, replicates: int, seed: int) -> Iterator[Cells]:
        """The cells of all replicates, block by block, with the group columns `NUMBER` and `REPLICATE`."""
        held: list[tuple[Integers, Integers, Floats]] = []
        size = 0
        for group in range(self.units.n_groups):
            first = 0
            rows = slice(int(self.starts[group]), int(self.starts[group + 1]))
            for factors in self.units.factors(group, replicates, seed, _AT_A_TIME):
                of_cells = factors[:, self.unit[rows]]
                drawn, cell = np.nonzero(of_cells)
                held.append((drawn + first, cell + rows.start, of_cells[drawn, cell]))
                first += len(factors)
                size += len(drawn)
                if size > _MOST:
                    yield self._cells(held)
                    held, size = [], 0
        if held:
            yield self._cells(held)

    def _cells(self, held: list[tuple[Integers, Integers, Floats]]) -> Cells:
        replicate, cell, factor = (np.concatenate(parts) for parts in zip(*held, strict=True))
        amounts = ["n", *(["weight", "weight2"] if self.weighted else [])]
        times = pl.Series(factor)
        multiplied = pl.col(*amounts, *(SUMS if self.grid.has_sums else ())) * times
        drawn = self.frame[cell].with_columns(pl.Series(REPLICATE, replicate, dtype=pl.Int32), multiplied)
        drawn = drawn.with_columns(pl.col("n").round().cast(pl.Int64))
        keys = [name for name in self.frame.columns if name not in (*self.grid.columns, *SUMS)]
        columns = [*keys, REPLICATE, "class", *self.grid.cell_columns, *amounts]
        summed = None
        if self.grid.has_sums:
            by = [*keys, REPLICATE, "class", "above"]
            summed = drawn.group_by(by, maintain_order=True).agg(pl.col(SUMS).sum())
        return Cells(drawn.select(columns), self.grid, self.weighted, summed)


def resampling(cells: Cells, keys: list[str]) -> Resampling:
    """Prepare to resample clusters if there are any, else rows, by groups of these keys; other keys, such as the fold, stay with the rows."""
    numbered, groups = number_groups(cells, keys)
    grid = cells.grid
    sums = None if grid.scale.has_order_only else number_sums(cells, numbered, groups, keys)
    if cells.coarse is not None:
        grid = grid.coarse
        numbered = with_group(cells.coarse, groups, keys)
    others = [name for name in cells.keys if name not in keys]
    frame = numbered.filter(pl.col("class") >= 0, pl.col("n") > 0)
    if cells.weighted:
        frame = frame.filter(pl.col("weight") > 0)
    by_bucket = [BUCKET] if cells.coarse is not None else []
    weights = ["weight", "weight2"] if cells.weighted else []
    cell = [*by_bucket, *others, "class", *grid.cell_columns]
    frame = frame.select(GROUP, *keys, *cell, "n", *weights).sort(GROUP, *cell, nulls_last=True)
    if grid.has_sums:
        assert sums is not None
        frame = _with_losses(frame, sums, grid, cells.weighted)
    group = frame[GROUP].to_numpy().astype(np.int64)
    starts = np.searchsorted(group, np.arange(groups.height + 1))
    unit, units = _units_of(frame, group, groups.height, cells.weighted)
    frame = frame.drop(by_bucket).rename({GROUP: NUMBER})
    return Resampling(frame, groups, grid, cells.weighted, units, unit, starts)


def _units_of(frame: pl.DataFrame, group: Integers, n_groups: int, weighted: bool) -> tuple[Integers, Units]:
    rows = frame["n"].to_numpy().astype(np.float64)
    if weighted:
        rows = frame["weight"].to_numpy() ** 2 / frame["weight2"].to_numpy()
    new = np.ones(len(group), dtype=bool)
    if BUCKET in frame.columns:
        # Cells of a bucket are adjacent; those of rows without a bucket are resampled one by one.
        bucket = frame[BUCKET].fill_null(-1).to_numpy()
        new[1:] = (group[1:] != group[:-1]) | (bucket[1:] != bucket[:-1]) | (bucket[1:] < 0)
        rows = np.where(bucket < 0, rows, 1.0)
    number = np.cumsum(new) - 1
    starts = np.searchsorted(group[new], np.arange(n_groups + 1))
    return number - starts[group], Units(starts, rows[new])


def _with_losses(frame: pl.DataFrame, sums: pl.DataFrame, grid: Grid, weighted: bool) -> pl.DataFrame:
    """The cells with `SUMS` of their rows: those of the middle of the bin, times what makes them add up to the exact ones."""
    amount = pl.col("weight" if weighted else "n").cast(pl.Float64)
    of_cells = frame.with_columns((value * amount).alias(name) for name, value in losses(grid).items())
    exact_sums = sums.group_by(GROUP, "class").agg(pl.col(SUMS).sum().name.prefix("exact_"))
    bin_sums = of_cells.group_by(GROUP, "class").agg(pl.col(SUMS).sum().name.prefix("whole_"))
    totals = exact_sums.join(bin_sums, on=[GROUP, "class"])
    joined = of_cells.join(totals, on=[GROUP, "class"], how="left", maintain_order="left")
    pairs = {name: (pl.col(f"exact_{name}"), pl.col(f"whole_{name}")) for name in SUMS}
    factors = {name: pl.when(whole > 0).then(exact / whole).otherwise(1.0) for name, (exact, whole) in pairs.items()}
    return joined.with_columns(pl.col(name) * factor for name, factor in factors.items()).select(*frame.columns, *SUMS)
