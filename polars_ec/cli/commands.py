"""The commands of `polars-ec`: options in, one table out, errors in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polars_ec import __version__
from polars_ec.cli.compare_command import compare
from polars_ec.cli.drift_command import drift
from polars_ec.cli.exit_codes import one_line_errors, run
from polars_ec.cli.output import say, write
from polars_ec.cli.papers_command import papers
from polars_ec.cli.report_command import report
from polars_ec.cli.sketch_command import sketch
from polars_ec.sql import macros

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="A first page: polars-ec report log.csv --score p --label y --by segment --cost-fn 5 --html report.html",
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


app.command(
    short_help="Metrics, a row per group; as a page by --html, as a chart by --plot.",
    epilog="Such as: polars-ec report log.csv --score p --label y --by segment --time day --every 1mo --cost-fn 5 --html report.html",
)(report)
app.command(short_help="Differences of models, or of the groups of one, with limits.")(compare)
app.command(short_help="What made metrics change from one period to another.")(drift)
app.command(short_help="Reduce a log to small sketches, which the others read.")(sketch)


@app.command("sql")
@one_line_errors
def print_sql(
    out: Annotated[Path | None, typer.Option(help="File to write, instead of stdout.")] = None,
) -> None:
    """Print the DuckDB macros, for any DuckDB client."""
    write(macros.text().encode(), out)


@app.command(short_help="All of it on real data: delays of flights.")
@one_line_errors
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the log and the report.")] = Path("demo-output"),
) -> None:
    """Run the whole thing on real data: a model of flight delays, reported per carrier and per month."""
    # What it needs is an extra, and of no use to the other commands.
    from polars_ec.cli.demo import run as run_demo

    run_demo(out, echo=lambda text: write(f"{text}\n".encode(), None))


app.command(short_help="The papers' tables and figures, computed again.")(papers)


def main() -> None:
    """The command line as a program."""
    run(app)
