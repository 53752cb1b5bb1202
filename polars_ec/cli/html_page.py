"""The page that `polars-ec report --html` writes beside its table."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import polars as pl

from polars_ec.cli.errors import UsageError
from polars_ec.cli.objects import check_local
from polars_ec.cli.output import Beside, check_place
from polars_ec.cli.request import Rows, Sketched
from polars_ec.page.contents import Contents
from polars_ec.page.of_log import contents_of
from polars_ec.pages import report_page
from polars_ec.sketches import Sketch
from polars_ec.typing import FrameLike

_OPTION = "--html"
_SUFFIXES = (".html", ".htm")
_DEFAULTS = signature(report_page).parameters
PRIOR, LEVEL = _DEFAULTS["prior"].default, _DEFAULTS["interval"].default


@dataclass(frozen=True)
class Page:
    """Where it goes, and what `polars_ec.report_page` takes beside the options: `layout` has `metrics`, `min_rows`, `interval`, `buckets`."""

    file: Path
    title: str | None = None
    layout: Mapping[str, Any] = field(default_factory=dict)

    def check(self, refused: Mapping[str, str], *, models: int) -> None:
        """UsageError for a page that cannot be made; `refused` are options that are there and that it does not have, with the reason."""
        for option, why in refused.items():
            raise UsageError(f"--html with {option}: {why}: leave one of them out")
        self.check_models(several=models > 1)
        check_local(_OPTION, self.file, "a page is")
        if importlib.util.find_spec("jinja2") is None or importlib.util.find_spec("altair") is None:
            raise UsageError("--html needs Jinja2 and Altair: pip install 'polars_ec[cli,html]'")
        check_place(self.file, _OPTION, _SUFFIXES, any_pipe=True)

    def check_models(self, *, several: bool) -> None:
        """UsageError for several models."""
        if several:
            raise UsageError(
                "--html: a page is of one model: ask for one of them, or compare them with polars-ec compare"
            )

    def of_rows(self, rows: Rows) -> MadePage:
        """That of these rows."""
        (score,) = rows.scores
        return self._made(
            (rows.frame, score, rows.label),
            rows.by,
            rows.period,
            {**self.layout, "cluster": rows.cluster},
            rows.options,
        )

    def of_sketch(self, sketched: Sketched) -> MadePage:
        """That of these sketches, whose clusters are their own."""
        layout = {name: value for name, value in self.layout.items() if name != "buckets"}
        period = sketched.period if sketched.periods else None
        by = [key for key in sketched.sketch.keys if key != period]
        return self._made((sketched.sketch, None, None), by, period, layout, sketched.options)

    def _made(
        self,
        of: tuple[FrameLike | Sketch, str | None, str | None],
        by: Sequence[str | pl.Expr],
        period: str | pl.Expr | None,
        layout: Mapping[str, Any],
        options: Mapping[str, Any],
    ) -> MadePage:
        point = {name: value for name, value in options.items() if name != "prior"}
        asked = {"by": by, "period": period, "prior": options.get("prior", PRIOR), "title": self.title, **layout}
        return MadePage(self.file, contents_of(*of, **asked, options=point))


@dataclass(frozen=True)
class MadePage:
    """What a page says, and where it goes."""

    file: Path
    contents: Contents

    def rendered(self) -> Beside:
        """The file."""
        from polars_ec.page.render import render  # which needs an extra

        return Beside("page", self.file, _OPTION, render(self.contents).encode())
