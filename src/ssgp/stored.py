"""The classes of all packages that saved models may be made of, and `load`, which builds no others."""

from typing import Any

from sklearn.pipeline import Pipeline

from ssgp._utils.whole_file import FilePath
from ssgp.baselines.dtc import DTCRegressor
from ssgp.baselines.exact import ExactGPRegressor
from ssgp.baselines.feature_maps import InducingMap, SpectralMap, VariationalMap
from ssgp.baselines.inducing import InducingFeatures
from ssgp.baselines.linear_bound import WeightPosterior
from ssgp.baselines.model import Model
from ssgp.baselines.pic import PICRegressor
from ssgp.baselines.squared_exponential import SquaredExponential
from ssgp.baselines.ssgp import SSGPRegressor
from ssgp.baselines.vssgp import VSSGPRegressor
from ssgp.distributions.pipeline import Pipeline as DistributionPipeline
from ssgp.distributions.recalibrated import RecalibratedRegressor
from ssgp.distributions.recalibration import Recalibration
from ssgp.forest.atoms import Atoms
from ssgp.forest.boosted_trees import BoostedTrees
from ssgp.forest.calibration import Calibration
from ssgp.forest.correction import Correction
from ssgp.forest.estimator import SpectralForestRegressor
from ssgp.forest.fit import CHECKPOINTED
from ssgp.forest.fitted import Forest
from ssgp.forest.minority_noise import MinorityNoise
from ssgp.forest.noise_shape import NoiseShape, NoiseTrend
from ssgp.rows.blocks import Rows
from ssgp.rows.partition import NearestCentre, NearestRow
from ssgp.rows.standardizer import Standardizer
from ssgp.rows.target_maps import Logit, SoftLog
from ssgp.saving.contents import ContentsError, Sizes, either, made_of
from ssgp.saving.kinds import Kinds
from ssgp.saving.model_files import read_object
from ssgp.spectrum.bases import Laplace, Logistic, Normal, StudentT
from ssgp.spectrum.optimizers import Adam, RobbinsMonro
from ssgp.spectrum.parameters import Layout, Parameters
from ssgp.spectrum.posterior import AffinePosterior
from ssgp.svbssgp.conditional import Conditional
from ssgp.svbssgp.estimator import SVBSSGPRegressor
from ssgp.svbssgp.fitted import Context
from ssgp.svbssgp.local_models import LocalModels
from ssgp.tables.donors import Donors
from ssgp.tables.encoder import TableEncoder
from ssgp.tables.encodings import Dropped, Number, OneHot, Ordinal, TargetMeans, Time

__all__ = ["ESTIMATORS", "KINDS", "load"]

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
ROWS = (Logit, NearestCentre, NearestRow, Rows, SoftLog, Standardizer)
SPECTRUM = (Adam, AffinePosterior, Laplace, Layout, Logistic, Normal, Parameters, RobbinsMonro, StudentT)
SVBSSGP = (Conditional, Context, LocalModels)
BASELINES = (
    *(InducingFeatures, InducingMap, Model, SpectralMap),
    *(SquaredExponential, VariationalMap, WeightPosterior),
)
FOREST = (*CHECKPOINTED, Atoms, BoostedTrees, Calibration, Correction, Forest, NoiseShape, MinorityNoise, NoiseTrend)
DISTRIBUTIONS = (DistributionPipeline, Recalibration)
TABLES = (Donors, Dropped, Number, OneHot, Ordinal, TargetMeans, Time)


def _pipeline(value: Any, sizes: Sizes) -> None:  # noqa: ANN401
    """Encoders and at most one regressor after them, each of what the one before it gives."""
    made_of(Pipeline, *ESTIMATORS)(value, sizes)
    steps = [step for _, step in value.steps]
    encoded = all(isinstance(step, TableEncoder) for step in steps[:-1])
    if not (encoded and isinstance(steps[-1], ESTIMATORS)):
        raise ContentsError("a pipeline must be of encoders, and of a regressor of ssgp")
    n_given = [len(step.get_feature_names_out()) for step in steps[:-1]]
    if n_given != [step.n_features_in_ for step in steps[1:]]:
        raise ContentsError("the steps of a pipeline must have as many columns as the ones before give")


# What a file may be of: parts of models are no models.
MODEL = either(made_of(*ESTIMATORS), _pipeline)
KINDS = Kinds((*ESTIMATORS, *ROWS, *SPECTRUM, *SVBSSGP, *BASELINES, *FOREST, *DISTRIBUTIONS, *TABLES))


def load(path: FilePath) -> Any:  # noqa: ANN401  the class is in the file
    """Read a model that `save` wrote. Nothing in the file is run as code.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    estimator or ssgp.Pipeline
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
    return read_object(path, KINDS, MODEL)
