"""A checksum of tables: of what they hold, not of how a file or a version of Polars stores it."""

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
from polars_ec.arguments.keywords import parse_number
from polars_ec.arguments.scales import parse_sketch_score_type
from polars_ec.exceptions import SketchError
from polars_ec.numerics import np
from polars_ec.output.words import first_line
from polars_ec.scores.folds import BUCKETS, FOLD, HASH_VERSION, MURMUR3, buckets_of_clusters
from polars_ec.sketches.arguments import OperatingPoint
from polars_ec.sketches.cells import OF_CLUSTERS, Cells, add_up
from polars_ec.sketches.checks import dtype_of, fault_in_coarse, fault_in_file, fault_in_table, fault_in_weights
from polars_ec.sketches.grid import BUCKET, SUMS, WEIGHTS, Grid, checked_resolution, sorted_thresholds

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_SLICE = 1_000_000
_WIDE = (pl.Int128, pl.UInt128)


def checksum(tables: Sequence[pl.DataFrame], about: Mapping[str, Any], further: Mapping[str, str]) -> str:
    """SHA-256 of the values of the columns, whatever their chunks, and of what is said about them."""
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
HASH = "hash"
"""The column of a warehouse's table with clusters that names the hash of their buckets."""

_VERSIONS: Mapping[Kind, int] = MappingProxyType({"sketch": 4, "calibration": 2})
_OLDEST_READ: Mapping[Kind, int] = MappingProxyType({"sketch": 3, "calibration": 1})

# What reading a damaged file may end in; a panic of Polars is no Exception to Python.
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
    described = {"schema_version": _VERSIONS[kind], **about, _COVERED: sorted(further)}
    described[_CHECKSUM] = checksum(tables or [frame], described, further)
    frame.write_parquet(file, metadata={**further, f"polars_ec.{kind}": json.dumps(described)})


def write_tables(
    tables: Tables,
    file: str | Path | IO[bytes],
    kind: Kind,
    about: Mapping[str, Any],
    metadata: Mapping[str, str] | None,
) -> None:
    """Save tables one below the other: the column `table` names the one of a row, and the metadata list the columns of each."""
    dtype = pl.Enum([*tables])
    stacked = pl.concat(
        [table.select(pl.lit(name, dtype=dtype).alias(TABLE), pl.all()) for name, table in tables.items()],
        how="diagonal",
        rechunk=False,
    )
    columns = {name: table.columns for name, table in tables.items()}
    write_described(stacked, file, kind, {**about, "tables": columns}, metadata, [*tables.values()])


def read_described(path: str | Path, kind: Kind) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Read a table of this kind and what it means; SketchError for any other or damaged file, OSError for one that cannot be opened."""
    frame, about, metadata = _read_described(path, kind)
    if _CHECKSUM in about or _COVERED in about:
        _check(path, kind, [frame], about, metadata)
    return frame, about


def read_tables(path: str | Path, kind: Kind, known: Collection[str]) -> tuple[Tables, dict[str, Any]]:
    """The tables of this kind and what they mean, as `read_described` gives one; of no other names than the known ones."""
    stacked, about, metadata = _read_described(path, kind)
    tables = _apart(path, kind, stacked, about, known)
    del stacked
    _check(path, kind, [*tables.values()], about, metadata)
    return tables, about


def _apart(
    path: str | Path, kind: Kind, stacked: pl.DataFrame, about: Mapping[str, Any], known: Collection[str]
) -> Tables:
    stated = about.get("tables")
    of_lists = isinstance(stated, dict) and all(isinstance(columns, list) for columns in stated.values())
    texts = pl.String, pl.Categorical, pl.Enum
    if not of_lists or stacked.columns[:1] != [TABLE] or not isinstance(stacked.schema[TABLE], texts):
        raise SketchError(f"{path} is a damaged {kind}: neither its columns nor its metadata say which tables it has")
    assert isinstance(stated, dict)
    runs = stacked[TABLE].rle().struct.unnest().cast({"value": pl.String})
    unknown = [name for name in (*stated, *runs["value"].drop_nulls()) if name not in known]
    if unknown:
        raise SketchError(
            f"{path} is a {kind} with a table {unknown[0]!r}, which this version of polars_ec does not know: update polars_ec"
        )
    lengths = dict(zip(runs["value"], runs["len"], strict=True))
    if len(lengths) < runs.height or not lengths.keys() <= stated.keys():
        raise SketchError(f"{path} is a damaged {kind}: its tables are not one below the other")
    tables, start = {}, 0
    for name in [*lengths, *(name for name in stated if name not in lengths)]:
        length = lengths.get(name, 0)
        try:
            tables[name] = stacked.slice(start, length).select(stated[name])
        except (pl.exceptions.PolarsError, TypeError, ValueError):
            raise SketchError(f"{path} is a damaged {kind}: its table {name!r} lacks columns") from None
        start += length
    return {name: tables[name] for name in stated}


def _read_described(path: str | Path, kind: Kind) -> tuple[pl.DataFrame, dict[str, Any], dict[str, str]]:
    key = f"polars_ec.{kind}"
    with open(path, "rb") as file:  # by Python, which opens any name, and says of a failure whose it is
        try:
            metadata, frame = _read(file, key)
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
    if version > _VERSIONS[kind]:
        raise SketchError(
            f"{path} is a {kind} of schema version {version}, and this version of polars_ec reads up to "
            f"{_VERSIONS[kind]}: update polars_ec"
        )
    if version < _OLDEST_READ[kind]:
        raise SketchError(
            f"{path} is a {kind} of schema version {version}, by an earlier version of polars_ec, and this one reads "
            f"{_OLDEST_READ[kind]}: make the {kind} again from its log"
        )
    return frame, about, metadata


def _read(file: IO[bytes], key: str) -> tuple[dict[str, str], pl.DataFrame | None]:
    metadata, parquet = _opened(file)
    if key not in metadata:
        return metadata, None
    return metadata, pl.read_parquet(file) if parquet is None else _in_parts(parquet)


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
    return _texts(parquet.metadata.metadata), parquet


def _in_parts(parquet: pq.ParquetFile) -> pl.DataFrame:
    """The table, a part of its rows at a time: the whole of it in two forms would take twice the memory."""
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


def _texts(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    return {k.decode(errors="replace"): v.decode(errors="replace") for k, v in (metadata or {}).items()}


def _check(
    path: str | Path, kind: Kind, tables: Sequence[pl.DataFrame], about: dict[str, Any], metadata: Mapping[str, str]
) -> None:
    stated, covered = about.pop(_CHECKSUM, None), about.get(_COVERED)
    names = covered if isinstance(covered, list) and all(isinstance(name, str) for name in covered) else []
    if stated != checksum(tables, about, {name: metadata.get(name, "") for name in names}):
        raise SketchError(f"{path} is a damaged {kind}: it is not what was written (its checksum differs)")
    about.pop(_COVERED, None)


# Cells in files, and in tables that a warehouse made: written, read and checked.


def write_cells(
    cells: Cells, point: OperatingPoint, path: str | Path | IO[bytes], metadata: Mapping[str, str] | None
) -> None:
    """Save the cells and what they mean."""
    tables = {"cells": cells.frame, "sums": cells.sums, "coarse": cells.coarse}
    there = {name: table for name, table in tables.items() if table is not None}
    write_tables(there, path, "sketch", description(cells, point), metadata)


def description(cells: Cells, point: OperatingPoint) -> dict[str, Any]:
    """Describe cells for the metadata of their file."""
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
    """Read a file of `write_cells`; SketchError for any other file, and for one that is damaged."""
    tables, about = read_tables(path, "sketch", ("cells", "sums", "coarse"))
    try:
        grid = Grid(
            parse_sketch_score_type(about["score_type"]).name,
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
    grid = Grid(parse_sketch_score_type(score_type).name, checked_resolution(resolution), sorted_thresholds(thresholds))
    number = buckets_of_clusters(cluster, buckets)
    fine, coarse, hashed_by = _apart_of_files(
        table if isinstance(table, pl.DataFrame) else pl.DataFrame(table), cluster
    )
    # Queries of earlier versions gave no squares of weights.
    cell = [name for name in grid.columns if name in fine.columns or name != WEIGHTS[1]]
    expected = [*cell, *(SUMS if grid.has_sums else ())]
    if "log_odds" in fine.columns:
        raise SketchError(
            "the table is of an ec.sketch or a sketch_query of an earlier version of polars_ec: make it with this one"
        )
    lacking = [name for name in expected if name not in fine.columns]
    if lacking:
        raise SketchError(
            f"the table lacks {', '.join(lacking)}: it is not a result of a sketch of {score_type} scores"
        )
    above = fine["above"].max()
    if isinstance(above, int) and above > len(grid.thresholds):
        raise SketchError(
            f"the table has scores above {above} thresholds, and thresholds= lists {len(grid.thresholds)}: pass "
            "those that the query was made with"
        )
    keys = [name for name in fine.columns if name not in expected]
    whole = _with_infinite_sums(_typed(fine, keys, expected), grid)
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


def _apart_of_files(table: pl.DataFrame, cluster: str | None) -> tuple[pl.DataFrame, pl.DataFrame | None, str]:
    """The cells of a table, its coarse cells if it has clusters, and the hash that dealt these out to buckets."""
    of_clusters = (TABLE, BUCKET, HASH)
    if cluster is None and TABLE not in table.columns:
        return table, None, MURMUR3
    if cluster is None:
        raise SketchError("the table has cells by bucket: pass cluster= and buckets= as the query was made with them")
    if not isinstance(cluster, str):
        raise TypeError(f"cluster={cluster!r} is not the name of a key: pass what the sketch is to call it")
    lacking = [name for name in of_clusters if name not in table.columns]
    if lacking:
        raise SketchError(f"the table lacks {', '.join(lacking)}: the query that made it was written without cluster=")
    of_table, hashes = table[TABLE].cast(pl.String), table[HASH].cast(pl.String).unique().to_list()
    unknown = [name for name in of_table.unique() if name not in ("cells", "coarse")]
    if unknown or len(hashes) > 1 or None in hashes:
        raise SketchError(
            f"the table is not a sketch: it has rows of {[*unknown, *hashes]!r} in {TABLE!r} and {HASH!r}"
        )
    beside = table.drop(of_clusters)
    return beside.filter(of_table == "cells"), table.filter(of_table == "coarse"), hashes[0] if hashes else MURMUR3


def _typed(table: pl.DataFrame, keys: Sequence[str], names: Sequence[str]) -> pl.DataFrame:
    try:
        typed = table.select(*keys, *(pl.col(name).cast(dtype_of(name)) for name in names))
    except pl.exceptions.PolarsError as error:
        raise SketchError(f"the table has no numbers where a sketch has some: {first_line(error)}") from None
    for name in names:
        if typed.schema[name].is_integer() and table.select((pl.col(name).cast(pl.Float64) % 1 != 0).any()).item():
            raise SketchError(f"the table has values of {name!r} that are no whole numbers: no log leads to them")
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
