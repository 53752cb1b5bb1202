"""Folds of cross-validation by a hash of a key: the same in Polars and in DuckDB, on every machine."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_ec.arguments import as_expr
from polars_ec.rows.scores import bind
from polars_ec.typing import IntoExpr

# The group column of a sketch or calibration with folds.
FOLD = "fold"

# As in sql/calibration.sql. Integers stay below 2^63 at every step, because engines differ in what lies beyond.
_PRIME = 4_294_967_291  # the largest below 2^32
_BASE = 1_000_003
_MIX = 73_244_475
_MASK = 2**32 - 1
_LARGEST = 127


def fold(key: IntoExpr, folds: int = 5) -> pl.Expr:
    """The fold of each row, 0 .. folds - 1, by a hash of its key.

    Rows of one key are in one fold; folds are of about equal size where keys are many. The same key has the same fold in
    Polars and in DuckDB, whatever the rows around it, the version and the machine.

    Parameters
    ----------
    key
        Column name or expression: integers of any size or strings (also categories). A key of the row, or of what correlated
        rows share, such as the user.
    folds
        How many, from 2 to 127.

    Returns
    -------
    Int8, called `fold`. Rows without a key are all in fold 0.

    Raises
    ------
    ValueError
        Another number of folds.
    TypeError
        A key of another type.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pl.DataFrame({"id": [1, 2, 3, None], "user": ["a", "b", "a", ""]}).select(
    ...     ec.fold("id").alias("by_id"), ec.fold("user", folds=3).alias("by_user")
    ... ).rows()
    [(0, 1), (2, 1), (4, 1), (0, 1)]
    """
    n_folds = checked_folds(folds)

    def build(inputs: list[tuple[pl.Expr, pl.DataType]]) -> pl.Expr:
        return (_hash(*inputs[0]) % n_folds).cast(pl.Int8)

    return pl.pipe_with_dtype([as_expr(key, "key")], build).alias(FOLD)


def stratified_fold(key: IntoExpr, within: IntoExpr | Sequence[IntoExpr], folds: int = 5) -> pl.Expr:
    """The fold of each row, 0 .. folds - 1, such that the folds of each stratum differ by at most one key in size.

    Keys take turns in the order of their hashes, so that Polars and DuckDB agree. A key may have one fold in each stratum.

    Parameters
    ----------
    key
        As for `fold`.
    within
        Column names or expressions of the strata, such as the group and the class; in SQL one value, such as a struct.
    folds
        How many, from 2 to 127.

    Returns
    -------
    Int8, called `fold`. The keys of a stratum are ranked in memory: this does not stream.

    Raises
    ------
    ValueError, TypeError
        As for `fold`.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"id": [1, 2, 3, 4], "y": [True, True, False, False]})
    >>> log.select(ec.stratified_fold("id", "y", folds=2))["fold"].to_list()
    [1, 0, 0, 1]
    """
    n_folds = checked_folds(folds)
    strata = [as_expr(stratum, "within") for stratum in ([within] if isinstance(within, str | pl.Expr) else within)]

    def build(inputs: list[tuple[pl.Expr, pl.DataType]]) -> pl.Expr:
        turn = _hash(*inputs[0]).rank("dense").cast(pl.Int64).over(strata)
        return (turn % n_folds).cast(pl.Int8)

    return pl.pipe_with_dtype([as_expr(key, "key")], build).alias(FOLD)


def fold_of(folds: int | None, key: IntoExpr | None, strata: list[pl.Expr]) -> pl.Expr:
    """The column `fold` that the keywords ask for; with strata, even within each."""
    if folds is None or key is None:
        raise ValueError("folds= and fold_by= go together: how many folds, and the key of the rows that they are by")
    return stratified_fold(key, strata, folds) if strata else fold(key, folds)


def checked_folds(folds: int) -> int:
    """The number of folds, if it is one."""
    if isinstance(folds, bool) or not hasattr(folds, "__index__") or not 2 <= folds <= _LARGEST:
        raise ValueError(f"folds={folds!r} is not a whole number from 2 to {_LARGEST}")
    return int(folds)


def _hash(key: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Int64 in 0 .. 2^32 - 1; 0 for a null."""
    if dtype in (pl.UInt64, pl.Int128, pl.UInt128):
        number = (key % _PRIME).cast(pl.Int64)
    elif dtype.is_integer() or dtype == pl.Null:
        number = key.cast(pl.Int64)
    elif dtype in (pl.String, pl.Categorical, pl.Enum):
        number = key.cast(pl.String).map_batches(_number_of_text, return_dtype=pl.Int64, is_elementwise=True)
    else:
        raise TypeError(f"key {key.meta.output_name()!r} is {dtype}: folds are by integers or strings, so cast it")
    return bind([(number % _PRIME + _PRIME) % _PRIME], lambda x: _mixed(x[0])).fill_null(0)


def _mixed(x: pl.Expr) -> pl.Expr:
    for _ in range(2):
        x = (_shifted_xor(x) * _MIX) & _MASK
    return _shifted_xor(x)


def _shifted_xor(x: pl.Expr) -> pl.Expr:
    return x ^ (x // 2**16)


def _number_of_text(texts: pl.Series) -> pl.Series:
    """Code points as the digits of a number, after a leading 1, modulo the prime."""
    import numpy as np

    lengths = texts.str.len_chars().fill_null(0).to_numpy().astype(np.int64)
    points = np.frombuffer("".join(texts.fill_null("").to_list()).encode("utf-32-le"), dtype="<u4").astype(np.int64)
    powers = np.ones(int(lengths.max(initial=0)) + 1, dtype=np.int64)
    for i in range(1, len(powers)):
        powers[i] = powers[i - 1] * _BASE % _PRIME
    ends = np.cumsum(lengths)
    place = np.repeat(ends, lengths) - np.arange(len(points)) - 1
    running = np.concatenate([[0], np.cumsum(points * powers[place] % _PRIME)])
    number = (powers[lengths] + running[ends] - running[ends - lengths]) % _PRIME
    return pl.Series(number, dtype=pl.Int64).set(texts.is_null(), None)
