"""Random rows."""

import numpy as np
import pytest

from ssgp._utils.sampling import random_rows


@pytest.mark.parametrize(("n_rows", "n_wanted"), [(10, 10), (50, 10), (100, 30), (10**8, 3), (10**7, 24_999), (0, 0)])
def test_random_rows_are_different_and_from_everywhere(n_rows, n_wanted):
    found = random_rows(n_rows, n_wanted, 3)
    assert len(np.unique(found)) == len(found) == n_wanted
    np.testing.assert_array_equal(found, random_rows(n_rows, n_wanted, 3))
    if n_wanted >= 50:
        # The mean of a uniform sample, within five standard errors; and its order tells nothing.
        assert abs(found.mean() / n_rows - 0.5) < 5 / np.sqrt(12 * n_wanted)
        half = n_wanted // 2
        assert abs(found[:half].mean() - found[half:].mean()) / n_rows < 5 / np.sqrt(12 * n_wanted / 4)
