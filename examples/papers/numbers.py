"""A number beside the one that it is held against, tables of them, and small logs whose numbers can be written out by hand."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import polars as pl

Against: TypeAlias = Literal["print", "notebook", "figure", "simulation", "equation", "words"]
"""What a number is held against: one in print, of the authors' notebook, read off a figure, of another simulation of the paper's set-up, of
the paper's equation, or what the paper says in words, which is a range."""
_ROUNDING = 1e-9
"""Halves are rounded either way in print, and floats are not exact."""


@dataclass(frozen=True)
class Number:
    """What is computed, and the range in which it agrees with the paper."""

    computed: float
    low: float
    high: float
    shown: str
    """What it is held against, as one reads it: `0.25`, `below 0`; empty where the paper has no number."""
    decimals: int = 4
    """How many decimals of what is computed are shown."""
    expected: float | None = None
    """The one number that it is held against, where it is not a range."""
    against: Against | None = None
    """What it is held against; `None` where the paper has nothing."""
    widened: bool = False
    """Whether it may be off by more than a rounding."""

    @property
    def compared(self) -> bool:
        """Whether the paper has something to hold it against."""
        return self.against is not None

    @property
    def agrees(self) -> bool:
        """Whether it is where the paper has it; what is not compared agrees, unless it is NaN."""
        return self.low <= self.computed <= self.high

    @property
    def difference(self) -> float | None:
        """The distance from the printed number."""
        return None if self.expected is None else self.computed - self.expected

    @property
    def allowed(self) -> float | None:
        """The largest distance from the printed number that agrees."""
        return None if self.expected is None else self.high - self.expected


def printed(computed: float, text: str, *, within: float | None = None, against: Against = "print") -> Number:
    """Hold a number against one as it is printed, or written elsewhere: by default it agrees where it rounds to that number."""
    expected = float(text)
    decimals = len(text.partition(".")[2])
    rounding = 0.5 * 10.0**-decimals
    allowed = (rounding if within is None else within) + _ROUNDING
    ends = (expected - allowed, expected + allowed)
    return Number(float(computed), *ends, text, decimals + 2, expected, against, allowed > rounding + 2 * _ROUNDING)


def by_equation(computed: float, expected: float, *, within: float | None = None, relative: float = 1e-9) -> Number:
    """Hold a number against the paper's equation in NumPy: on the same rows, or (`within`) on the distribution of the rows."""
    expected = float(expected)
    allowed = relative * max(abs(expected), 1.0) if within is None else within
    # Adding zero makes -0.0 a plain 0.0.
    shown = f"{round(expected, 6) + 0.0:.6f}"
    widened = within is not None or relative > _ROUNDING
    return Number(float(computed), expected - allowed, expected + allowed, shown, 6, expected, "equation", widened)


def between(
    computed: float, low: float, high: float, shown: str, *, decimals: int = 4, against: Against = "words"
) -> Number:
    """Hold a number against what a paper says in words, or what its figure lets one read off: `below 0`, `0.28 to 0.48`."""
    return Number(float(computed), low, high, shown, decimals, against=against)


def above(value: float, low: float, what: str = "") -> Number:
    """Hold a number against a lower one that the text names, or calls `what`."""
    return between(value, math.nextafter(low, math.inf), math.inf, f"above {what or f'{low:g}'}")


def below(value: float, high: float, what: str = "") -> Number:
    """Hold a number against a higher one that the text names, or calls `what`."""
    return between(value, -math.inf, math.nextafter(high, -math.inf), f"below {what or f'{high:g}'}")


def near(value: float, middle: float, margin: float, shown: str = "", *, decimals: int = 4) -> Number:
    """Hold a number against another one, give or take a margin."""
    return between(value, middle - margin, middle + margin, shown or f"{middle:.4f} +- {margin:.4f}", decimals=decimals)


def near_share(share: float, expected: float, rows: int) -> Number:
    """Hold a share of so many rows against the expected one: three standard errors are allowed."""
    return near(share, expected, 3 * math.sqrt(expected * (1 - expected) / rows))


def alone(computed: float, *, decimals: int = 4) -> Number:
    """Show a number of which the paper has none."""
    return Number(float(computed), -math.inf, math.inf, "", decimals)


def whole(computed: float, expected: float, against: Against = "equation") -> Number:
    """Hold a whole number, such as a class or a count of rows, against the one that it must be."""
    return Number(float(computed), expected - 0.5, expected + 0.5, f"{expected:.0f}", 0, float(expected), against)


def equal_rows(computed: Any, expected: Any) -> Number:
    """Hold a decision for each row against the paper's: all of them agree."""
    return whole(int((computed == expected).sum()), len(expected))


Rows: TypeAlias = Any
"""Rows that are yielded, the name of each before its numbers, or numbers by name; a pair is what is computed, and what the equation gives."""


@dataclass(frozen=True)
class Table:
    """Numbers in rows and columns; `None` is an empty cell."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Number | None]]]
    """Given as `Rows`."""
    notes: Sequence[str] = ()
    """What the reader must know: a slip of the paper, why more than a rounding is allowed."""

    def __post_init__(self) -> None:
        pairs = self.rows.items() if isinstance(self.rows, Mapping) else self.rows
        rows = [
            (name, [_number(x) for x in (cells[0] if isinstance(cells[0], list) else cells)]) for name, *cells in pairs
        ]
        for name, cells in rows:
            if len(cells) != len(self.columns):
                raise ValueError(f"row {name!r} has {len(cells)} cells for {len(self.columns)} columns")
        object.__setattr__(self, "rows", rows)

    @property
    def numbers(self) -> list[Number]:
        """All of its numbers, row by row."""
        return [number for _, cells in self.rows for number in cells if number is not None]


def _number(cell: Any) -> Number | None:
    return by_equation(*map(float, cell)) if isinstance(cell, tuple) else cell


def counted(table: Any) -> pl.DataFrame:
    """A log of decisions with these counts, rows true classes and columns decisions: one row per cell, whose weight is `n`."""
    cells = [(i, j, float(n)) for i, row in enumerate(table) for j, n in enumerate(row)]
    return pl.DataFrame(cells, schema={"label": pl.Int16, "decision": pl.Int16, "n": pl.Float64}, orient="row")


OF_COUNTED: dict[str, Any] = {"score": "decision", "label": "label", "score_type": "decision", "weight": "n"}
"""What a metric is told of the columns of such a log."""


def value(log: pl.DataFrame, metric: pl.Expr) -> float:
    """The one number that a metric makes of a log."""
    return float(log.select(metric).item())


def values(log: pl.DataFrame, metric: pl.Expr) -> Any:
    """A number of each row, or a vector, as an array."""
    return log.select(metric).to_series().to_numpy()


def decided(log: pl.DataFrame, metric: Callable[..., pl.Expr], **options: Any) -> float:
    """A metric of the column `decision`, whose rows weigh `n` where there is such a column."""
    weight = {"weight": "n"} if "n" in log.columns else {}
    return value(log, metric("decision", "label", score_type="decision", **weight, **options))


def lines(text: str) -> list[list[str]]:
    """The words of each line of a printed table."""
    return [line.split() for line in text.strip().splitlines()]
