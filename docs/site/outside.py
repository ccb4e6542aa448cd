"""Documents that lie outside docs/ as pages of the site, and links that lead out of docs/ or into it."""

import os
import re
from pathlib import Path

__all__ = ["OUTSIDE", "ROOT", "linked", "write_pages"]

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GALLERY = ROOT / "examples" / "gallery"
# Documents beside the code, and their pages below docs/.
OUTSIDE = {
    "CHANGELOG.md": "generated/changelog",
    "CODE_OF_CONDUCT.md": "generated/code_of_conduct",
    "CONTRIBUTING.md": "generated/contributing",
    "SECURITY.md": "generated/security",
    "experiments/README.md": "generated/experiments",
    "src/ssgp/engine/README.md": "generated/engine",
    "src/ssgp/forest/README.md": "generated/forest",
}
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")


def linked(text: str, document: Path, page: str) -> str:
    """Text of a document with links as they are from its page: those to what the site has not are plain words."""

    def link(match: re.Match) -> str:
        picture, label, target = match.groups()
        place, _, anchor = target.partition("#")
        if "://" in target or not place:
            return match[0]
        there = _page_of((document.parent / place).resolve())
        if there is None:
            return label
        way = Path(os.path.relpath(DOCS / there, (DOCS / page).parent)).as_posix()
        return f"{picture}[{label}]({way}{'#' * bool(anchor)}{anchor})"

    return LINK.sub(link, text)


def _page_of(path: Path) -> str | None:
    """Where the site has a file, below docs/; None where it has not."""
    if not path.is_relative_to(ROOT):
        return None
    name = path.relative_to(ROOT).as_posix()
    if name in OUTSIDE:
        return f"{OUTSIDE[name]}.md"
    if name == "README.md":
        return "index.md"
    if path.parent == GALLERY and path.suffix == ".py":
        return f"examples/{path.stem}.rst"
    return path.relative_to(DOCS).as_posix() if path.is_relative_to(DOCS) else None


def write_pages() -> None:
    """Write the documents that lie outside docs/ as pages."""
    for name, page in OUTSIDE.items():
        text = linked((ROOT / name).read_text(encoding="utf-8"), ROOT / name, page)
        (DOCS / f"{page}.md").write_text(text, encoding="utf-8")
