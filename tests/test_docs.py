"""The README and the pages in docs/ are true: their Python and SQL run, their commands work, their links lead somewhere."""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
import textwrap
from os.path import normpath
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from tests.benchmarks.cases import CASES as BENCHMARKS
from tests.support.cases import METRICS, RANKING
from tests.support.cli import invoke
from tests.support.database import database

ROOT = Path(__file__).parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
# Those whose code is run here; tests/test_guides.py runs the guides and tutorials, tests/test_gallery.py the gallery.
# tests/dbt/test_page.py runs docs/integrations/dbt.md.
ELSEWHERE = (
    "README.md",
    "docs/integrations/dbt.md",
    "docs/gallery.md",
    "docs/index.md",
    "docs/tutorial/python.md",
    "docs/tutorial/sql.md",
)
RUN = [page for page in PAGES if page not in ELSEWHERE and "/guides/" not in page]
README = PAGES["README.md"]


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE)


def with_output(page: str, language: str) -> tuple[str, str]:
    """The one block of a page in a language, and what the page says that it prints."""
    ((code, printed),) = re.findall(
        rf"^```{language}\n(.*?)^```\n\n```text\n(.*?)^```", PAGES[page], re.DOTALL | re.MULTILINE
    )
    return code, printed


def run(code: str, names: dict[str, Any]) -> str:
    """What the code prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pl.Config(tbl_width_chars=100):
        exec(code, names)
    return printed.getvalue()


def commands_of(page: str) -> list[str]:
    return [line for block in blocks(page, "sh") for line in block.replace("\\\n", " ").splitlines()]


@pytest.fixture(scope="module")
def example_log() -> dict[str, Any]:
    """The example log of the landing page, which the other pages go on from; and what was printed."""
    names: dict[str, Any] = {}
    names["printed"] = run(with_output("docs/index.md", "python")[0], names)
    return names


def test_the_example_log(example_log) -> None:
    assert example_log["printed"] == with_output("docs/index.md", "python")[1]


def test_the_cards_of_the_landing_page(example_log, tmp_path: Path, monkeypatch, macros_at_hand) -> None:
    """The calls in Python and SQL and the command give what the page prints below."""
    monkeypatch.chdir(tmp_path)
    cards = dict(re.findall(r"^    ```(\w+)\n(.*?)^    ```", PAGES["docs/index.md"], re.DOTALL | re.MULTILINE))
    log = example_log["log"].collect()
    log.write_parquet("log.parquet")
    names = {**example_log, "log": log}
    exec(textwrap.dedent(cards["python"]).replace("log.", "by_python = log."), names)
    by_sql = database().cursor().execute(cards["sql"].replace("log", "'log.parquet'")).fetchall()
    command = shlex.split(cards["sh"].replace("\\\n", ""))
    printed = pl.read_csv(io.StringIO(invoke(*command[1:], "--format", "csv").output))
    for rows in (names["by_python"].rows(), by_sql, printed.select("month", "nec").rows()):
        assert [value for _, value in sorted(rows)] == pytest.approx([0.465967, 0.359428, 0.590445], abs=1e-6)


def test_first_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file_of_macros: Path) -> None:
    """Those of the README can be pasted one after the other, print what is there, and show what the text says."""
    monkeypatch.chdir(tmp_path)
    code, printed = with_output("README.md", "python")
    assert run(code, {}) == printed
    bayes, linear, low, high = re.findall(r"-?\d+\.\d+", printed)
    assert f"`bayes` costs {bayes} per case and `linear` {linear}." in README
    assert float(low) < float(high) < 0
    code, printed = with_output("README.md", "sql")
    load, query = code.split("\n", 1)
    assert load == ".read sql/polars_ec.sql"
    connection = duckdb.connect()
    connection.execute(f"ATTACH '{file_of_macros}' AS ec (READ_ONLY)")
    assert str(connection.sql(query)).rstrip() == printed.rstrip()
    assert len([line for line in code.splitlines() if line]) <= 8
    (command,) = (line for line in commands_of("README.md") if line.startswith("polars-ec"))
    assert invoke(*shlex.split(command)[1:]).exit_code == 0
    assert Path("report.html").exists()


@pytest.mark.quick("docs/explanation/*.md", "docs/integrations/*.md", "docs/reference/[dgms]*.md")
@pytest.mark.parametrize("page", [page for page in RUN if blocks(page, "python")])
def test_python_blocks(page: str, example_log, macros_at_hand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = "\n".join(blocks(page, "python"))
    test = doctest.DocTestParser().get_doctest(text, dict(example_log), page, page, 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL).run(test)
    assert result.attempted > 2
    assert result.failed == 0
    assert "log" not in text or "[example log](../index.md#the-example-log)" in PAGES[page]


def test_no_python_is_left_out() -> None:
    assert [page for page in RUN if ">>>" in PAGES[page]] == [page for page in RUN if blocks(page, "python")]
    assert {language for text in PAGES.values() for language in re.findall(r"^```(\w+)$", text, re.MULTILINE)} == {
        "python",
        "sh",
        "sql",
        "text",
        # Of recipes, which tests/cli/test_gate_recipes.py runs.
        "bash",
        "py",
        "yaml",
        # Of models of dbt, which tests/dbt/test_page.py runs.
        "jinja",
    }


@pytest.mark.parametrize("statement", [block for page in RUN for block in blocks(page, "sql")])
def test_sql_blocks(statement: str) -> None:
    connection = database().cursor()
    connection.execute(
        "CREATE TEMP TABLE flights AS SELECT 'AA' AS carrier, i / 10 AS score, i % 3 = 0 AS late FROM range(10) AS r(i)"
    )
    row = connection.execute(statement).fetchone()
    assert row is not None
    assert None not in row


@pytest.mark.parametrize("name", [":memory:", "ec.duckdb"])
def test_the_query_for_the_macros(name: str, file_of_macros: Path) -> None:
    """One row for each, with what there is to know."""
    if name == ":memory:":
        connection = database().cursor()
    else:
        assert file_of_macros.name == name
        connection = duckdb.connect(file_of_macros, read_only=True)
    (query,) = (
        block
        for block in blocks("docs/reference/sql.md", "sql")
        if block.startswith("SELECT DISTINCT ON (function_name)")
    )
    rows = connection.execute(query).fetchall()
    names = [name for name, _, _ in rows]
    assert names == sorted(set(names))
    assert {
        "nec",
        "brier",
        "auc_roc",
        "approx_auc_roc",
        "bucket",
        "capacity",
        "fold",
        "report",
        "sketch",
        "ranking_exact",
        "version",
    } <= set(names)
    assert len(names) == len(METRICS) + 2 * len(RANKING) + 10
    assert all(comment and re.search("[:.] ", comment) for _, _, comment in rows)
    (parameters,) = (parameters for name, parameters, _ in rows if name == "net_benefit")
    assert parameters == ["score", "label", "p_t", "prior", "threshold", "score_type", "weight"]


@pytest.mark.slow
def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, macros_at_hand) -> None:
    """Every line with `polars-ec` in a block works, one after the other, in a folder that has such files."""
    monkeypatch.chdir(tmp_path)
    log = pl.select(i=pl.int_range(200)).select(
        ts=pl.datetime(2024, 1, 1) + pl.duration(hours=9 * pl.col("i")),
        carrier=pl.when(pl.col("i") % 2 == 0).then(pl.lit("AA")).otherwise(pl.lit("UA")),
        p=(pl.col("i") * 0.618034) % 1,
        q=(pl.col("i") * 0.414214) % 1,
        y=pl.col("i") % 3 == 0,
        tailnum=pl.format("N{}", pl.col("i") % 40),
    )
    Path("logs").mkdir()
    log.write_parquet("logs/all.parquet")
    Path("demo-output/log").mkdir(parents=True)
    flights = log.rename({"ts": "time", "p": "score", "y": "late"}).with_columns(date=pl.col("time").dt.date())
    flights.write_parquet("demo-output/log/all.parquet")
    Path("votes").mkdir()
    shares = [pl.col("p") / 2, pl.col("q") / 2, 1 - (pl.col("p") + pl.col("q")) / 2]
    votes = log.select("y", **{f"p_{name}": share for name, share in zip("abc", shares, strict=True)})
    votes.with_columns(y=pl.col("y").replace_strict({True: "a", False: "b"}), region=1).write_csv("votes/1.csv")
    with duckdb.connect("flights.duckdb") as connection:
        connection.execute("CREATE TABLE log AS FROM 'logs/all.parquet'")
    lines = [line for page in RUN for line in commands_of(page) if re.match(r"(\.venv/bin/)?polars-ec ", line)]
    assert len(lines) >= 5
    for line in lines:
        result = invoke(*shlex.split(line)[1:])
        assert result.exit_code in ((0, 3) if "--fail-if" in line else (0,)), (line, result.output)
    assert pl.read_csv("report.csv").height == 1


COMMANDS = ("report", "compare", "drift", "capacity", "estimate", "sketch")


def test_options_exist() -> None:
    """The two pages name every option of the commands, and no other."""
    help_texts = "".join(invoke(command, "--help").output for command in COMMANDS)
    options = set(re.findall(r"^ *(?:-\w, )?(--[a-z-]+)", help_texts, re.MULTILINE)) - {"--help"}
    assert len(options) > 30
    pages = PAGES["docs/reference/command-line.md"] + PAGES["docs/reference/gates.md"]
    assert set(re.findall(r"`(--[a-z-]+)", pages)) == options


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    named = {
        page: set(re.findall(r"^    make ([a-z-]+)\b|`make ([a-z-]+)", text, re.MULTILINE))
        for page, text in PAGES.items()
    }
    found = {page: {one or other for one, other in pairs} for page, pairs in named.items()}
    assert found["README.md"] == {"demo", "test"}
    assert found["CONTRIBUTING.md"] >= targets - {"demo", "clean", "test-slow"}
    assert set().union(*found.values()) <= targets


def test_benchmarks_exist() -> None:
    named = {
        name for page in PAGES for names in re.findall(r'--only "?([^" `]+)', PAGES[page]) for name in names.split(",")
    }
    assert len(named) > 25
    assert named <= {case.name for case in BENCHMARKS}


def test_links_lead_somewhere() -> None:
    for page, text in PAGES.items():
        for target in re.findall(r"\]\(([^)]+)\)", re.sub(r"`[^`\n]*`", "", text)):
            if "://" in target:
                continue
            name, _, anchor = target.partition("#")
            path = (ROOT / page).parent / name if name else ROOT / page
            assert path.exists(), f"{page}: {target}"
            if anchor:
                assert anchor in anchors(path.read_text("utf-8")), f"{page}: {target}"


def test_the_landing_page_lists_each_page() -> None:
    linked = {
        normpath(Path(page).parent / name)
        for page in ("docs/index.md", "docs/explanation/papers.md")
        for name in re.findall(r"\]\(([^)#]+)\)", PAGES[page])
    }
    assert {page for page in PAGES if page.startswith("docs/")} - {"docs/index.md"} <= linked


def anchors(text: str) -> set[str]:
    """The anchors that a page's headings have on GitHub."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_paths_exist() -> None:
    named = re.findall(r"\b((?:polars_ec|tests|sql|docs|examples)/[\w./-]*)", "".join(PAGES.values()))
    assert {name for name in named if not (ROOT / name.rstrip(".")).exists()} == set()


def test_the_tables_name_every_metric() -> None:
    tables = "".join(re.findall(r"^\| .*\n", PAGES["docs/reference/metrics.md"].split("## Formulas")[1], re.MULTILINE))
    assert set(re.findall(r"`([a-z_0-9]+)(?:\(|`)", tables)) >= METRICS


def test_the_readme_stays_short() -> None:
    assert len(README.splitlines()) <= 120


def test_the_ranking_metrics_without_a_prior() -> None:
    (sentence,) = re.findall(
        r"^(.*) do not depend on the class prior", PAGES["docs/reference/metrics.md"], re.MULTILINE
    )
    assert set(re.findall(r"`(\w+)`", sentence)) == {
        name for name, options in RANKING.items() if "prior" not in options
    }
