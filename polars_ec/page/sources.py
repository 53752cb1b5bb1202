"""The contents of a page from its sources: rows, and the cells of a sketch, of scores or of decisions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import polars as pl

from polars_ec.api.comparisons import compare
from polars_ec.api.sketches import Sketch, sketch_of
from polars_ec.arguments.classes import parse_prior
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import Request, as_expr, parse_interval, parse_level, parse_min_rows, parse_options
from polars_ec.arguments.scales import LLR, scale_of
from polars_ec.comparisons.items import by_item
from polars_ec.comparisons.validation import FEWEST_BUCKETS, check_period, level_and_clusters, parse_margin
from polars_ec.exceptions import SketchError
from polars_ec.formulas.decisions import AT_PRIOR, OF_RANKS, lower_is_better, worst, worst_first
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.numerics import Floats, floats
from polars_ec.output.numbers import count
from polars_ec.output.words import costs_in_words, first_line, number
from polars_ec.page.contents import NEC, ROW, Contents, costly_groups, group_names, judged_column, listed, with_kinks
from polars_ec.page.request import PageArguments, PageRequest, PageSource, largest_first
from polars_ec.page.row_source import AT_BAYES, INDEPENDENT, KEPT, ModelRows, RowSource
from polars_ec.reports.models import FORMULAS
from polars_ec.reports.of_cells import Point, columns_at
from polars_ec.reports.of_decisions import columns as columns_of_decisions
from polars_ec.scores.folds import BUCKETS, FOLD
from polars_ec.scores.read import class_prior_of_log, expand, join_groups
from polars_ec.sketches.arguments import OperatingPoint, two_by_two
from polars_ec.sketches.cells import SCORE, TARGET, check_keys
from polars_ec.sketches.grid import UNDECIDED, DecisionGrid
from polars_ec.sketches.log_pass import ClusterKey, FoldKey, make_cells
from polars_ec.sketches.sums import is_overall, overall_prior
from polars_ec.typing import FrameLike, IntoExpr

_WITHIN_BOUNDS = "known only within bounds at these costs or this threshold, which the sketch was made without: name them in its thresholds="

# Beyond so many groups and periods, or groups, it takes too long: the page shows some of them, and says which.
_MOST_IN_TRENDS, _MOST_CALIBRATED = 5_000, 500
# The bins per nat and the folds of the sketch of rows.
_RESOLUTION, _FOLDS = 16, 5
_CALIBRATION = ("rcl", "rcl_ci_low", "rcl_ci_high")
# So many classes are shown one by one on a page.
_MOST_CLASSES = 10


@dataclass(frozen=True)
class SketchSource(PageSource):
    """Tables of the cells of a sketch of one model, whose group columns are the keys and, if there is one, the period."""

    log: Sketch

    @cached_property
    def sketch(self) -> Sketch:
        """The sketch without the columns of its model and target."""
        keys = [key for key in self.log.keys if key not in (SCORE, TARGET)]
        return self.log if keys == self.log.keys else self.log.group_by(*keys)

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
    def whole_periods(self) -> Sketch:
        """The cells by period."""
        assert self.request.period is not None
        return self.periods.group_by(self.request.period)

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
        return largest_first(self.table(self.groups), self.request.keys), self.table(self.whole)

    @cached_property
    def calibrated_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        groups, total = self.group_tables
        fold = [FOLD] if FOLD in self.sketch.keys else []
        by_group = self.calibrated(groups, self.sketch.group_by(*self.request.keys, *fold))
        return by_group, self.calibrated(total, self.sketch.group_by(*fold))

    def period_table(self, keys: Sequence[str], period: str) -> pl.DataFrame:
        if not keys:
            cells = self.whole_periods
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
        cells = _of_groups(self.whole_periods, periods.to_frame(), [periods.name])
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
            yield INDEPENDENT
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
        decisions = AT_BAYES if self.point.decides else "none"
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
        of_periods = _without(self.whole_periods, self.is_undecided)
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
            "Decisions": AT_BAYES if point.threshold is None else f"score > {number(point.threshold)}",
            "Reference prior": self.prior_in_words,
        }


def source_of_sketch(request: PageRequest, sketch: Sketch) -> SketchSource:
    """The tables of a sketch of scores, or of decisions."""
    return (DecisionSource if isinstance(sketch.grid, DecisionGrid) else SketchSource)(request, sketch)


def _without(sketch: Sketch, cells: pl.Expr) -> Sketch:
    """The groups without such cells; all groups, if there are none or no others."""
    keys = sketch.keys
    groups = sketch.frame.group_by(keys).agg(cells.any().alias(ROW)) if keys else pl.DataFrame({ROW: [False]})
    kept = groups.filter(~pl.col(ROW)).select(keys)
    return _of_groups(sketch, kept, keys) if 0 < kept.height < groups.height else sketch


def _of_groups(sketch: Sketch, groups: pl.DataFrame, keys: Sequence[str]) -> Sketch:
    kept = groups.with_columns(pl.lit(value=True).alias(KEPT))
    return sketch.on_tables(lambda table: join_groups(table, kept, keys).filter(pl.col(KEPT)).drop(KEPT))


def source_of_rows(request: PageRequest, rows: ModelRows) -> PageSource:
    """Sketch the rows in one pass where that says it all; else take tables of them, one pass each."""
    names = {"Score": rows.score.meta.output_name(), "Label": rows.label.meta.output_name()}
    if "pos_label" in rows.options:
        names["Positive label"] = repr(rows.options["pos_label"])
    if "weight" in rows.options:
        names["Weight"] = as_expr(rows.options["weight"], "weight").meta.output_name()
    request = replace(request, options={**names, **request.options})
    return SketchSource(request, _sketch_of_rows(rows, request.prior)) if rows.has_cells else RowSource(request, rows)


def _sketch_of_rows(rows: ModelRows, prior: Any) -> Sketch:
    """Sketch the rows by group and period."""
    options = dict(rows.options)
    if scale_of(options) is LLR and prior is not None:
        # The threshold of LLRs at the reference prior is exact where it is known before the pass.
        if parse_prior(prior).overall:
            prior = rows.class_prior(rows.frame)
            if prior is None and rows.keys:
                of_group = class_prior_of_log(rows.score, rows.label, rows.options).alias(KEPT)
                priors = rows.frame.group_by(rows.keys).agg(of_group).collect(engine="streaming")
                prior = rows.class_prior(rows.of_groups(priors.drop_nulls(KEPT)))
        if prior not in (None, 0.0, 1.0):
            options["prior"] = prior
    cells, point = make_cells(
        rows.frame,
        rows.score,
        rows.label,
        options,
        by=[*rows.keys, *([] if rows.period is None else [rows.period])],
        resolution=_RESOLUTION,
        folds=FoldKey() if rows.cluster is None else FoldKey(_FOLDS, rows.cluster),
        clusters=ClusterKey(rows.cluster, rows.buckets),
    )
    return sketch_of(cells, point)


def contents_of(
    log: FrameLike | Sketch, score: IntoExpr | Sequence[IntoExpr] | None, label: IntoExpr | None, page: PageArguments
) -> list[Contents]:
    """Make the contents of a page, one for each model; the arguments are those of `report_page`."""
    if isinstance(log, Sketch):
        of_point = ("costs", "cost_fn", "cost_fp", "threshold")
        of_rows = {name: value for name, value in page.options.items() if name not in of_point}
        of_rows |= {"score": score, "label": label, "model": page.model, "item": page.item, "cluster": page.cluster}
        for name, value in [*of_rows.items(), ("buckets", None if page.buckets == BUCKETS else page.buckets)]:
            if value is not None:
                raise TypeError(
                    f"{name}={value!r} describes rows, and the log is a sketch, which was made from them: leave it out"
                )
        sketch, keys = _rolled_up(log, page.by, page.period)
        sketch = _at_point(sketch, {name: value for name, value in page.options.items() if value is not None})
        classes = _classes_of(sketch)
        models: dict[str, Sketch | ModelRows] = {**(classes or _models_of(sketch))}
        period_name = None if page.period is None else as_expr(page.period, "period").meta.output_name()
        named = PageRequest.title
    else:
        classes = dict[str, Sketch]()
        rows = _model_rows(as_lazy(log), score, label, page)
        models = {model.score.meta.output_name(): model for model in rows}
        keys = [key.meta.output_name() for key in rows[0].keys]
        period_name = None if rows[0].period is None else rows[0].period.meta.output_name()
        if period_name in keys:
            raise ValueError(f"by= has a column {period_name!r}, which is the period: leave it out there")
        named = f"{', '.join(models)} against {rows[0].label.meta.output_name()}"
    level, fewest, title = parse_level(page.interval), parse_min_rows(page.min_rows), page.title or named
    request = PageRequest(keys, period_name, page.reference, page.metrics, page.prior, level, fewest, title)
    sources = {
        name: source_of_sketch(request, model) if isinstance(model, Sketch) else source_of_rows(request, model)
        for name, model in models.items()
    }
    if parse_margin(page.margin) is not None and (len(sources) == 1 or classes):
        raise ValueError(
            f"margin={page.margin!r} is for the differences of models: pass several scores, or leave it out"
        )
    if len(sources) == 1:
        return [build_contents(source) for source in sources.values()]
    contents = [
        replace(build_contents(source), model=name, noun="Class" if classes else "Model")
        for name, source in sources.items()
    ]
    if classes:
        return contents
    first = contents[0]
    terms: dict[str, Any] = {"margin": page.margin}
    terms |= {"prior": page.prior} if first.judged_metric != first.metrics[0] else {}
    if isinstance(log, Sketch):
        terms |= {**source_of_sketch(request, sketch).stated, "reference": first.model}
    else:
        terms |= {**RowSource(request, rows[0]).keywords, "metrics": [first.metrics[0]], "reference": first.model}

    def compared(by: Sequence[str]) -> pl.DataFrame:
        if isinstance(log, Sketch):
            table = sketch.group_by(SCORE, *by).compare(first.metrics[0], **terms)
        else:
            exprs, scores = rows[0].keys if by else [], [model.score for model in rows]
            table = compare(rows[0].frame, scores, rows[0].label, by=exprs, **terms).collect(engine="streaming")
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
            of_model,
            versus=whole.filter(model=of_model.model),
            versus_by_group=by_group.filter(model=of_model.model),
            margin=page.margin,
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
        costly=costly_groups(groups, partial(source.lower_bounds, groups), request.level, judged_column(groups, NEC)),
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
    frame: pl.LazyFrame, score: IntoExpr | Sequence[IntoExpr] | None, label: IntoExpr | None, page: PageArguments
) -> list[ModelRows]:
    """The rows of each model, checked as far as the schema allows."""
    if score is None or label is None:
        name = "score" if score is None else "label"
        raise TypeError(f"{name}= is left out, and the log is a frame: name its column")
    scores = expand(frame, score, "score")
    cluster, buckets = page.cluster, page.buckets
    if cluster is None and buckets != BUCKETS:
        raise ValueError(
            f"buckets={buckets} is the number of hash buckets for clusters, and there are none: pass cluster=, or leave it out"
        )
    level_and_clusters({"interval": 0.95, "cluster": cluster, "buckets": buckets}, [""])
    keys = expand(frame, page.by, "by")
    at = None if page.period is None else check_period(frame, expand(frame, page.period, "period"))
    of_cluster = None if cluster is None else as_expr(cluster, "cluster")
    stated = {name: value for name, value in page.options.items() if value is not None}
    if page.model is not None or page.item is not None:
        wide, of_models, of_item = by_item(frame, score, label, page.model, page.item, [*keys, at, of_cluster], stated)
        # Each table reads the items again, and a log without rows has no models.
        items = wide.collect(engine="streaming")
        if items.height:
            frame, scores, label = items.lazy(), of_models, of_item
    return [ModelRows(frame, one, as_expr(label, "label"), keys, at, of_cluster, buckets, stated) for one in scores]
