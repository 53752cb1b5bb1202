"""Numbers that Ferrer prints in "Analysis and comparison of classification metrics", through each door.

`tests/test_papers.py` holds all entries of the paper against what it prints, through the functions alone.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from examples.papers.analysis import PAPER
from examples.papers.analysis.hard_decisions import BALANCED, IMBALANCED, TABLE_1, TABLE_2
from examples.papers.analysis.simulated_systems import (
    TABLE_3,
    TABLE_4,
    TEN_CLASS_SYSTEMS,
    calibrated_posteriors,
    measure,
    two_class_log,
)
from tests.support.papers import counted, exactly, printed


def numbers(text: str) -> list[list[float]]:
    return [[float(x) for x in line.split()] for line in text.strip().splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("totals", "row"),
    [(totals, row) for totals, text in ((BALANCED, TABLE_1), (IMBALANCED, TABLE_2)) for row in numbers(text)],
)
def test_tables_1_and_2(metric, totals, row):
    n1, n2 = totals
    n21, n12, nec_uniform, nec_1, nec_2, f1, mcc, r21, r12, decided_2, decided_1 = row
    frame = counted([[n1 - n12, n12], [n21, n2 - n21]])
    options = {"score_type": "decision", "weight": "n"}
    tp = n2 - n21

    assert metric("fnr", frame, **options) == exactly(n21 / n2) == printed(r21, 2)
    assert metric("fpr", frame, **options) == exactly(n12 / n1) == printed(r12, 2)
    (tn, fp), (fn, tp_found) = metric("confusion", frame, **options)
    assert ((fp + tp_found) / (n1 + n2), (tn + fn) / (n1 + n2)) == (printed(decided_2, 2), printed(decided_1, 2))

    value = metric("nec", frame, prior="uniform", **options)
    assert value == exactly(n12 / n1 + n21 / n2)
    assert value == printed(nec_uniform, 2)
    value = metric("nec", frame, cost_fn=1, cost_fp=1, **options)
    assert value == exactly((n12 + n21) / min(n1, n2))
    assert value == printed(nec_1, 2)
    value = metric("nec", frame, cost_fn=2, cost_fp=1, **options)
    assert value == exactly((n12 + 2 * n21) / min(n1, 2 * n2))
    assert value == printed(nec_2, 2)
    value = metric("f1", frame, **options)
    assert value == exactly(2 * tp / (2 * tp + n21 + n12))
    assert value == printed(f1, 2)
    value = metric("mcc", frame, **options)
    determinant = tp * (n1 - n12) - n12 * n21
    assert value == exactly(determinant / math.sqrt(n1 * n2 * (tp + n12) * (n1 - n12 + n21)))
    assert value == printed(mcc, 2)


@pytest.mark.parametrize(
    ("totals", "name", "column", "expected"),
    [
        (BALANCED, "balanced, all 441", "NEC_b, MCC", -0.9962),
        (IMBALANCED, "imbalanced, all 441", "NEC_b, MCC", -0.9648),
        (BALANCED, "balanced, NEC up to 1", "NEC b²=2, F1", -0.9876),
    ],
)
def test_correlations_of_figure_2(totals, name, column, expected):
    """System by system, from its rates."""
    n1, n2 = totals
    points = []
    for i, j in np.ndindex(21, 21):
        r12, r21 = i / 20, j / 20
        tp, fp, fn, tn = n2 * (1 - r21), n1 * r12, n2 * r21, n1 * (1 - r12)
        if column.endswith("MCC"):
            marginals = n1 * n2 * (tp + fp) * (tn + fn)
            points += [(r12 + r21, (tp * tn - fp * fn) / math.sqrt(marginals))] if marginals else []
        else:
            nec = (fp + 2 * fn) / min(n1, 2 * n2)
            points += [(nec, 2 * tp / (2 * tp + fp + fn))] if nec <= 1 + 1e-9 else []
    found = np.corrcoef(np.array(points).T)[0, 1]
    assert found == printed(expected, 4)
    (entry,) = (entry for entry in PAPER.entries if entry.name == "figure-2")
    table = entry.table()
    assert dict(table.rows)[name][table.columns.index(column)].computed == exactly(found)


@pytest.mark.slow
@pytest.mark.parametrize(("system", "first"), [("mc1", 1), ("cal", 4)])
def test_table_3_abstaining(metric, system, first):
    frame = two_class_log().select("label", score=f"{system}_logs")
    for alpha, *columns in numbers(TABLE_3):
        cost, normalised, abstained = columns[first - 1 : first + 2]
        costs = ec.CostMatrix.zero_one(2, abstain=alpha)
        decisions = metric("bayes_decision", frame, costs=costs, score_type="log_posteriors")
        decided = frame.select("label", score=pl.Series(decisions))
        options = {"costs": costs, "score_type": "decision"}
        table = np.array(metric("confusion", decided, **options))
        assert metric("expected_cost", frame, costs=costs, score_type="log_posteriors") == printed(cost, 3)
        assert metric("nec", decided, **options) == printed(normalised, 3)
        assert 100 * table[:, 2].sum() / table.sum() == printed(abstained, 1)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["temcal", "affcal"])
def test_sets_of_table_4_that_are_not_fitted_are_those_that_are(step):
    """The table has a fit for each group of sets that one makes alike; here each set has its own."""
    rows = {
        block: [float(x) for x in columns]
        for block, *columns in (line.split() for line in TABLE_4.strip().splitlines())
    }
    for priors in ("Datap", "Mismp"):
        found = {system: measure(calibrated_posteriors(f"{priors} {system}", step)) for system in TEN_CLASS_SYSTEMS}
        for j, name in enumerate(("NEC", "NEC_abs", "NCE", "NBS")):
            for i, system in enumerate(TEN_CLASS_SYSTEMS):
                # Three standard deviations over draws of the folds, as the entry says.
                expected = rows[f"{priors}-{step}"][3 * j + i]
                assert found[system][name] == pytest.approx(expected, abs=0.0065 if j < 2 else 0.005)
        alike = ("cal", "mc2") if step == "temcal" else TEN_CLASS_SYSTEMS
        for name in ("NEC", "NEC_abs", "NCE", "NBS", "ECEmc"):
            assert [found[system][name] for system in alike] == pytest.approx(
                [found[alike[0]][name]] * len(alike), rel=1e-6
            )
