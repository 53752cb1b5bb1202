"""The parts of the dbt package's sketch that depend on the kind of score: macros made of `score_kinds` (`make sql`).

The resolution is an argument of the macro, so whole numbers that follow from it are left to Jinja.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polars_ec.arguments.scales import LOG_ODDS, SCALES, SKETCH_SCORE_TYPES
from polars_ec.sketches.grid import RESERVED, Grid
from polars_ec.sql.score_kinds import Kind, kind_of
from sql.generate.dbt_macros import with_tokens

FILE = Path(__file__).parents[1] / "dbt" / "macros" / "sketch_parts.sql"

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
    texts: dict[str, tuple[str, Callable[[Kind], str]]] = {
        "sketch_valid": ("score_type", lambda kind: kind.valid),
        "sketch_usable": ("score_type", lambda kind: _columns(kind.usable)),
        "sketch_logs": ("score_type", lambda kind: _columns(kind.logs)),
        "sketch_bin": ("score_type, resolution", lambda kind: kind.bin),
        "sketch_sums": ("score_type", lambda kind: _columns(kind.sums)),
    }
    reserved = sorted(RESERVED.union(*(Grid(score_type, 1).columns for score_type in SKETCH_SCORE_TYPES)))
    columns = f"\n{{# Columns of every sketch. #}}\n{{% macro sketch_columns() %}}{{{{ return({reserved}) }}}}{{% endmacro %}}\n"
    return _HEADER + columns + "".join(_macro(name, arguments, part) for name, (arguments, part) in texts.items())


def _macro(name: str, arguments: str, part: Callable[[Kind], str]) -> str:
    """One part of every kind; LLRs are read as log-odds, which is even prior."""
    resolution: Any = _OfResolution(1)
    scales = [SCALES[score_type] for score_type in SKETCH_SCORE_TYPES]
    branches = {f"if score_type == '{scale.name}'": scale for scale in scales if not scale.is_log_odds} | {
        "else": LOG_ODDS
    }
    texts = {test: with_tokens(part(kind_of(scale, resolution, _LARGEST))) for test, scale in branches.items()}
    body = "".join(
        f"    {{%- {'el' if i and test != 'else' else ''}{test} -%}}\n        {sql}\n"
        for i, (test, sql) in enumerate(texts.items())
    )
    return f"\n{{% macro {name}({arguments}) -%}}\n{body}    {{%- endif -%}}\n{{%- endmacro %}}\n"


def _columns(columns: Mapping[str, str]) -> str:
    return ", ".join(name if sql == name else f"{sql} AS {name}" for name, sql in columns.items())


if __name__ == "__main__":
    FILE.write_text(macros(), "utf-8")
