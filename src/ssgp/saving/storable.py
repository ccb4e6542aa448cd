"""What a saved model may be made of: every class that files hold, and how it is taken apart and built."""

from typing import Any, cast

import numpy as np
from scipy.spatial import cKDTree  # pyright: ignore[reportAttributeAccessIssue]
from sklearn.base import BaseEstimator
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.pipeline import Pipeline

from ssgp.baselines.dtc import DTCRegressor
from ssgp.baselines.exact import ExactGPRegressor
from ssgp.baselines.feature_maps import InducingMap, SpectralMap, VariationalMap
from ssgp.baselines.inducing import InducingFeatures
from ssgp.baselines.lbfgs import Model
from ssgp.baselines.linear_bound import WeightPosterior
from ssgp.baselines.pic import PICRegressor
from ssgp.baselines.squared_exponential import SquaredExponential
from ssgp.baselines.ssgp import SSGPRegressor
from ssgp.baselines.vssgp import VSSGPRegressor
from ssgp.distributions.recalibrated import RecalibratedRegressor
from ssgp.distributions.recalibration import Recalibration
from ssgp.forest.boosted_trees import BoostedTrees
from ssgp.forest.calibration import Calibration
from ssgp.forest.correction import Correction
from ssgp.forest.estimator import SpectralForestRegressor
from ssgp.forest.fitted import FittedForest, Forest
from ssgp.forest.half_precision import HalfPrecision
from ssgp.forest.leaf_features import LeafFeatures
from ssgp.forest.nodes import LeaveOneOut
from ssgp.forest.tree import Level, SpectralTree, TreeSkeleton
from ssgp.rows.bisecting_tree import BisectingTree
from ssgp.rows.blocks import Rows
from ssgp.rows.partition import NearestCentre, NearestRow
from ssgp.rows.standardizer import Standardizer
from ssgp.saving.flattening import Kind, Kinds, record
from ssgp.spectrum.bases import Laplace, Logistic, Normal, StudentT
from ssgp.spectrum.noise import NoisePrior
from ssgp.spectrum.optimizers import Adam, RobbinsMonro
from ssgp.spectrum.parameters import Layout, Parameters
from ssgp.spectrum.posterior import AffinePosterior
from ssgp.svbssgp.conditional import Conditional
from ssgp.svbssgp.estimator import SVBSSGPRegressor
from ssgp.svbssgp.fitted import Context
from ssgp.svbssgp.local_models import LocalModels
from ssgp.tables.encoder import TableEncoder
from ssgp.tables.encodings import Dropped, Number, OneHot, TargetMeans, Time

__all__ = ["ESTIMATORS", "KINDS"]

ESTIMATORS = (
    DTCRegressor,
    ExactGPRegressor,
    PICRegressor,
    RecalibratedRegressor,
    SSGPRegressor,
    SVBSSGPRegressor,
    SpectralForestRegressor,
    TableEncoder,
    VSSGPRegressor,
)
RECORDS = (
    AffinePosterior,
    BisectingTree,
    BoostedTrees,
    Calibration,
    Conditional,
    Context,
    Correction,
    Dropped,
    Forest,
    Laplace,
    Layout,
    FittedForest,
    LeaveOneOut,
    Level,
    LocalModels,
    Logistic,
    Model,
    NearestCentre,
    NearestRow,
    NoisePrior,
    Normal,
    Number,
    OneHot,
    HalfPrecision,
    Recalibration,
    Rows,
    TreeSkeleton,
    SpectralMap,
    SpectralTree,
    SquaredExponential,
    Standardizer,
    StudentT,
    TargetMeans,
    Time,
    VariationalMap,
    LeafFeatures,
    WeightPosterior,
)
# Belong to a session, not to a model: callbacks, and who asked for which arguments of `fit`.
TRANSIENT = {"_skl_callbacks", "_parent_callback_ctx", "_metadata_request"}


def _estimator(cls: type[BaseEstimator]) -> Kind:
    """Settings, and everything else an estimator has once it is fitted."""

    def parts(model: BaseEstimator) -> dict[str, Any]:
        settings = model.get_params(deep=False)
        fitted = {name: part for name, part in vars(model).items() if name not in TRANSIENT | set(settings)}
        return {"settings": settings, "fitted": fitted}

    def make(found: dict[str, Any]) -> BaseEstimator:
        model = cls(**found["settings"])
        vars(model).update(found["fitted"])
        return model

    return Kind(cls, parts, make)


def _pipeline() -> Kind:
    return Kind(Pipeline, lambda pipeline: pipeline.get_params(deep=False), lambda found: Pipeline(**found))


def _parameters() -> Kind:
    """The vector, not the views of it."""
    return Kind(Parameters, lambda own: {"layout": own.layout, "flat": own.flat}, lambda found: Parameters(**found))


def _adam() -> Kind:
    """Everything but the array it scribbles on."""

    def parts(adam: Adam) -> dict[str, Any]:
        return {name: part for name, part in vars(adam).items() if name != "_scratch"}

    def make(found: dict[str, Any]) -> Adam:
        return _with(Adam(found["learning_rate"]), **found, _scratch=np.empty_like(found["_mean"]))

    return Kind(Adam, parts, make)


def _robbins_monro() -> Kind:
    return Kind(RobbinsMonro, vars, lambda found: _with(RobbinsMonro(found["learning_rate"], found["decay"]), **found))


def _nearest_neighbours() -> Kind:
    """The rows alone: the tree of them is quick to grow, and always the same."""
    return Kind(cKDTree, lambda tree: {"data": np.asarray(tree.data)}, lambda found: cKDTree(found["data"]))


def _generator() -> Kind:
    def make(found: dict[str, Any]) -> np.random.Generator:
        generator = np.random.Generator(np.random.PCG64(0))
        generator.bit_generator.state = found["state"]
        return generator

    return Kind(np.random.Generator, lambda generator: {"state": dict(generator.bit_generator.state)}, make)


def _random_state() -> Kind:
    def make(found: dict[str, Any]) -> np.random.RandomState:
        state = np.random.RandomState(0)
        state.set_state(found["state"])
        return state

    return Kind(np.random.RandomState, lambda state: {"state": state.get_state(legacy=False)}, make)


def _exact_process() -> Kind:
    """What scikit-learn's process predicts from: hyperparameters, rows, and the solved system."""
    solved = ("X_train_", "y_train_", "L_", "alpha_", "_y_train_mean", "_y_train_std")
    fitted = (*solved, "n_features_in_", "log_marginal_likelihood_value_")

    def parts(process: Any) -> dict[str, Any]:  # noqa: ANN401
        constant, lengths = process.kernel_.k1.constant_value, process.kernel_.k2.length_scale
        own = {name: vars(process)[name] for name in fitted}
        return {"signal_variance": constant, "lengthscale": lengths, "noise": process.alpha, **own}

    def make(found: dict[str, Any]) -> GaussianProcessRegressor:
        kernel = ConstantKernel(found.pop("signal_variance")) * RBF(found.pop("lengthscale"))
        process = GaussianProcessRegressor(kernel, alpha=found.pop("noise"), optimizer=cast(Any, None))
        return _with(process, **found, kernel_=kernel)

    return Kind(GaussianProcessRegressor, parts, make)


def _with(value: Any, **attributes: Any) -> Any:  # noqa: ANN401
    """An object with its attributes as they were."""
    vars(value).update(attributes)
    return value


KINDS = Kinds(
    [
        *map(_estimator, ESTIMATORS),
        *map(record, RECORDS),
        # Factors of matrices are kept: another number of threads may round them otherwise.
        record(InducingFeatures, "factor"),
        record(InducingMap, "inducing"),
        _pipeline(),
        _parameters(),
        _adam(),
        _robbins_monro(),
        _nearest_neighbours(),
        _generator(),
        _random_state(),
        _exact_process(),
    ]
)
