"""Names of classes: fields of a struct, rows of a cost matrix and keys of a prior are found by them, not by their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ClassNames:
    """The values of the label, in class order.

    `stated` is whether the caller named them; if not, they are 0..K-1, and `fields` what a struct of scores calls them.
    `rest` is whether the first class is every value but the second, as where `pos_label` names the positive class alone.
    """

    values: Sequence[Any]
    stated: bool = True
    rest: bool = False
    fields: Sequence[str] = ()

    @property
    def texts(self) -> list[str]:
        """What fields of a struct of scores are called, in class order; nothing where nobody named the classes."""
        known = self.fields or (self.values if self.stated and not self.rest else [])
        return [str(name) for name in known]

    def places(self, names: Sequence[Any], what: str, *, or_in_order: bool = False) -> list[int]:
        """Where the name of each class is in `names`; ValueError where names and classes do not go together.

        `or_in_order`: names that all mean nothing go with unnamed classes one by one.
        """
        alike = False
        for known in (self.values, *([self.fields] if self.fields else [])):
            found = [_place(value, names) for value in known]
            alike |= any(place is not None for place in found)
            if self.rest and len(names) == 2 and found[1] is not None:
                found[0] = 1 - found[1]
            places = [place for place in found if place is not None]
            if len(set(places)) == len(self.values) == len(names):
                return places
        if or_in_order and not self.stated and not alike and len(names) == len(self.values):
            return list(range(len(names)))
        raise ValueError(
            f"{what} names the classes {list(names)}, and the classes are {list(self.fields or self.values)}: use the same "
            "names, or none"
        )


def _place(value: Any, names: Sequence[Any]) -> int | None:
    """Equal, or else equal as text: fields of a struct have no other names."""
    equal = [place for place, name in enumerate(names) if name == value]
    alike = equal or [place for place, name in enumerate(names) if str(name) == str(value)]
    return alike[0] if alike else None
