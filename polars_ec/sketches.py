"""The sketch: a log reduced by one pass to a small table of cells, from which every threshold and curve follows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from polars_ec.cells import curves
from polars_ec.cells.checks import dtype_of, fault_in_cells, fault_in_types, has_doubles
from polars_ec.cells.evaluate import bayes_threshold, check_keys, evaluate, two_by_two
from polars_ec.cells.grid import (
    Grid,
    SketchScoreType,
    checked_resolution,
    checked_score_type,
    sorted_thresholds,
)
from polars_ec.cells.make import NAMES, TARGET, cells, is_one_vs_rest
from polars_ec.cells.parquet import SCHEMA_VERSION, first_line, read_described, write_described
from polars_ec.class_names import UNKNOWN, ClassNames
from polars_ec.costs import CostMatrix, Costs
from polars_ec.exceptions import SketchError
from polars_ec.options import DecisionOptions, parse_number, parse_options
from polars_ec.reports import expand, resolve_columns
from polars_ec.rows.folds import fold_of
from polars_ec.rows.labels import class_index
from polars_ec.rows.scores import VECTOR_TYPES, BinaryScores
from polars_ec.signatures import with_options
from polars_ec.typing import IntoExpr, Reduction, Rule

if TYPE_CHECKING:
    import pyarrow as pa  # type: ignore[import-untyped]
    from typing_extensions import Unpack

    from polars_ec.calibration.fit import Calibration, Calibrator
    from polars_ec.options import Options

_MOST_ROWS = 2**63 - 1
_COSTS = ("costs", "cost_fn", "cost_fp")


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
    costs, threshold
        The operating point that it was made for, which its methods take where they are told no other: 2 x 2 costs, and the
        threshold, None for the Bayes threshold of the costs.
    """

    frame: pl.DataFrame
    grid: Grid
    weighted: bool = False
    costs: CostMatrix = field(default_factory=CostMatrix.binary)
    threshold: float | None = None

    def __post_init__(self) -> None:
        _check_rows(self.frame)

    @property
    def keys(self) -> list[str]:
        """Names of the group columns."""
        return [name for name in self.frame.columns if name not in self.grid.columns]

    def at_own_costs(self, keywords: Mapping[str, Any]) -> tuple[dict[str, Any], float | None]:
        """The keywords, with the costs that the sketch was made for where they name none; and then its threshold, if any."""
        stated = {name: value for name, value in keywords.items() if value is not None or name not in _COSTS}
        if not stated.keys() & {*_COSTS}:
            return {**stated, "costs": self.costs}, self.threshold
        (right_0, alarm), (miss, right_1) = self.costs.values
        if "costs" not in stated and right_0 == right_1 == 0:
            return {"cost_fn": miss, "cost_fp": alarm, **stated}, None
        if isinstance(stated.get("costs"), CostMatrix):
            stated["costs"] = stated["costs"].for_classes(self.grid.classes)
        return stated, None

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
        own = list(self.grid.columns)
        check_keys([key.meta.output_name() for key in keys], own)
        return replace(self, frame=add_up(self.frame.select(*keys, *own), self.grid))

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
        thresholds (on the scale of the score), and in an exact sketch; with norm=2 there is no value elsewhere. Of LLRs scoring
        rules need `prior`, which makes posteriors of them, and come with `NAME_error`: a cell knows the mean of its LLRs only.

        Parameters
        ----------
        *metrics
            Names; default: the battery of `report` and `auc_roc`.
        **keywords
            `costs`, `cost_fn`, `cost_fp`, `threshold` (default: those that the sketch was made for), `prior` (number,
            sequence, "uniform", or an expression over a table with a row per group: the keys, `n` and `class_prior`); `beta`
            of fbeta, `p_t` of net_benefit, `sensitivity` of specificity_at_sensitivity, `method` of eer ("hull" or
            "linear"), `bins` and `norm` of ece.

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
        stated, threshold = self.at_own_costs(keywords)
        return evaluate(self.frame, self.keys, self.grid, self.weighted, metrics, stated, own_threshold=threshold)

    def roc(self) -> pl.DataFrame:
        """The ROC curve: see `polars_ec.cells.curves.roc`."""
        return curves.roc(self)

    def roc_hull(self) -> pl.DataFrame:
        """The convex hull of the ROC curve: see `polars_ec.cells.curves.roc_hull`."""
        return curves.roc_hull(self)

    def det(self) -> pl.DataFrame:
        """The DET curve: see `polars_ec.cells.curves.det`."""
        return curves.det(self)

    def pr(self, *, prior: Any = None) -> pl.DataFrame:
        """The precision-recall curve: see `polars_ec.cells.curves.pr`."""
        return curves.pr(self, prior=prior)

    def prg(self, *, prior: Any = None) -> pl.DataFrame:
        """The precision-recall-gain curve: see `polars_ec.cells.curves.prg`."""
        return curves.prg(self, prior=prior)

    def cost_curve(self, *metrics: str, **keywords: Any) -> pl.DataFrame:
        """Metrics of decisions over the threshold: see `polars_ec.cells.curves.cost_curve`."""
        return curves.cost_curve(self, *metrics, **keywords)

    def bayes_error(self, prior_log_odds: Sequence[float]) -> pl.DataFrame:
        """Actual and minimum DCF over the prior: see `polars_ec.cells.curves.bayes_error`."""
        return curves.bayes_error(self, prior_log_odds)

    def bayes_risk(self) -> pl.DataFrame:
        """Risk over operating points, whose integral is the cross-entropy: see `polars_ec.cells.curves.bayes_risk`."""
        return curves.bayes_risk(self)

    def reliability(self, *, resolution: int = 2, calibrator: Calibrator | None = None) -> pl.DataFrame:
        """Mean posterior, share of positives and calibration curve per bin: see `polars_ec.cells.curves.reliability`."""
        return curves.reliability(self, resolution=resolution, calibrator=calibrator)

    def best_threshold(self, metric: str, **keywords: Any) -> pl.DataFrame:
        """The threshold of the best value of a metric, per group: see `polars_ec.cells.curves.best_threshold`."""
        return curves.best_threshold(self, metric, **keywords)

    def calibrate(
        self, calibrator: Calibrator = "affine", *, prior: Any = None, bins: int = 15, equal_mass: bool = False
    ) -> Calibration:
        """The transform of scores into calibrated posteriors, fitted for every group: see `polars_ec.calibration.fit.calibrate`."""
        from polars_ec.calibration.fit import calibrate

        return calibrate(self, calibrator, prior=prior, bins=bins, equal_mass=equal_mass)

    def calibration_loss(
        self,
        rule: Rule = "cross_entropy",
        *,
        calibrator: Calibrator = "affine",
        training: Literal["cv", "test"] | Calibration = "cv",
        prior: Any = None,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        bins: int = 15,
        equal_mass: bool = False,
    ) -> pl.DataFrame:
        """What calibration would take off a loss, per group: the loss of the scores as they are, minus that after calibration.

        Higher means worse calibrated scores; about 0 for calibrated ones, and below it where the calibrator has learnt
        what does not hold for other rows. CalLoss = EPSR raw - EPSR calibrated; RCL = 100 CalLoss / EPSR raw.

        Parameters
        ----------
        rule
            "cross_entropy", "brier", or "bayes_risk", the expected cost of Bayes decisions for the costs.
        calibrator, bins, equal_mass
            As for `calibrate`.
        training
            What the calibrator is fitted on. "cv": for each fold the rows of the other folds; the losses of all folds'
            rows are added up. "test": the very rows. A `Calibration`: that one, made of another log; it may have fewer
            group columns than the sketch.
        prior
            See `Prior`; as for `evaluate`: of the loss and of what calibrators are fitted to. Default: the group's own.
        costs, cost_fn, cost_fp
            Of "bayes_risk", two by two; default: those that the sketch was made for.

        Returns
        -------
        One row per group: the group columns without `fold`, `n`, `class_prior`, `raw` (exact), `calibrated`, `cal_loss`,
        `rcl` in percent (null where `raw` is 0) and `reason`: why there is no calibrated loss (as `calibrate` says it, or
        "not calibrated": `training` has no such group), or "reversed". Rows of a cell get the calibrated posterior of
        their mean log-odds, or the step of the lowest score in it. So all is exact in an exact sketch; else the mean loss of the same calibrator is off by at most
        (alpha / resolution)^2 / 32, unless there are finite log-odds beyond 64, and the risk by at most the cost of the
        rows in the one cell that a threshold cuts, for each calibrator that was used.

        Raises
        ------
        ValueError
            Another rule or training; a sketch without the folds that "cv" needs; raw scores, and LLRs except for
            "bayes_risk" with a prior; costs whose threshold on the scores as they are is not declared; a group column with the
            name of a column of the result.

        References
        ----------
        Ferrer and Ramos, "Evaluating posterior probabilities", section 2.5.3, Eqs. 30 to 33.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"p": [0.99, 0.9, 0.01, 0.99, 0.1, 0.01], "y": [1, 1, 1, 0, 0, 0]})
        >>> sketch = log.ec.sketch("p", "y", exact=True)
        >>> sketch.calibration_loss(training="test").select(pl.col("raw", "calibrated", "rcl").round(3)).rows()
        [(1.574, 0.676, 57.044)]
        """
        from polars_ec.calibration.loss import calibration_loss

        keywords = {"prior": prior, "costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp}
        keywords, _ = self.at_own_costs(keywords)
        histogram = {"bins": bins, "equal_mass": equal_mass}
        return calibration_loss(self, rule, calibrator, training, histogram, keywords)

    def write_parquet(self, path: str | Path | IO[bytes], *, metadata: Mapping[str, str] | None = None) -> None:
        """Save the cells; and what they mean, a checksum of all this and any further `metadata` in the file's metadata."""
        write_described(self.frame, path, "sketch", self._description(), metadata)

    def _description(self) -> dict[str, Any]:
        return {
            "schema_version": SCHEMA_VERSION,
            "score_type": self.grid.score_type,
            "resolution": self.grid.resolution,
            "thresholds": [repr(threshold) for threshold in self.grid.thresholds],
            "weighted": self.weighted,
            "costs": self.costs.values,
            "threshold": None if self.threshold is None else repr(self.threshold),
            "classes": self.grid.classes.in_metadata(),
            "keys": self.keys,
        }

    @classmethod
    def read_parquet(cls, path: str | Path) -> Sketch:
        """The sketch in a file that `write_parquet` made.

        SketchError for any other file, and for one that is damaged: its values are not those that were written, or none
        that cells can have; the message says what is wrong. Files of the time before checksums are read without.
        """
        frame, about = read_described(path, "sketch")
        # Files of the first version know no names of classes, and no costs: they were always evaluated at even ones.
        try:
            grid = Grid(
                checked_score_type(about["score_type"]),
                None if about["resolution"] is None else checked_resolution(about["resolution"]),
                sorted_thresholds(map(_float, _listed(about, "thresholds"))),
                ClassNames.of_metadata(about["classes"]) if "classes" in about else UNKNOWN,
            )
            costs = CostMatrix(about["costs"]) if "costs" in about else CostMatrix.binary()
            sizes = {len(grid.classes.values), costs.n_classes, costs.n_decisions}
            if sizes != {2}:
                raise ValueError(f"what decides between two: its classes and costs are of {sorted(sizes)}")
            stated = about.get("threshold")
            threshold = None if stated is None else parse_number(_float(stated), "threshold")
            keys, weighted = _listed(about, "keys"), about["weighted"]
            if not isinstance(weighted, bool):
                raise TypeError(f"weighted: {weighted!r}")
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise SketchError(f"{path} is a damaged sketch: its metadata lack or garble {first_line(error)}") from None
        expected = [*keys, *grid.columns]
        if frame.columns != expected:
            raise SketchError(f"{path} is a damaged sketch: its columns are {frame.columns}, not {expected}")
        fault = fault_in_types(frame, grid) or fault_in_cells(frame, grid, weighted)
        if fault is None and has_doubles(frame, keys, grid):
            fault = "a cell that is there twice"
        if fault is not None:
            raise SketchError(f"{path} is a damaged sketch: it has {fault}")
        return cls(frame, grid, weighted, costs, threshold)

    @classmethod
    def from_arrow(
        cls,
        table: pa.Table | pl.DataFrame,
        *,
        score_type: SketchScoreType = "posterior",
        resolution: int = 64,
        thresholds: Sequence[float] = (),
        weighted: bool = False,
        costs: Costs | None = None,
        cost_fn: float = 1.0,
        cost_fp: float = 1.0,
        threshold: float | None = None,
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
        costs, cost_fn, cost_fp, threshold
            The operating point that methods take where they are told no other. It is exact where it is among the thresholds.

        Raises
        ------
        SketchError
            Columns that are not there or not numbers, and values that no cell can have: another class than 0, 1, -1 and
            null, rows that are null or negative, a bin off the grid, sums that are null, NaN or out of range. A cell in
            several rows is no fault: they are added up.
        """
        stated = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "threshold": threshold}
        grid = Grid(checked_score_type(score_type), checked_resolution(resolution), sorted_thresholds(thresholds))
        made = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
        own = list(grid.columns)
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
        try:
            typed = made.select(*keys, *(pl.col(name).cast(dtype_of(name)) for name in own))
        except pl.exceptions.PolarsError as error:
            raise SketchError(f"the table has no numbers where a sketch has some: {first_line(error)}") from None
        whole = _with_infinite_sums(typed, grid)
        fault = fault_in_cells(whole, grid, weighted)
        if fault is not None:
            hint = ": pass weighted=True if it was made with weights" if "without weights" in fault else ""
            raise SketchError(f"the table is not a sketch of {score_type} scores: it has {fault}{hint}")
        return cls(add_up(whole, grid), grid, weighted, *_operating_point(stated, grid.classes))


def _listed(about: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(about[name], list):
        raise TypeError(f"{name}: {about[name]!r}")
    return list(about[name])


def _float(number: Any) -> float:
    """Of the text that metadata have for it, or of a number; float() takes Booleans too."""
    if isinstance(number, bool):
        raise TypeError(f"a number: {number!r}")
    return float(number)


def add_up(frame: pl.DataFrame, grid: Grid) -> pl.DataFrame:
    """One row per group and cell, sorted."""
    own = grid.columns
    cell = ["class", *grid.cell_columns]
    keys = [name for name in frame.columns if name not in own]
    _check_rows(frame)
    sums = [pl.col(name).sum() for name in own if name not in cell]
    summed = frame.lazy().group_by(*keys, *cell).agg(sums).select(*keys, *own)
    return summed.sort(*keys, *cell, nulls_last=True).collect(engine="streaming")


def _check_rows(frame: pl.DataFrame) -> None:
    """Sums of integers wrap silently: no result may count more rows than an integer of 64 bits holds."""
    rows = frame["n"].cast(pl.Int128).sum()
    if rows > _MOST_ROWS:
        raise SketchError(f"the cells count {rows} rows, more than the {_MOST_ROWS} that a 64-bit integer holds")


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
        At least one; made with the same group columns, score type, resolution, thresholds and costs.

    Returns
    -------
    A Sketch.

    Raises
    ------
    SketchError
        They differ; the message names in what. More rows than a 64-bit integer holds.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> day = pl.DataFrame({"p": [0.9, 0.2], "y": [True, False]}).ec.sketch("p", "y")
    >>> ec.merge([day, day]).frame["n"].sum()
    4
    """
    if isinstance(sketches, Sketch):
        raise TypeError("merge() takes a list of sketches, and this is one")
    if not sketches:
        raise SketchError("merge() needs at least one sketch")
    first, *others = sketches
    for other in others:
        _check_same("score_type", first.grid.score_type, other.grid.score_type)
        _check_same("resolution", first.grid.resolution, other.grid.resolution)
        _check_same("thresholds", first.grid.thresholds, other.grid.thresholds)
        if not first.grid.classes.goes_with(other.grid.classes):
            _check_same("classes", list(first.grid.classes.values), list(other.grid.classes.values))
        _check_same("costs", first.costs.values, other.costs.values)
        _check_same("threshold", first.threshold, other.threshold)
        _check_same("group columns", first.keys, other.keys)
        schema, other_schema = first.frame.select(first.keys).schema, other.frame.select(first.keys).schema
        _check_same("types of the group columns", dict(schema), dict(other_schema))
    together = pl.concat([sketch.frame for sketch in sketches])
    # Whoever named the classes named them for all.
    named = [s.grid for s in sketches if s.grid.classes.known and s.grid.classes != UNKNOWN]
    grid = (named or [first.grid])[0]
    return replace(first, frame=add_up(together, grid), grid=grid, weighted=any(s.weighted for s in sketches))


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
    reduction: Reduction = "one_vs_rest",
    folds: int | None = None,
    fold_by: IntoExpr | None = None,
    stratified: bool = False,
    **options: Unpack[DecisionOptions],
) -> Sketch:
    """The log reduced to cells of equal log-odds, by one pass of the streaming engine.

    Parameters
    ----------
    frame
        The log, a LazyFrame or a DataFrame.
    score, label
        Column name or expression. One score a row, of two classes; or a vector of K a row, which `reduction` makes binary.
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
    reduction
        What a vector of K scores becomes. "one_vs_rest": K sketches in one, by a last group column `target`: the posterior
        of the class against all others. "top_label": the largest posterior, and whether its class (the first, on ties) is
        the true one; two classes can be asked so too. The costs are then of the binary problem.
    folds, fold_by
        Adds a group column `fold`, the `polars_ec.fold` of the key `fold_by`, for cross-validation: a key of the row, or of
        what correlated rows share.
    stratified
        Folds that share the keys of each class of each group out evenly. A key has one fold in each class then, and the
        rows are ranked in memory: this does not stream.
    prior
        Class priors, only for LLRs (where they decide) and log-likelihoods: the positive class's, or one per class (a
        sequence in class order, or a mapping from class), "uniform", or an expression.
    score_type
        What the scores are: "posterior" or "log_odds" of the positive class, "llr" (losses are at even prior), or here also
        "raw", any real score, on a grid that is equal in ln|score|, hence free of scale. A vector of K a row:
        "posteriors", "log_posteriors" or "log_likelihoods", which become posteriors. Default "posterior".

    Returns
    -------
    A `Sketch`.

    Raises
    ------
    ValueError, TypeError
        A resolution below 1; a prior that no decision needs.

    References
    ----------
    Ferrer, "The expected cost", section 2.1, for what decisions are functions of.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.ec.sketch("p", "y").frame.select("class", "bin", "above", "n").rows()
    [(0, -141, 0, 1), (0, 54, 1, 1), (1, -26, 0, 1), (1, 140, 1, 1)]
    >>> three = pl.DataFrame(
    ...     {"p": [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], "y": ["a", "b", "c", "b"]},
    ...     schema_overrides={"p": pl.Array(pl.Float64, 3)},
    ... )
    >>> three.ec.sketch("p", "y", classes=["a", "b", "c"]).evaluate("auc_roc").select("target", "auc_roc").rows()
    [('a', 1.0), ('b', 1.0), ('c', 1.0)]
    >>> three.ec.sketch("p", "y", classes=["a", "b", "c"], reduction="top_label").evaluate()["class_prior"].item()
    0.75
    """
    if reduction not in get_args(Reduction):
        raise ValueError(f"reduction={reduction!r} is none of {', '.join(get_args(Reduction))}")
    score_type: Any = options.get("score_type", "posterior")
    kind = "posterior" if score_type in VECTOR_TYPES else checked_score_type(score_type)
    if options.get("prior") is not None and score_type not in ("llr", "log_likelihoods"):
        raise ValueError(
            f"prior={options['prior']!r} says where LLRs and log-likelihoods decide, and score_type={score_type!r} needs none: "
            "pass prior= to evaluate()"
        )
    stated_resolution = checked_resolution(resolution)
    lazy = frame.lazy()
    rows = resolve_columns(lazy, score, label, _reading(options, score_type))
    keys = expand(lazy, by, "by")
    if isinstance(thresholds, str | CostMatrix) or not hasattr(thresholds, "__iter__"):
        raise TypeError(f"thresholds={thresholds!r} is not a sequence: pass a list")
    # What a vector becomes has other classes than the log, which have no names.
    names = rows.labels.names if isinstance(rows.scores, BinaryScores) and reduction != "top_label" else UNKNOWN
    costs, threshold = _operating_point(options, names)
    declared = [
        t.for_classes(names) if isinstance(t, CostMatrix) else t
        for t in [*_own_threshold(kind, options, costs, threshold), *thresholds]
    ]
    numbers = [
        bayes_threshold(t, kind, options.get("prior"), names) if isinstance(t, CostMatrix) else t for t in declared
    ]
    grid = Grid(kind, None if exact else stated_resolution, sorted_thresholds(numbers), names)
    key_names = [key.meta.output_name() for key in keys]
    fold = fold_of(folds, fold_by, [*keys, class_index(rows.labels)] if stratified else [])
    if fold is not None:
        if "fold" in key_names:
            raise ValueError("by= has a column 'fold', which folds= adds: rename it with .alias()")
        keys = [*keys, fold]
    own = {*grid.columns, *NAMES, *([TARGET] if is_one_vs_rest(rows, reduction) else [])}
    clash = sorted(set(key_names) & own)
    if clash:
        raise ValueError(f"by= has a column {clash[0]!r}, which a sketch has too: rename it with .alias()")
    made = cells(lazy, keys, rows, grid, reduction)
    return Sketch(made, grid, rows.weight is not None, costs, threshold)


def _reading(options: DecisionOptions, score_type: Any) -> Options:
    """How rows are read: no decision is taken, and no prior turns LLRs and raw scores into anything."""
    reading = score_type if score_type == "posterior" or score_type in VECTOR_TYPES else "log_odds"
    checked = parse_options({**options, "score_type": reading})
    prior = checked.prior if score_type == "log_likelihoods" else parse_options({}).prior
    return replace(checked, prior=prior, stated_costs=None, cost_fn=1.0, cost_fp=1.0, threshold=None)


def _operating_point(options: Mapping[str, Any], classes: ClassNames) -> tuple[CostMatrix, float | None]:
    """The costs, and the threshold if one is stated."""
    stated = parse_options({name: options[name] for name in (*_COSTS, "threshold") if name in options})
    return two_by_two(stated).for_classes(classes), stated.threshold


def _own_threshold(
    score_type: SketchScoreType, options: DecisionOptions, costs: CostMatrix, threshold: float | None
) -> list[float | CostMatrix]:
    """The operating point that the usual keywords describe, if they do."""
    if threshold is not None:
        return [threshold]
    if score_type == "raw" or (score_type == "llr" and options.get("prior") is None):
        return []
    # An error that costs nothing has its threshold where all scores end, which need not be declared.
    return [] if 0 in costs.margins() else [costs]
