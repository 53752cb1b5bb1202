"""A checksum of tables: of what they hold, not of how a file or a version of Polars stores it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

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
