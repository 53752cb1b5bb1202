"""Limits of the loss before and after calibration, from logs drawn anew: the calibrators of each are trained anew too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from polars_ec.cells.cells import Cells
from polars_ec.cells.replicates import NUMBER, PRIOR, REPLICATE, Drawable, drawable
from polars_ec.cells.sums import cells_and_priors, overall_prior
from polars_ec.intervals.bootstrap import percentile_limits

Question = Callable[[Cells, Any], pl.DataFrame]
"""What a call makes of cells at a prior: a row per group, with the group columns."""


def bootstrap_of_groups(
    cells: Cells, ask: Question, columns: Sequence[str], *, prior: Any, level: float, replicates: int, seed: int
) -> pl.DataFrame:
    """The group columns, without `fold`, and the percentile limits of these columns of the answer; null where there are none."""
    keys = cells.keys_beside_fold
    source, prior = _at_prior(drawable(cells, keys), cells, keys, prior)
    found = {name: np.full((replicates, source.groups.height), np.nan) for name in columns}
    for drawn in source.replicates(replicates, seed):
        answer = ask(drawn, prior)
        at = answer[REPLICATE].to_numpy(), answer[NUMBER].to_numpy()
        for name, of_replicates in found.items():
            of_replicates[at] = answer[name].cast(pl.Float64).to_numpy()
    known = source.units.known()
    limits = {}
    for name, of_replicates in found.items():
        for end, limit in zip(("low", "high"), percentile_limits(of_replicates, level), strict=True):
            limits[f"{name}_ci_{end}"] = pl.Series(np.where(known, limit, np.nan)).fill_nan(None)
    return source.groups.select(keys).with_columns(**limits) if keys else pl.DataFrame(limits)


def _at_prior(source: Drawable, cells: Cells, keys: list[str], prior: Any) -> tuple[Drawable, Any]:
    """A prior that is known is that of the log at hand, not of what is drawn from it."""
    if isinstance(prior, str) and prior == "overall":
        prior = overall_prior(cells) or prior
    if isinstance(prior, pl.Expr) or (isinstance(prior, str) and prior == "overall"):
        *_, shares = cells_and_priors(cells, keys, prior)
        assert shares is not None
        return source.at_prior(shares.to_series(1)), pl.col(PRIOR)
    return source, prior
