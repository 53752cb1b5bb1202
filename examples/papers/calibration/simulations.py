"""The paper's simulated logs, a normal feature of each class, and the three metrics that are followed on them.

A feature is rounded to a hundredth, so that a log of a million rows is at most 2,902 counted ones. Their counts are multinomial, as those of
rows are that are drawn one by one. The feature ranks as the optimal model does, for the likelihood ratio rises with it.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

import polars_ec as ec
from examples.papers.calibration import PAPER
from examples.papers.numbers import Number, Rows, Table, alone, between, by_equation, printed, values
from examples.papers.simulated import Floats

Counts = NDArray[np.int_]
GRID = np.arange(-500, 951) / 100
METRICS = {"average_precision": "AUC-PR", "auprg": "AUC-PR gain", "f1": "best F1"}
"""Names here, and those of the paper."""
CALIBRATED = "_calibrated"


@cache
def shares(mean: float) -> Floats:
    """Of a normal feature of variance 1, at each point of the grid."""
    edges = np.append(GRID, GRID[-1] + 0.01) - 0.005
    between: Floats = np.diff([NormalDist(mean).cdf(edge) for edge in edges])
    return between / between.sum()


def drawn(generator: np.random.RandomState, rows: int, prior: float, positive: float, negative: float) -> pl.DataFrame:
    """A log of so many rows, from the share of positives and the means of both classes."""
    positives = generator.binomial(rows, prior)
    return counted(
        generator.multinomial(positives, shares(positive)), generator.multinomial(rows - positives, shares(negative))
    )


def by_row(generator: np.random.RandomState, rows: int, share: float, distance: float) -> pl.DataFrame:
    """A log that is drawn row by row: `label` and `feature`, from the share of positives and the distance of the classes."""
    label = generator.uniform(size=rows) < share
    return pl.DataFrame({"label": label, "feature": distance * label + generator.standard_normal(rows)})


def counted(positives: Counts, negatives: Counts) -> pl.DataFrame:
    """Counts at the points of the grid as `feature`, `label` and `n`."""
    columns = {
        "feature": np.tile(GRID, 2),
        "label": np.repeat([True, False], len(GRID)),
        "n": np.concatenate([positives, negatives]),
    }
    return pl.DataFrame(columns).filter(pl.col("n") > 0)


def followed(log: pl.DataFrame, by: Sequence[str]) -> pl.DataFrame:
    """The metrics of each group, plain and calibrated to 0.5, from one sketch that keeps all features."""
    sketch = ec.sketch(log, "feature", "label", by=by, score_type="raw", exact=True, weight="n")
    plain, calibrated = (of_sketch(sketch, by, prior) for prior in (None, 0.5))
    return plain.join(calibrated, on=by, suffix=CALIBRATED).sort(by)


def of_sketch(sketch: ec.Sketch, by: Sequence[str], prior: float | pl.Expr | None) -> pl.DataFrame:
    """The two areas, and F1 at the threshold that is best for it, of each group at a reference prior."""
    areas = sketch.evaluate("average_precision", "auprg", prior=prior)
    best = sketch.best_threshold("f1", prior=prior)
    return areas.select(*by, "average_precision", "auprg").join(best.select(*by, "f1"), on=by)


def rates(threshold: float, distance: float) -> tuple[float, float]:
    """The true- and the false-positive rate of normal classes with means `distance` and 0, for features above a threshold."""
    # By erfc, which is not 0 where it is small.
    return math.erfc((threshold - distance) / math.sqrt(2)) / 2, math.erfc(threshold / math.sqrt(2)) / 2


def precision(prior: float, tpr: Any, fpr: Any) -> Any:
    """Of rates, or of arrays of them: prior TPR / (prior TPR + (1 - prior) FPR)."""
    return prior * tpr / (prior * tpr + (1 - prior) * fpr)


def f1(prior: float, tpr: float, fpr: float) -> float:
    """2 prior TPR / (prior TPR + (1 - prior) FPR + prior)."""
    return 2 * prior * tpr / (prior * tpr + (1 - prior) * fpr + prior)


def area(prior: float, distance: float) -> float:
    """AUC-PR of these classes: the integral of precision over recall."""
    tpr, fpr = np.array([rates(threshold, distance) for threshold in GRID]).T
    return float(-np.trapezoid(precision(prior, tpr, fpr), tpr))


MADE_FOR = 2.5
"""The distance between classes for which posteriors are right."""
HISTORICAL = 0.01
"""The prior for which they are right, and the reference."""
MONTHS = ((0.02, 2.5), (0.014, 2.5), (0.01, 2.5), (0.007, 2.5), (0.005, 2.5), (0.005, 1.8))
"""The share of positives, and the distance of their feature from that of negatives."""
COST = 5.0
_MONTHLY_AREA_MOVES, _F1_MOVES, _PART_MOVES = 0.055, 0.05, 0.06
"""What chance moves AUC-PR, F1 and the part of the likelihood by, from one such log to the next."""


def monthly_log(generator: np.random.RandomState, rows: int, share: float, distance: float) -> pl.DataFrame:
    """Labels, and log-odds of a model that does not change, whatever share and distance do."""
    odds = math.log(HISTORICAL / (1 - HISTORICAL)) + MADE_FOR * (pl.col("feature") - MADE_FOR / 2)
    return by_row(generator, rows, share, distance).select("label", score=odds)


def at_bayes(prior: float, distance: float) -> float:
    """F1 of these classes at the Bayes threshold of the model."""
    odds = -math.log(COST) - math.log(HISTORICAL / (1 - HISTORICAL))
    return f1(prior, *rates(odds / MADE_FOR + MADE_FOR / 2, distance))


@cache
def monthly_sketch() -> ec.Sketch:
    """100,000 payments a month, reduced to a table of counts in one pass."""
    generator = np.random.RandomState(0)
    logs = [
        monthly_log(generator, 100_000, *at).with_columns(month=pl.lit(month))
        for month, at in enumerate(MONTHS, start=1)
    ]
    return ec.sketch(pl.concat(logs), "score", "label", by="month", score_type="log_odds", cost_fn=COST)


def by_month(metric: str) -> pl.DataFrame:
    """A metric of each month with its limits, plain and at the historical prior."""
    names = {metric + end: f"{metric}_at_prior{end}" for end in ("", "_ci_low", "_ci_high")}
    plain, calibrated = (monthly_sketch().evaluate(metric, prior=prior, interval=0.95) for prior in (None, HISTORICAL))
    return plain.join(calibrated.select("month", *names).rename(names), on="month").sort("month")


@PAPER("figure-1", columns=["share of fraud", "AUC-PR", "AUC-PR at 0.01"])
def areas_by_month() -> Rows:
    for (_, distance), row in zip(MONTHS, by_month("average_precision").iter_rows(named=True), strict=True):
        share, plain, calibrated = row["class_prior"], row["average_precision"], row["average_precision_at_prior"]
        yield (
            f"month {row['month']}",
            alone(share),
            by_equation(plain, area(share, distance), within=_MONTHLY_AREA_MOVES),
            by_equation(calibrated, area(HISTORICAL, distance), within=_MONTHLY_AREA_MOVES),
        )


@PAPER("section-5-monitoring", columns=["share of fraud", "F1", "F1 at 0.01", "part of the likelihood"])
def monitoring() -> Rows:
    changes = dict(monthly_sketch().drift("f1", period="month").select("month", "likelihood").iter_rows())
    for (_, distance), row in zip(MONTHS, by_month("f1").iter_rows(named=True), strict=True):
        share, change = row["class_prior"], changes.get(row["month"])
        none, low = distance >= MADE_FOR, -_PART_MOVES
        yield (
            f"month {row['month']}",
            alone(share),
            by_equation(row["f1"], at_bayes(share, distance), within=_F1_MOVES),
            by_equation(row["f1_at_prior"], at_bayes(HISTORICAL, distance), within=_F1_MOVES),
            change and (between(change, low, -low, "none") if none else between(change, -1, low, "below 0")),
        )


RUNS = 30
ROWS = 1_000_000
PRIORS = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)
DIVERGENCES = tuple(k / 10 for k in range(20, 0, -1))
MEANS = (2.0, 1.8)
DISTANCE = 0.2
KINDS = {"": "plain", CALIBRATED: "calibrated to 0.5"}


@cache
def falling_prior() -> pl.DataFrame:
    """Every metric of each run at each prior; the likelihoods stay as they are."""
    generator = np.random.RandomState(0)
    logs = [
        drawn(generator, ROWS, prior, *MEANS).with_columns(prior=pl.lit(prior), run=pl.lit(run))
        for run in range(RUNS)
        for prior in PRIORS
    ]
    return followed(pl.concat(logs), ["prior", "run"])


@cache
def falling_divergence() -> pl.DataFrame:
    """Every metric of each run at each divergence of the classes, at a prior that is drawn anew each time."""
    generator = np.random.RandomState(0)
    logs = [
        drawn(generator, ROWS, generator.uniform(0.001, 0.5), math.sqrt(2 * divergence), 0.0).with_columns(
            divergence=pl.lit(divergence), run=pl.lit(run)
        )
        for run in range(RUNS)
        for divergence in DIVERGENCES
    ]
    return followed(pl.concat(logs), ["divergence", "run"])


@PAPER("figure-4", columns=[f"prior {prior:g}" for prior in (0.5, 0.05, 0.001)])
def figure_4() -> Rows:
    yield "AUC-PR", _ends("average_precision", "0.549", "0.001")
    yield "AUC-PR, calibrated", _ends("average_precision" + CALIBRATED, "0.549", "0.540")
    yield "best F1", _ends("f1", "0.667", "0.005")
    yield "best F1, calibrated", _ends("f1" + CALIBRATED, "0.667", "0.669")
    yield "AUC-PR gain, median", _ends("auprg", "0.11", "0.42")
    yield "AUC-PR gain, calibrated", _ends("auprg" + CALIBRATED, "0.11", "0.10")


def _ends(metric: str, first: str, last: str) -> list[Number]:
    cells = []
    for prior, text in ((0.5, first), (0.05, None), (0.001, last)):
        found = falling_prior().filter(prior=prior)[metric].to_numpy()
        middle = np.median(found) if metric == "auprg" else found.mean()
        if text is None:
            cells.append(alone(middle))
        else:
            moves = 3 * found.std(ddof=1) + 0.5 * 10.0 ** -len(text.partition(".")[2])
            within = 0.25 if (metric, prior) == ("auprg", 0.001) else moves
            cells.append(printed(middle, text, within=within, against="simulation"))
    return cells


@PAPER("section-3.2", columns=["AUC-PR", "AUC-PR, calibrated"])
def areas_by_prior() -> Rows:
    for prior in PRIORS:
        cells = []
        for metric, reference in (("average_precision", prior), ("average_precision" + CALIBRATED, 0.5)):
            each = falling_prior().filter(prior=prior)[metric].to_numpy()
            error = 4 * each.std(ddof=1) / math.sqrt(RUNS)
            cells.append(by_equation(each.mean(), area(reference, DISTANCE), within=error))
        yield f"prior {prior:g}", cells


_DISTANCES = (0.2, 1.0, 2.0)


@PAPER("equation-6", columns=["AUC-ROC"])
def area_of_normal_classes() -> Rows:
    for distance in _DISTANCES:
        log = drawn(np.random.RandomState(0), ROWS, 0.5, distance, 0.0)
        sketch = ec.sketch(log, "feature", "label", score_type="raw", exact=True, weight="n")
        found, expected = sketch.evaluate("auc_roc")["auc_roc"].item(), NormalDist().cdf(distance / math.sqrt(2))
        yield f"means {distance:g} apart", by_equation(found, expected, within=0.002)


@PAPER("section-3.3", columns=["mean LLR of positives"])
def divergence() -> Rows:
    for distance in _DISTANCES:
        log = drawn(np.random.RandomState(0), ROWS, 0.5, distance, 0.0).filter("label")
        posterior = 1 / (1 + (-(distance * (pl.col("feature") - distance / 2)) + math.log(0.99 / 0.01)).exp())
        llr = np.average(values(log.select(posterior=posterior), ec.llr("posterior", prior=0.01)), weights=log["n"])
        yield f"means {distance:g} apart", by_equation(llr, distance**2 / 2, within=0.006 * distance)


@PAPER("figure-5", columns=["turns of the mean of 30 runs", "rank correlation with KL", "turns of one run, on average"])
def figure_5() -> Rows:
    single = falling_divergence()
    averaged = single.group_by("divergence").mean().sort("divergence")
    for metric, name in METRICS.items():
        turns, correlation, of_one = _smoothness(averaged, single, metric)
        yield (
            name,
            between(turns, 1, math.inf, "above 0", decimals=0),
            between(correlation, 0.5, 0.999, "above 0.5, below 1"),
            between(of_one, 4, math.inf, "above 3", decimals=1),
        )
        turns, correlation, of_one = _smoothness(averaged, single, metric + CALIBRATED)
        yield (
            f"{name}, calibrated",
            between(turns, 0, 0, "0", decimals=0),
            between(correlation, 1 - 1e-12, 1 + 1e-12, "1"),
            between(of_one, 0, 0, "0", decimals=1),
        )


def _smoothness(averaged: pl.DataFrame, single: pl.DataFrame, metric: str) -> tuple[float, float, float]:
    turns = averaged.select((pl.col(metric).diff() < 0).sum()).item()
    correlation = averaged.select(pl.corr("divergence", metric, method="spearman")).item()
    of_runs = single.sort("divergence").group_by("run").agg((pl.col(metric).diff() < 0).sum())
    return float(turns), float(correlation), float(of_runs.select(pl.col(metric).mean()).item())


POSITIVES, NEGATIVES = 492, 284_315
"""Those of the credit card data, a share of 0.0017 positives."""
FRAUD_DISTANCE = 3.0
DRAWS = 200
REFERENCES = (0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)


def _counts(generator: np.random.RandomState) -> tuple[Counts, Counts]:
    return (generator.multinomial(POSITIVES, shares(FRAUD_DISTANCE)), generator.multinomial(NEGATIVES, shares(0.0)))


def _kept(reference: float) -> tuple[int, int]:
    """How many positives and negatives are left at a reference prior: all of one class."""
    positives = min(POSITIVES, round(NEGATIVES * reference / (1 - reference)))
    return positives, min(NEGATIVES, round(positives * (1 - reference) / reference))


def _area(prior: float | None = None) -> pl.Expr:
    return ec.average_precision("feature", "label", score_type="raw", weight="n", prior=prior)


def _closed(counts: tuple[Counts, Counts]) -> dict[float, float]:
    log = counted(*counts)
    areas = log.select(_area(reference).alias(str(reference)) for reference in REFERENCES)
    return {reference: areas[str(reference)].item() for reference in REFERENCES}


@cache
def undersampled() -> pl.DataFrame:
    """By reference prior: the formula's value, and mean and standard deviation of the runs' plain AUC-PR.

    The rows of a class are shuffled once in each run, and the first ones are kept, as many as the reference prior asks for.
    """
    generator = np.random.RandomState(0)
    counts = _counts(generator)
    closed = _closed(counts)
    places = [np.repeat(np.arange(len(GRID)), of_class) for of_class in counts]
    logs = []
    for run in range(DRAWS):
        shuffled = [generator.permutation(rows) for rows in places]
        for reference in REFERENCES:
            left = [rows[:kept] for rows, kept in zip(shuffled, _kept(reference), strict=True)]
            log = counted(*(np.bincount(rows, minlength=len(GRID)) for rows in left))
            logs.append(log.with_columns(reference=pl.lit(reference), run=pl.lit(run)))
    areas = pl.concat(logs).lazy().group_by("reference", "run").agg(area=_area()).sort("run").collect()
    found = areas.group_by("reference").agg(mean=pl.col("area").mean(), sd=pl.col("area").std())
    return found.sort("reference", descending=True).with_columns(
        closed=pl.col("reference").replace_strict(closed, return_dtype=pl.Float64)
    )


@PAPER("undersampling", columns=["mean of runs (formula)"])
def heuristic() -> Rows:
    for row in undersampled().iter_rows(named=True):
        error = 4 * row["sd"] / math.sqrt(DRAWS)
        yield f"reference {row['reference']:g}", by_equation(row["mean"], row["closed"], within=error)


@PAPER("figure-6", columns=["formula", "mean of runs", "deviation of a run", "difference, in deviations"])
def figure_6() -> Rows:
    found = undersampled()
    apart = found.select(((pl.col("mean") - pl.col("closed")).abs() / pl.col("sd")).max()).item()
    others = [_closed(_counts(np.random.RandomState(seed))) for seed in range(1, 31)]
    for reference, formula, mean, spread in ((0.5, "0.9815", "0.9819", 0.0023), (0.01, "0.680", "0.684", 0.004)):
        row = found.row(by_predicate=pl.col("reference") == reference, named=True)
        within = 3 * float(np.std([log[reference] for log in others], ddof=1))
        pairs = ((row["closed"], formula), (row["mean"], mean))
        cells = [printed(*pair, within=within, against="simulation") for pair in pairs]
        low, high = spread / 2.5, spread * 2.5
        cells.append(between(row["sd"], low, high, f"{spread:g}", against="simulation"))
        yield f"reference {reference:g}", *cells, None
    yield "largest difference", None, None, None, between(apart, 0, 0.5, "below 0.5")


THRESHOLD = 1.5
"""Of the feature, whose means are the distance of the classes and 0."""
AGREED, LOWEST = 0.01, 0.01
_MOVES, _AREA_MOVES = 0.02, {"sample": 0.025, "practice": 0.07}
Groups = Mapping[str, tuple[float, float]]
"""By name: the share of positives, and the distance of their feature from that of negatives."""


def _log(groups: Groups, rows: int = 50_000) -> pl.DataFrame:
    generator = np.random.RandomState(0)
    logs = []
    for group, (share, distance) in groups.items():
        logs.append(by_row(generator, rows, share, distance).with_columns(group=pl.lit(group)))
    return pl.concat(logs)


@PAPER("section-5-populations")
def populations() -> Rows:
    groups = {"children": (0.01, 2.2), "adults": (0.04, 2.2), "elderly": (0.2, 1.8)}
    return _compared(groups, "precision", precision, "overall", "the average prior")


@PAPER("section-5-agreements")
def agreements() -> Rows:
    days = {f"day {k}": (share, 2.2) for k, share in enumerate((0.005, 0.03, 0.004, 0.1), start=1)}
    return _compared(days, "f1", f1, AGREED, f"the agreed prior, {AGREED:g}")


def _compared(
    groups: Groups,
    metric: Literal["precision", "f1"],
    formula: Callable[[float, float, float], float],
    prior: float | Literal["overall"],
    called: str,
) -> Table:
    log = _log(groups)
    report = ec.report(
        log, "feature", "label", by="group", metrics=[metric], prior=prior, score_type="log_odds", threshold=THRESHOLD
    )
    by_group = {row["group"]: row for row in report.iter_rows(named=True)}
    reference = float(log["label"].to_numpy().mean()) if prior == "overall" else prior
    rows = {}
    for group, (_, distance) in groups.items():
        row = by_group[group]
        cells = [alone(row["class_prior"])]
        for name, at in ((metric, row["class_prior"]), (f"{metric}_at_prior", reference)):
            cells.append(by_equation(row[name], formula(at, *rates(THRESHOLD, distance)), within=_MOVES))
        rows[group] = cells
    return Table(["share of positives", metric, f"at {called}"], rows)


@PAPER("section-5-deployment", columns=["share of positives", "AUC-PR at this share", f"AUC-PR at {LOWEST:g}"])
def deployment() -> Rows:
    logs = {"sample": (0.3, 2.2), "practice": (LOWEST, 2.2)}
    sketch = ec.sketch(_log(logs), "feature", "label", by="group", score_type="log_odds")
    for group, (share, distance) in logs.items():
        cells = [alone(share, decimals=2)]
        one = sketch.filter(pl.col("group") == group)
        for prior in (share, LOWEST):
            found = one.evaluate("average_precision", prior=prior)["average_precision"].item()
            cells.append(by_equation(found, area(prior, distance), within=_AREA_MOVES[group]))
        yield group, cells


RARE_ROWS, RARE_PRIOR, RARE_DISTANCE = 300_000, 0.003, 3.0
_AREAS_MOVE = {
    RARE_PRIOR: {"auc_roc": 0.006, "average_precision": 0.053},
    0.5: {"auc_roc": 0.006, "average_precision": 0.007},
}
"""What chance moves areas by, from one such log to the next."""
INSTANCES = "111101101001000010001000000000"
"""Labels from the highest score to the lowest."""
POSITIVE = 8
"""How many of them are decided positive."""


@cache
def extreme_sketches() -> dict[float, ec.Sketch]:
    """By prior: an extremely imbalanced log, and a balanced sample of it, all positives and as many negatives."""
    generator = np.random.RandomState(0)
    label = np.arange(RARE_ROWS) < RARE_ROWS * RARE_PRIOR
    llr = RARE_DISTANCE * (RARE_DISTANCE * (label - 0.5) + generator.standard_normal(RARE_ROWS))
    log = pl.DataFrame({"label": label, "llr": llr})
    return {
        RARE_PRIOR: ec.sketch(log, "llr", "label", score_type="llr"),
        0.5: ec.sketch(log.head(2 * label.sum()), "llr", "label", score_type="llr"),
    }


@PAPER("figure-2", columns=["AUC-ROC", "AUC-PR", "AUC-PR gain"])
def figure_2() -> Rows:
    expected = {"auc_roc": NormalDist().cdf(RARE_DISTANCE / math.sqrt(2))}
    for prior, sketch in extreme_sketches().items():
        expected["average_precision"] = area(prior, RARE_DISTANCE)
        found = sketch.evaluate(*expected, "auprg").row(0, named=True)
        cells = []
        for metric, value in expected.items():
            cells.append(by_equation(found[metric], value, within=_AREAS_MOVE[prior][metric]))
        gain = found["auprg"]
        cells.append(between(gain, 0.98, 1, "close to 1") if prior == RARE_PRIOR else alone(gain))
        yield f"prior {prior:g}", cells


def instances() -> dict[str, pl.DataFrame]:
    """All instances by rank, and those that are left without every second positive."""
    every = pl.DataFrame({"label": [int(label) for label in INSTANCES]}).with_row_index("rank")
    every = every.with_columns(decided=(pl.col("rank") < POSITIVE).cast(pl.Int8))
    second = (pl.col("label") == 1) & (pl.col("label").cum_sum() % 2 == 0)
    return {"(i) all instances": every, "(ii) half of the positives removed": every.filter(~second)}


@PAPER("figure-3", columns=["recall", "FPR", "precision", f"precision at {INSTANCES.count('1') / len(INSTANCES):.3f}"])
def figure_3() -> Rows:
    prior = INSTANCES.count("1") / len(INSTANCES)
    for name, frame in instances().items():
        label, decided = frame["label"].to_numpy() == 1, frame["decided"].to_numpy() == 1
        tpr, fpr = float(decided[label].mean()), float(decided[~label].mean())
        expected = {ec.recall: tpr, ec.fpr: fpr, ec.precision: float(label[decided].mean())}
        cells = [
            (frame.select(metric("decided", "label", score_type="decision")).item(), value)
            for metric, value in expected.items()
        ]
        calibrated = frame.select(ec.precision("decided", "label", score_type="decision", prior=prior)).item()
        cells.append((calibrated, tpr / (tpr + (1 - prior) / prior * fpr)))
        yield name, cells
