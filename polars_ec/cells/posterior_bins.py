"""Logarithms of posteriors and the bins that follow from them, by NumPy: its logarithm takes a ninth of the engine's time.

It may be off by one unit in the last place. That is nothing to a loss, but next to an edge it is another bin. So there the engine's
logarithm decides, which is that of every SQL engine.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import polars as pl

from polars_ec.cells.grid import Grid

Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

# Rows that stay in the processor's cache from one step to the next.
_ROWS = 2**15
# Two logarithms that are off by a unit each, of numbers up to 64, are well within, in nats.
_NEAR = 1e-12


class PosteriorBins:
    """Logarithms and bins of posteriors, some at a time: what it gives holds until it is asked again."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._resolution = float(grid.resolution or 0)
        # The same memory for each batch: new memory takes longer to get than to fill.
        self._logs: Floats = np.empty((2, 0))
        self._bins: np.ndarray[Any, np.dtype[np.int32]] = np.empty(0, dtype=np.int32)
        self._work: Floats = np.empty((2, _ROWS))

    def of(self, posterior: pl.Series) -> tuple[pl.Series, pl.Series, pl.Series]:
        """`grid.logs` of posteriors without nulls, and their `grid.bin`."""
        q = posterior.to_numpy()
        if len(q) > len(self._bins):
            self._logs, self._bins = np.empty((2, len(q))), np.empty(len(q), dtype=np.int32)
        with np.errstate(divide="ignore", invalid="ignore"):  # logarithms of 0, and what is infinite less itself
            for start in range(0, len(q), _ROWS):
                end = min(start + _ROWS, len(q))
                self._fill(q[start:end], self._logs[:, start:end], self._bins[start:end])
        log_0, log_1 = self._logs[:, : len(q)]
        return pl.Series(log_0), pl.Series(log_1), pl.Series(self._bins[: len(q)])

    def _fill(self, q: Floats, logs: Floats, bins: np.ndarray[Any, np.dtype[np.int32]]) -> None:
        log_0, log_1 = logs
        steps, work = self._work[:, : len(q)]
        np.log(np.subtract(1, q, out=log_0), out=log_0)
        np.log(q, out=log_1)
        np.multiply(np.subtract(log_1, log_0, out=steps), self._resolution, out=steps)
        to_edge = np.abs(np.subtract(steps, np.rint(steps, out=work), out=work), out=work)
        # fmin, because infinite steps are NaN away.
        if np.fmin.reduce(to_edge) < self._resolution * _NEAR:
            near = to_edge < self._resolution * _NEAR
            log_0[near], log_1[near] = _by_the_engine(q[near], self._grid)
            steps[near] = (log_1[near] - log_0[near]) * self._resolution
        lowest, highest = self._grid.infinite_bins
        bins[:] = np.clip(np.floor(steps, out=work), lowest + 1, highest - 1, out=work)
        if not -np.inf < steps.min() <= steps.max() < np.inf:
            bins[steps == -np.inf] = lowest
            bins[steps == np.inf] = highest


def _by_the_engine(q: Floats, grid: Grid) -> list[Floats]:
    return [
        log.to_numpy() for log in pl.select(log.alias(str(i)) for i, log in enumerate(grid.logs(pl.lit(pl.Series(q)))))
    ]
