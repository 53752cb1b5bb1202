"""From a log to its sketch, and from a sketch to the costs that somebody has in fact chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack

import polars as pl

from polars_ec.cells.cells import check_keys
from polars_ec.cells.make import Clusters, Split, make_cells
from polars_ec.cells.thresholds import cost_of_sensitivity, cost_of_threshold
from polars_ec.costs import CostMatrix, Costs
from polars_ec.inputs import as_lazy
from polars_ec.options import SketchOptions
from polars_ec.priors import Prior
from polars_ec.rows.folds import BUCKETS
from polars_ec.signatures import checked_keywords, with_options
from polars_ec.sketches import Sketch, sketch_of
from polars_ec.typing import FrameLike, IntoExpr, Reduction


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
    frame
        The log, a frame of Polars or of another library.
    score
        Column name or expression. One number a row, of two classes; or a vector of K a row, which `reduction` makes binary.
        Several (models), all of one kind, are sketched in the same pass, and add a group column `score` with their names.
    label
        Column name or expression.
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
        split=Split(folds, fold_by, stratified),
        clusters=Clusters(cluster, buckets),
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
                raise TypeError(
                    f"{name}={value!r} is of a metric of decisions, and 'sensitivity' takes sensitivity= alone"
                )
        return cost_of_sensitivity(sketch, 0.95 if sensitivity is None else sensitivity)
    if sensitivity is not None:
        raise TypeError(f"sensitivity={sensitivity!r} is of the metric 'sensitivity', and the metric is {metric!r}")
    check_keys(sketch.keys, ["cost_fn"])
    return sketch.best_threshold(metric, **keywords).with_columns(cost_fn=cost_of_threshold(sketch.grid))
