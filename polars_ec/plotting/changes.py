"""The chart of where changes come from: bars of their parts by period, and the whole change as a point."""

from __future__ import annotations

import altair as alt
import polars as pl

from polars_ec.drifting.choice import FACTORS, LIKELIHOOD, MIX, PRIOR
from polars_ec.plotting.data import finite
from polars_ec.plotting.tables import (
    MOST_ROWS,
    columns_before,
    cut,
    faint_if_small,
    heading,
    is_lower_better,
    names,
    plain,
    reference_line,
    texts,
)
from polars_ec.plotting.theme import COLOURS, REST, SIZE
from polars_ec.words import in_words

PANELS = (8, 4)
"""So many of the largest groups, and of those that changed most for the worse."""

_WORDS = {MIX: "Strata: their shares", PRIOR: "Classes: their shares", LIKELIHOOD: "Rows of a class: their scores"}
_SHADES = dict(zip(FACTORS, (COLOURS[2], COLOURS[4], COLOURS[1]), strict=True))
_WHOLE = "difference"
_PANEL = {"width": 200, "height": 120}
_MANY_PERIODS = 40


def drift(table: pl.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """That of `polars_ec.plot.drift`."""
    before = columns_before(table, "model", "ec.drift")
    if LIKELIHOOD not in table.columns or not before:
        raise ValueError(
            "the table has no parts of changes, or no periods: pass what ec.drift made; ec.plot.compare is of differences"
        )
    *keys, period = before
    metrics = table["metric"].unique(maintain_order=True).to_list()
    beside = [name for name in ("model", "metric") if table[name].n_unique() > 1]
    factors = [factor for factor in FACTORS if factor in table.columns]
    # Metrics are not larger or smaller than each other.
    panels = [*keys, *beside]
    table = table.with_columns(metric=pl.col("metric").map_elements(in_words, return_dtype=pl.String))
    metric = metrics[0] if metrics else "value"
    rows = _rows(table, period, panels, factors)
    n_periods = rows["x"].n_unique()
    most = MOST_ROWS // (max(1, n_periods) * (len(factors) + 1))
    if not most:
        raise ValueError(
            f"the table has {n_periods} periods, more than a chart can show: take longer ones, such as "
            f"pl.col({period!r}).dt.truncate('1mo')"
        )
    worse = pl.col("whole") if is_lower_better(metric) else -pl.col("whole")
    largest = max(1, min(PANELS[0], most))
    last = worse.filter(pl.col("part") == _WHOLE, ~pl.col("small")).last()
    of = cut(rows, "panel", largest, max(0, min(PANELS[1], most - largest)), last)
    said = _said(table, of.table)
    if of.others:
        shown = len(of.names)
        said.append(
            f"{shown} of {shown + of.others} groups: the largest, and of the others those that changed most for the worse"
        )
    title = heading(f"Change of {in_words(metric)}" if len(metrics) < 2 else "Changes", said, of.table)
    chart = _layers(
        of.table, factors, plain(period), in_words(metric) if len(metrics) < 2 else "the metric", bool(panels)
    )
    if not panels or not of.names:
        return chart.properties(width=2 * SIZE, height=SIZE, title=title)
    facet = alt.Facet(
        "panel:N", title=", ".join(map(plain, panels)), sort=of.names, header=alt.Header(labelLimit=_PANEL["width"])
    )
    facets = chart.properties(**_PANEL).facet(facet, columns=3).properties(title=title)
    return facets.resolve_scale(y="independent") if "metric" in beside else facets


def _rows(table: pl.DataFrame, period: str, panels: list[str], factors: list[str]) -> pl.DataFrame:
    """A row for each part, from where to where its bar goes, and one for the whole change, each with its limits.

    Parts that add stand on each other above 0, and those that take away hang from each other below.
    """
    own = table[period].alias("own")
    numbered = own.unique().sort().to_frame().with_row_index("order")
    order = own.to_frame().join(numbered, on="own", how="left", nulls_equal=True, maintain_order="left")["order"]
    shared = finite(
        table.select(
            texts(own).alias("x"),
            order.cast(pl.Int64),
            names(table, panels).alias("panel"),
            texts(table["reference"]),
            pl.col("small").fill_null(value=False),
            "n",
            whole="difference",
            **{f"{name}_{end}": f"{name}_ci_{end}" for name in (_WHOLE, *factors) for end in ("low", "high")},
            **{name: name for name in factors},
        )
    )
    fixed = ["x", "order", "panel", "reference", "small", "n", "whole"]
    parts = []
    for i, factor in enumerate(factors):
        value = pl.col(factor)
        alike = [pl.when(pl.col(other).sign() == value.sign()).then(other).otherwise(0) for other in factors[:i]]
        start = pl.when(value.is_not_null()).then(pl.sum_horizontal(pl.lit(0.0), *alike))
        parts.append(
            shared.select(
                *fixed,
                pl.lit(_WORDS[factor]).alias("part"),
                value.alias("y"),
                start.alias("start"),
                (start + value).alias("end"),
                pl.col(f"{factor}_low").alias("low"),
                pl.col(f"{factor}_high").alias("high"),
            )
        )
    nowhere = pl.lit(None, dtype=pl.Float64)
    whole = shared.select(
        *fixed,
        pl.lit(_WHOLE).alias("part"),
        pl.col("whole").alias("y"),
        nowhere.alias("start"),
        nowhere.alias("end"),
        pl.col(f"{_WHOLE}_low").alias("low"),
        pl.col(f"{_WHOLE}_high").alias("high"),
    )
    return pl.concat([*parts, whole])


def _said(table: pl.DataFrame, rows: pl.DataFrame) -> list[str]:
    against = rows["reference"].unique().to_list()
    said = [
        f"Against {against[0].removesuffix(' 00:00:00')}" if len(against) == 1 else "Each against its own reference"
    ]
    said.append("Point and line: the whole change, with confidence limits; bars: its parts, which add up to it")
    if table.select(pl.col(LIKELIHOOD).is_null() & pl.col("difference").is_not_null()).to_series().any():
        said.append("A point without bars: its parts are not known")
    if rows["small"].any():
        said.append("Faint: few rows")
    return said


def _layers(rows: pl.DataFrame, factors: list[str], period: str, title: str, in_panels: bool) -> alt.LayerChart:
    words = [_WORDS[factor] for factor in factors]
    domain = [*words, _WHOLE]
    shades = [*(_SHADES[factor] for factor in factors), REST]
    legend = alt.Legend(title=None, symbolOpacity=1, orient="bottom", values=words, labelLimit=300)
    paint = alt.Color("part:N", sort=domain, scale=alt.Scale(domain=domain, range=shades), legend=legend)
    many = rows["x"].n_unique() > _MANY_PERIODS
    axis = alt.Axis(labelAngle=-45, labelOverlap=True, labelLimit=100)
    x = alt.X("x:O", title=period, sort=alt.EncodingSortField("order", op="min"), axis=axis)
    called = None if in_panels else f"Change of {title}"
    start, value, low = (alt.Y(f"{name}:Q", title=called) for name in ("start", "y", "low"))
    numbers = {"Change by it": "y", "Lower limit": "low", "Upper limit": "high"}
    tooltip = [
        *([alt.Tooltip("panel:N", title="Group")] if in_panels else []),
        alt.Tooltip("x:N", title="Period"),
        alt.Tooltip("reference:N", title="Reference"),
        alt.Tooltip("part:N", title="Part"),
        *(alt.Tooltip(f"{name}:Q", title=said, format="+.4~g") for said, name in numbers.items()),
        alt.Tooltip("n:Q", title="Rows", format=","),
    ]
    base, faint = alt.Chart(), faint_if_small()
    bars = base.mark_bar(opacity=1).encode(x, start, alt.Y2("end:Q"), color=paint, opacity=faint, tooltip=tooltip)
    whole = base.transform_filter(alt.datum.part == _WHOLE)
    width = 1 if many else 2
    # On bars of any colour, on white and on black.
    halo, limits = (
        whole.mark_rule(color=shade, strokeWidth=wide).encode(x, low, alt.Y2("high:Q"), opacity=faint)
        for shade, wide in (("white", width + 2), (REST, width))
    )
    size = 12 if many or in_panels else 50
    point = whole.mark_point(filled=True, opacity=1, color=REST, stroke="white", strokeWidth=1, size=size)
    points = point.encode(x, value, opacity=faint, tooltip=tooltip)
    layers = [reference_line("y", 0), bars.transform_filter(alt.datum.part != _WHOLE), halo, limits, points]
    return alt.LayerChart(layer=layers, data=rows)
