"""Classes that files may hold: how their objects are taken apart and built.

A class says so itself, by the decorator `stored` or `stored_by`, and under which name: files outlive the names of
classes and fields in the code. Nothing is written of a class that does not, and nothing is read but what the reader
lists (`Kinds`): what is in a file cannot name anything else.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from ssgp.saving.foreign import FOREIGN
from ssgp.saving.kind import Kind

__all__ = ["Kind", "Kinds", "kind_of", "stored", "stored_by"]

Class = TypeVar("Class", bound=type)


def stored(
    name: str | None = None,
    *,
    renamed: Mapping[str, str] | None = None,
    removed: Mapping[str, Any] | None = None,
    caches: tuple[str, ...] = (),
) -> Callable[[Class], Class]:
    """Decorator of a dataclass whose objects files may hold: its fields are the parts.

    Parameters
    ----------
    name : str, optional
        Name of the class in files; its own by default.
    renamed : dict of str, optional
        Names of fields in files, where they are other ones.
    removed : dict, optional
        Parts that earlier versions had and the value they now always have: written for these versions to read, and
        any other value is refused.
    caches : tuple of str
        Cached properties that are stored too, where they have been computed.
    """
    names_in_file, constants = dict(renamed or {}), dict(removed or {})

    def decorate(cls: Class) -> Class:
        names = {field.name: names_in_file.get(field.name, field.name) for field in fields(cls)}

        def parts(value: Any) -> dict[str, Any]:  # noqa: ANN401
            values = {stored_name: getattr(value, name) for name, stored_name in names.items()}
            return values | constants | {cache: vars(value)[cache] for cache in caches if cache in vars(value)}

        def make(stored_parts: dict[str, Any]) -> Any:  # noqa: ANN401
            for part, constant in constants.items():
                if stored_parts.pop(part, constant) != constant:
                    raise ValueError(f"{cls.__name__} has no {part} any more")
            cached = {cache: stored_parts.pop(cache) for cache in caches if cache in stored_parts}
            present = {name: stored_name for name, stored_name in names.items() if stored_name in stored_parts}
            values = {name: stored_parts.pop(stored_name) for name, stored_name in present.items()}
            value = cls(**values, **stored_parts)
            vars(value).update(cached)
            return value

        return stored_by(parts, make, name)(cls)

    return decorate


def stored_by(
    parts: Callable[[Any], Mapping[str, Any]], make: Callable[[dict[str, Any]], Any], name: str | None = None
) -> Callable[[Class], Class]:
    """Decorator of any class whose objects files may hold: functions that take them apart and build them."""

    def decorate(cls: Class) -> Class:
        cls.__stored__ = Kind(name or cls.__name__, parts, make)  # type: ignore[attr-defined]
        return cls

    return decorate


def kind_of(cls: type) -> Kind | None:
    """The kind of a class, None where files do not hold it; a subclass of a stored class is not stored."""
    return vars(cls).get("__stored__") or FOREIGN.get(cls)


class Kinds:
    """Kinds that may be read, by their names in files.

    Parameters
    ----------
    classes : iterable of type
        Stored classes; those of NumPy, SciPy and scikit-learn that models need are always among them.
    """

    def __init__(self, classes: Iterable[type]) -> None:
        kinds = [(cls, kind_of(cls)) for cls in (*classes, *FOREIGN)]
        unknown = [cls.__name__ for cls, kind in kinds if kind is None]
        if unknown:
            raise TypeError(f"these classes do not say how they are stored: {', '.join(unknown)}")
        self.by_name = {kind.name: kind for _, kind in kinds if kind is not None}
