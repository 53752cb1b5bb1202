"""How a metric moves with the sums that it is made of: from its formula itself, by sums that are a little larger and smaller."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]

# Of a sum, at either side once and twice: what the stencil leaves out is of the order of its fourth power. So small that it does not
# reach over the kink of NEC where a hundred million rows tell that this is near.
_STEP = 1e-4
STENCIL = ((1, 2 / 3), (-1, -2 / 3), (2, -1 / 12), (-2, 1 / 12))


def gradient(value: Callable[[Floats], Floats], sums: Floats) -> Floats:
    """The derivatives of metrics with respect to each sum, (groups, sums, metrics); 0 for a sum of 0, which no row has made.

    `sums` is (groups, sums); `value` takes several tables like it, (variants, groups, sums), and gives (variants, groups, metrics).
    """
    n_groups, n_sums = sums.shape
    steps = sums * _STEP
    moved = np.broadcast_to(sums, (n_sums, len(STENCIL), n_groups, n_sums)).copy()
    for s in range(n_sums):
        for v, (times, _) in enumerate(STENCIL):
            moved[s, v, :, s] += times * steps[:, s]
    values = value(moved.reshape(n_sums * len(STENCIL), n_groups, n_sums))
    values = values.reshape(n_sums, len(STENCIL), n_groups, values.shape[-1])
    weights = np.array([weight for _, weight in STENCIL])
    with np.errstate(all="ignore"):
        slopes = np.einsum("svgm,v->gsm", values, weights) / steps[:, :, None]
    return np.where(steps[:, :, None] == 0, 0.0, slopes)
