"""Answers from the rows of a log, in files or in a table that DuckDB reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import polars as pl

from polars_ec.cli import csv_codes
from polars_ec.cli.databases import Database, refusals_as_data_errors
from polars_ec.cli.labels import said_of_positives, values_and_presence
from polars_ec.cli.logs import Log, check_columns
from polars_ec.cli.options import refusals_as_usage_errors
from polars_ec.cli.periods import check_time, with_time
from polars_ec.cli.questions import Answer, Question
from polars_ec.cli.request import Request, Rows, Table
from polars_ec.cli.sql_report import (
    connect,
    label_values,
    rows_of,
    schema_of,
)


def answer_from_files(log: Log, request: Request, question: Question) -> Answer:
    """The answer from the rows of files."""
    schema = log.schema()
    check_columns(request.columns(), schema, log.name)
    log.check_zones(request.columns())
    log.check_partitions()
    frame = request.no_rows(schema.names()) if log.is_empty else log.frame
    options = request.for_label(frame.collect_schema()[request.label])
    log.check_rows()
    periods = None
    if request.time is not None:
        frame = with_time(frame, request.time, log.collect)
        periods = request.periods(frame.collect_schema()[request.time])

    start = None if periods is None else periods.start
    rows = Rows(frame, request.scores, request.label, request.by, start, request.cluster, options)
    codes = [name for name in log.codes if name in request.by]
    with refusals_as_usage_errors():
        if question.page is not None:
            question.page.of_rows(rows.none())
        answer = question.of_rows(rows).lazy()
        if request.gates.gates:
            # What codes are is known when all of them have been read.
            request.gates.check({**answer.collect_schema(), **dict.fromkeys(codes, pl.Null())})
        answered = log.collect(answer)
    table = _with_codes_typed(answered, codes, request, question)
    if options.get("prior") == "overall":
        question.check_counted(table)
    warnings: list[str] = []
    if "pos_label" in options and question.lacks_positives(table):
        labels = frame.select(values_and_presence(request.label, options["pos_label"]))
        warnings = said_of_positives(log.collect(labels), request.options["pos_label"], request.label, log.name)
    page = None
    if question.page is not None:
        make = partial(question.page.of_rows, _with_typed_keys(rows, csv_codes.typing(answered, codes)))
        with refusals_as_usage_errors():
            page = log.read(make)
    return Answer(table if periods is None else log.read(lambda: periods.placed(table)), warnings, page)


def _with_typed_keys(rows: Rows, typing: Sequence[pl.Expr]) -> Rows:
    """The same rows, their group columns as the table has them."""
    typed = {key.meta.output_name(): key for key in typing}
    return replace(rows, by=[typed.get(name, name) if isinstance(name, str) else name for name in rows.by])


def _with_codes_typed(table: pl.DataFrame, codes: Sequence[str], request: Request, question: Question) -> pl.DataFrame:
    """The answer, sorted by what the codes are: as text 10 is before 9."""
    typed = csv_codes.typed(table, codes)
    if typed.schema == table.schema:
        return table
    total = ["total"] if question.layout.get("total") else []
    time = [] if request.time is None else [request.time]
    return typed.sort([*total, *request.by, *time], maintain_order=True)


def answer_from_duckdb(database: Database, request: Request, question: Question) -> Answer:
    """The answer from the rows of a table in a database."""
    name = f"{database.name}::{database.table}"
    with connect(database, request.time_zone) as connection:
        relation = database.relation(connection)
        schema = schema_of(connection, relation)
        check_columns(request.columns(), schema, name)
        if request.time is not None:
            check_time(request.time, schema[request.time])
        options = request.for_label(schema[request.label])
        periods = None if request.time is None else request.periods(schema[request.time])
        asked = Table(connection, relation, request, periods, options)
        if question.page is not None:
            with refusals_as_usage_errors():
                question.page.of_rows(rows_of(asked).none())
        answer = question.of_table(asked)
        if options.get("prior") == "overall":
            question.check_counted(answer)
        said: list[str] = []
        if "pos_label" in options and question.lacks_positives(answer):
            labels = label_values(connection, relation, request.label, options["pos_label"])
            said = said_of_positives(labels, request.options["pos_label"], request.label, name)
        page = None
        if question.page is not None:
            with refusals_as_usage_errors(), refusals_as_data_errors():
                page = question.page.of_rows(rows_of(asked))
        return Answer(answer, said, page)
