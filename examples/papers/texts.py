"""Entries as text: the numbers that are computed, in brackets what they are held against, and how far they are off."""

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from examples.papers.numbers import Against, Number, Table
from examples.papers.paper import Entry, Result, farthest

WIDTH = 130
"""How wide lines are where nobody says how wide they may be."""
# So many numbers stand in the row of an entry, more of them in a table of their own.
_FEW = 2
_LEGEND = (
    "Each number is computed by polars_ec. In brackets is what it is held against: (0.25) is in print, (=0.250000) is what the paper's equation "
    "gives in plain NumPy, and (below 0) is what the paper says in words, or a range. Not in print are (n 0.25) of the authors' notebook, "
    "(f 0.25) read off a figure, and (s 0.25) of another simulation of the paper's set-up. An ! is behind what disagrees.",
    "A number in print agrees if it is at most half a unit of its last digit off, one of an equation at most 1e-9. Where more is allowed, the row "
    "of the entry says for how many numbers, and a note why. "
    "At the end of a row, where any of its table is off: the difference that takes up most of the one that is allowed, which is in brackets.",
)
_MARKS: dict[Against | None, str] = {"equation": "=", "notebook": "n ", "figure": "f ", "simulation": "s "}
_GAP = "  "
_OFF_BY = "off by (allowed)"
_HEAD = ("entry", "what", "in polars_ec", "computed (held against)")
# The longest name in polars_ec fits on a line; what an entry is about, and its numbers, share what it and the entry's name leave.
_HERE = 30
# In less than this four columns would be too narrow to read.
_ABREAST = 110
_TIE = "\u00a0"
# A difference that is a thousandth of what is allowed is one of the last bits, which are not the same on every machine.
_NOTHING = 1e-3


def legend_text(width: int = WIDTH) -> str:
    """How to read what follows."""
    return "\n".join(textwrap.fill(text, width) for text in _LEGEND)


def table_text(table: Table, width: int = WIDTH) -> str:
    """A line per row, which ends in the largest difference if there are any; in parts, where it would be too wide."""
    rows = [(name, cells) for name, cells in table.rows if any(cells)]
    numbers = zip(*(cells for _, cells in rows), strict=True)
    columns = [_aligned(name, column) for name, column in zip(table.columns, numbers, strict=True)]
    if any(map(_is_off, table.numbers)):
        columns.append(_to_right([_OFF_BY, *(_difference(cells) for _, cells in rows)]))
    names = _to_left(["", *(name for name, _ in rows)])
    first, *others = (
        list(map(_line, zip(names, *part, strict=True))) for part in _parts(columns, width - len(names[0]))
    )
    # What has no number, and only says why, stands in its place once.
    for at, (name, cells) in enumerate(table.rows, 1):
        if not any(cells):
            first.insert(at, name)
    return "\n\n".join(map("\n".join, [first, *others]))


def notes_text(notes: Sequence[str], width: int = WIDTH) -> str:
    """A point per note."""
    return "\n".join(
        textwrap.fill(note, width, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False)
        for note in notes
    )


def has_text(result: Result) -> bool:
    """Whether its table is shown: few numbers stand in the row of the entry, but not what there is to know about them."""
    return result.table is not None and (len(result.table.numbers) > _FEW or bool(result.table.notes))


def entry_text(result: Result, width: int = WIDTH) -> str:
    """The name by which it is asked for, that in the paper, what it is about, its table and the notes."""
    head = textwrap.fill(f"{result.name}. {result.entry.title}: {result.entry.what}", width, break_on_hyphens=False)
    parts = [table_text(result.table, width), notes_text(result.table.notes, width)]
    return f"{head}\n\n" + "\n".join(filter(None, parts))


def paper_text(result: Result, width: int = WIDTH) -> str:
    """The paper that an entry is of: who wrote it, its title, and its conventions."""
    paper = result.paper
    title = textwrap.fill(f'{paper.authors}, "{paper.title}"', width)
    line = "=" * max(map(len, title.splitlines()))
    return "\n".join(filter(None, [title, line, notes_text(paper.notes, width)]))


def ledger_text(results: Sequence[Result], width: int = WIDTH) -> str:
    """A row per entry: what it is about, its name here, and its numbers or the reason why there are none."""
    abreast = width >= _ABREAST
    names = max(len(result.entry.name) for result in results)
    left = width - names - _HERE - 3 * len(_GAP)
    widths = (names, left - left // 2 - 4, _HERE, left // 2 + 4)
    rows: list[tuple[str, ...]] = [_HEAD] if abreast else []
    for paper, of_paper in _by_paper(results):
        rows.append((f"{paper}/", "", "", ""))
        rows += [(r.entry.name, about(r.entry), r.entry.here, numbers_text(r)) for r in of_paper]
    if not abreast:
        return "\n".join(_stacked(row, width) for row in rows)
    wrapped = [[_wrapped(cell, wide) for cell, wide in zip(row, widths, strict=True)] for row in rows]
    lines = [line for cells in wrapped for line in zip_longest(*cells, fillvalue="")]
    columns = [_to_left(column) for column in zip(*lines, strict=True)]
    return "\n".join(map(_line, zip(*columns, strict=True)))


def about(entry: Entry) -> str:
    """What it is about, behind its place in the paper unless its name says that."""
    is_said = entry.name == entry.title.lower().replace(" ", "-")
    return entry.what if is_said else f"{entry.title}: {entry.what}"


def numbers_text(result: Result) -> str:
    """One or two numbers side by side; of more how many agree, and how far they are off; or why there are none."""
    if result.table is None:
        return result.entry.reason
    widened = sum(number.widened for number in result.table.numbers)
    more_allowed = f"; more than a rounding is allowed for {widened}" if widened else ""
    if len(result.table.numbers) <= _FEW:
        return ", ".join("".join(_cell(number)) for number in result.table.numbers) + more_allowed
    held = len(result.held)
    if not held:
        return f"{len(result.table.numbers)} numbers, none printed"
    agree = f"{held - len(result.wrong)} of {held} agree"
    if not any(map(_is_off, result.held)):
        return agree + more_allowed
    most = farthest(result.held)
    return f"{agree}, the farthest off by {_apart(most)}{more_allowed}"


def outcome_text(results: Sequence[Result]) -> str:
    """How many numbers agree, of how many that are held against something, and with what."""
    held = [number for result in results for number in result.held]
    if not held:
        return "there are no numbers to compare"
    agreeing = Counter[Against | None](number.against for number in held if number.agrees)
    kinds: dict[Against, str] = {
        "print": "print",
        "notebook": "the authors' notebook",
        "figure": "what is read off a figure",
        "simulation": "another simulation",
        "equation": "an equation",
        "words": "words or a range",
    }
    of_kinds = ", ".join(f"{agreeing[kind]:,} with {called}" for kind, called in kinds.items() if agreeing[kind])
    return f"{agreeing.total():,} of {len(held):,} numbers agree" + (f" ({of_kinds})" if of_kinds else "")


def _by_paper(results: Sequence[Result]) -> Iterator[tuple[str, list[Result]]]:
    for name in dict.fromkeys(result.paper.name for result in results):
        yield name, [result for result in results if result.paper.name == name]


def _wrapped(cell: str, width: int) -> list[str]:
    """Lines of a cell: a number and the one in brackets behind it stay together."""
    lines = textwrap.wrap(re.sub(r"(?<=\d) (?=\()", _TIE, cell), width, break_long_words=False)
    return [line.replace(_TIE, " ") for line in lines]


def _stacked(row: Sequence[str], width: int) -> str:
    """A row of the ledger in a narrow terminal: below its name and what it is about the name here, and its numbers."""
    name, what, here, numbers = row
    if not what:
        return name
    lines = [
        textwrap.fill(text, width, initial_indent=indent, subsequent_indent="    ", break_on_hyphens=False)
        for text, indent in ((f"{name}: {what}", ""), (here, "    "), (numbers, "    "))
    ]
    return "\n".join(lines)


def _cell(number: Number | None) -> tuple[str, str]:
    """What is computed, and what it is held against."""
    if number is None:
        return "", ""
    # Adding zero makes -0.0 out of no digit of a negative number a plain 0.0.
    computed = f"{round(number.computed, number.decimals) + 0.0:.{number.decimals}f}"
    mark = _MARKS.get(number.against, "")
    return computed, (f" ({mark}{number.shown})" if number.compared else "") + ("" if number.agrees else " !")


def _aligned(name: str, numbers: Sequence[Number | None]) -> list[str]:
    """A column with its head: digits below digits, brackets below brackets."""
    pairs = list(map(_cell, numbers))
    widest, longest = (max((len(pair[k]) for pair in pairs), default=0) for k in range(2))
    return _to_right([name, *(f"{value.rjust(widest)}{held.ljust(longest)}" for value, held in pairs)])


def _difference(cells: Sequence[Number | None]) -> str:
    most = farthest([number for number in cells if number is not None])
    return "" if most is None else _apart(most)


def _is_off(number: Number) -> bool:
    """Whether it differs from the number that it is held against, by more than last bits."""
    return number.difference is not None and not abs(number.difference) < _NOTHING * (number.allowed or 0.0)


def _apart(number: Number) -> str:
    """How far it is off, and how far it may be."""
    return f"{abs(number.difference):.2g} ({number.allowed:.2g})" if _is_off(number) else f"0 ({number.allowed:.2g})"


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
