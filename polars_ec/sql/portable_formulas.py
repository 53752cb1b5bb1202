"""Formulas of the macros, as every engine reads them: functions that some lack are written out, and numbers are 64-bit floats."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from polars_ec.dialects import Writer

if TYPE_CHECKING:
    from sqlglot import exp

_FRACTION = re.compile(r"\b\d+(?:\.\d*)?e[-+]?\d+|\b\d+\.\d+")
# Beyond, EXP is no number, or one that has lost digits, which is an error to PostgreSQL.
_LEAST_EXPONENT, _MOST_EXPONENT = "-708.0", "709.78"


def numbers_of(formula: str, writer: Writer) -> str:
    """The formula, in which infinity and numbers with a fraction are what the dialect calls so."""
    infinite = formula.replace("CAST('inf' AS DOUBLE)", writer.infinity)
    return _FRACTION.sub(lambda number: writer.number(float(number[0])), infinite)


def portable(formula: str, writer: Writer, *, guarded: bool = False) -> str:
    """The formula without functions that an engine lacks; if `guarded`, LN and EXP of anything are NULL or a number, but never an error."""
    import sqlglot
    from sqlglot import exp

    def searched(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Case) and node.this is not None:
            of = node.this
            ifs = [
                exp.If(this=exp.EQ(this=of.copy(), expression=x.this), true=x.args["true"]) for x in node.args["ifs"]
            ]
            return exp.Case(ifs=ifs, default=node.args.get("default"))
        return node

    def written_out(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Pi):
            return _parsed(repr(math.pi))
        if isinstance(node, exp.Atanh):
            return _parsed(f"(LN(1 + {node.this.sql()}) - LN(1 - {node.this.sql()})) / 2")
        return node

    def of_any(node: exp.Expression) -> exp.Expression:
        of = node.this.sql() if isinstance(node, exp.Ln | exp.Exp) else ""
        if isinstance(node, exp.Ln):
            return _parsed(f"LN(CASE WHEN ({of}) > 0 THEN {of} END)")
        if isinstance(node, exp.Exp):
            return _parsed(
                f"CASE WHEN ({of}) < {_LEAST_EXPONENT} THEN 0.0 WHEN ({of}) > {_MOST_EXPONENT} THEN CAST('inf' AS DOUBLE) ELSE EXP({of}) END"
            )
        return node

    tree = sqlglot.parse_one(formula).transform(searched).transform(written_out)
    if guarded:
        tree = tree.transform(of_any)
    return numbers_of(tree.sql(), writer)


def _parsed(sql: str) -> exp.Expression:
    import sqlglot

    tree = sqlglot.parse_one(sql)
    assert isinstance(tree, sqlglot.exp.Expression)
    return tree
