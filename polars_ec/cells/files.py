"""Cells in files, and in tables that a warehouse made: written, read and checked."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import polars as pl

from polars_ec.arguments import parse_number
from polars_ec.cells.arguments import OperatingPoint
from polars_ec.cells.cells import OF_CLUSTERS, Cells, add_up
from polars_ec.cells.checks import dtype_of, fault_in_coarse, fault_in_file, fault_in_table, fault_in_weights
from polars_ec.cells.grid import BUCKET, SUMS, WEIGHTS, Grid, checked_resolution, checked_score_type, sorted_thresholds
from polars_ec.cells.parquet import HASH, TABLE, first_line, read_tables, write_tables
from polars_ec.class_names import ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.exceptions import SketchError
from polars_ec.rows.folds import BUCKETS, FOLD, HASH_VERSION, MURMUR3, buckets_of_clusters

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]


def write_cells(
    cells: Cells, point: OperatingPoint, path: str | Path | IO[bytes], metadata: Mapping[str, str] | None
) -> None:
    """Save the cells and what they mean."""
    tables = {"cells": cells.frame, "sums": cells.sums, "coarse": cells.coarse}
    there = {name: table for name, table in tables.items() if table is not None}
    write_tables(there, path, "sketch", description(cells, point), metadata)


def description(cells: Cells, point: OperatingPoint) -> dict[str, Any]:
    """What cells mean, as the metadata of their file have it."""
    return {
        "score_type": cells.grid.score_type,
        "resolution": cells.grid.resolution,
        "thresholds": [repr(threshold) for threshold in cells.grid.thresholds],
        "weighted": cells.weighted,
        "costs": point.costs.values,
        "threshold": None if point.threshold is None else repr(point.threshold),
        "classes": cells.grid.classes.in_metadata(),
        "keys": cells.keys,
        **({name: getattr(cells, name) for name in OF_CLUSTERS} if cells.coarse is not None else {}),
        # Rows of one key are of one fold, or bucket, only where all are by the same hash.
        **({"hash_version": HASH_VERSION} if FOLD in cells.keys or cells.hash == MURMUR3 else {}),
    }


def read_cells(path: str | Path) -> tuple[Cells, OperatingPoint]:
    """What `write_cells` wrote; SketchError for any other file, and for one that is damaged."""
    tables, about = read_tables(path, "sketch", ("cells", "sums", "coarse"))
    try:
        grid = Grid(
            checked_score_type(about["score_type"]),
            None if about["resolution"] is None else checked_resolution(about["resolution"]),
            sorted_thresholds(map(_float, _listed(about, "thresholds"))),
            ClassNames.of_metadata(about["classes"]),
        )
        costs = CostMatrix(about["costs"])
        sizes = {len(grid.classes.values), costs.n_classes, costs.n_decisions}
        if sizes != {2}:
            raise ValueError(f"what decides between two: its classes and costs are of {sorted(sizes)}")
        stated = about["threshold"]
        threshold = None if stated is None else parse_number(_float(stated), "threshold")
        keys, weighted = _listed(about, "keys"), about["weighted"]
        clusters = _clusters(about) if "coarse" in tables else {}
        is_hashed = FOLD in keys or clusters.get("hash") == MURMUR3
        hashed_by = about["hash_version"] if is_hashed else HASH_VERSION
        if not isinstance(weighted, bool):
            raise TypeError(f"weighted: {weighted!r}")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SketchError(f"{path} is a damaged sketch: its metadata lack or garble {first_line(error)}") from None
    if hashed_by != HASH_VERSION:
        raise SketchError(
            f"{path} has folds or buckets by version {hashed_by!r} of the hash of their keys, and this version of polars_ec makes them by "
            f"{HASH_VERSION}: make the sketch again from its log"
        )
    # Files of schema version 3 have no squares of weights.
    squared = [WEIGHTS[1]] if WEIGHTS[1] in tables["cells"].columns else []
    amounts = ["n", *([WEIGHTS[0], *squared] if weighted else [])]
    expected = {"cells": [*keys, "class", *grid.cell_columns, *amounts]}
    if grid.has_sums:
        expected["sums"] = [*keys, "class", "above", *SUMS]
    if clusters:
        expected["coarse"] = [*keys, BUCKET, "class", *grid.coarse.cell_columns, *amounts]
    found = {name: table.columns for name, table in tables.items()}
    if found != expected:
        raise SketchError(f"{path} is a damaged sketch: its columns are {found}, not {expected}")
    cells = Cells(tables["cells"], grid, weighted, tables.get("sums"), tables.get("coarse"), **clusters)
    fault = fault_in_file(cells)
    if fault is not None:
        raise SketchError(f"{path} is a damaged sketch: it has {fault}")
    return cells, OperatingPoint(costs, threshold)


def cells_of_table(
    table: pa.Table | pl.DataFrame,
    score_type: str,
    resolution: int,
    thresholds: Sequence[float],
    weighted: bool,
    cluster: str | None = None,
    buckets: int = BUCKETS,
) -> Cells:
    """The cells that a warehouse made, checked."""
    grid = Grid(checked_score_type(score_type), checked_resolution(resolution), sorted_thresholds(thresholds))
    number = buckets_of_clusters(cluster, buckets)
    made, coarse, hashed_by = _apart(table if isinstance(table, pl.DataFrame) else pl.DataFrame(table), cluster)
    # Queries of earlier versions gave no squares of weights.
    cell = [name for name in grid.columns if name in made.columns or name != WEIGHTS[1]]
    own = [*cell, *(SUMS if grid.has_sums else ())]
    if "log_odds" in made.columns:
        raise SketchError(
            "the table is of an ec.sketch or a sketch_query of an earlier version of polars_ec: make it with this one"
        )
    lacking = [name for name in own if name not in made.columns]
    if lacking:
        raise SketchError(
            f"the table lacks {', '.join(lacking)}: it is not a result of a sketch of {score_type} scores"
        )
    above = made["above"].max()
    if isinstance(above, int) and above > len(grid.thresholds):
        raise SketchError(
            f"the table has scores above {above} thresholds, and thresholds= lists {len(grid.thresholds)}: pass "
            "those that the query was made with"
        )
    keys = [name for name in made.columns if name not in own]
    whole = _with_infinite_sums(_typed(made, keys, own), grid)
    fault = fault_in_table(whole, grid, weighted)
    kept = [name for name in cell if weighted or name not in WEIGHTS]
    cells = None
    if fault is None:
        sums = whole.filter(pl.col("class") >= 0).select(*keys, "class", "above", *SUMS) if grid.has_sums else None
        cells = Cells(add_up(whole.select(*keys, *kept)), grid, weighted, None if sums is None else add_up(sums))
    if cells is not None and coarse is not None:
        typed = _typed(coarse, keys, [BUCKET, *cell])
        added = add_up(typed.select(*keys, BUCKET, *kept))
        cells = replace(cells, coarse=added, buckets=number, cluster=cluster, hash=hashed_by)
        fault = (None if weighted else fault_in_weights(typed)) or fault_in_coarse(cells, added)
    if cells is None or fault is not None:
        hint = ": pass weighted=True if it was made with weights" if "without weights" in str(fault) else ""
        raise SketchError(f"the table is not a sketch of {score_type} scores: it has {fault}{hint}")
    return cells


def _apart(made: pl.DataFrame, cluster: str | None) -> tuple[pl.DataFrame, pl.DataFrame | None, str]:
    """The cells of a table, its coarse cells if it has clusters, and the hash that dealt these out to buckets."""
    of_clusters = (TABLE, BUCKET, HASH)
    if cluster is None and TABLE not in made.columns:
        return made, None, MURMUR3
    if cluster is None:
        raise SketchError("the table has cells by bucket: pass cluster= and buckets= as the query was made with them")
    if not isinstance(cluster, str):
        raise TypeError(f"cluster={cluster!r} is not the name of a key: pass what the sketch is to call it")
    lacking = [name for name in of_clusters if name not in made.columns]
    if lacking:
        raise SketchError(f"the table lacks {', '.join(lacking)}: the query that made it was written without cluster=")
    of_table, hashes = made[TABLE].cast(pl.String), made[HASH].cast(pl.String).unique().to_list()
    unknown = [name for name in of_table.unique() if name not in ("cells", "coarse")]
    if unknown or len(hashes) > 1 or None in hashes:
        raise SketchError(
            f"the table is not a sketch: it has rows of {[*unknown, *hashes]!r} in {TABLE!r} and {HASH!r}"
        )
    beside = made.drop(of_clusters)
    return beside.filter(of_table == "cells"), made.filter(of_table == "coarse"), hashes[0] if hashes else MURMUR3


def _typed(made: pl.DataFrame, keys: Sequence[str], own: Sequence[str]) -> pl.DataFrame:
    """The columns of a warehouse's table as those of a sketch."""
    try:
        typed = made.select(*keys, *(pl.col(name).cast(dtype_of(name)) for name in own))
    except pl.exceptions.PolarsError as error:
        raise SketchError(f"the table has no numbers where a sketch has some: {first_line(error)}") from None
    for name in own:
        if typed.schema[name].is_integer() and made.select((pl.col(name).cast(pl.Float64) % 1 != 0).any()).item():
            raise SketchError(f"the table has values of {name!r} that are no whole numbers: no log leads to them")
    return typed


def _clusters(about: Mapping[str, Any]) -> dict[str, Any]:
    """What metadata say of the clusters."""
    for name in ("cluster", "hash"):
        if not isinstance(about[name], str):
            raise TypeError(f"{name}: {about[name]!r}")
    return {
        **{name: about[name] for name in OF_CLUSTERS},
        "buckets": buckets_of_clusters(about["cluster"], about["buckets"]),
    }


def _listed(about: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(about[name], list):
        raise TypeError(f"{name}: {about[name]!r}")
    return list(about[name])


def _float(number: Any) -> float:
    """Of the text that metadata have for it, or of a number; float() takes Booleans too."""
    if isinstance(number, bool):
        raise TypeError(f"a number: {number!r}")
    return float(number)


def _with_infinite_sums(frame: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """SQL that cannot write infinity leaves it out, where the bin says that it is due."""
    if not grid.has_sums:
        return frame
    lowest, highest = grid.infinite_bins
    lost = ((pl.col("class") == 1) & (pl.col("bin") == lowest)) | ((pl.col("class") == 0) & (pl.col("bin") == highest))
    return frame.with_columns(log_loss=pl.when(lost, pl.col("weight") > 0).then(math.inf).otherwise("log_loss"))
