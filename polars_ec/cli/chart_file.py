"""The chart that `--plot` writes beside a table."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from polars_ec.cli.errors import UsageError
from polars_ec.cli.output import Beside, check_place

_OPTION = "--plot"
# As `polars_ec.plotting.save` has them, which cannot be asked before it is known that Altair is there.
_SUFFIXES = (".svg", ".png", ".pdf", ".html")
_NEEDED = ("altair", "vl_convert")


def can_draw(suffix: str) -> bool:
    """Whether what makes such files of charts is installed."""
    needed = _NEEDED[:1] if suffix.lower() == ".html" else _NEEDED
    return all(importlib.util.find_spec(name) is not None for name in needed)


@dataclass(frozen=True)
class ChartFile:
    """Where it goes."""

    file: Path

    def check(self) -> None:
        """UsageError for a file that cannot be made."""
        # What it is drawn as hangs on its name, that of a pipe too.
        check_place(self.file, _OPTION, _SUFFIXES, any_pipe=False)
        if not can_draw(self.file.suffix):
            raise UsageError(f"{_OPTION} needs Altair and vl-convert-python: pip install 'polars_ec[cli,plot]'")

    def drawn(self, chart: Callable[[], Any]) -> Beside:
        """The file; UsageError for a table of which there is no chart."""
        from polars_ec.plotting.save import encoded  # which needs an extra

        try:
            return Beside("chart", self.file, _OPTION, encoded(chart(), self.file.suffix))
        except ValueError as error:
            raise UsageError(f"{_OPTION} {self.file}: {error}") from error
