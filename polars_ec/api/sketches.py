"""Sketches: small summary tables, built in one pass over a log, for metrics, curves and thresholds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal, Unpack

import polars as pl

from polars_ec.api.estimates import estimate_cells, labels_to_come
from polars_ec.arguments.classes import Prior
from polars_ec.arguments.costs import CostMatrix, Costs
from polars_ec.arguments.inputs import as_lazy
from polars_ec.arguments.keywords import Request, parse_interval, parse_min_rows
from polars_ec.arguments.options import SketchOptions
from polars_ec.arguments.signatures import checked_keywords, with_options
from polars_ec.calibration.calibration import Calibration, Calibrator
from polars_ec.calibration.cells import calibrate
from polars_ec.calibration.reliability import reliability
from polars_ec.comparisons.unlabelled_units import EstimateCalibrator
from polars_ec.exceptions import SketchError
from polars_ec.reports.of_decisions import evaluated
from polars_ec.scores.folds import BUCKETS
from polars_ec.scores.read import expand
from polars_ec.sketches import operating_points, weighted_risk
from polars_ec.sketches.arguments import OperatingPoint
from polars_ec.sketches.cells import Cells, add_cells, apart_by_label, check_keys, without_clusters
from polars_ec.sketches.files import cells_of_table, grid_of_table, read_cells, write_cells
from polars_ec.sketches.grid import DecisionGrid, SketchScoreType
from polars_ec.sketches.log_pass import ClusterKey, FoldKey, make_cells
from polars_ec.sketches.operating_points import (
    DecidingCells,
    EvaluationKeywords,
    cost_of_sensitivity,
    cost_of_threshold,
    evaluated_in_order,
    with_point,
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
    """A small summary table of a log: row counts per group, class and score bin, and sums of losses per group and class.

    Make one with `sketch` (or `lf.ec.sketch`), `read_parquet`, `from_arrow` or `merge`. Metrics that depend on the order of the scores are
    computed from the bins, with bounds on the error. Sums such as cross-entropy are exact. A sketch is plain data.

    Attributes
    ----------
    frame
        The cells, with the group columns, `class` (0 or 1, -1 for invalid rows, null for rows with missing values), and `n` rows. `bin` and
        `above` (how many declared thresholds the score exceeds) define the cell, or `score_value` in an exact sketch. Weighted sketches add
        the sums `weight` and, of squared weights, `weight2`. With `reduction="decisions"` a cell is a class, from 0 to K-1, and a `decision`
        (-1 for rows without a valid cost). It has the sums `log_loss`, `brier` and, with costs per row, `error_cost`. `NAME_square` and
        `NAME_times_weight` are the sums of the squares of these terms, and of the terms times the weight.
    grid
        The mapping of scores to cells: `score_type`, `resolution` (None: exact), `thresholds`.
    weighted
        Whether the rows had weights.
    sums
        A table with one row per group, `class` (0 or 1) and `above`. `log_loss`, `brier` and `posterior` are sums of weight times the row's
        value. None in an exact sketch and one of decisions, whose cells contain them, and for raw scores.
    coarse
        For variances, in a sketch with clusters: the usable rows again, with a column `bucket` for the bucket of their cluster (null: none).
        The `resolution` is at most 8, even in an exact sketch. The columns are those of `frame`, with `bin` and `above`.
    buckets, cluster, hash
        The number of buckets, the name of the cluster column, and the hash that assigns clusters to buckets; None without clusters.
    unlabelled
        The rows without a label, if `sketch(unlabelled=True)` kept them: a table of cells with the same attributes, in which `class` says
        nothing. In `frame` they count as rows with missing values. Otherwise None.
    costs, threshold
        The default operating point of the methods: 2 x 2 costs and the threshold, None for the Bayes threshold of the costs. Of decisions, the
        K x M costs that they were made with; costs per row are named in `grid.row_costs`.
    """

    def _evaluated(self, metrics: Sequence[str], stated: Mapping[str, Any], request: Request | None) -> pl.DataFrame:
        if isinstance(self.grid, DecisionGrid):
            return evaluated(self, metrics, stated, request)
        return super()._evaluated(metrics, stated, request)

    def _deciding(self, stated: Mapping[str, Any]) -> tuple[Mapping[str, Any], float | None]:
        """The keywords of comparisons, and the threshold where they state none; decisions that are taken need neither."""
        if isinstance(self.grid, DecisionGrid):
            return stated, None
        return self.operating_point.stands_in(stated, self.grid.classes)

    def __add__(self, other: Sketch) -> Sketch:
        """The sketch of both logs together."""
        return merge([self, other])

    # A sketch is cells: these are the functions themselves, with their documentation.
    roc = operating_points.roc
    roc_hull = operating_points.roc_hull
    det = operating_points.det
    pr = operating_points.pr
    prg = operating_points.prg
    gains = operating_points.gains
    tippett = operating_points.tippett
    bayes_error = operating_points.bayes_error
    bayes_risk = operating_points.bayes_risk
    murphy = operating_points.murphy
    decision_curve = operating_points.decision_curve
    epsr = weighted_risk.epsr
    reliability = reliability
    calibrate = calibrate

    @property
    def plot(self) -> SketchPlots:
        """Charts of the curves: `sketch.plot.roc()` is `ec.plot.roc(sketch)`. They require the extra `plot`."""
        # Imported here, because most sketches are never plotted.
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
        """Compute the calibration loss per group: the loss of the scores as they are, minus the loss after calibration.

        Higher means worse calibrated scores. Well calibrated scores have about 0, and an overfitted calibrator gives values below 0. CalLoss
        = EPSR raw - EPSR calibrated; RCL = 100 CalLoss / EPSR raw. EPSR raw = CalLoss - discrimination + uncertainty. With "pav" and "test"
        these are MCB, DSC and UNC of reliability diagrams (CORP).

        Parameters
        ----------
        rule
            "cross_entropy", "brier", or "bayes_risk", the expected cost of Bayes decisions at the costs. For LLRs "bayes_risk", with a prior,
            or "cllr", without. `calibrated` is then for calibrated LLRs; with "pav" and "test" it is `min_cllr`.
        calibrator, bins, equal_mass
            As for `calibrate`.
        training
            The data to fit the calibrator on. "cv": cross-validation, which sums the losses of all folds, each with a calibrator fitted on
            the other folds. "test": the same rows. A `Calibration`: one fitted on another log. It may have fewer group columns than the
            sketch; for "cllr" its prior must be a number.
        prior
            The prior of the loss and of the fit, as for `evaluate`. Default: the group's own.
        costs, cost_fn, cost_fp
            Costs of "bayes_risk", 2 x 2. Default: those of the sketch.
        interval, method, replicates, seed
            As for `evaluate`. "influence" is a jackknife here: everything is recomputed, with refitted calibrators, without each of 20 parts
            of the rows in turn. The parts are buckets of the clusters from `sketch(cluster=)`; independent rows are assigned at random, by
            the seed. "bootstrap" takes percentiles over resampled rows or clusters, with refitted calibrators. Rows keep their fold, so that
            none is both in training and test data. 100 replicates are usually enough. "bca" is not available. A `Calibration` in `training`
            stays fixed. Cross-entropy and Cllr have no bounds in groups with finite log-odds beyond 64 on the wrong side.

        Returns
        -------
        One row per group: the group columns without `fold`, `n`, `class_prior`, `raw` (exact), `calibrated`, `cal_loss`, `rcl` in percent
        (null if `raw` is 0), `discrimination` and `uncertainty`. The last is the loss of a system that always returns the prior, and
        discrimination is that minus `calibrated`. With `interval` each loss has `NAME_ci_low` and `NAME_ci_high`. `reason` explains a missing
        calibrated loss: a reason of `calibrate`, or "not calibrated" if `training` lacks the group. It can also be "reversed".

        All values are exact in an exact sketch. Otherwise the rows of a cell get the calibrated posterior at the middle of their bin, or the
        step of its lowest score. For a fixed affine calibrator the loss is then off by a factor of at most exp(alpha / (2 resolution)), and
        Brier by its square, unless there are finite log-odds beyond 64. The risk is off by at most the cost of the rows in the bin with the
        threshold, for each calibrator used.

        Raises
        ------
        ValueError
            An unknown rule or training; "cv" for a sketch without folds; raw scores; LLRs except with "cllr", or with "bayes_risk" and a
            prior; "cllr" with a prior or for other scores; costs whose threshold on the original scores is not declared; a group column with
            the name of a result column.

        References
        ----------
        Ferrer and Ramos, "Evaluating posterior probabilities", section 2.5.3, Eqs. 30 to 33; Dimitriadis, Gneiting and Jordan, "Stable
        reliability diagrams for probabilistic classifiers", 2021.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"p": [0.99, 0.9, 0.01, 0.99, 0.1, 0.01], "y": [1, 1, 1, 0, 0, 0]})
        >>> sketch = log.ec.sketch("p", "y", exact=True)
        >>> sketch.calibration_loss(training="test").select(pl.col("raw", "calibrated", "rcl").round(3)).rows()
        [(1.574, 0.676, 57.044)]
        """
        # Imported here, because it needs NumPy.
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
        margin: float | None = None,
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
        """Compare models on the same rows, or groups, as `compare` does, with an interval and a p-value for each difference.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`, except counts and `ece`. Default: the usual ones.
        reference
            As for `compare`. Models are the values of the group column `score`; default the first in its order. Comparing models requires a
            sketch with clusters, `sketch(cluster=)`, because cells do not identify rows. The cluster column may be a row ID. All models must
            have the same rows.
        interval, min_rows, margin
            As for `compare`.
        costs, cost_fn, cost_fp, threshold, prior, beta, p_t, sensitivity, specificity, method
            As for `evaluate`. With `prior` all values are at that prior. Decisions use declared thresholds only.

        Returns
        -------
        As `compare`: one row per group, model and metric. Intervals are for clusters if the sketch has them, else for independent rows.

        Raises
        ------
        SketchError, ValueError
            Errors of `compare` and `evaluate`; a threshold that is not declared; losses of LLRs at a prior; models in a sketch without
            clusters, or with different rows; fewer than 100 buckets.

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
        # Imported here, because it needs NumPy.
        from polars_ec.comparisons.result import with_verdicts
        from polars_ec.comparisons.sketched import compare_cells
        from polars_ec.comparisons.validation import parse_margin

        request = parse_interval({"interval": interval})
        if request is None:
            raise ValueError("interval=None: a comparison always has intervals. Pass a level such as interval=0.95")
        stated = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "threshold": threshold, "prior": prior}
        others = {"beta": beta, "p_t": p_t, "sensitivity": sensitivity, "specificity": specificity, "method": method}
        keywords, own_threshold = self._deciding({**stated, **others})
        limit, fewest = parse_margin(margin), parse_min_rows(min_rows)
        table = compare_cells(self, metrics, keywords, own_threshold, reference, request, fewest)
        return with_verdicts(table, limit)

    @checked_keywords
    def estimate(
        self,
        *metrics: str,
        period: str,
        reference: Any = None,
        labelled: float = 0.9,
        calibrator: EstimateCalibrator | None = "spline",
        shift_prior: float | Literal["em"] | None = None,
        interval: float | None = 0.95,
        replicates: int = 200,
        seed: int = 0,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        prior: float | None = None,
    ) -> pl.DataFrame:
        """Estimate metrics before labels come, as `estimate` does for a log: P(class | score) is assumed unchanged.

        Requires a sketch that keeps the rows without a label, `sketch(unlabelled=True)`. When labels come, sketch the period again.

        Parameters
        ----------
        *metrics
            Names, as for `estimate`. Default: the usual ones.
        period
            The group column of periods. All other group columns define the groups, except `score` and `fold`.
        reference, labelled, calibrator, shift_prior, interval, replicates, seed
            As for `estimate`.
        costs, cost_fn, cost_fp, threshold, prior
            As for `evaluate`. `prior` is a number. Decisions use declared thresholds only.

        Returns
        -------
        As `estimate`, with its numbers if the resolution is 64. Models are the values of the group column `score`, null without one. Values are
        null if weights are below 1e-140 or above 1e150, because the sketch does not have the digits of their squares.

        Raises
        ------
        SketchError, ValueError
            Errors of `estimate`; a sketch without rows without a label, as is the sum of one with them and one without; a `period` that is not a
            group column; a threshold that is not declared.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> labels = [1, 0, 1, 0, 1, 1, 0, 0] * 25 + [None] * 100
        >>> log = pl.DataFrame({"month": [4] * 200 + [5] * 100, "p": [0.8, 0.2, 0.6, 0.1] * 75, "y": labels})
        >>> sketch = log.ec.sketch("p", "y", by="month", unlabelled=True)
        >>> estimates = sketch.estimate("precision", "recall", period="month")
        >>> estimates.filter(month=5).select("reference", "metric", pl.col("value", "class_prior").round(3)).rows()
        [('4', 'precision', 0.785, 0.5), ('4', 'recall', 0.785, 0.5)]
        """
        point = self._deciding(_point(costs, cost_fn, cost_fp, threshold, prior, 1.0, None))
        stated = calibrator, shift_prior, reference, labelled, interval, replicates, seed
        return estimate_cells(self, metrics, period, point, *stated)

    def write_parquet(self, path: str | Path | IO[bytes], *, metadata: Mapping[str, str] | None = None) -> None:
        """Save the cells, with their meaning, a checksum and any further `metadata` in the metadata of the file."""
        write_cells(self, self.operating_point, path, metadata)

    @classmethod
    def read_parquet(cls, path: str | Path) -> Sketch:
        """Read a sketch from a file that `write_parquet` made.

        Raises SketchError for any other file and for a damaged one, whose values differ from those written or are impossible for cells. The
        message names the problem. Files with a schema version below 3 are not supported: sketch their logs again.
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
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        classes: Sequence[object] | None = None,
    ) -> Sketch:
        """Build a sketch from the result of `ec.sketch` or `sketch_query` in a warehouse, as an Arrow table.

        Parameters
        ----------
        table
            The result, as anything that Polars reads as a table. It has the group columns, the columns of `Sketch.frame`, and `weight` and
            `weight2` always (without weights, the number of rows). Unless scores are raw it also has `log_loss`, `brier` and `posterior` of
            each cell.
        score_type, resolution, thresholds
            The values used in the query; the table does not contain them.
        weighted
            Whether the query used weights.
        cluster, buckets
            The name of the cluster column for the sketch, and the number of buckets, if the query used clusters. The table names the hash.
        costs, cost_fn, cost_fp, threshold
            The default operating point of the methods. It is exact if it is one of the thresholds. For decisions, leave them out: the table
            contains the costs of its query, and others are an error. Only tables of earlier versions, or without rows, need them.
        classes
            Of decisions only: the label values in class order. Default: 0 to K-1, a class for each row of the costs. A table without rows
            needs them, or costs.

        Raises
        ------
        SketchError
            Missing columns, columns that are not numeric, and impossible values, such as a bin off the grid. Several rows of the same cell
            are not an error: they are added.
        """
        point_of_call = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "threshold": threshold}
        stated = {name: value for name, value in point_of_call.items() if value is not None}
        frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
        grid, point = grid_of_table(frame, score_type, resolution, thresholds, stated, classes)
        return sketch_of(cells_of_table(frame, grid, weighted, cluster, buckets), point)

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
        """Decompose the change of each metric between two periods, with intervals, as `drift` does for a log.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`, except counts, `ece` and ranking metrics, which are not functions of sums. Default: the usual ones.
        period
            The group column of periods.
        reference
            The period to compare with: its value, or "previous" for the preceding period of the group. Default: the earliest period of the
            sketch.
        mix
            Group columns whose values are the strata. The change of their shares is a component of its own, apart from changes within strata.
            All other group columns define the groups.
        interval, min_rows
            As for `compare`.
        costs, cost_fn, cost_fp, threshold, prior, beta, p_t
            As for `evaluate`. With `prior` all values are at that prior, where the class priors contribute only through the mix. It must be
            equal in the compared periods. Decisions use declared thresholds only.

        Returns
        -------
        As `drift`: one row per group, period, model and metric. Models are the values of the group column `score`, null without one. Values
        and components are exact. Intervals are for clusters if the sketch has them, else for independent rows.

        Raises
        ------
        SketchError, ValueError
            Errors of `drift` and `evaluate`; a threshold that is not declared; losses of LLRs at a prior; fewer than 100 buckets; a `period`
            or a column of `mix` that is not a group column; a prior that differs between periods.

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
        # Imported here, because it needs NumPy.
        from polars_ec.comparisons.sketched_drift import SketchDriftRequest, drift_cells

        request = parse_interval({"interval": interval})
        if request is None:
            raise ValueError("interval=None: a drift always has intervals. Pass a level such as interval=0.95")
        keywords, own_threshold = self._deciding(point)
        strata = (mix,) if isinstance(mix, str) else tuple(mix)
        fewest = parse_min_rows(min_rows)
        question = SketchDriftRequest(metrics, keywords, own_threshold, period, reference, strata, request, fewest)
        return drift_cells(self, question, rolling)

    @checked_keywords
    def rolling(self, period: str, *, periods: int = 7, every: str = "1d") -> Windows:
        """Define rolling windows over the periods of the sketch, such as the last 7 days at each day.

        Parameters
        ----------
        period
            The group column of periods: dates or datetimes, each the start of a period.
        periods
            The number of periods in a window, at least 2.
        every
            The step from one period to the next, in Polars notation: "1d", "1w", "1mo", "1h". Days and months of a time zone follow its local
            time.

        Raises
        ------
        SketchError, ValueError
            An unknown group column, or one without dates; a value that is not a whole number of steps after the first one; rows without a
            period; fewer than 2 periods in a window, or more than the sketch spans; an `every` so short that no window holds two values.

        Examples
        --------
        >>> import datetime as dt, polars as pl, polars_ec as ec
        >>> days = [dt.date(2024, 2, 27) + dt.timedelta(days=i) for i in range(4)]
        >>> log = pl.DataFrame({"day": days * 2, "p": [0.9, 0.4, 0.7, 0.1, 0.6, 0.2, 0.3, 0.8], "y": [1, 1, 0, 0, 0, 1, 0, 1]})
        >>> windows = log.ec.sketch("p", "y", by="day").rolling("day", periods=3)
        >>> windows.evaluate("error_rate").select("day", "n", "error_rate").rows()
        [(datetime.date(2024, 2, 29), 6, 0.6666666666666666), (datetime.date(2024, 3, 1), 6, 0.5)]
        """
        # Imported here, because it needs NumPy.
        from polars_ec.sketches.windows import Rolling

        rolling = Rolling.over(self, period, periods, every)
        return Windows(self, rolling.column, rolling.number, every)


@dataclass(frozen=True)
class Windows:
    """Rolling windows over the periods of a sketch, each with a period and those before it. Made by `Sketch.rolling`.

    Only windows that lie completely between the first and the last period of the sketch exist, for each group that has rows in the window.
    Windows overlap, so they cannot be added or rolled up. Do that with the sketch first.

    Attributes
    ----------
    sketch
        The sketch of the periods.
    period
        The group column of periods, which holds the last period of each window in results.
    periods, every
        The number of periods in a window, and the step between periods.
    """

    sketch: Sketch
    period: str
    periods: int
    every: str

    def evaluate(self, *metrics: str, **keywords: Unpack[_WindowKeywords]) -> pl.DataFrame:
        """Compute metrics of every window of every group, one row per window, sorted.

        Values are those of `Sketch.evaluate` for the rows of the window. The column of periods holds the last one of each window.

        Parameters
        ----------
        *metrics
            Names. Default: the default metrics of `report`, and `auc_roc`.
        **keywords
            As for `Sketch.evaluate`. `prior="overall"` is the prior of all rows of the sketch, counted once, for each `score` and `target`.
            Intervals apply to each window alone: neighbouring windows share rows, so their errors are correlated.

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
            # The windows of all blocks together get one warning.
            with warnings.catch_warnings(action="ignore", category=UserWarning):
                tables.append(cells.evaluate(*metrics, **keywords | ({} if prior is None else {"prior": prior})))
        return evaluated_in_order(pl.concat(tables), self.sketch.keys)

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
        """Decompose the change of each metric between two windows, with intervals.

        Values are those of `Sketch.drift` for the rows of the windows.

        Parameters
        ----------
        reference
            The window to compare with: its last period, or "previous" for the preceding window of the group, which shares most of its rows.
            Default: the earliest window of the sketch.
        *metrics, mix, interval, min_rows, costs, cost_fn, cost_fp, threshold, prior, beta, p_t
            As for `Sketch.drift`; `prior="overall"` as for `evaluate`.

        Returns
        -------
        As `Sketch.drift`. The column of periods holds the last one of each window. If windows share periods, bounds and p-values require that
        all rows of both are in clusters, `sketch(cluster=)`, whose sums identify the shared rows. Otherwise they are null.

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
        # Imported here, because it needs NumPy.
        from polars_ec.sketches.windows import Rolling

        return Rolling.over(self.sketch, self.period, self.periods, self.every)


def sketch_of(cells: Cells, point: OperatingPoint) -> Sketch:
    """Cells with their default operating point."""
    return with_point(Sketch, cells, point)


def merge(sketches: Sequence[Sketch]) -> Sketch:
    """Merge the sketches of several logs into one; the order and grouping of the merges do not matter.

    Parameters
    ----------
    sketches
        At least one sketch. All must have the same group columns, score type, resolution, thresholds and costs.

    Raises
    ------
    SketchError
        Sketches that differ, with the difference in the message; more rows than a 64-bit integer can count.

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


@with_options(SketchOptions, raises="A resolution below 1; a prior that no decision uses.")
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
    unlabelled: bool = False,
    **options: Unpack[SketchOptions],
) -> Sketch:
    """Build a sketch of the log, a small table of counts per bin of log-odds, in one streaming pass.

    Parameters
    ----------
    score
        Column name or expression. One number per row, for two classes; or K numbers per row, which `reduction` makes binary. Several (models)
        of the same kind share the pass, and add a group column `score` with their names.
    by
        Names or expressions of the group columns. The names `score` and `target` are reserved.
    resolution
        Bins per nat of log-odds (for raw scores, per factor e of |score|). Memory and error bounds depend on it. Beyond 64 nats bins are
        open-ended; posteriors 0 and 1 and infinite log-odds have separate bins.
    thresholds
        Operating points that must be exact: numbers on the scale of the score, or `CostMatrix` objects, which stand for their Bayes
        threshold. The operating point of the options (threshold, or the Bayes threshold of the costs, default 0.5) is always included.
    exact
        Keep every distinct score instead of bins. Nothing is approximate, and memory grows with the number of distinct scores.
    reduction
        How to reduce vectors of K scores to binary problems. "one_vs_rest": K sketches in one, with a last group column `target`, for the
        posterior of the class against all others. "top_label": the largest posterior, and whether its class (the first, on ties) is the true
        one; this also works for two classes. The costs are then those of the binary problem. "decisions": not the scores, but counts and
        sums of losses per class and decision, for the metrics of decisions and scoring rules of all classes together, and for any K.
        Decisions are those at the K x M `costs`, which cannot be changed afterwards, or at `threshold`. `cost_fn` and `cost_fp` may then be
        columns. There are no curves, and no `resolution`, `thresholds`, `exact` or `folds`.
    folds, fold_by
        Add a group column `fold` for cross-validation, the `polars_ec.fold` of the key `fold_by`: a row ID, or the cluster column. Rows with
        a null key form their own fold, with number `folds`.
    stratified
        Spread the keys of each class evenly over the folds within each group. A key then has one fold per class. The rows are ranked in
        memory, so this does not stream.
    cluster, buckets
        The cluster column, which groups correlated rows, such as the user or the day, for intervals. The rows are counted again in coarse
        cells by the `polars_ec.bucket` of the cluster. There are from 5 to 1000 buckets. A row with a null there is its own cluster.
    unlabelled
        Keep the rows with a null label too, in cells of their own, for `Sketch.estimate`. All other methods count them as rows with missing values.
        For one posterior or log-odds per row, in bins.
    prior
        Class priors, only for LLRs (for their decisions) and log-likelihoods. Pass the prior of the positive class, one per class (a sequence
        in class order, or a mapping from class), "uniform", or an expression.

    References
    ----------
    Ferrer, "The expected cost", section 2.1, for the quantities that decisions depend on.

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
    >>> decided = three.ec.sketch("p", "y", classes=["a", "b", "c"], reduction="decisions")
    >>> decided.evaluate("nec", "class_recall").select("nec", "class_recall").rows()
    [(0.5, [1.0, 0.5, 1.0])]
    """
    log, column, keys = as_lazy(frame), label, by
    if unlabelled:
        if exact or reduction != "one_vs_rest":
            raise ValueError("unlabelled=True keeps bins of one score per row: leave out exact=True and reduction=")
        column, is_labelled = labels_to_come(log, expand(log, score, "score"), label, options)
        keys = [*expand(log, by, "by"), is_labelled]
    cells, point = make_cells(
        log,
        score,
        column,
        options,
        by=keys,
        resolution=resolution,
        thresholds=thresholds,
        exact=exact,
        reduction=reduction,
        folds=FoldKey(folds, fold_by, stratified),
        clusters=ClusterKey(cluster, buckets),
    )
    return sketch_of(apart_by_label(cells) if unlabelled else cells, point)


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
    """Find the costs that are implied by optimising another metric, per group.

    There is no interval: the costs follow from the best of many thresholds, and jump from one to the next.

    Parameters
    ----------
    sketch
        The sketch of a baseline's log.
    metric
        A decision metric, whose best threshold is taken as the Bayes threshold of the costs. Or "sensitivity": the costs for which the best
        threshold attains this sensitivity.
    sensitivity
        The target, above 0 and at most 1; default 0.95.
    costs, cost_fn, cost_fp, prior, beta, p_t
        As for `Sketch.evaluate`, for metrics that use them.

    Returns
    -------
    The group columns, `threshold` and `cost_fn` (with cost_fp = 1). For a sensitivity also `alpha`, the weight of false alarms in NEC = alpha
    FPR + FNR, and the `sensitivity` attained.

    Raises
    ------
    SketchError
        A metric that does not depend on decisions; scores whose thresholds are not Bayes thresholds of any costs.
    ValueError
        A sensitivity outside (0, 1].

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.6 and Eq. 8; "The expected cost", section 4 and Eq. 20.

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
