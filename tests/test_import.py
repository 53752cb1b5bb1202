"""Importing is cheap: heavy packages are imported where they are used."""

from __future__ import annotations

import subprocess
import sys


def test_heavy_packages_are_not_imported() -> None:
    code = (
        "import polars, sys; before = set(sys.modules); import polars_ec; "
        "print(sorted({'numpy', 'pyarrow', 'duckdb', 'typer', 'sklearn', 'sqlglot', 'tempfile'} & (set(sys.modules) - before)))"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
