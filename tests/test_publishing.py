"""What a release needs agrees with itself: versions, supported Pythons, targets of workflows, and the lines that say how to install."""

from __future__ import annotations

import importlib.util
import re
import tomllib
from pathlib import Path

import polars_ec as ec

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WORKFLOWS = {file.name: file.read_text("utf-8") for file in (ROOT / ".github" / "workflows").glob("*.yml")}

specification = importlib.util.spec_from_file_location("install", ROOT / "docs" / "website" / "install.py")
install = importlib.util.module_from_spec(specification)
specification.loader.exec_module(install)


def test_the_citation_names_the_version() -> None:
    assert re.findall(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.M) == [ec.__version__]


def test_all_name_the_same_versions() -> None:
    pythons = re.findall(r"^PYTHONS := (.+)$", MAKEFILE, re.M)[0].split()
    duckdbs = re.findall(r"^DUCKDBS := (.+)$", MAKEFILE, re.M)[0].split()
    assert f"python: {pythons}".replace("'", '"') in WORKFLOWS["tests.yml"]
    assert f"duckdb: {duckdbs}".replace("'", '"') in WORKFLOWS["tests.yml"]
    classifiers = SETTINGS["project"]["classifiers"]
    assert [c.rpartition(" ")[2] for c in classifiers if re.search(r"Python :: 3\.\d", c)] == pythons
    assert SETTINGS["project"]["requires-python"] == f">={pythons[0]}"
    lowest = dict(
        line.split("==") for line in (ROOT / "tests" / "lowest.txt").read_text("utf-8").splitlines() if "==" in line
    )
    for requirement in SETTINGS["project"]["dependencies"]:
        name, _, version = requirement.partition(">=")
        assert (lowest[name] + ".0").startswith(version)


def test_workflows_run_targets_that_exist() -> None:
    text = "".join(WORKFLOWS.values())
    targets = {*re.findall(r"run: make ([a-z-]+)$", text, re.M), *re.findall(r"target: \[(.*)\]", text)[0].split(", ")}
    assert len(targets) > 8
    assert targets <= set(re.findall(r"^([a-z-]+):", MAKEFILE, re.M))


def test_the_docs_say_how_to_install_as_the_setting_says() -> None:
    """From a folder before there is a release; and both ways lead back."""
    for file in install.FILES:
        text = file.read_text("utf-8")
        assert install.written(text, released=install.is_released()) == text, file
        there = install.written(text, released=True)
        assert not re.search(r"pip install '\.\[|this (folder|repository)[.:]|\.read sql/polars_ec\.sql", there), file
        assert install.written(there, released=False) == text, file


def test_no_address_is_invented() -> None:
    """Until the project has addresses, no file says one of its own."""
    if "urls" not in SETTINGS["project"]:
        for name in ("README.md", "CITATION.cff", "SECURITY.md", "CONTRIBUTING.md"):
            assert not re.search(r"https?://", (ROOT / name).read_text("utf-8")), name
