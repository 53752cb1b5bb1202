"""Where NEC has a kink, beside which an interval of a smooth metric fails: where two constant decisions are the cheapest."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.intervals.spread import Spread

Floats: TypeAlias = NDArray[np.float64]


def is_beside_kink(costs: Floats, decided: Floats, spread_of: Callable[[Floats], Spread]) -> NDArray[np.bool_]:
    """(groups,): whether the two cheapest constant decisions differ by less than two standard errors of that difference.

    `costs` are of classes and decisions; `spread_of` is that of a metric with a gradient of the shape of `decided`.
    """
    with np.errstate(all="ignore"):
        of_class = decided.sum(axis=-1)
        whole = of_class.sum(axis=-1, keepdims=True)
        constant = of_class @ costs / whole
        order = np.argsort(constant, axis=-1, kind="stable")[:, :2]
        of_each = np.take_along_axis(constant, order, axis=-1)
        difference = of_each[:, 1] - of_each[:, 0]
        by_class = costs[:, order[:, 1]].T - costs[:, order[:, 0]].T
        slopes = (by_class - difference[:, None]) / whole
        spread = spread_of(np.broadcast_to(slopes[:, :, None], decided.shape))
        return np.asarray(difference < 2 * spread.standard_error)
