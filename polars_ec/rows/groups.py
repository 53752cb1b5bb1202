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
        return in_order(values(rows), len(lists))

    return packed.map_batches(of_lists, return_dtype=pl.Float64, is_elementwise=True)


def in_order(values: pl.DataFrame, n_groups: int) -> pl.Series:
    """The `value` of each GROUP from 0 on; null for one that is not among the values."""
    groups = pl.int_range(n_groups, dtype=pl.get_index_type(), eager=True).alias(GROUP).to_frame()
    return groups.join(values, on=GROUP, how="left", maintain_order="left")["value"]
