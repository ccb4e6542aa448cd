"""Nested objects as named arrays and a table of plain values, and back.

Only objects of stored classes are taken apart, and only those of kinds that the reader names are built. An object or
array that is met twice is stored once, and is one again when it is built.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssgp.saving.contents import INTEGERS, ContentsError
from ssgp.saving.kinds import Kinds, kind_of

__all__ = ["Flat", "NotStorableError", "flatten", "rebuild"]

# A value as JSON holds it: plain, or a dict whose first key says what it stands for.
Node = Any

# What nodes stand for, and the keys that they may have.
FORMS = {
    **{form: {form} for form in ("float", "list", "tuple", "dict", "object")},
    "scalar": {"scalar", "value"},
    "array": {"array", "time", "transposed"},
    "texts": {"texts", "shape", "dtype"},
}
TIME_TYPE = re.compile(r"[<>=|]?[mM]8(\[([1-9]\d{0,3})?(Y|M|W|D|h|m|s|ms|us|ns)\])?")
TEXT_TYPE = re.compile(r"\|?O|[<>=]?U\d{1,8}")
# Bytes, and bytes for each byte in the file, that strings of one width may take.
MOST_PADDING, MOST_TIMES = 1 << 24, 64
# Places at which an array may stand: what is built of one may be a copy.
MOST_PLACES = 8
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
    """Build the object again; what no file may hold raises `ContentsError`."""
    rebuilding = _Rebuilding(flat.arrays, kinds)
    for entry in flat.objects:
        rebuilding.add(entry)
    value = rebuilding.value(flat.root)
    rebuilding.check_all_used()
    return value


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
        parts = kind.parts(value)
        nodes = {name: self.node(part, _join(path, name)) for name, part in parts.items()}
        try:
            kind.check(parts)
        except ContentsError as error:
            raise NotStorableError(f"cannot save the model: {error}") from error
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
        self.arrays[path] = np.asarray(array, array.dtype.newbyteorder("="), order="C")
        return {"array": path, **node}

    def _texts(self, array: NDArray[Any], path: str) -> Node:
        """Strings (and what else JSON holds) as the bytes of a JSON list: there may be millions."""
        values = array.ravel().tolist()
        if not all(value is None or isinstance(value, str | bool | int | float) for value in values):
            raise NotStorableError(_refusal(array, path))
        self.arrays[path] = np.frombuffer(json.dumps(values).encode(), np.uint8)
        return {"texts": path, "shape": list(array.shape), "dtype": array.dtype.str}


class _Rebuilding:
    """One run over a table of nodes, in which anything may be wrong."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]], kinds: Kinds) -> None:
        self._arrays, self._kinds = arrays, kinds
        self._made: dict[str, tuple[Node, NDArray[Any]]] = {}
        self._objects: list[Any] = []
        # An array without entries takes no bytes, and none of its sizes may be larger than the file is.
        n_bytes = sum(array.nbytes for array in arrays.values())
        self._most = MOST_PADDING + n_bytes
        self._padding_left = MOST_PADDING + MOST_TIMES * n_bytes
        self._n_places: Counter[str] = Counter()
        self._used: set[int] = set()

    def add(self, entry: Node) -> None:
        """Build the next object; its parts are among those before it."""
        if type(entry) is not dict or entry.keys() != {"kind", "parts"} or type(entry["parts"]) is not dict:
            raise ContentsError("an object is not stored as its kind and parts")
        kind = self._kinds.by_name.get(entry["kind"]) if type(entry["kind"]) is str else None
        if kind is None:
            raise ContentsError(f"{entry['kind']!r:.80} is no kind of object that a model is made of")
        self._objects.append(kind.build({name: self.value(node) for name, node in entry["parts"].items()}))

    def value(self, node: Node) -> Any:  # noqa: ANN401
        if type(node) is list:
            raise ContentsError(f"{node!r:.80} stands for nothing in a saved model")
        if type(node) is not dict:
            return node
        form = next((form for form in FORMS if form in node), None)
        if form is None or not node.keys() <= FORMS[form]:
            raise ContentsError(f"{node!r:.80} stands for nothing in a saved model")
        return getattr(self, f"_{form}")(node[form], node)

    def _float(self, content: Node, node: Node) -> float:
        if content not in ("nan", "inf", "-inf"):
            raise ContentsError(f"{content!r:.40} is no number")
        return float(content)

    def _list(self, content: Node, node: Node) -> list[Any]:
        return [self.value(part) for part in _expect(content, list)]

    def _tuple(self, content: Node, node: Node) -> tuple[Any, ...]:
        return tuple(self._list(content, node))

    def _dict(self, content: Node, node: Node) -> dict[str, Any]:
        return {name: self.value(part) for name, part in _expect(content, dict).items()}

    def _object(self, content: Node, node: Node) -> Any:  # noqa: ANN401
        if _expect(content, int) not in range(len(self._objects)):
            raise ContentsError(f"there is no object {content} before this one")
        self._used.add(content)
        return self._objects[content]

    def check_all_used(self) -> None:
        """Refuse objects that are no part of anything."""
        if len(self._used) < len(self._objects):
            raise ContentsError("there are objects that are no part of the model")

    def _scalar(self, content: Node, node: Node) -> np.generic:
        dtype, value = _tensor_type(content), self.value(node.get("value"))
        if type(value) is not {"b": bool, "f": float}.get(dtype.kind, int):
            raise ContentsError(f"{value!r:.40} is no {content}")
        if dtype.kind in "iu" and not np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
            raise ContentsError(f"{value!r:.40} is no {content}")
        return dtype.type(value)

    def _array(self, content: Node, node: Node) -> NDArray[Any]:
        return self._once(content, node, self._numbers)

    def _texts(self, content: Node, node: Node) -> NDArray[Any]:
        return self._once(content, node, self._strings)

    def _once(self, name: Node, node: Node, make: Callable[[NDArray[Any], Node], NDArray[Any]]) -> NDArray[Any]:
        """An array that is one wherever it is met, and the same everywhere."""
        if type(name) is not str or name not in self._arrays:
            raise ContentsError(f"there is no array {name!r:.80}")
        self._n_places[name] += 1
        if self._n_places[name] > MOST_PLACES:
            raise ContentsError(f"the array {name!r:.80} stands in more than {MOST_PLACES} places")
        if name not in self._made:
            self._made[name] = node, make(self._arrays[name], node)
        first, made = self._made[name]
        if first != node:
            raise ContentsError(f"the array {name!r:.80} is described in two ways")
        return made

    def _numbers(self, array: NDArray[Any], node: Node) -> NDArray[Any]:
        if array.dtype.name not in TENSOR_TYPES or max(array.shape, default=0) > self._most:
            raise ContentsError(f"{array.dtype} of shape {array.shape} is no array of a saved model")
        if node.get("transposed", True) is not True:
            raise ContentsError("an array is transposed or not")
        array = array.T if "transposed" in node else array
        return array.view(_time_type(node["time"], array)) if "time" in node else array

    def _strings(self, array: NDArray[Any], node: Node) -> NDArray[Any]:
        values = _json_list(array)
        shape, dtype = node.get("shape"), _text_type(node.get("dtype"))
        plain = all(_is_entry(value) for value in values)
        if not plain or type(shape) is not list or not all(type(size) is int and size >= 0 for size in shape):
            raise ContentsError("an array of texts is not stored as a list of them and a shape")
        if math.prod(shape) != len(values) or max(shape, default=0) > self._most:
            raise ContentsError(f"{len(values)} texts have not the shape {shape!r:.80}")
        self._padding_left -= dtype.itemsize * len(values)
        if self._padding_left < 0:
            raise ContentsError(f"{len(values)} texts are padded to {dtype.itemsize} bytes each")
        out = np.empty(len(values), dtype=object)
        out[:] = values
        return out.astype(dtype).reshape(shape)


def _json_list(array: NDArray[Any]) -> list[Any]:
    """The list whose JSON has these bytes."""
    try:
        return _expect(json.loads(array.tobytes()), list)
    except ValueError:
        raise ContentsError("texts are not stored as the JSON of a list") from None


def _is_entry(value: Any) -> bool:  # noqa: ANN401
    return value is None or type(value) in (str, bool, int, float)


def _expect(content: Node, kind: type) -> Any:  # noqa: ANN401
    if type(content) is not kind:
        raise ContentsError(f"{content!r:.80} is no {kind.__name__}")
    return content


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


def _tensor_type(name: Node) -> np.dtype:
    if name not in TENSOR_TYPES:
        raise ContentsError(f"{name!r:.40} is not a type of numbers in a saved model")
    return np.dtype(name)


def _time_type(name: Node, array: NDArray[Any]) -> np.dtype:
    if array.dtype != np.int64 or type(name) is not str or not TIME_TYPE.fullmatch(name):
        raise ContentsError(f"{name!r:.40} is not a type of times in a saved model")
    return np.dtype(name)


def _text_type(name: Node) -> np.dtype:
    if type(name) is not str or not TEXT_TYPE.fullmatch(name):
        raise ContentsError(f"{name!r:.40} is not a type of texts in a saved model")
    return np.dtype(name)
