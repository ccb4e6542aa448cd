"""The picture of the architecture, as the text of an SVG file."""

import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path

from docs.drawing.structure import Package, Stop, Structure
from ssgp.plot.style import ACCENT, GREY, INK, MUTED

__all__ = ["MARGIN", "PICTURE", "WIDTH", "draw"]

PICTURE = Path(__file__).parents[1] / "architecture.svg"

WIDTH, MARGIN = 1040.0, 20.0
# Left of the layers, for the arrow that says which way imports go.
ARROW = 34.0
BOX_GAP, LAYER_GAP, STOP_GAP, STOP_LINE_GAP = 10.0, 8.0, 30.0, 14.0
# Height of a name, and of a line below it; space at the sides of a box.
NAME, LINE, PAD = 24.0, 14.0, 9.0
MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"
SANS = "Helvetica, Arial, DejaVu Sans, sans-serif"
# Widths of a character in small text, in the widest of the common fonts: proportional (on average), and fixed.
SANS_WIDTH, MONO_WIDTH = 5.6, 6.5
# Most characters in a line of the modules at a stop.
STOP_CHARACTERS = 27
PALE, WHITE = "#eef2f6", "#ffffff"

HEADING = "Packages, and who imports whom"
LEGEND = (
    "A package imports from layers below its own, and never from its neighbours. What it imports in fact is named in "
    "its box; _utils, which all may import, is not. A table passes through the filled packages."
)
WAYS = {
    "fit": "The way of a table through fit: from a CSV file to a fitted forest",
    "predict": "The way of a table through predict: from a CSV file to means and deviations",
}
NOTE = (
    "Each module stands where a table enters it first, as a small fit and a small prediction were traced; _utils is "
    "left out. “make architecture” draws this picture from the code."
)


class Canvas:
    """Elements of a picture, one after the other."""

    def __init__(self) -> None:
        self.elements: list[str] = []

    def add(self, tag: str, content: str = "", /, **attributes: object) -> None:
        """Add an element; underscores in the names of attributes are hyphens in the file."""
        written = [f'{name.replace("_", "-")}="{escape(_text(value))}"' for name, value in attributes.items()]
        self.elements.append(f"<{' '.join([tag, *written])}>{escape(content)}</{tag}>")

    def text(self, x: float, y: float, text: str, size: float, **attributes: object) -> None:
        """Add a line of text."""
        self.add("text", text, x=x, y=y, font_size=size, **({"font_family": SANS, "fill": GREY} | attributes))

    def name(self, x: float, y: float, text: str) -> None:
        """Add the name of a package."""
        self.text(x, y, text, 12, font_family=MONO, font_weight="bold", fill=INK)

    def heading(self, y: float, text: str) -> float:
        """Add a heading; return where it ends."""
        self.text(MARGIN, y, text, 16, font_weight="bold", fill=INK)
        return y + 10

    def note(self, y: float, text: str) -> float:
        """Add lines of small text; return where they end."""
        for line in _wrap(text, WIDTH - 2 * MARGIN):
            y += LINE
            self.text(MARGIN, y, line, 11)
        return y


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def _wrap(text: str, width: float) -> list[str]:
    """Lines of small text in some width."""
    return textwrap.wrap(text, int(width / SANS_WIDTH))


def draw(structure: Structure) -> str:
    """The picture as the text of an SVG file."""
    canvas = Canvas()
    y = canvas.note(canvas.heading(34.0, HEADING), LEGEND)
    y = _draw_layers(canvas, y + 12, structure)
    for name, title in WAYS.items():
        y = _draw_way(canvas, canvas.heading(y + 44, title) + 6, structure.ways[name])
    height = canvas.note(y + 20, NOTE) + 14
    size = f'width="{WIDTH:.0f}" height="{height:.0f}" viewBox="0 0 {WIDTH:.0f} {height:.0f}"'
    title = "<title>Packages of ssgp, their imports, and the way of a table through them</title>"
    tips = "".join(_tip(name, colour) for name, colour in (("imports", GREY), ("next", ACCENT)))
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', title, f"<defs>{tips}</defs>"]
    paper = f'<rect width="{WIDTH:.0f}" height="{height:.0f}" fill="{WHITE}"/>'
    return "\n".join([*head, paper, *canvas.elements, "</svg>", ""])


def _tip(name: str, colour: str) -> str:
    """The tip of an arrow."""
    size = 'markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto" markerUnits="userSpaceOnUse"'
    return f'<marker id="{name}" {size}><path d="M0 0 L8 4 L0 8 L2 4 z" fill="{colour}"/></marker>'


def _draw_layers(canvas: Canvas, top: float, structure: Structure) -> float:
    """Draw the layers, one below the other, and the arrow beside them; return where they end."""
    passed = {name for way in structure.ways.values() for name, _ in way}
    y = top
    for layer in structure.layers:
        width = (WIDTH - 2 * MARGIN - ARROW + BOX_GAP) / len(layer) - BOX_GAP
        lines = {package.name: _lines(package, width) for package in layer}
        height = NAME + LINE * max(map(len, lines.values())) + 2
        for k, package in enumerate(layer):
            x = MARGIN + ARROW + k * (width + BOX_GAP)
            fill = PALE if package.name in passed else WHITE
            _draw_package(canvas, (x, y, width, height), package, lines[package.name], fill)
        y += height + LAYER_GAP
    bottom, middle = y - LAYER_GAP, (top + y) / 2
    x = MARGIN + ARROW / 2
    canvas.add("path", d=f"M{x:.1f} {top:.1f} V{bottom:.1f}", stroke=GREY, stroke_width=1.5, marker_end="url(#imports)")
    turned = {"transform": f"rotate(-90 {x - 7:.1f} {middle:.1f})", "text_anchor": "middle"}
    canvas.text(x - 7, middle, "imports point down", 11, **turned)
    return bottom


def _lines(package: Package, width: float) -> list[tuple[str, str]]:
    """What is written below a package's name, in lines, each with its colour."""
    imports = f"imports {', '.join(package.imports)}" if package.imports else ""
    written = ((package.purpose, GREY), (imports, INK))
    return [(line, colour) for text, colour in written for line in _wrap(text, width - 2 * PAD)]


def _draw_package(
    canvas: Canvas,
    place: tuple[float, float, float, float],
    package: Package,
    lines: Sequence[tuple[str, str]],
    fill: str,
) -> None:
    """Draw a package, or a module beside the packages, at (left, top, width, height)."""
    x, y, width, height = place
    canvas.add(
        "rect", x=x, y=y, width=width, height=height, rx=5, fill=fill, stroke=INK if package.n_modules else MUTED
    )
    canvas.name(x + PAD, y + 16, package.name)
    count = f"{package.n_modules} modules" if package.n_modules else "one module"
    canvas.text(x + width - PAD, y + 16, count, 10, text_anchor="end")
    for k, (line, colour) in enumerate(lines, 1):
        canvas.text(x + PAD, y + 17 + LINE * k, line, 11, fill=colour)


def _draw_way(canvas: Canvas, y: float, way: Sequence[Stop]) -> float:
    """Draw the stops of a table from left to right, in as many lines as it takes; return where they end."""
    x, bottom = MARGIN, y
    for number, (package, modules) in enumerate(way, 1):
        lines = textwrap.wrap(", ".join(modules), STOP_CHARACTERS)
        width = 2 * PAD + MONO_WIDTH * max(map(len, (*lines, f"{number:2d} {package} ")))
        height = NAME + LINE * len(lines)
        if x + STOP_GAP + width > WIDTH - MARGIN:
            x, y = MARGIN, bottom + STOP_LINE_GAP
        if number > 1:
            arrow = f"M{x + 5:.1f} {y + 20:.1f} h{STOP_GAP - 10:.1f}"
            canvas.add("path", d=arrow, stroke=ACCENT, marker_end="url(#next)")
            x += STOP_GAP
        canvas.add("rect", x=x, y=y, width=width, height=height, rx=5, fill=PALE)
        canvas.text(x + PAD, y + 16, str(number), 11, fill=ACCENT, font_weight="bold")
        canvas.name(x + PAD + 18, y + 16, package)
        for k, line in enumerate(lines, 1):
            canvas.text(x + PAD, y + 17 + LINE * k, line, 10.5, font_family=MONO)
        x, bottom = x + width, max(bottom, y + height)
    return bottom
