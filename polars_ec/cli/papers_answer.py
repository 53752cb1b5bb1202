"""What `polars-ec papers` prints and writes."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath

from polars_ec.cli.chart_file import can_draw
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.output import Format, encode, write
from polars_ec.cli.progress import progress
from polars_ec.cli.terminal import tell
from polars_ec.papers import catalogue
from polars_ec.papers.entries import Entry, Paper
from polars_ec.papers.posteriors.table_2 import check_classes
from polars_ec.papers.results import Result, numbers_of, result_of
from polars_ec.papers.score_files import ScoreSet, read_score_set
from polars_ec.papers.texts import (
    WIDTH,
    entry_text,
    has_text,
    ledger_text,
    legend_text,
    outcome_text,
    paper_text,
)

# Lines of a terminal that are wider are hard to read, and in narrower ones no table has room.
_WIDEST, _NARROWEST = 200, 60
_LONGEST_NAME = 40
"""Of a score set: it stands in front of each of its rows."""


def run(name: str | None, out: Path | None, scores: Sequence[str]) -> None:
    """Compute, write the files, print, and end in DataError where a number disagrees."""
    try:
        asked = catalogue.asked_for(name, catalogue.PAPERS)
        if scores:
            if catalogue.OF_SCORES not in (paper.name_of(entry) for paper, entry in asked):
                raise UsageError(f"--scores is of {catalogue.OF_SCORES}, which {name} leaves out")
            asked = catalogue.asked_for(name, catalogue.with_scores(_score_sets(scores)))
    except ValueError as error:
        raise UsageError(str(error)) from None
    if out is not None:
        try:
            out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(f"--out {out}: {error.strerror}") from None
    with progress(asked, _path, label="papers", done="entries computed") as entries:
        results = [result_of(paper, entry) for paper, entry in entries]
    if out is not None:
        write(encode(numbers_of(results), Format.csv), out / "numbers.csv")
        _draw([result for result in results if result.entry.draw is not None], out)
    write(("\n\n".join(_texts(results)) + "\n").encode(), None)
    wrong = [result.name for result in results if result.wrong]
    if wrong:
        raise DataError(f"{outcome_text(results)}; disagreements in {', '.join(wrong)}")


def _score_sets(scores: Sequence[str]) -> list[ScoreSet]:
    found: dict[str, ScoreSet] = {}
    for given in scores:
        name, _, file = given.partition("=")
        if not name.strip() or not file:
            raise UsageError(f"--scores {given}: write NAME=FILE")
        if len(name) > _LONGEST_NAME or not name.isprintable():
            raise UsageError(f"--scores {given}: a NAME has at most {_LONGEST_NAME} letters, on one line")
        if name in found:
            raise UsageError(f"--scores {given}: there are two of that name")
        if not Path(file).exists():
            raise UsageError(f"--scores {given}: there is no {file}")
        try:
            found[name] = read_score_set(name, Path(file))
        except ValueError as error:
            raise DataError(f"--scores {name}={error}") from None
        try:
            check_classes(found[name])
        except ValueError as error:
            raise DataError(f"--scores {given}: {error}") from None
    return list(found.values())


def _path(asked: tuple[Paper, Entry]) -> PurePosixPath:
    paper, entry = asked
    return PurePosixPath(paper.name_of(entry))


def _draw(results: Sequence[Result], out: Path) -> None:
    """The figures as SVG, where there is what draws them."""
    if not results:
        return
    if not can_draw(".svg"):
        tell("figures are left out: they need Altair and vl-convert-python: pip install 'polars_ec[cli,plot]'")
        return
    from polars_ec.plotting.save import encoded  # which needs an extra

    with progress(results, lambda result: PurePosixPath(result.name), label="figures", done="figures drawn") as drawn:
        for result in drawn:
            assert result.entry.draw is not None
            write(encoded(result.entry.draw(), ".svg"), out / result.picture)


def _texts(results: Sequence[Result]) -> Iterator[str]:
    """Papers with their tables, the row of each entry, and how many numbers agree: as wide as the terminal, if it is one."""
    width = min(max(shutil.get_terminal_size((WIDTH, 0)).columns, _NARROWEST), _WIDEST)
    yield legend_text(width)
    for _, of_paper in groupby(results, key=lambda result: result.paper.name):
        first, *others = of_paper
        yield paper_text(first, width)
        for result in (first, *others):
            if has_text(result):
                yield entry_text(result, width)
    yield ledger_text(results, width)
    yield textwrap.fill(outcome_text(results), width)
