"""What a paper has: its equations, tables, figures and procedures, each with the name that it has here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from polars_ec.papers.numbers import Table

if TYPE_CHECKING:
    from altair import TopLevelMixin

Kind = Literal["equation", "table", "figure", "text", "procedure"]


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
    draw: Callable[[], TopLevelMixin] | None = None
    """Its figure."""
    reason: str = ""
    """Why there is no number: nothing to compute (a definition, a step of a derivation), or data that are not at hand."""

    def __post_init__(self) -> None:
        if (self.table is None) != bool(self.reason):
            raise ValueError(f"{self.name}: numbers or a reason why there are none, and not both")


def _numbered(
    word: str,
    kind: Kind,
    number: int | str,
    what: str,
    here: str,
    table: Callable[[], Table] | None = None,
    draw: Callable[[], TopLevelMixin] | None = None,
    reason: str = "",
) -> Entry:
    return Entry(f"{word}-{number}", f"{word.capitalize()} {number}", kind, what, here, table, draw, reason)


equation = partial(_numbered, "equation", "equation")
table = partial(_numbered, "table", "table")
figure = partial(_numbered, "figure", "figure")
section = partial(_numbered, "section", "text")
"""Entries that are named by their numbers: `equation(12, "net benefit", "ec.net_benefit", ...)`, `section("4.1", ...)`."""


@dataclass(frozen=True)
class Paper:
    """A paper, with all that it has."""

    name: str
    """As it is asked for on the command line: `analysis`, `posteriors`."""
    authors: str
    title: str
    entries: Sequence[Entry]
    notes: Sequence[str] = ()
    """Conventions of the paper that are not those of polars_ec."""

    def name_of(self, entry: Entry) -> str:
        """By which an entry of it is asked for: `analysis/table-4`."""
        return f"{self.name}/{entry.name}"
