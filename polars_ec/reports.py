"""The report: the usual battery of metrics, per group, in one pass over the log."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import reduce
from operator import add
from typing import Unpack

import polars as pl

from polars_ec.formulas.battery import MOVED_BY_PRIOR
from polars_ec.formulas.decisions import CELLS, DECISIONS, Arguments, decision_value
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.sums import Sums
from polars_ec.inputs import as_lazy, lazy_if_lazy
from polars_ec.metrics.counts import pack_confusion, pack_prior
from polars_ec.options import DecisionOptions, Options, parse_options
from polars_ec.priors import constant
from polars_ec.rows.decisions import Decisions
from polars_ec.rows.labels import class_index
from polars_ec.rows.read import PRIOR, Rows, check_names, count_rows, expand, resolve_columns, with_prior_column
from polars_ec.rows.scores import DecidedScores
from polars_ec.signatures import with_options
from polars_ec.typing import FrameLike, IntoExpr

_CLASS = "__ec_class"
_WEIGHT = "__ec_weight"
_ROW_COUNTS = ("rows", "invalid", "present")


@lazy_if_lazy
@with_options(DecisionOptions)
def report(
    frame: FrameLike,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    min_rows: int | None = None,
    **options: Unpack[DecisionOptions],
) -> pl.LazyFrame | pl.DataFrame:
    """The usual battery of metrics, one row per group, sorted by group, from one pass over the log.

    Parameters
    ----------
    frame
        The log, a frame of Polars or of another library. A LazyFrame gives a LazyFrame whose plan streams; all others give
        a DataFrame.
    score
        Column name or expression; several of them (models) add a column `score` with their names.
    label
        Column name or expression.
    by
        Names and expressions of the groups: `["carrier", pl.col("ts").dt.truncate("1mo")]`. Default: one group.
    min_rows
        Adds a Boolean column `small`, true where fewer rows than this were used. No group is dropped.
    prior
        The reference prior: the positive class's, or one per class (a sequence in class order, or a mapping from class),
        "uniform", or an expression, which is evaluated on the whole log, so that `pl.col("label").mean()` is the overall
        prior. None: there is no reference prior.

    Returns
    -------
    The columns of `by`; `score` if there are several; `n` (rows used), `n_missing`, `n_invalid`, `class_prior`; the
    confusion counts `tn`, `fp`, `fn`, `tp` (or `confusion`, K x M); `nec`, and, where scores hold posteriors, `nce` and
    `nbs`; for two classes and decisions `precision`, `recall`, `f1`: all at the group's own prior. With `prior`, every one
    of them that a prior moves once more at the reference prior, as `nec_at_prior`, `precision_at_prior` and so on;
    `small`. Each is null where the metric of that name is.

    Raises
    ------
    ValueError, TypeError
        A `min_rows` that is not a whole number from 0. All are raised here, before the log is read.

    References
    ----------
    Ferrer, "The expected cost", Eqs. 2 and 3; Siblini et al., "Master your metrics with calibration", section 3.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame(
    ...     {"s": ["a", "a", "b", "b"], "p": [0.9, 0.2, 0.6, 0.3], "y": [True, False, False, True]}
    ... )
    >>> log.ec.report("p", "y", by="s").select("s", "n", "tp", "fp", "nec")
    shape: (2, 5)
    ┌─────┬─────┬─────┬─────┬─────┐
    │ s   ┆ n   ┆ tp  ┆ fp  ┆ nec │
    │ --- ┆ --- ┆ --- ┆ --- ┆ --- │
    │ str ┆ i64 ┆ i64 ┆ i64 ┆ f64 │
    ╞═════╪═════╪═════╪═════╪═════╡
    │ a   ┆ 2   ┆ 1   ┆ 0   ┆ 0.0 │
    │ b   ┆ 2   ┆ 0   ┆ 1   ┆ 2.0 │
    └─────┴─────┴─────┴─────┴─────┘
    """
    lazy = _report(as_lazy(frame), score, label, by, min_rows, parse_options(options))
    return lazy if isinstance(frame, pl.LazyFrame) else lazy.collect(engine="streaming")


def _report(
    frame: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    by: IntoExpr | Sequence[IntoExpr],
    min_rows: int | None,
    options: Options,
) -> pl.LazyFrame:
    scores = expand(frame, score, "score")
    keys = expand(frame, by, "by")
    if not scores:
        raise ValueError("score= names no column")
    if min_rows is not None and (isinstance(min_rows, bool) or not hasattr(min_rows, "__index__") or min_rows < 0):
        raise ValueError(f"min_rows={min_rows!r} is not a whole number of rows from 0")
    frame, options = with_prior_column(frame, options)
    models = [resolve_columns(frame, model, label, options) for model in scores]
    names = [model.meta.output_name() for model in scores]
    orders = {rows.class_names.fields for rows in models if rows.class_names.fields}
    if len(orders) > 1:
        raise ValueError(f"score= holds structs that name the classes in different ways, {orders}: pass classes=")
    key_names = [key.meta.output_name() for key in keys]
    sums = _with_class_priors(_sum_per_group(_sum_per_class(frame, keys, models), key_names, models), models)
    several = len(models) > 1
    rows = [_table(model, m, options, min_rows) for m, model in enumerate(models)]
    check_names(keys, {*rows[0], *(["score"] if several else [])}, "the report")
    if not several:
        return sums.select(*key_names, **rows[0])
    packed = [
        pl.struct([column.alias(name) for name, column in columns.items()]).alias(f"__ec_{m}")
        for m, columns in enumerate(rows)
    ]
    tall = sums.select(*key_names, *packed).unpivot(
        on=[f"__ec_{m}" for m in range(len(models))], index=key_names or None, variable_name="score", value_name="__ec"
    )
    named = pl.col("score").replace_strict([f"__ec_{m}" for m in range(len(models))], names)
    tall = tall.with_columns(named).unnest("__ec")
    return tall.sort(key_names, maintain_order=True) if key_names else tall


def _sum_per_class(frame: pl.LazyFrame, keys: list[pl.Expr], models: list[Rows]) -> pl.LazyFrame:
    """The pass over the log: sums per group and class, which needs no mask per class.

    The rows' columns are made by a select of their own, for there the engine computes what they share only once.
    """
    columns = {f"__ec_{m}_{name}": column for m, rows in enumerate(models) for name, column in _columns(rows).items()}
    sums = {f"__ec_{m}_{name}": s for m, rows in enumerate(models) for name, s in _class_sums(rows, m).items()}
    if models[0].row_prior is not None:
        for i, share in enumerate(models[0].row_prior):
            columns[f"{PRIOR}_{i}"] = share
            sums[f"{PRIOR}_{i}"] = constant(pl.col(f"{PRIOR}_{i}"))
    if models[0].weight is not None:
        columns[_WEIGHT] = models[0].weight
    rows = frame.select(*keys, class_index(models[0].labels).alias(_CLASS), **columns)
    return rows.group_by([*(key.meta.output_name() for key in keys), _CLASS]).agg(**sums)


def _sum_per_group(cells: pl.LazyFrame, keys: list[str], models: list[Rows]) -> pl.LazyFrame:
    """One row per group: a column for each sum of each class, so that the formulas stay small."""
    columns = [pl.col(f"__ec_{m}_{name}").sum() for m in range(len(models)) for name in _ROW_COUNTS]
    columns += [
        pl.when(pl.col(_CLASS) == i).then(pl.col(f"__ec_{m}_{name}")).sum().alias(f"__ec_{m}_{name}_{i}")
        for m, rows in enumerate(models)
        for name in _class_sums(rows, m)
        if name not in _ROW_COUNTS
        for i in range(rows.costs.n_classes)
    ]
    if models[0].row_prior is not None:
        columns += [constant(pl.col(f"{PRIOR}_{i}")).alias(f"{PRIOR}_{i}") for i in range(len(models[0].row_prior))]
    return cells.group_by(keys).agg(columns).sort(keys) if keys else cells.select(columns)


def _columns(rows: Rows) -> dict[str, pl.Expr]:
    """What the sums are made of, row by row."""
    decided = rows.decisions
    columns = {"present": rows.present, "invalid": rows.invalid}
    columns["decision"] = decided.index if decided.positive is None else decided.positive
    if not isinstance(rows.scores, DecidedScores):
        columns |= {"log_loss": rows.weighted(rows.loss("log_loss")), "brier": rows.weighted(rows.loss("brier"))}
    return columns


def _class_sums(rows: Rows, m: int) -> dict[str, pl.Expr]:
    """Counts of rows; rows or their weight, in all and for each decision; and summed losses."""
    present = pl.col(f"__ec_{m}_present")

    def amount(mask: pl.Expr) -> pl.Expr:
        return count_rows(mask) if rows.weight is None else pl.when(mask).then(pl.col(_WEIGHT)).sum()

    sums = {
        "rows": pl.len().cast(pl.Int64),
        "invalid": count_rows(pl.col(f"__ec_{m}_invalid")),
        "present": count_rows(present),
    }
    sums["count"] = amount(present)
    column, n_decisions = pl.col(f"__ec_{m}_decision"), rows.costs.n_decisions
    by_index = rows.decisions.positive is None
    decided = Decisions(n_decisions, number=column) if by_index else Decisions(n_decisions, positive=column)
    sums |= {f"decided_{j}": amount(present & decided.among([j])) for j in _summed_decisions(rows)}
    if not isinstance(rows.scores, DecidedScores):
        sums |= {name: pl.col(f"__ec_{m}_{name}").sum() for name in ("log_loss", "brier")}
    return sums


def _summed_decisions(rows: Rows) -> range:
    """All but one where rows are counted, for that is the rest; with weights all, for a difference would lose digits."""
    return range(0 if rows.weight is not None else 1, rows.costs.n_decisions)


class _ClassSums(Sums):
    """Sums of a group, from the table that has a column for each."""

    def __init__(self, rows: Rows, m: int, prior: list[pl.Expr] | None) -> None:
        super().__init__(rows.costs.n_decisions, prior, rows.costs.n_classes)
        self._m = m
        self._summed = _summed_decisions(rows)

    def count(self, i: int) -> pl.Expr:
        return self.column(f"count_{i}")

    @property
    def size(self) -> pl.Expr:
        return reduce(add, [self.count(i) for i in range(self.n_classes)])

    def cell(self, i: int, decided: Collection[int]) -> pl.Expr:
        if not set(decided) <= set(self._summed):
            others = [j for j in range(self.n_decisions) if j not in decided]
            return self.count(i) - self.cell(i, others) if others else self.count(i)
        return reduce(add, [self.column(f"decided_{j}_{i}") for j in sorted(decided)])

    def column(self, name: str) -> pl.Expr:
        return pl.col(f"__ec_{self._m}_{name}")


def _with_class_priors(sums: pl.LazyFrame, models: list[Rows]) -> pl.LazyFrame:
    """Each group's own priors, as columns: formulas that name them are planned faster than formulas that repeat them."""
    priors = {
        f"__ec_{m}_prior_{i}": share
        for m, rows in enumerate(models)
        for i, share in enumerate(_ClassSums(rows, m, None).empirical_prior)
    }
    return sums.with_columns(**priors)


def _table(rows: Rows, m: int, options: Options, min_rows: int | None) -> dict[str, pl.Expr]:
    """The columns of the report, from the sums per group and class."""
    own = _ClassSums(rows, m, [pl.col(f"__ec_{m}_prior_{i}") for i in range(rows.costs.n_classes)])
    n_classes, n_decisions = own.n_classes, own.n_decisions
    invalid = own.column("invalid")
    used = own.column("present") - invalid
    cells = [[own.cell(i, [j]) for j in range(n_decisions)] for i in range(n_classes)]
    binary = (n_classes, n_decisions) == (2, 2)
    guarded: dict[str, pl.Expr] = {"class_prior": pack_prior(own.prior)}
    if binary:
        guarded |= dict(zip(CELLS, [cell for row in cells for cell in row], strict=True))
    else:
        guarded["confusion"] = pack_confusion(cells, pl.Int64 if rows.weight is None else pl.Float64)
    posteriors = not isinstance(rows.scores, DecidedScores)
    guarded |= _moved_by_prior(own, rows, posteriors, binary)
    if binary:
        guarded["recall"] = decision_value("recall", own, Arguments(rows.costs))
    if options.prior.stated:
        reference = _ClassSums(rows, m, _stated_prior(rows, options))
        at_prior = _moved_by_prior(reference, rows, posteriors, binary)
        guarded |= {f"{name}_at_prior": column for name, column in at_prior.items()}
    table = {"n": used, "n_missing": own.column("rows") - own.column("present"), "n_invalid": invalid}
    right = (invalid == 0) if rows.weight is None else (invalid == 0) & own.size.is_finite()
    table |= {name: pl.when(right).then(column) for name, column in guarded.items()}
    if min_rows is not None:
        table["small"] = used < min_rows
    return table


def _moved_by_prior(sums: _ClassSums, rows: Rows, posteriors: bool, binary: bool) -> dict[str, pl.Expr]:
    columns = {}
    for name in MOVED_BY_PRIOR:
        rule = SCORING_RULES.get(name)
        if rule is not None and posteriors:
            columns[name] = rule.value(sums, [sums.column(f"{rule.loss}_{i}") for i in range(sums.n_classes)])
        elif rule is None and (binary or not DECISIONS[name].binary):
            columns[name] = decision_value(name, sums, Arguments(rows.costs))
    return columns


def _stated_prior(rows: Rows, options: Options) -> list[pl.Expr] | None:
    if options.prior.expression is None:
        return rows.prior
    return [pl.col(f"{PRIOR}_{i}") for i in range(rows.costs.n_classes)]
