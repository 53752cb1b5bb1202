"""Expected proper scoring rules, which measure the quality of posteriors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.keywords import parse_options
from polars_ec.arguments.options import PriorOptions, RowOptions, RowRiskOptions
from polars_ec.arguments.scales import DECISION, LLR, scale_of, score_type_of
from polars_ec.arguments.signatures import with_options
from polars_ec.formulas.beta_loss import BetaLoss
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.sums import ratio, sum_where
from polars_ec.metrics.decisions import decision_metric
from polars_ec.scores.read import Rows, RowSums, per_group
from polars_ec.typing import IntoExpr

_NOT_DECISIONS = "Decisions instead of scores."


def _expected(
    name: str,
    score: IntoExpr,
    label: IntoExpr,
    options: Mapping[str, Any],
    loss: Callable[[Rows], pl.Expr] | None = None,
) -> pl.Expr:
    rule = SCORING_RULES.get(name, SCORING_RULES["cross_entropy"])

    def build(rows: Rows) -> pl.Expr:
        sums = rows.sums()
        if loss is not None:
            assert isinstance(sums, RowSums)
            return sums.guarded(rule.value(sums, sums.totals_of(loss(rows))))
        weigh_alike = rows.prior is None and rows.weight is None
        if isinstance(sums, RowSums) and weigh_alike and rows.options.scale.is_share:
            # One sum for all classes. Of other losses it may be more than a float holds where none of each class is.
            expected = ratio(sum_where(rows.present, rows.loss(rule.loss)), sums.size)
            return sums.guarded(rule.normalised(sums, expected))
        return sums.guarded(rule.value(sums, sums.totals(rule.loss)))

    return per_group(name, score, label, parse_options(options), build)


@with_options(PriorOptions, raises=_NOT_DECISIONS)
def cross_entropy(score: IntoExpr, label: IntoExpr, **options: Unpack[PriorOptions]) -> pl.Expr:
    """Cross-entropy (CE, log loss): the expected negative natural logarithm of the posterior of the true class.

    Lower is better; in [0, inf] nats; inf if the true class of a row has posterior 0. sum_i P_i mean over class i of -ln q_i.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eqs. 6 and 8.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.cross_entropy("p", "y").round(4)).item()
    0.5827
    """
    return _expected("cross_entropy", score, label, options)


@with_options(PriorOptions, raises=_NOT_DECISIONS)
def nce(score: IntoExpr, label: IntoExpr, **options: Unpack[PriorOptions]) -> pl.Expr:
    """Cross-entropy normalised by that of a system that always returns the prior.

    Lower is better; in [0, inf]: 0 is perfect, 1 is naive. CE / (-sum_i P_i ln P_i), with CE the `cross_entropy`.

    Returns
    -------
    Float64, one per group; null if one class has all the prior, or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.3.2.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.nce("p", "y").round(4)).item()
    0.8407
    """
    return _expected("nce", score, label, options)


@with_options(PriorOptions, raises=_NOT_DECISIONS)
def brier(score: IntoExpr, label: IntoExpr, **options: Unpack[PriorOptions]) -> pl.Expr:
    """Brier score (BS): the expected squared error of the posteriors, averaged over the K classes.

    Lower is better; in [0, 2/K]. sum_i P_i mean over class i of (1/K) sum_k (q_k - [k = i])^2; for two classes this is the squared error of
    q_1. Multiply by K for the convention that sums over the classes.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eq. 9.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.brier("p", "y").round(4)).item()
    0.2175
    """
    return _expected("brier", score, label, options)


@with_options(PriorOptions, raises=_NOT_DECISIONS)
def nbs(score: IntoExpr, label: IntoExpr, **options: Unpack[PriorOptions]) -> pl.Expr:
    """Brier score normalised by that of a system that always returns the prior.

    Lower is better; in [0, inf): 0 is perfect, 1 is naive. BS / (sum_i P_i (1 - P_i) / K), with BS the `brier`.

    Returns
    -------
    Float64, one per group; null if one class has all the prior, or a class with prior above 0 has no rows.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", section 2.3.3.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.nbs("p", "y").round(4)).item()
    0.87
    """
    return _expected("nbs", score, label, options)


@with_options(RowRiskOptions, raises=_NOT_DECISIONS)
def bayes_risk(score: IntoExpr, label: IntoExpr, **options: Unpack[RowRiskOptions]) -> pl.Expr:
    """Expected cost of the Bayes decisions from the posteriors: the expected proper scoring rule of a cost matrix.

    Lower is better; in [least cost, largest cost]. sum_i P_i mean over class i of c_ij with j = argmin_j sum_k c_kj q_k. Divided by the naive
    cost it is `nec`.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eqs. 1, 2 and 7.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.bayes_risk("p", "y", cost_fn=4)).item()
    0.25
    """
    if scale_of(options) is DECISION:
        raise ValueError("bayes_risk needs posteriors, and score_type='decision' has none: use expected_cost")
    return decision_metric("bayes_risk", score, label, options)


@with_options(
    RowOptions, raises='A `score_type` other than "llr": posteriors contain a prior, which `llr(score, prior)` removes.'
)
def cllr(score: IntoExpr, label: IntoExpr, **options: Unpack[RowOptions]) -> pl.Expr:
    """Cost of log-likelihood ratios (Cllr): their cross-entropy at a prior of 0.5, in bits.

    Lower is better; in [0, inf]: LLRs of 0 have 1. (1/2) (mean over class 1 of log2(1 + e^-LLR) + mean over class 0 of log2(1 + e^LLR)). It
    is the `nce` at prior 0.5.

    Parameters
    ----------
    score
        Column name or expression: natural log-likelihood ratios.
    score_type
        It must be "llr", log-likelihood ratios.

    Returns
    -------
    Float64, one per group; null if a class has no rows.

    References
    ----------
    Brümmer and du Preez, "Application-independent evaluation of speaker detection", 2006; Ferrer and Ramos, "Evaluating posterior
    probabilities", Eq. 8.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"llr": [2.0, -0.5, 1.0, -3.0], "y": [1, 1, 0, 0]})
    >>> log.select(ec.cllr("llr", "y", score_type="llr").round(4)).item()
    0.8883
    """
    if scale_of(options) is not LLR:
        raise ValueError(
            f"cllr needs log-likelihood ratios, but score_type={score_type_of(options)!r}: convert with llr(score, "
            "prior), where prior is the one that the posteriors were made with, and pass score_type='llr'"
        )
    return _expected("cllr", score, label, {**options, "prior": 0.5}, lambda rows: rows.loss("log_loss") / math.log(2))


@with_options(PriorOptions, raises=f"`a` or `b` outside [0.001, 20]; more than two classes. {_NOT_DECISIONS}")
def epsr(
    score: IntoExpr, label: IntoExpr, *, a: float = 1.0, b: float = 1.0, **options: Unpack[PriorOptions]
) -> pl.Expr:
    """Expected proper scoring rule for two classes, with the Beta(a, b) density as weight over operating points.

    Lower is better; in [0, inf]. It is the integral over t of w(t) times the Bayes risk at the costs [[0, 1/(1-t)], [1/t, 0]], with w(t) =
    t^(a-1) (1-t)^(b-1) / B(a, b). These costs decide positive if the posterior is above t. With a = b = 1 all operating points have the same
    weight, and it is the cross-entropy in nats. With a = b = 2 it is 3 times the Brier score. A large `a` emphasises high thresholds (costly
    false alarms), a large `b` low ones (costly misses).

    Parameters
    ----------
    a, b
        Parameters of the Beta density, from 0.001 to 20.

    Returns
    -------
    Float64, one per group; null if a class with prior above 0 has no rows. The loss of each row is computed from series with an error below
    1e-10.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eqs. 10 to 12; Buja, Stuetzle and Shen, "Loss functions for binary class
    probability estimation", 2005 (the Beta family).

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> log.select(ec.epsr("p", "y", a=2, b=2).round(4)).item()
    0.6525
    """
    positive, negative = BetaLoss.of(a, b), BetaLoss.of(b, a)

    def loss(rows: Rows) -> pl.Expr:
        if len(rows.labels.in_class) != 2:
            raise ValueError(f"epsr is for two classes, but there are {len(rows.labels.in_class)}")
        if (a, b) == (1, 1):
            return rows.loss("log_loss")
        positives = rows.labels.in_class[1]
        return rows.scores.of_posteriors(
            lambda q: pl.when(positives).then(positive.loss(q[1], q[0])).otherwise(negative.loss(q[0], q[1]))
        )

    return _expected("epsr", score, label, options, loss)
