"""Figure 2: four systems of two classes by metrics of the whole performance, and by metrics of calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal

import numpy as np

import polars_ec as ec
from polars_ec.papers import written_out
from polars_ec.papers.folds import FOLD_KEY, FOLDS
from polars_ec.papers.numbers import Number, Table, above, below, between, by_equation, printed
from polars_ec.papers.posteriors.four_systems import (
    Bars,
    Calibrator,
    costs_of,
    in_percent,
    of_systems,
    top_label_errors,
    whole_performance,
)
from polars_ec.papers.posteriors.synthetic import SYSTEMS, class_counts, cross_validated, log_odds, synthetic
from polars_ec.papers.small import whole

if TYPE_CHECKING:
    from altair import TopLevelMixin

COUNTS, VARIANCE = class_counts(2, 400), 0.15

Training = Literal["cv", "test"]


CALIBRATORS: dict[str, tuple[Calibrator, Training]] = {
    "RCL-BS-Dxv": ("affine", "cv"),
    "RCL-BS-Hxv": ("histogram", "cv"),
    "RCL-BS-Dtt": ("affine", "test"),
    "RCL-BS-Htt": ("histogram", "test"),
}


def _rcl(system: str, calibrator: Calibrator, training: Training) -> float:
    log = cross_validated(COUNTS, VARIANCE, ("affine", "temperature", "histogram"))[system, calibrator]
    sketch = ec.sketch(log, log_odds(system), "label", score_type="log_odds", exact=True, folds=FOLDS, fold_by=FOLD_KEY)
    return float(sketch.calibration_loss("brier", calibrator=calibrator, training=training)["rcl"].item())


@cache
def bars_of_figure_2() -> Bars:
    """All bars; calibration errors in percent."""
    frame = synthetic(COUNTS, VARIANCE)
    errors = of_systems(frame, lambda system: ec.ece(log_odds(system), "label", score_type="log_odds"))
    return {
        **whole_performance(frame, 2),
        **{
            name: {system: _rcl(system, calibrator, training) for system in SYSTEMS}
            for name, (calibrator, training) in CALIBRATORS.items()
        },
        "ECEmc": top_label_errors(frame),
        "ECE": in_percent(errors),
    }


def _written_out(system: str) -> dict[str, float]:
    """The bars of a system by the paper's equations."""
    frame = synthetic(COUNTS, VARIANCE)
    scores, label = frame[system].to_numpy(), frame["label"].to_numpy()
    x = scores[:, 1] - scores[:, 0]
    fits: dict[str, written_out.Calibrator] = {
        "affine": written_out.affine_of,
        "histogram": written_out.histogram_of,
    }

    def rcl(calibrator: Calibrator, training: Training) -> float:
        log = cross_validated(COUNTS, VARIANCE, ("affine", "temperature", "histogram"))[system, calibrator]
        folds = log["fold"].to_numpy() if training == "cv" else None
        return written_out.relative_calibration_loss(fits[calibrator], x, label, folds)

    return {
        **{name: written_out.normalised_risk(scores, label, costs) for name, costs in costs_of(2).items()},
        "NCE": written_out.normalised_cross_entropy(scores, label),
        "NBS": written_out.normalised_brier_score(scores, label),
        **{name: rcl(*how) for name, how in CALIBRATORS.items()},
        "ECEmc": 100 * written_out.top_label_error(np.exp(scores), label),
        "ECE": 100 * written_out.calibration_error(written_out.posterior(x), label),
    }


def figure_2() -> Table:
    """Each bar beside the paper's equation."""
    bars, expected = bars_of_figure_2(), {system: _written_out(system) for system in SYSTEMS}
    rows: list[tuple[str, Sequence[Number | None]]] = [
        (name, [by_equation(bar[system], expected[system][name]) for system in SYSTEMS]) for name, bar in bars.items()
    ]
    return Table(
        SYSTEMS,
        [
            *rows,
            ("NBS, printed by the notebook", [printed(bars["NBS"]["cal"], "0.36836"), None, None, None]),
        ],
        [
            "The text has NRisk-imb for the figure's NRisk-im. RCL and calibration errors in percent. The figure prints no numbers: its bars are held against the paper's equations, in NumPy.",
            "RCL-BS-Hxv of cal depends on folds: in 20 others than these it is from -28.7 to -12.7, with mean -21.4 and standard deviation 5.0.",
        ],
    )


def _other(value: float, than: float, what: str) -> Number:
    """Off by a twentieth or more."""
    apart = abs(value - than) >= 0.05 * than
    return between(value, value if apart else float("inf"), float("inf"), f"not {what}")


def _places(bar: Mapping[str, float]) -> list[int]:
    """How many systems are as high or higher, for each system."""
    return [sum(other >= bar[system] for other in bar.values()) for system in SYSTEMS]


def section_3_2() -> Table:
    """What the text says of Figure 2."""
    bars = bars_of_figure_2()
    risk, rejecting, imbalanced = (bars[name] for name in costs_of(2))
    right = of_systems(
        synthetic(COUNTS, VARIANCE), lambda system: ec.accuracy(system, "label", score_type="log_posteriors")
    )
    second = COUNTS[1] / sum(COUNTS)
    cross_entropy, brier = bars["NCE"], bars["NBS"]
    return Table(
        SYSTEMS,
        [
            ("accuracy", [by_equation(right[system], 1 - second * risk[system]) for system in SYSTEMS]),
            (
                "1 - 0.2 NRisk-01",
                [
                    between(1 - 0.2 * risk[system], right[system] - 0.005, right[system] + 0.005, "accuracy")
                    for system in SYSTEMS
                ],
            ),
            ("NRisk-01", [None, None, by_equation(risk["mcs"], risk["cal"]), None]),
            ("NRisk-01r", [None, None, above(rejecting["mcs"], rejecting["cal"], "cal"), None]),
            ("NRisk-im", [None, None, above(imbalanced["mcs"], imbalanced["cal"], "cal"), None]),
            (
                "NRisk-im over that of cal",
                [
                    None,
                    below(imbalanced["mcp"] / imbalanced["cal"], risk["mcp"] / risk["cal"], "NRisk-01"),
                    None,
                    None,
                ],
            ),
            ("NCE", [None, None, *(above(cross_entropy[system], brier[system], "NBS") for system in ("mcs", "mcps"))]),
            (
                "RCL-BS-Hxv",
                [below(bars["RCL-BS-Hxv"][system], 0) if "p" not in system else None for system in SYSTEMS],
            ),
            ("RCL-BS-Htt", [above(bars["RCL-BS-Htt"]["cal"], 0), None, None, None]),
            *(
                (
                    name,
                    [
                        between(bars[name]["cal"], -3, 3, "about 0"),
                        *(above(bars[name][system], bars[name]["cal"], "cal") for system in SYSTEMS[1:]),
                    ],
                )
                for name in ("RCL-BS-Dxv", "RCL-BS-Dtt")
            ),
            ("ECE", [above(bars["ECE"]["cal"], 0), None, None, None]),
            (
                "place by ECE, by RCL-BS-Htt",
                [
                    whole(mine, other)
                    for mine, other in zip(_places(bars["ECE"]), _places(bars["RCL-BS-Htt"]), strict=True)
                ],
            ),
            ("ECEmc", [_other(bars["ECEmc"][system], bars["ECE"][system], "ECE") for system in SYSTEMS]),
        ],
        [
            "The identity has the share of the second class, which is 79 / 399: with 0.2 it is off by less than 0.003.",
            "About 0 is within 3: over 20 foldings RCL-BS-Dxv of cal has a standard deviation of 0.8. Histograms that are trained on other "
            "rows make posteriors worse; trained on the very rows they find miscalibration where there is none.",
        ],
    )


def draw_figure_2() -> TopLevelMixin:
    """Its two panels."""
    from polars_ec.papers.posteriors.bars import figure

    return figure("Figure 2: two classes, 399 rows", bars_of_figure_2(), (0, 2), (-30, 105))
