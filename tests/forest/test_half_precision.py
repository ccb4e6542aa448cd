"""Vectors in half precision, against products in double."""

import pickle

import numpy as np
import pytest

from ssgp.forest.half_precision import dot_each, to_half_precision


def dot(halved, phi, node):
    """Products of the rows of one tree."""
    return dot_of_trees([halved], phi[None], node[None])[0]


def dot_of_trees(trees, phi, node):
    out = np.empty((*node.shape, trees[0].values.shape[1]), np.float32)
    dot_each(trees, phi, node, out)
    return out


def products(vectors, phi, node):
    """Row by row, in float64."""
    return np.array([[vector @ row for vector in vectors[k]] for row, k in zip(phi.astype(float), node, strict=True)])


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("magnitude", [1e-20, 1e-6, 1.0, 1e6, 1e20])
def test_products_are_near_those_in_double(k, magnitude, rng):
    """Half precision moves each entry by 2^-11 of itself: 100 products' errors stay within 5 deviations of that."""
    vectors = magnitude * rng.normal(size=(6, k, 40))
    phi, node = rng.normal(size=(100, 40)).astype(np.float32), rng.integers(0, 6, size=100)
    halved = to_half_precision(vectors, np.full(6, 10.0 * magnitude))
    assert halved.values.dtype == np.float16
    error = dot(halved, phi, node) - products(vectors, phi, node)
    deviation = 2.0**-11 * magnitude * np.sqrt(40)
    assert np.abs(error).max() < 5 * deviation


@pytest.mark.parametrize("k", [1, 3])
def test_single_precision_where_half_would_be_noticed(k, rng):
    vectors = 1000.0 * rng.normal(size=(6, k, 40))
    phi, node = rng.normal(size=(100, 40)).astype(np.float32), rng.integers(0, 6, size=100)
    halved = to_half_precision(vectors, np.full(6, 1e-3))
    assert halved.values.dtype == np.float32
    np.testing.assert_allclose(dot(halved, phi, node), products(vectors, phi, node), rtol=1e-4, atol=0.02)


def test_vectors_of_very_different_sizes_keep_their_digits(rng):
    """Each vector has a scale of its own."""
    vectors = rng.uniform(0.5, 1.0, size=(5, 2, 8)) * np.logspace(-12, 12, 10).reshape(5, 2, 1)
    halved = to_half_precision(vectors, np.abs(vectors).max(axis=(1, 2)))
    node = np.arange(5)
    expected = products(vectors, np.ones((5, 8)), node)
    np.testing.assert_allclose(dot(halved, np.ones((5, 8), np.float32), node), expected, rtol=2.0**-10)


def test_vectors_are_gathered_for_some_rows_at_a_time(rng, monkeypatch):
    halved = to_half_precision(rng.normal(size=(6, 40, 40)), np.full(6, 10.0))
    phi, node = rng.normal(size=(100, 40)).astype(np.float32), rng.integers(0, 6, size=100)
    whole = dot(halved, phi, node)
    monkeypatch.setattr("ssgp.forest.half_precision.NUMBERS_AT_ONCE", 7 * 40 * 40)
    np.testing.assert_array_equal(dot(halved, phi, node), whole)


def test_zeros_stay_zeros():
    halved = to_half_precision(np.zeros((2, 1, 4)), np.ones(2))
    np.testing.assert_array_equal(dot(halved, np.ones((3, 4), np.float32), np.array([0, 1, 1])), 0.0)


def test_a_row_uses_its_own_nodes_vectors():
    halved = to_half_precision(np.eye(3)[:, None], np.ones(3))
    phi = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    np.testing.assert_array_equal(dot(halved, phi, np.array([2, 0, 1]))[:, 0], [2.0, 3.0, 7.0])


def test_bytes_are_two_an_entry_and_four_a_vector(rng):
    assert to_half_precision(rng.normal(size=(6, 2, 40)), np.full(6, 10.0)).nbytes == 2 * 6 * 2 * 40 + 4 * 6 * 2


def test_pickles_hold_the_half_precision_alone(rng):
    vectors, phi, node = rng.normal(size=(50, 1, 64)), rng.normal(size=(9, 64)).astype(np.float32), np.arange(9)
    halved = to_half_precision(vectors, np.full(50, 10.0))
    before = dot(halved, phi, node)
    pickled = pickle.dumps(halved)
    assert len(pickled) < halved.nbytes + 1000
    np.testing.assert_array_equal(dot(pickle.loads(pickled), phi, node), before)


def test_few_products_do_not_unpack_all(rng):
    halved = to_half_precision(rng.normal(size=(500, 2, 7)).astype(np.float32), np.ones(500))
    phi, node = rng.normal(size=(10, 7)).astype(np.float32), rng.integers(500, size=10)
    halved.prepare(10)
    assert "_singles" not in vars(halved)
    found = dot(halved, phi, node)
    halved.prepare(500)
    assert "_singles" in vars(halved)
    np.testing.assert_array_equal(dot(halved, phi, node), found)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("k", [1, 3])
def test_products_of_several_trees_are_those_of_each(k, shared, rng):
    trees = [to_half_precision(rng.normal(size=(6, k, 40)).astype(np.float32), np.full(6, 10.0)) for _ in range(5)]
    phi = rng.normal(size=(1 if shared else 5, 30, 40)).astype(np.float32)
    node = rng.integers(6, size=(5, 30))
    together = dot_of_trees(trees, phi, node)
    for tree, features, nodes, found in zip(trees, np.broadcast_to(phi, (5, 30, 40)), node, together, strict=True):
        np.testing.assert_array_equal(dot(tree, features, nodes), found)
    apart = [dot_of_trees(trees, phi[:, i : i + 1], node[:, i : i + 1]) for i in range(30)]
    np.testing.assert_array_equal(np.concatenate(apart, axis=1), together)
