"""A log in files: one lazy frame over all of them, with their partitions, their common types, and errors that name the file."""

from __future__ import annotations

import csv
import difflib
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, dropwhile
from operator import not_
from pathlib import Path
from typing import Any, NoReturn, TypeVar
from urllib.parse import unquote

import polars as pl
from polars.exceptions import PanicException, PolarsError

from polars_ec.arguments.inputs import batches
from polars_ec.cli import discovery
from polars_ec.cli.formats import CSV, NO_PARTITION, FileKind, LakeTable, path_for_polars, path_names
from polars_ec.cli.terminal import DataError, UsageError, panics_unseen, why


def partition(file: discovery.Place) -> dict[str, str | None]:
    """The keys and values that the folders above a file name."""
    # The names of a table's folders are no columns.
    folders = [] if isinstance(file, LakeTable) else path_names(str(file))[:-1]
    partitions = dict(part.split("=", 1) for part in folders if "=" in part)
    return {key: None if value == NO_PARTITION else unquote(value) for key, value in partitions.items()}


def is_partitioned(files: Iterable[discovery.Place]) -> bool:
    """Whether the folders of all the files name the same keys."""
    keys = {tuple(partition(file)) for file in files}
    return len(keys) == 1 and keys != {()}


def scan(
    kind: FileKind, files: Sequence[discovery.Place], hive: bool, dtypes: Mapping[str, pl.DataType]
) -> pl.LazyFrame:
    """The files as one lazy frame; `hive`: the keys of their folders are columns. Text is read as `dtypes` say."""
    if not hive or not kind.is_text:
        return kind.scan(files, hive, dtypes)
    # What Polars does for Parquet and IPC.
    partitions: dict[tuple[tuple[str, str | None], ...], list[discovery.Place]] = {}
    for file in files:
        partitions.setdefault(tuple(partition(file).items()), []).append(file)
    values = pl.DataFrame([dict(part) for part in partitions], infer_schema_length=None)
    typed = values.with_columns(pl.col(c).cast(pl.Int64) for c in values.columns if _all_integers(values[c]))
    frames = []
    for part_files, row in zip(partitions.values(), typed.to_dicts(), strict=True):
        frame = kind.scan(part_files, False, dtypes)
        own = frame.collect_schema().names()  # of the same values, as is checked before they are read
        added = {key: pl.lit(value, dtype=typed.schema[key]) for key, value in row.items() if key not in own}
        frames.append(frame.with_columns(**added))
    return pl.concat(frames, how="vertical_relaxed")


def _all_integers(column: pl.Series) -> bool:
    return column.dtype == pl.String and column.cast(pl.Int64, strict=False).null_count() == column.null_count()


def differs_from_folder(key: str, dtype: pl.DataType, value: str | None) -> pl.Expr:
    """Whether a column of the files holds anything but what the name of their folder says."""
    text = pl.lit(value, dtype=pl.String)
    same = text.cast(dtype, strict=False) if dtype.is_numeric() else text
    return (pl.col(key) if dtype.is_numeric() else pl.col(key).cast(pl.String)).ne_missing(same).any()


def common_type(dtypes: Iterable[pl.DataType], *, is_key: bool = True) -> pl.DataType | None:
    """The dtype that values of all these dtypes can be cast to and stay what they are; None if there is none.

    Columns without values have any dtype. Whole numbers and floats are one where they are not keys: among keys, large
    whole numbers would fall together.
    """
    kinds = list(dict.fromkeys(dtype for dtype in dtypes if dtype != pl.Null))
    if len(kinds) < 2:
        return kinds[0] if kinds else pl.Null()
    if all(dtype.is_integer() for dtype in kinds):
        small = all(dtype not in (pl.UInt64, pl.Int128, pl.UInt128) for dtype in kinds)
        return pl.Int64() if small else pl.Int128()
    if all(dtype.is_float() or (dtype.is_integer() and not is_key) for dtype in kinds):
        return pl.Float64()
    if all(isinstance(dtype, pl.String | pl.Categorical | pl.Enum) for dtype in kinds):
        return pl.String()
    if all(isinstance(dtype, pl.Duration) for dtype in kinds):
        return pl.Duration(_finest(kinds))
    if all(isinstance(dtype, pl.Date | pl.Datetime) for dtype in kinds):
        zones = {dtype.time_zone if isinstance(dtype, pl.Datetime) else None for dtype in kinds}
        if len(zones) == 1 or None not in zones:
            return pl.Datetime(_finest(kinds), zones.pop() if len(zones) == 1 else "UTC")
    return None


def _finest(dtypes: Iterable[pl.DataType]) -> Any:
    units = [dtype.time_unit for dtype in dtypes if isinstance(dtype, pl.Datetime | pl.Duration)]
    return max(units, key=["ms", "us", "ns"].index)


_LINE = "line"
_BATCH = 1_000_000


def first_ragged_row(file: str, n_fields: int) -> tuple[int, int] | None:
    """The line on which the first row with another number of fields begins, and this number.

    Counting separators outside quotes takes a fraction of the time of reading the file.
    """
    lines = pl.scan_lines(file, name=_LINE, glob=False, credential_provider=None)
    separators = pl.col(_LINE).str.count_matches(",", literal=True)
    quoted = pl.col(_LINE).str.contains('"', literal=True).any()
    summary = lines.select(ragged=(separators != n_fields - 1).any(), quoted=quoted).collect(engine="streaming")
    is_ragged, is_quoted = summary.row(0)
    if is_quoted:
        is_ragged = not _all_whole_in_their_line(lines, n_fields)
    return _first_by_line(lines, n_fields) if is_ragged else None


def _all_whole_in_their_line(lines: pl.LazyFrame, n_fields: int) -> bool:
    """Whether every line is a row of the right number of fields, as it nearly always is."""
    if n_fields > 100:  # a pattern that counts to more would be a large one
        return False
    field = '[^",]*(?:"[^"]*"[^",]*)*'
    whole = pl.col(_LINE).str.contains(f"^{field}(?:,{field}){{{n_fields - 1}}}$")
    return bool(lines.select(whole.all()).collect(engine="streaming").item())


def _first_by_line(lines: pl.LazyFrame, n_fields: int) -> tuple[int, int] | None:
    """A quoted field may hold separators and ends of lines: a row goes on while a quote is open."""
    is_open, begin, fields = False, 0, 0
    texts = chain.from_iterable(batch[_LINE] for batch in batches(lines, _BATCH, in_order=True))
    for number, text in enumerate(texts, start=1):
        if not is_open:
            begin, fields = number, 1
        between_quotes = text.split('"')
        fields += "".join(between_quotes[is_open::2]).count(",")
        if len(between_quotes) % 2 == 0:
            is_open = not is_open
        if not is_open and fields != n_fields:
            return begin, fields
    # A quote that is never closed: Polars cannot read that either, and says so.
    return None


def _twice_in_header(file: str) -> str | None:
    """The first name that the header of a CSV file has twice: Polars gives the second of the columns another one."""
    lines = pl.scan_lines(file, name=_LINE, n_rows=100, glob=False, credential_provider=None).collect()[_LINE]
    texts = dropwhile(not_, (line.lstrip("\ufeff") for line in lines))
    header = next(csv.reader(f"{text}\n" for text in texts), [])  # a name may have ends of lines in it
    return next((name for name, n in Counter(header).items() if n > 1 and name), None)


def _twice_in_object(file: str, names: Sequence[str]) -> str | None:
    """The first of the names that an object of an NDJSON file has twice, with its line: Polars takes either value.

    Patterns tell which lines may have one, in about the time of reading the file.
    """
    lines = pl.scan_lines(
        file, name=_LINE, row_index_name="number", row_index_offset=1, glob=False, credential_provider=None
    )
    keys = [re.escape(json.dumps(name, ensure_ascii=False)) for name in names]
    is_twice = [pl.col(_LINE).str.count_matches(f"{key}\\s*:") > 1 for key in keys]
    is_escaped = pl.col(_LINE).str.contains(r'\\[^"]*"\s*:')  # as "\u0070" is p
    for batch in batches(lines.filter(pl.any_horizontal(*is_twice, is_escaped)), _BATCH, in_order=True):
        for number, text in batch.select("number", _LINE).iter_rows():
            with suppress(ValueError, RecursionError):  # Polars says what is wrong with it
                there = json.loads(text, object_pairs_hook=lambda pairs: [key for key, _ in pairs])
                twice = next((name for name in names if there.count(name) > 1), None)
                if twice is not None:
                    return f", line {number}: the object has the field {twice!r} twice"
    return None


T = TypeVar("T")
# What reading a damaged file ends in; a panic of Polars is not an Exception to Python.
READ_ERRORS = (PolarsError, OSError, PanicException, csv.Error)
# Options that name group columns, strata within groups, models and items.
_KEYS = ("--by", "--mix", "--model", "--item")


class DifferingFilesError(DataError):
    """Each file can be read, but not all of them as one table."""


@contextmanager
def _reading(file: discovery.Place, kind: FileKind) -> Iterator[None]:
    try:
        with panics_unseen():
            yield
    except READ_ERRORS as error:
        raise DataError(f"{file} cannot be read as {kind.name}: {why(error)}") from error


@dataclass(frozen=True)
class FileLog:
    """Files of one kind, and the lazy frame over all of them; `headers` are CSV files without rows.

    `codes` are columns of CSV that are read as text, as they are written, and `states` what the files were like before any was read.
    """

    files: list[discovery.Place]
    kind: FileKind
    frame: pl.LazyFrame
    headers: list[discovery.Place] = field(default_factory=list)
    is_unified: bool = False
    codes: tuple[str, ...] = ()
    states: Mapping[discovery.Place, discovery.State] = field(default_factory=dict)

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
        return self.read(self.frame.collect_schema)

    @contextmanager
    def unchanged(self) -> Iterator[None]:
        """Around all that is read of the log, in however many passes: DataError if a file was replaced meanwhile, whatever came of it."""
        failure = None
        try:
            yield
        except (UsageError, DataError) as error:
            failure = error
        discovery.check_unchanged(self.states)
        if failure is not None:
            raise failure

    def collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The rows of a frame that was built on this log."""
        return self.read(lambda: frame.collect(engine="streaming"))

    def read(self, action: Callable[[], T]) -> T:
        """What the action returns; DataError, with the name of the file if there is one to blame, if reading fails."""
        try:
            with panics_unseen():
                return action()
        except READ_ERRORS as error:
            self._blame(error)

    def _blame(self, error: BaseException) -> NoReturn:
        """The error as DataError, of the first file that cannot be read by itself, if there is one."""
        # They were in order when they were opened.
        discovery.check_names_and_magic([*self.headers, *self.files], self.kind)
        if len(self.files) > 1 and not self.is_unified and len({*map(tuple, self._schemas.values())}) > 1:
            raise DifferingFilesError(f"{self.name}: {why(error)}") from error
        self.check_rows()
        for file in self.files:
            with _reading(file, self.kind):
                scan(self.kind, [file], False, {}).select(pl.all().null_count()).collect(engine="streaming")
        raise DataError(f"{self.name}: {why(error)}") from error

    @cached_property
    def _schemas(self) -> dict[discovery.Place, list[tuple[str, pl.DataType]]]:
        schemas, hive = {}, is_partitioned(self.files)
        for file in self.files:
            with _reading(file, self.kind):
                schemas[file] = list(scan(self.kind, [file], hive, {}).collect_schema().items())
        return schemas

    def with_codes(self, columns_by_option: Mapping[str, Sequence[str]]) -> FileLog:
        """The log with the group columns of CSV as they are written, unless they are asked for as something else too."""
        if self.kind is not CSV or self.is_empty:
            return self
        others = {name for file in self.files for name in partition(file)}
        for option in columns_by_option.keys() - {*_KEYS, "--cluster"}:
            others.update(columns_by_option[option])
        keys = [name for option in _KEYS for name in columns_by_option.get(option, ())]
        codes = tuple(name for name in keys if name not in others)
        hive = is_partitioned(self.files)
        frame = self.read(lambda: scan(self.kind, self.files, hive, dict.fromkeys(codes, pl.String())))
        return replace(self, frame=frame, codes=codes)

    def unified(self, columns_by_option: Mapping[str, Sequence[str]], keys: Collection[str]) -> FileLog:
        """The log of the columns asked for alone, each of one dtype in all files; DataError if its dtypes do not go together.

        `columns_by_option` are the columns by the option that names them, and `keys` those of them that are group columns.
        """
        hive = is_partitioned(self.files)
        names = list(dict.fromkeys(name for columns in columns_by_option.values() for name in columns))
        for file, schema in self._schemas.items():
            check_columns(columns_by_option, pl.Schema(schema), str(file))
        dtypes = {name: {file: dict(schema)[name] for file, schema in self._schemas.items()} for name in names}
        common = {
            name: pl.String() if name in self.codes else self._common(name, dtypes[name], name in keys)
            for name in names
        }
        alike: dict[tuple[tuple[str, pl.DataType], ...], list[discovery.Place]] = {}
        for file, columns in self._schemas.items():
            alike.setdefault(tuple(columns), []).append(file)
        frames = []
        for same, files in alike.items():
            # Text that passes for numbers in one file and not in another is text.
            texts = {name: pl.String() for name, dtype in same if common.get(name) == pl.String and dtype != pl.String}
            casts = [pl.col(name).cast(dtype) for name, dtype in common.items()]
            frames.append(scan(self.kind, files, hive, texts if self.kind.is_text else {}).select(casts))
        return replace(self, frame=pl.concat(frames), is_unified=True)

    def _common(self, name: str, dtypes: Mapping[discovery.Place, pl.DataType], is_key: bool) -> pl.DataType:
        dtype = common_type(dtypes.values(), is_key=is_key)
        if dtype is None and self.kind.is_text and any(dtype == pl.String for dtype in dtypes.values()):
            dtype = pl.String()
        if dtype is None:
            (first, one), (second, other) = list({dtype: (file, dtype) for file, dtype in dtypes.items()}.values())[:2]
            raise DataError(f"the column {name!r} is {other} in {second}, but {one} in {first}")
        return dtype

    def check_rows(self, columns_by_option: Mapping[str, Sequence[str]] | None = None) -> None:
        """Refuse text that Polars would read without a word otherwise than it is written.

        It fills up CSV rows with fewer fields than the header with nulls, renames the second of two columns of one name, and takes
        one of two values that an NDJSON object has for a name, which matters for the columns that are asked for.
        """
        asked_for = [name for names in (columns_by_option or {}).values() for name in names]
        for file in [*self.headers, *self.files] if self.kind.is_text else []:
            path, wrong = path_for_polars(file), None
            with _reading(file, self.kind):
                if self.kind is not CSV:
                    wrong = _twice_in_object(path, asked_for) if asked_for else None
                elif twice := _twice_in_header(path):
                    wrong = f": the header has the column {twice!r} twice"
                else:
                    texts = pl.scan_csv(path, infer_schema=False, glob=False, credential_provider=None)
                    n_fields = len(texts.collect_schema())
                    if (ragged := first_ragged_row(path, n_fields)) is not None:
                        counted = f"{ragged[1]} field{'s' if ragged[1] > 1 else ''}"
                        wrong = f", line {ragged[0]}: {counted}, but the header has {n_fields}"
            if wrong is not None:
                raise DataError(f"{file}{wrong}")

    def check_zones(self, columns_by_option: Mapping[str, Sequence[str]]) -> None:
        """DifferingFilesError where timestamps have a time zone in one file and not in another: Polars takes them as one."""
        schema = self.schema()
        times = [n for names in columns_by_option.values() for n in names if isinstance(schema[n], pl.Datetime)]
        if not times or len(self.files) == 1 or self.kind.is_text or self.is_unified:
            return
        if any(dict(columns).get(name) != schema[name] for columns in self._schemas.values() for name in times):
            raise DifferingFilesError(f"{self.name}: timestamps of different types")

    def check_partitions(self) -> None:
        """Refuse folders such as `p=0.5` whose files have a column p of other values: it would be replaced."""
        if not is_partitioned(self.files):
            return
        for file in self.files:
            frame = scan(self.kind, [file], False, {})
            names = self.read(frame.collect_schema)
            stated = {key: value for key, value in partition(file).items() if key in names}
            if not stated:
                continue
            differs = [differs_from_folder(key, names[key], value) for key, value in stated.items()]
            for key, is_other in self.collect(frame.select(differs)).row(0, named=True).items():
                if is_other:
                    raise DataError(
                        f"{file} has a column {key!r} whose values differ from its folder {key}={stated[key]}: rename "
                        "the folder"
                    )


def open_log(paths: Sequence[str | discovery.Place]) -> FileLog:
    """The log in files, objects and tables, all of one kind; the first thing that should be one and is not is an error.

    A file is looked for anew. Objects and tables may also be passed as they were found, a table in the version that it had.
    """
    inputs = discovery.Inputs()
    for path in paths:
        inputs.add(discovery.find(str(path)) if isinstance(path, str | Path) else discovery.Inputs([path]))
    for problem in inputs.problems.values():
        raise DataError(problem)
    files = discovery.distinct(inputs.files)
    kinds = {kind.name: kind for kind in map(discovery.kind_of, files)}
    if len(kinds) > 1:
        raise UsageError(
            f"{', '.join(map(str, paths))}: these files are of different kinds ({', '.join(kinds)}). Report on one kind at a time"
        )
    (kind,) = kinds.values()
    states = {file: discovery.as_found(file) for file in files}
    discovery.check_names_and_magic(files, kind)
    headers = [file for file in files if kind is CSV and _is_header_alone(file)]
    rows = [file for file in files if file not in set(headers)]
    read = rows or headers
    try:
        with panics_unseen():
            return FileLog(rows, kind, scan(kind, read, is_partitioned(read), {}), headers, states=states)
    except READ_ERRORS as error:
        raise DataError(f"{files[0]}: {why(error)}") from error


def _is_header_alone(file: discovery.Place) -> bool:
    """Whether a CSV file names its columns and has no row, so that nothing says what they are."""
    with suppress(DataError), _reading(file, CSV):  # who reads it will say why
        path = path_for_polars(file)
        first = pl.scan_csv(path, infer_schema=False, n_rows=1, glob=False, credential_provider=None)
        return first.collect().height == 0
    return False


def check_columns(columns_by_option: Mapping[str, Sequence[str]], schema: pl.Schema, log: str) -> None:
    """Refuse the first column that the log does not have; `columns_by_option` maps an option to the columns it names."""
    names = schema.names()
    for option, columns in columns_by_option.items():
        for column in columns:
            if column in names:
                continue
            by_lower = {name.lower(): name for name in names}
            near = [by_lower[match] for match in difflib.get_close_matches(column.lower(), by_lower, cutoff=0.5)]
            hint = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
            if set(column.split(",")) <= set(names):
                hint = f"name one at a time, {' '.join(f'{option} {name}' for name in column.split(','))}"
                hint += f", or for K-class scores {option} [{column}]. " if option == "--score" else ". "
            if len(names) == 1 and (mark := next((mark for mark in ";\t|" if mark in names[0]), None)):
                raise UsageError(f"{log} has one column, {names[0]!r}: separate its fields by commas, not by {mark!r}")
            raise UsageError(f"{log} has no column {column!r} ({option}): {hint}The columns are {', '.join(names)}")


# Group columns of CSV, which has no types: text as it is written, and whole numbers only where no other text says the same.

_WHOLE_NUMBER = r"^(?:0|-?[1-9][0-9]*)$"


def typing(table: pl.DataFrame, codes: Collection[str]) -> list[pl.Expr]:
    """What makes those of the columns that hold nothing but whole numbers, or true and false, such."""
    return [_typed(table[name]) for name in codes]


def _typed(column: pl.Series) -> pl.Expr:
    values, as_written = column.drop_nulls().unique(), pl.col(column.name)
    if not values.len():
        return as_written
    if values.is_in(["true", "false"]).all():
        return as_written == "true"
    if values.str.contains(_WHOLE_NUMBER).all() and values.cast(pl.Int64, strict=False).null_count() == 0:
        return as_written.cast(pl.Int64)
    return as_written
