"""The pass over the log: sums per group and class, and then a row per group with a column for each sum of each class."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import add, or_

import polars as pl

from polars_ec.arguments import Options
from polars_ec.formulas.calibration_error import ECE_BINS, in_bin
from polars_ec.formulas.sums import Sums, array, ratio
from polars_ec.priors import constant
from polars_ec.reporting.many import cells_of_classes, collected
from polars_ec.reporting.models import Model
from polars_ec.reporting.needs import Needs, missing_parts
from polars_ec.reporting.squares import (
    BUCKET,
    DRAWN,
    amount_squares,
    bucket_columns,
    drawn_columns,
    unit_list,
    value_squares,
)
from polars_ec.rows.collected import CollectedSums, GroupPrior
from polars_ec.rows.decisions import Decisions
from polars_ec.rows.labels import class_index
from polars_ec.rows.many import MANY, ManyScores
from polars_ec.rows.read import Rows, count_rows
from polars_ec.rows.scores import DecidedScores, VectorScores

TOTAL = "__ec_total"
"""Whether a row of the sums is that of all groups."""

CLASS_OF_SUMS = "__ec_class"
"""The class of the rows of a sum: -1 for rows that have another label, null for those that have none."""
_WEIGHT = "__ec_weight"
_COUNTS = ("rows", "invalid", "present")


def sum_per_class(frame: pl.LazyFrame, keys: Sequence[pl.Expr], models: Sequence[Model], needs: Needs) -> pl.LazyFrame:
    """The pass over the log: sums per group and class, which needs no mask per class.

    The rows' columns are made by a select of their own, for there the engine computes what they share only once.
    """
    if is_collected(models[0]):
        return cells_of_classes(frame, keys, models, needs)
    rows = models[0].rows
    columns = {
        f"{model.prefix}{name}": column for model in models for name, column in _row_columns(model.rows, needs).items()
    }
    sums = {f"{model.prefix}{name}": s for model in models for name, s in _class_sums(model, needs).items()}
    for name, share in _row_priors(models).items():
        columns[name] = share
        sums[name] = constant(pl.col(name))
    if rows.weight is not None:
        columns[_WEIGHT] = rows.weight
    units = bucket_columns(needs.interval)
    units |= drawn_columns(needs.interval, [_amounts(model.rows, needs) for model in models], units.get(BUCKET))
    made = frame.select(*keys, class_index(rows.labels).alias(CLASS_OF_SUMS), **units, **columns)
    known = {f"{model.prefix}{name}": s for model in models for name, s in _known_sums(model, needs).items()}
    summed = {name: column for name, column in sums.items() if name not in known}
    cells = made.group_by([*(key.meta.output_name() for key in keys), CLASS_OF_SUMS, *units]).agg(**summed)
    return cells.with_columns(**known)


def _amounts(rows: Rows, needs: Needs) -> list[pl.Expr]:
    """What rows that are drawn together must have about the same of, beside the class and the decision."""
    losses = [rows.loss(name) for name in needs.losses]
    if rows.row_costs is None or not needs.decisions:
        return losses
    return [*losses, rows.error_cost(), pl.when(rows.errors).then(rows.error_cost()).otherwise(0.0)]


def sum_per_group(
    cells: pl.LazyFrame, keys: Sequence[str], models: Sequence[Model], needs: Needs, total: bool
) -> pl.LazyFrame:
    """One row per group, sorted: a column for each sum of each class, so that the formulas stay small.

    `total` adds a row over all groups, the last one.
    """
    if is_collected(models[0]):
        columns = collected(models, needs)
        if total:
            keys = [TOTAL, *keys]
            cells = twice(cells, keys)
        return cells.group_by(keys).agg(columns).sort(keys) if keys else cells.select(columns)
    counts = [*_COUNTS, *(["undecided"] if needs.decisions else []), *needs.parts]
    columns = [pl.col(f"{model.prefix}{name}").sum() for model in models for name in counts]
    columns += [
        pl.when(pl.col(CLASS_OF_SUMS) == i).then(model.column(name)).sum().alias(f"{model.prefix}{name}_{i}")
        for model in models
        for name in _class_sums(model, needs)
        if name not in counts
        for i in range(model.rows.costs.n_classes)
    ]
    columns += [constant(pl.col(name)).alias(name) for name in _row_priors(models)]
    units = [*([BUCKET] if needs.clustered else []), *([DRAWN] if _has_cells(models, needs) else [])]
    if units:
        names = {f"{model.prefix}{name}": name for model in models for name in _class_sums(model, needs)}
        columns.append(
            unit_list(units, CLASS_OF_SUMS, [column for column, name in names.items() if name not in counts])
        )
    if total:
        keys = [TOTAL, *keys]
        cells = twice(cells, keys)
    return cells.group_by(keys).agg(columns).sort(keys) if keys else cells.select(columns)


def _has_cells(models: Sequence[Model], needs: Needs) -> bool:
    return needs.drawn and any(_amounts(model.rows, needs) for model in models)


def twice(table: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Each row of its group, and once more of all groups: the keys are null there, and the first of them says so."""
    both = table.with_columns(pl.lit([False, True]).alias(TOTAL)).explode(TOTAL)
    return both.with_columns(pl.when(~pl.col(TOTAL)).then(pl.col(key)).alias(key) for key in keys if key != TOTAL)


def with_priors(sums: pl.LazyFrame, models: Sequence[Model], options: Options, total: bool) -> pl.LazyFrame:
    """Each group's own priors, as columns: formulas that name them are planned faster than formulas that repeat them.

    And the overall prior of each model, where rows do without.
    """
    priors: dict[str, pl.Expr] = {}
    if is_collected(models[0]):
        if not (options.prior.overall and models[0].rows.row_prior is None):
            return sums
        in_group = ~pl.col(TOTAL) if total else pl.lit(value=True)
        counted = {f"{m.prefix}counts": (sums_of := report_sums(m, None)).made(sums_of.counts) for m in models}
        return sums.with_columns(**counted).with_columns(
            **{f"{model.prefix}reference": _overall(model, in_group) for model in models}
        )
    for model in models:
        of_group = ClassSums(model, None)
        priors |= own_priors(model)
        if options.prior.overall and model.rows.row_prior is None:
            in_group = ~pl.col(TOTAL) if total else pl.lit(value=True)
            counts = [pl.when(in_group).then(of_group.count(i)).sum() for i in range(of_group.n_classes)]
            size = reduce(add, counts)
            right = (model.column("invalid").sum() == 0) & size.is_finite()
            shares = [pl.when(right).then(ratio(count, size)) for count in counts]
            priors |= {f"{model.prefix}reference_{i}": share for i, share in enumerate(shares)}
    return sums.with_columns(**priors)


def own_priors(model: Model) -> dict[str, pl.Expr]:
    """The group's own priors, by the names of their columns."""
    return {f"{model.prefix}prior_{i}": share for i, share in enumerate(ClassSums(model, None).empirical_prior)}


def _overall(model: Model, in_group: pl.Expr) -> pl.Expr:
    """The shares of the classes in all groups, as an Array; null where they are not known."""
    counts = model.column("counts")
    totals = [pl.when(in_group).then(counts.arr.get(i)).sum() for i in range(model.rows.costs.n_classes)]
    shares = pl.concat_arr(totals).arr.eval(pl.element() / pl.element().sum())
    known = pl.when(in_group).then(model.column("invalid")).sum() == 0
    return pl.when(known & shares.arr.sum().is_finite()).then(shares)


def is_collected(model: Model) -> bool:
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
    """Of priors that rows hold the shares of each class, for every model."""
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
        self._summed = summed_decisions(model.rows)
        self._is_of_group = False

    @classmethod
    def of_group(cls, model: Model) -> ClassSums:
        """At the group's own prior."""
        sums = cls(model, [model.column(f"prior_{i}") for i in range(model.rows.costs.n_classes)])
        sums._is_of_group = True
        return sums

    def count(self, i: int) -> pl.Expr:
        return self.column(f"count_{i}")

    @property
    def size(self) -> pl.Expr:
        return reduce(add, [self.count(i) for i in range(self.n_classes)])

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        if not set(decided) <= set(self._summed):
            others = [j for j in range(self.n_decisions) if j not in decided]
            return self.count(i) - self.cell(i, others) if others else self.count(i)
        return reduce(add, [self.column(f"decided_{j}_{i}") for j in sorted(decided)])

    def of_others(self, decided: Sequence[Collection[int]]) -> pl.Expr:
        if not self._is_of_group:
            return super().of_others(decided)
        # Every row weighs the same; and arithmetic of columns is faster than that of elements.
        classes = range(self.n_classes)
        sums = [reduce(add, [self.cell(i, decided[k]) for i in classes if i != k]) for k in classes]
        # Number by number: where no group has rows, Polars has no Array that it could go on with.
        return array(ratio(number, self.size) for number in sums)

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
    """Whether the rows of a group give metrics: none is wrong, and their weights sum to a float."""
    right = model.column("invalid") == 0
    if is_collected(model):
        return right & model.column("size").is_finite()
    return right if model.rows.weight is None else right & ClassSums(model, None).size.is_finite()


def is_scored(model: Model) -> pl.Expr:
    """Whether they give metrics of posteriors: the prior that makes them is known."""
    reference = model.column("reference" if is_collected(model) else "reference_0")
    return is_right(model) & reference.is_not_null() if model.counts_prior else is_right(model)


def is_decided(model: Model) -> pl.Expr:
    """Whether they give metrics of decisions: each row also has the threshold and the costs that it was to have."""
    return is_scored(model) & (model.column("undecided") == 0)


def _row_columns(rows: Rows, needs: Needs) -> dict[str, pl.Expr]:
    """What the sums are made of, row by row."""
    columns = {"present": rows.present, "invalid": rows.invalid}
    if needs.decisions:
        decided = rows.decisions
        columns["decision"] = decided.index if decided.positive is None else decided.positive
        if rows.decision_faults:
            columns["undecided"] = reduce(or_, rows.decision_faults.values())
        if rows.row_costs is not None:
            cost = pl.when(rows.present).then(rows.weighted(rows.error_cost()))
            columns |= {"class_cost": cost, "error_cost": pl.when(rows.errors).then(cost)}
    losses = {name: rows.weighted(rows.loss(name)) for name in needs.losses}
    if isinstance(rows.scores, VectorScores):
        # The loss of a row with a null beside the true class would be a number.
        losses = {name: pl.when(rows.present).then(loss) for name, loss in losses.items()}
    columns |= losses
    if needs.ece:
        columns["posterior"] = rows.scores.of_posteriors(lambda posteriors: posteriors[1])
    return columns | missing_parts(rows, needs)


def _class_sums(model: Model, needs: Needs) -> dict[str, pl.Expr]:
    """Counts of rows; rows or their weight, in all and for each decision; and summed losses."""
    rows, present = model.rows, model.column("present")

    def amount(mask: pl.Expr) -> pl.Expr:
        return count_rows(mask) if rows.weight is None else pl.when(mask).then(pl.col(_WEIGHT)).sum()

    sums = {
        "rows": pl.len().cast(pl.Int64),
        "invalid": count_rows(model.column("invalid")),
        "present": count_rows(present),
        **{part: count_rows(model.column(part)) for part in needs.parts},
    }
    masks, values = {"count": present}, list(needs.losses)
    if needs.decisions:
        column, n_decisions = model.column("decision"), rows.costs.n_decisions
        by_index = rows.decisions.positive is None
        decided = Decisions(n_decisions, number=column) if by_index else Decisions(n_decisions, positive=column)
        masks |= {f"decided_{j}": present & decided.among([j]) for j in summed_decisions(rows)}
        sums["undecided"] = count_rows(model.column("undecided"))
        values += [] if rows.row_costs is None else ["class_cost", "error_cost"]
    sums |= {name: amount(mask) for name, mask in masks.items()}
    sums |= {name: model.column(name).sum() for name in values}
    if needs.interval is not None:
        weight = None if rows.weight is None else pl.col(_WEIGHT)
        sums |= value_squares({name: model.column(name) for name in values}, weight)
        sums |= {} if weight is None else amount_squares(masks, weight)
    if needs.ece:
        posterior = model.column("posterior")
        weighted = posterior if rows.weight is None else posterior * pl.col(_WEIGHT)
        for b in range(ECE_BINS.number):
            inside = present & in_bin(posterior, b, ECE_BINS.number)
            sums |= {f"bin_{b}": amount(inside), f"posterior_{b}": pl.when(inside).then(weighted).sum()}
            if needs.interval is not None:
                squared = posterior * (1 - posterior)
                squared = squared if rows.weight is None else squared * pl.col(_WEIGHT) ** 2
                sums[f"noise_{b}"] = pl.when(inside).then(squared).sum()
    return sums


def _known_sums(model: Model, needs: Needs) -> dict[str, pl.Expr]:
    """Sums that other sums are already: each takes its time of the pass, most where groups are many, as with buckets."""
    known = {"count": model.column("present")} if model.rows.weight is None else {}
    return known | ({} if model.rows.decision_faults or not needs.decisions else {"undecided": pl.lit(0, pl.Int64)})


def summed_decisions(rows: Rows) -> range:
    """All but one where rows are counted, for that is the rest; with weights all, for a difference would lose digits."""
    return range(0 if rows.weight is not None else 1, rows.costs.n_decisions)
