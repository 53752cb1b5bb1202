"""Exact ranking metrics, computed in memory from the rows of small groups.

They sort the rows of a group, so they do not stream. For data larger than memory use a sketch, which provides the same metrics with a bound
on their error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.keywords import parse_options
from polars_ec.arguments.options import (
    PriorOptions,
    RankingDetectionOptions,
    RankingOptions,
    RankingPriorOptions,
    RankingRiskOptions,
    RowOptions,
)
from polars_ec.arguments.signatures import with_options
from polars_ec.formulas.class_areas import area_of_ranks
from polars_ec.formulas.ranking import RankingArguments, checked_method, checked_share, exact_values
from polars_ec.formulas.table_sums import Part
from polars_ec.scores.counted import of_all_groups
from polars_ec.scores.read import Rows, per_group
from polars_ec.scores.scores import BinaryScores, ManyScores
from polars_ec.typing import EerMethod, IntoExpr

_NUMBER = "Column name or expression: one number per row, higher for the positive class; `score_type` says what it is."
_NOT_NUMBERS = "Scores that are not one number per row."
_WRONG_COSTS = f"Costs that are not 2 x 2, or in which an error costs less than a right decision. {_NOT_NUMBERS}"
_VECTOR = "Column name or expression: one number per class and row; `score_type` says what they are."
_NOT_VECTORS = "Scores that are not one number per class."


def _ranked(
    name: str,
    score: IntoExpr,
    label: IntoExpr,
    options: Mapping[str, Any],
    *,
    method: EerMethod = "hull",
    **shares: float,
) -> pl.Expr:
    def build(rows: Rows) -> pl.Expr:
        if not isinstance(rows.scores, BinaryScores):
            other = ", or macro_auc_roc for all classes" if name == "auc_roc" else ""
            raise TypeError(f"{name} is for one number per row: use the posterior of one class against the rest{other}")
        if name.startswith(("min_", "best_")):
            rows.costs.margins()
        columns = {
            "usable": rows.usable,
            "invalid": rows.invalid,
            "score": rows.scores.score,
            "positive": rows.labels.in_class[1],
        }
        if name == "auc_roc" and rows.weight is None:
            score, positive = (columns[column].filter(rows.usable) for column in ("score", "positive"))
            return pl.when(~rows.invalid.any()).then(area_of_ranks(score, positive))
        if rows.weight is not None:
            columns["weight"] = rows.weight
        if rows.row_prior is not None:
            columns |= {f"p{i}": share for i, share in enumerate(rows.row_prior)}
        arguments = RankingArguments(rows.costs, method=method, **shares)
        return of_all_groups(columns, lambda of_groups: exact_values(of_groups, name, arguments))

    return per_group(name, score, label, parse_options(options, ranking=True), build)


def _check_costs(options: Mapping[str, Any]) -> None:
    """ValueError at the call, unless the costs have to be put in the order of the classes first."""
    costs = parse_options(options, ranking=True).costs(2)
    if not costs.names_classes:
        costs.margins()


@with_options(RankingOptions, score=_NUMBER, raises=_NOT_NUMBERS)
def auc_roc(score: IntoExpr, label: IntoExpr, **options: Unpack[RankingOptions]) -> pl.Expr:
    """Area under the ROC curve: the probability that a positive scores above a negative, with ties counting half.

    Higher is better; in [0, 1]: 0.5 is random order. P(s_1 > s_0) + P(s_1 = s_0)/2 for scores s_1 of a positive and s_0 of a negative. It
    does not depend on priors.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Hanley and McNeil, "The meaning and use of the area under a ROC curve", 1982.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.auc_roc("p", "y").round(4)).item()
    0.75
    """
    return _ranked("auc_roc", score, label, options)


def _averaged(name: str, area: str, score: IntoExpr, label: IntoExpr, options: Mapping[str, Any]) -> pl.Expr:
    def build(rows: Rows) -> pl.Expr:
        if not isinstance(rows.scores, ManyScores):
            raise TypeError(f"{name} is for one number per class: use auc_roc for one number per row")
        sums = rows.collected()
        return sums.guarded(sums.part(Part(area, loss=rows.scores.order, one=True)))

    return per_group(name, score, label, parse_options(options), build, kernel_above=1)


@with_options(PriorOptions, score=_VECTOR, raises=_NOT_VECTORS)
def macro_auc_roc(score: IntoExpr, label: IntoExpr, **options: Unpack[PriorOptions]) -> pl.Expr:
    """Mean over classes of the area under the ROC curve of each class against the rest.

    Higher is better; in [0, 1]: 0.5 is random order. (1/K) sum_k A_k, where A_k is the `auc_roc` of q_k for class k. The priors weigh the
    classes of the rest: at "uniform" it equals `pairwise_auc_roc`.

    Returns
    -------
    Float64, one per group; null if a class has no rows, or prior 1.

    References
    ----------
    Fawcett, "An introduction to ROC analysis", 2006, with equal weights; `roc_auc_score(multi_class="ovr")` in scikit-learn.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> q = [[0.6, 0.3, 0.1], [0.3, 0.5, 0.2], [0.4, 0.2, 0.4], [0.5, 0.4, 0.1]]
    >>> log = pl.DataFrame({"q": q, "y": [1, 2, 1, 0]}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    >>> log.select(ec.macro_auc_roc("q", "y").round(4)).item()
    0.4444
    >>> log.select(ec.macro_auc_roc("q", "y", prior="uniform").round(4)).item()
    0.5
    """
    return _averaged("macro_auc_roc", "macro_area", score, label, options)


@with_options(PriorOptions, score=_VECTOR, raises=_NOT_VECTORS)
def weighted_auc_roc(score: IntoExpr, label: IntoExpr, **options: Unpack[PriorOptions]) -> pl.Expr:
    """Mean over classes of the area under the ROC curve of each class against the rest, weighted by the priors.

    Higher is better; in [0, 1]: 0.5 is random order. sum_k P_k A_k, where A_k is the `auc_roc` of q_k for class k. The priors also weigh the
    classes of the rest.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows, or a class has prior 1.

    References
    ----------
    Provost and Domingos, "Well-trained PETs", 2000; Fawcett, "An introduction to ROC analysis", 2006.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> q = [[0.6, 0.3, 0.1], [0.3, 0.5, 0.2], [0.4, 0.2, 0.4], [0.5, 0.4, 0.1]]
    >>> log = pl.DataFrame({"q": q, "y": [1, 2, 1, 0]}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    >>> log.select(ec.weighted_auc_roc("q", "y").round(4)).item()
    0.3333
    """
    return _averaged("weighted_auc_roc", "weighted_area", score, label, options)


@with_options(RowOptions, score=_VECTOR, raises=_NOT_VECTORS)
def pairwise_auc_roc(score: IntoExpr, label: IntoExpr, **options: Unpack[RowOptions]) -> pl.Expr:
    """Mean over pairs of classes of the area under the ROC curve of one against the other, by Hand and Till.

    Higher is better; in [0, 1]: 0.5 is random order. 1/(K (K - 1)) sum_(k != i) A_ki, where A_ki is the `auc_roc` of q_k for class k among the
    rows of k and i. It does not depend on priors. Log-likelihoods become posteriors at equal priors.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Hand and Till, "A simple generalisation of the area under the ROC curve for multiple class classification problems", 2001, Eq. 7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> q = [[0.6, 0.3, 0.1], [0.3, 0.5, 0.2], [0.4, 0.2, 0.4], [0.5, 0.4, 0.1]]
    >>> log = pl.DataFrame({"q": q, "y": [1, 2, 1, 0]}, schema_overrides={"q": pl.Array(pl.Float64, 3)})
    >>> log.select(ec.pairwise_auc_roc("q", "y").round(4)).item()
    0.5
    """
    # At equal priors every pair weighs the same in the mean of each class against the rest.
    return _averaged("pairwise_auc_roc", "macro_area", score, label, {**options, "prior": "uniform"})


@with_options(RankingPriorOptions, score=_NUMBER, raises=_NOT_NUMBERS)
def average_precision(score: IntoExpr, label: IntoExpr, **options: Unpack[RankingPriorOptions]) -> pl.Expr:
    """Average precision: the area under the precision-recall curve, as a step sum; with `prior`, calibrated.

    Higher is better; in [0, 1]. Sum over the distinct scores t, highest first, of the increase in recall at t times the precision of deciding
    positive from t up.

    Returns
    -------
    Float64, one per group; null if a class has no rows or the prior is 0.

    References
    ----------
    Siblini et al., "Master your metrics with calibration", section 3.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.average_precision("p", "y").round(4)).item()
    0.8333
    """
    return _ranked("average_precision", score, label, options)


@with_options(RankingPriorOptions, score=_NUMBER, raises=_NOT_NUMBERS)
def auprg(score: IntoExpr, label: IntoExpr, **options: Unpack[RankingPriorOptions]) -> pl.Expr:
    """Area under the precision-recall-gain curve; with `prior`, calibrated.

    Higher is better; at most 1, and 0 is as good as deciding every case positive. Trapezoids of precision gain over recall gain, from recall
    gain 0 (interpolated linearly in TP and FP) to 1.

    Returns
    -------
    Float64, one per group; null if a class has no rows or the prior is 0 or 1.

    References
    ----------
    Flach and Kull, "Precision-recall-gain curves", 2015; Siblini et al., "Master your metrics with calibration", Eqs. 3 and 4.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.auprg("p", "y").round(4)).item()
    0.25
    """
    return _ranked("auprg", score, label, options)


@with_options(RankingOptions, score=_NUMBER, raises=f"An unknown `method`. {_NOT_NUMBERS}")
def eer(score: IntoExpr, label: IntoExpr, *, method: EerMethod = "hull", **options: Unpack[RankingOptions]) -> pl.Expr:
    """Equal error rate: the error rate at the threshold where false-negative and false-positive rate are equal.

    Lower is better; in [0, 1], and at most 0.5 on the convex hull. The value of FPR and FNR where FPR = FNR, on the ROC curve or its convex
    hull.

    Parameters
    ----------
    method
        "hull": on the convex hull of the ROC curve. "linear": between the two points of the curve around FPR = FNR.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Brümmer and de Villiers, "The BOSARIS toolkit", 2013, for the hull.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.eer("p", "y").round(4)).item()
    0.25
    """
    return _ranked("eer", score, label, options, method=checked_method(method))


@with_options(RankingRiskOptions, score=_NUMBER, raises=_WRONG_COSTS)
def min_expected_cost(score: IntoExpr, label: IntoExpr, **options: Unpack[RankingRiskOptions]) -> pl.Expr:
    """Expected cost at the best threshold for these rows, in units of the costs.

    Lower is better; in [least cost, largest cost]. min over t of the EC of (score > t). It is optimistic, because the threshold is chosen
    with the labels.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Ferrer, "The expected cost", section 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.min_expected_cost("p", "y").round(4)).item()
    0.25
    """
    _check_costs(options)
    return _ranked("min_expected_cost", score, label, options)


@with_options(RankingRiskOptions, score=_NUMBER, raises=_WRONG_COSTS)
def best_threshold(score: IntoExpr, label: IntoExpr, **options: Unpack[RankingRiskOptions]) -> pl.Expr:
    """Threshold with the least expected cost for these rows, on the scale of the score.

    argmin over t of the EC of (score > t); on ties the highest t. It is a score of these rows, or inf if no row is decided positive at it,
    or -inf if every row is. Apply it to other rows with `threshold=`: on these rows its cost is `min_expected_cost`, which is optimistic.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Ferrer, "The expected cost", section 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.best_threshold("p", "y", cost_fn=3)).item()
    0.1
    """
    _check_costs(options)
    return _ranked("best_threshold", score, label, options)


@with_options(RankingDetectionOptions, score=_NUMBER, raises=_NOT_NUMBERS)
def min_dcf(score: IntoExpr, label: IntoExpr, **options: Unpack[RankingDetectionOptions]) -> pl.Expr:
    """Detection cost at the best threshold for these rows, divided by that of the naive system.

    Lower is better; in [0, 1]. min over t of the EC of (score > t), divided by min(P_1 C_fn, P_0 C_fp), with the costs C_fn and C_fp. It is
    optimistic, because the threshold is chosen with the labels.

    Returns
    -------
    Float64, one per group; null if a class has no rows or the naive cost is 0.

    References
    ----------
    Cumani, lecture "Bayes decisions and model evaluation".

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.min_dcf("p", "y").round(4)).item()
    0.5
    """
    return _ranked("min_dcf", score, label, options)


@with_options(RankingOptions, score=_NUMBER, raises=f"A `sensitivity` outside (0, 1]. {_NOT_NUMBERS}")
def specificity_at_sensitivity(
    score: IntoExpr, label: IntoExpr, *, sensitivity: float = 0.95, **options: Unpack[RankingOptions]
) -> pl.Expr:
    """Specificity at the highest threshold with at least the given sensitivity.

    Higher is better; in [0, 1]. 1 - FPR of deciding positive from t up, where t is the highest score with TPR >= sensitivity.

    Parameters
    ----------
    sensitivity
        The required sensitivity (recall), above 0 and at most 1.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.6.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.specificity_at_sensitivity("p", "y").round(4)).item()
    0.5
    """
    share = checked_share(sensitivity, "sensitivity")
    return _ranked("specificity_at_sensitivity", score, label, options, sensitivity=share)


@with_options(RankingOptions, score=_NUMBER, raises=f"A `specificity` outside (0, 1]. {_NOT_NUMBERS}")
def sensitivity_at_specificity(
    score: IntoExpr, label: IntoExpr, *, specificity: float = 0.95, **options: Unpack[RankingOptions]
) -> pl.Expr:
    """Sensitivity at the lowest threshold with at least the given specificity.

    Higher is better; in [0, 1]. TPR of deciding positive from t up, where t is the lowest score with 1 - FPR >= specificity; 0 if there is
    none.

    Parameters
    ----------
    specificity
        The required specificity, above 0 and at most 1.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.6, with the classes exchanged.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.sensitivity_at_specificity("p", "y").round(4)).item()
    0.5
    """
    share = checked_share(specificity, "specificity")
    return _ranked("sensitivity_at_specificity", score, label, options, specificity=share)


@with_options(RankingOptions, score=_NUMBER, raises=_NOT_NUMBERS)
def ks(score: IntoExpr, label: IntoExpr, **options: Unpack[RankingOptions]) -> pl.Expr:
    """Kolmogorov-Smirnov distance between the scores of the two classes.

    Higher is better, if positives score higher; in [0, 1]. max over t of |TPR - FPR|, the shares of the positives and of the negatives that
    score above t.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Kolmogorov, 1933; Smirnov, 1948: the two-sample statistic.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.ks("p", "y").round(4)).item()
    0.5
    """
    return _ranked("ks", score, label, options)


@with_options(RankingOptions, score=_NUMBER, raises=_NOT_NUMBERS)
def min_cllr(score: IntoExpr, label: IntoExpr, **options: Unpack[RankingOptions]) -> pl.Expr:
    """Cllr after the best monotone calibration for these rows (pool adjacent violators), in bits.

    Lower is better; in [0, 1]: 1 is uninformative. min over increasing functions f of the `cllr` of f(score): the part of the Cllr that no
    monotone calibration can remove.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Brümmer and du Preez, "Application-independent evaluation of speaker detection", 2006.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.min_cllr("p", "y").round(4)).item()
    0.5
    """
    return _ranked("min_cllr", score, label, options)
