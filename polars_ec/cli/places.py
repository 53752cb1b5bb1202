"""A place is an input: a local file, an object in a store, or a table. What each is called, and what it is like now."""

from __future__ import annotations

import errno
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.iceberg_tables import CATALOG, NoTableError
from polars_ec.cli.lake_tables import LakeTable, is_named_table, kind_of_address, kind_of_folder, named_table, opened
from polars_ec.cli.objects import StoredObject, head, is_in_store

Place = Path | StoredObject | LakeTable


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
    """By which an input is known, however it is reached: a path without links, an address, or the name in a catalog."""
    if isinstance(place, LakeTable):
        return place.path
    name = str(place)
    if isinstance(place, StoredObject) or is_in_store(name):
        return name.rstrip("/")
    return name if name.startswith(CATALOG) and not os.path.lexists(name) else os.path.realpath(name)


def is_path(name: str) -> bool:
    """Whether a full name is one of a local file or folder."""
    return os.path.isabs(name)


def state_of(place: Place) -> State:
    """What a place is like; DataError if it is there no longer. Of a table it is what it was when it was opened."""
    if isinstance(place, LakeTable):
        return State(0, 0, place.tag)
    if isinstance(place, StoredObject):
        found = head(place.url)
        if found is None:
            raise DataError(f"{place}: no such object")
        return as_found(found)
    try:
        now = os.stat(place)
    except OSError as error:
        raise DataError(f"{place}: {error.strerror}") from None
    return State(now.st_size, now.st_mtime_ns)


def as_found(place: Place) -> State:
    """What a place was like when it was found, as far as that was looked at."""
    if isinstance(place, StoredObject):
        return State(place.size, place.modified_ns, place.tag)
    return state_of(place)


def looked_up(name: str) -> Place | None:
    """The place of this full name, None if it is there no longer, or nothing that can be read; DataError if one cannot tell."""
    try:
        if is_named_table(name):
            return named_table(name)
        if is_in_store(name):
            kind = None
            found = head(name)
            return found if found is not None or (kind := kind_of_address(name)) is None else opened(name, kind)
    except NoTableError:
        return None
    except UsageError as error:  # such as a bucket that is not there: perhaps of another endpoint
        raise DataError(str(error)) from None
    there = status(name)
    if there is None:
        return None
    if stat.S_ISREG(there.st_mode):
        return Path(name)
    kind = kind_of_folder(name) if stat.S_ISDIR(there.st_mode) else None
    return None if kind is None else opened(name, kind)


def gone(name: str) -> str | None:
    """What became of an input that is no longer what it was, in words; None if it is there."""
    if looked_up(name) is None:
        return "is no longer a file" if is_path(name) and status(name) is not None else "has vanished"
    real = full_name(name)
    return None if real == name else f"is now a link to {real}"


def is_there(name: str) -> bool:
    """Whether there is anything of this full name, as far as one can tell."""
    if is_path(name):
        return os.path.exists(name)
    try:
        return looked_up(name) is not None
    except DataError:
        return True
