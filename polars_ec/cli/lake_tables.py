"""Delta and Iceberg tables, each one input: which folders are some, and the version of one that is read."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polars_ec.cli.delta_tables import DELTA, LOG, open_delta
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.file_kinds import FileKind
from polars_ec.cli.iceberg_tables import (
    CATALOG,
    ICEBERG,
    METADATA,
    METADATA_SUFFIX,
    NoTableError,
    metadata_names,
    open_iceberg,
)
from polars_ec.cli.objects import head, is_in_store, names_below, split


@dataclass(frozen=True)
class LakeTable:
    """A version of a table, which `tag` tells from all others; `path` is its full name, and `shown` as it was given."""

    path: str
    shown: str
    kind: FileKind
    tag: str
    table: Any = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.shown

    @property
    def identity(self) -> str:
        """What tells the table from all others, in whatever version and by whatever name."""
        return self.tag.split("/")[0]

    @property
    def parts(self) -> tuple[str, ...]:
        """Nothing: the names of its folders are no columns."""
        return ()

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rsplit("/", 1)[-1]


def opened(path: str, kind: FileKind, shown: str | None = None) -> LakeTable:
    """The table as it is now: what is read of it later is of this version."""
    told = path if shown is None else shown
    table, tag = (open_delta if kind is DELTA else open_iceberg)(path, told)
    return LakeTable(path, told, kind, tag, table)


def is_named_table(path: str) -> bool:
    """Whether it names an Iceberg table by its metadata, or in a catalog."""
    return path.startswith(CATALOG) or path.endswith(METADATA_SUFFIX)


def named_table(path: str) -> LakeTable:
    """The table that is named so; NoTableError if it is not there."""
    is_file = not path.startswith(CATALOG) and not is_in_store(path)
    if head(path) is None if is_in_store(path) else is_file and not os.path.isfile(path):
        raise NoTableError(f"{path}: no such metadata of an Iceberg table")
    return opened(os.path.realpath(path) if is_file else path, ICEBERG, path)


def kind_of_folder(folder: str | Path) -> FileKind | None:
    """The kind of table that a local folder is, None if it is none."""
    if os.path.isdir(os.path.join(folder, LOG)):
        return DELTA
    below = os.path.join(folder, METADATA)
    return ICEBERG if os.path.isdir(below) and metadata_names(below) else None


def table_around(folder: str) -> str | None:
    """The table that a local folder, by its real path, is or is in."""
    while kind_of_folder(folder) is None:
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def kind_of_address(url: str) -> FileKind | None:
    """The kind of table that is at this address, None if there is none."""
    root = url.rstrip("/")
    if names_below(f"{root}/{LOG}"):
        return DELTA
    return ICEBERG if metadata_names(f"{root}/{METADATA}") else None


def table_around_address(url: str) -> tuple[str, FileKind] | None:
    """The table that is at this address or at one above it, and its kind; None too where one may not look."""
    bucket, key = split(url.rstrip("/"))
    parts = key.split("/") if key else []
    for length in range(len(parts), -1, -1):
        root = "/".join([bucket, *parts[:length]])
        try:
            kind = kind_of_address(root)
        except (DataError, UsageError):  # who may read an object may not always list what is beside it
            continue
        if kind is not None:
            return root, kind
    return None


def roots_among(urls: Iterable[str]) -> dict[str, FileKind]:
    """The tables that these addresses of objects are of."""
    found: dict[str, FileKind] = {}
    for url in urls:
        parts = url.split("/")
        if LOG in parts[3:]:
            found["/".join(parts[: parts.index(LOG, 3)])] = DELTA
        elif len(parts) > 4 and parts[-2] == METADATA and parts[-1].endswith(METADATA_SUFFIX):
            found.setdefault("/".join(parts[:-2]), ICEBERG)
    return {root: kind for root, kind in found.items() if not any(above in found for above in _above(root))}


def _above(url: str) -> list[str]:
    parts = url.split("/")
    return ["/".join(parts[:length]) for length in range(3, len(parts))]


def root_of(url: str, roots: Mapping[str, FileKind]) -> str | None:
    """Which of these tables an object is of."""
    return next((above for above in _above(url) if above in roots), None)
