"""Limits of ranking metrics; by the bootstrap of cells of rows, or of clusters, that are drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from polars_ec.cells.ranking_parts import Ranking
from polars_ec.cells.ranking_spread import ranking_limits
from polars_ec.formulas.ranking import evaluate, prepare
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.arguments import Request
from polars_ec.intervals.bootstrap import DenseSums, Units, bootstrap
from polars_ec.intervals.scales import forward, inverse, scale_of

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]


def limits_of_ranks(ranking: Ranking, values: pl.DataFrame, request: Request) -> pl.DataFrame:
    """What `ranking_limits` gives, in the way that is asked for."""
    if not request.is_drawn:
        return ranking_limits(ranking, values, request.level, request.seed)
    drawn = _Drawn(ranking)
    low, high = bootstrap(
        drawn.values,
        drawn.units,
        DenseSums(drawn.sums, (drawn.width, 2)),
        level=request.level,
        corrected=request.method == "bca",
        replicates=request.replicates,
        seed=request.seed,
    )
    table = pl.DataFrame({GROUP: ranking.coarse.group_ids})
    estimates = table.join(values, on=GROUP, how="left", maintain_order="left")
    at_hand = drawn.at_hand()
    for m, name in enumerate(ranking.metrics):
        value, error = (estimates[column].cast(pl.Float64).to_numpy() for column in (name, f"{name}_error"))
        ends = {"low": (low[:, m], -error), "high": (high[:, m], error)}
        table = table.with_columns(
            pl.Series(f"{name}_ci_{end}", _moved(limit, at_hand[:, m], value, name) + off).fill_nan(None)
            for end, (limit, off) in ends.items()
        )
    return table


def _moved(limit: Floats, at_hand: Floats, value: Floats, metric: str) -> Floats:
    """A limit of the value that coarse cells have at hand, as one of the value itself."""
    scale = scale_of(metric)
    with np.errstate(all="ignore"):
        off = np.where(value == at_hand, 0.0, forward(scale, value) - forward(scale, at_hand))
        return np.where(off == 0, limit, inverse(scale, forward(scale, limit) + off))


@dataclass(frozen=True, eq=False)
class _Drawn:
    ranking: Ranking

    @cached_property
    def starts(self) -> Integers:
        """Where the cells of each group begin, and the end of the last."""
        return np.searchsorted(self.ranking.coarse.group, np.arange(self.ranking.coarse.size + 1))

    @cached_property
    def width(self) -> int:
        """How many cells the largest group has."""
        return int(np.diff(self.starts).max(initial=0))

    @cached_property
    def _entries(self) -> tuple[Integers, Integers, Floats, Floats, Integers]:
        """Of rows that are drawn together: cell, class, sum of w and of w^2, and bucket (-1: they are rows)."""
        clustered = self.ranking.coarse.clustered
        if clustered is not None:
            return clustered.cell, clustered.label, clustered.weight, clustered.weight2, clustered.bucket
        weight, weight2 = (self.ranking.coarse.frame.select(f"{x}0", f"{x}1").to_numpy() for x in "wv")
        cell, label = np.nonzero(weight > 0)
        return cell, label, weight[cell, label], weight2[cell, label], np.full(len(cell), -1)

    @cached_property
    def _of_units(self) -> tuple[Integers, Integers, Units]:
        """The entries in the order of their units, the unit of each, and the units."""
        cell, label, weight, weight2, bucket = self._entries
        rows = bucket < 0
        # Buckets come first, then rows, cell by cell from the highest down.
        order = np.lexsort((label, cell, bucket, rows, self.ranking.coarse.group[cell]))
        group, of_bucket, alone = self.ranking.coarse.group[cell][order], bucket[order], rows[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (group[1:] != group[:-1]) | (of_bucket[1:] != of_bucket[:-1]) | alone[1:]
        with np.errstate(all="ignore"):
            number = np.where(alone, (weight**2 / weight2)[order], 1.0)[new]
        starts = np.searchsorted(group[new], np.arange(self.ranking.coarse.size + 1))
        return order, np.cumsum(new) - 1, Units(starts, number)

    @property
    def units(self) -> Units:
        """What is drawn."""
        return self._of_units[2]

    def sums(self, group: int) -> Floats:
        """(units, cells, classes): the weights that each unit of a group has in its cells."""
        order, unit, units = self._of_units
        cell, label, weight, *_ = self._entries
        chosen = units.of(group)
        entries = order[slice(*np.searchsorted(unit, (chosen.start, chosen.stop)))]
        found = np.zeros((chosen.stop - chosen.start, self.width, 2))
        of_unit = unit[slice(*np.searchsorted(unit, (chosen.start, chosen.stop)))] - chosen.start
        np.add.at(found, (of_unit, cell[entries] - self.starts[group], label[entries]), weight[entries])
        return found

    def at_hand(self) -> Floats:
        """(groups, metrics): of all rows."""
        weight = np.zeros((1, self.ranking.coarse.size, self.width, 2))
        place = np.arange(self.ranking.coarse.frame.height) - self.starts[self.ranking.coarse.group]
        weight[0, self.ranking.coarse.group, place] = self.ranking.coarse.frame.select("w0", "w1").to_numpy()
        of_all: Floats = self.values(weight, slice(0, self.ranking.coarse.size))[0]
        return of_all

    def values(self, weight: Floats, groups: slice) -> Floats:
        """(variants, groups, metrics), of the weights in cells, (variants, groups, cells, classes); NaN where there are none."""
        n_variants, n_groups = weight.shape[:2]
        variant, group, place = np.nonzero((weight > 0).any(axis=-1))
        cell = self.starts[group + groups.start] + place
        drawn = self.ranking.coarse.frame[cell].with_columns(
            pl.Series(GROUP, variant * n_groups + group, dtype=self.ranking.coarse.group_ids.dtype),
            *(pl.Series(f"w{i}", weight[variant, group, place, i]) for i in range(2)),
        )
        prepared = prepare(drawn, self._prior(n_variants, groups))
        found = np.full((n_variants * n_groups, len(self.ranking.metrics)), np.nan)
        for m, name in enumerate(self.ranking.metrics):
            of_groups = evaluate(prepared, name, self.ranking.arguments)
            found[of_groups[GROUP].to_numpy(), m] = of_groups["value"].cast(pl.Float64).to_numpy()
        return found.reshape(n_variants, n_groups, len(self.ranking.metrics))

    def _prior(self, n_variants: int, groups: slice) -> pl.DataFrame | None:
        if self.ranking.prior is None:
            return None
        ids = self.ranking.coarse.group_ids[groups]
        own = pl.DataFrame({GROUP: ids}).join(self.ranking.prior, on=GROUP, how="left", maintain_order="left")
        every = pl.concat([own] * n_variants)
        return every.with_columns(pl.int_range(pl.len(), dtype=pl.UInt32).cast(ids.dtype).alias(GROUP))
