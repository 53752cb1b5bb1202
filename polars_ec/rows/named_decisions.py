"""Decisions by name: that of a class, or of another decision that the costs name."""

from __future__ import annotations

from typing import Any

import polars as pl

from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix


def are_names(dtype: pl.DataType, classes: ClassNames, costs: CostMatrix) -> bool:
    """Whether decisions of this dtype are names; else they are indices, and True is the decision 1."""
    if dtype == pl.Boolean:
        return classes.stated and isinstance(classes.values[-1], bool) and not costs.names_decision(0)
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def index_of_names(
    column: str, decision: pl.Expr, dtype: pl.DataType, classes: ClassNames, costs: CostMatrix
) -> tuple[pl.Expr, list[Any]]:
    """Float64 index of each row's decision, -1 for what is none and null for null; and the names of the decisions."""
    names = decision_names(classes, costs)
    if not names:
        raise TypeError(
            f"decisions {column!r} are {dtype}, and no class has a name: pass classes= or pos_label=, or integers "
            f"0..{costs.n_decisions - 1}"
        )
    # A cast to these categories, of which each row's number is taken: `replace` does not stream.
    known = decision.cast(pl.String).cast(pl.Enum([name_as_text(name, dtype) for name in names]), strict=False)
    # `pos_label` leaves all other values to the negative class.
    others = 0.0 if classes.rest and not costs.names_decision(0) else -1.0
    index = known.to_physical().cast(pl.Float64).fill_null(others)
    return pl.when(decision.is_not_null()).then(index), names


def decision_names(classes: ClassNames, costs: CostMatrix) -> list[Any]:
    """The names of the decisions in order, their own or those of their classes: as many as have one."""
    values = classes.known
    names: list[Any] = []
    for j in range(costs.n_decisions):
        if not costs.names_decision(j) and j >= len(values):
            break
        names.append(costs.decisions[j] if costs.names_decision(j) else values[j])
        if names[j] in values and values.index(names[j]) != j:
            raise ValueError(
                f"costs= names decision {j} {names[j]!r}, which is class {values.index(names[j])}: put its columns in the order of "
                f"the classes {list(values)}, or name its rows with classes= as well"
            )
    return names


def name_as_text(name: Any, dtype: pl.DataType) -> str:
    """As the decision of that name is, cast to text."""
    return str(name).lower() if dtype == pl.Boolean else str(name)
