"""The command `polars-ec sketch`: a job that can be killed, told in options, a progress bar and one line per problem."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated, Any

import typer

from polars_ec._arguments import Question, check_period, one_line_errors, parse_classes, parse_prior
from polars_ec._sketch_job import Outcome, SketchOptions, Task, Vanished, run
from polars_ec._sources import UsageError


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
    score: Annotated[str, typer.Option(help="Column of scores.")],
    label: Annotated[str, typer.Option(help="Column of true classes.")],
    by: Annotated[list[str] | None, typer.Option(help="Column of a segment; once more for each further one.")] = None,
    time: Annotated[str | None, typer.Option(help="Column of dates or timestamps, cut to --every.")] = None,
    every: Annotated[str | None, typer.Option(help="Period: 1h, 1d, 1w, 1mo, 1q, 1y.")] = None,
    resolution: Annotated[int, typer.Option(help="Bins to the nat of log-odds.")] = 64,
    exact: Annotated[bool, typer.Option("--exact", help="Keep every distinct score instead of bins.")] = False,
    threshold: Annotated[
        list[float] | None, typer.Option(help="Threshold that must be exact; once more for each further one.")
    ] = None,
    cost_fn: Annotated[float, typer.Option(help="Cost of a missed positive: its Bayes threshold is exact.")] = 1.0,
    cost_fp: Annotated[float, typer.Option(help="Cost of a false alarm.")] = 1.0,
    prior: Annotated[str | None, typer.Option(help="For LLRs: the prior whose Bayes threshold must be exact.")] = None,
    score_type: Annotated[str, typer.Option(help="posterior, log_odds, llr or raw.")] = "posterior",
    weight: Annotated[str | None, typer.Option(help="Column of row weights.")] = None,
    pos_label: Annotated[str | None, typer.Option(help="The label's value that is the positive class.")] = None,
    classes: Annotated[str | None, typer.Option(help="The label's two values in class order: a,b or JSON.")] = None,
    vanished: Annotated[
        Vanished,
        typer.Option(
            help="What becomes of the sketch of an input that is no longer there; stop: it stays, as an error."
        ),
    ] = Vanished.stop,
) -> None:
    """Reduce a log, file by file, to a folder of small sketches, for `polars-ec report` DIR.

    It can be killed and started again at any moment: the same command goes on, and reads only files that are new or
    changed. A file that cannot be read is reported when the others are done, with exit code 1.
    """
    check_period(time, every)
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
    question = Question([score], label, by or [], time, every, options)
    grid = {"resolution": resolution, "exact": exact, "thresholds": threshold or []}
    outcome = run(paths, out, SketchOptions(question, grid), vanished=vanished, track=_progress)
    for line in [*_notes(outcome), *outcome.failures.values()]:
        typer.echo(f"polars-ec: {line}", err=True)
    typer.echo(_summary(out, outcome))
    if outcome.failures:
        raise typer.Exit(1)


def _progress(tasks: Sequence[Task]) -> AbstractContextManager[Iterable[Task]]:
    hidden = not sys.stderr.isatty()
    return typer.progressbar(
        tasks, label="sketch", show_pos=True, item_show_func=_shown, file=sys.stderr, hidden=hidden
    )


def _shown(task: Task | None) -> str | None:
    return None if task is None else task.file.name


def _notes(outcome: Outcome) -> list[str]:
    kept = [f"{source} has vanished; its sketch still counts (--vanished keep)" for source in outcome.kept]
    return kept + [f"{source} has vanished; its sketch was removed (--vanished drop)" for source in outcome.dropped]


def _summary(out: Path, outcome: Outcome) -> str:
    parts = {
        "sketched": outcome.sketched,
        "unchanged": outcome.unchanged,
        "of other inputs": outcome.elsewhere + len(outcome.kept),
        "failed": len(outcome.failures),
    }
    told = ", ".join(f"{n} {what}" for what, n in parts.items() if n or what in ("sketched", "unchanged"))
    return f"{out}: {told}; {outcome.rows} rows"
