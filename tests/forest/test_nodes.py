"""Sums of leaves, and the models solved from them, from the root of a branch down."""

from itertools import pairwise

import numpy as np
import pytest

from ssgp.forest.nodes import LeafSums, NodeArrays, leaf_sums, solve_branch
from ssgp.spectrum.objectives import Block

Q, RIDGE = 5, 0.7


def rows(rng, n, weighted=False):
    X = rng.normal(size=(n, 2))
    return rng.normal(size=(n, Q)), Block(X, rng.normal(size=n), rng.uniform(0.3, 3.0, size=n) if weighted else None)


def branch(rng, sizes=(12, 3, 0, 40), weighted=False):
    """Four leaves: features, rows, bounds and sums."""
    bounds = np.concatenate([[0], np.cumsum(sizes)])
    phi, block = rows(rng, bounds[-1], weighted)
    return phi, block, bounds, leaf_sums(phi, block, bounds)


def weights_of(block):
    return np.ones(len(block.y)) if block.weight is None else block.weight


def assert_same_sums(one: LeafSums, other: LeafSums):
    np.testing.assert_allclose(one.products, other.products, atol=1e-10)
    np.testing.assert_allclose(one.count, other.count, atol=1e-10)


@pytest.mark.parametrize("sizes", [(4, 3, 5), (0, 6, 0), (0, 0, 1), (5, 0, 0), (7,)], ids=str)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_sums_against_loops(weighted, sizes, rng):
    phi, block, bounds, sums = branch(rng, sizes, weighted)
    products, count = np.zeros((len(sizes), Q + 1, Q + 1)), np.zeros(len(sizes))
    for k in range(len(sizes)):
        for i in range(bounds[k], bounds[k + 1]):
            joined = np.append(phi[i], block.y[i])
            products[k] += weights_of(block)[i] * np.outer(joined, joined)
            count[k] += weights_of(block)[i]
    np.testing.assert_allclose(sums.products, products, atol=1e-12)
    np.testing.assert_allclose(sums.count, count, atol=1e-12)


def test_float32_features_are_summed_in_float64(rng):
    phi, block = rows(rng, 3000)
    sums = leaf_sums(phi.astype(np.float32), block, np.array([0, 3000]))
    exact = phi.astype(np.float32).astype(float)
    np.testing.assert_allclose(sums.products[0, :-1, :-1], exact.T @ exact, rtol=1e-12, atol=1e-9)


class TestMerge:
    def parts(self, rng):
        return [branch(rng, sizes)[3] for sizes in ((2, 3), (0, 5), (4, 0))]

    def test_is_associative_and_commutative(self, rng):
        a, b, c = self.parts(rng)
        assert_same_sums(a.merge(b).merge(c), a.merge(b.merge(c)))
        assert_same_sums(a.merge(b), b.merge(a))

    @pytest.mark.parametrize("weighted", [False, True])
    def test_of_parts_is_the_whole(self, weighted, rng):
        phi, block = rows(rng, 30, weighted)
        whole = leaf_sums(phi, block, np.array([0, 30]))
        total = None
        for part in (slice(0, 7), slice(7, 8), slice(8, 30)):
            weight = None if block.weight is None else block.weight[part]
            size = part.stop - part.start
            sums = leaf_sums(phi[part], Block(block.X[part], block.y[part], weight), np.array([0, size]))
            total = sums if total is None else total.merge(sums)
        assert total is not None
        assert_same_sums(total, whole)


def test_groups_are_the_sums_of_their_leaves(rng):
    *_, leaves = branch(rng)
    grouped = leaves.grouped(2)
    for k in range(2):
        np.testing.assert_allclose(grouped.products[k], leaves.products[2 * k] + leaves.products[2 * k + 1])
        assert grouped.count[k] == leaves.count[2 * k] + leaves.count[2 * k + 1]
    assert_same_sums(leaves.grouped(4), leaves.grouped(2).grouped(2))
    assert_same_sums(leaves.grouped(1), leaves)


def test_rows_in_any_order_have_the_same_sums(rng):
    phi, block, bounds, sums = branch(rng)
    order = np.concatenate([start + rng.permutation(stop - start) for start, stop in pairwise(bounds.tolist())])
    assert_same_sums(leaf_sums(phi[order], Block(block.X[order], block.y[order]), bounds), sums)


class TestSolve:
    @pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
    def test_the_root_is_bayesian_ridge_regression(self, weighted, rng):
        phi, block, _, leaves = branch(rng, weighted=weighted)
        root = solve_branch(leaves, [4, 1], RIDGE, np.eye(Q))[0]
        W = np.diag(weights_of(block))
        A = phi.T @ W @ phi + RIDGE * np.eye(Q)
        weights = np.linalg.solve(A, phi.T @ W @ block.y)
        residual = block.y - phi @ weights
        np.testing.assert_allclose(root.weights[0], weights, atol=1e-10)
        assert root.rss[0] == pytest.approx(residual @ W @ residual + RIDGE * weights @ weights, rel=1e-9)
        assert root.log_determinant[0] == pytest.approx(np.linalg.slogdet(A / RIDGE)[1], rel=1e-9)
        assert root.count[0] == pytest.approx(weights_of(block).sum())

    def test_children_are_shrunk_towards_their_parents(self, rng):
        phi, block, bounds, leaves = branch(rng)
        levels = solve_branch(leaves, [4, 2, 1], RIDGE, np.eye(Q))
        for depth, group in ((1, 2), (2, 1)):
            for k in range(4 // group):
                parent = levels[depth - 1].weights[k // 2]
                part = slice(bounds[k * group], bounds[(k + 1) * group])
                G, c = phi[part].T @ phi[part], phi[part].T @ block.y[part]
                A = G + RIDGE * np.eye(Q)
                own = parent + np.linalg.inv(A) @ (c - G @ parent)
                np.testing.assert_allclose(levels[depth].weights[k], own, atol=1e-10)
                residual = block.y[part] - phi[part] @ own
                rss = residual @ residual + RIDGE * np.sum((own - parent) ** 2)
                assert levels[depth].rss[k] == pytest.approx(rss, rel=1e-7, abs=1e-9)
                assert levels[depth].log_determinant[k] == pytest.approx(np.linalg.slogdet(A / RIDGE)[1], abs=1e-9)

    def test_an_empty_leaf_is_as_its_parent(self, rng):
        *_, leaves = branch(rng)
        root, children = solve_branch(leaves, [4, 1], RIDGE, np.eye(Q))
        np.testing.assert_allclose(children.weights[2], root.weights[0])
        assert (children.count[2], children.rss[2]) == (0.0, pytest.approx(0.0, abs=1e-12))
        assert children.log_determinant[2] == pytest.approx(0.0, abs=1e-12)

    def test_without_shrinking_leaves_are_on_their_own(self, rng):
        phi, block, bounds, leaves = branch(rng)
        levels = solve_branch(leaves, [4, 2, 1], RIDGE, np.eye(Q), shrink=False)
        for k in range(4):
            part = slice(bounds[k], bounds[k + 1])
            A = phi[part].T @ phi[part] + RIDGE * np.eye(Q)
            np.testing.assert_allclose(
                levels[2].weights[k], np.linalg.solve(A, phi[part].T @ block.y[part]), atol=1e-10
            )

    def test_a_fit_without_residuals_has_none(self, rng):
        phi, block, bounds, _ = branch(rng, (30,))
        exact = leaf_sums(phi, Block(block.X, phi @ np.arange(Q)), bounds)
        solved = solve_branch(exact, [1], 1e-9, np.eye(Q))[0]
        np.testing.assert_allclose(solved.weights[0], np.arange(Q), atol=1e-6)
        assert 0.0 <= solved.rss[0] < 1e-6

    def test_identical_rows_and_a_tiny_ridge_stay_finite(self, rng):
        phi = np.tile(rng.normal(size=Q).astype(np.float32), (500, 1))
        sums = leaf_sums(phi, Block(phi[:, :1], np.ones(500)), np.array([0, 500]))
        solved = solve_branch(sums, [1], 1e-30, np.eye(Q))[0]
        assert np.isfinite(solved.sketch).all()
        assert phi[0] @ solved.weights[0] == pytest.approx(1.0, abs=1e-3)

    def test_levels_of_branches_are_joined_in_order(self, rng):
        parts = [solve_branch(branch(rng)[3], [4, 1], RIDGE, np.eye(Q))[1] for _ in range(3)]
        joined = NodeArrays(12, np.eye(Q))
        for part in parts:
            joined.append(part)
        np.testing.assert_array_equal(joined.nodes.rss, np.concatenate([part.rss for part in parts]))
        np.testing.assert_array_equal(joined.nodes.sketch[4:8], parts[1].sketch.astype(np.float32))
        np.testing.assert_array_equal(joined.nodes.weights[8:], parts[2].weights.astype(np.float32))


class TestSketch:
    def leverage(self, phi, part, at):
        return at @ np.linalg.inv(phi[part].T @ phi[part] + RIDGE * np.eye(Q)) @ at

    def test_of_the_identity_is_exact(self, rng):
        phi, _, bounds, leaves = branch(rng)
        solved, at = solve_branch(leaves, [4, 1], RIDGE, np.eye(Q))[1], rng.normal(size=Q)
        for k in range(4):
            expected = self.leverage(phi, slice(bounds[k], bounds[k + 1]), at)
            assert np.sum((solved.sketch[k] @ at) ** 2) == pytest.approx(expected, rel=1e-9)

    def test_of_random_signs_is_unbiased(self, rng):
        """One sketch row for each of 20,000 draws of signs, within 4 standard errors of their mean."""
        phi, _, bounds, leaves = branch(rng)
        signs, at = rng.choice([-1.0, 1.0], (20_000, Q)), rng.normal(size=Q)
        solved = solve_branch(leaves, [4, 1], RIDGE, signs)[1]
        for k in range(4):
            found = (solved.sketch[k] @ at) ** 2
            error = abs(found.mean() - self.leverage(phi, slice(bounds[k], bounds[k + 1]), at))
            assert error < 4 * found.std() / np.sqrt(len(found))


def test_rounding_that_leaves_a_negative_square_is_survived(rng):
    """The target is explained by the parent but for rounding: y^T y about it comes out below zero."""
    products = np.zeros((1, Q + 1, Q + 1))
    products[0, :Q, :Q] = np.eye(Q)
    products[0, Q, :Q] = products[0, :Q, Q] = 1e-4
    products[0, Q, Q] = -2.5e-7
    (solved,) = solve_branch(LeafSums(products, np.array([3.0])), (1,), RIDGE, np.eye(Q))
    assert np.isfinite(solved.weights).all()
    assert solved.rss[0] >= 0.0


def test_single_precision_sums_of_a_constant_target(rng):
    """The parent explains the target but for rounding: determinants and sketches stay what they are."""
    phi = rng.normal(size=(60, Q))
    phi[:, 0] = 1.0
    block = Block(np.zeros((60, 1)), np.full(60, -0.3), None)
    bounds = np.array([0, 15, 30, 45, 60])
    single, double = (
        solve_branch(leaf_sums(phi.astype(np.float32), block, bounds, dtype), (4, 2, 1), 1e-3, np.eye(Q))
        for dtype in (np.float32, np.float64)
    )
    for one, other in zip(single, double, strict=True):
        np.testing.assert_allclose(one.log_determinant, other.log_determinant, rtol=1e-4)
        np.testing.assert_allclose(np.abs(one.sketch), np.abs(other.sketch), rtol=1e-2, atol=1e-3)
