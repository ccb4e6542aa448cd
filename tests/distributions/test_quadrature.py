"""Integrals over a half line, against closed forms."""

import numpy as np
import pytest

from ssgp.distributions.quadrature import half_line_integral

SCALES = np.array([1e-6, 0.3, 1.0, 40.0, 1e9])


@pytest.mark.parametrize(
    ("density", "integral"),
    [
        (lambda x: np.exp(-x), 1.0),
        (lambda x: np.exp(-0.5 * x * x), np.sqrt(np.pi / 2)),
        (lambda x: (1 + x) ** -3.0, 1 / 2),
        (lambda x: (1 + x * x) ** -2.0, np.pi / 4),
    ],
    ids=["exponential", "normal", "third power", "fourth power"],
)
def test_every_row_has_its_own_scale(density, integral):
    found = half_line_integral(lambda x, rows: density(x / SCALES[rows]), SCALES)
    np.testing.assert_allclose(found, integral * SCALES, rtol=1e-4)


@pytest.mark.parametrize("factor", [0.03, 30.0])
def test_a_scale_that_is_only_nearly_right_is_enough(factor):
    found = half_line_integral(lambda x, rows: np.exp(-x / SCALES[rows]), factor * SCALES)
    np.testing.assert_allclose(found, SCALES, rtol=1e-3)


def test_rows_that_have_settled_are_not_evaluated_again():
    looked = []

    def one_smooth_and_one_of_two_scales(x, rows):
        looked.append(rows.tolist())
        return np.exp(-x) + np.where(rows == 1, 100 * np.exp(-100 * x), 0.0)

    found = half_line_integral(one_smooth_and_one_of_two_scales, np.ones(2))
    np.testing.assert_allclose(found, [1.0, 2.0], rtol=1e-3)
    assert looked[0] == [0, 1]
    assert looked[-1] == [1]


def test_no_rows():
    assert half_line_integral(lambda x, rows: np.exp(-x), np.empty(0)).shape == (0,)
