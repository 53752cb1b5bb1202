"""Figures 1 to 5 and what the text says of them: four systems by risks, scoring rules and calibration metrics, and bootstrap intervals."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

import polars_ec as ec
from examples.papers import written_out
from examples.papers.numbers import Number, Rows, above, below, between, by_equation, near, printed, value, whole
from examples.papers.posteriors import PAPER
from examples.papers.posteriors.synthetic import SYSTEMS, class_counts, cross_validated, log_odds, synthetic
from examples.papers.simulated import FOLD_KEY, FOLDS, Floats

Calibrator = Literal["affine", "temperature", "histogram"]
Bars = Mapping[str, Mapping[str, float]]
"""The number of each system, by metric."""
WHOLE = ("NRisk-01", "NRisk-01r", "NRisk-im", "NCE", "NBS")
"""The metrics of the left panels; others are of the right ones."""


def costs_of(n_classes: int) -> dict[str, list[list[float]]]:
    """The three cost matrices: 0-1, with a decision to reject that costs 0.1, and 10 for errors on the last class."""
    zero_one = [[float(i != j) for j in range(n_classes)] for i in range(n_classes)]
    return {
        "NRisk-01": zero_one,
        "NRisk-01r": [[*row, 0.1] for row in zero_one],
        "NRisk-im": [*zero_one[:-1], [10 * cost for cost in zero_one[-1]]],
    }


def of_systems(frame: pl.DataFrame, metric: Callable[[str], pl.Expr]) -> dict[str, float]:
    """A metric of each system's column."""
    return frame.select(metric(system).alias(system) for system in SYSTEMS).row(0, named=True)


def whole_performance(frame: pl.DataFrame, n_classes: int) -> dict[str, dict[str, float]]:
    """The metrics of the left panel, and the multi-class calibration error in percent."""
    metrics = {name: partial(ec.nec, costs=costs) for name, costs in costs_of(n_classes).items()}
    metrics |= {"NCE": ec.nce, "NBS": ec.nbs, "ECEmc": lambda *log, **options: 100 * ec.ece_mc(*log, **options)}
    options: Any = {"label": "label", "score_type": "log_posteriors"}
    return {name: of_systems(frame, lambda s, metric=metric: metric(s, **options)) for name, metric in metrics.items()}


def _row(systems: Iterable[str] = SYSTEMS, **numbers: Number | tuple[float, float]) -> list[Any]:
    return [numbers.get(system.replace("-", "_")) for system in systems]


# Figure 1 and Section 3.1: Bayes risks over all operating points, whose areas are the cross-entropy and the Brier score.

RISK_PRIOR = 0.6
RISK_COUNTS = class_counts(2, 100_000, RISK_PRIOR)
RISK_SYSTEMS = {"cal": (0.15, 1.0), "mcs-u": (0.15, 0.48), "mcs-o": (0.15, 2.0), "cal-h": (0.19, 1.0)}
"""Variance, and what log posteriors are multiplied with."""
_LEGENDS = (("0.34", "0.29"), ("0.42", "0.34"), ("0.42", "0.31"), ("0.42", "0.36"))
RISK_PRINTED = dict(zip(RISK_SYSTEMS, _LEGENDS, strict=True))
"""NCE and NBS, in the legends."""
_EDGE, _POINTS = 60.0, 60_000
"""Integrals are sums over log-odds of operating points: beyond 60 there is nothing."""


@cache
def risk_log(system: str) -> pl.DataFrame:
    """`label`, and `x`, the log-odds of the second class. Log posteriors times a factor are log-odds times it."""
    variance, factor = RISK_SYSTEMS[system]
    return synthetic(RISK_COUNTS, variance, RISK_PRIOR).select("label", x=factor * log_odds("cal"))


def _risk_metric(system: str, metric: Any, **options: Any) -> float:
    return value(risk_log(system), metric("x", "label", score_type="log_odds", **options))


def risk_at(system: str, a: float) -> float:
    """The Bayes risk of costs 1 / (1 - a) of a false alarm and 1 / a of a miss."""
    return _risk_metric(system, ec.bayes_risk, cost_fp=1 / (1 - a), cost_fn=1 / a)


def risk_areas(system: str) -> tuple[float, float]:
    """Equation 12, written out: the areas below the risks, and below those times a (1 - a) / B(2, 2)."""
    x, second = risk_log(system)["x"].to_numpy(), risk_log(system)["label"].to_numpy() == 1
    width = 2 * _EDGE / _POINTS
    at = (np.arange(_POINTS) + 0.5) * width - _EDGE
    missed = np.searchsorted(np.sort(x[second]), at, side="right") / len(x)
    alarmed = ((~second).sum() - np.searchsorted(np.sort(x[~second]), at, side="right")) / len(x)
    # Both densities carry a (1 - a), by which log-odds become operating points: it takes the place of what would be divided by.
    a = written_out.posterior(at)
    below_risks = missed * (1 - a) + alarmed * a
    return float(width * below_risks.sum()), float(width * (6 * a * (1 - a) * below_risks).sum())


@PAPER("figure-1", columns=["NCE", "NBS", "CE (area)", "epsr(1, 1) (area)", "3 BS (area)", "epsr(2, 2) (area)"])
def risks() -> Rows:
    for system, (cross_entropy, brier) in RISK_PRINTED.items():
        uniform, weighted = risk_areas(system)
        yield (
            system,
            printed(_risk_metric(system, ec.nce), cross_entropy),
            printed(_risk_metric(system, ec.nbs), brier),
            by_equation(_risk_metric(system, ec.cross_entropy), uniform, relative=2e-6),
            by_equation(_risk_metric(system, ec.epsr, a=1.0, b=1.0), uniform, relative=2e-6),
            by_equation(3 * _risk_metric(system, ec.brier), weighted, relative=2e-6),
            by_equation(_risk_metric(system, ec.epsr, a=2.0, b=2.0), weighted, relative=2e-6),
        )


@PAPER("section-3.1", columns=[*RISK_SYSTEMS])
def what_figure_1_shows() -> Rows:
    cal, under, over, harder = half = [risk_at(system, 0.5) for system in RISK_SYSTEMS]
    errors = [((log["x"] > 0) != (log["label"] == 1)).mean() for log in map(risk_log, RISK_SYSTEMS)]
    yield "risk at a = 1/2 (twice the error rate)", [(x, 2 * rate) for x, rate in zip(half, errors, strict=True)]
    yield "the same, of cal", None, (under, cal), (over, cal), above(harder, cal, "cal")
    for a in (0.01, 0.99):
        _, under, over, harder = (risk_at(system, a) for system in RISK_SYSTEMS)
        yield f"risk at a = {a}", _row(RISK_SYSTEMS, cal_h=below(harder, min(under, over), "mcs"))
    over, harder = (_risk_metric(system, ec.nbs) for system in ("mcs-o", "cal-h"))
    yield "NBS", _row(RISK_SYSTEMS, mcs_o=below(over, harder, "cal-h"))


# Figure 2: two classes.

TWO_COUNTS, TWO_VARIANCE = class_counts(2, 400), 0.15
TWO_CALIBRATORS: dict[str, tuple[Calibrator, Literal["cv", "test"]]] = {
    "RCL-BS-Dxv": ("affine", "cv"),
    "RCL-BS-Hxv": ("histogram", "cv"),
    "RCL-BS-Dtt": ("affine", "test"),
    "RCL-BS-Htt": ("histogram", "test"),
}


def _folded(system: str, calibrator: Calibrator) -> pl.DataFrame:
    return cross_validated(TWO_COUNTS, TWO_VARIANCE, ("affine", "temperature", "histogram"))[system, calibrator]


@cache
def bars_of_figure_2() -> Bars:
    """All bars; calibration errors in percent."""
    frame, losses = synthetic(TWO_COUNTS, TWO_VARIANCE), {}
    options: Any = {"score_type": "log_odds", "exact": True, "folds": FOLDS, "fold_by": FOLD_KEY}
    for name, (calibrator, training) in TWO_CALIBRATORS.items():
        losses[name] = {}
        for system in SYSTEMS:
            sketch = ec.sketch(_folded(system, calibrator), log_odds(system), "label", **options)
            found = sketch.calibration_loss("brier", calibrator=calibrator, training=training)
            losses[name][system] = found["rcl"].item()
    error = of_systems(frame, lambda system: 100 * ec.ece(log_odds(system), "label", score_type="log_odds"))
    performance = whole_performance(frame, 2)
    top_label = performance.pop("ECEmc")
    return {**performance, **losses, "ECEmc": top_label, "ECE": error}


def _written_out(frame: pl.DataFrame, system: str) -> dict[str, float]:
    """The bars of a system by the paper's equations, but for calibration losses."""
    scores, label = frame[system].to_numpy(), frame["label"].to_numpy()
    risks = costs_of(scores.shape[1]).items()
    return {name: written_out.normalised_risk(scores, label, costs) for name, costs in risks} | {
        "NCE": written_out.normalised_cross_entropy(scores, label),
        "NBS": written_out.normalised_brier_score(scores, label),
        "ECEmc": 100 * written_out.top_label_error(np.exp(scores), label),
        "ECE": 100 * written_out.calibration_error(written_out.posterior(scores[:, 1] - scores[:, 0]), label),
    }


def _loss_written_out(system: str, calibrator: Calibrator, training: str) -> float:
    log = _folded(system, calibrator)
    fit = written_out.affine_of if calibrator == "affine" else written_out.histogram_of
    folds = log["fold"].to_numpy() if training == "cv" else None
    x = log.select(log_odds(system)).to_series().to_numpy()
    return written_out.relative_calibration_loss(fit, x, log["label"].to_numpy(), folds)


@PAPER("figure-2", columns=SYSTEMS)
def two_class_systems() -> Rows:
    bars, frame = bars_of_figure_2(), synthetic(TWO_COUNTS, TWO_VARIANCE)
    expected = {
        system: _written_out(frame, system)
        | {name: _loss_written_out(system, *options) for name, options in TWO_CALIBRATORS.items()}
        for system in SYSTEMS
    }
    rows = {name: [(bar[system], expected[system][name]) for system in SYSTEMS] for name, bar in bars.items()}
    return rows | {"NBS, in the notebook": _row(cal=printed(bars["NBS"]["cal"], "0.36836", against="notebook"))}


def _another(number: float, than: float, what: str) -> Number:
    apart = abs(number - than) >= 0.05 * than
    return between(number, number if apart else float("inf"), float("inf"), f"not {what}")


def _places(bar: Mapping[str, float]) -> list[int]:
    return [sum(other >= bar[system] for other in bar.values()) for system in SYSTEMS]


@PAPER("section-3.2", columns=SYSTEMS)
def what_figure_2_shows() -> Rows:
    bars, frame = bars_of_figure_2(), synthetic(TWO_COUNTS, TWO_VARIANCE)
    risk, rejecting, imbalanced = (bars[name] for name in costs_of(2))
    right = of_systems(frame, lambda system: ec.accuracy(system, "label", score_type="log_posteriors"))
    second = TWO_COUNTS[1] / sum(TWO_COUNTS)
    places = zip(_places(bars["ECE"]), _places(bars["RCL-BS-Htt"]), strict=True)
    relative = below(imbalanced["mcp"] / imbalanced["cal"], risk["mcp"] / risk["cal"], "NRisk-01")
    yield "accuracy", [(right[s], 1 - second * risk[s]) for s in SYSTEMS]
    yield "1 - 0.2 NRisk-01", [near(1 - 0.2 * risk[s], right[s], 0.005, "accuracy") for s in SYSTEMS]
    yield "NRisk-01", _row(mcs=(risk["mcs"], risk["cal"]))
    yield "NRisk-01r", _row(mcs=above(rejecting["mcs"], rejecting["cal"], "cal"))
    yield "NRisk-im", _row(mcs=above(imbalanced["mcs"], imbalanced["cal"], "cal"))
    yield "NRisk-im over that of cal", _row(mcp=relative)
    yield "NCE", _row(**{s: above(bars["NCE"][s], bars["NBS"][s], "NBS") for s in ("mcs", "mcps")})
    yield "RCL-BS-Hxv", _row(**{s: below(bars["RCL-BS-Hxv"][s], 0) for s in ("cal", "mcs")})
    yield "RCL-BS-Htt", _row(cal=above(bars["RCL-BS-Htt"]["cal"], 0))
    for name in ("RCL-BS-Dxv", "RCL-BS-Dtt"):
        cal, *others = (bars[name][system] for system in SYSTEMS)
        yield name, between(cal, -3, 3, "about 0"), *(above(other, cal, "cal") for other in others)
    yield "ECE", _row(cal=above(bars["ECE"]["cal"], 0))
    yield "place by ECE, by RCL-BS-Htt", [whole(*pair) for pair in places]
    yield "ECEmc", [_another(bars["ECEmc"][s], bars["ECE"][s], "ECE") for s in SYSTEMS]


# Figure 3: ten classes.

TEN_COUNTS, TEN_VARIANCE = class_counts(10, 2000), 0.08
_TEN_LOSSES = {
    "RCL-CE-Dxv": ("cross_entropy", "affine"),
    "RCL-CE-Txv": ("cross_entropy", "temperature"),
    "RCL-BS-Dxv": ("brier", "affine"),
    "RCL-BS-Txv": ("brier", "temperature"),
}
TEN_PRINTED = {
    "NBS": ("0.318248", "1.502885", "0.399322", "1.936217"),
    "RCL-CE-Dxv": ("-0.571", "78.016", "67.123", "94.133"),
    "RCL-CE-Txv": ("-0.355", "9.350", "67.263", "75.742"),
    "RCL-BS-Dxv": ("-0.622", "78.568", "19.951", "83.408"),
    "RCL-BS-Txv": ("-0.222", "5.822", "20.158", "26.881"),
    "ECEmc": ("0.603", "15.604", "6.701", "32.982"),
}


def _rcl_of_ten(system: str, rule: Any, calibrator: Any) -> float:
    log = cross_validated(TEN_COUNTS, TEN_VARIANCE, ("affine", "temperature"))[system, calibrator]
    options: Any = {"folds": FOLDS, "fold_by": FOLD_KEY, "score_type": "log_posteriors"}
    return ec.calibration_loss(log, system, "label", rule, calibrator=calibrator, **options)["rcl"].item()


@cache
def bars_of_figure_3() -> Bars:
    """All bars; calibration errors in percent."""
    performance = whole_performance(synthetic(TEN_COUNTS, TEN_VARIANCE), 10)
    top_label = performance.pop("ECEmc")
    losses = {name: {s: _rcl_of_ten(s, *options) for s in SYSTEMS} for name, options in _TEN_LOSSES.items()}
    return {**performance, **losses, "ECEmc": top_label}


@PAPER("figure-3", columns=SYSTEMS)
def ten_class_systems() -> Rows:
    frame = synthetic(TEN_COUNTS, TEN_VARIANCE)
    expected = {system: _written_out(frame, system) for system in SYSTEMS}
    for name, bar in bars_of_figure_3().items():
        if name in TEN_PRINTED:
            within = 0.003 if name.startswith("RCL") else None
            texts = zip(SYSTEMS, TEN_PRINTED[name], strict=True)
            yield name, [printed(bar[system], text, within=within, against="notebook") for system, text in texts]
        else:
            yield name, [(bar[system], expected[system][name]) for system in SYSTEMS]


@PAPER("section-3.3", columns=SYSTEMS)
def what_figure_3_shows() -> Rows:
    bars = bars_of_figure_3()
    affine, temperature, error = bars["RCL-CE-Dxv"], bars["RCL-CE-Txv"], bars["ECEmc"]
    brier = below(bars["RCL-BS-Txv"]["mcp"], bars["RCL-BS-Dxv"]["mcp"], "Dxv")
    severity = below(error["mcs"] / error["mcp"], affine["mcs"] / affine["mcp"], "that of RCL-CE-Dxv")
    yield "RCL-CE-Dxv", _row(mcp=above(affine["mcp"], 70), mcps=above(affine["mcps"], 70))
    yield "RCL-CE-Dxv, in the notebook", _row(mcs=printed(affine["mcs"], "67.12", against="notebook"))
    yield "RCL-CE-Txv", _row(mcp=below(temperature["mcp"], affine["mcp"], "Dxv"))
    yield "RCL-BS-Txv", _row(mcp=brier)
    yield "NCE", _row(**{s: above(bars["NCE"][s], bars["NBS"][s], "NBS") for s in ("mcs", "mcps")})
    yield "ECEmc over that of mcp", _row(mcs=severity)


# Figure 4, Appendix B: expected divergences from a fixed vector. Score divergences are least at the mean, absolute distances are not.

DIVERGENCES = ("L1post2", "L1", "L2", "KL")
_STEP = 0.01


@cache
def posteriors() -> Floats:
    """The posterior of the first class, s in the paper, of 11 rows: the figure's code asks for 12, and the paper does not say how many."""
    return np.exp(synthetic(class_counts(2, 12, 0.6), 0.15, 0.6)["cal"].to_numpy()[:, 0])


@cache
def divergence_curves() -> pl.DataFrame:
    """`q01`, and the mean divergence of each kind: of rows from the vector (q01, 1 - q01)."""
    grid = pl.DataFrame({"q01": np.arange(0.01, 0.99, _STEP)}).with_columns(q="q01")
    apart = (pl.col("s") - pl.col("q01")).abs().mean()
    pairs = grid.join(pl.DataFrame({"s": posteriors()}), how="cross")
    return pairs.group_by("q01", maintain_order=True).agg(
        apart.alias("L1post2"),
        (2 * apart).alias("L1"),
        # The Brier score has the factor 1 / K, which the L2 loss has not.
        (2 * ec.expected_score_divergence("q", "s", rule="brier")).alias("L2"),
        ec.expected_score_divergence("q", "s").alias("KL"),
    )


def _divergences_written_out(q: float) -> dict[str, float]:
    s, fixed = np.stack([posteriors(), 1 - posteriors()], axis=1), np.array([q, 1 - q])
    return {
        "L1post2": np.abs(s - fixed)[:, 1].mean(),
        "L1": np.abs(s - fixed).sum(axis=1).mean(),
        "L2": ((s - fixed) ** 2).sum(axis=1).mean(),
        "KL": (s * np.log(s / fixed)).sum(axis=1).mean(),
    }


@PAPER("figure-4", columns=["least at q01", "from the star", "least value"])
def divergences() -> Rows:
    mean, median = float(posteriors().mean()), float(np.median(posteriors()))
    for name in DIVERGENCES:
        least = divergence_curves().sort(name).row(0, named=True)
        at, is_score = least["q01"], name in ("L2", "KL")
        where, place = ("mean of s", mean) if is_score else ("median of s", median)
        off = abs(at - mean)
        far = between(off, 0, _STEP, "0, but for the step") if is_score else above(off, 5 * _STEP)
        expected = _divergences_written_out(at)[name]
        yield name, near(at, place, _STEP, f"{where}, {place:.4f}"), far, (least[name], expected)


# Figure 5 and Appendix E: intervals of bootstraps, with calibrators trained anew in each, and folds by original row.

LEVEL = 0.95
DRAWS, MANY_DRAWS = 100, 2000
"""The paper's number; and so many that the limits do not depend on the draws."""
BOOTSTRAP_CALIBRATORS = {name.replace("D", "A"): options for name, options in TWO_CALIBRATORS.items()}
READ_OFF = {"cal": ("0.28", "0.48"), "mcp": ("0.96", "1.61")}
"""Limits of NBS."""


class Interval(NamedTuple):
    """A value of the rows as they are, and its limits."""

    value: float
    low: float
    high: float


_BOOTSTRAP: Any = {"interval": LEVEL, "method": "bootstrap"}


@cache
def bootstrap_sketch(system: str) -> ec.Sketch:
    """A sketch of every row; those that are drawn anew keep the fold of the row that they are copies of."""
    options: Any = {"score_type": "log_odds", "exact": True, "folds": 5, "fold_by": "row", "stratified": True}
    return ec.sketch(synthetic(TWO_COUNTS, TWO_VARIANCE), log_odds(system), "label", **options)


@cache
def nbs(system: str, draws: int) -> Interval:
    """The normalised Brier score."""
    found = bootstrap_sketch(system).group_by().evaluate("nbs", replicates=draws, **_BOOTSTRAP)
    return Interval(*found.select("nbs", "nbs_ci_low", "nbs_ci_high").row(0))


@cache
def rcl(system: str, name: str, draws: int) -> Interval:
    """A calibration loss, in percent of the Brier score."""
    calibrator, training = BOOTSTRAP_CALIBRATORS[name]
    options: Any = {"calibrator": calibrator, "training": training, "replicates": draws}
    found = bootstrap_sketch(system).calibration_loss("brier", **options, **_BOOTSTRAP)
    return Interval(*found.select("rcl", "rcl_ci_low", "rcl_ci_high").row(0))


@PAPER("figure-5", columns=["low", "high"])
def bootstrap_limits() -> Rows:
    for draws, allowed in ((DRAWS, (0.04, 0.1)), (2 * MANY_DRAWS, (0.02, 0.03))):
        for (system, texts), within in zip(READ_OFF.items(), allowed, strict=True):
            limits = zip(nbs(system, draws)[1:], texts, strict=True)
            yield (
                f"NBS of {system}, {draws:,} draws",
                [printed(*pair, within=within, against="figure") for pair in limits],
            )
    (_, low, high), (_, very_low, very_high) = (rcl("cal", f"RCL-BS-H{way}", DRAWS) for way in ("xv", "tt"))
    yield "RCL-BS-Hxv of cal", below(low, -40), below(high, 0)
    yield "RCL-BS-Htt of cal", above(very_low, 0), below(very_high, 40)
    for name in ("RCL-BS-Axv", "RCL-BS-Att"):
        _, low, high = rcl("cal", name, DRAWS)
        yield f"{name} of cal", between(low, -15, 0, "-15 to 0"), between(high, 0, 10, "0 to 10")
    for system in ("mcp", "mcps"):
        for name in BOOTSTRAP_CALIBRATORS:
            limits = rcl(system, name, DRAWS)[1:]
            yield f"{name} of {system}", [between(limit, 45, 85, "45 to 85") for limit in limits]


@PAPER("appendix-e", columns=["low", "high"])
def bootstrap_step_by_step() -> Rows:
    for system in ("cal", "mcp"):
        losses = rcl(system, "RCL-BS-Htt", MANY_DRAWS)
        drawn = zip(("NBS", "RCL-BS-Htt"), (nbs(system, MANY_DRAWS), losses), _drawn_one_by_one(system), strict=True)
        for name, found, draws in drawn:
            low, high = np.quantile(draws, [(1 - LEVEL) / 2, (1 + LEVEL) / 2]).tolist()
            limits = zip(found[1:], (low, high), strict=True)
            yield f"{name} of {system}", [by_equation(*pair, within=0.08 * (high - low)) for pair in limits]


def _drawn_one_by_one(system: str) -> tuple[list[float], list[float]]:
    frame, generator = synthetic(TWO_COUNTS, TWO_VARIANCE), np.random.default_rng(0)
    scores, label = frame[system].to_numpy(), frame["label"].to_numpy()
    x, brier, loss = scores[:, 1] - scores[:, 0], [], []
    for _ in range(MANY_DRAWS):
        rows = generator.integers(0, len(label), len(label))
        brier.append(written_out.normalised_brier_score(scores[rows], label[rows]))
        loss.append(written_out.relative_calibration_loss(written_out.histogram_of, x[rows], label[rows], None))
    return brier, loss
