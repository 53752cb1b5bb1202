"""The pictures of docs/gallery.md, each by the very code that stands above it: `make pictures`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

GALLERY = Path(__file__).parents[1] / "gallery.md"
_STEP = re.compile(r"^```python\n(.*?)^```|^!\[[^\]]*\]\(([^)]+)\)$", re.DOTALL | re.MULTILINE)


def charts() -> Iterator[tuple[str, Any]]:
    """Each picture of the page by its name, with the `chart` that the code above it made."""
    names: dict[str, Any] = {}
    for code, picture in _STEP.findall(GALLERY.read_text("utf-8")):
        if code:
            exec(code, names)
        else:
            yield picture, names.pop("chart")


def main() -> None:
    """Write them."""
    for picture, chart in charts():
        path = GALLERY.parent / picture
        path.parent.mkdir(exist_ok=True)
        chart.save(path)
        print(f"{path.stat().st_size // 1000:4d} kB  {picture}")


if __name__ == "__main__":
    main()
