"""Hive partitions: the keys in the names of folders such as `month=3`, which are columns of the files below."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import unquote

import polars as pl

from polars_ec.cli.file_kinds import FileKind
from polars_ec.cli.places import Place

_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def partition(file: Place) -> dict[str, str | None]:
    """The keys and values that the folders above a file name."""
    parts = dict(part.split("=", 1) for part in file.parts[:-1] if "=" in part)
    return {key: None if value == _NO_PARTITION else unquote(value) for key, value in parts.items()}


def is_partitioned(files: Iterable[Place]) -> bool:
    """Whether the folders of all the files name the same keys."""
    keys = {tuple(partition(file)) for file in files}
    return len(keys) == 1 and keys != {()}


def scan(kind: FileKind, files: Sequence[Place], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    """The files as one lazy frame; `hive`: the keys of their folders are columns. Text is read as `dtypes` say."""
    if hive and kind.is_text:
        return _with_partitions(files, lambda part: kind.scan(part, False, dtypes))
    return kind.scan(files, hive, dtypes)


def differs_from_folder(key: str, dtype: pl.DataType, value: str | None) -> pl.Expr:
    """Whether a column of the files holds anything but what the name of their folder says."""
    text = pl.lit(value, dtype=pl.String)
    same = text.cast(dtype, strict=False) if dtype.is_numeric() else text
    return (pl.col(key) if dtype.is_numeric() else pl.col(key).cast(pl.String)).ne_missing(same).any()


def _with_partitions(files: Sequence[Place], scan_part: Callable[[Sequence[Place]], pl.LazyFrame]) -> pl.LazyFrame:
    """What Polars does for Parquet and IPC: the keys in the names of hive folders become columns."""
    parts: dict[tuple[tuple[str, str | None], ...], list[Place]] = {}
    for file in files:
        parts.setdefault(tuple(partition(file).items()), []).append(file)
    values = pl.DataFrame([dict(part) for part in parts], infer_schema_length=None)
    typed = values.with_columns(pl.col(c).cast(pl.Int64) for c in values.columns if _all_integers(values[c]))
    frames = []
    for part_files, row in zip(parts.values(), typed.to_dicts(), strict=True):
        frame = scan_part(part_files)
        own = frame.collect_schema().names()  # of the same values, as is checked before they are read
        added = {key: pl.lit(value, dtype=typed.schema[key]) for key, value in row.items() if key not in own}
        frames.append(frame.with_columns(**added))
    return pl.concat(frames, how="vertical_relaxed")


def _all_integers(column: pl.Series) -> bool:
    return column.dtype == pl.String and column.cast(pl.Int64, strict=False).null_count() == column.null_count()
