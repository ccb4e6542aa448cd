"""Classes that files may hold: how their objects are taken apart and built.

A class says so itself, by the decorator `stored` or `stored_by`: what its parts may be, and under which names, for
files outlive the names of classes and fields in the code. Nothing is written of a class that does not, and nothing is
read but what the reader lists (`Kinds`): what is in a file cannot name anything else.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from types import SimpleNamespace
from typing import Any, TypeVar

from ssgp.saving.contents import Contents, ContentsError, Relations, Rule, Sizes
from ssgp.saving.foreign import FOREIGN
from ssgp.saving.kind import Kind

__all__ = ["Kind", "Kinds", "kind_of", "stored", "stored_by"]

Class = TypeVar("Class", bound=type)


def stored(
    rules: Mapping[str, Rule],
    *,
    name: str | None = None,
    relations: Relations | None = None,
    renamed: Mapping[str, str] | None = None,
    removed: Mapping[str, Any] | None = None,
    added: Iterable[str] = (),
    caches: Mapping[str, Rule] | None = None,
) -> Callable[[Class], Class]:
    """Decorator of a dataclass whose objects files may hold: its fields are the parts.

    Parameters
    ----------
    rules : dict of Rule
        What each field may be, by its name; fields with a default may be missing in a file.
    name : str, optional
        Name of the class in files; its own by default.
    relations : Relations, optional
        What must hold between the parts, which have the names of the fields.
    renamed : dict of str, optional
        Names of fields in files, where they are other ones.
    removed : dict, optional
        Parts that earlier versions had and the value they now always have: written for these versions to read, and
        any other value is refused.
    added : iterable of str, optional
        Fields that earlier versions did not have: written only where they have another value than their default, so
        that these versions can read all that they could make.
    caches : dict of Rule, optional
        Cached properties that are stored too, where they have been computed, and what they may be.
    """
    names_in_file, constants, cached_rules = dict(renamed or {}), dict(removed or {}), dict(caches or {})
    later = frozenset(added)

    def decorate(cls: Class) -> Class:
        names = {field.name: names_in_file.get(field.name, field.name) for field in fields(cls)}
        fields_by_name = {stored_name: name for name, stored_name in names.items()}
        absent = {names[field.name]: field.default for field in fields(cls) if field.name in later}

        def parts(value: Any) -> dict[str, Any]:  # noqa: ANN401
            values = {stored_name: getattr(value, name) for name, stored_name in names.items()}
            for part, default in absent.items():
                if type(values[part]) is type(default) and values[part] == default:
                    del values[part]
            return values | constants | {cache: vars(value)[cache] for cache in cached_rules if cache in vars(value)}

        def make(stored_parts: dict[str, Any]) -> Any:  # noqa: ANN401
            named = {fields_by_name.get(part, part): value for part, value in stored_parts.items()}
            value = cls(**{name: named[name] for name in names if name in named})
            vars(value).update({cache: named[cache] for cache in cached_rules if cache in named})
            return value

        def with_field_names(parts: Any) -> Iterable[tuple[bool, str]]:  # noqa: ANN401
            named = {str(fields_by_name.get(part, part)): value for part, value in vars(parts).items()}
            return relations(SimpleNamespace(**named)) if relations is not None else ()

        may_miss = {field.name for field in fields(cls) if (field.default, field.default_factory) != (MISSING, MISSING)}
        extra = {**cached_rules, **{part: _always(constant) for part, constant in constants.items()}}
        contents = Contents(
            {names[field]: rules[field] for field in names if field not in may_miss},
            {**{names[field]: rules[field] for field in names if field in may_miss}, **extra},
            with_field_names,
        )
        return stored_by(parts, make, contents, name)(cls)

    return decorate


def _always(constant: Any) -> Rule:  # noqa: ANN401
    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if type(value) is not type(constant) or value != constant:
            raise ContentsError(f"{value!r:.40} has no effect any more; only {constant!r} can be read")

    return rule


def stored_by(
    parts: Callable[[Any], Mapping[str, Any]],
    make: Callable[[dict[str, Any]], Any],
    contents: Contents,
    name: str | None = None,
) -> Callable[[Class], Class]:
    """Decorator of any class whose objects files may hold: functions that take them apart and build them."""

    def decorate(cls: Class) -> Class:
        cls.__stored__ = Kind(name or cls.__name__, parts, make, contents)  # type: ignore[attr-defined]
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
        # Of two classes with one name in files, that of the library is read.
        kinds = [(cls, kind_of(cls)) for cls in (*FOREIGN, *classes)]
        unknown = [cls.__name__ for cls, kind in kinds if kind is None]
        if unknown:
            raise TypeError(f"these classes do not say how they are stored: {', '.join(unknown)}")
        self.by_name = {kind.name: kind for _, kind in kinds if kind is not None}
