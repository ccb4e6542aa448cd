"""Rows that belong together: whatever a model has seen of a group, or of a row, is no news to it."""

import warnings

import numpy as np
import pandas as pd
import pytest

import ssgp
from ssgp import SpectralForestRegressor

QUICK = {"n_trees": 4, "max_iter": 100, "random_state": 0}


def drawn(n_rows, rng):
    X = rng.normal(size=(n_rows, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=n_rows)


def covered(model, X, y):
    """Share of targets within the intervals of 90 %."""
    low, high = model.predict_interval(X, coverage=0.9).T
    return np.mean((low < y) & (y < high))


@pytest.mark.slow
@pytest.mark.parametrize("n_times", [2, 10])
def test_rows_that_are_there_several_times_are_learned_from_once(n_times, rng):
    (X, y), new = drawn(1000, rng), drawn(5000, rng)
    order = rng.permutation(np.repeat(np.arange(1000), n_times))
    with pytest.warns(UserWarning, match="of the rows repeat another exactly"):
        model = SpectralForestRegressor(**QUICK).fit(X[order], y[order])
    once = SpectralForestRegressor(**QUICK).fit(X, y)
    rmse, rmse_once = (np.sqrt(np.mean((fitted.predict(new[0]) - new[1]) ** 2)) for fitted in (model, once))
    assert rmse < 1.05 * rmse_once
    # Some 500 rows held out: a deviation of 1.3 %, and 0.4 % of the new ones.
    assert 0.85 < covered(model, *new) < 0.95
    assert model.n_rows_ == 1000


@pytest.mark.slow
def test_intervals_hold_for_new_groups(rng):
    def of_groups(n_groups, rng):
        # Every group has a place and an offset of its own, which tells rows apart from all others.
        place, offset = rng.normal(size=(n_groups, 2)), rng.normal(size=n_groups)
        which = np.repeat(np.arange(n_groups), 10)
        X = place[which] + 0.01 * rng.normal(size=(len(which), 2))
        return X, np.sin(X[:, 0]) + offset[which] + 0.1 * rng.normal(size=len(which)), which

    X, y, groups = of_groups(300, rng)
    new_X, new_y, _ = of_groups(1000, rng)
    order = rng.permutation(len(y))
    by_row = SpectralForestRegressor(**QUICK).fit(X[order], y[order])
    by_group = SpectralForestRegressor(**QUICK).fit(X[order], y[order], groups=groups[order])
    # Some 90 groups held out: a deviation of 3 %.
    assert covered(by_row, new_X, new_y) < 0.7
    assert 0.8 < covered(by_group, new_X, new_y) < 0.98


@pytest.mark.slow
def test_groups_of_single_rows_change_no_more_than_which_rows_are_held_out(rng):
    X, y = drawn(400, rng)
    labels = [f"row {i}" for i in range(400)]
    model = SpectralForestRegressor(**QUICK).fit(X, y, groups=labels)
    other = SpectralForestRegressor(**QUICK).fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=0.3)


@pytest.mark.slow
def test_the_names_of_groups_and_the_number_of_threads_change_nothing(rng):
    X, y = drawn(400, rng)
    groups = rng.integers(30, size=400)
    names = [f"user {group}" for group in groups]
    one = SpectralForestRegressor(**QUICK, n_jobs=1).fit(X, y, groups=groups)
    other = SpectralForestRegressor(**QUICK, n_jobs=2).fit(X, y, groups=names)
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


def test_rows_of_weight_zero_take_their_groups_with_them(rng):
    X, y = drawn(400, rng)
    groups, weight = rng.integers(30, size=400), rng.integers(2, size=400).astype(float)
    kept = weight > 0
    one = SpectralForestRegressor(**QUICK).fit(X, y, weight, groups=groups)
    other = SpectralForestRegressor(**QUICK).fit(X[kept], y[kept], weight[kept], groups=groups[kept])
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


@pytest.mark.slow
def test_repeats_are_held_out_alike_in_batches(rng):
    X, y = drawn(300, rng)
    order = rng.permutation(np.repeat(np.arange(300), 2))
    X, y = X[order], y[order]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*repeat another exactly")
        one = SpectralForestRegressor(**QUICK).fit(X, y)
        other = SpectralForestRegressor(**QUICK).fit_batches([(X[:250], y[:250]), (X[250:], y[250:])])
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (["a"] * 50, "groups has the one label 'a'"),
        *(
            ([missing, *"b" * 49], "groups has missing values; every row needs the label of its group")
            for missing in (None, pd.NA, pd.NaT)
        ),
        (np.array(["NaT", *["2025-01-01"] * 49], "M8[D]"), "groups has missing values"),
        (["a", "b"], "inconsistent numbers of samples"),
        ("a", "groups must be an array with one label per row, that of its group, got 'a'"),
        ([("a", "b")] * 50, r"groups must be an array with one label per row.*got an array of shape \(50, 2\)"),
    ],
)
def test_groups_that_cannot_be_held_out(groups, message, rng):
    with pytest.raises(ValueError, match=message):
        SpectralForestRegressor().fit(*drawn(50, rng), groups=groups)


def test_a_checkpoint_is_of_its_groups(rng, tmp_path):
    X, y = drawn(200, rng)
    groups = rng.integers(20, size=200)
    SpectralForestRegressor(**QUICK).fit(X, y, groups=groups, checkpoint=tmp_path / "parts")
    with pytest.raises(ValueError, match="groups"):
        SpectralForestRegressor(**QUICK).fit(X, y, groups=groups[::-1], checkpoint=tmp_path / "parts")


@pytest.mark.slow
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_groups_of_batches_are_those_of_the_whole_table(weighted, sampled, rng, monkeypatch):
    if sampled:
        for name in ("LEAST_SAMPLED", "MOST_SAMPLED"):
            monkeypatch.setattr(f"ssgp.forest.sizes.{name}", 300)
    X, y = drawn(600, rng)
    groups = np.array([f"machine {number}" for number in rng.integers(60, size=600)])
    weight = rng.integers(3, size=600).astype(float) if weighted else None
    one = SpectralForestRegressor(**QUICK).fit(X, y, weight, groups=groups)

    def batches():
        for part in np.split(np.arange(600), [100, 350]):
            yield X[part], y[part], None if weight is None else weight[part], groups[part]

    other = SpectralForestRegressor(**QUICK).fit_batches(batches())
    np.testing.assert_array_equal(one.predict_interval(X), other.predict_interval(X))


def test_groups_of_encoded_batches(rng):
    X, y = drawn(400, rng)
    frame = pd.DataFrame({"x": X[:, 0], "town": [f"town {i}" for i in rng.integers(4, size=400)]})
    groups = rng.integers(40, size=400)
    one = SpectralForestRegressor(**QUICK).fit(frame, y, groups=groups)
    parts = [slice(0, 150), slice(150, 400)]
    batches = [(frame[part], y[part], None, groups[part]) for part in parts]
    other = SpectralForestRegressor(**QUICK).fit_batches(batches)
    np.testing.assert_array_equal(one.predict_interval(frame), other.predict_interval(frame))


def test_batches_whose_groups_cannot_be_held_out(rng):
    X, y = drawn(60, rng)
    model = SpectralForestRegressor()
    for groups, message in (
        ([["a"] * 30, ["a"] * 30], "groups has the one label 'a'"),
        ([["a", "b"] * 15, None], "batch 1 has no labels, and those before it have groups"),
        ([None, ["a", "b"] * 15], "batch 1 has groups, and those before it have none"),
        ([["a", "b"] * 15, ["a"]], "batch 1: .*inconsistent numbers of samples"),
        ([["a", "b"] * 15, [None] * 30], "batch 1: groups has missing values"),
    ):
        parts = zip((slice(0, 30), slice(30, 60)), groups, strict=True)
        with pytest.raises(ValueError, match=message):
            model.fit_batches([(X[part], y[part], None, labels) for part, labels in parts])


@pytest.mark.parametrize("sizes", [(300, 300), (550, 50), (598, 1, 1)])
def test_groups_too_few_to_judge_a_map_leave_it_untried(sizes, rng):
    X, y = drawn(600, rng)
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    model = SpectralForestRegressor(n_trees=2, max_iter=10, random_state=0).fit(X, np.exp(y), groups=groups)
    assert model.target_kind_ == "any"


@pytest.mark.parametrize("n_elsewhere", [1, 2])
def test_atoms_are_not_looked_for_where_all_other_rows_are_of_few_groups(n_elsewhere, rng):
    X, y = drawn(3000, rng)
    groups = rng.permutation(np.arange(3000) % 30)
    spent = np.where(groups < n_elsewhere, np.exp(y), 0.0)
    model = SpectralForestRegressor(n_trees=2, max_iter=10, random_state=0).fit(X, spent, groups=groups)
    assert not len(model.atoms_)


def test_atoms_that_are_given_leave_rows_of_two_groups(rng):
    X, y = drawn(600, rng)
    groups = rng.permutation(np.arange(600) % 6)
    spent = np.where(groups < 2, np.exp(y), 0.0)
    model = SpectralForestRegressor(n_trees=2, max_iter=10, atoms=0, random_state=0).fit(X, spent, groups=groups)
    assert model.n_rows_ == 200


def test_more_learning_steps_are_refused_where_groups_are_not_known_any_more(rng, tmp_path):
    (X, y), groups = drawn(300, rng), rng.integers(0, 60, 300)
    model = SpectralForestRegressor(**QUICK, keep_rows=True).fit(X, y, groups=groups)
    model.save(tmp_path / "model")
    for known in (model, ssgp.load(tmp_path / "model")):
        with pytest.raises(ValueError, match=r"n_steps=5\) .* does not know their groups.*fit again .*groups="):
            known.partial_fit(X[:20], y[:20], n_steps=5)
        assert known.partial_fit(X[:20], y[:20]).n_rows_ == 320


@pytest.mark.parametrize("missing", [np.nan, None])
def test_groups_missing_in_a_list_of_text_are_refused(missing, rng):
    X = rng.normal(size=(40, 2))
    with pytest.raises(ValueError, match="groups has missing values"):
        SpectralForestRegressor(**QUICK).fit(X, X[:, 0], groups=[missing, *["a", "b"] * 19, "c"])
