"""Posteriors of weights: the best one, its predictions, and the sums it is made of."""

import numpy as np
import pytest

from linear_models import SIGNAL, D, N, table, variational
from ssgp.baselines.linear_bound import Moments, Sums, WeightPosterior, feature_gradient
from ssgp.baselines.model import Model, RowLikelihood, sum_blocks


@pytest.mark.slow
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
