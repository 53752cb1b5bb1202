"""Names of classes: fields of a struct, rows of a cost matrix and keys of a prior are found by them, not by their place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, cast


@dataclass(frozen=True)
class ClassNames:
    """The values of the label, in class order.

    `stated` is whether the caller named them; if not, they are Boolean or 0..K-1, and `fields` what a struct of scores calls
    them. `rest` is whether the first class is every value but the second, as where `pos_label` names the positive class alone.
    """

    values: tuple[Any, ...]
    stated: bool = True
    rest: bool = False
    fields: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[Any, ...]:
        """The names that somebody gave the classes, in class order; none where nobody did."""
        return self.fields or (self.values if self.stated else ())

    def places(self, names: Sequence[Any], what: str, *, or_in_order: bool = False) -> list[int]:
        """Where the name of each class is in `names`; ValueError where names and classes do not go together.

        `or_in_order`: where nobody named the classes, names that all mean nothing are in their order.
        """
        found: list[int | None] = []
        for known in (self.values, *([self.fields] if self.fields else [])):
            found = [_place(value, names) for value in known]
            if self.rest and len(names) == 2 and found[1] is not None:
                found[0] = 1 - found[1]
            places = [place for place in found if place is not None]
            if len(set(places)) == len(self.values) == len(names):
                return places
        meaningless = all(place is None for place in found) and not self.fields and not self.stated
        if or_in_order and meaningless and len(names) == len(self.values):
            return list(range(len(names)))
        raise ValueError(
            f"{what} names the classes {list(names)}, and the classes are {list(self.fields or self.values)}: use the same "
            "names, or none, as in a list or an array"
        )

    def goes_with(self, other: ClassNames) -> bool:
        """Whether the classes of two logs may be the same, in the same order.

        Names that say nothing of each other are where nobody named the classes of one.
        """
        for one, two in ((self, other), (other, self)):
            try:
                return one.places(two.values, "the other") == [*range(len(one.values))]
            except ValueError:
                continue
        return not (self.known and other.known) or UNKNOWN in (self, other)

    def in_metadata(self) -> dict[str, Any]:
        """As JSON holds it: what it cannot hold as text, by which names are found too."""
        return {
            "values": [value if isinstance(value, bool | int) else _text(value) for value in self.values],
            "stated": self.stated,
            "rest": self.rest,
            "fields": self.fields,
        }

    @classmethod
    def of_metadata(cls, about: Mapping[str, Any]) -> ClassNames:
        """What `in_metadata` gave; KeyError, TypeError or ValueError for anything else."""
        values, stated, rest, fields = (about[name] for name in ("values", "stated", "rest", "fields"))
        lists = isinstance(values, list) and all(isinstance(value, str | int) for value in values)
        lists = lists and isinstance(fields, list) and all(isinstance(name, str) for name in fields)
        flags = isinstance(stated, bool) and isinstance(rest, bool)
        if not (lists and flags and len(set(values)) == len(values) > 1 and len(set(fields)) == len(fields)):
            raise ValueError(f"classes: {about}")
        if fields and len(fields) != len(values):
            raise ValueError(f"classes: {len(fields)} fields of {len(values)} classes")
        return cls(tuple(values), stated, rest, tuple(fields))


UNKNOWN = ClassNames((False, True))
"""The classes of a binary problem of which no names are known but these, and 0 and 1."""


def _text(value: Any) -> str:
    """A value as text: equal numbers are the same."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _place(value: Any, names: Sequence[Any]) -> int | None:
    """Where a name equals the value, or else says it as text: fields of a struct have no other names."""
    equal = [place for place, name in enumerate(names) if name == value]
    texts = {str(value).casefold(), str(int(value))} if isinstance(value, bool) else {str(value), _text(value)}
    alike = equal or [
        place
        for place, name in enumerate(names)
        if (_text(name).casefold() if isinstance(value, bool) else _text(name)) in texts
    ]
    return alike[0] if alike else None


def plain(value: object) -> Any:
    """A number, Boolean or text of NumPy as that of Python, of which types are told apart here."""
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    return cast("Any", value).item() if kind in ("b", "i", "u", "f", "U") and getattr(value, "ndim", 1) == 0 else value


def parse_classes(classes: Sequence[object], pos_label: object) -> tuple[object, ...]:
    """The label's values in class order, checked."""
    if pos_label is not None:
        raise ValueError("pass either pos_label= (binary) or classes=, not both")
    ordered = isinstance(classes, Iterable) and not isinstance(classes, str | Set | Mapping)
    values = tuple(map(plain, classes)) if ordered else ()
    if (
        any(isinstance(value, list | dict | set) for value in values)
        or len(set(values)) != len(values)
        or len(values) < 2
    ):
        raise ValueError(f"classes={classes!r} must list at least two different label values, in class order")
    return values
