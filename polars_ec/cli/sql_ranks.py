"""Ranking metrics of a report on a DuckDB table: it counts the cells, and they answer as those of a sketch do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from polars_ec.cells.cells import Cells
from polars_ec.cells.evaluate import evaluate
from polars_ec.cells.files import cells_of_table
from polars_ec.cli.sql_calls import LABEL, SCORE, Model
from polars_ec.dialects import quoted, quoted_text
from polars_ec.formulas.moved_by_prior import is_moved_by_prior
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.priors import Prior
from polars_ec.reporting.ranks import grid_of

RANK_COLUMNS = tuple(
    f"{name}{at}{end}" for name in RANKING_METRICS for at in ("", "_at_prior") for end in ("", "_error")
)
"""Names that the columns of ranking metrics have in a report."""

# Groups of a report may be called what columns of a sketch are.
_KEY, _WEIGHT, _ROWS = "key_{}", "__ec_weight", "__ec_ranked"
# Joined by one key Polars does not find NaN, so there is always another one.
_ONE = "__ec_one"


def cells_of_rows(
    answer: Callable[[str, Mapping[str, str]], pl.DataFrame],
    relation: str,
    keys: Mapping[str, str],
    model: Model,
    prior: Prior,
) -> Cells:
    """The cells of a model: those that the report on files makes, counted by DuckDB.

    `relation` is what `model.rows` gives, and the values of `keys` are SQL. `answer` runs a query that may name views, given as SQL.
    """
    grid = grid_of(model.read, prior)
    groups = {_KEY.format(i): sql for i, sql in enumerate(keys.values())}
    weight = {} if model.weight is None else {_WEIGHT: model.weight}
    columns = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in {**groups, **weight}.items())
    rows = f"SELECT {SCORE}, {LABEL}{', ' if columns else ''}{columns} FROM {relation}"
    thresholds = ", ".join(f"CAST('{threshold!r}' AS DOUBLE)" for threshold in grid.thresholds)
    query = (
        f"FROM ec.sketch({quoted_text(_ROWS)}, {SCORE}, {LABEL}, groups := [{', '.join(map(quoted_text, groups))}], "
        f"score_type := {quoted_text(grid.score_type)}, resolution := {grid.resolution}, thresholds := [{thresholds}]"
        f"{f', weight := {_WEIGHT}' if weight else ''})"
    )
    assert grid.resolution is not None
    return cells_of_table(answer(query, {_ROWS: rows}), grid.score_type, grid.resolution, grid.thresholds, bool(weight))


def with_ranks(
    table: pl.DataFrame, cells: Cells, keys: Sequence[str], model: Model, names: Sequence[str]
) -> pl.DataFrame:
    """The table with these metrics and their errors, also at the reference prior, by its groups; no `keys`: of all groups."""
    groups = [_KEY.format(i) for i in range(len(keys))]
    costs = {"costs": model.checked.costs(2).values} if any(name.startswith("min_") for name in names) else {}
    found = evaluate(cells, names, costs, keys=groups)
    moved = [name for name in names if is_moved_by_prior(name)]
    at_prior = {f"{name}{end}": f"{name}_at_prior{end}" for name in moved for end in ("", "_error")}
    if not model.prior_is_known:
        found = found.with_columns(pl.lit(None).alias(alias) for alias in at_prior.values())
    elif moved and model.prior_in_use is not None:
        there = evaluate(cells, moved, {**costs, "prior": model.prior_in_use}, keys=groups)
        found = found.with_columns(there.select(pl.col(name).alias(alias) for name, alias in at_prior.items()))
    one = pl.lit(0).alias(_ONE)
    shown = [name for name in found.columns if name in RANK_COLUMNS]
    named = found.select(one, *(pl.col(group).alias(key) for group, key in zip(groups, keys, strict=True)), *shown)
    joined = table.with_columns(one).join(named, on=[_ONE, *keys], how="left", nulls_equal=True, maintain_order="left")
    return joined.drop(_ONE)
