"""Divergence of posteriors from reference posteriors, and the expected scores if the reference is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import add, or_
from typing import Any, Unpack

import polars as pl

from polars_ec.arguments.classes import ClassNames
from polars_ec.arguments.keywords import as_expr, parse_options
from polars_ec.arguments.options import DivergenceOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.formulas.losses import entropy, prior_brier
from polars_ec.formulas.sums import ratio, term
from polars_ec.scores.read import Typed, class_names, n_score_classes, read_numbers, read_scores
from polars_ec.scores.scores import ManyScores, Scores
from polars_ec.scores.two_vectors import mean_comparison
from polars_ec.typing import IntoExpr, ScoringRule

_RowLoss = Callable[[Scores, Scores, int], pl.Expr]
_UNSUITABLE = (
    "An unknown `rule`; scores that are not posteriors; a score and a reference with different numbers of classes."
)


def _log_losses(scores: Scores, n_classes: int) -> list[pl.Expr]:
    """-ln of the posterior of each class: the loss of a row that is of that class."""
    return [scores.log_loss([pl.lit(k == i) for k in range(n_classes)]) for i in range(n_classes)]


def _log_divergence(scores: Scores, reference: Scores, n_classes: int) -> pl.Expr:
    pairs = zip(_log_losses(scores, n_classes), _log_losses(reference, n_classes), strict=True)
    # Rounding may take a difference of equals below 0.
    return _expect(reference, [loss - least for loss, least in pairs]).clip(0)


def _brier_divergence(scores: Scores, reference: Scores, n_classes: int) -> pl.Expr:
    errors = [q - s for q, s in zip(scores.posteriors, reference.posteriors, strict=True)]
    return reduce(add, [error * error for error in errors]) / n_classes


def _expected_brier(scores: Scores, reference: Scores, n_classes: int) -> pl.Expr:
    spread = reduce(add, [s * (1 - s) for s in reference.posteriors]) / n_classes
    return _brier_divergence(scores, reference, n_classes) + spread


def _expect(reference: Scores, losses: list[pl.Expr]) -> pl.Expr:
    """Sum of s_h loss_h, in which a class that the reference rules out adds 0 whatever its loss is."""
    terms = [term(s, loss) for s, loss in zip(reference.posteriors, losses, strict=True)]
    return reduce(add, terms)


_DIVERGENCES: dict[ScoringRule, _RowLoss] = {"cross_entropy": _log_divergence, "brier": _brier_divergence}
_EXPECTED: dict[ScoringRule, _RowLoss] = {
    "cross_entropy": lambda scores, reference, n_classes: _expect(reference, _log_losses(scores, n_classes)),
    "brier": _expected_brier,
}
# The score of always returning s, if the classes follow s.
_NAIVE: dict[ScoringRule, Callable[[pl.Expr], pl.Expr]] = {"cross_entropy": entropy, "brier": prior_brier}


def _mean(
    name: str,
    score: IntoExpr,
    reference: IntoExpr,
    options: Mapping[str, Any],
    losses: Mapping[ScoringRule, _RowLoss],
    rule: ScoringRule,
    normalized: bool = False,
) -> pl.Expr:
    if rule not in losses:
        raise ValueError(f"rule={rule!r} is none of {', '.join(losses)}")
    checked = parse_options(options)
    if not checked.scale.has_posteriors:
        raise ValueError(f"score_type={checked.scale.name!r} has no posteriors, and {name} compares posteriors")
    columns = [as_expr(score, "score"), as_expr(reference, "reference")]
    columns += [] if checked.weight is None else [checked.weight]

    def resolved(inputs: list[Typed]) -> pl.Expr:
        names = [column.meta.output_name() for column, _ in inputs]
        sizes = [n_score_classes(dtype, checked) for _, dtype in inputs[:2]]
        if sizes[0] != sizes[1]:
            raise ValueError(f"{names[0]!r} has {sizes[0]} classes, but the reference {names[1]!r} has {sizes[1]}")
        classes = class_names(inputs[0][1], ClassNames(tuple(range(sizes[0])), stated=False), names[0])
        scores, references = (
            read_scores(column_name, column, dtype, classes, checked, None)
            for column_name, (column, dtype) in zip(names, inputs[:2], strict=False)
        )
        present = ~scores.missing & ~references.missing
        defects = [*scores.defects.values(), *references.defects.values()]
        amount = pl.lit(1.0)
        if checked.weight is not None:
            amount = read_numbers("weights", *inputs[2])
            present &= amount.is_not_null()
            defects.append(~((amount >= 0) & amount.is_finite()))

        def mean_of(value: pl.Expr) -> pl.Expr:
            weighted = value if checked.weight is None else pl.when(amount == 0).then(0.0).otherwise(value * amount)
            return ratio(pl.when(present).then(weighted).sum(), pl.when(present).then(amount).sum())

        if isinstance(scores, ManyScores) and isinstance(references, ManyScores):
            weight, expected = None if checked.weight is None else amount, losses is _EXPECTED
            means = mean_comparison(scores, references, rule, weight, expected=expected, reference=normalized)
            mean = pl.element().first()
            value = ratio(mean, _NAIVE[rule](pl.element().slice(1))) if normalized else mean
            return means.arr.agg(value).alias(f"{names[0]}_{name}")
        mean = mean_of(losses[rule](scores, references, sizes[0]))
        if normalized:
            means = pl.concat_arr([mean_of(s) for s in references.posteriors])
            mean = ratio(mean, means.arr.agg(_NAIVE[rule](pl.element())))
        invalid = present & reduce(or_, defects)
        return pl.when(invalid.sum() == 0).then(mean).alias(f"{names[0]}_{name}")

    return pl.pipe_with_dtype(columns, resolved)


@with_options(DivergenceOptions, raises=_UNSUITABLE)
def expected_score_divergence(
    score: IntoExpr, reference: IntoExpr, *, rule: ScoringRule = "cross_entropy", **options: Unpack[DivergenceOptions]
) -> pl.Expr:
    """Expected divergence of posteriors from reference posteriors, as measured by a proper scoring rule.

    Lower is better; in [0, inf] nats for the cross-entropy, in [0, 2/K] for the Brier score; 0 if they are equal. It is the mean over the
    rows of d(s, q) = E_{h~s}[C(h, q) - C(h, s)], where q is the score and s the reference. This is sum_i s_i ln(s_i / q_i), or (1/K) sum_i
    (s_i - q_i)^2. It equals `semi_empirical_epsr` of the score minus that of the reference itself. If the reference is the calibrated score,
    this is the calibration term of that decomposition. To measure the real gain from calibration, use the calibration loss, which is computed
    from the labels.

    Parameters
    ----------
    score, reference
        Column name or expression: one posterior or one vector of posteriors per row, of the same kind.
    rule
        "cross_entropy" (Kullback-Leibler divergence) or "brier" (squared distance).

    Returns
    -------
    Float64, one per group. Differences between cross-entropies below about 1e-15 are lost in rounding.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eqs. 24 to 26.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"q": [0.9, 0.2], "s": [0.8, 0.2]})
    >>> log.select(ec.expected_score_divergence("q", "s").round(4)).item()
    0.0222
    >>> log.select(ec.expected_score_divergence("q", "s", rule="brier").round(4)).item()
    0.005
    """
    return _mean("expected_score_divergence", score, reference, options, _DIVERGENCES, rule)


@with_options(DivergenceOptions, raises=_UNSUITABLE)
def semi_empirical_epsr(
    score: IntoExpr,
    reference: IntoExpr,
    *,
    rule: ScoringRule = "cross_entropy",
    normalized: bool = False,
    **options: Unpack[DivergenceOptions],
) -> pl.Expr:
    """Expected proper scoring rule of posteriors if the classes followed reference posteriors.

    Lower is better; in [0, inf] nats for the cross-entropy, in [0, 2/K] for the Brier score. It is the mean over the rows of E_{h~s}[C(h,
    q)], where q is the score and s the reference. This is -sum_i s_i ln q_i, or (1/K) sum_i ((s_i - q_i)^2 + s_i (1 - s_i)). Labels are not
    used. If the value is far from `cross_entropy` or `brier`, the reference is a poor model of the classes, and the divergence from it does
    not measure calibration. Compare the normalised value with `nce` or `nbs`.

    Parameters
    ----------
    score, reference
        Column name or expression: one posterior or one vector of posteriors per row, of the same kind.
    rule
        "cross_entropy" or "brier" (in the 1/K convention of `brier`).
    normalized
        Divide by the value of a naive system that always returns the mean m of the reference: -sum_i m_i ln m_i, or (1/K) sum_i m_i (1 -
        m_i). Then 1 is naive. Default False.

    Returns
    -------
    Float64, one per group. If normalised, it is null if the mean reference is certain of one class.

    References
    ----------
    Ferrer and Ramos, "Evaluating posterior probabilities", Eqs. 25 and 35, and Table 1.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"q": [0.9, 0.2], "s": [0.8, 0.2]})
    >>> log.select(ec.semi_empirical_epsr("q", "s").round(4)).item()
    0.5226
    >>> log.select(ec.semi_empirical_epsr("s", "s").round(4)).item()
    0.5004
    >>> log.select(ec.semi_empirical_epsr("q", "s", normalized=True).round(4)).item()
    0.754
    """
    return _mean("semi_empirical_epsr", score, reference, options, _EXPECTED, rule, normalized)
