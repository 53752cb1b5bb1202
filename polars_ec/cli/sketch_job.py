"""The job of `polars-ec sketch`: files of a log in, a folder of sketches out, which can be killed at any moment."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import polars as pl

from polars_ec.api.sketches import Sketch, sketch
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.scales import scale_of
from polars_ec.cli import discovery, sketch_folder
from polars_ec.cli.formats import LakeTable
from polars_ec.cli.logs import check_columns, open_log, typing
from polars_ec.cli.options import in_terms_of_options, refusals_as_usage_errors, with_time
from polars_ec.cli.request import RowRequest, label_value, values_and_presence, without_positives
from polars_ec.cli.terminal import DataError, UsageError
from polars_ec.output.words import first_line
from polars_ec.scores.folds import kind_of_key
from polars_ec.sketches.grid import DecisionGrid


@dataclass(frozen=True)
class SketchRequest:
    """How every input is sketched. `grid` has resolution, thresholds, exact, buckets, reduction and unlabelled, as `polars_ec.sketch` takes them."""

    request: RowRequest
    grid: Mapping[str, Any] = field(default_factory=dict)

    def recorded(self) -> dict[str, Any]:
        """What sketches must have in common to be added up; ValueError or TypeError for options that make no sense.

        The grid is the one that comes of the options, so that the same thresholds stated in another way are the same.
        """
        request = self.request
        columns = dict.fromkeys(name for names in request.columns().values() for name in names)
        sketched = self.sketch(request.no_rows([*columns]))
        scale, grid = scale_of(request.options), sketched.grid
        decides = isinstance(grid, DecisionGrid)
        vector_type = scale.name if scale is not None and scale.is_vector else None
        costs: Any = None if sketched.costs == CostMatrix.binary() else [*map(list, sketched.costs.values)]
        decided_at = [] if sketched.threshold is None else [sketched.threshold]
        thresholds = [*map(repr, decided_at if decides else grid.thresholds)]
        return {
            "--score": request.scores[0] if len(request.scores) == 1 else request.scores,
            "--label": request.label,
            "--by": request.by,
            "--time": request.time,
            "--every": request.every,
            "--time-zone": request.time_zone,
            "--weight": request.options.get("weight"),
            "--pos-label": request.options.get("pos_label"),
            "--classes": request.options.get("classes"),
            "--score-type": vector_type or sketched.grid.score_type,
            # Of log-likelihoods it makes the scores; elsewhere it sets a threshold.
            "--prior": None if vector_type is None and not decides else request.options.get("prior"),
            "--reduction": self.grid.get("reduction", sketch_folder.REDUCTION),
            "--resolution": ("decisions" if decides else "exact") if grid.resolution is None else grid.resolution,
            "thresholds (--threshold, --cost-fn, --cost-fp, --prior)": thresholds,
            "--cluster": sketched.cluster,
            "--buckets": sketched.buckets,
            "--unlabelled": None if sketched.unlabelled is None else True,
            sketch_folder.COSTS: costs if grid.row_costs is None else [*grid.row_costs],
        }

    def sketch(self, frame: pl.LazyFrame) -> Sketch:
        """The sketch of a log whose columns have been checked."""
        request = self.request
        frame = request.with_vectors(frame)
        schema = frame.collect_schema()
        # One file may have categories where the next has text, or nanoseconds where it has microseconds.
        categories = (pl.Categorical, pl.Enum)
        keys = [pl.col(c).cast(pl.String) if isinstance(schema[c], categories) else pl.col(c) for c in request.by]
        periods = request.periods(schema)
        if periods is not None:
            start = periods.start
            keys.append(start.dt.cast_time_unit("us") if isinstance(periods.dtype, pl.Datetime) else start)
        options = {**self.grid, **request.for_label(schema[request.label])}
        sketched = sketch(frame, request.scores, request.label, by=keys, cluster=request.cluster, **options)
        return sketched if periods is None else sketched.on_tables(periods.placed)


@dataclass(frozen=True)
class Task:
    """An input to read: where it is, what it is known by, and what it is like before it is read."""

    file: discovery.Place
    source: str
    state: discovery.State


@dataclass
class Outcome:
    """What a run did."""

    sketched: int = 0
    unchanged: int = 0
    elsewhere: int = 0
    rows: int = 0
    invalid: int = 0
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """What became of the sketches of inputs that have vanished, as was asked."""
        kept = [f"{source} has vanished, but its sketch still counts (--vanished keep)" for source in self.kept]
        return kept + [f"{source} has vanished; its sketch was removed (--vanished drop)" for source in self.dropped]

    def problems(self) -> list[str]:
        """What makes the numbers wrong, or may, a line each."""
        lines = [*self.warnings, *self.failures.values()]
        if self.waiting:
            more = f" and {len(self.waiting) - 1} more" if len(self.waiting) > 1 else ""
            lines.append(
                f"{self.waiting[0]}{more} is new, and waits until you settle what happened to the inputs that have "
                "vanished"
            )
        return lines

    def summary(self, out: Path) -> str:
        counts = {
            "sketched": self.sketched,
            "unchanged": self.unchanged,
            "from other inputs": self.elsewhere + len(self.kept),
            "waiting": len(self.waiting),
            "failed": len(self.failures),
        }
        message = ", ".join(f"{n} {what}" for what, n in counts.items() if n or what in ("sketched", "unchanged"))
        return f"{out}: {message}; {self.rows} rows"


class Vanished(StrEnum):
    """What becomes of the sketch of an input that is no longer there."""

    stop = "stop"
    keep = "keep"
    drop = "drop"


Track = Callable[[Sequence[Task]], AbstractContextManager[Iterable[Task]]]


def run(
    paths: Sequence[str],
    out: Path,
    options: SketchRequest,
    *,
    vanished: Vanished = Vanished.stop,
    track: Track = nullcontext,
) -> Outcome:
    """Bring the folder up to date with the inputs: files, globs, folders, addresses and tables, each file, object and table an input.

    `options` must be the same at every run on a folder; `track` passes on the inputs while they are read, as a progress bar does.
    In what was done, `failures` maps an input to why it is not, or perhaps should not be, in the result. UsageError for options that
    make no sense, or are not the folder's; DataError where another job is at work, or the folder cannot be written.
    """
    with refusals_as_usage_errors():
        recorded = options.recorded()
    if discovery.status(out) is None:
        for path in paths:
            discovery.find(path)  # a path that is mistyped should not leave a folder behind
    folder = sketch_folder.SketchFolder(out)
    with sketch_folder.locked(out) as note:
        folder.clean()
        return _Run(folder, note, options, recorded, vanished).bring_up_to_date(paths, track)


@dataclass
class _Run:
    """One run of the job, under the lock."""

    folder: sketch_folder.SketchFolder
    note: sketch_folder.Note
    options: SketchRequest
    recorded: dict[str, Any]
    vanished: Vanished

    def __post_init__(self) -> None:
        self.entries, self.bad = self.folder.entries(verified=True)
        self.outcome = Outcome()
        # Inputs that have vanished and whose sketches count, with the names of these.
        self._vanished: dict[str, str] = {}
        for entry in self.entries.values():
            different = sketch_folder.difference(entry.record.options, self.recorded)
            if different:
                raise UsageError(
                    f"--out {self.folder.path} was made with other options: {different}. Use the same options, or another "
                    "folder"
                )

    def bring_up_to_date(self, paths: Sequence[str], track: Track) -> Outcome:
        """What was renamed is settled before anything is added: at no moment does it count under both names."""
        outcome, folder = self.outcome, self.folder
        inputs = self._inputs(paths)
        todo = self._changed(inputs)
        dropped = self._settle_others(inputs)
        if outcome.failures.keys() & self._vanished.keys():
            todo = self._without_new(todo)
        # What this run is not about and an earlier one left, if it is still there; bad sketches were just looked at.
        known = {*inputs, *(str(folder.path / name) for name in [*self.entries, *self.bad])}
        earlier = {s: why for s, why in folder.undone(known).items() if discovery.is_there(s)}
        waiting = {task.source: "has not been read yet" for task in todo}
        held = dict.fromkeys(outcome.waiting, "waits until you settle what happened to the inputs that have vanished")
        # Before anything changes: a report at any moment from here on says that the folder is not up to date.
        folder.leave_undone({**earlier, **outcome.failures, **held, **waiting})
        for name in dropped:
            folder.remove(name)
            outcome.dropped.append(self.entries.pop(name).record.input)
        self._sketch_all(todo, track)
        outcome.rows = sum(entry.record.rows for entry in self.entries.values())
        self._look_for_positives(inputs)
        if outcome.invalid:
            outcome.warnings.append(
                f"{outcome.invalid} of the sketched rows have an invalid score, label or weight, so their groups have "
                "no metrics: is --score-type right?"
            )
        folder.leave_undone({**earlier, **outcome.failures, **held})
        folder.leave_verified(self.entries)
        return outcome

    def _inputs(self, paths: Sequence[str]) -> dict[str, discovery.Place]:
        """What to sketch by its full name, so that no other way to name it makes it another input."""
        out = os.path.realpath(self.folder.path)
        named = discovery.Inputs()
        for path in paths:
            # What is named, and gone or empty, is not a mistake in the command where it has been sketched before.
            try:
                named.add(discovery.find(path))
            except (UsageError, discovery.NoFilesError) as error:
                known = discovery.full_name(path)
                is_gone = self.folder.name_for(known) in self.entries and discovery.looked_up(known) is None
                if not is_gone and not (isinstance(error, discovery.NoFilesError) and self._has_been_in(error.folder)):
                    raise
        self.outcome.failures |= named.problems
        inputs: dict[str, discovery.Place] = {}
        for file in named.files:
            full = discovery.full_name(file)
            if not os.path.isabs(full) or os.path.commonpath([out, full]) != out:
                inputs.setdefault(full, file)
        if not inputs and not named.problems and not self.entries:
            raise UsageError(f"{', '.join(paths)}: there are no files except those in --out {self.folder.path}")
        return inputs

    def _has_been_in(self, folder: str) -> bool:
        below = os.path.join(discovery.full_name(folder), "")
        return any(entry.record.input.startswith(below) for entry in self.entries.values())

    def _changed(self, inputs: Mapping[str, discovery.Place]) -> list[Task]:
        """What to read: last of all what an earlier job was reading when it was killed, for that may have killed it."""
        todo = []
        for source, file in inputs.items():
            name = self.folder.name_for(source)
            bad = self.bad.get(name)
            if bad is not None and not bad.may_be_replaced:
                self.outcome.failures[source] = bad.why
                continue
            try:
                now = discovery.as_found(file)
            except DataError as error:
                self.outcome.failures[source] = str(error)
                continue
            entry = self.entries.get(name)
            if entry is not None and entry.record.state == now:
                self.outcome.unchanged += 1
            else:
                todo.append(Task(file, source, now))
        return sorted(todo, key=lambda task: task.source == self.note.suspect)

    def _without_new(self, todo: Sequence[Task]) -> list[Task]:
        """An input that was renamed looks like one that vanished and one that is new: only one of them may count."""
        known = [task for task in todo if self.folder.name_for(task.source) in {*self.entries, *self.bad}]
        self.outcome.waiting = [task.source for task in todo if task not in known]
        return known

    def _settle_others(self, inputs: Mapping[str, discovery.Place]) -> list[str]:
        """Decide on the sketches of inputs that this run is not about; the names of those to remove."""
        ours = {self.folder.name_for(source) for source in inputs}
        tables = [source for source, place in inputs.items() if isinstance(place, LakeTable)]
        outcome, dropped = self.outcome, []
        for name, bad in self.bad.items():
            if name not in ours:
                outcome.failures[str(self.folder.path / name)] = bad.why
        for name, entry in self.entries.items():
            record = entry.record
            if name in ours:
                continue
            table = next((table for table in tables if record.input.startswith(f"{table}/")), None)
            try:
                what = discovery.gone(record.input) if table is None else f"is now a file of the table {table}"
            except DataError as error:
                outcome.failures[record.input] = f"{error}: whether it still exists is unknown, so its sketch counts"
                continue
            if what is None:
                outcome.elsewhere += 1
            elif self.vanished is Vanished.drop:
                dropped.append(name)
            else:
                self._vanished[record.input] = name
                if self.vanished is Vanished.keep:
                    outcome.kept.append(record.input)
                else:
                    outcome.failures[record.input] = (
                        f"{record.input} {what} since it was sketched, but its sketch still counts: pass --vanished "
                        "keep if it was deleted, --vanished drop if it was renamed or must not count"
                    )
        return dropped

    def _sketch_all(self, todo: Sequence[Task], track: Track) -> None:
        folder, outcome = self.folder, self.outcome
        replaced = {folder.name_for(task.source) for task in todo}
        common = sketch_folder.CommonTypes()
        for name, entry in self.entries.items():
            if name not in replaced:
                common = common.joined(entry)
        with track(todo) as tasks:
            for task in tasks:
                name = folder.name_for(task.source)
                former = self.entries.get(name)
                try:
                    self._refuse_twin(task)
                    self.note.reading(task.source)
                    sketched, cluster_type = _sketch_file(task, self.options)
                    entry = _entry(task, sketched, self.recorded, cluster_type)
                    joined = common.joined(entry)
                    self._refuse_renamed(task, sketched)
                except (UsageError, DataError) as error:
                    note = "" if former is None else " (the sketch of its earlier content still counts)"
                    message = str(error) if str(task.file) in str(error) else f"{task.file}: {error}"
                    outcome.failures[task.source] = f"{message}{note}"
                    continue
                folder.save(sketched, entry.record)
                self.entries[name] = entry
                common = joined
                outcome.sketched += 1
                outcome.invalid += sketch_folder.count_rows(sketched, pl.col("class") == -1)

    def _refuse_twin(self, task: Task) -> None:
        """A table has a name by its folder, one by its metadata and one in its catalog, and counts once."""
        if isinstance(task.file, LakeTable):
            own = self.folder.name_for(task.source)
            for name, entry in self.entries.items():
                if name != own and (entry.record.tag or "").startswith(f"{task.file.identity}/"):
                    raise DataError(f"{task.file} is the same table as {entry.record.input}: use one name")

    def _refuse_renamed(self, task: Task, sketched: Sketch) -> None:
        """--vanished keep is for what was deleted: what was renamed has its size, its time and its cells."""
        for source, name in self._vanished.items():
            record = self.entries[name].record
            # A copy from or to a store gets the time of the copying, and a table has no size and no time.
            is_local = task.state.tag is None and record.tag is None
            if task.state.size != record.size or (is_local and task.state.modified_ns != record.modified_ns):
                continue
            columns = [*sketched.keys, "class", *sketched.grid.cell_columns, "n"]
            former = self.folder.read(name, self.entries[name]).frame
            if former.select(columns).equals(sketched.frame.select(columns)):
                raise DataError(
                    f"it has the rows of {source}, which has vanished but still counts. If it was renamed, pass --vanished drop"
                )

    def _look_for_positives(self, inputs: Mapping[str, discovery.Place]) -> None:
        """A folder without a positive may be one of a label that was mistyped; a day without positives is none."""
        positive, label = self.recorded["--pos-label"], self.recorded["--label"]
        records = [entry.record for entry in self.entries.values()]
        if positive is None or any(record.positives != 0 for record in records) or not any(r.rows for r in records):
            return
        values: dict[Any, None] = {}
        for file in inputs.values():
            try:
                log = open_log([file])
                positive_value = label_value(positive, log.schema()[label])
                labels = log.collect(log.frame.select(values_and_presence(label, positive_value)))
            except (UsageError, DataError, KeyError):
                continue  # it is among the failures
            if labels["is_there"].item():
                return
            values |= dict.fromkeys(labels["values"].item().to_list())
        try:
            self.outcome.warnings += without_positives(positive, label, [*values], str(self.folder.path))
        except DataError as error:
            self.outcome.failures[sketch_folder.pos_label_note(positive)] = str(error)


def _sketch_file(task: Task, options: SketchRequest) -> tuple[Sketch, str | None]:
    """The sketch of an input, and what the keys of its clusters are to their hash."""
    request = options.request
    opened = replace(open_log([task.file]), states={task.file: task.state})
    with opened.unchanged():
        log = opened.with_codes(request.columns())
        schema = log.schema()
        check_columns(request.columns(), schema, log.name)
        log.check_partitions()
        log.check_rows(request.columns())
        try:
            frame = request.no_rows(schema.names()) if log.is_empty else log.frame
            if request.time is not None:
                frame = with_time(frame, request.time, log.collect)
            sketched = log.read(lambda: options.sketch(frame))
            typed = typing(sketched.frame, log.codes)
            sketched = sketched.on_tables(lambda table: table.with_columns(typed))
        except UsageError as error:
            raise DataError(f"{log.name}: {error}") from error
        except (ValueError, TypeError) as error:
            raise DataError(f"{log.name}: {in_terms_of_options(first_line(error))}") from error
    if sketched.coarse is None or request.cluster is None or not sketched.coarse["bucket"].count():
        return sketched, None
    return sketched, kind_of_key(frame.collect_schema()[request.cluster])


def _entry(task: Task, sketched: Sketch, recorded: dict[str, Any], cluster_type: str | None) -> sketch_folder.Entry:
    rows = sketch_folder.count_rows(sketched)
    positives = sketch_folder.count_rows(sketched, pl.col("class") == 1)
    types = sketch_folder.key_types(sketched)
    source = (task.source, task.state.size, task.state.modified_ns)
    targets = sketch_folder.targets_of(sketched)
    record = sketch_folder.Record(*source, rows, types, recorded, positives, cluster_type, task.state.tag, targets)
    return sketch_folder.Entry.of(record, sketched.frame.schema)
