"""A log in files: one lazy frame over all of them, with errors that name the file."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import polars as pl
from polars.exceptions import PanicException, PolarsError

from polars_ec.cli.column_types import common_type
from polars_ec.cli.csv_fields import first_ragged_row
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.file_kinds import CSV, FileKind, path_for_polars
from polars_ec.cli.files import check_names_and_magic, distinct, find, kind_of, no_longer
from polars_ec.cli.found import Found
from polars_ec.cli.hive_partitions import differs_from_folder, is_partitioned, partition, scan
from polars_ec.cli.places import Place
from polars_ec.cli.redaction import why
from polars_ec.cli.terminal import panics_unseen

T = TypeVar("T")
# What reading a damaged file ends in; a panic of Polars is not an Exception to Python.
READ_ERRORS = (PolarsError, OSError, PanicException)
# Options that name group columns, and strata within groups.
_KEYS = ("--by", "--mix")


class DifferingFilesError(DataError):
    """Each file can be read, but not all of them as one table."""


@dataclass(frozen=True)
class Log:
    """Files of one kind, and the lazy frame over all of them; `headers` are CSV files without rows.

    `codes` are columns of CSV that are read as text, as they are written.
    """

    files: list[Place]
    kind: FileKind
    frame: pl.LazyFrame
    headers: list[Place] = field(default_factory=list)
    is_unified: bool = False
    codes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What messages call the log."""
        files = self.files or self.headers
        return str(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")

    @property
    def is_empty(self) -> bool:
        """Whether there are headers and nothing else, so that all columns pass for text."""
        return not self.files

    def schema(self) -> pl.Schema:
        """Names and dtypes of the columns."""
        return self.read(self.frame.collect_schema)

    def collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The rows of a frame that was built on this log."""
        return self.read(lambda: frame.collect(engine="streaming"))

    def read(self, action: Callable[[], T]) -> T:
        """What the action returns; DataError, with the name of the file if there is one to blame, if reading fails."""
        try:
            with panics_unseen():
                return action()
        except READ_ERRORS as error:
            raise self.failure(error) from error

    def failure(self, error: BaseException) -> DataError:
        """The error, with the name of the first file that cannot be read by itself, if there is one."""
        changed = next(filter(None, (no_longer(file, self.kind) for file in [*self.headers, *self.files])), None)
        if changed is not None:
            return changed
        if len(self.files) > 1 and not self.is_unified and len({*map(tuple, self._schemas.values())}) > 1:
            return DifferingFilesError(f"{self.name}: {why(error)}")
        ragged = self._ragged()
        if ragged is not None:
            return ragged
        for file in self.files:
            unreadable = self._unreadable(file)
            if unreadable is not None:
                return DataError(f"{file} cannot be read as {self.kind.name}: {unreadable}")
        return DataError(f"{self.name}: {why(error)}")

    def _unreadable(self, file: Place) -> str | None:
        try:
            with panics_unseen():
                scan(self.kind, [file], False, {}).select(pl.all().null_count()).collect(engine="streaming")
        except READ_ERRORS as error:
            return why(error)
        return None

    @cached_property
    def _schemas(self) -> dict[Place, list[tuple[str, pl.DataType]]]:
        """Of each file; DataError for the first that has none."""
        hive = is_partitioned(self.files)
        return {file: self._own_schema(file, hive) for file in self.files}

    def _own_schema(self, file: Place, hive: bool) -> list[tuple[str, pl.DataType]]:
        try:
            with panics_unseen():
                return list(scan(self.kind, [file], hive, {}).collect_schema().items())
        except READ_ERRORS as error:
            raise DataError(f"{file} cannot be read as {self.kind.name}: {why(error)}") from error

    def with_codes(self, asked: Mapping[str, Sequence[str]]) -> Log:
        """The same files, the group columns of CSV as they are written, unless they are asked for as something else too."""
        if self.kind is not CSV or self.is_empty:
            return self
        others = {name for option, names in asked.items() if option not in (*_KEYS, "--cluster") for name in names}
        in_folders = {name for file in self.files for name in partition(file)}
        codes = tuple(name for option in _KEYS for name in asked[option] if name not in others | in_folders)
        hive = is_partitioned(self.files)
        frame = self.read(lambda: scan(self.kind, self.files, hive, dict.fromkeys(codes, pl.String())))
        return replace(self, frame=frame, codes=codes)

    def unified(self, asked: Mapping[str, Sequence[str]], keys: Collection[str]) -> Log:
        """The same files with the columns asked for alone, each of one dtype in all of them.

        Parameters
        ----------
        asked
            The columns by the option that names them; UsageError names the file that lacks one.
        keys
            Those of them that are group columns.

        Returns
        -------
        A Log; DataError if the dtypes of a column do not go together.
        """
        hive = is_partitioned(self.files)
        names = list(dict.fromkeys(name for columns in asked.values() for name in columns))
        for file, schema in self._schemas.items():
            check_columns(asked, pl.Schema(schema), str(file))
        dtypes = {name: {file: dict(schema)[name] for file, schema in self._schemas.items()} for name in names}
        common = {
            name: pl.String() if name in self.codes else self._common(name, dtypes[name], name in keys)
            for name in names
        }
        alike: dict[tuple[tuple[str, pl.DataType], ...], list[Place]] = {}
        for file, columns in self._schemas.items():
            alike.setdefault(tuple(columns), []).append(file)
        frames = []
        for same, files in alike.items():
            # Text that passes for numbers in one file and not in another is text.
            texts = {name: pl.String() for name, dtype in same if common.get(name) == pl.String and dtype != pl.String}
            casts = [pl.col(name).cast(dtype) for name, dtype in common.items()]
            frames.append(scan(self.kind, files, hive, texts if self.kind.is_text else {}).select(casts))
        return Log(self.files, self.kind, pl.concat(frames), self.headers, is_unified=True, codes=self.codes)

    def _common(self, name: str, dtypes: Mapping[Place, pl.DataType], is_key: bool) -> pl.DataType:
        found = common_type(dtypes.values(), of_keys=is_key)
        if found is None and self.kind.is_text and any(dtype == pl.String for dtype in dtypes.values()):
            found = pl.String()
        if found is None:
            (first, one), (second, other) = list({dtype: (file, dtype) for file, dtype in dtypes.items()}.values())[:2]
            raise DataError(f"{second}: the column {name!r} is {other}, and {one} in {first}")
        return found

    def check_rows(self) -> None:
        """Refuse CSV rows with more or fewer fields than the header: Polars would fill them up with nulls."""
        ragged = self._ragged()
        if ragged is not None:
            raise ragged

    def _ragged(self) -> DataError | None:
        for file in self.files if self.kind is CSV else []:
            path = path_for_polars(file)
            try:
                with panics_unseen():
                    texts = pl.scan_csv(path, infer_schema=False, glob=False, credential_provider=None)
                    n_fields = len(texts.collect_schema())
                    ragged = first_ragged_row(path, n_fields)
            except READ_ERRORS as error:
                return DataError(f"{file} cannot be read as CSV: {why(error)}")
            if ragged is not None:
                fields = f"{ragged.fields} field{'s' if ragged.fields > 1 else ''}"
                return DataError(f"{file}, line {ragged.line}: {fields}, and the header names {n_fields}")
        return None

    def check_zones(self, asked: Mapping[str, Sequence[str]]) -> None:
        """DifferingFilesError where timestamps have a time zone in one file and not in another: Polars takes them as one."""
        schema = self.schema()
        times = [n for names in asked.values() for n in names if isinstance(schema[n], pl.Datetime)]
        if not times or len(self.files) == 1 or self.kind.is_text or self.is_unified:
            return
        for own in map(dict, self._schemas.values()):
            if any(own.get(name) != schema[name] for name in times):
                raise DifferingFilesError(f"{self.name}: timestamps of several types")

    def check_partitions(self) -> None:
        """Refuse folders such as `p=0.5` whose files have a column p of other values: it would be replaced."""
        if not is_partitioned(self.files):
            return
        for file in self.files:
            own = scan(self.kind, [file], False, {})
            names = self.read(own.collect_schema)
            stated = {key: value for key, value in partition(file).items() if key in names}
            if not stated:
                continue
            differs = [differs_from_folder(key, names[key], value) for key, value in stated.items()]
            for key, is_other in self.collect(own.select(differs)).row(0, named=True).items():
                if is_other:
                    raise DataError(
                        f"{file} has a column {key!r} of other values than its folder {key}={stated[key]} says: rename "
                        "the folder"
                    )


def open_log(paths: Sequence[str | Place]) -> Log:
    """The log in files, objects and tables, all of one kind, by their names or as they were found before.

    The first thing that should be one and is not is an error.
    """
    found = Found()
    for path in paths:
        found.add(find(path) if isinstance(path, str) else Found([path]))
    for problem in found.problems.values():
        raise DataError(problem)
    files = distinct(found.files)
    kinds = {kind.name: kind for kind in map(kind_of, files)}
    if len(kinds) > 1:
        raise UsageError(
            f"{', '.join(map(str, paths))}: files of several kinds ({', '.join(kinds)}): report on one kind at a time"
        )
    (kind,) = kinds.values()
    check_names_and_magic(files, kind)
    headers = [file for file in files if kind is CSV and _is_header_alone(file)]
    rows = [file for file in files if file not in set(headers)]
    read = rows or headers
    try:
        with panics_unseen():
            return Log(rows, kind, scan(kind, read, is_partitioned(read), {}), headers)
    except READ_ERRORS as error:
        raise DataError(f"{files[0]}: {why(error)}") from error


def _is_header_alone(file: Place) -> bool:
    """Whether a CSV file names its columns and has no row, so that nothing says what they are."""
    try:
        with panics_unseen():
            path = path_for_polars(file)
            first = pl.scan_csv(path, infer_schema=False, n_rows=1, glob=False, credential_provider=None)
            return first.collect().height == 0
    except READ_ERRORS:
        return False  # whoever reads it will say why


def check_columns(asked: Mapping[str, Sequence[str]], schema: pl.Schema, log: str) -> None:
    """Refuse the first column that the log does not have; `asked` maps an option to the columns it names."""
    names = schema.names()
    for option, columns in asked.items():
        for column in columns:
            if column in names:
                continue
            by_lower = {name.lower(): name for name in names}
            near = [by_lower[match] for match in difflib.get_close_matches(column.lower(), by_lower, cutoff=0.5)]
            hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            if set(column.split(",")) <= set(names):
                hint = f"name one at a time, {' '.join(f'{option} {name}' for name in column.split(','))}. "
            if len(names) == 1 and (mark := next((mark for mark in ";\t|" if mark in names[0]), None)):
                raise UsageError(
                    f"{log} has one column, {names[0]!r}: have its fields separated by commas, and not by {mark!r}"
                )
            raise UsageError(f"{log} has no column {column!r} ({option}): {hint}The columns are {', '.join(names)}")
