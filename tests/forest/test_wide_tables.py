"""Forests of tables of many columns."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import ssgp
from ssgp import SpectralForestRegressor
from ssgp._utils.wide import CHOSEN_INPUTS, WIDE
from ssgp.forest.fit import _learning_rows
from ssgp.forest.leaf_features import LeafFeatures, WideLeafFeatures
from ssgp.forest.learning import FrequencyLearner
from ssgp.forest.settings import ForestSettings
from ssgp.forest.sizes import MemoryShares, choose_sizes
from ssgp.metrics import rmse
from ssgp.rows.blocks import Rows
from ssgp.rows.training_rows import TrainingRows

pytestmark = pytest.mark.slow

SETTINGS: dict[str, Any] = {"n_trees": 2, "max_iter": 20, "n_frequencies": 10, "random_state": 0}
QUICK: dict[str, Any] = SETTINGS | {"max_iter": 1}
N_ROWS, N_INPUTS = 400, WIDE + 50


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_INPUTS))
    return X, 2.0 * X[:, 5] - X[:, 320] + np.abs(X[:, 7]) + 0.1 * rng.normal(size=N_ROWS)


@pytest.fixture(scope="module")
def fitted(table):
    return SpectralForestRegressor(**SETTINGS).fit(*table)


def trend_inputs(tree):
    assert isinstance(tree.features, WideLeafFeatures)
    return tree.features.trend_inputs


def test_leaves_are_linear_in_some_inputs_those_that_matter_among_them(fitted):
    for tree in fitted._fitted.forest.trees:
        assert tree.features.n_features == 2 * 10 + 1 + CHOSEN_INPUTS
        assert {5, 320} <= set(trend_inputs(tree))


def test_a_table_that_is_not_wide_keeps_all_inputs(rng):
    X, y = rng.normal(size=(60, WIDE)), rng.normal(size=60)
    features = SpectralForestRegressor(**QUICK).fit(X, y)._fitted.forest.trees[0].features
    assert type(features) is LeafFeatures
    assert features.n_features == 2 * 10 + 1 + WIDE


def test_learning_and_leaves_have_the_same_inputs(table, monkeypatch):
    seen = []
    learn = FrequencyLearner._learner
    monkeypatch.setattr(
        FrequencyLearner, "_learner", lambda self, *args: seen.append(self.trend_inputs) or learn(self, *args)
    )
    model = SpectralForestRegressor(**QUICK).fit(*table)
    for tree in model._fitted.forest.trees:
        np.testing.assert_array_equal(trend_inputs(tree), seen[0])


@pytest.mark.parametrize(
    ("n_rows", "n_inputs", "n_learned"),
    [(2000, 201, 1400), (2000, 200, 2000), (200, 64, 200), (600, 400, 300), (100, 65, 50), (21, 400, 11)],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_that_calibrate_have_no_part_in_learning_where_there_are_few_per_input(
    n_rows, n_inputs, n_learned, weighted
):
    """Rows are held out from the last on, a tenth in each fold, and half of them are learned from at least."""
    X, y = np.zeros((n_rows, n_inputs), np.float32), np.arange(n_rows)
    sample = Rows(X, y, y + 1.0 if weighted else None, np.array([0, n_rows]))
    sizes = choose_sizes(n_rows, n_inputs, MemoryShares.of("auto", n_inputs))
    settings = ForestSettings(sizes, "squared-exponential", 0.04, None, 1, True, True, 1, 0)
    found = _learning_rows(TrainingRows.in_random_order(sample), settings)
    np.testing.assert_array_equal(found.y, y[:n_learned])
    assert len(found.X) == n_learned
    assert found.weight is None or len(found.weight) == n_learned


def test_the_function_is_learned(table, rng):
    X, y = table
    model = SpectralForestRegressor(n_trees=3, max_iter=150, random_state=0).fit(X[:300], y[:300])
    assert rmse(y[300:], model.predict(X[300:])) < 0.6 * y[300:].std()


def test_a_saved_model_predicts_the_same(fitted, table, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = ssgp.load(tmp_path / "model")
    for found, expected in zip(
        loaded.predict(table[0], return_std=True), fitted.predict(table[0], return_std=True), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_a_row_is_predicted_the_same_whatever_rows_come_with_it(fitted, table):
    together = fitted.predict(table[0])
    np.testing.assert_array_equal(fitted.predict(table[0][100:101]), together[100:101])
    np.testing.assert_array_equal(fitted.predict(table[0][7:300]), together[7:300])


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_threads_do_not_change_it(fitted, table, n_jobs):
    other = SpectralForestRegressor(**SETTINGS, n_jobs=n_jobs).fit(*table)
    np.testing.assert_array_equal(other.predict(table[0]), fitted.predict(table[0]))


def test_parts_give_the_same_forest(table, monkeypatch):
    """In memory and in a file, with a sample of the rows, some hundred at a time."""
    monkeypatch.setattr("ssgp.forest.sizes.LEAST_SAMPLED", 350)
    monkeypatch.setattr("ssgp.forest.sizes.MOST_SAMPLED", 300)
    monkeypatch.setattr("ssgp.rows.row_tables.CHUNK", 100)
    X, y = table
    whole = SpectralForestRegressor(**SETTINGS).fit(X, y)
    parts = SpectralForestRegressor(**SETTINGS).fit_batches([(X[:200], y[:200]), (X[200:], y[200:])])
    np.testing.assert_array_equal(parts.predict(X), whole.predict(X))


@pytest.mark.filterwarnings("ignore:.*of the rows repeat another exactly")
def test_rows_are_added(table):
    X, y = table
    model = SpectralForestRegressor(**SETTINGS).partial_fit(X[:300], y[:300])
    before = trend_inputs(model._fitted.forest.trees[0])
    model.partial_fit(X[300:], y[300:])
    np.testing.assert_array_equal(trend_inputs(model._fitted.forest.trees[0]), before)
    model.partial_fit(X[:50], y[:50], n_steps=2)
    assert np.isfinite(model.predict(X)).all()


def test_too_little_memory_is_refused_before_anything_is_learned(monkeypatch):
    monkeypatch.setattr(FrequencyLearner, "learn", lambda *args: pytest.fail("learning began"))
    X = np.random.default_rng(0).normal(size=(1000, 5000))
    with pytest.raises(ValueError, match=r"5,000 inputs takes about [\d,]+ bytes, and max_memory leaves 33,554,432"):
        SpectralForestRegressor(max_memory=2**26).fit(X, X[:, 0])


def peak_of_fit(n_inputs, max_memory):
    """Bytes that a fit takes besides what there was before, in a process of its own.

    More folds and steps take more time, and hardly more memory.
    """
    code = (
        "import resource, sys, numpy as np\n"
        "from ssgp import SpectralForestRegressor\n"
        "from ssgp.forest import sizes; sizes.MOST_FOLDS = 1\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "small = np.random.default_rng(0).normal(size=(300, 5))\n"
        "SpectralForestRegressor(n_trees=1, max_iter=2, random_state=0).fit(small, small[:, 0])\n"
        f"X = np.random.default_rng(0).normal(size=(1000, {n_inputs})); y = X[:, 0] + X[:, 1] ** 2\n"
        "before = peak()\n"
        f"SpectralForestRegressor(n_trees=4, max_iter=2, max_memory={max_memory}, random_state=0).fit(X, y)\n"
        "print(peak() - before)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return int(done.stdout) * (1 if sys.platform == "darwin" else 1024)


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not tell the peak")
@pytest.mark.parametrize(("n_inputs", "max_memory"), [(200, 2**27), (1000, 2**28), (5000, 2**29)])
def test_memory_is_kept_to(n_inputs, max_memory):
    assert peak_of_fit(n_inputs, max_memory) <= max_memory + 4 * 1000 * n_inputs
