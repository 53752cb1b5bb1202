"""From a question to the table that answers it: which door it goes to, what is said about the answer, where that goes."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import typer
from polars.exceptions import PanicException

from polars_ec.cells.parquet import first_line
from polars_ec.cli.asked import Asked, Delivery
from polars_ec.cli.databases import PREFIX, Database
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.exit_codes import TRIPPED
from polars_ec.cli.gates import Gates, Names
from polars_ec.cli.logs import DifferingFilesError, open_log
from polars_ec.cli.output import SHOWN_ROWS, Format, above, encode, is_on_terminal, terminal_width, write
from polars_ec.cli.periods import check_period
from polars_ec.cli.questions import Answer, Question
from polars_ec.cli.redaction import redacted
from polars_ec.cli.request import Request
from polars_ec.cli.rows_answer import answer_from_duckdb, answer_from_files
from polars_ec.cli.sketch_answer import RollUp, answer_from_sketches
from polars_ec.cli.sketch_folder import SketchFolder, is_pos_label_note
from polars_ec.cli.terminal import panics_unseen, tell


def run(asked: Asked, delivery: Delivery, question: Question, what: str) -> None:
    """Answer, write the answer, and end as the gates say; `what` is what messages call it, with its article."""
    chosen, gates, chart = delivery.chosen, delivery.gates, delivery.chart
    folder = next((Path(path) for path in asked.paths if SketchFolder.is_at(Path(path))), None)
    if folder is None:
        if question.window is not None:
            raise UsageError(
                f"--window {question.window} is of sketches, which add up: sketch the log first, polars-ec sketch"
            )
        answer = of_rows(asked.paths, asked.request(gates, what, question.mix), question, what)
    else:
        answer = _of_sketches(folder, asked, question, what)
    table = answer.table
    gates.check(table.schema)
    for warning in [*answer.said, *question.notes(table)]:
        tell(warning)
    if chosen is Format.table and table.height > SHOWN_ROWS and not delivery.quiet:
        tell(f"the table shows {SHOWN_ROWS} of {table.height} rows: --format csv has them all")
    names = question.names(table)
    # A file is for an editor, or for a pager, which have room to the right.
    width = terminal_width() if delivery.out is None else None
    content = encode(table, chosen, names=len(names.keys), width=width)
    if chosen is Format.table and delivery.out is None and not delivery.quiet and is_on_terminal():
        content = above(question.verdict(table), terminal_width()) + content
    beside = [
        *([] if answer.page is None else [answer.page.rendered()]),
        *([] if chart is None else [chart.drawn(lambda: question.chart(table))]),
    ]
    write(content, delivery.out)
    for file in beside:
        file.write()
        if not delivery.quiet:
            tell(f"the {file.what} is in {file.path}")
    _end(gates, table, names, quiet=delivery.quiet)


def _end(gates: Gates, table: pl.DataFrame, names: Names, *, quiet: bool) -> None:
    """With an exit code of its own where a gate was tripped, and lines that say by what."""
    verdicts = gates.verdicts(table, names)
    for verdict in verdicts:
        for line in verdict.lines():
            tell(line)
    for verdict in verdicts:
        not_judged = verdict.not_judged()
        if not_judged is not None and (verdict.is_blind or not quiet):
            tell(not_judged)
    if gates.trip(verdicts):
        raise typer.Exit(TRIPPED)


def of_rows(paths: list[str], request: Request, question: Question, what: str) -> Answer:
    """The answer from rows."""
    databases = [Database.of(path) for path in paths if path.startswith(PREFIX)]
    if not databases:
        log = open_log(paths).with_codes(request.columns())
        try:
            return answer_from_files(log, request, question)
        except DifferingFilesError:
            asked = request.columns()
            keys = [*asked["--by"], *asked["--mix"], *asked["--cluster"]]
            return answer_from_files(log.unified(asked, keys), request, question)
    if len(paths) > 1:
        there = redacted(", ".join(paths))
        raise UsageError(f"{there}: {what} is of one DuckDB table at a time, and of nothing beside it")
    return answer_from_duckdb(databases[0], request, question)


def _of_sketches(folder: Path, asked: Asked, question: Question, what: str) -> Answer:
    if len(asked.paths) > 1:
        raise UsageError(
            f"{', '.join(asked.paths)}: {what} is of one folder of sketches at a time, and of nothing beside it"
        )
    if asked.time is not None:
        check_period(asked.time, asked.every, asked.time_zone)
    known, options = asked.of_sketches(), asked.options
    _tell_undone(folder)
    roll_up = RollUp(asked.by or [], asked.time, asked.every, asked.time_zone, question.mix)
    try:
        with panics_unseen():
            return answer_from_sketches(folder, known, roll_up, options, question)
    except PanicException as error:
        raise DataError(f"{folder}: {first_line(error)}") from error


def _tell_undone(folder: Path) -> None:
    """A report of half a log looks like one of the whole."""
    undone = {source: why for source, why in SketchFolder(folder).undone().items() if not is_pos_label_note(source)}
    if undone:
        source, why = next(iter(undone.items()))
        first = why if source in why else f"{source} {why}"
        more = f", and {len(undone) - 1} more" if len(undone) > 1 else ""
        tell(f"{folder}: the last polars-ec sketch left something undone: {first}{more}")
