"""The parts of the change of each metric between two periods, with their limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.comparing.sides import Parts, Side, between
from polars_ec.drifting.attribution import Attribution, Change
from polars_ec.drifting.choice import PRIOR
from polars_ec.drifting.spread import InClusters, hidden, spread_of_rows
from polars_ec.intervals.estimates import Clusters, of_so_many_rows
from polars_ec.intervals.limits import limits
from polars_ec.intervals.spread import Moments, Spread

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Bools: TypeAlias = NDArray[np.bool_]

# Of the value: what rounding makes of a part that is none, of its slopes, and of the standard error where rows are all alike.
_NOTHING, _NO_SLOPE, _NO_WIDTH = 1e-12, 1e-8, 1e-8

# Numbers of the arrays of pairs that are made at a time.
_BLOCK = 2**24


@dataclass(frozen=True)
class Strata:
    """Metrics of so many periods of groups, by their columns, that are made of the same sums over the rows of each stratum and class.

    `moments` are sums of w x and of w^2 x x', (units, strata, classes, features) and with features once more; `clusters` the sums of
    w x of each bucket, (units, buckets, strata, classes, features), and of rows that are in none. `formula` takes sums, (variants,
    pairs, classes, features), and of which unit each pair has its stated prior; `side` is of the units without strata.
    """

    columns: Mapping[str, str]
    moments: Moments
    clusters: Clusters | None
    enlarged: Callable[[Moments], Moments] | None
    formula: Callable[[Floats, Integers], Floats]
    side: Side


@dataclass(frozen=True)
class Part:
    """What a factor adds to a change, (pairs,): its part, the limits of this, and the least and the most of any order."""

    value: Floats
    low: Floats
    high: Floats
    least: Floats
    most: Floats


def parts_of(
    of: Strata,
    pairs: tuple[Integers, Integers],
    factors: Sequence[str],
    level: float,
    at_the_end: tuple[Bools, Bools],
    known: Bools,
) -> dict[str, dict[str, Part]]:
    """By column and factor the parts of the changes between units: those of the period, and those of its reference.

    `at_the_end` says of both sides where their decisions are all alike in the clusters, (pairs, columns), and `known` where a change has limits.
    """
    made = [_of_block(of, at, pairs, factors, level, at_the_end, known) for at in _blocks(of, len(pairs[0]), factors)]
    return {
        column: {
            factor: Part(*(np.concatenate([block[c, factor][n] for block in made]) for n in range(5)))
            for factor in factors
        }
        for c, column in enumerate(of.columns)
    }


def _blocks(of: Strata, n_pairs: int, factors: Sequence[str]) -> Iterator[slice]:
    n_strata, n_classes, n_features = of.moments.linear.shape[1:]
    buckets = 0 if of.clusters is None else of.clusters.weight.shape[1]
    of_strata = n_strata * n_classes * n_features * (6 * buckets + 2 * len(factors) * (len(of.columns) + 1))
    # Sums that are changed one by one, of each set of factors.
    of_slopes = (n_classes * n_features) ** 2 * 4 * 2 ** len(factors)
    size = max(_BLOCK // (of_strata + of_slopes), 1)
    for start in range(0, max(n_pairs, 1), size):
        yield slice(start, start + size)


_Numbers: TypeAlias = tuple[Floats, Floats, Floats, Floats, Floats]


def _of_block(
    of: Strata,
    at: slice,
    pairs: tuple[Integers, Integers],
    factors: Sequence[str],
    level: float,
    at_the_end: tuple[Bools, Bools],
    known: Bools,
) -> dict[tuple[int, str], _Numbers]:
    units = pairs[0][at], pairs[1][at]
    block = _Block(of, units, factors)
    ends, known = [of_side[at] for of_side in at_the_end], known[at] & ~block.hidden[:, None]
    found = {}
    for c in range(len(of.columns)):
        size = np.abs(block.ends[..., c]).max(axis=0)
        for factor in factors:
            value = block.attribution.part[factor][:, c]
            spread, moves = block.spread_of(factor, c, [of_side[:, c] for of_side in ends])
            with np.errstate(all="ignore"):
                # What a metric does not hang on adds nothing, whatever the rows are.
                nothing = ~moves & (np.abs(value) <= _NOTHING * size)
                shown = known[:, c] & ~nothing & (spread.variance > (_NO_WIDTH * size) ** 2)
            low, high = limits(value, spread.only(shown), "identity", level)
            zero = nothing & known[:, c]
            numbers = (value, low, high, block.attribution.least[factor][:, c], block.attribution.most[factor][:, c])
            found[c, factor] = tuple(
                np.where(zero if n in (1, 2) else nothing, 0.0, values) for n, values in enumerate(numbers)
            )
    return found  # type: ignore[return-value]


class _Block:
    """Some pairs of periods."""

    def __init__(self, of: Strata, units: tuple[Integers, Integers], factors: Sequence[str]) -> None:
        self._of, self._units, self._factors = of, units, factors
        self._moments = _taken(of.moments, units[0]), _taken(of.moments, units[1])
        change = self._change(*self._moments)
        with_slopes = of.clusters is not None or of.enlarged is None
        of_ends = self._of_units(of.side.slopes) if with_slopes else None
        self.attribution = change.attributed(self._formula, with_slopes=with_slopes, of_ends=of_ends)
        sums = [moments.linear.sum(axis=1) for moments in self._moments]
        self.ends = np.stack([self._formula(of_side[None])[0] for of_side in sums])

    @property
    def hidden(self) -> Bools:
        """Pairs whose strata do not tell how much parts vary."""
        if self._of.clusters is None:
            return hidden(self._moments, None)
        period, reference = self._clusters
        return hidden(self._moments, (period.clusters, reference.clusters))

    def _of_units(self, slopes: Floats) -> tuple[Floats, Floats]:
        return slopes[self._units[0]], slopes[self._units[1]]

    def _formula(self, sums: Floats) -> Floats:
        return self._of.formula(sums, self._units[0])

    def _change(self, period: Moments, reference: Moments) -> Change:
        return Change(period.linear, reference.linear, self._of.moments.unit, self._factors)

    def spread_of(self, factor: str, column: int, at_the_end: Sequence[Bools]) -> tuple[Spread, Bools]:
        """Of a part of a metric; and whether it moves with the factor at all."""
        if self._of.clusters is None:
            moments, attribution = (
                (self._moments, self.attribution) if self._of.enlarged is None else self._with_more_rows
            )
            sides, moves = self._of_rows(moments, attribution, factor, column)
            return between(*sides), moves
        sides, moves = self._of_clusters(factor, column)
        if self._of.enlarged is None:
            return between(*sides), moves
        # A part may vary with nothing although the metric does: with the prior alone where all rows of a class are decided alike.
        may_move = moves | self._is_alike
        no_width = (_NOTHING * np.abs(self.ends[..., column]).max(axis=0)) ** 2
        with np.errstate(all="ignore"):
            alike = [
                at_end | (may_move & (side.variance <= no_width))
                for at_end, side in zip(at_the_end, sides, strict=True)
            ]
        if any(of_side.any() for of_side in alike):
            # Rates of 0 or 1 vary as those of as many independent rows as there are clusters.
            of_rows, rows_move = self._of_rows(*self._with_more_rows, factor, column)
            sides = [_either(*of) for of in zip(alike, of_rows, sides, strict=True)]
            moves = np.where(alike[0] | alike[1], rows_move, moves)
        return between(*sides), moves

    @property
    def _is_alike(self) -> Bools:
        """Whether a class lacks one of the decisions in either period, (pairs,): sums of 0, with which nothing is seen to move."""
        found = np.zeros(len(self._units[0]), dtype=bool)
        for moments in self._moments:
            sums = moments.linear.sum(axis=1)
            found |= ((sums == 0) & ((sums @ moments.unit) > 0)[..., None]).any(axis=(-1, -2))
        return found

    @cached_property
    def _with_more_rows(self) -> tuple[tuple[Moments, ...], Attribution]:
        """With a little more of each decision in each class; of clusters, of as many rows as there are of these."""
        made = []
        for moments, chosen in zip(self._moments, self._units, strict=True):
            fewer = moments
            if self._of.clusters is not None:
                flat = _flat(moments)
                # Clusters may be in several strata: these have their shares of them.
                with np.errstate(all="ignore"):
                    share = moments.weight / moments.weight.sum(axis=1, keepdims=True)
                number = self._of.clusters.number[chosen][:, None] * share
                fewer = _of_shape(of_so_many_rows(flat, number.reshape(flat.weight.shape)), moments)
            made.append(self._with_rows(fewer))
        of_ends = self._of_units(self._of.side.with_more_rows[1]) if self._of.clusters is None else None
        return tuple(made), self._change(*made).attributed(self._formula, of_ends=of_ends)

    def _with_rows(self, moments: Moments) -> Moments:
        """More rows of each class, dealt out to its strata by how much they have of it."""
        assert self._of.enlarged is not None
        whole = Moments(moments.linear.sum(axis=1), moments.square.sum(axis=1), moments.unit)
        more = self._of.enlarged(whole)
        with np.errstate(all="ignore"):
            share = np.nan_to_num(moments.weight / whole.weight[:, None])
        linear = moments.linear + share[..., None] * (more.linear - whole.linear)[:, None]
        square = moments.square + share[..., None, None] * (more.square - whole.square)[:, None]
        return Moments(linear, square, moments.unit)

    def _of_rows(
        self, moments: tuple[Moments, ...], attribution: Attribution, factor: str, column: int
    ) -> tuple[list[Parts], Bools]:
        slopes = [of_side[..., column] for of_side in attribution.slopes[factor]]
        spreads = [
            spread_of_rows(of_side, slope, factor != PRIOR) for of_side, slope in zip(moments, slopes, strict=True)
        ]
        return [Parts(None, spread.variance, spread.df) for spread in spreads], self._moves(moments, slopes, column)

    def _of_clusters(self, factor: str, column: int) -> tuple[list[Parts], Bools]:
        assert self._of.clusters is not None
        slopes = [of_side[..., column] for of_side in self.attribution.slopes[factor]]
        period, reference = (
            of_side.parts(slope, factor != PRIOR) for of_side, slope in zip(self._clusters, slopes, strict=True)
        )
        assert reference.shared is not None
        # The slopes of the reference are those of the difference, so that its influences are added, and not taken off.
        other = Parts(-reference.shared, reference.own, reference.df)
        return [period, other], self._moves(self._moments, slopes, column)

    @cached_property
    def _clusters(self) -> tuple[InClusters, InClusters]:
        """Of the period, and of its reference."""
        assert self._of.clusters is not None
        of, single = self._of.clusters, self._of.clusters.single
        period, reference = (
            InClusters(
                Clusters(
                    np.ascontiguousarray(of.linear[chosen]),
                    of.weight[chosen],
                    of.unit,
                    None if single is None else _taken(single, chosen),
                )
            )
            for chosen in self._units
        )
        return period, reference

    def _moves(self, moments: Sequence[Moments], slopes: Sequence[Floats], column: int) -> Bools:
        """Whether slopes are more than what rounding leaves."""
        with np.errstate(all="ignore"):
            moved = sum(
                np.abs(slope * of.linear).sum(axis=(1, 2, 3)) for slope, of in zip(slopes, moments, strict=True)
            )
            return np.asarray(~(moved <= _NO_SLOPE * np.abs(self.ends[..., column]).max(axis=0)))


def _either(chosen: Bools, of_rows: Parts, of_clusters: Parts) -> Parts:
    """What varies as rows do where that is chosen."""
    assert of_clusters.shared is not None
    own, df = (np.where(chosen, *of) for of in ((of_rows.own, of_clusters.own), (of_rows.df, of_clusters.df)))
    return Parts(np.where(chosen[:, None], 0.0, of_clusters.shared), own, df)


def _taken(moments: Moments, chosen: Integers) -> Moments:
    return Moments(moments.linear[chosen], moments.square[chosen], moments.unit)


def _flat(moments: Moments) -> Moments:
    """Each class of each stratum as a class of its own."""
    n, m, k, f = moments.linear.shape
    return Moments(moments.linear.reshape(n, m * k, f), moments.square.reshape(n, m * k, f, f), moments.unit)


def _of_shape(flat: Moments, like: Moments) -> Moments:
    return Moments(flat.linear.reshape(like.linear.shape), flat.square.reshape(like.square.shape), flat.unit)
