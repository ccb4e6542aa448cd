"""Files that somebody made up, with a checksum that is right: refused before anything is built of them."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file
from sklearn.pipeline import Pipeline, make_pipeline

import ssgp
from helpers import small_forest, wavy
from ssgp import SSGPRegressor, SVBSSGPRegressor, TableEncoder
from ssgp.saving import model_files
from ssgp.saving.model_files import SavedModelError, read_summary

X, Y, _ = wavy(120, d=2)
FOLDER = Path(__file__).parent / "version_0_1_0"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def rewrite(path, change, source=None):
    """Let `change` edit the header and the arrays of a file, and make the checksum right again."""
    with safe_open(source or path, framework="numpy") as file:
        header = json.loads(file.metadata()["ssgp_model"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}
    change(header, arrays)
    header.pop("checksum", None)
    header["checksum"] = model_files._checksum(header, arrays)
    save_file(arrays, path, metadata={"ssgp_model": json.dumps(header)})


def parts_of(header, kind):
    return next(entry["parts"] for entry in header["objects"] if entry["kind"] == kind)


def ssgp_file(path, **settings):
    SSGPRegressor(4, max_iter=3, n_restarts=1, random_state=0, **settings).fit(X, Y).save(path)


@pytest.mark.parametrize("field", ["dtype", "shape"])
def test_the_checksum_covers_dtypes_and_shapes(field, path):
    """One byte less of care, and a whole model would predict -3e17."""
    ssgp_file(path)
    data = path.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    tensors = json.loads(data[8 : 8 + length])
    names = [name for name in tensors if name != "__metadata__"]
    for name in names:
        changed = json.loads(json.dumps(tensors))
        if field == "dtype":
            changed[name]["dtype"] = {"F64": "I64", "F32": "I32"}[tensors[name]["dtype"]]
        else:
            changed[name]["shape"] = [1, *tensors[name]["shape"]]
        text = json.dumps(changed).encode()
        path.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])
        with pytest.raises(SavedModelError, match="do not match their checksum"):
            ssgp.load(path)


@pytest.mark.parametrize("root", [5, None, "text", {"list": []}, {"tuple": [1]}, {"array": "fitted.lengthscale_"}])
def test_only_models_are_roots(root, path):
    ssgp_file(path)
    rewrite(path, lambda header, arrays: header.update(root=root, objects=[]))
    with pytest.raises(SavedModelError, match="must be Pipeline or DTCRegressor or"):
        ssgp.load(path)


def test_a_part_of_a_model_is_no_model(path):
    ssgp_file(path)
    rewrite(path, lambda header, arrays: header.update(root={"object": 0}))
    with pytest.raises(SavedModelError, match="no part of the model"):
        ssgp.load(path)


def test_a_random_state_cannot_point_beyond_its_numbers(path):
    ssgp_file(path)

    def change(header, arrays):
        model = parts_of(header, "SSGPRegressor")
        model["settings"]["dict"]["random_state"] = {"object": len(header["objects"]) - 1}
        arrays["key"] = np.arange(624, dtype=np.uint32)
        state = {"key": {"array": "key"}, "pos": 625}
        whole = {"bit_generator": "MT19937", "state": {"dict": state}, "has_gauss": 0, "gauss": 0.0}
        entry = {"kind": "RandomState", "parts": {"state": {"dict": whole}}}
        header["objects"].insert(len(header["objects"]) - 1, entry)
        header["root"] = {"object": len(header["objects"]) - 1}

    rewrite(path, change)
    with pytest.raises(SavedModelError, match="pos: must be a whole number from 0 to 624, found int 625"):
        ssgp.load(path)


def test_a_pipeline_has_no_memory_of_a_file_s_choosing(path, tmp_path):
    model = make_pipeline(TableEncoder(), small_forest(n_trees=1, max_iter=3), memory=str(tmp_path / "mine")).fit(X, Y)
    ssgp.save(model, path)
    assert b"mine" not in path.read_bytes()
    rewrite(path, lambda header, arrays: parts_of(header, "Pipeline").update(memory=str(tmp_path / "theirs")))
    loaded = ssgp.load(path)
    assert isinstance(loaded, Pipeline)
    assert loaded.memory is None


def test_texts_are_no_wider_than_the_file_warrants(path):
    ssgp_file(path)

    def change(header, arrays):
        model = parts_of(header, "SSGPRegressor")
        arrays["names"] = np.frombuffer(b'["a","b"]', np.uint8)
        names = {"texts": "names", "shape": [2], "dtype": "<U50000000"}
        model["fitted"]["dict"]["feature_names_in_"] = names

    rewrite(path, change)
    with pytest.raises(SavedModelError, match="padded to 200000000 bytes"):
        ssgp.load(path)


def test_an_empty_array_has_no_size_beyond_the_file(path):
    ssgp_file(path)

    def change(header, arrays):
        arrays["empty"] = np.zeros((0, 2**40))
        parts_of(header, "SSGPRegressor")["fitted"]["dict"]["bound_trace_"] = {"array": "empty"}

    rewrite(path, change)
    with pytest.raises(SavedModelError, match="is no array of a saved model"):
        ssgp.load(path)


def test_json_nested_without_end_is_refused(path):
    deep = "[" * 100_000 + "]" * 100_000
    save_file({"a": np.zeros(1)}, path, metadata={"ssgp_model": deep})
    for read in (ssgp.load, read_summary):
        with pytest.raises(SavedModelError, match="its header cannot be read"):
            read(path)


@pytest.mark.parametrize("bad", [{"classes": ["load"], "settings": 5}, [], None, {"classes": []}])
def test_a_summary_says_what_summaries_say(bad, path):
    ssgp_file(path)
    rewrite(path, lambda header, arrays: header.update(summary=bad))
    with pytest.raises(SavedModelError, match="its summary cannot be read"):
        read_summary(path)


def test_what_a_stranger_wrote_is_printed_without_control_characters(path):
    ssgp_file(path)
    rewrite(path, lambda header, arrays: header.update(ssgp_version="\x1b[2J1.0", root={"\x1b[31m": 1}))
    with pytest.raises(SavedModelError) as caught:
        ssgp.load(path)
    assert str(caught.value).isprintable()
    assert r"\x1b[2J1.0" in str(caught.value)


@pytest.mark.parametrize(
    ("part", "array"),
    [
        ("bounds", np.array([0, 2**62, -(2**62)])),
        ("bounds", np.zeros(0, np.int64)),
        ("children", np.zeros((0, 2), np.uint32)),
        ("children", np.full((4, 2), 0.5)),
    ],
    ids=["bounds that wrap", "no bounds", "no nodes", "half a child"],
)
def test_boosted_trees_that_are_none_are_refused(part, array, path):
    def change(header, arrays):
        trees = parts_of(header, "BoostedTrees")
        arrays[trees[part]["array"]] = array

    rewrite(path, change, source=FOLDER / "forest.safetensors")
    with pytest.raises(SavedModelError, match="BoostedTrees"):
        ssgp.load(path)


def test_a_file_of_the_first_format_is_read(path):
    """Its checksum has no dtypes and shapes; what they may be is checked all the same."""
    source = FOLDER / "ssgp.safetensors"
    assert ssgp.load(source).n_features_in_ == 2

    def change(header, arrays):
        name = parts_of(header, "WeightPosterior")["mean"]["array"]
        arrays[name] = arrays[name].view(np.int64)

    rewrite(path, change, source=source)
    with pytest.raises(SavedModelError, match=r"WeightPosterior: mean: must be an array of float64 .* found int64"):
        ssgp.load(path)


def test_objects_that_are_no_part_of_the_model_are_not_built_for_nothing(path):
    ssgp_file(path)

    def change(header, arrays):
        arrays["rows"] = np.zeros((1000, 2))
        header["objects"].append({"kind": "cKDTree", "parts": {"data": {"array": "rows"}}})

    rewrite(path, change)
    with pytest.raises(SavedModelError, match="no part of the model"):
        ssgp.load(path)


def test_an_array_stands_in_few_places(path):
    ssgp_file(path)

    def change(header, arrays):
        trace = parts_of(header, "SSGPRegressor")["fitted"]["dict"]["bound_trace_"]
        parts_of(header, "SSGPRegressor")["settings"]["dict"]["lengthscale"] = {"list": [trace] * 9}

    rewrite(path, change)
    with pytest.raises(SavedModelError, match="in more than 8 places"):
        ssgp.load(path)


@pytest.mark.parametrize("order", [[1, 0], [0], [0, 0, 1]], ids=["regressor first", "encoder alone", "names twice"])
def test_steps_of_a_pipeline_are_encoders_and_a_regressor(order, path):
    model = make_pipeline(TableEncoder(), small_forest(n_trees=1, max_iter=3)).fit(X, Y)
    ssgp.save(model, path)

    def change(header, arrays):
        steps = parts_of(header, "Pipeline")["steps"]["list"]
        parts_of(header, "Pipeline")["steps"]["list"] = [steps[i] for i in order]

    rewrite(path, change)
    if order == [0]:
        with pytest.raises(SavedModelError, match="no part of the model"):
            ssgp.load(path)
    else:
        with pytest.raises(SavedModelError, match=r"of encoders, and of a regressor|different names"):
            ssgp.load(path)


def test_a_recalibrated_regressor_is_not_recalibrated(path):
    model = ssgp.RecalibratedRegressor(SSGPRegressor(3, max_iter=2, n_restarts=1).fit(X, Y)).fit(X, Y)
    with pytest.raises(ValueError, match="regressor is recalibrated already"):
        ssgp.RecalibratedRegressor(model).fit(X, Y)
    model.save(path)

    def change(header, arrays):
        again = json.loads(json.dumps(header["objects"][-1]))
        again["parts"]["settings"]["dict"]["regressor"] = header["root"]
        header["objects"].append(again)
        header["root"] = {"object": len(header["objects"]) - 1}

    rewrite(path, change)
    with pytest.raises(SavedModelError, match="a recalibrated regressor cannot be recalibrated"):
        ssgp.load(path)


@pytest.mark.parametrize(
    "entries",
    [
        {"n_features_in": 10**9},
        {"feature_importances": {"a": 10**400}},
        {"feature_importances": {"a": -1.0}},
        {"recalibration": {"shift": 10**400}},
        {"notes": json.loads("[" * 100 + "]" * 100)},
    ],
    ids=["columns without end", "no float", "negative share", "no shift", "nested"],
)
def test_numbers_of_a_summary_are_numbers_that_can_be_shown(entries, path):
    ssgp_file(path)
    rewrite(path, lambda header, arrays: header["summary"].update(entries))
    with pytest.raises(SavedModelError, match="its summary cannot be read"):
        read_summary(path)


def test_times_without_a_unit_are_refused(path):
    labels = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
    blocks = labels[(X[:, 0] > 0).astype(int)]
    SVBSSGPRegressor(3, max_iter=2, n_draws=2, random_state=0).fit(X, Y, blocks=blocks).save(path)
    assert ssgp.load(path).block_labels_.dtype == labels.dtype

    def change(header, arrays):
        text = json.dumps(header["objects"]).replace("M8[D]", "M8[0D]")
        header["objects"] = json.loads(text)

    rewrite(path, change)
    with pytest.raises(SavedModelError, match="not a type of times"):
        ssgp.load(path)
