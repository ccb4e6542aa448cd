"""Who follows a fit is told of every step and tree, and of nothing after it."""

from sklearn.pipeline import make_pipeline

import ssgp
from helpers import small_forest, wavy
from ssgp._utils.progress import observed


def test_an_observer_sees_steps_and_trees():
    X, y, _ = wavy(100)
    seen = []
    with observed(lambda *what: seen.append(what)):
        small_forest(n_trees=2, max_iter=5, correct=False).fit(X, y)
    assert [what for what in seen if what[0] == "step"] == [("step", i, 5) for i in range(1, 6)]
    trees = [what for what in seen if what[0] == "tree"]
    assert set(trees) == {("tree", 1, 2), ("tree", 2, 2)}


def test_it_reaches_into_pipelines_and_ends_with_its_context():
    X, y, _ = wavy(100)
    model = make_pipeline(ssgp.TableEncoder(), ssgp.SSGPRegressor(3, max_iter=3, n_restarts=1, random_state=0))
    seen = []
    with observed(lambda *what: seen.append(what)):
        model.fit(X, y)
    n_seen = len(seen)
    assert n_seen > 0
    model.fit(X, y)
    assert len(seen) == n_seen


def test_verbose_forests_print_their_trees(capsys):
    X, y, _ = wavy(100)
    small_forest(n_trees=2, max_iter=5, correct=False, verbose=1).fit(X, y)
    assert "tree 2/2" in capsys.readouterr().out
