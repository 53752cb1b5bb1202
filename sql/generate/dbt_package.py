"""The dbt package as a repository of its own, which the package hub of dbt asks for: dist/dbt-polars-ec/ (`make dbt-package`)."""

from __future__ import annotations

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "dist" / "dbt-polars-ec"
# What stands differently in a repository of its own.
_IN_README = {"/path/to/polars_ec/sql/dbt": "/path/to/dbt-polars-ec"}


def write(folder: Path) -> None:
    """Write the folder anew; ValueError if it is a repository, whose history would be lost."""
    if (folder / ".git").exists():
        raise ValueError(f"{folder} is a git repository: copy the package into it from another folder")
    shutil.rmtree(folder, ignore_errors=True)
    left_out = shutil.ignore_patterns("target", "logs", "dbt_packages", "package-lock.yml", "*.duckdb", ".user.yml")
    shutil.copytree(ROOT / "sql" / "dbt", folder, ignore=left_out)
    shutil.copy(ROOT / "LICENSE", folder)
    readme = folder / "README.md"
    text = readme.read_text("utf-8")
    for here, there in _IN_README.items():
        if here not in text:
            raise ValueError(f"README.md does not have {here!r}")
        text = text.replace(here, there)
    readme.write_text(text, "utf-8")


if __name__ == "__main__":
    write(FOLDER)
