"""Metrics of values: convert arrays, Series and lists to the columns of a frame, and evaluate the metric's expression on it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextvars import ContextVar, copy_context
from itertools import pairwise
from typing import Any, cast

import polars as pl

from polars_ec.arguments.classes import by_likeness, meant_values, plain
from polars_ec.arguments.inputs import as_lazy, is_instance
from polars_ec.exceptions import InvalidDataError, warn
from polars_ec.numerics import np

_STREAMS = ("__arrow_c_array__", "__arrow_c_stream__")
_SHOWN_LABELS = 5

EXPLANATIONS: ContextVar[list[Callable[[str, pl.LazyFrame], None]] | None] = ContextVar("explanations", default=None)
"""While the expression of a call on values is made: what warns of nulls, and says of the rows why."""


def of_values(
    function: Callable[..., Any], arguments: Mapping[str, Any], columns: Collection[str], priors: Collection[str]
) -> Any:
    """What an expression function gives for values: that of the one group, or of a function of rows a Series.

    `columns` are the arguments that may be columns, and `priors` those that state priors, of which lists and NumPy arrays are
    one share for each class, and only a Series is a column.
    """
    score_name, score = next(iter(arguments.items()))
    column_arguments = {name: value for name, value in arguments.items() if name in columns}
    named = {name: value for name, value in column_arguments.items() if isinstance(value, str | pl.Expr)}
    lists_columns = isinstance(score, list | tuple) and all(isinstance(value, str | pl.Expr) for value in score)
    if not holds_values(score) or (named and lists_columns):
        return function(**arguments)
    named |= {name: arguments[name] for name in priors if isinstance(arguments.get(name), pl.Expr)}
    for name, value in named.items():
        kind = "a column's name" if isinstance(value, str) else "an expression"
        raise TypeError(
            f"{score_name}= holds values ({type(score).__name__}), but {name}={str(value)!r} is {kind}: pass values "
            "for both, or put both into a frame and pass column names"
        )
    held = {name: value for name, value in column_arguments.items() if holds_values(value)}
    held |= {name: arguments[name] for name in priors if _is_series(arguments.get(name))}
    frame = frame_of_values(held, priors)
    context = copy_context()
    explanations: list[Callable[[str, pl.LazyFrame], None]] = []
    context.run(EXPLANATIONS.set, explanations)
    expression = context.run(function, **{**arguments, **{name: pl.col(name) for name in frame.columns}})
    result = frame.select(expression).to_series()
    pos_label = plain(arguments.get("pos_label"))
    labels = frame["label"].drop_nulls().unique() if pos_label is not None and "label" in frame.columns else pl.Series()
    if len(labels) and not pl.select((pl.lit(labels) == pl.lit(pos_label)).any()).item():
        for fault in without_positives("label", labels.sort(), pos_label):
            raise InvalidDataError(fault)
    elif len(result) and result.null_count() == len(result):
        nulls = f"{function.__name__}() is null"
        if explanations:
            explanations[0](nulls, frame.lazy())
        else:
            warn(f"{nulls}: some rows hold NaN or numbers out of range, or all {len(frame)} rows have missing values")
    # Without rows a metric is one value, and a row function none.
    return result if frame.clear().select(expression).is_empty() else result.to_list()[0]


def frame_of_values(values: Mapping[str, Any], priors: Collection[str] = ()) -> pl.DataFrame:
    """Values as the columns of a frame, by the names of their arguments; ValueError if they are not one value per row each."""
    series = {name: as_series(value, name) for name, value in values.items()}
    _check_lengths(series, priors)
    _check_indices(values)
    return pl.DataFrame(list(series.values()))


def without_positives(name: str, labels: Iterable[object], pos_label: object) -> list[str]:
    """Describe the problem with a `pos_label` that no row has; a warning unless another value must be meant.

    A log may have no positive rows, so only a value that differs in case or form is an error.
    """
    meant = meant_values(pos_label, labels)
    shown = ", ".join(map(repr, meant or by_likeness(pos_label, labels)[:_SHOWN_LABELS]))
    text = f"{name!r}: no row has the label {pos_label!r} (pos_label=): "
    if meant:
        return [f"{text}the nearest values are {shown}"]
    warn(f"{text}its values are {shown}")
    return []


def holds_values(value: Any) -> bool:
    """Whether this is an array, a Series, a frame or a list, rather than a number or a name."""
    if isinstance(value, list | tuple):
        return True
    return any(hasattr(value, name) for name in (*_STREAMS, "__array__")) and getattr(value, "ndim", 1) != 0


def as_series(values: Any, name: str) -> pl.Series:
    """The values under this name: two-dimensional arrays and lists of lists are Arrays, frames are Structs."""
    try:
        series = _read(values, name)
    except (TypeError, ValueError) as error:
        reason = str(error).split("\n", 1)[0]
        raise TypeError(f"{name}= holds values ({type(values).__name__}) that are not one column: {reason}") from None
    dtype = series.dtype
    n_columns = len(dtype.fields) if isinstance(dtype, pl.Struct) else None
    if n_columns == 1 or (isinstance(dtype, pl.Array) and dtype.shape == (1,)):
        raise ValueError(
            f"{name}= has one column: pass values with one number per row flat, such as {name}.ravel() for an array, "
            "or the column itself for a frame"
        )
    if dtype == pl.Object:
        raise TypeError(f"{name}= holds values of type {type(series[0]).__name__}, which Polars does not have")
    return series


def _read(values: Any, name: str) -> pl.Series:
    if isinstance(values, list | tuple):
        return _of_list(values, name)
    if isinstance(values, pl.Series):
        return values.alias(name)
    if hasattr(values, "to_native"):
        return _read(values.to_native(), name)
    if isinstance(values, pl.DataFrame):
        return values.to_struct(name)
    if is_instance(values, "pandas", "DataFrame"):
        # Its index, of which as_lazy makes columns, is not a class.
        return as_lazy(values.reset_index(drop=True)).collect().to_struct(name)
    pandas = (("pandas", "Series"), ("pandas", "Index"), ("pandas.api.extensions", "ExtensionArray"))
    if any(is_instance(values, *kind) for kind in pandas):
        # NaN becomes null, because pandas marks missing values so.
        return cast("pl.Series", pl.from_pandas(sys.modules["pandas"].Series(values))).alias(name)
    if any(hasattr(values, protocol) for protocol in _STREAMS):
        return pl.Series(values).alias(name)
    array = np.asanyarray(values)
    return _of_list(array.tolist(), name) if array.dtype == object else pl.Series(name, array)


def _of_list(values: Sequence[Any], name: str) -> pl.Series:
    # Numbers of NumPy become those of Python.
    plain = [value.item() if getattr(value, "ndim", None) == 0 else value for value in values]
    present = [value for value in plain if value is not None]
    if any(isinstance(value, list | tuple) for value in present):
        vectors = pl.Series(name, plain, dtype=pl.List(pl.Float64))
        sizes = set(vectors.drop_nulls().list.len())
        return vectors.cast(pl.Array(pl.Float64, sizes.pop())) if len(sizes) == 1 else vectors
    kinds = {type(value) for value in present}
    if kinds == {int, float}:
        # Polars takes the type of the first.
        return pl.Series(name, plain, dtype=pl.Float64)
    if bool in kinds and len(kinds) > 1:
        raise TypeError(f"Booleans and {min(kind.__name__ for kind in kinds - {bool})}s")
    return pl.Series(name, plain)


def _is_series(value: Any) -> bool:
    return (
        isinstance(value, pl.Series)
        or is_instance(value, "pandas", "Series")
        or any(hasattr(value, protocol) for protocol in _STREAMS)
    )


def _check_lengths(columns: Mapping[str, pl.Series], priors: Collection[str]) -> None:
    lengths = {name: len(series) for name, series in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = " and ".join(f"{name}= holds {length}" for name, length in lengths.items())
        shares = "; pass one share per class as a list" if set(lengths).intersection(priors) else ""
        raise ValueError(f"all values need the same length, one value per row, but {shown}{shares}")


def _check_indices(held: Mapping[str, Any]) -> None:
    """Raise an error if the indices of pandas objects differ in order, because values are matched by position."""
    indices = {n: v.index for n, v in held.items() if any(is_instance(v, "pandas", k) for k in ("Series", "DataFrame"))}
    for (name, index), (other, another) in pairwise(indices.items()):
        if not index.equals(another) and index.isin(another).all() and another.isin(index).all():
            raise ValueError(
                f"{name}= and {other}= have the same index in different orders, and values are matched by position: "
                f"reorder one, such as {other}.loc[{name}.index], or pass arrays"
            )
