"""A row of weight k is k rows, for every method: docs/mathematics.md, "Weights"."""

import warnings

import numpy as np
import pytest

from helpers import wavy
from ssgp import (
    DTCRegressor,
    ExactGPRegressor,
    PICRegressor,
    RecalibratedRegressor,
    SpectralForestRegressor,
    SSGPRegressor,
    SVBSSGPRegressor,
    VSSGPRegressor,
)

N_ROWS = 100


def svbssgp(**settings):
    return SVBSSGPRegressor(6, n_blocks=1, n_draws=2, n_jobs=1, random_state=0, **{"max_iter": 100, **settings})


def recalibrated():
    X, y, _ = wavy(N_ROWS, seed=7)
    return RecalibratedRegressor(SSGPRegressor(6, max_iter=10, n_restarts=1, random_state=0).fit(X, y))


# Methods that compute the same numbers from repeated rows, and how closely, in deviations of the target: rows are added
# in another order, and steps multiply what that changes in the last bits.
SAME = {
    "svbssgp": (svbssgp, 1e-3),
    "local svbssgp": (lambda: svbssgp(objective="local"), 1e-3),
    "pic": (lambda: PICRegressor(N_ROWS, n_blocks=1, max_iter=20, n_jobs=1, random_state=0), 2e-2),
    "dtc": (lambda: DTCRegressor(N_ROWS, batch_size=None, max_iter=10, n_jobs=1, random_state=0), 1e-3),
    "ssgp": (lambda: SSGPRegressor(6, n_restarts=1, max_iter=20, n_jobs=1, random_state=0), 1e-3),
    "exact": (lambda: ExactGPRegressor(random_state=0), 2e-3),
    "recalibrated": (recalibrated, 2e-3),
}
# Those whose random choices follow from the number of rows.
ALIKE = {
    "forest": lambda: SpectralForestRegressor(n_trees=3, n_frequencies=8, max_iter=60, n_jobs=1, random_state=0),
    "vssgp": lambda: VSSGPRegressor(12, max_iter=40, n_jobs=1, random_state=0),
    "batches of dtc": lambda: DTCRegressor(15, batch_size=50, max_iter=200, n_jobs=1, random_state=0),
    "blocks of pic": lambda: PICRegressor(15, n_blocks=3, max_iter=150, n_jobs=1, random_state=0),
}
# Those with as many features as rows: copies of rows that have noise say to them that there is none.
PASS_THROUGH_ALL_ROWS = {"exact", "pic", "dtc"}
EVERY = {**{name: make for name, (make, _) in SAME.items()}, **ALIKE}
every = pytest.mark.parametrize("name", EVERY)


def distance(one, other, X, scale):
    """How far predictions of two models are apart, at most, in deviations of the target."""
    pairs = zip(one.predict(X, return_std=True), other.predict(X, return_std=True), strict=True)
    return max(float(np.abs(a - b).max()) for a, b in pairs) / scale


@pytest.fixture(scope="module")
def table():
    X, y, _ = wavy(N_ROWS, seed=3, noise=0.2)
    times = np.random.default_rng(3).integers(0, 4, N_ROWS)
    return X, y, times, np.repeat(np.arange(N_ROWS), times)


@pytest.mark.parametrize("name", SAME)
def test_whole_weights_are_rows_repeated(name, table):
    X, y, times, rows = table
    make, tolerance = SAME[name]
    weighted, repeated = make().fit(X, y, times.astype(float)), make().fit(X[rows], y[rows])
    assert distance(weighted, repeated, X, y.std()) < tolerance
    plain = make().fit(X, y)
    assert distance(weighted, plain, X, y.std()) > 5 * tolerance, "weights have to change something"
    if hasattr(weighted, "bound_"):
        assert weighted.bound_ == pytest.approx(repeated.bound_, abs=0.05)


@pytest.mark.filterwarnings("ignore:.*of the rows repeat another exactly")
@pytest.mark.parametrize("name", ALIKE)
def test_whole_weights_are_much_like_rows_repeated(name, table):
    X, y, times, rows = table
    weighted, repeated = ALIKE[name]().fit(X, y, times.astype(float)), ALIKE[name]().fit(X[rows], y[rows])
    apart = weighted.predict(X) - repeated.predict(X)
    assert np.sqrt(np.mean(apart**2)) < 0.2 * y.std()


@every
def test_weights_of_one_change_nothing(name, table):
    X, y, *_ = table
    assert distance(EVERY[name]().fit(X, y, np.ones(N_ROWS)), EVERY[name]().fit(X, y), X, y.std()) < 0.02


def errors_after(model, weight):
    """Errors at new rows, without their noise, and deviations there, after a fit to these weights."""
    X, y, _ = wavy(N_ROWS, seed=3)
    new, _, latent = wavy(200, seed=4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sample_weight says that every row was seen", UserWarning)
        mean, std = model.fit(X, y, weight).predict(new, return_std=True)
    assert np.isfinite(mean).all()
    assert (np.isfinite(std) & (std > 0)).all()
    return mean - latent, std


def rms(values):
    return float(np.sqrt(np.mean(values**2)))


@pytest.mark.slow
@pytest.mark.parametrize("weight", [30.0, 1e3, 1e6, 9e6])
@pytest.mark.parametrize("name", [name for name in EVERY if name not in {*PASS_THROUGH_ALL_ROWS, "blocks of pic"}])
def test_a_table_seen_many_times_is_learned(name, weight):
    """By the median of three seeds: runs this short end here and there."""

    def error(weights):
        models = [EVERY[name]() for _ in range(3)]
        for seed, model in enumerate(models):
            model.set_params(**{key: seed for key in model.get_params() if key.endswith("random_state")})
        return np.median([rms(errors_after(model, weights)[0]) for model in models])

    assert error(np.full(N_ROWS, weight)) < 1.5 * error(None) + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("weight", [30.0, 1e3, 1e6, 9e6])
def test_what_passes_through_all_rows_knows_how_far_it_is_off(weight):
    error, std = errors_after(ExactGPRegressor(random_state=0), np.full(N_ROWS, weight))
    assert rms(error / std) < 2.0


@pytest.mark.slow
@pytest.mark.parametrize("times_others", [10.0, 1000.0])
@pytest.mark.parametrize("name", [name for name in EVERY if name not in PASS_THROUGH_ALL_ROWS])
def test_one_row_that_outweighs_all_others_does_not_spoil_them(name, times_others):
    usual, _ = errors_after(EVERY[name](), None)
    error, _ = errors_after(EVERY[name](), np.where(np.arange(N_ROWS) == 5, times_others * (N_ROWS - 1), 1.0))
    assert rms(error) < 1.5 * rms(usual) + 0.35


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.full(N_ROWS, 1 / N_ROWS), r"sums to 1: .* fewer than 2\. .* divide them by their mean, 0.01"),
        (np.full(N_ROWS, 1e8), r"sums to 1e\+10: .* divide them by their mean, 1e\+08"),
        (
            np.where(np.arange(N_ROWS) == 5, 0.5, 0.0),
            r"sums to 0.5: .* fewer than 1\. .* divide them by their mean, 0.5",
        ),
        (np.where(np.arange(N_ROWS) == 5, 2e9, 1.0), r"has one row of weight 2e\+09"),
        (
            np.where(np.arange(N_ROWS) == 5, 2e6, 1.0),
            r"has one row of weight 2e\+06, more than 10,000 times .* 99 others",
        ),
        (np.where(np.arange(N_ROWS) == 5, -1.0, 1.0), r"must not be negative: .* is -1.0 in row 5 \(1 of 100 rows\)"),
        (np.where(np.arange(N_ROWS) == 5, np.nan, 1.0), r"must be finite: .* is nan in row 5"),
        (np.where(np.arange(N_ROWS) == 5, np.inf, 1.0), r"must be finite: .* is inf in row 5"),
        (np.where(np.arange(N_ROWS) == 5, 1e-40, 1.0), "must be 0 or at least 1e-30, found 1e-40"),
        (np.zeros(N_ROWS), "is zero for every row"),
        (np.ones(N_ROWS - 1), r"must have a number for each of the 100 rows, got shape \(99,\)"),
        (["a"] * N_ROWS, "must have a number for each of the 100 rows: could not convert"),
    ],
    ids=[
        "shares",
        "huge",
        "half a row",
        "one that is huge",
        "one",
        "negative",
        "nan",
        "infinite",
        "tiny",
        "zero",
        "short",
        "text",
    ],
)
@every
def test_what_weights_cannot_mean_is_refused(name, weight, message):
    X, y, _ = wavy(N_ROWS)
    with pytest.raises(ValueError, match=f"^sample_weight {message}"):
        EVERY[name]().fit(X, y, weight)


@every
def test_one_number_is_the_weight_of_every_row(name):
    X, y, _ = wavy(N_ROWS)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "sample_weight says that every row was seen", UserWarning)
        found, expected = (EVERY[name]().fit(X, y, weight).predict(X) for weight in (2.0, np.full(N_ROWS, 2.0)))
    np.testing.assert_array_equal(found, expected)


def test_weights_that_sum_to_two_but_for_rounding_are_enough():
    model = SSGPRegressor(2, max_iter=2, n_restarts=1)
    model.fit([[0.0], [1.0]], [3.0, 4.0], [1.0, np.nextafter(1.0, 0.0)])
    with pytest.raises(ValueError, match="fewer than 2"):
        model.fit([[0.0], [1.0]], [3.0, 4.0], [1.0, 0.999])


def test_little_weight_is_warned_of():
    X, y, _ = wavy(N_ROWS)
    with pytest.warns(UserWarning, match=r"sums to 5 for 100 rows: .* divide them by their mean, 0.05"):
        SSGPRegressor(2, max_iter=2, n_restarts=1).fit(X, y, np.full(N_ROWS, 0.05))


def test_one_row_of_weight_one_is_one_row():
    model = SSGPRegressor(2, max_iter=2, n_restarts=1, random_state=0)
    weighted = model.fit([[0.0], [1.0]], [3.0, 4.0], [1.0, 0.0]).predict([[0.5]])
    assert weighted == pytest.approx(model.fit([[0.0]], [3.0]).predict([[0.5]]))


class TestParts:
    """Of rows that come in parts, all together have to count for enough."""

    def test_batches(self):
        X, y, _ = wavy(N_ROWS)
        forest = SpectralForestRegressor(n_trees=1, n_frequencies=4, max_iter=5, n_jobs=1, random_state=0)

        def batches(weight):
            return [(X[k : k + 10], y[k : k + 10], weight[k : k + 10]) for k in range(0, N_ROWS, 10)]

        forest.fit_batches(batches(np.full(N_ROWS, 0.15)))
        forest.fit_batches([(X, y, 2.0), (X, y, 0.0)])
        with pytest.raises(ValueError, match=r"^sample_weight sums to 1: "):
            forest.fit_batches(batches(np.full(N_ROWS, 1 / N_ROWS)))
        with pytest.raises(ValueError, match=r"^batch 3: sample_weight must not be negative"):
            forest.fit_batches(batches(np.where(np.arange(N_ROWS) == 35, -1.0, 1.0)))

    @pytest.mark.parametrize("name", ["forest", "svbssgp"])
    def test_rows_that_are_added(self, name):
        X, y, _ = wavy(N_ROWS)
        model = EVERY[name]().set_params(max_iter=5).partial_fit(X, y, np.ones(N_ROWS))
        model.partial_fit(X[:1], y[:1], [0.5])
        before = model.predict(X)
        with pytest.raises(ValueError, match=r"sample_weight has one row of weight 1e\+07"):
            model.partial_fit(X[:1], y[:1], [1e7])
        np.testing.assert_array_equal(model.predict(X), before)

    @pytest.mark.parametrize("name", ["forest", "svbssgp"])
    @pytest.mark.parametrize("weight", [1e-3, 1e-6])
    def test_light_rows_may_be_followed_by_others(self, name, weight):
        """Together they are what counts; nobody knows at first what is still to come."""
        X, y, _ = wavy(N_ROWS)
        model = EVERY[name]().set_params(max_iter=5)
        with pytest.warns(UserWarning, match=r"sums to \S+ for 50 rows"):
            model.partial_fit(X[:50], y[:50], np.full(50, weight))
        assert np.isfinite(model.predict(X, return_std=True)).all()
        with pytest.warns(UserWarning, match=r"sums to \S+ for 60 rows"):
            model.partial_fit(X[50:60], y[50:60], np.full(10, weight))
        model.partial_fit(X[60:], y[60:], 2.0)
        assert np.isfinite(model.predict(X, return_std=True)).all()
        with pytest.raises(ValueError, match="is zero for every row"):
            EVERY[name]().partial_fit(X, y, np.zeros(N_ROWS))
