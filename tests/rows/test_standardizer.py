"""Units of users and of models."""

import numpy as np
import pytest

from ssgp.rows.standardizer import SMALLEST, Standardizer
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


class TestExtremes:
    @pytest.mark.parametrize("unit", [1e-300, 1e-200, 1e200, 1e300])
    def test_columns_of_any_size_are_standardised(self, unit, rng):
        X, y = rng.normal(2.0, 3.0, size=(50, 1)), rng.normal(size=50)
        usual, extreme = (Standardizer.fit(X * size, y, None, True) for size in (1.0, unit))
        np.testing.assert_allclose(extreme.x_scale / unit, usual.x_scale, rtol=1e-12)
        np.testing.assert_allclose(extreme.inputs(X * unit), usual.inputs(X), rtol=1e-5)

    def test_a_deviation_less_than_any_positive_number_is_the_smallest(self):
        X = np.array([[0.0], [SMALLEST], [0.0]])
        units = Standardizer.fit(X, np.arange(3.0), None, True)
        assert units.x_scale == [SMALLEST]
        np.testing.assert_array_equal(units.inputs(X), [[0.0], [1.0], [0.0]])

    @pytest.mark.parametrize("value", [0.0, 1e-300, 3.0, 1e300])
    def test_a_constant_column_keeps_its_scale(self, value, rng):
        units = Standardizer.fit(np.full((40, 1), value), rng.normal(size=40), None, True)
        assert units.x_scale == [1.0]
        np.testing.assert_array_equal(units.inputs(np.full((3, 1), value)), 0.0)

    def test_rows_are_no_further_than_the_farthest(self):
        units = Standardizer(np.zeros(1), np.ones(1), 0.0, 1.0)
        expected = np.array([[-1e12], [1e12], [7.0]], np.float32)
        np.testing.assert_array_equal(units.inputs(np.array([[-1e308], [1e13], [7.0]])), expected)

    def test_numbers_whose_differences_are_infinite_are_refused(self, rng):
        X = rng.normal(size=(40, 2))
        X[3, 1] = 1e308
        with pytest.raises(ValueError, match="X has values in column 1 too extreme"):
            Standardizer.fit(X, X[:, 0], None, True)


@pytest.mark.parametrize("size", [0.1, 7.0, 3e30, -3e30, 1e200])
def test_constant_columns_are_nothing_whatever_their_size(size):
    """A mean that is rounded leaves something of every row, which is huge beside a deviation of one."""
    X = np.full((1000, 1), size)
    units = Standardizer.fit(X, np.arange(1000.0), None, True)
    np.testing.assert_array_equal(units.inputs(X), 0.0)
    almost = np.where(np.arange(1000)[:, None] % 2 == 0, size, np.nextafter(size, 0.0))
    assert np.abs(Standardizer.fit(almost, np.arange(1000.0), None, True).inputs(almost)).max() <= 1.0
