"""The bundle for DuckDB 1, which has no `invoke`, and where the logarithm of 0 is an error.

There `invoke(lambda _x: E, x)` is `list_transform([x], lambda _x: E)[1]`. In DuckDB 2 that would take up to ten times as long, where a
function computes one value for each row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import count

from polars_ec.sql.macros import CREATE_SCHEMA

_TOKEN = re.compile(r"--[^\n]*|'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\w+|\s+|.", re.DOTALL)
_FUNCTIONS = """CREATE OR REPLACE MACRO ec._ln(x) AS CASE WHEN x <= 0 THEN CAST('-inf' AS DOUBLE) * CAST(x = 0 AS INTEGER) ELSE ln(x) END;
CREATE OR REPLACE MACRO ec._sqrt(x) AS CASE WHEN x < 0 THEN CAST('nan' AS DOUBLE) ELSE sqrt(x) END;
"""


def for_duckdb_1(sql: str) -> str:
    """The SQL with a `list_transform` of one value for each `invoke`, and with logarithms and roots that DuckDB 2 has."""
    text = "".join(_rewritten(_TOKEN.findall(sql), count(1)))
    return text.replace(CREATE_SCHEMA, CREATE_SCHEMA + _FUNCTIONS)


def _rewritten(tokens: Sequence[str], numbers: count[int]) -> list[str]:
    written: list[str] = []
    place = 0
    while place < len(tokens):
        if tokens[place : place + 2] == ["invoke", "("]:
            parts, place = _arguments(tokens, place + 2)
            written += _TOKEN.findall(_transform([_rewritten(part, numbers) for part in parts], next(numbers)))
        elif tokens[place] in ("ln", "sqrt") and tokens[place + 1] == "(":
            written += ["ec", ".", f"_{tokens[place]}"]
        else:
            written.append(tokens[place])
        place += 1
    return written


def _arguments(tokens: Sequence[str], start: int) -> tuple[list[list[str]], int]:
    """The parameters of the lambda, its body and its values, and the place of the parenthesis that closes them."""
    parts: list[list[str]] = [[]]
    depth = 0
    for place in range(start, len(tokens)):
        token = tokens[place]
        depth += (token in "([{") - (token in ")]}")
        if depth < 0:
            return parts, place
        if depth == 0 and token == (":" if len(parts) == 1 else ","):
            parts.append([])
        else:
            parts[-1].append(token)
    raise ValueError(f"no parenthesis closes invoke({''.join(tokens[start:])}")


def _transform(parts: Sequence[Sequence[str]], number: int) -> str:
    """A transform of a list that holds the value, or a struct of several, whose parameter gets a name that no other one has."""
    names = [token for token in parts[0] if token.isidentifier() and token != "lambda"]
    body, *values = parts[1:]
    texts = ["".join(value).strip() for value in values]
    if len(names) == 1:
        return f"list_transform([{texts[0]}], lambda {names[0]}: {''.join(body).lstrip(' ')})[1]"
    inner = {
        token for start, word in enumerate(body) if word == "lambda" for token in body[start : body.index(":", start)]
    }
    if inner & set(names):
        raise ValueError(f"a lambda within invoke has a parameter of the same name: {sorted(inner & set(names))}")
    fields = ", ".join(f"'{name}': {text}" for name, text in zip(names, texts, strict=True))
    one = f"_values_{number}"
    taken = "".join(f"{one}['{token}']" if token in names else token for token in body)
    return f"list_transform([{{{fields}}}], lambda {one}: {taken.lstrip(' ')})[1]"
