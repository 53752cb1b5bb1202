"""Equations of sections 1 to 4, on two small logs: beside each number the equation as the paper writes it, in NumPy."""

from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.calibration import PAPER
from examples.papers.numbers import Rows, between, counted, decided, value, values
from examples.papers.simulated import Floats
from examples.papers.written_out import area_under_pr, area_under_roc, operating_points

TN, FP, FN, TP = 810, 90, 10, 90
"""900 negatives, 100 positives, of which 90 each are decided positive."""
COUNTS = ((TN, FP), (FN, TP))
RECALL, OWN, PRECISION = TP / (TP + FN), (TP + FN) / (TN + FP + FN + TP), TP / (TP + FP)
DERIVED = {0.5: 0.9, 0.1: 0.5, 0.01: 1 / 12}
"""Their precision by reference prior, worked out by hand; the own prior is 0.1."""
REFERENCES = (0.5, 0.1, 0.01)
_SCORE = np.array([0.95, 0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.4, 0.35, 0.3, 0.2, 0.1])
_LABEL = np.array([1, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 0]) == 1
_SCORES = pl.DataFrame({"score": _SCORE, "label": _LABEL})
_THRESHOLD = 0.5
_ABOVE = _SCORE > _THRESHOLD


def _of(metric: Any, counts: Any = COUNTS, **options: Any) -> float:
    return decided(counted(counts), metric, **options)


def _scored(metric: Any, **options: Any) -> Any:
    return _SCORES.select(metric("score", "label", **options)).item()


def _f1(precision: Any, recall: Any) -> Any:
    return 2 * precision * recall / (precision + recall)


def _gain(share: Any, prior: float) -> Any:
    return (share - prior) / ((1 - prior) * share)


def _times(own: float, reference: float) -> float:
    return own * (1 - reference) / (reference * (1 - own))


@PAPER("equation-1", columns=["ln s(-1)", "ln s(0.5)", "ln s(2.5)"])
def optimal_score() -> Rows:
    positive, negative = (np.array([NormalDist(mean).pdf(x) for x in (-1.0, 0.5, 2.5)]) for mean in (2.0, 0.0))
    for prior in (0.5, 0.01):
        posteriors = pl.DataFrame({"posterior": prior * positive / (prior * positive + (1 - prior) * negative)})
        found = values(posteriors, ec.llr("posterior", prior=prior))
        yield f"posteriors at {prior:g}", *zip(found, np.log(positive / negative), strict=True)


@PAPER("section-1", columns=["precision", "precision, prior 0.1", "f1", "f1, prior 0.1"])
def invariance() -> Rows:
    rows = {}
    for times in (1, 10):
        counts = ((times * TN, times * FP), (FN, TP))
        cells = rows[f"own prior {100 / (900 * times + 100):.3g}"] = []
        for prior, alarms in ((None, times * FP), (0.1, FP)):
            precision = (_of(ec.precision, counts, prior=prior), TP / (TP + alarms))
            cells.append((precision, (_of(ec.f1, counts, prior=prior), 2 * TP / (2 * TP + alarms + FN))))
        cells[:] = [pair for metric in zip(*cells, strict=True) for pair in metric]
    return rows


@PAPER("section-2-counts", columns=["TP", "TN", "FP", "FN"])
def counts() -> Rows:
    found = _scored(ec.confusion, threshold=_THRESHOLD)
    expected = {"tp": _ABOVE & _LABEL, "tn": ~_ABOVE & ~_LABEL, "fp": _ABOVE & ~_LABEL, "fn": ~_ABOVE & _LABEL}
    yield "threshold 0.5, a score of 0.5 among them", [(found[k], rows.sum()) for k, rows in expected.items()]


PAPER("section-2-ratios", columns=["recall", "fpr", "precision"])(
    lambda: {
        "threshold 0.5": [
            (_scored(ec.recall, threshold=_THRESHOLD), _ABOVE[_LABEL].mean()),
            (_scored(ec.fpr, threshold=_THRESHOLD), _ABOVE[~_LABEL].mean()),
            (_scored(ec.precision, threshold=_THRESHOLD), _LABEL[_ABOVE].mean()),
        ]
    }
)
PAPER("equation-2", columns=["F1"])(lambda: {"own prior 0.1": (_of(ec.f1), _f1(PRECISION, RECALL))})
PAPER("equation-3", columns=["Prec_G"])(lambda: {"own prior 0.1": (_of(ec.precision_gain), _gain(PRECISION, OWN))})
PAPER("equation-4", columns=["Rec_G"])(lambda: {"own prior 0.1": (_of(ec.recall_gain), _gain(RECALL, OWN))})
PAPER("section-2-areas", columns=["AUC-ROC", "AUC-PR", "AUC-PR gain"])(
    lambda: {"12 rows": [*zip(map(_scored, (ec.auc_roc, ec.average_precision, ec.auprg)), _areas(), strict=True)]}
)


@PAPER("section-3.1", columns=["FP / TP, times"])
def ratio_of_errors() -> Rows:
    precisions = {reference: _of(ec.precision, prior=reference) for reference in REFERENCES}
    return {
        f"reference {reference:g}": ((1 - precision) / precision / (FP / TP), _times(OWN, reference))
        for reference, precision in precisions.items()
    }


@PAPER("equation-5", columns=["by counts and pi", "by TPR and FPR", "by hand"])
def calibrated_precision() -> Rows:
    for reference in REFERENCES:
        found = _of(ec.precision, prior=reference)
        by_rates = RECALL / (RECALL + (1 - reference) / reference * FP / (TN + FP))
        by_counts = TP / (TP + _times(OWN, reference) * FP)
        yield f"reference {reference:g}", (found, by_counts), (found, by_rates), (found, DERIVED[reference])


@PAPER("section-3.1-others", columns=["F1", "Prec_G", "Prec_G, plain", "Rec_G"])
def calibrated_metrics() -> Rows:
    for reference in REFERENCES:
        precision = TP / (TP + _times(OWN, reference) * FP)
        gain = _of(ec.precision_gain, prior=reference)
        yield (
            f"reference {reference:g}",
            (_of(ec.f1, prior=reference), _f1(precision, RECALL)),
            (gain, _gain(precision, reference)),
            (gain, _gain(PRECISION, OWN)),
            (_of(ec.recall_gain, prior=reference), _gain(RECALL, reference)),
        )


@PAPER("section-4.1", columns=["at the own prior"])
def own_prior() -> Rows:
    _, of_pr, of_gains = _areas()
    yield "precision", (_of(ec.precision, prior=OWN), PRECISION)
    yield "f1", (_of(ec.f1, prior=OWN), _f1(PRECISION, RECALL))
    yield "precision_gain", (_of(ec.precision_gain, prior=OWN), _gain(PRECISION, OWN))
    yield "recall_gain", (_of(ec.recall_gain, prior=OWN), _gain(RECALL, OWN))
    yield "AUC-PR", (_scored(ec.average_precision, prior=_LABEL.mean()), of_pr)
    yield "AUC-PR gain", (_scored(ec.auprg, prior=_LABEL.mean()), of_gains)


@PAPER("section-4.2-weights", columns=["precision at 0.5", "FP / TP", "(1 - pi) / pi"])
def weights() -> Rows:
    for negatives in (900, 9_900, 10_000):
        fp, own = 0.1 * negatives, (TP + FN) / (TP + FN + negatives)
        counts = ((0.9 * negatives, fp), (FN, TP))
        precision, odds = _of(ec.precision, counts, prior=0.5), (1 - own) / own
        yield (
            f"{negatives:,} negatives, 100 positives",
            (precision, TP / (TP + fp / odds)),
            (_of(ec.fpr, counts) / _of(ec.recall, counts) * odds, fp / TP),
            (1 / ((1 - precision) / precision / (fp / TP)), odds),
        )


@PAPER("section-6", columns=["F1, few alarms", "F1, many alarms", "the second better by"])
def choice_of_a_model() -> Rows:
    for reference in REFERENCES:
        cells = []
        for fp, tp in ((9, 60), (90, 90)):
            found = _of(ec.f1, ((900 - fp, fp), (100 - tp, tp)), prior=reference)
            cells.append((found, _f1(tp / (tp + _times(OWN, reference) * fp), tp / 100)))
        more = cells[1][0] - cells[0][0]
        sign = between(more, 0, 1, "above 0") if reference == 0.5 else between(more, -1, 0, "below 0")
        yield f"reference {reference:g}", *cells, sign


@PAPER("best-f1", columns=["best F1"])
def best_f1() -> Rows:
    (tp, fp), own = _path(), _LABEL.mean()
    sketch = ec.sketch(_SCORES, "score", "label", exact=True)
    for reference in (own, 0.5, 0.01):
        precision = tp / (tp + _times(own, reference) * fp)
        found = value(sketch.best_threshold("f1", prior=reference), pl.col("f1"))
        yield f"reference {reference:.3g}", (found, _f1(precision, tp / tp[-1]).max())


def _path() -> tuple[Floats, Floats]:
    """TP and FP at each distinct score, from the highest down."""
    fpr, tpr = operating_points(_SCORE, _LABEL)
    return tpr[1:] * _LABEL.sum(), fpr[1:] * (~_LABEL).sum()


def _areas() -> tuple[float, float, float]:
    """The areas of the plain curves: trapezoids, steps, and trapezoids of gains."""
    points, own = operating_points(_SCORE, _LABEL), float(_LABEL.mean())
    return area_under_roc(*points), area_under_pr(*points, own), _area_of_gains(*_path(), own)


def _area_of_gains(tp: Floats, fp: Floats, own: float) -> float:
    """Trapezoids of precision gain over recall gain from 0 on."""
    start, (tp, fp) = own * tp[-1], (np.insert(x, 0, 0.0) for x in (tp, fp))
    after = int(np.searchsorted(tp, start))
    step = (start - tp[after - 1]) / (tp[after] - tp[after - 1])
    fp = np.append(fp[after - 1] + step * (fp[after] - fp[after - 1]), fp[after:])
    tp = np.append(start, tp[after:])
    return float(np.trapezoid(_gain(tp / (tp + fp), own), _gain(tp / tp[-1], own)))
