"""Tables in Parquet that say in the file's metadata what they mean, and by a checksum that they are still what was written."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl
from polars.exceptions import PanicException

from polars_ec.exceptions import SketchError

if TYPE_CHECKING:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

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


def first_line(error: BaseException) -> str:
    """The message without the plan or the query that follows it."""
    return (str(error).strip() or type(error).__name__).split("\n", 1)[0]


def write_described(
    frame: pl.DataFrame,
    file: str | Path | IO[bytes],
    kind: Kind,
    about: Mapping[str, Any],
    metadata: Mapping[str, str] | None,
) -> None:
    """Save a table of this kind, with what it means, and any further metadata.

    The checksum is of all of it: of the values of the columns, whatever their chunks and encoding, and of the metadata.
    """
    _write(frame, [frame], file, kind, about, metadata)


def write_tables(
    tables: Tables,
    file: str | Path | IO[bytes],
    kind: Kind,
    about: Mapping[str, Any],
    metadata: Mapping[str, str] | None,
) -> None:
    """Save several tables of this kind as one, one below the other; as `write_described` does with one.

    The column `table` says which one a row is of, and what the metadata call `tables` which columns each of them has; in the
    others its rows are null.
    """
    dtype = pl.Enum([*tables])
    stacked = pl.concat(
        [table.select(pl.lit(name, dtype=dtype).alias(TABLE), pl.all()) for name, table in tables.items()],
        how="diagonal",
        rechunk=False,
    )
    columns = {name: table.columns for name, table in tables.items()}
    _write(stacked, [*tables.values()], file, kind, {**about, "tables": columns}, metadata)


def _write(
    stored: pl.DataFrame,
    tables: Sequence[pl.DataFrame],
    file: str | Path | IO[bytes],
    kind: Kind,
    about: Mapping[str, Any],
    metadata: Mapping[str, str] | None,
) -> None:
    further = dict(metadata or {})
    described = {"schema_version": _VERSIONS[kind], **about, _COVERED: sorted(further)}
    described[_CHECKSUM] = _checksum(tables, described, further)
    stored.write_parquet(file, metadata={**further, f"polars_ec.{kind}": json.dumps(described)})


def read_described(path: str | Path, kind: Kind) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table of this kind and what it means.

    SketchError for any other file and for one that is damaged, saying what is wrong with it; OSError for one that cannot be
    opened. Files of the time before checksums have none.
    """
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
    """The tables of which each is a slice of the stacked one."""
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
    """The table as it is stored, what is said about it, and the metadata of the file."""
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


def _checksum(tables: Sequence[pl.DataFrame], about: Mapping[str, Any], further: Mapping[str, str]) -> str:
    # Imported here, for it needs numpy.
    from polars_ec.cells.checksum import checksum

    return checksum(tables, about, further)


def _read(file: IO[bytes], key: str) -> tuple[dict[str, str], pl.DataFrame | None]:
    """The metadata, and the table if they have this key."""
    metadata, parquet = _opened(file)
    if key not in metadata:
        return metadata, None
    return metadata, pl.read_parquet(file) if parquet is None else _in_parts(parquet)


def _opened(file: IO[bytes]) -> tuple[dict[str, str], pq.ParquetFile | None]:
    """The metadata, and the file as pyarrow has it: not by Polars where another can.

    For sizes that a flipped bit makes absurd end the process there, and are an error here. None, and the file at its begin, where it has
    integers of 128 bits, which pyarrow does not read.
    """
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
    if stated != _checksum(tables, about, {name: metadata.get(name, "") for name in names}):
        raise SketchError(f"{path} is a damaged {kind}: it is not what was written (its checksum differs)")
    about.pop(_COVERED, None)
