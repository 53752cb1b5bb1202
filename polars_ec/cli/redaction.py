"""What messages keep to themselves: passwords, tokens and signed queries, wherever a library has put them into its words."""

from __future__ import annotations

import re

from polars_ec.cells.parquet import first_line

# What carries a password: a setting of a connection string or of a URL, and the user's part of a URL.
_SETTING = re.compile(
    r"((?:password|passwd|pwd|secret|token|sig|signature|\w*_(?:password|secret|token|key))\s*=\s*)('(?:[^'\\]|\\.)*'|\S+)",
    re.I,
)
_PASSWORD = re.compile(r"(://[^\s/:@]*:)\S*@")
# Queries may be signed, and hold what nobody else should read.
_QUERY = re.compile(r"(\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s?]*)\?\S+")
_USER = re.compile(r"(://)[^/@\s]*@")


def redacted(text: str) -> str:
    """The text of a message about a database, stars in place of passwords."""
    return _PASSWORD.sub(r"\1***@", _SETTING.sub(r"\1***", text))


def without_queries(text: str) -> str:
    """The text without users, passwords and what follows the `?` in the addresses in it."""
    return _USER.sub(r"\1", _QUERY.sub(r"\1", text))


def without_secrets(text: str) -> str:
    """The text of whatever went wrong, of which nobody knows what is in it."""
    return without_queries(redacted(text))


def why(error: BaseException) -> str:
    """The first line of what went wrong, for people: no query of an address is in it."""
    return without_queries(first_line(error))
