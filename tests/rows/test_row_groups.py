import numpy as np
import pytest

from ssgp.rows.blocks import Rows
from ssgp.rows.repeats import repeats_together
from ssgp.rows.row_groups import folds_of_groups, folds_of_rows
from ssgp.rows.row_tables import MemoryTable
from ssgp.rows.training_rows import TrainingRows


def rows_of(X, y):
    return Rows(X.astype(np.float32), y.astype(np.float32), None, np.array([0, len(y)]))


def test_folds_of_rows_are_the_last_ones():
    first, second = folds_of_rows(100, 2, 10)
    np.testing.assert_array_equal(first, np.arange(90, 100))
    np.testing.assert_array_equal(second, np.arange(80, 90))


@pytest.mark.parametrize("sizes", [[2] * 500, [1] * 900 + [60] * 5, [400, 300, 200, 100], [900, 100], [3000, 1, 1, 1]])
def test_folds_are_of_whole_groups_and_leave_half_of_the_rows(sizes, rng):
    groups = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    folds = folds_of_groups(groups, 2, len(groups) // 10)
    assert len(np.unique(np.concatenate(folds))) == sum(map(len, folds))
    for fold in folds:
        assert not set(groups[fold]) & set(np.delete(groups, fold))
        assert 0 < len(fold) <= len(groups) / 2


def test_large_and_small_groups_are_as_often_held_out(rng):
    sizes = np.repeat([1, 9], 1000)
    groups = rng.permutation(np.repeat(np.arange(2000), sizes))
    held_out = np.unique(groups[folds_of_groups(groups, 1, 1000)[0]])
    # 200 of 2,000 groups: the number of large ones has a deviation of 6.7.
    assert abs(np.sum(sizes[held_out] == 9) / len(held_out) - 0.5) < 0.17


def test_one_group_cannot_be_held_out():
    with pytest.raises(ValueError, match="one group"):
        folds_of_groups(np.zeros(100, np.int64), 1, 10)


def test_repeats_are_there_once(rng):
    which = rng.permutation(np.concatenate([np.arange(300), rng.integers(300, size=200)]))
    X, y = rng.normal(size=(300, 3))[which], rng.normal(size=300)[which]
    X[which == 0, 0] = np.where(rng.random(np.sum(which == 0)) < 0.5, -0.0, 0.0)
    weight = rng.uniform(1, 3, 500)
    rows = Rows(X.astype(np.float32), y.astype(np.float32), weight.astype(np.float32), np.array([0, 500]))
    with pytest.warns(UserWarning, match="40.0% of the rows repeat another.*Each is learned from once"):
        found = repeats_together(TrainingRows.in_random_order(rows))
    _, first = np.unique(which, return_index=True)
    first = np.sort(first)
    np.testing.assert_array_equal(found.sample.X, X[first].astype(np.float32))
    np.testing.assert_array_equal(found.sample.y, y[first].astype(np.float32))
    mean = [weight[which == number].mean() for number in which[first]]
    assert found.sample.weight is not None
    np.testing.assert_allclose(found.sample.weight, mean, rtol=1e-6)
    assert found.table.n_rows == 300
    assert found.groups is None


@pytest.mark.parametrize("case", ["distinct", "few values", "a design", "ratings", "a function", "rounded"])
def test_rows_that_agree_by_chance_are_no_repeats(case, rng):
    X, y = rng.normal(size=(2000, 3)), rng.normal(size=2000)
    if case in ("a function", "rounded"):
        X = rng.integers(4, size=(2000, 5)).astype(float)
        y = np.sin(X @ rng.normal(size=5)) + (0.02 * rng.normal(size=2000) if case == "rounded" else 0.0)
        y = np.round(y, 1) if case == "rounded" else y
    elif case != "distinct":
        X = rng.integers(5 if case == "ratings" else 10, size=(2000, 3 if case == "ratings" else 1)).astype(float)
        y = (X[:, 0] + rng.integers(-1, 2, 2000)).clip(0, 4) if case == "ratings" else rng.integers(3, size=2000)
    if case == "a design":
        y = np.sin(X[:, 0])
    rows = TrainingRows.in_random_order(rows_of(X, y))
    assert repeats_together(rows) is rows


def test_repeats_outside_the_sample_are_held_out_with_those_in_it(rng):
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    which = rng.permutation(np.repeat(np.arange(500), 3))
    table = MemoryTable(rows_of(X[which], y[which]))
    with pytest.warns(UserWarning, match="repeat another"):
        training = repeats_together(TrainingRows.of(table, rng.permutation(1500)[:900]))
    numbers = training.folds(1, 50)[0]
    _, rest, without = training.hold_out(numbers)
    assert isinstance(without, MemoryTable)
    assert set(which[without.held_out]) == set(which[training.places[numbers]])
    assert not set(which[without.held_out]) & set(np.delete(which, without.held_out))
    assert len(rest.y) == 900 - len(numbers)


def test_rows_are_alone_where_no_other_row_of_the_table_is_of_their_group(rng):
    groups = rng.integers(0, 60, 100)
    rows = rows_of(rng.normal(size=(100, 2)), rng.normal(size=100))
    asked = rng.permutation(40)[:15]
    for sampled in (np.arange(100), rng.permutation(100)[:40]):
        training = TrainingRows.of(MemoryTable(rows), sampled)
        assert training.alone(asked).all()
        training = training.in_groups(groups[sampled], lambda: iter([groups[:30], groups[30:]]))
        expected = [np.sum(groups == groups[sampled[k]]) == 1 for k in asked]
        np.testing.assert_array_equal(training.alone(asked), expected)
