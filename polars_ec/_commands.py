"""The commands of `polars-ec`: options in, one table out, errors in one line."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec

import polars as pl
import typer
from polars.exceptions import PolarsError

import polars_ec
from polars_ec import sql as macros
from polars_ec._output import SHOWN_ROWS, Format, encode, format_for, write
from polars_ec._sources import (
    DataError,
    UsageError,
    check_columns,
    check_time,
    first_line,
    label_value,
    open_log,
    with_time,
)
from polars_ec._sql_report import connect, schema_of, sql_class_prior, sql_report, table_in_log

P = ParamSpec("P")

_DUCKDB = re.compile(r"duckdb:(?P<file>.+?)::(?P<table>.+)", re.DOTALL)
_DURATION = re.compile(r"([1-9]\d*(ns|us|ms|s|m|h|d|w|mo|q|y))+")
_KEYWORD = re.compile(
    r"\b(score_type|weight|pos_label|classes|prior|threshold|cost_fn|cost_fp|costs|score|label|by|min_rows)="
)
_COUNT_OPTIONS = ("costs", "score_type", "weight", "pos_label", "classes")
_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_PIPE_CLOSED = 141  # 128 + SIGPIPE

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _one_line_errors(command: Callable[P, None]) -> Callable[P, None]:
    """Exit codes and messages as people expect: a line on stderr, no traceback."""

    @wraps(command)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except UsageError as error:
            code, message = 2, str(error)
        except DataError as error:
            code, message = 1, str(error)
        except KeyboardInterrupt:
            code, message = _INTERRUPTED, ""
        except BrokenPipeError:
            # Python flushes stdout once more at exit, which would fail aloud.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code, message = _PIPE_CLOSED, ""
        else:
            return
        if message:
            typer.echo(f"polars-ec: {message}", err=True)
        raise typer.Exit(code)

    return guarded


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"polars-ec {polars_ec.__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Expected cost, proper scoring rules and calibrated metrics of a prediction log, per segment and per period."""


@dataclass(frozen=True)
class _Question:
    """What is asked of a log, whichever engine answers."""

    scores: list[str]
    label: str
    by: list[str]
    time: str | None
    every: str | None
    min_rows: int | None
    overall_prior: bool
    options: dict[str, Any]

    def columns(self) -> dict[str, list[str]]:
        """The columns that the log must have, by option."""
        weight, time = self.options.get("weight"), self.time
        return {
            "--score": self.scores,
            "--label": [self.label],
            "--by": self.by,
            "--time": [] if time is None else [time],
            "--weight": [] if weight is None else [weight],
        }

    def for_label(self, dtype: pl.DataType) -> dict[str, Any]:
        """The options, with the label's values as a label of this dtype holds them."""
        options = dict(self.options)
        if "pos_label" in options:
            options["pos_label"] = label_value(options["pos_label"], dtype)
        if "classes" in options:
            options["classes"] = [label_value(value, dtype) for value in options["classes"]]
        return options


@app.command()
@_one_line_errors
def report(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Parquet, CSV, Arrow IPC or NDJSON files, globs, folders (hive-partitioned or not), "
            "or duckdb:FILE.duckdb::TABLE.",
            show_default=False,
        ),
    ],
    score: Annotated[list[str], typer.Option(help="Column of scores; once more for each further model.")],
    label: Annotated[str, typer.Option(help="Column of true classes.")],
    by: Annotated[list[str] | None, typer.Option(help="Column of a segment; once more for each further one.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of dates or timestamps, cut to --every.")] = None,
    every: Annotated[str | None, typer.Option(help="Period: 1h, 1d, 1w, 1mo, 1q, 1y.")] = None,
    cost_fn: Annotated[float, typer.Option(help="Cost of a missed positive.")] = 1.0,
    cost_fp: Annotated[float, typer.Option(help="Cost of a false alarm.")] = 1.0,
    costs: Annotated[
        str | None, typer.Option(help="Costs as JSON, a row per class, a column per decision: [[0,1,0.1],[5,0,0.1]].")
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            help="Reference prior: the positive class's share, [shares of the classes], uniform, "
            "or overall (the shares in the whole log)."
        ),
    ] = None,
    threshold: Annotated[float | None, typer.Option(help="Positive where score > threshold. Default: Bayes.")] = None,
    score_type: Annotated[
        str,
        typer.Option(help="posterior, log_odds, llr, decision, posteriors, log_posteriors or log_likelihoods."),
    ] = "posterior",
    weight: Annotated[str | None, typer.Option(help="Column of row weights.")] = None,
    pos_label: Annotated[str | None, typer.Option(help="The label's value that is the positive class.")] = None,
    classes: Annotated[str | None, typer.Option(help="The label's values in class order: a,b,c or JSON.")] = None,
    min_rows: Annotated[int | None, typer.Option(help="Mark groups with fewer rows in a column `small`.")] = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Default: by the name of --out, else table.", case_sensitive=False),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="File to write, instead of stdout.")] = None,
) -> None:
    """Report the usual battery of metrics on a prediction log, a row per group.

    Rows whose label, score or weight is missing are left out and counted; a group with wrong rows has no metrics.
    Columns that end in _at_prior have the values at the reference prior.
    """
    chosen = format_for(form, out)
    if (time is None) != (every is None):
        raise UsageError("--time and --every go together: --time says which column, --every the period")
    if every is not None and not _DURATION.fullmatch(every):
        raise UsageError(f"--every {every}: not a period such as 1h, 1d, 1w, 1mo, 1q or 1y")
    options: dict[str, Any] = {"cost_fn": cost_fn, "cost_fp": cost_fp, "score_type": score_type}
    parsed = {
        "costs": None if costs is None else _parse_json(costs, "--costs"),
        "prior": None if prior is None else _parse_prior(prior),
        "threshold": threshold,
        "weight": weight,
        "pos_label": pos_label,
        "classes": None if classes is None else _parse_classes(classes),
    }
    options |= {name: value for name, value in parsed.items() if value is not None}
    overall = options.get("prior") == "overall"
    if overall:
        del options["prior"]
    question = _Question(score, label, by or [], time, every, min_rows, overall, options)
    try:
        table = _answer(paths, question)
    except (ValueError, TypeError, PolarsError) as error:
        raise UsageError(_in_terms_of_options(first_line(error))) from None
    if chosen is Format.table and table.height > SHOWN_ROWS:
        typer.echo(
            f"polars-ec: the table shows {SHOWN_ROWS} of {table.height} rows: --format csv has them all", err=True
        )
    write(encode(table, chosen), out)


def _parse_json(text: str, option: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"{option} {text}: not JSON ({error.msg} at character {error.pos})") from None


def _parse_prior(text: str) -> Any:
    if text in ("uniform", "overall"):
        return text
    try:
        return float(text)
    except ValueError:
        if text.startswith("["):
            return _parse_json(text, "--prior")
    raise UsageError(f"--prior {text}: pass a share such as 0.1, shares such as [0.2,0.3,0.5], uniform or overall")


def _parse_classes(text: str) -> list[str]:
    if not text.startswith("["):
        return text.split(",")
    return [value if isinstance(value, str) else json.dumps(value) for value in _parse_json(text, "--classes")]


def _in_terms_of_options(message: str) -> str:
    """Messages of the core speak of Python keywords, `pos_label=`; here they are options, `--pos-label`."""
    return _KEYWORD.sub(lambda match: f"--{match[1].replace('_', '-')} ", message).replace("  ", " ").replace(" ,", ",")


def _answer(paths: list[str], question: _Question) -> pl.DataFrame:
    tables = [match for match in map(_DUCKDB.fullmatch, paths) if match]
    if not tables:
        broken = next((path for path in paths if path.startswith("duckdb:")), None)
        if broken is not None:
            raise UsageError(f"{broken}: a DuckDB table is given as duckdb:FILE.duckdb::TABLE")
        return _answer_from_files(paths, question)
    if len(paths) > 1:
        raise UsageError(f"{', '.join(paths)}: report on one DuckDB table at a time, and on nothing beside it")
    return _answer_from_duckdb(tables[0]["file"], tables[0]["table"], question)


def _answer_from_files(paths: list[str], question: _Question) -> pl.DataFrame:
    log = open_log(paths)
    schema = log.schema()
    check_columns(question.columns(), schema, log.name)
    options = question.for_label(schema[question.label])
    frame = log.frame
    keys: list[str | pl.Expr] = list(question.by)
    if question.time is not None and question.every is not None:
        frame = with_time(log, frame, question.time)
        keys.append(pl.col(question.time).dt.truncate(question.every))
    if question.overall_prior:
        counted = {name: options[name] for name in _COUNT_OPTIONS if name in options}
        shares = polars_ec.class_prior(question.scores[0], question.label, **counted)
        options["prior"] = _checked_prior(log.collect(frame.select(shares)).item())
    answer = polars_ec.report(frame, question.scores, question.label, by=keys, min_rows=question.min_rows, **options)
    return log.collect(answer)


def _answer_from_duckdb(file: str, table: str, question: _Question) -> pl.DataFrame:
    with connect(file) as connection:
        relation = table_in_log(connection, file, table)
        schema = schema_of(connection, relation)
        check_columns(question.columns(), schema, f"{file}::{table}")
        if question.time is not None:
            check_time(question.time, schema[question.time])
        options = question.for_label(schema[question.label])
        if question.overall_prior:
            found = sql_class_prior(connection, relation, question.scores[0], question.label, options)
            options["prior"] = _checked_prior(found)
        return sql_report(
            connection,
            relation,
            question.scores,
            question.label,
            by=question.by,
            time=question.time,
            every=question.every,
            min_rows=question.min_rows,
            options=options,
        )


def _checked_prior(shares: Any) -> Any:
    if shares is None:
        raise DataError("--prior overall: the log has wrong rows, or none with label and score: state the prior")
    return shares if isinstance(shares, float) else list(shares)


@app.command("sql")
@_one_line_errors
def print_sql(
    out: Annotated[Path | None, typer.Option(help="File to write, instead of stdout.")] = None,
) -> None:
    """Print the DuckDB macros, for any DuckDB client."""
    write(macros.text().encode(), out)


@app.command()
@_one_line_errors
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the log and the report.")] = Path("demo-output"),
) -> None:
    """Run the whole thing on real data: a model of flight delays, reported per carrier and per month."""
    from polars_ec.demo import run

    run(out)
