"""The house has floors: each folder or module of polars_ec imports from those below it, wherever in a file the import stands."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

import polars_ec as ec
from tests.support.trace import CALLS, visited

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "polars_ec"

# From the ground up; those of one floor do not import each other. `polars_ec` itself is what a user imports.
FLOORS: list[set[str]] = [
    {"exceptions", "typing", "version", "display", "dialects", "whole_file", "words"},
    {"class_names", "inputs"},
    {"priors", "values"},
    {"costs"},
    {"options"},
    {"arguments", "docstrings"},
    {"signatures"},
    {"formulas", "intervals"},
    {"rows"},
    {"metrics"},
    {"validation", "cells"},
    {"calibration", "reporting"},
    {"comparing"},
    {"drifting"},
    {"plotting"},
    {"plot"},
    {"sketches", "reports", "comparisons", "drifts", "planning"},
    {"sketching"},
    {"page"},
    {"pages"},
    {"sql"},
    {"namespaces"},
    {"polars_ec"},
    {"papers"},
    {"cli", "dbt"},
    {"__main__"},
]
FLOOR_OF = {part: floor for floor, parts in enumerate(FLOORS) for part in parts}
MOST_LAYERS = 18
LINES_OF_SOURCE, LINES_OF_TEST = 400, 600


def modules() -> dict[str, Path]:
    """Every module of the package by its name; what installs the command stands apart."""
    found = {}
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        if parts[1] != "command":
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = modules()


@cache
def imported_by(module: str) -> frozenset[str]:
    """Modules of the package that a module names in any import: at the top, in functions, and for type checkers."""
    found = set()
    for node in ast.walk(ast.parse(MODULES[module].read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else str(node.module))
    return frozenset(name for name in found if name in MODULES and name != module)


def part_of(module: str) -> str:
    """The folder, or the module beside the folders, that a module is of."""
    return module.split(".")[1] if "." in module else module


PARTS = sorted({part_of(module) for module in MODULES})


def circles() -> list[list[str]]:
    """Modules that import each other, directly or through others."""
    reached = {module: {module} | set(imported_by(module)) for module in MODULES}
    for through in MODULES:
        for names in reached.values():
            if through in names:
                names |= reached[through]
    together = {frozenset(other for other in names if module in reached[other]) for module, names in reached.items()}
    return sorted(sorted(circle) for circle in together if len(circle) > 1)


def layers() -> list[str]:
    """The most folders, and modules beside them, of which each imports the next: as one walks down the house."""

    @cache
    def below(part: str) -> tuple[str, ...]:
        others = {part_of(other) for module in MODULES if part_of(module) == part for other in imported_by(module)}
        return (part, *max((below(other) for other in others - {part}), key=len, default=()))

    return list(max(map(below, PARTS), key=len))


def test_every_part_has_a_floor() -> None:
    assert set(PARTS) == set(FLOOR_OF)


def test_papers_import_what_a_user_does() -> None:
    """But for the colours of charts."""
    papers = [module for module in MODULES if part_of(module) == "papers"]
    others = {other for module in papers for other in imported_by(module) if part_of(other) != "papers"}
    assert others == {"polars_ec", "polars_ec.plotting.theme"}


@pytest.mark.parametrize("part", PARTS)
def test_a_part_imports_from_the_floors_below(part: str) -> None:
    upwards = [
        f"{module} imports {other}"
        for module in MODULES
        if part_of(module) == part
        for other in sorted(imported_by(module))
        if part_of(other) != part and FLOOR_OF.get(part_of(other), 0) >= FLOOR_OF.get(part, 0)
    ]
    assert not upwards, "\n".join(upwards)


def test_no_modules_import_each_other() -> None:
    assert not circles(), "\n".join(map(", ".join, circles()))


def test_there_are_few_layers() -> None:
    assert not circles(), "a circle has no end"
    assert len(layers()) <= MOST_LAYERS, " -> ".join(layers())


@pytest.mark.parametrize(
    ("call", "most"), list(zip(CALLS, (10, 34), strict=True)), ids=["a metric", "a calibration loss"]
)
def test_a_call_goes_through_few_files(call: str, most: int) -> None:
    assert len(visited(CALLS[call])) <= most


def test_no_module_has_the_name_of_an_exported_function() -> None:
    exported = {name for name in ec.__all__ if not isinstance(getattr(ec, name), type)}
    assert not exported.intersection(PARTS)


def test_no_module_is_private() -> None:
    assert not [
        str(file.relative_to(ROOT))
        for file in PACKAGE.rglob("*.py")
        if file.name.startswith("_") and file.name not in ("__init__.py", "__main__.py")
    ]


@pytest.mark.parametrize(("folder", "most"), [("polars_ec", LINES_OF_SOURCE), ("tests", LINES_OF_TEST)])
def test_no_file_is_long(folder: str, most: int) -> None:
    lengths = {file: len(file.read_text("utf-8").splitlines()) for file in (ROOT / folder).rglob("*.py")}
    long = {str(file.relative_to(ROOT)): n for file, n in lengths.items() if n > most}
    assert not long


def test_no_test_imports_from_a_test() -> None:
    """What tests share is in tests/support."""
    named = {
        str(file.relative_to(ROOT)): [
            node.module
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.ImportFrom) and ".test_" in f".{node.module}"
        ]
        for file in (ROOT / "tests").rglob("*.py")
        if re.search(r"from\s+[\w.]*test_", text := file.read_text("utf-8"))  # to parse all takes a second
    }
    assert not {file: modules for file, modules in named.items() if modules}
