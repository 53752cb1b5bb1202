"""One call, three doors: the function, the namespace method and the DuckDB macro of a metric, on the same rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import duckdb
import numpy as np
import polars as pl

import polars_ec as ec
from tests.support.database import database
from tests.support.slow import mostly_slow

DOORS = ("function", "namespace", "sql")

# A method of the namespace calls the function, as tests/test_contract.py says.
QUICK_DOORS = mostly_slow(DOORS, ["function", "sql"])

ROW_FUNCTIONS = frozenset(
    {"bayes_decision", "row_cost", "row_log_loss", "row_brier", "posterior", "log_odds", "llr", "shift_prior", "affine"}
)

# Their first argument is the only column.
_WITHOUT_LABEL = frozenset({"bayes_decision", "posterior", "log_odds", "llr", "shift_prior", "affine"})

# `to` is a reserved word in SQL, so that these two go by position there.
_POSITIONAL = ("from_", "to")


def evaluate(
    door: str,
    name: str,
    frame: pl.DataFrame,
    score: str = "score",
    label: str = "label",
    *,
    by: str | Sequence[str] = (),
    engine: str = "eager",
    **keywords: Any,
) -> Any:
    """The metric's value as plain Python; per group a dict; of a row function the list of the rows' values.

    A string as `weight`, `threshold` or a cost is a column, and as `prior` too unless it is "uniform". A confusion is always a list of rows
    (true classes), although the binary one is a struct in both engines. `engine` ("eager", "streaming", "in-memory") is
    for the Polars doors. Keys of the dict are values of `by`, or tuples if it names several columns.
    """
    keys = [by] if isinstance(by, str) else list(by)
    columns = [score] if name in _WITHOUT_LABEL else [score, label]
    if door == "sql":
        rows = _sql(name, frame, columns, keys, keywords)
    elif door in DOORS:
        rows = _polars(_expression(door, name, columns, keywords), frame, keys, engine)
    else:
        raise ValueError(f"{door!r} is none of the doors {DOORS}")
    values = [_plain(row[-1]) for row in rows]
    if keys:
        return {row[0] if len(keys) == 1 else tuple(row[:-1]): value for row, value in zip(rows, values, strict=True)}
    return values if name in ROW_FUNCTIONS else values[0]


def _expression(door: str, name: str, columns: list[str], keywords: dict[str, Any]) -> pl.Expr:
    keywords = {key: pl.col(value) if _is_column(key, value) else value for key, value in keywords.items()}
    if door == "function":
        return getattr(ec, name)(*columns, **keywords)
    return getattr(pl.col(columns[0]).ec, name)(*columns[1:], **keywords)


def _polars(expression: pl.Expr, frame: pl.DataFrame, keys: list[str], engine: str) -> list[tuple[Any, ...]]:
    if engine == "eager":
        table = frame.group_by(keys).agg(expression) if keys else frame.select(expression)
    else:
        lazy = frame.lazy()
        query = lazy.group_by(keys).agg(expression) if keys else lazy.select(expression)
        table = query.collect(engine=engine)
    return (table.sort(keys) if keys else table).rows()


def _sql(
    name: str, frame: pl.DataFrame, columns: list[str], keys: list[str], keywords: dict[str, Any]
) -> list[tuple[Any, ...]]:
    arguments = [_identifier(column) for column in columns]
    if keywords.get("score_type") == "decision" and not _is_binary(keywords.get("costs")):
        # A macro cannot know the costs' shape from the type of one number, so that decisions of more than 2 x 2 are lists.
        arguments[0] = f"[{arguments[0]}]"
    arguments += [sql_literal(key, keywords[key]) for key in _POSITIONAL if key in keywords]
    arguments += [f"{key} := {sql_literal(key, value)}" for key, value in keywords.items() if key not in _POSITIONAL]
    groups = ", ".join(map(_identifier, keys))
    query = f"SELECT {groups}{', ' if keys else ''}ec.{name}({', '.join(arguments)}) FROM log"
    if keys:
        query += f" GROUP BY {groups} ORDER BY {groups}"
    connection = _connection()
    connection.register("log", frame.to_arrow())
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.unregister("log")


@cache
def _connection() -> duckdb.DuckDBPyConnection:
    return database().cursor()


def sql_literal(key: str, value: Any) -> str:
    """A keyword's value as SQL."""
    if _is_column(key, value):
        return _identifier(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    if value is None:
        return "NULL"
    if isinstance(value, bool | int):
        return str(value)
    if isinstance(value, ec.CostMatrix):
        return sql_literal(key, value.values)
    if isinstance(value, Sequence):
        return "[" + ", ".join(sql_literal(key, item) for item in value) + "]"
    # From text: a plain 0.1 is a DECIMAL, and its way to DOUBLE may lose the last digit.
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def _is_column(key: str, value: Any) -> bool:
    by_row = ("weight", "threshold", "cost_fn", "cost_fp")
    return isinstance(value, str) and (key in by_row or (key in ("prior", *_POSITIONAL) and value != "uniform"))


def _is_binary(costs: Any) -> bool:
    return costs is None or np.shape(costs) == (2, 2)


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(value: Any) -> Any:
    if isinstance(value, pl.Series):
        return [_plain(item) for item in value]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict) and set(value) == {"tn", "fp", "fn", "tp"}:
        return None if value["tn"] is None else [[value["tn"], value["fp"]], [value["fn"], value["tp"]]]
    return value
