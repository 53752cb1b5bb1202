"""The bundles sql/polars_ec.sql and, for DuckDB 1, sql/polars_ec_duckdb_1.sql (`make sql`).

They have the macros that are written by hand, and what follows from the Python functions.

By hand a public macro has its formulas and the names of its parameters. From the Python function of its name it gets the defaults of
the parameters, an overload for a BOOLEAN score where that may be a decision, and its comment where the file has none.

A metric of decisions is one formula of `cells`, as `ec.recall(cells)` in decisions.sql, or of what `errors` cost, as `ec.nec(errors)`:
all overloads follow, and `ec._value_of_recall(c)`, the formula itself, for the cells of one group, not in a list. One for costs of any shape has a second formula, of the classes' mean `cost`, `error` or `hit`, as
`ec.accuracy(cells)` with `(hit)`. One of the counts and priors of any number of classes is of their `table`, as `ec.macro_f1(table)` in
averages.sql; where it has a formula of `cells` too, that is for single scores.

In the report's table each value of a metric is followed by its limits.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from polars_ec.metrics.families import function_of
from polars_ec.scores import folds
from sql.generate.duckdb_1 import for_duckdb_1

FOLDER = Path(__file__).parents[1]
FILES = (
    "begin",
    "rows",
    "counts",
    "decisions",
    "averages",
    "scoring_rules",
    "sketch",
    "ranking",
    "calibration",
    "ece",
    "quantiles",
    "intervals",
    "report",
    "end",
)

# They take a decision for a score, as metrics with a threshold do.
_COUNTS = ("n_rows", "n_missing", "n_invalid", "class_prior")
_MACRO = re.compile(r"^CREATE OR REPLACE MACRO ec\.([a-z]\w*)(\(.*?);$", re.MULTILINE | re.DOTALL)
_OVERLOAD = re.compile(r"^\((.*?)\) AS\s+(.*?)(?:,\n(?=\()|\Z)", re.MULTILINE | re.DOTALL)
_REPORT_TABLE = re.compile(r"^CREATE OR REPLACE MACRO ec\._report_table\(.*?;$", re.MULTILINE | re.DOTALL)
_VALUE = re.compile(r"ec\._(?:value_of_|loss_)\w+\(\w+\) AS (\w+)")
_OF_ONE = re.compile(r"list_transform\((?:cells|errors), lambda _c: (.*)\)\[1\]", re.DOTALL)
_ARGUMENTS = "score, label, costs, cost_fn, cost_fp, prior, threshold, score_type, weight"
_MATRIX = "ec._vector_costs(costs, cost_fn, cost_fp)"


def bundles() -> dict[str, str]:
    """The text of each bundle by its file name."""
    text = "".join(expand((FOLDER / f"{name}.sql").read_text("utf-8")) for name in FILES)
    of_2 = text.replace("$lowest", "[2, 0, 0]").replace(
        "$needs", "polars_ec.sql needs DuckDB 2.0 or later, polars_ec_duckdb_1.sql needs 1.4.2"
    )
    of_1 = for_duckdb_1(text).replace("$lowest", "[1, 4, 2]").replace("$needs", "polars_ec needs DuckDB 1.4.2 or later")
    texts = {"polars_ec.sql": of_2, "polars_ec_duckdb_1.sql": of_1}
    return {name: sql.replace("$bundle", sha256(sql.encode()).hexdigest()) for name, sql in texts.items()}


def expand(part: str) -> str:
    """One of the files by hand, with what follows from the Python functions."""

    def expanded(match: re.Match[str]) -> str:
        name, text = match.groups()
        function = _function(name)
        if function is None:
            return match[0]
        has_defaults = ":=" in text.partition(")")[0]
        statements = [match[0]] if has_defaults else _statements(name, _OVERLOAD.findall(text), function)
        if not re.search(rf"^COMMENT ON MACRO ec\.{name} IS", part, re.MULTILINE):
            statements.append(_comment(name, function))
        return "\n".join(statements)

    return _MACRO.sub(expanded, _REPORT_TABLE.sub(lambda match: _VALUE.sub(_with_limits, match[0]), part))


def _with_limits(value: re.Match[str]) -> str:
    """A metric of the report's table, and the ends of its interval."""
    name = value[1]
    ends = [f"        ec._{end}_end(ends, '{name}') AS {name}_ci_{end}" for end in ("low", "high")]
    return ",\n".join([value[0], *ends])


def _function(name: str) -> Callable[..., Any] | None:
    of_folds = vars(folds).get(name)
    return function_of(name) or (of_folds if inspect.isfunction(of_folds) else None)


def _statements(name: str, by_hand: Sequence[tuple[str, str]], function: Callable[..., Any]) -> list[str]:
    """The statements that create the macro, given its overloads by hand: pairs of parameters and formula."""
    parameters = inspect.signature(function).parameters
    private: list[str] = []
    overloads = dict(by_hand)
    if by_hand[0][0].startswith(("cells", "errors", "table")):
        names = ", ".join(p for p in parameters if p not in ("score", "pos_label", "classes"))
        private, of_number, of_list = _of_scores(name, by_hand)
        if by_hand[0][0] in ("cells", "errors"):
            private.append(_create(f"_value_of_{name}", {"c": _of_one(by_hand[0][1])}))
        overloads = {f"score DOUBLE, {names}": of_number, f"score DOUBLE[], {names}": of_list}
    if "label" in parameters and ("threshold" in parameters or name in _COUNTS):
        head, formula = next(iter(overloads.items()))
        decided = _put("score", "ec._boolean_decision(score, score_type)", formula)
        overloads[_put("DOUBLE", "BOOLEAN", head)] = decided
    return [*private, _create(name, {_with_defaults(head, parameters): body for head, body in overloads.items()})]


def _of_one(formula: str) -> str:
    """A formula of cells, or of what errors cost, without the list of one: within a lambda each CASE copies the cells for its branches."""
    of_list = _OF_ONE.fullmatch(formula)
    if of_list is None:
        raise ValueError(f"not a formula of one group's cells: {formula}")
    return _put("_c", "c", of_list[1])


def _of_scores(name: str, by_hand: Sequence[tuple[str, str]]) -> tuple[list[str], str, str]:
    """Formulas of a number and of a list, given that of the cells; and the macro that the first calls where costs have any shape."""
    formulas = dict(by_hand)
    (head, first), *others = by_hand
    if head == "table":
        of_number = _put("table", f"ec._table({_ARGUMENTS})", first)
    else:
        of_number = _put("cells", f"ec._binary_cells({_ARGUMENTS})", first)
        of_number = _put("errors", f"ec._error_costs({_ARGUMENTS})", of_number)
    of_lists = f"(score, label, {_MATRIX}, prior, threshold, score_type, weight"
    if "table" in formulas:
        return [], of_number, _with_costs(_put("table", f"ec._table_vector{of_lists})", formulas["table"]))
    if not others:
        return [], of_number, _put("cells", f"ec._binary_cells_vector({_ARGUMENTS})", first)
    ((what, of_means),) = others
    of_any_costs = _put(what, f"ec._means({_ARGUMENTS}, '{what}')", of_means)
    without_costs = _put("costs", 'costs "NULL"', _ARGUMENTS)
    private = _create(f"_{name}", {without_costs: of_number, _ARGUMENTS: of_any_costs})
    return (
        [private],
        f"ec._{name}({_ARGUMENTS})",
        _with_costs(_put(what, f"ec._means_vector{of_lists}, '{what}')", of_means)),
    )


def _with_costs(formula: str) -> str:
    return f"CASE WHEN ec._costs_ok(costs, cost_fn, cost_fp) THEN {formula} END"


def _put(name: str, value: str, text: str) -> str:
    return re.sub(rf"\b{name}\b", value, text)


def _create(name: str, overloads: Mapping[str, str]) -> str:
    texts = ",\n".join(f"({head}) AS\n    {body}" for head, body in overloads.items())
    return f"CREATE OR REPLACE MACRO ec.{name}{texts};"


def _with_defaults(head: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    def declared(parameter: str) -> str:
        default = parameters[parameter.split()[0].strip('"')].default
        return parameter if default is inspect.Parameter.empty else f"{parameter} := {_literal(default)}"

    return ", ".join(map(declared, head.split(", ")))


def _literal(value: str | float | None) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    return f"'{value}'" if isinstance(value, str) else f"{value:g}"


def _comment(name: str, function: Callable[..., Any]) -> str:
    """The docstring's first sentence, and the paragraph that has the direction and the formula."""
    paragraphs = (inspect.getdoc(function) or "").partition("\n\nParameters\n")[0].split("\n\n")
    text = " ".join(" ".join(paragraphs[:2]).split()).replace("'", "''")
    return f"COMMENT ON MACRO ec.{name} IS '{text}';"


if __name__ == "__main__":
    for file_name, sql in bundles().items():
        (FOLDER / file_name).write_text(sql, "utf-8")
