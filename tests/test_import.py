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


def test_an_import_hook_that_has_no_source_to_give() -> None:
    """Such as pytest.register_assert_rewrite("polars_ec")."""
    code = (
        "import sys; from importlib.machinery import PathFinder\n"
        "class Loader:\n"
        "    def __init__(self, loader): self.create_module, self.exec_module = loader.create_module, loader.exec_module\n"
        "class Finder:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        spec = PathFinder.find_spec(name, path)\n"
        "        if name == 'polars_ec.arguments.options': spec.loader = Loader(spec.loader)\n"
        "        return spec\n"
        "sys.meta_path.insert(0, Finder()); import polars_ec; print('the cost of a miss' in polars_ec.nec.__doc__)"
    )
    run = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "True"
