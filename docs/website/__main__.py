"""Build the site: `make docs`, or `python docs/website FOLDER`.

The pages are laid out in a hidden folder beside the site, made to HTML there, checked, and moved to site/ or FOLDER.
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


def main(site: Path = ROOT / "site") -> None:
    """Build and check it; nothing is moved to `site` where a link is broken or something would be loaded from elsewhere."""
    laid_out = site.with_name(f".{site.name}")
    lay_out(site_pages(ROOT), ROOT, laid_out)
    zensical = [sys.executable, "-m", "zensical", "build", "--clean", "--strict", "--config-file"]
    # mkdocstrings finds its extension there.
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    if subprocess.run([*zensical, laid_out / "zensical.toml"], env=environment, check=False).returncode:
        sys.exit("zensical found the faults above")
    if faults := faults_of(laid_out / "site"):
        sys.exit("\n".join(faults))
    shutil.rmtree(site, ignore_errors=True)
    shutil.move(laid_out / "site", site)
    print(f"{len(list(site.rglob('*.html')))} pages, no broken link: {site / 'index.html'}")


if __name__ == "__main__":
    try:
        main(*(Path(name).absolute() for name in sys.argv[1:]))
    except NoPageError as error:
        sys.exit(str(error))
