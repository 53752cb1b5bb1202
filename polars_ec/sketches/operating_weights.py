"""The losses of a row under a weight over operating points: integrals of the weight, found by quadrature.

For a posterior q the loss of a positive is the integral over t from q to 1 of w(t) / t, that of a negative the integral from 0
to q of w(t) / (1 - t). Over log-odds x of t they are integrals of w (1 - t) and of w t, which are smooth where w is. Beyond
the posteriors that a float tells from 0 and 1 the weight is taken for a power of t, or of 1 - t, and the integrals are known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from polars_ec.numerics import Floats, Integers, np

_LOWEST, _HIGHEST = -690.0, 52 * float(np.log(2))
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(8)
# The weight at the ends of a panel, by the polynomial through its nodes; and how far the outermost nodes are from the ends.
_TO_ENDS = np.linalg.solve(np.vander(_NODES).T, np.vander([-1.0, 1.0], len(_NODES)).T)
_GAP = 1 - _NODES[-1]
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


def losses_at(weight: Callable[[Floats], Any], x: Floats) -> Losses:
    """The losses at these log-odds, infinite ones among them; ValueError if the weight is not a weight."""
    at_zero, at_one = checked(weight, np.array([0.0, 1.0]))
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


def checked(weight: Callable[[Floats], Any], t: Floats) -> Floats:
    """The weight at these operating points, finite and not negative."""
    with np.errstate(all="ignore"):
        values = np.asarray(weight(t), dtype=np.float64)
    if values.shape not in ((), t.shape):
        raise ValueError(
            f"weight= gave {values.shape} values for {t.shape} operating points: it takes an array, and gives one"
        )
    weights = np.broadcast_to(values, t.shape)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        raise ValueError(
            f"weight= is {weights[wrong][0]} at t={t[wrong][0]}, and a weight is finite and not negative from 0 to 1: the expression "
            "epsr(a=, b=) has the Beta weights that have no end there"
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
        start, step = (-_LOWEST, 10.0) if lower else (_HIGHEST, 7 * float(np.log(2)))
        t = np.exp(-np.array([start, start - step])) if lower else 1 - np.exp2([-52.0, -45.0])
        last, before = checked(weight, t)
        falls = at_end == 0 and 0 < last < before
        return cls(start, float(last), float(np.log(before / last) / step) if falls else 0.0)

    def near(self, y: Any) -> Any:
        """The loss of those who are right: the integral of the weight times exp(-y) from y on."""
        rate = 1 + self.power
        return self.weight * np.exp(-self.start - rate * (y - self.start)) / rate

    def far(self, y: Floats) -> Floats:
        """The loss beyond the start of those who are wrong: the integral of the weight from there to y."""
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
        f"weight= varies too fast to be integrated, for example near t={t:.6g}: smooth it, or pass a table of points"
    )


def _panels(weight: Callable[[Floats], Any], below: Floats, above: Floats) -> Floats:
    """Integrals of w (1 - t) and of w t from each `below` to its `above`, the extremes of w, and what its ends hide: five rows."""
    parts = [_some_panels(weight, below[at], above[at]) for at in _slices(len(below))]
    return np.concatenate(parts, axis=1) if parts else np.zeros((5, 0))


def _some_panels(weight: Callable[[Floats], Any], below: Floats, above: Floats) -> Floats:
    half = (above - below) / 2
    inner = (below + half)[:, None] + half[:, None] * _NODES
    x = np.concatenate([below[:, None], inner, above[:, None]], axis=1)
    t = 1 / (1 + np.exp(-x))
    w = checked(weight, t.ravel()).reshape(t.shape)
    by_width = w[:, 1:-1] * _NODE_WEIGHTS * half[:, None]
    rest = 1 / (1 + np.exp(x[:, 1:-1]))
    hidden = np.abs(w[:, 1:-1] @ _TO_ENDS - w[:, [0, -1]]).sum(axis=1) * half * _GAP
    sums = (by_width * rest).sum(axis=1), (by_width * t[:, 1:-1]).sum(axis=1)
    return np.stack([*sums, w.min(axis=1), w.max(axis=1), hidden])


def _slices(n: int) -> Iterator[slice]:
    return (slice(start, start + _AT_ONCE) for start in range(0, n, _AT_ONCE))
