"""Comparisons of a sketch: differences computed from cells instead of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from polars_ec.arguments.classes import CheckedPrior
from polars_ec.arguments.keywords import Request
from polars_ec.comparisons import joint_pass, validation
from polars_ec.comparisons.ranking import have_same_cells, ranking_estimator
from polars_ec.comparisons.result import ResultRow, Sizes, against_of, result_table, with_numbers, with_sums
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import AT_PRIOR, CELLS, lower_is_better
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.formulas.sums import GROUP
from polars_ec.inference.confidence import Clusters, Formula, Moments, exclusive, has_rows, with_pseudocounts
from polars_ec.inference.estimator import Differences, Estimator, paired_variance
from polars_ec.numerics import Floats, Integers, Numbers, np
from polars_ec.output.words import number
from polars_ec.reports.models import CONFUSION, is_multiclass
from polars_ec.reports.of_decisions import DecisionTables
from polars_ec.reports.result import ReportLayout
from polars_ec.scores.read import join_groups
from polars_ec.scores.scores import CLASS, DECISION
from polars_ec.sketches.arguments import EvaluationArguments, battery, check_metrics, parse_arguments
from polars_ec.sketches.cells import SCORE, TARGET, check_keys, of_each_model
from polars_ec.sketches.evaluation import Intervals, other_rows
from polars_ec.sketches.grid import SQUARE, TIMES_WEIGHT, WEIGHTS, DecisionGrid, Grid
from polars_ec.sketches.grid import UNDECIDED as NO_DECISION
from polars_ec.sketches.operating_points import DecidingCells
from polars_ec.sketches.sums import (
    ENDS,
    LOSS_OF,
    decision_column,
    decision_columns,
    is_exact,
    is_overall,
    join_losses,
    loss_column,
    loss_columns,
    number_sums,
    overall_prior,
    prior_columns,
    tabulate,
)

_ROUNDING = 1e-9

COUNTS = (*CELLS, CONFUSION)
"""Metrics whose differences have no intervals."""


def compare_cells(
    cells: DecidingCells,
    metrics: Sequence[str],
    keywords: Mapping[str, Any],
    own_threshold: float | None,
    reference: Any,
    request: Request,
    min_rows: int | None,
) -> pl.DataFrame:
    """The result of `Sketch.compare`."""
    models = cells.frame[SCORE].unique(maintain_order=True).to_list() if SCORE in cells.keys else ["the model"]
    keys = [key for key in cells.keys if key != SCORE]
    against = validation.parse_reference(reference, models, keys)
    check_keys(cells.keys, against.columns)
    names = list(metrics) or usual_metrics(cells, keywords)
    check_difference(cells, names, keywords)
    validation.check_direction(names, against)
    if against.model is not None:
        return _models(tables_of(cells)(cells, names, keywords, own_threshold, request), models, against, min_rows)
    tables_of_models = []
    for chosen, part in without_models(cells):
        tables = tables_of(part)(part, names, keywords, own_threshold, request)
        table = _groups(tables, chosen.get(SCORE), part.keys, against, min_rows)
        tables_of_models.append(table.with_columns(pl.lit(chosen[TARGET]).alias(TARGET)) if TARGET in chosen else table)
    order = [key for key in cells.keys if key != SCORE]
    return pl.concat(tables_of_models).sort(order, maintain_order=True).select(*order, *against.columns)


def usual_metrics(cells: DecidingCells, keywords: Mapping[str, Any]) -> list[str]:
    """The metrics where none are named."""
    if isinstance(cells.grid, DecisionGrid):
        return [*DecisionTables(cells, keywords).metrics(None)]
    return [name for name in battery(cells.grid, keywords) if name not in COUNTS]


def without_models(cells: DecidingCells) -> Iterator[tuple[dict[str, Any], DecidingCells]]:
    """The cells of each model and target, without these group columns, which are beside them."""
    for chosen, part in of_each_model(cells):
        yield chosen, part.group_by(*(key for key in cells.keys if key not in chosen)) if chosen else part


def check_difference(cells: DecidingCells, names: Sequence[str], keywords: Mapping[str, Any]) -> None:
    """SketchError for a metric that the sketch does not have, or within bounds only; and for too few buckets."""
    if cells.buckets is not None and cells.buckets < validation.FEWEST_BUCKETS:
        raise SketchError(
            f"the sketch has {cells.buckets} buckets, too few for p-values: sketch the log with buckets={validation.FEWEST_BUCKETS} or more"
        )
    decides = isinstance(cells.grid, DecisionGrid)
    if not decides:
        check_metrics(names, cells.grid, keywords.get("prior"))
    validation.check_comparable(names)
    for name in names:
        if names.count(name) > 1:
            raise SketchError(f"{name} is named twice")
    if decides:
        tables = DecisionTables(cells, keywords)
        validation.check_number(tables.model.rows.costs)
        tables.metrics(names)
    elif cells.grid.scale.needs_prior:
        for name in names:
            if name in SCORING_RULES:
                raise SketchError(
                    f"{name} from LLRs at a prior is not exact in a sketch: compare cllr, or sketch ec.posterior(score, prior=...)"
                )


def exact_arguments(
    names: Sequence[str], grid: Grid, keywords: Mapping[str, Any], own_threshold: float | None
) -> EvaluationArguments:
    """Check the keywords of these metrics; SketchError for a threshold that is not declared."""
    arguments = parse_arguments(names, grid, keywords, own_threshold)
    for name, threshold in arguments.thresholds.items():
        if not is_exact(grid, threshold):
            raise SketchError(
                f"{name} at threshold {number(threshold)} is not exact in this sketch: declare it with sketch(thresholds=[{number(threshold)}])"
            )
    return arguments


@dataclass(frozen=True)
class SketchTables:
    """The cells of a comparison or a drift, with the sums of their groups."""

    cells: DecidingCells
    names: Sequence[str]
    keywords: Mapping[str, Any]
    own_threshold: float | None
    request: Request

    @cached_property
    def intervals(self) -> Intervals:
        """Inputs of the variances."""
        cells, keywords = self.cells, dict(self.keywords)
        if cells.grid.scale.needs_prior and is_overall(keywords.get("prior")):
            keywords["prior"] = overall_prior(cells) or "overall"
        arguments = exact_arguments(self.names, cells.grid, keywords, self.own_threshold)
        numbered, table = tabulate(cells, cells.keys, arguments)
        if any(name in LOSS_OF for name in self.names):
            table = join_losses(table, number_sums(cells, numbered, table, cells.keys))
        return Intervals(cells, cells.keys, numbered, table, arguments, self.request)

    @property
    def table(self) -> pl.DataFrame:
        """A row per group."""
        return self.intervals.table

    @property
    def prior(self) -> CheckedPrior:
        """The prior of the values."""
        return self.intervals.arguments.prior

    @property
    def stated_shares(self) -> Floats | None:
        """The stated prior of each group, (groups, classes); None for its own."""
        stated = prior_columns(self.intervals.arguments)
        return None if stated is None else self.table.select(stated).cast(pl.Float64).fill_null(np.nan).to_numpy()

    @property
    def amounts(self) -> tuple[Floats, Floats]:
        """Sums over the rows of w and of w^2, (groups, classes)."""
        return self.intervals.amounts

    def have_same_cells(self, places: Numbers, others: Numbers) -> bool:
        """Whether the groups at these places have the same rows in each cell as those at the others."""
        return have_same_cells(self.intervals, places, others)

    @cached_property
    def wrong(self) -> Floats:
        """Number of invalid rows in each group."""
        return self.table["n_invalid"].cast(pl.Float64).to_numpy()

    def estimators(self) -> Iterator[Estimator]:
        """Estimate metrics with the same sums together."""
        arguments = self.intervals.arguments
        decided: dict[float, list[str]] = {}
        for name, threshold in arguments.thresholds.items():
            decided.setdefault(threshold, []).append(name)
        for threshold, names in decided.items():
            yield self._of_decisions(threshold, names)
        for loss in dict.fromkeys(LOSS_OF[name] for name in self.names if name in LOSS_OF):
            yield self._of_loss(loss, [name for name in self.names if LOSS_OF.get(name) == loss])

    def _of_decisions(self, threshold: float, names: Sequence[str]) -> Estimator:
        intervals, end = self.intervals, ENDS[0]
        prior, arguments = prior_columns(intervals.arguments), intervals.arguments.formula
        columns = decision_columns(threshold, end, end)
        values = [decision_column(name, prior, arguments, threshold, end, end) for name in names]
        moments = intervals.decided(threshold)
        clusters = intervals.clusters(threshold, moments)
        return self._estimator(names, moments, clusters, columns, values, decides=True)

    def _of_loss(self, loss: str, names: Sequence[str]) -> Estimator:
        intervals, unit, columns = self.intervals, np.array([1.0, 0.0]), loss_columns(loss)
        totals = intervals.sums(columns)
        values = [loss_column(name, prior_columns(intervals.arguments)) for name in names]
        of_rows = intervals.fine.with_sums(intervals.fine.losses(loss), totals[..., 1])
        moments = intervals.fine.moments((np.ones_like(of_rows), of_rows), unit)
        clusters, by_bucket = None, intervals.by_bucket
        if by_bucket is not None:
            cells = by_bucket.merged[0]
            of_cells = cells.with_sums(cells.losses(loss), totals[..., 1])
            clusters = by_bucket.clusters((np.ones_like(of_cells), of_cells), unit)
        return self._estimator(names, Moments(totals, moments.square, unit), clusters, columns, values, decides=False)

    def _estimator(
        self,
        names: Sequence[str],
        moments: Moments,
        clusters: Clusters | None,
        columns: list[list[str]],
        values: list[pl.Expr],
        *,
        decides: bool,
    ) -> Estimator:
        formula, n_groups = self.intervals.formula(columns, values), self.table.height

        def valid(formula: Formula, wrong: Floats) -> Formula:
            return lambda sums: np.where(np.equal(wrong, 0)[:, None], formula(sums), np.nan)

        def of_groups(groups: slice | Integers) -> Formula:
            return valid(self.intervals.formula(columns, values, groups), self.wrong[groups])

        def total(sums: Floats) -> Floats:
            # The formula is of all groups.
            found = formula(np.ascontiguousarray(np.broadcast_to(sums, (len(sums), n_groups, *sums.shape[2:]))))
            return np.where(self.wrong.sum() == 0, found[:, :1], np.nan)

        return Estimator(
            of_groups,
            moments,
            clusters,
            with_pseudocounts if decides else None,
            {name: lower_is_better(name) for name in names},
            rest=valid(formula, exclusive(self.wrong)),
            total=total,
        )


class SketchedDecisions(SketchTables):
    """The cells of decisions, with the sums of their groups as a comparison of rows has them."""

    @cached_property
    def _tables(self) -> DecisionTables:
        return DecisionTables(self.cells, self.keywords)

    @cached_property
    def _joint(self) -> tuple[joint_pass.JointCells, pl.DataFrame]:
        tables, model, costs = self._tables, self._tables.model, self._tables.model.rows.costs
        groups, numbered = with_numbers(_joint_table(tables), self.cells.keys)
        shape = joint_pass.Shape(groups.height, costs.n_classes, costs.n_decisions, self.cells.buckets)
        cells = joint_pass.JointCells(numbered, shape)
        groups = tables.with_prior(with_sums(groups, numbered, [model]).lazy()).collect()
        return cells, joint_pass.with_references(model, self._layout, cells, groups)

    @property
    def _layout(self) -> ReportLayout:
        return ReportLayout(self._tables.options, usual=False, min_rows=None, row_parts=(), total=False)

    @cached_property
    def table(self) -> pl.DataFrame:
        groups, prefix = self._joint[1], self._tables.model.prefix
        rows, present, invalid = (pl.col(f"{prefix}{name}") for name in ("rows", "present", "invalid"))
        return groups.with_columns(n=present - invalid, n_missing=rows - present, n_invalid=invalid)

    @property
    def prior(self) -> CheckedPrior:
        return self._tables.options.prior

    @property
    def stated_shares(self) -> Floats | None:
        if self.prior.expression is None:
            # Equal for all groups.
            return None
        name, classes = f"{self._tables.model.prefix}reference", range(len(self.cells.grid.classes.values))
        vector = pl.col(name).arr
        shares = [vector.get(i) if is_multiclass(self._tables.model) else pl.col(f"{name}_{i}") for i in classes]
        found = self._joint[1].select(share.alias(f"{i}") for i, share in enumerate(shares))
        return found.fill_null(np.nan).to_numpy()

    @property
    def amounts(self) -> tuple[Floats, Floats]:
        return self._joint[0].counts, self._joint[0].counts2

    def have_same_cells(self, places: Numbers, others: Numbers) -> bool:
        cells, model = self._joint[0], self._tables.model
        losses = [joint_pass.MetricFamily((), (value,)) for value in self._tables.values]
        # Equal decisions in each bucket may be those of other rows, but then the losses of some bucket differ.
        sums = (cells.linear(model, family, by_bucket=True) for family in (joint_pass.MetricFamily((), ()), *losses))
        return all(np.allclose(of[places], of[others], rtol=_ROUNDING) for of in sums)

    def estimators(self) -> Iterator[Estimator]:
        model, (cells, groups) = self._tables.model, self._joint
        for family in joint_pass.families(self.names, model.rows.row_costs is not None):
            yield joint_pass.estimator_of(cells.sums(model, family), groups, _AtOnePrior(model, family, self._layout))


def tables_of(cells: DecidingCells) -> type[SketchTables]:
    """Whose tables are those of such cells."""
    return SketchedDecisions if isinstance(cells.grid, DecisionGrid) else SketchTables


class _AtOnePrior(joint_pass.Metrics):
    """Metrics at the stated prior alone, by their own names."""

    @cached_property
    def _values(self) -> dict[str, pl.Expr]:
        of_both = super()._values
        return {name: of_both.get(f"{name}{AT_PRIOR}", of_both[name]) for name in self.family.names}


def _joint_table(tables: DecisionTables) -> pl.DataFrame:
    """The cells as the joint pass of a comparison counts them."""
    prefix, label, n = tables.model.prefix, pl.col(CLASS), pl.col("n")
    table = tables.table(clustered=True)
    columns = {
        joint_pass.JOINT: label,
        f"{prefix}{DECISION}": pl.col(DECISION),
        joint_pass.ROWS: n,
        f"{prefix}invalid": pl.when(label == -1).then(n).otherwise(0),
        joint_pass.UNDECIDED: pl.when(pl.col(DECISION) == NO_DECISION).then(n).otherwise(0),
    }
    if tables.cells.weighted:
        columns |= {joint_pass.WEIGHT: pl.col(WEIGHTS[0]), joint_pass.WEIGHT2: pl.col(WEIGHTS[1])}
    for x in tables.values:
        columns |= {
            f"{prefix}{x}": pl.col(x),
            joint_pass.product(f"{prefix}{x}", f"{prefix}{x}"): pl.col(f"{x}{SQUARE}"),
        }
        if tables.cells.weighted:
            columns[joint_pass.with_weight(f"{prefix}{x}")] = pl.col(f"{x}{TIMES_WEIGHT}")
    if tables.model.rows.row_costs is not None:
        # The cost of an error that is made, or 0.
        of_both = joint_pass.product(*(f"{prefix}{x}" for x in joint_pass.COSTS))
        columns[of_both] = pl.col(f"{joint_pass.COSTS[1]}{SQUARE}")
    buckets = [joint_pass.BUCKET] if joint_pass.BUCKET in table.columns else []
    return table.select(*tables.cells.keys, *buckets, **columns)


def _groups(
    tables: SketchTables, model: str | None, keys: Sequence[str], reference: validation.Reference, min_rows: int | None
) -> pl.DataFrame:
    table = tables.table
    groups = table.select(GROUP, *keys)
    against = against_of(reference, groups, keys)
    validation.check_prior(tables.prior, reference)
    level, differences = tables.request.level, dict[str, Differences]()
    with np.errstate(all="ignore"):
        for estimator in tables.estimators():
            differences |= estimator.difference(against, level)
        ranked = [name for name in tables.names if name in RANKING_METRICS]
        if ranked:
            ranking = ranking_estimator(tables.intervals, np.arange(table.height))
            differences |= {name: ranking.difference(name, against, level) for name in ranked}
    sizes = Sizes(table["n"], table["n_missing"], *tables.amounts)
    rows = (ResultRow(model, name, differences[name], sizes) for name in tables.names)
    return result_table(rows, groups, keys, reference, min_rows)


def _models(
    tables: SketchTables, models: Sequence[str], reference: validation.Reference, min_rows: int | None
) -> pl.DataFrame:
    """Models whose rows are the same: by what each bucket adds to either."""
    cells, table = tables.cells, tables.table
    if cells.coarse is None:
        raise SketchError(
            "the sketch does not know which rows of the models are the same: sketch the log with cluster=, the cluster "
            "column or a row number, or compare the rows with lf.ec.compare"
        )
    if cells.coarse["bucket"].null_count():
        raise SketchError(
            "some rows have no cluster key, so the sketch does not know whether the models have the same rows: compare the rows with lf.ec.compare"
        )
    keys = [key for key in cells.keys if key != SCORE]
    of_model = {name: table.filter(pl.col(SCORE) == name) for name in models}
    other = of_model[reference.model or ""]
    groups = other.select(*keys, pl.int_range(pl.len(), dtype=pl.get_index_type()).alias(GROUP))
    rows = []
    for name in models:
        if name == reference.model:
            continue
        own = of_model[name].rename({GROUP: "__ec_row"})
        placed = join_groups(groups, own, keys) if keys else groups.hstack(own)
        places = placed["__ec_row"].to_numpy(), other[GROUP].to_numpy()
        if own.height != other.height or placed["__ec_row"].null_count() or not _same_rows(tables, *places):
            raise other_rows(name, reference.model)
        sizes = Sizes(other["n"], other["n_missing"], *(of[places[1]] for of in tables.amounts))
        rows += [ResultRow(name, metric, of, sizes) for metric, of in _of_models(tables, *places).items()]
    return result_table(rows, groups, keys, reference, min_rows)


def _same_rows(tables: SketchTables, places: Numbers, others: Numbers) -> bool:
    """Whether two models have the same rows, judged by counts and by the weights of classes, which are rounded."""
    counts = tables.table.select("n", "n_missing", "n_invalid")
    weights = tables.amounts[0]
    return counts[places].equals(counts[others]) and np.allclose(weights[places], weights[others], rtol=_ROUNDING)


def _of_models(tables: SketchTables, places: Numbers, others: Numbers) -> dict[str, Differences]:
    """Differences of groups at these places of the table, and of the same groups of the reference at the others."""
    level, differences = tables.request.level, dict[str, Differences]()
    same = tables.have_same_cells(places, others)
    with np.errstate(all="ignore"):
        for estimator in tables.estimators():
            values, clusters = estimator.values, estimator.clusters
            assert clusters is not None
            weight = (clusters.linear @ clusters.unit)[others]
            linear = [clusters.linear[of] for of in (places, others)]
            # Costs by row are losses, although they have pseudo-counts: one row of a class does not say how they vary.
            known = has_rows(estimator.moments.rows[others], several=not clusters.unit.all())
            for m, name in enumerate(estimator.metrics):
                slopes = [estimator.slopes[..., m][of] for of in (places, others)]
                rests_on_one = np.logical_or(*(estimator.rests_on_one[of, m] for of in (places, others)))
                variance = paired_variance(slopes, linear, weight, rests_on_one).only(known)
                differences[name] = Differences.tested(values[places, m], values[others, m], variance, level, same=same)
        ranked = [name for name in tables.names if name in RANKING_METRICS]
        if ranked:
            first, second = (ranking_estimator(tables.intervals, of) for of in (places, others))
            differences |= {name: first.paired_difference(second, name, level, same=same) for name in ranked}
    return {name: differences[name] for name in tables.names}
