"""Tables in Parquet with metadata and a checksum, and checks of cells that are read from files or warehouse tables."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl
from polars.exceptions import PanicException

from polars_ec.arguments.classes import ClassNames
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import parse_number, parse_options
from polars_ec.arguments.scales import DECISION, LOG_ODDS, POSTERIOR, POSTERIORS, SCALES, parse_sketch_score_type
from polars_ec.exceptions import SketchError
from polars_ec.numerics import np
from polars_ec.output.words import first_line
from polars_ec.scores.folds import BUCKETS, FOLD, HASH_VERSION, MURMUR3, buckets_of_clusters
from polars_ec.scores.scores import BRIER, LOG_LOSS, BinaryScores, sigmoid
from polars_ec.sketches.arguments import OperatingPoint
from polars_ec.sketches.cells import OF_CLUSTERS, Cells, add_up, only_labelled
from polars_ec.sketches.grid import (
    AMOUNTS,
    BUCKET,
    ERROR_COST,
    EXACT,
    RESERVED,
    SQUARE,
    SUMS,
    UNDECIDED,
    WEIGHTS,
    DecisionGrid,
    Grid,
    checked_resolution,
    sorted_thresholds,
)
from polars_ec.sketches.sums import log_odds_bounds

if TYPE_CHECKING:
    import pyarrow.parquet as pq

# A checksum of tables: of what they hold, not of how a file or a version of Polars stores it.

_SLICE = 1_000_000
_WIDE = (pl.Int128, pl.UInt128)


def checksum(tables: Sequence[pl.DataFrame], about: Mapping[str, Any], further: Mapping[str, str]) -> str:
    """SHA-256 of the values of the columns, independent of their chunks, and of the metadata."""
    digest = hashlib.sha256()
    for text in (json.dumps(about, sort_keys=True), json.dumps(dict(further), sort_keys=True)):
        digest.update(text.encode() + b"\n")
    for table in tables:
        digest.update(f"{table.height}\n".encode())
        for column in table.get_columns():
            digest.update(json.dumps(column.name).encode())
            for part in _bytes_of(column):
                digest.update(part)
    return digest.hexdigest()


def _bytes_of(column: pl.Series) -> Iterator[Any]:
    """Type, nulls and values of a column as bytes that depend on nothing else."""
    dtype = column.dtype
    yield f"{_type_name(dtype)}\n".encode()
    has_nulls = column.null_count() > 0
    yield np.packbits(column.is_null().to_numpy()).tobytes() if has_nulls else bytes((column.len() + 7) // 8)
    if dtype == pl.Null:
        return
    if isinstance(dtype, pl.Struct):
        for field in dtype.fields:
            yield f"{json.dumps(field.name)}\n".encode()
            yield from _bytes_of(column.struct.field(field.name))
    elif isinstance(dtype, pl.List | pl.Array):
        lists = column if isinstance(dtype, pl.List) else column.arr.to_list()
        lengths = lists.list.len().fill_null(0)
        yield _little_endian(lengths.cast(pl.Int64).to_numpy())
        yield from _bytes_of(lists.filter(lengths > 0).explode())
    elif isinstance(dtype, pl.String | pl.Categorical | pl.Enum | pl.Binary | pl.Decimal) or dtype in _WIDE:
        binary = isinstance(dtype, pl.Binary)
        texts = (column.bin.encode("hex") if binary else column.cast(pl.String)).fill_null("")
        yield _little_endian(texts.str.len_bytes().cast(pl.Int64).to_numpy())
        for start in range(0, texts.len(), _SLICE):
            yield str(texts.slice(start, _SLICE).str.join("").item()).encode()
    else:
        values = column.cast(pl.UInt8) if dtype == pl.Boolean else column.to_physical()
        yield _little_endian((values.fill_null(0) if has_nulls else values).to_numpy())


def _type_name(dtype: pl.DataType) -> str:
    if isinstance(dtype, pl.Datetime):
        return f"Datetime {dtype.time_unit} {dtype.time_zone}"
    if isinstance(dtype, pl.Duration):
        return f"Duration {dtype.time_unit}"
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return "String"
    if isinstance(dtype, pl.List | pl.Array):
        return "List"
    return dtype.base_type().__name__


def _little_endian(values: Any) -> Any:
    return np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))


# Tables in Parquet that say in the file's metadata what they mean, and by a checksum that they are still what was written.

Kind: TypeAlias = Literal["sketch", "calibration"]
Tables: TypeAlias = Mapping[str, pl.DataFrame]

TABLE = "table"
"""The column of a file of several tables, or of a warehouse's, that says which of them a row is of."""
_UNLABELLED = "unlabelled_"
"""What the names of the tables of rows without a label begin with."""
HASH = "hash"
"""The column of a warehouse's table with clusters that names the hash of their buckets."""
COSTS = "decision_costs"
"""The column of a warehouse's table of decisions with the costs that they were made with."""

VERSIONS: Mapping[Kind, int] = MappingProxyType({"sketch": 5, "calibration": 2})
_OLDEST_READ: Mapping[Kind, int] = MappingProxyType({"sketch": 3, "calibration": 1})

# Errors from reading a damaged file; a panic of Polars is not an Exception in Python.
DAMAGE: tuple[type[BaseException], ...] = (Exception, PanicException)

_CHECKSUM, _COVERED = "sha256", "metadata"


def write_described(
    frame: pl.DataFrame,
    file: str | Path | IO[bytes],
    kind: Kind,
    about: Mapping[str, Any],
    metadata: Mapping[str, str] | None,
    tables: Sequence[pl.DataFrame] = (),
) -> None:
    """Save a table of this kind with what it means, any further metadata, and a checksum of all of it: of its values or those of `tables`."""
    further = dict(metadata or {})
    described = {"schema_version": VERSIONS[kind], **about, _COVERED: sorted(further)}
    described[_CHECKSUM] = checksum(tables or [frame], described, further)
    frame.write_parquet(file, metadata={**further, f"polars_ec.{kind}": json.dumps(described)})


def write_tables(
    tables: Tables, file: str | Path | IO[bytes], about: Mapping[str, Any], metadata: Mapping[str, str] | None
) -> None:
    """Save the tables of a sketch one below the other: the column `table` names that of a row, and the metadata list the columns of each."""
    dtype = pl.Enum([*tables])
    named = [table.select(pl.lit(name, dtype=dtype).alias(TABLE), pl.all()) for name, table in tables.items()]
    stacked = pl.concat(named, how="diagonal", rechunk=False)
    columns = {name: table.columns for name, table in tables.items()}
    write_described(stacked, file, "sketch", {**about, "tables": columns}, metadata, [*tables.values()])


def read_described(path: str | Path, kind: Kind) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read a table of this kind and what it means; SketchError for any other or damaged file, OSError for one that cannot be opened."""
    frame, about, metadata = _read_described(path, kind)
    if _CHECKSUM in about or _COVERED in about:
        _check(path, kind, [frame], about, metadata)
    return frame, about


def read_tables(path: str | Path, known: Collection[str]) -> tuple[Tables, dict[str, Any]]:
    """The tables of a sketch and what they mean, as `read_described` gives one; of no other names than the known ones."""
    stacked, about, metadata = _read_described(path, "sketch")
    tables = _apart(path, stacked, about, known)
    del stacked
    _check(path, "sketch", [*tables.values()], about, metadata)
    return tables, about


def _apart(path: str | Path, stacked: pl.DataFrame, about: Mapping[str, Any], known: Collection[str]) -> Tables:
    stated = about.get("tables")
    of_lists = isinstance(stated, dict) and all(isinstance(columns, list) for columns in stated.values())
    texts = pl.String, pl.Categorical, pl.Enum
    if not of_lists or stacked.columns[:1] != [TABLE] or not isinstance(stacked.schema[TABLE], texts):
        raise SketchError(f"{path} is a damaged sketch: its columns and metadata do not say which tables it has")
    assert isinstance(stated, dict)
    runs = stacked[TABLE].rle().struct.unnest().cast({"value": pl.String})
    unknown = [name for name in (*stated, *runs["value"].drop_nulls()) if name not in known]
    if unknown:
        raise SketchError(
            f"{path} is a sketch with a table {unknown[0]!r}, which this version of polars_ec does not know: update polars_ec"
        )
    lengths = dict(zip(runs["value"], runs["len"], strict=True))
    if len(lengths) < runs.height or not lengths.keys() <= stated.keys():
        raise SketchError(f"{path} is a damaged sketch: its tables do not follow each other")
    tables, start = {}, 0
    for name in [*lengths, *(name for name in stated if name not in lengths)]:
        length = lengths.get(name, 0)
        try:
            tables[name] = stacked.slice(start, length).select(stated[name])
        except (pl.exceptions.PolarsError, TypeError, ValueError):
            raise SketchError(f"{path} is a damaged sketch: its table {name!r} lacks columns") from None
        start += length
    return {name: tables[name] for name in stated}


def _read_described(path: str | Path, kind: Kind) -> tuple[pl.DataFrame, dict[str, Any], dict[str, str]]:
    key = f"polars_ec.{kind}"
    with open(path, "rb") as file:  # by Python, which opens any name, and says of a failure whose it is
        try:
            metadata, parquet = _opened(file)
            frame = None
            if key in metadata:
                frame = pl.read_parquet(file) if parquet is None else _in_parts(parquet)
        except DAMAGE as error:
            raise SketchError(f"{path} cannot be read as Parquet: {first_line(error)}") from error
    if frame is None:
        raise SketchError(f"{path} is Parquet, but no {kind}: its metadata lack {key}")
    try:
        about = json.loads(metadata[key])
    except (ValueError, RecursionError):
        about = None
    version = about.get("schema_version") if isinstance(about, dict) else None
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise SketchError(f"{path} is a damaged {kind}: its metadata {key} do not describe it")
    if version > VERSIONS[kind]:
        raise SketchError(
            f"{path} is a {kind} of schema version {version}, and this version of polars_ec reads up to "
            f"{VERSIONS[kind]}: update polars_ec"
        )
    if version < _OLDEST_READ[kind]:
        raise SketchError(
            f"{path} is a {kind} of schema version {version}, from an earlier version of polars_ec, but this one reads "
            f"{_OLDEST_READ[kind]}: make the {kind} again from its log"
        )
    return frame, about, metadata


def _opened(file: IO[bytes]) -> tuple[dict[str, str], pq.ParquetFile | None]:
    """The metadata, and the file as pyarrow has it; None, and the file at its begin, if it has integers of 128 bits, which pyarrow does not read."""
    # Not by Polars where another can: sizes that a flipped bit makes absurd end the process there, and are an error here.
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        parquet = pq.ParquetFile(file)
    except pa.ArrowNotImplementedError:
        file.seek(0)
        metadata = pl.read_parquet_metadata(file)
        file.seek(0)
        return metadata, None
    texts = parquet.metadata.metadata or {}
    return {k.decode(errors="replace"): v.decode(errors="replace") for k, v in texts.items()}, parquet


def _in_parts(parquet: pq.ParquetFile) -> pl.DataFrame:
    """The table in slices of rows, because two forms of all rows would take twice the memory."""
    import pyarrow as pa

    parts = [pl.DataFrame(parquet.read_row_group(i)) for i in range(parquet.num_row_groups)]
    frame = pl.concat(parts) if parts else pl.DataFrame(parquet.schema_arrow.empty_table())
    pa.default_memory_pool().release_unused()  # or many files one after the other take more and more
    return frame


def described_schema(path: str | Path) -> tuple[dict[str, str], pl.Schema]:
    """The metadata and the schema of a Parquet file, by its footer alone."""
    with open(path, "rb") as file:
        metadata, parquet = _opened(file)
        if parquet is None:
            return metadata, pl.Schema(pl.read_parquet_schema(file))
        return metadata, pl.DataFrame(parquet.schema_arrow.empty_table()).schema


def _check(
    path: str | Path, kind: Kind, tables: Sequence[pl.DataFrame], about: dict[str, Any], metadata: Mapping[str, str]
) -> None:
    stated, covered = about.pop(_CHECKSUM, None), about.get(_COVERED)
    names = covered if isinstance(covered, list) and all(isinstance(name, str) for name in covered) else []
    if stated != checksum(tables, about, {name: metadata.get(name, "") for name in names}):
        raise SketchError(f"{path} is a damaged {kind}: its checksum differs")
    about.pop(_COVERED, None)


# Cells in files, and in tables that a warehouse made: written, read and checked.


def write_cells(
    cells: Cells, point: OperatingPoint, path: str | Path | IO[bytes], metadata: Mapping[str, str] | None
) -> None:
    """Save the cells and what they mean."""
    rest = {} if cells.unlabelled is None else _tables(cells.unlabelled, _UNLABELLED)
    write_tables({**_tables(cells), **rest}, path, description(cells, point), metadata)


def _tables(cells: Cells, prefix: str = "") -> Tables:
    tables = {"cells": cells.frame, "sums": cells.sums, "coarse": cells.coarse}
    return {f"{prefix}{name}": table for name, table in tables.items() if table is not None}


def description(cells: Cells, point: OperatingPoint) -> dict[str, Any]:
    """Describe cells for the metadata of their file."""
    grid = cells.grid
    return {
        **({"decisions": {"sums": grid.values, "row_costs": grid.row_costs}} if isinstance(grid, DecisionGrid) else {}),
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
    """Read a file of `write_cells`; SketchError for any other file, and for one that is damaged."""
    known = [f"{prefix}{name}" for prefix in ("", _UNLABELLED) for name in ("cells", "sums", "coarse")]
    tables, about = read_tables(path, known)
    try:
        costs = CostMatrix(about["costs"])
        grid = _grid_of(about, costs)
        if reserved := RESERVED.intersection(_listed(about, "keys")):
            raise ValueError(f"the group column {sorted(reserved)[0]!r}, which names a sum")
        stated = about["threshold"]
        threshold = None if stated is None else parse_number(_float(stated), "threshold")
        keys, weighted = _listed(about, "keys"), about["weighted"]
        clusters = _clusters(about) if "coarse" in tables else {}
        is_hashed = FOLD in keys or clusters.get("hash") == MURMUR3
        hashed_by = about["hash_version"] if is_hashed else HASH_VERSION
        if not isinstance(weighted, bool):
            raise TypeError(f"weighted: {weighted!r}")
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise SketchError(f"{path} is a damaged sketch, with invalid metadata: {first_line(error)}") from None
    if hashed_by != HASH_VERSION:
        raise SketchError(
            f"{path} has folds or buckets by version {hashed_by!r} of the hash of their keys, but this version of "
            f"polars_ec uses {HASH_VERSION}: make the sketch again from its log"
        )
    # Files of schema version 3 have no squares of weights.
    squared = [WEIGHTS[1]] if WEIGHTS[1] in tables["cells"].columns else []
    amounts = ["n", *([WEIGHTS[0], *squared] if weighted else [])]
    amounts = grid.amounts(weighted=weighted) if isinstance(grid, DecisionGrid) else amounts
    expected = {"cells": [*keys, "class", *grid.cell_columns, *amounts]}
    if grid.has_sums:
        expected["sums"] = [*keys, "class", "above", *SUMS]
    if clusters:
        expected["coarse"] = [*keys, BUCKET, "class", *grid.coarse.cell_columns, *amounts]
    prefixes = ["", *([_UNLABELLED] if f"{_UNLABELLED}cells" in tables else [])]
    expected = {f"{prefix}{name}": columns for prefix in prefixes for name, columns in expected.items()}
    found = {name: table.columns for name, table in tables.items()}
    if found != expected:
        raise SketchError(f"{path} is a damaged sketch: its columns are {found}, not {expected}")
    cells, *rest = (
        Cells(tables[f"{x}cells"], grid, weighted, tables.get(f"{x}sums"), tables.get(f"{x}coarse"), **clusters)
        for x in prefixes
    )
    fault = _fault_in_file(cells)
    for part in rest:
        cells = replace(cells, unlabelled=part)
        beyond = {"more rows without a label than rows with missing values": pl.col("n") < 0}
        if any(table.height for table in _tables(part).values()):  # most periods have their labels
            fault = fault or _fault_in_file(part) or first_fault(only_labelled(cells, part), beyond)
    if fault is not None:
        raise SketchError(f"{path} is a damaged sketch: it has {fault}")
    return cells, OperatingPoint(costs, threshold)


def _grid_of(about: Mapping[str, Any], costs: CostMatrix) -> Grid:
    """The grid that the metadata describe; KeyError, TypeError or ValueError for others."""
    classes, decisions = ClassNames.of_metadata(about["classes"]), about.get("decisions")
    sizes = {len(classes.values), costs.n_classes, *(() if decisions is not None else (costs.n_decisions, 2))}
    if len(sizes) > 1:
        raise ValueError(f"as many classes as costs have, but its classes and costs have {sorted(sizes)}")
    if decisions is not None:
        scale, values, row_costs = about["score_type"], tuple(decisions["sums"]), decisions["row_costs"]
        of_rows = (ERROR_COST,) if row_costs is not None else ()
        losses = () if scale == DECISION.name else (LOG_LOSS, BRIER)
        if scale not in SCALES or SCALES[scale].has_order_only or values != (*losses, *of_rows):
            raise ValueError(f"sums {values} of {scale} scores")
        if row_costs is not None and not (len(row_costs) == 2 and all(isinstance(cost, str) for cost in row_costs)):
            raise TypeError(f"row_costs: {row_costs!r}")
        return DecisionGrid(scale, None, (), classes, values, costs.n_decisions, row_costs and tuple(row_costs))
    return Grid(
        parse_sketch_score_type(about["score_type"]).name,
        None if about["resolution"] is None else checked_resolution(about["resolution"]),
        sorted_thresholds(map(_float, _listed(about, "thresholds"))),
        classes,
    )


def grid_of_table(
    table: pl.DataFrame,
    score_type: str,
    resolution: int,
    thresholds: Sequence[float],
    stated: Mapping[str, Any],
    classes: Sequence[object] | None,
) -> tuple[Grid, OperatingPoint]:
    """The grid and the operating point of a warehouse's table, of the keywords with which it was made."""
    if "decision" not in table.columns or "bin" in table.columns:
        if classes is not None:
            raise ValueError(f"classes={classes!r} is for tables of decisions, with a column 'decision': leave it out")
        name = parse_sketch_score_type(score_type).name
        grid = Grid(name, checked_resolution(resolution), sorted_thresholds(thresholds))
        return grid, OperatingPoint.of(stated, grid.classes)
    # Tables of earlier versions do not name their costs.
    of_table = table[COSTS].unique().to_list() if COSTS in table.columns else []
    if of_table and not stated:
        stated = {"costs": of_table[0]}
    elif not stated and classes is None and not table.height:
        raise SketchError("the table has no rows, which would name the costs of its query: pass costs= or classes=")
    options = parse_options({**stated, "classes": classes})
    costs = options.costs(2 if options.classes is None else len(options.classes))
    names = ClassNames(options.classes) if options.classes else ClassNames(tuple(range(costs.n_classes)), stated=False)
    if len(names.values) != costs.n_classes:
        source = "costs of the table" if of_table else "stated costs"
        raise SketchError(
            f"classes= has {len(names.values)} classes, but the {source} have {costs.n_classes}: pass a label value for each row of the costs"
        )
    scale = POSTERIORS if score_type == POSTERIOR.name else SCALES[score_type]
    grid = DecisionGrid(scale.name, None, (), names, (LOG_LOSS, BRIER), costs.n_decisions)
    point = OperatingPoint(costs.for_classes(names), options.constant_threshold)
    for made_with in of_table:
        if point.threshold is not None or made_with != [[*row] for row in point.costs.values]:
            raise SketchError(f"the table has the Bayes decisions at costs={made_with}, not at {point.words()}")
    return grid, point


def cells_of_table(
    table: pl.DataFrame, grid: Grid, weighted: bool, cluster: str | None = None, buckets: int = BUCKETS
) -> Cells:
    """The cells that a warehouse made, checked."""
    number, score_type = buckets_of_clusters(cluster, buckets), grid.score_type
    fine, coarse, hashed_by = _apart_of_files(table, cluster)
    # Queries of earlier versions gave no squares of weights.
    cell = [name for name in grid.columns if name in fine.columns or name != WEIGHTS[1]]
    expected = [*cell, *(SUMS if grid.has_sums else ())]
    if "log_odds" in fine.columns:
        raise SketchError(
            "the table is from ec.sketch or sketch_query of an earlier version of polars_ec: make it again with this version"
        )
    lacking = [name for name in expected if name not in fine.columns]
    if lacking:
        raise SketchError(
            f"the table lacks {', '.join(lacking)}, so it is not the result of a sketch of {score_type} scores"
        )
    above = fine["above"].max() if "above" in grid.columns else None
    if isinstance(above, int) and above > len(grid.thresholds):
        raise SketchError(
            f"the table has scores above {above} thresholds, but thresholds= lists {len(grid.thresholds)}: pass the "
            "thresholds of the query"
        )
    fine = fine.drop(COSTS, strict=False) if isinstance(grid, DecisionGrid) else fine
    keys = [name for name in fine.columns if name not in expected]
    if reserved := RESERVED.intersection(keys):
        raise SketchError(f"the table has a group column {sorted(reserved)[0]!r}, which names a sum: rename it")
    whole = _with_infinite_sums(_typed(fine, keys, expected, grid), grid)
    fault = _fault_in_table(whole, grid, weighted)
    kept = ["class", *grid.cell_columns, *(x for x in grid.amounts(weighted=weighted) if x in cell)]
    cells = None
    if fault is None:
        sums = whole.filter(pl.col("class") >= 0).select(*keys, "class", "above", *SUMS) if grid.has_sums else None
        cells = Cells(add_up(whole.select(*keys, *kept)), grid, weighted, None if sums is None else add_up(sums))
    if cells is not None and coarse is not None:
        typed = _typed(coarse, keys, [BUCKET, *cell], grid)
        added = add_up(typed.select(*keys, BUCKET, *kept))
        cells = replace(cells, coarse=added, buckets=number, cluster=cluster, hash=hashed_by)
        fault = (None if weighted else _fault_in_weights(typed)) or _fault_in_coarse(cells, added)
    if cells is None or fault is not None:
        hint = ": pass weighted=True if it was made with weights" if "without weights" in str(fault) else ""
        raise SketchError(f"the table is not a sketch of {score_type} scores: it has {fault}{hint}")
    return cells


def _apart_of_files(table: pl.DataFrame, cluster: str | None) -> tuple[pl.DataFrame, pl.DataFrame | None, str]:
    """The cells of a table, its coarse cells if it has clusters, and the hash that assigned these to buckets."""
    of_clusters = (TABLE, BUCKET, HASH)
    if cluster is None and TABLE not in table.columns:
        return table, None, MURMUR3
    if cluster is None:
        raise SketchError("the table has cells by bucket: pass cluster= and buckets= as the query was made with them")
    if not isinstance(cluster, str):
        raise TypeError(f"cluster={cluster!r} is not the name of a key: pass the name that the sketch should use")
    lacking = [name for name in of_clusters if name not in table.columns]
    if lacking:
        raise SketchError(f"the table lacks {', '.join(lacking)}: write the query with cluster=")
    of_table, hashes = table[TABLE].cast(pl.String), table[HASH].cast(pl.String).unique().to_list()
    unknown = [name for name in of_table.unique() if name not in ("cells", "coarse")]
    if unknown or len(hashes) > 1 or None in hashes:
        raise SketchError(
            f"the table is not a sketch: it has rows of {[*unknown, *hashes]!r} in {TABLE!r} and {HASH!r}"
        )
    beside = table.drop(of_clusters)
    return beside.filter(of_table == "cells"), table.filter(of_table == "coarse"), hashes[0] if hashes else MURMUR3


def _typed(table: pl.DataFrame, keys: Sequence[str], names: Sequence[str], grid: Grid) -> pl.DataFrame:
    try:
        typed = table.select(*keys, *(pl.col(name).cast(_dtype_of(name, grid)) for name in names))
    except pl.exceptions.PolarsError as error:
        raise SketchError(f"the table has values that are not numbers: {first_line(error)}") from None
    for name in names:
        if typed.schema[name].is_integer() and table.select((pl.col(name).cast(pl.Float64) % 1 != 0).any()).item():
            raise SketchError(f"the table has values of {name!r} that are not whole numbers")
    return typed


def _clusters(about: Mapping[str, Any]) -> dict[str, Any]:
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
    """A float from its text, or from a number; float() takes Booleans too."""
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


# Valid cells of a sketch, from a file or from a table of a warehouse.

_DTYPES: Mapping[str, pl.DataType] = {
    "class": pl.Int8(),
    "bin": pl.Int32(),
    "above": pl.Int16(),
    EXACT: pl.Float64(),
    BUCKET: pl.Int16(),
    "n": pl.Int64(),
}
# Sums over the rows of a cell are rounded.
_ROUNDING = 1e-9
# PostgreSQL takes products of small weights for 0, and no engine has digits for the least of them.
_LEAST_WEIGHT = 1e-80
_LEAST_NUMBERS = 1e-320
_LEAST_SQUARED = 1e-140
_ROW = "row of the table"
_USABLE = (pl.col("class") >= 0).fill_null(value=False)


def _dtype_of(name: str, grid: Grid) -> pl.DataType:
    """The dtype of a column of a sketch that is not a group column."""
    if isinstance(grid, DecisionGrid) and name in ("class", "decision"):
        return pl.Int32()
    return _DTYPES.get(name, pl.Float64())


def _fault_in_file(cells: Cells) -> str | None:
    """The first thing in the tables of a file that no log can have led to, in words."""
    frame, sums, coarse, grid, weighted = cells.frame, cells.sums, cells.coarse, cells.grid, cells.weighted
    keys = cells.keys
    for table in (frame, sums, coarse):
        for name, dtype in ({} if table is None else table.schema).items():
            if name not in keys and dtype != _dtype_of(name, grid):
                return f"{name!r} is {dtype}, not {_dtype_of(name, grid)}"
    fault = _fault_in_cells(frame, grid, weighted)
    if fault is None and _has_doubles(frame, [*keys, "class", *grid.cell_columns]):
        return "a duplicate cell"
    if fault is None and coarse is not None:
        fault = _fault_in_coarse(cells, coarse)
    if fault is not None or sums is None:
        return fault
    weighed = frame if weighted else frame.with_columns(weight=pl.col("n").cast(pl.Float64))
    return _fault_in_sums(weighed, sums, [*keys, "class", "above"], grid)


def _fault_in_coarse(cells: Cells, coarse: pl.DataFrame) -> str | None:
    """The first thing in the coarse cells that no log can have led to, or another one than to the cells."""
    grid, assigned = cells.grid.coarse, pl.col(BUCKET)
    of_coarse = {
        "a bucket that none of its clusters is in": ~assigned.is_between(0, (cells.buckets or 0) - 1),
        "coarse cells of rows that are not usable": ~_USABLE,
    }
    fault = first_fault(coarse, of_coarse) or _fault_in_cells(coarse, grid, cells.weighted)
    if fault is None and _has_doubles(coarse, [*cells.keys, BUCKET, "class", *grid.cell_columns]):
        fault = "a duplicate coarse cell"
    return fault or _fault_in_margins(cells, coarse)


def _fault_in_margins(cells: Cells, coarse: pl.DataFrame) -> str | None:
    by, decides = [*cells.keys, "class"], isinstance(cells.grid, DecisionGrid)
    fine = cells.frame.lazy().filter(pl.col("class") >= 0)
    if decides:
        by += cells.grid.cell_columns
    elif not cells.grid.is_cut_by_coarse:
        by += cells.grid.cell_columns
        fine = fine.with_columns(bin=cells.grid.coarse_bin(pl.col("bin")))
    amounts = [name for name in (AMOUNTS if decides else ("n", *WEIGHTS)) if name in coarse.columns]
    tables = {"fine": fine, "coarse": coarse.lazy()}
    parts = [table.select(*by, **{f"{of}_{x}": x for x in amounts}) for of, table in tables.items()]
    both = pl.concat(parts, how="diagonal").group_by(by).agg(pl.exclude(by).sum()).collect(engine="streaming")
    pairs = [(pl.col(f"fine_{x}"), pl.col(f"coarse_{x}")) for x in amounts]
    off = [(one != other) & ~((one - other).abs() <= one * _ROUNDING) for one, other in pairs]
    return first_fault(both, {"coarse cells that do not add up to its cells": pl.any_horizontal(off)})


def _fault_in_table(table: pl.DataFrame, grid: Grid, weighted: bool) -> str | None:
    """The first thing in a table of cells with their sums that no log can have led to, in words."""
    fault = _fault_in_cells(table, grid, weighted) or (None if weighted else _fault_in_weights(table))
    if fault is not None or not grid.has_sums:
        return fault
    fault = first_fault(table, {f"an impossible sum of {x!r}": ~_USABLE & (pl.col(x).fill_null(0) != 0) for x in SUMS})
    # A cell may be there in several rows: so each row is a cell here.
    used = table.filter(_USABLE).with_row_index(_ROW)
    return fault or _fault_in_sums(used, used, [_ROW, "class", *grid.cell_columns], grid)


def _fault_in_cells(frame: pl.DataFrame, grid: Grid, weighted: bool) -> str | None:
    weight, n = pl.col("weight"), len(grid.classes.values)
    known = f"0 to {n - 1}, one for each row of the costs" if isinstance(grid, DecisionGrid) else "0, 1"
    right = (weight >= 0) & weight.is_not_nan()
    is_class = pl.col("class").is_between(-1, n - 1)
    faults = {
        f"a class that is not {known}, -1 (invalid rows) or null (missing values)": ~is_class,
        "a number of rows that is null or negative": pl.col("n").is_null() | (pl.col("n") < 0),
        **_faults_of_cells(grid),
    }
    if weighted:
        words = "an impossible sum of 'weight'"
        faults[words] = pl.when(_USABLE).then(~right.fill_null(value=False)).otherwise(weight.fill_null(0) != 0)
    if weighted and WEIGHTS[1] in frame.columns:
        squares = pl.col(WEIGHTS[1])
        words = "a sum of 'weight2' that is impossible for the squares of the weights"
        faults[words] = pl.when(_USABLE).then(~_are_squares(squares)).otherwise(squares.fill_null(0) != 0)
    return first_fault(frame, faults)


def _are_squares(squares: pl.Expr) -> pl.Expr:
    """True if this can be the sum of the squares of `n` weights that add up to `weight`."""
    weight, rows = pl.col("weight"), pl.col("n")
    most = squares <= weight**2 * (1 + _ROUNDING) + rows * _LEAST_NUMBERS
    # No digits are lost to squares that no float holds.
    has_digits = (weight > rows * _LEAST_SQUARED) & (weight < 1 / _LEAST_SQUARED)
    least = ~has_digits | (squares * rows >= weight**2 * (1 - _ROUNDING))
    return ((squares >= 0) & squares.is_not_nan() & most & least).fill_null(value=False)


def first_fault(frame: pl.DataFrame, faults: Mapping[str, pl.Expr]) -> str | None:
    found = frame.select(fault.fill_null(value=False).any().alias(words) for words, fault in faults.items())
    return next((words for words, is_there in found.row(0, named=True).items() if is_there), None)


def _has_doubles(table: pl.DataFrame, columns: Sequence[str]) -> bool:
    return not _is_ascending(table, columns) and bool(table.select(columns).is_duplicated().any())


def _is_ascending(frame: pl.DataFrame, columns: Sequence[str]) -> bool:
    """Whether every row comes after the previous one, as in sorted files, by comparing neighbours."""
    after = pl.lit(value=False)
    for column in map(pl.col, reversed(columns)):
        before = column.shift(1)
        larger = (column > before).fill_null(column.is_null() & before.is_not_null())
        after = larger | (column.eq_missing(before) & after)
    try:
        return bool(frame.select(after.slice(1).all()).item())
    except pl.exceptions.PolarsError:  # group columns that have no order
        return False


def _faults_of_decisions(grid: DecisionGrid) -> dict[str, pl.Expr]:
    decision, undecided = pl.col("decision"), pl.lit(value=grid.row_costs is not None)
    lacks = undecided & (decision == UNDECIDED)
    right = decision.is_between(0, grid.n_decisions - 1).fill_null(value=False)
    faults = {
        "a decision that the costs do not have": ~lacks.fill_null(value=False)
        & pl.when(_USABLE).then(~right).otherwise(decision.is_not_null())
    }
    for x in grid.values:
        value, square = pl.col(x), pl.col(f"{x}{SQUARE}")
        known = pl.when(value.is_finite() & square.is_finite())
        most, least = value**2 * (1 + _ROUNDING), value**2 * (1 - _ROUNDING)
        beyond = (square > most + _LEAST_NUMBERS) | (square * pl.col("n") < least - _LEAST_NUMBERS)
        off = known.then(beyond).otherwise(pl.lit(value=False))
        possible = (value >= 0) & value.is_not_nan() & (square >= 0) & square.is_not_nan()
        wrong = (~possible | off).fill_null(value=True)
        faults[f"an impossible sum of {x!r}"] = pl.when(_USABLE).then(wrong).otherwise((value != 0) | (square != 0))
    return faults


def _faults_of_cells(grid: Grid) -> dict[str, pl.Expr]:
    if isinstance(grid, DecisionGrid):
        return _faults_of_decisions(grid)
    if grid.resolution is None:
        ranges = {EXACT: ~grid.scale.is_wrong(pl.col(EXACT))}
    else:
        ranges = {
            "bin": pl.col("bin").is_between(*grid.infinite_bins),
            "above": pl.col("above").is_between(0, len(grid.thresholds)),
        }
    faults = {
        f"a value of {name!r} that is not on the grid": pl.when(_USABLE)
        .then(~in_range.fill_null(False))
        .otherwise(pl.col(name).is_not_null())
        for name, in_range in ranges.items()
    }
    if grid.resolution is not None:
        cut = "scores on the wrong side of the thresholds: it was made with other thresholds"
        faults[cut] = _USABLE & _is_cut_elsewhere(grid)
    return faults


def _is_cut_elsewhere(grid: Grid) -> pl.Expr:
    """True if `above` is not what the thresholds that the scores of the bin may be above make it."""
    # Whatever is not between its ends cuts no posterior but 0 and 1, which have bins of their own.
    score = pl.lit(pl.Series(grid.thresholds, dtype=pl.Float64).clip(*grid.scale.bounds))
    position = grid.scale.position(score)
    # Engines take logarithms that differ in the last digit, so that one on an edge may be of either bin.
    rounding = pl.when(position.is_finite()).then(_ROUNDING * (1 + position.abs())).otherwise(0.0)
    lower, upper = (pl.select(grid.bin(score, position + sign * rounding)).to_series() for sign in (-1, 1))
    bin_ = pl.col("bin")
    least = sum(((bin_ > at).cast(pl.Int32) for at in upper), pl.lit(0))
    most = sum(((bin_ >= at).cast(pl.Int32) for at in lower), pl.lit(0))
    return ~pl.col("above").is_between(least, most)


def _fault_in_weights(table: pl.DataFrame) -> str | None:
    """The first sum of weights that is not the number of rows, in a table of rows without weights."""
    rows = pl.col("n")
    wanted = pl.when(_USABLE).then(rows).otherwise(0)
    right = {name: (pl.col(name) - wanted).abs() <= rows * _ROUNDING for name in WEIGHTS if name in table.columns}
    fault = "an impossible sum of {!r}: without weights it is the number of rows"
    return first_fault(table, {fault.format(name): ~of.fill_null(value=False) for name, of in right.items()})


def _fault_in_sums(frame: pl.DataFrame, sums: pl.DataFrame, by: Sequence[str], grid: Grid) -> str | None:
    """The first of the sums by these columns that cannot be that of the cells, which have `weight`."""
    lost = {f"an impossible sum of {name!r}: it is null or NaN": ~pl.col(name).is_not_nan() for name in SUMS}
    null = {words: fault.fill_null(value=True) for words, fault in lost.items()}
    weight = pl.col("weight")
    of_row = {
        f"{name}_{end}": value
        for name, ends in _bounds_of_losses(grid).items()
        for end, value in zip(("least", "most"), ends, strict=True)
    }
    least_weight = {"least": _LEAST_WEIGHT, "most": 0.0}
    bounds = {
        name: pl.when(weight > least_weight[name.rsplit("_", 1)[1]]).then(pl.col(name) * weight).sum()
        for name in of_row
    }
    used = frame.lazy().filter(pl.col("class") >= 0)
    # Bins are few where cells are many.
    bins = used.select("class", "bin").unique().with_columns(**of_row).collect(engine="streaming")
    of_cells = used.join(bins.lazy(), on=["class", "bin"]).group_by(by).agg(pl.col("n").sum(), cells=1, **bounds)
    of_sums = sums.lazy().select(*by, *SUMS, sums=1)
    numbers = [pl.col("n", *bounds, *SUMS, "cells", "sums").sum()]
    compared = pl.concat([of_cells, of_sums], how="diagonal").group_by(by).agg(numbers).collect(engine="streaming")
    faults = {
        "sums of no cells": pl.col("cells") == 0,
        "cells without sums": pl.col("sums") == 0,
        "a duplicate sum": pl.col("sums") > 1,
    }
    for name in SUMS:
        least, most = pl.col(f"{name}_least"), pl.col(f"{name}_most")
        above = pl.col(name) > most * (1 + _ROUNDING) + pl.col("n") * _LEAST_NUMBERS
        below = pl.col(name) < least * (1 - _ROUNDING)
        words = "it was made with another resolution or of another score_type"
        faults[f"an impossible sum of {name!r} for its bins: {words}"] = above | below
    return first_fault(sums, null) or first_fault(compared, faults)


def _bounds_of_losses(grid: Grid) -> dict[str, tuple[pl.Expr, pl.Expr]]:
    """Bounds of what `SUMS` are sums of, for a row of a cell, whatever logarithm an engine took."""
    below, above = log_odds_bounds(grid)
    below, above = (
        pl.when(edge.is_finite()).then(edge + sign * _ROUNDING * (1 + edge.abs())).otherwise(edge)
        for sign, edge in ((-1, below), (1, above))
    )
    label = pl.col("class")
    in_class = [label == 0, label == 1]
    ends = (above, below), (below, above)
    right, wrong = (BinaryScores(pl.when(label == 1).then(of_1).otherwise(of_0), LOG_ODDS) for of_1, of_0 in ends)
    return {
        "log_loss": (right.log_loss(in_class), wrong.log_loss(in_class)),
        "brier": (right.brier(in_class), wrong.brier(in_class)),
        "posterior": (sigmoid(below), sigmoid(above)),
    }
