"""Fitted models in one file: safetensors, with everything that is not an array as JSON in its header."""

import json
import math
import os
import zlib
from dataclasses import asdict
from typing import Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ssgp import __version__
from ssgp._utils.whole_file import FilePath, check_place, whole_file
from ssgp.distributions.recalibrated import RecalibratedRegressor, original
from ssgp.saving.flattening import Flat, NotStorableError, flatten, rebuild
from ssgp.saving.storable import ESTIMATORS, KINDS
from ssgp.tables.encoder import TableEncoder

__all__ = ["SavedModelError", "load", "read_object", "read_summary", "save", "summarize", "write_object"]

# Name of the one text in the file's header; two would come in any order, and a model should give the same file twice.
ENTRY = "ssgp_model"
# Raised whenever a reader of today would misread what a later version writes.
FORMAT_VERSION = 1
# Fitted attributes of some or all estimators that say how training went.
TRAINING = ("n_rows_", "n_iter_", "bound_", "noise_variance_", "kernel_", "n_frequencies_", "n_trees_", "n_leaves_")


class SavedModelError(ValueError):
    """A file that is not a saved model, or not a whole one, or one that this version cannot read."""


def save(model: Any, path: FilePath, *, notes: dict[str, Any] | None = None) -> None:  # noqa: ANN401  checked here
    """Write a fitted model to one file.

    The file holds settings, fitted attributes and, where the model keeps them, its training rows: a loaded model
    predicts the same to the last bit, and `partial_fit` goes on where it was. Callbacks are not stored.

    Parameters
    ----------
    model : estimator of this library, or a scikit-learn Pipeline of them
        Fitted.
    path : path-like
        Where to; a file that is there is replaced once the new one is whole.
    notes : dict, optional
        What else readers of the file should know, as JSON can write it: `read_summary` gives it back.
    """
    _check_model(model)
    check_place(path, "the model")
    write_object(model, path, summarize(model) | ({} if notes is None else {"notes": notes}))


def write_object(value: Any, path: FilePath, summary: dict[str, Any]) -> None:  # noqa: ANN401
    """Write anything that models are made of, and what readers may want to know first."""
    flat = flatten(value, KINDS)
    header = {
        "format_version": FORMAT_VERSION,
        "ssgp_version": __version__,
        "summary": summary,
        "root": flat.root,
        "objects": flat.objects,
    }
    header["checksum"] = _checksum(header, flat.arrays)
    with whole_file(path) as part:
        save_file(flat.arrays, part, metadata={ENTRY: json.dumps(header, allow_nan=False)})


def load(path: FilePath) -> Any:  # noqa: ANN401  the class is in the file
    """Read a model that `save` wrote. Nothing in the file is run as code.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator or Pipeline
        As it was saved.

    Examples
    --------
    >>> import os, tempfile
    >>> import numpy as np, ssgp
    >>> X = np.linspace(0, 6, 200)[:, None]
    >>> model = ssgp.SSGPRegressor(n_frequencies=10, random_state=0).fit(X, np.sin(X[:, 0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(os.path.join(folder, "model.safetensors"))
    ...     again = ssgp.load(os.path.join(folder, "model.safetensors"))
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    return read_object(path)


def read_object(path: FilePath) -> Any:  # noqa: ANN401
    """Read what `write_object` wrote."""
    header, arrays = _read(path, with_arrays=True)
    if header.pop("checksum", None) != _checksum(header, arrays):
        raise SavedModelError(_damaged(path, "its contents do not match their checksum"))
    try:
        return rebuild(Flat(header["root"], header["objects"], arrays), KINDS)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise SavedModelError(
            f"{_quoted(path)} was written by ssgp {header['ssgp_version']} and does not fit this version, "
            f"{__version__} ({type(error).__name__}: {error}); load it with the version that wrote it"
        ) from error


def read_summary(path: FilePath) -> dict[str, Any]:
    """What a saved model is, without loading it: its classes, settings, inputs and how training went."""
    header, _ = _read(path, with_arrays=False)
    try:
        return {"ssgp_version": header["ssgp_version"], **header["summary"]}
    except (KeyError, TypeError) as error:
        raise SavedModelError(_damaged(path, "its summary cannot be read")) from error


def _check_model(model: Any) -> None:  # noqa: ANN401  a user's
    """Refuse what no file holds, before anything is written."""
    steps = dict(model.steps) if type(model) is Pipeline else {"": model}
    for name, step in steps.items():
        if type(step) not in ESTIMATORS:
            where = f"step {name!r} of the pipeline is" if name else "this is"
            raise NotStorableError(
                f"only estimators of ssgp and pipelines of them can be saved; {where} a {type(step).__name__}"
            )
        check_is_fitted(step)


def summarize(model: Any) -> dict[str, Any]:  # noqa: ANN401
    """What a reader wants to know of a fitted model before using it: plain values that JSON can hold."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    recalibrated, steps = steps[-1], [*steps[:-1], original(steps[-1])]
    first, last = steps[0], steps[-1]
    names, trace = getattr(first, "feature_names_in_", None), getattr(last, "bound_trace_", None)
    training = {name: getattr(last, name) for name in TRAINING if hasattr(last, name)}
    if "bound_" not in training and trace is not None and len(trace):
        training["last_bound_estimate"] = trace[-1]
    columns = [f"{own.name}: {own.describe()}" for own in first.columns_] if isinstance(first, TableEncoder) else None
    described = {} if columns is None else {"columns": columns}
    return {
        "classes": [type(step).__name__ for step in steps],
        **_recalibration(recalibrated),
        "settings": {name: _plain(value) for name, value in last.get_params(deep=False).items()},
        "n_features_in": first.n_features_in_,
        "feature_names_in": None if names is None else [str(name) for name in names],
        **described,
        "training": {name: _plain(value) for name, value in training.items()},
        **_importances(steps),
        "sklearn_version": sklearn.__version__,
        "numpy_version": np.__version__,
    }


def _recalibration(regressor: Any) -> dict[str, dict[str, float]]:  # noqa: ANN401
    """What corrects the predictive distributions, and how many rows it was learned from."""
    if not isinstance(regressor, RecalibratedRegressor):
        return {}
    return {"recalibration": {"n_rows": regressor.n_recalibration_rows_, **asdict(regressor.recalibration_)}}


def _importances(steps: list[Any]) -> dict[str, dict[str, float]]:
    """How much each feature matters, where the model knows."""
    first, last = steps[0], steps[-1]
    found = getattr(last, "feature_importances_", None)
    if found is None:
        return {}
    own = getattr(last, "feature_names_in_", [f"x{i}" for i in range(len(found))])
    names = own if first is last else first.get_feature_names_out()
    return {"feature_importances": {str(name): float(share) for name, share in zip(names, found, strict=True)}}


def _plain(value: Any) -> Any:  # noqa: ANN401
    """A number or string as it is, anything else as it is printed, less the address it has in memory."""
    value = value.item() if isinstance(value, np.generic) else value
    fine = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if fine else repr(value).partition(" at 0x")[0]


def _checksum(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    found = zlib.crc32(json.dumps(header).encode())
    for name in sorted(arrays):
        found = zlib.crc32(arrays[name].reshape(-1).view(np.uint8).data, zlib.crc32(name.encode(), found))
    return f"{found:08x}"


def _read(path: FilePath, with_arrays: bool) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that is one of ours and of a format we know."""
    _check_beginning(path)
    try:
        with safe_open(path, framework="numpy") as file:
            header = _header(path, file.metadata() or {})
            return header, {name: file.get_tensor(name) for name in file.keys()} if with_arrays else {}
    except SafetensorError as error:
        raise SavedModelError(_damaged(path, str(error))) from error


def _check_beginning(path: FilePath) -> None:
    """A safetensors file begins with the length of its header, eight bytes, and a brace."""
    with open(path, "rb") as file:
        start, size = file.read(9), os.fstat(file.fileno()).st_size
    if start[8:] != b"{":
        raise SavedModelError(f"{_quoted(path)} is not a saved model: it does not begin as a safetensors file does")
    length = int.from_bytes(start[:8], "little")
    if size < 8 + length:
        raise SavedModelError(_damaged(path, f"it has {size:,} bytes and its header alone needs {8 + length:,}"))


def _header(path: FilePath, texts: dict[str, str]) -> dict[str, Any]:
    if ENTRY not in texts:
        raise SavedModelError(f"{_quoted(path)} is a safetensors file, but not a model that ssgp wrote")
    try:
        header = json.loads(texts[ENTRY])
        newer = header["format_version"] > FORMAT_VERSION
    except (ValueError, KeyError, TypeError) as error:
        raise SavedModelError(_damaged(path, "its header cannot be read")) from error
    if newer:
        raise SavedModelError(
            f"{_quoted(path)} has format {header['format_version']}, written by ssgp {header.get('ssgp_version')}; "
            f"ssgp {__version__} reads formats up to {FORMAT_VERSION}: update ssgp to load it"
        )
    return header


def _damaged(path: FilePath, why: str) -> str:
    return f"{_quoted(path)} is damaged or not whole: {why}. Copy it again, or save the model again"


def _quoted(path: FilePath) -> str:
    return repr(os.fspath(path))
