"""The report on rows, computed by the DuckDB macros where the log is."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
from polars.exceptions import PanicException, PolarsError

from polars_ec.cells.parquet import first_line
from polars_ec.cli.errors import DataError, UsageError
from polars_ec.cli.files import status
from polars_ec.cli.labels import MOST_VALUES
from polars_ec.cli.named_decisions import index_in_sql
from polars_ec.cli.options import refusals_as_usage_errors
from polars_ec.cli.periods import DEFAULT_ZONE, PERIOD_NAMES, Periods
from polars_ec.cli.terminal import panics_unseen
from polars_ec.dialects import quoted, quoted_text
from polars_ec.formulas.decisions import CELLS
from polars_ec.options import Options, parse_options
from polars_ec.reports import report
from polars_ec.rows.read import resolve_columns
from polars_ec.rows.scores import DecidedScores, n_score_classes
from polars_ec.sql.macros import register

# Functions import it where they need it: most commands do without, and it takes long to load.
if TYPE_CHECKING:
    import duckdb

# Polars takes them for decimals of 38 digits, which do not hold them.
_WIDE = {"HUGEINT": pl.Int128(), "UHUGEINT": pl.UInt128()}
_COUNTS = ("n", "n_missing", "n_invalid")

# Columns that the report adds to the rows, and to the answer.
_SCORE, _LABEL, _DECISION, _LOG_ODDS = "__ec_score", "__ec_label", "__ec_decision", "__ec_log_odds"
_CONFUSION = "__ec_confusion"
_ANSWER = "__ec_answer"


@contextmanager
def connect(file: str | None = None, zone: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that has the macros; `file` is attached, read-only, as the database `log`. `zone` cuts the periods.

    The macros live in memory, so that nothing is written to the file and its name cannot clash with theirs. What the file
    brings along, such as a view, can then read nothing but the file.
    """
    import duckdb

    if file is not None:
        there = status(file)
        if there is None or not stat.S_ISREG(there.st_mode):
            raise UsageError(f"{file}: {'no such DuckDB file' if there is None else 'not a regular file'}")
    with duckdb.connect() as connection:
        register(connection)
        try:
            connection.execute(f"SET TimeZone = {quoted_text(zone or DEFAULT_ZONE)}")
        except duckdb.Error as error:
            raise UsageError(f"--time-zone {zone}: {first_line(error)}") from error
        if file is not None:
            try:
                connection.execute(f"ATTACH {quoted_text(file)} AS log (TYPE duckdb, READ_ONLY)")
            except (duckdb.Error, UnicodeError) as error:
                raise DataError(f"{file} cannot be read as a DuckDB database: {first_line(error)}") from error
            connection.execute("SET enable_external_access = false; SET lock_configuration = true")
        yield connection


def table_in_log(connection: duckdb.DuckDBPyConnection, file: str, table: str) -> str:
    """The quoted name of a table or view of the attached file; `table` may say its schema."""
    rows = connection.execute(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = 'log' "
        "ORDER BY table_schema <> 'main', table_schema, table_name"
    ).fetchall()
    for schema, name in rows:
        if table in (f"{schema}.{name}", f'"{schema}"."{name}"') or (schema == "main" and table in (name, f'"{name}"')):
            return f"log.{quoted(schema)}.{quoted(name)}"
    there = ", ".join(name if schema == "main" else f"{schema}.{name}" for schema, name in rows)
    raise UsageError(f"{file} has no table {table!r}: it has {there or 'none at all'}")


def schema_of(connection: duckdb.DuckDBPyConnection, relation: str) -> pl.Schema:
    """Names and Polars dtypes of a relation's columns; intervals, which Polars does not have, pass for text."""
    shown = [
        f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if "INTERVAL" in dtype else quoted(name)
        for name, dtype in _sql_types(connection, relation)
    ]
    return _answered(connection, f"SELECT {', '.join(shown)} FROM {relation} LIMIT 0").schema


def _sql_types(connection: duckdb.DuckDBPyConnection, relation: str) -> list[tuple[str, str]]:
    return _answered(connection, f"SELECT column_name, column_type FROM (DESCRIBE FROM {relation})").rows()


def label_values(connection: duckdb.DuckDBPyConnection, relation: str, label: str, positive: Any) -> pl.DataFrame:
    """The values of the label in a list, and whether any row has this one."""
    column = quoted(label)
    distinct = f"SELECT DISTINCT {column} AS v FROM {relation} WHERE {column} IS NOT NULL LIMIT {MOST_VALUES}"
    found = _answered(connection, distinct)["v"]
    there = _answered(connection, f"SELECT 1 AS v FROM {relation} WHERE {column} = {_value(positive)} LIMIT 1")
    return pl.DataFrame({"values": [found], "is_there": [there.height > 0]})


def _answered(connection: duckdb.DuckDBPyConnection, query: str) -> pl.DataFrame:
    import duckdb

    try:
        # By way of a table: a relation plans its query twice, first for the columns' types, and long macros take long to plan.
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {_ANSWER} AS {query}")
        with panics_unseen():
            table: pl.DataFrame = connection.table(_ANSWER).pl()
    except duckdb.PermissionException as error:
        raise DataError(
            "this view reads files outside its database, which could be any on this machine, and may not: make it a table "
            f"({first_line(error)})"
        ) from error
    except (duckdb.Error, PolarsError, PanicException) as error:
        raise DataError(f"DuckDB: {first_line(error)}") from error
    return table


def sql_report(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    scores: Sequence[str],
    label: str,
    *,
    by: Sequence[str] = (),
    periods: Periods | None = None,
    min_rows: int | None = None,
    options: Mapping[str, Any],
) -> pl.DataFrame:
    """What `polars_ec.report` returns for the same rows, from one pass of DuckDB per score.

    `relation` is SQL; the other names are names of its columns, unquoted. `periods` are of the zone that the connection
    is in. `options` are those of `polars_ec.report`, without expressions.
    """
    rows = schema_of(connection, relation).to_frame()
    wide = {name: _WIDE[kind] for name, kind in _sql_types(connection, relation) if name in by and kind in _WIDE}
    rows = rows.cast(wide)  # type: ignore[arg-type]
    keys = {name: f"CAST({quoted(name)} AS VARCHAR)" if name in wide else quoted(name) for name in by}
    polars_keys: list[str | pl.Expr] = list(by)
    if periods is not None:
        keys[periods.time] = _period(periods)
        polars_keys.append(periods.start)
    # The report on no rows has the columns, their dtypes and every error of the report on the rows.
    with refusals_as_usage_errors():
        empty = report(rows, list(scores), label, by=polars_keys, min_rows=min_rows, **options)
        checked = parse_options(options)
    if checked.score_type == "log_likelihoods":
        # At the group's own prior the macros would need log posteriors, which no macro makes without underflow.
        raise UsageError("--score-type log_likelihoods: a DuckDB table must hold log posteriors; files may hold either")
    binary, several = "tn" in empty.columns, len(scores) > 1
    added = {*keys, *(["score"] if several else []), *(["small"] if min_rows is not None else []), *CELLS}
    metrics = [name for name in empty.columns if name not in added]
    tables = []
    for score in scores:
        model = _Model.of(score, label, rows.schema, checked)
        columns = {name: model.column(name) for name in metrics}
        if binary:
            # One call for the four cells: DuckDB plans each call of a macro anew.
            columns[_CONFUSION] = model.column("confusion")
        table = _select(connection, model.rows(relation), keys, columns)
        table = table.with_columns(
            pl.when(pl.col("n_invalid") == 0).then(pl.col(name)).alias(name) for name in columns if name not in _COUNTS
        )
        if binary:
            table = table.with_columns(_cell(table.schema[_CONFUSION], name) for name in CELLS)
        if several:
            table = table.with_columns(pl.lit(score).alias("score"))
        if min_rows is not None:
            table = table.with_columns((pl.col("n") < min_rows).alias("small"))
        tables.append(table.select(empty.columns).cast(empty.schema))
    tall = pl.concat(tables)
    tall = tall.sort(list(keys), maintain_order=True) if keys else tall
    return tall if periods is None else periods.placed(tall)


def _period(periods: Periods) -> str:
    """Where the period of each row begins, as `Periods.start` has it."""
    if periods.every not in PERIOD_NAMES:
        raise UsageError(f"--every {periods.every}: DuckDB groups by one of {', '.join(PERIOD_NAMES)}")
    unit, column = PERIOD_NAMES[periods.every], quoted(periods.time)
    if not periods.is_zoned:
        return f"date_trunc('{unit}', {column})"
    local = f"({column} AT TIME ZONE {quoted_text(periods.zone or DEFAULT_ZONE)})"
    if periods.is_local:
        return f"date_trunc('{unit}', {local})"
    if unit == "hour":
        # date_trunc takes the hour that is there twice when clocks are put back for one.
        return f"{column} - ({local} - date_trunc('hour', {local}))"
    return f"date_trunc('{unit}', {column})"


def sql_class_prior(
    connection: duckdb.DuckDBPyConnection, relation: str, score: str, label: str, options: Mapping[str, Any]
) -> Any:
    """Shares of the classes in the whole relation, as `polars_ec.class_prior` gives them."""
    schema = schema_of(connection, relation)
    with refusals_as_usage_errors():
        model = _Model.of(score, label, schema, parse_options(options))
        rows, shares = model.rows(relation), model.column("class_prior")
    return _select(connection, rows, {}, {"class_prior": shares}).item()


def _cell(confusion: pl.DataType, name: str) -> pl.Expr:
    """A cell of a binary confusion, which is a struct for single scores and a list of rows for vectors."""
    if isinstance(confusion, pl.Struct):
        return pl.col(_CONFUSION).struct.field(name)
    row, column = divmod(CELLS.index(name), 2)
    return pl.col(_CONFUSION).list.get(row).list.get(column).alias(name)


def _select(
    connection: duckdb.DuckDBPyConnection, relation: str, keys: Mapping[str, str], columns: Mapping[str, str]
) -> pl.DataFrame:
    selected = ",\n    ".join(f"{sql} AS {quoted(name)}" for name, sql in {**keys, **columns}.items())
    grouped = f"\nGROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    return _answered(connection, f"SELECT\n    {selected}\nFROM {relation}{grouped}")


@dataclass(frozen=True)
class _Model:
    """The macro calls for one score."""

    score_name: str
    label_name: str
    schema: pl.Schema
    checked: Options
    decisions: Sequence[Any] | None

    @classmethod
    def of(cls, score: str, label: str, schema: pl.Schema, options: Options) -> _Model:
        """With what the columns' dtypes add to the options: the classes of an Enum label, the names of decisions."""
        rows = resolve_columns(schema.to_frame().lazy(), score, label, options)
        names = rows.scores.names if isinstance(rows.scores, DecidedScores) else None
        return cls(score, label, schema, rows.options, None if isinstance(names, range) else names)

    def rows(self, relation: str) -> str:
        """The relation with what the calls need of each row: written out in every call it would be planned each time."""
        columns = {_SCORE: self._score, _LABEL: self._label}
        # Without a prior there are no decisions of LLRs, and only counts are asked for.
        countable_only = self.checked.score_type == "llr" and self._prior is None
        if self._needs_decisions and not countable_only:
            options = {**self._choice, "prior": self._prior, "score_type": quoted_text(self.checked.score_type)}
            decision = _call("bayes_decision", self._score, **options)
            columns[_DECISION] = f"CAST([{decision}] AS DOUBLE[])" if self._is_wide else decision
        if self.checked.score_type == "llr" and not countable_only:
            columns[_LOG_ODDS] = _call("log_odds", self._score, score_type=quoted_text("llr"), prior=self._prior)
        return f"(SELECT *, {', '.join(f'{sql} AS {name}' for name, sql in columns.items())} FROM {relation})"

    def column(self, name: str) -> str:
        """The call behind a column of the report."""
        metric = name.removesuffix("_at_prior")
        if metric == "n":
            return self._counts("n_rows")
        if metric in (*_COUNTS, "class_prior"):
            positive = "[2]" if metric == "class_prior" and self._is_list and self._n_classes == 2 else ""
            return f"({self._counts(metric)}){positive}"
        call = self._scoring_rule if metric in ("nce", "nbs") else self._decisions
        return call(metric, prior=self._prior if name != metric else None)

    def _counts(self, metric: str) -> str:
        # The number of classes is all that costs say here, and a score of two classes says it itself.
        costs = self._costs if self._is_list else None
        return _call(
            metric, _SCORE, _LABEL, costs=costs, score_type=quoted_text(self.checked.score_type), weight=self._weight
        )

    def _decisions(self, metric: str, *, prior: str | None) -> str:
        if self._needs_decisions:
            options = {
                "costs": self._costs,
                **self._binary_costs,
                "prior": prior,
                "score_type": quoted_text("decision"),
            }
            return _call(metric, _DECISION, _LABEL, **options, weight=self._weight)
        options = {**self._choice, "prior": prior, "score_type": quoted_text(self.checked.score_type)}
        return _call(metric, _SCORE, _LABEL, **options, weight=self._weight)

    def _scoring_rule(self, metric: str, *, prior: str | None) -> str:
        if self.checked.score_type == "llr":
            return _call(
                metric, _LOG_ODDS, _LABEL, prior=prior, score_type=quoted_text("log_odds"), weight=self._weight
            )
        return _call(
            metric, _SCORE, _LABEL, prior=prior, score_type=quoted_text(self.checked.score_type), weight=self._weight
        )

    @property
    def _is_list(self) -> bool:
        """Whether the macros get a list a row; decisions among other than two are lists of one."""
        return self.schema[self.score_name].is_nested() or (self.checked.score_type == "decision" and self._is_wide)

    @property
    def _is_wide(self) -> bool:
        costs = self.checked.costs(self._n_classes)
        return (costs.n_classes, costs.n_decisions) != (2, 2)

    @property
    def _needs_decisions(self) -> bool:
        """Decisions of LLRs stay those at the stated prior, also where the metric is at the group's own.

        And decisions of single scores among other than two are lists to the macros.
        """
        return self.checked.score_type == "llr" or (self._is_wide and not self._is_list)

    @property
    def _score(self) -> str:
        column, dtype = quoted(self.score_name), self.schema[self.score_name]
        if isinstance(dtype, pl.Struct):
            fields = ", ".join(f"struct_extract({column}, {quoted_text(field.name)})" for field in dtype.fields)
            return f"CAST([{fields}] AS DOUBLE[])"
        if dtype.is_nested():
            return f"CAST({column} AS DOUBLE[])"
        if self.decisions is not None:
            column = index_in_sql(column, dtype, self.decisions, rest=self.checked.pos_label is not None)
        return f"CAST([{column}] AS DOUBLE[])" if self._is_list else column

    @property
    def _label(self) -> str:
        """The macros read Booleans and class numbers only."""
        column, dtype = quoted(self.label_name), self.schema[self.label_name]
        nan = f" WHEN isnan({column}) THEN -1" if dtype.is_float() else ""
        if self.checked.pos_label is not None:
            positive = _value(self.checked.pos_label)
            return f"CASE{nan} WHEN {column} = {positive} THEN 1 WHEN {column} IS NOT NULL THEN 0 END"
        if self.checked.classes is not None:
            classes = "".join(f" WHEN {column} = {_value(c)} THEN {i}" for i, c in enumerate(self.checked.classes))
            return f"CASE{nan}{classes} WHEN {column} IS NOT NULL THEN -1 END"
        return column

    @cached_property
    def _n_classes(self) -> int:
        return n_score_classes(self.schema[self.score_name], self.checked)

    @property
    def _costs(self) -> str | None:
        """Also says how many classes there are, where the score alone does not."""
        if self.checked.stated_costs is None and not self._is_list and self._n_classes == 2:
            return None
        rows = self.checked.costs(self._n_classes).values
        return f"[{', '.join(_numbers(row) for row in rows)}]"

    @property
    def _binary_costs(self) -> dict[str, str]:
        if self._costs is not None:
            return {}
        (_, cost_fp), (cost_fn, _) = self.checked.costs(2).values
        return {"cost_fn": _number(cost_fn), "cost_fp": _number(cost_fp)}

    @property
    def _choice(self) -> dict[str, str | None]:
        threshold = self.checked.constant_threshold
        stated = None if threshold is None else _number(threshold)
        return {"costs": self._costs, **self._binary_costs, "threshold": stated}

    @property
    def _prior(self) -> str | None:
        prior = self.checked.prior
        if prior.uniform:
            return quoted_text("uniform")
        if prior.shares is None:
            return None
        return _numbers(prior.shares) if self._is_list or self._is_wide else _number(prior.shares[1])

    @property
    def _weight(self) -> str | None:
        weight = self.checked.weight
        return None if weight is None else quoted(weight.meta.output_name())


def _call(macro: str, *args: str, **options: str | None) -> str:
    named = [f"{name} := {value}" for name, value in options.items() if value is not None]
    return f"ec.{macro}({', '.join([*args, *named])})"


def _number(value: float) -> str:
    # A bare 0.1 would be a DECIMAL.
    return f"CAST('{float(value)!r}' AS DOUBLE)"


def _numbers(values: Sequence[float]) -> str:
    return f"[{', '.join(map(_number, values))}]"


def _value(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _number(value)
    return str(value) if isinstance(value, int) else quoted_text(str(value))
