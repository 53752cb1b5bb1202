"""The report of the dbt package called as report_query is, and what a query says."""

from __future__ import annotations

import re
import sys

import sqlglot
from sqlglot import exp

from tests.support.dbt_text import package
from tests.support.report_queries import ReportCase
from tests.support.warehouse_cases import MONTH, MONTH_IN

READ_AS = {"datafusion": "duckdb"}


def macro_call(case: ReportCase, dialect: str, table: str = "log", *, macros_of_duckdb: bool = False) -> str:
    """The text of the macro for a call of report_query."""
    arguments = dict(case.arguments)
    if case.segment is not None:
        table = f"(SELECT * FROM {table} WHERE segment = '{case.segment}') AS rows_of_one"
    if "month" in case.keys:
        arguments["by"] = {"segment": "segment", "month": MONTH_IN.get(dialect, MONTH)}
    if isinstance(arguments.get("prior"), dict):
        arguments["prior"] = list(arguments["prior"].values())
    return package(dialect, macros_of_duckdb=macros_of_duckdb).report(table, case.score, case.label, **arguments)


def shape(query: str, dialect: str) -> exp.Expression:
    """What a query says: without parentheses, without casts of what is a float already, columns of the levels in order of their names.

    Nor does it have the numbers of the polynomial that t is, whose last digits depend on the order of additions.
    """
    limit = sys.getrecursionlimit()
    try:
        # The parser calls itself for each parenthesis.
        sys.setrecursionlimit(10 * limit)
        tree = sqlglot.parse_one(query, dialect=READ_AS.get(dialect, dialect))
    finally:
        sys.setrecursionlimit(limit)
    for paren in list(tree.find_all(exp.Paren)):
        paren.replace(paren.this)
    for minus in list(tree.find_all(exp.Neg)):
        # Snowflake's numbers are casts of texts.
        if isinstance(minus.this, exp.Cast) and isinstance(minus.this.this, exp.Literal):
            number = minus.this
            number.set("this", exp.Literal.string(f"-{number.this.name}"))
            minus.replace(number)
    for division in tree.find_all(exp.Div):
        while isinstance(division.this, exp.Cast):
            division.this.replace(division.this.this)
    for column in tree.find_all(exp.Alias):
        if re.fullmatch(r"ec_z(_\d+)?", column.alias):
            for part in list(column.find_all(exp.Literal, exp.Neg)):
                part.replace(part.this if isinstance(part, exp.Neg) else exp.Literal.number(0))
    for cte in tree.find_all(exp.CTE):
        cte.this.set("expressions", sorted(cte.this.expressions, key=lambda column: column.alias_or_name))
    for division in tree.find_all(exp.Div):
        division.set("typed", None)
        division.set("safe", None)
    return tree
