"""Sketches of Spark DataFrames: `ec.spark.sketch(frame, score, label)`. Spark makes the pass over the log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from polars_ec.api.sketches import Sketch
from polars_ec.arguments.classes import ClassNames, Prior
from polars_ec.arguments.costs import CostMatrix, Costs
from polars_ec.arguments.inputs import is_instance
from polars_ec.arguments.keywords import Options, did_you_mean, parse_options
from polars_ec.arguments.scales import parse_sketch_score_type
from polars_ec.arguments.signatures import checked_keywords
from polars_ec.numerics import np
from polars_ec.records import dataclass, replace
from polars_ec.scores.folds import BUCKETS
from polars_ec.scores.read import check_names
from polars_ec.sketches.arguments import check_prior, parse_operating_point
from polars_ec.sketches.cells import SCORE, TARGET
from polars_ec.sketches.grid import BUCKET, RESERVED, Grid, SketchScoreType, checked_resolution, sorted_thresholds
from polars_ec.sql.sketch_query import sketch_query

__all__ = ["sketch"]


def __dir__() -> list[str]:
    """Names for completion."""
    return [*__all__]


_INTEGERS = ("byte", "short", "integer", "long")
_FLOATS = ("float", "double")
_NUMBERS = (*_INTEGERS, *_FLOATS, "decimal")
_TEXTS = ("string", "char", "varchar")
# Their text is the same in every session; that of a timestamp goes by the session's time zone, that of a float by its digits.
_CLUSTERS = (*_INTEGERS, *_TEXTS, "boolean", "date", "timestamp_ntz", "void")
_LONGS = range(-(2**63), 2**63)
# A placeholder for the log until Spark names it; no other name in the query contains it.
_LOG = "log_of_spark"


@checked_keywords
def sketch(
    frame: Any,
    score: Any,
    label: Any,
    *,
    by: Any = (),
    resolution: int = 64,
    thresholds: Sequence[float | CostMatrix] = (),
    score_type: SketchScoreType = "posterior",
    weight: Any = None,
    pos_label: object = None,
    classes: Sequence[object] | None = None,
    cluster: Any = None,
    buckets: int = BUCKETS,
    costs: Costs | None = None,
    cost_fn: float = 1.0,
    cost_fp: float = 1.0,
    threshold: float | None = None,
    prior: Prior = None,
) -> Sketch:
    """Build a sketch of a Spark DataFrame in one pass that Spark makes; the result is that of `polars_ec.sketch`.

    Spark runs the query of `sketch_query`, and only its result, some thousand rows per group, comes to the driver. Classic sessions and Spark
    Connect both work. Columns are PySpark Columns or names, which are taken literally (dots, spaces and backticks need no quotes).

    Parameters
    ----------
    frame
        The log: a DataFrame of PySpark 4 or later.
    score
        One number per row, for two classes. Several (models) share the pass, and add a group column `score` with their names.
    label
        Boolean, or integers 0 and 1, unless `pos_label` or `classes` is given.
    by
        Group columns: one or a sequence. A Column is named by its alias. Timestamps come in UTC. For days in the session's time zone use
        dates, `F.to_date("ts").alias("day")`.
    resolution
        Bins per nat of log-odds (for raw scores, per factor e of |score|): a whole number from 1 to 4096.
    thresholds
        Operating points that must be exact, as for `polars_ec.sketch`.
    score_type
        The kind of score, one number per row, as for `polars_ec.sketch`. Default "posterior", of the positive class.
    weight, pos_label, classes
        As for `polars_ec.sketch`. `classes` has two values, the negative class first.
    cluster, buckets
        The cluster column, which groups correlated rows, such as the user or the day, for intervals. The number of buckets, from 5 to 1000,
        to which Spark assigns clusters by MD5. A row with a null there is its own cluster. A cluster is an integer, a string, a date, a
        Boolean or a timestamp without time zone.
    costs, cost_fn, cost_fp, threshold
        The operating point of the sketch, as for `polars_ec.sketch`: 2 x 2 costs, or the costs of a miss and of a false alarm (default 1),
        and the threshold. Default: the Bayes threshold of the costs.
    prior
        The class prior at which LLRs decide: that of the positive class, one per class, or "uniform". Only for score_type="llr".

    Returns
    -------
    A `Sketch`. It can be merged with sketches from other engines that have the same options. With clusters it can only be merged with
    sketches from Spark, because other engines use another hash.

    Raises
    ------
    TypeError
        A frame that is not a Spark DataFrame; a score or weight that is not a number, such as a vector; a label or a cluster of another type.
    ValueError
        A streaming DataFrame; an unknown column; two group columns with the same name, or one with the name of a sketch column; an invalid
        resolution, threshold, cost or prior.
    ImportError
        sqlglot is not installed: `pip install 'polars_ec[warehouse]'`.

    Examples
    --------
    >>> from pyspark.sql import SparkSession  # doctest: +SKIP
    >>> log = SparkSession.builder.getOrCreate().read.parquet("logs/")  # doctest: +SKIP
    >>> import polars_ec as ec
    >>> sketch = ec.spark.sketch(log, "p", "late", by="month", cost_fn=5)  # doctest: +SKIP
    >>> sketch.evaluate("nec", "auc_roc", interval=0.95)  # doctest: +SKIP
    """
    _check_frame(frame)
    checked = parse_options({"pos_label": pos_label, "classes": classes})
    scale = parse_sketch_score_type(score_type)
    check_prior(prior, scale)
    log = _SparkLog.of(frame, score, label, by, weight, cluster)
    names = log.class_names(checked)
    of_point = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "threshold": threshold, "prior": prior}
    point, numbers = parse_operating_point(thresholds, scale, of_point, names)
    resolution = checked_resolution(resolution)
    grid = Grid(scale.name, resolution, sorted_thresholds(numbers), names)
    of_coarse = {BUCKET, *grid.coarse.columns} if log.clusters is not None else set()
    check_names(map(pl.col, log.keys), {*grid.columns, *of_coarse, *RESERVED, SCORE, TARGET}, "a sketch")
    query = sketch_query(
        log.table,
        "score",
        log.class_of_label(checked),
        by=[*(f"key_{i}" for i in range(len(log.keys))), *(["model"] if log.several else [])],
        score_type=score_type,
        resolution=resolution,
        thresholds=grid.thresholds,
        weight="weight" if log.weighted else None,
        classes=(0, 1),
        cluster=None if log.clusters is None else "cluster",
        buckets=buckets,
        dialect="spark",
    )
    made = frame.sparkSession.sql(query.replace(_LOG, "{log}"), log=log.rows(checked)).toArrow()
    read = Sketch.from_arrow(
        made,
        score_type=score_type,
        resolution=resolution,
        thresholds=grid.thresholds,
        weighted=log.weighted,
        cluster=log.clusters,
        buckets=buckets,
    )
    named = read.group_by(*log.key_columns())
    return replace(named, grid=grid, costs=point.costs, threshold=point.threshold)


def _check_frame(frame: Any) -> None:
    """Raise TypeError for a frame that is not a PySpark DataFrame (without importing PySpark), and ValueError for a streaming one."""
    if is_instance(frame, "pyspark.sql", "DataFrame"):
        if frame.isStreaming:
            raise ValueError(
                "frame= is a stream, which has no end: pass spark.read..., or sketch each batch in writeStream.foreachBatch() and merge() the sketches"
            )
        return
    way_out = (
        "pass frame.to_spark()"
        if hasattr(frame, "to_spark")
        else "pass spark.table(...) or spark.read.parquet(...); for tables of other libraries use ec.sketch()"
    )
    raise TypeError(f"frame= is {type(frame).__name__}, which is not a PySpark DataFrame: {way_out}")


@dataclass(frozen=True)
class _SparkLog:
    """The requested columns under names that need no quotes, with their Spark types and names."""

    frame: Any
    models: tuple[str, ...]
    label: tuple[str, str]
    keys: tuple[str, ...]
    weighted: bool
    clusters: str | None

    @classmethod
    def of(cls, frame: Any, score: Any, label: Any, by: Any, weight: Any, cluster: Any) -> _SparkLog:
        scores, keys = _listed(score), _listed(by)
        if not scores:
            raise ValueError("score= names no column: pass at least one")
        named = [("score", x) for x in scores] + [("label", label)] + [("by", x) for x in keys]
        named += [("weight", weight)] * (weight is not None) + [("cluster", cluster)] * (cluster is not None)
        chosen = frame.select(*(_column(frame, x, what) for what, x in named))
        fields = chosen.schema.fields
        if len(fields) != len(named):
            raise ValueError(
                f"score=, label= and by= name {len(named)} columns, but Spark expands them to {len(fields)}: pass one Column for each"
            )
        for (what, _), field in zip(named, fields, strict=True):
            _check_type(what, field)
        models, of_keys = (
            tuple(field.name for (what, _), field in zip(named, fields, strict=True) if what == wanted)
            for wanted in ("score", "by")
        )
        for what, names in (("score", models), ("by", of_keys)):
            twice = [name for i, name in enumerate(names) if name in names[:i]]
            if twice:
                raise ValueError(f"{what}= has the name {twice[0]!r} twice: rename one with .alias()")
        safe = [
            *(f"score_{i}" for i in range(len(models))),
            "label",
            *(f"key_{i}" for i in range(len(of_keys))),
            *(["weight"] if weight is not None else []),
            *(["cluster"] if cluster is not None else []),
        ]
        of_label = fields[len(models)]
        clusters = None if cluster is None else fields[-1].name
        label_type = of_label.dataType.typeName()
        return cls(chosen.toDF(*safe), models, (of_label.name, label_type), of_keys, weight is not None, clusters)

    @property
    def several(self) -> bool:
        """True if there are several models, each of which then has the row once."""
        return len(self.models) > 1

    @property
    def table(self) -> str:
        """SQL of the table, for FROM."""
        of_models = ", ".join(f"CAST(score_{i} AS DOUBLE)" for i in range(len(self.models)))
        view = f"LATERAL VIEW POSEXPLODE(ARRAY({of_models})) models AS model, score"
        return f"(SELECT * FROM {_LOG} {view})" if self.several else f"(SELECT *, score_0 AS score FROM {_LOG})"

    def class_names(self, options: Options) -> ClassNames:
        """The names of the classes; TypeError and ValueError for values that such a label does not have."""
        name, dtype = self.label
        stated = options.classes if options.pos_label is None else (options.pos_label,)
        if stated is not None:
            what = "classes" if options.pos_label is None else "pos_label"
            for value in stated:
                _check_value(what, value, name, dtype)
            if options.pos_label is not None:
                return ClassNames((f"not {options.pos_label}", options.pos_label), rest=True)
            if len(stated) != 2:
                raise ValueError(f"classes={list(stated)} lists {len(stated)} classes, but a score per row is for 2")
            return ClassNames(stated)
        if dtype in ("boolean", "void"):
            return ClassNames((False, True), stated=False)
        if dtype in _INTEGERS:
            return ClassNames((0, 1), stated=False)
        swapped = ", or are score and label swapped?" if dtype in _FLOATS else ""
        raise TypeError(
            f"label {name!r} is {dtype}, not Boolean or integers 0 and 1: pass pos_label= to say which class is which{swapped}"
        )

    def rows(self, options: Options) -> Any:
        """The DataFrame that the query reads: values of labels are compared by Spark itself, so that none becomes text of the query."""
        dtype, label = self.label[1], self.frame["label"]
        if options.pos_label is not None:
            return self.frame.withColumn("is_positive", label == _comparable(options.pos_label, dtype))
        if options.classes is not None:
            negative, positive = (label == _comparable(value, dtype) for value in options.classes)
            return self.frame.withColumn("is_positive", positive).withColumn("is_negative", negative)
        return self.frame

    def class_of_label(self, options: Options) -> str:
        """SQL of the class of a row: 0, 1, -1 for a label that is no class, NULL for none."""
        dtype = self.label[1]
        if dtype == "void":
            return "CAST(NULL AS INT)"
        if options.pos_label is not None:
            positive, negative = "is_positive", "NOT is_positive"
        elif options.classes is not None:
            positive, negative = "is_positive", "is_negative"
        elif dtype == "boolean":
            positive, negative = "label", "NOT label"
        else:
            positive, negative = "label = 1", "label = 0"
        nan = "WHEN ISNAN(label) THEN -1 " if dtype in _FLOATS else ""
        return f"CASE WHEN label IS NULL THEN NULL {nan}WHEN {positive} THEN 1 WHEN {negative} THEN 0 ELSE -1 END"

    def key_columns(self) -> list[pl.Expr]:
        """The group columns of the query's result under their own names."""
        columns = [pl.col(f"key_{i}").alias(key) for i, key in enumerate(self.keys)]
        if self.several:
            columns.append(pl.col("model").replace_strict(range(len(self.models)), self.models).alias(SCORE))
        return columns


def _listed(columns: Any) -> list[Any]:
    return [*columns] if isinstance(columns, list | tuple) else [columns]


def _column(frame: Any, column: Any, what: str) -> Any:
    """A Column as it is, or the column of this name, whatever signs are in that."""
    if is_instance(column, "pyspark.sql", "Column"):
        return column
    if not isinstance(column, str):
        raise TypeError(f"{what}={column!r} is not a column's name or a PySpark Column: pass F.col(...) or F.expr(...)")
    if column not in frame.columns:
        hint = did_you_mean(column, frame.columns)
        raise ValueError(
            f"{what}={column!r} is not a column of the frame: {hint}The columns are {', '.join(frame.columns)}. For a "
            "field or an expression pass a Column, such as F.col('user.id')"
        )
    return frame["`" + column.replace("`", "``") + "`"]


def _check_type(what: str, field: Any) -> None:
    name, dtype, shown = field.name, field.dataType.typeName(), field.dataType.simpleString()
    if what == "cluster" and dtype not in _CLUSTERS:
        raise TypeError(
            f"cluster={name!r} is {shown}, which engines write as text differently: pass an integer, a string or a "
            "date, such as F.to_date(...) or F.unix_micros(...)"
        )
    if what not in ("score", "weight") or dtype in (*_NUMBERS, "void"):
        return
    if what == "weight":
        raise TypeError(f"weights must be numbers, but {name!r} is {shown}")
    way_out = {
        "array": ": a sketch in Spark is for two classes. Pass the element of the positive class, such as F.col('p')[1]",
        "struct": ": a sketch in Spark is for two classes. Pass the field of the positive class, such as F.col('p.late')",
        "string": ": pass F.col(...).cast('double')",
        "boolean": ": decisions cannot be sketched. Use ec.report_query(score_type='decision')",
    }
    of_vectors = (
        ": pass the element of the positive class, such as pyspark.ml.functions.vector_to_array('probability')[1]"
    )
    hint = way_out.get(dtype, of_vectors if "vector" in (dtype + shown).lower() else "")
    raise TypeError(f"scores must be numbers, but {name!r} is {shown}{hint}")


def _check_value(what: str, value: Any, name: str, dtype: str) -> None:
    """TypeError for a value that no label of this type has."""
    if dtype in _TEXTS:
        fits = isinstance(value, str)
    elif dtype == "boolean":
        fits = isinstance(value, bool)
    elif dtype in _NUMBERS:
        fits = isinstance(value, int | float) and not isinstance(value, bool)
    else:
        fits = dtype == "void" or not isinstance(value, str | bool | int | float)
    if not fits:
        raise TypeError(
            f"{what} holds {value!r} ({type(value).__name__}), but label {name!r} is {dtype}: pass a value of that type"
        )
    if isinstance(value, int) and value not in _LONGS:
        raise ValueError(f"{what} holds {value!r}, which is too large for label {name!r}, an integer of 64 bits")


def _comparable(value: Any, dtype: str) -> Any:
    """A value that is compared with labels of this type: floats of 32 bits are compared as those of 64."""
    return float(np.float32(value)) if dtype == "float" else value
