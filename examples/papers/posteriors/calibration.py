"""Calibration transformations, Equations 21 to 23, and calibration metrics, Equations 24 to 35."""

from collections.abc import Callable
from functools import cache
from typing import Any, Literal

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.numbers import Rows, by_equation, value, values
from examples.papers.posteriors import PAPER
from examples.papers.posteriors.scoring_rules import three_classes, two_classes
from examples.papers.simulated import FOLD_KEY, FOLDS, Floats, log_softmax, stratified_folds, vectors, with_folds
from examples.papers.written_out import (
    BINS,
    affine_of,
    bins_of,
    by_other_folds,
    calibration_error,
    least_cross_entropy,
    mean_of_bin,
    pooled,
    top_label_error,
)


def _solved(pairs: dict[str, tuple[float, float]]) -> Rows:
    """Pairs of two solvers, which meet to seven digits."""
    return {name: by_equation(*pair, relative=1e-7) for name, pair in pairs.items()}


def _fitted(calibrator: Any, **options: Any) -> pl.Expr:
    return ec.sketch(two_classes().frame, "q", "label", exact=True).calibrate(calibrator, **options).apply("q")


@PAPER("equation-21")
def naive_classifier() -> Rows:
    shares = three_classes().priors.tolist()
    naive = three_classes().frame.with_columns(q=pl.lit(shares, dtype=pl.Array(pl.Float64, 3)))
    ece, nce, nec = (value(naive, rule("q", "label", score_type="posteriors")) for rule in (ec.ece_mc, ec.nce, ec.nec))
    loss = ec.calibration_loss(naive, "q", "label", training="test", score_type="posteriors")
    yield "ECEmc", (ece, 0)
    yield "CalLoss", (loss["cal_loss"].item(), 0)
    yield "NCE", (nce, 1)
    yield "NRisk-01", (nec, 1)


@PAPER("equation-22")
def decisions_by_calibrated_posteriors() -> Rows:
    log = two_classes()
    p, positive = log.q[:, 1], log.h == 1
    for cost_fn, cost_fp in ((1, 1), (10, 1), (1, 10)):
        risk = log.of(ec.bayes_risk, _fitted("pav"), cost_fn=cost_fn, cost_fp=cost_fp)
        best = min(np.mean(np.where(positive, cost_fn * (p <= t), cost_fp * (p > t))) for t in (-1.0, *p))
        yield f"least cost: misses {cost_fn}, false alarms {cost_fp}", (risk, best)


def _affine(calibrator: Literal["affine", "temperature"]) -> Rows:
    with_shift = calibrator == "affine"
    two, three = two_classes(), three_classes()
    fitted = ec.calibrate(two.frame, "q", "label", calibrator).frame.row(0, named=True)
    alpha, beta = least_cross_entropy(np.log(two.q[:, 1] / two.q[:, 0]), two.h, with_shift=with_shift)
    of_three = ec.calibrate(three.frame, "q", "label", calibrator, score_type="posteriors")
    s, parameters = values(three.frame, of_three.apply("q")), of_three.frame.row(0, named=True)
    there = np.exp(log_softmax(parameters["alpha"] * np.log(three.q) + np.array(parameters["beta"])))
    pairs = {"two classes: alpha": (fitted["alpha"], alpha)}
    if with_shift:
        pairs["two classes: beta2 - beta1"] = (fitted["beta"], beta)
    pairs["three classes: largest s - softmax(alpha log q + beta)"] = (np.abs(s - there).max(), 0)
    # Where the cross-entropy is least, its derivatives by alpha and by beta are 0.
    mean = np.mean(np.sum(s * np.log(three.q), axis=1))
    pairs["three classes: mean of sum_i s_i log q_i, and of log q_h"] = (mean, -three.log_losses.mean())
    if with_shift:
        pairs |= {f"three classes: mean s{i + 1}, and P{i + 1}": (s[:, i].mean(), three.priors[i]) for i in range(3)}
    return _solved(pairs)


PAPER("equation-23")(lambda: _affine("affine"))
PAPER("temperature-scaling")(lambda: _affine("temperature"))


@PAPER("pav")
def pav() -> Rows:
    log = two_classes()
    order, s = np.lexsort((log.h, log.q[:, 1])), np.empty(len(log.h))
    s[order] = pooled(log.h[order].astype(float), np.ones(len(order)))
    losses = -np.log(np.where(log.h == 1, s, 1 - s))
    yield "largest difference of a posterior", (np.abs(values(log.frame, _fitted("pav")) - s).max(), 0)
    yield "CE", (log.of(ec.cross_entropy, _fitted("pav")), losses.mean())
    yield "BS", (log.of(ec.brier, _fitted("pav")), np.mean((s - log.h) ** 2))


@PAPER("histogram-binning")
def histogram_binning() -> Rows:
    log = two_classes()
    here, place = values(log.frame, _fitted("histogram", bins=BINS)), bins_of(log.q[:, 1])
    return {
        f"bin {b + 1}: {np.sum(place == b)} rows": (here[place == b].mean(), log.h[place == b].mean())
        for b in np.unique(place)
    }


@PAPER("cross-validation")
def cross_validation() -> Rows:
    log = two_classes()
    folds = stratified_folds(log.frame["label"], np.random.RandomState(0))
    frame = with_folds(log.frame, folds)
    fitted = ec.calibrate(frame, "q", "label", folds=FOLDS, fold_by=FOLD_KEY)
    here = frame.select("fold", s=fitted.apply("q", out_of_fold=True), h="label")
    s = by_other_folds(affine_of, np.log(log.q[:, 1] / log.q[:, 0]), log.h, folds)
    losses = -np.log(np.where(log.h == 1, s, 1 - s))
    cross_entropy = ec.cross_entropy("s", "h")
    pairs = {
        f"CE, fold {k + 1}": (value(here.filter(fold=k), cross_entropy), losses[folds == k].mean())
        for k in range(FOLDS)
    }
    return _solved(pairs | {"CE of all rows": (value(here, cross_entropy), losses.mean())})


_Rule = Literal["cross_entropy", "brier"]
_NAMES: dict[_Rule, str] = {"cross_entropy": "log loss", "brier": "Brier loss"}


@cache
def _calibrated(*, out_of_fold: bool = True) -> tuple[pl.DataFrame, Floats, Floats]:
    """Rows of three classes with folds, their posteriors q, and s: what affine calibration makes of these."""
    log = three_classes()
    frame = with_folds(log.frame, stratified_folds(log.frame["label"], np.random.RandomState(0)))
    fitted = ec.calibrate(frame, "q", "label", folds=FOLDS, fold_by=FOLD_KEY, score_type="posteriors")
    frame = frame.with_columns(s=fitted.apply("q", out_of_fold=out_of_fold))
    return frame, log.q, frame["s"].to_numpy()


def _of(metric: Any, *scores: str, **options: Any) -> float:
    return value(_calibrated()[0], metric(*scores, score_type="posteriors", **options))


def _losses(q: Floats, rule: _Rule) -> Floats:
    """C*(H_i, q) of each row, a column per class."""
    return -np.log(q) if rule == "cross_entropy" else ((q[:, None, :] - np.eye(q.shape[1])) ** 2).mean(axis=2)


def _divergences(s: Floats, q: Floats, rule: _Rule) -> Floats:
    """Kullback-Leibler, or squared distance, as the paper writes them after Equation 26."""
    return np.sum(s * np.log(s / q), axis=1) if rule == "cross_entropy" else np.mean((s - q) ** 2, axis=1)


@PAPER("equation-24")
def expected_divergence() -> Rows:
    _, q, s = _calibrated()
    return {
        f"D, {name}": (_of(ec.expected_score_divergence, "q", "s", rule=rule), _divergences(s, q, rule).mean())
        for rule, name in _NAMES.items()
    }


@PAPER("equation-25")
def decomposition() -> Rows:
    (_, q, s) = _calibrated()
    for rule, name in _NAMES.items():
        entropy = np.sum(s * _losses(s, rule), axis=1).mean()
        epsr, of_s = (_of(ec.semi_empirical_epsr, score, "s", rule=rule) for score in ("q", "s"))
        yield f"EPSR, {name}", (epsr, _divergences(s, q, rule).mean() + entropy)
        yield f"entropy of s, {name}", (of_s, entropy)


@PAPER("equation-26")
def divergence_of_a_row() -> Rows:
    (frame, q, s) = _calibrated()
    for rule, name in _NAMES.items():
        there = np.sum(s * (_losses(q, rule) - _losses(s, rule)), axis=1)
        divergence = ec.expected_score_divergence("q", "s", rule=rule, score_type="posteriors")
        for row in (0, 50, 70):
            yield f"row {row + 1}, {name}", (value(frame[row], divergence), there[row])


@PAPER("equation-27")
def ece() -> Rows:
    yield (
        "ECE, 15 bins",
        (two_classes().of(ec.ece, bins=BINS), calibration_error(two_classes().q[:, 1], two_classes().h)),
    )


@PAPER("equation-28")
def ece_as_a_distance() -> Rows:
    s = values(two_classes().frame, _fitted("histogram", bins=BINS))
    there = np.abs(s - mean_of_bin(two_classes().q[:, 1])).mean()
    yield "ECE, 15 bins", (two_classes().of(ec.ece, bins=BINS), there)


@PAPER("ece-mc")
def top_label_error_of_three() -> Rows:
    yield (
        "ECEmc, 15 bins",
        (three_classes().of(ec.ece_mc, bins=BINS), top_label_error(three_classes().q, three_classes().h)),
    )


@PAPER("equation-29")
def mean_is_the_minimiser() -> Rows:
    s = 0.2 + 0.6 * np.array([0.0, 0.0, 0.1, 0.3, 0.35, 0.5, 0.65, 0.9, 0.95, 1.0]) ** 2
    frame = pl.DataFrame({"s": s}).join(pl.DataFrame({"q0": np.arange(1, 1000) / 1000}), how="cross")
    divergences = (ec.expected_score_divergence("q0", "s", rule=rule).alias(name) for rule, name in _NAMES.items())
    expected, mean = frame.group_by("q0").agg(divergences), np.round(s.mean(), 3)
    return {f"q0 of least divergence, {name}": (expected.sort(name)["q0"][0], mean) for name in _NAMES.values()}


@cache
def _calibration_loss(rule: _Rule, *, out_of_fold: bool) -> dict[str, float]:
    options: dict[str, Any] = {"folds": FOLDS, "fold_by": FOLD_KEY} if out_of_fold else {"training": "test"}
    found = ec.calibration_loss(_calibrated()[0], "q", "label", rule, score_type="posteriors", **options)
    return found.row(0, named=True)


def _beside_losses(column: str, equation: Callable[[float, float], float]) -> Callable[[], Rows]:
    """A column of `ec.calibration_loss`, beside the equation of the mean losses of q and of s."""

    def rows() -> Rows:
        h, pairs = three_classes().h, {}
        for name, out_of_fold in (("cross-validation", True), ("on the very rows", False)):
            _, *scores = _calibrated(out_of_fold=out_of_fold)
            pairs[name] = []
            for rule in _NAMES:
                found = _calibration_loss(rule, out_of_fold=out_of_fold)[column]
                losses = (float(_losses(x, rule)[np.arange(len(h)), h].mean()) for x in scores)
                pairs[name].append((found, equation(*losses)))
        return pairs

    return rows


_RULES = [*_NAMES.values()]
PAPER("equation-30", columns=_RULES)(_beside_losses("cal_loss", lambda raw, calibrated: raw - calibrated))
PAPER("equation-31", columns=_RULES)(_beside_losses("raw", lambda raw, _: raw))
PAPER("equation-32", columns=_RULES)(_beside_losses("calibrated", lambda _, calibrated: calibrated))
PAPER("equation-33", columns=_RULES)(_beside_losses("rcl", lambda raw, calibrated: 100 * (raw - calibrated) / raw))


@PAPER("equation-35")
def semi_empirical_cross_entropy() -> Rows:
    frame, q, s = _calibrated()
    empirical = three_classes().of(ec.cross_entropy)
    one_hot = frame.with_columns(h=vectors(np.eye(3)[three_classes().h]))
    by_labels = value(one_hot, ec.semi_empirical_epsr("q", "h", score_type="posteriors"))
    expected = np.sum(s * -np.log(q), axis=1).mean()
    yield "empirical", (empirical, three_classes().log_losses.mean())
    yield "by the calibrated posterior", (_of(ec.semi_empirical_epsr, "q", "s"), expected)
    yield "by the labels as posteriors", (by_labels, empirical)
