"""The macros of the dbt package without dbt: rendered by Jinja, with what stands for the adapter and the context of dbt."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jinja2 import StrictUndefined, Template
from jinja2.sandbox import SandboxedEnvironment

FOLDER = Path(__file__).parents[2] / "sql" / "dbt" / "macros"
PARENTS = {"redshift": "postgres", "databricks": "spark"}
"""Whose macros an adapter has besides its own."""
_TEST = re.compile(r"{%(-?)\s*test\s+(\w+)")


class CompileError(Exception):
    """What dbt raises for a call of `exceptions.raise_compiler_error`."""


class _Return(Exception):  # noqa: N818
    def __init__(self, value: Any) -> None:
        self.value = value


class _Macros:
    """The macros of the package by their names, as `polars_ec.name` in a template."""

    def __init__(self) -> None:
        self._by_name: dict[str, Callable[..., Any]] = {}

    def add(self, name: str, macro: Callable[..., Any]) -> None:
        def called(*args: Any, **kwargs: Any) -> Any:
            try:
                return str(macro(*args, **kwargs))
            except _Return as returned:
                return returned.value

        assert name not in self._by_name, f"two macros are called {name}"
        self._by_name[name] = called

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self._by_name[name]

    def __contains__(self, name: str) -> bool:
        return name in self._by_name


def _returned(value: Any) -> None:
    raise _Return(value)


def _refused(message: str) -> None:
    raise CompileError(message)


@cache
def _templates() -> list[Template]:
    environment = SandboxedEnvironment(extensions=["jinja2.ext.do"], undefined=StrictUndefined)
    texts = [path.read_text("utf-8") for path in sorted(FOLDER.rglob("*.sql"))]
    as_macros = [_TEST.sub(r"{%\1 macro test_\2", text).replace("endtest", "endmacro") for text in texts]
    return [environment.from_string(text) for text in as_macros]


def _warned(message: str) -> None:
    warnings.warn(message, stacklevel=2)


@cache
def package(
    adapter: str,
    macros_of_duckdb: bool = False,
    macros_found: tuple[int, bool] = (1, False),
    *,
    dbt_version: str = "1.11.0",
    execute: bool = True,
) -> Any:
    """The macros as they are for an adapter; DataFusion, which has none, takes what is the default.

    `macros_found`: how many macros ec.report DuckDB says that it has, and whether their schema has the name of a database. Without
    `execute` dbt only parses, and has no connection.
    """
    macros = _Macros()

    def dispatch(name: str, namespace: str) -> Callable[..., Any]:
        assert namespace == "polars_ec"
        prefixes = [adapter, PARENTS.get(adapter, "default"), "default"]
        return getattr(macros, next(f"{prefix}__{name}" for prefix in prefixes if f"{prefix}__{name}" in macros))

    context = {
        "polars_ec": macros,
        "adapter": SimpleNamespace(dispatch=dispatch, type=lambda: adapter),
        "exceptions": SimpleNamespace(raise_compiler_error=_refused, warn=_warned),
        "return": _returned,
        "modules": SimpleNamespace(re=re),
        "var": lambda name, default=None: macros_of_duckdb if name == "polars_ec_macros" else default,
        "dbt_version": dbt_version,
        "execute": execute,
        "run_query": lambda query: SimpleNamespace(rows=[macros_found] if execute else None),
    }
    for template in _templates():
        for name, macro in vars(template.make_module(context)).items():
            if callable(macro) and not name.startswith("_"):
                macros.add(name, macro)
    return macros
