"""Labels as one Boolean row expression per class."""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import polars as pl

from polars_ec.arguments import Options
from polars_ec.class_names import ClassNames
from polars_ec.rows.kernel import index_of
from polars_ec.rows.many import MANY

# What Polars compares a column of integers with.
_INTEGERS = range(-(2**63), 2**64)


@dataclass(frozen=True)
class Labels:
    """True classes of the rows: `in_class[i]` is null where the label is null.

    `valid` says that the label is some class; None where every label is.
    """

    label: pl.Expr
    in_class: Sequence[pl.Expr]
    valid: pl.Expr | None
    names: ClassNames
    index: pl.Expr | None = None
    """Of many classes the class of a row: 0..K-1, -1 for a wrong label, null for a missing one."""

    @property
    def classes(self) -> Sequence[Any]:
        """The values of the label, in class order."""
        return self.names.values


def read_labels(name: str, label: pl.Expr, dtype: pl.DataType, n_classes: int, options: Options) -> Labels:
    """The labels of a column of this dtype; errors name the column, its dtype and the argument to pass."""
    classes, pos_label = options.classes, options.pos_label
    if pos_label is not None:
        if n_classes != 2:
            raise ValueError(f"pos_label= is for two classes, and there are {n_classes}: pass classes=")
        _check_value(name, dtype, pos_label, "pos_label")
        positive = label == _literal(pos_label, dtype)
        names = ClassNames((f"not {pos_label}", pos_label), rest=True)
        return Labels(label, [~positive, positive], _not_nan(label, dtype), names)
    if classes is not None:
        if len(classes) != n_classes:
            vector = (
                f": scores of {len(classes)} classes are one column, a vector a row, such as pl.concat_arr(...)"
                if n_classes == 2 < len(classes)
                else ""
            )
            raise ValueError(
                f"classes={reprlib.repr(list(classes))} lists {len(classes)} classes, and there are {n_classes}{vector}"
            )
        for value in classes:
            _check_value(name, dtype, value, "classes")
        if n_classes > MANY:
            return _of_many(label, _index_of_values(label, dtype, classes), ClassNames(classes))
        masks = [label == _literal(value, dtype) for value in classes]
        return Labels(label, masks, pl.any_horizontal(masks), ClassNames(classes))
    if dtype in (pl.Boolean, pl.Null):
        if n_classes != 2 and dtype == pl.Boolean:
            raise TypeError(
                f"label {name!r} is Boolean, and there are {n_classes} classes: pass integers 0..{n_classes - 1}"
            )
        if n_classes > MANY:
            index = label.cast(pl.Int32)
            return _of_many(label, index, ClassNames(tuple(range(n_classes)), stated=False))
        positive = label.cast(pl.Boolean)
        masks = [~positive, positive] if n_classes == 2 else [positive] * n_classes
        values = (False, True) if n_classes == 2 else tuple(range(n_classes))
        names = ClassNames(values, stated=False)
        return Labels(label, masks, None, names)
    if dtype.is_integer():
        names = ClassNames(tuple(range(n_classes)), stated=False)
        valid = label.is_between(0, n_classes - 1)
        if n_classes > MANY:
            index = pl.when(valid).then(label).when(label.is_not_null()).then(-1).cast(pl.Int32)
            return _of_many(label, index, names)
        return Labels(label, [label == i for i in range(n_classes)], valid, names)
    argument = "pos_label=" if n_classes == 2 else "classes=[...]"
    if isinstance(dtype, pl.Enum) and n_classes == 2:
        n_categories = len(dtype.categories)
        which = "in class order" if n_categories == 2 else f"for decisions of all {n_categories}"
        raise TypeError(
            f"label {name!r} is {dtype}, whose order does not say which of two classes is the positive one: pass pos_label=, "
            f"or classes=[...] {which}"
        )
    swapped = ", or are score and label swapped?" if dtype.is_float() else ""
    raise TypeError(
        f"label {name!r} is {dtype}, neither Boolean nor integers 0..{n_classes - 1}: pass {argument} to say which class is "
        f"which{swapped}"
    )


class _Masks(Sequence[pl.Expr]):
    """One mask per class, made when it is asked for."""

    def __init__(self, index: pl.Expr, n_classes: int) -> None:
        self._index, self._n_classes = index, n_classes

    def __len__(self) -> int:
        return self._n_classes

    def __getitem__(self, i: Any) -> Any:
        places = range(self._n_classes)[i]
        return [self[k] for k in places] if isinstance(places, range) else self._index == places


def _of_many(label: pl.Expr, index: pl.Expr, names: ClassNames) -> Labels:
    return Labels(label, _Masks(index, len(names.values)), index >= 0, names, index)


def _index_of_values(label: pl.Expr, dtype: pl.DataType, classes: Sequence[Any]) -> pl.Expr:
    if dtype in (pl.String, pl.Categorical, pl.Enum):
        # A cast to these categories, of which each row's number is taken: `replace` does not stream.
        known = label.cast(pl.String).cast(pl.Enum(list(classes)), strict=False).to_physical().cast(pl.Int32)
        return pl.when(label.is_not_null()).then(known.fill_null(-1))
    return label.map_batches(partial(index_of, classes=classes), return_dtype=pl.Int32, is_elementwise=True)


def with_categories(options: Options, name: str, dtype: pl.DataType, n_classes: int) -> Options:
    """The options with the categories of an Enum label as `classes`; ValueError where there is another number of classes."""
    if not isinstance(dtype, pl.Enum) or options.classes is not None or options.pos_label is not None:
        return options
    categories = tuple(dtype.categories)
    if len(categories) != n_classes:
        raise ValueError(
            f"label {name!r} is an Enum of {len(categories)} categories, {list(categories)}, and there are {n_classes} classes: pass "
            "classes=, the categories in class order"
        )
    return replace(options, classes=categories)


def _check_value(name: str, dtype: pl.DataType, value: Any, argument: str) -> None:
    fits = (
        isinstance(value, str)
        if dtype in (pl.String, pl.Categorical, pl.Enum)
        else isinstance(value, bool)
        if dtype == pl.Boolean
        else isinstance(value, int | float) and not isinstance(value, bool)
        if dtype.is_numeric()
        else dtype == pl.Null or not isinstance(value, str | bool | int | float)
    )
    if not fits:
        raise TypeError(f"{argument} holds {value!r} ({type(value).__name__}), and label {name!r} is {dtype}")
    if dtype.is_integer() and isinstance(value, int) and not _INTEGERS.start <= value < _INTEGERS.stop:
        raise ValueError(f"{argument} holds {value!r}, which is beyond the integers of label {name!r}: {dtype}")
    if isinstance(dtype, pl.Enum) and value not in dtype.categories:
        raise ValueError(f"{argument} holds {value!r}, which is not a category of label {name!r}: {dtype}")


def _literal(value: Any, dtype: pl.DataType) -> pl.Expr:
    return pl.lit(value, dtype=dtype) if isinstance(dtype, pl.Enum) else pl.lit(value)


def _not_nan(label: pl.Expr, dtype: pl.DataType) -> pl.Expr | None:
    return ~label.is_nan() if dtype.is_float() else None


def meant_values(wanted: object, values: Iterable[object]) -> list[object]:
    """Those of the values that `wanted` is but for case, spaces at the ends and the form of a number."""
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


def class_index(labels: Labels) -> pl.Expr:
    """The class of a row: 0..K-1, -1 for a wrong label, null for a missing one."""
    if labels.index is not None:
        return labels.index
    if labels.valid is None and len(labels.in_class) == 2:
        return labels.in_class[1].cast(pl.Int16)
    index: pl.Expr = pl.lit(-1, dtype=pl.Int16)
    for i, mask in reversed(list(enumerate(labels.in_class))):
        index = pl.when(mask).then(pl.lit(i, dtype=pl.Int16)).otherwise(index)
    return pl.when(labels.label.is_not_null()).then(index)
