"""The pages of docs/papers/, and their figures: what `make papers` computes, paper by paper. Part of `make pictures`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from examples.papers.catalogue import PAPERS
from examples.papers.paper import Paper, Result, result_of
from examples.papers.texts import has_text, numbers_text, outcome_text, table_text

DOCS = Path(__file__).parents[1]
PAGES = DOCS / "papers"
PICTURES = DOCS / "pictures" / "papers"
# So many characters of code are as wide as the page.
_WIDTH = 96
_CODE = re.compile(r"(`[^`]*`)|\b(ec\.\w[\w.]*\w(?:\([^)]*\))?)")

# They are others on another machine, and nobody sees them.
_LAST_BITS = re.compile(r"\d+\.\d{7,}")
_BAR, _ESCAPED_BAR = re.compile(r"(?<!\\)[|]"), r"\\|"


def page(paper: Paper, results: Sequence[Result]) -> str:
    """A row for each entry, and below it the tables and figures."""
    title = f'{paper.authors}, "{paper.title}"'
    parts = [
        f"# {markdown(title)}",
        f"What this paper has, computed by `polars_ec`: {outcome_text(results)}.",
        "[How to read this page](../explanation/papers.md#how-to-read-them); on the command line it is "
        f"`python -m examples.papers {paper.name}`, and `make pictures` writes it.",
        *_points(paper.notes),
        "\n".join(
            [
                "| in the paper | what | in polars_ec | computed (held against) |",
                "|---|---|---|---|",
                *map(_row, results),
            ]
        ),
        *(part for result in results for part in _details(result)),
    ]
    return "\n\n".join(parts) + "\n"


def markdown(text: str) -> str:
    """The text with names of functions as code, and nothing else that Markdown would take for markup."""
    pieces, end = [], 0
    for found in _CODE.finditer(text):
        pieces += [_plain(text[end : found.start()]), found[1] or f"`{found[2]}`"]
        end = found.end()
    return "".join([*pieces, _plain(text[end:])])


def picture(result: Result) -> Path:
    """Where its figure is."""
    return PICTURES / result.picture


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.6f}"


def _plain(text: str) -> str:
    return re.sub(r"[\\*_\[\]<|$]", r"\\\g<0>", text)


def _points(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        yield "\n".join(f"- {markdown(note)}" for note in notes)


def _row(result: Result) -> str:
    entry = result.entry
    title = f"[{markdown(entry.title)}](#{_anchor(entry.name)})" if _has_details(result) else markdown(entry.title)
    cells = [title, *map(markdown, (entry.what, entry.here, numbers_text(result)))]
    # A bar ends a cell even within code.
    return f"| {' | '.join(_BAR.sub(_ESCAPED_BAR, cell) for cell in cells)} |"


def _anchor(name: str) -> str:
    return re.sub(r"[^\w-]", "", name)


def _has_details(result: Result) -> bool:
    return result.entry.draw is not None or has_text(result)


def _details(result: Result) -> Iterator[str]:
    if not _has_details(result):
        return
    entry = result.entry
    yield f"## `{entry.name}`"
    yield f"{markdown(entry.title)}: {markdown(entry.what)}."
    if entry.draw is not None:
        yield f"![{_plain(entry.title)}: {_plain(entry.what)}](../pictures/papers/{picture(result).name})"
    if result.table is not None and has_text(result):
        yield f"```text\n{table_text(result.table, _WIDTH)}\n```"
        yield from _points(result.table.notes)


def main() -> None:
    """Write them."""
    from polars_ec.plot.files import encoded

    for folder in (PAGES, PICTURES):
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():
            old.unlink()
    for paper in PAPERS:
        results = [result_of(paper, entry) for entry in paper.entries]
        (PAGES / f"{paper.name}.md").write_text(page(paper, results), "utf-8")
        for result in results:
            if result.entry.draw is not None:
                drawing = encoded(result.entry.draw(), ".svg").decode()
                picture(result).write_text(_LAST_BITS.sub(_rounded, drawing), "utf-8")
        print(f"docs/papers/{paper.name}.md: {outcome_text(results)}")


if __name__ == "__main__":
    main()
