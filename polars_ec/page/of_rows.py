"""The contents of a page from rows: from their sketch where there is one score a row and one point to decide at; else from tables of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from polars_ec.arguments import BY_ROW, as_expr, parse_options
from polars_ec.cells.grid import SKETCH_SCORE_TYPES
from polars_ec.cells.make import Clusters, Split, make_cells
from polars_ec.cells.moments import floats
from polars_ec.comparing.differences import adjusted
from polars_ec.comparisons import compare
from polars_ec.drifts import drift
from polars_ec.metrics.counts import class_prior_of_log
from polars_ec.page.asked import Asked, is_made_of_sums
from polars_ec.page.contents import Contents, largest_first
from polars_ec.page.costly import costly_groups, lows_of_loss, with_kinks
from polars_ec.page.notes import AT_BAYES, INDEPENDENT, no_parts, without_period
from polars_ec.page.of_sketch import contents_of_sketch
from polars_ec.priors import parse_prior
from polars_ec.reporting.choice import metrics_of, named_metrics
from polars_ec.reports import report
from polars_ec.rows.read import join_groups, resolve_columns
from polars_ec.sketches import sketch_of

_RESOLUTION, _FOLDS, _MANY = 16, 5, 2


@dataclass(frozen=True)
class Log:
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
        """Whether a sketch has all there is to say: one number a row, two classes and decisions, costs and threshold the same for all."""
        options = parse_options({**self.options, "score_type": "posterior"}, BY_ROW)
        costs = options.stated_costs
        return (
            self.options.get("score_type", "posterior") in SKETCH_SCORE_TYPES
            and not self.frame.select(self.score).collect_schema().dtypes()[0].is_nested()
            and (costs is None or (costs.n_classes, costs.n_decisions) == (2, 2))
            and not any(name in options.columns for name in BY_ROW)
        )


def contents_of_log(log: Log, asked: Asked) -> Contents:
    """The contents of a page of these rows."""
    score, label = log.score.meta.output_name(), log.label.meta.output_name()
    asked = replace(asked, options={"Score": score, "Label": label, **_of_rows(log.options), **asked.options})
    return _of_cells(log, asked) if log.has_cells else _Tables(log, asked).contents()


def _of_rows(given: Mapping[str, Any]) -> dict[str, str]:
    """What else says which numbers of the rows count, and for what."""
    found = {"Positive label": repr(given["pos_label"])} if "pos_label" in given else {}
    return found | ({"Weight": as_expr(given["weight"], "weight").meta.output_name()} if "weight" in given else {})


def _of_cells(log: Log, asked: Asked) -> Contents:
    """By one pass."""
    options = dict(log.options)
    if options.get("score_type") == "llr" and asked.prior is not None:
        # The threshold of LLRs at the reference prior is exact where it is known before the pass.
        prior = asked.prior
        if parse_prior(prior).overall:
            prior = _collected(log.frame.select(class_prior_of_log(log.score, log.label, options))).item()
        if prior not in (None, 0.0, 1.0):
            options["prior"] = prior
    split = Split() if log.cluster is None else Split(_FOLDS, log.cluster)
    cells, point = make_cells(
        log.frame,
        log.score,
        log.label,
        options,
        by=[*log.keys, *([] if log.period is None else [log.period])],
        resolution=_RESOLUTION,
        split=split,
        clusters=Clusters(log.cluster, log.buckets),
    )
    return contents_of_sketch(sketch_of(cells, point), asked)


@dataclass(frozen=True)
class _Tables:
    """Tables of rows of more classes or decisions, or that have costs of their own: a pass each."""

    log: Log
    asked: Asked

    def contents(self) -> Contents:
        asked = self.asked
        groups, total = self.groups
        trend, trend_total = self.trends
        changes, history = self.drifts
        lows = lows_of_loss(groups, "nec", asked.level) if "nec" in self.metrics else None
        return Contents(
            title=asked.title,
            keys=list(asked.keys),
            period=asked.period,
            metrics=list(self.metrics),
            prior=self.prior,
            interval=asked.level,
            groups=groups,
            total=total,
            trend=trend,
            trend_total=trend_total,
            rest=self.rest,
            costly=[] if lows is None else costly_groups(groups, lows, asked.level),
            changes=changes,
            history=history,
            reference=self.reference,
            notes=self.notes,
            options={**asked.options, **self.options},
        )

    @property
    def of_likelihoods(self) -> bool:
        """Whether a prior makes posteriors of the scores."""
        return self.log.options.get("score_type") in ("llr", "log_likelihoods")

    @cached_property
    def metrics(self) -> Sequence[str]:
        """As named, or the usual ones of such rows."""
        # Which prior makes posteriors of likelihoods is no matter here.
        uniform = {"prior": "uniform"} if self.of_likelihoods else {}
        options = parse_options({**self.log.options, **uniform}, BY_ROW)
        rows = resolve_columns(self.log.frame, self.log.score, self.log.label, options, _MANY)
        return metrics_of(named_metrics(self.asked.metrics), rows)

    @property
    def stated(self) -> dict[str, Any]:
        """What all tables are asked with."""
        log = self.log
        clusters = {} if log.cluster is None else {"cluster": log.cluster, "buckets": log.buckets}
        return {**log.options, "interval": self.asked.level, "min_rows": self.asked.min_rows, **clusters}

    def report(self, by: Sequence[pl.Expr], *, total: bool) -> pl.DataFrame:
        """The metrics of each group, and of all of them."""
        return _collected(
            report(
                self.log.frame,
                self.log.score,
                self.log.label,
                by=by,
                metrics=self.metrics,
                total=total,
                prior=self.asked.prior,
                **self.stated,
            )
        )

    @cached_property
    def groups(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Each group, and all together."""
        keys = list(self.asked.keys)
        if not keys:
            whole = self.report([], total=False)
            return whole, whole
        both = self.report(self.log.keys, total=True)
        is_total = pl.col("total")
        total = both.filter(is_total).drop("total", *keys)
        if not total.height:
            # An empty log has no row of all groups.
            total = self.report([], total=False)
        return largest_first(both.filter(~is_total).drop("total"), keys), total

    @cached_property
    def trends(self) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """By group and period, and by period, without the rows that have none."""
        period = self.asked.period
        if self.log.period is None or period is None:
            return None, None
        of_all = self.report([self.log.period], total=False).drop_nulls(period).sort(period)
        if not self.asked.keys:
            return of_all, of_all
        of_groups = self.report([*self.log.keys, self.log.period], total=False).drop_nulls(period)
        return of_groups.sort(*self.asked.keys, period), of_all

    @property
    def prior(self) -> float | None:
        """The reference prior, if it is one number."""
        stated = self.asked.prior
        if stated is None:
            return None
        if parse_prior(stated).overall:
            counted = self.groups[1]["class_prior"]
            return counted.item() if counted.dtype.is_float() else None
        checked = parse_prior(stated)
        return checked.shares[1] if checked.shares is not None and len(checked.shares) == 2 else None

    @property
    def main(self) -> dict[str, Any]:
        """What comparisons and drifts are asked with."""
        prior = {"prior": self.asked.prior} if self.of_likelihoods else {}
        return {**self.stated, "metrics": [self.metrics[0]], **prior}

    @property
    def rest(self) -> pl.DataFrame | None:
        """Each group against all others."""
        if self.groups[0].height < 2:
            return None
        log = self.log
        found = compare(log.frame, log.score, log.label, by=log.keys, reference="rest", **self.main)
        return _collected(found).filter(metric=self.metrics[0])

    @property
    def reference(self) -> Any:
        """The period that changes are told from."""
        trend_total = self.trends[1]
        if self.asked.reference is not None or trend_total is None or self.asked.period is None:
            return self.asked.reference
        return trend_total.filter(pl.col("n") + pl.col("n_invalid") > 0)[self.asked.period].min()

    @cached_property
    def drifts(self) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """The last period of each group against the reference, and each period of all groups together."""
        log, period, keys = self.log, self.asked.period, list(self.asked.keys)
        if log.period is None or period is None or self.reference is None or not is_made_of_sums(self.metrics[0]):
            return None, None
        stated = {**self.main, "period": log.period, "reference": self.reference}
        is_told = (pl.col("metric") == self.metrics[0]) & pl.col(period).is_not_null()
        # One group has no shares that could be others.
        mix = log.keys if self.groups[0].height > 1 else []
        history = _collected(drift(log.frame, log.score, log.label, mix=mix, **stated)).filter(is_told)
        if history.is_empty():
            return None, None
        all_periods = _collected(drift(log.frame, log.score, log.label, by=log.keys, **stated)).filter(is_told)
        used = all_periods.filter(pl.col("n") > 0)
        last = pl.col(period).max().over(keys or pl.lit(1))
        is_after = pl.col(period) > pl.lit(self.reference).cast(used.schema[period])
        ends = used.filter((pl.col(period) == last) & is_after)
        ends = ends.with_columns(pl.Series("p_adjusted", adjusted(floats(ends["p_value"])), nan_to_null=True))
        trend = self.trends[0]
        if trend is not None and self.metrics[0] == "nec" and "nec_kinked" in trend.columns:
            ends = with_kinks(ends, self.of_ends(trend, ends, period), keys)
        return ends, history

    def of_ends(self, trend: pl.DataFrame, ends: pl.DataFrame, period: str) -> pl.DataFrame:
        """The rows of a trend that are of the reference, or of the last period of a group."""
        is_first = pl.col(period) == pl.lit(self.reference).cast(trend.schema[period])
        places = [*self.asked.keys, period]
        last = join_groups(ends.select(places), trend, places).select(trend.columns)
        return pl.concat([trend.filter(is_first), last])

    @property
    def notes(self) -> list[str]:
        """What is left out or approximate."""
        found = [
            "There are no curves and no calibration loss (RCL): those are of one number a row, and of one threshold for all rows."
        ]
        if self.log.cluster is None:
            found.append(INDEPENDENT)
        if self.asked.period is not None:
            if not is_made_of_sums(self.metrics[0]):
                found.append(no_parts(self.metrics[0]))
            trend_total = self.trends[1]
            counts = ["n", "n_missing", "n_invalid"]
            in_all, in_periods = (
                sum(table.select(counts).sum().row(0)) for table in (self.groups[1], trend_total) if table is not None
            )
            if in_all > in_periods:
                found.append(without_period(in_all - in_periods, self.asked.period))
        return found

    @property
    def options(self) -> dict[str, str]:
        """How it was made."""
        log, given = self.log, self.log.options
        costs = [f"{name}={given[name]}" for name in ("costs", "cost_fn", "cost_fp") if name in given]
        prior = "none" if self.asked.prior is None else f"{self.asked.prior}"
        shares = "" if self.prior is None else f", {self.prior:.4g}"
        cluster = None if log.cluster is None else log.cluster.meta.output_name()
        return {
            "Scores": str(given.get("score_type", "posteriors")),
            "Costs": ", ".join(costs) or "every error 1",
            "Decisions": f"score > {given['threshold']}" if "threshold" in given else AT_BAYES,
            "Reference prior": prior if prior == f"{self.prior}" else f"{prior}{shares}",
            **self.asked.limits_in_words(cluster, log.buckets),
        }


def _collected(table: pl.LazyFrame) -> pl.DataFrame:
    return table.collect(engine="streaming")
