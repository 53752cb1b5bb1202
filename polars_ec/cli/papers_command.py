"""The command `polars-ec papers`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polars_ec.cli.exit_codes import one_line_errors


@one_line_errors
def papers(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="A paper (analysis, expected-cost, posteriors, lecture, calibration), or an entry of one (analysis/table-4). Default: all.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder for the figures, as SVG, and for all numbers, numbers.csv.")
    ] = None,
    scores: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE",
            help="Scores of another system for posteriors/table-2, held against its row of that name, if there is one; once more for "
            "each further one. Columns label (0, 1, ...) and lp0, lp1, ... (log posteriors) or p0, p1, ...; or a folder with scores.npy and targets.npy.",
        ),
    ] = None,
) -> None:
    """Compute the tables, figures and experiments of the papers again, beside what they print.

    First the tables: behind each number, in brackets, the one in print (0.25), that of the paper's equation (=0.250000), or what the
    paper says in words. Then the index: a row for each equation, table, figure and procedure, with its name in polars_ec, and its
    numbers or why there are none. Exit code 1 where a number disagrees.
    """
    # Of no use to the other commands, which are not to wait for it.
    from polars_ec.cli.papers_answer import run

    run(name, out, scores or [])
