"""Row functions: the decision, cost and losses of each row, and its score on another scale."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any, Unpack, cast

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.costs import CostMatrix
from polars_ec.arguments.keywords import BY_ROW, Options, as_expr, parse_number, parse_options
from polars_ec.arguments.options import (
    LabelledDecisionOptions,
    RowDecisionOptions,
    RowScoreOptions,
    ScoreOptions,
    ScoreTypeOption,
)
from polars_ec.arguments.scales import LLR, LOG_ODDS
from polars_ec.arguments.signatures import with_options
from polars_ec.scores.by_row import RowArguments, decision_per_row, per_row
from polars_ec.scores.read import Rows, per_group
from polars_ec.scores.scores import (
    CLASS,
    DECISION,
    MANY,
    BinaryScores,
    ManyScores,
    Scores,
    affine_log_odds,
    cost_of,
    moved_scores,
    sigmoid,
)
from polars_ec.typing import IntoExpr


@with_options(RowDecisionOptions)
def bayes_decision(score: IntoExpr, **options: Unpack[RowDecisionOptions]) -> pl.Expr:
    """Index of the decision for each row: by the threshold if one is given, else the one with the lowest expected cost.

    argmin over j of sum_i c_ij q_i, lowest index on ties. Binary: 1 if score > threshold, strictly. For a posterior the default threshold is
    cost_fp / (cost_fp + cost_fn).

    Returns
    -------
    Int32, one per row.

    References
    ----------
    Ferrer, "The expected cost", Eqs. 7, 18 to 21.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pl.DataFrame({"p": [0.05, 0.15, 0.6]}).select(ec.bayes_decision("p", cost_fn=9))["p_bayes_decision"].to_list()
    [0, 1, 1]
    """
    return decision_per_row("bayes_decision", score, parse_options(options, BY_ROW))


def _row_loss(
    name: str,
    score: IntoExpr,
    label: IntoExpr,
    options: Mapping[str, Any],
    loss: Callable[[Rows], pl.Expr],
    by_row: Collection[str] = (),
) -> pl.Expr:
    def build(rows: Rows) -> pl.Expr:
        usable = pl.lit(value=True) if isinstance(rows.scores, ManyScores) else rows.usable
        if rows.prior_is_known is not None:
            usable &= rows.prior_is_known
        for fault in rows.decision_faults.values():
            usable &= ~fault
        return pl.when(usable).then(loss(rows))

    return per_group(name, score, label, parse_options(options, by_row), build)


@with_options(LabelledDecisionOptions)
def row_cost(score: IntoExpr, label: IntoExpr, **options: Unpack[LabelledDecisionOptions]) -> pl.Expr:
    """Cost of each row's decision, given its class.

    Lower is better; in [least cost, largest cost]. c_ij for class i and decision j. The mean over rows is the `expected_cost` at the
    empirical priors.

    Returns
    -------
    Float64, one per row.

    References
    ----------
    Ferrer, "The expected cost", Eq. 1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.2], "y": [0, 1]})
    >>> log.select(ec.row_cost("p", "y", cost_fn=3))["p_row_cost"].to_list()
    [1.0, 3.0]
    """

    def cost(rows: Rows) -> pl.Expr:
        if rows.row_costs is not None:
            return pl.when(rows.errors).then(rows.error_cost()).otherwise(0.0)
        if max(rows.costs.n_classes, rows.costs.n_decisions) > MANY:
            return cost_of(rows.cells([CLASS, DECISION]), rows.costs)
        decided = rows.decisions
        value: pl.Expr = pl.lit(0.0)
        for in_class, row in zip(rows.labels.in_class, rows.costs.values, strict=True):
            for different in sorted(set(row) - {0.0}):
                among = decided.among([j for j, c in enumerate(row) if c == different])
                value = pl.when(in_class & among).then(different).otherwise(value)
        return value

    return _row_loss("row_cost", score, label, options, cost, BY_ROW)


@with_options(RowScoreOptions, raises="Decisions.")
def row_log_loss(score: IntoExpr, label: IntoExpr, **options: Unpack[RowScoreOptions]) -> pl.Expr:
    """Log loss of each row: the negative natural logarithm of the posterior of its true class.

    Lower is better; in [0, inf] nats. -ln q_i for class i. The mean over rows is the `cross_entropy` at the empirical priors.

    Returns
    -------
    Float64, one per row.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eq. 8.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.5, 1.0], "y": [0, 0]})
    >>> log.select(ec.row_log_loss("p", "y").round(4))["p_row_log_loss"].to_list()
    [0.6931, inf]
    """
    return _row_loss("row_log_loss", score, label, options, lambda rows: rows.loss("log_loss"))


@with_options(RowScoreOptions, raises="Decisions.")
def row_brier(score: IntoExpr, label: IntoExpr, **options: Unpack[RowScoreOptions]) -> pl.Expr:
    """Brier loss of each row: the mean over classes of the squared error of its posteriors.

    Lower is better; in [0, 2/K]. (1/K) sum_k (q_k - [k = i])^2 for class i. The mean over rows is the `brier` at the empirical priors.

    Returns
    -------
    Float64, one per row.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eq. 9.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.5, 0.9], "y": [0, 1]})
    >>> log.select(ec.row_brier("p", "y").round(4))["p_row_brier"].to_list()
    [0.25, 0.01]
    """
    return _row_loss("row_brier", score, label, options, lambda rows: rows.loss("brier"))


@with_options(ScoreOptions, raises="Decisions.")
def posterior(score: IntoExpr, **options: Unpack[ScoreOptions]) -> pl.Expr:
    """Posterior of each row's score: for the positive class, or for every class with vector scores.

    In [0, 1]. Binary: 1/(1 + e^-x) for log-odds x; an LLR has log-odds of the LLR plus ln(P_1/P_0). Vectors: the softmax of log-likelihoods
    plus ln P.

    Returns
    -------
    Float64, or an Array of K for a vector, one per row.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eq. 38; Cumani, "Bayes decisions and model evaluation".

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> scores = pl.DataFrame({"llr": [0.0]})
    >>> scores.select(ec.posterior("llr", score_type="llr", prior=0.1).round(4)).item()
    0.1
    """

    def build(scores: Scores, _: CostMatrix, __: RowArguments) -> pl.Expr:
        if isinstance(scores, ManyScores):
            return scores.posterior_vector
        return scores.posteriors[1] if isinstance(scores, BinaryScores) else pl.concat_arr(scores.posteriors)

    return per_row("posterior", score, parse_options(options), build)


@with_options(ScoreOptions, raises="A vector; decisions.")
def log_odds(score: IntoExpr, **options: Unpack[ScoreOptions]) -> pl.Expr:
    """Log-odds ln(q_1/q_0) of each row's binary score.

    In [-inf, inf], natural logarithm. For a posterior ln q_1 - ln(1 - q_1), for an LLR the LLR plus ln(P_1/P_0).

    Returns
    -------
    Float64, one per row.

    References
    ----------
    Ferrer, "The expected cost", Eq. 20.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pl.DataFrame({"p": [0.5, 0.9]}).select(ec.log_odds("p").round(4))["p_log_odds"].to_list()
    [0.0, 2.1972]
    """
    return per_row("log_odds", score, parse_options(options), lambda scores, *_: _binary(scores, "log_odds").log_odds)


@with_options(ScoreTypeOption, raises="A `prior` of None; a score that is an LLR already, or a vector.")
def llr(score: IntoExpr, prior: Prior, **options: Unpack[ScoreTypeOption]) -> pl.Expr:
    """Log-likelihood ratio of each row's binary score: its log-odds minus those of its own prior.

    In [-inf, inf], natural logarithm. ln(q_1/q_0) - ln(P_1/P_0).

    Parameters
    ----------
    score
        Column name or expression: one number per row, a posterior or log-odds.
    prior
        The class priors of the scores, most often the base rate of the training data, in the same forms as for `posterior`.

    Returns
    -------
    Float64, one per row; null for infinite log-odds that the prior contradicts.

    References
    ----------
    Cumani, "Bayes decisions and model evaluation".

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pl.DataFrame({"p": [0.1, 0.5]}).select(ec.llr("p", 0.1).round(4))["p_llr"].to_list()
    [0.0, 2.1972]
    """
    checked = parse_options({**options, "prior": prior})
    _needs_posterior(checked, "llr")
    if not checked.prior.stated:
        raise ValueError("llr needs prior=, the one that the scores were made with")

    def build(scores: Scores, _: CostMatrix, stated: RowArguments) -> pl.Expr:
        negative, positive = cast("list[pl.Expr]", stated.priors[0])
        # An infinite log-odds that the prior contradicts has no LLR.
        return (_binary(scores, "llr").log_odds - (positive.log() - negative.log())).fill_nan(None)

    return per_row("llr", score, checked, build)


@with_options(ScoreTypeOption, raises="A prior of None; LLRs, log-likelihoods and decisions, which contain no prior.")
def shift_prior(score: IntoExpr, from_: Prior, to: Prior, **options: Unpack[ScoreTypeOption]) -> pl.Expr:
    """Move scores from one prior to another: posteriors are multiplied by to/from and renormalised.

    The `prior` of a metric weights the classes and keeps the posteriors. This function changes the prior within them. Posteriors become q_i
    to_i/from_i / sum_k q_k to_k/from_k, log-odds x become x + ln(to_1/to_0) - ln(from_1/from_0).

    Parameters
    ----------
    from_, to
        The class priors of the scores, and the target prior, in the same forms as for `posterior`.

    Returns
    -------
    The same kind of score, one per row. The result is also null if a prior column has an invalid value, if `from_` is 0 for a class, or if a
    posterior of 1 meets a target prior of 0.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eq. 38.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pl.DataFrame({"p": [0.5]}).select(ec.shift_prior("p", 0.5, 0.1).round(4)).item()
    0.1
    """
    checked, target = parse_options({**options, "prior": from_}), parse_options({"prior": to}).prior
    _needs_posterior(checked, "shift_prior")
    for name, prior in (("from_", checked.prior), ("to", target)):
        if not prior.stated:
            raise ValueError(f"shift_prior needs {name}: pass a prior")
    if checked.prior.shares is not None and 0.0 in checked.prior.shares:
        raise ValueError(f"from_={from_!r} has a class of prior 0, which posteriors cannot have")

    return per_row("shift_prior", score, checked, lambda scores, _, given: moved_scores(scores, *given.priors), target)


@with_options(ScoreTypeOption, raises="A vector; decisions.")
def affine(
    score: IntoExpr, alpha: float | IntoExpr, beta: float | IntoExpr, **options: Unpack[ScoreTypeOption]
) -> pl.Expr:
    """Calibrated posterior of each row's binary score, from an affine function of its log-odds.

    In [0, 1]. 1/(1 + e^-(alpha x + beta)) for log-odds x; with alpha = 0 it is 1/(1 + e^-beta), even if x is infinite. Temperature scaling
    has beta = 0 and the inverse of the temperature as alpha.

    Parameters
    ----------
    alpha, beta
        Numbers, column names or expressions, such as the columns of a `Calibration` that was joined to the rows.
    score_type
        The kind of score, one number per row, as for `log_odds`. LLRs are treated as log-odds, and need no prior.

    Returns
    -------
    Float64, one per row; null if `alpha` or `beta` is null or not finite.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eq. 23.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> pl.DataFrame({"p": [0.01, 0.5, 0.99]}).select(ec.affine("p", 0.5, 0.0).round(4))["p_affine"].to_list()
    [0.0913, 0.5, 0.9087]
    """
    checked = parse_options(options)
    if checked.scale is LLR:
        checked = replace(checked, scale=LOG_ODDS)
    slope, shift = _parameter(alpha, "alpha"), _parameter(beta, "beta")

    def build(scores: Scores, _: CostMatrix, __: RowArguments) -> pl.Expr:
        calibrated = affine_log_odds(_binary(scores, "affine").log_odds, slope, shift)
        return pl.when(slope.is_finite() & shift.is_finite()).then(sigmoid(calibrated))

    return per_row("affine", score, checked, build)


def _parameter(value: float | IntoExpr, what: str) -> pl.Expr:
    if isinstance(value, str | pl.Expr):
        return pl.pipe_with_dtype([as_expr(value, what)], lambda inputs: _number(*inputs[0], what))
    return pl.lit(parse_number(value, what), dtype=pl.Float64)


def _number(column: pl.Expr, dtype: pl.DataType, what: str) -> pl.Expr:
    if not (dtype.is_numeric() or dtype == pl.Null):
        raise TypeError(f"{what} must be a number, and {column.meta.output_name()!r} is {dtype}")
    return column.cast(pl.Float64)


def _binary(scores: Scores, name: str) -> BinaryScores:
    if not isinstance(scores, BinaryScores):
        raise ValueError(
            f"{name} is for one posterior, log-odds or LLR per row: take the ratio of two vector elements first"
        )
    return scores


def _needs_posterior(checked: Options, name: str) -> None:
    if not checked.scale.has_posteriors:
        raise ValueError(f"{name} needs posteriors, and score_type={checked.scale.name!r} has no prior to move")
