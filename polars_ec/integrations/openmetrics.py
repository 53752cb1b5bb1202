"""Reports as OpenMetrics text, which Prometheus reads."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from polars_ec.output.numbers import days_as_dates
from polars_ec.output.words import in_words

_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})
_NUMBERS = {"inf": "+Inf", "-inf": "-Inf", "nan": "NaN"}


def as_openmetrics(table: pl.DataFrame, labels: Sequence[str]) -> str:
    """Each numeric column as a gauge named `polars_ec_` and the column, with the columns `labels` and all text as labels.

    Nulls are left out. A label that is null or empty is one that is not there, as Prometheus has it. ValueError if two label names are equal
    but for their punctuation, or two rows have the same labels.
    """
    names = [
        name
        for name, dtype in table.schema.items()
        if name in labels or name == "total" or dtype in (pl.String, pl.Categorical, pl.Enum)
    ]
    label_names = [_name(name) for name in names]
    if len(set(label_names)) < len(names):
        raise ValueError(f"the columns {', '.join(names)} do not have different names as labels: rename them")
    texts = [days_as_dates(table[name]).cast(pl.String).to_list() for name in names]
    sets = [
        ",".join(
            f'{label}="{text.translate(_ESCAPES)}"'
            for label, text in zip(label_names, row, strict=True)
            if text and not (label == "total" and text == "false" and table.schema["total"] == pl.Boolean)
        )
        for row in (zip(*texts, strict=True) if texts else [()] * table.height)
    ]
    lines = []
    for name, dtype in table.schema.items():
        if name in names or not (dtype.is_numeric() or dtype == pl.Boolean):
            continue
        metric = f"polars_ec_{_name(name)}"
        lines += [f"# TYPE {metric} gauge", f"# HELP {metric} {in_words(name).translate(_ESCAPES)}"]
        values = zip(sets, table[name].cast(pl.Float64).to_list(), strict=True)
        present = [(labels, value) for labels, value in values if value is not None]
        if len(dict(present)) < len(present):
            raise ValueError(
                f"two rows have the same {', '.join(names)}: Prometheus takes an empty text as null, so rename one"
            )
        lines += [f"{metric}{{{labels}}} {_NUMBERS.get(str(value), value)}" for labels, value in present]
    return "\n".join([*lines, "# EOF"])


def _name(column: str) -> str:
    # Prometheus reserves names that start with two underscores.
    name = re.sub(r"^_+", "_", re.sub(r"[^a-zA-Z0-9_]", "_", column))
    return f"_{name}" if name[:1].isdigit() or not name else name
