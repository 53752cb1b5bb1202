"""Tables in Parquet that say in the file's metadata what they mean, and by a checksum that they are still what was written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import polars as pl
from polars.exceptions import PanicException

from polars_ec.exceptions import SketchError

SCHEMA_VERSION = 2

# What reading a damaged file may end in; a panic of Polars is no Exception to Python.
DAMAGE: tuple[type[BaseException], ...] = (Exception, PanicException)

_CHECKSUM, _COVERED = "sha256", "metadata"


def first_line(error: BaseException) -> str:
    """The message without the plan or the query that follows it."""
    return (str(error).strip() or type(error).__name__).split("\n", 1)[0]


def write_described(
    frame: pl.DataFrame,
    file: str | Path | IO[bytes],
    kind: str,
    about: Mapping[str, Any],
    metadata: Mapping[str, str] | None,
) -> None:
    """Save a table of this kind, with what it means (`schema_version` and more), and any further metadata.

    The checksum is of all of it: of the values of the columns, whatever their chunks and encoding, and of the metadata.
    """
    further = dict(metadata or {})
    described = {**about, _COVERED: sorted(further)}
    described[_CHECKSUM] = _checksum(frame, described, further)
    frame.write_parquet(file, metadata={**further, f"polars_ec.{kind}": json.dumps(described)})


def read_described(path: str | Path, kind: str) -> tuple[pl.DataFrame, dict[str, Any]]:
    """A table of this kind and what it means.

    SketchError for any other file and for one that is damaged, saying what is wrong with it; OSError for one that cannot be
    opened. Files of the time before checksums have none.
    """
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
    if version > SCHEMA_VERSION:
        raise SketchError(
            f"{path} is a {kind} of schema version {version}, and this version of polars_ec reads up to "
            f"{SCHEMA_VERSION}: update polars_ec"
        )
    _check(path, kind, frame, about, metadata)
    return frame, about


def _checksum(frame: pl.DataFrame, about: Mapping[str, Any], further: Mapping[str, str]) -> str:
    # Imported here, for it needs numpy.
    from polars_ec.cells.checksum import checksum

    return checksum(frame, about, further)


def _read(file: IO[bytes], key: str) -> tuple[dict[str, str], pl.DataFrame | None]:
    """The metadata, and the table if they have this key.

    Not by Polars where another can: sizes that a flipped bit makes absurd end the process there, and are an error here.
    """
    import pyarrow as pa  # type: ignore[import-untyped]
    import pyarrow.parquet as pq  # type: ignore[import-untyped]

    try:
        parquet = pq.ParquetFile(file)
        metadata = _texts(parquet.metadata.metadata)
        frame = pl.DataFrame(parquet.read()) if key in metadata else None
        pa.default_memory_pool().release_unused()  # or many files one after the other take more and more
        return metadata, frame
    except pa.ArrowNotImplementedError:  # integers of 128 bits
        file.seek(0)
        metadata = pl.read_parquet_metadata(file)
        file.seek(0)
        return metadata, pl.read_parquet(file) if key in metadata else None


def described_schema(path: str | Path) -> tuple[dict[str, str], pl.Schema]:
    """The metadata and the schema of a Parquet file, by its footer alone."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with open(path, "rb") as file:
        try:
            parquet = pq.ParquetFile(file)
            return _texts(parquet.metadata.metadata), pl.DataFrame(parquet.schema_arrow.empty_table()).schema
        except pa.ArrowNotImplementedError:
            file.seek(0)
            metadata = pl.read_parquet_metadata(file)
            file.seek(0)
            return metadata, pl.Schema(pl.read_parquet_schema(file))


def _texts(metadata: Mapping[bytes, bytes] | None) -> dict[str, str]:
    return {k.decode(errors="replace"): v.decode(errors="replace") for k, v in (metadata or {}).items()}


def _check(
    path: str | Path, kind: str, frame: pl.DataFrame, about: dict[str, Any], metadata: Mapping[str, str]
) -> None:
    if _CHECKSUM not in about and _COVERED not in about:
        return  # of the time before checksums
    stated, covered = about.pop(_CHECKSUM, None), about.get(_COVERED)
    names = covered if isinstance(covered, list) and all(isinstance(name, str) for name in covered) else []
    if stated != _checksum(frame, about, {name: metadata.get(name, "") for name in names}):
        raise SketchError(f"{path} is a damaged {kind}: it is not what was written (its checksum differs)")
    about.pop(_COVERED, None)
