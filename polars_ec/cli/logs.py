"""Where the command line finds a log: files, globs and folders as one lazy frame, with errors that name the file."""

from __future__ import annotations

import difflib
import errno
import fnmatch
import glob
import itertools
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote

import polars as pl
from polars.exceptions import PanicException, PolarsError

from polars_ec.cells.parquet import first_line
from polars_ec.cli.csv_fields import first_ragged_row
from polars_ec.cli.key_types import common_type
from polars_ec.cli.terminal import panics_unseen

T = TypeVar("T")

# Types of columns are guessed from this many rows of text, so that integers at the top do not hide floats further down.
_INFERENCE_ROWS = 10_000
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"

# What reading a damaged file ends in; a panic of Polars is no Exception to Python.
READ_ERRORS = (PolarsError, OSError, PanicException)


class UsageError(Exception):
    """The command asks for what is not there: exit code 2."""


class DataError(Exception):
    """The data are not what they say they are: exit code 1."""


class NoFilesError(Exception):
    """There is no data file where there could be some, which is in `folder`."""

    def __init__(self, message: str, folder: Path) -> None:
        super().__init__(message)
        self.folder = folder


class EmptyFolderError(NoFilesError, DataError):
    """A folder is there, and no data file in it."""


class NoMatchError(NoFilesError, UsageError):
    """A pattern that no file matches."""


class DifferingFilesError(DataError):
    """Each file can be read, but not all of them as one table."""


# Files -------------------------------------------------------------------------------------------------------------------


@dataclass
class Found:
    """Files, and what should have been one but is not: a message by path."""

    files: list[Path] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    def add(self, other: Found) -> None:
        """Take in what another search found."""
        self.files += other.files
        self.problems |= other.problems


def status(path: str | Path) -> os.stat_result | None:
    """What is at a path, None if nothing is; DataError if one cannot tell, which is not the same."""
    try:
        return os.stat(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        raise DataError(f"{path}: {error.strerror}") from None
    except ValueError as error:  # a null byte
        raise DataError(f"{path}: {error}") from None


def find(path: str) -> Found:
    """The files that a path, a glob or a folder means; UsageError if there is nothing there."""
    here = status(path)
    if here is not None:
        return _files_in(Path(path)) if stat.S_ISDIR(here.st_mode) else _one_file(Path(path), here)
    found = Found()
    matches = _matches(path, found.problems) if glob.has_magic(path) else []
    if not matches and not found.problems:
        if not glob.has_magic(path):
            raise UsageError(f"{path}: no such file or folder")
        fixed = itertools.takewhile(lambda part: not glob.has_magic(part), Path(path).parts)
        raise NoMatchError(f"{path}: no file matches this pattern", Path(*fixed))
    for match in matches:
        there = status(match)
        if there is None:
            found.problems[str(match)] = f"{match}: a link to what is not there"
        else:
            found.add(_files_in(match) if stat.S_ISDIR(there.st_mode) else _one_file(match, there))
    return found


def _one_file(file: Path, its: os.stat_result) -> Found:
    if stat.S_ISREG(its.st_mode):
        return Found([file])
    return Found(problems={str(file): f"{file}: not a regular file"})


def _matches(pattern: str, problems: dict[str, str]) -> list[Path]:
    """What glob.glob finds, which passes without a word over folders that it cannot list, and goes round in circles."""
    found = [Path()]
    for part in Path(pattern).parts:
        if part == "**":
            found = [folder for above in found for folder in _folders_below(above, problems)]
        elif glob.has_magic(part):
            fits = re.compile(fnmatch.translate(part)).match
            entries = (entry for above in found if above.is_dir() for entry in _listed(above, problems))
            found = [Path(e.path) for e in entries if fits(e.name) and part.startswith(".") >= e.name.startswith(".")]
        else:
            found = [above / part for above in found]
            if part != Path(pattern).anchor:
                found = [path for path in found if os.path.lexists(path)]
    return sorted(found)


def _folders_below(top: Path, problems: dict[str, str]) -> list[Path]:
    """The folder and all below it that are not hidden."""
    folders: list[Path] = []
    links: list[Path] = []
    pending = [top] if top.is_dir() else []
    while pending:
        here = pending.pop()
        folders.append(here)
        for entry in _listed(here, problems):
            if not entry.name.startswith(".") and entry.is_dir():
                (links if entry.is_symlink() else pending).append(Path(entry.path))
    _name_links(links, map(os.path.realpath, folders), problems)
    return folders


def _name_links(links: Iterable[Path], seen: Iterable[str], problems: dict[str, str]) -> None:
    """Links to folders are not followed, and named unless what they lead to is seen anyway."""
    known = {*seen}
    for link in links:
        if os.path.realpath(link) not in known:
            problems[str(link)] = f"{link}: a link to a folder, which is not followed: name the folder as well"


def _listed(folder: Path, problems: dict[str, str]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError as error:
        problems[str(folder)] = f"{folder}: the folder cannot be listed: {error.strerror}"
        return []


def _files_in(folder: Path) -> Found:
    """Data files below a folder; what is hidden is none, as glob has it, nor is what begins with `_`, as Spark has it."""
    found, links, seen, pending = Found(), [], set(), [folder]
    while pending:
        here = pending.pop()
        seen.add(os.path.realpath(here))
        for entry in _listed(here, found.problems):
            if entry.name.startswith((".", "_")):
                continue
            path = Path(entry.path)
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(path)
                    continue
                there = status(path)
            except (OSError, DataError) as error:
                found.problems[str(path)] = str(error)
                continue
            if there is None:
                if entry.is_symlink():
                    found.problems[str(path)] = f"{path}: a link to what is not there"
            elif stat.S_ISDIR(there.st_mode):
                links.append(path)
            elif entry.name.endswith(_ALL_SUFFIXES):
                found.add(_one_file(path, there))
    _name_links(links, seen, found.problems)
    found.files.sort()
    if not found.files and not found.problems:
        raise EmptyFolderError(f"{folder}: the folder holds no data files ({', '.join(_ALL_SUFFIXES)})", folder)
    return found


def distinct(files: Iterable[Path]) -> list[Path]:
    """Each file once, by whatever links and names it is reached."""
    return list({os.path.realpath(file): file for file in reversed(list(files))}.values())[::-1]


# Formats -----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """A file format: how its files are called, how they begin (None: text) and how they are scanned.

    `scan` gets the files, whether their folders are hive partitions, and dtypes that text is to be read as.
    """

    name: str
    suffixes: tuple[str, ...]
    magic: bytes | None
    scan: Callable[[list[Path], bool, Mapping[str, pl.DataType]], pl.LazyFrame]


def _text(file: Path) -> str:
    """The path as Polars takes it for no address, and for no name in a home."""
    return str(file) if file.is_absolute() else os.path.join(".", file)


def _scan_parquet(files: list[Path], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    return pl.scan_parquet([_text(file) for file in files], hive_partitioning=hive, glob=False)


def _scan_ipc(files: list[Path], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    return pl.scan_ipc([_text(file) for file in files], hive_partitioning=hive, glob=False)


def _scan_csv(files: list[Path], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    def scan(part: list[Path]) -> pl.LazyFrame:
        return pl.scan_csv(
            [_text(file) for file in part],
            infer_schema_length=_INFERENCE_ROWS,
            schema_overrides=dtypes,
            glob=False,
        )

    return _with_partitions(files, scan) if hive else scan(files)


def _scan_ndjson(files: list[Path], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:
    def scan(part: list[Path]) -> pl.LazyFrame:
        # This reader takes every name for a pattern.
        names = ["".join(f"[{c}]" if c in "*?[\\" else c for c in _text(file)) for file in part]
        return pl.scan_ndjson(names, infer_schema_length=_INFERENCE_ROWS, schema_overrides=dtypes)

    return _with_partitions(files, scan) if hive else scan(files)


_CSV = _Kind("CSV", (".csv", ".csv.gz"), None, _scan_csv)
_KINDS = (
    _Kind("Parquet", (".parquet", ".pq"), b"PAR1", _scan_parquet),
    _CSV,
    _Kind("Arrow IPC", (".arrow", ".feather", ".ipc"), b"ARROW1", _scan_ipc),
    _Kind("NDJSON", (".ndjson", ".jsonl"), None, _scan_ndjson),
)
_ALL_SUFFIXES = tuple(suffix for kind in _KINDS for suffix in kind.suffixes)


def _kind_of(file: Path) -> _Kind:
    for kind in _KINDS:
        if file.name.endswith(kind.suffixes):
            return kind
    raise UsageError(f"{file}: not a kind of file this reads: {', '.join(_ALL_SUFFIXES)}, or duckdb:FILE.duckdb::TABLE")


def _check_name_and_magic(file: Path, kind: _Kind) -> None:
    try:
        str(file).encode()
    except UnicodeEncodeError:
        raise DataError(f"{file}: the name is not UTF-8: rename the file or its folder") from None
    # Polars reads any bytes as CSV, so a Parquet file with the wrong name would become a table of rubbish.
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise DataError(f"{file}: not a regular file")
            head = stream.read(1024)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None
    if not head:
        raise DataError(f"{file}: the file is empty")
    binary = b"\0" in head and not head.startswith(b"\x1f\x8b")
    if binary if kind.magic is None else not head.startswith(kind.magic):
        looks = next((k.name for k in _KINDS if k.magic is not None and head.startswith(k.magic)), None)
        hint = f"it begins like {looks}" if looks else f"it does not begin like {kind.name}"
        raise DataError(f"{file}: not a {kind.name} file, whatever its name says: {hint}")


def _no_longer(file: Path, kind: _Kind) -> DataError | None:
    """What is wrong with a file that was in order when it was opened."""
    try:
        _check_name_and_magic(file, kind)
    except DataError as error:
        return error
    return None


# Hive partitions ---------------------------------------------------------------------------------------------------------


def _partition(file: Path) -> dict[str, str | None]:
    parts = dict(part.split("=", 1) for part in file.parts[:-1] if "=" in part)
    return {key: None if value == _NO_PARTITION else unquote(value) for key, value in parts.items()}


def _is_partitioned(files: Iterable[Path]) -> bool:
    keys = {tuple(_partition(file)) for file in files}
    return len(keys) == 1 and keys != {()}


def _with_partitions(files: list[Path], scan: Callable[[list[Path]], pl.LazyFrame]) -> pl.LazyFrame:
    """What Polars does for Parquet and IPC: the keys in the names of hive folders become columns."""
    parts: dict[tuple[tuple[str, str | None], ...], list[Path]] = {}
    for file in files:
        parts.setdefault(tuple(_partition(file).items()), []).append(file)
    values = pl.DataFrame([dict(part) for part in parts], infer_schema_length=None)
    typed = values.with_columns(pl.col(c).cast(pl.Int64) for c in values.columns if _all_integers(values[c]))
    frames = []
    for part_files, row in zip(parts.values(), typed.to_dicts(), strict=True):
        frame = scan(part_files)
        own = frame.collect_schema().names()  # of the same values, as is checked before they are read
        added = {key: pl.lit(value, dtype=typed.schema[key]) for key, value in row.items() if key not in own}
        frames.append(frame.with_columns(**added))
    return pl.concat(frames, how="vertical_relaxed")


def _differs(key: str, dtype: pl.DataType, value: str | None) -> pl.Expr:
    """Whether a column of the files holds anything but what the name of their folder says."""
    text = pl.lit(value, dtype=pl.String)
    same = text.cast(dtype, strict=False) if dtype.is_numeric() else text
    return (pl.col(key) if dtype.is_numeric() else pl.col(key).cast(pl.String)).ne_missing(same).any()


def _all_integers(column: pl.Series) -> bool:
    return column.dtype == pl.String and column.cast(pl.Int64, strict=False).null_count() == column.null_count()


# Logs --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Log:
    """Files of one kind, and the lazy frame over all of them; `headers` are CSV files without rows."""

    files: list[Path]
    kind: _Kind
    frame: pl.LazyFrame
    headers: list[Path] = field(default_factory=list)
    is_unified: bool = False

    @property
    def name(self) -> str:
        """What messages call the log."""
        files = self.files or self.headers
        return str(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")

    @property
    def is_empty(self) -> bool:
        """Whether there are headers and nothing else, so that all columns pass for text."""
        return not self.files

    def schema(self) -> pl.Schema:
        """Names and dtypes of the columns."""
        return self.read(self.frame.collect_schema)

    def collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The rows of a frame that was built on this log."""
        return self.read(lambda: frame.collect(engine="streaming"))

    def read(self, action: Callable[[], T]) -> T:
        """What the action returns; DataError, with the name of the file if there is one to blame, if reading fails."""
        try:
            with panics_unseen():
                return action()
        except READ_ERRORS as error:
            raise self.failure(error) from error

    def failure(self, error: BaseException) -> DataError:
        """The error, with the name of the first file that cannot be read by itself, if there is one."""
        changed = next(filter(None, (_no_longer(file, self.kind) for file in [*self.headers, *self.files])), None)
        if changed is not None:
            return changed
        if len(self.files) > 1 and not self.is_unified and len({*map(tuple, self._schemas.values())}) > 1:
            return DifferingFilesError(f"{self.name}: {first_line(error)}")
        ragged = self._ragged()
        if ragged is not None:
            return ragged
        for file in self.files:
            why = self._unreadable(file)
            if why is not None:
                return DataError(f"{file} cannot be read as {self.kind.name}: {why}")
        return DataError(f"{self.name}: {first_line(error)}")

    def _unreadable(self, file: Path) -> str | None:
        try:
            with panics_unseen():
                self.kind.scan([file], False, {}).select(pl.all().null_count()).collect(engine="streaming")
        except READ_ERRORS as error:
            return first_line(error)
        return None

    @cached_property
    def _schemas(self) -> dict[Path, list[tuple[str, pl.DataType]]]:
        """Of each file; DataError for the first that has none."""
        hive = _is_partitioned(self.files)
        return {file: self._own_schema(file, hive) for file in self.files}

    def _own_schema(self, file: Path, hive: bool) -> list[tuple[str, pl.DataType]]:
        try:
            with panics_unseen():
                return list(self.kind.scan([file], hive, {}).collect_schema().items())
        except READ_ERRORS as error:
            raise DataError(f"{file} cannot be read as {self.kind.name}: {first_line(error)}") from error

    def unified(self, asked: Mapping[str, Sequence[str]], keys: Collection[str]) -> Log:
        """The same files with the columns asked for alone, each of one dtype in all of them.

        Parameters
        ----------
        asked
            The columns by the option that names them; UsageError names the file that lacks one.
        keys
            Those of them that are group columns.

        Returns
        -------
        A Log; DataError if the dtypes of a column do not go together.
        """
        hive = _is_partitioned(self.files)
        names = list(dict.fromkeys(name for columns in asked.values() for name in columns))
        for file, schema in self._schemas.items():
            check_columns(asked, pl.Schema(schema), str(file))
        dtypes = {name: {file: dict(schema)[name] for file, schema in self._schemas.items()} for name in names}
        common = {name: self._common(name, dtypes[name], name in keys) for name in names}
        alike: dict[tuple[tuple[str, pl.DataType], ...], list[Path]] = {}
        for file, columns in self._schemas.items():
            alike.setdefault(tuple(columns), []).append(file)
        frames = []
        for same, files in alike.items():
            # Text that passes for numbers in one file and not in another is text.
            texts = {name: pl.String() for name, dtype in same if common.get(name) == pl.String and dtype != pl.String}
            casts = [pl.col(name).cast(dtype) for name, dtype in common.items()]
            frames.append(self.kind.scan(files, hive, {} if self.kind.magic else texts).select(casts))
        return Log(self.files, self.kind, pl.concat(frames), self.headers, is_unified=True)

    def _common(self, name: str, dtypes: Mapping[Path, pl.DataType], is_key: bool) -> pl.DataType:
        found = common_type(dtypes.values(), of_keys=is_key)
        if found is None and self.kind.magic is None and any(dtype == pl.String for dtype in dtypes.values()):
            found = pl.String()
        if found is None:
            (first, one), (second, other) = list({dtype: (file, dtype) for file, dtype in dtypes.items()}.values())[:2]
            raise DataError(f"{second}: the column {name!r} is {other}, and {one} in {first}")
        return found

    def check_rows(self) -> None:
        """Refuse CSV rows with more or fewer fields than the header: Polars would fill them up with nulls."""
        ragged = self._ragged()
        if ragged is not None:
            raise ragged

    def _ragged(self) -> DataError | None:
        for file in self.files if self.kind is _CSV else []:
            path = _text(file)
            try:
                with panics_unseen():
                    n_fields = len(pl.scan_csv(path, infer_schema=False, glob=False).collect_schema())
                    ragged = first_ragged_row(path, n_fields)
            except READ_ERRORS as error:
                return DataError(f"{file} cannot be read as CSV: {first_line(error)}")
            if ragged is not None:
                fields = f"{ragged.fields} field{'s' if ragged.fields > 1 else ''}"
                return DataError(f"{file}, line {ragged.line}: {fields}, and the header names {n_fields}")
        return None

    def check_zones(self, asked: Mapping[str, Sequence[str]]) -> None:
        """DifferingFilesError where timestamps have a time zone in one file and not in another: Polars takes them as one."""
        schema = self.schema()
        times = [n for names in asked.values() for n in names if isinstance(schema[n], pl.Datetime)]
        if not times or len(self.files) == 1 or self.kind.magic is None or self.is_unified:
            return
        for own in map(dict, self._schemas.values()):
            if any(own.get(name) != schema[name] for name in times):
                raise DifferingFilesError(f"{self.name}: timestamps of several types")

    def check_partitions(self) -> None:
        """Refuse folders such as `p=0.5` whose files have a column p of other values: it would be replaced."""
        if not _is_partitioned(self.files):
            return
        for file in self.files:
            own = self.kind.scan([file], False, {})
            names = self.read(own.collect_schema)
            stated = {key: value for key, value in _partition(file).items() if key in names}
            if not stated:
                continue
            differs = [_differs(key, names[key], value) for key, value in stated.items()]
            for key, is_other in self.collect(own.select(differs)).row(0, named=True).items():
                if is_other:
                    raise DataError(
                        f"{file} has a column {key!r} of other values than its folder {key}={stated[key]} says: rename "
                        "the folder"
                    )


def open_log(paths: Sequence[str]) -> Log:
    """The log in files, globs and folders, all of one kind; the first thing that should be a file and is not is an error."""
    found = Found()
    for path in paths:
        found.add(find(path))
    for problem in found.problems.values():
        raise DataError(problem)
    files = distinct(found.files)
    kinds = {kind.name: kind for kind in map(_kind_of, files)}
    if len(kinds) > 1:
        raise UsageError(
            f"{', '.join(paths)}: files of several kinds ({', '.join(kinds)}): report on one kind at a time"
        )
    (kind,) = kinds.values()
    for file in files:
        _check_name_and_magic(file, kind)
    headers = [file for file in files if kind is _CSV and _is_header_alone(file)]
    rows = [file for file in files if file not in set(headers)]
    read = rows or headers
    try:
        with panics_unseen():
            return Log(rows, kind, kind.scan(read, _is_partitioned(read), {}), headers)
    except READ_ERRORS as error:
        raise DataError(f"{files[0]}: {first_line(error)}") from error


def _is_header_alone(file: Path) -> bool:
    """Whether a CSV file names its columns and has no row, so that nothing says what they are."""
    try:
        with panics_unseen():
            return pl.scan_csv(_text(file), infer_schema=False, n_rows=1, glob=False).collect().height == 0
    except READ_ERRORS:
        return False  # whoever reads it will say why


def check_columns(asked: Mapping[str, Sequence[str]], schema: pl.Schema, log: str) -> None:
    """Refuse the first column that the log does not have; `asked` maps an option to the columns it names."""
    names = schema.names()
    for option, columns in asked.items():
        for column in columns:
            if column in names:
                continue
            by_lower = {name.lower(): name for name in names}
            near = [by_lower[match] for match in difflib.get_close_matches(column.lower(), by_lower, cutoff=0.5)]
            hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            raise UsageError(f"{log} has no column {column!r} ({option}): {hint}The columns are {', '.join(names)}")


def label_value(text: str, dtype: pl.DataType) -> Any:
    """A label's value from the command line, as the label's column holds it."""
    if dtype == pl.Boolean and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text) if dtype.is_integer() else float(text) if dtype.is_numeric() else text
    except ValueError:
        raise UsageError(f"{text!r} is not a value of the label, which is {dtype}") from None
