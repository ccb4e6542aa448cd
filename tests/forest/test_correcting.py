"""Boosted trees that correct a forest's common errors, and how much of them is believed."""

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest

from ssgp.forest import correcting
from ssgp.forest.boosted_trees import BoostedTrees
from ssgp.forest.correcting import (
    FIRST,
    INFORMED,
    LARGE_TREES,
    MOST,
    UNINFORMED,
    WAYS,
    Boosting,
    _telling_inputs,
    _with_best_share,
    fit_again,
    grow_correction,
)
from ssgp.forest.correction import Correction, Residuals, Way, beside


class Step:
    """Stands for a booster: one deviation up where the first input is positive."""

    def predict(self, X):
        return np.where(X[:, 0] > 0, 1.0, 0.0)


def with_best_share(boosters, held_out):
    """The correction by these boosters whose share is best for rows held out of each."""
    return _with_best_share(boosters, held_out, UNINFORMED, 1)[1]


def residuals(rng, slope=1.0, n=4000, noise=0.5, weight=None):
    X = rng.normal(size=(n, 2))
    deviation = np.exp(0.5 * X[:, 1])
    error = deviation * (slope * (X[:, 0] > 0) + noise * rng.normal(size=n))
    return Residuals(X, error, np.zeros(n), deviation, weight)


def test_inputs_that_errors_of_a_sorted_wide_table_go_with_are_found(rng):
    """Errors drift with the order of rows, and go with one input from the middle of the table on."""
    n, telling = 12_000, 390
    X = rng.normal(size=(n, 400)).astype(np.float32)
    X[:, 100:200] = 0.0
    X[:, :100] = rng.random((n, 100)) < 0.3
    drift = np.linspace(-1, 1, n)
    error = drift + 0.5 * rng.normal(size=n) + np.where(drift > 0, np.abs(X[:, telling]) - 0.8, 0.0)
    found = _telling_inputs(Residuals(X, error, np.zeros(n), np.ones(n), None), 0)
    assert telling in found
    assert not np.any((found >= 100) & (found < 200))
    assert np.sum(found < 100) < 60


@pytest.mark.parametrize("slope", [0.3, 0.8])
def test_the_share_is_that_of_least_squares(slope, rng):
    assert with_best_share([Step()], [residuals(rng, slope)]).share == pytest.approx(slope, abs=0.05)


def test_shares_of_several_trials_are_pooled(rng):
    correction = with_best_share([Step(), Step()], [residuals(rng, 0.2), residuals(rng, 0.6)])
    assert correction.share == pytest.approx(0.4, abs=0.05)
    assert len(correction.boosters) == 2


@pytest.mark.parametrize("n_folds", [1, 3])
def test_what_does_not_help_is_dropped(n_folds, rng):
    learned, held_out = ([residuals(rng, 0.0) for _ in range(n_folds)] for _ in range(2))
    assert grow_correction(learned, held_out, 0, 1) is None


def test_nothing_is_moved_the_wrong_way(rng):
    assert with_best_share([Step()], [residuals(rng, -1.0)]).share == 0.0


def test_the_share_is_at_most_one(rng):
    assert with_best_share([Step()], [residuals(rng, 3.0)]).share == 1.0


def test_weights_count(rng):
    one, other = residuals(rng, 0.2), residuals(rng, 0.8)
    weight = np.repeat([1.0, 0.0], 4000)
    parts = [np.concatenate([getattr(part, name) for part in (one, other)]) for name in ("X", "error", "deviation")]
    both = Residuals(parts[0], parts[1], np.zeros(8000), parts[2], weight)
    correction, alone = with_best_share([Step()], [both]), with_best_share([Step()], [one])
    assert correction.share == pytest.approx(alone.share, rel=1e-12)


def n_trees(correction: Correction) -> int:
    (trees,) = correction.boosters
    assert isinstance(trees, BoostedTrees | Counted)
    return trees.n_trees


def forest_of_half(rng, n, truth, noise=0.3, n_inputs=2):
    """Residuals of a forest that has found half of a function and a wrong one beside it."""
    X = rng.normal(size=(n, n_inputs))
    mean = 0.5 * truth(X) + np.sin(40.0 * X[:, 1])
    error = truth(X) + noise * rng.normal(size=n) - mean
    return Residuals(X, error, mean, np.full(n, noise), None)


def staircase(X):
    return np.floor(3.0 * X[:, 0])


def many_steps(X):
    """A sum of effects of 21 parts of each input, too many for a few trees."""
    effects = np.sin(np.arange(21.0)[:, None] * (7.0 + np.arange(X.shape[1])))
    return np.take_along_axis(effects, np.clip(5.0 * X + 10.0, 0, 20).astype(int), axis=0).sum(axis=1)


@pytest.mark.slow
def test_trees_grow_on_while_rows_held_out_are_the_better_for_it(rng):
    learned, held_out = (forest_of_half(rng, n, many_steps, n_inputs=6) for n in (8000, 2000))
    correction = grow_correction([learned], [held_out], 0, 1)
    stopped = grow_correction([learned], [held_out], 0, 1, seconds=1e6)
    assert correction is not None
    assert stopped is not None
    assert n_trees(stopped) == FIRST < n_trees(correction) <= MOST

    def error(correction):
        shift = correction(held_out.X, held_out.mean, held_out.deviation)
        return np.mean((held_out.error - shift) ** 2)

    assert error(correction) < 0.9 * error(stopped) < 0.5 * np.mean(held_out.error**2)


def attenuated(rng, n):
    """Residuals of a forest whose predictions beyond one are two thirds of what they should be."""
    X = rng.normal(size=(n, 8))
    truth = X.sum(axis=1)
    mean = np.where(truth > 1.0, 1.0 + (truth - 1.0) / 1.5, truth)
    return Residuals(X, truth + 0.3 * rng.normal(size=n) - mean, mean, np.full(n, 0.3), None)


def test_errors_that_go_with_the_prediction_are_told_by_it(rng):
    learned, held_out = ([attenuated(rng, n)] for n in (3000, 600))
    correction, new = grow_correction(learned, held_out, 0, 1), attenuated(rng, 3000)
    assert correction is not None
    assert correction.way == INFORMED
    assert correction.n_inputs == 8
    left = new.error - correction(new.X, new.mean, new.deviation)
    assert np.mean(left**2) < 1.3 * 0.3**2 < 0.4 * np.mean(new.error**2)


@pytest.mark.slow
def test_of_many_inputs_the_prediction_is_kept(rng):
    X, mean = rng.normal(size=(3000, 1500)).astype(np.float32), 30.0 * rng.normal(size=3000)
    rows = Residuals(X, np.sign(mean) + 0.1 * rng.normal(size=3000), mean, np.ones(3000), None)
    trees = Boosting(rows, 0, 1).grow(FIRST, LARGE_TREES, INFORMED)
    assert trees.n_inputs == 1501
    shift = Correction((trees,), 1.0, *INFORMED)(X, mean, np.ones(3000))
    np.testing.assert_allclose(shift[np.abs(mean) > 6.0], np.sign(mean[np.abs(mean) > 6.0]), atol=0.3)


@pytest.mark.slow
def test_of_several_folds_small_trees_learn_some_of_the_function_where_the_forest_errs(rng):
    folds = [[forest_of_half(rng, n, staircase) for n in (1000, 300)] for _ in range(3)]
    learned, held_out = ([fold[k] for fold in folds] for k in range(2))
    correction = grow_correction(learned, held_out, 0, 1)
    assert correction is not None
    assert correction.start == 0.5
    assert len(correction.boosters) == 3
    new = forest_of_half(rng, 4000, staircase)
    shift = correction(new.X, new.mean, new.deviation)
    alone = boosted(learned[0]).predict(new.X) * new.deviation
    assert np.mean((new.error - shift) ** 2) < 0.7 * np.mean((new.error - alone) ** 2)


def test_within_a_time_limit_there_are_fewer_trees_or_none(rng):
    learned, held_out = (forest_of_half(rng, n, staircase) for n in (8000, 2000))
    assert grow_correction([learned], [held_out], 0, 1, seconds=1e-6) is None
    limited = grow_correction([learned], [held_out], 0, 1, seconds=0.5)
    assert limited is None or n_trees(limited) <= FIRST


def test_the_start_is_the_one_that_is_better_for_rows_held_out(rng, monkeypatch):
    """A forest whose errors are its own inventions is best left behind, one that errs by a step is not."""
    monkeypatch.setattr(correcting, "WAYS", {way: WAYS[way] for way in (UNINFORMED, Way(0.7))})
    learned, held_out = (forest_of_half(rng, n, staircase) for n in (8000, 2000))
    behind = grow_correction([learned], [held_out], 0, 1)
    learned, held_out = (
        Residuals(rows.X, rows.deviation * (rows.X[:, 0] > 0), 9.0 * rows.X[:, 1], rows.deviation, None)
        for rows in (learned, held_out)
    )
    beside = grow_correction([learned], [held_out], 0, 1)
    assert behind is not None
    assert beside is not None
    assert (behind.start, beside.start) == (0.7, 1.0)


@pytest.mark.slow
def test_trees_are_fitted_again_as_many_from_the_same_start(rng):
    learned, held_out = (forest_of_half(rng, n, staircase) for n in (4000, 2000))
    correction = grow_correction([learned], [held_out], 0, 1)
    assert correction is not None
    again = fit_again(correction, learned.joined(held_out), 0, 1)
    assert (again.share, again.start) == (correction.share, correction.start)
    assert n_trees(again) == n_trees(correction)
    shift = again(held_out.X, held_out.mean, held_out.deviation)
    assert np.mean((held_out.error - shift) ** 2) < np.mean(held_out.error**2)


def boosted(rows, n_threads=1):
    return Boosting(rows, 0, n_threads).grow(FIRST, LARGE_TREES)


def test_boosters_learn_a_step(rng):
    booster, new = boosted(residuals(rng)), residuals(rng)
    truth = (new.X[:, 0] > 0).astype(float)
    assert np.mean((booster.predict(new.X) - truth) ** 2) < 0.3 * np.mean((truth - truth.mean()) ** 2)


def test_a_wild_error_does_not_carry_the_others_away(rng):
    wild = residuals(rng)
    wild.error[0] = 1e8
    assert np.abs(boosted(wild).predict(wild.X)).max() < 20.0


def test_too_few_rows_are_not_learned_from(rng):
    few, held_out = residuals(rng, n=150), residuals(rng)
    assert grow_correction([few], [held_out], 0, 1) is None
    assert grow_correction([residuals(rng), few], [held_out, held_out], 0, 1) is None


@pytest.mark.slow
def test_threads_do_not_matter(rng):
    rows = residuals(rng)
    one, two = (boosted(rows, n_threads=k) for k in (1, 2))
    np.testing.assert_array_equal(one.predict(rows.X), two.predict(rows.X))


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_the_scale_of_deviations_does_not_matter(factor, rng):
    rows = residuals(rng)
    small = Residuals(rows.X, factor * rows.error, rows.mean, factor * rows.deviation, None)
    one, other = boosted(rows), boosted(small)
    np.testing.assert_allclose(one.predict(rows.X), other.predict(rows.X), atol=0.05)


@pytest.mark.slow
def test_of_many_inputs_those_are_kept_that_errors_go_with_in_any_form(rng):
    """Up and down, at both ends, or in the middle, which a correlation does not see."""
    X = rng.normal(size=(3000, 1500)).astype(np.float32)
    error = 0.5 * X[:, 40] + (np.abs(X[:, 700]) > 1.5) - (np.abs(X[:, 1400]) < 0.3) + 0.5 * rng.normal(size=3000)
    booster = boosted(Residuals(X, error, np.zeros(3000), np.ones(3000), None))
    assert booster.n_inputs == 1500
    split_by = np.bincount(booster.feature[booster.feature >= 0], minlength=1500)
    assert {40, 700, 1400} == set(np.argsort(split_by)[-3:])
    assert np.corrcoef(booster.predict(X), error)[0, 1] > 0.8


class Counted:
    """Stands for boosted trees of which there are so many."""

    def __init__(self, n_trees):
        self.n_trees = n_trees

    def predict(self, X):
        raise AssertionError("they are judged by a table")


class Tabulated:
    """Stands for boostings whose trees leave errors that a table tells, by way and number of trees."""

    def __init__(self, n_rows, errors):
        self.residuals = SimpleNamespace(error=np.zeros(n_rows))
        self.errors, self.grown = errors, set()

    def grow(self, n_trees, growth, way):
        self.grown.add((way, n_trees))
        return Counted(n_trees)

    def judged(self, boosters, held_out, way, n_threads):
        (trees,) = boosters
        return SimpleNamespace(
            error=self.errors[way][trees.n_trees],
            n_trees=trees.n_trees,
            correction=Correction((trees,), 0.5, *way),
        )


@pytest.mark.parametrize(("second", "n_rows", "best"), [(1.01, 9000, 50), (1.03, 9000, 25), (1.01, 200_000, 25)])
def test_a_way_that_is_hardly_behind_may_catch_up(second, n_rows, best, monkeypatch):
    other = Way(0.7)
    errors = {
        UNINFORMED: {25: 1.0, 37: 0.9999},
        other: {25: second, 37: 0.9, 50: 0.8, 75: 0.8},
        INFORMED: {25: 1.5},
    }
    boosting = Tabulated(n_rows, errors)
    monkeypatch.setattr(correcting, "_with_best_share", boosting.judged)
    correction = correcting._grow_best([cast(Boosting, boosting)], [], 1)
    assert n_trees(correction) == best
    assert correction.way == (other if best == 50 else UNINFORMED)
    assert ((other, 37) in boosting.grown) == (best == 50)


def left_out_of_cells(rng, n, n_cells=8):
    """Residuals of means of cells, each row left out of its own: the higher a target the lower its prediction."""
    X = rng.integers(0, 2, size=(n, 3)).astype(np.float32)
    y, cell = rng.normal(size=n), (X @ [1, 2, 4]).astype(int)
    number, total = np.bincount(cell), np.bincount(cell, y)
    mean = (total[cell] - y) / (number[cell] - 1)
    return Residuals(X, y - mean, mean, np.ones(n), None)


def test_predictions_of_rows_left_out_do_not_tell_their_targets(rng):
    rows = left_out_of_cells(rng, 5000)
    explained = 1.0 - np.var(rows.error - rows.deviation * informed(rows, rows.mean)) / np.var(rows.error)
    # Of 25 trees of 255 leaves or so, without any meaning.
    assert explained < 0.15
    new = left_out_of_cells(rng, 5000)
    assert np.mean((new.error - informed(rows, new.mean, new.X)) ** 2) < 1.2 * np.mean(new.error**2)


def informed(rows, mean, X=None):
    trees = Boosting(rows, 0, 1).grow(FIRST, correcting.INFORMED_TREES, INFORMED)
    return trees.predict(beside(rows.X if X is None else X, mean))
