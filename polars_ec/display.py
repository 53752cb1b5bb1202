"""How objects show themselves: a line in a terminal, a small table in a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

_SHOWN_NUMBERS = 5


def as_line(name: str, facts: Mapping[str, str]) -> str:
    """`Name(fact: value; fact: value)`."""
    return f"{name}({'; '.join(f'{fact}: {value}' for fact, value in facts.items())})"


def as_html(name: str, facts: Mapping[str, str]) -> str:
    """The same as a table of two columns."""
    return html_table(name, (), [[fact, value] for fact, value in facts.items()])


def html_table(caption: str, header: Sequence[object], rows: Sequence[Sequence[object]]) -> str:
    """A table whose first column names its rows; all text is escaped."""
    # Imported here, for only notebooks need it.
    from html import escape

    head = f"<thead><tr>{''.join(f'<th>{escape(str(name))}</th>' for name in header)}</tr></thead>" if header else ""
    body = "".join(
        f"<tr><th>{escape(str(first))}</th>{''.join(f'<td>{escape(str(value))}</td>' for value in others)}</tr>"
        for first, *others in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"


def number(value: float) -> str:
    """A number, without the .0 of a whole one."""
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else repr(value)


def costs_in_words(costs: Sequence[Sequence[float]]) -> str:
    """Those of two classes, a row each, and two decisions."""
    (right_0, alarm), (miss, right_1) = costs
    if right_0 == right_1 == 0:
        return f"a miss {number(miss)}, a false alarm {number(alarm)}"
    return (
        f"of decisions 0 and 1: class 0 {number(right_0)}, {number(alarm)}; class 1 {number(miss)}, {number(right_1)}"
    )


def numbers(values: Sequence[float]) -> str:
    """Ascending numbers; of many how many, from where to where."""
    if len(values) > _SHOWN_NUMBERS:
        return f"{len(values)} from {number(values[0])} to {number(values[-1])}"
    return ", ".join(map(number, values)) or "none"


def groups_by(n_groups: int, keys: Sequence[str]) -> str:
    """How many groups there are, and by what."""
    if not keys:
        return "none"
    shown = ", ".join(keys)
    return f"{n_groups:,} by {shown}"
