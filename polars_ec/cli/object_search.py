"""Which objects are meant: what an address, a pattern or a prefix leads to. The rules are those of local files."""

from __future__ import annotations

import fnmatch
import glob
import re
from collections.abc import Iterable, Sequence

from polars_ec.cli.errors import DataError
from polars_ec.cli.file_kinds import SKETCH_SUFFIX, SUFFIXES, FileKind
from polars_ec.cli.found import EmptyFolderError, Found, NoMatchError, inside
from polars_ec.cli.lake_tables import opened, root_of, roots_among, table_around_address
from polars_ec.cli.objects import StoredObject, head, listed, split


def find_objects(url: str) -> Found:
    """The objects and tables that an address, a pattern or a prefix means; UsageError if there is nothing there."""
    bucket, key = split(url)
    here = None if glob.has_magic(bucket) else head(url)
    # What has no content and others below it only stands for a folder.
    objects = list(listed(url)) if here is not None and not here.size else []
    if objects:
        here = None
    if here is None and glob.has_magic(key):
        return _matches(url)
    fixed = url.rstrip("/") if here is None else url.rsplit("/", 1)[0]
    around = table_around_address(fixed)
    if around is not None:
        root, kind = around
        return Found([opened(root, kind)]) if root == fixed and here is None else inside(root)
    if here is not None:
        return Found([here])
    objects = objects or list(listed(url))
    if not objects:
        raise NoMatchError(f"{url}: no such object, and none below it", fixed)
    found = _below(fixed, objects, roots_among(o.url for o in objects))
    if not found.files and not found.problems:
        raise EmptyFolderError(f"{url}: no data files below it ({', '.join(SUFFIXES)})", fixed)
    return found


def _matches(pattern: str) -> Found:
    bucket, key = split(pattern)
    parts = key.rstrip("/").split("/")
    n_fixed = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    fixed = "/".join([bucket, *parts[:n_fixed]])
    around = table_around_address(fixed)
    if around is not None:
        return inside(around[0])
    objects = list(listed(fixed))
    roots = roots_among(o.url for o in objects)
    found = Found()
    folders: dict[str, list[StoredObject]] = {}
    tables: dict[str, FileKind] = {}
    for thing in objects:
        root = root_of(thing.url, roots)
        names = split(thing.url)[1].split("/")
        lengths = _lengths(parts, names)
        if root is not None:
            n_table = root.count("/") - 2
            if any(length <= n_table and not _is_hidden(names[length:n_table]) for length in lengths):
                tables[root] = roots[root]
            # What belongs to the table itself is no file of the log to anyone.
            elif any(length > n_table for length in lengths) and not _is_hidden(names[n_table:]):
                found.problems |= inside(root).problems
            continue
        if len(names) in lengths:
            found.files.append(thing)
        for length in lengths:
            if length < len(names):
                folders.setdefault("/".join([bucket, *names[:length]]), []).append(thing)
    for root, kind in tables.items():
        found.add_table(root, kind, root)
    for folder, below in folders.items():
        here = _below(folder, below, {})
        if not here.files and not any(f"{root}/".startswith(f"{folder}/") for root in tables):
            raise EmptyFolderError(f"{folder}: no data files below it ({', '.join(SUFFIXES)})", folder)
        found.add(here)
    if not found.files and not found.problems:
        raise NoMatchError(f"{pattern}: no object matches this pattern", fixed)
    found.files = sorted(dict.fromkeys(found.files), key=str)
    return found


def _lengths(pattern: Sequence[str], names: Sequence[str]) -> set[int]:
    """How many of the names the pattern takes: all of them for an object, fewer for what would be a folder."""
    if not pattern:
        return {0}
    part, rest = pattern[0], pattern[1:]
    if part == "**":
        found = _lengths(rest, names)
        # The last name is of an object, and `**` stands for folders.
        for i, name in enumerate(names[:-1], 1):
            if name.startswith("."):
                break
            found |= {i + length for length in _lengths(rest, names[i:])}
        return found
    if not names or not _fits(part, names[0]):
        return set()
    return {1 + length for length in _lengths(rest, names[1:])}


def _fits(part: str, name: str) -> bool:
    if not glob.has_magic(part):
        return part == name
    return part.startswith(".") >= name.startswith(".") and re.match(fnmatch.translate(part), name) is not None


def _below(folder: str, objects: Iterable[StoredObject], roots: dict[str, FileKind]) -> Found:
    """Data files and tables below an address; what is hidden is none, as among local files."""
    found, start = Found(), len(folder) + 1
    for thing in objects:
        if root_of(thing.url, roots) is not None:
            continue
        if _is_hidden(thing.url[start:].split("/")):
            continue
        if thing.name.endswith(SKETCH_SUFFIX):
            raise DataError(f"{thing}: sketches are read where they were made: copy the folder, and name the copy")
        if thing.name.endswith(SUFFIXES):
            found.files.append(thing)
    for root, kind in roots.items():
        if not _is_hidden(root[start:].split("/")):
            found.add_table(root, kind, root)
    return found


def _is_hidden(parts: Iterable[str]) -> bool:
    """Whether a name below the folder that is searched says so, as among local files."""
    return any(part.startswith((".", "_")) for part in parts)
