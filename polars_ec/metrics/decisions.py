"""Decision metrics: functions of the rates R, the priors P and the costs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.keywords import BY_ROW, parse_options
from polars_ec.arguments.options import DcfOptions, DecisionOptions
from polars_ec.arguments.scales import DECISION, LLR, scale_of, score_type_of
from polars_ec.arguments.signatures import with_options
from polars_ec.formulas.decisions import Arguments, decision_value
from polars_ec.scores.read import Rows, per_group
from polars_ec.typing import IntoExpr

NOT_BINARY = "More than two classes or decisions."
"""An error that metrics of two classes and two decisions have in common."""


def decision_metric(
    name: str,
    score: IntoExpr,
    label: IntoExpr,
    options: Mapping[str, Any],
    by_row: Collection[str] = BY_ROW,
    *,
    column: str | None = None,
    **arguments: Any,
) -> pl.Expr:
    """Build the expression of the decision metric with this name, for a column that may be named after another one."""

    def build(rows: Rows) -> pl.Expr:
        sums = rows.sums()
        return sums.guarded(decision_value(name, sums, Arguments(rows.costs, **arguments)))

    return per_group(column or name, score, label, parse_options(options, by_row), build)


@with_options(DecisionOptions)
def expected_cost(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Expected cost (EC) of the decisions, in units of the costs.

    Lower is better; in [least cost, largest cost]. EC = sum_ij c_ij P_i R_ij.

    If `cost_fn` or `cost_fp` is a column, it is sum_i P_i times the mean over class i of the cost of each row's decision. The naive cost in
    `nec` then uses the mean cost of a constant decision over the rows of each class.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.expected_cost("p", "y", cost_fn=4).round(4)).item()
    0.2
    """
    return decision_metric("expected_cost", score, label, options)


@with_options(DecisionOptions, raises="A negative cost: pass `costs.normalized()`.")
def nec(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Expected cost normalised by the cost of the naive system, which ignores the score and always makes the cheapest decision.

    Lower is better; in [0, inf): 0 is perfect, 1 is naive, above 1 is worse than ignoring the score. NEC = EC / min_j sum_i P_i c_ij, with EC
    = sum_ij c_ij P_i R_ij. If even right decisions cost something, a perfect system is above 0. To count only the cost beyond the best
    decision for each class, pass `costs.normalized()`, which subtracts the minimum of each row. Then decisions stay the same, and 0 is
    perfect again.

    Returns
    -------
    Float64, one per group; null if the naive cost is 0 or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 3.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.nec("p", "y", cost_fn=4).round(4)).item()
    0.3333
    >>> costs = ec.CostMatrix([[1, 4], [2, 1.5]])
    >>> log.select(ec.nec("p", "y", costs=costs).round(3)).item()
    0.929
    >>> log.select(ec.nec("p", "y", costs=costs.normalized()).round(3)).item()
    0.5
    """
    return decision_metric("nec", score, label, options)


@with_options(DecisionOptions)
def error_rate(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Share of rows whose decision is not their class; abstaining counts as an error.

    Lower is better; in [0, 1]. sum_i P_i (1 - R_ii), the expected cost at 0-1 costs. The costs or the threshold passed determine only the
    decisions.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 5.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.error_rate("p", "y").round(4)).item()
    0.4
    """
    return decision_metric("error_rate", score, label, options)


@with_options(DecisionOptions)
def accuracy(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Share of rows whose decision is their class.

    Higher is better; in [0, 1]. sum_i P_i R_ii.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 5.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.accuracy("p", "y").round(4)).item()
    0.6
    """
    return decision_metric("accuracy", score, label, options)


@with_options(DecisionOptions)
def balanced_error_rate(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the share of the class with wrong decisions; it does not depend on priors.

    Lower is better; in [0, 1]. (1/K) sum_i (1 - R_ii).

    Returns
    -------
    Float64, one per group; null if any class has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 6.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.balanced_error_rate("p", "y").round(4)).item()
    0.4167
    """
    return decision_metric("balanced_error_rate", score, label, options)


@with_options(DecisionOptions)
def balanced_accuracy(score: IntoExpr, label: IntoExpr, **options: Unpack[DecisionOptions]) -> pl.Expr:
    """Mean over classes of the share of the class with right decisions; it does not depend on priors.

    Higher is better; in [0, 1]. (1/K) sum_i R_ii.

    Returns
    -------
    Float64, one per group; null if any class has no rows.

    References
    ----------
    Ferrer, "The expected cost", Eq. 6.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1, 0.2], "y": [1, 1, 0, 0, 0]})
    >>> log.select(ec.balanced_accuracy("p", "y").round(4)).item()
    0.5833
    """
    return decision_metric("balanced_accuracy", score, label, options)


@with_options(DcfOptions, raises='No `prior`; a `score_type` other than "llr" or "decision".')
def dcf(score: IntoExpr, label: IntoExpr, **options: Unpack[DcfOptions]) -> pl.Expr:
    """Normalised detection cost (actual DCF) of log-likelihood ratios at a stated prior and costs.

    Lower is better; in [0, inf): 0 is perfect, 1 is naive. (P_1 C_fn R_10 + P_0 C_fp R_01) / min(P_1 C_fn, P_0 C_fp), the NEC at the costs
    C_fn and C_fp. Rows are decided positive if the LLR is above ln(C_fp/C_fn) - ln(P_1/P_0).

    Returns
    -------
    Float64, one per group; null if the naive cost is 0 or a class with prior above 0 has no rows.

    References
    ----------
    Cumani, "Bayes decisions and model evaluation", section on normalised DCF.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -0.5, -1.0, -3.0], "y": [1, 1, 0, 0]})
    >>> log.select(ec.dcf("llr", "y", score_type="llr", prior=0.5).round(4)).item()
    0.5
    """
    if scale_of(options) not in (LLR, DECISION):
        raise ValueError(
            f"dcf needs log-likelihood ratios, but score_type={score_type_of(options)!r}: convert with llr(score, "
            "prior) and pass score_type='llr', or use nec() for posteriors"
        )
    if options.get("prior") is None:
        raise ValueError("dcf needs prior=, the prior of the positive class. For the group's own base rate use nec()")
    return decision_metric("dcf", score, label, options, ["threshold"])
