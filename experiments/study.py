"""A study: cells that are measured one by one, and the function that measures one of them."""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Generic, TypeVar

__all__ = ["AnyCell", "Cell", "Row", "Study"]

Row = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One measurement: what is resumed, and what can fail without harm to the rest.

    Kinds of cells are subclasses, whose fields are columns of their rows: texts, numbers and truth values.
    """

    @property
    def name(self) -> str:
        """Name of the file of its rows."""
        return "-".join(plain(value) for value in astuple(self))

    @property
    def alike(self) -> tuple[Any, ...]:
        """What it has in common with the cells that take about as long."""
        return astuple(self)

    def __str__(self) -> str:
        return ", ".join(f"{field.name} {getattr(self, field.name)}" for field in fields(self))


AnyCell = TypeVar("AnyCell", bound=Cell)


@dataclass(frozen=True)
class Study(Generic[AnyCell]):
    """Cells and their measurement.

    Attributes
    ----------
    cells : sequence of Cell
        In the order in which they are run.
    measure : callable
        Takes a cell to its rows. It is called in another process, so it must be importable there: a function of a
        module, or a `functools.partial` of one.
    """

    cells: Sequence[AnyCell]
    measure: Callable[[AnyCell], list[Row]]


def plain(value: object) -> str:
    """A value as a part of a file's name: letters, digits and underscores."""
    return "".join(letter if letter.isalnum() else "_" for letter in str(value))
