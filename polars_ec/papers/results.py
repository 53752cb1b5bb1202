"""What came out: the tables of entries, which numbers disagree, and all numbers as one data frame."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from polars_ec.papers.entries import Entry, Paper
from polars_ec.papers.numbers import Number, Table

_SCHEMA = {
    "paper": pl.String,
    "entry": pl.String,
    "row": pl.String,
    "column": pl.String,
    "computed": pl.Float64,
    "shown": pl.String,
    "expected": pl.Float64,
    "difference": pl.Float64,
    "allowed": pl.Float64,
    "agrees": pl.Boolean,
    "held_against": pl.String,
}


@dataclass(frozen=True)
class Result:
    """An entry of a paper with its table, where it has one."""

    paper: Paper
    entry: Entry
    table: Table | None

    @property
    def name(self) -> str:
        """As it is asked for: `analysis/table-4`."""
        return self.paper.name_of(self.entry)

    @property
    def picture(self) -> str:
        """The file of its figure."""
        return f"{self.paper.name}-{self.entry.name}.svg"

    @property
    def held(self) -> list[Number]:
        """The numbers that are held against something: what has nothing to be held against must be a number at least."""
        return [] if self.table is None else [n for n in self.table.numbers if n.compared or not n.agrees]

    @property
    def wrong(self) -> list[Number]:
        """Those that disagree."""
        return [number for number in self.held if not number.agrees]


def result_of(paper: Paper, entry: Entry) -> Result:
    """Compute it."""
    return Result(paper, entry, None if entry.table is None else entry.table())


def farthest(numbers: Sequence[Number]) -> Number | None:
    """Of those that are held against one number, that which takes up the largest part of what is allowed."""
    held = [number for number in numbers if number.difference is not None]
    return max(held, key=_part, default=None)


def _part(number: Number) -> float:
    assert number.difference is not None
    assert number.allowed is not None
    part = abs(number.difference) / number.allowed
    return math.inf if math.isnan(part) else part


def numbers_of(results: Sequence[Result]) -> pl.DataFrame:
    """A row per number, with its difference from the printed one; ranges have no difference."""
    rows = [
        (result.paper.name, result.entry.name, row, column, *_fields(number))
        for result in results
        if result.table is not None
        for row, cells in result.table.rows
        for column, number in zip(result.table.columns, cells, strict=True)
        if number is not None
    ]
    return pl.DataFrame(rows, _SCHEMA, orient="row")


def _fields(number: Number) -> tuple[float | str | bool | None, ...]:
    shown = number.shown or None
    return number.computed, shown, number.expected, number.difference, number.allowed, number.agrees, number.against
