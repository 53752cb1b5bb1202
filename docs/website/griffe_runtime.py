"""The objects that mkdocstrings shows, with the texts that they have at run time."""

from __future__ import annotations

import inspect
from typing import Any

import griffe
from docstrings import as_markdown, exports


class RuntimeDocstrings(griffe.Extension):
    """Give each export and its members the text of `as_markdown`, as one section."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Once all is loaded."""
        for name, it in exports().items():
            _describe(pkg[name], it, name)


def _describe(shown: griffe.Object | griffe.Alias, it: Any, name: str) -> None:
    text = griffe.Docstring(it.__doc__, parent=shown)
    text.__dict__["parsed"] = [griffe.DocstringSectionText(as_markdown(it, name))]
    shown.docstring = text
    if isinstance(it, type):
        for member, value in inspect.getmembers(it, lambda value: callable(value) or isinstance(value, property)):
            if not member.startswith("_") and member in shown.all_members:
                _describe(shown.all_members[member], value, f"{name}.{member}")
