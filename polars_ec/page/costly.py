"""Which groups cost more than doing nothing, beyond noise, however many groups are looked at."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.intervals.quantiles import t_quantile

Floats: TypeAlias = NDArray[np.float64]
Lows: TypeAlias = Callable[[float], pl.Series]
"""The lower limit of each group's NEC at any level."""

# Of a group that has ten rows of a class; what has more is told from 1 a little more often than this lets it.
_FEWEST_DEGREES = 9.0


def costly_groups(groups: pl.DataFrame, lows: Lows, level: float) -> list[int]:
    """The rows of groups whose NEC is above 1, of which at most a share of 1 - level is not in truth (Benjamini and Hochberg).

    Of m groups those are named that are above 1 by limits of the level 1 - (1 - level) k / m, for the largest k for which there are k.
    Small groups are not looked at. Beside the kink of NEC the cheaper of two constant decisions is chosen by the same rows: each of them
    has half of what may be wrong then.

    References
    ----------
    Benjamini and Hochberg, "Controlling the false discovery rate", 1995.
    """
    if "nec_ci_low" not in groups.columns:
        return []
    eligible = (groups["nec_ci_low"].is_not_null() & ~groups["small"].fill_null(value=True)).to_numpy()
    kinked = eligible & is_kinked(groups)
    number = n_groups = int(eligible.sum())
    while number:
        wrong = (1 - level) * number / n_groups
        low = _floats(lows(1 - wrong))
        if kinked.any():
            low = np.where(kinked, _floats(lows(1 - wrong / 2)), low)
        above = eligible & (low > 1)
        if above.sum() >= number:
            return [int(row) for row in np.flatnonzero(above)]
        number = int(above.sum())
    return []


def is_kinked(groups: pl.DataFrame) -> NDArray[np.bool_]:
    """Whether limits of NEC may be too close."""
    if "nec_kinked" not in groups.columns:
        return np.zeros(groups.height, dtype=bool)
    return groups["nec_kinked"].fill_null(value=False).to_numpy()


def lows_of(groups: pl.DataFrame, level: float) -> Lows:
    """Those that follow from the limits of a table, which are of t around the logarithm of NEC: of as few degrees of freedom as may be.

    So limits of a higher level are further apart than those that the rows would tell.
    """
    value, low = _floats(groups["nec"]), _floats(groups["nec_ci_low"])

    def lows(other: float) -> pl.Series:
        # The small tail, which has the digits.
        beyond = [(1 - at) / 2 for at in (other, level)]
        wider = np.divide(*(t_quantile(p, _FEWEST_DEGREES) for p in beyond))
        with np.errstate(all="ignore"):
            return pl.Series(value * (low / value) ** wider, nan_to_null=True)

    return lows


def _floats(column: pl.Series) -> Floats:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
