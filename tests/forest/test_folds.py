"""Rows held out of trees: the level they choose, the correction and the calibration they lead to."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from helpers import small_forest, wavy
from ssgp.forest.calibration import Calibration, Components
from ssgp.forest.fitted import Forest
from ssgp.forest.folds import Fold, choose_level, learn_calibration, learn_correction, scale_of_refitted
from ssgp.forest.nodes import LeaveOneOut, fit_tree
from ssgp.rows.blocks import Rows
from ssgp.rows.row_tables import MemoryTable


def fold(rng, n=2000, error=0.0, leave_one_out=(), levels=1, noise=0.5, trees=2):
    """Trees that predict zero; the target is noise, plus `error` where the first input is positive."""
    tables = []
    for _ in range(2):
        X = rng.normal(size=(n, 2)).astype(np.float32)
        tables.append(Rows(X, noise * rng.normal(size=n) + error * (X[:, 0] > 0), None, np.array([0, n])))
    fitted, held_out = tables
    components = [
        Components(np.zeros((trees, n)), np.zeros((trees, n)), np.full((trees, n), 50.0), np.full((trees, n), 50 * v))
        for v in np.linspace(1.0, 4.0, levels) * noise**2
    ]
    return Fold(
        (),
        [],
        MemoryTable(fitted),
        held_out,
        components,
        list(leave_one_out) or [LeaveOneOut(np.arange(n), fitted.y[None], np.full((1, n), noise**2))],
    )


def test_leave_one_out_errors_are_averaged_over_the_trees_that_have_them(rng):
    one = LeaveOneOut(np.array([0, 2]), np.array([[1.0, 3.0]]), np.array([[1.0, 1.0]]))
    two = LeaveOneOut(np.array([1, 0]), np.array([[5.0, 3.0]]), np.array([[4.0, 7.0]]))
    found = fold(rng, n=4, leave_one_out=[one, two]).leave_one_out_residuals(0)
    np.testing.assert_allclose(found.error, [2.0, 5.0, 3.0])
    np.testing.assert_allclose(found.deviation, [2.0, 2.0, 1.0])
    assert found.X.shape == (3, 2)


def test_of_many_leave_one_out_errors_some_are_taken_from_all_of_the_table(rng, monkeypatch):
    monkeypatch.setattr("ssgp.forest.folds.CORRECTING_ROWS", 10)
    one = LeaveOneOut(np.arange(100), np.arange(100.0)[None], np.ones((1, 100)))
    found = fold(rng, n=100, leave_one_out=[one]).leave_one_out_residuals(0)
    np.testing.assert_allclose(found.error, np.arange(0.0, 100.0, 10.0))


def test_residuals_of_held_out_rows_are_of_all_trees(rng):
    one = fold(rng)
    np.testing.assert_allclose(one.held_out_residuals(0).error, one.held_out.y)
    np.testing.assert_allclose(one.held_out_residuals(0).deviation, 0.5)


def test_a_common_error_is_corrected_and_calibrated_away(rng):
    one = fold(rng, error=1.0, noise=0.3)
    correction = learn_correction([one], 0, seed=0, n_threads=1)
    assert correction is not None
    assert correction.share > 0.8
    raw, corrected = (learn_calibration([one], 0, kind, None, 1) for kind in (None, correction))
    # The noise as the trees have it is right once the error is gone.
    assert raw.noise > 1.5
    assert corrected.noise == pytest.approx(1.0, abs=0.15)


def test_noise_is_not_corrected(rng):
    assert learn_correction([fold(rng)], 0, seed=0, n_threads=1) is None


def test_too_few_rows_are_not_corrected(rng):
    assert learn_correction([fold(rng, n=100, error=1.0)], 0, seed=0, n_threads=1) is None


def test_the_coarser_of_equal_levels_is_chosen(rng):
    """Levels that differ by a factor of the noise are the same once calibrated."""
    assert choose_level([fold(rng, levels=3)]) == 0


def test_the_level_that_predicts_better_is_chosen(rng):
    one = fold(rng, error=2.0, levels=2)
    truth = np.tile(2.0 * (one.held_out.X[:, 0] > 0), (2, 1))
    better = Components(truth, one.components[1].leverage, one.components[1].shape, one.components[1].scale)
    assert choose_level([Fold((), [], one.table, one.held_out, [one.components[0], better], one.leave_one_out)]) == 1


def test_folds_of_different_numbers_of_trees_are_pooled(rng):
    calibration = learn_calibration([fold(rng, trees=3), fold(rng, trees=2)], 0, None, None, 1)
    assert calibration.noise == pytest.approx(1.0, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize("more", [False, True], ids=["fitted", "refitted"])
def test_the_leaves_that_are_delivered_are_those_of_the_folds(more, monkeypatch):
    """The largest leaves have no ancestors in a fold, so that whether to shrink leaves does not matter to them."""
    monkeypatch.setattr("ssgp.forest.builder.choose_level", lambda folds: 0)
    X, y, _ = wavy(1500)
    kept = {"correct": False, "keep_rows": True}
    shrunk, plain = (small_forest(shrink=shrink, **kept).fit(X[:1400], y[:1400]) for shrink in (True, False))
    if more:
        for model in (shrunk, plain):
            model.partial_fit(X[1400:], y[1400:])
    np.testing.assert_array_equal(shrunk.predict_interval(X), plain.predict_interval(X))


def trees_with(*variances):
    """Trees of one level, whose nodes have these noise variances."""
    return tuple(SimpleNamespace(levels=[SimpleNamespace(noise_variance=np.array(own))]) for own in variances)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_distributions_of_refitted_trees_follow_their_errors_and_noise(rng, weighted):
    one = replace(fold(rng, n=300), trees=trees_with([1.0, 4.0], [2.0, 2.0]))
    noisier = trees_with([1.21, 4.84], [2.42, 2.42])
    if weighted:
        one = replace(one, held_out=replace(one.held_out, weight=rng.uniform(0.5, 2.0, 300)))
    everybody = np.ones(300, bool)

    def scale(trees, errors, alone=everybody):
        return scale_of_refitted(one, 0, None, trees, errors, alone)

    # Trees that take their noise for a tenth more, and err as before, have distributions that are a tenth too wide.
    assert scale(noisier, []) == pytest.approx(1 / 1.1)
    assert scale(one.trees, [0.8 * one.held_out.y] * 2) == pytest.approx(0.8)
    assert scale(noisier, [0.8 * one.held_out.y] * 2) == pytest.approx(0.8 / 1.1)
    # Rows that are like others say nothing.
    odd = np.arange(300) % 2 == 1
    assert scale(one.trees, [np.where(odd, 0.1, 0.9) * one.held_out.y], ~odd) == pytest.approx(0.9)
    assert scale(one.trees, [0.1 * one.held_out.y], ~everybody) == 1.0


@pytest.mark.parametrize("n_folds", [1, 10])
def test_errors_after_refitting_to_one_fold_are_those_of_trees_without_the_row(n_folds, monkeypatch):
    X, y = wavy(400)[:2]
    monkeypatch.setattr("ssgp.forest.sizes.LEAST_HELD_OUT", 40 * n_folds)
    seen = []

    def watched(fold, level, correction, trees, errors, alone):
        seen.append((fold, errors))
        return scale_of_refitted(fold, level, correction, trees, errors, alone)

    monkeypatch.setattr("ssgp.forest.builder.scale_of_refitted", watched)
    model = small_forest(n_trees=2).fit(X, y)
    ((fold, errors),) = seen
    assert len(errors) == (2 if n_folds == 1 else 0)
    fitted = model._fitted
    table = MemoryTable(fitted.units.rows(X, y, None, np.arange(400), np.array([0, 400])))
    in_table = [np.flatnonzero((table.rows.X == row).all(axis=1))[0] for row in fold.held_out.X[:3]]
    for own, skeleton in zip(errors, fitted.skeletons, strict=False):
        for k, number in enumerate(in_table):
            ridge = fitted.parameters.hyperparameters.ridge(skeleton.features.n_cosines // 2)
            without, _ = fit_tree(table.without(np.array([number])), skeleton, ridge, 1, True)
            predicted = Forest((without,), Calibration()).only(-1).components(table.rows.X[[number]]).mean[0, 0]
            assert own[k] == pytest.approx(table.rows.y[number] - predicted, rel=0.02, abs=2e-3)
