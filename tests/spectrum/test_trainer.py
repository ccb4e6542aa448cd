"""The bound and its stochastic gradient: appendix D, F and G, Theorem 1, Proposition 2."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm
from sklearn.exceptions import ConvergenceWarning

from helpers import central_difference, naive_features
from posteriors import Shifted, random_parameters
from ssgp.rows.blocks import Rows, even_bounds
from ssgp.spectrum.bases import Laplace, Normal, StudentT
from ssgp.spectrum.learner import report_skipped
from ssgp.spectrum.objectives import GlobalObjective, LocalObjective
from ssgp.spectrum.optimizers import Adam, RobbinsMonro
from ssgp.spectrum.parameters import Hyperparameters, Layout, Parameters
from ssgp.spectrum.posterior import mixing_gradient, summarize_mixing
from ssgp.spectrum.trainer import BoundEstimator, Plateau, Schedule, Trainer

KINDS = ["full", "triangular", "block", "diagonal"]


def table(rng, n=24, d=2, n_blocks=4, weighted=False):
    X = rng.normal(size=(n, d))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)
    weight = rng.uniform(0.5, 2.0, size=n) if weighted else None
    return Rows(X, y, weight, even_bounds(n, n // n_blocks))


def full_gradient(estimator, parameters, rows, blocks, z):
    """Value and the whole gradient as a flat vector."""
    estimate = estimator(parameters, summarize_mixing(parameters), rows, blocks, z)
    parts = [estimate.gradient.vectors]
    if parameters.layout.kind != "diagonal":
        parts.append(mixing_gradient(parameters, [estimate.mixing], estimator.base, rows.total).ravel())
    return estimate.bound, np.concatenate(parts)


def free_entries(parameters):
    """Which entries of the flat vector the posterior's structure leaves free."""
    free = Parameters(parameters.layout, np.ones_like(parameters.flat))
    n = parameters.layout.n_theta
    if parameters.layout.kind == "triangular":
        free.mixing[:] = np.tril(free.mixing, -1)
    if parameters.layout.kind == "block":
        free.mixing[:n, n:] = 0
        free.mixing[n:, :n] = 0
    return free.flat.astype(bool)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("base", [Normal(), StudentT(4.0), Laplace(), Shifted()], ids=lambda b: type(b).__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_against_central_differences(kind, base, weighted, rng):
    """At fixed z, of every parameter: shift, scale, mixing, lengthscales, signal and noise."""
    parameters, rows = random_parameters(kind, rng), table(rng, weighted=weighted)
    estimator = BoundEstimator(GlobalObjective(), base, learn_hyperparameters=True)
    z = estimator.draw(parameters.layout, 3, rng)

    def bound(flat):
        moved = Parameters(parameters.layout, flat)
        return estimator(moved, summarize_mixing(moved), rows, [0, 2], z).bound

    _, gradient = full_gradient(estimator, parameters, rows, [0, 2], z)
    numeric = np.where(free_entries(parameters), central_difference(bound, parameters.flat), 0.0)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("tail", [1.0, np.array([[0.4], [2.5]])], ids=["normal", "tail"])
@pytest.mark.parametrize("trend", [False, True], ids=["waves", "trend"])
@pytest.mark.parametrize("kind", KINDS)
def test_gradient_of_the_local_objective_against_central_differences(kind, trend, tail, rng):
    layout = Layout(2, 2, 0, kind)
    parameters = Parameters(layout, 0.3 * rng.normal(size=sum(layout.sizes)))
    parameters.flat[~free_entries(parameters)] = 0.0
    rows = table(rng)
    estimator = BoundEstimator(LocalObjective(trend=trend), Normal(), learn_hyperparameters=True, tail_scales=tail)
    z = estimator.draw(layout, 2, rng)

    def bound(flat):
        moved = Parameters(layout, flat)
        return estimator(moved, summarize_mixing(moved), rows, [1, 3], z).bound

    _, gradient = full_gradient(estimator, parameters, rows, [1, 3], z)
    numeric = np.where(free_entries(parameters), central_difference(bound, parameters.flat), 0.0)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-7)


def test_a_tail_is_a_factor_of_the_frequencies(rng):
    """Every frequency's prior deviation times its factor: as if the posterior were so many times as wide."""
    layout, rows = Layout(3, 2, 0, "diagonal"), table(rng)
    parameters, tail = Parameters(layout, 0.3 * rng.normal(size=sum(layout.sizes))), rng.uniform(0.5, 3.0, size=(3, 1))
    z = rng.normal(size=(1, 6))
    seen = []

    class Spy(LocalObjective):
        def __call__(self, block, draw, hyperparameters):
            seen.append(draw.frequencies)
            return super().__call__(block, draw, hyperparameters)

    for factors in (1.0, tail):
        BoundEstimator(Spy(), Normal(), True, tail_scales=factors)(
            parameters, summarize_mixing(parameters), rows, [0], z
        )
    np.testing.assert_allclose(seen[1], tail * seen[0])


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("kind", KINDS)
def test_mean_over_all_blocks_is_the_full_gradient(kind, weighted, rng):
    """Theorem 1, exactly, for blocks of unequal sizes too."""
    parameters, rows = random_parameters(kind, rng), table(rng, n=25, n_blocks=4, weighted=weighted)
    whole = Rows(rows.X, rows.y, rows.weight, np.array([0, 25]))
    estimator = BoundEstimator(GlobalObjective(), Normal(), learn_hyperparameters=True)
    z = estimator.draw(parameters.layout, 2, rng)
    bounds, gradients = zip(
        *(full_gradient(estimator, parameters, rows, [k], z) for k in range(rows.n_blocks)), strict=True
    )
    bound, gradient = full_gradient(estimator, parameters, whole, [0], z)
    assert np.mean(bounds) == pytest.approx(bound)
    np.testing.assert_allclose(np.mean(gradients, axis=0), gradient, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["triangular", "full"])
def test_mean_over_blocks_and_z_is_the_exact_gradient(kind, rng):
    """Proposition 2: against Gauss-Hermite quadrature over z, within 4.5 standard errors of each entry."""
    parameters, rows = random_parameters(kind, rng, m=1, d=1), table(rng, n=12, d=1, n_blocks=3)
    parameters.log_scale[:] -= 1.0  # phases that stay within reach of the quadrature
    whole = Rows(rows.X, rows.y, None, np.array([0, 12]))
    estimator = BoundEstimator(GlobalObjective(), Normal(), learn_hyperparameters=True)
    exact = np.zeros_like(parameters.flat)
    for z, weight in _quadrature((16, 16, 16)):
        exact += weight * full_gradient(estimator, parameters, whole, [0], z[None])[1]
    samples = np.array(
        [
            full_gradient(
                estimator, parameters, rows, rng.integers(0, 3, 2).tolist(), estimator.draw(parameters.layout, 2, rng)
            )[1]
            for _ in range(4000)
        ]
    )
    error = samples.std(axis=0) / np.sqrt(len(samples))
    assert np.all(np.abs(samples.mean(axis=0) - exact) < 4.5 * error + 1e-12)


def _quadrature(sizes):
    """Nodes and weights of Gauss-Hermite quadrature for a standard normal of several dimensions."""
    rules = [np.polynomial.hermite_e.hermegauss(size) for size in sizes]
    nodes = np.stack(np.meshgrid(*(rule[0] for rule in rules), indexing="ij"), axis=-1)
    weights = np.prod(np.meshgrid(*(rule[1] / rule[1].sum() for rule in rules), indexing="ij"), axis=0)
    return zip(nodes.reshape(-1, len(sizes)), weights.ravel(), strict=True)


@pytest.mark.slow
class TestBoundIsALowerBound:
    """With one frequency of one input the evidence is a one-dimensional integral."""

    rng = np.random.default_rng(5)
    X = rng.normal(size=(15, 1))
    y = np.sin(1.3 * X[:, 0]) + 0.2 * rng.normal(size=15)
    hyperparameters = Hyperparameters(np.array([0.9]), 1.1, 0.15)

    def log_evidence(self):
        deviation = self.hyperparameters.frequency_deviation[0]

        def likelihood(r):
            phi = naive_features(self.X, np.array([[r]]))
            covariance = 1.1 * phi @ phi.T + 0.15 * np.eye(15)
            return multivariate_normal(np.zeros(15), covariance).logpdf(self.y)  # pyright: ignore[reportArgumentType]

        peak = max(likelihood(r) for r in np.linspace(0, 6 * deviation, 200))

        def integrand(r):
            return np.exp(likelihood(r) - peak) * norm.pdf(r, 0, deviation)

        return peak + np.log(quad(integrand, -8 * deviation, 8 * deviation, limit=500)[0])

    def bound(self, parameters, base):
        """L by averaging 4,000 draws, with its standard error."""
        rows = Rows(self.X, self.y, None, np.array([0, 15]))
        estimator = BoundEstimator(GlobalObjective(), base, learn_hyperparameters=False)
        rng = np.random.default_rng(0)
        values = [
            15
            * estimator(
                parameters, summarize_mixing(parameters), rows, [0], estimator.draw(parameters.layout, 1, rng)
            ).bound
            for _ in range(4000)
        ]
        return np.mean(values), np.std(values) / np.sqrt(len(values))

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("base", [Normal(), StudentT(), Laplace(), Shifted()], ids=lambda b: type(b).__name__)
    def test_before_and_after_learning(self, kind, base):
        rows = Rows(self.X, self.y, None, np.array([0, 15]))
        layout = Layout(1, 1, 2, kind)
        start = Parameters.initial(layout, self.hyperparameters, np.random.default_rng(1))
        parameters = Parameters(layout, start.flat.astype(float))
        estimator = BoundEstimator(GlobalObjective(), base, learn_hyperparameters=False)
        trainer = Trainer(estimator, parameters, rows, (Adam(0.02), Adam(0.02)), np.random.default_rng(2))
        before, error = self.bound(parameters, base)
        evidence = self.log_evidence()
        assert before - 4 * error < evidence
        for _ in trainer.run(Schedule(2500, None)):
            pass
        after, error = self.bound(parameters, base)
        assert after - 4 * error < evidence
        assert after > before
        # The posterior of frequency and weights is near normal here: a normal q comes close to the evidence.
        if isinstance(base, Normal) and kind in ("full", "triangular"):
            assert after > evidence - 1.0


def test_weights_count_rows_in_the_bound(rng):
    parameters, rows = random_parameters("triangular", rng), table(rng, n=20, n_blocks=1)
    counts = rng.integers(1, 4, size=20)
    weighted = Rows(rows.X, rows.y, counts.astype(float), rows.bounds)
    n = int(counts.sum())
    repeated = Rows(np.repeat(rows.X, counts, axis=0), np.repeat(rows.y, counts), None, np.array([0, n]))
    estimator = BoundEstimator(GlobalObjective(), Normal(), learn_hyperparameters=True)
    z = estimator.draw(parameters.layout, 2, rng)
    results = [full_gradient(estimator, parameters, some, [0], z) for some in (weighted, repeated)]
    assert results[0][0] == pytest.approx(results[1][0])
    np.testing.assert_allclose(results[0][1], results[1][1], atol=1e-10)


@pytest.mark.slow
def test_the_mixing_matrix_learns_the_dependence(rng):
    """Two features that are nearly the same: only a joint posterior can know their sum but not their difference."""
    X = np.linspace(-0.3, 0.3, 200)[:, None]
    rows = Rows(X, np.cos(X[:, 0]) + 0.1 * rng.normal(size=200), None, np.array([0, 200]))
    hyperparameters = Hyperparameters(np.array([3.0]), 1.0, 0.01)
    bounds = {}
    for kind in ("triangular", "diagonal"):
        layout = Layout(2, 1, 4, kind)
        start = Parameters.initial(layout, hyperparameters, np.random.default_rng(3))
        parameters = Parameters(layout, start.flat.astype(float))
        estimator = BoundEstimator(GlobalObjective(), Normal(), learn_hyperparameters=False)
        steps = np.random.default_rng(4)
        trainer = Trainer(estimator, parameters, rows, (Adam(0.02), Adam(0.02)), steps)
        for _ in trainer.run(Schedule(16_000, None)):
            pass
        bounds[kind] = 200 * np.mean(trainer.bounds[-200:])
    assert bounds["triangular"] > bounds["diagonal"] + 1.0


def test_steps_left_out_are_reported():
    report_skipped(1, 200)
    with pytest.warns(ConvergenceWarning, match="30 of 200 training steps were left out"):
        report_skipped(30, 200)
    with pytest.raises(ValueError, match="none of 200 training steps had a finite bound"):
        report_skipped(200, 200)


def test_fixed_hyperparameters_have_no_gradient(rng):
    parameters, rows = random_parameters("triangular", rng), table(rng)
    estimator = BoundEstimator(GlobalObjective(), Normal(), learn_hyperparameters=False)
    z = estimator.draw(parameters.layout, 1, rng)
    estimate = estimator(parameters, summarize_mixing(parameters), rows, [0], z)
    np.testing.assert_array_equal(estimate.gradient.hyper, 0.0)


def test_a_block_that_fails_costs_its_step_and_nothing_else(rng):
    rows = table(rng)
    rows.y[:6] = np.nan
    layout = Layout(2, 2, 4, "triangular")
    parameters = Parameters.initial(layout, Hyperparameters(np.ones(2), 1.0, 0.5), rng)
    trainer = Trainer(
        BoundEstimator(GlobalObjective(), Normal(), True), parameters, rows, (Adam(0.02), Adam(0.02)), rng
    )
    for _ in trainer.run(Schedule(200, None)):
        pass
    assert 20 < trainer.n_skipped < 90
    assert np.isfinite(parameters.flat).all()
    assert np.isfinite(trainer.bounds[-50:]).all()


def test_robbins_monro_climbs_the_bound(rng):
    rows = table(rng, n=400)
    parameters = Parameters.initial(Layout(3, 2, 6, "triangular"), Hyperparameters(np.ones(2), 1.0, 0.5), rng)
    estimator = BoundEstimator(GlobalObjective(), Normal(), True)
    trainer = Trainer(estimator, parameters, rows, (RobbinsMonro(0.5, 0.6), RobbinsMonro(0.5, 0.6)), rng)
    for _ in trainer.run(Schedule(1500, None)):
        pass
    assert np.mean(trainer.bounds[-200:]) > np.mean(trainer.bounds[:20]) + 0.1


class TestPlateau:
    def test_a_flat_sequence_ends_after_the_patience(self):
        plateau, flat = Plateau(0.1, 4), [2.05, 1.9] * 2
        assert [plateau.update(v) for v in (1.0, 2.0, *flat)] == [False] * (1 + len(flat)) + [True]

    def test_a_rising_sequence_does_not(self):
        plateau = Plateau(0.1, 2)
        assert not any(plateau.update(v) for v in np.arange(0, 50, 0.2))

    def test_training_winds_down_after_it(self, rng):
        rows = table(rng, n=60)
        parameters = Parameters.initial(Layout(1, 2, 2, "diagonal"), Hyperparameters(np.ones(2), 1.0, 0.5), rng)
        trainer = Trainer(
            BoundEstimator(GlobalObjective(), Normal(), True), parameters, rows, (Adam(0.05), Adam(0.05)), rng
        )
        assert max(trainer.run(Schedule(20_000, 1e-2))) < 10_000

    def test_its_probes_and_its_end_are_those_of_the_schedule(self, rng):
        rows = table(rng, n=60)
        parameters = Parameters.initial(Layout(1, 2, 2, "diagonal"), Hyperparameters(np.ones(2), 1.0, 0.5), rng)
        trainer = Trainer(
            BoundEstimator(GlobalObjective(), Normal(), True), parameters, rows, (Adam(0.05), Adam(0.05)), rng
        )
        schedule = Schedule(1000, 1e9, decay_after_plateau=2.0, steps_per_probe=10, probes_per_plateau=3)
        # The first probe is a rise, three more are none; then twice the 39 steps before the last.
        assert max(trainer.run(schedule)) == 40 + 78
