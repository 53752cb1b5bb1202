"""Classes and their priors; class names match the fields of structs, the rows of cost matrices and the keys of priors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

import polars as pl

Prior: TypeAlias = "float | Sequence[float] | Mapping[Any, float] | Literal['uniform', 'overall'] | pl.Expr | None"
"""Class priors: None (those of the group at hand), the positive class's share, one share per class (a sequence in class
order, or a mapping from class), "uniform", or an expression that is constant in the group. Functions of a whole log, the report
and a sketch, also accept "overall": the class shares of the whole log."""

_SUM_TOLERANCE = 1e-6


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
        matched: list[int | None] = []
        for known in (self.values, *([self.fields] if self.fields else [])):
            matched = [_place(value, names) for value in known]
            if self.rest and len(names) == 2 and matched[1] is not None:
                matched[0] = 1 - matched[1]
            places = [place for place in matched if place is not None]
            if len(set(places)) == len(self.values) == len(names):
                return places
        meaningless = all(place is None for place in matched) and not self.fields and not self.stated
        if or_in_order and meaningless and len(names) == len(self.values):
            return list(range(len(names)))
        raise ValueError(
            f"{what} names the classes {list(names)}, but the classes are {list(self.fields or self.values)}: use the "
            "same names, or pass a list or an array without names"
        )

    def fields_of(self, dtype: pl.Struct, what: str) -> list[str]:
        """The names of the fields, one for each class, in class order."""
        names = [field.name for field in dtype.fields]
        return [names[place] for place in self.places(names, what, or_in_order=True)]

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
        """Convert a value for JSON; types that JSON lacks become text, by which names are also matched."""
        return {
            "values": [value if isinstance(value, bool | int) else _text(value) for value in self.values],
            "stated": self.stated,
            "rest": self.rest,
            "fields": self.fields,
        }

    @classmethod
    def of_metadata(cls, about: Mapping[str, Any]) -> ClassNames:
        """Invert `in_metadata`; KeyError, TypeError or ValueError for invalid input."""
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
    """The position of the name that equals the value or its text, because fields of a struct have text names only."""
    equal = [place for place, name in enumerate(names) if name == value]
    texts = {str(value).casefold(), str(int(value))} if isinstance(value, bool) else {str(value), _text(value)}
    alike = equal or [
        place
        for place, name in enumerate(names)
        if (_text(name).casefold() if isinstance(value, bool) else _text(name)) in texts
    ]
    return alike[0] if alike else None


def plain(value: object) -> Any:
    """Convert a NumPy number, Boolean or string to the Python type."""
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


def literal_prior(prior: Any, n_classes: int | None) -> tuple[float, ...]:
    """Shares of the classes from a number (of class 1) or a sequence, checked; `n_classes` None: any number of them."""
    if isinstance(prior, bool | str | Set) or not (hasattr(prior, "__float__") or hasattr(prior, "__iter__")):
        raise ValueError(
            f'prior={prior!r} is not a prior: pass the positive class\'s share, a share per class, "uniform" or an expression'
        )
    if hasattr(prior, "__iter__") and getattr(prior, "ndim", 1) != 0:
        shares = tuple(_share(p, prior) for p in prior)
        if abs(math.fsum(shares) - 1) > _SUM_TOLERANCE:
            raise ValueError(f"prior={list(shares)} sums to {math.fsum(shares)}: pass shares that sum to 1")
    else:
        positive = _share(prior, prior)
        shares = (1 - positive, positive)
    if n_classes is not None and len(shares) != n_classes:
        raise ValueError(f"prior={prior!r} has {len(shares)} shares, but there are {n_classes} classes: pass one each")
    return shares


def _share(value: Any, prior: Any) -> float:
    if isinstance(value, bool | str) or not hasattr(value, "__float__") or not 0 <= float(value) <= 1:
        raise ValueError(f"prior={prior!r}: {value!r} is not a share between 0 and 1")
    return float(value)


@dataclass(frozen=True)
class CheckedPrior:
    """A checked `prior=` argument: nothing (empirical), uniform, overall, shares, shares by class, or an expression.

    `stated` is whether it is anything but the empirical prior, `n_classes` how many classes it is for, where that shows.
    """

    stated: bool = False
    n_classes: int | None = None
    uniform: bool = False
    overall: bool = False
    shares: tuple[float, ...] | None = None
    by_class: Mapping[Any, float] | None = None
    expression: pl.Expr | None = None

    def check_of_group(self) -> None:
        """ValueError for the prior of the whole log, where no more is seen than a group."""
        if self.overall:
            raise ValueError(
                'prior="overall" needs the whole table, which an expression does not see: pass a number here, or use '
                "report() or evaluate() of a sketch"
            )

    def per_row(self, classes: ClassNames, dtype: pl.DataType | None) -> list[pl.Expr]:
        """One expression per class of a stated prior, for the row at hand; null where it is not a prior."""
        self.check_of_group()
        if self.expression is not None:
            assert dtype is not None
            return checked_shares(_components(self.expression, dtype, classes))
        shares = self.vector(classes, dtype)
        assert isinstance(shares, tuple)
        return [pl.lit(share, dtype=pl.Float64) for share in shares]

    def vector(self, classes: ClassNames, dtype: pl.DataType | None) -> tuple[float, ...] | pl.Expr | None:
        """Shares, or an expression of one vector a row, not checked; None where no prior is stated."""
        n = len(classes.values)
        if not self.stated:
            return None
        if self.expression is not None:
            if isinstance(dtype, pl.Struct):
                names = classes.fields_of(dtype, "prior=, a struct,")
                return pl.struct(self.expression.struct.field(name).cast(pl.Float64) for name in names)
            if not isinstance(dtype, pl.Array | pl.List):
                positive = self.expression.cast(pl.Float64)
                return pl.concat_arr(1 - positive, positive)
            return self.expression.cast(pl.Array(pl.Float64, n) if isinstance(dtype, pl.Array) else pl.List(pl.Float64))
        if self.shares is not None:
            return literal_prior(self.shares, n)
        if self.by_class is not None:
            shares = list(self.by_class.values())
            return tuple(shares[place] for place in classes.places(list(self.by_class), "prior="))
        return (1 / n,) * n

    def per_group(self, rows: list[pl.Expr]) -> list[pl.Expr]:
        """The prior of a group, from what `per_row` gave: null where an expression is not constant in it."""
        return rows if self.expression is None else [constant(row) for row in rows]


EMPIRICAL = CheckedPrior()
"""The default prior: the class shares of the group."""


def constant(rows: pl.Expr) -> pl.Expr:
    """The value that all rows hold, else null. Rows that are NaN must be null: the least and the largest pass over them."""
    return pl.when((rows.min() == rows.max()) & (rows.null_count() == 0)).then(rows.max())


def checked_shares(shares: list[pl.Expr]) -> list[pl.Expr]:
    """The shares, null unless all are in [0, 1] and sum to 1: an expression cannot be checked before it runs."""
    in_range = pl.all_horizontal([share.is_between(0, 1) for share in shares])
    total = shares[0]
    for share in shares[1:]:
        total = total + share
    valid = in_range & ((total - 1).abs() <= _SUM_TOLERANCE)
    return [pl.when(valid).then(share) for share in shares]


def parse_prior(prior: Prior) -> CheckedPrior:
    """Check a stated prior at the call; the ValueError names the problem."""
    if isinstance(prior, pl.Expr):
        return CheckedPrior(stated=True, expression=prior)
    if isinstance(prior, str) and prior == "uniform":
        return CheckedPrior(stated=True, uniform=True)
    if isinstance(prior, str) and prior == "overall":
        return CheckedPrior(stated=True, overall=True)
    if isinstance(prior, str):
        raise ValueError(f'prior={prior!r} is no prior: pass "uniform", or for a column pl.col("{prior}")')
    if isinstance(prior, Mapping):
        literal_prior(list(prior.values()), None)
        return CheckedPrior(stated=True, n_classes=len(prior), by_class={c: float(p) for c, p in prior.items()})
    shares = literal_prior(prior, None)
    return CheckedPrior(stated=True, n_classes=len(shares), shares=shares)


def _components(expression: pl.Expr, dtype: pl.DataType, classes: ClassNames) -> list[pl.Expr]:
    n_classes = len(classes.values)
    if dtype.is_numeric() or dtype == pl.Null:
        if n_classes != 2:
            raise ValueError(f"the prior's dtype is {dtype}: pass an Array or Struct with {n_classes} shares")
        positive = expression.cast(pl.Float64)
        return [1 - positive, positive]
    if isinstance(dtype, pl.Array) and dtype.shape == (n_classes,):
        return [expression.arr.get(i).cast(pl.Float64) for i in range(n_classes)]
    if isinstance(dtype, pl.List):
        return [expression.list.get(i, null_on_oob=True).cast(pl.Float64) for i in range(n_classes)]
    if isinstance(dtype, pl.Struct) and len(dtype.fields) == n_classes:
        names = classes.fields_of(dtype, "prior=, a struct,")
        return [expression.struct.field(name).cast(pl.Float64) for name in names]
    raise TypeError(f"the prior's dtype is {dtype}: pass a number, or an Array, List or Struct of {n_classes} shares")


def meant_values(wanted: object, values: Iterable[object]) -> list[object]:
    """Values that equal `wanted` but for case, spaces at the ends and the form of a number."""
    return [value for value in values if _as_compared(value) == _as_compared(wanted)]


def by_likeness(wanted: object, values: Iterable[object]) -> list[object]:
    """The values, those first that look most like `wanted`."""
    # Imported here, for only logs without a positive row need it.
    import difflib

    one = _as_compared(wanted)
    return sorted(values, key=lambda value: -difflib.SequenceMatcher(None, one, _as_compared(value)).ratio())


def _as_compared(value: object) -> str:
    text = str(value).strip().casefold()
    try:
        return repr(float(text))
    except ValueError:
        return text
