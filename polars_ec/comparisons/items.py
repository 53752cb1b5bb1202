"""Logs with a row per model and item, as evaluations of judges and guardrails have them: a column of scores per model, a row per item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_ec.arguments.keywords import BY_ROW
from polars_ec.scores.read import expand
from polars_ec.typing import IntoExpr

_MODEL, _SCORE, _LABEL, _ROWS = (f"__ec_item_{name}" for name in ("model", "score", "label", "rows"))
_NAMED_BY = {
    pl.List: ".list.first()",
    pl.Array: ".arr.first()",
    pl.Struct: ".struct.field('name')",
    pl.Binary: ".bin.encode('hex')",
    pl.Duration: ".dt.to_string()",
}
"""How names are made of columns of some types."""


def by_item(
    frame: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: Any,
    model: IntoExpr | None,
    item: IntoExpr | Sequence[IntoExpr] | None,
    columns: Sequence[Any],
    options: Mapping[str, Any],
    reference: Any = None,
) -> tuple[pl.LazyFrame, list[pl.Expr], str]:
    """The log with a row per item, its columns of scores, named as the models, and the name of its label.

    `columns` and `options` are what is read besides: group columns, clusters, weights and costs, which must be those of the item. The log is
    read once for the models and the checks. ValueError if an item has two rows of a model, or two values of a column; if there is one model,
    or a row without one, or without an item; for several scores; or without one of `model` and `item`.
    """
    if model is None or item is None:
        raise ValueError("model= and item= go together: pass the column of models and the column of items")
    if not isinstance(label, str | pl.Expr):
        raise TypeError(f"label={label!r} is not a column: with model= a log has one label per item")
    scores, models, items = (expand(frame, x, name) for x, name in ((score, "score"), (model, "model"), (item, "item")))
    for name, expanded in (("score", scores), ("model", models)):
        if len(expanded) != 1:
            raise ValueError(
                f"{name}= holds {len(expanded)} columns: with model= the log has one column of scores, and one of models"
            )
    if not items:
        raise ValueError("item= names no column: pass the column that identifies an item")
    ((called, dtype),) = frame.select(models).collect_schema().items()
    if dtype.is_nested() or dtype in (pl.Binary, pl.Duration, pl.Object):
        raise TypeError(
            f"model= is the column {called!r}, which is {dtype}, and models need names: pass text, categories, numbers or dates, such as "
            f"pl.col({called!r}){_NAMED_BY.get(dtype.base_type(), '.cast(pl.String)')}"
        )
    (labels,) = expand(frame, label, "label")
    label_name = labels.meta.output_name()
    prior = options.get("prior")
    by_row = [options.get(name) for name in ("weight", *BY_ROW)] + [prior if isinstance(prior, pl.Expr) else None]
    further = [column for x in [*columns, *by_row] if isinstance(x, str | pl.Expr) for column in expand(frame, x, "by")]
    used = {root for column in further for root in column.meta.root_names()}
    others = [name for name in frame.collect_schema() if name in used and name != label_name]
    # Names that no column and no model has.
    keys = {f"__ec_item_key_{i}": column for i, column in enumerate(items)}
    rows = frame.select(*others, **keys, **{_MODEL: models[0].cast(pl.String), _SCORE: scores[0], _LABEL: labels})
    first = reference if isinstance(reference, str) else "1"
    # A log without rows has no models, and compares none.
    names = _models(rows, {key: column.meta.output_name() for key, column in keys.items()}, others) or [
        first,
        f"{first}'",
    ]
    places = {f"__ec_item_score_{i}": name for i, name in enumerate(names)}
    score_of = {place: pl.col(_SCORE).filter(pl.col(_MODEL) == name).first() for place, name in places.items()}
    of_item = pl.col(_LABEL).drop_nulls().first().alias(label_name)
    wide = rows.group_by(*keys).agg(pl.col(others).first(), of_item, **score_of)
    return wide, [pl.col(place).alias(name) for place, name in places.items()], label_name


def _models(rows: pl.LazyFrame, items: Mapping[str, str], others: Sequence[str]) -> list[str]:
    """The names of the models, after a look at all rows; `items` are the names of the item's columns, as messages say them."""
    keys = [*items]
    models, lost, twice, differing = pl.collect_all(
        [
            rows.select(_MODEL).unique(),
            rows.filter(pl.any_horizontal(pl.col(keys).is_null())).select(keys).head(1),
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
    if lost.height:
        raise ValueError("item= is null in some rows: filter them")
    for row in twice.rows(named=True):
        where = ", ".join(f"{name}={row[key]!r}" for key, name in items.items())
        raise ValueError(
            f"the item {where} has {row[_ROWS]} rows of model {row[_MODEL]!r}: add the column that tells them apart, such as "
            f"item={[*items.values(), 'epoch']!r}"
        )
    for row in differing.rows(named=True):
        where = ", ".join(f"{name}={row[key]!r}" for key, name in items.items())
        column = next((name for name in others if row[name] > 1), "the label")
        raise ValueError(
            f"the item {where} has several values of {column}, and a comparison of models by item needs one: filter them"
        )
    names: list[str] = models[_MODEL].sort().to_list()
    if len(names) == 1:
        raise ValueError(f"model= has one value, {names[0]!r}: a comparison needs two")
    return names
