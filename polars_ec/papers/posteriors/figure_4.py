"""Figure 4, Appendix B: expected divergences from a fixed vector. Score divergences are least at the mean, absolute distances are not."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

import polars_ec as ec
from polars_ec.papers.numbers import Number, Table, above, between, by_equation
from polars_ec.papers.posteriors.synthetic import class_counts, synthetic
from polars_ec.papers.simulated import Floats

if TYPE_CHECKING:
    from altair import TopLevelMixin

COUNTS, PRIOR = class_counts(2, 12, 0.6), 0.6
"""The figure's code asks for 12 rows, and gets 11; the paper does not say how many."""

DIVERGENCES = ("L1post2", "L1", "L2", "KL")
STEP = 0.01


@cache
def posteriors() -> Floats:
    """Of the first class: what the paper calls s."""
    first: Floats = np.exp(synthetic(COUNTS, 0.15, PRIOR)["cal"].to_numpy()[:, 0])
    return first


@cache
def curves() -> pl.DataFrame:
    """`q01`, and the mean divergence of each kind: of rows from the vector (q01, 1 - q01)."""
    pairs = pl.DataFrame({"q01": np.arange(0.01, 0.99, STEP)}).join(pl.DataFrame({"s": posteriors()}), how="cross")
    apart = (pl.col("s") - pl.col("q01")).abs().mean()
    return (
        pairs.with_columns(q="q01")
        .group_by("q01", maintain_order=True)
        .agg(
            apart.alias("L1post2"),
            (2 * apart).alias("L1"),
            # The Brier score has the factor 1 / K, which the L2 loss has not.
            (2 * ec.expected_score_divergence("q", "s", rule="brier")).alias("L2"),
            ec.expected_score_divergence("q", "s").alias("KL"),
        )
    )


def _written_out(q: float) -> dict[str, float]:
    """At one q01, as the paper has them."""
    s = np.stack([posteriors(), 1 - posteriors()], axis=1)
    fixed = np.array([q, 1 - q])
    absolute = np.abs(s - fixed)
    return {
        "L1post2": float(absolute[:, 1].mean()),
        "L1": float(absolute.sum(axis=1).mean()),
        "L2": float(((s - fixed) ** 2).sum(axis=1).mean()),
        "KL": float((s * np.log(s / fixed)).sum(axis=1).mean()),
    }


def figure_4() -> Table:
    """Where each curve is least, and how far that is from the mean of s, where the star is."""
    mean, median = float(posteriors().mean()), float(np.median(posteriors()))
    rows: list[tuple[str, list[Number | None]]] = []
    for name in DIVERGENCES:
        least = curves().sort(name).row(0, named=True)
        at = least["q01"]
        is_score = name in ("L2", "KL")
        where, place = ("mean of s", mean) if is_score else ("median of s", median)
        near = between(at, place - STEP, place + STEP, f"{where}, {place:.4f}")
        off = abs(at - mean)
        far = between(off, 0, STEP, "0, but for the step") if is_score else above(off, 5 * STEP)
        rows.append((name, [near, far, by_equation(least[name], _written_out(at)[name])]))
    return Table(
        ["least at q01", "from the star", "least value"],
        rows,
        [f"q01 goes by {STEP}: a curve is least at the point next to its minimum."],
    )


def draw_figure_4() -> TopLevelMixin:
    """A panel for each divergence, with a star at the mean of s."""
    import altair as alt

    from polars_ec.plotting.theme import MAIN, OTHER

    mean = float(posteriors().mean())
    panels = []
    for name in DIVERGENCES:
        curve = curves().select("q01", divergence=name)
        line = alt.Chart(curve).mark_line(color=MAIN)
        star = alt.Chart(pl.DataFrame({"q01": [mean], "divergence": [curve["divergence"].min()]}))
        low, high = curve["divergence"].min(), curve["divergence"].max()
        assert isinstance(low, float)
        assert isinstance(high, float)
        room = 0.06 * (high - low)
        x = alt.X("q01:Q", title="q01, posterior of the first class", scale=alt.Scale(domain=[0, 1]))
        y = alt.Y(
            "divergence:Q",
            title="Expected divergence",
            scale=alt.Scale(domain=[low - room, high + room], nice=False, zero=False),
        )
        path = "M0,-1L0.22,-0.31L0.95,-0.31L0.36,0.12L0.59,0.81L0,0.38L-0.59,0.81L-0.36,0.12L-0.95,-0.31L-0.22,-0.31Z"
        mark = star.mark_point(shape=path, size=130, filled=True, color=OTHER, opacity=1)
        panel = alt.LayerChart(layer=[line.encode(x=x, y=y), mark.encode(x=x, y=y)])
        panels.append(panel.properties(width=190, height=190, title=alt.Title(name, anchor="middle")))
    title = alt.Title(
        "Figure 4: expected divergence of posteriors s from a fixed vector",
        subtitle=[f"Star: the mean of s, {mean:.3f}; score divergences are least there, absolute distances are not"],
        anchor="start",
    )
    chart: alt.HConcatChart = alt.hconcat(*panels, spacing=25, title=title)
    return chart
