"""Whether all links and pictures of the built site lead somewhere, and whether its search finds what people ask for."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["broken_links", "pages_that_have", "written_pages"]

LEADS = {"a": "href", "img": "src", "link": "href", "script": "src", "source": "src", "iframe": "src"}


class _Page(HTMLParser):
    """Addresses that a page leads to, and the anchors that it has."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what leads on and what can be led to."""
        values = dict(attrs)
        self.anchors |= {values[name] or "" for name in ("id", "name") if name in values}
        if address := values.get(LEADS.get(tag, "")):
            self.addresses.append(address)


def written_pages(site: Path) -> list[Path]:
    """Pages of the site, in order."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


def broken_links(site: Path) -> list[str]:
    """Page and address of everything within the site that is not there."""
    pages = {path.resolve(): _Page(path) for path in written_pages(site)}
    return [f"{path.relative_to(site.resolve())}: {address}" for path in pages for address in _broken(path, pages)]


def _broken(path: Path, pages: dict[Path, _Page]) -> Iterator[str]:
    for address in pages[path].addresses:
        parts = urlsplit(address)
        if parts.scheme or parts.netloc:
            continue
        there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        anchor = unquote(parts.fragment)
        if not there.is_file() or (anchor and there in pages and anchor not in pages[there].anchors):
            yield address


def pages_that_have(site: Path, words: str) -> list[str]:
    """Pages that the site's search finds all of the words on."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(re.sub(r"^Search\.setIndex\((.*)\);?$", r"\1", text.strip(), flags=re.DOTALL))
    found = [_numbers(index["terms"].get(word)) | _numbers(index["titleterms"].get(word)) for word in _stems(words)]
    return sorted(index["docnames"][number] for number in set.intersection(*found))


def _numbers(entry: int | list[int] | None) -> set[int]:
    if entry is None:
        return set()
    return {entry} if isinstance(entry, int) else set(entry)


def _stems(words: str) -> list[str]:
    """Words as Sphinx has them in its index."""
    language = import_module("sphinx.search.en").SearchEnglish({})
    return [language.stem(word.lower()) for word in words.split()]
