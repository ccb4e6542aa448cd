"""``python -m docs.drawing`` draws docs/architecture.svg and prints figures of the code."""

from docs.drawing.picture import PICTURE, draw
from docs.drawing.structure import figures, read_structure


def main() -> None:
    """Draw the picture and print the figures."""
    print(figures())
    PICTURE.write_text(draw(read_structure()), encoding="utf-8")
    print(f"Drawn: docs/{PICTURE.name}")


if __name__ == "__main__":
    main()
