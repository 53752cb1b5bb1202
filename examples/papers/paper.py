"""What a paper has: its equations, tables, figures and procedures, each with the name that it has here, and their results."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import InitVar, dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

from examples.papers.numbers import Number, Rows, Table

if TYPE_CHECKING:
    from altair import TopLevelMixin

Kind: TypeAlias = Literal["equation", "table", "figure", "text", "procedure"]
_NOT_COMPUTED = "not computed: "


@dataclass(frozen=True)
class Entry:
    """One equation, table, figure, number in the text, or procedure of a paper."""

    name: str
    """As it is asked for on the command line: `table-4`, `equation-12`, `section-4.8.1`, `bootstrap`."""
    title: str
    """As the paper has it: `Table 4`, `Equation 12`, `Section 4.8.1`."""
    kind: Kind
    what: str
    """What it is about, in a few words."""
    here: str
    """The name that it has in polars_ec, such as `ec.nec`; what it is part of, where it has none of its own."""
    table: Callable[[], Table] | None = None
    """Its numbers beside those of the paper."""
    draw: Callable[[], "TopLevelMixin"] | None = None
    """Its figure."""
    reason: str = ""
    """Why there is no number: nothing to compute (a definition, a step of a derivation), or data that are not at hand."""

    def __post_init__(self) -> None:
        if (self.table is None) != bool(self.reason):
            raise ValueError(f"{self.name}: numbers or a reason why there are none, and not both")


@dataclass(frozen=True)
class Paper:
    """A paper, with all that it has."""

    name: str
    """As it is asked for on the command line: `analysis`, `posteriors`."""
    authors: str
    title: str
    entries: list[Entry] = field(default_factory=list)
    notes: Sequence[str] = ()
    """Conventions of the paper that are not those of polars_ec."""
    contents: InitVar[str] = ""
    """A row for each entry, in the paper's order: `Equation 12 | what | here`, or `name | title | kind | what | here`.

    Why there is nothing to compute follows after one more bar, as `not computed: ...`. Below a row are the notes of its table, each
    after `- `. A line that is indented further than the one above goes on with it.
    """
    computed: dict[str, Callable[[Sequence[str]], Table]] = field(default_factory=dict)
    """By entry: what makes its table, given its notes."""

    def __post_init__(self, contents: str) -> None:
        for row in filter(str.strip, re.split(r"\n(?=\S)", contents.strip())):
            head, *notes = (" ".join(text.split()) for text in re.split(r"\n  - ", row))
            self.entries.append(self._entry(head.split(" | "), notes))

    def _entry(self, fields: list[str], notes: list[str]) -> Entry:
        *fields, reason = fields if fields[-1].startswith(_NOT_COMPUTED) else [*fields, ""]
        if len(fields) == 3:
            title, what, here = fields
            kind = title.split()[0].lower()
            name, kind = title.lower().replace(" ", "-"), "text" if kind == "section" else kind
        else:
            name, title, kind, what, here = fields
        if reason:
            return Entry(name, title, kind, what, here, reason=reason.removeprefix(_NOT_COMPUTED))

        def draw() -> "TopLevelMixin":
            # It needs Altair, which is an extra.
            charts = import_module(f"{__package__}.{self.name.replace('-', '_')}.charts")
            return getattr(charts, name.replace("-", "_"))()

        table = partial(self._table, name, notes)
        return Entry(name, title, kind, what, here, table, draw if kind == "figure" else None)

    def _table(self, name: str, notes: list[str]) -> Table:
        return self.computed[name](notes)

    def __call__(self, name: str, *, columns: Sequence[str] = ("value",), notes: Sequence[str] = ()) -> Any:
        """Decorate what computes an entry: its `Table`, or the `Rows` of one with these columns, and with notes that have numbers in them."""

        def enter(compute: Callable[[], Rows]) -> Callable[[], Rows]:
            def table(others: Sequence[str]) -> Table:
                found = compute()
                rows, names, of_rows = (
                    (found.rows, found.columns, found.notes) if isinstance(found, Table) else (found, columns, notes)
                )
                return Table(names, rows, [*others, *of_rows])

            self.computed[name] = table
            return compute

        return enter

    def name_of(self, entry: Entry) -> str:
        """By which an entry of it is asked for: `analysis/table-4`."""
        return f"{self.name}/{entry.name}"


@dataclass(frozen=True)
class Result:
    """An entry of a paper with its table, where it has one."""

    paper: Paper
    entry: Entry
    table: Table | None

    @property
    def name(self) -> str:
        """As it is asked for: `analysis/table-4`."""
        return self.paper.name_of(self.entry)

    @property
    def picture(self) -> str:
        """The file of its figure."""
        return f"{self.paper.name}-{self.entry.name}.svg"

    @property
    def held(self) -> list[Number]:
        """The numbers that are held against something: what has nothing to be held against must be a number at least."""
        return [] if self.table is None else [n for n in self.table.numbers if n.compared or not n.agrees]

    @property
    def wrong(self) -> list[Number]:
        """The numbers that disagree."""
        return [number for number in self.held if not number.agrees]


def result_of(paper: Paper, entry: Entry) -> Result:
    """Compute an entry."""
    return Result(paper, entry, None if entry.table is None else entry.table())


def farthest(numbers: Sequence[Number]) -> Number | None:
    """The number that takes up the largest part of what is allowed, of those that are held against one number."""

    def part(number: Number) -> float:
        taken = abs(number.difference) / number.allowed
        return math.inf if math.isnan(taken) else taken

    return max((number for number in numbers if number.difference is not None), key=part, default=None)


def numbers_of(results: Sequence[Result]) -> pl.DataFrame:
    """A row per number, with its difference from the printed one; ranges have no difference."""
    rows = [
        (
            *(result.paper.name, result.entry.name, row, column, n.computed, n.shown or None, n.expected, n.difference),
            *(n.allowed, n.agrees, n.against),
        )
        for result in results
        if result.table is not None
        for row, cells in result.table.rows
        for column, n in zip(result.table.columns, cells, strict=True)
        if n is not None
    ]
    text = dict.fromkeys(("paper", "entry", "row", "column"), pl.String)
    numbers = {"computed": pl.Float64, "shown": pl.String, "expected": pl.Float64, "difference": pl.Float64}
    verdict = {"allowed": pl.Float64, "agrees": pl.Boolean, "held_against": pl.String}
    return pl.DataFrame(rows, text | numbers | verdict, orient="row")
