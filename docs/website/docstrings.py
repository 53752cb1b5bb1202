"""What the API pages say of a function or class: its signature and docstring at run time, as Markdown.

The keywords that functions share come into their docstrings when they are imported, so the sources alone would not do.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from operator import attrgetter
from textwrap import fill, indent
from typing import Any

import polars_ec as ec

_WIDTH, _LONGEST_DEFAULT = 88, 40
_CODE = re.compile(r"(`[^`]*`)")
_DIRECTIVE = re.compile(r"^::: polars_ec\.(\S+)\n((?: +.*\n)*)", re.MULTILINE)


def exports() -> dict[str, Any]:
    """Whatever a user may call, by what follows `ec.`; of the charts each function, and what is of Spark."""
    charts = {f"plot.{name}": it for name, it in inspect.getmembers(ec.plot, inspect.isfunction) if name[0] != "_"}
    others = {
        f"{module}.{name}": getattr(getattr(ec, module), name)
        for module in ("sklearn", "spark")
        for name in getattr(ec, module).__all__
    }
    return {name: getattr(ec, name) for name in ec.__all__ if name != "plot"} | charts | others


def documented(page: str) -> list[str]:
    """What the directives of an API page name, without `polars_ec.`, each class with the members that it lists."""
    names = []
    for name, options in _DIRECTIVE.findall(page + "\n"):
        members = re.search(r"members: \[(.*)\]", options)
        names += [name, *(f"{name}.{member}" for member in (members[1].split(", ") if members else []))]
    return names


def with_table(page: str) -> str:
    """An API page that begins with a table of its functions: each name, linked, and the first sentence of its docstring."""
    names = documented(page)
    rows = [f"| [`{name}`][polars_ec.{name}] | {_first_sentence(attrgetter(name)(ec), name)} |" for name in names]
    above, below = re.split(r"^(?=## |::: )", page, maxsplit=1, flags=re.MULTILINE)
    table = ["| function | description |", "|---|---|", *rows]
    return "\n".join([f'{above}<div class="functions" markdown>\n', *table, "\n</div>\n", below])


def _first_sentence(it: Any, name: str) -> str:
    summary = " ".join(_sections(inspect.getdoc(it) or "")["Summary"].split())
    return _prose(re.split(r"(?<=[^.][.!?])(?<!Eq\.) ", summary, maxsplit=1)[0], name)


def as_markdown(it: Any, name: str) -> str:
    """The text of an API entry; `name` is what follows `ec.`, such as `nec` or `Sketch.roc`."""
    parts = _sections(inspect.getdoc(it) or "")
    signature = [_signature(it, name)] if _is_called(it) else []
    text = [*signature, _prose(parts.pop("Summary"), name)]
    if "Parameters" in parts:
        by_hand = _entries(_sections(inspect.getdoc(inspect.unwrap(it)) or "").get("Parameters", ""))
        text += _parameters(_entries(parts["Parameters"]), set(by_hand), name)
    if "Attributes" in parts:
        text += ["**Attributes**", *_list(_entries(parts["Attributes"]), name)]
    for head in ("Returns", "Raises", "Notes", "References"):
        if head == "Raises" and head in parts:
            text += ["**Raises**", *_list(_entries(parts[head]), name)]
        elif head in parts:
            text.append(f"**{head}.** {_prose(parts[head], name)}")
    if "Examples" in parts:
        text.append(_sessions(parts["Examples"], name))
    return "\n\n".join(text)


def _is_called(it: Any) -> bool:
    """A function, or a class that users make themselves: the `__init__` of the others is made, or that of an error."""
    if isinstance(it, type):
        return inspect.isfunction(it.__init__) and it.__init__.__code__.co_filename == inspect.getfile(it)
    return callable(it)


def _sections(doc: str) -> dict[str, str]:
    parts = re.split(r"^(\w+)\n-+\n", f"Summary\n-------\n{doc}", flags=re.MULTILINE)
    return {head: text.strip("\n") for head, text in zip(parts[1::2], parts[2::2], strict=True)}


def _signature(it: Callable[..., Any], name: str) -> str:
    parameters = inspect.signature(it).parameters.values()
    shown = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in map(_short, parameters)]
    arguments = str(inspect.Signature(shown))[1:-1].removeprefix("self, ").removeprefix("self")
    call = f"ec.{name}({arguments})"
    if len(call) > _WIDTH:
        # No default value holds a comma with a space.
        lines = fill(arguments, _WIDTH, initial_indent="    ", subsequent_indent="    ", break_on_hyphens=False)
        call = f"ec.{name}(\n{lines}\n)"
    return f"```python\n{call}\n```"


class _Left:
    """Stands for a default value that is long."""

    def __repr__(self) -> str:
        return "..."


def _short(parameter: inspect.Parameter) -> inspect.Parameter:
    return parameter.replace(default=_Left()) if len(repr(parameter.default)) > _LONGEST_DEFAULT else parameter


def _entries(text: str) -> dict[str, str]:
    """The heads of entries, such as `beta : float, default 1.0`, each with its description."""
    found = re.findall(r"^(\S.*)\n?((?:(?: +.*)?\n?)*?)(?=^\S|\Z)", text, re.MULTILINE)
    return {head: inspect.cleandoc(f"\n{said}") for head, said in found}


def _parameters(entries: Mapping[str, str], by_hand: set[str], name: str) -> list[str]:
    """The parameters that the function alone has; and, folded up, those that it shares with others."""
    described = {name for head in by_hand for name in _names(head)}
    own = {head: said for head, said in entries.items() if _names(head) & described}
    shared = {head: said for head, said in entries.items() if head not in own}
    text = ["**Parameters**", *_list(own, name)] if own else []
    if shared:
        names = ", ".join(f"`{n}`" for head in shared for n in _names(head))
        title = "Further parameters, which many functions share" if own else "Parameters, which many functions share"
        text.append(f'??? info "{title}: {names}"\n\n' + indent("\n\n".join(_list(shared, name)), "    "))
    return text


def _names(head: str) -> set[str]:
    return set(head.split(" : ")[0].split(", "))


def _list(entries: Mapping[str, str], name: str) -> list[str]:
    """A list of names, with the types that are known, and what is said of them; one with nothing is told with the next."""
    items, heads = [], []
    for head, said in entries.items():
        names, _, kind = head.partition(" : ")
        heads.append(", ".join(f"**`{n}`**" for n in names.split(", ")) + (f": `{kind}`" if kind else ""))
        if said:
            items.append(f"-   {'; '.join(heads)}  \n{indent(_prose(said, name), '    ')}")
            heads = []
    return items + [f"-   {head}" for head in heads]


def _prose(text: str, name: str) -> str:
    """Text in which formulas stay what they are, and the names of functions lead to these."""
    parts = _CODE.split(text)
    parts[::2] = [re.sub(r"([*_\[\]|])", r"\\\1", part).replace("<", "&lt;") for part in parts[::2]]
    parts[1::2] = [_linked(part, name) for part in parts[1::2]]
    return "".join(parts)


def _linked(code: str, name: str) -> str:
    there = code.strip("`").removeprefix("polars_").removeprefix("ec.")
    return f"[{code}][polars_ec.{there}]" if there in ec.__all__ and there != name else code


def _sessions(text: str, name: str) -> str:
    """Sessions as code, what stands between them as text."""
    blocks = re.split(r"\n{2,}", text)
    return "\n\n".join(
        f"```pycon\n{block}\n```" if block.startswith(">>>") else _prose(block, name) for block in blocks
    )
