"""Pointwise intervals of curves: at each point those of its metrics, as if it were the only one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl

from polars_ec.cells.cells import Cells
from polars_ec.cells.grid import BUCKET
from polars_ec.cells.intervals import formula_of
from polars_ec.cells.moments import Floats, Integers, check_squares, usable_rows
from polars_ec.cells.ordered import edge_columns
from polars_ec.cells.sums import with_group
from polars_ec.costs import CostMatrix
from polars_ec.formulas.sums import GROUP
from polars_ec.intervals.arguments import Request
from polars_ec.intervals.estimates import Clusters, limits_of_clusters, limits_of_rows, one_hot, with_one_row
from polars_ec.intervals.limits import Limits
from polars_ec.intervals.scales import scale_of
from polars_ec.intervals.spread import Moments

# Numbers of the sums of buckets at points that are made at a time.
_BLOCK = 2**22
_COLUMNS = [edge_columns(i) for i in range(2)]


# Squares of weights may be more than a float holds: then there are no limits.
@np.errstate(all="ignore")
def with_bands(
    points: pl.DataFrame, formulas: Mapping[str, pl.Expr], cells: Cells, costs: CostMatrix, request: Request
) -> dict[str, pl.Series]:
    """`NAME_ci_low` and `NAME_ci_high` of the formulas at each of the points, which `at_every_edge` made of the cells."""
    check_squares(cells.frame, cells.weighted)
    buckets = None if cells.coarse is None else _Buckets(cells, points)
    scales = [scale_of(name, costs) for name in formulas]
    others = points.select(name for name in points.columns if name.startswith("__ec_prior"))
    ends: list[Limits] = []
    for rows in _blocks(points, cells.buckets or 1):
        part = points[rows]
        formula = formula_of(others[rows], _COLUMNS, [*formulas.values()])
        moments = one_hot(_sums(part, squared=False), _sums(part, squared=cells.weighted))
        values = formula(moments.linear[None])[0]
        if buckets is None:
            ends.append(limits_of_rows(formula, moments, values, scales, request.level, with_one_row))
        else:
            clusters = buckets.at(part[GROUP].to_numpy(), moments.linear[:, :, 1])
            ends.append(limits_of_clusters(formula, moments, clusters, values, scales, request.level, with_one_row))
    return {
        f"{name}_ci_{end}": pl.Series(np.concatenate([of[e][:, m] for of in ends] or [np.zeros(0)]), nan_to_null=True)
        for m, name in enumerate(formulas)
        for e, end in enumerate(("low", "high"))
    }


def _blocks(points: pl.DataFrame, n_buckets: int) -> Iterator[slice]:
    size = max(_BLOCK // (16 * n_buckets), 1)
    return (slice(start, start + size) for start in range(0, points.height, size))


def _sums(points: pl.DataFrame, *, squared: bool) -> Floats:
    """Of each point, (points, classes, decisions)."""
    columns = [pl.col(name).cast(pl.Float64) for i in range(2) for name in edge_columns(i, squared=squared)]
    return points.select(columns).to_numpy().reshape(-1, 2, 2).astype(np.float64)


class _Buckets:
    """The rows of each bucket from the highest score down, of each group and class.

    Where a point lies within a coarse cell, as many of its rows are above it, in every bucket, as there are of all.
    """

    def __init__(self, cells: Cells, points: pl.DataFrame) -> None:
        assert cells.coarse is not None
        assert cells.buckets is not None
        self._number = cells.buckets
        groups = points.select(GROUP, *cells.keys).unique(GROUP)
        used = usable_rows(with_group(cells.coarse, groups, cells.keys), cells.weighted).drop_nulls(GROUP)
        ordered = used.sort(GROUP, "class", "bin", "above", descending=[False, False, True, True])
        self._of = {
            (int(group), int(label)): self._running(part)
            for (group, label), part in ordered.partition_by([GROUP, "class"], as_dict=True).items()
        }

    def _running(self, part: pl.DataFrame) -> tuple[Floats, Floats]:
        """The weight above each edge of the cells; and that of each bucket, then of rows in none, and of the squares of their weights."""
        cell = part.select("bin", "above").select(pl.struct(pl.all()).rle_id().alias("cell"))["cell"].to_numpy()
        bucket = part[BUCKET].fill_null(self._number).to_numpy().astype(np.int64)
        sums = np.zeros((int(cell[-1]) + 2, self._number + 2))
        np.add.at(sums, (cell.astype(np.int64) + 1, bucket), part["weight"].to_numpy())
        alone = bucket == self._number
        np.add.at(sums, (cell[alone].astype(np.int64) + 1, self._number + 1), part["weight2"].to_numpy()[alone])
        running = np.cumsum(sums, axis=0)
        return running[:, :-1].sum(axis=1), running

    def at(self, group: Integers, positive: Floats) -> Clusters:
        """The sums at points of these groups, of which so much weight of each class is above, (points, classes)."""
        of_points = np.zeros((len(group), 2, 2, self._number + 2))
        first = np.flatnonzero(np.diff(group, prepend=-1))
        for start, end in zip(first, [*first[1:], len(group)], strict=True):
            for label in range(2):
                found = self._of.get((int(group[start]), label))
                if found is None:
                    continue
                edges, running = found
                x = np.minimum(positive[start:end, label], edges[-1])
                at = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(edges) - 2)
                share = ((x - edges[at]) / (edges[at + 1] - edges[at]))[:, None]
                above = running[at] + share * (running[at + 1] - running[at])
                of_points[start:end, label, 1] = above
                of_points[start:end, label, 0] = running[-1] - above
        linear = np.moveaxis(of_points[..., : self._number], -1, 1)
        single = one_hot(of_points[..., self._number], of_points[..., self._number + 1])
        alone: Moments | None = single if single.weight.any() else None
        return Clusters(linear, linear.sum(axis=(2, 3)), np.ones(2), alone)


@np.errstate(all="ignore")
def share_limits(rows: pl.DataFrame, by_bucket: pl.DataFrame | None, n_buckets: int, request: Request) -> Limits:
    """The limits of the share of positives in each row.

    `rows` has sums of weights, `w0` and `w1`, and of their squares, `v0` and `v1`; `by_bucket`, of rows in clusters, the same of each
    bucket, with the number of the `row`.
    """
    moments, value = _shares(rows), _share(_shares(rows).linear[None])[0]
    if by_bucket is None:
        return _of_one(limits_of_rows(_share, moments, value, ["logit"], request.level, with_one_row))
    place = by_bucket["row"].to_numpy().astype(np.int64), by_bucket[BUCKET].fill_null(n_buckets).to_numpy()
    linear = np.zeros((rows.height, n_buckets + 1, 1, 2))
    linear[place] = by_bucket.select("w0", "w1").to_numpy()[:, None]
    alone = by_bucket.filter(pl.col(BUCKET).is_null())
    single = None
    if alone.height:
        square = np.zeros((rows.height, 1, 2))
        square[alone["row"].to_numpy()] = alone.select("v0", "v1").to_numpy()[:, None]
        single = one_hot(linear[:, -1], square)
    clusters = Clusters(linear[:, :-1], linear[:, :-1].sum(axis=(2, 3)), np.ones(2), single)
    return _of_one(limits_of_clusters(_share, moments, clusters, value, ["logit"], request.level, with_one_row))


def _shares(rows: pl.DataFrame) -> Moments:
    linear, square = (rows.select(f"{x}0", f"{x}1").to_numpy().astype(np.float64)[:, None] for x in "wv")
    return one_hot(linear, square)


def _share(sums: Floats) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(sums[..., 1] / sums.sum(axis=-1))


def _of_one(ends: Limits) -> Limits:
    return ends[0][:, 0], ends[1][:, 0]
