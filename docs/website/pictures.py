"""The pictures of docs/gallery.md and of the tutorials, each by the code below or above it: `make pictures`."""

from __future__ import annotations

import contextlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[1] / "gallery.md"
TUTORIAL, TUTORIAL_IN_SQL = (GALLERY.parent / "tutorial" / name for name in ("python.md", "sql.md"))
_STEP = re.compile(r"^```python\n(.*?)^```|^!\[[^\]]*\]\(([^)]+)\)$", re.DOTALL | re.MULTILINE)


def charts(page: Path = GALLERY) -> Iterator[tuple[str, Any]]:
    """Each picture of the page by its name, with its `chart`: the gallery has the code below the picture, a tutorial above it."""
    names: dict[str, Any] = {}
    waiting = None
    for code, picture in _STEP.findall(page.read_text("utf-8")):
        if code:
            exec(code, names)
        waiting = picture or waiting
        if waiting and "chart" in names:
            yield waiting, names.pop("chart")
            waiting = None


def main() -> None:
    """Write them."""
    for picture, chart in charts():
        _save(chart, picture)
    # The tutorials write their table and a page beside them.
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for picture, chart in charts(TUTORIAL):
            _save(chart, picture)
        (command,) = re.findall(r"^```sh\n(.*?)^```", TUTORIAL_IN_SQL.read_text("utf-8"), re.DOTALL | re.MULTILINE)
        polars_ec = Path(sys.executable).with_name("polars-ec")
        subprocess.run([polars_ec, *shlex.split(command.replace("\\\n", ""))[1:]], check=True)
        shutil.copyfile("loans.svg", GALLERY.parent / "pictures" / "tutorial-sql.svg")


def _save(chart: Any, picture: str) -> None:
    path = GALLERY.parent / "pictures" / Path(picture).name
    path.parent.mkdir(exist_ok=True)
    chart.save(path)
    print(f"{path.stat().st_size // 1000:4d} kB  {picture}")


if __name__ == "__main__":
    main()
