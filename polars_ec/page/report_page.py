"""The page of a report: one file for who decides, made from a log or from its sketch."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from polars_ec.api.sketches import Sketch
from polars_ec.arguments.classes import Prior
from polars_ec.arguments.options import PageOptions
from polars_ec.arguments.signatures import with_options
from polars_ec.output.whole_file import whole_file
from polars_ec.typing import FrameLike, IntoExpr

_SUFFIXES = (".html", ".htm")


@with_options(PageOptions)
def report_page(
    path: str | Path,
    log: FrameLike | Sketch,
    score: IntoExpr | Sequence[IntoExpr] | None = None,
    label: IntoExpr | None = None,
    *,
    by: IntoExpr | Sequence[IntoExpr] = (),
    period: IntoExpr | None = None,
    reference: Any = None,
    metrics: Sequence[str] | None = None,
    prior: Prior = "overall",
    cluster: IntoExpr | None = None,
    buckets: int = 100,
    interval: float = 0.95,
    min_rows: int | None = None,
    title: str | None = None,
    **options: Unpack[PageOptions],
) -> Path:
    """One HTML file about a model, for the person who decides: a verdict in plain sentences, the groups in a table, trends and curves.

    The file needs nothing beside it and no connection. Of one score a row, two classes, and costs and a threshold that are the same for
    all rows, the log is read once, and so need not fit into memory; else once for each table, and there are no curves.

    Parameters
    ----------
    path
        Where the page goes; a file that is there is replaced.
    log
        A frame of Polars or of another library; or a `Sketch`, of one model. Then `score`, `label`, `cluster`, `buckets`, `score_type`,
        `weight`, `pos_label` and `classes` are left out, for it has them in it.
    score, label
        Column names or expressions.
    by
        Names and expressions of the groups. Default: one group; of a sketch its group columns, but the period.
    period
        Column name or expression of the period of a row, such as `pl.col("ts").dt.truncate("1mo")`; of a sketch a group column. Default:
        no trends and no changes.
    reference
        The period that changes are told from, by its value. Default: the earliest one.
    metrics
        As for `report`; the first is the one that groups and periods are compared by. Default: the usual battery, `nec` first, and of a sketch
        `auc_roc`.
    prior
        The reference prior, as for `report`, and the same for all groups. None: there is none. "overall" leaves out groups with invalid
        rows, as the comparisons with all others and the curves do.
    cluster, buckets
        The key that correlated rows share, such as the user or the day, and how many parts these are dealt out to, from 100 to 1000. It
        is what calibrators are cross-validated by, too. Default None: independent rows.
    interval
        The level of all limits, between 0 and 1. A group or a change is named where at most a share of 1 - interval of all that are named
        can be chance.
    min_rows
        Groups with fewer rows than this are small: they are shown, and nothing is said about them.
    title
        Default: the names of score and label.

    Returns
    -------
    The path.

    Raises
    ------
    ValueError, TypeError
        A path that does not end in .html, or into a folder that is not there; several models; no score or label of a frame; what a sketch has in it stated once more; a prior
        that is an expression; else as for `report`, `compare` and `drift`.
    ModuleNotFoundError
        Jinja2 or Altair is not installed.

    References
    ----------
    Benjamini and Hochberg, "Controlling the false discovery rate", 1995, for which groups are named.

    Examples
    --------
    >>> import tempfile, pathlib, polars as pl, polars_ec as ec
    >>> log = pl.DataFrame({"s": ["a", "b"] * 50, "p": [0.9, 0.2, 0.6, 0.3] * 25, "y": [1, 0, 0, 1] * 25})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = ec.report_page(pathlib.Path(folder) / "page.html", log, "p", "y", by="s")
    ...     page.name, page.read_text("utf-8")[:15]
    ('page.html', '<!doctype html>')
    """
    # Imported here, for they need numpy, and what is not always installed, which is said before the log is read.
    from polars_ec.page.sources import contents_of

    try:
        from polars_ec.page.layout import render
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("report_page() needs Altair and Jinja2: pip install 'polars_ec[html]'") from error

    if not isinstance(path, str | PathLike):
        raise TypeError(f"path= comes first, and is a {type(path).__name__}: name a file, such as 'report.html'")
    file = Path(path)
    if file.suffix.lower() not in _SUFFIXES:
        raise ValueError(f"path={str(path)!r}: a page is HTML, and no browser opens it by this name: end it in .html")
    if not file.parent.is_dir():
        raise ValueError(f"path={str(path)!r}: there is no folder {str(file.parent)!r}: make it first")
    contents = contents_of(
        log,
        score,
        label,
        by=by,
        period=period,
        reference=reference,
        metrics=metrics,
        prior=prior,
        cluster=cluster,
        buckets=buckets,
        interval=interval,
        min_rows=min_rows,
        title=title,
        options=options,
    )
    with whole_file(file) as opened:
        opened.write(render(*contents).encode())
    return file
