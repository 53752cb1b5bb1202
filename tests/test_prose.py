"""The pages are plain English: sentences that can be read at once, and one word of the field for each thing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGES = {
    path.relative_to(ROOT).as_posix(): path.read_text("utf-8")
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
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
# Where a point ends no sentence.
_NO_END = re.compile(r"\b(e\.g|i\.e|vs|et al|Eq|Fig|Sec|No|cf)\.")


def prose(page: str) -> str:
    """The text of a page without code, tables of symbols, addresses and quotations."""
    text = re.sub(r"^(```|~~~).*?^\1", "\n", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->|<[^>\n]+>", " ", text, flags=re.DOTALL)
    text = re.sub(r"`[^`\n]*`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"^>.*$", "", text, flags=re.MULTILINE)


def sentences(page: str) -> Iterator[str]:
    """The sentences; each item of a list, cell of a table and heading has its own."""
    text = re.sub(r"^\s*(#+|[-*]|\d+\.)\s", "\n\n", prose(page), flags=re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\|", text):
        joined = _NO_END.sub(r"\1", " ".join(paragraph.replace("**", "").split()))
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z(\"])", joined)


@pytest.mark.parametrize("page", sorted(PAGES))
def test_sentences_are_short(page):
    for_readers = page in ("README.md", "docs/index.md") or "tutorial" in page or "/guides/" in page
    longest = LONGEST_FOR_READERS if for_readers else LONGEST
    long = [
        sentence for sentence in sentences(page) if len(re.findall(r"[\w'’-]*[A-Za-z][\w'’-]*", sentence)) > longest
    ]
    assert not long, f"{len(long)} sentences of more than {longest} words"


@pytest.mark.parametrize("page", sorted(PAGES))
def test_words_are_those_of_the_field(page):
    text = " ".join(prose(page).lower().split())
    assert not [phrase for phrase in PHRASES if phrase in text]
