"""Ridge regressions on stacks of leaves, against the textbook's formulas for one."""

import numpy as np
import pytest

from ssgp.engine.ridge import LeafSums, invert_ridge, needs_double, solve_ridge, sum_products

P, N, Q, RIDGE = 4, 30, 5, 0.7
# More features than the blocks that triangles are solved by.
SIZES = [1, 5, 16, 17, 40, 70]


def leaves(rng, q=Q, weighted=False):
    weight = rng.uniform(0.3, 3.0, size=(P, N)) if weighted else None
    return rng.normal(size=(P, N, q)), rng.normal(size=(P, N)), weight


def weights_of(weight):
    return np.ones((P, N)) if weight is None else weight


def solved(rng, q=Q, weighted=False, prior=None, signs=None, ridge=RIDGE):
    phi, y, weight = leaves(rng, q, weighted)
    products = sum_products(phi, y, weight, double=True)
    return phi, y, weights_of(weight), solve_ridge(products, prior, ridge, np.eye(q) if signs is None else signs)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_sums_against_loops(weighted, rng):
    phi, y, weight = leaves(rng, weighted=weighted)
    found = sum_products(phi, y, weight, double=True)
    for k in range(P):
        expected = np.zeros((Q + 1, Q + 1))
        for i in range(N):
            joined = np.append(phi[k, i], y[k, i])
            expected += weights_of(weight)[k, i] * np.outer(joined, joined)
        np.testing.assert_allclose(found[k], expected, atol=1e-12)


def test_float32_features_are_summed_in_float64_on_request(rng):
    phi = rng.normal(size=(1, 3000, Q)).astype(np.float32)
    exact = phi[0].astype(float).T @ phi[0].astype(float)
    double, single = (sum_products(phi, np.zeros((1, 3000)), None, double)[0, :Q, :Q] for double in (True, False))
    np.testing.assert_allclose(double, exact, rtol=1e-12, atol=1e-9)
    np.testing.assert_allclose(single, exact, atol=0.02)
    assert not np.array_equal(single, double)


def test_a_small_ridge_needs_double():
    assert needs_double(np.array([1000.0, 1e6]), 0.5, 200).tolist() == [True, True]
    assert needs_double(np.array([1000.0, 1e6]), 50.0, 200).tolist() == [False, True]


class TestLeafSums:
    def parts(self, rng):
        return [LeafSums(rng.normal(size=(P, 3, 3)), rng.uniform(size=P)) for _ in range(3)]

    def assert_same(self, one, other):
        np.testing.assert_allclose(one.products, other.products, atol=1e-12)
        np.testing.assert_allclose(one.count, other.count, atol=1e-12)

    def test_groups_are_the_sums_of_their_leaves(self, rng):
        sums = self.parts(rng)[0]
        pairs = sums.grouped(2)
        np.testing.assert_allclose(pairs.products[1], sums.products[2] + sums.products[3])
        assert pairs.count[0] == pytest.approx(sums.count[0] + sums.count[1])
        self.assert_same(sums.grouped(4), pairs.grouped(2))

    def test_rows_are_added_to_their_leaves(self, rng):
        a, b, _ = self.parts(rng)
        total = LeafSums.zeros(P, 2)
        total.add(np.array([2, 0]), a.products[:2], a.count[:2])
        total.add(np.array([0]), b.products[:1], b.count[:1])
        np.testing.assert_allclose(total.products[0], a.products[1] + b.products[0])
        np.testing.assert_allclose(total.count, [a.count[1] + b.count[0], 0, a.count[0], 0])


@pytest.mark.parametrize("q", SIZES)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_models_are_bayesian_ridge_regressions(q, weighted, rng):
    phi, y, weight, solution = solved(rng, q, weighted, signs=np.ones((1, q)))
    for k in range(P):
        W, F = np.diag(weight[k]), phi[k]
        A = F.T @ W @ F + RIDGE * np.eye(q)
        w = np.linalg.solve(A, F.T @ W @ y[k])
        residual = y[k] - F @ w
        np.testing.assert_allclose(solution.weights[k], w, atol=1e-9)
        assert solution.rss[k] == pytest.approx(residual @ W @ residual + RIDGE * w @ w, rel=1e-9, abs=1e-9)
        np.testing.assert_allclose(solution.factor[k] @ solution.factor[k].T, A, atol=1e-9)


@pytest.mark.parametrize("q", SIZES)
def test_models_are_shrunk_towards_their_prior(q, rng):
    prior = rng.normal(size=(P, q))
    phi, y, _, solution = solved(rng, q, prior=prior, signs=np.ones((1, q)))
    for k in range(P):
        G, c = phi[k].T @ phi[k], phi[k].T @ y[k]
        w = prior[k] + np.linalg.solve(G + RIDGE * np.eye(q), c - G @ prior[k])
        residual = y[k] - phi[k] @ w
        np.testing.assert_allclose(solution.weights[k], w, atol=1e-9)
        rss = residual @ residual + RIDGE * np.sum((w - prior[k]) ** 2)
        assert solution.rss[k] == pytest.approx(rss, rel=1e-7, abs=1e-9)


def test_a_leaf_without_rows_is_as_its_prior(rng):
    prior = rng.normal(size=(1, Q))
    solution = solve_ridge(np.zeros((1, Q + 1, Q + 1)), prior, RIDGE, np.eye(Q))
    np.testing.assert_allclose(solution.weights, prior)
    np.testing.assert_allclose(solution.sketch[0], np.eye(Q) / np.sqrt(RIDGE))
    assert solution.rss[0] == pytest.approx(0.0, abs=1e-12)


class TestSketch:
    def leverage(self, phi, at):
        return at @ np.linalg.inv(phi.T @ phi + RIDGE * np.eye(phi.shape[1])) @ at

    @pytest.mark.parametrize("q", SIZES)
    def test_of_the_identity_is_exact(self, q, rng):
        phi, _, _, solution = solved(rng, q)
        at = rng.normal(size=q)
        for k in range(P):
            assert np.sum((solution.sketch[k] @ at) ** 2) == pytest.approx(self.leverage(phi[k], at), rel=1e-9)

    @pytest.mark.parametrize("q", [5, 40])
    def test_of_random_signs_is_unbiased(self, q, rng):
        """One sketch row for each of 20,000 draws of signs, within 4 standard errors of their mean."""
        signs, at = rng.choice([-1.0, 1.0], (20_000, q)), rng.normal(size=q)
        phi, _, _, solution = solved(rng, q, signs=signs)
        for k in range(P):
            found = (solution.sketch[k] @ at) ** 2
            assert abs(found.mean() - self.leverage(phi[k], at)) < 4 * found.std() / np.sqrt(len(found))

    def test_of_as_many_signs_as_features_is_not_taken_for_the_identity(self, rng):
        signs = rng.choice([-1.0, 1.0], (Q, Q))
        phi, _, _, solution = solved(rng, signs=signs)
        L = np.linalg.cholesky(phi[0].T @ phi[0] + RIDGE * np.eye(Q))
        np.testing.assert_allclose(solution.sketch[0], signs @ np.linalg.inv(L), atol=1e-9)


class TestRounding:
    def test_a_fit_without_residuals_has_none(self, rng):
        phi, _, _ = leaves(rng)
        products = sum_products(phi, phi @ np.arange(Q), None, double=True)
        solution = solve_ridge(products, None, 1e-9, np.eye(Q))
        np.testing.assert_allclose(solution.weights, np.tile(np.arange(Q), (P, 1)), atol=1e-6)
        assert (solution.rss >= 0).all()
        assert (solution.rss < 1e-6).all()

    def test_identical_rows_and_a_tiny_ridge_stay_finite(self, rng):
        phi = np.tile(rng.normal(size=Q).astype(np.float32), (1, 500, 1))
        solution = solve_ridge(sum_products(phi, np.ones((1, 500)), None, double=True), None, 1e-30, np.eye(Q))
        assert np.isfinite(solution.sketch).all()
        assert phi[0, 0] @ solution.weights[0] == pytest.approx(1.0, abs=1e-3)

    def negative_square(self):
        """The target is explained by the parent but for rounding: y^T y about it comes out below zero."""
        products = np.zeros((Q + 1, Q + 1))
        products[:Q, :Q] = np.eye(Q)
        products[Q, :Q] = products[:Q, Q] = 1e-4
        products[Q, Q] = -2.5e-7
        return products

    def test_one_bad_leaf_is_mended_and_leaves_the_others_alone(self, rng):
        phi, y, _ = leaves(rng)
        fine = sum_products(phi, y, None, double=True)
        alone = solve_ridge(fine.copy(), None, RIDGE, np.eye(Q))
        for place in range(P + 1):
            together = solve_ridge(np.insert(fine, place, self.negative_square(), 0), None, RIDGE, np.eye(Q))
            assert np.isfinite(together.weights).all()
            assert together.rss[place] >= 0.0
            np.testing.assert_array_equal(np.delete(together.weights, place, 0), alone.weights)

    def test_single_precision_sums_of_a_constant_target(self, rng):
        """The prior explains the target but for rounding: sketches stay what they are."""
        phi = rng.normal(size=(P, N, Q)).astype(np.float32)
        phi[:, :, 0] = 1.0
        prior = np.tile([-0.3, 0, 0, 0, 0], (P, 1))
        single, double = (
            solve_ridge(sum_products(phi, np.full((P, N), -0.3), None, kind), prior, 1e-3, np.eye(Q))
            for kind in (False, True)
        )
        np.testing.assert_allclose(np.abs(single.sketch), np.abs(double.sketch), rtol=1e-2, atol=1e-3)


def test_the_inverse_that_gradients_ask_for(rng):
    phi, y = rng.normal(size=(50, 20)), rng.normal(size=50)
    A = phi.T @ phi + RIDGE * np.eye(20)
    weights, inverse, log_determinant = invert_ridge(phi.T @ phi, phi.T @ y, RIDGE)
    np.testing.assert_allclose(inverse, np.linalg.inv(A), atol=1e-10)
    np.testing.assert_allclose(weights, np.linalg.solve(A, phi.T @ y), atol=1e-10)
    assert log_determinant == pytest.approx(np.linalg.slogdet(A / RIDGE)[1])
    with pytest.raises(np.linalg.LinAlgError, match="not positive definite"):
        invert_ridge(-np.eye(3), np.zeros(3), 0.5)


def test_the_inverse_of_float32_sums_is_float32(rng):
    phi, y = rng.normal(size=(50, 20)).astype(np.float32), rng.normal(size=50).astype(np.float32)
    A = phi.T.astype(float) @ phi + RIDGE * np.eye(20)
    weights, inverse, log_determinant = invert_ridge(phi.T @ phi, phi.T @ y, RIDGE)
    assert weights.dtype == inverse.dtype == np.float32
    np.testing.assert_allclose(inverse, np.linalg.inv(A), atol=1e-5)
    np.testing.assert_array_equal(inverse, inverse.T)
    np.testing.assert_allclose(weights, np.linalg.solve(A, phi.T @ y), atol=1e-5)
    assert log_determinant == pytest.approx(np.linalg.slogdet(A / RIDGE)[1], rel=1e-5)


def test_a_ridge_below_rounding_is_raised_in_all_that_gradients_ask_for(rng):
    """Against singular values, which need no products of features."""
    phi, y = rng.normal(size=(50, 20)), rng.normal(size=50)
    ridge = 1e-11 * np.sum(phi**2)
    assert ridge > 1e-12
    U, s, Vt = np.linalg.svd(phi, full_matrices=False)
    weights, inverse, log_determinant = invert_ridge(phi.T @ phi, phi.T @ y, 1e-12)
    np.testing.assert_allclose(weights, Vt.T @ (s / (s**2 + ridge) * (U.T @ y)), rtol=1e-9)
    np.testing.assert_allclose(inverse, Vt.T @ np.diag(1.0 / (s**2 + ridge)) @ Vt, rtol=1e-9, atol=1e-12)
    assert log_determinant == pytest.approx(np.log1p(s**2 / ridge).sum(), rel=1e-9)
    stacked = solve_ridge(sum_products(phi[None], y[None], None, double=True), None, 1e-12, np.eye(20))
    np.testing.assert_allclose(stacked.ridge, ridge)


class TestSinglePrecision:
    """Sums in float32 are solved in float32 where the ridge is large enough."""

    def solutions(self, rng, ridge, n_rows=(300, 300, 20_000)):
        phi = np.zeros((len(n_rows), max(n_rows), Q), np.float32)
        y = np.zeros((len(n_rows), max(n_rows)))
        for leaf, n in enumerate(n_rows):
            phi[leaf, :n], y[leaf, :n] = rng.normal(size=(n, Q)), rng.normal(size=n)
        prior, signs = rng.normal(size=(len(n_rows), Q)), rng.choice([-1.0, 1.0], (2, Q)) / np.sqrt(2.0)
        return [solve_ridge(sum_products(phi, y, None, double), prior, ridge, signs) for double in (False, True)], (
            phi,
            y,
            prior,
            signs,
        )

    @pytest.mark.parametrize("ridge", [30.0, 3.0, 1e-3])
    def test_it_is_close_to_double_precision(self, ridge, rng):
        (single, double), _ = self.solutions(rng, ridge)
        for name, values in vars(double).items():
            np.testing.assert_allclose(getattr(single, name), values, rtol=2e-3, atol=2e-4 * np.abs(values).max())

    def test_a_leaf_does_not_depend_on_the_precision_of_others(self, rng):
        """The ridge is large for the leaves of few rows alone."""
        (together, _), (phi, y, prior, signs) = self.solutions(rng, 0.01)
        assert together.weights.dtype == float
        for leaf in range(3):
            part = slice(leaf, leaf + 1)
            alone = solve_ridge(sum_products(phi[part], y[part], None, False), prior[part], 0.01, signs)
            assert alone.weights.dtype == (np.float32 if leaf < 2 else float)
            for name, values in vars(alone).items():
                np.testing.assert_array_equal(getattr(together, name)[part], values)

    def test_targets_that_features_explain_leave_nothing(self, rng):
        phi = rng.normal(size=(2, 400, Q)).astype(np.float32)
        y = phi.astype(float) @ np.arange(Q)
        solution = solve_ridge(
            sum_products(phi, y, None, double=False), np.tile(np.arange(Q) + 0.0, (2, 1)), 1.0, np.eye(Q)[:1]
        )
        assert (solution.rss < 1e-4 * np.sum(y**2, axis=1)).all()

    @pytest.mark.parametrize("size", SIZES)
    def test_sums_that_rounding_has_made_indefinite_are_solved(self, size, rng):
        """One of three is not positive definite, which shows in its last block of columns."""
        phi, y = rng.normal(size=(3, 200, size)).astype(np.float32), rng.normal(size=(3, 200))
        products = sum_products(phi, y, None, double=False)
        products[1, size, size] = -1e-3
        signs = np.ones((1, size))
        solution = solve_ridge(products.copy(), None, 5.0, signs)
        expected = solve_ridge(products.astype(float), None, 5.0, signs)
        np.testing.assert_allclose(solution.weights, expected.weights, rtol=1e-3, atol=1e-4)
        assert solution.rss[1] < 1e-2
