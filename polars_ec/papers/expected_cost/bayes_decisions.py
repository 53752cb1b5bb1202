"""Appendices A and B: Bayes decisions for costs of 0 and 1, of two classes, and with a decision to abstain."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from polars_ec.papers.expected_cost.small_logs import (
    Integers,
    integers,
    posteriors_of,
    three_classes,
    two_classes,
)
from polars_ec.papers.numbers import Number, Table, by_equation, printed
from polars_ec.papers.simulated import Floats, vectors
from polars_ec.papers.small import column, whole

COSTS_OF_TWO = ((1.0, 1.0), (1.0, 4.0), (2.5, 1.0))
"""c12, of a false alarm, and c21, of a miss."""

ALPHAS = (0.05, 0.3, 0.5)
"""What it costs to abstain."""

SHARES = [0.8, *[0.2 / 9] * 9]
"""Priors of the ten classes."""


def equation_15() -> Table:
    """The class whose posteriors of the other classes have the least sum."""
    q = posteriors_of(three_classes())
    others = np.stack([np.delete(q, j, axis=1).sum(axis=1) for j in range(3)], axis=1)
    return column({"least sum": _of_likeliest(others.argmin(axis=1))})


def equation_16() -> Table:
    """The class of the least complement."""
    return column({"least complement": _of_likeliest((1 - posteriors_of(three_classes())).argmin(axis=1))})


def equation_17() -> Table:
    """The class of the largest posterior."""
    return column({"largest posterior": _of_likeliest(posteriors_of(three_classes()).argmax(axis=1))})


def equation_18() -> Table:
    """Which of two errors costs less."""
    p = two_classes()["posterior"].to_numpy()
    return column({_costs(c12, c21): _of_two(c12, c21, c12 * (1 - p) < c21 * p) for c12, c21 in COSTS_OF_TWO})


def equation_19() -> Table:
    """A threshold on the posterior."""
    p, numbers = two_classes()["posterior"].to_numpy(), {}
    for c12, c21 in COSTS_OF_TWO:
        threshold = c12 / (c12 + c21)
        found = ec.CostMatrix.binary(cost_fn=c21, cost_fp=c12).bayes_threshold()
        numbers[f"threshold, {_costs(c12, c21)}"] = by_equation(found, threshold)
        numbers[f"decisions, {_costs(c12, c21)}"] = _of_two(c12, c21, p > threshold)
    return column(numbers)


def equation_20() -> Table:
    """A threshold on the log odds."""
    x, numbers = two_classes()["log_odds"].to_numpy(), {}
    for c12, c21 in COSTS_OF_TWO:
        threshold = np.log(c12 / c21)
        found = ec.CostMatrix.binary(cost_fn=c21, cost_fp=c12).bayes_log_odds()
        numbers[f"threshold, {_costs(c12, c21)}"] = by_equation(found, threshold)
        numbers[f"decisions, {_costs(c12, c21)}"] = _of_two(c12, c21, x > threshold)
    return column(numbers)


def equation_21() -> Table:
    """One more column of costs."""
    numbers = {}
    for alpha in ALPHAS:
        expected = np.hstack([1 - np.eye(3), np.full((3, 1), alpha)])
        found = np.array(ec.CostMatrix.zero_one(3, abstain=alpha).values)
        numbers[f"equal costs of 12, alpha {alpha:g}"] = whole(float((found == expected).sum()), 12)
    return column(numbers)


def equation_22() -> Table:
    """The least expected cost, where abstaining costs alpha in any case."""
    q = posteriors_of(three_classes())
    return column(
        {_abstain(alpha): _abstaining(alpha, np.hstack([1 - q, _constant(alpha)]).argmin(axis=1)) for alpha in ALPHAS}
    )


def equation_23() -> Table:
    """Abstain where every posterior is below 1 - alpha."""
    q, numbers = posteriors_of(three_classes()), {}
    for alpha in ALPHAS:
        best = np.hstack([q, _constant(1 - alpha)]).argmax(axis=1)
        numbers[_abstain(alpha)] = _abstaining(alpha, best)
        numbers[f"rows that abstain, alpha {alpha:g}"] = whole(
            int((_decisions(alpha) == 3).sum()), int((q.max(axis=1) < 1 - alpha).sum())
        )
    return column(numbers)


def equation_24() -> Table:
    """The best naive decision: that for posteriors which are the priors."""
    numbers = {}
    for alpha in (0.05, 0.3):
        costs = ec.CostMatrix.zero_one(10, abstain=alpha)
        expected = int(np.append(SHARES, 1 - alpha).argmax())
        priors = pl.DataFrame({"q": vectors(np.array([SHARES]))})
        of_priors = priors.select(ec.bayes_decision("q", costs=costs)).item()
        numbers[f"naive decision, alpha {alpha:g}"] = whole(costs.naive(SHARES)[1], expected)
        numbers[f"Bayes decision at the priors, alpha {alpha:g}"] = whole(of_priors, expected)
    return column(numbers, "Decisions count from 0: 10 is to abstain, which is the best where it costs 0.05.")


def appendix_b() -> Table:
    """The numbers of the ten classes."""
    return column(
        {
            "prior of the classes but the first": printed(SHARES[1], "0.022"),
            "posterior below which to abstain, Cabs1": printed(_least_sure(0.05), "0.95"),
            "posterior below which to abstain, Cabs2": printed(_least_sure(0.3), "0.7"),
        }
    )


def _least_sure(alpha: float) -> float:
    """The least posterior of one of ten classes, in steps of 0.001, that is decided for."""
    shares = np.arange(200, 1000) / 1000
    q = np.hstack([shares[:, None], np.repeat((1 - shares[:, None]) / 9, 9, axis=1)])
    rows = pl.DataFrame({"q": vectors(q)})
    costs = ec.CostMatrix.zero_one(10, abstain=alpha)
    decided = rows.select(ec.bayes_decision("q", costs=costs)).to_series().to_numpy()
    return float(shares[decided != 10].min())


def _constant(cost: float) -> Floats:
    return np.full((three_classes().height, 1), cost)


def _decisions(alpha: float) -> Integers:
    costs = ec.CostMatrix.zero_one(3, abstain=alpha)
    return integers(three_classes().select(ec.bayes_decision("posteriors", costs=costs)).to_series())


def _abstain(alpha: float) -> str:
    return f"rows decided as by the equation, alpha {alpha:g}"


def _abstaining(alpha: float, best: Integers) -> Number:
    return whole(int((_decisions(alpha) == best).sum()), len(best))


def _of_likeliest(best: Integers) -> Number:
    log = three_classes()
    decided = integers(log.select(ec.bayes_decision("posteriors", costs=ec.CostMatrix.zero_one(3))).to_series())
    return whole(int((decided == best).sum()), len(best))


def _costs(c12: float, c21: float) -> str:
    return f"c12 {c12:g}, c21 {c21:g}"


def _of_two(c12: float, c21: float, expected: NDArray[np.bool_]) -> Number:
    decided = two_classes().select(ec.bayes_decision("posterior", cost_fn=c21, cost_fp=c12)).to_series()
    return whole(int((integers(decided) == expected).sum()), len(expected))
