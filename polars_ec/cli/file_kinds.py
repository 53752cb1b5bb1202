"""The kinds of files that a log may have: how they are called, how they begin, and how Polars scans them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

# Types of columns are guessed from this many rows of text, so that integers at the top do not hide floats further down.
_INFERENCE_ROWS = 10_000


@dataclass(frozen=True)
class FileKind:
    """A file format: how its files are called, how they begin (None: text) and how they are scanned.

    `scan` gets the files, whether their folders are hive partitions, which Polars sees to unless the files are text, and
    dtypes that text is to be read as.
    """

    name: str
    suffixes: tuple[str, ...]
    magic: bytes | None
    scan: Callable[[list[Path], bool, Mapping[str, pl.DataType]], pl.LazyFrame]

    @property
    def is_text(self) -> bool:
        """Whether any bytes may be such a file, and the types of its columns are guessed."""
        return self.magic is None


def path_for_polars(file: Path) -> str:
    """The path as Polars takes it for no address, and for no name in a home."""
    return str(file) if file.is_absolute() else os.path.join(".", file)


def _scan_parquet(files: list[Path], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    return pl.scan_parquet([path_for_polars(file) for file in files], hive_partitioning=hive, glob=False)


def _scan_ipc(files: list[Path], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    return pl.scan_ipc([path_for_polars(file) for file in files], hive_partitioning=hive, glob=False)


def _scan_csv(files: list[Path], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    return pl.scan_csv(
        [path_for_polars(file) for file in files],
        infer_schema_length=_INFERENCE_ROWS,
        schema_overrides=dtypes,
        glob=False,
    )


def _scan_ndjson(files: list[Path], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    # This reader takes every name for a pattern.
    names = ["".join(f"[{c}]" if c in "*?[\\" else c for c in path_for_polars(file)) for file in files]
    return pl.scan_ndjson(names, infer_schema_length=_INFERENCE_ROWS, schema_overrides=dtypes)


CSV = FileKind("CSV", (".csv", ".csv.gz"), None, _scan_csv)
KINDS = (
    FileKind("Parquet", (".parquet", ".pq"), b"PAR1", _scan_parquet),
    CSV,
    FileKind("Arrow IPC", (".arrow", ".feather", ".ipc"), b"ARROW1", _scan_ipc),
    FileKind("NDJSON", (".ndjson", ".jsonl"), None, _scan_ndjson),
)
SUFFIXES = tuple(suffix for kind in KINDS for suffix in kind.suffixes)
