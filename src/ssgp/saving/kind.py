"""How objects of one class are stored in files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Kind"]


@dataclass(frozen=True)
class Kind:
    """How objects of one class are stored.

    Attributes
    ----------
    name : str
        Name of the class in files.
    parts : callable
        Takes an object to its parts, by name.
    make : callable
        Takes the parts to an object.
    """

    name: str
    parts: Callable[[Any], Mapping[str, Any]]
    make: Callable[[dict[str, Any]], Any]
