"""The picture of the architecture shows the code as it is."""

from difflib import unified_diff
from xml.etree import ElementTree

import pytest

from docs.drawing.picture import MARGIN, PICTURE, WIDTH, draw
from docs.drawing.structure import read_structure


@pytest.fixture(scope="module")
def code():
    return read_structure()


def boxes(svg):
    """Corners of the boxes of a picture, (left, top, right, bottom)."""
    drawn = [element.attrib for element in ElementTree.fromstring(svg) if "rx" in element.attrib]
    places = [[float(box[side]) for side in ("x", "y", "width", "height")] for box in drawn]
    return [(x, y, x + width, y + height) for x, y, width, height in places]


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_the_picture_is_up_to_date(code):
    drawn, now = PICTURE.read_text(encoding="utf-8").splitlines(), draw(code).splitlines()
    changes = "\n".join(unified_diff(drawn, now, "drawn", "code", n=0, lineterm=""))
    assert not changes, f"docs/{PICTURE.name} is out of date, run `make architecture`:\n{changes}"


def test_boxes_lie_inside_the_picture_and_apart(code):
    places = boxes(draw(code))
    assert len(places) == sum(map(len, (*code.layers, *code.ways.values())))
    assert all(box[0] >= MARGIN - 0.1 and box[2] <= WIDTH - MARGIN + 0.1 for box in places)
    assert not [(a, b) for i, a in enumerate(places) for b in places[:i] if overlap(a, b)]


def test_imports_point_to_layers_below(code):
    layer_of = {package.name: number for number, layer in enumerate(code.layers) for package in layer}
    imports = [(package.name, name) for layer in code.layers for package in layer for name in package.imports]
    assert ("forest", "spectrum") in imports
    assert all(layer_of[above] < layer_of[below] for above, below in imports)


def test_tables_are_encoded_before_a_forest_sees_them(code):
    for way in code.ways.values():
        packages = [package for package, _ in way]
        assert packages[0] == "tables"
        assert {"forest", "rows", "engine"} <= set(packages)
