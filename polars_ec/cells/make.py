"""What a sketch is asked for, checked, and the pass over the log that makes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, get_args

import polars as pl

from polars_ec.arguments import Options, parse_options
from polars_ec.cells.arguments import OperatingPoint, bayes_threshold
from polars_ec.cells.cells import SCORE, TARGET, Cells
from polars_ec.cells.grid import (
    BUCKET,
    EXACT,
    RESERVED,
    Grid,
    SketchScoreType,
    checked_resolution,
    checked_score_type,
    sorted_thresholds,
)
from polars_ec.cells.log_pass import Buckets, own_names, reduce_log
from polars_ec.class_names import UNKNOWN, ClassNames
from polars_ec.costs import CostMatrix
from polars_ec.priors import EMPIRICAL
from polars_ec.rows.folds import BUCKETS, FOLD, MURMUR3, bucket, buckets_of_clusters, fold_of
from polars_ec.rows.labels import class_index
from polars_ec.rows.read import Rows, check_names, expand, resolve_columns
from polars_ec.rows.scores import VECTOR_TYPES, BinaryScores
from polars_ec.typing import IntoExpr, Reduction


@dataclass(frozen=True)
class Split:
    """How the rows of a log are dealt out to folds, for cross-validation."""

    folds: int | None = None
    fold_by: IntoExpr | None = None
    stratified: bool = False

    def fold(self, rows: Rows, keys: list[pl.Expr]) -> pl.Expr | None:
        """The column `fold`, if there are folds."""
        if self.folds is None and self.fold_by is None:
            return None
        return fold_of(self.folds, self.fold_by, [*keys, class_index(rows.labels)] if self.stratified else [])


@dataclass(frozen=True)
class Clusters:
    """Which rows of a log hang together, for intervals: a key, whose values are dealt out to buckets."""

    cluster: IntoExpr | None = None
    buckets: int = BUCKETS

    def bucket(self, log: pl.LazyFrame) -> Buckets | None:
        """The bucket of each row, named as its key is, if there are clusters."""
        number = buckets_of_clusters(self.cluster, self.buckets)
        if self.cluster is None or number is None:
            return None
        key, *others = expand(log, self.cluster, "cluster")
        if others:
            raise ValueError(f"cluster={self.cluster!r} is of several columns: pass one, such as pl.concat_str(...)")
        made = bucket(key, number).alias(key.meta.output_name())
        log.select(made).collect_schema()
        return Buckets(made, number)


def make_cells(
    lazy: pl.LazyFrame,
    score: IntoExpr | Sequence[IntoExpr],
    label: IntoExpr,
    options: Mapping[str, Any],
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    resolution: int = 64,
    thresholds: Sequence[float | CostMatrix] = (),
    exact: bool = False,
    few_rows: int | None = None,
    reduction: Reduction = "one_vs_rest",
    split: Split,
    clusters: Clusters = Clusters(),
) -> tuple[Cells, OperatingPoint]:
    """The cells of a log, and the operating point that the keywords describe: what `sketch` makes.

    Of a log of no more than `few_rows` every distinct score is a cell, as with `exact`.
    """
    if reduction not in get_args(Reduction):
        raise ValueError(f"reduction={reduction!r} is none of {', '.join(get_args(Reduction))}")
    score_type: Any = options.get("score_type", "posterior")
    kind = "posterior" if score_type in VECTOR_TYPES else checked_score_type(score_type)
    check_prior(options.get("prior"), score_type)
    stated_resolution = checked_resolution(resolution)
    models = _models(lazy, score, label, _reading(options, score_type))
    rows = next(iter(models.values()))
    keys = expand(lazy, by, "by")
    # What a vector becomes has other classes than the log, which have no names.
    names = rows.labels.names if isinstance(rows.scores, BinaryScores) and reduction != "top_label" else UNKNOWN
    point, numbers = declared(thresholds, kind, options, names)
    grid = Grid(kind, None if exact else stated_resolution, sorted_thresholds(numbers), names)
    in_bucket = clusters.bucket(lazy)
    of_coarse = [] if in_bucket is None else [BUCKET, *grid.coarse.columns]
    of_few = [] if few_rows is None else [EXACT]
    own = {*grid.columns, *of_coarse, *of_few, *RESERVED, *own_names(len(models)), SCORE, TARGET}
    check_names(keys, own, "a sketch")
    fold = split.fold(rows, keys)
    if fold is not None and any(key.meta.output_name() == FOLD for key in keys):
        raise ValueError("by= has a column 'fold', which folds= adds: rename it with .alias()")
    weighted = rows.weight is not None
    made = reduce_log(lazy, keys, fold, in_bucket, models, grid, reduction, few_rows)
    cells = Cells(made.frame, made.grid, weighted, made.sums)
    if in_bucket is not None:
        cluster = in_bucket.bucket.meta.output_name()
        cells = replace(cells, coarse=made.coarse, buckets=in_bucket.number, cluster=cluster, hash=MURMUR3)
    return cells, point


def check_prior(prior: Any, score_type: str) -> None:
    """ValueError for a prior where no decision needs one."""
    if prior is not None and score_type not in ("llr", "log_likelihoods"):
        raise ValueError(
            f"prior={prior!r} says where LLRs and log-likelihoods decide, and score_type={score_type!r} needs none: "
            "pass prior= to evaluate()"
        )


def declared(
    thresholds: Sequence[float | CostMatrix], kind: SketchScoreType, options: Mapping[str, Any], names: ClassNames
) -> tuple[OperatingPoint, list[float]]:
    """The operating point of the keywords, and the thresholds that are to be exact: its own and those that are named."""
    if isinstance(thresholds, str | CostMatrix) or not hasattr(thresholds, "__iter__"):
        raise TypeError(f"thresholds={thresholds!r} is not a sequence: pass a list")
    point = OperatingPoint.of(options, names)
    meant = [
        t.for_classes(names) if isinstance(t, CostMatrix) else t for t in [*point.declared(kind, options), *thresholds]
    ]
    prior = options.get("prior")
    return point, [bayes_threshold(t, kind, prior, names) if isinstance(t, CostMatrix) else t for t in meant]


def _models(
    lazy: pl.LazyFrame, score: IntoExpr | Sequence[IntoExpr], label: IntoExpr, reading: Options
) -> dict[str, Rows]:
    """The rows as each model scores them, by its name; TypeError if their scores cannot be of one sketch."""
    scores = expand(lazy, score, "score")
    if not scores:
        raise ValueError("score= names no column")
    models = {model.meta.output_name(): resolve_columns(lazy, model, label, reading) for model in scores}
    (first, one), *others = models.items()
    for name, other in others:
        of_as_many = len(one.labels.in_class) == len(other.labels.in_class)
        same = of_as_many and one.class_names.goes_with(other.class_names)
        if not same or type(one.scores) is not type(other.scores):
            raise TypeError(
                f"score= holds {first!r} and {name!r}, which are not both one number a row, nor vectors of the same classes: "
                "sketch them one by one"
            )
    return models


def _reading(options: Mapping[str, Any], score_type: Any) -> Options:
    """How rows are read: no decision is taken, and no prior turns LLRs and raw scores into anything."""
    reading = score_type if score_type == "posterior" or score_type in VECTOR_TYPES else "log_odds"
    checked = parse_options({**options, "score_type": reading})
    prior = checked.prior if score_type == "log_likelihoods" else EMPIRICAL
    return replace(checked, prior=prior, stated_costs=None, cost_fn=1.0, cost_fp=1.0, threshold=None)
