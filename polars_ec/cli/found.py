"""What a search for inputs found, or why it found none."""

from __future__ import annotations

from dataclasses import dataclass, field

from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.places import Place


class NoFilesError(Exception):
    """There is no data file where there could be some, which is in `folder`, a path or an address."""

    def __init__(self, message: str, folder: str) -> None:
        super().__init__(message)
        self.folder = folder


class EmptyFolderError(NoFilesError, DataError):
    """A folder is there, and no data file in it."""


class NoMatchError(NoFilesError, UsageError):
    """A pattern that no file matches."""


@dataclass
class Found:
    """Inputs, and what should have been one but is not: a message by path."""

    files: list[Place] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    def add(self, other: Found) -> None:
        """Take in what another search found."""
        self.files += other.files
        self.problems |= other.problems


def inside(table: str) -> Found:
    """A file of a table was named: which of its files count, its log alone says."""
    return Found(
        problems={table: f"{table} is a table, not all of whose files count: name the table, and none of its files"}
    )
