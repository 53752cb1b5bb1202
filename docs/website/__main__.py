"""Build the site: `make docs`.

The pages are laid out below .site/ in the root of the repository, made to HTML there, checked, and moved to site/.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

# The folder itself is run, and is the first on the path: `pages` and `links` are its modules.
from links import faults_of
from pages import NoPageError, lay_out, site_pages

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LAID_OUT, BUILT = ROOT / ".site", ROOT / "site"


def main() -> None:
    """Build and check it; nothing is moved to site/ where a link is broken or something would be loaded from elsewhere."""
    lay_out(site_pages(ROOT), ROOT, LAID_OUT)
    zensical = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file"]
    # mkdocstrings finds its extension there.
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    if subprocess.run([*zensical, LAID_OUT / "zensical.toml"], env=environment, check=False).returncode:
        sys.exit("zensical found the faults above")
    if faults := faults_of(LAID_OUT / "site"):
        sys.exit("\n".join(faults))
    shutil.rmtree(BUILT, ignore_errors=True)
    shutil.move(LAID_OUT / "site", BUILT)
    print(f"{len(list(BUILT.rglob('*.html')))} pages, no broken link: {BUILT / 'index.html'}")


if __name__ == "__main__":
    try:
        main()
    except NoPageError as error:
        sys.exit(str(error))
