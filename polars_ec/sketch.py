"""The sketch: a log reduced by one pass to a small table of cells, from which every threshold and curve follows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import polars as pl

from polars_ec import curves
from polars_ec._evaluate import bayes_threshold, evaluate
from polars_ec._expr import Rows, resolve
from polars_ec._grid import SKETCH_SCORE_TYPES, Grid, SketchScoreType
from polars_ec._labels import class_index
from polars_ec._options import as_expr, parse_number, parse_options, with_options
from polars_ec._scores import BinaryScores
from polars_ec.costs import CostMatrix
from polars_ec.exceptions import SketchError
from polars_ec.frames import expand
from polars_ec.typing import DecisionOptions, IntoExpr, ScoreType

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from typing_extensions import Unpack

SCHEMA_VERSION = 1
_METADATA_KEY = "polars_ec.sketch"
# Columns while rows are read: no group column is called so.
_SCORE, _INDEX, _WEIGHT, _POSITION, _PACKED = "__score", "__class", "__weight", "__position", "__cell"
_AMOUNTS = ("n", "weight", "weight2")
_LOSSES = ("log_odds", "posterior", "log_loss", "brier")
_DTYPES: dict[str, pl.DataType] = {
    "class": pl.Int8(),
    "bin": pl.Int32(),
    "above": pl.Int16(),
    "score": pl.Float64(),
    "n": pl.Int64(),
}


@dataclass(frozen=True)
class Sketch:
    """A log as cells: rows counted and losses summed per group, class and bin of the score.

    Make one with `sketch` (or `lf.ec.sketch`), `read_parquet`, `from_arrow` or `merge`. Everything that needs the order of
    the scores follows from it, within bounds that it knows; sums such as cross-entropy are exact. It is plain data.

    Attributes
    ----------
    frame
        The cells: the group columns; `class` (0 or 1, -1 for wrong rows, null for missing ones); `bin` and `above` (how
        many declared thresholds the score is above), or `score` in an exact sketch; `n` rows; `weight` and `weight2`, the
        sums of weights and of their squares; `log_odds`, `posterior`, `log_loss`, `brier`, sums over the rows times their
        weight (absent for raw scores).
    grid
        How scores became cells: `score_type`, `resolution` (None: exact), `thresholds`.
    weighted
        Whether the rows had weights.
    """

    frame: pl.DataFrame
    grid: Grid
    weighted: bool = False

    @property
    def keys(self) -> list[str]:
        """Names of the group columns."""
        return [name for name in self.frame.columns if name not in _own_columns(self.grid)]

    def __add__(self, other: Sketch) -> Sketch:
        """The sketch of both logs together."""
        return merge([self, other])

    def group_by(self, *by: IntoExpr) -> Sketch:
        """The sketch rolled up to these keys: names of group columns, or expressions of them.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"s": ["a", "b"], "p": [0.9, 0.2], "y": [True, False]})
        >>> log.ec.sketch("p", "y", by="s").group_by().evaluate("auc_roc")["auc_roc"].to_list()
        [1.0]
        """
        keys = expand(self.frame.select(self.keys).lazy(), by, "by")
        own = list(_own_columns(self.grid))
        return replace(self, frame=_add_up(self.frame.select(*keys, *own), self.grid))

    def filter(self, *predicates: pl.Expr) -> Sketch:
        """The groups for which predicates on the group columns hold."""
        keys = self.keys
        used = {name for predicate in predicates for name in predicate.meta.root_names()}
        if not used <= set(keys):
            raise SketchError(
                f"filter(): {sorted(used - set(keys))[0]!r} is no group column of the sketch, which has {keys}: a filter "
                "on anything else would change what the cells mean"
            )
        return replace(self, frame=self.frame.filter(*predicates))

    def evaluate(self, *metrics: str, **keywords: Any) -> pl.DataFrame:
        """Metrics of every group, one row per group, sorted: see `polars_ec.metrics` for what each of them is.

        Sums are exact. A metric of decisions is exact at a declared threshold; at any other it comes as two columns, `NAME_low` and
        `NAME_high`. A ranking metric comes with `NAME_error`: |returned - exact| <= error, beside rounding; and, where a
        threshold attains it, `NAME_threshold`. So does `ece`, whose error is 0 where the edges k / bins of its bins are declared
        thresholds (on the scale of the score), and in an exact sketch; with norm=2 there is no value elsewhere.

        Parameters
        ----------
        *metrics
            Names; default: the battery of `report` and `auc_roc`.
        **keywords
            `costs`, `cost_fn`, `cost_fp`, `threshold`, `prior` (number, sequence, "uniform", or an expression over a table
            with a row per group: the keys, `n` and `class_prior`); `beta` of fbeta, `p_t` of net_benefit, `sensitivity` of
            specificity_at_sensitivity, `method` of eer ("hull" or "linear"), `bins` and `norm` of ece.

        Returns
        -------
        The group columns, `n`, `n_missing`, `n_invalid`, `class_prior`, then the metrics; each null where the expression
        of its name is.

        Raises
        ------
        ValueError
            A metric or keyword that there is not; a metric that the sketch cannot give, and what to do instead.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
        >>> log.ec.sketch("p", "y", cost_fn=4).evaluate("nec", "auc_roc", cost_fn=4).select("nec", "auc_roc")
        shape: (1, 2)
        ┌─────┬─────────┐
        │ nec ┆ auc_roc │
        │ --- ┆ ---     │
        │ f64 ┆ f64     │
        ╞═════╪═════════╡
        │ 0.5 ┆ 0.75    │
        └─────┴─────────┘
        """
        return evaluate(self.frame, self.keys, self.grid, self.weighted, metrics, keywords)

    def roc(self) -> pl.DataFrame:
        """The ROC curve: see `polars_ec.curves.roc`."""
        return curves.roc(self)

    def roc_hull(self) -> pl.DataFrame:
        """The convex hull of the ROC curve: see `polars_ec.curves.roc_hull`."""
        return curves.roc_hull(self)

    def det(self) -> pl.DataFrame:
        """The DET curve: see `polars_ec.curves.det`."""
        return curves.det(self)

    def pr(self, *, prior: Any = None) -> pl.DataFrame:
        """The precision-recall curve: see `polars_ec.curves.pr`."""
        return curves.pr(self, prior=prior)

    def prg(self, *, prior: Any = None) -> pl.DataFrame:
        """The precision-recall-gain curve: see `polars_ec.curves.prg`."""
        return curves.prg(self, prior=prior)

    def cost_curve(self, *metrics: str, **keywords: Any) -> pl.DataFrame:
        """Metrics of decisions over the threshold: see `polars_ec.curves.cost_curve`."""
        return curves.cost_curve(self, *metrics, **keywords)

    def bayes_error(self, prior_log_odds: Sequence[float]) -> pl.DataFrame:
        """Actual and minimum DCF over the prior: see `polars_ec.curves.bayes_error`."""
        return curves.bayes_error(self, prior_log_odds)

    def bayes_risk(self) -> pl.DataFrame:
        """Risk over operating points, whose integral is the cross-entropy: see `polars_ec.curves.bayes_risk`."""
        return curves.bayes_risk(self)

    def reliability(self, *, resolution: int = 2) -> pl.DataFrame:
        """Mean posterior and share of positives per bin: see `polars_ec.curves.reliability`."""
        return curves.reliability(self, resolution=resolution)

    def best_threshold(self, metric: str, **keywords: Any) -> pl.DataFrame:
        """The threshold of the best value of a metric, per group: see `polars_ec.curves.best_threshold`."""
        return curves.best_threshold(self, metric, **keywords)

    def write_parquet(self, path: str | Path, *, metadata: Mapping[str, str] | None = None) -> None:
        """Save the cells, with what they mean, and any further `metadata`, in the file's metadata."""
        self.frame.write_parquet(path, metadata={**(metadata or {}), _METADATA_KEY: json.dumps(self._description())})

    def _description(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "score_type": self.grid.score_type,
            "resolution": self.grid.resolution,
            "thresholds": [repr(threshold) for threshold in self.grid.thresholds],
            "weighted": self.weighted,
            "keys": self.keys,
        }

    @classmethod
    def read_parquet(cls, path: str | Path) -> Sketch:
        """The sketch in a file that `write_parquet` made; SketchError for any other file, saying what is wrong with it."""
        try:
            described = pl.read_parquet_metadata(path).get(_METADATA_KEY)
            frame = None if described is None else pl.read_parquet(path, hive_partitioning=False, glob=False)
        except FileNotFoundError:
            raise
        except (pl.exceptions.PolarsError, OSError) as error:
            raise SketchError(f"{path} cannot be read as Parquet: {str(error).splitlines()[0]}") from None
        if described is None or frame is None:
            raise SketchError(f"{path} is Parquet, but no sketch: its metadata lack {_METADATA_KEY}")
        about = json.loads(described)
        if about["schema_version"] > SCHEMA_VERSION:
            raise SketchError(
                f"{path} is a sketch of schema version {about['schema_version']}, and this version of polars_ec reads "
                f"up to {SCHEMA_VERSION}: update polars_ec"
            )
        grid = Grid(about["score_type"], about["resolution"], tuple(float(t) for t in about["thresholds"]))
        expected = [*about["keys"], *_own_columns(grid)]
        if frame.columns != expected:
            raise SketchError(f"{path} is a damaged sketch: its columns are {frame.columns}, not {expected}")
        return cls(frame, grid, about["weighted"])

    @classmethod
    def from_arrow(
        cls,
        table: pa.Table | pl.DataFrame,
        *,
        score_type: SketchScoreType = "posterior",
        resolution: int = 64,
        thresholds: Sequence[float] = (),
        weighted: bool = False,
    ) -> Sketch:
        """The sketch that a warehouse made with `ec.sketch` or the text of `sketch_query`, as an Arrow table.

        Parameters
        ----------
        table
            The result: group columns, then the columns of `Sketch.frame`; anything that Polars reads as a table.
        score_type, resolution, thresholds
            As the query was made with; the table cannot say.
        weighted
            Whether it was made with weights.
        """
        grid = Grid(*_checked_grid(score_type, resolution, exact=False), _sorted_thresholds(thresholds))
        made = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
        own = list(_own_columns(grid))
        lacking = [name for name in own if name not in made.columns]
        if lacking:
            raise SketchError(
                f"the table lacks {', '.join(lacking)}: it is no result of a sketch of {score_type} scores"
            )
        above = made["above"].max()
        if isinstance(above, int) and above > len(grid.thresholds):
            raise SketchError(
                f"the table has scores above {above} thresholds, and thresholds= lists {len(grid.thresholds)}: pass "
                "those that the query was made with"
            )
        keys = [name for name in made.columns if name not in own]
        typed = made.select(*keys, *(pl.col(name).cast(_DTYPES.get(name, pl.Float64())) for name in own))
        return cls(_add_up(_with_infinite_sums(typed, grid), grid), grid, weighted)


def _own_columns(grid: Grid) -> tuple[str, ...]:
    return ("class", *grid.cell_columns, *_AMOUNTS, *(() if grid.score_type == "raw" else _LOSSES))


def _add_up(frame: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """One row per group and cell, sorted."""
    own = _own_columns(grid)
    cell = ["class", *grid.cell_columns]
    keys = [name for name in frame.columns if name not in own]
    sums = [pl.col(name).sum() for name in own if name not in cell]
    summed = frame.group_by(*keys, *cell).agg(sums)
    return summed.select(*keys, *own).sort(*keys, *cell, nulls_last=True)


def _with_infinite_sums(frame: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """SQL that cannot write infinity leaves it out, where the bin says that it is due."""
    if grid.score_type == "raw":
        return frame
    lowest, highest = grid.infinite_bins
    lost = ((pl.col("class") == 1) & (pl.col("bin") == lowest)) | ((pl.col("class") == 0) & (pl.col("bin") == highest))
    weighs = pl.col("weight") > 0
    inf = float("inf")
    return frame.with_columns(
        log_loss=pl.when(lost & weighs).then(inf).otherwise("log_loss"),
        log_odds=pl.when((pl.col("bin") == lowest) & weighs)
        .then(-inf)
        .when((pl.col("bin") == highest) & weighs)
        .then(inf)
        .otherwise("log_odds"),
    )


def merge(sketches: Sequence[Sketch]) -> Sketch:
    """The sketch of several logs together; in any order and grouping the same.

    Parameters
    ----------
    sketches
        At least one; made with the same group columns, score type, resolution and thresholds.

    Returns
    -------
    A Sketch.

    Raises
    ------
    SketchError
        They differ; the message names in what.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> day = pl.DataFrame({"p": [0.9, 0.2], "y": [True, False]}).ec.sketch("p", "y")
    >>> ec.merge([day, day]).frame["n"].sum()
    4
    """
    if not sketches:
        raise SketchError("merge() needs at least one sketch")
    first, *others = sketches
    for other in others:
        _check_same("score_type", first.grid.score_type, other.grid.score_type)
        _check_same("resolution", first.grid.resolution, other.grid.resolution)
        _check_same("thresholds", first.grid.thresholds, other.grid.thresholds)
        _check_same("group columns", first.keys, other.keys)
        schema, other_schema = first.frame.select(first.keys).schema, other.frame.select(first.keys).schema
        _check_same("types of the group columns", dict(schema), dict(other_schema))
    together = pl.concat([sketch.frame for sketch in sketches])
    return Sketch(_add_up(together, first.grid), first.grid, any(sketch.weighted for sketch in sketches))


def _check_same(what: str, one: object, other: object) -> None:
    if one != other:
        raise SketchError(f"sketches of different {what} cannot be added up: {one} and {other}")


@with_options(DecisionOptions)
def sketch(
    frame: pl.LazyFrame | pl.DataFrame,
    score: IntoExpr,
    label: IntoExpr,
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    resolution: int = 64,
    thresholds: Sequence[float | CostMatrix] = (),
    exact: bool = False,
    **options: Unpack[DecisionOptions],
) -> Sketch:
    """The log reduced to cells of equal log-odds, by one pass of the streaming engine.

    Parameters
    ----------
    frame
        The log, a LazyFrame or a DataFrame.
    score, label
        Column name or expression: one binary score a row.
    by
        Names and expressions of the groups.
    resolution
        Bins to the nat of log-odds (to the factor e of |score| for raw scores); memory and bounds go with it. Beyond 64
        nats bins are open-ended; posteriors 0 and 1 and infinite log-odds have bins of their own.
    thresholds
        Operating points that must be exact: numbers on the scale of the score, or `CostMatrix` objects, whose Bayes
        threshold is meant. The one that the options describe (threshold, or the Bayes threshold of the costs: 0.5 without
        any) is declared in any case.
    exact
        Keep every distinct score instead of bins: nothing is approximate, and memory grows with the distinct scores.
    **options
        See `DecisionOptions`. `score_type` is "posterior", "log_odds", "llr" (losses are at even prior), or here also
        "raw": any real score, on a grid that is equal in ln|score|, hence free of scale.

    Returns
    -------
    A `Sketch`.

    Raises
    ------
    ValueError, TypeError
        As for the metrics; a resolution below 1; other score types.

    References
    ----------
    Ferrer, "The expected cost", section 2.1, for what decisions are functions of.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.ec.sketch("p", "y").frame.select("class", "bin", "above", "n").rows()
    [(0, -141, 0, 1), (0, 54, 1, 1), (1, -26, 0, 1), (1, 140, 1, 1)]
    """
    score_type, stated_resolution = _checked_grid(options.get("score_type", "posterior"), resolution, exact=exact)
    # A sketch reads LLRs and raw scores as they are: no prior turns them into anything.
    reading: ScoreType = "posterior" if score_type == "posterior" else "log_odds"
    settings = parse_options({**options, "score_type": reading})
    lazy = frame.lazy()
    keys = expand(lazy, by, "by")
    rows = _resolve_binary(
        lazy, as_expr(score, "score"), as_expr(label, "label"), replace(settings, prior=parse_options({}).prior)
    )
    declared = [*_own_threshold(score_type, options), *thresholds]
    grid = Grid(score_type, stated_resolution, _sorted_thresholds(declared, score_type, options.get("prior")))
    key_names = [key.meta.output_name() for key in keys]
    clash = sorted(set(key_names) & set(_own_columns(grid)))
    if clash:
        raise ValueError(f"by= has a column {clash[0]!r}, which a sketch has too: rename it with .alias()")
    cells = _sum_cells(lazy, keys, rows, grid).collect(engine="streaming")
    return Sketch(_complete(cells, key_names, grid, rows.weight is not None), grid, rows.weight is not None)


def _sum_cells(frame: pl.LazyFrame, keys: list[pl.Expr], rows: Rows, grid: Grid) -> pl.LazyFrame:
    """The pass over the log: a select to a step, because the engine shares columns, and not what expressions repeat."""
    assert isinstance(rows.scores, BinaryScores)
    names = [key.meta.output_name() for key in keys]
    read = {
        _SCORE: pl.when(rows.usable).then(rows.scores.score),
        _INDEX: pl.when(rows.usable).then(class_index(rows.labels)).when(rows.present).then(-1).cast(pl.Int8),
    }
    score, index = pl.col(_SCORE), pl.col(_INDEX)
    weight = None
    if rows.weight is not None:
        read[_WEIGHT] = pl.when(rows.usable).then(rows.weight)
        weight = pl.col(_WEIGHT)
    usable = replace(
        rows,
        scores=replace(rows.scores, score=score),
        labels=replace(rows.labels, in_class=[index == 0, index == 1]),
        weight=weight,
    )
    made = frame.select(*keys, **read)
    cell = {"class": index, "score": score}
    if grid.resolution is not None:
        made = made.with_columns(grid.position(score).alias(_POSITION))
        cell = {_PACKED: grid.packed(index, score, pl.col(_POSITION))}
    values = _losses(usable) if grid.score_type != "raw" else {}
    if weight is not None:
        values |= {"weight": weight, "weight2": weight * weight}
    made = made.select(*names, **cell, **values)
    return made.group_by(*names, *cell).agg(
        pl.len().cast(pl.Int64).alias("n"), *(pl.col(name).sum() for name in values)
    )


def _losses(rows: Rows) -> dict[str, pl.Expr]:
    assert isinstance(rows.scores, BinaryScores)
    values = dict(
        zip(_LOSSES, [rows.scores.log_odds, rows.scores.posteriors[1], rows.log_loss, rows.brier], strict=True)
    )
    return {name: rows.weighted(value) for name, value in values.items()}


def _complete(cells: pl.DataFrame, keys: list[str], grid: Grid, weighted: bool) -> pl.DataFrame:
    cells = cells.sort(*keys, *(["class", "score"] if grid.resolution is None else [_PACKED]), nulls_last=True)
    if grid.resolution is not None:
        cells = cells.with_columns(**grid.unpacked(pl.col(_PACKED)))
    if not weighted:
        amount = pl.when(pl.col("class") >= 0).then(pl.col("n")).otherwise(0).cast(pl.Float64)
        cells = cells.with_columns(weight=amount, weight2=amount)
    return cells.select(*keys, *_own_columns(grid))


def _resolve_binary(frame: pl.LazyFrame, score: pl.Expr, label: pl.Expr, settings: Any) -> Rows:
    columns = [score, label, *([] if settings.weight is None else [settings.weight])]
    dtypes = frame.select(c.alias(str(i)) for i, c in enumerate(columns)).collect_schema().dtypes()
    rows = resolve(list(zip(columns, dtypes, strict=True)), replace(settings, stated_costs=None))
    if not isinstance(rows.scores, BinaryScores):
        raise TypeError(
            f"a sketch is of one number a row, and {score.meta.output_name()!r} is {dtypes[0]}: sketch the posterior of a "
            "class against the rest"
        )
    return rows


def _checked_grid(score_type: str, resolution: int, *, exact: bool) -> tuple[SketchScoreType, int | None]:
    if score_type not in SKETCH_SCORE_TYPES:
        raise ValueError(f"score_type={score_type!r} cannot be sketched: pass one of {', '.join(SKETCH_SCORE_TYPES)}")
    if isinstance(resolution, bool) or not isinstance(resolution, int) or not 1 <= resolution <= 4096:
        raise ValueError(f"resolution={resolution!r} is no whole number of bins to the nat from 1 to 4096")
    checked = get_args(SketchScoreType)[SKETCH_SCORE_TYPES.index(score_type)]
    return checked, None if exact else resolution


def _own_threshold(score_type: SketchScoreType, options: DecisionOptions) -> list[float | CostMatrix]:
    """The operating point that the usual keywords describe, if they do."""
    threshold = options.get("threshold")
    if threshold is not None:
        return [threshold]
    if score_type == "raw" or (score_type == "llr" and options.get("prior") is None):
        return []
    costs = options.get("costs")
    if costs is not None:
        return [costs if isinstance(costs, CostMatrix) else CostMatrix(costs)]
    cost_fn, cost_fp = options.get("cost_fn", 1.0), options.get("cost_fp", 1.0)
    return [] if 0 in (cost_fn, cost_fp) else [CostMatrix.binary(cost_fn, cost_fp)]


def _sorted_thresholds(
    thresholds: Sequence[float | CostMatrix], score_type: SketchScoreType = "posterior", prior: Any = None
) -> tuple[float, ...]:
    if isinstance(thresholds, str | CostMatrix):
        raise TypeError(f"thresholds={thresholds!r} is not a sequence: pass a list")
    numbers = {
        bayes_threshold(t, score_type, prior) if isinstance(t, CostMatrix) else parse_number(t, "thresholds")
        for t in thresholds
    }
    return tuple(sorted(numbers))
