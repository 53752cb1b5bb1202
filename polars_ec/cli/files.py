"""Which files are meant: what a path, a glob or a folder leads to, and whether it is what its name says."""

from __future__ import annotations

import errno
import fnmatch
import glob
import itertools
import os
import re
import stat
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.file_kinds import KINDS, SUFFIXES, FileKind


class NoFilesError(Exception):
    """There is no data file where there could be some, which is in `folder`."""

    def __init__(self, message: str, folder: Path) -> None:
        super().__init__(message)
        self.folder = folder


class EmptyFolderError(NoFilesError, DataError):
    """A folder is there, and no data file in it."""


class NoMatchError(NoFilesError, UsageError):
    """A pattern that no file matches."""


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
            elif entry.name.endswith(SUFFIXES):
                found.add(_one_file(path, there))
    _name_links(links, seen, found.problems)
    found.files.sort()
    if not found.files and not found.problems:
        raise EmptyFolderError(f"{folder}: the folder holds no data files ({', '.join(SUFFIXES)})", folder)
    return found


def distinct(files: Iterable[Path]) -> list[Path]:
    """Each file once, by whatever links and names it is reached."""
    return list({os.path.realpath(file): file for file in reversed(list(files))}.values())[::-1]


def kind_of(file: Path) -> FileKind:
    """The kind that the name says; UsageError for any other file."""
    for kind in KINDS:
        if file.name.endswith(kind.suffixes):
            return kind
    raise UsageError(f"{file}: not a kind of file this reads: {', '.join(SUFFIXES)}, or duckdb:FILE.duckdb::TABLE")


def check_name_and_magic(file: Path, kind: FileKind) -> None:
    """Refuse a file with a name that Polars cannot read, without a byte, or of another kind than its name says."""
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
        looks = next((k.name for k in KINDS if k.magic is not None and head.startswith(k.magic)), None)
        hint = f"it begins like {looks}" if looks else f"it does not begin like {kind.name}"
        raise DataError(f"{file}: not a {kind.name} file, whatever its name says: {hint}")


def no_longer(file: Path, kind: FileKind) -> DataError | None:
    """What is wrong with a file that was in order when it was opened."""
    try:
        check_name_and_magic(file, kind)
    except DataError as error:
        return error
    return None
