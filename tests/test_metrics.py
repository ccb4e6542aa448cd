import numpy as np
import pytest
from scipy.stats import norm

from ssgp.metrics import coverage, mnlp, rmse


@pytest.fixture
def predictions(rng):
    mean, std = rng.normal(size=200), rng.uniform(0.5, 2.0, size=200)
    return mean + std * rng.normal(size=200), mean, std


def test_rmse_is_the_root_of_the_mean_square(predictions):
    y, mean, _ = predictions
    assert rmse(y, mean) == pytest.approx(np.sqrt(np.mean((y - mean) ** 2)))


def test_mnlp_is_minus_the_mean_log_density(predictions):
    y, mean, std = predictions
    assert mnlp(y, mean, std) == pytest.approx(-norm.logpdf(y, mean, std).mean())


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_coverage_is_the_share_inside_the_interval(predictions, level):
    y, mean, std = predictions
    low, high = norm(mean, std).interval(level)
    assert coverage(y, mean, std, level=level) == np.mean((low <= y) & (y <= high))


def test_weights_count_rows(predictions):
    y, mean, std = predictions
    counts = np.arange(200) % 3
    for metric in (mnlp, coverage):
        repeated = metric(*(np.repeat(v, counts) for v in (y, mean, std)))
        assert metric(y, mean, std, sample_weight=counts) == pytest.approx(repeated)


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"y_std must be positive, found 0\.0 in row 1"):
        mnlp([1.0, 2.0], [1.0, 2.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="y_mean contains NaN"):
        coverage([1.0], [np.nan], [1.0])
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        coverage([1.0], [1.0], [1.0], level=95)
    with pytest.raises(ValueError, match="inconsistent"):
        mnlp([1.0, 2.0], [1.0], [1.0])
