"""Section 2.7: systems of the same error rates or costs, by their counts: Tables 1 and 2 and Figure 2."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Number, Table, alone, between, by_equation, printed
from polars_ec.papers.small import OF_COUNTED, counted

if TYPE_CHECKING:
    from altair import TopLevelMixin

COLUMNS = ("NEC_b", "NEC b²=1", "NEC b²=2", "F1", "MCC", "R21", "R12", "R*2", "R*1")
TABLE_1 = """
  0  50 0.10 0.10 0.10 0.95 0.90 0.00 0.10 0.55 0.45
 25  25 0.10 0.10 0.15 0.95 0.90 0.05 0.05 0.50 0.50
 50   0 0.10 0.10 0.20 0.95 0.90 0.10 0.00 0.45 0.55
  0 250 0.50 0.50 0.50 0.80 0.58 0.00 0.50 0.75 0.25
125 125 0.50 0.50 0.75 0.75 0.50 0.25 0.25 0.50 0.50
250   0 0.50 0.50 1.00 0.67 0.58 0.50 0.00 0.25 0.75
  0 450 0.90 0.90 0.90 0.69 0.23 0.00 0.90 0.95 0.05
225 225 0.90 0.90 1.35 0.55 0.10 0.45 0.45 0.50 0.50
450   0 0.90 0.90 1.80 0.18 0.23 0.90 0.00 0.05 0.95
"""
"""N21, N12 and the printed columns; 500 samples of each class."""
TABLE_2 = """
  0  90 0.10 0.90 0.45 0.69 0.69 0.00 0.10 0.19 0.81
  5  45 0.10 0.50 0.28 0.79 0.78 0.05 0.05 0.14 0.86
 10   0 0.10 0.10 0.10 0.95 0.94 0.10 0.00 0.09 0.91
  0 450 0.50 4.50 2.25 0.31 0.30 0.00 0.50 0.55 0.45
 25 225 0.50 2.50 1.38 0.38 0.33 0.25 0.25 0.30 0.70
 50   0 0.50 0.50 0.50 0.67 0.69 0.50 0.00 0.05 0.95
  0 810 0.90 8.10 4.05 0.20 0.10 0.00 0.90 0.91 0.09
 40 450 0.90 4.90 2.65 0.20 0.06 0.40 0.50 0.51 0.49
 90   0 0.90 0.90 0.90 0.18 0.30 0.90 0.00 0.01 0.99
  0  90 0.10 0.90 0.45 0.69 0.69 0.00 0.10 0.19 0.81
 45  45 0.50 0.90 0.68 0.55 0.50 0.45 0.05 0.10 0.90
 90   0 0.90 0.90 0.90 0.18 0.30 0.90 0.00 0.01 0.99
"""
"""The same of 900 samples of H1 and 100 of H2."""
BALANCED, IMBALANCED = (500, 500), (900, 100)


def log_of_errors(totals: tuple[int, int], errors: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """Four weighted decisions for each system, which is a pair N21, N12."""
    n1, n2 = totals
    logs = [counted([[n1 - n12, n12], [n21, n2 - n21]]) for n21, n12 in errors]
    return pl.concat([log.with_columns(system=pl.lit(system)) for system, log in enumerate(logs)])


def measured(totals: tuple[int, int], errors: Sequence[tuple[int, int]]) -> pl.DataFrame:
    """The columns of both tables, a row for each system."""
    values = [
        ec.nec(**OF_COUNTED, prior="uniform"),
        ec.nec(**OF_COUNTED),
        ec.nec(**OF_COUNTED, cost_fn=2),
        ec.f1(**OF_COUNTED),
        ec.mcc(**OF_COUNTED),
        ec.fnr(**OF_COUNTED),
        ec.fpr(**OF_COUNTED),
        ec.decision_share(**OF_COUNTED, decision=1),
        ec.decision_share(**OF_COUNTED, decision=0),
    ]
    named = [value.alias(name) for name, value in zip(COLUMNS, values, strict=True)]
    return log_of_errors(totals, errors).group_by("system").agg(named).sort("system").drop("system")


def _beside(totals: tuple[int, int], text: str) -> Table:
    lines = [line.split() for line in text.strip().splitlines()]
    computed = measured(totals, [(int(n21), int(n12)) for n21, n12, *_ in lines])
    rows = [
        (f"N21 {n21}, N12 {n12}", [printed(*pair) for pair in zip(row, numbers, strict=True)])
        for (n21, n12, *numbers), row in zip(lines, computed.rows(), strict=True)
    ]
    return Table(COLUMNS, rows)


def table_1() -> Table:
    """Balanced classes."""
    return _beside(BALANCED, TABLE_1)


def table_2() -> Table:
    """Nine of ten samples are of H1."""
    return _beside(IMBALANCED, TABLE_2)


def section_2_7_1() -> Table:
    """What MCC makes of systems of the same NEC_b, whose decisions are balanced or not."""
    rows: list[tuple[str, list[Number | None]]] = []
    for name, totals, errors in (
        ("Table 1, last block", BALANCED, [(0, 450), (225, 225), (450, 0)]),
        ("Table 2, third block", IMBALANCED, [(0, 810), (40, 450), (90, 0)]),
    ):
        found = measured(totals, errors)
        above = [between(found["MCC"][i], found["MCC"][1], 1.0, f"above {found['MCC'][1]:.4f}") for i in (0, 2)]
        rows.append(
            (name, [*(by_equation(x, 0.9) for x in found["NEC_b"]), above[0], alone(found["MCC"][1]), above[1]])
        )
    columns = [f"{metric}, {which}" for metric in ("NEC_b", "MCC") for which in ("most H2", "balanced", "most H1")]
    return Table(columns, rows)


def text_after_table_2() -> Table:
    """A system as costly as the best naive one, and naive systems themselves."""
    shown = ["NEC b²=1", "NEC b²=2", "F1", "MCC", "R*2"]
    found = measured(IMBALANCED, [(10, 90), (0, 900), (100, 0)]).select(shown)
    costs, twice, f1, mcc, share = found.row(0)
    always_2, always_1 = found.row(1), found.row(2)
    rows: list[tuple[str, list[Number | None]]] = [
        (
            "N21 10, N12 90",
            [
                printed(costs, "1"),
                printed(twice, "0.55"),
                by_equation(f1, 180 / 280),
                printed(mcc, "0.62"),
                printed(share, "0.18"),
            ],
        ),
        ("always H1", [printed(always_1[0], "1"), None, by_equation(always_1[2], 0.0), None, None]),
        ("always H2", [by_equation(always_2[0], 9.0), None, printed(always_2[2], "0.18"), None, None]),
    ]
    notes = [
        "The paper calls 0.62 the F1 of the first system; that is its MCC, and its F1 is 180 / 280.",
        "It has NEC = 1 and F1 = 0.18 for one naive system, always H2, whose NEC is 9: NEC = 1 is that of always H1, whose F1 is 0. And P1 is 0.9, not 0.1.",
    ]
    return Table(shown, rows, notes)


@cache
def grid(totals: tuple[int, int]) -> pl.DataFrame:
    """The systems of Figure 2: either error from none to all of its class, in 20 steps."""
    n1, n2 = totals
    steps = [(n21, n12) for n21 in range(0, n2 + 1, n2 // 20) for n12 in range(0, n1 + 1, n1 // 20)]
    return measured(totals, steps)


PAIRS = (("NEC_b", "MCC"), ("NEC b²=1", "F1"), ("NEC b²=2", "F1"))
"""What the columns of Figure 2 compare."""


def _correlation(systems: pl.DataFrame, pair: tuple[str, str]) -> float:
    # MCC is not defined of the two systems that always decide the same.
    known = systems.select(pair).drop_nulls()
    return float(np.corrcoef(known[pair[0]], known[pair[1]])[0, 1])


def _correlation_by_hand(totals: tuple[int, int], pair: tuple[str, str], up_to: float) -> float:
    """The same from N12 and N21, by Equations 7, 18 and 25."""
    n1, n2 = totals
    n21, n12 = (x.ravel() for x in np.meshgrid(np.linspace(0, n2, 21), np.linspace(0, n1, 21)))
    n11, n22 = n1 - n12, n2 - n21
    nec = {
        "NEC_b": n12 / n1 + n21 / n2,
        "NEC b²=1": (n12 + n21) / min(n1, n2),
        "NEC b²=2": (n12 + 2 * n21) / min(n1, 2 * n2),
    }[pair[0]]
    with np.errstate(invalid="ignore"):
        other = {
            "F1": 2 * n22 / (2 * n22 + n21 + n12),
            "MCC": (n11 * n22 - n12 * n21) / np.sqrt((n11 + n21) * n1 * (n22 + n12) * n2),
        }[pair[1]]
    kept = (nec <= up_to + _SLACK) & np.isfinite(other)
    x, y = nec[kept] - nec[kept].mean(), other[kept] - other[kept].mean()
    return float((x * y).sum() / np.sqrt((x**2).sum() * (y**2).sum()))


_SLACK = 1e-9
"""NEC that are a bound itself are off by their last bits."""
_PARTS = (("all 441", np.inf), ("NEC up to 1", 1.0), ("NEC up to 0.5", 0.5))


def _correlations(totals: tuple[int, int], up_to: float) -> list[float]:
    """Of each pair, over the systems whose NEC is up to a bound."""
    systems = grid(totals)
    return [_correlation(systems.filter(pl.col(pair[0]) <= up_to + _SLACK), pair) for pair in PAIRS]


def figure_2() -> Table:
    """Correlations of the three pairs, over all systems and over those that are better than naive ones."""
    rows = [
        (
            f"{name}, {part}",
            [
                by_equation(computed, _correlation_by_hand(totals, pair, up_to))
                for computed, pair in zip(_correlations(totals, up_to), PAIRS, strict=True)
            ],
        )
        for name, totals in (("balanced", BALANCED), ("imbalanced", IMBALANCED))
        for part, up_to in _PARTS
    ]
    notes = ["The paper prints no correlations: beside them are those of Equations 7, 18 and 25, in NumPy."]
    return Table([f"{x}, {y}" for x, y in PAIRS], rows, notes)


def what_figure_2_shows() -> Table:
    """What the text says of it: where metrics go with each other, and where not."""
    of = {
        (name, part): _correlations(totals, up_to)
        for name, totals in (("balanced", BALANCED), ("imbalanced", IMBALANCED))
        for part, up_to in _PARTS
    }
    everywhere, good, very_good = (part for part, _ in _PARTS)
    both = grid(BALANCED).filter(pl.max_horizontal("NEC b²=1", "NEC b²=2") <= 0.5 + _SLACK)
    once, twice = (_correlation(both, pair) for pair in PAIRS[1:])
    rows = [
        (
            "NEC_b with MCC: balanced, beside imbalanced",
            _below(of["balanced", everywhere][0], of["imbalanced", everywhere][0]),
        ),
        (
            "NEC b²=1 with F1: imbalanced, NEC up to 0.5, beside all",
            _below(of["imbalanced", very_good][1], of["imbalanced", everywhere][1]),
        ),
        *(
            (f"F1: with NEC b²=2, beside b²=1: {name}, {part}", _below(of[name, part][2], of[name, part][1]))
            for name in ("balanced", "imbalanced")
            for part in (good, very_good)
        ),
        ("the same: balanced, both NEC up to 0.5", between(twice, once, 1.0, f"not below {once:.4f}")),
    ]
    return Table(
        ["correlation"],
        [(name, [number]) for name, number in rows],
        [
            "A correlation is the stronger, the nearer it is to -1. The text says that F1 goes better with NEC of b²=2 than of b²=1 where systems are "
            "good: so it is where NEC is up to 1, and not on balanced classes where both NEC are up to 0.5.",
        ],
    )


def _below(computed: float, other: float) -> Number:
    """A correlation that is stronger than another one, both being negative."""
    return between(computed, -1.0, other, f"below {other:.4f}")


def draw_figure_2() -> TopLevelMixin:
    """The six scatter plots."""
    from polars_ec.papers.analysis.charts import scatter_plots

    return scatter_plots({"P1 = 0.5": grid(BALANCED), "P1 = 0.9": grid(IMBALANCED)}, PAIRS)
