"""Multinomial logistic regression with one slope, for many fits at once: Newton's method on sums over batches of rows.

The posteriors of a fit are softmax(alpha l + beta) of the rows' log posteriors l. A pass over the rows gives the loss, its
gradient and its Hessian of every fit that is not done, so that memory does not grow with the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from polars_ec.calibration.arrays import Booleans, Floats, Integers
from polars_ec.calibration.logistic_newton import ARMIJO, CLOSE_ENOUGH, CONVERGED, ROUNDING

_MAX_PASSES = 60
_BLOCK = 16384
# A loss this small, in nats a row, is of rows that a threshold parts: it falls for ever.
_SEPARABLE = 1e-7
# Derivatives are differences from 1: where losses are smaller than this, rounding leaves them too few digits to end at.
_LEAST_UNIT = 1e-6


@dataclass(frozen=True)
class Batch:
    """Rows: the fit of each, log posteriors (n x K, finite or -inf), true class, and weight."""

    fit: Integers
    log_posteriors: Floats
    label: Integers
    weight: Floats

    def blocks(self) -> Iterator[Batch]:
        """The same rows, a few at a time and then sorted by fit: a dozen arrays of a block stay in the cache."""
        for start in range(0, len(self.fit), _BLOCK):
            order = start + np.argsort(self.fit[start : start + _BLOCK], kind="stable")
            yield Batch(self.fit[order], self.log_posteriors[order], self.label[order], self.weight[order])


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


def fit_softmax(
    rows: Rows, chosen: Booleans, n_classes: int, *, with_shift: bool, unit: Floats, start: Fits | None = None
) -> Fits:
    """Least mean cross-entropy of each chosen fit, whose weights sum to 1; without `with_shift`, beta is 0.

    Losses are of size `unit`. Fits that converged in `start` go on from there, the others from the posteriors as they are.
    """
    n_fits = len(chosen)
    place = np.zeros((n_fits, 1 + n_classes))
    place[:, 0] = 1.0
    if start is not None:
        near = start.converged
        place[near] = np.column_stack([start.alpha, start.beta])[near]
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
        enough = new_loss <= loss - ARMIJO * length * gain + ROUNDING * (1 + np.abs(loss))
        better = active & (enough if turn else np.isfinite(new_loss))
        length = np.where(better, 1.0, length / 2)
        place[better], loss[better], gradient[better] = tried[better], new_loss[better], new_gradient[better]
        n_iterations[better] += turn > 0
        # The direction in which all betas move alike changes nothing, and the pseudoinverse does not go there.
        newton = -np.linalg.pinv(hessian[better], hermitian=True) @ gradient[better][:, :, None]
        step[better] = newton[:, :, 0]
        gain[better] = -(step[better] * gradient[better]).sum(axis=1)
        active = active & ~(gain <= CONVERGED * unit) & ~(loss <= _SEPARABLE * unit) & (length > ROUNDING)
    alpha, beta = place[:, 0], place[:, 1:]
    gradient_norm = np.abs(gradient).max(axis=1)
    separable = chosen & (loss <= _SEPARABLE * unit)
    converged = (
        chosen & (gain <= CLOSE_ENOUGH * unit) & (unit >= _LEAST_UNIT) & ~separable & np.isfinite(place).all(axis=1)
    )
    return Fits(alpha, beta - beta.mean(axis=1, keepdims=True), n_iterations, gradient_norm, converged, separable)


def _sums(rows: Rows, active: Booleans, place: Floats, with_shift: bool) -> tuple[Floats, Floats, Floats]:
    """Loss, gradient and Hessian of the active fits, at a place (alpha, beta_0, .., beta_K-1) each."""
    n_fits, size = place.shape
    loss, gradient, hessian = np.zeros(n_fits), np.zeros((n_fits, size)), np.zeros((n_fits, size, size))
    for batch in rows(active):
        for block in batch.blocks():
            _add(block, place, loss, gradient, hessian)
    hessian[:, 1:, 0] = hessian[:, 0, 1:]
    if not with_shift:
        gradient[:, 1:], hessian[:, 1:], hessian[:, :, 1:] = 0.0, 0.0, 0.0
    return loss, gradient, hessian


def _add(block: Batch, place: Floats, loss: Floats, gradient: Floats, hessian: Floats) -> None:
    """The sums of rows that are sorted by fit."""
    fit, label, weight = block.fit, block.label, block.weight
    n, betas = np.arange(len(fit)), range(1, place.shape[1])
    possible = block.log_posteriors > -np.inf
    logs = np.where(possible, block.log_posteriors, 0.0)
    z = np.where(possible, place[fit, :1] * logs + place[fit, 1:], -np.inf)
    top = z.max(axis=1, keepdims=True)
    q = np.exp(z - top)
    total = q.sum(axis=1, keepdims=True)
    losses = (top + np.log(total))[:, 0] - z[n, label]
    q /= total
    # The scores' derivatives by the parameters are the log posterior and a unit vector; of these q makes means.
    leaning = q * logs
    means = np.column_stack([leaning.sum(axis=1), q])
    error = means.copy()
    error[:, 0] -= logs[n, label]
    error[n, 1 + label] -= 1.0
    weighted = means * weight[:, None]
    starts = np.flatnonzero(np.diff(fit, prepend=-1))
    fits = fit[starts]

    def add_up(values: Floats) -> Floats:
        sums: Floats = np.add.reduceat(values, starts, axis=0)
        return sums

    loss[fits] += add_up(losses * weight)
    gradient[fits] += add_up(error * weight[:, None])
    leaning *= weight[:, None]
    hessian[fits, 0, 0] += add_up((leaning * logs).sum(axis=1))
    hessian[fits, 0, 1:] += add_up(leaning)
    hessian[fits[:, None], betas, betas] += add_up(weighted[:, 1:])
    for one, start, end in zip(fits.tolist(), starts.tolist(), [*starts[1:].tolist(), len(fit)], strict=True):
        hessian[one] -= weighted[start:end].T @ means[start:end]
