"""Options that several commands have, as fields of a dataclass: said once, and handed over together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, fields
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, TypeVar, get_type_hints

A = TypeVar("A")
B = TypeVar("B")
P = ParamSpec("P")


def taking(first: type[A], last: type[B]) -> Callable[[Callable[Concatenate[A, B, P], None]], Callable[..., None]]:
    """The command has the fields of both dataclasses as parameters, before and after its own, and gets one object of each."""

    def decorate(command: Callable[Concatenate[A, B, P], None]) -> Callable[..., None]:
        @wraps(command)
        def taken(**given: Any) -> None:
            before, after = (
                {field.name: given.pop(field.name) for field in fields(kind)}  # type: ignore[arg-type]
                for kind in (first, last)
            )
            command(first(**before), last(**after), **given)  # type: ignore[call-arg]

        own = [
            parameter.replace(kind=Parameter.KEYWORD_ONLY)
            for parameter in [*signature(command, eval_str=True).parameters.values()][2:]
        ]
        taken.__signature__ = signature(command).replace(  # type: ignore[attr-defined]
            parameters=[*_parameters(first), *own, *_parameters(last)]
        )
        return taken

    return decorate


def _parameters(kind: type) -> list[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    return [
        Parameter(
            field.name,
            Parameter.KEYWORD_ONLY,
            default=Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(kind)
    ]
