"""Charts: `ec.plot.roc(sketch)` and its like, each an Altair chart. They need the extra `plot`.

A chart is shown by a notebook, saved by `chart.save("roc.svg")`, and changed by Altair's own means.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import polars as pl

from polars_ec.cells.deciding import DecidingCells

if TYPE_CHECKING:
    import altair as alt

    Chart: TypeAlias = alt.LayerChart | alt.FacetChart | alt.VConcatChart


def roc(sketch: DecidingCells, *, interval: float | None = 0.95) -> Chart:
    """The ROC curve: the true-positive rate over the false-positive rate, for every threshold; higher is better.

    Parameters
    ----------
    sketch
        A `Sketch` of any scores. Of many groups the 4 largest are shown, the 2 of the others with the least AUC, and all others
        together.
    interval
        The level of the band of limits of each point; None: no band.

    Returns
    -------
    A chart of Altair.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
    >>> chart = ec.plot.roc(log.ec.sketch("p", "y"))
    >>> chart.title.text
    'ROC curve'
    """
    from polars_ec.plotting import curves

    return curves.roc(sketch, interval)


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
