"""Write how to install the package into the README and the docs, by `released` in pyproject.toml: `python docs/website/install.py`."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
FILES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

PHRASES = (
    ("In this folder, with Python 3.11 or later.", "With Python 3.11 or later."),
    (", in the folder of this repository: `pip install '.", ": `pip install 'polars-ec"),
    ("(PySpark 4 or later), in the folder of this repository:", "(PySpark 4 or later):"),
    (
        "Start the DuckDB shell in the folder of this repository. DuckDB 1.4.2 to DuckDB 1.5 reads `sql/polars_ec_duckdb_1.sql` instead.",
        "Run `polars-ec sql --out polars_ec.sql` and start the DuckDB shell in the same folder. DuckDB 1.4.2 to DuckDB 1.5 needs `--duckdb 1.4`.",
    ),
    (".read sql/polars_ec.sql", ".read polars_ec.sql"),
    ("In the folder of this repository, run `pip install '.", "Run `pip install 'polars-ec"),
    ("pip install '/path/to/this/repository[", "pip install --upgrade 'polars-ec["),
    ("pip install '.[", "pip install 'polars-ec["),
)
"""What to write from a folder, and once there is a release; longer phrases first."""


def written(text: str, *, released: bool) -> str:
    """The text with the phrases for a folder, or for a release."""
    for phrases in PHRASES:
        old, new = phrases if released else reversed(phrases)
        text = text.replace(old, new)
    return text


def is_released() -> bool:
    """The setting."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    return bool(settings["tool"]["polars_ec"]["released"])


if __name__ == "__main__":
    for file in FILES:
        file.write_text(written(file.read_text("utf-8"), released=is_released()), "utf-8")
