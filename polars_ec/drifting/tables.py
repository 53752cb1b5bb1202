"""After the pass: from the sums of the cells to a row for each group, period, model and metric."""

from __future__ import annotations

import polars as pl

from polars_ec.comparing.tables import with_numbers, with_sums
from polars_ec.drifting.asked import Drift
from polars_ec.drifting.choice import columns_of, references


def drifted(cells: pl.DataFrame, drift: Drift) -> pl.DataFrame:
    """The result, from the cells of the joint pass."""
    # Imported here, for it needs numpy.
    import numpy as np

    from polars_ec.drifting.changes import tidied
    from polars_ec.drifting.pieces import pieces_of

    keys = drift.keys
    groups, numbered = with_numbers(cells, keys)
    if not groups.height:
        return pl.DataFrame(schema={**groups.select(keys).schema, **columns_of(drift.factors)})
    groups = with_sums(groups, numbered, [drift.model])
    against = references(drift.reference, groups, drift.by, drift.period)
    with np.errstate(all="ignore"):
        pieces = pieces_of(numbered, groups, against, drift)
        return tidied(pieces, groups, keys, drift.factors, drift.min_rows)
