"""Rows in blocks."""

import numpy as np
import pytest

from ssgp.rows.blocks import even_bounds


@pytest.mark.parametrize(("n", "size"), [(10, 3), (1000, 1000), (5, 100), (1, 1)])
def test_even_bounds(n, size):
    bounds = even_bounds(n, size)
    sizes = np.diff(bounds)
    assert bounds[0] == 0
    assert bounds[-1] == n
    assert sizes.max() <= size
    assert sizes.max() - sizes.min() <= 1
