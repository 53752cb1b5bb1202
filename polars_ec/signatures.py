"""The shared keywords in the signatures of the public functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import Parameter, signature
from typing import Any, ForwardRef, TypeVar, cast

from polars_ec.docstrings import completed, descriptions, without_parameter
from polars_ec.options import DEFAULTS, check_keywords

# The decorated function keeps its own type: editors then find the description of each keyword below its key in `options`.
F = TypeVar("F", bound=Callable[..., Any])


def with_options(options: type[Any], *, raises: str = "", like: Callable[..., Any] | None = None) -> Callable[[F], F]:
    """Show the keywords of `options` in the function's signature and docstring, and refuse any other at the call.

    Type checkers and editors read the keywords from the annotation `**options: Unpack[...]`; `help` and `inspect` read them
    here. `raises` is an error that several functions have in common. A method of frames takes the docstring of the function
    `like`, without the entry of its parameter `frame`.
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

        name = function.__name__
        by_position = [p.name for p in kept if p.kind is Parameter.POSITIONAL_OR_KEYWORD]
        by_name = [p.name for p in shown.parameters.values() if p.kind is Parameter.KEYWORD_ONLY]
        public = [p for p in [*by_position, *by_name] if p != "self"]

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            check_keywords(name, kwargs, public)
            if len(args) > len(by_position):
                taken = " and ".join(p for p in by_position if p != "self")
                raise TypeError(
                    f"{name}() takes {taken} by position, and {args[len(by_position)]!r} is one more: options go by name, such "
                    f"as {by_name[0]}="
                )
            if kwargs.get("by", ()) is None:
                raise TypeError(f"{name}(): by=None names no groups: leave by= out for one group, or pass columns")
            try:
                shown.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{name}(): {error}") from None
            return function(*args, **kwargs)

        checked.__signature__ = shown  # type: ignore[attr-defined]
        if like is not None and like.__doc__:
            checked.__doc__ = without_parameter(like.__doc__, "frame")
        elif function.__doc__:
            checked.__doc__ = completed(
                function.__doc__, list(shown.parameters.values()), descriptions().get(options.__name__, {}), raises
            )
        return cast("F", checked)

    return decorate


def _source(hint: Any) -> Any:
    return hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint


def checked_keywords(function: F) -> F:
    """Refuse a keyword that the function does not have, with the one that may be meant."""
    known = [name for name, p in signature(function).parameters.items() if p.kind is Parameter.KEYWORD_ONLY]

    @wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        check_keywords(function.__name__, kwargs, known)
        return function(*args, **kwargs)

    return cast("F", checked)
