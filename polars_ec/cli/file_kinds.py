"""The kinds of files that a log may have: how they are called, how they begin, and how Polars scans them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

# Types of columns are guessed from this many rows of text, so that integers at the top do not hide floats further down.
_INFERENCE_ROWS = 10_000
# What makes a name a pattern.
PATTERN = "*?[\\"
# Of files that are part of the log's folder of sketches, and no log.
SKETCH_SUFFIX = ".sketch.parquet"


@dataclass(frozen=True)
class FileKind:
    """A file format, or a kind of table: how its files are called, how they begin (None: text) and how they are scanned.

    `scan` gets the files or objects, or the tables, whether their folders are hive partitions, which Polars sees to unless the files are text, and
    dtypes that text is to be read as.
    """

    name: str
    suffixes: tuple[str, ...]
    magic: bytes | None
    scan: Callable[[Sequence[Any], bool, Mapping[str, pl.DataType]], pl.LazyFrame]

    @property
    def is_text(self) -> bool:
        """Whether any bytes may be such a file, and the types of its columns are guessed."""
        return self.magic is None


def path_for_polars(file: object) -> str:
    """A path as Polars takes it for no address, and for no name in a home; an address as it is."""
    return os.path.join(".", file) if isinstance(file, Path) and not file.is_absolute() else str(file)


# Without a credential provider Polars gets at objects by the environment alone, as obstore does, and not by what else it finds.
def _scan_parquet(files: Sequence[object], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    paths = [path_for_polars(file) for file in files]
    return pl.scan_parquet(paths, hive_partitioning=hive, glob=False, credential_provider=None)


def _scan_ipc(files: Sequence[object], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    paths = [path_for_polars(file) for file in files]
    return pl.scan_ipc(paths, hive_partitioning=hive, glob=False, credential_provider=None)


def _scan_csv(files: Sequence[object], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    return pl.scan_csv(
        [path_for_polars(file) for file in files],
        infer_schema_length=_INFERENCE_ROWS,
        schema_overrides=dtypes,
        glob=False,
        credential_provider=None,
    )


def _scan_ndjson(files: Sequence[object], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    # This reader takes every name for a pattern.
    names = ["".join(f"[{c}]" if c in PATTERN else c for c in path_for_polars(file)) for file in files]
    return pl.scan_ndjson(names, infer_schema_length=_INFERENCE_ROWS, schema_overrides=dtypes, credential_provider=None)


CSV = FileKind("CSV", (".csv", ".csv.gz"), None, _scan_csv)
NDJSON = FileKind("NDJSON", (".ndjson", ".jsonl"), None, _scan_ndjson)
KINDS = (
    FileKind("Parquet", (".parquet", ".pq"), b"PAR1", _scan_parquet),
    CSV,
    FileKind("Arrow IPC", (".arrow", ".feather", ".ipc"), b"ARROW1", _scan_ipc),
    NDJSON,
)
SUFFIXES = tuple(suffix for kind in KINDS for suffix in kind.suffixes)
