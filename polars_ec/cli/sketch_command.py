"""The command `polars-ec sketch`: a job that can be killed, told in options, a progress bar and one line per problem."""

from __future__ import annotations

import sys
import time as clock
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from polars_ec.cli.logs import UsageError
from polars_ec.cli.options import Question, Quiet, check_period, one_line_errors, parse_classes, parse_prior
from polars_ec.cli.output import say
from polars_ec.cli.sketch_job import Outcome, SketchOptions, Task, Vanished, run
from polars_ec.cli.terminal import escaped, tell

_SECONDS = 10


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
    question = Question([score], label, by or [], time, every, options, time_zone=zone)
    grid = {"resolution": resolution, "exact": exact, "thresholds": threshold or []}
    track = nullcontext if quiet else _progress
    outcome = run(paths, out, SketchOptions(question, grid), vanished=vanished, track=track)
    for line in [
        *([] if quiet else _notes(outcome)),
        *outcome.warnings,
        *outcome.failures.values(),
        *_waiting(outcome),
    ]:
        tell(line)
    if not quiet:
        say(_summary(out, outcome))
    if outcome.failures:
        raise typer.Exit(1)


def _progress(tasks: Sequence[Task]) -> AbstractContextManager[Iterable[Task]]:
    if sys.stderr is None or not sys.stderr.isatty():
        return nullcontext(_told_now_and_then(tasks))
    return typer.progressbar(tasks, label="sketch", show_pos=True, item_show_func=_shown, file=sys.stderr)


def _told_now_and_then(tasks: Sequence[Task]) -> Iterator[Task]:
    """Where there is no terminal to draw a bar on, as in the log of a nightly job: a line every ten seconds."""
    last = clock.monotonic()
    for i, task in enumerate(tasks):
        now = clock.monotonic()
        if now - last >= _SECONDS:
            tell(f"{i} of {len(tasks)} inputs read, now {task.file}")
            last = now
        yield task


def _shown(task: Task | None) -> str | None:
    return None if task is None else escaped(task.file.name)


def _notes(outcome: Outcome) -> list[str]:
    kept = [f"{source} has vanished; its sketch still counts (--vanished keep)" for source in outcome.kept]
    return kept + [f"{source} has vanished; its sketch was removed (--vanished drop)" for source in outcome.dropped]


def _waiting(outcome: Outcome) -> list[str]:
    if not outcome.waiting:
        return []
    first, more = outcome.waiting[0], f" and {len(outcome.waiting) - 1} more" if len(outcome.waiting) > 1 else ""
    return [f"{first}{more}, which is new, waits until it is settled what became of the inputs that have vanished"]


def _summary(out: Path, outcome: Outcome) -> str:
    parts = {
        "sketched": outcome.sketched,
        "unchanged": outcome.unchanged,
        "of other inputs": outcome.elsewhere + len(outcome.kept),
        "waiting": len(outcome.waiting),
        "failed": len(outcome.failures),
    }
    told = ", ".join(f"{n} {what}" for what, n in parts.items() if n or what in ("sketched", "unchanged"))
    return f"{out}: {told}; {outcome.rows} rows"
