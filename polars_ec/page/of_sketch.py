"""The contents of a page from a sketch: all its tables are made of the cells, and no row is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from polars_ec.arguments import parse_options
from polars_ec.cells.arguments import two_by_two
from polars_ec.cells.cells import SCORE, TARGET, check_keys
from polars_ec.cells.moments import Floats, floats
from polars_ec.cells.sums import is_overall, overall_prior
from polars_ec.comparing.choice import FEWEST_BUCKETS
from polars_ec.display import costs_in_words, number
from polars_ec.exceptions import SketchError
from polars_ec.formulas.battery import OF_RANKS
from polars_ec.formulas.directions import lower_is_better, worst_first
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.intervals.arguments import Request, parse_interval
from polars_ec.page.asked import Asked, is_made_of_sums
from polars_ec.page.contents import Contents, largest_first, with_min_rows
from polars_ec.page.costly import costly_groups, with_kinks
from polars_ec.page.notes import (
    AT_BAYES,
    INDEPENDENT,
    NO_PRIOR,
    SAME_ROWS,
    WITHIN_BOUNDS,
    few_buckets,
    no_parts,
    some_calibrated,
    some_trends,
    without_period,
)
from polars_ec.priors import parse_prior
from polars_ec.reporting.of_cells import Point, columns_at
from polars_ec.rows.folds import FOLD
from polars_ec.rows.read import join_groups
from polars_ec.sketches import Sketch

_KEPT = "__ec_kept"
# Of more than so many groups and periods, or groups, it takes too long: a page shows and says what it is of.
_MOST_IN_TRENDS, _MOST_CALIBRATED = 5_000, 500
_CALIBRATION = ("rcl", "rcl_ci_low", "rcl_ci_high")
_RULES: dict[str, Any] = {"posterior": "cross_entropy", "log_odds": "cross_entropy", "llr": "cllr"}


def contents_of_sketch(sketch: Sketch, asked: Asked) -> Contents:
    """The contents of a page of one model, whose group columns are the keys and, if there is one, the period."""
    return _Page(_of_one_model(sketch), asked).contents()


def _of_one_model(sketch: Sketch) -> Sketch:
    for column, what in ((SCORE, "models"), (TARGET, "targets")):
        if column in sketch.keys:
            there = sketch.frame[column].unique(maintain_order=True).to_list()
            if len(there) > 1:
                shown = ", ".join(map(str, there[:5]))
                raise SketchError(
                    f"the sketch is of {len(there)} {what}, {shown}, and a page is of one: pass "
                    f"sketch.filter(pl.col({column!r}) == {there[0]!r})"
                )
    return sketch.group_by(*(key for key in sketch.keys if key not in (SCORE, TARGET)))


@dataclass(frozen=True)
class _Page:
    """A sketch of one model, and what is asked of it."""

    sketch: Sketch
    asked: Asked

    def contents(self) -> Contents:
        keys, level = list(self.asked.keys), self.asked.level
        # A reference that is no period is an error before the rest is made.
        changes, history = self.drifts
        groups = self.calibrated(self.by_size, self.by_fold(*keys))
        trend, trend_total = self.trends
        return Contents(
            title=self.asked.title,
            keys=keys,
            period=self.asked.period,
            metrics=self.metrics,
            prior=None if self.prior is None else self.prior[1],
            interval=level,
            groups=groups,
            total=self.calibrated(self.table(self.whole), self.by_fold()),
            trend=trend,
            trend_total=trend_total,
            rest=self.rest,
            costly=costly_groups(groups, lambda other: self.lows(groups, other), level),
            changes=changes,
            history=history,
            reference=self.reference,
            curves=self.groups,
            notes=list(self.notes()),
            options={**self.asked.options, **self.options},
        )

    @property
    def keys(self) -> Sequence[str]:
        return self.asked.keys

    @cached_property
    def groups(self) -> Sketch:
        """By group alone."""
        return self.sketch.group_by(*self.keys)

    @cached_property
    def whole(self) -> Sketch:
        """All groups together."""
        return self.groups.group_by()

    @cached_property
    def periods(self) -> Sketch | None:
        """By group and period, without the rows that have none."""
        period = self.asked.period
        return None if period is None else self.sketch.group_by(*self.keys, period).filter(pl.col(period).is_not_null())

    def by_fold(self, *keys: str) -> Sketch:
        """By these keys, with the folds if there are some."""
        return self.sketch.group_by(*keys, *([FOLD] if FOLD in self.sketch.keys else []))

    @cached_property
    def prior(self) -> list[float] | None:
        """The shares of both classes at the reference prior, if there is one."""
        stated, grid = self.asked.prior, self.sketch.grid
        if stated is None:
            return None
        if not is_overall(stated):
            shares = parse_prior(stated).per_row(grid.classes, None)
            return list(pl.select(a=shares[0], b=shares[1]).row(0))
        counted: list[float] | None = overall_prior(self.whole)
        return None if grid.score_type == "llr" and counted is not None and 0 in counted else counted

    @cached_property
    def point(self) -> Point:
        """Where it decides."""
        return Point.of(self.sketch, {} if self.prior is None else {"prior": self.prior})

    @cached_property
    def request(self) -> Request:
        """The limits of its tables."""
        request = parse_interval({"interval": self.asked.level})
        assert request is not None
        return request

    @cached_property
    def asked_metrics(self) -> list[str]:
        """As named, or the usual ones."""
        if self.asked.metrics is not None:
            return list(self.asked.metrics)
        if self.sketch.grid.score_type == "llr":
            # Losses of LLRs as posteriors are known within bounds only.
            return [*(name for name in self.point.usual if name not in SCORING_RULES), "cllr", "min_cllr", "auc_roc"]
        return [*self.point.usual, *(OF_RANKS if self.sketch.grid.score_type == "raw" else ("auc_roc",))]

    @cached_property
    def metrics(self) -> list[str]:
        """Those that the sketch knows, and not within bounds only."""
        known = columns_at(self.whole, self.point, None, self.asked_metrics, None).columns
        if self.asked.metrics is not None:
            for name in self.asked_metrics:
                if name not in known:
                    raise SketchError(f"{name} is {WITHIN_BOUNDS}")
        return [name for name in self.asked_metrics if name in known]

    def table(self, cells: Sketch) -> pl.DataFrame:
        """A row per group of the cells."""
        made = columns_at(cells, self.point, self.prior, self.metrics, self.request)
        return with_min_rows(made, self.asked.min_rows)

    @cached_property
    def by_size(self) -> pl.DataFrame:
        """The groups, the largest first, without what calibration would gain."""
        return largest_first(self.table(self.groups), self.keys)

    @cached_property
    def trends(self) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """By group and period, of many groups for some of them, and by period."""
        if self.periods is None or self.asked.period is None:
            return None, None
        by_period = self.periods.group_by(self.asked.period)
        shown = self.periods if self.in_trends is None else _of_groups(self.periods, self.in_trends, self.keys)
        of_groups, of_all = self.table(shown), self.table(by_period)
        return of_groups.sort(*self.keys, self.asked.period), of_all.sort(self.asked.period)

    @cached_property
    def in_trends(self) -> pl.DataFrame | None:
        """The largest groups and the worst of the others, where all together have too many periods; else None."""
        assert self.periods is not None
        assert self.asked.period is not None
        by_group = self.periods.frame.select(*self.keys, self.asked.period).n_unique()
        if not self.keys or by_group <= _MOST_IN_TRENDS:
            return None
        number = max(_MOST_IN_TRENDS // (2 * self.periods.frame[self.asked.period].n_unique()), 1)
        main = self.metrics[0]
        others = self.by_size[number:].filter(~pl.col("small"))
        worst = worst_first(others, main, lower=lower_is_better(main)).head(number)
        return pl.concat([self.by_size.head(number), worst]).select(self.keys)

    def calibrated(self, table: pl.DataFrame, cells: Sketch) -> pl.DataFrame:
        """The table with what calibration would gain, of many groups with limits for the first of them."""
        rule = _RULES.get(self.sketch.grid.score_type)
        if rule is None:
            return table
        keys = cells.keys_beside_fold
        check_keys(keys, _CALIBRATION)
        training: Any = "cv" if FOLD in cells.keys else "test"
        first = table.head(_MOST_CALIBRATED)
        of_first = cells if table.height <= _MOST_CALIBRATED else _of_groups(cells, first.select(keys), keys)
        found = of_first.calibration_loss(rule, training=training, interval=self.asked.level)
        if table.height > _MOST_CALIBRATED:
            values = cells.calibration_loss(rule, training=training)
            found = join_groups(values.select(*keys, "rcl"), found.select(*keys, *_CALIBRATION[1:]), keys)
        gain = join_groups(table.select(keys), found.select(*keys, *_CALIBRATION), keys) if keys else found
        return table.with_columns(gain.select(_CALIBRATION))

    @property
    def rest(self) -> pl.DataFrame | None:
        """Each group against all others."""
        if not self.has_p_values or self.groups.frame.select(self.keys).n_unique() < 2:
            return None
        return self.groups.compare(
            self.metrics[0],
            reference="rest",
            interval=self.asked.level,
            min_rows=self.asked.min_rows,
            **self.point.keywords,
        )

    def lows(self, groups: pl.DataFrame, level: float) -> Floats:
        """The lower limits of NEC at another level."""
        request = replace(self.request, level=level)
        found = columns_at(self.groups, self.point, None, ["nec"], request)
        return floats((join_groups(groups.select(self.keys), found, self.keys) if self.keys else found)["nec_ci_low"])

    @property
    def has_p_values(self) -> bool:
        """Whether there are as many buckets as these need, or independent rows."""
        return self.sketch.buckets is None or self.sketch.buckets >= FEWEST_BUCKETS

    @cached_property
    def used(self) -> pl.DataFrame | None:
        """The groups and periods that have rows with label and score, right or wrong."""
        if self.periods is None:
            return None
        return self.periods.frame.filter(pl.col("class").is_not_null()).select(*self.keys, self.asked.period).unique()

    @property
    def reference(self) -> Any:
        """The period that changes are told from."""
        period = self.asked.period
        if self.asked.reference is not None or self.used is None or period is None:
            return self.asked.reference
        return self.used[period].min()

    @cached_property
    def drifts(self) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """The last period of each group against the reference, and each period of all groups together."""
        period, main, used = self.asked.period, self.metrics[0], self.used
        if self.periods is None or period is None or used is None or not used.height:
            return None, None
        if not self.has_p_values or not is_made_of_sums(main):
            return None, None
        stated = {
            "period": period,
            "reference": self.reference,
            "interval": self.asked.level,
            "min_rows": self.asked.min_rows,
            **self.point.keywords,
        }
        # One group has no shares that could be others.
        mix = self.keys if self.by_size.height > 1 else []
        history = self.periods.drift(main, mix=mix, **stated)
        if history.is_empty():
            return None, None
        last = pl.col(period).max()
        ends = used.group_by(self.keys).agg(last) if self.keys else used.select(last)
        reference = pl.lit(self.reference).cast(used.schema[period])
        kept = pl.concat([ends.filter(pl.col(period) > reference), used.filter(pl.col(period) == reference)])
        two = _of_groups(self.periods, kept, [*self.keys, period])
        changes = two.drift(main, **stated)
        if main == "nec":
            changes = with_kinks(changes, columns_at(two, self.point, None, ["nec"], self.request), self.keys)
        return changes, history

    def notes(self) -> Iterator[str]:
        """What is left out or approximate."""
        left_out = [name for name in self.asked_metrics if name not in self.metrics]
        if left_out:
            yield f"Left out: {', '.join(left_out)}, {WITHIN_BOUNDS}."
        if self.asked.prior is not None and self.prior is None:
            yield NO_PRIOR
        if self.sketch.buckets is None:
            yield INDEPENDENT
        if not self.has_p_values:
            yield few_buckets(self.sketch.buckets, FEWEST_BUCKETS)
        if self.sketch.grid.score_type in _RULES and FOLD not in self.sketch.keys:
            yield SAME_ROWS
        if self.sketch.grid.score_type in _RULES and self.by_size.height > _MOST_CALIBRATED:
            yield some_calibrated(_MOST_CALIBRATED)
        if self.periods is not None and self.asked.period is not None:
            lost = int(self.groups.frame["n"].sum()) - int(self.periods.frame["n"].sum())
            if lost:
                yield without_period(lost, self.asked.period)
            if self.in_trends is not None:
                yield some_trends(self.in_trends.height, self.by_size.height)
            if not is_made_of_sums(self.metrics[0]):
                yield no_parts(self.metrics[0])

    @property
    def options(self) -> dict[str, str]:
        """How it was made."""
        grid, sketch = self.sketch.grid, self.sketch
        bins = "every distinct score" if grid.resolution is None else f"{grid.resolution} bins per nat"
        threshold = self.point.keywords.get("threshold")
        costs = two_by_two(parse_options({**self.point.keywords, "threshold": None}))
        shares = "none" if self.prior is None else f"{self.prior[1]:.4g}"
        of_log = ", as in the whole log" if self.prior is not None and is_overall(self.asked.prior) else ""
        return {
            "Scores": f"{grid.score_type}, {bins}",
            "Costs": costs_in_words(costs.values),
            "Decisions": (
                f"score > {number(threshold)}" if threshold is not None else AT_BAYES if self.point.decides else "none"
            ),
            "Reference prior": f"{shares}{of_log}",
            **self.asked.limits_in_words(sketch.cluster, sketch.buckets),
        }


def _of_groups(sketch: Sketch, groups: pl.DataFrame, keys: Sequence[str]) -> Sketch:
    """The cells of these groups alone."""
    kept = groups.with_columns(pl.lit(value=True).alias(_KEPT))
    return sketch.on_tables(lambda table: join_groups(table, kept, keys).filter(pl.col(_KEPT)).drop(_KEPT))
