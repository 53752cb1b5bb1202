"""What the API pages say of a function or class: its signature and docstring at run time, as Markdown.

The keywords that functions share come into their docstrings when they are imported, so the sources alone would not do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import polars_ec as ec

_WIDTH = 88
_CODE = re.compile(r"(`[^`]*`)")
_AFTER = ("Returns", "Raises", "Notes", "References")


def as_markdown(it: Any, name: str) -> str:
    """The text of an API entry; `name` is what follows `ec.`, such as `nec` or `Sketch.roc`."""
    parts = _sections(inspect.getdoc(it) or "")
    signature = [_signature(it, name)] if callable(it) else []
    text = [*signature, _prose(parts.pop("Summary"), name)]
    if "Parameters" in parts:
        by_hand = _entries(_sections(inspect.getdoc(inspect.unwrap(it)) or "").get("Parameters", ""))
        text += _parameters(_entries(parts["Parameters"]), set(by_hand), name)
    if "Attributes" in parts:
        text += ["**Attributes**", *(_entry(*entry, name) for entry in _entries(parts["Attributes"]).items())]
    for head in _AFTER:
        if head in parts:
            said = re.sub(r"^(\S.*)\n +", r"\1: ", parts[head]) if head == "Raises" else parts[head]
            text.append(f"**{head}.** {_prose(said, name)}")
    if "Examples" in parts:
        text.append(_sessions(parts["Examples"]))
    return "\n\n".join(text)


def _sections(doc: str) -> dict[str, str]:
    parts = re.split(r"^(\w+)\n-+\n", f"Summary\n-------\n{doc}", flags=re.MULTILINE)
    return {head: text.strip("\n") for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def _signature(it: Callable[..., Any], name: str) -> str:
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in inspect.signature(it).parameters.values()
        if parameter.name not in ("self", "cls")
    ]
    shown = str(inspect.Signature(parameters))
    call = f"ec.{name}{shown}"
    if len(call) > _WIDTH:
        lines = [f"    {argument}," for argument in re.split(r", (?=\*?\w+(?:=|,|\)|$))", shown[1:-1])]
        call = "\n".join([f"ec.{name}(", *lines, ")"])
    return f"```python\n{call}\n```"


def _entries(text: str) -> dict[str, str]:
    """The heads of entries, such as `beta : float, default 1.0`, each with its description."""
    found = re.findall(r"^(\S.*)\n?((?:(?: +.*)?\n?)*?)(?=^\S|\Z)", text, re.MULTILINE)
    return {head: inspect.cleandoc(f"\n{said}") for head, said in found}


def _parameters(entries: Mapping[str, str], by_hand: set[str], name: str) -> list[str]:
    own = {head: said for head, said in entries.items() if _names(head) & {n for h in by_hand for n in _names(h)}}
    shared = {head: said for head, said in entries.items() if head not in own}
    text = [_entry(head, said, name) for head, said in own.items()]
    if text:
        text = ["**Parameters**", *text]
    if shared:
        within = "\n\n".join(_entry(head, said, name) for head, said in shared.items())
        names = ", ".join(f"`{n}`" for head in shared for n in sorted(_names(head)))
        indented = "\n".join(f"    {line}" if line else "" for line in within.split("\n"))
        title = "Further parameters, which many functions share" if own else "Parameters, which many functions share"
        text.append(f'??? info "{title}: {names}"\n\n{indented}')
    return text


def _names(head: str) -> set[str]:
    return set(head.split(" : ")[0].split(", "))


def _entry(head: str, said: str, name: str) -> str:
    """An entry of a list: the names, the type, what is said."""
    names, _, kind = head.partition(" : ")
    shown = ", ".join(f"**`{n}`**" for n in names.split(", ")) + (f": `{kind}`" if kind else "")
    described = _prose(said, name).replace("\n", "\n    ")
    return f"-   {shown}" + (f"  \n    {described}" if said else "")


def _prose(text: str, name: str) -> str:
    """Text in which formulas stay what they are, and the names of functions lead to these."""
    parts = _CODE.split(text)
    parts[::2] = [re.sub(r"([*_<\[\]|])", r"\\\1", part) for part in parts[::2]]
    parts[1::2] = [_linked(part, name) for part in parts[1::2]]
    return "".join(parts)


def _linked(code: str, name: str) -> str:
    there = code.strip("`").removeprefix("ec.")
    return f"[{code}][polars_ec.{there}]" if there in ec.__all__ and there != name else code


def _sessions(text: str) -> str:
    """Sessions as code, what stands between them as text."""
    blocks = re.split(r"\n{2,}", text)
    return "\n\n".join(f"```pycon\n{block}\n```" if block.startswith(">>>") else block for block in blocks)
