"""Charts of tidy tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:
    import altair as alt

    Chart: TypeAlias = alt.LayerChart | alt.FacetChart


def trend(report: pl.DataFrame, metric: str, *, x: str, facet: str | None = None) -> Chart:
    """A metric over time, with its limits where the report has them.

    Parameters
    ----------
    report
        What `ec.report` gave, collected.
    metric
        A column of it.
    x
        The column of periods.
    facet
        A group column: a small chart for each of its values.

    Returns
    -------
    A chart of Altair.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 0, 1, 0], "month": [1, 1, 2, 2]})
    >>> chart = ec.plot.trend(log.ec.report("p", "y", by="month"), "nec", x="month")
    >>> chart.title
    'Normalised expected cost (NEC)'
    """
    from polars_ec.plotting import tables

    return tables.trend(report, metric, x, facet)
