"""The rows of a model on a page, and its tables from them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import Any

import polars as pl

from polars_ec.api.comparisons import compare
from polars_ec.api.drifts import drift
from polars_ec.api.reports import report
from polars_ec.arguments.classes import parse_prior
from polars_ec.arguments.keywords import BY_ROW, parse_options
from polars_ec.arguments.scales import SKETCH_SCORE_TYPES, scale_of
from polars_ec.formulas.decisions import AT_PRIOR
from polars_ec.inference.estimator import adjusted
from polars_ec.numerics import Floats, floats
from polars_ec.output.numbers import count
from polars_ec.page.contents import NEC, group_names, judged_column, listed, lower_bounds_of_loss, with_kinks
from polars_ec.page.request import PageSource, largest_first
from polars_ec.reports.models import FORMULAS, metrics_of, named_metrics
from polars_ec.scores.read import Rows, class_prior_of_log, join_groups, resolve_columns
from polars_ec.scores.scores import BinaryScores
from polars_ec.sketches.sums import is_overall

AT_BAYES = "Bayes decisions (the least expected cost by the score)"
INDEPENDENT = (
    "Intervals and p-values assume independent rows, because no cluster column was passed. If rows are correlated, such as those of one "
    "user or one day, the intervals are too narrow."
)
KEPT = "__ec_kept"
# The number of classes beyond which sums are collected.
_MANY_CLASSES = 2


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
        shares = frame.select(class_prior_of_log(self.score, self.label, self.options))
        return shares.collect(engine="streaming").row(0)[0]

    def of_groups(self, groups: pl.DataFrame) -> pl.LazyFrame:
        """The rows of these groups."""
        # By one key that is sorted Polars does not find NaN.
        one, names = pl.lit(0), [key.meta.output_name() for key in self.keys]
        on: dict[str, Any] = {"left_on": [*self.keys, one], "right_on": [*names, one]}
        return self.frame.join(groups.lazy(), **on, how="semi", nulls_equal=True)


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
        return rows.group_by(self.rows.keys, maintain_order=True).len(KEPT).collect(engine="streaming")

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
        rows, options = self.rows, {"metrics": self.metrics, "prior": prior, "total": total, **self.keywords}
        return report(rows.frame, rows.score, rows.label, by=by, **options).collect(engine="streaming")

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
        return largest_first(table.filter(~pl.col("total")).drop("total"), keys), total

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
        if (
            judged is not rows.frame
            and judged.select(pl.struct(rows.keys).n_unique()).collect(engine="streaming").item() < 2
        ):
            return None
        return self.compared(judged, rows.keys)

    def compared(self, frame: pl.LazyFrame, by: Sequence[pl.Expr]) -> pl.DataFrame:
        rows = self.rows
        table = compare(frame, rows.score, rows.label, by=by, reference="rest", **self.judged_keywords)
        return table.collect(engine="streaming").filter(metric=self.judged_metric)

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
        table = drift(self.rows.frame, self.rows.score, self.rows.label, **stated).collect(engine="streaming")
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
            yield INDEPENDENT
        if self.undecided.height:
            names = listed(group_names(self.undecided, self.request.keys))
            rows = count(int(self.undecided[KEPT].sum()), "row")
            yield f"{rows} without a valid cost or threshold. {names}: no metrics of decisions and no comparison with all others."
        without_period, ranks = self.period_notes()
        yield from (*ranks, *without_period)

    @property
    def options(self) -> dict[str, str]:
        options, stated = self.rows.options, self.request.prior
        stated_costs = {name: options[name] for name in ("costs", "cost_fn", "cost_fp") if name in options}
        if stated_costs and "costs" not in stated_costs:
            stated_costs = {"cost_fn": 1, "cost_fp": 1} | stated_costs
        costs = [f"{name}={cost}" for name, cost in stated_costs.items()]
        prior = "none" if stated is None else f"{stated}"
        share = "" if self.prior is None or prior == f"{self.prior}" else f", {self.prior:.4g}"
        is_single = isinstance(self.columns.scores, BinaryScores)
        return {
            "Scores": str(options.get("score_type", "posterior" if is_single else "posteriors")),
            "Costs": ", ".join(costs) or "every error 1",
            "Decisions": f"score > {options['threshold']}" if "threshold" in options else AT_BAYES,
            "Reference prior": f"{prior}{share}",
        }

    @property
    def clusters(self) -> tuple[str | None, int | None]:
        cluster = self.rows.cluster
        return None if cluster is None else cluster.meta.output_name(), self.rows.buckets
