"""Which groups are worse than treating all cases alike, beyond noise, however many groups are looked at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.moments import Floats, floats
from polars_ec.intervals.quantiles import t_quantile
from polars_ec.rows.read import join_groups

Mask: TypeAlias = NDArray[np.bool_]
Lows: TypeAlias = Callable[[float], Floats]
"""The lower limit of each group at any level."""

# Of a group that has ten rows of a class; what has more is found a little less often than its rows would tell.
_FEWEST_DEGREES = 9.0


def above(value: float, lows: Lows, eligible: Mask, kinked: Mask, level: float) -> list[int]:
    """The rows of groups that are above a value beyond noise: of those that are named at most a share of 1 - level is not in truth.

    Of m groups those are named that are above it by limits of the level 1 - (1 - level) k / m, for the largest k for which there are k.
    Beside the kink of NEC the cheaper of two constant decisions is chosen by the same rows: each of them has half of what may be wrong.

    References
    ----------
    Benjamini and Hochberg, "Controlling the false discovery rate", 1995.
    """
    number = n_groups = int(eligible.sum())
    while number:
        wrong = (1 - level) * number / n_groups
        low = lows(1 - wrong)
        if (eligible & kinked).any():
            low = np.where(kinked, lows(1 - wrong / 2), low)
        found = np.flatnonzero(eligible & (low > value))
        if len(found) >= number:
            return [int(row) for row in found]
        number = len(found)
    return []


def costly_groups(groups: pl.DataFrame, lows: Lows, level: float) -> list[int]:
    """The rows of groups whose NEC is above 1 beyond noise; small groups are not looked at."""
    if "nec_ci_low" not in groups.columns:
        return []
    return above(1.0, lows, eligible(groups, "nec"), kinked(groups), level)


def eligible(table: pl.DataFrame, metric: str) -> Mask:
    """The rows that are not small and have limits."""
    small = table["small"].fill_null(value=True) if "small" in table.columns else pl.Series([False] * table.height)
    return (table[f"{metric}_ci_low"].is_not_null() & ~small).to_numpy()


def kinked(table: pl.DataFrame) -> Mask:
    """The rows whose limits of NEC may be too close."""
    if "nec_kinked" not in table.columns:
        return np.zeros(table.height, dtype=bool)
    return table["nec_kinked"].fill_null(value=False).to_numpy()


def with_kinks(changes: pl.DataFrame, ends: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Changes of groups, with whether one of the two periods of each is beside the kink of NEC; `ends` has a row for either."""
    if not keys:
        return changes.with_columns(nec_kinked=pl.lit(bool(ends["nec_kinked"].any())))
    of_groups = ends.group_by(keys).agg(pl.col("nec_kinked").any())
    return changes.with_columns(join_groups(changes.select(keys), of_groups, keys)["nec_kinked"])


def lows_of_loss(table: pl.DataFrame, metric: str, level: float) -> Lows:
    """Those that follow from the limits of a table, which are of t around the logarithm: of as few degrees of freedom as may be.

    So limits of a higher level are further apart than those that the rows would tell.
    """
    value, low = floats(table[metric]), floats(table[f"{metric}_ci_low"])

    def lows(other: float) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(value * (low / value) ** _wider(level, other))

    return lows


def lows_around(value: Floats, low: Floats, level: float) -> Lows:
    """The same of limits that are of t around the value itself."""
    return lambda other: np.asarray(value - (value - low) * _wider(level, other))


def _wider(level: float, other: float) -> float:
    """How many times as wide limits of another level are."""
    # The small tail, which has the digits.
    ends = t_quantile(np.array([(1 - other) / 2, (1 - level) / 2]), _FEWEST_DEGREES)
    return float(ends[0] / ends[1])
