"""Sums of losses that are known by bins only: for a weight over operating points, or for LLRs at a prior.

Each sum has bounds, which the exactly known losses make narrow.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from polars_ec.arguments.scales import LOG_ODDS
from polars_ec.formulas.sums import GROUP
from polars_ec.numerics import Bools, Floats, Integers, np, quiet
from polars_ec.scores.scores import BinaryScores
from polars_ec.sketches.grid import EXACT, Grid
from polars_ec.sketches.sums import log_odds_bounds

_SHIFT = "__shift"
_LARGEST_SHARE = 1e3
_ROUNDING = 1e-20


@dataclass(frozen=True)
class Bounds:
    """The loss of a row at the bin's end on the right and on the wrong side of its class, and the extremes of its slope."""

    right: Floats
    wrong: Floats
    least: Floats
    most: Floats


@dataclass(frozen=True)
class BinnedRows:
    """Cells of both classes; class i of group g has the `number` 2 g + i, and the sums `known`; bins end at log-odds of the other class."""

    number: Integers
    weight: Floats
    right: Floats
    wrong: Floats
    known: Floats

    @classmethod
    @quiet
    def of(cls, used: pl.DataFrame, sums: pl.DataFrame, n_groups: int, grid: Grid) -> BinnedRows:
        below, above = log_odds_bounds(grid)
        positive = pl.col("class") == 1
        ends = (above, below), (below, above)
        right, wrong = (pl.when(positive).then(-of_1).otherwise(of_0) for of_1, of_0 in ends)
        number = (2 * pl.col(GROUP) + pl.col("class")).cast(pl.Int64)
        made = used.select(number=number, weight="weight", right=right, wrong=wrong)
        columns = {name: made[name].to_numpy() for name in made.columns}
        of_sums = sums.select(number=number, class_="class", **{x: x for x in ("log_loss", "posterior", "brier")})
        at = of_sums["number"].to_numpy()
        names = ("log_loss", "posterior", "brier")
        log_loss, posterior, brier = (np.bincount(at, of_sums[name].to_numpy(), 2 * n_groups) for name in names)
        whole = np.bincount(columns["number"], columns["weight"], 2 * n_groups)
        error = np.where(np.arange(2 * n_groups) % 2 == 1, whole - posterior, posterior)
        return cls(**columns, known=np.stack([log_loss, error, brier]))

    def total(self, values: Floats) -> Floats:
        """The sum of the values of the rows of each number."""
        return np.bincount(self.number, values * self.weight, self.known.shape[1]).astype(np.float64)

    def table(self, **losses: Bounds) -> pl.DataFrame:
        """`GROUP`, and for each loss and class i the bounds of its sum, `NAME_low_i` and `NAME_high_i`."""
        made = {GROUP: pl.Series(range(self.known.shape[1] // 2), dtype=pl.get_index_type())}
        for name, loss in losses.items():
            for end, values in zip(("low", "high"), self.bounds(loss), strict=True):
                made |= {f"{name}_{end}_{i}": pl.Series(values[i::2]) for i in range(2)}
        return pl.DataFrame(made)

    # Infinite losses of some cells say nothing of the others.
    @quiet
    def bounds(self, loss: Bounds) -> tuple[Floats, Floats]:
        """The least and the largest sum of the loss, of each number."""
        point = self.right == self.wrong
        is_open = np.isinf(self.wrong) & ~point
        u_right, u_wrong = np.logaddexp(0, self.right), np.logaddexp(0, self.wrong)
        width = np.where(is_open | point, 0.0, u_wrong - u_right)
        # In a bin that is open-ended on the wrong side, rows are assumed to be within a nat of the other end.
        slope = np.where(is_open, (loss.least + loss.most) / 2, (loss.wrong - loss.right) / width)
        nearest = self._nearest(slope, np.where(is_open, 1.0, width))
        of_cell = nearest[:, self.number]
        p_right, p_wrong = (_combined(of_cell, x, u) for x, u in ((self.right, u_right), (self.wrong, u_wrong)))
        least, most = _slopes(of_cell, self.right, self.wrong)
        down, up = loss.least - most, loss.most - least
        at_right, at_wrong = loss.right - p_right, loss.wrong - p_wrong
        # Between the ends it may fall or rise by these slopes, where they have both signs, and come back by the others.
        turns, step = (down < 0) & (up > 0), (at_wrong - at_right) / width
        to_low, to_high = np.clip((up - step) / (up - down), 0, 1), np.clip((step - down) / (up - down), 0, 1)
        low = np.fmin(np.fmin(at_right, at_wrong), np.where(turns, at_right + down * to_low * width, np.inf))
        high = np.fmax(np.fmax(at_right, at_wrong), np.where(turns, at_right + up * to_high * width, -np.inf))
        # And the loss is between its values at the ends, whatever the slopes are.
        low = np.fmax(low, at_right - np.fmax(most, 0) * width)
        high = np.fmin(high, loss.wrong - p_right - np.fmin(least, 0) * width)
        low, high = (np.where(point, at_wrong, np.where(is_open, at_right, end)) for end in (low, high))
        whole = np.where(nearest != 0, nearest * self.known, 0.0).sum(axis=0)
        least_rest, most_rest = self._beyond(loss, is_open, down, up, u_right, u_wrong)
        # Losses lie between those at both ends of the bin.
        least_all, most_all = self.total(loss.right), self.total(loss.wrong)
        return (
            np.fmax(whole + self.total(low) + least_rest, least_all),
            np.fmin(whole + self.total(high) + most_rest, most_all),
        )

    def _beyond(
        self, loss: Bounds, is_open: Bools, down: Floats, up: Floats, u_right: Floats, u_wrong: Floats
    ) -> tuple[Floats, Floats]:
        """Bounds of the additional loss of rows in bins that are open-ended on the wrong side, over the loss at the other end."""
        n = self.known.shape[1]
        least, most = np.full(n, np.inf), np.full(n, -np.inf)
        np.minimum.at(least, self.number[is_open], down[is_open])
        np.maximum.at(most, self.number[is_open], up[is_open])
        there = least < np.inf
        farthest = np.fmax(self.known[0] - self.total(u_right), 0)
        nearest = np.fmax(self.known[0] - self.total(np.where(is_open, u_right, u_wrong)), 0)
        rise = self.total(np.where(is_open, loss.wrong - loss.right, 0.0))
        unknown = np.isinf(self.known[0])
        low = np.where(unknown, 0.0, np.fmin(least * nearest, least * farthest))
        high = np.where(unknown, rise, np.fmax(most * nearest, most * farthest))
        return np.where(there, low, 0.0), np.where(there, high, 0.0)

    @staticmethod
    def _of_size(coefficient: Floats, level: Floats) -> Floats:
        """0 for a coefficient so large, of cells that differ so little, that it would make more of rounding than of anything else."""
        return np.where(np.abs(coefficient) <= _LARGEST_SHARE * level, coefficient, 0.0)

    def _nearest(self, slope: Floats, width: Floats) -> Floats:
        """The combination of the known losses whose slope is nearest to that of the loss, of each number: three rows."""
        n = self.known.shape[1]
        middle = np.where(np.isfinite(self.right), (self.right + self.wrong) / 2, self.wrong)
        d = 1 / (1 + np.exp(middle))
        mass = np.where(np.isfinite(slope), width, 0.0)
        slope = np.where(mass > 0, slope, 0.0)

        def mean(values: Floats, by: Floats, of: Floats) -> Floats:
            """For each number, sum(mass values by) / sum(mass by^2); 0 where all of `by` is what rounding left of `of`."""
            size = self.total(mass * by * by)
            found = self.total(mass * values * by) / size
            return np.where(np.isfinite(found) & (size > _ROUNDING * self.total(mass * of * of)), found, 0.0)

        # An infinite sum of the log loss gives no information beyond multiples of d.
        unknown = np.isinf(self.known[0])
        of_d = mean(slope, d, d)
        # Else by polynomials of d that are orthogonal: so that a constant stays one.
        ones = np.ones_like(d)
        level, center = mean(slope, ones, ones), mean(d, ones, ones)
        line = d - center[self.number]
        linear = self._of_size(mean(slope - level[self.number], line, d), level)
        level_2, linear_2 = mean(line * line, ones, ones), mean(line * line, line, d)
        bent = line * line - level_2[self.number] - linear_2[self.number] * line
        square = self._of_size(mean(slope - level[self.number] - linear[self.number] * line, bent, line * line), level)
        # In powers of d: level + linear (d - center) + square ((d - center)^2 - level_2 - linear_2 (d - center)).
        first = linear - square * linear_2
        power_0 = level - first * center + square * (center * center - level_2)
        power_1 = first - 2 * square * center
        combined = np.stack([power_0, power_1 + square, -square / 2])
        alone = np.stack([np.zeros(n), of_d, np.zeros(n)])
        return np.where(unknown, alone, combined)


def _combined(nearest: Floats, x: Floats, u: Floats) -> Floats:
    error = 1 / (1 + np.exp(-x))
    of_log_loss = np.where(nearest[0] == 0, 0.0, nearest[0] * u)
    combined: Floats = of_log_loss + error * (nearest[1] + nearest[2] * error)
    return combined


def _slopes(nearest: Floats, right: Floats, wrong: Floats) -> tuple[Floats, Floats]:
    largest, smallest = 1 / (1 + np.exp(right)), 1 / (1 + np.exp(wrong))
    # The vertex of a parabola with these coefficients, or an end if it has none inside.
    turn = np.clip(np.nan_to_num((nearest[1] / nearest[2] + 2) / 4), smallest, largest)
    values = np.stack([nearest[0] + d * (nearest[1] + 2 * nearest[2] * (1 - d)) for d in (smallest, largest, turn)])
    return values.min(axis=0), values.max(axis=0)


# Losses of log-likelihood ratios at a prior: an LLR has log-odds at each prior, and its losses at even prior are known in sum.


def llr_losses(cells: pl.DataFrame, sums: pl.DataFrame, shifts: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """Bounds of the summed losses of LLRs, `log_loss_low_i`, ..., of each GROUP and class i at its `shift`, which makes log-odds of an LLR."""
    used = cells.filter(pl.col("class") >= 0, pl.col("weight") > 0)
    if grid.resolution is None:
        return _of_scores(used, shifts)
    rows = BinnedRows.of(used, sums, shifts.height, grid)
    shift = shifts["shift"].fill_null(np.nan).to_numpy()[rows.number // 2]
    against = np.where(rows.number % 2 == 1, -shift, shift)
    ends = rows.right, rows.wrong, against
    return rows.table(log_loss=_log_loss(*ends), brier=_brier(*ends))


def _of_scores(used: pl.DataFrame, shifts: pl.DataFrame) -> pl.DataFrame:
    scores = BinaryScores(pl.col(EXACT) + pl.col(_SHIFT), LOG_ODDS)
    in_class = [pl.col("class") == 0, pl.col("class") == 1]
    losses = {"log_loss": scores.log_loss(in_class), "brier": scores.brier(in_class)}
    sums = {
        f"{name}_{end}_{i}": pl.when(in_class[i]).then(loss * pl.col("weight")).sum()
        for name, loss in losses.items()
        for end in ("low", "high")
        for i in range(2)
    }
    return used.join(shifts.rename({"shift": _SHIFT}), on=GROUP).group_by(GROUP).agg(**sums)


def _log_loss(right: Floats, wrong: Floats, against: Floats) -> Bounds:
    """Bounds by the log loss at even prior: ln(1 + e^(x + s)) by ln(1 + e^x), whose slope changes with x in one direction."""
    at_right, at_wrong = _shifted(right, against, right == wrong), _shifted(wrong, against, right == wrong)
    with np.errstate(all="ignore"):
        slopes = [
            np.exp(np.where(x == -np.inf, against, np.logaddexp(0, -x) - np.logaddexp(0, -z)))
            for x, z in ((right, at_right), (wrong, at_wrong))
        ]
    return Bounds(np.logaddexp(0, at_right), np.logaddexp(0, at_wrong), np.minimum(*slopes), np.maximum(*slopes))


def _brier(right: Floats, wrong: Floats, against: Floats) -> Bounds:
    """Bounds by the log loss at even prior: sigmoid(x + s)^2 by ln(1 + e^x)."""
    at_right, at_wrong = _shifted(right, against, right == wrong), _shifted(wrong, against, right == wrong)
    with np.errstate(all="ignore"):
        slopes, rates = [], []
        for x, z in ((right, at_right), (wrong, at_wrong)):
            log_slope = np.logaddexp(0, -x) - 2 * np.logaddexp(0, -z) - np.logaddexp(0, z)
            slopes.append(2 * np.exp(log_slope))
            rates.append(2 / (1 + np.exp(z)) - 1 / (1 + np.exp(-z)) - 1 / (1 + np.exp(x)))
        width = wrong - right
        # The rate at which the logarithm of the slope changes, itself changes by at most 3/4 a nat.
        may_turn = np.minimum(np.abs(rates[0]), np.abs(rates[1])) <= 0.75 * width
        beyond = np.where(may_turn, np.exp(width * (np.maximum(np.abs(rates[0]), np.abs(rates[1])) + 0.75 * width)), 1)
        least, most = np.minimum(*slopes) / beyond, np.maximum(*slopes) * beyond
        # For large LLRs against their class it is at most twice the maximum of p^2 (1 - p).
        for is_open, largest in ((np.isinf(right), np.inf), (np.isinf(wrong), 0.3)):
            least, most = np.where(is_open, 0.0, least), np.where(is_open, largest, most)
    return Bounds(_square(at_right), _square(at_wrong), least, most)


def _shifted(x: Floats, against: Floats, is_point: Bools) -> Floats:
    """Log-odds at the prior; an infinite end of a bin stands for large LLRs, but where it is the LLR."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(against) & ~is_point, against, x + against)


def _square(x: Floats) -> Floats:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x)) ** 2
