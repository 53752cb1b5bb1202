"""Delta tables, which Polars reads by their log: a version of one, and whether Polars reads all that it says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.file_kinds import FileKind
from polars_ec.cli.objects import is_address, why
from polars_ec.cli.terminal import panics_unseen

# Functions import it where they need it: it is an extra.
if TYPE_CHECKING:
    from deltalake import DeltaTable

LOG = "_delta_log"
_FILE_PREFIX = "file://"
_PATTERN = "*?["


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
            pl.scan_delta(table).collect_schema()
            return table, f"{table.metadata().id}/{table.version()}"
    except (DataError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a panic of deltalake is not an Exception to Python
        raise DataError(f"{shown} cannot be read as a Delta table: {why(error)}") from error


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


def _misread(shown: str) -> str:
    return (
        f"{shown}: Polars does not find the files of a Delta table where its path has blanks, % or other special "
        "characters: rename the folder, or name a link to it"
    )
