"""Figure 5 and Appendix E: intervals of bootstraps, with calibrators trained anew in each, and folds by original row."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import polars_ec as ec
from polars_ec.papers import written_out
from polars_ec.papers.numbers import Number, Table, above, below, between, by_equation, printed
from polars_ec.papers.posteriors.figure_2 import COUNTS, VARIANCE, Training
from polars_ec.papers.posteriors.four_systems import Calibrator
from polars_ec.papers.posteriors.synthetic import SYSTEMS, log_odds, synthetic
from polars_ec.papers.simulated import Floats

if TYPE_CHECKING:
    from altair import TopLevelMixin

LEVEL = 0.95
DRAWS, MANY_DRAWS = 100, 2000
"""The paper's number; and so many that the limits do not depend on the draws."""

CALIBRATORS: dict[str, tuple[Calibrator, Training]] = {
    "RCL-BS-Axv": ("affine", "cv"),
    "RCL-BS-Hxv": ("histogram", "cv"),
    "RCL-BS-Att": ("affine", "test"),
    "RCL-BS-Htt": ("histogram", "test"),
}


READ_OFF = {"cal": ("0.28", "0.48"), "mcp": ("0.96", "1.61")}
"""Limits of NBS."""


class Interval(NamedTuple):
    """A value of the rows as they are, and its limits."""

    value: float
    low: float
    high: float


@cache
def sketch(system: str) -> ec.Sketch:
    """Of every row; those that are drawn anew keep the fold of the row that they are copies of."""
    frame = synthetic(COUNTS, VARIANCE)
    return ec.sketch(
        frame, log_odds(system), "label", score_type="log_odds", exact=True, folds=5, fold_by="row", stratified=True
    )


@cache
def nbs(system: str, draws: int) -> Interval:
    """The normalised Brier score."""
    found = sketch(system).group_by().evaluate("nbs", interval=LEVEL, method="bootstrap", replicates=draws)
    return Interval(*found.select("nbs", "nbs_ci_low", "nbs_ci_high").row(0))


@cache
def rcl(system: str, name: str, draws: int) -> Interval:
    """A calibration loss, in percent of the Brier score."""
    calibrator, training = CALIBRATORS[name]
    losses = sketch(system).calibration_loss(
        "brier", calibrator=calibrator, training=training, interval=LEVEL, method="bootstrap", replicates=draws
    )
    return Interval(*losses.select("rcl", "rcl_ci_low", "rcl_ci_high").row(0))


def figure_5() -> Table:
    """Limits beside those that were read off, and what the figure shows."""
    few, many = ({system: nbs(system, draws) for system in ("cal", "mcp")} for draws in (DRAWS, 2 * MANY_DRAWS))
    rcls = {name: {system: rcl(system, name, DRAWS) for system in SYSTEMS} for name in CALIBRATORS}
    found = {name: of_systems["cal"] for name, of_systems in rcls.items()}
    crossed, on_the_very = found["RCL-BS-Hxv"], found["RCL-BS-Htt"]
    return Table(
        ["low", "high"],
        [
            *(
                (f"NBS of {system}, {draws:,} draws", _limits(of[system], texts, within))
                for draws, of, allowed in ((DRAWS, few, (0.04, 0.1)), (2 * MANY_DRAWS, many, (0.02, 0.03)))
                for (system, texts), within in zip(READ_OFF.items(), allowed, strict=True)
            ),
            ("RCL-BS-Hxv of cal", [below(crossed.low, -40), below(crossed.high, 0)]),
            ("RCL-BS-Htt of cal", [above(on_the_very.low, 0), below(on_the_very.high, 40)]),
            *(
                (
                    f"{name} of cal",
                    [between(found[name].low, -15, 0, "-15 to 0"), between(found[name].high, 0, 10, "0 to 10")],
                )
                for name in ("RCL-BS-Axv", "RCL-BS-Att")
            ),
            *(
                (f"{name} of {system}", [between(limit, 45, 85, "45 to 85") for limit in rcls[name][system][1:]])
                for system in ("mcp", "mcps")
                for name in CALIBRATORS
            ),
        ],
        [
            "The figure prints no numbers: limits are read off to about 0.02 of NBS. Limits of 100 draws depend on the draws: over 20 seeds their "
            "standard deviations are 0.012 and 0.014 for cal, 0.026 and 0.051 for mcp; those of RCL-BS-Hxv of cal are 5 and 2. "
            "Allowed are the reading and one and a half of the larger ones: 0.04 for cal, 0.1 for mcp; of 4,000 draws, where they are 0.002 and 0.012, "
            "0.02 and 0.03.",
            "The figure calls affine calibration A, the text D, as in Figures 2 and 3.",
        ],
    )


def _limits(found: Interval, texts: tuple[str, str], within: float) -> list[Number]:
    return [printed(limit, text, within=within) for limit, text in zip(found[1:], texts, strict=True)]


def appendix_e() -> Table:
    """The procedure step by step in NumPy, on as many draws."""
    rows: list[tuple[str, list[Number | None]]] = []
    for system in ("cal", "mcp"):
        brier, loss = _drawn_one_by_one(system)
        for name, found, values in (
            ("NBS", nbs(system, MANY_DRAWS), brier),
            ("RCL-BS-Htt", rcl(system, "RCL-BS-Htt", MANY_DRAWS), loss),
        ):
            low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
            allowed = 0.08 * (high - low)
            limits = zip(found[1:], (low, high), strict=True)
            rows.append(
                (
                    f"{name} of {system}",
                    [by_equation(limit, other, within=allowed) for limit, other in limits],
                )
            )
    return Table(
        ["low", "high"],
        rows,
        [
            "Beside them the percentiles of 2,000 sets of rows that are drawn one by one, in NumPy, histograms trained anew in each. Both are of "
            "random draws: over 12 seeds the standard deviation of a limit is 0.9 to 2.7 % of the interval. Allowed are 8 % of it, two standard deviations "
            "of the difference of the two where it is largest.",
            "The paper takes the percentiles gamma / 2 and 100 - gamma / 2 and calls gamma the confidence level: for limits of 95 % gamma must be 5.",
        ],
    )


def _drawn_one_by_one(system: str) -> tuple[Floats, Floats]:
    """NBS and RCL-BS-Htt of sets of rows."""
    frame, generator = synthetic(COUNTS, VARIANCE), np.random.default_rng(0)
    scores, label = frame[system].to_numpy(), frame["label"].to_numpy()
    x = scores[:, 1] - scores[:, 0]
    brier, loss = [], []
    for _ in range(MANY_DRAWS):
        rows = generator.integers(0, len(label), len(label))
        brier.append(written_out.normalised_brier_score(scores[rows], label[rows]))
        loss.append(written_out.relative_calibration_loss(written_out.histogram_of, x[rows], label[rows], None))
    return np.array(brier), np.array(loss)


def draw_figure_5() -> TopLevelMixin:
    """Its two panels."""
    from polars_ec.papers.posteriors.bars import Panel, panels

    left = {"NBS": {system: nbs(system, DRAWS) for system in SYSTEMS}}
    right = {name: {system: rcl(system, name, DRAWS) for system in SYSTEMS} for name in CALIBRATORS}
    return panels(
        [
            Panel("Normalised Brier score", _values(left), (0, 2), limits=_ends(left)),
            Panel("RCL (%)", _values(right), (-80, 100), limits=_ends(right)),
        ],
        "Figure 5: 399 rows, and 95 % limits of 100 bootstraps",
        ["Calibrators are trained anew in each"],
    )


_Intervals = Mapping[str, Mapping[str, Interval]]


def _values(intervals: _Intervals) -> dict[str, dict[str, float]]:
    return {name: {system: found.value for system, found in of.items()} for name, of in intervals.items()}


def _ends(intervals: _Intervals) -> dict[str, dict[str, tuple[float, float]]]:
    return {name: {system: found[1:] for system, found in of.items()} for name, of in intervals.items()}
