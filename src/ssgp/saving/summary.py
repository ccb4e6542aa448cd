"""A summary of a fitted model, for readers of its file."""

import math
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline

from ssgp.saving.contents import Contents, integer, json_value, list_of, mapping_of, number, optional, plain, text

__all__ = ["SUMMARY", "summarize"]

# Fitted attributes of some or all estimators that say how training went.
TRAINING = (
    *("n_rows_", "n_iter_", "bound_", "noise_variance_", "kernel_"),
    *("n_frequencies_", "n_trees_", "n_leaves_", "target_kind_"),
)


# What a file may say of a model: nothing is built or looked up by it before it is checked.
SUMMARY = Contents(
    {
        "classes": list_of(text(), least=1),
        "settings": mapping_of(plain),
        "n_features_in": integer(1, 10**6),
        "feature_names_in": optional(list_of(text())),
        "training": mapping_of(plain),
        "sklearn_version": text(),
        "numpy_version": text(),
    },
    {
        "columns": list_of(text()),
        "feature_importances": mapping_of(number(0.0, 1.0, or_whole=True)),
        "recalibration": mapping_of(number(or_whole=True)),
        "notes": json_value(20),
    },
)


def summarize(model: Any) -> dict[str, Any]:  # noqa: ANN401  an estimator of this library, or a Pipeline of them
    """Plain values that JSON can hold: classes, settings, inputs, and how training went."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    outer, inner = steps[-1], steps[-1]._summarized()
    steps = [*steps[:-1], inner]
    first = steps[0]
    names = getattr(first, "feature_names_in_", None)
    return {
        "classes": [type(step).__name__ for step in steps],
        **(outer._summary_entries() if outer is not inner else {}),
        "settings": {name: _plain(value) for name, value in inner._stored_settings().items()},
        "n_features_in": first.n_features_in_,
        "feature_names_in": None if names is None else [str(name) for name in names],
        **first._summary_entries(),
        "training": {name: _plain(value) for name, value in _training(inner).items()},
        **_importances(steps),
        "sklearn_version": sklearn.__version__,
        "numpy_version": np.__version__,
    }


def _training(estimator: Any) -> dict[str, Any]:  # noqa: ANN401
    """How training went, as far as the estimator tells."""
    training = {name: getattr(estimator, name) for name in TRAINING if hasattr(estimator, name)}
    trace = getattr(estimator, "bound_trace_", None)
    if "bound_" not in training and trace is not None and len(trace):
        training["last_bound_estimate"] = trace[-1]
    return training


def _importances(steps: list[Any]) -> dict[str, dict[str, float]]:
    """How much each feature matters, where the model knows."""
    first, last = steps[0], steps[-1]
    importances = getattr(last, "feature_importances_", None)
    if importances is None:
        return {}
    names = last._input_names() if first is last else first.get_feature_names_out()
    return {"feature_importances": {str(name): float(share) for name, share in zip(names, importances, strict=True)}}


def _plain(value: Any) -> Any:  # noqa: ANN401
    """A number or string as it is, anything else as it is printed, less the address it has in memory."""
    value = value.item() if isinstance(value, np.generic) else value
    plain = value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value))
    return value if plain else repr(value).partition(" at 0x")[0]
