"""The sketch: a log reduced by one pass to a small table of cells, from which every threshold and curve follows; and how to make one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Unpack

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.costs import CostMatrix, Costs
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import parse_interval, parse_min_rows
from polars_ec.arguments.options import SketchOptions
from polars_ec.arguments.signatures import checked_keywords, with_options
from polars_ec.calibration.calibration import Calibration, Calibrator
from polars_ec.calibration.cells import calibrate
from polars_ec.calibration.reliability import reliability
from polars_ec.exceptions import SketchError
from polars_ec.scores.folds import BUCKETS
from polars_ec.sketches import operating_points, weighted_risk
from polars_ec.sketches.arguments import OperatingPoint
from polars_ec.sketches.cells import Cells, add_cells, check_keys, without_clusters
from polars_ec.sketches.files import cells_of_table, read_cells, write_cells
from polars_ec.sketches.grid import SketchScoreType
from polars_ec.sketches.log_pass import ClusterKey, FoldKey, make_cells
from polars_ec.sketches.operating_points import (
    DecidingCells,
    EvaluationKeywords,
    cost_of_sensitivity,
    cost_of_threshold,
)
from polars_ec.typing import EerMethod, FrameLike, IntervalMethod, IntoExpr, Reduction, Rule

if TYPE_CHECKING:
    import pyarrow as pa

    from polars_ec.plot import SketchPlots
    from polars_ec.sketches.windows import Rolling


class _WindowKeywords(EvaluationKeywords, total=False):
    """The keywords of `Sketch.evaluate`."""

    interval: float | None
    replicates: int
    seed: int


def _point(*values: Any) -> dict[str, Any]:
    """The keywords of `drift` that say where to decide, of their values in the order of its signature."""
    return dict(zip(("costs", "cost_fn", "cost_fp", "threshold", "prior", "beta", "p_t"), values, strict=True))


@dataclass(frozen=True, repr=False)
class Sketch(DecidingCells):
    """A log as cells: rows counted per group, class and bin of the score; and losses summed per group and class.

    Make one with `sketch` (or `lf.ec.sketch`), `read_parquet`, `from_arrow` or `merge`. Everything that needs the order of
    the scores follows from it, within bounds that it knows; sums such as cross-entropy are exact. It is plain data.

    Attributes
    ----------
    frame
        The cells: the group columns; `class` (0 or 1, -1 for wrong rows, null for missing ones); `bin` and `above` (how
        many declared thresholds the score is above), or `score_value` in an exact sketch; `n` rows; and if rows have weights
        their sum, `weight`, and that of their squares, `weight2`.
    grid
        How scores became cells: `score_type`, `resolution` (None: exact), `thresholds`.
    weighted
        Whether the rows had weights.
    sums
        Beside the cells, a row per group, `class` (0 or 1) and `above`: `log_loss`, `brier` and `posterior`, sums over the rows of
        weight times the row's value. None in an exact sketch, whose cells say as much, and for raw scores.
    coarse
        Of a sketch with clusters, for variances: the usable rows once more, also by `bucket` of their cluster (null: none), at
        a `resolution` of at most 8, which an exact sketch has here too. The columns are those of `frame`, with `bin` and `above`.
    buckets, cluster, hash
        How many buckets, the name of the key of the clusters, and of the hash that dealt them out; None without clusters.
    costs, threshold
        The operating point that it was made for, which its methods take where they are told no other: 2 x 2 costs, and the
        threshold, None for the Bayes threshold of the costs.
    """

    def __add__(self, other: Sketch) -> Sketch:
        """The sketch of both logs together."""
        return merge([self, other])

    # A sketch is cells: these are the functions themselves, with their documentation.
    roc = operating_points.roc
    roc_hull = operating_points.roc_hull
    det = operating_points.det
    pr = operating_points.pr
    prg = operating_points.prg
    tippett = operating_points.tippett
    bayes_error = operating_points.bayes_error
    bayes_risk = operating_points.bayes_risk
    epsr = weighted_risk.epsr
    reliability = reliability
    calibrate = calibrate

    @property
    def plot(self) -> SketchPlots:
        """Charts of its curves: `sketch.plot.roc()` is `ec.plot.roc(sketch)`. They need the extra `plot`."""
        # Imported here, for most sketches are never drawn.
        from polars_ec.plot import SketchPlots

        return SketchPlots(self)

    def calibration_loss(
        self,
        rule: Rule = "cross_entropy",
        *,
        calibrator: Calibrator = "affine",
        training: Literal["cv", "test"] | Calibration = "cv",
        prior: Prior = None,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        bins: int = 15,
        equal_mass: bool = False,
        interval: float | None = None,
        method: IntervalMethod = "influence",
        replicates: int = 1000,
        seed: int = 0,
    ) -> pl.DataFrame:
        """What calibration would take off a loss, per group: the loss of the scores as they are, minus that after calibration.

        Higher means worse calibrated scores; about 0 for calibrated ones, and below it where the calibrator is
        overfitted. CalLoss = EPSR raw - EPSR calibrated; RCL = 100 CalLoss / EPSR raw.

        Parameters
        ----------
        rule
            "cross_entropy", "brier", or "bayes_risk", the expected cost of Bayes decisions for the costs. Of LLRs
            "bayes_risk", with a prior; or "cllr", without: then `calibrated` is of calibrated LLRs, with "pav" and "test" `min_cllr`.
        calibrator, bins, equal_mass
            As for `calibrate`.
        training
            What the calibrator is fitted on. "cv": for each fold the rows of the other folds; the losses of all folds'
            rows are added up. "test": the very rows. A `Calibration`: that one, made of another log; it may have fewer
            group columns than the sketch, and for "cllr" has a stated number as its prior.
        prior
            As for `evaluate`: of the loss and of what calibrators are fitted to. Default: the group's own.
        costs, cost_fn, cost_fp
            Of "bayes_risk", two by two; default: those that the sketch was made for.
        interval, method, replicates, seed
            As for `evaluate`. "influence" is here the jackknife: everything is computed anew, calibrators are fitted anew, without each
            of 20 parts of the rows in turn. These are the buckets of their clusters, of `sketch(cluster=)`; independent rows are
            dealt out at random, by the seed. "bootstrap" are percentiles of the losses of rows, or clusters, drawn anew, with
            calibrators fitted to each; rows keep their fold, so that none is on both sides of a fit; 100 replicates say about how far
            it reaches. There is no "bca". A `Calibration` in `training` stays as it is. There are no limits of cross-entropy and
            Cllr in groups with finite log-odds beyond 64 on the wrong side.

        Returns
        -------
        One row per group: the group columns without `fold`, `n`, `class_prior`, `raw` (exact), `calibrated`, `cal_loss`,
        `rcl` in percent (null where `raw` is 0), each with `NAME_ci_low` and `NAME_ci_high` where `interval` is given, and `reason`: why there is no calibrated loss (as `calibrate` says it, or
        "not calibrated": `training` has no such group), or "reversed". Rows of a cell get the calibrated posterior of
        the middle of their bin, or the step of the lowest score in it. So all is exact in an exact sketch; else the loss of the
        same affine calibrator is off by a factor of at most exp(alpha / (2 resolution)), Brier by the square of that, unless
        there are finite log-odds beyond 64, and the risk by at most the cost of the rows in the one bin that a threshold
        cuts, for each calibrator that was used.

        Raises
        ------
        ValueError
            Another rule or training; a sketch without the folds that "cv" needs; raw scores; LLRs but for "cllr", and
            "bayes_risk" with a prior; "cllr" with a prior, or of other scores; costs whose threshold on the scores as they
            are is not declared; a group column with the name of a column of the result.

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
        # Imported here, for it needs numpy.
        from polars_ec.calibration.cells import calibration_loss

        request = parse_interval({"interval": interval, "method": method, "replicates": replicates, "seed": seed})
        keywords = self._at_own_point({"prior": prior, "costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp})
        histogram = {"bins": bins, "equal_mass": equal_mass}
        return calibration_loss(self, rule, calibrator, training, histogram, keywords, request)

    @checked_keywords
    def compare(
        self,
        *metrics: str,
        reference: Any = None,
        interval: float = 0.95,
        min_rows: int | None = None,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
        sensitivity: float = 0.95,
        specificity: float = 0.95,
        method: EerMethod = "hull",
    ) -> pl.DataFrame:
        """The differences of models on the same rows, or of groups, each with its interval and p-value: `compare` without the rows.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`, but no counts and no `ece`. Default: the usual ones.
        reference
            As for `compare`. Models are those of the group column `score`; default the first of them in its order. They need a sketch
            with clusters, `sketch(cluster=)` with the key of what correlated rows share or of the row, for cells do not say which rows are
            the same; and the same rows for each.
        interval
            The level of the intervals, between 0 and 1.
        min_rows
            As for `compare`.
        costs, cost_fn, cost_fp, threshold, prior, beta, p_t, sensitivity, specificity, method
            As for `evaluate`. With `prior` values are at that prior alone. Decisions are at declared thresholds only.

        Returns
        -------
        As `compare`: one row per group, model and metric. Limits are of clusters where the sketch has some, else of independent rows.

        Raises
        ------
        SketchError, ValueError
            As `compare` and `evaluate`; a threshold that is not declared; losses of LLRs at a prior; models in a sketch without
            clusters, or that have other rows; fewer than 100 buckets.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame(
        ...     {"p": [0.9, 0.4, 0.7, 0.1, 0.6] * 8, "y": [1, 1, 0, 0, 1] * 8, "month": [4, 5] * 20}
        ... )
        >>> sketch = log.ec.sketch("p", "y", by="month")
        >>> sketch.compare("recall", reference=4).select("month", "reference", "metric", "value", "p_value").rows()
        [(5, '4', 'recall', 0.6666666666666666, 1.0)]
        """
        # Imported here, for it needs numpy.
        from polars_ec.comparisons.sketched import compare_cells

        request = parse_interval({"interval": interval})
        if request is None:
            raise ValueError("interval=None: a comparison always has intervals. Pass a level such as interval=0.95")
        stated = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "threshold": threshold, "prior": prior}
        others = {"beta": beta, "p_t": p_t, "sensitivity": sensitivity, "specificity": specificity, "method": method}
        keywords, own_threshold = self.operating_point.stands_in({**stated, **others}, self.grid.classes)
        return compare_cells(self, metrics, keywords, own_threshold, reference, request, parse_min_rows(min_rows))

    def write_parquet(self, path: str | Path | IO[bytes], *, metadata: Mapping[str, str] | None = None) -> None:
        """Save the cells; and what they mean, a checksum of all this and any further `metadata` in the file's metadata."""
        write_cells(self, self.operating_point, path, metadata)

    @classmethod
    def read_parquet(cls, path: str | Path) -> Sketch:
        """The sketch in a file that `write_parquet` made.

        SketchError for any other file, and for one that is damaged: its values are not those that were written, or none
        that cells can have; the message says what is wrong. So for files of a schema version below 3: sketch their logs again.
        """
        return sketch_of(*read_cells(path))

    @classmethod
    def from_arrow(
        cls,
        table: pa.Table | pl.DataFrame,
        *,
        score_type: SketchScoreType = "posterior",
        resolution: int = 64,
        thresholds: Sequence[float] = (),
        weighted: bool = False,
        cluster: str | None = None,
        buckets: int = BUCKETS,
        costs: Costs | None = None,
        cost_fn: float = 1.0,
        cost_fp: float = 1.0,
        threshold: float | None = None,
    ) -> Sketch:
        """The sketch that a warehouse made with `ec.sketch` or the text of `sketch_query`, as an Arrow table.

        Parameters
        ----------
        table
            The result: group columns, then the columns of `Sketch.frame`, `weight` and `weight2` in any case (without
            weights the number of rows), and unless scores are raw `log_loss`, `brier` and `posterior` of each cell; anything that Polars reads as a table.
        score_type, resolution, thresholds
            As the query was made with; the table cannot say.
        weighted
            Whether it was made with weights.
        cluster, buckets
            What the sketch calls the key of its clusters, and how many buckets these are in, if it was made with clusters. Which
            hash dealt them out the table says.
        costs, cost_fn, cost_fp, threshold
            The operating point that methods take where they are told no other. It is exact where it is among the thresholds.

        Raises
        ------
        SketchError
            Columns that are not there or not numbers, and values that no cell can have, such as a bin off the grid. A cell
            in several rows is not a fault: they are added up.
        """
        stated = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "threshold": threshold}
        cells = cells_of_table(table, score_type, resolution, thresholds, weighted, cluster, buckets)
        return sketch_of(cells, OperatingPoint.of(stated, cells.grid.classes))

    @checked_keywords
    def drift(
        self,
        *metrics: str,
        period: str,
        reference: Any = None,
        mix: str | Sequence[str] = (),
        interval: float = 0.95,
        min_rows: int | None = None,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
    ) -> pl.DataFrame:
        """Where the change of each metric between two periods comes from, with intervals: `drift` without the rows.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`, but no counts, no `ece` and no ranking metrics, which are not made of sums. Default: the usual ones.
        period
            The group column of periods.
        reference
            What each period is compared with: one of them, by its value, or "previous", the one before it in its group. Default:
            the earliest one of the sketch.
        mix
            Group columns whose values are strata, within which the shares of the classes and what their rows are like are told apart from the
            shares of the strata. All other group columns are those of the groups.
        interval, min_rows
            As for `compare`.
        costs, cost_fn, cost_fp, threshold, prior, beta, p_t
            As for `evaluate`. With `prior` values are at that prior alone, of which class shares are no part but through the mix; it is
            the same in periods that are compared. Decisions are at declared thresholds only.

        Returns
        -------
        As `drift`: one row per group, period, model and metric. Models are those of the group column `score`, and null where there is none.
        Values and parts are exact; limits are of clusters where the sketch has some, else of independent rows.

        Raises
        ------
        SketchError, ValueError
            As `drift` and `evaluate`; a threshold that is not declared; losses of LLRs at a prior; fewer than 100 buckets; a `period` or
            a column of `mix` that is no group column; a prior that moves from one period to another.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame(
        ...     {
        ...         "month": [4] * 40 + [9] * 40,
        ...         "p": [0.8, 0.2, 0.6, 0.1] * 10 + [0.9, 0.3, 0.2, 0.1] * 10,
        ...         "y": [1, 0, 0, 0] * 10 + [1, 0, 0, 1] * 10,
        ...     }
        ... )
        >>> parts = log.ec.sketch("p", "y", by="month").drift("error_rate", period="month")
        >>> parts.select("month", "reference", pl.col("difference", "prior", "likelihood").round(4)).rows()
        [(9, '4', 0.0, 0.0208, -0.0208)]
        """
        point = _point(costs, cost_fn, cost_fp, threshold, prior, beta, p_t)
        return self._drift(None, metrics, period, reference, mix, interval, min_rows, point)

    def _drift(
        self,
        rolling: Rolling | None,
        metrics: Sequence[str],
        period: str,
        reference: Any,
        mix: str | Sequence[str],
        interval: Any,
        min_rows: int | None,
        point: Mapping[str, Any],
    ) -> pl.DataFrame:
        """Drift of the periods, or of windows over them."""
        # Imported here, for it needs numpy.
        from polars_ec.comparisons.sketched_drift import SketchDriftRequest, drift_cells

        request = parse_interval({"interval": interval})
        if request is None:
            raise ValueError("interval=None: a drift always has intervals. Pass a level such as interval=0.95")
        keywords, own_threshold = self.operating_point.stands_in(point, self.grid.classes)
        strata = (mix,) if isinstance(mix, str) else tuple(mix)
        fewest = parse_min_rows(min_rows)
        question = SketchDriftRequest(metrics, keywords, own_threshold, period, reference, strata, request, fewest)
        return drift_cells(self, question, rolling)

    @checked_keywords
    def rolling(self, period: str, *, periods: int = 7, every: str = "1d") -> Windows:
        """Windows over the periods of the sketch: of each period with those before it, such as the last 7 days of each day.

        Parameters
        ----------
        period
            The group column of periods: dates or datetimes, each the begin of a period.
        periods
            How many of them a window has, at least 2.
        every
            What is from one period to the next, as Polars spells it: "1d", "1w", "1mo", "1h". Days and months of a time zone are
            those of its clocks.

        Returns
        -------
        Windows, with `evaluate` and `drift`.

        Raises
        ------
        SketchError, ValueError
            A group column that there is not, or of no dates; a value that is not a whole number of steps after the first one, which is
            named; rows without a period; fewer periods, from the first to the last one, than a window has; fewer than 2 in a window.

        Examples
        --------
        >>> import datetime as dt, polars as pl, polars_ec as ec
        >>> days = [dt.date(2024, 2, 27) + dt.timedelta(days=i) for i in range(4)]
        >>> log = pl.DataFrame({"day": days * 2, "p": [0.9, 0.4, 0.7, 0.1, 0.6, 0.2, 0.3, 0.8], "y": [1, 1, 0, 0, 0, 1, 0, 1]})
        >>> windows = log.ec.sketch("p", "y", by="day").rolling("day", periods=3)
        >>> windows.evaluate("error_rate").select("day", "n", "error_rate").rows()
        [(datetime.date(2024, 2, 29), 6, 0.6666666666666666), (datetime.date(2024, 3, 1), 6, 0.5)]
        """
        # Imported here, for it needs numpy.
        from polars_ec.sketches.windows import Rolling

        rolling = Rolling.over(self, period, periods, every)
        return Windows(self, rolling.column, rolling.number, every)


@dataclass(frozen=True)
class Windows:
    """Rolling windows over the periods of a sketch: of each period with those before it. Made by `Sketch.rolling`.

    There are those windows alone that lie whole between the first period of the sketch and its last one, for each group that has rows
    in one of their periods. A row is in several windows: so they are not added up or rolled up, which the sketch is before.

    Attributes
    ----------
    sketch
        The sketch of the periods.
    period
        Its group column of periods, which is in results that of the last period of each window.
    periods, every
        How many a window has, and what is from one to the next.
    """

    sketch: Sketch
    period: str
    periods: int
    every: str

    def evaluate(self, *metrics: str, **keywords: Unpack[_WindowKeywords]) -> pl.DataFrame:
        """Metrics of every window of every group, one row for each, sorted, as `Sketch.evaluate` has them of the rows of these periods.

        Parameters
        ----------
        *metrics
            Names; default: the battery of `report` and `auc_roc`.
        **keywords
            As for `Sketch.evaluate`. `prior="overall"` is of all rows of the sketch, each once, of each `score` and `target`
            for itself. Limits are those of each window for itself: neighbours share rows, and so their errors.

        Returns
        -------
        As `Sketch.evaluate`; the column of periods has the last one of each window.

        Raises
        ------
        SketchError, ValueError
            As `Sketch.evaluate`.

        Examples
        --------
        >>> import datetime as dt, polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"month": [dt.date(2024, i, 1) for i in (1, 2, 3, 3)], "p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
        >>> windows = log.ec.sketch("p", "y", by="month").rolling("month", periods=2, every="1mo")
        >>> windows.evaluate("recall").select("month", "n", "recall").rows()
        [(datetime.date(2024, 2, 1), 2, 0.5), (datetime.date(2024, 3, 1), 3, 0.0)]
        """
        tables, clustered = [], keywords.get("interval") is not None
        sketch = self.sketch if clustered else without_clusters(self.sketch)
        for cells, prior in self._rolling.in_blocks(sketch, keywords.get("prior")):
            tables.append(cells.evaluate(*metrics, **keywords | ({} if prior is None else {"prior": prior})))
        return pl.concat(tables).sort(self.sketch.keys, nulls_last=True, maintain_order=True)

    @checked_keywords
    def drift(
        self,
        *metrics: str,
        reference: Any = None,
        mix: str | Sequence[str] = (),
        interval: float = 0.95,
        min_rows: int | None = None,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
    ) -> pl.DataFrame:
        """Where the change of each metric between two windows comes from, as `Sketch.drift` has it of the rows of their periods.

        Parameters
        ----------
        *metrics
            Names, as for `Sketch.drift`.
        reference
            What each window is compared with: one of them, by its last period, or "previous", the one before it in its group, which shares
            most of its rows. Default: the earliest one of the sketch.
        mix, interval, min_rows, costs, cost_fn, cost_fp, threshold, prior, beta, p_t
            As for `Sketch.drift`; `prior="overall"` as for `evaluate`.

        Returns
        -------
        As `Sketch.drift`; the column of periods has the last one of each window. Windows that share periods have limits and p-values
        only where all rows of both are in clusters, `sketch(cluster=)`, whose sums say what is shared; else these are null.

        Raises
        ------
        SketchError, ValueError
            As `Sketch.drift`; a reference that is no window.

        Examples
        --------
        >>> import datetime as dt, polars as pl, polars_ec as ec
        >>> days = [dt.date(2024, 2, 1) + dt.timedelta(days=i) for i in range(28)]
        >>> log = pl.DataFrame({"day": days * 4, "p": [0.8, 0.4, 0.7, 0.1] * 28, "y": [1, 1, 0, 0, 0, 1, 0, 1] * 14})
        >>> weeks = log.ec.sketch("p", "y", by="day").rolling("day").drift("error_rate")
        >>> weeks.select("day", "reference", pl.col("difference", "prior").round(4), pl.col("p_value").round(2)).row(-1)
        (datetime.date(2024, 2, 28), '2024-02-07', 0.0, 0.0, 1.0)
        """
        point = _point(costs, cost_fn, cost_fp, threshold, prior, beta, p_t)
        return self.sketch._drift(self._rolling, metrics, self.period, reference, mix, interval, min_rows, point)

    @cached_property
    def _rolling(self) -> Rolling:
        # Imported here, for it needs numpy.
        from polars_ec.sketches.windows import Rolling

        return Rolling.over(self.sketch, self.period, self.periods, self.every)


def sketch_of(cells: Cells, point: OperatingPoint) -> Sketch:
    """Cells with the operating point that they were made for."""
    attributes = {field.name: getattr(cells, field.name) for field in fields(Cells)}
    return Sketch(**attributes, costs=point.costs, threshold=point.threshold)


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
        raise TypeError("merge() takes a list of sketches, and this is one sketch: pass [sketch_a, sketch_b]")
    if not sketches:
        raise SketchError("merge() needs at least one sketch")
    return sketch_of(add_cells(sketches), OperatingPoint.common(sketch.operating_point for sketch in sketches))


@with_options(SketchOptions)
def sketch(
    frame: FrameLike,
    score: IntoExpr | Sequence[IntoExpr],
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
    cluster: IntoExpr | None = None,
    buckets: int = BUCKETS,
    **options: Unpack[SketchOptions],
) -> Sketch:
    """The log reduced to cells of equal log-odds, by one pass of the streaming engine.

    Parameters
    ----------
    score
        Column name or expression. One number a row, of two classes; or a vector of K a row, which `reduction` makes binary.
        Several (models), all of one kind, are sketched in the same pass, and add a group column `score` with their names.
    by
        Names and expressions of the groups; `score` and `target` are names of the sketch's own.
    resolution
        Bins per nat of log-odds (to the factor e of |score| for raw scores); memory and bounds go with it. Beyond 64
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
        what correlated rows share. Rows without a key are in a fold of their own, number `folds`.
    stratified
        Folds that share the keys of each class of each group out evenly. A key has one fold in each class then, and the
        rows are ranked in memory: this does not stream.
    cluster, buckets
        The key of what correlated rows share, such as the user or the day, for intervals: the rows are counted once more in coarse
        cells by the `polars_ec.bucket` of their key, of so many from 5 to 1000. A row without a key is a cluster of its own.
    prior
        Class priors, only for LLRs (where they decide) and log-likelihoods: the positive class's, or one per class (a
        sequence in class order, or a mapping from class), "uniform", or an expression.

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
    >>> both = log.with_columns(q=1 - pl.col("p")).ec.sketch(["p", "q"], "y")
    >>> both.evaluate("auc_roc").select("score", "auc_roc").rows()
    [('p', 0.75), ('q', 0.25)]
    >>> three = pl.DataFrame(
    ...     {"p": [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.5, 0.4, 0.1]], "y": ["a", "b", "c", "b"]},
    ...     schema_overrides={"p": pl.Array(pl.Float64, 3)},
    ... )
    >>> three.ec.sketch("p", "y", classes=["a", "b", "c"]).evaluate("auc_roc").select("target", "auc_roc").rows()
    [('a', 1.0), ('b', 1.0), ('c', 1.0)]
    >>> three.ec.sketch("p", "y", classes=["a", "b", "c"], reduction="top_label").evaluate()["class_prior"].item()
    0.75
    """
    cells, point = make_cells(
        as_lazy(frame),
        score,
        label,
        options,
        by=by,
        resolution=resolution,
        thresholds=thresholds,
        exact=exact,
        reduction=reduction,
        folds=FoldKey(folds, fold_by, stratified),
        clusters=ClusterKey(cluster, buckets),
    )
    return sketch_of(cells, point)


@checked_keywords
def equivalent_cost(
    sketch: Sketch,
    metric: str = "f1",
    *,
    sensitivity: float | None = None,
    costs: Costs | None = None,
    cost_fn: float | None = None,
    cost_fp: float | None = None,
    prior: Prior = None,
    beta: float = 1.0,
    p_t: float | None = None,
) -> pl.DataFrame:
    """The costs that somebody who optimises another metric has in fact chosen, per group.

    They have no interval: they are read off the best of many thresholds, and move in jumps from one to the next.

    Parameters
    ----------
    sketch
        The log of a baseline.
    metric
        A metric of decisions, whose best threshold is the Bayes threshold of the costs; or "sensitivity": then the costs are those for which the best threshold attains it.
    sensitivity
        The target, above 0 and up to 1; default 0.95.
    costs, cost_fn, cost_fp, prior, beta, p_t
        As for `Sketch.evaluate`: of a metric that takes them.

    Returns
    -------
    The group columns, `threshold`, `cost_fn` (with cost_fp = 1), and for a sensitivity `alpha`, the weight of false alarms
    in NEC = alpha FPR + FNR, and the `sensitivity` attained.

    Raises
    ------
    SketchError
        A metric that is none of decisions; scores whose thresholds are not Bayes thresholds of any costs.
    ValueError
        A sensitivity outside (0, 1].

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.6 and Eq. 8; "The expected cost", section 4 and
    Eq. 20.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> ec.equivalent_cost(log.ec.sketch("p", "y"), "sensitivity", sensitivity=0.6).select("alpha", "cost_fn").rows()
    [(1.0, 1.0)]
    """
    keywords: Any = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "prior": prior, "beta": beta, "p_t": p_t}
    if metric == "sensitivity":
        for name, value in keywords.items():
            if value is not None and (name, value) != ("beta", 1.0):
                raise TypeError(f"{name}={value!r} is for metrics of decisions: 'sensitivity' takes sensitivity= only")
        return cost_of_sensitivity(sketch, 0.95 if sensitivity is None else sensitivity)
    if sensitivity is not None:
        raise TypeError(f"sensitivity={sensitivity!r} is for metric='sensitivity', but the metric is {metric!r}")
    check_keys(sketch.keys, ["cost_fn"])
    return sketch.best_threshold(metric, **keywords).with_columns(cost_fn=cost_of_threshold(sketch.grid))
