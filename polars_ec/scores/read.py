"""The path of every expression metric from columns to rows to sums.

`per_group` passes the columns to `resolve` when the plan is resolved and dtypes are known. `resolve` returns `Rows`, and `Rows.sums` the sums
per group for the formulas. Only sums of masks and of when/then are used, so that the streaming engine runs them.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import or_
from typing import Any, TypeVar

import polars as pl

from polars_ec.arguments import scales
from polars_ec.arguments.arrays import EXPLANATIONS
from polars_ec.arguments.classes import ClassNames
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import BY_ROW, Options, as_expr, parse_options
from polars_ec.arguments.options import CountOptions
from polars_ec.arguments.scales import VECTOR_TYPES, ScoreScale
from polars_ec.exceptions import warn
from polars_ec.formulas.sums import MOST_WEIGHT, Sums, array, pack_prior, ratio, row_weight, sum_where
from polars_ec.scores.counted import CollectedSums, GroupPrior, collect
from polars_ec.scores.scores import (
    CELL,
    CLASS,
    DECISION,
    MANY,
    WEIGHT,
    BinaryScores,
    DecidedScores,
    Decisions,
    ManyScores,
    RowCosts,
    Scores,
    VectorPrior,
    VectorScores,
    cell_dtype,
    decide,
    decision_faults,
    index_of,
)
from polars_ec.typing import IntoExpr

PRIOR = "__ec_prior"
"""The column of a stated prior that is an expression."""

_ONE = "__ec_one"
_NO_CLASS = "label is not a class"
_COUNTED_CLASSES = 100

Typed = tuple[pl.Expr, pl.DataType]
FrameT = TypeVar("FrameT", pl.DataFrame, pl.LazyFrame)


def are_names(dtype: pl.DataType, classes: ClassNames, costs: CostMatrix) -> bool:
    """Whether decisions of this dtype are names; else they are indices, and True is the decision 1."""
    if dtype == pl.Boolean:
        return classes.stated and isinstance(classes.values[-1], bool) and not costs.names_decision(0)
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def index_of_names(
    column: str, decision: pl.Expr, dtype: pl.DataType, classes: ClassNames, costs: CostMatrix
) -> tuple[pl.Expr, list[Any]]:
    """Float64 index of each row's decision, -1 for an unknown name and null for null, and the names of the decisions."""
    names = decision_names(classes, costs)
    if not names:
        raise TypeError(
            f"decisions {column!r} are {dtype}, but the classes have no names: pass classes= or pos_label=, or "
            f"integers 0..{costs.n_decisions - 1}"
        )
    # A cast to these categories, of which each row's number is taken: `replace` does not stream.
    texts = [str(name).lower() if dtype == pl.Boolean else str(name) for name in names]
    known = decision.cast(pl.String).cast(pl.Enum(texts), strict=False)
    # `pos_label` leaves all other values to the negative class.
    others = 0.0 if classes.rest and not costs.names_decision(0) else -1.0
    index = known.to_physical().cast(pl.Float64).fill_null(others)
    return pl.when(decision.is_not_null()).then(index), names


def decision_names(classes: ClassNames, costs: CostMatrix) -> list[Any]:
    """The names of the decisions in order, or those of their classes, for as many as have one."""
    values = classes.known
    names: list[Any] = []
    for j in range(costs.n_decisions):
        if not costs.names_decision(j) and j >= len(values):
            break
        names.append(costs.decisions[j] if costs.names_decision(j) else values[j])
        if names[j] in values and values.index(names[j]) != j:
            raise ValueError(
                f"costs= names decision {j} {names[j]!r}, which is class {values.index(names[j])}: put its columns in "
                f"the order of the classes {list(values)}, or name its rows with classes= too"
            )
    return names


# Scores.


def n_score_classes(dtype: pl.DataType, options: Options, label_dtype: pl.DataType | None = None) -> int:
    """The number of classes in the scores, the keywords and an Enum label together."""
    if isinstance(dtype, pl.Array):
        return dtype.size
    if isinstance(dtype, pl.Struct):
        return len(dtype.fields)
    stated = (
        options.stated_costs.n_classes if options.stated_costs is not None else None,
        len(options.classes) if options.classes is not None else None,
        options.prior.n_classes,
        len(label_dtype.categories) if isinstance(label_dtype, pl.Enum) and isinstance(dtype, pl.List) else None,
    )
    if isinstance(dtype, pl.List) and not any(stated):
        raise TypeError(
            f"the {dtype} column does not say how many classes there are: cast it to pl.Array(pl.Float64, K), or pass "
            "classes=, costs= or one prior per class"
        )
    if options.scale is scales.DECISION or isinstance(dtype, pl.List):
        return next((n for n in stated if n), 2)
    return 2


def class_names(dtype: pl.DataType, of_labels: ClassNames, name: str) -> ClassNames:
    """The classes by the names that are known: those of the labels, or of a struct's fields where the labels have none."""
    if not isinstance(dtype, pl.Struct):
        return of_labels
    return replace(of_labels, fields=tuple(of_labels.fields_of(dtype, f"the struct {name!r}")))


def read_scores(
    name: str,
    score: pl.Expr,
    dtype: pl.DataType,
    classes: ClassNames,
    options: Options,
    prior: list[pl.Expr] | None,
    prior_vector: VectorPrior = None,
    kernel_above: int = MANY,
) -> BinaryScores | VectorScores | ManyScores | DecidedScores:
    """The scores of a column of this dtype; TypeError or ValueError where dtype and score_type do not go together."""
    scale = options.scale
    if dtype.is_nested():
        scale = scales.POSTERIORS if scale is scales.POSTERIOR else scale
        if not scale.is_vector:
            raise ValueError(
                f"score_type={scale.name!r} is for one number per row, but {name!r} is {dtype}: pass one of "
                f"{', '.join(VECTOR_TYPES)}"
            )
        n_decisions = 0 if options.stated_costs is None else options.stated_costs.n_decisions
        if len(classes.values) > kernel_above or n_decisions > max(kernel_above, MANY):
            return _read_many(name, score, dtype, classes, scale, prior_vector)
        return _read_vector(name, score, dtype, classes, scale, prior)
    if scale.is_vector:
        raise ValueError(
            f"score_type={scale.name!r} is for one vector per row, but {name!r} is {dtype}: combine the columns with pl.concat_arr"
        )
    if scale is scales.DECISION:
        return _read_decision(name, score, dtype, classes, options.costs(len(classes.values)).for_classes(classes))
    return BinaryScores(read_numbers("scores", score, dtype, _hint_of_decisions(dtype)), scale, prior)


def _read_decision(
    name: str, decision: pl.Expr, dtype: pl.DataType, classes: ClassNames, costs: CostMatrix
) -> DecidedScores:
    if are_names(dtype, classes, costs):
        return DecidedScores(*index_of_names(name, decision, dtype, classes, costs), costs.n_decisions)
    number = decision.cast(pl.Float64) if dtype == pl.Boolean else read_numbers("scores", decision, dtype)
    return DecidedScores(number, range(costs.n_decisions), costs.n_decisions)


def _hint_of_decisions(dtype: pl.DataType) -> str:
    if dtype == pl.Boolean:
        return ": pass score_type='decision'"
    named = dtype in (pl.String, pl.Categorical, pl.Enum)
    return ": if these are names of decisions, pass score_type='decision'" if named else ""


def read_numbers(what: str, column: pl.Expr, dtype: pl.DataType, hint: str = "") -> pl.Expr:
    """A column of numbers as Float64; TypeError for others."""
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise TypeError(f"{what} must be numbers, but {column.meta.output_name()!r} is {dtype}{hint}")
    return column if dtype == pl.Float64 else column.cast(pl.Float64)


def _read_vector(
    name: str, score: pl.Expr, dtype: pl.DataType, classes: ClassNames, scale: ScoreScale, prior: list[pl.Expr] | None
) -> VectorScores:
    wrong_length, n_classes = None, len(classes.values)
    numbers = _numbers(name, score, dtype, classes)
    if isinstance(numbers, list):
        return VectorScores(numbers, None, pl.any_horizontal([x.is_null() for x in numbers]), scale, prior)
    # Nulls are counted, which works on all rows at once: `drop_nulls` of lists takes a hundred times as long.
    if isinstance(dtype, pl.Array):
        elements = [numbers.arr.get(k) for k in range(n_classes)]
        nulls = numbers.arr.count_matches(None)
    else:
        elements = [numbers.list.get(k, null_on_oob=True) for k in range(n_classes)]
        wrong_length = numbers.list.len() != n_classes
        nulls = numbers.list.count_matches(None)
    return VectorScores(elements, wrong_length, (nulls != 0).fill_null(True), scale, prior)


def _read_many(
    name: str, score: pl.Expr, dtype: pl.DataType, classes: ClassNames, scale: ScoreScale, prior: VectorPrior
) -> ManyScores:
    numbers = _numbers(name, score, dtype, classes)
    vector = numbers if isinstance(numbers, pl.Expr) else pl.struct(x.alias(str(k)) for k, x in enumerate(numbers))
    return ManyScores(vector, len(classes.values), scale, prior, isinstance(dtype, pl.List))


def _numbers(name: str, score: pl.Expr, dtype: pl.DataType, classes: ClassNames) -> pl.Expr | list[pl.Expr]:
    """A vector of Float64 in class order, or, of a struct, one column for each class."""
    if isinstance(dtype, pl.Struct):
        if any(not (field.dtype == pl.Null or field.dtype.is_numeric()) for field in dtype.fields):
            raise TypeError(f"scores must be numbers, but {name!r} is {dtype}")
        fields = classes.fields_of(dtype, f"the struct {name!r}")
        return [score.struct.field(field).cast(pl.Float64) for field in fields]
    assert isinstance(dtype, pl.Array | pl.List)
    if not (dtype.inner == pl.Null or dtype.inner.is_numeric()):
        raise TypeError(f"scores must be numbers in a flat vector, but {name!r} is {dtype}")
    if dtype.inner == pl.Float64:
        return score
    return score.cast(pl.Array(pl.Float64, dtype.size) if isinstance(dtype, pl.Array) else pl.List(pl.Float64))


# Labels, as one Boolean row expression per class.

# Types that Polars compares with integer columns.
_INTEGERS = range(-(2**63), 2**64)


@dataclass(frozen=True)
class Labels:
    """True classes of the rows: `in_class[i]` is null where the label is null.

    `valid` says that the label is some class; None where every label is.
    """

    label: pl.Expr
    in_class: Sequence[pl.Expr]
    valid: pl.Expr | None
    names: ClassNames
    index: pl.Expr | None = None
    """The class of a row with many classes: 0..K-1, -1 for an invalid label, null for a missing one."""

    @property
    def classes(self) -> Sequence[Any]:
        """The values of the label, in class order."""
        return self.names.values


def read_labels(name: str, label: pl.Expr, dtype: pl.DataType, n_classes: int, options: Options) -> Labels:
    """The labels of a column of this dtype; errors name the column, its dtype and the argument to pass."""
    classes, pos_label = options.classes, options.pos_label
    if pos_label is not None:
        if n_classes != 2:
            raise ValueError(f"pos_label= is for two classes, but there are {n_classes}: pass classes=")
        _check_value(name, dtype, pos_label, "pos_label")
        positive = label == _literal(pos_label, dtype)
        names = ClassNames((f"not {pos_label}", pos_label), rest=True)
        return Labels(label, [~positive, positive], ~label.is_nan() if dtype.is_float() else None, names)
    if classes is not None:
        if len(classes) != n_classes:
            vector = (
                f": scores for {len(classes)} classes are one column with a vector per row, such as pl.concat_arr(...)"
                if n_classes == 2 < len(classes)
                else ""
            )
            raise ValueError(
                f"classes={reprlib.repr(list(classes))} lists {len(classes)} classes, but there are {n_classes}{vector}"
            )
        for value in classes:
            _check_value(name, dtype, value, "classes")
        if n_classes > MANY:
            return _of_many(label, _index_of_values(label, dtype, classes), ClassNames(classes))
        masks = [label == _literal(value, dtype) for value in classes]
        return Labels(label, masks, pl.any_horizontal(masks), ClassNames(classes))
    if dtype == pl.Null and n_classes != 2:
        label, dtype = label.cast(pl.Int32), pl.Int32()
    if dtype in (pl.Boolean, pl.Null):
        if n_classes != 2:
            raise TypeError(
                f"label {name!r} is Boolean, but there are {n_classes} classes: pass integers 0..{n_classes - 1}"
            )
        positive = label.cast(pl.Boolean)
        return Labels(label, [~positive, positive], None, ClassNames((False, True), stated=False))
    if dtype.is_integer():
        names = ClassNames(tuple(range(n_classes)), stated=False)
        valid = label.is_between(0, n_classes - 1)
        if n_classes > MANY:
            index = pl.when(valid).then(label).when(label.is_not_null()).then(-1).cast(pl.Int32)
            return _of_many(label, index, names)
        return Labels(label, [label == i for i in range(n_classes)], valid, names)
    argument = "pos_label=" if n_classes == 2 else "classes=[...]"
    if isinstance(dtype, pl.Enum) and n_classes == 2:
        n_categories = len(dtype.categories)
        which = "in class order" if n_categories == 2 else f"for decisions of all {n_categories}"
        raise TypeError(
            f"label {name!r} is {dtype}, which does not say which of the two classes is the positive one: pass "
            f"pos_label=, or classes=[...] {which}"
        )
    swapped = ", or are score and label swapped?" if dtype.is_float() else ""
    raise TypeError(
        f"label {name!r} is {dtype}, not Boolean or integers 0..{n_classes - 1}: pass {argument} to say which class is "
        f"which{swapped}"
    )


class _Masks(Sequence[pl.Expr]):
    """One mask per class, created on first use."""

    def __init__(self, index: pl.Expr, n_classes: int) -> None:
        self._index, self._n_classes = index, n_classes

    def __len__(self) -> int:
        return self._n_classes

    def __getitem__(self, i: Any) -> Any:
        places = range(self._n_classes)[i]
        return [self[k] for k in places] if isinstance(places, range) else self._index == places


def _of_many(label: pl.Expr, index: pl.Expr, names: ClassNames) -> Labels:
    return Labels(label, _Masks(index, len(names.values)), index >= 0, names, index)


def _index_of_values(label: pl.Expr, dtype: pl.DataType, classes: Sequence[Any]) -> pl.Expr:
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        # A cast to these categories, of which each row's number is taken: `replace` does not stream.
        known = label.cast(pl.String).cast(pl.Enum(list(classes)), strict=False).to_physical().cast(pl.Int32)
        return pl.when(label.is_not_null()).then(known.fill_null(-1))
    return label.map_batches(partial(index_of, classes=classes), return_dtype=pl.Int32, is_elementwise=True)


def with_categories(options: Options, name: str, dtype: pl.DataType, n_classes: int) -> Options:
    """The options with the categories of an Enum label as `classes`; ValueError where there is another number of classes."""
    if not isinstance(dtype, pl.Enum) or options.classes is not None or options.pos_label is not None:
        return options
    categories = tuple(dtype.categories)
    if len(categories) != n_classes:
        raise ValueError(
            f"label {name!r} is an Enum with {len(categories)} categories, {list(categories)}, but there are "
            f"{n_classes} classes: pass classes=, the categories in class order"
        )
    return replace(options, classes=categories)


def _check_value(name: str, dtype: pl.DataType, value: Any, argument: str) -> None:
    fits = (
        isinstance(value, str)
        if dtype in (pl.String, pl.Categorical, pl.Enum)
        else isinstance(value, bool)
        if dtype == pl.Boolean
        else isinstance(value, int | float) and not isinstance(value, bool)
        if dtype.is_numeric()
        else dtype == pl.Null or not isinstance(value, str | bool | int | float)
    )
    if not fits:
        raise TypeError(f"{argument} holds {value!r} ({type(value).__name__}), but label {name!r} is {dtype}")
    if dtype.is_integer() and isinstance(value, int) and not _INTEGERS.start <= value < _INTEGERS.stop:
        raise ValueError(f"{argument} holds {value!r}, which is too large for label {name!r}: {dtype}")
    if isinstance(dtype, pl.Enum) and value not in dtype.categories:
        raise ValueError(f"{argument} holds {value!r}, which is not a category of label {name!r}: {dtype}")


def _literal(value: Any, dtype: pl.DataType) -> pl.Expr:
    return pl.lit(value, dtype=dtype) if isinstance(dtype, pl.Enum) else pl.lit(value)


def class_index(labels: Labels) -> pl.Expr:
    """The class of a row: 0..K-1, -1 for an invalid label, null for a missing one."""
    if labels.index is not None:
        return labels.index
    if labels.valid is None and len(labels.in_class) == 2:
        return labels.in_class[1].cast(pl.Int16)
    index: pl.Expr = pl.lit(-1, dtype=pl.Int16)
    for i, mask in reversed(list(enumerate(labels.in_class))):
        index = pl.when(mask).then(pl.lit(i, dtype=pl.Int16)).otherwise(index)
    return pl.when(labels.label.is_not_null()).then(index)


def checked_costs(options: Options, classes: ClassNames, column: str) -> CostMatrix:
    """The costs of the call for these classes; ValueError if they are for others."""
    n_classes = len(classes.values)
    costs = options.costs(n_classes)
    if costs.n_classes != n_classes:
        raise ValueError(f"costs= has {costs.n_classes} rows, but {column!r} has {n_classes} classes")
    return costs.for_classes(classes)


def read_by_row(
    given: Mapping[str, tuple[pl.Expr, pl.DataType]], options: Options
) -> tuple[float | pl.Expr | None, RowCosts | None]:
    """The threshold, and the costs where they are columns, as Float64."""
    columns = {name: read_numbers(f"{name}=", *column) for name, column in given.items() if name in BY_ROW}
    numbers = {name: columns.get(name, getattr(options, name)) for name in BY_ROW}
    if not options.costs_by_row:
        return numbers["threshold"], None
    fn, fp = (
        cost if isinstance(cost, pl.Expr) else pl.lit(cost, dtype=pl.Float64)
        for cost in (numbers["cost_fn"], numbers["cost_fp"])
    )
    return numbers["threshold"], RowCosts(fn, fp)


# Rows: scores, labels and options together.


@dataclass(frozen=True)
class Rows:
    """Row expressions of one log: usable and invalid rows, their classes, scores and weights."""

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
        """Masks of the kinds of invalid values in rows without missing values."""
        found = dict(self.scores.defects)
        if self.labels.valid is not None:
            found[_NO_CLASS] = ~self.labels.valid
        if self.weight is not None:
            found["weight is negative, infinite or NaN"] = ~((self.weight >= 0) & self.weight.is_finite())
        return found

    @property
    def faults(self) -> dict[str, pl.Expr]:
        """Rows that make values null, a mask for each kind: invalid ones, and ones without their threshold or costs."""
        return {kind: self.present & mask for kind, mask in self.defects.items()} | self.decision_faults

    @property
    def _valid(self) -> pl.Expr:
        return ~reduce(or_, self.defects.values())

    @property
    def _class(self) -> pl.Expr:
        """The class of a row with many classes; -1 for an invalid row, null for a missing one."""
        return self.cells([CLASS]).struct.field(CLASS)

    def cells(self, names: Sequence[str]) -> pl.Expr:
        """A struct with the class of each row, -1 for an invalid one and null for a missing one, and other requested fields.

        With weights they are included, and losses are multiplied by them.
        """
        if isinstance(self.scores, ManyScores):
            names = names if self.weight is None else [*names, WEIGHT]
            return self.scores.ask(names, self.costs, class_index(self.labels), self.weight)
        weight = {} if self.weight is None else {WEIGHT: self.weight}
        of_name = {
            CLASS: lambda: self.class_or_invalid(class_index(self.labels)),
            DECISION: lambda: self.decisions.index,
        }
        columns = {name: of_name[name]() if name in of_name else self.weighted(self.loss(name)) for name in names}
        return pl.struct([column.alias(name) for name, column in {**columns, **weight}.items()])

    def listed(self, names: Sequence[str]) -> pl.Expr:
        """The cells of a group: a list of integers where they hold a class and perhaps a decision only."""
        if self.weight is not None or not set(names) <= {CLASS, DECISION}:
            return collect(self.cells(names))
        if DECISION in names and isinstance(self.scores, ManyScores):
            return collect(self.scores.one(CELL, self.costs, class_index(self.labels)))
        cell = self._class.cast(pl.Int64) * self.costs.n_decisions
        if DECISION in names:
            cell = pl.when(cell >= 0).then(cell + self.decisions.index).otherwise(cell)
        return collect(cell.cast(cell_dtype(self.costs.n_classes * self.costs.n_decisions)))

    @property
    def usable(self) -> pl.Expr:
        """Whether a row has neither missing nor invalid values; never null."""
        if isinstance(self.scores, ManyScores):
            return (self._class >= 0).fill_null(False)
        return self.present & self._valid

    @property
    def invalid(self) -> pl.Expr:
        """Whether a row has invalid but no missing values; never null."""
        if isinstance(self.scores, ManyScores):
            return (self._class == -1).fill_null(False)
        return self.present & ~self._valid

    def class_or_invalid(self, index: pl.Expr) -> pl.Expr:
        """Int16 `index` of a usable row, -1 for an invalid one, null for a missing one."""
        if isinstance(self.scores, ManyScores):
            return pl.when(self._class >= 0).then(index).otherwise(self._class).cast(pl.Int16)
        return pl.when(self.usable).then(index).when(self.present).then(-1).cast(pl.Int16)

    @property
    def decisions(self) -> Decisions:
        return decide(self.scores, self.costs, self.threshold, self.row_costs)

    @property
    def decision_faults(self) -> dict[str, pl.Expr]:
        """Invalid thresholds and costs of the row, independent of its other values."""
        return decision_faults(self.threshold, self.row_costs)

    @property
    def prior_is_known(self) -> pl.Expr | None:
        """Whether the row states a prior; None where all do."""
        if self.row_prior is None or self.options.prior.expression is None:
            return None
        return self.row_prior[0].is_not_null()

    def error_cost(self) -> pl.Expr:
        """The cost of an error in the row, with costs per row."""
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
        return self.collected()

    def collected(self) -> CollectedSums:
        """The sums of a group from rows that are collected."""
        prior = self.prior_vector
        of_group = GroupPrior.from_rows(prior) if isinstance(prior, pl.Expr) else prior
        n_classes, n_decisions = self.costs.n_classes, self.costs.n_decisions
        return CollectedSums(n_classes, n_decisions, self.listed, of_group)


def count_rows(mask: pl.Expr) -> pl.Expr:
    """The number of rows in `mask`; Int64, because the engine's own counts are unsigned 32-bit."""
    return mask.sum().cast(pl.Int64)


class RowSums(Sums):
    """Sums over the rows of a group. Nulls add nothing; an invalid row makes `guarded` null."""

    def __init__(self, rows: Rows) -> None:
        super().__init__(rows.costs.n_decisions, rows.prior, len(rows.labels.in_class))
        self.costs_by_row = rows.row_costs is not None
        self._masks = [rows.present & mask for mask in rows.labels.in_class]
        self._rows = rows

    def count(self, i: int) -> pl.Expr:
        return self._rows.amount(self._masks[i])

    @property
    def size(self) -> pl.Expr:
        # A row without missing values has a class, or is invalid and makes the value null.
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
        """Row weights of an expectation at the priors in use: masks of rows with equal weights, and these.

        P_i / N_i for rows of class i, null if there are none. Without a stated prior all weights are 1 / N, so that one sum is enough instead
        of one per class.
        """
        if self._stated_prior is None:
            return [(self._rows.present, ratio(pl.lit(1.0), self.size))]
        return [(mask, row_weight(self, i)) for i, mask in enumerate(self._masks)]

    def guarded(self, value: pl.Expr) -> pl.Expr:
        """`value`, or null if the group does not allow it.

        It is null if there are invalid rows or weights that sum to `MOST_WEIGHT` or more, if a stated prior is invalid or not constant in the
        group, or if a row lacks the threshold or costs that are columns.
        """
        right = self._rows.invalid.sum() == 0
        if self._rows.weight is not None:
            right &= self.size < MOST_WEIGHT
        if self._stated_prior is not None and self._rows.options.prior.expression is not None:
            # Counts of a group without rows are 0, and so they are without a prior.
            right &= self._stated_prior[0].is_not_null() | (self.size == 0)
        for fault in self._rows.decision_faults.values():
            right &= fault.sum() == 0
        return pl.when(right).then(value)


def resolve(inputs: Sequence[Typed], options: Options, kernel_above: int = MANY) -> Rows:
    """`Rows` of score, label and `options.columns` with their dtypes; clear errors for dtypes that do not go together.

    Vectors of more than `kernel_above` classes are read by the kernel.
    """
    (score, score_dtype), (label, label_dtype), *rest = inputs
    option_inputs = dict(zip(options.columns, rest, strict=True))
    score_name, label_name = score.meta.output_name(), label.meta.output_name()
    weight = read_numbers("weights", *option_inputs["weight"]) if "weight" in option_inputs else None
    n_classes = n_score_classes(score_dtype, options, label_dtype)
    if score_dtype.is_nested():
        options = with_categories(options, label_name, label_dtype, n_classes)
    labels = read_labels(label_name, label, label_dtype, n_classes, options)
    prior = options.prior
    names = class_names(score_dtype, labels.names, score_name)
    costs = checked_costs(options, names, score_name)
    prior_dtype = option_inputs["prior"][1] if "prior" in option_inputs else None
    row_prior = prior.per_row(names, prior_dtype) if prior.stated else None
    vector = prior.vector(names, prior_dtype)
    scores = read_scores(score_name, score, score_dtype, names, options, row_prior, vector, kernel_above)
    group_prior = None if row_prior is None else prior.per_group(row_prior)
    threshold, row_costs = read_by_row(option_inputs, options)
    return Rows(options, scores, labels, weight, costs, group_prior, row_prior, names, threshold, row_costs, vector)


def per_group(
    name: str,
    score: IntoExpr,
    label: IntoExpr,
    options: Options,
    build: Callable[[Rows], pl.Expr],
    kernel_above: int = MANY,
) -> pl.Expr:
    """An aggregate of the log, called `<score>_<name>`; `build` runs when the plan is resolved, `kernel_above` as for `resolve`."""
    if options.prior.stated:
        options.prior.check_of_group()
    columns = [as_expr(score, "score"), as_expr(label, "label"), *options.columns.values()]

    def resolved(inputs: list[Typed]) -> pl.Expr:
        return build(resolve(inputs, options, kernel_above)).alias(f"{inputs[0][0].meta.output_name()}_{name}")

    if (explanations := EXPLANATIONS.get()) is not None:
        read = partial(resolve_columns, score=score, label=label, options=options)
        explanations.append(lambda nulls, frame: warn_of_nulls(nulls, frame, {"score": read(frame)}))
    return pl.pipe_with_dtype(columns, resolved)


def with_prior_column(frame: pl.LazyFrame, options: Options) -> tuple[pl.LazyFrame, Options]:
    """Evaluate a prior that is an expression on the whole log: inside a group by class it would mean another thing."""
    if options.prior.expression is None:
        return frame, options
    column = replace(options.prior, expression=pl.col(PRIOR))
    return frame.with_columns(options.prior.expression.alias(PRIOR)), replace(options, prior=column)


def resolve_columns(
    frame: pl.LazyFrame, score: IntoExpr, label: IntoExpr, options: Options, kernel_above: int = MANY
) -> Rows:
    """The rows of a frame; reads its schema now, so that unsuitable dtypes are errors at the call."""
    columns = [as_expr(score, "score"), as_expr(label, "label"), *options.columns.values()]
    dtypes = frame.select(c.alias(str(i)) for i, c in enumerate(columns)).collect_schema().dtypes()
    return resolve(list(zip(columns, dtypes, strict=True)), options, kernel_above)


def warn_of_nulls(nulls: str, log: Any, models: Mapping[str, Rows], *, only_of_invalid: bool = False) -> None:
    """Warn of null values with their cause (invalid or missing rows, an absent class) and the number of rows."""
    if not isinstance(log, pl.LazyFrame):  # a reader, whose rows are gone
        warn(f"{nulls}. See the columns n, n_missing and n_invalid of a report")
        return
    reasons: dict[str, list[str]] = {}
    has_invalid = False
    for name, rows in models.items():
        faults, classes = rows.faults, rows.labels.classes[:_COUNTED_CLASSES]
        masks = [rows.present, *faults.values(), *(rows.usable & rows.labels.in_class[k] for k in range(len(classes)))]
        sums = [pl.len().alias("n"), *(mask.sum().alias(str(m)) for m, mask in enumerate(masks))]
        n, present, *counts = log.select(sums).collect(engine="streaming").row(0)
        invalid = {kind: count for kind, count in zip(faults, counts, strict=False) if count}
        texts = [f"{kind} in {count} of {n} rows{_remedy(kind, rows, [*models])}" for kind, count in invalid.items()]
        has_invalid |= bool(texts)
        absent = [repr(value) for value, count in zip(classes, counts[len(faults) :], strict=True) if not count]
        if not present:
            texts = [f"score, label or weight is missing in {n} of {n} rows" if n else "there are no rows"]
        elif not texts and absent:
            texts = [f"no row has the class {' or '.join(absent)}, of {n} rows"]
        for text in texts:
            reasons.setdefault(text, []).append(repr(name))
    if only_of_invalid and not has_invalid:
        return
    reasons = reasons or {f"undefined for these {n} rows, although none is invalid": [*map(repr, models)]}
    shown = [f"{', '.join(names)}: {text}" if len(models) > 1 else text for text, names in reasons.items()]
    warn(f"{nulls}: {'; '.join(shown)}")


def _remedy(kind: str, rows: Rows, models: Sequence[str]) -> str:
    """A hint for labels that are not classes, and for scores of one number per row that are out of range."""
    if kind == _NO_CLASS and len(models) > 2:
        ends = f"{models[0]!r}, ..., {models[-1]!r}"
        return f" (these are {len(models)} models; posteriors of K classes are one column: pl.concat_arr({ends}))"
    if kind == _NO_CLASS:
        return " (pass pos_label=, the positive label, or classes=)"
    if not isinstance(rows.scores, BinaryScores) or kind not in rows.scores.defects:
        return ""
    scales = '; for other scales pass score_type="percent", "log_odds", "llr" or, for ranking metrics, "raw"'
    return f" (.fill_nan(None) turns NaN into missing values{scales if rows.scores.scale.is_share else ''})"


def expand(frame: pl.LazyFrame, columns: IntoExpr | Iterable[IntoExpr], what: str) -> list[pl.Expr]:
    """One expression per column; selectors are expanded. There is at least one score."""
    if isinstance(columns, Mapping):
        raise TypeError(
            f"{what}= is a dict, whose values would be ignored: pass the names of columns, such as {[*columns][:2]}"
        )
    if not isinstance(columns, str | pl.Expr) and not hasattr(columns, "__iter__"):
        raise TypeError(f"{what}={columns!r} is not a column's name, an expression or a sequence of them")
    given: Any = [columns] if isinstance(columns, str | pl.Expr) or hasattr(columns, "__array__") else columns
    expressions = [as_expr(c, what) for c in given]
    expanded: list[pl.Expr] = []
    for expression in expressions:
        if not expression.meta.has_multiple_outputs():
            expanded.append(expression)
        elif expression.meta.is_column_selection():
            expanded += [pl.col(name) for name in frame.select(expression).collect_schema().names()]
        else:
            raise ValueError(f"{what}= holds {expression}, an expression with several columns: pass them one by one")
    if what == "score" and not expanded:
        raise ValueError("score= names no column: pass at least one")
    names = [expression.meta.output_name() for expression in expanded]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what}= has the name {twice[0]!r} twice: rename one with .alias()")
    return expanded


def join_groups(rows: FrameT, others: FrameT, by: Sequence[str]) -> FrameT:
    """Each row with what its group has in another table; null and NaN are groups as well."""
    keys = list(by)
    if len(by) == 1 and rows.collect_schema()[by[0]].is_float():
        # By one key that is sorted Polars does not find NaN.
        one, keys = pl.lit(0).alias(_ONE), [*by, _ONE]
        rows, others = rows.with_columns(one), others.with_columns(one)
    joined = rows.join(others, on=keys, how="left", nulls_equal=True, maintain_order="left")
    return joined.drop(_ONE, strict=False)


def check_names(keys: Iterable[pl.Expr], taken: Collection[str], of: str) -> None:
    """ValueError if a group column has a name that is taken in a result, or that cannot be one."""
    names = {key.meta.output_name() for key in keys}
    check_are_names("by", names)
    if clash := sorted(names.intersection(taken)):
        raise ValueError(f"by= has a column {clash[0]!r}, which is also a column of {of}: rename it with .alias()")


def check_are_names(option: str, names: Iterable[str]) -> None:
    """ValueError if one of the names is empty, or Polars reads it as a pattern."""
    for name in names:
        if name in ("", "*") or (name[0], name[-1]) == ("^", "$"):
            raise ValueError(f"{option}= has a column {name!r}, which is not a valid name: rename it with .alias()")


def class_prior_of_log(score: IntoExpr, label: IntoExpr, options: Mapping[str, Any]) -> pl.Expr:
    """The prior "overall" for a function with these options, as an aggregate of the whole log."""
    read = {name: value for name, value in options.items() if name in CountOptions.__annotations__}
    return per_group("class_prior", score, label, parse_options(read), empirical_prior)


def empirical_prior(rows: Rows) -> pl.Expr:
    """Share of the positive class, or vector of class shares, among usable rows."""
    sums = rows.sums()
    return sums.guarded(sums.shares if isinstance(sums, CollectedSums) else pack_prior(sums.empirical_prior))
