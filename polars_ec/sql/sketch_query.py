"""The sketch as one aggregate query, for engines that hold the log where neither Polars nor DuckDB can read it.

The query is written once, in SQL that every engine reads alike, and put into their dialects by sqlglot. Three rules keep
the engines together. NaN is less, equal or greater than numbers depending on the engine, so a row is used only if positive
tests on both sides hold. Arguments of LN are NULL outside its domain, for LN(0) is -inf, NULL or an error. Literals with a
fraction have an exponent, for 0.1 is a decimal number to half of the engines.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from polars_ec.arguments import parse_options
from polars_ec.cells.grid import (
    RANGE,
    RAW_RANGE,
    Grid,
    SketchScoreType,
    checked_resolution,
    checked_score_type,
    sorted_thresholds,
)
from polars_ec.dialects import WarehouseDialect, Writer, is_number, quoted

_EXP_RANGE = 745  # exp(-x) is 0 beyond
_LEAST_PRODUCT = 1e-300  # well above underflow


def sketch_query(
    table: str,
    score: str,
    label: str,
    *,
    by: str | Sequence[str] | Mapping[str, str] = (),
    score_type: SketchScoreType = "posterior",
    resolution: int = 64,
    thresholds: Sequence[float] = (),
    weight: str | None = None,
    pos_label: object = None,
    classes: Sequence[object] | None = None,
    dialect: WarehouseDialect = "duckdb",
) -> str:
    """The SQL text of the one aggregate query that reduces a log to its sketch, in the dialect of a warehouse.

    The warehouse makes the pass over the log, and its result, some thousand rows a group, has the columns of
    `Sketch.frame`: `ec.Sketch.from_arrow(result, score_type=..., resolution=..., thresholds=...)` reads it.

    Names and expressions are SQL of the dialect at hand. They go into the query as they are, so that a name that needs
    quotes must have them: `'"Order"'`, with backticks in BigQuery and Spark. Names in the result are always quoted, so that
    every warehouse returns them as they are written here.

    Parameters
    ----------
    table
        What stands after FROM: a name (`"lake.logs.scores"`), a table function (`"read_parquet('log/*.parquet')"`), a
        join, or a query in parentheses. No WHERE: put it into a query in parentheses.
    score
        Column name or SQL expression of a number; it is cast to a 64-bit float.
    label
        Column name or SQL expression, BOOLEAN unless `pos_label` or `classes` is given.
    by
        Group columns: names (in the result without table and quotes), or a mapping from the name in the result to a SQL
        expression, such as `{"month": "CAST(date_trunc('month', CAST(ts AS DATE)) AS DATE)"}`. Default: one group.
    score_type
        "posterior" (of the positive class, default), "log_odds" or "llr" (natural logarithms), or "raw" (any number, such
        as a margin; the last three columns are then left out).
    resolution
        Bins per nat of log-odds, for "raw" per nat of ln|score|: a whole number from 1 to 4096. Default 64.
    thresholds
        Operating points on the scale of the score as given; column `above` counts those that the score exceeds, strictly.
        Order and repetitions do not matter. Default: none.
    weight
        Column name or SQL expression of non-negative finite weights; a row of weight w counts as w rows. Default None: 1.
    pos_label
        The label's value that is the positive class; every other value is the negative class.
    classes
        The label's two values, the negative class first; a value that is not listed is wrong. Integer labels:
        `classes=(0, 1)`.
    dialect
        "bigquery", "clickhouse", "databricks", "datafusion", "duckdb" (default), "postgres", "snowflake", "spark" or
        "trino".

    Returns
    -------
    One SELECT statement without a closing semicolon; it can stand in parentheses after FROM. Its columns: those of `by`;
    `class` (0, 1; -1 for wrong rows, NULL for missing ones), `bin`, `above`; `n` rows; `weight`, the sum of the weights;
    `log_loss`, `brier` and `posterior`, sums of weight times the row's value (in nats; LLRs are read as log-odds, which is
    even prior). `log_loss` is 0 in the two bins of infinite log-odds: `Sketch.from_arrow` puts the infinite sums back.
    Log-odds within rounding of a bin's edge may go one bin
    further in one engine than in another.

    PostgreSQL makes an error of a product that underflows: there products with a factor below 1e-150 (1e-100 if there are
    three, in a weighted Brier loss) are taken as 0.

    Raises
    ------
    ValueError
        A dialect, score type, resolution or threshold that is none; a name or expression that is empty, no SQL, or more
        than one expression; a group column without a name, with the name of another or of a column of the sketch; labels
        that are not an SQL literal; `pos_label` with `classes`.
    ImportError
        sqlglot is not installed: `pip install 'polars_ec[warehouse]'`.

    References
    ----------
    sqlglot, the parser and writer of SQL dialects; Ferrer, "The expected cost", Eq. 44 (decisions are strict).

    Examples
    --------
    >>> import duckdb, polars_ec as ec
    >>> log = duckdb.connect()
    >>> _ = log.execute(
    ...     "CREATE TABLE log AS FROM (VALUES ('a', 0.9, true), ('a', 0.9, true), ('a', 0.2, false), ('a', 0.4, NULL),"
    ...     "                                 ('b', 1.5, true), ('b', 0.5, false)) AS t(carrier, p, late)"
    ... )
    >>> query = ec.sketch_query("log", "p", "late", by=["carrier"], resolution=8, thresholds=[0.3], dialect="duckdb")
    >>> log.sql(query).select("carrier, class, bin, above, n, round(log_loss, 3) AS log_loss").order("ALL").pl()
    shape: (5, 6)
    ┌─────────┬───────┬──────┬───────┬─────┬──────────┐
    │ carrier ┆ class ┆ bin  ┆ above ┆ n   ┆ log_loss │
    │ ---     ┆ ---   ┆ ---  ┆ ---   ┆ --- ┆ ---      │
    │ str     ┆ i16   ┆ i32  ┆ i16   ┆ i64 ┆ f64      │
    ╞═════════╪═══════╪══════╪═══════╪═════╪══════════╡
    │ a       ┆ 0     ┆ -12  ┆ 0     ┆ 1   ┆ 0.223    │
    │ a       ┆ 1     ┆ 17   ┆ 1     ┆ 2   ┆ 0.211    │
    │ a       ┆ null  ┆ null ┆ null  ┆ 1   ┆ 0.0      │
    │ b       ┆ -1    ┆ null ┆ null  ┆ 1   ┆ 0.0      │
    │ b       ┆ 0     ┆ 0    ┆ 1     ┆ 1   ┆ 0.693    │
    └─────────┴───────┴──────┴───────┴─────┴──────────┘
    """
    writer = Writer(dialect)
    resolution = checked_resolution(resolution)
    grid = Grid(checked_score_type(score_type), resolution, sorted_thresholds(thresholds))
    checked = parse_options({"pos_label": pos_label, "classes": classes})
    largest = writer.number(sys.float_info.max)
    query = _Query(
        keys=_parse_keys(by, grid.columns, writer),
        table=writer.table(table),
        score=writer.expression("score", score),
        label=writer.expression("label", label),
        weight=None if weight is None else writer.expression("weight", weight),
        class_of_label=_class_of_label(writer, checked.pos_label, checked.classes),
        above=_above(writer, grid.thresholds, largest),
        kind=_KINDS[grid.score_type](resolution, largest),
        largest=largest,
        least_factor={n: writer.number(_LEAST_PRODUCT ** (1 / n)) for n in (2, 3)} if dialect == "postgres" else {},
    )
    return writer.write(query.text())


def _parse_keys(by: str | Sequence[str] | Mapping[str, str], own: Sequence[str], writer: Writer) -> dict[str, str]:
    """What stands for the SQL of the group columns, by their names in the result."""
    keys: dict[str, str] = {}
    pairs = by.items() if isinstance(by, Mapping) else [(None, sql) for sql in ([by] if isinstance(by, str) else by)]
    for given, sql in pairs:
        name = writer.column_name("by", sql) if given is None else given
        if not isinstance(name, str) or not name.strip():
            raise ValueError(f"by= calls a group column {name!r}: pass names, or a mapping from name to SQL expression")
        if name.lower() in own:
            raise ValueError(
                f"by= has a group column {name!r}, and so has the sketch: give it another name, by={{'{name}_': {sql!r}}}"
            )
        if name.lower() in {key.lower() for key in keys}:
            raise ValueError(f"by= has the group column {name!r} twice")
        keys[name] = writer.expression(f"by[{name!r}]", sql)
    return keys


# Everything below is portable SQL ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Kind:
    """What depends on the score type: conditions and columns of the usable rows, each level made of the one before."""

    valid: str
    bin: str
    usable: Mapping[str, str] = field(default_factory=dict)
    logs: Mapping[str, str] = field(default_factory=dict)
    sums: Mapping[str, str] = field(default_factory=dict)


def _of_posteriors(resolution: int, largest: str) -> _Kind:  # noqa: ARG001
    """1 - p is rounded where p is small; p - (1 - (1 - p)) is exactly what the rounding lost."""
    log_odds = "(ec_loss_0 - ec_loss_1)"
    return _Kind(
        valid="ec_score >= 0 AND ec_score <= 1",
        usable={"ec_inner": "CASE WHEN ec_class >= 0 AND ec_score > 0 AND ec_score < 1 THEN ec_score END"},
        logs={"ec_loss_0": "ec_inner - (1 - (1 - ec_inner)) - LN(1 - ec_inner)", "ec_loss_1": "-LN(ec_inner)"},
        bin=_log_odds_bin(log_odds, resolution, "ec_used <= 0", "ec_used >= 1"),
        sums={
            "ec_log_loss": "CASE WHEN ec_class = 1 THEN ec_loss_1 ELSE ec_loss_0 END",
            "ec_error": "CASE WHEN ec_class = 1 THEN 1 - ec_used ELSE ec_used END",
            "ec_posterior": "ec_used",
        },
    )


def _of_log_odds(resolution: int, largest: str) -> _Kind:
    """With e = exp(-|x|), the likelier class has posterior 1 / (1 + e), the other one e / (1 + e).

    The last term of the loss is what 1 + e lost by rounding.
    """
    return _Kind(
        valid=is_number("ec_score"),
        usable={
            "ec_finite": f"CASE WHEN ec_class >= 0 AND ec_score >= -{largest} AND ec_score <= {largest} THEN ec_score END",
            "ec_against": "CASE WHEN ec_class = 1 THEN -ec_score WHEN ec_class = 0 THEN ec_score END",
        },
        logs={
            "ec_finite": "ec_finite",
            "ec_against": "ec_against",
            "ec_exp": f"CASE WHEN ABS(ec_finite) < {_EXP_RANGE} THEN EXP(-ABS(ec_finite)) ELSE 0 END",
        },
        bin=_log_odds_bin("ec_finite", resolution, "ec_used < 0", "ec_used > 0"),
        sums={
            "ec_log_loss": "CASE WHEN ec_finite IS NOT NULL THEN CASE WHEN ec_against > 0 THEN ec_against ELSE 0 END "
            "+ LN(1 + ec_exp) - (1 + ec_exp - 1 - ec_exp) / (1 + ec_exp) END",
            "ec_error": "CASE WHEN ec_against > 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END",
            "ec_posterior": "CASE WHEN ec_used >= 0 THEN 1 / (1 + ec_exp) ELSE ec_exp / (1 + ec_exp) END",
        },
    )


def _of_raw_scores(resolution: int, largest: str) -> _Kind:
    offset = RAW_RANGE * resolution + 1
    size_bin = f"CAST(FLOOR({resolution} * ec_log_size) AS INT) + {offset}"
    infinite = 2 * offset
    return _Kind(
        valid=is_number("ec_score"),
        usable={
            "ec_size": f"CASE WHEN ec_class >= 0 AND ABS(ec_score) > 0 AND ABS(ec_score) <= {largest} "
            "THEN ABS(ec_score) END"
        },
        logs={"ec_log_size": "LN(ec_size)"},
        bin=f"CASE WHEN ec_log_size IS NOT NULL THEN CASE WHEN ec_used > 0 THEN {size_bin} ELSE -({size_bin}) END "
        f"WHEN ec_used > 0 THEN {infinite} WHEN ec_used < 0 THEN {-infinite} WHEN ec_class >= 0 THEN 0 END",
    )


_KINDS: Mapping[str, Callable[[int, str], _Kind]] = {
    "posterior": _of_posteriors,
    "log_odds": _of_log_odds,
    "llr": _of_log_odds,
    "raw": _of_raw_scores,
}


def _log_odds_bin(log_odds: str, resolution: int, minus_infinity: str, plus_infinity: str) -> str:
    edge = RANGE * resolution
    return (
        f"CASE WHEN {log_odds} >= {-RANGE} AND {log_odds} < {RANGE} THEN CAST(FLOOR({log_odds} * {resolution}) AS INT) "
        f"WHEN {log_odds} < {-RANGE} THEN {-edge - 1} WHEN {log_odds} >= {RANGE} THEN {edge} "
        f"WHEN {minus_infinity} THEN {-edge - 2} WHEN {plus_infinity} THEN {edge + 1} END"
    )


def _class_of_label(writer: Writer, pos_label: object, classes: tuple[object, ...] | None) -> str:
    """0, 1, or -1 for a label that is not a class."""
    if classes is not None:
        if len(classes) != 2:
            raise ValueError(f"classes={list(classes)} lists {len(classes)} classes, and a sketch holds two")
        negative, positive = (writer.literal("classes", value) for value in classes)
        return f"CASE WHEN ec_label = {positive} THEN 1 WHEN ec_label = {negative} THEN 0 ELSE -1 END"
    if pos_label is None:
        return "CASE WHEN ec_label = TRUE THEN 1 WHEN ec_label = FALSE THEN 0 ELSE -1 END"
    positive = writer.literal("pos_label", pos_label)
    if isinstance(pos_label, bool | str):
        return f"CASE WHEN ec_label = {positive} THEN 1 ELSE 0 END"
    return f"CASE WHEN ec_label = {positive} THEN 1 WHEN {is_number('CAST(ec_label AS DOUBLE)')} THEN 0 ELSE -1 END"


def _above(writer: Writer, thresholds: Sequence[float], largest: str) -> str:
    """How many of the ascending thresholds the score exceeds."""
    conditions = [
        f"ec_used >= -{largest}" if threshold == -math.inf else f"ec_used > {writer.number(threshold)}"
        for threshold in thresholds
        if threshold != math.inf
    ]
    ranks = list(enumerate(conditions, start=1))[::-1]
    return "CASE " + "".join(f"WHEN {c} THEN {rank} " for rank, c in ranks) + "WHEN ec_class >= 0 THEN 0 END"


@dataclass(frozen=True)
class _Query:
    """The parts of the query. `keys` are the SQL texts of the group columns by their names in the result."""

    keys: Mapping[str, str]
    table: str
    score: str
    label: str
    weight: str | None
    class_of_label: str
    above: str
    kind: _Kind
    largest: str
    least_factor: Mapping[int, str]

    def text(self) -> str:
        """The query: every SELECT names what the next one uses more than once.

        No SELECT gives an expression a name that it also reads: to ClickHouse that name would be the expression.
        """
        given = {"ec_score": f"CAST({self.score} AS DOUBLE)", "ec_label": self.label}
        classes = {"ec_class": self._class(), "ec_score": "ec_score"}
        usable = {"ec_class": "ec_class", "ec_used": "CASE WHEN ec_class >= 0 THEN ec_score END", **self.kind.usable}
        logs = {"ec_class": "ec_class", "ec_used": "ec_used", **self.kind.logs}
        values = {"ec_class": "ec_class", "ec_bin": self.kind.bin, "ec_above": self.above, **self.kind.sums}
        if self.weight is not None:
            given["ec_weight"] = f"CAST({self.weight} AS DOUBLE)"
            classes["ec_weight"] = "ec_weight"
            usable["ec_times"] = "CASE WHEN ec_class >= 0 THEN ec_weight END"
            logs["ec_times"] = values["ec_times"] = "ec_times"
        key_names = {f"ec_key_{i}": f"ec_key_{i}" for i in range(len(self.keys))}
        levels = {
            "ec_rows": _select(dict(zip(key_names, self.keys.values(), strict=True)) | given, self.table),
            "ec_classes": _select(key_names | classes, "ec_rows"),
            "ec_usable": _select(key_names | usable, "ec_classes"),
            "ec_logs": _select(key_names | logs, "ec_usable"),
            "ec_values": _select(key_names | values, "ec_logs"),
        }
        groups = [*key_names, "ec_class", "ec_bin", "ec_above"]
        return (
            f"WITH {', '.join(f'{name} AS ({select})' for name, select in levels.items())} "
            f"{_select(self._result(key_names), 'ec_values')} GROUP BY {', '.join(groups)}"
        )

    def _class(self) -> str:
        names = ["ec_label", "ec_score"] if self.weight is None else ["ec_label", "ec_score", "ec_weight"]
        missing = " OR ".join(f"{name} IS NULL" for name in names)
        valid = self.kind.valid
        if self.weight is not None:
            valid += f" AND ec_weight >= 0 AND ec_weight <= {self.largest}"
        return f"CASE WHEN {missing} THEN NULL WHEN {valid} THEN {self.class_of_label} ELSE -1 END"

    def _result(self, key_names: Iterable[str]) -> dict[str, str]:
        keys = {quoted(name): source for name, source in zip(self.keys, key_names, strict=True)}
        rows = "CASE WHEN ec_class >= 0 THEN COUNT(*) ELSE 0 END"
        factors = {"log_loss": ["ec_log_loss"], "brier": ["ec_error", "ec_error"], "posterior": ["ec_posterior"]}
        return keys | {
            quoted(name): sql
            for name, sql in {
                "class": "CAST(ec_class AS SMALLINT)",
                "bin": "CAST(ec_bin AS INT)",
                "above": "CAST(ec_above AS SMALLINT)",
                "n": "CAST(COUNT(*) AS BIGINT)",
                "weight": f"CAST({rows} AS DOUBLE)" if self.weight is None else "COALESCE(SUM(ec_times), 0)",
                **({name: self._sum(*product) for name, product in factors.items()} if self.kind.sums else {}),
            }.items()
        }

    def _sum(self, *factors: str) -> str:
        """Sum over the rows of weight times the factors."""
        product = [*factors] if self.weight is None else ["ec_times", *factors]
        least = self.least_factor.get(len(product))
        if least is not None:
            product = [f"CASE WHEN ABS({name}) >= {least} THEN {name} ELSE 0 END" for name in product]
        return f"COALESCE(SUM({' * '.join(product)}), 0)"


def _select(columns: Mapping[str, str], source: str) -> str:
    return (
        f"SELECT {', '.join(sql if sql == name else f'{sql} AS {name}' for name, sql in columns.items())} FROM {source}"
    )
