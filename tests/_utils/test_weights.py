"""Weights that are limited where many rows have to have a say."""

import warnings

import numpy as np
import pytest

from ssgp._utils.weights import limit_share, warn_of_copies


@pytest.mark.parametrize("share", [0.05, 0.1])
@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0, 10.0])
def test_none_has_more_than_its_share_or_ten_times_the_median(share, spread, rng):
    for n_rows in (1, 2, 19, 20, 21, 100, 1000):
        weight = np.exp(spread * rng.normal(size=n_rows))
        limited = limit_share(weight, share)
        least = 10.0 * np.median(weight)
        assert (limited <= weight).all()
        assert ((limited <= share * limited.sum() * (1 + 1e-9)) | (limited <= least)).all()
        lowered = limited < weight
        np.testing.assert_array_equal(limited[~lowered], weight[~lowered])
        # Those that are lowered are all lowered to the same, and that is no lower than it has to be.
        if lowered.any():
            assert np.ptp(limited[lowered]) == 0.0
            assert limited[lowered][0] == pytest.approx(max(least, share * limited.sum()))


def test_weights_that_differ_little_stay_as_they_are(rng):
    weight = rng.integers(1, 6, size=8).astype(float)
    assert limit_share(weight, 0.05) is weight


def test_copies_of_every_row_are_warned_of():
    with pytest.warns(UserWarning, match="every row was seen 7 times"):
        warn_of_copies(np.full(4, 7.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_copies(np.full(4, 3.0))
        warn_of_copies(None)
