"""Fits that are killed and go on."""

import os
from typing import Any

import numpy as np
import pytest

from helpers import cut_short, wavy
from ssgp import SpectralForestRegressor
from ssgp.forest import machines, tree_fitter
from ssgp.forest.learning import FrequencyLearner
from ssgp.saving.checkpoints import Checkpoint, delete_checkpoint
from ssgp.spectrum.learner import Learner

pytestmark = pytest.mark.slow

SETTINGS: dict[str, Any] = {"n_trees": 3, "max_iter": 40, "n_frequencies": 8, "n_jobs": 1, "random_state": 0}


class Killed(BaseException):
    """Nobody catches it, as nobody catches SIGKILL."""


@pytest.fixture
def table(monkeypatch):
    monkeypatch.setattr(tree_fitter, "FITTED_TOGETHER", 0)
    X, y, _ = wavy(5000, 0)
    return X, y


def killed_after(monkeypatch, module, name, n_calls):
    """Let a function of a module work so many times."""
    usual, left = getattr(module, name), [n_calls]

    def counted(*arguments, **settings):
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return usual(*arguments, **settings)

    monkeypatch.setattr(module, name, counted)
    return left


@pytest.mark.parametrize("n_fitted", [0, 1, 3, 4, 5])
def test_a_killed_fit_goes_on_to_the_same_model(table, tmp_path, monkeypatch, n_fitted):
    """One fold of three trees, then the same trees with all rows."""
    X, y = table
    whole = SpectralForestRegressor(**SETTINGS).fit(X, y)
    with monkeypatch.context() as patch:
        killed_after(patch, machines, "fit_tree", n_fitted)
        with pytest.raises(Killed):
            SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path / "parts")
    kept = sorted(path.name for path in (tmp_path / "parts").glob("*.safetensors"))
    assert len(kept) == 1 + n_fitted
    assert kept[-1] == "learned.safetensors"
    left = killed_after(monkeypatch, machines, "fit_tree", 100)
    killed_after(monkeypatch, Learner, "learn", 0)
    again = SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path / "parts")
    assert 100 - left[0] == 6 - n_fitted
    np.testing.assert_array_equal(again.predict_interval(X), whole.predict_interval(X))
    np.testing.assert_array_equal(again.bound_trace_, whole.bound_trace_)
    assert len({id(tree.features) for tree in again._fitted.forest.trees}) == len(
        {id(tree.features) for tree in whole._fitted.forest.trees}
    )


def test_a_fit_that_is_killed_among_trees_fitted_together_goes_on_to_the_same_model(tmp_path, monkeypatch):
    X, y, _ = wavy(500, 0)
    whole = SpectralForestRegressor(**SETTINGS).fit(X, y)
    with monkeypatch.context() as patch:
        killed_after(patch, Checkpoint, "once", 6)
        with pytest.raises(Killed):
            SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    kept = sorted(path.name for path in tmp_path.glob("fold*.safetensors"))
    assert kept == [f"fold-{k // 3}-{k % 3}.safetensors" for k in range(5)]
    left = killed_after(monkeypatch, machines, "fit_trees", 100)
    again = SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.predict_interval(X), whole.predict_interval(X))
    # Ten folds, of which one is there, and the trees with all rows.
    assert 100 - left[0] == 10


def test_killed_while_it_learns_it_begins_anew(table, tmp_path, monkeypatch):
    X, y = table
    with monkeypatch.context() as patch:
        killed_after(patch, Learner, "learn", 0)
        with pytest.raises(Killed):
            SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fit.json"]
    again = SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.predict(X), SpectralForestRegressor(**SETTINGS).fit(X, y).predict(X))


def test_learning_that_was_cut_short_is_not_kept(table, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    X, y = table
    monkeypatch.setattr(Learner, "learn", interrupt)
    with cut_short("learning was interrupted"):
        SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["fit.json"]
    monkeypatch.undo()
    again = SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.predict(X), SpectralForestRegressor(**SETTINGS).fit(X, y).predict(X))


def test_trees_that_follow_from_an_interrupt_are_not_kept(table, tmp_path, monkeypatch):
    """Ctrl-C in the second tree: the first is kept, and nothing that comes of having but one."""
    X, y = table
    usual, calls = machines.fit_tree, []

    def press(*arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return usual(*arguments)

    monkeypatch.setattr(machines, "fit_tree", press)
    with cut_short("interrupted after 1 of 3 trees"):
        SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {"fit.json", "learned.safetensors", "fold-0-0.safetensors"}
    again = SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    np.testing.assert_array_equal(again.predict(X), SpectralForestRegressor(**SETTINGS).fit(X, y).predict(X))


def test_a_folder_of_something_else_is_left_alone(table, tmp_path):
    (tmp_path / "thesis.txt").touch()
    with pytest.raises(ValueError, match="has other files in it; choose an empty folder"):
        SpectralForestRegressor(**SETTINGS).fit(*table, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_fit_without_a_seed_keeps_the_one_it_drew(table, tmp_path):
    X, y = table
    first, second = (
        SpectralForestRegressor(**{**SETTINGS, "random_state": None}).fit(X, y, checkpoint=tmp_path) for _ in range(2)
    )
    np.testing.assert_array_equal(first.predict(X), second.predict(X))


def test_a_fit_in_batches_goes_on_too(table, tmp_path, monkeypatch):
    X, y = table
    with monkeypatch.context() as patch:
        killed_after(patch, machines, "fit_tree", 2)
        with pytest.raises(Killed):
            SpectralForestRegressor(**SETTINGS).fit_batches([(X, y)], checkpoint=tmp_path)
    again = SpectralForestRegressor(**SETTINGS).fit_batches(
        [(X[:200], y[:200]), (X[200:], y[200:])], checkpoint=tmp_path
    )
    np.testing.assert_array_equal(again.predict(X), SpectralForestRegressor(**SETTINGS).fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_trees": 4}, "n_trees was 3 there and is 4 now"),
        ({"random_state": 1}, "seed was .* there and is .* now"),
        ({"shrink": False}, "shrink was True there and is False now"),
    ],
)
def test_parts_of_another_fit_are_an_error(table, tmp_path, change, message):
    X, y = table
    SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match=f"belongs to another fit: {message}; choose another folder"):
        SpectralForestRegressor(**{**SETTINGS, **change}).fit(X, y, checkpoint=tmp_path)


def test_parts_of_another_table_are_an_error(table, tmp_path):
    X, y = table
    SpectralForestRegressor(**SETTINGS).fit(X, y, checkpoint=tmp_path)
    with pytest.raises(ValueError, match="number of rows was 5000 there and is 4999 now"):
        SpectralForestRegressor(**SETTINGS).fit(X[1:], y[1:], checkpoint=tmp_path)
    changed = y.copy()
    changed[17] += 1e-3
    with pytest.raises(ValueError, match="checksums of inputs, targets and weights was"):
        SpectralForestRegressor(**SETTINGS).fit(X, changed, checkpoint=tmp_path)


def test_a_file_is_no_folder(table, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="checkpoint must be a folder"):
        SpectralForestRegressor(**SETTINGS).fit(*table, checkpoint=tmp_path / "file")


def test_a_time_limit_and_a_checkpoint_exclude_each_other(table, tmp_path):
    with pytest.raises(ValueError, match="checkpoint needs max_time=None"):
        SpectralForestRegressor(max_time=3.0).fit(*table, checkpoint=tmp_path)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_an_interrupt_does_not_mix_what_was_kept_with_another_kernel(table, tmp_path, monkeypatch):
    X, y = table
    settings = {**SETTINGS, "kernel": "auto"}
    monkeypatch.setattr(FrequencyLearner, "_bound_after", lambda self, kernel, *_: kernel == "matern-3/2")
    kept = SpectralForestRegressor(**settings).fit(X, y, checkpoint=tmp_path)
    assert kept.kernel_ == "matern-3/2"

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(FrequencyLearner, "_bound_after", interrupt)
    with cut_short("interrupted while the kernel was chosen"):
        (again := SpectralForestRegressor(**settings)).fit(X, y, checkpoint=tmp_path)
    plain = SpectralForestRegressor(**SETTINGS).fit(X, y)
    assert again.kernel_ == plain.kernel_
    np.testing.assert_array_equal(again.predict(X), plain.predict(X))


@pytest.mark.filterwarnings("ignore:the forest is fitted to")
def test_of_few_rows_nothing_is_left_behind(table, tmp_path):
    X, y = table
    SpectralForestRegressor(**SETTINGS).fit(X[:12], y[:12], checkpoint=tmp_path / "parts")
    assert list((tmp_path / "parts").glob("few-*"))
    delete_checkpoint(tmp_path / "parts")
    assert not (tmp_path / "parts").exists()
