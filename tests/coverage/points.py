"""What is promised of intervals at 95 %: of which logs, through which door, of which metrics, between which shares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.special import logit

import polars_ec as ec
from tests.coverage.classes import (
    BLUR,
    FIVE_CLASSES,
    THREE_CLASSES,
    Classes,
    areas_of_classes,
    draw_classes,
    truths_of_classes,
)
from tests.coverage.systems import COST_FN, Sample, System, draw, truths

LEVEL = 0.95
STATED = 0.35
AT_PRIOR = "_at_prior"

DECISIONS = ("recall", "precision", "f1", "nec", "error_rate", "balanced_error_rate", "mcc")
LOSSES = ("cross_entropy", "nce", "brier", "nbs")
AREAS = ("auc_roc", "average_precision")
SEARCHED = ("eer", "ks", "min_dcf", "min_cllr", "auprg")
OF_CLASSES = ("accuracy", "nec", "nce", "nbs", "macro_recall", "macro_f1")
AREAS_OF_CLASSES = ("macro_auc_roc", "weighted_auc_roc", "pairwise_auc_roc")
MOVED = ("precision", "f1", "nec", "error_rate", "mcc", *LOSSES, "average_precision")
COMPARED = ("nec", "nce", "recall", "precision")
DRIFTED = ("nec", "nce", "precision", "f1")
PARTS = ("prior", "likelihood")


@dataclass(frozen=True)
class Promise:
    """The share of intervals that hold the truth is at least, and perhaps at most, this for these metrics."""

    metrics: tuple[str, ...]
    least: float
    most: float = 1.0
    at_prior: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of their columns."""
        moved = tuple(f"{name}{AT_PRIOR}" for name in self.metrics if name in MOVED) if self.at_prior else ()
        return self.metrics + moved


@dataclass(frozen=True)
class Point:
    """A log, and what is promised of the intervals of its groups."""

    name: str
    sample: Sample
    promises: tuple[Promise, ...]
    door: str = "report"
    may_lack: float = 0.02
    """Up to this share of the intervals may be null: a precision without positive decisions is."""


@dataclass(frozen=True)
class Counted:
    """How often the intervals of a metric held the truth."""

    point: str
    door: str
    metric: str
    groups: int
    lacking: float
    covered: float
    least: float
    most: float
    may_lack: float

    def slack(self, bound: float) -> float:
        """Two Monte Carlo errors at this bound."""
        return float(2 * np.sqrt(bound * (1 - bound) / max(self.groups * (1 - self.lacking), 1)))

    @property
    def kept(self) -> bool:
        """Whether the promise is."""
        least, most = self.least - self.slack(self.least), self.most + self.slack(self.most)
        return self.groups > 0 and self.lacking <= self.may_lack and least <= self.covered <= most


USUAL = (Promise(DECISIONS, 0.93, at_prior=True), Promise(LOSSES, 0.93, at_prior=True), Promise(AREAS, 0.93))
CALIBRATED, UNEVEN = System(), System(prior=0.1, separation=1.5, ratio=1.4, scale=0.7, shift=0.3)
FEW_ERRORS = System(separation=4.18)
"""A recall of 0.984 and a specificity of 0.979."""
SKEWED, EVEN = System(prior=0.02, separation=2.5), System(prior=0.4, separation=1.0, ratio=0.7, scale=1.3)
PAIR = (System(prior=0.25, separation=1.5), System(prior=0.25, separation=1.9, scale=0.8))

# Rows of a class are as they were, and there are more positives; or as many, with scores that tell less.
MORE_POSITIVES = (System(), System(prior=0.35, shift=float(logit(0.2) - logit(0.35))))
WORSE_SCORES = (System(), System(separation=1.5))

FEW = (Promise(DECISIONS, 0.92), Promise(LOSSES, 0.88), Promise(("auc_roc",), 0.92))
SKETCHED = (Promise((*DECISIONS, *LOSSES, *AREAS), 0.93),)


def _of_clusters(least: float) -> tuple[Promise, ...]:
    return (Promise((*DECISIONS, *LOSSES), least, at_prior=True), Promise(("auc_roc",), least))


def points(groups: int) -> Iterator[Point]:
    """All of them, with so many groups each."""

    def of(system: System, rows: int, **options: Any) -> Sample:
        return Sample(groups, rows, systems=(system,), **options)

    one_in_three, one_in_ten, one_in_20 = (System(prior=share) for share in (1 / 3, 0.1, 0.05))
    yield Point("200 rows", of(CALIBRATED, 200, fewest=30), USUAL)
    yield Point("400 rows, uneven", of(UNEVEN, 400, fewest=30), USUAL)
    yield Point("400 rows, even prior", of(EVEN, 400), USUAL)
    yield Point("2,500 rows, 2 % positive", of(SKEWED, 2500, fewest=30), USUAL)
    yield Point("400 rows, weighted", of(CALIBRATED, 400, weighted=True), USUAL)
    yield Point("100 positives of 300", of(one_in_three, 300, positives=100), (Promise(LOSSES, 0.93, 0.975),))
    decided = (Promise((*DECISIONS, "informedness", "lr_minus"), 0.93, at_prior=True),)
    yield Point("40 positives, few errors", of(FEW_ERRORS, 200, positives=40), decided)
    yield Point("100 positives, few errors", of(FEW_ERRORS, 500, positives=100), decided)
    yield Point("5 positives of 100", of(one_in_20, 100, positives=5), FEW)
    yield Point("10 positives of 100", of(one_in_ten, 100, positives=10), FEW)
    yield Point("about 12 of 120, uneven", of(UNEVEN, 120, fewest=5), FEW)
    yield Point("20 positives of 60", of(one_in_three, 60, positives=20), FEW)
    searched = (Promise(SEARCHED, 0.92), Promise(("average_precision",), 0.92, at_prior=True))
    yield Point("1,000 rows", of(CALIBRATED, 1000), searched)
    for clusters, least in ((10, 0.93), (30, 0.92), (100, 0.92), (400, 0.92)):
        sample = of(CALIBRATED, max(20 * clusters, 400), clusters=clusters)
        yield Point(f"{clusters} clusters", sample, _of_clusters(least))
    in_clusters = of(CALIBRATED, 900, clusters=30)
    yield Point("30 clusters, ranks", in_clusters, (Promise(("eer", "ks", "average_precision"), 0.92),))
    yield Point("400 rows", of(UNEVEN, 400, fewest=30), SKETCHED, "evaluate")
    yield Point("400 rows, weighted", of(CALIBRATED, 400, weighted=True), SKETCHED, "evaluate")
    yield Point("30 clusters", in_clusters, (Promise((*DECISIONS, *LOSSES, "auc_roc"), 0.92),), "evaluate")
    pair = Sample(groups, 400, systems=PAIR)
    yield Point("400 rows", pair, (Promise(COMPARED, 0.93, 0.975),), "compare")
    yield Point("50 clusters", replace(pair, rows=1000, clusters=50), (Promise(COMPARED, 0.92),), "compare")
    against_rest = (Promise(COMPARED, 0.92),)
    yield Point("rest, 400 rows", of(CALIBRATED, 400), against_rest, "compare")
    yield Point("rest, 50 clusters", of(CALIBRATED, 1000, clusters=50), against_rest, "compare")
    parts = tuple(f"{name}.{part}" for name in DRIFTED for part in PARTS)
    in_both_months = (Promise(parts, 0.93, 0.975),)
    # Near this prior NCE hardly hangs on it: its part is a product of two small numbers, and limits are wide.
    but_nce = (
        Promise(tuple(name for name in parts if name != "nce.prior"), 0.93, 0.975),
        Promise(("nce.prior",), 0.93),
    )
    yield Point("more positives, 600 rows", Sample(groups, 600, systems=MORE_POSITIVES), in_both_months, "drift")
    worse = Sample(groups, 600, systems=WORSE_SCORES)
    yield Point("worse scores, 600 rows", worse, but_nce, "drift")
    yield Point("worse scores, 50 clusters", replace(worse, rows=1000, clusters=50), (Promise(parts, 0.92),), "drift")
    of_classes, in_clusters = (*OF_CLASSES, *AREAS_OF_CLASSES), Sample(groups, 600, clusters=40)
    yield Point("300 rows", Sample(groups, 300), (Promise(of_classes, 0.93),), "classes")
    yield Point("40 clusters", in_clusters, (Promise(of_classes, 0.92),), "classes")
    yield Point("300 rows", Sample(groups, 300), (Promise(AREAS_OF_CLASSES, 0.93, 0.975),), "compare classes")
    yield Point("40 clusters", in_clusters, (Promise(AREAS_OF_CLASSES, 0.92),), "compare classes")
    # With fewer than 15 decisions of a class macro precision has no interval.
    rare = (Promise(("macro_precision", "macro_f1", "macro_recall"), 0.93),)
    yield Point("1,500 rows, a rare one", Sample(groups, 1500), rare, "5 classes", may_lack=0.35)
    areas = (Promise(AREAS_OF_CLASSES, 0.93),)
    yield Point("1,500 rows, areas", Sample(groups, 1500), areas, "5 classes")
    yield Point("50 clusters", Sample(groups, 1000, clusters=50), (Promise(AREAS_OF_CLASSES, 0.92),), "5 classes")


def counts(point: Point, seed: int) -> list[Counted]:
    """How often each of the metrics held the truth, in as many groups as the sample has."""
    log = _DRAWN.get(point.door, draw)(point.sample, seed)
    names = tuple(dict.fromkeys(name for promise in point.promises for name in promise.metrics))
    return counted(point, *_DOORS[point.door](point, log, names))


def counted(point: Point, table: pl.DataFrame, truth: Mapping[str, float]) -> list[Counted]:
    """The same of the table of a row per group that the door gave."""
    found = []
    for promise in point.promises:
        for name in promise.columns:
            low, high = (table[f"{name}_ci_{end}"].to_numpy() for end in ("low", "high"))
            known = np.isfinite(low) & np.isfinite(high)
            held = known & (low <= truth[name]) & (truth[name] <= high)
            covered = held.sum() / max(known.sum(), 1)
            lacking = 1 - known.sum() / max(len(table), 1)
            bounds = (promise.least, promise.most, point.may_lack)
            found.append(Counted(point.name, point.door, name, len(table), float(lacking), float(covered), *bounds))
    return found


def _options(point: Point) -> dict[str, Any]:
    sample = point.sample
    options: dict[str, Any] = {"interval": LEVEL}
    if sample.clusters is not None:
        options["cluster"] = "user"
    if sample.weighted:
        options["weight"] = "w"
    return options


Answer = tuple[pl.DataFrame, Mapping[str, float]]


def _both_priors(system: System) -> dict[str, float]:
    return truths(system) | {f"{name}{AT_PRIOR}": value for name, value in truths(system, STATED).items()}


def _report(point: Point, log: pl.DataFrame, names: tuple[str, ...]) -> Answer:
    at_prior = any(promise.at_prior for promise in point.promises)
    options = _options(point) | ({"prior": STATED} if at_prior else {})
    table = log.ec.report("p", "y", by="group", metrics=list(names), cost_fn=COST_FN, **options)
    return table, _both_priors(point.sample.systems[0])


def _evaluate(point: Point, log: pl.DataFrame, names: tuple[str, ...]) -> Answer:
    options = _options(point)
    cells = {name: options.pop(name) for name in ("cluster", "weight") if name in options}
    sketch = ec.sketch(log, "p", "y", by="group", cost_fn=COST_FN, **cells)
    return sketch.evaluate(*names, cost_fn=COST_FN, **options), _both_priors(point.sample.systems[0])


def _compare(point: Point, log: pl.DataFrame, names: tuple[str, ...]) -> Answer:
    """Two models on the same rows, or each group against the rest, which is like it."""
    first, *others = point.sample.systems
    columns, options = ["p", *("q" for _ in others)], _options(point)
    if not others:
        options["reference"] = "rest"
    table = ec.compare(log, columns, "y", by="group", metrics=list(names), cost_fn=COST_FN, **options)
    of_model, of_reference = truths(others[0] if others else first), truths(first)
    return _wide(table, names), {name: of_model[name] - of_reference[name] for name in names}


def _wide(table: pl.DataFrame, names: tuple[str, ...]) -> pl.DataFrame:
    """The bounds of a comparison, one row for each group."""
    wide = table.pivot("metric", index="group", values=["difference_ci_low", "difference_ci_high"])
    ends = [(name, end) for name in names for end in ("low", "high")]
    return wide.rename({f"difference_ci_{end}_{name}": f"{name}_ci_{end}" for name, end in ends})


def _classes(point: Point, log: pl.DataFrame, names: tuple[str, ...], system: Classes = THREE_CLASSES) -> Answer:
    score = pl.concat_arr(f"p{k}" for k in range(len(system.priors))).alias("p")
    table = log.ec.report(score, "y", by="group", metrics=list(names), **_options(point))
    return table, truths_of_classes(system) | areas_of_classes(system)


def _compare_classes(point: Point, log: pl.DataFrame, names: tuple[str, ...]) -> Answer:
    """A model, and one that sees less."""
    scores = [pl.concat_arr(f"{name}{k}" for k in range(3)).alias(name) for name in ("p", "r")]
    table = log.ec.compare(scores, "y", by="group", metrics=list(names), **_options(point))
    seen, less = (areas_of_classes(THREE_CLASSES, variance) for variance in (1.0, 1 + BLUR))
    return _wide(table, names), {name: less[name] - seen[name] for name in names}


def _two_months(sample: Sample, seed: int) -> pl.DataFrame:
    """Rows of the first system, and of the second a month later."""
    months = [draw(replace(sample, systems=(system,)), 2 * seed + month) for month, system in enumerate(sample.systems)]
    return pl.concat([log.with_columns(month=pl.lit(month)) for month, log in enumerate(months)])


def _drift(point: Point, log: pl.DataFrame, names: tuple[str, ...]) -> Answer:
    """One part is all of the change, and the other 0."""
    before, after = map(truths, point.sample.systems)
    metrics = list(dict.fromkeys(name.partition(".")[0] for name in names))
    # Users of a month are others in the next.
    log = log.with_columns(user=pl.struct("user", "month").rank("dense")) if "user" in log.columns else log
    table = ec.drift(log, "p", "y", period="month", by="group", metrics=metrics, cost_fn=COST_FN, **_options(point))
    ends = [f"{part}_ci_{end}" for part in PARTS for end in ("low", "high")]
    wide = table.pivot("metric", index="group", values=ends)
    wide = wide.rename({f"{end}_{name}": f"{name}.{end}" for name in metrics for end in ends})
    moved = "prior" if point.sample.systems[0].prior != point.sample.systems[1].prior else "likelihood"
    return wide, {
        f"{name}.{part}": (after[name] - before[name]) * (part == moved) for name in metrics for part in PARTS
    }


_DRAWN: Mapping[str, Callable[[Sample, int], pl.DataFrame]] = {
    **dict.fromkeys(("classes", "compare classes"), draw_classes),
    "5 classes": partial(draw_classes, system=FIVE_CLASSES),
    "drift": _two_months,
}
_DOORS: Mapping[str, Callable[[Point, pl.DataFrame, tuple[str, ...]], Answer]] = {
    "report": _report,
    "evaluate": _evaluate,
    "compare": _compare,
    "drift": _drift,
    "classes": _classes,
    "compare classes": _compare_classes,
    "5 classes": partial(_classes, system=FIVE_CLASSES),
}
