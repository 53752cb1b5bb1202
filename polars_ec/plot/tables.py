"""Charts of tidy tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import polars as pl

if TYPE_CHECKING:
    import altair as alt

    Chart: TypeAlias = alt.LayerChart | alt.FacetChart | alt.ConcatChart


def trend(
    report: pl.DataFrame, metric: str | Sequence[str], *, x: str, facet: str | Sequence[str] | None = None
) -> Chart:
    """A metric over time, with its limits where the report has them.

    Rows that are `small` are faint, and a dashed line is what a naive system has, where that is the same number for all logs.

    Parameters
    ----------
    report
        What `ec.report` gave, collected; its row over all groups is left out.
    metric
        A column of it; or several, such as `["precision", "precision_at_prior"]`, which are a line each.
    x
        The column of periods: dates and timestamps, which are shown as they are in the column's own zone; or numbers, text and Enums,
        in their order.
    facet
        A group column, or several: a small chart for each group, of many groups for the 8 largest and the 4 worst of the others. What
        is left is one more, of the median of these groups in each period and a band from 10% to 90% of them. Group columns that are
        neither `x` nor of `facet`, models and classes among them, are lines of their own, of many the 4 largest and the 2 worst.

    Returns
    -------
    A chart of Altair.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    ValueError, TypeError
        What is no collected report; columns that it does not have, or that are no numbers; more periods than a chart can show.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 0, 1, 0], "month": [1, 1, 2, 2]})
    >>> chart = ec.plot.trend(log.ec.report("p", "y", by="month"), "nec", x="month")
    >>> chart.title.text
    'Normalised expected cost (NEC)'
    """
    from polars_ec.plotting import trends

    return trends.trend(report, metric, x, facet)


def forest(report: pl.DataFrame, metric: str) -> Chart:
    """A metric of each group with its limits, a row per group, the worst above.

    Points are as large as groups have rows, and faint where they are `small`; a row over all groups is below the others, as a diamond.

    Parameters
    ----------
    report
        What `ec.report` gave, collected. Of many groups the 20 largest are shown, and the 10 worst of the others.
    metric
        A column of it.

    Returns
    -------
    A chart of Altair.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    ValueError, TypeError
        What is no collected report; a column that it does not have, or that holds no numbers.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 0, 1, 0], "site": ["a", "a", "b", "b"]})
    >>> chart = ec.plot.forest(log.ec.report("p", "y", by="site", total=True), "brier")
    Traceback (most recent call last):
    ValueError: metric='brier' is no metric of the report: it has n, nec, nce, nbs, precision, f1, recall, class_prior, tn, fp, fn, tp, ...
    >>> chart = ec.plot.forest(log.ec.report("p", "y", by="site", total=True), "nce")
    >>> chart.data["group"].to_list()
    ['a', 'b', 'all groups']
    """
    from polars_ec.plotting import forests

    return forests.forest(report, metric)


def compare(table: pl.DataFrame) -> Chart:
    """The differences that `ec.compare` found, with their limits: a row per group or model, the worst above, a chart per metric.

    Colour and shape say which are better or worse than what they are compared with: those whose adjusted p-value is below 0.05, and
    against the best group those whose limits, which are for all groups at once, do not reach 0. Of `small` groups neither is said.

    Parameters
    ----------
    table
        What `ec.compare` gave, collected. Of many groups the 20 largest are shown, and of the others the 10 whose differences are
        largest beside their limits.

    Returns
    -------
    A chart of Altair.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    ValueError, TypeError
        What is no collected comparison; more than 12 metrics.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"a": [0.9, 0.4, 0.7, 0.1], "b": [0.9, 0.8, 0.2, 0.1], "y": [1, 0, 1, 0]})
    >>> chart = ec.plot.compare(log.ec.compare(["a", "b"], "y", metrics=["nec"]))
    >>> chart.data.select("group", "x", "verdict").rows()
    [('b', 1.0, 'few rows')]
    """
    from polars_ec.plotting import forests

    return forests.compare(table)


def drift(table: pl.DataFrame) -> Chart:
    """Where the changes that `ec.drift` took apart come from: bars of the parts by period, and the whole change as a point with limits.

    Parts that add to the metric stand on each other above 0, and those that take from it hang from each other below; the point is their sum.

    Parameters
    ----------
    table
        What `ec.drift` gave, collected. Groups, models and metrics are small charts of their own: of many the 8 largest, and the 4 of the
        others that changed most for the worse.

    Returns
    -------
    A chart of Altair.

    Raises
    ------
    ModuleNotFoundError
        Altair is not installed.
    ValueError, TypeError
        What is no collected drift; more periods than a chart can show.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec
    >>> log = pl.DataFrame(
    ...     {"p": [0.9, 0.4, 0.7, 0.1] * 20, "y": [1, 0, 1, 0, 0, 0, 1, 0] * 10, "month": [4] * 4 * 10 + [9] * 40}
    ... )
    >>> chart = ec.plot.drift(log.ec.drift("p", "y", period="month", metrics=["nec"]))
    >>> chart.data["part"].to_list()
    ['Other shares of the classes', 'Other scores within the classes', 'difference']
    """
    from polars_ec.plotting import changes

    return changes.drift(table)
