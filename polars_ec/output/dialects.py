"""SQL of warehouses: check user SQL, and translate portable SQL to a dialect with sqlglot."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

if TYPE_CHECKING:
    from sqlglot import exp

WarehouseDialect: TypeAlias = Literal[
    "bigquery", "clickhouse", "databricks", "datafusion", "duckdb", "postgres", "snowflake", "spark", "trino"
]


class Writer:
    """SQL of one dialect: checks what the caller wrote in it, and writes the query in it.

    The caller's SQL goes into the query as it is; while the query is put into the dialect, a name stands for it. The query's own
    names start with `ec_`, or where the caller has such names with something that no name of the caller's starts with.
    """

    def __init__(self, dialect: WarehouseDialect) -> None:
        if dialect not in get_args(WarehouseDialect):
            raise ValueError(f"dialect={dialect!r} is none of {', '.join(get_args(WarehouseDialect))}")
        try:
            import sqlglot
        except ModuleNotFoundError:
            raise ImportError("SQL for other warehouses needs sqlglot: pip install 'polars_ec[warehouse]'") from None
        self._sqlglot = sqlglot
        self._name = dialect
        self._dialect = "duckdb" if dialect == "datafusion" else dialect  # DataFusion reads what DuckDB reads
        self._texts: list[str] = []

    def expression(self, what: str, sql: Any) -> str:
        """A column or another expression of the caller."""
        is_column, end = isinstance(self._parse_expression(what, sql), self._sqlglot.exp.Column), _end_of_comment(sql)
        return self._keep(sql if is_column and not end else f"({sql}{end})")

    def column_name(self, what: str, sql: Any) -> str:
        """The name of a column without its table and quotes."""
        column = self._parse_expression(what, sql)
        if not isinstance(column, self._sqlglot.exp.Column):
            raise ValueError(f"{what}={sql!r} is not a column's name: pass {{name: {sql!r}}} to name it in the result")
        return column.name

    def table(self, sql: Any) -> str:
        """The table that the caller put after FROM."""
        if _clauses(self._parse("table", sql, "SELECT * FROM ")) - {"from", "from_", "joins", "laterals"}:
            raise ValueError(f"table={sql!r} is not just a table: put a query into parentheses")
        return self._keep(sql + _end_of_comment(sql))

    def literal(self, what: str, value: Any) -> str:
        """The value of a label."""
        value = value.item() if hasattr(value, "item") else value
        if isinstance(value, bool):
            return "TRUE" if value else "FALSE"
        if isinstance(value, str):
            return self._keep(self._sqlglot.exp.Literal.string(value).sql(dialect=self._dialect))
        if isinstance(value, int):
            return str(value)
        if isinstance(value, float) and math.isfinite(value):
            return self.number(value)
        raise ValueError(
            f"{what} holds {value!r}, which is not a string, finite number or Boolean: pass a condition as the label, "
            "such as \"shipped = DATE '2026-01-31'\""
        )

    def number(self, value: float) -> str:
        """A 64-bit float."""
        digits = repr(value)
        text = digits if "e" in digits else f"{digits}e0"
        return f"CAST('{text}' AS DOUBLE)" if self._dialect == "snowflake" else text

    def and_not_nan(self, x: str) -> str:
        """The condition that follows a comparison that NaN fails.

        DuckDB does not compare where it holds of the least and the largest number of a Parquet file, and these pass over NaN.
        """
        return f" AND (ISFINITE({x}) OR ISINF({x}))" if self._name == "duckdb" else ""

    @property
    def can_materialize(self) -> bool:
        """Whether WITH ... AS MATERIALIZED works out a query once, where the engine would put its text in place of its name."""
        return self._name in ("duckdb", "postgres")

    @property
    def settings(self) -> str:
        """What ends a query of many CASEs, one on the other: else ClickHouse works each out again in every branch of those above."""
        return "\nSETTINGS short_circuit_function_evaluation = 'disable'" if self._name == "clickhouse" else ""

    @property
    def infinity(self) -> str:
        """Infinity as a 64-bit float: Snowflake has no other name for it, Trino not this one."""
        return f"CAST('{'inf' if self._dialect == 'snowflake' else 'Infinity'}' AS DOUBLE)"

    def write(self, text: str) -> str:
        """The query, from portable SQL into the dialect."""
        exp = self._sqlglot.exp
        query = self._sqlglot.parse_one(text)
        identifiers = list(query.find_all(exp.Identifier))
        literals = [literal.name for literal in query.find_all(exp.Literal)]
        callers = "\n".join([*self._texts, *(name.name for name in identifiers if name.quoted), *literals])
        prefixes = itertools.chain(["ec_"], (f"ec{i}_" for i in itertools.count(1)))
        prefix = next(p for p in prefixes if not re.search(rf"\b{p}", callers, re.IGNORECASE))
        for name in identifiers:
            if not name.quoted:
                name.set("this", re.sub("^ec_", prefix, name.name))
        for division in query.find_all(exp.Div):
            # No formula divides a whole number by one, so none needs a cast.
            division.set("typed", True)
        levels = [
            f"{cte.alias} AS {'MATERIALIZED ' if cte.args.get('materialized') else ''}(\n{self._lines(cte.this)}\n)"
            for cte in query.find_all(exp.CTE)
        ]
        if levels:
            query.set("with_", None)
        written = f"WITH {', '.join(levels)}\n{self._lines(query)}" if levels else self._lines(query)
        written = re.sub(rf" (?=WHEN {prefix}(?:name|family|scale) = )", "\n    ", written)
        return re.sub(rf"\b{prefix}text_(\d+)\b", lambda match: self._texts[int(match[1])], written)

    def _lines(self, query: exp.Expr) -> str:
        """A SELECT with a line for each column, rows that UNION ALL takes together with a line for each, or an expression."""
        is_query = isinstance(query, self._sqlglot.exp.Query)

        def in_dialect(node: exp.Expr) -> str:
            raised = self._sqlglot.ErrorLevel.RAISE
            return node.sql(self._dialect, pretty=not is_query, max_text_width=120, unsupported_level=raised)

        text = in_dialect(query)
        if not isinstance(query, self._sqlglot.exp.Select):
            return text.replace(" UNION ALL ", "\nUNION ALL ")
        columns = [in_dialect(column) for column in query.expressions]
        clauses = text.removeprefix(f"SELECT {', '.join(columns)}")
        return "SELECT\n  " + ",\n  ".join(columns) + re.sub(" (?=FROM |WHERE |GROUP BY )", "\n", clauses)

    def _keep(self, text: str) -> str:
        self._texts.append(text)
        return f"ec_text_{len(self._texts) - 1}"

    def _parse_expression(self, what: str, sql: Any) -> exp.Expression:
        select = self._parse(what, sql, "SELECT ")
        found: list[exp.Expression] = select.expressions
        if _clauses(select) or len(found) != 1 or found[0].is_star or isinstance(found[0], self._sqlglot.exp.Alias):
            raise ValueError(f"{what}={sql!r} is not one expression: pass a column's name or one SQL expression")
        return found[0]

    def _parse(self, what: str, sql: Any, before: str) -> exp.Select:
        if not isinstance(sql, str) or not sql.strip():
            raise ValueError(f"{what}={sql!r} is not a name or an expression in SQL")
        try:
            statements = self._sqlglot.parse(before + sql, dialect=self._dialect)
        except self._sqlglot.errors.SqlglotError as error:
            reason = re.sub(r"\x1b\[\d+m", "", str(error)).split("\n")[0]
            raise ValueError(f"{what}={sql!r} is not valid SQL for {self._name}: {reason}") from None
        if len(statements) != 1 or not isinstance(statements[0], self._sqlglot.exp.Select):
            raise ValueError(
                f"{what}={sql!r} cannot be part of a query: pass a name, an expression, or a query in parentheses"
            )
        return statements[0]


def _clauses(select: exp.Select) -> set[str]:
    return {name for name, value in select.args.items() if value and name != "expressions"}


def _end_of_comment(sql: str) -> str:
    return "\n" if re.search("--|#|//", sql) else ""


def is_number(x: str) -> str:
    """Not NaN: holds for infinities, and for NaN nowhere, be it unordered, above all numbers or below them."""
    return f"1 / (1 + ABS({x})) >= 0 AND 1 / (1 + ABS({x})) <= 1"


def quoted(name: str) -> str:
    """The name of a column or table, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(value: str) -> str:
    """A text, whatever it holds, as a literal."""
    return "'" + value.replace("'", "''") + "'"
