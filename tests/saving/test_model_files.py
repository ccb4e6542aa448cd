"""Models in files: the same to the last bit, or an error that says what is wrong."""

import pickle
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import ssgp
from helpers import small_forest, wavy
from ssgp import (
    DTCRegressor,
    ExactGPRegressor,
    PICRegressor,
    SpectralForestRegressor,
    SSGPRegressor,
    SVBSSGPRegressor,
    TableEncoder,
    VSSGPRegressor,
)
from ssgp.saving import model_files
from ssgp.saving.flattening import NotStorableError
from ssgp.saving.model_files import SavedModelError, read_summary
from ssgp.spectrum.bases import Normal, StudentT
from ssgp.stored import KINDS

pytestmark = pytest.mark.slow

X, Y, _ = wavy(400, d=3)
NEW, NEW_Y, _ = wavy(90, seed=1, d=3)
SMALL: dict[str, Any] = {"n_frequencies": 5, "max_iter": 40, "n_draws": 2, "random_state": 0}
MODELS = {
    "forest": small_forest(n_trees=2, max_iter=20),
    "forest of averages": small_forest(n_trees=2, max_iter=20, n_sketches="exact", kernel="matern-3/2"),
    "svb": SVBSSGPRegressor(**SMALL),
    "svb, local": SVBSSGPRegressor(**SMALL, objective="local", partition="tree", n_blocks=5),
    "svb, robbins-monro": SVBSSGPRegressor(
        **SMALL, optimizer="robbins-monro", base=StudentT(7.0), lengthscale=[1, 2, 3]
    ),
    "ssgp": SSGPRegressor(5, max_iter=10, n_restarts=2, random_state=0),
    "vssgp": VSSGPRegressor(8, max_iter=10, random_state=0),
    "dtc": DTCRegressor(60, max_iter=20, random_state=0),
    "pic": PICRegressor(20, max_iter=20, random_state=0),
    "exact": ExactGPRegressor(learn_rows=100, random_state=0),
    "pipeline": make_pipeline(SSGPRegressor(4, max_iter=5, n_restarts=1, random_state=0)),
}


def fresh(name, **settings) -> Any:
    return cast(Any, clone(MODELS[name])).set_params(**settings)


def same(one, other):
    """Whether two answers are equal to the last bit."""
    for a, b in zip(np.atleast_1d(one), np.atleast_1d(other), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.fixture(scope="module", params=MODELS, ids=str)
def fitted(request):
    weight = np.random.default_rng(2).uniform(0.5, 2.0, len(Y)) if "svb" in request.param else None
    settings = {} if weight is None else {"sample_weight": weight}
    return fresh(request.param).fit(pd.DataFrame(X, columns=pd.Index(["a", "b", "c"])), Y, **settings)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture(scope="module")
def tiny():
    return SSGPRegressor(4, max_iter=5, n_restarts=1, random_state=0).fit(X, Y)


@pytest.fixture
def new():
    return pd.DataFrame(NEW, columns=pd.Index(["a", "b", "c"]))


@pytest.mark.slow
def test_a_loaded_model_predicts_the_same_to_the_last_bit(fitted, path, new):
    ssgp.save(fitted, path)
    loaded = ssgp.load(path)
    assert type(loaded) is (ssgp.Pipeline if isinstance(fitted, Pipeline) else type(fitted))
    same(loaded.predict(new), fitted.predict(new))
    same(loaded.predict(new, return_std=True), fitted.predict(new, return_std=True))
    assert repr(loaded) == repr(fitted)
    np.testing.assert_array_equal(loaded.feature_names_in_, fitted.feature_names_in_)


def test_everything_that_is_public_comes_back(fitted, path):
    ssgp.save(fitted, path)
    loaded = ssgp.load(path)
    for name, value in vars(fitted).items():
        if name.endswith("_") and isinstance(value, np.ndarray | float | int | str):
            same(getattr(loaded, name), value)


def test_a_second_file_is_the_first(fitted, path, tmp_path):
    ssgp.save(fitted, path)
    again = tmp_path / "again"
    ssgp.save(ssgp.load(path), again)
    assert again.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_the_same_fit_gives_the_same_file(name, tmp_path):
    for k in range(2):
        ssgp.save(fresh(name).fit(X, Y), tmp_path / str(k))
    assert (tmp_path / "0").read_bytes() == (tmp_path / "1").read_bytes()


def test_pickling_still_works(fitted, new):
    same(pickle.loads(pickle.dumps(fitted)).predict(new), fitted.predict(new))


@pytest.mark.slow
def test_skops_works(fitted, new):
    io = pytest.importorskip("skops.io", reason="skops is not installed")
    data = io.dumps(fitted)
    loaded = io.loads(data, trusted=io.get_untrusted_types(data=data))
    same(loaded.predict(new), fitted.predict(new))


@pytest.fixture(scope="module")
def corrected():
    """A forest that boosted trees correct: an effect of a category that no leaf can see."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-2, 2, (3000, 2)), rng.integers(40, size=3000)])
    effect = rng.normal(size=40)[X[:, 2].astype(int)]
    model = small_forest(n_trees=2, max_iter=20).fit(X, np.sin(X[:, 0]) + 2 * effect + 0.1 * rng.normal(size=3000))
    assert model.corrected_share_ > 0
    return model, X


def test_the_correction_of_a_forest_comes_back(corrected, path):
    model, X = corrected
    model.save(path)
    loaded = ssgp.load(path)
    assert loaded.corrected_share_ == model.corrected_share_
    same(loaded.predict(X, return_std=True), model.predict(X, return_std=True))
    same(loaded.predict_quantiles(X[:50]), model.predict_quantiles(X[:50]))


def test_a_file_holds_nothing_twice(corrected, path):
    model, _ = corrected
    model.save(path)
    loaded = ssgp.load(path)
    fitted = loaded._fitted
    assert path.stat().st_size < fitted.forest.nbytes + fitted.rows.X.nbytes + fitted.rows.y.nbytes + 40_000
    for tree, skeleton in zip(fitted.forest.trees, fitted.skeletons, strict=True):
        assert tree.partition is skeleton.partition
        assert tree.features is skeleton.features


@pytest.mark.slow
@pytest.mark.parametrize("name", ["forest", "svb", "svb, robbins-monro"])
def test_more_rows_join_a_loaded_model_as_they_would_have_joined_the_first(name, path):
    settings = {"batch_size": 50} if "svb" in name else {}
    model = fresh(name, **settings).fit(X, Y)
    model.save(path)
    loaded = ssgp.load(path)
    same(loaded.partial_fit(NEW, NEW_Y).predict(X), model.partial_fit(NEW, NEW_Y).predict(X))
    assert loaded.n_rows_ == model.n_rows_ == len(X) + len(NEW)


def test_a_loaded_model_can_be_fitted_again(path):
    model = fresh("svb", warm_start=True).fit(X, Y)
    model.save(path)
    same(ssgp.load(path).fit(X, Y).predict(NEW), model.fit(X, Y).predict(NEW))


@pytest.mark.parametrize("labels", [np.array(["north", "south"]), np.array(["north", "south"], object), np.arange(2)])
def test_blocks_that_the_user_gave_come_back(labels, path):
    model = SVBSSGPRegressor(**SMALL).fit(X, Y, blocks=labels[(X[:, 0] > 0).astype(int)])
    model.save(path)
    loaded = ssgp.load(path)
    same(loaded.predict(NEW), model.predict(NEW))
    at = labels[(NEW[:, 0] > 0).astype(int)]
    same(loaded.predict(NEW, blocks=at), model.predict(NEW, blocks=at))


def test_a_random_state_goes_on_where_it_was(path):
    model = fresh("ssgp", random_state=np.random.RandomState(5)).fit(X, Y)
    model.save(path)
    loaded = ssgp.load(path)
    assert read_summary(path)["settings"]["random_state"] == "RandomState(MT19937)"
    np.testing.assert_array_equal(loaded.random_state.normal(size=3), model.random_state.normal(size=3))


class MyNormal(Normal):
    """A base of the user's own."""


def test_settings_that_no_file_holds_are_named(path):
    model = SVBSSGPRegressor(**SMALL, base=MyNormal()).fit(X, Y)
    with pytest.raises(NotStorableError, match=r"'settings.base' is a MyNormal"):
        model.save(path)
    assert not path.exists()


def test_callbacks_and_requests_stay_behind(tiny, path):
    callback = pytest.importorskip("sklearn.callback", reason="this scikit-learn has no callbacks")
    model = pickle.loads(pickle.dumps(tiny)).set_callbacks(callback.ProgressBar())
    model.save(path)
    same(ssgp.load(path).predict(NEW), model.predict(NEW))


def test_notes_and_importances_are_in_the_summary(path):
    table = pd.DataFrame(X, columns=pd.Index(["a", "b", "c"]))
    forest = small_forest(n_trees=1, max_iter=5, correct=False)
    model = make_pipeline(ssgp.TableEncoder(), forest).fit(table, Y)
    ssgp.save(model, path, notes={"target": "height", "key": ["id"]})
    found = read_summary(path)
    assert found["notes"] == {"target": "height", "key": ["id"]}
    assert found["feature_importances"] == dict(zip("abc", forest.feature_importances_.tolist(), strict=True))
    ssgp.save(model, path)
    assert "notes" not in read_summary(path)


def test_the_summary_is_there_without_loading(corrected, path):
    model, X = corrected
    model.save(path)
    found = read_summary(path)
    assert found["classes"] == ["SpectralForestRegressor"]
    assert found["ssgp_version"] == ssgp.__version__
    settings = {name: value for name, value in model.get_params().items() if name not in ("device", "encoder")}
    assert found["settings"] == settings
    assert (found["n_features_in"], found["feature_names_in"]) == (3, None)
    assert found["training"]["n_rows_"] == len(X)
    assert found["training"]["n_iter_"] == model.n_iter_
    assert found["training"]["last_bound_estimate"] == model.bound_trace_[-1]


def test_the_summary_of_a_pipeline_has_the_first_step_s_inputs(path):
    frame = pd.DataFrame(X, columns=pd.Index(["a", "b", "c"]))
    model = fresh("pipeline").fit(frame, Y)
    ssgp.save(model, path)
    assert read_summary(path)["feature_names_in"] == ["a", "b", "c"]
    assert read_summary(path)["training"]["bound_"] == model[-1].bound_


class MyForest(SpectralForestRegressor):
    """A class that a file cannot name."""


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (LinearRegression(), "this is a LinearRegression"),
        (
            make_pipeline(StandardScaler(), SSGPRegressor(3)),
            "step 'standardscaler' of the pipeline is a StandardScaler",
        ),
        (MyForest(), "this is a MyForest"),
        ("model", "this is a str"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_things_are_refused(model, said, path):
    with pytest.raises(NotStorableError, match=said):
        ssgp.save(model, path)


def test_a_model_has_to_be_fitted_first(path):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        SSGPRegressor().save(path)


def test_places_that_cannot_be_written_are_named(tiny, tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        tiny.save(tmp_path)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        tiny.save(tmp_path / "missing" / "model")


def test_a_failure_leaves_the_old_file(tiny, path, tmp_path, monkeypatch):
    tiny.save(path)
    before = path.read_bytes()

    def fail(arrays, part, metadata):
        part.write_bytes(before[:100])
        raise OSError("No space left on device")

    monkeypatch.setattr(model_files, "save_file", fail)
    with pytest.raises(OSError, match="No space"):
        tiny.save(path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_file_cut_anywhere_is_not_loaded(tiny, path):
    tiny.save(path)
    whole = path.read_bytes()
    for length in [0, 1, 8, 9, 50, *np.linspace(100, len(whole) - 1, 20).astype(int)]:
        path.write_bytes(whole[:length])
        with pytest.raises(SavedModelError, match=r"damaged or not whole|not a saved model"):
            ssgp.load(path)


def test_a_flipped_bit_anywhere_is_noticed(tiny, path):
    tiny.save(path)
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for position, bit in zip(rng.integers(len(whole), size=300), rng.integers(8, size=300), strict=True):
        damaged = bytearray(whole)
        damaged[position] ^= 1 << bit
        path.write_bytes(damaged)
        with pytest.raises(SavedModelError):
            ssgp.load(path)


@pytest.mark.parametrize(
    "content",
    [b"", b"text of some length", pickle.dumps({"a": np.zeros(3)}), b"\x89PNG\r\n\x1a\n" + bytes(100), b"PAR1" * 10],
    ids=["empty", "text", "pickle", "image", "parquet"],
)
def test_other_files_are_refused(content, path):
    path.write_bytes(content)
    with pytest.raises(SavedModelError, match=r"model.safetensors' is not a saved model"):
        ssgp.load(path)
    with pytest.raises(SavedModelError, match="is not a saved model"):
        read_summary(path)


def test_other_safetensors_are_refused(path):
    save_file({"weight": np.zeros(3)}, path)
    with pytest.raises(SavedModelError, match="a safetensors file, but not a model that ssgp wrote"):
        ssgp.load(path)


def test_a_missing_file_is_missing(path):
    with pytest.raises(FileNotFoundError):
        ssgp.load(path)


def test_a_newer_format_asks_for_a_newer_version(tiny, path, monkeypatch):
    monkeypatch.setattr(model_files, "FORMAT_VERSION", 7)
    tiny.save(path)
    monkeypatch.undo()
    with pytest.raises(SavedModelError, match=r"has format 7.*reads formats up to 2: update ssgp"):
        ssgp.load(path)


def test_a_class_that_is_no_more_says_which_version_had_it(tiny, path, monkeypatch):
    tiny.save(path)
    monkeypatch.delitem(KINDS.by_name, "SpectralMap")
    with pytest.raises(SavedModelError, match=r"is no model that ssgp can use: 'SpectralMap' is no kind"):
        ssgp.load(path)
    monkeypatch.setattr(model_files, "__version__", "9.9")
    with pytest.raises(SavedModelError, match=r"written by ssgp .*load it with the version that wrote it.*SpectralMap"):
        ssgp.load(path)


def test_no_code_of_the_file_s_choosing_is_run(tiny, path, monkeypatch):
    def forbidden(*arguments, **settings):
        raise AssertionError("unpickled")

    tiny.save(path)
    monkeypatch.setattr(pickle, "loads", forbidden)
    monkeypatch.setattr(pickle, "load", forbidden)
    monkeypatch.setattr(pickle, "Unpickler", forbidden)
    ssgp.load(path)
    assert b"\x80\x04\x95" not in path.read_bytes()


def test_what_can_be_fitted_can_be_saved(path):
    """Settings and tables as people have them: what is odd is no reason to lose a fit."""
    table = TableEncoder()
    small = {"n_frequencies": 3, "max_iter": 2, "n_restarts": 1, "random_state": np.int64(0)}
    odd = [
        Pipeline(cast(Any, [["e", table], ["r", SSGPRegressor(**small)]])),
        SSGPRegressor(**small, lengthscale=np.array(2.0), n_jobs=np.int32(-2), normalize=cast(Any, np.bool_(True))),
        SVBSSGPRegressor(3, max_iter=2, n_draws=2, base=StudentT(2.0000000001), random_state=0),
        small_forest(n_trees=1, max_iter=2),
    ]
    for model, factor in zip(odd, [1.0, 1.0, 1.0, 1e-310], strict=True):
        rows = X * np.array([1.0, 1.0, factor])
        model.fit(rows, Y)
        ssgp.save(model, path)
        same(ssgp.load(path).predict(rows), model.predict(rows))
    for labels in (np.array([1, 2, 3], object), np.array([1, 2, 3], np.float16)):
        model = SVBSSGPRegressor(**SMALL).fit(X, Y, blocks=labels[np.arange(len(X)) % 3].astype(labels.dtype))
        model.save(path)
        same(ssgp.load(path).predict(NEW), model.predict(NEW))
