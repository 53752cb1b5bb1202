"""Equations of sections 1 to 4, on two small logs: beside each number the equation as the paper writes it, in NumPy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Table, between, by_equation
from polars_ec.papers.simulated import Floats
from polars_ec.papers.small import counted, value
from polars_ec.papers.written_out import area_under_pr, area_under_roc, operating_points

TN, FP, FN, TP = 810, 90, 10, 90
"""900 negatives, 100 positives, of which 90 each are decided positive."""
COUNTS = ((TN, FP), (FN, TP))
RECALL, OWN = TP / (TP + FN), (TP + FN) / (TN + FP + FN + TP)
DERIVED = {0.5: 0.9, 0.1: 0.5, 0.01: 1 / 12}
"""Their precision by reference prior, worked out by hand; the own prior is 0.1."""
REFERENCES = (0.5, 0.1, 0.01)

_SCORES = pl.DataFrame(
    {
        "score": [0.95, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.2, 0.1],
        "label": [1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0],
    }
)
_THRESHOLD = 0.5


def _of(metric: str, counts: Sequence[Sequence[float]] = COUNTS, **keywords: Any) -> float:
    """A metric of decisions."""
    function = getattr(ec, metric)
    return value(counted(counts), function("decision", "label", score_type="decision", weight="n", **keywords))


def equation_1() -> Table:
    """The optimal score is the likelihood ratio, and does not depend on the prior of the posteriors that it is made of."""
    features = (-1.0, 0.5, 2.5)
    positive, negative = NormalDist(2.0), NormalDist(0.0)
    rows = []
    for prior in (0.5, 0.01):
        posteriors = [
            prior * positive.pdf(x) / (prior * positive.pdf(x) + (1 - prior) * negative.pdf(x)) for x in features
        ]
        found = pl.DataFrame({"posterior": posteriors}).select(ec.llr("posterior", prior=prior)).to_series()
        ratios = [math.log(positive.pdf(x) / negative.pdf(x)) for x in features]
        rows.append((f"posteriors at {prior:g}", [by_equation(a, b) for a, b in zip(found, ratios, strict=True)]))
    return Table([f"ln s({x:g})" for x in features], rows)


def invariance() -> Table:
    """The same rates at another prior: ten times as many negatives."""
    columns = [(metric, prior) for metric in ("precision", "f1") for prior in (None, 0.1)]
    rows = []
    for times in (1, 10):
        at_prior = ((times * TN, times * FP), (FN, TP))
        cells = []
        for metric, prior in columns:
            alarms = (times if prior is None else 1) * FP
            expected = TP / (TP + alarms) if metric == "precision" else 2 * TP / (2 * TP + alarms + FN)
            cells.append(by_equation(_of(metric, at_prior, prior=prior), expected))
        rows.append((f"own prior {100 / (900 * times + 100):.3g}", cells))
    return Table([metric if prior is None else f"{metric}, prior {prior:g}" for metric, prior in columns], rows)


def counts() -> Table:
    """TP, TN, FP and FN: decided positive where the score is above the threshold, strictly."""
    score, label = _arrays()
    decided = score > _THRESHOLD
    expected = {
        "tp": (decided & label).sum(),
        "tn": (~decided & ~label).sum(),
        "fp": (decided & ~label).sum(),
        "fn": (~decided & label).sum(),
    }
    found = _SCORES.select(ec.confusion("score", "label", threshold=_THRESHOLD)).item()
    return Table(
        [name.upper() for name in expected],
        [("threshold 0.5, a score of 0.5 among them", [by_equation(found[name], n) for name, n in expected.items()])],
    )


def ratios() -> Table:
    """Recall, fall-out and precision."""
    score, label = _arrays()
    decided = score > _THRESHOLD
    expected = {"recall": decided[label].mean(), "fpr": decided[~label].mean(), "precision": label[decided].mean()}
    found = _SCORES.select(
        getattr(ec, name)("score", "label", threshold=_THRESHOLD).alias(name) for name in expected
    ).row(0, named=True)
    return Table(
        list(expected),
        [("threshold 0.5", [by_equation(found[name], value) for name, value in expected.items()])],
        notes=[
            "Section 1 says that false positives are divided by true negatives and by true positives: they are by all negatives and by all that is decided positive."
        ],
    )


def equation_2() -> Table:
    """F1, of plain precision."""
    return Table(["F1"], [("own prior 0.1", [by_equation(_of("f1"), _f1(TP / (TP + FP), RECALL))])])


def equation_3() -> Table:
    """The gain of precision over the share of positives."""
    return Table(["Prec_G"], [("own prior 0.1", [by_equation(_of("precision_gain"), _gain(TP / (TP + FP), OWN))])])


def equation_4() -> Table:
    """The gain of recall over the share of positives."""
    return Table(["Rec_G"], [("own prior 0.1", [by_equation(_of("recall_gain"), _gain(RECALL, OWN))])])


def areas() -> Table:
    """Areas from the highest score to the lowest; equal scores pass the threshold together."""
    metrics = (ec.auc_roc, ec.average_precision, ec.auprg)
    found = [_SCORES.select(metric("score", "label")).item() for metric in metrics]
    return Table(
        ["AUC-ROC", "AUC-PR", "AUC-PR gain"],
        [("12 rows", [by_equation(value, expected) for value, expected in zip(found, _areas(), strict=True)])],
        notes=[
            "The paper does not say how points are joined: here straight lines for AUC-ROC, steps for AUC-PR, and for the gains straight "
            "lines from a recall gain of 0 on, where the curve starts between two points, linear in TP and FP.",
        ],
    )


def ratio_of_errors() -> Table:
    """What FP / TP is multiplied by when the prior is the reference: pi (1 - pi0) / (pi0 (1 - pi))."""
    rows = []
    for reference in REFERENCES:
        precision = _of("precision", prior=reference)
        found = (1 - precision) / precision / (FP / TP)
        rows.append((f"reference {reference:g}", [by_equation(found, _times(OWN, reference))]))
    return Table(["FP / TP, times"], rows)


def equation_5() -> Table:
    """Calibrated precision, by counts and by rates."""
    rows = []
    for reference in REFERENCES:
        found = _of("precision", prior=reference)
        by_rates = RECALL / (RECALL + (1 - reference) / reference * FP / (sum(COUNTS[0])))
        expected = (TP / (TP + _times(OWN, reference) * FP), by_rates, DERIVED[reference])
        rows.append((f"reference {reference:g}", [by_equation(found, value) for value in expected]))
    return Table(["by counts and pi", "by TPR and FPR", "by hand"], rows)


def calibrated() -> Table:
    """F1 and the gains with calibrated precision and the reference prior in them; precision gain stays what it is."""
    rows = []
    for reference in REFERENCES:
        precision = TP / (TP + _times(OWN, reference) * FP)
        found = _of("precision_gain", prior=reference)
        cells = [
            by_equation(_of("f1", prior=reference), _f1(precision, RECALL)),
            by_equation(found, _gain(precision, reference)),
            by_equation(found, _gain(TP / (TP + FP), OWN)),
            by_equation(_of("recall_gain", prior=reference), _gain(RECALL, reference)),
        ]
        rows.append((f"reference {reference:g}", cells))
    return Table(["F1", "Prec_G", "Prec_G, plain", "Rec_G"], rows)


def own_prior() -> Table:
    """At the own prior as the reference calibrated metrics are the plain ones."""
    precision = TP / (TP + FP)
    plain = {
        "precision": precision,
        "f1": _f1(precision, RECALL),
        "precision_gain": _gain(precision, OWN),
        "recall_gain": _gain(RECALL, OWN),
    }
    cells = [by_equation(_of(name, prior=OWN), value) for name, value in plain.items()]
    share = float(_SCORES["label"].to_numpy().mean())
    for metric, area in zip((ec.average_precision, ec.auprg), _areas()[1:], strict=True):
        cells.append(by_equation(_SCORES.select(metric("score", "label", prior=share)).item(), area))
    names = [*plain, "AUC-PR", "AUC-PR gain"]
    return Table(["at the own prior"], [(name, [cell]) for name, cell in zip(names, cells, strict=True)])


def weights() -> Table:
    """What a reference of 0.5 makes of a false positive: it weighs pi / (1 - pi); and FP / TP by the rates."""
    rows = []
    for negatives in (900, 9_900, 10_000):
        tn, fp = 0.9 * negatives, 0.1 * negatives
        counts = ((tn, fp), (FN, TP))
        own = (TP + FN) / (TP + FN + negatives)
        precision = _of("precision", counts, prior=0.5)
        found = _of("fpr", counts) / _of("recall", counts) * (1 - own) / own
        weight = (1 - precision) / precision / (fp / TP)
        cells = [
            by_equation(precision, TP / (TP + own / (1 - own) * fp)),
            by_equation(found, fp / TP),
            by_equation(1 / weight, (1 - own) / own),
        ]
        rows.append((f"{negatives:,} negatives, 100 positives", cells))
    return Table(
        ["precision at 0.5", "FP / TP", "(1 - pi) / pi"],
        rows,
        notes=[
            "The paper says that (1 - pi) / pi is above 100 where pi is below 0.01: at 0.01 it is 99, and 100 at 1 / 101."
        ],
    )


def choice_of_a_model() -> Table:
    """The reference prior decides which of two models is the better one."""
    models = {"few alarms": (9, 60), "many alarms": (90, 90)}
    rows = []
    for reference in (0.5, 0.1, 0.01):
        found, expected = [], []
        for fp, tp in models.values():
            precision = tp / (tp + _times(OWN, reference) * fp)
            found.append(_of("f1", ((900 - fp, fp), (100 - tp, tp)), prior=reference))
            expected.append(_f1(precision, tp / 100))
        cells = [by_equation(ours, theirs) for ours, theirs in zip(found, expected, strict=True)]
        more = found[1] - found[0]
        side = between(more, 0, 1, "above 0") if reference == REFERENCES[0] else between(more, -1, 0, "below 0")
        rows.append((f"reference {reference:g}", [*cells, side]))
    return Table([*(f"F1, {name}" for name in models), "the second better by"], rows)


def best_f1() -> Table:
    """The largest F1 over all thresholds, plain and calibrated."""
    tp, fp = _path()
    own = tp[-1] / (tp[-1] + fp[-1])
    sketch = ec.sketch(_SCORES, "score", "label", exact=True)
    rows = []
    for reference in (own, 0.5, 0.01):
        precision = tp / (tp + _times(own, reference) * fp)
        found = sketch.best_threshold("f1", prior=reference)["f1"].item()
        rows.append((f"reference {reference:.3g}", [by_equation(found, float(_f1(precision, tp / tp[-1]).max()))]))
    return Table(["best F1"], rows)


def _f1(precision: Any, recall: Any) -> Any:
    return 2 * precision * recall / (precision + recall)


def _gain(value: Any, prior: float) -> Any:
    return (value - prior) / ((1 - prior) * value)


def _times(own: float, reference: float) -> float:
    return own * (1 - reference) / (reference * (1 - own))


def _arrays() -> tuple[Floats, Any]:
    return _SCORES["score"].to_numpy(), _SCORES["label"].to_numpy() == 1


def _path() -> tuple[Floats, Floats]:
    """TP and FP at each distinct score, from the highest down."""
    score, label = _arrays()
    fpr, tpr = operating_points(score, label)
    return tpr[1:] * label.sum(), fpr[1:] * (~label).sum()


def _areas() -> tuple[float, float, float]:
    """Of the plain curves: trapezoids, steps, and trapezoids of gains."""
    points, own = operating_points(*_arrays()), float(_arrays()[1].mean())
    return area_under_roc(*points), area_under_pr(*points, own), _area_of_gains(*_path(), own)


def _area_of_gains(tp: Floats, fp: Floats, own: float) -> float:
    """Trapezoids of precision gain over recall gain from 0 on."""
    start = own * tp[-1]
    tp, fp = np.insert(tp, 0, 0.0), np.insert(fp, 0, 0.0)
    after = int(np.searchsorted(tp, start))
    step = (start - tp[after - 1]) / (tp[after] - tp[after - 1])
    tp = np.append(start, tp[after:])
    fp = np.append(fp[after - 1] + step * (fp[after] - fp[after - 1]), fp[after:])
    recall, precision = tp / tp[-1], tp / (tp + fp)
    return float(np.trapezoid(_gain(precision, own), _gain(recall, own)))
