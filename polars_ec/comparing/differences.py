"""Differences of metrics, with their limits and p-values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.limits import limits
from polars_ec.intervals.quantiles import two_sided_p
from polars_ec.intervals.spread import Spread

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]

# Of the values: what rounding makes of nothing.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Differences:
    """One metric of each group and of what it is compared with; NaN for null.

    `reference` is the number of the group that is compared with, where it is one; -1 for none.
    """

    value: Floats
    value_reference: Floats
    low: Floats
    high: Floats
    p: Floats
    reference: Integers | None = None
    p_adjusted: Floats | None = None

    @property
    def difference(self) -> Floats:
        """Value minus reference."""
        with np.errstate(all="ignore"):
            return np.asarray(self.value - self.value_reference, dtype=np.float64)


def differences(value: Floats, reference: Floats, spread: Spread, level: float, same: bool = False) -> Differences:
    """With limits and p-values from the spread of the differences.

    A spread of 0 says nothing of other rows, unless it is of the `same` model twice, which differs by 0 in all.
    """
    with np.errstate(all="ignore"):
        gap = value - reference
        size = np.fmax(np.abs(value), np.abs(reference))
        none = spread.variance <= (_NOTHING * size) ** 2
        nothing = none & (np.abs(gap) <= _NOTHING * size) & same
        spread = spread.only(np.isfinite(gap) & (~none | nothing))
        low, high = limits(gap, spread, "identity", level)
        p = two_sided_p(gap / spread.standard_error, np.fmax(spread.df, 1))
    low, high, p = np.where(nothing, gap, low), np.where(nothing, gap, high), np.where(nothing, 1.0, p)
    return Differences(value, reference, low, high, np.where(np.isnan(low), np.nan, p))


def adjusted(p: Floats) -> Floats:
    """P-values adjusted for how many there are: the share of false discoveries among those that are as small (Benjamini and Hochberg)."""
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    times = len(order) / np.arange(1, len(order) + 1)
    made = np.full_like(p, np.nan)
    made[order] = np.minimum(np.minimum.accumulate((p[order] * times)[::-1])[::-1], 1.0)
    return made
