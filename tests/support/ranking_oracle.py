"""Ranking metrics written out in plain Python, one threshold after the other: what the package is checked against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

Point = tuple[float, float]


def roc_points(scores: Sequence[float], labels: Sequence[bool], weights: Sequence[float]) -> list[Point]:
    """(FPR, TPR) from nothing decided positive to everything, a point for each distinct score."""
    n1 = math.fsum(w for y, w in zip(labels, weights, strict=True) if y)
    n0 = math.fsum(w for y, w in zip(labels, weights, strict=True) if not y)
    points = [(0.0, 0.0)]
    for threshold in sorted(set(scores), reverse=True):
        rows = [(y, w) for s, y, w in zip(scores, labels, weights, strict=True) if s >= threshold]
        points.append((math.fsum(w for y, w in rows if not y) / n0, math.fsum(w for y, w in rows if y) / n1))
    return points


def auc_roc(scores, labels, weights) -> float:
    pairs = [
        (w * v, 1.0 if s > t else 0.5 if s == t else 0.0)
        for s, y, w in zip(scores, labels, weights, strict=True)
        if y
        for t, z, v in zip(scores, labels, weights, strict=True)
        if not z
    ]
    return math.fsum(w * win for w, win in pairs) / math.fsum(w for w, _ in pairs)


def average_precision(points: Sequence[Point], p1: float) -> float:
    total = 0.0
    for (_, t0), (f1, t1) in itertools.pairwise(points):
        if t1 > t0:
            total += (t1 - t0) * p1 * t1 / (p1 * t1 + (1 - p1) * f1)
    return total


def auprg(points: Sequence[Point], p1: float) -> float:
    odds = p1 / (1 - p1)
    curve: list[Point] = []
    for (f0, t0), (f1, t1) in itertools.pairwise(points):
        if t0 < p1 < t1:
            f = f0 + (f1 - f0) * (p1 - t0) / (t1 - t0)
            curve.append((0.0, 1 - f / p1))
        if t1 >= p1:
            curve.append((1 - odds * (1 - t1) / t1, 1 - f1 / t1))
    return math.fsum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in itertools.pairwise(curve))


def eer_linear(points: Sequence[Point]) -> float:
    for (f0, t0), (f1, t1) in itertools.pairwise(points):
        if f1 + t1 >= 1:
            share = (1 - f0 - t0) / (f1 + t1 - f0 - t0)
            return f0 + share * (f1 - f0)
    raise AssertionError


def eer(points: Sequence[Point]) -> float:
    """The lowest crossing of any chord with the diagonal."""
    before = [(f, t) for f, t in points if f + t <= 1]
    after = [(f, t) for f, t in points if f + t >= 1]
    crossings = []
    for f0, t0 in before:
        for f1, t1 in after:
            rise = f1 + t1 - f0 - t0
            crossings.append(f0 if rise == 0 else f0 + (1 - f0 - t0) / rise * (f1 - f0))
    return min(crossings)


def min_expected_cost(points: Sequence[Point], p1: float, cost_fn: float, cost_fp: float) -> float:
    return min(p1 * cost_fn * (1 - t) + (1 - p1) * cost_fp * f for f, t in points)


def best_threshold(scores, labels, weights, p1: float, cost_fn: float, cost_fp: float) -> float:
    """Every threshold from the highest down; a later one must cost less by more than rounding."""
    n1, n0 = (math.fsum(w for y, w in zip(labels, weights, strict=True) if y == c) for c in (True, False))
    costs = {}
    for threshold in [math.inf, *sorted(set(scores), reverse=True), -math.inf]:
        missed = math.fsum(w for s, y, w in zip(scores, labels, weights, strict=True) if y and not s > threshold)
        alarms = math.fsum(w for s, y, w in zip(scores, labels, weights, strict=True) if not y and s > threshold)
        costs[threshold] = p1 * cost_fn * missed / n1 + (1 - p1) * cost_fp * alarms / n0
    return next(t for t, cost in costs.items() if cost <= min(costs.values()) * (1 + 1e-12))


def specificity_at_sensitivity(points: Sequence[Point], sensitivity: float) -> float:
    return next(1 - f for f, t in points[1:] if t >= sensitivity)


def sensitivity_at_specificity(points: Sequence[Point], specificity: float) -> float:
    return max(t for f, t in points if 1 - f >= specificity * (1 - 1e-12))


def ks(points: Sequence[Point]) -> float:
    return max(abs(t - f) for f, t in points)


def min_cllr(points: Sequence[Point]) -> float:
    """Pool adjacent violators on the steps of the curve, then Cllr of the pooled likelihood ratios."""
    blocks: list[list[float]] = []
    for (f0, t0), (f1, t1) in itertools.pairwise(points):
        blocks.append([t1 - t0, f1 - f0])
        while len(blocks) > 1 and blocks[-2][0] * blocks[-1][1] <= blocks[-1][0] * blocks[-2][1]:
            rise, run = blocks.pop()
            blocks[-1][0] += rise
            blocks[-1][1] += run
    total = 0.0
    for rise, run in blocks:
        if rise > 0 and run > 0:
            total += rise * math.log2(1 + run / rise) + run * math.log2(1 + rise / run)
    return total / 2
