"""What a case is, and the arguments that several share. Imports nothing large: see `measure.run_apart`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.benchmarks.layout import N_PARTS

if TYPE_CHECKING:
    import polars as pl

COST_FN = 5
PRIOR = 0.1
# Bayes decisions for the costs: positive when the posterior is above this.
THRESHOLD = 1 / (1 + COST_FN)
SAMPLE_ROWS = 500_000
N_FOLDS = 5

Values = Callable[[], "pl.DataFrame"]
# What is measured. Where it gives a function and no frame, that makes the values that are compared, and is not measured.
Query = Callable[[], "pl.DataFrame | Values"]


@dataclass(frozen=True)
class Case:
    """One row of the table: `prepare` gets the files of the log, does what is not measured, and returns the query."""

    name: str
    what: str
    prepare: Callable[[list[str]], Query]
    log: str = "binary"
    # The case that this one's time and memory are compared with.
    floor: str = "a"
    # How many files are read; more than the log has: it is read again from the start.
    parts: int = N_PARTS
    sample: bool = False
    # How often it runs in a round; short ones more often.
    runs: int = 1
    # Whether it is left out where it is not named.
    on_request: bool = False

    def rows(self, rows_of_log: int) -> int:
        """How many rows the case reads of a log of this many."""
        read = rows_of_log * self.parts // N_PARTS
        return min(read, SAMPLE_ROWS) if self.sample else read

    def files(self, log: list[str]) -> list[str]:
        """The files it reads of a log."""
        return [log[part % N_PARTS] for part in range(self.parts)]

    @property
    def same_rows(self) -> tuple[str, int, bool]:
        """Equal for cases that read the same rows, whose values must agree."""
        return self.log, self.parts, self.sample
