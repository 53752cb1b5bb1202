"""Iceberg tables that pyiceberg reads and does not write, made by hand after the text of the format."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg import manifest as m
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table, update
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.typedef import Record

# The numbers that the format gives to the columns of a file of deleted positions.
_PATH, _POSITION = 2147483546, 2147483545


def properties_in(folder: Path) -> dict[str, str]:
    """What says that a catalog and its tables are files in this folder."""
    return {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/warehouse"}


def make_catalog(name: str, properties: dict[str, str], namespace: str = "n") -> SqlCatalog:
    """A catalog without tables."""
    made = SqlCatalog(name, **properties)
    made.create_namespace(namespace)
    return made


def folder_of(table: Table) -> str:
    """Where a table is, as the command is told."""
    return table.location().removeprefix("file://")


class _DeletesWriter(m.ManifestWriterV2):
    """pyiceberg writes manifests of data alone."""

    def content(self):
        return m.ManifestContent.DELETES

    @property
    def _meta(self):
        return {**super()._meta, "content": "deletes"}


def add_iceberg_deletes(table, *, by_position):
    """Delete the first row of an Iceberg table of one file: by its position, or by the value 0.9 of its first column."""
    folder = folder_of(table)
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
