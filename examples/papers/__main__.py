"""The command: `python -m examples.papers [NAME] [--out FOLDER] [--scores NAME=FILE]`, as `make papers` runs it."""

import argparse
import importlib.util
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import polars_ec as ec
from examples.papers import catalogue
from examples.papers.paper import Result, numbers_of, result_of
from examples.papers.posteriors.tables import check_classes
from examples.papers.score_files import ScoreSet, read_score_set
from examples.papers.texts import WIDTH, entry_text, has_text, ledger_text, legend_text, outcome_text, paper_text

# Lines of a terminal that are wider are hard to read, and in narrower ones no table has room.
_WIDEST, _NARROWEST = 200, 60
# A score set's name stands in front of each of its rows.
_LONGEST_NAME = 40
_SECONDS = 10


class UsageError(Exception):
    """Arguments that cannot be: exit status 2."""


class DataError(Exception):
    """Files that cannot be read, and numbers that disagree: exit status 1."""


def main(args: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.papers",
        description="Compute the tables, figures and experiments of the papers again, beside what they print. First the tables: behind each "
        "number, in brackets, the one in print (0.25), of the authors' notebook (n 0.25), read off a figure (f 0.25), of another simulation "
        "(s 0.25), that of the paper's equation (=0.250000), or what the paper says in words. Then the "
        "index: a row for each equation, table, figure and procedure, with its name in polars_ec, and its numbers or why there are none. "
        "Exit status 1 where a number disagrees.",
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help=f"a paper ({', '.join(p.name for p in catalogue.PAPERS)}), or an entry of one (analysis/table-4); all by default")  # fmt: skip
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="for the figures, as SVG, and for all numbers, numbers.csv")  # fmt: skip
    parser.add_argument("--scores", action="append", default=[], metavar="NAME=FILE", help="scores of another system for posteriors/table-2, held against its row of that name, if there is one; once more for each further one. Columns label (0, 1, ...) and lp0, lp1, ... (log posteriors) or p0, p1, ...; or a folder with scores.npy and targets.npy")  # fmt: skip
    options = parser.parse_args(args)
    try:
        run(options.name, options.out, options.scores)
    except (UsageError, DataError) as error:
        print(f"papers: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


def run(name: str | None, out: Path | None, scores: Sequence[str]) -> None:
    """Compute, write the files, print, and end in DataError where a number disagrees."""
    try:
        entries = catalogue.asked_for(name, catalogue.PAPERS)
        if scores:
            if catalogue.OF_SCORES not in (paper.name_of(entry) for paper, entry in entries):
                raise UsageError(f"--scores is of {catalogue.OF_SCORES}, which {name} leaves out")
            entries = catalogue.asked_for(name, catalogue.with_scores(_score_sets(scores)))
        if out is not None:
            out.mkdir(parents=True, exist_ok=True)
    except ValueError as error:
        raise UsageError(str(error)) from None
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror}") from None
    results, last = [], time.monotonic()
    for paper, entry in entries:
        if time.monotonic() - last >= _SECONDS:
            print(f"{len(results)} of {len(entries)} entries computed, now {paper.name_of(entry)}", file=sys.stderr)
            last = time.monotonic()
        results.append(result_of(paper, entry))
    if out is not None:
        numbers_of(results).write_csv(out / "numbers.csv")
        _draw([result for result in results if result.entry.draw is not None], out)
    print("\n\n".join(_texts(results)))
    wrong = [result.name for result in results if result.wrong]
    if wrong:
        raise DataError(f"{outcome_text(results)}; disagreements in {', '.join(wrong)}")


def _score_sets(scores: Sequence[str]) -> list[ScoreSet]:
    found: dict[str, ScoreSet] = {}
    for argument in scores:
        name, _, file = argument.partition("=")
        if not name.strip() or not file:
            raise UsageError(f"--scores {argument}: write NAME=FILE")
        if len(name) > _LONGEST_NAME or not name.isprintable():
            raise UsageError(f"--scores {argument!r}: a NAME has at most {_LONGEST_NAME} letters, on one line")
        if name in found:
            raise UsageError(f"--scores {argument}: there are two of that name")
        if not Path(file).exists():
            raise UsageError(f"--scores {argument}: there is no {file}")
        try:
            found[name] = read_score_set(name, Path(file))
        except ValueError as error:
            raise DataError(f"--scores {name}={error}") from None
        try:
            check_classes(found[name])
        except ValueError as error:
            raise DataError(f"--scores {argument}: {error}") from None
    return list(found.values())


def _draw(results: Sequence[Result], out: Path) -> None:
    """Write the figures as SVG, where there is what draws them."""
    if results and not (importlib.util.find_spec("altair") and importlib.util.find_spec("vl_convert")):
        print("figures are left out: they need Altair and vl-convert-python: pip install 'polars_ec[plot]'", file=sys.stderr)  # fmt: skip
        return
    for result in results:
        ec.plot.save(result.entry.draw(), out / result.picture)


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


if __name__ == "__main__":
    sys.exit(main())
