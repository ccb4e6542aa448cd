"""Objects as named arrays and plain values, and back."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pytest

from ssgp.saving.contents import ContentsError, anything
from ssgp.saving.flattening import Flat, NotStorableError, flatten, rebuild
from ssgp.saving.kinds import Kinds, stored


@stored({"values": anything}, caches={"total": anything})
@dataclass(frozen=True, eq=False)
class Leaf:
    values: Any

    @cached_property
    def total(self):
        return self.values.sum()


@stored({"left": anything, "right": anything})
@dataclass(frozen=True, eq=False)
class Pair:
    left: Any
    right: Any


KINDS = Kinds([Leaf, Pair])


def there_and_back(value):
    flat = flatten(value)
    root, objects = json.loads(json.dumps([flat.root, flat.objects], allow_nan=False))
    return rebuild(Flat(root, objects, flat.arrays), KINDS)


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2**100, 0.1, -0.0, float("inf"), "text", "", [1, [2.5, None]], (1, "a"), {"a": (1,), "b": []}],
    ids=repr,
)
def test_plain_values_come_back_with_their_types(value):
    back = there_and_back(value)
    assert back == value
    assert repr(back) == repr(value)


def test_not_a_number_comes_back():
    assert np.isnan(there_and_back(float("nan")))


@pytest.mark.parametrize(
    "value", [np.float32(0.1), np.float64(np.nan), np.int8(-3), np.bool_(True), np.uint64(2**64 - 1)], ids=repr
)
def test_numpy_scalars_keep_their_precision(value):
    back = there_and_back(value)
    assert back.dtype == value.dtype
    np.testing.assert_array_equal(back, value)


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.arange(6, dtype=np.float16).reshape(2, 3).T,
        np.zeros((0, 4), np.float32),
        np.array(3.0),
        np.array([np.nan, -0.0, np.inf]),
        np.array([True, False]),
        np.arange(4, dtype=">i4"),
        np.array(["2020-01-01", "NaT"], "datetime64[s]"),
        np.array(["a", "bcd", ""]),
        np.array([["a", 1], [None, 2.5]], dtype=object),
        np.array([], dtype=object),
    ],
    ids=lambda array: f"{array.dtype}{array.shape}",
)
def test_arrays_come_back_with_type_shape_and_order(array):
    back = there_and_back(array)
    assert back.dtype == array.dtype.newbyteorder("=")
    assert back.shape == array.shape
    assert back.flags.f_contiguous == array.flags.f_contiguous
    np.testing.assert_array_equal(back, array)


def test_strided_views_come_back_as_whole_arrays():
    array = np.arange(24).reshape(2, 3, 4)[:, ::2, 1:]
    np.testing.assert_array_equal(there_and_back(array), array)


def test_what_is_shared_is_stored_once_and_shared_again():
    values = np.arange(1000.0)
    leaf = Leaf(values)
    pair = Pair([leaf, leaf], Pair(values, leaf))
    flat = flatten(pair)
    assert sum(array.nbytes for array in flat.arrays.values()) == values.nbytes
    back = there_and_back(pair)
    assert back.left[0] is back.left[1] is back.right.right
    assert back.right.left is back.left[0].values


def test_what_looks_alike_stays_apart():
    back = there_and_back(Pair(Leaf(np.zeros(3)), Leaf(np.zeros(3))))
    back.left.values[0] = 1.0
    assert back.right.values[0] == 0.0


def test_caches_are_kept_where_they_are_named_and_there():
    warm, cold = Leaf(np.ones(3)), Leaf(np.ones(3))
    assert warm.total == 3.0
    assert "total" in vars(there_and_back(warm))
    assert "total" not in vars(there_and_back(cold))


def test_arrays_are_named_for_where_they_are():
    assert list(flatten(Pair({"a": [Leaf(np.zeros(1))]}, 0)).arrays) == ["left.a.0.values"]


class Stranger(Leaf):
    """A subclass may do anything in its constructor."""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Stranger(1), "'left.1' is a Stranger"),
        (lambda: 0, "'left.1' is a function"),
        ({1, 2}, "'left.1' is a set"),
        (np.zeros(2, complex), "'left.1' is an array of complex128"),
        (np.zeros(2, [("a", int)]), r"'left.1' is an array of \[\('a'"),
        (np.array([object()]), "'left.1' is an array of object"),
        (np.datetime64("2020"), "'left.1' is a datetime64"),
        ({1: 2}, "'left.1' is a dict with the key 1"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_what_cannot_be_stored_is_named(value, said):
    with pytest.raises(NotStorableError, match=said):
        flatten(Pair([0, value], 0))


@pytest.mark.parametrize(
    "root",
    [
        {"object": 0},
        {"call": "os.system"},
        {"scalar": "object", "value": 1},
        {"array": "numbers", "time": "O"},
        {"array": "numbers", "time": "i4,i4"},
        {"texts": "numbers", "shape": [1], "dtype": "V8"},
        {"array": "missing"},
    ],
    ids=str,
)
def test_a_table_of_anything_else_is_refused(root):
    objects = [{"kind": "Popen", "parts": {"args": "true"}}]
    with pytest.raises(ContentsError):
        rebuild(Flat(root, objects if "object" in root else [], {"numbers": np.arange(1)}), KINDS)


def test_other_fields_than_the_class_has_are_refused():
    with pytest.raises(ContentsError, match="colour"):
        rebuild(Flat({"object": 0}, [{"kind": "Leaf", "parts": {"values": 1, "colour": 2}}], {}), KINDS)
