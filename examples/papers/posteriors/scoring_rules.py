"""Bayes decisions, proper scoring rules and stated priors, on small logs: by polars_ec, and as the paper writes them, in NumPy."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from examples.papers.numbers import Rows, between, decided, value, values
from examples.papers.posteriors import PAPER
from examples.papers.posteriors.synthetic import two_classes as simulated
from examples.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors
from examples.papers.written_out import BINS, bins_of, mean_of_bin

COSTS = ec.CostMatrix([[0.0, 1.0, 2.0, 0.4], [1.0, 0.0, 1.0, 0.4], [5.0, 2.0, 0.0, 0.4]])
"""Costs of three classes and four decisions, of which the last is to abstain."""
C: Floats = np.array(COSTS.values)
"""The costs in the paper's notation: c_ij."""


@dataclass(frozen=True)
class SmallLog:
    """The same rows for both sides."""

    frame: pl.DataFrame
    """`q`, posteriors, and `label`."""
    q: Floats
    """Posteriors in the paper's notation, a column per class."""
    h: NDArray[np.int64]
    """Classes, from 0."""

    def of(self, metric: Any, *score: Any, **options: Any) -> float:
        """A metric of the posteriors, or of another score."""
        kind = {} if self.q.shape[1] == 2 else {"score_type": "posteriors"}
        return value(self.frame, metric(*(score or ("q",)), "label", **(kind | options)))

    @property
    def priors(self) -> Floats:
        """The share of each class."""
        return np.bincount(self.h) / len(self.h)

    @property
    def log_losses(self) -> Floats:
        """-log q_h of each row."""
        return -np.log(self.q[np.arange(len(self.h)), self.h])

    @property
    def brier_losses(self) -> Floats:
        """The squared distance of each row, over K as in Section 2.3.3."""
        return ((self.q - np.eye(self.q.shape[1])[self.h]) ** 2).mean(axis=1)

    @property
    def decisions(self) -> NDArray[np.int64]:
        """Equation 1, for three classes."""
        return np.argmin(self.q @ C, axis=1)


_COUNTS, _VARIANCE = (40, 25, 15), 0.4
_MEANS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@cache
def likelihoods_of_three_classes() -> Floats:
    """Log-likelihoods of 80 rows of three classes."""
    return log_likelihoods(gaussian_classes(_COUNTS, _MEANS, _VARIANCE), _MEANS, _VARIANCE)


@cache
def three_classes() -> SmallLog:
    """The 80 rows, with posteriors that are too sure."""
    joint = likelihoods_of_three_classes() + np.log(np.array(_COUNTS) / sum(_COUNTS))
    q, label = np.exp(log_softmax(2 * log_softmax(joint))), labels(_COUNTS)
    return SmallLog(pl.DataFrame({"q": vectors(q), "label": label}), q, label.to_numpy().astype(np.int64))


@cache
def two_classes() -> SmallLog:
    """199 rows of two classes, with posteriors at other priors than those of the rows; `q` is the posterior of class 2."""
    frame = simulated("mcp", 200).select(q=ec.posterior("log_odds", score_type="log_odds"), label="label")
    p = frame["q"].to_numpy()
    return SmallLog(frame, np.stack([1 - p, p], axis=1), frame["label"].to_numpy().astype(np.int64))


@PAPER("equation-1")
def bayes_decisions() -> Rows:
    here = values(three_classes().frame, ec.bayes_decision("q", costs=COSTS, score_type="posteriors"))
    there = three_classes().decisions
    pairs = {f"rows decided D{j + 1}": (np.sum(here == j), np.sum(there == j)) for j in range(C.shape[1])}
    return pairs | {"rows decided otherwise": (np.sum(here != there), 0)}


@PAPER("equation-2")
def cost_of_bayes_decisions() -> Rows:
    log = three_classes()
    here = values(log.frame, ec.row_cost("q", "label", costs=COSTS, score_type="posteriors"))
    there = C[log.h, log.decisions]
    yield "sum of C*(h, q)", (here.sum(), there.sum())
    yield "largest difference of a row", (np.abs(here - there).max(), 0)


@PAPER("equation-3")
def least_at_the_reference() -> Rows:
    p, steps = (0.5, 0.3, 0.2), range(1, 19)
    grid = [(i / 20, j / 20, (20 - i - j) / 20) for i, j in itertools.product(steps, steps) if i + j < 20]
    rows = [(q, k, weight) for q in grid for k, weight in enumerate(p)]
    columns = [("q", pl.Array(pl.Float64, 3)), ("label", pl.Int8()), ("weight", pl.Float64())]
    rules = {"cross-entropy": ec.cross_entropy, "Brier score": ec.brier}
    options: Any = {"weight": "weight", "score_type": "posteriors"}
    named = [rule("q", "label", **options).alias(name) for name, rule in rules.items()]
    risk = ec.bayes_risk("q", "label", costs=COSTS, **options).alias("risk")
    frame = pl.DataFrame(rows, schema=columns, orient="row")
    risks = frame.group_by("q", maintain_order=True).agg(*named, risk)
    for rule in rules:
        for i, pair in enumerate(zip(risks.sort(rule)["q"][0], p, strict=True)):
            yield f"{rule}: q{i + 1}", pair
    least = float(np.min(np.array(p) @ C))
    at_p = risks.filter(pl.col("q").arr.to_list() == list(p))["risk"].item()
    yield "Bayes risk: least of the grid", (risks["risk"].min(), least)
    yield "Bayes risk: of q = p", (at_p, least)


@PAPER("equation-6")
def averages_over_rows() -> Rows:
    log = three_classes()
    yield "C* of costs c_ij", (log.of(ec.bayes_risk, costs=COSTS), C[log.h, log.decisions].mean())
    yield "C* = -log q_h", (log.of(ec.cross_entropy), log.log_losses.mean())
    yield "C* = Brier loss", (log.of(ec.brier), log.brier_losses.mean())


@PAPER("equation-7")
def expected_cost() -> Rows:
    log = three_classes()
    n_ij = np.array([[np.sum((log.h == i) & (log.decisions == j)) for j in range(4)] for i in range(3)])
    priors, rates = n_ij.sum(axis=1) / n_ij.sum(), n_ij / n_ij.sum(axis=1, keepdims=True)
    decision = ec.bayes_decision("q", costs=COSTS, score_type="posteriors")
    found, nec = (
        decided(log.frame.with_columns(decision=decision), metric, costs=COSTS) for metric in (ec.expected_cost, ec.nec)
    )
    cost = np.sum(C * priors[:, None] * rates)
    yield "EC by counts", (found, np.sum(C * n_ij / n_ij.sum()))
    yield "EC by priors and rates", (found, cost)
    yield "EC over that of the best naive system", (nec, cost / np.min(priors @ C))
    yield "EC of 0-1 costs: error rate", (log.of(ec.error_rate), np.mean(log.q.argmax(axis=1) != log.h))


@PAPER("equation-8")
def cross_entropy() -> Rows:
    log = three_classes()
    there = log.log_losses.mean()
    nce = there / -np.sum(log.priors * np.log(log.priors))
    yield "CE", (log.of(ec.cross_entropy), there)
    yield "NCE", (log.of(ec.nce), nce)


@PAPER("equation-9")
def brier_score() -> Rows:
    log = three_classes()
    there = log.brier_losses.mean()
    nbs = there / (np.sum(log.priors * (1 - log.priors)) / 3)
    yield "BS", (log.of(ec.brier), there)
    yield "NBS", (log.of(ec.nbs), nbs)


@PAPER("naive-systems")
def naive_systems() -> Rows:
    for priors in ((0.6, 0.4), (0.8, 0.2)):
        label = [0] * round(10 * priors[0]) + [1] * round(10 * priors[1])
        frame = pl.DataFrame({"q": [priors[1]] * 10, "label": label})
        for name, metric, expected in (
            ("CE", ec.cross_entropy, -sum(p * math.log(p) for p in priors)),
            ("BS", ec.brier, sum(p * (1 - p) for p in priors) / 2),
            ("NCE", ec.nce, 1),
            ("NBS", ec.nbs, 1),
        ):
            yield f"{name}, priors {priors}", (value(frame, metric("q", "label")), expected)


@PAPER("equation-11")
def threshold_of_costs() -> Rows:
    for a in (0.1, 0.3, 0.5, 0.9):
        yield f"threshold of q2 for a2 = {a}", (ec.CostMatrix([[0, 1 / (1 - a)], [1 / a, 0]]).bayes_threshold(), a)


@PAPER("equation-34")
def threshold_of_the_first_class() -> Rows:
    for a in (0.1, 0.3, 0.5, 0.9):
        yield f"threshold of q1 for a1 = {a}", (1 - ec.CostMatrix([[0, 1 / a], [1 / (1 - a), 0]]).bayes_threshold(), a)


_WEIGHTS: dict[str, tuple[float, Callable[[Floats], Floats]]] = {
    "W uniform": (1.0, np.ones_like),
    "W = Beta(2, 2)": (2.0, lambda a: 6 * a * (1 - a)),
}


def _integral_of_risks(frame: pl.DataFrame, weight: Callable[[Floats], Floats]) -> float:
    """The integral of W(a) times the Bayes risk, piece by piece between the posteriors, where the risk jumps."""
    nodes, widths = np.polynomial.legendre.leggauss(12)
    edges = np.array([0.0, *frame["q"].unique().sort(), 1.0])
    half = np.diff(edges)[:, None] / 2
    a2 = (edges[:-1, None] + half + half * nodes).ravel()
    points = pl.DataFrame({"a2": a2, "cost_fn": 1 / a2, "cost_fp": 1 / (1 - a2)})
    risk = ec.bayes_risk("q", "label", cost_fn="cost_fn", cost_fp="cost_fp").alias("risk")
    risks = frame.join(points, how="cross").group_by("a2").agg(risk).sort("a2")["risk"].to_numpy()
    return float(np.sum(weight(a2) * risks * (half * widths).ravel()))


@PAPER("equation-10")
def rule_as_an_integral() -> Rows:
    for label, q2 in ((1, 0.3), (0, 0.3), (1, 0.8)):
        row = pl.DataFrame({"q": [q2], "label": [label]})
        for name, (ab, weight) in _WEIGHTS.items():
            # The integral is per class: its prior is 1.
            rule = value(row, ec.epsr("q", "label", a=ab, b=ab))
            yield f"{name}: h = H{label + 1}, q2 = {q2}", (rule, _integral_of_risks(row, weight))


@PAPER("equation-12")
def expected_rules_as_integrals() -> Rows:
    frame = two_classes().frame.gather_every(5)
    uniform, beta = (_integral_of_risks(frame, weight) for _, weight in _WEIGHTS.values())
    yield "W uniform: cross-entropy", (value(frame, ec.cross_entropy("q", "label")), uniform)
    yield "W uniform: ec.epsr", (value(frame, ec.epsr("q", "label")), uniform)
    yield "W = Beta(2, 2): 3 times the Brier score", (3 * value(frame, ec.brier("q", "label")), beta)
    yield "W = Beta(2, 2): ec.epsr", (value(frame, ec.epsr("q", "label", a=2, b=2)), beta)


def _at_both_priors(name: str, equation: int, metric: Any, losses: Floats) -> Rows:
    """The mean loss of each class times its prior: as stated, and as it is in the rows, which is the plain mean of that equation."""
    log, target = three_classes(), (0.2, 0.3, 0.5)
    weights = np.array(target)[log.h] / np.bincount(log.h)[log.h]
    return {
        f"{name}, priors {target}": (log.of(metric, prior=target), np.sum(weights * losses)),
        f"{name}, priors of the rows: Equation {equation}": (log.of(metric), losses.mean()),
    }


PAPER("equation-36")(lambda: _at_both_priors("CE", 8, ec.cross_entropy, three_classes().log_losses))
PAPER("equation-37")(lambda: _at_both_priors("BS", 9, ec.brier, three_classes().brier_losses))


@PAPER("equation-38")
def bayes_rule() -> Rows:
    likelihoods = likelihoods_of_three_classes()
    frame, expected = pl.DataFrame({"x": vectors(likelihoods)}), {}
    priors = {"matched": (0.5, 0.3125, 0.1875), "mismatched": (0.05, 0.05, 0.9)}
    for name, prior in priors.items():
        joint = np.exp(likelihoods) * np.array(prior)
        there = expected[name] = joint / joint.sum(axis=1, keepdims=True)
        here = values(frame, ec.posterior("x", score_type="log_likelihoods", prior=prior))
        yield f"largest difference of a posterior, {name} priors", (np.abs(here - there).max(), 0)
        yield f"mean posterior of class 3, {name} priors", (here[:, 2].mean(), there[:, 2].mean())
    matched = pl.DataFrame({"q": vectors(expected["matched"])})
    moved = values(matched, ec.shift_prior("q", *priors.values(), score_type="posteriors"))
    difference = np.abs(moved - expected["mismatched"]).max()
    yield "largest difference, moved from matched to mismatched", (difference, 0)


@PAPER("footnote-6")
def data_processing() -> Rows:
    steps = (4 * ec.posterior("log_odds", score_type="log_odds")).ceil()
    frame, found = simulated("cal", 2_000).with_columns(scaled=5 * pl.col("log_odds"), steps=steps), {}
    for score in ("log_odds", "scaled", "steps"):
        # PAV has the least cross-entropy of all rising functions of a score.
        fitted = ec.sketch(frame, score, "label", score_type="log_odds", exact=True).calibrate("pav")
        found[score] = 100 * (1 - value(frame, ec.nce(fitted.apply(score), "label")))
    share = frame.group_by("steps").agg(n=pl.len(), p=pl.col("label").mean())
    n, p, prior = share["n"].to_numpy(), share["p"].to_numpy(), frame["label"].to_numpy().mean()
    entropy, of_prior = (-(x * np.log(x) + (1 - x) * np.log(1 - x)) for x in (p, prior))
    yield "posteriors", between(found["log_odds"], found["steps"], 100, "above that of steps")
    yield "log odds times 5", (found["scaled"], found["log_odds"])
    yield "posteriors in 4 steps", (found["steps"], 100 * (1 - n @ entropy / (n.sum() * of_prior)))


@PAPER("ends-of-rules")
def ends_of_rules() -> Rows:
    log = pl.DataFrame({"label": [0], "two": [1.0], "ten": vectors(np.eye(10)[1:2])})
    yield "Brier loss, two classes", (value(log, ec.row_brier("two", "label")), 1.0)
    yield "Brier loss, ten classes, 2 / K", (value(log, ec.row_brier("ten", "label")), 0.2)
    yield "log loss", between(value(log, ec.row_log_loss("two", "label")), math.inf, math.inf, "infinite")


@PAPER("other-ece")
def other_errors() -> Rows:
    log = two_classes()
    p, place = log.q[:, 1], bins_of(log.q[:, 1])
    calibrated = ec.sketch(log.frame, "q", "label", exact=True).calibrate("histogram", bins=BINS).apply("q")
    frame = log.frame.with_columns(s=calibrated, mean=mean_of_bin(p))
    by_hand = sum(
        np.mean(place == b) * (log.h[place == b].mean() - p[place == b].mean()) ** 2 for b in np.unique(place)
    )
    rank = np.empty(len(p), dtype=np.int64)
    rank[np.argsort(p)] = np.arange(1, len(p) + 1)
    excess = np.bincount(-(-rank * BINS // len(p)), p - log.h)
    divergence = value(frame, ec.expected_score_divergence("mean", "s", rule="brier"))
    mass = log.of(ec.ece, bins=BINS, equal_mass=True)
    yield "ECE of squares, 15 bins", (log.of(ec.ece, bins=BINS, norm=2) ** 2, by_hand)
    yield "expected divergence, Brier loss, of the bins' means", (divergence, by_hand)
    yield "ECE, 15 bins of equal mass", (mass, np.abs(excess).sum() / len(p))
