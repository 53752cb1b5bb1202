"""A number beside the one that it is held against, and tables of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Against = Literal["print", "equation", "words"]
"""What a number is held against: one in print, the paper's equation, or what the paper says in words, which is a range."""

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
        """How far it is from the printed number."""
        return None if self.expected is None else self.computed - self.expected

    @property
    def allowed(self) -> float | None:
        """How far it may be from the printed number."""
        return None if self.expected is None else self.high - self.expected


def printed(computed: float, text: str, *, within: float | None = None) -> Number:
    """Beside a number as it is printed: by default it agrees where it rounds to that number."""
    expected = float(text)
    decimals = len(text.partition(".")[2])
    allowed = (0.5 * 10.0**-decimals if within is None else within) + _ROUNDING
    return Number(float(computed), expected - allowed, expected + allowed, text, decimals + 2, expected, "print")


def by_equation(computed: float, expected: float, *, within: float | None = None, relative: float = 1e-9) -> Number:
    """Beside the value of the paper's equation, written out in NumPy: on the same rows, or (`within`) on what rows are drawn from."""
    allowed = relative * max(abs(expected), 1.0) if within is None else within
    # Adding zero makes -0.0 a plain 0.0.
    shown = f"{round(float(expected), 6) + 0.0:.6f}"
    return Number(float(computed), expected - allowed, expected + allowed, shown, 6, float(expected), "equation")


def between(computed: float, low: float, high: float, shown: str, *, decimals: int = 4) -> Number:
    """Beside what a paper says in words, or what its figure lets one read off: `below 0`, `0.28 to 0.48`."""
    return Number(float(computed), low, high, shown, decimals, against="words")


def above(value: float, low: float, what: str = "") -> Number:
    """What a text calls higher than a number, or than `what` has it."""
    return between(value, math.nextafter(low, math.inf), math.inf, f"above {what or f'{low:g}'}")


def below(value: float, high: float, what: str = "") -> Number:
    """What a text calls lower than a number, or than `what` has it."""
    return between(value, -math.inf, math.nextafter(high, -math.inf), f"below {what or f'{high:g}'}")


def near_share(share: float, expected: float, rows: int) -> Number:
    """A share of so many rows, beside the one that is expected: three standard errors are allowed."""
    error = 3 * math.sqrt(expected * (1 - expected) / rows)
    return between(share, expected - error, expected + error, f"{expected:.4f} +- {error:.4f}")


def alone(computed: float, *, decimals: int = 4) -> Number:
    """A number of which the paper has none."""
    return Number(float(computed), -math.inf, math.inf, "", decimals)


@dataclass(frozen=True)
class Table:
    """Numbers in rows and columns; `None` is an empty cell."""

    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Number | None]]]
    notes: Sequence[str] = ()
    """What the reader must know: a slip of the paper, why more than a rounding is allowed."""

    def __post_init__(self) -> None:
        for name, cells in self.rows:
            if len(cells) != len(self.columns):
                raise ValueError(f"row {name!r} has {len(cells)} cells for {len(self.columns)} columns")

    @property
    def numbers(self) -> list[Number]:
        """All of its numbers, row by row."""
        return [number for _, cells in self.rows for number in cells if number is not None]
