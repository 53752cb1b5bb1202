"""Which files are meant: what a path, a glob or a folder leads to, and whether it is what its name says."""

from __future__ import annotations

import fnmatch
import glob
import itertools
import os
import re
import stat
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

from polars_ec.cli.delta_tables import DELTA, LOG
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.file_kinds import KINDS, NDJSON, PATTERN, SUFFIXES, FileKind
from polars_ec.cli.found import EmptyFolderError, Found, NoMatchError, inside
from polars_ec.cli.iceberg_tables import ICEBERG, METADATA, METADATA_SUFFIX, metadata_names
from polars_ec.cli.lake_tables import LakeTable, is_named_table, named_table, opened, table_around
from polars_ec.cli.object_search import find_objects
from polars_ec.cli.objects import StoredObject, beginning, is_address
from polars_ec.cli.places import Place, full_name
from polars_ec.cli.places import status as status  # which others take from here

_HEAD = 1024


def find(path: str) -> Found:
    """The inputs that a path, an address, a glob, a folder or the name of a table means; UsageError if there is nothing there."""
    here = status(path)
    if here is None and is_named_table(path):
        return Found([named_table(path)])
    if is_address(path):
        return find_objects(path)
    around = cache(table_around)  # for this search: a table may be made at any time
    if here is not None:
        if not stat.S_ISDIR(here.st_mode):
            is_metadata = path.endswith(METADATA_SUFFIX)
            return Found([named_table(path)]) if is_metadata else _one_file(Path(path), here, around)
        return _files_in(Path(path), around)
    found = Found()
    matches = _matches(path, found.problems) if glob.has_magic(path) else []
    if not matches and not found.problems:
        if not glob.has_magic(path):
            raise UsageError(f"{path}: no such file or folder")
        fixed = itertools.takewhile(lambda part: not glob.has_magic(part), Path(path).parts)
        raise NoMatchError(f"{path}: no file matches this pattern", str(Path(*fixed)))
    for match in matches:
        there = status(match)
        if there is None:
            found.problems[str(match)] = f"{match}: a link to what is not there"
        else:
            found.add(_files_in(match, around) if stat.S_ISDIR(there.st_mode) else _one_file(match, there, around))
    return found


def _one_file(file: Path, its: os.stat_result, around: Callable[[str], str | None]) -> Found:
    if not stat.S_ISREG(its.st_mode):
        return Found(problems={str(file): f"{file}: not a regular file"})
    table = around(os.path.dirname(os.path.realpath(file)))
    return Found([file]) if table is None else inside(table)


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


def _files_in(folder: Path, around: Callable[[str], str | None]) -> Found:
    """Data files and tables below a folder; what is hidden is none, as glob has it, nor is what begins with `_`, as Spark has it."""
    found, links, seen, pending = Found(), [], set(), [folder]
    real = os.path.realpath(folder)
    table = around(real)
    if table is not None and table != real:
        return inside(table)
    while pending:
        here = pending.pop()
        seen.add(os.path.realpath(here))
        entries = _listed(here, found.problems)
        kind = _kind_of_table(entries)
        if kind is not None:
            _add_table(found, here, kind)
            continue
        for entry in entries:
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
            elif entry.name.endswith(SUFFIXES):
                # What is below here is in no table, unless a link leads into one.
                found.add(_one_file(path, there, around if entry.is_symlink() else _nowhere))
    _name_links(links, seen, found.problems)
    found.files.sort(key=lambda place: Path(str(place)))
    if not found.files and not found.problems:
        raise EmptyFolderError(f"{folder}: the folder holds no data files ({', '.join(SUFFIXES)})", str(folder))
    return found


def _nowhere(folder: str) -> None:  # noqa: ARG001
    return None


def _kind_of_table(entries: Iterable[os.DirEntry[str]]) -> FileKind | None:
    """The kind of table that a folder with these entries is, None if it is none."""
    for entry in entries:
        if entry.name == LOG and entry.is_dir():
            return DELTA
        if entry.name == METADATA and entry.is_dir() and metadata_names(entry.path):
            return ICEBERG
    return None


def _add_table(found: Found, folder: Path, kind: FileKind) -> None:
    try:
        found.files.append(opened(os.path.realpath(folder), kind, str(folder)))
    except DataError as error:
        found.problems[str(folder)] = str(error)


def distinct(files: Iterable[Place]) -> list[Place]:
    """Each input once, by whatever links and names it is reached; UsageError for a table by two names."""
    once = list({full_name(file): file for file in reversed(list(files))}.values())[::-1]
    tables: dict[str, LakeTable] = {}
    for table in once:
        if isinstance(table, LakeTable) and (other := tables.setdefault(table.identity, table)) is not table:
            raise UsageError(f"{other} and {table} are one table, whose rows would count twice: name it once")
    return once


def kind_of(file: Place) -> FileKind:
    """The kind that the name says; UsageError for any other file."""
    if isinstance(file, LakeTable):
        return file.kind
    for kind in KINDS:
        if file.name.endswith(kind.suffixes):
            return kind
    raise UsageError(f"{file}: not a kind of file this reads: {', '.join(SUFFIXES)}, or duckdb:FILE.duckdb::TABLE")


def check_name_and_magic(file: Place, kind: FileKind) -> None:
    """Refuse a file with a name that Polars cannot read, without a byte, or of another kind than its name says."""
    if isinstance(file, LakeTable):
        return
    try:
        str(file).encode()
    except UnicodeEncodeError:
        raise DataError(f"{file}: the name is not UTF-8: rename the file or its folder") from None
    # Polars reads any bytes as CSV, so a Parquet file with the wrong name would become a table of rubbish.
    start = _beginning_of_object(file, kind) if isinstance(file, StoredObject) else _beginning_of_file(file)
    if not start:
        raise DataError(f"{file}: the file is empty")
    binary = b"\0" in start and not start.startswith(b"\x1f\x8b")
    if binary if kind.magic is None else not start.startswith(kind.magic):
        looks = next((k.name for k in KINDS if k.magic is not None and start.startswith(k.magic)), None)
        hint = f"it begins like {looks}" if looks else f"it does not begin like {kind.name}"
        raise DataError(f"{file}: not a {kind.name} file, whatever its name says: {hint}")


def _beginning_of_file(file: Path) -> bytes:
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise DataError(f"{file}: not a regular file")
            return stream.read(_HEAD)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None


def _beginning_of_object(file: StoredObject, kind: FileKind) -> bytes:
    if kind is NDJSON and any(c in file.url for c in PATTERN):
        raise DataError(f"{file}: Polars takes this name of NDJSON for a pattern: rename it, without * ? [ and \\")
    try:
        return beginning(file, _HEAD)
    except FileNotFoundError:
        raise DataError(f"{file}: no such object") from None


def no_longer(file: Place, kind: FileKind) -> DataError | None:
    """What is wrong with a file that was in order when it was opened."""
    try:
        check_name_and_magic(file, kind)
    except DataError as error:
        return error
    return None
