"""How far losses before and after calibration are off in logs drawn anew: the calibrators of each are trained anew too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import polars as pl

from polars_ec.cells.cells import Cells
from polars_ec.cells.replicates import NUMBER, PRIOR, REPLICATE, Drawable, drawable
from polars_ec.cells.sums import cells_and_priors, overall_prior
from polars_ec.intervals.arguments import Request
from polars_ec.intervals.bootstrap import percentile_limits
from polars_ec.rows.read import join_groups

LossesAt: TypeAlias = Callable[[Cells, Any], pl.DataFrame]
"""What `calibration_loss` gives for cells, at a prior."""

_WITH_LIMITS = ("raw", "calibrated", "cal_loss", "rcl")


# Squares of weights may be more than a float holds: then there are no limits.
@np.errstate(all="ignore")
def with_drawn_limits(
    shown: pl.DataFrame, cells: Cells, losses: LossesAt, prior: Any, request: Request
) -> pl.DataFrame:
    """The losses of each group with their limits, the percentiles of those of rows, or clusters, drawn with replacement.

    Rows keep the fold that they are in, so that no row is on both sides of a fit.
    """
    keys = cells.keys_beside_fold
    source, at = _at_prior(drawable(cells, keys), cells, keys, prior)
    found = {name: np.full((request.replicates, source.groups.height), np.nan) for name in _WITH_LIMITS}
    for drawn in source.replicates(request.replicates, request.seed):
        answer = losses(drawn, at)
        place = answer[REPLICATE].to_numpy(), answer[NUMBER].to_numpy()
        for name, values in found.items():
            values[place] = answer[name].cast(pl.Float64).to_numpy()
    known = source.units.known()
    limits = {}
    for name, values in found.items():
        for end, limit in zip(("low", "high"), percentile_limits(values, request.level), strict=True):
            limits[f"{name}_ci_{end}"] = pl.Series(np.where(known, limit, np.nan), nan_to_null=True)
    of_groups = source.groups.with_columns(**limits)
    joined = join_groups(shown, of_groups, keys) if keys else shown.hstack(of_groups.select(*limits))
    # Of what there is no value there are no limits.
    ends = {
        name: [
            pl.when(pl.col(name).is_finite()).then(f"{name}_ci_{end}").alias(f"{name}_ci_{end}")
            for end in ("low", "high")
        ]
        for name in _WITH_LIMITS
    }
    return joined.select(column for name in shown.columns for column in (pl.col(name), *ends.get(name, ())))


def _at_prior(source: Drawable, cells: Cells, keys: list[str], prior: Any) -> tuple[Drawable, Any]:
    """A prior that is known is that of the log at hand, not of what is drawn from it."""
    if isinstance(prior, str) and prior == "overall":
        prior = overall_prior(cells) or prior
    if isinstance(prior, pl.Expr) or (isinstance(prior, str) and prior == "overall"):
        *_, shares = cells_and_priors(cells, keys, prior)
        assert shares is not None
        return source.at_prior(shares.to_series(1)), pl.col(PRIOR)
    return source, prior
