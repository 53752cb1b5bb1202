"""Values of groups that take all rows of a group at once: worked out for all groups in one call, which does not stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from polars_ec.formulas.sums import GROUP

_ROWS = "__ec_rows"


def of_all_groups(columns: Mapping[str, pl.Expr], values: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.Expr:
    """A number per group; null where `values` has none.

    `values` takes the rows, with these columns and GROUP, and gives GROUP and `value`. Were it called group by group, the engine
    would begin one call within another, as deep as there are groups and metrics.
    """
    packed = pl.struct([column.alias(name) for name, column in columns.items()]).implode()

    def of_lists(lists: pl.Series) -> pl.Series:
        groups = lists.alias(_ROWS).to_frame().with_row_index(GROUP)
        rows = groups.filter(pl.col(_ROWS).list.len() > 0).explode(_ROWS).unnest(_ROWS)
        return groups.join(values(rows), on=GROUP, how="left", maintain_order="left")["value"]

    return packed.map_batches(of_lists, return_dtype=pl.Float64, is_elementwise=True)
