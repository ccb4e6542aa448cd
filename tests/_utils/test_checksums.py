"""Checksums of arrays."""

import zlib

import numpy as np
import pytest

from ssgp._utils.checksums import checksum


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool", "datetime64[s]"])
def test_it_is_the_crc_of_the_bytes(dtype, rng):
    array = rng.integers(0, 2, size=(5, 3)).astype(dtype)
    assert checksum(array) == zlib.crc32(array.tobytes())


def test_parts_one_after_the_other_are_the_whole(rng):
    array = rng.normal(size=(10, 3))
    assert checksum(array[4:], checksum(array[:4])) == checksum(array)


def test_what_counts_is_what_is_in_an_array_not_how_it_lies(rng):
    array = rng.normal(size=(10, 6))
    assert checksum(np.asfortranarray(array)) == checksum(array)
    assert checksum(array[::2, 1::2]) == checksum(array[::2, 1::2].copy())


def test_no_array_changes_nothing():
    assert checksum(None, 17) == 17
