"""Metrics of K classes that the labels of a period will show, from its rows and a calibrator of an earlier period.

A row without a label counts as every class, with its calibrated posterior as weight: so its decision and its losses add to the sums of all
classes. Arrays have classes first and rows last, with replicates between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import polars as pl

from polars_ec.calibration.class_curves import ClassCurves, LabelledRows, fit_curves, one_hot
from polars_ec.comparisons.unlabelled_units import (
    IS_HELD_OUT,
    EstimateQuestion,
    Fit,
    UnitEstimator,
    count_units,
    likeliest_priors,
    with_references,
)
from polars_ec.formulas.decisions import Arguments, decision_value
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.sums import GROUP, pack_prior
from polars_ec.inference.bootstrap import percentile_limits
from polars_ec.inference.confidence import FEW_OF_A_CLASS, effective_rows
from polars_ec.numerics import Bools, Floats, Integers, Numbers, np, quiet
from polars_ec.scores.counted import CollectedSums
from polars_ec.scores.read import Rows, join_groups
from polars_ec.scores.scores import BRIER, CELL, CLASS, DECISION, LOG_LOSS, LOG_POSTERIORS, WEIGHT, matrix_of
from polars_ec.sketches.cells import LABELLED

ODDS, BUCKET = "__odds", "__bucket"
"""Columns of the log: the odds that the label of a row was not to come, and the bucket of its cluster."""

_ROW, _UNLABELLED = "__row", -1
OF_ROWS = (CLASS, _ROW, ODDS, BUCKET)
"""Names that no group column has."""

# Numbers that are worked on at a time, and seconds for each: of a row, a class and a replicate.
_BLOCK, _SECONDS = 2**21, 4e-8


@dataclass(frozen=True)
class ClassRows:
    """Usable rows, sorted by decision: the class (-1: unlabelled), the bucket (-1: none), weights, also those of corrections, and log posteriors."""

    unit: Integers
    decision: Integers
    label: Integers
    bucket: Integers
    weight: Floats
    correction: Floats
    logs: Floats

    def of(self, chosen: Bools | Integers | slice) -> ClassRows:
        """Some of the rows."""
        return ClassRows(**{name: column[..., chosen] for name, column in vars(self).items()})

    @property
    def in_class(self) -> Floats:
        """1 for the class of each row, (classes, rows); 0 for all without a label."""
        return one_hot(self.label, len(self.logs))

    @property
    def sizes(self) -> Floats:
        """The effective sample size of each class, by rows with a label."""
        of_class = self.in_class
        return effective_rows(of_class @ self.weight, of_class @ self.weight**2)

    def resampled(self, replicates: int, generator: np.random.Generator) -> Numbers:
        """How often each row counts, (replicates, rows), where about as many rows or as many clusters are drawn at random."""
        alone = self.bucket < 0
        times = np.empty((replicates, len(alone)), dtype=np.uint8)
        times[:, alone] = generator.poisson(1.0, (replicates, int(alone.sum())))
        occupied, place = np.unique(self.bucket[~alone], return_inverse=True)
        if n := len(occupied):
            times[:, ~alone] = generator.multinomial(n, np.full(n, 1 / n), size=replicates)[:, place.reshape(-1)]
        return times

    def products(self, amounts: Floats, losses: Sequence[str]) -> Iterator[Floats]:
        """Amounts, (classes, variants, rows), and these times each loss that the row would have in a class; none where the amount is 0."""
        yield amounts
        q = np.exp(self.logs)
        for name in losses:
            loss = -self.logs if name == LOG_LOSS else ((q * q).sum(axis=0) + 1 - 2 * q) / len(q)
            yield np.where(amounts == 0, 0.0, amounts * loss[:, None])


@dataclass(frozen=True)
class ClassFit(Fit):
    """Curves, None without a fit, and the base rates of the reference: first those of its rows, then of replicates.

    Residuals are of sums, (clusters, features, classes, decisions), and their `spread` is by decision.
    """

    curves: ClassCurves | None
    prior: Floats


@dataclass(frozen=True)
class ClassEstimator(UnitEstimator[ClassFit]):
    """The rows of the units of a question, the losses that they have, and the metrics of sums."""

    rows: ClassRows
    losses: Sequence[str]
    metrics: Mapping[str, pl.Expr]

    @classmethod
    def of(cls, question: EstimateQuestion, log: pl.LazyFrame, rows: Rows) -> ClassEstimator:
        """Read the log into memory, number the units, and find the reference of each; it has their keys, `LABELLED` and the cells of rows."""
        keys, (n_classes, n_decisions) = question.keys, (rows.costs.n_classes, rows.costs.n_decisions)
        losses = list(dict.fromkeys(SCORING_RULES[name].loss for name in question.metrics if name in SCORING_RULES))
        prior, metrics = rows.prior_vector, dict[str, pl.Expr]()
        assert not isinstance(prior, pl.Expr)

        def sums_of(column: str) -> CollectedSums:
            return CollectedSums(n_classes, n_decisions, lambda _: pl.col(column), prior)

        for name in question.metrics:
            sums = sums_of(BRIER if name in SCORING_RULES else CELL)
            if rule := SCORING_RULES.get(name):
                metrics[name] = sums.guarded(rule.value(sums, sums.totals(rule.loss)))
            else:
                metrics[name] = sums.guarded(decision_value(name, sums, Arguments(rows.costs)))
        row, label = pl.col(_ROW).struct, pl.col(_ROW).struct.field(CLASS)
        frame = log.collect(engine="streaming")
        weight = pl.lit(1.0) if rows.weight is None else row.field(WEIGHT)
        if ODDS in frame.columns:
            # Rows without a label need no probability of it.
            is_right = pl.col(ODDS).is_between(0, float("inf"), closed="left") | ~pl.col(LABELLED) | label.is_null()
            label = pl.when(is_right.fill_null(value=False)).then(label).otherwise(-1)
        counts = frame.group_by(*keys, LABELLED, label.alias("class")).agg(n=pl.len().cast(pl.Int64))
        units, pools = with_references(count_units(counts, keys), question)
        used = join_groups(frame, units.select(*keys, GROUP), keys).filter(label >= 0, weight > 0)
        bucket = pl.col(BUCKET).fill_null(-1) if BUCKET in used.columns else pl.lit(-1)
        odds = pl.when(LABELLED).then(ODDS).otherwise(0.0) if ODDS in used.columns else pl.lit(1.0)
        label = pl.when(LABELLED).then(label).otherwise(_UNLABELLED)
        numbers = {"unit": pl.col(GROUP), "decision": row.field(DECISION), "label": label, "bucket": bucket}
        whole = {name: number.cast(pl.Int64) for name, number in numbers.items()}
        table = used.select(**whole, weight=weight, correction=weight * odds)
        columns = {column.name: column.to_numpy() for column in table}
        # Squares of weights keep their digits near 1, in whatever unit the weights are.
        exponent = np.frexp(columns["weight"].max(initial=0.0))[1]
        columns |= {name: np.ldexp(columns[name], -exponent) for name in ("weight", "correction")}
        logs = matrix_of(used[_ROW].struct.field(LOG_POSTERIORS), n_classes)[0]
        # In an order of their own, so that random numbers do not depend on that of the log.
        order = np.lexsort([*logs.T, *reversed(columns.values())])
        read = ClassRows(**columns, logs=logs.T).of(order)
        starts = np.searchsorted(read.unit, np.arange(units.height + 1))
        return cls(question, units, pools, starts, read.bucket, read, losses, metrics)

    @property
    def _shape(self) -> tuple[int, int, int]:
        """Features, classes and decisions: of sums."""
        return 1 + len(self.losses), self.question.costs.n_classes, self.question.costs.n_decisions

    def _rows_of(self, units: Sequence[int]) -> ClassRows:
        places = [np.arange(*self.starts[[unit, unit + 1]]) for unit in units]
        return self.rows.of(np.concatenate([np.zeros(0, np.int64), *places]))

    def fit_to(self, units: tuple[int, ...], on: str) -> ClassFit:
        question, rows = self.question, self._rows_of(units)
        rows = rows.of(rows.label != _UNLABELLED)
        sizes, number = rows.sizes, 0 if question.level is None else question.replicates
        times = rows.resampled(number, np.random.default_rng([question.seed, 0]))
        # Only a prior that moves has replicates.
        counted = np.concatenate([np.ones((1, len(times.T))), times if question.shift_prior is not None else times[:0]])
        by_class = counted @ (rows.in_class * rows.weight).T
        with np.errstate(all="ignore"):
            prior = by_class / by_class.sum(axis=1, keepdims=True)
            effective = rows.weight * (sizes.sum() / rows.weight.sum())
        curves = fit_curves(question.calibrator, LabelledRows(rows.logs, rows.label, effective), times)
        # A prior cannot be moved from 0.
        is_stuck = question.shift_prior is not None and not (prior[0] > 0).all()
        if is_stuck or self.units[list(units)]["n_invalid"].sum():
            curves = None
        residuals, spread, n_decisions = np.zeros((0, *self._shape)), np.zeros(self._shape[2]), self._shape[2]
        rows = rows.of(rows.bucket >= 0)
        if curves is not None and number and len(rows.unit):
            # Clusters of different units are different ones.
            clusters, place = np.unique(np.stack([rows.unit, rows.bucket]), axis=1, return_inverse=True)
            n_clusters, q = clusters.shape[1], curves.posteriors(rows.logs, slice(1))
            at = place.reshape(-1) * n_decisions + rows.decision
            off = np.concatenate([*rows.products((rows.in_class[:, None] - q) * rows.weight, self.losses)])[:, 0]
            sums = np.stack([np.bincount(at, of_class, n_clusters * n_decisions) for of_class in off])
            residuals = np.moveaxis(sums.reshape(*self._shape[:2], n_clusters, n_decisions), 2, 0).astype(np.float64)
            spread = np.bincount(rows.decision, _variances(q)[0] * rows.weight, n_decisions) / n_clusters
        return ClassFit(curves is not None, sizes, on, residuals, spread, curves, prior)

    def _posteriors(self, rows: ClassRows, fit: ClassFit, fits: slice, times: Numbers) -> Floats:
        """Posteriors, (classes, fits, rows), at the prior of a unit whose rows count so many times."""
        assert fit.curves is not None
        shift, q = self.question.shift_prior, fit.curves.posteriors(rows.logs, fits)
        if shift is None:
            return q
        q /= fit.prior[fits].T[:, :, None]
        q /= q.sum(axis=0)
        if isinstance(shift, str):
            prior = likeliest_priors(np.ascontiguousarray(q.transpose(1, 2, 0)), times * rows.weight)
        else:
            prior = np.asarray(shift, dtype=np.float64)[None]
        moved = q * prior.T[:, :, None]
        total = moved.sum(axis=0)
        # A row that is impossible at the prior stays as it is.
        return np.where(total == 0, q, moved / total)

    @quiet
    def _sums(self, unit: int, fit: ClassFit, fits: slice, generator: np.random.Generator | None = None) -> Floats:
        """Sums of a unit, (fits, features, classes, decisions): expected ones, or with a generator those that the labels may show."""
        rows, n, n_decisions = self._rows_of([unit]), fits.stop - fits.start, self._shape[2]
        if fit.curves is None or np.isnan(rows.sizes).any():
            return np.full((n, *self._shape), np.nan)
        if self.units[IS_HELD_OUT][unit]:
            rows = replace(rows, label=np.full_like(rows.label, _UNLABELLED))
        known, weight, in_class = rows.label != _UNLABELLED, rows.weight, rows.in_class[:, None]
        times = np.ones((1, 1)) if generator is None else rows.resampled(n, generator)
        q = self._posteriors(rows, fit, fits, times)
        amounts = np.where(known, in_class, q) * weight
        in_cluster = ~known & (rows.bucket >= 0)
        n_clusters = len(np.unique(rows.bucket[in_cluster]))
        if (rows.sizes >= FEW_OF_A_CLASS).all() and not known.all():
            labelled, rest, again = weight * known, weight[~known].sum(), times * (rows.correction * known)
            off = rest * again / again.sum(axis=1, keepdims=True)
            if generator is not None:
                # The labels that have come say how much those that have not will differ from expectations, and how far they vary.
                drawn = rows.resampled(n, generator) * labelled
                difference = drawn / drawn.sum(axis=1, keepdims=True) - labelled / labelled.sum()
                off += np.sqrt(rest * labelled.sum()) * difference
            amounts += (in_class - q) * off
            n_clusters = 0
        elif generator is not None:
            is_drawn = np.flatnonzero(~known & ~in_cluster)
            below = q[:, :, is_drawn].cumsum(axis=0)
            # Never 0, which would draw a class of posterior 0.
            chosen = (below < (1 - generator.random(below.shape[1:])) * below[-1]).sum(axis=0)
            drawn = np.where(np.isnan(below[-1]), np.nan, np.equal.outer(np.arange(len(q)), chosen))
            amounts[:, :, is_drawn] = drawn * weight[is_drawn]
        sums = self._summed(rows, amounts)
        if generator is not None and n_clusters and len(fit.residuals):
            of_rows = self._posteriors(rows, fit, slice(0, 1), np.ones((1, 1)))
            variances = _variances(of_rows)[0] * weight * in_cluster
            spread = np.bincount(rows.decision, variances, n_decisions) / n_clusters
            sums += fit.resampled_residuals(n_clusters, spread, n, generator)
        return sums

    def _summed(self, rows: ClassRows, amounts: Floats) -> Floats:
        """Sums of amounts, (classes, variants, rows), alone and times losses: (variants, features, classes, decisions)."""
        sums = np.zeros((amounts.shape[1], *self._shape))
        starts = np.flatnonzero(np.diff(rows.decision, prepend=-1))
        for f, product in enumerate(rows.products(amounts, self.losses) if len(starts) else ()):
            sums[:, f, :, rows.decision[starts]] = np.add.reduceat(product, starts, axis=2).transpose(2, 1, 0)
        return sums

    @quiet
    def _metrics(self, sums: Floats) -> pl.DataFrame:
        """The metrics and `class_prior` of sums, (variants, features, classes, decisions)."""

        def packed(values: Floats) -> pl.Series:
            return pl.Series(np.ascontiguousarray(values).ravel()).reshape((len(values), values[0].size))

        by_class = np.moveaxis(sums.sum(axis=3), 1, 0)
        lost = {name: packed(of_class) for name, of_class in zip([WEIGHT, *self.losses], by_class, strict=True)}
        cells = {CELL: pl.DataFrame({CELL: packed(sums[:, 0])}).to_struct(), BRIER: pl.DataFrame(lost).to_struct()}
        shares = (by_class[0] / by_class[0].sum(axis=1, keepdims=True)).T
        prior = pack_prior([pl.lit(pl.Series(share, nan_to_null=True)) for share in shares])
        return pl.DataFrame(cells).select(**self.metrics, class_prior=prior)

    def expected_metrics(self, fits: Sequence[ClassFit]) -> pl.DataFrame:
        return self._metrics(np.concatenate([self._sums(unit, fit, slice(0, 1)) for unit, fit in enumerate(fits)]))

    def observed_metrics(self) -> pl.DataFrame:
        units = [self._rows_of([unit]) for unit in range(self.units.height)]
        observed = [self._summed(rows, (rows.in_class * rows.weight)[:, None]) for rows in units]
        return self._metrics(np.concatenate(observed))

    def replicated_metrics(self, fits: Sequence[ClassFit]) -> Iterator[pl.DataFrame]:
        end = 1 + self.question.replicates
        for unit, fit in enumerate(fits):
            generator = np.random.default_rng([self.question.seed, 1])
            numbers = max(int(np.diff(self.starts)[unit]) * len(self.rows.logs), 1)
            blocks = pairwise([*range(1, end, max(_BLOCK // numbers, 1)), end])
            sums = [self._sums(unit, fit, slice(*block), generator) for block in blocks]
            yield self._metrics(np.concatenate([self._sums(unit, fit, slice(0, 1)), *sums]))

    def centre(self, replicates: Floats) -> Floats:
        # Noise of many estimated priors moves their largest one and their entropy one way, in replicates once more than in the estimate.
        if isinstance(self.question.shift_prior, str):
            return percentile_limits(replicates[1:], 0)[0]
        return super().centre(replicates)

    @property
    def seconds(self) -> float:
        return self.rows.logs.size * self.question.replicates * _SECONDS


def row_cells(rows: Rows) -> pl.Expr:
    """What an estimate reads of rows, as a column."""
    return rows.cells([CLASS, DECISION, LOG_POSTERIORS]).alias(_ROW)


def _variances(q: Floats) -> Floats:
    """The variance of the label of each row, summed over the classes."""
    return np.asarray(1 - (q * q).sum(axis=0), dtype=np.float64)
