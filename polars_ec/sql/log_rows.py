"""The rows of a log in portable SQL: their class, and quantities of usable rows derived from the score.

The SQL is written once, in a form that every engine interprets equally, and translated by sqlglot. Three rules keep the engines consistent.
NaN compares differently depending on the engine, so a row is used only if positive tests on both sides hold. Arguments of LN are NULL outside
its domain, because LN(0) is -inf, NULL or an error. Literals with a fraction have an exponent, because 0.1 is a decimal number in half of the
engines.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from polars_ec.output.dialects import Writer, is_number
from polars_ec.sql.score_kinds import Kind

Levels = dict[str, dict[str, str]]
"""The columns that each SELECT of a query makes or adds, by its name."""


def parse_keys(
    by: str | Sequence[str] | Mapping[str, str], reserved: Sequence[str], what: str, writer: Writer
) -> dict[str, str]:
    """The SQL of the group columns by their names in the result, which must not be among the `reserved` columns of `what`."""
    keys: dict[str, str] = {}
    pairs = by.items() if isinstance(by, Mapping) else [(None, sql) for sql in ([by] if isinstance(by, str) else by)]
    for given, sql in pairs:
        name = writer.column_name("by", sql) if given is None else given
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"by= has {name!r} for a name: pass names, or a mapping from name to SQL expression")
        if name.lower() in reserved:
            raise ValueError(
                f"by= has a group column {name!r}, which is also a column of {what}: rename it, by={{'{name}_': {sql!r}}}"
            )
        if name.lower() in {key.lower() for key in keys}:
            raise ValueError(f"by= has the group column {name!r} twice")
        keys[name] = writer.expression(f"by[{name!r}]", sql)
    return keys


def class_of_label(writer: Writer, pos_label: object, classes: tuple[object, ...] | None) -> str:
    """0, 1, or -1 for a label that is not a class."""
    if classes is not None:
        if len(classes) != 2:
            raise ValueError(f"classes={list(classes)} lists {len(classes)} classes, but one score per row is for two")
        negative, positive = (writer.literal("classes", value) for value in classes)
        return f"CASE WHEN ec_label = {positive} THEN 1 WHEN ec_label = {negative} THEN 0 ELSE -1 END"
    if pos_label is None:
        return "CASE WHEN ec_label = TRUE THEN 1 WHEN ec_label = FALSE THEN 0 ELSE -1 END"
    positive = writer.literal("pos_label", pos_label)
    if isinstance(pos_label, bool | str):
        return f"CASE WHEN ec_label = {positive} THEN 1 ELSE 0 END"
    number = "CAST(ec_label AS DOUBLE)"
    return f"CASE WHEN ec_label = {positive} THEN 1 WHEN {is_number(number)}{writer.and_not_nan(number)} THEN 0 ELSE -1 END"


def exceeds(writer: Writer, threshold: float, largest: str) -> str:
    """SQL for a usable score above a threshold that is below infinity."""
    return f"ec_used >= -{largest}" if threshold == -math.inf else f"ec_used > {writer.number(threshold)}"


@dataclass(frozen=True)
class LogRows:
    """The rows of a log: SQL of the dialect at hand; `keys` are portable, by the names of the group columns in the result."""

    keys: Mapping[str, str]
    table: str
    score: str
    label: str
    weight: str | None
    class_of_label: str
    kind: Kind
    largest: str
    writer: Writer

    @property
    def key_names(self) -> dict[str, str]:
        """The group columns by their names within the query."""
        return {f"ec_key_{i}": f"ec_key_{i}" for i in range(len(self.keys))}

    def levels(self, values: Mapping[str, str], more: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
        """The SELECTs that make the `values` of each row, one of the other, and `more` columns on the way."""
        # Each names what the next one uses more than once. None gives an expression a name that it also reads: to ClickHouse that name would
        # be the expression.
        sql = self.writer.expression
        levels = {
            "ec_rows": {
                "ec_score": f"CAST({sql('score', self.score)} AS DOUBLE)",
                "ec_label": sql("label", self.label),
            },
            "ec_classes": {"ec_class": self._class(), "ec_score": "ec_score"},
            "ec_usable": {
                "ec_class": "ec_class",
                "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END",
                **self.kind.usable,
            },
            "ec_logs": {"ec_class": "ec_class", "ec_used": "ec_used", **self.kind.logs},
            "ec_values": {"ec_class": "ec_class", **values},
        }
        if self.weight is not None:
            levels["ec_rows"]["ec_weight"] = f"CAST({sql('weight', self.weight)} AS DOUBLE)"
            levels["ec_classes"]["ec_weight"] = "ec_weight"
            levels["ec_usable"]["ec_times"] = "CASE WHEN ec_class >= 0 THEN ec_weight END"
            levels["ec_logs"]["ec_times"] = levels["ec_values"]["ec_times"] = "ec_times"
        keys = [dict(zip(self.key_names, self.keys.values(), strict=True)), *[self.key_names] * 4]
        sources = [self.writer.table(self.table), *levels]
        return {
            name: select(of_keys | columns | dict(more.get(name, {})), source)
            for (name, columns), of_keys, source in zip(levels.items(), keys, sources, strict=False)
        }

    def _class(self) -> str:
        names = ["ec_label", "ec_score"] if self.weight is None else ["ec_label", "ec_score", "ec_weight"]
        missing = " OR ".join(f"{name} IS NULL" for name in names)
        valid = self.kind.valid + self.writer.and_not_nan("ec_score")
        if self.weight is not None:
            valid += f" AND ec_weight >= 0 AND ec_weight <= {self.largest}{self.writer.and_not_nan('ec_weight')}"
        return f"CASE WHEN {missing} THEN NULL WHEN {valid} THEN {self.class_of_label} ELSE -1 END"


def product(factors: Sequence[str], least: str | None) -> str:
    """The product of columns, where a factor below `least`, if there is one, makes it 0."""
    if least is not None:
        factors = [f"CASE WHEN ABS({name}) >= {least} THEN {name} ELSE 0 END" for name in factors]
    return " * ".join(factors)


def select(columns: Mapping[str, str], source: str) -> str:
    """A SELECT of columns by their names."""
    named = (sql if sql == name else f"{sql} AS {name}" for name, sql in columns.items())
    return f"SELECT {', '.join(named)} FROM {source}"


def with_levels(levels: Mapping[str, str], last: str, materialized: Collection[str] = ()) -> str:
    """The query whose SELECTs, each from the one before, end with `last`; those in `materialized` are worked out once."""
    texts = (f"{name} AS {'MATERIALIZED ' if name in materialized else ''}({text})" for name, text in levels.items())
    return f"WITH {', '.join(texts)} {last}"
