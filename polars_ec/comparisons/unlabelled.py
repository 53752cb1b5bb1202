"""Metrics that the labels of a period will show, from its cells and a calibrator of an earlier period.

A row without a label counts as a positive with the weight of its calibrated posterior, and as a negative with the rest. So its cell becomes
two, and the evaluation of cells gives all metrics. Replicates, for intervals, are further groups of that evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import polars as pl

from polars_ec.calibration.calibration import FIT, STEPPED, log_odds_of_steps
from polars_ec.calibration.cell_table import CellTable, Training
from polars_ec.calibration.cells import fit_affine, fit_gaussian, fit_histogram, fit_pav, values_of_cells
from polars_ec.calibration.logistic_newton import fit_splines
from polars_ec.comparisons.unlabelled_units import (
    IS_HELD_OUT,
    EstimateCalibrator,
    EstimateQuestion,
    Fit,
    UnitEstimator,
    count_units,
    likeliest_priors,
    with_references,
)
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import FEW_OF_A_CLASS, effective_rows, summed
from polars_ec.numerics import Floats, Integers, floats, np, quiet
from polars_ec.scores.read import join_groups
from polars_ec.sketches.cells import LABELLED, Cells
from polars_ec.sketches.evaluation import evaluate
from polars_ec.sketches.grid import BUCKET, SUMS, Grid
from polars_ec.sketches.sums import losses, scores_of_cells

_ROW, _INVALID = "row", "__invalid"
_NEGATIVE, _POSITIVE, _UNLABELLED = range(3)
# Cells that are evaluated at a time.
_BLOCK = 2**21
_LEAST_PRIOR = 1e-17
# Seconds of a replicate of a unit.
_SECONDS = 2.5e-4
_BINS_OF_TEST = 10
_HISTOGRAM_BINS = 15


@dataclass(frozen=True, kw_only=True)
class CellQuestion(EstimateQuestion):
    """A question on cells, which have the groups, the period and `LABELLED` as keys.

    `corrections` are the labelled rows again, weighted by the odds that their labels were not to come; None if labels come at random.
    """

    cells: Cells
    corrections: Cells | None
    shift_prior: float | Literal["em"] | None
    keywords: Mapping[str, Any]
    own_threshold: float | None

    def evaluated(self, cells: Cells, keys: list[str]) -> pl.DataFrame:
        """The metrics of cells."""
        return evaluate(cells, self.metrics, self.keywords, keys=keys, own_threshold=self.own_threshold)


# Rows of a unit, and of several.


@dataclass(frozen=True)
class CellRows:
    """Rows by plane (negative, positive, unlabelled) and cell.

    `single` has the weights of independent rows, `squares` of their squares, `clusters` those of each cluster, (clusters, planes, cells), and
    `sizes` the effective sample size of each plane.
    """

    single: Floats
    squares: Floats
    clusters: Floats
    sizes: Floats

    @cached_property
    def weight(self) -> Floats:
        """The sum of the weights, (planes, cells)."""
        return np.asarray(self.single + self.clusters.sum(axis=0), dtype=np.float64)

    @property
    def total(self) -> Floats:
        """The sum of the weights of each plane."""
        return np.asarray(self.weight.sum(axis=1), dtype=np.float64)

    @cached_property
    def cell_sizes(self) -> Floats:
        """Effective sample sizes of independent rows; rounded, because sums of weights differ in the last bits from run to run."""
        # Weights that are so small beside others that their squares lose their digits are those of one row.
        return np.asarray(np.round(np.nan_to_num(effective_rows(self.single, self.squares), nan=1.0), 6), np.float64)

    def without_labels(self) -> CellRows:
        """The rows as if none had a label."""

        def moved(planes: Floats) -> Floats:
            total = np.zeros_like(planes)
            total[..., _UNLABELLED, :] = planes.sum(axis=-2)
            return total

        sizes = np.array([0.0, 0.0, self.sizes.sum()])
        return CellRows(moved(self.single), moved(self.squares), moved(self.clusters), sizes)

    def resampled(self, replicates: int, generator: np.random.Generator) -> Floats:
        """Weights of about as many rows, or as many clusters, drawn at random, (replicates, planes, cells)."""
        times = generator.poisson(self.cell_sizes, (replicates, *self.cell_sizes.shape))
        with np.errstate(all="ignore"):
            sums = np.where(self.cell_sizes > 0, times * (self.single / self.cell_sizes), 0.0)
        n_clusters = len(self.clusters)
        if n_clusters:
            draws = generator.multinomial(n_clusters, np.full(n_clusters, 1 / n_clusters), size=replicates)
            sums += (draws @ self.clusters.reshape(n_clusters, -1)).reshape(sums.shape)
        return np.asarray(sums, dtype=np.float64)


@dataclass(frozen=True)
class UnitCells:
    """The cells of all units; an entry has the plane, the cell, the bucket (-1: none) and the weights of rows, from the unit's `starts` on."""

    grid: Grid
    cells: pl.DataFrame
    starts: Integers
    plane: Integers
    cell: Integers
    bucket: Integers
    weight: Floats
    weight2: Floats

    @classmethod
    def of(
        cls, frame: pl.DataFrame, grid: Grid, units: pl.DataFrame, keys: Sequence[str], cells: pl.DataFrame | None
    ) -> UnitCells:
        """The entries of usable rows; `units` has the keys and the numbers of units. Cells are numbered as in `cells`."""
        columns = grid.cell_columns
        used = frame.filter(pl.col("class") >= 0, pl.col("weight") > 0)
        if cells is None:
            cells = used.select(columns).unique().sort(columns)
            # A log without usable rows has a cell of none.
            cells = cells if cells.height else pl.DataFrame({"bin": [0], "above": [0]}, schema=cells.schema)
        # Without the keys, which may have the names that follow.
        rows = join_groups(used, units.select(*keys, GROUP), keys).drop([*keys])
        bucket = pl.col(BUCKET).fill_null(-1) if BUCKET in rows.columns else pl.lit(-1)
        entries = (
            rows.join(cells.with_row_index("cell"), on=columns, how="left")
            .with_columns(
                bucket.cast(pl.Int64).alias(BUCKET),
                plane=pl.when(LABELLED).then("class").otherwise(_UNLABELLED).cast(pl.Int64),
            )
            .sort(GROUP, maintain_order=True)
        )
        starts = entries[GROUP].search_sorted(pl.int_range(units.height + 1, eager=True)).to_numpy().astype(np.int64)
        numbers = (entries[name].to_numpy() for name in ("plane", "cell", BUCKET, "weight", "weight2"))
        return cls(grid, cells, starts, *numbers)

    def rows(self, units: Sequence[int], *, apart: bool = False) -> CellRows:
        """The rows of some units together; `apart`: those of different units are in different clusters."""
        of_units = (np.arange(self.starts[unit], self.starts[unit + 1]) for unit in units)
        at = np.concatenate([np.zeros(0, dtype=np.int64), *of_units])
        shape = (3, self.cells.height)
        place, bucket = self.plane[at] * self.cells.height + self.cell[at], self.bucket[at]
        weight, weight2 = self.weight[at], self.weight2[at]
        alone = bucket < 0
        if apart:
            lengths = [self.starts[unit + 1] - self.starts[unit] for unit in units]
            bucket = bucket + np.repeat(np.arange(len(units)), lengths) * (int(bucket.max(initial=0)) + 1)
        occupied, number = np.unique(bucket[~alone], return_inverse=True)
        sizes = effective_rows(*(summed(self.plane[at], of, 3) for of in (weight, weight2)))
        if np.isnan(sizes).any():
            # How many rows they are worth is not known.
            weight = np.full_like(weight, np.nan)
        of_buckets = number.reshape(-1) * math.prod(shape) + place[~alone]
        single, squares = (summed(place[alone], of[alone], *shape) for of in (weight, weight2))
        clusters = summed(of_buckets, weight[~alone], len(occupied), *shape)
        return CellRows(single, squares, clusters, sizes)

    @cached_property
    def log_odds(self) -> Floats:
        """The log-odds of the scores of each cell."""
        return self.cells.select(x=scores_of_cells(self.grid).log_odds)["x"].to_numpy()

    @cached_property
    def losses(self) -> dict[str, Floats]:
        """The losses of a row of either class in the middle of each cell, (classes, cells)."""
        classes = [self.cells.with_columns(pl.lit(i, pl.Int8).alias("class")) for i in range(2)]
        of_class = [cells.select(**losses(self.grid)) for cells in classes]
        return {name: np.stack([of[name].to_numpy() for of in of_class]) for name in SUMS}

    def cluster_size(self, variances: Floats) -> Floats:
        """The mean over clusters of the variance of their labels, (clusters, cells), summed over each side of the thresholds, at each cell of it."""
        sums = variances.sum(axis=0) @ self.above
        return np.asarray(self.above @ (sums / max(len(variances), 1)), dtype=np.float64)

    @cached_property
    def above(self) -> Floats:
        """1 where a cell is above this many thresholds, (cells, numbers of thresholds)."""
        numbers = self.cells["above"].to_numpy()
        sides: Floats = np.equal.outer(numbers, np.arange(len(self.grid.thresholds) + 1)).astype(np.float64)
        return sides


# Calibrators, fitted to the labelled rows of the reference period, and to replicates of them.


@dataclass(frozen=True)
class ReferenceFit(Fit):
    """Calibrated log-odds of the cells: (1, fine cells) and (1 + replicates, coarse cells); NaN without a fit.

    `priors` are the log-odds of the base rates of both, and `rows` the fine cells of the reference. Residuals are positives, and they and their
    `spread` are of coarse cells.
    """

    fine: Floats
    coarse: Floats
    priors: tuple[Floats, Floats]
    rows: CellRows


@quiet
def _fit(calibrator: EstimateCalibrator | None, cells: UnitCells, weight: Floats, unit: float) -> tuple[Floats, Floats]:
    """Calibrated log-odds of all cells, (fits, cells), and those of the base rates, for weights (fits, classes, cells); `unit` is that of a row."""
    n_fits, of_class = len(weight), weight.sum(axis=2)
    prior = np.log(of_class[:, 1] / of_class[:, 0])
    if calibrator is None:
        return np.broadcast_to(cells.log_odds, (n_fits, len(cells.log_odds))), prior
    used = weight.any(axis=(0, 1))
    if not used.any():
        return np.full((n_fits, len(cells.log_odds)), np.nan), prior
    one, group = pl.DataFrame({GROUP: [0]}), np.zeros(int(used.sum()), dtype=np.int64)
    distinct, no_folds = cells.cells.filter(pl.Series(used)), pl.Series([], dtype=pl.Int16)
    table = CellTable(cells.grid, one, no_folds, distinct, group, weight[:1, :, used], one.clear())
    rows, valid = np.zeros(n_fits, dtype=np.int64), np.zeros(n_fits, dtype=bool)
    training = Training(table, weight[:, :, used], rows, prior, of_class.sum(axis=1) == 0, valid)
    if calibrator in STEPPED:
        steps = fit_pav(training) if calibrator == "pav" else fit_histogram(training, _HISTOGRAM_BINS, equal_mass=False)
        value = np.tile(values_of_cells(cells.grid, cells.cells).to_numpy(), n_fits)
        of_query = np.repeat(np.arange(n_fits), cells.cells.height)
        return log_odds_of_steps(steps.rename({"fit": FIT}), of_query, value).reshape(n_fits, -1), prior
    fits = fit_gaussian(training) if calibrator == "gaussian" else fit_affine(training, calibrator != "temperature")
    alpha, beta = (floats(fits[name]) for name in ("alpha", "beta"))
    # A slope of 0 leaves nothing of infinite scores.
    log_odds = np.where(alpha[:, None] == 0, 0.0, np.outer(alpha, cells.log_odds)) + beta[:, None]
    finite = np.isfinite(cells.log_odds)
    if calibrator == "spline" and finite.any():
        log_odds[:, finite] = fit_splines(cells.log_odds[finite], weight[:, :, finite], unit, alpha, beta)
    return log_odds, prior


def _shares(log_odds: Floats) -> tuple[Floats, Floats]:
    """Posteriors of both classes, each with all its digits."""
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(log_odds)), 1 / (1 + np.exp(-log_odds))


@quiet
def _posteriors(
    log_odds: Floats, reference_prior: Floats, shift: float | str | None, weight: Floats
) -> tuple[Floats, Floats]:
    """Posteriors of class 0 and 1, (fits, cells), at the prior of a unit with these weights, (fits, cells)."""
    if shift is None:
        return _shares(log_odds)
    # From 0 or 1 a prior cannot be moved.
    stated = np.where(np.isfinite(reference_prior), reference_prior, np.nan)
    of_0, of_1 = _shares(log_odds - stated[:, None])
    if isinstance(shift, str):
        # Not quite 0, so that cells of one class only stay in it.
        prior = np.maximum(likeliest_priors(np.stack([of_0, of_1], axis=-1), weight), _LEAST_PRIOR)
    else:
        prior = np.array([[1 - shift, shift]])
    of_0, of_1 = prior[:, :1] * of_0, prior[:, 1:] * of_1
    return of_0 / (of_0 + of_1), of_1 / (of_0 + of_1)


# Whether the scores of a period are a mixture of those of the classes in the reference period, as they are if only the prior changed.


@quiet
def _p_value_of_shift(reference: CellRows, unit: CellRows) -> float:
    """The p-value of the chi-squared test over bins, at the prior that fits best; NaN if there are too few rows."""
    classes = reference.weight[:_UNLABELLED]
    total, numbers = classes.sum(), (*reference.sizes[:_UNLABELLED], unit.sizes.sum())
    if not min(numbers) > 0:
        return math.nan
    # Bins of about equal numbers of rows of the reference.
    before = np.cumsum(classes.sum(axis=0)) - classes.sum(axis=0) / 2
    bins = np.minimum((before / total * _BINS_OF_TEST).astype(np.int64), _BINS_OF_TEST - 1)
    binned = [np.bincount(bins, x, _BINS_OF_TEST) for x in (*classes, unit.weight.sum(axis=0))]
    occupied = np.sum(binned, axis=0) > 0
    of_0, of_1, of_unit = (x[occupied] / x.sum() for x in binned)
    n_free = len(of_unit) - 2
    if n_free < 1:
        return math.nan
    prior = float(np.clip((of_unit - of_0) @ (of_1 - of_0) / ((of_1 - of_0) @ (of_1 - of_0)), 0, 1))
    mixed = prior * of_1 + (1 - prior) * of_0
    sizes = [(1 - prior) ** 2 / numbers[0], prior**2 / numbers[1], 1 / numbers[2]]
    shares = zip(sizes, (of_0, of_1, mixed), strict=True)
    variance = np.sum([size * (np.diag(share) - np.outer(share, share)) for size, share in shares], axis=0)
    # The last share is one minus the others.
    gap, slope = (of_unit - of_0)[:-1], (of_1 - of_0)[:-1]
    try:
        gap_solved, slope_solved = np.linalg.solve(variance[:-1, :-1], np.stack([gap, slope], axis=1)).T
    except np.linalg.LinAlgError:
        return math.nan
    return _chi_squared_tail(float(gap @ gap_solved - (gap @ slope_solved) ** 2 / (slope @ slope_solved)), n_free)


def _chi_squared_tail(x: float, n_free: int) -> float:
    """The probability that a chi-squared variable is above x."""
    if not math.isfinite(x):
        return math.nan
    half, k = max(x, 0.0) / 2, n_free % 2 or 2
    tail = math.erfc(math.sqrt(half)) if k == 1 else math.exp(-half)
    for degrees in range(k, n_free, 2):
        tail += half ** (degrees / 2) * math.exp(-half) / math.gamma(degrees / 2 + 1)
    return min(tail, 1.0)


# Units as the weights of their cells by class, and the metrics of these.


@dataclass(frozen=True)
class ClassWeights:
    """Weights of the cells of a unit by class, (variants, classes, cells); of the `known` part of them the sums of losses are known."""

    weight: Floats
    known: Floats
    losses: Mapping[str, Floats]

    @quiet
    def sums(self, cells: UnitCells) -> dict[str, Floats]:
        """Sums of losses, (variants, classes, numbers of thresholds), where rows without a known loss have that of their cell's middle."""
        rest = self.weight - self.known
        return {
            name: self.losses.get(name, 0.0) + np.where(rest == 0, 0.0, rest * loss) @ cells.above
            for name, loss in cells.losses.items()
        }


def _evaluated(units: Iterable[ClassWeights], cells: UnitCells, question: CellQuestion) -> Iterator[pl.DataFrame]:
    """The metrics of each variant of each unit."""
    some: list[ClassWeights] = []
    size = 0
    for unit in units:
        some.append(unit)
        size += unit.weight.size
        if size >= _BLOCK:
            yield from _evaluated_together(some, cells, question)
            some, size = [], 0
    yield from _evaluated_together(some, cells, question)


def _evaluated_together(
    units: Sequence[ClassWeights], cells: UnitCells, question: CellQuestion
) -> Iterator[pl.DataFrame]:
    if not units:
        return
    # Without a metric of the order of scores, all cells between two thresholds are one.
    is_ranked = "auc_roc" in question.metrics
    columns = cells.cells if is_ranked else pl.DataFrame({"bin": 0, "above": np.arange(cells.above.shape[1])})
    columns = columns.cast({"bin": pl.Int32, "above": pl.Int16})
    frames, sums, first = [], [], 0
    for unit in units:
        known = ~np.isnan(unit.weight).any(axis=(1, 2), keepdims=True)
        weight = np.where(known, unit.weight, 0.0)
        amounts = weight if is_ranked else weight @ cells.above
        used = np.flatnonzero(amounts.any(axis=(0, 1)) | (np.arange(amounts.shape[2]) == 0))
        frames.append(_table(first, amounts[:, :, used], columns[used]))
        totals = replace(unit, weight=weight).sums(cells)
        above = pl.DataFrame({"above": np.arange(cells.above.shape[1])}, schema={"above": pl.Int16})
        of_sums = [_table(first, total, above).rename({"weight": name}) for name, total in totals.items()]
        sums.append(pl.concat([of_sums[0], *(of.select(pl.last()) for of in of_sums[1:])], how="horizontal"))
        first += len(weight)
    # Corrections may be below 0, as sums of squares are not.
    frame = pl.concat(frames).with_columns(n=pl.lit(1, pl.Int64), weight2=pl.col("weight").abs())
    table = question.evaluated(Cells(frame, cells.grid, weighted=True, sums=pl.concat(sums)), [_ROW]).sort(_ROW)
    for unit in units:
        yield table.head(len(unit.weight))
        table = table.slice(len(unit.weight))


def _table(first: int, values: Floats, columns: pl.DataFrame) -> pl.DataFrame:
    """Values (variants, classes, cells) as a column `weight`, beside the number of the variant, the class and the columns of the cell."""
    n_rows, n_classes, n_cells = values.shape
    row = np.repeat(np.arange(first, first + n_rows), n_classes * n_cells)
    label = np.tile(np.repeat(np.arange(n_classes, dtype=np.int8), n_cells), n_rows)
    cell = np.tile(np.arange(n_cells), n_rows * n_classes)
    return pl.DataFrame({_ROW: row, "class": label}).hstack(columns[cell]).with_columns(weight=values.ravel())


@dataclass(frozen=True)
class LabelEstimator(UnitEstimator[ReferenceFit]):
    """The cells of the units of a question: fine ones for values, coarse ones for replicates."""

    question: CellQuestion
    fine: UnitCells
    coarse: UnitCells
    corrections: tuple[UnitCells, UnitCells]
    losses: Mapping[str, Floats]

    @classmethod
    def of(cls, question: CellQuestion) -> LabelEstimator:
        """Number the units of a question, and find the reference of each."""
        cells, keys = question.cells, question.keys
        units, pools = with_references(_count_units(question), question)
        fine, coarse = corrections = _unit_cells(cells, units, keys)
        if question.corrections is not None:
            corrections = _unit_cells(question.corrections, units, keys, [of.cells for of in corrections])
        assert cells.sums is not None
        sums = join_groups(cells.sums.filter(LABELLED), units.select(*keys, GROUP), keys)
        known = {name: np.zeros((units.height, 2, fine.above.shape[1])) for name in SUMS}
        for name, of_units in known.items():
            of_units[tuple(sums[x].to_numpy() for x in (GROUP, "class", "above"))] = sums[name].to_numpy()
        return cls(question, units, pools, coarse.starts, coarse.bucket, fine, coarse, corrections, known)

    def fit_to(self, units: tuple[int, ...], on: str) -> ReferenceFit:
        question, rows = self.question, self.fine.rows(units)
        unit = rows.total[:_UNLABELLED].sum() / rows.sizes[:_UNLABELLED].sum()
        fine, prior = _fit(question.calibrator, self.fine, rows.weight[None, :_UNLABELLED], unit)
        if self.units[list(units)]["n_invalid"].sum():
            fine = np.full_like(fine, np.nan)
        known, sizes = not np.isnan(fine).any(), rows.sizes[:_UNLABELLED]
        if question.level is None:
            return ReferenceFit(known, sizes, on, np.zeros((0, 0)), np.zeros(0), fine, fine, (prior, prior), rows)
        coarse = self.coarse.rows(units)
        drawn = coarse.resampled(question.replicates, np.random.default_rng([question.seed, 0]))
        weight = np.concatenate([coarse.weight[None], drawn])[:, :_UNLABELLED]
        log_odds, priors = _fit(question.calibrator, self.coarse, weight, unit)
        clusters = self.coarse.rows(units, apart=True).clusters[:, :_UNLABELLED]
        clusters = clusters[clusters.any(axis=(1, 2))]
        of_0, of_1 = _shares(log_odds[0])
        residuals = clusters[:, _POSITIVE] * of_0 - clusters[:, _NEGATIVE] * of_1
        spread = self.coarse.cluster_size(clusters.sum(axis=1) * of_0 * of_1)
        return ReferenceFit(known, sizes, on, residuals, spread, fine, log_odds, (prior, priors), rows)

    def expected(self, unit: int, fit: ReferenceFit) -> ClassWeights:
        """The weights of the cells by expected class."""
        rows, corrections = self._rows(unit, coarse=False)
        q0, q1 = _posteriors(fit.fine, fit.priors[0], self.question.shift_prior, rows.weight.sum(axis=0)[None])
        positive = rows.weight[_UNLABELLED] * q1
        if corrections is not None:
            positive = positive + rows.total[_UNLABELLED] * _mean_residual(corrections.weight[None], q0, q1)
        losses = {} if self.units[IS_HELD_OUT][unit] else {name: of[unit] for name, of in self.losses.items()}
        return ClassWeights(_by_class(rows, positive), rows.weight[:_UNLABELLED], losses)

    def replicates(self, unit: int, fit: ReferenceFit) -> ClassWeights:
        """First the expected weights, then replicates of the weights that the labels may show."""
        if not fit.is_known:
            return ClassWeights(np.full((1, 2, len(self.coarse.log_odds)), np.nan), np.zeros((2, 1)), {})
        number, generator = self.question.replicates, np.random.default_rng([self.question.seed, 1])
        rows, corrections = self._rows(unit, coarse=True)
        drawn = np.concatenate([rows.weight[None], rows.resampled(number, generator)])
        q0, q1 = _posteriors(fit.coarse, fit.priors[1], self.question.shift_prior, drawn.sum(axis=1))
        positive = rows.weight[_UNLABELLED] * q1
        if corrections is None:
            positive[1:] = self._drawn_positives(rows, q1, fit, generator)
        else:
            # The labels that have come say how much those that have not will differ from expectations, and how far they vary.
            resampled = np.concatenate([corrections.weight[None], corrections.resampled(number, generator)])
            off = _mean_residual(drawn, q0, q1) - _mean_residual(rows.weight[None], q0, q1)
            positive += rows.total[_UNLABELLED] * _mean_residual(resampled, q0, q1)
            positive += np.sqrt(rows.total[_UNLABELLED] * rows.total[:_UNLABELLED].sum()) * off
        return ClassWeights(_by_class(rows, positive), np.zeros((2, 1)), {})

    @quiet
    def _drawn_positives(self, rows: CellRows, q1: Floats, fit: ReferenceFit, generator: np.random.Generator) -> Floats:
        """Weights of the unlabelled rows that may turn out positive, (replicates, cells): drawn, or expected with the residuals of some clusters.

        `q1` has first the expected posteriors, and then those of replicates.
        """
        expected, q1 = q1[0], q1[1:]
        numbers = np.ceil(rows.cell_sizes[_UNLABELLED]).astype(np.int64)
        drawn = generator.binomial(numbers, np.nan_to_num(q1)) * (rows.single[_UNLABELLED] / np.maximum(numbers, 1))
        clusters = rows.clusters[:, _UNLABELLED]
        clusters = clusters[clusters.any(axis=1)]
        number = len(clusters)
        if number:
            drawn = drawn + clusters.sum(axis=0) * q1
        if number and len(fit.residuals):
            spread = self.coarse.cluster_size(clusters * (expected * (1 - expected)))
            drawn += fit.resampled_residuals(number, spread, len(q1), generator)
        return np.where(np.isnan(q1), np.nan, drawn)

    def expected_metrics(self, fits: Sequence[ReferenceFit]) -> pl.DataFrame:
        return pl.concat(_evaluated(map(self.expected, range(len(fits)), fits), self.fine, self.question))

    def observed_metrics(self) -> pl.DataFrame:
        question = self.question
        seen = question.evaluated(question.cells.filter(pl.col(LABELLED)), question.keys)
        return join_groups(self.units.select(question.keys), seen, question.keys)

    def replicated_metrics(self, fits: Sequence[ReferenceFit]) -> Iterator[pl.DataFrame]:
        return _evaluated(map(self.replicates, range(len(fits)), fits), self.coarse, self.question)

    @property
    def seconds(self) -> float:
        return self.units.height * self.question.replicates * _SECONDS

    def p_value_of_shift(self, unit: int, fit: ReferenceFit) -> float:
        # The test is of independent rows.
        is_testable = self.question.cells.coarse is None
        return _p_value_of_shift(fit.rows, self.fine.rows([unit])) if is_testable else math.nan

    def _rows(self, unit: int, *, coarse: bool) -> tuple[CellRows, CellRows | None]:
        """The rows of a unit, and the labelled rows that correct expectations, if there are enough."""
        rows = (self.coarse if coarse else self.fine).rows([unit])
        if self.units[IS_HELD_OUT][unit]:
            return rows.without_labels(), None
        enough = (rows.sizes[:_UNLABELLED] >= FEW_OF_A_CLASS).all() and rows.sizes[_UNLABELLED] > 0
        return rows, self.corrections[coarse].rows([unit]) if enough else None


def _by_class(rows: CellRows, positive: Floats) -> Floats:
    """Weights by class, (variants, classes, cells), where unlabelled rows of these weights, (variants, cells), are positive."""
    unlabelled = np.stack([rows.weight[_UNLABELLED] - positive, positive], axis=1)
    return np.asarray(rows.weight[:_UNLABELLED] + unlabelled, dtype=np.float64)


@quiet
def _mean_residual(weight: Floats, q0: Floats, q1: Floats) -> Floats:
    """Positives beyond the expected ones, per row of labelled rows with these weights, (variants, planes, cells).

    This is the rectifier of prediction-powered inference.
    """
    negative, positive = weight[:, _NEGATIVE], weight[:, _POSITIVE]
    total = (negative + positive).sum(axis=1, keepdims=True)
    return np.asarray((positive * q0 - negative * q1) / total, dtype=np.float64)


# The units of a question.


def _count_units(question: CellQuestion) -> pl.DataFrame:
    units = count_units(question.cells.frame, question.keys)
    if question.corrections is not None:
        n, keys = pl.col("n").sum().alias(_INVALID), question.keys
        invalid = question.corrections.frame.filter(pl.col("class") == -1).group_by(keys).agg(n)
        most = pl.max_horizontal("n_invalid", _INVALID).alias("n_invalid")
        units = join_groups(units, invalid, keys).with_columns(most).drop(_INVALID)
    return units


def _unit_cells(
    cells: Cells, units: pl.DataFrame, keys: Sequence[str], numbered: Sequence[pl.DataFrame | None] = (None, None)
) -> tuple[UnitCells, UnitCells]:
    """Fine and coarse cells, numbered as these; the coarse ones have buckets if there are clusters."""
    grid = cells.grid
    coarse = cells if cells.coarse is None else replace(cells, frame=cells.coarse)
    of_bin = grid.coarse_bin(pl.col("bin")) if cells.coarse is None else pl.col("bin")
    tables = cells.weighed(), coarse.weighed().with_columns(of_bin.alias("bin"))
    squared = (of if cells.weighted else of.with_columns(weight2="weight") for of in tables)
    pairs = zip(squared, (grid, grid.coarse), numbered, strict=True)
    fine, rough = (UnitCells.of(of, of_grid, units, keys, known) for of, of_grid, known in pairs)
    return fine, rough
