"""From columns to rows to sums: the one way by which every expression metric reads its data.

`per_group` hands the columns to `resolve` when the plan is resolved and dtypes are known; `resolve` gives `Rows`; `Rows.sums` gives the sums per group that the formulas are made of. Only sums of masks and of when/then are used,
so that the streaming engine runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

import polars as pl

from polars_ec.arguments import Options, as_expr
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.formulas.sums import Sums, array, ratio, row_weight, sum_where
from polars_ec.rows.collected import CollectedSums, GroupPrior, collect
from polars_ec.rows.decisions import (
    Decisions,
    RowCosts,
    checked_costs,
    decide,
    decision_faults,
    read_by_row,
    read_weight,
)
from polars_ec.rows.kernel import CELL, CELL_BITS, CLASS, DECISION, WEIGHT, VectorPrior
from polars_ec.rows.labels import Labels, class_index, read_labels, with_categories
from polars_ec.rows.many import MANY, ManyScores
from polars_ec.rows.score_columns import class_names, n_score_classes, read_scores
from polars_ec.rows.scores import Scores
from polars_ec.typing import IntoExpr

PRIOR = "__ec_prior"
"""The column of a stated prior that is an expression."""

_ONE = "__ec_one"

Typed = tuple[pl.Expr, pl.DataType]


@dataclass(frozen=True)
class Rows:
    """Row expressions of one log: which rows count, which are wrong, their classes, scores and weights."""

    options: Options
    scores: Scores
    labels: Labels
    weight: pl.Expr | None
    costs: CostMatrix
    prior: list[pl.Expr] | None
    row_prior: list[pl.Expr] | None
    class_names: ClassNames
    threshold: float | pl.Expr | None = None
    row_costs: RowCosts | None = None
    prior_vector: VectorPrior = None

    @property
    def present(self) -> pl.Expr:
        """No null in the row; never null itself."""
        if isinstance(self.scores, ManyScores):
            return self._class.is_not_null()
        present = ~self.scores.missing & self.labels.label.is_not_null()
        return present if self.weight is None else present & self.weight.is_not_null()

    @property
    def defects(self) -> dict[str, pl.Expr]:
        """What can be wrong with a row that is present: a mask for each kind."""
        found = dict(self.scores.defects)
        if self.labels.valid is not None:
            found["label is not a class"] = ~self.labels.valid
        if self.weight is not None:
            found["weight is negative, infinite or NaN"] = ~((self.weight >= 0) & self.weight.is_finite())
        return found

    @property
    def _valid(self) -> pl.Expr:
        return ~reduce(or_, self.defects.values())

    @property
    def _class(self) -> pl.Expr:
        """The class of a row of many; -1 for a wrong row, null for a missing one."""
        return self.cells([CLASS]).struct.field(CLASS)

    def cells(self, asked: Sequence[str]) -> pl.Expr:
        """A struct of the class of each row, -1 for a wrong one and null for a missing one, and of what else is asked.

        With weights it holds them as well, and the losses in it are times weight.
        """
        if isinstance(self.scores, ManyScores):
            asked = asked if self.weight is None else [*asked, WEIGHT]
            return self.scores.ask(asked, self.costs, class_index(self.labels), self.weight)
        weight = {} if self.weight is None else {WEIGHT: self.weight}
        of_name = {
            CLASS: lambda: self.class_or_invalid(class_index(self.labels)),
            DECISION: lambda: self.decisions.index,
        }
        columns = {name: of_name[name]() if name in of_name else self.weighted(self.loss(name)) for name in asked}
        return pl.struct([column.alias(name) for name, column in {**columns, **weight}.items()])

    def listed(self, asked: Sequence[str]) -> pl.Expr:
        """The cells of a group: a list of integers where they hold a class and perhaps a decision only."""
        if self.weight is not None or not set(asked) <= {CLASS, DECISION}:
            return collect(self.cells(asked))
        if DECISION not in asked:
            return collect(self._class)
        if isinstance(self.scores, ManyScores):
            return collect(self.scores.one(CELL, self.costs, class_index(self.labels)))
        index = self._class.cast(pl.Int64) * 2**CELL_BITS
        return collect(pl.when(index >= 0).then(index + self.decisions.index).otherwise(index))

    @property
    def usable(self) -> pl.Expr:
        """Present and not wrong; never null."""
        if isinstance(self.scores, ManyScores):
            return (self._class >= 0).fill_null(False)
        return self.present & self._valid

    @property
    def invalid(self) -> pl.Expr:
        """Present but wrong; never null."""
        if isinstance(self.scores, ManyScores):
            return (self._class == -1).fill_null(False)
        return self.present & ~self._valid

    def class_or_invalid(self, index: pl.Expr) -> pl.Expr:
        """Int16 `index` of a usable row, -1 of a wrong one, null of a missing one."""
        if isinstance(self.scores, ManyScores):
            return pl.when(self._class >= 0).then(index).otherwise(self._class).cast(pl.Int16)
        return pl.when(self.usable).then(index).when(self.present).then(-1).cast(pl.Int16)

    @property
    def decisions(self) -> Decisions:
        return decide(self.scores, self.costs, self.threshold, self.row_costs)

    @property
    def decision_faults(self) -> dict[str, pl.Expr]:
        """What can be wrong with a threshold and costs of the row's own, whether anything else in it is missing or not."""
        return decision_faults(self.threshold, self.row_costs)

    @property
    def prior_is_known(self) -> pl.Expr | None:
        """Whether the row states a prior; None where all do."""
        if self.row_prior is None or self.options.prior.expression is None:
            return None
        return self.row_prior[0].is_not_null()

    def error_cost(self) -> pl.Expr:
        """What an error costs the row, where rows have costs of their own."""
        assert self.row_costs is not None
        return pl.when(self.labels.in_class[1]).then(self.row_costs.of_error(1)).otherwise(self.row_costs.of_error(0))

    @property
    def errors(self) -> pl.Expr:
        """Whether the decision, of two, is not the row's class."""
        return self.decisions.among([1]) != self.labels.in_class[1]

    def loss(self, name: str) -> pl.Expr:
        """The loss of a row: "log_loss" or "brier"."""
        if isinstance(self.scores, ManyScores):
            return self.scores.one(name, label=class_index(self.labels))
        of_name = {"log_loss": self.scores.log_loss, "brier": self.scores.brier}
        return of_name[name](self.labels.in_class)

    def amount(self, mask: pl.Expr) -> pl.Expr:
        """Rows, or weight, where `mask` holds; it is never true for a row with a null."""
        return count_rows(mask) if self.weight is None else sum_where(mask, self.weight)

    def weighted(self, loss: pl.Expr) -> pl.Expr:
        """A row's loss times its weight; a row of weight 0 counts as no row, also when its loss is infinite."""
        return loss if self.weight is None else pl.when(self.weight == 0).then(0.0).otherwise(loss * self.weight)

    def sums(self) -> RowSums | CollectedSums:
        """The sums of a group: by a mask for each class, or, of many classes or decisions, of rows that are collected."""
        if max(self.costs.n_classes, self.costs.n_decisions) <= MANY or self.row_costs is not None:
            return RowSums(self)
        prior = self.prior_vector
        of_group = GroupPrior.of_rows(prior) if isinstance(prior, pl.Expr) else prior
        n_classes, n_decisions = self.costs.n_classes, self.costs.n_decisions
        return CollectedSums(n_classes, n_decisions, self.listed, of_group)


def count_rows(mask: pl.Expr) -> pl.Expr:
    """How many rows `mask` holds for; Int64, because the engine's own counts are unsigned 32-bit."""
    return mask.sum().cast(pl.Int64)


class RowSums(Sums):
    """Sums over the rows of a group. A row with a null adds nothing; a wrong row makes `guarded` null."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows.costs.n_decisions, rows.prior, len(rows.labels.in_class))
        self.costs_by_row = rows.row_costs is not None
        self._masks = [rows.present & mask for mask in rows.labels.in_class]
        self._rows = rows

    def count(self, i: int) -> pl.Expr:
        return self._rows.amount(self._masks[i])

    @property
    def size(self) -> pl.Expr:
        # A row that is present has a class, or is wrong and makes the value null.
        return self._rows.amount(self._rows.present)

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        others = [j for j in range(self.n_decisions) if j not in decided]
        if self._rows.weight is None and len(others) + (0 not in decided) <= len(decided):
            # Exact on integers, and one sum fewer for the engine where the other cell is wanted too.
            return self.count(i) - self.cell(i, others) if others else self.count(i)
        return self._rows.amount(self._masks[i] & self._rows.decisions.among(decided))

    def of_others(self, decided: Sequence[Collection[int]]) -> pl.Expr:
        if self._stated_prior is not None:
            return super().of_others(decided)
        # One sum for each class, for every row weighs the same.
        rows = self._rows
        others = [rows.present & ~in_class for in_class in rows.labels.in_class]
        sums = [rows.amount(mask & rows.decisions.among(d)) for mask, d in zip(others, decided, strict=True)]
        # Number by number: where no group has rows, Polars has no Array that it could go on with.
        return array(ratio(number, self.size) for number in sums)

    def total(self, i: int, loss: pl.Expr) -> pl.Expr:
        """Sum of a row loss, times weight, over class i."""
        return sum_where(self._masks[i], self._rows.weighted(loss))

    def class_cost(self, i: int) -> pl.Expr:
        assert self._rows.row_costs is not None
        return self.total(i, self._rows.row_costs.of_error(i))

    def error_cost(self, i: int) -> pl.Expr:
        assert self._rows.row_costs is not None
        wrong = self._rows.decisions.among([1 - i])
        return self.total(i, pl.when(wrong).then(self._rows.row_costs.of_error(i)).otherwise(0.0))

    def totals(self, loss: str) -> list[pl.Expr]:
        """The sum of a loss of this name over each class."""
        return self.totals_of(self._rows.loss(loss))

    def totals_of(self, row_loss: pl.Expr) -> list[pl.Expr]:
        """The sum of a row loss over each class."""
        return [self.total(i, row_loss) for i in range(self.n_classes)]

    @property
    def row_weights(self) -> list[tuple[pl.Expr, pl.Expr]]:
        """What a row weighs in an expectation at the priors in use: masks of rows that weigh alike, and their weights.

        P_i / N_i for rows of class i, null where there are none. Without a stated prior all weigh 1 / N, so that there is
        one sum to take and not one for each class.
        """
        if self._stated_prior is None:
            return [(self._rows.present, ratio(pl.lit(1.0), self.size))]
        return [(mask, row_weight(self, i)) for i, mask in enumerate(self._masks)]

    def guarded(self, value: pl.Expr) -> pl.Expr:
        """`value`, null where it cannot be had of the group.

        It has wrong rows, or weights whose sum is more than a float holds; a prior is stated that is not one, or not one of the
        whole group; or a row lacks the threshold or the costs that it was to have.
        """
        right = self._rows.invalid.sum() == 0
        if self._rows.weight is not None:
            right &= self.size.is_finite()
        if self._stated_prior is not None and self._rows.options.prior.expression is not None:
            # Counts of a group without rows are 0, and so they are without a prior.
            right &= self._stated_prior[0].is_not_null() | (self.size == 0)
        for fault in self._rows.decision_faults.values():
            right &= fault.sum() == 0
        return pl.when(right).then(value)


def resolve(inputs: Sequence[Typed], options: Options, many: int = MANY) -> Rows:
    """`Rows` of score, label and `options.columns` with their dtypes; clear errors for dtypes that do not go together.

    Vectors of more than `many` classes are read by the kernel.
    """
    (score, score_dtype), (label, label_dtype), *rest = inputs
    given = dict(zip(options.columns, rest, strict=True))
    score_name, label_name = score.meta.output_name(), label.meta.output_name()
    weight = read_weight(*given["weight"]) if "weight" in given else None
    n_classes = n_score_classes(score_dtype, options, label_dtype)
    if score_dtype.is_nested():
        options = with_categories(options, label_name, label_dtype, n_classes)
    labels = read_labels(label_name, label, label_dtype, n_classes, options)
    prior = options.prior
    names = class_names(score_dtype, labels.names, score_name)
    costs = checked_costs(options, names, score_name)
    prior_dtype = given["prior"][1] if "prior" in given else None
    row_prior = prior.per_row(names, prior_dtype) if prior.stated else None
    vector = prior.vector(names, prior_dtype) if prior.stated else None
    scores = read_scores(score_name, score, score_dtype, names, options, row_prior, vector, many)
    group_prior = None if row_prior is None else prior.per_group(row_prior)
    threshold, row_costs = read_by_row(given, options)
    return Rows(options, scores, labels, weight, costs, group_prior, row_prior, names, threshold, row_costs, vector)


def per_group(
    name: str, score: IntoExpr, label: IntoExpr, options: Options, build: Callable[[Rows], pl.Expr]
) -> pl.Expr:
    """An aggregate of the log, called `<score>_<name>`; `build` runs when the plan is resolved."""
    if options.prior.stated:
        options.prior.check_of_group()
    columns = [as_expr(score, "score"), as_expr(label, "label"), *options.columns.values()]

    def resolved(inputs: list[Typed]) -> pl.Expr:
        return build(resolve(inputs, options)).alias(f"{inputs[0][0].meta.output_name()}_{name}")

    return pl.pipe_with_dtype(columns, resolved)


def with_prior_column(frame: pl.LazyFrame, options: Options) -> tuple[pl.LazyFrame, Options]:
    """Evaluate a prior that is an expression on the whole log: inside a group by class it would mean another thing."""
    if options.prior.expression is None:
        return frame, options
    column = replace(options.prior, expression=pl.col(PRIOR))
    return frame.with_columns(options.prior.expression.alias(PRIOR)), replace(options, prior=column)


def resolve_columns(frame: pl.LazyFrame, score: IntoExpr, label: IntoExpr, options: Options, many: int = MANY) -> Rows:
    """The rows of a frame; its schema is read now, so that wrong dtypes are errors at the call."""
    columns = [as_expr(score, "score"), as_expr(label, "label"), *options.columns.values()]
    dtypes = frame.select(c.alias(str(i)) for i, c in enumerate(columns)).collect_schema().dtypes()
    return resolve(list(zip(columns, dtypes, strict=True)), options, many)


def expand(frame: pl.LazyFrame, columns: IntoExpr | Iterable[IntoExpr], what: str) -> list[pl.Expr]:
    """One expression per column; selectors are expanded."""
    if not isinstance(columns, str | pl.Expr) and not hasattr(columns, "__iter__"):
        raise TypeError(f"{what}={columns!r} is neither a column's name nor an expression nor a sequence of them")
    given: Any = [columns] if isinstance(columns, str | pl.Expr) or hasattr(columns, "__array__") else columns
    expressions = [as_expr(c, what) for c in given]
    expanded: list[pl.Expr] = []
    for expression in expressions:
        if not expression.meta.has_multiple_outputs():
            expanded.append(expression)
        elif expression.meta.is_column_selection():
            expanded += [pl.col(name) for name in frame.select(expression).collect_schema().names()]
        else:
            raise ValueError(f"{what}= holds an expression of several columns, {expression}: pass them one by one")
    names = [expression.meta.output_name() for expression in expanded]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what}= has the name {twice[0]!r} twice: give one of them another with .alias()")
    return expanded


def join_groups(rows: pl.DataFrame, others: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """Each row with what its group has in another table; null and NaN are groups as well."""
    keys = list(by)
    if len(by) == 1 and rows.schema[by[0]].is_float():
        # By one key that is sorted Polars does not find NaN.
        one, keys = pl.lit(0).alias(_ONE), [*by, _ONE]
        rows, others = rows.with_columns(one), others.with_columns(one)
    joined = rows.join(others, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined.drop(_ONE, strict=False)


def check_names(keys: Iterable[pl.Expr], taken: Collection[str], of: str) -> None:
    """ValueError if a group column has a name that is taken in a result."""
    clash = sorted({key.meta.output_name() for key in keys}.intersection(taken))
    if clash:
        raise ValueError(f"by= has a column {clash[0]!r}, which {of} has too: rename it with .alias()")
