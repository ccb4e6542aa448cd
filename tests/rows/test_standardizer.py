"""Units of users and of models."""

import numpy as np
import pytest

from ssgp.rows.standardizer import Standardizer
from ssgp.saving.flattening import flatten, rebuild
from ssgp.saving.kinds import Kinds

N_ROWS, N_INPUTS = 5000, 3


@pytest.fixture(params=[False, True], ids=["plain", "weighted"])
def raw(request, rng):
    """Inputs, targets and weights in units of their own."""
    X = rng.normal(size=(N_ROWS, N_INPUTS)) * [1.0, 1e6, 1e-6] + [0.0, 1e9, 0.0]
    return X, 7.0 + rng.normal(size=N_ROWS), rng.uniform(1, 2, N_ROWS) if request.param else None


def test_how_large_weights_are_does_not_matter(raw):
    X, y, weight = raw
    weight = np.ones(N_ROWS) if weight is None else weight
    usual, large = (Standardizer.fit(X, y, size * weight, centre_target=True) for size in (1.0, 1e16))
    for name in ("x_mean", "x_scale", "y_mean", "y_scale"):
        np.testing.assert_allclose(getattr(large, name), getattr(usual, name), rtol=1e-9, atol=1e-9)


class TestVarianceOfTheTarget:
    @pytest.mark.parametrize("offset", [0.0, 3.0, -40.0])
    def test_it_is_relative_to_the_scale(self, offset, rng):
        X, y, weight = rng.normal(size=(50, 2)), offset + rng.gamma(2.0, size=50), rng.uniform(0.1, 3.0, 50)
        units = Standardizer.fit(X, y, weight, centre_target=False)
        spread = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
        assert units.y_variance * units.y_scale**2 == pytest.approx(spread)
        assert units.y_scale**2 == pytest.approx(np.average(y**2, weights=weight))
        assert Standardizer.fit(X, y, weight, centre_target=True).y_variance == 1.0

    def test_the_least_noise_is_a_share_of_it_until_that_is_rounding(self):
        least = [Standardizer(np.zeros(1), np.ones(1), 0.0, 1.0, v).least_noise(1e-6) for v in (1.0, 0.1, 1e-9)]
        assert least == [1e-6, pytest.approx(1e-7), 1e-8]

    def test_a_file_that_does_not_have_it_is_of_a_centred_target(self):
        flat = flatten(Standardizer(np.zeros(2), np.ones(2), 3.0, 4.0))
        del flat.objects[0]["parts"]["y_variance"]
        assert rebuild(flat, Kinds([Standardizer])).y_variance == 1.0
