"""The report as one aggregate query, for engines with logs that neither Polars nor DuckDB can read."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import get_args

from polars_ec.arguments.classes import ClassNames, Prior
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import Options, parse_level, parse_min_rows, parse_options
from polars_ec.arguments.scales import DECISION, SCALES
from polars_ec.formulas.decisions import AT_PRIOR, BATTERY, CELLS, DECISIONS, is_moved_by_prior
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.sums import MOST_WEIGHT
from polars_ec.output.dialects import WarehouseDialect, Writer
from polars_ec.reports.models import CONFUSION, METRICS, check_decided_by, named_metrics
from polars_ec.sql.log_rows import Levels, LogRows, class_of_label, exceeds, parse_keys
from polars_ec.sql.score_kinds import Kind, kind_of, log_odds_kind
from polars_ec.typing import ScoreType

_METRICS = tuple(name for name in (*DECISIONS, *SCORING_RULES) if name in METRICS)
# PostgreSQL makes an error of what underflows: no formula does if shares, losses, costs and priors are between these, or 0.
_LEAST_OF_POSTGRES, _MOST_OF_POSTGRES = 1e-50, 1e50


def report_query(
    table: str,
    score: str,
    label: str,
    *,
    by: str | Sequence[str] | Mapping[str, str] = (),
    metrics: Sequence[str] | None = None,
    cost_fn: float | str = 1,
    cost_fp: float | str = 1,
    threshold: float | None = None,
    prior: Prior = None,
    score_type: ScoreType = "posterior",
    weight: str | None = None,
    pos_label: object = None,
    classes: Sequence[object] | None = None,
    interval: float | None = None,
    cluster: str | None = None,
    min_rows: int | None = None,
    dialect: WarehouseDialect = "duckdb",
) -> str:
    """Write the report of a two-class log as one aggregate SQL query, in the dialect of a warehouse.

    The warehouse makes the pass over the log. The result, one row per group, is the table that `report` returns. The query is one plain
    SELECT, so it can be used in a view, a join or a test of the pipeline. It computes sums per group in a subquery, and over them the
    formulas of the DuckDB macros. Nothing needs to be installed in the warehouse.

    Names and expressions are SQL of that dialect, as for `sketch_query`.

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
    metrics
        Names, which become the columns in this order: decision metrics for two classes, `cross_entropy`, `nce`, `brier` and `nbs`. Default:
        `nec`, `nce`, `nbs`, `precision`, `f1`, `recall`, and the confusion counts.
    cost_fn
        The cost of a miss, which is a positive decided negative: a number, or a column name or SQL expression with the cost of each row.
        Each row is then decided by its own costs, and a cost that is null, NaN, negative or infinite makes the metrics of decisions NULL.
        Default 1.
    cost_fp
        The cost of a false alarm, which is a negative decided positive. A number, or one cost per row as for `cost_fn`. Default 1.
    threshold
        Decide for the positive class if score > threshold (strictly), on the scale of the score as given. Default None: Bayes decisions,
        which minimise the expected cost.
    prior
        The reference prior: that of the positive class, one per class (a sequence in class order, or a mapping from class), or "uniform".
        Default None: no reference prior. LLRs require it for posteriors and for Bayes decisions.
    score_type
        The kind of score, one number per row, as for `report`; a decision is 0 or 1. Default "posterior", of the positive class.
    weight
        Column name or SQL expression of non-negative finite weights. A row of weight w counts as w rows. Default None: 1.
    pos_label
        The label value of the positive class; all other values are the negative class.
    classes
        The two label values, the negative class first; any other value is invalid. For integer labels: `classes=(0, 1)`.
    interval
        The level of the confidence intervals, such as 0.95. It adds `NAME_ci_low` and `NAME_ci_high` to each metric, and `nec_kinked` and
        `small`, as in `report`. Default None: none.
    cluster
        Column name or SQL expression of the cluster column, which groups correlated rows, such as the user or the day, for intervals. The
        query sums the rows by group and cluster first. A row with a null there is its own cluster. Default None: rows are independent.
    min_rows
        Add `small`, true if the group has fewer rows than this. Default None.
    dialect
        "bigquery", "clickhouse", "databricks", "datafusion", "duckdb" (default), "postgres", "snowflake", "spark" or "trino".

    Returns
    -------
    One SELECT statement without a closing semicolon, which can be used in parentheses after FROM. Its columns are those of `by`; `n` (rows
    used); the metrics; `class_prior`; with `interval` or `min_rows` `small`; with the default metrics `tn`, `fp`, `fn`, `tp`; `n_missing`,
    `n_invalid`. Metrics are at the group's own prior. With `prior`, those that depend on it get a second column at the reference prior:
    `nec`, `nec_at_prior`. A value is NULL if that of `report` is null. Rows have no order: add ORDER BY.

    Clusters are used as they are. `report` assigns them to 100 hash buckets, so its bounds differ a little if two clusters share a bucket. In
    DuckDB with the macros, `cluster="ec.bucket(user, 100)"` gives the bounds of `report(cluster="user")`.

    Bounds equal those of `report` to six digits of their distance, or more, because engines add in different orders. They are imprecise in
    every engine in two cases: shares within 1e-8 of 1, and losses of rows whose weight is nearly all on one row.

    In PostgreSQL a product that underflows or overflows is an error. There, losses and weights below 1e-50 are set to 0, and groups whose
    weights sum to more than 1e50 have no metrics. A cost of a row is 0 below 1e-50, and invalid above 1e50. Log-odds such as 1e300 may still be an error. Bounds exist for values from 1e-30 to 1e30.

    Raises
    ------
    ValueError
        Errors of `sketch_query`; an invalid level; `cluster` without `interval`; an invalid number of rows; vector
        scores; metrics that reports do not offer, or this query does not (ranking metrics and `ece` are computed from a sketch, see
        `sketch_query`). Invalid costs or priors, or columns for priors; scores that need a prior.
    ImportError
        sqlglot is not installed: `pip install 'polars_ec[warehouse]'`.

    References
    ----------
    Ferrer, "The expected cost", Eqs. 2 and 3; Siblini et al., "Master your metrics with calibration", section 3.1. Clusters: Cameron and
    Miller 2015, "A practitioner's guide to cluster-robust inference", section VI.

    Examples
    --------
    >>> import duckdb, polars as pl, polars_ec as ec
    >>> log = duckdb.connect()
    >>> _ = log.execute(
    ...     "CREATE TABLE log AS FROM (VALUES ('a', 0.9, true), ('a', 0.2, false), ('a', 0.6, false), ('a', 0.4, NULL),"
    ...     "                                 ('b', 1.5, true), ('b', 0.5, false)) AS t(carrier, p, late)"
    ... )
    >>> query = ec.report_query("log", "p", "late", by=["carrier"], metrics=["nec", "precision"], prior=0.2)
    >>> log.sql(query).order("carrier").pl().drop("class_prior").with_columns(pl.selectors.float().round(3))
    shape: (2, 8)
    ┌─────────┬─────┬──────┬──────────────┬───────────┬────────────────────┬───────────┬───────────┐
    │ carrier ┆ n   ┆ nec  ┆ nec_at_prior ┆ precision ┆ precision_at_prior ┆ n_missing ┆ n_invalid │
    │ ---     ┆ --- ┆ ---  ┆ ---          ┆ ---       ┆ ---                ┆ ---       ┆ ---       │
    │ str     ┆ i64 ┆ f64  ┆ f64          ┆ f64       ┆ f64                ┆ i64       ┆ i64       │
    ╞═════════╪═════╪══════╪══════════════╪═══════════╪════════════════════╪═══════════╪═══════════╡
    │ a       ┆ 3   ┆ 1.0  ┆ 2.0          ┆ 0.5       ┆ 0.333              ┆ 1         ┆ 0         │
    │ b       ┆ 1   ┆ null ┆ null         ┆ null      ┆ null               ┆ 0         ┆ 1         │
    └─────────┴─────┴──────┴──────────────┴───────────┴────────────────────┴───────────┴───────────┘
    """
    # Imported here, for no other function of the package needs it.
    from polars_ec.sql.report_limits import ReportQuery

    writer = Writer(dialect)
    cost_columns = {name: cost for name, cost in (("cost_fn", cost_fn), ("cost_fp", cost_fp)) if isinstance(cost, str)}
    stated = {"cost_fn": cost_fn, "cost_fp": cost_fp, "threshold": threshold, "prior": prior}
    stated |= dict.fromkeys(cost_columns, 1)
    options = parse_options({**stated, "score_type": score_type, "pos_label": pos_label, "classes": classes})
    names = _checked_metrics(metrics, options)
    of_label = class_of_label(writer, options.pos_label, options.classes)
    shares = _stated_prior(options)
    is_bounded = dialect == "postgres"
    if is_bounded:
        (_, fp), (fn, _) = options.costs(2).values
        _check_range({"cost_fn": fn, "cost_fp": fp}, shares)
    level, least_rows = None if interval is None else parse_level(interval), parse_min_rows(min_rows)
    costs = None if cost_columns else options.costs(2)
    costs_by_level = row_costs(writer, options, cost_columns, shares, bounded=is_bounded) if cost_columns else {}
    if cluster is not None and level is None:
        raise ValueError(f"cluster={cluster!r} is an option of intervals: pass interval=0.95 too, or leave it out")
    columns = _columns(names, shares, usual=metrics is None, limited=level is not None, small=least_rows is not None)
    query = ReportQuery(
        rows=LogRows(
            *(parse_keys(by, columns, "the report", writer), table, score, label, weight),
            class_of_label=of_label,
            kind=_kind(writer, options, names, shares),
            largest=writer.number(sys.float_info.max),
            writer=writer,
        ),
        columns=columns,
        losses=tuple(dict.fromkeys(SCORING_RULES[name].loss for name in names if name in SCORING_RULES)),
        positive=_positive(writer, options, costs, shares),
        costs=costs,
        shares=shares,
        writer=writer,
        least=writer.number(_LEAST_OF_POSTGRES) if is_bounded else None,
        most=writer.number(_MOST_OF_POSTGRES if is_bounded else MOST_WEIGHT),
        level=level,
        min_rows=least_rows,
        row_costs=costs_by_level,
        cluster=None if cluster is None else writer.expression("cluster", cluster),
    )
    return writer.write(query.text()) + (writer.settings if level is not None else "")


def _checked_metrics(metrics: Sequence[str] | None, options: Options) -> tuple[str, ...]:
    if options.scale.is_vector:
        numbers = [name for name in get_args(ScoreType) if not SCALES[name].is_vector]
        raise ValueError(
            f"score_type={options.scale.name!r} is for vectors, but report_query() takes one score per row: pass the "
            f"posterior of one class against the rest, or one of {', '.join(numbers)}"
        )
    decided = options.scale is DECISION
    if decided and options.threshold is not None:
        raise ValueError("threshold= is for scores, but score_type='decision' has decisions already: leave it out")
    named = named_metrics(metrics)
    if named is None:
        return tuple(name for name in BATTERY if not (decided and name in SCORING_RULES))
    for name in named:
        if name == CONFUSION:
            raise ValueError(
                f"metrics= holds {name!r}, which is four columns in report_query(): pass {', '.join(CELLS)}"
            )
        if name not in _METRICS:
            raise ValueError(
                f"metrics= holds {name!r}, which report_query() cannot compute: use sketch_query() and evaluate() its "
                f"sketch, or report() on the log. The metrics here are {', '.join(_METRICS)}"
            )
        check_decided_by(name, decided=decided, by_threshold=options.threshold is not None)
    return named


def _stated_prior(options: Options) -> tuple[float, float] | None:
    if options.prior.overall or options.prior.expression is not None:
        raise ValueError(
            "prior= of report_query() takes numbers only: count the overall prior with a query of its own, and pass "
            "the share of the positive class"
        )
    if options.pos_label is not None:
        names = ClassNames((f"not {options.pos_label}", options.pos_label), rest=True)
    else:
        names = ClassNames((False, True), stated=False) if options.classes is None else ClassNames(options.classes)
    shares = options.prior.vector(names, None)
    return (shares[0], shares[1]) if isinstance(shares, tuple) else None


def _check_range(costs: Mapping[str, float], shares: tuple[float, float] | None) -> None:
    """ValueError for numbers of which PostgreSQL could make none, but an error."""
    stated = {**costs, **({} if shares is None else {"prior": min(shares)})}
    for name, value in stated.items():
        if value != 0 and not _LEAST_OF_POSTGRES <= value <= _MOST_OF_POSTGRES:
            raise ValueError(
                f"{name}={value!r}: products with it overflow or underflow, which is an error in PostgreSQL. Pass 0, "
                f"or a number from {_LEAST_OF_POSTGRES:g} to {_MOST_OF_POSTGRES:g}"
            )


def _needs_prior(options: Options) -> ValueError:
    return ValueError(
        f"score_type={options.scale.name!r} needs prior= for posteriors and Bayes decisions: pass a number, or "
        "threshold= with metrics= of decisions"
    )


def _prior_log_odds(shares: tuple[float, float]) -> float:
    negative, positive = (math.log(share) if share > 0 else -math.inf for share in shares)
    return positive - negative


def _finite_or_not(writer: Writer, number: float) -> str:
    if math.isinf(number):
        return f"{'-' if number < 0 else ''}{writer.infinity}"
    return writer.number(number)


def _kind(writer: Writer, options: Options, names: Sequence[str], shares: tuple[float, float] | None) -> Kind:
    largest = writer.number(sys.float_info.max)
    if not options.scale.needs_prior:
        return kind_of(options.scale, 1, largest)
    if shares is None:
        if set(names) & set(SCORING_RULES):
            raise _needs_prior(options)
        return log_odds_kind(1, largest)
    return log_odds_kind(1, largest, f"(ec_score + {_finite_or_not(writer, _prior_log_odds(shares))})")


def row_costs(
    writer: Writer,
    options: Options,
    cost_columns: Mapping[str, str],
    shares: tuple[float, float] | None,
    *,
    bounded: bool,
) -> Levels:
    """The columns that each level of rows has more: costs that are right, or NULL, the threshold that they set, and what an error costs."""
    (_, constant_fp), (constant_fn, _) = options.costs(2).values
    largest = _MOST_OF_POSTGRES if bounded else sys.float_info.max
    least, most = map(writer.number, (_LEAST_OF_POSTGRES, largest))
    costs, checked = dict[str, str](), dict[str, str]()
    for name, constant in (("cost_fn", constant_fn), ("cost_fp", constant_fp)):
        cost, column = f"ec_{name}", cost_columns.get(name)
        value = f"CASE WHEN {cost} < {least} THEN 0 ELSE {cost} END" if bounded else cost
        number = writer.number(constant) if column is None else writer.expression(name, column)
        costs[cost] = f"CAST({number} AS DOUBLE)"
        is_right = f"{cost} >= 0 AND {cost} <= {most}{writer.and_not_nan(cost)}"
        checked[f"{cost}_right"] = f"CASE WHEN {is_right} THEN {value} END"
    fn, fp = checked
    kept, (ratio, threshold) = {fn: fn, fp: fp}, _bayes_threshold(writer, options, shares, fn, fp)
    return {
        "ec_rows": costs,
        "ec_classes": checked,
        "ec_usable": kept | ratio,
        "ec_logs": kept | {"ec_bar": threshold},
        "ec_values": {
            "ec_cost": f"CASE WHEN ec_class = 1 THEN {fn} WHEN ec_class = 0 THEN {fp} END",
            "ec_uncosted": f"CASE WHEN {fn} IS NULL OR {fp} IS NULL THEN 1 END",
        },
    }


def _bayes_threshold(
    writer: Writer, options: Options, shares: tuple[float, float] | None, fn: str, fp: str
) -> tuple[dict[str, str], str]:
    """The Bayes threshold of the costs in two columns, and the column that it is computed from, if there is one."""
    # No sum and no quotient overflows, which is an error in some engines.
    least, most = (writer.number(of) for of in (1e-150, 1e150))
    small = f"{fn} <= {most} AND {fp} <= {most}"
    if options.scale.is_share:
        share = f"CASE WHEN {small} THEN {fp} / ({fp} + {fn}) ELSE {fp} / 2 / ({fp} / 2 + {fn} / 2) END"
        return {}, f"CASE WHEN {fn} > 0 OR {fp} > 0 THEN {share} ELSE 1 END"
    ratio = f"CASE WHEN {small} AND {fn} >= {least} AND {fp} >= {least} THEN {fp} / {fn} END"
    log_ratio, log_fp, log_fn = (f"LN(CASE WHEN {x} > 0 THEN {x} END)" for x in ("ec_ratio", fp, fn))
    log_odds = (
        f"CASE WHEN ec_ratio > 0 THEN {log_ratio} WHEN {fn} > 0 AND {fp} > 0 THEN {log_fp} - {log_fn} "
        f"WHEN {fn} > 0 THEN -{writer.infinity} ELSE {writer.infinity} END"
    )
    if options.scale.needs_prior and shares is not None:
        log_odds = f"({log_odds}) + {_finite_or_not(writer, -_prior_log_odds(shares))}"
    return {"ec_ratio": ratio}, log_odds


def _positive(writer: Writer, options: Options, costs: CostMatrix | None, shares: tuple[float, float] | None) -> str:
    """Whether a row is decided for the positive class; without `costs` at its own threshold `ec_bar`."""
    if options.scale is DECISION:
        return "ec_used = 1"
    threshold = options.constant_threshold
    if threshold is None:
        if options.scale.needs_prior and shares is None:
            raise _needs_prior(options)
        if costs is None:
            return f"{options.scale.share_sql('ec_used') if options.scale.is_share else 'ec_used'} > ec_bar"
        threshold = options.scale.bayes_threshold(costs)
        if options.scale.needs_prior and shares is not None:
            threshold -= _prior_log_odds(shares)
    if math.isnan(threshold) or threshold == math.inf:
        return "FALSE"
    return exceeds(writer, threshold, writer.number(sys.float_info.max))


def _columns(
    names: Sequence[str], shares: tuple[float, float] | None, *, usual: bool, limited: bool, small: bool
) -> list[str]:
    columns = ["n"]
    for name in names:
        of_counts = name in CELLS
        ends = ["_ci_low", "_ci_high"] if limited and not of_counts else []
        columns += [name, *(f"{name}{end}" for end in ends), *(["nec_kinked"] if limited and name == "nec" else [])]
        if shares is not None and not of_counts and is_moved_by_prior(name):
            columns += [f"{name}{AT_PRIOR}{end}" for end in ("", *ends)]
    small_groups = ["small"] if limited or small else []
    return [*columns, "class_prior", *small_groups, *(CELLS if usual else ()), "n_missing", "n_invalid"]
