"""Nested objects as named arrays and a table of plain values, and back.

Only objects of stored classes are taken apart, and only those of kinds that the reader names are built. An object or
array that is met twice is stored once, and is one again when it is built.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssgp.saving.kinds import Kinds, kind_of

__all__ = ["Flat", "NotStorableError", "flatten", "rebuild"]

# A value as JSON holds it: plain, or a dict whose first key says what it stands for.
Node = Any

INTEGERS = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
TENSOR_TYPES = ("bool", "float16", "float32", "float64", *INTEGERS)


class NotStorableError(TypeError):
    """Something in a model is of no kind that files hold."""


@dataclass(frozen=True)
class Flat:
    """A flattened object.

    Attributes
    ----------
    root : node
        The object.
    objects : list of dict
        Kind and parts of every object in it; parts come before what they are parts of.
    arrays : dict of arrays
        All arrays, C-contiguous, named for where they were met first.
    """

    root: Node
    objects: list[dict[str, Any]] = field(default_factory=list)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)


def flatten(value: Any) -> Flat:  # noqa: ANN401
    """Take an object apart; `NotStorableError` names the first part of a class that is not stored."""
    flattening = _Flattening()
    root = flattening.node(value, "")
    return Flat(root, flattening.objects, flattening.arrays)


def rebuild(flat: Flat, kinds: Kinds) -> Any:  # noqa: ANN401
    """Build the object again. Whatever is amiss raises ValueError, KeyError or TypeError."""
    rebuilding = _Rebuilding(flat.arrays)
    for entry in flat.objects:
        kind = kinds.by_name[entry["kind"]]
        rebuilding.objects.append(kind.make({name: rebuilding.value(node) for name, node in entry["parts"].items()}))
    return rebuilding.value(flat.root)


class _Flattening:
    """One run over an object."""

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self.arrays: dict[str, NDArray[Any]] = {}
        # Together with the values: an id is good for as long as its object lives.
        self._met: dict[int, tuple[Node, Any]] = {}

    def node(self, value: Any, path: str) -> Node:  # noqa: ANN401
        if value is None or isinstance(value, str) or type(value) in (bool, int):
            return str(value) if isinstance(value, str) else value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) in (list, tuple):
            return {type(value).__name__: [self.node(part, _join(path, str(i))) for i, part in enumerate(value)]}
        if type(value) is dict:
            return {"dict": {_key(name, path): self.node(part, _join(path, name)) for name, part in value.items()}}
        if id(value) not in self._met:
            self._met[id(value)] = self._large(value, path), value
        return self._met[id(value)][0]

    def _large(self, value: Any, path: str) -> Node:  # noqa: ANN401
        if isinstance(value, np.generic):
            return self._scalar(value, path)
        if type(value) is np.ndarray:
            return self._array(value, path)
        kind = kind_of(type(value))
        if kind is None:
            raise NotStorableError(_refusal(value, path))
        nodes = {name: self.node(part, _join(path, name)) for name, part in kind.parts(value).items()}
        self.objects.append({"kind": kind.name, "parts": nodes})
        return {"object": len(self.objects) - 1}

    def _scalar(self, value: np.generic, path: str) -> Node:
        if value.dtype.name not in TENSOR_TYPES:
            raise NotStorableError(_refusal(value, path))
        return {"scalar": value.dtype.name, "value": self.node(value.item(), path)}

    def _array(self, array: NDArray[Any], path: str) -> Node:
        if array.dtype.kind in "OU":
            return self._texts(array, path)
        node = {}
        if array.dtype.kind in "mM":
            node["time"], array = array.dtype.str, array.view(np.int64)
        if array.dtype.name not in TENSOR_TYPES:
            raise NotStorableError(_refusal(array, path))
        # Products of matrices in another order may differ in their last bits.
        if array.flags.f_contiguous and not array.flags.c_contiguous:
            node["transposed"], array = True, array.T
        self.arrays[path] = np.ascontiguousarray(array, array.dtype.newbyteorder("="))
        return {"array": path, **node}

    def _texts(self, array: NDArray[Any], path: str) -> Node:
        """Strings (and what else JSON holds) as the bytes of a JSON list: there may be millions."""
        values = array.ravel().tolist()
        if not all(value is None or isinstance(value, str | bool | int | float) for value in values):
            raise NotStorableError(_refusal(array, path))
        self.arrays[path] = np.frombuffer(json.dumps(values).encode(), np.uint8)
        return {"texts": path, "shape": list(array.shape), "dtype": array.dtype.str}


class _Rebuilding:
    """One run over a table of nodes."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._made: dict[str, NDArray[Any]] = {}
        self.objects: list[Any] = []

    def value(self, node: Node) -> Any:  # noqa: ANN401
        if not isinstance(node, dict):
            return node
        form, content = next(iter(node.items()))
        if form == "float":
            return float(content)
        if form in ("list", "tuple"):
            return (list if form == "list" else tuple)(self.value(part) for part in content)
        if form == "dict":
            return {name: self.value(part) for name, part in content.items()}
        if form == "object":
            return self.objects[content]
        if form == "scalar":
            return _tensor_type(content).type(self.value(node["value"]))
        if form in ("array", "texts"):
            return self._array(content, node)
        raise ValueError(f"there is nothing called {form!r} in a saved model")

    def _array(self, name: str, node: dict[str, Any]) -> NDArray[Any]:
        if name not in self._made:
            self._made[name] = self._texts(node) if "texts" in node else self._numbers(node)
        return self._made[name]

    def _numbers(self, node: dict[str, Any]) -> NDArray[Any]:
        array = self._arrays[node["array"]]
        if node.get("transposed"):
            array = array.T
        return array.view(_time_type(node["time"])) if "time" in node else array

    def _texts(self, node: dict[str, Any]) -> NDArray[Any]:
        values = json.loads(self._arrays[node["texts"]].tobytes())
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out.astype(_text_type(node["dtype"])).reshape(node["shape"])


def _key(name: Any, path: str) -> str:  # noqa: ANN401
    if type(name) is not str:
        raise NotStorableError(f"cannot save the model: {path!r} is a dict with the key {name!r}; keys must be strings")
    return name


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _refusal(value: Any, path: str) -> str:  # noqa: ANN401
    description = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else f"a {type(value).__qualname__}"
    where = f"{path!r} is" if path else "this is"
    return (
        f"cannot save the model: {where} {description}; files hold numbers, strings, arrays of them and "
        "what ssgp itself is made of"
    )


def _tensor_type(name: str) -> np.dtype:
    if name not in TENSOR_TYPES:
        raise ValueError(f"{name!r} is not a type of numbers in a saved model")
    return np.dtype(name)


def _time_type(name: str) -> np.dtype:
    return _of_kind(name, "mM")


def _text_type(name: str) -> np.dtype:
    return _of_kind(name, "OU")


def _of_kind(name: str, kinds: str) -> np.dtype:
    """A type of arrays named in a file, if it is one of those that may be."""
    dtype = np.dtype(name)
    if dtype.kind not in kinds or dtype.fields is not None:
        raise ValueError(f"{name!r} is not a type of arrays in a saved model")
    return dtype
