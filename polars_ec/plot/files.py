"""Files of charts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from altair import TopLevelMixin


def save(chart: TopLevelMixin, path: str | Path) -> Path:
    """Write a chart to a file, whole or not at all.

    Parameters
    ----------
    chart
        Any chart of Altair.
    path
        The file, which is what its name says: `.svg`, `.png` or `.pdf`, which are drawn by vl-convert-python, or `.html`, a page that is
        whole without a network, and in which names are never taken for anything but text.

    Returns
    -------
    The path.

    Raises
    ------
    ModuleNotFoundError
        Altair or vl-convert-python is not installed.
    ValueError, TypeError, OSError
        Another suffix; what is no chart; a folder that is not there.

    Examples
    --------
    >>> import polars as pl, polars_ec as ec, tempfile
    >>> log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [1, 0, 1, 0], "site": ["a", "a", "b", "b"]})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ec.plot.save(ec.plot.forest(log.ec.report("p", "y", by="site"), "nec"), f"{folder}/forest.svg").name
    'forest.svg'
    """
    from polars_ec.plotting import save as files

    return files.save(chart, path)
