"""Validation of a log before its metrics are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, Unpack

import polars as pl

from polars_ec.arguments.arrays import without_positives
from polars_ec.arguments.inputs import as_lazy, is_read_once
from polars_ec.arguments.keywords import BY_ROW, Options, as_expr, parse_options
from polars_ec.arguments.options import DecisionOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.exceptions import InvalidDataError
from polars_ec.scores.read import expand, resolve_columns, with_prior_column
from polars_ec.typing import FrameLike, IntoExpr

FrameT = TypeVar("FrameT", bound=FrameLike)

_SHOWN_ROWS, _SHOWN_NUMBERS = 5, 10
_COMPARED_VALUES = 10_000
_LABELLED = "__ec_labelled"
_POSITIVE = "__ec_positive"


@with_options(DecisionOptions)
def validate(
    frame: FrameT, score: IntoExpr | Sequence[IntoExpr], label: IntoExpr, **options: Unpack[DecisionOptions]
) -> FrameT:
    """Return the frame if it has no invalid rows, else raise an error that describes them.

    Rows with missing values (a null label, score or weight) are not invalid, because labels arrive late. A row with a null threshold or cost
    is invalid, if these are columns. The function reads the log once per score, and once more for each kind of invalid row to show examples.
    It reads the labels again if none equals `pos_label`, and then warns. Only options for reading rows matter.

    Parameters
    ----------
    frame
        The log: a data frame of Polars or of another library; not a reader, which can be read only once.
    score
        Column name or expression, or several.

    Raises
    ------
    InvalidDataError
        Invalid rows: the number of each kind, and the first five with their row numbers. Also a `pos_label` that no row has, if a label
        differs from it only by case, surrounding spaces or number format.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.5, 1.5], "y": [0, 1]})
    >>> log.ec.validate("p", "y")
    Traceback (most recent call last):
    ...
    polars_ec.exceptions.InvalidDataError: 'p': posterior is NaN or outside [0, 1] in 1 row; the first: row 1 (p=1.5, y=1)
    """
    checked: Options = parse_options(options, BY_ROW)
    if is_read_once(frame):
        raise ValueError(
            f"a {type(frame).__name__} can be read only once, so its rows would be lost after validate(): pass a table of them"
        )
    lazy, checked = with_prior_column(as_lazy(frame), checked)
    messages: list[str] = []
    models = expand(lazy, score, "score")
    positive_named = checked.pos_label is not None
    for model in models:
        rows = resolve_columns(lazy, model, label, checked)
        defects = rows.faults
        masks = dict(defects)
        if positive_named:
            masks |= {_LABELLED: rows.labels.label.is_not_null(), _POSITIVE: rows.labels.in_class[1]}
        sums = [mask.sum().alias(kind) for kind, mask in masks.items()]
        counts = lazy.select(sums).collect(engine="streaming").row(0, named=True)
        by_row: list[pl.Expr] = [checked.columns[name] for name in ("weight", *BY_ROW) if name in checked.columns]
        shown = [model, as_expr(label, "label"), *by_row]
        for kind, defect in defects.items():
            if n := counts[kind]:
                in_rows, first = f"{n} row" if n == 1 else f"{n} rows", _first_rows(lazy, shown, defect)
                messages.append(f"{model.meta.output_name()!r}: {kind} in {in_rows}; the first: {first}")
        if positive_named and model is models[-1] and counts[_LABELLED] and not counts[_POSITIVE]:
            values = lazy.select(rows.labels.label.drop_nulls().unique()).head(_COMPARED_VALUES)
            labels = values.collect(engine="streaming").to_series().sort()
            messages += without_positives(labels.name, labels, checked.pos_label)
    if messages:
        raise InvalidDataError("\n".join(messages))
    return frame


def _first_rows(frame: pl.LazyFrame, columns: list[pl.Expr], mask: pl.Expr) -> str:
    rows = (
        frame.select([*columns, mask.alias("__ec_bad")])
        .with_row_index("__ec_row")
        .filter(pl.col("__ec_bad"))
        .drop("__ec_bad")
        .head(_SHOWN_ROWS)
        .collect(engine="streaming")
        .to_dicts()
    )
    return "; ".join(
        f"row {row['__ec_row']} ({', '.join(f'{k}={_in_short(v)}' for k, v in row.items() if k != '__ec_row')})"
        for row in rows
    )


def _in_short(value: object) -> str:
    if not isinstance(value, list) or len(value) <= _SHOWN_NUMBERS:
        return str(value)
    return f"[{', '.join(map(str, value[:_SHOWN_NUMBERS]))}, ... {len(value)} in all]"
