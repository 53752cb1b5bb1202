"""The guides and tutorials are true: what their Python, SQL and commands print stands below each, and the text names these numbers."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.support.cli import invoke, run_script

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
GUIDES = {
    path.relative_to(DOCS).as_posix(): path.read_text("utf-8")
    for path in [*sorted(DOCS.glob("guides/*.md")), *sorted(DOCS.glob("tutorial/*.md"))]
}
# A block of code, and what it prints, if it prints something.
BLOCK = re.compile(
    r"^```(?P<language>\w+)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


class Runner:
    """Runs the blocks of one guide, one after the other, as its reader would; each call answers with what is printed."""

    def __init__(self, macros: Path) -> None:
        self.names: dict[str, Any] = {}
        self.connection, self.macros = duckdb.connect(), macros

    def __call__(self, language: str, code: str) -> str:
        return {"python": self.python, "sql": self.sql, "sh": self.commands, "bash": self.script}[language](code)

    def python(self, code: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), pl.Config(tbl_width_chars=100):
            exec(code, self.names)
        return printed.getvalue()

    def sql(self, code: str) -> str:
        load = re.match(r"\.read (\S+)\n", code)
        if load:
            assert load[1] == "sql/polars_ec.sql"
            self.connection.execute(f"ATTACH '{self.macros}' AS ec (READ_ONLY)")
        printed = ""
        for statement in re.split(r";\n", code.removeprefix(load[0] if load else "")):
            if statement.startswith("SELECT"):
                printed += str(self.connection.sql(statement)).rstrip() + "\n"
            else:
                self.connection.execute(statement)
        return printed

    def commands(self, code: str) -> str:
        printed = ""
        for line in code.replace("\\\n", "").splitlines():
            if line.startswith("bash "):
                printed += run_script(line, bin_folder=Path("bin").absolute()).stdout
                continue
            name, *arguments = shlex.split(line)
            assert name == "polars-ec"
            printed += invoke(*arguments).output
        return printed

    def script(self, code: str) -> str:
        """Save it under the name that the guide uses."""
        Path("nightly.sh").write_text(code, "utf-8")
        return ""


@pytest.mark.quick("guides/choosing-a-prior.md", "guides/com*.md", "guides/med*.md", "guides/sql.md")
@pytest.mark.parametrize("guide", GUIDES)
def test_what_is_printed(
    guide: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_of_macros: Path, macros_at_hand: None
) -> None:
    monkeypatch.chdir(tmp_path)
    run = Runner(file_of_macros)
    if guide == "tutorial/sql.md":
        # Its table is the one that the first step of the other tutorial writes.
        for block in BLOCK.finditer(GUIDES["tutorial/python.md"].split("## 2. ")[0]):
            run.python(block["code"])
    blocks = list(BLOCK.finditer(GUIDES[guide]))
    assert sum(block["printed"] is not None for block in blocks) >= 2
    for block in blocks:
        assert run(block["language"], block["code"]) == (block["printed"] or ""), block["code"]
    if guide.startswith("tutorial"):
        ends_in_a_picture(guide, run)


def ends_in_a_picture(guide: str, run: Runner) -> None:
    """The picture of a tutorial is the chart that its last step draws, with the same values."""
    (picture,) = re.findall(r"^!\[.{10,}\]\((.*)\)$", GUIDES[guide].split("\n## ")[-1], re.MULTILINE)
    if "chart" in run.names:
        run.names["chart"].save("loans.svg")
    drawn, shown = (
        [float(value) for value in re.findall(r"; y: ([\d.]+);", file.read_text("utf-8"))]
        for file in (Path("loans.svg"), DOCS / Path(guide).parent / picture)
    )
    assert len(drawn) >= 18
    assert drawn == pytest.approx(shown, rel=1e-6)
    assert Path("loans.html").exists()


@pytest.mark.parametrize("guide", GUIDES)
def test_numbers_in_the_text(guide: str) -> None:
    """Each number with a decimal point is one that the page prints or computes with."""
    shown = "".join(block[0] for block in BLOCK.finditer(GUIDES[guide]))
    text = re.sub(r"`[^`\n]*`|section [\d.]+|DuckDB [\d.]+", "", BLOCK.sub("", GUIDES[guide]))
    assert numbers(text) <= numbers(shown)


def numbers(text: str) -> set[float]:
    return {float(number) for number in re.findall(r"\d+\.\d+", text)}
