"""Report pages: one file for decision-makers, from a log or from its sketch."""

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
    model: IntoExpr | None = None,
    item: IntoExpr | Sequence[IntoExpr] | None = None,
    by: IntoExpr | Sequence[IntoExpr] = (),
    period: IntoExpr | None = None,
    reference: Any = None,
    metrics: Sequence[str] | None = None,
    prior: Prior = "overall",
    cluster: IntoExpr | None = None,
    buckets: int = 100,
    interval: float = 0.95,
    min_rows: int | None = None,
    margin: float | None = None,
    title: str | None = None,
    **options: Unpack[PageOptions],
) -> Path:
    """Write one HTML file about a model for decision-makers: a verdict in plain sentences, a table of groups, trends and curves.

    The file is self-contained and works offline. With one score per row, two classes, and constant costs and threshold, the log is read once,
    so data larger than memory is fine. Otherwise it is read once per table, and there are no curves.

    Parameters
    ----------
    path
        The path of the page; an existing file is replaced.
    log
        A data frame of Polars or of another library, or a `Sketch`, also of several models or of the classes of one. A sketch already contains `score`, `label`, `cluster`,
        `buckets`, `score_type`, `weight`, `pos_label` and `classes`: leave them out then.
    score, label
        Column names or expressions; several scores are several models, which are compared with the first.
    model, item
        For a log with a row per model and item, as for `compare`: the page has the models as if each had a column of scores. They are in the
        order of their names, and compared with the first. The log is read twice, and the items with a score per model are held in memory.
    by
        Names or expressions of the group columns. Default: one group; for a sketch its group columns except the period.
    period
        Column name or expression of the period of a row, such as `pl.col("ts").dt.truncate("1mo")`; for a sketch a group column. Default: no
        trends and no changes.
    reference
        The period to compare with, by its value. Default: the earliest one.
    metrics
        As for `report`; groups and periods are compared by the first one. Default: the default metrics of `report`, `nec` first, and for a
        sketch also `auc_roc`.
    prior
        The reference prior, as for `report`, and equal for all groups. None: no reference prior. "overall" leaves out groups with invalid
        rows, as the comparisons with all others and the curves do.
    cluster, buckets
        The cluster column, which groups correlated rows, such as the user or the day, and the number of hash buckets for the clusters, from
        100 to 1000. Calibrators are also cross-validated by it. Default None: independent rows.
    interval
        The level of all confidence intervals, between 0 and 1. Among the groups or changes that the page names, at most a share of 1 -
        interval is expected to be due to sampling noise.
    min_rows
        Groups with fewer rows than this are marked as small: they are shown, but not judged.
    margin
        As for `compare`, of several models: a finding says whether each one is equivalent to the first, or at least not worse.
    title
        Default: the names of score and label.

    Returns
    -------
    The path.

    Raises
    ------
    ValueError, TypeError
        A path that does not end in .html, or whose folder does not exist; `model` without `item`, or `item` without `model`; more than 10 classes of
        a sketch; a frame without score or label; an argument that
        the sketch already contains; a prior that is an expression; a `margin` on a page of one model; other errors of `report`, `compare` and `drift`.
    ModuleNotFoundError
        Jinja2 or Altair is not installed.

    References
    ----------
    Benjamini and Hochberg, "Controlling the false discovery rate", 1995, for the selection of groups.

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
    from polars_ec.page.request import PageArguments
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
    between: Any = {
        "interval": interval,
        "min_rows": min_rows,
        "margin": margin,
        "cluster": cluster,
        "buckets": buckets,
    }
    shown: Any = {"reference": reference, "metrics": metrics, "prior": prior, "title": title, "options": options}
    page = PageArguments(model=model, item=item, by=by, period=period, **between, **shown)
    contents = contents_of(log, score, label, page)
    with whole_file(file) as opened:
        opened.write(render(*contents).encode())
    return file
