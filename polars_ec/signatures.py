"""The shared keywords in the signatures of the public functions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, ForwardRef, TypeVar, cast

from polars_ec.arguments import checked_at_call
from polars_ec.docstrings import completed, descriptions
from polars_ec.options import DEFAULTS
from polars_ec.values import of_values

# The decorated function keeps its own type: editors then find the description of each keyword below its key in `options`.
F = TypeVar("F", bound=Callable[..., Any])


def with_options(options: type[Any], *, score: str = "", raises: str = "") -> Callable[[F], F]:
    """Show the keywords of `options` in the function's signature and docstring, and refuse any other at the call.

    Type checkers and editors read the keywords from the annotation `**options: Unpack[...]`; `help` and `inspect` read them
    here. `score` and `raises` are what several functions have in common: what their score is, and an error.
    """

    def decorate(function: F) -> F:
        own = signature(function)
        kept = [p for p in own.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
        annotations = {name: _source(hint) for name, hint in options.__annotations__.items()}
        shared = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotations[name])
            for name, default in DEFAULTS.items()
            if name in annotations
        ]
        shown = own.replace(parameters=kept + shared)
        checked = checked_at_call(function, shown, of_values if "score" in list(shown.parameters)[:1] else None)
        if function.__doc__:
            texts = {**descriptions().get(options.__name__, {}), **({"score": score} if score else {})}
            checked.__doc__ = completed(function.__doc__, list(shown.parameters.values()), texts, raises)
        return cast("F", checked)

    return decorate


def _source(hint: Any) -> Any:
    return hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint


def checked_keywords(function: F) -> F:
    """Refuse a keyword that the function does not have, with the one that may be meant."""
    return cast("F", checked_at_call(function, signature(function)))
