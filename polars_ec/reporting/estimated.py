"""Which columns of a report have limits: their values once more, with the features of rows that they are made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from polars_ec.formulas.decisions import CELLS
from polars_ec.formulas.losses import SCORING_RULES
from polars_ec.formulas.ranking import RANKING_METRICS
from polars_ec.reporting.choice import CONFUSION
from polars_ec.reporting.features import AgainstRest, Costing, Counted, Decided, Lost
from polars_ec.reporting.intervals import FEWEST, KINKED, Estimate, Family
from polars_ec.reporting.models import Model
from polars_ec.reporting.one_class import OneVsRest, one_class_columns
from polars_ec.reporting.sums import ClassSums, own_priors, stated_prior
from polars_ec.reporting.tables import AT_PRIOR, OWN, Layout, is_moved, is_moved_of_class, value_against_rest, value_of

_BY_COST = ("expected_cost", "bayes_risk", "nec")


def has_limits(name: str) -> bool:
    """Whether the metric of this name has limits that the sums of a report give."""
    return name not in (CONFUSION, *CELLS, "ece", *RANKING_METRICS)


def families_of(model: Model, names: Sequence[str], layout: Layout) -> Iterator[Family]:
    """Of a group's row."""
    asked = [name for name in names if has_limits(name)]
    kinked = f"{model.prefix}{KINKED}" if "nec" in asked else None
    own = ClassSums.of_group(model)
    values = {name: value_of(name, model, own) for name in asked}
    yield Family(Counted(model), [], fewest=f"{model.prefix}{FEWEST}")
    yield from _families(model, values, "", kinked)
    if layout.options.prior.stated:
        of = model.at_prior
        sums = ClassSums(of, stated_prior(of, layout.options))
        yield from _families(
            of, {name: value_of(name, of, sums) for name in asked if is_moved(name, model)}, "_at_prior"
        )


def _families(model: Model, values: Mapping[str, pl.Expr], suffix: str, kinked: str | None = None) -> Iterator[Family]:
    """By what the metrics are made of."""
    layers = [own_priors(model)]
    estimates = {name: _estimate(model, name, suffix, value) for name, value in values.items()}
    for loss in dict.fromkeys(SCORING_RULES[name].loss for name in values if name in SCORING_RULES):
        of_loss = [e for name, e in estimates.items() if name in SCORING_RULES and SCORING_RULES[name].loss == loss]
        yield Family(Lost(model, loss), of_loss, layers)
    by_cost = _BY_COST if model.rows.row_costs is not None else ()
    for features, decided in (
        (Costing(model), [name for name in values if name in by_cost]),
        (Decided(model), [name for name in values if name not in (*by_cost, *SCORING_RULES)]),
    ):
        if decided:
            of_these = [estimates[name] for name in decided]
            yield Family(features, of_these, layers, kinked if "nec" in decided else None)


def _estimate(model: Model, name: str, suffix: str, value: pl.Expr) -> Estimate:
    costs = model.rows.costs
    # A cost below 0 makes costs of any sign.
    any_sign = name in _BY_COST and min(map(min, costs.values)) < 0
    width = costs.n_classes if name.startswith("class_") else None
    return Estimate(f"{model.prefix}{name}{suffix}", name, value, width, any_sign)


def families_of_class(model: Model, k: int, names: Sequence[str], layout: Layout) -> Iterator[Family]:
    """Of a group's row for one class against the rest."""
    asked = [name for name in names if has_limits(name)]
    n_classes = model.rows.costs.n_classes
    prefix, stated = (f"{model.prefix}{which}{k}_" for which in (OWN, AT_PRIOR))
    own, reference = OneVsRest(prefix, n_classes), OneVsRest(stated, n_classes)
    kinked = f"{prefix}{KINKED}" if "nec" in asked else None
    features = AgainstRest(model, k, prefix)
    estimates = [Estimate(f"{prefix}{name}", name, value_against_rest(name, own)) for name in asked]
    yield Family(features, estimates, kinked=kinked, fewest=f"{prefix}{FEWEST}")
    if layout.options.prior.stated:
        moved = model.at_prior
        sums = ClassSums(moved, stated_prior(moved, layout.options))
        layers = [own_priors(moved), one_class_columns(sums, f"{model.prefix}{AT_PRIOR}", weighed=True)]
        estimates = [
            Estimate(f"{stated}{name}_at_prior", name, value_against_rest(name, reference))
            for name in asked
            if is_moved_of_class(name, model, reference)
        ]
        if estimates:
            yield Family(Decided(moved), estimates, layers)
