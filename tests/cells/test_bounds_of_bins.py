"""What bins do not know exactly is bounded: values against plain formulas over the rows, and how far the bounds are."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from polars_ec.exceptions import SketchError
from tests.support.profile import PROFILE

Floats = NDArray[np.float64]

RESOLUTIONS = [1, 8, 64]
LOG_ODDS = st.one_of(
    st.floats(-20, 20),
    st.sampled_from([0.0, 1 / 64, -3 / 8, 1.0, 63.99, -64.0, 64.5, -300.0, 700.0, -745.0]),
    st.floats(-0.1, 0.1),
)
ROWS = st.lists(
    st.tuples(LOG_ODDS, st.booleans(), st.sampled_from([1.0, 0.25, 3.0, 1e-3, 0.0])), min_size=1, max_size=30
)


def log_of(rows: list[tuple[float, bool, float]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema={"s": pl.Float64, "y": pl.Boolean, "w": pl.Float64}, orient="row")


def sigmoid(x: Floats) -> Floats:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + small), small / (1 + small))


def log_loss(x: Floats, y: Floats) -> Floats:
    return np.logaddexp(0, np.where(y, -x, x))


def mean_at(losses: Floats, log: pl.DataFrame, prior: float | None) -> float | None:
    """The expectation at this prior; None where a class that has a share has no rows that weigh."""
    w, y = log["w"].to_numpy(), log["y"].to_numpy()
    total = 0.0
    for mask, share in ((y, prior), (~y, None if prior is None else 1 - prior)):
        weight = w[mask].sum()
        if share is None:
            total += (w[mask] * losses[mask]).sum() / w.sum() if w.sum() else math.nan
        else:
            total += share * (w[mask] * losses[mask]).sum() / weight if weight else math.nan
    return None if math.isnan(total) else total


def is_bounded(found: pl.DataFrame, name: str, wanted: float | None) -> float:
    """The error of `name`, which has been found to hold."""
    value, error = found[name].item(), found[f"{name}_error"].item()
    assert (value is None) == (wanted is None)
    if wanted is None:
        return 0.0
    assert abs(value - wanted) <= error + 1e-10 * (1 + abs(wanted))
    return float(error)


@settings(PROFILE)
@given(ROWS, st.sampled_from([0.5, 0.2, 1e-6, 1 - 1e-9]), st.sampled_from(RESOLUTIONS))
def test_losses_of_llrs_at_a_prior(rows, prior: float, resolution: int) -> None:
    log = log_of(rows)
    x, y = log["s"].to_numpy() + math.log(prior) - math.log1p(-prior), log["y"].to_numpy()
    sketch = log.ec.sketch("s", "y", score_type="llr", weight="w", resolution=resolution)
    found = sketch.evaluate("cross_entropy", "brier", prior=prior)
    is_bounded(found, "cross_entropy", mean_at(log_loss(x, y), log, prior))
    is_bounded(found, "brier", mean_at(sigmoid(np.where(y, -x, x)) ** 2, log, prior))


WEIGHTS: dict[str, tuple[Callable[[Floats], Floats], Callable[[Floats, Floats], Floats]]] = {
    "t": (lambda t: t, lambda x, y: np.where(y, sigmoid(-x), log_loss(x, y) - sigmoid(x))),
    "1 - t": (lambda t: 1 - t, lambda x, y: np.where(y, log_loss(x, y) - sigmoid(-x), sigmoid(x))),
    "parabola": (lambda t: 6 * t * (1 - t), lambda x, y: 3 * sigmoid(np.where(y, -x, x)) ** 2),
    # The integrals of t^7 from q to 1, and of (1 - t)^7 from 0 to q.
    "steep": (
        lambda t: t**8,
        lambda x, y: np.where(
            y, (1 - sigmoid(x) ** 8) / 8, log_loss(x, y) - sum(sigmoid(x) ** k / k for k in range(1, 9))
        ),
    ),
}


@settings(PROFILE)
@given(ROWS, st.sampled_from([*WEIGHTS]), st.sampled_from([None, 0.2]), st.sampled_from(RESOLUTIONS))
def test_weights_over_operating_points(rows, name: str, prior: float | None, resolution: int) -> None:
    log = log_of(rows)
    weight, losses = WEIGHTS[name]
    wanted = mean_at(losses(log["s"].to_numpy(), log["y"].to_numpy()), log, prior)
    sketch = log.ec.sketch("s", "y", score_type="log_odds", weight="w", resolution=resolution)
    is_bounded(sketch.epsr(weight, prior=prior), "epsr", wanted)


def plain_ece(score: Floats, edges: list[float], q: Floats, y: Floats, w: Floats) -> float:
    at = sum((score > edge).astype(int) for edge in edges) + np.zeros(len(q), dtype=int)
    gaps = [abs((w * (q - y))[at == k].sum()) for k in range(len(edges) + 1)]
    return float(np.sum(gaps) / w.sum())


@settings(PROFILE)
@given(ROWS, st.sampled_from([1, 2, 15]), st.sampled_from(RESOLUTIONS), st.booleans())
def test_calibration_errors(rows, bins: int, resolution: int, of_posteriors: bool) -> None:
    log = log_of(rows).with_columns(p=pl.Series(sigmoid(np.array([s for s, _, _ in rows]))))
    q, y, w = log["p"].to_numpy(), log["y"].to_numpy(), log["w"].to_numpy()
    score, score_type = ("p", "posterior") if of_posteriors else ("s", "log_odds")
    edges = [k / bins if of_posteriors else math.log(k / (bins - k)) for k in range(1, bins)]
    wanted = plain_ece(log[score].to_numpy(), edges, q, y, w) if w.sum() else None
    options = {"weight": "w", "score_type": score_type, "resolution": resolution}
    sketch = log.ec.sketch(score, "y", **options)
    is_bounded(sketch.evaluate("ece", bins=bins), "ece", wanted)
    declared = log.ec.sketch(score, "y", thresholds=edges, **options)
    assert is_bounded(declared.evaluate("ece", bins=bins), "ece", wanted) == 0


def gaussian_log(n: int = 5000) -> pl.DataFrame:
    random = np.random.default_rng(11)
    y = random.random(n) < 0.3
    return pl.DataFrame({"s": random.normal(size=n) * 1.5 + np.where(y, 1.2, -1.2), "y": y, "w": random.random(n)})


@pytest.mark.parametrize("prior", [0.05, 0.3, 0.9])
def test_how_near_the_losses_of_llrs_are(prior: float) -> None:
    """By the sums that are known the bounds are a fifth of what the bins alone leave, which is a share of their width."""
    log = gaussian_log()
    for resolution in RESOLUTIONS:
        sketch = log.ec.sketch("s", "y", score_type="llr", weight="w", resolution=resolution)
        found = sketch.evaluate("cross_entropy", "brier", prior=prior)
        x, y = log["s"].to_numpy(), log["y"].to_numpy()
        z = x + math.log(prior) - math.log1p(-prior)
        below, above = (np.floor(x * resolution) + np.array([[0], [1]])) / resolution + (z - x)
        width = mean_at(np.abs(log_loss(above, y) - log_loss(below, y)), log, prior)
        error = is_bounded(found, "cross_entropy", mean_at(log_loss(z, y), log, prior))
        assert width is not None
        assert error <= width / 2 / (5 if resolution > 1 else 1.5)


def test_constants_and_parabolas_follow_from_known_sums() -> None:
    log = gaussian_log()
    sketch = log.ec.sketch("s", "y", score_type="log_odds", weight="w", resolution=4)
    assert sketch.epsr(1)["epsr_error"].item() <= 1e-13
    assert sketch.evaluate("cross_entropy")["cross_entropy"].item() == pytest.approx(sketch.epsr(1)["epsr"].item())
    # A bin of 1/4 of a nat leaves (1/4)^2 of what it does not know, and the bins together a share of that.
    assert sketch.epsr(lambda t: 6 * t * (1 - t))["epsr_error"].item() <= 3 / 4**2 / 32


def test_the_root_mean_square_has_no_bound() -> None:
    with pytest.raises(SketchError, match="ece with norm=2 has no error bound"):
        gaussian_log(10).ec.sketch("s", "y", score_type="log_odds").evaluate("ece", norm=2)
