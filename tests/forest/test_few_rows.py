"""Tables of fewer rows than can be held out."""

import numpy as np
import pytest

from ssgp import SpectralForestRegressor


@pytest.mark.parametrize("n_rows", [1, 19])
def test_are_told(rng, n_rows):
    X, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    forest = SpectralForestRegressor(2, max_iter=5, random_state=0, n_jobs=1)
    with pytest.warns(UserWarning, match=f"fitted to {n_rows} rows?: of fewer than 20 none are held out"):
        forest.fit(X[:n_rows], y[:n_rows])
    forest.fit(X, y)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the forest is fitted to")
@pytest.mark.parametrize("n_rows", [6, 15])
def test_intervals_hold_on_average_over_tables(n_rows):
    """Without rows to calibrate by, 60 to 80 % were covered for 90 %."""
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, new = rng.normal(size=(n_rows, 2)), rng.normal(size=(200, 2))
        y, target = (0.5 * Z[:, 1] + 0.3 * rng.normal(size=len(Z)) for Z in (X, new))
        model = SpectralForestRegressor(2, max_iter=50, random_state=seed, n_jobs=1).fit(X, y)
        low, high = model.predict_interval(new, coverage=0.9).T
        covered.append(np.mean((low < target) & (target < high)))
    # A deviation of some 3 % for the mean over tables.
    assert 0.8 < np.mean(covered) < 0.98
