"""Classes of NumPy, SciPy and scikit-learn that models are made of, and how files hold them."""

from typing import Any, cast

import numpy as np
from scipy.spatial import cKDTree  # pyright: ignore[reportAttributeAccessIssue]
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import Pipeline

from ssgp.saving.contents import (
    MOST_LOG,
    TINIEST,
    Contents,
    anything,
    array,
    either,
    fixed_tuple,
    flag,
    integer,
    list_of,
    made_of,
    number,
    record,
    text,
)
from ssgp.saving.kind import Kind

__all__ = ["FOREIGN"]

SOLVED = ("X_train_", "y_train_", "L_", "alpha_", "_y_train_mean", "_y_train_std")
FITTED = (*SOLVED, "n_features_in_", "log_marginal_likelihood_value_")
LARGEST = np.exp(MOST_LOG)


GENERATOR_STATE = record(
    bit_generator=text("PCG64"),
    state=record(state=integer(0, 2**128 - 1), inc=integer(0, 2**128 - 1)),
    has_uint32=integer(0, 1),
    uinteger=integer(0, 2**32 - 1),
)
RANDOM_STATE = record(
    bit_generator=text("MT19937"),
    # NumPy takes the position for granted, and reads there.
    state=record(key=array("uint32", 624), pos=integer(0, 624)),
    has_gauss=integer(0, 1),
    gauss=number(),
)


def _make_generator(parts: dict[str, Any]) -> np.random.Generator:
    generator = np.random.Generator(np.random.PCG64(0))
    generator.bit_generator.state = parts["state"]
    return generator


def _make_random_state(parts: dict[str, Any]) -> np.random.RandomState:
    state = np.random.RandomState(0)
    state.set_state(parts["state"])
    return state


PROCESS = Contents(
    {
        "signal_variance": number(TINIEST, LARGEST),
        "lengthscale": either(array("float64", "d", least=TINIEST, most=LARGEST), number(TINIEST, LARGEST)),
        "noise": array("float64", "n", least=TINIEST),
        "X_train_": array("float64", "n", "d"),
        "y_train_": array("float64", "n"),
        "L_": array("float64", "n", "n"),
        "alpha_": array("float64", "n"),
        "_y_train_mean": array("float64", 1, least=0.0, most=0.0),
        "_y_train_std": array("float64", 1, least=1.0, most=1.0),
        "n_features_in_": integer(1, size="d"),
        "log_marginal_likelihood_value_": number(),
    },
    relations=lambda p: [(bool((np.diagonal(p.L_) > 0.0).all()), "the factor L_ must have a positive diagonal")],
)


def _process_parts(process: Any) -> dict[str, Any]:  # noqa: ANN401
    """Parts of a scikit-learn process that predictions need: hyperparameters, rows, and the solved system."""
    constant, lengths = process.kernel_.k1.constant_value, process.kernel_.k2.length_scale
    fitted = {name: vars(process)[name] for name in FITTED}
    return {"signal_variance": constant, "lengthscale": lengths, "noise": process.alpha, **fitted}


def _make_process(parts: dict[str, Any]) -> GaussianProcessRegressor:
    kernel = ConstantKernel(parts.pop("signal_variance")) * RBF(parts.pop("lengthscale"))
    process = GaussianProcessRegressor(kernel, alpha=parts.pop("noise"), optimizer=cast(Any, None))
    vars(process).update(parts, kernel_=kernel)
    return process


# Neither `memory`, a folder whose files scikit-learn unpickles, nor the settings that came after it: nothing in a
# file names a place or a way of working.
PIPELINE = Contents(
    {"steps": list_of(fixed_tuple(text(), made_of(BaseEstimator)), least=1)},
    {"memory": anything, "transform_input": anything, "verbose": flag},
    relations=lambda p: [(len({name for name, _ in p.steps}) == len(p.steps), "steps must have different names")],
)


def _pipeline_parts(pipeline: Pipeline) -> dict[str, Any]:
    return {"steps": [tuple(step) for step in pipeline.steps], "verbose": bool(pipeline.verbose)}


def _make_pipeline(parts: dict[str, Any]) -> Pipeline:
    return Pipeline(parts["steps"], verbose=parts.get("verbose", False))


FOREIGN: dict[type, Kind] = {
    Pipeline: Kind("Pipeline", _pipeline_parts, _make_pipeline, PIPELINE),
    # The rows alone: the tree of them is quick to grow, and always the same.
    cKDTree: Kind(
        "cKDTree",
        lambda tree: {"data": np.asarray(tree.data)},
        lambda parts: cKDTree(parts["data"]),
        Contents({"data": array("float64", "n", "d")}),
    ),
    np.random.Generator: Kind(
        "Generator",
        lambda rng: {"state": dict(rng.bit_generator.state)},
        _make_generator,
        Contents({"state": GENERATOR_STATE}),
    ),
    np.random.RandomState: Kind(
        "RandomState",
        lambda rng: {"state": rng.get_state(legacy=False)},
        _make_random_state,
        Contents({"state": RANDOM_STATE}),
    ),
    GaussianProcessRegressor: Kind("GaussianProcessRegressor", _process_parts, _make_process, PROCESS),
}
