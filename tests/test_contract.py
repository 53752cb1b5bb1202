"""The three doors have the same names, parameters and defaults, and every export is accounted for."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

import polars_ec as ec
from polars_ec.api.namespaces import DataFrameNamespace, ExpressionNamespace, LazyFrameNamespace
from sql.generate.overloads import FILES, bundles
from tests.support.cases import (
    CASES,
    DIVERGENCES,
    FRAME_METHODS,
    LEARNED,
    MACROS,
    METRICS,
    RANKING,
    RANKING_OF_CLASSES,
    ROW_FUNCTIONS,
    WITHOUT_MACRO,
)
from tests.support.macro_calls import APPROXIMATE

OTHERS = {
    "Calibration",
    "CostMatrix",
    "InvalidDataError",
    "Sketch",
    "SketchError",
    "Windows",
    "alarms",
    "best_thresholds",
    "bucket",
    "calibrate",
    "calibration_loss",
    "capacity",
    "compare",
    "drift",
    "effective_prior",
    "equivalent_cost",
    "estimate",
    "fold",
    "merge",
    "register",
    "report",
    "report_page",
    "report_query",
    "rows_needed",
    "sketch",
    "sketch_query",
    "stratified_fold",
    "table",
    "validate",
}
# Arguments that a warehouse does not need: SQL says label = 'late', or makes integers with CASE.
# Bins of equal mass need the rows in order.
ONLY_IN_PYTHON = {"pos_label", "classes", "equal_mass"}


@pytest.fixture(scope="module")
def macros(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[list[str], str]]]:
    """Parameters and comments of every public macro's overloads."""
    rows = connection.execute(
        "SELECT function_name, parameters, comment FROM duckdb_functions() WHERE schema_name = 'ec'"
    ).fetchall()
    found: dict[str, list[tuple[list[str], str]]] = {}
    for name, parameters, comment in rows:
        if not name.startswith("_"):
            found.setdefault(name, []).append((parameters, comment))
    return found


def test_every_export_is_classified() -> None:
    assert set(ec.__all__) == METRICS | OTHERS
    assert len(ec.__all__) == len(set(ec.__all__))
    public = {name for name in vars(ec) if not name.startswith("_")}
    modules = {name for name in public if inspect.ismodule(vars(ec)[name])}
    assert public - modules == set(ec.__all__)


def test_namespace_has_every_metric_and_nothing_else() -> None:
    assert {name for name in vars(ExpressionNamespace) if not name.startswith("_")} == METRICS
    for namespace in (LazyFrameNamespace, DataFrameNamespace):
        methods = {name for name, _ in inspect.getmembers(namespace, inspect.isfunction) if not name.startswith("_")}
        assert methods == {*FRAME_METHODS}


@pytest.mark.parametrize("name", sorted(METRICS))
def test_namespace_signature_is_the_functions(name: str) -> None:
    function = inspect.signature(getattr(ec, name))
    method = inspect.signature(getattr(ExpressionNamespace, name))
    assert method == function
    assert getattr(ExpressionNamespace, name).__doc__ == getattr(ec, name).__doc__


@pytest.mark.parametrize("name", sorted(FRAME_METHODS))
def test_frame_signature_is_the_functions(name: str) -> None:
    # `ec.best_threshold` is the expression.
    function = inspect.signature(ec.best_thresholds if name in LEARNED else getattr(ec, name)).parameters
    method = inspect.signature(getattr(LazyFrameNamespace, name)).parameters
    assert [p for p in method if p != "self"] == [p for p in function if p != "frame"]
    assert all(method[p].default == function[p].default for p in method if p != "self")


@pytest.mark.parametrize("case", [*CASES, *RANKING_OF_CLASSES], ids=lambda case: case.name)
def test_shared_keywords_are_those_of_the_case(case) -> None:
    parameters = inspect.signature(getattr(ec, case.name)).parameters
    shared = [p for p in parameters if p not in {"score", "label", *case.arguments, *ONLY_IN_PYTHON}]
    assert tuple(shared) == case.options


@pytest.mark.parametrize("name", DIVERGENCES)
def test_keywords_of_divergences(name: str) -> None:
    parameters = inspect.signature(getattr(ec, name)).parameters
    assert tuple(parameters) == ("score", "reference", *DIVERGENCES[name])


@pytest.mark.parametrize("name", WITHOUT_MACRO)
def test_keywords_of_metrics_without_a_macro(name: str) -> None:
    parameters = inspect.signature(getattr(ec, name)).parameters
    assert tuple(p for p in parameters if p not in {"score", "label", *ONLY_IN_PYTHON}) == WITHOUT_MACRO[name]


@pytest.mark.parametrize("name", RANKING | LEARNED)
def test_keywords_of_ranking_metrics(name: str) -> None:
    parameters = inspect.signature(getattr(ec, name)).parameters
    own = {"score", "label", "method", "sensitivity", "specificity", *ONLY_IN_PYTHON}
    assert tuple(p for p in parameters if p not in own) == (RANKING | LEARNED)[name]


@pytest.mark.parametrize("name", RANKING)
def test_macros_of_bins(name: str, macros) -> None:
    """They are of a histogram: no weights, which the table macro `sketch` takes, and a resolution."""
    left_out = {"weight", "method", *ONLY_IN_PYTHON}
    parameters = {p for p in inspect.signature(getattr(ec, name)).parameters if p not in left_out}
    for macro in APPROXIMATE[name]:
        for overload, _ in macros[macro]:
            assert set(overload) == parameters | {"resolution"}


def test_macros_are_the_metrics(macros) -> None:
    approximate = {macro for pair in APPROXIMATE.values() for macro in pair}
    others = {
        "bucket",
        "capacity",
        "effective_prior",
        "fold",
        "normal_quantile",
        "ranking_exact",
        "report",
        "sketch",
        "stratified_fold",
        "t_quantile",
    }
    assert set(macros) == MACROS | approximate | others | {"version"}


@pytest.mark.parametrize("name", sorted(MACROS))
def test_macro_parameters_are_the_functions(name: str, macros) -> None:
    parameters = [p for p in inspect.signature(getattr(ec, name)).parameters if p not in ONLY_IN_PYTHON]
    for overload, _ in macros[name]:
        assert sorted(overload) == sorted(parameters)


def test_no_prior_or_weight_is_the_first_argument_without_a_name(macros) -> None:
    """In SQL any argument may go without its name, and a number that comes third must not be taken for another one."""
    for name, overloads in macros.items():
        for overload, _ in overloads:
            after = overload[2:] if overload[1:2] in (["label"], ["reference"]) else overload[1:]
            assert name == "llr" or after[:1] not in (["prior"], ["weight"], ["threshold"]), name


def test_macros_of_other_functions(macros) -> None:
    for name in ("bucket", "effective_prior", "fold", "stratified_fold"):
        for overload, _ in macros[name]:
            assert overload == list(inspect.signature(getattr(ec, name)).parameters)


@pytest.mark.parametrize("macro", sorted(MACROS | {macro for pair in APPROXIMATE.values() for macro in pair}))
def test_macro_defaults_are_the_functions(macro: str) -> None:
    statement = re.search(
        rf"CREATE OR REPLACE MACRO ec\.{macro}\((.*?)\n(?:COMMENT|CREATE)", _part("polars_ec"), re.DOTALL
    )
    assert statement is not None
    of_bins = macro.startswith("approx_")
    name = macro.removeprefix("approx_").removesuffix("_error") if of_bins else macro
    parameters = inspect.signature(getattr(ec, name)).parameters
    for parameter in parameters.values():
        if parameter.name in ONLY_IN_PYTHON or (of_bins and parameter.name in ("weight", "method")):
            continue
        defaults = set(re.findall(rf"\b{parameter.name} := ([^,)]+)[,)]", _heads(statement.group(1))))
        if parameter.default is inspect.Parameter.empty:
            assert defaults == set()
        else:
            assert len(defaults) == 1, f"{parameter.name}: {defaults}"
            assert _python_value(defaults.pop()) == parameter.default


def _heads(statement: str) -> str:
    """The parameter lists of a macro's overloads, without the bodies, in which other macros get named arguments."""
    heads, position = [], 0
    for _ in range(10):
        end = statement.find(")", position)
        heads.append(statement[position : end + 1])
        following = re.search(r"\n?,\s*\(score ", statement[end:])
        if following is None:
            break
        position = end + following.start()
    return " ".join(heads)


def _python_value(sql: str) -> object:
    if sql == "NULL":
        return None
    if sql in ("true", "false"):
        return sql == "true"
    return sql[1:-1] if sql.startswith("'") else float(sql)


def test_every_macro_has_a_comment(macros) -> None:
    """By hand with a formula after a colon, or the docstring's sentence and what follows it, which has direction and formula."""
    by_hand = re.findall(r"^COMMENT ON MACRO (?:TABLE )?ec\.(\w+) IS", "".join(map(_part, FILES)), re.MULTILINE)
    assert len(by_hand) == len(set(by_hand))
    for name, overloads in macros.items():
        (comment,) = {comment for _, comment in overloads}
        assert "\n" not in comment
        if name in by_hand:
            assert ":" in comment
        else:
            docstring = " ".join((inspect.getdoc(getattr(ec, name)) or "").split())
            assert docstring.startswith(f"{comment} ")
            assert name in (*ROW_FUNCTIONS, *LEARNED) or re.search("(Higher|Lower|higher|lower) is better", comment)
            assert comment.endswith(".")
            assert comment.count(". ") >= 1


def _part(name: str) -> str:
    return (Path(__file__).parent.parent / "sql" / f"{name}.sql").read_text("utf-8")


def test_no_macro_is_made_twice() -> None:
    """The second one of a name would take the place of the first, wherever that is called."""
    made = re.findall(r"^CREATE OR REPLACE MACRO ec\.(\w+)", "".join(map(_part, FILES)), re.MULTILINE)
    assert not {name for name in made if made.count(name) > 1}


def test_the_bundle_is_its_parts() -> None:
    """`make sql` makes it anew."""
    folder = Path(__file__).parent.parent / "sql"
    made = bundles()
    assert sorted(path.name for path in folder.glob("*.sql")) == sorted([*(f"{name}.sql" for name in FILES), *made])
    assert {name: _part(name.removesuffix(".sql")) for name in made} == made


@pytest.mark.parametrize(
    "name", sorted(METRICS | OTHERS - {"Calibration", "InvalidDataError", "Sketch", "SketchError", "Windows"})
)
def test_docstrings_are_complete(name: str) -> None:
    text = inspect.getdoc(getattr(ec, name)) or ""
    sections = ["Parameters", "Examples"] + (["Raises"] if name != "register" else [])
    assert all(f"\n{section}\n---" in text for section in sections)
    first = text.split("\n\n")[0].replace("\n", " ")
    assert first.endswith(".")
    if name in METRICS - {"n_rows", "n_missing", "n_invalid"}:
        assert "\nReturns\n---" in text or "null" in text
    if name in METRICS - {"n_rows", "n_missing", "n_invalid"}:
        assert "\nReferences\n---" in text


def test_unknown_keyword_is_refused_at_the_call() -> None:
    with pytest.raises(TypeError, match="cost_fm"):
        ec.nec("p", "y", cost_fm=3)
    with pytest.raises(TypeError, match="threshold"):
        pl.col("p").ec.nce("y", threshold=0.5)


def test_output_names() -> None:
    log = pl.DataFrame({"a": [0.9, 0.2], "b": [0.6, 0.7], "y": [True, False]})
    assert log.select(pl.col("a", "b").ec.nec("y")).columns == ["a_nec", "b_nec"]
    assert log.select(ec.bayes_decision("a"), (pl.col("b") * 1).ec.log_odds()).columns == [
        "a_bayes_decision",
        "b_log_odds",
    ]
