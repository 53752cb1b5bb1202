"""Section 4.8: simulated posteriors of two and of ten classes, a decision to abstain, Figure 3 and Tables 3 to 5."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.analysis import PAPER
from examples.papers.analysis.logs import BINARY_POSTERIORS, decisions, values
from examples.papers.numbers import Number, Rows, Table, above, alone, between, decided, lines, near, printed, value
from examples.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors

SYSTEMS = ("cal", "mc1")
_COUNTS, _MEANS, _VARIANCE = (90_000, 9_999), ((0.0,), (1.0,)), 0.15
_PRIORS = (0.9, 0.1)


@cache
def two_class_log() -> pl.DataFrame:
    """`label`, and of each system the LLR, both log posteriors, and the posterior of H2, at the priors 0.9 and 0.1."""
    right = log_likelihoods(gaussian_classes(_COUNTS, _MEANS, _VARIANCE), _MEANS, _VARIANCE)
    columns = {}
    for system, likelihoods in (("cal", right), ("mc1", 0.5 * right + np.array([0.5, 0.0]))):
        logs = log_softmax(likelihoods + np.log(_PRIORS))
        columns[system] = pl.Series(likelihoods[:, 1] - likelihoods[:, 0])
        columns[f"{system}_logs"] = vectors(logs)
        columns[f"{system}_posterior"] = pl.Series(np.exp(logs[:, 1]))
    return pl.DataFrame({"label": labels(_COUNTS), **columns}).with_row_index("id")


@PAPER("simulation", columns=["samples", "mean", "variance"])
def simulation() -> Rows:
    log = two_class_log()
    for label, (asked, mean) in enumerate(zip((90_000, 10_000), ("0", "1"), strict=True)):
        of_class = log.filter(pl.col("label") == label)["cal"].to_numpy()
        # LLRs are a straight line in the feature, which so can be had back from them.
        feature = _VARIANCE * of_class + 0.5
        yield (
            f"H{label + 1}",
            printed(len(feature), f"{asked}", within=1),
            printed(feature.mean(), mean),
            printed(feature.var(), "0.15"),
        )


class _Metric(NamedTuple):
    name: str
    metric: str
    options: dict[str, Any]
    bayes: float | None
    """Equation 48: the LLR above which deciding H2 costs less; F1 and MCC have none."""


METRICS = (
    _Metric("NEC_b", "nec", {"prior": "uniform"}, 0.0),
    _Metric("NEC b²=1", "nec", {}, math.log(9)),
    _Metric("NEC b²=2", "nec", {"cost_fn": 2}, math.log(4.5)),
    _Metric("1 - F1", "f1", {}, None),
)
_GRID = [round(-1 + 0.01 * i, 2) for i in range(400)]
"""The thresholds of the author's notebook."""


@cache
def _sketch(system: str) -> ec.Sketch:
    return ec.sketch(two_class_log(), system, "label", score_type="llr", exact=True)


@cache
def over_thresholds(system: str) -> pl.DataFrame:
    """The curves of Figure 3: the metrics at each threshold of the grid."""
    table = pl.DataFrame({"threshold": _GRID})
    for name, metric, options, _ in METRICS:
        curve = _sketch(system).cost_curve(metric, **options).sort("threshold")
        # Above a threshold are the very scores that are above the highest score that it is not below.
        table = table.join_asof(curve.rename({metric: name}), on="threshold")
    return table.with_columns((1 - pl.col("1 - F1")).alias("1 - F1"))


@cache
def best_of_grid(system: str) -> dict[str, tuple[float, float]]:
    """Of each metric the threshold on the grid of its least value, and that value."""
    table = over_thresholds(system)
    return {name: table.select("threshold", name).sort(name, "threshold").row(0) for name, *_ in METRICS}


def _at_bayes(system: str, metric: _Metric) -> float:
    table = over_thresholds(system)
    return float(table.filter(pl.col("threshold") == round(metric.bayes, 2))[metric.name].item())


def _exact(system: str, metric: _Metric) -> float:
    log = two_class_log()
    return float(log.select(ec.nec(system, "label", score_type="llr", threshold=metric.bayes, **metric.options)).item())


@PAPER("section-2.1.1", columns=["least NEC over thresholds", "NEC by the Bayes threshold"])
def section_2_1_1() -> Rows:
    log = two_class_log()
    for c21 in (0.5, 1.0, 2.0, 10.0, 50.0, 200.0):
        least = _sketch("mc1").best_threshold("nec", cost_fn=c21)["nec"].item()
        bayes = log.select(ec.nec("mc1", "label", score_type="llr", prior=0.1, cost_fn=c21)).item()
        yield f"c21 {c21:g}", between(least, 0, 1, "up to 1"), alone(bayes)


_OF_NOTEBOOK = {
    "NEC_b": ("-0.47", "0.190", "0.222"),
    "NEC b²=1": ("0.64", "0.464", "0.787"),
    "NEC b²=2": ("0.22", "0.366", "0.604"),
}


@PAPER("figure-3", columns=["threshold of the least", "least", "Bayes threshold", "at Bayes, on the grid", "at Bayes"])
def best_and_bayes_thresholds() -> Rows:
    for system in ("mc1", "cal"):
        for metric in METRICS:
            threshold, least = best_of_grid(system)[metric.name]
            cells = [alone(threshold), alone(least), None, None, None]
            if metric.bayes is not None:
                on_grid, exact = _at_bayes(system, metric), _exact(system, metric)
                if system == "mc1":
                    best_at, best, bayes = _OF_NOTEBOOK[metric.name]
                    pairs = ((threshold, best_at), (least, best), (on_grid, bayes))
                    at, value_at, value_of_bayes = (printed(*pair, against="notebook") for pair in pairs)
                    cells = [at, value_at, alone(metric.bayes), value_of_bayes, alone(exact)]
                else:
                    same = [between(x, least, 1.02 * least, "almost the least") for x in (on_grid, exact)]
                    close = near(threshold, metric.bayes, 0.15, f"near {metric.bayes:.2f}")
                    cells = [close, alone(least), alone(metric.bayes), *same]
            yield f"{system}, {metric.name}", cells


@PAPER("section-4.8.1", columns=["mc1", "cal"])
def section_4_8_1() -> Rows:
    best = {system: best_of_grid(system) for system in SYSTEMS}
    apart = {system: abs(best[system]["1 - F1"][0] - best[system]["NEC b²=2"][0]) for system in SYSTEMS}
    others = {system: abs(best[system]["1 - F1"][0] - best[system]["NEC_b"][0]) for system in SYSTEMS}
    yield "NEC b²=2, best threshold", printed(best["mc1"]["NEC b²=2"][1], "0.366"), alone(best["cal"]["NEC b²=2"][1])
    yield (
        "NEC b²=2, Bayes threshold",
        printed(_at_bayes("mc1", METRICS[2]), "0.604"),
        alone(_at_bayes("cal", METRICS[2])),
    )
    yield (
        "best thresholds of F1 and of NEC b²=2, apart",
        ([between(apart[s], 0, 0.3 * others[s], f"below {0.3 * others[s]:.2f}") for s in SYSTEMS[::-1]]),
    )


TABLE_3 = """
0.010 0.006 0.638 61.5 0.005 0.534 41.1
0.100 0.030 0.299 12.3 0.025 0.249 14.1
0.200 0.052 0.521  6.7 0.035 0.355  8.2
0.400 0.076 0.756  2.0 0.046 0.456  2.3
0.600 0.079 0.786  0.0 0.047 0.467  0.0
1.000 0.079 0.786  0.0 0.047 0.467  0.0
"""
"""The cost of abstaining; EC, NEC and percent of abstentions of LR-mc1, and of LR-cal."""
_ALPHA = 0.2


@PAPER("equation-69")
def equation_69() -> Rows:
    matrix = np.array(ec.CostMatrix.zero_one(2, abstain=_ALPHA))
    expected = np.array([[0, 1, _ALPHA], [1, 0, _ALPHA]])
    return {f"c{i + 1}{j + 1}": (float(matrix[i, j]), float(expected[i, j])) for i in range(2) for j in range(3)}


@PAPER("equation-70")
def equation_70() -> Rows:
    costs = ec.CostMatrix.zero_one(2, abstain=_ALPHA)
    return {f"P(H2|x) {p2:g}": (costs.naive(p2)[0], min(p2, 1 - p2, _ALPHA)) for p2 in BINARY_POSTERIORS.tolist()}


@PAPER("equation-71")
def equation_71() -> Rows:
    p2 = BINARY_POSTERIORS
    log = pl.DataFrame({"s": vectors(np.stack([1 - p2, p2], axis=1))})
    computed = values(log, ec.bayes_decision("s", costs=ec.CostMatrix.zero_one(2, abstain=_ALPHA)))
    first, second = p2 < np.minimum(1 - p2, _ALPHA), 1 - p2 < np.minimum(p2, _ALPHA)
    return decisions(computed, np.select([first, second], [0, 1], 2))


@cache
def _measured(system: str, alpha: float) -> tuple[float, float, float]:
    """EC, NEC, and the percentage of abstentions."""
    costs = ec.CostMatrix.zero_one(2, abstain=alpha)
    decision = ec.bayes_decision(f"{system}_logs", costs=costs, score_type="log_posteriors")
    log = two_class_log().select("label", decision=decision)
    cost, nec = (decided(log, metric, costs=costs) for metric in (ec.expected_cost, ec.nec))
    return cost, nec, 100 * decided(log, ec.decision_share, costs=costs, decision=2)


@PAPER("table-3", columns=[f"{name}, {system}" for system in ("mc1", "cal") for name in ("EC", "NEC", "% abstained")])
def table_3() -> Rows:
    for alpha, *numbers in lines(TABLE_3):
        computed = [x for system in ("mc1", "cal") for x in _measured(system, float(alpha))]
        yield f"alpha {alpha}", [printed(*pair) for pair in zip(computed, numbers, strict=True)]


@PAPER("section-4.8.2", columns=["mc1", "cal"])
def section_4_8_2() -> Rows:
    for alpha, normaliser in ((0.01, "0.01"), (0.1, "0.1"), (0.6, "0.1")):
        costs = ec.CostMatrix.zero_one(2, abstain=alpha)
        yield f"EC of the naive system, alpha {alpha:g}", printed(costs.naive(0.1)[0], normaliser), None
    without = {system: _measured(system, 1.0)[0] for system in ("mc1", "cal")}
    for alpha in (0.49, 0.51):
        shown = "some" if alpha < 0.5 else "none"
        found = [_measured(system, alpha)[2] for system in ("mc1", "cal")]
        low, high = (1e-9, 100.0) if alpha < 0.5 else (0.0, 0.0)
        yield f"% abstained, alpha {alpha:g}", [between(x, low, high, shown) for x in found]
    before = {"mc1": 0.0, "cal": 0.0}
    for alpha in (0.4, 0.2, 0.1, 0.01):
        share = {system: _measured(system, alpha)[2] for system in before}
        grown = [above(share[system], before[system], f"{before[system]:.4f}") for system in before]
        yield f"% abstained, alpha {alpha:g}, grows", *grown
        before = share
    for alpha in (0.01, 0.1, 0.2, 0.4):
        ours, best = (_measured(system, alpha)[2] for system in ("mc1", "cal"))
        low, high, side = (best, 100.0, "above") if alpha < 0.1 else (0.0, best, "below")
        yield f"% abstained, alpha {alpha:g}", between(ours, low, high, f"{side} cal"), alone(best)
    normalised = [[_measured(system, alpha)[1] for alpha in (0.1, 0.01)] for system in ("mc1", "cal")]
    yield "NEC, alpha 0.01, more than at 0.1", [above(lowest, next_, f"{next_:.4f}") for next_, lowest in normalised]
    for alpha in (0.01, 0.1, 0.2, 0.4):
        found = [_measured(system, alpha)[0] / without[system] for system in ("mc1", "cal")]
        yield f"EC over that without abstaining, alpha {alpha:g}", [between(x, 0, 1, "below 1") for x in found]
    yield "EC without abstaining", alone(without["mc1"]), alone(without["cal"])


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
TEN_CLASS_SYSTEMS = ("cal", "mc1", "mc2")
_TEN_COUNTS, _TEN_MEANS, _TEN_VARIANCE = (90_000, *[1_111] * 9), tuple((float(i),) for i in range(10)), 0.15
_TEN_PRIORS: Floats = np.array([0.9, *[0.1 / 9] * 9])
_METRICS = ("NEC", "NEC_abs", "NCE", "NBS")


@cache
def ten_class_log() -> pl.DataFrame:
    """`label`, folds, and of each set its log posteriors: `Datap cal` to `Mismp mc2`."""
    right = log_likelihoods(gaussian_classes(_TEN_COUNTS, _TEN_MEANS, _TEN_VARIANCE), _TEN_MEANS, _TEN_VARIANCE)
    wrong = 0.5 * right + np.array([0.5, *[0.0] * 9])
    columns = {}
    for block, priors in (("Datap", _TEN_PRIORS), ("Mismp", _TEN_PRIORS[::-1])):
        calibrated_posteriors = log_softmax(right + np.log(priors))
        columns[f"{block} cal"] = vectors(calibrated_posteriors)
        columns[f"{block} mc1"] = vectors(log_softmax(wrong + np.log(priors)))
        columns[f"{block} mc2"] = vectors(log_softmax(0.2 * calibrated_posteriors))
    log = pl.DataFrame({"label": labels(_TEN_COUNTS), **columns}).with_row_index("id")
    return log.with_columns(ec.fold("id", 5))


# mc2 are cal to a power. Temperature scaling, which finds the power, makes the same of both. The affine map makes the same of all
# three, and of both priors, which are a part of its shift. So each is fitted once, to the worse of those that it makes alike.
_FITTED = {
    ("temcal", "Datap"): {"cal": "Datap mc2", "mc1": "Datap mc1", "mc2": "Datap mc2"},
    ("temcal", "Mismp"): {"cal": "Mismp mc2", "mc1": "Mismp mc1", "mc2": "Mismp mc2"},
    ("affcal", "Datap"): dict.fromkeys(TEN_CLASS_SYSTEMS, "Mismp mc1"),
    ("affcal", "Mismp"): dict.fromkeys(TEN_CLASS_SYSTEMS, "Mismp mc1"),
}
_CALIBRATORS: dict[str, Any] = {"temcal": "temperature", "affcal": "affine"}


def calibrated_posteriors(name: str, step: str) -> pl.DataFrame:
    """`label`, and the log posteriors of a set as calibrators of the other folds make them, as `s`."""
    log = ten_class_log()
    options: dict[str, Any] = {"folds": 5, "fold_by": "id", "score_type": "log_posteriors"}
    calibration = ec.calibrate(log, name, "label", _CALIBRATORS[step], **options)
    logs = calibration.apply(name, out_of_fold=True).arr.eval(pl.element().log())
    return log.select("label", s=logs)


def measure(log: pl.DataFrame) -> dict[str, float]:
    """The metrics of both tables of a set, whose log posteriors are `s`."""
    found = {}
    for name, abstain in (("NEC", None), ("NEC_abs", 0.1)):
        costs = ec.CostMatrix.zero_one(10, abstain=abstain)
        decision = ec.bayes_decision("s", costs=costs, score_type="log_posteriors")
        found[name] = decided(log.select("label", decision=decision), ec.nec, costs=costs)
    metrics = {"NCE": ec.nce, "NBS": ec.nbs, "ECEmc": ec.ece_mc}
    return found | {
        name: value(log, metric("s", "label", score_type="log_posteriors")) for name, metric in metrics.items()
    }


@cache
def _of_set(name: str, step: str) -> dict[str, float]:
    return measure(calibrated_posteriors(name, step) if step else raw(name))


def _measured_blocks() -> dict[str, list[dict[str, float]]]:
    """Of each block, the metrics of cal, mc1 and mc2; each set of posteriors is measured once."""
    of_blocks = {}
    for line in TABLE_4.strip().splitlines():
        block = line.split()[0]
        priors, _, step = block.partition("-")
        names = _FITTED[step, priors] if step else {system: f"{priors} {system}" for system in TEN_CLASS_SYSTEMS}
        of_blocks[block] = [_of_set(names[system], step) for system in TEN_CLASS_SYSTEMS]
    return of_blocks


def raw(name: str) -> pl.DataFrame:
    """`label` and the log posteriors of a set."""
    return ten_class_log().select("label", pl.col(name).alias("s"))


ALLOWED = {("affcal", "NEC"): 0.0065, ("affcal", "NEC_abs"): 0.0065, ("temcal", "ECEmc in %, mc1"): 0.501}
"""How far a number may be from the printed one, where that is more than a rounding: by calibrator, and column or metric."""


def _beside_tables(text: str, computed: dict[str, list[float]], metrics: Sequence[str]) -> Table:
    columns, rows = [f"{metric}, {system}" for metric in metrics for system in TEN_CLASS_SYSTEMS], {}
    for block, *numbers in lines(text):
        step = block.partition("-")[2]
        allowed = [ALLOWED.get((step, name), ALLOWED.get((step, name.partition(",")[0]))) for name in columns]
        cells = zip(computed[block], numbers, allowed, strict=True)
        rows[block] = [printed(x, shown, within=within) for x, shown, within in cells]
    return Table(columns, rows)


@PAPER("table-4")
def table_4() -> Rows:
    computed = {block: [of[m] for m in _METRICS for of in systems] for block, systems in _measured_blocks().items()}
    return _beside_tables(TABLE_4, computed, _METRICS)


@PAPER("table-5")
def table_5() -> Rows:
    computed = {}
    for block, systems in _measured_blocks().items():
        pairs = [*zip(systems, _measured_blocks()[f"{block.partition('-')[0]}-affcal"], strict=True)]
        gains = [100 * (1 - after[m] / before[m]) for m in ("NCE", "NBS") for before, after in pairs]
        computed[block] = [*gains, *(100 * of["ECEmc"] for of in systems)]
    return _beside_tables(TABLE_5, computed, ("% by CE", "% by Brier", "ECEmc in %"))


def _instead(number: Number, in_print: str) -> Number:
    """It is held against what would be right, and what is in print is shown as well."""
    return replace(number, shown=f"{number.shown}, not {in_print}")


@PAPER("section-4.8.3", columns=["Datap-cal", "Mismp-cal"])
def section_4_8_3() -> Rows:
    log = ten_class_log()
    matched, mismatched = (_of_set(f"{block} cal", "") for block in ("Datap", "Mismp"))
    naive = ec.CostMatrix.zero_one(10).naive(_TEN_PRIORS.tolist())[0]
    decisions = [ec.bayes_decision(f"{block} cal", score_type="log_posteriors") for block in ("Datap", "Mismp")]
    top = [pl.col(f"{block} cal").arr.max().exp() for block in ("Datap", "Mismp")]
    both = log.select(differ=decisions[0] != decisions[1], apart=(top[0] - top[1]).abs())
    of_same, of_other = (both.filter(pl.col("differ") == differ)["apart"].mean() for differ in (False, True))
    error, accuracy = printed(0.1 * matched["NEC"], "0.025"), printed(100 - 10 * matched["NEC"], "97.5")
    yield "EC of the naive system", printed(naive, "0.1"), None
    yield "error rate", _instead(error, "0.027"), printed(0.1 * mismatched["NEC"], "0.111")
    yield "accuracy in percent", _instead(accuracy, "97.3"), printed(100 - 10 * mismatched["NEC"], "88.9")
    yield "decisions that differ, in percent", None, printed(100 * value(both, pl.col("differ").mean()), "10")
    yield "posteriors of the same decisions, apart on average", None, printed(of_same, "0.07")
    yield "posteriors of other decisions, apart on average", None, printed(of_other, "0.25")


@PAPER("tables-4-and-5")
def what_tables_4_and_5_show() -> Rows:
    of = {
        (block, system): metrics
        for block, systems in _measured_blocks().items()
        for system, metrics in zip(TEN_CLASS_SYSTEMS, systems, strict=True)
    }

    def loss(block: str, system: str, metric: str) -> float:
        best = of[f"{block.partition('-')[0]}-affcal", system][metric]
        return 100 * (1 - best / of[block, system][metric])

    right, wrong = of["Datap", "cal"], of["Mismp", "cal"]
    apart = max(
        abs(loss(block, s, "NCE") - loss(block, s, "NBS")) for block in ("Datap", "Mismp") for s in TEN_CLASS_SYSTEMS
    )
    yield "NEC of Datap-mc2 is that of Datap-cal", (of["Datap", "mc2"]["NEC"], right["NEC"])
    yield "NEC of Mismp-mc2 is that of Mismp-cal", (of["Mismp", "mc2"]["NEC"], wrong["NEC"])
    yield (
        "NCE of Datap-mc2, of the same decisions as Datap-cal",
        above(of["Datap", "mc2"]["NCE"], right["NCE"], f"{right['NCE']:.4g}"),
    )
    yield "NEC of Mismp-cal", above(wrong["NEC"], 1.0)
    yield "% by CE of Mismp-cal", above(loss("Mismp", "cal", "NCE"), 70.0)
    yield "ECEmc of Mismp-cal in %", between(100 * wrong["ECEmc"], 0, 2, "below 2")
    yield "% by CE of Datap-temcal mc1", above(loss("Datap-temcal", "mc1", "NCE"), 20.0)
    yield "% by CE of Mismp-temcal cal", above(loss("Mismp-temcal", "cal", "NCE"), 70.0)
    yield "% by CE of Datap-temcal mc2", between(loss("Datap-temcal", "mc2", "NCE"), -1, 1, "about 0")
    yield (
        "NCE of affcal over that of Datap-cal",
        between(of["Mismp-affcal", "mc1"]["NCE"] / right["NCE"], 0.99, 1.01, "about 1"),
    )
    yield "% by CE and by Brier score, at most apart", between(apart, 0, 7, "alike")
