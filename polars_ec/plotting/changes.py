"""The chart of where changes come from: bars of their parts by period, and the whole change as a point."""

from __future__ import annotations

import altair as alt
import polars as pl

from polars_ec.plotting.data import finite
from polars_ec.plotting.names import names, plain, texts
from polars_ec.plotting.tables import (
    MOST_ROWS,
    against,
    columns_before,
    cut,
    faint_if_small,
    heading,
    is_lower_better,
    order_of,
    reference_line,
    tooltips,
)
from polars_ec.plotting.theme import COLOURS, REST, SIZE
from polars_ec.words import in_words, short

PANELS = (8, 4)
"""So many of the largest groups, and of those that changed most for the worse."""

# The columns of the parts, in their order.
_WORDS = {
    "mix": "Other shares of the strata",
    "prior": "Other shares of the classes",
    "likelihood": "Other scores within the classes",
}
_SHADES = dict(zip(_WORDS, (COLOURS[2], COLOURS[4], COLOURS[1]), strict=True))
_WHOLE = "difference"
_PANEL = {"width": 200, "height": 120}
_MANY_PERIODS = 40
# What stands before bars is seen.
_BAR = 0.6


def drift(table: pl.DataFrame) -> alt.LayerChart | alt.FacetChart:
    """That of `polars_ec.plot.drift`."""
    before = columns_before(table, "model", "ec.drift")
    if "likelihood" not in table.columns or not before:
        raise ValueError(
            "the table has no parts of changes, or no periods: pass what ec.drift made; ec.plot.compare is of differences"
        )
    *keys, period = before
    metrics = table["metric"].unique(maintain_order=True).to_list()
    panels = [*keys, *(name for name in ("model", "metric") if table[name].n_unique() > 1)]
    factors = [factor for factor in _WORDS if factor in table.columns]
    rows = _rows(table, period, panels, factors)
    n_periods = rows["x"].n_unique()
    most = MOST_ROWS // (max(1, n_periods) * (len(factors) + 1))
    if not most:
        raise ValueError(
            f"the table has {n_periods} periods, more than a chart can show: take longer ones, such as "
            f"pl.col({period!r}).dt.truncate('1mo')"
        )
    largest = max(1, min(PANELS[0], most))
    last = pl.col("worse").filter(pl.col("part") == _WHOLE, ~pl.col("small")).last()
    of = cut(rows, "panel", largest, max(0, min(PANELS[1], most - largest)), last)
    shown = of.table.drop("worse")
    what = in_words(metrics[0]) if len(metrics) == 1 else "each metric"
    title = heading(
        f"Change of {what}", [*_said(shown), *of.said("of the others those that changed most for the worse")], shown
    )
    chart = _layers(shown, factors, plain(period), what, bool(panels))
    if not panels or not of.names:
        return chart.properties(width=2 * SIZE, height=SIZE, title=title)
    facet = alt.Facet(
        "panel:N", title=", ".join(map(plain, panels)), sort=of.names, header=alt.Header(labelLimit=_PANEL["width"])
    )
    facets = chart.properties(**_PANEL).facet(facet, columns=3).properties(title=title)
    # Of several metrics each has a scale of its own.
    return facets.resolve_scale(y="independent") if len(metrics) > 1 else facets


def _rows(table: pl.DataFrame, period: str, panels: list[str], factors: list[str]) -> pl.DataFrame:
    """A row for each part, from where to where its bar goes, and one for the whole change, each with its limits.

    Parts that add stand on each other above 0, and those that take away hang from each other below.
    """
    called = table.with_columns(pl.col("metric").map_elements(short, return_dtype=pl.String))
    shared = finite(
        table.select(
            names(table, [period]).alias("x"),
            order_of(table[period]).alias("order"),
            names(called, panels).alias("panel"),
            texts(table["reference"]),
            pl.col("small").fill_null(value=False),
            "n",
            whole="difference",
            **{f"{name}_{end}": f"{name}_ci_{end}" for name in (_WHOLE, *factors) for end in ("low", "high")},
            **{name: name for name in factors},
        )
    )
    # Infinite is the worst of all, though no mark can show it.
    signs = table["metric"].map_elements(_sign_of_worse, return_dtype=pl.Float64)
    shared = shared.with_columns(worse=table["difference"] * signs)
    fixed = ["x", "order", "panel", "reference", "small", "n", "worse"]
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


def _sign_of_worse(metric: str) -> float:
    return 1.0 if is_lower_better(metric) else -1.0


def _said(rows: pl.DataFrame) -> list[str]:
    said = [
        against(rows["reference"]) or "Each against its own reference",
        "Point and line: the whole change, with confidence limits; bars: its parts, which add up to it",
    ]
    if rows.filter(pl.col("part") != _WHOLE)["y"].has_nulls():
        said.append("Without bars: parts that are not known")
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
    words_of = {"Period": "x", "Reference": "reference", "Part": "part"}
    tooltip = tooltips(({"Group": "panel"} if in_panels else {}) | words_of, numbers, sign="+")
    base, whole_if = alt.Chart(), alt.datum.part == _WHOLE
    bars = base.mark_bar().encode(x, start, alt.Y2("end:Q"), color=paint, opacity=faint_if_small(_BAR), tooltip=tooltip)
    limits = base.mark_rule(color=REST, strokeWidth=1 if many else 2).encode(x, low, alt.Y2("high:Q"))
    point = base.mark_point(filled=True, color=REST, size=12 if many or in_panels else 60)
    points = point.encode(x, value, opacity=faint_if_small(), tooltip=tooltip)
    whole = [layer.transform_filter(whole_if) for layer in (limits.encode(opacity=faint_if_small()), points)]
    layers = [reference_line("y", 0), bars.transform_filter(alt.datum.part != _WHOLE), *whole]
    return alt.LayerChart(layer=layers, data=rows)
