"""Pages, public docstrings and messages are plain English: short sentences, and one term of the field for each concept."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import polars_ec as ec
from polars_ec.api import namespaces

ROOT = Path(__file__).parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in [
        *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "sql/dbt/README.md")),
        *sorted((ROOT / "docs").rglob("*.md")),
    ]
    if "papers" not in path.parts
}
LONGEST_FOR_READERS, LONGEST = 28, 35
PHRASES = (
    "95 % limits",
    "a log that does not fit",
    "battery",
    "beyond noise",
    "cases that are alike",
    "cases that hang together",
    "how many percent",
    "how sure",
    "more than noise",
    "neither does",
    "nor has",
    "rows that are alike",
    "rows that miss",
    "share of positives",
    "the way out",
    "told wrong",
    "treating all cases alike",
    "treats all alike",
    "what cannot be",
    "whoever",
    "wrong rows",
)
# In docstrings.
MORE_PHRASES = (
    "alike",
    "anew",
    "beside rounding",
    "by chance",
    "confidence limits",
    "dealt out",
    "hangs on",
    "limits are",
    "limits of",
    "the usual battery",
    "told",
    "what bins hide",
    "wrong row",
)
# Where a point ends no sentence.
_NO_END = re.compile(r"\b(e\.g|i\.e|vs|et al|Eq|Fig|Sec|No|cf)\.")


# Messages of the package, and what macros and dbt say of themselves. The words of docstrings, pages and charts have tests of their own.
NO_MESSAGES = ("page/", "plot/", "arguments/options.py", "arguments/signatures.py", "output/words.py", "typing.py")
IN_MESSAGES = (
    "anew",
    "at work here",
    "beside it",
    "dealt out",
    "holds no posterior",
    "is no model",
    "is of one",
    "is of two",
    "known within bounds",
    "limits",
    "names none",
    "one score a row",
    "say which with",
    "state the prior",
    "states none",
    "that cannot be",
    "there twice",
    "whatever its name",
    "wrong score",
)
_SQL = re.compile(r"\b(SELECT|CASE|CAST|COUNT|SUM|GROUP BY|ATTACH|CREATE)\b")


def prose(page: str) -> str:
    """The text of a page without code, tables of symbols, addresses and quotations."""
    return _without_code(PAGES[page])


def _without_code(page: str) -> str:
    text = re.sub(r"^(```|~~~).*?^\1|^ {4}make .*?$", "\n", page, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->|<[^>\n]+>", " ", text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"^>.*$", "", text, flags=re.MULTILINE)


def sentences(text: str) -> Iterator[str]:
    """The sentences; each item of a list, cell of a table and heading has its own."""
    text = re.sub(r"^\s*(#+|[-*]|\d+\.)\s", "\n\n", text, flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\|", text):
        joined = _NO_END.sub(r"\1", " ".join(paragraph.replace("**", "").split()))
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z(\"])", joined)


def too_long(text: str, longest: int) -> list[str]:
    words = re.compile(r"[\w'’-]*[A-Za-z][\w'’-]*")
    return [sentence for sentence in sentences(text) if len(words.findall(sentence)) > longest]


def messages(module: Path) -> Iterator[str]:
    """The texts of a module that are no docstrings and no SQL; what is put into them is one word."""
    for parent in ast.walk(ast.parse(module.read_text("utf-8"))):
        for node in ast.iter_child_nodes(parent):
            if isinstance(parent, ast.Expr | ast.JoinedStr | ast.FormattedValue):
                continue
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            if not all(isinstance(part, ast.FormattedValue | ast.Constant) for part in parts):
                continue
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "VALUE" for part in parts)
            if len(text.split()) > 3 and not _SQL.search(text):
                yield text


def statements(path: Path) -> Iterator[str]:
    """The comments of macros and the texts of their errors, or the descriptions and errors of the dbt package."""
    text = path.read_text("utf-8")
    if path.suffix == ".yml":
        yield from re.findall(r"description: \"(.*)\"", text)
        return
    yield from re.findall(r"^COMMENT ON MACRO .*? IS '(.*)';$", text, re.MULTILINE)
    yield from re.findall(r"(?:error|format|_fail|refuse)\(\s*['\"](.*?)['\"](?= ~|,|\)| \|\|)", text)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_sentences_are_short(page):
    for_readers = page in ("README.md", "docs/index.md") or "tutorial" in page or "/guides/" in page
    longest = LONGEST_FOR_READERS if for_readers else LONGEST
    long = too_long(prose(page), longest)
    assert not long, f"{len(long)} sentences of more than {longest} words"


@pytest.mark.parametrize("page", sorted(PAGES))
def test_words_are_those_of_the_field(page):
    text = " ".join(prose(page).lower().split())
    assert not [phrase for phrase in PHRASES if phrase in text]


def public_docstrings() -> dict[str, str]:
    """Docstrings by name: exports, charts, Spark, the namespaces, public methods, and all public modules."""
    objects = {name: getattr(ec, name) for name in ec.__all__}
    objects |= {f"plot.{name}": it for name, it in inspect.getmembers(ec.plot, inspect.isfunction) if name[0] != "_"}
    objects |= {f"spark.{name}": getattr(ec.spark, name) for name in ec.spark.__all__}
    objects |= {name: it for name, it in inspect.getmembers(namespaces, inspect.isclass) if "Namespace" in name}
    for name, it in list(objects.items()):
        if inspect.isclass(it) and it.__module__.startswith("polars_ec"):
            objects |= {f"{name}.{member}": value for member, value in inspect.getmembers(it) if member[0] != "_"}
    for module in pkgutil.walk_packages(ec.__path__, "polars_ec."):
        if not any(word.startswith("_") or word in ("dbt", "cli", "page") for word in module.name.split(".")):
            objects[module.name] = importlib.import_module(module.name)
    return {
        name: inspect.getdoc(it) or ""
        for name, it in objects.items()
        if callable(it) or isinstance(it, property) or inspect.ismodule(it)
    }


DOCSTRINGS = public_docstrings()


def docstring_sentences(text: str) -> Iterator[str]:
    """The sentences of a docstring without references, examples, code and the heads of parameters."""
    parts = re.split(r"^(\w+)\n-+$", f"Summary\n-------\n{text}", flags=re.MULTILINE)
    for section, body in zip(parts[1::2], parts[2::2], strict=True):
        if section in ("References", "Examples"):
            continue
        if section in ("Parameters", "Attributes", "Raises"):
            body = re.sub(r"^\S.*$", "", body, flags=re.MULTILINE)
        body = re.sub(r"`[^`]*`|\[\[[^`]*?\]\]", "CODE", re.sub(r"^ *(>>>|\.\.\.).*$", "", body, flags=re.MULTILINE))
        body = re.sub(r"^\s*- ", "\n\n", body, flags=re.MULTILINE)
        for paragraph in re.split(r"\n\s*\n", body):
            joined = _NO_END.sub(r"\1", " ".join(paragraph.split()))
            # Errors are a list, whose items are separated by semicolons.
            yield from re.split(r"(?<=[.!?])\s+|; " if section == "Raises" else r"(?<=[.!?])\s+", joined)


def test_docstrings_have_short_sentences() -> None:
    # Symbols of formulas are no words.
    long = {
        (name, sentence)
        for name, text in DOCSTRINGS.items()
        for sentence in docstring_sentences(text)
        if sum(bool(re.fullmatch(r"[\"(]*[A-Za-z][A-Za-z'’-]*[\",.:;)?]*", word)) for word in sentence.split())
        > LONGEST
    }
    assert not long


def test_docstrings_have_the_words_of_the_field() -> None:
    texts = {name: " ".join(docstring_sentences(text)).lower() for name, text in DOCSTRINGS.items()}
    assert not [
        (name, phrase) for name, text in texts.items() for phrase in (*PHRASES, *MORE_PHRASES) if phrase in text
    ]


@cache
def all_messages() -> dict[str, list[str]]:
    package = ROOT / "polars_ec"
    modules = {path.relative_to(package).as_posix(): path for path in sorted(package.rglob("*.py"))}
    of_modules = {name: list(messages(path)) for name, path in modules.items() if not name.startswith(NO_MESSAGES)}
    files = [*sorted((ROOT / "sql").glob("*.sql")), *sorted((ROOT / "sql/dbt/macros").rglob("*.*"))]
    written = {path.relative_to(ROOT).as_posix(): list(statements(path)) for path in files if path.stem != "polars_ec"}
    return {**of_modules, **written}


def test_messages_are_short_and_in_words_of_the_field():
    texts = [(source, _without_code(text)) for source, texts in all_messages().items() for text in texts]
    assert not [(source, sentence) for source, text in texts for sentence in too_long(text, LONGEST)]
    phrases = [*PHRASES, *IN_MESSAGES]
    assert not [
        (phrase, source, text)
        for source, text in texts
        for phrase in phrases
        if phrase in " ".join(text.lower().split())
    ]


def test_messages_are_found():
    assert any("is not a cost" in text for text in all_messages()["arguments/costs.py"])
    assert any("Reference prior" in text for text in all_messages()["cli/commands.py"])
    assert any("leave it out" in text for text in all_messages()["sql/report.sql"])
    assert any("hash buckets" in text for text in all_messages()["sql/dbt/macros/macros.yml"])
