"""One-vs-rest metrics of each class, and the frequency of a decision."""

from __future__ import annotations

from operator import index
from typing import Unpack

import polars as pl

from polars_ec.arguments.classes import ClassNames
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import BY_ROW, parse_options
from polars_ec.arguments.options import DecisionOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.formulas.decisions import Arguments, decision_value
from polars_ec.metrics.decisions import decision_metric
from polars_ec.scores.read import Rows, decision_names, per_group
from polars_ec.typing import IntoExpr


@with_options(DecisionOptions)
def class_precision(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """One-vs-rest precision of each class: the share of the decisions for it that are right.

    Higher is better; each in [0, 1]. P_k R_kk / sum_i P_i R_ik for class k. Other decisions, such as to abstain, are for no class.

    Returns
    -------
    Array of Float64, one value per class and one Array per group; null if the group has no usable rows. The value of a class is null if no
    row is decided for it, or another class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.class_precision("d", "y", score_type="decision", costs=costs)).item().round(4).to_list()
    [0.6667, 0.5, 1.0]
    """
    return decision_metric("class_precision", score, label, options)


@with_options(DecisionOptions)
def class_recall(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Recall of each class: the share of its rows that are decided for it; it does not depend on priors.

    Higher is better; each in [0, 1]. R_kk = N_kk / N_k for class k.

    Returns
    -------
    Array of Float64, one value per class and one Array per group; null if the group has no usable rows. The value of a class is null if it
    has no rows.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.class_recall("d", "y", score_type="decision", costs=costs)).item().round(4).to_list()
    [1.0, 0.5, 0.5]
    """
    return decision_metric("class_recall", score, label, options)


@with_options(DecisionOptions)
def class_f1(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """One-vs-rest F1 of each class.

    Higher is better; each in [0, 1]. 2 P_k R_kk / (P_k + sum_i P_i R_ik) for class k.

    Returns
    -------
    Array of Float64, one value per class and one Array per group; null if the group has no usable rows. The value of a class is null if its
    prior is 0 and no row is decided for it, or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.class_f1("d", "y", score_type="decision", costs=costs)).item().round(4).to_list()
    [0.8, 0.5, 0.6667]
    """
    return decision_metric("class_f1", score, label, options)


@with_options(DecisionOptions)
def class_nec(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """One-vs-rest NEC of each class, with equal costs of a miss and a false alarm.

    Lower is better; each in [0, inf): 1 is naive. (P_k (1 - R_kk) + sum_i P_i R_ik over i != k) / min(P_k, 1 - P_k) for class k. The costs or
    the threshold passed determine only the decisions.

    Returns
    -------
    Array of Float64, one value per class and one Array per group; null if the group has no usable rows. The value of a class is null if its
    prior is 0 or 1, or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 3; "Analysis and comparison of classification metrics", section 4.7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"d": [0, 0, 0, 1, 1, 2], "y": [0, 0, 1, 1, 2, 2]})
    >>> costs = ec.CostMatrix.zero_one(3)
    >>> log.select(ec.class_nec("d", "y", score_type="decision", costs=costs)).item().round(4).to_list()
    [0.5, 1.0, 0.5]
    """
    return decision_metric("class_nec", score, label, options)


@with_options(DecisionOptions, raises="An unknown decision.")
def decision_share(
    score: IntoExpr, label: IntoExpr, decision: int | str | None = None, **options: Unpack[DecisionOptions]
) -> pl.Expr:
    """Share of rows with this decision: the selection rate, the alert rate or the share of abstentions.

    In [0, 1]; neither direction is better. R_*j = sum_i P_i R_ij for decision j.

    Parameters
    ----------
    decision
        Its index, from 0, its name in the costs, or the name of its class. Default None: 1, the positive one, if there are two decisions.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", section 3.1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> abstain = ec.CostMatrix.zero_one(2, abstain=0.25)
    >>> log.select(alerts=ec.decision_share("p", "y"), left=ec.decision_share("p", "y", "abstain", costs=abstain)).row(0)
    (0.4, 0.4)
    """
    is_index = hasattr(decision, "__index__") and not isinstance(decision, bool)
    if not (is_index or isinstance(decision, str | None)):
        raise TypeError(f"decision={decision!r} is not the index or the name of a decision")

    def build(rows: Rows) -> pl.Expr:
        sums = rows.sums()
        place = _place(decision, rows.costs, rows.class_names)
        return sums.guarded(decision_value("decision_share", sums, Arguments(rows.costs, decision=place)))

    return per_group("decision_share", score, label, parse_options(options, BY_ROW), build)


def _place(decision: int | str | None, costs: CostMatrix, classes: ClassNames) -> int:
    if decision is None:
        if costs.n_decisions != 2:
            raise ValueError(f"there are {costs.n_decisions} decisions: pass decision=, the index or the name of one")
        return 1
    if isinstance(decision, str):
        names = decision_names(classes, costs) or list(costs.decisions)
        if decision not in names:
            raise ValueError(f"decision={decision!r} is not the name of a decision. They are {names}")
        return names.index(decision)
    if not 0 <= index(decision) < costs.n_decisions:
        raise ValueError(
            f"decision={decision!r} is not the index of a decision. There are {costs.n_decisions}: 0 to {costs.n_decisions - 1}"
        )
    return index(decision)
