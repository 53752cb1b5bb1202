"""Limits of metrics once more, row by row: influence values as papers print them, and NumPy and SciPy, with no code of the package.

A row has a class y, a decision d, a weight w, and counts c times, for half rows are added where rates may be 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit, logit

LOG = ("expected_cost", "nec", "cross_entropy", "nce", "brier", "nbs", "lr_plus", "lr_minus")
LOSSES = ("cross_entropy", "nce", "brier", "nbs")


@dataclass
class Rows:
    """The rows of one group; `prior` is the stated one of the positive class; a cost is one number, or one for each row."""

    y: np.ndarray
    d: np.ndarray
    w: np.ndarray
    log_loss: np.ndarray
    brier: np.ndarray
    c: np.ndarray
    cost_fn: float | np.ndarray = 1.0
    cost_fp: float | np.ndarray = 1.0
    prior: float | None = None

    def of(self, values: np.ndarray, where: np.ndarray) -> float:
        """The mean over some of the rows."""
        mass = self.c * self.w * where
        return float((mass * values).sum() / mass.sum())


def influence(name: str, rows: Rows) -> tuple[float, np.ndarray]:
    """The value, and what each row adds to it per weight."""
    y, d, w = rows.y.astype(float), rows.d.astype(float), rows.w
    ones = np.ones_like(y)
    n1, n0 = (rows.c * w * y).sum(), (rows.c * w * (1 - y)).sum()
    n = n0 + n1
    p1 = n1 / n if rows.prior is None else rows.prior
    p0 = 1 - p1
    t, f = rows.of(d, y), rows.of(d, 1 - y)
    psi_t, psi_f = y * (d - t) / n1, (1 - y) * (d - f) / n0
    if name in ("recall", "fnr"):
        return (t, psi_t) if name == "recall" else (1 - t, -psi_t)
    if name in ("fpr", "specificity"):
        return (f, psi_f) if name == "fpr" else (1 - f, -psi_f)
    if name == "informedness":
        return t - f, psi_t - psi_f
    if name == "balanced_error_rate":
        return (1 - t + f) / 2, (psi_f - psi_t) / 2
    if name == "lr_plus":
        return t / f, (psi_t - t / f * psi_f) / f
    wrong = y * (1 - d) + (1 - y) * d
    price = y * (1 - d) * rows.cost_fn + (1 - y) * d * rows.cost_fp
    a1, a0 = rows.of(rows.cost_fn * ones, y), rows.of(rows.cost_fp * ones, 1 - y)
    naive_of_row = y * rows.cost_fn if a1 * p1 < a0 * p0 else (1 - y) * rows.cost_fp
    of_row = {
        **dict.fromkeys(("error_rate",), wrong),
        "accuracy": 1 - wrong,
        "decision_share": d,
        **dict.fromkeys(("expected_cost", "nec"), price),
        **dict.fromkeys(("cross_entropy", "nce"), rows.log_loss),
        **dict.fromkeys(("brier", "nbs"), rows.brier),
    }
    if name in of_row:
        x = of_row[name]
        m1, m0 = rows.of(x, y), rows.of(x, 1 - y)
        mean = p1 * m1 + p0 * m0
        naive = min(a1 * p1, a0 * p0)
        entropy = -p1 * np.log(p1) - p0 * np.log(p0)
        divisor = {"nec": naive, "nce": entropy, "nbs": p0 * p1}.get(name, 1.0)
        value = mean / divisor
        if rows.prior is not None:
            if name == "nec":
                x = x - value * naive_of_row
                m1, m0 = rows.of(x, y), rows.of(x, 1 - y)
            return value, (p1 * y * (x - m1) / n1 + p0 * (1 - y) * (x - m0) / n0) / divisor
        if name == "nec":
            return value, (x - value * naive_of_row) / (naive * n)
        if name == "nce":
            return value, (x + value * np.where(y == 1, np.log(p1), np.log(p0))) / (entropy * n)
        if name == "nbs":
            return value, (x - mean - value * (1 - 2 * p1) * (y - p1)) / (p0 * p1 * n)
        return value, (x - mean) / n
    s = p1 * t + p0 * f
    if name == "precision":
        value = p1 * t / s
        if rows.prior is None:
            return value, d * (y - value) / (s * n)
        return value, p1 * y / n1 * (1 - value) * (d - t) / s - p0 * (1 - y) / n0 * value * (d - f) / s
    if name == "f1":
        value = 2 * p1 * t / (s + p1)
        if rows.prior is None:
            return value, (2 * d * y - value * (d + y)) / ((s + p1) * n)
        of_positives = p1 * y / n1 * (2 - value) * (d - t)
        return value, (of_positives - p0 * (1 - y) / n0 * value * (d - f)) / (s + p1)
    if name == "mcc" and rows.prior is None:
        z_y, z_d = (y - p1) / np.sqrt(p0 * p1), (d - s) / np.sqrt(s * (1 - s))
        value = rows.of(z_y * z_d, ones)
        return value, (z_y * z_d - value * (z_y**2 + z_d**2) / 2) / n
    raise NotImplementedError(name)


def with_half_rows(rows: Rows) -> Rows:
    """Half a row more of each class and decision, of the class's mean weight and costs."""
    parts: dict[str, list[Any]] = {"y": [], "d": [], "w": [], "cost_fn": [], "cost_fp": []}
    costs = {name: getattr(rows, name) * np.ones(len(rows.y)) for name in ("cost_fn", "cost_fp")}
    for y in (0, 1):
        w = rows.w[rows.y == y]
        for d in (0, 1):
            for name, cost in costs.items():
                parts[name].append(rows.of(cost, rows.y == y))
            parts["y"].append(y)
            parts["d"].append(d)
            parts["w"].append((w**2).sum() / w.sum())
    added = {name: np.concatenate([costs.get(name, getattr(rows, name)), values]) for name, values in parts.items()}
    nothing, halves = np.zeros(4), np.full(4, 0.5)
    return Rows(
        **added,
        log_loss=np.concatenate([rows.log_loss, nothing]),
        brier=np.concatenate([rows.brier, nothing]),
        c=np.concatenate([rows.c, halves]),
        prior=rows.prior,
    )


def limits_of_rows(name: str, rows: Rows, level: float) -> tuple[float, float]:
    """Bounds for independent rows."""
    value, _ = influence(name, rows)
    at = rows if name in LOSSES else with_half_rows(rows)
    centre, psi = influence(name, at)
    variance, df = variance_of_rows(at, psi)
    return _limits(name, value, centre, np.sqrt(variance), df, level, skewed=name not in LOSSES)


def variance_of_rows(at: Rows, psi: np.ndarray) -> tuple[float, float]:
    """The variance of a sum of what each row adds, and its degrees of freedom."""
    variance, lost, n = 0.0, 0.0, 0.0
    between = 0.0
    for y in (0, 1):
        c, w, p = (values[at.y == y] for values in (at.c, at.w, psi))
        n_i = (c * w).sum() ** 2 / (c * w**2).sum()
        mean = (c * w * p).sum() / (c * w).sum()
        within = (c * w**2 * (p - mean) ** 2).sum() * n_i / (n_i - 1)
        between += mean**2 * (c * w**2).sum()
        variance += within
        lost += within**2 / (n_i - 1)
        n += n_i
    return variance + between, (variance + between) ** 2 / (lost + between**2 / (n - 1))


def limits_of_clusters(name: str, rows: Rows, cluster: np.ndarray, level: float) -> tuple[float, float]:
    """Bounds for rows in clusters."""
    value, psi = influence(name, rows)
    keys, place = np.unique(cluster, return_inverse=True)
    k, n = len(keys), rows.w.sum()
    of_cluster, parts, lost = np.zeros(k), 0.0, 0.0
    of_number = np.zeros(k)
    for y in (0, 1):
        of_class = rows.w * (rows.y == y)
        weight = np.bincount(place, of_class, k)
        mean = (of_class * psi).sum() / of_class.sum()
        within = np.bincount(place, of_class * (psi - mean), k)
        of_number += mean * weight
        # As it counts in what is left of the class without the cluster.
        of_cluster += within / (1 - weight / weight.sum())
        parts += (within**2).sum()
        lost += (within**2).sum() / (weight.sum() ** 2 / (weight**2).sum() - 1)
    weight = np.bincount(place, rows.w, k)
    of_cluster += of_number / (1 - weight / n)
    parts, lost = parts + (of_number**2).sum(), lost + (of_number**2).sum() / (n**2 / (weight**2).sum() - 1)
    variance = (k - 1) / k * (of_cluster**2).sum()
    return _limits(name, value, value, np.sqrt(variance), parts / lost, level, skewed=False)


def _limits(
    name: str, value: float, centre: float, se: float, df: float, level: float, skewed: bool
) -> tuple[float, float]:
    """On the scale of the metric; of few errors, with half an error more, further away at the end of the scale where none are."""
    t = stats.t.ppf(0.5 + level / 2, max(df, 1))
    is_atanh = name in ("mcc", "informedness")
    if name in LOG:
        at, se, back = np.log(centre), se / centre, np.exp
        ends = (1.0, 1.0 if name in ("lr_plus", "lr_minus") else -1.0)
    else:
        share = (1 + centre) / 2 if is_atanh else centre
        se = se / (2 if is_atanh else 1) / (share * (1 - share))
        at, back, ends = (
            logit(share),
            (lambda z: 2 * expit(z) - 1) if is_atanh else expit,
            (1 - 2 * share, 2 * share - 1),
        )
    # 1 / (lean se^2) is the number of errors.
    errors = [1 / (lean * se**2) if lean > 0 and skewed else np.inf for lean in ends]
    below, above = ((t**2 / e / 4 + (t**2 / e) ** 2 / 8) * (e < 20) for e in errors)
    low, high = back(at - t * se - below), back(at + t * se + above)
    return min(low, value), max(high, value)
