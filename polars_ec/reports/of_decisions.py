"""The report on a sketch of decisions: its cells take the place of those that a pass over rows counts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from polars_ec.arguments.classes import EMPIRICAL
from polars_ec.arguments.keywords import Options, Request, parse_options
from polars_ec.arguments.scales import DECISION as OF_DECISIONS
from polars_ec.arguments.scales import POSTERIOR, POSTERIORS
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import AT_PRIOR
from polars_ec.formulas.ranking import CLASS_AREAS, RANKING_METRICS
from polars_ec.reports.intervals import with_intervals
from polars_ec.reports.models import (
    AMOUNT,
    BUCKET,
    CLASS_OF_SUMS,
    ONCE,
    RESAMPLED,
    TWICE,
    Model,
    N,
    is_multiclass,
    metrics_of,
    named_metrics,
    needed,
    sum_per_group,
    summed_decisions,
    with_priors,
)
from polars_ec.reports.result import ReportLayout, families_of, group_columns
from polars_ec.scores.read import Labels, Rows
from polars_ec.scores.scores import CLASS, DECISION, WEIGHT, BinaryScores, DecidedScores, ManyScores, RowCosts
from polars_ec.sketches.cells import check_keys, in_order, of_each_model
from polars_ec.sketches.decision_pass import row_costs_in_words
from polars_ec.sketches.grid import BUCKET as CELL_BUCKET
from polars_ec.sketches.grid import ERROR_COST, SQUARE, TIMES_WEIGHT, UNDECIDED, WEIGHTS, DecisionGrid
from polars_ec.sketches.operating_points import DecidingCells

_PREFIX, _PRIOR = "__ec_0_", "__ec_prior"
_ENDS = {"": "", SQUARE: TWICE, TIMES_WEIGHT: ONCE}
_COSTS = ("costs", "cost_fn", "cost_fp")
CLASS_COST = "class_cost"
_OF_METRIC = ("", "_ci_low", "_ci_high", "_kinked")


@dataclass(frozen=True)
class DecisionTables:
    """The cells of one model's decisions in the forms that the formulas of a report take; `stated` has the prior and any costs."""

    cells: DecidingCells
    stated: Mapping[str, Any]

    @property
    def grid(self) -> DecisionGrid:
        assert isinstance(self.cells.grid, DecisionGrid)
        return self.cells.grid

    @cached_property
    def options(self) -> Options:
        """The prior, and where it decides."""
        point = self._point()
        return parse_options({"prior": self.stated.get("prior"), **point})

    def _point(self) -> dict[str, Any]:
        """The costs and the threshold: those of the sketch, but where no cost decided any cost will do."""
        point, costs = self.cells.operating_point, self.cells.costs
        stated = {name: self.stated[name] for name in _COSTS if self.stated.get(name) is not None}
        those = f"those in the sketch ({point.words(self.grid.row_costs)})"
        if (threshold := self.stated.get("threshold")) not in (None, point.threshold):
            raise SketchError(
                f"threshold={threshold!r} makes other decisions than {those}: sketch the log again with it"
            )
        if stated:
            options = parse_options(stated, _COSTS)
            costs = options.costs(point.costs.n_classes).for_classes(self.grid.classes)
            is_decided = point.threshold is not None or self.grid.score_type == OF_DECISIONS.name
            shape = (costs.n_classes, costs.n_decisions) == (point.costs.n_classes, point.costs.n_decisions)
            same = shape and (is_decided or costs.values == point.costs.values)
            if row_costs_in_words(options) != self.grid.row_costs or not same:
                words = ", ".join(f"{name}={value!s}" for name, value in stated.items())
                raise SketchError(
                    f"{words} makes other decisions than {those}: leave it out, or sketch the log again with it"
                )
        return {"costs": costs, "threshold": point.threshold}

    @cached_property
    def model(self) -> Model:
        """The model as if its rows had been read: no expression on them is ever evaluated."""
        grid, options, classes = self.grid, self.options, self.grid.classes
        # What depends on the groups is not known here.
        prior = EMPIRICAL if options.prior.overall or options.prior.expression is not None else options.prior
        shares = prior.per_row(classes, None) if prior.stated else None
        number, n_classes = pl.col("score"), len(classes.values)
        scores: Any = ManyScores(number, n_classes, POSTERIORS, None, may_differ=False)
        if grid.score_type == OF_DECISIONS.name:
            scores = DecidedScores(number, range(grid.n_decisions), grid.n_decisions)
        elif n_classes == 2:
            scores = BinaryScores(number, POSTERIOR)
        label = pl.col("label")
        rows = Rows(
            options=replace(options, prior=prior),
            scores=scores,
            labels=Labels(label, [label == i for i in range(n_classes)], None, classes),
            weight=pl.col(WEIGHT) if self.cells.weighted else None,
            costs=options.costs(n_classes),
            prior=shares,
            row_prior=shares,
            class_names=classes,
            threshold=options.threshold,
            row_costs=None if grid.row_costs is None else RowCosts(number, number),
            prior_vector=prior.vector(classes, None),
        )
        return Model("score", rows, _PREFIX)

    def table(self, clustered: bool) -> pl.DataFrame:
        """The cells, by bucket if rows are in clusters, with the numbers of the rows' costs."""
        frame, coarse = self.cells.frame, self.cells.coarse
        if clustered and coarse is not None:
            unusable = frame.filter((pl.col(CLASS) >= 0).fill_null(value=False).not_())
            frame = pl.concat([coarse, unusable], how="diagonal").select(coarse.columns).rename({CELL_BUCKET: BUCKET})
        if self.grid.row_costs is None:
            return frame
        wrong = pl.when(pl.col(DECISION) != pl.col(CLASS))
        ends = [end for end in _ENDS if f"{ERROR_COST}{end}" in frame.columns]
        return frame.with_columns(
            **{f"{CLASS_COST}{end}": pl.col(f"{ERROR_COST}{end}") for end in ends},
            **{f"{ERROR_COST}{end}": wrong.then(f"{ERROR_COST}{end}").otherwise(0.0) for end in ends},
        )

    @property
    def values(self) -> tuple[str, ...]:
        """The values of rows whose sums the table has."""
        return self.grid.values if self.grid.row_costs is None else (*self.grid.values, CLASS_COST)

    def counted(self, request: Request | None) -> pl.LazyFrame:
        """The sums as `sum_per_class` has them."""
        table, model = self.table(clustered=request is not None).lazy(), self.model
        renamed = {f"{x}{end}": f"{x}{of}" for x in self.values for end, of in _ENDS.items()}
        if is_multiclass(model):
            renamed |= {CLASS: CLASS, DECISION: DECISION, WEIGHT: AMOUNT, WEIGHTS[1]: f"{WEIGHT}{TWICE}"}
            prefixed = {name: f"{_PREFIX}{to}" for name, to in renamed.items()}
            return table.rename({**prefixed, "n": N}, strict=False)
        label, decision, n = pl.col(CLASS), pl.col(DECISION), pl.col("n")
        amounts = {"": pl.col(WEIGHT) if model.rows.weight is not None else n}
        amounts |= {} if model.rows.weight is None else {TWICE: pl.col(WEIGHTS[1])}

        def total(mask: pl.Expr, value: pl.Expr = n) -> pl.Expr:
            return pl.when(mask).then(value).otherwise(0).sum()

        sums = {
            "rows": n.sum(),
            "invalid": total(label == -1),
            "present": total(label.is_not_null()),
            "undecided": total(decision == UNDECIDED),
        }
        for end, amount in amounts.items():
            sums[f"count{end}"] = total(label >= 0, amount)
            decided = {f"decided_{j}{end}": decision == j for j in summed_decisions(model)}
            sums |= {name: total((label >= 0) & mask, amount) for name, mask in decided.items()}
        there = table.collect_schema()
        sums |= {to: pl.col(name).sum() for name, to in renamed.items() if name in there}
        if request is not None and request.is_resampled:
            # Rows of one decision are resampled together; those of a cluster with it.
            alone = pl.col(BUCKET).is_null() if BUCKET in there else pl.lit(value=True)
            table = table.with_columns(pl.when(alone).then(decision.cast(pl.Int64)).alias(RESAMPLED))
        units = [name for name in (BUCKET, RESAMPLED) if name in table.collect_schema()]
        by = [*self.cells.keys, label.alias(CLASS_OF_SUMS), *units]
        return table.group_by(by).agg(**{f"{_PREFIX}{name}": column for name, column in sums.items()})

    def report(self, metrics: Sequence[str] | None, request: Request | None) -> pl.DataFrame:
        """A row per group with the columns of a report: metrics at its own prior and, if a stated one moves them, at that."""
        return self._report(self.metrics(metrics), request, usual=metrics is None)

    def metrics(self, named: Sequence[str] | None) -> tuple[str, ...]:
        """The named metrics, or the usual ones; SketchError for those that need scores."""
        for name in named or ():
            if name == "ece" or name in (*RANKING_METRICS, *CLASS_AREAS):
                raise SketchError(
                    f"{name} needs scores, and the sketch has decisions: sketch the log without reduction='decisions' too"
                )
        return metrics_of(named_metrics(named), self.model.rows)

    def _report(self, chosen: Sequence[str], request: Request | None, *, usual: bool) -> pl.DataFrame:
        model, keys = self.model, self.cells.keys
        if request is not None and self.cells.coarse is not None:
            request = replace(request, cluster=pl.col(BUCKET), buckets=self.cells.buckets or 0)
        layout = ReportLayout(self.options, usual, None, (), total=False, interval=request)
        needs = replace(needed([*chosen, "confusion"], ()), interval=request)
        sums = self.with_prior(sum_per_group(self.counted(request), keys, [model], needs, total=False))
        sums = with_priors(sums, [model], self.options, total=False)
        if request is not None:
            sums = with_intervals(sums, list(families_of(model, chosen, layout)), [], request)
        shown = group_columns(model, chosen, layout)
        check_keys(keys, shown)
        return sums.select(*keys, **shown).collect()

    def with_prior(self, sums: pl.LazyFrame) -> pl.LazyFrame:
        """The sums with the prior that an expression on `n`, `class_prior` and the keys states for each group."""
        prior, classes = self.options.prior, self.grid.classes
        if prior.expression is None:
            return sums
        table = replace(self, stated={})._report([], None, usual=False).select(prior.expression.alias(_PRIOR))
        shares = replace(prior, expression=pl.col(_PRIOR)).per_row(classes, table.schema[_PRIOR])
        columns = {f"{_PREFIX}reference_{i}": share for i, share in enumerate(shares)}
        if is_multiclass(self.model):
            columns = {f"{_PREFIX}reference": pl.when(shares[0].is_not_null()).then(pl.concat_arr(shares))}
        return sums.collect().hstack(table.select(**columns)).lazy()


def columns(
    sketch: DecidingCells, options: Mapping[str, Any], metrics: Sequence[str] | None, request: Request | None
) -> pl.DataFrame:
    """A row per group of each model, as in a report on the rows."""
    tables = [DecisionTables(cells, options).report(metrics, request) for _, cells in of_each_model(sketch)]
    return in_order(pl.concat(tables), sketch.keys)


def evaluated(
    sketch: DecidingCells, metrics: Sequence[str], stated: Mapping[str, Any], request: Request | None
) -> pl.DataFrame:
    """The result of `Sketch.evaluate`: metrics at the stated prior, or at the group's own."""
    table = columns(sketch, stated, metrics or None, request)
    first = [*sketch.keys, "n", "n_missing", "n_invalid", "class_prior", *(["small"] if request is not None else [])]
    return table.select(*first, **dict(_at_one_prior([name for name in table.columns if name not in first])))


def _at_one_prior(columns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The columns by their names without the prior: of metrics that a stated one moves, those at that prior."""
    moved = {metric for metric, at_prior, _ in (name.partition(AT_PRIOR) for name in columns) if at_prior}
    left_out = {f"{metric}{end}" for metric in moved for end in _OF_METRIC}
    return ((name.replace(AT_PRIOR, ""), name) for name in columns if name not in left_out)
