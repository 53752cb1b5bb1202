"""The grid of a sketch: which bin a score is in, as a Polars expression, and where the bins' edges are."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from polars_ec._scores import sigmoid

SketchScoreType: TypeAlias = Literal["posterior", "log_odds", "llr", "raw"]
SKETCH_SCORE_TYPES: tuple[SketchScoreType, ...] = ("posterior", "log_odds", "llr", "raw")

# Bins are equal up to this many nats on either side, and open-ended beyond.
RANGE = 64
# No finite double has a logarithm outside -746..746.
_RAW_RANGE = 746
_LARGEST = 1.7976931348623157e308
_ULP = 2.0**-52
_TINY = 5e-324


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
    def infinite_bins(self) -> tuple[int, int]:
        """The bins of the scores whose log-odds are -inf and inf."""
        edge = RANGE * self._stated_resolution
        return -edge - 2, edge + 1

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
            finite = pl.when(score > 0).then(size).when(score < 0).then(-size).when(score == 0).then(0.0)
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
        total: pl.Expr = pl.when(score.is_not_null()).then(pl.lit(0, dtype=pl.Int16))
        for threshold in self.thresholds:
            total += (score > threshold).cast(pl.Int16)
        return total

    def is_point(self) -> pl.Expr:
        """Whether all rows of a cell have the same score, so that their order is known: they are ties."""
        if self.resolution is None:
            return pl.lit(value=True)
        if self.score_type == "raw":
            return pl.col("bin").abs().is_in([0, 2 * _RAW_RANGE * self.resolution + 2])
        return pl.col("bin").is_in(self.infinite_bins)

    def lower_edge(self) -> pl.Expr:
        """A threshold that the scores of a cell are above and those of lower cells are not, on the scale of the score.

        A bin holds its lower edge, so the threshold is a little below; where a declared threshold cuts the bin, it is that
        one; -inf for the lowest bin.
        """
        resolution = self._stated_resolution
        bins = pl.col("bin").cast(pl.Float64)
        edge = self._raw_edge(bins, resolution) if self.score_type == "raw" else self._log_odds_edge(bins, resolution)
        if self.score_type == "posterior":
            edge = sigmoid(edge)
        below = edge - edge.abs() * _ULP - _TINY
        if self.score_type == "posterior":
            # Below 1 and at 0 there are the neighbours of the bins that hold nothing but 1 and 0.
            zero, one = self.infinite_bins
            below = pl.when(bins == zero + 1).then(0.0).when(bins == one).then(1 - _ULP / 2).otherwise(below)
        declared = pl.col("above").replace_strict(
            range(len(self.thresholds) + 1), [-math.inf, *self.thresholds], return_dtype=pl.Float64
        )
        return pl.max_horizontal(below, declared)

    def _log_odds_edge(self, bins: pl.Expr, resolution: int) -> pl.Expr:
        lowest, highest = self.infinite_bins
        edge = pl.when(bins == highest).then(_LARGEST).otherwise(bins / resolution)
        return pl.when(bins == lowest + 1).then(-_LARGEST).when(bins == lowest).then(-math.inf).otherwise(edge)

    @staticmethod
    def _raw_edge(bins: pl.Expr, resolution: int) -> pl.Expr:
        offset = _RAW_RANGE * resolution + 1
        infinite = 2 * _RAW_RANGE * resolution + 2
        up = ((bins - offset) / resolution).exp()
        # A negative bin holds its far edge.
        down = -((-bins - offset + 1) / resolution).exp()
        edge = pl.when(bins > 0).then(up).when(bins < 0).then(down).otherwise(0.0)
        return pl.when(bins == infinite).then(_LARGEST).when(bins == -infinite).then(-math.inf).otherwise(edge)
