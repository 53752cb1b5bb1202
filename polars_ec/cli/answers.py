"""Answers from the rows of a log, in files or in a table of a database, and from a folder of sketches."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.api.sketches import Sketch
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import BY_ROW, parse_options
from polars_ec.cli.databases import PREFIX, Database, refusals_as_data_errors
from polars_ec.cli.logs import DifferingFilesError, FileLog, check_columns, open_log, typing
from polars_ec.cli.options import (
    DEFAULT_ZONE,
    PERIOD_NAMES,
    Periods,
    check_time,
    check_zone_of_periods,
    checked_zone,
    counted_prior,
    first_instant,
    is_calendar,
    refusals_as_usage_errors,
    with_time,
)
from polars_ec.cli.questions import Answer, Question, RowInput, SketchInput
from polars_ec.cli.request import RowRequest, values_and_presence, without_positives
from polars_ec.cli.sketch_folder import Manifest, SketchFolder, pos_label_note, total
from polars_ec.cli.terminal import DataError, UsageError, redacted
from polars_ec.exceptions import SketchError
from polars_ec.output.dialects import quoted, quoted_text
from polars_ec.output.words import first_line
from polars_ec.page.contents import Contents
from polars_ec.scores.read import read_by_row
from polars_ec.scores.scores import decision_faults
from polars_ec.sketches.cells import SCORE, keys_of_models, without_clusters
from polars_ec.sketches.sums import overall_prior

if TYPE_CHECKING:
    import duckdb

# Polars takes them for decimals of 38 digits, which do not hold them.
_WIDE = {"HUGEINT": pl.Int128(), "UHUGEINT": pl.UInt128()}


def answer_from_rows(paths: list[str], request: RowRequest, question: Question, what: str) -> Answer:
    """The answer from rows, of files or of one table; `what` is what messages call it, with its article."""
    databases = [Database.of(path) for path in paths if path.startswith(PREFIX)]
    if databases and len(paths) > 1:
        there = redacted(", ".join(paths))
        raise UsageError(f"{there}: {what} takes one DuckDB table at a time: name only that table")
    if databases:
        return _from_database(databases[0], request, question)
    columns = request.columns()
    opened = open_log(paths)
    with opened.unchanged():
        log = opened.with_codes(columns)
        try:
            return _from_files(log, request, question)
        except DifferingFilesError:
            keys = [*request.by, *request.other_columns, *columns["--cluster"]]
            return _from_files(log.unified(columns, keys), request, question)


def _from_files(log: FileLog, request: RowRequest, question: Question) -> Answer:
    schema = log.schema()
    check_columns(request.columns(), schema, log.name)
    log.check_zones(request.columns())
    log.check_partitions()
    frame = request.with_vectors(request.no_rows(schema.names()) if log.is_empty else log.frame)
    options = request.for_label(frame.collect_schema()[request.label])
    log.check_rows(request.columns())
    if request.time is not None:
        frame = with_time(frame, request.time, log.collect)
    periods = request.periods(frame.collect_schema())
    start = None if periods is None else periods.start
    rows = RowInput(frame, request.scores, request.label, request.by, start, request.cluster, options)
    codes = [name for name in log.codes if name in request.by]
    return _answer(rows, periods, request, question, log.name, log.read, codes)


def _from_database(database: Database, request: RowRequest, question: Question) -> Answer:
    """The answer from the rows of a table in a database, which Polars reads batch by batch."""
    name = f"{database.name}::{database.table}"
    with _connected(database, request.time_zone) as connection:
        relation = database.relation(connection)
        schema, kinds = _columns_of(connection, relation)
        check_columns(request.columns(), schema, name)
        if request.time is not None:
            check_time(request.time, schema[request.time])
        periods = request.periods(schema)
        start = None if periods is None else periods.start
        options = request.for_label(schema[request.label])
        for option, names in (("--by", request.by), *request.others.items()):
            for key in names:
                if "INTERVAL" in kinds[key]:
                    raise UsageError(
                        f"{option} {key}: an interval type cannot be a group column. Convert it to text first"
                    )
        wide = {key: _WIDE[kinds[key]] for key in (*request.by, *request.other_columns) if kinds[key] in _WIDE}
        used = dict.fromkeys(column for names in request.columns().values() for column in names)
        request.check_vectors(schema)
        vectors = [
            f"CAST([{', '.join(map(quoted, columns))}] AS DOUBLE[{len(columns)}]) AS {quoted(score)}"
            for score, columns in request.vectors.items()
        ]
        columns = [*(_as_text(column) if column in wide else quoted(column) for column in used), *vectors]
        keys = [pl.col(key).cast(wide[key]) if key in wide else pl.col(key) for key in request.by]
        with refusals_as_data_errors():
            frame = connection.sql(f"SELECT {', '.join(columns)} FROM {relation}")
        rows = RowInput(frame, request.scores, request.label, keys, start, request.cluster, options)

        def read(action: Callable[[], Any]) -> Any:
            with refusals_as_data_errors():
                return action()

        return _answer(rows, periods, request, question, name, read)


def _answer(
    rows: RowInput,
    periods: Periods | None,
    request: RowRequest,
    question: Question,
    name: str,
    read: Callable[[Callable[[], Any]], Any],
    codes: Sequence[str] = (),
) -> Answer:
    """`read` runs what reads the log, with its errors; `codes` are group columns whose types all of them tell."""
    with refusals_as_usage_errors():
        # What is refused of no rows is refused before any is read.
        if question.page is not None:
            question.page.from_rows(rows.none())
        empty = question.from_rows(rows.none())
        if request.gates.gates:
            request.gates.check({**empty.collect_schema(), **dict.fromkeys(codes, pl.Null())})
        answered = read(lambda: question.from_rows(rows).lazy().collect(engine="streaming"))
    table = _with_codes_typed(answered, codes, request, question)
    if rows.options.get("prior") == "overall":
        question.check_counted(table)
    warnings: list[str] = []
    if "pos_label" in rows.options and question.lacks_positives(table):
        labels = as_lazy(rows.frame).select(values_and_presence(request.label, rows.options["pos_label"]))
        presence = read(lambda: labels.collect(engine="streaming"))
        if not presence["is_there"].item():
            values = presence["values"].item().to_list()
            warnings = without_positives(request.options["pos_label"], request.label, values, name)
    if any(table.null_count().row(0)):
        warnings += read(lambda: _undecided_rows(as_lazy(rows.frame), rows.options))
    page: Sequence[Contents] = ()
    if question.page is not None:
        # The page has the group columns as the table has them.
        typed = {key.meta.output_name(): key for key in typing(answered, codes)}
        by = [typed.get(name, name) if isinstance(name, str) else name for name in rows.by]
        make = partial(question.page.from_rows, replace(rows, by=by))
        with refusals_as_usage_errors():
            page = read(make)
    return Answer(table if periods is None else read(lambda: periods.placed(table)), warnings, page)


def _undecided_rows(frame: pl.LazyFrame, options: Mapping[str, Any]) -> list[str]:
    """What to say of rows without their own cost or threshold, which leave a group without values."""
    checked = parse_options({name: options[name] for name in BY_ROW if name in options}, BY_ROW)
    dtypes = frame.select(**checked.columns).collect_schema()
    faults = decision_faults(*read_by_row({name: (checked.columns[name], dtypes[name]) for name in dtypes}, checked))
    if not faults:
        return []
    counts = frame.select(mask.sum().alias(kind) for kind, mask in faults.items()).collect(engine="streaming")
    found = [f"{kind} in {n} row{'s'[: n != 1]}" for kind, n in counts.row(0, named=True).items() if n]
    return [f"{text}, so their groups have no metrics of decisions: filter or fill them" for text in found]


def _with_codes_typed(
    table: pl.DataFrame, codes: Sequence[str], request: RowRequest, question: Question
) -> pl.DataFrame:
    """The answer, sorted by what the codes are: as text 10 is before 9."""
    typed_table = table.with_columns(typing(table, codes))
    if typed_table.schema == table.schema:
        return table
    total = ["total"] if question.layout.get("total") else []
    time = [] if request.time is None else [request.time]
    return typed_table.sort([*total, *request.by, *time], maintain_order=True)


@contextmanager
def _connected(database: Database, zone: str | None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to which a database is attached, read-only; `zone` is its calendar."""
    import duckdb

    with duckdb.connect() as connection:
        try:
            connection.execute(f"SET TimeZone = {quoted_text(zone or DEFAULT_ZONE)}")
        except duckdb.Error as error:
            raise UsageError(f"--time-zone {zone}: {first_line(error)}") from error
        database.attach(connection)
        yield connection


def _columns_of(connection: duckdb.DuckDBPyConnection, relation: str) -> tuple[pl.Schema, dict[str, str]]:
    """Polars dtypes and DuckDB types of a relation's columns; intervals, which Polars does not have, pass for text."""
    with refusals_as_data_errors():
        described = connection.sql(f"SELECT column_name, column_type FROM (DESCRIBE FROM {relation})")
        kinds: dict[str, str] = dict(described.fetchall())
        shown = [_as_text(name) if "INTERVAL" in kind else quoted(name) for name, kind in kinds.items()]
        empty: pl.DataFrame = connection.sql(f"SELECT {', '.join(shown)} FROM {relation} LIMIT 0").pl()
    return empty.schema, kinds


def _as_text(name: str) -> str:
    return f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}"


_ROWS_ONLY = {
    "per_class": "sketches of K-class scores have a row per class in any case, in the column target, but those of decisions, which have "
    "metrics such as class_recall",
    "missing": "sketches count all rows with missing values together",
    "score_prior": "sketches hold the losses of the original posteriors",
    **dict.fromkeys(BY_ROW, "sketches have one number for all rows, not a column"),
}
_CLUSTER_OPTIONS = ("--cluster", "--buckets")


@dataclass(frozen=True)
class RollUp:
    """The groups that are asked for: columns and, perhaps, a coarser period."""

    by: Sequence[str]
    time: str | None
    every: str | None
    time_zone: str | None = None
    mix: Sequence[str] = ()


def answer_from_sketches(
    folder: Path, stated: Mapping[str, Any], roll_up: RollUp, options: Mapping[str, Any], question: Question
) -> Answer:
    """The answer from a folder where `polars-ec sketch` worked.

    `stated` are options of the command, by name, that say what the sketches were made of: they must be right. `options` has the
    operating point; without one it is what the sketches were made for, and the prior "overall" is the share in all sketches.
    """
    sketches = SketchFolder(folder)
    manifest = sketches.manifest()
    made_with = manifest.options
    decides = made_with["--reduction"] == "decisions"
    for name, why in _ROWS_ONLY.items():
        if name in question.layout or (isinstance(options.get(name), str) and not decides):
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"{option} on {folder}: {why}. Run polars-ec report on the log instead")
    if question.items:
        raise UsageError("--model: sketches have no items. Sketch a log with a column of scores per model")
    picked: Callable[[Sketch], Sketch] = lambda sketch: sketch  # noqa: E731
    read = sketches.read if question.has_intervals else lambda *file: without_clusters(sketches.read(*file))
    for option, value in stated.items():
        if option in _CLUSTER_OPTIONS and made_with.get("--cluster") is None:
            raise UsageError(
                f"{option} {value}: {folder} was sketched without clusters. Sketch the log again with {option}, or report on the log"
            )
        if option == "--score" and _picks(value, made_with[option]):
            made_with, picked = {**made_with, option: value}, partial(_picked, value)
        elif value != made_with[option]:
            recorded, requested = (", ".join(v) if isinstance(v, list) else v for v in (made_with[option], value))
            raise UsageError(f"{folder} was sketched with {option} {recorded}, not {requested}: leave the option out")
    options = dict(options)
    with refusals_as_usage_errors():
        try:
            rolled_up = total(manifest, read, lambda one: _rolled_up(folder, picked(one), made_with, roll_up))
        except SketchError as error:
            raise DataError(f"{folder}: {error}") from error
        rolled_up = _placed(rolled_up, manifest, roll_up)
        if options.get("prior") == "overall":
            options["prior"] = counted_prior(overall_prior(rolled_up))
        periods = () if roll_up.every is None else _periods_in(rolled_up, manifest)
        sketched = SketchInput(rolled_up, made_with, options, periods, roll_up.every, manifest.targets)
        table = question.from_sketch(sketched)
        page = () if question.page is None else question.page.from_sketch(sketched)
    return Answer(table, _warnings(sketches, manifest) if table["n"].sum() else [], page)


def _picks(stated: str | list[str], made_with: str | list[str]) -> bool:
    """Whether these are some of the several models that sketches are of, each once."""
    names = [stated] if isinstance(stated, str) else stated
    return isinstance(made_with, list) and set(names) <= set(made_with) and len(set(names)) == len(names)


def _picked(models: str | list[str], sketch: Sketch) -> Sketch:
    """The sketch of these models alone; of one, without the group column of models."""
    alone = sketch.filter(pl.col(SCORE).is_in([models] if isinstance(models, str) else models))
    return alone.group_by(*(key for key in sketch.keys if key != SCORE)) if isinstance(models, str) else alone


def _warnings(sketches: SketchFolder, manifest: Manifest) -> list[str]:
    positive = manifest.options["--pos-label"]
    if positive is None or manifest.has_positives:
        return []
    meant = sketches.undone().get(pos_label_note(positive))
    if meant is not None:
        raise DataError(meant)
    return [f"{sketches.path}: no row that was sketched has the label {positive!r} (--pos-label)"]


def _rolled_up(folder: Path, sketch: Sketch, made_with: Mapping[str, Any], roll_up: RollUp) -> Sketch:
    time = made_with["--time"]
    by, models = [*roll_up.by, *roll_up.mix], keys_of_models(sketch.keys)
    segments = [key for key in sketch.keys if key not in models]
    if roll_up.time is not None and roll_up.time != time:
        raise UsageError(
            f"{folder} was sketched with --time {time or 'left out'}, not --time {roll_up.time}: leave the option out"
        )
    if roll_up.every is not None and time is None:
        raise UsageError(f"--every {roll_up.every}: {folder} was sketched without --time, so it has no periods")
    # `--by month --every 1mo` calls the periods so.
    period_name = next((n for n in by if n == PERIOD_NAMES.get(roll_up.every or "") and n not in segments), time)
    for name in by:
        if name not in segments and name != period_name:
            near = difflib.get_close_matches(name, segments, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            alone = "" if time is None else f"; for periods of {time} pass only --every"
            groups = ", ".join(segments) or "none"
            option = "--mix" if name in roll_up.mix else "--by"
            raise UsageError(f"{folder} has no group column {name!r} ({option}): {hint}It has {groups}{alone}")
    check_zone_of_periods(roll_up.time_zone, roll_up.every)
    if roll_up.every is None:
        return sketch if by == segments else sketch.group_by(*by, *models)
    periods = _periods(time, sketch.frame.schema[time], roll_up)
    _check_nested(sketch.frame[time], made_with["--every"], periods)
    if time not in by and period_name not in by:
        by.append(time)
    return sketch.group_by(*(periods.start.alias(n) if n in (time, period_name) else pl.col(n) for n in by), *models)


def _periods(time: str, dtype: pl.DataType, roll_up: RollUp) -> Periods:
    """On the calendar that is asked for, else on that of the sketches' own periods."""
    assert roll_up.every is not None
    own_zone = dtype.time_zone if isinstance(dtype, pl.Datetime) else None
    zone = own_zone if roll_up.time_zone is None else roll_up.time_zone
    return Periods(time, dtype, roll_up.every, checked_zone(zone))


def _placed(sketch: Sketch, manifest: Manifest, roll_up: RollUp) -> Sketch:
    """The sum of what `_rolled_up` made, with instants as its periods."""
    time = manifest.options["--time"]
    if roll_up.every is None or time not in manifest.dtypes:
        return sketch
    for name in _periods_in(sketch, manifest):
        periods = _periods(name, manifest.dtypes[time], roll_up)
        sketch = sketch.on_tables(periods.placed)
    return sketch


def _periods_in(sketch: Sketch, manifest: Manifest) -> list[str]:
    """The group columns of periods of what `_rolled_up` made."""
    others = (*manifest.options["--by"], *keys_of_models(sketch.keys))
    return [name for name in sketch.keys if name == manifest.options["--time"] or name not in others]


def _check_nested(starts: pl.Series, fine: str, periods: Periods) -> None:
    """Refuse a roll-up of periods that do not lie inside the coarser ones, as a week that two months share.

    It asks the data's own periods, each of which must begin and end in the same coarse one: so it knows leap years and
    time zones as Polars does.
    """
    time, dtype = starts.name, starts.dtype
    start = pl.col(time)
    if isinstance(dtype, pl.Datetime) and dtype.time_zone is not None and is_calendar(fine):
        # By the clock: the day after one that began at 1 o'clock begins at midnight.
        end = first_instant(start.dt.replace_time_zone(None).dt.truncate(fine).dt.offset_by(fine), dtype.time_zone)
    else:
        end = start.dt.offset_by(fine)
    tick = pl.duration(days=1) if dtype == pl.Date else pl.duration(microseconds=1)
    period_starts = starts.unique().sort().to_frame()
    first, last = (period_starts.select(at.alias(time)).select(periods.start).to_series() for at in (start, end - tick))
    torn = period_starts.filter(first.ne_missing(last))
    if torn.height:
        raise UsageError(
            f"--every {periods.every}: the sketches have periods of {fine}, and the one that begins at "
            f"{torn.item(0, 0)} lies in two periods of {periods.every}. Sketch with a finer --every"
        )
