"""A folder of sketches: its lock, its manifest, its files, of which a killed process leaves none half-written, and their sum."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

from polars_ec.api.sketches import Sketch
from polars_ec.cli.discovery import State, as_found, looked_up, status
from polars_ec.cli.formats import CATALOG, CSV, SKETCH_SUFFIX
from polars_ec.cli.logs import common_type
from polars_ec.cli.object_store import is_in_store
from polars_ec.cli.terminal import DataError, UsageError, panics_unseen
from polars_ec.exceptions import SketchError
from polars_ec.output.whole_file import TEMPORARY, sync_folder, whole_file
from polars_ec.output.words import first_line
from polars_ec.sketches.cells import SCORE, TARGET, Cells, add_cells, add_up, keys_of_models
from polars_ec.sketches.files import DAMAGE, VERSIONS, described_schema
from polars_ec.sketches.grid import AMOUNTS, DecisionGrid
from polars_ec.typing import Reduction

LOCK, NOTE = ".polars-ec-sketch.lock", ".polars-ec-sketch.reading.json"
_PREFIX = ".polars-ec-sketch-"
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)


class Note:
    """A file beside the lock, while that is held: which process is at work, and on which input."""

    def __init__(self, file: Path) -> None:
        self._file = file
        # A job that ended by itself has left no note; one that was killed, perhaps by its input, has.
        self.suspect = _noted(file).get("input")
        self.reading(None)

    def reading(self, source: str | None) -> None:
        """Note the input that is being read, in case the process does not survive it."""
        with _failures(self._file, "written"), whole_file(self._file, _PREFIX) as note:
            note.write(json.dumps({"process": os.getpid(), "input": source}).encode())


def _noted(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_bytes()) if stat.S_ISREG(os.lstat(file).st_mode) else None
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


@contextmanager
def locked(folder: Path) -> Iterator[Note]:
    """Keep any other job out until this one ends; DataError if there is one."""
    import filelock  # which only this needs

    file, note = folder / LOCK, folder / NOTE
    # Never removed: a process that waits for the old file and one that makes a new one would both get a lock.
    lock = filelock.FileLock(file, blocking=False, fallback_to_soft=False, preserve_lock_file=True)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.path.islink(file):
            raise DataError(f"{file} is a link, not a lock file of polars-ec: remove it")
        if os.path.lexists(file) and not os.path.isfile(file):
            raise DataError(f"{file} is not a regular file, so it is not a lock file of polars-ec: remove it")
        # It starts a shell before the lock: one that starts after would keep the lock of a job killed at that moment.
        with panics_unseen():
            lock.acquire()
    except filelock.Timeout:
        raise DataError(
            f"{folder}: another job is running here (process {_noted(note).get('process', 'unknown')}). Wait until it "
            "ends, or choose another --out"
        ) from None
    except OSError as error:
        if error.errno in _NO_LOCKS:
            raise DataError(f"{file} cannot be locked: {error.strerror}") from None
        raise UsageError(f"--out {folder}: {error.strerror}") from None
    try:
        yield Note(note)
    finally:
        with suppress(OSError):
            os.unlink(note)
        lock.release()


_VERSION = 1
METADATA_KEY = "polars_ec.input"
_TEXT, _TEXTS, _NULL = pl.String(), pl.List(pl.String()), pl.Null()
# The columns of the manifest, each with the dtypes that Polars may find in an entry: fields of records, and the options that all have.
_SCHEMA: Mapping[str, tuple[pl.DataType, ...]] = {
    **dict.fromkeys(("input", "--label", "--score-type"), (_TEXT,)),
    **dict.fromkeys(("size", "modified_ns", "rows"), (pl.Int64(),)),
    **dict.fromkeys(("key_types", "targets"), (_TEXTS, pl.List(_NULL))),
    "positives": (pl.Int64(), _NULL),
    **dict.fromkeys(("cluster_type", "tag"), (_TEXT, _NULL)),
    "--score": (_TEXT, _TEXTS),
    "--by": (_TEXTS, pl.List(_NULL)),
    **dict.fromkeys(("--time", "--every", "--weight", "--pos-label", "--time-zone", "--cluster"), (_TEXT, _NULL)),
    "--classes": (_TEXTS, _NULL),
    "--resolution": (pl.Int64(), _TEXT),
}
# Of later versions, so that they may be missing, which is to say not stated.
_LATER = ("--time-zone", "--cluster")
COSTS = "--cost-fn and --cost-fp"
REDUCTION: Reduction = "one_vs_rest"
"""The reduction of entries of the time before there was another."""


@dataclass(frozen=True)
class Record:
    """The entry of the manifest for one input.

    `key_types` has the dtype of every group column, None where the column holds only nulls and so any dtype will do.
    `positives` counts the usable rows of the positive class; entries of the time before it have None. `cluster_type` says what
    the keys of the clusters are to their hash, None if there are none. `tag` is the ETag of an object or the version of a table, None
    of a local file. `targets` are the classes of one-vs-rest sketches, or of decisions, in their order, as text, none where there are no rows.
    """

    input: str
    size: int
    modified_ns: int
    rows: int
    key_types: dict[str, str | None]
    options: dict[str, Any]
    positives: int | None = None
    cluster_type: str | None = None
    tag: str | None = None
    targets: list[str] = field(default_factory=list)

    @property
    def state(self) -> State:
        """What the input was like when it was sketched."""
        return State(self.size, self.modified_ns, self.tag)

    def is_current(self) -> bool:
        try:
            place = looked_up(self.input)
            return place is not None and as_found(place) == self.state
        except DataError:
            return False

    def encode(self) -> dict[str, str]:
        return {METADATA_KEY: json.dumps({"version": _VERSION, **asdict(self)})}

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
            raise DataError("from a newer version of polars_ec: update polars_ec")
        known = {own.name: entry[own.name] for own in fields(cls) if own.name in entry}
        try:
            record = cls(**known)
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not _is_sound(record):
            raise ValueError("an impossible entry")
        return replace(record, options={"--reduction": REDUCTION, **record.options})


def _is_sound(record: Record) -> bool:
    types, options = record.key_types, record.options
    if not isinstance(types, dict) or not isinstance(options, dict):
        return False
    row = {**asdict(record), **dict.fromkeys(_LATER), **options, "key_types": [*types.values()]}
    try:
        entry = pl.DataFrame([{name: row[name] for name in _SCHEMA}], orient="row")
    except (KeyError, TypeError, ValueError, OverflowError, PolarsError):
        return False
    return (
        all(entry.schema[name] in dtypes for name, dtypes in _SCHEMA.items())
        and entry.select((pl.col("size", "rows", "positives").fill_null(0) >= 0).all()).row(0) == (True, True, True)
        and (os.path.isabs(record.input) or is_in_store(record.input) or record.input.startswith(CATALOG))
        and "\0" not in record.input
        and (options["--time"] is None) == (options["--every"] is None)
        and [
            *options["--by"],
            *([] if options["--time"] is None else [options["--time"]]),
            *([SCORE] if isinstance(options["--score"], list) else []),
            *([TARGET] if TARGET in types else []),
        ]
        == list(types)
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

    @classmethod
    def of(cls, record: Record, schema: Mapping[str, pl.DataType]) -> Entry:
        """The entry of a sketch whose columns have these dtypes."""
        return cls(record, {key: None if text is None else schema[key] for key, text in record.key_types.items()})


@dataclass(frozen=True)
class Manifest:
    """Entries of sketches that go together, by the sketch's name; `dtypes` hold the group columns of all of them."""

    entries: Mapping[str, Entry]
    dtypes: Mapping[str, pl.DataType]

    @property
    def options(self) -> dict[str, Any]:
        return next(iter(self.entries.values())).record.options

    @property
    def targets(self) -> list[str]:
        """The classes of one-vs-rest sketches in their order, as text."""
        return next((entry.record.targets for entry in self.entries.values() if entry.record.targets), [])

    @property
    def has_positives(self) -> bool:
        """Whether some input has a row of the positive class, as far as the entries say."""
        return any(entry.record.positives != 0 for entry in self.entries.values())


def count_rows(sketch: Sketch, which: pl.Expr | None = None) -> int:
    """The rows of the input, or those of them in these cells: of the model or class that has most, for each has every row."""
    cells = sketch.frame if which is None else sketch.frame.filter(which)
    within = keys_of_models(sketch.keys)
    counts = cells.group_by(within).agg(pl.col("n").sum()) if within else cells.select(pl.col("n").sum())
    return max(counts["n"].to_list(), default=0)


def targets_of(sketch: Sketch) -> list[str]:
    """The classes of a one-vs-rest sketch, or of one of decisions, in their order, as text."""
    if isinstance(sketch.grid, DecisionGrid) and sketch.frame.height:
        return [str(value) for value in sketch.grid.classes.values]
    if TARGET not in sketch.keys:
        return []
    return sketch.frame[TARGET].unique(maintain_order=True).cast(pl.String).to_list()


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


@dataclass(frozen=True)
class CommonTypes:
    """The dtypes of the group columns of some sketches, and what the keys of their clusters are to their hash.

    Beside each dtype stands whether only CSV has it, which has no types, so that it may be text as well. `is_one_vs_rest` is None where
    there are no sketches yet.
    """

    keys: Mapping[str, tuple[pl.DataType, bool]] = field(default_factory=dict)
    cluster: str | None = None
    is_one_vs_rest: bool | None = None
    targets: Sequence[str] = ()

    def joined(self, entry: Entry) -> CommonTypes:
        """The types that hold those of one more sketch as well; DataError if none do."""
        record, is_one_vs_rest = entry.record, TARGET in entry.dtypes
        if self.is_one_vs_rest is not None and is_one_vs_rest != self.is_one_vs_rest:
            scores = ["one number per row", "K-class scores"]
            raise DataError(
                f"--score has {scores[is_one_vs_rest]}, but {scores[self.is_one_vs_rest]} in the other inputs: sketch "
                "them to another --out"
            )
        if record.targets and self.targets and record.targets != [*self.targets]:
            own, others = (", ".join(classes) for classes in (record.targets, self.targets))
            raise DataError(
                f"the scores have the classes {own}, but {others} in the other inputs: make the classes the same"
            )
        keys = dict(self.keys)
        time = entry.record.options["--time"]
        is_csv = entry.record.input.endswith(CSV.suffixes)
        for key, dtype in entry.dtypes.items():
            if dtype is None:
                continue
            other, other_is_csv = keys.get(key, (dtype, is_csv))
            together = common_type([other, dtype])
            if together is None and (is_csv or dtype == pl.String) and (other_is_csv or other == pl.String):
                together = pl.String()
            # The same day of two calendars is not the same day.
            zones = {getattr(one, "time_zone", None) for one in (other, dtype)}
            if together is None or (key == time and len(zones) > 1):
                raise DataError(f"the group column {key!r} is {dtype}, but {other} in the other inputs: cast it")
            keys[key] = together, other_is_csv and is_csv
        cluster = record.cluster_type
        if cluster is not None and self.cluster is not None and cluster != self.cluster:
            raise DataError(
                f"the cluster key {record.options['--cluster']!r} is {cluster}, but {self.cluster} in the other inputs, so a "
                "key would get two buckets: make the types the same"
            )
        common = self.cluster if cluster is None else cluster
        return CommonTypes(keys, common, is_one_vs_rest, record.targets or self.targets)


_UNDONE, _VERIFIED = ".polars-ec-sketch.undone.json", ".polars-ec-sketch.verified.json"
_POS_LABEL = "--pos-label "


class SketchFolder:
    """The sketches of a job, on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Size and time of the files of sketches when they were written, or all that they hold was read; and the schema version of the
        # reader, because a reader of another version may not know them.
        self._verified: dict[str, list[int]] = {}

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
        """The manifest by name of the sketch, and the files that are none.

        `verified`: by all that they hold, unless their size and time are those of when this was last looked at.
        """
        good: dict[str, Entry] = {}
        bad: dict[str, Bad] = {}
        earlier = _noted(self.path / _VERIFIED) if verified else {}
        for name in self._listed():
            if not name.endswith(SKETCH_SUFFIX) or name.startswith("."):
                continue
            entry = self._entry(name)
            if verified and isinstance(entry, Entry):
                try:
                    now = self._stamp(name)
                    if earlier.get(name) != now:
                        self.read(name, entry)
                    self._verified[name] = now
                except DataError as error:
                    entry = Bad(str(error), may_be_replaced=True)
            if isinstance(entry, Entry):
                good[name] = entry
            else:
                bad[name] = entry
        return good, bad

    def records(self) -> dict[str, Record]:
        return {name: entry.record for name, entry in self.entries()[0].items()}

    def _entry(self, name: str) -> Entry | Bad:
        file = self.path / name
        damaged = Bad(f"{file} is damaged: remove it and run polars-ec sketch again", may_be_replaced=True)
        try:
            there = status(file)
            if there is None or not stat.S_ISREG(there.st_mode):
                return Bad(f"{file} is not a regular file, so it is not a sketch: remove it")
            with panics_unseen():
                metadata, schema = described_schema(file)
        except DataError as error:
            return Bad(str(error))
        except OSError as error:  # pyarrow speaks of damage so too, but without a number
            return damaged if error.errno is None else Bad(f"{file} cannot be read: {error.strerror}")
        except DAMAGE:
            return damaged
        if METADATA_KEY not in metadata:
            return Bad(f"{file} is not a sketch made by polars-ec sketch: move it elsewhere", may_be_replaced=True)
        try:
            record = Record.decode(metadata[METADATA_KEY])
        except ValueError:
            return damaged
        except DataError as error:
            raise DataError(f"{file} is {error}") from None
        if name != self.name_for(record.input):
            return Bad(f"{file} is a copy of the sketch of {record.input}, whose rows would count twice: remove it")
        if any(key not in schema for key in record.key_types):
            return damaged
        return Entry.of(record, schema)

    def read(self, name: str, entry: Entry) -> Sketch:
        """The sketch of this entry; DataError if it is not what the entry says."""
        file = self.path / name
        try:
            with panics_unseen(), _failures(file, "read"):
                sketch = Sketch.read_parquet(file)
        except SketchError as error:
            raise DataError(f"{error}: remove it and run polars-ec sketch again") from error
        record = entry.record
        if (count_rows(sketch), key_types(sketch)) != (record.rows, record.key_types):
            raise DataError(
                f"{file} is damaged, because it differs from its entry: remove it and run polars-ec sketch again"
            )
        return sketch

    def save(self, sketch: Sketch, record: Record) -> None:
        """Put the sketch and its entry in the place of those of the same input, both or neither."""
        file = self.path / self.name_for(record.input)
        with _failures(file, "written"), whole_file(file, _PREFIX, durable=True) as temporary:
            sketch.write_parquet(temporary, metadata=record.encode())
        self._verified[file.name] = self._stamp(file.name)

    def _stamp(self, name: str) -> list[int]:
        file = self.path / name
        with _failures(file, "read"):
            there = file.stat()
        return [there.st_size, there.st_mtime_ns, VERSIONS["sketch"]]

    def leave_verified(self, names: Collection[str]) -> None:
        """Note which sketches need not be read by the next run of the job."""
        verified = {name: stamp for name, stamp in self._verified.items() if name in names}
        file = self.path / _VERIFIED
        if verified != _noted(file):
            with _failures(file, "written"), whole_file(file, _PREFIX) as temporary:
                temporary.write(json.dumps(verified).encode())

    def remove(self, name: str) -> None:
        file = self.path / name
        with _failures(file, "removed"):
            file.unlink(missing_ok=True)
            sync_folder(self.path)

    def undone(self, but: Collection[str] = ()) -> dict[str, str]:
        """What the last job left undone but these: input, and why. A job that was killed had not crossed out what it did."""
        file = self.path / _UNDONE
        try:
            with _failures(file, "read"):
                if status(file) is None:
                    return {}
                if not stat.S_ISREG(os.lstat(file).st_mode):
                    raise DataError(f"{file} is not a regular file: remove it")
                content: dict[str, str] = json.loads(file.read_text("utf-8"))
            if not isinstance(content, dict) or not all(isinstance(why, str) for why in content.values()):
                raise ValueError("not a list of inputs")
        except (ValueError, RecursionError) as error:
            raise DataError(f"{file} is damaged ({error}): remove it and run the job again") from None
        content = {source: why for source, why in content.items() if source not in but}
        listed = (record for record in self.records().values() if record.input in content)
        settled = {record.input for record in listed if record.is_current()}
        # What was no sketch, and has been removed since.
        here = os.path.realpath(self.path)
        settled |= {s for s in content if os.path.realpath(os.path.dirname(s)) == here and not os.path.lexists(s)}
        return {source: why for source, why in content.items() if source not in settled}

    def leave_undone(self, inputs: Mapping[str, str]) -> None:
        """Note what is still to do; no inputs: nothing is."""
        file = self.path / _UNDONE
        with _failures(file, "written"):
            if not inputs:
                file.unlink(missing_ok=True)
                return
            with whole_file(file, _PREFIX, durable=True) as temporary:
                temporary.write(json.dumps(dict(inputs), indent=1).encode())

    def manifest(self) -> Manifest:
        """The entries, found to be whole and of sketches that go together; DataError names the first that is not."""
        entries, bad = self.entries()
        if bad:
            more = f" ({len(bad) - 1} more of {len(entries) + len(bad)} files are bad too)" if len(bad) > 1 else ""
            raise DataError(f"{next(iter(bad.values())).why}{more}")
        if not entries:
            raise DataError(f"{self.path} holds no sketches yet: run polars-ec sketch until it ends")
        options = next(iter(entries.values())).record.options
        common = CommonTypes()
        for name, entry in entries.items():
            different = difference(options, entry.record.options)
            if different:
                raise DataError(f"{self.path / name} was made with other options: {different}")
            try:
                common = common.joined(entry)
            except DataError as error:
                raise DataError(f"{self.path / name}: {error}") from None
        return Manifest(entries, {name: dtype for name, (dtype, _) in common.keys.items()})


def pos_label_note(positive: str) -> str:
    """What a job that found no positive, but a label that must be meant, calls this in its list of what is undone."""
    return f"{_POS_LABEL}{positive}"


def is_pos_label_note(source: str) -> bool:
    """Whether it is such a note, and not an input."""
    return source.startswith(_POS_LABEL)


@contextmanager
def _failures(file: Path, verb: str) -> Iterator[None]:
    try:
        yield
    except (PolarsError, OSError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or first_line(error)
        raise DataError(f"{file} cannot be {verb}: {reason}") from None


# What waits to be added up is kept until it is worth the while; and it is added up in so many parts.
_BATCH = 500_000
_PARTS = 16


def total(manifest: Manifest, read: Callable[[str, Entry], Sketch], roll_up: Callable[[Sketch], Sketch]) -> Sketch:
    """The sum of all sketches of the manifest, each rolled up before it is added.

    `read` gives the sketch of an entry. One sketch is in memory at a time, so that a folder of many takes what its sums take.
    """
    empty: Sketch | None = None
    sums: pl.DataFrame | None = None
    cells, coarse, unlabelled = _HashedCells(), _HashedCells(), list[Cells]()
    # Files without rows do not say how many classes there are.
    entries = {name: entry for name, entry in manifest.entries.items() if entry.record.rows} or manifest.entries
    for name, entry in entries.items():
        rolled_up = roll_up(_with_known_types(read(name, entry), entry, manifest))
        cleared = rolled_up.on_tables(pl.DataFrame.clear)
        empty = cleared if empty is None else empty + cleared  # which refuses what does not go together
        if rolled_up.sums is not None:
            sums = add_up(rolled_up.sums if sums is None else pl.concat([sums, rolled_up.sums]))
        if rolled_up.coarse is not None:
            coarse.add(rolled_up.coarse)
        if rolled_up.unlabelled is not None:
            unlabelled.append(rolled_up.unlabelled)
        tables = [rolled_up.frame]
        del rolled_up
        cells.add(tables.pop())
    assert empty is not None
    coarse_total = None if empty.coarse is None else coarse.total(empty.coarse)
    rest = add_cells(unlabelled) if unlabelled else None
    return replace(empty, frame=cells.total(empty.frame), sums=sums, coarse=coarse_total, unlabelled=rest)


def _with_known_types(sketch: Sketch, entry: Entry, manifest: Manifest) -> Sketch:
    """A group column that is null throughout a file says nothing of its dtype: it takes that of the other files."""
    unknown = {manifest.options["--time"]: pl.Datetime("us")}
    keys = [
        pl.lit(None, dtype=manifest.dtypes.get(key, unknown.get(key, pl.String()))).alias(key)
        if dtype is None
        else pl.col(key).cast(manifest.dtypes[key])
        for key, dtype in entry.dtypes.items()
    ]
    return sketch.on_tables(lambda table: table.with_columns(keys))


class _HashedCells:
    """Tables of cells added up as they come, in parts by a hash of the cell: so that the parts are added up one after the other.

    What waits in a part takes no more than what is there, and adding up takes several times what it is done to.
    """

    def __init__(self) -> None:
        self._parts: list[list[pl.DataFrame]] = [[] for _ in range(_PARTS)]

    def add(self, table: pl.DataFrame) -> None:
        cell = _cell(table)
        part = pl.struct(cell).hash(0) % _PARTS
        name = f"part of {cell}"  # which no group column is called
        split = table.with_columns(part.alias(name)).partition_by(name, include_key=False, as_dict=True)
        del table
        for (number,), frame in split.items():
            waiting = self._parts[number]
            waiting.append(frame)
            if sum(part.height for part in waiting[1:]) > max(_BATCH // _PARTS, waiting[0].height):
                waiting[:] = [_added(waiting)]

    def total(self, empty: pl.DataFrame) -> pl.DataFrame:
        """All of them, which have the columns of the empty one, sorted."""
        frames = [empty]
        for waiting in self._parts:
            frames += [_added(waiting)] if len(waiting) > 1 else waiting
            waiting.clear()
        together = pl.concat(frames, how="diagonal", rechunk=False).select(empty.columns)
        frames.clear()
        # Column by column, each of which goes before the next one comes: sorting a table needs it twice, and more.
        order = together.select(pl.arg_sort_by(_cell(empty), nulls_last=True)).to_series()
        return pl.DataFrame([together.drop_in_place(name).gather(order) for name in together.columns])


def _added(tables: list[pl.DataFrame]) -> pl.DataFrame:
    # Some may be of the time before the squares of weights, and then the sum has none.
    return add_up(pl.concat(tables, how="diagonal"))


def _cell(table: pl.DataFrame) -> list[str]:
    return [name for name in table.columns if name not in AMOUNTS]
