"""Branches of many rows, whose features are not all in memory at once, against those whose are."""

import numpy as np
import pytest

from ssgp.forest import branches
from ssgp.forest.branches import fill_branch
from ssgp.forest.leaf_features import Waves
from ssgp.rows.blocks import Block

GROUPS = (16, 4, 1)
# Leaves of many rows, of few, and of none.
BOUNDS = np.cumsum([0, 400, 3, 0, 250, 1, 0, 0, 90, 80, 70, 60, 50, 0, 40, 30, 0])


@pytest.mark.parametrize("at_once", [1, 97, 400, 1073])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("shrink", [True, False])
def test_in_parts_it_is_the_same(at_once, weighted, shrink, rng, monkeypatch):
    n = BOUNDS[-1]
    weight = rng.uniform(0.3, 3.0, n).astype(np.float32) if weighted else None
    block = Block(rng.normal(size=(n, 2)).astype(np.float32), rng.normal(size=n).astype(np.float32), weight)
    waves, signs = Waves.of(rng.normal(size=(6, 2)), np.ones(2)), np.eye(15)[:2]
    settings = (block, BOUNDS, waves, GROUPS, 0.3, signs, shrink, True)
    levels, errors = fill_branch(*settings)
    monkeypatch.setattr(branches, "MOST_ROWS", at_once)
    in_parts, errors_too = fill_branch(*settings)
    assert errors is not None
    assert errors_too is not None
    for own, other in zip(levels, in_parts, strict=True):
        for name in ("weights", "sketch", "count", "rss", "log_determinant", "ridge"):
            np.testing.assert_allclose(getattr(other, name), getattr(own, name), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(errors_too, errors, rtol=1e-3, atol=1e-4)
    assert fill_branch(*settings[:-1], False)[1] is None
