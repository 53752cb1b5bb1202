"""Report columns: the formulas on the sums of the groups, and which of them have intervals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import polars as pl

from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import Options, Request
from polars_ec.formulas.calibration_error import ECE_BINS, calibration_error, calibration_term
from polars_ec.formulas.decisions import CELLS, Arguments, decision_value, is_moved_by_prior
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import CLASS_AREAS, ORDER_METRICS, RANKING_METRICS
from polars_ec.formulas.sums import Sums, pack_confusion, pack_prior, ratio, row_weight
from polars_ec.inference.confidence import FEW_OF_A_CLASS
from polars_ec.reports.intervals import (
    FEWEST,
    HIGH,
    IF_CALIBRATED,
    KINKED,
    LOW,
    CostFeatures,
    DecisionFeatures,
    Family,
    OneVsRestFeatures,
    Value,
    ValueFeatures,
)
from polars_ec.reports.models import (
    AGAINST_REST,
    CONFUSION,
    TOTAL,
    ClassSums,
    Model,
    OneVsRest,
    has_columns,
    is_binary,
    is_decided,
    is_multiclass,
    is_right,
    is_scored,
    one_class_columns,
    own_priors,
    report_sums,
    stated_prior,
    stated_vector,
)
from polars_ec.scores.counted import CollectedSums, GroupPrior

Columns = Mapping[str, pl.Expr]

_OF_POSTERIORS = (*SCORING_RULES, "ece", *CLASS_AREAS)

# Sums of a class against the rest, and metrics with a value for each class: of counts, and of masses at the reference prior.
OWN, AT_PRIOR = "class_", "class_at_prior_"
_MOVED = "__ec_moved_"


@dataclass(frozen=True)
class ReportLayout:
    """Columns of the report besides metrics."""

    options: Options
    usual: bool
    min_rows: int | None
    row_parts: tuple[str, ...]
    total: bool
    interval: Request | None = None


def group_columns(model: Model, names: Sequence[str], layout: ReportLayout) -> Columns:
    """The columns of a group's row, from the sums."""
    if is_multiclass(model):
        return _multiclass_columns(model, names, layout)
    in_group = ClassSums.of_group(model)

    def at_prior(name: str) -> Columns:
        moved = model.at_prior
        reference = ClassSums(moved, stated_prior(moved, layout.options))
        return _metric(name, moved, reference, "_at_prior") if is_moved(name, model) else {}

    metrics = _with_priors(names, lambda name: _metric(name, model, in_group), at_prior, model, layout)
    prior = {"class_prior": pack_prior(in_group.prior)}
    return _laid_out(model, metrics, prior, _counts(model, in_group), layout, model.prefix)


def _multiclass_columns(model: Model, names: Sequence[str], layout: ReportLayout) -> Columns:
    def value(name: str, of: Model, prior: tuple[float, ...] | GroupPrior | None, suffix: str = "") -> Columns:
        if name == CONFUSION:
            sums = report_sums(of, prior)
            return {CONFUSION: sums.confusion(pl.Int64 if of.rows.weight is None else pl.Float64)}
        if name in CLASS_AREAS:
            return {f"{name}{suffix}": of.column(f"{name}{suffix}")}
        return {f"{name}{suffix}": multiclass_value(name, of, prior)}

    def at_prior(name: str) -> Columns:
        moved = model.at_prior
        return value(name, moved, stated_vector(moved, layout.options), "_at_prior") if is_moved(name, model) else {}

    in_group = report_sums(model, None)
    metrics = _with_priors(names, lambda name: value(name, model, None), at_prior, model, layout)
    counts = value(CONFUSION, model, None) if layout.usual else {}
    prior = {"class_prior": in_group.aggregated(in_group.shares)}
    return _laid_out(model, metrics, prior, counts, layout, model.prefix)


def multiclass_value(name: str, model: Model, prior: tuple[float, ...] | GroupPrior | None) -> pl.Expr:
    """A scoring rule or a decision metric for many classes, from one table with the sums that it uses."""
    sums = report_sums(model, prior)
    return sums.aggregated(value_of(name, model, sums))


def with_class_sums(sums: pl.LazyFrame, models: Sequence[Model], options: Options) -> pl.LazyFrame:
    """The sums with those of each class against the rest."""
    columns: dict[str, pl.Expr] = {}
    for model in models:
        if is_multiclass(model):
            columns[model.prefix + OWN] = report_sums(model, None).against_rest()
        else:
            columns |= one_class_columns(ClassSums.of_group(model), model.prefix + OWN, weighed=False)
        if options.prior.stated:
            columns |= _class_sums_at_prior(model, options)
    return sums.with_columns(**columns)


def _class_sums_at_prior(model: Model, options: Options) -> dict[str, pl.Expr]:
    moved, prefix = model.at_prior, f"{model.prefix}{AT_PRIOR}"
    if is_multiclass(model):
        return {prefix: report_sums(moved, stated_vector(moved, options)).against_rest()}
    return one_class_columns(ClassSums(moved, stated_prior(moved, options)), prefix, weighed=True)


def class_columns(model: Model, k: int, names: Sequence[str], layout: ReportLayout) -> Columns:
    """The columns of a group's row for one class against the rest, from the table that `with_class_sums` made."""
    n_classes = model.rows.costs.n_classes
    in_group, reference = (OneVsRest(f"{model.prefix}{which}{k}_", n_classes) for which in (OWN, AT_PRIOR))
    return _against_rest(model, in_group, reference, names, layout)


def multiclass_rows(
    sums: pl.LazyFrame, keys: Sequence[str], models: Sequence[Model], names: Sequence[str], layout: ReportLayout
) -> pl.LazyFrame:
    """A row for each group, model and class, in the order of the report, from the table that `with_class_sums` made."""
    prefixes = [f"__ec_{m}" for m in range(len(models))]
    ends = _ends_against_rest(models[0], names, layout)
    packed = [
        pl.struct(
            *([pl.lit(model.name).alias("score")] if len(models) > 1 else []),
            pl.lit(_shown_classes(model)).implode().alias("class"),
            *_of_model(model, layout),
            *_ends_of_classes(model, ends),
        ).alias(piece)
        for model, piece in zip(models, prefixes, strict=True)
    ]
    own_dtype = pl.Float64 if layout.options.weight is not None else pl.Int64
    which = {OWN: own_dtype, **({AT_PRIOR: pl.Float64} if layout.options.prior.stated else {})}
    tall = sums.select(*keys, *packed).unpivot(on=prefixes, index=keys or None, value_name="__ec")
    tall = (tall.sort(keys, maintain_order=True) if keys else tall).select(*keys, "__ec").unnest("__ec")
    return tall.explode("class", *which, *(f"{table}{end}" for table, end in ends)).with_columns(
        pl.col(table).arr.get(at).cast(dtype).alias(f"{table}{number}")
        for table, dtype in which.items()
        for at, number in enumerate(AGAINST_REST)
    )


def multiclass_columns(models: Sequence[Model], names: Sequence[str], layout: ReportLayout) -> Columns:
    """The columns of these rows: formulas that stand once, where `class_columns` repeats them for every class."""
    # The models have the same metrics, and their sums go by the same names now.
    first = models[0]
    moved = None if first.moved is None else replace(first.moved, prefix=_MOVED)
    model = replace(first, prefix="", moved=moved)
    in_group, reference = (OneVsRest(table, first.rows.costs.n_classes) for table in (OWN, AT_PRIOR))
    before = {name: pl.col(name) for name in (*(["score"] if len(models) > 1 else []), "class")}
    return {**before, **_against_rest(model, in_group, reference, names, layout)}


def _of_model(model: Model, layout: ReportLayout) -> Iterator[pl.Expr]:
    """Columns of the classes, without the prefix of the model."""
    names = ["rows", "present", "invalid", "undecided", "size", *layout.row_parts]
    for of, prefix in ((model, ""), *([] if model.moved is None else [(model.moved, _MOVED)])):
        for name in (*names, *(["reference"] if of.counts_prior else [])):
            yield of.column(name).alias(f"{prefix}{name}")
    for table in (OWN, *([AT_PRIOR] if layout.options.prior.stated else [])):
        yield model.column(table).arr.to_list().alias(table)


def _ends_against_rest(model: Model, names: Sequence[str], layout: ReportLayout) -> list[tuple[str, str]]:
    """The columns of one-vs-rest bounds, each with the start of its name."""
    if layout.interval is None:
        return []
    ends = [(OWN, FEWEST), *((OWN, end) for name in names for end in _limits(name, "", layout))]
    if layout.options.prior.stated:
        reference = OneVsRest(AT_PRIOR, model.rows.costs.n_classes)
        moved = [name for name in names if is_moved_of_class(name, model, reference)]
        ends += [(AT_PRIOR, end) for name in moved for end in _limits(name, "", layout, "_at_prior")]
    return ends


def _ends_of_classes(model: Model, ends: Sequence[tuple[str, str]]) -> Iterator[pl.Expr]:
    for table, end in ends:
        columns = [model.column(f"{table}{k}_{end}") for k in range(model.rows.costs.n_classes)]
        yield pl.concat_list(columns).alias(f"{table}{end}")


def _shown_classes(model: Model) -> pl.Series:
    values = model.rows.labels.classes
    if len({type(value) for value in values}) > 1:
        return pl.Series([str(value) for value in values])
    # As for literals.
    is_small = all(type(value) is int and -(2**31) <= value < 2**31 for value in values)
    return pl.Series(values, dtype=pl.Int32 if is_small else None)


def _against_rest(
    model: Model, in_group: OneVsRest, reference: OneVsRest, names: Sequence[str], layout: ReportLayout
) -> Columns:
    counts = {cell: value_against_rest(cell, in_group) for cell in CELLS}

    def at_group(name: str) -> Columns:
        return counts if name == CONFUSION else {name: value_against_rest(name, in_group)}

    def at_prior(name: str) -> Columns:
        moved = is_moved_of_class(name, model, reference)
        return {f"{name}_at_prior": value_against_rest(name, reference)} if moved else {}

    metrics = _with_priors(names, at_group, at_prior, model, layout, (in_group.prefix, reference.prefix))
    return _laid_out(model, metrics, {"class_prior": in_group.prior[1]}, counts, layout, in_group.prefix)


def value_against_rest(name: str, sums: Sums) -> pl.Expr:
    """A metric of one class against the rest."""
    return decision_value(name, sums, Arguments(CostMatrix.zero_one(2)))


def is_moved_of_class(name: str, model: Model, reference: OneVsRest) -> bool:
    """Whether a stated prior moves the metric of one class against the rest."""
    if name in (*CELLS, CONFUSION):
        return False
    return model.moved is not None or reference.is_moved(lambda sums: value_against_rest(name, sums))


def is_moved(name: str, model: Model) -> bool:
    """Whether the metric depends on a stated prior: its formula uses one, or the prior has changed the decisions."""
    if name in (*CELLS, CONFUSION):
        return False
    has_moved = model.moved is not None and name not in RANKING_METRICS
    # For the smallest number of classes with multiclass metrics, because their inputs do not depend on the number.
    costs = CostMatrix.zero_one(3) if is_multiclass(model) else model.rows.costs
    return has_moved or is_moved_by_prior(name, costs)


def _with_priors(
    names: Sequence[str],
    in_group: Callable[[str], Columns],
    at_prior: Callable[[str], Columns],
    model: Model,
    layout: ReportLayout,
    prefixes: tuple[str, str] | None = None,
) -> dict[str, pl.Expr]:
    """Each metric at the group's own prior and, beside it, at the reference prior; null if there are invalid rows.

    `prefixes` are the starts of the names of bounds in the table of sums, if they differ from the models'.
    """
    of_own, of_reference = prefixes or (model.prefix, model.at_prior.prefix)
    columns: dict[str, pl.Expr] = {}
    for name in names:
        right = is_right if name in RANKING_METRICS else is_scored if name in _OF_POSTERIORS else is_decided
        values = {**in_group(name), **_limits(name, of_own, layout)}
        columns |= {column: pl.when(right(model)).then(value) for column, value in values.items()}
        if not layout.options.prior.stated:
            continue
        known = right(model)
        if model.moved is not None:
            # A posterior that the new prior rules out is lost on the way.
            known &= right(model.moved) & (model.moved.column("present") == model.column("present"))
        moved = at_prior(name)
        limits = _limits(name, of_reference, layout, "_at_prior") if moved else {}
        columns |= {column: pl.when(known).then(value) for column, value in {**moved, **limits}.items()}
    return columns


def _limits(name: str, prefix: str, layout: ReportLayout, suffix: str = "") -> Columns:
    """The bounds of a metric, from the table of `with_intervals`."""
    if layout.interval is None or name in (*CELLS, CONFUSION):
        return {}
    ends = [f"{name}{suffix}{end}" for end in (LOW, HIGH)]
    if name == "ece":
        ends = [] if suffix else [*IF_CALIBRATED]
    # At a stated prior the cheapest constant decision is known.
    ends += [KINKED] if name == "nec" and not suffix else []
    return {end: pl.col(f"{prefix}{end}") for end in ends}


def _laid_out(
    model: Model, metrics: Columns, prior: Columns, counts: Columns, layout: ReportLayout, prefix: str
) -> Columns:
    """In the order of the report; `prefix` is what the number of rows of the smallest class begins with."""
    invalid, present, right = model.column("invalid"), model.column("present"), is_right(model)
    used = present - invalid
    columns = {"n": used, **metrics}
    columns |= {name: pl.when(right).then(value) for name, value in prior.items()}
    if layout.interval is not None:
        # With weights whose squares overflow, the classes are unknown.
        few_of_a_class = (pl.col(f"{prefix}{FEWEST}") < FEW_OF_A_CLASS).fill_null(value=True)
        columns["small"] = (used < max(layout.min_rows or 0, FEW_OF_A_CLASS)) | few_of_a_class
    elif layout.min_rows is not None:
        columns["small"] = used < layout.min_rows
    if layout.total:
        columns["total"] = pl.col(TOTAL)
    if layout.usual:
        columns |= {name: pl.when(is_decided(model)).then(value) for name, value in counts.items()}
    columns["n_missing"] = model.column("rows") - present
    columns |= {f"n_missing_{part}": model.column(part) for part in layout.row_parts}
    columns["n_invalid"] = invalid
    return columns


def _counts(model: Model, sums: ClassSums) -> Columns:
    cells = [[sums.cell(i, [j]) for j in range(sums.n_decisions)] for i in range(sums.n_classes)]
    if is_binary(model.rows):
        return dict(zip(CELLS, [cell for row in cells for cell in row], strict=True))
    return {CONFUSION: pack_confusion(cells, pl.Int64 if model.rows.weight is None else pl.Float64)}


def _metric(name: str, model: Model, sums: ClassSums, suffix: str = "") -> Columns:
    if name == CONFUSION:
        return _counts(model, sums)
    column = f"{name}{suffix}"
    if name in RANKING_METRICS:
        return {column: model.column(column), f"{column}_error": model.column(f"{column}_error")}
    if name == "ece":
        return {column: _ece(sums, stated=bool(suffix))}
    return {column: value_of(name, model, sums)}


def value_of(name: str, model: Model, sums: ClassSums | CollectedSums) -> pl.Expr:
    """A scoring rule, or a metric of decisions."""
    if name in SCORING_RULES:
        rule = SCORING_RULES[name]
        return rule.value(sums, sums.totals(rule.loss))
    return decision_value(name, sums, Arguments(model.rows.costs))


def _ece(sums: ClassSums, *, stated: bool) -> pl.Expr:
    even = ratio(pl.lit(1.0), sums.size)
    weights = [row_weight(sums, i) if stated else even for i in range(2)]
    terms = []
    for b in range(ECE_BINS.number):
        rows = [sums.column(f"bin_{b}_{i}") for i in range(2)]
        gaps = [sums.column(f"posterior_{b}_0"), sums.column(f"posterior_{b}_1") - rows[1]]
        gap = reduce(add, [weight * x for weight, x in zip(weights, gaps, strict=True)])
        share = reduce(add, [weight * x for weight, x in zip(weights, rows, strict=True)])
        terms.append(calibration_term(gap, share, ECE_BINS.norm))
    return calibration_error(reduce(add, terms), ECE_BINS.norm)


# Columns with intervals: their values again, with their row features.

BY_COST = ("expected_cost", "bayes_risk", "nec")
"""Metrics that depend on the costs of each row, if these are columns."""


def has_limits(name: str) -> bool:
    """Whether the sums of a report determine an interval for this metric."""
    return name not in (CONFUSION, *CELLS, "ece", *ORDER_METRICS)


def families_of(model: Model, names: Sequence[str], layout: ReportLayout) -> Iterator[Family]:
    """Families of the metrics of a group."""
    with_limits = [name for name in names if has_limits(name)]
    kinked = f"{model.prefix}{KINKED}" if "nec" in with_limits else None
    values = {name: _value(name, model, None) for name in with_limits}
    yield Family(ValueFeatures(model), [], fewest=f"{model.prefix}{FEWEST}")
    yield from _families(model, values, "", kinked)
    if layout.options.prior.stated:
        of = model.at_prior
        values = {name: _value(name, of, layout.options) for name in with_limits if is_moved(name, model)}
        yield from _families(of, values, "_at_prior")


def _value(name: str, model: Model, stated: Options | None) -> tuple[pl.Expr, pl.Expr | None]:
    """At the group's own prior, or at the stated one: as a formula on changed sums, and that of the report if it is another."""
    shown = None
    if is_multiclass(model):
        shown = multiclass_value(name, model, None if stated is None else stated_vector(model, stated))
        if name.startswith(OWN) or not has_columns(model):
            return shown, None
    of_group = ClassSums.of_group(model) if stated is None else ClassSums(model, stated_prior(model, stated))
    return value_of(name, model, of_group), shown


def _families(
    model: Model, values: Mapping[str, tuple[pl.Expr, pl.Expr | None]], suffix: str, kinked: str | None = None
) -> Iterator[Family]:
    """The metrics grouped by the features that they use."""
    layers = [{**own_priors(model), **_reference_of_classes(model)}] if has_columns(model) else []
    costs, estimates = model.rows.costs, dict[str, Value]()
    for name, (value, shown) in values.items():
        width = costs.n_classes if name.startswith(OWN) else None
        estimates[name] = Value(f"{model.prefix}{name}{suffix}", name, value, width, costs, shown)
    for loss in dict.fromkeys(SCORING_RULES[name].loss for name in values if name in SCORING_RULES):
        of_loss = [e for name, e in estimates.items() if name in SCORING_RULES and SCORING_RULES[name].loss == loss]
        yield Family(ValueFeatures(model, [loss]), of_loss, layers)
    by_cost = BY_COST if model.rows.row_costs is not None else ()
    decisions = [name for name in values if name not in (*by_cost, *SCORING_RULES)]
    for features, decided in (
        (CostFeatures(model), [name for name in values if name in by_cost]),
        (DecisionFeatures(model), [name for name in decisions if estimates[name].width is None]),
        (DecisionFeatures(model, of_one_class=True), [name for name in decisions if estimates[name].width is not None]),
    ):
        if decided:
            of_these = [estimates[name] for name in decided]
            yield Family(features, of_these, layers, kinked if "nec" in decided else None)


def _reference_of_classes(model: Model) -> dict[str, pl.Expr]:
    """The reference prior of each class, from the vector that a column of many classes holds."""
    if not is_multiclass(model):
        return {}
    reference = model.column("reference")
    return {f"{model.prefix}reference_{i}": reference.arr.get(i) for i in range(model.rows.costs.n_classes)}


def families_of_classes(model: Model, names: Sequence[str], layout: ReportLayout) -> Iterator[Family]:
    """Families of the metrics of each class against the rest."""
    with_limits = [name for name in names if has_limits(name)]
    n_classes = model.rows.costs.n_classes
    for k in range(n_classes):
        prefix = f"{model.prefix}{OWN}{k}_"
        in_group = OneVsRest(prefix, n_classes)
        kinked = f"{prefix}{KINKED}" if "nec" in with_limits else None
        estimates = [Value(f"{prefix}{name}", name, value_against_rest(name, in_group)) for name in with_limits]
        yield Family(OneVsRestFeatures(model, k=k, prefix=prefix), estimates, kinked=kinked, fewest=f"{prefix}{FEWEST}")
    if not layout.options.prior.stated:
        return
    moved, estimates = model.at_prior, []
    for k in range(n_classes):
        prefix = f"{model.prefix}{AT_PRIOR}{k}_"
        reference = OneVsRest(prefix, n_classes)
        estimates += [
            Value(f"{prefix}{name}_at_prior", name, value_against_rest(name, reference))
            for name in with_limits
            if is_moved_of_class(name, model, reference)
        ]
    if estimates:
        yield Family(DecisionFeatures(moved, of_one_class=True), estimates, _layers_against_rest(model, layout.options))


def _layers_against_rest(model: Model, options: Options) -> list[dict[str, pl.Expr]]:
    prefix, sums = f"{model.prefix}{AT_PRIOR}", _class_sums_at_prior(model, options)
    if not is_multiclass(model):
        return [own_priors(model.at_prior), sums]
    numbers = {
        f"{prefix}{k}_{number}": pl.col(prefix).arr.get(k).arr.get(at)
        for k in range(model.rows.costs.n_classes)
        for at, number in enumerate(AGAINST_REST)
    }
    return [sums, numbers]
