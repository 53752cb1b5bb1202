"""A check of the built site: each link of it leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Attributes of which the browser loads what they name; a link that one may click is none of these.
_LOADED = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("video", "src")}
_LOADED |= {("audio", "src"), ("embed", "src"), ("object", "data"), ("image", "href"), ("use", "href")}
_STYLE = re.compile(r"(?:url\(\s*[\"']?|@import\s+[\"'])((?:https?:)?//[^\"')\s]+)")


class _Page(HTMLParser):
    """What a page links to, what it loads, and the anchors that it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[tuple[str, bool]] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif value is not None and ((tag, name) in _LOADED or (tag, name) == ("a", "href")):
                self.links.append((value, (tag, name) in _LOADED))


def faults_of(site: Path) -> list[str]:
    """A line for each broken link and each thing that would be loaded from elsewhere."""

    @cache
    def page(path: Path) -> _Page:
        return _Page(path.read_text("utf-8"))

    faults = []
    for path in sorted(site.rglob("*.html")):
        # A server sends this page for any address, so that its links start at the root.
        root = site if path.name == "404.html" else path.parent
        name = path.relative_to(site).as_posix()
        faults += [f"{name} loads {address}" for address in _STYLE.findall(path.read_text("utf-8"))]
        for link, loaded in page(path).links:
            parts = urlsplit(link)
            if parts.scheme in ("http", "https") or parts.netloc:
                faults += [f"{name} loads {link}"] if loaded else []
            elif parts.scheme not in ("mailto", "data", "javascript"):
                target = (site / parts.path[1:] if parts.path.startswith("/") else root / unquote(parts.path)).resolve()
                target = path if not parts.path else target / "index.html" if target.is_dir() else target
                if not target.is_file():
                    faults.append(f"{name} links to {link}: there is no such page")
                elif (
                    parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in page(target).anchors
                ):
                    faults.append(f"{name} links to {link}: the page has no such place")
    for path in sorted(site.rglob("*.css")):
        faults += [f"{path.name} loads {address}" for address in _STYLE.findall(path.read_text("utf-8"))]
    return faults
