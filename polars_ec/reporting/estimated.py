"""Which columns of a report have limits: their values once more, with the features of rows that they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from polars_ec.arguments import Options
from polars_ec.formulas.decisions import CELLS
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.reporting.choice import CONFUSION
from polars_ec.reporting.features import AgainstRest, Costing, Counted, Decided, Lost
from polars_ec.reporting.intervals import FEWEST, KINKED, Estimate, Family
from polars_ec.reporting.models import Model
from polars_ec.reporting.one_class import AGAINST_REST, OneVsRest, one_class_columns
from polars_ec.reporting.sums import ClassSums, is_collected, own_priors, report_sums, stated_prior, stated_vector
from polars_ec.reporting.tables import (
    AT_PRIOR,
    OWN,
    Layout,
    is_moved,
    is_moved_of_class,
    value_against_rest,
    value_of,
    value_of_many,
)

BY_COST = ("expected_cost", "bayes_risk", "nec")
"""Metrics that are made of what errors cost the rows, where that is a column."""


def has_limits(name: str) -> bool:
    """Whether the metric of this name has limits that the sums of a report give."""
    return name not in (CONFUSION, *CELLS, "ece", *RANKING_METRICS)


def families_of(model: Model, names: Sequence[str], layout: Layout) -> Iterator[Family]:
    """Of a group's row."""
    asked = [name for name in names if has_limits(name)]
    kinked = f"{model.prefix}{KINKED}" if "nec" in asked else None
    values = {name: _value(name, model, None) for name in asked}
    yield Family(Counted(model), [], fewest=f"{model.prefix}{FEWEST}")
    yield from _families(model, values, "", kinked)
    if layout.options.prior.stated:
        of = model.at_prior
        values = {name: _value(name, of, layout.options) for name in asked if is_moved(name, model)}
        yield from _families(of, values, "_at_prior")


def _value(name: str, model: Model, stated: Options | None) -> pl.Expr:
    """At the group's own prior, or at the stated one."""
    if is_collected(model):
        return value_of_many(name, model, None if stated is None else stated_vector(model, stated))
    of_group = ClassSums.of_group(model) if stated is None else ClassSums(model, stated_prior(model, stated))
    return value_of(name, model, of_group)


def _families(model: Model, values: Mapping[str, pl.Expr], suffix: str, kinked: str | None = None) -> Iterator[Family]:
    """By what the metrics are made of."""
    layers = [] if is_collected(model) else [own_priors(model)]
    estimates = {name: _estimate(model, name, suffix, value) for name, value in values.items()}
    for loss in dict.fromkeys(SCORING_RULES[name].loss for name in values if name in SCORING_RULES):
        of_loss = [e for name, e in estimates.items() if name in SCORING_RULES and SCORING_RULES[name].loss == loss]
        yield Family(Lost(model, loss), of_loss, layers)
    by_cost = BY_COST if model.rows.row_costs is not None else ()
    decisions = [name for name in values if name not in (*by_cost, *SCORING_RULES)]
    for features, decided in (
        (Costing(model), [name for name in values if name in by_cost]),
        (Decided(model), [name for name in decisions if estimates[name].width is None]),
        (Decided(model, of_one_class=True), [name for name in decisions if estimates[name].width is not None]),
    ):
        if decided:
            of_these = [estimates[name] for name in decided]
            yield Family(features, of_these, layers, kinked if "nec" in decided else None)


def _estimate(model: Model, name: str, suffix: str, value: pl.Expr) -> Estimate:
    costs = model.rows.costs
    width = costs.n_classes if name.startswith("class_") else None
    return Estimate(f"{model.prefix}{name}{suffix}", name, value, width, costs)


def families_of_classes(model: Model, names: Sequence[str], layout: Layout) -> Iterator[Family]:
    """Of a group's rows for each class against the rest."""
    asked = [name for name in names if has_limits(name)]
    n_classes = model.rows.costs.n_classes
    for k in range(n_classes):
        prefix = f"{model.prefix}{OWN}{k}_"
        own = OneVsRest(prefix, n_classes)
        kinked = f"{prefix}{KINKED}" if "nec" in asked else None
        estimates = [Estimate(f"{prefix}{name}", name, value_against_rest(name, own)) for name in asked]
        yield Family(AgainstRest(model, k=k, prefix=prefix), estimates, kinked=kinked, fewest=f"{prefix}{FEWEST}")
    if not layout.options.prior.stated:
        return
    moved, estimates = model.at_prior, []
    for k in range(n_classes):
        prefix = f"{model.prefix}{AT_PRIOR}{k}_"
        reference = OneVsRest(prefix, n_classes)
        estimates += [
            Estimate(f"{prefix}{name}_at_prior", name, value_against_rest(name, reference))
            for name in asked
            if is_moved_of_class(name, model, reference)
        ]
    if estimates:
        yield Family(Decided(moved, of_one_class=True), estimates, _layers_against_rest(model, layout.options))


def _layers_against_rest(model: Model, options: Options) -> list[dict[str, pl.Expr]]:
    moved, prefix = model.at_prior, f"{model.prefix}{AT_PRIOR}"
    if not is_collected(model):
        sums = ClassSums(moved, stated_prior(moved, options))
        return [own_priors(moved), one_class_columns(sums, prefix, weighed=True)]
    numbers = {
        f"{prefix}{k}_{number}": pl.col(prefix).arr.get(k).arr.get(at)
        for k in range(model.rows.costs.n_classes)
        for at, number in enumerate(AGAINST_REST)
    }
    return [{prefix: report_sums(moved, stated_vector(moved, options)).against_rest()}, numbers]
