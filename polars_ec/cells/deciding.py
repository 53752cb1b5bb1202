"""Cells that know where they decide: metrics at one operating point, and at all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypedDict, Unpack

import polars as pl

from polars_ec.cells import curves, thresholds
from polars_ec.cells.arguments import OperatingPoint, parse_method
from polars_ec.cells.cells import Cells
from polars_ec.cells.evaluate import evaluate
from polars_ec.cells.targets import average_over_targets, check_targets
from polars_ec.costs import CostMatrix, Costs
from polars_ec.intervals.arguments import parse_interval
from polars_ec.priors import Prior
from polars_ec.signatures import checked_keywords
from polars_ec.typing import EceNorm, EerMethod, IntervalMethod


class EvaluationKeywords(TypedDict, total=False):
    """The keywords of `evaluate`."""

    costs: Costs | None
    cost_fn: float | None
    cost_fp: float | None
    threshold: float | None
    prior: Prior
    beta: float
    p_t: float | None
    sensitivity: float
    specificity: float
    method: EerMethod
    bins: int
    norm: EceNorm


@dataclass(frozen=True, repr=False)
class DecidingCells(Cells):
    """Cells, and the operating point that they were made for; the attributes are those of a `Sketch`."""

    costs: CostMatrix = field(default_factory=CostMatrix.binary)
    threshold: float | None = None

    @property
    def operating_point(self) -> OperatingPoint:
        """Where it decides if it is told nothing else."""
        return OperatingPoint(self.costs, self.threshold)

    def _at_own_point(self, keywords: Mapping[str, Any]) -> dict[str, Any]:
        """The keywords, with its own costs where they name none."""
        return self.operating_point.stands_in(keywords, self.grid.classes)[0]

    def _facts(self) -> dict[str, str]:
        """What it holds, in words."""
        return {**super()._facts(), "decisions": self.operating_point.words()}

    @checked_keywords
    def evaluate(
        self,
        *metrics: str,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
        sensitivity: float = 0.95,
        specificity: float = 0.95,
        method: EerMethod | IntervalMethod = "hull",
        bins: int = 15,
        norm: EceNorm = 1,
        interval: float | None = None,
        replicates: int = 1000,
        seed: int = 0,
    ) -> pl.DataFrame:
        """Metrics of every group, one row per group, sorted: the function of its name says what each of them is.

        Sums are exact. A metric of decisions is exact at a declared threshold; at any other it comes as two columns, `NAME_low` and
        `NAME_high`. A ranking metric comes with `NAME_error`: |returned - exact| <= error, beside rounding; and, where a
        threshold attains it, `NAME_threshold`. So does `ece`, whose error is 0 where the edges k / bins of its bins are declared
        thresholds (on the scale of the score), and in an exact sketch; with norm=2 there is no value elsewhere. Of LLRs scoring
        rules need `prior`, which makes posteriors of them, and come with `NAME_error`: a cell knows the bin of its LLRs only.

        Parameters
        ----------
        *metrics
            Names; default: the battery of `report` and `auc_roc`.
        costs, cost_fn, cost_fp, threshold
            Where to decide; default: what the sketch was made for.
        prior
            Class priors: a number, a sequence, "uniform", "overall" (the shares in all groups together, of each `score` and
            `target` for itself; null if a row of them is wrong), or an expression over a table with a row per group: the
            keys, `n` and `class_prior`. Default: the group's own.
        beta
            Of fbeta: a miss weighs beta^2 times a false alarm.
        p_t
            Of net_benefit: the posterior above which to act, from 0 to below 1.
        sensitivity
            Of specificity_at_sensitivity: the least one, above 0 and up to 1.
        specificity
            Of sensitivity_at_specificity: the least one, above 0 and up to 1.
        method
            Of eer: "hull" or "linear". Or of intervals: "influence", from what each row or cluster adds to the value; "bootstrap" or
            "bca", from rows or clusters that are drawn anew (eer is of the hull then), which cover too rarely in small groups: with 5
            positives 74 % (recall) and 72 % (AUC), where 95 % were asked for. Without it "hull" and "influence".
        bins, norm
            Of ece: how many bins; 1 for the mean absolute gap, 2 for the root mean square.
        interval
            The level of intervals, such as 0.95: of clusters in a sketch that was made with `cluster=`, else of independent rows.
            Default None: no intervals.
        replicates
            Of "bootstrap" and "bca": how many times rows or clusters are drawn anew.
        seed
            Of what is drawn at random: the same cells and seed give the same limits.

        Returns
        -------
        The group columns, `n`, `n_missing`, `n_invalid`, `class_prior`, then the metrics; each null where the expression
        of its name is. With `interval` also `small` (a class has fewer than 10 rows: limits mean little); and after each metric, but
        counts and `ece`, `NAME_ci_low` and `NAME_ci_high`, which hold what bins leave open. They are null where a class is absent, rows
        are wrong or the value is infinite; of mean losses also where a class has one row; of clusters where fewer than 5 buckets
        have rows; of draws where all of them agree, as at rates of 0 and 1, and where more of them lack a class than lie beyond a limit. `nec_kinked`, at the groups' own shares: two constant decisions are about equally cheap, so that the limits of
        `nec` may cover too rarely. `ece` has `ece_if_calibrated` and `ece_if_calibrated_high` instead: the mean of what chance alone
        makes of calibrated posteriors, and what it is below at this level.

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
        eer, way = parse_method(method)
        request = parse_interval({"interval": interval, "method": way, "replicates": replicates, "seed": seed})
        keywords, own_threshold = self.operating_point.stands_in(
            {
                "costs": costs,
                "cost_fn": cost_fn,
                "cost_fp": cost_fp,
                "threshold": threshold,
                "prior": prior,
                "beta": beta,
                "p_t": p_t,
                "sensitivity": sensitivity,
                "specificity": specificity,
                "method": eer,
                "bins": bins,
                "norm": norm,
            },
            self.grid.classes,
        )
        return evaluate(self, metrics, keywords, own_threshold=own_threshold, request=request)

    def mean_over_targets(self, *metrics: str, **keywords: Unpack[EvaluationKeywords]) -> pl.DataFrame:
        """The plain mean of metrics over the targets of a sketch of each class against the rest: one row per group.

        It is an average over K detectors, each of which decides for itself whether a row is of its class, at its own threshold: a
        row may be detected as several classes, or as none. So it is not the cost of one system that decides for one of K
        classes, and may rank such systems otherwise than their cost does; that is `nec` of the vectors with K x K costs.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`; counts have no mean.
        **keywords
            As for `evaluate`: the same for every target.

        Returns
        -------
        The group columns without `target`, `n`, `n_missing`, `n_invalid`, and the mean of each column that `evaluate` gives for
        the metrics: also of `NAME_low`, `NAME_high` and `NAME_error`, which bound the mean; no thresholds. Each is null where
        that of one target is.

        Raises
        ------
        SketchError
            A sketch without targets; counts, or no metric; `interval`: every row is one of each target, so that the intervals of the
            targets say nothing of that of their mean.

        References
        ----------
        Ferrer, "Analysis and comparison of classification metrics", section 4.7.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame(
        ...     {"p": [[0.7, 0.2, 0.1], [0.3, 0.4, 0.3], [0.1, 0.2, 0.7], [0.6, 0.3, 0.1]], "y": [0, 1, 2, 1]},
        ...     schema_overrides={"p": pl.Array(pl.Float64, 3)},
        ... )
        >>> sketch = log.ec.sketch("p", "y", exact=True)
        >>> sketch.evaluate("recall", "auc_roc").select("target", "recall", "auc_roc").rows()
        [(0, 1.0, 1.0), (1, 0.0, 1.0), (2, 1.0, 1.0)]
        >>> sketch.mean_over_targets("recall", "auc_roc").select("recall", "auc_roc").rows()
        [(0.6666666666666666, 1.0)]
        """
        check_targets(self, metrics, keywords)
        return average_over_targets(self.evaluate(*metrics, **keywords), self.keys)

    @checked_keywords
    def cost_curve(
        self,
        *metrics: str,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
        interval: float | None = None,
    ) -> pl.DataFrame:
        """Metrics of decisions at every operating point: the group columns, `threshold`, and a column for each.

        With `interval` also `NAME_ci_low` and `NAME_ci_high` of each, but counts: of each point for itself, as `evaluate` has them
        at a declared threshold. So the best of many points has no interval here.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`, of metrics that are functions of a confusion matrix.
        costs, cost_fn, cost_fp, prior, beta, p_t, interval
            As for `evaluate`.

        Raises
        ------
        SketchError
            Another metric.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
        >>> sketch = log.ec.sketch("p", "y", exact=True)
        >>> sketch.cost_curve("nec", cost_fn=2).rows()
        [(inf, 2.0), (0.7, 1.0), (0.4, 1.5), (0.1, 0.5), (-inf, 1.0)]
        """
        keywords = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "prior": prior, "beta": beta, "p_t": p_t}
        return curves.cost_curve(self, metrics, self._at_own_point(keywords), interval)

    @checked_keywords
    def best_threshold(
        self,
        metric: str,
        *,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
    ) -> pl.DataFrame:
        """The threshold of the best value of a metric, per group; apply it to another log, for this one has seen the labels.

        So it has no interval: the value is the best of many, above what the same threshold would give elsewhere. Evaluate it there.

        Parameters
        ----------
        metric
            A metric of decisions.
        costs, cost_fn, cost_fp, prior, beta, p_t
            As for `evaluate`.

        Returns
        -------
        The group columns, `threshold` (decide positive above it; the highest on ties) and the metric there, null where it is
        not defined anywhere.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
        >>> sketch = log.ec.sketch("p", "y", exact=True)
        >>> sketch.best_threshold("f1").rows()
        [(0.1, 0.8)]
        """
        keywords = {"costs": costs, "cost_fn": cost_fn, "cost_fp": cost_fp, "prior": prior, "beta": beta, "p_t": p_t}
        return thresholds.best_threshold(self, metric, self._at_own_point(keywords))
