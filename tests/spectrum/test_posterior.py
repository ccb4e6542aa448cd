import numpy as np
import pytest
from scipy.stats import multivariate_normal

from helpers import central_difference
from posteriors import random_parameters
from ssgp.spectrum.bases import Laplace, Logistic, Normal, StudentT
from ssgp.spectrum.parameters import Hyperparameters, Layout, Parameters
from ssgp.spectrum.posterior import (
    add_divergence,
    affine_posterior,
    check_memory,
    deviations,
    scale_matrix,
    summarize_mixing,
)

KINDS = ["full", "triangular", "block", "diagonal"]


def dense_scale(parameters):
    matrix = scale_matrix(parameters)
    return np.diag(matrix) if matrix.ndim == 1 else matrix


@pytest.mark.parametrize("kind", KINDS)
def test_deviations_are_the_matrix_times_z(kind, rng):
    parameters = random_parameters(kind, rng)
    z = rng.normal(size=(5, parameters.layout.dimension))
    np.testing.assert_allclose(deviations(parameters, z), z @ dense_scale(parameters).T, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_density_is_the_normal_one(kind, rng):
    parameters = random_parameters(kind, rng)
    unit = np.array([0.3, 2.0])
    posterior = affine_posterior(parameters, Normal(), unit, 1.7)
    units = np.concatenate([np.tile(unit, 2), np.full(4, 1.7)])
    matrix = units[:, None] * dense_scale(parameters)
    oracle = multivariate_normal(units * parameters.shift, matrix @ matrix.T)  # pyright: ignore[reportArgumentType]
    alpha = posterior.sample(6, rng)
    np.testing.assert_allclose(posterior.log_density(alpha), oracle.logpdf(alpha), rtol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [Normal(), StudentT(4.0), Laplace(), Logistic()], ids=repr)
def test_score_is_the_gradient_of_the_log_density(kind, base, rng):
    posterior = affine_posterior(random_parameters(kind, rng), base, np.ones(2), 1.0)
    alpha = posterior.sample(2, rng)
    numeric = central_difference(lambda a: float(posterior.log_density(a).sum()), alpha)
    np.testing.assert_allclose(posterior.score(alpha), numeric, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_samples_have_the_mean_and_covariance_of_the_map(kind, rng):
    parameters = random_parameters(kind, rng)
    posterior = affine_posterior(parameters, StudentT(10.0), np.ones(2), 1.0)
    draws = posterior.sample(200_000, rng)
    matrix = dense_scale(parameters)
    covariance = matrix @ matrix.T
    # Entries of a sample covariance of 200,000 rows deviate by about 1 % of the largest variance at most.
    np.testing.assert_allclose(draws.mean(axis=0), parameters.shift, atol=0.02 * np.sqrt(covariance.max()))
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.03 * covariance.max())


def test_split_reads_frequencies_row_by_row(rng):
    posterior = affine_posterior(random_parameters("diagonal", rng), Normal(), np.ones(2), 1.0)
    frequencies, weights = posterior.split(np.arange(8.0)[None])
    np.testing.assert_array_equal(frequencies, [[[0, 1], [2, 3]]])
    np.testing.assert_array_equal(weights, [[4, 5, 6, 7]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("base", [Normal(), StudentT(5.0), Laplace(), Logistic()], ids=repr)
def test_divergence_against_its_monte_carlo_mean(kind, base, rng):
    parameters = random_parameters(kind, rng)
    gradient = Parameters.zeros(Layout(2, 2, 4, "diagonal"), float)
    none = np.zeros((1, 8))
    kl = add_divergence(gradient, parameters, summarize_mixing(parameters), base, none, none, 1.0)
    posterior = affine_posterior(parameters, base, np.ones(2), 1.0)
    alpha = posterior.sample(100_000, rng)
    log_prior = -0.5 * np.sum(alpha**2 + np.log(2 * np.pi), axis=1)
    samples = posterior.log_density(alpha) - log_prior
    assert abs(kl - samples.mean()) < 5 * samples.std() / np.sqrt(len(samples))


def test_divergence_of_the_prior_from_itself_is_zero():
    layout = Layout(2, 2, 4, "triangular")
    parameters = Parameters.zeros(layout, float)
    gradient = Parameters.zeros(Layout(2, 2, 4, "diagonal"), float)
    none = np.zeros((1, 8))
    kl = add_divergence(gradient, parameters, summarize_mixing(parameters), Normal(), none, none, 1.0)
    assert kl == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(gradient.vectors, 0.0, atol=1e-12)


def test_a_map_that_does_not_fit_says_what_it_needs_and_what_to_use(monkeypatch):
    layout = Layout(2000, 100, 4000, "full")
    monkeypatch.setattr("ssgp.spectrum.posterior.available_memory", lambda: 2**20)
    with pytest.raises(ValueError, match=r"posterior='full' needs a 204,000 x 204,000 matrix .* GiB .*'diagonal'"):
        check_memory(layout)
    check_memory(Layout(2000, 100, 4000, "diagonal"))


def test_parameters_survive_a_pickle(rng):
    import pickle

    parameters = random_parameters("triangular", rng)
    again = pickle.loads(pickle.dumps(parameters))
    np.testing.assert_array_equal(again.flat, parameters.flat)
    again.shift[0] = 7.0
    assert again.flat[0] == 7.0


def test_initial_parameters_stand_for_the_given_hyperparameters(rng):
    given = Hyperparameters(np.array([0.5, 2.0]), 1.5, 0.2)
    fitted = Parameters.initial(Layout(3, 2, 6, "triangular"), given, rng).hyperparameters
    np.testing.assert_allclose(fitted.lengthscale, given.lengthscale, rtol=1e-6)
    assert (fitted.signal_variance, fitted.noise_variance) == pytest.approx((1.5, 0.2))
