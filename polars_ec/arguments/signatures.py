"""Compose the signatures and docstrings that `help` shows, with one text for each shared parameter.

A function describes by hand only what is specific to it. Each of its parameters gets an entry with type and default.
The texts for shared parameters come from `options` and from this module.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from inspect import Parameter, cleandoc, getsource, signature
from itertools import pairwise
from typing import Any, TypeVar, cast

from polars_ec.arguments import options
from polars_ec.arguments.arrays import of_values
from polars_ec.arguments.keywords import checked_at_call
from polars_ec.arguments.options import DEFAULTS

# The decorated function keeps its own type: editors then find the description of each keyword below its key in `options`.
F = TypeVar("F", bound=Callable[..., Any])

_SECTIONS = ("Parameters", "Returns", "Raises", "Notes", "References", "Examples")

_COLUMNS = {
    "score": "Column name or expression; `score_type` says what it holds. Arrays, Series and lists work too, if all\n"
    "columns are passed as values of equal length. Metrics then return the value itself, row functions a Series.",
    "label": "Column name or expression, or values. `pos_label` or `classes` assigns the values to the classes.",
}

_COLUMNS_OF_LOGS = {
    "frame": "The log: a data frame of Polars or of another library.",
    "label": "Column name or expression. `pos_label` or `classes` assigns the values to the classes.",
    "by": "Names or expressions of the group columns. Default: one group.",
    "period": 'Column name or expression of the period of a row, such as `pl.col("ts").dt.truncate("1mo")`.',
    "cluster": "The cluster column, which groups correlated rows, such as the user or the day. A row with a null there is its own\n"
    "cluster, and a cluster may have rows in several groups. Default None: independent rows.",
    "calibrator": '"affine" or "temperature"; for one score per row also "gaussian", "pav" and "histogram".',
    "fold_by": "Column name or expression of the key that assigns rows to folds: a row ID, or the cluster column.",
    "interval": "The level of the intervals, between 0 and 1.",
    "buckets": "The number of hash buckets for the clusters, from 100 to 1000.",
    "stratified": "Spread the keys of each class evenly over the folds within each group, as in `sketch`.",
}

_UNDEFINED = {
    "one per group": "The value is null if the group has no usable rows (see `n_rows`) or any invalid row (see `n_invalid`).",
    "one per row": "The value is null if the row has missing or invalid values.",
}

_ERRORS = "ValueError, TypeError"

_SYMBOLS = {
    "P_": "P_i is the prior of class i",
    "R_": "R_ij is the share of class i with decision j",
    "N_": "N_i is the (weighted) number of rows of class i",
    "c_ij": "c_ij is the cost of decision j for class i",
    "q_": "q_i is the posterior of class i",
}


def completed(text: str, parameters: Sequence[Parameter], shared: Mapping[str, str], raises: str = "") -> str:
    """Complete a docstring with all parameters, conditions for nulls, common errors and the meaning of symbols."""
    summary, sections = _split(cleandoc(text))
    keywords = [parameter.name for parameter in parameters if parameter.kind is Parameter.KEYWORD_ONLY]
    sections["Parameters"] = _entries(parameters, sections.get("Parameters", []), shared)
    undefined = [rule for words, rule in _UNDEFINED.items() if words in "\n".join(sections.get("Returns", []))]
    if undefined:
        sections["Returns"] = [*sections["Returns"], *undefined]
    raised = sections.get("Raises", [])
    if _ERRORS not in raised:
        raised = [*raised, _ERRORS]
    sections["Raises"] = [*raised, *(f"    {error}" for error in (raises, *_common_errors(keywords)) if error)]
    symbols = [meaning for symbol, meaning in _SYMBOLS.items() if symbol in summary]
    if symbols:
        meanings = f"{'; '.join(symbols)}. With two classes, class 1 is the positive one."
        sections["Notes"] = [*sections.get("Notes", []), meanings]
    return _joined(summary, sections)


def without_parameter(text: str, name: str) -> str:
    """Remove the entry of one parameter from a completed docstring."""
    summary, sections = _split(text)
    kept, within = [], False
    for line in sections["Parameters"]:
        within = line.startswith(f"{name} : ") or (within and line.startswith(" "))
        if not within:
            kept.append(line)
    return _joined(summary, {**sections, "Parameters": kept})


@cache
def descriptions() -> Mapping[str, Mapping[str, str]]:
    """Read the texts for the keywords of each family from the source of `options`, as Python does not keep them."""
    try:
        source = getsource(options)
    except OSError:
        # Without source files the package works, but its help lists keywords without texts.
        return {}
    families: dict[str, dict[str, str]] = {}
    for family in ast.parse(source).body:
        if isinstance(family, ast.ClassDef):
            known = families[family.name] = {}
            for base in family.bases:
                known |= families.get(ast.unparse(base), {})
            for key, below in pairwise(family.body):
                if isinstance(key, ast.AnnAssign) and isinstance(below, ast.Expr):
                    known[ast.unparse(key.target)] = cleandoc(ast.literal_eval(below.value))
    return families


def _split(text: str) -> tuple[str, dict[str, list[str]]]:
    lines = text.split("\n")
    heads = [i for i, (line, rule) in enumerate(pairwise(lines)) if line and rule == "-" * len(line)]
    ends = [*heads[1:], len(lines)]
    sections = {
        lines[head]: "\n".join(lines[head + 2 : end]).rstrip().split("\n")
        for head, end in zip(heads, ends, strict=True)
    }
    return "\n".join(lines[: heads[0]] if heads else lines).rstrip(), sections


def _joined(summary: str, sections: Mapping[str, Sequence[str]]) -> str:
    ordered = sorted(sections, key=_SECTIONS.index)
    return "\n\n".join([summary, *("\n".join([name, "-" * len(name), *sections[name]]) for name in ordered)]) + "\n"


def _entries(parameters: Sequence[Parameter], written: Sequence[str], shared: Mapping[str, str]) -> list[str]:
    described: dict[str, list[str]] = {}
    names: list[str] = []
    for line in written:
        if line.startswith(" "):
            described[names[-1]].append(line)
        else:
            # One line may name several parameters that share a description.
            names = line.split(", ")
            described |= {name: [] for name in names}
    common = {**_COLUMNS, **shared}
    lines = []
    for parameter in parameters:
        default = "" if parameter.default is Parameter.empty else f", default {parameter.default!r}"
        lines.append(f"{parameter.name} : {parameter.annotation}{default}")
        if parameter.name in described:
            lines += described[parameter.name]
        else:
            lines += [f"    {line}" for line in common.get(parameter.name, "").split("\n") if line]
    return lines


def _common_errors(keywords: Sequence[str]) -> list[str]:
    explained = [f"`{name}`" for name in ("score_type", "pos_label", "classes") if name in keywords]
    errors = [
        "An unknown keyword, or a value that the keyword does not accept.",
        f"A column whose dtype is ambiguous without {' or '.join(explained)}.",
    ]
    if "prior" in keywords:
        errors.append("LLRs or log-likelihoods without the `prior` that turns them into posteriors.")
    sized = [f"`{name}`" for name in ("costs", "prior") if name in keywords]
    if sized:
        errors.append(f"{' or '.join(sized)} whose size does not match the number of classes.")
    return errors


def with_options(family: type[Any], *, score: str = "", raises: str = "") -> Callable[[F], F]:
    """Add the keywords of a family of `options` to a function's signature and docstring, and reject all others.

    Type checkers and editors read the keywords from the annotation `**options: Unpack[...]`; `help` and `inspect` read
    the result of this function. `score` and `raises` are texts that several functions share.
    """

    def decorate(function: F) -> F:
        declared = signature(function)
        kept = [p for p in declared.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        annotations = {name: getattr(hint, "__forward_arg__", hint) for name, hint in family.__annotations__.items()}
        shared = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotations[name])
            for name, default in DEFAULTS.items()
            if name in annotations
        ]
        shown = declared.replace(parameters=kept + shared)
        checked = checked_at_call(function, shown, of_values if "score" in list(shown.parameters)[:1] else None)
        if function.__doc__:
            shared_texts = _COLUMNS_OF_LOGS if "frame" in shown.parameters else {"score": score} if score else {}
            texts = {**shared_texts, **descriptions().get(family.__name__, {})}
            checked.__doc__ = completed(function.__doc__, list(shown.parameters.values()), texts, raises)
        return cast("F", checked)

    return decorate


def checked_keywords(function: F) -> F:
    """Reject unknown keywords and suggest the closest known one."""
    return cast("F", checked_at_call(function, signature(function)))
