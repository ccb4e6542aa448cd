"""How objects of one class are stored in files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ssgp.saving.contents import Contents, ContentsError

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
        Takes the parts, once they are checked, to an object.
    contents : Contents
        What the parts may be.
    """

    name: str
    parts: Callable[[Any], Mapping[str, Any]]
    make: Callable[[dict[str, Any]], Any]
    contents: Contents

    def build(self, parts: dict[str, Any]) -> Any:  # noqa: ANN401
        """The object of these parts; `ContentsError` where they are not what the class allows."""
        self.check(parts)
        return self.make(parts)

    def check(self, parts: Mapping[str, Any]) -> None:
        """Raise `ContentsError` where the parts are not what the class allows."""
        try:
            self.contents.check(parts)
        except ContentsError as error:
            raise ContentsError(f"{self.name}: {error}") from None
