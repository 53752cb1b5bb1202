"""Section 4.8.3: eighteen sets of posteriors of ten simulated classes: Tables 4 and 5."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Number, Table, above, between, by_equation, printed
from polars_ec.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors
from polars_ec.papers.small import column

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


# mc2 are cal to a power. Temperature scaling, which finds the power, makes the same of both. The affine map makes the same of all
# three, and of both priors, which are a part of its shift. So each is fitted once, to the worse of those that it makes alike.
_FITTED = {
    ("temcal", "Datap"): {"cal": "Datap mc2", "mc1": "Datap mc1", "mc2": "Datap mc2"},
    ("temcal", "Mismp"): {"cal": "Mismp mc2", "mc1": "Mismp mc1", "mc2": "Mismp mc2"},
    ("affcal", "Datap"): dict.fromkeys(SYSTEMS, "Mismp mc1"),
    ("affcal", "Mismp"): dict.fromkeys(SYSTEMS, "Mismp mc1"),
}
_CALIBRATORS: dict[str, Any] = {"temcal": "temperature", "affcal": "affine"}


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
def _of_set(name: str, step: str) -> dict[str, float]:
    return measure(calibrated(name, step) if step else raw(name))


def measured() -> dict[str, list[dict[str, float]]]:
    """Of each block, the metrics of cal, mc1 and mc2; each set of posteriors is measured once."""
    of_blocks = {}
    for line in TABLE_4.strip().splitlines():
        block = line.split()[0]
        priors, _, step = block.partition("-")
        names = _FITTED[step, priors] if step else {system: f"{priors} {system}" for system in SYSTEMS}
        of_blocks[block] = [_of_set(names[system], step) for system in SYSTEMS]
    return of_blocks


def raw(name: str) -> pl.DataFrame:
    """`label` and the log posteriors of a set."""
    return ten_class_log().select("label", pl.col(name).alias("s"))


ALLOWED = {
    "table-4": {("affcal", "NEC"): 0.0065, ("affcal", "NEC_abs"): 0.0065},
    "table-5": {("temcal", "ECEmc in %, mc1"): 0.501},
}
"""How far a number may be from the printed one, where that is more than a rounding."""


def _beside(text: str, computed: dict[str, list[float]], columns: list[str], name: str, notes: list[str]) -> Table:
    rows = []
    for block, *numbers in (line.split() for line in text.strip().splitlines()):
        step = block.partition("-")[2]
        within = [_allowed(name, step, column) for column in columns]
        cells = zip(computed[block], numbers, within, strict=True)
        rows.append((block, [printed(x, shown, within=allowed) for x, shown, allowed in cells]))
    return Table(columns, rows, [_SAME, *notes])


def _allowed(name: str, step: str, column: str) -> float | None:
    """By the column, or by its metric alone."""
    of_table = ALLOWED[name]
    return of_table.get((step, column), of_table.get((step, column.partition(",")[0])))


_SAME = (
    "mc2 are powers of cal, so that temperature scaling makes the same of both; the affine map makes the same of all three and of both "
    "priors. So temperature is fitted to mc1 and mc2 of both priors, and the affine map to mc1 of Mismp."
)


def table_4() -> Table:
    """Four metrics of 18 sets of posteriors."""
    computed = {block: [of[m] for m in _METRICS for of in systems] for block, systems in measured().items()}
    columns = [f"{metric}, {system}" for metric in _METRICS for system in SYSTEMS]
    notes = [
        "The folds are not the paper's. Over 20 draws of them NEC of affcal is from 0.2539 to 0.2560, standard deviation 0.0005, NEC with "
        "abstaining from 0.1352 to 0.1365: three standard deviations more than a rounding are allowed there."
    ]
    return _beside(TABLE_4, computed, columns, "table-4", notes)


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
    notes = [
        "ECE is a share in the package, and percent here. That of Mismp-temcal mc1 is 1.5002, and its standard deviation over 20 draws of the "
        "folds below 0.0005: it is held against the printed 1 with a thousandth more than a rounding.",
        "The heads of the table say calibration loss: it is the relative one, of Equation 60.",
    ]
    return _beside(TABLE_5, computed, columns, "table-5", notes)


def _instead(number: Number, in_print: str) -> Number:
    """It is held against what would be right, and what is in print is shown as well."""
    return replace(number, shown=f"{number.shown}, not {in_print}")


def section_4_8_3() -> Table:
    """Numbers in the text: error rates of both cal systems, and how they differ."""
    log = ten_class_log()
    matched, mismatched = (_of_set(f"{block} cal", "") for block in ("Datap", "Mismp"))
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
            [_instead(printed(0.1 * matched["NEC"], "0.025"), "0.027"), printed(0.1 * mismatched["NEC"], "0.111")],
        ),
        (
            "accuracy in percent",
            [
                _instead(printed(100 - 10 * matched["NEC"], "97.5"), "97.3"),
                printed(100 - 10 * mismatched["NEC"], "88.9"),
            ],
        ),
        ("decisions that differ, in percent", [None, printed(100 * both.select(pl.col("differ").mean()).item(), "10")]),
        ("posteriors of the same decisions, apart on average", [None, printed(of_same, "0.07")]),
        ("posteriors of other decisions, apart on average", [None, printed(of_other, "0.25")]),
    ]
    notes = [
        "The paper prints 0.027 and 97.3 % for Datap-cal; its own NEC of 0.25 in Table 4, times the 0.1 of the naive system, is 0.025, so 97.5 %.",
    ]
    return Table(["Datap-cal", "Mismp-cal"], rows, notes)


def what_tables_4_and_5_show() -> Table:
    """What the text says of them."""
    of = {
        (block, system): metrics
        for block, systems in measured().items()
        for system, metrics in zip(SYSTEMS, systems, strict=True)
    }

    def loss(block: str, system: str, metric: str) -> float:
        best = of[f"{block.partition('-')[0]}-affcal", system][metric]
        return 100 * (1 - best / of[block, system][metric])

    right, wrong = of["Datap", "cal"], of["Mismp", "cal"]
    apart = max(abs(loss(block, s, "NCE") - loss(block, s, "NBS")) for block in ("Datap", "Mismp") for s in SYSTEMS)
    numbers = {
        "NEC of Datap-mc2 is that of Datap-cal": by_equation(of["Datap", "mc2"]["NEC"], right["NEC"]),
        "NEC of Mismp-mc2 is that of Mismp-cal": by_equation(of["Mismp", "mc2"]["NEC"], wrong["NEC"]),
        "NCE of Datap-mc2, of the same decisions as Datap-cal": above(
            of["Datap", "mc2"]["NCE"], right["NCE"], f"{right['NCE']:.4g}"
        ),
        "NEC of Mismp-cal": above(wrong["NEC"], 1.0),
        "% by CE of Mismp-cal": above(loss("Mismp", "cal", "NCE"), 70.0),
        "ECEmc of Mismp-cal in %": between(100 * wrong["ECEmc"], 0, 2, "below 2"),
        "% by CE of Datap-temcal mc1": above(loss("Datap-temcal", "mc1", "NCE"), 20.0),
        "% by CE of Mismp-temcal cal": above(loss("Mismp-temcal", "cal", "NCE"), 70.0),
        "% by CE of Datap-temcal mc2": between(loss("Datap-temcal", "mc2", "NCE"), -1, 1, "about 0"),
        "NCE of affcal over that of Datap-cal": between(
            of["Mismp-affcal", "mc1"]["NCE"] / right["NCE"], 0.99, 1.01, "about 1"
        ),
        "% by CE and by Brier score, at most apart": between(apart, 0, 7, "alike"),
    }
    return column(
        numbers,
        "Of six sets without calibration the percentages of Table 5 by cross-entropy and by Brier score are up to 7 points apart: both call the same "
        "sets well or badly calibrated, as ECEmc does not.",
    )
