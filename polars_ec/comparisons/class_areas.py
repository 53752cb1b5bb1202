"""Areas under ROC curves averaged over classes, of models and groups that are compared, from their rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial

import polars as pl

from polars_ec.comparisons.joint_pass import BUCKET, KIND, Comparison, Pair
from polars_ec.comparisons.validation import ClusterKeys
from polars_ec.formulas.decisions import lower_is_better
from polars_ec.formulas.ranking import CLASS_AREAS
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import Variance, VarianceComponents
from polars_ec.inference.estimator import Against, Differences, with_groups
from polars_ec.inference.ranking import more_with_few
from polars_ec.numerics import Floats, Integers, Numbers, np
from polars_ec.records import dataclass
from polars_ec.reports.class_areas import AreaInput, ClassAreas, RestAreas, area_cells, order_of
from polars_ec.reports.models import Model, stated_vector
from polars_ec.scores.counted import GroupPrior, packed_groups, unpacked_groups
from polars_ec.scores.folds import bucket
from polars_ec.scores.scores import CLASS

ROWS = 3
"""The KIND of the table of rows, beside those of cells."""

_CELLS = "cells"
# Rows of groups that are worked on at a time, where each group has those of all others.
_BLOCK = 2**20


def area_rows(
    frame: pl.LazyFrame,
    keys: Sequence[pl.Expr],
    models: Sequence[Model],
    metrics: Sequence[str],
    clusters: ClusterKeys | None,
) -> pl.LazyFrame:
    """The rows that no model lacks, with a struct of each model."""
    in_bucket = {} if clusters is None else {BUCKET: bucket(clusters.keys[0], clusters.buckets)}
    named = [(m.prefix, *area_cells(metric, m.rows)) for m in models for metric in metrics]
    cells = {f"{prefix}{name}": of_model for prefix, name, of_model in named}
    rows = frame.select(*keys, **in_bucket, **cells)
    rows = rows.filter(pl.col(column).struct.field(CLASS).is_not_null() for column in cells)
    return rows.with_columns(pl.lit(ROWS, dtype=pl.Int8).alias(KIND))


@dataclass(frozen=True, eq=False)
class AreaEstimator:
    """An average area of the groups of one model, from `rows` with GROUP, ascending, and `cells`, as `ClassAreas` takes them."""

    rows: pl.DataFrame
    n_groups: int
    input: AreaInput
    prior: tuple[float, ...] | Numbers | None

    @cached_property
    def areas(self) -> ClassAreas:
        """The groups by themselves."""
        return self._areas(self.rows, np.arange(self.n_groups))

    def _areas(self, rows: pl.DataFrame, groups: Integers) -> ClassAreas:
        """Groups of these numbers, whose rows may be others; the prior goes with the number."""
        number = pl.DataFrame({GROUP: pl.Series(groups, dtype=rows.schema[GROUP])})
        lists = number.join(rows.group_by(GROUP).agg(_CELLS), on=GROUP, how="left", maintain_order="left")[_CELLS]
        return ClassAreas(lists, self.input, self._prior(groups))

    def _prior(self, groups: Integers) -> tuple[float, ...] | Numbers | None:
        return self.prior if self.prior is None or isinstance(self.prior, tuple) else self.prior[groups]

    def influence(self, areas: ClassAreas) -> Floats:
        """The influence of each row, NaN for one that is invalid."""
        influence = np.full(self.rows.height, np.nan)
        influence[areas.used] = areas.influence
        return influence

    def paired_difference(self, reference: AreaEstimator, level: float, *, same: bool) -> Differences:
        """Compare with a model on the same rows, which are in the same order."""
        gap = self.influence(self.areas) - reference.influence(reference.areas)
        components = self.areas.components(gap[self.areas.used])
        variance = Variance(components.variance, components.df)
        return Differences.tested(self.areas.value, reference.areas.value, variance, level, same=same)

    def difference(self, against: Against, level: float) -> Differences:
        """Differences between the groups and what they are compared with."""
        others = {"rest": self._with_rest, "total": self._with_total}
        components = partial(_components, self.areas)
        return with_groups(self.areas.value, components, others, against, lower_is_better(self.input.metric), level)

    def _with_rest(self) -> tuple[Floats, Callable[[Floats, Floats], Variance]]:
        """Values of all other groups, and from x and y the variance of value / x - rest / y."""
        (rest, others), components = self._rest, _components(self.areas)
        return rest, lambda x, y: components.over(x).minus(others.over(y))

    def _with_total(self) -> tuple[Floats, Callable[[Floats, Floats], Variance]]:
        """The value of all groups together, and from x and y the variance of value / x - total / y."""
        in_one = self.rows.with_columns(pl.lit(0, dtype=self.rows.schema[GROUP]).alias(GROUP))
        total, influence = self._areas(in_one, np.zeros(1, np.int64)), self.areas.influence
        more = _more_with_few(self.areas, components=self.areas.components(influence))

        def variance(x: Floats, y: Floats) -> Variance:
            of_total = total.influence / self.areas.per_row(y)
            inside = self.areas.components(influence / self.areas.per_row(x) - of_total)
            return inside.plus(more / x**2).minus(self.areas.components(of_total, others=True))

        return np.repeat(total.value, self.n_groups), variance

    @property
    def _rest(self) -> tuple[Floats, VarianceComponents]:
        """Values of all other groups together, for each group, and their components; some groups at a time, each with all rows of the others."""
        at_once = max(_BLOCK // max(self.rows.height, 1), 1)
        ranks = self.areas.ranks_by(self.input.scores, together=True)
        values, components = [], []
        for start in range(0, self.n_groups, at_once):
            groups = np.arange(start, min(start + at_once, self.n_groups))
            areas = RestAreas(self.areas, ranks, groups, self._prior(groups))
            values.append(areas.value)
            components.append(_components(areas))
        shared = [of.shared for of in components if of.shared is not None]
        independent, df = (np.concatenate([getattr(of, name) for of in components]) for name in ("independent", "df"))
        return np.concatenate(values), VarianceComponents(np.concatenate(shared) if shared else None, independent, df)


def _components(areas: ClassAreas) -> VarianceComponents:
    """Variance components of each group, including the additional variance in the interval of a single value."""
    components = areas.components(areas.influence)
    return components.plus(_more_with_few(areas, components))


def _more_with_few(areas: ClassAreas, components: VarianceComponents) -> Floats:
    return more_with_few(areas.value, components, areas.rows_of_area(components))


def area_differences(
    rows: pl.DataFrame,
    tables: dict[str, pl.DataFrame],
    pair: Pair,
    comparison: Comparison,
    against: Against | None,
    *,
    same: bool,
) -> dict[str, Differences]:
    """By column; arguments as for `ranking_differences`."""
    differences: dict[str, Differences] = {}
    for column, name, at_prior in comparison.columns(CLASS_AREAS, pair[0]):
        first, *reference = [
            _estimator(rows, tables[model.name], model, name, comparison, at_prior=at_prior)
            for model in pair
            if model is not None
        ]
        differences[column] = (
            first.difference(against, comparison.level)
            if against is not None
            else first.paired_difference(reference[0], comparison.level, same=same)
        )
    return differences


def _estimator(
    rows: pl.DataFrame, groups: pl.DataFrame, model: Model, metric: str, comparison: Comparison, *, at_prior: bool
) -> AreaEstimator:
    n_classes = model.rows.costs.n_classes
    area_input = AreaInput(metric, n_classes, order_of(model.rows), comparison.buckets)
    prior = area_input.prior(stated_vector(model, comparison.layout.options) if at_prior else None)
    known: tuple[float, ...] | Numbers | None = prior if not isinstance(prior, GroupPrior) else None
    if isinstance(prior, GroupPrior):
        packed = groups.select(packed_groups(pl.lit(None, dtype=pl.Null), prior).alias("packed")).to_series()
        known = unpacked_groups(packed, n_classes)[1]
    cells = model.column(area_cells(metric, model.rows)[0])
    cells = cells if comparison.buckets is None else cells.struct.with_fields(pl.col(BUCKET))
    return AreaEstimator(rows.select(GROUP, cells.alias(_CELLS)), groups.height, area_input, known)
