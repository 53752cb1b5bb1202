"""Where the command line finds a log: files, globs and folders as one lazy frame, with errors that name the file."""

from __future__ import annotations

import difflib
import glob
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
from polars.exceptions import PolarsError

# Types of columns are guessed from this many rows of text, so that integers at the top do not hide floats further down.
_INFERENCE_ROWS = 10_000


class UsageError(Exception):
    """The command asks for what is not there: exit code 2."""


class DataError(Exception):
    """The data are not what they say they are: exit code 1."""


@dataclass(frozen=True)
class _Kind:
    """A file format: how its files are called, how they begin (None: text) and how they are scanned."""

    name: str
    suffixes: tuple[str, ...]
    magic: bytes | None
    scan: Callable[[list[Path], bool], pl.LazyFrame]


def _scan_parquet(files: list[Path], hive: bool) -> pl.LazyFrame:
    return pl.scan_parquet(files, hive_partitioning=hive, glob=False)


def _scan_ipc(files: list[Path], hive: bool) -> pl.LazyFrame:
    return pl.scan_ipc(files, hive_partitioning=hive, glob=False)


def _scan_csv(files: list[Path], hive: bool) -> pl.LazyFrame:
    def scan(part: list[Path]) -> pl.LazyFrame:
        return pl.scan_csv(part, try_parse_dates=True, infer_schema_length=_INFERENCE_ROWS, glob=False)

    return _with_partitions(files, scan) if hive else scan(files)


def _scan_ndjson(files: list[Path], hive: bool) -> pl.LazyFrame:
    def scan(part: list[Path]) -> pl.LazyFrame:
        return pl.scan_ndjson(part, infer_schema_length=_INFERENCE_ROWS)

    return _with_partitions(files, scan) if hive else scan(files)


_KINDS = (
    _Kind("Parquet", (".parquet", ".pq"), b"PAR1", _scan_parquet),
    _Kind("CSV", (".csv", ".csv.gz"), None, _scan_csv),
    _Kind("Arrow IPC", (".arrow", ".feather", ".ipc"), b"ARROW1", _scan_ipc),
    _Kind("NDJSON", (".ndjson", ".jsonl"), None, _scan_ndjson),
)
_ALL_SUFFIXES = tuple(suffix for kind in _KINDS for suffix in kind.suffixes)


@dataclass(frozen=True)
class Log:
    """Files of one kind, and the lazy frame over all of them."""

    files: list[Path]
    kind: _Kind
    frame: pl.LazyFrame

    @property
    def name(self) -> str:
        """What messages call the log."""
        return str(self.files[0]) + (f" and {len(self.files) - 1} more" if len(self.files) > 1 else "")

    def schema(self) -> pl.Schema:
        """Names and dtypes of the columns."""
        try:
            return self.frame.collect_schema()
        except (PolarsError, OSError) as error:
            raise self.failure(error) from None

    def collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        """The rows of a frame that was built on this log."""
        try:
            return frame.collect(engine="streaming")
        except (PolarsError, OSError) as error:
            raise self.failure(error) from None

    def failure(self, error: Exception) -> DataError:
        """The error, with the name of the first file that cannot be read by itself, if there is one."""
        alone = ((file, self._unreadable(file)) for file in self.files)
        file, why = next(((file, why) for file, why in alone if why is not None), (None, None))
        if file is None or why is None:
            return DataError(f"{self.name}: {first_line(error)}")
        return DataError(f"{file} cannot be read as {self.kind.name}: {why}")

    def _unreadable(self, file: Path) -> str | None:
        try:
            self.kind.scan([file], False).select(pl.all().null_count()).collect(engine="streaming")
        except (PolarsError, OSError) as error:
            return first_line(error)
        return None


def open_log(paths: Sequence[str]) -> Log:
    """The log in files, globs and folders, all of one kind."""
    files = list(dict.fromkeys(file for path in paths for file in files_of(path)))
    kinds = {kind.name: kind for kind in map(_kind_of, files)}
    if len(kinds) > 1:
        raise UsageError(
            f"{', '.join(paths)}: files of several kinds ({', '.join(kinds)}): report on one kind at a time"
        )
    (kind,) = kinds.values()
    for file in files:
        _check_magic(file, kind)
    try:
        return Log(files, kind, kind.scan(files, _is_partitioned(files)))
    except (PolarsError, OSError) as error:
        raise DataError(f"{files[0]}: {first_line(error)}") from None


def files_of(path: str) -> list[Path]:
    """The files that a path, a glob or a folder means; at least one."""
    if Path(path).exists():
        found = [Path(path)]
    else:
        found = [Path(match) for match in sorted(glob.glob(path, recursive=True))]
        if not found:
            what = "no file matches this pattern" if glob.has_magic(path) else "no such file or folder"
            raise UsageError(f"{path}: {what}")
    return [file for match in found for file in ([match] if not match.is_dir() else _files_in(match))]


def _files_in(folder: Path) -> list[Path]:
    def shown(file: Path) -> bool:
        return not any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)

    files = sorted(f for f in folder.rglob("*") if f.name.endswith(_ALL_SUFFIXES) and f.is_file() and shown(f))
    if not files:
        raise DataError(f"{folder}: the folder holds no data files ({', '.join(_ALL_SUFFIXES)})")
    return files


def _kind_of(file: Path) -> _Kind:
    for kind in _KINDS:
        if file.name.endswith(kind.suffixes):
            return kind
    raise UsageError(f"{file}: not a kind of file this reads: {', '.join(_ALL_SUFFIXES)}, or duckdb:FILE.duckdb::TABLE")


def _check_magic(file: Path, kind: _Kind) -> None:
    # Polars reads any bytes as CSV, so a Parquet file with the wrong name would become a table of rubbish.
    try:
        with file.open("rb") as stream:
            head = stream.read(1024)
    except OSError as error:
        raise DataError(f"{file}: {error.strerror}") from None
    if not head:
        raise DataError(f"{file}: the file is empty")
    binary = b"\0" in head and not head.startswith(b"\x1f\x8b")
    if binary if kind.magic is None else not head.startswith(kind.magic):
        looks = next((k.name for k in _KINDS if k.magic is not None and head.startswith(k.magic)), None)
        hint = f"it begins like {looks}" if looks else f"it does not begin like {kind.name}"
        raise DataError(f"{file}: not a {kind.name} file, whatever its name says: {hint}")


def _partition(file: Path) -> dict[str, str]:
    return dict(part.split("=", 1) for part in file.parts[:-1] if "=" in part)


def _is_partitioned(files: Iterable[Path]) -> bool:
    keys = {tuple(_partition(file)) for file in files}
    return len(keys) == 1 and keys != {()}


def _with_partitions(files: list[Path], scan: Callable[[list[Path]], pl.LazyFrame]) -> pl.LazyFrame:
    """What Polars does for Parquet and IPC: the keys in the names of hive folders become columns."""
    parts: dict[tuple[tuple[str, str | None], ...], list[Path]] = {}
    for file in files:
        shown = {k: None if v == "__HIVE_DEFAULT_PARTITION__" else unquote(v) for k, v in _partition(file).items()}
        parts.setdefault(tuple(shown.items()), []).append(file)
    values = pl.DataFrame([dict(part) for part in parts], infer_schema_length=None)
    typed = values.with_columns(pl.col(c).cast(pl.Int64) for c in values.columns if _all_integers(values[c]))
    frames = [
        scan(part_files).with_columns(pl.lit(value, dtype=typed.schema[key]).alias(key) for key, value in row.items())
        for part_files, row in zip(parts.values(), typed.to_dicts(), strict=True)
    ]
    return pl.concat(frames, how="vertical_relaxed")


def _all_integers(column: pl.Series) -> bool:
    return column.dtype == pl.String and column.cast(pl.Int64, strict=False).null_count() == column.null_count()


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
            raise UsageError(f"{log} has no column {column!r} ({option}): {hint}The columns are {', '.join(names)}")


# With a time zone or without, with seconds or without: ISO 8601 as logs hold it.
_TIME_FORMATS = ("%Y-%m-%dT%H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y-%m-%d")


def with_time(log: Log, frame: pl.LazyFrame, time: str) -> pl.LazyFrame:
    """The frame with `time` as dates or timestamps: NDJSON has no type for them, and CSV falls back to text."""
    dtype = frame.collect_schema()[time]
    if dtype != pl.String:
        check_time(time, dtype)
        return frame
    text = pl.col(time).str.replace(" ", "T", literal=True)
    sample = log.collect(frame.select(pl.col(time).drop_nulls().first())).item()
    if sample is None:
        return frame.with_columns(pl.col(time).cast(pl.Datetime))
    for form in _TIME_FORMATS:
        if pl.Series([sample.replace(" ", "T", 1)]).str.to_datetime(form, strict=False).null_count() == 0:
            return frame.with_columns(text.str.to_datetime(form, time_unit="us"))
    raise UsageError(
        f"--time {time} holds text such as {sample!r}, which is no ISO date or timestamp: convert it first"
    )


def check_time(time: str, dtype: pl.DataType) -> None:
    """Refuse a column that holds neither dates nor timestamps."""
    if dtype != pl.Date and not isinstance(dtype, pl.Datetime):
        raise UsageError(f"--time {time} is {dtype}, neither dates nor timestamps: convert it first")


def label_value(text: str, dtype: pl.DataType) -> Any:
    """A label's value from the command line, as the label's column holds it."""
    if dtype == pl.Boolean and text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text) if dtype.is_integer() else float(text) if dtype.is_numeric() else text
    except ValueError:
        raise UsageError(f"{text!r} is no value of the label, which is {dtype}") from None


def first_line(error: Exception) -> str:
    """The message without the plan or the query that follows it."""
    return str(error).strip().split("\n", 1)[0]
