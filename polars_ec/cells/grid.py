"""The grid of a sketch: which bin a score is in, as a Polars expression, where the bins' edges are, and the columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from polars_ec.arguments import parse_number
from polars_ec.class_names import UNKNOWN, ClassNames
from polars_ec.rows.scores import sigmoid

SketchScoreType: TypeAlias = Literal["posterior", "log_odds", "llr", "raw"]
SKETCH_SCORE_TYPES: tuple[SketchScoreType, ...] = get_args(SketchScoreType)
SUMS = ("log_loss", "brier", "posterior")
"""Sums over rows of weight times the row's value, which a sketch of bins has beside its cells."""
WEIGHTS = ("weight", "weight2")
"""Sums of the weights of the rows of a cell and of their squares, where rows have weights."""
AMOUNTS = ("n", *WEIGHTS, *SUMS)
"""What adds up where rows are taken together; the other columns say which rows."""
RESERVED = frozenset({"table", *AMOUNTS})
"""Names that no group column of a sketch has, beside those of the grid: columns of its file, and of its sums."""
EXACT = "score_value"
"""The column of an exact sketch that says which score a cell is of; `score` says which model."""
BUCKET = "bucket"
"""The column of coarse cells that says in which bucket the cluster of the rows is; null for rows without one."""

# Bins are equal up to this many nats on either side, and open-ended beyond.
RANGE = 64
# No finite double has a logarithm outside -746..746.
RAW_RANGE = 746
_FINEST = 4096
_COARSE = 8
_LARGEST = 1.7976931348623157e308
_ULP = 2.0**-52
_TINY = 5e-324
# Two ways to compute one threshold differ by no more units in the last place: of the posterior, or of log-odds near 1.
_SAME_ULPS = 8


def posterior_edges(number: int, score_type: SketchScoreType) -> tuple[float, ...]:
    """The inner edges k / number of equally wide bins of the posterior, on the scale of the score: the one way to compute them."""
    if score_type == "posterior":
        return tuple(k / number for k in range(1, number))
    return tuple(math.log(k / (number - k)) for k in range(1, number))


def is_same_threshold(one: float, other: float, score_type: SketchScoreType) -> bool:
    """Whether two thresholds are one, computed in two ways.

    Near 0 log-odds are differences of logarithms, whose rounding is that of numbers near 1.
    """
    if one == other or not (math.isfinite(one) and math.isfinite(other)):
        return one == other
    size = max(abs(one), abs(other))
    if score_type not in ("posterior", "raw"):
        size = max(size, 1.0)
    return abs(one - other) <= _SAME_ULPS * _ULP * size


def checked_score_type(score_type: Any) -> SketchScoreType:
    """The score type, if it can be sketched."""
    for known in SKETCH_SCORE_TYPES:
        if score_type == known:
            return known
    raise ValueError(f"score_type={score_type!r} cannot be sketched: pass one of {', '.join(SKETCH_SCORE_TYPES)}")


def checked_resolution(resolution: Any) -> int:
    """The number of bins per nat, if it is one."""
    if isinstance(resolution, bool) or not hasattr(resolution, "__index__") or not 1 <= resolution <= _FINEST:
        raise ValueError(f"resolution={resolution!r} is not a whole number of bins per nat from 1 to {_FINEST}")
    return int(resolution)


def sorted_thresholds(thresholds: Iterable[Any]) -> tuple[float, ...]:
    """In ascending order, each once; 0 stands for -0 too."""
    if isinstance(thresholds, str) or not hasattr(thresholds, "__iter__"):
        raise ValueError(f"thresholds={thresholds!r} is not a sequence of numbers: pass [{thresholds!r}]")
    return tuple(sorted({parse_number(threshold, "thresholds") + 0.0 for threshold in thresholds}))


@dataclass(frozen=True)
class Grid:
    """How scores become cells.

    `resolution` is the number of bins per nat, None where every distinct score is a cell. `thresholds` ascend, on
    the scale of the score: each is the edge of a cell. `classes` are what the two classes are called in the log.
    """

    score_type: SketchScoreType
    resolution: int | None
    thresholds: tuple[float, ...] = ()
    classes: ClassNames = field(default=UNKNOWN, compare=False)

    @property
    def cell_columns(self) -> list[str]:
        """The columns of a sketch that say which cell a row is, lowest scores first when sorted."""
        return [EXACT] if self.resolution is None else ["bin", "above"]

    def declared(self, computed: float) -> float:
        """The declared threshold that a computed one (an edge of bins, a Bayes threshold) is; itself where none is.

        Where every distinct score is a cell any threshold is as good as a declared one.
        """
        if self.resolution is None:
            return computed
        near = [t for t in self.thresholds if is_same_threshold(t, computed, self.score_type)]
        return min(near, key=lambda t: abs(t - computed), default=computed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the cells beside the group columns; `WEIGHTS` only where rows have weights."""
        return ("class", *self.cell_columns, "n", *WEIGHTS)

    @property
    def coarse(self) -> Grid:
        """The grid of the cells that are counted by bucket: fine enough for a variance."""
        return replace(self, resolution=min(_COARSE, self.resolution or _COARSE))

    @property
    def has_sums(self) -> bool:
        """Whether sums are kept beside the cells: where no loss of a row follows from its cell, and there are losses."""
        return self.resolution is not None and self.score_type != "raw"

    @property
    def infinite_bins(self) -> tuple[int, int]:
        """The bins of the scores -inf and inf, in log-odds or as they are: the outermost ones."""
        if self.score_type == "raw":
            outermost = 2 * RAW_RANGE * self._stated_resolution + 2
            return -outermost, outermost
        edge = RANGE * self._stated_resolution
        return -edge - 2, edge + 1

    @property
    def _stated_resolution(self) -> int:
        if self.resolution is None:
            raise ValueError("an exact sketch has no bins")
        return self.resolution

    def logs(self, score: pl.Expr) -> list[pl.Expr]:
        """Logarithms of the posteriors of class 0 and 1 that positions and losses are made of, where scores are posteriors."""
        # Those that every SQL engine has, so that all of them count alike.
        return [(1 - score).log(), score.log()] if self.score_type == "posterior" else []

    def position(self, score: pl.Expr) -> pl.Expr:
        """Where a score is on the axis that bins are equal on: log-odds, or the logarithm of the size of a raw score."""
        if self.score_type == "raw":
            return score.abs().log()
        if self.score_type == "posterior":
            log_0, log_1 = self.logs(score)
            return log_1 - log_0
        return score

    def bin(self, score: pl.Expr, position: pl.Expr) -> pl.Expr:
        """Int32 bin of a score that is not wrong, by its position."""
        resolution = self._stated_resolution
        lowest, highest = self.infinite_bins
        steps = (position * resolution).floor()
        if self.score_type == "raw":
            size = steps + (RAW_RANGE * resolution + 1)
            finite = pl.when(score > 0).then(size).when(score < 0).then(-size).when(score == 0).then(0.0)
            return pl.when(score.is_infinite()).then(score.sign() * highest).otherwise(finite).cast(pl.Int32)
        inner = pl.when(position == -math.inf).then(float(lowest)).otherwise(steps.clip(lowest + 1, highest - 1))
        return pl.when(position == math.inf).then(float(highest)).otherwise(inner).cast(pl.Int32)

    @property
    def is_cut_by_coarse(self) -> bool:
        """Whether an edge of the coarse grid may lie inside of a bin, so that its bins do not follow from these."""
        return self.resolution is None or self.resolution % self.coarse._stated_resolution != 0

    def coarse_bin(self, bin_: pl.Expr) -> pl.Expr:
        """The bin of the coarse grid that a bin lies in."""
        resolution, coarse = self._stated_resolution, self.coarse
        if self.score_type == "raw":
            inner = (bin_.abs() - 1) // (resolution // coarse._stated_resolution) + 1
            inner = pl.when(bin_ > 0).then(inner).when(bin_ < 0).then(-inner).otherwise(0)
        else:
            inner = bin_ // (resolution // coarse._stated_resolution)
        (lowest, highest), (low, high) = self.infinite_bins, coarse.infinite_bins
        return pl.when(bin_ == lowest).then(low).when(bin_ == highest).then(high).otherwise(inner)

    def is_point(self) -> pl.Expr:
        """Whether all rows of a cell have the same score, so that their order is known: they are ties."""
        if self.resolution is None:
            return pl.lit(value=True)
        if self.score_type == "raw":
            return pl.col("bin").is_in([0, *self.infinite_bins])
        return pl.col("bin").is_in(self.infinite_bins)

    def bin_edges(self) -> tuple[pl.Expr, pl.Expr]:
        """Where the bin of a cell begins and ends, in log-odds; infinite for the outermost ones."""
        resolution = self._stated_resolution
        bins = pl.col("bin").cast(pl.Float64)
        lowest, highest = self.infinite_bins
        below = pl.when(bins <= lowest + 1).then(-math.inf).when(bins == highest).then(math.inf)
        above = pl.when(bins >= highest - 1).then(math.inf).when(bins == lowest).then(-math.inf)
        return below.otherwise(bins / resolution), above.otherwise((bins + 1) / resolution)

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

    def _raw_edge(self, bins: pl.Expr, resolution: int) -> pl.Expr:
        offset = RAW_RANGE * resolution + 1
        _, infinite = self.infinite_bins
        up = ((bins - offset) / resolution).exp()
        # A negative bin holds its far edge.
        down = -((-bins - offset + 1) / resolution).exp()
        edge = pl.when(bins > 0).then(up).when(bins < 0).then(down).otherwise(0.0)
        return pl.when(bins == infinite).then(_LARGEST).when(bins == -infinite).then(-math.inf).otherwise(edge)
