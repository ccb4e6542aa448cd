"""The picture of the architecture shows the code as it is."""

from dataclasses import replace
from xml.etree import ElementTree

import pytest

from docs.drawing.picture import MARGIN, PICTURE, WIDTH, draw, read_picture
from docs.drawing.structure import Structure, differences, read_structure


@pytest.fixture(scope="module")
def code():
    return read_structure()


def rectangles(svg):
    """Corners of the boxes of a picture, (left, top, right, bottom)."""
    boxes = [element.attrib for element in ElementTree.fromstring(svg) if "data-package" in element.attrib]
    places = [[float(box[side]) for side in ("x", "y", "width", "height")] for box in boxes]
    return [(x, y, x + width, y + height) for x, y, width, height in places]


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def test_the_picture_is_up_to_date(code):
    found = differences(read_picture(PICTURE.read_text(encoding="utf-8")), code)
    assert not found, f"docs/{PICTURE.name} is out of date, run `make architecture`: {'; '.join(found)}"


def test_all_that_is_drawn_can_be_read_back(code):
    assert read_picture(draw(code)) == code


def test_boxes_lie_inside_the_picture_and_apart(code):
    boxes = rectangles(draw(code))
    assert all(box[0] >= MARGIN - 0.1 and box[2] <= WIDTH - MARGIN + 0.1 for box in boxes)
    assert not [(a, b) for i, a in enumerate(boxes) for b in boxes[:i] if overlap(a, b)]


def test_imports_point_to_layers_below(code):
    layer = {package: number for number, packages in enumerate(code.layers) for package in packages}
    assert all(layer[above] < layer[below] for above, below in code.imports)


def test_tables_are_encoded_before_a_forest_sees_them(code):
    for way in code.ways.values():
        packages = [package for package, _ in way]
        assert packages[0] == "tables"
        assert {"forest", "rows", "engine"} <= set(packages)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": (("cli", "rows"),)}, "the import rule has other layers"),
        ({"n_modules": {"cli": 2, "rows": 2}}, "cli has 1 modules, 2 are drawn"),
        ({"imports": frozenset()}, "cli imports rows, and there is no arrow"),
        ({"imports": frozenset({("cli", "rows"), ("rows", "cli")})}, "an arrow from rows to cli, and no such import"),
        ({"ways": {"fit": ()}}, "stop 1 of fit is rows (blocks), drawn is not there"),
    ],
)
def test_a_difference_is_told_in_words(change, message):
    code = Structure(
        layers=(("cli",), ("rows",)),
        n_modules={"cli": 1, "rows": 2},
        imports=frozenset({("cli", "rows")}),
        ways={"fit": (("rows", ("blocks",)),)},
    )
    assert differences(code, code) == []
    (found,) = differences(replace(code, **change), code)
    assert message in found
