"""Expected proper scoring rules with any weight over operating points, from cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import parse_interval, parse_number
from polars_ec.formulas.losses import expected_loss
from polars_ec.formulas.sums import GROUP, MOST_WEIGHT
from polars_ec.numerics import Floats, Integers, Numbers, np
from polars_ec.sketches.arguments import parse_formula_arguments
from polars_ec.sketches.binned_losses import BinnedRows, Bounds
from polars_ec.sketches.cells import Cells, check_keys
from polars_ec.sketches.evaluation import Intervals, with_error, with_limits_of_loss
from polars_ec.sketches.grid import Grid
from polars_ec.sketches.sums import GroupSums, log_odds, number_sums, placed, prior_columns, tabulate
from polars_ec.typing import FrameLike

OperatingWeight: TypeAlias = "float | Callable[[Any], Any] | FrameLike | Mapping[str, Sequence[float]]"
"""A weight over operating points: a constant, a function of an array of t, or a table of single points, `t` and `weight`."""

_LOW, _HIGH = "__ec_low", "__ec_high"


def epsr(cells: Cells, weight: OperatingWeight, *, prior: Prior = None, interval: float | None = None) -> pl.DataFrame:
    """Compute an expected proper scoring rule for any weight over operating points, as the weighted integral of the Bayes-risk curve.

    Lower is better; in [0, inf]. It is the integral over t from 0 to 1 of w(t) times the Bayes risk of the costs [[0, 1/(1-t)], [1/t, 0]],
    which decide positive if the posterior is above t. So w is the importance of each operating point. With w = 1 it is the cross-entropy in
    nats, with w(t) = 6 t (1 - t) 3 times the Brier score. With a Beta density it equals the expression `epsr` with the same parameters.

    Parameters
    ----------
    cells
        Cells of posteriors or log-odds.
    weight
        The weight w. Pass a number, the same for all t, or a function that maps an array of t in [0, 1] to as many finite, non-negative
        weights. For a few operating points pass a table with columns `t` (above 0 and below 1) and `weight`; the result is the sum of their
        Bayes risks, each times its weight.
    prior, interval
        As for `evaluate`.

    Returns
    -------
    The group columns, `n`, `n_missing`, `n_invalid`, `class_prior`, `epsr` and `epsr_error`: |returned - exact| <= error, apart from
    rounding. With `interval` also `epsr_ci_low` and `epsr_ci_high`, as for mean losses in `evaluate`.

    The error is 0 in an exact sketch, and for a table whose points are declared thresholds. For a function it bounds the effect of binning,
    if the function is monotone within each bin. It is 0 for a constant, and small for weights that are nearly a parabola of t. `epsr` is
    infinite if a row has posterior 0 for its class and w does not fall to 0 there. The integration is accurate to 1e-10 for functions that
    are smooth apart from a few kinks or jumps. It may miss a peak narrower than 0.006 in the log-odds of t: pass a table of points then.

    Raises
    ------
    SketchError
        LLRs and raw scores.
    ValueError
        A weight that is negative, infinite or NaN; a function that does not return one weight per t, or varies too fast to be integrated; a
        table without these columns.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eqs. 10 to 12.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> sketch = log.ec.sketch("p", "y", exact=True)
    >>> sketch.epsr(lambda t: 6 * t * (1 - t)).select(pl.col("epsr").round(4), "epsr_error").rows()
    [(0.6525, 0.0)]
    >>> sketch.epsr({"t": [0.5, 0.8], "weight": [1.0, 1.0]}).select(pl.col("epsr").round(4)).item()
    1.3125
    """
    cells.grid.check_posteriors("epsr")
    request = parse_interval({"interval": interval})
    arguments = parse_formula_arguments((), {"prior": prior})
    numbered, table = tabulate(cells, cells.keys, arguments)
    check_keys(cells.keys, ["epsr", "epsr_error", "epsr_ci_low", "epsr_ci_high"])
    used = numbered.filter(pl.col("class") >= 0, pl.col("weight") > 0)
    if _is_table(weight):
        bounds = _summed(_of_points(used, cells.grid, weight))
    elif cells.grid.resolution is None:
        bounds = _summed(_of_density(used, cells.grid, weight))
    else:
        sums = number_sums(cells, numbered, table, cells.keys)
        bounds = _of_density_in_bins(used, sums, table.height, cells.grid, weight)
    summed = table.join(bounds, on=GROUP, how="left", maintain_order="left")
    group = GroupSums(prior_columns(arguments))
    ends = (expected_loss(group, [group.total(i, end) for i in range(2)]) for end in ("low", "high"))
    right = (pl.col("n_invalid") == 0) & (group.size < MOST_WEIGHT)
    guarded = {name: pl.when(right).then(column) for name, column in with_error("epsr", *ends).items()}
    shown = summed.select(*cells.keys, "n", "n_missing", "n_invalid", pl.when(right).then("class_prior"), **guarded)
    if request is None:
        return shown
    intervals = Intervals(cells, cells.keys, numbered, summed, arguments, request)
    return with_limits_of_loss(shown, "epsr", intervals, lambda used, grid: _mean_losses(used, grid, weight))


def _mean_losses(used: pl.DataFrame, grid: Grid, weight: Any) -> pl.Series:
    judged = _of_points(used, grid, weight) if _is_table(weight) else _of_density(used, grid, weight)
    return judged.select((pl.col(_LOW) + pl.col(_HIGH)) / 2).to_series()


def _summed(used: pl.DataFrame) -> pl.DataFrame:
    sums = {
        f"__ec_{end}_{i}": pl.when(pl.col("class") == i).then(pl.col(f"__ec_{end}") * pl.col("weight")).sum()
        for end in ("low", "high")
        for i in range(2)
    }
    return used.group_by(GROUP).agg(**sums)


def _is_table(weight: Any) -> bool:
    return isinstance(weight, Mapping | pl.LazyFrame) or hasattr(weight, "columns")


def _of_points(used: pl.DataFrame, grid: Grid, weight: Any) -> pl.DataFrame:
    table = pl.DataFrame(weight) if isinstance(weight, Mapping) else as_lazy(weight).collect()
    if not {"t", "weight"} <= set(table.columns) or table.height == 0:
        raise ValueError(
            f"weight= is a table with the columns {table.columns}: pass the columns 't' and 'weight', one row per point"
        )
    misses, alarms = [pl.lit(0.0), pl.lit(0.0)], [pl.lit(0.0), pl.lit(0.0)]
    for t, w in table.select("t", "weight").rows():
        if not 0 < parse_number(t, "t") < 1:
            raise ValueError(f"weight= has a point t={t!r}: operating points must be above 0 and below 1")
        if not 0 <= parse_number(w, "weight") < math.inf:
            raise ValueError(f"weight= has the weight {w!r} at t={t!r}: weights must be finite and at least 0")
        threshold = grid.declared(grid.scale.threshold_at(t))
        certain, possible = placed(grid, threshold)
        for end, (above, not_above) in enumerate(((certain, ~certain & ~possible), (certain | possible, ~certain))):
            misses[end] = misses[end] + pl.when(not_above).then(w / t).otherwise(0.0)
            alarms[end] = alarms[end] + pl.when(above).then(w / (1 - t)).otherwise(0.0)
    positive = pl.col("class") == 1
    return used.with_columns(
        pl.when(positive).then(miss).otherwise(alarm).alias(name)
        for name, miss, alarm in zip((_LOW, _HIGH), misses, alarms, strict=True)
    )


def _of_density(used: pl.DataFrame, grid: Grid, weight: Any) -> pl.DataFrame:
    x = used.select(log_odds(grid)).to_series().to_numpy()
    losses = _losses_at(_function(weight), x)
    at = losses.places(x)
    loss = pl.Series(_LOW, np.where((used["class"] == 1).to_numpy(), losses.positive[at], losses.negative[at]))
    return used.with_columns(loss, loss.alias(_HIGH))


def _of_density_in_bins(used: pl.DataFrame, sums: pl.DataFrame, n_groups: int, grid: Grid, weight: Any) -> pl.DataFrame:
    """Bounds of the sums of the losses of each group, of bins, where the weight is a function."""
    rows = BinnedRows.of(used, sums, n_groups, grid)
    positive = rows.number % 2 == 1
    # Log-odds of a positive are those of the other class with another sign.
    below, above = np.where(positive, -rows.wrong, rows.right), np.where(positive, -rows.right, rows.wrong)
    losses = _losses_at(_function(weight), np.unique(np.concatenate([below, above])))
    least, most = losses.extremes(below, above)
    at_below, at_above = losses.places(below), losses.places(above)
    right = np.where(positive, losses.positive[at_above], losses.negative[at_below])
    wrong = np.where(positive, losses.positive[at_below], losses.negative[at_above])
    return rows.table(__ec=Bounds(right, wrong, least, most))


def _function(weight: Any) -> Callable[[Any], Any]:
    if callable(weight):
        function: Callable[[Any], Any] = weight
        return function
    if hasattr(weight, "__len__"):
        raise TypeError(
            f"weight= is a {type(weight).__name__}: pass a number, a function of t, or a table of t and weight"
        )
    constant = parse_number(weight, "weight")
    return lambda _: constant


# The losses of a row under a weight over operating points: integrals of the weight, found by quadrature.
#
# For a posterior q the loss of a positive is the integral over t from q to 1 of w(t) / t, that of a negative the integral from 0
# to q of w(t) / (1 - t). Over log-odds x of t they are integrals of w (1 - t) and of w t, which are smooth where w is. Beyond
# the posteriors that a float distinguishes from 0 and 1 the weight is taken as a power of t, or of 1 - t, with known integrals.

_LOWEST, _HIGHEST = -690.0, 52 * math.log(2)
# Between them there are panels of 1/16, beyond of 1: narrow enough that a peak of the weight is not passed over.
_CORE = 40.0
_TOLERANCE = 1e-13
_MOST_BISECTIONS = 60
_MOST_SPLIT = 200_000
_AT_ONCE = 1 << 15


@dataclass(frozen=True)
class Losses:
    """At ascending log-odds `x`: the losses of a positive and of a negative; the extremes of the weight from each to the next."""

    x: Floats
    positive: Floats
    negative: Floats
    least: Floats
    most: Floats

    def places(self, x: Floats) -> Integers:
        return np.searchsorted(self.x, x)

    def extremes(self, below: Floats, above: Floats) -> tuple[Floats, Floats]:
        """The least and the largest weight between two log-odds, of each pair."""
        first, last = self.places(below), self.places(above)
        ends = np.stack([first, np.maximum(last, first + 1)], axis=1).ravel()
        padded = np.append(self.least, self.least[-1:]), np.append(self.most, self.most[-1:])
        least, most = (f.reduceat(v, ends)[::2] for f, v in zip((np.minimum, np.maximum), padded, strict=True))
        return least, most


def _losses_at(weight: Callable[[Floats], Any], x: Floats) -> Losses:
    """The losses at these log-odds, infinite ones among them; ValueError if the weight is not a weight."""
    at_zero, at_one = _checked(weight, np.array([0.0, 1.0]))
    edges = np.unique(
        np.concatenate(
            [
                x[(x > _LOWEST) & (x < _HIGHEST)],
                np.arange(_LOWEST, -_CORE),
                np.arange(-_CORE * 16, _HIGHEST * 16) / 16,
                [_HIGHEST],
            ]
        )
    )
    positive, negative, least, most = _integrals(weight, edges)
    low, high = _Tail.of(weight, at_zero, lower=True), _Tail.of(weight, at_one, lower=False)
    # Each sum from the end where the loss is small.
    of_positive = np.append(np.cumsum(positive[::-1])[::-1], 0.0) + high.near(_HIGHEST)
    of_negative = np.insert(np.cumsum(negative), 0, 0.0) + low.near(-_LOWEST)
    below, above = np.unique(x[x <= _LOWEST]), np.unique(x[x >= _HIGHEST])
    low_extremes, high_extremes = sorted([at_zero, low.weight]), sorted([at_one, high.weight])
    least, most = (
        np.concatenate([np.full(len(below), low_end), inner, np.full(len(above) + 1, high_end)])
        for low_end, inner, high_end in zip(low_extremes, (least, most), high_extremes, strict=True)
    )
    return Losses(
        np.concatenate([below, edges, above]),
        np.concatenate([of_positive[0] + low.far(-below), of_positive, high.near(above)]),
        np.concatenate([low.near(-below), of_negative, of_negative[-1] + high.far(above)]),
        least,
        most,
    )


def _checked(weight: Callable[[Floats], Any], t: Floats) -> Floats:
    """The weight at these operating points, finite and not negative."""
    with np.errstate(all="ignore"):
        values = np.asarray(weight(t), dtype=np.float64)
    if values.shape not in ((), t.shape):
        raise ValueError(
            f"weight= returned {values.shape} values for {t.shape} operating points: it takes an array, and must return one of the same length"
        )
    weights = np.broadcast_to(values, t.shape)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        raise ValueError(
            f"weight= is {weights[wrong][0]} at t={t[wrong][0]}, but weights must be finite and at least 0 from 0 to "
            "1: for Beta weights use the expression epsr(a=, b=)"
        )
    return weights


@dataclass(frozen=True)
class _Tail:
    """The weight near an end, weight * exp(-power (y - start)), by the distance y of log-odds from 0."""

    start: float
    weight: float
    power: float

    @classmethod
    def of(cls, weight: Callable[[Floats], Any], at_end: float, *, lower: bool) -> _Tail:
        start, step = (-_LOWEST, 10.0) if lower else (_HIGHEST, 7 * math.log(2))
        t = np.exp(-np.array([start, start - step])) if lower else 1 - np.exp2([-52.0, -45.0])
        last, before = _checked(weight, t)
        falls = at_end == 0 and 0 < last < before
        return cls(start, float(last), float(np.log(before / last) / step) if falls else 0.0)

    def near(self, y: Any) -> Any:
        """The loss of those who are right: the integral of the weight times exp(-y) from y on."""
        rate = 1 + self.power
        return self.weight * np.exp(-self.start - rate * (y - self.start)) / rate

    def far(self, y: Floats) -> Floats:
        """The additional loss of rows on the wrong side: the integral of the weight from the start to y."""
        if self.weight == 0:
            return np.zeros_like(y)
        if self.power == 0:
            return self.weight * (y - self.start)
        return -self.weight * np.expm1(-self.power * (y - self.start)) / self.power


def _integrals(weight: Callable[[Floats], Any], edges: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Integrals of w (1 - t) and of w t, and the extremes of w, from each edge to the next, by panels halved until they agree."""
    n = len(edges) - 1
    integrals, least, most = np.zeros((2, n)), np.full(n, np.inf), np.full(n, -np.inf)
    owner, below, above = np.arange(n), edges[:-1], edges[1:]
    whole = _panels(weight, below, above)
    np.minimum.at(least, owner, whole[2])
    np.maximum.at(most, owner, whole[3])
    tolerance = _TOLERANCE * whole[:2, np.abs(below) <= _CORE].sum()
    for _ in range(_MOST_BISECTIONS):
        middle = below + (above - below) / 2
        left, right = _panels(weight, below, middle), _panels(weight, middle, above)
        halves = left[:2] + right[:2]
        for half in (left, right):
            np.minimum.at(least, owner, half[2])
            np.maximum.at(most, owner, half[3])
        hidden = left[4] + right[4] > tolerance
        done = ((np.abs(halves - whole[:2]) <= tolerance).all(axis=0) & ~hidden) | (middle <= below) | (middle >= above)
        np.add.at(integrals.T, owner[done], halves[:, done].T)
        if done.all():
            return integrals[0], integrals[1], least, most
        more = ~done
        owner = np.concatenate([owner[more], owner[more]])
        below, above = np.concatenate([below[more], middle[more]]), np.concatenate([middle[more], above[more]])
        whole = np.concatenate([left[:, more], right[:, more]], axis=1)
        if len(owner) > _MOST_SPLIT:
            break
    t = 1 / (1 + np.exp(-below[0]))
    raise ValueError(
        f"weight= varies too fast to integrate, for example near t={t:.6g}: smooth it, or pass a table of points"
    )


def _panels(weight: Callable[[Floats], Any], below: Floats, above: Floats) -> Floats:
    """Integrals of w (1 - t) and of w t from each `below` to its `above`, the extremes of w, and what its ends hide: five rows."""
    starts = range(0, len(below), _AT_ONCE)
    panels = [_some_panels(weight, below[at : at + _AT_ONCE], above[at : at + _AT_ONCE]) for at in starts]
    return np.concatenate(panels, axis=1) if panels else np.zeros((5, 0))


@cache
def _gauss_legendre() -> tuple[Floats, Floats, Numbers]:
    """Nodes of a panel from -1 to 1, their weights, and what makes values at both ends of values at the nodes, by a polynomial."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    return nodes, weights, np.linalg.solve(np.vander(nodes).T, np.vander([-1.0, 1.0], len(nodes)).T)


def _some_panels(weight: Callable[[Floats], Any], below: Floats, above: Floats) -> Floats:
    nodes, node_weights, to_ends = _gauss_legendre()
    half = (above - below) / 2
    inner = (below + half)[:, None] + half[:, None] * nodes
    x = np.concatenate([below[:, None], inner, above[:, None]], axis=1)
    t = 1 / (1 + np.exp(-x))
    w = _checked(weight, t.ravel()).reshape(t.shape)
    by_width = w[:, 1:-1] * node_weights * half[:, None]
    rest = 1 / (1 + np.exp(x[:, 1:-1]))
    hidden = np.abs(w[:, 1:-1] @ to_ends - w[:, [0, -1]]).sum(axis=1) * half * (1 - nodes[-1])
    sums = (by_width * rest).sum(axis=1), (by_width * t[:, 1:-1]).sum(axis=1)
    return np.stack([*sums, w.min(axis=1), w.max(axis=1), hidden])
