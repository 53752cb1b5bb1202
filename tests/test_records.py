"""Dataclasses of the package behave as those of the standard library, with which every case compares them."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import polars_ec
from polars_ec import records


def classes(dataclass: Callable[..., Any]) -> dict[str, type]:
    @dataclass(frozen=True)
    class Point:
        x: float
        y: float = 2.0
        names: list[str] = dataclasses.field(default_factory=list, compare=False)
        hidden: int = dataclasses.field(default=0, repr=False)

        def __post_init__(self) -> None:
            if self.x < 0:
                raise ValueError("below 0")

    @dataclass(frozen=True, kw_only=True)
    class Named(Point):
        label: str = "a"

    @dataclass(frozen=True, eq=False)
    class Apart:
        x: int

    @dataclass(frozen=True, repr=False)
    class Plain:
        x: int

        def __repr__(self) -> str:
            return "plain"

    return {it.__name__: it for it in (Point, Named, Apart, Plain)}


OURS, STANDARD = classes(records.dataclass), classes(dataclasses.dataclass)
CALLS = {
    "positional": ("Point", (1.0, 3.0), {}),
    "defaults": ("Point", (1.0,), {}),
    "by name": ("Point", (), {"y": 5.0, "x": 1.0, "hidden": 7}),
    "inherited": ("Named", (1.0,), {"label": "b"}),
    "inherited default": ("Named", (1.0, 2.0), {}),
    "own repr": ("Plain", (1,), {}),
    "missing": ("Point", (), {}),
    "unknown": ("Point", (1.0,), {"z": 1}),
    "twice": ("Point", (1.0,), {"x": 1.0}),
    "too many": ("Apart", (1, 2), {}),
    "by position": ("Named", (1.0, 2.0, [], 0, "b"), {}),
    "refused": ("Point", (-1.0,), {}),
}


def outcome(known: dict[str, type], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """All that shows of an object, or the kind of the error."""
    try:
        it, other = known[name](*args, **kwargs), known[name](*args, **kwargs)
    except (TypeError, ValueError) as error:
        return type(error)
    changed = dataclasses.replace(it, x=4.0)
    hashed = hash(it) == hash(other), hash(it) == hash(changed)
    equal = it == other, it == changed, it == it, it != other, it == "text"
    return repr(it).replace(type(it).__qualname__, name), dataclasses.asdict(it), dataclasses.astuple(it), equal, hashed


@pytest.mark.parametrize("case", CALLS)
def test_as_the_standard_library(case: str) -> None:
    assert outcome(OURS, *CALLS[case]) == outcome(STANDARD, *CALLS[case])


def test_equality_by_identity() -> None:
    it, other = OURS["Apart"](1), OURS["Apart"](1)
    assert (it == other, it == it, hash(it) == hash(other)) == (False, True, False)


def test_fields_left_out_of_comparisons() -> None:
    point = OURS["Point"]
    assert point(1.0, names=["a"]) == point(1.0, names=["b"])
    assert point(1.0, hidden=1) != point(1.0, hidden=2)
    assert point(1.0) != OURS["Named"](1.0)
    assert point(1.0).names is not point(1.0).names


@pytest.mark.parametrize(
    "change", [lambda it: setattr(it, "x", 2), lambda it: setattr(it, "new", 2), lambda it: delattr(it, "x")]
)
def test_frozen(change: Callable[[Any], None]) -> None:
    for known in (OURS, STANDARD):
        it = known["Point"](1.0)
        with pytest.raises(dataclasses.FrozenInstanceError):
            change(it)
        assert it == known["Point"](1.0)


def test_copies_and_pickles() -> None:
    costs = polars_ec.CostMatrix([[0, 1], [5, 0]], decisions=["no", "yes"])
    assert len({hash(costs), hash(copy.deepcopy(costs)), hash(pickle.loads(pickle.dumps(costs)))}) == 1
    assert costs == copy.copy(costs) == pickle.loads(pickle.dumps(costs)) != polars_ec.CostMatrix([[0, 1], [4, 0]])


def test_the_import_compiles_few_methods() -> None:
    """Only the two classes that lie below all others take the decorator of the standard library."""
    code = (
        "import sys, polars_ec\n"
        "modules = [module for name, module in sys.modules.items() if name.startswith('polars_ec.')]\n"
        "classes = {it for module in modules for it in vars(module).values() if '__dataclass_fields__' in getattr(it, '__dict__', ())}\n"
        "print(*sorted(it.__name__ for it in classes if '__compared__' not in vars(it)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["CheckedPrior", "ClassNames"]
