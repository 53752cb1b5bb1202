"""The sketch as one aggregate query, for engines with logs that neither Polars nor DuckDB can read."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence

from polars_ec.arguments.keywords import parse_options
from polars_ec.arguments.scales import parse_sketch_score_type
from polars_ec.output.dialects import WarehouseDialect, Writer, quoted
from polars_ec.records import dataclass
from polars_ec.scores.folds import BUCKETS, MURMUR3, buckets_of_clusters
from polars_ec.sketches.files import HASH, TABLE
from polars_ec.sketches.grid import BUCKET, RESERVED, Grid, SketchScoreType, checked_resolution, sorted_thresholds
from polars_ec.sql.log_rows import LogRows, class_of_label, exceeds, parse_keys, product, select, with_levels
from polars_ec.sql.score_kinds import kind_of

_DIGITS_OF_MD5 = 6  # which is 1000 buckets times 16,777
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
    cluster: str | None = None,
    buckets: int = BUCKETS,
    dialect: WarehouseDialect = "duckdb",
) -> str:
    """Write the sketch of a log as one aggregate SQL query, in the dialect of a warehouse.

    The warehouse makes the pass over the log. The result, some thousand rows per group, has the columns of `Sketch.frame`. Read it with
    `ec.Sketch.from_arrow(result, score_type=..., resolution=..., thresholds=...)`.

    Names and expressions are SQL of that dialect, and are inserted as they are. Quote names that need quotes: `'"Order"'`, with backticks in
    BigQuery and Spark. Names in the result are always quoted, so that every warehouse returns them as written here.

    Parameters
    ----------
    table
        The text after FROM: a name (`"lake.logs.scores"`), a table function (`"read_parquet('log/*.parquet')"`), a join, or a query in
        parentheses. To use WHERE, pass a query in parentheses.
    score
        Column name or SQL expression of a number; it is cast to a 64-bit float.
    label
        Column name or SQL expression, BOOLEAN unless `pos_label` or `classes` is given.
    by
        Group columns: names (the result omits table names and quotes), or a mapping from the name in the result to a SQL expression, such as
        `{"month": "CAST(date_trunc('month', CAST(ts AS DATE)) AS DATE)"}`. Default: one group.
    score_type
        The kind of score, one number per row, as for `sketch`. For raw scores, which may be any numbers, the last three columns are omitted.
        Default "posterior", of the positive class.
    resolution
        Bins per nat of log-odds, for "raw" per nat of ln|score|: a whole number from 1 to 4096. Default 64.
    thresholds
        Operating points on the scale of the score as given; the column `above` counts those that the score exceeds, strictly. Order and
        repetitions do not matter. Default: none.
    weight
        Column name or SQL expression of non-negative finite weights. A row of weight w counts as w rows. Default None: 1.
    pos_label
        The label value of the positive class; all other values are the negative class.
    classes
        The two label values, the negative class first; any other value is invalid. For integer labels: `classes=(0, 1)`.
    cluster
        Column name or SQL expression of the cluster column, which groups correlated rows, such as the user or the day, for intervals. A row
        with a null there is its own cluster. Default: none.
    buckets
        The number of hash buckets for the clusters, from 5 to 1000. DuckDB uses `ec.bucket`, the hash of Polars, so the macros must exist
        (`ec.register`). Other dialects use MD5 of the cluster's text. Only sketches with the same hash can be merged.
    dialect
        "bigquery", "clickhouse", "databricks", "datafusion", "duckdb" (default), "postgres", "snowflake", "spark" or "trino".

    Returns
    -------
    One SELECT statement without a closing semicolon, which can be used in parentheses after FROM. Its columns are:

    - Those of `by`.
    - `class` (0, 1; -1 for invalid rows, NULL for rows with missing values), `bin`, `above`, and `n` rows.
    - `weight`, the sum of the weights, and `weight2`, that of their squares.
    - `log_loss`, `brier` and `posterior`, sums of weight times the row's value (in nats; LLRs are treated as log-odds, at a prior of 0.5).
      `log_loss` is 0 in the two bins of infinite log-odds: `Sketch.from_arrow` restores the infinite sums.

    Log-odds within rounding of a bin's edge may fall into different bins in different engines.

    With `cluster` the result has two tables, one below the other, distinguished by the column `table`: "cells" and "coarse". The latter has
    the usable rows again by `bucket`, at a `resolution` of at most 8, without the last three sums. The column `hash` names the hash.

    In PostgreSQL a product that underflows is an error. There, products with a factor below 1e-150 are set to 0 (1e-100 if there are three
    factors, in a weighted Brier loss).

    Raises
    ------
    ValueError
        An invalid dialect, score type, resolution or threshold; a name or expression that is empty, not SQL, or more than one expression; a
        group column without a name, or with the name of another or of a sketch column; labels that are not an SQL literal; `pos_label` with
        `classes`.
    ImportError
        sqlglot is not installed: `pip install 'polars_ec[warehouse]'`.

    References
    ----------
    sqlglot, the SQL parser and transpiler; Ferrer, "The expected cost", Eq. 44 (decisions are strict).

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
    grid = Grid(parse_sketch_score_type(score_type).name, resolution, sorted_thresholds(thresholds))
    checked = parse_options({"pos_label": pos_label, "classes": classes})
    largest = writer.number(sys.float_info.max)
    number = buckets_of_clusters(cluster, buckets)
    own = [*grid.columns, *RESERVED, *(() if number is None else (BUCKET, HASH))]
    query = _SketchQuery(
        rows=LogRows(
            *(parse_keys(by, own, "the sketch", writer), table, score, label, weight),
            class_of_label=class_of_label(writer, checked.pos_label, checked.classes),
            kind=kind_of(grid.scale, resolution, largest),
            largest=largest,
            writer=writer,
        ),
        above=_above(writer, grid.thresholds, largest),
        clusters=None if cluster is None else _coarse_levels(writer, cluster, number, grid, largest, dialect),
        least_factor={n: writer.number(_LEAST_PRODUCT ** (1 / n)) for n in (2, 3)} if dialect == "postgres" else {},
    )
    return writer.write(query.text())


@dataclass(frozen=True)
class _CoarseLevels:
    """SQL of the second table: the `bucket`, from `ec_hashed`, a hash of the key; and the bin, from `ec_bin` or, in cut bins, `ec_coarse`."""

    key: str
    hashed: str
    bucket: str
    coarse: str | None
    bin: str
    hash: str


def _coarse_levels(
    writer: Writer, cluster: str, buckets: int | None, grid: Grid, largest: str, dialect: WarehouseDialect
) -> _CoarseLevels:
    coarse = grid.coarse.resolution or 0
    finer = (grid.resolution or 0) // coarse
    (lowest, highest), (low, high) = grid.infinite_bins, grid.coarse.infinite_bins
    if grid.scale.has_order_only:
        steps = f"CAST(FLOOR(CAST(ABS(ec_bin) - 1 AS DOUBLE) / {finer}) AS INT) + 1"
        inner = f"WHEN ec_bin > 0 THEN {steps} WHEN ec_bin < 0 THEN -({steps}) WHEN ec_bin = 0 THEN 0"
    else:
        inner = f"WHEN ec_bin > {lowest} THEN CAST(FLOOR(CAST(ec_bin AS DOUBLE) / {finer}) AS INT)"
    of_bin = f"CASE WHEN ec_bin = {lowest} THEN {low} WHEN ec_bin = {highest} THEN {high} {inner} END"
    native = dialect == "duckdb"
    digits = [
        f"(STRPOS('0123456789abcdef', SUBSTR(ec_hashed, {i + 1}, 1)) - 1) * {16**i}" for i in range(_DIGITS_OF_MD5)
    ]
    return _CoarseLevels(
        key=writer.expression("cluster", cluster),
        hashed=f"ec.bucket(ec_cluster, {buckets})" if native else "MD5(CAST(ec_cluster AS VARCHAR))",
        bucket="ec_hashed"
        if native
        else f"CASE WHEN ec_hashed IS NOT NULL THEN ({' + '.join(digits)}) % {buckets} END",
        coarse=kind_of(grid.scale, coarse, largest).bin if grid.is_cut_by_coarse else None,
        bin="ec_coarse" if grid.is_cut_by_coarse else of_bin,
        hash=MURMUR3 if native else f"md5 by {dialect}",
    )


# Everything below is portable SQL ---------------------------------------------------------------------------------------


def _above(writer: Writer, thresholds: Sequence[float], largest: str) -> str:
    """SQL of the number of ascending thresholds that the score exceeds."""
    conditions = [exceeds(writer, threshold, largest) for threshold in thresholds if threshold != math.inf]
    ranks = list(enumerate(conditions, start=1))[::-1]
    return "CASE " + "".join(f"WHEN {c} THEN {rank} " for rank, c in ranks) + "WHEN ec_class >= 0 THEN 0 END"


@dataclass(frozen=True)
class _SketchQuery:
    rows: LogRows
    above: str
    clusters: _CoarseLevels | None
    least_factor: Mapping[int, str]

    def text(self) -> str:
        """The query: rows, and the cells that they are grouped to."""
        values = {"ec_bin": self.rows.kind.bin, "ec_above": self.above, **self.rows.kind.sums}
        more: dict[str, Mapping[str, str]] = {}
        if self.clusters is not None:
            of_values = {} if self.clusters.coarse is None else {"ec_coarse": self.clusters.coarse}
            more = {
                "ec_rows": {"ec_cluster": self.clusters.key},
                "ec_classes": {"ec_hashed": self.clusters.hashed},
                "ec_usable": {"ec_bucket": self.clusters.bucket},
                "ec_logs": {"ec_bucket": "ec_bucket"},
                "ec_values": {"ec_bucket": "ec_bucket", **of_values},
            }
        levels = self.rows.levels(values, more)
        key_names = self.rows.key_names
        groups = [*key_names, "ec_class", "ec_bin", "ec_above"]
        if self.clusters is not None:
            weight = [] if self.rows.weight is None else ["ec_times"]
            levels |= self._of_both_tables(key_names, ["ec_class", *values, *weight])
            groups = [*key_names, "ec_table", "ec_in_bucket", "ec_class", "ec_in_bin", "ec_above"]
        last = select(self._result(key_names), [*levels][-1])
        return with_levels(levels, f"{last} GROUP BY {', '.join(groups)}")

    def _of_both_tables(self, key_names: Mapping[str, str], values: Iterable[str]) -> dict[str, str]:
        """Each row twice, as one of the cells and if it is usable as one of the coarse cells: the log is read once."""
        assert self.clusters is not None
        kept = {name: name for name in values if name != "ec_bin"}
        columns = {
            **key_names,
            **kept,
            "ec_table": "ec_table",
            "ec_in_bucket": "CASE WHEN ec_table = 'coarse' THEN ec_bucket END",
            "ec_in_bin": f"CASE WHEN ec_table = 'coarse' THEN {self.clusters.bin} ELSE ec_bin END",
        }
        return {
            "ec_tables": "SELECT 'cells' AS ec_table UNION ALL SELECT 'coarse' AS ec_table",
            "ec_both": f"{select(columns, 'ec_values CROSS JOIN ec_tables')} WHERE ec_table = 'cells' OR ec_class >= 0",
        }

    def _result(self, key_names: Iterable[str]) -> dict[str, str]:
        keys = {quoted(name): source for name, source in zip(self.rows.keys, key_names, strict=True)}
        rows = "CASE WHEN ec_class >= 0 THEN COUNT(*) ELSE 0 END"
        factors = {"log_loss": ["ec_log_loss"], "brier": ["ec_error", "ec_error"], "posterior": ["ec_posterior"]}
        sums = {name: self._sum(*product) for name, product in factors.items()} if self.rows.kind.sums else {}
        bin_, before, after = "ec_bin", dict[str, str](), dict[str, str]()
        if self.clusters is not None:
            bin_ = "ec_in_bin"
            before = {TABLE: "ec_table", BUCKET: "CAST(ec_in_bucket AS SMALLINT)"}
            after = {HASH: f"CAST('{self.clusters.hash}' AS VARCHAR)"}
            sums = {name: f"CASE WHEN ec_table = 'cells' THEN {sql} END" for name, sql in sums.items()}
        unweighted = f"CAST({rows} AS DOUBLE)"
        return keys | {
            quoted(name): sql
            for name, sql in {
                **before,
                "class": "CAST(ec_class AS SMALLINT)",
                "bin": f"CAST({bin_} AS INT)",
                "above": "CAST(ec_above AS SMALLINT)",
                "n": "CAST(COUNT(*) AS BIGINT)",
                "weight": unweighted if self.rows.weight is None else "COALESCE(SUM(ec_times), 0)",
                "weight2": unweighted if self.rows.weight is None else self._sum("ec_times"),
                **sums,
                **after,
            }.items()
        }

    def _sum(self, *factors: str) -> str:
        factors = factors if self.rows.weight is None else ("ec_times", *factors)
        return f"COALESCE(SUM({product(factors, self.least_factor.get(len(factors)))}), 0)"
