"""The grid of a sketch: the bin of a score as a Polars expression, the edges of bins, and the columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import polars as pl

from polars_ec.arguments.classes import UNKNOWN, ClassNames
from polars_ec.arguments.keywords import parse_number
from polars_ec.arguments.scales import POSTERIOR, SCALES, ScoreScale
from polars_ec.exceptions import SketchError
from polars_ec.numerics import Floats, np
from polars_ec.output.words import numbers
from polars_ec.scores.scores import sigmoid
from polars_ec.typing import RankingScoreType

SketchScoreType: TypeAlias = RankingScoreType
SUMS = ("log_loss", "brier", "posterior")
"""Sums over rows of weight times the row's value, which a sketch of bins has beside its cells."""
WEIGHTS = ("weight", "weight2")
"""Sums of the weights of the rows of a cell and of their squares, where rows have weights."""
ERROR_COST, UNDECIDED = "error_cost", -1
"""What an error would cost a row with costs of its own; and the decision of a row without a valid threshold or cost."""
SQUARE, TIMES_WEIGHT = "_square", "_times_weight"
"""After the name of a sum of w x, in cells of decisions: the sums of w^2 x^2 and of w^2 x."""
OF_DECISIONS = tuple(f"{x}{end}" for x in ("log_loss", "brier", ERROR_COST) for end in ("", SQUARE, TIMES_WEIGHT))
"""Sums over the rows of a cell of decisions."""
AMOUNTS = tuple(dict.fromkeys(("n", *WEIGHTS, *SUMS, *OF_DECISIONS)))
"""Columns that are summed when cells are merged; the other columns are keys."""
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


def checked_resolution(resolution: Any) -> int:
    """The number of bins per nat, if it is one."""
    if isinstance(resolution, bool) or not hasattr(resolution, "__index__") or not 1 <= resolution <= _FINEST:
        raise ValueError(f"resolution={resolution!r} is not valid: pass a whole number of bins per nat, 1 to {_FINEST}")
    return int(resolution)


def check_same(what: str, one: object, other: object) -> None:
    """SketchError if sketches of such a difference are to be added up."""
    if one != other:
        raise SketchError(f"sketches with different {what} cannot be added: {one} and {other}")


def sorted_thresholds(thresholds: Iterable[Any]) -> tuple[float, ...]:
    """Sort the thresholds, each once; 0 stands for -0 too."""
    if isinstance(thresholds, str) or not hasattr(thresholds, "__iter__"):
        raise ValueError(f"thresholds={thresholds!r} is not a sequence of numbers: pass [{thresholds!r}]")
    return tuple(sorted({parse_number(threshold, "thresholds") + 0.0 for threshold in thresholds}))


@dataclass(frozen=True)
class Grid:
    """The mapping of scores to cells: `resolution` bins per nat, None for a cell per distinct score; ascending `thresholds` are edges of cells."""

    score_type: str
    resolution: int | None
    thresholds: tuple[float, ...] = ()
    classes: ClassNames = field(default=UNKNOWN, compare=False)

    @property
    def row_costs(self) -> tuple[str, str] | None:
        """What `cost_fn` and `cost_fp` are in words, where rows have costs of their own."""
        return None

    @property
    def scale(self) -> ScoreScale:
        """The scale of the scores."""
        return SCALES[self.score_type]

    @property
    def cell_columns(self) -> list[str]:
        """The columns of a sketch that say which cell a row is, lowest scores first when sorted."""
        return [EXACT] if self.resolution is None else ["bin", "above"]

    def declared(self, computed: float) -> float:
        """The declared threshold that equals a computed one (an edge of bins, a Bayes threshold), else the computed one."""
        if self.resolution is None:
            return computed
        near = [t for t in self.thresholds if self.scale.is_same_threshold(t, computed)]
        return min(near, key=lambda t: abs(t - computed), default=computed)

    def check_posteriors(self, name: str) -> None:
        """SketchError if the scores are no posteriors, nor log-odds."""
        if self.scale.has_posteriors:
            return
        made_by = (
            "calibrate(...).apply(score)"
            if self.scale.has_order_only
            else "ec.posterior(score, score_type='llr', prior=...)"
        )
        raise SketchError(
            f"{name} needs posteriors, but the sketch has {self.score_type} scores: pass those of {made_by}"
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the cells beside the group columns; `WEIGHTS` only where rows have weights."""
        return ("class", *self.cell_columns, *self.amounts(weighted=True))

    def amounts(self, *, weighted: bool) -> list[str]:
        """The columns of the cells that are sums over their rows."""
        return ["n", *(WEIGHTS if weighted else ())]

    @property
    def common(self) -> dict[str, object]:
        """What sketches must have in common to be added, beside classes, costs and groups."""
        return {
            "cells": "of scores",
            "score_type": self.score_type,
            "resolution": self.resolution,
            "thresholds": self.thresholds,
        }

    @property
    def words(self) -> dict[str, str]:
        """The scores and thresholds, for readers."""
        n = self.resolution
        bins = "every score" if n is None else f"{n} bin{'s' * (n > 1)} per nat"
        return {"scores": f"{self.score_type}, {bins}", "thresholds": numbers(self.thresholds)}

    @property
    def coarse(self) -> Grid:
        """The grid of the cells that are counted by bucket: fine enough for a variance."""
        return replace(self, resolution=min(_COARSE, self.resolution or _COARSE))

    @property
    def has_sums(self) -> bool:
        """True if sums are kept beside the cells: where no loss of a row follows from its cell, and there are losses."""
        return self.resolution is not None and not self.scale.has_order_only

    @property
    def has_share_bins(self) -> bool:
        """True if the cells are bins of posteriors, but for a unit."""
        return self.resolution is not None and self.scale.is_share

    @property
    def infinite_bins(self) -> tuple[int, int]:
        """The bins of the scores -inf and inf, in log-odds or as they are: the outermost ones."""
        if self.scale.has_order_only:
            outermost = 2 * RAW_RANGE * self._stated_resolution + 2
            return -outermost, outermost
        edge = RANGE * self._stated_resolution
        return -edge - 2, edge + 1

    @property
    def _stated_resolution(self) -> int:
        if self.resolution is None:
            raise ValueError("an exact sketch has no bins")
        return self.resolution

    def bin(self, score: pl.Expr, position: pl.Expr) -> pl.Expr:
        """Int32 bin of a valid score, by its position."""
        resolution = self._stated_resolution
        lowest, highest = self.infinite_bins
        steps = (position * resolution).floor()
        if self.scale.has_order_only:
            size = steps + (RAW_RANGE * resolution + 1)
            finite = pl.when(score > 0).then(size).when(score < 0).then(-size).when(score == 0).then(0.0)
            return pl.when(score.is_infinite()).then(score.sign() * highest).otherwise(finite).cast(pl.Int32)
        inner = pl.when(position == -math.inf).then(float(lowest)).otherwise(steps.clip(lowest + 1, highest - 1))
        return pl.when(position == math.inf).then(float(highest)).otherwise(inner).cast(pl.Int32)

    @property
    def is_cut_by_coarse(self) -> bool:
        """True if an edge of the coarse grid may lie inside of a bin, so that its bins do not follow from these."""
        return self.resolution is None or self.resolution % self.coarse._stated_resolution != 0

    def coarse_bin(self, bin_: pl.Expr) -> pl.Expr:
        """The bin of the coarse grid that a bin lies in."""
        resolution, coarse = self._stated_resolution, self.coarse
        if self.scale.has_order_only:
            inner = (bin_.abs() - 1) // (resolution // coarse._stated_resolution) + 1
            inner = pl.when(bin_ > 0).then(inner).when(bin_ < 0).then(-inner).otherwise(0)
        else:
            inner = bin_ // (resolution // coarse._stated_resolution)
        (lowest, highest), (low, high) = self.infinite_bins, coarse.infinite_bins
        return pl.when(bin_ == lowest).then(low).when(bin_ == highest).then(high).otherwise(inner)

    def is_point(self) -> pl.Expr:
        """True if all rows of a cell have the same score, so that their order is known: they are ties."""
        if self.resolution is None:
            return pl.lit(value=True)
        if self.scale.has_order_only:
            return pl.col("bin").is_in([0, *self.infinite_bins])
        return pl.col("bin").is_in(self.infinite_bins)

    def is_lowest(self) -> pl.Expr:
        """True if the rows of a cell have the lowest score that there may be, such as posterior 0: no threshold is below it."""
        if self.resolution is None:
            return pl.col(EXACT) <= self.scale.bounds[0]
        return pl.col("bin") == self.infinite_bins[0]

    def bin_edges(self) -> tuple[pl.Expr, pl.Expr]:
        """The begin and the end of the bin of a cell, in log-odds; infinite for the outermost ones."""
        resolution = self._stated_resolution
        bins = pl.col("bin").cast(pl.Float64)
        lowest, highest = self.infinite_bins
        below = pl.when(bins <= lowest + 1).then(-math.inf).when(bins == highest).then(math.inf)
        above = pl.when(bins >= highest - 1).then(math.inf).when(bins == lowest).then(-math.inf)
        return below.otherwise(bins / resolution), above.otherwise((bins + 1) / resolution)

    def lower_edge(self) -> pl.Expr:
        """A threshold, on the scale of the score, that the scores of a cell are above and those of lower cells are not; -inf for the lowest bin."""
        resolution = self._stated_resolution
        bins = pl.col("bin").cast(pl.Float64)
        scale, of_edge = self.scale, self._raw_edge if self.scale.has_order_only else self._log_odds_edge
        edge = of_edge(bins, resolution)
        if scale.is_share:
            edge = scale.of_share(sigmoid(edge))
        below = edge - edge.abs() * _ULP - _TINY
        if scale.is_share:
            # Below 1 and at 0 there are the neighbours of the bins that hold nothing but 1 and 0.
            zero, one = self.infinite_bins
            below_one = scale.of_share(pl.lit(1 - _ULP / 2))
            below = pl.when(bins == zero + 1).then(0.0).when(bins == one).then(below_one).otherwise(below)
        declared = dict(enumerate([-math.inf, *self.thresholds]))
        return pl.max_horizontal(below, pl.col("above").replace_strict(declared, return_dtype=pl.Float64))

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


@dataclass(frozen=True)
class DecisionGrid(Grid):
    """Cells of the class and the decision of a row, with sums of `values`, in place of cells of scores."""

    values: tuple[str, ...] = ()
    n_decisions: int = 2
    row_costs: tuple[str, str] | None = None

    @property
    def scale(self) -> ScoreScale:
        raise SketchError(
            "the sketch has the decisions of the rows, not their scores: sketch the log without reduction='decisions' too"
        )

    @property
    def cell_columns(self) -> list[str]:
        return ["decision"]

    def amounts(self, *, weighted: bool) -> list[str]:
        ends = ("", SQUARE, *((TIMES_WEIGHT,) if weighted else ()))
        there = {*super().amounts(weighted=weighted), *(f"{x}{end}" for x in self.values for end in ends)}
        return [name for name in AMOUNTS if name in there]

    @property
    def coarse(self) -> Grid:
        return self

    @property
    def has_sums(self) -> bool:
        return False

    @property
    def common(self) -> dict[str, object]:
        costs = {"cost_fn and cost_fp": self.row_costs, "sums": self.values}
        return {"cells": "of decisions", "score_type": self.score_type, **costs}

    @property
    def words(self) -> dict[str, str]:
        return {"scores": f"decisions by {self.score_type}, {len(self.classes.values)} classes"}


# The logarithms of posteriors by NumPy, which may take a ninth of the engine's time. They may be off by one unit in the last place: that is
# nothing to a loss, but next to an edge it is another bin. There the engine's logarithm decides, which is that of every SQL engine.

# Two logarithms that are off by a unit each, of numbers up to 64, are well within, in nats.
_NEAR = 1e-12


def posterior_logs(q: Floats, grid: Grid) -> tuple[Floats, Floats, Floats]:
    """Logarithms of the posteriors of class 0 and 1, and their bins."""
    resolution, (lowest, highest) = grid._stated_resolution, grid.infinite_bins
    with np.errstate(divide="ignore", invalid="ignore"):  # logarithms of 0, and infinity minus infinity
        log_0, log_1 = np.log(1 - q), np.log(q)
        steps = (log_1 - log_0) * resolution
        bins = np.floor(steps)
        inside, gap = steps - bins, resolution * _NEAR
    # Two extremes are cheaper than a mask. An infinite position is NaN beyond its bin, and so no extreme.
    is_plain = gap <= np.min(inside, initial=0.5) and np.max(inside, initial=0.5) <= 1 - gap
    if not is_plain:
        near = (inside < gap) | (inside > 1 - gap)
        of_engine = POSTERIOR.share_logs(pl.lit(pl.Series(q[near])))
        log_0[near], log_1[near] = pl.select(log.alias(str(i)) for i, log in enumerate(of_engine)).to_numpy().T
        bins[near] = np.floor((log_1[near] - log_0[near]) * resolution)
    bins = np.clip(bins, lowest + 1, highest - 1)
    if not is_plain:
        bins[q == 0], bins[q == 1] = lowest, highest
    return log_0, log_1, bins
