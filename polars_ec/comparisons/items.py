"""Logs with a row per model and item, as evaluations of judges and guardrails have them: a column of scores per model, a row per item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_ec.arguments.keywords import as_expr
from polars_ec.scores.read import expand
from polars_ec.typing import IntoExpr

_MODEL, _SCORE, _LABEL, _ROWS = (f"__ec_item_{name}" for name in ("model", "score", "label", "rows"))


def by_item(
    frame: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    model: IntoExpr,
    item: IntoExpr | Sequence[IntoExpr],
    further: Sequence[Any],
    reference: Any = None,
) -> tuple[pl.LazyFrame, list[str], str]:
    """The log with a row per item, the names of its columns of scores, one per model, and that of its label.

    `further` are what the comparison reads besides: group columns, weights, clusters and costs, which must be those of the item. The log is
    read once for the models and the checks. ValueError if an item has two rows of a model, or two values of a column; if there is one model,
    or a row without one; or for several scores.
    """
    scores, models, items = (expand(frame, x, name) for x, name in ((score, "score"), (model, "model"), (item, "item")))
    for name, columns in (("score", scores), ("model", models)):
        if len(columns) != 1:
            raise ValueError(
                f"{name}= holds {len(columns)} columns: with model= the log has one column of scores, and one of models"
            )
    keys = [key.meta.output_name() for key in items]
    (labels,) = expand(frame, label, "label")
    rows = frame.with_columns(
        *items, models[0].cast(pl.String).alias(_MODEL), scores[0].alias(_SCORE), labels.alias(_LABEL)
    )
    # A log without rows has no models, and compares none.
    used = {root for x in further if isinstance(x, str | pl.Expr) for root in as_expr(x, "by").meta.root_names()}
    others = [name for name in frame.collect_schema() if name in used and name not in keys]
    names = _models(rows, keys, others) or [reference if isinstance(reference, str) else "1", "2"]
    taken = set(frame.collect_schema()) & set(names)
    if taken:
        raise ValueError(f"model= has the value {min(taken)!r}, which is also a column: rename one of them")
    wide = rows.group_by(keys).agg(
        pl.col(others).first(),
        pl.col(_LABEL).drop_nulls().first(),
        *(pl.col(_SCORE).filter(pl.col(_MODEL) == name).first().alias(name) for name in names),
    )
    return wide, names, _LABEL


def _models(rows: pl.LazyFrame, keys: Sequence[str], others: Sequence[str]) -> list[str]:
    """The names of the models, after a look at all rows."""
    models, twice, differing = pl.collect_all(
        [
            rows.select(_MODEL).unique(),
            rows.group_by(*keys, _MODEL).agg(pl.len().alias(_ROWS)).filter(pl.col(_ROWS) > 1).head(1),
            rows.group_by(keys)
            .agg(pl.col(_LABEL).drop_nulls().n_unique(), pl.col(others).n_unique())
            .filter(pl.any_horizontal(pl.col(_LABEL, *others) > 1))
            .head(1),
        ],
        engine="streaming",
    )
    if models[_MODEL].null_count():
        raise ValueError("model= is null in some rows: filter them, or name their model")
    for row in twice.rows(named=True):
        where = ", ".join(f"{key}={row[key]!r}" for key in keys)
        raise ValueError(
            f"the item {where} has {row[_ROWS]} rows of model {row[_MODEL]!r}: add the column that tells them apart, such as "
            f"item={[*keys, 'epoch']!r}"
        )
    for row in differing.rows(named=True):
        where = ", ".join(f"{key}={row[key]!r}" for key in keys)
        column = next((name for name in others if row[name] > 1), "the label")
        raise ValueError(
            f"the item {where} has several values of {column}, and a comparison of models by item needs one: filter them"
        )
    names: list[str] = models[_MODEL].sort().to_list()
    if len(names) == 1:
        raise ValueError(f"model= has one value, {names[0]!r}: a comparison needs two")
    return names
