"""Files of models that earlier versions wrote: they load, predict what they did, and are saved again as they were.

`version_0_1_0/` has a small model of every kind, saved before the library had packages, and `predictions.npz` with the
inputs X and, for each model, the columns mean, mean, deviation, two quantiles and log density at zero, as that version
predicted them.
"""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from safetensors import safe_open

import ssgp
from ssgp.saving.contents import ContentsError
from ssgp.stored import KINDS

FOLDER = Path(__file__).parent / "version_0_1_0"
MODELS = sorted(path.stem for path in FOLDER.glob("*.safetensors"))


@pytest.fixture(scope="module")
def predictions():
    with np.load(FOLDER / "predictions.npz") as arrays:
        return dict(arrays)


def table(X):
    """The inputs of the pipeline: numbers, a gap, categories, times and an identifier."""
    hours = (3600 * np.arange(len(X))).astype("m8[s]")
    return pa.table(
        {
            "a": X[:, 0],
            "b": pa.array([None if value > 1.8 else value for value in X[:, 1]]),
            "c": ["left" if value < 0 else "right" for value in X[:, 0]],
            "d": [f"k{int(5 * abs(value))}" for value in X[:, 1]],
            "when": pa.array(np.datetime64("2020-01-01T00:00:00", "s") + hours),
            "id": [f"row {i}" for i in range(len(X))],
        }
    )


@pytest.mark.parametrize("name", MODELS)
def test_predictions_are_what_they_were(name, predictions):
    """On another processor the last digits of single precision features differ, saved or not."""
    model, X = ssgp.load(FOLDER / f"{name}.safetensors"), predictions["X"]
    if name == "recalibrated_pipeline":
        with pytest.warns(UserWarning, match="'d' in 2 of 12"):
            model, X = model[-1], model[0].transform(table(X))
    mean, std = model.predict(X, return_std=True)
    quantiles, density = model.predict_quantiles(X, [0.1, 0.9]), model.log_prob(X, np.zeros(len(X)))
    found = np.column_stack([model.predict(X), mean, std, quantiles, density])
    np.testing.assert_allclose(found, predictions[name], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("name", MODELS)
def test_a_file_is_written_again_as_it_was(name, tmp_path):
    path = FOLDER / f"{name}.safetensors"
    ssgp.save(ssgp.load(path), tmp_path / "again")
    old, new = stored(path), stored(tmp_path / "again")
    assert new["header"] == old["header"]
    assert {key: value.tobytes() for key, value in new["arrays"].items()} == {
        key: value.tobytes() for key, value in old["arrays"].items()
    }


def stored(path):
    """What a file holds besides its summary, which names the versions of libraries at hand, and ways to work."""
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()["ssgp_model"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}
    for entry in header["objects"]:
        if entry["kind"] == "Pipeline":
            entry["parts"] = {name: entry["parts"][name] for name in ("steps", "verbose")}
    return {"header": {name: header[name] for name in ("root", "objects")}, "arrays": arrays}


def test_a_model_goes_on_where_it_was(predictions):
    model = ssgp.load(FOLDER / "forest.safetensors")
    n_rows = model.n_rows_
    model.partial_fit(predictions["X"], np.zeros(12))
    assert model.n_rows_ == n_rows + 12


def test_a_setting_that_had_an_effect_which_is_no_more_is_refused():
    kind = KINDS.by_name["SpectralForestRegressor"]
    parts = dict(kind.parts(ssgp.load(FOLDER / "forest.safetensors")))
    kind.check(parts)
    parts["settings"] = {**parts["settings"], "average_prunings": True}
    with pytest.raises(ContentsError, match="SpectralForestRegressor has no average_prunings=True any more"):
        kind.check(parts)


def test_names_in_files_do_not_change():
    """A class or field may be renamed in the code; files keep the name that they have."""
    assert sorted(KINDS.by_name) == [
        "Adam",
        "AffinePosterior",
        "Atoms",
        "BisectingTree",
        "BoostedTrees",
        "Calibration",
        "Conditional",
        "Context",
        "Correction",
        "DTCRegressor",
        "Donors",
        "Dropped",
        "ExactGPRegressor",
        "Forest",
        "GaussianProcessRegressor",
        "Generator",
        "InducingFeatures",
        "InducingMap",
        "Laplace",
        "Layout",
        "LeftOut",
        "Level",
        "LocalModels",
        "Logistic",
        "Logit",
        "MinorityNoise",
        "Model",
        "NearestCentre",
        "NearestRow",
        "NoisePrior",
        "NoiseShape",
        "NoiseTrend",
        "Normal",
        "Number",
        "OneHot",
        "Ordinal",
        "PICRegressor",
        "Packed",
        "Parameters",
        "Pipeline",
        "RandomState",
        "RecalibratedRegressor",
        "Recalibration",
        "RobbinsMonro",
        "Rows",
        "SSGPRegressor",
        "SVBSSGPRegressor",
        "Seedling",
        "SoftLog",
        "SpectralForestRegressor",
        "SpectralMap",
        "SpectralTree",
        "SquaredExponential",
        "Standardizer",
        "StudentT",
        "TableEncoder",
        "TargetMeans",
        "Time",
        "VSSGPRegressor",
        "VariationalMap",
        "Waves",
        "WeightPosterior",
        "WideWaves",
        "cKDTree",
    ]
