"""A sentence of a verdict, and what sentences call things."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from polars_ec.page.contents import Contents
from polars_ec.page.wording import count, isolated, names_of, period_text

Kind: TypeAlias = Literal["bad", "good", "neutral"]
NEC = "nec"
KINK = " Two constant decisions cost about the same here, so that these limits may be too close."


@dataclass(frozen=True)
class Sentence:
    """A finding, as plain text; whether it is bad or good news, or none."""

    kind: Kind
    text: str


def names_in(table: pl.DataFrame, keys: Sequence[str], period: str | None) -> list[str]:
    """What the rows of a table are called: groups, periods, or groups in periods."""
    if period is None:
        return _isolated(names_of(table, keys)) if keys else ["all"] * table.height
    periods = [period_text(value, table[period]) for value in table[period].to_list()]
    return (
        [f"{name}, {at}" for name, at in zip(_isolated(names_of(table, keys)), periods, strict=True)]
        if keys
        else periods
    )


def groups_in(contents: Contents, table: pl.DataFrame | None = None) -> list[str]:
    """What the groups of a page are called, or those of some rows: as its table calls them."""
    return _isolated(contents.labels if table is None else contents.labels_of(table))


def _isolated(names: Sequence[str]) -> list[str]:
    return [isolated(name) for name in names]


def those_judged(number: int, of: int, what: str) -> str:
    """How many could be told apart from noise: "200 groups", or "68 groups that can be judged" where there are more."""
    return number_of(number, what) + " that can be judged" * (number < of)


def number_of(number: int, what: str) -> str:
    """How many there are: "200 groups"."""
    return count(number, what, "groups and periods" if what == "group and period" else None)
