"""The objects that mkdocstrings shows, with the texts that they have at run time."""

from __future__ import annotations

import importlib
from typing import Any

import griffe
from docstrings import as_markdown

import polars_ec as ec


class RuntimeDocstrings(griffe.Extension):
    """Give each export and its members the text of `as_markdown`, as one section."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Once all is loaded."""
        for name in ec.__all__:
            self._describe(pkg[name], getattr(ec, name), name)

    def _describe(self, shown: griffe.Object | griffe.Alias, it: Any, name: str) -> None:
        said = griffe.Docstring(it.__doc__ or "", parent=shown)
        said.__dict__["parsed"] = [griffe.DocstringSectionText(as_markdown(it, name))]
        shown.docstring = said
        for member in shown.all_members if shown.is_class or shown.is_module else ():
            if not member.startswith("_"):
                self._describe(shown.all_members[member], getattr(it, member), f"{name}.{member}")


__all__ = ["RuntimeDocstrings", "importlib"]
