"""The terms of `metrics.divergence` for two vectors of many posteriors per row, computed by NumPy for all classes at once."""

from __future__ import annotations

from typing import Any

import polars as pl

from polars_ec.numerics import np
from polars_ec.scores.scores import FAULT, LOG_POSTERIORS, POSTERIORS, ManyScores, RowKernel, matrix_of, rows_at_a_time

_SCORE, _REFERENCE, _AMOUNT, _LOSS, _WRONG = "score", "reference", "amount", "loss", "wrong"


def mean_comparison(
    scores: ManyScores, references: ManyScores, rule: str, weight: pl.Expr | None, *, expected: bool, reference: bool
) -> pl.Expr:
    """The mean over the rows of a group and, with `reference`, the mean reference after it, as an Array.

    `expected`: of the loss if the classes follow the reference; otherwise of its excess over that of the reference. Null if there are no
    rows, or invalid ones.
    """
    n = scores.n_classes
    columns = {_SCORE: scores.vector, _REFERENCE: references.vector, **({} if weight is None else {_AMOUNT: weight})}
    packed = pl.struct([column.alias(name) for name, column in columns.items()])
    fields: dict[str, Any] = {_WRONG: pl.Boolean(), _LOSS: pl.Float64(), _AMOUNT: pl.Float64()}
    if reference:
        fields[POSTERIORS] = pl.Array(pl.Float64, n)

    def compare(rows: pl.Series) -> pl.Series:
        tables = [
            _terms_of_rows(part, scores, references, rule, expected)
            for part in rows.struct.unnest().iter_slices(rows_at_a_time(n))
        ]
        table = pl.concat(tables) if tables else pl.DataFrame(schema={**fields, POSTERIORS: pl.Array(pl.Float64, n)})
        return table.select(list(fields)).to_struct(rows.name)

    compared = packed.map_batches(compare, return_dtype=pl.Struct(fields), is_elementwise=True)
    # The order does not matter to a sum, and only without it the engine streams.
    collected = compared.implode(maintain_order=False)
    dtype = pl.Array(pl.Float64, 1 + (n if reference else 0))
    return collected.map_batches(lambda groups: _means(groups, dtype), return_dtype=dtype, is_elementwise=True)


def _terms_of_rows(
    rows: pl.DataFrame, scores: ManyScores, references: ManyScores, rule: str, expected: bool
) -> pl.DataFrame:
    """Whether each row is invalid, its weight, and times that its loss and the reference; null if a value is missing."""
    n = scores.n_classes
    faults, vectors, logs = [], [], []
    for vectors_of, name in ((scores, _SCORE), (references, _REFERENCE)):
        kernel = RowKernel(n, vectors_of.scale, (FAULT, POSTERIORS, LOG_POSTERIORS))
        found = kernel(rows.select(pl.col(name).alias("score")).to_struct("")).struct.unnest()
        faults.append(found[FAULT])
        vectors.append(matrix_of(found[POSTERIORS], n)[0])
        logs.append(matrix_of(found[LOG_POSTERIORS], n)[0])
    (q, s), (log_q, log_s) = vectors, logs
    with np.errstate(all="ignore"):
        if rule == "brier":
            loss = np.einsum("ij,ij->i", q - s, q - s) / n
            loss = loss + np.einsum("ij,ij->i", s, 1 - s) / n if expected else loss
        else:
            # A class that the reference rules out adds 0 whatever its loss is.
            loss = np.where(s == 0, 0.0, s * (-log_q if expected else log_s - log_q)).sum(axis=1)
            # Rounding may take a difference of equals below 0.
            loss = loss if expected else np.maximum(loss, 0.0)
    present = faults[0].is_not_null() & faults[1].is_not_null()
    wrong = (faults[0] != 0) | (faults[1] != 0)
    amount = np.ones(len(loss))
    if _AMOUNT in rows.columns:
        present &= rows[_AMOUNT].is_not_null()
        amount = rows[_AMOUNT].fill_null(0.0).to_numpy()
        wrong |= pl.Series(~((amount >= 0) & np.isfinite(amount)))
    with np.errstate(all="ignore"):
        # A row of weight 0 counts as no row, also when its loss is infinite.
        loss = np.where(amount == 0, 0.0, amount * loss)
        posteriors = pl.Series(amount[:, None] * s, dtype=pl.Array(pl.Float64, n))
    fields = {_WRONG: wrong, _LOSS: pl.Series(loss), _AMOUNT: pl.Series(amount), POSTERIORS: posteriors}
    return pl.select([pl.when(present).then(column).alias(name) for name, column in fields.items()])


def _means(groups: pl.Series, dtype: pl.Array) -> pl.Series:
    """Over the rows of each group, as `_terms_of_rows` gives them: the mean loss, and the mean reference if `dtype` has room for it."""
    rows = groups.explode(empty_as_null=False, keep_nulls=False).struct.unnest()
    lengths = groups.list.len().fill_null(0).to_numpy().astype(np.int64)
    occupied = lengths > 0
    starts = (np.cumsum(lengths) - lengths)[occupied]
    values = [rows.select(_WRONG, _AMOUNT, _LOSS).cast(pl.Float64).fill_null(0.0).to_numpy()]
    if dtype.size > 1:
        values.append(matrix_of(rows[POSTERIORS], dtype.size - 1)[0])
    sums = np.zeros((len(groups), 2 + dtype.size))
    with np.errstate(all="ignore"):
        sums[occupied] = np.hstack([np.add.reduceat(value, starts, axis=0) for value in values])
        wrong, amount = sums[:, 0], sums[:, 1:2]
        means = pl.Series(sums[:, 2:] / amount, dtype=dtype)
    right = pl.Series((wrong == 0) & (amount[:, 0] != 0))
    return pl.select(pl.when(right).then(means)).to_series()
