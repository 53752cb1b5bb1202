"""Build the site: `make docs`.

The pages are laid out below .site/ in the root of the repository, made to HTML there, checked, and moved to site/.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import zensical

# The folder itself is run, and is the first on the path: `pages` and `links` are its modules.
from links import faults_of
from pages import NoPageError, lay_out, site_pages

ROOT = Path(__file__).parents[2]
LAID_OUT, BUILT = ROOT / ".site", ROOT / "site"


def main() -> int:
    """Build and check it; 1 where a link is broken or something would be loaded from elsewhere."""
    lay_out(site_pages(ROOT), ROOT, LAID_OUT)
    zensical.build(str(LAID_OUT / "zensical.toml"), {"clean": True, "strict": True})
    faults = faults_of(LAID_OUT / "site")
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        return 1
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.move(LAID_OUT / "site", BUILT)
    pages = len(list(BUILT.rglob("*.html")))
    print(f"{pages} pages, none with a broken link: {BUILT / 'index.html'}")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except NoPageError as error:
        sys.exit(str(error))
