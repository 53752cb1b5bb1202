"""The models of a report, their metrics, and the sums that these need from a pass over the log."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import add, or_
from typing import Any, TypeAlias

import polars as pl

from polars_ec.arguments.classes import EMPIRICAL, CheckedPrior, Prior, constant, parse_prior
from polars_ec.arguments.keywords import Options, Request, did_you_mean
from polars_ec.formulas.calibration_error import ECE_BINS, in_bin
from polars_ec.formulas.decisions import BATTERY, BATTERY_OF_CLASSES, BATTERY_OF_ONE_CLASS, CELLS, DECISIONS, OF_CLASSES
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import CLASS_AREAS, ORDER_METRICS, RANKING_METRICS
from polars_ec.formulas.sums import MOST_WEIGHT, PerClass, Priors, SeparateClasses, Sums, array, ratio
from polars_ec.scores.counted import CollectedSums, GroupPrior
from polars_ec.scores.folds import bucket
from polars_ec.scores.read import (
    PRIOR,
    Rows,
    class_index,
    class_prior_of_log,
    count_rows,
    resolve_columns,
    with_prior_column,
)
from polars_ec.scores.scores import (
    CLASS,
    DECISION,
    MANY,
    WEIGHT,
    BinaryScores,
    DecidedScores,
    Decisions,
    ManyScores,
    VectorScores,
    moved_scores,
)
from polars_ec.typing import FrameLike, IntoExpr

Pass: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]
"""Execute a pass over the log: at once, or together with the others where the report is lazy."""

_SCORE_PRIOR = "__ec_score_prior"
# Vectors of more classes are read by the kernel, whose plan is smaller for the many sums of a report.
_MANY = 2


def pass_over(frame: FrameLike) -> Pass:
    """Run the pass together with others if lazy, else one after the other, because a DuckDB connection runs one query at a time."""
    if isinstance(frame, pl.LazyFrame):
        return lambda table: table
    return lambda table: table.collect(engine="streaming").lazy()


@dataclass(frozen=True)
class Model:
    """A score of the report: its name, its rows, and what its columns begin with on the way."""

    name: str
    rows: Rows
    prefix: str
    moved: Model | None = None
    counts_prior: bool = False
    """Whether rows are decided at the overall prior, which may be unknown."""

    @property
    def at_prior(self) -> Model:
        """The model whose sums provide the values at the reference prior."""
        return self.moved or self

    def column(self, name: str) -> pl.Expr:
        """A sum of the group, or a column derived from it."""
        return pl.col(f"{self.prefix}{name}")


def read_models(
    frame: pl.LazyFrame,
    scores: Sequence[pl.Expr],
    label: IntoExpr,
    keywords: Mapping[str, Any],
    options: Options,
    score_prior: Prior,
    execute: Pass,
) -> tuple[pl.LazyFrame, list[Model]]:
    """The frame, with the columns of priors and of moved scores that models need, and the models."""
    made_with = _checked_score_prior(score_prior, options)
    # Sums determine the overall prior of unchanged scores; scores that it shifts need it row by row.
    counts_prior = options.prior.overall and (options.scale.needs_prior or made_with.stated)
    if options.prior.overall:
        options = replace(options, prior=EMPIRICAL)
    frame, options = with_prior_column(frame, options)
    if made_with.expression is not None:
        frame = frame.with_columns(made_with.expression.alias(_SCORE_PRIOR))
        made_with = replace(made_with, expression=pl.col(_SCORE_PRIOR))
    models = []
    for m, score in enumerate(scores):
        moved, of_model = None, options
        if counts_prior:
            frame, prior = with_overall_prior(frame, score, label, keywords, f"{PRIOR}_{m}", execute)
            of_model = replace(options, prior=prior)
        rows = resolve_columns(frame, score, label, of_model, _MANY)
        decides_at_it = counts_prior and not made_with.stated
        if decides_at_it:
            rows = _of_right_rows(rows)
        if made_with.stated:
            name = f"__ec_moved_{m}"
            dtype = None if made_with.expression is None else frame.collect_schema()[_SCORE_PRIOR]
            is_many = isinstance(rows.scores, ManyScores)
            to = rows.prior_vector if is_many else rows.row_prior
            with _errors_of_score_prior():
                # An error about the prior is one about its shares.
                from_: Any = made_with.per_row(rows.class_names, dtype)
                from_ = made_with.vector(rows.class_names, dtype) if is_many else from_
            frame = frame.with_columns(moved_scores(rows.scores, from_, to).alias(name))
            moved = Model(name, replace(rows, scores=_scores_of(pl.col(name), rows)), f"__ec_{len(scores) + m}_")
        models.append(Model(score.meta.output_name(), rows, f"__ec_{m}_", moved, decides_at_it))
    orders = {model.rows.class_names.fields for model in models if model.rows.class_names.fields}
    if len(orders) > 1:
        raise ValueError(f"score= holds structs that order the classes differently, {orders}: pass classes=")
    return frame, models


def with_overall_prior(
    frame: pl.LazyFrame, score: IntoExpr, label: IntoExpr, keywords: Mapping[str, Any], name: str, execute: Pass
) -> tuple[pl.LazyFrame, CheckedPrior]:
    """The frame with the prior "overall" as a column of this name, and this prior."""
    shares = execute(frame.select(class_prior_of_log(score, label, keywords).alias(name)))
    return frame.join(shares, how="cross"), CheckedPrior(stated=True, expression=pl.col(name))


@contextmanager
def _errors_of_score_prior() -> Iterator[None]:
    """Errors about a prior name the keyword that it was passed as."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"score_{error}" if str(error).startswith("prior=") else str(error)) from None


def _checked_score_prior(score_prior: Prior, options: Options) -> CheckedPrior:
    if score_prior is None:
        return EMPIRICAL
    with _errors_of_score_prior():
        checked = parse_prior(score_prior)
    if checked.overall:
        raise ValueError('score_prior="overall" is not known: pass the prior that the scores were made with')
    if not options.scale.has_posteriors:
        raise ValueError(
            f"score_prior={score_prior!r} is for posteriors, but score_type={options.scale.name!r}: leave it out"
        )
    if not options.prior.stated:
        raise ValueError(f"score_prior={score_prior!r} is the prior to move from: pass prior= too, the one to move to")
    if checked.shares is not None and 0.0 in checked.shares:
        raise ValueError(f"score_prior={score_prior!r} has a class of prior 0, which posteriors cannot have")
    return checked


def _of_right_rows(rows: Rows) -> Rows:
    """Rows that are none the worse for a prior that could not be counted: they are read at another, and have no metrics of it."""
    assert isinstance(rows.scores, BinaryScores | VectorScores | ManyScores)
    assert rows.row_prior is not None
    n = len(rows.row_prior)
    if isinstance(rows.scores, ManyScores):
        assert isinstance(rows.prior_vector, pl.Expr)
        vector = rows.prior_vector.fill_null(pl.lit([1 / n] * n, dtype=pl.Array(pl.Float64, n)))
        return replace(rows, scores=replace(rows.scores, prior=vector))
    return replace(rows, scores=replace(rows.scores, prior=[share.fill_null(1 / n) for share in rows.row_prior]))


def _scores_of(moved: pl.Expr, rows: Rows) -> BinaryScores | VectorScores | ManyScores:
    """The scores in a column of moved ones, whose classes are in class order."""
    scores = rows.scores
    if isinstance(scores, BinaryScores):
        return replace(scores, score=moved)
    if isinstance(scores, ManyScores):
        return replace(scores, vector=moved, may_differ=False)
    assert isinstance(scores, VectorScores)
    elements = [moved.arr.get(k) for k in range(len(scores.elements))]
    return replace(scores, elements=elements, wrong_length=None, null_element=scores.missing | moved.is_null())


# Outputs of the pass of a report.


@dataclass(frozen=True)
class Requirements:
    """The inputs of a report's metrics."""

    decisions: bool
    losses: tuple[str, ...] = ()
    ece: bool = False
    row_parts: tuple[str, ...] = ()
    interval: Request | None = None

    @property
    def resampled(self) -> bool:
        """Whether rows, or clusters, are resampled."""
        return self.interval is not None and self.interval.is_resampled

    @property
    def clustered(self) -> bool:
        """Whether the rows of a group are summed bucket by bucket."""
        return self.interval is not None and self.interval.cluster is not None


def missing_parts(rows: Rows, requirements: Requirements) -> dict[str, pl.Expr]:
    """Whether each nullable input of a row is null."""
    missing = {
        "label": rows.labels.label.is_null(),
        "score": rows.scores.missing,
        "weight": pl.lit(value=False) if rows.weight is None else rows.weight.is_null(),
    }
    return {part: missing[part] for part in requirements.row_parts}


# The metrics of a model: the requested ones, checked against the kind of score, or the default metrics.

CONFUSION = "confusion"
FORMULAS = {**DECISIONS, **OF_CLASSES}
"""The metrics of decisions that a report has."""


_BESIDE = "compute it with group_by(...).agg(ec.{}(...))"
ELSEWHERE = {
    "fbeta": f"needs beta=: {_BESIDE.format('fbeta')}",
    "net_benefit": f"needs p_t=: {_BESIDE.format('net_benefit')}",
    "dcf": "equals nec_at_prior for LLRs with prior=: pass 'nec'",
    "cllr": f"uses LLRs at even priors: {_BESIDE.format('cllr')}",
    "epsr": f"needs a= and b=: {_BESIDE.format('epsr')}",
    "ece_mc": f"is not available in a report: {_BESIDE.format('ece_mc')}",
}
METRICS = tuple(name for name in (*FORMULAS, CONFUSION, *SCORING_RULES, "ece", *ORDER_METRICS) if name not in ELSEWHERE)
_ALWAYS, _NO_METRIC = ("n", "class_prior", "n_missing", "n_invalid"), "is not a metric of a report"


def is_binary(rows: Rows) -> bool:
    """Whether there are two classes and two decisions."""
    return (rows.costs.n_classes, rows.costs.n_decisions) == (2, 2)


def named_metrics(metrics: Any, known: Sequence[str] = METRICS, fault: str = _NO_METRIC) -> tuple[str, ...] | None:
    """The names that the caller passed, if any; errors for one that is not `known`, before anything is read."""
    if metrics is None:
        return None
    if isinstance(metrics, str) or not hasattr(metrics, "__iter__"):
        raise TypeError(f"metrics={metrics!r} is not a list of names: pass [{metrics!r}]")
    names = tuple(metrics)
    for place, name in enumerate(names):
        if name in _ALWAYS:
            raise ValueError(f"metrics= holds {name!r}, which every report has already: leave it out")
        if name in ELSEWHERE:
            raise ValueError(f"metrics= holds {name!r}, which {ELSEWHERE[name]}")
        if name not in known:
            hint = did_you_mean(str(name), known)
            raise ValueError(f"metrics= holds {name!r}, which {fault}: {hint}The metrics are {', '.join(known)}")
        if name in names[:place]:
            raise ValueError(f"metrics= has {name!r} twice")
    if not names:
        raise ValueError("metrics=[] is empty: leave it out for the default metrics")
    return names


def metrics_of(named: Sequence[str] | None, rows: Rows) -> tuple[str, ...]:
    """The metrics of a model: as named, if its scores have them, or the usual ones."""
    if named is None:
        usual = BATTERY if is_binary(rows) else BATTERY_OF_CLASSES
        decided = isinstance(rows.scores, DecidedScores)
        return tuple(name for name in usual if not (decided and name in SCORING_RULES))
    for name in named:
        _check(name, rows)
    return tuple(named)


def metrics_of_one_class(named: Sequence[str] | None, rows: Rows) -> tuple[str, ...]:
    """The metrics of a class against the rest, which are functions of two by two counts."""
    if rows.costs.n_decisions < rows.costs.n_classes:
        raise ValueError(
            f"per_class=True needs one decision per class, but there are {rows.costs.n_classes} classes and "
            f"{rows.costs.n_decisions} decisions: leave it out"
        )
    if named is None:
        return BATTERY_OF_ONE_CLASS
    for name in named:
        if name != CONFUSION and (name not in FORMULAS or not _is_of_one_class(name)):
            raise ValueError(f"metrics= holds {name!r}, but per_class=True has only metrics of decisions for one class")
    return tuple(named)


def _is_of_one_class(name: str) -> bool:
    formula = FORMULAS[name]
    of_both = ("expected_cost", "error_rate", "accuracy", "decision_share")
    return formula.binary or formula.square or formula.by_naive_cost or name in of_both


def needed(names: Sequence[str], row_parts: Sequence[str]) -> Requirements:
    """The sums that these metrics need."""
    rules = [SCORING_RULES[name].loss for name in names if name in SCORING_RULES]
    return Requirements(
        decisions=any(name in FORMULAS or name == CONFUSION for name in names),
        losses=tuple(dict.fromkeys(rules)),
        ece="ece" in names,
        row_parts=tuple(row_parts),
    )


def check_decided_by(name: str, *, decided: bool, by_threshold: bool) -> None:
    """ValueError where rows that are decided so do not have the metric."""
    shown = f"metrics= holds {name!r}, which"
    if (name in SCORING_RULES or name in ("ece", "bayes_risk")) and decided:
        raise ValueError(f"{shown} needs posteriors, and score_type='decision' has none")
    if name == "bayes_risk" and by_threshold:
        raise ValueError(f"{shown} uses Bayes decisions: leave threshold= out, or use expected_cost")


def _check(name: str, rows: Rows) -> None:
    """ValueError where these rows do not have the metric."""
    shown, scores, n_classes = f"metrics= holds {name!r}, which", rows.scores, rows.costs.n_classes
    check_decided_by(name, decided=isinstance(scores, DecidedScores), by_threshold=rows.options.threshold is not None)
    if name == "ece" and n_classes != 2:
        raise ValueError(f"{shown} is for two classes, but there are {n_classes}")
    if name == "decision_share" and rows.costs.n_decisions != 2:
        raise ValueError(f"{shown} is for two decisions: use group_by(...).agg(ec.decision_share(..., decision=0))")
    if name in CELLS and not is_binary(rows):
        raise ValueError(f"{shown} is for two classes and two decisions: use confusion")
    if name in CLASS_AREAS and (n_classes == 2 or not isinstance(scores, ManyScores)):
        raise ValueError(f"{shown} is for posteriors of more than two classes: use auc_roc for one number per row")
    if name in RANKING_METRICS:
        if not isinstance(scores, BinaryScores):
            other = ", or macro_auc_roc for all classes" if name == "auc_roc" else ""
            raise ValueError(
                f"{shown} is for one number per row: use the posterior of one class against the rest{other}"
            )
        if name.startswith("min_") and name != "min_cllr":
            if rows.row_costs is not None:
                raise ValueError(f"{shown} needs one threshold for all rows: pass cost_fn= and cost_fp= as numbers")
            rows.costs.margins()


# Inputs of intervals from the pass: sums of squares, the bucket of each row's cluster, and cells of similar rows.

BUCKET = "__ec_bucket"
"""The bucket of a row's cluster, null where it has none."""

UNITS = "__ec_units"
"""In the sums of a group, the lists of its buckets' sums, and of the cells of rows that are resampled together."""

RESAMPLED = "__ec_resampled"
"""The cell of rows with similar losses that a row is resampled with; null if it is resampled with its cluster."""

# Bins of a loss per nat, for one model and for several: within one, losses are nearly equal.
_BINS, _FEWEST_BINS = 8, 2
_LEAST, _MOST = -64, 8

ONCE, TWICE = "_1", "_2"
"""After the name of a sum of w x: the sums of w^2 x and of w^2 x^2."""


def bucket_columns(request: Request | None) -> dict[str, pl.Expr]:
    """One more key of the pass, where rows come in clusters."""
    if request is None or request.cluster is None:
        return {}
    return {BUCKET: bucket(request.cluster, request.buckets)}


def resampled_columns(
    request: Request | None, values: Sequence[Sequence[pl.Expr]], in_bucket: pl.Expr | None
) -> dict[str, pl.Expr]:
    """A further key of the pass for resampling rows: bins of the losses, or other non-negative values, of each model."""
    if request is None or not request.is_resampled or not any(values):
        return {}
    bins = max(_BINS // len(values), _FEWEST_BINS)
    cell = pl.lit(0, dtype=pl.Int64)
    for value in (value for of_model in values for value in of_model):
        place = pl.when(value > 0).then(value.log()).clip(_LEAST, _MOST).fill_nan(_LEAST).fill_null(_LEAST)
        cell = cell * ((_MOST - _LEAST) * bins + 1) + ((place - _LEAST) * bins).floor().cast(pl.Int64)
    return {RESAMPLED: cell if in_bucket is None else pl.when(in_bucket.is_null()).then(cell)}


def value_squares(values: Mapping[str, pl.Expr], weight: pl.Expr | None) -> dict[str, pl.Expr]:
    """Sums of squares of values, each times the weight of its row; and with weights sums of w^2 x."""
    sums = {f"{name}{TWICE}": (value * value).sum() for name, value in values.items()}
    if weight is not None:
        sums |= {f"{name}{ONCE}": (value * weight).sum() for name, value in values.items()}
    return sums


# The pass over a log of many classes: rows are counted by class and decision, and the counts listed.

# Not "weight", which names an input that may be null.
AMOUNT, N = "amount", "__ec_n"
"""Sums of a cell: of the weights of its rows, and how many rows there are."""


def multiclass_cells(
    frame: pl.LazyFrame, keys: Sequence[pl.Expr], models: Sequence[Model], requirements: Requirements
) -> pl.LazyFrame:
    """Sums per group, class and decision."""
    names = [CLASS, *([DECISION] if requirements.decisions else []), *requirements.losses]
    rows = {f"{model.prefix}row": model.rows.cells(names) for model in models}
    rows |= {f"{m.prefix}{part}": mask for m in models for part, mask in missing_parts(m.rows, requirements).items()}
    rows |= {f"{m.prefix}reference": p for m in models if (p := _prior_column(m)) is not None}
    fields = [*names, *([] if models[0].rows.weight is None else [WEIGHT])]
    buckets = bucket_columns(requirements.interval)
    row_table = frame.select(*keys, **buckets, **rows).with_columns(
        model.column("row").struct.field(name).alias(f"{model.prefix}{AMOUNT if name == WEIGHT else name}")
        for model in models
        for name in fields
    )
    losses = [_losses(model, requirements) for model in models]
    cells = resampled_columns(requirements.interval, losses, pl.col(BUCKET) if buckets else None)
    row_table = row_table.with_columns(**cells)
    sums: dict[str, pl.Expr] = {N: pl.len().cast(pl.Int64)}
    for model in models:
        sums |= {f"{model.prefix}{name}": model.column(name).sum() for name in requirements.losses}
        weight = None if model.rows.weight is None else model.column(AMOUNT)
        sums |= {} if weight is None else {f"{model.prefix}{AMOUNT}": weight.sum()}
        if requirements.interval is not None:
            squares = value_squares({name: model.column(name) for name in requirements.losses}, weight)
            squares |= {} if weight is None else {f"{WEIGHT}{TWICE}": (weight * weight).sum()}
            sums |= {f"{model.prefix}{name}": column for name, column in squares.items()}
        sums |= {f"{model.prefix}{part}": count_rows(model.column(part)) for part in requirements.row_parts}
        if _prior_column(model) is not None:
            of_cell = GroupPrior.from_rows(model.column("reference"))
            sums |= {f"{model.prefix}reference": of_cell.vector, f"{model.prefix}known": of_cell.known}
    of_cells = [f"{model.prefix}{name}" for model in models for name in names if name in (CLASS, DECISION)]
    return row_table.group_by([*(key.meta.output_name() for key in keys), *of_cells, *buckets, *cells]).agg(**sums)


def _losses(model: Model, requirements: Requirements) -> list[pl.Expr]:
    amount = pl.lit(1.0) if model.rows.weight is None else model.column(AMOUNT)
    return [model.column(name) / amount for name in requirements.losses]


def multiclass_sums(models: Sequence[Model], requirements: Requirements) -> list[pl.Expr]:
    """The sums of a group, and the list of its cells, for every model."""
    n = pl.col(N)
    columns: list[pl.Expr] = []
    for model in models:
        index = model.column(CLASS)
        weight = n.cast(pl.Float64) if model.rows.weight is None else model.column(AMOUNT)
        held = [index.alias(CLASS), weight.alias(WEIGHT)]
        held += [model.column(DECISION).alias(DECISION)] if requirements.decisions else []
        held += [model.column(name).alias(name) for name in requirements.losses]
        if requirements.interval is not None:
            suffixes = (TWICE,) if model.rows.weight is None else (ONCE, TWICE)
            squares = [f"{name}{suffix}" for name in requirements.losses for suffix in suffixes]
            squares += [] if model.rows.weight is None else [f"{WEIGHT}{TWICE}"]
            held += [model.column(name).alias(name) for name in squares]
            held += [pl.col(BUCKET)] if requirements.clustered else []
        aggregates = {
            "rows": n.sum(),
            "present": pl.when(index.is_not_null()).then(n).otherwise(0).sum(),
            "invalid": pl.when(index == -1).then(n).otherwise(0).sum(),
            "undecided": pl.lit(0),
            "size": pl.when(index.is_not_null()).then(weight).sum(),
            "cells": pl.struct(held).implode(),
            **{part: model.column(part).sum() for part in requirements.row_parts},
        }
        if _prior_column(model) is not None:
            of_group = GroupPrior.from_rows(model.column("reference"))
            aggregates |= {"reference": pl.when(of_group.known & model.column("known").all()).then(of_group.vector)}
        columns += [column.alias(f"{model.prefix}{name}") for name, column in aggregates.items()]
    return columns


def _prior_column(model: Model) -> pl.Expr | None:
    """The priors that rows hold."""
    vector = model.rows.prior_vector
    return vector if isinstance(vector, pl.Expr) else None


# The pass over the log: sums per group and class, and then a row per group with a column for each sum of each class.

TOTAL = "__ec_total"
"""Whether a row of the sums is that of all groups."""

CLASS_OF_SUMS = "__ec_class"
"""The class of the rows of a sum: -1 for rows that have another label, null for those that have none."""
_WEIGHT = "__ec_weight"
_COUNTS = ("rows", "invalid", "present")


def sum_per_class(
    frame: pl.LazyFrame, keys: Sequence[pl.Expr], models: Sequence[Model], requirements: Requirements
) -> pl.LazyFrame:
    """The pass over the log: sums per group and class, which needs no mask per class.

    The rows' columns are made by a select of their own, for there the engine computes what they share only once.
    """
    if is_multiclass(models[0]):
        return multiclass_cells(frame, keys, models, requirements)
    rows = models[0].rows
    columns = {
        f"{model.prefix}{name}": column
        for model in models
        for name, column in _row_columns(model.rows, requirements).items()
    }
    sums = {f"{model.prefix}{name}": s for model in models for name, s in _class_sums(model, requirements).items()}
    for name, share in _row_priors(models).items():
        columns[name] = share
        sums[name] = constant(pl.col(name))
    if rows.weight is not None:
        columns[_WEIGHT] = rows.weight
    units = bucket_columns(requirements.interval)
    amounts = [_amounts(model.rows, requirements) for model in models]
    units |= resampled_columns(requirements.interval, amounts, units.get(BUCKET))
    made = frame.select(*keys, class_index(rows.labels).alias(CLASS_OF_SUMS), **units, **columns)
    known = {f"{model.prefix}{name}": s for model in models for name, s in _known_sums(model, requirements).items()}
    summed = {name: column for name, column in sums.items() if name not in known}
    cells = made.group_by([*(key.meta.output_name() for key in keys), CLASS_OF_SUMS, *units]).agg(**summed)
    return cells.with_columns(**known)


def _amounts(rows: Rows, requirements: Requirements) -> list[pl.Expr]:
    """Values that are about equal in rows that are resampled together, besides class and decision."""
    losses = [rows.loss(name) for name in requirements.losses]
    if rows.row_costs is None or not requirements.decisions:
        return losses
    return [*losses, rows.error_cost(), pl.when(rows.errors).then(rows.error_cost()).otherwise(0.0)]


def sum_per_group(
    cells: pl.LazyFrame, keys: Sequence[str], models: Sequence[Model], requirements: Requirements, total: bool
) -> pl.LazyFrame:
    """One row per group, sorted: a column for each sum of each class, so that the formulas stay small.

    `total` adds a row over all groups, the last one.
    """
    if total:
        keys = [TOTAL, *keys]
        cells = with_total(cells, keys)
    columns = (multiclass_sums if is_multiclass(models[0]) else sums_by_class)(models, requirements)
    return cells.group_by(keys).agg(columns).sort(keys) if keys else cells.select(columns)


def sums_by_class(models: Sequence[Model], requirements: Requirements) -> list[pl.Expr]:
    """The sums of a group for each class, and the list of its buckets and cells, for every model."""
    counts = [*_COUNTS, *(["undecided"] if requirements.decisions else []), *requirements.row_parts]
    columns = [pl.col(f"{model.prefix}{name}").sum() for model in models for name in counts]
    columns += [
        pl.when(pl.col(CLASS_OF_SUMS) == i).then(model.column(name)).sum().alias(f"{model.prefix}{name}_{i}")
        for model in models
        for name in _class_sums(model, requirements)
        if name not in counts
        for i in range(model.rows.costs.n_classes)
    ]
    columns += [constant(pl.col(name)).alias(name) for name in _row_priors(models)]
    has_cells = requirements.resampled and any(_amounts(model.rows, requirements) for model in models)
    units = [*([BUCKET] if requirements.clustered else []), *([RESAMPLED] if has_cells else [])]
    if units:
        names = {f"{model.prefix}{name}": name for model in models for name in _class_sums(model, requirements)}
        listed = pl.struct(*units, CLASS_OF_SUMS, *(column for column, name in names.items() if name not in counts))
        columns.append(listed.implode().alias(UNITS))
    return columns


def with_total(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Each row of its group, and once more of all groups: the keys are null there, and the first of them says so."""
    both = table.with_columns(pl.lit([False, True]).alias(TOTAL)).explode(TOTAL)
    return both.with_columns(pl.when(~pl.col(TOTAL)).then(pl.col(key)).alias(key) for key in keys if key != TOTAL)


def with_priors(sums: pl.LazyFrame, models: Sequence[Model], options: Options, total: bool) -> pl.LazyFrame:
    """Each group's own priors, as columns: formulas that name them are planned faster than formulas that repeat them.

    And the overall prior of each model, where rows do without.
    """
    priors: dict[str, pl.Expr] = {}
    in_group = ~pl.col(TOTAL) if total else pl.lit(value=True)
    if is_multiclass(models[0]):
        if not (options.prior.overall and models[0].rows.row_prior is None):
            return sums
        counted = {f"{m.prefix}counts": (sums_of := report_sums(m, None)).aggregated(sums_of.counts) for m in models}
        overall = {f"{model.prefix}reference": _overall(model, in_group) for model in models}
        return sums.with_columns(**counted).with_columns(**overall)
    for model in models:
        of_group = ClassSums(model, None)
        priors |= own_priors(model)
        if options.prior.overall and model.rows.row_prior is None:
            counts = [pl.when(in_group).then(of_group.count(i)).sum() for i in range(of_group.n_classes)]
            size = reduce(add, counts)
            right = (model.column("invalid").sum() == 0) & (size < MOST_WEIGHT)
            shares = [pl.when(right).then(ratio(count, size)) for count in counts]
            priors |= {f"{model.prefix}reference_{i}": share for i, share in enumerate(shares)}
    return sums.with_columns(**priors)


def own_priors(model: Model) -> dict[str, pl.Expr]:
    """The group's own priors, by the names of their columns."""
    return {f"{model.prefix}prior_{i}": share for i, share in enumerate(ClassSums(model, None).empirical_prior)}


def _overall(model: Model, in_group: pl.Expr) -> pl.Expr:
    """The prior of all groups together, as an Array; null if unknown."""
    counts = model.column("counts")
    totals = array(pl.when(in_group).then(counts.arr.get(i)).sum() for i in range(model.rows.costs.n_classes))
    known = pl.when(in_group).then(model.column("invalid")).sum() == 0
    return pl.when(known & (totals.arr.sum() < MOST_WEIGHT)).then(totals.arr.eval(pl.element() / pl.element().sum()))


def is_multiclass(model: Model) -> bool:
    """Whether the pass groups the rows by decision too, and lists what it finds: of many classes masks would not end."""
    n_classes = model.rows.costs.n_classes
    if isinstance(model.rows.scores, DecidedScores):
        return n_classes > MANY
    return isinstance(model.rows.scores, ManyScores) and n_classes > 2


def report_sums(model: Model, prior: tuple[float, ...] | GroupPrior | None) -> CollectedSums:
    """The sums of a group of many classes, of the table that has a list of its cells."""
    costs = model.rows.costs
    return CollectedSums(costs.n_classes, costs.n_decisions, lambda _: model.column("cells"), prior)


def stated_vector(model: Model, options: Options) -> tuple[float, ...] | GroupPrior | None:
    """The reference prior of a group of many classes, of the table that `with_priors` made."""
    if options.prior.overall or options.prior.expression is not None:
        return GroupPrior(model.column("reference"), model.column("reference").is_not_null())
    prior = model.rows.prior_vector
    assert not isinstance(prior, pl.Expr)
    return prior


def stated_prior(model: Model, options: Options) -> list[pl.Expr] | None:
    """The reference prior of a group, of the table that `with_priors` made."""
    if options.prior.overall or options.prior.expression is not None:
        return [model.column(f"reference_{i}") for i in range(model.rows.costs.n_classes)]
    return model.rows.prior


def _row_priors(models: Sequence[Model]) -> dict[str, pl.Expr]:
    """Shares of each class by priors that rows hold, for every model."""
    return {
        f"{model.prefix}reference_{i}": share
        for model in models
        if model.rows.options.prior.expression is not None
        for i, share in enumerate(model.rows.row_prior or [])
    }


class ClassSums(Sums):
    """Sums of a group, from the table that has a column for each."""

    def __init__(self, model: Model, prior: list[pl.Expr] | None) -> None:
        super().__init__(model.rows.costs.n_decisions, prior, model.rows.costs.n_classes)
        self.costs_by_row = model.rows.row_costs is not None
        self._model = model
        self._summed = summed_decisions(model)
        self._is_of_group = False

    @classmethod
    def of_group(cls, model: Model) -> ClassSums:
        """At the group's own prior."""
        sums = cls(model, [model.column(f"prior_{i}") for i in range(model.rows.costs.n_classes)])
        sums._is_of_group = True
        return sums

    def count(self, i: int) -> pl.Expr:
        return self.column(f"count_{i}")

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        if not set(decided) <= set(self._summed):
            others = [j for j in range(self.n_decisions) if j not in decided]
            return self.count(i) - self.cell(i, others) if others else self.count(i)
        return reduce(add, [self.column(f"decided_{j}_{i}") for j in sorted(decided)])

    def per_class(self) -> PerClass:
        return SeparateClasses(self, of_group=self._is_of_group)

    def bound(self, values: Sequence[pl.Expr], build: Callable[..., pl.Expr]) -> pl.Expr:
        return build(*values)

    def of_priors(self, build: Callable[[Priors], pl.Expr]) -> pl.Expr:
        return build(self.prior)

    def class_cost(self, i: int) -> pl.Expr:
        return self.column(f"class_cost_{i}")

    def error_cost(self, i: int) -> pl.Expr:
        return self.column(f"error_cost_{i}")

    def column(self, name: str) -> pl.Expr:
        return self._model.column(name)

    def totals(self, name: str) -> list[pl.Expr]:
        """The sum of a loss over each class."""
        return [self.column(f"{name}_{i}") for i in range(self.n_classes)]


def is_right(model: Model) -> pl.Expr:
    """Whether a group has metrics: no row is invalid, and the weights sum to less than `MOST_WEIGHT`."""
    right = model.column("invalid") == 0
    if is_multiclass(model):
        return right & (model.column("size") < MOST_WEIGHT)
    return right if model.rows.weight is None else right & (ClassSums(model, None).size < MOST_WEIGHT)


def is_scored(model: Model) -> pl.Expr:
    """Whether they give metrics of posteriors: the prior that makes them is known."""
    reference = model.column("reference" if is_multiclass(model) else "reference_0")
    return is_right(model) & reference.is_not_null() if model.counts_prior else is_right(model)


def is_decided(model: Model) -> pl.Expr:
    """Whether they give metrics of decisions: each row also has the threshold and the costs that it was to have."""
    return is_scored(model) & (model.column("undecided") == 0)


def _row_columns(rows: Rows, requirements: Requirements) -> dict[str, pl.Expr]:
    """The row values of which the sums are taken."""
    columns = {"present": rows.present, "invalid": rows.invalid}
    if requirements.decisions:
        decided = rows.decisions
        columns["decision"] = decided.index if decided.positive is None else decided.positive
        if rows.decision_faults:
            columns["undecided"] = reduce(or_, rows.decision_faults.values())
        if rows.row_costs is not None:
            cost = pl.when(rows.present).then(rows.weighted(rows.error_cost()))
            columns |= {"class_cost": cost, "error_cost": pl.when(rows.errors).then(cost)}
    losses = {name: rows.weighted(rows.loss(name)) for name in requirements.losses}
    if isinstance(rows.scores, VectorScores):
        # The loss of a row with a null beside the true class would be a number.
        losses = {name: pl.when(rows.present).then(loss) for name, loss in losses.items()}
    columns |= losses
    if requirements.ece:
        columns["posterior"] = rows.scores.of_posteriors(lambda posteriors: posteriors[1])
    return columns | missing_parts(rows, requirements)


def _class_sums(model: Model, requirements: Requirements) -> dict[str, pl.Expr]:
    """Counts of rows; rows or their weight, in all and for each decision; and summed losses."""
    rows, present, invalid = model.rows, model.column("present"), model.column("invalid")
    usable = present & ~invalid

    def amount(mask: pl.Expr) -> pl.Expr:
        return count_rows(mask) if rows.weight is None else pl.when(mask).then(pl.col(_WEIGHT)).sum()

    sums = {
        "rows": pl.len().cast(pl.Int64),
        "invalid": count_rows(invalid),
        "present": count_rows(present),
        **{part: count_rows(model.column(part)) for part in requirements.row_parts},
    }
    masks, values = {"count": usable}, list(requirements.losses)
    if requirements.decisions:
        column, n_decisions = model.column("decision"), rows.costs.n_decisions
        by_index = rows.decisions.positive is None
        decided = Decisions(n_decisions, number=column) if by_index else Decisions(n_decisions, positive=column)
        masks |= {f"decided_{j}": usable & decided.among([j]) for j in summed_decisions(model)}
        sums["undecided"] = count_rows(model.column("undecided"))
        values += [] if rows.row_costs is None else ["class_cost", "error_cost"]
    sums |= {name: amount(mask) for name, mask in masks.items()}
    sums |= {name: model.column(name).sum() for name in values}
    if requirements.interval is not None:
        weight = None if rows.weight is None else pl.col(_WEIGHT)
        sums |= value_squares({name: model.column(name) for name in values}, weight)
        if weight is not None:
            # Without weights the sums of w^2 are the counts themselves.
            sums |= {f"{name}{TWICE}": pl.when(mask).then(weight * weight).sum() for name, mask in masks.items()}
    if requirements.ece:
        posterior = model.column("posterior")
        weighted = posterior if rows.weight is None else posterior * pl.col(_WEIGHT)
        for b in range(ECE_BINS.number):
            inside = usable & in_bin(posterior, b, ECE_BINS.number)
            sums |= {f"bin_{b}": amount(inside), f"posterior_{b}": pl.when(inside).then(weighted).sum()}
            if requirements.interval is not None:
                squared = posterior * (1 - posterior)
                squared = squared if rows.weight is None else squared * pl.col(_WEIGHT) ** 2
                sums[f"noise_{b}"] = pl.when(inside).then(squared).sum()
    return sums


def _known_sums(model: Model, requirements: Requirements) -> dict[str, pl.Expr]:
    """Sums that other sums are already: each takes its time of the pass, most where groups are many, as with buckets."""
    known = {"count": model.column("present") - model.column("invalid")} if model.rows.weight is None else {}
    are_decided = requirements.decisions and not model.rows.decision_faults
    return known | ({"undecided": pl.lit(0, pl.Int64)} if are_decided else {})


def summed_decisions(model: Model) -> range:
    """All decisions but one if rows are counted in columns; with weights all, because a difference would lose digits."""
    rows = model.rows
    return range(0 if rows.weight is not None or is_multiclass(model) else 1, rows.costs.n_decisions)


# A class against the rest: two by two sums of the decisions made between more.

AGAINST_REST = ("count_0", "count_1", "00", "01", "10", "11")
"""One-vs-rest sums: of the rest and of the class, and for each the decisions for the rest and for the class."""


def one_class_columns(sums: Sums, prefix: str, *, weighed: bool) -> dict[str, pl.Expr]:
    """Columns with the sums for `OneVsRest`, for every class; repeating these in formulas would make them too long.

    `weighed`: as masses at the priors in use, which also mix the other classes in the rest; otherwise as counts.
    """
    count = sums.prior.__getitem__ if weighed else sums.count
    amount = sums.joint if weighed else sums.cell
    columns = {}
    for k in range(sums.n_classes):
        classes = [[i for i in range(sums.n_classes) if i != k], [k]]
        decisions = [[j for j in range(sums.n_decisions) if j != k], [k]]
        for i in range(2):
            columns[f"{prefix}{k}_count_{i}"] = reduce(add, [count(c) for c in classes[i]])
            for j in range(2):
                columns[f"{prefix}{k}_{i}{j}"] = reduce(add, [amount(c, decisions[j]) for c in classes[i]])
    return columns


class OneVsRest(Sums):
    """Sums of two classes, the rest and class k of K: decision k is for the class, every other one for the rest."""

    def __init__(self, prefix: str, n_classes: int) -> None:
        super().__init__(2, None, 2)
        self.prefix = prefix
        self._mixes = n_classes > 2
        self._asked = False

    def count(self, i: int) -> pl.Expr:
        self._asked |= i == 0 and self._mixes
        return pl.col(f"{self.prefix}count_{i}")

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        self._asked |= i == 0 and self._mixes
        return reduce(add, [pl.col(f"{self.prefix}{i}{j}") for j in sorted(decided)])

    @property
    def prior(self) -> list[pl.Expr]:
        self._asked = True
        return self.empirical_prior

    def is_moved(self, formula: Callable[[Sums], pl.Expr]) -> bool:
        """Whether the value of the formula depends on the class priors: it uses them, or the rest, which they mix."""
        self._asked = False
        formula(self)
        return self._asked
