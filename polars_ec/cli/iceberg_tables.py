"""Iceberg tables: a snapshot of one, found by its folder, by its metadata or in a catalog of pyiceberg."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.file_kinds import FileKind
from polars_ec.cli.objects import beginning, head, is_address, names_in
from polars_ec.cli.redaction import why
from polars_ec.cli.terminal import panics_unseen

# Functions import it where they need it: it is an extra.
if TYPE_CHECKING:
    from pyiceberg.table import Table

METADATA, METADATA_SUFFIX, CATALOG = "metadata", ".metadata.json", "iceberg:"
_OLD_GZIP = f"{METADATA_SUFFIX}.gz"  # as older writers call what is now .gz.metadata.json
_HINT = "version-hint.text"
_HINT_BYTES = 1024
_VERSION = re.compile(r"v?(\d+)[-.]")
# By the names that Polars reads as well.
_S3 = {
    "s3.endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "s3.region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "s3.access-key-id": ("AWS_ACCESS_KEY_ID",),
    "s3.secret-access-key": ("AWS_SECRET_ACCESS_KEY",),
    "s3.session-token": ("AWS_SESSION_TOKEN",),
}


class NoTableError(UsageError):
    """There is no such table."""


def _scan(tables: Sequence[Any], hive: bool, dtypes: object) -> pl.LazyFrame:  # noqa: ARG001
    # A table object is of one snapshot, whatever is written meanwhile.
    return pl.concat([pl.scan_iceberg(table.table) for table in tables])


ICEBERG = FileKind("Iceberg", (), b"", _scan)


def open_iceberg(path: str, shown: str) -> tuple[Table, str]:
    """The table of a folder, a metadata file or `iceberg:CATALOG.NAMESPACE.TABLE`, and what tells its snapshot from all others.

    DataError for one that cannot be read as it is, UsageError for one that is not there.
    """
    try:
        import pyiceberg.table  # noqa: F401
    except ImportError:
        raise UsageError(f"{shown}: Iceberg tables need pyiceberg: pip install 'polars_ec[lake]'") from None
    if find_spec("polars_iceberg") is None:
        os.environ.setdefault("POLARS_ICEBERG_PLANNER", "pyiceberg")  # Polars warns where it must do without that
    try:
        with panics_unseen():
            table = _of_catalog(path, shown) if path.startswith(CATALOG) else _of_metadata(path, shown)
            # Files that nobody can read, such as those of equality deletes, are found when the scan is planned.
            list(table.scan().plan_files())
            pl.scan_iceberg(table).collect_schema()
    except (DataError, UsageError):
        raise
    except Exception as error:
        raise DataError(f"{shown} cannot be read as an Iceberg table: {why(error)}") from error
    snapshot = table.current_snapshot()
    version = "empty" if snapshot is None else snapshot.snapshot_id
    return table, f"{table.metadata.table_uuid}/{version}/{table.metadata.current_schema_id}"


def _of_metadata(path: str, shown: str) -> Table:
    from pyiceberg.table import StaticTable

    file = path if path.endswith(METADATA_SUFFIX) else _newest(path, shown)
    return StaticTable.from_metadata(file, _of_environment() if is_address(file) else {})


def _of_environment() -> dict[str, str]:
    """How pyiceberg gets at objects: as all else here does."""
    stated = {name: next(filter(None, map(os.environ.get, names)), None) for name, names in _S3.items()}
    return {name: value for name, value in stated.items() if value is not None}


def _of_catalog(path: str, shown: str) -> Table:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    catalog_name, _, identifier = path.removeprefix(CATALOG).partition(".")
    if not catalog_name or "." not in identifier:
        raise UsageError(f"{shown}: a table of a catalog is given as iceberg:CATALOG.NAMESPACE.TABLE")
    try:
        catalog = load_catalog(catalog_name)
    except ValueError as error:
        raise UsageError(
            f"{shown}: pyiceberg has no catalog {catalog_name!r}: state it in .pyiceberg.yaml, or by "
            f"PYICEBERG_CATALOG__{catalog_name.upper()}__URI in the environment ({why(error)})"
        ) from None
    for name, value in _of_environment().items():
        catalog.properties.setdefault(name, value)
    try:
        return catalog.load_table(identifier)
    except (NoSuchTableError, NoSuchNamespaceError):
        raise NoTableError(f"{shown}: the catalog {catalog_name!r} has no table {identifier!r}") from None
    finally:
        catalog.close()


def _newest(folder: str, shown: str) -> str:
    """The metadata of the last commit: nothing but the version in its name says which that is."""
    below = f"{folder.rstrip('/')}/{METADATA}"
    both = metadata_names(below, (METADATA_SUFFIX, _OLD_GZIP))
    names, packed = ([name for name in both if name.endswith(suffix)] for suffix in (METADATA_SUFFIX, _OLD_GZIP))
    if packed:
        raise DataError(
            f"{shown}: pyiceberg does not read metadata by the name {packed[-1]}: rename it, ....gz{METADATA_SUFFIX}"
        )
    versions = {name: int(match[1]) for name in names if (match := _VERSION.match(name))}
    hint = _hint(f"{below}/{_HINT}")
    if hint is not None and hint not in {str(version) for version in versions.values()}:
        named = [name for name in names if name in (hint, f"{hint}{METADATA_SUFFIX}")]
        if not named:
            raise DataError(f"{shown}: {_HINT} says {hint!r}, and there is no such metadata in the Iceberg table")
        return f"{below}/{named[0]}"
    if not versions:
        raise DataError(f"{shown}: no name of metadata begins with a version: name one of them, {below}/{names[0]}")
    newest = [name for name in names if versions.get(name) == max(versions.values())]
    if len(newest) > 1:
        raise DataError(
            f"{shown}: two commits claim to be the last of this Iceberg table, {newest[0]} and {newest[1]}: name the one, "
            f"{below}/{newest[0]}, or ask its catalog, iceberg:CATALOG.NAMESPACE.TABLE"
        )
    return f"{below}/{newest[0]}"


def metadata_names(folder: str, suffixes: str | tuple[str, ...] = METADATA_SUFFIX) -> list[str]:
    """The metadata files in a folder `metadata`."""
    try:
        names = names_in(folder) if is_address(folder) else os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return []
    return sorted(name for name in names if name.endswith(suffixes))


def _hint(file: str) -> str | None:
    """What the file says that names the version of the last commit but few, where there is one."""
    try:
        if is_address(file):
            found = head(file)
            return None if found is None else beginning(found, _HINT_BYTES).decode().strip()
        with open(file, encoding="utf-8") as stream:
            return stream.read(_HINT_BYTES).strip()
    except FileNotFoundError:
        return None
