"""Metrics of K classes that the labels of a period will show, from its rows and a calibrator of an earlier period.

A row without a label counts as every class, with its calibrated posterior as weight: so its decision and its losses add to the sums of all
classes. Arrays have classes first and rows last, with replicates between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import polars as pl

from polars_ec.calibration.class_curves import ClassCalibrator, ClassCurves, LabelledRows, fit_curves, uncalibrated
from polars_ec.calibration.logistic_newton import CLOSE_ENOUGH, ROUNDING
from polars_ec.comparisons.unlabelled import IS_HELD_OUT, EstimateQuestion, UnitEstimator, count_units, with_references
from polars_ec.formulas.decisions import Arguments, decision_value
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.sums import GROUP, pack_prior
from polars_ec.inference.confidence import FEW_OF_A_CLASS, FEWEST_CLUSTERS, effective_rows
from polars_ec.numerics import Bools, Floats, Integers, Numbers, np, quiet
from polars_ec.scores.counted import CollectedSums
from polars_ec.scores.read import Rows, join_groups
from polars_ec.scores.scores import BRIER, CELL, CLASS, DECISION, LOG_LOSS, LOG_POSTERIORS, WEIGHT, matrix_of
from polars_ec.sketches.cells import LABELLED

ROW, ODDS, BUCKET = "__row", "__odds", "__bucket"
"""Columns of the log: the cells of a row, the odds that its label was not to come, and the bucket of its cluster."""

_UNLABELLED = -1
# Numbers that are worked on at a time, and seconds for each: of a row, a class and a replicate.
_BLOCK, _SECONDS = 2**21, 3e-8
_MAX_STEPS = 100
# Priors below this that would fall go to 0.
_NO_PRIOR = 1e-6


@dataclass(frozen=True, kw_only=True)
class ClassQuestion(EstimateQuestion):
    """A question on the rows of a log: the keys, `LABELLED`, `ROW`, and perhaps `ODDS` and `BUCKET`. `prior` is that of the metrics."""

    log: pl.LazyFrame
    calibrator: ClassCalibrator | None
    shift_prior: Sequence[float] | Literal["em"] | None
    prior: tuple[float, ...] | None

    @property
    def losses(self) -> list[str]:
        """The losses that the metrics need."""
        return list(dict.fromkeys(SCORING_RULES[name].loss for name in self.metrics if name in SCORING_RULES))


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
    def is_labelled(self) -> Bools:
        """Whether each row has a label that counts."""
        return np.asarray(self.label != _UNLABELLED, dtype=bool)

    @property
    def in_class(self) -> Floats:
        """1 for the class of each row, (classes, rows); 0 for all without a label."""
        return np.equal.outer(np.arange(len(self.logs)), self.label).astype(np.float64)

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
        n = len(occupied)
        if n:
            times[:, ~alone] = generator.multinomial(n, np.full(n, 1 / n), size=replicates)[:, place.reshape(-1)]
        return times

    def features(self, losses: Sequence[str]) -> Floats:
        """1, and then the losses if the row is of each class, (features, classes, rows)."""
        q, n_classes = np.exp(self.logs), len(self.logs)
        brier = ((q * q).sum(axis=0) + 1 - 2 * q) / n_classes
        return np.stack([np.ones_like(q), *({LOG_LOSS: -self.logs, BRIER: brier}[name] for name in losses)])


def _summed(amounts: Floats, features: Floats, decision: Integers, n_decisions: int) -> Floats:
    """Sums of amounts, (classes, variants, rows), times features: (variants, features, classes, decisions); rows are sorted by decision."""
    n_classes, n_variants, _ = amounts.shape
    sums = np.zeros((n_variants, len(features), n_classes, n_decisions))
    starts = np.flatnonzero(np.diff(decision, prepend=-1))
    for f, values in enumerate(features if len(starts) else ()):
        # An infinite loss of a class that the row is not of is none.
        product = amounts if f == 0 else np.where(amounts == 0, 0.0, amounts * values[:, None])
        sums[:, f, :, decision[starts]] = np.add.reduceat(product, starts, axis=2).transpose(2, 1, 0)
    return sums


@quiet
def likeliest_priors(ratios: Floats, weight: Floats) -> Floats:
    """The priors to which EM converges, (variants, classes), for posteriors over priors, (variants, rows, classes), and weights (variants, rows).

    They minimise the convex sum of the priors less the mean log-likelihood: projected Newton steps.
    """
    n_variants, _, n_classes = ratios.shape
    weight = weight / weight.sum(axis=1, keepdims=True)
    prior, length = np.full((n_variants, n_classes), 1 / n_classes), np.ones(n_variants)

    def loss_of(prior: Floats) -> Floats:
        mixed = (ratios @ prior[:, :, None])[:, :, 0]
        return np.asarray(prior.sum(axis=1) - (weight * np.log(mixed)).sum(axis=1), dtype=np.float64)

    loss, moves = loss_of(prior), np.ones(n_variants, dtype=bool)
    for _ in range(_MAX_STEPS):
        leaning = ratios / (ratios @ prior[:, :, None])
        weighed = leaning * weight[:, :, None]
        gradient, hessian = 1 - weighed.sum(axis=1), leaning.swapaxes(1, 2) @ weighed
        is_free = (prior > _NO_PRIOR) | (gradient < 0)
        hessian = np.where(is_free[:, :, None] & is_free[:, None], hessian, 0.0)
        # Classes with the same posteriors leave it singular.
        hessian += (~is_free[:, :, None] + ROUNDING) * np.eye(n_classes)
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        tried = np.maximum(prior - length[:, None] * step, 0.0)
        new = loss_of(tried)
        better = new <= loss + ROUNDING * (1 + np.abs(loss))
        moves = ~((step * gradient * is_free).sum(axis=1) + (prior * gradient * ~is_free).sum(axis=1) <= CLOSE_ENOUGH)
        prior[better], loss[better] = tried[better], new[better]
        length = np.where(better, 1.0, length / 2)
        if not moves.any():
            break
    prior /= prior.sum(axis=1, keepdims=True)
    return np.where(moves[:, None], np.nan, prior)


@dataclass(frozen=True)
class ClassFit:
    """Curves, and the base rates of the reference, first those of its rows and then of replicates; None without a fit.

    `residuals` are what the labels of each cluster add beyond expectations to the sums, (clusters, features, classes, decisions), and `spread` is
    the mean over clusters of the variance of their labels by decision.
    """

    curves: ClassCurves | None
    prior: Floats
    residuals: Floats
    spread: Floats
    sizes: Floats
    on: str

    @property
    def is_known(self) -> bool:
        return self.curves is not None


@dataclass(frozen=True)
class ClassEstimator(UnitEstimator[ClassFit]):
    """The rows of the units of a question, from `starts` on."""

    question: ClassQuestion
    rows: ClassRows
    starts: Integers

    @classmethod
    def of(cls, question: ClassQuestion, rows: Rows) -> ClassEstimator:
        """Read the log into memory, number the units, and find the reference of each."""
        keys, frame = question.keys, question.log.collect(engine="streaming")
        fields = [(pl.col(ROW).struct.field(name).alias(f"{ROW}_{name}")) for name in (CLASS, DECISION, LOG_POSTERIORS)]
        weight = pl.lit(1.0) if rows.weight is None else pl.col(ROW).struct.field(WEIGHT)
        frame = frame.with_columns(*fields, weight.alias(f"{ROW}_{WEIGHT}")).drop(ROW)
        label = pl.col(f"{ROW}_{CLASS}")
        if ODDS in frame.columns:
            # Rows without a label need no probability of it.
            odds = pl.col(ODDS).is_finite() & (pl.col(ODDS) >= 0)
            is_off = pl.col(LABELLED) & ~odds.fill_null(value=False) & label.is_not_null()
            frame = frame.with_columns(
                pl.when(is_off).then(-1).otherwise(label).cast(pl.Int64).alias(label.meta.output_name())
            )
        counts = frame.group_by(*keys, LABELLED, label.alias("class")).agg(n=pl.len().cast(pl.Int64))
        units, pools = with_references(count_units(counts, keys), question)
        used = join_groups(frame, units.select(*keys, GROUP), keys).filter(label >= 0, pl.col(f"{ROW}_{WEIGHT}") > 0)
        known = pl.when(LABELLED).then(label).otherwise(_UNLABELLED)
        bucket = pl.col(BUCKET).fill_null(-1) if BUCKET in used.columns else pl.lit(-1)
        correction = pl.col(f"{ROW}_{WEIGHT}") * (pl.col(ODDS).fill_null(0.0) if ODDS in used.columns else 1.0)
        numbers = {"unit": pl.col(GROUP), "decision": pl.col(f"{ROW}_{DECISION}"), "label": known, "bucket": bucket}
        whole = used.select(
            **{name: number.cast(pl.Int64) for name, number in numbers.items()},
            weight=pl.col(f"{ROW}_{WEIGHT}"),
            correction=correction,
        )
        logs = matrix_of(used[f"{ROW}_{LOG_POSTERIORS}"], question.costs.n_classes)[0]
        columns = {name: whole[name].to_numpy() for name in whole.columns}
        # In an order of their own, so that random numbers do not depend on that of the log.
        order = np.lexsort([*logs.T, *reversed(columns.values())])
        read = ClassRows(**columns, logs=logs.T).of(order)
        return cls(question, units, pools, read, np.searchsorted(read.unit, np.arange(units.height + 1)))

    @cached_property
    def _shape(self) -> tuple[int, int, int]:
        """Features, classes and decisions: of sums."""
        return 1 + len(self.question.losses), self.question.costs.n_classes, self.question.costs.n_decisions

    def _rows_of(self, units: Sequence[int]) -> ClassRows:
        return self.rows.of(
            np.concatenate([np.zeros(0, np.int64), *(np.arange(*self.starts[[u, u + 1]]) for u in units)])
        )

    def _unit_rows(self, unit: int) -> ClassRows:
        rows = self.rows.of(slice(*self.starts[[unit, unit + 1]]))
        return replace(rows, label=np.full_like(rows.label, _UNLABELLED)) if self.units[IS_HELD_OUT][unit] else rows

    @quiet
    def fit_to(self, units: tuple[int, ...], on: str) -> ClassFit:
        question, rows = self.question, self._rows_of(units)
        rows = rows.of(rows.is_labelled)
        sizes, of_class = rows.sizes, rows.in_class
        number = 0 if question.level is None else question.replicates
        times = rows.resampled(number, np.random.default_rng([question.seed, 0]))
        by_class = np.concatenate([(of_class @ rows.weight)[None], (of_class @ (times * rows.weight).T).T])
        prior = by_class / by_class.sum(axis=1, keepdims=True)
        of_weight = rows.weight * (sizes.sum() / rows.weight.sum())
        labelled, curves = LabelledRows(rows.logs, rows.label, of_weight), None
        if question.calibrator is None:
            curves = uncalibrated(1 + number, len(prior[0]))
        elif np.isfinite(of_weight).all():
            curves = fit_curves(question.calibrator, labelled, times)
        # A prior cannot be moved from 0.
        if self.units[list(units)]["n_invalid"].sum() or (
            question.shift_prior is not None and not (prior[0] > 0).all()
        ):
            curves = None
        residuals, spread = np.zeros((0, *self._shape)), np.zeros(self._shape[2])
        rows = rows.of(rows.bucket >= 0)
        if curves is not None and number and len(rows.unit):
            # Clusters of different units are different ones.
            clusters, place = np.unique(np.stack([rows.unit, rows.bucket]), axis=1, return_inverse=True)
            q = curves.posteriors(rows.logs, slice(1))[:, 0]
            at = place.reshape(-1) * self._shape[2] + rows.decision
            size = clusters.shape[1] * self._shape[2]
            amounts, features = (rows.in_class - q) * rows.weight, rows.features(question.losses)
            products = np.where(amounts == 0, 0.0, amounts * features).reshape(-1, len(at))
            sums: Floats = np.stack([np.bincount(at, product, size) for product in products]).astype(np.float64)
            residuals = np.moveaxis(sums.reshape(*self._shape[:2], -1, self._shape[2]), 2, 0)
            spread = np.bincount(rows.decision, _variances(q) * rows.weight, self._shape[2]) / clusters.shape[1]
        return ClassFit(curves, prior, residuals, spread, sizes, on)

    def _posteriors(self, rows: ClassRows, fit: ClassFit, fits: slice, times: Numbers) -> Floats:
        """Posteriors, (classes, fits, rows), at the prior of a unit whose rows count so many times."""
        assert fit.curves is not None
        shift, q = self.question.shift_prior, fit.curves.posteriors(rows.logs, fits)
        if shift is None:
            return q
        ratios = q / fit.prior[fits].T[:, :, None]
        ratios /= ratios.sum(axis=0)
        if isinstance(shift, str):
            prior = likeliest_priors(np.ascontiguousarray(ratios.transpose(1, 2, 0)), times * rows.weight)
        else:
            prior = np.broadcast_to(np.asarray(shift), fit.prior[fits].shape)
        moved = ratios * prior.T[:, :, None]
        return np.asarray(moved / moved.sum(axis=0), dtype=np.float64)

    def _has_corrections(self, rows: ClassRows) -> bool:
        """Whether enough labels have come that they correct expectations."""
        return bool((rows.sizes >= FEW_OF_A_CLASS).all() and not rows.is_labelled.all())

    @quiet
    def _expected(self, unit: int, fit: ClassFit) -> Floats:
        """The expected sums of a unit, (features, classes, decisions)."""
        rows = self._unit_rows(unit)
        if fit.curves is None:
            return np.full(self._shape, np.nan)
        q = self._posteriors(rows, fit, slice(1), np.ones((1, 1)))
        amounts = self._amounts(rows, q)
        if self._has_corrections(rows):
            known, rest = rows.is_labelled, rows.weight[~rows.is_labelled].sum()
            weight = np.where(known, rows.correction, 0.0)
            amounts += (rows.in_class[:, None] - q) * (rest * weight / weight.sum())
        sums: Floats = _summed(amounts, rows.features(self.question.losses), rows.decision, self._shape[2])[0]
        return sums

    def _amounts(self, rows: ClassRows, q: Floats) -> Floats:
        """Weights of rows by class: observed, or expected."""
        return np.asarray(np.where(rows.is_labelled, rows.in_class[:, None], q) * rows.weight, dtype=np.float64)

    @quiet
    def _replicates(self, unit: int, fit: ClassFit) -> Floats:
        """The expected sums and then replicates of those that the labels may show, (variants, features, classes, decisions)."""
        question, rows, n_decisions = self.question, self._unit_rows(unit), self._shape[2]
        replicated = [self._expected(unit, fit)[None]]
        if fit.curves is None:
            return replicated[0]
        generator, known = np.random.default_rng([question.seed, 1]), rows.is_labelled
        features, is_corrected = rows.features(question.losses), self._has_corrections(rows)
        in_cluster = ~known & (rows.bucket >= 0)
        is_drawn = np.flatnonzero(~known & ~in_cluster)
        number, size = len(np.unique(rows.bucket[in_cluster])), max(_BLOCK // max(rows.logs.size, 1), 1)
        for start in range(1, 1 + question.replicates, size):
            fits = slice(start, min(start + size, 1 + question.replicates))
            n = fits.stop - fits.start
            times = (
                rows.resampled(n, generator)
                if isinstance(question.shift_prior, str) or is_corrected
                else np.ones((n, 1))
            )
            q = self._posteriors(rows, fit, fits, times)
            amounts = self._amounts(rows, q)
            if is_corrected:
                # The labels that have come say how much those that have not will differ from expectations, and how far they vary.
                mean, rest, total = (rows.weight * x for x in (known, ~known, known))
                again = times * np.where(known, rows.correction, 0.0)
                drawn = rows.resampled(n, generator) * mean
                off = drawn / drawn.sum(axis=1, keepdims=True) - mean / mean.sum()
                weight = rest.sum() * again / again.sum(axis=1, keepdims=True) + np.sqrt(rest.sum() * total.sum()) * off
                amounts += (rows.in_class[:, None] - q) * weight
            else:
                below = q[:, :, is_drawn].cumsum(axis=0)
                # Never 0, which would draw a class of posterior 0.
                cut = (1 - generator.random(below.shape[1:])) * below[-1]
                chosen = (below < cut).sum(axis=0)
                amounts[:, :, is_drawn] = np.equal.outer(np.arange(len(q)), chosen) * rows.weight[is_drawn]
            sums = _summed(amounts, features, rows.decision, n_decisions)
            if number and len(fit.residuals) and not is_corrected:
                # The effect of a cluster changes its labels in proportion to their variance, and chance to the root of it.
                of_unit = (
                    _variances(self._posteriors(rows, fit, slice(1), np.ones((1, 1)))[:, 0]) * rows.weight * in_cluster
                )
                ratio = np.nan_to_num(
                    np.bincount(rows.decision, of_unit, n_decisions) / number / fit.spread, posinf=0.0
                )
                of_reference = len(fit.residuals)
                counts = generator.multinomial(number, np.full(of_reference, 1 / of_reference), size=n)
                off = (counts - number / of_reference) @ fit.residuals.reshape(of_reference, -1)
                sums += off.reshape(sums.shape) * np.maximum(ratio, np.sqrt(ratio))
            replicated.append(sums)
        return np.concatenate(replicated)

    def _metrics(self, sums: Floats) -> pl.DataFrame:
        """The metrics and `class_prior` of sums, (variants, features, classes, decisions)."""
        question, (_, n_classes, n_decisions) = self.question, self._shape

        def packed(values: Floats) -> pl.Series:
            return pl.Series(np.ascontiguousarray(values).ravel()).reshape(
                (len(values), values[0].size if len(values) else 1)
            )

        by_class = sums.sum(axis=3)
        losses = {name: by_class[:, f] for f, name in enumerate([WEIGHT, *question.losses])}
        table = pl.DataFrame(
            {
                "decided": pl.DataFrame({CELL: packed(sums[:, 0])}).to_struct(),
                "lost": pl.DataFrame({name: packed(of) for name, of in losses.items()}).to_struct(),
            }
        )
        columns = {}
        for name in question.metrics:
            rule = SCORING_RULES.get(name)
            cells = pl.col("decided" if rule is None else "lost")
            of_group = CollectedSums(n_classes, n_decisions, partial(_as_they_are, cells), question.prior)
            if rule is None:
                value = decision_value(name, of_group, Arguments(question.costs))
            else:
                value = rule.value(of_group, of_group.totals(rule.loss))
            columns[name] = of_group.guarded(value)
        with np.errstate(all="ignore"):
            shares = by_class[:, 0] / by_class[:, 0].sum(axis=1, keepdims=True)
        priors = [pl.Series(share, nan_to_null=True) for share in shares.T]
        return table.select(**columns, class_prior=pack_prior([pl.lit(share) for share in priors]))

    def expected_metrics(self, fits: Sequence[ClassFit]) -> pl.DataFrame:
        return self._metrics(np.stack([self._expected(unit, fit) for unit, fit in enumerate(fits)]))

    def observed_metrics(self) -> pl.DataFrame:
        sums = np.zeros((self.units.height, *self._shape))
        for unit in range(self.units.height):
            rows = self._rows_of([unit])
            rows = rows.of(rows.is_labelled)
            amounts = (rows.in_class * rows.weight)[:, None]
            sums[unit] = _summed(amounts, rows.features(self.question.losses), rows.decision, self._shape[2])[0]
        return self._metrics(sums)

    def replicated_metrics(self, fits: Sequence[ClassFit]) -> Iterator[pl.DataFrame]:
        return (self._metrics(self._replicates(unit, fit)) for unit, fit in enumerate(fits))

    @property
    def seconds(self) -> float:
        return self.rows.logs.size * self.question.replicates * _SECONDS

    def is_measurable(self, unit: int, fit: ClassFit) -> bool:
        bucket = self._rows_of([unit]).bucket
        n_clusters = len(np.unique(bucket[bucket >= 0]))
        return n_clusters == 0 or min(n_clusters, len(fit.residuals)) >= FEWEST_CLUSTERS


def _as_they_are(cells: pl.Expr, _: Sequence[str]) -> pl.Expr:
    """Cells that are summed already, whatever of them is asked for."""
    return cells


def _variances(q: Floats) -> Floats:
    """The variance of the label of each row, summed over the classes."""
    return np.asarray(1 - (q * q).sum(axis=0), dtype=np.float64)
