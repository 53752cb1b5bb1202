"""The structure of the package: its floors, its size and its names, as `python -m tests.house` measures them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import polars_ec as ec
from tests.house import GOALS, House, folder_of, longest_chain, picture

ROOT = Path(__file__).parents[1]
HOUSE = House(ROOT)
LINES_OF_TEST = 600


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    return HOUSE.measure()


@pytest.mark.parametrize("figure", GOALS)
def test_goals(figure: str, figures: dict[str, float]) -> None:
    assert figures[figure] <= GOALS[figure], DETAILS.get(figure, list)()


DETAILS = {
    "floors": lambda: longest_chain(HOUSE.folder_imports),
    "circles of imports": lambda: HOUSE.circles,
    "longest chain of imports": lambda: longest_chain(HOUSE.imports),
    "class names used twice": lambda: HOUSE.repeated_classes,
    "empty names": lambda: HOUSE.empty_names,
    "docstrings that do not stand alone": lambda: HOUSE.dependent_docstrings,
}


def test_no_folders_import_each_other() -> None:
    remaining = dict(HOUSE.folder_imports)
    while lowest := [folder for folder, others in remaining.items() if not others & remaining.keys()]:
        for folder in lowest:
            del remaining[folder]
    assert not remaining


def test_contributing_shows_the_folders_by_floor() -> None:
    assert picture(HOUSE) in (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_papers_and_demo_import_what_a_user_does() -> None:
    imported = {
        name
        for file in (ROOT / "examples").rglob("*.py")
        for name in re.findall(r"^\s*(?:from|import) (polars_ec(?:\.[\w.]+)?)\b(?!_)", file.read_text("utf-8"), re.M)
    }
    assert imported == {"polars_ec"}


def test_no_folder_has_the_name_of_an_exported_function() -> None:
    exported = {name for name in ec.__all__ if not isinstance(getattr(ec, name), type)}
    assert not exported.intersection(map(folder_of, HOUSE.files))


def test_no_module_is_private() -> None:
    assert not [module for module in HOUSE.files if re.search(r"\._(?!_main__$)", module)]


def test_no_test_file_is_long() -> None:
    lengths = {
        str(file.relative_to(ROOT)): len(file.read_text("utf-8").splitlines())
        for file in (ROOT / "tests").rglob("*.py")
    }
    assert not {file: n for file, n in lengths.items() if n > LINES_OF_TEST}


def test_no_test_imports_from_a_test() -> None:
    """What tests share is in tests/support."""
    imported = {
        str(file.relative_to(ROOT)): [
            node.module
            for node in ast.walk(ast.parse(text))
            if isinstance(node, ast.ImportFrom) and ".test_" in f".{node.module}"
        ]
        for file in (ROOT / "tests").rglob("*.py")
        if re.search(r"from\s+[\w.]*test_", text := file.read_text("utf-8"))  # to parse all takes a second
    }
    assert not {file: modules for file, modules in imported.items() if modules}
