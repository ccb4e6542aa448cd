"""Atoms of targets: which are found, how probable they are, and forests of the rows elsewhere."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils._param_validation import InvalidParameterError

import ssgp
from ssgp import SpectralForestRegressor
from ssgp._utils.budget import Budget
from ssgp.distributions import AtomDistribution
from ssgp.forest.atom_choice import _frequent_values, find_atoms
from ssgp.forest.atoms import LabelledRows, fit_atoms
from ssgp.forest.settings import ForestSettings
from ssgp.metrics import crps, pit, pit_uniformity

QUICK: dict[str, Any] = {"n_trees": 2, "max_iter": 30, "correct": False, "random_state": 0, "n_jobs": 1}


def spending(n_rows=700, seed=0):
    """Targets that are zero in about half of the rows, more often where the first input is small."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    none = rng.random(n_rows) < probability_of_none(X)
    return X, np.where(none, 0.0, np.exp(X[:, 1] + 0.3 * rng.normal(size=n_rows)))


def probability_of_none(X):
    return expit(-2.0 * X[:, 0])


@pytest.fixture(scope="module")
def fitted():
    return SpectralForestRegressor(**QUICK).fit(*spending())


class TestTheParameter:
    @pytest.mark.parametrize("atoms", ["auto", None, 0, 0.0, [0.0, 10.0], (1, 2)])
    def test_values_are_taken(self, atoms):
        SpectralForestRegressor(atoms=atoms)._validate_params()

    @pytest.mark.parametrize("atoms", ["zero", [0.0, 0.0], [np.nan], True, ["a"], {0.0: 1}])
    def test_others_are_refused(self, atoms):
        with pytest.raises(InvalidParameterError, match="atoms"):
            SpectralForestRegressor(**QUICK, atoms=atoms).fit(*spending(60))

    def test_targets_that_are_all_atoms_are_refused(self):
        with pytest.raises(ValueError, match="all targets are among atoms"):
            SpectralForestRegressor(**QUICK, atoms=[0.0, 1.0]).fit(np.zeros((40, 1)), np.arange(40.0) % 2)

    def test_values_of_targets_in_single_precision_are_found(self):
        X, y = spending(200)
        y = np.where(y == 0.0, 0.1, 2.0 + y).astype(np.float32)
        model = SpectralForestRegressor(**QUICK, atoms=0.1, target=(2, 1000)).fit(X, y)
        assert model.atoms_.tolist() == [float(np.float32(0.1))]
        assert model.n_rows_ == np.count_nonzero(y >= 2.0)

    @pytest.mark.parametrize("y", [[1.0, 2.0], [1.0, 2.0, 3.0], [*[0.0] * 60, 1.0, 2.0]], ids=len)
    @pytest.mark.filterwarnings("ignore:the forest is fitted to")
    def test_of_very_few_rows_are_taken(self, y):
        X = np.random.default_rng(0).normal(size=(len(y), 2))
        model = SpectralForestRegressor(**QUICK, atoms=[0.0, 1.0]).fit(X, y)
        probability = model.predict_distribution(X).probability
        assert (probability > 0.0).all()
        assert (probability.sum(axis=0) < 1.0).all()


class TestWhatIsFound:
    def test_values_that_stand_out(self):
        smooth = np.linspace(1.0, 2.0, 600)
        assert _frequent_values(np.r_[np.zeros(200), smooth], None).tolist() == [0.0]
        assert _frequent_values(np.r_[np.zeros(200), np.full(150, 9.0), smooth], None).tolist() == [0.0, 9.0]

    @pytest.mark.parametrize(
        "y",
        [
            np.r_[np.zeros(50), np.linspace(1.0, 2.0, 600)],  # too few
            np.repeat(np.arange(8.0), 100),  # rounded, as all others
            np.r_[np.zeros(950), np.linspace(1.0, 2.0, 50)],  # little else
            np.r_[np.zeros(500), np.ones(100)],  # two classes
        ],
    )
    def test_others_are_none(self, y):
        assert len(_frequent_values(y, None)) == 0

    def test_weights_count(self):
        y = np.r_[np.zeros(50), np.linspace(1.0, 2.0, 600)]
        assert _frequent_values(y, np.where(y == 0.0, 3.0, 1.0)).tolist() == [0.0]

    @pytest.mark.slow
    def test_a_smooth_function_that_is_cut_off_has_none(self):
        """Trees do not find its edge as a forest does: rows held out are predicted worse."""
        rng = np.random.default_rng(1)
        X = rng.uniform(-1, 1, size=(700, 4))
        rows = LabelledRows(X, np.maximum(np.sin(3 * X[:, 0]) + np.cos(3 * X[:, 1]) * X[:, 2], 0.3))
        settings = ForestSettings.of(SpectralForestRegressor(**QUICK), 700, 4, 0)
        assert find_atoms("auto", rows, np.arange(700), "auto", settings, Budget(), None) is None
        assert find_atoms([0.3], rows, np.arange(700), "auto", settings, Budget(), None) is not None


@pytest.mark.slow
def test_probabilities_are_near_the_true_ones():
    X, y = spending(6000, seed=3)
    atoms = fit_atoms(np.array([0.0]), LabelledRows(X, y), seed=0, n_jobs=1)
    fresh, happened = spending(6000, seed=4)
    found, true = atoms.probability(fresh)[0], probability_of_none(fresh)
    assert np.sqrt(np.mean((found - true) ** 2)) < 0.06
    other = HistGradientBoostingClassifier(max_iter=60, random_state=0).fit(X, y == 0.0).predict_proba(fresh)[:, 1]

    def loss(probability):
        return -np.mean(np.log(np.where(happened == 0.0, probability, 1.0 - probability)))

    assert loss(found) < loss(other)


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_what_is_too_rare_for_the_trees_rows_is_as_probable_as_in_all(weighted, monkeypatch, tmp_path):
    """The second atom is in one row that trees do not see; then all others but one row are at the first."""
    monkeypatch.setattr("ssgp.forest.atoms.MOST_ROWS", 150)
    X, y = spending(400)
    weight = np.random.default_rng(3).uniform(0.5, 2.0, 400) if weighted else None
    share = np.full(400, 1.0) if weight is None else weight
    y[300] = 50.0
    rare = fit_atoms(np.array([0.0, 50.0]), LabelledRows(X, y, weight), 0, 1).probability(X)
    np.testing.assert_allclose(rare[1] / (1.0 - rare[0]), share[300] / share[y > 0.0].sum())
    y = np.where(np.arange(400) == 300, 1.0, np.where(np.arange(400) == 301, 2.0, 0.0))
    atoms = fit_atoms(np.array([0.0, 1.0]), LabelledRows(X, y, weight), 0, 1)
    common = atoms.probability(X)
    np.testing.assert_allclose(common[0], share[y == 0.0].sum() / share.sum())
    np.testing.assert_allclose(common[1] / (1.0 - common[0]), share[300] / share[300:302].sum())
    monkeypatch.setattr("ssgp.forest.atoms.MOST_ROWS", 1)
    model = SpectralForestRegressor(**QUICK, atoms=0.0).fit(*spending(400), weight)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(ssgp.load(tmp_path / "model").predict(X), model.predict(X))


def test_of_several_atoms_probabilities_add_up():
    X, y = spending(1500)
    y = np.where(y > 2.0, 2.0, y)
    probability = fit_atoms(np.array([0.0, 2.0]), LabelledRows(X, y), 0, 1).probability(X)
    assert probability.shape == (2, len(X))
    np.testing.assert_allclose(probability.mean(axis=1), [np.mean(y == 0.0), np.mean(y == 2.0)], atol=0.02)
    assert (probability.sum(axis=0) < 1.0).all()


def test_a_forest_with_atoms_is_found_and_better(fitted):
    X, y = spending(3000, seed=7)
    plain = SpectralForestRegressor(**QUICK, atoms=None).fit(*spending())
    assert (fitted.atoms_.tolist(), plain.atoms_.tolist()) == ([0.0], [])
    predicted = fitted.predict_distribution(X)
    assert isinstance(predicted, AtomDistribution)
    assert crps(y, predicted) < crps(y, plain.predict_distribution(X))
    assert pit_uniformity(pit(y, predicted)).distance < 0.06
    np.testing.assert_array_equal(predicted.mean(), fitted.predict(X))
    at_zero = np.log(predicted.cdf(0.0) - predicted.cdf_left(0.0))
    np.testing.assert_allclose(fitted.log_prob(X, y)[y == 0.0], at_zero[y == 0.0])
    assert (fitted.predict_quantiles(X, [0.02]) >= 0.0).all()


def test_targets_keep_to_their_kind():
    X, y = spending()
    model = SpectralForestRegressor(**QUICK, target="non-negative", atoms=0.0).fit(X, y)
    assert (model.atoms_.tolist(), model.target_kind_) == ([0.0], "non-negative")
    assert (model.sample_y(X, 5) >= 0.0).all()
    with pytest.raises(ValueError, match="y has the value -1 in row 1"):
        model.partial_fit(X[:2], [0.0, -1.0])
    counts = SpectralForestRegressor(**QUICK, target="count", atoms=0.0).fit(X, np.ceil(y))
    drawn = counts.sample_y(X, 5)
    np.testing.assert_array_equal(drawn, np.floor(drawn))


@pytest.mark.slow
@pytest.mark.parametrize("labels", [{}, {"groups": True}, {"time": True}])
def test_batches_weights_and_labels_give_the_same_model(labels):
    X, y = spending()
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    given = {name: np.arange(len(y)) // 6 for name in labels}
    model = SpectralForestRegressor(**QUICK, atoms=[0.0]).fit(X, y, weight, **given)
    groups, time = given.get("groups"), given.get("time")

    def part(values, rows):
        return None if values is None else values[rows]

    parts = [slice(0, 250), slice(250, None)]
    batches = [(X[rows], y[rows], weight[rows], part(groups, rows), part(time, rows)) for rows in parts]
    again = SpectralForestRegressor(**QUICK, atoms=[0.0]).fit_batches(batches)
    np.testing.assert_array_equal(again.predict_interval(X[:50]), model.predict_interval(X[:50]))


@pytest.mark.slow
def test_samples_of_large_tables_tell_atoms(monkeypatch):
    """In memory and in a file, with and without atoms in rows that are no part of the sample."""
    from ssgp.forest.sizes import MemoryShares

    shares = MemoryShares(10**8, 400, 10**6)
    monkeypatch.setattr(MemoryShares, "of", lambda *_: shares)
    X, y = spending()
    model = SpectralForestRegressor(**QUICK).fit(X, y)
    assert model.atoms_.tolist() == [0.0]
    assert model.n_rows_ == np.count_nonzero(y)
    again = SpectralForestRegressor(**QUICK).fit_batches([(X[:300], y[:300]), (X[300:], y[300:])])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.slow
def test_threads_do_not_matter_nor_do_other_rows(fitted):
    X, _ = spending()
    two = SpectralForestRegressor(**{**QUICK, "n_jobs": 2}).fit(*spending())
    np.testing.assert_array_equal(two.predict_interval(X), fitted.predict_interval(X))
    np.testing.assert_array_equal(fitted.predict_quantiles(X[[7]]), fitted.predict_quantiles(X)[[7]])


def test_a_saved_model_is_the_same(fitted, tmp_path):
    X, _ = spending()
    fitted.save(tmp_path / "model.safetensors")
    loaded = ssgp.load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_interval(X), fitted.predict_interval(X))
    np.testing.assert_array_equal(loaded.atoms_, fitted.atoms_)
    assert loaded.atoms == "auto"


@pytest.mark.slow
def test_more_rows_fill_the_leaves_and_keep_the_atoms():
    X, y = spending()
    model = SpectralForestRegressor(**QUICK).fit(X, y)
    before = model.predict_distribution(X[:9]).probability
    model.partial_fit(*spending(200, seed=5))
    np.testing.assert_array_equal(model.predict_distribution(X[:9]).probability, before)
    assert model.n_rows_ > np.count_nonzero(y)
    nothing_new = model.predict(X[:9])
    model.partial_fit(X[:3], np.zeros(3))
    np.testing.assert_array_equal(model.predict(X[:9]), nothing_new)


def test_recalibration_is_of_what_is_elsewhere(fitted):
    X, y = spending(800, seed=9)
    moved = ssgp.recalibrate(fitted, X, np.where(y > 0.0, 1.5 * y, 0.0))
    before, after = fitted.predict_distribution(X), moved.predict_distribution(X)
    np.testing.assert_array_equal(after.probability, before.probability)
    assert (moved.predict(X) > fitted.predict(X)).mean() > 0.9
    np.testing.assert_allclose(moved.predict(X), after.mean())


@pytest.mark.slow
def test_rows_with_gaps_have_mean_probabilities():
    X, y = spending()
    table = pd.DataFrame(X, columns=pd.Index(["a", "b", "c"]))
    table.loc[::9, "a"] = np.nan
    model = SpectralForestRegressor(**QUICK, atoms=0.0).fit(table, y)
    gap = pd.DataFrame({"a": [np.nan], "b": [0.0], "c": [0.0]})
    mean = float(model.predict_distribution(gap).probability[0, 0])
    assert 0.2 < mean < 0.8
    np.testing.assert_array_equal(model.predict_distribution(gap).mean(), model.predict(gap))


@pytest.mark.slow
def test_a_fit_that_goes_on_keeps_the_atoms(fitted):
    X, y = spending()
    model = (
        SpectralForestRegressor(**QUICK, atoms=0.0, warm_start=True).fit(X, y).fit(X, np.where(y == 0.0, 0.0, 2.0 * y))
    )
    assert model.atoms_.tolist() == [0.0]


@pytest.mark.slow
def test_a_checkpoint_knows_atoms_that_are_an_array(tmp_path):
    X, y = spending(300)
    y = np.where(y > 2.0, 2.0, y)
    model = SpectralForestRegressor(**QUICK, atoms=np.array([0.0, 2.0]))
    first = model.fit(X, y, checkpoint=tmp_path / "parts").predict(X)
    np.testing.assert_array_equal(model.fit(X, y, checkpoint=tmp_path / "parts").predict(X), first)
    with pytest.raises(ValueError, match="belongs to another fit"):
        model.set_params(atoms=np.array([0.0, 1.0])).fit(X, y, checkpoint=tmp_path / "parts")


@pytest.mark.slow
def test_checkpoints_give_the_same_model(fitted, tmp_path):
    X, y = spending()
    for _ in range(2):
        model = SpectralForestRegressor(**QUICK).fit(X, y, checkpoint=tmp_path / "parts")
        np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
