"""Frozen dataclasses that share their methods; to compile six for each of 130 classes took half of the import of the package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, field, fields, replace
from dataclasses import dataclass as _dataclass
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass", "field", "fields", "replace"]


def _set_fields(self: Any, /, *args: Any, **named: Any) -> None:
    values, known = self.__dict__, self.__dataclass_fields__
    values.update(zip(self.__match_args__, args, strict=False), **named)
    if len(values) < len(args) + len(named) or not values.keys() <= known.keys():
        raise TypeError(f"{type(self).__qualname__}() takes each of {', '.join(known)} once")
    for name, declared in known.items():
        if name not in values:
            if declared.default is MISSING and declared.default_factory is MISSING:
                raise TypeError(f"{type(self).__qualname__}() needs {name}")
            values[name] = declared.default_factory() if declared.default is MISSING else declared.default
    if hasattr(self, "__post_init__"):
        self.__post_init__()


def _set_once(self: Any, name: str, value: object = None) -> None:
    if name in self.__dict__ or name not in self.__dataclass_fields__:
        raise FrozenInstanceError(f"cannot assign to field {name!r}, or delete it")
    self.__dict__[name] = value


def _compared(self: Any) -> tuple[object, ...]:
    return tuple(map(self.__dict__.__getitem__, self.__compared__))


@recursive_repr()
def _shown(self: Any) -> str:
    values = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({values})"


_METHODS: dict[str, dict[str, Callable[..., Any]]] = {
    "frozen": {"__init__": _set_fields, "__setattr__": _set_once, "__delattr__": _set_once},
    "eq": {
        "__eq__": lambda self, o: _compared(self) == _compared(o) if type(o) is type(self) else NotImplemented,
        "__hash__": lambda self: hash(_compared(self)),
    },
    "repr": {"__repr__": _shown},
}

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(**options: bool) -> Callable[[type], type]:
        """Make a class a frozen dataclass, as the decorator of the standard library does."""

        def decorate(cls: type) -> type:
            for option, methods in _METHODS.items():
                for name, method in methods.items():
                    if options.get(option, True) and name not in cls.__dict__:
                        setattr(cls, name, method)
            _dataclass(cls, init=False, repr=False, eq=False, kw_only=options.get("kw_only", False))
            cls.__compared__ = tuple(f.name for f in fields(cls) if f.compare)
            return cls

        return decorate
