"""The site that `make docs` builds: its pages, its links and what its API pages say; as HTML, what its search finds and its charts."""

from __future__ import annotations

import inspect
import json
import re
import shutil
import subprocess
import sys
import tomllib
from os.path import normpath
from pathlib import Path

import pytest

import polars_ec as ec
from tests.support.pages import chromium

ROOT = Path(__file__).parent.parent
WEBSITE = ROOT / "docs" / "website"
sys.path.insert(0, str(WEBSITE))
try:
    from docstrings import as_markdown, documented, exports, with_table
    from links import faults_of
    from pages import ELSEWHERE, NoPageError, as_page, lay_out, place, site_pages
finally:
    sys.path.remove(str(WEBSITE))

CONFIGURATION = tomllib.loads((WEBSITE / "zensical.toml").read_text("utf-8"))["project"]
API = {path.stem: path.read_text("utf-8") for path in sorted((ROOT / "docs/reference/api").glob("*.md"))}
# Public within the package, for its other parts, and of no use to those who call it.
INNER = {
    "CostMatrix": {"for_classes", "margins", "names_classes", "names_decision"},
    "Sketch": {"keys_beside_fold", "on_tables", "operating_point", "weighed"},
    "Calibration": {"fits", "is_affine", "is_of_vectors"},
    "Windows": set(),
}


def members(name: str) -> set[str]:
    """The methods and properties of a class that are for its users."""
    found = inspect.getmembers(getattr(ec, name), lambda it: callable(it) or isinstance(it, property))
    return {member for member, _ in found if not member.startswith("_")} - INNER[name]


def test_each_export_stands_on_one_api_page() -> None:
    classes = {name for name, it in exports().items() if inspect.isclass(it) and not issubclass(it, Exception)}
    assert classes == set(INNER)
    wanted = [*exports(), *(f"{name}.{member}" for name in classes for member in members(name))]
    assert sorted(name for page in API.values() for name in documented(page)) == sorted(wanted)
    # Also those that no page shows, for `help`.
    for name in classes:
        for member in members(name) | INNER[name]:
            assert inspect.getdoc(getattr(getattr(ec, name), member)), f"{name}.{member}"


def test_api_pages_begin_with_a_table_of_their_functions() -> None:
    for name, page in API.items():
        text = with_table(page)
        rows = re.findall(r"^\| \[`(\S+)`\]\[polars_ec\.\1\] \| (.+) \|$", text, re.MULTILINE)
        assert [function for function, _ in rows] == documented(page), name
        # The first directive or heading of a section comes after it.
        assert text.rindex("\n| [") < re.search(r"^(## |::: )", text, re.MULTILINE).start()
        assert not [said for _, said in rows if len(said) > 200]
    assert site_pages(ROOT)["reference/api/report.md"] == as_page(
        with_table(API["report"]), "docs/reference/api/report.md", ROOT
    )


def test_exports_are_those_of_the_package_and_the_charts() -> None:
    assert set(ec.__all__) - {"plot"} <= set(exports())
    assert {"plot.roc", "plot.trend"} <= set(exports())


def test_shared_keywords_are_described() -> None:
    text = as_markdown(ec.nec, "nec")
    assert "ec.nec(\n    score, label, *, costs=None, cost_fn=1.0," in text
    assert "Binary: the cost of a miss, which is a positive decided negative." in text
    assert (
        text.index('??? info "Parameters, which many') < text.index("    -   **`cost_fn`**") < text.index("**Returns.")
    )
    assert "**References.** Ferrer" in text
    assert "```pycon\n>>> import polars as pl" in text


def test_own_parameters_are_not_folded_up() -> None:
    text = as_markdown(ec.fbeta, "fbeta")
    assert text.index("\n-   **`beta`**") < text.index('??? info "Further parameters')


def test_names_of_functions_are_links() -> None:
    assert "[`n_rows`][polars_ec.n_rows]" in as_markdown(ec.nec, "nec")
    assert "polars_ec.Sketch]" not in as_markdown(ec.Sketch, "Sketch")


@pytest.mark.parametrize("name", exports())
def test_api_entries_lose_no_word(name: str) -> None:
    it = exports()[name]
    shown = re.sub(r"\\(?=[*_\[\]|])", "", as_markdown(it, name)).replace("&lt;", "<")
    assert not set(words(inspect.getdoc(it) or "")) - set(words(shown)) - {"Parameters", "Examples"}


def words(text: str) -> list[str]:
    return re.findall(r"[\w.]*\w", text)


def test_pages_link_to_places_on_the_site() -> None:
    def moved(target: str, page: str = "docs/guides/x.md") -> str:
        return as_page(f"[a]({target})", page, ROOT)[4:-1]

    assert moved("../../README.md") == "../index.md"
    assert moved("../index.md#all-pages") == "../index.md#all-pages"
    assert moved("../reference/metrics.md#options") == "../reference/metrics.md#options"
    assert moved("../../examples") == "../examples.md"
    assert moved("../../examples/rain.py") == "../examples/rain.md"
    assert moved("../../CONTRIBUTING.md") == "../contributing.md"
    assert moved("docs/reference/sql.md", "README.md") == "reference/sql.md"
    assert moved("#here") == "#here"
    assert moved("https://example.org/a.md") == "https://example.org/a.md"
    assert as_page("[`a`](gallery.md) `[b](nowhere.md)`", "docs/x.md", ROOT) == "[`a`](gallery.md) `[b](nowhere.md)`"
    assert as_page("```text\n[b](nowhere.md)\n```\n", "docs/x.md", ROOT) == "```text\n[b](nowhere.md)\n```\n"
    assert as_page("```python\n>>> 1\n```\n", "docs/x.md", ROOT) == "```pycon\n>>> 1\n```\n"


@pytest.mark.parametrize("target", ["nowhere.md", "../Makefile", "../polars_ec/cli", "website/pages.py"])
def test_a_link_to_what_has_no_page_is_an_error(target: str) -> None:
    with pytest.raises(NoPageError, match=re.escape(target)):
        as_page(f"[a]({target})", "docs/x.md", ROOT)


def test_the_navigation_has_each_page_once() -> None:
    def leaves(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        return [leaf for inner in (entry.values() if isinstance(entry, dict) else entry) for leaf in leaves(inner)]

    listed = leaves(CONFIGURATION["nav"])
    assert len(listed) == len(set(listed))
    # Scripts are listed by a page of their own.
    assert set(listed) == {name for name in site_pages(ROOT) if not name.startswith("examples/")}


def test_links_between_pages_lead_somewhere() -> None:
    pages = site_pages(ROOT)
    for name, text in pages.items():
        bare = re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)
        for target in re.findall(r"(?<!!)\[[^\]]*\]\(([^)#\s]+)", bare):
            assert "://" in target or normpath(Path(name).parent / target) in pages, f"{name}: {target}"


def test_what_is_laid_out(tmp_path: Path) -> None:
    lay_out(site_pages(ROOT), ROOT, tmp_path / "site")
    files = {
        path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*") if path.is_file()
    }
    assert {"zensical.toml", "docs/index.md", "docs/examples/rain.md", "docs/license.md"} <= files
    assert not [file for file in files if "website" in file]
    named = [*CONFIGURATION["extra_css"], *(script["path"] for script in CONFIGURATION["extra"]["polyfills"])]
    assert {f"docs/{name}" for name in named} <= files
    landing = (tmp_path / "site/docs/index.md").read_text("utf-8")
    assert "\n# polars_ec\n" in landing
    # From the README.
    assert landing.index("\n## Which metric?\n") < landing.index("| `nec` |") < landing.index("\n## All pages\n")
    code = (ROOT / "examples/rain.py").read_text("utf-8")
    assert f"```python\n{code}```" in (tmp_path / "site/docs/examples/rain.md").read_text("utf-8")


def test_nothing_is_fetched_from_elsewhere() -> None:
    """No fonts; and what stands in for a worker is a file of the site, without which its own would be put there."""
    assert CONFIGURATION["theme"]["font"] is False
    assert any("iframe-worker" in script["path"] for script in CONFIGURATION["extra"]["polyfills"])
    assert "://" not in (WEBSITE / "zensical.toml").read_text("utf-8")


HEAD = '<html><head><link rel="stylesheet" href="style.css"></head>'
FAULTS = {
    '<a href="nowhere.html">': "a.html links to nowhere.html: there is no such page",
    '<a href="b.html#nowhere">': "a.html links to b.html#nowhere: the page has no such place",
    '<a href="#nowhere">': "a.html links to #nowhere: the page has no such place",
    '<img src="nowhere.png">': "a.html links to nowhere.png: there is no such page",
    '<script src="https://cdn.example/a.js"></script>': "a.html loads https://cdn.example/a.js",
    '<script src="//cdn.example/a.js"></script>': "a.html loads //cdn.example/a.js",
    '<link rel="preconnect" href="https://fonts.example">': "a.html loads https://fonts.example",
    '<img src="https://img.example/a.png">': "a.html loads https://img.example/a.png",
    "<style>b { background: url('https://img.example/b.png') }</style>": "a.html loads https://img.example/b.png",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_site_is_found(fault: str, tmp_path: Path) -> None:
    right = '<a href="b.html#there">x</a><a href="https://example.org">x</a><a href="sub">x</a><h1 id="here">'
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/index.html").write_text('<a href="../a.html#here">x</a>')
    (tmp_path / "b.html").write_text('<h1 id="there">')
    (tmp_path / "404.html").write_text('<a href="/b.html">')
    (tmp_path / "style.css").write_text("b { background: url(b.png) }")
    (tmp_path / "a.html").write_text(HEAD + right)
    assert faults_of(tmp_path) == []
    (tmp_path / "a.html").write_text(HEAD + right + fault)
    assert faults_of(tmp_path) == [FAULTS[fault]]


def test_a_style_that_loads_from_elsewhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "style.css").write_text(
        '@import "https://fonts.example/a.css"; b { background: url(//img.example/b.png) }'
    )
    assert faults_of(tmp_path) == ["style.css loads https://fonts.example/a.css", "style.css loads //img.example/b.png"]


def test_places_are_unlike() -> None:
    sources = [*(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md")), *ELSEWHERE]
    # Links to the README lead to the landing page.
    assert len({place(source) for source in sources}) == len(sources) - 1


def test_each_word_of_the_glossary_leads_to_a_page() -> None:
    text = (ROOT / "docs/reference/glossary.md").read_text("utf-8")
    entries = re.findall(r"^\*\*(.+?)\.\*\* (.*?)(?:\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    assert len(entries) > 50
    assert [word for word, said in entries if "](" not in said] == []


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The site as HTML."""
    pytest.importorskip("zensical")
    site = tmp_path_factory.mktemp("built") / "site"
    build = subprocess.run([sys.executable, WEBSITE, site], cwd=ROOT, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    return site


# Runs the worker of the site's search, as a browser does, and prints the first address for each query.
SEARCH = """
const fs = require("fs"), [script, index, ...queries] = process.argv.slice(1)
const { items, config } = JSON.parse(fs.readFileSync(index))
const self = {}
require("vm").runInNewContext(fs.readFileSync(script, "utf8"), { self, Intl })
const answer = message => new Promise(resolve => {
  self.postMessage = resolve
  self.onmessage({ data: structuredClone(message) })
})
const none = { type: "operator", data: { operator: "and", operands: [] } }
const filter = { input: none, aggregation: { input: [{ type: "term", data: { field: "tags" } }] } };
(async () => {
  await answer({ type: 0, data: { items, config } })
  const found = {}
  for (const input of queries) found[input] = (await answer({ type: 2, data: { input, filter } })).data.items[0]?.id
  console.log(JSON.stringify(Object.fromEntries(queries.map(query => [query, items[found[query]]?.location]))))
})()
"""
FIRST_FOUND = {
    "log loss": "reference/api/scoring-rules.html#log-loss-brier-score-and-other-rules",
    "fairness": "guides/subgroups-and-fairness.html",
    "install": "index.html#install",
    "confidence interval": "explanation/confidence-intervals.html",
    "threshold": "guides/choosing-costs.html#thresholds-from-costs",
    "glossary": "reference/glossary.html",
}


@pytest.mark.slow
def test_search_finds_the_right_page_first(built: Path) -> None:
    node = shutil.which("node") or pytest.skip("no node")
    (script,) = built.glob("assets/javascripts/workers/search.*.js")
    run = [node, "-e", SEARCH, script, built / "search.json", *FIRST_FOUND]
    answered = subprocess.run(run, capture_output=True, text=True, check=True, timeout=120)
    assert json.loads(answered.stdout) == FIRST_FOUND


# The smallest letters of the charts of a page, in pixels of the screen.
SMALLEST_LETTERS = """
async () => Math.min(...await Promise.all([...document.querySelectorAll("article img")].map(async image => {
  await image.decode()
  const style = getComputedStyle(image), frame = parseFloat(style.paddingLeft) + parseFloat(style.paddingRight)
  return 10 * (image.getBoundingClientRect().width - frame) / image.naturalWidth
})))
"""


@pytest.mark.slow
def test_charts_are_legible_on_a_phone_and_in_the_dark(built: Path) -> None:
    for drawing in (ROOT / "docs/pictures").rglob("*.svg"):
        sizes = re.findall(r'font-size="([\d.]+)px"', drawing.read_text("utf-8"))
        assert min(map(float, sizes)) >= 10, drawing
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark", offline=True)
        for name in ("index", "gallery", "tutorial/python", "papers/analysis"):
            page.goto((built / f"{name}.html").as_uri())
            assert page.evaluate(SMALLEST_LETTERS) >= 9.99, name
            # Charts scroll by themselves, the page does not.
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            dark = "getComputedStyle(document.querySelector('article img')).filter"
            assert page.evaluate(dark).startswith("invert"), name
            page.emulate_media(color_scheme="light")
            page.goto((built / f"{name}.html").as_uri())
            assert page.evaluate(dark) == "none", name
            page.emulate_media(color_scheme="dark")


@pytest.mark.slow
def test_the_gallery_is_a_grid_whose_code_opens(built: Path) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1440, "height": 900}, offline=True)
        page.goto((built / "gallery.html").as_uri())
        cards = page.locator(".gallery > div")
        assert cards.count() == page.locator("article img").count()
        first, second = cards.nth(0).bounding_box(), cards.nth(1).bounding_box()
        assert first["y"] == second["y"]
        code = cards.nth(0).locator("code").last
        assert not code.is_visible()
        cards.nth(0).locator("summary").click()
        assert code.is_visible()
        assert cards.nth(0).bounding_box()["width"] > 2 * first["width"]
