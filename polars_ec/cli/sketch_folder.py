"""A folder of sketches: one file per input file, and nothing else that a killed process could leave half-written.

There is no central manifest. What a manifest would say of an input (path, size, modification time, rows, options) is in
the metadata of its sketch, so that one rename makes both true at the same moment: a sketch without its entry, or an entry
without its sketch, cannot be. The name of a sketch follows from the path of its input, so that a new sketch of a changed
input takes the place of the old one and no input can be there twice; a file by another name is a copy, and refused. A
checksum of cells and entry tells damage from what was written.

Beside the sketches lie a lock, which the kernel releases when its process ends, however it ends; and, unless the last job
was done in full, a list of what it left undone. That list is there for the messages: no result depends on it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Collection, Mapping
from pathlib import Path

from polars.exceptions import PolarsError

from polars_ec.cells.parquet import DAMAGE, described_schema, first_line
from polars_ec.cli.errors import DataError
from polars_ec.cli.file_kinds import SKETCH_SUFFIX
from polars_ec.cli.folder_lock import LOCK
from polars_ec.cli.manifest import (
    METADATA_KEY,
    Bad,
    Entry,
    KeyType,
    Manifest,
    Record,
    count_rows,
    difference,
    joined_cluster_type,
    joined_types,
    key_types,
)
from polars_ec.cli.places import status
from polars_ec.cli.terminal import panics_unseen
from polars_ec.exceptions import SketchError
from polars_ec.sketches import Sketch
from polars_ec.whole_file import TEMPORARY, sync_folder, whole_file

_UNDONE = ".polars-ec-sketch.undone.json"
_PREFIX = ".polars-ec-sketch-"
_POS_LABEL = "--pos-label "


class SketchFolder:
    """The sketches of a job, on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether a job has ever worked here."""
        try:
            names = os.listdir(path)
        except (OSError, ValueError):
            return False
        return LOCK in names or any(name.endswith(SKETCH_SUFFIX) and not name.startswith(".") for name in names)

    def clean(self) -> None:
        """Remove what killed jobs were writing; only under the lock, where nobody is writing."""
        for name in self._listed():
            if name.startswith(_PREFIX) and name.endswith(TEMPORARY):
                (self.path / name).unlink(missing_ok=True)

    @staticmethod
    def name_for(source: str) -> str:
        """The name of the sketch of an input: readable, and another one for every other path."""
        last = source.rstrip("/").rsplit("/", 1)[-1]
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", last.split(".")[0])[:60]
        return f"{stem}-{hashlib.sha256(os.fsencode(source)).hexdigest()[:20]}{SKETCH_SUFFIX}"

    def _listed(self) -> list[str]:
        try:
            return sorted(os.listdir(self.path))
        except OSError as error:
            raise DataError(f"{self.path}: the folder cannot be listed: {error.strerror}") from None

    def entries(self, *, verified: bool = False) -> tuple[dict[str, Entry], dict[str, Bad]]:
        """The manifest by name of the sketch, and the files that are none; `verified`: by all of what they hold."""
        good: dict[str, Entry] = {}
        bad: dict[str, Bad] = {}
        for name in self._listed():
            if not name.endswith(SKETCH_SUFFIX) or name.startswith("."):
                continue
            found = self._entry(name)
            if verified and isinstance(found, Entry):
                try:
                    self.read(name, found)
                except DataError as error:
                    found = Bad(str(error), may_be_replaced=True)
            if isinstance(found, Entry):
                good[name] = found
            else:
                bad[name] = found
        return good, bad

    def records(self) -> dict[str, Record]:
        """The entries of the manifest by name of their sketch."""
        return {name: entry.record for name, entry in self.entries()[0].items()}

    def _entry(self, name: str) -> Entry | Bad:
        file = self.path / name
        damaged = Bad(f"{file} is damaged: remove it and run polars-ec sketch again", may_be_replaced=True)
        try:
            there = status(file)
            if there is None or not stat.S_ISREG(there.st_mode):
                return Bad(f"{file} is not a regular file, so not a sketch: remove it")
            with panics_unseen():
                metadata, schema = described_schema(file)
        except PermissionError as error:
            return Bad(f"{file} cannot be read: {error.strerror}")
        except DataError as error:
            return Bad(str(error))
        except OSError as error:  # pyarrow speaks of damage so too, but without a number
            return damaged if error.errno is None else Bad(f"{file} cannot be read: {error.strerror}")
        except DAMAGE:
            return damaged
        if METADATA_KEY not in metadata:
            return Bad(f"{file} is not a sketch of a polars-ec sketch job: put it elsewhere", may_be_replaced=True)
        try:
            record = Record.decode(metadata[METADATA_KEY])
        except ValueError:
            return damaged
        except DataError as error:
            raise DataError(f"{file} is {error}") from None
        if name != self.name_for(record.input):
            return Bad(f"{file} is a copy of the sketch of {record.input}, which would count twice: remove it")
        if any(key not in schema for key in record.key_types):
            return damaged
        return Entry(record, {key: None if text is None else schema[key] for key, text in record.key_types.items()})

    def read(self, name: str, entry: Entry) -> Sketch:
        """The sketch of this entry; DataError if it is not what the entry says."""
        file = self.path / name
        try:
            with panics_unseen():
                sketch = Sketch.read_parquet(file)
        except SketchError as error:
            raise DataError(f"{error}: remove it and run polars-ec sketch again") from error
        except OSError as error:
            raise DataError(f"{file} cannot be read: {error.strerror}") from error
        found = (count_rows(sketch, entry.record.options), key_types(sketch))
        if found != (entry.record.rows, entry.record.key_types):
            raise DataError(
                f"{file} is damaged: it is not what its entry says: remove it and run polars-ec sketch again"
            )
        return sketch

    def save(self, sketch: Sketch, record: Record) -> None:
        """Put the sketch and its entry in the place of those of the same input, both or neither."""
        file = self.path / self.name_for(record.input)
        try:
            with whole_file(file, _PREFIX, durable=True) as temporary:
                sketch.write_parquet(temporary, metadata=record.encode())
        except (PolarsError, OSError) as error:
            raise DataError(f"{file} cannot be written: {_strerror(error)}") from None

    def remove(self, name: str) -> None:
        """Take a sketch, and its entry with it, out of the result."""
        file = self.path / name
        try:
            file.unlink(missing_ok=True)
            sync_folder(self.path)
        except OSError as error:
            raise DataError(f"{file} cannot be removed: {error.strerror}") from None

    def undone(self, but: Collection[str] = ()) -> dict[str, str]:
        """What the last job left undone but these: input, and why. A job that was killed had not crossed out what it did."""
        file = self.path / _UNDONE
        try:
            if status(file) is None:
                return {}
            if not stat.S_ISREG(os.lstat(file).st_mode):
                raise DataError(f"{file} is not a regular file: remove it")
            found: dict[str, str] = json.loads(file.read_text("utf-8"))
            if not isinstance(found, dict) or not all(isinstance(why, str) for why in found.values()):
                raise ValueError("not a list of inputs")
        except OSError as error:
            raise DataError(f"{file} cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise DataError(f"{file} is damaged ({error}): remove it and run the job again") from None
        found = {source: why for source, why in found.items() if source not in but}
        listed = (record for record in self.records().values() if record.input in found)
        settled = {record.input for record in listed if record.is_current()}
        # What was no sketch, and has been removed since.
        here = os.path.realpath(self.path)
        settled |= {s for s in found if os.path.realpath(os.path.dirname(s)) == here and not os.path.lexists(s)}
        return {source: why for source, why in found.items() if source not in settled}

    def leave_undone(self, inputs: Mapping[str, str]) -> None:
        """Note what is still to do; no inputs: nothing is."""
        file = self.path / _UNDONE
        try:
            if not inputs:
                file.unlink(missing_ok=True)
                return
            with whole_file(file, _PREFIX, durable=True) as temporary:
                temporary.write(json.dumps(dict(inputs), indent=1).encode())
        except OSError as error:
            raise DataError(f"{file} cannot be written: {error.strerror}") from None

    def manifest(self) -> Manifest:
        """The entries, found to be whole and of sketches that go together; DataError names the first that is not."""
        entries, bad = self.entries()
        if bad:
            more = f" ({len(bad) - 1} more of {len(entries) + len(bad)} files are bad too)" if len(bad) > 1 else ""
            raise DataError(f"{next(iter(bad.values())).why}{more}")
        if not entries:
            raise DataError(f"{self.path} holds no sketches yet: run polars-ec sketch to the end")
        options = next(iter(entries.values())).record.options
        common: dict[str, KeyType] = {}
        of_clusters: str | None = None
        for name, entry in entries.items():
            different = difference(options, entry.record.options)
            if different:
                raise DataError(f"{self.path / name} was made with other options: {different}")
            try:
                common, of_clusters = joined_types(common, entry), joined_cluster_type(of_clusters, entry)
            except DataError as error:
                raise DataError(f"{self.path / name}: {error}") from None
        return Manifest(entries, {name: found.dtype for name, found in common.items()})


def pos_label_note(positive: str) -> str:
    """What a job that found no positive, but a label that must be meant, calls this in its list of what is undone."""
    return f"{_POS_LABEL}{positive}"


def is_pos_label_note(source: str) -> bool:
    """Whether it is such a note, and not an input."""
    return source.startswith(_POS_LABEL)


def _strerror(error: Exception) -> str:
    return (error.strerror or first_line(error)) if isinstance(error, OSError) else first_line(error)
