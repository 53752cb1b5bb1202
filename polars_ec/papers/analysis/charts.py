"""The figures; imported only where one is drawn, for it needs Altair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt
import polars as pl

from polars_ec.plotting.theme import COLOURS, DASHES, MAIN, REST

_SIZE = 200


def scatter_plots(systems: Mapping[str, pl.DataFrame], pairs: Sequence[tuple[str, str]]) -> alt.TopLevelMixin:
    """Each pair of metrics as a column of small charts, each set of systems as a row; NEC is cut off at 2, as in the paper."""
    rows = []
    for title, table in systems.items():
        charts = []
        for x, y in pairs:
            points = (
                table.drop_nulls([x, y])
                .filter(pl.col(x) <= 2 + 1e-9)
                .select(x=pl.col(x).round(4), y=pl.col(y).round(4))
                .unique()
                .sort("x", "y")
            )
            dots = (
                alt.Chart(_apart(points))
                .mark_line(strokeCap="round", strokeWidth=3.7, color=MAIN)
                .encode(
                    alt.X("x:Q", title=_PLAIN[x], scale=alt.Scale(domain=[0, 2])),
                    alt.Y("y:Q", title=_PLAIN[y], scale=alt.Scale(domain=[-1, 1] if y == "MCC" else [0, 1])),
                    order="order:Q",
                )
            )
            naive = alt.Chart(pl.DataFrame({"x": [1.0]})).mark_rule(strokeDash=DASHES, color=REST).encode(x="x:Q")
            charts.append((dots + naive).properties(width=_SIZE, height=_SIZE, title=title))
        rows.append(alt.hconcat(*charts))
    return alt.vconcat(*rows)


def _apart(points: pl.DataFrame) -> pl.DataFrame:
    """The points as a line that breaks after each, which draws dots: as marks of their own they would be half a megabyte of SVG."""
    breaks = points.select("x", y=pl.lit(None, pl.Float64))
    return pl.concat([part.with_row_index("order") for part in (points, breaks)]).sort("order", maintain_order=True)


_PLAIN = {
    "NEC_b": "NEC, uniform priors",
    "NEC b²=1": "NEC, data priors, β² = 1",
    "NEC b²=2": "NEC, data priors, β² = 2",
    "F1": "F1",
    "MCC": "MCC",
    "1 - F1": "1 − F1",
}


def curves_over_thresholds(
    panels: Mapping[str, tuple[pl.DataFrame, Mapping[str, float]]], bayes: Mapping[str, float]
) -> alt.TopLevelMixin:
    """Metrics over the threshold; the best ones dotted, Bayes thresholds dashed, in the colour of the metric."""
    names = [_PLAIN[name] for name in next(iter(panels.values()))[1]]
    paint = alt.Color("metric:N", title=None, scale=alt.Scale(domain=names, range=[*COLOURS[:3], REST]), sort=names)
    kinds = alt.StrokeDash(
        "kind:N",
        title="Threshold",
        scale=alt.Scale(domain=["best", "Bayes"], range=[[1, 3], [6, 4]]),
    )
    x = alt.X(
        "threshold:Q",
        title="Decision threshold on the log-likelihood ratio",
        scale=alt.Scale(domain=[-1, 3], nice=False),
    )
    charts = []
    for title, (table, best) in panels.items():
        # Every second threshold: half a pixel apart.
        lines = (
            table.gather_every(2)
            .unpivot(index="threshold", variable_name="metric", value_name="value")
            .with_columns(pl.col("metric").replace_strict(_PLAIN))
        )
        marks = pl.DataFrame(
            [
                *((_PLAIN[name], "best", at) for name, at in best.items()),
                *((_PLAIN[name], "Bayes", at) for name, at in bayes.items()),
            ],
            schema=["metric", "kind", "threshold"],
            orient="row",
        )
        curves = (
            alt.Chart(lines)
            .mark_line(clip=True)
            .encode(x, alt.Y("value:Q", title="Metric", scale=alt.Scale(domain=[0, 1.4])), paint)
        )
        rules = alt.Chart(marks).mark_rule(strokeWidth=1.5).encode(x, paint, kinds)
        charts.append((curves + rules).properties(width=1.6 * _SIZE, height=1.4 * _SIZE, title=title))
    return alt.hconcat(*charts)
