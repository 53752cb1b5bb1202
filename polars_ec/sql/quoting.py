"""Names and texts as SQL writes them, whatever they hold."""

from __future__ import annotations


def quoted(name: str) -> str:
    """The name of a column or table."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(value: str) -> str:
    """A text, as a literal."""
    return "'" + value.replace("'", "''") + "'"
