"""The contents of a page from its two sources: rows, and the cells of a sketch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from operator import or_
from typing import Any

import polars as pl

from polars_ec.api.comparisons import compare
from polars_ec.api.drifts import drift
from polars_ec.api.reports import report
from polars_ec.api.sketches import Sketch, sketch_of
from polars_ec.arguments.classes import Prior, parse_prior
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import (
    BY_ROW,
    Request,
    as_expr,
    parse_interval,
    parse_level,
    parse_min_rows,
    parse_options,
)
from polars_ec.arguments.scales import LLR, SKETCH_SCORE_TYPES, scale_of
from polars_ec.comparisons.items import by_item
from polars_ec.comparisons.validation import FEWEST_BUCKETS, check_period, level_and_clusters
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import AT_PRIOR, OF_RANKS, lower_is_better, worst, worst_first
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.inference.estimator import adjusted
from polars_ec.numerics import Floats, floats
from polars_ec.output.numbers import count
from polars_ec.output.words import costs_in_words, first_line, number
from polars_ec.page.contents import (
    NEC,
    ROW,
    Contents,
    costly_groups,
    group_names,
    judged_column,
    listed,
    lower_bounds_of_loss,
    with_kinks,
)
from polars_ec.page.request import PageRequest, PageSource
from polars_ec.reports.models import FORMULAS, metrics_of, named_metrics
from polars_ec.reports.of_cells import Point, columns_at
from polars_ec.reports.of_decisions import columns as columns_of_decisions
from polars_ec.scores.folds import BUCKETS, FOLD
from polars_ec.scores.read import Rows, class_prior_of_log, expand, join_groups, resolve_columns
from polars_ec.scores.scores import BinaryScores
from polars_ec.sketches.arguments import OperatingPoint, two_by_two
from polars_ec.sketches.cells import SCORE, TARGET, check_keys
from polars_ec.sketches.grid import UNDECIDED, DecisionGrid
from polars_ec.sketches.log_pass import ClusterKey, FoldKey, make_cells
from polars_ec.sketches.sums import is_overall, overall_prior
from polars_ec.typing import FrameLike, IntoExpr

_AT_BAYES = "Bayes decisions (the least expected cost by the score)"
_INDEPENDENT = (
    "Intervals and p-values assume independent rows, because no cluster column was passed. If rows are correlated, such as those of one "
    "user or one day, the intervals are too narrow."
)
_WITHIN_BOUNDS = "known only within bounds at these costs or this threshold, which the sketch was made without: name them in its thresholds="

_KEPT = "__ec_kept"
# Beyond so many groups and periods, or groups, it takes too long: the page shows some of them, and says which.
_MOST_IN_TRENDS, _MOST_CALIBRATED = 5_000, 500
_CALIBRATION = ("rcl", "rcl_ci_low", "rcl_ci_high")
# The bins per nat and the folds of the sketch of rows; and the number of classes beyond which sums are collected.
_RESOLUTION, _FOLDS, _MANY_CLASSES = 16, 5, 2
# So many classes are shown one by one on a page.
_MOST_CLASSES = 10


@dataclass(frozen=True)
class ModelRows:
    """The rows of one model; `period` and `keys` are columns of the log, `options` as `report` takes them."""

    frame: pl.LazyFrame
    score: pl.Expr
    label: pl.Expr
    keys: Sequence[pl.Expr]
    period: pl.Expr | None
    cluster: pl.Expr | None
    buckets: int
    options: Mapping[str, Any]

    @property
    def has_cells(self) -> bool:
        """Whether a sketch says it all: one number a row, two classes and decisions, costs and threshold the same for all."""
        options = parse_options(self.options, BY_ROW, ranking=True)
        costs = options.stated_costs
        return (
            options.scale.name in SKETCH_SCORE_TYPES
            and not self.frame.select(self.score).collect_schema().dtypes()[0].is_nested()
            and (costs is None or (costs.n_classes, costs.n_decisions) == (2, 2))
            and not any(name in options.columns for name in BY_ROW)
        )

    def class_prior(self, frame: pl.LazyFrame) -> Any:
        """The shares of the classes in these rows; None if one of the rows is invalid."""
        return _collected(frame.select(class_prior_of_log(self.score, self.label, self.options))).row(0)[0]

    def of_groups(self, groups: pl.DataFrame) -> pl.LazyFrame:
        """The rows of these groups."""
        # By one key that is sorted Polars does not find NaN.
        one, names = pl.lit(0), [key.meta.output_name() for key in self.keys]
        on: dict[str, Any] = {"left_on": [*self.keys, one], "right_on": [*names, one]}
        return self.frame.join(groups.lazy(), **on, how="semi", nulls_equal=True)

    def source(self, request: PageRequest) -> PageSource:
        """Sketch the rows in one pass where that says it all; else take tables of them, one pass each."""
        names = {"Score": self.score.meta.output_name(), "Label": self.label.meta.output_name()}
        if "pos_label" in self.options:
            names["Positive label"] = repr(self.options["pos_label"])
        if "weight" in self.options:
            names["Weight"] = as_expr(self.options["weight"], "weight").meta.output_name()
        request = replace(request, options={**names, **request.options})
        return SketchSource(request, self.sketch(request.prior)) if self.has_cells else RowSource(request, self)

    def sketch(self, prior: Any) -> Sketch:
        """Sketch the rows by group and period."""
        options = dict(self.options)
        if scale_of(options) is LLR and prior is not None:
            # The threshold of LLRs at the reference prior is exact where it is known before the pass.
            if parse_prior(prior).overall:
                prior = self.class_prior(self.frame)
                if prior is None and self.keys:
                    of_group = class_prior_of_log(self.score, self.label, self.options).alias(_KEPT)
                    priors = _collected(self.frame.group_by(self.keys).agg(of_group))
                    prior = self.class_prior(self.of_groups(priors.drop_nulls(_KEPT)))
            if prior not in (None, 0.0, 1.0):
                options["prior"] = prior
        cells, point = make_cells(
            self.frame,
            self.score,
            self.label,
            options,
            by=[*self.keys, *([] if self.period is None else [self.period])],
            resolution=_RESOLUTION,
            folds=FoldKey() if self.cluster is None else FoldKey(_FOLDS, self.cluster),
            clusters=ClusterKey(self.cluster, self.buckets),
        )
        return sketch_of(cells, point)


@dataclass(frozen=True)
class RowSource(PageSource):
    """Tables of rows of more classes or decisions, or with costs of their own: one pass each."""

    rows: ModelRows

    @property
    def has_likelihoods(self) -> bool:
        """Whether a prior turns the scores into posteriors."""
        scale = scale_of(self.rows.options)
        return scale is not None and scale.needs_prior

    @cached_property
    def columns(self) -> Rows:
        """The columns of the log."""
        # Any prior will do: which one turns likelihoods into posteriors does not matter here.
        uniform = {"prior": "uniform"} if self.has_likelihoods else {}
        options = parse_options({**self.rows.options, **uniform}, BY_ROW)
        return resolve_columns(self.rows.frame, self.rows.score, self.rows.label, options, _MANY_CLASSES)

    @cached_property
    def metrics(self) -> Sequence[str]:
        return metrics_of(named_metrics(self.request.metrics), self.columns)

    @cached_property
    def is_undecided(self) -> pl.Expr:
        """Whether a row lacks a valid cost or threshold, so that metrics of decisions are not known for its group."""
        return reduce(or_, self.columns.decision_faults.values(), pl.lit(value=False))

    @cached_property
    def undecided(self) -> pl.DataFrame:
        """The groups with such rows, and how many they have."""
        if not self.rows.keys or not self.columns.decision_faults:
            return pl.DataFrame()
        rows = self.rows.frame.filter(self.is_undecided)
        return _collected(rows.group_by(self.rows.keys, maintain_order=True).len(_KEPT))

    @cached_property
    def prior(self) -> float | None:
        if self.reference_prior is None:
            return None
        prior = parse_prior(self.reference_prior)
        if prior.overall:
            counted = self.group_tables[1]["class_prior"]
            return counted.item() if counted.dtype.is_float() else None
        return prior.shares[1] if prior.shares is not None and len(prior.shares) == 2 else None

    @property
    def keywords(self) -> dict[str, Any]:
        """The arguments of every table."""
        rows = self.rows
        clusters = {} if rows.cluster is None else {"cluster": rows.cluster, "buckets": rows.buckets}
        return {**rows.options, "interval": self.request.level, "min_rows": self.request.min_rows, **clusters}

    @property
    def main_keywords(self) -> dict[str, Any]:
        """The arguments of comparisons and drifts of the main metric, at the group's own prior."""
        prior = {"prior": self.reference_prior} if self.has_likelihoods else {}
        return {**self.keywords, "metrics": [self.metrics[0]], **prior}

    @property
    def judged_keywords(self) -> dict[str, Any]:
        """The arguments of comparisons and drifts at the reference prior."""
        if not self.judged_metric.endswith(AT_PRIOR):
            return self.main_keywords
        # As numbers: comparisons leave out groups, whose rows count for the prior of the whole log.
        counted = self.group_tables[1]["class_prior"][0] if is_overall(self.reference_prior) else None
        prior = counted.to_list() if isinstance(counted, pl.Series) else counted
        return {**self.main_keywords, "prior": self.reference_prior if prior is None else prior}

    def report(self, by: Sequence[pl.Expr], prior: Any, *, total: bool = False) -> pl.DataFrame:
        options = {"metrics": self.metrics, "prior": prior, **self.keywords}
        return _collected(report(self.rows.frame, self.rows.score, self.rows.label, by=by, total=total, **options))

    @cached_property
    def requested_report(self) -> pl.DataFrame:
        """The report at the prior that is stated, and its row of all groups."""
        return self.report(self.rows.keys, self.request.prior, total=bool(self.rows.keys))

    @cached_property
    def judged(self) -> pl.LazyFrame:
        """The rows of the groups without invalid rows, which are compared; all rows, if there are none or no others."""
        groups = self.requested_report.filter(~pl.col("total")) if self.request.keys else self.requested_report
        valid = groups.filter(n_invalid=0)
        return self.rows.of_groups(valid) if 0 < valid.height < groups.height else self.rows.frame

    @cached_property
    def reference_prior(self) -> Any:
        """The prior as it is stated, but for "overall" the shares in the groups without invalid rows, if others have some."""
        stated = self.request.prior
        if not is_overall(stated) or self.judged is self.rows.frame:
            return stated
        prior = self.rows.class_prior(self.judged)
        return stated if prior is None else prior

    @cached_property
    def group_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        keys = list(self.request.keys)
        if not keys:
            return self.requested_report, self.requested_report
        prior = self.reference_prior
        table = self.requested_report if prior is self.request.prior else self.report(self.rows.keys, prior, total=True)
        total = table.filter("total").drop("total", *keys)
        if not total.height:
            # An empty log has no row of all groups.
            total = self.report([], prior)
        return _largest_first(table.filter(~pl.col("total")).drop("total"), keys), total

    def period_table(self, keys: Sequence[str], period: str) -> pl.DataFrame:
        assert self.rows.period is not None
        table = self.report([*(self.rows.keys if keys else ()), self.rows.period], self.reference_prior)
        return table.drop_nulls(period).sort(*keys, period)

    @property
    def rest(self) -> pl.DataFrame | None:
        if self.group_tables[0].height < 2:
            return None
        rows, judged = self.rows, self.judged
        if self.metrics[0] in FORMULAS and 0 < self.undecided.height < self.group_tables[0].height:
            judged = judged.filter(~self.is_undecided.any().over(rows.keys))
        if judged is not rows.frame and _collected(judged.select(pl.struct(rows.keys).n_unique())).item() < 2:
            return None
        return self.compared(judged, rows.keys)

    def compared(self, frame: pl.LazyFrame, by: Sequence[pl.Expr]) -> pl.DataFrame:
        rows = self.rows
        table = compare(frame, rows.score, rows.label, by=by, reference="rest", **self.judged_keywords)
        return _collected(table).filter(metric=self.judged_metric)

    def compared_periods(self, periods: pl.Series) -> pl.DataFrame:
        at = self.rows.period
        assert at is not None
        frame = self.rows.frame.filter(at.is_in(periods.implode()))
        if self.metrics[0] in FORMULAS and self.columns.decision_faults:
            frame = frame.filter(~self.is_undecided.any().over(at))
        return self.compared(frame, [at])

    def drift(self, period: str, *, mix: bool) -> pl.DataFrame:
        return self._drift(period, self.metrics[0], **self.main_keywords, mix=self.rows.keys if mix else [])

    def _drift(self, period: str, metric: str, **stated: Any) -> pl.DataFrame:
        stated |= {"period": self.rows.period, "reference": self.reference}
        table = _collected(drift(self.rows.frame, self.rows.score, self.rows.label, **stated))
        return table.filter(pl.col("metric") == metric, pl.col(period).is_not_null())

    def last_changes(self, period: str) -> pl.DataFrame:
        keys = list(self.request.keys)
        changes = self._drift(period, self.judged_metric, **self.judged_keywords, by=self.rows.keys)
        used = changes.filter(pl.col("n") > 0)
        reference = pl.lit(self.reference).cast(used.schema[period])
        is_last = pl.col(period) == pl.col(period).max().over(keys or pl.lit(1))
        ends = used.filter(is_last & (pl.col(period) > reference))
        ends = ends.with_columns(pl.Series("p_adjusted", adjusted(floats(ends["p_value"])), nan_to_null=True))
        trend = self.trends[0]
        if trend is None or self.judged_metric != NEC or "nec_kinked" not in trend.columns:
            return ends
        places = [*keys, period]
        last = join_groups(ends.select(places), trend, places).select(trend.columns)
        return with_kinks(ends, pl.concat([trend.filter(pl.col(period) == reference), last]), keys)

    def lower_bounds(self, groups: pl.DataFrame, level: float) -> Floats:
        return lower_bounds_of_loss(groups, judged_column(groups, NEC), self.request.level)(level)

    def notes(self) -> Iterator[str]:
        yield "There are no curves and no calibration loss (RCL). They need one score per row, and the same costs and threshold for all."
        if self.rows.cluster is None:
            yield _INDEPENDENT
        if self.undecided.height:
            names = listed(group_names(self.undecided, self.request.keys))
            rows = count(int(self.undecided[_KEPT].sum()), "row")
            yield f"{rows} without a valid cost or threshold. {names}: no metrics of decisions and no comparison with all others."
        without_period, ranks = self.period_notes()
        yield from (*ranks, *without_period)

    @property
    def options(self) -> dict[str, str]:
        options, stated = self.rows.options, self.request.prior
        costs = [f"{name}={options[name]}" for name in ("costs", "cost_fn", "cost_fp") if name in options]
        prior = "none" if stated is None else f"{stated}"
        share = "" if self.prior is None or prior == f"{self.prior}" else f", {self.prior:.4g}"
        is_single = isinstance(self.columns.scores, BinaryScores)
        return {
            "Scores": str(options.get("score_type", "posterior" if is_single else "posteriors")),
            "Costs": ", ".join(costs) or "every error 1",
            "Decisions": f"score > {options['threshold']}" if "threshold" in options else _AT_BAYES,
            "Reference prior": f"{prior}{share}",
        }

    @property
    def clusters(self) -> tuple[str | None, int | None]:
        cluster = self.rows.cluster
        return None if cluster is None else cluster.meta.output_name(), self.rows.buckets


@dataclass(frozen=True)
class SketchSource(PageSource):
    """Tables of the cells of a sketch of one model, whose group columns are the keys and, if there is one, the period."""

    log: Sketch

    @cached_property
    def sketch(self) -> Sketch:
        """The sketch without the columns of its model and target."""
        return self.log.group_by(*(key for key in self.log.keys if key not in (SCORE, TARGET)))

    @cached_property
    def groups(self) -> Sketch:
        """The sketch by group."""
        return self.sketch.group_by(*self.request.keys)

    @property
    def curves(self) -> Sketch | None:
        return self.groups

    @cached_property
    def whole(self) -> Sketch:
        """All groups together."""
        return self.groups.group_by()

    @cached_property
    def judged(self) -> Sketch:
        """The groups without invalid rows, which are compared; all groups, if there are none or no others."""
        return _without(self.groups, pl.col("class") == -1)

    @property
    def compared(self) -> Sketch:
        """The groups that are compared."""
        return self.judged

    @cached_property
    def periods(self) -> Sketch:
        """The cells by group and period, without the rows that have none."""
        period = self.request.period
        assert period is not None
        return self.sketch.group_by(*self.request.keys, period).filter(pl.col(period).is_not_null())

    @cached_property
    def priors(self) -> list[float] | None:
        """The shares of both classes at the reference prior, if there is one."""
        stated, grid = self.request.prior, self.sketch.grid
        if stated is None:
            return None
        if not is_overall(stated):
            shares = parse_prior(stated).per_row(grid.classes, None)
            return list(pl.select(share.alias(f"{i}") for i, share in enumerate(shares)).row(0))
        counted: list[float] | None = overall_prior(self.judged.group_by())
        return None if self.are_llrs and counted is not None and 0 in counted else counted

    @property
    def are_llrs(self) -> bool:
        """Whether a prior turns the scores into posteriors."""
        return self.sketch.grid.scale.needs_prior

    @property
    def prior(self) -> float | None:
        return None if self.priors is None or len(self.priors) > 2 else self.priors[1]

    def columns(self, cells: Sketch, prior: Any, names: Sequence[str], interval: Request | None) -> pl.DataFrame:
        """The columns of a report on the cells."""
        return columns_at(cells, self.point, prior, names, interval)

    @cached_property
    def point(self) -> Point:
        """The costs and the threshold of the decisions."""
        return Point.of(self.sketch, {} if self.priors is None else {"prior": self.priors})

    @cached_property
    def interval(self) -> Request:
        """The confidence intervals of its tables."""
        interval = parse_interval({"interval": self.request.level})
        assert interval is not None
        return interval

    @cached_property
    def requested_metrics(self) -> list[str]:
        """The metrics that are named, or the usual ones."""
        if self.request.metrics is not None:
            return list(self.request.metrics)
        if self.are_llrs:
            # Losses of LLRs as posteriors are known within bounds only.
            return [*(name for name in self.point.usual if name not in SCORING_RULES), "cllr", "min_cllr", "auc_roc"]
        return [*self.point.usual, *(OF_RANKS if self.sketch.grid.scale.has_order_only else ("auc_roc",))]

    @cached_property
    def metrics(self) -> list[str]:
        known = columns_at(self.whole, self.point, None, self.requested_metrics, None).columns
        if self.request.metrics is not None:
            for name in self.requested_metrics:
                if name not in known:
                    raise SketchError(f"{name} is {_WITHIN_BOUNDS}")
        return [name for name in self.requested_metrics if name in known]

    def table(self, cells: Sketch) -> pl.DataFrame:
        """A row per group of the cells; groups with fewer than `min_rows` rows are small, too."""
        table, min_rows = self.columns(cells, self.priors, self.metrics, self.interval), self.request.min_rows
        return table if min_rows is None else table.with_columns(small=pl.col("small") | (pl.col("n") < min_rows))

    @cached_property
    def group_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        return _largest_first(self.table(self.groups), self.request.keys), self.table(self.whole)

    @cached_property
    def calibrated_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        groups, total = self.group_tables
        fold = [FOLD] if FOLD in self.sketch.keys else []
        by_group = self.calibrated(groups, self.sketch.group_by(*self.request.keys, *fold))
        return by_group, self.calibrated(total, self.sketch.group_by(*fold))

    def period_table(self, keys: Sequence[str], period: str) -> pl.DataFrame:
        if not keys:
            cells = self.periods.group_by(period)
        else:
            shown = self.groups_in_trends
            cells = self.periods if shown is None else _of_groups(self.periods, shown, self.request.keys)
        return self.table(cells).sort(*keys, period)

    @cached_property
    def groups_in_trends(self) -> pl.DataFrame | None:
        """The largest groups and the worst of the others, where all together have too many periods; else None."""
        keys, period, main = self.request.keys, self.request.period, self.metrics[0]
        assert period is not None
        if not keys or self.periods.frame.select(*keys, period).n_unique() <= _MOST_IN_TRENDS:
            return None
        number_of_each = max(_MOST_IN_TRENDS // (2 * self.periods.frame[period].n_unique()), 1)
        groups = self.group_tables[0]
        others = groups[number_of_each:].filter(~pl.col("small"))
        beside = worst_first(others, main, lower=lower_is_better(main)).head(number_of_each)
        return pl.concat([groups.head(number_of_each), beside]).select(keys)

    @property
    def is_calibrated(self) -> bool:
        """Whether there is a calibration loss."""
        return not self.sketch.grid.scale.has_order_only

    def calibrated(self, table: pl.DataFrame, cells: Sketch) -> pl.DataFrame:
        """The table with the calibration loss, of many groups with limits for the first of them."""
        if not self.is_calibrated:
            return table
        rule: Any = "cllr" if self.are_llrs else "cross_entropy"
        keys = cells.keys_beside_fold
        check_keys(keys, _CALIBRATION)
        training: Any = "cv" if FOLD in cells.keys else "test"
        first = table.head(_MOST_CALIBRATED)
        of_first = cells if table.height <= _MOST_CALIBRATED else _of_groups(cells, first.select(keys), keys)
        losses = of_first.calibration_loss(rule, training=training, interval=self.request.level)
        if table.height > _MOST_CALIBRATED:
            values = cells.calibration_loss(rule, training=training)
            losses = join_groups(values.select(*keys, "rcl"), losses.select(*keys, *_CALIBRATION[1:]), keys)
        gain = join_groups(table.select(keys), losses.select(*keys, *_CALIBRATION), keys) if keys else losses
        return table.with_columns(gain.select(_CALIBRATION))

    @property
    def stated(self) -> dict[str, Any]:
        """The arguments of comparisons and drifts."""
        return {"interval": self.request.level, "min_rows": self.request.min_rows, **self.point.keywords}

    @property
    def rest(self) -> pl.DataFrame | None:
        if not self.has_p_values or self.compared.frame.select(self.request.keys).n_unique() < 2:
            return None
        return self.compared.compare(self.metrics[0], reference="rest", **self.judged_at)

    def compared_periods(self, periods: pl.Series) -> pl.DataFrame:
        cells = _of_groups(self.periods.group_by(periods.name), periods.to_frame(), [periods.name])
        return cells.compare(self.metrics[0], reference="rest", **self.judged_at)

    @property
    def judged_at(self) -> dict[str, Any]:
        """The arguments of comparisons at the reference prior."""
        return {**self.stated, **({"prior": self.priors} if self.judged_metric.endswith(AT_PRIOR) else {})}

    def lower_bounds(self, groups: pl.DataFrame, level: float) -> Floats:
        table = self.columns(self.groups, self.priors, [NEC], replace(self.interval, level=level))
        keys = self.request.keys
        bounds = join_groups(groups.select(keys), table, keys) if keys else table
        return floats(bounds[f"{judged_column(groups, NEC)}_ci_low"])

    @property
    def has_p_values(self) -> bool:
        """Whether there are as many buckets as p-values need, or independent rows."""
        return self.sketch.buckets is None or self.sketch.buckets >= FEWEST_BUCKETS

    @cached_property
    def used(self) -> pl.DataFrame:
        """The groups and periods that have rows with label and score, right or wrong."""
        cells = self.periods.frame.filter(pl.col("class").is_not_null())
        return cells.select(*self.request.keys, self.request.period).unique()

    @property
    def has_changes(self) -> bool:
        return self.used.height > 0 and self.has_p_values and super().has_changes

    def drift(self, period: str, *, mix: bool) -> pl.DataFrame:
        keys = self.request.keys if mix else []
        return self.periods.drift(self.metrics[0], period=period, reference=self.reference, mix=keys, **self.stated)

    def last_changes(self, period: str) -> pl.DataFrame:
        keys, used, last = self.request.keys, self.used, pl.col(period).max()
        ends = used.group_by(keys).agg(last) if keys else used.select(last)
        reference = pl.lit(self.reference).cast(used.schema[period])
        kept = pl.concat([ends.filter(pl.col(period) > reference), used.filter(pl.col(period) == reference)])
        two_periods = _of_groups(self.periods, kept, [*keys, period])
        changes = two_periods.drift(self.metrics[0], period=period, reference=self.reference, **self.judged_at)
        if self.judged_metric != NEC:
            return changes
        return with_kinks(changes, self.columns(two_periods, None, [NEC], self.interval), keys)

    def notes(self) -> Iterator[str]:
        left_out = [name for name in self.requested_metrics if name not in self.metrics]
        if left_out:
            yield f"Left out: {', '.join(left_out)}, {_WITHIN_BOUNDS}."
        if self.request.prior is not None and self.priors is None:
            yield (
                "There is no reference prior. The classes of the whole log could not be counted, because rows are invalid, all rows are of "
                "one class, or there are no rows."
            )
        if self.sketch.buckets is None:
            yield _INDEPENDENT
        if not self.has_p_values:
            yield f"Nothing is compared. The sketch has {self.sketch.buckets} buckets of clusters, and p-values need at least {FEWEST_BUCKETS}."
        groups = self.group_tables[0].height
        if self.is_calibrated:
            if FOLD not in self.sketch.keys:
                yield "RCL is too high for small groups. The sketch has no folds, so calibrators are fitted to the rows that they are applied to."
            if groups > _MOST_CALIBRATED:
                yield f"Only the {_MOST_CALIBRATED:,} largest groups have confidence intervals for RCL."
        without_period, ranks = self.period_notes()
        yield from without_period
        if self.request.period is not None and self.groups_in_trends is not None:
            shown = self.groups_in_trends.height
            yield f"{shown:,} of {groups:,} groups have a trend: the largest and the {worst(self.metrics[0])}."
        yield from ranks

    @property
    def options(self) -> dict[str, str]:
        grid, threshold = self.sketch.grid, self.point.keywords.get("threshold")
        bins = "every distinct score" if grid.resolution is None else f"{grid.resolution} bins per nat"
        decisions = _AT_BAYES if self.point.decides else "none"
        costs = two_by_two(parse_options({**self.point.keywords, "threshold": None}))
        return {
            "Scores": f"{grid.score_type}, {bins}",
            "Costs": costs_in_words(costs.values),
            "Decisions": decisions if threshold is None else f"score > {number(threshold)}",
            "Reference prior": self.prior_in_words,
        }

    @property
    def prior_in_words(self) -> str:
        """The reference prior, and the rows that it is counted in."""
        if self.priors is None:
            return "none"
        share = ", ".join(f"{share:.4g}" for share in (self.priors if self.prior is None else [self.prior]))
        rows = "the whole log" if self.judged is self.groups else "the groups without invalid rows"
        return f"{share}, as in {rows}" if is_overall(self.request.prior) else share

    @property
    def clusters(self) -> tuple[str | None, int | None]:
        return self.sketch.cluster, self.sketch.buckets


@dataclass(frozen=True)
class DecisionSource(SketchSource):
    """Tables of a sketch of decisions, which has no scores for curves and calibration."""

    are_llrs = is_calibrated = False
    curves = None

    @property
    def is_undecided(self) -> pl.Expr:
        """Cells of rows without a valid cost, which leave a group without metrics of decisions."""
        return (pl.col("decision") == UNDECIDED) & (self.metrics[0] in FORMULAS)

    @property
    def compared(self) -> Sketch:
        return _without(self.judged, self.is_undecided)

    def compared_periods(self, periods: pl.Series) -> pl.DataFrame:
        of_periods = _without(self.periods.group_by(periods.name), self.is_undecided)
        return super().compared_periods(periods.filter(periods.is_in(of_periods.frame[periods.name].implode())))

    @cached_property
    def metrics(self) -> list[str]:
        assert self.point.decisions is not None
        return [*self.point.decisions.metrics(self.request.metrics)]

    @property
    def requested_metrics(self) -> list[str]:
        return self.metrics

    def columns(self, cells: Sketch, prior: Any, names: Sequence[str], interval: Request | None) -> pl.DataFrame:
        return columns_of_decisions(cells, {"prior": prior}, names, interval)

    def notes(self) -> Iterator[str]:
        yield "There are no curves and no calibration loss (RCL), because the sketch has decisions in place of scores."
        rows = self.groups.frame.filter(self.is_undecided)
        if rows.height and self.request.keys:
            names = listed(group_names(rows.select(self.request.keys).unique(maintain_order=True), self.request.keys))
            without = f"{count(int(rows['n'].sum()), 'row')} without a valid cost"
            yield f"{without}. {names}: no metrics of decisions and no comparison with all others."
        yield from super().notes()

    @property
    def options(self) -> dict[str, str]:
        grid, point = self.sketch.grid, self.sketch.operating_point
        costs, is_binary = point.costs, (point.costs.n_classes, point.costs.n_decisions) == (2, 2)
        words = costs_in_words(costs.values) if is_binary else f"{costs!r}"
        if costs.n_classes == costs.n_decisions and costs == CostMatrix.zero_one(costs.n_classes):
            words = "every error 1"
        if grid.row_costs is not None:
            words = "cost_fn={}, cost_fp={}".format(*grid.row_costs)
        return {
            "Scores": grid.score_type,
            "Costs": words,
            "Decisions": _AT_BAYES if point.threshold is None else f"score > {number(point.threshold)}",
            "Reference prior": self.prior_in_words,
        }


def _source_of(request: PageRequest, sketch: Sketch) -> SketchSource:
    return (DecisionSource if isinstance(sketch.grid, DecisionGrid) else SketchSource)(request, sketch)


def _without(sketch: Sketch, cells: pl.Expr) -> Sketch:
    """The groups without such cells; all groups, if there are none or no others."""
    keys = sketch.keys
    groups = sketch.frame.group_by(keys).agg(cells.any().alias(ROW)) if keys else pl.DataFrame({ROW: [False]})
    kept = groups.filter(~pl.col(ROW)).select(keys)
    return _of_groups(sketch, kept, keys) if 0 < kept.height < groups.height else sketch


def _of_groups(sketch: Sketch, groups: pl.DataFrame, keys: Sequence[str]) -> Sketch:
    kept = groups.with_columns(pl.lit(value=True).alias(_KEPT))
    return sketch.on_tables(lambda table: join_groups(table, kept, keys).filter(pl.col(_KEPT)).drop(_KEPT))


def _largest_first(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The groups by their rows; those that have as many by their keys."""
    return table.sort("n", *keys, descending=[True, *[False] * len(keys)], nulls_last=False)


def _collected(table: pl.LazyFrame) -> pl.DataFrame:
    return table.collect(engine="streaming")


def contents_of(
    log: FrameLike | Sketch,
    score: IntoExpr | Sequence[IntoExpr] | None,
    label: IntoExpr | None,
    *,
    model: IntoExpr | None = None,
    item: IntoExpr | Sequence[IntoExpr] | None = None,
    by: IntoExpr | Sequence[IntoExpr] = (),
    period: IntoExpr | None = None,
    reference: Any = None,
    metrics: Sequence[str] | None = None,
    prior: Prior = "overall",
    cluster: IntoExpr | None = None,
    buckets: int = BUCKETS,
    interval: float = 0.95,
    min_rows: int | None = None,
    title: str | None = None,
    options: Mapping[str, Any],
) -> list[Contents]:
    """Make the contents of a page, one for each model; the arguments are those of `report_page`."""
    if isinstance(log, Sketch):
        of_point = ("costs", "cost_fn", "cost_fp", "threshold")
        of_rows = {name: value for name, value in options.items() if name not in of_point}
        of_rows |= {"score": score, "label": label, "model": model, "item": item, "cluster": cluster}
        for name, value in [*of_rows.items(), ("buckets", None if buckets == BUCKETS else buckets)]:
            if value is not None:
                raise TypeError(
                    f"{name}={value!r} describes rows, and the log is a sketch, which was made from them: leave it out"
                )
        sketch, keys = _rolled_up(log, by, period)
        stated = {name: value for name, value in options.items() if value is not None}
        sketch = _at_point(sketch, stated)
        classes = _classes_of(sketch)
        models: dict[str, Sketch | ModelRows] = {**(classes or _models_of(sketch))}
        period_name = None if period is None else as_expr(period, "period").meta.output_name()
        named = PageRequest.title
    else:
        classes = dict[str, Sketch]()
        rows = _model_rows(as_lazy(log), score, label, model, item, by, period, cluster, buckets, options)
        models = {model.score.meta.output_name(): model for model in rows}
        keys = [key.meta.output_name() for key in rows[0].keys]
        period_name = None if rows[0].period is None else rows[0].period.meta.output_name()
        if period_name in keys:
            raise ValueError(f"by= has a column {period_name!r}, which is the period: leave it out there")
        named = f"{', '.join(models)} against {rows[0].label.meta.output_name()}"
    level, fewest = parse_level(interval), parse_min_rows(min_rows)
    request = PageRequest(keys, period_name, reference, metrics, prior, level, fewest, title or named)
    sources = {
        name: _source_of(request, model) if isinstance(model, Sketch) else model.source(request)
        for name, model in models.items()
    }
    if len(sources) == 1:
        return [build_contents(source) for source in sources.values()]
    contents = [
        replace(build_contents(source), model=name, noun="Class" if classes else "Model")
        for name, source in sources.items()
    ]
    if classes:
        return contents
    first = contents[0]
    terms: dict[str, Any] = {"prior": prior} if first.judged_metric != first.metrics[0] else {}
    if isinstance(log, Sketch):
        terms |= {**_source_of(request, sketch).stated, "reference": first.model}
    else:
        terms |= {**RowSource(request, rows[0]).keywords, "metrics": [first.metrics[0]], "reference": first.model}

    def compared(by: Sequence[str]) -> pl.DataFrame:
        if isinstance(log, Sketch):
            table = sketch.group_by(SCORE, *by).compare(first.metrics[0], **terms)
        else:
            exprs, scores = rows[0].keys if by else [], [model.score for model in rows]
            table = _collected(compare(rows[0].frame, scores, rows[0].label, by=exprs, **terms))
        # From rows, the value at the reference prior follows the one at the own prior.
        return table.unique([*by, "model"], keep="last", maintain_order=True)

    try:
        whole = compared([])
        by_group = compared(keys) if first.groups.height > 1 else whole.clear()
    except (ValueError, SketchError) as error:
        # Some metrics have no difference, and a sketch without clusters does not know which rows belong together.
        note = f"The models are not compared: {first_line(error)}."
        return [replace(of_model, notes=[note, *of_model.notes]) for of_model in contents]
    return [
        replace(
            of_model, versus=whole.filter(model=of_model.model), versus_by_group=by_group.filter(model=of_model.model)
        )
        for of_model in contents
    ]


def _at_point(sketch: Sketch, stated: Mapping[str, Any]) -> Sketch:
    """The sketch at the stated operating point; those of decisions are refused another one."""
    if isinstance(sketch.grid, DecisionGrid):
        Point.of(sketch, stated)
        return sketch
    keywords, threshold = sketch.operating_point.stands_in(stated, sketch.grid.classes)
    point = OperatingPoint.of(keywords, sketch.grid.classes)
    if threshold is not None and "threshold" not in stated:
        point = OperatingPoint(point.costs, threshold)
    return sketch_of(sketch, point)


def _models_of(sketch: Sketch) -> dict[str, Sketch]:
    """The sketch of each model by its name."""
    if SCORE not in sketch.keys:
        return {"": sketch}
    names = sketch.frame[SCORE].unique(maintain_order=True).to_list()
    return {str(name): sketch.filter(pl.col(SCORE) == name) for name in names}


def _classes_of(sketch: Sketch) -> dict[str, Sketch]:
    """The sketch of each class against the rest by its name; none if there are not several."""
    targets = sketch.frame[TARGET].unique(maintain_order=True).to_list() if TARGET in sketch.keys else []
    if len(targets) < 2:
        return {}
    if SCORE in sketch.keys and (models := sketch.frame[SCORE].unique(maintain_order=True)).len() > 1:
        raise SketchError(
            f"the sketch has {models.len()} models of {len(targets)} classes, and a page shows the classes of one model: pass "
            f"sketch.filter(pl.col({SCORE!r}) == {models[0]!r})"
        )
    if len(targets) > _MOST_CLASSES:
        raise SketchError(
            f"the sketch has {len(targets)} classes, and a page shows at most {_MOST_CLASSES}: pass "
            f"sketch.filter(pl.col({TARGET!r}).is_in({targets[:2]!r}))"
        )
    return {str(target): sketch.filter(pl.col(TARGET) == target) for target in targets}


def build_contents(source: PageSource) -> Contents:
    """Make the contents of a page of the tables of a source."""
    request = source.request
    # A reference that is no period is an error before the rest is made.
    changes, history = source.drifts
    groups, total = source.calibrated_tables
    trend, trend_total = source.trends
    # If no row has a period, there are none to show.
    has_trends = trend_total is not None and not trend_total.is_empty()
    return Contents(
        title=request.title,
        keys=list(request.keys),
        period=request.period if has_trends else None,
        metrics=list(source.metrics),
        prior=source.prior,
        interval=request.level,
        groups=groups,
        total=total,
        trend=trend if has_trends else None,
        trend_total=trend_total if has_trends else None,
        rest=source.rest,
        periods=source.periods_compared,
        costly=costly_groups(
            groups, lambda level: source.lower_bounds(groups, level), request.level, judged_column(groups, NEC)
        ),
        changes=changes,
        history=history,
        reference=source.reference,
        curves=source.curves,
        notes=list(source.notes()),
        options=source.all_options,
    )


def _rolled_up(sketch: Sketch, by: IntoExpr | Sequence[IntoExpr], period: IntoExpr | None) -> tuple[Sketch, list[str]]:
    """The sketch by the keys of the page, its period, and its own columns of models and folds; and the names of the keys."""
    own_keys = (SCORE, TARGET, FOLD)
    columns = sketch.frame.select(key for key in sketch.keys if key not in own_keys).lazy()
    group_columns = columns.collect_schema().names()

    def expanded(argument: str, values: IntoExpr | Sequence[IntoExpr]) -> list[pl.Expr]:
        keys = expand(columns, values, argument)
        for name in [name for key in keys for name in key.meta.root_names()]:
            if name not in group_columns:
                raise SketchError(
                    f"{argument}= names {name!r}, which is not a group column of the sketch, which has {group_columns}"
                )
        return keys

    periods = [] if period is None else [check_period(columns, expanded("period", period))]
    of_period = {name for key in periods for name in (key.meta.output_name(), *key.meta.root_names())}
    is_stated = isinstance(by, pl.Expr | str) or len(by) > 0
    keys = expanded("by", by) if is_stated else [pl.col(name) for name in group_columns if name not in of_period]
    names = [key.meta.output_name() for key in keys]
    for key in periods:
        if key.meta.output_name() in names:
            raise SketchError(f"by= has a column {key.meta.output_name()!r}, which is the period: leave it out there")
    return sketch.group_by(*keys, *periods, *(name for name in own_keys if name in sketch.keys)), names


def _model_rows(
    frame: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr] | None,
    label: IntoExpr | None,
    model: IntoExpr | None,
    item: IntoExpr | Sequence[IntoExpr] | None,
    by: IntoExpr | Sequence[IntoExpr],
    period: IntoExpr | None,
    cluster: IntoExpr | None,
    buckets: int,
    options: Mapping[str, Any],
) -> list[ModelRows]:
    """The rows of each model, checked as far as the schema allows."""
    if score is None or label is None:
        name = "score" if score is None else "label"
        raise TypeError(f"{name}= is left out, and the log is a frame: name its column")
    scores = expand(frame, score, "score")
    if cluster is None and buckets != BUCKETS:
        raise ValueError(
            f"buckets={buckets} is the number of hash buckets for clusters, and there are none: pass cluster=, or leave it out"
        )
    level_and_clusters({"interval": 0.95, "cluster": cluster, "buckets": buckets}, [""])
    keys = expand(frame, by, "by")
    at = None if period is None else check_period(frame, expand(frame, period, "period"))
    of_cluster = None if cluster is None else as_expr(cluster, "cluster")
    stated = {name: value for name, value in options.items() if value is not None}
    if model is not None or item is not None:
        wide, of_models, of_item = by_item(frame, score, label, model, item, [*keys, at, of_cluster], stated)
        # Each table reads the items again, and a log without rows has no models.
        items = _collected(wide)
        if items.height:
            frame, scores, label = items.lazy(), of_models, of_item
    return [ModelRows(frame, one, as_expr(label, "label"), keys, at, of_cluster, buckets, stated) for one in scores]
