"""Multinomial logistic regression with one slope, for many fits at once: Newton's method on sums over batches of rows.

The posteriors of a fit are softmax(alpha l + beta) of the rows' log posteriors l. A pass over the rows gives the loss, its
gradient and its Hessian of every fit that is not done, so that memory does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Integers = NDArray[np.int64]
    Booleans = NDArray[np.bool_]

# Half the squared Newton decrement is what a step can still gain, in nats a row.
_CONVERGED = 1e-20
_CLOSE_ENOUGH = 1e-12
_MAX_PASSES = 60
# A step must gain this share of what its slope promises, up to what rounding hides.
_ARMIJO = 1e-4
_ROUNDING = 1e-14
# A loss this small, in nats a row, is of rows that a threshold parts: it falls for ever.
_SEPARABLE = 1e-7


@dataclass(frozen=True)
class Batch:
    """Rows: the fit of each, log posteriors (n x K, finite or -inf), true class, and weight."""

    fit: Integers
    log_posteriors: Floats
    label: Integers
    weight: Floats


@dataclass(frozen=True)
class Fits:
    """One fit each; beta has mean 0."""

    alpha: Floats
    beta: Floats
    n_iterations: Integers
    gradient_norm: Floats
    converged: Booleans
    separable: Booleans


Rows = Callable[["Booleans"], Iterable[Batch]]
"""A pass over the rows of the fits that are marked."""


def fit_softmax(rows: Rows, chosen: Booleans, n_classes: int, *, with_shift: bool) -> Fits:
    """Least mean cross-entropy of each chosen fit, whose weights sum to 1; without `with_shift`, beta is 0."""
    n_fits = len(chosen)
    place = np.zeros((n_fits, 1 + n_classes))
    place[:, 0] = 1.0
    step = np.zeros_like(place)
    loss = np.full(n_fits, np.nan)
    gradient = np.full_like(place, np.nan)
    gain = np.full(n_fits, np.nan)
    length = np.ones(n_fits)
    n_iterations = np.zeros(n_fits, dtype=np.int64)
    active = chosen.copy()
    for turn in range(_MAX_PASSES):
        if not active.any():
            break
        tried = place + length[:, None] * step
        new_loss, new_gradient, hessian = _sums(rows, active, tried, with_shift)
        enough = new_loss <= loss - _ARMIJO * length * gain + _ROUNDING * (1 + np.abs(loss))
        better = active & (enough if turn else np.isfinite(new_loss))
        length = np.where(better, 1.0, length / 2)
        place[better], loss[better], gradient[better] = tried[better], new_loss[better], new_gradient[better]
        n_iterations[better] += turn > 0
        # The direction in which all betas move alike changes nothing, and the pseudoinverse does not go there.
        newton = -np.linalg.pinv(hessian[better], hermitian=True) @ gradient[better][:, :, None]
        step[better] = newton[:, :, 0]
        gain[better] = -(step[better] * gradient[better]).sum(axis=1)
        active = active & ~(gain <= _CONVERGED) & ~(loss <= _SEPARABLE) & (length > _ROUNDING)
    alpha, beta = place[:, 0], place[:, 1:]
    gradient_norm = np.abs(gradient).max(axis=1)
    separable = chosen & (loss <= _SEPARABLE)
    converged = chosen & (gain <= _CLOSE_ENOUGH) & ~separable & np.isfinite(place).all(axis=1)
    return Fits(alpha, beta - beta.mean(axis=1, keepdims=True), n_iterations, gradient_norm, converged, separable)


def _sums(rows: Rows, active: Booleans, place: Floats, with_shift: bool) -> tuple[Floats, Floats, Floats]:
    """Loss, gradient and Hessian of the active fits, at a place (alpha, beta_0, .., beta_K-1) each."""
    n_fits, size = place.shape
    loss, gradient, hessian = np.zeros(n_fits), np.zeros((n_fits, size)), np.zeros((n_fits, size, size))
    for batch in rows(active):
        order = np.argsort(batch.fit, kind="stable")
        fit = batch.fit[order]
        starts = np.flatnonzero(np.diff(fit, prepend=-1))
        logs, label, weight = batch.log_posteriors[order], batch.label[order], batch.weight[order]
        n = np.arange(len(fit))
        possible = logs > -np.inf
        finite = np.where(possible, logs, 0.0)
        z = np.where(possible, place[fit, :1] * finite + place[fit, 1:], -np.inf)
        top = z.max(axis=1, keepdims=True)
        q = np.exp(z - top)
        total = q.sum(axis=1, keepdims=True)
        losses = (top + np.log(total))[:, 0] - z[n, label]
        q /= total
        # The scores' derivatives by the parameters are l and the unit vectors: one column each, of which q makes means.
        mean = (q * finite).sum(axis=1)
        error = q.copy()
        error[n, label] -= 1.0
        by_slope = mean - finite[n, label]
        slope_slope = (q * (finite - mean[:, None]) ** 2).sum(axis=1)
        found = starts, weight
        fits = fit[starts]
        loss[fits] += _add_up(losses, *found)
        gradient[fits, 0] += _add_up(by_slope, *found)
        hessian[fits, 0, 0] += _add_up(slope_slope, *found)
        if not with_shift:
            continue
        gradient[fits, 1:] += _add_up(error, *found)
        hessian[fits, 0, 1:] += _add_up(q * (finite - mean[:, None]), *found)
        for k in range(size - 1):
            hessian[fits, 1 + k, 1:] -= _add_up(q[:, k : k + 1] * q, *found)
        hessian[fits[:, None], range(1, size), range(1, size)] += _add_up(q, *found)
    hessian[:, 1:, 0] = hessian[:, 0, 1:]
    return loss, gradient, hessian


def _add_up(values: Floats, starts: Integers, weight: Floats) -> Floats:
    """Weighted sums over runs of rows."""
    weighted: Floats = values * (weight if values.ndim == 1 else weight[:, None])
    sums: Floats = np.add.reduceat(weighted, starts, axis=0)
    return sums
