"""Pages that are one file and load nothing: figures as inline SVG, written whole or not at all."""

import re
from html import escape

from ssgp._utils.whole_file import FilePath, whole_file

__all__ = ["BASE_STYLE", "inline_svg", "write_html"]

TAG = re.compile("<[^>]+>")
IDENTIFIER = re.compile(r'\bid="|href="#|url\(#')

BASE_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #22313f; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #dde4ea; }
figure { margin: 1rem 0; display: inline-block; vertical-align: top; max-width: 100%; }
figure svg { max-width: 100%; height: auto; }
figcaption { font-size: .85rem; color: #5b6b7a; }
"""


def write_html(path: FilePath, title: str, body: str, style: str = BASE_STYLE) -> None:
    """Write a page.

    Parameters
    ----------
    path : path-like
        File to write; one that is there is replaced once the new one is whole.
    title, body, style : str
        A plain title, HTML and CSS.
    """
    text = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
    with whole_file(path) as part:
        part.write_text(text, encoding="utf-8")


def inline_svg(svg: str, name: str, label: str = "") -> str:
    """The text of an SVG file as part of a page.

    Shapes are referred to by identifiers, which get the figure's name: no other figure of the page has them. The label
    is what a screen reader says in the figure's place.
    """
    inline = TAG.sub(lambda tag: IDENTIFIER.sub(rf"\g<0>{name}-", tag[0]), svg[svg.index("<svg") :])
    return inline.replace("<svg", f'<svg role="img" aria-label="{escape(label)}"', 1) if label else inline
