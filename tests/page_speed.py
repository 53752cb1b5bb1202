"""How large the page of 200 groups and 24 months is, how long it takes to be made, and when a browser has drawn it.

`python -m tests.page_speed`; processor time is that of this process alone.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

from polars_ec.page.layout import render
from tests.support.pages import chromium, contents_of, group_names, simulated

_ROUNDS = 5
_SIZES = ((200, 24, 400_000), (20, 12, 100_000), (1, 24, 100_000))


def main() -> None:
    """Prints a line for each size."""
    with chromium() as browser, tempfile.TemporaryDirectory() as folder:
        for groups, periods, rows in _SIZES:
            contents = contents_of(simulated(group_names(groups), periods, rows))
            render(contents)
            begun = time.process_time()
            html = render(contents)
            made = time.process_time() - begun
            file = Path(folder) / "page.html"
            file.write_text(html, "utf-8")
            ready = []
            for _ in range(_ROUNDS):
                page = browser.new_page()
                page.goto(file.as_uri())
                page.wait_for_selector("html[data-ready]")
                ready.append(float(page.evaluate("document.documentElement.dataset.ready")) / 1000)
                page.close()
            size = len(html.encode()) / 1e6
            print(
                f"{groups} groups x {periods} periods: {size:.2f} MB, rendered in {made:.2f} s, "
                f"all charts drawn after {statistics.median(ready):.2f} s (median of {_ROUNDS}, up to {max(ready):.2f})"
            )


if __name__ == "__main__":
    main()
