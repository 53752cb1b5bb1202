"""The grid of a sketch: which bin a score is in, as a Polars expression, and where the bins' edges are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

SketchScoreType: TypeAlias = Literal["posterior", "log_odds", "llr", "raw"]
SKETCH_SCORE_TYPES: tuple[SketchScoreType, ...] = ("posterior", "log_odds", "llr", "raw")

# Bins are equal up to this many nats on either side, and open-ended beyond.
RANGE = 64
# No finite double has a logarithm outside -746..746.
_RAW_RANGE = 746


@dataclass(frozen=True)
class Grid:
    """How scores become cells.

    `resolution` is the number of bins to the nat, None where every distinct score is a cell. `thresholds` ascend, on
    the scale of the score: each is the edge of a cell.
    """

    score_type: SketchScoreType
    resolution: int | None
    thresholds: tuple[float, ...] = ()

    @property
    def cell_columns(self) -> list[str]:
        """The columns of a sketch that say which cell a row is, lowest scores first when sorted."""
        return ["score"] if self.resolution is None else ["bin", "above"]

    @property
    def _stated_resolution(self) -> int:
        if self.resolution is None:
            raise ValueError("an exact sketch has no bins")
        return self.resolution

    def bin(self, score: pl.Expr) -> pl.Expr:
        """Int32 bin of a score that is not wrong."""
        resolution = self._stated_resolution
        if self.score_type == "raw":
            offset = _RAW_RANGE * resolution + 1
            size = (score.abs().log() * resolution).floor() + offset
            finite = pl.when(score > 0).then(size).when(score < 0).then(-size).otherwise(0.0)
            infinite = 2 * _RAW_RANGE * resolution + 2
            inner = pl.when(score.is_infinite()).then(score.sign() * infinite).otherwise(finite)
            return inner.cast(pl.Int32)
        log_odds = score.log() - (1 - score).log() if self.score_type == "posterior" else score
        edge = RANGE * resolution
        inner = (log_odds * resolution).floor().clip(-edge - 1, edge)
        lowest = pl.when(log_odds == -math.inf).then(-edge - 2.0).otherwise(inner)
        return pl.when(log_odds == math.inf).then(edge + 1.0).otherwise(lowest).cast(pl.Int32)

    def above(self, score: pl.Expr) -> pl.Expr:
        """Int16 number of thresholds that the score is above, strictly."""
        total: pl.Expr = pl.lit(0, dtype=pl.Int16)
        for threshold in self.thresholds:
            total = total + (score > threshold).cast(pl.Int16)
        return total

    def is_point(self) -> pl.Expr:
        """Whether all rows of a cell have the same score, so that their order is known: they are ties."""
        if self.resolution is None:
            return pl.lit(value=True)
        if self.score_type == "raw":
            return pl.col("bin").abs().is_in([0, 2 * _RAW_RANGE * self.resolution + 2])
        edge = RANGE * self.resolution
        return pl.col("bin").is_in([-edge - 2, edge + 1])

    def lower_edges(self, bins: NDArray[np.int64], above: NDArray[np.int64]) -> NDArray[np.float64]:
        """A threshold, on the scale of the score, that the scores of a cell are above and those of lower cells are not.

        A bin holds its lower edge itself, so the threshold is the next smaller number; where a declared threshold cuts the
        bin, it is that one. -inf, which no score is below, for the lowest cell of all.
        """
        resolution = self._stated_resolution
        edges = self._raw_edges(bins) if self.score_type == "raw" else self._log_odds_edges(bins, resolution)
        if self.score_type == "posterior":
            edges = _sigmoid(edges)
        edges = np.nextafter(edges, -np.inf)
        declared = np.array([-np.inf, *self.thresholds])[above]
        lowest = -np.inf if self.score_type != "posterior" else np.nextafter(0.0, -1.0)
        return np.maximum(np.maximum(edges, declared), lowest)

    def _log_odds_edges(self, bins: NDArray[np.int64], resolution: int) -> NDArray[np.float64]:
        edge = RANGE * resolution
        edges = bins / resolution
        edges = np.where(bins < -edge, np.nextafter(-np.inf, 0), edges)
        edges = np.where(bins == -edge - 2, -np.inf, edges)
        return np.where(bins == edge + 1, np.inf, edges)

    def _raw_edges(self, bins: NDArray[np.int64]) -> NDArray[np.float64]:
        resolution = self._stated_resolution
        offset = _RAW_RANGE * resolution + 1
        with np.errstate(over="ignore", under="ignore"):
            up = np.exp((bins - offset) / resolution)
            # A negative bin holds its far edge, not the near one: the next bin's edge with the sign turned.
            down = -np.exp((-bins - offset + 1) / resolution)
        edges = np.where(bins > 0, up, np.where(bins < 0, down, 0.0))
        infinite = 2 * _RAW_RANGE * resolution + 2
        return np.where(np.abs(bins) == infinite, np.sign(bins) * np.inf, edges)


def _sigmoid(x: NDArray[np.float64]) -> NDArray[np.float64]:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))
