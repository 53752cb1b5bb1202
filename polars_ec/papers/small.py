"""Small logs whose numbers can be written out by hand, and tables of one column for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from polars_ec.papers.numbers import Against, Number, Table, by_equation
from polars_ec.papers.simulated import Floats

Pairs: TypeAlias = dict[str, tuple[Any, Any]]
"""By name: what is computed here, and what the equation gives."""


def counted(table: Sequence[Sequence[float]] | Floats) -> pl.DataFrame:
    """A log of decisions with these counts, rows true classes and columns decisions: one row per cell, whose weight is `n`."""
    cells = [(i, j, float(n)) for i, row in enumerate(table) for j, n in enumerate(row)]
    return pl.DataFrame(cells, schema={"label": pl.Int16, "decision": pl.Int16, "n": pl.Float64}, orient="row")


OF_COUNTED: dict[str, Any] = {"score": "decision", "label": "label", "score_type": "decision", "weight": "n"}
"""What a metric is told of the columns of such a log."""


def value(log: pl.DataFrame, metric: pl.Expr) -> float:
    """The one number that a metric makes of a log."""
    return float(log.select(metric).item())


def whole(computed: float, expected: float, against: Against = "equation") -> Number:
    """A whole number, such as a class or how many rows, beside the one that it must be: by an equation, or in print."""
    return Number(float(computed), expected - 0.5, expected + 0.5, f"{expected:.0f}", 0, float(expected), against)


def column(numbers: Mapping[str, Number], *notes: str) -> Table:
    """Numbers one below the other."""
    return Table(["value"], [(name, [number]) for name, number in numbers.items()], notes)


def side_by_side(pairs: Mapping[str, Sequence[Any]], *notes: str, relative: float = 1e-9) -> Table:
    """What is computed, beside the paper's equation on the same rows: one pair below the other."""
    return column(
        {
            name: by_equation(float(computed), float(expected), relative=relative)
            for name, (computed, expected) in pairs.items()
        },
        *notes,
    )
