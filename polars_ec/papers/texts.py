"""Entries as text: the numbers that are computed, in brackets those of the paper, and how far they are apart."""

from __future__ import annotations

from polars_ec.papers.numbers import Number, Table


def table_text(table: Table) -> str:
    """A line per row; at its end the largest difference, as a share of what is allowed."""
    lines = [["", *table.columns, "largest difference"]]
    lines += [[name, *map(_cell, cells), _difference(cells)] for name, cells in table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rows = [
        "  ".join([line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]).rstrip()
        for line in lines
    ]
    return "\n".join([*rows, *table.notes])


def _cell(number: Number | None) -> str:
    if number is None:
        return ""
    computed = f"{number.computed:.{number.decimals}f}"
    wrong = "" if number.agrees else " !"
    return f"{computed} ({number.shown}){wrong}" if number.compared else computed


def _difference(cells: object) -> str:
    assert isinstance(cells, tuple | list)
    apart = [
        (abs(number.difference), number.allowed)
        for number in cells
        if number is not None and number.difference is not None and number.allowed is not None
    ]
    if not apart:
        return ""
    difference, allowed = max(apart, key=lambda pair: pair[0] / pair[1])
    return f"{difference:.2g} of {allowed:.2g}"
