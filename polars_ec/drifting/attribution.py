"""The parts of a change: what each factor of a group's sums adds to it, averaged over the orders in which the factors change.

The sums of a class are N sum_m W_m pi_mi mu_mi over the strata m: W_m is the share of a stratum, pi_mi that of class i in it, and mu_mi
the mean of what rows of this class and stratum have, which is their decisions or losses. With some of the three of one period and the others
of the other, the formula of the metric gives a value; what a factor adds is the difference of two such values, which hangs on the factors that
have changed before. The mean over all orders is its Shapley value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polars_ec.drifting.choice import LIKELIHOOD, MIX, PRIOR
from polars_ec.intervals.estimates import slopes_of

Floats: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]
Formula: TypeAlias = Callable[[Floats], Floats]
"""From sums of w x, (variants, pairs, classes, features), to metrics, (variants, pairs, metrics); NaN for null."""


@dataclass(frozen=True)
class _Side:
    """Sums of one period as factors: (pairs,), (pairs, strata), (pairs, strata, classes), and these with features; 0 where there are no rows."""

    size: Floats
    of_stratum: Floats
    of_class: Floats
    share: Floats
    prior: Floats
    mean: Floats

    @classmethod
    def of(cls, linear: Floats, unit: Floats) -> _Side:
        of_class = np.asarray(linear @ unit, dtype=np.float64)
        of_stratum = of_class.sum(axis=-1)
        size = of_stratum.sum(axis=-1)
        return cls(
            size,
            of_stratum,
            of_class,
            ratio(of_stratum, size[:, None]),
            ratio(of_class, of_stratum[..., None]),
            ratio(linear, of_class[..., None]),
        )


@dataclass(frozen=True)
class Attribution:
    """Of each factor: its part, (pairs, metrics), the least and the most that it adds in any order; and the part's derivatives.

    `slopes` are with respect to the sums of the rows of each stratum and class of the period, and of the reference, each (pairs, strata,
    classes, features, metrics). Times the features of a row they are its influence, which sums to 0 over the rows.
    """

    part: dict[str, Floats]
    least: dict[str, Floats]
    most: dict[str, Floats]
    slopes: dict[str, tuple[Floats, Floats]]


class Change:
    """The sums of a period and of its reference, (pairs, strata, classes, features); `unit` times the features of a row is 1.

    What a stratum, or a class in it, lacks in one of them is taken to be as in the other: that is no change of it.
    """

    def __init__(self, period: Floats, reference: Floats, unit: Floats, factors: Sequence[str]) -> None:
        self._unit, self._factors = unit, tuple(factors)
        self._sides = (_Side.of(reference, unit), _Side.of(period, unit))

    def attributed(
        self, formula: Formula, *, with_slopes: bool = True, of_ends: tuple[Floats, Floats] | None = None
    ) -> Attribution:
        """The parts of the change of metrics; `of_ends` are the derivatives at the sums of the period and of the reference, where these are known."""
        subsets = list(self._subsets())
        sums = np.stack([self._sums(some) for some in subsets])
        values = dict(zip(subsets, formula(sums), strict=True))
        added = {
            factor: [values[some | {factor}] - values[some] for some in values if factor not in some]
            for factor in self._factors
        }
        shares = {factor: [self._share(len(some)) for some in values if factor not in some] for factor in self._factors}
        with np.errstate(all="ignore"):
            part = {
                factor: sum(
                    (share * of for share, of in zip(shares[factor], added[factor], strict=True)), np.float64(0)
                )
                for factor in self._factors
            }
        least = {factor: np.minimum.reduce(of) for factor, of in added.items()}
        most = {factor: np.maximum.reduce(of) for factor, of in added.items()}
        slopes = self._slopes(self._slopes_of_sums(formula, subsets, sums, of_ends)) if with_slopes else {}
        return Attribution(part, least, most, slopes)  # type: ignore[arg-type]

    def _subsets(self) -> Iterator[frozenset[str]]:
        """Factors that may be the period's while the others are the reference's."""
        for number in range(len(self._factors) + 1):
            yield from map(frozenset, combinations(self._factors, number))

    def _share(self, before: int) -> float:
        """Of the orders, those in which so many factors, and these, change before one."""
        number = len(self._factors)
        return 1 / (number * comb(number - 1, before))

    def _sums(self, some: Collection[str]) -> Floats:
        """The sums where these factors are the period's: (pairs, classes, features)."""
        share, prior, mean = self._mixed(some)
        of_class = share[..., None] * prior
        with np.errstate(all="ignore"):
            sums = np.where(of_class[..., None] == 0, 0.0, of_class[..., None] * mean).sum(axis=1)
        return np.asarray(sums * self._sides[1].size[:, None, None])

    def _mixed(self, some: Collection[str]) -> tuple[Floats, Floats, Floats]:
        reference, period = self._sides
        share = (period if MIX in some else reference).share
        of_prior, of_mean = self._is_of_period(some)
        prior = np.where(of_prior[..., None], period.prior, reference.prior)
        return share, prior, np.where(of_mean[..., None], period.mean, reference.mean)

    def _is_of_period(self, some: Collection[str]) -> tuple[Bools, Bools]:
        """Whether the prior of each stratum, and what rows of each class in it are like, are the period's."""
        reference, period = self._sides
        of_prior = period.of_stratum > 0 if PRIOR in some else reference.of_stratum <= 0
        of_mean = period.of_class > 0 if LIKELIHOOD in some else reference.of_class <= 0
        return of_prior, of_mean

    def _slopes_of_sums(
        self, formula: Formula, subsets: Sequence[frozenset[str]], sums: Floats, of_ends: tuple[Floats, Floats] | None
    ) -> dict[frozenset[str], Floats]:
        """The derivatives at the sums of each subset."""
        if of_ends is None:
            return dict(zip(subsets, _slopes_of_each(formula, sums), strict=True))
        reference, period = self._sides
        mixed = dict(zip(subsets[1:-1], _slopes_of_each(formula, sums[1:-1]), strict=True))
        # None of the factors are the period's, or all. Metrics do not hang on how many rows there are, and the sums are of those of the period.
        of_reference = of_ends[1] * ratio(reference.size, period.size)[:, None, None, None]
        return {subsets[0]: of_reference, **mixed, subsets[-1]: of_ends[0]}

    def _slopes(self, of_sums: Mapping[frozenset[str], Floats]) -> dict[str, tuple[Floats, Floats]]:
        found: dict[str, list[Floats]] = {}
        for some in of_sums:
            moved = self._slopes_of_sides(of_sums[some], some)
            for factor in self._factors:
                times = self._share(len(some - {factor})) * (1 if factor in some else -1)
                if factor in found:
                    for total, of_side in zip(found[factor], moved, strict=True):
                        total += times * of_side
                else:
                    found[factor] = [times * of_side for of_side in moved]
        return {factor: (period, reference) for factor, (period, reference) in found.items()}

    def _slopes_of_sides(self, of_sums: Floats, some: Collection[str]) -> tuple[Floats, Floats]:
        """How the value with these factors of the period moves with the rows of the period, and with those of the reference."""
        share, prior, mean = self._mixed(some)
        with np.errstate(all="ignore"):
            # What a row of a class, of a stratum, and any row is worth, at these factors.
            of_class = np.einsum(
                "pkfc,pmkf->pmkc", of_sums, np.where((share[..., None] * prior)[..., None] == 0, 0.0, mean)
            )
            of_stratum = np.einsum("pmkc,pmk->pmc", of_class, prior)
            of_all = np.einsum("pmc,pm->pc", of_stratum, share)
        of_prior, of_mean = self._is_of_period(some)
        size = self._sides[1].size
        found = []
        for number in (1, 0):
            side = self._sides[number]
            times_stratum = np.where(of_prior == number, ratio(size[:, None] * share, side.of_stratum), 0.0)
            of_rows = np.where(
                of_mean == number, ratio(size[:, None, None] * share[..., None] * prior, side.of_class), 0.0
            )
            level = times_stratum[..., None, None] * (of_class - of_stratum[:, :, None, :])
            if (MIX in some) == number:
                level = (
                    level
                    + ratio(size, side.size)[:, None, None, None] * (of_stratum - of_all[:, None, :])[:, :, None, :]
                )
            level = level - of_rows[..., None] * of_class
            found.append(of_rows[..., None, None] * of_sums[:, None] + level[..., None, :] * self._unit[:, None])
        return found[0], found[1]


def _slopes_of_each(formula: Formula, sums: Floats) -> Floats:
    """The derivatives at several tables of sums, (tables, pairs, classes, features), in one call: one more axis, of metrics, at the end."""
    tables = sums.shape[:2]

    def of_all(moved: Floats) -> Floats:
        values = formula(moved.reshape(len(moved) * tables[0], *sums.shape[1:]))
        return values.reshape(len(moved), tables[0] * tables[1], values.shape[-1])

    slopes = slopes_of(of_all, sums.reshape(tables[0] * tables[1], *sums.shape[2:]))
    return slopes.reshape(*sums.shape, slopes.shape[-1])


def ratio(numerator: Floats, denominator: Floats) -> Floats:
    """0 where the denominator is."""
    with np.errstate(all="ignore"):
        return np.asarray(np.where(denominator > 0, numerator / denominator, 0.0), dtype=np.float64)
