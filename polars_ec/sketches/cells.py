"""Cells: the counts and sums of a log on which all methods of a sketch are based."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

import polars as pl

from polars_ec.arguments.classes import UNKNOWN
from polars_ec.exceptions import SketchError
from polars_ec.output.words import Described, groups_by
from polars_ec.scores.folds import FOLD
from polars_ec.scores.read import expand, join_groups
from polars_ec.sketches.grid import AMOUNTS, BUCKET, RESERVED, TIMES_WEIGHT, WEIGHTS, Grid, check_same
from polars_ec.typing import IntoExpr

SCORE, TARGET = "score", "target"
"""Group columns of a sketch of several models, and of a sketch of each class against the rest."""

LABELLED = "__is_labelled"
"""The group column of cells that says whether their rows have labels."""

OF_CLUSTERS = ("buckets", "cluster", "hash")
"""The attributes of a sketch's coarse cells, if there are any."""

_MOST_ROWS = 2**63 - 1
# Prefix of column names while metrics are computed.
_OWN = "__ec_"

_SIZE, _BLOCK = "__ec_size", "__ec_block"
MOST_OF_BLOCK = 2**22
"""The approximate number of values computed from a block."""

C = TypeVar("C", bound="Cells")


@dataclass(frozen=True, repr=False)
class Cells(Described):
    """Row counts per group, class and score bin, and sums of losses; the attributes are those of a `Sketch`."""

    frame: pl.DataFrame
    grid: Grid
    weighted: bool = False
    sums: pl.DataFrame | None = None
    coarse: pl.DataFrame | None = None
    buckets: int | None = None
    cluster: str | None = None
    hash: str | None = None
    unlabelled: Cells | None = None

    def __post_init__(self) -> None:
        if (self.sums is not None) != self.grid.has_sums:
            raise SketchError("a sketch has sums= if its scores are binned and not raw, and only then")
        if self.unlabelled is not None and not self.grid.has_sums:
            raise SketchError("unlabelled= of a sketch is for binned scores that are not raw")
        if len({getattr(self, name) is None for name in ("coarse", *OF_CLUSTERS)}) > 1:
            raise SketchError("coarse=, buckets=, cluster= and hash= of a sketch go together")
        check_rows(self.frame)

    @property
    def keys(self) -> list[str]:
        """The group columns."""
        return [name for name in self.frame.columns if name not in self.grid.columns]

    @property
    def keys_beside_fold(self) -> list[str]:
        """Names of the group columns that are not a fold of cross-validation."""
        return [name for name in self.keys if name != FOLD]

    def weighed(self) -> pl.DataFrame:
        """The cells with their `weight`, which is their rows where these have no weights."""
        return self.frame if self.weighted else self.frame.with_columns(weight=_rows_used())

    def _facts(self) -> dict[str, str]:
        label, n = pl.col("class"), pl.col("n")
        counted = {"used": label >= 0, "missing": label.is_null(), "invalid": label == -1}
        sums = self.frame.select(n.filter(mask).sum().alias(name) for name, mask in counted.items())
        counts = sums.row(0, named=True)
        rows = f"{counts['used']:,}" + "".join(f", {counts[x]:,} {x}" for x in ("missing", "invalid") if counts[x])
        n_groups = self.frame.select(self.keys).n_unique() if self.keys else 1
        scores, *thresholds = self.grid.words.items()
        return {
            "rows": rows,
            "groups": groups_by(n_groups, self.keys),
            **dict([scores]),
            **({} if self.unlabelled is None else {"unlabelled": f"{self.unlabelled.frame['n'].sum():,} rows kept"}),
            **({} if self.cluster is None else {"clusters": f"{self.cluster} in {self.buckets} buckets"}),
            **dict(thresholds),
        }

    def group_by(self, *by: IntoExpr) -> Self:
        """Roll the sketch up to these keys: names of group columns, or expressions of them.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"s": ["a", "b"], "p": [0.9, 0.2], "y": [True, False]})
        >>> log.ec.sketch("p", "y", by="s").group_by().evaluate("auc_roc")["auc_roc"].to_list()
        [1.0]
        """
        keys, own = expand(self.frame.select(self.keys).lazy(), by, "by"), self.keys
        of_coarse = set() if self.coarse is None else {BUCKET, *self.grid.coarse.columns}
        check_keys([key.meta.output_name() for key in keys], {*self.grid.columns, *RESERVED, *of_coarse})
        return self.on_tables(lambda table: add_up(table.select(*keys, pl.exclude(own))))

    def on_tables(self, change: Callable[[pl.DataFrame], pl.DataFrame]) -> Self:
        """Apply the same change of the group columns to all tables of the sketch."""
        sums, coarse = (None if table is None else change(table) for table in (self.sums, self.coarse))
        unlabelled = None if self.unlabelled is None else self.unlabelled.on_tables(change)
        return replace(self, frame=change(self.frame), sums=sums, coarse=coarse, unlabelled=unlabelled)

    def filter(self, *predicates: pl.Expr) -> Self:
        """Keep the groups for which all predicates on the group columns hold."""
        keys = self.keys
        used = {name for predicate in predicates for name in predicate.meta.root_names()}
        if not used <= set(keys):
            raise SketchError(
                f"filter(): {sorted(used - set(keys))[0]!r} is not a group column of the sketch, which has {keys}. You "
                "can filter on group columns only"
            )
        return self.on_tables(lambda table: table.filter(*predicates))


def without_clusters(cells: C) -> C:
    """The cells for questions without intervals, with no rows in those of clusters, which are many."""
    return cells if cells.coarse is None else replace(cells, coarse=cells.coarse.clear())


def keys_of_models(keys: Sequence[str]) -> list[str]:
    """Find the columns of models and of classes against the rest: each row of the log counts once for each of their values."""
    return [name for name in (SCORE, TARGET) if name in keys]


def of_each_model(cells: C) -> Iterator[tuple[dict[str, Any], C]]:
    """The cells of each model and target, whose group columns have the values beside them."""
    within = keys_of_models(cells.keys)
    if not within:
        yield {}, cells
        return
    for values in cells.frame.select(within).unique(maintain_order=True).rows():
        chosen = dict(zip(within, values, strict=True))
        yield chosen, cells.filter(*(pl.col(key).eq_missing(pl.lit(value)) for key, value in chosen.items()))


def in_blocks(cells: C, within: Sequence[str], times: int = 1, least: int = 0) -> Iterator[C]:
    """The cells of groups with these keys; of each are made so many `times` its cells, and at least `least` numbers."""
    cells = replace(cells, unlabelled=None)
    tables = [table for table in (cells.frame, cells.sums, cells.coarse) if table is not None]
    groups = cells.frame.select(within).unique(maintain_order=True)
    if not within or groups.height < 2:
        yield cells
        return
    sizes = pl.concat(table.select(within) for table in tables).group_by(within).len(_SIZE)
    size = (join_groups(groups, sizes, within)[_SIZE].cast(pl.Int64) * times).clip(least)
    groups = groups.with_columns((size.cum_sum() // MOST_OF_BLOCK).alias(_BLOCK))
    if groups[_BLOCK].n_unique() == 1:
        yield cells
        return
    blocks = {
        id(table): join_groups(table, groups, within).partition_by(_BLOCK, as_dict=True, include_key=False)
        for table in tables
    }
    for block in groups[_BLOCK].unique(maintain_order=True):

        def of_block(table: pl.DataFrame, block: int = block) -> pl.DataFrame:
            return blocks[id(table)].pop((block,), table.clear())

        yield cells.on_tables(of_block)


# Rows without a label: in the cells of a sketch they are rows with missing values, as for all metrics, and they have cells of their own.


def apart_by_label(cells: Cells) -> Cells:
    """Cells with the group column `LABELLED` as cells without it, of which the rows without a label are `unlabelled`."""
    labelled, rest = (
        cells.filter(is_there).on_tables(lambda table: table.drop(LABELLED))
        for is_there in (pl.col(LABELLED), ~pl.col(LABELLED))
    )
    return replace(labelled, frame=_with_missing(labelled, rest, 1), unlabelled=rest)


def joined_by_label(cells: Cells, rest: Cells) -> Cells:
    """The cells of `apart_by_label` as they were before; `rest` are the `unlabelled` ones."""
    labelled, keys = replace(cells, frame=only_labelled(cells, rest), unlabelled=None), cells.keys

    def marked(part: Cells, mark: pl.Expr) -> Cells:
        return part.on_tables(lambda table: table.select(*keys, mark.alias(LABELLED), pl.exclude(keys)))

    return add_cells([marked(labelled, pl.lit(value=True)), marked(rest, pl.lit(value=False))])


def only_labelled(cells: Cells, rest: Cells) -> pl.DataFrame:
    """The cells without the rows of `rest`, which are among those with missing values."""
    return _with_missing(cells, rest, -1).filter(pl.col("n") != 0)


def _with_missing(cells: Cells, rest: Cells, sign: int) -> pl.DataFrame:
    """The cells, and these rows beside those with missing values; without these rows if the sign is -1."""
    unusable = {name: pl.lit(None, dtype=cells.frame.schema[name]) for name in ("class", *cells.grid.cell_columns)}
    unusable |= dict.fromkeys(WEIGHTS if cells.weighted else (), pl.lit(0.0))
    missing = rest.frame.with_columns(pl.col("n") * sign, **unusable)
    return add_up(pl.concat([cells.frame, missing]))


def check_keys(keys: Sequence[str], columns: Collection[str]) -> None:
    """SketchError if a group column has the name of a column of the result."""
    clash = [name for name in keys if name in columns or name.startswith(_OWN)]
    if clash:
        raise SketchError(f"the sketch has a group column {clash[0]!r}, as the result has: rename it")


def in_order(table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The rows by their groups, null groups first; classes stay in their own order, which is not that of their names."""
    names = [name for name in keys if name != TARGET]
    return table.sort(names, maintain_order=True) if names else table


def add_up(table: pl.DataFrame) -> pl.DataFrame:
    """One row per group and cell of a table of cells, or of sums, sorted."""
    if "n" in table.columns:
        check_rows(table)
    amounts = [name for name in AMOUNTS if name in table.columns]
    cell = [name for name in table.columns if name not in amounts]
    summed = table.lazy().group_by(cell).agg(pl.col(amounts).sum())
    return summed.sort(cell, nulls_last=True).collect(engine="streaming")


def check_rows(frame: pl.DataFrame) -> None:
    """Sums of integers wrap silently: no result may count more rows than an integer of 64 bits holds."""
    rows = frame["n"].cast(pl.Int128).sum()
    if rows > _MOST_ROWS:
        raise SketchError(f"the cells count {rows} rows, more than a 64-bit integer holds ({_MOST_ROWS})")


def add_cells(sketches: Sequence[Cells]) -> Cells:
    """The cells of several logs together; SketchError names in what they differ."""
    first, *others = sketches
    for other in others:
        for what, own in first.grid.common.items():
            check_same(what, own, other.grid.common.get(what))
        if not first.grid.classes.goes_with(other.grid.classes):
            check_same("classes", list(first.grid.classes.values), list(other.grid.classes.values))
        check_same("group columns", first.keys, other.keys)
        schema, other_schema = first.frame.select(first.keys).schema, other.frame.select(first.keys).schema
        check_same("types of the group columns", dict(schema), dict(other_schema))
        _check_same_buckets(first, other)
    weighted = any(part.weighted for part in sketches)
    # Files of earlier versions have no squares of weights: then the sum has none.
    squared = all("weight2" in part.frame.columns for part in sketches if part.weighted)
    of_weights = [name for name in first.grid.amounts(weighted=True) if name not in first.grid.amounts(weighted=False)]
    weights = (of_weights if squared else ["weight"]) if weighted else []
    sums = [part.sums for part in sketches if part.sums is not None]
    coarse = [part.coarse for part in sketches if part.coarse is not None]
    unlabelled = [part.unlabelled for part in sketches if part.unlabelled is not None]
    # Class names apply to all sketches.
    named = [part.grid for part in sketches if part.grid.classes.known and part.grid.classes != UNKNOWN]
    grid = (named or [first.grid])[0]
    return Cells(
        _added([part.frame for part in sketches], weights),
        grid,
        weighted,
        add_up(pl.concat(sums)) if sums else None,
        _added(coarse, weights) if coarse else None,
        first.buckets,
        first.cluster,
        _common_hash(sketches),
        # A part of the rows without a label would pass for all of them.
        add_cells(unlabelled) if len(unlabelled) == len(sketches) else None,
    )


def _check_same_buckets(one: Cells, other: Cells) -> None:
    for cells in (one, other):
        if cells.coarse is None and (one.coarse is not None or other.coarse is not None):
            raise SketchError(
                "one of the sketches has clusters and another has none: make both with cluster=, or both without"
            )
    check_same("cluster", one.cluster, other.cluster)
    check_same("buckets", one.buckets, other.buckets)


def _common_hash(parts: Sequence[Cells]) -> str | None:
    """The common hash of the clusters of all sketches; sketches without clusters fit any hash."""
    first, *others = [part for part in parts if part.coarse is not None and part.coarse.height] or parts[:1]
    for other in others:
        check_same("hash of the clusters", first.hash, other.hash)
    return first.hash


def _rows_used() -> pl.Expr:
    """The weight of rows without weights: 1 each, but 0 for invalid and missing ones."""
    return pl.when(pl.col("class") >= 0).then("n").otherwise(0).cast(pl.Float64)


def _added(tables: Sequence[pl.DataFrame], weights: Sequence[str]) -> pl.DataFrame:
    def at_weight_1(name: str) -> pl.Expr:
        return _rows_used() if name in WEIGHTS else pl.col(name.removesuffix(TIMES_WEIGHT))

    own = [{name: pl.col(name) if name in t.columns else at_weight_1(name) for name in weights} for t in tables]
    return add_up(pl.concat(t.select(pl.exclude({*weights, *WEIGHTS}), **w) for t, w in zip(tables, own, strict=True)))
