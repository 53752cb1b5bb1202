"""What is built and installed works without the repository: the source distribution, and the wheel that is made of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import polars_ec as ec

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, cwd: Path) -> str:
    """What a command prints; an error with all that it said, if it fails."""
    # Neither the repository nor what the tests import may help.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    finished = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=cwd, env=env)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


def pip(*arguments: str | Path) -> None:
    command = [sys.executable, "-W", "ignore", "-m", "pip", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True, capture_output=True, encoding="utf-8")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("sdist")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "sdist", "--directory", folder]
    subprocess.run(build, check=True, capture_output=True, cwd=ROOT)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip("wheel", "--no-build-isolation", "--no-deps", "--no-index", "--wheel-dir", folder, sdist)
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The folder `bin` of an environment that has the wheel, and the dependencies that are installed here."""
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip("--python", python, "install", "--no-deps", "--no-index", wheel)
    # A path in a .pth file is searched last, and no .pth files are read there: an editable install stays out.
    packages = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    libraries = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "dependencies.pth").write_text("\n".join(sorted(libraries)), "utf-8")
    return folder / "bin"


def test_what_is_in_the_wheel(wheel) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "polars_ec").rglob("*.py")}
    assets = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "polars_ec").glob("*/assets/*") if path.suffix != ".pyc"
    }
    assert {"polars_ec/plot/assets/vega.js.xz", "polars_ec/page/assets/page.html.jinja"} <= assets
    expected = {name for name in modules if not name.startswith("polars_ec/command/")} | {
        *assets,
        "polars_ec/py.typed",
        "polars_ec/polars_ec.sql",
        "polars_ec/polars_ec_duckdb_1.sql",
        "polars_ec_command.py",
    }
    about = f"polars_ec-{ec.__version__}.dist-info/"
    assert {name for name in names if not name.startswith(about)} == expected
    assert not any("examples" in name for name in names)
    assert wheel.stat().st_size < 1_200_000
    assert f"{about}licenses/LICENSE" in names


def test_the_readme_of_an_index_links_to_nothing_that_is_not_there(wheel) -> None:
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(f"polars_ec-{ec.__version__}.dist-info/METADATA").decode("utf-8")
    text = metadata.partition("\n\n")[2]
    assert text.startswith("# polars_ec\n")
    assert "More words are in the glossary." in text
    assert "## Which metric?" in text
    assert re.findall(r"\]\((?!https?:)", text) == []


def test_what_is_in_the_source_distribution(sdist) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "Makefile", "sql/polars_ec.sql"]
    pages = [path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.*") if path.suffix != ".pyc"]
    assert names >= {
        *wanted,
        *pages,
        "tests/test_wheel.py",
        "examples/rain.py",
        "examples/papers/scores/sst2_gpt2.parquet",
    }


def test_page(installed, tmp_path) -> None:
    """Its parts are in the wheel."""
    code = """
import polars as pl, polars_ec as ec
log = pl.DataFrame({"s": ["a", "b"] * 50, "p": [0.9, 0.2, 0.6, 0.3] * 25, "y": [1, 0, 0, 1] * 25})
print(ec.report_page("page.html", log, "p", "y", by="s"), ec.plot.save(ec.plot.roc(log.ec.sketch("p", "y")), "roc.html"))
"""
    assert run(installed / "python", "-c", code, cwd=tmp_path) == "page.html roc.html\n"
    assert min((tmp_path / name).stat().st_size for name in ("page.html", "roc.html")) > 900_000


def test_metric_and_macro(installed, tmp_path) -> None:
    code = """
import duckdb, polars as pl, polars_ec as ec, polars_ec_command
print(ec.__file__, polars_ec_command.__file__, sep="\\n")
log = pl.DataFrame({"p": [0.9, 0.4, 0.7, 0.1], "y": [True, True, False, False]})
print(log.select(pl.col("p").ec.nec("y", cost_fn=5)).item())
connection = duckdb.connect()
ec.register(connection)
table = connection.register("log", log.to_arrow())
print(connection.sql("SELECT ec.nec(p, y, cost_fn := 5) FROM log").fetchall()[0][0])
print(connection.sql(ec.report_query("log", "p", "y", metrics=["nec"], cost_fn=5)).fetchall()[0][1])
"""
    *files, metric, macro, query = run(installed / "python", "-W", "error", "-c", code, cwd=tmp_path).splitlines()
    assert len(files) == 2
    assert all(Path(file).is_relative_to(installed.parent) for file in files)
    assert metric == macro == query == "0.5"


def test_command(installed, tmp_path) -> None:
    (tmp_path / "log.csv").write_text("p,y\n0.9,1\n0.4,1\n0.7,0\n0.1,0\n", "utf-8")
    command = installed / "polars-ec"
    assert run(command, "--version", cwd=tmp_path) == f"polars-ec {ec.__version__}\n"
    for arguments, file in ((["sql"], "polars_ec.sql"), (["sql", "--duckdb", "1.5.6"], "polars_ec_duckdb_1.sql")):
        assert run(command, *arguments, cwd=tmp_path) == (ROOT / "sql" / file).read_text("utf-8")
    report = ["report", "log.csv", "--score", "p", "--label", "y", "--cost-fn", "5", "--format", "csv"]
    header, row = run(command, *report, cwd=tmp_path).splitlines()
    assert dict(zip(header.split(","), row.split(","), strict=True))["nec"] == "0.5"
