"""The report on rows, computed by the DuckDB macros where the log is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from polars_ec.arguments import parse_options
from polars_ec.cells.parquet import first_line
from polars_ec.cli.databases import Database, refusals_as_data_errors
from polars_ec.cli.errors import UsageError
from polars_ec.cli.gates import Gates
from polars_ec.cli.labels import MOST_VALUES
from polars_ec.cli.options import refusals_as_usage_errors
from polars_ec.cli.periods import DEFAULT_ZONE, PERIOD_NAMES, Periods
from polars_ec.cli.request import Rows, Table
from polars_ec.cli.sql_calls import COUNTS, PARTS, Model, value_text
from polars_ec.cli.sql_classes import class_rows
from polars_ec.cli.sql_ranks import RANK_COLUMNS, cells_of_rows, with_ranks
from polars_ec.dialects import quoted, quoted_text
from polars_ec.formulas.decisions import CELLS
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.reports import report
from polars_ec.sql.macros import register

# Functions import it where they need it: most commands do without, and it takes long to load.
if TYPE_CHECKING:
    import duckdb

# Polars takes them for decimals of 38 digits, which do not hold them.
_WIDE = {"HUGEINT": pl.Int128(), "UHUGEINT": pl.UInt128()}
# Columns that the report adds to the answer.
_SMALL, _TOTAL = "small", "total"
_CONFUSION = "__ec_confusion"
_ANSWER = "__ec_answer"
_NO_GATES = Gates()
_RIGHT = pl.col("n_invalid") == 0


@contextmanager
def connect(database: Database | None = None, zone: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that has the macros, to which a database is attached, read-only. `zone` cuts the periods.

    The macros live in memory, so that nothing is written to the database and its name cannot clash with theirs.
    """
    import duckdb

    with duckdb.connect() as connection:
        register(connection)
        try:
            connection.execute(f"SET TimeZone = {quoted_text(zone or DEFAULT_ZONE)}")
        except duckdb.Error as error:
            raise UsageError(f"--time-zone {zone}: {first_line(error)}") from error
        if database is not None:
            database.attach(connection)
        yield connection


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
    there = _answered(connection, f"SELECT 1 AS v FROM {relation} WHERE {column} = {value_text(positive)} LIMIT 1")
    return pl.DataFrame({"values": [found], "is_there": [there.height > 0]})


def _answered(
    connection: duckdb.DuckDBPyConnection, query: str, views: Mapping[str, str] = MappingProxyType({})
) -> pl.DataFrame:
    """What the query gives; `views` are others that it names."""
    with refusals_as_data_errors():
        for name, rows in views.items():
            connection.execute(f"CREATE OR REPLACE TEMP VIEW {quoted(name)} AS {rows}")
        # By way of a table: a relation plans its query twice, first for the columns' types, and long macros take long to plan.
        connection.execute(f"CREATE OR REPLACE TEMP TABLE {_ANSWER} AS {query}")
        table: pl.DataFrame = connection.table(_ANSWER).pl()
    return table


def sql_report(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    scores: Sequence[str],
    label: str,
    *,
    by: Sequence[str] = (),
    periods: Periods | None = None,
    layout: Mapping[str, Any] = MappingProxyType({}),
    options: Mapping[str, Any],
    gates: Gates = _NO_GATES,
) -> pl.DataFrame:
    """What `polars_ec.report` returns for the same rows, from one pass of DuckDB per score, and one more for ranking metrics.

    `relation` is SQL; the other names are names of its columns, unquoted. `periods` are of the zone that the connection
    is in. `layout` and `options` are those of `polars_ec.report`, without expressions. `gates` are checked before the pass.
    """
    wide = _wide_keys(connection, relation, by)
    rows = schema_of(connection, relation).to_frame().cast(wide)  # type: ignore[arg-type]
    keys = {name: f"CAST({quoted(name)} AS VARCHAR)" if name in wide else quoted(name) for name in by}
    polars_keys: list[str | pl.Expr] = list(by)
    if periods is not None:
        keys[periods.time] = _period(periods)
        polars_keys.append(periods.start)
    # The report on no rows has the columns, their dtypes and every error of the report on the rows.
    with refusals_as_usage_errors():
        empty = report(rows, list(scores), label, by=polars_keys, **layout, **options)
    gates.check(empty.schema)
    if options.get("score_type") == "log_likelihoods":
        # At the group's own prior the macros would need log posteriors, which no macro makes without underflow.
        raise UsageError("--score-type log_likelihoods: a DuckDB table must hold log posteriors; files may hold either")
    _refuse_what_no_macro_has(layout)
    asked = _Asked(connection, relation, label, keys, empty, len(scores) > 1, layout, options)
    tall = pl.concat([asked.of_score(score, rows.schema) for score in scores])
    tall = tall.sort([*([_TOTAL] if asked.total else []), *keys], maintain_order=True) if keys else tall
    return tall if periods is None else periods.placed(tall)


@dataclass(frozen=True)
class _Asked:
    """What a report is asked for. `keys` are SQL by the names of the groups, `empty` is the report on no rows."""

    connection: duckdb.DuckDBPyConnection
    relation: str
    label: str
    keys: Mapping[str, str]
    empty: pl.DataFrame
    several: bool
    layout: Mapping[str, Any]
    options: Mapping[str, Any]

    @property
    def total(self) -> bool:
        return bool(self.layout.get("total", False))

    @property
    def per_class(self) -> bool:
        return bool(self.layout.get("per_class", False))

    @property
    def cells(self) -> list[str]:
        """The columns of confusion counts."""
        return [] if self.per_class else [name for name in CELLS if name in self.empty.columns]

    @property
    def ours(self) -> list[str]:
        """The columns that the macros have no part in."""
        small = [_SMALL] if "min_rows" in self.layout else []
        return [*(["score"] if self.several else []), *small, *([_TOTAL] if self.total else [])]

    @property
    def metrics(self) -> list[str]:
        """The columns that a macro each makes: of one class there are numbers of rows alone."""
        others = {*self.keys, *self.ours, *self.cells, *RANK_COLUMNS}
        return [
            name
            for name in self.empty.columns
            if name not in others and (name in (*COUNTS, *PARTS) or not self.per_class)
        ]

    def of_score(self, score: str, schema: pl.Schema) -> pl.DataFrame:
        """The report on one model; `schema` is that of the log."""
        model = _model(self.connection, self.relation, score, self.label, schema, self.options)
        table = self._guarded(self._made(model), model)
        if self.per_class:
            table = self._with_classes(table, model)
        table = table.with_columns(_cell(table.schema[_CONFUSION], name) for name in self.cells)
        if self.several:
            table = table.with_columns(pl.lit(score).alias("score"))
        if "min_rows" in self.layout:
            table = table.with_columns((pl.col("n") < self.layout["min_rows"]).alias(_SMALL))
        return table.select(self.empty.columns).cast(self.empty.schema)

    def _made(self, model: Model) -> pl.DataFrame:
        """What DuckDB makes of the rows, and what Polars makes of their cells."""
        columns = {name: model.column(name) for name in self.metrics}
        if self.cells or self.per_class:
            # One call for the four cells: DuckDB plans each call of a macro anew.
            columns[_CONFUSION] = model.column("confusion")
        of_rows = model.rows(self.relation)
        table = _select(self.connection, of_rows, self.keys, columns)
        whole = _select(self.connection, of_rows, {}, columns) if self.total else table.clear()
        ranked = [name for name in RANKING_METRICS if name in self.empty.columns]
        if ranked:
            answered, prior = partial(_answered, self.connection), self.options.get("prior")
            rank_cells = cells_of_rows(answered, of_rows, self.keys, model, prior)
            table = with_ranks(table, rank_cells, list(self.keys), model, ranked)
            whole = with_ranks(whole, rank_cells, [], model, ranked)
        if not self.total:
            return table
        # An empty log has no groups, and nothing over all of them.
        whole = whole.filter(pl.lit(value=table.height > 0))
        parts = [
            part.with_columns(pl.lit(value=of_all).alias(_TOTAL)) for part, of_all in ((table, False), (whole, True))
        ]
        return pl.concat(parts, how="diagonal")

    def _guarded(self, table: pl.DataFrame, model: Model) -> pl.DataFrame:
        """Null where there are wrong rows; and where DuckDB counts decisions that there are none of as 0."""
        known = _RIGHT & (model.prior_is_known or self.options.get("score_type") != "llr")
        made = [name for name in (*self.metrics, _CONFUSION) if name in table.columns]
        return table.with_columns(
            pl.when(_RIGHT if name == "class_prior" else known).then(pl.col(name)).alias(name)
            for name in made
            if name not in (*COUNTS, *PARTS)
        )

    def _with_classes(self, table: pl.DataFrame, model: Model) -> pl.DataFrame:
        """A row for each class of each group."""
        table = class_rows(table, _CONFUSION, model, self.options, self.layout.get("metrics"))
        others = {*self.keys, *self.ours, *COUNTS, *PARTS, "class"}
        shown = [name for name in self.empty.columns if name not in others]
        # At a prior that cannot be counted nothing has a value.
        unknown = [pl.lit(None).alias(name) for name in shown if name not in table.columns]
        return table.with_columns(unknown).with_columns(
            pl.when(_RIGHT).then(pl.col(name)).alias(name) for name in shown
        )


def by_polars(table: Table, ask: Callable[[Rows], pl.LazyFrame | pl.DataFrame]) -> pl.DataFrame:
    """The answer from the rows of the table, which Polars reads: for what no macro has."""
    rows, request = rows_of(table), table.request
    with refusals_as_usage_errors():
        request.gates.check(ask(rows.none()).collect_schema())
        with refusals_as_data_errors():
            answer = ask(rows).lazy().collect(engine="streaming")
    return answer if table.periods is None else table.periods.placed(answer)


def rows_of(table: Table) -> Rows:
    """The rows of the table, as Polars reads them."""
    connection, request = table.connection, table.request
    wide = _wide_keys(connection, table.relation, request.by) | _wide_keys(
        connection, table.relation, request.mix, "--mix"
    )
    read = list(dict.fromkeys(name for names in request.columns().values() for name in names))
    columns = [f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}" if name in wide else quoted(name) for name in read]
    keys = [pl.col(name).cast(wide[name]) if name in wide else pl.col(name) for name in request.by]
    start = None if table.periods is None else table.periods.start
    with refusals_as_data_errors():
        rows = connection.sql(f"SELECT {', '.join(columns)} FROM {table.relation}")
    return Rows(rows, request.scores, request.label, keys, start, request.cluster, table.options)


def _wide_keys(
    connection: duckdb.DuckDBPyConnection, relation: str, by: Sequence[str], option: str = "--by"
) -> dict[str, pl.DataType]:
    """The dtypes of those group columns that Polars takes for decimals; UsageError for one that no table can hold."""
    kinds = {name: kind for name, kind in _sql_types(connection, relation) if name in by}
    interval = next((name for name, kind in kinds.items() if "INTERVAL" in kind), None)
    if interval is not None:
        raise UsageError(
            f"{option} {interval}: groups of intervals have no type in the report: make a text column of them"
        )
    return {name: _WIDE[kind] for name, kind in kinds.items() if kind in _WIDE}


def _refuse_what_no_macro_has(layout: Mapping[str, Any]) -> None:
    if "score_prior" in layout:
        raise UsageError(
            "--score-prior of a DuckDB table: no macro has it: COPY the table to Parquet and report on that"
        )


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


def _model(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    score: str,
    label: str,
    schema: pl.Schema,
    options: Mapping[str, Any],
) -> Model:
    """The calls for a score; the prior of the whole relation is counted first, of the rows that this model uses."""
    overall = options.get("prior") == "overall"
    stated = {name: value for name, value in options.items() if not (overall and name == "prior")}
    with refusals_as_usage_errors():
        model = Model.of(score, label, schema, parse_options(stated))
        if not overall:
            return model
        rows, shares = model.rows(relation), model.column("class_prior")
    counted = _select(connection, rows, {}, {"class_prior": shares}).item()
    if counted is None:
        return replace(model, prior_is_known=False)
    prior = counted if isinstance(counted, float) else list(counted)
    return Model.of(score, label, schema, parse_options({**options, "prior": prior}))


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
