"""Sketches over time: where changes between their periods come from, and rolling windows over these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from polars_ec.arguments.classes import Prior
from polars_ec.arguments.costs import Costs
from polars_ec.arguments.keywords import parse_interval, parse_min_rows
from polars_ec.arguments.signatures import checked_keywords
from polars_ec.sketches.operating_points import DecidingCells, EvaluationKeywords

if TYPE_CHECKING:
    from polars_ec.sketches.windows import Rolling


class _WindowKeywords(EvaluationKeywords, total=False):
    """The keywords of `Sketch.evaluate`."""

    interval: float | None
    replicates: int
    seed: int


def _point(*values: Any) -> dict[str, Any]:
    """The keywords of `drift` that say where to decide, of their values in the order of its signature."""
    return dict(zip(("costs", "cost_fn", "cost_fp", "threshold", "prior", "beta", "p_t"), values, strict=True))


@dataclass(frozen=True, repr=False)
class CellsOverTime(DecidingCells):
    """Cells, one of whose group columns may be a period; the attributes are those of a `Sketch`."""

    @checked_keywords
    def drift(
        self,
        *metrics: str,
        period: str,
        reference: Any = None,
        mix: str | Sequence[str] = (),
        interval: float = 0.95,
        min_rows: int | None = None,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
    ) -> pl.DataFrame:
        """Where the change of each metric between two periods comes from, with intervals: `drift` without the rows.

        Parameters
        ----------
        *metrics
            Names, as for `evaluate`, but no counts, no `ece` and no ranking metrics, which are not made of sums. Default: the usual ones.
        period
            The group column of periods.
        reference
            What each period is compared with: one of them, by its value, or "previous", the one before it in its group. Default:
            the earliest one of the sketch.
        mix
            Group columns whose values are strata, within which the shares of the classes and what their rows are like are told apart from the
            shares of the strata. All other group columns are those of the groups.
        interval, min_rows
            As for `compare`.
        costs, cost_fn, cost_fp, threshold, prior, beta, p_t
            As for `evaluate`. With `prior` values are at that prior alone, of which class shares are no part but through the mix; it is
            the same in periods that are compared. Decisions are at declared thresholds only.

        Returns
        -------
        As `drift`: one row per group, period, model and metric. Models are those of the group column `score`, and null where there is none.
        Values and parts are exact; limits are of clusters where the sketch has some, else of independent rows.

        Raises
        ------
        SketchError, ValueError
            As `drift` and `evaluate`; a threshold that is not declared; losses of LLRs at a prior; fewer than 100 buckets; a `period` or
            a column of `mix` that is no group column; a prior that moves from one period to another.

        Examples
        --------
        >>> import polars as pl, polars_ec as ec
        >>> log = pl.DataFrame(
        ...     {
        ...         "month": [4] * 40 + [9] * 40,
        ...         "p": [0.8, 0.2, 0.6, 0.1] * 10 + [0.9, 0.3, 0.2, 0.1] * 10,
        ...         "y": [1, 0, 0, 0] * 10 + [1, 0, 0, 1] * 10,
        ...     }
        ... )
        >>> parts = log.ec.sketch("p", "y", by="month").drift("error_rate", period="month")
        >>> parts.select("month", "reference", pl.col("difference", "prior", "likelihood").round(4)).rows()
        [(9, '4', 0.0, 0.0208, -0.0208)]
        """
        point = _point(costs, cost_fn, cost_fp, threshold, prior, beta, p_t)
        return self._drift(None, metrics, period, reference, mix, interval, min_rows, point)

    def _drift(
        self,
        rolling: Rolling | None,
        metrics: Sequence[str],
        period: str,
        reference: Any,
        mix: str | Sequence[str],
        interval: Any,
        min_rows: int | None,
        point: Mapping[str, Any],
    ) -> pl.DataFrame:
        """Drift of the periods, or of windows over them."""
        # Imported here, for it needs numpy.
        from polars_ec.comparisons.sketched_drift import SketchDriftRequest, drift_cells

        request = parse_interval({"interval": interval})
        if request is None:
            raise ValueError("interval=None: a drift has intervals, pass their level, such as interval=0.95")
        keywords, own_threshold = self.operating_point.stands_in(point, self.grid.classes)
        strata = (mix,) if isinstance(mix, str) else tuple(mix)
        fewest = parse_min_rows(min_rows)
        question = SketchDriftRequest(metrics, keywords, own_threshold, period, reference, strata, request, fewest)
        return drift_cells(self, question, rolling)

    @checked_keywords
    def rolling(self, period: str, *, periods: int = 7, every: str = "1d") -> Windows:
        """Windows over the periods of the sketch: of each period with those before it, such as the last 7 days of each day.

        Parameters
        ----------
        period
            The group column of periods: dates or datetimes, each the begin of a period.
        periods
            How many of them a window has, at least 2.
        every
            What is from one period to the next, as Polars spells it: "1d", "1w", "1mo", "1h". Days and months of a time zone are
            those of its clocks.

        Returns
        -------
        Windows, with `evaluate` and `drift`.

        Raises
        ------
        SketchError, ValueError
            A group column that there is not, or of no dates; a value that is not a whole number of steps after the first one, which is
            named; rows without a period; fewer periods, from the first to the last one, than a window has; fewer than 2 in a window.

        Examples
        --------
        >>> import datetime as dt, polars as pl, polars_ec as ec
        >>> days = [dt.date(2024, 2, 27) + dt.timedelta(days=i) for i in range(4)]
        >>> log = pl.DataFrame({"day": days * 2, "p": [0.9, 0.4, 0.7, 0.1, 0.6, 0.2, 0.3, 0.8], "y": [1, 1, 0, 0, 0, 1, 0, 1]})
        >>> windows = log.ec.sketch("p", "y", by="day").rolling("day", periods=3)
        >>> windows.evaluate("error_rate").select("day", "n", "error_rate").rows()
        [(datetime.date(2024, 2, 29), 6, 0.6666666666666666), (datetime.date(2024, 3, 1), 6, 0.5)]
        """
        # Imported here, for it needs numpy.
        from polars_ec.sketches.windows import Rolling

        rolling = Rolling.over(self, period, periods, every)
        return Windows(self, rolling.column, rolling.number, every)


@dataclass(frozen=True)
class Windows:
    """Rolling windows over the periods of a sketch: of each period with those before it. Made by `Sketch.rolling`.

    There are those windows alone that lie whole between the first period of the sketch and its last one, for each group that has rows
    in one of their periods. A row is in several windows: so they are not added up or rolled up, which the sketch is before.

    Attributes
    ----------
    sketch
        The sketch of the periods.
    period
        Its group column of periods, which is in results that of the last period of each window.
    periods, every
        How many a window has, and what is from one to the next.
    """

    sketch: CellsOverTime
    period: str
    periods: int
    every: str

    def evaluate(self, *metrics: str, **keywords: Unpack[_WindowKeywords]) -> pl.DataFrame:
        """Metrics of every window of every group, one row for each, sorted, as `Sketch.evaluate` has them of the rows of these periods.

        Parameters
        ----------
        *metrics
            Names; default: the battery of `report` and `auc_roc`.
        **keywords
            As for `Sketch.evaluate`. `prior="overall"` is of all rows of the sketch, each once, of each `score` and `target`
            for itself. Limits are those of each window for itself: neighbours share rows, and so their errors.

        Returns
        -------
        As `Sketch.evaluate`; the column of periods has the last one of each window.

        Raises
        ------
        SketchError, ValueError
            As `Sketch.evaluate`.

        Examples
        --------
        >>> import datetime as dt, polars as pl, polars_ec as ec
        >>> log = pl.DataFrame({"month": [dt.date(2024, i, 1) for i in (1, 2, 3, 3)], "p": [0.9, 0.4, 0.7, 0.1], "y": [1, 1, 0, 0]})
        >>> windows = log.ec.sketch("p", "y", by="month").rolling("month", periods=2, every="1mo")
        >>> windows.evaluate("recall").select("month", "n", "recall").rows()
        [(datetime.date(2024, 2, 1), 2, 0.5), (datetime.date(2024, 3, 1), 3, 0.0)]
        """
        found = []
        for cells, prior in self._rolling.in_blocks(self.sketch, keywords.get("prior")):
            if prior is not None:
                keywords["prior"] = prior
            found.append(cells.evaluate(*metrics, **keywords))
        return pl.concat(found).sort(self.sketch.keys, nulls_last=True, maintain_order=True)

    @checked_keywords
    def drift(
        self,
        *metrics: str,
        reference: Any = None,
        mix: str | Sequence[str] = (),
        interval: float = 0.95,
        min_rows: int | None = None,
        costs: Costs | None = None,
        cost_fn: float | None = None,
        cost_fp: float | None = None,
        threshold: float | None = None,
        prior: Prior = None,
        beta: float = 1.0,
        p_t: float | None = None,
    ) -> pl.DataFrame:
        """Where the change of each metric between two windows comes from, as `Sketch.drift` has it of the rows of their periods.

        Parameters
        ----------
        *metrics
            Names, as for `Sketch.drift`.
        reference
            What each window is compared with: one of them, by its last period, or "previous", the one before it in its group, which shares
            most of its rows. Default: the earliest one of the sketch.
        mix, interval, min_rows, costs, cost_fn, cost_fp, threshold, prior, beta, p_t
            As for `Sketch.drift`; `prior="overall"` as for `evaluate`.

        Returns
        -------
        As `Sketch.drift`; the column of periods has the last one of each window. Windows that share periods have limits and p-values
        only where all rows of both are in clusters, `sketch(cluster=)`, whose sums say what is shared; else these are null.

        Raises
        ------
        SketchError, ValueError
            As `Sketch.drift`; a reference that is no window.

        Examples
        --------
        >>> import datetime as dt, polars as pl, polars_ec as ec
        >>> days = [dt.date(2024, 2, 1) + dt.timedelta(days=i) for i in range(28)]
        >>> log = pl.DataFrame({"day": days * 4, "p": [0.8, 0.4, 0.7, 0.1] * 28, "y": [1, 1, 0, 0, 0, 1, 0, 1] * 14})
        >>> weeks = log.ec.sketch("p", "y", by="day").rolling("day").drift("error_rate")
        >>> weeks.select("day", "reference", pl.col("difference", "prior").round(4), pl.col("p_value").round(2)).row(-1)
        (datetime.date(2024, 2, 28), '2024-02-07', 0.0, 0.0, 1.0)
        """
        point = _point(costs, cost_fn, cost_fp, threshold, prior, beta, p_t)
        return self.sketch._drift(self._rolling, metrics, self.period, reference, mix, interval, min_rows, point)

    @cached_property
    def _rolling(self) -> Rolling:
        # Imported here, for it needs numpy.
        from polars_ec.sketches.windows import Rolling

        return Rolling.over(self.sketch, self.period, self.periods, self.every)
