"""Measure the structure of the package: its size, its floors, its names, and the files that a call passes through.

Run as `python -m tests.house [CHECKOUT]`: it prints each figure with its goal, and beside it the figure of another checkout.
`python -m tests.house --picture` draws the folders and their floors, as CONTRIBUTING.md shows them.
`tests/test_layers.py` holds the package to the goals.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = "polars_ec"

GOALS: dict[str, float] = {
    # 40,500 once the house was built; then intervals that cover, warnings that say why, the first screen of the page, and what other tools take.
    "lines": 47_938,
    "files": 175,
    "most code lines in a file": 700,
    "floors": 12,
    "circles of imports": 0,
    "longest chain of imports": 20,
    "class names used twice": 0,
    "empty names": 0,
    "docstrings that do not stand alone": 0,
    "files of a metric": 10,
    "files of a calibration loss": 34,
    "files of an interval in a report": 16,
    "files of an interval in compare": 20,
    "files of an interval in drift": 24,
}
EMPTY_NAMES = frozenset(
    [
        "asked",
        "told",
        "told_rows",
        "told_changes",
        "of_rows",
        "of_sketch",
        "choice",
        "sides",
        "many",
        "pieces",
        "parts",
        "needs",
        "made",
        "own",
        "both",
        "found",
        "how",
        "given",
    ]
)
LONG_LIVED = 5
NOT_ALONE = re.compile(r"(The same|Those|That|Of)\b")


@dataclass(frozen=True)
class House:
    """The sources of one checkout."""

    root: Path

    @cached_property
    def files(self) -> dict[str, Path]:
        """Each module of the package by its name; the module of the command lies outside the package."""
        modules = {}
        for file in sorted((self.root / PACKAGE).rglob("*.py")):
            names = file.relative_to(self.root).with_suffix("").parts
            if names[1] != "command":
                modules[".".join(names[:-1] if names[-1] == "__init__" else names)] = file
        return modules

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """The syntax tree of each module."""
        return {module: ast.parse(file.read_text("utf-8")) for module, file in self.files.items()}

    @cached_property
    def nodes(self) -> dict[str, list[ast.AST]]:
        """All nodes of each module's tree; to walk a tree takes longer than what is asked of its nodes."""
        return {module: list(ast.walk(tree)) for module, tree in self.trees.items()}

    @cached_property
    def imports(self) -> dict[str, frozenset[str]]:
        """Modules of the package that each module imports anywhere: at the top, in functions, for type checkers."""
        return {module: frozenset(self._imported(module)) for module in self.files}

    def _imported(self, module: str) -> Iterator[str]:
        for node in self.nodes[module]:
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{module} has a relative import"
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                names = [name if name in self.files else str(node.module) for name in inner]
            yield from (name for name in names if name in self.files and name != module)

    @cached_property
    def folders(self) -> list[str]:
        """The folders of the package, and the modules beside them."""
        return sorted({folder_of(module) for module in self.files})

    @cached_property
    def folder_imports(self) -> dict[str, set[str]]:
        """The folders that each folder imports from."""
        imported: dict[str, set[str]] = {folder: set() for folder in self.folders}
        for module, others in self.imports.items():
            imported[folder_of(module)] |= {folder_of(other) for other in others} - {folder_of(module)}
        return imported

    @cached_property
    def circles(self) -> list[list[str]]:
        """Modules that import each other, directly or through others."""
        reached = {module: {module} | others for module, others in self.imports.items()}
        for between in self.files:
            for modules in reached.values():
                if between in modules:
                    modules |= reached[between]
        rings = {frozenset(o for o in others if module in reached[o]) for module, others in reached.items()}
        return sorted(sorted(ring) for ring in rings if len(ring) > 1)

    def code_lines(self, module: str) -> int:
        """Lines that are neither blank nor comments nor docstrings."""
        documented = set()
        for node in self.nodes[module]:
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False):
                documented |= set(range(node.body[0].lineno, int(node.body[0].end_lineno or 0) + 1))
        lines = enumerate(self.files[module].read_text("utf-8").splitlines(), 1)
        return sum(n not in documented and not re.match(r"\s*(#|$)", line) for n, line in lines)

    @cached_property
    def repeated_classes(self) -> list[str]:
        """Names that several classes of the package have."""
        classes = (
            node.name.lstrip("_") for nodes in self.nodes.values() for node in nodes if isinstance(node, ast.ClassDef)
        )
        return sorted(name for name, times in Counter(classes).items() if times > 1)

    @cached_property
    def empty_names(self) -> list[str]:
        """Modules, classes, functions and long-lived variables whose names say nothing."""
        places = [module for module in self.files if module.rpartition(".")[2] in EMPTY_NAMES]
        for module, nodes in self.nodes.items():
            for node in nodes:
                if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and _is_empty(node.name):
                    places.append(f"{module}:{node.lineno} {node.name}")
                if isinstance(node, ast.FunctionDef):
                    places += [f"{module}:{line} {name}" for name, line in _long_lived(node) if _is_empty(name)]
                if isinstance(node, ast.ClassDef):
                    fields = (field.target for field in node.body if isinstance(field, ast.AnnAssign))
                    names = [(field.id, field.lineno) for field in fields if isinstance(field, ast.Name)]
                    places += [f"{module}:{line} {name}" for name, line in names if _is_empty(name)]
        return places

    @cached_property
    def dependent_docstrings(self) -> list[str]:
        """Functions and classes whose docstrings cannot be read without their neighbours'."""
        return [
            f"{module}:{node.lineno} {node.name}"
            for module, nodes in self.nodes.items()
            for node in nodes
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and NOT_ALONE.match(ast.get_docstring(node) or "")
        ]

    def measure(self) -> dict[str, float]:
        """Each figure of the structure; those of calls are measured in a process of its own, on this checkout's package."""
        files = list(self.files.values())
        code_lines = [self.code_lines(module) for module in self.files]
        calls = subprocess.run(
            [sys.executable, str(ROOT / "tests/support/trace.py"), "--counts"],
            cwd=self.root,
            env={"PYTHONPATH": f"{self.root}", "PATH": ""},
            check=True,
            capture_output=True,
            text=True,
        )
        return {
            "lines": sum(len(file.read_text("utf-8").splitlines()) for file in files),
            "files": len(files),
            "code lines": sum(code_lines),
            "most code lines in a file": max(code_lines),
            "files below 80 lines": sum(len(file.read_text("utf-8").splitlines()) < 80 for file in files),
            "floors": len(longest_chain(self.folder_imports)) if not self.circles else -1,
            "circles of imports": len(self.circles),
            "longest chain of imports": len(longest_chain(self.imports)) if not self.circles else -1,
            "class names used twice": len(self.repeated_classes),
            "empty names": len(self.empty_names),
            "docstrings that do not stand alone": len(self.dependent_docstrings),
            **json.loads(calls.stdout),
        }

    def floors(self) -> list[list[str]]:
        """The folders by floor: each is as low as what it imports allows."""
        height: dict[str, int] = {}

        def of(folder: str) -> int:
            if folder not in height:
                height[folder] = 1 + max(map(of, self.folder_imports[folder]), default=-1)
            return height[folder]

        floors = defaultdict(list)
        for folder in self.folders:
            floors[of(folder)].append(folder)
        return [floors[floor] for floor in sorted(floors)]


def folder_of(module: str) -> str:
    """The folder, or the module beside the folders, that a module belongs to."""
    return module.split(".")[1] if "." in module else module


def longest_chain(imports: dict[str, Iterable[str]] | dict[str, set[str]] | dict[str, frozenset[str]]) -> list[str]:
    """The longest way from importer to imported."""
    chains: dict[str, list[str]] = {}

    def below(name: str) -> list[str]:
        if name not in chains:
            chains[name] = [name, *max((below(other) for other in sorted(imports[name])), key=len, default=[])]
        return chains[name]

    return max(map(below, sorted(imports)), key=len)


def _is_empty(name: str) -> bool:
    return name.strip("_").lower() in EMPTY_NAMES


def _long_lived(function: ast.FunctionDef) -> list[tuple[str, int]]:
    """Parameters and variables of a function that are used more than a few lines after they appear."""
    lines = defaultdict(list)
    stored = set()
    for node in ast.walk(function):
        if isinstance(node, ast.arg):
            lines[node.arg].append(node.lineno)
            stored.add(node.arg)
        elif isinstance(node, ast.Name):
            lines[node.id].append(node.lineno)
            if isinstance(node.ctx, ast.Store):
                stored.add(node.id)
    return [(name, min(at)) for name, at in lines.items() if name in stored and max(at) - min(at) > LONG_LIVED]


def picture(house: House) -> str:
    """The folders by floor, from the top, with what each is about."""
    entry = ast.parse((house.root / PACKAGE / "command" / "polars_ec_command.py").read_text("utf-8"))
    rows = [("command/", ast.get_docstring(entry) or ""), ("", "")]
    for floor in reversed(house.floors()):
        for folder in floor:
            file = house.files.get(f"{PACKAGE}.{folder}", house.files[PACKAGE])
            about = (
                ast.get_docstring(house.trees[PACKAGE if folder == PACKAGE else f"{PACKAGE}.{folder}"]) or ""
            ).splitlines()[0]
            name = "__init__.py" if folder == PACKAGE else f"{folder}/" if file.name == "__init__.py" else file.name
            rows.append((name, about))
        rows.append(("", ""))
    return "\n".join(f"{name:<14} {about}".rstrip() for name, about in rows).rstrip()


def main() -> None:
    """Print the figures of this checkout with their goals, and of another one where one is named."""
    if sys.argv[1:] == ["--picture"]:
        print(picture(House(ROOT)))
        return
    houses = [House(Path(root)) for root in sys.argv[1:]] + [House(ROOT)]
    figures = [house.measure() for house in houses]
    for name in figures[-1]:
        goal = f"at most {GOALS[name]:,}" if name in GOALS else ""
        print(
            f"{name:<40}"
            + "".join(f"{figure.get(name, float('nan')):>10,}" for figure in figures)
            + f"   {goal}".rstrip()
        )


if __name__ == "__main__":
    main()
