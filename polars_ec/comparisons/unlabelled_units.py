"""What the labels of a period will show: the periods with their references, and the table of estimates, whatever these are made of."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeAlias, TypeVar

import polars as pl
from polars.exceptions import PerformanceWarning

from polars_ec.arguments.costs import CostMatrix
from polars_ec.calibration.calibration import Calibrator
from polars_ec.calibration.logistic_newton import minimise_bounded
from polars_ec.comparisons.validation import reference_groups, shown
from polars_ec.exceptions import warn
from polars_ec.formulas.decisions import highest, interval_scale
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.bootstrap import percentile_limits
from polars_ec.inference.confidence import FEWEST_CLUSTERS, Limits
from polars_ec.numerics import Floats, Integers, floats, np, quiet
from polars_ec.scores.read import join_groups
from polars_ec.sketches.cells import LABELLED, SCORE

EstimateCalibrator: TypeAlias = Calibrator | Literal["spline"]
"""`spline`: log-odds that are piecewise linear in the log-odds of the score, with a penalty on changes of slope. Or one of `calibrate`."""

IS_HELD_OUT = "__is_held_out"
"""The column of units that says whether their labels are taken as unknown."""

# Others: the reference period, the unit of the group there, and the number of the units of all groups there, and these units.
_REFERENCE, _REFERENCE_UNIT, _POOL, _MEMBERS = "__reference", "__reference_unit", "__pool", "__members"
# A group with fewer rows of a class in the reference period takes the calibrator of all groups.
_ROWS_TO_CALIBRATE = 50
# Seconds that are worth a warning.
_LONG = 20
# Priors up to this that would fall go to 0; the least likelihood of a row; and the curvature of a likelihood that says nothing of a prior.
_NO_PRIOR, _LEAST, _FLAT = 1e-6, 1e-300, 1e-12


@dataclass(frozen=True, kw_only=True)
class EstimateQuestion:
    """The checked arguments of a call; `by` are the group columns, beside the period."""

    by: Sequence[str]
    period: str
    metrics: Sequence[str]
    costs: CostMatrix
    calibrator: EstimateCalibrator | None
    shift_prior: float | Sequence[float] | Literal["em"] | None
    reference: Any
    labelled: float
    level: float | None
    replicates: int
    seed: int

    @property
    def keys(self) -> list[str]:
        """The columns that name a unit, a group in a period."""
        return [*self.by, self.period]


@dataclass(frozen=True)
class Fit:
    """A calibrator of a reference period, and replicates of it: whether there is one, effective sample sizes by class, and which groups it is `on`.

    `residuals` are what the labels of each cluster add beyond expectations, (clusters, ...), and `spread` is the mean over clusters of the variance
    of their labels.
    """

    is_known: bool
    sizes: Floats
    on: str
    residuals: Floats
    spread: Floats

    @quiet
    def resampled_residuals(
        self, n_clusters: int, spread: Floats, replicates: int, generator: np.random.Generator
    ) -> Floats:
        """Residuals, (replicates, ...), of so many clusters, less their mean, where labels vary by this `spread`."""
        n = len(self.residuals)
        counts = generator.multinomial(n_clusters, np.full(n, 1 / n), size=replicates)
        # The effect of a cluster on log-odds changes its labels in proportion to their variance, and chance to the root of it.
        ratio = np.nan_to_num(spread / self.spread, posinf=0.0)
        off = np.tensordot(counts - n_clusters / n, self.residuals, 1) * np.maximum(ratio, np.sqrt(ratio))
        return np.asarray(off, dtype=np.float64)


FitT = TypeVar("FitT", bound=Fit)


@dataclass(frozen=True)
class UnitEstimator(ABC, Generic[FitT]):
    """The units of a question, numbered; `pools` are the units of each period, and `bucket` those of rows (-1: none), from the `starts` of units on."""

    question: EstimateQuestion
    units: pl.DataFrame
    pools: Sequence[Sequence[int]]
    starts: Integers
    bucket: Integers

    def fits(self) -> list[FitT]:
        """The calibrator of each unit: that of its group if it has enough rows in the reference period, else that of all groups."""
        fit_to = cache(self.fit_to)
        of_units = []
        for of_group, pool in self.units.select(_REFERENCE_UNIT, _POOL).iter_rows():
            of_all = () if pool is None else tuple(self.pools[pool])
            if of_group is not None:
                fit = fit_to((of_group,), "group")
                if fit.is_known and ((fit.sizes >= _ROWS_TO_CALIBRATE).all() or len(of_all) == 1):
                    of_units.append(fit)
                    continue
            of_units.append(fit_to(of_all, "all groups"))
        return of_units

    @abstractmethod
    def fit_to(self, units: tuple[int, ...], on: str) -> FitT:
        """The calibrator of the labelled rows of these units."""

    @abstractmethod
    def expected_metrics(self, fits: Sequence[FitT]) -> pl.DataFrame:
        """The metrics and `class_prior` of each unit."""

    @abstractmethod
    def observed_metrics(self) -> pl.DataFrame:
        """The metrics of the labelled rows of each unit."""

    @abstractmethod
    def replicated_metrics(self, fits: Sequence[FitT]) -> Iterator[pl.DataFrame]:
        """For each unit first the expected metrics, as precise as the replicates, and then replicates of what the labels may show."""

    def is_measurable(self, unit: int, fit: FitT) -> bool:
        """Whether there are enough clusters in the unit and in its reference, or none in the unit."""
        bucket = self.bucket[self.starts[unit] : self.starts[unit + 1]]
        n_clusters = len(np.unique(bucket[bucket >= 0]))
        return n_clusters == 0 or min(n_clusters, len(fit.residuals)) >= FEWEST_CLUSTERS

    def centre(self, replicates: Floats) -> Floats:
        """What intervals count from, of the values of `replicated_metrics`."""
        return np.asarray(replicates[0], dtype=np.float64)

    @property
    @abstractmethod
    def seconds(self) -> float:
        """About how long all replicates take."""

    def p_value_of_shift(self, unit: int, fit: FitT) -> float:  # noqa: ARG002
        """The p-value of the test whether more than the prior changed; NaN without one."""
        return math.nan


# Priors of periods.


@quiet
def likeliest_priors(ratios: Floats, weight: Floats) -> Floats:
    """The priors to which EM converges, (variants, classes), for posteriors over priors, (variants, rows, classes), and weights (variants, rows).

    They minimise the convex sum of the priors less the mean log-likelihood. NaN where other priors have the same likelihood.
    """
    # With rows in proportion to posteriors that sum to 1, the losses are at least 1.
    ratios, weight = (x / x.sum(axis=-1, keepdims=True) for x in (ratios, weight))

    def derivatives(prior: Floats) -> tuple[Floats, Floats, Floats]:
        # A row that does not count may be impossible.
        mixed = np.maximum(ratios @ prior[:, :, None], _LEAST)
        leaning = ratios / mixed
        weighed = leaning * weight[:, :, None]
        loss = prior.sum(axis=1) - (weight * np.log(mixed[:, :, 0])).sum(axis=1)
        return loss, 1 - weighed.sum(axis=1), leaning.swapaxes(1, 2) @ weighed

    n_variants, _, n_classes = ratios.shape
    start, bounded = np.full((n_variants, n_classes), 1 / n_classes), np.ones(n_classes, dtype=bool)
    prior, moves = minimise_bounded(derivatives, start, bounded, _NO_PRIOR)
    _, gradient, hessian = derivatives(prior)
    # Some priors can move at no loss, as when all scores are equal, if a change of them that sums to 0 changes no row.
    can_move = (prior > 0) | (gradient < _FLAT)
    curvature = np.where(can_move[:, None] & can_move[:, :, None], np.nan_to_num(hessian + 1), np.eye(n_classes))
    is_open = moves | (np.linalg.eigvalsh(curvature)[:, 0] < _FLAT)
    return np.where(is_open[:, None], np.nan, prior / prior.sum(axis=1, keepdims=True))


# The units of a question.


def count_units(counts: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """The units, sorted and numbered, with their numbers of rows, from numbers `n` by unit, `LABELLED` and class (-1: invalid)."""
    n, label = pl.col("n"), pl.col("class")
    sums = {
        "n": pl.when(label >= 0).then(n).sum(),
        "n_labelled": pl.when((label >= 0) & pl.col(LABELLED)).then(n).sum(),
        "n_missing": pl.when(label.is_null()).then(n).sum(),
        "n_invalid": pl.when(label == -1).then(n).sum(),
    }
    return counts.group_by(keys).agg(**sums).sort(keys).with_row_index(GROUP)


def with_references(units: pl.DataFrame, question: EstimateQuestion) -> tuple[pl.DataFrame, list[list[int]]]:
    """The units with their references, and whether their labels are held out; and the units of each period."""
    period, within = question.period, [name for name in question.by if name == SCORE]
    counts = pl.col("n", "n_labelled").sum()
    periods = units.group_by([*within, period]).agg(counts, pl.col(GROUP).alias(_MEMBERS)).sort(*within, period)
    is_labelled = (pl.col("n_labelled") >= question.labelled * pl.col("n")) & (pl.col("n_labelled") > 0)
    with_period = pl.col(period).is_not_null()
    is_labelled &= with_period
    if question.reference is None or not units.height:
        last = pl.when(is_labelled).then(period).forward_fill().shift(1)
        reference = last.over(within) if within else last
    else:
        place = reference_groups({period: question.reference}, units, question.keys)
        value = units[period][int(place.filter(place >= 0)[0])]
        reference = pl.lit(value, units.schema[period])
        if not periods.filter(pl.col(period) == value, pl.col("n_labelled") > 0).height:
            raise ValueError(f"reference={value} has no labels: pass a period with labels")
    # A period is not estimated by its own labels, and rows without a period are neither before nor after others.
    is_other = with_period & (reference != pl.col(period))
    of_period = pl.when(is_other).then(reference).alias(_REFERENCE)
    stated = periods.select(*within, period, is_labelled.alias(IS_HELD_OUT), of_period)
    named = pl.col(period).alias(_REFERENCE)
    numbers = periods.with_row_index(_POOL).filter(with_period).select(*within, named, _POOL)
    group = units.filter(with_period).select(*question.by, named, pl.col(GROUP).alias(_REFERENCE_UNIT))
    units = join_groups(units, join_groups(stated, numbers, [*within, _REFERENCE]), [*within, period])
    return join_groups(units, group, [*question.by, _REFERENCE]), periods[_MEMBERS].to_list()


# The result.

RESULT: Mapping[str, pl.DataType] = {
    **dict.fromkeys(("model", "reference", "metric"), pl.String()),
    **dict.fromkeys(("value", "value_ci_low", "value_ci_high", "observed"), pl.Float64()),
    "covered": pl.Boolean(),
    "class_prior": pl.Float64(),
    "calibrated_on": pl.String(),
    "shift_p_value": pl.Float64(),
    **dict.fromkeys(("n", "n_labelled", "n_missing", "n_invalid"), pl.Int64()),
}
"""Columns of the result beside the group columns and the period."""

_RANGES: Mapping[str, tuple[float, float]] = {"logit": (0.0, 1.0), "log": (0.0, math.inf), "atanh": (-1.0, 1.0)}


@quiet
def estimated(estimator: UnitEstimator[Any], model: str | None) -> pl.DataFrame:
    """The result of `estimate`: a row per group, period, model and metric; `model` is the name of the score, if there is one and it is known."""
    question, units = estimator.question, estimator.units
    names, keys = list(question.metrics), [name for name in question.by if name != SCORE]
    n_classes = question.costs.n_classes
    prior = pl.Float64() if n_classes == 2 else pl.Array(pl.Float64, n_classes)
    if not units.height:
        return pl.DataFrame(schema={**units.select(*keys, question.period).schema, **RESULT, "class_prior": prior})
    fits = estimator.fits()
    if invalid := units["n_invalid"].sum():
        warn(
            f"{invalid} rows have an invalid score, label, weight or label probability, so the estimates of their groups and periods are null. "
            "Are the classes and the type of the scores right? ec.validate shows the rows"
        )
    tables = estimator.expected_metrics(fits)
    is_known = np.array([fit.is_known for fit in fits], dtype=bool) & (units["n_invalid"] == 0).to_numpy()
    values = np.where(is_known[:, None], _numbers(tables, names), np.nan)
    low, high = np.full((2, *values.shape), np.nan)
    if question.level is not None:
        low, high = _limits(estimator, fits, tables, values)
    ranges = np.array([_range(name, question.costs) for name in names]).T
    values, low, high = (np.clip(x, *ranges) for x in (values, low, high))
    is_seen = ((units["n_labelled"] >= question.labelled * units["n"]) & (units["n_invalid"] == 0)).to_numpy()
    observed = np.where(is_seen[:, None], _numbers(estimator.observed_metrics(), names), np.nan)
    # The test is of an estimated prior.
    is_tested = is_known & isinstance(question.shift_prior, str)
    p_values = [estimator.p_value_of_shift(unit, fit) if is_tested[unit] else math.nan for unit, fit in enumerate(fits)]
    calibrated_on = [fit.on if fit.is_known and question.calibrator else None for fit in fits]
    shared = units.with_columns(
        *([] if SCORE in question.by else [pl.lit(model, pl.String).alias(SCORE)]),
        reference=pl.when(pl.col(_REFERENCE).is_not_null()).then(shown(units[_REFERENCE])),
        class_prior=pl.select(pl.when(pl.Series(is_known)).then(tables["class_prior"])).to_series(),
        calibrated_on=pl.Series(calibrated_on, dtype=pl.String),
        shift_p_value=pl.Series(np.array(p_values), nan_to_null=True),
    ).rename({SCORE: "model"})
    numbers = {"value": values, "value_ci_low": low, "value_ci_high": high, "observed": observed}
    columns = [{x: pl.Series(of[:, m], nan_to_null=True) for x, of in numbers.items()} for m in range(len(names))]
    of_metrics = [shared.with_columns(metric=pl.lit(name), **of) for name, of in zip(names, columns, strict=True)]
    covered = pl.col("observed").is_between("value_ci_low", "value_ci_high")
    table = pl.concat(of_metrics).with_columns(covered=covered).select(*keys, question.period, *RESULT)
    return table.sort(*keys, question.period, "model", maintain_order=True)


def _range(name: str, costs: CostMatrix) -> tuple[float, float]:
    """The least and the largest value of a metric."""
    low, high = _RANGES.get(interval_scale(name, costs), (-math.inf, math.inf))
    return low, min(high, highest(name, costs.n_classes, costs))


def _numbers(table: pl.DataFrame, names: Sequence[str]) -> Floats:
    numbers = table.select(pl.col(name).cast(pl.Float64) for name in names).fill_null(np.nan).to_numpy()
    return np.asarray(numbers, dtype=np.float64)


def _limits(estimator: UnitEstimator[Any], fits: Sequence[Any], tables: pl.DataFrame, values: Floats) -> Limits:
    """Bounds of what labels will show: quantiles of the replicates, moved to the values as precise as they are had."""
    question, (low, high) = estimator.question, np.full((2, *values.shape), np.nan)
    assert question.level is not None
    if estimator.seconds > _LONG:
        number = f"{len(fits):,} groups and periods with {question.replicates:,} replicates take about {estimator.seconds:,.0f} s"
        areas = ", metrics without auc_roc," if "auc_roc" in question.metrics else ""
        warn(f"{number}. Pass fewer replicates{areas} or interval=None", PerformanceWarning)
    names = list(question.metrics)
    errors = {m: floats(tables[f"{name}_error"]) for m, name in enumerate(names) if f"{name}_error" in tables.columns}
    for unit, (table, fit) in enumerate(zip(estimator.replicated_metrics(fits), fits, strict=True)):
        if not (fit.is_known and estimator.is_measurable(unit, fit)):
            continue
        of_replicates = _numbers(table, names)
        ends = percentile_limits(of_replicates[1:], question.level)
        low[unit], high[unit] = (end + values[unit] - estimator.centre(of_replicates) for end in ends)
        for m, error in errors.items():
            low[unit, m] -= error[unit]
            high[unit, m] += error[unit]
    return low, high
