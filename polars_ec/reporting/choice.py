"""Which metrics a report has: those it was asked for, checked against what the scores are; else the usual ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polars_ec.arguments import did_you_mean
from polars_ec.formulas.battery import BATTERY, BATTERY_OF_CLASSES, BATTERY_OF_ONE_CLASS
from polars_ec.formulas.decisions import CELLS, DECISIONS, OF_CLASSES
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.reporting.needs import Needs
from polars_ec.rows.read import Rows
from polars_ec.rows.scores import BinaryScores, DecidedScores

CONFUSION = "confusion"
FORMULAS = {**DECISIONS, **OF_CLASSES}
"""The metrics of decisions that a report has."""


_BESIDE = "beside the report by group_by(...).agg(ec.{}(...))"
ELSEWHERE = {
    "fbeta": f"needs beta=: have it {_BESIDE.format('fbeta')}",
    "decision_share": f"needs decision=: have it {_BESIDE.format('decision_share')}",
    "net_benefit": f"needs p_t=: have it {_BESIDE.format('net_benefit')}",
    "dcf": "is what nec_at_prior is of LLRs with prior=: ask for nec",
    "cllr": f"is of LLRs at even priors: have it {_BESIDE.format('cllr')}",
    "epsr": f"needs a= and b=: have it {_BESIDE.format('epsr')}",
    "ece_mc": f"is not among what the sums of a report give: have it {_BESIDE.format('ece_mc')}",
}
METRICS = tuple(
    name for name in (*FORMULAS, CONFUSION, *SCORING_RULES, "ece", *RANKING_METRICS) if name not in ELSEWHERE
)
_ALWAYS = ("n", "class_prior", "n_missing", "n_invalid")


def is_binary(rows: Rows) -> bool:
    """Whether there are two classes and two decisions."""
    return (rows.costs.n_classes, rows.costs.n_decisions) == (2, 2)


def named_metrics(metrics: Any) -> tuple[str, ...] | None:
    """The names that the caller passed, if any; errors for one that there is not, before anything is read."""
    if metrics is None:
        return None
    if isinstance(metrics, str) or not hasattr(metrics, "__iter__"):
        raise TypeError(f"metrics={metrics!r} is not a list of names: pass [{metrics!r}]")
    names = tuple(metrics)
    for place, name in enumerate(names):
        if name in _ALWAYS:
            raise ValueError(f"metrics= holds {name!r}, which every report has: leave it out")
        if name in ELSEWHERE:
            raise ValueError(f"metrics= holds {name!r}, which {ELSEWHERE[name]}")
        if name not in METRICS:
            hint = did_you_mean(str(name), METRICS)
            raise ValueError(
                f"metrics= holds {name!r}, which is not a metric of a report: {hint}It has {', '.join(METRICS)}"
            )
        if name in names[:place]:
            raise ValueError(f"metrics= has {name!r} twice")
    if not names:
        raise ValueError("metrics=[] names none: leave it out for the usual ones")
    return names


def metrics_of(named: Sequence[str] | None, rows: Rows) -> tuple[str, ...]:
    """The metrics of a model: as named, if its scores have them, or the usual ones."""
    if named is None:
        usual = BATTERY if is_binary(rows) else BATTERY_OF_CLASSES
        decided = isinstance(rows.scores, DecidedScores)
        return tuple(name for name in usual if not (decided and name in SCORING_RULES))
    for name in named:
        _check(name, rows)
    return tuple(named)


def metrics_of_one_class(named: Sequence[str] | None, rows: Rows) -> tuple[str, ...]:
    """The metrics of a class against the rest, which are functions of two by two counts."""
    if rows.costs.n_decisions < rows.costs.n_classes:
        raise ValueError(
            f"per_class=True: {rows.costs.n_classes} classes are decided by {rows.costs.n_decisions} decisions, which are then "
            "not those for one class each"
        )
    if named is None:
        return BATTERY_OF_ONE_CLASS
    for name in named:
        if name != CONFUSION and (name not in FORMULAS or not _is_of_one_class(name)):
            raise ValueError(f"metrics= holds {name!r}, and per_class=True has metrics of decisions for one class only")
    return tuple(named)


def _is_of_one_class(name: str) -> bool:
    formula = FORMULAS[name]
    return (
        formula.binary or formula.square or formula.by_naive_cost or name in ("expected_cost", "error_rate", "accuracy")
    )


def needed(names: Sequence[str], parts: Sequence[str]) -> Needs:
    """The sums that these metrics are made of."""
    rules = [SCORING_RULES[name].loss for name in names if name in SCORING_RULES]
    return Needs(
        decisions=any(name in FORMULAS or name == CONFUSION for name in names),
        losses=tuple(dict.fromkeys(rules)),
        ece="ece" in names,
        parts=tuple(parts),
    )


def check_decided_by(name: str, *, decided: bool, by_threshold: bool) -> None:
    """ValueError where rows that are decided so do not have the metric."""
    shown = f"metrics= holds {name!r}, which"
    if (name in SCORING_RULES or name in ("ece", "bayes_risk")) and decided:
        raise ValueError(f"{shown} is of posteriors, and score_type='decision' holds none")
    if name == "bayes_risk" and by_threshold:
        raise ValueError(f"{shown} is of Bayes decisions: leave out threshold=, or take expected_cost")


def _check(name: str, rows: Rows) -> None:
    """ValueError where these rows do not have the metric."""
    shown, scores, n_classes = f"metrics= holds {name!r}, which", rows.scores, rows.costs.n_classes
    check_decided_by(name, decided=isinstance(scores, DecidedScores), by_threshold=rows.options.threshold is not None)
    if name == "ece" and n_classes != 2:
        raise ValueError(f"{shown} is for two classes, and there are {n_classes}")
    if name in CELLS and not is_binary(rows):
        raise ValueError(f"{shown} is of two classes and two decisions: take confusion")
    if name in RANKING_METRICS:
        if not isinstance(scores, BinaryScores):
            raise ValueError(f"{shown} is of one number a row: take the posterior of a class against the rest")
        if name.startswith("min_") and name != "min_cllr":
            if rows.row_costs is not None:
                raise ValueError(f"{shown} is of one threshold for all rows: pass cost_fn= and cost_fp= as numbers")
            rows.costs.margins()
