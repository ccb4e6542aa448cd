"""Saved models that are damaged or made up: they are refused by one error, or load and predict.

Bytes are changed anywhere, the header's dtypes, shapes and places one by one, and the contents, JSON and arrays,
with the checksum made right again. A file that is accepted must give a model that predicts without an error that is
none of ours, whose numbers may be wrong: it says what the file says.
"""

import json
import struct
import tempfile
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load as load_tensors
from sklearn.pipeline import Pipeline
from typer.testing import CliRunner

import ssgp
from ssgp.cli.app import app
from ssgp.saving import model_files
from ssgp.saving.flattening import NotStorableError
from ssgp.saving.model_files import SavedModelError, read_summary
from tests.saving.test_earlier_versions import table

CASES = 1500
SECONDS = 20.0
FOLDER = Path(__file__).parents[1] / "saving" / "version_0_1_0"
DTYPES = ("BOOL", "U8", "I8", "I16", "U16", "F16", "BF16", "I32", "U32", "F32", "F64", "I64", "U64", "F8_E4M3", "X9")
NUMBERS = (0, 1, -1, 2, 3, 7, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), 10**30, 0.5, -0.5, 1e308, 1e-308, True, None)
TEXTS = ("", "nan", "inf", "a", "\x1b[2J", "../../etc/passwd", "os.system", "auto", "x" * 1000, "<U500000000", "O")
WORK = {"n_jobs": 1, "draws_per_step": 1, "blocks_per_step": "auto", "batch_size": 1000, "n_trees": 2}
FLOATS = (0.0, 1.0, -1.0, 0.5, 1e30, -1e30, 1e300, 1e-300, np.nan, np.inf, -np.inf)


@cache
def models() -> tuple[tuple[bytes, dict[str, Any]], ...]:
    """Files of small models of every kind, as this version writes them, and what they hold."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for path in sorted(FOLDER.glob("*.safetensors")):
            ssgp.save(ssgp.load(path), Path(folder) / "again")
            files.append((Path(folder) / "again").read_bytes())
    return tuple((data, json.loads(_tensor_header(data)["__metadata__"]["ssgp_model"])) for data in files)


def case(seed: int) -> None:
    """Load one damaged file, and use what comes of it."""
    rng = np.random.default_rng(seed)
    data, header = models()[rng.integers(len(models()))]
    damage = [change_bytes, change_tensor_header, change_contents, change_contents, change_contents][rng.integers(5)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        path.write_bytes(damage(data, json.loads(json.dumps(header)), rng))
        check(path)


def check(path: Path) -> None:
    """Whatever the file holds, it is refused in one way, or used."""
    try:
        read_summary(path)
    except SavedModelError as error:
        check_message(error)
    try:
        model = ssgp.load(path)
    except SavedModelError as error:
        check_message(error)
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if isinstance(model, Pipeline):
            use_pipeline(model)
        elif hasattr(model, "predict_distribution"):
            use(model)
        save_again(model, path)


def check_message(error: SavedModelError) -> None:
    """A stranger's text does not move the cursor of who reads it."""
    assert str(error).isprintable(), repr(str(error))


def use(model: Any) -> None:
    """Predict, go on and save: contents that pass the rules must not fail here in ways that nobody documents."""
    X = np.random.default_rng(0).normal(size=(5, model.n_features_in_))
    assert model.predict(X).shape == (5,)
    mean, deviation = model.predict(X, return_std=True)
    assert mean.shape == deviation.shape == (5,)
    assert not (deviation < 0.0).any()
    assert model.predict_quantiles(X, [0.1, 0.9]).shape == (5, 2)
    if hasattr(model, "partial_fit"):
        # How much work a step is, and how many threads do it, is its maker's choice.
        model.set_params(**{name: value for name, value in WORK.items() if name in model.get_params()})
        # Numbers that are extreme or do not belong together are told where they are met.
        with suppress(ValueError):
            model.partial_fit(X, np.zeros(5))


def use_pipeline(model: Pipeline) -> None:
    """Predict a table that the encoder was fitted to the like of; it may say that its columns are others now."""
    with suppress(ValueError):
        assert np.shape(model.predict(table(np.random.default_rng(0).normal(size=(5, 2))))) == (5,)


def save_again(model: Any, path: Path) -> None:
    """What was accepted can be written again, and be shown."""
    with suppress(NotStorableError):
        ssgp.save(model, path)
        shown = CliRunner().invoke(app, ["inspect", str(path)])
        assert shown.exit_code == 0, shown.output


def change_bytes(data: bytes, header: dict[str, Any], rng: np.random.Generator) -> bytes:
    """Flip, cut, double or fill some bytes; most of them in the header, where they matter."""
    out = bytearray(data)
    end = 8 + struct.unpack("<Q", data[:8])[0]
    for _ in range(rng.integers(1, 4)):
        if not out:
            break
        place = int(rng.integers(end if rng.random() < 0.7 else len(out)))
        kind = rng.integers(5)
        if kind == 0:
            out[place % len(out)] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            out[place % len(out)] = int(rng.integers(256))
        elif kind == 2:
            del out[place : place + int(rng.integers(1, 50))]
        elif kind == 3:
            out[place:place] = out[place : place + int(rng.integers(1, 50))]
        else:
            out = out[: max(1, place)]
    return bytes(out)


def change_tensor_header(data: bytes, header: dict[str, Any], rng: np.random.Generator) -> bytes:
    """Change one field of the header that says what the tensors are."""
    tensors = _tensor_header(data)
    name = _pick([key for key in tensors if key != "__metadata__"], rng)
    field = _pick(["dtype", "shape", "data_offsets"], rng)
    if field == "dtype":
        tensors[name]["dtype"] = _pick(DTYPES, rng)
        if rng.random() < 0.5:
            other = _pick([key for key in tensors if key != "__metadata__"], rng)
            tensors[name]["dtype"] = tensors[other]["dtype"]
    elif field == "shape":
        shape = tensors[name]["shape"]
        changed = [shape[::-1], [*shape, 1], [1, *shape], [int(np.prod(shape))], shape[1:], [0, 2**40], [2**63]]
        tensors[name]["shape"] = _pick([*changed, [size + 1 for size in shape], [-1]], rng)
    else:
        begin, end = tensors[name]["data_offsets"]
        tensors[name]["data_offsets"] = _pick([[end, begin], [begin, end + 8], [begin + 1, end], [-8, end]], rng)
    return _with_tensor_header(data, tensors)


def change_contents(data: bytes, header: dict[str, Any], rng: np.random.Generator) -> bytes:
    """Change what the file says, and make its checksum right: as somebody would who means it."""
    arrays = {name: array.copy() for name, array in load_tensors(data).items()}
    for _ in range(rng.integers(1, 3)):
        if rng.random() < 0.5:
            change_array(arrays, rng)
        else:
            change_node(header, rng)
    header.pop("checksum", None)
    try:
        header["checksum"] = model_files._checksum(header, arrays)
    except (TypeError, KeyError, ValueError):  # no checksum can be right
        header["checksum"] = "00000000"
    return _file(header, arrays)


def change_array(arrays: dict[str, Any], rng: np.random.Generator) -> None:
    """Change entries, the dtype or the shape of one array."""
    name = _pick(sorted(arrays), rng)
    array, kind = arrays[name], rng.integers(6)
    if kind <= 2 and array.size:
        places = rng.integers(array.size, size=rng.integers(1, 4))
        values = FLOATS if array.dtype.kind == "f" else [n for n in NUMBERS if type(n) is int]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array.reshape(-1)[places] = np.array(_pick(values, rng), float).astype(array.dtype)
    elif kind == 3:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays[name] = array.astype(_pick(["f2", "f4", "f8", "i4", "i8", "u1", "u4", "u8", "?"], rng))
    elif kind == 4:
        shapes = [array.ravel(), array[None], array[..., None], array.T, array[:0], array[:1], array[1:]]
        arrays[name] = np.ascontiguousarray(_pick(shapes if array.ndim else shapes[:3], rng))
    else:
        arrays[name] = arrays[_pick(sorted(arrays), rng)].copy()


def change_node(header: dict[str, Any], rng: np.random.Generator) -> None:
    """Change one place in the tree of JSON values."""
    path: list[Any] = []
    holder: Any = None
    node: Any = header
    while isinstance(node, dict | list) and node and (holder is None or rng.random() < 0.93):
        key: Any = _pick(sorted(node), rng) if isinstance(node, dict) else int(rng.integers(len(node)))
        if holder is None and "objects" in header and rng.random() < 0.8:
            key = "objects"
        holder, node, path = node, node[key], [*path, key]
    assert holder is not None
    key, objects = path[-1], header.get("objects")
    kind = rng.integers(8)
    if kind == 0 and isinstance(holder, dict):
        del holder[key]
    elif kind == 1 and isinstance(holder, dict):
        holder[_pick(TEXTS, rng)] = holder.pop(key)
    elif kind == 2:
        holder[key] = _pick(TEXTS, rng)
    elif kind == 3:
        holder[key] = _pick([[], {}, [[]], {"object": 0}, {"list": []}, {"float": "nan"}, {"tuple": [None]}], rng)
    elif kind == 4:
        holder[key] = [holder[key]] if rng.random() < 0.5 else {"list": [holder[key]]}
    elif kind == 5:
        has_objects = isinstance(objects, list) and objects and rng.random() < 0.5
        holder[key] = json.loads(json.dumps(_pick(objects, rng))) if has_objects else {"object": int(rng.integers(40))}
    else:
        holder[key] = _pick(NUMBERS, rng)


def _pick(options: Any, rng: np.random.Generator) -> Any:
    return options[int(rng.integers(len(options)))]


def _tensor_header(data: bytes) -> dict[str, Any]:
    return json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])


def _with_tensor_header(data: bytes, tensors: dict[str, Any]) -> bytes:
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data[8 + struct.unpack("<Q", data[:8])[0] :]


def _file(header: dict[str, Any], arrays: dict[str, Any]) -> bytes:
    """A safetensors file of these contents, written by hand: its library checks what it writes."""
    names = {"f2": "F16", "f4": "F32", "f8": "F64", "b1": "BOOL"}
    names |= {f"{kind}{size}": f"{kind.upper()}{8 * size}" for kind in "iu" for size in (1, 2, 4, 8)}
    tensors: dict[str, Any] = {"__metadata__": {"ssgp_model": json.dumps(header)}}
    body = b""
    for name, array in arrays.items():
        tensors[name] = {
            "dtype": names[array.dtype.str[1:]],
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + array.nbytes],
        }
        body += array.tobytes()
    text = json.dumps(tensors).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + body
