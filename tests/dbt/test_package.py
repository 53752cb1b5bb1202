"""The dbt package as a repository of its own: it is whole, and the steps of its CI file pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sql.generate.dbt_package import write
from tests.support.dbt_project import PACKAGE

MACROS = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("macros/**/*.*"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "dbt-polars-ec")
    return tmp_path / "dbt-polars-ec"


def test_the_package_is_whole(folder: Path) -> None:
    at_root = {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "dbt_project.yml",
        "macros",
        "integration_tests",
        ".github",
        ".gitignore",
    }
    assert {path.name for path in folder.iterdir()} == at_root
    assert len(MACROS) > 15
    for path in MACROS:
        assert (folder / path).read_bytes() == (PACKAGE / path).read_bytes()
    assert "MIT License" in (folder / "LICENSE").read_text("utf-8")
    # Nothing names the place where the package lies today, and every file that the README names is there.
    for path in folder.rglob("*.*"):
        assert path.is_dir() or "sql/dbt" not in path.read_text("utf-8"), path
    readme = (folder / "README.md").read_text("utf-8")
    assert "local: /path/to/dbt-polars-ec\n" in readme
    assert "macros/macros.yml" in readme
    # The integration tests take the package from the folder above.
    assert "local: ../" in (folder / "integration_tests" / "packages.yml").read_text("utf-8")
    version = re.search(r"^version: (.*)$", (folder / "dbt_project.yml").read_text("utf-8"), re.MULTILINE)[1]
    assert f"\n## {version} " in (folder / "CHANGELOG.md").read_text("utf-8")


def test_the_folder_is_written_anew_unless_it_is_a_repository(folder: Path) -> None:
    (folder / "macros" / "gone.sql").touch()
    write(folder)
    assert not (folder / "macros" / "gone.sql").exists()
    (folder / ".git").mkdir()
    (folder / "note").touch()
    with pytest.raises(ValueError, match="is a git repository"):
        write(folder)
    assert (folder / "note").exists()


@pytest.mark.dbt
@pytest.mark.parametrize("job", [0, 1], ids=["macros", "plain"])
def test_the_steps_of_its_ci_file_pass(folder: Path, job: int) -> None:
    import yaml

    workflow = yaml.safe_load((folder / ".github" / "workflows" / "tests.yml").read_text("utf-8"))["jobs"]["duckdb"]
    matrix: dict[str, Any] = workflow["strategy"]["matrix"]["include"][job]

    def filled(text: str) -> str:
        return re.sub(r"\${{ matrix\.(\w+) }}", lambda name: str(matrix[name[1]]), text)

    steps = [filled(step["run"]) for step in workflow["steps"] if "run" in step]
    told = subprocess.run(
        ["bash", "-e", "-c", f'pip() {{ printf "%s\\n" "$@"; }}; {steps[0]}'], capture_output=True, text=True
    )
    installed = [["polars_ec[dbt]"], ["dbt-core<2", "dbt-duckdb<2"]]
    assert told.stdout.split("\n") == ["install", *installed[job], ""]
    environment = {
        **os.environ,
        **{name: filled(value) for name, value in workflow["env"].items()},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    where = folder / workflow["defaults"]["run"]["working-directory"]
    for step in steps[1:]:
        command = ["bash", "-e", "-c", step]
        done = subprocess.run(command, cwd=where, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
