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

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from polars_ec.cells.cells import add_up
from polars_ec.cells.parquet import DAMAGE, described_schema, first_line
from polars_ec.cli.key_types import common_type
from polars_ec.cli.logs import DataError, UsageError, status
from polars_ec.cli.terminal import panics_unseen
from polars_ec.cli.whole_file import TEMPORARY, sync_folder, whole_file
from polars_ec.exceptions import SketchError
from polars_ec.sketches import Sketch

_VERSION = 1
_METADATA_KEY = "polars_ec.input"
_SUFFIX = ".sketch.parquet"
_LOCK = ".polars-ec-sketch.lock"
_UNDONE = ".polars-ec-sketch.undone.json"
_PREFIX = ".polars-ec-sketch-"
_BUSY = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
# Options that every entry has; those of later versions may be missing, which is to say not stated.
_TEXT_OPTIONS = ("--score", "--label", "--score-type")
_OPTIONS = (*_TEXT_OPTIONS, "--by", "--time", "--every", "--weight", "--pos-label", "--classes", "--resolution")
COSTS = "--cost-fn and --cost-fp"
# What waits to be added up is kept until it is worth the while; and it is added up in so many parts.
_BATCH = 500_000
_PARTS = 16
_POS_LABEL = "--pos-label "


@dataclass(frozen=True)
class Record:
    """The entry of the manifest for one input.

    `key_types` has the dtype of every group column, None where the column holds only nulls and so any dtype will do.
    `positives` counts the usable rows of the positive class; entries of the time before it have None.
    """

    input: str
    size: int
    modified_ns: int
    rows: int
    key_types: dict[str, str | None]
    options: dict[str, Any]
    positives: int | None = None

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

    @classmethod
    def decode(cls, text: str) -> Record:
        """What `encode` made; ValueError for anything else, DataError for what a newer version made."""
        try:
            entry = json.loads(text)
        except RecursionError:
            raise ValueError("nested too deeply") from None
        version = entry.get("version") if isinstance(entry, dict) else None
        if type(version) is not int or version < 1:
            raise ValueError("no version")
        if version > _VERSION:
            raise DataError("of a newer version of polars_ec: update polars_ec")
        known = {field.name: entry[field.name] for field in fields(cls) if field.name in entry}
        try:
            record = cls(**known)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not _is_sound(record):
            raise ValueError("an entry that cannot be")
        return record


def _is_sound(record: Record) -> bool:
    counts = [record.size, record.rows, 0 if record.positives is None else record.positives]
    types, options = record.key_types, record.options
    return (
        isinstance(record.input, str)
        and os.path.isabs(record.input)
        and "\0" not in record.input
        and all(type(count) is int and count >= 0 for count in counts)
        and type(record.modified_ns) is int
        and isinstance(types, dict)
        and all(value is None or isinstance(value, str) for value in types.values())
        and isinstance(options, dict)
        and all(name in options for name in _OPTIONS)
        and all(isinstance(options[name], str) for name in _TEXT_OPTIONS)
        and all(isinstance(options[name], str | None) for name in ("--time", "--every", "--weight", "--pos-label"))
        and (options["--time"] is None) == (options["--every"] is None)
        and isinstance(options.get("--time-zone"), str | None)
        and isinstance(options["--by"], list)
        and [*options["--by"], *([] if options["--time"] is None else [options["--time"]])] == list(types)
    )


@dataclass(frozen=True)
class Bad:
    """Why a file among the sketches is none that counts; `may_be_replaced` if its input, read anew, makes it good."""

    why: str
    may_be_replaced: bool = False


@dataclass(frozen=True)
class Entry:
    """A sketch in the folder: its entry of the manifest, and the dtypes of its group columns; None: any will do."""

    record: Record
    dtypes: dict[str, pl.DataType | None]


class Lock:
    """The lock while it is held: it says which process is at work, and on which input."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        # A job that ended by itself has left no input here; one that was killed, perhaps by its input, has.
        self.suspect = _second_line(os.pread(handle, 65536, 0))
        self.reading(None)

    def reading(self, source: str | None) -> None:
        """Note the input that is being read, in case the process does not survive it."""
        note = f"{os.getpid()}\n" + ("" if source is None else f"{json.dumps(source)}\n")
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, note.encode(), 0)


def _second_line(note: bytes) -> str | None:
    try:
        found = json.loads(note.split(b"\n")[1])
    except (IndexError, ValueError, RecursionError):
        return None
    return found if isinstance(found, str) else None


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
        return _LOCK in names or any(name.endswith(_SUFFIX) and not name.startswith(".") for name in names)

    @contextmanager
    def locked(self) -> Iterator[Lock]:
        """Keep any other job out until this one ends; DataError if there is one."""
        try:
            import fcntl
        except ModuleNotFoundError:
            raise UsageError("polars-ec sketch needs the file locks of POSIX (Linux, macOS, WSL)") from None
        file = self.path / _LOCK
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            # Never removed: a process that waits for the old file and one that makes a new one would both get a lock.
            handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if error.errno == errno.ELOOP and os.path.islink(file):
                raise DataError(f"{file} is a link, and no lock of polars-ec: remove it") from None
            raise UsageError(f"--out {self.path}: {error.strerror}") from None
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise DataError(f"{file} is not a regular file, and no lock of polars-ec: remove it")
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                if error.errno not in _BUSY:
                    raise DataError(f"{file} cannot be locked: {error.strerror}") from None
                holder = os.pread(handle, 32, 0).decode(errors="replace").split("\n", 1)[0]
                raise DataError(
                    f"{self.path}: another job is at work here (process {holder or 'unknown'}): wait until it ends, or "
                    "choose another --out"
                ) from None
            lock = Lock(handle)
            try:
                yield lock
            finally:
                lock.reading(None)
        finally:
            os.close(handle)

    def clean(self) -> None:
        """Remove what killed jobs were writing; only under the lock, where nobody is writing."""
        for name in self._listed():
            if name.startswith(_PREFIX) and name.endswith(TEMPORARY):
                (self.path / name).unlink(missing_ok=True)

    @staticmethod
    def name_for(source: str) -> str:
        """The name of the sketch of an input: readable, and another one for every other path."""
        stem = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(source).name.split(".")[0])[:60]
        return f"{stem}-{hashlib.sha256(os.fsencode(source)).hexdigest()[:20]}{_SUFFIX}"

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
            if not name.endswith(_SUFFIX) or name.startswith("."):
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
                return Bad(f"{file} is not a regular file, and no sketch: remove it")
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
        if _METADATA_KEY not in metadata:
            return Bad(f"{file} is no sketch of a polars-ec sketch job: put it elsewhere", may_be_replaced=True)
        try:
            record = Record.decode(metadata[_METADATA_KEY])
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
        found = (int(sketch.frame["n"].sum()), key_types(sketch))
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

    def undone(self) -> dict[str, str]:
        """What the last job left undone: input, and why. A job that was killed had not crossed out what it did."""
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
        settled = {record.input for record in self.records().values() if record.is_current()}
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

    def opened(self) -> SketchSum:
        """All sketches, found to be whole by their entries and to go together; DataError names the first that is not."""
        entries, bad = self.entries()
        if bad:
            more = f" ({len(bad) - 1} more of {len(entries) + len(bad)} files are bad too)" if len(bad) > 1 else ""
            raise DataError(f"{next(iter(bad.values())).why}{more}")
        if not entries:
            raise DataError(f"{self.path} holds no sketches yet: run polars-ec sketch to the end")
        options = next(iter(entries.values())).record.options
        common: dict[str, pl.DataType] = {}
        for name, entry in entries.items():
            different = difference(options, entry.record.options)
            if different:
                raise DataError(f"{self.path / name} was made with other options: {different}")
            try:
                common = joined_types(common, entry)
            except DataError as error:
                raise DataError(f"{self.path / name}: {error}") from None
        return SketchSum(self, entries, common)


@dataclass(frozen=True)
class SketchSum:
    """Sketches of a folder that can be added up; `dtypes` hold the group columns of all of them."""

    folder: SketchFolder
    entries: Mapping[str, Entry]
    dtypes: Mapping[str, pl.DataType]

    @property
    def options(self) -> dict[str, Any]:
        """What the sketches were made with."""
        return next(iter(self.entries.values())).record.options

    @property
    def has_positives(self) -> bool:
        """Whether some input has a row of the positive class, as far as the entries say."""
        return any(entry.record.positives != 0 for entry in self.entries.values())

    def total(self, *roll_ups: Callable[[Sketch], Sketch]) -> list[Sketch]:
        """The sum of all sketches, each rolled up before it is added: one sum for each way.

        One sketch is in memory at a time, so that a folder of many takes what its sums take.
        """
        sums = [_Sum(roll_up) for roll_up in roll_ups]
        try:
            for name, entry in self.entries.items():
                sketch = self._read(name, entry)
                for part in sums:
                    part.add(sketch)
                del sketch
            return [part.total() for part in sums]
        except SketchError as error:
            raise DataError(f"{self.folder.path}: {error}") from error

    def _read(self, name: str, entry: Entry) -> Sketch:
        """A group column that is null throughout a file says nothing of its dtype: it takes that of the other files."""
        sketch = self.folder.read(name, entry)
        unknown = {self.options["--time"]: pl.Datetime("us")}
        keys = [
            pl.lit(None, dtype=self.dtypes.get(key, unknown.get(key, pl.String()))).alias(key)
            if dtype is None
            else pl.col(key).cast(self.dtypes[key])
            for key, dtype in entry.dtypes.items()
        ]
        return replace(sketch, frame=sketch.frame.with_columns(keys))


class _Sum:
    """Sketches added up as they come, in parts by a hash of the cell: so that the parts are added up one after the other.

    What waits in a part takes no more than what is there, and adding up takes several times what it is done to.
    """

    def __init__(self, roll_up: Callable[[Sketch], Sketch]) -> None:
        self._roll_up = roll_up
        self._made: Sketch | None = None
        self._parts: list[list[pl.DataFrame]] = [[] for _ in range(_PARTS)]

    def add(self, sketch: Sketch) -> None:
        rolled = self._roll_up(sketch)
        empty = replace(rolled, frame=rolled.frame.clear())
        self._made = empty if self._made is None else self._made + empty  # which refuses what does not go together
        part = pl.struct(self._cell(rolled)).hash(0) % _PARTS
        name = f"part of {rolled.keys}"  # which no group column is called
        split = rolled.frame.with_columns(part.alias(name)).partition_by(name, include_key=False, as_dict=True)
        del rolled
        for (number,), frame in split.items():
            waiting = self._parts[number]
            waiting.append(frame)
            if sum(part.height for part in waiting[1:]) > max(_BATCH // _PARTS, waiting[0].height):
                waiting[:] = [add_up(pl.concat(waiting), self._made.grid)]

    def total(self) -> Sketch:
        assert self._made is not None
        frames = [self._made.frame]
        for waiting in self._parts:
            frames += [add_up(pl.concat(waiting), self._made.grid)] if len(waiting) > 1 else waiting
            waiting.clear()
        together = pl.concat(frames, rechunk=False)
        frames.clear()
        # Column by column, each of which goes before the next one comes: sorting a table needs it twice, and more.
        order = together.select(pl.arg_sort_by(self._cell(self._made), nulls_last=True)).to_series()
        columns = [together.drop_in_place(name).gather(order) for name in together.columns]
        return replace(self._made, frame=pl.DataFrame(columns))

    @staticmethod
    def _cell(sketch: Sketch) -> list[str]:
        return [*sketch.keys, "class", *sketch.grid.cell_columns]


def pos_label_note(positive: str) -> str:
    """What a job that found no positive, but a label that must be meant, calls this in its list of what is undone."""
    return f"{_POS_LABEL}{positive}"


def is_pos_label_note(source: str) -> bool:
    """Whether it is such a note, and no input."""
    return source.startswith(_POS_LABEL)


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


def key_dtypes(sketch: Sketch) -> dict[str, pl.DataType | None]:
    """The dtype of every group column, None where any will do."""
    return {name: None if text is None else sketch.frame.schema[name] for name, text in key_types(sketch).items()}


def joined_types(common: Mapping[str, pl.DataType], entry: Entry) -> dict[str, pl.DataType]:
    """The dtypes that hold the group columns so far and those of one more sketch; DataError if none do."""
    joined = dict(common)
    time = entry.record.options["--time"]
    for key, dtype in entry.dtypes.items():
        so_far = common.get(key)
        both = [dtype for dtype in (so_far, dtype) if dtype is not None]
        together = common_type(both)
        # The same day of two calendars is not the same day.
        if together is None or (key == time and len({getattr(dtype, "time_zone", None) for dtype in both}) > 1):
            raise DataError(f"the group column {key!r} is {dtype}, and {so_far} in the other inputs")
        if both:
            joined[key] = together
    return joined


def _strerror(error: Exception) -> str:
    return (error.strerror or first_line(error)) if isinstance(error, OSError) else first_line(error)
