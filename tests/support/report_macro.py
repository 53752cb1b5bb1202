"""A report of hostile logs through both doors: `lf.ec.report` and `FROM ec.report` in DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

import polars_ec as ec

if TYPE_CHECKING:
    import duckdb

OF_DECISIONS = (
    *(
        "nec",
        "precision",
        "f1",
        "recall",
        "expected_cost",
        "error_rate",
        "accuracy",
        "balanced_error_rate",
        "balanced_accuracy",
    ),
    *(
        "specificity",
        "fpr",
        "fnr",
        "decision_share",
        "informedness",
        "mcc",
        "lr_plus",
        "lr_minus",
        "precision_gain",
        "recall_gain",
    ),
)
METRICS = (*OF_DECISIONS, "bayes_risk", "nce", "nbs", "cross_entropy", "brier")


class Column(str):
    """The name of a column that an argument is."""

    __slots__ = ()


def hostile_log(seed: int, rows: int) -> pl.DataFrame:
    """Nulls, ties, and groups with wrong rows, of one class, without errors; weights, some of them 0; keys, some of them null."""
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c", "d", None], rows)
    label = rng.random(rows) < [0.03, 0.2, 0.5][seed % 3]
    score = np.clip(rng.beta(1, 2, rows) + 0.3 * label * rng.random(rows), 0, 1)
    score = np.round(score, 1) if seed % 3 == 0 else score
    if seed % 4 == 1:
        score = np.where(rng.random(rows) < 0.01, rng.integers(0, 2, rows), score)
    if seed % 5 == 2:
        score[(group == "c") & (rng.random(rows) < 0.1)] = np.nan
    if seed % 5 == 3:
        label[group == "b"] = False
    if seed % 5 == 4:  # rates of 0 and 1, where the threshold is a half
        score = np.where(group == "a", 0.5 * score + 0.4 * label, score)
    return pl.DataFrame(
        {
            "g": pl.Series(list(group), dtype=pl.String),
            "h": rng.integers(0, 2, rows),
            "p": with_nulls(rng, score, 0.02),
            "y": with_nulls(rng, label, 0.02),
            "w": with_nulls(rng, np.where(rng.random(rows) < 0.1, 0.0, rng.gamma(1, 1, rows)), 0.01),
            "t": with_nulls(rng, rng.choice([0.2, 0.5, 0.7], rows), np.where(group == "d", 0.05, 0.0)),
            "k": with_nulls(rng, rng.integers(0, rng.choice([4, 12, 60]), rows), 0.05),
            # Of their own, so that the other columns are what they were.
            "a": costs_of_rows(np.random.default_rng(seed + 1000), group),
        }
    )


def costs_of_rows(rng: np.random.Generator, group: np.ndarray[Any, Any]) -> pl.Series:
    """Amounts of any size, some of them 0; in group "d" one is invalid."""
    amount = np.where(rng.random(len(group)) < 0.1, 0.0, rng.lognormal(1, 1.5, len(group)))
    amount[np.flatnonzero(group == "d")[:1]] = rng.choice([-1.0, np.nan, np.inf])
    return with_nulls(rng, amount, np.where(group == "d", 0.05, 0.0))


def with_nulls(rng: np.random.Generator, values: Any, share: Any) -> pl.Series:
    return pl.Series(
        [None if lost else value for value, lost in zip(values.tolist(), rng.random(len(values)) < share, strict=True)]
    )


def both(
    connection: duckdb.DuckDBPyConnection, log: pl.DataFrame, by: list[str], **options: Any
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The report of Polars and that of DuckDB: of the posterior or score `p` and the label `y`."""
    connection.register("hostile", log.to_arrow())
    arguments = "".join(f', "{name}" := {literal(value)}' for name, value in options.items())
    of_duckdb = connection.sql(f"FROM ec.report('hostile', p, y, groups := {literal(by)}{arguments})").pl()
    columns = {name: pl.col(value) if isinstance(value, Column) else value for name, value in options.items()}
    # Of a lazy log, which says nothing of the groups that are null on purpose.
    return ec.report(log.lazy(), "p", "y", by=by, **columns).collect(), of_duckdb


def literal(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(literal, value))}]"
    if isinstance(value, bool) or not isinstance(value, str):
        return str(value).lower()
    return str(value) if isinstance(value, Column) else f"'{value}'"


def assert_equal(of_polars: pl.DataFrame, of_duckdb: pl.DataFrame, within: float = 1e-9) -> None:
    """The same columns, rows, nulls and numbers: as far as rounding lets, for limits of a number near 0 are made of larger ones."""
    assert sorted(of_duckdb.columns) == sorted(of_polars.columns)
    assert of_duckdb.height == of_polars.height
    for name, column in zip(of_polars.columns, of_polars, strict=True):
        # Bounds of likelihood ratios of few errors are exponentials of squares, which make more of a rounding.
        near = within * (10 if name.startswith("lr_") and "_ci_" in name else 1)
        for want, got in zip(column, of_duckdb[name], strict=True):
            shown = f"{name}: {want} in Polars, {got} in DuckDB"
            if want is None or got is None or not isinstance(want, float):
                assert got == want, shown
            else:
                assert got == want or abs(got - want) <= near * max(abs(want), 0.1), shown
