"""NumPy, loaded on first use, and aliases of array types."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import polars as pl

__all__ = ["Bools", "Floats", "Integers", "LazyModule", "Numbers", "Texts", "floats", "np", "quiet"]

P = ParamSpec("P")
R = TypeVar("R")


class LazyModule(ModuleType):
    """A module that is imported when one of its attributes is first used, as Polars has it."""

    def __getattr__(self, name: str) -> Any:
        module = import_module(self.__name__)
        self.__dict__.update(module.__dict__)
        return getattr(module, name)


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Integers: TypeAlias = NDArray[np.int64]
    Bools: TypeAlias = NDArray[np.bool_]
    Numbers: TypeAlias = NDArray[Any]
    Texts: TypeAlias = NDArray[np.str_]
else:
    np = LazyModule("numpy")
    Floats = Integers = Bools = Numbers = Texts = Any


def floats(column: pl.Series) -> Floats:
    """The numbers of a column, NaN for null."""
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def quiet(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function to suppress NumPy's warnings about infinities and NaN."""

    @wraps(function)
    def quietly(*args: P.args, **kwargs: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)

    return quietly
