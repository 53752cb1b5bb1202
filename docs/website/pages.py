"""The pages of the site: those of docs/, and the files outside it that they link to, with links to their places on the site."""

from __future__ import annotations

import ast
import re
import shutil
from collections.abc import Iterator
from os.path import normpath, relpath
from pathlib import Path, PurePosixPath

from docstrings import with_table

# Where a page of the repository is on the site, if not where docs/ has it. The README is the first page of the code host alone:
# links to it lead to the landing page, which takes its table of metrics.
README, LANDING, METRICS = "README.md", "docs/index.md", "## Which metric?"
ELSEWHERE = {
    README: "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "LICENSE": "license.md",
    "examples": "examples.md",
}
_WEBSITE, _API = "docs/website", "docs/reference/api/"
_LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
_CODE = re.compile(r"^(```.*?^```)|(`[^`\n]*`)", re.DOTALL | re.MULTILINE)


class NoPageError(ValueError):
    """A link leads to what has no page on the site."""


def site_pages(root: Path) -> dict[str, str]:
    """The Markdown of each page by its place on the site."""
    pages = {}
    outside = [root / name for name in ELSEWHERE if name.endswith(".md") and name != README]
    for path in sorted([*(root / "docs").rglob("*.md"), *outside]):
        source = path.relative_to(root).as_posix()
        page = as_page(path.read_text("utf-8"), source, root)
        pages[place(source)] = with_table(page) if source.startswith(_API) else page
    before, list_of_pages = pages[place(LANDING)].split("\n## All pages\n")
    metrics = as_page(section((root / README).read_text("utf-8"), METRICS), README, root)
    # It has no neighbours to list beside it.
    pages[place(LANDING)] = f"---\nhide: [navigation]\n---\n\n{before}\n{metrics}\n## All pages\n{list_of_pages}"
    pages["license.md"] = f"# License\n\n```text\n{(root / 'LICENSE').read_text('utf-8')}```\n"
    return pages | dict(_examples(root / "examples"))


def section(text: str, heading: str) -> str:
    """The section of a page with this heading, up to the next heading of its level."""
    level = heading.split()[0]
    return f"{heading}\n" + text.split(f"\n{heading}\n")[1].split(f"\n{level} ")[0]


def place(source: str) -> str:
    """Where on the site a file of the repository is."""
    if source in ELSEWHERE:
        return ELSEWHERE[source]
    path = PurePosixPath(source)
    if path.parts[0] == "examples" and path.suffix == ".py":
        return f"examples/{path.stem}.md"
    if path.parts[0] == "docs" and not source.startswith(_WEBSITE):
        return path.relative_to("docs").as_posix()
    raise NoPageError(source)


def as_page(text: str, source: str, root: Path) -> str:
    """The page as the site takes it: links to places on the site, and sessions with their prompts named as such."""
    kept: list[str] = []

    def put_aside(found: re.Match[str]) -> str:
        kept.append(found[0])
        return f"\0{len(kept) - 1}\0"

    # Links may hold code, but code holds no links.
    bare = _CODE.sub(put_aside, text)
    linked = _LINK.sub(lambda found: found[1] + _moved(found[2], source, root) + found[3], bare)
    for number in reversed(range(len(kept))):
        linked = linked.replace(f"\0{number}\0", kept[number])
    return re.sub(r"^```python\n(?=>>>)", "```pycon\n", linked, flags=re.MULTILINE)


def _moved(target: str, source: str, root: Path) -> str:
    name, hash_sign, anchor = target.partition("#")
    if "://" in target or not name:
        return target
    file = normpath(PurePosixPath(source).parent / name).replace("\\", "/")
    if not (root / file).exists():
        raise NoPageError(f"{source}: {target} is not in the repository")
    try:
        to = place(file)
    except NoPageError:
        raise NoPageError(f"{source}: {target} has no page on the site") from None
    here = PurePosixPath(place(source)).parent.as_posix()
    return relpath(to, here).replace("\\", "/") + hash_sign + anchor


def _examples(folder: Path) -> Iterator[tuple[str, str]]:
    """A page for each script, and one that lists them: what its docstring says, and the script."""
    listed = [
        "# Examples",
        "",
        "Whole scripts, which the tests run. Each is in the folder `examples/` of the repository.",
        "",
    ]
    for script in sorted(folder.glob("*.py")):
        code = script.read_text("utf-8")
        says = ast.get_docstring(ast.parse(code)) or ""
        first, _, rest = says.partition("\n")
        yield (
            f"examples/{script.stem}.md",
            f"# {script.stem}\n\n**{first}**\n{rest}\n\n`python examples/{script.name}`\n\n```python\n{code}```\n",
        )
        listed.append(f"- [{script.stem}](examples/{script.stem}.md): {first}")
    yield "examples.md", "\n".join([*listed, ""])


def lay_out(pages: dict[str, str], root: Path, folder: Path) -> None:
    """Write the pages, and whatever of docs/ is no page, below `folder`, with the configuration beside them."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, text in pages.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for file in (root / "docs").rglob("*"):
        source = file.relative_to(root).as_posix()
        if file.is_file() and file.suffix != ".md" and not source.startswith(_WEBSITE):
            path = folder / "docs" / place(source)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, path)
    shutil.copytree(root / _WEBSITE / "assets", folder / "docs/assets")
    shutil.copyfile(root / _WEBSITE / "zensical.toml", folder / "zensical.toml")
