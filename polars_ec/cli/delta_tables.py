"""Delta tables, which Polars reads by their log: a version of one, and whether Polars reads all that it says."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import polars as pl

from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.file_kinds import FileKind
from polars_ec.cli.objects import is_address
from polars_ec.cli.redaction import why
from polars_ec.cli.terminal import panics_unseen

# Functions import it where they need it: it is an extra.
if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
_FILE_PREFIX = "file://"
_PATTERN = "*?["
_NO_PARTITION = "__HIVE_DEFAULT_PARTITION__"


def _scan(tables: Sequence[Any], hive: bool, dtypes: object) -> pl.LazyFrame:  # noqa: ARG001
    # A table object is of one version, whatever is written meanwhile.
    return pl.concat([pl.scan_delta(table.table) for table in tables])


DELTA = FileKind("Delta", (), b"", _scan)


def open_delta(path: str, shown: str) -> tuple[DeltaTable, str]:
    """The newest version of the table in this folder or below this address, and what tells it from all others.

    DataError for one that Polars cannot read, or would read otherwise than its log says.
    """
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise UsageError(f"{shown}: Delta tables need deltalake: pip install 'polars_ec[lake]'") from None
    if "%" in path or any(c in path for c in _PATTERN):
        raise DataError(_misread(shown))
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
        raise DataError(_misread(shown))
    features = table.protocol().reader_features or []
    if "deletionVectors" in features:
        vectors = pl.DataFrame(table.deletion_vectors())["filepath"].to_list()
        if not {name.removeprefix(_FILE_PREFIX) for name in vectors} <= files:
            raise DataError(f"{shown}: Polars would not see which rows of this Delta table are deleted: purge them")


def _check_partitions(table: DeltaTable, files: pl.DataFrame, path: str, shown: str) -> None:
    """Polars takes the values of partition columns from the names of all folders, and the log is what has them."""
    columns = table.metadata().partition_columns
    if not columns:
        return
    named = next((part for part in path.split("/") if "=" in part), None)
    if named is not None:
        raise DataError(
            f"{shown}: Polars takes the folder {named} above this Delta table for one of its partitions: rename it"
        )
    folders = [_in_folders(unquote(file)) for file in files["path"]]
    if any([name for name, _ in named] != columns for named in folders) or any(
        _differ([named[i][1] for named in folders], files["partition"].struct.field(column))
        for i, column in enumerate(columns if folders else [])
    ):
        raise DataError(
            f"{shown}: Polars reads partition columns ({', '.join(columns)}) from the names of folders, and those of this "
            f"Delta table do not have the values that its log has: write the table anew, in folders {columns[0]}=..."
        )


def _in_folders(file: str) -> list[tuple[str, str | None]]:
    """Keys and values, as Polars reads them."""
    pairs = [part.split("=") for part in file.split("/")[:-1] if part.count("=") == 1]
    return [(name, None if value == _NO_PARTITION else unquote(value)) for name, value in pairs]


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


def _misread(shown: str) -> str:
    return (
        f"{shown}: Polars does not find the files of a Delta table where its path has blanks, % or other special "
        "characters: rename the folder"
    )
