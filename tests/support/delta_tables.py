"""Delta tables written by hand: what writers of other engines leave in their logs."""

from __future__ import annotations

import base64
import json
import struct
import uuid
import zlib
from pathlib import Path
from typing import Any

import polars as pl

_TYPES = {pl.Float64: "double", pl.Boolean: "boolean", pl.String: "string", pl.Int64: "long", pl.Int32: "integer"}
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def commit(table: Path, version: int, actions: list[dict[str, Any]]) -> None:
    log = table / "_delta_log"
    log.mkdir(parents=True, exist_ok=True)
    (log / f"{version:020}.json").write_text("".join(json.dumps(action) + "\n" for action in actions))


def protocol(reader: int = 1, *features: str) -> dict[str, Any]:
    """What readers must be able to do."""
    known: dict[str, Any] = {"minReaderVersion": reader, "minWriterVersion": 7 if reader == 3 else 2}
    if reader == 3:
        known |= {"readerFeatures": list(features), "writerFeatures": list(features)}
    return {"protocol": known}


def metadata(log: pl.DataFrame, configuration: dict[str, str] | None = None, **physical: str) -> dict[str, Any]:
    """The columns of the log; `physical` has what they are called in the files."""
    fields = [
        {
            "name": name,
            "type": _TYPES[dtype],
            "nullable": True,
            "metadata": {"delta.columnMapping.id": i, "delta.columnMapping.physicalName": physical[name]}
            if name in physical
            else {},
        }
        for i, (name, dtype) in enumerate(log.schema.items(), 1)
    ]
    return {
        "metaData": {
            "id": "5fba94ed-9794-4965-ba6e-6ee3c0d22af9",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [],
            "configuration": configuration or {},
            "createdTime": 0,
        }
    }


def added(table: Path, name: str, rows: pl.DataFrame, **more: Any) -> dict[str, Any]:
    """The rows in a file of the table, and the action that adds it."""
    table.mkdir(parents=True, exist_ok=True)
    rows.write_parquet(table / name)
    size = (table / name).stat().st_size
    stats = json.dumps({"numRecords": rows.height})
    return {
        "add": {
            "path": name,
            "partitionValues": {},
            "size": size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": stats,
            **more,
        }
    }


def deletion_vector(rows: list[int], table: Path | None = None) -> dict[str, Any]:
    """A deletion vector for rows of a file by their number: in the log, or in a file of the table. A roaring bitmap with one array container."""
    assert max(rows) < 2**16
    container = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16) + struct.pack(f"<{len(rows)}H", *sorted(rows))
    content = struct.pack("<IQI", 1681511377, 1, 0) + container
    told: dict[str, Any] = {"sizeInBytes": len(content), "cardinality": len(rows)}
    if table is None:
        told |= {"storageType": "i", "pathOrInlineDv": _z85(content + bytes(-len(content) % 4))}
    else:
        name = uuid.UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
        framed = b"\1" + struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))
        (table / f"deletion_vector_{name}.bin").write_bytes(framed)
        told |= {"storageType": "u", "pathOrInlineDv": _z85(name.bytes), "offset": 1}
    return {"deletionVector": told}


def _z85(content: bytes) -> str:
    # Base85 of another alphabet.
    theirs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    return base64.b85encode(content).decode().translate(str.maketrans(theirs, _Z85))
