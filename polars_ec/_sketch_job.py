"""The job of `polars-ec sketch`: files of a log in, a folder of sketches out, which can be killed at any moment.

Every input is its own unit of work: it is read, and its sketch appears, with its entry of the manifest, by one rename
(`_sketch_folder` says why there is no central manifest). So what a killed job leaves is a smaller result, never a wrong
one, and the next run does what is missing: inputs without a sketch, and those whose size or modification time is no
longer the one in the entry. One job works on a folder at a time.

An input that cannot be read stops nothing: it is reported after the others are done. Nor does the job ever remove a
sketch on its own: not that of a changed input which cannot be read now, and not that of an input which has vanished.
It cannot know whether such a log was rotated away, and its sketch is the last that is left of it, or renamed, and will
count twice. So it asks, and `vanished` is the answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

import polars as pl
from polars.exceptions import PolarsError

import polars_ec
from polars_ec._arguments import Question, in_terms_of_options
from polars_ec._sketch_folder import Record, SketchFolder, difference, key_types
from polars_ec._sources import DataError, UsageError, check_columns, files_of, first_line, open_log, with_time
from polars_ec.sketch import Sketch


class Vanished(StrEnum):
    """What becomes of the sketch of an input that is no longer there."""

    stop = "stop"
    keep = "keep"
    drop = "drop"


@dataclass(frozen=True)
class SketchOptions:
    """How every input is sketched. `grid` has resolution, thresholds and exact, as `polars_ec.sketch` takes them."""

    question: Question
    grid: Mapping[str, Any] = field(default_factory=dict)

    def recorded(self) -> dict[str, Any]:
        """What sketches must have in common to be added up; ValueError or TypeError for options that make no sense.

        The grid is the one that comes of the options, so that the same thresholds stated in another way are the same.
        """
        question = self.question
        label = pl.String if {"pos_label", "classes"} & set(question.options) else pl.Boolean
        columns: dict[str, Any] = dict.fromkeys(question.by, pl.String)
        columns |= {question.scores[0]: pl.Float64, question.label: label}
        if question.options.get("weight") is not None:
            columns[question.options["weight"]] = pl.Float64
        if question.time is not None:
            columns[question.time] = pl.Datetime
        made = self.sketch(pl.LazyFrame(schema=columns))
        return {
            "--score": question.scores[0],
            "--label": question.label,
            "--by": question.by,
            "--time": question.time,
            "--every": question.every,
            "--weight": question.options.get("weight"),
            "--pos-label": question.options.get("pos_label"),
            "--classes": question.options.get("classes"),
            "--score-type": made.grid.score_type,
            "--resolution": "exact" if made.grid.resolution is None else made.grid.resolution,
            "thresholds (--threshold, --cost-fn, --cost-fp, --prior)": [repr(t) for t in made.grid.thresholds],
        }

    def sketch(self, frame: pl.LazyFrame) -> Sketch:
        """The sketch of a log whose columns have been checked."""
        question = self.question
        schema = frame.collect_schema()
        # One file may have categories where the next has text, or nanoseconds where it has microseconds.
        categories = (pl.Categorical, pl.Enum)
        keys = [pl.col(c).cast(pl.String) if isinstance(schema[c], categories) else pl.col(c) for c in question.by]
        if question.time is not None and question.every is not None:
            period = pl.col(question.time).dt.truncate(question.every)
            keys.append(period.dt.cast_time_unit("us") if isinstance(schema[question.time], pl.Datetime) else period)
        options = question.for_label(schema[question.label])
        return polars_ec.sketch(frame, question.scores[0], question.label, by=keys, **self.grid, **options)


@dataclass(frozen=True)
class Task:
    """An input to read: where it is, and its size and modification time before it is read."""

    file: Path
    source: str
    size: int
    modified_ns: int


@dataclass
class Outcome:
    """What a run did."""

    sketched: int = 0
    unchanged: int = 0
    elsewhere: int = 0
    rows: int = 0
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)


Track = Callable[[Sequence[Task]], AbstractContextManager[Iterable[Task]]]


def run(
    paths: Sequence[str],
    out: Path,
    options: SketchOptions,
    *,
    vanished: Vanished = Vanished.stop,
    track: Track = nullcontext,
) -> Outcome:
    """Bring the folder up to date with the inputs.

    Parameters
    ----------
    paths
        Files, globs and folders; each file is one input.
    out
        The folder; made if it is not there.
    options
        How to sketch; the same at every run on this folder.
    vanished
        What becomes of the sketches of inputs that are no longer there.
    track
        Passes on the inputs while they are read, as a progress bar does.

    Returns
    -------
    What was done. `failures` maps an input to why it is not, or perhaps should not be, in the result.

    Raises
    ------
    UsageError
        Options that make no sense, or are not those that the folder was made with.
    DataError
        Another job is at work in the folder, or it cannot be written.
    """
    try:
        recorded = options.recorded()
    except (ValueError, TypeError, PolarsError) as error:
        raise UsageError(in_terms_of_options(first_line(error))) from None
    if not out.exists():
        for path in paths:
            files_of(path)  # a path that is mistyped should not leave a folder behind
    folder = SketchFolder(out)
    with folder.locked():
        folder.clean()
        records = folder.records()
        _check_same_options(out, records, recorded)
        inputs = _inputs(paths, folder, records)
        outcome = Outcome()
        todo = _changed(inputs, records, outcome)
        _settle_others(folder, inputs, records, vanished, outcome)
        # What this run is not about and an earlier one left, if it is still there; damaged sketches were just looked at.
        known = {*inputs, *(str(out / name) for name in records)}
        earlier = {s: why for s, why in folder.undone().items() if s not in known and os.path.exists(s)}
        waiting = {task.source: "has not been read yet" for task in todo}
        folder.leave_undone({**earlier, **outcome.failures, **waiting})
        replaced = {folder.name_for(task.source) for task in todo}
        common = _common_key_types(r for name, r in records.items() if name not in replaced)
        with track(todo) as tasks:
            for task in tasks:
                try:
                    made = _sketch_file(task, options)
                    record = _record(task, made, recorded)
                    _check_key_types(common, record)
                except (UsageError, DataError) as error:
                    former = records.get(folder.name_for(task.source))
                    outcome.rows += 0 if former is None else former.rows
                    note = "" if former is None else " (the sketch of its former content still counts)"
                    outcome.failures[task.source] = f"{error}{note}"
                    continue
                folder.save(made, record)
                common |= {name: dtype for name, dtype in record.key_types.items() if dtype is not None}
                outcome.sketched += 1
                outcome.rows += record.rows
        folder.leave_undone({**earlier, **outcome.failures})
    return outcome


def _check_same_options(out: Path, records: Mapping[str, Record | None], recorded: dict[str, Any]) -> None:
    for record in records.values():
        different = None if record is None else difference(record.options, recorded)
        if different:
            raise UsageError(
                f"--out {out} was made with other options than these: {different}: use the same, or another folder"
            )


def _inputs(paths: Sequence[str], folder: SketchFolder, records: Mapping[str, Record | None]) -> dict[str, Path]:
    """The files to sketch by their full path, so that no other way to name a file makes it another input."""
    out = folder.path.resolve()
    found: dict[str, Path] = {}
    for path in paths:
        # A file that is named, and gone, is no mistake in the command where it has been sketched before.
        known = folder.name_for(str(Path(path).resolve())) in records
        for file in [] if known and not Path(path).exists() else files_of(path):
            full = file.resolve()
            if out not in full.parents:
                found.setdefault(str(full), file)
    if not found and not records:
        raise UsageError(f"{', '.join(paths)}: no files but those in --out {folder.path}")
    return found


def _changed(inputs: Mapping[str, Path], records: Mapping[str, Record | None], outcome: Outcome) -> list[Task]:
    todo = []
    for source, file in inputs.items():
        try:
            now = os.stat(file)
        except OSError as error:
            outcome.failures[source] = f"{file}: {error.strerror}"
            continue
        record = records.get(SketchFolder.name_for(source))
        if record is not None and (record.size, record.modified_ns) == (now.st_size, now.st_mtime_ns):
            outcome.unchanged += 1
            outcome.rows += record.rows
        else:
            todo.append(Task(file, source, now.st_size, now.st_mtime_ns))
    return todo


def _settle_others(
    folder: SketchFolder,
    inputs: Mapping[str, Path],
    records: dict[str, Record | None],
    vanished: Vanished,
    outcome: Outcome,
) -> None:
    """Decide on the sketches of inputs that this run is not about, and take those that are dropped from `records`."""
    ours = {folder.name_for(source) for source in inputs}
    for name, record in list(records.items()):
        if name in ours:
            continue
        if record is None:
            damaged = str(folder.path / name)
            outcome.failures[damaged] = (
                f"{damaged} is damaged, and of no input of this run: remove it, or name its input"
            )
        elif os.path.lexists(record.input):
            outcome.elsewhere += 1
            outcome.rows += record.rows
        elif vanished is Vanished.drop:
            folder.remove(name)
            del records[name]
            outcome.dropped.append(record.input)
        else:
            outcome.rows += record.rows
            if vanished is Vanished.keep:
                outcome.kept.append(record.input)
            else:
                outcome.failures[record.input] = (
                    f"{record.input} has vanished since it was sketched, and still counts: --vanished keep if it was "
                    "deleted, --vanished drop if it was renamed or must not count"
                )


def _sketch_file(task: Task, options: SketchOptions) -> Sketch:
    question = options.question
    log = open_log([str(task.file)])
    check_columns(question.columns(), log.schema(), log.name)
    try:
        made = options.sketch(log.frame if question.time is None else with_time(log, log.frame, question.time))
    except UsageError as error:
        raise DataError(f"{log.name}: {error}") from None
    except (ValueError, TypeError) as error:
        raise DataError(f"{log.name}: {in_terms_of_options(first_line(error))}") from None
    except (PolarsError, OSError) as error:
        raise log.failure(error) from None
    try:
        now = os.stat(task.file)
    except OSError as error:
        raise DataError(f"{log.name}: {error.strerror}") from None
    if (task.size, task.modified_ns) != (now.st_size, now.st_mtime_ns):
        raise DataError(f"{log.name} changed while it was read: run again when it is whole")
    return made


def _record(task: Task, made: Sketch, recorded: dict[str, Any]) -> Record:
    rows = int(made.frame["n"].sum())
    return Record(task.source, task.size, task.modified_ns, rows, key_types(made), recorded)


def _common_key_types(records: Iterable[Record | None]) -> dict[str, str]:
    known = (item for record in records if record is not None for item in record.key_types.items())
    return {name: dtype for name, dtype in known if dtype is not None}


def _check_key_types(common: Mapping[str, str], record: Record) -> None:
    """Refuse the input that could not be added to the others, before it makes their sum impossible."""
    for name, dtype in record.key_types.items():
        if dtype is not None and common.get(name, dtype) != dtype:
            raise DataError(
                f"{record.input}: the group column {name!r} is {dtype}, and {common[name]} in the other inputs"
            )
