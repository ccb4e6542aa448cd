"""Random rows."""

import numpy as np
import pytest
from scipy.stats import chisquare

from ssgp._utils.sampling import random_rows

# The last two: as many of a large table as can be wanted without a number for each row, and more rows than memory has.
SIZES = [(10, 10), (50, 10), (100, 30), (10**8, 3), (10**7, 24_999), (0, 0), (1_000_004, 250_001), (10**15, 1000)]


@pytest.mark.parametrize(("n_rows", "n_wanted"), SIZES)
def test_random_rows_are_different_and_from_everywhere(n_rows, n_wanted):
    found = random_rows(n_rows, n_wanted, 3)
    assert len(np.unique(found)) == len(found) == n_wanted
    assert ((found >= 0) & (found < n_rows)).all()
    np.testing.assert_array_equal(found, random_rows(n_rows, n_wanted, 3))
    if n_wanted >= 50:
        # The mean of a uniform sample, within five standard errors; and its order tells nothing.
        assert abs(found.mean() / n_rows - 0.5) < 5 / np.sqrt(12 * n_wanted)
        half = n_wanted // 2
        assert abs(found[:half].mean() - found[half:].mean()) / n_rows < 5 / np.sqrt(12 * n_wanted / 4)


def test_every_row_is_drawn_as_often_as_every_other():
    """Also in every place: the first row is not more often the first."""
    drawn = np.array([random_rows(6, 2, seed) for seed in range(3000)])
    for place in drawn.T:
        assert chisquare(np.bincount(place, minlength=6)).pvalue > 1e-3


def test_another_seed_is_another_draw():
    assert not np.array_equal(random_rows(10**7, 100, 0), random_rows(10**7, 100, 1))
    assert not np.array_equal(random_rows(100, 100, 0), random_rows(100, 100, 1))
