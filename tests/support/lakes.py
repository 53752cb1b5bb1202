"""Tables that the libraries of lakes read and do not write, made by hand after the texts of the formats."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyiceberg import manifest as m
from pyiceberg.table import update
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.typedef import Record

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
# The numbers that the format gives to the columns of a file of deleted positions.
_PATH, _POSITION = 2147483546, 2147483545


def _z85(data):
    text = ""
    for i in range(0, len(data), 4):
        value, word = int.from_bytes(data[i : i + 4].ljust(4, b"\0"), "big"), ""
        for _ in range(5):
            value, digit = divmod(value, 85)
            word = _Z85[digit] + word
        text += word
    return text


def _bitmap(rows):
    """A roaring bitmap of one array container, with the header that Delta puts before it."""
    header = struct.pack("<iqI", 1681511377, 1, 0) + struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16)
    return header + struct.pack(f"<{len(rows)}H", *rows)


def delta_with_deletion_vector(path, log, rows):
    """A Delta table of one file, some of whose rows are deleted by a vector within its log."""
    write_deltalake(path, log.to_arrow(), configuration={"delta.enableDeletionVectors": "true"})
    commits = Path(path) / "_delta_log"
    lines = (commits / f"{0:020}.json").read_text().splitlines()
    add = next(entry["add"] for entry in map(json.loads, lines) if "add" in entry)
    data = _bitmap(rows)
    vector = {"storageType": "i", "pathOrInlineDv": _z85(data), "sizeInBytes": len(data), "cardinality": len(rows)}
    remove = {"path": add["path"], "deletionTimestamp": 1, "dataChange": True}
    commit(path, 1, {"remove": remove}, {"add": {**add, "deletionVector": vector}})


def commit(path, version, *actions):
    """Append a commit to the log of a Delta table."""
    file = Path(path) / "_delta_log" / f"{version:020}.json"
    file.write_text("".join(f"{json.dumps(action)}\n" for action in actions))


class _DeletesWriter(m.ManifestWriterV2):
    """pyiceberg writes manifests of data alone."""

    def content(self):
        return m.ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, "content": "deletes"}


def add_iceberg_deletes(table, *, by_position):
    """Delete the first row of an Iceberg table of one file: by its position, or by the value 0.9 of its first column."""
    folder = table.location().removeprefix("file://")
    file, (data,) = f"{folder}/data/deletes.parquet", [task.file.file_path for task in table.scan().plan_files()]
    fields = {"file_path": (pa.string(), _PATH, data), "pos": (pa.int64(), _POSITION, 0)}
    if not by_position:
        fields = {"p": (pa.float64(), 1, 0.9)}
    schema = pa.schema([pa.field(n, t, metadata={"PARQUET:field_id": str(i)}) for n, (t, i, _) in fields.items()])
    pq.write_table(pa.table({name: [value] for name, (_, _, value) in fields.items()}, schema=schema), file)
    bounds = {_PATH: data.encode()}
    deletes = m.DataFile.from_args(
        content=m.DataFileContent.POSITION_DELETES if by_position else m.DataFileContent.EQUALITY_DELETES,
        file_path=f"file://{file}",
        file_format=m.FileFormat.PARQUET,
        partition=Record(),
        record_count=1,
        file_size_in_bytes=Path(file).stat().st_size,
        **({"lower_bounds": bounds, "upper_bounds": bounds} if by_position else {"equality_ids": [1]}),
    )
    own, current = 123456789, table.current_snapshot()
    added = m.ManifestEntryStatus.ADDED
    output = table.io.new_output(f"file://{folder}/metadata/deletes-m0.avro")
    with _DeletesWriter(table.spec(), table.schema(), output, own, "null") as writer:
        writer.add_entry(m.ManifestEntry.from_args(status=added, snapshot_id=own, data_file=deletes))
    made = writer.to_manifest_file()
    sequence, listed = table.metadata.last_sequence_number + 1, f"file://{folder}/metadata/snap-deletes.avro"
    with m.write_manifest_list(2, table.io.new_output(listed), own, current.snapshot_id, sequence, "null") as writer:
        writer.add_manifests([made, *current.manifests(table.io)])
    snapshot = Snapshot(
        snapshot_id=own,
        parent_snapshot_id=current.snapshot_id,
        sequence_number=sequence,
        timestamp_ms=time.time_ns() // 1_000_000 + 5,
        manifest_list=listed,
        summary=Summary(Operation.DELETE),
        schema_id=0,
    )
    to_main = update.SetSnapshotRefUpdate(
        snapshot_id=own, parent_snapshot_id=current.snapshot_id, ref_name="main", type="branch"
    )
    table.catalog.commit_table(table, (), (update.AddSnapshotUpdate(snapshot=snapshot), to_main))
