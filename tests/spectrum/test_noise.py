"""A block's noise variance, integrated out, and the prior that many blocks make most probable."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import invgamma, norm

from ssgp.spectrum.noise import NoisePrior, fit_noise_prior, fit_noise_priors


@pytest.mark.parametrize("prior", [NoisePrior(2.0, 0.2), NoisePrior(0.6, 3.0), NoisePrior(30.0, 7.0)])
@pytest.mark.parametrize("n", [1, 4, 40])
def test_evidence_is_the_integral_over_the_noise_variance(prior, n, rng):
    y = rng.normal(size=n)
    evidence = prior.log_evidence(np.array([n]), np.array([y @ y]))[0]

    def integrand(log_variance):
        variance = np.exp(log_variance)
        likelihood = norm.logpdf(y, scale=np.sqrt(variance)).sum()
        log_prior = invgamma.logpdf(variance, prior.shape, scale=prior.scale)
        return np.exp(likelihood + log_prior + log_variance - evidence)

    assert quad(integrand, -15.0, 15.0, limit=500, points=[-2.0, 0.0, 2.0])[0] == pytest.approx(1.0, rel=1e-6)


def test_posterior_of_the_noise_variance_is_an_inverse_gamma():
    """Likelihood times prior is proportional to InvGamma(a_n, b_n) at all variances."""
    prior, y = NoisePrior(1.5, 0.4), np.array([0.3, -1.2, 0.8])
    variances = np.array([0.1, 0.5, 2.0, 9.0])
    joint = norm.logpdf(y[:, None], scale=np.sqrt(variances)).sum(axis=0) + invgamma.logpdf(variances, 1.5, scale=0.4)
    a, b = prior.shape_after(np.array(3.0)), prior.scale_after(np.array(y @ y))
    apart = joint - invgamma.logpdf(variances, a, scale=b)
    np.testing.assert_allclose(apart, apart[0], rtol=1e-10)


@pytest.mark.parametrize(("shape", "scale"), [(4.0, 1.5), (1.2, 0.01), (15.0, 40.0)])
def test_many_blocks_give_their_prior_away(shape, scale, rng):
    """Of 4,000 blocks the standard errors of log a0 and log b0 are below 0.04: four of them are allowed."""
    n = rng.integers(20, 60, size=4000).astype(float)
    variances = invgamma(shape, scale=scale).rvs(4000, random_state=rng)
    found = fit_noise_prior(n, variances * rng.chisquare(n))
    assert np.log(found.shape / shape) == pytest.approx(0.0, abs=0.16)
    assert np.log(found.scale / scale) == pytest.approx(0.0, abs=0.16)


@pytest.mark.parametrize(
    ("n", "rss"),
    [
        ([50.0], [25.0]),
        ([1.0], [0.3]),
        ([0.0], [0.0]),
        ([50.0, 60.0], [0.0, 0.0]),
        ([50.0] * 300, [25.0] * 300),
        ([50.0] * 300, [0.0] * 300),
        ([10.0] * 20, [1e-12, 1e6] * 10),
        ([1e7, 1.0], [1e7, 5.0]),
    ],
    ids=["one", "one row", "empty", "no residuals", "alike", "none has residuals", "extremes", "uneven"],
)
def test_odd_blocks_give_a_finite_prior(n, rss):
    prior = fit_noise_prior(np.array(n), np.array(rss))
    assert 0 < prior.shape < np.inf
    assert 0 < prior.scale < np.inf
    assert np.isfinite(prior.log_evidence(np.array(n), np.array(rss))).all()


def test_blocks_alike_agree_on_their_variance():
    n, rss = np.full(300, 50.0), np.full(300, 25.0)
    prior = fit_noise_prior(n, rss)
    np.testing.assert_allclose(prior.noise_after(n, rss), 0.5, rtol=0.05)
    # And a new block is expected to be like them.
    assert prior.scale / prior.shape == pytest.approx(0.5, rel=0.05)


def test_the_order_of_the_blocks_does_not_matter(rng):
    n, rss = rng.integers(5, 50, size=40).astype(float), rng.exponential(20.0, size=40)
    order = rng.permutation(40)
    one, other = fit_noise_prior(n, rss), fit_noise_prior(n[order], rss[order])
    assert (one.shape, one.scale) == pytest.approx((other.shape, other.scale), rel=1e-3)


def test_several_priors_are_found_as_each_alone(rng):
    """Of blocks alike, of weights, without any residual, and of very small and very large ones."""
    n = np.stack([np.full(9, 20.0), rng.uniform(1, 50, 9), rng.integers(0, 30, 9), np.zeros(9)])
    rss = n * rng.gamma(2.0, 1.0, n.shape) * np.array([[1.0], [1e-8], [0.0], [1.0]])
    for prior, own_n, own_rss in zip(fit_noise_priors(n, rss), n, rss, strict=True):
        alone = fit_noise_prior(own_n, own_rss)
        assert (prior.shape, prior.scale) == pytest.approx((alone.shape, alone.scale), rel=1e-6)
