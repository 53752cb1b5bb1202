"""Expand the formulas of the DuckDB macros to plain SQL, by replacing each macro with its text until none is left."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from polars_ec.output.dialects import Writer
from polars_ec.sql.macros import text

if TYPE_CHECKING:
    from sqlglot import exp

Value: TypeAlias = "exp.Expression | list[Value] | dict[str, Value]"
"""The kind of an expression: a plain one, or a list or struct with known elements."""

_MACRO = re.compile(r"^CREATE OR REPLACE MACRO ec\.(\w+)(\(.*?);$", re.MULTILINE | re.DOTALL)
_OVERLOAD = re.compile(r"\s*\(([^()]*)\) AS\s+(.*?)(?:,\n(?=\()|\Z)", re.DOTALL)
_PARAMETER = re.compile(r"(\w+)(?: (?!:=)(\S+))?(?: := (.*))?")


class MacroFormulas:
    """The formulas of metrics, of sums that stand for what some macros are: `known`, by the names of these."""

    def __init__(self, known: Mapping[str, str | Mapping[str, str]]) -> None:
        from sqlglot import exp

        self._exp = exp
        self._known: dict[str, Value] = {
            name: _parsed(sql) if isinstance(sql, str) else [{field: _parsed(x) for field, x in sql.items()}]
            for name, sql in known.items()
        }

    def of(self, name: str, arguments: Mapping[str, str | Mapping[str, str]]) -> str:
        """The value of a macro's first overload, with `arguments` by name, mappings as structs, and defaults for the others."""
        value = self._of_macro(name, arguments)
        assert isinstance(value, self._exp.Expression), f"ec.{name} is no plain expression"
        return value.sql()

    def parts_of(self, name: str, arguments: Mapping[str, str | Mapping[str, str]]) -> dict[str, str]:
        """The fields of a macro whose value is a struct."""
        value = self._of_macro(name, arguments)
        assert isinstance(value, dict), f"ec.{name} is no struct"
        return {part: x.sql() for part, x in value.items() if isinstance(x, self._exp.Expression)}

    def _of_macro(self, name: str, arguments: Mapping[str, str | Mapping[str, str]]) -> Value:
        parameters, body = _overloads(name)[0]
        values: dict[str, Value] = {}
        for parameter, (_, default) in parameters.items():
            argument = arguments.get(parameter, default or parameter)
            if isinstance(argument, str):
                values[parameter] = _parsed(argument)
            else:
                values[parameter] = {part: _parsed(sql) for part, sql in argument.items()}
        return self._value(_parsed(body), values)

    def _value(self, node: exp.Expression, bound: Mapping[str, Value]) -> Value:
        """The expression with the values of bound names, in which no macro is left."""
        exp = self._exp
        if isinstance(node, exp.Column | exp.Identifier):
            return bound.get(node.name, node)
        if isinstance(node, exp.Dot):
            return self._of_call(node.expression, bound)
        if isinstance(node, exp.Transform):
            name = node.expression.expressions[0].name
            return [self._value(node.expression.this, {**bound, name: of}) for of in self._items(node.this, bound)]
        if isinstance(node, exp.Anonymous) and node.name == "list_dot_product":
            return self._sum_of_products(*(self._items(factors, bound) for factors in node.expressions))
        if isinstance(node, exp.Bracket):
            return self._part(node, bound)
        if isinstance(node, exp.Array):
            return [self._value(part, bound) for part in node.expressions]
        if isinstance(node, exp.Struct):
            return {part.this.name: self._value(part.expression, bound) for part in node.expressions}
        return self._copied(node, bound)

    def _of_call(self, call: exp.Expression, bound: Mapping[str, Value]) -> Value:
        if call.name in self._known:
            return self._known[call.name]
        given = [self._value(argument, bound) for argument in call.expressions]
        for parameters, body in _overloads(call.name):
            types = [type_ for type_, _ in parameters.values()]
            # NULL is what an argument is that was left out.
            if all(type_ != '"NULL"' or isinstance(x, self._exp.Null) for type_, x in zip(types, given, strict=True)):
                return self._value(_parsed(body), dict(zip(parameters, given, strict=True)))
        raise LookupError(f"ec.{call.name} has no overload for {call.sql()}")

    def _sum_of_products(self, weights: Sequence[Value], values: Sequence[Value]) -> Value:
        exp = self._exp
        terms: list[Any] = []
        for weight, value in zip(weights, values, strict=True):
            assert isinstance(weight, exp.Expression)
            assert isinstance(value, exp.Expression)
            terms.append(exp.Mul(this=weight.copy(), expression=exp.Paren(this=value.copy())))
        total: Value = exp.Paren(this=reduce(lambda sum_, term: exp.Add(this=sum_, expression=term), terms))
        return total

    def _items(self, node: exp.Expression, bound: Mapping[str, Value]) -> list[Value]:
        value = self._value(node, bound)
        assert isinstance(value, list), f"{node.sql()} is no list whose parts are known"
        return value

    def _part(self, node: exp.Bracket, bound: Mapping[str, Value]) -> Value:
        of, (key,) = self._value(node.this, bound), node.expressions
        # sqlglot counts from 0.
        if isinstance(of, list):
            return of[int(key.name)]
        assert isinstance(of, dict), f"{node.sql()} is no part that is known"
        return of[key.name]

    def _copied(self, node: exp.Expression, bound: Mapping[str, Value]) -> exp.Expression:
        exp = self._exp
        encloses = isinstance(node, exp.Paren | exp.Func) and not isinstance(node, exp.Connector)

        def with_values(part: Any) -> Any:
            if isinstance(part, list):
                return [with_values(one) for one in part]
            if not isinstance(part, exp.Expression) or isinstance(part, exp.DataType):
                return part
            value = self._value(part, bound)
            assert isinstance(value, exp.Expression), f"{part.sql()} is no plain expression"
            # Nodes that are already in the tree, such as an argument used twice, are copied.
            value = value if value.parent is None else value.copy()
            is_open = isinstance(value, exp.Binary | exp.Unary) and not isinstance(value, exp.Paren)
            return exp.Paren(this=value) if is_open and not encloses else value

        arguments = {name: with_values(part) for name, part in node.args.items()}
        if isinstance(node, exp.Div):
            # Formulas say themselves what they are where they would divide by 0.
            arguments["safe"] = False
        return type(node)(**arguments)


@cache
def _parsed(sql: str, dialect: str | None = "duckdb") -> exp.Expression:
    import sqlglot

    parsed = sqlglot.parse_one(sql, dialect=dialect)
    assert isinstance(parsed, sqlglot.exp.Expression)
    return parsed


@cache
def _texts() -> dict[str, str]:
    return dict(_MACRO.findall(text()))


@cache
def _overloads(name: str) -> list[tuple[dict[str, tuple[str, str]], str]]:
    """The overloads of a macro: type and default of each parameter, where it has them, and the text."""
    found = []
    for head, body in _OVERLOAD.findall(_texts()[name]):
        parameters = [_PARAMETER.fullmatch(part.strip()) for part in head.split(",")]
        found.append(({p[1]: (p[2] or "", p[3] or "") for p in parameters if p}, body))
    return found


# Formulas as every engine reads them: functions that some lack are written out, and numbers are 64-bit floats.

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

    def folded(node: exp.Expression) -> exp.Expression:
        """The branch that a CASE of a literal takes."""
        if isinstance(node, exp.Case) and node.this is not None:
            found: list[exp.Expression] = [x.args["true"] for x in node.args["ifs"] if x.this == node.this]
            return found[0] if found else node.args["default"]
        return node

    def written_out(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Pi):
            return _portable(repr(math.pi))
        if isinstance(node, exp.Atanh):
            return _portable(f"(LN(1 + {node.this.sql()}) - LN(1 - {node.this.sql()})) / 2")
        return node

    def of_any(node: exp.Expression) -> exp.Expression:
        of = node.this.sql() if isinstance(node, exp.Ln | exp.Exp) else ""
        if isinstance(node, exp.Ln):
            return _portable(f"LN(CASE WHEN ({of}) > 0 THEN {of} END)")
        if isinstance(node, exp.Exp):
            return _portable(
                f"CASE WHEN ({of}) < {_LEAST_EXPONENT} THEN 0.0 WHEN ({of}) > {_MOST_EXPONENT} THEN CAST('inf' AS DOUBLE) ELSE EXP({of}) END"
            )
        return node

    tree = sqlglot.parse_one(formula).transform(folded).transform(written_out)
    if guarded:
        tree = tree.transform(of_any)
    return numbers_of(tree.sql(), writer)


def _portable(sql: str) -> exp.Expression:
    return _parsed(sql, None).copy()
