"""The models that a report compares: how the rows of each are read, and the scores that it has at the reference prior."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import polars as pl

from polars_ec.arguments import Options
from polars_ec.metrics.counts import class_prior_of_log
from polars_ec.metrics.rows import moved_scores
from polars_ec.priors import EMPIRICAL, CheckedPrior, Prior, parse_prior
from polars_ec.rows.many import ManyScores
from polars_ec.rows.read import PRIOR, Rows, resolve_columns, with_prior_column
from polars_ec.rows.scores import BinaryScores, VectorScores
from polars_ec.typing import FrameLike, IntoExpr

Pass: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]
"""What a pass over the log is made by: at once, or together with the others where the report is lazy."""

_SCORE_PRIOR = "__ec_score_prior"
# Vectors of more classes are read by the kernel: a report asks for so much that its plan is the smaller one already.
_MANY = 2
_LIKELIHOODS = ("llr", "log_likelihoods")
_POSTERIORS = ("posterior", "log_odds", "posteriors", "log_posteriors")


def pass_over(frame: FrameLike) -> Pass:
    """Together with the others over what is lazy; else one after the other: a connection to DuckDB takes one query at a time."""
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
        """The model whose sums the values at the reference prior are made of."""
        return self.moved or self

    def column(self, name: str) -> pl.Expr:
        """A sum of the group, or what was made of it."""
        return pl.col(f"{self.prefix}{name}")


def read_models(
    frame: pl.LazyFrame,
    scores: Sequence[pl.Expr],
    label: IntoExpr,
    given: Mapping[str, Any],
    options: Options,
    score_prior: Prior,
    one_pass: Pass,
) -> tuple[pl.LazyFrame, list[Model]]:
    """The frame, with the columns of priors and of moved scores that models need, and the models."""
    made_with = _checked_score_prior(score_prior, options)
    # Sums tell the overall prior of scores as they are; those that it moves must know it row by row.
    counts_prior = options.prior.overall and (options.score_type in _LIKELIHOODS or made_with.stated)
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
            name = f"{PRIOR}_{m}"
            shares = one_pass(frame.select(class_prior_of_log(score, label, given).alias(name)))
            frame = frame.join(shares, how="cross")
            of_model = replace(options, prior=CheckedPrior(stated=True, expression=pl.col(name)))
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
        raise ValueError(f"score= holds structs that name the classes in different ways, {orders}: pass classes=")
    return frame, models


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
        raise ValueError('score_prior="overall" is not a prior that scores were made with: state it')
    if options.score_type not in _POSTERIORS:
        raise ValueError(
            f"score_prior={score_prior!r} is what posteriors were made with, and score_type={options.score_type!r}: leave it out"
        )
    if not options.prior.stated:
        raise ValueError(f"score_prior={score_prior!r} says what to move the posteriors from: pass prior=, where to")
    if checked.shares is not None and 0.0 in checked.shares:
        raise ValueError(f"score_prior={score_prior!r} has a class of prior 0, which no posterior can come from")
    return checked


def _of_right_rows(rows: Rows) -> Rows:
    """Rows that are none the worse for a prior that could not be counted: they are read at another, and have no metrics of it."""
    assert isinstance(rows.scores, BinaryScores | VectorScores | ManyScores)
    assert rows.row_prior is not None
    n = len(rows.row_prior)
    even = 1 / n
    if isinstance(rows.scores, ManyScores):
        assert isinstance(rows.prior_vector, pl.Expr)
        return replace(
            rows,
            scores=replace(
                rows.scores, prior=rows.prior_vector.fill_null(pl.lit([even] * n, dtype=pl.Array(pl.Float64, n)))
            ),
        )
    return replace(rows, scores=replace(rows.scores, prior=[share.fill_null(even) for share in rows.row_prior]))


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
