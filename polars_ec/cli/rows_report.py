"""The report of `polars-ec report` on the rows of a log, in files or in a table of DuckDB."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_ec.cli import csv_codes
from polars_ec.cli.labels import no_positives, said_of_positives, values_and_presence
from polars_ec.cli.logs import Log, check_columns
from polars_ec.cli.options import check_counted, refusals_as_usage_errors
from polars_ec.cli.periods import check_time, with_time
from polars_ec.cli.request import Request, rows_of_groups
from polars_ec.cli.sql_report import connect, label_values, report_by_polars, schema_of, sql_report, table_in_log
from polars_ec.reports import report


def report_from_files(log: Log, request: Request) -> tuple[pl.DataFrame, list[str]]:
    """The report on the rows of files, and what is to be said about it."""
    schema = log.schema()
    check_columns(request.columns(), schema, log.name)
    log.check_zones(request.columns())
    log.check_partitions()
    frame = request.no_rows(schema.names()) if log.is_empty else log.frame
    options = request.for_label(frame.collect_schema()[request.label])
    log.check_rows()
    keys: list[str | pl.Expr] = list(request.by)
    periods = None
    if request.time is not None:
        frame = with_time(frame, request.time, log.collect)
        periods = request.periods(frame.collect_schema()[request.time])
        keys.append(periods.start)

    asked = {"by": keys, "cluster": request.cluster, **request.layout, **options}
    with refusals_as_usage_errors():
        answer = report(frame, request.scores, request.label, **asked)
    table = _with_codes_typed(log.collect(answer), log.codes, request)
    groups = rows_of_groups(table, request.layout)
    if options.get("prior") == "overall":
        check_counted(groups, several=len(request.scores) > 1)
    warnings: list[str] = []
    if "pos_label" in options and no_positives(groups):
        labels = frame.select(values_and_presence(request.label, options["pos_label"]))
        warnings = said_of_positives(log.collect(labels), request.options["pos_label"], request.label, log.name)
    return table if periods is None else log.read(lambda: periods.placed(table)), warnings


def _with_codes_typed(table: pl.DataFrame, codes: Sequence[str], request: Request) -> pl.DataFrame:
    """The report, sorted by what the codes are: as text 10 is before 9."""
    typed = csv_codes.typed(table, codes)
    if typed.schema == table.schema:
        return table
    total = ["total"] if request.layout.get("total") else []
    time = [] if request.time is None else [request.time]
    return typed.sort([*total, *request.by, *time], maintain_order=True)


def report_from_duckdb(file: str, table: str, request: Request) -> tuple[pl.DataFrame, list[str]]:
    """The report on the rows of a table in a DuckDB file, and what is to be said about it."""
    with connect(file, request.time_zone) as connection:
        relation = table_in_log(connection, file, table)
        schema = schema_of(connection, relation)
        check_columns(request.columns(), schema, f"{file}::{table}")
        if request.time is not None:
            check_time(request.time, schema[request.time])
        options = request.for_label(schema[request.label])
        periods = None if request.time is None else request.periods(schema[request.time])
        if "interval" in request.layout:
            answer = report_by_polars(connection, relation, request, periods, options)
        else:
            answer = sql_report(
                connection,
                relation,
                request.scores,
                request.label,
                by=request.by,
                periods=periods,
                layout=request.layout,
                options=options,
            )
        if options.get("prior") == "overall":
            check_counted(rows_of_groups(answer, request.layout), several=len(request.scores) > 1)
        if "pos_label" not in options or not no_positives(rows_of_groups(answer, request.layout)):
            return answer, []
        labels = label_values(connection, relation, request.label, options["pos_label"])
        return answer, said_of_positives(labels, request.options["pos_label"], request.label, f"{file}::{table}")
