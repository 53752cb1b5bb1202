"""`help`, hovers and completion say what every public function is, and what every keyword of it means, with its default."""

from __future__ import annotations

import inspect
import pydoc
import re
import rlcompleter
from pathlib import Path
from typing import is_typeddict

import polars as pl
import pytest

import polars_ec as ec
from polars_ec.api.namespaces import DataFrameNamespace, LazyFrameNamespace
from polars_ec.arguments import options, signatures
from polars_ec.arguments.signatures import with_options
from tests.support.cases import DIVERGENCES, FRAME_METHODS, LEARNED, ROW_FUNCTIONS
from tests.support.cases import METRICS as EVERY_METRIC

FUNCTIONS = sorted(name for name in ec.__all__ if inspect.isfunction(getattr(ec, name)))
METRICS = sorted(EVERY_METRIC)
COUNTS = {"confusion", "n_rows", "n_missing", "n_invalid", "class_prior", "decision_share"}
CONVERSIONS = {"bayes_decision", "posterior", "log_odds", "llr", "shift_prior", "affine"}
LOSSES_AND_GAINS = sorted(set(METRICS) - COUNTS - CONVERSIONS - set(LEARNED))
FAMILIES = {name: family for name, family in vars(options).items() if is_typeddict(family)}

PUBLIC = {name: getattr(ec, name) for name in FUNCTIONS}
# Those of expressions have the very docstrings of the functions, as test_contract says.
METHODS = {f"lf.ec.{name}": getattr(LazyFrameNamespace, name) for name in FRAME_METHODS}
METHODS |= {f"df.ec.{name}": getattr(DataFrameNamespace, name) for name in FRAME_METHODS}
SHARED = {name: PUBLIC[name] for name in (*METRICS, *FRAME_METHODS)} | METHODS


def help_of(function) -> str:
    return pydoc.plain(pydoc.render_doc(function))


def sections(function) -> dict[str, str]:
    """The text of each section of a docstring; the one without a head is called Summary."""
    parts = re.split(r"^(\w+)\n-+$", f"Summary\n-------\n{inspect.getdoc(function)}", flags=re.MULTILINE)
    return {head: text.strip("\n") for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def entries(function) -> dict[str, str]:
    """Each head of an entry of the parameters, with its description: only the last of several together may have one."""
    text = sections(function).get("Parameters", "")
    return {head: " ".join(lines.split()) for head, lines in re.findall(r"^(\S.*)\n((?: +.*\n?)*)", f"{text}\n", re.M)}


@pytest.mark.parametrize("name", SHARED)
def test_every_parameter_has_its_type_its_default_and_a_description(name: str) -> None:
    function = SHARED[name]
    parameters = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    heads = []
    for parameter in parameters:
        default = "" if parameter.default is inspect.Parameter.empty else f", default {parameter.default!r}"
        heads.append(f"{parameter.name} : {parameter.annotation}{default}")
    described = entries(function)
    assert list(described) == heads
    assert all(head in help_of(function) for head in heads)

    by_hand = PUBLIC[name.split(".")[-1]].__wrapped__
    together = [head.split(", ") for head in entries(by_hand)]
    assert {name for names in together for name in names} <= set(inspect.signature(by_hand).parameters) | set(
        options.DEFAULTS
    )
    with_the_next = {name for names in together for name in names[:-1]}
    for parameter, text in zip(parameters, described.values(), strict=True):
        assert len(text) > 15 or parameter.name in with_the_next


@pytest.mark.parametrize("name", sorted(set(PUBLIC) - set(SHARED)))
def test_every_parameter_of_other_functions_is_described(name: str) -> None:
    named = ", ".join(entries(PUBLIC[name]))
    for parameter in inspect.signature(PUBLIC[name]).parameters.values():
        assert re.search(rf"\b{parameter.name}\b", named), parameter.name
        if parameter.default is not inspect.Parameter.empty:
            assert f"{parameter.name}: {parameter.annotation} = {parameter.default!r}" in help_of(PUBLIC[name]).replace(
                f"'{parameter.annotation}'", str(parameter.annotation)
            )


@pytest.mark.parametrize("name", PUBLIC | METHODS)
def test_help_does_not_send_the_reader_elsewhere(name: str) -> None:
    text = inspect.getdoc((PUBLIC | METHODS)[name]) or ""
    assert "See `" not in text
    assert "**options" not in text
    assert not re.search(r"[Aa]s\s+for\s+the\s+metrics|As for `(confusion|cross_entropy|auc_roc)`", text)


@pytest.mark.parametrize("name", [name for name, it in vars(ec.Sketch).items() if callable(it) and name[0] != "_"])
def test_methods_of_a_sketch_say_what_they_do(name: str) -> None:
    text = inspect.getdoc(getattr(ec.Sketch, name)) or ""
    assert len(text) > 80
    assert not re.search("[Ss]ee `", text)


@pytest.mark.parametrize("name", PUBLIC)
def test_sections_are_those_of_numpy_in_their_order(name: str) -> None:
    known = ["Summary", "Parameters", "Returns", "Raises", "Notes", "References", "Examples"]
    found = list(sections(PUBLIC[name]))
    assert found == sorted(found, key=known.index)
    assert all(sections(PUBLIC[name]).values())


@pytest.mark.parametrize("name", LOSSES_AND_GAINS)
def test_a_metric_says_direction_range_formula_nulls_source_and_has_an_example(name: str) -> None:
    found = sections(PUBLIC[name])
    first, rest = found["Summary"].split("\n\n", 1)
    assert first.endswith(".")
    assert "\n" not in first
    assert re.match(r"(Lower|Higher) is better", rest)
    assert re.search(r"[iI]n [\[(][^]]+, [^]]+[])]|at most \S+", rest)
    formula = r"sum_|Sum over|Trapezoids|integral over|m(in|ax|ean) over|P\(s_1|1 - FPR|R_\d\d|c_ij|q_i| = "
    assert re.search(formula, rest)
    assert re.search(r"\bnull\b" if name in {*DIVERGENCES, *ROW_FUNCTIONS} else "; null if ", found["Returns"])
    assert re.search(r"[A-Z]\w+.*\d", found["References"], re.DOTALL) or "Cumani" in found["References"]
    assert re.search(rf">>> .*ec\.{name}\(.*\n[^>]", found["Examples"])


@pytest.mark.parametrize("name", sorted(COUNTS | CONVERSIONS | set(LEARNED)))
def test_counts_and_conversions_say_what_comes_back_and_have_an_example(name: str) -> None:
    found = sections(PUBLIC[name])
    assert re.search(
        r"(Float64|Int64|Int32|struct|kind of score).*\bnull\b", found["Returns"], re.DOTALL | re.IGNORECASE
    )
    assert re.search(rf">>> .*ec\.{name}\(.*\n[^>]", found["Examples"], re.DOTALL)


@pytest.mark.parametrize("name", FAMILIES)
def test_each_keyword_of_a_family_is_described_with_its_default(name: str) -> None:
    described = signatures.descriptions()[name]
    assert set(described) == set(FAMILIES[name].__annotations__)
    for keyword, text in described.items():
        default = options.DEFAULTS[keyword]
        shown = (
            f'"{default}"' if isinstance(default, str) else f"{default:g}" if isinstance(default, float) else default
        )
        assert f"Default {shown}" in " ".join(text.split()), keyword


def test_without_source_help_lacks_descriptions_but_nothing_fails(monkeypatch) -> None:
    def getsource(_: object) -> str:
        raise OSError("source code not available")

    monkeypatch.setattr(signatures, "getsource", getsource)
    assert signatures.descriptions.__wrapped__() == {}
    parameters = list(inspect.signature(ec.nec).parameters.values())
    text = signatures.completed("Summary.\n\nReturns\n-------\nFloat64, one per group.\n", parameters, {})
    assert "cost_fn : float | IntoExpr, default 1.0\ncost_fp : float | IntoExpr, default 1.0\n" in text


def test_docstrings_may_be_stripped() -> None:
    def report(frame, score, **options):
        return score

    stripped = with_options(options.RowOptions)(report)
    assert stripped.__doc__ is None
    assert stripped(None, "p", weight="w") == "p"


def typed_as(name: str) -> str:
    """What a type checker sees of an export: metrics of one file and signature are one to it."""
    export = getattr(ec, name)
    return f"{export.__module__} {inspect.signature(export)}" if name in METRICS else name


def test_completion_of_the_package_lists_what_it_exports() -> None:
    assert dir(ec) == sorted([*ec.__all__, "__version__", "plot", "sklearn", "spark"])
    assert all(hasattr(ec, name) for name in dir(ec))


def test_every_export_is_in_the_typed_api() -> None:
    text = (Path(__file__).parent / "typed_api.py").read_text("utf-8")
    checked = {
        typed_as(name) for name in ec.__all__ if f"ec.{name}(" in text or (name[0].isupper() and f"ec.{name}" in text)
    }
    assert not [name for name in ec.__all__ if typed_as(name) not in checked]


@pytest.mark.parametrize(
    ("column", "names"),
    [(pl.col("p"), METRICS), (pl.LazyFrame({"p": [0.5]}), FRAME_METHODS), (pl.DataFrame({"p": [0.5]}), FRAME_METHODS)],
    ids=["expression", "lazy", "eager"],
)
def test_namespaces_complete(column, names) -> None:
    assert {name for name in dir(column.ec) if not name.startswith("_")} == set(names)
    completer = rlcompleter.Completer({"column": column})
    offered = {completer.complete("column.ec.", state) for state in range(len(names))}
    assert offered == {f"column.ec.{name}(" for name in names}
