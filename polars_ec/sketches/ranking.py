"""Ranking metrics from cells sorted by score: variances by influence, biases by the jackknife, and confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import polars as pl

from polars_ec.arguments.keywords import Request
from polars_ec.formulas.decisions import interval_scale
from polars_ec.formulas.ranking import RankingArguments, areas, columns_for, evaluate_all, prepare
from polars_ec.formulas.ranking_influence import OPERATING_POINTS, SHARE_VARIANCE, influence, influence_on_share
from polars_ec.formulas.sums import GROUP
from polars_ec.inference import confidence
from polars_ec.inference.bootstrap import DenseSums, OneSumEach, Units, UnitSums, bootstrap
from polars_ec.inference.confidence import summed
from polars_ec.inference.ranking import OPTIMISTIC, auc_limits, ranking_limits_of, widened
from polars_ec.numerics import Bools, Floats, Integers, floats, np, quiet
from polars_ec.sketches.moments import UsableCells
from polars_ec.sketches.sums import ordered_cells

CELL = "__ec_ordered"
"""The number of a cell among all, group by group, from the highest down."""

# Cells to a nat of the log-odds of the share of either class that is above.
_RESOLUTION = 8
# The number of cells per block of the jackknife.
_BLOCK = 2**15


@dataclass(frozen=True)
class Clustered:
    """Cells of the rows of each bucket: number of the cell, class, bucket (-1: no key), sum of w and of w^2."""

    cell: Integers
    label: Integers
    bucket: Integers
    weight: Floats
    weight2: Floats

    def only(self, which: Bools | Integers | slice) -> Clustered:
        return Clustered(
            self.cell[which], self.label[which], self.bucket[which], self.weight[which], self.weight2[which]
        )

    @cached_property
    def by_key(self) -> tuple[Clustered, Clustered]:
        """The rows in buckets, and the rows without a key."""
        has_key = self.bucket >= 0
        return (self, self.only(slice(0))) if has_key.all() else (self.only(has_key), self.only(~has_key))

    @cached_property
    def place(self) -> Integers:
        """The number of the cell and class."""
        return self.cell * 2 + self.label


@dataclass(frozen=True)
class RankedCells:
    """`frame`: as `prepare` takes it, with CELL and the sums of squares `v1`, `v0`; `clustered`: None of independent rows."""

    frame: pl.DataFrame
    group_ids: pl.Series
    group: Integers
    clustered: Clustered | None

    @classmethod
    def of(cls, cells: UsableCells, weighted: bool) -> RankedCells:
        """Order the cells; those of clusters are ordered together."""
        merged, place = cells.merged if cells.buckets else (cells, None)
        frame = ordered_cells(merged.frame, cells.grid, weighted).with_row_index(CELL)
        clustered = None
        if place is not None:
            keys = [GROUP, *cells.grid.cell_columns]
            numbered = merged.frame.join(frame.select(*keys, CELL), on=keys, how="left", maintain_order="left")
            cell = numbered[CELL].to_numpy().astype(np.int64)[place]
            bucket = np.where(cells.bucket < cells.buckets, cells.bucket, -1)
            clustered = Clustered(cell, cells.label, bucket, cells.weight, cells.weight2)
        return cls(frame, *_groups(frame), clustered)

    @property
    def size(self) -> int:
        """The number of groups."""
        return len(self.group_ids)

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """(cells, classes): sums of w, and of w^2."""
        weight, weight2 = (self.frame.select(f"{x}0", f"{x}1").to_numpy() for x in "wv")
        return weight, weight2

    def total(self, values: Floats) -> Floats:
        """(groups, classes): sums of the values of cells and classes."""
        return np.stack([summed(self.group, values[:, i], self.size) for i in range(2)], axis=-1)

    @property
    def rows(self) -> Floats:
        """(groups, classes): effective sample size."""
        weight, weight2 = map(self.total, self.weights)
        return weight**2 / weight2

    def blocks(self) -> Iterator[RankedCells]:
        """Blocks of groups, so that intermediate tables stay small."""
        starts, clustered = self.starts, self.clustered
        if clustered is not None and (np.diff(self.group[clustered.cell]) < 0).any():
            clustered = clustered.only(np.argsort(clustered.cell, kind="stable"))
        of_group = None if clustered is None else self.group[clustered.cell]
        first = 0
        while first < self.size:
            last = max(int(np.searchsorted(starts, starts[first] + _BLOCK, side="right")) - 1, first + 1)
            cells = slice(int(starts[first]), int(starts[last]))
            inside = None
            if clustered is not None and of_group is not None:
                inside = clustered.only(slice(*np.searchsorted(of_group, [first, last])))
                inside = replace(inside, cell=inside.cell - cells.start)
            yield RankedCells(self.frame[cells], self.group_ids[first:last], self.group[cells] - first, inside)
            first = last

    def coarser(self) -> RankedCells:
        """Join neighbours: 8 cells to a nat of the log-odds of either class's share above them, so that only order counts."""
        starts = [pl.col(GROUP) != pl.col(GROUP).shift()]
        for w in ("w1", "w0"):
            weight = pl.col(w)
            share = ((weight.cum_sum() - weight / 2) / weight.sum()).over(GROUP)
            place = ((share.log() - (-share).log1p()) * _RESOLUTION).floor()
            starts.append(place != place.shift())
        run = pl.any_horizontal(starts).fill_null(value=True).cum_sum().alias(CELL)
        weights = ("w1", "w0", "v1", "v0")
        frame = (
            self.frame.drop(CELL)
            .group_by(run, maintain_order=True)
            .agg(
                pl.col(GROUP).first(),
                pl.col(weights).sum(),
                pl.col("point").all() & (pl.len() == 1),
                pl.col("whole").first(),
            )
            .with_columns(threshold=pl.lit(None, dtype=pl.Float64))
        )
        return RankedCells(frame, *_groups(frame), None)

    def part_weights(self, seed: int) -> Floats:
        """The weight in each part, (parts, cells, classes), from buckets, and from independent rows at random."""
        shape = (confidence.PARTS, self.frame.height, 2)
        if self.clustered is None:
            return confidence.random_parts(*self.weights, self.starts[:-1], seed)
        with_key, alone = self.clustered.by_key
        index = (with_key.bucket % confidence.PARTS) * (shape[1] * 2) + with_key.place
        parts = summed(index, with_key.weight, *shape)
        if len(alone.cell):
            sums = [summed(alone.place, of, *shape[1:]) for of in (alone.weight, alone.weight2)]
            parts = parts + confidence.random_parts(sums[0], sums[1], self.starts[:-1], seed)
        return parts

    def per_bucket(self, amounts: Floats) -> Floats:
        """(groups, buckets, classes): sums over the rows in buckets."""
        assert self.clustered is not None
        with_key = self.clustered.by_key[0]
        shape = (self.size, int(np.max(with_key.bucket, initial=0)) + 1, 2)
        place = (self.group[with_key.cell] * shape[1] + with_key.bucket) * 2 + with_key.label
        return summed(place, amounts, *shape)

    @cached_property
    def weight_by_bucket(self) -> Floats:
        """(groups, buckets, classes): sums of w."""
        assert self.clustered is not None
        return self.per_bucket(self.clustered.by_key[0].weight)

    @cached_property
    def starts(self) -> Integers:
        """The first cell of each group, and the end of the last."""
        return np.searchsorted(self.group, np.arange(self.size + 1))


@dataclass(frozen=True, eq=False)
class Ranking:
    """Ranking metrics of cells, whose rows may have weights."""

    cells: UsableCells
    weighted: bool
    metrics: Sequence[str]
    arguments: RankingArguments
    prior: pl.DataFrame | None

    @cached_property
    def ranked(self) -> RankedCells:
        """The cells in order."""
        return RankedCells.of(self.cells, self.weighted)

    @cached_property
    def coarse(self) -> RankedCells:
        """As few cells as order needs; those of clusters are few as they come."""
        return self.ranked.coarser() if self.ranked.clustered is None else self.ranked


@dataclass(frozen=True)
class Replicates:
    """The weight in each part, (groups, parts), and each metric without it, NaN if undefined; `whole` is for all rows."""

    weight: Floats
    values: dict[str, Floats]
    whole: dict[str, Floats]

    def bias(self, name: str) -> Floats:
        """The jackknife estimate of the bias of the metric, NaN if undefined without some part."""
        used, number = self.weight > 0, (self.weight > 0).sum(axis=-1)
        mean = np.where(used, self.values[name], 0.0).sum(axis=-1) / number
        return np.asarray((number - 1) * (mean - self.whole[name]), dtype=np.float64)


def replicates_of(ranking: Ranking, metrics: Sequence[str], seed: int) -> Replicates:
    """Compute these metrics without each of the parts."""
    weights = [np.empty((0, confidence.PARTS))]
    values = {name: [np.empty((0, confidence.PARTS))] for name in metrics}
    whole = {name: [np.empty(0)] for name in metrics}
    for block in ranking.coarse.blocks() if metrics else ():
        of_block = _replicates_of_block(ranking, block, metrics, seed)
        weights.append(of_block.weight)
        for name in metrics:
            values[name].append(of_block.values[name])
            whole[name].append(of_block.whole[name])
    joined = [{name: np.concatenate(parts) for name, parts in found.items()} for found in (values, whole)]
    return Replicates(np.concatenate(weights), *joined)


def _replicates_of_block(ranking: Ranking, ranked: RankedCells, metrics: Sequence[str], seed: int) -> Replicates:
    """Each group without each part is a group of its own, followed by the complete groups."""
    in_parts = ranked.part_weights(seed)
    total = in_parts.sum(axis=0)
    rest = np.concatenate([np.clip(total - in_parts, 0, None), total[None]])
    number = (np.arange(confidence.PARTS + 1)[:, None] * ranked.size + ranked.group).ravel()
    # The variance does not depend on the position of rows within a cell.
    tiled = pl.DataFrame({GROUP: number, "w1": rest[:, :, 1].ravel(), "w0": rest[:, :, 0].ravel()}).with_columns(
        point=pl.lit(value=True), whole=pl.lit(ranked.frame["whole"].all()), threshold=pl.lit(None, dtype=pl.Float64)
    )
    found = _of_variants(ranking, metrics, tiled, ranked.group_ids, confidence.PARTS + 1)
    values, whole = {name: of[:-1].T for name, of in found.items()}, {name: of[-1] for name, of in found.items()}
    weight = np.stack([summed(ranked.group, part.sum(axis=-1), ranked.size) for part in in_parts], axis=-1)
    return Replicates(weight, values, whole)


def _of_variants(
    ranking: Ranking, metrics: Sequence[str], cells: pl.DataFrame, group_ids: pl.Series, n_variants: int
) -> dict[str, Floats]:
    """Each metric, (variants, groups), NaN if undefined; GROUP numbers the groups of `cells`, one variant after the other."""
    prior, size = ranking.prior, n_variants * len(group_ids)
    if prior is not None:
        of_groups = pl.DataFrame({GROUP: group_ids}).join(prior, on=GROUP, how="left", maintain_order="left")
        number = pl.int_range(pl.len(), dtype=pl.Int64).cast(cells.schema[GROUP])
        prior = pl.concat([of_groups] * n_variants).with_columns(number.alias(GROUP))
    prepared = prepare(cells, prior, columns_for(metrics, ranking.arguments))
    values = {}
    for name, of in evaluate_all(prepared, metrics, ranking.arguments).items():
        values[name] = np.full(size, np.nan)
        values[name][of[GROUP].to_numpy()] = floats(of["value"])
    return {name: of.reshape(n_variants, -1) for name, of in values.items()}


def _groups(frame: pl.DataFrame) -> tuple[pl.Series, Integers]:
    ids, place = np.unique(frame[GROUP].to_numpy(), return_inverse=True)
    return pl.Series(GROUP, ids, dtype=frame.schema[GROUP]), place.astype(np.int64)


# Variance and intervals of ranking metrics, from the influence of each cell.

# The rounding error of an area over all rows.
_NO_INFLUENCE = 1e-9


@quiet
def ranking_limits(ranking: Ranking, values: pl.DataFrame, level: float, seed: int = 0) -> pl.DataFrame:
    """GROUP, `NAME_ci_low` and `NAME_ci_high` of each metric, null if unknown, beside `values`: GROUP, `NAME` and `NAME_error`."""
    variances, replicates = ranking_variances(ranking, seed)
    ends = {}
    for name, (value, error) in _estimates(ranking.ranked, values, variances).items():
        variance = variances[name]
        if name == "auc_roc":
            low, high = auc_limits(value, variance, _independent_rows(ranking, variance), level)
        else:
            is_too_good = name in OPTIMISTIC and (name, ranking.arguments.method) != ("eer", "linear")
            bias = replicates.bias(name) if is_too_good else None
            low, high = ranking_limits_of(name, value, variance, ranking.ranked.rows, bias, level)
        ends[name] = widened(name, low, high, error)
    return _table(ranking.ranked, ends)


def _estimates(ranked: RankedCells, values: pl.DataFrame, metrics: Iterable[str]) -> dict[str, tuple[Floats, Floats]]:
    table = pl.DataFrame({GROUP: ranked.group_ids}).join(values, on=GROUP, how="left", maintain_order="left")
    return {name: (floats(table[name]), floats(table[f"{name}_error"])) for name in metrics}


def _table(ranked: RankedCells, limits: Mapping[str, confidence.Limits]) -> pl.DataFrame:
    columns = {
        f"{name}_ci_{end}": pl.Series(values, dtype=pl.Float64).fill_nan(None)
        for name, ends in limits.items()
        for end, values in zip(("low", "high"), ends, strict=True)
    }
    return pl.DataFrame({GROUP: ranked.group_ids, **columns})


@quiet
def ranking_variances(ranking: Ranking, seed: int = 0) -> tuple[dict[str, confidence.Variance], Replicates]:
    """The variance of each metric in each group; and replicates of those that are too good."""
    prepared = prepare(ranking.ranked.frame, ranking.prior)
    variances = {
        name: _of_influence(ranking.ranked, _of_cells(ranking.ranked, _influence(ranking, prepared, name)))
        for name in ranking.metrics
    }
    return variances, replicates_of(ranking, [name for name in ranking.metrics if name in OPTIMISTIC], seed)


@quiet
def ranking_influence(ranking: Ranking, metric: str) -> pl.DataFrame:
    """GROUP, `class`, the cell and the `influence` of a row of weight 1 on a metric; buckets are taken together."""
    found = _influence(ranking, prepare(ranking.ranked.frame, ranking.prior), metric)
    of_class, cell = [found.filter(pl.col(f"w{i}") > 0) for i in range(2)], ranking.cells.grid.cell_columns
    return pl.concat(
        of.select(GROUP, pl.lit(i, dtype=pl.Int8).alias("class"), *cell, influence=f"influence{i}")
        for i, of in enumerate(of_class)
    )


def _influence(ranking: Ranking, prepared: pl.DataFrame, metric: str) -> pl.DataFrame:
    ranked, arguments = ranking.ranked, ranking.arguments
    if metric in OPERATING_POINTS:
        on_share = _of_influence(ranked, _of_cells(ranked, influence_on_share(prepared, metric, arguments)))
        variance = pl.DataFrame({GROUP: ranked.group_ids, SHARE_VARIANCE: on_share.variance}).fill_nan(None)
        prepared = prepared.join(variance, on=GROUP, how="left", maintain_order="left")
    return influence(prepared, metric, arguments, stated=ranking.prior is not None)


def _of_cells(ranked: RankedCells, found: pl.DataFrame) -> Floats:
    """The influence, (cells, classes); NaN in groups that lack a class."""
    of_cells = np.full((ranked.frame.height, 2), np.nan)
    of_cells[found[CELL].to_numpy()] = found.select("influence0", "influence1").to_numpy()
    return of_cells


def _of_influence(ranked: RankedCells, influence: Floats) -> confidence.Variance:
    if ranked.clustered is not None:
        return _variance_of_clusters(ranked, ranked.clustered, influence)
    return _variance_of_rows(ranked, influence)


def _variance_of_rows(ranked: RankedCells, influence: Floats) -> confidence.Variance:
    weight, weight2 = ranked.weights
    # A class that has no rows in a cell has no influence there either.
    psi = np.where(weight > 0, influence, 0.0)
    return confidence.Singletons.of(ranked.total, weight, weight2, psi).variance


def _variance_of_clusters(ranked: RankedCells, clustered: Clustered, influence: Floats) -> confidence.Variance:
    """The variance of rows in clusters, with the features 1 and psi of a row."""
    with_key, alone = clustered.by_key
    of_psi = ranked.per_bucket(with_key.weight * influence.ravel()[with_key.place])
    linear = np.stack([ranked.weight_by_bucket, of_psi], axis=-1)
    singletons, unit = None, np.array([1.0, 0.0])
    if len(alone.cell):
        psi = influence.ravel()[alone.place]
        sums = [_per_class(ranked, alone, alone.weight2 * psi**power) for power in range(3)]
        square = np.stack([np.stack(sums[:2], axis=-1), np.stack(sums[1:], axis=-1)], axis=-1)
        linear_of_rows = [_per_class(ranked, alone, alone.weight * of) for of in (np.ones_like(psi), psi)]
        singletons = confidence.Moments(np.stack(linear_of_rows, axis=-1), square, unit)
    gradient = np.broadcast_to(1 - unit, (ranked.size, 2, 2))
    variance = confidence.Clusters(linear, linear[..., 0].sum(axis=-1), unit, singletons).variance(gradient)
    # Influences of a class add up to 0, in one bucket too.
    weight = ranked.weights[0]
    differs = ranked.total(np.where(weight > 0, weight * np.abs(influence), 0.0)) > _NO_INFLUENCE
    return variance.only(np.asarray(~(confidence.in_one_cluster(linear[..., 0], singletons) & differs).any(axis=-1)))


def _per_class(ranked: RankedCells, of: Clustered, amounts: Floats) -> Floats:
    """(groups, classes): their sums."""
    return summed(ranked.group[of.cell] * 2 + of.label, amounts, ranked.size, 2)


def _independent_rows(ranking: Ranking, variance: confidence.Variance) -> Floats:
    """(groups, classes): the effective sample size for the AUC; NaN where there are too few clusters."""
    ranked, rows = ranking.ranked, ranking.ranked.rows
    if ranked.clustered is None:
        return rows
    of_cells = _of_cells(ranked, influence(prepare(ranked.frame, None), "auc_roc", ranking.arguments, stated=False))
    weight, alone = ranked.weight_by_bucket, ranked.clustered.by_key[1]
    one, squared = (_per_class(ranked, alone, of) for of in (alone.weight, alone.weight2))
    clusters = [confidence.effective_clusters(weight[..., i], one[:, i], squared[:, i]) for i in range(2)]
    # The effective number of rows: reduced by the ratio of the variance to that of independent rows; if both are 0, the effective number of clusters.
    larger = variance.variance / _variance_of_rows(ranked, of_cells).variance
    fewer = rows / np.fmax(larger, 1)[:, None]
    fewest = np.fmin(rows, np.stack(clusters, axis=-1))
    effective = np.where((larger > 0)[:, None] & np.isfinite(fewer), np.fmax(fewer, 1), fewest)
    return np.where(np.isnan(variance.variance)[:, None], np.nan, effective)


# Intervals of ranking metrics by the bootstrap, which resamples cells of rows or clusters.


def limits_of_ranks(ranking: Ranking, values: pl.DataFrame, request: Request) -> pl.DataFrame:
    """Confidence intervals as `ranking_limits` gives them, by the method of the request."""
    if not request.is_resampled:
        return ranking_limits(ranking, values, request.level, request.seed)
    drawn = _Resamples(ranking)
    seconds = 0.03 if set(ranking.metrics) == {"auc_roc"} else 0.2
    low, high = bootstrap(drawn.values, drawn.units, drawn.unit_sums, request, seconds)
    at_hand, ends = drawn.at_hand(), {}
    for m, (name, (value, error)) in enumerate(_estimates(ranking.coarse, values, ranking.metrics).items()):
        moved_low, moved_high = (_moved(limit[:, m], at_hand[:, m], value, name) for limit in (low, high))
        ends[name] = moved_low - error, moved_high + error
    return _table(ranking.coarse, ends)


def _moved(limit: Floats, at_hand: Floats, value: Floats, metric: str) -> Floats:
    """Bounds for the value from coarse cells, moved to the exact value."""
    scale = interval_scale(metric)
    if scale == "logit":
        # Above 1 by the rounding of weights there is no logit.
        limit, at_hand = np.clip([limit, at_hand], 0, 1)
    with np.errstate(all="ignore"):
        off = np.where(value == at_hand, 0.0, confidence.forward(scale, value) - confidence.forward(scale, at_hand))
        return np.where(off == 0, limit, confidence.inverse(scale, confidence.forward(scale, limit) + off))


@dataclass(frozen=True, eq=False)
class _Resamples:
    ranking: Ranking

    @property
    def cells(self) -> RankedCells:
        return self.ranking.coarse

    @cached_property
    def width(self) -> int:
        """The number of cells of the largest group."""
        return int(np.diff(self.cells.starts).max(initial=0))

    @cached_property
    def _of_units(self) -> tuple[Clustered, Integers, Units]:
        """Rows that are resampled together (in bucket -1, one by one), sorted by unit, with the unit of each and the units."""
        entries = self.cells.clustered
        if entries is None:
            weight, weight2 = self.cells.weights
            cell, label = np.nonzero(weight > 0)
            entries = Clustered(cell, label, np.full(len(cell), -1), weight[cell, label], weight2[cell, label])
        # Buckets come first, then rows, cell by cell from the highest down.
        rows = entries.bucket < 0
        group = self.cells.group[entries.cell]
        entries = entries.only(np.lexsort((entries.label, entries.cell, entries.bucket, rows, group)))
        group, bucket, rows = self.cells.group[entries.cell], entries.bucket, entries.bucket < 0
        new = np.ones(len(rows), dtype=bool)
        new[1:] = (group[1:] != group[:-1]) | (bucket[1:] != bucket[:-1]) | rows[1:]
        with np.errstate(all="ignore"):
            number = np.where(rows, entries.weight**2 / entries.weight2, 1.0)[new]
        starts = np.searchsorted(group[new], np.arange(self.cells.size + 1))
        return entries, np.cumsum(new) - 1, Units(starts, number)

    @property
    def units(self) -> Units:
        return self._of_units[2]

    @property
    def unit_sums(self) -> UnitSums:
        """The weights that each unit has in the cells and classes of its group."""
        if self.cells.clustered is not None:
            return DenseSums(self._sums, (self.width, 2))
        # A unit is the rows of one cell and class.
        entries, _, units = self._of_units
        place = (entries.cell - self.cells.starts[self.cells.group[entries.cell]]) * 2 + entries.label
        return OneSumEach(units, place, entries.weight, (self.width, 2))

    def _sums(self, group: int) -> Floats:
        """(units, cells, classes): the weights that each unit of a group has in its cells."""
        entries, unit, units = self._of_units
        chosen = units.of(group)
        placed = slice(*np.searchsorted(unit, (chosen.start, chosen.stop)))
        drawn, of_unit = entries.only(placed), unit[placed] - chosen.start
        found = np.zeros((chosen.stop - chosen.start, self.width, 2))
        np.add.at(found, (of_unit, drawn.cell - self.cells.starts[group], drawn.label), drawn.weight)
        return found

    def at_hand(self) -> Floats:
        """(groups, metrics): of all rows."""
        weight = np.zeros((1, self.cells.size, self.width, 2))
        place = np.arange(self.cells.frame.height) - self.cells.starts[self.cells.group]
        weight[0, self.cells.group, place] = self.cells.frame.select("w0", "w1").to_numpy()
        of_all: Floats = self.values(weight, slice(0, self.cells.size))[0]
        return of_all

    def values(self, weight: Floats, groups: slice) -> Floats:
        """(variants, groups, metrics), of the weights in cells, (variants, groups, cells, classes); NaN where there are none."""
        of_metrics = {"auc_roc": areas(weight)}
        if others := [name for name in self.ranking.metrics if name != "auc_roc"]:
            variant, group, place = np.nonzero((weight[..., 0] > 0) | (weight[..., 1] > 0))
            cell, ids = self.cells.starts[group + groups.start] + place, self.cells.group_ids[groups]
            drawn = self.cells.frame.select("point", "whole", "threshold")[cell].with_columns(
                pl.Series(GROUP, variant * len(ids) + group, dtype=ids.dtype).set_sorted(),
                *(pl.Series(f"w{i}", weight[variant, group, place, i]) for i in range(2)),
            )
            of_metrics |= _of_variants(self.ranking, others, drawn, ids, len(weight))
        return np.stack([of_metrics[name] for name in self.ranking.metrics], axis=-1)
