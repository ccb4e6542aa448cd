"""The picture of the architecture, as the text of an SVG file, and the way back from it to what it shows."""

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from docs.drawing.layout import Layout, lay_out
from docs.drawing.structure import SOURCE, Stop, Structure
from ssgp.plot.style import ACCENT, GREY, INK, MUTED

__all__ = ["PICTURE", "draw", "read_picture"]

PICTURE = Path(__file__).parents[1] / "architecture.svg"

WIDTH, MARGIN = 1040.0, 20.0
BOX_WIDTH, BOX_GAP = 216.0, 14.0
# Space between layers, the end of it for the tips of arrows, which point straight down.
LAYER_GAP, TIP = 32.0, 8.0
# Height of a name, and of a line below it.
NAME, LINE = 24.0, 13.0
STOP_GAP, STOP_LINE_GAP = 30.0, 14.0
# Most characters in a line: of notes, of a package's purpose, of the modules at a stop.
NOTE_CHARACTERS, PURPOSE_CHARACTERS, STOP_CHARACTERS = 150, 36, 27
MONO = "DejaVu Sans Mono, Menlo, Consolas, monospace"
SANS = "Helvetica, Arial, DejaVu Sans, sans-serif"
# Width of a character of fixed width over the size of its font, in the widest of the common fonts.
MONO_WIDTH = 0.61
PALE, WHITE = "#eef2f6", "#ffffff"

HEADING = "Packages, and who imports whom"
LEGEND = (
    "A package imports only from layers below its own. Arrows show the imports there are; those that follow from other "
    "arrows are left out. Packages that a table passes through are filled."
)
WAYS = {
    "fit": "The way of a table through fit: from a CSV file to a fitted forest",
    "predict": "and through predict: from a CSV file to means and deviations",
}
NOTE = (
    "Each module stands where a table enters it first, as a small fit and a small prediction were traced; _utils is "
    "left out. “make architecture” draws this picture from the code."
)


@dataclass(frozen=True)
class Frame:
    """A rectangle."""

    x: float
    y: float
    width: float
    height: float

    @property
    def bottom(self) -> float:
        """Where it ends."""
        return self.y + self.height


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

    def box(self, frame: Frame, **attributes: object) -> None:
        """Add a rectangle with round corners."""
        self.add("rect", x=frame.x, y=frame.y, width=frame.width, height=frame.height, rx=5, **attributes)

    def heading(self, y: float, text: str) -> float:
        """Add a heading; return where it ends."""
        self.text(MARGIN, y, text, 16, font_weight="bold", fill=INK)
        return y + 10

    def note(self, y: float, text: str) -> float:
        """Add lines of small text; return where they end."""
        for line in textwrap.wrap(text, NOTE_CHARACTERS):
            y += 14
            self.text(MARGIN, y, line, 11.5)
        return y


def _text(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else str(value)


def draw(structure: Structure) -> str:
    """The picture as the text of an SVG file."""
    canvas = Canvas()
    y = canvas.note(canvas.heading(34.0, HEADING), LEGEND)
    y = _draw_layers(canvas, y + 8, structure)
    for name, title in WAYS.items():
        y = _draw_way(canvas, canvas.heading(y + 44, title) + 6, name, structure.ways[name])
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


def _draw_layers(canvas: Canvas, y: float, structure: Structure) -> float:
    """Draw boxes in their layers and the arrows between them; return where they end."""
    layout = lay_out(structure.layers, structure.imports, WIDTH - 2 * MARGIN, BOX_WIDTH, BOX_GAP)
    frames: dict[str, Frame] = {}
    layers: list[Frame] = []
    for layer in structure.layers:
        heights = {box: NAME + LINE * len(_purpose(box)) for box in layer}
        layers.append(Frame(MARGIN, y, WIDTH - 2 * MARGIN, max(heights.values())))
        for box, height in heights.items():
            left, top = MARGIN + layout.centres[box] - BOX_WIDTH / 2, y + (layers[-1].height - height) / 2
            frames[box] = Frame(left, top, BOX_WIDTH, height)
        y = layers[-1].bottom + LAYER_GAP
    _draw_arrows(canvas, layout, layers, frames)
    passed = {package for way in structure.ways.values() for package, _ in way}
    for number, layer in enumerate(structure.layers):
        for box in layer:
            fill = PALE if box in passed else WHITE
            _draw_box(canvas, frames[box], box, structure.n_modules[box], fill, number)
    return layers[-1].bottom


def _draw_arrows(canvas: Canvas, layout: Layout, layers: list[Frame], frames: dict[str, Frame]) -> None:
    """Draw arrows: straight down through layers, bent between them."""
    for (above, below), bends in sorted(layout.bends.items()):
        start, end = frames[above], frames[below]
        first = next(number for number, layer in enumerate(layers) if start.y < layer.bottom)
        x, y = MARGIN + bends[0], layers[first].bottom
        path = [f"M{x:.1f} {start.bottom:.1f}", f"V{y:.1f}"]
        for number, bend in enumerate(bends[1:], first + 1):
            to, top = MARGIN + bend, layers[number].y - TIP
            path.append(f"C{x:.1f} {(y + top) / 2:.1f} {to:.1f} {(y + top) / 2:.1f} {to:.1f} {top:.1f}")
            x, y = to, layers[number].bottom
            path.append(f"V{y:.1f}")
        path[-1] = f"V{end.y:.1f}"
        line = {"fill": "none", "stroke": GREY, "stroke_width": 1.1, "marker_end": "url(#imports)"}
        canvas.add("path", d=" ".join(path), **line, data_from=above, data_to=below)


def _draw_box(canvas: Canvas, frame: Frame, name: str, n_modules: int, fill: str, layer: int) -> None:
    """Draw a package or a single module, with its purpose."""
    single = not (SOURCE / name).is_dir()
    what = {"data_package": name, "data_layer": layer, "data_modules": n_modules}
    canvas.box(frame, fill=fill, stroke=MUTED if single else INK, **what)
    ink = GREY if single else INK
    canvas.text(frame.x + 9, frame.y + 16, name, 12.5, font_family=MONO, font_weight="bold", fill=ink)
    count = "one module" if single else f"{n_modules} modules"
    canvas.text(frame.x + frame.width - 9, frame.y + 16, count, 10, text_anchor="end")
    for k, line in enumerate(_purpose(name)):
        canvas.text(frame.x + 9, frame.y + 31 + LINE * k, line, 10.5)


def _purpose(name: str) -> list[str]:
    """The first words of the docstring of a package or module, in lines."""
    path = SOURCE / name / "__init__.py" if (SOURCE / name).is_dir() else SOURCE / f"{name}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return textwrap.wrap(re.split(r"[:;,.]\s|\.$", docstring.replace("`", ""), maxsplit=1)[0], PURPOSE_CHARACTERS)


def _draw_way(canvas: Canvas, y: float, name: str, way: Sequence[Stop]) -> float:
    """Draw the stops of a table from left to right, in as many lines as it takes; return where they end."""
    x, bottom = MARGIN, y
    for number, (package, modules) in enumerate(way, 1):
        lines = textwrap.wrap(", ".join(modules), STOP_CHARACTERS)
        longest = max(map(len, (*lines, f"{number:2d} {package}")))
        width, height = 18 + MONO_WIDTH * 10.5 * longest, NAME + LINE * len(lines)
        if x + STOP_GAP + width > WIDTH - MARGIN:
            x, y = MARGIN, bottom + STOP_LINE_GAP
        if number > 1:
            arrow = f"M{x + 5:.1f} {y + 20:.1f} h{STOP_GAP - 10:.1f}"
            canvas.add("path", d=arrow, stroke=ACCENT, marker_end="url(#next)")
            x += STOP_GAP
        frame = Frame(x, y, width, height)
        what = {"data_way": name, "data_package": package, "data_modules": ",".join(modules)}
        canvas.box(frame, fill=PALE, **what)
        canvas.text(x + 9, y + 16, str(number), 10.5, fill=ACCENT, font_weight="bold")
        canvas.text(x + 27, y + 16, package, 11, font_family=MONO, font_weight="bold", fill=INK)
        for k, line in enumerate(lines):
            canvas.text(x + 9, y + 31 + LINE * k, line, 10.5, font_family=MONO)
        x, bottom = x + width, max(bottom, frame.bottom)
    return bottom


def read_picture(svg: str) -> Structure:
    """The structure that a picture shows."""
    layers: dict[int, list[str]] = {}
    n_modules: dict[str, int] = {}
    imports: set[tuple[str, str]] = set()
    ways: dict[str, list[Stop]] = {}
    for element in ElementTree.fromstring(svg):
        drawn = element.attrib
        if "data-from" in drawn:
            imports.add((drawn["data-from"], drawn["data-to"]))
        elif "data-layer" in drawn:
            layers.setdefault(int(drawn["data-layer"]), []).append(drawn["data-package"])
            n_modules[drawn["data-package"]] = int(drawn["data-modules"])
        elif "data-way" in drawn:
            stop = drawn["data-package"], tuple(drawn["data-modules"].split(","))
            ways.setdefault(drawn["data-way"], []).append(stop)
    in_order = tuple(tuple(layers[number]) for number in sorted(layers))
    return Structure(in_order, n_modules, frozenset(imports), {name: tuple(way) for name, way in ways.items()})
