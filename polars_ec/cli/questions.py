"""What the commands ask of a log, as the doors see it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import polars as pl

from polars_ec.cli.gates import Names
from polars_ec.cli.html_page import MadePage, Page
from polars_ec.cli.request import Rows, Sketched, Table


@dataclass(frozen=True)
class Answer:
    """The table that answers a question, and what is to be said about it."""

    table: pl.DataFrame
    said: list[str] = field(default_factory=list)
    page: MadePage | None = None


class Question(Protocol):
    """A report, a comparison: each door answers it with a table, and says what the table leaves open."""

    @property
    def layout(self) -> Mapping[str, Any]:
        """The keywords that it takes beside the options of the request."""
        ...

    @property
    def mix(self) -> Sequence[str]:
        """Columns of strata, which are no groups of the answer."""
        ...

    @property
    def window(self) -> int | None:
        """How many periods of sketches each row is of; None: its own."""
        ...

    @property
    def page(self) -> Page | None:
        """The page that is to be made beside the table."""
        ...

    def of_rows(self, rows: Rows) -> pl.LazyFrame | pl.DataFrame:
        """The answer from rows; a plan where these are one."""
        ...

    def of_table(self, table: Table) -> pl.DataFrame:
        """The answer from a table of DuckDB."""
        ...

    def of_sketch(self, sketched: Sketched) -> pl.DataFrame:
        """The answer from a sketch."""
        ...

    def check_counted(self, table: pl.DataFrame) -> None:
        """DataError for an answer at the shares of the classes in the whole log where these could not be counted."""
        ...

    def lacks_positives(self, table: pl.DataFrame) -> bool:
        """Whether no row of the log may be positive, as where the label was mistyped."""
        ...

    def notes(self, table: pl.DataFrame) -> list[str]:
        """What is to be said about an answer."""
        ...

    def verdict(self, table: pl.DataFrame) -> list[str]:
        """What the answer says, in sentences, for who reads it on a terminal."""
        ...

    def chart(self, table: pl.DataFrame) -> Any:
        """The chart of the first metric of an answer."""
        ...

    def names(self, table: pl.DataFrame) -> Names:
        """What the rows of an answer are called."""
        ...
