"""Sections 4.2 to 4.4: calibration loss and ECE, on the samples of a calibrator and on others."""

import math
from functools import cache
from typing import Any

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers.analysis import PAPER
from examples.papers.analysis.logs import LABELS, POSTERIORS, SCORED
from examples.papers.analysis.simulated_systems import two_class_log
from examples.papers.numbers import Rows, alone, between, decided, value, values
from examples.papers.simulated import Floats, gaussian_classes, labels, log_likelihoods, log_softmax, vectors
from examples.papers.written_out import BINS, Integers, bins_of, calibration_error, top_label_error

_RULES: dict[str, Any] = {"cross_entropy": ec.cross_entropy, "brier": ec.brier}


@cache
def _losses(rule: str) -> dict[str, float]:
    """Raw and calibrated loss, their difference and its share in percent, of mc1 with an affine map by cross-validation."""
    options: dict[str, Any] = {"rule": rule, "folds": 5, "fold_by": "id"}
    found = ec.calibration_loss(two_class_log(), "mc1_posterior", "label", **options)
    row: dict[str, float] = found.select("raw", "calibrated", "cal_loss", "rcl").row(0, named=True)
    return row


@cache
def _by_steps() -> dict[str, tuple[float, float]]:
    """EPSRraw and EPSRemin by the steps of the paper: calibrate, put the calibrated posteriors to work."""
    log = two_class_log().with_columns(ec.fold("id", 5))
    calibration = ec.calibrate(log, "mc1_posterior", "label", folds=5, fold_by="id")
    table = log.with_columns(calibration.apply("mc1_posterior", out_of_fold=True).alias("calibrated"))
    return {
        rule: (value(table, metric("mc1_posterior", "label")), value(table, metric("calibrated", "label")))
        for rule, metric in _RULES.items()
    }


def _beside_steps(name: str, column: str, equation: Any) -> Any:
    return lambda: {
        f"{name}, {rule.replace('_', '-')}": (_losses(rule)[column], equation(*pair))
        for rule, pair in _by_steps().items()
    }


PAPER("equation-59")(_beside_steps("CalLoss", "cal_loss", lambda raw, least: raw - least))
PAPER("equation-60")(_beside_steps("RelCalLoss", "rcl", lambda raw, least: 100 * (raw - least) / raw))


@PAPER("equation-61")
def equation_61() -> Rows:
    for calibrator in ("affine", "temperature"):
        calibration = ec.calibrate(SCORED, "s", "label", calibrator)
        alpha, beta = calibration.frame.select("alpha", "beta").row(0)
        applied = SCORED.select(q=calibration.apply("s"))["q"].to_numpy()
        expected = np.exp(log_softmax(alpha * np.log(POSTERIORS) + np.array(beta)))
        for t in (0, 5):
            for i in range(3):
                yield f"{calibrator}, sample {t + 1}, s{i + 1}", (applied[t, i], expected[t, i])


@PAPER("section-4.2.1", columns=["EPSRraw", "EPSRemin", "RelCalLoss"])
def threshold_instead_of_scores() -> Rows:
    log = two_class_log().with_columns(ec.fold("id", 2))
    options: dict[str, Any] = {"cost_fn": 2, "score_type": "llr"}
    halves = [log.filter(pl.col("fold") == k) for k in range(2)]
    for system in ("cal", "mc1"):
        halved = []
        for training, test in (halves, halves[::-1]):
            sketch = ec.sketch(training, system, "label", score_type="llr", exact=True)
            best = sketch.best_threshold("expected_cost", cost_fn=2)["threshold"].item()
            halved.append(test.select("label", decision=(pl.col(system) > best).cast(pl.Int16)))
        raw = value(log, ec.expected_cost(system, "label", prior=0.1, **options))
        least = decided(pl.concat(halved), ec.expected_cost, cost_fn=2)
        percent = 100 * (raw - least) / raw
        low, high, shown = (-1.0, 1.0, "about 0") if system == "cal" else (20.0, 100.0, "well above 0")
        yield system, alone(raw), alone(least), between(percent, low, high, shown)


@cache
def _scored() -> tuple[Floats, Any, Integers]:
    """Posteriors of H2, labels and bins, which are closed on the right, of Datap-mc1."""
    posteriors = two_class_log()["mc1_posterior"].to_numpy()
    return posteriors, two_class_log()["label"].to_numpy(), bins_of(posteriors)


@cache
def _of_bins() -> tuple[Floats, Floats, Floats]:
    """|B_m|, class2(B_m) and avep2(B_m), of bins, none of which is empty."""
    posteriors, classes, bins = _scored()
    sizes = np.bincount(bins, minlength=BINS).astype(float)
    return sizes, *(np.bincount(bins, x, minlength=BINS) / sizes for x in (classes, posteriors))


def _ece() -> float:
    return value(two_class_log(), ec.ece("mc1_posterior", "label", bins=BINS))


@PAPER("equation-62")
def ece() -> Rows:
    sizes, shares, means = _of_bins()
    yield "ECE", (_ece(), (sizes / sizes.sum() * np.abs(shares - means)).sum())


PAPER("equation-63")(
    lambda: {"ECEmc": (value(SCORED, ec.ece_mc("s", "label", bins=BINS)), top_label_error(POSTERIORS, LABELS))}
)


@PAPER("equation-64")
def calibration_loss_by_brier_score() -> Rows:
    options: Any = {"rule": "brier", "calibrator": "histogram", "training": "test"}
    found = ec.calibration_loss(two_class_log(), "mc1_posterior", "label", **options)["cal_loss"].item()
    posteriors, classes, bins = _scored()
    expected = ((posteriors - classes) ** 2 - (_of_bins()[1][bins] - classes) ** 2).mean()
    yield "CalLoss by Brier score, histogram binning on the very samples", (found, expected)


@PAPER("equation-65")
def ece_by_sample() -> Rows:
    _, shares, means = _of_bins()
    yield "ECE", (_ece(), np.abs(shares - means)[_scored()[2]].mean())


@PAPER("equation-66")
def ece_as_a_distance() -> Rows:
    binned = ec.calibrate(two_class_log(), "mc1_posterior", "label", "histogram").apply("mc1_posterior")
    distances = np.abs(values(two_class_log(), binned) - _of_bins()[2][_scored()[2]])
    yield "ECE", (_ece(), distances.mean())


@PAPER("section-4.3.2")
def drawbacks_of_ece() -> Rows:
    log = two_class_log()
    prior = pl.col("label").mean()
    # Too unsure on both sides, which leaves the mean where it is.
    shrunk = prior + 0.3 * (pl.col("cal_posterior") - pl.col("cal_posterior").mean())
    unsure = log.select("label", s=shrunk)
    rcl = ec.calibration_loss(unsure, "s", "label", calibrator="histogram", training="test")["rcl"].item()
    yield "ECE, one bin", between(value(unsure, ec.ece("s", "label", bins=1)), 0.0, 1e-9, "0")
    yield "ECE, 15 bins", alone(value(unsure, ec.ece("s", "label")))
    yield "RelCalLoss by cross-entropy, histogram binning", between(rcl, 20.0, 100.0, "well above 0")


@PAPER("section-4.4")
def calibrated_but_useless() -> Rows:
    log = two_class_log()
    table = log.with_columns(naive=pl.col("label").mean())
    nce = value(table, ec.nce("mc1_posterior", "label"))
    yield "A, naive: ECE", between(value(table, ec.ece("naive", "label")), 0.0, 1e-9, "0")
    yield "B, Datap-mc1: ECE", alone(_ece())
    yield "A: normalised cross-entropy", (value(table, ec.nce("naive", "label")), 1.0)
    yield "B: normalised cross-entropy", between(nce, 0.0, 1.0, "below 1")


@PAPER("section-3.1")
def labels_as_scores() -> Rows:
    log = two_class_log().sort("cal").with_row_index("rank").with_columns(decision="label")
    seen, unseen = log.filter(pl.col("rank") % 2 == 0), log.filter(pl.col("rank") % 2 == 1)
    # For a score that was not seen: what was seen of the nearest one.
    mapped = unseen.drop("decision").join_asof(seen.select("cal", "decision"), on="cal", strategy="nearest")
    bayes = value(unseen, ec.expected_cost("cal", "label", score_type="llr", prior=0.1, cost_fn=2))
    own, others = (decided(rows, ec.expected_cost, cost_fn=2) for rows in (seen, mapped))
    yield "EC of the map, its own samples", (own, 0.0)
    yield "EC of the map, other samples", between(others, 1.2 * bayes, math.inf, "much above that of Bayes decisions")
    yield "EC of Bayes decisions, other samples", alone(bayes)


@PAPER(
    "degroot",
    columns=["EPSRraw", "the same, expected", "EPSRemin", "refinement", "CalLoss", "divergence", "EPSRraw, apart in %"],
)
def degroot() -> Rows:
    for calibrator in ("affine", "temperature"):
        better = ec.calibrate(two_class_log(), "mc1_posterior", "label", calibrator).apply("mc1_posterior")
        log = two_class_log().select("label", s="mc1_posterior", better=better)
        s, calibrated = log["s"].to_numpy(), log["better"].to_numpy()
        for rule, metric in _RULES.items():
            raw, least = (value(log, metric(score, "label")) for score in ("s", "better"))
            epsr = {score: value(log, ec.semi_empirical_epsr(score, "better", rule=rule)) for score in ("s", "better")}
            divergence = value(log, ec.expected_score_divergence("s", "better", rule=rule))
            by_hand = _expected_loss(s, calibrated, rule), _expected_loss(calibrated, calibrated, rule)
            percent = 100 * abs(epsr["s"] - raw) / raw
            # Both maps have the least cross-entropy of their kind, so that both decompositions of it are the same.
            same = calibrator == "affine" or rule == "cross_entropy"
            yield (
                f"{calibrator}, {rule.replace('_', '-')}",
                alone(raw),
                (epsr["s"], by_hand[0]),
                alone(least),
                (epsr["better"], by_hand[1]),
                alone(raw - least),
                (divergence, by_hand[0] - by_hand[1]),
                between(percent, 0, 0.2, "about 0") if same else between(percent, 5, 100, "well above 0"),
            )


def _expected_loss(s: Floats, better: Floats, rule: str) -> float:
    of_1, of_2 = (-np.log(1 - s), -np.log(s)) if rule == "cross_entropy" else (s**2, (1 - s) ** 2)
    return float(((1 - better) * of_1 + better * of_2).mean())


def _sets(n_classes: int, rows: int, sets: int) -> pl.DataFrame:
    """Calibrated log posteriors of several sets of samples, made as those of Section 4.8.3."""
    priors = np.array([0.9, *[0.1 / (n_classes - 1)] * (n_classes - 1)])
    counts = tuple(int(n) for n in np.round(rows * sets * priors))
    means = tuple((float(i),) for i in range(n_classes))
    joint = log_likelihoods(gaussian_classes(counts, means, 0.15), means, 0.15) + np.log(priors)
    log = pl.DataFrame({"label": labels(counts), "s": vectors(log_softmax(joint))}).with_row_index("id")
    return log.with_columns(set=pl.col("id") % sets)


@PAPER("train-on-test", columns=["RelCalLoss, trained on the very samples", "cross-validation"])
def train_on_test() -> Rows:
    first = 0.0
    for n_classes, samples in ((2, 1000), (2, 200), (10, 1000)):
        log = _sets(n_classes, samples, 20)
        options: dict[str, Any] = {"by": "set", "score_type": "log_posteriors"}
        own = ec.calibration_loss(log, "s", "label", training="test", **options)["rcl"].mean()
        others = ec.calibration_loss(log, "s", "label", folds=5, fold_by="id", **options)["rcl"].mean()
        yield (
            f"K {n_classes}, {samples:,} samples",
            between(own, first, math.inf, f"above {first:.2g}"),
            between(others, -math.inf, 0, "below 0"),
        )
        first = first or own


@PAPER("section-4.2")
def a_bad_calibrator() -> Rows:
    for calibrator, low, high, shown in (("affine", -0.1, 0.1, "about 0"), ("histogram", -math.inf, -1.0, "below 0")):
        options: dict[str, Any] = {"calibrator": calibrator, "folds": 5, "fold_by": "id"}
        found = ec.calibration_loss(two_class_log(), "cal_posterior", "label", **options)
        yield f"RelCalLoss of Datap-cal, {calibrator}", between(found["rcl"].item(), low, high, shown)


_BINS = (1, 5, 15, 45, 135)
"""Each splits the bins before it, so that ECE cannot fall."""


@PAPER("ece-by-bins", columns=["ECE, bins of equal width", "more than with fewer bins", "ECE, bins of equal mass"])
def ece_by_bins() -> Rows:
    log = two_class_log()
    posteriors, label = log["cal_posterior"].to_numpy(), log["label"].to_numpy()
    rank = np.empty(len(posteriors), dtype=np.int64)
    rank[np.argsort(posteriors)] = np.arange(1, len(posteriors) + 1)
    before = math.nan
    for bins in _BINS:
        of_width = value(log, ec.ece("cal_posterior", "label", bins=bins))
        of_mass = value(log, ec.ece("cal_posterior", "label", bins=bins, equal_mass=True))
        yield (
            f"{bins} bin{'s' * (bins > 1)}",
            (of_width, calibration_error(posteriors, label, np.ceil(posteriors * bins).astype(np.int64))),
            None if math.isnan(before) else between(of_width - before, 0, 1, "above 0"),
            (of_mass, calibration_error(posteriors, label, -(-rank * bins // len(rank)))),
        )
        before = of_width
