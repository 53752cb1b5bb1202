"""A folder of sketches: one file per input file, and nothing else that a killed process could leave half-written.

There is no central manifest. What a manifest would say of an input (path, size, modification time, rows, options) is in
the metadata of its sketch, so that one rename makes both true at the same moment: a sketch without its entry, or an entry
without its sketch, cannot be. The name of a sketch follows from the path of its input, so that a new sketch of a changed
input takes the place of the old one and no input can be there twice.

Beside the sketches lie a lock, which the kernel releases when its process ends, however it ends; and, unless the last job
was done in full, a list of what it left undone. That list is there for the messages: no result depends on it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from polars_ec._sources import DataError, UsageError
from polars_ec.exceptions import SketchError
from polars_ec.sketch import Sketch, merge

_VERSION = 1
_METADATA_KEY = "polars_ec.input"
_SUFFIX = ".sketch.parquet"
_LOCK = ".polars-ec-sketch.lock"
_UNDONE = ".polars-ec-sketch.undone.json"
_TEMPORARY = ".tmp"


@dataclass(frozen=True)
class Record:
    """The entry of the manifest for one input.

    `key_types` has the dtype of every group column, None where the column holds only nulls and so any dtype will do.
    """

    input: str
    size: int
    modified_ns: int
    rows: int
    key_types: dict[str, str | None]
    options: dict[str, Any]

    def is_current(self) -> bool:
        """Whether the input is still the file that was sketched."""
        try:
            now = os.stat(self.input)
        except OSError:
            return False
        return (self.size, self.modified_ns) == (now.st_size, now.st_mtime_ns)

    def encode(self) -> dict[str, str]:
        """For the metadata of the sketch's file."""
        return {_METADATA_KEY: json.dumps({"version": _VERSION, **asdict(self)})}


class SketchFolder:
    """The sketches of a job, on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether a job has ever worked here."""
        return path.is_dir() and ((path / _LOCK).exists() or any(path.glob(f"*{_SUFFIX}")))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep any other job out until this one ends; DataError if there is one."""
        try:
            import fcntl
        except ModuleNotFoundError:
            raise UsageError("polars-ec sketch needs the file locks of POSIX (Linux, macOS, WSL)") from None
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # Never removed: a process that waits for the old file and one that makes a new one would both get a lock.
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o666)
        except OSError as error:
            raise UsageError(f"--out {self.path}: {error.strerror}") from None
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                holder = os.read(lock, 32).decode(errors="replace").strip()
                raise DataError(
                    f"{self.path}: another job is at work here (process {holder or 'unknown'}): wait until it ends, or "
                    "choose another --out"
                ) from None
            os.ftruncate(lock, 0)
            os.write(lock, f"{os.getpid()}\n".encode())
            yield
        finally:
            os.close(lock)

    def clean(self) -> None:
        """Remove what killed jobs were writing; only under the lock, where nobody is writing."""
        for file in self.path.glob(f".*{_TEMPORARY}"):
            if file.name.endswith((_SUFFIX + _TEMPORARY, _UNDONE + _TEMPORARY)):
                file.unlink(missing_ok=True)

    @staticmethod
    def name_for(source: str) -> str:
        """The name of the sketch of an input: readable, and another one for every other path."""
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(source).name.split(".")[0])[:60]
        return f"{stem}-{hashlib.sha256(os.fsencode(source)).hexdigest()[:20]}{_SUFFIX}"

    def records(self) -> dict[str, Record | None]:
        """The manifest: an entry by name of every sketch, None for one that is damaged."""
        return {file.name: self._record(file) for file in sorted(self.path.glob(f"*{_SUFFIX}"))}

    @staticmethod
    def _record(file: Path) -> Record | None:
        try:
            entry = json.loads(pl.read_parquet_metadata(file)[_METADATA_KEY])
            version = entry.pop("version")
        except (PolarsError, OSError, ValueError, KeyError):
            return None
        if version > _VERSION:
            raise DataError(f"{file} is of a newer version of polars_ec: update polars_ec")
        return Record(**entry)

    def save(self, sketch: Sketch, record: Record) -> None:
        """Put the sketch and its entry in the place of those of the same input, both or neither."""
        file = self.path / self.name_for(record.input)
        temporary = file.with_name(f".{file.name}{_TEMPORARY}")
        try:
            sketch.write_parquet(temporary, metadata=record.encode())
            self._publish(temporary, file)
        except (PolarsError, OSError) as error:
            raise DataError(f"{file} cannot be written: {str(error).splitlines()[0]}") from None

    def _publish(self, temporary: Path, file: Path) -> None:
        # The bytes before the name, and the name before anything that is done on the strength of it.
        _sync(temporary)
        os.replace(temporary, file)
        _sync(self.path)

    def remove(self, name: str) -> None:
        """Take a sketch, and its entry with it, out of the result."""
        (self.path / name).unlink(missing_ok=True)
        _sync(self.path)

    def undone(self) -> dict[str, str]:
        """What the last job left undone: input, and why. A job that was killed had not crossed out what it did."""
        try:
            found: dict[str, str] = json.loads((self.path / _UNDONE).read_text("utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path / _UNDONE} is damaged ({error}): remove it and run the job again") from None
        records = self.records()
        current = {record.input for record in records.values() if record is not None and record.is_current()}
        return {source: why for source, why in found.items() if source not in current}

    def leave_undone(self, inputs: Mapping[str, str]) -> None:
        """Note what is still to do; no inputs: nothing is."""
        file = self.path / _UNDONE
        if not inputs:
            file.unlink(missing_ok=True)
            return
        temporary = file.with_name(file.name + _TEMPORARY)
        try:
            temporary.write_text(json.dumps(dict(inputs), indent=1), "utf-8")
            self._publish(temporary, file)
        except OSError as error:
            raise DataError(f"{file} cannot be written: {error.strerror}") from None

    def load(self) -> tuple[Sketch, dict[str, Any]]:
        """The sum of all sketches, and the options they were made with."""
        records = self.records()
        if not records:
            raise DataError(f"{self.path} holds no sketches yet: run polars-ec sketch to the end")
        intact = {name: record for name, record in records.items() if record is not None}
        for name in records:
            if name not in intact:
                raise DataError(f"{self.path / name} is damaged: remove it and run polars-ec sketch again")
        options = next(iter(intact.values())).options
        for name, record in intact.items():
            different = difference(options, record.options)
            if different:
                raise DataError(f"{self.path / name} was made with other options: {different}")
        try:
            sketches = [Sketch.read_parquet(self.path / name) for name in intact]
            return merge(_with_common_key_types(sketches)), options
        except SketchError as error:
            raise DataError(f"{self.path}: {error}") from None
        except PolarsError as error:
            raise DataError(f"{self.path}: {str(error).splitlines()[0]}") from None


def difference(stated: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    """The first option that differs, in words."""
    for name in dict.fromkeys([*stated, *other]):
        if stated.get(name) != other.get(name):
            return f"{name} {_shown(stated.get(name))} and {_shown(other.get(name))}"
    return None


def _shown(value: object) -> str:
    return "none" if value is None or value == [] else json.dumps(value)


def key_types(sketch: Sketch) -> dict[str, str | None]:
    """The dtype of every group column, as an entry of the manifest has it."""
    frame = sketch.frame.select(sketch.keys)
    return {c.name: None if c.null_count() == c.len() else str(c.dtype) for c in frame.get_columns()}


def _with_common_key_types(sketches: Sequence[Sketch]) -> list[Sketch]:
    """A group column that is null throughout a file says nothing of its dtype: it takes that of the other files."""
    known: dict[str, pl.DataType] = {}
    for sketch in sketches:
        for column in sketch.frame.select(sketch.keys).get_columns():
            if column.null_count() < column.len():
                known.setdefault(column.name, column.dtype)
    return [
        Sketch(
            sketch.frame.with_columns(
                pl.lit(None, dtype=dtype).alias(name)
                for name, dtype in known.items()
                if sketch.frame[name].null_count() == sketch.frame.height
            ),
            sketch.grid,
            sketch.weighted,
        )
        for sketch in sketches
    ]


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
