"""Figure 5 of Ferrer and Ramos, "Evaluating posterior probabilities": intervals of 100 bootstraps, with calibrators trained anew in each.

The figure's data are those of Figure 2: two classes, 400 rows asked for and 399 made (class counts are cut off), variance 0.15; `mcp` has
the priors of the classes exchanged, and almost so. The figure's code draws rows from the whole set, not class by class; a row stays in its
fold, and folds are even within each class; histograms have 15 bins. Limits are read off the figure, to about two hundredths of NBS.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import polars as pl
import pytest

import polars_ec as ec
from tests.support.gaussians import gaussian_classes, log_likelihoods, log_softmax

COUNTS, MEANS, VARIANCE = (320, 79), ((math.sqrt(0.5), 0.0), (0.0, math.sqrt(0.5))), 0.15
SYSTEMS = {  # what the log posteriors are multiplied with, and the priors that they are made with
    "cal": (1.0, (0.8, 0.2)),
    "mcp": (1.0, (0.1, 0.9)),
    "mcs": (5.0, (0.8, 0.2)),
    "mcps": (5.0, (0.1, 0.9)),
}
NBS = {"cal": (0.28, 0.48), "mcp": (0.96, 1.61)}


@cache
def log_odds(system: str) -> np.ndarray:
    scale, priors = SYSTEMS[system]
    joint = log_likelihoods(gaussian_classes(COUNTS, MEANS, VARIANCE), MEANS, VARIANCE) + np.log(priors)
    posteriors = log_softmax(scale * log_softmax(joint))
    return posteriors[:, 1] - posteriors[:, 0]


LABEL = np.repeat([0, 1], COUNTS)


@cache
def sketch(system: str) -> ec.Sketch:
    frame = pl.DataFrame({"x": log_odds(system), "y": LABEL, "row": np.arange(sum(COUNTS))})
    folds = {"folds": 5, "fold_by": "row", "stratified": True}
    return frame.ec.sketch("x", "y", score_type="log_odds", exact=True, **folds)


def rcl(system: str, calibrator: str, training: str, replicates: int) -> tuple[float, float, float]:
    losses = sketch(system).calibration_loss(
        "brier", calibrator=calibrator, training=training, interval=0.95, method="bootstrap", replicates=replicates
    )
    return losses.select("rcl", "rcl_ci_low", "rcl_ci_high").row(0)


def test_the_data_are_those_of_the_figure():
    """The figure's code prints this NBS of `cal`, from float32."""
    assert sketch("cal").group_by().evaluate("nbs")["nbs"].item() == pytest.approx(0.3683633176519441, rel=1e-6)


@pytest.mark.parametrize("system", NBS)
def test_normalised_brier_scores(system):
    whole = sketch(system).group_by()
    found = whole.evaluate("nbs", interval=0.95, method="bootstrap", replicates=4000)
    low, high = NBS[system]
    # Of 100 draws the outermost few say where the limits are: these are off by about a tenth of the width.
    limits = found.select("nbs_ci_low", "nbs_ci_high").row(0)
    assert limits == pytest.approx((low, high), abs=0.1 * (high - low))
    # Were positives and negatives drawn each for themselves, these would be shorter.
    log = pl.DataFrame({"x": log_odds(system), "y": LABEL})
    of_report = log.ec.report(
        "x", "y", metrics=["nbs"], score_type="log_odds", interval=0.95, method="bootstrap", replicates=4000
    )
    assert of_report.select("nbs_ci_low", "nbs_ci_high").row(0) == pytest.approx(limits, abs=0.05 * (high - low))


def test_histograms_of_the_very_data_find_miscalibration_where_there_is_none():
    """RCL-BS-Htt of `cal` stays above 0, and RCL-BS-Hxv reaches far below; those of the affine transform are about 0."""
    value, low, high = rcl("cal", "histogram", "test", 100)
    assert 0 < low < high < 40
    assert value < (low + high) / 2
    _, low, high = rcl("cal", "histogram", "cv", 100)
    assert low < -40
    assert high < 0
    for training in ("test", "cv"):
        value, low, high = rcl("cal", "affine", training, 100)
        assert -15 < low < 0 < high < 10
        assert low < value < high


@pytest.mark.slow
@pytest.mark.parametrize("calibrator", ["affine", "histogram"])
@pytest.mark.parametrize("training", ["cv", "test"])
@pytest.mark.parametrize("system", ["mcp", "mcps"])
def test_exchanged_priors_are_found(system, training, calibrator):
    """Whatever the calibrator: the bars are about 60 to 75, with limits about 20 apart."""
    value, low, high = rcl(system, calibrator, training, 1000)
    assert low < value < high
    assert 45 < low < high < 85


@pytest.mark.slow
@pytest.mark.parametrize("system", ["cal", "mcp"])
def test_histograms_trained_anew_are_those_of_rows_drawn_one_by_one(system):
    """RCL-BS-Htt of 2,000 sets of rows: bins of the posterior closed on the right, an empty one is asked for by no row."""
    x, rng = log_odds(system), np.random.default_rng(0)
    posterior = 1 / (1 + np.exp(-x))
    bins = np.ceil(15 * posterior).astype(int) - 1
    found = []
    for _ in range(2000):
        rows = rng.integers(0, len(x), len(x))
        n = np.bincount(bins[rows], minlength=15)
        share = np.bincount(bins[rows], LABEL[rows], minlength=15) / np.maximum(n, 1)
        raw = ((posterior[rows] - LABEL[rows]) ** 2).mean()
        found.append(100 * (1 - ((share[bins[rows]] - LABEL[rows]) ** 2).mean() / raw))
    expected = np.quantile(found, [0.025, 0.975])
    _, *limits = rcl(system, "histogram", "test", 2000)
    assert limits == pytest.approx(expected.tolist(), abs=0.08 * np.diff(expected).item())
