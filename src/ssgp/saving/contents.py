"""What stored objects may hold: rules of types, shapes, ranges and relations, which a file is held against.

A rule is a function of a value that raises `ContentsError` where the value is none that it allows. Sizes of arrays have
names: all parts of an object whose rules name the same size must have it. Nothing is built of parts that break a rule,
so that what is built needs no further look.
"""

import math
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

__all__ = [
    "INTEGERS",
    "MOST_LOG",
    "TINIEST",
    "Contents",
    "ContentsError",
    "Relations",
    "Rule",
    "Sizes",
    "anything",
    "array",
    "check_part",
    "either",
    "fixed_tuple",
    "flag",
    "integer",
    "json_value",
    "labels",
    "list_of",
    "made_of",
    "mapping_of",
    "number",
    "optional",
    "plain",
    "record",
    "strings",
    "text",
    "tuple_of",
]

INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
FLOATS = ("float16", "float32", "float64")
# A positive number, unless a rule says otherwise: its inverse and its square can be computed with.
TINIEST = 1e-150
# Logarithms of positive numbers, unless a rule says otherwise.
MOST_LOG = 300.0


class ContentsError(ValueError):
    """A part of a stored object is none that it may have."""


Sizes = dict[str, int]
Rule = Callable[[Any, Sizes], None]
# Whether parts that agree with their rules also agree with each other, and what is said where they do not.
Relations = Callable[[Any], Iterable[tuple[bool, str]]]


@dataclass(frozen=True)
class Contents:
    """Parts of one class of objects.

    Attributes
    ----------
    required, optional : dict of Rule
        Rules of the parts, by name; optional ones may be missing.
    relations : Relations
        Checked once all parts agree with their rules.
    """

    required: Mapping[str, Rule]
    optional: Mapping[str, Rule] = field(default_factory=dict)
    relations: Relations | None = None

    def check(self, parts: Any) -> None:  # noqa: ANN401
        """Raise `ContentsError`, which names the part, where these are not the parts of such an object."""
        if type(parts) is not dict:
            raise _refuse(parts, "a dict")
        rules = {**self.required, **self.optional}
        unknown, missing = sorted(parts.keys() - rules.keys()), sorted(self.required.keys() - parts.keys())
        if unknown or missing:
            raise ContentsError(f"there is no {missing[0]!r}" if missing else f"{unknown[0]!r} is unknown")
        sizes: Sizes = {}
        for name, value in parts.items():
            check_part(name, rules[name], value, sizes)
        absent = dict.fromkeys(self.optional)
        for holds, sentence in self.relations(SimpleNamespace(**{**absent, **parts})) if self.relations else ():
            if not holds:
                raise ContentsError(sentence)


def check_part(name: str, rule: Rule, value: Any, sizes: Sizes) -> None:  # noqa: ANN401
    """Hold a part against its rule; the error names it."""
    try:
        rule(value, sizes)
    except ContentsError as error:
        raise ContentsError(f"{name}: {error}") from None


def _bind(sizes: Sizes, name: str, size: int) -> None:
    """Refuse a size that is another one elsewhere."""
    if sizes.setdefault(name, size) != size:
        raise ContentsError(f"must have {sizes[name]} for {name}, as elsewhere, found {size}")


def _refuse(value: Any, allowed: str) -> ContentsError:  # noqa: ANN401
    found = f"{value.dtype} of shape {value.shape}" if isinstance(value, np.ndarray) else f"{type(value).__name__}"
    shown = f" {value!r:.40}" if isinstance(value, bool | int | float | str | None) else ""
    return ContentsError(f"must be {allowed}, found {found}{shown}")


def array(
    dtypes: str | tuple[str, ...] = FLOATS,
    *shape: str | int,
    least: float = -math.inf,
    most: float = math.inf,
    finite: bool = True,
) -> Rule:
    """An array of one of the dtypes, all of it finite and within [least, most]; its sizes have names or are given."""
    allowed = (dtypes,) if isinstance(dtypes, str) else dtypes
    described = f"an array of {' or '.join(allowed)} of shape ({', '.join(map(str, shape))})"

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if type(value) is not np.ndarray or value.dtype.name not in allowed or value.ndim != len(shape):
            raise _refuse(value, described)
        for name, size in zip(shape, value.shape, strict=True):
            if isinstance(name, str):
                _bind(sizes, name, size)
            elif name != size:
                raise ContentsError(f"must have {name} in its shape, found {value.shape}")
        if finite and value.size and not _within(value, least, most):
            raise ContentsError(f"must be finite numbers from {least:g} to {most:g}, found others")

    return rule


def _within(values: np.ndarray, least: float, most: float) -> bool:
    """Whether all values are finite and within the limits; one pass each for the ends, in which NaN is both."""
    low, high = values.min(), values.max()
    return bool(np.isfinite(low) and np.isfinite(high) and low >= least and high <= most)


def strings(size: str) -> Rule:
    """An array of strings of one axis."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        whole = type(value) is np.ndarray and value.ndim == 1 and value.dtype.kind in "OU"
        if not whole or not all(isinstance(entry, str) and _can_be_written(entry) for entry in value.tolist()):
            raise _refuse(value, "an array of strings")
        _bind(sizes, size, len(value))

    return rule


def labels(size: str) -> Rule:
    """An array of one axis of what users tell groups apart by: numbers, strings, times, or a mixture of these."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if type(value) is not np.ndarray or value.ndim != 1 or value.dtype.kind not in "biufmMOU":
            raise _refuse(value, "an array of labels")
        _bind(sizes, size, len(value))

    return rule


def _can_be_written(string: str) -> bool:
    """Whether a string has no half of a character, which no library takes."""
    return string.isascii() or not any("\ud800" <= character <= "\udfff" for character in string)


def integer(least: int = 0, most: int = 2**63 - 1, *, size: str | None = None) -> Rule:
    """A whole number within [least, most]; with a size's name, it is that size."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or not least <= value <= most:
            raise _refuse(value, f"a whole number from {least} to {most}")
        if size is not None:
            _bind(sizes, size, int(value))

    return rule


def number(least: float = -math.inf, most: float = math.inf, *, or_whole: bool = False, finite: bool = True) -> Rule:
    """A float within [least, most], or also a whole number where users may have given one."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        kinds = float | np.floating | int | np.integer if or_whole else float | np.floating
        is_number = isinstance(value, kinds) and not isinstance(value, bool)
        if not (is_number and least <= value <= most and (not finite or _is_finite(value))):
            raise _refuse(value, f"a number from {least:g} to {most:g}")

    return rule


def _is_finite(value: Any) -> bool:  # noqa: ANN401
    """Whether a number is one that a float can hold."""
    return abs(int(value)) <= sys.float_info.max if isinstance(value, int | np.integer) else math.isfinite(value)


def flag(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise _refuse(value, "true or false")


def text(*allowed: str) -> Rule:
    """A string, one of those allowed if any are named."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if not isinstance(value, str) or (allowed and value not in allowed) or not _can_be_written(value):
            raise _refuse(value, " or ".join(map(repr, allowed)) or "a string")

    return rule


def optional(inner: Rule) -> Rule:
    """None, or what the inner rule allows."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if value is not None:
            inner(value, sizes)

    return rule


def either(*rules: Rule) -> Rule:
    """What any of the rules allows."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        errors = []
        for inner in rules:
            bound = dict(sizes)
            try:
                inner(value, bound)
            except ContentsError as error:
                errors.append(error)
            else:
                sizes.update(bound)
                return
        raise errors[-1]

    return rule


def _sequence(kind: type, inner: Rule, least: int, most: int | None) -> Rule:
    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if type(value) is not kind or len(value) < least or (most is not None and len(value) > most):
            raise _refuse(value, f"a {kind.__name__} of {least} or more parts")
        for i, part in enumerate(value):
            check_part(str(i), inner, part, sizes)

    return rule


def list_of(inner: Rule, least: int = 0, most: int | None = None) -> Rule:
    """A list of parts that the inner rule allows."""
    return _sequence(list, inner, least, most)


def tuple_of(inner: Rule, least: int = 0, most: int | None = None) -> Rule:
    """A tuple of parts that the inner rule allows."""
    return _sequence(tuple, inner, least, most)


def fixed_tuple(*inner: Rule) -> Rule:
    """A tuple of as many parts as there are rules."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if type(value) is not tuple or len(value) != len(inner):
            raise _refuse(value, f"a tuple of {len(inner)} parts")
        for i, (part_rule, part) in enumerate(zip(inner, value, strict=True)):
            check_part(str(i), part_rule, part, sizes)

    return rule


def mapping_of(inner: Rule) -> Rule:
    """A dict of values that the inner rule allows; keys are strings, as in all files."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if type(value) is not dict:
            raise _refuse(value, "a dict")
        for name, part in value.items():
            check_part(repr(name), inner, part, sizes)

    return rule


def record(**rules: Rule) -> Rule:
    """A dict of just these entries, with sizes of their own."""
    contents = Contents(rules)

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        contents.check(value)

    return rule


def made_of(*classes: type, **size_of: Callable[[Any], int]) -> Rule:
    """An object of one of the classes, built before by its own rules; keywords take it to sizes that it shares."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if not isinstance(value, classes):
            raise _refuse(value, " or ".join(cls.__name__ for cls in classes))
        for name, take in size_of.items():
            _bind(sizes, name, take(value))

    return rule


def plain(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
    """A setting as users give it: none, a string, a number, or an array or list of numbers."""
    scalar = value is None or isinstance(value, str | bool | int | float | np.bool_ | np.integer | np.floating)
    numbers = type(value) is np.ndarray and value.dtype.name in (*FLOATS, *INTEGERS)
    if isinstance(value, list | tuple):
        for part in value:
            plain(part, sizes)
    elif not (scalar or numbers):
        raise _refuse(value, "a string, a number, or numbers")


def anything(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
    """Whatever can be stored at all."""


def json_value(depth: int) -> Rule:
    """Whatever JSON holds, nested at most so deep."""

    def rule(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
        if type(value) not in (dict, list):
            return
        if depth == 0:
            raise _refuse(value, "nested less deeply")
        inner = json_value(depth - 1)
        for part in value.values() if type(value) is dict else value:
            inner(part, sizes)

    return rule
