"""Columns of scores, read: how many classes they are of, by which names, and what they hold."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from polars_ec.arguments import Options
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.rows.kernel import VectorPrior
from polars_ec.rows.many import MANY, ManyScores
from polars_ec.rows.named_decisions import are_names, index_of_names
from polars_ec.rows.scores import SCALAR_TYPES, VECTOR_TYPES, BinaryScores, DecidedScores, VectorScores
from polars_ec.typing import RankingScoreType, ScoreType


def n_score_classes(dtype: pl.DataType, options: Options, label_dtype: pl.DataType | None = None) -> int:
    """How many classes the scores, the keywords and an Enum label together speak of."""
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
            f"a {dtype} column does not say how many classes there are: cast it to pl.Array(pl.Float64, K), or pass "
            "classes=, costs= or a prior per class"
        )
    if options.score_type == "decision" or isinstance(dtype, pl.List):
        return next((n for n in stated if n), 2)
    return 2


def class_names(dtype: pl.DataType, of_labels: ClassNames, name: str) -> ClassNames:
    """The classes by the names that are known: those of the labels, or of a struct's fields where the labels have none."""
    if not isinstance(dtype, pl.Struct):
        return of_labels
    fields = [field.name for field in dtype.fields]
    places = of_labels.places(fields, f"the struct {name!r}", or_in_order=True)
    return replace(of_labels, fields=tuple(fields[place] for place in places))


def read_scores(
    name: str,
    score: pl.Expr,
    dtype: pl.DataType,
    classes: ClassNames,
    options: Options,
    prior: list[pl.Expr] | None,
    prior_vector: VectorPrior = None,
    many: int = MANY,
) -> BinaryScores | VectorScores | ManyScores | DecidedScores:
    """The scores of a column of this dtype; TypeError or ValueError where dtype and score_type do not go together."""
    score_type = options.score_type
    if dtype.is_nested():
        if score_type == "posterior":
            score_type = "posteriors"
        if score_type in SCALAR_TYPES:
            raise ValueError(
                f"score_type={score_type!r} is one number a row, and {name!r} is {dtype}: pass one of "
                f"{', '.join(VECTOR_TYPES)}"
            )
        n_decisions = 0 if options.stated_costs is None else options.stated_costs.n_decisions
        if len(classes.values) > many or n_decisions > max(many, MANY):
            return _read_many(name, score, dtype, classes, score_type, prior_vector)
        return _read_vector(name, score, dtype, classes, score_type, prior)
    if score_type in VECTOR_TYPES:
        raise ValueError(
            f"score_type={score_type!r} is a vector a row, and {name!r} is {dtype}: pack with pl.concat_arr"
        )
    if score_type == "decision":
        return _read_decision(name, score, dtype, classes, options.costs(len(classes.values)).for_classes(classes))
    number = _read_number(name, score, dtype, _hint_of_decisions(dtype))
    return BinaryScores(number, score_type, prior)


def _read_decision(
    name: str, decision: pl.Expr, dtype: pl.DataType, classes: ClassNames, costs: CostMatrix
) -> DecidedScores:
    if are_names(dtype, classes, costs):
        return DecidedScores(*index_of_names(name, decision, dtype, classes, costs), costs.n_decisions)
    number = decision.cast(pl.Float64) if dtype == pl.Boolean else _read_number(name, decision, dtype)
    return DecidedScores(number, range(costs.n_decisions), costs.n_decisions)


def _hint_of_decisions(dtype: pl.DataType) -> str:
    if dtype == pl.Boolean:
        return ": pass score_type='decision'"
    named = dtype in (pl.String, pl.Categorical, pl.Enum)
    return ": if these are names of decisions, pass score_type='decision'" if named else ""


def _read_number(name: str, score: pl.Expr, dtype: pl.DataType, hint: str = "") -> pl.Expr:
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise TypeError(f"scores must be numbers, and {name!r} is {dtype}{hint}")
    return score if dtype == pl.Float64 else score.cast(pl.Float64)


def _read_vector(
    name: str,
    score: pl.Expr,
    dtype: pl.DataType,
    classes: ClassNames,
    score_type: ScoreType | RankingScoreType,
    prior: list[pl.Expr] | None,
) -> VectorScores:
    wrong_length, n_classes = None, len(classes.values)
    numbers = _numbers(name, score, dtype, classes)
    if isinstance(numbers, list):
        return VectorScores(numbers, None, pl.any_horizontal([x.is_null() for x in numbers]), score_type, prior)
    if isinstance(dtype, pl.Array):
        elements = [numbers.arr.get(k) for k in range(n_classes)]
        holds_null = numbers.arr.eval(pl.element().is_null()).arr.any().fill_null(True)
    else:
        elements = [numbers.list.get(k, null_on_oob=True) for k in range(n_classes)]
        wrong_length = numbers.list.len() != n_classes
        holds_null = (numbers.list.len() != numbers.list.drop_nulls().list.len()).fill_null(True)
    return VectorScores(elements, wrong_length, holds_null, score_type, prior)


def _read_many(
    name: str,
    score: pl.Expr,
    dtype: pl.DataType,
    classes: ClassNames,
    score_type: ScoreType | RankingScoreType,
    prior: VectorPrior,
) -> ManyScores:
    numbers = _numbers(name, score, dtype, classes)
    vector = numbers if isinstance(numbers, pl.Expr) else pl.struct(x.alias(str(k)) for k, x in enumerate(numbers))
    return ManyScores(vector, len(classes.values), score_type, prior, isinstance(dtype, pl.List))


def _numbers(name: str, score: pl.Expr, dtype: pl.DataType, classes: ClassNames) -> pl.Expr | list[pl.Expr]:
    """A vector of Float64 in class order, or, of a struct, one column for each class."""
    if isinstance(dtype, pl.Struct):
        if any(not (field.dtype == pl.Null or field.dtype.is_numeric()) for field in dtype.fields):
            raise TypeError(f"scores must be numbers, and {name!r} is {dtype}")
        fields = [field.name for field in dtype.fields]
        places = classes.places(fields, f"the struct {name!r}", or_in_order=True)
        return [score.struct.field(fields[place]).cast(pl.Float64) for place in places]
    assert isinstance(dtype, pl.Array | pl.List)
    if not (dtype.inner == pl.Null or dtype.inner.is_numeric()):
        raise TypeError(f"scores must be numbers in a flat vector, and {name!r} is {dtype}")
    if dtype.inner == pl.Float64:
        return score
    return score.cast(pl.Array(pl.Float64, dtype.size) if isinstance(dtype, pl.Array) else pl.List(pl.Float64))
