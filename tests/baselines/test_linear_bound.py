"""The bound of linear models with random features, against dense Gaussians and Monte Carlo."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from helpers import central_difference
from ssgp.baselines.block_likelihood import BlockLikelihood
from ssgp.baselines.feature_maps import InducingMap, SpectralMap, VariationalMap
from ssgp.baselines.lbfgs import maximize_bound
from ssgp.baselines.linear_bound import Moments, Sums, WeightPosterior, feature_gradient
from ssgp.baselines.model import BLOCKS_PER_CHUNK, Model, RowLikelihood, collapsed_bound, sum_blocks
from ssgp.baselines.natural_gradient import NaturalGradientTrainer
from ssgp.rows.blocks import Block, Rows

N, D = 30, 2
LENGTHS, SIGNAL = np.log([0.8, 1.5]), 0.3


def spectral(rng, learn=True):
    return SpectralMap(rng.normal(size=(4, D)), LENGTHS, SIGNAL, learn)


def variational(rng):
    centre, deviation, place = rng.normal(size=(5, D)), rng.normal(-1, 0.3, size=(5, D)), rng.normal(size=(5, D))
    return VariationalMap(centre, deviation, place, rng.normal(size=5), rng.normal(size=5), LENGTHS, SIGNAL)


def inducing(rng):
    return InducingMap(rng.normal(size=(5, D)), LENGTHS, SIGNAL)


MAPS = {
    "spectral": spectral,
    "fixed frequencies": lambda rng: spectral(rng, learn=False),
    "variational": variational,
    "inducing": inducing,
}


def table(rng, weighted, bounds=(0, 12, N)):
    X = rng.normal(size=(N, D))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=N)
    return Rows(X, y, rng.uniform(0.5, 2.0, size=N) if weighted else None, np.array(bounds))


def normal_log_density(y, covariance):
    solved = np.linalg.solve(covariance, y)
    return -0.5 * (y @ solved + np.linalg.slogdet(covariance)[1] + len(y) * np.log(2 * np.pi))


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("name", MAPS)
def test_gradients_by_finite_differences(name, weighted, rng):
    rows, model = table(rng, weighted), Model(MAPS[name](rng), -1.5)
    _, gradient = collapsed_bound(rows, model, RowLikelihood, 1)
    expected = central_difference(
        lambda v: collapsed_bound(rows, model.with_vector(v), RowLikelihood, 1)[0], model.to_vector()
    )
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("bounds", [(0, N), (0, 10, 17, N), tuple(range(N + 1))], ids=["one block", "three", "rows"])
def test_gradients_of_blocks_by_finite_differences(bounds, weighted, rng):
    rows, model = table(rng, weighted, bounds), Model(inducing(rng), -1.5)
    _, gradient = collapsed_bound(rows, model, BlockLikelihood, 1)
    expected = central_difference(
        lambda v: collapsed_bound(rows, model.with_vector(v), BlockLikelihood, 1)[0], model.to_vector()
    )
    np.testing.assert_allclose(gradient, expected, atol=1e-6 * np.abs(expected).max())


def test_vectors_make_the_same_map(rng):
    X = rng.normal(size=(6, D))
    for make in MAPS.values():
        features = make(rng)
        again = features.with_vector(features.to_vector())
        np.testing.assert_array_equal(again.moments(X).mean, features.moments(X).mean)


def test_a_spectral_bound_is_the_evidence_of_its_kernel(rng):
    rows, model = table(rng, False), Model(spectral(rng), -1.5)
    phi = model.features.moments(rows.X).mean
    dense = normal_log_density(rows.y, phi @ phi.T + model.noise * np.eye(N))
    bound, _ = collapsed_bound(rows, model, RowLikelihood, 1)
    assert bound == pytest.approx(dense, rel=1e-9)


def test_an_inducing_bound_is_that_of_titsias(rng):
    rows, own = table(rng, False), inducing(rng)
    model, features = Model(own, -1.5), own.inducing
    psi = features(rows.X)
    dense = normal_log_density(rows.y, psi @ psi.T + model.noise * np.eye(N))
    slack = 0.5 * (N * features.kernel.variance - np.sum(psi * psi)) / model.noise
    bound, _ = collapsed_bound(rows, model, RowLikelihood, 1)
    assert bound == pytest.approx(dense - slack, rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("bounds", [(0, N), (0, 10, 17, N), tuple(range(N + 1))], ids=["exact", "PIC", "FITC"])
def test_the_bound_of_blocks_is_the_evidence_of_pic(bounds, weighted, rng):
    """One block is the exact process, blocks of a row are FITC."""
    rows, own = table(rng, weighted, bounds), inducing(rng)
    model, features = Model(own, -1.5), own.inducing
    psi, K = features(rows.X), features.kernel(rows.X, rows.X)
    dense = psi @ psi.T
    for start, stop in itertools.pairwise(bounds):
        dense[start:stop, start:stop] = K[start:stop, start:stop]
    noise = model.noise * (np.ones(N) if rows.weight is None else 1.0 / rows.weight)
    expected = normal_log_density(rows.y, dense + np.diag(noise))
    if rows.weight is not None:
        # A row that counts for several has as many factors in the likelihood.
        expected -= 0.5 * np.sum((rows.weight - 1) * np.log(2 * np.pi * model.noise) + np.log(rows.weight))
    bound, _ = collapsed_bound(rows, model, BlockLikelihood, 1)
    assert bound == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("likelihood", [RowLikelihood, BlockLikelihood], ids=["rows", "blocks"])
def test_a_row_of_weight_two_is_a_row_twice(likelihood, rng):
    once = table(rng, False, (0, 10, N))
    weighted = Rows(once.X, once.y, np.full(N, 2.0), once.bounds)
    twice = Rows(np.repeat(once.X, 2, axis=0), np.repeat(once.y, 2), None, 2 * once.bounds)
    model = Model(inducing(rng), -1.5)
    one, other = (collapsed_bound(rows, model, likelihood, 1) for rows in (weighted, twice))
    assert one[0] == pytest.approx(other[0], rel=1e-6)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-4, atol=1e-4)


def test_moments_of_variational_features_by_monte_carlo(rng):
    features, X, n = variational(rng), rng.normal(size=(4, D)), 400_000
    scale = np.exp(features.log_lengthscale)
    e = features.mean + np.exp(features.log_deviation) * rng.normal(size=(n, 5, D))
    b = features.phase + features.half_width * rng.uniform(-1, 1, size=(n, 5))
    amplitude = np.sqrt(2 * np.exp(SIGNAL) / 5)
    means, variances, _ = features.moments(X)
    assert variances is not None
    for x, mean, variance in zip(X, means, variances, strict=True):
        drawn = amplitude * np.cos(np.einsum("nkd,kd->nk", e, (x - features.origin) / scale) + b)
        np.testing.assert_allclose(drawn.mean(axis=0), mean, atol=5 * amplitude / np.sqrt(n))
        np.testing.assert_allclose(drawn.var(axis=0), variance, atol=5 * amplitude**2 / np.sqrt(n))


def test_predictions_of_variational_features_by_monte_carlo(rng):
    features, X, n = variational(rng), rng.normal(size=(3, D)), 400_000
    root = rng.normal(size=(5, 5)) / 3
    posterior = WeightPosterior(rng.normal(size=5), root @ root.T)
    mean, variance = posterior.predict(features.moments(X))
    w = posterior.mean + rng.normal(size=(n, 5)) @ root.T
    scale, amplitude = np.exp(features.log_lengthscale), np.sqrt(2 * np.exp(SIGNAL) / 5)
    e = features.mean + np.exp(features.log_deviation) * rng.normal(size=(n, 5, D))
    b = features.phase + features.half_width * rng.uniform(-1, 1, size=(n, 5))
    for i, x in enumerate(X):
        f = np.sum(w * amplitude * np.cos(np.einsum("nkd,kd->nk", e, (x - features.origin) / scale) + b), axis=1)
        assert mean[i] == pytest.approx(f.mean(), abs=5 * f.std() / np.sqrt(n))
        assert variance[i] == pytest.approx(f.var(), rel=0.02)


def test_known_frequencies_and_phases_are_the_limit_of_narrow_posteriors(rng):
    """Frequency k with phases b and b - pi/2 are the cosine and the sine of SSGP."""
    whitened, X = rng.normal(size=(3, D)), rng.normal(size=(20, D))
    narrow = VariationalMap(
        np.tile(whitened, (2, 1)),
        np.full((6, D), -12.0),
        np.zeros((6, D)),
        np.repeat([0.0, -0.5 * np.pi], 3),
        np.full(6, -20.0),
        LENGTHS,
        SIGNAL,
    )
    known = SpectralMap(whitened, LENGTHS, SIGNAL).moments(X).mean
    np.testing.assert_allclose(narrow.moments(X).mean, known, atol=1e-7)
    variance = narrow.moments(X).variance
    assert variance is not None
    assert variance.max() < 1e-7


def test_divergence_of_frequencies_and_phases_by_monte_carlo(rng):
    features, n = variational(rng), 400_000
    deviation = np.exp(features.log_deviation)
    z = rng.normal(size=(n, 5, D))
    e = features.mean + deviation * z
    normal = np.sum(-0.5 * z**2 - features.log_deviation + 0.5 * e**2, axis=(1, 2))
    uniform = np.sum(np.log(2 * np.pi / (2 * features.half_width)))
    assert features.divergence()[0] == pytest.approx(normal.mean() + uniform, abs=5 * normal.std() / np.sqrt(n))


def test_gradient_of_the_divergence(rng):
    for make in MAPS.values():
        features = make(rng)
        expected = central_difference(lambda v, f=features: f.with_vector(v).divergence()[0], features.to_vector())
        np.testing.assert_allclose(features.divergence()[1], expected, atol=1e-7)


class TestBestWeights:
    def test_no_other_weights_have_a_higher_bound(self, rng):
        rows, model = table(rng, False), Model(variational(rng), -1.5)
        sums = sum_blocks(rows, model, RowLikelihood, 1)
        best, bound = WeightPosterior.best(sums)
        block, moments = rows.part(slice(None)), model.features.moments(rows.X)

        def bound_of(posterior):
            return feature_gradient(moments, block, posterior, model.noise)[0] - posterior.divergence()

        assert bound_of(best) == pytest.approx(bound, rel=1e-9)
        for _ in range(10):
            root = np.linalg.cholesky(best.covariance) + 0.05 * rng.normal(size=best.covariance.shape)
            other = WeightPosterior(best.mean + 0.05 * rng.normal(size=len(best.mean)), root @ root.T)
            assert bound_of(other) < bound

    def test_sums_of_parts_are_the_sums_of_all(self, rng):
        rows = table(rng, True)
        moments = Moments(rng.normal(size=(N, 4)), rng.uniform(size=(N, 4)), rng.uniform(size=N))
        whole = Sums.of(moments, rows.part(slice(None)), 0.3)
        parts = [
            Sums.of(Moments(*(m[some] for m in moments if m is not None)), rows.part(some), 0.3)
            for some in (slice(0, 7), slice(7, 8), slice(8, N))
        ]
        merged = parts[2].merge(parts[0]).merge(parts[1])
        np.testing.assert_allclose(merged.gram, whole.gram, rtol=1e-12)
        np.testing.assert_allclose(merged.cross, whole.cross, rtol=1e-12)
        assert merged.constant == pytest.approx(whole.constant, rel=1e-12)


def fails_between(steps, how):
    """The likelihood of rows, that fails in evaluations of these numbers."""

    class Fragile(RowLikelihood):
        n_evaluated = 0

        def sums(self):
            Fragile.n_evaluated += 1
            found = super().sums()
            if Fragile.n_evaluated not in steps:
                return found
            if how == "raises":
                raise np.linalg.LinAlgError("not positive definite")
            return Sums(found.gram, found.cross, float(how))

    return Fragile


def keep_in(kept: list[Any], what: Callable[[Model, float], Any]) -> Callable[[Model, float], bool]:
    """What is called after each step: it keeps something of it, and does not stop."""

    def after_step(model: Model, bound: float) -> bool:
        kept.append(what(model, bound))
        return False

    return after_step


class TestClimb:
    @pytest.mark.parametrize("how", ["raises", "nan", "inf"])
    @pytest.mark.parametrize("steps", [(2,), (3,), (3, 4), (6, 7, 8), (4, 9, 14)], ids=str)
    def test_it_goes_on_from_models_that_cannot_be_evaluated(self, steps, how, rng):
        rows, model = table(rng, False, (0, N)), Model(spectral(rng, learn=False), 0.0)
        bounds: list[Any] = []
        bounds_too: list[Any] = []
        after, after_too = (keep_in(own, lambda _, bound: bound) for own in (bounds, bounds_too))
        assert maximize_bound(rows, model, RowLikelihood, 200, 1e-12, 1, after) == 0
        assert maximize_bound(rows, model, fails_between(steps, how), 200, 1e-12, 1, after_too) == len(steps)
        assert bounds_too[-1] == pytest.approx(bounds[-1], abs=1e-6)

    def test_it_keeps_away_from_where_no_model_can_be_evaluated(self, rng):
        """Models of little noise fail: the best of the others is at the edge."""

        class Fragile(RowLikelihood):
            def __init__(self, model, block):
                if model.log_noise < edge:
                    raise np.linalg.LinAlgError("not positive definite")
                super().__init__(model, block)

        rows, start, models = table(rng, False, (0, N)), Model(spectral(rng, learn=False), 0.0), []
        after = keep_in(models, lambda model, _: model)
        maximize_bound(rows, start, RowLikelihood, 200, 1e-12, 1, after)
        edge = models[-1].log_noise + 0.5
        models.clear()
        assert maximize_bound(rows, start, Fragile, 200, 1e-12, 1, after) > 0
        assert edge <= models[-1].log_noise < edge + 1e-3
        assert all(np.isfinite(model.to_vector()).all() for model in models)

    def test_nothing_is_learned_from_a_start_that_cannot_be_evaluated(self, rng):
        rows, model, steps = table(rng, False, (0, N)), Model(spectral(rng), 0.0), []
        after = keep_in(steps, lambda *step: step)
        assert maximize_bound(rows, model, fails_between(range(99), "raises"), 9, 0.0, 1, after) == 1
        assert not steps


class TestStochasticAscent:
    @pytest.mark.parametrize("likelihood", [RowLikelihood, BlockLikelihood], ids=["rows", "blocks"])
    def test_blocks_are_unbiased(self, likelihood, rng):
        """Statistics of the blocks, scaled to all rows and averaged, are those of all rows; so are gradients."""
        rows, model = table(rng, False, (0, 10, 20, N)), Model(inducing(rng), -1.5)
        whole = sum_blocks(rows, model, likelihood, 1)
        posterior, _ = WeightPosterior.best(whole)
        scaled = [likelihood(model, rows.block(k)).sums().scaled(3.0) for k in range(3)]
        np.testing.assert_allclose(np.mean([s.gram for s in scaled], axis=0), whole.gram, rtol=1e-9, atol=1e-9)
        gradients = [3.0 * likelihood(model, rows.block(k)).gradient(posterior)[1] for k in range(3)]
        expected = collapsed_bound(rows, model, likelihood, 1)[1]
        np.testing.assert_allclose(np.mean(gradients, axis=0), expected, rtol=1e-6, atol=1e-6)

    def test_climbs(self, rng):
        rows, model = table(rng, False, tuple(range(0, N + 1, 10))), Model(inducing(rng), 0.0)
        ascent = NaturalGradientTrainer(rows, model, RowLikelihood, 0.02, rng)
        for _ in range(300):
            ascent.step(1.0)
        before, after = (collapsed_bound(rows, m, RowLikelihood, 1)[0] for m in (model, ascent.model))
        assert after > before + 5.0

    def test_a_bad_block_moves_nothing(self, rng):
        rows = table(rng, False, (0, N))
        rows.y[0] = np.inf
        ascent = NaturalGradientTrainer(rows, Model(inducing(rng), 0.0), RowLikelihood, 0.02, rng)
        before = ascent.model.to_vector()
        with np.errstate(all="ignore"):
            ascent.step(1.0)
        np.testing.assert_array_equal(ascent.model.to_vector(), before)
        rows.y[0] = 0.0
        assert np.isfinite(ascent.step(1.0))
        assert (ascent.model.to_vector() != before).any()

    def test_a_model_that_cannot_be_evaluated_is_taken_back(self, rng):
        class Fragile(RowLikelihood):
            def __init__(self, model, block):
                nonlocal n_evaluated
                n_evaluated += 1
                if n_evaluated == 3:
                    raise np.linalg.LinAlgError("not positive definite")
                super().__init__(model, block)

        n_evaluated, models = 0, []
        ascent = NaturalGradientTrainer(table(rng, False, (0, N)), Model(inducing(rng), 0.0), Fragile, 0.02, rng)
        for _ in range(4):
            bound = ascent.step(1.0)
            models.append(ascent.model.to_vector())
        # The third step finds that the second led nowhere, and goes back to where that began.
        np.testing.assert_array_equal(models[2], models[0])
        assert (models[3] != models[2]).any()
        assert ascent.n_failed == 1
        assert np.isfinite(bound)

    def test_what_starts_far_out_may_stay_there(self, rng):
        places = np.full((3, D), 63.0) + rng.normal(size=(3, D))
        model = Model(InducingMap(places, np.full(D, 9.0), 0.0), 0.0)
        ascent = NaturalGradientTrainer(table(rng, False, (0, N)), model, RowLikelihood, 0.02, rng)
        ascent.step(1.0)
        moved = ascent.model.features
        assert isinstance(moved, InducingMap)
        np.testing.assert_allclose(moved.inputs, places, atol=0.05)
        np.testing.assert_allclose(moved.log_lengthscale, 9.0, atol=0.05)


def test_threads_do_not_matter(rng):
    rows, model = table(rng, False, tuple(range(0, N + 1, 3))), Model(variational(rng), -1.0)
    one, two = (collapsed_bound(rows, model, RowLikelihood, n_jobs) for n_jobs in (1, 2))
    assert one[0] == two[0]
    np.testing.assert_array_equal(one[1], two[1])


def test_a_block_needs_inducing_features(rng):
    with pytest.raises(TypeError, match="SpectralMap"):
        BlockLikelihood(Model(spectral(rng), 0.0), Block(np.zeros((2, D)), np.zeros(2)))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_sums_of_many_blocks_are_the_sums_of_their_rows(rng, n_jobs):
    n_rows = 3 * BLOCKS_PER_CHUNK + 5
    X, y = rng.normal(size=(n_rows, D)), rng.normal(size=n_rows)
    model = Model(inducing(rng), -1.0)
    one, many = Rows(X, y, None, np.array([0, n_rows])), Rows(X, y, None, np.arange(n_rows + 1))
    whole, parts = sum_blocks(one, model, RowLikelihood, n_jobs), sum_blocks(many, model, RowLikelihood, n_jobs)
    np.testing.assert_allclose(parts.gram, whole.gram)
    np.testing.assert_allclose(parts.cross, whole.cross)
    assert parts.constant == pytest.approx(whole.constant)
