"""Section 4.8.3: eighteen sets of posteriors of ten simulated classes: Tables 4 and 5."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Number, Table, alone, by_equation, printed
from polars_ec.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors

TABLE_4 = """
Datap        0.25 0.29 0.25 0.14 0.17 0.93 0.13 0.17 0.57 0.21 0.26 0.70
Datap-temcal 0.25 0.29 0.25 0.14 0.17 0.14 0.13 0.17 0.13 0.21 0.26 0.21
Datap-affcal 0.25 0.25 0.25 0.14 0.14 0.14 0.13 0.13 0.13 0.21 0.21 0.21
Mismp        1.11 0.70 1.11 0.52 0.61 1.00 0.50 0.48 0.99 0.86 0.70 1.58
Mismp-temcal 1.11 0.70 1.11 0.51 0.39 0.51 0.50 0.40 0.50 0.86 0.58 0.86
Mismp-affcal 0.25 0.25 0.25 0.14 0.14 0.14 0.13 0.13 0.13 0.21 0.21 0.21
"""
"""NEC, NEC with a decision to abstain, NCE and NBS; of cal, mc1 and mc2 each."""
TABLE_5 = """
Datap         0 23 77  0 20 71 0 2 22
Datap-temcal  0 23  0  0 20  0 0 2  0
Datap-affcal  0  0  0  0  0  0 0 0  0
Mismp        74 73 87 76 71 87 2 9 28
Mismp-temcal 74 68 74 76 65 76 1 1  1
Mismp-affcal  0  0  0  0  0  0 0 0  0
"""
"""Calibration loss in percent by cross-entropy and by Brier score, and ECEmc; of cal, mc1 and mc2 each."""
SYSTEMS = ("cal", "mc1", "mc2")
_COUNTS, _MEANS, _VARIANCE = (90_000, *[1_111] * 9), tuple((float(i),) for i in range(10)), 0.15
_PRIORS: Floats = np.array([0.9, *[0.1 / 9] * 9])
_METRICS = ("NEC", "NEC_abs", "NCE", "NBS")
_OF_LOGS: dict[str, Any] = {"label": "label", "score_type": "log_posteriors"}


@cache
def ten_class_log() -> pl.DataFrame:
    """`label`, folds, and of each set its log posteriors: `Datap cal` to `Mismp mc2`."""
    right = log_likelihoods(gaussian_classes(_COUNTS, _MEANS, _VARIANCE), _MEANS, _VARIANCE)
    wrong = 0.5 * right + np.array([0.5, *[0.0] * 9])
    columns = {}
    for block, priors in (("Datap", _PRIORS), ("Mismp", _PRIORS[::-1])):
        calibrated = log_softmax(right + np.log(priors))
        columns[f"{block} cal"] = vectors(calibrated)
        columns[f"{block} mc1"] = vectors(log_softmax(wrong + np.log(priors)))
        columns[f"{block} mc2"] = vectors(log_softmax(0.2 * calibrated))
    log = pl.DataFrame({"label": labels(_COUNTS), **columns}).with_row_index("id")
    return log.with_columns(ec.fold("id", 5))


# mc2 are cal to a power. Temperature scaling, which finds the power, makes the same of both: it is fitted to mc2. The affine map makes
# the same of all three, and even of both priors: it is fitted to mc1 of each block.
_FITTED = {"temcal": {"cal": "mc2", "mc1": "mc1", "mc2": "mc2"}, "affcal": dict.fromkeys(SYSTEMS, "mc1")}
_CALIBRATORS: dict[str, Any] = {"temcal": "temperature", "affcal": "affine"}


@cache
def calibrated(name: str, step: str) -> pl.DataFrame:
    """`label`, and the log posteriors of a set as calibrators of the other folds make them, as `s`."""
    log = ten_class_log()
    options: dict[str, Any] = {"folds": 5, "fold_by": "id", "score_type": "log_posteriors"}
    calibration = ec.calibrate(log, name, "label", _CALIBRATORS[step], **options)
    logs = calibration.apply(name, out_of_fold=True).arr.eval(pl.element().log())
    return log.select("label", s=logs)


def measure(log: pl.DataFrame) -> dict[str, float]:
    """The metrics of both tables of a set, whose log posteriors are `s`."""
    costs = ec.CostMatrix.zero_one(10, abstain=0.1)
    found = log.select(
        ec.bayes_decision("s", score_type="log_posteriors").alias("decision"),
        ec.bayes_decision("s", costs=costs, score_type="log_posteriors").alias("abstaining"),
        "label",
    ).select(
        ec.nec("decision", "label", score_type="decision", costs=ec.CostMatrix.zero_one(10)).alias("NEC"),
        ec.nec("abstaining", "label", score_type="decision", costs=costs).alias("NEC_abs"),
    )
    of_posteriors = log.select(
        ec.nce("s", **_OF_LOGS).alias("NCE"),
        ec.nbs("s", **_OF_LOGS).alias("NBS"),
        ec.ece_mc("s", **_OF_LOGS).alias("ECEmc"),
    )
    row: dict[str, float] = pl.concat([found, of_posteriors], how="horizontal").row(0, named=True)
    return row


@cache
def measured() -> dict[str, list[dict[str, float]]]:
    """Of each block, the metrics of cal, mc1 and mc2; each set of posteriors is measured once."""
    of_sets: dict[str, dict[str, float]] = {}
    of_blocks: dict[str, list[dict[str, float]]] = {}
    for line in TABLE_4.strip().splitlines():
        block = line.split()[0]
        name, _, step = block.partition("-")
        of_blocks[block] = []
        for system in SYSTEMS:
            fitted = f"{block} {_FITTED[step][system] if step else system}"
            if fitted not in of_sets:
                set_name = f"{name} {fitted.split()[1]}"
                of_sets[fitted] = measure(calibrated(set_name, step) if step else raw(set_name))
            of_blocks[block].append(of_sets[fitted])
    return of_blocks


def raw(name: str) -> pl.DataFrame:
    """`label` and the log posteriors of a set."""
    return ten_class_log().select("label", pl.col(name).alias("s"))


def _beside(
    text: str, computed: dict[str, list[float]], columns: list[str], notes: list[str], within: float | None
) -> Table:
    rows = []
    for block, *numbers in (line.split() for line in text.strip().splitlines()):
        # Without folds nothing is left to chance but the draw, which is the paper's own.
        allowed = within if "-" in block else None
        rows.append((block, [printed(x, y, within=allowed) for x, y in zip(computed[block], numbers, strict=True)]))
    return Table(columns, rows, notes)


_SAME = (
    "mc2 are powers of cal, so that temperature scaling makes the same of both, and the affine map of all three: each is fitted once, "
    "temperature to mc1 and mc2, the affine map to mc1."
)


def table_4() -> Table:
    """Four metrics of 18 sets of posteriors."""
    computed = {block: [of[m] for m in _METRICS for of in systems] for block, systems in measured().items()}
    columns = [f"{metric}, {system}" for metric in _METRICS for system in SYSTEMS]
    return _beside(TABLE_4, computed, columns, [_SAME], None)


def table_5() -> Table:
    """Calibration loss and ECEmc of the same sets."""
    computed = {}
    for block, systems in measured().items():
        best = measured()[f"{block.partition('-')[0]}-affcal"]
        gains = [
            100 * (1 - after[metric] / before[metric])
            for metric in ("NCE", "NBS")
            for before, after in zip(systems, best, strict=True)
        ]
        computed[block] = [*gains, *(100 * of["ECEmc"] for of in systems)]
    columns = [f"{metric}, {system}" for metric in ("% by CE", "% by Brier", "ECEmc in %") for system in SYSTEMS]
    return _beside(TABLE_5, computed, columns, [_SAME, "ECE is a share in the package, and percent here."], None)


def section_4_8_3() -> Table:
    """Numbers in the text: error rates of both cal systems, and how they differ."""
    log = ten_class_log()
    matched, mismatched = measured()["Datap"][0], measured()["Mismp"][0]
    naive = ec.CostMatrix.zero_one(10).naive(_PRIORS.tolist())[0]
    decisions = [ec.bayes_decision(f"{block} cal", score_type="log_posteriors") for block in ("Datap", "Mismp")]
    top = [pl.col(f"{block} cal").arr.max().exp() for block in ("Datap", "Mismp")]
    both = log.select(differ=decisions[0] != decisions[1], apart=(top[0] - top[1]).abs())
    of_same, of_other = (both.filter(pl.col("differ") == differ)["apart"].mean() for differ in (False, True))
    assert isinstance(of_same, float)
    assert isinstance(of_other, float)
    rows: list[tuple[str, list[Number | None]]] = [
        ("EC of the naive system", [printed(naive, "0.1"), None]),
        (
            "error rate",
            [by_equation(0.1 * matched["NEC"], 0.1 * matched["NEC"]), printed(0.1 * mismatched["NEC"], "0.111")],
        ),
        ("accuracy in percent", [alone(100 - 10 * matched["NEC"]), printed(100 - 10 * mismatched["NEC"], "88.9")]),
        ("decisions that differ, in percent", [None, printed(100 * both.select(pl.col("differ").mean()).item(), "10")]),
        ("posteriors of the same decisions, apart on average", [None, printed(of_same, "0.07")]),
        ("posteriors of other decisions, apart on average", [None, printed(of_other, "0.25")]),
    ]
    return Table(["Datap-cal", "Mismp-cal"], rows, [])
