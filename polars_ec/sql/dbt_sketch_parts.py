"""The parts of the dbt package's sketch that depend on the kind of score: macros made of `score_kinds` (`make sql`).

The resolution is an argument of the macro, so whole numbers that follow from it are left to Jinja.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polars_ec.cells.grid import RESERVED, SKETCH_SCORE_TYPES, Grid
from polars_ec.sql.dbt_macros import with_tokens
from polars_ec.sql.score_kinds import KINDS, Kind

FILE = Path(__file__).parents[2] / "sql" / "dbt" / "macros" / "sketch_parts.sql"

_HEADER = (
    "{# Made by `make sql` from polars_ec/sql/score_kinds.py. #}\n\n"
    "{# What the sketch makes of each kind of score: conditions, and columns of the levels of its query. #}\n"
)
_LARGEST = repr(sys.float_info.max)


@dataclass(frozen=True)
class _OfResolution:
    """A whole number that is `factor * resolution + offset`, written as what Jinja makes of it."""

    factor: int
    offset: int = 0

    def __rmul__(self, by: int) -> _OfResolution:
        return _OfResolution(by * self.factor, by * self.offset)

    def __add__(self, more: int) -> _OfResolution:
        return _OfResolution(self.factor, self.offset + more)

    def __sub__(self, less: int) -> _OfResolution:
        return self + -less

    def __neg__(self) -> _OfResolution:
        return -1 * self

    def __str__(self) -> str:
        factor = "resolution" if self.factor == 1 else f"{self.factor} * resolution"
        offset = f" {'-' if self.offset < 0 else '+'} {abs(self.offset)}" if self.offset else ""
        return "{{ " + factor + offset + " }}"


def macros() -> str:
    """The text of the file."""
    parts: dict[str, tuple[str, Callable[[Kind], str]]] = {
        "sketch_valid": ("score_type", lambda kind: kind.valid),
        "sketch_usable": ("score_type", lambda kind: _columns(kind.usable)),
        "sketch_logs": ("score_type", lambda kind: _columns(kind.logs)),
        "sketch_bin": ("score_type, resolution", lambda kind: kind.bin),
        "sketch_sums": ("score_type", lambda kind: _columns(kind.sums)),
    }
    own = sorted(RESERVED.union(*(Grid(score_type, 1).columns for score_type in SKETCH_SCORE_TYPES)))
    columns = (
        f"\n{{# Columns of every sketch. #}}\n{{% macro sketch_columns() %}}{{{{ return({own}) }}}}{{% endmacro %}}\n"
    )
    return _HEADER + columns + "".join(_macro(name, arguments, part) for name, (arguments, part) in parts.items())


def _macro(name: str, arguments: str, part: Callable[[Kind], str]) -> str:
    """One part of every kind; LLRs are read as log-odds, which is even prior."""
    resolution: Any = _OfResolution(1)
    assert KINDS["llr"] is KINDS["log_odds"]
    posterior, raw, log_odds = (
        with_tokens(part(KINDS[score_type](resolution, _LARGEST))) for score_type in ("posterior", "raw", "log_odds")
    )
    return (
        f"\n{{% macro {name}({arguments}) -%}}\n"
        f"    {{%- if score_type == 'posterior' -%}}\n        {posterior}\n"
        f"    {{%- elif score_type == 'raw' -%}}\n        {raw}\n"
        f"    {{%- else -%}}\n        {log_odds}\n"
        "    {%- endif -%}\n{%- endmacro %}\n"
    )


def _columns(columns: Mapping[str, str]) -> str:
    return ", ".join(name if sql == name else f"{sql} AS {name}" for name, sql in columns.items())


if __name__ == "__main__":
    FILE.write_text(macros(), "utf-8")
