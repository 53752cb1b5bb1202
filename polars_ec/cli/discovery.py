"""Inputs: local files, objects in stores, and tables; what each is like now, and which a path, an address, a pattern or a folder means."""

from __future__ import annotations

import errno
import fnmatch
import glob
import os
import re
import stat
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from polars_ec.cli import formats
from polars_ec.cli.object_store import StoredObject, beginnings, head, heads, is_address, is_in_store, listed, split
from polars_ec.cli.terminal import DataError, UsageError

Place = Path | StoredObject | formats.LakeTable
_HEAD = 1024


@dataclass(frozen=True)
class State:
    """What tells one content of a place from another: `tag` is the ETag of an object, or the version of a table."""

    size: int
    modified_ns: int
    tag: str | None = None


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


def full_name(place: Place | str) -> str:
    """By which an input is known, however it is reached: an absolute path without links, an address, or the name in a catalog."""
    if isinstance(place, formats.LakeTable):
        return place.path
    name = str(place)
    if isinstance(place, StoredObject) or is_in_store(name):
        return name.rstrip("/")
    return name if name.startswith(formats.CATALOG) and not os.path.lexists(name) else os.path.realpath(name)


def check_unchanged(states: Mapping[Place, State]) -> None:
    """DataError for the first place that is another one than when it had this state: what was read of it may be of both."""
    now = heads([place for place in states if isinstance(place, StoredObject)])
    for place, state in states.items():
        there = next(now) if isinstance(place, StoredObject) else place
        if there is None or as_found(there) != state:
            raise DataError(f"{place} changed while it was read: run the command again when nothing writes to it")


def as_found(place: Place) -> State:
    """What an object or a table was like when it was found, and what a file is like now; DataError if that is gone."""
    if isinstance(place, formats.LakeTable):
        return State(0, 0, place.tag)
    if isinstance(place, StoredObject):
        return State(place.size, place.modified_ns, place.tag)
    try:
        now = os.stat(place)
    except OSError as error:
        raise DataError(f"{place}: {error.strerror}") from None
    return State(now.st_size, now.st_mtime_ns)


def looked_up(name: str) -> Place | None:
    """The place of this full name, None if it is there no longer, or nothing that can be read; DataError if one cannot tell."""
    try:
        if formats.is_named_table(name):
            return formats.named_table(name)
        if is_in_store(name):
            found = head(name)
            if found is not None:
                return found
        else:
            there = status(name)
            if there is None or stat.S_ISREG(there.st_mode):
                return None if there is None else Path(name)
        kind = formats.kind_of_folder(name)
        return None if kind is None else formats.opened(name, kind)
    except formats.NoTableError:
        return None
    except UsageError as error:  # such as a bucket that is not there: perhaps of another endpoint
        raise DataError(str(error)) from None


def gone(name: str) -> str | None:
    """What became of an input that is no longer what it was, in words; None if it is there."""
    if looked_up(name) is None:
        return "is no longer a file" if os.path.isabs(name) and status(name) is not None else "has vanished"
    real = full_name(name)
    return None if real == name else f"is now a link to {real}"


def is_there(name: str) -> bool:
    """Whether there is anything of this full name, as far as one can tell."""
    if os.path.isabs(name):
        return os.path.exists(name)
    try:
        return looked_up(name) is not None
    except DataError:
        return True


class NoFilesError(Exception):
    """There is no data file where there could be some, which is in `folder`, a path or an address."""

    def __init__(self, message: str, folder: str) -> None:
        super().__init__(message)
        self.folder = folder


class EmptyFolderError(NoFilesError, DataError):
    """A folder is there, and no data file in it."""


class NoMatchError(NoFilesError, UsageError):
    """A pattern that no file matches."""


@dataclass
class Inputs:
    """Inputs, and what should have been one but is not: a message by path."""

    files: list[Place] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    def add(self, other: Inputs) -> None:
        self.files += other.files
        self.problems |= other.problems

    def refuse_part_of(self, table: str) -> Inputs:
        """A file of a table was named: which of its files count, its log alone says."""
        why = "some of its files may be deleted data: name the table instead of its files"
        self.problems[table] = f"{table} is a table, and {why}"
        return self


def find(path: str) -> Inputs:
    """The inputs that a path, an address, a glob, a folder or the name of a table means; UsageError if there is nothing there."""
    is_stored = is_address(path)
    there = None if is_stored else status(path)
    may_be_table = there is None or (path.endswith(formats.METADATA_SUFFIX) and not stat.S_ISDIR(there.st_mode))
    if may_be_table and formats.is_named_table(path):
        return Inputs([formats.named_table(path)])
    if is_stored:
        return _find_stored(path)
    if there is not None:
        return _Walk().all_in(Path(path), path)
    if not glob.has_magic(path):
        raise UsageError(f"{path}: no such file or folder")
    names = Path(path).parts
    n_fixed = next(i for i, name in enumerate(names) if glob.has_magic(name))
    return _Walk().matches(path, Path(*names[:n_fixed]), names[n_fixed:])


def _find_stored(url: str) -> Inputs:
    bucket, key = split(url)
    here = None if glob.has_magic(bucket) else head(url)
    # What has no content and others below it only stands for a folder.
    objects = list(listed(url, url)) if here is not None and not here.size else []
    if objects:
        here = None
    is_pattern = here is None and glob.has_magic(key)
    names = key.rstrip("/").split("/")
    n_fixed = next((i for i, name in enumerate(names) if glob.has_magic(name)), 0)
    folder = url.rstrip("/") if here is None else url.rsplit("/", 1)[0]
    top = "/".join([bucket, *names[:n_fixed]]) if is_pattern else folder
    around = formats.table_around(top)
    if around is not None:
        root, kind = around
        is_table = root == top and here is None and not is_pattern
        return Inputs([formats.opened(root, kind)]) if is_table else Inputs().refuse_part_of(root)
    if here is not None:
        return Inputs([here])
    walk = _StoreWalk(top, objects or listed(top, url))
    if is_pattern:
        return walk.matches(url, top, names[n_fixed:])
    if not walk.is_folder(top):
        raise NoMatchError(f"{url}: no such object, and no objects below it", top)
    return walk.all_in(top, url)


class _Walk:
    """A search for inputs. This one is in local folders; folders and files are known by their paths."""

    no_match = "no file matches this pattern"
    no_data = "the folder holds no data files"

    def __init__(self) -> None:
        self.found = Inputs()
        # For this search: a table may be made at any time.
        self._around = cache(lambda folder: formats.table_around(folder, self.kind_of))

    def entries(self, folder: Any) -> list[tuple[str, Any, bool]]:
        """The name and the path of all in a folder, and whether it is a folder itself and no link to one."""
        try:
            with os.scandir(folder) as entries:
                return sorted((e.name, Path(e.path), e.is_dir(follow_symlinks=False)) for e in entries)
        except OSError as error:
            self.found.problems[str(folder)] = f"{folder}: the folder cannot be listed: {error.strerror}"
            return []

    def kind_of(self, folder: Any) -> formats.FileKind | None:
        return formats.kind_of_folder(folder)

    def is_folder(self, place: Any) -> bool:
        """Whether it is one, by whatever links."""
        return os.path.isdir(place)

    def children(self, folder: Any, name: str) -> Iterable[Any]:
        """What has this name in a folder."""
        return [folder / name] if os.path.lexists(folder / name) else []

    def take_file(self, file: Any, *, is_named: bool) -> bool:
        """Take in a file, or why it is none, unless it has no name of data and was not named; false for a link to a folder."""
        is_link, problems = file.is_symlink(), self.found.problems
        try:
            there = status(file)
        except DataError as error:
            if is_named:
                raise
            problems[str(file)] = str(error)
            return True
        if there is None:
            if is_link or is_named:
                problems[str(file)] = f"{file}: the link points to a file that does not exist"
        elif stat.S_ISDIR(there.st_mode):
            return False
        elif is_named or file.name.endswith(formats.SUFFIXES):
            if not stat.S_ISREG(there.st_mode):
                problems[str(file)] = f"{file}: not a regular file"
            # What is found below a folder is in no table, unless a link leads into one.
            elif (is_link or is_named) and (
                around := self._around(os.path.dirname(os.path.realpath(file)))
            ) is not None:
                self.found.refuse_part_of(around[0])
            else:
                self.found.files.append(file)
        return True

    def is_left_out(self, place: Any, matched: set[Any]) -> bool:  # noqa: ARG002
        """Whether a pattern matches it, and it does not count for that."""
        return False

    def all_in(self, place: Any, shown: str) -> Inputs:
        """A file, or the data files and tables below a folder."""
        if self.is_folder(place):
            self._take_folder(place, shown)
        else:
            self.take_file(place, is_named=True)
        self.found.files = sorted(dict.fromkeys(self.found.files), key=_order)
        return self.found

    def matches(self, pattern: str, top: Any, names: Sequence[str]) -> Inputs:
        """What glob.glob finds, which passes without a word over folders that it cannot list, and goes round in circles."""
        places = [top]
        for name in names:
            if name == "**":
                places = [folder for above in places for folder in self._folders_below(above)]
            elif glob.has_magic(name):
                fits, hidden = re.compile(fnmatch.translate(name)).match, name.startswith(".")
                entries = (entry for above in places if self.is_folder(above) for entry in self.entries(above))
                places = [place for own, place, _ in entries if fits(own) and hidden >= own.startswith(".")]
            else:
                places = [child for above in places for child in self.children(above, name)]
        matched = set(places)
        for place in sorted(matched, key=_order):
            if not self.is_left_out(place, matched):
                self.all_in(place, str(place))
        if not self.found.files and not self.found.problems:
            raise NoMatchError(f"{pattern}: {self.no_match}", str(top))
        return self.found

    def _take_folder(self, top: Any, shown: str) -> None:
        """Data files and tables below a folder; what is hidden is none, as glob has it, nor is what begins with `_`, as Spark has it."""
        around = self._around(full_name(top))
        if around is not None and around[0] != full_name(top):
            self.found.refuse_part_of(around[0])
            return
        before = len(self.found.files) + len(self.found.problems)
        links: list[Any] = []
        seen, pending = [], [top]
        while pending:
            folder = pending.pop()
            seen.append(folder)
            kind = self.kind_of(folder)
            if kind is not None:
                try:
                    self.found.files.append(formats.opened(full_name(folder), kind, str(folder)))
                except DataError as error:
                    self.found.problems[str(folder)] = str(error)
                continue
            for name, place, is_folder in self.entries(folder):
                if name.startswith((".", "_")):
                    continue
                if is_folder:
                    pending.append(place)
                elif not self.take_file(place, is_named=False):
                    links.append(place)
        self._name_links(links, seen)
        if len(self.found.files) + len(self.found.problems) == before:
            raise EmptyFolderError(f"{shown}: {self.no_data} ({', '.join(formats.SUFFIXES)})", str(top))

    def _folders_below(self, top: Any) -> list[Any]:
        folders: list[Any] = []
        links: list[Any] = []
        pending = [top] if self.is_folder(top) else []
        while pending:
            folders.append(pending.pop())
            for name, place, is_folder in self.entries(folders[-1]):
                if not name.startswith(".") and self.is_folder(place):
                    (pending if is_folder else links).append(place)
        self._name_links(links, folders)
        return folders

    def _name_links(self, links: Iterable[Any], seen: Iterable[Any]) -> None:
        """Links to folders are not followed, and named unless what they lead to is seen anyway."""
        known = {full_name(folder) for folder in seen} if links else set()
        for link in links:
            if full_name(link) not in known:
                text = f"{link}: links to folders are not followed. Name the folder itself too"
                self.found.problems[str(link)] = text


def _order(place: Place) -> list[str]:
    return formats.path_names(str(place))


class _StoreWalk(_Walk):
    """A search among the objects below an address. Folders are known by theirs: what the parts of names would be."""

    no_match = "no object matches this pattern"
    no_data = "no data files below it"

    def __init__(self, top: str, objects: Iterable[StoredObject]) -> None:
        super().__init__()
        self._folders: dict[str, dict[str, str]] = defaultdict(dict)
        self._files: dict[str, list[StoredObject]] = defaultdict(list)
        for file in objects:
            folder = file.url.rsplit("/", 1)[0]
            self._files[folder].append(file)
            while folder != top:
                above, name = folder.rsplit("/", 1)
                if name in self._folders[above]:
                    break
                self._folders[above][name] = folder
                folder = above

    def entries(self, folder: str) -> list[tuple[str, Any, bool]]:
        files = [(file.name, file, False) for file in self._files.get(folder, ())]
        return [*files, *((name, place, True) for name, place in self._folders.get(folder, {}).items())]

    def kind_of(self, folder: str) -> formats.FileKind | None:
        if formats.LOG in self._folders.get(folder, ()):
            return formats.DELTA
        metadata = self._files.get(f"{folder}/{formats.METADATA}", ())
        return formats.ICEBERG if any(file.name.endswith(formats.METADATA_SUFFIX) for file in metadata) else None

    def is_folder(self, place: str | StoredObject) -> bool:
        return place in self._folders or place in self._files

    def children(self, folder: str, name: str) -> Iterable[Any]:
        return [place for own, place, _ in self.entries(folder) if own == name]

    def take_file(self, file: StoredObject, *, is_named: bool) -> bool:
        around = self._around(file.url.rsplit("/", 1)[0])
        if around is not None:
            self.found.refuse_part_of(around[0])
        elif not is_named and file.name.endswith(formats.SKETCH_SUFFIX):
            raise DataError(f"{file}: the sketches must stay where they were made. Copy the folder and name the copy")
        elif is_named or file.name.endswith(formats.SUFFIXES):
            self.found.files.append(file)
        return True

    def is_left_out(self, place: str | StoredObject, matched: set[Any]) -> bool:
        """Whether it belongs to a table that the pattern matches too, or to the table itself."""
        url = str(place)
        around = self._around(url if self.is_folder(place) else url.rsplit("/", 1)[0])
        if around is None or around[0] == url:
            return False
        names = url.removeprefix(f"{around[0]}/").split("/")
        return around[0] in matched or any(name.startswith((".", "_")) for name in names)


def distinct(files: Iterable[Place]) -> list[Place]:
    """Each input once, by whatever links and names it is reached; UsageError for a table by two names."""
    once = list({full_name(file): file for file in reversed(list(files))}.values())[::-1]
    tables: dict[str, formats.LakeTable] = {}
    for table in once:
        if isinstance(table, formats.LakeTable) and (other := tables.setdefault(table.identity, table)) is not table:
            raise UsageError(f"{other} and {table} are the same table, so its rows would count twice: name it once")
    return once


def kind_of(file: Place) -> formats.FileKind:
    """The kind that the name says; UsageError for any other file."""
    if isinstance(file, formats.LakeTable):
        return file.kind
    for kind in formats.KINDS:
        if file.name.endswith(kind.suffixes):
            return kind
    raise UsageError(
        f"{file}: unknown kind of file. Pass {', '.join(formats.SUFFIXES)} files, or duckdb:FILE.duckdb::TABLE"
    )


def check_names_and_magic(files: Sequence[Place], kind: formats.FileKind) -> None:
    """Refuse the first file with a name that Polars cannot read, without a byte, or of another kind than its name says."""
    for file in files:
        _check_name(file, kind)
    stored = [file for file in files if isinstance(file, StoredObject)]
    starts = beginnings(stored, _HEAD)
    for file in files:
        if isinstance(file, Path):
            _check_beginning(file, kind, _beginning_of_file(file))
        elif isinstance(file, StoredObject):
            start = next(starts)
            if start is None:
                raise DataError(f"{file}: no such object")
            _check_beginning(file, kind, start)


def _check_name(file: Place, kind: formats.FileKind) -> None:
    try:
        str(file).encode()
    except UnicodeEncodeError:
        raise DataError(f"{file}: the name is not UTF-8: rename the file or its folder") from None
    if isinstance(file, StoredObject) and kind is formats.NDJSON and any(c in file.url for c in formats.PATTERN):
        raise DataError(f"{file}: Polars reads this NDJSON name as a pattern. Rename it without * ? [ and \\\\")


def _check_beginning(file: Place, kind: formats.FileKind, start: bytes) -> None:
    # Polars reads any bytes as CSV, so a Parquet file with the wrong name would become a table of rubbish.
    if not start:
        raise DataError(f"{file}: the file is empty")
    binary = b"\0" in start and not start.startswith(b"\x1f\x8b")
    if binary if kind.magic is None else not start.startswith(kind.magic):
        looks = next((k.name for k in formats.KINDS if k.magic is not None and start.startswith(k.magic)), None)
        hint = f"it begins like {looks}" if looks else f"it does not begin like {kind.name}"
        an = "an" if kind.name.startswith(("A", "N")) else "a"  # Arrow and NDJSON
        raise DataError(f"{file}: not {an} {kind.name} file, despite its name: {hint}")


def _beginning_of_file(file: Path) -> bytes:
    try:
        with open(os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise DataError(f"{file}: not a regular file")
            return stream.read(_HEAD)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None
