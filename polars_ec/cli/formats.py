"""Kinds of files and tables that a log may be in: how they are called, how they begin, how Polars scans them, and Delta and Iceberg as their logs say."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl

from polars_ec.cli.object_store import DeniedError, beginnings, head, is_above_any, is_address, is_in_store, names_in
from polars_ec.cli.terminal import DataError, UsageError, panics_unseen, why

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from pyiceberg.table import Table

# Types of columns are guessed from this many rows of text, so that integers at the top do not hide floats further down.
_INFERENCE_ROWS = 10_000
# What makes a name a pattern.
PATTERN = "*?[\\"
# Of files that are part of the log's folder of sketches, and no log.
SKETCH_SUFFIX = ".sketch.parquet"


@dataclass(frozen=True)
class FileKind:
    """A file format, or a kind of table: how its files are called, how they begin (None: text) and how they are scanned.

    `scan` gets the files or objects, or the tables, whether their folders are hive partitions, which Polars sees to unless the files are text, and
    dtypes that text is to be read as.
    """

    name: str
    suffixes: tuple[str, ...]
    magic: bytes | None
    scan: Callable[[Sequence[Any], bool, Mapping[str, pl.DataType]], pl.LazyFrame]

    @property
    def is_text(self) -> bool:
        """Whether any bytes may be such a file, and the types of its columns are guessed."""
        return self.magic is None


def path_for_polars(file: object) -> str:
    """A path as Polars takes it for no address, and for no name in a home; an address as it is."""
    return os.path.join(".", file) if isinstance(file, Path) and not file.is_absolute() else str(file)


# Without a credential provider Polars gets at objects by the environment alone, as obstore does, and not by what else it finds.
_AS_NAMED: dict[str, Any] = {"glob": False, "credential_provider": None}


def _typed(scan: Callable[..., pl.LazyFrame]) -> Callable[..., pl.LazyFrame]:
    """Scan files that have the types of their columns."""
    return lambda files, hive, _: scan([*map(path_for_polars, files)], hive_partitioning=hive, **_AS_NAMED)


def _scan_csv(files: Sequence[object], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    paths = [*map(path_for_polars, files)]
    return pl.scan_csv(paths, infer_schema_length=_INFERENCE_ROWS, schema_overrides=dtypes, **_AS_NAMED)


def _scan_ndjson(files: Sequence[object], hive: bool, dtypes: Mapping[str, pl.DataType]) -> pl.LazyFrame:  # noqa: ARG001
    # This reader takes every name for a pattern.
    names = ["".join(f"[{c}]" if c in PATTERN else c for c in path_for_polars(file)) for file in files]
    return pl.scan_ndjson(names, infer_schema_length=_INFERENCE_ROWS, schema_overrides=dtypes, credential_provider=None)


CSV = FileKind("CSV", (".csv", ".csv.gz"), None, _scan_csv)
NDJSON = FileKind("NDJSON", (".ndjson", ".jsonl"), None, _scan_ndjson)
KINDS = (
    FileKind("Parquet", (".parquet", ".pq"), b"PAR1", _typed(pl.scan_parquet)),
    CSV,
    FileKind("Arrow IPC", (".arrow", ".feather", ".ipc"), b"ARROW1", _typed(pl.scan_ipc)),
    NDJSON,
)
SUFFIXES = tuple(suffix for kind in KINDS for suffix in kind.suffixes)

LOG = "_delta_log"
_FILE_PREFIX = "file://"
_PATTERN = "*?["
NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_MISREAD = "Polars does not find the files of a Delta table if its path has blanks, % or other special characters: rename the folder"


# A table object is of one version, or snapshot, whatever is written meanwhile.
DELTA = FileKind("Delta", (), b"", lambda tables, *_: pl.concat([pl.scan_delta(table.table) for table in tables]))
ICEBERG = FileKind("Iceberg", (), b"", lambda tables, *_: pl.concat([pl.scan_iceberg(table.table) for table in tables]))


def open_delta(path: str, shown: str) -> tuple[DeltaTable, str]:
    """The newest version of the table in this folder or below this address, and what tells it from all others.

    DataError for one that Polars cannot read, or would read otherwise than its log says.
    """
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise UsageError(f"{shown}: Delta tables need deltalake: pip install 'polars_ec[lake]'") from None
    if "%" in path or any(c in path for c in _PATTERN):
        raise DataError(f"{shown}: {_MISREAD}")
    try:
        with panics_unseen():
            table = DeltaTable(path)
            _check_paths(table, path, shown)
            files = pl.DataFrame(table.get_add_actions())
            _check_partitions(table, files, path, shown)
            pl.scan_delta(table).collect_schema()
            return table, f"{table.metadata().id}/{table.version()}/{_digest(files)}"
    except (DataError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of deltalake is not an Exception to Python
        raise DataError(f"{shown} cannot be read as a Delta table: {why(error)}") from error


def _digest(files: pl.DataFrame) -> str:
    """What tells a version from another of the same number, as there is where a copy of the table was restored and written to."""
    rows = files.select("path", "size_bytes", "modification_time").rows()
    return hashlib.sha256(repr(sorted(rows)).encode()).hexdigest()[:20]


def _check_paths(table: DeltaTable, path: str, shown: str) -> None:
    """Polars takes the names of the files as deltalake spells them: of some characters, that is not how they are called."""
    files = {file.removeprefix(_FILE_PREFIX) for file in table.file_uris()}
    root = path if is_address(path) else str(Path(os.path.abspath(path)))
    if any(not file.startswith(f"{root}/") or any(c in file for c in _PATTERN) for file in files):
        raise DataError(f"{shown}: {_MISREAD}")
    features = table.protocol().reader_features or []
    if "deletionVectors" in features:
        vectors = pl.DataFrame(table.deletion_vectors())["filepath"].to_list()
        if not {name.removeprefix(_FILE_PREFIX) for name in vectors} <= files:
            raise DataError(f"{shown}: Polars cannot see the deleted rows of this Delta table. Purge them")


def _check_partitions(table: DeltaTable, files: pl.DataFrame, path: str, shown: str) -> None:
    """Polars takes the values of partition columns from the names of all folders, and the log is what has them."""
    columns = table.metadata().partition_columns
    if not columns:
        return
    named = next((name for name in path_names(path) if "=" in name), None)
    if named is not None:
        raise DataError(
            f"{shown}: Polars reads the folder {named} above this Delta table as one of its partitions. Rename it"
        )
    folders = [_in_folders(unquote(file)) for file in files["path"]]
    if any([name for name, _ in named] != columns for named in folders) or any(
        _differ([named[i][1] for named in folders], files["partition"].struct.field(column))
        for i, column in enumerate(columns if folders else [])
    ):
        raise DataError(
            f"{shown}: Polars reads the partition columns ({', '.join(columns)}) from folder names, and here these "
            f"differ from the values in the Delta log. Write the table again, in folders {columns[0]}=..."
        )


def _in_folders(file: str) -> list[tuple[str, str | None]]:
    pairs = [part.split("=") for part in file.split("/")[:-1] if part.count("=") == 1]
    return [(name, None if value == NO_PARTITION else unquote(value)) for name, value in pairs]


def _differ(named: list[str | None], stated: pl.Series) -> bool:
    """Whether names of folders are other values than these, as far as Polars would read them."""
    texts, dtype = pl.Series(named, dtype=pl.String), stated.dtype
    if isinstance(dtype, pl.Datetime):
        read = texts.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit=dtype.time_unit, strict=False)
        stated = stated.dt.replace_time_zone(None)
    elif dtype == pl.Date:
        read = texts.str.to_date("%Y-%m-%d", strict=False)
    elif dtype == pl.Boolean:
        read = texts.replace_strict({"true": True, "false": False}, default=None, return_dtype=pl.Boolean)
    else:
        read = texts.cast(dtype, strict=False)
    return read.ne_missing(stated).any()


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
            table = _table_in_catalog(path, shown) if path.startswith(CATALOG) else _table_of_metadata(path, shown)
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


def _table_of_metadata(path: str, shown: str) -> Table:
    from pyiceberg.table import StaticTable

    file = path if path.endswith(METADATA_SUFFIX) else _newest(path, shown)
    return StaticTable.from_metadata(file, _environment_properties() if is_address(file) else {})


def _environment_properties() -> dict[str, str]:
    """How pyiceberg gets at objects: as all else here does."""
    stated = {name: next(filter(None, map(os.environ.get, names)), None) for name, names in _S3.items()}
    return {name: value for name, value in stated.items() if value is not None}


def _table_in_catalog(path: str, shown: str) -> Table:
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

    catalog_name, _, identifier = path.removeprefix(CATALOG).partition(".")
    if not catalog_name or "." not in identifier:
        raise UsageError(f"{shown}: name a table in a catalog as iceberg:CATALOG.NAMESPACE.TABLE")
    try:
        catalog = load_catalog(catalog_name)
    except ValueError as error:
        raise UsageError(
            f"{shown}: pyiceberg has no catalog {catalog_name!r}. Define it in .pyiceberg.yaml, or in the environment "
            f"variable PYICEBERG_CATALOG__{catalog_name.upper()}__URI ({why(error)})"
        ) from None
    for name, value in _environment_properties().items():
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
    listed = metadata_names(below, (METADATA_SUFFIX, _OLD_GZIP))
    names, packed = ([name for name in listed if name.endswith(suffix)] for suffix in (METADATA_SUFFIX, _OLD_GZIP))
    if packed:
        raise DataError(
            f"{shown}: pyiceberg cannot read metadata named {packed[-1]}. Rename it to ....gz{METADATA_SUFFIX}"
        )
    versions = {name: int(match[1]) for name in names if (match := _VERSION.match(name))}
    hint = _hint(f"{below}/{_HINT}")
    if hint is not None and hint not in {str(version) for version in versions.values()}:
        named = [name for name in names if name in (hint, f"{hint}{METADATA_SUFFIX}")]
        if not named:
            raise DataError(f"{shown}: {_HINT} says {hint!r}, but the Iceberg table has no such metadata")
        return f"{below}/{named[0]}"
    if not versions:
        raise DataError(f"{shown}: no metadata file has a version in its name. Name one, {below}/{names[0]}")
    newest = [name for name in names if versions.get(name) == max(versions.values())]
    if len(newest) > 1:
        raise DataError(
            f"{shown}: two commits claim to be the last one of this Iceberg table, {newest[0]} and {newest[1]}. Name "
            f"the right one, {below}/{newest[0]}, or use its catalog, iceberg:CATALOG.NAMESPACE.TABLE"
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
            start = None if found is None else next(beginnings([found], _HINT_BYTES))
            return None if start is None else start.decode().strip()
        with open(file, encoding="utf-8") as stream:
            return stream.read(_HINT_BYTES).strip()
    except FileNotFoundError:
        return None


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
    def name(self) -> str:
        return self.path.rstrip("/").rsplit("/", 1)[-1]


def opened(path: str, kind: FileKind, shown: str | None = None) -> LakeTable:
    """The table as it is now: what is read of it later is of this version."""
    shown_as = path if shown is None else shown
    table, tag = (open_delta if kind is DELTA else open_iceberg)(path, shown_as)
    return LakeTable(path, shown_as, kind, tag, table)


def is_named_table(path: str) -> bool:
    """Whether it names an Iceberg table by its metadata, or in a catalog."""
    return path.startswith(CATALOG) or path.endswith(METADATA_SUFFIX)


def named_table(path: str) -> LakeTable:
    """The table that is named so; NoTableError if it is not there."""
    is_file = not path.startswith(CATALOG) and not is_in_store(path)
    if head(path) is None if is_in_store(path) else is_file and not os.path.isfile(path):
        raise NoTableError(f"{path}: this Iceberg metadata file does not exist")
    return opened(os.path.realpath(path) if is_file else path, ICEBERG, path)


def kind_of_folder(folder: str | Path) -> FileKind | None:
    """The kind of table that a local folder, or what is below an address, is; None if it is none."""
    root = str(folder).rstrip("/")
    exists = is_above_any if is_in_store(root) else os.path.isdir
    if exists(f"{root}/{LOG}"):
        return DELTA
    return ICEBERG if metadata_names(f"{root}/{METADATA}") else None


def path_names(path: str) -> list[str]:
    """The names in a path of this system, or in an address, whose names a slash divides everywhere."""
    return path.replace(os.sep, "/").split("/")


def table_around(
    folder: str, kind_of: Callable[[str], FileKind | None] = kind_of_folder
) -> tuple[str, FileKind] | None:
    """The table that is in this folder, by its real path or address, or above it, and its kind; None too where one may not look."""
    names = path_names(folder.rstrip(f"{os.sep}/"))
    for length in range(len(names), 2 if is_in_store(folder) else 0, -1):
        root = "/".join(names[:length])
        try:
            kind = kind_of(root)
        except (DeniedError, UsageError):  # who may read an object may not always list what is beside it
            continue
        if kind is not None:
            return root, kind
    return None
