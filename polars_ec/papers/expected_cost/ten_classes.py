"""Table 1: costs of ten classes for three ways to decide."""

from __future__ import annotations

from functools import cache

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.expected_cost.bayes_decisions import SHARES
from polars_ec.papers.numbers import Number, Table, between, printed
from polars_ec.papers.simulated import gaussian_classes, labels, log_likelihoods, log_softmax, vectors

COUNTS = (8_000, *[222] * 9)

PRINTED = {  # EC, NEC, and the percentage of rows that abstain where this can be
    "Naive": {
        "C01": ("0.20", "1.00"),
        "CinvP": ("0.90", "1.00"),
        "Cimb": ("0.98", "1.00"),
        "Cabs1": ("0.05", "1.00", "100"),
        "Cabs2": ("0.20", "1.00", "0"),
    },
    "Argmax": {
        "C01": ("0.06", "0.32"),
        "CinvP": ("0.28", "0.31"),
        "Cimb": ("0.36", "0.37"),
        "Cabs1": ("0.06", "1.29", "0"),
        "Cabs2": ("0.06", "0.32", "0"),
    },
    "Bayes": {
        "C01": ("0.06", "0.32"),
        "CinvP": ("0.23", "0.26"),
        "Cimb": ("0.08", "0.08"),
        "Cabs1": ("0.02", "0.35", "25"),
        "Cabs2": ("0.06", "0.28", "7"),
    },
}


@cache
def costs_of_ten() -> dict[str, ec.CostMatrix]:
    """The five cost matrices."""
    zero_one = 1 - np.eye(10)
    important = zero_one.copy()
    important[9] *= 100
    return {
        "C01": ec.CostMatrix(zero_one),
        "CinvP": ec.CostMatrix.balanced(SHARES),
        "Cimb": ec.CostMatrix(important),
        "Cabs1": ec.CostMatrix.zero_one(10, abstain=0.05),
        "Cabs2": ec.CostMatrix.zero_one(10, abstain=0.3),
    }


@cache
def ten_classes() -> pl.DataFrame:
    """10,000 rows, of which counts that are cut off leave 8,000 of the first class and 222 of each other; their posteriors."""
    means = tuple((float(i),) for i in range(10))
    joint = log_likelihoods(gaussian_classes(COUNTS, means, 0.2), means, 0.2) + np.log(SHARES)
    return pl.DataFrame({"label": labels(COUNTS), "posteriors": vectors(np.exp(log_softmax(joint)))})


@cache
def table_1() -> Table:
    """All cells of Table 1, and the naive decisions of its second line."""
    columns: list[str] = []
    rows: dict[str, list[Number | None]] = {name: [] for name in ("Naive decision", *PRINTED)}
    for name, costs in costs_of_ten().items():
        computed = _of_costs(costs)
        kinds = ("EC", "NEC", "abs")[: len(PRINTED["Naive"][name])]
        columns += [f"{name} {kind}" for kind in kinds]
        rows["Naive decision"] += [_best(name), *[None] * (len(kinds) - 1)]
        for system in PRINTED:
            shown = zip(computed[system], PRINTED[system][name], strict=False)
            rows[system] += [printed(number, text) for number, text in shown]
    return Table(
        columns,
        list(rows.items()),
        [
            "Printed from 10,000 rows, and not from the 100,000 of appendix D: with those six numbers are others.",
            "Naive decision: classes count from 1, and 11 is to abstain; for CinvP it is how many decisions are the best.",
            "The text compares the abstentions of Cabs1 with those of Cabs1: the other is Cabs2, which abstains less.",
        ],
    )


def _best(name: str) -> Number:
    """The best naive decision, or how many there are."""
    costs = costs_of_ten()[name]
    each = np.array(SHARES) @ np.array(costs.values)
    cheapest = int((each < each.min() + 1e-12).sum())
    if name == "CinvP":
        return between(cheapest, 10, 10, "any", decimals=0)
    _, decision = costs.naive(SHARES)
    text = {"C01": "1", "Cimb": "10", "Cabs1": "abstain", "Cabs2": "1"}[name]
    place = 11 if text == "abstain" else int(text)
    return between(decision + 1 if cheapest == 1 else np.nan, place, place, text, decimals=0)


def _of_costs(costs: ec.CostMatrix) -> dict[str, tuple[float, float, float]]:
    """EC, NEC and the percentage of abstentions of each system."""
    log = ten_classes().with_columns(
        Naive=pl.lit(costs.naive(SHARES)[1]),
        Argmax=ec.bayes_decision("posteriors"),
        Bayes=ec.bayes_decision("posteriors", costs=costs),
    )
    found = {}
    for system in PRINTED:
        found[system] = log.select(
            cost=ec.expected_cost(system, "label", costs=costs, score_type="decision"),
            normalised=ec.nec(system, "label", costs=costs, score_type="decision"),
            abstained=100 * (pl.col(system) == 10).mean(),
        ).row(0)
    return found
