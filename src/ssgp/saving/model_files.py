"""Fitted models in one file: safetensors, with everything that is not an array as JSON in its header."""

import json
import os
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ssgp._utils.names import printable
from ssgp._utils.whole_file import FilePath, check_place, os_errors, whole_file
from ssgp._version import __version__
from ssgp.saving.contents import Contents, ContentsError, Rule, anything, integer, list_of, text
from ssgp.saving.flattening import Flat, NotStorableError, flatten, rebuild
from ssgp.saving.kinds import Kinds, kind_of
from ssgp.saving.mixin import SaveMixin
from ssgp.saving.summary import SUMMARY, summarize

__all__ = ["SavedModelError", "read_object", "read_summary", "save", "write_object"]

# Name of the one text in the file's header; two would come in any order, and a model should give the same file twice.
ENTRY = "ssgp_model"
# Raised whenever a reader of today would misread what a later version writes.
FORMAT_VERSION = 2
HEADER = Contents(
    {
        "format_version": integer(1),
        "ssgp_version": text(),
        "summary": anything,
        "root": anything,
        "objects": list_of(anything),
        "checksum": anything,
    }
)


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
    """Write anything that models are made of, and a summary that can be read without it."""
    flat = flatten(value)
    header = {
        "format_version": FORMAT_VERSION,
        "ssgp_version": __version__,
        "summary": summary,
        "root": flat.root,
        "objects": flat.objects,
    }
    header["checksum"] = _checksum(header, flat.arrays)
    n_bytes = sum(array.nbytes for array in flat.arrays.values())
    with whole_file(path, n_bytes) as part, os_errors(SafetensorError):
        save_file(flat.arrays, part, metadata={ENTRY: json.dumps(header, allow_nan=False)})


def read_object(path: FilePath, kinds: Kinds, root: Rule = anything) -> Any:  # noqa: ANN401
    """Read what `write_object` wrote, if it is made of these kinds and `root` allows it.

    Nothing in the file is run as code, and nothing is built of it before it is checked.
    """
    header, arrays = _read(path, with_arrays=True)
    if header.pop("checksum", None) != _checksum(header, arrays):
        raise SavedModelError(_damaged(path, "its contents do not match their checksum"))
    try:
        value = rebuild(Flat(header["root"], header["objects"], arrays), kinds)
        root(value, {})
    except MemoryError:
        raise
    # A stranger's file may be wrong in ways that nobody thought of; whatever happens, it is refused.
    except Exception as error:
        raise SavedModelError(f"{_quoted(path)} {_unfit(header['ssgp_version'])}: {_reason(error)}") from error
    return value


def _unfit(version: str) -> str:
    """What is to be said of a whole file that gives no model."""
    if version == __version__:
        return "is no model that ssgp can use"
    return (
        f"was written by ssgp {_shown(version)}, and does not fit this version, {__version__}; load it with the "
        "version that wrote it"
    )


def _reason(error: Exception) -> str:
    return _shown(str(error) if isinstance(error, ContentsError) else f"{type(error).__name__}: {error}")


def read_summary(path: FilePath) -> dict[str, Any]:
    """What a saved model is, without loading it: its classes, settings, inputs and how training went."""
    header, _ = _read(path, with_arrays=False)
    try:
        SUMMARY.check(header["summary"])
    except ContentsError as error:
        raise SavedModelError(_damaged(path, f"its summary cannot be read ({error})")) from error
    return {"ssgp_version": header["ssgp_version"], **header["summary"]}


def _check_model(model: Any) -> None:  # noqa: ANN401  a user's
    """Refuse what no file holds, before anything is written."""
    is_pipeline = isinstance(model, Pipeline) and kind_of(type(model)) is not None
    steps = dict(model.steps) if is_pipeline else {"": model}
    for name, step in steps.items():
        if not (isinstance(step, SaveMixin) and kind_of(type(step))):
            where = f"step {name!r} of the pipeline is" if name else "this is"
            raise NotStorableError(
                f"only estimators of ssgp and pipelines of them can be saved; {where} a {type(step).__name__}"
            )
        check_is_fitted(step)


def _checksum(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> str:
    """Sum over everything in the file; in the first format, dtypes and shapes were left out."""
    total = zlib.crc32(json.dumps(header).encode())
    for name in sorted(arrays):
        array = arrays[name]
        described = name if header["format_version"] == 1 else f"{name} {array.dtype.name} {array.shape}"
        total = zlib.crc32(array.reshape(-1).view(np.uint8).data, zlib.crc32(described.encode(), total))
    return f"{total:08x}"


def _read(path: FilePath, with_arrays: bool) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Header and arrays of a file that is one of ours and of a format we know."""
    _check_beginning(path)
    try:
        with safe_open(path, framework="numpy") as file:
            header = _header(path, file.metadata() or {})
            return header, {name: file.get_tensor(name) for name in file.keys()} if with_arrays else {}
    except (MemoryError, OSError, SavedModelError):
        raise
    # Types that NumPy does not have, sizes that overflow, and whatever else a header may say.
    except Exception as error:
        raise SavedModelError(_damaged(path, _shown(str(error)))) from error


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
        header = json.loads(texts[ENTRY], parse_constant=_no_number)
        HEADER.check(header if type(header) is dict else {})
    except (ValueError, RecursionError) as error:
        raise SavedModelError(_damaged(path, "its header cannot be read")) from error
    if header["format_version"] > FORMAT_VERSION:
        raise SavedModelError(
            f"{_quoted(path)} has format {header['format_version']}, written by ssgp "
            f"{_shown(header['ssgp_version'])}; ssgp {__version__} reads formats up to {FORMAT_VERSION}: update ssgp "
            "to load it"
        )
    return header


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is no number of JSON")


def _damaged(path: FilePath, why: str) -> str:
    return f"{_quoted(path)} is damaged or not whole: {why}. Copy it again, or save the model again"


def _quoted(path: FilePath) -> str:
    return repr(os.fspath(path))


def _shown(text: str) -> str:
    """Text of a stranger's as it may be printed: not too long, on one line, and nothing that a terminal obeys."""
    return printable(text[:300].replace("\n", " "))
