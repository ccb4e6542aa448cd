"""Forests whose trees are shared out to processes."""

import signal
from warnings import catch_warnings, simplefilter

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from helpers import cut_short, small_forest, wavy
from ssgp.engine import workers
from ssgp.forest import nodes
from ssgp.metrics import rmse

N_PROCESSES = 4

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def always(monkeypatch):
    """Tables of any size are worth processes."""
    monkeypatch.setattr("ssgp.forest.sizes.LEAST_SHARED_WORK", 0)


@pytest.fixture(scope="module", autouse=True)
def ended():
    yield
    workers._pool.close()


@pytest.fixture
def tasks(monkeypatch):
    """Functions that were sent to processes."""
    sent, usual = [], workers.ProcessWorkers.map

    def map(self, function, items):
        sent.append(function)
        return usual(self, function, items)

    monkeypatch.setattr(workers.ProcessWorkers, "map", map)
    return sent


@pytest.mark.parametrize("weighted", [False, True])
def test_the_forest_is_the_same_to_the_last_bit(weighted, tasks, rng):
    X, y, _ = wavy(600)
    weight = rng.uniform(0.5, 2.0, len(y)) if weighted else None
    alone = small_forest(n_jobs=1).fit(X, y, weight)
    assert not tasks
    shared = small_forest(n_jobs=N_PROCESSES).fit(X, y, weight)
    assert any(getattr(task, "func", task) is nodes._solve_part for task in tasks)
    np.testing.assert_array_equal(shared.predict(X), alone.predict(X))
    np.testing.assert_array_equal(shared.predict_interval(X), alone.predict_interval(X))


def test_ctrl_c_leaves_the_trees_that_are_done(monkeypatch):
    X, y, latent = wavy(400)
    pressed = []

    def press_once(self, done, of):
        if not pressed:
            pressed.append(done)
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("ssgp._utils.budget.Budget.tell_of_tree", press_once)
    with cut_short(r"interrupted after \d of 3 trees"):
        (model := small_forest(n_jobs=N_PROCESSES)).fit(X, y)
    assert rmse(latent, model.predict(X)) < 0.2


def test_a_time_limit_is_kept():
    X, y, latent = wavy(400)
    model = small_forest(n_jobs=N_PROCESSES, max_time=0.2)
    with catch_warnings():
        # Of what is left out, which depends on the machine.
        simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert rmse(latent, model.predict(X)) < 0.3
