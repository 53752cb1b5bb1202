"""Entries as text: the numbers that are computed, in brackets those of the paper, and how far they are apart."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from polars_ec.papers.numbers import Number, Table
from polars_ec.papers.results import Result, farthest

WIDTH = 130
# So many numbers stand in the row of an entry, more of them in a table of their own.
_FEW = 2

LEGEND = """\
Each number is computed; in brackets is what the paper prints, or what its equation gives in NumPy, and ! where they disagree.
At the end of a row is the largest difference, of the difference that is allowed: half a unit of the last digit in print, unless a
note says otherwise."""

_GAP = "  "
_HEAD = ("", "what", "here", "computed (printed)")
_WIDEST = (18, 34, 30, 42)
# A difference that is a thousandth of what is allowed is one of the last bits, which are not the same on every machine.
_NOTHING = 1e-3


def table_text(table: Table) -> str:
    """A line per row, at its end the largest difference beside what is allowed; in parts, where it would be too wide; the notes below."""
    rows = [(name, cells) for name, cells in table.rows if any(cells)]
    numbers = zip(*(cells for _, cells in rows), strict=True)
    columns = [_aligned(name, column) for name, column in zip(table.columns, numbers, strict=True)]
    differences = [_difference(cells) for _, cells in rows]
    if any(differences):
        columns.append(_to_right(["largest difference", *differences]))
    names = _to_left(["", *(name for name, _ in rows)])
    first, *others = (
        list(map(_line, zip(names, *part, strict=True))) for part in _parts(columns, WIDTH - len(names[0]))
    )
    # What has no number, and only says why, stands in its place once.
    for at, (name, cells) in enumerate(table.rows, 1):
        if not any(cells):
            first.insert(at, name)
    return "\n\n".join(map("\n".join, [first, *others])) + "".join(f"\n{_point(note)}" for note in table.notes)


def has_text(result: Result) -> bool:
    """Whether its table is shown: few numbers stand in the row of the entry, but not what there is to know about them."""
    return result.table is not None and (len(result.table.numbers) > _FEW or bool(result.table.notes))


def heading(result: Result) -> str:
    """The name by which it is asked for, that in the paper, and what it is about."""
    entry = result.entry
    return f"{result.name}. {entry.title}: {entry.what}"


def paper_text(result: Result) -> str:
    """The paper that an entry is of: who wrote it, its title, and its conventions."""
    paper = result.paper
    title = f'{paper.authors}, "{paper.title}"'
    return "\n".join([title, "=" * len(title), *map(_point, paper.notes)])


def ledger_text(results: Sequence[Result]) -> str:
    """A row per entry: what it is about, its name here, and its numbers or the reason why there are none."""
    rows: list[tuple[str, ...]] = [_HEAD]
    for paper, of_paper in _by_paper(results):
        rows.append((f"[{paper}]", "", "", ""))
        rows += [(r.entry.title, r.entry.what, r.entry.here, numbers_text(r)) for r in of_paper]
    wrapped = [[textwrap.wrap(cell, width) for cell, width in zip(row, _WIDEST, strict=True)] for row in rows]
    lines = [line for cells in wrapped for line in zip_longest(*cells, fillvalue="")]
    columns = [_to_left(column) for column in zip(*lines, strict=True)]
    return "\n".join(map(_line, zip(*columns, strict=True)))


def numbers_text(result: Result) -> str:
    """One or two numbers side by side; of more how many agree, and how far they are apart; or why there are none."""
    if result.table is None:
        return result.entry.reason
    if len(result.table.numbers) <= _FEW:
        return ", ".join("".join(_cell(number)) for number in result.table.numbers)
    held = len(result.held)
    if not held:
        return f"{len(result.table.numbers)} numbers, none printed"
    agree = f"{held - len(result.wrong)} of {held} agree"
    most = farthest(result.held)
    return agree if most is None else f"{agree}, the farthest {_apart(most)}"


def outcome_text(results: Sequence[Result]) -> str:
    """How many numbers agree, of how many."""
    held = sum(len(result.held) for result in results)
    wrong = sum(len(result.wrong) for result in results)
    return f"{held - wrong:,} of {held:,} numbers agree"


def _by_paper(results: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    for name in dict.fromkeys(result.paper.name for result in results):
        yield name, [result for result in results if result.paper.name == name]


def _cell(number: Number | None) -> tuple[str, str]:
    """What is computed, and what it is held against."""
    if number is None:
        return "", ""
    # Adding zero makes -0.0 out of no digit of a negative number a plain 0.0.
    computed = f"{round(number.computed, number.decimals) + 0.0:.{number.decimals}f}"
    return computed, (f" ({number.shown})" if number.compared else "") + ("" if number.agrees else " !")


def _aligned(name: str, numbers: Sequence[Number | None]) -> list[str]:
    """A column with its head: digits below digits, brackets below brackets."""
    pairs = list(map(_cell, numbers))
    widest, longest = (max((len(pair[k]) for pair in pairs), default=0) for k in range(2))
    return _to_right([name, *(f"{value.rjust(widest)}{held.ljust(longest)}" for value, held in pairs)])


def _difference(cells: Sequence[Number | None]) -> str:
    most = farthest([number for number in cells if number is not None])
    return "" if most is None else _apart(most)


def _apart(number: Number) -> str:
    """How far it is from what is printed, of how far it may be."""
    assert number.difference is not None
    assert number.allowed is not None
    difference = abs(number.difference)
    shown = "0" if difference < _NOTHING * number.allowed else f"{difference:.2g}"
    return f"{shown} of {number.allowed:.2g}"


def _parts(columns: Sequence[list[str]], width: int) -> Iterator[list[list[str]]]:
    """The columns in parts that are narrow enough, with one of them at least."""
    part: list[list[str]] = []
    used = 0
    for column in columns:
        taken = len(_GAP) + len(column[0])
        if part and used + taken > width:
            yield part
            part, used = [], 0
        part.append(column)
        used += taken
    yield part


def _to_left(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.ljust(width) for cell in cells]


def _to_right(cells: Sequence[str]) -> list[str]:
    width = max(map(len, cells))
    return [cell.rjust(width) for cell in cells]


def _line(cells: Sequence[str]) -> str:
    return _GAP.join(cells).rstrip()


def _point(text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
