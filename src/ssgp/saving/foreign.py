"""Classes of NumPy, SciPy and scikit-learn that models are made of, and how files hold them."""

from typing import Any, cast

import numpy as np
from scipy.spatial import cKDTree  # pyright: ignore[reportAttributeAccessIssue]
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import Pipeline

from ssgp.saving.kind import Kind

__all__ = ["FOREIGN"]

SOLVED = ("X_train_", "y_train_", "L_", "alpha_", "_y_train_mean", "_y_train_std")
FITTED = (*SOLVED, "n_features_in_", "log_marginal_likelihood_value_")


def _make_generator(parts: dict[str, Any]) -> np.random.Generator:
    generator = np.random.Generator(np.random.PCG64(0))
    generator.bit_generator.state = parts["state"]
    return generator


def _make_random_state(parts: dict[str, Any]) -> np.random.RandomState:
    state = np.random.RandomState(0)
    state.set_state(parts["state"])
    return state


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


FOREIGN: dict[type, Kind] = {
    Pipeline: Kind("Pipeline", lambda pipeline: pipeline.get_params(deep=False), lambda parts: Pipeline(**parts)),
    # The rows alone: the tree of them is quick to grow, and always the same.
    cKDTree: Kind("cKDTree", lambda tree: {"data": np.asarray(tree.data)}, lambda parts: cKDTree(parts["data"])),
    np.random.Generator: Kind("Generator", lambda rng: {"state": dict(rng.bit_generator.state)}, _make_generator),
    np.random.RandomState: Kind("RandomState", lambda rng: {"state": rng.get_state(legacy=False)}, _make_random_state),
    GaussianProcessRegressor: Kind("GaussianProcessRegressor", _process_parts, _make_process),
}
