"""Decisions of the lecture: accuracy and error rates, Bayes decisions, the empirical Bayes risk and detection costs."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.lecture import PAPER
from examples.papers.numbers import Rows, counted, decided, equal_rows, near, printed, value, values, whole
from examples.papers.simulated import gaussian_classes, labels

COUNTS, MEANS = (4_000, 2_000), ((0.0,), (2.0,))
PRIOR_LOG_ODDS = [x / 4 for x in range(-16, 17)]
"""Of the Bayes error plots."""


@dataclass(frozen=True)
class Application:
    """A working point: the prior of H_T, and what a miss and a false alarm cost."""

    prior: float
    cost_fn: float
    cost_fp: float

    def __str__(self) -> str:
        return f"({self.prior:g}, {self.cost_fn:g}, {self.cost_fp:g})"

    @property
    def dummies(self) -> tuple[float, float]:
        """The costs of deciding always for H_T, and always for H_F."""
        return (1 - self.prior) * self.cost_fp, self.prior * self.cost_fn

    @property
    def threshold(self) -> float:
        """The LLR from which on H_T costs less."""
        always_t, always_f = self.dummies
        return math.log(always_t / always_f)

    @property
    def effective(self) -> "Application":
        """The prior that decides the same at costs of 1."""
        return Application(ec.effective_prior(self.prior, cost_fn=self.cost_fn, cost_fp=self.cost_fp), 1, 1)

    def cost(self, p_fn: float, p_fp: float) -> float:
        """The cost of these error rates, before it is normalised."""
        always_t, always_f = self.dummies
        return always_f * p_fn + always_t * p_fp

    def options(self, score_type: str = "llr") -> Any:
        """The keywords of a metric."""
        return {"prior": self.prior, "cost_fn": self.cost_fn, "cost_fp": self.cost_fp, "score_type": score_type}

    def decisions(self) -> Any:
        """The Bayes decisions for the simulated scores."""
        return values(evaluated(), ec.bayes_decision("llr", **self.options()))

    def measured(self, metric: Any) -> float:
        """A metric of the simulated scores."""
        return value(evaluated(), metric("llr", "label", **self.options()))


@cache
def simulated() -> pl.DataFrame:
    """6,000 rows of two normal classes of variance 1, every other one for calibration.

    `llr` is exact; `margin` is too sure by a factor of 2 and too high by 2, as scores are that nobody has calibrated.
    """
    x = gaussian_classes(COUNTS, MEANS, 1.0)[:, 0]
    log = pl.DataFrame({"x": x, "llr": 2 * x - 2, "label": labels(COUNTS)})
    return log.with_columns(margin=2 * pl.col("llr") + 2, trains=pl.int_range(pl.len()) % 2 == 1)


@cache
def training() -> pl.DataFrame:
    """The 3,000 rows that calibrators are fitted to."""
    return simulated().filter("trains")


@cache
def evaluated() -> pl.DataFrame:
    """The other 3,000 rows, and `calibrated`: LLRs that prior-weighted logistic regression makes of the margins."""
    log = simulated().filter(~pl.col("trains"))
    calibration = ec.calibrate(training(), "margin", "label", score_type="raw", prior=0.5)
    return log.with_columns(posterior=calibration.apply("margin")).with_columns(calibrated=ec.llr("posterior", 0.5))


@cache
def sketch(score: str) -> ec.Sketch:
    """One of the scores as LLRs, with the Bayes threshold of each prior of the Bayes error plots."""
    thresholds = [-x for x in PRIOR_LOG_ODDS]
    return ec.sketch(evaluated(), score, "label", score_type="llr", thresholds=thresholds, exact=True)


def wrong_rates(score: str, threshold: float) -> tuple[float, float]:
    """P_fn and P_fp in `evaluated` of deciding for H_T from a threshold on."""
    s, of_t = evaluated()[score].to_numpy(), evaluated()["label"].to_numpy() == 1
    return float(np.mean(s[of_t] < threshold)), float(np.mean(s[~of_t] >= threshold))


TN, FN, FP, TP = 300, 20, 30, 15
"""Days: rain is the class H_T."""
DAYS, DRY, WET = TN + FN + FP + TP, TN + FP, FN + TP
FNR, FPR = FN / WET, FP / DRY
STEPS = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
"""The costs of the lecture's three classes."""
POSTERIORS = [0.40, 0.25, 0.35]
APPLICATIONS = (Application(0.1, 1, 9), Application(0.5, 1, 1), Application(0.01, 10, 1))
"""A rare class, equal odds, and a class that is rare but dear to miss."""
RAIN = counted([[TN, FP], [FN, TP]])
"""The year's forecasts: rows are what came, columns what was said."""


def over_applications(row: Callable[[Application], Any]) -> Callable[[], Rows]:
    """Rows of a function at each application."""
    return lambda: {str(point): row(point) for point in APPLICATIONS}


@PAPER("accuracy")
def accuracy() -> Rows:
    yield "accuracy", (decided(RAIN, ec.accuracy), (TN + TP) / DAYS)
    yield "error rate", (decided(RAIN, ec.error_rate), (FN + FP) / DAYS)


@PAPER("rain", columns=["accuracy, percent", "NEC"])
def accuracies() -> Rows:
    logs = {"forecast": (RAIN, "86", FN + FP), "always clear": (counted([[DRY, 0], [WET, 0]]), "90", WET)}
    return {
        name: [printed(100 * decided(log, ec.accuracy), text), (decided(log, ec.nec), errors / WET)]
        for name, (log, text, errors) in logs.items()
    }


@PAPER("confusion-matrix")
def confusion_matrix() -> Rows:
    found = RAIN.select(ec.confusion("decision", "label", score_type="decision", weight="n")).item()
    counts = {"true negatives": TN, "false negatives": FN, "false positives": FP, "true positives": TP}
    fields = zip(("tn", "fn", "fp", "tp"), counts.items(), strict=True)
    return {name: whole(found[field], count, "print") for field, (name, count) in fields}


@PAPER("error-rates")
def error_rates() -> Rows:
    yield "false negative rate", (decided(RAIN, ec.fnr), FNR)
    yield "false positive rate", (decided(RAIN, ec.fpr), FPR)
    yield "true positive rate", (decided(RAIN, ec.recall), TP / WET)
    yield "true negative rate", (decided(RAIN, ec.specificity), TN / DRY)


@PAPER("weighted-accuracy")
def weighted_accuracy() -> Rows:
    for alpha in (0.2, 0.5, 0.9):
        yield f"alpha {alpha:g}", (decided(RAIN, ec.expected_cost, prior=1 - alpha), alpha * FPR + (1 - alpha) * FNR)


@PAPER("score-thresholding")
def score_threshold() -> Rows:
    s = evaluated()["llr"].to_numpy()
    # A score, so that it matters whether the threshold itself belongs to H_T.
    t = float(np.sort(s)[len(s) // 2])
    above, from_t = (
        value(evaluated(), ec.bayes_decision("llr", threshold=threshold, score_type="llr").sum())
        for threshold in (t, float(np.nextafter(t, -np.inf)))
    )
    yield "rows with s > t, polars_ec's rule", whole(above, int((s > t).sum()))
    yield "rows with s >= t, by the next lower threshold", whole(from_t, int((s >= t).sum()))


def _expected_cost(action: int, costs: list[list[float]]) -> float:
    """The cost of a constant action, for rows whose class shares are the posteriors: what it is expected to cost."""
    constant = pl.DataFrame({"label": [0, 1, 2], "n": POSTERIORS}).with_columns(decision=pl.lit(action))
    return decided(constant, ec.expected_cost, costs=costs)


@PAPER("expected-cost")
def expected_costs() -> Rows:
    costs = np.array([[0.0, 1.0, 2.0], [4.0, 0.0, 1.0], [9.0, 1.0, 0.0]])
    # In the lecture's layout actions are rows.
    expected = costs.T @ np.array(POSTERIORS)
    return {f"action {k + 1}": (_expected_cost(k, costs.tolist()), expected[k]) for k in range(3)}


@PAPER("bayes-decision")
def bayes_decision() -> Rows:
    row = pl.DataFrame({"q": [POSTERIORS]}, schema={"q": pl.Array(pl.Float64, 3)})
    texts = enumerate(("0.95", "0.75", "1.05"))
    for k, text in texts:
        yield f"expected cost of action {k + 1}", printed(_expected_cost(k, STEPS), text)
    yield "Bayes decision", whole(1 + value(row, ec.bayes_decision("q", costs=STEPS)), 2, "print")
    yield "likeliest class", whole(1 + value(row, ec.bayes_decision("q")), 1, "print")


@PAPER("binary-costs")
def binary_costs() -> Rows:
    costs = np.array([[0.5, 3.0], [7.0, 1.0]])
    normalised = ec.CostMatrix(costs).normalized()
    found = np.array(normalised.values)
    raw, taken_off = (decided(RAIN, ec.expected_cost, costs=matrix) for matrix in (costs.tolist(), normalised))
    yield "false positive", (found[0, 1], 2.5)
    yield "false negative", (found[1, 0], 6.0)
    yield "right decisions", (found[0, 0] + found[1, 1], 0.0)
    yield "Bayes threshold", (ec.CostMatrix(costs).bayes_threshold(), 2.5 / (2.5 + 6.0))
    yield "what costs change by", (raw - taken_off, np.array([DRY, WET]) / DAYS @ costs.diagonal())


@PAPER("binary-decision")
def binary_decision() -> Rows:
    rows = pl.DataFrame({"posterior": (np.arange(20) + 0.5) / 20})
    p = rows["posterior"].to_numpy()
    for cost_fn, cost_fp in ((1.0, 1.0), (1.0, 4.0), (2.5, 1.0)):
        found = values(rows, ec.bayes_decision("posterior", cost_fn=cost_fn, cost_fp=cost_fp))
        of_ratio = np.log(cost_fn * p) > np.log(cost_fp * (1 - p))
        yield (
            f"rows decided as by cost, {cost_fn:g} and {cost_fp:g}",
            equal_rows(found, cost_fp * (1 - p) < cost_fn * p),
        )
        yield f"rows decided as by r(x), {cost_fn:g} and {cost_fp:g}", equal_rows(found, of_ratio)
    tie = pl.DataFrame({"posterior": [0.5]})
    yield "decision at equal costs", whole(value(tie, ec.bayes_decision("posterior")), 0)


@PAPER("llr-decision")
def llr_decision() -> Rows:
    llr = evaluated()["llr"].to_numpy()
    return {
        f"rows decided as by the threshold, {point}": equal_rows(point.decisions(), llr > point.threshold)
        for point in APPLICATIONS
    }


@PAPER("effective-prior", columns=["effective prior", "its odds", "same decisions", "same with prior 1/2"])
@over_applications
def effective_prior(point: Application) -> Rows:
    always_t, always_f = point.dummies
    prior = point.effective.prior
    return [
        (prior, always_f / (always_f + always_t)),
        (prior / (1 - prior), always_f / always_t),
        equal_rows(point.effective.decisions(), point.decisions()),
        equal_rows(Application(0.5, always_f, always_t).decisions(), point.decisions()),
    ]


@PAPER("bayes-cost")
def bayes_cost() -> Rows:
    log, point = evaluated(), APPLICATIONS[0]
    p_fn, p_fp = wrong_rates("llr", point.threshold)
    cost = ec.row_cost("llr", "label", **point.options()).mean()
    yield "mean cost in H_F", (value(log.filter(pl.col("label") == 0), cost), point.cost_fp * p_fp)
    yield "mean cost in H_T", (value(log.filter(pl.col("label") == 1), cost), point.cost_fn * p_fn)


PREDICTIONS_AS_ROWS = [[205, 111, 56], [145, 199, 121], [50, 92, 225]]
PRIORS = [0.3, 0.4, 0.3]
_PREDICTED = counted(zip(*PREDICTIONS_AS_ROWS, strict=True))


@PAPER("bayes-risk")
@over_applications
def bayes_risk(point: Application) -> Rows:
    # LLRs 2 x - 2 of normal features with means 0 and 2: normal with means -2 and 2, and variance 4.
    normal = NormalDist()
    p_fn, p_fp = normal.cdf((point.threshold - 2) / 2), 1 - normal.cdf((point.threshold + 2) / 2)
    always_t, always_f = point.dummies
    variance = always_f**2 * p_fn * (1 - p_fn) / 1_000 + always_t**2 * p_fp * (1 - p_fp) / 2_000
    return near(point.measured(ec.expected_cost), point.cost(p_fn, p_fp), 3 * math.sqrt(variance))


@PAPER("empirical-bayes-risk")
def empirical_bayes_risk() -> Rows:
    for i, text in enumerate(("0.18375", "0.20199", "0.17388")):
        # The costs of one class alone make its term of the sum.
        costs = [row if k == i else [0.0] * 3 for k, row in enumerate(STEPS)]
        term = decided(_PREDICTED, ec.expected_cost, costs=costs, prior=PRIORS)
        yield f"term of class {i + 1}", printed(term, text)
    risk = decided(_PREDICTED, ec.expected_cost, costs=STEPS, prior=PRIORS)
    yield "empirical Bayes risk", printed(risk, "0.55962")


@PAPER("multiclass-cost")
def multiclass_cost() -> Rows:
    n, costs, options = np.array(PREDICTIONS_AS_ROWS).T, np.array(STEPS), {"costs": STEPS, "prior": PRIORS}
    dummies = np.array(PRIORS) @ costs
    constants = (_PREDICTED.with_columns(decision=pl.lit(k)) for k in range(3))
    risk = (np.array(PRIORS) * (n * costs).sum(axis=1) / n.sum(axis=1)).sum()
    for k, constant in enumerate(constants):
        yield f"always class {k + 1}", (decided(constant, ec.expected_cost, **options), dummies[k])
    yield "normalised", (decided(_PREDICTED, ec.nec, **options), risk / dummies.min())


def _of_rows(point: Application) -> float:
    return point.cost(*wrong_rates("llr", point.threshold))


PAPER("dcf-unnormalised")(over_applications(lambda point: (point.measured(ec.expected_cost), _of_rows(point))))
PAPER("dcf-scaled")(
    over_applications(lambda point: (point.effective.measured(ec.expected_cost), _of_rows(point) / sum(point.dummies)))
)


@PAPER("dcf", columns=["DCF", "at the effective prior"])
@over_applications
def normalised_detection_cost(point: Application) -> Rows:
    expected = _of_rows(point) / min(point.dummies)
    return [(point.measured(ec.dcf), expected), (point.effective.measured(ec.dcf), expected)]


@PAPER("dummy-systems", columns=["always H_T", "always H_F"])
@over_applications
def dummy_systems(point: Application) -> Rows:
    cost = ec.expected_cost("decision", "label", **point.options("decision"))
    always = (evaluated().select("label", decision=pl.lit(decision)) for decision in (1, 0))
    return [(value(log, cost), dummy) for log, dummy in zip(always, point.dummies, strict=True)]


@PAPER("error-rates-as-dcf")
def error_rates_as_costs() -> Rows:
    yield "error rate", (decided(RAIN, ec.error_rate), (WET * FNR + DRY * FPR) / DAYS)
    yield "cost at the prior of the data", (decided(RAIN, ec.expected_cost, prior=WET / DAYS), (FN + FP) / DAYS)
    yield "weighted error rate", (decided(RAIN, ec.balanced_error_rate), (FNR + FPR) / 2)
    yield "cost at the prior 1/2", (decided(RAIN, ec.expected_cost, prior=0.5), (FNR + FPR) / 2)


@PAPER("llr-threshold")
def llr_threshold() -> Rows:
    for point in APPLICATIONS:
        prior = point.effective.prior
        threshold = math.log((1 - prior) / prior)
        posterior = evaluated().select(posterior=ec.posterior("llr", prior=prior, score_type="llr"), llr="llr")
        shift = value(posterior, (ec.log_odds("posterior") - pl.col("llr")).mean())
        of_costs = ec.CostMatrix.binary(cost_fn=point.cost_fn, cost_fp=point.cost_fp).bayes_log_odds()
        p_fn, p_fp = wrong_rates("llr", threshold)
        at_threshold = (prior * p_fn + (1 - prior) * p_fp) / min(prior, 1 - prior)
        yield f"threshold, {point}", (of_costs - math.log(point.prior / (1 - point.prior)), threshold)
        yield f"log odds less LLR, {point}", (shift, -threshold)
        by_default = value(evaluated(), ec.dcf("llr", "label", prior=prior, score_type="llr"))
        yield f"DCF at this threshold, {point}", (by_default, at_threshold)
