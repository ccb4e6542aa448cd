"""Values far from all others are found, and those of heavy tails are none."""

import numpy as np
import pytest

from ssgp.rows.isolated_values import clean_range

SORTS = {
    "normal": lambda rng: rng.normal(size=3000),
    "lognormal": lambda rng: rng.lognormal(sigma=2.0, size=3000),
    "Student-t of two degrees": lambda rng: rng.standard_t(2, size=3000),
    "mostly zero": lambda rng: rng.lognormal(sigma=1.5, size=3000) * (rng.random(3000) < 0.1),
    "counts": lambda rng: rng.poisson(0.01, size=3000).astype(float),
    "constant": lambda rng: np.full(3000, 7.0),
    "two values": lambda rng: rng.integers(2, size=3000) * 1e9,
}


@pytest.mark.parametrize("sort", SORTS)
def test_none_is_isolated(sort):
    for seed in range(20):
        assert clean_range(SORTS[sort](np.random.default_rng(seed))) is None


@pytest.mark.parametrize("sort", ["normal", "lognormal", "Student-t of two degrees", "mostly zero"])
@pytest.mark.parametrize("far", [[1e9], [-1e9], [1e9, -3e8], [1e200, 1e7]])
def test_a_few_are_isolated_and_the_range_is_that_of_the_others(sort, far, rng):
    clean = SORTS[sort](rng)
    values = rng.permutation(np.append(clean, far))
    found = clean_range(values)
    assert found is not None
    low, high = found
    kept = (low <= values) & (values <= high)
    np.testing.assert_array_equal(np.sort(values[kept]), np.sort(clean))
    # Even on both sides of the median, as far as the farthest of the others.
    assert max(high - np.median(values), np.median(values) - low) == pytest.approx(
        np.abs(clean - np.median(values)).max()
    )


def test_many_are_not_isolated(rng):
    values = np.append(rng.normal(size=3000), np.full(10, 1e9))
    assert clean_range(values) is None


def test_few_values_do_not_tell():
    assert clean_range(np.array([1.0, 2.0, 3.0, 1e9])) is None


def test_extremes_of_a_table_beyond_those_of_its_sample(rng):
    sample = rng.normal(size=1000)
    assert clean_range(sample, (-5.0, 6.0)) is None
    found = clean_range(sample, (-5.0, 1e9))
    assert found is not None
    low, high = found
    assert high == pytest.approx(np.median(sample) + np.abs(sample - np.median(sample)).max())
    assert low == pytest.approx(2 * np.median(sample) - high)


def test_values_at_the_end_of_all_numbers(rng):
    values = rng.normal(size=1000)
    values[:5], values[5:9] = 1.7e308, -1.7e308
    assert clean_range(values) is None
