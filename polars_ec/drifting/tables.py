"""After the pass: from the sums of the cells to a row for each group, period, model and metric."""

from __future__ import annotations

import polars as pl
from polars import selectors as cs

from polars_ec.comparing.choice import Reference
from polars_ec.comparing.joint_pass import sum_of_groups
from polars_ec.drifting.asked import Drift
from polars_ec.drifting.choice import columns_of, references
from polars_ec.formulas.sums import GROUP
from polars_ec.rows.read import join_groups


def drifted(cells: pl.DataFrame, drift: Drift) -> pl.DataFrame:
    """The result, from the cells of the joint pass."""
    # Imported here, for it needs numpy.
    import numpy as np

    keys = drift.keys
    groups = cells.select(keys).unique().sort(keys).with_row_index(GROUP)
    numbered = join_groups(cells, groups, keys)
    if not groups.height:
        return pl.DataFrame(schema={**groups.select(keys).schema, **columns_of(drift.factors)})
    sums = numbered.group_by(GROUP).agg(**sum_of_groups(cells, drift.models))
    groups = groups.join(sums, on=GROUP, how="left", maintain_order="left")
    groups = groups.with_columns((cs.integer() - cs.by_name(keys)).fill_null(0))
    against = references(drift.reference, groups, drift.by, drift.period)
    from polars_ec.comparing.tidy import tidy
    from polars_ec.drifting.pieces import pieces_of

    with np.errstate(all="ignore"):
        pieces = list(pieces_of(numbered, groups, against, drift))
        # Of any value: which period is the reference of each the pieces say themselves.
        reference = Reference(key={drift.period: None})
        return tidy(pieces, groups, keys, reference, drift.min_rows, columns_of(drift.factors), [drift.period])
