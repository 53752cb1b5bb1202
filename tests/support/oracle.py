"""Every metric once more, in plain NumPy on one group: what the package is checked against.

Written from the papers' formulas, row by row, with no code of the package and none of its tricks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import mp, mpf


class WrongRowError(Exception):
    """A row is present but wrong."""


def is_missing(score: Any, label: Any, weight: Any) -> bool:
    parts = score if isinstance(score, list) else [score]
    return label is None or weight is None or score is None or any(p is None for p in parts)


def posterior_of(score: Any, score_type: str, prior: np.ndarray | None, k: int) -> np.ndarray:
    """Posteriors of one row, or WrongRowError."""
    if isinstance(score, list):
        x = np.array(score, dtype=float)
        if len(x) != k or np.isnan(x).any():
            raise WrongRowError
        if score_type in ("posterior", "posteriors"):
            q = x
        elif score_type == "log_posteriors":
            if (x > 1e-6).any():
                raise WrongRowError
            q = np.exp(x)
        else:
            if (x == math.inf).any() or (x == -math.inf).all():
                raise WrongRowError
            with np.errstate(divide="ignore"):
                joint = x + np.log(prior)
            if joint.max() == -math.inf:
                raise WrongRowError
            q = np.exp(joint - joint.max())
            return q / q.sum()
        if (q < 0).any() or (q > 1 + 2e-6).any() or (score_type != "log_posteriors" and (q > 1).any()):
            raise WrongRowError
        if abs(q.sum() - 1) > 1e-6:
            raise WrongRowError
        return q
    if math.isnan(score):
        raise WrongRowError
    if score_type == "percent":
        return posterior_of(score / 100, "posterior", prior, k)
    if score_type == "posterior":
        if not 0 <= score <= 1:
            raise WrongRowError
        return np.array([1 - score, score])
    x = score + (math.log(prior[1] / prior[0]) if score_type == "llr" else 0.0)
    return np.array([sigmoid(-x), sigmoid(x)])


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x)) if x > -math.inf else 0.0


def log_loss_of(score: Any, y: int, score_type: str, prior: np.ndarray | None, k: int) -> float:
    """-ln of the posterior of class y, accurate where the posterior is near 0 or 1."""
    if isinstance(score, list):
        if score_type == "log_posteriors":
            return -score[y]
        q = posterior_of(score, score_type, prior, k)[y]
        return -math.log(q) if q > 0 else math.inf
    if score_type == "percent":
        score, score_type = score / 100, "posterior"
    if score_type == "posterior":
        if y == 1:
            return -math.log(score) if score > 0 else math.inf
        return -math.log1p(-score) if score < 1 else math.inf
    x = score + (math.log(prior[1] / prior[0]) if score_type == "llr" else 0.0)
    against = -x if y == 1 else x
    return max(against, 0.0) + math.log1p(math.exp(-abs(against)))


def brier_of(score: Any, y: int, score_type: str, prior: np.ndarray | None, k: int) -> float:
    if score_type == "percent":
        score, score_type = score / 100, "posterior"
    if not isinstance(score, list) and score_type != "posterior":
        x = score + (math.log(prior[1] / prior[0]) if score_type == "llr" else 0.0)
        return sigmoid(-x if y == 1 else x) ** 2
    if not isinstance(score, list):
        return (1 - score) ** 2 if y == 1 else score**2
    q = posterior_of(score, score_type, prior, k)
    return float(np.mean([(q[i] - (i == y)) ** 2 for i in range(k)]))


def beta_loss_of(q: float, y: int, a: float, b: float) -> float:
    """The integral of the Beta-weighted losses, by mpmath's hypergeometric incomplete beta function."""
    mp.dps = 40
    lower = mpf(q)
    if y == 0:
        lower, a, b = 1 - lower, b, a
    if lower == 0 and a <= 1:
        return math.inf
    return float(mp.betainc(mpf(a) - 1, mpf(b), lower, 1) / mp.beta(a, b))


def decision_of(
    score: Any, score_type: str, prior: np.ndarray | None, costs: np.ndarray, threshold: float | None
) -> int:
    k, m = costs.shape
    if score_type == "decision":
        if not (float(score).is_integer() and 0 <= score < m):
            raise WrongRowError
        return int(score)
    q = posterior_of(score, score_type, prior, k)
    if threshold is not None:
        return int(score > threshold)
    if not isinstance(score, list) and (k, m) == (2, 2):
        cost_fp, cost_fn = costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]
        if cost_fp > 0 and cost_fn > 0:
            if score_type in ("posterior", "percent"):
                return int((score if score_type == "posterior" else score / 100) > cost_fp / (cost_fp + cost_fn))
            shift = math.log(prior[1] / prior[0]) if score_type == "llr" else 0.0
            return int(score > math.log(cost_fp / cost_fn) - shift)
    relative = costs - costs.max(axis=1, keepdims=True)
    expected = [sum(q[i] * relative[i, j] for i in range(k)) for j in range(m)]
    return int(np.argmin(expected))


class Group:
    """One group of rows, read as the data rules say; every metric is a method."""

    def __init__(
        self,
        scores: Sequence[Any],
        labels: Sequence[Any],
        weights: Sequence[Any] | None = None,
        *,
        k: int = 2,
        score_type: str = "posterior",
        prior: Any = None,
        costs: Any = None,
        cost_fn: float = 1.0,
        cost_fp: float = 1.0,
        threshold: float | None = None,
    ) -> None:
        default = np.array([[0, cost_fp], [cost_fn, 0]]) if k == 2 else 1.0 - np.eye(k)
        self.costs = np.array(costs, dtype=float) if costs is not None else default.astype(float)
        self.k, self.score_type, self.threshold = k, score_type, threshold
        stated = None
        if prior == "uniform":
            stated = np.full(k, 1 / k)
        elif prior is not None:
            stated = np.array([1 - prior, prior]) if np.ndim(prior) == 0 else np.array(prior, dtype=float)
        self.stated = stated
        self.n_missing = self.n_invalid = 0
        self.rows: list[tuple[Any, int, float]] = []
        for s, y, w in zip(scores, labels, weights or [1.0] * len(labels), strict=True):
            if is_missing(s, y, w):
                self.n_missing += 1
                continue
            try:
                if score_type == "decision":
                    decision_of(s, score_type, stated, self.costs, None)
                else:
                    posterior_of(s, score_type, stated if stated is not None else np.full(k, 1 / k), k)
                if y not in range(k) or not (0 <= w < math.inf):
                    raise WrongRowError
            except WrongRowError:
                self.n_invalid += 1
                continue
            self.rows.append((s, int(y), float(w)))
        self.n_rows = len(self.rows)
        self.count = np.array([math.fsum(w for _, y, w in self.rows if y == i) for i in range(k)])

    @property
    def undefined(self) -> bool:
        return self.n_invalid > 0

    @property
    def class_prior(self) -> np.ndarray | None:
        total = self.count.sum()
        return None if self.undefined or total == 0 else self.count / total

    @property
    def prior(self) -> np.ndarray | None:
        if self.undefined:
            return None
        return self.stated if self.stated is not None else self.class_prior

    @property
    def confusion(self) -> np.ndarray | None:
        if self.undefined:
            return None
        cells = [[[] for _ in range(self.costs.shape[1])] for _ in range(self.k)]
        for s, y, w in self.rows:
            cells[y][decision_of(s, self.score_type, self.stated, self.costs, self.threshold)].append(w)
        return np.array([[math.fsum(cell) for cell in row] for row in cells])

    def rates(self) -> list[list[float | None]]:
        cells = self.confusion
        return [[x / n if n > 0 else None for x in row] for row, n in zip(cells, self.count, strict=True)]

    def weigh(self, per_class: Sequence[float | None]) -> float | None:
        """sum_i P_i x_i; None where a class that counts has no value."""
        if self.prior is None:
            return None
        total = 0.0
        for p, x in zip(self.prior, per_class, strict=True):
            if p != 0:
                if x is None:
                    return None
                total += p * x
        return float(total)

    def mean_over_class(self, loss: Any) -> list[float | None]:
        means: list[float | None] = []
        for i in range(self.k):
            terms = [w * loss(s, y) for s, y, w in self.rows if y == i and w > 0]
            means.append(math.fsum(terms) / self.count[i] if self.count[i] > 0 else None)
        return means

    def expected_cost(self) -> float | None:
        if self.undefined:
            return None
        means = [
            None if r[0] is None else math.fsum(c * x for c, x in zip(row, r, strict=True))
            for r, row in zip(self.rates(), self.costs, strict=True)
        ]
        return self.weigh(means)

    bayes_risk = expected_cost

    def nec(self) -> float | None:
        cost = self.expected_cost()
        if cost is None:
            return None
        return over(cost, min(float(self.prior @ column) for column in self.costs.T))

    def error_rate(self) -> float | None:
        return None if self.undefined else self.weigh(self._errors())

    def accuracy(self) -> float | None:
        return None if self.undefined else self.weigh([r[i] for i, r in enumerate(self.rates())])

    def balanced_error_rate(self) -> float | None:
        return None if self.undefined else mean(self._errors())

    def balanced_accuracy(self) -> float | None:
        return None if self.undefined else mean([r[i] for i, r in enumerate(self.rates())])

    def _errors(self) -> list[float | None]:
        return [
            None if r[0] is None else math.fsum(x for j, x in enumerate(r) if j != i)
            for i, r in enumerate(self.rates())
        ]

    def _binary(self) -> tuple[Any, ...] | None:
        """P0, P1, then the joint shares tn, fp, fn, tp; a share of a class of prior 0 is 0."""
        if self.prior is None:
            return None
        p0, p1 = (float(p) for p in self.prior)
        (tn, fp), (fn, tp) = self.rates()
        times = lambda p, x: 0.0 if p == 0 else None if x is None else p * x  # noqa: E731
        return p0, p1, times(p0, tn), times(p0, fp), times(p1, fn), times(p1, tp)

    def precision(self) -> float | None:
        joint = self._binary()
        if joint is None or None in joint:
            return None
        *_, fp, _, tp = joint
        return over(tp, tp + fp)

    def _rate(self, i: int, j: int) -> float | None:
        return None if self.undefined else self.rates()[i][j]

    def recall(self) -> float | None:
        return self._rate(1, 1)

    def specificity(self) -> float | None:
        return self._rate(0, 0)

    def fpr(self) -> float | None:
        return self._rate(0, 1)

    def fnr(self) -> float | None:
        return self._rate(1, 0)

    def fbeta(self, beta: float = 1.0) -> float | None:
        joint = self._binary()
        if joint is None or None in joint:
            return None
        *_, fp, fn, tp = joint
        return over((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)

    def f1(self) -> float | None:
        return self.fbeta(1.0)

    def mcc(self) -> float | None:
        joint = self._joint()
        if joint is None:
            return None
        # The four sums of Gorodkin's formula, of any number of classes, without rounding.
        of_class = [sum(row) for row in joint]
        decided = [sum(column) for column in zip(*joint, strict=True)]
        total = sum(of_class)
        hits = sum(joint[k][k] for k in range(self.k))
        covariance = hits * total - sum(p * t for p, t in zip(decided, of_class, strict=True))
        variances = [total**2 - sum(x * x for x in margin) for margin in (of_class, decided)]
        if 0 in variances:
            return None
        return float(covariance) / math.sqrt(variances[0]) / math.sqrt(variances[1])

    def _joint(self) -> list[list[Fraction]] | None:
        """Probability of each class and decision; None where a class that counts has no rows."""
        if self.prior is None or any(p > 0 and n == 0 for p, n in zip(self.prior, self.count, strict=True)):
            return None
        cells = [[Fraction(float(x)) for x in row] for row in self.confusion]
        return [
            [Fraction(float(p)) * x / sum(row) if p > 0 else Fraction(0) for x in row]
            for p, row in zip(self.prior, cells, strict=True)
        ]

    def _against_the_rest(self, what: Callable[[Fraction, Fraction, Fraction, Fraction], float | None]) -> Any:
        """`what` of the hits, misses, false alarms and right rejections of each class."""
        if self.prior is None or sum(self.count) == 0:
            return None
        joint = self._joint()
        if joint is None:
            return [None] * self.k
        values = []
        for k, row in enumerate(joint):
            alarms = sum(other[k] for i, other in enumerate(joint) if i != k)
            others = sum(sum(other) for i, other in enumerate(joint) if i != k)
            values.append(what(row[k], sum(row) - row[k], alarms, others - alarms))
        return values

    def class_precision(self) -> Any:
        return self._against_the_rest(lambda h, _m, a, _r: over(h, h + a))

    def class_recall(self) -> Any:
        if self.prior is None or sum(self.count) == 0:
            return None
        return [row[k] for k, row in enumerate(self.rates())]

    def class_f1(self) -> Any:
        return self._against_the_rest(lambda h, m, a, _r: over(2 * h, 2 * h + m + a))

    def class_nec(self) -> Any:
        return self._against_the_rest(lambda h, m, a, r: over(m + a, min(h + m, a + r)))

    def macro_precision(self) -> float | None:
        return _mean_of(self.class_precision())

    def macro_f1(self) -> float | None:
        return _mean_of(self.class_f1())

    def f1_of_averages(self) -> float | None:
        precision, recall = _mean_of(self.class_precision()), _mean_of(self.class_recall())
        if precision is None or recall is None:
            return None
        return over(2 * precision * recall, precision + recall)

    def _pooled(self) -> list[float] | None:
        found = self._against_the_rest(lambda h, m, a, _r: (h, m, a))
        return None if found is None or None in found else [float(sum(x)) for x in zip(*found, strict=True)]

    def micro_precision(self) -> float | None:
        pooled = self._pooled()
        return None if pooled is None else over(pooled[0], pooled[0] + pooled[2])

    def micro_f1(self) -> float | None:
        pooled = self._pooled()
        return None if pooled is None else over(2 * pooled[0], 2 * pooled[0] + pooled[1] + pooled[2])

    def weighted_precision(self) -> float | None:
        values = self.class_precision()
        return None if values is None else self.weigh(values)

    def weighted_f1(self) -> float | None:
        values = self.class_f1()
        return None if values is None else self.weigh(values)

    def _areas(self) -> list[float | None]:
        """The area of each class against the rest: pairs in order and half of the ties, by the weights of their rows."""
        scores = np.array([s for s, *_ in self.rows])
        y, w = (np.array([row[i] for row in self.rows]) for i in (1, 2))
        areas: list[float | None] = []
        for k in range(self.k):
            rest = (y != k) & (w > 0) & (self.prior[y] > 0)
            if self.count[k] == 0 or not rest.any():
                areas.append(None)
                continue
            own, other = scores[y == k, k], scores[rest, k]
            right = (own[:, None] > other) + (own[:, None] == other) / 2
            mass = w[rest] * self.prior[y[rest]] / self.count[y[rest]]
            areas.append(float(w[y == k] @ right @ mass / (w[y == k].sum() * mass.sum())))
        return areas

    def macro_auc_roc(self) -> float | None:
        return None if self.prior is None or 0 in self.count else mean(self._areas())

    def weighted_auc_roc(self) -> float | None:
        lacks = self.prior is None or any(p > 0 and n == 0 for p, n in zip(self.prior, self.count, strict=True))
        return None if lacks else self.weigh(self._areas())

    def pairwise_auc_roc(self) -> float | None:
        self.stated = np.full(self.k, 1 / self.k)
        return self.macro_auc_roc()

    def decision_share(self, decision: int) -> float | None:
        return None if self.undefined else self.weigh([row[decision] for row in self.rates()])

    def lr_plus(self) -> float | None:
        return signed_over(self.recall(), self.fpr())

    def lr_minus(self) -> float | None:
        return signed_over(self.fnr(), self.specificity())

    def net_benefit(self, p_t: float) -> float | None:
        joint = self._binary()
        if joint is None or None in joint:
            return None
        *_, fp, _, tp = joint
        return tp - p_t / (1 - p_t) * fp

    def precision_gain(self) -> float | None:
        ratio = signed_over(self.fpr(), self.recall())
        return None if ratio is None else 1 - ratio

    def recall_gain(self) -> float | None:
        # (recall - P_1) / (P_0 recall), where both classes have rows.
        if self.prior is None or self.prior[0] == 0 or 0 in self.count:
            return None
        ratio = signed_over(self.fnr(), self.recall())
        if ratio is None or (self.prior[1] == 0 and ratio == math.inf):
            return None
        return 1 - self.prior[1] / self.prior[0] * ratio

    def cross_entropy(self) -> float | None:
        return self.weigh(self.mean_over_class(lambda s, y: log_loss_of(s, y, self.score_type, self.stated, self.k)))

    def nce(self) -> float | None:
        value = self.cross_entropy()
        return None if value is None else over(value, -math.fsum(p * math.log(p) for p in self.prior if p > 0))

    def brier(self) -> float | None:
        return self.weigh(self.mean_over_class(lambda s, y: brier_of(s, y, self.score_type, self.stated, self.k)))

    def nbs(self) -> float | None:
        value = self.brier()
        return None if value is None else over(value, math.fsum(p * (1 - p) for p in self.prior) / self.k)

    def cllr(self) -> float | None:
        even = np.array([0.5, 0.5])
        means = self.mean_over_class(lambda s, y: log_loss_of(s, y, "llr", even, 2) / math.log(2))
        return None if self.undefined else mean(means)

    def epsr(self, a: float, b: float) -> float | None:
        def loss(s: Any, y: int) -> float:
            return beta_loss_of(float(posterior_of(s, self.score_type, self.stated, 2)[1]), y, a, b)

        return self.weigh(self.mean_over_class(loss))

    def _calibration_error(self, compared: Any, bins: int, norm: int) -> float | None:
        """`compared` gives a row's posterior and whether what it is the posterior of is true."""
        if self.prior is None or any(p > 0 and n == 0 for p, n in zip(self.prior, self.count, strict=True)):
            return None
        inside: dict[int, list[tuple[float, float]]] = {}
        for s, y, w in self.rows:
            if w > 0 and self.prior[y] > 0:
                posterior, holds = compared(s, y)
                number = next((b for b in range(1, bins) if posterior <= b / bins), bins)
                mass = w * self.prior[y] / self.count[y]
                inside.setdefault(number, []).append((mass, mass * (posterior - holds)))
        masses = [math.fsum(mass for mass, _ in rows) for rows in inside.values()]
        gaps = [abs(math.fsum(gap for _, gap in rows)) for rows in inside.values()]
        if norm == 1:
            return math.fsum(gaps)
        return math.sqrt(math.fsum(gap**2 / mass for gap, mass in zip(gaps, masses, strict=True)))

    def ece(self, bins: int, norm: int) -> float | None:
        def compared(s: Any, y: int) -> tuple[float, bool]:
            return float(posterior_of(s, self.score_type, self.stated, 2)[1]), y == 1

        return self._calibration_error(compared, bins, norm)

    def ece_mc(self, bins: int, norm: int) -> float | None:
        def compared(s: Any, y: int) -> tuple[float, bool]:
            q = posterior_of(s, self.score_type, self.stated, self.k)
            zero_one = 1.0 - np.eye(self.k)
            return float(q.max()), decision_of(s, self.score_type, self.stated, zero_one, None) == y

        return self._calibration_error(compared, bins, norm)


def over(x: float, y: float) -> float | None:
    return None if y == 0 else float(x / y)


def _mean_of(values: Sequence[float | None] | None) -> float | None:
    return None if values is None else mean(values)


def signed_over(x: float | None, y: float | None) -> float | None:
    if x is None or y is None or x == y == 0:
        return None
    return math.inf if y == 0 else x / y


def mean(values: Sequence[float | None]) -> float | None:
    return None if None in values else math.fsum(values) / len(values)
