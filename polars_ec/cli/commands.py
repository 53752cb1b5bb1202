"""The commands of `polars-ec`: options in, one table out, errors in one line."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer
from polars.exceptions import PanicException

from polars_ec import __version__
from polars_ec.cells.parquet import first_line
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.exit_codes import one_line_errors, run
from polars_ec.cli.logs import DifferingFilesError, open_log
from polars_ec.cli.options import (
    Buckets,
    By,
    Cluster,
    Every,
    Interval,
    Missing,
    PosLabel,
    Quiet,
    Replicates,
    Resampling,
    Seed,
    Time,
    Weight,
    intervals,
    parse_classes,
    parse_json,
    parse_metrics,
    parse_prior,
)
from polars_ec.cli.output import SHOWN_ROWS, Format, encode, format_for, say, terminal_width, write
from polars_ec.cli.periods import check_duration, check_period
from polars_ec.cli.progress import progress
from polars_ec.cli.request import Request, SketchOptions, rows_of_groups
from polars_ec.cli.rows_report import report_from_duckdb, report_from_files
from polars_ec.cli.sketch_folder import SketchFolder, is_pos_label_note
from polars_ec.cli.sketch_job import Vanished
from polars_ec.cli.sketch_job import run as run_job
from polars_ec.cli.sketch_report import RollUp, sketch_report
from polars_ec.cli.terminal import panics_unseen, tell
from polars_ec.rows.folds import BUCKETS
from polars_ec.sql import macros

_DUCKDB = re.compile(r"duckdb:(?P<file>.+?)::(?P<table>.+)", re.DOTALL)
app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(asked: bool) -> None:
    if asked:
        say(f"polars-ec {__version__}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Expected cost, proper scoring rules and calibrated metrics of a prediction log, per segment and per period."""


@app.command()
@one_line_errors
def report(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Parquet, CSV, Arrow IPC or NDJSON files, globs, folders (hive-partitioned or not), "
            "duckdb:FILE.duckdb::TABLE, or a folder that polars-ec sketch made.",
            show_default=False,
        ),
    ],
    score: Annotated[
        list[str] | None, typer.Option(help="Column of scores; once more for each further model. Sketches know it.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="Column of true classes. Sketches know it.")] = None,
    by: By = None,
    time: Time = None,
    every: Every = None,
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Calendar of the periods of timestamps with a zone or offset, such as Europe/Berlin. Default: UTC, or what "
            "the sketches were made with. Timestamps without a zone are taken as they are."
        ),
    ] = None,
    cost_fn: Annotated[
        float | None, typer.Option(help="Cost of a missed positive. Default: 1, or what the sketches were made for.")
    ] = None,
    cost_fp: Annotated[
        float | None, typer.Option(help="Cost of a false alarm. Default: 1, or what the sketches were made for.")
    ] = None,
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
        str | None,
        typer.Option(
            help="posterior (default), log_odds, llr, decision, posteriors, log_posteriors or log_likelihoods."
        ),
    ] = None,
    weight: Weight = None,
    pos_label: PosLabel = None,
    classes: Annotated[str | None, typer.Option(help="The label's values in class order: a,b,c or JSON.")] = None,
    metrics: Annotated[
        list[str] | None,
        typer.Option(help="Columns instead of the usual ones: nec,f1,auc_roc. Once more for further ones."),
    ] = None,
    min_rows: Annotated[int | None, typer.Option(help="Mark groups with fewer rows in a column `small`.")] = None,
    total: Annotated[
        bool, typer.Option("--total", help="A last row over all groups, marked in a column `total`.")
    ] = False,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="A row per group and class: the class against the rest.")
    ] = False,
    missing: Annotated[
        Missing, typer.Option(help="Count the rows with a null together, or also by the part that is null.")
    ] = Missing.together,
    score_prior: Annotated[
        str | None,
        typer.Option(
            help="The prior that the posteriors were made with: columns _at_prior are of posteriors moved from it."
        ),
    ] = None,
    interval: Interval = None,
    cluster: Cluster = None,
    buckets: Buckets = None,
    method: Resampling = None,
    replicates: Replicates = None,
    seed: Seed = None,
    form: Annotated[
        Format | None,
        typer.Option("--format", help="Default: by the name of --out, else table.", case_sensitive=False),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write, instead of stdout: .txt, .csv, .parquet or .json; or a pipe.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Report the usual battery of metrics on a prediction log, a row per group.

    Rows whose label, score or weight is missing are left out and counted; a group with wrong rows has no metrics.
    Columns that end in _at_prior have the values at the reference prior, those in _error how far off the value may be, and those in
    _ci_low and _ci_high its confidence limits, for which rows that are not independent need --cluster. Of a
    folder of sketches, --by and --every roll up its groups, and NAME_low and NAME_high bound what depends on a threshold that
    the sketches do not know.
    """
    chosen = format_for(form, out)
    check_duration(every)
    if min_rows is not None and min_rows < 0:
        raise UsageError(f"--min-rows {min_rows}: pass 0 or more")
    asked_layout = {
        "metrics": None if metrics is None else parse_metrics(metrics),
        "min_rows": min_rows,
        "total": total or None,
        "per_class": per_class or None,
        "missing": None if missing is Missing.together else "by_part",
        "score_prior": None if score_prior is None else parse_prior(score_prior, "--score-prior", ["uniform"]),
    }
    layout = {name: value for name, value in asked_layout.items() if value is not None}
    layout |= intervals(interval, cluster, buckets, method, replicates, seed)
    parsed = {
        "cost_fn": cost_fn,
        "cost_fp": cost_fp,
        "costs": None if costs is None else parse_json(costs, "--costs"),
        "prior": None if prior is None else parse_prior(prior),
        "threshold": threshold,
    }
    options: dict[str, Any] = {name: value for name, value in parsed.items() if value is not None}
    stated = {
        "score_type": score_type,
        "weight": weight,
        "pos_label": pos_label,
        "classes": None if classes is None else parse_classes(classes),
    }
    reading = {name: value for name, value in stated.items() if value is not None}
    folder = next((Path(path) for path in paths if SketchFolder.is_at(Path(path))), None)
    if folder is None:
        zone = check_period(time, every, time_zone)
        if not score or label is None:
            raise UsageError(f"a report on rows needs {'--label' if score else '--score'}: the column's name")
        asked = {"score_type": "posterior", **options, **reading}
        table, warnings = _answer(paths, Request(score, label, by or [], time, every, asked, layout, zone, cluster))
    else:
        if len(paths) > 1:
            raise UsageError(
                f"{', '.join(paths)}: report on one folder of sketches at a time, and on nothing beside it"
            )
        if time is not None:
            check_period(time, every, time_zone)
        known: dict[str, Any] = {f"--{name.replace('_', '-')}": value for name, value in reading.items()}
        known |= {} if cluster is None else {"--cluster": cluster}
        known |= {} if buckets is None else {"--buckets": buckets}
        known |= {} if label is None else {"--label": label}
        known |= {} if not score else {"--score": score[0] if len(score) == 1 else score}
        _tell_undone(folder)
        try:
            with panics_unseen():
                table, warnings = sketch_report(
                    folder, known, RollUp(by or [], time, every, time_zone), options, layout
                )
        except PanicException as error:
            raise DataError(f"{folder}: {first_line(error)}") from error
    for warning in [*warnings, *_told_of_invalid_rows(rows_of_groups(table, layout))]:
        tell(warning)
    if chosen is Format.table and table.height > SHOWN_ROWS and not quiet:
        tell(f"the table shows {SHOWN_ROWS} of {table.height} rows: --format csv has them all")
    # A file is for an editor, or for a pager, which have room to the right.
    width = terminal_width() if out is None else None
    write(encode(table, chosen, names=_count_of_names(table), width=width), out)


def _count_of_names(table: pl.DataFrame) -> int:
    """How many columns, before that of the rows used, say what a row of the report is about."""
    return table.columns.index("n")


def _told_of_invalid_rows(table: pl.DataFrame) -> list[str]:
    """Metrics that are empty need a reason where the table is not all that is looked at."""
    n_invalid = int(table["n_invalid"].sum())
    if not n_invalid:
        return []
    rows = "1 row has" if n_invalid == 1 else f"{n_invalid} rows have"
    return [
        f"{rows} a wrong score, label or weight (n_invalid), and their groups no metrics: are --score-type and --classes right?"
    ]


def _tell_undone(folder: Path) -> None:
    """A report of half a log looks like one of the whole."""
    undone = {source: why for source, why in SketchFolder(folder).undone().items() if not is_pos_label_note(source)}
    if undone:
        source, why = next(iter(undone.items()))
        first = why if source in why else f"{source} {why}"
        more = f", and {len(undone) - 1} more" if len(undone) > 1 else ""
        tell(f"{folder}: the last polars-ec sketch left something undone: {first}{more}")


def _answer(paths: list[str], request: Request) -> tuple[pl.DataFrame, list[str]]:
    """The report, and what is to be said about it."""
    tables = [match for match in map(_DUCKDB.fullmatch, paths) if match]
    if not tables:
        broken = next((path for path in paths if path.startswith("duckdb:")), None)
        if broken is not None:
            raise UsageError(f"{broken}: a DuckDB table is given as duckdb:FILE.duckdb::TABLE")
        log = open_log(paths).with_codes(request.columns())
        try:
            return report_from_files(log, request)
        except DifferingFilesError:
            asked = request.columns()
            return report_from_files(log.unified(asked, [*asked["--by"], *asked["--cluster"]]), request)
    if len(paths) > 1:
        raise UsageError(f"{', '.join(paths)}: report on one DuckDB table at a time, and on nothing beside it")
    return report_from_duckdb(tables[0]["file"], tables[0]["table"], request)


@app.command()
@one_line_errors
def sketch(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH...",
            help="Parquet, CSV, Arrow IPC or NDJSON files, globs, folders (hive-partitioned or not).",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the sketches.")],
    score: Annotated[list[str], typer.Option(help="Column of scores; once more for each further model.")],
    label: Annotated[str, typer.Option(help="Column of true classes.")],
    by: By = None,
    time: Time = None,
    every: Every = None,
    resolution: Annotated[int, typer.Option(help="Bins per nat of log-odds.")] = 64,
    exact: Annotated[bool, typer.Option("--exact", help="Keep every distinct score instead of bins.")] = False,
    threshold: Annotated[
        list[float] | None, typer.Option(help="Threshold that must be exact; once more for each further one.")
    ] = None,
    cost_fn: Annotated[float, typer.Option(help="Cost of a missed positive: its Bayes threshold is exact.")] = 1.0,
    cost_fp: Annotated[float, typer.Option(help="Cost of a false alarm.")] = 1.0,
    prior: Annotated[str | None, typer.Option(help="For LLRs: the prior whose Bayes threshold must be exact.")] = None,
    score_type: Annotated[str, typer.Option(help="posterior, log_odds, llr or raw.")] = "posterior",
    weight: Weight = None,
    cluster: Cluster = None,
    buckets: Buckets = BUCKETS,
    pos_label: PosLabel = None,
    classes: Annotated[str | None, typer.Option(help="The label's two values in class order: a,b or JSON.")] = None,
    time_zone: Annotated[
        str | None,
        typer.Option(
            help="Calendar of the periods of timestamps with a zone or offset, such as Europe/Berlin. Default: UTC. "
            "Timestamps without a zone are taken as they are."
        ),
    ] = None,
    vanished: Annotated[
        Vanished,
        typer.Option(
            help="What becomes of the sketch of an input that is no longer there; stop: it stays, as an error."
        ),
    ] = Vanished.stop,
    quiet: Quiet = False,
) -> None:
    """Reduce a log, file by file, to a folder of small sketches, for `polars-ec report` DIR.

    It can be killed and started again at any moment: the same command goes on, and reads only files that are new or
    changed. A file that cannot be read is reported when the others are done, with exit code 1.
    """
    zone = check_period(time, every, time_zone)
    options: dict[str, Any] = {"cost_fn": cost_fn, "cost_fp": cost_fp, "score_type": score_type}
    parsed = {
        "prior": None if prior is None else parse_prior(prior),
        "weight": weight,
        "pos_label": pos_label,
        "classes": None if classes is None else parse_classes(classes),
    }
    options |= {name: value for name, value in parsed.items() if value is not None}
    if options.get("prior") == "overall":
        raise UsageError("--prior overall: a sketch is made before the whole log is read: state the prior")
    request = Request(score, label, by or [], time, every, options, time_zone=zone, cluster=cluster)
    grid = {"resolution": resolution, "exact": exact, "thresholds": threshold or [], "buckets": buckets}
    track = nullcontext if quiet else progress
    outcome = run_job(paths, out, SketchOptions(request, grid), vanished=vanished, track=track)
    for line in [*([] if quiet else outcome.notes()), *outcome.problems()]:
        tell(line)
    if not quiet:
        say(outcome.summary(out))
    if outcome.failures:
        raise typer.Exit(1)


@app.command("sql")
@one_line_errors
def print_sql(
    out: Annotated[Path | None, typer.Option(help="File to write, instead of stdout.")] = None,
) -> None:
    """Print the DuckDB macros, for any DuckDB client."""
    write(macros.text().encode(), out)


@app.command()
@one_line_errors
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the log and the report.")] = Path("demo-output"),
) -> None:
    """Run the whole thing on real data: a model of flight delays, reported per carrier and per month."""
    # What it needs is an extra, and of no use to the other commands.
    from polars_ec.cli.demo import run as run_demo

    run_demo(out, echo=lambda text: write(f"{text}\n".encode(), None))


def main() -> None:
    """The command line as a program."""
    run(app)
