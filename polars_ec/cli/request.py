"""Rows that a command asks for, and the values of their label: as the command line states them, and as the log has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from polars_ec.arguments.classes import by_likeness, meant_values
from polars_ec.arguments.keywords import BY_ROW
from polars_ec.arguments.scales import scale_of
from polars_ec.cli.gates import Gates
from polars_ec.cli.options import Periods
from polars_ec.cli.terminal import DataError, UsageError


@dataclass(frozen=True)
class RowRequest:
    """What is asked of rows, whichever engine answers."""

    scores: list[str]
    label: str
    by: list[str]
    time: str | None
    every: str | None
    options: dict[str, Any]
    time_zone: str | None = None
    cluster: str | None = None
    gates: Gates = field(default_factory=Gates)
    others: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Further columns, by option: of strata, or of models and items."""

    def __post_init__(self) -> None:
        twice = next((name for i, name in enumerate(self.scores) if name in self.scores[:i]), None)
        if twice is not None:
            raise UsageError(f"--score {twice} is named twice: name each model once")

    def columns(self) -> dict[str, list[str]]:
        """The columns that the log must have, by option."""
        weight, time = self.options.get("weight"), self.time
        by_row = {name: value for name in BY_ROW if isinstance(value := self.options.get(name), str)}
        return {
            "--score": [column for score in self.scores for column in self.vectors.get(score, [score])],
            "--label": [self.label],
            "--by": self.by,
            **{option: list(names) for option, names in self.others.items()},
            "--time": [] if time is None else [time],
            "--weight": [] if weight is None else [weight],
            **{f"--{name.replace('_', '-')}": [column] for name, column in by_row.items()},
            "--cluster": [] if self.cluster is None else [self.cluster],
        }

    @cached_property
    def vectors(self) -> dict[str, list[str]]:
        """The columns of each score that is stated as a list of columns, [a,b,c]."""
        return {score: _listed_columns(score) for score in self.scores if score.startswith("[")}

    def with_vectors(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame with a column of K numbers per row for each score that is a list of columns."""
        if not self.vectors:
            return frame
        self.check_vectors(frame.collect_schema())
        # Columns of CSV may be whole numbers, such as 0 and 1.
        return frame.with_columns(
            pl.concat_arr(pl.col(column).cast(pl.Float64) for column in columns).alias(score)
            for score, columns in self.vectors.items()
        )

    def check_vectors(self, schema: Mapping[str, pl.DataType]) -> None:
        """UsageError for a list of columns that are not all numbers."""
        for score, columns in self.vectors.items():
            for column in columns:
                if not schema[column].is_numeric():
                    raise UsageError(f"--score {score}: the column {column!r} is {schema[column]}, not numbers")

    @property
    def other_columns(self) -> list[str]:
        return [name for names in self.others.values() for name in names]

    def periods(self, schema: Mapping[str, pl.DataType]) -> Periods | None:
        if self.time is None:
            return None
        assert self.every is not None
        return Periods(self.time, schema[self.time], self.every, self.time_zone)

    def no_rows(self, names: Sequence[str]) -> pl.LazyFrame:
        """A log of these columns without a row, of types that say nothing against it."""
        label = pl.String if {"pos_label", "classes"} & set(self.options) else pl.Boolean
        dtypes: dict[str, Any] = dict.fromkeys(names, pl.String)
        dtypes |= dict.fromkeys(self.columns()["--score"], pl.Float64) | {self.label: label}
        scale = scale_of(self.options)
        n_stated = max(len(self.options.get(name, ())) for name in ("classes", "costs"))
        if self.vectors or n_stated > 2 or (scale is not None and scale.is_vector):
            classes, prior = self.options.get("classes"), self.options.get("prior")
            listed = prior if isinstance(prior, list) else ()
            n_classes = len(classes or listed or self.options.get("costs") or range(2))
            dtypes |= {score: pl.Array(pl.Float64, n_classes) for score in self.scores if score not in self.vectors}
            dtypes[self.label] = pl.String if classes else pl.Int64
        for name in ("weight", *BY_ROW):
            if isinstance(column := self.options.get(name), str):
                dtypes[column] = pl.Float64
        if self.time is not None:
            dtypes[self.time] = pl.Datetime("us", "UTC" if self.time_zone is not None else None)
        return pl.LazyFrame(schema=dtypes)

    def for_label(self, dtype: pl.DataType) -> dict[str, Any]:
        """The options, with the label's values as a label of this dtype holds them."""
        options = dict(self.options)
        if "pos_label" in options:
            options["pos_label"] = label_value(options["pos_label"], dtype)
        if "classes" in options:
            options["classes"] = [label_value(value, dtype) for value in options["classes"]]
        return options


def _listed_columns(score: str) -> list[str]:
    """The columns of [a,b,c], or of a JSON list of names."""
    try:
        names = json.loads(score)
    except (ValueError, RecursionError):
        names = [name.strip() for name in score[1:].removesuffix("]").split(",")]
    if len(names) < 2 or not all(isinstance(name, str) and name for name in names) or not score.endswith("]"):
        raise UsageError(f"--score {score}: pass a column, or a list with a column per class such as [p_a,p_b,p_c]")
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        raise UsageError(f"--score {score} has the column {twice!r} twice: name one column per class")
    return [*names]


# So many different values of the label are looked at, and so many of them are named.
MOST_VALUES = 1000
_NAMED = 5


def label_value(text: str, dtype: pl.DataType) -> Any:
    """A label's value from the command line, as the label's column holds it."""
    if dtype == pl.Boolean and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text) if dtype.is_integer() else float(text) if dtype.is_numeric() else text
    except ValueError:
        raise UsageError(f"{text!r} is not a valid label value: the label is {dtype}") from None


def values_and_presence(label: str, positive: Any) -> tuple[pl.Expr, pl.Expr]:
    """What to select of the log: the values of the label in a list, and whether any row has this one."""
    # Comparing categories with a text that is none of them is an error.
    column = pl.col(label).cast(pl.String) if isinstance(positive, str) else pl.col(label)
    values = column.drop_nulls().unique().head(MOST_VALUES)
    return values.implode().alias("values"), (column == positive).any().alias("is_there")


def without_positives(stated: str, label: str, values: Sequence[Any], log: str) -> list[str]:
    """What to say of a log in which no row has the stated label; DataError if a value that is there must be meant.

    A log may have no positives yet, so that only a value that differs in case or form is an error.
    """
    there = sorted({str(value).lower() if isinstance(value, bool) else str(value) for value in values})
    if not there:
        return []
    meant = meant_values(stated, there)
    what = f"{log}: no row has the label {stated!r} (--pos-label)"
    if meant:
        raise DataError(f"{what}, but some rows have {label!r} {_listed(meant)}. Is that the one?")
    return [f"{what}: {label!r} is {_listed(by_likeness(stated, there))}"]


def _listed(values: Sequence[object]) -> str:
    more = f" and {len(values) - _NAMED} others" if len(values) > _NAMED else ""
    return ", ".join(map(repr, values[:_NAMED])) + more
