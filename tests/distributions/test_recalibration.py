"""Four numbers that correct predictions, against SciPy's maximum likelihood and what was done to the rows."""

import numpy as np
import pytest
from scipy.stats import t

from mixtures import random_mixtures
from ssgp.distributions.recalibration import Recalibration, fit_recalibration
from ssgp.distributions.student_mixture import StudentMixture


def standard_normals(n):
    """What a model says that predicts mean 0 and deviation 1 of every row."""
    return StudentMixture(np.zeros((1, n)), np.ones((1, n)), np.full((1, n), 1e4))


class TestFit:
    def test_of_normal_predictions_is_the_most_probable_student_t(self, rng):
        y = 1.5 + 2.0 * rng.standard_t(5, size=5000)
        found = fit_recalibration(standard_normals(5000), y)
        dof, _, scale = t.fit(y)
        assert found.shift == pytest.approx(y.mean())
        assert found.below == pytest.approx(scale, rel=0.05)
        assert found.above == pytest.approx(scale, rel=0.05)
        assert found.dof == pytest.approx(dof, rel=0.1)

    def test_skewed_errors_are_stretched_by_their_sides(self, rng):
        """Half of a normal distribution below zero, and three times that above."""
        z = rng.normal(size=10_000)
        y = np.where(z > 0, 3.0 * z, z)
        found = fit_recalibration(standard_normals(10_000), y)
        assert found.below == pytest.approx(1.0, rel=0.05)
        assert found.above == pytest.approx(3.0, rel=0.05)
        assert found.dof > 50

    def test_an_honest_model_is_left_almost_alone(self, rng):
        """Errors of four estimates cost two nats in all, and chance seldom more than five times that."""
        mixtures, fresh = random_mixtures(rng, 1000), random_mixtures(rng, 1000)
        found = fit_recalibration(mixtures, mixtures.sample(1, rng)[:, 0])
        assert abs(found.shift) < 0.2
        assert found.below == pytest.approx(1.0, abs=0.15)
        assert found.above == pytest.approx(1.0, abs=0.15)
        y = fresh.sample(1, rng)[:, 0]
        assert found(fresh).logpdf(y).sum() > fresh.logpdf(y).sum() - 10

    @pytest.mark.slow
    def test_finds_what_was_done_to_a_mixture(self, rng):
        mixtures = random_mixtures(rng, 20_000)
        y = Recalibration(-3.0, 0.5, 0.8)(mixtures).sample(1, rng)[:, 0]
        found = fit_recalibration(mixtures, y)
        assert found.shift == pytest.approx(-3.0, abs=0.05)
        assert found.below == pytest.approx(0.5, rel=0.05)
        assert found.above == pytest.approx(0.8, rel=0.05)

    @pytest.mark.parametrize(("shift", "scale"), [(1e4, 1.0), (0.0, 50.0), (-30.0, 0.02)])
    def test_far_from_what_the_model_says(self, rng, shift, scale):
        y = shift + scale * rng.normal(size=300)
        found = fit_recalibration(standard_normals(300), y)
        assert found.shift == pytest.approx(shift, abs=0.3 * scale)
        assert found.below == pytest.approx(scale, rel=0.25)
        assert found.above == pytest.approx(scale, rel=0.25)

    def test_a_row_of_weight_two_is_a_row_twice(self, rng):
        y, weight = rng.standard_t(4, size=300), rng.integers(1, 3, size=300)
        weighted = fit_recalibration(standard_normals(300), y, weight.astype(float))
        repeated = np.repeat(y, weight)
        again = fit_recalibration(standard_normals(len(repeated)), repeated)
        assert weighted.shift == pytest.approx(again.shift, abs=1e-3)
        assert weighted.below == pytest.approx(again.below, rel=1e-3)
        assert weighted.above == pytest.approx(again.above, rel=1e-3)

    def test_targets_that_are_predicted_exactly_stay_finite(self):
        found = fit_recalibration(standard_normals(50), np.zeros(50))
        assert np.isfinite([found.shift, found.below, found.above, found.dof]).all()
        assert min(found.below, found.above) > 0
